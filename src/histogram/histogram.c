/* Adds, checks and summarizes histograms. Only integers are accumulated. Statistics that are real
 * numbers are computed from 256 counts at the end, so rounding errors stay below 1e-12. */
#include "histogram/histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void ih_histogram_clear(struct ih_histogram *h, unsigned n_channels)
{
    assert(n_channels >= 1 && n_channels <= IH_CHANNELS_MAX);
    memset(h, 0, sizeof *h);
    h->n_channels = n_channels;
}

void ih_histogram_add(struct ih_histogram *h, const struct ih_histogram *other)
{
    assert(h->n_channels == other->n_channels);
    h->n_pixels += other->n_pixels;
    for (unsigned p = 0; p < IH_PLANES; p++) {
        for (unsigned v = 0; v < IH_BINS; v++)
            h->bins[p][v] += other->bins[p][v];
        h->sum[p] += other->sum[p];
    }
    h->any_low += other->any_low;
    h->any_high += other->any_high;
    h->all_low += other->all_low;
    h->all_high += other->all_high;
}

uint64_t ih_count_range(const uint64_t bins[IH_BINS], unsigned first, unsigned last)
{
    uint64_t n = 0;
    for (unsigned v = first; v <= last; v++)
        n += bins[v];
    return n;
}

void ih_histogram_derive(struct ih_histogram *h, const struct ih_count_spec *spec)
{
    if (ih_colour_channels(h->n_channels) == 1) {
        memcpy(h->bins[IH_LUMA], h->bins[0], sizeof h->bins[0]);
        h->sum[IH_LUMA] = h->sum[0];
        h->any_low = h->all_low = ih_count_range(h->bins[0], 0, spec->clip_low);
        h->any_high = h->all_high = ih_count_range(h->bins[0], spec->clip_high, IH_BINS - 1);
    }
    h->without_luma = spec->luma == &ih_luma_none;
    if (h->without_luma) {
        memset(h->bins[IH_LUMA], 0, sizeof h->bins[IH_LUMA]);
        h->sum[IH_LUMA] = 0;
    }
}

bool ih_histogram_consistent(const struct ih_histogram *h)
{
    for (unsigned p = 0; p < IH_PLANES; p++) {
        if (!ih_histogram_plane(h, p))
            continue;
        uint64_t sum = 0;
        for (unsigned v = 0; v < IH_BINS; v++)
            sum += v * h->bins[p][v];
        if (ih_count_range(h->bins[p], 0, IH_BINS - 1) != h->n_pixels || sum != h->sum[p])
            return false;
    }
    return h->all_low <= h->any_low && h->any_low <= h->n_pixels && h->all_high <= h->any_high &&
           h->any_high <= h->n_pixels;
}

const unsigned ih_percentile_percents[IH_PERCENTILES] = {1, 5, 25, 50, 75, 95, 99};

#define FIELD(key, kind, member, meaning)                                \
    {                                                                    \
        key, IH_FIELD_##kind, offsetof(struct ih_stats, member), meaning \
    }

/* A row here is a field everywhere: CSV, JSON and its reader, Python. */
static const struct ih_field stats_fields[] = {
    FIELD("count", COUNT, count, "pixels"),
    FIELD("sum", COUNT, sum, "sum of the 8-bit values"),
    FIELD("mean", REAL, mean, "mean value, 0 to 255; NaN without pixels"),
    FIELD("stddev", REAL, stddev, "population standard deviation of the values"),
    FIELD("min", VALUE, min, "smallest value that occurs"),
    FIELD("max", VALUE, max, "largest value that occurs"),
    FIELD("p01", VALUE, percentile[IH_P01], "smallest value with cumulative count >= 1 % of count"),
    FIELD("p05", VALUE, percentile[IH_P05], "the same for 5 %"),
    FIELD("p25", VALUE, percentile[IH_P25], "the same for 25 %"),
    FIELD("median", VALUE, percentile[IH_MEDIAN], "the same for 50 %"),
    FIELD("p75", VALUE, percentile[IH_P75], "the same for 75 %"),
    FIELD("p95", VALUE, percentile[IH_P95], "the same for 95 %"),
    FIELD("p99", VALUE, percentile[IH_P99], "the same for 99 %"),
    FIELD("entropy", REAL, entropy, "bits per pixel, 0 to 8"),
    FIELD("clip_low", COUNT, clip_low, "pixels with values <= the lower clip limit"),
    FIELD("clip_high", COUNT, clip_high, "pixels with values >= the upper clip limit"),
    {NULL, 0, 0, NULL},
};

