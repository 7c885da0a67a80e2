/*
 * The SIMD loops, 16 or 32 pixels at a time. Each file that includes this compiles them for its own
 * instruction set: for RGB, RGBA, their planes, and planes of Y, Cb and Cr; each with and without
 * luma.
 *
 * Four increments a pixel (red, green, blue, luma) take four stores, and a core stores one counter
 * a cycle. Two ideas beat that on photographs:
 *
 * - Pairs. Neighbours are alike. One increment counts two of them if the second differs from the
 *   first by -16 to 15, in a table of 32 x 256 entries: 32 KiB a plane. A photograph touches few of
 *   its rows. Folding recovers both values. A group is counted this way if all its pairs fit (84 %
 *   of the 16-pixel groups of photographs), and pixel by pixel otherwise. So random data loses
 *   nothing.
 * - SIMD computes luma, joint clip counts and pair indexes, without a load and an add for each.
 *
 * Without luma there are three increments a pixel and no pairs: see count_interleaved.
 *
 * SIMD steps and increments take about equally long and must overlap:
 *
 * - The increments of a group are interleaved with the SIMD steps of the group after the next. In
 *   the next group they would wait for indexes that were just stored. A branch on the kind of group
 *   keeps compilers from moving them all to one place.
 * - An increment is two memory accesses, and a core does three a cycle. So one load fetches two
 *   indexes or eight values, and the channels are separated by masks and not by shuffles.
 * - AVX2 halves the number of SIMD steps. It is chosen at run time (count_vectors.c).
 *
 * AMD EPYC (Zen 3, 3.2 GHz), one core, ns a pixel, gcc 12.2 / clang 14, 10 megapixels of photos of
 * each kind, stripes of 128 KiB, 2026-11-21, when values were counted in another order; "shuffles"
 * is the loop that masks replaced:
 *
 *                  baseline   progressive      random  two-valued     patches        flat
 *     shuffles    1.16 1.20     1.40 1.47   1.52 1.62   1.52 1.62   0.98 0.99   0.24 0.24
 *     SSE2        1.11 1.17     1.39 1.44   1.57 1.49   1.56 1.49   0.86 0.82   0.15 0.19
 *     AVX2        0.93 0.95     1.15 1.16   1.41 1.33   1.37 1.33   0.87 0.83   0.15 0.24
 *
 * What limits noisy photos is the first-level cache: four tables of pairs take 64 KiB and more.
 *
 * Rejected (AVX2, baseline and progressive photos):
 *
 *     increments interleaved with the next group                   0.99 1.19
 *     differences of -8 to 7 / -32 to 31                           5 % slower / no gain
 *     rows of 264 to 288 entries, to share fewer cache sets        no gain
 *     two alternating tables for each plane                        no gain
 *     16-bit counters, half the cache                              two cycles an increment, not one
 *
 * Rejected (AMD EPYC, Zen 4, 3.6 GHz, AVX2, counting of 160 to 300 JPEGs of 500 x 375, 2026-11-22):
 *
 *     one branch a group, between two copies of the body           gcc 11 % slower, clang 2 % less
 *     a row for pairs that do not fit, their seconds added singly  1 % faster, noise 40 % slower
 *     constants that the compiler must keep, not rebuild           no gain
 *     AVX-512 instructions for the same loop                       no gain
 */
#ifndef IH_COUNT_COUNT_VEC_LOOPS_H
#define IH_COUNT_COUNT_VEC_LOOPS_H

#include "count/count_vec.h"

#ifdef IH_COUNT_VEC

#include <string.h>

enum {
    GROUP = VEC_PIXELS,
    GROUPS_MAX = 255, /* per call, because clips are counted in 8-bit SIMD lanes */
    STRIDE = IH_BINS + IH_COUNT_PADDING
};

/* At -O2 gcc would not inline these functions, and would compute their constant arguments at run
 * time: 1.5 times as slow. gcc and clang both know the attribute. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Hides from the compiler how x was computed. It would shift each value out of the word that was
 * loaded, which takes a copy more, and 3 % of the time. */
