/*
 * Native samples: an 8-bit table for each channel and for luma. A counter that wraps to 0 adds 256
 * to its 64-bit total, so no counter overflows, however many pixels come. The totals of a small
 * image are written only once: at the end, unless a counter wraps.
 *
 * A table of 65,536 bins takes 64 KiB: one of 32-bit counters leaves the first-level cache, and
 * costs more to clear and to read than a small image costs to count. A counter that is increased
 * again at once waits for its store, and neighbouring pixels are often equal. Pixels of colour take
 * longer than the store. Gray goes to several copies of its table while they are small, and eight
 * equal neighbours are counted at once.
 *
 * Many samples with few values, as of 12 bits, are counted in the 64-bit totals: those in use fit
 * the first-level cache, and nothing wraps.
 *
 * Signed samples and floats are counted as they are stored (has_bits). The tables go to the totals
 * in the order of the keys, which costs nothing; a pass over the samples would take a third of the
 * time of gray. Totals that samples of few values went to get their keys in the end.
 */
#include "count/count_native.h"

#include <stdlib.h>
#include <string.h>

enum {
    COPIES = 4,
    COPIED_BINS = 4096,            /* the largest table that has copies */
    WRAP = 256,                    /* what a counter has lost when it is 0 again */
    BLOCK = 256,                   /* counters that the fold skips together */
    ROW = 16,                      /* counters that the fold moves together */
    PIECE = 64,                    /* pixels that are tested for clipped ones together */
    NARROW_SAMPLES = 1 << 18,      /* of fewer, summing up the totals costs more than they save */
    LOOKS = 256,                   /* samples that tell whether the totals in use are few */
    HALF = IH_NATIVE_BINS_MAX / 2, /* bits of a negative sample */
    LINE = 8,                      /* totals in a cache line */
    LINES = 214,                   /* that the looks meet, of about 650 in use: 40 KiB */
    LINES_OF_FEW = 165             /* of about 270: up to three tables of bytes are faster */
};

/* gcc and clang both know these attributes. Inlined, wrap would take the registers of the loops. At
 * -O2 gcc would not inline functions whose arguments are constants: each halves the speed. */
#define OUT_OF_LINE static __attribute__((noinline))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Tables of one copy: the channels and, of colour, luma. Luma of gray follows from its bins. */
static unsigned n_tables(const struct ih_count_spec *spec)
{
    return spec->layout.n_channels + (spec->layout.n_channels >= 3 && spec->luma != &ih_luma_none);
}

enum ih_status ih_native_begin(struct ih_native_counter *c, const struct ih_count_spec *spec,
                               struct ih_error *err)
{
    const unsigned n_copies =
        spec->layout.n_channels < 3 && spec->n_bins <= COPIED_BINS ? COPIES : 1;
    const size_t n_entries = (size_t)n_copies * n_tables(spec) * spec->n_bins;
    if (c->totals.bins) /* of an unfinished image */
        memset(c->tables, 0, c->n_entries);
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
    c->has_totals = c->has_narrow = c->has_bits = false;
    memset(c->n_counted, 0, sizeof c->n_counted);
    return ih_histogram_init_unset(&c->totals, spec, err);
}

void ih_native_reset(struct ih_native_counter *c)
{
    free(c->tables);
    ih_histogram_reset(&c->totals);
    *c = (struct ih_native_counter){.tables = NULL};
}

/* ---- a counter that wraps ---- */

/* Whether the tables have bits and the totals have keys. */
static bool folds_keys(const struct ih_native_counter *c)
{
    return c->has_bits && !c->has_narrow;
}

static void set_totals(struct ih_native_counter *c)
{
    if (!c->has_totals)
        memset(c->totals.bins, 0,
               (size_t)n_tables(&c->spec) * c->spec.n_bins * sizeof *c->totals.bins);
    c->has_totals = true;
}

OUT_OF_LINE void wrap(struct ih_native_counter *c, unsigned table, unsigned v)
{
    uint16_t key = (uint16_t)v;
    if (folds_keys(c))
        ih_keys_make(c->spec.type, &key, 1);
    set_totals(c);
    c->totals.bins[(size_t)table * c->spec.n_bins + key] += WRAP;
    c->totals.sums[table] += (uint64_t)key * WRAP;
    c->n_counted[table] += WRAP;
}

/* Counts n pixels of value v; n is at most WRAP. t: [n_bins] in c->tables. */
ALWAYS_INLINE void add(struct ih_native_counter *c, uint8_t *t, unsigned table, unsigned v,
                       unsigned n)
{
    const uint8_t sum = (uint8_t)(t[v] + n);
    t[v] = sum;
    if (sum < n)
        wrap(c, table, v);
}

/* ---- the fold ---- */

