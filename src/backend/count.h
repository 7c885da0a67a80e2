/*
 * Counting on one core: interleaved pixels in, an exact histogram out.
 *
 * This is the inside of the CPU backend, kept apart from its lanes and buffers so that tests and
 * benchmarks can hold one counter against another. A counter is used as begin, any number of adds,
 * end; a begin drops whatever came before it. Nothing here allocates or fails.
 */
#ifndef IH_BACKEND_COUNT_H
#define IH_BACKEND_COUNT_H

#include "base/histogram.h"

enum {
    IH_COUNT_SUBTABLES = 16, /* shared out among the channels: 16, 8, 4 or 4 for each */
    IH_COUNT_LUMA_SUBTABLES = 4,
    /* How many colour channels are low and high: low + 4 * high, at most 3 together, so 0 to 12. */
    IH_COUNT_CLASSES = 13,
    IH_COUNT_PADDING = 16,    /* entries after each table; count_tables.c says why */
    IH_COUNT_PAIR_REACH = 16, /* two neighbours are a pair where the second is this much less, to
                                 one short of this much more; count_rgb_loop.h says why */
    IH_COUNT_PAIR_ROWS = 2 * IH_COUNT_PAIR_REACH
};

/* What the 32-bit tables may hold: a pixel adds at most 1 to any one counter. */
#define IH_COUNT_FOLD_PIXELS UINT32_MAX

struct ih_counter;

/* Counts RGB as far as whole vectors go, and gives how many pixels that were. */
typedef size_t ih_count_rgb_function(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels);

/*
 * The state of a count, about 216 KiB, of which gray images touch about 25 and small ones at most
 * 85. Between begin and end, only `fold_pixels`, `pairs_from_pixels` and `rgb` may be set and
 * `n_unfolded` and `has_pairs` read from outside.
 */
struct ih_counter {
    const struct ih_count_method *method;
    struct ih_count_spec spec;
    struct ih_histogram totals; /* all that has been folded; sums and gray planes come at the end */

    /* The tables' own. */
    uint64_t fold_pixels; /* the most pixels that may be in the tables; tests set it lower */
    uint64_t n_unfolded;  /* pixels in the tables now */
    uint32_t subtables[IH_COUNT_SUBTABLES][IH_BINS + IH_COUNT_PADDING];
    uint32_t luma[IH_COUNT_LUMA_SUBTABLES][IH_COUNT_CLASSES * IH_BINS + IH_COUNT_PADDING];
    /* Two neighbours at once: [red, green, blue, luma][difference + reach][first]. Cleared with
     * their first use in an image. */
    bool has_pairs;
    uint64_t pairs_from_pixels; /* smaller images have none; tests set it lower */
    uint32_t pairs[4][IH_COUNT_PAIR_ROWS * IH_BINS + IH_COUNT_PADDING];
    uint32_t weights[3][IH_BINS]; /* weight * value in 1/65536, and the value's clip class above */
    ih_count_rgb_function *rgb;   /* the best; tests set the others */
};

struct ih_count_method {
    void (*begin)(struct ih_counter *counter); /* spec and cleared totals are in place */
    void (*add)(struct ih_counter *counter, const uint8_t *pixels, size_t n_pixels);
    void (*end)(struct ih_counter *counter); /* completes totals */
};

extern const struct ih_count_method ih_count_tables;
extern const struct ih_count_method ih_count_reference;

/* How many of the sub-tables each channel has. */
static inline unsigned ih_count_subtables_each(unsigned n_channels)
{
    return n_channels < 3 ? IH_COUNT_SUBTABLES / n_channels : IH_COUNT_SUBTABLES / 4;
}

/*
 * The loops of ih_count_tables: counts n_pixels into the 32-bit tables, whose weights are set and
 * which have room for them. Only count_tables.c calls it.
 */
void ih_count_into_tables(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels);

/* Counts the pixels at p, of n, that are like the first, and gives how many these were. */
size_t ih_count_run(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels);

/* The loops of RGB with vectors. NULL is one that is not built; not every processor can run the one
 * for AVX2, and the best is one that this processor can. */
extern ih_count_rgb_function *const ih_count_rgb_base, *const ih_count_rgb_avx2;
ih_count_rgb_function *ih_count_rgb_best(void);

/* Starts anew. spec is copied. */
static inline void ih_counter_begin(struct ih_counter *counter,
                                    const struct ih_count_method *method,
                                    const struct ih_count_spec *spec)
{
    counter->method = method;
    counter->spec = *spec;
    ih_histogram_clear(&counter->totals, spec->n_channels);
    method->begin(counter);
}

/* pixels: uint8 [n_pixels][n_channels], interleaved, any alignment; borrowed for the call. */
static inline void ih_counter_add(struct ih_counter *counter, const uint8_t *pixels,
                                  size_t n_pixels)
{
    counter->totals.n_pixels += n_pixels;
    counter->method->add(counter, pixels, n_pixels);
}

/* Gives all planes, sums and joint clip counts; out is overwritten. Begin again after it. */
static inline void ih_counter_end(struct ih_counter *counter, struct ih_histogram *out)
{
    counter->method->end(counter);
    *out = counter->totals;
}

#endif
