/*
 * Bands: one channel after the other of a stripe, straight into its 64-bit bins. The stripe stays
 * in the second-level cache, and so do the bins of one channel: all those of 12 bands of 16 bits
 * would not.
 */
#include "count/count_bands.h"

#include <string.h>

enum ih_status ih_bands_begin(struct ih_bands_counter *c, const struct ih_count_spec *spec,
                              struct ih_error *err)
{
    ih_histogram_reset(&c->totals);
    c->spec = *spec;
    c->has_bits = false;
    return ih_histogram_init(&c->totals, spec, err);
}

void ih_bands_reset(struct ih_bands_counter *c)
{
    ih_histogram_reset(&c->totals);
}

static uint16_t load_2(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void add_band(uint64_t *bins, const uint8_t *p, size_t n, size_t step, bool is_wide)
{
    for (; n > 0 && is_wide; n--, p += step)
        bins[load_2(p)]++;
    for (; n > 0; n--, p += step)
        bins[*p]++;
}

/* Luma and joint clip counts of pixels whose first channels are red, green and blue. */
static void add_colours(struct ih_bands_counter *c, const uint8_t *p, size_t n, size_t step,
                        bool is_wide)
{
    struct ih_histogram *const h = &c->totals;
    uint64_t *const luma = ih_has_luma(h) ? ih_bins(h, IH_LUMA) : NULL;
    for (; n > 0; n--, p += step) {
        uint32_t v[3];
        unsigned n_low = 0, n_high = 0;
        for (unsigned k = 0; k < 3; k++) {
            v[k] = is_wide ? load_2(p + 2 * k) : p[k];
            if (c->has_bits) /* of signed samples: luma of floats is none */
                v[k] = (uint32_t)(int16_t)v[k];
            n_low += v[k] <= c->spec.clip_low;
            n_high += v[k] >= c->spec.clip_high;
        }
        h->any_low += n_low > 0;
        h->all_low += n_low == 3;
        h->any_high += n_high > 0;
        h->all_high += n_high == 3;
        if (luma)
            luma[ih_luma_native(c->spec.luma, v[0], v[1], v[2])]++;
    }
}

void ih_bands_add(struct ih_bands_counter *c, const void *pixels, size_t n_pixels)
{
    const unsigned n_channels = c->spec.layout.n_channels;
    const size_t sample_bytes = ih_sample_bytes(c->spec.type), step = n_channels * sample_bytes;
    const uint8_t *const from = pixels;
    c->totals.n_pixels += n_pixels;
    for (unsigned i = 0; i < n_channels; i++)
        add_band(ih_bins(&c->totals, i), from + i * sample_bytes, n_pixels, step, sample_bytes > 1);
    if (c->spec.layout.n_colours == 3)
        add_colours(c, from, n_pixels, step, sample_bytes > 1);
}

void ih_bands_end(struct ih_bands_counter *c, struct ih_histogram *out)
{
    struct ih_histogram *const h = &c->totals;
    ih_histogram_sum_up(h, c->has_bits);
    *out = ih_histogram_take(h);
}
