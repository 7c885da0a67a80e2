/*
 * The summary for people, in two views.
 *
 * --text=full shows one image: title, histogram and a table of statistics.
 *
 *     samples/scene.png  480 x 320 png, 8 bits, red green blue
 *
 *       ▂▅▇█▆▄▃▂▁▁
 *       0               64              128             192          255
 *
 *              mean  stddev  min  p05  median  p95  max  entropy  low %  high %
 *       red  101.52   58.34    0   14     101  208  255     7.61   0.40    1.25
 *
 *       blown: any channel 1.25 %, all 0.80 %; crushed: any 0.40 %, all 0.10 %
 *       mean luminance 0.2134
 *
 * With colour the histogram shows red, green and blue on top of each other, else luma.
 *
 * --text=lines shows one image per line:
 *
 *      pixels  luma              mean  low %  high %  name
 *     480x320  ▃▅▇█▆▄▃▂▁▁▁▁▁▁▁▁  101.5   0.40    1.25  samples/scene.png
 *
 * A wide terminal gets more columns. The percentages are of pixels with any clipped colour channel.
 */
#include "output/output.h"

#include "base/text.h"
#include "output/text_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 80, /* without a terminal to ask */
    INDENT = 2
};

struct text {
    FILE *stream; /* borrowed */
    struct ih_output_options options;
    unsigned columns; /* width of the layout */
    void (*show)(struct text *s, const struct ih_result *result);
    bool has_records;
};

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* Returns an ANSI sequence if colour is on, else "". */
static const char *style(const struct text *s, const char *ansi)
{
    return s->options.colour ? ansi : "";
}

/* ---- full view: the title ---- */

enum { FACTS_MAX = 160, MEGAPIXEL = 1000000 };

static void describe(char facts[FACTS_MAX], const struct ih_result *r)
{
    const struct ih_image_info *info = &r->info;
    int n = snprintf(facts, FACTS_MAX, "%" PRIu64 " x %" PRIu64 " %s, %u bit%s,", info->width,
                     info->height, info->format, info->source_depth,
                     info->source_depth == 1 ? "" : "s");
    for (unsigned p = 0; p < info->n_channels && n > 0 && n < FACTS_MAX; p++)
        n +=
            snprintf(facts + n, (size_t)(FACTS_MAX - n), " %s", ih_plane_name(info->n_channels, p));
}

static void describe_total(char facts[FACTS_MAX], const struct ih_result *r)
{
    int n = snprintf(facts, FACTS_MAX, "%" PRIu64 " image%s, %.1f megapixels", r->n_images,
                     r->n_images == 1 ? "" : "s", (double)r->histogram.n_pixels / MEGAPIXEL);
    if (r->n_failed > 0 && n > 0 && n < FACTS_MAX)
        snprintf(facts + n, (size_t)(FACTS_MAX - n), ", %" PRIu64 " failed", r->n_failed);
}

/* Writes the title on one line if it fits, else on two. The name is never shortened. */
static void put_title(const struct text *s, const struct ih_result *r)
{
    char name[IH_ESCAPED_MAX], facts[FACTS_MAX] = "";
    ih_escape(name, sizeof name, r->path);
    if (r->is_total)
        describe_total(facts, r);
    else
        describe(facts, r);
    bool fits = ih_text_width(name) + INDENT + strlen(facts) <= s->columns;
    fprintf(s->stream, "%s%s%s%s%*s%s\n\n", style(s, BOLD), name, style(s, PLAIN), fits ? "" : "\n",
            INDENT, "", facts);
}

/* ---- full view: the histogram ---- */

enum {
    PLOT_ROWS = 6,
    PLOT_COLUMNS_LEAST = 32,
    PLOT_LABEL = 6 /* "  luma" after the axis */
};

static unsigned plot_columns(const struct text *s)
{
    unsigned n = PLOT_COLUMNS_LEAST;
    while (n < IH_PLOT_COLUMNS && INDENT + 2 * n + PLOT_LABEL <= s->columns)
        n *= 2;
    return n;
}

static void put_axis(const struct text *s, unsigned n_columns, const char *label)
{
    const int quarter = (int)n_columns / 4;
    fprintf(s->stream, "%*s%-*d%-*d%-*d%-*d255%s%s\n\n", INDENT, "", quarter, 0, quarter, 64,
            quarter, 128, quarter - 3, 192, *label ? "  " : "", label);
}

