#include "output/text_parts.h"

#include "base/text.h"

#include <math.h>
#include <string.h>
#include <wchar.h>

/* ---- names ---- */

/* One in HEAD_PART of the columns shows the start of a path: the end says more. */
enum { HEAD_PART = 3 };

/* Returns the bytes of the first character of text, which is not empty, and its columns. */
static size_t next_character(const char *text, unsigned *columns)
{
    unsigned long code_point;
    size_t n = ih_utf8_length(text, &code_point);
    n = n > 0 ? n : 1;
    mbstate_t state;
    wchar_t wide;
    memset(&state, 0, sizeof state);
    int width = mbrtowc(&wide, text, n, &state) == n ? wcwidth(wide) : 1;
    *columns = width < 0 ? 1 : (unsigned)width;
    return n;
}

unsigned ih_text_width(const char *text)
{
    unsigned sum = 0, columns;
    for (; *text; sum += columns)
        text += next_character(text, &columns);
    return sum;
}

/* Returns the bytes of the longest start of text, combining marks included, that fits in `columns`.
 * *used is set to the columns it takes. */
static size_t fitting_start(const char *text, unsigned columns, unsigned *used)
{
    const char *p = text;
    unsigned width = 0;
    *used = 0;
    while (*p) {
        size_t n = next_character(p, &width);
        if (*used + width > columns)
            break;
        *used += width;
        p += n;
    }
    return (size_t)(p - text);
}

/* Returns the longest end of text that fits in `columns` and does not begin with a mark. */
static const char *fitting_end(const char *text, unsigned columns)
{
    unsigned left = ih_text_width(text), width = 0;
    while (*text) {
        size_t n = next_character(text, &width);
        if (left <= columns && width > 0)
            break;
        left -= width;
        text += n;
    }
    return text;
}

void ih_text_put_short(FILE *f, const char *text, unsigned columns, bool unicode)
{
    const char *gap = unicode ? "\u2026" : "...";
    const unsigned gap_columns = unicode ? 1 : 3;
    if (columns == 0 || ih_text_width(text) <= columns) {
        fputs(text, f);
        return;
    }
    unsigned rest = columns > gap_columns ? columns - gap_columns : 0, used;
    size_t n_head = fitting_start(text, rest / HEAD_PART, &used);
    const char *tail = fitting_end(text + n_head, rest - used);
    fprintf(f, "%.*s%s%s", (int)n_head, text, gap, tail);
}

/* ---- percentages ---- */

const char *ih_text_percent(char shown[IH_PERCENT_MAX], uint64_t part, uint64_t total)
{
    double percent = total ? 100.0 * (double)part / (double)total : 0;
    if (part == total && total)
        snprintf(shown, IH_PERCENT_MAX, "100");
    else if (part > 0 && percent < 0.01)
        snprintf(shown, IH_PERCENT_MAX, "<0.01");
    else if (percent >= 99.995)
        snprintf(shown, IH_PERCENT_MAX, ">99.9");
    else
        snprintf(shown, IH_PERCENT_MAX, "%.2f", percent);
    return shown;
}

/* ---- heights of a histogram ---- */

/* Adds up the bins of each column, the smallest and the largest value only if with_ends is set. */
static void sum_columns(uint64_t columns[], unsigned n_columns, const struct ih_histogram *h,
                        unsigned plane, bool with_ends)
{
    const unsigned n_bins = h->n_bins, end = with_ends ? n_bins : n_bins - 1;
    const uint64_t *bins = ih_bins(h, plane);
    memset(columns, 0, n_columns * sizeof *columns);
    if (!ih_is_unsigned(h->type)) { /* of the values that charts show */
        uint64_t bars[IH_BINS];
        ih_histogram_fold_plane(h, ih_histogram_shown(h), plane, bars);
        for (unsigned bar = 0; bar < IH_BINS; bar++)
            columns[bar * n_columns / IH_BINS] += bars[bar];
        return;
    }
    for (unsigned v = with_ends ? 0 : 1; v < end; v++)
        columns[v * n_columns / n_bins] += bins[v];
}

/* Returns the count that reaches the top; 0 if all columns are empty. */
static uint64_t count_at_top(const struct ih_plot *plot, const struct ih_histogram *h,
                             const unsigned planes[], bool with_ends)
{
    uint64_t bars[IH_PLOT_CURVES * IH_PLOT_COLUMNS];
    size_t n = 0;
    for (unsigned i = 0; i < plot->n_curves; i++) {
        uint64_t columns[IH_PLOT_COLUMNS];
        sum_columns(columns, plot->n_columns, h, planes[i], with_ends);
        for (unsigned c = 0; c < plot->n_columns; c++)
            if (columns[c] > 0)
                bars[n++] = columns[c];
    }
    return n > 0 ? ih_highest_bar(bars, n, !with_ends) : 0;
}

