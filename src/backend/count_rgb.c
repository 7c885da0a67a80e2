/*
 * The fast count of RGB, 16 pixels at a time, where the processor has vectors (count_vec.h).
 *
 * A core stores one counter a cycle, so four increments a pixel, of red, green, blue and luma, cost
 * four cycles whatever else is done. Two things bring a photograph below that:
 *
 * - Pairs. Neighbours are alike. One increment counts two of them where the second differs from the
 *   first by -16 to 15, in a table of 32 x 256 entries: 32 KiB a plane, of which a photograph
 *   touches a few rows. The fold gives both back. A group is counted so where all its pairs are in
 *   the tables, 88 of 100 groups of photographs; else pixel by pixel. Nothing is guessed from what
 *   came before, so random data loses nothing.
 * - Vectors make the luma, the joint clip counts and the pairs' indexes. A load and an add for each
 *   is what the loop for other machines pays (count_loops.c).
 *
 * The increments of one group are spread over the vector steps of the next: only so do both run at
 * once, as the stores of a whole group would fill the queue in which they wait.
 *
 * Measured on one core of an AMD EPYC (Zen 3, 3.2 GHz), 2026-11-21, 19 MB of 48 baseline photos,
 * best of 3 to 9 runs in turns with the loop that this one replaces, GB/s:
 *
 *                                             photos   random   smooth   two-valued
 *     the loop of count_loops.c                 1.91     1.80     1.84         1.67
 *     this one, gcc 12.2                        2.29     1.93     2.52         1.95
 *     this one, clang 14                        2.15     1.91     2.38         1.92
 *
 * Short runs lose: patches of 40 pixels, flat and noisy in turns (cpu_count.c), fall from 3.6
 * to 3.0, as a group that straddles the start of a run is twice as long. Looking for a run that
 * begins in the middle of a group cost more than it gave (2.5, and 2.10 on photos).
 *
 * Rejected, or not worth it:
 *
 *     increments after the vector steps of their own group             1.92 (random 1.93)
 *     indexes of 16 to 1,024 pixels first, then their increments       1.95 (random 1.55)
 *     AVX2, 32 pixels at a time, which would be chosen at run time     2.50 (random 2.02)
 *     differences of -8 to 7 / -32 to 31                               2.26 / 2.28
 *     two tables for each plane, in turns                              no gain: a store followed
 *                                                                      by its load is 4 cycles
 *     16-bit counters, half the cache: an increment takes 1.4 cycles and not 1
 *
 * What limits it now is the first-level cache: four tables of pairs of a noisy photograph take 64
 * KiB and more, and an increment there costs 1.4 cycles.
 */
#include "backend/count_vec.h"

#ifdef IH_COUNT_VEC

#include <string.h>

enum {
    GROUP = 16,      /* pixels: as many as a vector has lanes */
    GROUPS_MAX = 255 /* in one go: what a lane of 8 bits can count */
};

/* What is to be counted of a group. */
struct group {
    _Alignas(64) uint8_t values[4][GROUP]; /* red, green, blue, luma */
    uint16_t pairs[4][GROUP / 2];          /* the same as indexes into the tables of pairs */
    enum { NOTHING, SINGLES, PAIRS } as;
};

struct limits {
    vec low, high;
};

/* In each lane how many groups had, at this place, a pixel of which any or all are clipped. */
struct clips {
    vec any_low, any_high, all_low, all_high;
};

/* ---- counting ---- */

static inline void count_pair(struct ih_counter *t, const struct group *g, unsigned i)
{
    t->pairs[0][g->pairs[0][i]]++;
    t->pairs[1][g->pairs[1][i]]++;
    t->pairs[2][g->pairs[2][i]]++;
    t->pairs[3][g->pairs[3][i]]++;
}

static inline void count_single(struct ih_counter *t, const struct group *g, unsigned i)
{
    t->subtables[i % 4][g->values[0][i]]++;
    t->subtables[4 + i % 4][g->values[1][i]]++;
    t->subtables[8 + i % 4][g->values[2][i]]++;
    t->luma[i % 4][g->values[3][i]]++;
}

/* Two of the sixteen pixels, so that the increments can be spread over the steps of the next group.
 */
