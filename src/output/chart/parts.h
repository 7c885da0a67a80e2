/* The parts that a chart is drawn from, one file each; private to chart*.c. */
#ifndef IH_OUTPUT_CHART_PARTS_H
#define IH_OUTPUT_CHART_PARTS_H

#include "output/chart/axis.h"
#include "output/chart/canvas.h"
#include "output/chart/label.h"
#include "output/chart/theme.h"

/* What is told of an image in words and numbers. */
enum { IH_CHART_FACTS_MAX = 8, IH_CHART_ENTRIES_MAX = 4 };

struct ih_chart_entry {
    const char *name; /* static */
    unsigned plane;
    char numbers[IH_LABEL_MAX]; /* "" of an image without pixels */
};

struct ih_chart_facts {
    char fact[IH_CHART_FACTS_MAX][IH_LABEL_MAX]; /* the more important first */
    unsigned n_facts;
    struct ih_chart_entry entries[IH_CHART_ENTRIES_MAX]; /* of the planes that are drawn */
    unsigned n_entries;
};

/* Where things are, in whole pixels, so that straight lines are sharp. Text has its baseline. */
struct ih_chart_layout {
    int32_t width, height;
    int32_t margin;                   /* around everything */
    int32_t em, title_em;             /* sizes of type */
    int32_t hair;                     /* the thinnest line */
    int32_t left, top, right, bottom; /* of the plot */
    int32_t numbers_right;            /* where the numbers left of the plot end */
    int32_t title_y, strip_y, ticks_y;
    int32_t row_pitch;      /* of the rows below */
    int32_t legend_y;       /* the first row */
    int32_t legend_rows;    /* 0: there is no room for it */
    int32_t legend_columns; /* 0: names alone, side by side */
    int32_t facts_y;        /* the first row */
    int32_t facts_rows;     /* 0: there is no room for them */
};

/* One chart while it is drawn. */
struct ih_chart {
    const struct ih_result *result;
    const struct ih_chart_theme *theme;
    const struct ih_glyphs *glyphs;
    struct ih_canvas *canvas;
    struct ih_chart_facts facts;
    struct ih_chart_layout layout;
    struct ih_chart_axis axis;
    struct ih_path path; /* scratch */
};

/* chart_facts.c: what stands in the footer, and title and description of the file. */
void ih_chart_tell(const struct ih_result *result, struct ih_chart_facts *facts);
void ih_chart_describe(const struct ih_chart *chart, struct ih_bytes *title,
                       struct ih_bytes *description);

/* chart_layout.c: fills in layout and axis; glyphs, result and facts are set. */
void ih_chart_lay_out(struct ih_chart *chart, unsigned width, unsigned height);

/* chart_plot.c: panel, grid, bars, luma, axes, marks of cut bars. */
void ih_chart_draw_plot(struct ih_chart *chart);

/* chart_header.c: title and scale. The name is owned by the caller; NULL without memory. */
char *ih_chart_name(const struct ih_result *result);
void ih_chart_draw_header(struct ih_chart *chart);

/* chart_strip.c: the line over the plot that says what is clipped and what is cut. */
void ih_chart_draw_strip(struct ih_chart *chart);

/* chart_numbers.c: of both axes. */
void ih_chart_draw_numbers(struct ih_chart *chart);

/* chart_footer.c: the legend with its statistics, and the facts. Widths are for the layout. */
int32_t ih_chart_entry_width(const struct ih_chart *chart, const struct ih_chart_entry *entry,
                             bool with_numbers);
int32_t ih_chart_entry_gap(const struct ih_chart *chart);
int32_t ih_chart_count_fact_rows(const struct ih_chart *chart, int32_t width);
void ih_chart_draw_footer(struct ih_chart *chart);

/*
 * chart.c: lays out and draws all of it, whatever the canvas.
 *
 * chart   result, theme, glyphs, canvas, facts and axis.scale are set
 */
void ih_chart_draw_all(struct ih_chart *chart, unsigned width, unsigned height);

/* Captions of the axes. */
extern const char ih_chart_counts_caption[], ih_chart_values_caption[];

/* Values that have a number and a grid line. */
enum { IH_CHART_VALUE_TICKS = 5 };
extern const unsigned ih_chart_value_ticks[IH_CHART_VALUE_TICKS];

/* A length in hundredths of the em, in 1/IH_SUBPIXELS of a pixel. */
static inline int32_t ih_chart_ems(const struct ih_chart_layout *l, int32_t hundredths)
{
    return l->em * hundredths * IH_SUBPIXELS / 100;
}

/* Left edge of bin v, and with v = IH_BINS the right edge of the plot; 1/IH_SUBPIXELS of a pixel,
 * as everything below. Exact: a subpixel is 1/256 of a pixel, a bin 1/256 of the plot. */
static inline int32_t ih_chart_bin_x(const struct ih_chart_layout *l, unsigned v)
{
    return l->left * IH_SUBPIXELS + (int32_t)v * (l->right - l->left);
}

/* Middle of bin v: where its number and its grid line are. */
static inline int32_t ih_chart_value_x(const struct ih_chart_layout *l, unsigned v)
{
    return (ih_chart_bin_x(l, v) + ih_chart_bin_x(l, v + 1)) / 2;
}

/* Fills the scratch path. */
void ih_chart_fill(struct ih_chart *chart, struct ih_colour colour, uint8_t opacity,
                   enum ih_blend blend);

/* Fills a rectangle given in whole pixels. */
void ih_chart_fill_box(struct ih_chart *chart, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                       struct ih_colour colour, uint8_t opacity);

/* Sets a line of ordinary type, aligned to x; its baseline in whole pixels. */
void ih_chart_write(struct ih_chart *chart, int32_t x, int32_t baseline_px, enum ih_align align,
                    struct ih_colour colour, const char *text);

/* Width of a line of ordinary type. */
int32_t ih_chart_width(const struct ih_chart *chart, const char *text);

#endif
