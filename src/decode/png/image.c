/* Source: the PNG specification, sections 12 and 13. A sample v becomes v * 255 / (2^depth - 1),
 * rounded to nearest; tRNS is compared with samples at the depth of the file. */
#include "decode/png/image.h"

#include "decode/read_bytes.h"

#include <assert.h>
#include <string.h>

unsigned ih_png_samples(const struct ih_png_image *image)
{
    return image->colour == IH_PNG_RGB          ? 3
           : image->colour == IH_PNG_GRAY_ALPHA ? 2
           : image->colour == IH_PNG_RGBA       ? 4
                                                : 1;
}

unsigned ih_png_channels(const struct ih_png_image *image)
{
    if (image->colour == IH_PNG_PALETTE)
        return image->palette.n_channels;
    return ih_png_samples(image) + image->has_key;
}

uint64_t ih_png_row_bytes(const struct ih_png_image *image)
{
    return ((uint64_t)image->width * ih_png_samples(image) * image->depth + 7) / 8;
}

/* Samples of less than 8 bits, the first in the highest bits, to one a byte, times `scale`. */
static void unpack(const uint8_t *row, unsigned depth, unsigned scale, uint32_t width, uint8_t *dst)
{
    unsigned mask = (1u << depth) - 1, shift = 8;
    for (uint32_t x = 0; x < width; x++) {
        shift -= depth;
        dst[x] = (uint8_t)((*row >> shift & mask) * scale);
        if (shift == 0) {
            shift = 8;
            row++;
        }
    }
}

static void scale_row_16(const uint8_t *row, size_t n_samples, uint8_t *dst)
{
    for (size_t i = 0; i < n_samples; i++)
        dst[i] = ih_sample_scale_16(ih_be16(row + 2 * i));
}

static void keep_row_16(const uint8_t *row, size_t n_samples, uint8_t *dst)
{
    for (size_t i = 0; i < n_samples; i++)
        ih_native_put(dst, i, (uint16_t)ih_be16(row + 2 * i));
}

/* Gray or RGB of 16 bits with a transparent colour, whose values are kept. */
static void keep_key(const struct ih_png_image *image, const uint8_t *row, uint8_t *dst)
{
    const unsigned n = ih_png_samples(image);
    for (uint32_t x = 0; x < image->width; x++, row += 2 * (size_t)n, dst += 2 * (size_t)(n + 1)) {
        bool is_key = true;
        for (unsigned c = 0; c < n; c++)
            is_key = is_key && ih_be16(row + 2 * c) == image->key[c];
        keep_row_16(row, n, dst);
        ih_native_put(dst, n, is_key ? 0 : UINT16_MAX);
    }
}

/* Gray or RGB of 8 or 16 bits with a transparent colour. */
static void expand_key(const struct ih_png_image *image, const uint8_t *row, uint8_t *dst)
{
    unsigned n = ih_png_samples(image), is_16 = image->depth == 16;
    for (uint32_t x = 0; x < image->width; x++) {
        bool is_key = true;
        for (unsigned c = 0; c < n; c++) {
            unsigned v = is_16 ? ih_be16(row) : *row;
            is_key = is_key && v == image->key[c];
            *dst++ = is_16 ? ih_sample_scale_16(v) : (uint8_t)v;
            row += 1 + is_16;
        }
        *dst++ = is_key ? 0 : 255;
    }
}

/* Gray of less than 8 bits. */
static void expand_gray(const struct ih_png_image *image, const uint8_t *row, uint8_t *dst)
{
    unsigned scale = 255 / ((1u << image->depth) - 1);
    uint32_t width = image->width;
    if (!image->has_key) {
        unpack(row, image->depth, scale, width, dst);
        return;
    }
    uint8_t *gray = dst + width; /* the second half of dst, read faster than dst is written */
    unpack(row, image->depth, scale, width, gray);
    for (uint32_t x = 0; x < width; x++) {
        uint8_t v = gray[x];
        dst[2 * (size_t)x] = v;
        dst[2 * (size_t)x + 1] = v == image->key[0] * scale ? 0 : 255;
    }
}

enum ih_status ih_png_expand_palette(const struct ih_png_palette *palette, const uint8_t *indices,
                                     uint32_t width, uint8_t *dst, struct ih_error *err)
{
    unsigned greatest = 0;
    for (uint32_t x = 0; x < width; x++)
        greatest = indices[x] > greatest ? indices[x] : greatest;
    if (greatest >= palette->n_entries)
        return ih_error_set(err, IH_CORRUPT, "damaged PNG: colour %u of a palette of %u", greatest,
                            palette->n_entries);
    if (palette->n_channels == 1) {
        memmove(dst, indices, width);
        return IH_OK;
    }
    if (palette->n_channels == 4) {
        for (uint32_t x = 0; x < width; x++)
            memcpy(dst + (size_t)4 * x, palette->colours[indices[x]], 4);
        return IH_OK;
    }
    /* Storing four bytes is faster than three; the next pixel overwrites the fourth. */
    for (uint32_t x = 0; x + 1 < width; x++)
        memcpy(dst + (size_t)3 * x, palette->colours[indices[x]], 4);
    memcpy(dst + (size_t)3 * (width - 1), palette->colours[indices[width - 1]], 3);
    return IH_OK;
}

static enum ih_status expand_indices(const struct ih_png_image *image, const uint8_t *row,
                                     uint8_t *dst, struct ih_error *err)
{
    const struct ih_png_palette *palette = &image->palette;
    if (image->depth == 8)
        return ih_png_expand_palette(palette, row, image->width, dst, err);
    uint8_t *indices = dst + (size_t)(palette->n_channels - 1) * image->width;
    unpack(row, image->depth, 1, image->width, indices);
    return ih_png_expand_palette(palette, indices, image->width, dst, err);
}

enum ih_status ih_png_expand_row(const struct ih_png_image *image, const uint8_t *row, uint8_t *dst,
                                 struct ih_error *err)
{
    size_t n_samples = (size_t)image->width * ih_png_samples(image);
    assert(image->width > 0);
    if (image->colour == IH_PNG_PALETTE)
        return expand_indices(image, row, dst, err);
    if (image->depth < 8)
        expand_gray(image, row, dst);
    else if (image->is_native && image->has_key)
        keep_key(image, row, dst);
    else if (image->is_native)
        keep_row_16(row, n_samples, dst);
    else if (image->has_key)
        expand_key(image, row, dst);
    else if (image->depth == 16)
        scale_row_16(row, n_samples, dst);
    else
        memcpy(dst, row, n_samples);
    return IH_OK;
}
