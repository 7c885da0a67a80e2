/*
 * The SVG canvas writes paths as <path> and text as <text>.
 *
 * Users can select, search and hear the text, viewers can show scripts that the embedded font
 * lacks, and the file is half the size that outlines would take. But a viewer may use another font.
 * So each line has a textLength, which browsers obey, and an anchor, which keeps columns of numbers
 * aligned elsewhere. The font list names DejaVu Sans and families of the same widths. A line with
 * characters that the font lacks has no textLength, because only the viewer knows their widths.
 *
 * The areas of the channels use mix-blend-mode. Viewers other than browsers, librsvg and Inkscape
 * may show them on top of each other, with the luma line still visible. Rejected: areas that do not
 * overlap, because the background shows through at their edges.
 *
 * Numbers are formatted from integers, to 1/100 of a pixel. Characters that XML does not allow
 * become U+FFFD.
 */
#include "chart/canvas.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char fonts[] = "'DejaVu Sans','Bitstream Vera Sans',Verdana,Geneva,sans-serif";

/* ---- text, lengths and colours ---- */

static bool is_xml_character(unsigned long c)
{
    return c == 0x9 || c == 0xa || (c >= 0x20 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd) ||
           (c >= 0x10000 && c <= 0x10ffff);
}

/* Writes text between tags. */
static void svg_put_text(struct ih_bytes *file, const char *text)
{
    unsigned long c = 0;
    for (size_t n = 0; *text; text += n) {
        n = ih_utf8_length(text, &c);
        const char *other = n == 0 || !is_xml_character(c) ? "\xef\xbf\xbd"
                            : c == '&'                     ? "&amp;"
                            : c == '<'                     ? "&lt;"
                            : c == '>'                     ? "&gt;"
                                                           : NULL;
        n = n > 0 ? n : 1;
        if (other)
            ih_bytes_text(file, other);
        else
            ih_bytes_append(file, text, n);
    }
}

/* Writes a length in pixels, to 1/100, without trailing zeros. */
static void put_length(struct ih_bytes *file, int32_t subpixels)
{
    const int64_t rounding = subpixels < 0 ? -IH_SUBPIXELS / 2 : IH_SUBPIXELS / 2;
    const int64_t hundredths = ((int64_t)subpixels * 100 + rounding) / IH_SUBPIXELS;
    const int64_t pixels = llabs(hundredths) / 100, rest = llabs(hundredths) % 100;
    const char *sign = hundredths < 0 ? "-" : "";
    if (rest == 0)
        ih_bytes_format(file, "%s%" PRId64, sign, pixels);
    else if (rest % 10 == 0)
        ih_bytes_format(file, "%s%" PRId64 ".%" PRId64, sign, pixels, rest / 10);
    else
        ih_bytes_format(file, "%s%" PRId64 ".%02" PRId64, sign, pixels, rest);
}

static void put_colour(struct ih_bytes *file, const struct ih_colour *c)
{
    ih_bytes_format(file, " fill=\"#%02x%02x%02x\"", c->red, c->green, c->blue);
}

static void put_paint(struct ih_bytes *file, const struct ih_paint *paint)
{
    put_colour(file, &paint->colour);
    if (paint->opacity < 255) {
        const unsigned thousandths = (paint->opacity * 1000u + 127) / 255;
        ih_bytes_format(file, " fill-opacity=\"0.%03u\"", thousandths);
    }
    if (paint->blend == IH_BLEND_SCREEN)
        ih_bytes_text(file, " style=\"mix-blend-mode:screen\"");
}

/* ---- shapes ---- */

/* Writes the points of a path, with H and V for horizontal and vertical edges. */
static void put_points(struct ih_bytes *file, const struct ih_path *path)
{
    int32_t x = 0, y = 0;
    for (size_t i = 0; i < path->n_points; i++) {
        const struct ih_path_point *p = &path->points[i];
        if (p->begins && i > 0)
            ih_bytes_text(file, "Z");
        if (p->begins || (p->x != x && p->y != y)) {
            ih_bytes_text(file, p->begins ? "M" : "L");
            put_length(file, p->x);
            ih_bytes_text(file, " ");
            put_length(file, p->y);
        } else if (p->x != x) {
            ih_bytes_text(file, "H");
            put_length(file, p->x);
        } else if (p->y != y) {
            ih_bytes_text(file, "V");
            put_length(file, p->y);
        }
        x = p->x;
        y = p->y;
    }
    ih_bytes_text(file, "Z");
}

