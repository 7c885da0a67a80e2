/*
 * The chart of bars, from its rows to a file in memory.
 *
 *     bars_layout.c   where things are        bars_rows.c   groups, rows, lines, axis
 *
 * It shares canvas, themes and numbers with the chart of a histogram and nothing else: that one's
 * layout is built around one plot.
 */
#include "output/chart/bars.h"

#include "output/chart/bars_parts.h"
#include "output/chart/format.h"

#include <stdlib.h>
#include <string.h>

/* Parts of the em, in hundredths. */
enum { SWATCH = 75, SWATCH_GAP = 50, ENTRY_GAP = 180 };

/* ---- drawing, for all parts ---- */

void ih_bars_fill(struct ih_bars *b, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                  struct ih_colour colour, uint8_t opacity)
{
    const struct ih_paint paint = {colour, opacity, IH_BLEND_NORMAL};
    ih_path_clear(&b->path);
    ih_path_rectangle(&b->path, x0, y0, x1, y1);
    b->canvas->fill(b->canvas, &b->path, &paint);
}

int32_t ih_bars_width(const struct ih_bars *b, const char *text)
{
    return ih_glyphs_width(b->glyphs, (unsigned)b->layout.em, text);
}

static int32_t write_sized(struct ih_bars *b, const struct ih_text_place *place, int32_t max_width,
                           struct ih_colour colour, const char *text)
{
    const struct ih_paint paint = {colour, 255, IH_BLEND_NORMAL};
    const size_t length = strlen(text);
    int32_t width = ih_glyphs_width(b->glyphs, place->size_px, text);
    char *cut = NULL;
    if (width > max_width) {
        cut = malloc(length + IH_ELLIPSIS_BYTES + 1);
        if (!cut) {
            b->canvas->status = IH_MEMORY;
            return 0;
        }
        memcpy(cut, text, length + 1);
        ih_glyphs_shorten(b->glyphs, place->size_px, max_width, cut);
        text = cut;
        width = ih_glyphs_width(b->glyphs, place->size_px, text);
    }
    b->canvas->text(b->canvas, place, text, &paint);
    free(cut);
    return width;
}

int32_t ih_bars_write(struct ih_bars *b, int32_t x, int32_t baseline, enum ih_align align,
                      int32_t max_width, struct ih_colour colour, const char *text)
{
    const struct ih_text_place place = {x, baseline, align, (unsigned)b->layout.em};
    return write_sized(b, &place, max_width, colour, text);
}

struct ih_colour ih_bars_colour(const struct ih_bars *b, unsigned series)
{
    return series == 0 ? b->theme->blue : b->theme->green;
}

/* ---- header ---- */

static void draw_header(struct ih_bars *b)
{
    static const char separator[] = "  \xc2\xb7  ";
    const struct ih_bars_layout *l = &b->layout;
    int32_t x = l->margin * IH_SUBPIXELS;
    const int32_t end = (l->width - l->margin) * IH_SUBPIXELS;
    const struct ih_text_place place = {x, l->title_y * IH_SUBPIXELS, IH_ALIGN_LEFT,
                                        (unsigned)l->title_em};
    write_sized(b, &place, end - x, b->theme->text, b->chart->title);
    const int32_t baseline = l->facts_y * IH_SUBPIXELS, gap = ih_bars_width(b, separator);
    for (size_t i = 0; i < b->chart->n_facts && l->facts_y > 0; i++) {
        const char *fact = b->chart->facts[i];
        const int32_t width = ih_bars_width(b, fact);
        if ((i ? gap : 0) + (int64_t)width > end - x)
            break;
        if (i > 0)
            x += ih_bars_write(b, x, baseline, IH_ALIGN_LEFT, gap, b->theme->muted, separator);
        x += ih_bars_write(b, x, baseline, IH_ALIGN_LEFT, width, b->theme->muted, fact);
    }
}

/* ---- legend ---- */

enum sign { SWATCH_SIGN, LINE_SIGN, MARK_SIGN };

