/*
 * The numbers of the axes and the legend.
 *
 * The legend names each plane by its colour and gives mean and standard deviation, in columns of
 * equal width under the plot. Where a column is too narrow for its numbers the names stand alone,
 * side by side; where even they do not fit there is none.
 */
#include "output/chart_parts.h"

#include <stdio.h>

/* In hundredths of the em. */
enum {
    HALF_A_DIGIT = 36, /* height of one, so that a number is centred on its line */
    SWATCH = 78,       /* a square */
    SWATCH_GAP = 45,   /* to the name */
    WORD_GAP = 60,     /* from the name to its numbers */
    ENTRY_GAP = 180    /* least distance of two entries */
};

void ih_chart_draw_numbers(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    const int32_t plot_height = (l->bottom - l->top) * IH_SUBPIXELS;
    const int32_t column = l->numbers_right * IH_SUBPIXELS;
    char number[IH_LABEL_MAX];
    for (unsigned i = 0; i < chart->axis.n_ticks; i++) {
        int32_t height = ih_chart_axis_height(&chart->axis, chart->axis.ticks[i], plot_height);
        int32_t baseline = l->bottom * IH_SUBPIXELS - height + ih_chart_ems(l, HALF_A_DIGIT);
        ih_label_count(number, chart->axis.ticks[i]);
        ih_chart_write(chart, column, baseline / IH_SUBPIXELS, IH_CHART_RIGHT, t->muted, number);
    }
    for (unsigned i = 0; i < IH_CHART_VALUE_TICKS; i++) {
        snprintf(number, sizeof number, "%u", ih_chart_value_ticks[i]);
        int32_t x = ih_chart_value_x(l, ih_chart_value_ticks[i]);
        int32_t half = ih_chart_width(chart, number) / 2;
        int32_t last = (l->width - l->margin / 2) * IH_SUBPIXELS - half;
        ih_chart_write(chart, x < last ? x : last, l->ticks_y, IH_CHART_CENTRE, t->muted, number);
    }
    ih_chart_write(chart, column, l->strip_y, IH_CHART_RIGHT, t->muted, ih_chart_counts_caption);
    ih_chart_write(chart, column, l->ticks_y, IH_CHART_RIGHT, t->muted, ih_chart_values_caption);
}

/* ---- legend ---- */

struct entry {
    const char *name; /* static */
    struct ih_colour colour;
    bool is_line; /* drawn as a line, not an area */
    char numbers[IH_LABEL_MAX];
    int32_t name_width, width; /* without and with numbers */
};

enum { ENTRIES_MAX = 4 };

static struct ih_colour plane_colour(const struct ih_chart *chart, unsigned plane)
{
    const struct ih_chart_theme *t = chart->theme;
    const struct ih_colour channels[] = {t->red, t->green, t->blue};
    if (plane == IH_LUMA)
        return t->luma;
    bool is_gray = ih_colour_channels(chart->result->histogram.n_channels) == 1;
    return is_gray ? t->gray : channels[plane];
}

static void describe_plane(const struct ih_chart *chart, unsigned plane, struct entry *entry)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_histogram *h = &chart->result->histogram;
    *entry = (struct entry){ih_plane_name(h->n_channels, plane),
                            plane_colour(chart, plane),
                            plane == IH_LUMA,
                            "",
                            0,
                            0};
    entry->name_width = ih_chart_ems(l, SWATCH + SWATCH_GAP) + ih_chart_width(chart, entry->name);
    entry->width = entry->name_width;
    if (h->n_pixels == 0)
        return;
    struct ih_stats stats;
    char mean[IH_LABEL_MAX], deviation[IH_LABEL_MAX];
    ih_stats_compute(h, plane, &chart->result->spec, &stats);
    ih_label_real(mean, stats.mean, 1);
    ih_label_real(deviation, stats.stddev, 1);
    snprintf(entry->numbers, sizeof entry->numbers, "mean %.32s  sd %.32s", mean, deviation);
    entry->width += ih_chart_ems(l, WORD_GAP) + ih_chart_width(chart, entry->numbers);
}

static void draw_swatch(struct ih_chart *chart, int32_t x, const struct entry *entry)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t size = ih_chart_ems(l, SWATCH) / IH_SUBPIXELS, left = x / IH_SUBPIXELS;
    int32_t bottom = l->legend_y, top = bottom - size;
    if (entry->is_line) {
        int32_t thickness = 2 * l->hair;
        top += (size - thickness) / 2;
        bottom = top + thickness;
    }
    ih_chart_fill_box(chart, left, top, left + size, bottom, entry->colour, 255);
}

static void draw_entry(struct ih_chart *chart, int32_t x, const struct entry *entry,
                       bool with_numbers)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t name_x = x + ih_chart_ems(l, SWATCH + SWATCH_GAP);
    int32_t numbers_x = x + entry->name_width + ih_chart_ems(l, WORD_GAP);
    draw_swatch(chart, x, entry);
    ih_chart_write(chart, name_x, l->legend_y, IH_CHART_LEFT, chart->theme->text, entry->name);
    if (with_numbers)
        ih_chart_write(chart, numbers_x, l->legend_y, IH_CHART_LEFT, chart->theme->muted,
                       entry->numbers);
}

void ih_chart_draw_legend(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    struct entry entries[ENTRIES_MAX];
    int32_t n = 0, widest = 0, names_width = 0;
    if (l->legend_y == 0)
        return;
    for (unsigned plane = 0; plane < IH_PLANES; plane++) {
        if (!ih_chart_draws_plane(&chart->result->histogram, plane))
            continue;
        describe_plane(chart, plane, &entries[n]);
        widest = entries[n].width > widest ? entries[n].width : widest;
        names_width += entries[n++].name_width;
    }
    int32_t gap = ih_chart_ems(l, ENTRY_GAP), plot_width = (l->right - l->left) * IH_SUBPIXELS;
    bool with_numbers = (widest + gap) * n - gap <= plot_width;
    if (!with_numbers && names_width + gap * (n - 1) > plot_width)
        return;
    for (int32_t i = 0, x = l->left * IH_SUBPIXELS; i < n; i++) {
        draw_entry(chart, x, &entries[i], with_numbers);
        x += with_numbers ? (plot_width + gap) / n : entries[i].name_width + gap;
    }
}
