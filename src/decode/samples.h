/*
 * Converts the samples of a file into 8-bit pixels: 1 to 16 bits a sample, interleaved or in
 * planes; gray, RGB, CMYK or palette indices; with or without alpha.
 */
#ifndef IH_DECODE_SAMPLES_H
#define IH_DECODE_SAMPLES_H

#include "histogram/result.h"

enum ih_sample_kind { IH_SAMPLES_GRAY, IH_SAMPLES_RGB, IH_SAMPLES_CMYK, IH_SAMPLES_PALETTE };
enum { IH_SAMPLES_PLANES_MAX = 5 }; /* CMYK and alpha */

struct ih_samples {
    enum ih_sample_kind kind;
    unsigned bits;     /* a sample, 1 to 16; 16 is in host byte order, others packed from the MSB */
    unsigned n_colour; /* colour samples a pixel: 1, 3, 4 or 1 */
    unsigned n_planes; /* n_colour, plus 1 with alpha */
    unsigned n_channels; /* of the resulting pixels */
    uint8_t palette[256][3];
    uint8_t scaled[65536]; /* the 8-bit value of each sample value */
    bool has_range;        /* 16-bit colour samples go through scaled */
    struct ih_extremes
        *extremes;    /* borrowed; of colour samples of 9 to 16 bits; NULL: not wanted */
    bool is_inverted; /* gray where 0 is white; does not affect alpha */
};

/* Sets every field except palette; extremes become NULL. A sample v becomes round(v * 255 / (2^bits
 * - 1)). */
void ih_samples_init(struct ih_samples *s, enum ih_sample_kind kind, unsigned bits, bool has_alpha,
                     bool is_inverted);

/* Fills the table of 16-bit colour samples, uint8 [65536]. */
void ih_samples_fill_16(uint8_t *scaled, struct ih_sample_range range);

/* Applies the range to colour samples of 16 bits. Others are left alone. */
void ih_samples_set_range(struct ih_samples *s, struct ih_sample_range range);

/* One plane of a row: the samples at index first, first + step, ... of bytes. */
struct ih_sample_plane {
    const uint8_t *bytes;
    size_t first, step;
};

/*
 * Converts the first n pixels of a row.
 *
 * planes   [n_planes], alpha last
 * pixels   uint8 [n][n_channels], written
 */
void ih_samples_convert(const struct ih_samples *s, const struct ih_sample_plane *planes, size_t n,
                        uint8_t *pixels);

/* Adds the extremes of the colour samples of n pixels of 16 bits, in big-endian order. */
void ih_extremes_add_be16(struct ih_extremes *extremes, const uint8_t *bytes, size_t n_pixels,
                          unsigned n_channels);

/* Scales a sample of 0 to max to 8 bits: round(v * 255 / max). */
static inline uint8_t ih_sample_scale(uint64_t v, uint64_t max)
{
    return (uint8_t)((v * 510 + max) / (2 * max));
}

/* round(v * 255 / 65535); the multiplication and shift are exact for every 16-bit v. */
static inline uint8_t ih_sample_scale_16(unsigned v)
{
    return (uint8_t)((v * 255u + 32895u) >> 16);
}

/* The same for a 16-bit colour sample of this range. */
static inline uint8_t ih_sample_scale_range(unsigned v, struct ih_sample_range range)
{
    if (range.high == 0)
        return ih_sample_scale_16(v);
    return v <= range.low    ? 0
           : v >= range.high ? 255
                             : ih_sample_scale(v - range.low, (uint64_t)(range.high - range.low));
}

/* The RGB value of inks C and K: round((255 - C)(255 - K) / 255). */
static inline uint8_t ih_ink(unsigned c, unsigned k)
{
    return (uint8_t)(((255 - c) * (255 - k) * 2 + 255) / 510);
}

#endif
