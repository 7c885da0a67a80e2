/* Adds all images as if they had four channels. ih_total_result keeps the channels that the set
 * has. */
#include "histogram/total.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALPHA = IH_CHANNELS_MAX - 1 };

const char *ih_alpha_name(enum ih_alpha alpha)
{
    return alpha == IH_ALPHA_SKIP_TRANSPARENT ? "skip-transparent" : "count";
}

/* text: NULL is "". */
static bool total_is_same(const char *recorded, const char *text)
{
    return strcmp(recorded, text ? text : "") == 0;
}

/* own, other: NULL or "": none */
static enum ih_status differ(const struct ih_measurement *m, const char *what, const char *own,
                             const char *other, struct ih_error *err)
{
    return ih_error_set(
        err, IH_USAGE, "counted with %s %.80s; %s %.80s", what, own && *own ? own : "none",
        m->has_results ? "the others have" : "this run asks for", *other ? other : "none");
}

enum ih_status ih_measurement_join(struct ih_measurement *m, const struct ih_result *r,
                                   struct ih_error *err)
{
    const struct ih_count_spec *spec = &r->spec;
    char own[IH_REDUCTION_BYTES], other[IH_REDUCTION_BYTES];
    if (r->status != IH_OK)
        return IH_OK;
    if (m->luma && m->luma != spec->luma)
        return differ(m, "luma weights", spec->luma->name, m->luma->name, err);
    /* Images of other bins have other limits by default. */
    if (m->has_clip && (!m->has_results || m->n_bins == spec->n_bins) &&
        (m->clip_low != spec->clip_low || m->clip_high != spec->clip_high)) {
        snprintf(own, sizeof own, "%u,%u", (unsigned)spec->clip_low, (unsigned)spec->clip_high);
        snprintf(other, sizeof other, "%u,%u", (unsigned)m->clip_low, (unsigned)m->clip_high);
        return differ(m, "clip limits", own, other, err);
    }
    const bool is_deep = r->is_total ? r->info.extremes.end > IH_BINS : r->info.source_depth > 8;
    if (r->is_read && m->bins && (m->bins == IH_BINS ? spec->n_bins > 0 : !spec->n_bins && is_deep))
        return ih_error_set(err, IH_USAGE, "counted with %s bins; this run asks for %s",
                            spec->n_bins ? "native" : "256", spec->n_bins ? "256" : "native ones");
    if (m->alpha != IH_ALPHA_EITHER && m->alpha != r->alpha)
        return differ(m, "alpha", ih_alpha_name(r->alpha), ih_alpha_name(m->alpha), err);
    if (m->has_range &&
        (m->range.low != r->sample_range.low || m->range.high != r->sample_range.high)) {
        ih_reduction_print(r->sample_range, spec->n_bins, own);
        ih_reduction_print(m->range, m->n_bins, other);
        return differ(m, "samples reduced by", own, other, err);
    }
    if (m->has_selection && !total_is_same(m->region, r->region))
        return differ(m, "region", r->region, m->region, err);
    if (m->has_selection && !total_is_same(m->mask, r->mask))
        return differ(m, "mask", r->mask, m->mask, err);
    if (m->mask_hash && r->mask_hash && m->mask_hash != r->mask_hash)
        return ih_error_set(err, IH_USAGE, "counted with another mask of the same name, %.80s",
                            r->mask ? r->mask : "");
    m->has_results = m->has_selection = m->has_clip = m->has_range = true;
    m->luma = spec->luma;
    m->clip_low = spec->clip_low;
    m->clip_high = spec->clip_high;
    m->n_bins = spec->n_bins;
    m->alpha = r->alpha;
    m->range = r->sample_range;
    m->mask_hash = r->mask_hash ? r->mask_hash : m->mask_hash;
    snprintf(m->region, sizeof m->region, "%s", r->region ? r->region : "");
    snprintf(m->mask, sizeof m->mask, "%s", r->mask ? r->mask : "");
    return IH_OK;
}

