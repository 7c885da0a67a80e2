/*
 * The reference: one pixel and one channel at a time, into 64-bit counters.
 *
 * Tests and benchmarks compare every other method and kernel with this one. So it stays plain, and
 * shares no code with them: luma comes from ih_luma, the joint clip counts from the pixel itself,
 * and the luma plane and sums of gray images are counted, not derived.
 */
#include "count/count.h"

static void add_clips(struct ih_histogram *h, const struct ih_count_spec *spec,
                      const uint8_t *pixel)
{
    unsigned n_colours = ih_colour_channels(spec->n_channels);
    unsigned n_low = 0, n_high = 0;
    for (unsigned c = 0; c < n_colours; c++) {
        if (pixel[c] <= spec->clip_low)
            n_low++;
        if (pixel[c] >= spec->clip_high)
            n_high++;
    }
    if (n_low > 0)
        h->any_low++;
    if (n_high > 0)
        h->any_high++;
    if (n_low == n_colours)
        h->all_low++;
    if (n_high == n_colours)
        h->all_high++;
}

static void begin(struct ih_counter *counter)
{
    counter->totals.without_luma = counter->spec.luma == &ih_luma_none;
}

static void add(struct ih_counter *counter, const uint8_t *pixels, size_t n_pixels)
{
    const struct ih_count_spec *spec = &counter->spec;
    struct ih_histogram *h = &counter->totals;
    for (size_t i = 0; i < n_pixels; i++) {
        const uint8_t *pixel = pixels + i * spec->n_channels;
        for (unsigned c = 0; c < spec->n_channels; c++) {
            h->bins[c][pixel[c]]++;
            h->sum[c] += pixel[c];
        }
        uint8_t luma = pixel[0];
        if (spec->n_channels >= 3)
            luma = ih_luma(spec->luma, pixel[0], pixel[1], pixel[2]);
        if (spec->luma != &ih_luma_none) {
            h->bins[IH_LUMA][luma]++;
            h->sum[IH_LUMA] += luma;
        }
        add_clips(h, spec, pixel);
    }
}

const struct ih_count_method ih_count_reference = {.begin = begin, .add = add};
