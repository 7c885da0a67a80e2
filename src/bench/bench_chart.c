/*
 * The chart of --bench: a bar for each rung on a logarithmic axis, and a line at the speed of
 * `read`.
 *
 * A bar shows a rung on the first kind of data of its task. Tasks are groups, in the order of the
 * report, in one column or two. If rows are too low for type, only bars are drawn.
 */
#include "base/text.h"
#include "bench/report.h"
#include "output/chart/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BARS_MAX = 8 * IH_BENCH_RUNGS_MAX, TEXT_MAX = IH_MESSAGE_MAX };
enum { ROW = 10, TITLE = 16, GAP = 7 };           /* heights, in tenths of a row */
enum { DEVICE = 320, SHARE = 380, GUTTER = 260 }; /* widths, in hundredths of an em */

struct bar {
    struct ih_bench_row row; /* on the first kind of data; its rung is not valid any more */
    const char *name;
    bool is_gpu, is_read;
    int32_t column, y; /* y is its top, in tenths of a row */
};

struct ih_bench_chart {
    struct bar bars[BARS_MAX];
    int32_t n_bars;
};

/* Lengths in 1/IH_SUBPIXELS of a pixel, except those of the base. */
struct picture {
    struct ih_chart base; /* theme, glyphs, canvas, path; of the layout the size, em and hair */
    struct ih_bench_chart *chart;
    int32_t width, height, margin, top, unit, column_width;
    int32_t plot_left, plot_width; /* plot_left 0: there is no room for type */
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
    if (bar == end && c->n_bars == BARS_MAX)
        return;
    if (bar == end) {
        c->n_bars++;
        *bar = (struct bar){*row, row->rung->name, is_gpu, row->rung->is_read, 0, 0};
    }
    if (row->status > bar->row.status) { /* the worst status of all kinds of data counts */
        bar->row.status = row->status;
        memcpy(bar->row.reason, row->reason, sizeof row->reason);
    }
}

/* ---- layout ---- */

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

/* Places the bars. The second column begins with the first group whose middle is in the second half
 * of all groups. Returns the height of the higher column, in tenths of a row. */
static int32_t place_bars(struct ih_bench_chart *c, int32_t n_columns)
{
    int32_t total = 0, before = 0, y = 0, highest = 1;
    for (int32_t i = 0; i < c->n_bars; i++)
        total += ROW + (i == 0 || c->bars[i].row.task != c->bars[i - 1].row.task ? TITLE + GAP : 0);
    for (int32_t i = 0, end; i < c->n_bars; i = end) {
        for (end = i; end < c->n_bars && c->bars[end].row.task == c->bars[i].row.task;)
            end++;
        const int32_t size = TITLE + GAP + ROW * (end - i);
        const int32_t column = i > 0 && n_columns > 1 && before + size / 2 > total / 2;
        y = i == 0 || column > c->bars[i - 1].column ? TITLE : y + GAP + TITLE;
        before += size;
        for (int32_t k = i; k < end; k++, y += ROW) {
            c->bars[k].column = column;
            c->bars[k].y = y;
        }
        highest = ih_larger(highest, y);
    }
    return highest;
}

static void lay_out(struct picture *p, const struct ih_chart_options *look)
{
    struct ih_bench_chart *c = p->chart;
    int32_t labels = 0, values = 0;
    double low = INFINITY, high = 0;
    struct ih_chart_layout *l = &p->base.layout;
    ih_chart_set_sizes(l, look->width ? look->width : IH_CHART_WIDTH,
                       look->width ? look->height : IH_CHART_HEIGHT);
    p->margin = l->margin * IH_SUBPIXELS;
    p->top = p->margin + ems(p, 400);
    const int32_t n_columns = l->width > 40 * l->em ? 2 : 1, tenths = place_bars(c, n_columns);
    const int32_t beside = p->top + ems(p, 350) + p->margin;
    if (!look->width) { /* the default grows with the rows */
        const int32_t needed = (beside + tenths * ems(p, 15)) / IH_SUBPIXELS;
        l->height = ih_smaller(ih_larger(l->height, needed), IH_CHART_MAX);
    }
    p->width = l->width * IH_SUBPIXELS;
    p->height = l->height * IH_SUBPIXELS;
    p->unit = ih_larger(1, p->height - beside) / tenths;
    p->unit = ih_smaller(p->unit, ems(p, 22));
    p->column_width = (p->width - 2 * p->margin - (n_columns - 1) * ems(p, GUTTER)) / n_columns;
    for (const struct bar *b = c->bars; b < c->bars + c->n_bars; b++) {
        char text[IH_LABEL_MAX];
        labels = ih_larger(labels, ih_chart_width(&p->base, b->name));
        if (b->row.status == IH_BENCH_OK && b->row.gb_per_s > 0) {
            name_value(text, b->row.gb_per_s);
            values = ih_larger(values, ih_chart_width(&p->base, text));
            low = fmin(low, b->row.gb_per_s);
            high = fmax(high, b->row.gb_per_s);
        }
    }
    const bool has_type = ROW * p->unit >= ems(p, 98);
    p->plot_left = has_type ? ems(p, DEVICE + 70) + labels : 0;
    p->plot_width = p->column_width - p->plot_left - (has_type ? values + ems(p, SHARE + 70) : 0);
    p->low = high > 0 ? fmax(1e-6, low / 2) : 1;
    p->high = fmax(10 * p->low, high * 1.12); /* the line of `read` stays clear of the end */
}

