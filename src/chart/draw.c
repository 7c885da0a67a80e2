/* The brushes of a chart: filled shapes and lines of text on its canvas. */
#include "chart/drawing.h"

#include "base/jpeg_file.h"

#include <stdlib.h>

void ih_draw_path(struct ih_chart *chart, struct ih_colour colour, uint8_t opacity,
                  enum ih_blend blend)
{
    struct ih_paint paint = {colour, opacity, blend};
    chart->canvas->fill(chart->canvas, &chart->path, &paint);
}

void ih_draw_exact(struct ih_chart *chart, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                   struct ih_colour colour, uint8_t opacity)
{
    ih_path_clear(&chart->path);
    ih_path_rectangle(&chart->path, x0, y0, x1, y1);
    ih_draw_path(chart, colour, opacity, IH_BLEND_NORMAL);
}

void ih_draw_box(struct ih_chart *chart, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                 struct ih_colour colour, uint8_t opacity)
{
    ih_draw_exact(chart, x0 * IH_SUBPIXELS, y0 * IH_SUBPIXELS, x1 * IH_SUBPIXELS, y1 * IH_SUBPIXELS,
                  colour, opacity);
}

int32_t ih_draw_width(const struct ih_chart *chart, const char *text)
{
    return ih_glyphs_width(chart->glyphs, (unsigned)chart->layout.em, text);
}

void ih_draw_text(struct ih_chart *chart, int32_t x, int32_t baseline_px, enum ih_align align,
                  struct ih_colour colour, const char *text)
{
    const struct ih_paint paint = {colour, 255, IH_BLEND_NORMAL};
    const struct ih_text_place place = {x, baseline_px * IH_SUBPIXELS, align,
                                        (unsigned)chart->layout.em};
    chart->canvas->text(chart->canvas, &place, text, &paint);
}

void ih_draw_read_thumbnail(struct ih_chart *chart, const struct ih_result *result)
{
    struct ih_picture *p = &chart->thumbnail;
    free(p->pixels);
    *p = (struct ih_picture){0};
    if (result->thumbnail)
        p->pixels = ih_jpeg_read(result->thumbnail, result->thumbnail_bytes,
                                 result->info.orientation, &p->width, &p->height);
}

int32_t ih_draw_thumbnail_width(const struct ih_chart *chart, int32_t height)
{
    const struct ih_picture *p = &chart->thumbnail;
    return p->pixels && height > 0 ? ih_larger(1, height * (int32_t)p->width / (int32_t)p->height)
                                   : 0;
}

void ih_draw_thumbnail(struct ih_chart *chart, int32_t x, int32_t y, int32_t height)
{
    const int32_t width = ih_draw_thumbnail_width(chart, height);
    if (width > 0 && chart->canvas->picture)
        chart->canvas->picture(chart->canvas, x - width, y, width, height, &chart->thumbnail);
}
