/*
 * The counts of one image, and the statistics that follow from them.
 *
 * Everything imghist reports comes from this one struct: 256 counters for each stored channel and
 * for luma, the channel sums, and four joint clip counts, all exact 64-bit integers. Histograms of
 * parts of an image, or of many images, add up.
 */
#ifndef IH_COUNTS_HISTOGRAM_H
#define IH_COUNTS_HISTOGRAM_H

#include "counts/pixels.h"

struct ih_histogram {
    unsigned n_channels; /* planes 0 .. n_channels-1 and IH_LUMA are valid */
    uint64_t n_pixels;   /* in every valid plane, but for the alpha of a total (total.h) */
    uint64_t bins[IH_PLANES][IH_BINS]; /* pixels */
    uint64_t sum[IH_PLANES];           /* of the 8-bit values */
    /* Pixels of which any, or all, colour channels are clipped (alpha and luma play no part). */
    uint64_t any_low, any_high, all_low, all_high;
};

void ih_histogram_clear(struct ih_histogram *h, unsigned n_channels);

/* h += other. Both have the same n_channels. */
void ih_histogram_add(struct ih_histogram *h, const struct ih_histogram *other);

/*
 * Fills in what a backend need not count: for a gray image the luma plane is the gray one, and a
 * pixel's only colour channel is all of them, so the joint counts follow from its bins.
 * Does nothing to a colour image.
 */
void ih_histogram_derive_gray(struct ih_histogram *h, const struct ih_count_spec *spec);

/* True where the counts of an image agree with each other: every valid plane holds n_pixels, every
 * sum is that of its bins, all <= any <= n_pixels. A false is a bug in a backend, never bad input.
 */
bool ih_histogram_consistent(const struct ih_histogram *h);

extern const unsigned ih_percentile_percents[IH_PERCENTILES]; /* 1 5 25 50 75 95 99 */

/* The statistics of one plane; imghist.h has the struct. */
void ih_stats_compute(const struct ih_histogram *h, unsigned plane,
                      const struct ih_count_spec *spec, struct ih_stats *out);

/*
 * Mean linear-light luminance Y of the image, 0 to 1: the BT.709 weights on sRGB-decoded values
 * (IEC 61966-2-1), taken from the channel histograms. NaN without pixels. Of a gray image, the mean
 * of its decoded values.
 */
double ih_mean_luminance(const struct ih_histogram *h);

#endif