void ih_plot_fill(struct ih_plot *plot, const struct ih_histogram *h, const unsigned planes[])
{
    const double full = plot->n_rows * IH_PLOT_LEVELS;
    uint64_t top = count_at_top(plot, h, planes, false);
    if (top == 0)
        top = count_at_top(plot, h, planes, true);
    for (unsigned i = 0; i < plot->n_curves; i++) {
        uint64_t columns[IH_PLOT_COLUMNS];
        sum_columns(columns, plot->n_columns, h, planes[i], true);
        for (unsigned c = 0; c < plot->n_columns; c++) {
            unsigned *height = &plot->heights[i][c];
            plot->is_cut[i][c] = columns[c] > top;
            if (columns[c] == 0)
                *height = 0;
            else if (columns[c] >= top)
                *height = (unsigned)full;
            else
                *height = (unsigned)((double)columns[c] / (double)top * full + 0.5);
            if (columns[c] > 0 && *height == 0)
                *height = 1;
        }
    }
}

/* ---- characters of a histogram ---- */

static const char *const blocks[IH_PLOT_LEVELS + 1] = {
    " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
static const char *const ascii[IH_PLOT_LEVELS + 1] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};

/* One character. The curves that cover its lower part mix to one colour, those above the border to
 * another. A mixture is a bit set, one bit per curve. */
struct cell {
    const char *text;
    unsigned lower, upper;
};

/* Returns the curves that reach above `level` eighths in column c. */
static unsigned curves_above(const struct ih_plot *plot, unsigned c, unsigned level)
{
    unsigned set = 0;
    for (unsigned i = 0; i < plot->n_curves; i++)
        set |= plot->heights[i][c] > level ? 1u << i : 0;
    return set;
}

static struct cell cut_cell(const struct ih_plot *plot, unsigned c, bool unicode)
{
    struct cell cell = {unicode ? "\u25b2" : "^", 0, 0};
    for (unsigned i = 0; i < plot->n_curves; i++)
        cell.lower |= plot->is_cut[i][c] ? 1u << i : 0;
    return cell;
}

/*
 * A character has one border and two colours, but three curves may end in it at three heights. This
 * picks the border that shows the fewest eighths in a wrong colour.
 */
static struct cell cell_at(const struct ih_plot *plot, unsigned c, unsigned row, bool unicode)
{
    struct cell best = cut_cell(plot, c, unicode);
    if (best.lower && row == plot->n_rows - 1)
        return best;
    unsigned sets[IH_PLOT_LEVELS], fewest = IH_PLOT_LEVELS + 1;
    for (unsigned e = 0; e < IH_PLOT_LEVELS; e++)
        sets[e] = curves_above(plot, c, row * IH_PLOT_LEVELS + e);
    for (unsigned border = 0; border <= IH_PLOT_LEVELS; border++) {
        unsigned lower = border ? sets[border / 2] : 0, n_wrong = 0;
        unsigned upper = border < IH_PLOT_LEVELS ? sets[(border + IH_PLOT_LEVELS) / 2] : 0;
        for (unsigned e = 0; e < IH_PLOT_LEVELS; e++)
            n_wrong += sets[e] != (e < border ? lower : upper);
        if (n_wrong < fewest) {
            fewest = n_wrong;
            best = (struct cell){unicode ? blocks[border] : ascii[border], lower, upper};
        }
    }
    if (fewest == 0 && best.lower == 0 && best.upper != 0) { /* full: foreground, not background */
        const char *full = unicode ? blocks[IH_PLOT_LEVELS] : ascii[IH_PLOT_LEVELS];
        best = (struct cell){full, best.upper, 0};
    }
    return best;
}

/* All three curves together use the terminal's text colour: white on dark, black on light. */
static void text_put_colours(FILE *f, unsigned lower, unsigned upper)
{
    /* none, red, green, yellow, blue, magenta, cyan, gray */
    static const unsigned char inks[] = {0, 160, 28, 136, 63, 163, 31, 243};
    fputs("\033[0", f);
    if (lower != 0)
        fprintf(f, ";38;5;%u", inks[lower]);
    if (upper != 0)
        fprintf(f, ";48;5;%u", inks[upper]);
    putc('m', f);
}

void ih_plot_put_row(FILE *f, const struct ih_plot *plot, unsigned row, bool unicode)
{
    unsigned lower = 0, upper = 0;
    unsigned n_blanks = 0;
    for (unsigned c = 0; c < plot->n_columns; c++) {
        struct cell cell = cell_at(plot, c, row, unicode);
        if (cell.lower == 0 && cell.upper == 0) { /* blanks at the end of a line are left out */
            n_blanks++;
            continue;
        }
        if (plot->n_curves > 1 && upper != 0 && n_blanks > 0)
            text_put_colours(f, lower = 0, upper = 0);
        for (; n_blanks > 0; n_blanks--)
            putc(' ', f);
        if (plot->n_curves > 1 && (cell.lower != lower || cell.upper != upper))
            text_put_colours(f, lower = cell.lower, upper = cell.upper);
        fputs(cell.text, f);
    }
    if (lower != 0 || upper != 0)
        fputs("\033[0m", f);
}

void ih_plot_put_line(FILE *f, const struct ih_histogram *h, unsigned plane, unsigned n_columns,
                      bool unicode)
{
    enum { HIGHEST = IH_PLOT_LEVELS - 1 };
    struct ih_plot plot = {.n_columns = n_columns, .n_rows = 1, .n_curves = 1};
    ih_plot_fill(&plot, h, &plane);
    for (unsigned c = 0; c < n_columns; c++) {
        unsigned level = (plot.heights[0][c] * HIGHEST + HIGHEST) / IH_PLOT_LEVELS;
        fputs(unicode ? blocks[level] : ascii[level], f);
    }
}
