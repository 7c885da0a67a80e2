/*
 * The chart of --bench: on a logarithmic axis a bar for each rung, on the first kind of data of its
 * task, and a line at the speed of `read`. Tasks are groups, in the order of the report, in one
 * column or two. If rows are too low for type, only bars are drawn.
 */
#include "base/text.h"
#include "bench/report.h"
#include "chart/parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BARS_MAX = 8 * IH_BENCH_RUNGS_MAX, TEXT_MAX = IH_MESSAGE_MAX };
enum { ROW = 10, HEADING = 23, GAP = 7 }; /* heights, in tenths of a row */
enum { DEVICE = 320, SHARE = 380, GUTTER = 260, TOP = 400, BOTTOM = 350 }; /* hundredths of an em */

struct bar {
    struct ih_bench_row row; /* its rung is not valid any more */
    const char *name;
    bool is_gpu, is_read, is_first; /* is_first: its task begins */
    int32_t y;                      /* of its top in a single column, in tenths of a row */
};

struct ih_bench_chart {
    struct bar bars[BARS_MAX];
    int32_t n_bars, height; /* height of a single column, in tenths of a row */
};

/* Lengths in 1/IH_SUBPIXELS of a pixel, except those of the base. */
struct picture {
    struct ih_chart base; /* of the layout only the sizes */
    const struct ih_bench_chart *chart;
    int32_t margin, hair, unit, room, column_width;
    int32_t plot_left, plot_width; /* plot_left 0: there is no room for type */
    int32_t split;                 /* bars after it are in the second column */
    double low, high;              /* values at the ends of the axis */
};

struct ih_bench_chart *ih_bench_chart_new(void)
{
    return calloc(1, sizeof(struct ih_bench_chart));
}

void ih_bench_chart_add(struct ih_bench_chart *c, const struct ih_bench_row *row)
{
    const bool is_gpu = strcmp(row->rung->device, "cuda") == 0;
    struct bar *bar = c->bars, *end = c->bars + c->n_bars;
    while (bar < end && (bar->row.task != row->task || bar->is_gpu != is_gpu ||
                         strcmp(bar->name, row->rung->name) != 0))
        bar++;
    if (bar == end) {
        const bool is_first = bar == c->bars || bar[-1].row.task != row->task;
        assert(c->n_bars < BARS_MAX);
        c->n_bars++;
        c->height += is_first ? HEADING : 0;
        *bar = (struct bar){*row, row->rung->name, is_gpu, row->rung->is_read, is_first, c->height};
        c->height += ROW;
    }
    if (row->status > bar->row.status) /* the worst status of all kinds of data counts */
        bar->row = *row;
}

static int32_t ems(const struct picture *p, int32_t hundredths)
{
    return ih_chart_ems(&p->base.layout, hundredths);
}

/* What the rung `read` of the bar's task and device reaches; 0: not measured. */
static double read_speed(const struct ih_bench_chart *c, const struct bar *bar)
{
    for (const struct bar *b = c->bars; b < c->bars + c->n_bars; b++)
        if (b->is_read && b->row.task == bar->row.task && b->is_gpu == bar->is_gpu &&
            b->row.status == IH_BENCH_OK)
            return b->row.gb_per_s;
    return 0;
}

static void name_value(char text[IH_LABEL_MAX], double v)
{
    ih_label_real(text, v, v < 0.995 ? 2 : v < 9.95 ? 1 : 0);
}

/* Returns where the second column begins: at the first task whose middle is in the second half. */
static int32_t find_split(const struct ih_bench_chart *c)
{
    int32_t split = c->height;
    for (const struct bar *b = c->bars + c->n_bars; b-- > c->bars + 1;)
        if (b->is_first && (b->y - HEADING + split) / 2 > c->height / 2)
            split = b->y - HEADING;
    return split;
}

