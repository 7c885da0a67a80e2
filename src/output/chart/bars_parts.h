/* The parts that a chart of bars is drawn from, one file each; private to bars*.c. */
#ifndef IH_OUTPUT_CHART_BARS_PARTS_H
#define IH_OUTPUT_CHART_BARS_PARTS_H

#include "output/chart/bars.h"
#include "output/chart/canvas.h"
#include "output/chart/label.h"
#include "output/chart/theme.h"

enum { IH_BARS_COLUMNS = 3 };

/* Heights in a column, in tenths of a row. */
enum { IH_BARS_ROW = 10, IH_BARS_TITLE = 15, IH_BARS_GAP = 7 };

/* Whole pixels, but for rows: thousands of them may share a few hundred pixels. */
struct ih_bars_layout {
    int32_t width, height, margin;
    int32_t em, title_em, hair;
    int32_t title_y, facts_y, legend_y; /* baselines; 0: there is no room for it */
    int32_t ticks_dy;                   /* from the end of a column to its numbers; 0: the same */
    int32_t top, bottom;                /* of the columns */
    int32_t column_width, column_gap;
    int32_t plot_left, plot_right; /* in a column */
    int32_t values_right;          /* in a column; 0: there is no room for them */
    int32_t shares_right;          /* the same */
    int64_t tenth;                 /* of a row, 1/2^16 of a pixel */
    bool has_labels, has_titles;
    unsigned n_columns;
    size_t first[IH_BARS_COLUMNS + 1]; /* group of each column, and n_groups */
};

struct ih_bars {
    const struct ih_bar_chart *chart;
    const struct ih_chart_theme *theme;
    const struct ih_glyphs *glyphs;
    struct ih_canvas *canvas;
    struct ih_bars_layout layout;
    double axis_low, axis_high; /* values at the ends of the axis */
    struct ih_path path;        /* scratch */
};

static inline bool ih_bars_shows(double v)
{
    return v >= IH_BARS_LEAST && v <= IH_BARS_MOST; /* not NAN */
}

/* bars_layout.c: fills in layout and axis; the rest is set. width or height 0 are chosen. */
void ih_bars_lay_out(struct ih_bars *bars, unsigned width, unsigned height);

/* The figures written beside a bar; "" where there are none. */
void ih_bars_value(char label[IH_LABEL_MAX], double value);
void ih_bars_share(char label[IH_LABEL_MAX], const struct ih_bar *bar);

/* Where a value is in a plot, 1/IH_SUBPIXELS of a pixel from the plot's left. */
int32_t ih_bars_reach(const struct ih_bars *bars, double value);

/* bars_rows.c: one column's groups with all that is in them, and its axis. */
void ih_bars_draw_column(struct ih_bars *bars, unsigned column);

/* bars.c: for all parts; 1/IH_SUBPIXELS of a pixel. */
void ih_bars_fill(struct ih_bars *bars, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                  struct ih_colour colour, uint8_t opacity);

/* Cut short where it is wider than max_width. Returns its width. */
int32_t ih_bars_write(struct ih_bars *bars, int32_t x, int32_t baseline, enum ih_align align,
                      int32_t max_width, struct ih_colour colour, const char *text);
int32_t ih_bars_width(const struct ih_bars *bars, const char *text);
struct ih_colour ih_bars_colour(const struct ih_bars *bars, unsigned series);

#endif
