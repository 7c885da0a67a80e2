/*
 * The plot, the numbers of its axes, and the strip above it.
 *
 * Each colour channel is a step area, blended so that all are visible where they overlap. Luma is a
 * line on top, because a fourth area would make every colour pale. Alpha is not drawn: its spikes
 * at 0 and 255 would hide the tones. The footer gives the transparency.
 *
 * The strip shows the clipping at both ends, with a mark for each clipped channel. Its triangles
 * follow from the joint counts of clipped pixels: a hundred in a hundred million are too few for a
 * visible bar, but still mean that the exposure reached the end. A triangle is filled if some
 * pixels are clipped in all channels. It is hollow if every clipped pixel keeps an unclipped
 * channel: its colour is wrong, but not lost.
 */
#include "chart/drawing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_EDGES = IH_BINS + 1 };

/* The width of the luma line is LUMA_WIDTH hundredths of the em. It is less if bins are so narrow
 * that steps would run together, but at least LUMA_LEAST. The dark edge is CASING_TENTHS / 10 times
 * as wide. */
enum { LUMA_WIDTH = 11, EDGE_WIDTH = 9, LUMA_LEAST = IH_SUBPIXELS * 4 / 5, CASING_TENTHS = 20 };

/* In hundredths of the em. */
enum { CUT_MARK_WIDTH = 70, CUT_MARK_HEIGHT = 42, TICK_LENGTH = 35 };

static int32_t bar_y(const struct ih_chart *chart, double n)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t height = (l->bottom - l->top) * IH_SUBPIXELS;
    return l->bottom * IH_SUBPIXELS - ih_chart_axis_height(&chart->axis, n, height);
}

/* ---- numbers of the values ---- */

/* N_QUARTERS: of the values from 0 on, and the last one. A span has round numbers, up to SPAN_TICKS
 * steps. NUMBERS_GAP, in hundredths of the em: least distance of two numbers. */
enum { N_QUARTERS = 5, SPAN_TICKS = 10, NUMBERS_GAP = 50 };

static void add_tick(struct ih_chart *chart, int32_t x, double v)
{
    struct ih_chart_tick *tick = &chart->ticks[chart->n_ticks++];
    tick->x = x;
    ih_put_digits(tick->label, v + 0.0, 9); /* no -0 */
}

/* In the middle of a bar that begins with the value. */
static void add_span_tick(struct ih_chart *chart, double v)
{
    const struct ih_chart_layout *l = &chart->layout;
    const double bar = fmin(ih_shown_bar(chart->shown, v), IH_BINS - 1) + 0.5;
    const int32_t width = (l->right - l->left) * IH_SUBPIXELS;
    add_tick(chart, l->left * IH_SUBPIXELS + (int32_t)(width * bar / IH_BINS), v);
}

/* The middle of a value's bar, or of its part of one. */
static void add_quarters(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    for (unsigned i = 0; i < N_QUARTERS; i++) {
        const unsigned n = l->n_bins, v = i + 1 < N_QUARTERS ? n * i / (N_QUARTERS - 1) : n - 1;
        const int64_t left = ih_chart_bin_x(l, v / l->n_in_bar);
        const int64_t width = ih_chart_bin_x(l, v / l->n_in_bar + 1) - left;
        add_tick(chart, (int32_t)(left + width * (2 * (v % l->n_in_bar) + 1) / (2 * l->n_in_bar)),
                 v);
    }
}

static int32_t widest_number(const struct ih_chart *chart)
{
    int32_t widest = 0;
    for (unsigned i = 0; i < chart->n_ticks; i++)
        widest = ih_larger(widest, ih_draw_width(chart, chart->ticks[i].label));
    return widest * 3 / 2 + ih_chart_ems(&chart->layout, NUMBERS_GAP);
}

