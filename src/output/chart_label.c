#include "output/chart_label.h"

#include "output/glyphs.h"
#include "output/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* Characters without a look of their own that change how, or whether, the others are seen. */
static bool is_disguise(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},       /* control characters */
        {0xad, 0xad},       {0x61c, 0x61c},     /* soft hyphen; Arabic letter mark */
        {0x115f, 0x1160},   {0x180b, 0x180f},   /* fillers and selectors */
        {0x200b, 0x200f},   {0x2028, 0x202e},   /* zero width; line ends; directions */
        {0x2060, 0x206f},   {0x3164, 0x3164},   /* joiners and isolates; filler */
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   /* variation selectors; byte order mark */
        {0xfff9, 0xfffb},   {0xe0000, 0xe0fff}, /* annotations; tags */
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, /* format controls of shorthand and music */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

/* What follows the last slash, or all of a path that ends in one. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Writes code point c as what a C programmer would type. Returns the length. */
static size_t escape(char *out, size_t room, uint32_t c)
{
    static const char short_forms[] = "abtnvfr"; /* of 7 to 13 */
    int n = 0;
    if (c >= 7 && c <= 13)
        n = snprintf(out, room, "\\%c", short_forms[c - 7]);
    else if (c < 0x80)
        n = snprintf(out, room, "\\x%02" PRIx32, c);
    else
        n = snprintf(out, room, "\\u{%" PRIx32 "}", c);
    return n < 0 ? 0 : (size_t)n;
}

char *ih_label_name(const char *path)
{
    /* No escape is longer than four bytes for one: a byte alone is \xff, two are \u{ad}. */
    enum { GROWTH = 4 };
    const char *name = strcmp(path, "-") == 0 ? "standard input" : last_part(path);
    size_t length = strlen(name);
    if (length > (SIZE_MAX - IH_ELLIPSIS_BYTES - 1) / GROWTH)
        return NULL;
    size_t room = length * GROWTH + IH_ELLIPSIS_BYTES + 1;
    char *label = malloc(room);
    if (!label)
        return NULL;
    size_t size = 0;
    for (size_t i = 0; i < length;) {
        uint32_t c = 0;
        size_t n = ih_utf8_decode(name + i, &c);
        if (n == 0) {
            unsigned byte = (unsigned char)name[i++];
            size += (size_t)snprintf(label + size, room - size, "\\x%02x", byte);
        } else if (is_disguise(c)) {
            size += escape(label + size, room - size, c);
            i += n;
        } else {
            memcpy(label + size, name + i, n);
            size += n;
            i += n;
        }
    }
    label[size] = '\0';
    return label;
}

/* ---- numbers ---- */

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

void ih_label_count(char label[IH_LABEL_MAX], uint64_t n)
{
    static const char suffixes[] = " kMGTPE";
    unsigned exponent = 0; /* of the least digit that is kept */
    while (n / power_of_ten(exponent) >= 1000)
        exponent++;
    uint64_t unit = power_of_ten(exponent);
    uint64_t digits = n / unit + (n % unit >= unit - unit / 2 ? 1 : 0);
    if (exponent == 0)
        digits = n;
    if (digits == 1000) { /* 999.6 */
        digits = 100;
        exponent++;
    }
    unsigned group = (exponent + 2) / 3, decimals = group * 3 - exponent;
    while (decimals > 0 && digits % 10 == 0) {
        digits /= 10;
        decimals--;
    }
    uint64_t scale = power_of_ten(decimals);
    int size = decimals > 0 ? snprintf(label, IH_LABEL_MAX, "%" PRIu64 ".%0*" PRIu64,
                                       digits / scale, (int)decimals, digits % scale)
                            : snprintf(label, IH_LABEL_MAX, "%" PRIu64, digits);
    if (group > 0 && size > 0)
        snprintf(label + size, IH_LABEL_MAX - (size_t)size, "%c", suffixes[group]);
}

void ih_label_real(char label[IH_LABEL_MAX], double v, unsigned decimals)
{
    uint64_t scale = power_of_ten(decimals);
    uint64_t scaled = (uint64_t)floor(v * (double)scale + 0.5);
    if (decimals == 0)
        snprintf(label, IH_LABEL_MAX, "%" PRIu64, scaled);
    else
        snprintf(label, IH_LABEL_MAX, "%" PRIu64 ".%0*" PRIu64, scaled / scale, (int)decimals,
                 scaled % scale);
}

void ih_label_percent(char label[IH_LABEL_MAX], uint64_t part, uint64_t whole)
{
    double percent = 100.0 * (double)part / (double)whole;
    char number[IH_LABEL_MAX] = "";
    if (part == 0 || part == whole)
        ih_label_real(number, percent, 0);
    else if (percent < 0.01)
        snprintf(number, sizeof number, "<0.01");
    else if (percent > 99.9)
        snprintf(number, sizeof number, ">99.9");
    else
        ih_label_real(number, percent, percent < 9.995 ? 2 : 1);
    snprintf(label, IH_LABEL_MAX, "%.32s\xe2\x80\xaf%%", number); /* a narrow no-break space */
}
