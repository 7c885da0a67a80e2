/*
 * Counting on one core: interleaved pixels in, an exact histogram out.
 *
 * This is the inside of the CPU backend, kept apart from its lanes and buffers so that tests and
 * benchmarks can hold one counter against another. A counter is used as begin, any number of adds,
 * end; a begin drops whatever came before it. Nothing here allocates or fails.
 */
#ifndef IH_COUNT_COUNT_H
#define IH_COUNT_COUNT_H

#include "counts/histogram.h"

enum {
    IH_COUNT_SUBTABLES = 16, /* shared out among the channels: 16, 8, 4 or 4 for each */
    IH_COUNT_LUMA_SUBTABLES = 4,
    /* How many colour channels are low and high: low + 4 * high, at most 3 together, so 0 to 12. */
    IH_COUNT_CLASSES = 13,
    IH_COUNT_PADDING = 16,    /* entries after each table; count_tables.c says why */
    IH_COUNT_PAIR_REACH = 16, /* two neighbours are a pair where the second is this much less, to
                                 one short of this much more; count_rgb_loop.h says why */
    IH_COUNT_PAIR_ROWS = 2 * IH_COUNT_PAIR_REACH,
    /* Pixels of planes that are brought to full size before they are counted; count_planes.c */
    IH_COUNT_CHUNK_PIXELS = 255 * 16,
    IH_COUNT_CHUNK_PADDING = 32 /* bytes: vectors are written whole */
};

/* What the 32-bit tables may hold: a pixel adds at most 1 to any one counter. */
#define IH_COUNT_FOLD_PIXELS UINT32_MAX

struct ih_counter;

/* A row of a chroma plane of halved width. */
struct ih_chroma_row {
    /* The row that a pixel lies in, and the one that it lies next to, of which it takes a quarter:
     * the same where the height is not halved. */
    const uint8_t *near, *far;
    uint32_t n_samples;
    bool halves_height;
};

/* What is made of vectors. */
struct ih_count_vectors {
    /* Counts RGB as far as whole vectors go, and gives how many pixels that were. */
    size_t (*rgb)(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels);
    /* The same of Y, Cb and Cr, all of full size; NULL: there are no vectors. */
    size_t (*ycc)(struct ih_counter *t, const uint8_t *const samples[3], size_t n_pixels);
    /* Chroma of the n pixels from x on, which is even, of a row; behind them as much as a vector is
     * written. n is at most IH_COUNT_CHUNK_PIXELS. */
    void (*upsample)(uint8_t *out, const struct ih_chroma_row *row, uint32_t x, size_t n);
};

/*
 * The state of a count, about 228 KiB, of which gray images touch about 25 and small ones at most
 * 85. Between begin and end, only `fold_pixels`, `pairs_from_pixels` and `vectors` may be set and
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
    const struct ih_count_vectors *vectors; /* the best; tests set the others */

    /* What of planes is not yet counted: Y, Cb and Cr at full size. */
    uint8_t chunk[3][IH_COUNT_CHUNK_PIXELS + IH_COUNT_CHUNK_PADDING];
    size_t n_chunk;
};

struct ih_count_method {
    void (*begin)(struct ih_counter *counter); /* spec and cleared totals are in place */
    void (*add)(struct ih_counter *counter, const uint8_t *pixels, size_t n_pixels);
    void (*add_planes)(struct ih_counter *counter, const struct ih_planes *planes); /* or NULL */
    void (*end)(struct ih_counter *counter); /* completes totals */
};

extern const struct ih_count_method ih_count_tables;
extern const struct ih_count_method ih_count_reference;

/* How many of the sub-tables each channel has. */
static inline unsigned ih_count_subtables_each(unsigned n_channels)
{
    return n_channels < 3 ? IH_COUNT_SUBTABLES / n_channels : IH_COUNT_SUBTABLES / 4;
}

/* Room for n_wanted more pixels in the tables, if need be by emptying them. Gives how many fit, at
 * least 1 and at most n_wanted, and counts them as being there. Only for count_*.c, as all that
 * follows up to ih_counter_begin. */
size_t ih_count_make_room(struct ih_counter *t, size_t n_wanted);

/* The planes' part of ih_count_tables: adds them, and counts what is left at the end. */
void ih_count_add_planes(struct ih_counter *t, const struct ih_planes *planes);
void ih_count_end_planes(struct ih_counter *t);

/*
 * The loops of ih_count_tables: counts n_pixels into the 32-bit tables, whose weights are set and
 * which have room for them.
 */
void ih_count_into_tables(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels);

/* Counts the pixels at p, of n, that are like the first, and gives how many these were. */
size_t ih_count_run(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels);

/* Counts n pixels like the one at p. */
void ih_count_same(struct ih_counter *t, const uint8_t *p, uint32_t n, unsigned n_channels);
void ih_count_same_ycc(struct ih_counter *t, const uint8_t *const samples[3], size_t i, uint32_t n);

/* NULL is what is not built; not every processor can run what is for AVX2, and the best is what
 * this processor can. */
extern const struct ih_count_vectors *const ih_count_vectors_base, *const ih_count_vectors_avx2;
const struct ih_count_vectors *ih_count_vectors_best(void);

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

/* The same of a band of planes, for methods that have add_planes, and processors with vectors:
 * n_channels is 3. */
static inline bool ih_counter_takes_planes(const struct ih_count_method *method)
{
    return method->add_planes && ih_count_vectors_best()->ycc;
}

static inline void ih_counter_add_planes(struct ih_counter *counter, const struct ih_planes *planes)
{
    counter->totals.n_pixels += (uint64_t)planes->width * planes->n_rows;
    counter->method->add_planes(counter, planes);
}

/* Gives all planes, sums and joint clip counts; out is overwritten. Begin again after it. */
static inline void ih_counter_end(struct ih_counter *counter, struct ih_histogram *out)
{
    counter->method->end(counter);
    *out = counter->totals;
}

#endif
