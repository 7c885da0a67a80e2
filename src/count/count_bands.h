/*
 * Counting layouts that are no gray, RGB or alpha alone, of samples of one or two bytes, on one CPU
 * core. The counterpart of count.h and count_native.h for bands; float32 has count_float.h.
 */
#ifndef IH_COUNT_COUNT_BANDS_H
#define IH_COUNT_COUNT_BANDS_H

#include "histogram/histogram.h"

/* Zero at first; release it with ih_bands_reset. */
struct ih_bands_counter {
    struct ih_count_spec spec;
    bool has_bits;              /* as that of ih_native_counter */
    struct ih_histogram totals; /* owned until ih_bands_end */
};

/* Starts an image and drops an unfinished one. spec is copied. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_bands_begin(struct ih_bands_counter *counter, const struct ih_count_spec *spec,
                              struct ih_error *err);

/* pixels: keys or, with has_bits, samples: [n_pixels][n_channels], of any alignment, all below
 * n_bins; borrowed. */
void ih_bands_add(struct ih_bands_counter *counter, const void *pixels, size_t n_pixels);

/* *out owns the counts. */
void ih_bands_end(struct ih_bands_counter *counter, struct ih_histogram *out);
void ih_bands_reset(struct ih_bands_counter *counter);

#endif
