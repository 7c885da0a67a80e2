/*
 * Small multiples: the histograms of several images on one page, each with its name and clipping.
 *
 * All have one scale, so that shapes and heights compare. Heights are shares of an image's pixels,
 * as images have different sizes. Three quarters of the images are shown as a chart of their own
 * would show them; of the others, more bars may be cut, which the marks say. So are those of images
 * of one value. Rejected: the scale of the image with the highest peaks, since one graphic flattens
 * all photos.
 */
#include "chart/drawing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts become those of so many pixels. On a logarithmic scale a pixel of the largest image is the
 * lowest bar, if that is no less than a millionth of it. */
enum { SHEET_PIXELS = 1000000000, LEAST_PIXELS = 10000, LOG_PIXELS = 1000000 };

/* In hundredths of the em, from row to row. */
enum { NAME_ROW = 150, STRIP_ROW = 215, VALUES_ROW = 150, THUMBNAIL_ROWS = 430, FOOTER_ROW = 175 };
enum { CAPITALS_UP = 105, COLUMN_GAP = 160, ROW_GAP = 60, TO_NUMBERS = 60 };

/* Pixels of a panel, on a page without a size; with one, it has at least the last two. */
enum { PANEL_WIDTH = 340, PANEL_HEIGHT = 250, LEAST_WIDTH = 200, LEAST_HEIGHT = 160 };
static const double PANEL_ASPECT = 1.4;

struct ih_chart_sheet {
    const struct ih_result *results; /* borrowed: [n] */
    struct ih_result *scaled;        /* owned: [n] */
    size_t n;
    uint64_t n_pixels; /* to which the counts are scaled */
    size_t n_common;   /* bytes of all paths that are their common folder */
    bool has_thumbnails;
    int32_t n_columns, n_rows;
};

/* ---- the scale ---- */

static int compare_limits(const void *a, const void *b)
{
    const double x = ((const struct ih_chart_axis *)a)->limit;
    const double y = ((const struct ih_chart_axis *)b)->limit;
    return (x > y) - (x < y);
}

/* Images of one value, whose bars are all their pixels, do not count beside others. */
static void choose_axis(struct ih_chart *chart, double min_gap)
{
    const struct ih_chart_sheet *s = chart->sheet;
    struct ih_chart_axis axes[IH_CHART_SHEET_MAX];
    size_t n = s->n;
    for (size_t i = 0; i < s->n; i++) {
        axes[i] = (struct ih_chart_axis){.scale = chart->axis.scale, .in_percent = true};
        ih_chart_axis_init(&axes[i], &s->scaled[i].histogram, min_gap);
    }
    qsort(axes, s->n, sizeof *axes, compare_limits);
    while (n > 0 && chart->axis.scale->may_cut && axes[n - 1].limit > (double)s->n_pixels)
        n--;
    chart->axis = axes[((n > 0 ? n : s->n) - 1) * 3 / 4];
    chart->axis.n_pixels = s->n_pixels;
}

/* ---- layout ---- */

static void choose_grid(struct ih_chart_sheet *s, double width, double height)
{
    double best = 0;
    for (int32_t columns = 1; columns <= (int32_t)s->n; columns++) {
        const int32_t rows = ((int32_t)s->n + columns - 1) / columns;
        const double aspect = width / columns / (height / rows) / PANEL_ASPECT;
        const double fit = aspect < 1 ? aspect : 1 / aspect;
        if (fit > best) {
            best = fit;
            s->n_columns = columns;
            s->n_rows = rows;
        }
    }
}

static int32_t sheet_ems(const struct ih_chart *chart, int32_t hundredths)
{
    return ih_chart_ems(&chart->layout, hundredths) / IH_SUBPIXELS;
}

/* ---- drawing ---- */

static void draw_line_of_name(struct ih_chart *chart, int32_t y, int32_t room, char *text,
                              struct ih_colour colour)
{
    const struct ih_chart_layout *l = &chart->layout;
    ih_glyphs_shorten(chart->glyphs, (unsigned)l->em, room * IH_SUBPIXELS, text);
    ih_draw_text(chart, l->left * IH_SUBPIXELS, y + l->em, IH_ALIGN_LEFT, colour, text);
}

