/* Compiles stb_truetype, which reads glyph outlines from the font of the charts. */
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb/stb_truetype.h>
