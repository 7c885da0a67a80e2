/*
 * The chart of a histogram, of one image or of many together, as a PNG, SVG, JPEG, BMP or TGA file.
 *
 * The same result and options give the same picture: shapes, text and blending are integers, the
 * font is part of the program, and neither locale nor time plays a part. The bytes of the file are
 * the same too, with the same libpng, zlib and libjpeg.
 */
#ifndef IH_OUTPUT_CHART_CHART_H
#define IH_OUTPUT_CHART_CHART_H

#include "counts/result.h"

struct ih_chart_format; /* opaque */
struct ih_chart_theme;  /* opaque */
struct ih_chart_scale;  /* opaque */

/* "dark" or "light"; NULL where no theme has this name. */
const struct ih_chart_theme *ih_chart_theme_find(const char *name);

/* How counts become heights: "linear", "log" or "sqrt"; NULL where no scale has this name. */
const struct ih_chart_scale *ih_chart_scale_find(const char *name);

/* The format whose ending a path has, in small or capital letters: .png .svg .jpg .jpeg .bmp .tga;
 * NULL where it has none of them. */
const struct ih_chart_format *ih_chart_format_of(const char *path);

struct ih_chart_options {
    unsigned width, height;               /* pixels, IH_CHART_MIN_* to IH_CHART_MAX */
    const struct ih_chart_theme *theme;   /* static; NULL: dark */
    const struct ih_chart_scale *scale;   /* static; NULL: linear */
    const struct ih_chart_format *format; /* static; NULL: PNG */
};

enum {
    IH_CHART_WIDTH = 1024, /* the defaults */
    IH_CHART_HEIGHT = 640,
    IH_CHART_MIN_WIDTH = 320,
    IH_CHART_MIN_HEIGHT = 200,
    IH_CHART_MAX = 8192
};

/* What a PNG says it is the chart of: the input's path, or that it is a total. */
const char *ih_chart_source(const struct ih_result *result);

/*
 * Draws the chart and makes a file of it.
 *
 * result   status IH_OK; of a total, alpha may count fewer pixels than the other planes
 * *file    owned by the caller, free() it; NULL on failure
 *
 * Returns IH_OK, IH_USAGE (a size out of range), IH_MEMORY, or IH_UNAVAILABLE where this build's
 * font or a library is broken.
 * Threads: any.
 */
enum ih_status ih_chart_draw(const struct ih_result *result, const struct ih_chart_options *options,
                             unsigned char **file, size_t *size_bytes, struct ih_error *err);

#endif