static inline void count_two(struct ih_counter *t, const struct group *g, unsigned i)
{
    if (g->as == PAIRS) {
        count_pair(t, g, i);
    } else if (g->as == SINGLES) {
        count_single(t, g, 2 * i);
        count_single(t, g, 2 * i + 1);
    }
}

static inline void count_clips(struct clips *n, const vec rgb[3], const struct limits *at)
{
    const vec least = vec_min(rgb[0], vec_min(rgb[1], rgb[2]));
    const vec most = vec_max(rgb[0], vec_max(rgb[1], rgb[2]));
    n->any_low = vec_count_at_most(n->any_low, least, at->low);
    n->all_low = vec_count_at_most(n->all_low, most, at->low);
    n->any_high = vec_count_at_most(n->any_high, at->high, most);
    n->all_high = vec_count_at_most(n->all_high, at->high, least);
}

static void add_clips(struct ih_histogram *h, const struct clips *n)
{
    h->any_low += vec_sum(n->any_low);
    h->any_high += vec_sum(n->any_high);
    h->all_low += vec_sum(n->all_low);
    h->all_high += vec_sum(n->all_high);
}

/* ---- looking at a group ---- */

/* Whether all pairs are in the tables. Differences wrap around, at no harm: so does the fold. */
static inline bool store_pairs(struct group *g, const vec rgb[3], vec luma)
{
    const vec reach = vec_all_16(IH_COUNT_PAIR_REACH << 8);
    const vec beyond = vec_all_16(0x10000 - (IH_COUNT_PAIR_ROWS << 8));
    const vec r = vec_add(vec_differ(rgb[0]), reach), gr = vec_add(vec_differ(rgb[1]), reach);
    const vec b = vec_add(vec_differ(rgb[2]), reach), l = vec_add(vec_differ(luma), reach);
    vec_store(g->pairs[0], r);
    vec_store(g->pairs[1], gr);
    vec_store(g->pairs[2], b);
    vec_store(g->pairs[3], l);
    return vec_shares_no_bit(vec_or(vec_or(r, gr), vec_or(b, l)), beyond);
}

/* Whether 16 pixels are the same. The first look, at three of them, mostly settles it. */
static inline bool is_flat(const uint8_t *p)
{
    uint64_t x, y;
    memcpy(&x, p, sizeof x);
    memcpy(&y, p + 3, sizeof y);
    return x == y && memcmp(p, p + 3, 3 * (GROUP - 1)) == 0;
}

size_t ih_count_rgb(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    const struct limits limits = {vec_all(t->spec.clip_low), vec_all(t->spec.clip_high)};
    const vec_weights weights = vec_make_weights(t->spec.luma);
    struct clips clips = {vec_zero(), vec_zero(), vec_zero(), vec_zero()};
    struct group groups[2];
    size_t i = 0, n_done = 0;
    groups[1].as = NOTHING;
    while (i < GROUPS_MAX && n_pixels - n_done >= GROUP) {
        const struct group *before = &groups[(i + 1) % 2];
        struct group *now = &groups[i % 2];
        const uint8_t *p = pixels + 3 * n_done;
        vec rgb[3];
        if (is_flat(p)) {
            n_done += ih_count_run(t, p, n_pixels - n_done, 3);
            continue;
        }
        vec_load_rgb(rgb, p);
        count_two(t, before, 0);
        count_two(t, before, 1);
        vec_store(now->values[0], rgb[0]);
        vec_store(now->values[1], rgb[1]);
        vec_store(now->values[2], rgb[2]);
        count_clips(&clips, rgb, &limits);
        count_two(t, before, 2);
        count_two(t, before, 3);
        const vec luma = vec_luma(rgb, weights);
        vec_store(now->values[3], luma);
        count_two(t, before, 4);
        count_two(t, before, 5);
        now->as = store_pairs(now, rgb, luma) && t->has_pairs ? PAIRS : SINGLES;
        count_two(t, before, 6);
        count_two(t, before, 7);
        n_done += GROUP;
        i++;
    }
    for (unsigned k = 0; i > 0 && k < GROUP / 2; k++)
        count_two(t, &groups[(i + 1) % 2], k);
    add_clips(&t->totals, &clips);
    return n_done;
}
#else
size_t ih_count_rgb(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    (void)t, (void)pixels, (void)n_pixels;
    return 0;
}
#endif
