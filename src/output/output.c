/* The table of outputs, and what they share. */
#include "output/output.h"

#include "output/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct ih_output *const ih_outputs[] = {
#define OUTPUT(name) &ih_output_##name,
#include "output/outputs.def"
    NULL,
};

void ih_output_end_nothing(void *state)
{
    (void)state;
}

bool ih_output_holds_failures(const struct ih_output *output, const char *layout)
{
    const char *in = output->failures_in;
    return in && (*in == '\0' || (layout && strcmp(in, layout) == 0));
}

const char *ih_format_real(double v, char text[IH_REAL_MAX])
{
    text[0] = '\0';
    if (isnan(v))
        return text;
    uint64_t millionths = (uint64_t)llround(fabs(v) * 1e6);
    char *end = text;
    if (v < 0 && millionths != 0)
        *end++ = '-';
    end = ih_format_count(end, millionths / 1000000);
    *end++ = '.';
    for (uint64_t digit = 100000; digit > 0; digit /= 10)
        *end++ = (char)('0' + millionths / digit % 10);
    *end = '\0';
    return text;
}

char *ih_format_count(char *text, uint64_t n)
{
    char digits[IH_COUNT_MAX];
    size_t first = IH_COUNT_MAX;
    do {
        digits[--first] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    memcpy(text, digits + first, IH_COUNT_MAX - first);
    return text + (IH_COUNT_MAX - first);
}

const char *ih_format_field(const struct ih_field *field, const void *from, bool has_values,
                            char text[IH_REAL_MAX])
{
    const void *at = (const char *)from + field->offset_bytes;
    text[0] = '\0';
    if (field->kind == IH_FIELD_REAL)
        return ih_format_real(*(const double *)at, text);
    if (field->kind != IH_FIELD_VALUE || has_values)
        *ih_format_count(text, field->kind == IH_FIELD_COUNT   ? *(const uint64_t *)at
                               : field->kind == IH_FIELD_VALUE ? *(const unsigned *)at
                                                               : *(const uint8_t *)at) = '\0';
    return text;
}

enum { SPIKE_SHARE = 32, SPIKE_RATIO = 3 };

static int compare_falling(const void *a, const void *b)
{
    uint64_t m = *(const uint64_t *)a, n = *(const uint64_t *)b;
    return (m < n) - (m > n);
}

uint64_t ih_highest_bar(uint64_t *bars, size_t n, bool without_spikes)
{
    const uint64_t *bar = bars; /* the search ends at the latest at bars[n / SPIKE_SHARE] itself */
    qsort(bars, n, sizeof *bars, compare_falling);
    while (without_spikes && *bar / SPIKE_RATIO > bars[n / SPIKE_SHARE])
        bar++;
    return *bar;
}
