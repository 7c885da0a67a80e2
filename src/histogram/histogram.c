/* Adds, checks and summarizes histograms. Only integers are accumulated. Statistics that are real
 * numbers are computed from the counts at the end, so rounding errors stay below 1e-12. */
#include "histogram/histogram.h"

#include "base/threads.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ih_special_names[IH_SPECIALS] = {"nan", "positive_infinity", "negative_infinity",
                                                   "nodata"};

void ih_put_apart(char text[IH_APART_MAX], const struct ih_histogram *h, unsigned first,
                  unsigned end)
{
    static const char *const words[IH_SPECIALS] = {"NaN", "+infinity", "-infinity", "nodata"};
    int size = 0;
    text[0] = '\0';
    for (unsigned k = 0; k < IH_SPECIALS; k++) {
        uint64_t n = 0;
        for (unsigned plane = first; plane < end; plane++)
            n += ih_specials(h, plane)[k];
        if (n > 0)
            size += snprintf(text + size, (size_t)(IH_APART_MAX - size), "%s%" PRIu64 " %s",
                             size > 0 ? ", " : "", n, words[k]);
    }
}

/* ---- shape and memory ---- */

static void clear_sums(struct ih_histogram *h)
{
    memset(h->sums, 0, ih_own_planes(h) * sizeof *h->sums);
    memset(h->specials, 0, ih_own_planes(h) * sizeof *h->specials);
    for (unsigned i = 0; h->floats && i < ih_own_planes(h); i++)
        h->floats[i] = IH_FLOAT_SUMS_EMPTY;
}

/* Gives a histogram with a shape its counters; the sums are 0, and it has no names of bands. */
static enum ih_status allocate(struct ih_histogram *h, struct ih_error *err)
{
    const size_t n_planes = ih_own_planes(h), n = n_planes * h->n_bins;
    const size_t n_others = n_planes * (1 + IH_SPECIALS); /* at most 4,097 planes of 65,536 bins */
    const size_t floats_bytes = h->type == IH_FLOAT32 ? n_planes * sizeof *h->floats : 0;
    const uint64_t n_bytes = (uint64_t)(n + n_others) * sizeof *h->bins + floats_bytes;
    h->bins = n_bytes <= SIZE_MAX ? ih_kept_take((size_t)n_bytes) : NULL;
    h->sums = NULL;
    h->specials = NULL;
    h->floats = NULL;
    h->band_names = NULL;
    if (!h->bins)
        return ih_error_set(err, IH_MEMORY, "no memory for the bins");
    h->sums = h->bins + n;
    h->specials = (uint64_t(*)[IH_SPECIALS])(h->sums + n_planes);
    if (floats_bytes)
        h->floats = (void *)(h->specials + n_planes);
    clear_sums(h);
    return IH_OK;
}

enum ih_status ih_histogram_init_unset(struct ih_histogram *h, const struct ih_count_spec *spec,
                                       struct ih_error *err)
{
    assert(spec->layout.n_channels <= IH_CHANNELS_MAX);
    assert(spec->n_bins >= IH_BINS && spec->n_bins <= IH_NATIVE_BINS_MAX);
    *h = (struct ih_histogram){
        .type = spec->type,
        .n_bins = spec->n_bins,
        .layout = spec->layout,
        .n_planes =
            spec->layout.n_channels + (spec->luma != &ih_luma_none && spec->layout.n_colours > 0),
    };
    return allocate(h, err);
}

static void clear_bins(struct ih_histogram *h)
{
    memset(h->bins, 0, (size_t)ih_own_planes(h) * h->n_bins * sizeof *h->bins);
}

enum ih_status ih_histogram_init(struct ih_histogram *h, const struct ih_count_spec *spec,
                                 struct ih_error *err)
{
    const enum ih_status status = ih_histogram_init_unset(h, spec, err);
    if (status == IH_OK)
        clear_bins(h);
    return status;
}

void ih_histogram_clear(struct ih_histogram *h)
{
    clear_bins(h);
    clear_sums(h);
    h->n_pixels = h->any_low = h->any_high = h->all_low = h->all_high = 0;
    h->adds_up = false;
}

void ih_histogram_reset(struct ih_histogram *h)
{
    if (h->bins) /* else the other fields may be unset */
        ih_band_names_reset(&h->band_names);
    ih_kept_give(h->bins);
    h->bins = h->sums = NULL;
    h->specials = NULL;
    h->floats = NULL;
}

