/*
 * Two results in one chart: the colour channels of the first as areas, those of the second as
 * lines.
 *
 * The bins of both are scaled to the number of pixels of the larger side, since their shares are
 * compared. Luma is not drawn, as six curves are enough; the footer has its distance. The marks of
 * clipping are left out: they would be those of one side. The footer has the shares of both.
 */
#include "chart/drawing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEAN_DECIMALS = 1, KS_DECIMALS = 3, EMD_DECIMALS = 2 };

/* What a chart of a comparison shows. Its histograms are its own. */
struct pair {
    struct ih_result area; /* the first side, scaled */
    struct ih_histogram line, heights;
};

/* Without the marks of clipping. */
static void compare_scale(struct ih_histogram *h, uint64_t n_pixels)
{
    ih_chart_scale_counts(h, n_pixels);
    h->any_low = h->any_high = h->all_low = h->all_high = 0;
}

static void reset_pair(struct pair *pair)
{
    ih_histogram_reset(&pair->area.histogram);
    ih_histogram_reset(&pair->line);
    ih_histogram_reset(&pair->heights);
}

static struct ih_shown shown_of(const struct ih_comparison *c)
{
    return ih_shown_join(ih_histogram_shown(&c->sides[0].histogram),
                         ih_histogram_shown(&c->sides[1].histogram));
}

/* Returns IH_OK or IH_MEMORY; reset_pair follows in both cases. */
static enum ih_status make_pair(const struct ih_comparison *c, struct pair *out,
                                struct ih_error *err)
{
    const uint64_t n_a = c->sides[0].histogram.n_pixels, n_b = c->sides[1].histogram.n_pixels;
    struct ih_histogram *const area = &out->area.histogram;
    const struct ih_shown shown = shown_of(c);
    out->area = c->sides[0];
    area->bins = out->line.bins = out->heights.bins = NULL;
    if (ih_histogram_fold(&c->sides[0].histogram, shown, area, err) != IH_OK ||
        ih_histogram_fold(&c->sides[1].histogram, shown, &out->line, err) != IH_OK)
        return IH_MEMORY;
    compare_scale(area, n_a > n_b ? n_a : n_b);
    compare_scale(&out->line, n_a > n_b ? n_a : n_b);
    if (ih_histogram_copy(&out->heights, area, err) != IH_OK)
        return IH_MEMORY;
    for (unsigned i = 0; i < area->layout.n_channels * IH_BINS; i++)
        if (out->line.bins[i] > out->heights.bins[i])
            out->heights.bins[i] = out->line.bins[i];
    out->heights.n_planes = out->heights.layout.n_channels; /* luma is not drawn */
    return IH_OK;
}

/* ---- text ---- */

static void add_entry(const struct ih_comparison *c, unsigned plane, struct ih_chart_facts *facts)
{
    struct ih_chart_entry *entry = &facts->entries[facts->n_entries++];
    const struct ih_distance *d = &c->planes[plane];
    const struct ih_histogram *const h = &c->sides[0].histogram;
    char means[2][IH_LABEL_MAX], ks[IH_LABEL_MAX], emd[IH_LABEL_MAX];
    ih_chart_put_plane(entry->name, h, plane);
    entry->layout = h->layout;
    entry->plane = plane;
    for (unsigned i = 0; i < 2; i++) {
        struct ih_stats stats;
        ih_stats_compute(&c->sides[i].histogram, plane, &c->sides[i].measure, &stats);
        ih_chart_put_moment(means[i], h, stats.mean, MEAN_DECIMALS);
    }
    const int n = snprintf(entry->numbers, sizeof entry->numbers, "mean %.16s \xe2\x86\x92 %.16s",
                           means[0], means[1]);
    if (isnan(d->ks)) /* a side has no values */
        return;
    ih_label_real(ks, d->ks, KS_DECIMALS);
    ih_chart_put_moment(emd, h, d->emd, EMD_DECIMALS);
    snprintf(entry->numbers + n, sizeof entry->numbers - (size_t)n, "  EMD %.16s  KS %.16s", emd,
             ks);
}

/* Names a side of gray images, which has one colour for red, green and blue. */
static void add_gray(const struct ih_comparison *c, unsigned side, struct ih_chart_facts *facts)
{
    struct ih_chart_entry *entry = &facts->entries[facts->n_entries++];
    const struct ih_histogram *const h = &c->sides[side].histogram;
    struct ih_stats stats;
    char mean[IH_LABEL_MAX];
    ih_stats_compute(h, 0, &c->sides[side].measure, &stats);
    ih_chart_put_moment(mean, h, stats.mean, MEAN_DECIMALS);
    *entry = (struct ih_chart_entry){.layout = IH_LAYOUT(1), .plane = side == 0 ? 0 : IH_LUMA};
    snprintf(entry->name, sizeof entry->name, "gray (%s)", side == 0 ? "areas" : "lines");
    snprintf(entry->numbers, sizeof entry->numbers, "mean %.16s", mean);
}

