/*
 * The counts of one image and their statistics.
 *
 * All reported numbers come from this struct: 256 counters for each stored channel and for luma,
 * the sums of values, and the counts of pixels clipped in any or all channels. All are exact 64-bit
 * integers. Histograms of the parts of an image, or of many images, can be added.
 */
#ifndef IH_HISTOGRAM_HISTOGRAM_H
#define IH_HISTOGRAM_HISTOGRAM_H

#include "histogram/pixels.h"

struct ih_histogram {
    unsigned n_channels; /* planes 0 .. n_channels-1 and IH_LUMA are valid */
    bool without_luma;   /* of ih_luma_none: IH_LUMA is not valid, and 0 */
    uint64_t n_pixels;   /* in each valid plane, except the alpha of a total (total.h) */
    uint64_t bins[IH_PLANES][IH_BINS]; /* pixels */
    uint64_t sum[IH_PLANES];           /* of the 8-bit values */
    /* Pixels clipped in any, or in all, colour channels (without alpha and luma). */
    uint64_t any_low, any_high, all_low, all_high;
};

void ih_histogram_clear(struct ih_histogram *h, unsigned n_channels);

/* The name of a plane (ih_plane_name); NULL: the histogram does not have it. */
static inline const char *ih_histogram_plane(const struct ih_histogram *h, unsigned plane)
{
    return plane == IH_LUMA && h->without_luma ? NULL : ih_plane_name(h->n_channels, plane);
}

/* h += other. Both have the same n_channels. */
void ih_histogram_add(struct ih_histogram *h, const struct ih_histogram *other);

/* Fills in the counts of a gray image that follow from its gray bins, so that backends need not
 * count them: luma, and the pixels clipped in any or all channels. Without luma, clears its plane,
 * so that backends may count it all the same. */
void ih_histogram_derive(struct ih_histogram *h, const struct ih_count_spec *spec);

/* The number of pixels with a value from first to last. */
uint64_t ih_count_range(const uint64_t bins[IH_BINS], unsigned first, unsigned last);

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

extern const unsigned ih_percentile_percents[IH_PERCENTILES]; /* 1 5 25 50 75 95 99 */

enum { IH_STATISTICS_MAX = 32 }; /* that ih_stats_fields may have */

/* Computes the statistics of one plane; imghist.h declares the struct. */
void ih_stats_compute(const struct ih_histogram *h, unsigned plane,
                      const struct ih_count_spec *spec, struct ih_stats *out);

/* The integers among them alone. The real numbers are 0. */
void ih_stats_count(const struct ih_histogram *h, unsigned plane, const struct ih_count_spec *spec,
                    struct ih_stats *out);

/* Mean linear-light luminance Y of the image, 0 to 1: BT.709 weights of sRGB-decoded values (IEC
 * 61966-2-1), computed from the channel histograms. For gray the mean of the decoded values. NaN
 * without pixels. */
double ih_mean_luminance(const struct ih_histogram *h);

/* The same in two steps, for many images: the decoded value of each 8-bit value, and the mean. */
void ih_srgb_decode(double linear[IH_BINS]);
double ih_mean_luminance_by(const struct ih_histogram *h, const double linear[IH_BINS]);

#endif