/* Adds the 8 counters to *n_pixels. Returns the sum of each times its index. A counter has 8 bits
 * and the sums have 16, so one multiplication adds four products. */
static unsigned add_word(const uint8_t *counters, unsigned *n_pixels)
{
    const uint64_t even_mask = UINT64_C(0x00FF00FF00FF00FF);
    uint64_t word;
    memcpy(&word, counters, sizeof word);
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        word = __builtin_bswap64(word);
    const uint64_t even = word & even_mask, odd = word >> 8 & even_mask;
    *n_pixels += (unsigned)((even + odd) * UINT64_C(0x0001000100010001) >> 48);
    return (unsigned)((even * UINT64_C(0x0000000200040006) + odd * UINT64_C(0x0001000300050007)) >>
                      48);
}

/* Moves n counters to their totals, which are set if is_set. Adds the counters to *n_pixels.
 * Returns the sum of each times its index. */
ALWAYS_INLINE unsigned fold_block(uint8_t *restrict from, uint64_t *restrict to, unsigned n,
                                  bool is_set, unsigned *n_pixels)
{
    unsigned i = 0, sum = 0;
    for (; i + ROW <= n; i += ROW)
        for (unsigned k = 0; k < ROW; k++)
            to[i + k] = is_set ? to[i + k] + from[i + k] : from[i + k];
    for (unsigned k = 0; k < i; k += 8) {
        const unsigned n_before = *n_pixels;
        sum += add_word(from + k, n_pixels);
        sum += k * (*n_pixels - n_before);
        memset(from + k, 0, 8); /* all at once, gcc clears 256 bytes by a slow instruction */
    }
    for (; i < n; i++) {
        to[i] = is_set ? to[i] + from[i] : from[i];
        *n_pixels += from[i];
        sum += i * from[i];
        from[i] = 0;
    }
    return sum;
}

OUT_OF_LINE void reverse(uint8_t block[BLOCK])
{
    uint64_t first, last;
    for (unsigned i = 0; i < BLOCK / 2; i += sizeof first) {
        uint8_t *const end = block + BLOCK - sizeof last - i;
        memcpy(&first, block + i, sizeof first);
        memcpy(&last, end, sizeof last);
        first = __builtin_bswap64(first);
        last = __builtin_bswap64(last);
        memcpy(block + i, &last, sizeof last);
        memcpy(end, &first, sizeof first);
    }
}

/* Moves the counters of a table to the totals of its plane. Few blocks of a small image are not 0.
 * Keys have the order of the bits from the other half on, except of negative floats. */
static void fold_table(struct ih_native_counter *c, uint8_t *counters, unsigned table)
{
    uint64_t *to = c->totals.bins + (size_t)table * c->spec.n_bins;
    const bool has_bits = folds_keys(c), is_float = has_bits && ih_is_float(c->spec.type);
    for (unsigned v = 0, n; v < c->spec.n_bins; v += n, to += n) {
        unsigned n_pixels = 0, sum = 0;
        n = c->spec.n_bins - v < BLOCK ? c->spec.n_bins - v : BLOCK;
        const bool is_reversed = is_float && v < HALF;
        uint8_t *const from = counters + (is_reversed ? IH_NATIVE_BINS_MAX - BLOCK - v
                                          : has_bits  ? v ^ HALF
                                                      : v);
        const bool is_zero = from[0] == 0 && memcmp(from, from + 1, n - 1) == 0;
        if (is_reversed && !is_zero)
            reverse(from);
        if (is_zero && !c->has_totals)
            memset(to, 0, n * sizeof *to);
        else if (!is_zero && c->has_totals)
            sum = fold_block(from, to, n, true, &n_pixels);
        else if (!is_zero)
            sum = fold_block(from, to, n, false, &n_pixels);
        c->totals.sums[table] += (uint64_t)v * n_pixels + sum;
        c->n_counted[table] += n_pixels;
    }
    if (is_float) { /* -0 is 0 */
        to -= HALF;
        c->totals.sums[table] += to[-1];
        to[0] += to[-1];
        to[-1] = 0;
    }
}

static void fold(struct ih_native_counter *c)
{
    uint8_t *from = c->tables;
    for (unsigned copy = 0; copy < c->n_copies; copy++) {
        for (unsigned t = 0; t < n_tables(&c->spec); t++, from += c->spec.n_bins)
            fold_table(c, from, t);
        c->has_totals = true;
    }
    c->totals.adds_up = true;
    for (unsigned t = 0; t < n_tables(&c->spec); t++)
        c->totals.adds_up &= c->n_counted[t] == c->totals.n_pixels;
    if (c->has_narrow)
        ih_histogram_sum_up(&c->totals, c->has_bits);
}

