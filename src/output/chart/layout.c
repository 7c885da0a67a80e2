/*
 * Where things are.
 *
 *     margin
 *     title                     scale
 *     strip: clipped, cut
 *     +-------------------------+
 *     | plot                    |   numbers of the counts at its left
 *     +-------------------------+
 *     numbers of the values
 *     legend                        one row, or a few where the chart is narrow
 *     facts                         the same
 *     margin
 *
 * All follows from the size of the type (chart_sizes.h). Rows are laid out from both ends and the
 * plot has what is left; where that is too little, the footer gives way. Then the axis can choose
 * its ticks, and only then the width of their numbers is known.
 */
#include "output/chart/parts.h"
#include "output/chart/sizes.h"

/* Parts of the em, in hundredths. */
enum {
    HEADER_TO_STRIP = 250,
    STRIP_TO_PLOT = 105, /* room for the marks of cut bars */
    PLOT_TO_TICKS = 150, /* baseline under the plot */
    TICKS_TO_FOOTER = 220,
    ROW_PITCH = 175,
    NUMBERS_TO_PLOT = 70,
    TICK_GAP = 200, /* least distance of two numbers on the vertical axis */
};

/* A plot lower than this share of the chart, in percent, is worth more than the rows that squeeze
 * it. */
enum { PLOT_SHARE = 40 };

/* Ticks are not denser than this many on the vertical axis. */
static const double TICKS_WANTED = 8;

/* Footers, the one that tells the most first. */
struct footer {
    bool has_legend, has_numbers, has_facts, has_all_facts;
};

static const struct footer footers[] = {
    {true, true, true, true},    {true, true, true, false},    {true, false, true, false},
    {true, false, false, false}, {false, false, false, false},
};

static int32_t ems(const struct ih_chart_layout *l, int32_t hundredths)
{
    return ih_ems(l->em, hundredths);
}

static void choose_sizes(struct ih_chart_layout *l)
{
    l->em = ih_em_of(l->width, l->height);
    l->title_em = ems(l, IH_TITLE_SIZE);
    l->margin = ih_margin_of(l->width, l->height, l->em);
    l->hair = ih_hair_of(l->em);
    l->row_pitch = ems(l, ROW_PITCH);
}

/* ---- rows ---- */

/* The fewest rows in which the legend's entries and their numbers fit, side by side in columns. */
static void choose_columns(struct ih_chart *chart)
{
    struct ih_chart_layout *l = &chart->layout;
    const int32_t n = (int32_t)chart->facts.n_entries, gap = ih_chart_entry_gap(chart);
    const int32_t whole = (l->right - l->margin) * IH_SUBPIXELS;
    l->legend_columns = 0;
    for (l->legend_rows = 1; l->legend_rows <= n; l->legend_rows++) {
        const int32_t columns = (n + l->legend_rows - 1) / l->legend_rows;
        int32_t widest = 0;
        for (int32_t i = 0; i < n; i++)
            widest = ih_larger(widest, ih_chart_entry_width(chart, &chart->facts.entries[i], true));
        if ((widest + gap) * columns - gap > whole)
            continue;
        l->legend_columns = columns;
        return;
    }
}

static bool names_fit(const struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t width = -ih_chart_entry_gap(chart);
    for (unsigned i = 0; i < chart->facts.n_entries; i++)
        width += ih_chart_entry_width(chart, &chart->facts.entries[i], false) +
                 ih_chart_entry_gap(chart);
    return width <= (l->right - l->margin) * IH_SUBPIXELS;
}

static void choose_rows(struct ih_chart *chart, const struct footer *footer)
{
    struct ih_chart_layout *l = &chart->layout;
    l->legend_rows = l->legend_columns = l->facts_rows = 0;
    if (footer->has_legend && footer->has_numbers)
        choose_columns(chart);
    if (footer->has_legend && l->legend_columns == 0)
        l->legend_rows = names_fit(chart) ? 1 : 0;
    if (footer->has_facts)
        l->facts_rows = footer->has_all_facts
                            ? ih_chart_count_fact_rows(chart, (l->right - l->margin) * IH_SUBPIXELS)
                            : 1;
}

static void place_rows(struct ih_chart_layout *l)
{
    l->title_y = l->margin + ems(l, IH_TITLE_SIZE * IH_CAPITALS / 100);
    l->strip_y = l->title_y + ems(l, HEADER_TO_STRIP);
    l->top = l->strip_y + ems(l, STRIP_TO_PLOT);

    const int32_t n_rows = l->legend_rows + l->facts_rows;
    int32_t y = l->height - l->margin - ih_larger(0, n_rows - 1) * l->row_pitch;
    l->legend_y = y;
    l->facts_y = y + l->legend_rows * l->row_pitch;
    l->ticks_y = n_rows > 0 ? y - ems(l, TICKS_TO_FOOTER) : y;
    l->bottom = l->ticks_y - ems(l, PLOT_TO_TICKS);
}

static bool plot_is_high(const struct ih_chart_layout *l)
{
    return (l->bottom - l->top) * 100 >= l->height * PLOT_SHARE;
}

/* Pixels that the numbers and the captions left of the plot take. */
static int32_t numbers_width(const struct ih_chart *chart)
{
    int32_t width = ih_larger(ih_chart_width(chart, ih_chart_counts_caption),
                              ih_chart_width(chart, ih_chart_values_caption));
    for (unsigned i = 0; i < chart->axis.n_ticks; i++) {
        char number[IH_LABEL_MAX];
        ih_label_count(number, chart->axis.ticks[i]);
        width = ih_larger(width, ih_chart_width(chart, number));
    }
    return (width + IH_SUBPIXELS - 1) / IH_SUBPIXELS;
}

void ih_chart_lay_out(struct ih_chart *chart, unsigned width, unsigned height)
{
    struct ih_chart_layout *l = &chart->layout;
    *l = (struct ih_chart_layout){.width = (int32_t)width, .height = (int32_t)height};
    choose_sizes(l);
    l->right = l->width - l->margin;
    for (size_t i = 0; i < sizeof footers / sizeof *footers; i++) {
        choose_rows(chart, &footers[i]);
        place_rows(l);
        if (plot_is_high(l))
            break;
    }
    double plot_height = l->bottom - l->top;
    double gap = ems(l, TICK_GAP) / plot_height;
    if (chart->axis.scale->steps != IH_STEPS_DECADES && gap < 1 / TICKS_WANTED)
        gap = 1 / TICKS_WANTED;
    ih_chart_axis_init(&chart->axis, &chart->result->histogram, chart->axis.scale, gap);
    l->numbers_right = l->margin + numbers_width(chart);
    l->left = l->numbers_right + ems(l, NUMBERS_TO_PLOT);
}
