/*
 * The line over the plot: what is clipped, at both ends, and in between what is cut.
 *
 * The triangles follow from the joint counts of clipped pixels and never from the height of a bar:
 * a hundred clipped pixels of a hundred million are no bar one could see, and still say that the
 * exposure touched the end. A triangle is filled where some pixels are clipped in all channels, and
 * hollow where each keeps a channel that is not: colour is wrong there, but not lost.
 */
#include "output/chart/parts.h"

#include <stdio.h>

/* In hundredths of the em. */
enum { TRIANGLE = 80, RIM = 14, TRIANGLE_GAP = 40, TEXT_GAP = 150, HALF_A_CAPITAL = 36 };

/* How much is said of each end, the most first. */
enum detail { ANY_AND_ALL, ANY_AND_WHERE, ANY, N_DETAILS };

struct end {
    bool is_right;
    uint64_t any, all;    /* pixels */
    unsigned first, last; /* values that count as clipped */
};

static void describe(const struct ih_chart *chart, const struct end *end, enum detail detail,
                     char text[IH_LABEL_MAX])
{
    const struct ih_histogram *h = &chart->result->histogram;
    char any[IH_LABEL_MAX], all[IH_LABEL_MAX], where[IH_LABEL_MAX];
    bool is_colour = ih_colour_channels(h->n_channels) > 1;
    ih_label_percent(any, end->any, h->n_pixels);
    ih_label_percent(all, end->all, h->n_pixels);
    if (end->first == end->last)
        snprintf(where, sizeof where, "%u", end->first);
    else
        snprintf(where, sizeof where, "%u\xe2\x80\x93%u", end->first, end->last);
    if (detail == ANY)
        snprintf(text, IH_LABEL_MAX, "%.32s", any);
    else if (detail == ANY_AND_ALL && is_colour)
        snprintf(text, IH_LABEL_MAX, "%.32s at %.16s, %.32s in all channels", any, where, all);
    else
        snprintf(text, IH_LABEL_MAX, "%.32s at %.16s", any, where);
}

/* A triangle that points to its end of the plot, as wide as `size`, inset on all sides by `rim`. */
static void add_triangle(struct ih_chart *chart, const struct end *end, int32_t rim, bool backwards)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t size = ih_chart_ems(l, TRIANGLE), sign = end->is_right ? -1 : 1;
    int32_t tip = (end->is_right ? l->right : l->left) * IH_SUBPIXELS + sign * rim * 9 / 4;
    int32_t base = tip + sign * (size - rim * 13 / 4);
    int32_t middle = l->strip_y * IH_SUBPIXELS - ih_chart_ems(l, HALF_A_CAPITAL);
    int32_t half = (size - rim * 13 / 4) / 2;
    ih_path_move(&chart->path, tip, middle);
    ih_path_line(&chart->path, base, backwards ? middle + half : middle - half);
    ih_path_line(&chart->path, base, backwards ? middle - half : middle + half);
}

static int32_t end_width(const struct ih_chart *chart, const struct end *end, enum detail detail)
{
    char text[IH_LABEL_MAX];
    if (end->any == 0)
        return 0;
    describe(chart, end, detail, text);
    return ih_chart_ems(&chart->layout, TRIANGLE + TRIANGLE_GAP) + ih_chart_width(chart, text);
}

static void draw_end(struct ih_chart *chart, const struct end *end, enum detail detail)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    char text[IH_LABEL_MAX];
    if (end->any == 0)
        return;
    ih_path_clear(&chart->path);
    add_triangle(chart, end, 0, false);
    if (end->all == 0) /* a hole: the same, smaller, the other way round */
        add_triangle(chart, end, ih_chart_ems(l, RIM), true);
    ih_chart_fill(chart, t->warning, 255, IH_BLEND_NORMAL);
    describe(chart, end, detail, text);
    int32_t past = ih_chart_ems(l, TRIANGLE + TRIANGLE_GAP);
    if (end->is_right)
        ih_chart_write(chart, l->right * IH_SUBPIXELS - past, l->strip_y, IH_ALIGN_RIGHT, t->text,
                       text);
    else
        ih_chart_write(chart, l->left * IH_SUBPIXELS + past, l->strip_y, IH_ALIGN_LEFT, t->text,
                       text);
}

/* Says how high the cut bars would be, in the middle between x0 and x1, where it fits. */
static void draw_cut_note(struct ih_chart *chart, int32_t x0, int32_t x1)
{
    const struct ih_chart_layout *l = &chart->layout;
    char count[IH_LABEL_MAX], text[IH_LABEL_MAX];
    if (chart->axis.tallest_cut == 0)
        return;
    ih_label_count(count, chart->axis.tallest_cut);
    snprintf(text, sizeof text, "\xe2\x96\xb2 cut, up to %.32s", count);
    if (ih_chart_width(chart, text) + 2 * ih_chart_ems(l, TEXT_GAP) > x1 - x0)
        return;
    ih_chart_write(chart, (x0 + x1) / 2, l->strip_y, IH_ALIGN_CENTRE, chart->theme->muted, text);
}

void ih_chart_draw_strip(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_histogram *h = &chart->result->histogram;
    const struct ih_count_spec *spec = &chart->result->spec;
    const struct end low = {false, h->any_low, h->all_low, 0, spec->clip_low};
    const struct end high = {true, h->any_high, h->all_high, spec->clip_high, IH_BINS - 1};
    int32_t plot_width = (l->right - l->left) * IH_SUBPIXELS, gap = ih_chart_ems(l, TEXT_GAP);
    if (h->n_pixels == 0)
        return;
    enum detail detail = ANY_AND_ALL;
    while (detail < ANY &&
           end_width(chart, &low, detail) + end_width(chart, &high, detail) + gap > plot_width)
        detail++;
    draw_end(chart, &low, detail);
    draw_end(chart, &high, detail);
    draw_cut_note(chart, l->left * IH_SUBPIXELS + end_width(chart, &low, detail),
                  l->right * IH_SUBPIXELS - end_width(chart, &high, detail));
}
