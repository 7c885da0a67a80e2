/*
 * The header of a PNG, and the conversion of its rows to 8-bit channels.
 *
 * In the streaming path libpng converts everything but palettes; the fast path converts all rows
 * here. So the tests can check each conversion against the other.
 */
#ifndef IH_DECODE_PNG_IMAGE_H
#define IH_DECODE_PNG_IMAGE_H

#include "decode/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ih_png_colour {
    IH_PNG_GRAY = 0,
    IH_PNG_RGB = 2,
    IH_PNG_PALETTE = 3,
    IH_PNG_GRAY_ALPHA = 4,
    IH_PNG_RGBA = 6
};

struct ih_png_palette {
    unsigned n_entries;
    unsigned n_channels;     /* 3, or 4 where tRNS gives alphas; 1: pixels are the indices */
    uint8_t colours[256][4]; /* red, green, blue, alpha; alpha is 255 past the end of tRNS */
};

struct ih_png_image {
    uint32_t width, height;
    unsigned colour; /* enum ih_png_colour */
    unsigned depth;  /* bits a sample: 1, 2, 4, 8, 16 */
    bool has_key;    /* tRNS of gray or RGB: pixels equal to key have alpha 0 */
    uint16_t key[3];
    struct ih_png_palette palette; /* of IH_PNG_PALETTE; others ignore it */
    bool is_native;                /* of 16 bits: samples keep their values */
};

/* Samples of a pixel in the file, 1 to 4. */
unsigned ih_png_samples(const struct ih_png_image *image);

/* Channels of a decoded pixel, 1 to 4. */
unsigned ih_png_channels(const struct ih_png_image *image);

/* Bytes of a row in the file, without its filter byte. */
uint64_t ih_png_row_bytes(const struct ih_png_image *image);

/* Converts an unfiltered row of the file to `width` decoded pixels. IH_CORRUPT: an index past the
 * end of the palette. */
enum ih_status ih_png_expand_row(const struct ih_png_image *image, const uint8_t *row, uint8_t *dst,
                                 struct ih_error *err);

/* The same for palette indices, one a byte. indices may overlap dst if both end at one byte. */
enum ih_status ih_png_expand_palette(const struct ih_png_palette *palette, const uint8_t *indices,
                                     uint32_t width, uint8_t *dst, struct ih_error *err);

#endif
