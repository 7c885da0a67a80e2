#include "histogram/robust.h"

#include <limits.h>
#include <math.h>

/* Walks from the median in both directions, always to the nearer value. */
static double median_distance(const struct ih_histogram *h, unsigned plane)
{
    const uint64_t *const bins = ih_bins(h, plane);
    const unsigned median = ih_percentile(h, plane, 50 * IH_PERCENT);
    const uint64_t n = ih_count_range(bins, 0, h->n_bins - 1);
    const double middle = ih_bin_value(h->type, median);
    unsigned first = median, last = median;
    uint64_t n_within = bins[median];
    double distance = 0;
    while (n_within < n - n / 2) {
        const double below =
            first > 0 ? middle - ih_bin_value(h->type, first - 1) : (double)INFINITY;
        const double above =
            last + 1 < h->n_bins ? ih_bin_value(h->type, last + 1) - middle : (double)INFINITY;
        distance = below < above ? below : above;
        n_within += bins[below < above ? --first : ++last];
    }
    return distance;
}

/* The bins that have pixels, from first to last, and their statistics. */
struct part {
    unsigned first, last;
    uint64_t n;
    double mean, median, stddev;
};

/* The bin of the pixel with this rank, from 0. */
static unsigned bin_at(const uint64_t *bins, unsigned first, uint64_t rank)
{
    uint64_t n = bins[first];
    while (n <= rank)
        n += bins[++first];
    return first;
}

/* Describes a part that has pixels. Sums are about its median, so that they stay small. */
static void describe_part(enum ih_sample_type type, const uint64_t *bins, struct part *p)
{
    p->n = ih_count_range(bins, p->first, p->last);
    const double low = ih_bin_value(type, bin_at(bins, p->first, (p->n - 1) / 2));
    const double high = ih_bin_value(type, bin_at(bins, p->first, p->n / 2));
    double first = 0, second = 0;
    for (unsigned v = p->first; v <= p->last; v++) {
        if (bins[v] == 0)
            continue;
        const double n = (double)bins[v], d = ih_bin_value(type, v) - low;
        first += n * d;
        second += n * d * d;
    }
    const double n = (double)p->n, mean = first / n;
    p->median = (low + high) / 2;
    p->mean = low + mean;
    p->stddev = sqrt(second / n - mean * mean);
}

/* Leaves out far values until there are none. */
static struct part clip(const struct ih_histogram *h, unsigned plane)
{
    enum { SIGMA = 3 };
    const uint64_t *const bins = ih_bins(h, plane);
    struct part p = {.first = 0, .last = h->n_bins - 1};
    double low = -(double)INFINITY, high = (double)INFINITY;
    for (uint64_t n = 0;; n = p.n) {
        while (bins[p.first] == 0 || ih_bin_value(h->type, p.first) < low)
            p.first++;
        while (bins[p.last] == 0 || ih_bin_value(h->type, p.last) > high)
            p.last--;
        describe_part(h->type, bins, &p);
        if (p.n == n)
            return p;
        low = p.median - SIGMA * p.stddev;
        high = p.median + SIGMA * p.stddev;
    }
}

double ih_robust(const struct ih_histogram *h, unsigned plane, enum ih_robust which)
{
    const unsigned p25 = ih_percentile(h, plane, 25 * IH_PERCENT);
    if (p25 == UINT_MAX)
        return (double)NAN;
    if (which == IH_ROBUST_MAD)
        return median_distance(h, plane);
    if (which == IH_ROBUST_IQR)
        return ih_bin_value(h->type, ih_percentile(h, plane, 75 * IH_PERCENT)) -
               ih_bin_value(h->type, p25);
    if (h->type == IH_FLOAT32) /* a bin has several values */
        return (double)NAN;
    const struct part p = clip(h, plane);
    return which == IH_ROBUST_CLIPPED_MEAN     ? p.mean
           : which == IH_ROBUST_CLIPPED_MEDIAN ? p.median
                                               : p.stddev;
}
