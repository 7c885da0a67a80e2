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

/* Characters without a look of their own that change how, or whether, the others are seen, and in
 * which order: a name that ends in gpj.exe may be shown as one that ends in exe.jpg. */
static bool is_disguise(unsigned long c)
{
    static const struct {
        unsigned long first, last;
    } ranges[] = {
        {0x80, 0x9f},       {0xad, 0xad},     /* C1 controls; soft hyphen */
        {0x61c, 0x61c},                       /* Arabic letter mark */
        {0x115f, 0x1160},   {0x180b, 0x180f}, /* fillers and selectors */
        {0x200b, 0x200f},   {0x2028, 0x202e}, /* zero width; line ends; directions */
        {0x2060, 0x206f},   {0x3164, 0x3164}, /* joiners and isolates; filler */
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, /* variation selectors; byte order mark */
        {0xfff9, 0xfffb},   {0xfffe, 0xffff}, /* annotations; no characters, and none of XML's */
        {0xe0000, 0xe0fff},                   /* tags */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

enum { SHOWN_MAX = 16 }; /* the longest is \u{e0fff} */

/* One character of text as people see it, into shown; returns the bytes of text it stands for. */
static size_t escape_one(char shown[SHOWN_MAX], const char *text)
{
    unsigned long c = 0;
    size_t n = ih_utf8_length(text, &c);
    if (n == 0) {
        snprintf(shown, SHOWN_MAX, "\\x%02X", (unsigned char)*text);
        return 1;
    }
    if (c == '\n' || c == '\r' || c == '\t' || c == '\\')
        snprintf(shown, SHOWN_MAX, "\\%c",
                 c == '\n'   ? 'n'
                 : c == '\r' ? 'r'
                 : c == '\t' ? 't'
                             : '\\');
    else if (c < 0x20 || c == 0x7F)
        snprintf(shown, SHOWN_MAX, "\\x%02lX", c);
    else if (is_disguise(c))
        snprintf(shown, SHOWN_MAX, "\\u{%x}", (unsigned)c);
    else
        snprintf(shown, SHOWN_MAX, "%.*s", (int)n, text);
    return n;
}

size_t ih_escape(char *dst, size_t size_bytes, const char *text)
{
    size_t n = 0;
    while (*text) {
        char shown[SHOWN_MAX];
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
