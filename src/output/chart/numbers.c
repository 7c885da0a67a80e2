/* The numbers of the axes, and what they count. */
#include "output/chart/parts.h"

#include <stdio.h>

enum {
    HALF_A_DIGIT = 36
}; /* height of one in hundredths of the em: a number is centred on its line */

const char ih_chart_counts_caption[] = "pixels";
const char ih_chart_values_caption[] = "value";

/* Quarters of the range, and its last value. */
const unsigned ih_chart_value_ticks[IH_CHART_VALUE_TICKS] = {0, 64, 128, 192, 255};

static void draw_counts(struct ih_chart *chart, int32_t column)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t plot_height = (l->bottom - l->top) * IH_SUBPIXELS;
    char number[IH_LABEL_MAX];
    for (unsigned i = 0; i < chart->axis.n_ticks; i++) {
        int32_t height = ih_chart_axis_height(&chart->axis, chart->axis.ticks[i], plot_height);
        int32_t baseline = l->bottom * IH_SUBPIXELS - height + ih_chart_ems(l, HALF_A_DIGIT);
        ih_label_count(number, chart->axis.ticks[i]);
        ih_chart_write(chart, column, baseline / IH_SUBPIXELS, IH_ALIGN_RIGHT, chart->theme->muted,
                       number);
    }
}

static void draw_values(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    char number[IH_LABEL_MAX];
    for (unsigned i = 0; i < IH_CHART_VALUE_TICKS; i++) {
        snprintf(number, sizeof number, "%u", ih_chart_value_ticks[i]);
        int32_t x = ih_chart_value_x(l, ih_chart_value_ticks[i]);
        int32_t half = ih_chart_width(chart, number) / 2;
        int32_t last = (l->width - l->margin / 2) * IH_SUBPIXELS - half;
        ih_chart_write(chart, x < last ? x : last, l->ticks_y, IH_ALIGN_CENTRE, chart->theme->muted,
                       number);
    }
}

void ih_chart_draw_numbers(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t column = l->numbers_right * IH_SUBPIXELS;
    draw_counts(chart, column);
    draw_values(chart);
    ih_chart_write(chart, column, l->strip_y, IH_ALIGN_RIGHT, chart->theme->muted,
                   ih_chart_counts_caption);
    ih_chart_write(chart, column, l->ticks_y, IH_ALIGN_RIGHT, chart->theme->muted,
                   ih_chart_values_caption);
}
