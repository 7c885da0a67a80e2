#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t ih_utf8_length(const char *text, unsigned long *code_point)
{
    static const unsigned long least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (n == 0)
        return 0;
    unsigned long c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2) /* also stops at the final NUL */
            return 0;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *code_point = c;
    return n;
}

/* One character of text as people see it, into shown; returns the bytes of text it stands for. */
static size_t escape_one(char shown[8], const char *text)
{
    unsigned long c = 0;
    size_t n = ih_utf8_length(text, &c);
    bool is_control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    if (n == 0) {
        snprintf(shown, 8, "\\x%02X", (unsigned char)*text);
        return 1;
    }
    if (c == '\n' || c == '\r' || c == '\t' || c == '\\')
        snprintf(shown, 8, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : '\\');
    else if (is_control)
        snprintf(shown, 8, "\\x%02lX", c);
    else
        snprintf(shown, 8, "%.*s", (int)n, text);
    return n;
}

size_t ih_escape(char *dst, size_t size_bytes, const char *text)
{
    size_t n = 0;
    while (*text) {
        char shown[8];
        size_t n_read = escape_one(shown, text), n_shown = strlen(shown);
        if (n + n_shown >= size_bytes)
            break;
        memcpy(dst + n, shown, n_shown);
        n += n_shown;
        text += n_read;
    }
    dst[n] = '\0';
    return n;
}
