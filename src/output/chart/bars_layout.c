/*
 * Where things are in a chart of bars.
 *
 * Groups stay whole and in order; they are shared out to columns so that the highest column is as
 * low as it can be, and columns are added while the rows are too low to be read. Sizes of type are
 * those of the histogram's chart.
 */
#include "output/chart/bars_parts.h"
#include "output/chart/sizes.h"

#include <math.h>
#include <string.h>

/* Parts of the em, in hundredths. */
enum {
    TITLE_TO_FACTS = 175,
    HEADER_TO_COLUMNS = 110,
    COLUMNS_TO_TICKS = 130,
    TICKS_TO_LEGEND = 220,
    COLUMN_GAP = 260,
    COLUMN_LEAST = 1750, /* narrower columns show nothing */
    WORD_GAP = 70,
    PLOT_LEAST = 550,
    ROW_GOOD = 135, /* rows as high as this need no more columns */
    ROW_USUAL = 150,
    ROW_READABLE = 98,
    ROW_MOST = 220,
};

static int32_t ems(const struct ih_bars_layout *l, int32_t hundredths)
{
    return ih_ems(l->em, hundredths);
}

/* ---- figures ---- */

void ih_bars_value(char label[IH_LABEL_MAX], double value)
{
    label[0] = '\0';
    if (ih_bars_shows(value))
        ih_label_real(label, value, value < 0.995 ? 2 : value < 99.95 ? 1 : 0);
}

/* As many digits as the ladder's steps need: 97 %, 6.5 %, 0.2 %. */
void ih_bars_share(char label[IH_LABEL_MAX], const struct ih_bar *bar)
{
    label[0] = '\0';
    if (!ih_bars_shows(bar->value) || !ih_bars_shows(bar->limit))
        return;
    const double percent = 100 * bar->value / bar->limit;
    if (percent < 0.05) {
        memcpy(label, "<0.1\xe2\x80\xaf%", sizeof "<0.1\xe2\x80\xaf%");
        return;
    }
    ih_label_real(label, percent, percent < 9.95 ? 1 : 0);
    memcpy(label + strlen(label), "\xe2\x80\xaf%", sizeof "\xe2\x80\xaf%");
}

/* ---- the axis ---- */

/* The largest of 1, 2, 5 times a power of ten that is less than v. */
static double step_below(double v)
{
    double power = pow(10, floor(log10(v)));
    while (power >= v)
        power /= 10;
    return 5 * power < v ? 5 * power : 2 * power < v ? 2 * power : power;
}

static void span_axis(struct ih_bars *b)
{
    double low = INFINITY, high = 0;
    for (size_t g = 0; g < b->chart->n_groups; g++)
        for (size_t i = 0; i < b->chart->groups[g].n_bars; i++) {
            const struct ih_bar *bar = &b->chart->groups[g].bars[i];
            const double values[] = {bar->value, bar->least, bar->limit};
            for (int k = 0; k < 3; k++)
                if (ih_bars_shows(bar->value) && ih_bars_shows(values[k])) {
                    low = fmin(low, values[k]);
                    high = fmax(high, values[k]);
                }
        }
    if (high == 0)
        low = high = 1;
    b->axis_low = step_below(low);
    b->axis_high = high * 1.12; /* the limit's line stands free of the plot's end */
    if (b->axis_high < 10 * b->axis_low)
        b->axis_high = 10 * b->axis_low;
}

int32_t ih_bars_reach(const struct ih_bars *b, double value)
{
    const int32_t width = (b->layout.plot_right - b->layout.plot_left) * IH_SUBPIXELS;
    const double share = log(value / b->axis_low) / log(b->axis_high / b->axis_low);
    return (int32_t)floor(fmin(fmax(share, 0), 1) * width + 0.5);
}

/* ---- columns ---- */

static int64_t tenths_of(const struct ih_bar_group *group)
{
    return IH_BARS_TITLE + IH_BARS_ROW * (int64_t)group->n_bars;
}

/* Fills columns up to a height; returns how many that takes, or one too many. */
static unsigned fill_columns(const struct ih_bar_chart *chart, int64_t height, unsigned n_max,
                             size_t first[IH_BARS_COLUMNS + 1])
{
    unsigned n = 0;
    int64_t used = 0;
    first[0] = 0;
    for (size_t g = 0; g < chart->n_groups; g++) {
        const int64_t tenths = tenths_of(&chart->groups[g]);
        if (used > 0 && used + IH_BARS_GAP + tenths > height) {
            if (n + 1 == n_max)
                return n_max + 1;
            first[++n] = g;
            used = 0;
        }
        used += tenths + (used > 0 ? IH_BARS_GAP : 0);
        if (tenths > height)
            return n_max + 1;
    }
    for (unsigned i = n + 1; i <= IH_BARS_COLUMNS; i++)
        first[i] = chart->n_groups;
    return n + 1;
}

/* The height, in tenths of a row, of at most n columns that are as even as they can be. */
static int64_t split(struct ih_bars *b, unsigned n)
{
    struct ih_bars_layout *l = &b->layout;
    int64_t low = 0, high = IH_BARS_TITLE; /* too low, high enough */
    for (size_t g = 0; g < b->chart->n_groups; g++)
        high += tenths_of(&b->chart->groups[g]) + IH_BARS_GAP;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (fill_columns(b->chart, middle, n, l->first) <= n)
            high = middle;
        else
            low = middle;
    }
    l->n_columns = fill_columns(b->chart, high, n, l->first);
    l->column_width = (l->width - 2 * l->margin - (int32_t)(l->n_columns - 1) * l->column_gap) /
                      (int32_t)l->n_columns;
    return high;
}

