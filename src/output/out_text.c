/*
 * The summary that people read: what the image is, its luma histogram in four lines of block
 * elements, and a table of statistics. 80 columns wide or less.
 *
 *     samples/scene.png  480 x 320 png, 8 bits, red green blue
 *
 *       ▂▅▇█▆▄▃▂▁▁
 *       0       64      128     192     255
 *
 *               mean  stddev  min  p05  median  p95  max  entropy   low %  high %
 *       red   101.52   58.34    0   14     101  208  255     7.61    0.40    1.25
 */
#include "output/output.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHART_COLUMNS = 64, /* four values each */
    CHART_ROWS = 4,
    LEVELS = 8 /* of a block element */
};

struct text_state {
    FILE *stream; /* borrowed */
    struct ih_output_options options;
    bool is_first;
};

struct style {
    const char *name; /* of a plane; NULL: the end */
    const char *ansi;
};

static const struct style styles[] = {{"red", "\033[31m"},
                                      {"green", "\033[32m"},
                                      {"blue", "\033[34m"},
                                      {"luma", "\033[1m"},
                                      {NULL, ""}};

static const char *style_of(const struct text_state *s, const char *plane)
{
    const struct style *style = styles;
    while (style->name && strcmp(style->name, plane) != 0)
        style++;
    return s->options.colour ? style->ansi : "";
}

static const char *plain(const struct text_state *s)
{
    return s->options.colour ? "\033[0m" : "";
}

static void put_title(const struct text_state *s, const struct ih_result *r)
{
    char name[IH_ESCAPED_MAX];
    ih_escape(name, sizeof name, r->path);
    fprintf(s->stream, "%s%s%s  %" PRIu64 " x %" PRIu64 " %s, %u bit%s,",
            s->options.colour ? "\033[1m" : "", name, plain(s), r->info.width, r->info.height,
            r->info.format, r->info.source_depth, r->info.source_depth == 1 ? "" : "s");
    for (unsigned p = 0; p < r->info.n_channels; p++)
        fprintf(s->stream, " %s", ih_plane_name(r->info.n_channels, p));
    fputs("\n\n", s->stream);
}

/*
 * Heights of the luma histogram in eighths of a line. The ends, where clipped pixels pile up, do
 * not set the scale unless there is nothing else; what is higher than the scale fills its column.
 */
static void chart_heights(const struct ih_histogram *h, unsigned heights[CHART_COLUMNS])
{
    enum { VALUES = IH_BINS / CHART_COLUMNS, FULL = CHART_ROWS * LEVELS };
    const uint64_t *bins = h->bins[IH_LUMA];
    uint64_t columns[CHART_COLUMNS] = {0}, inner = 0, greatest = 0;
    for (unsigned v = 0; v < IH_BINS; v++)
        columns[v / VALUES] += bins[v];
    for (unsigned c = 0; c < CHART_COLUMNS; c++) {
        greatest = columns[c] > greatest ? columns[c] : greatest;
        uint64_t n =
            columns[c] - (c == 0 ? bins[0] : 0) - (c == CHART_COLUMNS - 1 ? bins[IH_BINS - 1] : 0);
        inner = n > inner ? n : inner;
    }
    double scale = (double)(inner ? inner : greatest);
    for (unsigned c = 0; c < CHART_COLUMNS; c++) {
        double height = scale > 0 ? (double)columns[c] / scale * FULL : 0;
        heights[c] = height > FULL ? FULL : (unsigned)(height + 0.5);
        if (columns[c] && heights[c] == 0)
            heights[c] = 1; /* what is there is seen */
    }
}

static void put_chart(const struct text_state *s, const struct ih_histogram *h)
{
    static const char *const blocks[LEVELS + 1] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                   "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const ascii[LEVELS + 1] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};
    unsigned heights[CHART_COLUMNS];
    chart_heights(h, heights);
    for (unsigned row = CHART_ROWS; row-- > 0;) {
        char line[CHART_COLUMNS * 3 + 1];
        size_t n = 0, n_visible = 0;
        for (unsigned c = 0; c < CHART_COLUMNS; c++) {
            unsigned above = heights[c] > row * LEVELS ? heights[c] - row * LEVELS : 0;
            unsigned level = above > LEVELS ? LEVELS : above;
            const char *block = s->options.unicode ? blocks[level] : ascii[level];
            memcpy(line + n, block, strlen(block));
            n += strlen(block);
            n_visible = level ? n : n_visible;
        }
        fprintf(s->stream, "  %.*s\n", (int)n_visible, line);
    }
    fprintf(s->stream, "  %-16d%-16d%-16d%-13d%d  %s\n\n", 0, 64, 128, 192, 255,
            ih_colour_channels(h->n_channels) == 3 ? "luma" : "gray");
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_table(const struct text_state *s, const struct ih_result *r)
{
    fputs("           mean  stddev  min  p05  median  p95  max  entropy   low %  high %\n",
          s->stream);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *name = ih_plane_name(r->histogram.n_channels, p);
        if (!name || (p == IH_LUMA && ih_colour_channels(r->histogram.n_channels) == 1))
            continue; /* a gray image's luma is its gray */
        struct ih_stats t;
        ih_stats_compute(&r->histogram, p, &r->spec, &t);
        fprintf(s->stream,
                "  %s%-5s%s  %6.2f  %6.2f  %3u  %3u  %6u  %3u  %3u  %7.2f  %6.2f  %6.2f\n",
                style_of(s, name), name, plain(s), t.mean, t.stddev, t.min, t.percentile[1],
                t.percentile[3], t.percentile[5], t.max, t.entropy, percent(t.clip_low, t.count),
                percent(t.clip_high, t.count));
    }
}

static void put_footer(const struct text_state *s, const struct ih_result *r)
{
    const struct ih_histogram *h = &r->histogram;
    fprintf(s->stream, "\n  mean luminance %.4f\n", ih_mean_luminance(h));
    if (ih_colour_channels(h->n_channels) == 3)
        fprintf(s->stream,
                "  clipped in any, in all channels: low %.2f, %.2f %%; high %.2f, %.2f %%\n",
                percent(h->any_low, h->n_pixels), percent(h->all_low, h->n_pixels),
                percent(h->any_high, h->n_pixels), percent(h->all_high, h->n_pixels));
    if (s->options.verbose)
        fprintf(s->stream, "  decoded by %s, counted by %s, kernel %s\n", r->decoder_version,
                r->counted_by, r->kernel);
}

static enum ih_status begin(FILE *stream, const struct ih_output_options *options, void **state,
                            struct ih_error *err)
{
    struct text_state *s = malloc(sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->stream = stream;
    s->options = *options;
    s->is_first = true;
    *state = s;
    return IH_OK;
}

static void record(void *state, const struct ih_result *result)
{
    struct text_state *s = state;
    if (result->status != IH_OK)
        return; /* the message on standard error has said it */
    if (!s->is_first)
        putc('\n', s->stream);
    s->is_first = false;
    put_title(s, result);
    if (result->histogram.n_pixels == 0) {
        fputs("  no pixels\n", s->stream);
        return;
    }
    put_chart(s, &result->histogram);
    put_table(s, result);
    put_footer(s, result);
}

static void end(void *state)
{
    (void)state; /* the last record was the last word */
}

const struct ih_output ih_output_text = {
    .name = "text",
    .title = "a summary for people (the default)",
    .begin = begin,
    .record = record,
    .end = end,
    .close = free,
};
