/*
 * The whole view of an image: what it is, its histogram, and a table of statistics.
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
 * In colour the histogram is that of red, green and blue over each other; without, that of luma.
 */
#include "output/text_name.h"
#include "output/text_parts.h"
#include "output/text_plot.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum {
    INDENT = 2,
    PLOT_ROWS = 6,
    PLOT_COLUMNS_LEAST = 32,
    PLOT_LABEL = 6,       /* "  luma" behind the axis */
    ALL_PERCENTILES = 98, /* columns that the table with all of them takes */
    FACTS_MAX = 160,
    MEGAPIXEL = 1000000
};

static const char *style_of(const struct ih_text *s, const char *plane)
{
    static const struct {
        const char *plane, *ansi;
    } styles[] = {
        {"red", "\033[31m"}, {"green", "\033[32m"}, {"blue", "\033[34m"}, {"luma", IH_ANSI_BOLD}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp(styles[i].plane, plane) == 0)
            return ih_text_style(s, styles[i].ansi);
    return "";
}

/* ---- the title ---- */

static void describe_total(char facts[FACTS_MAX], const struct ih_result *r)
{
    int n = snprintf(facts, FACTS_MAX, "%" PRIu64 " image%s, %.1f megapixels", r->n_images,
                     r->n_images == 1 ? "" : "s", (double)r->histogram.n_pixels / MEGAPIXEL);
    if (r->n_failed > 0 && n > 0 && n < FACTS_MAX)
        snprintf(facts + n, (size_t)(FACTS_MAX - n), ", %" PRIu64 " failed", r->n_failed);
}

static void describe(char facts[FACTS_MAX], const struct ih_result *r)
{
    int n = snprintf(facts, FACTS_MAX, "%" PRIu64 " x %" PRIu64 " %s, %u bit%s,", r->info.width,
                     r->info.height, r->info.format, r->info.source_depth,
                     r->info.source_depth == 1 ? "" : "s");
    for (unsigned p = 0; p < r->info.n_channels && n > 0 && n < FACTS_MAX; p++)
        n += snprintf(facts + n, (size_t)(FACTS_MAX - n), " %s",
                      ih_plane_name(r->info.n_channels, p));
}

/* On one line where it fits, else on two; a name is never shortened here. */
static void put_title(const struct ih_text *s, const struct ih_result *r)
{
    char name[IH_ESCAPED_MAX], facts[FACTS_MAX] = "";
    ih_escape(name, sizeof name, r->path);
    if (r->is_total)
        describe_total(facts, r);
    else
        describe(facts, r);
    bool fits = ih_text_width(name) + INDENT + strlen(facts) <= s->columns;
    fprintf(s->stream, "%s%s%s%s%*s%s\n\n", ih_text_style(s, IH_ANSI_BOLD), name,
            ih_text_style(s, IH_ANSI_PLAIN), fits ? "" : "\n", INDENT, "", facts);
}

/* ---- the histogram ---- */

static unsigned plot_columns(const struct ih_text *s)
{
    unsigned n = PLOT_COLUMNS_LEAST;
    while (n < IH_PLOT_COLUMNS && INDENT + 2 * n + PLOT_LABEL <= s->columns)
        n *= 2;
    return n;
}

static void put_axis(const struct ih_text *s, unsigned n_columns, const char *label)
{
    const int quarter = (int)n_columns / 4;
    fprintf(s->stream, "%*s%-*d%-*d%-*d%-*d255%s%s\n\n", INDENT, "", quarter, 0, quarter, 64,
            quarter, 128, quarter - 3, 192, *label ? "  " : "", label);
}

static void put_plot(const struct ih_text *s, const struct ih_histogram *h)
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

/* ---- the table ---- */

/* Which of the percentiles 1 5 25 50 75 95 99 a narrow table has. */
static bool shows_percentile(const struct ih_text *s, unsigned i)
{
    return s->columns >= ALL_PERCENTILES || i == 1 || i == 3 || i == 5;
}

static void put_heading(const struct ih_text *s)
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

static void put_row(const struct ih_text *s, const char *name, const struct ih_stats *t)
{
    char low[IH_PERCENT_MAX], high[IH_PERCENT_MAX];
    fprintf(s->stream, "%*s%s%-5s%s  %6.2f  %6.2f  %3u", INDENT, "", style_of(s, name), name,
            ih_text_style(s, IH_ANSI_PLAIN), t->mean, t->stddev, t->min);
    for (unsigned i = 0; i < IH_PERCENTILES; i++)
        if (shows_percentile(s, i))
            fprintf(s->stream, "  %*u", ih_percentile_percents[i] == 50 ? 6 : 3, t->percentile[i]);
    fprintf(s->stream, "  %3u  %7.2f  %5s  %6s\n", t->max, t->entropy,
            ih_text_percent(low, t->clip_low, t->count),
            ih_text_percent(high, t->clip_high, t->count));
}

static void put_table(const struct ih_text *s, const struct ih_result *r)
{
    put_heading(s);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *name = ih_plane_name(r->histogram.n_channels, p);
        if (!name || (p == IH_LUMA && ih_colour_channels(r->histogram.n_channels) == 1))
            continue; /* a gray image's luma is its gray */
        struct ih_stats t;
        ih_stats_compute(&r->histogram, p, &r->spec, &t);
        if (t.count > 0)
            put_row(s, name, &t);
    }
}

/* ---- the rest ---- */

static void put_clipping(const struct ih_text *s, const struct ih_histogram *h)
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

static void put_who(const struct ih_text *s, const struct ih_result *r)
{
    if (s->options.verbose && r->decoder_version && r->counted_by && r->kernel)
        fprintf(s->stream, "%*sdecoded by %s\n%*scounted by %s, kernel %s\n", INDENT, "",
                r->decoder_version, INDENT, "", r->counted_by, r->kernel);
}

void ih_text_full(struct ih_text *s, const struct ih_result *r)
{
    put_title(s, r);
    if (r->histogram.n_pixels == 0) {
        fprintf(s->stream, "%*sno pixels\n", INDENT, "");
        return;
    }
    put_plot(s, &r->histogram);
    put_table(s, r);
    put_clipping(s, &r->histogram);
    fprintf(s->stream, "%*smean luminance %.4f\n", INDENT, "", ih_mean_luminance(&r->histogram));
    put_who(s, r);
}
