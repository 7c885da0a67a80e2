/*
 * The vertical axis.
 *
 * The body of the histogram sets the scale, so that a spike, a bright sky or a black frame does not
 * flatten the shape that a chart shows. The body is about the 98th percentile of the tallest bars
 * of the occupied bins, without the five bins at each end. Bars up to one and a half times as high
 * are shown whole, which keeps the peaks of smooth histograms. Higher bars are cut; the chart marks
 * them and gives the height of the tallest. On the logarithmic scale nothing is cut.
 *
 * Rejected: a percentile alone (cuts the peak of every smooth histogram); a multiple of the mean
 * (cuts all sparse ones); a broken axis (unreadable with four curves).
 */
#include "chart/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Space above the highest bar: only cut bars touch the top. */
static const double HEADROOM = 1.06;

/* ---- scales ---- */

static double identity(double n)
{
    return n;
}

static double square(double y)
{
    return y * y;
}

const struct ih_chart_scale *ih_chart_scale_find(const char *name)
{
    static const struct ih_chart_scale scales[] = {
        {"linear", "linear", identity, identity, IH_STEPS_EVEN, true},
        {"log", "log(1 + n)", log1p, expm1, IH_STEPS_DECADES, false},
        {"sqrt", "square-root", sqrt, square, IH_STEPS_ONE_TWO_FIVE, true},
    };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strcmp(scales[i].name, name) == 0)
            return &scales[i];
    return NULL;
}

/* ---- the limit ---- */

uint64_t ih_chart_tallest(const struct ih_histogram *h, unsigned v)
{
    uint64_t tallest = 0;
    for (unsigned i = 0; i < h->n_planes; i++) {
        const unsigned plane = ih_nth_plane(h, i);
        if (ih_chart_draws_plane(h, plane) && ih_bins(h, plane)[v] > tallest)
            tallest = ih_bins(h, plane)[v];
    }
    return tallest;
}

/* Collects the tallest drawn bar of each occupied bin, without n_left_out bins at each end. */
static size_t collect_bars(const struct ih_histogram *h, unsigned n_left_out,
                           uint64_t bars[IH_BINS])
{
    size_t n = 0;
    for (unsigned v = n_left_out; v < IH_BINS - n_left_out; v++) {
        bars[n] = ih_chart_tallest(h, v);
        n += bars[n] > 0;
    }
    return n;
}

static int compare_falling(const void *a, const void *b)
{
    uint64_t m = *(const uint64_t *)a, n = *(const uint64_t *)b;
    return (m < n) - (m > n);
}

/* Returns the count that is shown just below the top; 1 if all bars are empty. Where only the bins
 * at the ends are occupied, fewer are left out. */
static double count_to_show(const struct ih_histogram *h, bool may_cut)
{
    enum { ENDS = 5, BODY_SHARE = 50, FEW = 8 };
    uint64_t bars[IH_BINS];
    size_t n = may_cut ? collect_bars(h, ENDS, bars) : 0;
    if (n == 0 && may_cut)
        n = collect_bars(h, 1, bars);
    may_cut = n > 0;
    if (n == 0 && (n = collect_bars(h, 0, bars)) == 0)
        return 1;
    qsort(bars, n, sizeof *bars, compare_falling);
    const uint64_t body = bars[may_cut ? (n + BODY_SHARE - FEW) / BODY_SHARE : 0];
    const uint64_t *bar = bars;
    while (*bar > body + body / 2)
        bar++;
    return (double)*bar;
}

/* ---- ticks ---- */

static double axis_share(const struct ih_chart_axis *axis, double n)
{
    return axis->scale->forward(n) / axis->scale->forward(axis->limit);
}

static void add_tick(struct ih_chart_axis *axis, double n)
{
    if (axis->n_ticks < IH_AXIS_TICKS_MAX && n < 0x1p64)
        axis->ticks[axis->n_ticks++] = n;
}

/* The count of 1, or of 1 %. */
static double unit_of(const struct ih_chart_axis *axis)
{
    return axis->in_percent && axis->n_pixels > 0 ? (double)axis->n_pixels / 100 : 1;
}

enum { MILLIONTHS = 18 }; /* steps below 1: percentages have up to 6 decimals, counts none */

/* The steps of ticks are 1, 2, 5, 10, 20, 50, ... millionths. Returns a step's count. */
static double step_of(const struct ih_chart_axis *axis, int i)
{
    static const double mantissas[] = {1, 2, 5};
    double step = mantissas[i % 3];
    for (int k = 0; k < i / 3; k++)
        step *= 10;
    return step / 1e6 * unit_of(axis);
}

double ih_chart_round_step(double least)
{
    double step = 1;
    while (step > least)
        step /= 10;
    for (unsigned i = 0; step < least; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

/* Adds ticks with equal steps, as small as the gap allows. */
static void add_even_ticks(struct ih_chart_axis *axis, double min_gap)
{
    const double unit = unit_of(axis), least = axis->in_percent ? 1e-6 : 1;
    const double step = unit * ih_chart_round_step(fmax(least, min_gap * axis->limit / unit));
    for (int k = 1; k * step <= axis->limit; k++)
        add_tick(axis, k * step);
}

/* Adds ticks with growing steps, without those that are too close to the tick before. */
static void add_growing_ticks(struct ih_chart_axis *axis, double min_gap)
{
    const int growth = axis->scale->steps == IH_STEPS_DECADES ? 3 : 1;
    double before = 0;
    for (int i = axis->in_percent ? 0 : MILLIONTHS; step_of(axis, i) <= axis->limit; i += growth) {
        const double n = step_of(axis, i);
        if (axis_share(axis, n) - axis_share(axis, before) < min_gap)
            continue;
        add_tick(axis, n);
        before = n;
    }
}

void ih_chart_axis_label(const struct ih_chart_axis *axis, double tick, char label[IH_LABEL_MAX])
{
    if (axis->in_percent)
        ih_label_exact_percent(label, tick / unit_of(axis));
    else
        ih_label_count(label, (uint64_t)tick);
}

/* ---- the axis ---- */

void ih_chart_axis_find_cut(struct ih_chart_axis *axis, const struct ih_histogram *h)
{
    axis->tallest_cut = 0;
    for (unsigned v = 0; v < IH_BINS; v++) {
        const uint64_t n = ih_chart_tallest(h, v);
        if (ih_chart_axis_cuts(axis, n) && n > axis->tallest_cut)
            axis->tallest_cut = n;
    }
}

void ih_chart_axis_init(struct ih_chart_axis *axis, const struct ih_histogram *h, double min_gap)
{
    const struct ih_chart_scale *scale = axis->scale;
    *axis = (struct ih_chart_axis){
        .scale = scale, .in_percent = axis->in_percent, .n_pixels = h->n_pixels};
    double shown = count_to_show(h, scale->may_cut);
    axis->limit = scale->inverse(scale->forward(shown) * HEADROOM);
    ih_chart_axis_find_cut(axis, h);
    add_tick(axis, 0);
    if (scale->steps == IH_STEPS_EVEN)
        add_even_ticks(axis, min_gap);
    else
        add_growing_ticks(axis, min_gap);
}

int32_t ih_chart_axis_height(const struct ih_chart_axis *axis, double n, int32_t plot_height)
{
    double of_plot = axis_share(axis, n);
    return of_plot >= 1 ? plot_height : (int32_t)floor(of_plot * plot_height + 0.5);
}
