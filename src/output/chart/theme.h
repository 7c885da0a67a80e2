/* The colours of a chart. A theme is one row of the table in theme.c. */
#ifndef IH_OUTPUT_CHART_THEME_H
#define IH_OUTPUT_CHART_THEME_H

#include "output/chart/canvas.h"
#include "output/chart/chart.h"

struct ih_chart_theme {
    const char *name;
    enum ih_blend mixing; /* of the areas of the three channels */
    struct ih_colour page, panel;
    struct ih_colour red, green, blue, gray; /* areas */
    struct ih_colour luma, casing;           /* the luma line, and its contrasting edge */
    struct ih_colour text, muted;            /* names and marks; all other text */
    struct ih_colour line;                   /* axes and grid */
    struct ih_colour warning;                /* marks of clipping */
    uint8_t grid_opacity, axis_opacity, casing_opacity;
};

extern const struct ih_chart_theme ih_chart_theme_dark;

#endif
