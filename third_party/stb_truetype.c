/* stb_truetype's implementation: outlines and antialiased bitmaps of the charts' font. */
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb/stb_truetype.h>
