/* Compiles the decoder of stb_image for Radiance HDR. */
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_HDR
#define STBI_NO_STDIO
#define STBI_FAILURE_USERMSG /* reasons in words */
#include <stb/stb_image.h>
