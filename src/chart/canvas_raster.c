/*
 * The raster canvas draws paths and text as 8-bit RGB pixels.
 *
 * Paint is mixed in by the coverage of each pixel (path.c), in integers that are rounded once per
 * path. Blending uses sRGB values, as CSS and SVG renderers do, so a rendered SVG chart looks the
 * same.
 */
#include "chart/canvas.h"

#include <stdlib.h>
#include <string.h>

struct raster {
    struct ih_canvas base; /* first member, so pointers to it can be cast back */
    ih_encoder *encode;
    uint8_t *pixels; /* owned, [height][width][3] */
    struct ih_coverage coverage;
    struct ih_path text; /* scratch: the outlines of a line of text */
};

/* Every blend mode is linear in the backdrop: b becomes (b * keep + 255 * add) / 255. */
struct blend {
    uint32_t keep[3], add[3];
    uint32_t opacity;
};

static struct blend blend_of(const struct ih_paint *paint)
{
    const uint8_t source[3] = {paint->colour.red, paint->colour.green, paint->colour.blue};
    struct blend blend = {.opacity = paint->opacity};
    for (int c = 0; c < 3; c++) {
        blend.keep[c] = paint->blend == IH_BLEND_SCREEN ? 255u - source[c] : 0;
        blend.add[c] = source[c];
    }
    return blend;
}

/* The largest sum, 255 * 255 * 65536 plus half of `full`, stays below 2^32. */
static void mix(uint8_t *pixel, const struct blend *blend, uint32_t weight)
{
    const uint32_t full = 255u * IH_COVERED;
    for (int c = 0; c < 3; c++) {
        uint32_t backdrop = pixel[c];
        uint32_t blended = backdrop * blend->keep[c] + 255u * blend->add[c];
        uint32_t mixed = 255u * backdrop * (IH_COVERED - weight) + blended * weight;
        pixel[c] = (uint8_t)((mixed + full / 2) / full);
    }
}

static uint32_t pack(const uint8_t *pixel)
{
    return (uint32_t)pixel[0] | (uint32_t)pixel[1] << 8 | (uint32_t)pixel[2] << 16;
}

/* The backdrop is mostly flat. Copying the result for equal pixels is several times as fast as
 * computing it again. */
static void paint_span(uint8_t *row, const struct ih_coverage_span *span, const struct blend *blend)
{
    const uint32_t weight = span->weight * blend->opacity / 255;
    const uint8_t *end = row + (size_t)span->end * 3;
    for (uint8_t *pixel = row + (size_t)span->first * 3; pixel < end;) {
        const uint32_t before = pack(pixel);
        mix(pixel, blend, weight);
        const uint8_t red = pixel[0], green = pixel[1], blue = pixel[2];
        for (pixel += 3; pixel < end && pack(pixel) == before; pixel += 3) {
            pixel[0] = red;
            pixel[1] = green;
            pixel[2] = blue;
        }
    }
}

static void raster_fill(struct ih_canvas *canvas, const struct ih_path *path,
                        const struct ih_paint *paint)
{
    struct raster *r = (struct raster *)canvas;
    struct blend blend = blend_of(paint);
    struct ih_coverage_row row;
    if (canvas->status != IH_OK)
        return;
    if (!ih_coverage_begin(&r->coverage, path)) {
        canvas->status = IH_MEMORY;
        return;
    }
    while (ih_coverage_next(&r->coverage, &row))
        for (size_t i = 0; i < row.n_spans; i++)
            paint_span(r->pixels + (size_t)row.y * canvas->page->width * 3, &row.spans[i], &blend);
}

static void raster_text(struct ih_canvas *canvas, const struct ih_text_place *place,
                        const char *text, const struct ih_paint *paint)
{
    struct raster *r = (struct raster *)canvas;
    const int32_t width = ih_glyphs_width(canvas->page->glyphs, place->size_px, text);
    int32_t x = place->x;
    if (place->align != IH_ALIGN_LEFT)
        x -= place->align == IH_ALIGN_CENTRE ? width / 2 : width;
    ih_path_clear(&r->text);
    ih_glyphs_outline(canvas->page->glyphs, &r->text, x, place->baseline, place->size_px, text);
    raster_fill(canvas, &r->text, paint);
}

