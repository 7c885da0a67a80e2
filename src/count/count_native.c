/*
 * Native samples: a 32-bit table for each channel and for luma, folded to 64 bits.
 *
 * A counter that is increased again at once waits for its store, and neighbouring pixels are often
 * equal. Pixels of colour take longer than the store. Gray of up to 12 bits goes to four copies of
 * its table, which fit into the first-level cache. A table of 65,536 bins takes 256 KiB of the
 * second-level cache, and copies would slow all other data: there, eight equal neighbours are
 * counted at once.
 */
#include "count/count_native.h"

#include <stdlib.h>
#include <string.h>

enum {
    COPIES = 4,
    COPIED_BINS = 4096, /* the largest table that has copies */
    BLOCK = 64          /* entries that the fold skips together */
};

/* Tables of one copy: the channels and, of colour, luma. Luma of gray follows from its bins. */
static unsigned n_tables(const struct ih_count_spec *spec)
{
    return spec->n_channels + (spec->n_channels >= 3);
}

static unsigned plane_of(const struct ih_count_spec *spec, unsigned table)
{
    return table < spec->n_channels ? table : IH_LUMA;
}

enum ih_status ih_native_begin(struct ih_native_counter *c, const struct ih_count_spec *spec,
                               struct ih_error *err)
{
    const unsigned n_copies = spec->n_channels < 3 && spec->n_bins <= COPIED_BINS ? COPIES : 1;
    const size_t n_entries = (size_t)n_copies * n_tables(spec) * spec->n_bins;
    if (c->n_unfolded > 0) /* of an unfinished image */
        memset(c->tables, 0, c->n_entries * sizeof *c->tables);
    c->n_unfolded = 0;
    ih_histogram_reset(&c->totals);
    if (n_entries > c->n_entries) {
        free(c->tables);
        c->tables = calloc(n_entries, sizeof *c->tables);
        c->n_entries = c->tables ? n_entries : 0;
        if (!c->tables)
            return ih_error_set(err, IH_MEMORY, "no memory for the native bins");
    }
    c->spec = *spec;
    c->n_copies = n_copies;
    c->fold_pixels = UINT32_MAX;
    return ih_histogram_init(&c->totals, spec, err);
}

void ih_native_reset(struct ih_native_counter *c)
{
    free(c->tables);
    ih_histogram_reset(&c->totals);
    *c = (struct ih_native_counter){.tables = NULL};
}

/* Adds n counters to the totals and clears them, if one of them is not 0. */
static void fold_block(uint32_t *from, uint64_t *to, unsigned n)
{
    uint32_t any = 0;
    for (unsigned v = 0; v < n; v++)
        any |= from[v];
    if (any == 0)
        return;
    for (unsigned v = 0; v < n; v++) {
        to[v] += from[v];
        from[v] = 0;
    }
}

static void fold(struct ih_native_counter *c)
{
    const unsigned n_bins = c->spec.n_bins;
    uint32_t *from = c->tables;
    for (unsigned copy = 0; copy < c->n_copies; copy++)
        for (unsigned t = 0; t < n_tables(&c->spec); t++, from += n_bins) {
            uint64_t *to = ih_own_bins(&c->totals, plane_of(&c->spec, t));
            for (unsigned v = 0; v < n_bins; v += BLOCK)
                fold_block(from + v, to + v, n_bins - v < BLOCK ? n_bins - v : BLOCK);
        }
    c->n_unfolded = 0;
}

/* ---- the loops ---- */

