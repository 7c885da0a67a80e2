/* stb_image_write's implementation: charts as BMP and TGA. Files are ours to open, so it has no
 * stdio. */
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