/* The name of an image; left of a thumbnail its size and mean luma too. */
static void draw_name(struct ih_chart *chart, const struct ih_result *r, int32_t y)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t height = ih_smaller(sheet_ems(chart, THUMBNAIL_ROWS), (int32_t)chart->thumbnail.height);
    int32_t thumbnail = ih_draw_thumbnail_width(chart, height);
    if (thumbnail > (l->right - l->left) / 2) { /* a panorama */
        height = height * (l->right - l->left) / 2 / thumbnail;
        thumbnail = ih_draw_thumbnail_width(chart, height);
    }
    int32_t room = l->right - l->left - (thumbnail ? thumbnail + l->em / 2 : 0);
    struct ih_chart_facts facts;
    const char *const path = r->path + chart->sheet->n_common;
    char *name = strchr(path, '/') ? ih_label_text(path) : ih_label_name(path);
    if (!name) {
        chart->canvas->status = IH_MEMORY;
        return;
    }
    ih_draw_thumbnail(chart, l->right, y, height);
    struct ih_result image = *r;
    image.measure.region = image.measure.mask = NULL; /* the footer names them */
    ih_chart_collect_facts(&image, &facts);
    if (r->is_total) { /* the number of images */
        ih_draw_text(chart, l->right * IH_SUBPIXELS, y + l->em, IH_ALIGN_RIGHT, chart->theme->muted,
                     facts.fact[0]);
        room -= ih_draw_width(chart, facts.fact[0]) / IH_SUBPIXELS + l->em;
    }
    draw_line_of_name(chart, y, room, name, chart->theme->text);
    free(name);
    for (unsigned i = 0; i < 2 && i < facts.n_facts && chart->sheet->has_thumbnails; i++)
        draw_line_of_name(chart, y + sheet_ems(chart, NAME_ROW) * (int32_t)(i + 1), room,
                          facts.fact[i], chart->theme->muted);
}

static void draw_cell(struct ih_chart *chart, size_t i, int32_t x, int32_t y, int32_t width,
                      int32_t height)
{
    const struct ih_chart_sheet *s = chart->sheet;
    struct ih_chart_layout *l = &chart->layout;
    chart->result = &s->results[i];
    chart->heights = chart->bars = &s->scaled[i].histogram;
    chart->values = &s->results[i].histogram;
    chart->shown = ih_histogram_shown(chart->values);
    ih_chart_set_bins(chart);
    l->left = x;
    l->right = x + width;
    l->strip_y = y + sheet_ems(chart, s->has_thumbnails ? THUMBNAIL_ROWS : NAME_ROW) +
                 sheet_ems(chart, CAPITALS_UP);
    l->top = l->strip_y + sheet_ems(chart, STRIP_ROW - CAPITALS_UP);
    l->bottom = y + height - sheet_ems(chart, VALUES_ROW);
    l->ticks_y = y + height - sheet_ems(chart, 20);
    if (s->has_thumbnails)
        ih_draw_read_thumbnail(chart, &s->results[i]);
    ih_chart_axis_find_cut(&chart->axis, chart->heights);
    draw_name(chart, &s->results[i], y);
    ih_chart_draw_panel(chart);
    if (i % (size_t)s->n_columns == 0)
        ih_chart_draw_counts(chart, (l->left - sheet_ems(chart, TO_NUMBERS)) * IH_SUBPIXELS);
    const size_t below = i + (size_t)s->n_columns;
    if (below >= s->n ||
        !ih_shown_is_same(ih_histogram_shown(&s->results[below].histogram), chart->shown))
        ih_chart_draw_values(chart);
}

