/*
 * The drawing surface of a chart: a raster canvas and an SVG canvas.
 *
 * The chart decides what to draw and where; it knows neither pixels nor markup. A canvas fills
 * paths and writes lines of text; it knows nothing of histograms. Lines, bars and triangles are
 * filled paths. Text is a call of its own, so the SVG canvas can write it as text.
 *
 * Drawing calls return nothing. The first failure stays in `status` and later calls do nothing, so
 * one check at the end is enough.
 *
 * Rejected: strokes (renderers differ in joints, and the outline of a step curve is a simple
 * shape); gradients and clipping paths (not needed).
 */
#ifndef IH_OUTPUT_CHART_CANVAS_H
#define IH_OUTPUT_CHART_CANVAS_H

#include "base/status.h"
#include "output/buffer.h"
#include "output/chart/label.h"
#include "output/chart/path.h"

struct ih_colour {
    uint8_t red, green, blue; /* sRGB */
};

/* Blend modes, with the formulas of CSS on sRGB values (W3C Compositing and Blending Level 1); b is
 * the backdrop, s the paint. */
enum ih_blend {
    IH_BLEND_NORMAL,  /* s */
    IH_BLEND_SCREEN,  /* b + s - b s: adds like light, up to white */
    IH_BLEND_MULTIPLY /* b s: adds like ink, down to black */
};

struct ih_paint {
    struct ih_colour colour;
    uint8_t opacity; /* 0 to 255, multiplied by the coverage */
    enum ih_blend blend;
};

enum ih_align { IH_ALIGN_LEFT, IH_ALIGN_CENTRE, IH_ALIGN_RIGHT };

/* The position and size of a line of text. */
struct ih_text_place {
    int32_t x, baseline; /* 1/IH_SUBPIXELS of a pixel */
    enum ih_align align; /* the part of the line that is at x */
    unsigned size_px;    /* of the em */
};

/* The alternative text of a picture, for screen readers. Valid UTF-8, borrowed. */
struct ih_alt_text {
    const char *title, *description;
};

struct ih_canvas {
    const struct ih_glyphs *glyphs; /* borrowed */
    enum ih_status status;          /* IH_OK, or the first failure */

    /* Fills the inside of a path (nonzero winding rule). */
    void (*fill)(struct ih_canvas *canvas, const struct ih_path *path,
                 const struct ih_paint *paint);

    /* Writes one line of valid UTF-8, ih_glyphs_width wide. */
    void (*text)(struct ih_canvas *canvas, const struct ih_text_place *place, const char *text,
                 const struct ih_paint *paint);
};

/*
 * Opens a canvas of 8-bit RGB pixels, filled with the background colour.
 *
 * canvas   owned by the caller, released with ih_raster_close
 * glyphs   borrowed until close
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_raster_open(struct ih_canvas **canvas, unsigned width, unsigned height,
                              struct ih_colour background, const struct ih_glyphs *glyphs,
                              struct ih_error *err);

/* Returns the pixels, [height][width][3], top row first. Borrowed until close. */
const uint8_t *ih_raster_pixels(const struct ih_canvas *canvas);

/* NULL is allowed. */
void ih_raster_close(struct ih_canvas *canvas);

/*
 * Opens a canvas that writes SVG 1.1 in UTF-8.
 *
 * canvas   owned by the caller, released with ih_svg_close
 * glyphs   borrowed until close
 * text     copied
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_svg_open(struct ih_canvas **canvas, unsigned width, unsigned height,
                           struct ih_colour background, const struct ih_glyphs *glyphs,
                           const struct ih_alt_text *text, struct ih_error *err);

/* Ends the document and returns it; the caller owns it. Sets the canvas's status to IH_MEMORY if
 * memory ran out. */
struct ih_bytes ih_svg_take(struct ih_canvas *canvas);

/* NULL is allowed. */
void ih_svg_close(struct ih_canvas *canvas);

#endif
