/*
 * Pictures as planes, for tests, with their RGB by the pixel-by-pixel conversion of kernels/ycc.h.
 * The bytes between rows are noise, so a wrong read changes the counts.
 */
#ifndef IH_TESTS_PLANES_PICTURE_H
#define IH_TESTS_PLANES_PICTURE_H

#include "histogram/pixels.h"
#include "kernels/ycc.h"
#include "tests/support/counted.h"

struct planes_picture {
    uint8_t *samples; /* owned: Y, Cb and Cr without gaps */
    uint8_t *rgb;     /* owned; uint8 [height][width][3] */
    struct ih_ycc_image image;
    unsigned h, v; /* Y is this many times wider and higher */
};

/* Makes a sample of a plane from its place, the sample before it in its row, and a random number.
 */
typedef unsigned sample_function(unsigned plane, uint32_t x, uint32_t y, unsigned before,
                                 uint32_t random);

static inline uint32_t plane_width(const struct planes_picture *p, unsigned plane)
{
    return plane == 0 ? p->image.width : p->image.chroma_width;
}

static inline struct planes_picture make_picture(unsigned h, unsigned v, uint32_t width,
                                                 uint32_t height, sample_function *sample)
{
    const uint32_t w = (width + h - 1) / h, n_rows = (height + v - 1) / v;
    const size_t n_luma = (size_t)width * height, n_chroma = (size_t)w * n_rows;
    struct planes_picture p = {malloc(n_luma + 2 * n_chroma), malloc(3 * n_luma), .h = h, .v = v};
    uint32_t random = (width * 64 + height) * 2654435761u + 1;
    uint8_t *next = p.samples;
    assert_true(p.samples && p.rgb);
    p.image = (struct ih_ycc_image){
        {next, next + n_luma, next + n_luma + n_chroma}, {width, w, w}, width, height, w, n_rows};
    for (unsigned plane = 0; plane < 3; plane++) {
        const uint32_t columns = plane == 0 ? width : w, rows = plane == 0 ? height : n_rows;
        for (uint32_t y = 0; y < rows; y++)
            for (uint32_t x = 0; x < columns; x++, next++)
                *next = (uint8_t)sample(plane, x, y, x == 0 ? 128 : next[-1], random_next(&random));
    }
    for (size_t i = 0; i < n_luma; i++) {
        uint32_t rgb[3];
        ih_ycc_pixel(&p.image, (int)h, (int)v, (uint32_t)(i % width), (uint32_t)(i / width), rgb);
        for (unsigned c = 0; c < 3; c++)
            p.rgb[3 * i + c] = (uint8_t)rgb[c];
    }
    return p;
}

static inline void free_picture(struct planes_picture *p)
{
    free(p->samples);
    free(p->rgb);
}

/* The first chroma row, of n_all, that n_rows rows of Y from `row` on need, and their number. */
static inline uint32_t chroma_rows(unsigned v, uint32_t n_all, uint32_t row, uint32_t n_rows,
                                   uint32_t *n)
{
    const uint32_t last = row + n_rows - 1;
    const uint32_t from = v == 1 || row % 2 == 1 ? row / v : ih_ycc_far(row, n_all);
    const uint32_t to = v == 1 || last % 2 == 0 ? last / v : ih_ycc_far(last, n_all);
    *n = to - from + 1;
    return from;
}

static inline size_t pitch_of(const struct planes_picture *p, unsigned plane, size_t gap_bytes)
{
    return plane_width(p, plane) + gap_bytes + (plane == 0 ? 0 : IH_PLANES_PADDING);
}

/* The size of a stripe of these rows; the last row of Cr ends with its padding. */
static inline size_t stripe_bytes(const struct planes_picture *p, uint32_t row, uint32_t n_rows,
                                  size_t gap_bytes)
{
    uint32_t n;
    chroma_rows(p->v, p->image.chroma_height, row, n_rows, &n);
    return n_rows * pitch_of(p, 0, gap_bytes) + 2 * n * pitch_of(p, 1, gap_bytes) - gap_bytes;
}

/* Writes a stripe of these rows and the chroma they need into buffer, which holds stripe_bytes. */
static inline struct ih_planes put_stripe(const struct planes_picture *p, uint32_t row,
                                          uint32_t n_rows, size_t gap_bytes, uint8_t *buffer)
{
    struct ih_planes stripe = {.chroma_h = p->h,
                               .chroma_v = p->v,
                               .width = p->image.width,
                               .n_rows = n_rows,
                               .row = row,
                               .height = p->image.height,
                               .n_chroma_rows = p->image.chroma_height};
    uint32_t n, random = row * 31 + n_rows + 1;
    const size_t n_bytes = stripe_bytes(p, row, n_rows, gap_bytes);
    stripe.size_bytes = n_bytes;
    stripe.chroma_row = chroma_rows(p->v, p->image.chroma_height, row, n_rows, &n);
    for (size_t i = 0; i < n_bytes; i++)
        buffer[i] = (uint8_t)random_next(&random);
    for (unsigned c = 0; c < 3; c++) {
        const uint32_t first = c == 0 ? row : stripe.chroma_row, rows = c == 0 ? n_rows : n;
        stripe.planes[c] = buffer;
        stripe.pitch_bytes[c] = pitch_of(p, c, gap_bytes);
        for (uint32_t y = 0; y < rows; y++, buffer += stripe.pitch_bytes[c])
            memcpy(buffer, p->image.planes[c] + (size_t)(first + y) * p->image.pitch_bytes[c],
                   plane_width(p, c));
    }
    return stripe;
}

#endif
