/*
 * A chart, from a result to a file in memory: the layout and the order of drawing. drawing.h names
 * the files that draw the parts.
 *
 * The layout is computed first, from the widths of all texts, so every canvas gets the same shapes
 * at the same places. Rows are placed from the top and the bottom, in sizes that follow from the
 * type, and the plot gets the rest. If that is too little, the footer gets shorter.
 *
 *     title                     scale
 *     strip: clipped, cut
 *     +-------------------------+
 *     | plot                    |   numbers of the counts at its left
 *     +-------------------------+
 *     numbers of the values
 *     legend                        one row, or a few in a narrow chart
 *     facts                         the same
 */
#include "chart/chart.h"

#include "chart/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- layout: rows ---- */

/* In hundredths of the em. */
enum {
    HEADER_TO_STRIP = 250,
    THUMBNAIL_TO_STRIP = 160,
    STRIP_TO_PLOT = 105, /* room for the marks of cut bars */
    PLOT_TO_TICKS = 150, /* to the baseline below the plot */
    TICKS_TO_FOOTER = 220,
    ROW_PITCH = 175,
    NUMBERS_TO_PLOT = 70,
    TICK_GAP = 200, /* least distance of two numbers on the vertical axis */
};

/* At the default size, ordinary type is DESIGN_EM pixels. */
enum { DESIGN_EM = 13, EM_LEAST = 10 };

/* In hundredths of the em. */
enum { TITLE_SIZE = 150, CAPITALS = 73 /* height in DejaVu Sans: 0.729 em */ };

/* The height of a thumbnail, in percent of the chart. */
enum { THUMBNAIL_SHARE = 15 };

/* The least height of the plot, in percent of the chart. The footer gives way to it. */
enum { PLOT_SHARE = 40 };

/* Ticks on the vertical axis, at most. */
static const double TICKS_MOST = 8;

/* What the footer has, from nothing to everything. Each has what the one before it has. */
enum footer { NOTHING, NAMES, FACTS_IN_ONE_ROW, NUMBERS, ALL_FACTS };

/* Converts hundredths of the em to pixels. */
static int32_t chart_ems(const struct ih_chart_layout *l, int32_t hundredths)
{
    return (l->em * hundredths + 50) / 100;
}

void ih_chart_set_sizes(struct ih_chart_layout *l, unsigned width, unsigned height)
{
    *l = (struct ih_chart_layout){.width = (int32_t)width, .height = (int32_t)height};
    l->em = ih_larger(EM_LEAST, ih_smaller(l->width * DESIGN_EM / IH_CHART_WIDTH,
                                           l->height * DESIGN_EM / IH_CHART_HEIGHT));
    l->title_em = chart_ems(l, TITLE_SIZE);
    l->margin = ih_larger(l->em * 3 / 5, ih_smaller(l->width, l->height) / 32);
    l->hair = ih_larger(1, (l->em + DESIGN_EM / 2) / DESIGN_EM);
}

/* Chooses the fewest rows in which the entries of the legend fit with their numbers, in columns. */
static void choose_columns(struct ih_chart *chart)
{
    struct ih_chart_layout *l = &chart->layout;
    const int32_t n = (int32_t)chart->facts.n_entries;
    const int32_t gap = ih_chart_ems(l, IH_CHART_ENTRY_GAP);
    const int32_t width = (l->right - l->margin) * IH_SUBPIXELS;
    l->legend_columns = 0;
    for (l->legend_rows = 1; l->legend_rows <= n; l->legend_rows++) {
        const int32_t columns = (n + l->legend_rows - 1) / l->legend_rows;
        int32_t widest = 0;
        for (int32_t i = 0; i < n; i++)
            widest = ih_larger(widest, ih_chart_entry_width(chart, &chart->facts.entries[i], true));
        if ((widest + gap) * columns - gap > width)
            continue;
        l->legend_columns = columns;
        return;
    }
}

/* Leaves out the clipped shares if not even one entry fits in a row with them. */
static void choose_numbers(struct ih_chart *chart)
{
    choose_columns(chart);
    for (unsigned i = 0; i < chart->facts.n_entries && chart->layout.legend_columns == 0; i++) {
        char *clipped = strstr(chart->facts.entries[i].numbers, "  crushed");
        if (clipped)
            *clipped = '\0';
    }
    if (chart->layout.legend_columns == 0)
        choose_columns(chart);
}

