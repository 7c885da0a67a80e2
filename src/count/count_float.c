/*
 * Float32 samples become keys, integers in the order of the values (float_sums.h). The upper 16
 * bits of a key are its bin. For each bin a cell has the number of samples, the sum of the lower 16
 * bits of their keys, and the sum of the squares of these: what the exact sums follow from, with
 * two additions a sample. The number and the first sum share a word, so that a cell has 16 bytes:
 * the cells of a photo fit the first-level cache.
 *
 * Samples are taken in blocks. SIMD code makes the keys of a block, and its least and greatest key.
 * They tell whether all samples are equal, which then count at once, and whether some are no finite
 * values, which are rare.
 *
 * Neighbours are often in one bin, and an addition to a cell waits for the one before it. They go
 * to two tables alternately.
 */
#include "count/count_float.h"

#include <stdlib.h>

enum { BLOCK = 64, TABLES = 2, COUNT_SHIFT = 40 };

/* Before the lower part of a cell overflows, which is a sum of 16-bit numbers. */
enum { FOLD_SAMPLES = (1 << 24) - BLOCK };

struct ih_float_cells {
    uint64_t n_and_lows[IH_FLOAT_BINS]; /* n << COUNT_SHIFT | sum */
    uint64_t low_squares[IH_FLOAT_BINS];
};

enum ih_status ih_float_channel_begin(struct ih_float_channel *c, uint64_t *bins,
                                      struct ih_float_sums *sums, uint64_t *specials,
                                      struct ih_error *err)
{
    if (!c->cells)
        c->cells = calloc(TABLES, sizeof *c->cells);
    if (!c->cells)
        return ih_error_set(err, IH_MEMORY, "no memory for the bins of float32 samples");
    if (c->n_unfolded > 0) /* of an unfinished channel */
        memset(c->cells, 0, TABLES * sizeof *c->cells);
    c->first_key = UINT32_MAX;
    c->last_key = c->n_unfolded = 0;
    c->bins = bins;
    c->sums = sums;
    c->specials = specials;
    return IH_OK;
}

void ih_float_channel_reset(struct ih_float_channel *c)
{
    free(c->cells);
    *c = (struct ih_float_channel){.cells = NULL};
}

/* Moves the cells to bins and sums. The bins of a sign and exponent are next to each other. */
static void fold(struct ih_float_channel *c)
{
    enum { EACH = 128 };
    if (c->n_unfolded == 0)
        return;
    for (unsigned first = c->first_key >> 16 & ~(EACH - 1u); first <= c->last_key >> 16;
         first += EACH) {
        struct ih_float_part part = {0, 0, 0};
        for (unsigned bin = first; bin < first + EACH; bin++) {
            uint64_t both = 0, squares = 0;
            for (unsigned t = 0; t < TABLES; t++) {
                both += c->cells[t].n_and_lows[bin];
                squares += c->cells[t].low_squares[bin];
                c->cells[t].n_and_lows[bin] = c->cells[t].low_squares[bin] = 0;
            }
            if (both == 0)
                continue;
            const uint64_t n = both >> COUNT_SHIFT;
            ih_float_part_add(&part, bin, n, both & ((UINT64_C(1) << COUNT_SHIFT) - 1), squares);
            c->bins[bin] += n;
        }
        ih_float_sums_add_part(c->sums, first, &part, 0);
    }
    c->n_unfolded = 0;
}

void ih_float_channel_end(struct ih_float_channel *c)
{
    fold(c);
    if (c->sums->min_key > c->first_key)
        c->sums->min_key = c->first_key;
    if (c->sums->max_key < c->last_key)
        c->sums->max_key = c->last_key;
}

/* Counts apart what is no finite value. Moves the other keys to the front. Returns their number. */
static unsigned set_apart(struct ih_float_channel *c, uint32_t *keys, unsigned n)
{
    unsigned n_left = 0;
    for (unsigned i = 0; i < n; i++)
        if (keys[i] < IH_FLOAT_KEY_FIRST || keys[i] > IH_FLOAT_KEY_LAST)
            c->specials[ih_float_special(keys[i])]++;
        else
            keys[n_left++] = keys[i];
    return n_left;
}

/* Adds n equal samples; n is at most BLOCK. */
static inline void add_cell(struct ih_float_cells *t, uint32_t key, unsigned n)
{
    const uint32_t low = key & 0xFFFF;
    t->n_and_lows[key >> 16] += n * ((UINT64_C(1) << COUNT_SHIFT) + low);
    t->low_squares[key >> 16] += n * (uint64_t)(low * low);
}

static void add_keys(struct ih_float_cells *t, const uint32_t *keys, unsigned n)
{
    unsigned i = 0;
    for (; i + 4 <= n; i += 4) {
        add_cell(&t[0], keys[i], 1);
        add_cell(&t[1], keys[i + 1], 1);
        add_cell(&t[0], keys[i + 2], 1);
        add_cell(&t[1], keys[i + 3], 1);
    }
    for (; i < n; i++)
        add_cell(&t[0], keys[i], 1);
}