static uint64_t load_4(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static unsigned load_1(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void add_gray(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    uint32_t *const t = c->tables;
    const size_t step = c->n_copies > 1 ? c->spec.n_bins : 0;
    uint32_t *const t1 = t + step, *const t2 = t1 + step, *const t3 = t2 + step;
    for (; n >= 8; n -= 8, p += 16) {
        const uint64_t v = load_4(p);
        if (v == load_4(p + 8) && v == (v << 16 | v >> 48)) {
            t[v & 0xFFFF] += 8;
            continue;
        }
        t[load_1(p)]++;
        t1[load_1(p + 2)]++;
        t2[load_1(p + 4)]++;
        t3[load_1(p + 6)]++;
        t[load_1(p + 8)]++;
        t1[load_1(p + 10)]++;
        t2[load_1(p + 12)]++;
        t3[load_1(p + 14)]++;
    }
    for (; n > 0; n--, p += 2)
        t[load_1(p)]++;
}

static void add_gray_alpha(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    const size_t step = c->n_copies > 1 ? 2 * (size_t)c->spec.n_bins : 0;
    uint32_t *t = c->tables, *other = t + step;
    for (; n > 0; n--, p += 4) {
        uint16_t v[2];
        memcpy(v, p, sizeof v);
        t[v[0]]++;
        t[c->spec.n_bins + v[1]]++;
        uint32_t *const next = other;
        other = t;
        t = next;
    }
}

static void add_clips(struct ih_native_counter *c, const uint16_t *v)
{
    unsigned n_low = 0, n_high = 0;
    for (unsigned i = 0; i < 3; i++) {
        n_low += v[i] <= c->spec.clip_low;
        n_high += v[i] >= c->spec.clip_high;
    }
    c->totals.any_low += n_low > 0;
    c->totals.all_low += n_low == 3;
    c->totals.any_high += n_high > 0;
    c->totals.all_high += n_high == 3;
}

/* Pixels of three or four channels. n_channels is a constant where this is inlined. */
static inline void add_colour(struct ih_native_counter *c, const uint8_t *p, size_t n,
                              unsigned n_channels)
{
    const struct ih_luma_weights w = *c->spec.luma;
    const size_t n_bins = c->spec.n_bins;
    uint32_t *const red = c->tables, *const green = red + n_bins, *const blue = green + n_bins;
    uint32_t *const alpha = blue + n_bins, *const luma = red + n_channels * n_bins;
    /* v is not clipped if v - first < n_inside, modulo 2^32. */
    const uint32_t first = c->spec.clip_low + 1u, n_inside = c->spec.clip_high - first;
    for (; n > 0; n--, p += 2 * (size_t)n_channels) {
        uint16_t v[IH_CHANNELS_MAX];
        memcpy(v, p, 2 * (size_t)n_channels);
        red[v[0]]++;
        green[v[1]]++;
        blue[v[2]]++;
        if (n_channels == 4)
            alpha[v[3]]++;
        luma[ih_luma_native(&w, v[0], v[1], v[2])]++;
        if ((v[0] - first >= n_inside) | (v[1] - first >= n_inside) | (v[2] - first >= n_inside))
            add_clips(c, v);
    }
}

void ih_native_add(struct ih_native_counter *c, const void *pixels, size_t n_pixels)
{
    const uint8_t *p = pixels;
    const unsigned n_channels = c->spec.n_channels;
    c->totals.n_pixels += n_pixels;
    for (size_t n; n_pixels > 0; n_pixels -= n, p += 2 * n * n_channels) {
        if (c->n_unfolded >= c->fold_pixels)
            fold(c);
        const uint64_t room = c->fold_pixels - c->n_unfolded;
        n = n_pixels < room ? n_pixels : (size_t)room;
        c->n_unfolded += n;
        if (n_channels == 1)
            add_gray(c, p, n);
        else if (n_channels == 2)
            add_gray_alpha(c, p, n);
        else if (n_channels == 3)
            add_colour(c, p, n, 3);
        else
            add_colour(c, p, n, 4);
    }
}

void ih_native_end(struct ih_native_counter *c, struct ih_histogram *out)
{
    fold(c);
    struct ih_histogram *h = &c->totals;
    for (unsigned t = 0; t < n_tables(&c->spec); t++) {
        const unsigned plane = plane_of(&c->spec, t);
        const uint64_t *bins = ih_bins(h, plane);
        uint64_t sum = 0;
        for (unsigned v = 0; v < h->n_native; v++)
            sum += v * bins[v];
        h->sum[plane] = sum;
    }
    ih_histogram_derive(h, &c->spec);
    *out = *h;
    h->native = NULL; /* the caller's now */
}