void ih_total_init(struct ih_total *t, const struct ih_luma_weights *luma, uint16_t clip_low,
                   uint16_t clip_high)
{
    memset(t, 0, sizeof *t);
    t->measurement = IH_MEASUREMENT_ANY;
    t->luma = luma;
    t->clip_low = clip_low;
    t->clip_high = clip_high;
    ih_histogram_clear(&t->sum, IH_CHANNELS_MAX);
}

void ih_total_reset(struct ih_total *t)
{
    ih_histogram_reset(&t->sum);
    free(t->native);
    t->native = NULL;
}

enum ih_status ih_total_copy(struct ih_total *t, const struct ih_total *other, struct ih_error *err)
{
    struct ih_histogram sum = other->sum, result = other->sum;
    if (ih_histogram_own(&sum, err) != IH_OK)
        return IH_MEMORY;
    if (ih_histogram_own(&result, err) != IH_OK) {
        ih_histogram_reset(&sum);
        return IH_MEMORY;
    }
    *t = *other;
    t->sum = sum;
    t->native = result.native;
    return IH_OK;
}

/* Whether a result has as many bins as the images before it. */
static enum ih_status check_bins(const struct ih_total *t, const struct ih_result *r,
                                 struct ih_error *err)
{
    const unsigned n = ih_n_bins(&r->histogram), n_before = ih_n_bins(&t->sum);
    char name[IH_TOTAL_FIRST_MAX];
    if (t->n_images == 0 || n == n_before)
        return IH_OK;
    ih_escape_short(name, sizeof name, r->path ? r->path : "");
    return ih_error_set(err, IH_USAGE,
                        "%s%s%u bins, %s%s%u: counts of different bins are not added; count all "
                        "images again with 256 bins",
                        t->first, *t->first ? " has " : "the first has ", n_before, name,
                        *name ? " has " : "another has ", n);
}

/* Gives an empty total the counters of a native histogram. */
static enum ih_status total_take_bins(struct ih_total *t, const struct ih_histogram *h,
                                      struct ih_error *err)
{
    const struct ih_count_spec spec = {.n_channels = IH_CHANNELS_MAX, .n_bins = h->n_native};
    struct ih_histogram sum;
    if (!h->native || t->sum.native)
        return IH_OK;
    const enum ih_status status = ih_histogram_init(&sum, &spec, err);
    if (status != IH_OK)
        return status;
    t->native = calloc((size_t)IH_PLANES * h->n_native, sizeof *t->native);
    if (!t->native) {
        ih_histogram_reset(&sum);
        return ih_error_set(err, IH_MEMORY, "no memory for the native bins");
    }
    t->sum = sum;
    return IH_OK;
}

static void total_add_plane(struct ih_histogram *to, unsigned to_plane,
                            const struct ih_histogram *from, unsigned from_plane)
{
    uint64_t *bins = ih_own_bins(to, to_plane);
    const uint64_t *more = ih_bins(from, from_plane);
    const unsigned n_bins = ih_n_bins(to);
    for (unsigned v = 0; v < n_bins; v++)
        bins[v] += more[v];
    to->sum[to_plane] += from->sum[from_plane];
}

/* Before the result is added. */
static void add_description(struct ih_total *t, const struct ih_result *r)
{
    const char *version = r->version ? r->version : IH_VERSION;
    if (t->n_images == 0) {
        snprintf(t->version, sizeof t->version, "%s", version);
        ih_escape_short(t->first, sizeof t->first, r->path ? r->path : "");
    } else if (strcmp(t->version, version) != 0)
        t->version[0] = '\0';
    ih_extremes_join(&t->extremes, r->info.extremes);
    t->not_applied |= r->info.not_applied;
}

