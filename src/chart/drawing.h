/*
 * What the files of a chart share: theme, axis, layout and drawing. Each calls only those after it:
 *
 *     compare, sheet -> chart -> plot, text -> axis, theme, draw -> canvas -> canvas_raster,
 * canvas_svg
 *
 * All may use labels, glyphs (label.h) and paths (path.h).
 */
#ifndef IH_CHART_DRAWING_H
#define IH_CHART_DRAWING_H

#include "base/text.h"
#include "chart/canvas.h"

/* ---- theme.c: the colours; a theme is one row of its table ---- */

struct ih_chart_theme {
    const char *name;
    struct ih_colour page, panel;
    struct ih_colour areas[3], gray; /* of red, green and blue; of gray images */
    struct ih_colour edges[3];       /* of the areas of red, green and blue */
    struct ih_colour lines[3];       /* of the other side of a comparison */
    struct ih_colour bands[8];       /* lines of images without colours */
    struct ih_colour luma, casing;   /* the luma line, and its contrasting edge */
    struct ih_colour text, muted;    /* names and marks; all other text */
    struct ih_colour line;           /* axes and grid */
    struct ih_colour warning;        /* marks of clipping */
    uint8_t grid_opacity, axis_opacity, casing_opacity, veil_opacity;
};

/* ---- axis.c: the vertical axis ---- */

enum ih_chart_steps {
    IH_STEPS_EVEN,         /* 0, 20k, 40k, 60k */
    IH_STEPS_ONE_TWO_FIVE, /* 0, 1k, 2k, 5k, 10k */
    IH_STEPS_DECADES       /* 0, 1, 10, 100 */
};

struct ih_chart_scale {
    const char *name;            /* on the command line */
    const char *title;           /* on the chart, before the word "scale" */
    double (*forward)(double n); /* monotonic, 0 at 0 */
    double (*inverse)(double y);
    enum ih_chart_steps steps; /* between ticks */
    bool may_cut;              /* bars far above the others are cut */
};

enum { IH_AXIS_TICKS_MAX = 24 }; /* 0 and the powers of ten below 2^64 are 21 */

struct ih_chart_axis {
    const struct ih_chart_scale *scale;
    bool in_percent;                 /* numbers are percentages of all pixels, not counts */
    uint64_t n_pixels;               /* all of them */
    double limit;                    /* the count at the top of the plot */
    uint64_t tallest_cut;            /* the count of the highest bar that is cut; 0: none */
    double ticks[IH_AXIS_TICKS_MAX]; /* counts; whole numbers unless in_percent */
    unsigned n_ticks;
};

/*
 * Chooses the limit and the ticks.
 *
 * axis      scale and in_percent are set
 * min_gap   the least distance of two ticks, as a share of the axis, above 0
 */
void ih_chart_axis_init(struct ih_chart_axis *axis, const struct ih_histogram *h, double min_gap);

/* Sets tallest_cut, for another histogram on the same axis. */
void ih_chart_axis_find_cut(struct ih_chart_axis *axis, const struct ih_histogram *h);

/* Returns the height of a count above the foot of a plot of this height, at most the height. */
int32_t ih_chart_axis_height(const struct ih_chart_axis *axis, double n, int32_t plot_height);

/* Returns the least of ..., 0.2, 0.5, 1, 2, 5, 10, ... that is not below a number above 0. */
double ih_chart_round_step(double least);

/* The number of a tick. */
void ih_chart_axis_label(const struct ih_chart_axis *axis, double tick, char label[IH_LABEL_MAX]);

/* True if a bar of n pixels is higher than the plot. */
static inline bool ih_chart_axis_cuts(const struct ih_chart_axis *axis, uint64_t n)
{
    return (double)n > axis->limit;
}

/* Returns the highest bar that is drawn at v, of all planes. */
uint64_t ih_chart_tallest(const struct ih_histogram *h, unsigned v);

