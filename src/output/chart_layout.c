/*
 * Where things are.
 *
 *     margin
 *     title
 *     subtitle                      dropped first where the chart is low, then the legend
 *     strip: clipped, cut
 *     +-------------------------+
 *     | plot                    |   numbers of the counts at its left
 *     +-------------------------+
 *     numbers of the values
 *     legend
 *     margin
 *
 * All follows from the size of the type, which grows with the smaller of width and height, and
 * never falls below what can be read. Rows are laid out from both ends and the plot has what is
 * left; then the axis can choose its ticks, and only then the width of their numbers is known.
 */
#include "output/chart_parts.h"

const char ih_chart_counts_caption[] = "pixels";
const char ih_chart_values_caption[] = "value";

/* Quarters of the range, and its last value. */
const unsigned ih_chart_value_ticks[IH_CHART_VALUE_TICKS] = {0, 64, 128, 192, 255};

/* The design's size, where type is EM pixels. */
enum { DESIGN_WIDTH = 1024, DESIGN_HEIGHT = 640, EM = 13, EM_LEAST = 10 };

/* Parts of the em, in hundredths. */
enum {
    TITLE_SIZE = 150,
    CAPITALS = 73, /* DejaVu Sans's: 0.729 em */
    TITLE_TO_SUBTITLE = 175,
    HEADER_TO_STRIP = 225,
    STRIP_TO_PLOT = 105, /* room for the marks of cut bars */
    PLOT_TO_TICKS = 150, /* baseline under the plot */
    TICKS_TO_LEGEND = 220,
    NUMBERS_TO_PLOT = 70,
    TICK_GAP = 200, /* least distance of two numbers on the vertical axis */
};

/* A plot lower than this share of the chart, in percent, is worth more than the row that squeezes
 * it. */
enum { PLOT_SHARE = 40 };

/* Ticks are not denser than this many on the vertical axis. */
static const double TICKS_WANTED = 8;

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t ems(const struct ih_chart_layout *l, int32_t hundredths)
{
    return (l->em * hundredths + 50) / 100;
}

/* Sizes that follow from the chart's: for the em, the design's in proportion. */
static void choose_sizes(struct ih_chart_layout *l)
{
    int32_t by_width = l->width * EM / DESIGN_WIDTH, by_height = l->height * EM / DESIGN_HEIGHT;
    l->em = larger(EM_LEAST, smaller(by_width, by_height));
    l->title_em = ems(l, TITLE_SIZE);
    l->margin = larger(l->em * 3 / 5, smaller(l->width, l->height) / 32);
    l->hair = larger(1, (l->em + EM / 2) / EM);
}

static void place_rows(struct ih_chart_layout *l, bool has_subtitle, bool has_legend)
{
    int32_t y = l->margin + ems(l, TITLE_SIZE * CAPITALS / 100);
    l->title_y = y;
    l->subtitle_y = has_subtitle ? y += ems(l, TITLE_TO_SUBTITLE) : 0;
    l->strip_y = y += ems(l, HEADER_TO_STRIP);
    l->top = y + ems(l, STRIP_TO_PLOT);
    y = l->height - l->margin;
    l->legend_y = has_legend ? y : 0;
    l->ticks_y = has_legend ? y - ems(l, TICKS_TO_LEGEND) : y;
    l->bottom = l->ticks_y - ems(l, PLOT_TO_TICKS);
}

static bool plot_is_high(const struct ih_chart_layout *l)
{
    return (l->bottom - l->top) * 100 >= l->height * PLOT_SHARE;
}

/* Pixels that the numbers and the captions left of the plot take. */
static int32_t numbers_width(const struct ih_chart *chart)
{
    int32_t width = larger(ih_chart_width(chart, ih_chart_counts_caption),
                           ih_chart_width(chart, ih_chart_values_caption));
    for (unsigned i = 0; i < chart->axis.n_ticks; i++) {
        char number[IH_LABEL_MAX];
        ih_label_count(number, chart->axis.ticks[i]);
        width = larger(width, ih_chart_width(chart, number));
    }
    return (width + IH_SUBPIXELS - 1) / IH_SUBPIXELS;
}

void ih_chart_lay_out(struct ih_chart *chart, const struct ih_chart_options *options)
{
    struct ih_chart_layout *l = &chart->layout;
    *l = (struct ih_chart_layout){.width = (int32_t)options->width,
                                  .height = (int32_t)options->height};
    choose_sizes(l);
    place_rows(l, true, true);
    if (!plot_is_high(l))
        place_rows(l, false, true);
    if (!plot_is_high(l))
        place_rows(l, false, false);

    double plot_height = l->bottom - l->top;
    double gap = ems(l, TICK_GAP) / plot_height;
    if (chart->axis.scale->steps != IH_STEPS_DECADES && gap < 1 / TICKS_WANTED)
        gap = 1 / TICKS_WANTED;
    ih_chart_axis_init(&chart->axis, &chart->result->histogram, chart->axis.scale, gap);
    l->numbers_right = l->margin + numbers_width(chart);
    l->left = l->numbers_right + ems(l, NUMBERS_TO_PLOT);
    l->right = l->width - l->margin;
}