static void set_ticks(struct ih_chart *chart)
{
    const struct ih_shown shown = chart->shown;
    const int32_t width = (chart->layout.right - chart->layout.left) * IH_SUBPIXELS;
    const double span = shown.high - shown.low, least = ih_is_float(chart->values->type) ? 0 : 1;
    unsigned n = 1;
    chart->n_ticks = 0;
    if (!shown.is_span) {
        add_quarters(chart);
        while (n < N_QUARTERS - 1 && widest_number(chart) > width / (N_QUARTERS - 1) * (int32_t)n)
            n *= 2;
        for (unsigned i = 0; i < N_QUARTERS; i++)
            if (i % n != 0)
                chart->ticks[i].label[0] = '\0';
    } else if (span == 0) {
        add_span_tick(chart, shown.low);
        ih_put_float(chart->ticks[0].label, shown.low);
    }
    for (double step = fmax(span / SPAN_TICKS, least); shown.is_span && span > 0; step *= 1.5) {
        chart->n_ticks = 0;
        step = ih_chart_round_step(step);
        for (double i = ceil(shown.low / step); i * step <= shown.high; i++)
            if (chart->n_ticks < IH_CHART_TICKS_MAX)
                add_span_tick(chart, i * step);
        if (chart->n_ticks <= 2 || widest_number(chart) <= step / span * width)
            return;
    }
}

/* ---- zones, grid and axes ---- */

/* In hundredths of the em. ZONE_ROOM: of the space above the highest bar. */
enum { ZONE_BASELINE = 105, ZONE_ROOM = 130 };

/* Whether the plot goes from black to white. */
static bool has_zones(const struct ih_chart *chart)
{
    return !chart->shown.is_span && !ih_layout_has_bands(chart->values->layout) &&
           chart->shown.n_values == chart->values->n_bins;
}

/* Their names, over bars that are cut. */
static void draw_zone_names(struct ih_chart *chart)
{
    static const char *const names[] = {"shadows", "midtones", "highlights"};
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t width = l->right - l->left, room = (l->bottom - l->top) * 6 / 106;
    const int32_t em = ih_chart_ems(l, 100), y = l->top * IH_SUBPIXELS + ih_chart_ems(l, 20);
    for (int32_t i = 0; i < 3 && room * IH_SUBPIXELS >= ih_chart_ems(l, ZONE_ROOM); i++) {
        const int32_t x = l->left * IH_SUBPIXELS + width * IH_SUBPIXELS / 6 * (2 * i + 1);
        const int32_t half = ih_draw_width(chart, names[i]) / 2 + em / 4;
        ih_draw_exact(chart, x - half, y, x + half, y + em * 5 / 4, chart->theme->panel, 200);
        ih_draw_text(chart, x, l->top + ih_chart_ems(l, ZONE_BASELINE) / IH_SUBPIXELS,
                     IH_ALIGN_CENTRE, chart->theme->muted, names[i]);
    }
}

/* Light guides at the thirds of the range. Areas cover them. */
static void draw_zones(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t width = l->right - l->left;
    ih_path_clear(&chart->path);
    for (int32_t i = 1; i < 3; i++)
        for (int32_t y = l->top; y < l->bottom; y += 6 * l->hair) {
            const int32_t x = l->left + width * i / 3, end = ih_smaller(y + 2 * l->hair, l->bottom);
            ih_path_rectangle(&chart->path, x * IH_SUBPIXELS, y * IH_SUBPIXELS,
                              (x + l->hair) * IH_SUBPIXELS, end * IH_SUBPIXELS);
        }
    ih_draw_path(chart, chart->theme->line, chart->theme->grid_opacity * 2, IH_BLEND_NORMAL);
}

static void draw_grid(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    for (unsigned i = 1; i < chart->axis.n_ticks; i++) {
        int32_t y = bar_y(chart, chart->axis.ticks[i]) / IH_SUBPIXELS;
        ih_draw_box(chart, l->left, y, l->right, y + l->hair, t->line, t->grid_opacity);
    }
    for (unsigned i = 0; i < chart->n_ticks; i++) {
        int32_t x = chart->ticks[i].x / IH_SUBPIXELS;
        ih_draw_box(chart, x, l->top, x + l->hair, l->bottom, t->line, t->grid_opacity);
    }
}

