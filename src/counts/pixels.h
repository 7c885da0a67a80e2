/*
 * What a decoded pixel is, and the numbers that count it.
 *
 * A decoder hands out 8-bit samples, interleaved: 1 = gray, 2 = gray alpha, 3 = red green blue,
 * 4 = red green blue alpha. The luma of a colour pixel is one more plane that is counted but never
 * stored; it has the index IH_LUMA whatever the number of channels, so that a table [IH_PLANES]
 * serves every layout.
 */
#ifndef IH_COUNTS_PIXELS_H
#define IH_COUNTS_PIXELS_H

#include "imghist.h" /* IH_BINS, IH_LUMA and their like */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Weights of R, G and B in the luma Y', in 1/65536. They sum to 65536, so that white stays 255.
 * Source: ITU-R BT.709-6 item 3.2, BT.601-7 section 2.5.1, rounded to 16 bits.
 */
struct ih_luma_weights {
    const char *name; /* static: "bt709" */
    uint32_t red, green, blue;
};

extern const struct ih_luma_weights ih_luma_bt709;
extern const struct ih_luma_weights ih_luma_bt601;

/* NULL where no weights have this name. */
const struct ih_luma_weights *ih_luma_find(const char *name);

static inline uint8_t ih_luma(const struct ih_luma_weights *w, uint8_t r, uint8_t g, uint8_t b)
{
    return (uint8_t)((w->red * r + w->green * g + w->blue * b + 32768u) >> 16);
}

/* What to count in a run of pixels. The same for every band of an image. */
struct ih_count_spec {
    unsigned n_channels;                /* 1 to IH_CHANNELS_MAX */
    const struct ih_luma_weights *luma; /* borrowed, static */
    uint8_t clip_low, clip_high;        /* low < high; values <= low and >= high are clipped */
};

/* Channels that carry colour: all but alpha; 1 or 3. */
static inline unsigned ih_colour_channels(unsigned n_channels)
{
    return n_channels < 3 ? 1 : 3;
}

/*
 * Moves the pixels whose alpha is not 0 to the front, in their order.
 *
 * pixels   uint8 [n_pixels][n_channels], n_channels 2 or 4, alpha last
 *
 * Returns how many there are; what is behind them is undefined.
 */
size_t ih_pixels_drop_transparent(uint8_t *pixels, size_t n_pixels, unsigned n_channels);

/* Static name of a plane: "gray", "red", "green", "blue", "alpha", "luma"; NULL where an image of
 * n_channels has no such plane. Every image has IH_LUMA. */
const char *ih_plane_name(unsigned n_channels, unsigned plane);

/* a * b into *out, or false where it does not fit. Every size goes through this. */
static inline bool ih_size_multiply(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

#endif
