/*
 * A path is a shape: closed outlines of straight edges. Coverage is the share of each pixel that a
 * path covers.
 *
 * Coordinates are integers, in 1/256 of a pixel, so no rounding depends on the compiler. The unit
 * also makes the edges of the 256 bins exact: in a plot w pixels wide, bin i begins at i * w.
 */
#ifndef IH_CHART_PATH_H
#define IH_CHART_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IH_SUBPIXELS = 256 };

struct ih_path_point {
    int32_t x, y; /* 1/IH_SUBPIXELS of a pixel; x to the right, y down */
    bool begins;  /* the first point of an outline */
};

/* All zero is an empty path. */
struct ih_path {
    struct ih_path_point *points; /* owned */
    size_t n_points, capacity;
    bool failed; /* memory ran out and points are missing; ih_path_clear resets it */
};

/* Removes the points and resets `failed`; keeps the memory. */
void ih_path_clear(struct ih_path *path);

/* Releases the memory. */
void ih_path_reset(struct ih_path *path);

/* Begins an outline. Every outline is closed: its last point is joined to its first. */
void ih_path_move(struct ih_path *path, int32_t x, int32_t y);

/* Adds a corner to the current outline. */
void ih_path_line(struct ih_path *path, int32_t x, int32_t y);

/* Adds a rectangle between two opposite corners as an outline of its own. */
void ih_path_rectangle(struct ih_path *path, int32_t x0, int32_t y0, int32_t x1, int32_t y1);

/*
 * Computes coverage one row at a time:
 *
 *     if (ih_coverage_begin(&c, path))
 *         while (ih_coverage_next(&c, &row))
 *             paint row.spans[0 .. row.n_spans - 1]
 */
enum { IH_COVERED = 65536 }; /* the weight of a fully covered pixel */

/* Neighbouring pixels with the same coverage, not 0. A row is mostly a few long spans. */
struct ih_coverage_span {
    int32_t first, end; /* columns, end excluded */
    uint32_t weight;    /* 1 to IH_COVERED */
};

/* Fields are private. */
struct ih_coverage {
    int32_t width, height;          /* of the canvas, pixels */
    int32_t *sums;                  /* owned, [width + 2]; all 0 between rows */
    struct ih_coverage_span *spans; /* owned, [width] */
    struct ih_edge *edges;          /* owned, [edge_capacity] */
    struct ih_edge **active;        /* owned, [edge_capacity] */
    size_t edge_capacity, n_edges, n_active, next_edge;
    int32_t row, first, last;
};

struct ih_coverage_row {
    int32_t y;
    size_t n_spans;
    const struct ih_coverage_span *spans; /* from left to right; valid until the next call */
};

/* Returns false if memory ran out; reset is then allowed and not needed. */
bool ih_coverage_init(struct ih_coverage *c, unsigned width, unsigned height);
void ih_coverage_reset(struct ih_coverage *c);

/* Takes a path and clips it to the canvas. Returns false if memory ran out. */
bool ih_coverage_begin(struct ih_coverage *c, const struct ih_path *path);

/* Returns the next row that the path may touch, top first; false after the last one. */
bool ih_coverage_next(struct ih_coverage *c, struct ih_coverage_row *row);

#endif