static void draw_axes(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    int32_t length = ih_chart_ems(l, TICK_LENGTH) / IH_SUBPIXELS;
    ih_draw_box(chart, l->left, l->bottom, l->right, l->bottom + l->hair, t->line, t->axis_opacity);
    for (unsigned i = 0; i < chart->n_ticks; i++) {
        int32_t x = chart->ticks[i].x / IH_SUBPIXELS;
        ih_draw_box(chart, x, l->bottom + l->hair, x + l->hair, l->bottom + length, t->line,
                    t->axis_opacity);
    }
}

/* ---- areas ---- */

enum { BAND_OPACITY = 110 };

static void draw_area(struct ih_chart *chart, const uint64_t bins[IH_BINS], struct ih_colour colour,
                      uint8_t opacity, enum ih_blend blend)
{
    const struct ih_chart_layout *l = &chart->layout;
    struct ih_path *path = &chart->path;
    ih_path_clear(path);
    ih_path_move(path, ih_chart_bin_x(l, 0), l->bottom * IH_SUBPIXELS);
    for (unsigned v = 0; v < IH_BINS; v++) {
        int32_t y = bar_y(chart, (double)bins[v]);
        ih_path_line(path, ih_chart_bin_x(l, v), y);
        ih_path_line(path, ih_chart_bin_x(l, v + 1), y);
    }
    ih_path_line(path, ih_chart_bin_x(l, IH_BINS), l->bottom * IH_SUBPIXELS);
    ih_draw_path(chart, colour, opacity, blend);
}

/* The areas of colour channels are lights on a black ground. Below the lines of another image they
 * are veiled, and bands, which are lines otherwise, have areas too. */
static void draw_areas(struct ih_chart *chart)
{
    const struct ih_histogram *h = chart->bars;
    const unsigned n = h->layout.n_colours;
    for (unsigned band = 0; n == 0 && chart->other && band < ih_chart_n_drawn(h); band++)
        draw_area(chart, ih_bins(h, band), ih_chart_plane_colour(chart, h->layout, band),
                  BAND_OPACITY, IH_BLEND_NORMAL);
    uint64_t highest[IH_BINS] = {0};
    for (unsigned plane = 0; plane < n; plane++)
        for (unsigned v = 0; v < IH_BINS; v++)
            if (ih_bins(h, plane)[v] > highest[v])
                highest[v] = ih_bins(h, plane)[v];
    if (n > 1)
        draw_area(chart, highest, (struct ih_colour){0, 0, 0}, 255, IH_BLEND_NORMAL);
    for (unsigned plane = 0; plane < n; plane++)
        draw_area(chart, ih_bins(h, plane), ih_chart_plane_colour(chart, h->layout, plane), 255,
                  n > 1 ? IH_BLEND_SCREEN : IH_BLEND_NORMAL);
    if (n > 0 && chart->other)
        draw_area(chart, highest, chart->theme->panel, chart->theme->veil_opacity, IH_BLEND_NORMAL);
}

/* ---- lines: luma, and the other side of a comparison ---- */

/* The highest and lowest point that the pen touches from x to the x of the next entry. */
struct reach {
    int32_t x, high, low;
};

/*
 * Computes the outline of the line that a square pen of half-width d draws along the steps. At x it
 * reaches from d above the highest bin within d of x to d below the lowest. This changes only d
 * left and d right of the edges of bins: two sorted sequences, which the loop merges. Outside the
 * bins the curve is at the foot of the plot.
 */
