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
    struct ih_clipped clipped;
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
    p->clipped = (struct ih_clipped){low + mean, (low + high) / 2, sqrt(second / n - mean * mean)};
}

/* A bin of float32 has several values. A sigma below 1 may leave nothing. */
struct ih_clipped ih_sigma_clip(const struct ih_histogram *h, unsigned plane, double sigma)
{
    const uint64_t *const bins = ih_bins(h, plane);
    struct part p = {.first = 0, .last = h->n_bins - 1};
    double low = -(double)INFINITY, high = (double)INFINITY;
    for (uint64_t n = 0; h->type != IH_FLOAT32; n = p.n) {
        while (p.first <= p.last && (bins[p.first] == 0 || ih_bin_value(h->type, p.first) < low))
            p.first++;
        while (p.first < p.last && (bins[p.last] == 0 || ih_bin_value(h->type, p.last) > high))
            p.last--;
        if (p.first > p.last || ih_bin_value(h->type, p.first) > high)
            break;
        describe_part(h->type, bins, &p);
        if (p.n == n)
            return p.clipped;
        low = p.clipped.median - sigma * p.clipped.stddev;
        high = p.clipped.median + sigma * p.clipped.stddev;
    }
    return (struct ih_clipped){(double)NAN, (double)NAN, (double)NAN};
}

double ih_side_share(const struct ih_histogram *h, unsigned plane, unsigned sides, double limit)
{
    const uint64_t *const bins = ih_bins(h, plane);
    uint64_t n = 0;
    for (unsigned v = 0; v < h->n_bins; v++) {
        const double value = ih_bin_value(h->type, v);
        n += sides & (value < limit ? IH_BELOW : value > limit ? IH_ABOVE : IH_AT) ? bins[v] : 0;
    }
    const uint64_t n_all = ih_count_range(bins, 0, h->n_bins - 1);
    return n_all == 0 || h->type == IH_FLOAT32 ? (double)NAN : (double)n / (double)n_all;
}

double ih_robust(const struct ih_histogram *h, unsigned plane, enum ih_robust which)
{
    const unsigned p25 = ih_percentile(h, plane, 25 * IH_PERCENT);
    if (p25 == UINT_MAX)
        return (double)NAN;
    if (which == IH_ROBUST_MAD)
        return median_distance(h, plane);
    return ih_bin_value(h->type, ih_percentile(h, plane, 75 * IH_PERCENT)) -
           ih_bin_value(h->type, p25);
}