static bool names_fit(const struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t gap = ih_chart_ems(l, IH_CHART_ENTRY_GAP);
    int32_t width = -gap;
    for (unsigned i = 0; i < chart->facts.n_entries; i++)
        width += ih_chart_entry_width(chart, &chart->facts.entries[i], false) + gap;
    return width <= (l->right - l->margin) * IH_SUBPIXELS;
}

void ih_chart_fit_names(struct ih_chart *chart)
{
    chart->layout.legend_rows = chart->facts.n_entries > 0;
    chart->layout.legend_columns = 0;
    if (!names_fit(chart))
        choose_columns(chart);
}

static void choose_rows(struct ih_chart *chart, enum footer footer)
{
    struct ih_chart_layout *l = &chart->layout;
    l->legend_rows = l->legend_columns = l->facts_rows = 0;
    if (footer >= NUMBERS)
        choose_numbers(chart);
    if (footer >= NAMES && l->legend_columns == 0)
        l->legend_rows = names_fit(chart) ? 1 : 0;
    if (footer >= FACTS_IN_ONE_ROW)
        l->facts_rows = 1;
    if (footer == ALL_FACTS)
        l->facts_rows = ih_chart_count_fact_rows(chart, (l->right - l->margin) * IH_SUBPIXELS);
}

static void place_rows(struct ih_chart_layout *l)
{
    l->title_y = l->margin + chart_ems(l, TITLE_SIZE * CAPITALS / 100);
    l->strip_y = ih_larger(l->title_y + chart_ems(l, HEADER_TO_STRIP),
                           l->thumbnail_height > 0
                               ? l->margin + l->thumbnail_height + chart_ems(l, THUMBNAIL_TO_STRIP)
                               : 0);
    l->top = l->strip_y + chart_ems(l, STRIP_TO_PLOT);

    const int32_t n_rows = l->legend_rows + l->facts_rows;
    int32_t y = l->height - l->margin - ih_larger(0, n_rows - 1) * l->row_pitch;
    l->legend_y = y;
    l->facts_y = y + l->legend_rows * l->row_pitch;
    l->ticks_y = n_rows > 0 ? y - chart_ems(l, TICKS_TO_FOOTER) : y;
    l->bottom = l->ticks_y - chart_ems(l, PLOT_TO_TICKS);
}

int32_t ih_chart_counts_width(const struct ih_chart *chart)
{
    int32_t width = 0;
    for (unsigned i = 0; i < chart->axis.n_ticks; i++) {
        char number[IH_LABEL_MAX];
        ih_chart_axis_label(&chart->axis, chart->axis.ticks[i], number);
        width = ih_larger(width, ih_draw_width(chart, number));
    }
    return width;
}

/* Returns the width of the numbers and captions left of the plot, in pixels. */
static int32_t numbers_width(const struct ih_chart *chart)
{
    const int32_t captions = ih_larger(ih_draw_width(chart, ih_chart_counts_caption),
                                       ih_draw_width(chart, ih_chart_values_caption) +
                                           ih_chart_ems(&chart->layout, IH_CHART_CAPTION_GAP));
    const int32_t width = ih_larger(captions, ih_chart_counts_width(chart));
    return (width + IH_SUBPIXELS - 1) / IH_SUBPIXELS;
}

static void chart_lay_out(struct ih_chart *chart, unsigned width, unsigned height)
{
    struct ih_chart_layout *l = &chart->layout;
    ih_chart_set_sizes(l, width, height);
    ih_chart_set_bins(chart);
    l->row_pitch = chart_ems(l, ROW_PITCH);
    l->right = l->width - l->margin;
    if (chart->thumbnail.pixels)
        l->thumbnail_height =
            ih_smaller((int32_t)chart->thumbnail.height, l->height * THUMBNAIL_SHARE / 100);
    enum footer footer = ALL_FACTS + 1;
    do {
        choose_rows(chart, --footer);
        place_rows(l);
    } while (footer > NOTHING && (l->bottom - l->top) * 100 < l->height * PLOT_SHARE);
    double plot_height = l->bottom - l->top;
    double gap = chart_ems(l, TICK_GAP) / plot_height;
    if (chart->axis.scale->steps != IH_STEPS_DECADES && gap < 1 / TICKS_MOST)
        gap = 1 / TICKS_MOST;
    ih_chart_axis_init(&chart->axis, chart->heights, gap);
    l->numbers_right = l->margin + numbers_width(chart);
    l->left = l->numbers_right + chart_ems(l, NUMBERS_TO_PLOT);
}

/* ---- the chart ---- */