struct ih_histogram ih_histogram_take(struct ih_histogram *h)
{
    const struct ih_histogram taken = *h;
    h->bins = h->sums = NULL;
    h->specials = NULL;
    h->floats = NULL;
    h->band_names = NULL;
    return taken;
}

enum ih_status ih_histogram_copy(struct ih_histogram *h, const struct ih_histogram *other,
                                 struct ih_error *err)
{
    const size_t n_planes = ih_own_planes(other), n = n_planes * other->n_bins;
    *h = *other;
    if (allocate(h, err) != IH_OK)
        return IH_MEMORY;
    memcpy(h->bins, other->bins, n * sizeof *h->bins);
    memcpy(h->sums, other->sums, n_planes * sizeof *h->sums);
    memcpy(h->specials, other->specials, n_planes * sizeof *h->specials);
    if (h->floats)
        memcpy(h->floats, other->floats, n_planes * sizeof *h->floats);
    if (ih_band_names_copy(&h->band_names, other->band_names, h->layout.n_channels, err) != IH_OK)
        ih_histogram_reset(h);
    return h->bins ? IH_OK : IH_MEMORY;
}

/* ---- adding ---- */

bool ih_layout_join(struct ih_layout a, struct ih_layout b, struct ih_layout *both)
{
    const unsigned n_colours = a.n_colours > b.n_colours ? a.n_colours : b.n_colours;
    *both = a.n_channels ? a : b;
    if (a.n_channels == 0 || b.n_channels == 0 || ih_layout_is_same(a, b))
        return true;
    *both = ih_layout_of(n_colours + (a.has_alpha || b.has_alpha));
    return ih_layout_is_plain(a) && ih_layout_is_plain(b);
}

bool ih_histogram_join(const struct ih_histogram *a, const struct ih_histogram *b,
                       struct ih_layout *both)
{
    const bool is_comparable = ih_layout_is_same(a->layout, b->layout);
    return ih_layout_join(a->layout, b->layout, both) &&
           (!is_comparable ||
            ih_band_numbers_are_same(a->band_names, b->band_names, a->layout.n_channels));
}

unsigned ih_plane_as(const struct ih_histogram *h, struct ih_layout layout, unsigned plane)
{
    if (plane == IH_LUMA)
        return ih_has_luma(h) ? IH_LUMA : IH_PLANES_MAX;
    if (layout.has_alpha && plane + 1 == layout.n_channels)
        return h->layout.has_alpha ? h->layout.n_channels - 1 : (unsigned)IH_PLANES_MAX;
    return h->layout.n_colours == 1 && layout.n_colours == 3 ? 0 : plane;
}

void ih_histogram_add(struct ih_histogram *h, const struct ih_histogram *other)
{
    assert(h->layout.n_channels >= other->layout.n_channels && h->n_bins == other->n_bins &&
           h->type == other->type);
    h->n_pixels += other->n_pixels;
    h->adds_up = false;
    for (unsigned i = 0; i < ih_own_planes(h); i++) {
        const unsigned plane = ih_nth_plane(h, i);
        const unsigned from_plane = ih_plane_as(other, h->layout, plane);
        if (from_plane == IH_PLANES_MAX)
            continue;
        uint64_t *const to = ih_bins(h, plane);
        const uint64_t *const from = ih_bins(other, from_plane);
        for (unsigned v = 0, n_bins = h->n_bins; v < n_bins; v++)
            to[v] += from[v];
        *ih_sum(h, plane) += *ih_sum(other, from_plane);
        for (unsigned k = 0; k < IH_SPECIALS; k++)
            ih_specials(h, plane)[k] += ih_specials(other, from_plane)[k];
        if (h->floats)
            ih_float_sums_add(ih_floats(h, plane), ih_floats(other, from_plane));
    }
    h->any_low += other->any_low;
    h->any_high += other->any_high;
    h->all_low += other->all_low;
    h->all_high += other->all_high;
}

