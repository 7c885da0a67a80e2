/*
 * The fast count on one core: its loops, one for each layout. Why the tables look as they do is
 * said in count_tables.c. RGB, what nearly all photographs are, has a faster loop in
 * count_rgb_loop.h where there are vectors; its loop here takes runs, what is left at the end, and
 * other machines.
 *
 * A step takes a group of 8 pixels (16 of gray) with 64-bit loads and shifts the samples out:
 * loading single bytes gives 2.7 GB/s of gray where this gives 3.0, and 1.2 of RGB where this
 * gives 1.75, as a core has only so many loads a cycle and the increments need them. The steps are
 * written out, since gcc leaves loops over the bytes of a word rolled at -O2 (gray: 1.25 GB/s).
 *
 * Before a group is counted its pixels are compared with each other. If they are all the same, the
 * run is followed as far as it goes and added in one step: flat data is 3 to 9 times faster. The
 * check costs 1 to 4 % elsewhere, with clang up to 10 on gray.
 *
 * Rejected: looking at the first 8 bytes of a group alone (the same within the noise, but one
 * branch guessed wrong at every short run); adding the alpha of a group in one step where it is the
 * same throughout, as it mostly is (5 % faster on opaque RGBA and 6 % slower on the rest; 30 %
 * slower on gray with alpha).
 */
#include "count/count.h"

#include <string.h>

/* The 8 bytes at p in the machine's own order: byte_of knows it. Putting the word together from
 * shifted bytes would need no order, but clang 14 makes eight loads of that here. */
static inline uint64_t load64(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Byte i in memory of a loaded word. The test is folded by the compiler. */
static inline unsigned byte_of(uint64_t word, unsigned i)
{
    const uint16_t one = 1;
    uint8_t is_little;
    memcpy(&is_little, &one, 1);
    return (unsigned)(word >> (8 * (is_little ? i : 7 - i))) & 255;
}

/*
 * How many of the n pixels at p are sure to be the same as the first; of one or two channels a few
 * more may be. Of colours it is exact, so that a run which follows at once is found at its start:
 * patches of RGB are 1.15 times as fast. Gray is counted faster than the end is looked for.
 */
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

/* ---- counting ---- */

static inline unsigned luma_entry(const struct ih_counter *t, unsigned r, unsigned g, unsigned b)
{
    return (t->weights[0][r] + t->weights[1][g] + t->weights[2][b]) >> 16;
}

void ih_count_same(struct ih_counter *t, const uint8_t *p, uint32_t n, unsigned n_channels)
{
    for (unsigned c = 0; c < n_channels; c++)
        t->subtables[c * ih_count_subtables_each(n_channels)][p[c]] += n;
    if (n_channels >= 3)
        t->luma[0][luma_entry(t, p[0], p[1], p[2])] += n;
}

size_t ih_count_run(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels)
{
    const size_t n_run = run_length(p, n, n_channels);
    ih_count_same(t, p, (uint32_t)n_run, n_channels);
    return n_run;
}

/* What is left after the last whole group. */
static void count_rest(struct ih_counter *t, const uint8_t *p, size_t n, unsigned n_channels)
{
    for (; n > 0; n--, p += n_channels)
        ih_count_same(t, p, 1, n_channels);
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
            n_done = ih_count_run(t, p, n, 1);
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
            n_done = ih_count_run(t, p, n, 2);
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
        n_done = t->vectors->rgb(t, p, n);
        if (n_done > 0)
            continue;
        const uint64_t x = load64(p), y = load64(p + 8), z = load64(p + 16);
        n_done = 8;
        if (((x ^ load64(p + 3)) | (y ^ load64(p + 11)) | (load64(p + 13) ^ z)) == 0) {
            n_done = ih_count_run(t, p, n, 3);
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
            n_done = ih_count_run(t, p, n, 4);
            continue;
        }
        count_rgba_word(t, x, 0);
        count_rgba_word(t, y, 2);
        count_rgba_word(t, z, 0);
        count_rgba_word(t, w, 2);
    }
    count_rest(t, p, n, 4);
}

void ih_count_into_tables(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    switch (t->spec.n_channels) {
    case 1:
        count_gray(t, pixels, n_pixels);
        break;
    case 2:
        count_gray_alpha(t, pixels, n_pixels);
        break;
    case 3:
        count_rgb(t, pixels, n_pixels);
        break;
    default:
        count_rgba(t, pixels, n_pixels);
    }
}
