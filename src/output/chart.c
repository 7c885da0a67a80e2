/*
 * The chart, from a result to a file in memory.
 *
 *     chart_layout.c   where things are          chart_axis.c    which count is how high
 *     chart_plot.c     panel, areas, lines       chart_theme.c   colours
 *     chart_header.c   title, subtitle           chart_label.c   words and numbers
 *     chart_strip.c    what is clipped and cut   canvas*.c       what it is drawn on
 *     chart_legend.c   numbers, legend
 *
 * Layout comes first and knows the width of every text; after it nothing is measured against the
 * canvas any more, so every canvas gets the same shapes at the same places.
 */
#include "output/chart.h"

#include "output/chart_parts.h"
#include "output/png_encode.h"

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

int32_t ih_chart_write(struct ih_chart *chart, int32_t x, int32_t baseline_px,
                       enum ih_chart_align align, struct ih_colour colour, const char *text)
{
    struct ih_paint paint = {colour, 255, IH_BLEND_NORMAL};
    int32_t width = ih_chart_width(chart, text);
    if (align != IH_CHART_LEFT)
        x -= align == IH_CHART_CENTRE ? width / 2 : width;
    chart->canvas->text(chart->canvas, x, baseline_px * IH_SUBPIXELS, (unsigned)chart->layout.em,
                        text, &paint);
    return width;
}

/* ---- the chart ---- */

static void draw_nothing_note(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    if (chart->result->histogram.n_pixels == 0)
        ih_chart_write(chart, (l->left + l->right) * IH_SUBPIXELS / 2, (l->top + l->bottom) / 2,
                       IH_CHART_CENTRE, chart->theme->muted, "no pixels");
}

/* Returns IH_OK or IH_MEMORY. */
static enum ih_status draw(struct ih_chart *chart)
{
    ih_chart_draw_plot(chart);
    ih_chart_draw_strip(chart);
    ih_chart_draw_numbers(chart);
    ih_chart_draw_legend(chart);
    draw_nothing_note(chart);
    enum ih_status status = ih_chart_draw_header(chart);
    return status != IH_OK ? status : chart->canvas->status;
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

enum ih_status ih_chart_png(const struct ih_result *result, const struct ih_chart_options *options,
                            unsigned char **png, size_t *size_bytes, struct ih_error *err)
{
    struct ih_chart chart = {
        .result = result,
        .theme = options->theme ? options->theme : &ih_chart_theme_dark,
        .axis.scale = options->scale ? options->scale : &ih_chart_scale_linear,
    };
    struct ih_glyphs *glyphs = NULL;
    *png = NULL;
    *size_bytes = 0;
    enum ih_status status = check_size(options, err);
    if (status != IH_OK || (status = ih_glyphs_open(&glyphs, err)) != IH_OK)
        goto out;
    chart.glyphs = glyphs;
    status = ih_raster_open(&chart.canvas, options->width, options->height, chart.theme->page,
                            glyphs, err);
    if (status != IH_OK)
        goto out;
    ih_chart_lay_out(&chart, options);
    status = draw(&chart);
    if (status != IH_OK) {
        ih_error_set(err, status, "chart: out of memory");
        goto out;
    }
    status = ih_png_encode(ih_raster_pixels(chart.canvas), options->width, options->height,
                           result->path, png, size_bytes, err);
out:
    ih_path_reset(&chart.path);
    ih_raster_close(chart.canvas);
    ih_glyphs_close(glyphs);
    return status;
}