static void add_facts(const struct ih_comparison *c, bool in_percent, struct ih_chart_facts *facts)
{
    char emd[IH_LABEL_MAX], ks[IH_LABEL_MAX], size[IH_LABEL_MAX];
    if (c->sides[0].histogram.layout.n_colours > 1 && !isnan(c->planes[IH_LUMA].ks)) {
        ih_chart_put_moment(emd, &c->sides[0].histogram, c->planes[IH_LUMA].emd, EMD_DECIMALS);
        ih_label_real(ks, c->planes[IH_LUMA].ks, KS_DECIMALS);
        snprintf(facts->fact[facts->n_facts++], IH_LABEL_MAX, "luma EMD %.32s  KS %.32s", emd, ks);
    }
    for (unsigned high = 0; high < 2; high++) {
        char shares[2][IH_LABEL_MAX];
        uint64_t clipped = 0;
        for (unsigned i = 0; i < 2; i++) {
            const struct ih_histogram *h = &c->sides[i].histogram;
            ih_label_percent(shares[i], high ? h->any_high : h->any_low, h->n_pixels);
            clipped += high ? h->any_high : h->any_low;
        }
        if (clipped > 0)
            snprintf(facts->fact[facts->n_facts++], IH_LABEL_MAX, "%s %.32s \xe2\x86\x92 %.32s",
                     high ? "blown" : "crushed", shares[0], shares[1]);
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct ih_result *side = &c->sides[i];
        char *fact = facts->fact[facts->n_facts++];
        ih_label_megapixels(size, side->histogram.n_pixels);
        int n = snprintf(fact, IH_LABEL_MAX, "%s: %" PRIu64 " image%s, %.32s megapixels",
                         i == 0 ? "areas" : "lines", side->n_images, side->n_images == 1 ? "" : "s",
                         size);
        if (!in_percent && side->histogram.n_pixels < c->sides[1 - i].histogram.n_pixels &&
            n < IH_LABEL_MAX) {
            ih_label_megapixels(size, c->sides[1 - i].histogram.n_pixels);
            snprintf(fact + n, (size_t)(IH_LABEL_MAX - n), ", scaled to %.32s megapixels", size);
        }
    }
    ih_chart_add_apart("not in the areas", &c->sides[0].histogram, facts);
    ih_chart_add_apart("not in the lines", &c->sides[1].histogram, facts);
}

/* "before.png (areas), after.png (lines)". The caller frees it; NULL: out of memory. */
static char *make_title(const struct ih_comparison *c)
{
    const char *a = ih_label_last_part(c->sides[0].path);
    const char *b = ih_label_last_part(c->sides[1].path);
    const size_t size = strlen(a) + strlen(b) + IH_LABEL_MAX;
    char *title = malloc(size);
    if (title)
        snprintf(title, size, "%s (areas), %s (lines)", a, b);
    return title;
}

/* ---- the chart ---- */

enum ih_status ih_chart_draw_comparison(const struct ih_comparison *comparison,
                                        const struct ih_chart_options *options,
                                        unsigned char **file, size_t *size_bytes,
                                        struct ih_error *err)
{
    struct pair pair;
    char *title = make_title(comparison);
    *file = NULL;
    *size_bytes = 0;
    if (!title)
        return ih_error_set(err, IH_MEMORY, "chart: out of memory");
    enum ih_status status = make_pair(comparison, &pair, err);
    struct ih_chart chart = {.result = &pair.area,
                             .bars = &pair.area.histogram,
                             .other = &pair.line,
                             .heights = &pair.heights,
                             .values = &comparison->sides[0].histogram,
                             .shown = shown_of(comparison),
                             .title = options->title ? options->title : title};
    for (unsigned i = 0; i < 2 && !options->title; i++)
        chart.sides[i] = comparison->sides[i].path;
    for (unsigned p = 0; p < ih_chart_n_drawn(chart.values); p++)
        add_entry(comparison, p, &chart.facts);
    for (unsigned i = 0; status == IH_OK && chart.values->layout.n_colours == 3 && i < 2; i++)
        if (ih_chart_is_gray(i == 0 ? &pair.area.histogram : &pair.line))
            add_gray(comparison, i, &chart.facts);
    add_facts(comparison, options->in_percent, &chart.facts);
    ih_chart_add_values(comparison->sides, 2, chart.shown, &chart.facts);
    if (status == IH_OK)
        status = ih_chart_make(&chart, options, "imghist --diff", file, size_bytes, err);
    reset_pair(&pair);
    free(title);
    return status;
}