enum ih_status ih_histogram_widen(struct ih_histogram *h, struct ih_layout layout,
                                  struct ih_error *err)
{
    struct ih_histogram wide = *h;
    if (ih_layout_is_same(layout, h->layout))
        return IH_OK;
    wide.layout = layout;
    wide.n_planes = layout.n_channels + ih_has_luma(h);
    if (allocate(&wide, err) != IH_OK)
        return IH_MEMORY;
    ih_histogram_clear(&wide);
    ih_histogram_add(&wide, h);
    ih_histogram_reset(h);
    *h = wide;
    return IH_OK;
}

static unsigned shown_values(const struct ih_histogram *h)
{
    unsigned highest = 0, n = IH_BINS;
    const unsigned n_colours = h->layout.n_colours;
    const unsigned n_planes = n_colours ? n_colours : h->layout.n_channels - h->layout.has_alpha;
    for (unsigned p = 0; p < n_planes && h->n_bins > IH_BINS; p++)
        for (unsigned v = h->n_bins - 1; v > highest; v--)
            if (ih_bins(h, p)[v] > 0)
                highest = v;
    while (n <= highest)
        n *= 2;
    return n < h->n_bins && h->n_pixels > 0 ? n : h->n_bins;
}

struct ih_shown ih_histogram_shown(const struct ih_histogram *h)
{
    enum { LOW = IH_PERCENT / 10, HIGH = 100 * IH_PERCENT - LOW };
    struct ih_shown shown = {IH_BINS, true, HUGE_VAL, -HUGE_VAL};
    if (ih_is_unsigned(h->type))
        return (struct ih_shown){.n_values = shown_values(h)};
    for (unsigned i = 0; i < h->layout.n_channels - h->layout.has_alpha; i++) {
        const unsigned low = ih_percentile(h, i, LOW), high = ih_percentile(h, i, HIGH);
        if (low != UINT_MAX) {
            shown.low = fmin(shown.low, ih_value_of(h, i, low));
            double end = ih_bin_value(h->type, high);
            if (h->type == IH_FLOAT32)
                end =
                    fmin(ih_bin_value(h->type, high + 1), ih_float_value(ih_floats(h, i)->max_key));
            shown.high = fmax(shown.high, end);
        }
    }
    return shown;
}

double ih_shown_bin_width(struct ih_shown shown)
{
    int exponent;
    (void)frexp(fmax(fabs(shown.low), fabs(shown.high)), &exponent);
    return ldexp(1, exponent - 8); /* bins differ in 1 + 7 bits of the significand */
}

struct ih_shown ih_shown_join(struct ih_shown a, struct ih_shown b)
{
    return (struct ih_shown){a.n_values > b.n_values ? a.n_values : b.n_values, a.is_span,
                             fmin(a.low, b.low), fmax(a.high, b.high)};
}

/* Adds the pixels of a bin to the bars that it reaches into, to each those of its share. */
static void spread(uint64_t count, double from, double to, uint64_t bars[IH_BINS])
{
    uint64_t n_added = 0;
    for (unsigned bar = from < IH_BINS ? (unsigned)from : IH_BINS - 1; n_added < count; bar++) {
        const bool is_last = bar + 1 >= to || bar + 1 == IH_BINS;
        const double share = is_last ? 1 : (bar + 1 - from) / (fmin(to, IH_BINS) - from);
        const uint64_t end = is_last ? count : (uint64_t)(share * (double)count);
        bars[bar] += end - n_added;
        n_added = end;
    }
}

double ih_shown_bar(struct ih_shown shown, double value)
{
    const double span = shown.high - shown.low;
    return span > 0 ? IH_BINS * ((value - shown.low) / span) : IH_BINS / 2.0;
}

/* A bin of float32 has values up to the next bin or the greatest sample, any other a single value:
 * one that reaches over two bars and more is drawn as one bar, with gaps beside it. Narrower ones
 * are split, because gaps among neighbours would look like missing values. */
void ih_histogram_fold_plane(const struct ih_histogram *h, struct ih_shown shown, unsigned plane,
                             uint64_t bars[IH_BINS])
{
    const unsigned n = ih_bar_values(shown.n_values);
    const uint64_t *const bins = ih_bins(h, plane);
    memset(bars, 0, IH_BINS * sizeof *bars);
    for (unsigned v = 0; v < h->n_bins && (shown.is_span || v / n < IH_BINS); v++) {
        const double value = shown.is_span && bins[v] > 0 ? ih_value_of(h, plane, v) : 0;
        if (!shown.is_span) { /* alpha may go further */
            bars[v / n] += bins[v];
        } else if (bins[v] > 0 && value >= shown.low && value <= shown.high) {
            double end = ih_bin_value(h->type, v + 1);
            if (h->floats)
                end = fmin(end, ih_float_value(ih_floats(h, plane)->max_key));
            const double from = ih_shown_bar(shown, value), to = ih_shown_bar(shown, end);
            spread(bins[v], from, to - from >= 2 && !h->floats ? from : to, bars);
        }
    }
}

