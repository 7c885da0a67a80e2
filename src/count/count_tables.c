/*
 * The fast method on one core: many small tables, and a loop for each number of channels.
 *
 * The limit is one store per increment: a current core does about one a cycle, so 3.1 GB/s of
 * samples at 3.1 GHz. The design reaches that limit on any data. Joint clip counts take no
 * increment: SIMD counts them.
 *
 * - Sub-tables. An increment of a counter that was stored a moment ago waits six or more cycles for
 *   that store. Neighbouring pixels are alike, so each goes to another table, and the tables are
 *   summed at the end: 4 for each colour plane, 8 or 16 for gray.
 * - Padding. Tables of exactly 1 KiB repeat every 4 KiB. A load whose lowest 12 address bits equal
 *   those of a pending store waits for it, even at another address. With 16 entries between tables,
 *   equal values of two channels are 64 bins apart: 1.3 to 1.6 times as fast on photo-like RGB, 1.4
 *   to 2.3 times on gray stored as RGB. 13 to 48 entries do much the same.
 * - Loads. A step takes 8 pixels (32 of gray) with 64-bit loads and shifts the samples out, because
 *   the increments need the load slots. The steps are written out, because gcc at -O2 does not
 *   unroll loops over the bytes of a word.
 * - Runs. If all pixels of a step are equal (of gray: the first 16), the run is followed to its end
 *   and added at once.
 * - RGB and RGBA use SIMD: count_vec_loops.h. With luma it counts two neighbours at once. The loops
 *   here take runs, remainders, and CPUs without SIMD, pixel by pixel.
 *
 * - Noise. AMD's Zen 5 stores up to 1.3 counters a cycle if they share cache lines. There, noise
 *   goes to 2 tables of gray, or 1 of each colour, and other gray to 8: equal neighbours wait for
 *   each other in few tables. Looks at the samples tell which it is. Other CPUs keep 16 and 4.
 *
 * Tables are 32 bits wide and folded into 64-bit totals before they hold more than 2^32 - 1 pixels.
 *
 * AMD EPYC (Zen 3, 3.1 GHz), one core, gcc 12.2 -O2, 12 MB, medians of 11 to 15, 2026-11-21; the
 * current code is measured by tests/bench/cpu_count.sh:
 *
 *     gray   single bytes 2.7 GB/s, 64-bit loads 3.0, loops left rolled 1.25
 *     flat data                     3 to 9 times as fast; the check costs 1 to 4 % on other data
 *                                   (clang: up to 10 % on gray)
 *     two-valued data               5 to 15 % slower than random
 *     6 MP of gray on Zen 5, us, in 2, 4, 8, 16 tables (gcc 12.2, 2026-11-27): noise 1181 1333 1460
 *     1503, photo 1748 1503 1215 1504, two values 2741 1798 1412 1494
 *     start and end of an image     0.5 us gray, 0.9 us colour (Sapphire Rapids, 2026-11-26); with
 *                                   pairs 10 us more
 */
#include "count/count.h"

#include <assert.h>
#include <string.h>

/* gcc and clang both know the attribute. At -O2 gcc would not inline all functions whose arguments
 * are constants. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    LOOKS = 32,            /* at 8 samples each, that decide */
    NOISE_ALIKE = 3,       /* of noise, 1 is expected */
    LOOK_STEP = 32,        /* the least bytes from one look to the next */
    UNSEEN_BYTES = 1 << 16 /* after a decision */
};

enum { FEW_PIXELS = 64 }; /* are counted without tables */

/* ---- the loops ---- */

/* The 8 bytes at p in the CPU's byte order, which byte_of knows. Shifting single bytes together
 * would need no order, but clang 14 makes eight loads of that. */
