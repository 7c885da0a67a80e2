/*
 * The font of the charts: how wide text is, and what it looks like.
 *
 * Widths are sums of integer font units that are scaled and rounded once, so a layout never depends
 * on where a line was broken up. No kerning and no shaping: at the sizes of a chart kerning moves a
 * glyph by less than a pixel, and right-to-left scripts are set in the order of their code points.
 */
#ifndef IH_OUTPUT_CHART_GLYPHS_H
#define IH_OUTPUT_CHART_GLYPHS_H

#include "base/status.h"
#include "output/chart/path.h"

struct ih_glyphs; /* opaque; only read after open, so threads may share one */

/*
 * Opens the font that is compiled in.
 *
 * glyphs   owned by the caller, released with ih_glyphs_close
 *
 * Returns IH_OK, IH_MEMORY, or IH_UNAVAILABLE where this build embeds something that is no font.
 */
enum ih_status ih_glyphs_open(struct ih_glyphs **glyphs, struct ih_error *err);

/* NULL is allowed. */
void ih_glyphs_close(struct ih_glyphs *glyphs);

/* Width of a line of valid UTF-8, 1/IH_SUBPIXELS of a pixel. */
int32_t ih_glyphs_width(const struct ih_glyphs *glyphs, unsigned size_px, const char *text);

/*
 * Appends the outlines of a line of valid UTF-8 to a path. A character that the font lacks becomes
 * its empty box.
 *
 * x, baseline   where the first glyph begins, 1/IH_SUBPIXELS of a pixel
 *
 * Out of memory is left in path->failed.
 */
void ih_glyphs_outline(const struct ih_glyphs *glyphs, struct ih_path *path, int32_t x,
                       int32_t baseline, unsigned size_px, const char *text);

/*
 * Cuts the middle out of a line that is wider than max_width and puts an ellipsis there; both ends
 * of a file's name say more than its middle.
 *
 * text   valid UTF-8, changed in place; has room for IH_ELLIPSIS_BYTES more. "" where not even the
 *        ellipsis fits
 */
enum { IH_ELLIPSIS_BYTES = 3 };
void ih_glyphs_shorten(const struct ih_glyphs *glyphs, unsigned size_px, int32_t max_width,
                       char *text);

#endif