/* Draws one entry where it fits, and moves *x behind it. */
static void draw_entry(struct ih_bars *b, int32_t *x, enum sign sign, struct ih_colour colour,
                       const char *meaning)
{
    const struct ih_bars_layout *l = &b->layout;
    if (!meaning)
        return;
    const int32_t end = (l->width - l->margin) * IH_SUBPIXELS, bottom = l->legend_y * IH_SUBPIXELS;
    const int32_t size = l->em * SWATCH / 100 * IH_SUBPIXELS;
    const int32_t text_x = *x + size + l->em * SWATCH_GAP / 100 * IH_SUBPIXELS;
    const int32_t width = ih_bars_width(b, meaning);
    if (text_x + (int64_t)width > end)
        return;
    const int32_t thickness = l->hair * IH_SUBPIXELS * (sign == LINE_SIGN ? 2 : 1);
    const int32_t left = (*x + (size - thickness) / 2) / IH_SUBPIXELS * IH_SUBPIXELS;
    if (sign != LINE_SIGN)
        ih_bars_fill(b, *x, bottom - size, *x + size, bottom, colour,
                     sign == MARK_SIGN ? 120 : 255);
    if (sign != SWATCH_SIGN)
        ih_bars_fill(b, left, bottom - size - thickness, left + thickness, bottom + thickness,
                     sign == LINE_SIGN ? b->theme->text : b->theme->luma, 255);
    ih_bars_write(b, text_x, bottom, IH_ALIGN_LEFT, width, b->theme->muted, meaning);
    *x = (text_x + width) / IH_SUBPIXELS * IH_SUBPIXELS + l->em * ENTRY_GAP / 100 * IH_SUBPIXELS;
}

static void draw_legend(struct ih_bars *b)
{
    int32_t x = b->layout.margin * IH_SUBPIXELS;
    if (b->layout.legend_y == 0)
        return;
    for (unsigned s = 0; s < IH_BARS_SERIES; s++)
        draw_entry(b, &x, SWATCH_SIGN, ih_bars_colour(b, s), b->chart->series[s]);
    draw_entry(b, &x, LINE_SIGN, b->theme->text, b->chart->limit_meaning);
    draw_entry(b, &x, MARK_SIGN, b->theme->gray, b->chart->least_meaning);
}

/* ---- the chart ---- */

static enum ih_status check_size(const struct ih_chart_options *options, struct ih_error *err)
{
    if (options->width == 0 ||
        (options->width >= IH_CHART_MIN_WIDTH && options->width <= IH_CHART_MAX &&
         options->height >= IH_CHART_MIN_HEIGHT && options->height <= IH_CHART_MAX))
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "chart size %ux%u: must be from %dx%d to %dx%d",
                        options->width, options->height, IH_CHART_MIN_WIDTH, IH_CHART_MIN_HEIGHT,
                        IH_CHART_MAX, IH_CHART_MAX);
}

static void describe(const struct ih_bar_chart *chart, struct ih_bytes *description)
{
    for (size_t i = 0; i < chart->n_facts; i++) {
        ih_bytes_text(description, i > 0 ? ", " : "");
        ih_bytes_text(description, chart->facts[i]);
    }
    ih_bytes_append(description, "", 1);
}

static void draw(struct ih_bars *b)
{
    draw_header(b);
    for (unsigned i = 0; i < b->layout.n_columns; i++)
        ih_bars_draw_column(b, i);
    draw_legend(b);
}

enum ih_status ih_bars_draw(const struct ih_bar_chart *chart,
                            const struct ih_chart_options *options, unsigned char **file,
                            size_t *size_bytes, struct ih_error *err)
{
    struct ih_bars bars = {.chart = chart,
                           .theme = options->theme ? options->theme : &ih_chart_theme_dark};
    struct ih_glyphs *glyphs = NULL;
    struct ih_bytes description = {0};
    *file = NULL;
    *size_bytes = 0;
    enum ih_status status = check_size(options, err);
    if (status != IH_OK || (status = ih_glyphs_open(&glyphs, err)) != IH_OK)
        goto out;
    bars.glyphs = glyphs;
    describe(chart, &description);
    if (description.failed) {
        status = ih_error_set(err, IH_MEMORY, "chart: out of memory");
        goto out;
    }
    const struct ih_chart_about about = {{chart->title, (const char *)description.data}, NULL};
    ih_bars_lay_out(&bars, options->width, options->height);
    const unsigned width = (unsigned)bars.layout.width, height = (unsigned)bars.layout.height;
    status = ih_chart_format_open(options->format, &bars.canvas, width, height, bars.theme->page,
                                  glyphs, &about, err);
    if (status != IH_OK)
        goto out;
    draw(&bars);
    status = ih_chart_format_finish(options->format, bars.canvas, width, height, &about, file,
                                    size_bytes, err);
out:
    ih_path_reset(&bars.path);
    ih_chart_format_close(options->format, bars.canvas);
    ih_glyphs_close(glyphs);
    ih_bytes_reset(&description);
    return status;
}