static void draw_sheet(struct ih_chart *chart)
{
    struct ih_chart_sheet *s = chart->sheet;
    struct ih_chart_layout *l = &chart->layout;
    const int32_t width = (int32_t)chart->page.width, height = (int32_t)chart->page.height;
    ih_chart_set_sizes(l, (unsigned)(width / s->n_columns * 5 / 2),
                       (unsigned)(height / s->n_rows * 5 / 2));
    l->width = width;
    l->height = height;
    l->right = width - l->margin;
    l->row_pitch = sheet_ems(chart, FOOTER_ROW);
    ih_chart_fit_names(chart);
    l->facts_rows = ih_chart_count_fact_rows(chart, (l->right - l->margin) * IH_SUBPIXELS);
    l->facts_y = height - l->margin - (l->facts_rows - 1) * l->row_pitch;
    l->legend_y = l->facts_y - l->legend_rows * l->row_pitch;
    l->title_y = l->margin + l->title_em * 3 / 4;
    choose_axis(chart, chart->axis.scale->steps == IH_STEPS_DECADES ? 0.15 : 0.2);
    ih_chart_draw_header(chart);
    ih_chart_draw_footer(chart);
    const int32_t gap = sheet_ems(chart, COLUMN_GAP), row_gap = sheet_ems(chart, ROW_GAP);
    const int32_t numbers = ih_chart_counts_width(chart) / IH_SUBPIXELS + 1;
    const int32_t left = l->margin + numbers + sheet_ems(chart, TO_NUMBERS);
    const int32_t top = l->title_y + l->em;
    const int32_t cell_width = (l->right + gap - left) / s->n_columns;
    const int32_t cell_height = (l->legend_y - l->row_pitch - top + row_gap) / s->n_rows;
    for (size_t i = 0; i < s->n && chart->canvas->status == IH_OK; i++)
        draw_cell(chart, i, left + (int32_t)i % s->n_columns * cell_width,
                  top + (int32_t)i / s->n_columns * cell_height, cell_width - gap,
                  cell_height - row_gap);
}

/* Fills sheet->scaled. Returns IH_OK or IH_MEMORY. */
static enum ih_status scale_results(struct ih_chart_sheet *s, struct ih_error *err)
{
    s->scaled = calloc(s->n, sizeof *s->scaled);
    if (!s->scaled)
        return ih_error_set(err, IH_MEMORY, "chart: out of memory");
    for (size_t i = 0; i < s->n; i++) {
        struct ih_histogram bars;
        const struct ih_histogram *const h = &s->results[i].histogram;
        if (ih_histogram_fold(h, ih_histogram_shown(h), &bars, err) != IH_OK)
            return IH_MEMORY;
        s->scaled[i] = s->results[i];
        s->scaled[i].histogram = bars;
        ih_chart_scale_counts(&s->scaled[i].histogram, s->n_pixels);
    }
    return IH_OK;
}

/* Returns the length of the folder in which all images are, with its slash. */
static size_t common_folder(const struct ih_result *results, size_t n)
{
    const char *const path = results->path, *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash + 1 - path) : 0;
    for (size_t i = 1; i < n; i++)
        while (length > 0 && strncmp(path, results[i].path, length) != 0)
            for (length--; length > 0 && path[length - 1] != '/';)
                length--;
    return length;
}

/* Whether a plane has this name in all images that have it, of so many colours. */
static bool has_name(const struct ih_chart_sheet *s, unsigned n_colours, unsigned plane,
                     const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct ih_histogram *const h = &s->results[i].histogram;
        if (h->layout.n_colours == n_colours && ih_chart_draws_plane(h, plane) &&
            strcmp(ih_histogram_plane(h, plane), name) != 0)
            return false;
    }
    return true;
}

/* Adds the channels of all images: colours, gray, bands. A sheet of --by=band names its panels. */
static void add_legend(const struct ih_chart_sheet *s, struct ih_chart_facts *facts)
{
    static const unsigned n_colours[] = {3, 1, 0};
    for (size_t k = 0; k < 3; k++) {
        const struct ih_histogram *most = NULL;
        for (size_t i = 0; i < s->n; i++) {
            const struct ih_histogram *const h = &s->results[i].histogram;
            if (h->layout.n_colours == n_colours[k] &&
                (!most || ih_chart_n_drawn(h) > ih_chart_n_drawn(most)))
                most = h;
        }
        for (unsigned i = 0; most && i < most->n_planes; i++) {
            const unsigned plane = ih_nth_plane(most, i);
            struct ih_chart_entry *const entry = &facts->entries[facts->n_entries];
            const char *const name = ih_histogram_plane(most, plane);
            if (!ih_chart_draws_plane(most, plane) || !has_name(s, n_colours[k], plane, name))
                continue;
            *entry = (struct ih_chart_entry){.layout = most->layout, .plane = plane};
            snprintf(entry->name, sizeof entry->name, "%s", name);
            facts->n_entries++;
        }
    }
}

