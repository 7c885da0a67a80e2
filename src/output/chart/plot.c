/*
 * The plot: panel, grid, areas, the luma line, axes, and marks where a bar is cut.
 *
 * The channels are step areas that are blended, so that where they overlap one sees all of them,
 * whichever is drawn last. Luma lies over them as a line, since a fourth area would turn every
 * colour pale; a thin dark edge keeps it visible on an area as light as itself. A gray image is one
 * area. Alpha is not drawn: it says nothing about tones, and its two spikes at 0 and 255 would hide
 * what does. How much is transparent stands in the subtitle.
 */
#include "output/chart/parts.h"

enum { N_EDGES = IH_BINS + 1 };

/* The luma line: LUMA_WIDTH hundredths of the em, but less where bins are so narrow that their
 * steps would run together, and never less than can be seen. Its edge is CASING_TENTHS tenths as
 * wide. */
enum { LUMA_WIDTH = 11, LUMA_LEAST = IH_SUBPIXELS * 4 / 5, CASING_TENTHS = 20 };

/* Marks of cut bars and ticks, in hundredths of the em. */
enum { CUT_MARK_WIDTH = 70, CUT_MARK_HEIGHT = 42, TICK_LENGTH = 35 };

static int32_t bar_y(const struct ih_chart *chart, uint64_t n)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t height = (l->bottom - l->top) * IH_SUBPIXELS;
    return l->bottom * IH_SUBPIXELS - ih_chart_axis_height(&chart->axis, n, height);
}

/* ---- grid and axes ---- */

static void draw_grid(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    for (unsigned i = 1; i < chart->axis.n_ticks; i++) {
        int32_t y = bar_y(chart, chart->axis.ticks[i]) / IH_SUBPIXELS;
        ih_chart_fill_box(chart, l->left, y, l->right, y + l->hair, t->line, t->grid_opacity);
    }
    for (unsigned i = 0; i < IH_CHART_VALUE_TICKS; i++) {
        int32_t x = ih_chart_value_x(l, ih_chart_value_ticks[i]) / IH_SUBPIXELS;
        ih_chart_fill_box(chart, x, l->top, x + l->hair, l->bottom, t->line, t->grid_opacity);
    }
}

static void draw_axes(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    int32_t length = ih_chart_ems(l, TICK_LENGTH) / IH_SUBPIXELS;
    ih_chart_fill_box(chart, l->left, l->bottom, l->right, l->bottom + l->hair, t->line,
                      t->axis_opacity);
    for (unsigned i = 0; i < IH_CHART_VALUE_TICKS; i++) {
        int32_t x = ih_chart_value_x(l, ih_chart_value_ticks[i]) / IH_SUBPIXELS;
        ih_chart_fill_box(chart, x, l->bottom + l->hair, x + l->hair, l->bottom + length, t->line,
                          t->axis_opacity);
    }
}

/* ---- areas ---- */

static void draw_area(struct ih_chart *chart, unsigned plane, struct ih_colour colour,
                      enum ih_blend blend)
{
    const struct ih_chart_layout *l = &chart->layout;
    const uint64_t *bins = chart->result->histogram.bins[plane];
    struct ih_path *path = &chart->path;
    ih_path_clear(path);
    ih_path_move(path, ih_chart_bin_x(l, 0), l->bottom * IH_SUBPIXELS);
    for (unsigned v = 0; v < IH_BINS; v++) {
        int32_t y = bar_y(chart, bins[v]);
        ih_path_line(path, ih_chart_bin_x(l, v), y);
        ih_path_line(path, ih_chart_bin_x(l, v + 1), y);
    }
    ih_path_line(path, ih_chart_bin_x(l, IH_BINS), l->bottom * IH_SUBPIXELS);
    ih_chart_fill(chart, colour, 255, blend);
}

static void draw_areas(struct ih_chart *chart)
{
    const struct ih_chart_theme *t = chart->theme;
    if (ih_colour_channels(chart->result->histogram.n_channels) == 1) {
        draw_area(chart, 0, t->gray, IH_BLEND_NORMAL);
        return;
    }
    const struct ih_colour colours[] = {t->red, t->green, t->blue};
    for (unsigned plane = 0; plane < 3; plane++)
        draw_area(chart, plane, colours[plane], t->mixing);
}

/* ---- the luma line ---- */

/* Highest and lowest point that a square pen touches between two of its positions along x. */
struct reach {
    int32_t x, high, low;
};

/*
 * A line along the steps is what a square pen of half-width d leaves when its centre follows them.
 * At x the pen's centre passes the bins within d of x, so the line reaches from d above the highest
 * of them to d below the lowest. This changes only d left and d right of an edge of a bin: both
 * rows of positions are sorted, and are walked together. Before bin 0 and after the last one the
 * curve is at the foot.
 */
