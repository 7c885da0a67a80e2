/*
 * The font of the charts: the width and the outlines of text.
 *
 * A width is a sum of integer font units, scaled and rounded once. There is no kerning and no
 * shaping: at the sizes of a chart, kerning moves a glyph by less than a pixel. Right-to-left
 * scripts appear in the order of their code points.
 */
#ifndef IH_OUTPUT_CHART_GLYPHS_H
#define IH_OUTPUT_CHART_GLYPHS_H

#include "base/status.h"
#include "output/chart/path.h"

struct ih_glyphs; /* opaque; constant after open, so threads may share it */

/*
 * Opens the font that is compiled in.
 *
 * glyphs   owned by the caller, released with ih_glyphs_close
 *
 * Returns IH_OK, IH_MEMORY, or IH_UNAVAILABLE if the embedded data is not a font.
 */
enum ih_status ih_glyphs_open(struct ih_glyphs **glyphs, struct ih_error *err);

/* NULL is allowed. */
void ih_glyphs_close(struct ih_glyphs *glyphs);

/* Returns the width of a line of valid UTF-8, in 1/IH_SUBPIXELS of a pixel. */
int32_t ih_glyphs_width(const struct ih_glyphs *glyphs, unsigned size_px, const char *text);

/*
 * Appends the outlines of a line of valid UTF-8 to a path. Characters that the font lacks become
 * empty boxes.
 *
 * x, baseline   the start of the first glyph, in 1/IH_SUBPIXELS of a pixel
 *
 * Sets path->failed if memory runs out.
 */
void ih_glyphs_outline(const struct ih_glyphs *glyphs, struct ih_path *path, int32_t x,
                       int32_t baseline, unsigned size_px, const char *text);

/*
 * Replaces the middle of a line that is wider than max_width by an ellipsis; a file name says most
 * at its ends.
 *
 * text   valid UTF-8, changed in place, with room for IH_ELLIPSIS_BYTES more; becomes "" if not
 * even the ellipsis fits
 */
enum { IH_ELLIPSIS_BYTES = 3 };
void ih_glyphs_shorten(const struct ih_glyphs *glyphs, unsigned size_px, int32_t max_width,
                       char *text);

#endif
