/*
 * The text around the plot: the title above it and the footer below it.
 *
 * The footer has a legend (colour, name, mean and standard deviation of each plane) and facts about
 * the image. The alternative text of the file gives the same. The layout in chart.c decides how
 * much of the footer fits.
 */
#include "chart/drawing.h"

#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- facts ---- */

enum { MEDIAN = 3 }; /* in ih_percentile_ranks */

static char *next_fact(struct ih_chart_facts *facts)
{
    assert(facts->n_facts < IH_CHART_FACTS_MAX);
    return facts->fact[facts->n_facts++];
}

static void add_size(const struct ih_result *result, struct ih_chart_facts *facts)
{
    const struct ih_image_info *info = &result->info;
    char number[IH_LABEL_MAX];
    if (!result->is_total) {
        char *const fact = next_fact(facts);
        const int n = snprintf(fact, IH_LABEL_MAX, "%" PRIu64 " \xc3\x97 %" PRIu64 " px",
                               info->width, info->height);
        if (result->histogram.n_pixels < info->width * info->height)
            snprintf(fact + n, (size_t)(IH_LABEL_MAX - n), ", %" PRIu64 " counted",
                     result->histogram.n_pixels);
        return;
    }
    snprintf(next_fact(facts), IH_LABEL_MAX, "%" PRIu64 " image%s", result->n_images,
             result->n_images == 1 ? "" : "s");
    ih_label_megapixels(number, result->histogram.n_pixels);
    snprintf(next_fact(facts), IH_LABEL_MAX, "%.32s megapixels", number);
    if (result->n_failed > 0)
        snprintf(next_fact(facts), IH_LABEL_MAX, "%" PRIu64 " failed", result->n_failed);
}

void ih_chart_add_pixels(const struct ih_result *r, struct ih_chart_facts *facts)
{
    char mask[80];
    if (r->measure.region)
        snprintf(next_fact(facts), IH_LABEL_MAX, "region %.100s", r->measure.region);
    if (!r->measure.mask)
        return;
    ih_escape(mask, sizeof mask, ih_label_last_part(r->measure.mask));
    if (r->has_label)
        snprintf(next_fact(facts), IH_LABEL_MAX, "label %u of %s", r->label, mask);
    else
        snprintf(next_fact(facts), IH_LABEL_MAX, "mask %s", mask);
}

void ih_chart_add_apart(const char *what, const struct ih_histogram *h,
                        struct ih_chart_facts *facts)
{
    char apart[IH_APART_MAX];
    ih_put_apart(apart, h, 0, h->layout.n_channels);
    if (*apart)
        snprintf(next_fact(facts), IH_LABEL_MAX, "%s: %.100s", what, apart);
}

/* The alpha plane of a total only counts images with alpha; all others are opaque. Pixels that were
 * left out have no share, as a total does not know their number. */
static void add_transparency(const struct ih_result *result, struct ih_chart_facts *facts)
{
    const struct ih_histogram *h = &result->histogram;
    const uint64_t *alpha = ih_bins(h, h->layout.n_channels - 1);
    char clear[IH_LABEL_MAX], partly[IH_LABEL_MAX];
    const uint64_t n_partly = ih_count_range(alpha, 1, h->n_bins - 2);
    char *fact = next_fact(facts);
    if (result->measure.alpha == IH_ALPHA_COUNT) {
        ih_label_percent(clear, alpha[0], h->n_pixels);
        snprintf(fact, IH_LABEL_MAX, "%.32s transparent", clear);
    } else
        strcpy(fact, "transparent pixels left out");
    if (n_partly == 0)
        return;
    ih_label_percent(partly, n_partly, h->n_pixels);
    snprintf(fact + strlen(fact), IH_LABEL_MAX - strlen(fact), ", %.32s partly", partly);
}

