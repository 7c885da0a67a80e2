/*
 * Where the pixels that a decoder returns lie in the image. Only regions and masks need it: the
 * whole image has the same histogram in any order.
 *
 * Every order is a sequence of blocks, each a grid of pixels that is given row by row.
 */
#ifndef IH_HISTOGRAM_PIXEL_ORDER_H
#define IH_HISTOGRAM_PIXEL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ih_pixel_order_kind {
    IH_PIXEL_ORDER_ROWS,  /* all rows; the default */
    IH_PIXEL_ORDER_ADAM7, /* the passes of an interlaced PNG. Source: the PNG specification, 8.2 */
    IH_PIXEL_ORDER_TILES, /* tile after tile, in rows of tiles; those at the edges are cut */
    IH_PIXEL_ORDER_FRAME, /* the pixels around a frame (above, below, left, right), then the frame
                           */
    IH_PIXEL_ORDER_KINDS
};

enum {
    IH_PIXEL_ORDER_FROM_BOTTOM = 1, /* the first row is the lowest */
    IH_PIXEL_ORDER_FROM_RIGHT = 2,  /* a row begins at its right end */
    IH_PIXEL_ORDER_INTERLACED = 4, /* the frame has the passes of GIF. Source: GIF89a, appendix E */
    IH_PIXEL_ORDER_FLAGS_END = 8
};

/* All zero: rows from top to bottom. */
struct ih_pixel_order {
    unsigned kind, flags;
    uint32_t width, height; /* of a tile or the frame */
    uint32_t left, top;     /* of the frame */
};

/* Whether an image of this size can have this order; a decoder process may send any. */
bool ih_pixel_order_is_possible(const struct ih_pixel_order *order, uint64_t width,
                                uint64_t height);

/* The position in an image that is being read. Fields are private. */
struct ih_pixel_order_walk {
    struct ih_pixel_order order;
    uint64_t width, height;
    uint64_t n_blocks;                       /* begun so far */
    uint64_t x, x_step, n_x, y, y_step, n_y; /* of the block */
    uint64_t column, row;                    /* the next pixel in the block */
};

/* Pixels of one row: n pixels from x on, every x_step-th. */
struct ih_pixel_order_run {
    uint64_t x, y;
    int64_t x_step; /* negative: to the left */
    size_t n;
};

/* order: possible, copied */
void ih_pixel_order_start(struct ih_pixel_order_walk *walk, const struct ih_pixel_order *order,
                          uint64_t width, uint64_t height);

/* Gives the place of the next pixels, 1 to n_max. Returns false after the last pixel. */
bool ih_pixel_order_next(struct ih_pixel_order_walk *walk, size_t n_max,
                         struct ih_pixel_order_run *run);

#endif