static void put_plot(const struct text *s, const struct ih_histogram *h)
{
    static const unsigned rgb[] = {0, 1, 2}, luma[] = {IH_LUMA};
    const bool is_gray = ih_colour_channels(h->n_channels) == 1;
    const bool is_mixed = s->options.colour && !is_gray;
    struct ih_plot plot = {
        .n_columns = plot_columns(s), .n_rows = PLOT_ROWS, .n_curves = is_mixed ? 3 : 1};
    ih_plot_fill(&plot, h, is_mixed ? rgb : luma);
    for (unsigned row = PLOT_ROWS; row-- > 0;) {
        fprintf(s->stream, "%*s", INDENT, "");
        ih_plot_put_row(s->stream, &plot, row, s->options.unicode);
        putc('\n', s->stream);
    }
    put_axis(s, plot.n_columns, is_mixed ? "" : is_gray ? "gray" : "luma");
}

/* ---- full view: the table ---- */

enum { ALL_PERCENTILES = 98 /* columns of the table with all percentiles */ };

static const char *plane_style(const struct text *s, const char *plane)
{
    static const struct {
        const char *plane, *ansi;
    } styles[] = {{"red", "\033[31m"}, {"green", "\033[32m"}, {"blue", "\033[34m"}, {"luma", BOLD}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp(styles[i].plane, plane) == 0)
            return style(s, styles[i].ansi);
    return "";
}

/* A narrow table shows three of the percentiles 1 5 25 50 75 95 99. */
static bool shows_percentile(const struct text *s, unsigned i)
{
    return s->columns >= ALL_PERCENTILES || i == 1 || i == 3 || i == 5;
}

static void put_table_heading(const struct text *s)
{
    fprintf(s->stream, "%*s         mean  stddev  min", INDENT, "");
    for (unsigned i = 0; i < IH_PERCENTILES; i++) {
        if (shows_percentile(s, i) && ih_percentile_percents[i] == 50)
            fputs("  median", s->stream);
        else if (shows_percentile(s, i))
            fprintf(s->stream, "  p%02u", ih_percentile_percents[i]);
    }
    fputs("  max  entropy  low %  high %\n", s->stream);
}

static void put_table_row(const struct text *s, const char *name, const struct ih_stats *t)
{
    char low[IH_PERCENT_MAX], high[IH_PERCENT_MAX];
    fprintf(s->stream, "%*s%s%-5s%s  %6.2f  %6.2f  %3u", INDENT, "", plane_style(s, name), name,
            style(s, PLAIN), t->mean, t->stddev, t->min);
    for (unsigned i = 0; i < IH_PERCENTILES; i++)
        if (shows_percentile(s, i))
            fprintf(s->stream, "  %*u", ih_percentile_percents[i] == 50 ? 6 : 3, t->percentile[i]);
    fprintf(s->stream, "  %3u  %7.2f  %5s  %6s\n", t->max, t->entropy,
            ih_text_percent(low, t->clip_low, t->count),
            ih_text_percent(high, t->clip_high, t->count));
}

static void put_table(const struct text *s, const struct ih_result *r)
{
    put_table_heading(s);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *name = ih_plane_name(r->histogram.n_channels, p);
        if (!name || (p == IH_LUMA && ih_colour_channels(r->histogram.n_channels) == 1))
            continue; /* luma equals gray */
        struct ih_stats t;
        ih_stats_compute(&r->histogram, p, &r->spec, &t);
        if (t.count > 0)
            put_table_row(s, name, &t);
    }
}

/* ---- full view: the last lines ---- */

static void put_clipping(const struct text *s, const struct ih_histogram *h)
{
    char any_high[IH_PERCENT_MAX], all_high[IH_PERCENT_MAX];
    char any_low[IH_PERCENT_MAX], all_low[IH_PERCENT_MAX];
    ih_text_percent(any_high, h->any_high, h->n_pixels);
    ih_text_percent(all_high, h->all_high, h->n_pixels);
    ih_text_percent(any_low, h->any_low, h->n_pixels);
    ih_text_percent(all_low, h->all_low, h->n_pixels);
    if (ih_colour_channels(h->n_channels) == 3)
        fprintf(s->stream,
                "\n%*sblown: any channel %s %%, all %s %%; crushed: any %s %%, all %s %%\n", INDENT,
                "", any_high, all_high, any_low, all_low);
    else
        fprintf(s->stream, "\n%*sblown: %s %%; crushed: %s %%\n", INDENT, "", all_high, all_low);
}

static void put_versions(const struct text *s, const struct ih_result *r)
{
    if (s->options.verbose && r->decoder_version && r->counted_by && r->kernel)
        fprintf(s->stream, "%*sdecoded by %s\n%*scounted by %s, kernel %s\n", INDENT, "",
                r->decoder_version, INDENT, "", r->counted_by, r->kernel);
}

static void show_full(struct text *s, const struct ih_result *r)
{
    if (s->has_records)
        putc('\n', s->stream);
    put_title(s, r);
    if (r->histogram.n_pixels == 0) {
        fprintf(s->stream, "%*sno pixels\n", INDENT, "");
        return;
    }
    put_plot(s, &r->histogram);
    put_table(s, r);
    put_clipping(s, &r->histogram);
    fprintf(s->stream, "%*smean luminance %.4f\n", INDENT, "", ih_mean_luminance(&r->histogram));
    put_versions(s, r);
}

