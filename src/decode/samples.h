/*
 * From samples as files hold them to 8-bit pixels: 1 to 16 bits, interleaved or plane by plane,
 * gray, RGB, CMYK or indices into a palette, with alpha anywhere or nowhere.
 */
#ifndef IH_DECODE_SAMPLES_H
#define IH_DECODE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ih_sample_kind { IH_SAMPLES_GRAY, IH_SAMPLES_RGB, IH_SAMPLES_CMYK, IH_SAMPLES_PALETTE };
enum { IH_SAMPLES_PLANES_MAX = 5 }; /* CMYK and alpha */

struct ih_samples {
    enum ih_sample_kind kind;
    unsigned bits;       /* 1 to 16; 16 in the machine's byte order, others from the high bit on */
    unsigned n_colour;   /* samples of colour: 1, 3, 4, 1 */
    unsigned n_planes;   /* n_colour, and 1 for alpha */
    unsigned n_channels; /* of the pixels that come out */
    uint8_t palette[256][3];
    uint8_t scaled[65536]; /* 8-bit value of each sample, of colours and alpha */
    bool is_inverted;      /* gray: 0 is white. Not alpha */
};

/* Fills what follows from kind, bits, has_alpha and is_inverted: v becomes round(v * 255 / max). */
void ih_samples_init(struct ih_samples *s, enum ih_sample_kind kind, unsigned bits, bool has_alpha,
                     bool is_inverted);

/* A plane of a row: its samples are at first, first + step, ... of those in `bytes`. */
struct ih_sample_plane {
    const uint8_t *bytes;
    size_t first, step;
};

/*
 * Converts the first n pixels of a row.
 *
 * planes   [n_planes], alpha last
 * pixels   uint8 [n][n_channels]
 */
void ih_samples_convert(const struct ih_samples *s, const struct ih_sample_plane *planes, size_t n,
                        uint8_t *pixels);

/* A sample of 0 to max as 8 bits: round(v * 255 / max). */
static inline uint8_t ih_sample_scale(uint64_t v, uint64_t max)
{
    return (uint8_t)((v * 510 + max) / (2 * max));
}

/* round(v * 255 / 65535), as an exact multiplication and shift for every 16-bit v. */
static inline uint8_t ih_sample_scale_16(unsigned v)
{
    return (uint8_t)((v * 255u + 32895u) >> 16);
}

/* round((255-C)(255-K)/255) where c and k are amounts of ink. */
static inline uint8_t ih_ink(unsigned c, unsigned k)
{
    return (uint8_t)(((255 - c) * (255 - k) * 2 + 255) / 510);
}

#endif
