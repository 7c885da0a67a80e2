/*
 * The chart, from a result to a file in memory.
 *
 *     chart_layout.c   where things are           chart_axis.c     which count is how high
 *     chart_header.c   title, scale               chart_theme.c    colours
 *     chart_strip.c    what is clipped and cut    chart_label.c    numbers and names
 *     chart_plot.c     panel, areas, lines        chart_facts.c    what is told in words
 *     chart_numbers.c  of the axes                chart_format.c   kinds of files
 *     chart_footer.c   legend, facts              canvas_*.c       what it is drawn on
 *
 * Layout comes first and knows the width of every text; after it nothing is measured against the
 * canvas any more, so every canvas gets the same shapes at the same places.
 */
#include "output/chart/chart.h"

#include "output/chart/format.h"
#include "output/chart/parts.h"

#include <stdlib.h>

/* ---- drawing, for all parts ---- */

void ih_chart_fill(struct ih_chart *chart, struct ih_colour colour, uint8_t opacity,
                   enum ih_blend blend)
{
    struct ih_paint paint = {colour, opacity, blend};
    chart->canvas->fill(chart->canvas, &chart->path, &paint);
}

void ih_chart_fill_box(struct ih_chart *chart, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                       struct ih_colour colour, uint8_t opacity)
{
    ih_path_clear(&chart->path);
    ih_path_rectangle(&chart->path, x0 * IH_SUBPIXELS, y0 * IH_SUBPIXELS, x1 * IH_SUBPIXELS,
                      y1 * IH_SUBPIXELS);
    ih_chart_fill(chart, colour, opacity, IH_BLEND_NORMAL);
}

int32_t ih_chart_width(const struct ih_chart *chart, const char *text)
{
    return ih_glyphs_width(chart->glyphs, (unsigned)chart->layout.em, text);
}

void ih_chart_write(struct ih_chart *chart, int32_t x, int32_t baseline_px, enum ih_align align,
                    struct ih_colour colour, const char *text)
{
    const struct ih_paint paint = {colour, 255, IH_BLEND_NORMAL};
    const struct ih_text_place place = {x, baseline_px * IH_SUBPIXELS, align,
                                        (unsigned)chart->layout.em};
    chart->canvas->text(chart->canvas, &place, text, &paint);
}

/* ---- the chart ---- */

static void draw_nothing_note(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    if (chart->result->histogram.n_pixels == 0)
        ih_chart_write(chart, (l->left + l->right) * IH_SUBPIXELS / 2, (l->top + l->bottom) / 2,
                       IH_ALIGN_CENTRE, chart->theme->muted, "no pixels");
}

void ih_chart_draw_all(struct ih_chart *chart, unsigned width, unsigned height)
{
    ih_chart_lay_out(chart, width, height);
    ih_chart_draw_header(chart);
    ih_chart_draw_plot(chart);
    ih_chart_draw_strip(chart);
    ih_chart_draw_numbers(chart);
    draw_nothing_note(chart);
    ih_chart_draw_footer(chart);
}

static enum ih_status check_size(const struct ih_chart_options *options, struct ih_error *err)
{
    if (options->width >= IH_CHART_MIN_WIDTH && options->width <= IH_CHART_MAX &&
        options->height >= IH_CHART_MIN_HEIGHT && options->height <= IH_CHART_MAX)
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "chart size %ux%u: must be from %dx%d to %dx%d",
                        options->width, options->height, IH_CHART_MIN_WIDTH, IH_CHART_MIN_HEIGHT,
                        IH_CHART_MAX, IH_CHART_MAX);
}

const char *ih_chart_source(const struct ih_result *result)
{
    return result->is_total ? "imghist --total" : result->path;
}

enum ih_status ih_chart_draw(const struct ih_result *result, const struct ih_chart_options *options,
                             unsigned char **file, size_t *size_bytes, struct ih_error *err)
{
    struct ih_chart chart = {
        .result = result,
        .theme = options->theme ? options->theme : &ih_chart_theme_dark,
        .axis.scale = options->scale ? options->scale : &ih_chart_scale_linear,
    };
    struct ih_bytes title = {0}, description = {0};
    struct ih_glyphs *glyphs = NULL;
    *file = NULL;
    *size_bytes = 0;
    enum ih_status status = check_size(options, err);
    if (status != IH_OK || (status = ih_glyphs_open(&glyphs, err)) != IH_OK)
        goto out;
    chart.glyphs = glyphs;
    ih_chart_tell(result, &chart.facts);
    ih_chart_describe(&chart, &title, &description);
    if (title.failed || description.failed) {
        status = ih_error_set(err, IH_MEMORY, "chart: out of memory");
        goto out;
    }
    const struct ih_chart_about about = {{(const char *)title.data, (const char *)description.data},
                                         ih_chart_source(result)};
    status = ih_chart_format_open(options->format, &chart.canvas, options->width, options->height,
                                  chart.theme->page, glyphs, &about, err);
    if (status != IH_OK)
        goto out;
    ih_chart_draw_all(&chart, options->width, options->height);
    status = ih_chart_format_finish(options->format, chart.canvas, options->width, options->height,
                                    &about, file, size_bytes, err);
out:
    ih_path_reset(&chart.path);
    ih_chart_format_close(options->format, chart.canvas);
    ih_glyphs_close(glyphs);
    ih_bytes_reset(&description);
    ih_bytes_reset(&title);
    return status;
}
