/*
 * The drawing surface of a chart: a raster canvas and an SVG canvas.
 *
 * A canvas fills paths and writes lines of text; it knows nothing of histograms. Lines, bars and
 * triangles are filled paths. Text is a call of its own, so the SVG canvas can write it as text.
 *
 * Drawing calls return nothing. The first failure stays in `status` and later calls do nothing, so
 * one check at the end is enough.
 *
 * Rejected: strokes (renderers differ in joints, and the outline of a step curve is a simple
 * shape); gradients and clipping paths (not needed).
 */
#ifndef IH_CHART_CANVAS_H
#define IH_CHART_CANVAS_H

#include "base/buffer.h"
#include "chart/chart.h"
#include "chart/label.h"

struct ih_colour {
    uint8_t red, green, blue; /* sRGB */
};

/* Blend modes, with the formulas of CSS on sRGB values (W3C Compositing and Blending Level 1); b is
 * the backdrop, s the paint. */
enum ih_blend {
    IH_BLEND_NORMAL, /* s */
    IH_BLEND_SCREEN  /* b + s - b s: adds like light, up to white */
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

/* The page of a chart file, and what the file says about it. Everything is borrowed. */
struct ih_chart_page {
    unsigned width, height; /* pixels, at most 65535 */
    struct ih_colour background;
    const struct ih_glyphs *glyphs;
    const char *title, *description; /* SVG: alternative text for screen readers, valid UTF-8 */
    const char *source;              /* PNG and SVG: the input; NULL: none */
};

struct ih_picture {
    uint8_t *pixels; /* owned: uint8 [height][width][3]; NULL: none */
    unsigned width, height;
};

struct ih_canvas {
    const struct ih_chart_page *page; /* borrowed */
    enum ih_status status;            /* IH_OK, or the first failure */
    struct ih_bytes file;             /* what is written so far */

    /* Fills the inside of a path (nonzero winding rule). */
    void (*fill)(struct ih_canvas *canvas, const struct ih_path *path,
                 const struct ih_paint *paint);

    /* Writes one line of valid UTF-8, ih_glyphs_width wide. */
    void (*text)(struct ih_canvas *canvas, const struct ih_text_place *place, const char *text,
                 const struct ih_paint *paint);

    /* Draws pixels, uint8 [height][width][3], of at least this size: never enlarged. NULL: the
     * format has no pictures. */
    void (*picture)(struct ih_canvas *canvas, int32_t x_px, int32_t y_px, int32_t width_px,
                    int32_t height_px, const struct ih_picture *picture);

    /* Completes the file. Called once, if status is IH_OK. */
    enum ih_status (*finish)(struct ih_canvas *canvas, struct ih_error *err);

    void (*release)(struct ih_canvas *canvas); /* NULL: it has no memory of its own */
};

/*
 * Opens the canvas for a file format; NULL: PNG.
 *
 * page     borrowed until close
 * canvas   owned by the caller; NULL on failure
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_canvas_open(const struct ih_chart_format *format,
                              const struct ih_chart_page *page, struct ih_canvas **canvas,
                              struct ih_error *err);

/*
 * Makes the file.
 *
 * *file   owned by the caller, free() it; unchanged on failure
 *
 * Returns IH_OK, IH_MEMORY (also if drawing ran out of memory), or IH_UNAVAILABLE if the library of
 * the format fails.
 */
enum ih_status ih_canvas_finish(struct ih_canvas *canvas, unsigned char **file, size_t *size_bytes,
                                struct ih_error *err);

void ih_canvas_close(struct ih_canvas *canvas); /* NULL is allowed */

/* ---- the two canvases ---- */

/*
 * Appends a picture to a file, which may be left incomplete on failure.
 *
 * pixels   [height][width][3], top row first
 */
typedef enum ih_status ih_encoder(const struct ih_chart_page *page, const uint8_t *pixels,
                                  struct ih_bytes *file, struct ih_error *err);

/* 8-bit RGB pixels, filled with the background colour. Same errors as ih_canvas_open. */
enum ih_status ih_raster_open(const struct ih_chart_page *page, ih_encoder *encode,
                              struct ih_canvas **canvas, struct ih_error *err);

/* SVG 1.1 in UTF-8. */
enum ih_status ih_svg_open(const struct ih_chart_page *page, struct ih_canvas **canvas,
                           struct ih_error *err);

#endif