static size_t follow_steps(const struct ih_chart *chart, const uint64_t bins[IH_BINS], int32_t d,
                           struct reach out[2 * N_EDGES])
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t top = l->top * IH_SUBPIXELS, foot = l->bottom * IH_SUBPIXELS;
    unsigned entered = 0, left = 0; /* edges that the pen has reached, and has passed */
    size_t n = 0;
    while (left < N_EDGES) {
        bool enters =
            entered < N_EDGES && ih_chart_bin_x(l, entered) - d <= ih_chart_bin_x(l, left) + d;
        int32_t x = enters ? ih_chart_bin_x(l, entered++) - d : ih_chart_bin_x(l, left++) + d;
        struct reach r = {x, foot, top};
        for (unsigned edge = left; edge <= entered; edge++) { /* bin edge - 1 ends at this edge */
            bool is_bin = edge >= 1 && edge <= IH_BINS;
            int32_t y = is_bin ? bar_y(chart, (double)bins[edge - 1]) : foot;
            r.high = ih_smaller(r.high, y);
            r.low = ih_larger(r.low, y);
        }
        r.high = ih_larger(r.high - d, top);
        r.low = ih_smaller(r.low + d, foot);
        out[n++] = r;
    }
    return n;
}

static void draw_along(struct ih_chart *chart, const uint64_t bins[IH_BINS], int32_t width,
                       struct ih_colour colour, uint8_t opacity)
{
    struct reach reach[2 * N_EDGES];
    struct ih_path *path = &chart->path;
    size_t n = follow_steps(chart, bins, width / 2, reach);
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
    ih_draw_path(chart, colour, opacity, IH_BLEND_NORMAL);
}

/* The width of a line: `hundredths` of the em, less where bins are narrow. */
static int32_t line_width(const struct ih_chart *chart, int32_t hundredths)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t of_bin = (l->right - l->left) * 2 / 5; /* two fifths of a bin, in subpixels */
    return ih_smaller(ih_chart_ems(l, hundredths), ih_larger(of_bin, LUMA_LEAST));
}

static void draw_line(struct ih_chart *chart, const uint64_t bins[IH_BINS], struct ih_colour colour)
{
    const struct ih_chart_theme *t = chart->theme;
    const int32_t width = line_width(chart, LUMA_WIDTH);
    draw_along(chart, bins, width * CASING_TENTHS / 10, t->casing, t->casing_opacity);
    draw_along(chart, bins, width, colour, 255);
}

/* Each area has an edge in a dark shade of its colour, which carries the shape where areas overlap:
 * on a logarithmic scale nearly everywhere. It would cover narrower bars. */
enum { EDGED_BAR = 2 /* pixels */ };

static void draw_lines(struct ih_chart *chart)
{
    const struct ih_histogram *h = chart->bars;
    const int32_t width = line_width(chart, EDGE_WIDTH);
    const bool has_edges =
        h->layout.n_colours > 1 && chart->layout.right - chart->layout.left >= EDGED_BAR * IH_BINS;
    for (unsigned plane = 0; plane < 3 && has_edges; plane++)
        draw_along(chart, ih_bins(h, plane), width, chart->theme->edges[plane], 255);
    for (unsigned plane = ih_chart_n_drawn(h); h->layout.n_colours == 0 && plane-- > 0;)
        draw_line(chart, ih_bins(h, plane), ih_chart_plane_colour(chart, h->layout, plane));
    if (ih_chart_draws_plane(h, IH_LUMA) && h->n_pixels > 0)
        draw_line(chart, ih_bins(h, IH_LUMA), chart->theme->luma);
}

bool ih_chart_is_gray(const struct ih_histogram *bars)
{
    return bars->layout.n_colours == 1 ||
           (bars->layout.n_colours == 3 &&
            memcmp(bars->bins, bars->bins + IH_BINS, 2 * IH_BINS * sizeof *bars->bins) == 0);
}

