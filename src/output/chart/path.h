/*
 * A shape: closed outlines of straight edges, in 1/256 of a pixel.
 *
 * Fixed point instead of double, because the same integers then reach every canvas, and none of
 * them can differ by a rounding that depends on the compiler. 1/256 also happens to make the edges
 * of 256 bins exact: bin i of a plot that is w pixels wide begins at i * w.
 *
 * A path that ran out of memory stays so until it is cleared, and whoever fills it asks once.
 */
#ifndef IH_OUTPUT_CHART_PATH_H
#define IH_OUTPUT_CHART_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IH_SUBPIXELS = 256 };

struct ih_path_point {
    int32_t x, y; /* 1/IH_SUBPIXELS of a pixel; x to the right, y down */
    bool begins;  /* the first point of a new outline */
};

/* All zero is an empty path. */
struct ih_path {
    struct ih_path_point *points; /* owned */
    size_t n_points, capacity;
    bool failed; /* a point is missing: there was no memory for it */
};

/* Forgets the points and a failure, keeps the memory. */
void ih_path_clear(struct ih_path *path);

/* Releases the memory. */
void ih_path_reset(struct ih_path *path);

/* Begins an outline. The one before is closed: its last point joins its first. */
void ih_path_move(struct ih_path *path, int32_t x, int32_t y);

/* Adds a corner to the outline that was begun last. */
void ih_path_line(struct ih_path *path, int32_t x, int32_t y);

/* A whole outline: the rectangle between two opposite corners. */
void ih_path_rectangle(struct ih_path *path, int32_t x0, int32_t y0, int32_t x1, int32_t y1);

#endif