static void lay_out(struct picture *p, const struct ih_chart_options *look)
{
    const struct ih_bench_chart *c = p->chart;
    int32_t labels = 0, values = 0;
    struct ih_chart_layout *l = &p->base.layout;
    ih_chart_set_sizes(l, look->width ? look->width : IH_CHART_WIDTH,
                       look->width ? look->height : IH_CHART_HEIGHT);
    const int32_t n_columns = l->width > 40 * l->em ? 2 : 1;
    p->split = n_columns > 1 ? find_split(c) : c->height;
    const int32_t tenths = ih_larger(1, ih_larger(p->split, c->height - p->split) - GAP);
    p->margin = l->margin * IH_SUBPIXELS;
    p->hair = l->hair * IH_SUBPIXELS;
    const int32_t beside = 2 * p->margin + ems(p, TOP + BOTTOM);
    const int32_t needed = (beside + tenths * ems(p, 15)) / IH_SUBPIXELS;
    if (!look->width) /* the default grows with the rows */
        l->height = ih_smaller(ih_larger(l->height, needed), IH_CHART_MAX);
    p->unit = ih_smaller(ih_larger(1, l->height * IH_SUBPIXELS - beside) / tenths, ems(p, 22));
    p->room = l->width * IH_SUBPIXELS - 2 * p->margin;
    p->column_width = (p->room - (n_columns - 1) * ems(p, GUTTER)) / n_columns;
    for (const struct bar *b = c->bars; b < c->bars + c->n_bars; b++) {
        char text[IH_LABEL_MAX];
        labels = ih_larger(labels, ih_draw_width(&p->base, b->name));
        if (b->row.status == IH_BENCH_OK && b->row.gb_per_s > 0) {
            name_value(text, b->row.gb_per_s);
            values = ih_larger(values, ih_draw_width(&p->base, text));
            p->low = fmin(p->low, b->row.gb_per_s);
            p->high = fmax(p->high, b->row.gb_per_s);
        }
    }
    const bool has_type = ROW * p->unit >= ems(p, 98);
    p->plot_left = has_type ? ems(p, DEVICE + 70) + labels : 0;
    p->plot_width = p->column_width - p->plot_left - (has_type ? values + ems(p, SHARE + 70) : 0);
    p->low = p->high > 0 ? fmax(1e-6, p->low / 2) : 1;
    p->high = fmax(10 * p->low, p->high * 1.12); /* the line of `read` stays clear of the end */
}

static int32_t on_pixel(int32_t x)
{
    return x / IH_SUBPIXELS * IH_SUBPIXELS;
}

/* Writes text, escaped and shortened to the room. */
static void write_short(struct picture *p, int32_t x, int32_t baseline_px, int32_t room,
                        struct ih_colour colour, const char *text)
{
    char shown[TEXT_MAX + IH_ELLIPSIS_BYTES];
    ih_escape(shown, TEXT_MAX, text);
    ih_glyphs_shorten(p->base.glyphs, (unsigned)p->base.layout.em, room, shown);
    ih_draw_text(&p->base, x, baseline_px, IH_ALIGN_LEFT, colour, shown);
}

/* Where a value is, from the left of a plot. */
static int32_t reach(const struct picture *p, double v)
{
    const double share = log(v / p->low) / log(p->high / p->low);
    return (int32_t)(fmin(fmax(share, 0), 1) * p->plot_width + 0.5);
}

/* Draws the lines of the powers of ten, or with y1 0 their numbers below y0. */
static void draw_decades(struct picture *p, int32_t x, int32_t y0, int32_t y1)
{
    const struct ih_chart_theme *t = p->base.theme;
    for (double v = pow(10, ceil(log10(p->low))); v < p->high; v *= 10) {
        const int32_t at = on_pixel(x + reach(p, v)), end = x + p->column_width - p->plot_left;
        char text[IH_LABEL_MAX];
        ih_label_real(text, v, v < 0.9 ? (unsigned)(0.5 - log10(v)) : 0);
        const int32_t width = ih_draw_width(&p->base, text);
        if (y1 > 0)
            ih_draw_exact(&p->base, at, y0, at + p->hair, y1, t->line, t->grid_opacity);
        else if (width + ems(p, 40) < reach(p, 10 * p->low) && at + width / 2 < end)
            ih_draw_text(&p->base, at, (y0 + ems(p, 130)) / IH_SUBPIXELS, IH_ALIGN_CENTRE, t->muted,
                         text);
    }
}

