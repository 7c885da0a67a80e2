/*
 * The counts of one image and their statistics.
 *
 * All reported numbers come from this struct: 256 counters for each stored channel and for luma,
 * the sums of values, and the counts of pixels clipped in any or all channels. All are exact 64-bit
 * integers. Histograms of the parts of an image, or of many images, can be added.
 *
 * A native histogram has a counter for each value of samples of 9 to 16 bits, in memory of its own.
 * Everything that reads counters takes them from ih_bins, and their number from ih_n_bins.
 */
#ifndef IH_HISTOGRAM_HISTOGRAM_H
#define IH_HISTOGRAM_HISTOGRAM_H

#include "base/status.h"
#include "histogram/measure.h"

struct ih_histogram {
    unsigned n_channels; /* planes 0 .. n_channels-1 and IH_LUMA are valid */
    bool without_luma;   /* of ih_luma_none: IH_LUMA is not valid, and 0 */
    uint64_t n_pixels;   /* in each valid plane, except the alpha of a total (total.h) */
    uint64_t bins[IH_PLANES][IH_BINS]; /* pixels; unused if the histogram is native */
    uint64_t *native; /* [planes][n_native]; NULL: 256 bins. Copies of the struct share it; its one
                         owner calls ih_histogram_reset */
    unsigned n_native;
    bool is_compact; /* native has no planes but those of n_channels; gray is its own luma, else
                        luma follows the channels. false: IH_PLANES planes */
    bool lacks_luma; /* native has no plane for it: ih_bins gives zeros, ih_own_bins must not */
    bool adds_up;    /* n_pixels and sum fit the bins: what counted them has checked it */
    uint64_t sum[IH_PLANES]; /* of the values */
    /* Pixels clipped in any, or in all, colour channels (without alpha and luma). */
    uint64_t any_low, any_high, all_low, all_high;
};

static inline unsigned ih_n_bins(const struct ih_histogram *h)
{
    return h->native ? h->n_native : IH_BINS;
}

/* Whether luma has the counters of gray. */
static inline bool ih_shares_luma(const struct ih_histogram *h)
{
    return h->is_compact && h->n_channels < 3;
}

/* Where the counters of a plane that the histogram has begin in native. */
static inline size_t ih_native_at(const struct ih_histogram *h, unsigned plane)
{
    if (h->is_compact && plane == IH_LUMA)
        plane = h->n_channels < 3 ? 0 : h->n_channels;
    return (size_t)plane * h->n_native;
}

extern uint64_t ih_no_counts[IH_NATIVE_BINS_MAX]; /* 0; const, it would be 512 KiB of the file */

/* These counters: [ih_n_bins(h)]. */
static inline const uint64_t *ih_bins(const struct ih_histogram *h, unsigned plane)
{
    if (h->lacks_luma && plane == IH_LUMA)
        return ih_no_counts;
    return h->native ? h->native + ih_native_at(h, plane) : h->bins[plane];
}

static inline uint64_t *ih_own_bins(struct ih_histogram *h, unsigned plane)
{
    return h->native ? h->native + ih_native_at(h, plane) : h->bins[plane];
}

/* An empty histogram of 256 bins. Does not release what h held. */
void ih_histogram_clear(struct ih_histogram *h, unsigned n_channels);

/* The name of a plane (ih_plane_name); NULL: the histogram does not have it. */
static inline const char *ih_histogram_plane(const struct ih_histogram *h, unsigned plane)
{
    return plane == IH_LUMA && h->without_luma ? NULL : ih_plane_name(h->n_channels, plane);
}

/* The same with the bins of spec. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_histogram_init(struct ih_histogram *h, const struct ih_count_spec *spec,
                                 struct ih_error *err);

/* The same, but native counters are not set: the caller writes all of them, and luma of colour only
 * if the spec has luma. */
enum ih_status ih_histogram_init_unset(struct ih_histogram *h, const struct ih_count_spec *spec,
                                       struct ih_error *err);

/* Gives a histogram native counters of its own, a copy of those that it shares. IH_OK or IH_MEMORY
 * with h unchanged. */
