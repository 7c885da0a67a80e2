/*
 * Counting float32 samples on one CPU core: the samples in each bin, and their exact sums. The
 * counterpart of count_native.h.
 */
#ifndef IH_COUNT_COUNT_FLOAT_H
#define IH_COUNT_COUNT_FLOAT_H

#include "histogram/histogram.h"

/* One channel, or one after the other. Zero at first. Keeps its tables from image to image; release
 * it with ih_float_channel_reset. */
struct ih_float_channel {
    struct ih_float_cells *cells; /* two tables, owned; 0 between two channels */
    uint32_t first_key, last_key, n_unfolded;

    /* Borrowed. */
    uint64_t *bins;
    struct ih_float_sums *sums;
    uint64_t *specials;
};

/*
 * Starts a channel. The samples are added to what the arguments have, which are borrowed until
 * ih_float_channel_end and hold all samples only then.
 *
 * bins     [IH_FLOAT_BINS]
 * specials [IH_SPECIALS]
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_float_channel_begin(struct ih_float_channel *c, uint64_t *bins,
                                      struct ih_float_sums *sums, uint64_t *specials,
                                      struct ih_error *err);

/* Adds n samples in the machine's byte order, stride_bytes apart, with any alignment. They are
 * borrowed for the call. */
void ih_float_channel_add(struct ih_float_channel *c, const void *samples, size_t n,
                          ptrdiff_t stride_bytes);

void ih_float_channel_end(struct ih_float_channel *c);
void ih_float_channel_reset(struct ih_float_channel *c);

/* The channels of an image. Zero at first. Release it with ih_float_reset. */
struct ih_float_counter {
    struct ih_histogram totals;        /* owned until ih_float_end */
    struct ih_float_channel *channels; /* [n_channels], owned */
    unsigned n_channels;
};

/* Starts an image and drops an unfinished one. spec is copied; its type is IH_FLOAT32, and it has
 * no luma. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_float_begin(struct ih_float_counter *counter, const struct ih_count_spec *spec,
                              struct ih_error *err);

/* pixels: float32 [n_pixels][n_channels], any alignment; borrowed for the call */
void ih_float_add(struct ih_float_counter *counter, const void *pixels, size_t n_pixels);

/* *out owns the counts. */
void ih_float_end(struct ih_float_counter *counter, struct ih_histogram *out);
void ih_float_reset(struct ih_float_counter *counter);

#endif
