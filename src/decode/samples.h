/*
 * Converts the samples of a file into 8-bit pixels, or keeps the values of 9 to 16 bits: 1 to 16
 * bits a sample, interleaved or in planes; gray, RGB, CMYK or palette indices; with or without
 * alpha.
 */
#ifndef IH_DECODE_SAMPLES_H
#define IH_DECODE_SAMPLES_H

#include "histogram/result.h"

#include <string.h>

/* Which values the samples of an image have when they are counted. */
struct ih_native {
    enum ih_sample_type type; /* of struct ih_image_info */
    unsigned n_bins;          /* the same */
    /* Of native samples: */
    uint16_t low, high; /* colours are clamped to these */
    uint32_t max;       /* the largest sample, also of alpha */
};

/*
 * Decides for every decoder whether samples are reduced to 8 bits or kept.
 *
 * wanted   options.takes_native
 * range    of samples of 16 bits; high 0: none. A high below 256 is reduced to 8 bits as ever
 * max      the largest sample that the image can have
 *
 * Returns IH_OK, or IH_UNSUPPORTED: native values are wanted, and max is above 65535.
 */
enum ih_status ih_native_choose(struct ih_native *native, bool wanted, struct ih_sample_range range,
                                uint64_t max, struct ih_error *err);

/* Refuses native values of an image whose samples are computed from others, "CMYK". */
enum ih_status ih_native_refuse(const char *what, unsigned bits, struct ih_error *err);

/* Stores native sample i. */
static inline void ih_native_put(uint8_t *pixels, size_t i, uint16_t v)
{
    memcpy(pixels + 2 * i, &v, sizeof v);
}

/* The native value of a sample. A colour is clamped to the range; alpha is scaled to the bins of
 * the colours, if a range gives those fewer. */
static inline uint16_t ih_native_of(const struct ih_native *native, uint32_t v, bool is_alpha)
{
    if (!is_alpha)
        return (uint16_t)(v < native->low ? native->low : v > native->high ? native->high : v);
    if (native->high == native->max)
        return (uint16_t)v;
    return (uint16_t)((v * 2 * (uint64_t)native->high + native->max) / (2 * (uint64_t)native->max));
}

enum ih_sample_kind {
    IH_SAMPLES_GRAY,
    IH_SAMPLES_RGB,
    IH_SAMPLES_CMYK,
    IH_SAMPLES_PALETTE,
    IH_SAMPLES_BANDS /* any number, or colours and further bands; perhaps alpha */
};
enum { IH_SAMPLES_PLANES_MAX = 5 }; /* CMYK and alpha; bands may be more */

struct ih_samples {
    enum ih_sample_kind kind;
    unsigned bits; /* a sample to convert, 1 to 16; 16 is in host byte order, others packed from the
                      MSB */
    unsigned n_colour;   /* colour samples a pixel: 1, 3, 4 or 1 */
    unsigned n_planes;   /* n_colour, plus 1 with alpha */
    unsigned n_channels; /* of the resulting pixels */
    uint8_t palette[256][3];
    uint8_t scaled[65536]; /* the 8-bit value of each sample value */
    bool has_range;        /* 16-bit colour samples go through scaled */
    struct ih_extremes
        *extremes;    /* borrowed; of colour samples of 9 to 16 bits; NULL: not wanted */
    bool is_inverted; /* gray where 0 is white; does not affect alpha */
    struct ih_native native;
};

/* Sets every field except palette; extremes become NULL, and there are no native values. A sample v
 * becomes round(v * 255 / (2^bits - 1)). */
void ih_samples_init(struct ih_samples *s, enum ih_sample_kind kind, unsigned bits, bool has_alpha,
                     bool is_inverted);

/* Makes samples that are gray or RGB bands: n_planes in all, alpha last. */
void ih_samples_set_bands(struct ih_samples *s, unsigned n_planes, bool has_alpha);

/* Fills the table of 16-bit colour samples, uint8 [65536]. */
void ih_samples_fill_16(uint8_t *scaled, struct ih_sample_range range);

/* Applies the range to colour samples of 16 bits, others are left alone, and decides whether
 * samples are kept. Returns IH_OK or, for CMYK to be kept, IH_UNSUPPORTED. */
enum ih_status ih_samples_set_target(struct ih_samples *s, struct ih_sample_range range,
                                     bool takes_native, struct ih_error *err);

/* One plane of a row: the samples at index first, first + step, ... of bytes. */
struct ih_sample_plane {
    const uint8_t *bytes;
    size_t first, step;
};

/*
 * Converts the first n pixels of a row.
 *
 * planes   [n_planes], alpha last
 * pixels   uint8 [n][n_channels], or samples of the native type; written
 */
void ih_samples_convert(const struct ih_samples *s, const struct ih_sample_plane *planes, size_t n,
                        uint8_t *pixels);

/* Adds the extremes of the colour samples of n pixels of 16 bits, in big-endian order. */
void ih_extremes_add_be16(struct ih_extremes *extremes, const uint8_t *bytes, size_t n_pixels,
                          unsigned n_channels);

/* Adds those of native samples, uint16 [n], all of them of colour. */
void ih_extremes_add_native(struct ih_extremes *extremes, const uint8_t *samples, size_t n);

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
