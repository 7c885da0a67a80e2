/* Compiles the decoders of stb_image for Radiance HDR and Softimage PIC. */
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_HDR
#define STBI_ONLY_PIC
#define STBI_NO_STDIO
#define STBI_FAILURE_USERMSG /* reasons in words */
#include <stb/stb_image.h>
