#include "decode/composed.h"

#include <string.h>

static bool is_opaque(const uint8_t *rgba, size_t n_pixels)
{
    uint8_t all = 255;
    for (size_t i = 0; i < n_pixels; i++)
        all &= rgba[4 * i + 3];
    return all == 255;
}

void ih_composed_begin(struct ih_composed *c, const uint8_t *rgba, size_t n_pixels)
{
    c->rgba = rgba;
    c->n_pixels = n_pixels;
    c->n_given = 0;
    if (c->n_channels % 2 == 1 && !is_opaque(rgba, n_pixels))
        c->n_channels++;
}

size_t ih_composed_give(struct ih_composed *c, uint8_t *pixels, size_t capacity_pixels)
{
    const size_t left = c->n_pixels - c->n_given;
    const size_t n = left < capacity_pixels ? left : capacity_pixels;
    const uint8_t *from = c->rgba + 4 * c->n_given;
    if (c->n_channels == 4)
        memcpy(pixels, from, 4 * n);
    for (size_t i = 0; i < n && c->n_channels == 3; i++)
        memcpy(pixels + 3 * i, from + 4 * i, 3);
    for (size_t i = 0; i < n && c->n_channels < 3; i++) {
        pixels[c->n_channels * i] = from[4 * i];
        if (c->n_channels == 2)
            pixels[2 * i + 1] = from[4 * i + 3];
    }
    c->n_given += n;
    return n;
}