enum { IH_CHART_BANDS_MAX = 8 }; /* of an image without colours */

/* The channels that are drawn: the colours, or the first bands without them. */
static inline unsigned ih_chart_n_drawn(const struct ih_histogram *h)
{
    const unsigned n_bands = h->layout.n_channels - h->layout.has_alpha;
    return h->layout.n_colours            ? h->layout.n_colours
           : n_bands < IH_CHART_BANDS_MAX ? n_bands
                                          : (unsigned)IH_CHART_BANDS_MAX;
}

/* True for the planes that are drawn: these channels, and the luma of colour images. */
static inline bool ih_chart_draws_plane(const struct ih_histogram *h, unsigned plane)
{
    unsigned n_colours = h->layout.n_colours;
    return plane < ih_chart_n_drawn(h) || (plane == IH_LUMA && n_colours > 1 && ih_has_luma(h));
}

/* True for bins, at most IH_BINS, of gray images; beside colours they are those of red, green and
 * blue. */
bool ih_chart_is_gray(const struct ih_histogram *bars);

/* ---- the state of one chart ---- */

/* Entries: of a sheet, with red, green, blue, luma and gray beside the bands. */
enum { IH_CHART_FACTS_MAX = 18, IH_CHART_ENTRIES_MAX = 5 + IH_CHART_BANDS_MAX };

/* An entry of the legend. */
struct ih_chart_entry {
    char name[IH_LABEL_MAX]; /* "band4 NIR", with the name in the file */
    struct ih_layout layout; /* that has the plane */
    unsigned plane;
    char numbers[IH_LABEL_MAX]; /* "" for an image without pixels */
};

/* A number below the plot, with its grid line. */
struct ih_chart_tick {
    int32_t x;               /* 1/IH_SUBPIXELS of a pixel */
    char label[IH_REAL_MAX]; /* "" where numbers would touch */
};

enum { IH_CHART_TICKS_MAX = 12 };

struct ih_chart_facts {
    char fact[IH_CHART_FACTS_MAX][IH_LABEL_MAX]; /* the most important ones first */
    unsigned n_facts;
    struct ih_chart_entry entries[IH_CHART_ENTRIES_MAX]; /* of the planes that are drawn */
    unsigned n_entries;
};

/* Positions and sizes in pixels, integers so that straight lines are sharp. Text is placed by its
 * baseline. */
struct ih_chart_layout {
    int32_t width, height;
    int32_t margin;                   /* around the chart */
    int32_t em, title_em;             /* sizes of type */
    int32_t hair;                     /* the thinnest line */
    int32_t left, top, right, bottom; /* of the plot */
    unsigned n_bins, n_in_bar;        /* values of the samples, and those that a bar sums */
    int32_t numbers_right;            /* right end of the numbers left of the plot */
    int32_t title_y, strip_y, ticks_y;
    int32_t thumbnail_height; /* room for it in the upper right corner; 0: none */
    int32_t row_pitch;        /* distance of two rows of the footer */
    int32_t legend_y;         /* the first row */
    int32_t legend_rows;      /* 0: no legend */
    int32_t legend_columns;   /* 0: names without numbers, in one row */
    int32_t facts_y;          /* the first row */
    int32_t facts_rows;       /* 0: no facts */
};

