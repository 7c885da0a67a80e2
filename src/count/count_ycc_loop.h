/*
 * The fast count of Y, Cb and Cr, 16 or 32 pixels at a time, where the processor has vectors: they
 * become RGB in the registers, and are counted as RGB is (count_rgb_loop.h).
 *
 * Colours and filter are libjpeg-turbo's, in the same integers; kernels/ycc.h says which these are.
 * The even and the odd pixels of a group are what the count takes as the first and the second of
 * its pairs, and what a 16-bit lane holds.
 *
 *   red    y + cr + 0.402 cr          each product rounded alone, as the library's tables are:
 *   blue   y + 2 cb - 0.228 cb        16 bits of the factor are enough for all 256 of them
 *   green  y - cr + (0.286 cr - 0.344 cb)     a sum rounded once, in 32 bits
 */
#ifndef IH_COUNT_COUNT_YCC_LOOP_H
#define IH_COUNT_COUNT_YCC_LOOP_H

#include "count/count_rgb_loop.h"

#ifdef IH_COUNT_VEC

enum {
    CR_RED_LESS_1 = 13173,           /* 1.402 - 1 in 1/32768 */
    CB_BLUE_LESS_2 = -7471,          /* 1.772 - 2 */
    CR_GREEN_PLUS_1 = 65536 - 46802, /* 1 - 0.714 in 1/65536 */
    CB_GREEN = -22554
};

/* Half as many pixels as bytes in a vector, in 16-bit lanes. */
ALWAYS_INLINE void to_rgb(vec rgb[3], vec y, vec cb, vec cr)
{
    const vec zero = vec_all_16(128), b = vec_sub_16(cb, zero), r = vec_sub_16(cr, zero);
    const vec green = vec_weigh_16(r, b, vec_make_weights(CR_GREEN_PLUS_1, CB_GREEN));
    const vec red = vec_add_16(r, vec_scale_16(r, CR_RED_LESS_1));
    const vec blue = vec_add_16(vec_add_16(b, b), vec_scale_16(b, CB_BLUE_LESS_2));
    rgb[0] = vec_clamp_255(vec_add_16(y, red));
    rgb[1] = vec_clamp_255(vec_add_16(vec_sub_16(y, r), green));
    rgb[2] = vec_clamp_255(vec_add_16(y, blue));
}

/* Whether all of the group from pixel i on are like pixel `first`. */
static inline bool is_like(const uint8_t *const samples[3], size_t first, size_t i)
{
    return vec_is(vec_load_bytes(samples[0] + i), samples[0][first]) &&
           vec_is(vec_load_bytes(samples[1] + i), samples[1][first]) &&
           vec_is(vec_load_bytes(samples[2] + i), samples[2][first]);
}

/* How many pixels from i on, in whole groups, are the same: 0 where the first group's are not. */
static inline size_t flat_length(const uint8_t *const samples[3], size_t i, size_t n_pixels)
{
    const uint8_t *y = samples[0] + i;
    size_t n = 0;
    if (load64(y) != load64(y + GROUP - 8)) /* mostly settles it */
        return 0;
    while (n_pixels - i - n >= GROUP && is_like(samples, i, i + n))
        n += GROUP;
    return n;
}

static size_t count_ycc_groups(struct ih_counter *t, const uint8_t *const samples[3],
                               size_t n_pixels)
{
    struct groups all;
    size_t n_done = 0;
    begin_groups(&all, t);
    for (unsigned i = 0; i < GROUPS_MAX && n_pixels - n_done >= GROUP;) {
        const size_t n_flat = flat_length(samples, n_done, n_pixels);
        if (n_flat > 0) {
            ih_count_same_ycc(t, samples, n_done, (uint32_t)n_flat);
            n_done += n_flat;
            continue;
        }
        struct group *g = &all.groups[i % 2];
        const vec y = vec_load_bytes(samples[0] + n_done);
        const vec cb = vec_load_bytes(samples[1] + n_done);
        const vec cr = vec_load_bytes(samples[2] + n_done);
        struct vec_pixels v;
        to_rgb(v.first, vec_low_8(y), vec_low_8(cb), vec_low_8(cr));
        count_quarter(t, g, 0);
        to_rgb(v.second, vec_high_8(y), vec_high_8(cb), vec_high_8(cr));
        count_group(t, g, &v, &all);
        n_done += GROUP;
        i++;
    }
    end_groups(&all, t);
    return n_done;
}

/*
 * Both filters are one: with s, three of the sample's own row and one of the next, a pixel is a
 * sixteenth of three of its own s and one of the neighbour's. Where the height is not halved both
 * rows are the same, s is four times the sample, and only the rounding differs.
 */
static void upsample(uint8_t *out, const struct ih_chroma_row *row, uint32_t x, size_t n)
{
    enum { LANES = VEC_PIXELS / 2, BESIDE = 16 };
    _Alignas(64) uint16_t sums[BESIDE + IH_COUNT_CHUNK_PIXELS / 2 + 2 * LANES];
    const size_t first = x / 2, n_samples = (n + 1) / 2;
    const uint8_t *near = row->near + first, *far = row->far + first;
    uint16_t *s = sums + BESIDE;
    for (size_t i = 0; i < n_samples; i += LANES) {
        const vec own = vec_widen(near + i);
        vec_store(s + i, vec_add_16(vec_add_16(own, vec_add_16(own, own)), vec_widen(far + i)));
    }
    /* The first and the last sample of a row are their own neighbours. */
    s[-1] = first > 0 ? (uint16_t)(3 * near[-1] + far[-1]) : s[0];
    s[n_samples] = first + n_samples < row->n_samples
                       ? (uint16_t)(3 * near[n_samples] + far[n_samples])
                       : s[n_samples - 1];
    const vec even_half = vec_all_16(row->halves_height ? 8 : 4);
    const vec odd_half = vec_all_16(row->halves_height ? 7 : 8);
    for (size_t i = 0; i < n_samples; i += LANES) {
        const vec own = vec_load_16(s + i), own_3 = vec_add_16(own, vec_add_16(own, own));
        const vec even = vec_add_16(vec_add_16(own_3, vec_load_16(s + i - 1)), even_half);
        const vec odd = vec_add_16(vec_add_16(own_3, vec_load_16(s + i + 1)), odd_half);
        vec_store(out + 2 * i,
                  vec_or(vec_shift_right_16(even, 4), vec_times_256(vec_shift_right_16(odd, 4))));
    }
}
#endif

#endif
