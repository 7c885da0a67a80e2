/*
 * The comparison of two sets of images, as --diff writes it: their totals side by side, and for
 * each channel two distances of the distributions of its values.
 *
 * With F(v) the share of pixels with a value of at most v, v from 0 to 255, or to the largest
 * native value:
 *
 *     ks  = max over v of |F_a(v) - F_b(v)|   Kolmogorov-Smirnov statistic, 0 to 1
 *     emd = sum over v of |F_a(v) - F_b(v)|   earth mover's (first Wasserstein) distance, in
 * values, 0 to the largest
 *
 * Shares do not depend on the number of pixels, so the sizes of the two sets may differ. Both
 * distances are the quotient of two exact integers. It is rounded at the end, so a distance that is
 * an integer is exact, and others have a relative error below 1e-15. (emd in one dimension: S. S.
 * Vallender, Calculation of the Wasserstein distance, 1974.)
 */
#ifndef IH_HISTOGRAM_COMPARE_H
#define IH_HISTOGRAM_COMPARE_H

#include "histogram/total.h"

struct ih_comparison {
    struct ih_result sides[2]; /* totals with the same channels, whose counters they borrow; the
                                  caller sets their paths */
    struct ih_distance planes[IH_PLANES_MAX]; /* of the planes that sides have */
    struct ih_distance largest;               /* of any plane */
};

/* Compares two totals of images, with the same measure and bins. Gray beside colour counts as
 * R = G = B, as in one total of both; if one of them has alpha, the other gets an alpha channel
 * without values: the totals are widened so. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_totals_compare(struct ih_total *a, struct ih_total *b, struct ih_comparison *out,
                                 struct ih_error *err);

/* The largest distances of a counted result to a total. Returns IH_OK; or IH_USAGE or
 * IH_UNSUPPORTED if their measures or bins differ. Threads: several at once. */
enum ih_status ih_result_compare(const struct ih_result *result, const struct ih_total *reference,
                                 struct ih_distance *distance, struct ih_error *err);

/* A fingerprint of the bins and the number of pixels: FNV-1a, 64 bits, of the type's name with its
 * NUL byte and of numbers of 64 bits, the least byte first. These are the number of bins and of
 * pixels, and of each plane each value that occurs (the number of its bin) with its count, and then
 * the pixels in no bin. Gray comes three times, as red, green and blue; an alpha that is opaque
 * everywhere is left out. So the same pixels have the same fingerprint in any format, rotated by
 * quarters and mirrored. Other images may have the same bins. */
uint64_t ih_fingerprint(const struct ih_histogram *h);

#endif
