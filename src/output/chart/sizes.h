/* Sizes of type, lines and margins, the same in both kinds of charts: they grow with the smaller of
 * width and height, and never fall below what can be read. */
#ifndef IH_OUTPUT_CHART_SIZES_H
#define IH_OUTPUT_CHART_SIZES_H

#include <stdint.h>

/* The design's size, where type is IH_DESIGN_EM pixels. */
enum { IH_DESIGN_WIDTH = 1024, IH_DESIGN_HEIGHT = 640, IH_DESIGN_EM = 13, IH_EM_LEAST = 10 };

/* Parts of the em, in hundredths. */
enum { IH_TITLE_SIZE = 150, IH_CAPITALS = 73 /* DejaVu Sans's: 0.729 em */ };

static inline int32_t ih_larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t ih_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Of ordinary type, in pixels. */
static inline int32_t ih_em_of(int32_t width, int32_t height)
{
    return ih_larger(IH_EM_LEAST, ih_smaller(width * IH_DESIGN_EM / IH_DESIGN_WIDTH,
                                             height * IH_DESIGN_EM / IH_DESIGN_HEIGHT));
}

/* Hundredths of an em in whole pixels. */
static inline int32_t ih_ems(int32_t em, int32_t hundredths)
{
    return (em * hundredths + 50) / 100;
}

/* Around everything. */
static inline int32_t ih_margin_of(int32_t width, int32_t height, int32_t em)
{
    return ih_larger(em * 3 / 5, ih_smaller(width, height) / 32);
}

/* The thinnest line. */
static inline int32_t ih_hair_of(int32_t em)
{
    return ih_larger(1, (em + IH_DESIGN_EM / 2) / IH_DESIGN_EM);
}

#endif
