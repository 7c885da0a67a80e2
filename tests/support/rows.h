/* Tables with a row for each plane of images of up to four channels; luma has the last one. */
#ifndef IH_TESTS_ROWS_H
#define IH_TESTS_ROWS_H

#include "imghist.h"

enum { LUMA_ROW = 4, N_ROWS };

static inline unsigned plane_of(unsigned row)
{
    return row == LUMA_ROW ? (unsigned)IH_LUMA : row;
}

#endif
