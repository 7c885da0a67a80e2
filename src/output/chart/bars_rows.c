/* A column of a chart of bars: titles, rows, the lines of the limits, and the axis under them. */
#include "output/chart/bars_parts.h"

#include <math.h>
#include <string.h>

/* Parts of the em, in hundredths. */
enum { BASELINE = 36, TITLE_BASELINE = 45, WORD_GAP = 70, NOTE_INDENT = 40, TICK_GAP = 40 };

/* Of a row, in percent. */
enum { BAR_HEIGHT = 66, MARK_HEIGHT = 84 };

enum { FAINT = 80 };

static const char ditto[] = "\xe2\x80\xb3";

/* One column while it is drawn; 1/IH_SUBPIXELS of a pixel. */
struct column {
    struct ih_bars *bars;
    int32_t left, plot_left, plot_right;
    int64_t tenths; /* from the top */
};

static int32_t ems(const struct ih_bars *b, int32_t hundredths)
{
    return b->layout.em * hundredths * IH_SUBPIXELS / 100;
}

static struct column column_of(struct ih_bars *b, unsigned i)
{
    const struct ih_bars_layout *l = &b->layout;
    const int32_t left = l->margin + (int32_t)i * (l->column_width + l->column_gap);
    return (struct column){b, left * IH_SUBPIXELS, (left + l->plot_left) * IH_SUBPIXELS,
                           (left + l->plot_right) * IH_SUBPIXELS, 0};
}

/* Where a place in a column is, given in tenths of a row. */
static int32_t y_of(const struct ih_bars *b, int64_t tenths)
{
    return b->layout.top * IH_SUBPIXELS + (int32_t)(tenths * b->layout.tenth * IH_SUBPIXELS >> 16);
}

/* A bar of this part of a row, on whole pixels where rows are high enough for that. */
static void row_span(const struct column *c, int percent, int32_t *y0, int32_t *y1)
{
    const int32_t top = y_of(c->bars, c->tenths), bottom = y_of(c->bars, c->tenths + IH_BARS_ROW);
    const int32_t pad = (bottom - top) * (100 - percent) / 200;
    *y0 = top + pad;
    *y1 = bottom - pad;
    if (bottom - top >= 6 * IH_SUBPIXELS) {
        *y0 = (*y0 + IH_SUBPIXELS / 2) / IH_SUBPIXELS * IH_SUBPIXELS;
        *y1 = (*y1 + IH_SUBPIXELS / 2) / IH_SUBPIXELS * IH_SUBPIXELS;
    }
}

/* The first power of ten on the axis. */
static double first_tick(const struct ih_bars *b)
{
    return pow(10, ceil(log10(b->axis_low)));
}

/* ---- rows ---- */

static void draw_bar(struct column *c, const struct ih_bar *bar)
{
    struct ih_bars *b = c->bars;
    const int32_t end = c->plot_left + ih_bars_reach(b, bar->value);
    int32_t y0, y1;
    row_span(c, BAR_HEIGHT, &y0, &y1);
    ih_bars_fill(b, c->plot_left, y0, end, y1, ih_bars_colour(b, bar->series),
                 bar->is_limit ? FAINT : 255);
    if (!ih_bars_shows(bar->least))
        return;
    const int32_t x = (c->plot_left + ih_bars_reach(b, bar->least)) / IH_SUBPIXELS * IH_SUBPIXELS;
    const int32_t hair = b->layout.hair * IH_SUBPIXELS;
    row_span(c, MARK_HEIGHT, &y0, &y1);
    ih_bars_fill(b, x - hair, y0, x + 2 * hair, y1, b->theme->casing, b->theme->casing_opacity);
    ih_bars_fill(b, x, y0, x + hair, y1, b->theme->luma, 255);
}

/* The name of the limit stands in its own bar, at the line's beginning. */
static void write_limit_name(struct column *c, const struct ih_bar *bar, int32_t baseline)
{
    struct ih_bars *b = c->bars;
    const int32_t gap = ems(b, WORD_GAP) / 2, length = ih_bars_reach(b, bar->value);
    if (bar->is_limit && length >= ih_bars_width(b, b->chart->limit_name) + 2 * gap)
        ih_bars_write(b, c->plot_left + length - gap, baseline, IH_ALIGN_RIGHT, length,
                      b->theme->text, b->chart->limit_name);
}

