/*
 * The fast count of RGB, 16 or 32 pixels at a time, where the processor has vectors (count_vec.h).
 * Each file that includes this has the loop built for its own target, as count_groups.
 *
 * Four increments a pixel, of red, green, blue and luma, take four stores, and a core stores one
 * counter a cycle. Two things bring a photograph below that:
 *
 * - Pairs. Neighbours are alike. One increment counts two of them where the second differs from the
 *   first by -16 to 15, in a table of 32 x 256 entries: 32 KiB a plane, of which a photograph
 *   touches a few rows. The fold gives both back. A group is counted so where all its pairs are in
 *   the tables, 84 of 100 groups of 16 pixels of photographs; else pixel by pixel. Nothing is
 *   guessed from what came before, so random data loses nothing.
 * - Vectors make the luma, the joint clip counts and the pairs' indexes. A load and an add for each
 *   is what the loop for other machines pays (count_loops.c).
 *
 * Vectors and increments are about as long as each other and must run at once. What lets them:
 *
 * - The increments of a group are spread over the vector steps of the one after the next. Those of
 *   the next would wait for indexes that are only just stored. That they depend on what kind of
 *   group it is keeps compilers from putting them all in one place.
 * - An increment is two accesses to memory, and three are what a core does in a cycle. So two
 *   indexes come with one load, and the channels are masked apart and not shuffled apart.
 * - AVX2 halves the vector steps. It is chosen at run time (count_vectors.c).
 *
 * Measured on one core of an AMD EPYC (Zen 3, 3.2 GHz), 2026-11-21, ns a pixel, gcc 12.2 / clang
 * 14: 10 megapixels each of baseline and progressive photos, of which every 20th band of 16 rows
 * was taken, 2 of the others, in bands of 128 KiB, the least of 5 rounds in turns.
 * "before" is the loop with shuffles that this one replaces.
 *
 *                  baseline   progressive      random  two-valued     patches        flat
 *     before      1.16 1.20     1.40 1.47   1.52 1.62   1.52 1.62   0.98 0.99   0.24 0.24
 *     SSE2        1.11 1.17     1.39 1.44   1.57 1.49   1.56 1.49   0.86 0.82   0.15 0.19
 *     AVX2        0.93 0.95     1.15 1.16   1.41 1.33   1.37 1.33   0.87 0.83   0.15 0.24
 *
 * Rejected, or not worth it (AVX2 on both kinds of photos):
 *
 *     increments in the vector steps of the next group             0.99 1.19
 *     differences of -8 to 7 / -32 to 31                           5 % slower / the same
 *     rows of 264 to 288 entries, which share fewer cache sets     no gain
 *     two tables for each plane, in turns: no gain, as an increment of what was just stored is fast
 *     16-bit counters, half the cache: an increment takes two cycles and not one
 *
 * Four neighbours at once, each -2 to 1 from the one before, would halve the increments of 24 of
 * 100 groups and cost all of them six vector steps a plane: not tried. What limits noisy photos is
 * the first-level cache, as four tables of pairs take 64 KiB of it and more.
 */
#ifndef IH_COUNT_COUNT_RGB_LOOP_H
#define IH_COUNT_COUNT_RGB_LOOP_H

#include "count/count_vec.h"

#ifdef IH_COUNT_VEC

#include <string.h>

enum {
    GROUP = VEC_PIXELS,
    FLAT_PIXELS = 16, /* the shortest run that is looked for */
    GROUPS_MAX = 255, /* in one go: what a lane of 8 bits can count */
    STRIDE = IH_BINS + IH_COUNT_PADDING,
    LUMA_STRIDE = IH_COUNT_CLASSES * IH_BINS + IH_COUNT_PADDING
};

/* gcc leaves what it marks a call at -O2, with numbers that the caller knows computed anew: all
 * takes one and a half times as long. Both compilers that have these vectors know the word. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* What is to be counted of a group. */
struct group {
    _Alignas(64) uint16_t pairs[4][GROUP / 2]; /* of red, green, blue, luma: indexes of tables */
    uint8_t values[4][GROUP];                  /* or the values themselves, in any order */
    enum { NOTHING, SINGLES, PAIRS } as;
};

/* What all groups of an image have in common. */
struct measures {
    vec low, high;
    vec_weights weights;
};

/* In each lane how many groups had, at this place, a pixel of which any or all are clipped. */
struct clips {
    vec any_low, any_high, all_low, all_high;
};

