/* Tables with a row for each plane of images of up to four channels; luma has the last one. */
#ifndef IH_TESTS_ROWS_H
#define IH_TESTS_ROWS_H

#include "histogram/histogram.h"

enum { LUMA_ROW = 4, N_ROWS };

static inline unsigned plane_of(unsigned row)
{
    return row == LUMA_ROW ? (unsigned)IH_LUMA : row;
}

static inline bool has_row(const struct ih_histogram *h, unsigned row)
{
    return plane_of(row) == IH_LUMA ? ih_has_luma(h) : row < h->layout.n_channels;
}

#endif