static void draw_other(struct ih_chart *chart)
{
    const struct ih_histogram *h = chart->other;
    const unsigned n_colours = h->layout.n_colours;
    const bool is_gray = ih_chart_is_gray(h);
    for (unsigned plane = 0; plane < (is_gray ? 1 : ih_chart_n_drawn(h)); plane++)
        draw_line(chart, ih_bins(h, plane),
                  is_gray          ? chart->theme->luma
                  : n_colours == 0 ? ih_chart_plane_colour(chart, h->layout, plane)
                                   : chart->theme->lines[plane]);
}

/* ---- marks of cut bars ---- */

/* Draws a bright edge on top of every cut bar. Each run of cut bars gets an arrow above its middle,
 * unless the arrow would touch the one before. */
static void draw_cut_marks(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t edge = 2 * l->hair * IH_SUBPIXELS, top = l->top * IH_SUBPIXELS;
    int32_t free_from = 0;
    if (chart->axis.tallest_cut == 0)
        return;
    ih_path_clear(&chart->path);
    for (unsigned v = 0, end = 0; v < IH_BINS; v = end + 1) {
        for (end = v; end < IH_BINS &&
                      ih_chart_axis_cuts(&chart->axis, ih_chart_tallest(chart->heights, end));)
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
    ih_draw_path(chart, chart->theme->text, 255, IH_BLEND_NORMAL);
}

/* ---- numbers of the axes ---- */

/* In hundredths of the em: half of its height centres a number on its line. */
enum { HALF_A_DIGIT = 36 };

const char ih_chart_counts_caption[] = "pixels";
const char ih_chart_values_caption[] = "value";

void ih_chart_draw_counts(struct ih_chart *chart, int32_t column)
{
    char number[IH_LABEL_MAX];
    for (unsigned i = 0; i < chart->axis.n_ticks; i++) {
        const double n = chart->axis.ticks[i];
        const int32_t baseline = bar_y(chart, n) + ih_chart_ems(&chart->layout, HALF_A_DIGIT);
        ih_chart_axis_label(&chart->axis, n, number);
        ih_draw_text(chart, column, baseline / IH_SUBPIXELS, IH_ALIGN_RIGHT, chart->theme->muted,
                     number);
    }
}

void ih_chart_draw_values(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t after = chart->sheet ? 0 : l->margin - l->margin / 2; /* panels have neighbours */
    const int32_t before = chart->sheet ? l->left : l->numbers_right;
    for (unsigned i = 0; i < chart->n_ticks; i++) {
        const char *const number = chart->ticks[i].label;
        const int32_t half = ih_draw_width(chart, number) / 2;
        const int32_t first = before * IH_SUBPIXELS + half;
        const int32_t last = (l->right + after) * IH_SUBPIXELS - half;
        if (*number)
            ih_draw_text(chart, ih_larger(first, ih_smaller(chart->ticks[i].x, last)), l->ticks_y,
                         IH_ALIGN_CENTRE, chart->theme->muted, number);
    }
}

/* ---- the strip: clipping at both ends, cut bars in the middle ---- */

/* In hundredths of the em. */
enum {
    TRIANGLE = 80,
    RIM = 14,
    TRIANGLE_GAP = 40,
    MARK = 46, /* of a clipped channel: a square in its colour */
    MARK_PITCH = 62,
    TEXT_GAP = 150,
    HALF_A_CAPITAL = 36
};

/* The text of each end, from the longest to the shortest. */
enum detail { ANY_AND_ALL, ANY_AND_NAME, ANY };

struct end {
    bool is_right;
    const char *name;
    uint64_t any, all;    /* pixels */
    unsigned first, last; /* the values that count as clipped */
    unsigned marks[3];    /* the clipped channels of a colour image */
    int32_t n_marks;
    char text[IH_LABEL_MAX]; /* beside triangle and marks */
    int32_t width;           /* of all; 0: nothing is clipped */
};

static void find_marks(const struct ih_histogram *h, struct end *end)
{
    const bool is_colour = h->layout.n_colours > 1;
    for (unsigned plane = 0; plane < 3 && is_colour && end->any > 0; plane++)
        if (ih_count_range(ih_bins(h, plane), end->first, end->last) > 0)
            end->marks[end->n_marks++] = plane;
}

/* From the end of the plot to the text. */
static int32_t end_inset(const struct ih_chart *chart, const struct end *end)
{
    return ih_chart_ems(&chart->layout, TRIANGLE + TRIANGLE_GAP) +
           ih_chart_ems(&chart->layout, end->n_marks > 0 ? end->n_marks * MARK_PITCH + 15 : 0);
}

static void describe_end(const struct ih_chart *chart, struct end *end, enum detail detail)
{
    const struct ih_histogram *h = &chart->result->histogram;
    char any[IH_LABEL_MAX], all[IH_LABEL_MAX], where[IH_LABEL_MAX] = "";
    bool is_colour = h->layout.n_colours > 1;
    if (end->any == 0)
        return;
    ih_label_percent(any, end->any, h->n_pixels);
    ih_label_percent(all, end->all, h->n_pixels);
    if (end->first < end->last) /* other limits than 0 and 255 */
        snprintf(where, sizeof where, " at %u\xe2\x80\x93%u", end->first, end->last);
    if (detail == ANY)
        snprintf(end->text, IH_LABEL_MAX, "%.32s", any);
    else if (detail == ANY_AND_ALL && is_colour)
        snprintf(end->text, IH_LABEL_MAX, "%s %.32s%.16s (all channels %.32s)", end->name, any,
                 where, all);
    else
        snprintf(end->text, IH_LABEL_MAX, "%s %.32s%.16s", end->name, any, where);
    end->width = end_inset(chart, end) + ih_draw_width(chart, end->text);
}

/* Adds a triangle that points to its end of the plot, inset by `rim` on all sides. */
static void add_triangle(struct ih_chart *chart, const struct end *end, int32_t rim, bool backwards)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t size = ih_chart_ems(l, TRIANGLE) - rim * 13 / 4, sign = end->is_right ? -1 : 1;
    int32_t tip = (end->is_right ? l->right : l->left) * IH_SUBPIXELS + sign * rim * 9 / 4;
    int32_t base = tip + sign * size;
    int32_t middle = l->strip_y * IH_SUBPIXELS - ih_chart_ems(l, HALF_A_CAPITAL);
    int32_t half = backwards ? -(size / 2) : size / 2;
    ih_path_move(&chart->path, tip, middle);
    ih_path_line(&chart->path, base, middle - half);
    ih_path_line(&chart->path, base, middle + half);
}

