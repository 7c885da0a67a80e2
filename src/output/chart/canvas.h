/*
 * What a chart is drawn on.
 *
 * The chart decides what is drawn where and knows nothing of pixels or markup; a canvas does two
 * things, fill a shape and set a line of text, and knows nothing of histograms. Two are enough:
 * lines, bars and triangles are all filled shapes, and text is apart so that a canvas of markup can
 * keep it as text. A canvas is one file with a struct that begins with struct ih_canvas.
 *
 * Drawing calls return nothing. The first failure stays in `status` and later calls do nothing, so
 * that a hundred of them need one check, where the canvas is finished.
 *
 * Rejected: strokes, because joints and dash rules differ between renderers and a stroke of a step
 * curve is a simple shape anyway; gradients and clips, for nothing here needs them.
 */
#ifndef IH_OUTPUT_CHART_CANVAS_H
#define IH_OUTPUT_CHART_CANVAS_H

#include "base/status.h"
#include "output/buffer.h"
#include "output/chart/glyphs.h"
#include "output/chart/path.h"

struct ih_colour {
    uint8_t red, green, blue; /* sRGB */
};

/* The blend modes of CSS, by the same formulas on the same sRGB values; b is what is there. */
enum ih_blend {
    IH_BLEND_NORMAL,  /* s */
    IH_BLEND_SCREEN,  /* b + s - b s: lights add up, and never beyond white */
    IH_BLEND_MULTIPLY /* b s: inks add up, and never beyond black */
};

struct ih_paint {
    struct ih_colour colour;
    uint8_t opacity; /* 0 to 255, times the coverage of the shape */
    enum ih_blend blend;
};

enum ih_align { IH_ALIGN_LEFT, IH_ALIGN_CENTRE, IH_ALIGN_RIGHT };

/* Where a line of text goes. */
struct ih_text_place {
    int32_t x, baseline; /* 1/IH_SUBPIXELS of a pixel */
    enum ih_align align; /* which part of the line x is */
    unsigned size_px;    /* of the em */
};

/* What a picture is, in words, for those who cannot see it. Valid UTF-8, borrowed. */
struct ih_canvas_words {
    const char *title, *description;
};

struct ih_canvas {
    const struct ih_glyphs *glyphs; /* borrowed */
    enum ih_status status;          /* IH_OK, or the first failure */

    /* Fills the inside of a path: where its outlines wind around a point (nonzero rule). */
    void (*fill)(struct ih_canvas *canvas, const struct ih_path *path,
                 const struct ih_paint *paint);

    /* Sets one line of valid UTF-8, as wide as ih_glyphs_width says. */
    void (*text)(struct ih_canvas *canvas, const struct ih_text_place *place, const char *text,
                 const struct ih_paint *paint);
};

/*
 * Opens a canvas of 8-bit RGB pixels, all of one colour.
 *
 * canvas   owned by the caller, released with ih_raster_close
 * glyphs   borrowed until then
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_raster_open(struct ih_canvas **canvas, unsigned width, unsigned height,
                              struct ih_colour background, const struct ih_glyphs *glyphs,
                              struct ih_error *err);

/* The rows of a raster canvas, top first, 3 bytes a pixel, without padding. Borrowed until close.
 */
const uint8_t *ih_raster_pixels(const struct ih_canvas *canvas);

/* NULL is allowed. */
void ih_raster_close(struct ih_canvas *canvas);

/*
 * Opens a canvas that writes SVG 1.1, as UTF-8.
 *
 * words    written at once
 *
 * The rest, and what is returned, as above; ih_svg_close releases it.
 */
enum ih_status ih_svg_open(struct ih_canvas **canvas, unsigned width, unsigned height,
                           struct ih_colour background, const struct ih_glyphs *glyphs,
                           const struct ih_canvas_words *words, struct ih_error *err);

/* Ends the document and hands it out: owned by the caller from then on. Sets the canvas's status
 * where there was no memory. */
struct ih_bytes ih_svg_take(struct ih_canvas *canvas);

/* NULL is allowed. */
void ih_svg_close(struct ih_canvas *canvas);

#endif
