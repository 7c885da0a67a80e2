/*
 * The canvas of an animation: the frames up to now, composed as the format defines.
 *
 * The first frame has the channels that the file has without ih_decode_options.takes_frames. A
 * later one has alpha if the frame before had, or if a pixel is not opaque. So alpha, once there,
 * stays.
 */
#ifndef IH_DECODE_COMPOSED_H
#define IH_DECODE_COMPOSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ih_composed {
    const uint8_t *rgba; /* borrowed, uint8 [n_pixels][4]; alpha does not multiply the colours */
    size_t n_pixels, n_given;
    unsigned n_channels; /* that are given: 1 to 4; below 3, red stands for gray */
};

/* Begins to give a frame after the first. */
void ih_composed_begin(struct ih_composed *c, const uint8_t *rgba, size_t n_pixels);

/* Implements a decoder's read: copies the next pixels and returns their number. */
size_t ih_composed_give(struct ih_composed *c, uint8_t *pixels, size_t capacity_pixels);

#endif
