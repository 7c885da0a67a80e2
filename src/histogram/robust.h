/* Statistics that few far values do not move, of the bins of a plane. They are computed when they
 * are asked for: records do not hold them. */
#ifndef IH_HISTOGRAM_ROBUST_H
#define IH_HISTOGRAM_ROBUST_H

#include "histogram/histogram.h"

enum ih_robust {
    /* The least distance from the median within which at least half of the pixels lie. The median
     * is that of struct ih_stats, a value that occurs. */
    IH_ROBUST_MAD,

    IH_ROBUST_IQR, /* p75 - p25 */

    /* Mean, median and deviation without the values that are more than three deviations from the
     * median, until there are none. Here the median of an even number of pixels is the mean of the
     * two in the middle. Source: astropy.stats.sigma_clip with maxiters=None. */
    IH_ROBUST_CLIPPED_MEAN,
    IH_ROBUST_CLIPPED_MEDIAN,
    IH_ROBUST_CLIPPED_STDDEV
};

/* Returns NaN without pixels, and for the clipped ones of float32. */
double ih_robust(const struct ih_histogram *h, unsigned plane, enum ih_robust which);

#endif
