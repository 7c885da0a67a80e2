/* Source: RFC 8259 section 7, and RFC 4648 section 4 for base64. */
#include "output/json_text.h"

#include "base/text.h"

#include <string.h>

bool ih_json_is_exact(const char *text)
{
    unsigned long c;
    while (*text) {
        size_t n = ih_utf8_length(text, &c);
        if (n == 0)
            return false;
        text += n;
    }
    return true;
}

void ih_json_put_text(FILE *f, const char *text)
{
    if (!text) {
        fputs("null", f);
        return;
    }
    putc('"', f);
    while (*text) {
        unsigned long c = 0xFFFD;
        size_t n = ih_utf8_length(text, &c);
        if (n == 0)
            fputs("\xEF\xBF\xBD", f);
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", *text);
        else if (c < 0x20 || (c >= 0x7F && c < 0xA0))
            fprintf(f, "\\u%04lx", c);
        else
            fwrite(text, 1, n, f);
        text += n ? n : 1;
    }
    putc('"', f);
}

void ih_json_put_base64(FILE *f, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t n = strlen(text);
    putc('"', f);
    for (size_t i = 0; i < n; i += 3) {
        unsigned group = (unsigned)bytes[i] << 16;
        group |= i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0;
        group |= i + 2 < n ? bytes[i + 2] : 0;
        putc(digits[group >> 18], f);
        putc(digits[group >> 12 & 63], f);
        putc(i + 1 < n ? digits[group >> 6 & 63] : '=', f);
        putc(i + 2 < n ? digits[group & 63] : '=', f);
    }
    putc('"', f);
}
