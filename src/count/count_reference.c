/*
 * The reference: one pixel and one channel at a time, into 64-bit counters.
 *
 * Tests and benchmarks compare every other method and kernel with this one. So it stays plain, and
 * shares no code with them: luma comes from ih_luma, and the sums and joint clip counts from the
 * pixel itself.
 */
#include "count/count.h"

static void add_clips(struct ih_histogram *h, const struct ih_count_spec *spec,
                      const uint8_t *pixel)
{
    unsigned n_colours = spec->layout.n_colours;
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

static void add(struct ih_counter *counter, const uint8_t *pixels, size_t n_pixels)
{
    const struct ih_count_spec *spec = &counter->spec;
    struct ih_histogram *h = &counter->totals;
    for (size_t i = 0; i < n_pixels; i++) {
        const uint8_t *pixel = pixels + i * spec->layout.n_channels;
        for (unsigned c = 0; c < spec->layout.n_channels; c++) {
            ih_bins(h, c)[pixel[c]]++;
            *ih_sum(h, c) += pixel[c];
        }
        if (spec->layout.n_channels >= 3 && spec->luma != &ih_luma_none) {
            const uint8_t luma = ih_luma(spec->luma, pixel[0], pixel[1], pixel[2]);
            ih_bins(h, IH_LUMA)[luma]++;
            *ih_sum(h, IH_LUMA) += luma;
        }
        add_clips(h, spec, pixel);
    }
}

const struct ih_count_method ih_count_reference = {.add = add};
