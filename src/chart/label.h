/*
 * The text of charts: labels, and the font.
 *
 * Labels are names and numbers in UTF-8, independent of the locale.
 *
 * The font gives the width and the outlines of a line of text. There is no kerning and no shaping:
 * at the sizes of a chart, kerning moves a glyph by less than a pixel. Words of right-to-left
 * scripts, and blanks and lines between them, run to the left; Arabic letters are not joined.
 * Digits stay at the right of the words before them, as in a line that runs to the right.
 */
#ifndef IH_CHART_LABEL_H
#define IH_CHART_LABEL_H

#include "base/status.h"
#include "chart/path.h"

/* ---- labels ---- */

enum { IH_LABEL_MAX = 128 }; /* bytes of every label, with the NUL */

/* Returns the text after the last slash of a path, or the path itself if it ends in one; of "-",
 * "standard input". */
const char *ih_label_last_part(const char *path);

/*
 * Returns the last part of a path, escaped by ih_escape. The caller frees it; it has room for
 * IH_ELLIPSIS_BYTES more. NULL if memory ran out.
 */
char *ih_label_name(const char *path);

/* The same of a whole text. */
char *ih_label_text(const char *text);

/* "0", "950", "1.5k", "12.3M", "4G": at most three significant digits, without trailing zeros. */
void ih_label_count(char label[IH_LABEL_MAX], uint64_t n);

/* A real number >= 0 with 0 to 6 decimals. */
void ih_label_real(char label[IH_LABEL_MAX], double v, unsigned decimals);

/* Pixels in millions, with about three significant digits: "24", "0.15", "0.000064". */
void ih_label_megapixels(char label[IH_LABEL_MAX], uint64_t n);

/* "12.3 %", "1.24 %". "0 %" means none and "100 %" all; shares close to these are "<0.01 %" and
 * ">99.9 %". total is not 0. */
void ih_label_percent(char label[IH_LABEL_MAX], uint64_t part, uint64_t total);

/* The same of a percentage, with up to 6 decimals: "0.25 %". */
void ih_label_exact_percent(char label[IH_LABEL_MAX], double percent);

/* ---- the font ---- */

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

/* The first character of valid UTF-8 that the font lacks; 0: it has all. */
unsigned long ih_glyphs_lacking(const struct ih_glyphs *glyphs, const char *text);

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