static inline uint64_t load64(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Byte i in memory order of a loaded word. The compiler evaluates the test. */
static inline unsigned byte_of(uint64_t word, unsigned i)
{
    const uint16_t one = 1;
    uint8_t is_little;
    memcpy(&is_little, &one, 1);
    return (unsigned)(word >> (8 * (is_little ? i : 7 - i))) & 255;
}

/* How many of the n pixels at p equal the first. Exact for colour, so that the next run is found at
 * its start (1.15 times as fast on patches). With one or two channels the result may be up to 8
 * bytes short, because counting those is faster than finding the exact end. */
static inline size_t run_length(const uint8_t *p, size_t n, unsigned n_channels)
{
    const size_t size_bytes = n * n_channels;
    size_t i = 0;
    while (i + n_channels + 8 <= size_bytes && load64(p + i) == load64(p + i + n_channels))
        i += 8;
    while (n_channels >= 3 && i + n_channels < size_bytes && p[i] == p[i + n_channels])
        i++;
    return (i + n_channels) / n_channels;
}

/* Counts the joint clips of n pixels equal to the one at p. */
static inline void add_clips(struct ih_counter *t, const uint8_t *p, uint32_t n)
{
    const int low = t->spec.clip_low, high = t->spec.clip_high;
    const int n_low = (p[0] <= low) + (p[1] <= low) + (p[2] <= low);
    const int n_high = (p[0] >= high) + (p[1] >= high) + (p[2] >= high);
    const int any = ih_count_has_luma(t) ? 1 : 2; /* see join_clips */
    t->totals.any_low += n_low >= any ? n : 0;
    t->totals.any_high += n_high >= any ? n : 0;
    t->totals.all_low += n_low == 3 ? n : 0;
    t->totals.all_high += n_high == 3 ? n : 0;
}

/* Counts n pixels equal to the one at p, into table k of each plane. */
static inline void count_pixel(struct ih_counter *t, const uint8_t *p, uint32_t n,
                               unsigned n_channels, unsigned k)
{
    for (unsigned c = 0; c < n_channels; c++)
        t->subtables[c * ih_count_subtables_each(n_channels) + k][p[c]] += n;
    if (n_channels < 3)
        return;
    add_clips(t, p, n);
    const struct ih_luma_weights *w = t->spec.luma;
    if (ih_count_has_luma(t))
        t->luma[k][(w->red * p[0] + w->green * p[1] + w->blue * p[2] + 32768u) >> 16] += n;
}

void ih_count_same(struct ih_counter *t, const uint8_t *p, uint32_t n, unsigned n_channels)
{
    count_pixel(t, p, n, n_channels, 0);
}

size_t ih_count_run(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels)
{
    const size_t n_run = run_length(p, n, n_channels);
    ih_count_same(t, p, (uint32_t)n_run, n_channels);
    return n_run;
}

/* The pixels after the last whole step. */
static void count_rest(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels)
{
    for (; n > 0; n--, p += n_channels)
        ih_count_same(t, p, 1, n_channels);
}

/* Eight gray samples, each into the next of n_tables tables, a power of 2, from table `first` on.
 */
ALWAYS_INLINE void count_gray_word(struct ih_counter *t, uint64_t w, unsigned first,
                                   unsigned n_tables)
{
    const unsigned last = n_tables - 1;
    t->subtables[(first + 0) & last][byte_of(w, 0)]++;
    t->subtables[(first + 1) & last][byte_of(w, 1)]++;
    t->subtables[(first + 2) & last][byte_of(w, 2)]++;
    t->subtables[(first + 3) & last][byte_of(w, 3)]++;
    t->subtables[(first + 4) & last][byte_of(w, 4)]++;
    t->subtables[(first + 5) & last][byte_of(w, 5)]++;
    t->subtables[(first + 6) & last][byte_of(w, 6)]++;
    t->subtables[(first + 7) & last][byte_of(w, 7)]++;
}

/* Four pixels into tables k to k + 3 of gray, and of alpha. */
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

/* 16 bytes belong to one run if each byte equals the byte one pixel later. The loads of that
 * comparison overlap, to stay inside the step. */

ALWAYS_INLINE void count_gray_in(struct ih_counter *t, const uint8_t *p, size_t n,
                                 unsigned n_tables)
{
    for (size_t n_done; n >= 32; p += n_done, n -= n_done) {
        const uint64_t w = load64(p), x = load64(p + 8), y = load64(p + 16), z = load64(p + 24);
        n_done = 32;
        ih_count_prefetch(p);
        if (((w ^ load64(p + 1)) | (w ^ x)) == 0) {
            n_done = ih_count_run(t, p, n, 1);
            continue;
        }
        count_gray_word(t, w, 0, n_tables);
        count_gray_word(t, x, 8, n_tables);
        count_gray_word(t, y, 0, n_tables);
        count_gray_word(t, z, 8, n_tables);
    }
    count_rest(t, p, n, 1);
}

static void count_gray(struct ih_counter *t, const uint8_t *p, size_t n)
{
    if (t->is_noise)
        count_gray_in(t, p, n, 2);
    else if (t->finds_noise)
        count_gray_in(t, p, n, 8);
    else
        count_gray_in(t, p, n, 16);
}

static void count_gray_alpha(struct ih_counter *t, const uint8_t *p, size_t n)
{
    for (size_t n_done; n >= 8; p += 2 * n_done, n -= n_done) {
        const uint64_t x = load64(p), y = load64(p + 8);
        n_done = 8;
        if (((x ^ load64(p + 2)) | (x ^ y)) == 0) {
            n_done = ih_count_run(t, p, n, 2);
            continue;
        }
        count_gray_alpha_word(t, x, 0);
        count_gray_alpha_word(t, y, 4);
    }
    count_rest(t, p, n, 2);
}

/* RGB or RGBA: SIMD first, and what it leaves. */
static inline void count_colours(struct ih_counter *t, const uint8_t *p, size_t n,
                                 unsigned n_channels)
{
    size_t (*const groups)(struct ih_counter *, const uint8_t *, size_t) =
        n_channels == 3 ? t->vectors->rgb : t->vectors->rgba;
    size_t n_done = 1;
    for (; groups && n > 0 && n_done > 0; p += n_channels * n_done, n -= n_done)
        n_done = groups(t, p, n);
    for (; n > 0; p += n_channels * n_done, n -= n_done) {
        n_done = n < 4 ? n : 4;
        if (n >= 8 && memcmp(p, p + n_channels, 7 * n_channels) == 0)
            n_done = ih_count_run(t, p, n, n_channels);
        else
            for (unsigned k = 0; k < n_done; k++)
                count_pixel(t, p + k * n_channels, 1, n_channels, k);
    }
}

static void count_interleaved(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    switch (t->spec.layout.n_channels) {
    case 1:
        count_gray(t, pixels, n_pixels);
        break;
    case 2:
        count_gray_alpha(t, pixels, n_pixels);
        break;
    case 3:
        count_colours(t, pixels, n_pixels, 3);
        break;
    default:
        count_colours(t, pixels, n_pixels, 4);
    }
}

static void count_planar(struct ih_counter *t, const uint8_t *const samples[], size_t n_pixels)
{
    const unsigned n_channels = t->spec.layout.n_channels;
    const uint8_t *at[IH_PIXEL_CHANNELS_MAX];
    size_t n_done = 0, n = 1;
    for (; n > 0 && n_done < n_pixels; n_done += n) {
        for (unsigned c = 0; c < n_channels; c++)
            at[c] = samples[c] + n_done;
        n = t->vectors->planar(t, at, n_pixels - n_done);
    }
    for (; n_done < n_pixels; n_done++) {
        uint8_t pixel[IH_PIXEL_CHANNELS_MAX];
        for (unsigned c = 0; c < n_channels; c++)
            pixel[c] = samples[c][n_done];
        ih_count_same(t, pixel, 1, n_channels);
    }
}

/* ---- the tables ---- */

void ih_count_clear(struct ih_counter *t)
{
    const unsigned n_channels = t->spec.layout.n_channels;
    memset(t->subtables, 0,
           n_channels * ih_count_subtables_each(n_channels) * sizeof *t->subtables);
    if (n_channels >= 3 && ih_count_has_luma(t))
        memset(t->luma, 0, sizeof t->luma);
    t->n_unfolded = 0;
    t->has_tables = true;
    t->has_pairs = false;
}

/* Adds n_tables tables, a multiple of 4. 32 bits are enough for the sum of all. */
static void fold_plane(uint64_t *restrict bins, uint32_t (*restrict t)[IH_BINS + IH_COUNT_PADDING],
                       unsigned n_tables)
{
    for (; n_tables > 0; n_tables -= 4, t += 4)
        for (unsigned v = 0; v < IH_BINS; v++)
            bins[v] += t[0][v] + t[1][v] + t[2][v] + t[3][v];
}

/* Adds both halves of each pair of a plane to its first table. 32 bits are enough: all entries
 * together are no more than the pixels in the tables. */
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

void ih_count_fold(struct ih_counter *t)
{
    struct ih_histogram *h = &t->totals;
    const unsigned n_channels = t->spec.layout.n_channels,
                   n_each = ih_count_subtables_each(n_channels);
    const bool has_luma = n_channels >= 3 && ih_count_has_luma(t);
    for (unsigned c = 0; t->has_pairs && c < 4; c++)
        fold_pairs(c < 3 ? t->subtables[c * n_each] : t->luma[0], t->pairs[c]);
    const unsigned n_used = n_channels == 1 && t->finds_noise ? 8 : n_each;
    for (unsigned c = 0; c < n_channels; c++)
        fold_plane(ih_bins(h, c), &t->subtables[c * n_each], n_used);
    if (has_luma)
        fold_plane(ih_bins(h, IH_LUMA), t->luma, IH_COUNT_LUMA_SUBTABLES);
}

size_t ih_count_make_room(struct ih_counter *t, size_t n_wanted)
{
    assert(t->fold_pixels > 0 && t->fold_pixels <= IH_COUNT_FOLD_PIXELS);
    if (!t->has_tables) {
        ih_count_clear(t);
    } else if (t->n_unfolded == t->fold_pixels) {
        ih_count_fold(t);
        ih_count_clear(t);
    }
    if (t->spec.layout.n_channels >= 3 && ih_count_has_luma(t) && !t->has_pairs &&
        t->totals.n_pixels >= t->pairs_from_pixels) {
        memset(t->pairs, 0, sizeof t->pairs);
        t->has_pairs = true;
    }
    const uint64_t room = t->fold_pixels - t->n_unfolded;
    const size_t n = n_wanted < room ? n_wanted : (size_t)room;
    t->n_unfolded += n;
    return n;
}

/* ---- noise ---- */

/* Looks at some of n_bytes samples, spread over all, and decides whether they are noise: whether
 * few equal the sample of their channel that would wait for the same counter. */
static void look(struct ih_counter *t, const uint8_t *p, size_t n_bytes, unsigned n_channels)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t alpha = n_channels == 4 ? UINT64_C(0xFF000000FF000000) : 0;
    const unsigned distance = n_channels == 1 ? 2 : n_channels;
    size_t step = n_bytes / LOOKS / LOOK_STEP * LOOK_STEP;
    if (t->n_unseen_bytes > n_bytes) {
        t->n_unseen_bytes -= n_bytes;
        return;
    }
    step = step < LOOK_STEP ? LOOK_STEP : step;
    for (size_t i = 0; i + 8 + distance <= n_bytes; i += step, t->n_looks++) {
        const uint64_t x = (load64(p + i) ^ load64(p + i + distance)) | alpha;
        t->n_alike += ((x - ones) & ~x & ones << 7) != 0; /* a byte of x is 0 */
    }
    if (t->n_looks < LOOKS)
        return;
    t->is_noise = t->n_alike * LOOKS <= NOISE_ALIKE * t->n_looks;
    t->n_looks = t->n_alike = 0;
    t->n_unseen_bytes = UNSEEN_BYTES;
}

