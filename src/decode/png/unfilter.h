/*
 * The filters of PNG rows, undone. Source: the PNG specification, section 9.
 *
 * Compiled for SSE2 or NEON where the compiler's target has them, else in plain C; the plain
 * functions are always there, for tests to compare with.
 */
#ifndef IH_DECODE_PNG_UNFILTER_H
#define IH_DECODE_PNG_UNFILTER_H

#include <stddef.h>
#include <stdint.h>

enum ih_png_filter {
    IH_PNG_NONE,
    IH_PNG_SUB,
    IH_PNG_UP,
    IH_PNG_AVERAGE,
    IH_PNG_PAETH,
    IH_PNG_FILTERS
};

enum { IH_PNG_SLACK = 16 };

/*
 * Undoes a row's filter in place.
 *
 * filter   below IH_PNG_FILTERS
 * row      n_bytes, a multiple of step
 * above    the row above, undone; NULL for the first row, whose row above counts as zeros
 * step     bytes of a pixel, at least 1: 1, 2, 3, 4, 6 or 8
 *
 * Up to IH_PNG_SLACK bytes past the end of both rows are read, none past the end of row is written.
 * row and above do not overlap.
 */
void ih_png_unfilter(unsigned filter, uint8_t *row, const uint8_t *above, size_t n_bytes,
                     unsigned step);
void ih_png_unfilter_plain(unsigned filter, uint8_t *row, const uint8_t *above, size_t n_bytes,
                           unsigned step);

/* What ih_png_unfilter is compiled for: "SSE2", "NEON", "plain C". */
const char *ih_png_unfilter_target(void);

#endif