enum ih_status ih_histogram_own(struct ih_histogram *h, struct ih_error *err);

/* Releases native counters. */
void ih_histogram_reset(struct ih_histogram *h);

/* h += other. Both have the same n_channels and n_bins. */
void ih_histogram_add(struct ih_histogram *h, const struct ih_histogram *other);

/* Fills *folded, which owns nothing, with at most 256 bars for a drawing: each bar is the sum of n
 * values, the last one perhaps of fewer. Returns n; 1 for 256 bins, which are copied. */
unsigned ih_histogram_fold(const struct ih_histogram *h, struct ih_histogram *folded);

/* Fills in the counts of a gray image that follow from its gray bins, so that backends need not
 * count them: luma, and the pixels clipped in any or all channels. Without luma, clears its plane,
 * so that backends may count it all the same. */
void ih_histogram_derive(struct ih_histogram *h, const struct ih_count_spec *spec);

/* The number of pixels with a value from first to last. */
uint64_t ih_count_range(const uint64_t *bins, unsigned first, unsigned last);

/* Adds the n bins to *n_pixels. Returns the sum of all values that they count. */
uint64_t ih_add_values(const uint64_t *bins, unsigned n, uint64_t *n_pixels);

/* For qsort: counts, uint64_t, the highest first. */
int ih_compare_falling(const void *a, const void *b);

/*
 * Returns the highest of n bars of a drawn histogram; n is at least 1. Sorts the bars.
 *
 * without_spikes   the highest that is no spike. One in 32 bars is higher than a reference bar; a
 *                  bar more than three times as high as the reference is a spike
 */
uint64_t ih_highest_bar(uint64_t *bars, size_t n, bool without_spikes);

/* Returns true if the counts of an image agree: each valid plane has n_pixels, each sum is that of
 * its bins, all <= any <= n_pixels. False means a bug in a backend, never bad input. */
bool ih_histogram_consistent(const struct ih_histogram *h);

/* A percentile of choice is in millionths of a percent, so that its decimals are exact. */
enum { IH_PERCENT = 1000000, IH_PERCENT_KEY_MAX = 16 };

/* The smallest value that occurs whose cumulative count is at least the share of the plane's count;
 * UINT_MAX without pixels. */
unsigned ih_percentile(const struct ih_histogram *h, unsigned plane, uint32_t millionths);

/* Reads n bytes of digits with an optional point: 0 to 100, at most 6 decimals. */
bool ih_percent_parse(const char *text, size_t n, uint32_t *millionths);

/* "p99.9". Returns key. */
const char *ih_percent_key(uint32_t millionths, char key[IH_PERCENT_KEY_MAX]);

extern const unsigned ih_percentile_ranks[IH_PERCENTILES]; /* 1 5 25 50 75 95 99 */

enum { IH_STATISTICS_MAX = 32 };               /* rows that the table may have */
extern const struct ih_field ih_stats_table[]; /* what ih_stats_fields (imghist.h) returns */

/* Computes the statistics of one plane; imghist.h declares the struct. */
void ih_stats_compute(const struct ih_histogram *h, unsigned plane,
                      const struct ih_measure *measure, struct ih_stats *out);

/* The same in two steps, for those that do not always need the entropy: all but it, which is 0, and
 * then the entropy. */
void ih_stats_describe(const struct ih_histogram *h, unsigned plane,
                       const struct ih_measure *measure, struct ih_stats *out);
double ih_stats_entropy(const struct ih_histogram *h, unsigned plane, const struct ih_stats *stats);

/* Mean linear-light luminance Y of the image, 0 to 1: BT.709 weights of sRGB-decoded values (IEC
 * 61966-2-1), computed from the channel histograms. For gray the mean of the decoded values. NaN
 * without pixels. */
double ih_mean_luminance(const struct ih_histogram *h);

/* The same in two steps, for many images: the decoded value of each 8-bit value, and the mean.
 * The second step decodes native values; n_bins - 1 is white. */
void ih_srgb_decode(double linear[IH_BINS]);
double ih_mean_luminance_by(const struct ih_histogram *h, const double linear[IH_BINS]);

#endif