static void draw_end(struct ih_chart *chart, const struct end *end)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    const int32_t inset = end_inset(chart, end), mark = ih_chart_ems(l, MARK);
    const int32_t text_x =
        end->is_right ? l->right * IH_SUBPIXELS - inset : l->left * IH_SUBPIXELS + inset;
    int32_t x = end->is_right ? text_x + ih_chart_ems(l, 40)
                              : l->left * IH_SUBPIXELS + ih_chart_ems(l, TRIANGLE + 30);
    if (end->any == 0)
        return;
    ih_path_clear(&chart->path);
    add_triangle(chart, end, 0, false);
    if (end->all == 0) /* a hole: a smaller triangle of the opposite direction */
        add_triangle(chart, end, ih_chart_ems(l, RIM), true);
    ih_draw_path(chart, t->warning, 255, IH_BLEND_NORMAL);
    const int32_t y = l->strip_y * IH_SUBPIXELS - ih_chart_ems(l, HALF_A_CAPITAL + MARK / 2);
    for (int32_t i = 0; i < end->n_marks; i++, x += ih_chart_ems(l, MARK_PITCH))
        ih_draw_exact(chart, x, y, x + mark, y + mark,
                      ih_chart_plane_colour(chart, chart->values->layout, end->marks[i]), 255);
    ih_draw_text(chart, text_x, l->strip_y, end->is_right ? IH_ALIGN_RIGHT : IH_ALIGN_LEFT, t->text,
                 end->text);
}