/* Adds the name of the format in capitals. toupper would depend on the locale. */
static void add_format(const struct ih_result *result, struct ih_chart_facts *facts)
{
    char *fact = next_fact(facts);
    snprintf(fact, IH_LABEL_MAX, "%.32s", result->info.format);
    for (char *c = fact; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
}

void ih_chart_put_moment(char label[IH_LABEL_MAX], const struct ih_histogram *h, double v,
                         unsigned decimals)
{
    if (isnan(v))
        strcpy(label, "none");
    else if (!ih_is_unsigned(h->type))
        ih_put_digits(label, v, fabs(v) < 1000 ? 4 : 6);
    else
        ih_label_real(label, v, decimals);
}

static void add_tones(const struct ih_result *result, struct ih_chart_facts *facts)
{
    const struct ih_histogram *h = &result->histogram;
    struct ih_stats luma = {.count = 0};
    char number[IH_LABEL_MAX];
    if (ih_has_luma(h))
        ih_stats_compute(h, IH_LUMA, &result->measure, &luma);
    if (luma.count > 0) {
        ih_chart_put_moment(number, h, luma.mean, 1);
        snprintf(next_fact(facts), IH_LABEL_MAX, "mean luma %.32s", number);
        snprintf(next_fact(facts), IH_LABEL_MAX, "median %.9g", luma.percentile[MEDIAN]);
    }
    if (isnan(ih_mean_luminance(h)))
        return;
    ih_label_real(number, ih_mean_luminance(h), 4);
    snprintf(next_fact(facts), IH_LABEL_MAX, "mean luminance %.32s", number);
}

static void add_span(const struct ih_result *results, size_t n, struct ih_shown shown,
                     struct ih_chart_facts *facts)
{
    bool is_all = true;
    char *const fact = next_fact(facts), low[IH_REAL_MAX], high[IH_REAL_MAX];
    for (size_t i = 0; i < n; i++)
        is_all = is_all && ih_result_is_within(&results[i], shown);
    if (shown.low == shown.high) {
        ih_put_float(low, shown.low);
        snprintf(fact, IH_LABEL_MAX, is_all ? "all values are %s" : "value %s, the middle 99.8 %%",
                 low);
        return;
    }
    ih_put_digits(low, shown.low, 5);
    ih_put_digits(high, shown.high, 5);
    if (strcmp(low, high) == 0) {
        ih_put_float(low, shown.low);
        ih_put_float(high, shown.high);
    }
    snprintf(fact, IH_LABEL_MAX, "values %s to %s%s", low, high,
             is_all ? "" : ", the middle 99.8 %");
    if (results->histogram.type != IH_FLOAT32)
        return;
    ih_put_digits(high, ih_shown_bin_width(shown), 3);
    snprintf(next_fact(facts), IH_LABEL_MAX, "counted in bins up to %s wide", high);
}

void ih_chart_add_values(const struct ih_result *results, size_t n, struct ih_shown shown,
                         struct ih_chart_facts *facts)
{
    const struct ih_histogram *const h = &results->histogram;
    const unsigned n_drawn = ih_chart_n_drawn(h), n_shown = shown.n_values;
    const unsigned n_channels = h->layout.n_channels - h->layout.has_alpha;
    if (n_drawn < n_channels)
        snprintf(next_fact(facts), IH_LABEL_MAX, "%u of %u bands are drawn", n_drawn, n_channels);
    if (shown.is_span && shown.low <= shown.high)
        add_span(results, n, shown, facts);
    else if (!shown.is_span && n_shown < h->n_bins)
        snprintf(next_fact(facts), IH_LABEL_MAX, "values 0 to %u of %u, %u in a bar", n_shown - 1,
                 h->n_bins - 1, ih_bar_values(n_shown));
    else if (h->type == IH_UINT16)
        snprintf(next_fact(facts), IH_LABEL_MAX, "%u values, %u in a bar", h->n_bins,
                 ih_bar_values(n_shown));
}

void ih_chart_put_plane(char name[IH_LABEL_MAX], const struct ih_histogram *h, unsigned plane)
{
    enum { SHOWN_MAX = 40 }; /* bytes, so that a row has room for its numbers */
    const int n = snprintf(name, IH_LABEL_MAX, "%s", ih_histogram_plane(h, plane));
    const char *const in_file = ih_histogram_band_name(h, plane);
    if (*in_file) {
        name[n] = ' ';
        ih_escape(name + n + 1, SHOWN_MAX, in_file);
    }
}

static void text_add_plane(const struct ih_result *result, unsigned plane,
                           struct ih_chart_entry *entry)
{
    const struct ih_histogram *h = &result->histogram;
    struct ih_stats stats;
    char mean[IH_LABEL_MAX], deviation[IH_LABEL_MAX], low[IH_LABEL_MAX], high[IH_LABEL_MAX];
    *entry = (struct ih_chart_entry){.layout = h->layout, .plane = plane};
    ih_chart_put_plane(entry->name, h, plane);
    if (h->n_pixels == 0)
        return;
    ih_stats_compute(h, plane, &result->measure, &stats);
    ih_chart_put_moment(mean, h, stats.mean, 1);
    ih_chart_put_moment(deviation, h, stats.stddev, 1);
    if (stats.count == 0) {
        strcpy(entry->numbers, "no values");
        return;
    }
    int n = snprintf(entry->numbers, sizeof entry->numbers, "mean %.32s  stddev %.32s", mean,
                     deviation);
    if (stats.crushed + stats.blown == 0 || n < 0)
        return;
    ih_label_percent(low, stats.crushed, stats.count);
    ih_label_percent(high, stats.blown, stats.count);
    snprintf(entry->numbers + n, sizeof entry->numbers - (size_t)n, "  crushed %.20s  blown %.20s",
             low, high);
}

void ih_chart_collect_facts(const struct ih_result *result, struct ih_chart_facts *facts)
{
    const struct ih_histogram *h = &result->histogram;
    *facts = (struct ih_chart_facts){0};
    add_size(result, facts);
    ih_chart_add_pixels(result, facts);
    if (result->measure.range.high > 0 && (result->is_total || result->info.source_depth == 16))
        snprintf(next_fact(facts), IH_LABEL_MAX, "range %u to %u",
                 (unsigned)result->measure.range.low, (unsigned)result->measure.range.high);
    ih_chart_add_apart("counted apart", h, facts);
    if (h->layout.has_alpha && (h->n_pixels > 0 || result->measure.alpha != IH_ALPHA_COUNT))
        add_transparency(result, facts);
    if (h->n_pixels > 0)
        add_tones(result, facts);
    ih_chart_add_values(result, 1, ih_histogram_shown(h), facts);
    if (ih_result_is_reduced(result))
        ih_result_put_depth(next_fact(facts), result);
    if (result->info.format)
        add_format(result, facts);
    if (h->layout.has_alpha && ih_bins(h, h->layout.n_channels - 1)[0] > 0 &&
        result->measure.alpha == IH_ALPHA_COUNT)
        snprintf(next_fact(facts), IH_LABEL_MAX,
                 "transparent pixels are counted (--alpha=skip-transparent leaves them out)");
    for (unsigned i = 0; i < h->n_planes; i++)
        if (ih_chart_draws_plane(h, ih_nth_plane(h, i)))
            text_add_plane(result, ih_nth_plane(h, i), &facts->entries[facts->n_entries++]);
}

/* ---- alternative text ---- */

/* "summer: 12 images together": the folder's own name, if it has one. NULL: out of memory. */
static char *total_name(const struct ih_chart *chart)
{
    const char *folder = chart->result->folder ? chart->result->folder : "";
    size_t n = strlen(folder);
    while (n > 0 && folder[n - 1] == '/')
        n--;
    size_t start = n;
    while (start > 0 && folder[start - 1] != '/')
        start--;
    const bool has_name = n > start && folder[start] != '.';
    const uint64_t n_images = chart->result->n_images;
    char *text = malloc(n + IH_LABEL_MAX);
    if (!text)
        return NULL;
    snprintf(text, n + IH_LABEL_MAX, "%.*s%s%" PRIu64 " image%s together",
             has_name ? (int)(n - start) : 0, folder + start, has_name ? ": " : "", n_images,
             n_images == 1 ? "" : "s");
    char *name = ih_label_text(text);
    free(text);
    return name;
}

static void describe_clip(const struct ih_chart *chart, struct ih_bytes *out, const char *name,
                          uint64_t any, uint64_t all)
{
    const uint64_t n_pixels = chart->result->histogram.n_pixels;
    char any_percent[IH_LABEL_MAX], all_percent[IH_LABEL_MAX];
    if (any == 0)
        return;
    ih_label_percent(any_percent, any, n_pixels);
    ih_label_percent(all_percent, all, n_pixels);
    ih_bytes_format(out, " %s: %s of the pixels, %s in all channels.", name, any_percent,
                    all_percent);
}

void ih_chart_describe(struct ih_chart *chart, struct ih_bytes *title, struct ih_bytes *description)
{
    const struct ih_chart_facts *facts = &chart->facts;
    const struct ih_histogram *h = &chart->result->histogram;
    chart->name = chart->title              ? ih_label_text(chart->title)
                  : chart->result->is_total ? total_name(chart)
                                            : ih_label_name(chart->result->path);
    title->failed = !chart->name;
    ih_bytes_text(title, "Histogram of ");
    ih_bytes_text(title, chart->name ? chart->name : "");
    ih_bytes_append(title, "", 1);
    for (unsigned i = 0; i < facts->n_facts; i++)
        ih_bytes_format(description, "%s%s", i > 0 ? ", " : "", facts->fact[i]);
    ih_bytes_text(description, ".");
    if (chart->sheet) {
        ih_bytes_append(description, "", 1);
        return;
    }
    for (unsigned i = 0; i < facts->n_entries && h->n_pixels > 0; i++)
        ih_bytes_format(description, "%s%s %s", i > 0 ? "; " : " ", facts->entries[i].name,
                        facts->entries[i].numbers);
    if (h->n_pixels > 0)
        ih_bytes_text(description, ".");
    describe_clip(chart, description, "Crushed", h->any_low, h->all_low);
    describe_clip(chart, description, "Blown", h->any_high, h->all_high);
    ih_bytes_format(description, " %s are drawn on a %s scale.",
                    chart->axis.in_percent ? "Percentages of the pixels" : "Counts",
                    chart->axis.scale->title);
    ih_bytes_append(description, "", 1);
}

/* ---- header ---- */

enum { NAME_TO_SCALE = 200 }; /* hundredths of the em, at least */

/* Shortens both names of a comparison, so that its title says which is which. A short name leaves
 * its room to the other. */
static void shorten_sides(struct ih_chart *chart, unsigned size_px, int32_t room)
{
    const struct ih_glyphs *const g = chart->glyphs;
    char *const a = ih_label_name(chart->sides[0]), *const b = ih_label_name(chart->sides[1]);
    if (a && b) {
        room -= ih_glyphs_width(g, size_px, " (areas),  (lines)");
        ih_glyphs_shorten(g, size_px, ih_larger(room / 2, room - ih_glyphs_width(g, size_px, a)),
                          b);
        ih_glyphs_shorten(g, size_px, room - ih_glyphs_width(g, size_px, b), a);
        sprintf(chart->name, "%s (areas), %s (lines)", a, b); /* it has 4 bytes for each */
    } else
        chart->canvas->status = IH_MEMORY;
    free(a);
    free(b);
}

/* The thumbnail in the corner, the scale left of it, and the name in the room that is left. */
void ih_chart_draw_header(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t thumbnail = ih_draw_thumbnail_width(chart, l->thumbnail_height);
    const int32_t right =
        l->right * IH_SUBPIXELS - (thumbnail ? thumbnail * IH_SUBPIXELS + ih_chart_ems(l, 100) : 0);
    char scale[IH_LABEL_MAX];
    ih_draw_thumbnail(chart, l->right, l->margin, l->thumbnail_height);
    snprintf(scale, sizeof scale, "%.64s scale", /* a sheet's n would be no counts */
             chart->sheet ? chart->axis.scale->name : chart->axis.scale->title);
    ih_draw_text(chart, right, l->title_y, IH_ALIGN_RIGHT, chart->theme->muted, scale);
    const int32_t left = l->margin * IH_SUBPIXELS;
    const int32_t end = right - ih_draw_width(chart, scale) - ih_chart_ems(l, NAME_TO_SCALE);
    const struct ih_text_place place = {left, l->title_y * IH_SUBPIXELS, IH_ALIGN_LEFT,
                                        (unsigned)l->title_em};
    const struct ih_paint paint = {chart->theme->text, 255, IH_BLEND_NORMAL};
    if (chart->sides[0] && ih_glyphs_width(chart->glyphs, place.size_px, chart->name) > end - left)
        shorten_sides(chart, place.size_px, end - left);
    ih_glyphs_shorten(chart->glyphs, place.size_px, end - left, chart->name);
    chart->canvas->text(chart->canvas, &place, chart->name, &paint);
}

/* ---- legend ---- */

/* In hundredths of the em. */
enum {
    SWATCH = 78,     /* a square */
    SWATCH_GAP = 45, /* to the name */
    WORD_GAP = 60    /* from the name to its numbers */
};

static int32_t longest_name(const struct ih_chart *chart)
{
    int32_t longest = 0;
    for (unsigned i = 0; i < chart->facts.n_entries; i++)
        longest = ih_larger(longest, ih_draw_width(chart, chart->facts.entries[i].name));
    return longest;
}

/* Returns the start of the numbers: after the name, or aligned with those of the other rows. */
static int32_t numbers_x(const struct ih_chart *chart, const struct ih_chart_entry *entry)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t name =
        l->legend_rows > 1 ? longest_name(chart) : ih_draw_width(chart, entry->name);
    return ih_chart_ems(l, SWATCH + SWATCH_GAP) + name + ih_chart_ems(l, WORD_GAP);
}