/* ---- the loops ---- */

static uint64_t load_4(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint16_t load_1(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Whether n samples have few values. If so, the totals are set, for the caller to add to them.
 * Those of keys take no bits. */
static bool is_narrow(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    bool is_used[IH_NATIVE_BINS_MAX / LINE] = {false};
    unsigned n_used = 0;
    if (c->has_narrow ? n < LOOKS : n < NARROW_SAMPLES || (c->has_bits && c->has_totals))
        return false;
    for (size_t i = 0; i < LOOKS; i++) {
        bool *const line = &is_used[load_1(p + 2 * (n / LOOKS * i)) / LINE];
        n_used += !*line;
        *line = true;
    }
    if (n_used > (n_tables(&c->spec) < 4 ? LINES_OF_FEW : LINES))
        return false;
    set_totals(c);
    c->has_narrow = true;
    return true;
}

/* Returns how many of n samples repeat the four of v. Both are multiples of 16. */
static size_t run_length(const uint8_t *p, size_t n, uint64_t v)
{
    size_t i = 0;
    while (i < n && v == load_4(p) && v == load_4(p + 8) && v == load_4(p + 16) &&
           v == load_4(p + 24)) {
        i += 16;
        p += 32;
    }
    return i;
}

/* n is a multiple of 16. */
static void add_narrow(uint64_t *to, const uint8_t *p, size_t n)
{
    for (size_t n_here; n > 0; n -= n_here, p += 2 * n_here) {
        const uint64_t v = load_4(p);
        n_here = v == (v << 16 | v >> 48) ? run_length(p, n, v) : 0;
        if (n_here > 0) {
            to[v & 0xFFFF] += n_here;
            continue;
        }
        n_here = 16;
        for (const uint8_t *q = p; q < p + 32; q += 16) {
            to[load_1(q)]++;
            to[load_1(q + 2)]++;
            to[load_1(q + 4)]++;
            to[load_1(q + 6)]++;
            to[load_1(q + 8)]++;
            to[load_1(q + 10)]++;
            to[load_1(q + 12)]++;
            to[load_1(q + 14)]++;
        }
    }
}

static void add_gray(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    uint8_t *const t = c->tables;
    const size_t step = c->n_copies > 1 ? c->spec.n_bins : 0;
    uint8_t *const t1 = t + step, *const t2 = t1 + step, *const t3 = t2 + step;
    if (is_narrow(c, p, n)) {
        const size_t n_narrow = n / 16 * 16;
        add_narrow(c->totals.bins, p, n_narrow);
        p += 2 * n_narrow;
        n -= n_narrow;
    }
    for (; n >= 8; n -= 8, p += 16) {
        const uint64_t v = load_4(p);
        if (v == load_4(p + 8) && v == (v << 16 | v >> 48)) {
            add(c, t, 0, v & 0xFFFF, 8);
            continue;
        }
        add(c, t, 0, load_1(p), 1);
        add(c, t1, 0, load_1(p + 2), 1);
        add(c, t2, 0, load_1(p + 4), 1);
        add(c, t3, 0, load_1(p + 6), 1);
        add(c, t, 0, load_1(p + 8), 1);
        add(c, t1, 0, load_1(p + 10), 1);
        add(c, t2, 0, load_1(p + 12), 1);
        add(c, t3, 0, load_1(p + 14), 1);
    }
    for (; n > 0; n--, p += 2)
        add(c, t, 0, load_1(p), 1);
}

static void add_gray_alpha(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    const size_t step = c->n_copies > 1 ? 2 * (size_t)c->spec.n_bins : 0;
    uint8_t *t = c->tables, *other = t + step;
    for (; n > 0; n--, p += 4) {
        add(c, t, 0, load_1(p), 1);
        add(c, t + c->spec.n_bins, 1, load_1(p + 2), 1);
        uint8_t *const next = other;
        other = t;
        t = next;
    }
}

/* Counts the clipped of n pixels of three or four channels; n is at most PIECE. Most pieces have
 * none, which SIMD code finds; its loop has a fixed length. */
static void add_clips(struct ih_native_counter *c, const uint8_t *p, size_t n)
{
    /* v is not clipped if v - first < n_inside, modulo 2^16. */
    const uint16_t first = (uint16_t)(c->spec.clip_low + 1);
    const uint16_t n_inside = (uint16_t)(c->spec.clip_high - first);
    uint16_t is_clipped = n < PIECE || c->spec.layout.n_channels == 4;
    if (!is_clipped)
        for (unsigned i = 0; i < 6 * PIECE; i += 2)
            is_clipped |= (uint16_t)(load_1(p + i) - first) >= n_inside;
    for (unsigned i = 0; i < n && is_clipped; i++, p += 2 * c->spec.layout.n_channels) {
        unsigned n_low = 0, n_high = 0;
        for (unsigned k = 0; k < 6; k += 2) {
            n_low += load_1(p + k) <= c->spec.clip_low;
            n_high += load_1(p + k) >= c->spec.clip_high;
        }
        c->totals.any_low += n_low > 0;
        c->totals.all_low += n_low == 3;
        c->totals.any_high += n_high > 0;
        c->totals.all_high += n_high == 3;
    }
}

ALWAYS_INLINE uint16_t luma_of(const struct ih_luma_weights *w, uint16_t r, uint16_t g, uint16_t b,
                               bool has_sign)
{
    return has_sign
               ? ih_luma_native(w, (uint32_t)(int16_t)r, (uint32_t)(int16_t)g, (uint32_t)(int16_t)b)
               : ih_luma_native(w, r, g, b);
}

/* n_channels, has_luma and has_sign, for luma, are constants where these are inlined. */
ALWAYS_INLINE void add_narrow_colour(struct ih_native_counter *c, const uint8_t *p, size_t n,
                                     unsigned n_channels, bool has_luma, bool has_sign)
{
    const struct ih_luma_weights w = *c->spec.luma;
    const size_t n_bins = c->spec.n_bins;
    uint64_t *const red = c->totals.bins, *const green = red + n_bins;
    uint64_t *const blue = green + n_bins, *const alpha = blue + n_bins;
    uint64_t *const luma = red + n_channels * n_bins;
    for (; n > 0; n--, p += 2 * n_channels) {
        const uint16_t r = load_1(p), g = load_1(p + 2), b = load_1(p + 4);
        red[r]++;
        green[g]++;
        blue[b]++;
        if (n_channels == 4)
            alpha[load_1(p + 6)]++;
        if (has_luma)
            luma[luma_of(&w, r, g, b, has_sign)]++;
    }
}

/* Pixels of three or four channels. */
ALWAYS_INLINE void add_colour(struct ih_native_counter *c, const uint8_t *p, size_t n,
                              unsigned n_channels, bool has_luma, bool has_sign)
{
    const struct ih_luma_weights w = *c->spec.luma;
    const size_t n_bins = c->spec.n_bins;
    uint8_t *const red = c->tables, *const green = red + n_bins, *const blue = green + n_bins;
    uint8_t *const alpha = blue + n_bins, *const luma = red + n_channels * n_bins;
    const bool has_few_values = is_narrow(c, p, n * n_channels);
    for (size_t n_here; n > 0; n -= n_here) {
        n_here = n < PIECE ? n : PIECE;
        const uint8_t *const end = p + 2 * n_here * n_channels;
        if (ih_is_unsigned(c->spec.type))
            add_clips(c, p, n_here);
        if (has_few_values)
            add_narrow_colour(c, p, n_here, n_channels, has_luma, has_sign);
        for (; p < end && !has_few_values; p += 2 * n_channels) {
            const uint16_t r = load_1(p), g = load_1(p + 2), b = load_1(p + 4);
            add(c, red, 0, r, 1);
            add(c, green, 1, g, 1);
            add(c, blue, 2, b, 1);
            if (n_channels == 4)
                add(c, alpha, 3, load_1(p + 6), 1);
            if (has_luma)
                add(c, luma, n_channels, luma_of(&w, r, g, b, has_sign), 1);
        }
        p = end;
    }
}

void ih_native_add(struct ih_native_counter *c, const void *pixels, size_t n_pixels)
{
    const bool has_luma = n_tables(&c->spec) > c->spec.layout.n_channels;
    c->totals.n_pixels += n_pixels;
    if (c->spec.layout.n_channels == 1)
        add_gray(c, pixels, n_pixels);
    else if (c->spec.layout.n_channels == 2)
        add_gray_alpha(c, pixels, n_pixels);
    else if (c->spec.layout.n_channels == 3 && !has_luma)
        add_colour(c, pixels, n_pixels, 3, false, false);
    else if (c->spec.layout.n_channels == 3 && !c->has_bits)
        add_colour(c, pixels, n_pixels, 3, true, false);
    else if (c->spec.layout.n_channels == 3)
        add_colour(c, pixels, n_pixels, 3, true, true);
    else if (!has_luma)
        add_colour(c, pixels, n_pixels, 4, false, false);
    else if (!c->has_bits)
        add_colour(c, pixels, n_pixels, 4, true, false);
    else
        add_colour(c, pixels, n_pixels, 4, true, true);
}

void ih_native_end(struct ih_native_counter *c, struct ih_histogram *out)
{
    fold(c);
    ih_histogram_derive(&c->totals, &c->spec);
    *out = ih_histogram_take(&c->totals);
}
