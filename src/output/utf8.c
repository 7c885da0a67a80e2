#include "output/utf8.h"

#include <stdbool.h>

size_t ih_utf8_decode(const char *text, uint32_t *code_point)
{
    /* Of sequences of n bytes: what the first byte begins with, and the least code point. */
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t n = 0; n < sizeof forms / sizeof *forms; n++) {
        if ((bytes[0] & forms[n].mask) != forms[n].lead)
            continue;
        uint32_t c = bytes[0] & (unsigned char)~forms[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((bytes[i] & 0xc0) != 0x80) /* the final NUL too: nothing beyond it is read */
                return 0;
            c = c << 6 | (bytes[i] & 0x3f);
        }
        bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
        if (c < forms[n].least || is_surrogate || c > 0x10ffff)
            return 0;
        *code_point = c;
        return n + 1;
    }
    return 0;
}
