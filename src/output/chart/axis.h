/* The vertical axis of a chart: which count is how high, and which counts are written beside it. */
#ifndef IH_OUTPUT_CHART_AXIS_H
#define IH_OUTPUT_CHART_AXIS_H

#include "counts/histogram.h"
#include "output/chart/chart.h"

enum ih_chart_steps {
    IH_STEPS_EVEN,         /* 0, 20k, 40k, 60k */
    IH_STEPS_ONE_TWO_FIVE, /* 0, 1k, 2k, 5k, 10k */
    IH_STEPS_DECADES       /* 0, 1, 10, 100 */
};

struct ih_chart_scale {
    const char *name;            /* on the command line */
    const char *title;           /* on the chart, before the word scale */
    double (*forward)(double n); /* 0 to 0, rising */
    double (*inverse)(double y);
    enum ih_chart_steps steps; /* between ticks */
    bool may_cut;              /* what is far above the rest */
};

extern const struct ih_chart_scale ih_chart_scale_linear;

enum { IH_AXIS_TICKS_MAX = 24 }; /* 0 and the powers of ten up to 2^64 are 21 */

struct ih_chart_axis {
    const struct ih_chart_scale *scale;
    double limit;         /* the count at the top of the plot */
    uint64_t tallest_cut; /* the count of the highest bar that is cut; 0: none is */
    uint64_t ticks[IH_AXIS_TICKS_MAX];
    unsigned n_ticks;
};

/*
 * Chooses the limit and the ticks.
 *
 * min_gap   of two ticks, as a share of the axis, above 0
 */
void ih_chart_axis_init(struct ih_chart_axis *axis, const struct ih_histogram *h,
                        const struct ih_chart_scale *scale, double min_gap);

/* Height of a count over the axis's foot, in a plot of this height; at most all of it. */
int32_t ih_chart_axis_height(const struct ih_chart_axis *axis, uint64_t n, int32_t plot_height);

/* True where a bar of n pixels is higher than the plot. */
static inline bool ih_chart_axis_cuts(const struct ih_chart_axis *axis, uint64_t n)
{
    return (double)n > axis->limit;
}

/* Planes that are drawn: the colour channels, and luma where it is not the same as the only one. */
static inline bool ih_chart_draws_plane(const struct ih_histogram *h, unsigned plane)
{
    unsigned n_colours = ih_colour_channels(h->n_channels);
    return plane < n_colours || (plane == IH_LUMA && n_colours > 1);
}

#endif
