/*
 * Undoes the filters of PNG rows. Source: the PNG specification, section 9.
 *
 * Compiled for SSE2 or NEON when the compiler's target has them, else in plain C. The plain
 * functions are always compiled, so that tests can compare with them.
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
 * Undoes the filter of a row in place.
 *
 * filter   below IH_PNG_FILTERS
 * row      n_bytes, a multiple of step
 * above    the row above, its filter undone; NULL for the first row, which has zeros above
 * step     bytes of a pixel, at least 1: 1, 2, 3, 4, 6 or 8
 *
 * Reads up to IH_PNG_SLACK bytes past the end of both rows; writes none past the end of row. The
 * rows do not overlap.
 */
void ih_png_unfilter(unsigned filter, uint8_t *row, const uint8_t *above, size_t n_bytes,
                     unsigned step);
void ih_png_unfilter_plain(unsigned filter, uint8_t *row, const uint8_t *above, size_t n_bytes,
                           unsigned step);

/* Undoes Paeth of row, and of below, the row under it. above is not NULL. With steps of up to 4
 * this takes less time than one after the other. Reads the slack of all three rows. */
void ih_png_unfilter_paeth_two(uint8_t *row, uint8_t *below, const uint8_t *above, size_t n_bytes,
                               unsigned step);

/* The target that ih_png_unfilter is compiled for: "SSE2", "NEON" or "plain C". */
const char *ih_png_unfilter_target(void);

#endif