/* ---- lines view ---- */

/* Terminal widths from which a line has more. At least 28 columns are left for the name. */
enum { HAS_SPREAD = 100, HAS_WIDE_CURVE = 120, HAS_ENTROPY = 132 };

enum { NAME_LEAST = 16, CURVE = 16, WIDE_CURVE = 32, SIZE_TEXT_MAX = 48 };

static unsigned curve_columns(const struct text *s)
{
    return s->columns >= HAS_WIDE_CURVE ? WIDE_CURVE : CURVE;
}

/* Returns the columns before the name. */
static unsigned columns_taken(const struct text *s)
{
    return 38 + curve_columns(s) + (s->columns >= HAS_SPREAD ? 16 : 0) +
           (s->columns >= HAS_ENTROPY ? 9 : 0);
}

static void put_line_heading(const struct text *s)
{
    fprintf(s->stream, "%s%11s  %-*s   mean", style(s, BOLD), "pixels", (int)curve_columns(s),
            "luma");
    if (s->columns >= HAS_SPREAD)
        fputs("  stddev  median", s->stream);
    if (s->columns >= HAS_ENTROPY)
        fputs("  entropy", s->stream);
    fprintf(s->stream, "  low %%  high %%  name%s\n", style(s, PLAIN));
}

static void put_size(const struct text *s, const struct ih_result *r)
{
    char size[SIZE_TEXT_MAX];
    if (r->is_total)
        snprintf(size, sizeof size, "%" PRIu64 " image%s", r->n_images,
                 r->n_images == 1 ? "" : "s");
    else
        snprintf(size, sizeof size, "%" PRIu64 "x%" PRIu64, r->info.width, r->info.height);
    fprintf(s->stream, "%11s  ", size);
}

static void put_numbers(const struct text *s, const struct ih_result *r)
{
    const struct ih_histogram *h = &r->histogram;
    struct ih_stats t;
    char low[IH_PERCENT_MAX], high[IH_PERCENT_MAX];
    ih_stats_compute(h, IH_LUMA, &r->spec, &t);
    fprintf(s->stream, "  %5.1f", t.mean);
    if (s->columns >= HAS_SPREAD)
        fprintf(s->stream, "  %6.1f  %6u", t.stddev, t.percentile[3]);
    if (s->columns >= HAS_ENTROPY)
        fprintf(s->stream, "  %7.2f", t.entropy);
    fprintf(s->stream, "  %5s  %6s  ", ih_text_percent(low, h->any_low, h->n_pixels),
            ih_text_percent(high, h->any_high, h->n_pixels));
}

static void put_name(const struct text *s, const struct ih_result *r)
{
    char name[IH_ESCAPED_MAX];
    unsigned taken = columns_taken(s);
    unsigned left = s->columns > taken + NAME_LEAST ? s->columns - taken : NAME_LEAST;
    ih_escape(name, sizeof name, r->path);
    ih_text_put_short(s->stream, name, s->options.columns ? left : 0, s->options.unicode);
    putc('\n', s->stream);
}

static void show_line(struct text *s, const struct ih_result *r)
{
    if (!s->has_records)
        put_line_heading(s);
    fputs(r->is_total ? style(s, BOLD) : "", s->stream);
    put_size(s, r);
    if (r->histogram.n_pixels > 0) {
        ih_plot_put_line(s->stream, &r->histogram, IH_LUMA, curve_columns(s), s->options.unicode);
        put_numbers(s, r);
    } else {
        fprintf(s->stream, "%-*s", (int)(columns_taken(s) - 13), "no pixels");
    }
    put_name(s, r);
    fputs(r->is_total ? style(s, PLAIN) : "", s->stream);
}

/* ---- the output ---- */

static enum ih_status begin(FILE *stream, const struct ih_output_options *options, void **state,
                            struct ih_error *err)
{
    const bool is_lines = options->layout && strcmp(options->layout, "lines") == 0;
    struct text *s = malloc(sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    *s = (struct text){.stream = stream,
                       .options = *options,
                       .columns = options->columns ? options->columns : COLUMNS,
                       .show = is_lines ? show_line : show_full};
    *state = s;
    return IH_OK;
}

static void record(void *state, const struct ih_result *result)
{
    struct text *s = state;
    if (result->status != IH_OK)
        return; /* standard error has the message */
    s->show(s, result);
    s->has_records = true;
}

static void end(void *state)
{
    (void)state;
}

static void close_text(void *state)
{
    free(state);
}

const struct ih_output ih_output_text = {
    .name = "text",
    .title = "a summary for people (the default); views full, lines",
    .begin = begin,
    .record = record,
    .end = end,
    .close = close_text,
};
