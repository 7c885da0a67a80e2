/* Sizes of type, lines and margins, for all kinds of charts. They grow with the smaller of width
 * and height, and stay readable in the smallest chart. */
#ifndef IH_OUTPUT_CHART_SIZES_H
#define IH_OUTPUT_CHART_SIZES_H

#include <stdint.h>

/* At the design size, ordinary type is IH_DESIGN_EM pixels. */
enum { IH_DESIGN_WIDTH = 1024, IH_DESIGN_HEIGHT = 640, IH_DESIGN_EM = 13, IH_EM_LEAST = 10 };

/* In hundredths of the em. */
enum { IH_TITLE_SIZE = 150, IH_CAPITALS = 73 /* height in DejaVu Sans: 0.729 em */ };

static inline int32_t ih_larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t ih_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The size of ordinary type, in pixels. */
static inline int32_t ih_em_of(int32_t width, int32_t height)
{
    return ih_larger(IH_EM_LEAST, ih_smaller(width * IH_DESIGN_EM / IH_DESIGN_WIDTH,
                                             height * IH_DESIGN_EM / IH_DESIGN_HEIGHT));
}

/* Converts hundredths of an em to pixels. */
static inline int32_t ih_ems(int32_t em, int32_t hundredths)
{
    return (em * hundredths + 50) / 100;
}

/* The margin around the chart, in pixels. */
static inline int32_t ih_margin_of(int32_t width, int32_t height, int32_t em)
{
    return ih_larger(em * 3 / 5, ih_smaller(width, height) / 32);
}

/* The width of the thinnest line, in pixels. */
static inline int32_t ih_hair_of(int32_t em)
{
    return ih_larger(1, (em + IH_DESIGN_EM / 2) / IH_DESIGN_EM);
}

#endif
