/* Adds all images as if they had four channels. ih_total_result keeps the channels that the set
 * has. */
#include "histogram/total.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALPHA = IH_CHANNELS_MAX - 1 };

void ih_total_init(struct ih_total *t, const struct ih_measure *asked)
{
    memset(t, 0, sizeof *t);
    t->measure.asked = *asked;
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
    struct ih_joint_measure measure = t->measure;
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
    if (check_bins(t, result, err) != IH_OK || ih_joint_measure_add(&measure, result, err) != IH_OK)
        return err ? err->status : IH_USAGE;
    /* No counter exceeds a sum, and no sum exceeds the largest value times n_pixels. */
    if (h->n_pixels > UINT64_MAX / (ih_n_bins(h) - 1) - t->sum.n_pixels)
        return ih_error_set(err, IH_LIMIT, "more pixels than sums of 64 bits can hold");
    const enum ih_status status = total_take_bins(t, h, err);
    if (status != IH_OK)
        return status;
    t->measure = measure;
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
    out->measure = ih_joint_measure_get(&t->measure);
    if (t->measure.has_results && t->n_images > 0)
        out->version = t->version;
    out->info.not_applied = t->not_applied;
    out->info.extremes = t->extremes;
    struct ih_histogram *h = &out->histogram;
    *h = t->sum;
    h->n_channels = n_channels;
    if (h->native) {
        h->native = t->native;
        memcpy(h->native, t->sum.native, sizeof *h->native * IH_PLANES * h->n_native);
    }
    h->without_luma = out->measure.luma == &ih_luma_none;
    for (unsigned p = n_colours; p < IH_CHANNELS_MAX; p++) {
        memset(ih_own_bins(h, p), 0, ih_n_bins(h) * sizeof *h->native);
        h->sum[p] = 0;
    }
    if (t->has_alpha)
        total_add_plane(h, n_colours, &t->sum, ALPHA);
}
