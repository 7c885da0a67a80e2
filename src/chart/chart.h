/*
 * Charts of the histogram of one image or of a total, as PNG, SVG, JPEG, BMP or TGA.
 *
 * The same result and options give the same picture: drawing uses integers, the font is part of the
 * program, and locale and time have no influence. With the same versions of libpng, zlib and
 * libjpeg, the bytes of the file are the same too.
 */
#ifndef IH_CHART_H
#define IH_CHART_H

#include "histogram/compare.h"

struct ih_chart_format; /* opaque */
struct ih_chart_theme;  /* opaque */
struct ih_chart_scale;  /* opaque */

/* Returns the theme "dark" or "light"; NULL for other names. */
const struct ih_chart_theme *ih_chart_theme_find(const char *name);

/* Returns the scale of the heights, "linear", "log" or "sqrt"; NULL for other names. */
const struct ih_chart_scale *ih_chart_scale_find(const char *name);

/* The list of formats: canvas.c makes its table of it, and messages name IH_CHART_ENDINGS,
 * " .png .svg .jpg .bmp .tga". */
#define IH_CHART_FORMATS(FORMAT) FORMAT(png) FORMAT(svg) FORMAT(jpg) FORMAT(bmp) FORMAT(tga)
#define IH_CHART_ENDING(format) " ." #format
#define IH_CHART_ENDINGS IH_CHART_FORMATS(IH_CHART_ENDING)

/* Returns the format for the ending of a path, in any case; .jpeg is .jpg. NULL for others. */
const struct ih_chart_format *ih_chart_format_of(const char *path);

/* Whether a format has text that the viewer draws, with fonts of its own; NULL: PNG. */
bool ih_chart_format_has_text(const struct ih_chart_format *format);

/* The first character of a label that the font of the charts lacks: a raster chart has a box for
 * it. 0: none. */
unsigned long ih_chart_lacking(const char *label);

/* Whether bytes from the start of a file, and its last ones, are those of a chart that imghist
 * drew. Both have at most IH_CHART_MARK_BYTES. */
enum { IH_CHART_MARK_BYTES = 256 };
bool ih_chart_has_mark(const uint8_t *start, size_t n_start, const uint8_t *end, size_t n_end);

struct ih_chart_options {
    unsigned width, height;               /* pixels, IH_CHART_MIN_* to IH_CHART_MAX */
    const struct ih_chart_theme *theme;   /* static; NULL: dark */
    const struct ih_chart_scale *scale;   /* static; NULL: linear */
    const struct ih_chart_format *format; /* static; NULL: PNG */
    bool in_percent;                      /* the vertical axis is in percent of the pixels */
    bool has_thumbnail; /* a raster chart shows the result's thumbnail, if it has one */
    bool is_sheet;      /* of charts' files: ih_chart_draw_sheet draws all results */
    bool is_part;       /* a sheet beside others, which have scales of their own */
    uint64_t n_failed;  /* of a sheet: inputs that are not on it or others */
    const char *title;  /* borrowed; NULL: the name of the input */
};

enum {
    IH_CHART_WIDTH = 1024, /* default size */
    IH_CHART_HEIGHT = 640,
    IH_CHART_MIN_WIDTH = 320,
    IH_CHART_MIN_HEIGHT = 200,
    IH_CHART_MAX = 8192
};

/*
 * Draws a chart as a file in memory.
 *
 * result   status IH_OK; the alpha plane of a total may count fewer pixels than the others
 * *file    owned by the caller, free() it; NULL on failure
 *
 * Returns IH_OK, IH_USAGE (size out of range), IH_MEMORY, or IH_UNAVAILABLE if the font of this
 * build or a library fails.
 * Threads: any.
 */
enum ih_status ih_chart_draw(const struct ih_result *result, const struct ih_chart_options *options,
                             unsigned char **file, size_t *size_bytes, struct ih_error *err);

/*
 * The same for small histograms of several results on one page, on one scale of shares of pixels.
 *
 * results   1 to IH_CHART_SHEET_MAX, of images, status IH_OK
 * title     for options->title NULL
 *
 * With an options->width of 0 the page has a size that suits their number.
 */
enum { IH_CHART_SHEET_MAX = 60 };
enum ih_status ih_chart_draw_sheet(const struct ih_result *results, size_t n, const char *title,
                                   const struct ih_chart_options *options, unsigned char **file,
                                   size_t *size_bytes, struct ih_error *err);

/* The same for a comparison: the first side as areas, the second as lines, both scaled to the
 * number of pixels of the larger one. */
enum ih_status ih_chart_draw_comparison(const struct ih_comparison *comparison,
                                        const struct ih_chart_options *options,
                                        unsigned char **file, size_t *size_bytes,
                                        struct ih_error *err);

#endif