#define AS_COMPUTED(x) __asm__("" : "+r"(x))

/* What is still to be counted of a group. */
struct group {
    _Alignas(64) uint16_t pairs[4][GROUP / 2]; /* [red, green, blue, luma]: table indexes */
    uint8_t values[4][GROUP];                  /* or the values, in any order */
    enum { NOTHING, SINGLES, PAIRS } as;
};

/* Constants of an image. */
struct measures {
    vec low, high, reach; /* clipped: (sample - high) % 256 <= reach */
    vec_weights weights;
};

/* Per SIMD lane: the number of pixels with any or all colour channels clipped; without luma, two or
 * more in place of any. */
struct clips {
    vec any_low, any_high, all_low, all_high;
};

/* The groups of one call. */
struct groups {
    struct group groups[2]; /* used alternately */
    struct clips clips;
    struct measures measures;
};

static inline uint64_t load64(const void *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline uint32_t load32(const void *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* ---- increments ---- */

/* Counts two pairs of each of two planes. */
static inline void count_pairs(uint32_t *a, uint32_t *b, uint32_t x, uint32_t y)
{
    a[x & 0xffff]++;
    b[y & 0xffff]++;
    a[x >> 16]++;
    b[y >> 16]++;
}

/* Counts four values of one plane, step bytes apart, into four tables. */
static inline void count_four(uint32_t *a, const uint8_t *v, unsigned step)
{
    a[v[0]]++;
    a[STRIDE + v[step]]++;
    a[2 * STRIDE + v[2 * step]]++;
    a[3 * STRIDE + v[3 * step]]++;
}

/* Counts the two lowest bytes of word, the first in a, the second in b unless that is NULL. Returns
 * the rest. */
ALWAYS_INLINE uint64_t count_two(uint32_t *a, uint32_t *b, uint64_t word)
{
    a[word & 0xff]++;
    if (b)
        b[word >> 8 & 0xff]++;
    word >>= 16;
    AS_COMPUTED(word);
    return word;
}

/* Counts two values of each plane, into tables k and k + 1, and takes them from the words. */
ALWAYS_INLINE void count_round(struct ih_counter *t, uint64_t w[4], unsigned k, bool has_luma)
{
    w[0] = count_two(t->subtables[k], t->subtables[k + 1], w[0]);
    w[1] = count_two(t->subtables[4 + k], t->subtables[5 + k], w[1]);
    w[2] = count_two(t->subtables[8 + k], t->subtables[9 + k], w[2]);
    if (has_luma)
        w[3] = count_two(t->luma[k], t->luma[k + 1], w[3]);
}

static inline uint64_t load_values(const uint8_t *v, unsigned n)
{
    return n == 8 ? load64(v) : load32(v);
}

/* Counts n values, 4 or 8, of red, green, blue and perhaps luma, at v[0] + i and so on. The planes
 * take turns, because neighbours are often equal. */
ALWAYS_INLINE void count_values(struct ih_counter *t, const uint8_t *const v[4], size_t i,
                                unsigned n, bool has_luma)
{
    uint64_t w[4] = {load_values(v[0] + i, n), load_values(v[1] + i, n), load_values(v[2] + i, n),
                     has_luma ? load_values(v[3] + i, n) : 0};
    count_round(t, w, 0, has_luma);
    count_round(t, w, 2, has_luma);
    if (n == 8) {
        count_round(t, w, 0, has_luma);
        count_round(t, w, 2, has_luma);
    }
}

/* The table, of n_tables of each channel, for sample i of interleaved pixels; NULL: alpha. */
ALWAYS_INLINE uint32_t *table_of(struct ih_counter *t, unsigned i, unsigned n_channels,
                                 unsigned n_tables)
{
    const unsigned c = i % n_channels, k = i / n_channels % n_tables;
    return c < 3 ? t->subtables[4 * c + k] : NULL;
}

/* Counts the eight samples at p, the samples i to i + 7 of interleaved pixels. */
ALWAYS_INLINE void count_word(struct ih_counter *t, const uint8_t *p, unsigned i, unsigned n,
                              unsigned n_tables)
{
    uint64_t word =
        count_two(table_of(t, i, n, n_tables), table_of(t, i + 1, n, n_tables), load64(p));
    word = count_two(table_of(t, i + 2, n, n_tables), table_of(t, i + 3, n, n_tables), word);
    word = count_two(table_of(t, i + 4, n, n_tables), table_of(t, i + 5, n, n_tables), word);
    (void)count_two(table_of(t, i + 6, n, n_tables), table_of(t, i + 7, n, n_tables), word);
}

/* Does a quarter of the increments of a group. */
ALWAYS_INLINE void count_quarter(struct ih_counter *t, const struct group *g, unsigned quarter)
{
    if (g->as == PAIRS) {
        const unsigned i = quarter * (GROUP / 8);
        count_pairs(t->pairs[0], t->pairs[1], load32(&g->pairs[0][i]), load32(&g->pairs[1][i]));
        count_pairs(t->pairs[2], t->pairs[3], load32(&g->pairs[2][i]), load32(&g->pairs[3][i]));
        if (GROUP == 32) {
            count_pairs(t->pairs[0], t->pairs[1], load32(&g->pairs[0][i + 2]),
                        load32(&g->pairs[1][i + 2]));
            count_pairs(t->pairs[2], t->pairs[3], load32(&g->pairs[2][i + 2]),
                        load32(&g->pairs[3][i + 2]));
        }
    } else if (g->as == SINGLES) {
        const uint8_t *const v[4] = {g->values[0], g->values[1], g->values[2], g->values[3]};
        count_values(t, v, quarter * (GROUP / 4), GROUP / 4, true);
    }
}

ALWAYS_INLINE void pack_rgb(vec rgb[3], const struct vec_pixels *v)
{
    for (unsigned c = 0; c < 3; c++)
        rgb[c] = vec_pack(v->first[c], v->second[c]);
}

ALWAYS_INLINE void count_clips(struct groups *all, const vec rgb[3], bool has_luma)
{
    struct clips *n = &all->clips;
    const vec low = all->measures.low, high = all->measures.high;
    const vec less = vec_min(rgb[0], rgb[1]), more = vec_max(rgb[0], rgb[1]);
    const vec least = vec_min(less, rgb[2]), most = vec_max(more, rgb[2]);
    const vec median = vec_max(less, vec_min(more, rgb[2]));
    n->any_low = vec_count_at_most(n->any_low, has_luma ? least : median, low);
    n->all_low = vec_count_at_most(n->all_low, most, low);
    n->any_high = vec_count_at_most(n->any_high, high, has_luma ? most : median);
    n->all_high = vec_count_at_most(n->all_high, high, least);
}

static void add_clips(struct ih_histogram *h, const struct clips *n)
{
    h->any_low += vec_sum(n->any_low);
    h->any_high += vec_sum(n->any_high);
    h->all_low += vec_sum(n->all_low);
    h->all_high += vec_sum(n->all_high);
}

/* ---- groups of RGB ---- */

/* The table row of each pair. A pair that is not in the table has upper bits set. */
static inline vec row_of(vec first, vec second)
{
    return vec_add_16(vec_sub_16(second, first), vec_all_16(IH_COUNT_PAIR_REACH));
}

/* Whether the first pixels of a group, of n bytes, are equal: 11 of RGB. */
ALWAYS_INLINE bool is_flat(const uint8_t *p, size_t n)
{
    vec same = vec_equal(vec_read(p), vec_read(p + n));
    if (sizeof(vec) == 16)
        same = vec_and(same, vec_equal(vec_read(p + 16), vec_read(p + 16 + n)));
    return vec_is(same, 0xff);
}

/* Does the remaining three quarters of the increments of group g (the caller has done the first),
 * then stores in g what is to be counted of v. */
ALWAYS_INLINE void count_group(struct ih_counter *t, struct group *g, const struct vec_pixels *v,
                               struct groups *all_groups)
{
    const struct measures *m = &all_groups->measures;
    vec rgb[3];
    pack_rgb(rgb, v);
    count_clips(all_groups, rgb, true);
    count_quarter(t, g, 1);
    const vec luma[2] = {vec_luma(v->first, m->weights), vec_luma(v->second, m->weights)};
    count_quarter(t, g, 2);
    const vec rows[4] = {row_of(v->first[0], v->second[0]), row_of(v->first[1], v->second[1]),
                         row_of(v->first[2], v->second[2]), row_of(luma[0], luma[1])};
    const vec all = vec_or(vec_or(rows[0], rows[1]), vec_or(rows[2], rows[3]));
    const bool are_pairs = vec_is(vec_and(all, vec_all_16((uint16_t)-IH_COUNT_PAIR_ROWS)), 0);
    count_quarter(t, g, 3);
    if (are_pairs && t->has_pairs) {
        vec_store(g->pairs[0], vec_or(vec_times_256(rows[0]), v->first[0]));
        vec_store(g->pairs[1], vec_or(vec_times_256(rows[1]), v->first[1]));
        vec_store(g->pairs[2], vec_or(vec_times_256(rows[2]), v->first[2]));
        vec_store(g->pairs[3], vec_or(vec_times_256(rows[3]), luma[0]));
        g->as = PAIRS;
    } else {
        vec_store(g->values[0], rgb[0]);
        vec_store(g->values[1], rgb[1]);
        vec_store(g->values[2], rgb[2]);
        vec_store(g->values[3], vec_pack(luma[0], luma[1]));
        g->as = SINGLES;
    }
}

/*
 * Without luma a group is counted at once, written out: values that wait for a later group take
 * longer (Sapphire Rapids, gcc 12, 2026-11-26, random RGB, ns a pixel: 0.95 and not 0.77).
 */

/* Counts the colours of eight interleaved pixels. */
ALWAYS_INLINE void count_eight(struct ih_counter *t, const uint8_t *p, unsigned n_channels,
                               unsigned n_tables)
{
    count_word(t, p, 0, n_channels, n_tables);
    count_word(t, p + 8, 8, n_channels, n_tables);
    count_word(t, p + 16, 16, n_channels, n_tables);
    if (n_channels == 4)
        count_word(t, p + 24, 24, n_channels, n_tables);
}

ALWAYS_INLINE void count_interleaved(struct ih_counter *t, const uint8_t *p, unsigned n_channels,
                                     unsigned n_tables)
{
    count_eight(t, p, n_channels, n_tables);
    count_eight(t, p + 8 * n_channels, n_channels, n_tables);
    if (GROUP == 32) {
        count_eight(t, p + 16 * n_channels, n_channels, n_tables);
        count_eight(t, p + 24 * n_channels, n_channels, n_tables);
    }
}

ALWAYS_INLINE void count_planar(struct ih_counter *t, const uint8_t *const samples[4])
{
    count_values(t, samples, 0, 8, false);
    count_values(t, samples, 8, 8, false);
    if (GROUP == 32) {
        count_values(t, samples, 16, 8, false);
        count_values(t, samples, 24, 8, false);
    }
}

/* Counts eight samples of noise into two tables. */
ALWAYS_INLINE void count_noise_word(uint32_t *a, uint32_t *b, uint64_t word)
{
    word = count_two(a, b, count_two(a, b, word));
    (void)count_two(a, b, count_two(a, b, word));
}

ALWAYS_INLINE void count_noise(uint32_t *a, uint32_t *b, const uint8_t *p)
{
    for (const uint8_t *end = p + GROUP; p < end; p += 16) {
        count_noise_word(a, b, load64(p));
        count_noise_word(a, b, load64(p + 8));
    }
}

/* Plane by plane; a loop over the planes takes 10 % longer (Zen 5, gcc 12). */
ALWAYS_INLINE void count_planar_noise(struct ih_counter *t, const uint8_t *const samples[3])
{
    count_noise(t->subtables[0], t->subtables[1], samples[0]);
    count_noise(t->subtables[4], t->subtables[5], samples[1]);
    count_noise(t->subtables[8], t->subtables[9], samples[2]);
}

static inline void begin_groups(struct groups *all, const struct ih_counter *t)
{
    const struct ih_count_spec *spec = &t->spec;
    all->measures =
        (struct measures){vec_all((uint8_t)spec->clip_low), vec_all((uint8_t)spec->clip_high),
                          vec_all((uint8_t)(spec->clip_low - spec->clip_high)),
                          vec_make_weights((int16_t)spec->luma->red, (int16_t)spec->luma->blue)};
    all->clips = (struct clips){vec_all(0), vec_all(0), vec_all(0), vec_all(0)};
    all->groups[0].as = all->groups[1].as = NOTHING;
}

/* Counts the last two groups. */
ALWAYS_INLINE void end_groups(const struct groups *all, struct ih_counter *t, bool has_luma)
{
    for (unsigned i = 0; i < 8u * has_luma; i++)
        count_quarter(t, &all->groups[i / 4], i % 4);
    if (has_luma || !vec_is(vec_or(all->clips.any_low, all->clips.any_high), 0))
        add_clips(&t->totals, &all->clips);
}

/* Counts the alpha of a group. It is the same in most groups of most images. */
ALWAYS_INLINE void count_alpha(struct ih_counter *t, vec alpha, const uint8_t *samples,
                               unsigned step)
{
    uint32_t *a = t->subtables[12];
    if (vec_is(alpha, *samples)) {
        a[*samples] += GROUP;
        return;
    }
    for (unsigned i = 0; i < GROUP * step; i += 4 * step)
        count_four(a, samples + i, step);
}

ALWAYS_INLINE size_t count_groups_of(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels,
                                     unsigned n_channels, unsigned n_tables, bool has_luma)
{
    const size_t n_read = n_channels == 3 ? VEC_PIXELS_READ : GROUP;
    struct groups all;
    size_t n_done = 0;
    begin_groups(&all, t);
    for (unsigned i = 0; i < GROUPS_MAX && n_pixels - n_done >= n_read;) {
        const uint8_t *p = pixels + n_channels * n_done;
        ih_count_prefetch(p);
        if (is_flat(p, n_channels)) {
            n_done += ih_count_run(t, p, n_pixels - n_done, n_channels);
            continue;
        }
        struct group *g = &all.groups[i % 2];
        struct vec_pixels v;
        vec alpha[2];
        const bool has_clips = has_luma || n_channels == 4 ||
                               vec_may_hold_two(p, all.measures.high, all.measures.reach);
        if (n_channels == 4)
            vec_load_pixels_4(&v, alpha, p);
        else if (has_clips)
            vec_load_pixels(&v, p);
        if (has_luma) {
            count_quarter(t, g, 0);
            count_group(t, g, &v, &all);
        } else {
            if (has_clips) {
                vec rgb[3];
                pack_rgb(rgb, &v);
                count_clips(&all, rgb, false);
            }
            count_interleaved(t, p, n_channels, n_tables);
        }
        if (n_channels == 4)
            count_alpha(t, vec_pack(alpha[0], alpha[1]), p + 3, 4);
        n_done += GROUP;
        i++;
    }
    end_groups(&all, t, has_luma);
    return n_done;
}

static size_t count_rgb_groups(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    return ih_count_has_luma(t) ? count_groups_of(t, pixels, n_pixels, 3, 4, true)
           : t->is_noise        ? count_groups_of(t, pixels, n_pixels, 3, 1, false)
                                : count_groups_of(t, pixels, n_pixels, 3, 4, false);
}

static size_t count_rgba_groups(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    return ih_count_has_luma(t) ? count_groups_of(t, pixels, n_pixels, 4, 4, true)
           : t->is_noise        ? count_groups_of(t, pixels, n_pixels, 4, 1, false)
                                : count_groups_of(t, pixels, n_pixels, 4, 4, false);
}

/*
 * ---- groups of Y, Cb and Cr ----
 *
 * Planes become RGB in registers. Colours and filter are those of libjpeg-turbo, in the same
 * integers (kernels/ycc.h). The even and odd pixels of a group are the first and second of its
 * pairs, and fill the 16-bit SIMD lanes.
 *
 *     red    y + cr + 0.402 cr          each product rounded alone, as libjpeg's tables are: a
 *     blue   y + 2 cb - 0.228 cb        16-bit factor is exact enough for all 256 values
 *     green  y - cr + (0.286 cr - 0.344 cb)     a sum rounded once, in 32 bits
 */

enum {
    CR_RED_LESS_1 = 13173,           /* 1.402 - 1 in 1/32768 */
    CB_BLUE_LESS_2 = -7471,          /* 1.772 - 2 */
    CR_GREEN_PLUS_1 = 65536 - 46802, /* 1 - 0.714 in 1/65536 */
    CB_GREEN = -22554
};

/* y, cb and cr hold 16-bit values; so does rgb. */
ALWAYS_INLINE void to_rgb(vec rgb[3], vec y, vec cb, vec cr)
{
    const vec zero = vec_all_16(128), b = vec_sub_16(cb, zero), r = vec_sub_16(cr, zero);
    const vec green = vec_weigh_16(r, b, vec_make_weights(CR_GREEN_PLUS_1, CB_GREEN));
    const vec red = vec_add_16(r, vec_scale_16(r, CR_RED_LESS_1));
    const vec blue = vec_add_16(vec_add_16(b, b), vec_scale_16(b, CB_BLUE_LESS_2));
    rgb[0] = vec_clamp_255(vec_add_16(y, red));
    rgb[1] = vec_clamp_255(vec_add_16(vec_sub_16(y, r), green));
    rgb[2] = vec_clamp_255(vec_add_16(y, blue));
}

/* Whether all pixels of the group at i equal pixel `first`. */
static inline bool is_like(const uint8_t *const samples[3], size_t first, size_t i)
{
    return vec_is(vec_read(samples[0] + i), samples[0][first]) &&
           vec_is(vec_read(samples[1] + i), samples[1][first]) &&
           vec_is(vec_read(samples[2] + i), samples[2][first]);
}

/* The length of the run of equal pixels at i, in whole groups; 0 if the first group is no run. */
static inline size_t flat_length(const uint8_t *const samples[3], size_t i, size_t n_pixels)
{
    const uint8_t *y = samples[0] + i;
    size_t n = 0;
    if (load64(y) != load64(y + GROUP - 8)) /* decides most cases */
        return 0;
    while (n_pixels - i - n >= GROUP && is_like(samples, i, i + n))
        n += GROUP;
    return n;
}

/* Planes of Y, Cb and Cr, or of red, green, blue and perhaps alpha. */
ALWAYS_INLINE size_t count_plane_groups(struct ih_counter *t, const uint8_t *const samples[],
                                        size_t n_pixels, bool is_ycc, bool has_luma, bool is_noise)
{
    struct groups all;
    size_t n_done = 0;
    begin_groups(&all, t);
    for (unsigned i = 0; i < GROUPS_MAX && n_pixels - n_done >= GROUP;) {
        const size_t n_flat =
            !is_ycc && t->spec.layout.n_channels == 4 ? 0 : flat_length(samples, n_done, n_pixels);
        if (n_flat > 0) {
            const uint8_t rgb[3] = {samples[0][n_done], samples[1][n_done], samples[2][n_done]};
            if (is_ycc)
                ih_count_same_ycc(t, samples, n_done, (uint32_t)n_flat);
            else
                ih_count_same(t, rgb, (uint32_t)n_flat, 3);
            n_done += n_flat;
            continue;
        }
        struct group *g = &all.groups[i % 2];
        for (unsigned c = 0; c < 3; c++)
            ih_count_prefetch(samples[c] + n_done);
        const vec x = vec_read(samples[0] + n_done);
        const vec y = vec_read(samples[1] + n_done);
        const vec z = vec_read(samples[2] + n_done);
        struct vec_pixels v = {{vec_low_8(x), vec_low_8(y), vec_low_8(z)},
                               {vec_high_8(x), vec_high_8(y), vec_high_8(z)}};
        if (is_ycc)
            to_rgb(v.first, v.first[0], v.first[1], v.first[2]);
        if (has_luma)
            count_quarter(t, g, 0);
        if (is_ycc)
            to_rgb(v.second, v.second[0], v.second[1], v.second[2]);
        if (has_luma) {
            count_group(t, g, &v, &all);
        } else {
            vec rgb[3] = {x, y, z};
            if (is_ycc)
                pack_rgb(rgb, &v);
            count_clips(&all, rgb, false);
            const uint8_t *at[4] = {NULL};
            for (unsigned c = 0; c < 3; c++) {
                if (is_ycc)
                    vec_store(g->values[c], rgb[c]);
                at[c] = is_ycc ? g->values[c] : samples[c] + n_done;
            }
            if (is_noise)
                count_planar_noise(t, at);
            else
                count_planar(t, at);
        }
        if (!is_ycc && t->spec.layout.n_channels == 4)
            count_alpha(t, vec_read(samples[3] + n_done), samples[3] + n_done, 1);
        n_done += GROUP;
        i++;
    }
    end_groups(&all, t, has_luma);
    return n_done;
}

static size_t count_ycc_groups(struct ih_counter *t, const uint8_t *const samples[],
                               size_t n_pixels)
{
    return ih_count_has_luma(t) ? count_plane_groups(t, samples, n_pixels, true, true, false)
                                : count_plane_groups(t, samples, n_pixels, true, false, false);
}

static size_t count_planar_groups(struct ih_counter *t, const uint8_t *const samples[],
                                  size_t n_pixels)
{
    return ih_count_has_luma(t) ? count_plane_groups(t, samples, n_pixels, false, true, false)
           : t->is_noise        ? count_plane_groups(t, samples, n_pixels, false, false, true)
                                : count_plane_groups(t, samples, n_pixels, false, false, false);
}

/* One filter serves 4:2:0 and 4:2:2. s is 3 times the sample of the near row plus that of the far
 * row; a pixel is (3 s + s of its neighbour + rounding) / 16. For 4:2:2 both rows are the same, so
 * s is 4 times the sample, and only the rounding differs. */
static void upsample(uint8_t *out, const struct ih_chroma_row *row, uint32_t x, size_t n)
{
    enum { STEP = VEC_PIXELS / 2, BESIDE = 16 };
    _Alignas(64) uint16_t sums[BESIDE + IH_COUNT_CHUNK_PIXELS / 2 + 2 * STEP];
    const size_t first = x / 2, n_samples = (n + 1) / 2;
    const uint8_t *near = row->near + first, *far = row->far + first;
    uint16_t *s = sums + BESIDE;
    for (size_t i = 0; i < n_samples; i += STEP) {
        const vec own = vec_widen(near + i);
        vec_store(s + i, vec_add_16(vec_add_16(own, vec_add_16(own, own)), vec_widen(far + i)));
    }
    /* The first and last samples of a row are their own neighbours. */
    s[-1] = first > 0 ? (uint16_t)(3 * near[-1] + far[-1]) : s[0];
    s[n_samples] = first + n_samples < row->n_samples
                       ? (uint16_t)(3 * near[n_samples] + far[n_samples])
                       : s[n_samples - 1];
    const vec even_half = vec_all_16(row->halves_height ? 8 : 4);
    const vec odd_half = vec_all_16(row->halves_height ? 7 : 8);
    for (size_t i = 0; i < n_samples; i += STEP) {
        const vec own = vec_read(s + i), own_3 = vec_add_16(own, vec_add_16(own, own));
        const vec even = vec_add_16(vec_add_16(own_3, vec_read(s + i - 1)), even_half);
        const vec odd = vec_add_16(vec_add_16(own_3, vec_read(s + i + 1)), odd_half);
        vec_store(out + 2 * i,
                  vec_or(vec_shift_right_16(even, 4), vec_times_256(vec_shift_right_16(odd, 4))));
    }
}
#endif

#endif
