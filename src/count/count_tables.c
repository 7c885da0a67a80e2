/*
 * The fast count on one core: its tables. The loops over the pixels are in count_loops.c.
 *
 * What limits counting is one store for each increment: a core of today does about one a cycle, so
 * 3.1 GB/s of samples at 3.1 GHz. Nothing here tries to beat that; it is about reaching it on any
 * data, and about paying one increment a pixel, not more, for the luma and the joint clip counts.
 *
 * - Sub-tables. An increment of a counter that was stored a moment ago waits for that store, six or
 *   more cycles. Neighbouring pixels are alike, so each goes to another table, and the tables are
 *   summed at the end: 4 for each colour plane, 8 or 16 for gray. Two-valued data, the worst that
 * is left, is 5 to 15 % slower than random.
 * - Padding. Tables of exactly 1 KiB repeat every 4 KiB, and a load whose lowest 12 address bits
 *   equal those of a store in flight waits for it as if it were the same counter: red, green and
 *   blue of a pixel, which are alike in photographs, would share theirs. With 16 entries between
 *   the tables, those of two channels are 64 values apart. Worth 1.3 to 1.6 times on photo-like RGB
 *   and 1.4 to 2.3 on gray stored as RGB; 13 to 48 entries do much the same.
 * - Luma and clips in one. Three tables of 256 give weight * value, and carry above the 24 bits of
 *   the luma how many channels are low (0 to 3) and high (0 to 3). So one sum, shifted, is the luma
 *   and the pixel's clip class together, and indexes a table of 13 * 256 entries: one increment
 *   counts all of it, and class 0, nearly all of a photograph, takes 1 KiB.
 * - RGB with vectors counts two neighbours at once: count_rgb_loop.h.
 *
 * Counters are 32 bit and folded into 64-bit totals before more than 2^32 - 1 pixels are in them.
 * Starting and ending an image costs 2 us for gray and 5 us for colour, clearing and folding the
 * pairs 10 us more.
 *
 * Rejected (RGB on random data without vectors, GB/s; the way taken gives 1.78):
 *
 *     three multiplies for the luma, no clip counts at all                     1.57
 *     three multiplies, and one more increment into a table of clip classes    1.15
 *     luma of two pixels in one 64-bit multiply for each weight, no clips      1.97
 *     channels first, then the luma of a block that is still in the cache      1.57
 *     16-bit counters, half the cache                                          1.20
 *     2 sub-tables and not 4 (photo-like data: 1.38 and not 1.68)              1.68
 *
 * The two-pixel multiply gains nothing with clang 14 (1.70 on photo-like data, against 1.72), and
 * the clip test it still lacks would take more than gcc gains. Without luma and clips the same loop
 * runs at the limit, 3.10 GB/s. All measured 2026-11-21 on one core of an AMD EPYC (Zen 3, 3.1
 * GHz), gcc 12.2 -O2, 12 MB of pixels, medians of 11 to 15 with the ways taking turns; the figures
 * of the code as it stands are made by tests/bench/cpu_count.sh.
 */
#include "count/count.h"

#include <assert.h>
#include <string.h>

/* Clearing and folding the pairs takes 10 us, which they save on 40,000 pixels. */
enum { PAIRS_FROM_PIXELS = 1 << 16 };

/* A value's weight in the luma, and above its 24 bits a 1 if it is low and a 4 if it is high. Three
 * of them add up to (class << 24) + (luma << 16) + a fraction. */
static void make_weights(struct ih_counter *t)
{
    const struct ih_count_spec *spec = &t->spec;
    const uint32_t weights[3] = {spec->luma->red, spec->luma->green, spec->luma->blue};
    for (unsigned c = 0; c < 3; c++) {
        const uint32_t rounding = c == 0 ? 32768 : 0;
        for (unsigned v = 0; v < IH_BINS; v++) {
            uint32_t class = (v <= spec->clip_low ? 1u : 0u) + (v >= spec->clip_high ? 4u : 0u);
            t->weights[c][v] = (class << 24) + weights[c] * v + rounding;
        }
    }
}

static void clear_tables(struct ih_counter *t)
{
    memset(t->subtables, 0, sizeof t->subtables);
    if (t->spec.n_channels >= 3)
        memset(t->luma, 0, sizeof t->luma);
    t->n_unfolded = 0;
    t->has_pairs = false;
}

/* h->bins[plane] += the n_tables tables at first, stride entries apart. Gives how many that were.
 */