/* ---- drawing ---- */

static int32_t on_pixel(int32_t x)
{
    return x / IH_SUBPIXELS * IH_SUBPIXELS;
}

static void fill(struct picture *p, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                 struct ih_colour colour, uint8_t opacity)
{
    ih_path_clear(&p->base.path);
    ih_path_rectangle(&p->base.path, x0, y0, x1, y1);
    ih_chart_fill(&p->base, colour, opacity, IH_BLEND_NORMAL);
}

/* Writes text, shortened to the room. */
static void write_text(struct picture *p, int32_t x, int32_t y, enum ih_align align, int32_t room,
                       struct ih_colour colour, const char *text)
{
    char shown[TEXT_MAX + IH_ELLIPSIS_BYTES];
    snprintf(shown, TEXT_MAX, "%s", text);
    ih_glyphs_shorten(p->base.glyphs, (unsigned)p->base.layout.em, room, shown);
    ih_chart_write(&p->base, x, y / IH_SUBPIXELS, align, colour, shown);
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
    for (double v = pow(10, ceil(log10(p->low))); v < p->high; v *= 10) {
        const int32_t at = on_pixel(x + reach(p, v)), room = reach(p, 10 * p->low);
        char text[IH_LABEL_MAX];
        ih_label_real(text, v, v < 0.9 ? (unsigned)(0.5 - log10(v)) : 0);
        if (y1 > 0)
            fill(p, at, y0, at + p->base.layout.hair * IH_SUBPIXELS, y1, p->base.theme->line,
                 p->base.theme->grid_opacity);
        else if (ih_chart_width(&p->base, text) + ems(p, 40) < room &&
                 at + ih_chart_width(&p->base, text) / 2 < x + p->column_width - p->plot_left)
            write_text(p, at, y0 + ems(p, 130), IH_ALIGN_CENTRE, room, p->base.theme->muted, text);
    }
}

static void draw_row(struct picture *p, const struct bar *bar)
{
    const struct ih_chart_theme *t = p->base.theme;
    const int32_t left = on_pixel(p->margin + bar->column * (p->column_width + ems(p, GUTTER)));
    const int32_t y0 = on_pixel(p->top + bar->y * p->unit);
    const int32_t y1 = on_pixel(p->top + (bar->y + ROW) * p->unit), pad = (y1 - y0) * 17 / 100;
    const int32_t x = left + p->plot_left, baseline = (y0 + y1) / 2 + ems(p, 36);
    const double limit = read_speed(p->chart, bar);
    const int32_t end = on_pixel(x + reach(p, limit));
    char text[IH_LABEL_MAX];
    fill(p, x, y0, x + p->plot_width, y1, t->panel, 255);
    draw_decades(p, x, y0, y1);
    if (bar->row.status == IH_BENCH_OK)
        fill(p, x, y0 + pad, x + reach(p, bar->row.gb_per_s), y1 - pad,
             bar->is_gpu ? t->green : t->blue, bar->is_read ? 80 : 255);
    if (limit > 0)
        fill(p, end, y0, end + 2 * p->base.layout.hair * IH_SUBPIXELS, y1, t->text, 210);
    if (p->plot_left == 0)
        return;
    write_text(p, left, baseline, IH_ALIGN_LEFT, p->plot_left, t->muted,
               bar->is_gpu ? "GPU" : "CPU");
    write_text(p, left + ems(p, DEVICE), baseline, IH_ALIGN_LEFT, p->plot_left, t->text, bar->name);
    if (bar->row.status != IH_BENCH_OK) {
        char reason[TEXT_MAX];
        ih_escape(reason, sizeof reason, bar->row.reason);
        write_text(p, x + ems(p, 40), baseline, IH_ALIGN_LEFT,
                   left + p->column_width - x - ems(p, 40),
                   bar->row.status == IH_BENCH_SKIPPED ? t->muted : t->warning, reason);
        return;
    }
    name_value(text, bar->row.gb_per_s);
    write_text(p, left + p->column_width - ems(p, SHARE), baseline, IH_ALIGN_RIGHT, p->column_width,
               t->text, text);
    if (limit > 0 && !bar->is_read) {
        name_value(text, 100 * bar->row.gb_per_s / limit);
        strcat(text, "\xe2\x80\xaf%");
        write_text(p, left + p->column_width, baseline, IH_ALIGN_RIGHT, p->column_width, t->muted,
                   text);
    }
}