enum ih_status ih_histogram_fold(const struct ih_histogram *h, struct ih_shown shown,
                                 struct ih_histogram *bars, struct ih_error *err)
{
    *bars = *h;
    bars->n_bins = IH_BINS;
    if (allocate(bars, err) != IH_OK)
        return IH_MEMORY;
    for (unsigned p = 0; p < ih_own_planes(h); p++)
        ih_histogram_fold_plane(h, shown, ih_nth_plane(h, p), bars->bins + p * IH_BINS);
    return IH_OK;
}

uint64_t ih_count_range(const uint64_t *bins, unsigned first, unsigned last)
{
    uint64_t n = 0;
    for (unsigned v = first; v <= last; v++)
        n += bins[v];
    return n;
}

static bool is_zero(const uint64_t *bins, unsigned n)
{
    return bins[0] == 0 && memcmp(bins, bins + 1, (n - 1) * sizeof *bins) == 0;
}

/* Moves the pixels of the bins from first to last, which are in a plane at a place. */
static void move_out(struct ih_histogram *h, unsigned at, unsigned first, unsigned last,
                     enum ih_special to)
{
    uint64_t *const bins = h->bins + (size_t)at * h->n_bins;
    if (is_zero(bins + first, last - first + 1))
        return; /* of most images */
    for (unsigned v = first; v <= last; v++) {
        h->specials[at][to] += bins[v];
        h->sums[at] -= v * bins[v];
        bins[v] = 0;
    }
}

void ih_histogram_set_apart(struct ih_histogram *h)
{
    unsigned negative, positive;
    if (!ih_is_unsigned(h->type))
        h->any_low = h->any_high = h->all_low = h->all_high = 0;
    if (!ih_is_float(h->type) || h->type == IH_FLOAT32)
        return;
    ih_bins_of_infinity(h->type, &negative, &positive);
    for (unsigned i = 0; i < ih_own_planes(h); i++) {
        move_out(h, i, 0, negative - 1, IH_NAN);
        move_out(h, i, negative, negative, IH_NEGATIVE_INFINITY);
        move_out(h, i, positive, positive, IH_POSITIVE_INFINITY);
        move_out(h, i, positive + 1, h->n_bins - 1, IH_NAN);
    }
}

/* Bins that are moved and summed up together: most blocks of an image of few values are 0. */
enum { BLOCK = 256, BLOCKS = IH_NATIVE_BINS_MAX / BLOCK };

/* Two bits are one key: 0 and -0. The keys of the lower half of the bits are those from the middle
 * up, in order; what is in the way is held. is_used: false for blocks that are 0 */
static void make_keys(uint64_t *bins, bool is_used[BLOCKS], bool is_float)
{
    enum { HALF = IH_NATIVE_BINS_MAX / 2 };
    for (unsigned i = 0; i < BLOCKS / 2; i++) {
        uint64_t *const low = bins + BLOCK * i, *const high = low + HALF, held[BLOCK];
        if (!is_used[i] && !is_used[BLOCKS / 2 + i])
            continue;
        is_used[i] = is_used[BLOCKS / 2 + i] = true;
        memcpy(held, low, sizeof held);
        memcpy(low, high, sizeof held);
        memcpy(high, held, sizeof held);
    }
    for (unsigned i = 0; i < BLOCKS / 4 && is_float; i++) {
        if (!is_used[i] && !is_used[BLOCKS / 2 - 1 - i])
            continue;
        is_used[i] = is_used[BLOCKS / 2 - 1 - i] = true;
        for (unsigned v = BLOCK * i; v < BLOCK * (i + 1); v++) {
            const uint64_t n = bins[v];
            bins[v] = bins[HALF - 1 - v];
            bins[HALF - 1 - v] = n;
        }
    }
    if (is_float && bins[HALF - 1] > 0) {
        bins[HALF] += bins[HALF - 1];
        bins[HALF - 1] = 0;
        is_used[BLOCKS / 2] = true;
    }
}