/* The groups of one call. */
struct groups {
    struct group groups[2]; /* which take turns */
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

/* ---- counting ---- */

/* Two pairs of each of two planes, which take turns. */
static inline void count_pairs(uint32_t *a, uint32_t *b, uint32_t x, uint32_t y)
{
    a[x & 0xffff]++;
    b[y & 0xffff]++;
    a[x >> 16]++;
    b[y >> 16]++;
}

/* Two values of each of two planes, into two tables of each. */
static inline void count_singles(uint32_t *a, uint32_t *b, unsigned b_stride, uint32_t x,
                                 uint32_t y)
{
    a[x & 0xff]++;
    b[y & 0xff]++;
    a[STRIDE + (x >> 8 & 0xff)]++;
    b[b_stride + (y >> 8 & 0xff)]++;
}

/* Two pairs, or four values, of red and green (c is 0) or of blue and luma (2). */
ALWAYS_INLINE void count_unit(struct ih_counter *t, const struct group *g, unsigned c, unsigned i)
{
    if (g->as == PAIRS) {
        count_pairs(t->pairs[c], t->pairs[c + 1], load32(&g->pairs[c][2 * i]),
                    load32(&g->pairs[c + 1][2 * i]));
    } else if (g->as == SINGLES) {
        const uint32_t x = load32(&g->values[c][4 * i]), y = load32(&g->values[c + 1][4 * i]);
        uint32_t *a = t->subtables[4 * c], *b = c == 0 ? t->subtables[4] : t->luma[0];
        const unsigned b_stride = c == 0 ? STRIDE : LUMA_STRIDE;
        count_singles(a, b, b_stride, x, y);
        count_singles(a + 2 * STRIDE, b + 2 * b_stride, b_stride, x >> 16, y >> 16);
    }
}

/* Of the increments of a group a quarter. */
ALWAYS_INLINE void count_quarter(struct ih_counter *t, const struct group *g, unsigned quarter)
{
    const unsigned i = quarter * (GROUP / 16);
    count_unit(t, g, 0, i);
    count_unit(t, g, 2, i);
    if (GROUP == 32) {
        count_unit(t, g, 0, i + 1);
        count_unit(t, g, 2, i + 1);
    }
}

static inline void count_clips(struct clips *n, const vec rgb[3], const struct measures *m)
{
    const vec least = vec_min(rgb[0], vec_min(rgb[1], rgb[2]));
    const vec most = vec_max(rgb[0], vec_max(rgb[1], rgb[2]));
    n->any_low = vec_count_at_most(n->any_low, least, m->low);
    n->all_low = vec_count_at_most(n->all_low, most, m->low);
    n->any_high = vec_count_at_most(n->any_high, m->high, most);
    n->all_high = vec_count_at_most(n->all_high, m->high, least);
}

static void add_clips(struct ih_histogram *h, const struct clips *n)
{
    h->any_low += vec_sum(n->any_low);
    h->any_high += vec_sum(n->any_high);
    h->all_low += vec_sum(n->all_low);
    h->all_high += vec_sum(n->all_high);
}

/* ---- looking at a group ---- */

/* In which row of the table each pair is; beyond it where any of the upper bits is set. */
static inline vec row_of(vec first, vec second)
{
    return vec_add_16(vec_sub_16(second, first), vec_all_16(IH_COUNT_PAIR_REACH));
}

/* Whether 16 pixels are the same. The first look, at three of them, mostly settles it. */
static inline bool is_flat(const uint8_t *p)
{
    return load64(p) == load64(p + 3) && memcmp(p, p + 3, 3 * (FLAT_PIXELS - 1)) == 0;
}

/* Counts what group g has from before, all but its first quarter, which the caller has counted, and
 * puts into it what is to be counted of v. */
ALWAYS_INLINE void count_group(struct ih_counter *t, struct group *g, const struct vec_pixels *v,
                               struct groups *all_groups)
{
    const struct measures *m = &all_groups->measures;
    const vec rgb[3] = {vec_pack(v->first[0], v->second[0]), vec_pack(v->first[1], v->second[1]),
                        vec_pack(v->first[2], v->second[2])};
    count_clips(&all_groups->clips, rgb, m);
    count_quarter(t, g, 1);
    const vec luma[2] = {vec_luma(v->first, m->weights), vec_luma(v->second, m->weights)};
    count_quarter(t, g, 2);
    const vec rows[4] = {row_of(v->first[0], v->second[0]), row_of(v->first[1], v->second[1]),
                         row_of(v->first[2], v->second[2]), row_of(luma[0], luma[1])};
    const vec all = vec_or(vec_or(rows[0], rows[1]), vec_or(rows[2], rows[3]));
    const bool are_pairs = vec_shares_no_bit(all, vec_all_16((uint16_t)-IH_COUNT_PAIR_ROWS));
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

static inline void begin_groups(struct groups *all, const struct ih_counter *t)
{
    const struct ih_count_spec *spec = &t->spec;
    all->measures =
        (struct measures){vec_all(spec->clip_low), vec_all(spec->clip_high),
                          vec_make_weights((int16_t)spec->luma->red, (int16_t)spec->luma->blue)};
    all->clips = (struct clips){vec_zero(), vec_zero(), vec_zero(), vec_zero()};
    all->groups[0].as = all->groups[1].as = NOTHING;
}

/* Counts what the last two groups have. */
static inline void end_groups(const struct groups *all, struct ih_counter *t)
{
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < GROUP / 2; k++)
            count_unit(t, &all->groups[i], k % 2 * 2, k / 2);
    }
    add_clips(&t->totals, &all->clips);
}

static size_t count_groups(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    struct groups all;
    size_t n_done = 0;
    begin_groups(&all, t);
    for (unsigned i = 0; i < GROUPS_MAX && n_pixels - n_done >= VEC_PIXELS_READ;) {
        const uint8_t *p = pixels + 3 * n_done;
        if (is_flat(p)) {
            n_done += ih_count_run(t, p, n_pixels - n_done, 3);
            continue;
        }
        struct group *g = &all.groups[i % 2];
        struct vec_pixels v;
        vec_load_pixels(&v, p);
        count_quarter(t, g, 0);
        count_group(t, g, &v, &all);
        n_done += GROUP;
        i++;
    }
    end_groups(&all, t);
    return n_done;
}
#endif

#endif