void ih_chart_scale_counts(struct ih_histogram *h, uint64_t n_pixels)
{
    const double factor = (double)n_pixels / (double)h->n_pixels;
    uint64_t *const clips[] = {&h->any_low, &h->any_high, &h->all_low, &h->all_high};
    if (h->n_pixels == n_pixels || h->n_pixels == 0)
        return;
    for (unsigned i = 0; i < ih_own_planes(h) * IH_BINS + 4; i++) {
        uint64_t *n = i < 4 ? clips[i] : &h->bins[i - 4];
        *n = *n > 0 ? (uint64_t)llround(fmax(1, (double)*n * factor)) : 0;
    }
    h->n_pixels = n_pixels;
}

void ih_chart_draw_all(struct ih_chart *chart)
{
    chart_lay_out(chart, chart->page.width, chart->page.height);
    ih_chart_draw_header(chart);
    ih_chart_draw_plot(chart);
    ih_chart_draw_footer(chart);
}

static enum ih_status chart_check_size(const struct ih_chart_options *options, struct ih_error *err)
{
    if (options->width >= IH_CHART_MIN_WIDTH && options->width <= IH_CHART_MAX &&
        options->height >= IH_CHART_MIN_HEIGHT && options->height <= IH_CHART_MAX)
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "chart size %ux%u: must be from %dx%d to %dx%d",
                        options->width, options->height, IH_CHART_MIN_WIDTH, IH_CHART_MIN_HEIGHT,
                        IH_CHART_MAX, IH_CHART_MAX);
}

unsigned long ih_chart_lacking(const char *label)
{
    struct ih_glyphs *glyphs = NULL;
    struct ih_error ignored;
    unsigned long lacking = 0;
    char *text = ih_label_text(label);
    if (text && ih_glyphs_open(&glyphs, &ignored) == IH_OK)
        lacking = ih_glyphs_lacking(glyphs, text);
    ih_glyphs_close(glyphs);
    free(text);
    return lacking;
}

enum ih_status ih_chart_make(struct ih_chart *chart, const struct ih_chart_options *options,
                             const char *source, unsigned char **file, size_t *size_bytes,
                             struct ih_error *err)
{
    struct ih_bytes title = {0}, description = {0};
    *file = NULL;
    *size_bytes = 0;
    chart->theme = options->theme ? options->theme : ih_chart_theme_find("dark");
    chart->axis.scale = options->scale ? options->scale : ih_chart_scale_find("linear");
    chart->axis.in_percent = options->in_percent;
    ih_chart_describe(chart, &title, &description);
    enum ih_status status = chart_check_size(options, err);
    if (status == IH_OK && (title.failed || description.failed))
        status = ih_error_set(err, IH_MEMORY, "chart: out of memory");
    if (status == IH_OK)
        status = ih_glyphs_open(&chart->glyphs, err);
    chart->page = (struct ih_chart_page){.width = options->width,
                                         .height = options->height,
                                         .background = chart->theme->page,
                                         .glyphs = chart->glyphs,
                                         .title = (const char *)title.data,
                                         .description = (const char *)description.data,
                                         .source = source};
    if (status == IH_OK)
        status = ih_canvas_open(options->format, &chart->page, &chart->canvas, err);
    if (status == IH_OK) {
        (chart->draw ? chart->draw : ih_chart_draw_all)(chart);
        status = ih_canvas_finish(chart->canvas, file, size_bytes, err);
    }
    ih_canvas_close(chart->canvas);
    ih_glyphs_close(chart->glyphs);
    ih_path_reset(&chart->path);
    free(chart->thumbnail.pixels);
    free(chart->name);
    ih_bytes_reset(&description);
    ih_bytes_reset(&title);
    return status;
}

enum ih_status ih_chart_draw(const struct ih_result *result, const struct ih_chart_options *options,
                             unsigned char **file, size_t *size_bytes, struct ih_error *err)
{
    struct ih_histogram bars;
    struct ih_chart chart = {.result = result,
                             .bars = &bars,
                             .heights = &bars,
                             .values = &result->histogram,
                             .title = options->title};
    *file = NULL;
    *size_bytes = 0;
    chart.shown = ih_histogram_shown(&result->histogram);
    if (ih_histogram_fold(&result->histogram, chart.shown, &bars, err) != IH_OK)
        return IH_MEMORY;
    ih_chart_collect_facts(result, &chart.facts);
    if (options->has_thumbnail)
        ih_draw_read_thumbnail(&chart, result);
    const enum ih_status status = ih_chart_make(
        &chart, options, result->is_total && !result->group ? "imghist --total" : result->path,
        file, size_bytes, err);
    ih_histogram_reset(&bars);
    return status;
}
