/* Compiles stb_image_write, which encodes charts as BMP and TGA in memory. It does no file I/O. */
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