struct ih_chart {
    const struct ih_result *result;
    const struct ih_histogram *bars; /* at most IH_BINS: the result's bins, or native ones folded */
    const struct ih_histogram *other;   /* drawn as lines over the bars; NULL: none */
    const struct ih_histogram *heights; /* sets the scale and is cut: the bars, or the higher bars
                                           of both */
    const struct ih_histogram *values;  /* what the bars were folded from */
    struct ih_shown shown;              /* of them */
    const char *title;                  /* of the options */
    const char *sides[2];               /* paths in the title of a comparison; NULL: others */
    char *name;                         /* owned: what the chart shows */
    const struct ih_chart_theme *theme;
    struct ih_glyphs *glyphs;
    struct ih_chart_page page;
    struct ih_canvas *canvas;
    struct ih_chart_facts facts;
    struct ih_chart_layout layout;
    struct ih_chart_axis axis;
    struct ih_chart_tick ticks[IH_CHART_TICKS_MAX]; /* of the values */
    unsigned n_ticks;
    struct ih_path path;                  /* scratch */
    struct ih_chart_sheet *sheet;         /* NULL: one histogram */
    struct ih_picture thumbnail;          /* owned */
    void (*draw)(struct ih_chart *chart); /* all of it, on an open canvas; NULL: one histogram */
};

static inline int32_t ih_larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t ih_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Converts hundredths of the em to 1/IH_SUBPIXELS of a pixel. */
static inline int32_t ih_chart_ems(const struct ih_chart_layout *l, int32_t hundredths)
{
    return l->em * hundredths * IH_SUBPIXELS / 100;
}

/* Sets the layout's bins from the values that the chart shows. */
static inline void ih_chart_set_bins(struct ih_chart *chart)
{
    chart->layout.n_bins = chart->shown.n_values;
    chart->layout.n_in_bar = ih_bar_values(chart->shown.n_values);
}

/* The left edge of bar i, in 1/IH_SUBPIXELS of a pixel, exactly for IH_BINS bars; the right edge of
 * the plot for i past the last one. */
static inline int32_t ih_chart_bin_x(const struct ih_chart_layout *l, unsigned i)
{
    const int64_t n = (l->n_bins + l->n_in_bar - 1) / l->n_in_bar;
    const int64_t width = (int64_t)(l->right - l->left) * IH_SUBPIXELS;
    return l->left * IH_SUBPIXELS + (int32_t)(i < n ? i * width / n : width);
}

/* The colour of the area of an image's plane; for luma and bands, of its line. */
struct ih_colour ih_chart_plane_colour(const struct ih_chart *chart, struct ih_layout layout,
                                       unsigned plane);

/* ---- draw.c: brushes ---- */

/* Fills chart->path. */
void ih_draw_path(struct ih_chart *chart, struct ih_colour colour, uint8_t opacity,
                  enum ih_blend blend);

/* Fills a rectangle given in 1/IH_SUBPIXELS of a pixel. */
void ih_draw_exact(struct ih_chart *chart, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                   struct ih_colour colour, uint8_t opacity);

/* Fills a rectangle given in pixels. */
void ih_draw_box(struct ih_chart *chart, int32_t x0, int32_t y0, int32_t x1, int32_t y1,
                 struct ih_colour colour, uint8_t opacity);

/* Writes a line of ordinary type. x is in 1/IH_SUBPIXELS of a pixel, the baseline in pixels. */
void ih_draw_text(struct ih_chart *chart, int32_t x, int32_t baseline_px, enum ih_align align,
                  struct ih_colour colour, const char *text);

/* Decodes the thumbnail of a result, which becomes that of the chart; none, if it cannot be read.
 */
void ih_draw_read_thumbnail(struct ih_chart *chart, const struct ih_result *result);

/* Returns the width in pixels of a thumbnail of this height; 0 without a thumbnail. */
int32_t ih_draw_thumbnail_width(const struct ih_chart *chart, int32_t height);

/* Draws the thumbnail with its upper right corner at x, y. height: at most its own, in pixels. */
void ih_draw_thumbnail(struct ih_chart *chart, int32_t x, int32_t y, int32_t height);

/* Returns the width of a line of ordinary type, in 1/IH_SUBPIXELS of a pixel. */
int32_t ih_draw_width(const struct ih_chart *chart, const char *text);

/* ---- text.c: the text around the plot ---- */

/* A moment or a distance in the unit of the samples: with these decimals, or with four digits of
 * signed and float samples. NaN is "none". */