static void svg_fill(struct ih_canvas *canvas, const struct ih_path *path,
                     const struct ih_paint *paint)
{
    struct ih_bytes *file = &canvas->file;
    if (path->failed)
        canvas->status = IH_MEMORY;
    if (canvas->status != IH_OK || path->n_points == 0)
        return;
    ih_bytes_text(file, "<path");
    put_paint(file, paint);
    ih_bytes_text(file, " d=\"");
    put_points(file, path);
    ih_bytes_text(file, "\"/>\n");
}

/* ---- text ---- */

static void svg_text(struct ih_canvas *canvas, const struct ih_text_place *place, const char *text,
                     const struct ih_paint *paint)
{
    static const char *const anchors[] = {[IH_ALIGN_LEFT] = "",
                                          [IH_ALIGN_CENTRE] = " text-anchor=\"middle\"",
                                          [IH_ALIGN_RIGHT] = " text-anchor=\"end\""};
    struct ih_bytes *file = &canvas->file;
    const int32_t width = ih_glyphs_width(canvas->page->glyphs, place->size_px, text);
    if (canvas->status != IH_OK || width <= 0)
        return;
    ih_bytes_text(file, "<text x=\"");
    put_length(file, place->x);
    ih_bytes_text(file, "\" y=\"");
    put_length(file, place->baseline);
    ih_bytes_format(file, "\" font-size=\"%u\"%s", place->size_px, anchors[place->align]);
    if (ih_glyphs_lacking(canvas->page->glyphs, text) == 0) {
        ih_bytes_text(file, " textLength=\"");
        put_length(file, width);
        ih_bytes_text(file, "\" lengthAdjust=\"spacingAndGlyphs\"");
    }
    put_paint(file, paint);
    if (strstr(text, "  ")) /* Chromium ignores xml:space */
        ih_bytes_text(file, " style=\"white-space:pre\"");
    ih_bytes_text(file, ">");
    svg_put_text(file, text);
    ih_bytes_text(file, "</text>\n");
}

/* ---- the document ---- */

static enum ih_status svg_finish(struct ih_canvas *canvas, struct ih_error *err)
{
    (void)err;
    ih_bytes_text(&canvas->file, "</svg>\n");
    return IH_OK;
}

/* The input, so that a later run knows its own chart. Bytes other than letters, digits and "./_-"
 * are %XX, so any name is valid and exact. */
static void svg_put_source(struct ih_bytes *file, const char *source)
{
    if (!source)
        return;
    ih_bytes_text(file, "<metadata>Source: ");
    for (const unsigned char *p = (const unsigned char *)source; *p; p++) {
        const bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                              (*p >= '0' && *p <= '9') || strchr("./_-", *p);
        if (is_plain)
            ih_bytes_append(file, p, 1);
        else
            ih_bytes_format(file, "%%%02X", *p);
    }
    ih_bytes_text(file, "</metadata>\n");
}

/* isolation:isolate keeps blending inside the picture when the SVG is part of a page. */
enum ih_status ih_svg_open(const struct ih_chart_page *page, struct ih_canvas **canvas,
                           struct ih_error *err)
{
    const unsigned width = page->width, height = page->height;
    *canvas = malloc(sizeof **canvas);
    if (!*canvas)
        return ih_error_set(err, IH_MEMORY, "chart: out of memory");
    **canvas =
        (struct ih_canvas){.page = page, .fill = svg_fill, .text = svg_text, .finish = svg_finish};
    struct ih_bytes *file = &(*canvas)->file;
    ih_bytes_format(file,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- imghist -->\n"
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
                    "height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\" xml:space=\"preserve\" "
                    "style=\"isolation:isolate\" font-family=\"%s\">\n",
                    width, height, width, height, fonts);
    svg_put_source(file, page->source);
    ih_bytes_text(file, "<title>");
    svg_put_text(file, page->title);
    ih_bytes_text(file, "</title>\n<desc>");
    svg_put_text(file, page->description);
    ih_bytes_format(file, "</desc>\n<rect width=\"%u\" height=\"%u\"", width, height);
    put_colour(file, &page->background);
    ih_bytes_text(file, "/>\n");
    return IH_OK;
}