static void add_facts(const struct ih_chart_sheet *s, const struct ih_chart_options *options,
                      struct ih_chart_facts *facts)
{
    const char *const what = ih_result_word(s->results);
    const struct ih_shown first = ih_histogram_shown(&s->results->histogram);
    bool is_same = true;
    size_t n_reduced = 0;
    for (size_t i = 0; i < s->n; i++) {
        is_same = is_same && ih_shown_is_same(ih_histogram_shown(&s->results[i].histogram), first);
        n_reduced += ih_result_is_reduced(&s->results[i]);
    }
    snprintf(facts->fact[facts->n_facts++], IH_LABEL_MAX, "%zu %s%s", s->n, what,
             s->n == 1 ? "" : "s");
    if (options->n_failed > 0)
        snprintf(facts->fact[facts->n_facts++], IH_LABEL_MAX, "%" PRIu64 " failed%s",
                 options->n_failed, options->is_part ? " in all" : "");
    ih_chart_add_pixels(s->results, facts);
    if (n_reduced > 0)
        snprintf(facts->fact[facts->n_facts++], IH_LABEL_MAX, "%zu reduced to 8 bits", n_reduced);
    snprintf(facts->fact[facts->n_facts++], IH_LABEL_MAX,
             "heights in percent of each %s's pixels, on one scale", what);
    if (options->is_part)
        strcpy(facts->fact[facts->n_facts++], "other files have scales of their own");
    if (!is_same)
        strcpy(facts->fact[facts->n_facts++], "values on axes of their own");
}

/* A sheet of few images has the size of a chart. */
static void enlarge(unsigned *width, unsigned *height)
{
    const unsigned w = *width, h = *height, full_w = IH_CHART_WIDTH, full_h = IH_CHART_HEIGHT;
    if (w >= full_w || h >= full_h)
        return;
    const bool is_wide = w * full_h >= full_w * h; /* than a chart */
    *width = is_wide ? full_w : w * full_h / h;
    *height = is_wide ? h * full_w / w : full_h;
}

enum ih_status ih_chart_draw_sheet(const struct ih_result *results, size_t n, const char *title,
                                   const struct ih_chart_options *options, unsigned char **file,
                                   size_t *size_bytes, struct ih_error *err)
{
    struct ih_chart_options look = *options;
    struct ih_chart_sheet sheet = {.results = results,
                                   .n = n,
                                   .n_common = common_folder(results, n),
                                   .has_thumbnails = options->has_thumbnail};
    *file = NULL;
    *size_bytes = 0;
    sheet.n_pixels = LEAST_PIXELS;
    for (size_t i = 0; i < n; i++)
        if (results[i].histogram.n_pixels > sheet.n_pixels)
            sheet.n_pixels = results[i].histogram.n_pixels;
    if (!look.scale || look.scale->steps != IH_STEPS_DECADES)
        sheet.n_pixels = SHEET_PIXELS;
    else if (sheet.n_pixels > LOG_PIXELS)
        sheet.n_pixels = LOG_PIXELS;
    if (look.width == 0) {
        choose_grid(&sheet, PANEL_ASPECT, 1);
        look.width = (unsigned)sheet.n_columns * PANEL_WIDTH;
        look.height = (unsigned)sheet.n_rows * PANEL_HEIGHT;
        enlarge(&look.width, &look.height);
    }
    choose_grid(&sheet, look.width, look.height);
    if (look.width / (unsigned)sheet.n_columns < LEAST_WIDTH ||
        look.height / (unsigned)sheet.n_rows < LEAST_HEIGHT) {
        return ih_error_set(err, IH_USAGE,
                            "--chart-size is too small for %zu %ss, which need %d x %d pixels each",
                            n, ih_result_word(results), LEAST_WIDTH, LEAST_HEIGHT);
    }
    look.in_percent = true;
    struct ih_chart chart = {.result = results,
                             .heights = &results->histogram,
                             .values = &results->histogram,
                             .sheet = &sheet,
                             .draw = draw_sheet,
                             .title = options->title ? options->title : title};
    add_legend(&sheet, &chart.facts);
    add_facts(&sheet, options, &chart.facts);
    enum ih_status status = scale_results(&sheet, err);
    if (status == IH_OK)
        status = ih_chart_make(&chart, &look, "imghist --sheet", file, size_bytes, err);
    for (size_t i = 0; i < n && sheet.scaled; i++)
        ih_histogram_reset(&sheet.scaled[i].histogram);
    free(sheet.scaled);
    return status;
}
