/*
 * The chart of one image's histogram, as a PNG.
 *
 * The same result and options give the same picture: shapes, text and blending are integers, the
 * font is part of the program, and neither locale nor time plays a part. The bytes of the file are
 * the same too with the same libpng and zlib.
 */
#ifndef IH_OUTPUT_CHART_H
#define IH_OUTPUT_CHART_H

#include "base/result.h"

struct ih_chart_theme; /* opaque */
struct ih_chart_scale; /* opaque */

/* "dark" or "light"; NULL where no theme has this name. */
const struct ih_chart_theme *ih_chart_theme_find(const char *name);

/* How counts become heights: "linear", "log" or "sqrt"; NULL where no scale has this name. */
const struct ih_chart_scale *ih_chart_scale_find(const char *name);

struct ih_chart_options {
    unsigned width, height;             /* pixels, IH_CHART_MIN_* to IH_CHART_MAX */
    const struct ih_chart_theme *theme; /* static; NULL: dark */
    const struct ih_chart_scale *scale; /* static; NULL: linear */
};

enum {
    IH_CHART_WIDTH = 1024, /* the defaults */
    IH_CHART_HEIGHT = 640,
    IH_CHART_MIN_WIDTH = 320,
    IH_CHART_MIN_HEIGHT = 200,
    IH_CHART_MAX = 8192
};

/*
 * Draws the chart and encodes it.
 *
 * result      status IH_OK
 * *png        owned by the caller, free() it; NULL on failure
 *
 * Returns IH_OK, IH_USAGE (a size out of range), IH_MEMORY, or IH_UNAVAILABLE where this build's
 * font or libpng is broken.
 * Threads: any.
 */
enum ih_status ih_chart_png(const struct ih_result *result, const struct ih_chart_options *options,
                            unsigned char **png, size_t *size_bytes, struct ih_error *err);

#endif
