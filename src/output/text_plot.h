/*
 * Histograms drawn with characters.
 *
 * A column is a power of two of values, and eight heights of a character: U+2581 to U+2588, the
 * block elements, or a coarser row of ASCII. In colour the red, green and blue curve lie over each
 * other and mix as light does, which is how the eight colours of ANSI are numbered.
 */
#ifndef IH_OUTPUT_TEXT_PLOT_H
#define IH_OUTPUT_TEXT_PLOT_H

#include "counts/histogram.h"

#include <stdio.h>

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
    bool is_cut[IH_PLOT_CURVES][IH_PLOT_COLUMNS];      /* higher than what is shown */
};

/*
 * Works out the heights of one plane or of three, all on one scale.
 *
 * plot     n_columns, n_rows and n_curves are set by the caller
 * planes   indexes of n_curves planes of h
 *
 * What piles up at values 0 and 255, and single columns far above the others, do not set the scale
 * but are cut. What is there is at least one level high.
 */
void ih_plot_fill(struct ih_plot *plot, const struct ih_histogram *h, const unsigned planes[]);

/* One row, 0 the lowest, without a newline. Three curves are told apart by ANSI colours. */
void ih_plot_put_row(FILE *f, const struct ih_plot *plot, unsigned row, bool unicode);

/* A plane in one row of n_columns characters, without colour, and with a gap at the top, so that
 * rows below each other stay apart. */
void ih_plot_put_line(FILE *f, const struct ih_histogram *h, unsigned plane, unsigned n_columns,
                      bool unicode);

#endif