/* ---- pixels ---- */

/* The first pixels of an image, straight into the totals: to clear and fold the tables takes longer
 * (8 x 8 pixels, RGB, AMD EPYC: 0.2 us of 1.9 for a call from Python). */
static void count_few(struct ih_counter *t, const uint8_t *p, size_t n)
{
    const unsigned n_channels = t->spec.layout.n_channels;
    const struct ih_luma_weights *w = t->spec.luma;
    uint64_t *const bins = t->totals.bins;
    for (; n > 0; n--, p += n_channels) {
        for (unsigned c = 0; c < n_channels; c++)
            bins[c * IH_BINS + p[c]]++;
        if (n_channels < 3)
            continue;
        add_clips(t, p, 1);
        if (ih_count_has_luma(t))
            bins[n_channels * IH_BINS + ih_luma(w, p[0], p[1], p[2])]++;
    }
}

void ih_count_add(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    if (!t->has_tables && t->totals.n_pixels <= FEW_PIXELS) {
        count_few(t, pixels, n_pixels);
        return;
    }
    while (n_pixels > 0) {
        const size_t n = ih_count_make_room(t, n_pixels);
        if (t->finds_noise)
            look(t, pixels, n * t->spec.layout.n_channels, t->spec.layout.n_channels);
        count_interleaved(t, pixels, n);
        pixels += n * t->spec.layout.n_channels;
        n_pixels -= n;
    }
}

void ih_count_add_planar(struct ih_counter *t, const uint8_t *const samples[], size_t n_pixels)
{
    const uint8_t *at[IH_PIXEL_CHANNELS_MAX];
    for (size_t n_done = 0; n_done < n_pixels;) {
        const size_t n = ih_count_make_room(t, n_pixels - n_done);
        for (unsigned c = 0; c < t->spec.layout.n_channels; c++)
            at[c] = samples[c] + n_done;
        if (t->finds_noise)
            look(t, at[0], n, 1);
        count_planar(t, at, n);
        n_done += n;
    }
}
