#include "output/chart/label.h"

#include "base/text.h"
#include "output/chart/glyphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* What follows the last slash, or all of a path that ends in one. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

enum { GROWTH = 4 }; /* what ih_escape makes of n bytes is no longer than 4n */

char *ih_label_name(const char *path)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : last_part(path);
    size_t length = strlen(name);
    if (length > (SIZE_MAX - IH_ELLIPSIS_BYTES - 1) / GROWTH)
        return NULL;
    char *label = malloc(length * GROWTH + IH_ELLIPSIS_BYTES + 1);
    if (!label)
        return NULL;
    ih_escape(label, length * GROWTH + 1, name);
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

void ih_label_megapixels(char label[IH_LABEL_MAX], uint64_t n)
{
    unsigned decimals = n >= 100000000 ? 0 : n >= 10000000 ? 1 : n >= 10000 ? 2 : 6;
    ih_label_real(label, (double)n * 1e-6, decimals);
    if (strchr(label, '.')) { /* 24.0 is 24 */
        size_t size = strlen(label);
        while (label[size - 1] == '0')
            label[--size] = '\0';
        if (label[size - 1] == '.')
            label[size - 1] = '\0';
    }
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