void ih_chart_put_moment(char label[IH_LABEL_MAX], const struct ih_histogram *h, double v,
                         unsigned decimals);

/* "band4", or "band4 NIR" with its name in the file. */
void ih_chart_put_plane(char name[IH_LABEL_MAX], const struct ih_histogram *h, unsigned plane);

/* Adds which pixels are counted, if not all. */
void ih_chart_add_pixels(const struct ih_result *result, struct ih_chart_facts *facts);

/* Adds the samples of all channels that are in no bin, after the words `what`. */
void ih_chart_add_apart(const char *what, const struct ih_histogram *h,
                        struct ih_chart_facts *facts);

/* Adds which of the values of n results a chart shows, and how many bands it leaves out. */
void ih_chart_add_values(const struct ih_result *results, size_t n, struct ih_shown shown,
                         struct ih_chart_facts *facts);

/* Collects the legend and the facts of the footer. */
void ih_chart_collect_facts(const struct ih_result *result, struct ih_chart_facts *facts);

/* Sets the name, and writes the alternative text, with a NUL each. Without memory, title->failed is
 * set. */
void ih_chart_describe(struct ih_chart *chart, struct ih_bytes *title,
                       struct ih_bytes *description);

enum { IH_CHART_ENTRY_GAP = 180 }; /* hundredths of the em: least distance of two entries */

/* Widths of the footer, for the layout; in 1/IH_SUBPIXELS of a pixel. */
int32_t ih_chart_entry_width(const struct ih_chart *chart, const struct ih_chart_entry *entry,
                             bool with_numbers);
int32_t ih_chart_count_fact_rows(const struct ih_chart *chart, int32_t width);

void ih_chart_draw_header(struct ih_chart *chart);
void ih_chart_draw_footer(struct ih_chart *chart);

/* ---- plot.c: the plot, its numbers, and the strip above it ---- */

extern const char ih_chart_counts_caption[], ih_chart_values_caption[];
enum {
    IH_CHART_CAPTION_GAP = 60
}; /* from "value" to the end of its column, hundredths of the em */

void ih_chart_draw_plot(struct ih_chart *chart);

/* Its parts, for a sheet: the plot and the strip; the numbers of one axis. column: the right end of
 * those of the counts, in 1/IH_SUBPIXELS of a pixel. */
void ih_chart_draw_panel(struct ih_chart *chart);
void ih_chart_draw_counts(struct ih_chart *chart, int32_t column);
void ih_chart_draw_values(struct ih_chart *chart);

/* ---- chart.c: the layout, and the file ---- */

/* Chooses the rows of a legend without numbers: one, if all names fit, else columns. */
void ih_chart_fit_names(struct ih_chart *chart);

/* Changes all counts to those of n_pixels, rounded; none becomes 0. */
void ih_chart_scale_counts(struct ih_histogram *h, uint64_t n_pixels);

/* Returns the width of the numbers of the counts, in 1/IH_SUBPIXELS of a pixel. */
int32_t ih_chart_counts_width(const struct ih_chart *chart);

/* Clears a layout and sets width, height, and the sizes that follow from them: em, title_em, margin
 * and hair. They grow with the smaller of width and height, and stay readable in the smallest
 * chart.
 */
void ih_chart_set_sizes(struct ih_chart_layout *layout, unsigned width, unsigned height);

/* Lays out and draws a chart on any canvas: result, bars, heights, values, name, theme, glyphs,
 * page, canvas, facts and axis.scale are set. */
void ih_chart_draw_all(struct ih_chart *chart);

/* Draws a chart whose result, bars, other, heights, values, title and facts are set.
 * source: for the metadata of the file. The rest is that of ih_chart_draw. */
enum ih_status ih_chart_make(struct ih_chart *chart, const struct ih_chart_options *options,
                             const char *source, unsigned char **file, size_t *size_bytes,
                             struct ih_error *err);

#endif
