/*
 * Counting on one CPU core: interleaved pixels in, an exact histogram out.
 *
 * "Counts" are data (src/histogram); "count" is the code that produces them (this folder). A struct
 * ih_counter is the state of that code for one image: call begin, add any number of times, then
 * finish or end. begin discards what the counter held. It allocates the counts; nothing else fails.
 *
 *     count_reference.c     the plain method that every other method and kernel is checked against
 *     count_fast.c          the fast method: begin, add, end
 *     count_tables.c        its tables, and a loop for each number of channels
 *     count_planes.c        the same for stripes of Y, Cb and Cr
 *     count_vec_loops.h     its SIMD loops; count_vectors*.c build them for each instruction set
 *     count_vec.h           the SIMD operations that these loops need, for AVX2, SSE2 and NEON
 */
#ifndef IH_COUNT_COUNT_H
#define IH_COUNT_COUNT_H

#include "histogram/histogram.h"

enum {
    IH_COUNT_SUBTABLES = 16, /* divided among the channels: 16, 8, 4 or 4 for each */
    IH_COUNT_LUMA_SUBTABLES = 4,
    IH_COUNT_PADDING = 16, /* entries after each table; count_tables.c says why */
    /* Two neighbours count as a pair if the second is at most this much less than the first, and
     * less than this much more; count_vec_loops.h says why. */
    IH_COUNT_PAIR_REACH = 16,
    IH_COUNT_PAIR_ROWS = 2 * IH_COUNT_PAIR_REACH,
    IH_COUNT_CHUNK_PIXELS = 255 * 16, /* of planes, at full size; count_planes.c says why */
    IH_COUNT_CHUNK_PADDING = 32       /* bytes: the last store may be a whole vector */
};

/* The most pixels that 32-bit tables may hold: a pixel adds at most 1 to any entry. */
#define IH_COUNT_FOLD_PIXELS UINT32_MAX

struct ih_counter;

/* A row of Y and the two rows of one chroma plane, of half the width, that it takes colour from. */
struct ih_chroma_row {
    /* The chroma row that the row lies in, and the nearest other one, which contributes a quarter.
     * Both are the same row if chroma has full height. */
    const uint8_t *near, *far;
    uint32_t n_samples;
    bool halves_height;
};

/* The SIMD functions of one instruction set; all NULL: this build has no SIMD. */
struct ih_count_vectors {
    /* Counts interleaved RGB in whole vectors. Returns how many pixels it has counted. */
    size_t (*rgb)(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels);
    size_t (*rgba)(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels);
    /* The same for planes: of red, green, blue and, of 4 channels, alpha; of Y, Cb and Cr. */
    size_t (*planar)(struct ih_counter *t, const uint8_t *const samples[], size_t n_pixels);
    size_t (*ycc)(struct ih_counter *t, const uint8_t *const samples[], size_t n_pixels);
    /* Writes the chroma of the n pixels from x on, x even, n at most IH_COUNT_CHUNK_PIXELS. Stores
     * whole vectors, so up to IH_COUNT_CHUNK_PADDING bytes after out[n - 1] are overwritten. */
    void (*upsample)(uint8_t *out, const struct ih_chroma_row *row, uint32_t x, size_t n);
};

/* The state of a count, about 170 KiB. Small images touch at most 35 KiB of it. totals.bins must be
 * NULL at first, and ih_counter_reset releases it. Private, but tests may set
 * `fold_pixels`, `pairs_from_pixels`, `vectors` and `finds_noise` between begin and end, and read
 * `n_unfolded`, `has_pairs` and `is_noise`. */
struct ih_counter {
    const struct ih_count_method *method;
    struct ih_count_spec spec;
    struct ih_histogram totals; /* everything folded so far; the end adds sums. Owned */

    bool has_tables;      /* false: they are not cleared yet */
    uint64_t fold_pixels; /* the most pixels the tables may hold */
    uint64_t n_unfolded;  /* pixels in the tables now */
    uint32_t subtables[IH_COUNT_SUBTABLES][IH_BINS + IH_COUNT_PADDING];
    uint32_t luma[IH_COUNT_LUMA_SUBTABLES][IH_BINS + IH_COUNT_PADDING];
    /* Two neighbours at once: [red, green, blue, luma][difference + reach][first]. Cleared when
     * an image first uses them. */
    bool has_pairs;
    uint64_t pairs_from_pixels; /* smaller images do not use pairs */
    uint32_t pairs[4][IH_COUNT_PAIR_ROWS * IH_BINS + IH_COUNT_PADDING];
    const struct ih_count_vectors *vectors;

    /* Whether noise goes to few tables, and whether the pixels that come are noise. count_tables.c
     * says why. */
    bool finds_noise, is_noise;
    unsigned n_looks, n_alike; /* since the last decision */
    size_t n_unseen_bytes;     /* until the next look */

    /* Pixels of planes that are not counted yet: Y, Cb and Cr at full size. */
    uint8_t chunk[3][IH_COUNT_CHUNK_PIXELS + IH_COUNT_CHUNK_PADDING];
    size_t n_chunk;
};

struct ih_count_method {
    void (*begin)(struct ih_counter *counter); /* or NULL; spec is set and totals are empty */
    void (*add)(struct ih_counter *counter, const uint8_t *pixels, size_t n_pixels);
    /* Planes of red, green, blue and perhaps alpha, or NULL. */
    void (*add_planar)(struct ih_counter *counter, const uint8_t *const samples[], size_t n_pixels);
    void (*add_planes)(struct ih_counter *counter, const struct ih_planes *planes); /* or NULL */
    void (*end)(struct ih_counter *counter); /* or NULL; completes totals */
};

