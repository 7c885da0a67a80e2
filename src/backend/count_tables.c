/*
 * The fast count on one core.
 */
#include "backend/count.h"

#include <assert.h>
#include <string.h>

/* ---- reading ---- */

/* The 8 bytes at p, the first in the lowest bits whatever the machine's byte order. Compilers make
 * one load of it. */
static inline uint64_t load64(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

static inline unsigned byte_of(uint64_t word, unsigned i)
{
    return (unsigned)(word >> (8 * i)) & 255;
}

/* How many of the n pixels at p are sure to be the same as the first; a few more may be. */
static inline size_t run_length(const uint8_t *p, size_t n, unsigned n_channels)
{
    const size_t size_bytes = n * n_channels;
    size_t i = 0;
    while (i + n_channels + 8 <= size_bytes && load64(p + i) == load64(p + i + n_channels))
        i += 8;
    return (i + n_channels) / n_channels;
}

/* ---- counting ---- */

static inline unsigned luma_entry(const struct ih_counter *t, unsigned r, unsigned g, unsigned b)
{
    return (t->weights[0][r] + t->weights[1][g] + t->weights[2][b]) >> 16;
}

/* n pixels like the one at p, into the first table of each plane. */
static void count_same(struct ih_counter *t, const uint8_t *p, uint32_t n, unsigned n_channels)
{
    for (unsigned c = 0; c < n_channels; c++)
        t->subtables[c * ih_count_subtables_each(n_channels)][p[c]] += n;
    if (n_channels >= 3)
        t->luma[0][luma_entry(t, p[0], p[1], p[2])] += n;
}

/* Counts the pixels at p that are like the first, and gives how many these were. */
static size_t count_run(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels)
{
    const size_t n_run = run_length(p, n, n_channels);
    count_same(t, p, (uint32_t)n_run, n_channels);
    return n_run;
}

/* What is left after the last whole group. */
static void count_rest(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels)
{
    for (; n > 0; n--, p += n_channels)
        count_same(t, p, 1, n_channels);
}

/* Eight samples into the tables from first on. */
static inline void count_gray_word(struct ih_counter *t, uint64_t w, unsigned first)
{
    t->subtables[first][byte_of(w, 0)]++;
    t->subtables[first + 1][byte_of(w, 1)]++;
    t->subtables[first + 2][byte_of(w, 2)]++;
    t->subtables[first + 3][byte_of(w, 3)]++;
    t->subtables[first + 4][byte_of(w, 4)]++;
    t->subtables[first + 5][byte_of(w, 5)]++;
    t->subtables[first + 6][byte_of(w, 6)]++;
    t->subtables[first + 7][byte_of(w, 7)]++;
}

static inline void count_gray_alpha_word(struct ih_counter *t, uint64_t w, unsigned k)
{
    t->subtables[k][byte_of(w, 0)]++;
    t->subtables[8 + k][byte_of(w, 1)]++;
    t->subtables[k + 1][byte_of(w, 2)]++;
    t->subtables[9 + k][byte_of(w, 3)]++;
    t->subtables[k + 2][byte_of(w, 4)]++;
    t->subtables[10 + k][byte_of(w, 5)]++;
    t->subtables[k + 3][byte_of(w, 6)]++;
    t->subtables[11 + k][byte_of(w, 7)]++;
}

/* One pixel into table k of each colour plane. */
static inline void count_colour(struct ih_counter *t, unsigned r, unsigned g, unsigned b,
                                unsigned k)
{
    t->subtables[k][r]++;
    t->subtables[4 + k][g]++;
    t->subtables[8 + k][b]++;
    t->luma[k][luma_entry(t, r, g, b)]++;
}

/* Two pixels, into tables k and k + 1. */
static inline void count_rgba_word(struct ih_counter *t, uint64_t w, unsigned k)
{
    count_colour(t, byte_of(w, 0), byte_of(w, 1), byte_of(w, 2), k);
    t->subtables[12 + k][byte_of(w, 3)]++;
    count_colour(t, byte_of(w, 4), byte_of(w, 5), byte_of(w, 6), k + 1);
    t->subtables[13 + k][byte_of(w, 7)]++;
}

/* ---- the four layouts ----
 *
 * Each is the same loop, written out so that every compiler specializes it. A group is flat where
 * all its pixels are the same, which is where every byte equals the one a pixel further on; the
 * loads overlap so as to stay inside the group. */

static void count_gray(struct ih_counter *t, const uint8_t *p, size_t n)
{
    for (size_t n_done; n >= 16; p += n_done, n -= n_done) {
        const uint64_t x = load64(p), y = load64(p + 8);
        n_done = 16;
        if (((x ^ load64(p + 1)) | (x ^ y)) == 0) {
            n_done = count_run(t, p, n, 1);
            continue;
        }
        count_gray_word(t, x, 0);
        count_gray_word(t, y, 8);
    }
    count_rest(t, p, n, 1);
}

static void count_gray_alpha(struct ih_counter *t, const uint8_t *p, size_t n)
{
    for (size_t n_done; n >= 8; p += 2 * n_done, n -= n_done) {
        const uint64_t x = load64(p), y = load64(p + 8);
        n_done = 8;
        if (((x ^ load64(p + 2)) | (x ^ y)) == 0) {
            n_done = count_run(t, p, n, 2);
            continue;
        }
        count_gray_alpha_word(t, x, 0);
        count_gray_alpha_word(t, y, 4);
    }
    count_rest(t, p, n, 2);
}

static void count_rgb(struct ih_counter *t, const uint8_t *p, size_t n)
{
    for (size_t n_done; n >= 8; p += 3 * n_done, n -= n_done) {
        const uint64_t x = load64(p), y = load64(p + 8), z = load64(p + 16);
        n_done = 8;
        if (((x ^ load64(p + 3)) | (y ^ load64(p + 11)) | (load64(p + 13) ^ z)) == 0) {
            n_done = count_run(t, p, n, 3);
            continue;
        }
        count_colour(t, byte_of(x, 0), byte_of(x, 1), byte_of(x, 2), 0);
        count_colour(t, byte_of(x, 3), byte_of(x, 4), byte_of(x, 5), 1);
        count_colour(t, byte_of(x, 6), byte_of(x, 7), byte_of(y, 0), 2);
        count_colour(t, byte_of(y, 1), byte_of(y, 2), byte_of(y, 3), 3);
        count_colour(t, byte_of(y, 4), byte_of(y, 5), byte_of(y, 6), 0);
        count_colour(t, byte_of(y, 7), byte_of(z, 0), byte_of(z, 1), 1);
        count_colour(t, byte_of(z, 2), byte_of(z, 3), byte_of(z, 4), 2);
        count_colour(t, byte_of(z, 5), byte_of(z, 6), byte_of(z, 7), 3);
    }
    count_rest(t, p, n, 3);
}

static void count_rgba(struct ih_counter *t, const uint8_t *p, size_t n)
{
    for (size_t n_done; n >= 8; p += 4 * n_done, n -= n_done) {
        const uint64_t x = load64(p), y = load64(p + 8), z = load64(p + 16), w = load64(p + 24);
        n_done = 8;
        if (((x ^ load64(p + 4)) | (x ^ y) | (x ^ z) | (x ^ w)) == 0) {
            n_done = count_run(t, p, n, 4);
            continue;
        }
        count_rgba_word(t, x, 0);
        count_rgba_word(t, y, 2);
        count_rgba_word(t, z, 0);
        count_rgba_word(t, w, 2);
    }
    count_rest(t, p, n, 4);
}

/* ---- tables ---- */

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

static void fold(struct ih_counter *t)
{
    struct ih_histogram *h = &t->totals;
    const unsigned n_channels = t->spec.n_channels, n_each = ih_count_subtables_each(n_channels);
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

/* ---- the method ---- */

static void begin(struct ih_counter *t)
{
    t->fold_pixels = IH_COUNT_FOLD_PIXELS;
    clear_tables(t);
    if (t->spec.n_channels >= 3)
        make_weights(t);
}

static void add(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    assert(t->fold_pixels > 0 && t->fold_pixels <= IH_COUNT_FOLD_PIXELS);
    while (n_pixels > 0) {
        const uint64_t room = t->fold_pixels - t->n_unfolded;
        const size_t n = n_pixels < room ? n_pixels : (size_t)room;
        switch (t->spec.n_channels) {
        case 1:
            count_gray(t, pixels, n);
            break;
        case 2:
            count_gray_alpha(t, pixels, n);
            break;
        case 3:
            count_rgb(t, pixels, n);
            break;
        default:
            count_rgba(t, pixels, n);
        }
        pixels += n * t->spec.n_channels;
        n_pixels -= n;
        t->n_unfolded += n;
        if (t->n_unfolded == t->fold_pixels) {
            fold(t);
            clear_tables(t);
        }
    }
}

static void end(struct ih_counter *t)
{
    struct ih_histogram *h = &t->totals;
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
    .end = end,
};
