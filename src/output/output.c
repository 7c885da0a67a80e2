/* The table of outputs, and what they share. */
#include "output/output.h"

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

void ih_format_statistics(const struct ih_stats *s, struct ih_statistic statistics[IH_N_STATISTICS])
{
    const unsigned *p = s->percentile;
    const struct {
        const char *name;
        enum { COUNT, VALUE, REAL } kind; /* an empty plane has counts only */
        uint64_t n;
        double real;
    } all[IH_N_STATISTICS] = {
        {"count", COUNT, s->count, 0},
        {"sum", COUNT, s->sum, 0},
        {"mean", REAL, 0, s->mean},
        {"stddev", REAL, 0, s->stddev},
        {"min", VALUE, s->min, 0},
        {"max", VALUE, s->max, 0},
        {"p01", VALUE, p[0], 0},
        {"p05", VALUE, p[1], 0},
        {"p25", VALUE, p[2], 0},
        {"median", VALUE, p[3], 0},
        {"p75", VALUE, p[4], 0},
        {"p95", VALUE, p[5], 0},
        {"p99", VALUE, p[6], 0},
        {"entropy", REAL, 0, s->entropy},
        {"clip_low", COUNT, s->clip_low, 0},
        {"clip_high", COUNT, s->clip_high, 0},
    };
    for (size_t i = 0; i < IH_N_STATISTICS; i++) {
        char *text = statistics[i].text;
        statistics[i].name = all[i].name;
        text[0] = '\0';
        if (all[i].kind == REAL)
            ih_format_real(all[i].real, text);
        else if (all[i].kind == COUNT || s->count > 0)
            *ih_format_count(text, all[i].n) = '\0';
    }
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