struct block {
    uint32_t keys[BLOCK];     /* bits of samples at first */
    uint32_t least, greatest; /* keys */
};

/* Makes keys of the samples. SSE2 compares integers with a sign, so keys have one for the time
 * being. */
static void make_keys(struct block *b)
{
    const uint32_t sign = UINT32_C(0x80000000);
    int32_t least = INT32_MAX, greatest = INT32_MIN;
    for (unsigned i = 0; i < BLOCK; i++) {
        const uint32_t key = ih_float_key(b->keys[i]);
        const int32_t order = (int32_t)(key ^ sign);
        b->keys[i] = key;
        least = order < least ? order : least;
        greatest = order > greatest ? order : greatest;
    }
    b->least = (uint32_t)least ^ sign;
    b->greatest = (uint32_t)greatest ^ sign;
}

/* Adds the n keys of a block. */
static void add_block(struct ih_float_channel *c, struct block *b, unsigned n)
{
    if (c->n_unfolded > FOLD_SAMPLES)
        fold(c);
    c->n_unfolded += n;
    c->first_key = b->least < c->first_key ? b->least : c->first_key;
    c->last_key = b->greatest > c->last_key ? b->greatest : c->last_key;
    if (b->least == b->greatest)
        add_cell(c->cells, b->least, n);
    else
        add_keys(c->cells, b->keys, n);
}

/* Counts apart what is no finite value; adds the other keys. */
static void add_some(struct ih_float_channel *c, struct block *b, unsigned n)
{
    n = set_apart(c, b->keys, n);
    b->least = UINT32_MAX;
    b->greatest = 0;
    for (unsigned i = 0; i < n; i++) {
        b->least = b->keys[i] < b->least ? b->keys[i] : b->least;
        b->greatest = b->keys[i] > b->greatest ? b->keys[i] : b->greatest;
    }
    if (n > 0)
        add_block(c, b, n);
}

/* Fills a block up with its first sample. */
static void gather(uint32_t *keys, const uint8_t *from, unsigned n, ptrdiff_t stride_bytes)
{
    for (unsigned i = 0; i < n; i++, from += stride_bytes)
        memcpy(&keys[i], from, sizeof *keys);
    for (unsigned i = n; i < BLOCK; i++)
        keys[i] = keys[0];
}

void ih_float_channel_add(struct ih_float_channel *c, const void *samples, size_t n,
                          ptrdiff_t stride_bytes)
{
    const uint8_t *from = samples;
    struct block b;
    for (unsigned n_here; n > 0; n -= n_here, from += stride_bytes * (ptrdiff_t)n_here) {
        n_here = n < BLOCK ? (unsigned)n : BLOCK;
        if (n_here == BLOCK && stride_bytes == sizeof *b.keys)
            memcpy(b.keys, from, sizeof b.keys);
        else
            gather(b.keys, from, n_here, stride_bytes);
        make_keys(&b);
        if (b.least < IH_FLOAT_KEY_FIRST || b.greatest > IH_FLOAT_KEY_LAST)
            add_some(c, &b, n_here);
        else
            add_block(c, &b, n_here);
    }
}

/* ---- images ---- */

void ih_float_reset(struct ih_float_counter *c)
{
    for (unsigned i = 0; i < c->n_channels; i++)
        ih_float_channel_reset(&c->channels[i]);
    free(c->channels);
    ih_histogram_reset(&c->totals);
    *c = (struct ih_float_counter){.channels = NULL};
}

enum ih_status ih_float_begin(struct ih_float_counter *c, const struct ih_count_spec *spec,
                              struct ih_error *err)
{
    const unsigned n_channels = spec->layout.n_channels;
    ih_histogram_reset(&c->totals);
    if (n_channels > c->n_channels) {
        ih_float_reset(c);
        c->channels = calloc(n_channels, sizeof *c->channels);
        if (!c->channels)
            return ih_error_set(err, IH_MEMORY, "no memory for %u channels", n_channels);
        c->n_channels = n_channels;
    }
    enum ih_status status = ih_histogram_init(&c->totals, spec, err);
    for (unsigned i = 0; i < n_channels && status == IH_OK; i++)
        status = ih_float_channel_begin(&c->channels[i], ih_bins(&c->totals, i),
                                        ih_floats(&c->totals, i), ih_specials(&c->totals, i), err);
    return status;
}

void ih_float_add(struct ih_float_counter *c, const void *pixels, size_t n_pixels)
{
    const unsigned n_channels = c->totals.layout.n_channels;
    c->totals.n_pixels += n_pixels;
    for (unsigned i = 0; i < n_channels; i++)
        ih_float_channel_add(&c->channels[i], (const uint8_t *)pixels + i * sizeof(float), n_pixels,
                             (ptrdiff_t)(n_channels * sizeof(float)));
}

void ih_float_end(struct ih_float_counter *c, struct ih_histogram *out)
{
    for (unsigned i = 0; i < c->totals.layout.n_channels; i++)
        ih_float_channel_end(&c->channels[i]);
    ih_histogram_sum_up(&c->totals, false);
    *out = ih_histogram_take(&c->totals);
}