static void draw(struct picture *p, const char *headline, const char *facts)
{
    const struct ih_bench_chart *c = p->chart;
    const int32_t room = p->width - 2 * p->margin;
    const struct ih_text_place place = {p->margin, on_pixel(p->margin + ems(p, 110)), IH_ALIGN_LEFT,
                                        (unsigned)p->base.layout.title_em};
    const struct ih_paint paint = {p->base.theme->text, 255, IH_BLEND_NORMAL};
    char title[TEXT_MAX];
    p->base.canvas->text(p->base.canvas, &place, headline, &paint);
    write_text(p, p->margin, p->margin + ems(p, 285), IH_ALIGN_LEFT, room, p->base.theme->muted,
               facts);
    for (const struct bar *bar = c->bars; bar < c->bars + c->n_bars; bar++) {
        const int32_t left = on_pixel(p->margin + bar->column * (p->column_width + ems(p, GUTTER)));
        draw_row(p, bar);
        snprintf(title, sizeof title, "%s, %s, %.4g MiB", bar->row.task->title,
                 ih_bench_data_name(bar->row.task->timed[0]), (double)bar->row.n_bytes / (1 << 20));
        if (TITLE * p->unit >= ems(p, 120) && (bar == c->bars || bar->row.task != bar[-1].row.task))
            write_text(p, left, p->top + bar->y * p->unit - ems(p, 45), IH_ALIGN_LEFT,
                       p->column_width, p->base.theme->text, title);
        if (bar + 1 == c->bars + c->n_bars || bar[1].column > bar->column)
            draw_decades(p, left + p->plot_left, p->top + (bar->y + ROW) * p->unit, 0);
    }
    write_text(p, p->margin, p->height - p->margin, IH_ALIGN_LEFT, room, p->base.theme->muted,
               "GB/s. Line and %: the speed of read, which only reads the bytes");
}

enum ih_status ih_bench_chart_draw(struct ih_bench_chart *chart, const struct ih_bench_head *head,
                                   const struct ih_chart_options *look, unsigned char **file,
                                   size_t *size_bytes, struct ih_error *err)
{
    static const char headline[] = "The ladder against the roofline";
    struct picture p = {.chart = chart,
                        .base.theme = look->theme ? look->theme : &ih_chart_theme_dark};
    struct ih_glyphs *glyphs = NULL;
    char facts[TEXT_MAX], gpu[TEXT_MAX / 2];
    ih_escape(gpu, sizeof gpu, head->gpu ? head->gpu : "no GPU");
    snprintf(facts, sizeof facts, "%s \xc2\xb7 %u CPU thread%s \xc2\xb7 imghist %s", gpu,
             head->n_threads, head->n_threads == 1 ? "" : "s", IH_VERSION);
    *file = NULL;
    enum ih_status status = ih_glyphs_open(&glyphs, err);
    if (status != IH_OK)
        return status;
    p.base.glyphs = glyphs;
    lay_out(&p, look);
    const struct ih_chart_page page = {.width = (unsigned)p.base.layout.width,
                                       .height = (unsigned)p.base.layout.height,
                                       .background = p.base.theme->page,
                                       .glyphs = glyphs,
                                       .title = headline,
                                       .description = facts};
    status = ih_canvas_open(look->format, &page, &p.base.canvas, err);
    if (status == IH_OK) {
        draw(&p, headline, facts);
        status = ih_canvas_finish(p.base.canvas, file, size_bytes, err);
    }
    ih_canvas_close(p.base.canvas);
    ih_path_reset(&p.base.path);
    ih_glyphs_close(glyphs);
    return status;
}