/* Adds, for each value, the pixels above it: an addition takes less time than a multiplication. */
uint64_t ih_add_values(const uint64_t *bins, unsigned n, uint64_t *n_pixels)
{
    uint64_t n_above = 0, sum = 0;
    for (unsigned v = n; v-- > 0; n_above += bins[v])
        sum += n_above;
    *n_pixels += n_above;
    return sum;
}

void ih_histogram_sum_up(struct ih_histogram *h, bool has_bits)
{
    h->adds_up = true;
    for (unsigned i = 0; i < ih_own_planes(h); i++) {
        uint64_t *const bins = h->bins + (size_t)i * h->n_bins, n_above = 0;
        bool is_used[BLOCKS] = {false};
        for (unsigned v = 0; v < h->n_bins; v += BLOCK) {
            const unsigned n = h->n_bins - v < BLOCK ? h->n_bins - v : BLOCK;
            is_used[v / BLOCK] = !is_zero(bins + v, n);
        }
        if (has_bits)
            make_keys(bins, is_used, ih_is_float(h->type));
        h->sums[i] = 0;
        for (unsigned v = h->n_bins, first; v > 0; v = first) {
            first = (v - 1) / BLOCK * BLOCK;
            h->sums[i] += n_above * (v - first);
            if (is_used[first / BLOCK])
                h->sums[i] += ih_add_values(bins + first, v - first, &n_above);
        }
        h->adds_up &= n_above == h->n_pixels;
    }
}

void ih_histogram_derive(struct ih_histogram *h, const struct ih_count_spec *spec)
{
    if (h->layout.n_colours != 1 || !ih_is_unsigned(h->type))
        return;
    h->any_low = h->all_low = ih_count_range(h->bins, 0, spec->clip_low);
    h->any_high = h->all_high = ih_count_range(h->bins, spec->clip_high, h->n_bins - 1);
}

bool ih_histogram_consistent(const struct ih_histogram *h)
{
    for (unsigned i = 0; i < ih_own_planes(h) && !h->adds_up; i++) {
        uint64_t n_pixels = ih_count_range(h->specials[i], 0, IH_SPECIALS - 1);
        if (ih_add_values(h->bins + (size_t)i * h->n_bins, h->n_bins, &n_pixels) != h->sums[i] ||
            n_pixels != h->n_pixels)
            return false;
    }
    return h->all_low <= h->any_low && h->any_low <= h->n_pixels && h->all_high <= h->any_high &&
           h->any_high <= h->n_pixels;
}

const unsigned ih_percentile_ranks[IH_PERCENTILES] = {1, 5, 25, 50, 75, 95, 99};

const struct ih_field ih_stats_table[] = {
#define STATISTIC(key, kind, member, in, high, meaning) \
    {key, IH_FIELD_##kind, offsetof(struct ih_stats, member), meaning},
#include "histogram/statistics.def"
    {NULL, 0, 0, NULL},
};

_Static_assert(sizeof ih_stats_table / sizeof *ih_stats_table - 1 <= IH_STATISTICS_MAX, "not more");

/* The least cumulative count >= the share of count, without overflow or rounding: the multiples of
 * WHOLE in count and the rest are scaled separately. */
static uint64_t least_reaching(uint32_t millionths, uint64_t count)
{
    enum { WHOLE = 100 * IH_PERCENT };
    const uint64_t wholes = count / WHOLE * millionths;
    const uint64_t rest = (count % WHOLE * millionths + WHOLE - 1) / WHOLE;
    return wholes + rest;
}

unsigned ih_percentile(const struct ih_histogram *h, unsigned plane, uint32_t millionths)
{
    const uint64_t *bins = ih_bins(h, plane);
    const uint64_t least = least_reaching(millionths, ih_count_range(bins, 0, h->n_bins - 1));
    uint64_t cumulative = bins[0];
    unsigned v = 0;
    while ((cumulative < least || cumulative == 0) && v + 1 < h->n_bins)
        cumulative += bins[++v];
    return cumulative ? v : UINT_MAX;
}

bool ih_percent_parse(const char *text, size_t n, uint32_t *millionths)
{
    uint32_t value = 0, unit = IH_PERCENT;
    bool has_digit = false, is_fraction = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '.' && has_digit && !is_fraction && i + 1 < n) {
            is_fraction = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || (is_fraction && unit == 1))
            return false;
        has_digit = true;
        unit /= is_fraction ? 10 : 1;
        value = (is_fraction ? value : value * 10) + (uint32_t)(text[i] - '0') * unit;
        if (value > 100 * IH_PERCENT)
            return false;
    }
    *millionths = value;
    return has_digit;
}

