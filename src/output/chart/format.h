/* The file formats of charts: a canvas, and for raster formats an encoder. */
#ifndef IH_OUTPUT_CHART_FORMAT_H
#define IH_OUTPUT_CHART_FORMAT_H

#include "output/chart/canvas.h"
#include "output/chart/chart.h"

/* The metadata of a chart file. Borrowed. */
struct ih_chart_about {
    struct ih_alt_text text; /* SVG */
    const char *source;      /* PNG: the input, as a text chunk; NULL: none */
};

/*
 * Opens the canvas of a format; format NULL: PNG.
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_chart_format_open(const struct ih_chart_format *format, struct ih_canvas **canvas,
                                    unsigned width, unsigned height, struct ih_colour background,
                                    const struct ih_glyphs *glyphs,
                                    const struct ih_chart_about *about, struct ih_error *err);

/*
 * Makes the file of a finished canvas. Width and height are those of ih_chart_format_open, at most
 * 65535.
 *
 * *file   owned by the caller, free() it; NULL on failure
 *
 * Returns IH_OK, IH_MEMORY (also if drawing ran out of memory), or IH_UNAVAILABLE if the library of
 * the format fails.
 * Threads: any.
 */
enum ih_status ih_chart_format_finish(const struct ih_chart_format *format,
                                      struct ih_canvas *canvas, unsigned width, unsigned height,
                                      const struct ih_chart_about *about, unsigned char **file,
                                      size_t *size_bytes, struct ih_error *err);

/* canvas NULL is allowed. */
void ih_chart_format_close(const struct ih_chart_format *format, struct ih_canvas *canvas);

#endif
