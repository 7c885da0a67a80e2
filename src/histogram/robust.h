/* Statistics that few far values do not move, of the bins of a plane. They are computed when they
 * are asked for: records do not hold them. */
#ifndef IH_HISTOGRAM_ROBUST_H
#define IH_HISTOGRAM_ROBUST_H

#include "histogram/histogram.h"

enum ih_robust {
    /* The least distance from the median within which at least half of the pixels lie. The median
     * is that of struct ih_stats, a value that occurs. */
    IH_ROBUST_MAD,

    IH_ROBUST_IQR /* p75 - p25 */
};

/* Returns NaN without pixels. */
double ih_robust(const struct ih_histogram *h, unsigned plane, enum ih_robust which);

/* Statistics of the values that clipping leaves: NaN if it leaves none, and for float32. */
struct ih_clipped {
    double mean, median, stddev;
};

/* Mean, median and deviation without the values that are more than sigma deviations from the
 * median, until there are none. Here the median of an even number of pixels is the mean of the two
 * in the middle. Source: astropy.stats.sigma_clip with maxiters=None. */
struct ih_clipped ih_sigma_clip(const struct ih_histogram *h, unsigned plane, double sigma);

/* A set of the orders that a value has to the limit. */
enum ih_side { IH_BELOW = 1, IH_AT = 2, IH_ABOVE = 4 };

/* The share of the pixels whose value is on these sides of the limit: 0 to 1; NaN without pixels,
 * and for float32. */
double ih_side_share(const struct ih_histogram *h, unsigned plane, unsigned sides, double limit);

#endif
