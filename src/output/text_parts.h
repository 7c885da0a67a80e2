/*
 * The parts of the text views: names cut to a width, histograms drawn with characters, percentages.
 *
 * Widths are terminal columns as wcwidth gives them in the locale of the process. A character
 * unknown to the locale counts as one column.
 */
#ifndef IH_OUTPUT_TEXT_PARTS_H
#define IH_OUTPUT_TEXT_PARTS_H

#include "histogram/histogram.h"

#include <stdio.h>

/* Columns that UTF-8 text without control characters takes. */
unsigned ih_text_width(const char *text);

/*
 * Writes text. If it takes more than `columns`, a gap replaces its middle, because a path says most
 * at its start and its end. A character is never separated from its combining marks.
 *
 * text      UTF-8 without control characters (ih_escape)
 * columns   0: no limit
 * unicode   the gap is an ellipsis, else three points
 */
void ih_text_put_short(FILE *f, const char *text, unsigned columns, bool unicode);

/* Formats a share in percent, at most 5 characters ("12.34"). "0.00" means none and "100" all;
 * shares close to these are "<0.01" and ">99.9". */
enum { IH_PERCENT_MAX = 8 };
const char *ih_text_percent(char shown[IH_PERCENT_MAX], uint64_t part, uint64_t total);

/*
 * A histogram as rows of characters.
 *
 * Each column of characters stands for a power of two of values. A character has eight levels: the
 * block elements U+2581 to U+2588, or a coarser set of ASCII. In colour, the red, green and blue
 * curves overlap and mix as light does.
 *
 * Colours are of the 256 of xterm. Their luminance is near 0.18, so that black and white terminals
 * both give areas a contrast of 3.3 or more, and text one of 4.5.
 */
#define IH_INK_RED "\033[38;5;131m"
#define IH_INK_GREEN "\033[38;5;29m"
#define IH_INK_BLUE "\033[38;5;63m"

enum {
    IH_PLOT_CURVES = 3,
    IH_PLOT_COLUMNS = IH_BINS, /* at most */
    IH_PLOT_LEVELS = 8         /* of a character */
};

struct ih_plot {
    unsigned n_columns; /* a power of two, at most IH_PLOT_COLUMNS */
    unsigned n_rows;
    unsigned n_curves;                                 /* 1, or 3: red, green, blue */
    unsigned heights[IH_PLOT_CURVES][IH_PLOT_COLUMNS]; /* 0 to n_rows * IH_PLOT_LEVELS */
    bool is_cut[IH_PLOT_CURVES][IH_PLOT_COLUMNS];      /* higher than the plot */
};

/*
 * Computes the heights of one plane or of three, all on one scale.
 *
 * plot     the caller has set n_columns, n_rows and n_curves
 * planes   n_curves indexes of planes of h
 *
 * Values 0 and 255 and single columns far above the others do not set the scale; they are cut. A
 * column with any pixels is at least one level high.
 */
void ih_plot_fill(struct ih_plot *plot, const struct ih_histogram *h, const unsigned planes[]);

/* Writes one row, without a newline. Row 0 is the lowest. Three curves get ANSI colours. */
void ih_plot_put_row(FILE *f, const struct ih_plot *plot, unsigned row, bool unicode);

/* Writes a plane as one row of n_columns characters without colour. The highest level is not used,
 * so the rows of a table stay apart. */
void ih_plot_put_line(FILE *f, const struct ih_histogram *h, unsigned plane, unsigned n_columns,
                      bool unicode);

#endif
