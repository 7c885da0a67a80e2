/*
 * Native samples: a 32-bit table for each channel and for luma, folded to 64 bits.
 *
 * A table of 65,536 bins takes 256 KiB and lies in the second-level cache. Neighbouring pixels are
 * often equal, and a counter that is increased again at once waits for its store. So neighbours go
 * to different copies of the tables.
 */
#include "count/count_native.h"

#include <stdlib.h>
#include <string.h>

enum {
    COPIES = 4,       /* of tables that fit into the second-level cache together */
    COPIES_COLOUR = 2 /* of three or four channels and luma, with more than COPIES_BINS */
};
enum {
    COPIES_BINS = 4096,
    BLOCK = 64 /* entries that the fold skips together; divides no n_bins */
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
    const unsigned n_copies =
        spec->n_channels < 3 || spec->n_bins <= COPIES_BINS ? COPIES : COPIES_COLOUR;
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

/* Four samples of a gray image, the first in the lowest bits or the highest. */
static uint64_t load_4(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void add_gray(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    uint32_t *const t = c->tables;
    const size_t step = c->spec.n_bins;
    uint32_t *const t1 = t + step, *const t2 = t + 2 * step, *const t3 = t + 3 * step;
    for (; n >= 4; n -= 4, p += 8) {
        const uint64_t v = load_4(p);
        t[v & 0xFFFF]++;
        t1[v >> 16 & 0xFFFF]++;
        t2[v >> 32 & 0xFFFF]++;
        t3[v >> 48]++;
    }
    for (; n > 0; n--, p += 2) {
        uint16_t v;
        memcpy(&v, p, sizeof v);
        t[v]++;
    }
}

static void add_gray_alpha(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    const size_t step = 2 * (size_t)c->spec.n_bins;
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

/* Pixels of three or four channels. n_channels is a constant where this is inlined. */
static inline void add_colour(struct ih_native_counter *c, const uint8_t *p, size_t n,
                              unsigned n_channels)
{
    const struct ih_count_spec *spec = &c->spec;
    const struct ih_luma_weights w = *spec->luma;
    const size_t n_bins = spec->n_bins, luma = n_channels * n_bins;
    const unsigned low = spec->clip_low, high = spec->clip_high;
    uint32_t *t = c->tables, *other = t + (n_channels + 1) * n_bins;
    uint64_t any_low = 0, all_low = 0, any_high = 0, all_high = 0;
    for (; n > 0; n--, p += 2 * (size_t)n_channels) {
        uint16_t v[IH_CHANNELS_MAX];
        memcpy(v, p, 2 * (size_t)n_channels);
        const unsigned r = v[0], g = v[1], b = v[2];
        t[r]++;
        t[n_bins + g]++;
        t[2 * n_bins + b]++;
        if (n_channels == 4)
            t[3 * n_bins + v[3]]++;
        t[luma + ih_luma_native(&w, v[0], v[1], v[2])]++;
        const unsigned min = r < g ? r : g, max = r > g ? r : g;
        const unsigned least = min < b ? min : b, most = max > b ? max : b;
        any_low += least <= low;
        all_low += most <= low;
        any_high += most >= high;
        all_high += least >= high;
        uint32_t *const next = other;
        other = t;
        t = next;
    }
    c->totals.any_low += any_low;
    c->totals.all_low += all_low;
    c->totals.any_high += any_high;
    c->totals.all_high += all_high;
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

void ih_native_join(struct ih_native_counter *c, struct ih_native_counter *other)
{
    fold(other);
    ih_histogram_add(&c->totals, &other->totals);
    ih_histogram_reset(&other->totals);
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
    ih_histogram_derive_gray(h, &c->spec);
    *out = *h;
    h->native = NULL; /* the caller's now */
}
