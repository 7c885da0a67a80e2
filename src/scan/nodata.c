/*
 * Samples that stand for no data, because they have a value or are masked.
 *
 * Pixels with such a sample leave the stripe before a backend sees it, and are counted here: the
 * other samples of the pixel in their bins. So the loops that count need not look for the value,
 * and all backends count the same.
 *
 * A value of 9 to 16 bits shares one of 256 bins with others. The decoder therefore keeps the
 * samples of images with such a value, and those that are counted are reduced here.
 *
 * Samples of float32, which has neither luma nor joint clip counts, become NaN instead. Their
 * number moves from that of NaN in the end.
 */
#include "scan/scan.h"

#include "decode/samples.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 64 }; /* pixels that are tested together: most have no such sample */

/* Makes the tables of 16-bit samples that become others, if they do. */
static enum ih_status make_tables(struct ih_nodata_pass *p, const struct ih_image_info *info,
                                  const struct ih_measure *m, struct ih_error *err)
{
    const unsigned max = info->n_bins - 1;
    struct ih_native native;
    if (ih_native_choose(&native, m->takes_native, m->range, max, err) != IH_OK)
        return err->status;
    p->spec.type = native.type;
    p->spec.n_bins = native.n_bins;
    if (ih_is_native(native.type) && native.low == 0 && native.high == max)
        return IH_OK;
    p->reduced = malloc(2 * sizeof *p->reduced);
    if (!p->reduced)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    const bool has_range = m->range.high > 0 && max > UINT16_MAX / 2;
    for (unsigned v = 0; v <= max; v++) {
        const uint8_t plain = ih_sample_scale(v, max);
        const bool is_native = ih_is_native(native.type);
        p->reduced->colour[v] = is_native   ? ih_native_of(&native, v, false)
                                : has_range ? ih_sample_scale_range(v, m->range)
                                            : plain;
        p->reduced->alpha[v] = is_native ? ih_native_of(&native, v, true) : plain;
    }
    return IH_OK;
}

enum ih_status ih_nodata_start(struct ih_nodata_pass *p, const struct ih_image_info *info,
                               const struct ih_measure *measure, bool has_mask,
                               struct ih_error *err)
{
    unsigned key;
    *p = (struct ih_nodata_pass){
        .spec = {.layout = info->layout, .type = info->type, .n_bins = info->n_bins},
        .sample_bytes = ih_sample_bytes(info->type),
        .n_tested = info->layout.n_channels - info->layout.has_alpha,
        .has_mask = has_mask};
    if (!info->has_nodata && !has_mask)
        return IH_OK;
    if (info->type == IH_FLOAT32) {
        p->value = info->has_nodata ? (float)info->nodata : NAN;
        p->n_floats = calloc(info->layout.n_channels, sizeof *p->n_floats);
        return p->n_floats ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
    }
    p->has_key = info->has_nodata && ih_bin_find(info->type, info->n_bins, info->nodata, &key);
    p->key = p->has_key ? (uint16_t)key : 0;
    return info->type == IH_UINT16 ? make_tables(p, info, measure, err) : IH_OK;
}

/* Whether pixels leave the stripe. */
static bool sets_apart(const struct ih_nodata_pass *p)
{
    return p->has_key || (p->has_mask && !p->n_floats);
}

enum ih_status ih_nodata_begin(struct ih_nodata_pass *p, const struct ih_count_spec *spec,
                               struct ih_error *err)
{
    p->spec = *spec;
    return sets_apart(p) ? ih_histogram_init(&p->apart, spec, err) : IH_OK;
}

static uint16_t load(const struct ih_nodata_pass *p, const uint8_t *pixel, unsigned c)
{
    uint16_t v = pixel[p->sample_bytes * c];
    if (p->sample_bytes == 2)
        memcpy(&v, pixel + 2 * c, sizeof v);
    return v;
}

static uint16_t reduce(const struct ih_nodata_pass *p, uint16_t v, unsigned c)
{
    return !p->reduced ? v : c < p->n_tested ? p->reduced->colour[v] : p->reduced->alpha[v];
}

/* Whether a sample stands for no data. masked: the pixel's, or NULL. */
static bool is_apart(const struct ih_nodata_pass *p, const uint8_t *pixel, const uint8_t *masked,
                     unsigned c)
{
    return (masked && masked[c]) || (p->has_key && c < p->n_tested && load(p, pixel, c) == p->key);
}

/* Counts a pixel in which a sample has no data. Luma is of pixels whose colours all have data; a
 * sample without data is not clipped. */
