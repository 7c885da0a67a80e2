/*
 * Counting native samples on one CPU core: interleaved uint16 pixels in, an exact histogram with a
 * bin for each value out. The counterpart of count.h, whose samples have 8 bits.
 */
#ifndef IH_COUNT_COUNT_NATIVE_H
#define IH_COUNT_COUNT_NATIVE_H

#include "histogram/histogram.h"

/* Zero at first. Keeps its tables from image to image; release it with ih_native_reset. */
struct ih_native_counter {
    struct ih_count_spec spec;
    struct ih_histogram totals; /* multiples of 256; owned until ih_native_end */
    bool has_bits;   /* set after begin: samples are no keys yet, the result is of keys */
    bool has_totals; /* false: the bins of totals are not set, none is needed yet */
    bool has_narrow; /* n_counted and sums lack the pixels of totals */
    uint64_t n_counted[IH_PIXEL_CHANNELS_MAX + 1]; /* pixels in totals: [ih_own_planes] */
    uint8_t *tables;  /* [n_copies][ih_own_planes][n_bins], owned, 0 at first: the rest of the
                         totals */
    size_t n_entries; /* allocated */
    unsigned n_copies;
};

/* Starts an image and drops an unfinished one. spec is copied; its type has samples of two bytes.
 * Returns IH_OK or IH_MEMORY. */
enum ih_status ih_native_begin(struct ih_native_counter *counter, const struct ih_count_spec *spec,
                               struct ih_error *err);

/* pixels: keys or, with has_bits, samples: uint16 [n_pixels][n_channels], of any alignment, all
 * below n_bins; borrowed. */
void ih_native_add(struct ih_native_counter *counter, const void *pixels, size_t n_pixels);

/* Completes all planes, sums and joint clip counts, which *out owns. Only begin may follow. */
void ih_native_end(struct ih_native_counter *counter, struct ih_histogram *out);

void ih_native_reset(struct ih_native_counter *counter);

#endif