/* The part of step i, of this width, that lies from start to end. */
static unsigned overlap(unsigned i, unsigned step, unsigned start, unsigned end)
{
    const unsigned from = i * step > start ? i * step : start;
    const unsigned to = (i + 1) * step < end ? (i + 1) * step : end;
    return to - from;
}

/* Each pixel is the mean of the area of the picture that it covers, exactly: an axis has width
 * times picture->width units. */
static void raster_picture(struct ih_canvas *canvas, int32_t x_px, int32_t y_px, int32_t width_px,
                           int32_t height_px, const struct ih_picture *picture)
{
    struct raster *r = (struct raster *)canvas;
    const unsigned w = (unsigned)width_px, h = (unsigned)height_px;
    const unsigned from_w = picture->width, from_h = picture->height;
    for (unsigned y = 0; y < h; y++)
        for (unsigned x = 0; x < w; x++) {
            uint8_t *to =
                r->pixels + (((size_t)y_px + y) * canvas->page->width + (size_t)x_px + x) * 3;
            uint64_t sums[3] = {0};
            for (unsigned v = y * from_h / h; v * h < (y + 1) * from_h; v++)
                for (unsigned u = x * from_w / w; u * w < (x + 1) * from_w; u++) {
                    const uint8_t *from = picture->pixels + ((size_t)v * from_w + u) * 3;
                    const uint64_t area = (uint64_t)overlap(v, h, y * from_h, (y + 1) * from_h) *
                                          overlap(u, w, x * from_w, (x + 1) * from_w);
                    for (unsigned c = 0; c < 3; c++)
                        sums[c] += area * from[c];
                }
            for (unsigned c = 0; c < 3; c++)
                to[c] = (uint8_t)((sums[c] + (uint64_t)from_w * from_h / 2) /
                                  ((uint64_t)from_w * from_h));
        }
}

static enum ih_status raster_finish(struct ih_canvas *canvas, struct ih_error *err)
{
    const struct raster *r = (struct raster *)canvas;
    return r->encode(canvas->page, r->pixels, &canvas->file, err);
}

static void raster_release(struct ih_canvas *canvas)
{
    struct raster *r = (struct raster *)canvas;
    ih_path_reset(&r->text);
    ih_coverage_reset(&r->coverage);
    free(r->pixels);
}

enum ih_status ih_raster_open(const struct ih_chart_page *page, ih_encoder *encode,
                              struct ih_canvas **canvas, struct ih_error *err)
{
    const struct ih_colour background = page->background;
    size_t row_bytes = 0, size_bytes = 0;
    struct raster *r = calloc(1, sizeof *r);
    *canvas = NULL;
    if (r)
        r->base = (struct ih_canvas){.page = page,
                                     .fill = raster_fill,
                                     .text = raster_text,
                                     .picture = raster_picture,
                                     .finish = raster_finish,
                                     .release = raster_release};
    if (!r || !ih_size_multiply(page->width, 3, &row_bytes) ||
        !ih_size_multiply(row_bytes, page->height, &size_bytes) ||
        !(r->pixels = malloc(size_bytes)) ||
        !ih_coverage_init(&r->coverage, page->width, page->height)) {
        if (r)
            free(r->pixels);
        free(r);
        return ih_error_set(err, IH_MEMORY, "chart: out of memory for %u x %u pixels", page->width,
                            page->height);
    }
    r->encode = encode;
    for (uint8_t *p = r->pixels; p < r->pixels + row_bytes; p += 3) {
        p[0] = background.red;
        p[1] = background.green;
        p[2] = background.blue;
    }
    for (unsigned y = 1; y < page->height; y++)
        memcpy(r->pixels + y * row_bytes, r->pixels, row_bytes);
    *canvas = &r->base;
    return IH_OK;
}