int32_t ih_chart_entry_width(const struct ih_chart *chart, const struct ih_chart_entry *entry,
                             bool with_numbers)
{
    if (with_numbers && entry->numbers[0])
        return numbers_x(chart, entry) + ih_draw_width(chart, entry->numbers);
    return ih_chart_ems(&chart->layout, SWATCH + SWATCH_GAP) + ih_draw_width(chart, entry->name);
}

/* Draws a square; for luma, a line. */
static void draw_swatch(struct ih_chart *chart, int32_t x, int32_t baseline,
                        const struct ih_chart_entry *entry)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t size = ih_chart_ems(l, SWATCH) / IH_SUBPIXELS, left = x / IH_SUBPIXELS;
    int32_t bottom = baseline, top = bottom - size;
    if (entry->plane == IH_LUMA) {
        int32_t thickness = 2 * l->hair;
        top += (size - thickness) / 2;
        bottom = top + thickness;
    }
    ih_draw_box(chart, left, top, left + size, bottom,
                ih_chart_plane_colour(chart, entry->layout, entry->plane), 255);
}

static void draw_entry(struct ih_chart *chart, int32_t x, int32_t baseline,
                       const struct ih_chart_entry *entry)
{
    const struct ih_chart_layout *l = &chart->layout;
    draw_swatch(chart, x, baseline, entry);
    ih_draw_text(chart, x + ih_chart_ems(l, SWATCH + SWATCH_GAP), baseline, IH_ALIGN_LEFT,
                 chart->theme->text, entry->name);
    if (l->legend_columns > 0 && entry->numbers[0])
        ih_draw_text(chart, x + numbers_x(chart, entry), baseline, IH_ALIGN_LEFT,
                     chart->theme->muted, entry->numbers);
}