static void write_figures(struct column *c, const struct ih_bar *bar, int32_t baseline)
{
    struct ih_bars *b = c->bars;
    const struct ih_bars_layout *l = &b->layout;
    char text[IH_LABEL_MAX];
    if (l->values_right > 0) {
        ih_bars_value(text, bar->value);
        ih_bars_write(b, c->left + l->values_right * IH_SUBPIXELS, baseline, IH_ALIGN_RIGHT,
                      INT32_MAX, b->theme->text, text);
    }
    if (l->shares_right > 0 && !bar->is_limit) {
        ih_bars_share(text, bar);
        ih_bars_write(b, c->left + l->shares_right * IH_SUBPIXELS, baseline, IH_ALIGN_RIGHT,
                      INT32_MAX, b->theme->muted, text);
    }
}

/* before: the row above, or NULL */
static void draw_row(struct column *c, const struct ih_bar *bar, const struct ih_bar *before)
{
    struct ih_bars *b = c->bars;
    const bool has_value = ih_bars_shows(bar->value);
    const int32_t end = c->left + b->layout.column_width * IH_SUBPIXELS;
    if (has_value)
        draw_bar(c, bar);
    if (!b->layout.has_labels)
        return;
    const int32_t middle = (y_of(b, c->tenths) + y_of(b, c->tenths + IH_BARS_ROW)) / 2;
    const int32_t baseline = (middle + ems(b, BASELINE)) / IH_SUBPIXELS * IH_SUBPIXELS;
    ih_bars_write(b, c->left, baseline, IH_ALIGN_LEFT, c->plot_left - ems(b, WORD_GAP) - c->left,
                  has_value || bar->is_alarm ? b->theme->text : b->theme->muted, bar->label);
    if (has_value) {
        write_limit_name(c, bar, baseline);
        write_figures(c, bar, baseline);
    } else {
        const bool is_again = before && *bar->note && strcmp(bar->note, before->note) == 0;
        const int32_t x = c->plot_left + ems(b, NOTE_INDENT);
        ih_bars_write(b, x, baseline, IH_ALIGN_LEFT, end - x,
                      bar->is_alarm ? b->theme->warning : b->theme->muted,
                      is_again ? ditto : bar->note);
    }
}

/* ---- limits ---- */

/* One line through rows of the same limit, over their bars: a value may be beyond it. */
static void draw_limit(struct column *c, double limit, int64_t top, int64_t bottom)
{
    struct ih_bars *b = c->bars;
    if (!ih_bars_shows(limit))
        return;
    const int32_t thickness = 2 * b->layout.hair * IH_SUBPIXELS;
    const int32_t x = (c->plot_left + ih_bars_reach(b, limit)) / IH_SUBPIXELS * IH_SUBPIXELS;
    ih_bars_fill(b, x, y_of(b, top), x + thickness, y_of(b, bottom), b->theme->text, 210);
}

/* top: of the first row */
static void draw_limits(struct column *c, const struct ih_bar_group *group, int64_t top)
{
    size_t first = 0;
    for (size_t i = 1; i <= group->n_bars; i++) {
        const struct ih_bar *head = &group->bars[first], *bar = &group->bars[i];
        if (i < group->n_bars && !bar->is_limit && bar->series == head->series &&
            !(bar->limit < head->limit) && !(bar->limit > head->limit))
            continue;
        draw_limit(c, head->limit, top + IH_BARS_ROW * (int64_t)first,
                   top + IH_BARS_ROW * (int64_t)i);
        first = i;
    }
}

/* ---- the column ---- */

static void write_title(struct column *c, const struct ih_bar_group *group)
{
    struct ih_bars *b = c->bars;
    const int32_t y = y_of(b, c->tenths + IH_BARS_TITLE) - ems(b, TITLE_BASELINE);
    const int32_t baseline = y / IH_SUBPIXELS * IH_SUBPIXELS, gap = ems(b, WORD_GAP);
    const int32_t room = b->layout.column_width * IH_SUBPIXELS;
    const int32_t width =
        ih_bars_write(b, c->left, baseline, IH_ALIGN_LEFT, room, b->theme->text, group->title);
    if (width + gap + (int64_t)ih_bars_width(b, group->detail) <= room)
        ih_bars_write(b, c->left + width + gap, baseline, IH_ALIGN_LEFT, room, b->theme->muted,
                      group->detail);
}

