/* stb_image's implementation, with only the formats that no better library reads for us. Its GIF
 * decoder stays out: the packaged version has a known out-of-bounds read. */
#define STBI_ONLY_BMP
#define STBI_ONLY_TGA
#define STBI_ONLY_PSD
#define STBI_NO_STDIO
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
