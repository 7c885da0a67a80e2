/*
 * How much of each pixel a shape covers, one row at a time.
 *
 *     if (ih_coverage_begin(&c, path))
 *         while (ih_coverage_next(&c, &row))
 *             paint row.spans[0 .. row.n_spans - 1]
 */
#ifndef IH_OUTPUT_CHART_COVERAGE_H
#define IH_OUTPUT_CHART_COVERAGE_H

#include "output/chart/path.h"

enum { IH_COVERED = 65536 }; /* the weight of a pixel that is covered whole */

/* Neighbours that are covered alike, and not by nothing. Most of a row is a few long ones. */
struct ih_coverage_span {
    int32_t first, end; /* columns; end is not in it */
    uint32_t weight;    /* 1 to IH_COVERED */
};

/* Fields are private. */
struct ih_coverage {
    int32_t width, height;          /* of the canvas, pixels */
    int32_t *sums;                  /* owned, [width + 2]; all 0 between rows */
    struct ih_coverage_span *spans; /* owned, [width] */
    struct ih_edge *edges;          /* owned, as the next one, [edge_capacity] */
    struct ih_edge **active;
    size_t edge_capacity, n_edges, n_active, next_edge;
    int32_t row, first, last;
};

struct ih_coverage_row {
    int32_t y;
    size_t n_spans;
    const struct ih_coverage_span *spans; /* from left to right; valid until the next call */
};

/* Returns false where there is no memory; reset is then allowed and not needed. */
bool ih_coverage_init(struct ih_coverage *c, unsigned width, unsigned height);
void ih_coverage_reset(struct ih_coverage *c);

/* Takes a shape; what lies outside the canvas is left out. Returns false where there is no memory.
 */
bool ih_coverage_begin(struct ih_coverage *c, const struct ih_path *path);

/* The next row that the shape may touch, top first. False after the last one. */
bool ih_coverage_next(struct ih_coverage *c, struct ih_coverage_row *row);

#endif
