/* The sum has the channels of the images so far: the first colour image, and the first with alpha,
 * widen it. */
#include "histogram/total.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

void ih_total_init(struct ih_total *t, const struct ih_measure *asked)
{
    memset(t, 0, sizeof *t);
    t->measure.asked = *asked;
}

void ih_total_reset(struct ih_total *t)
{
    ih_histogram_reset(&t->sum);
}

enum ih_status ih_total_copy(struct ih_total *t, const struct ih_total *other, struct ih_error *err)
{
    *t = *other;
    return other->n_images ? ih_histogram_copy(&t->sum, &other->sum, err) : IH_OK;
}

/* Whether a result has as many bins as the images before it, and their limits. */
static enum ih_status check_bins(const struct ih_total *t, const struct ih_result *r,
                                 struct ih_error *err)
{
    const unsigned n = r->histogram.n_bins, n_before = t->sum.n_bins;
    const enum ih_sample_type type = r->histogram.type, type_before = t->sum.type;
    const struct ih_measure *const before = &t->measure.common, *const own = &r->measure;
    char name[IH_TOTAL_FIRST_MAX];
    if (t->n_images > 0 && t->measure.has_results && (before->has_levels || own->has_levels) &&
        (before->clip_low != own->clip_low || before->clip_high != own->clip_high))
        return ih_error_set(err, IH_USAGE,
                            "a sensor has the black and white levels %u and %u, and another image "
                            "%u and %u: --clip=LOW,HIGH gives all the same limits",
                            before->clip_low, before->clip_high, own->clip_low, own->clip_high);
    if (t->n_images == 0 || (n == n_before && type == type_before))
        return IH_OK;
    ih_escape_short(name, sizeof name, r->path ? r->path : "");
    if (type != type_before && !(ih_is_unsigned(type) && ih_is_unsigned(type_before)))
        return ih_error_set(err, IH_USAGE,
                            "%s%s samples of %s, %s%s of %s: counts of different samples are not "
                            "added",
                            t->first, *t->first ? " has" : "the first has",
                            ih_sample_type_name(type_before), name, *name ? "" : "another",
                            ih_sample_type_name(type));
    return ih_error_set(err, IH_USAGE,
                        "%s%s%u bins, %s%s%u: counts of different bins are not added; count all "
                        "images again with 256 bins",
                        t->first, *t->first ? " has " : "the first has ", n_before, name,
                        *name ? " has " : "another has ", n);
}

/* Gives the sum the channels of h beside its own. */
static enum ih_status take_channels(struct ih_total *t, const struct ih_histogram *h,
                                    struct ih_error *err)
{
    struct ih_layout layout;
    if (t->n_images == 0) {
        const struct ih_count_spec spec = {
            .layout = h->layout,
            .type = h->type,
            .n_bins = h->n_bins,
            .luma = ih_has_luma(h) ? NULL : &ih_luma_none,
        };
        if (ih_histogram_init(&t->sum, &spec, err) != IH_OK)
            return IH_MEMORY;
        if (ih_band_names_copy(&t->sum.band_names, h->band_names, h->layout.n_channels, err) !=
            IH_OK)
            ih_histogram_reset(&t->sum);
        return t->sum.bins ? IH_OK : IH_MEMORY;
    }
    return ih_histogram_join(&t->sum, h, &layout)
               ? ih_histogram_widen(&t->sum, layout, err)
               : ih_error_set(
                     err, IH_USAGE,
                     "%s and others have other channels: counts of different bands are not "
                     "added, except band by band",
                     *t->first ? t->first : "the first image");
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
    if (t->n_images == 0)
        t->levels = r->info.levels;
    else if (memcmp(&t->levels, &r->info.levels, sizeof t->levels) != 0)
        t->levels = (struct ih_levels){.white = 0};
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
    if (h->n_pixels > UINT64_MAX / (h->n_bins - 1) - t->sum.n_pixels)
        return ih_error_set(err, IH_LIMIT, "more pixels than sums of 64 bits can hold");
    const enum ih_status status = take_channels(t, h, err);
    if (status != IH_OK)
        return status;
    ih_band_names_join(&t->sum.band_names, t->sum.layout.n_channels, h->band_names,
                       h->layout.n_channels);
    t->measure = measure;
    add_description(t, result);
    ih_histogram_add(&t->sum, h);
    t->n_images += n_images;
    t->n_failed += result->is_total ? result->n_failed : 0;
    return IH_OK;
}

void ih_total_result(const struct ih_total *t, struct ih_result *out)
{
    static const uint64_t no_pixels[IH_BINS + 1 + IH_SPECIALS]; /* and their sum */
    memset(out, 0, sizeof *out);
    out->path = IH_TOTAL_NAME;
    out->is_total = true;
    out->n_images = t->n_images;
    out->n_failed = t->n_failed;
    out->info.layout = t->sum.layout;
    out->measure = ih_joint_measure_get(&t->measure);
    if (t->measure.has_results && t->n_images > 0)
        out->version = t->version;
    out->info.not_applied = t->not_applied;
    out->info.extremes = t->extremes;
    out->info.levels = t->levels;
    out->histogram = t->sum;
    if (t->n_images > 0)
        return;
    uint64_t *const bins = (uint64_t *)(uintptr_t)no_pixels; /* a result is only read */
    out->histogram =
        (struct ih_histogram){.n_bins = IH_BINS,
                              .n_planes = out->measure.luma != &ih_luma_none,
                              .bins = bins,
                              .sums = bins + IH_BINS,
                              .specials = (uint64_t(*)[IH_SPECIALS])(bins + IH_BINS + 1)};
}
