/*
 * What a chart tells in words and numbers: for the footer, and once more for those who cannot see
 * the picture, as the description of the file.
 */
#include "output/chart/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEDIAN = 3 }; /* in ih_percentile_percents */

static char *next_fact(struct ih_chart_facts *facts)
{
    assert(facts->n_facts < IH_CHART_FACTS_MAX);
    return facts->fact[facts->n_facts++];
}

/* ---- facts ---- */

static void tell_size(const struct ih_result *result, struct ih_chart_facts *facts)
{
    const struct ih_image_info *info = &result->info;
    char number[IH_LABEL_MAX];
    if (!result->is_total) {
        snprintf(next_fact(facts), IH_LABEL_MAX, "%" PRIu64 " \xc3\x97 %" PRIu64 " px", info->width,
                 info->height);
        return;
    }
    snprintf(next_fact(facts), IH_LABEL_MAX, "%" PRIu64 " image%s", result->n_images,
             result->n_images == 1 ? "" : "s");
    ih_label_megapixels(number, result->histogram.n_pixels);
    snprintf(next_fact(facts), IH_LABEL_MAX, "%.32s megapixels", number);
    if (result->n_failed > 0)
        snprintf(next_fact(facts), IH_LABEL_MAX, "%" PRIu64 " failed", result->n_failed);
}

/* Of a total, alpha counts the pixels of the images that have it; the others are opaque. */
static void tell_transparency(const struct ih_histogram *h, struct ih_chart_facts *facts)
{
    const uint64_t *alpha = h->bins[h->n_channels - 1];
    char clear[IH_LABEL_MAX], partly[IH_LABEL_MAX];
    uint64_t n_partly = 0;
    for (unsigned v = 1; v < IH_BINS - 1; v++)
        n_partly += alpha[v];
    ih_label_percent(clear, alpha[0], h->n_pixels);
    ih_label_percent(partly, n_partly, h->n_pixels);
    char *fact = next_fact(facts);
    if (n_partly > 0)
        snprintf(fact, IH_LABEL_MAX, "%.32s transparent, %.32s partly", clear, partly);
    else
        snprintf(fact, IH_LABEL_MAX, "%.32s transparent", clear);
}

/* The format's name in capitals, as one writes it; ASCII alone, whatever the locale. */
static void tell_format(const struct ih_result *result, struct ih_chart_facts *facts)
{
    char *fact = next_fact(facts);
    snprintf(fact, IH_LABEL_MAX, "%.32s", result->info.format);
    for (char *c = fact; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
}

static void tell_tones(const struct ih_result *result, struct ih_chart_facts *facts)
{
    const struct ih_histogram *h = &result->histogram;
    struct ih_stats luma;
    char number[IH_LABEL_MAX];
    ih_stats_compute(h, IH_LUMA, &result->spec, &luma);
    ih_label_real(number, luma.mean, 1);
    snprintf(next_fact(facts), IH_LABEL_MAX, "mean luma %.32s", number);
    snprintf(next_fact(facts), IH_LABEL_MAX, "median %u", luma.percentile[MEDIAN]);
    ih_label_real(number, ih_mean_luminance(h), 4);
    snprintf(next_fact(facts), IH_LABEL_MAX, "mean luminance %.32s", number);
}

/* ---- planes ---- */

static void tell_plane(const struct ih_result *result, unsigned plane, struct ih_chart_entry *entry)
{
    const struct ih_histogram *h = &result->histogram;
    struct ih_stats stats;
    char mean[IH_LABEL_MAX], deviation[IH_LABEL_MAX];
    *entry = (struct ih_chart_entry){ih_plane_name(h->n_channels, plane), plane, ""};
    if (h->n_pixels == 0)
        return;
    ih_stats_compute(h, plane, &result->spec, &stats);
    ih_label_real(mean, stats.mean, 1);
    ih_label_real(deviation, stats.stddev, 1);
    snprintf(entry->numbers, sizeof entry->numbers, "mean %.32s  sd %.32s", mean, deviation);
}

void ih_chart_tell(const struct ih_result *result, struct ih_chart_facts *facts)
{
    const struct ih_histogram *h = &result->histogram;
    *facts = (struct ih_chart_facts){0};
    tell_size(result, facts);
    if (h->n_pixels > 0 && h->n_channels != ih_colour_channels(h->n_channels))
        tell_transparency(h, facts);
    if (h->n_pixels > 0)
        tell_tones(result, facts);
    if (result->info.format)
        tell_format(result, facts);
    for (unsigned plane = 0; plane < IH_PLANES; plane++)
        if (ih_chart_draws_plane(h, plane))
            tell_plane(result, plane, &facts->entries[facts->n_entries++]);
}

/* ---- the file's description ---- */

static void describe_clip(const struct ih_chart *chart, struct ih_bytes *out, const char *end,
                          uint64_t any, uint64_t all)
{
    const uint64_t n_pixels = chart->result->histogram.n_pixels;
    char some[IH_LABEL_MAX], whole[IH_LABEL_MAX];
    if (any == 0)
        return;
    ih_label_percent(some, any, n_pixels);
    ih_label_percent(whole, all, n_pixels);
    ih_bytes_format(out, " Clipped at the %s end: %s of the pixels, %s in all channels.", end, some,
                    whole);
}

void ih_chart_describe(const struct ih_chart *chart, struct ih_bytes *title,
                       struct ih_bytes *description)
{
    const struct ih_chart_facts *facts = &chart->facts;
    const struct ih_histogram *h = &chart->result->histogram;
    char *name = ih_chart_name(chart->result);
    title->failed = !name;
    ih_bytes_text(title, "Histogram of ");
    ih_bytes_text(title, name ? name : "");
    ih_bytes_append(title, "", 1);
    free(name);
    for (unsigned i = 0; i < facts->n_facts; i++)
        ih_bytes_format(description, "%s%s", i > 0 ? ", " : "", facts->fact[i]);
    ih_bytes_text(description, ".");
    for (unsigned i = 0; i < facts->n_entries && h->n_pixels > 0; i++)
        ih_bytes_format(description, "%s%s %s", i > 0 ? "; " : " ", facts->entries[i].name,
                        facts->entries[i].numbers);
    if (h->n_pixels > 0)
        ih_bytes_text(description, ".");
    describe_clip(chart, description, "dark", h->any_low, h->all_low);
    describe_clip(chart, description, "bright", h->any_high, h->all_high);
    ih_bytes_format(description, " Counts are drawn on a %s scale.", chart->axis.scale->title);
    ih_bytes_append(description, "", 1);
}