/* Writes the height of the tallest cut bar in the middle between x0 and x1, if it fits. */
static void draw_cut_note(struct ih_chart *chart, int32_t x0, int32_t x1)
{
    const struct ih_chart_layout *l = &chart->layout;
    char count[IH_LABEL_MAX], text[IH_LABEL_MAX];
    if (chart->axis.tallest_cut == 0)
        return;
    if (chart->axis.in_percent)
        ih_label_percent(count, chart->axis.tallest_cut, chart->axis.n_pixels);
    else
        ih_label_count(count, chart->axis.tallest_cut);
    snprintf(text, sizeof text, "\xe2\x96\xb2 tallest bar %.32s (cut)", count);
    if (ih_draw_width(chart, text) + 2 * ih_chart_ems(l, TEXT_GAP) > x1 - x0)
        return;
    ih_draw_text(chart, (x0 + x1) / 2, l->strip_y, IH_ALIGN_CENTRE, chart->theme->muted, text);
}

static void draw_strip(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_histogram *h = &chart->result->histogram;
    const struct ih_measure *measure = &chart->result->measure;
    struct end low = {
        .name = "crushed", .any = h->any_low, .all = h->all_low, .last = measure->clip_low};
    struct end high = {.is_right = true,
                       .name = "blown",
                       .any = h->any_high,
                       .all = h->all_high,
                       .first = measure->clip_high,
                       .last = chart->values->n_bins - 1};
    const int32_t left = l->left * IH_SUBPIXELS, right = l->right * IH_SUBPIXELS;
    if (h->n_pixels == 0)
        return;
    find_marks(chart->values, &low);
    find_marks(chart->values, &high);
    for (enum detail detail = ANY_AND_ALL; detail <= ANY; detail++) {
        describe_end(chart, &low, detail);
        describe_end(chart, &high, detail);
        if (low.width + high.width + ih_chart_ems(l, TEXT_GAP) <= right - left)
            break;
    }
    draw_end(chart, &low);
    draw_end(chart, &high);
    draw_cut_note(chart, left + low.width, right - high.width);
}

/* ---- all of it ---- */

static bool is_empty(const struct ih_histogram *h)
{
    for (unsigned v = 0; v < IH_BINS; v++)
        if (ih_chart_tallest(h, v) > 0)
            return false;
    return true;
}

void ih_chart_draw_panel(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_chart_theme *t = chart->theme;
    const struct ih_histogram *h = chart->bars;
    set_ticks(chart);
    ih_draw_box(chart, l->left, l->top, l->right, l->bottom, t->panel, 255);
    if (has_zones(chart))
        draw_zones(chart);
    draw_areas(chart);
    draw_grid(chart);
    if (chart->other)
        draw_other(chart);
    else
        draw_lines(chart);
    if (has_zones(chart))
        draw_zone_names(chart);
    draw_axes(chart);
    draw_cut_marks(chart);
    draw_strip(chart);
    if (is_empty(chart->heights))
        ih_draw_text(chart, (l->left + l->right) * IH_SUBPIXELS / 2, (l->top + l->bottom) / 2,
                     IH_ALIGN_CENTRE, t->muted, h->n_pixels == 0 ? "no pixels" : "no values");
}

void ih_chart_draw_plot(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t column = l->numbers_right * IH_SUBPIXELS;
    ih_chart_draw_panel(chart);
    ih_chart_draw_counts(chart, column);
    ih_chart_draw_values(chart);
    if (!chart->axis.in_percent)
        ih_draw_text(chart, column, l->strip_y, IH_ALIGN_RIGHT, chart->theme->muted,
                     ih_chart_counts_caption);
    if (chart->n_ticks > 0)
        ih_draw_text(chart, column - ih_chart_ems(l, IH_CHART_CAPTION_GAP), l->ticks_y,
                     IH_ALIGN_RIGHT, chart->theme->muted, ih_chart_values_caption);
}