static size_t follow_steps(const struct ih_chart *chart, int32_t d, struct reach out[2 * N_EDGES])
{
    const struct ih_chart_layout *l = &chart->layout;
    const uint64_t *bins = chart->result->histogram.bins[IH_LUMA];
    const int32_t top = l->top * IH_SUBPIXELS, foot = l->bottom * IH_SUBPIXELS;
    unsigned entered = 0, left = 0; /* edges that the pen has come to, and has left behind */
    size_t n = 0;
    while (left < N_EDGES) {
        bool enters =
            entered < N_EDGES && ih_chart_bin_x(l, entered) - d <= ih_chart_bin_x(l, left) + d;
        int32_t x = enters ? ih_chart_bin_x(l, entered++) - d : ih_chart_bin_x(l, left++) + d;
        struct reach r = {x, foot, top};
        for (unsigned edge = left; edge <= entered; edge++) { /* bin edge - 1 is left of an edge */
            bool is_bin = edge >= 1 && edge <= IH_BINS;
            int32_t y = is_bin ? bar_y(chart, bins[edge - 1]) : foot;
            r.high = y < r.high ? y : r.high;
            r.low = y > r.low ? y : r.low;
        }
        r.high = r.high - d > top ? r.high - d : top;
        r.low = r.low + d < foot ? r.low + d : foot;
        out[n++] = r;
    }
    return n;
}

static void draw_along_luma(struct ih_chart *chart, int32_t width, struct ih_colour colour,
                            uint8_t opacity)
{
    struct reach reach[2 * N_EDGES];
    struct ih_path *path = &chart->path;
    size_t n = follow_steps(chart, width / 2, reach);
    ih_path_clear(path);
    ih_path_move(path, reach[0].x, reach[0].low);
    for (size_t i = 0; i + 1 < n; i++) {
        ih_path_line(path, reach[i].x, reach[i].high);
        ih_path_line(path, reach[i + 1].x, reach[i].high);
    }
    for (size_t i = n - 1; i-- > 0;) {
        ih_path_line(path, reach[i + 1].x, reach[i].low);
        ih_path_line(path, reach[i].x, reach[i].low);
    }
    ih_chart_fill(chart, colour, opacity, IH_BLEND_NORMAL);
}

static void draw_luma(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    int32_t of_bin = (l->right - l->left) * 2 / 5; /* two fifths: a bin is as many subpixels */
    int32_t width = ih_chart_ems(l, LUMA_WIDTH);
    if (width > of_bin)
        width = of_bin > LUMA_LEAST ? of_bin : LUMA_LEAST;
    draw_along_luma(chart, width * CASING_TENTHS / 10, t->casing, t->casing_opacity);
    draw_along_luma(chart, width, t->luma, 255);
}

/* ---- marks of cut bars ---- */

static bool is_cut(const struct ih_chart *chart, unsigned v)
{
    const struct ih_histogram *h = &chart->result->histogram;
    for (unsigned plane = 0; plane < IH_PLANES; plane++)
        if (ih_chart_draws_plane(h, plane) && ih_chart_axis_cuts(&chart->axis, h->bins[plane][v]))
            return true;
    return false;
}

/* A bright edge on top of every bar that is cut, and an arrow over the middle of each run of them
 * that is not too close to the arrow before. */
static void draw_cut_marks(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t edge = 2 * l->hair * IH_SUBPIXELS, top = l->top * IH_SUBPIXELS;
    int32_t free_from = 0;
    if (chart->axis.tallest_cut == 0)
        return;
    ih_path_clear(&chart->path);
    for (unsigned v = 0, end = 0; v < IH_BINS; v = end + 1) {
        for (end = v; end < IH_BINS && is_cut(chart, end);)
            end++;
        if (end == v)
            continue;
        int32_t x0 = ih_chart_bin_x(l, v), x1 = ih_chart_bin_x(l, end), middle = (x0 + x1) / 2;
        int32_t half = ih_chart_ems(l, CUT_MARK_WIDTH) / 2;
        ih_path_rectangle(&chart->path, x0, top - edge, x1, top);
        if (middle - half < free_from)
            continue;
        free_from = middle + half;
        ih_path_move(&chart->path, middle - half, top - 2 * edge);
        ih_path_line(&chart->path, middle, top - 2 * edge - ih_chart_ems(l, CUT_MARK_HEIGHT));
        ih_path_line(&chart->path, middle + half, top - 2 * edge);
    }
    ih_chart_fill(chart, chart->theme->text, 255, IH_BLEND_NORMAL);
}

void ih_chart_draw_plot(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    const struct ih_histogram *h = &chart->result->histogram;
    ih_chart_fill_box(chart, l->left, l->top, l->right, l->bottom, t->panel, 255);
    draw_grid(chart);
    draw_areas(chart);
    if (ih_chart_draws_plane(h, IH_LUMA) && h->n_pixels > 0)
        draw_luma(chart);
    draw_axes(chart);
    draw_cut_marks(chart);
}