static int64_t tenth_for(const struct ih_bars_layout *l, int64_t tenths)
{
    return (int64_t)ih_larger(1, l->bottom - l->top) * 65536 / tenths;
}

static int64_t row_height(const struct ih_bars_layout *l, int32_t hundredths)
{
    return (int64_t)l->em * hundredths * 65536 / 100 / IH_BARS_ROW;
}

static void choose_columns(struct ih_bars *b)
{
    struct ih_bars_layout *l = &b->layout;
    unsigned best = 1;
    int64_t best_tenth = 0;
    for (unsigned n = 1; n <= IH_BARS_COLUMNS && best_tenth < row_height(l, ROW_GOOD); n++) {
        const int64_t tenth = tenth_for(l, split(b, n));
        if ((n > 1 && l->column_width < ems(l, COLUMN_LEAST)) || tenth <= best_tenth)
            continue;
        best = n;
        best_tenth = tenth;
    }
    const int64_t tenths = split(b, best);
    l->tenth = tenth_for(l, tenths);
    if (l->tenth > row_height(l, ROW_MOST))
        l->tenth = row_height(l, ROW_MOST);
    l->bottom = l->top + (int32_t)((tenths * l->tenth + 65535) / 65536);
    l->has_labels = l->tenth >= row_height(l, ROW_READABLE);
    l->has_titles = l->tenth * IH_BARS_TITLE >= row_height(l, ROW_READABLE) * IH_BARS_ROW;
}

/* ---- in a column ---- */

static int32_t whole_pixels(int32_t subpixels)
{
    return (subpixels + IH_SUBPIXELS - 1) / IH_SUBPIXELS;
}

static void share_width(struct ih_bars *b)
{
    struct ih_bars_layout *l = &b->layout;
    int32_t labels = 0, values = 0, shares = 0;
    for (size_t g = 0; g < b->chart->n_groups && l->has_labels; g++)
        for (size_t i = 0; i < b->chart->groups[g].n_bars; i++) {
            const struct ih_bar *bar = &b->chart->groups[g].bars[i];
            char text[IH_LABEL_MAX];
            labels = ih_larger(labels, whole_pixels(ih_bars_width(b, bar->label)));
            ih_bars_value(text, bar->value);
            values = ih_larger(values, whole_pixels(ih_bars_width(b, text)));
            ih_bars_share(text, bar);
            shares = ih_larger(shares, whole_pixels(ih_bars_width(b, text)));
        }
    const int32_t gap = ems(l, WORD_GAP), least = ems(l, PLOT_LEAST);
    labels = ih_smaller(labels, l->column_width * 2 / 5);
    l->plot_left = labels > 0 ? labels + gap : 0;
    l->plot_right = l->column_width;
    l->values_right = l->shares_right = 0;
    int32_t left = l->column_width - l->plot_left - least;
    if (values > 0 && left >= values + gap) {
        left -= values + gap;
        l->plot_right -= values + gap;
        l->values_right = l->column_width;
        if (shares > 0 && left >= shares + gap) {
            l->plot_right -= shares + gap;
            l->values_right -= shares + gap;
            l->shares_right = l->column_width;
        }
    }
}

/* ---- all ---- */

static void place_rows(struct ih_bars_layout *l, bool has_axis)
{
    l->title_y = l->margin + ems(l, IH_TITLE_SIZE * IH_CAPITALS / 100);
    l->facts_y = has_axis ? l->title_y + ems(l, TITLE_TO_FACTS) : 0;
    l->top = (has_axis ? l->facts_y : l->title_y) + ems(l, HEADER_TO_COLUMNS);
    l->legend_y = has_axis ? l->height - l->margin : 0;
    l->ticks_dy = has_axis ? ems(l, COLUMNS_TO_TICKS) : 0;
    l->bottom = l->height - l->margin - (has_axis ? ems(l, TICKS_TO_LEGEND) + l->ticks_dy : 0);
}

/* The usual height, or what two columns need. */
static int32_t usual_height(struct ih_bars *b)
{
    struct ih_bars_layout *l = &b->layout;
    place_rows(l, true);
    const int64_t rows = split(b, 2) * row_height(l, ROW_USUAL) / 65536;
    const int64_t height = rows + IH_CHART_HEIGHT - (l->bottom - l->top);
    return height < IH_CHART_HEIGHT ? IH_CHART_HEIGHT
           : height > IH_CHART_MAX  ? IH_CHART_MAX
                                    : (int32_t)height;
}

void ih_bars_lay_out(struct ih_bars *b, unsigned width, unsigned height)
{
    struct ih_bars_layout *l = &b->layout;
    const bool is_usual = width == 0;
    l->width = is_usual ? IH_CHART_WIDTH : (int32_t)width;
    l->height = is_usual ? IH_CHART_HEIGHT : (int32_t)height;
    l->em = ih_em_of(l->width, l->height);
    l->title_em = ems(l, IH_TITLE_SIZE);
    l->margin = ih_margin_of(l->width, l->height, l->em);
    l->hair = ih_hair_of(l->em);
    l->column_gap = ems(l, COLUMN_GAP);
    if (is_usual)
        l->height = usual_height(b);
    place_rows(l, true);
    choose_columns(b);
    if (!l->has_titles) { /* the bars alone are worth more than what explains them */
        place_rows(l, false);
        choose_columns(b);
    }
    span_axis(b);
    share_width(b);
}