static void draw_row(struct picture *p, const struct bar *bar, int32_t left, int32_t top)
{
    struct ih_chart *base = &p->base;
    const struct ih_chart_theme *t = base->theme;
    const int32_t y0 = on_pixel(top), y1 = on_pixel(top + ROW * p->unit);
    const int32_t y = ((y0 + y1) / 2 + ems(p, 36)) / IH_SUBPIXELS, pad = (y1 - y0) * 17 / 100;
    const int32_t x = left + p->plot_left, right = left + p->column_width;
    const double limit = read_speed(p->chart, bar);
    const int32_t end = on_pixel(x + reach(p, limit));
    char text[IH_LABEL_MAX];
    ih_draw_exact(base, x, y0, x + p->plot_width, y1, t->panel, 255);
    draw_decades(p, x, y0, y1);
    if (bar->row.status == IH_BENCH_OK)
        ih_draw_exact(base, x, y0 + pad, x + reach(p, bar->row.gb_per_s), y1 - pad,
                      bar->is_gpu ? t->green : t->blue, bar->is_read ? 80 : 255);
    if (limit > 0)
        ih_draw_exact(base, end, y0, end + 2 * p->hair, y1, t->text, 210);
    if (p->plot_left == 0)
        return;
    ih_draw_text(base, left, y, IH_ALIGN_LEFT, t->muted, bar->is_gpu ? "GPU" : "CPU");
    ih_draw_text(base, left + ems(p, DEVICE), y, IH_ALIGN_LEFT, t->text, bar->name);
    if (bar->row.status != IH_BENCH_OK) {
        write_short(p, x + ems(p, 40), y, right - x - ems(p, 40),
                    bar->row.status == IH_BENCH_SKIPPED ? t->muted : t->warning, bar->row.reason);
        return;
    }
    name_value(text, bar->row.gb_per_s);
    ih_draw_text(base, right - ems(p, SHARE), y, IH_ALIGN_RIGHT, t->text, text);
    if (limit > 0 && !bar->is_read) {
        name_value(text, 100 * bar->row.gb_per_s / limit);
        strcat(text, "\xe2\x80\xaf%");
        ih_draw_text(base, right, y, IH_ALIGN_RIGHT, t->muted, text);
    }
}

static void draw(struct picture *p, const char *facts)
{
    const struct ih_chart_theme *t = p->base.theme;
    const struct bar *end = p->chart->bars + p->chart->n_bars;
    char title[TEXT_MAX];
    ih_draw_title(&p->base, (p->margin + ems(p, 110)) / IH_SUBPIXELS, p->base.page.title);
    write_short(p, p->margin, (p->margin + ems(p, 285)) / IH_SUBPIXELS, p->room, t->muted, facts);
    for (const struct bar *bar = p->chart->bars; bar < end; bar++) {
        const int32_t column = bar->y > p->split, pitch = p->column_width + ems(p, GUTTER);
        const int32_t left = on_pixel(p->margin + column * pitch);
        const int32_t top = p->margin + ems(p, TOP) + (bar->y - GAP - column * p->split) * p->unit;
        draw_row(p, bar, left, top);
        snprintf(title, sizeof title, "%s, %s, %.4g MiB", bar->row.task->title,
                 ih_bench_data_name(bar->row.task->timed[0]), (double)bar->row.n_bytes / (1 << 20));
        if (bar->is_first && (HEADING - GAP) * p->unit >= ems(p, 120))
            write_short(p, left, (top - ems(p, 45)) / IH_SUBPIXELS, p->column_width, t->text,
                        title);
        if (bar + 1 == end || (bar[1].y > p->split) != column)
            draw_decades(p, left + p->plot_left, top + ROW * p->unit, 0);
    }
    write_short(p, p->margin, p->base.layout.height - p->base.layout.margin, p->room, t->muted,
                "GB/s. Line and %: the speed of read, which only reads the bytes");
}

enum ih_status ih_bench_chart_draw(struct ih_bench_chart *chart, const struct ih_bench_head *head,
                                   const struct ih_chart_options *look, unsigned char **file,
                                   size_t *size_bytes, struct ih_error *err)
{
    char facts[TEXT_MAX], description[TEXT_MAX];
    struct picture p = {.chart = chart, .low = INFINITY};
    p.base.theme = look->theme ? look->theme : &ih_chart_theme_dark;
    p.base.page.title = "The ladder against the roofline";
    p.base.page.description = description;
    snprintf(facts, sizeof facts, "%s \xc2\xb7 %u CPU thread%s \xc2\xb7 imghist " IH_VERSION,
             head->gpu ? head->gpu : "no GPU", head->n_threads, head->n_threads == 1 ? "" : "s");
    ih_escape(description, sizeof description, facts);
    enum ih_status status = ih_glyphs_open(&p.base.glyphs, err);
    if (status == IH_OK) {
        lay_out(&p, look);
        status = ih_chart_open(&p.base, look->format, err);
    }
    if (status == IH_OK)
        draw(&p, facts);
    return ih_chart_close(&p.base, status, file, size_bytes, err);
}