_Static_assert(sizeof stats_fields / sizeof *stats_fields - 1 <= IH_STATISTICS_MAX, "not more");

const struct ih_field *ih_stats_fields(void)
{
    return stats_fields;
}

/* The least cumulative count >= percent / 100 * count, without overflow or rounding: the multiples
 * of 100 in count and the rest are scaled separately. */
static uint64_t least_reaching(unsigned percent, uint64_t count)
{
    uint64_t hundreds = count / 100 * percent;
    uint64_t rest = (count % 100 * percent + 99) / 100;
    return hundreds + rest;
}

static void find_percentiles(const uint64_t bins[IH_BINS], struct ih_stats *out)
{
    uint64_t cumulative = bins[0];
    unsigned v = 0;
    for (unsigned k = 0; k < IH_PERCENTILES; k++) {
        const uint64_t least = least_reaching(ih_percentile_percents[k], out->count);
        while (cumulative < least)
            cumulative += bins[++v];
        out->percentile[k] = v;
    }
}

void ih_stats_count(const struct ih_histogram *h, unsigned plane, const struct ih_count_spec *spec,
                    struct ih_stats *out)
{
    assert(ih_plane_name(h->n_channels, plane));
    const uint64_t *bins = h->bins[plane];
    memset(out, 0, sizeof *out);
    out->count = ih_count_range(bins, 0, IH_BINS - 1); /* of a total's alpha: less than n_pixels */
    out->sum = h->sum[plane];
    out->clip_low = ih_count_range(bins, 0, spec->clip_low);
    out->clip_high = ih_count_range(bins, spec->clip_high, IH_BINS - 1);
    if (out->count == 0)
        return;
    while (bins[out->min] == 0)
        out->min++;
    for (out->max = IH_BINS - 1; bins[out->max] == 0;)
        out->max--;
    find_percentiles(bins, out);
}

void ih_stats_compute(const struct ih_histogram *h, unsigned plane,
                      const struct ih_count_spec *spec, struct ih_stats *out)
{
    const uint64_t *bins = h->bins[plane];
    ih_stats_count(h, plane, spec, out);
    if (out->count == 0) {
        out->mean = out->stddev = out->entropy = (double)NAN;
        return;
    }
    double n = (double)out->count;
    out->mean = (double)out->sum / n;
    double variance = 0;
    for (unsigned v = out->min; v <= out->max; v++) {
        if (bins[v] == 0)
            continue;
        double share = (double)bins[v] / n;
        variance += share * (v - out->mean) * (v - out->mean);
        out->entropy -= share * log2(share);
    }
    out->stddev = sqrt(variance);
}

void ih_srgb_decode(double linear[IH_BINS])
{
    for (unsigned v = 0; v < IH_BINS; v++) {
        const double c = v / 255.0;
        linear[v] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
}

double ih_mean_luminance_by(const struct ih_histogram *h, const double linear[IH_BINS])
{
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    unsigned n_colours = ih_colour_channels(h->n_channels);
    if (h->n_pixels == 0)
        return (double)NAN;
    double y = 0;
    for (unsigned v = 0; v < IH_BINS; v++) {
        double weighted = 0;
        for (unsigned c = 0; c < n_colours; c++)
            weighted += (n_colours == 1 ? 1.0 : weights[c]) * (double)h->bins[c][v];
        y += linear[v] * weighted;
    }
    return y / (double)h->n_pixels;
}

double ih_mean_luminance(const struct ih_histogram *h)
{
    double linear[IH_BINS];
    ih_srgb_decode(linear);
    return ih_mean_luminance_by(h, linear);
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