static uint64_t fold_plane(struct ih_histogram *h, unsigned plane, const uint32_t *first,
                           size_t stride, unsigned n_tables)
{
    uint64_t n_all = 0;
    for (unsigned v = 0; v < IH_BINS; v++) {
        uint64_t n = 0;
        for (unsigned k = 0; k < n_tables; k++)
            n += first[k * stride + v];
        h->bins[plane][v] += n;
        n_all += n;
    }
    return n_all;
}

/* The pairs of one plane into its first table. A table's entries sum to no more than the pixels
 * that fit, so 32 bits are enough on the way. */
static void fold_pairs(uint32_t *restrict table, const uint32_t *restrict rows)
{
    uint32_t firsts[IH_BINS] = {0}, seconds[IH_BINS + IH_COUNT_PAIR_ROWS] = {0};
    for (unsigned d = 0; d < IH_COUNT_PAIR_ROWS; d++) {
        const uint32_t *row = rows + d * IH_BINS;
        uint32_t *shifted = seconds + d;
        for (unsigned v = 0; v < IH_BINS; v++)
            firsts[v] += row[v];
        for (unsigned v = 0; v < IH_BINS; v++)
            shifted[v] += row[v];
    }
    for (unsigned v = 0; v < IH_BINS; v++)
        table[v] += firsts[v];
    for (unsigned i = 0; i < IH_BINS + IH_COUNT_PAIR_ROWS; i++)
        table[(i - IH_COUNT_PAIR_REACH) % IH_BINS] += seconds[i];
}

static void fold(struct ih_counter *t)
{
    struct ih_histogram *h = &t->totals;
    const unsigned n_channels = t->spec.n_channels, n_each = ih_count_subtables_each(n_channels);
    for (unsigned c = 0; t->has_pairs && c < 4; c++)
        fold_pairs(c < 3 ? t->subtables[c * n_each] : t->luma[0], t->pairs[c]);
    for (unsigned c = 0; c < n_channels; c++)
        fold_plane(h, c, t->subtables[c * n_each], IH_BINS + IH_COUNT_PADDING, n_each);
    for (unsigned class = 0; n_channels >= 3 && class < IH_COUNT_CLASSES; class ++) {
        const unsigned n_low = class & 3, n_high = class >> 2;
        uint64_t n =
            fold_plane(h, IH_LUMA, &t->luma[0][class * IH_BINS],
                       IH_COUNT_CLASSES * IH_BINS + IH_COUNT_PADDING, IH_COUNT_LUMA_SUBTABLES);
        h->any_low += n_low > 0 ? n : 0;
        h->any_high += n_high > 0 ? n : 0;
        h->all_low += n_low == 3 ? n : 0;
        h->all_high += n_high == 3 ? n : 0;
    }
}

static void begin(struct ih_counter *t)
{
    t->fold_pixels = IH_COUNT_FOLD_PIXELS;
    t->pairs_from_pixels = PAIRS_FROM_PIXELS;
    t->vectors = ih_count_vectors_best();
    t->n_chunk = 0;
    clear_tables(t);
    if (t->spec.n_channels >= 3)
        make_weights(t);
}

size_t ih_count_make_room(struct ih_counter *t, size_t n_wanted)
{
    assert(t->fold_pixels > 0 && t->fold_pixels <= IH_COUNT_FOLD_PIXELS);
    if (t->n_unfolded == t->fold_pixels) {
        fold(t);
        clear_tables(t);
    }
    if (t->spec.n_channels == 3 && !t->has_pairs && t->totals.n_pixels >= t->pairs_from_pixels) {
        memset(t->pairs, 0, sizeof t->pairs);
        t->has_pairs = true;
    }
    const uint64_t room = t->fold_pixels - t->n_unfolded;
    const size_t n = n_wanted < room ? n_wanted : (size_t)room;
    t->n_unfolded += n;
    return n;
}

static void add(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    while (n_pixels > 0) {
        const size_t n = ih_count_make_room(t, n_pixels);
        ih_count_into_tables(t, pixels, n);
        pixels += n * t->spec.n_channels;
        n_pixels -= n;
    }
}

static void end(struct ih_counter *t)
{
    struct ih_histogram *h = &t->totals;
    ih_count_end_planes(t);
    fold(t);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        for (unsigned v = 0; v < IH_BINS; v++)
            h->sum[p] += v * h->bins[p][v];
    }
    ih_histogram_derive_gray(h, &t->spec);
}

const struct ih_count_method ih_count_tables = {
    .begin = begin,
    .add = add,
    .add_planes = ih_count_add_planes,
    .end = end,
};
