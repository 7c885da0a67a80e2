/*
 * A chart of horizontal bars: groups of rows with a label, a value, and a limit that the
 * value is measured against.
 *
 * The axis is logarithmic and the same for all groups, since values that differ a thousandfold are
 * what it is for; the share of the limit is written beside each bar, because on such an axis it
 * cannot be seen. Rows of one limit that follow each other have one line through them. Groups are
 * set in as many columns as keep the rows high enough to be read. Where there is no room text goes
 * first and bars last: shares, then values, the rows' labels, the groups' titles.
 *
 * The same chart gives the same picture, as in output/chart/chart.h.
 */
#ifndef IH_OUTPUT_CHART_BARS_H
#define IH_OUTPUT_CHART_BARS_H

#include "output/chart/chart.h"

#include <stdbool.h>
#include <stddef.h>

/* A value outside of this, and NAN, is none. */
#define IH_BARS_LEAST 1e-6
#define IH_BARS_MOST 1e15

enum { IH_BARS_SERIES = 2 };

/* One row. Strings, here and below, are borrowed and valid UTF-8. */
struct ih_bar {
    const char *label;
    const char *note; /* "" or, where there is no value, why */
    double value;
    double least;    /* a thin mark in the bar; NAN: none */
    double limit;    /* NAN: none */
    unsigned series; /* below IH_BARS_SERIES */
    bool is_limit;   /* the limit's own row, which is drawn faintly and heads those that follow */
    bool is_alarm;   /* the note is bad news */
};

struct ih_bar_group {
    const char *title;
    const char *detail; /* beside it, where there is room */
    const struct ih_bar *bars;
    size_t n_bars;
};

struct ih_bar_chart {
    const char *title;
    const char *const *facts; /* under the title, the more important first */
    size_t n_facts;
    const char *unit;                   /* of the values */
    const char *series[IH_BARS_SERIES]; /* for the legend; NULL: none of it is drawn */
    const char *limit_name;             /* written at the limit's line */
    const char *limit_meaning;          /* for the legend, as */
    const char *least_meaning;
    const struct ih_bar_group *groups;
    size_t n_groups;
};

/*
 * Draws the chart and makes a file of it.
 *
 * options   width 0: the usual size, higher where the rows need it; the scale is not looked at
 * *file     owned by the caller, free() it; NULL on failure
 *
 * Returns as ih_chart_draw.
 * Threads: any.
 */
enum ih_status ih_bars_draw(const struct ih_bar_chart *chart,
                            const struct ih_chart_options *options, unsigned char **file,
                            size_t *size_bytes, struct ih_error *err);

#endif