static void add_apart(struct ih_nodata_pass *p, const uint8_t *pixel, const uint8_t *masked)
{
    struct ih_histogram *const h = &p->apart;
    const unsigned n_colours =
        p->spec.layout.n_colours == 3 ? 3 : 0; /* gray follows from its bins */
    unsigned n_low = 0, n_high = 0, n_data = 0;
    uint16_t colours[3] = {0};
    h->n_pixels++;
    for (unsigned c = 0; c < p->spec.layout.n_channels; c++) {
        const uint16_t to = reduce(p, load(p, pixel, c), c);
        if (is_apart(p, pixel, masked, c)) {
            ih_specials(h, c)[IH_NODATA]++;
            continue;
        }
        ih_bins(h, c)[to]++;
        if (c >= n_colours)
            continue;
        colours[c] = to;
        n_data++;
        n_low += to <= p->spec.clip_low;
        n_high += to >= p->spec.clip_high;
    }
    if (n_colours == 0)
        return;
    h->any_low += n_low > 0;
    h->all_low += n_low == 3;
    h->any_high += n_high > 0;
    h->all_high += n_high == 3;
    if (ih_has_luma(h) && n_data == 3)
        ih_bins(h, IH_LUMA)[ih_luma_native(p->spec.luma, colours[0], colours[1], colours[2])]++;
    else if (ih_has_luma(h))
        ih_specials(h, IH_LUMA)[IH_NODATA]++;
}

static bool has_key(const struct ih_nodata_pass *p, const uint8_t *samples, size_t n)
{
    bool has = false;
    if (p->sample_bytes == 1)
        return memchr(samples, p->key, n) != NULL;
    for (size_t i = 0; i < n; i++) {
        uint16_t v;
        memcpy(&v, samples + 2 * i, sizeof v);
        has |= v == p->key;
    }
    return has;
}

static bool has_mask(const uint8_t *masked, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= masked[i];
    return any != 0;
}

/* Moves the pixels whose samples all have data to the front, and returns their number. */
static size_t drop(struct ih_nodata_pass *p, uint8_t *pixels, const uint8_t *masked, size_t n)
{
    const unsigned n_channels = p->spec.layout.n_channels;
    const size_t pixel_bytes = (size_t)n_channels * p->sample_bytes;
    const uint8_t *from = pixels;
    uint8_t *to = pixels;
    for (size_t n_here; n > 0; n -= n_here) {
        n_here = n < BLOCK ? n : BLOCK;
        const uint8_t *const end = from + n_here * pixel_bytes;
        const uint8_t *m = masked;
        if (masked)
            masked += n_here * n_channels;
        if (!(p->has_key && has_key(p, from, n_here * n_channels)) &&
            !(m && has_mask(m, n_here * n_channels))) {
            memmove(to, from, n_here * pixel_bytes);
            to += n_here * pixel_bytes;
            from = end;
        }
        for (; from < end; from += pixel_bytes, m = m ? m + n_channels : NULL) {
            bool is_nodata = false;
            for (unsigned c = 0; c < n_channels; c++)
                is_nodata |= is_apart(p, from, m, c);
            if (is_nodata) {
                add_apart(p, from, m);
            } else {
                memmove(to, from, pixel_bytes);
                to += pixel_bytes;
            }
        }
    }
    return (size_t)(to - pixels) / pixel_bytes;
}

static void make_nan(struct ih_nodata_pass *p, uint8_t *pixels, const uint8_t *masked, size_t n)
{
    const unsigned n_channels = p->spec.layout.n_channels;
    const float nan = NAN;
    for (unsigned c = 0; c < n_channels; c++) {
        uint8_t *at = pixels + c * sizeof(float);
        for (size_t i = 0; i < n; i++, at += n_channels * sizeof(float)) {
            float v;
            memcpy(&v, at, sizeof v);
            const bool is_nodata =
                (c < p->n_tested && v == p->value) || (masked && masked[i * n_channels + c]);
            p->n_floats[c] += is_nodata;
            memcpy(at, is_nodata ? &nan : &v, sizeof v);
        }
    }
}

size_t ih_nodata_keep(struct ih_nodata_pass *p, uint8_t *pixels, const uint8_t *masked,
                      size_t n_pixels)
{
    const unsigned n_channels = p->spec.layout.n_channels;
    if (sets_apart(p))
        n_pixels = drop(p, pixels, masked, n_pixels);
    if (p->n_floats)
        make_nan(p, pixels, masked, n_pixels);
    for (size_t i = 0; i < n_pixels * n_channels && p->reduced; i++) {
        const uint16_t v = reduce(p, load(p, pixels, (unsigned)i), (unsigned)(i % n_channels));
        if (ih_is_native(p->spec.type))
            ih_native_put(pixels, i, v);
        else
            pixels[i] = (uint8_t)v;
    }
    return n_pixels;
}

void ih_nodata_end(struct ih_nodata_pass *p, struct ih_histogram *h)
{
    struct ih_histogram *const apart = &p->apart;
    for (unsigned c = 0; c < p->spec.layout.n_channels && p->n_floats; c++) {
        ih_specials(h, c)[IH_NAN] -= p->n_floats[c];
        ih_specials(h, c)[IH_NODATA] += p->n_floats[c];
        p->n_floats[c] = 0;
    }
    if (apart->n_pixels == 0)
        return;
    ih_histogram_sum_up(apart, false);
    ih_histogram_derive(apart, &p->spec); /* gray whose alpha alone is masked */
    ih_histogram_add(h, apart);
}

void ih_nodata_reset(struct ih_nodata_pass *p)
{
    free(p->reduced);
    free(p->n_floats);
    ih_histogram_reset(&p->apart);
}