static void draw_legend(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t gap = ih_chart_ems(l, IH_CHART_ENTRY_GAP), left = l->margin * IH_SUBPIXELS;
    const int32_t width = (l->right - l->margin) * IH_SUBPIXELS + gap;
    int32_t x = left;
    for (int32_t i = 0; i < (int32_t)chart->facts.n_entries && l->legend_rows > 0; i++) {
        const struct ih_chart_entry *entry = &chart->facts.entries[i];
        int32_t row = 0;
        if (l->legend_columns > 0) {
            row = i / l->legend_columns;
            x = left + width / l->legend_columns * (i % l->legend_columns);
        }
        draw_entry(chart, x, l->legend_y + row * l->row_pitch, entry);
        x += ih_chart_entry_width(chart, entry, false) + gap;
    }
}

/* ---- rows of facts ---- */

enum { ROW_MAX = IH_CHART_FACTS_MAX * (IH_LABEL_MAX + 8) };

/* Joins the facts from `first` on that fit in a row, at least one. Returns their number. */
static unsigned join_facts(const struct ih_chart *chart, unsigned first, int32_t width,
                           char row[ROW_MAX])
{
    static const char separator[] = "  \xc2\xb7  ";
    const struct ih_chart_facts *facts = &chart->facts;
    size_t size = 0;
    unsigned n = 0;
    for (row[0] = '\0'; first + n < facts->n_facts; n++) {
        const size_t before = size;
        if (n > 0) {
            memcpy(row + size, separator, sizeof separator);
            size += sizeof separator - 1;
        }
        strcpy(row + size, facts->fact[first + n]);
        size += strlen(facts->fact[first + n]);
        if (n > 0 && ih_draw_width(chart, row) > width) {
            row[before] = '\0';
            break;
        }
    }
    return n;
}

int32_t ih_chart_count_fact_rows(const struct ih_chart *chart, int32_t width)
{
    char row[ROW_MAX];
    int32_t n_rows = 0;
    for (unsigned i = 0; i < chart->facts.n_facts; n_rows++)
        i += join_facts(chart, i, width, row);
    return n_rows;
}

void ih_chart_draw_footer(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t width = (l->right - l->margin) * IH_SUBPIXELS;
    char row[ROW_MAX];
    draw_legend(chart);
    for (unsigned i = 0, n_rows = 0; (int32_t)n_rows < l->facts_rows; n_rows++) {
        i += join_facts(chart, i, width, row);
        ih_glyphs_shorten(chart->glyphs, (unsigned)l->em, width, row);
        ih_draw_text(chart, l->margin * IH_SUBPIXELS, l->facts_y + (int32_t)n_rows * l->row_pitch,
                     IH_ALIGN_LEFT, chart->theme->muted, row);
    }
}