extern const struct ih_count_method ih_count_tables;
extern const struct ih_count_method ih_count_reference;

/* Starts an image. spec is copied. Returns IH_OK or IH_MEMORY. The memory of
 * totals that were not taken serves the next image of the same shape. */
static inline enum ih_status ih_counter_begin(struct ih_counter *counter,
                                              const struct ih_count_method *method,
                                              const struct ih_count_spec *spec,
                                              struct ih_error *err)
{
    struct ih_histogram *const totals = &counter->totals;
    counter->method = method;
    counter->spec = *spec;
    if (totals->bins && totals->type == spec->type &&
        ih_layout_is_same(totals->layout, spec->layout) &&
        ih_has_luma(totals) == (spec->luma != &ih_luma_none)) {
        ih_histogram_clear(totals);
    } else {
        ih_histogram_reset(totals);
        if (ih_histogram_init(totals, spec, err) != IH_OK)
            return IH_MEMORY;
    }
    if (method->begin)
        method->begin(counter);
    return IH_OK;
}

/* pixels: uint8 [n_pixels][n_channels], interleaved, any alignment; borrowed for the call. */
static inline void ih_counter_add(struct ih_counter *counter, const uint8_t *pixels,
                                  size_t n_pixels)
{
    counter->totals.n_pixels += n_pixels;
    counter->method->add(counter, pixels, n_pixels);
}

/* The SIMD functions for the instructions that every CPU of the target has, those for AVX2 (NULL:
 * not built), and the fastest that this CPU can run. */
extern const struct ih_count_vectors *const ih_count_vectors_base, *const ih_count_vectors_avx2;
const struct ih_count_vectors *ih_count_vectors_best(void);

/* Whether this CPU counts noise faster in few tables. */
bool ih_count_finds_noise(void);

/* Whether ih_counter_add_planes works: the method must have it, and the CPU must have SIMD. */
static inline bool ih_counter_takes_planes(const struct ih_count_method *method)
{
    return method->add_planes && ih_count_vectors_best()->ycc;
}

/* Adds pixels whose channels are apart: uint8 [n_channels][n_pixels], n_channels 3 or 4. The
 * counter must take planes. */
static inline void ih_counter_add_planar(struct ih_counter *counter, const uint8_t *const samples[],
                                         size_t n_pixels)
{
    counter->totals.n_pixels += n_pixels;
    counter->method->add_planar(counter, samples, n_pixels);
}

/* Adds a stripe of planes, borrowed for the call; n_channels is 3. */
static inline void ih_counter_add_planes(struct ih_counter *counter, const struct ih_planes *planes)
{
    counter->totals.n_pixels += (uint64_t)planes->width * planes->n_rows;
    counter->method->add_planes(counter, planes);
}

/* Completes all planes, sums and joint clip counts, which stay the counter's. Only begin may
 * follow. */
static inline const struct ih_histogram *ih_counter_finish(struct ih_counter *counter)
{
    if (counter->method->end)
        counter->method->end(counter);
    return &counter->totals;
}

/* The same, but *out owns the counts. */
static inline void ih_counter_end(struct ih_counter *counter, struct ih_histogram *out)
{
    ih_counter_finish(counter);
    *out = ih_histogram_take(&counter->totals);
}

static inline void ih_counter_reset(struct ih_counter *counter)
{
    ih_histogram_reset(&counter->totals);
}

/* ---- private to this folder: the parts of ih_count_tables ---- */

/* The number of sub-tables of each channel. */
static inline unsigned ih_count_subtables_each(unsigned n_channels)
{
    return n_channels < 3 ? IH_COUNT_SUBTABLES / n_channels : IH_COUNT_SUBTABLES / 4;
}

/* Without luma, its tables and the pairs are not touched. */
static inline bool ih_count_has_luma(const struct ih_counter *t)
{
    return t->spec.luma != &ih_luma_none;
}

void ih_count_clear(struct ih_counter *t); /* the tables */
void ih_count_fold(struct ih_counter *t);  /* adds the tables to the totals */

/* Fetches samples that are counted soon. The CPU's own prefetching ends with each page (Sapphire
 * Rapids, 6 megapixels of RGB, ns a pixel, without and with: photo 0.98 and 0.83, random 1.01 and
 * 0.84, one colour 0.34 and 0.21). */
static inline void ih_count_prefetch(const uint8_t *p)
{
    __builtin_prefetch((const void *)((uintptr_t)p + 2048));
}

/* Makes room in the tables, folding them if they are full. Returns how many of n_wanted pixels fit,
 * at least 1, and adds that number to n_unfolded. */
size_t ih_count_make_room(struct ih_counter *t, size_t n_wanted);

/* Counts the run of equal pixels that starts at p, at most n, and returns its length. */
size_t ih_count_run(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels);

/* Counts n pixels equal to the one at p, or to pixel i of the samples. */
void ih_count_same(struct ih_counter *t, const uint8_t *p, uint32_t n, unsigned n_channels);
void ih_count_same_ycc(struct ih_counter *t, const uint8_t *const samples[3], size_t i, uint32_t n);

/* The functions of the method that add pixels. */
void ih_count_add(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels);
void ih_count_add_planar(struct ih_counter *t, const uint8_t *const samples[], size_t n_pixels);
void ih_count_add_planes(struct ih_counter *t, const struct ih_planes *planes);

/* Counts the chunk in whole vectors and moves the rest to its start. At the end of an image, and
 * before the tables are folded, the rest is counted pixel by pixel. */
void ih_count_chunk(struct ih_counter *t, bool is_end);

#endif