enum ih_status ih_total_add(struct ih_total *t, const struct ih_result *result,
                            struct ih_error *err)
{
    const struct ih_histogram *h = &result->histogram;
    struct ih_measurement m = t->measurement;
    if (result->status != IH_OK) {
        t->n_failed++;
        return IH_OK;
    }
    const uint64_t n_images = result->is_total ? result->n_images : 1;
    if (n_images > UINT64_MAX - t->n_images || result->n_failed > UINT64_MAX - t->n_failed)
        return ih_error_set(err, IH_LIMIT, "more images than 64 bits can hold");
    if (n_images == 0) {
        t->n_failed += result->n_failed;
        return IH_OK;
    }
    if (check_bins(t, result, err) != IH_OK || ih_measurement_join(&m, result, err) != IH_OK)
        return err ? err->status : IH_USAGE;
    /* No counter exceeds a sum, and no sum exceeds the largest value times n_pixels. */
    if (h->n_pixels > UINT64_MAX / (ih_n_bins(h) - 1) - t->sum.n_pixels)
        return ih_error_set(err, IH_LIMIT, "more pixels than sums of 64 bits can hold");
    const enum ih_status status = total_take_bins(t, h, err);
    if (status != IH_OK)
        return status;
    t->measurement = m;
    add_description(t, result);
    const unsigned n_colours = ih_colour_channels(h->n_channels);
    for (unsigned c = 0; c < 3; c++)
        total_add_plane(&t->sum, c, h, n_colours == 1 ? 0 : c);
    if (h->n_channels > n_colours)
        total_add_plane(&t->sum, ALPHA, h, n_colours);
    if (!h->without_luma)
        total_add_plane(&t->sum, IH_LUMA, h, IH_LUMA);
    t->sum.any_low += h->any_low;
    t->sum.any_high += h->any_high;
    t->sum.all_low += h->all_low;
    t->sum.all_high += h->all_high;
    t->sum.n_pixels += h->n_pixels;
    t->has_colour = t->has_colour || n_colours == 3;
    t->has_alpha = t->has_alpha || h->n_channels > n_colours;
    t->n_images += n_images;
    t->n_failed += result->is_total ? result->n_failed : 0;
    return IH_OK;
}

void ih_total_result(const struct ih_total *t, struct ih_result *out)
{
    const unsigned n_colours = t->n_images == 0 ? 0 : t->has_colour ? 3 : 1;
    const unsigned n_channels = n_colours + t->has_alpha;
    memset(out, 0, sizeof *out);
    out->path = IH_TOTAL_NAME;
    out->is_total = true;
    out->n_images = t->n_images;
    out->n_failed = t->n_failed;
    out->info.n_channels = n_channels;
    out->spec = (struct ih_count_spec){n_channels, t->luma, t->clip_low, t->clip_high, 0};
    out->alpha = t->alpha;
    out->sample_range = t->range;
    out->region = t->region;
    out->mask = t->mask;
    if (t->measurement.has_results) {
        const struct ih_measurement *m = &t->measurement;
        out->spec =
            (struct ih_count_spec){n_channels, m->luma, m->clip_low, m->clip_high, m->n_bins};
        out->alpha = m->alpha;
        out->sample_range = m->range;
        out->region = *m->region ? m->region : NULL;
        out->mask = *m->mask ? m->mask : NULL;
        out->mask_hash = m->mask_hash;
        out->version = t->n_images > 0 ? t->version : NULL;
    }
    out->info.not_applied = t->not_applied;
    out->info.extremes = t->extremes;
    struct ih_histogram *h = &out->histogram;
    *h = t->sum;
    h->n_channels = n_channels;
    if (h->native) {
        h->native = t->native;
        memcpy(h->native, t->sum.native, sizeof *h->native * IH_PLANES * h->n_native);
    }
    h->without_luma = out->spec.luma == &ih_luma_none;
    for (unsigned p = n_colours; p < IH_CHANNELS_MAX; p++) {
        memset(ih_own_bins(h, p), 0, ih_n_bins(h) * sizeof *h->native);
        h->sum[p] = 0;
    }
    if (t->has_alpha)
        total_add_plane(h, n_colours, &t->sum, ALPHA);
}