const char *ih_percent_key(uint32_t millionths, char key[IH_PERCENT_KEY_MAX])
{
    snprintf(key, IH_PERCENT_KEY_MAX, "p%u.%06u", (unsigned)(millionths / IH_PERCENT) % 1000,
             (unsigned)(millionths % IH_PERCENT));
    size_t n = strlen(key);
    while (key[n - 1] == '0')
        n--;
    key[key[n - 1] == '.' ? n - 1 : n] = '\0';
    return key;
}

static unsigned greatest_common_divisor(unsigned a, unsigned b)
{
    while (b) {
        const unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Sums over the values, minus a whole number near the mean so that they stay small and mostly
 * exact. */
struct moments {
    double first, second, third, fourth;
};

static void set_shape(struct ih_stats *s, const struct moments *m)
{
    const double n = (double)s->count, d = m->first / n;
    const double second = m->second / n, third = m->third / n, fourth = m->fourth / n;
    const double variance = second - d * d;
    s->stddev = sqrt(variance);
    if (s->min == s->max)
        return;
    s->skewness = (third - d * (3 * second - 2 * d * d)) / (variance * s->stddev);
    s->kurtosis =
        (fourth - d * (4 * third - d * (6 * second - 3 * d * d))) / (variance * variance) - 3;
}

/*
 * N. Otsu, "A threshold selection method from gray-level histograms", 1979: the variance between
 * the classes is largest. Here it is (first - n * mean)^2 / (n * (count - n)), without a constant
 * factor, of the n values <= v. Rounding must not choose between equal variances, so a larger one
 * is larger by some ulps.
 */
static void describe_values(const uint64_t *bins, enum ih_sample_type type, unsigned first_bin,
                            unsigned last_bin, double centre, double mean, struct ih_stats *s)
{
    const double count = (double)s->count;
    struct moments m = {0, 0, 0, 0};
    uint64_t n_up_to = 0, least = least_reaching(ih_percentile_ranks[0] * IH_PERCENT, s->count);
    unsigned n_found = 0, n_values = 0, mode = first_bin, otsu = first_bin;
    unsigned percentile[IH_PERCENTILES] = {0};
    double value = ih_bin_value(type, first_bin) - centre, largest = 0;
    for (unsigned v = first_bin; v <= last_bin; v++, value++) {
        if (bins[v] == 0)
            continue;
        if (ih_is_float(type))
            value = ih_bin_value(type, v) - centre;
        n_values++;
        mode = bins[v] > bins[mode] ? v : mode;
        n_up_to += bins[v];
        while (n_up_to >= least && n_found < IH_PERCENTILES) {
            percentile[n_found++] = v;
            if (n_found < IH_PERCENTILES)
                least = least_reaching(ih_percentile_ranks[n_found] * IH_PERCENT, s->count);
        }
        const double b = (double)(int64_t)bins[v], n = (double)(int64_t)n_up_to; /* below 2^63 */
        const double first = b * value, second = first * value, third = second * value;
        m.first += first;
        m.second += second;
        m.third += third;
        m.fourth += third * value;
        const double distance = m.first - n * mean, square = distance * distance;
        const double sizes = n * (count - n);
        if (square > largest * sizes && v < last_bin) {
            largest = square / sizes * (1 + 1e-12);
            otsu = v;
        }
    }
    for (unsigned i = 0; i < IH_PERCENTILES; i++)
        s->percentile[i] = ih_bin_value(type, percentile[i]);
    s->distinct = n_values;
    s->mode = ih_bin_value(type, mode);
    s->mode_share = (double)bins[mode] / count;
    s->otsu = ih_bin_value(type, otsu);
    set_shape(s, &m);
}

/* The mean of floats. A value has at most 11 significant bits, so its products with parts of 32
 * bits of a counter are exact. Their sum has about 106 bits, in two parts, and does not depend on
 * the machine. Source of the addition: T. J. Dekker, 1971; D. E. Knuth. */
static double mean_of_floats(const uint64_t *bins, enum ih_sample_type type, unsigned first_bin,
                             unsigned last_bin, uint64_t count)
{
    double high = 0, low = 0;
    for (unsigned v = first_bin; v <= last_bin; v++)
        for (unsigned part = 0; part < 2 && bins[v] > 0; part++) {
            const double n = part ? (double)(bins[v] >> 32) * 0x1p32 : (double)(uint32_t)bins[v];
            const double term = ih_bin_value(type, v) * n, sum = high + term, rest = sum - high;
            low += (high - (sum - rest)) + (term - rest);
            high = sum;
        }
    return (high + low) / (double)count;
}

/* What follows from the exact sums of float32 samples, in place of what followed from the bins. */
static void set_exact(const struct ih_float_sums *sums, struct ih_stats *s)
{
    s->mean = ih_float_mean(sums, s->count);
    s->stddev = ih_float_deviation(sums, s->count);
    s->min = (double)ih_float_value(sums->min_key);
    s->max = (double)ih_float_value(sums->max_key);
    s->skewness = s->kurtosis = (double)NAN;
    s->mode = fmax(s->mode, s->min);
    s->otsu = fmax(s->otsu, s->min);
    for (unsigned i = 0; i < IH_PERCENTILES; i++)
        s->percentile[i] = fmax(s->percentile[i], s->min);
}

/* What is added to the values of integers, so that none is below 0. */
static uint64_t offset_of(enum ih_sample_type type)
{
    return ih_is_float(type) ? 0 : (uint64_t)-ih_bin_value(type, 0);
}

void ih_stats_sum(const struct ih_histogram *h, unsigned plane, const struct ih_measure *measure,
                  struct ih_stats *out)
{
    assert(ih_plane_name(h->layout, plane));
    const uint64_t *const bins = ih_bins(h, plane), *const specials = ih_specials(h, plane);
    const unsigned last = h->n_bins - 1;
    const uint64_t offset = offset_of(h->type);
    memset(out, 0, sizeof *out);
    out->nan = specials[IH_NAN];
    out->positive_infinity = specials[IH_POSITIVE_INFINITY];
    out->negative_infinity = specials[IH_NEGATIVE_INFINITY];
    out->nodata = specials[IH_NODATA];
    out->count = ih_count_range(bins, 0, last); /* of a total's alpha: less than n_pixels */
    out->sum = ih_is_float(h->type) ? 0 : *ih_sum(h, plane) - offset * out->count;
    if (ih_is_unsigned(h->type)) {
        out->crushed = ih_count_range(bins, 0, measure->clip_low);
        out->blown = ih_count_range(bins, measure->clip_high, last);
    }
    out->mean = out->count == 0 ? (double)NAN
                : offset == 0   ? (double)*ih_sum(h, plane) / (double)out->count
                                : (double)(int64_t)out->sum / (double)out->count;
}

void ih_stats_describe(const struct ih_histogram *h, unsigned plane,
                       const struct ih_measure *measure, struct ih_stats *out)
{
    const uint64_t *const bins = ih_bins(h, plane);
    const bool is_float = ih_is_float(h->type);
    unsigned first_bin = 0, last_bin = h->n_bins - 1;
    ih_stats_sum(h, plane, measure, out);
    out->skewness = out->kurtosis = (double)NAN;
    if (out->count == 0) {
        out->stddev = out->mode_share = (double)NAN;
        return;
    }
    while (bins[first_bin] == 0)
        first_bin++;
    while (bins[last_bin] == 0)
        last_bin--;
    out->min = ih_bin_value(h->type, first_bin);
    out->max = ih_bin_value(h->type, last_bin);
    if (is_float) {
        out->mean = mean_of_floats(bins, h->type, first_bin, last_bin, out->count);
        describe_values(bins, h->type, first_bin, last_bin, out->mean, 0, out);
        if (h->floats)
            set_exact(ih_floats(h, plane), out);
        return;
    }
    const uint64_t centre = (uint64_t)((double)*ih_sum(h, plane) / (double)out->count + 0.5);
    describe_values(bins, h->type, first_bin, last_bin, (double)centre - (double)offset_of(h->type),
                    (double)(int64_t)(*ih_sum(h, plane) - centre * out->count) / (double)out->count,
                    out);
    unsigned step = 0;
    for (unsigned v = first_bin, before = v; v <= last_bin && step != 1; v++)
        if (bins[v]) {
            step = greatest_common_divisor(v - before, step);
            before = v;
        }
    out->step = step;
}

/* Of 65,536 counters many are equal and small: the terms of these are kept. */
enum { ENTROPY_TERMS = 256 };

double ih_stats_entropy(const struct ih_histogram *h, unsigned plane, const struct ih_stats *s)
{
    const uint64_t *bins = ih_bins(h, plane);
    const unsigned n_kept = h->n_bins > IH_BINS ? ENTROPY_TERMS : 0;
    double entropy = s->count ? 0 : (double)NAN, terms[ENTROPY_TERMS]; /* 0: not yet computed */
    memset(terms, 0, n_kept * sizeof *terms);
    for (unsigned v = 0; v < h->n_bins && s->count; v++) {
        const uint64_t n = bins[v];
        if (n == 0)
            continue;
        const double share = (double)(int64_t)n / (double)(int64_t)s->count; /* below 2^63 */
        const bool is_known = n < n_kept && terms[n] != 0;
        const double term = is_known ? terms[n] : share * log2(share);
        if (n < n_kept)
            terms[n] = term;
        entropy -= term;
    }
    return entropy;
}

void ih_stats_compute(const struct ih_histogram *h, unsigned plane,
                      const struct ih_measure *measure, struct ih_stats *out)
{
    ih_stats_describe(h, plane, measure, out);
    out->entropy = ih_stats_entropy(h, plane, out);
}

static double srgb_decode(double c)
{
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

void ih_srgb_decode(double linear[IH_BINS])
{
    for (unsigned v = 0; v < IH_BINS; v++)
        linear[v] = srgb_decode(v / 255.0);
}

double ih_mean_luminance_by(const struct ih_histogram *h, const double linear[IH_BINS])
{
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    unsigned n_colours = h->layout.n_colours;
    if (h->n_pixels == 0 || n_colours == 0 || !ih_is_unsigned(h->type))
        return (double)NAN;
    const uint64_t *bins[3] = {NULL};
    double weight[3] = {0}, y = 0;
    for (unsigned c = 0; c < n_colours; c++) {
        const uint64_t n = h->n_pixels - ih_specials(h, c)[IH_NODATA]; /* in its bins */
        if (n == 0)
            return (double)NAN;
        bins[c] = ih_bins(h, c);
        weight[c] = (n_colours == 3 ? weights[c] : 1) * ((double)h->n_pixels / (double)n);
    }
    for (unsigned v = 0, n_bins = h->n_bins; v < n_bins; v++) {
        double weighted = 0; /* bins are below 2^63 */
        if (n_colours == 3)
            weighted = weight[0] * (double)(int64_t)bins[0][v] +
                       weight[1] * (double)(int64_t)bins[1][v] +
                       weight[2] * (double)(int64_t)bins[2][v];
        else if (n_colours == 1)
            weighted = weight[0] * (double)bins[0][v];
        if (h->type == IH_UINT8)
            y += linear[v] * weighted;
        else if (weighted > 0)
            y += srgb_decode((double)v / (n_bins - 1)) * weighted;
    }
    return y / (double)h->n_pixels;
}

double ih_mean_luminance(const struct ih_histogram *h)
{
    double linear[IH_BINS];
    ih_srgb_decode(linear);
    return ih_mean_luminance_by(h, linear);
}

enum { SPIKE_SHARE = 32, SPIKE_RATIO = 3 };

uint64_t ih_highest_bar(uint64_t *bars, size_t n, bool without_spikes)
{
    const size_t n_sorted = n / SPIKE_SHARE + 1; /* the highest bars, in falling order */
    const uint64_t *bar = bars;
    for (size_t i = 0; i < n; i++) {
        const uint64_t next = bars[i];
        size_t at = i < n_sorted ? i : n_sorted;
        for (; at > 0 && bars[at - 1] < next; at--)
            if (at < n_sorted)
                bars[at] = bars[at - 1];
        if (at < n_sorted)
            bars[at] = next;
    }
    while (without_spikes && *bar / SPIKE_RATIO > bars[n_sorted - 1])
        bar++;
    return *bar;
}
