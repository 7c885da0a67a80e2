/* The file formats of charts: a canvas, and for pixels an encoder. Private to chart*.c and bars*.c.
 */
#ifndef IH_OUTPUT_CHART_FORMAT_H
#define IH_OUTPUT_CHART_FORMAT_H

#include "output/chart/canvas.h"
#include "output/chart/chart.h"

/* What a file says about itself beside the picture. Borrowed. */
struct ih_chart_about {
    struct ih_canvas_words words;
    const char *source; /* as in struct ih_encode_job */
};

/*
 * Opens the canvas that a format is drawn on; format NULL: PNG.
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_chart_format_open(const struct ih_chart_format *format, struct ih_canvas **canvas,
                                    unsigned width, unsigned height, struct ih_colour background,
                                    const struct ih_glyphs *glyphs,
                                    const struct ih_chart_about *about, struct ih_error *err);

/*
 * Makes the file of a canvas that is drawn, of the size that it was opened with.
 *
 * *file   owned by the caller, free() it; NULL on failure
 *
 * Returns IH_OK, IH_MEMORY (also where drawing had none) or IH_UNAVAILABLE.
 */
enum ih_status ih_chart_format_finish(const struct ih_chart_format *format,
                                      struct ih_canvas *canvas, unsigned width, unsigned height,
                                      const struct ih_chart_about *about, unsigned char **file,
                                      size_t *size_bytes, struct ih_error *err);

/* canvas NULL is allowed. */
void ih_chart_format_close(const struct ih_chart_format *format, struct ih_canvas *canvas);

#endif