static void draw_group(struct column *c, const struct ih_bar_group *group)
{
    struct ih_bars *b = c->bars;
    if (b->layout.has_titles)
        write_title(c, group);
    c->tenths += IH_BARS_TITLE;
    const int64_t first = c->tenths;
    const int32_t top = y_of(b, first);
    const int32_t bottom = y_of(b, first + IH_BARS_ROW * (int64_t)group->n_bars);
    ih_bars_fill(b, c->plot_left, top, c->plot_right, bottom, b->theme->panel, 255);
    const int32_t hair = b->layout.hair * IH_SUBPIXELS;
    for (double v = first_tick(b); v < b->axis_high; v *= 10) {
        const int32_t x = (c->plot_left + ih_bars_reach(b, v)) / IH_SUBPIXELS * IH_SUBPIXELS;
        ih_bars_fill(b, x, top, x + hair, bottom, b->theme->line, b->theme->grid_opacity);
    }
    for (size_t i = 0; i < group->n_bars; i++, c->tenths += IH_BARS_ROW)
        draw_row(c, &group->bars[i], i > 0 ? &group->bars[i - 1] : NULL);
    draw_limits(c, group, first);
}

/* ---- the axis ---- */

static void name_tick(char text[IH_LABEL_MAX], double v)
{
    if (v < 0.9) /* 0.1 to 0.000001 */
        ih_label_real(text, v, (unsigned)(0.5 - log10(v)));
    else
        ih_label_count(text, (uint64_t)(v + 0.5));
}

/* Every how manyth power of ten has a number, so that none touches another. */
static int choose_stride(const struct ih_bars *b)
{
    const int32_t decade = ih_bars_reach(b, 10 * b->axis_low);
    int32_t widest = 1;
    for (double v = first_tick(b); v < b->axis_high; v *= 10) {
        char text[IH_LABEL_MAX];
        name_tick(text, v);
        const int32_t width = ih_bars_width(b, text);
        widest = width > widest ? width : widest;
    }
    return decade > 0 ? 1 + (widest + ems(b, TICK_GAP) - 1) / decade : 1;
}

/* The numbers under a column, and the unit where it is free of them. */
static void draw_axis(const struct column *c)
{
    struct ih_bars *b = c->bars;
    const struct ih_bars_layout *l = &b->layout;
    const int32_t y = y_of(b, c->tenths) + l->ticks_dy * IH_SUBPIXELS;
    const int32_t baseline = y / IH_SUBPIXELS * IH_SUBPIXELS;
    const double step = pow(10, choose_stride(b));
    int32_t free_from = c->left;
    for (double v = first_tick(b); v < b->axis_high; v *= step) {
        char text[IH_LABEL_MAX];
        name_tick(text, v);
        const int32_t x = c->plot_left + ih_bars_reach(b, v), width = ih_bars_width(b, text);
        ih_bars_write(b, x, baseline, IH_ALIGN_CENTRE, width, b->theme->muted, text);
        free_from = x + width / 2 + ems(b, TICK_GAP);
    }
    const int32_t right = l->values_right > 0 ? l->values_right : l->column_width;
    const int32_t end = c->left + right * IH_SUBPIXELS, width = ih_bars_width(b, b->chart->unit);
    if (end - width >= free_from)
        ih_bars_write(b, end, baseline, IH_ALIGN_RIGHT, width, b->theme->muted, b->chart->unit);
}

void ih_bars_draw_column(struct ih_bars *b, unsigned column)
{
    struct column c = column_of(b, column);
    const size_t first = b->layout.first[column];
    for (size_t g = first; g < b->layout.first[column + 1]; g++) {
        c.tenths += g > first ? IH_BARS_GAP : 0;
        draw_group(&c, &b->chart->groups[g]);
    }
    if (b->layout.ticks_dy > 0)
        draw_axis(&c);
}
