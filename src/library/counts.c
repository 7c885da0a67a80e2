/* Counts: the result of one image or the sum of many, and queries on it. */
#include "library/library.h"

#include "output/condition.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ih_status ih_counts_open(struct ih_counts **counts, struct ih_error *err)
{
    struct ih_counts *c = malloc(sizeof *c);
    if (!c)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    c->is_empty = true; /* its result and reduction are not used */
    c->is_sum = false;
    c->total = NULL;
    c->texts = NULL;
    *counts = c;
    return IH_OK;
}

void ih_counts_close(struct ih_counts *counts)
{
    if (counts) {
        ih_counts_clear(counts);
        if (counts->total)
            ih_total_reset(counts->total);
        free(counts->total);
        free(counts->texts);
    }
    free(counts);
}

void ih_counts_clear(struct ih_counts *counts)
{
    if (!counts->is_empty && !counts->is_sum) /* a sum's counters are the total's */
        ih_histogram_reset(&counts->result.histogram);
    counts->is_empty = true;
    counts->is_sum = false;
}

/* The result is complete. */
static void set_full(struct ih_counts *c)
{
    c->is_empty = false;
    ih_reduction_print(c->result.measure.range, ih_is_native(c->result.measure.type), c->reduction);
}

void ih_counts_set_image(struct ih_counts *counts)
{
    counts->is_sum = false;
    set_full(counts);
}

/* Copies the mask of a result that has one, and lets it point to the copy. */
static void keep_mask(struct ih_texts *texts, struct ih_result *r)
{
    snprintf(texts->mask, sizeof texts->mask, "%s", r->measure.mask);
    r->measure.mask = texts->mask;
}

/* Copies the texts of a result, and lets it point to the copies. */
static void keep_texts(struct ih_texts *texts, struct ih_result *r)
{
    const char *const from[] = {r->info.format, r->library, r->version, r->measure.region,
                                r->measure.mask};
    char *const to[] = {texts->format, texts->library, texts->version, texts->region, texts->mask};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        snprintf(to[i], IH_TEXT_MAX, "%s", from[i] ? from[i] : "");
    r->info.format = texts->format;
    r->library = texts->library;
    r->version = texts->version;
    r->measure.region = *texts->region ? texts->region : NULL;
    r->measure.mask = *texts->mask ? texts->mask : NULL;
}

/* Makes room for a sum or for texts, unless there is. */
static enum ih_status reserve(void *owned, size_t size_bytes, struct ih_error *err)
{
    void **at = owned;
    if (!*at)
        *at = calloc(1, size_bytes);
    return *at ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

enum ih_status ih_counts_set_result(struct ih_counts *c, const struct ih_result *result,
                                    struct ih_error *err)
{
    ih_counts_clear(c);
    if ((result->is_read || result->measure.mask) &&
        reserve(&c->texts, sizeof *c->texts, err) != IH_OK)
        return IH_MEMORY;
    c->result = *result;
    c->result.path = NULL;
    c->result.stats = NULL;
    if (ih_histogram_copy(&c->result.histogram, &result->histogram, err) != IH_OK)
        return IH_MEMORY;
    if (result->is_read) {
        keep_texts(c->texts, &c->result);
        c->result.decoder_version = c->result.counted_by = c->result.kernel = NULL;
        c->result.folder = c->result.group = NULL;
    } else if (result->measure.mask) {
        keep_mask(c->texts, &c->result);
    }
    set_full(c);
    return IH_OK;
}

/* Overwrites empty counts. */
static enum ih_status copy(struct ih_counts *c, const struct ih_counts *other, struct ih_error *err)
{
    const bool has_texts = other->texts && other->result.info.format == other->texts->format;
    const bool has_mask = other->texts && other->result.measure.mask == other->texts->mask;
    if ((other->is_sum && reserve(&c->total, sizeof *c->total, err) != IH_OK) ||
        ((has_texts || has_mask) && reserve(&c->texts, sizeof *c->texts, err) != IH_OK))
        return IH_MEMORY;
    if (other->is_sum)
        ih_total_reset(c->total);
    c->result = other->result;
    if ((other->is_sum
             ? ih_total_copy(c->total, other->total, err)
             : ih_histogram_copy(&c->result.histogram, &other->result.histogram, err)) != IH_OK)
        return IH_MEMORY;
    c->is_sum = other->is_sum;
    if (has_texts)
        keep_texts(c->texts, &c->result);
    else if (has_mask)
        keep_mask(c->texts, &c->result);
    if (c->is_sum)
        ih_total_result(c->total, &c->result);
    set_full(c);
    return IH_OK;
}

static bool is_of_label(const struct ih_result *r)
{
    return r->measure.mask && strcmp(r->measure.mask, IH_MASK_LABELS) == 0;
}

enum ih_status ih_counts_add(struct ih_counts *c, const struct ih_counts *other,
                             struct ih_error *err)
{
    if (other->is_empty)
        return IH_OK;
    if (c->is_empty)
        return copy(c, other, err);
    enum ih_status status = reserve(&c->total, sizeof *c->total, err);
    if (status == IH_OK && !c->is_sum) {
        ih_total_reset(c->total);
        ih_total_init(c->total, &c->result.measure);
        status = ih_total_add(c->total, &c->result, err);
    }
    if (status == IH_OK)
        status = ih_total_add(c->total, &other->result, err);
    if (status == IH_USAGE && is_of_label(&c->result) != is_of_label(&other->result))
        return ih_error_set(err, IH_USAGE, "counts of a label are added only to counts of labels");
    if (status != IH_OK)
        return status; /* the total is unchanged, or unused because is_sum is false */
    if (!c->is_sum)
        ih_histogram_reset(&c->result.histogram);
    ih_total_result(c->total, &c->result);
    c->is_sum = true;
    set_full(c);
    return IH_OK;
}

/* ---- queries ---- */

/* Copies the fields that the caller knows; fields that only the caller knows become 0. */
static void copy_out(void *to, size_t to_bytes, const void *from, size_t from_bytes)
{
    memset(to, 0, to_bytes);
    memcpy(to, from, to_bytes < from_bytes ? to_bytes : from_bytes);
}

void ih_counts_summary(const struct ih_counts *c, struct ih_summary *summary, size_t size_bytes)
{
    struct ih_summary s;
    memset(&s, 0, sizeof s);
    s.format = s.decoder = s.kernel = s.luma = s.alpha = s.version = s.reduction = s.range = "";
    s.region = s.mask = "";
    s.samples = ih_sample_type_name(IH_UINT8);
    s.mean_luminance = (double)NAN;
    s.source_min = 1;
    if (!c->is_empty) {
        const struct ih_result *r = &c->result;
        const struct ih_histogram *h = &r->histogram;
        s.n_images = r->is_total ? r->n_images : 1;
        s.n_pixels = h->n_pixels;
        s.width = r->info.width;
        s.height = r->info.height;
        s.n_channels = h->layout.n_channels;
        s.source_depth = r->info.source_depth;
        s.format = r->info.format ? r->info.format : "";
        s.decoder = r->library ? r->library : "";
        s.kernel = r->kernel ? r->kernel : "";
        s.luma = r->measure.luma->name;
        s.alpha = ih_alpha_name(r->measure.alpha);
        s.samples = ih_sample_type_name(h->type);
        s.is_float = ih_is_float(h->type);
        s.is_signed = !ih_is_unsigned(h->type);
        if (!s.is_signed) {
            s.clip_low = r->measure.clip_low;
            s.clip_high = r->measure.clip_high;
        }
        s.crushed_any = h->any_low;
        s.blown_any = h->any_high;
        s.warnings = r->info.warnings;
        s.version = r->version ? r->version : IH_VERSION;
        s.reduction = c->reduction;
        s.range = ih_range_names[r->info.range];
        s.n_frames = r->info.n_frames;
        s.not_applied = r->info.not_applied;
        if (r->info.extremes.end > 0) {
            s.source_min = r->info.extremes.min;
            s.source_max = r->info.extremes.end - 1;
        }
        s.n_failed = r->is_total ? r->n_failed : 0;
        s.region = r->measure.region ? r->measure.region : "";
        s.mask = r->measure.mask ? r->measure.mask : "";
        s.has_label = r->has_label;
        s.label = r->label;
        s.crushed_all = h->all_low;
        s.blown_all = h->all_high;
        s.mean_luminance = ih_mean_luminance(h);
    }
    copy_out(summary, size_bytes, &s, sizeof s);
}

const char *ih_counts_plane(const struct ih_counts *c, unsigned plane)
{
    const struct ih_histogram *const h = &c->result.histogram;
    const bool is_absent = c->is_empty || (plane == IH_LUMA && !ih_has_luma(h));
    return is_absent || !ih_plane_name(h->layout, plane) ? NULL : ih_histogram_plane(h, plane);
}

const uint64_t *ih_counts_bins(const struct ih_counts *c, unsigned plane)
{
    return ih_counts_plane(c, plane) ? ih_bins(&c->result.histogram, plane) : NULL;
}

unsigned ih_counts_n_bins(const struct ih_counts *c)
{
    return c->is_empty ? IH_BINS : c->result.histogram.n_bins;
}

enum ih_status ih_counts_stats(const struct ih_counts *c, unsigned plane, struct ih_stats *stats,
                               size_t size_bytes, struct ih_error *err)
{
    struct ih_stats s;
    if (!ih_counts_plane(c, plane))
        return ih_error_set(err, IH_USAGE, "the counts have no plane %u", plane);
    ih_stats_compute(&c->result.histogram, plane, &c->result.measure, &s);
    copy_out(stats, size_bytes, &s, sizeof s);
    return IH_OK;
}

enum ih_status ih_counts_percentile(const struct ih_counts *c, unsigned plane, uint32_t millionths,
                                    double *value, struct ih_error *err)
{
    if (!ih_counts_plane(c, plane))
        return ih_error_set(err, IH_USAGE, "the counts have no plane %u", plane);
    if (millionths > 100 * IH_PERCENT)
        return ih_error_set(err, IH_USAGE, "a percentile goes from 0 to 100");
    const unsigned v = ih_percentile(&c->result.histogram, plane, millionths);
    if (v == UINT_MAX)
        return ih_error_set(err, IH_USAGE, "there are no pixels");
    *value = ih_value_of(&c->result.histogram, plane, v);
    return IH_OK;
}

uint64_t ih_counts_fingerprint(const struct ih_counts *c)
{
    return c->is_empty ? 0 : ih_fingerprint(&c->result.histogram);
}

enum ih_status ih_counts_field(const struct ih_counts *c, const char *name, double sigma,
                               struct ih_value *value, size_t size_bytes, struct ih_error *err)
{
    struct ih_columns columns = {0};
    struct ih_field_list list;
    struct ih_record_view view;
    struct ih_field_value found = {.type = IH_TYPE_NONE};
    const struct ih_field_set fields = {.columns = columns.of_record,
                                        .of_channel = columns.of_channel,
                                        .which = "imghist --fields=help lists them",
                                        .highest = HUGE_VAL,
                                        .sigma = sigma > 0 ? sigma : 3};
    if (!(sigma >= 0))
        return ih_error_set(err, IH_USAGE, "sigma is below 0");
    ih_columns_list(&columns, IH_AGAINST);
    if (ih_field_list_parse(name, &fields, false, &list, err) != IH_OK)
        return err->status;
    if (list.n > 1)
        return ih_error_set(err, IH_USAGE, "'%.40s' are several fields", name);
    if (!c->is_empty) {
        ih_record_view_init(&view, &c->result);
        found = ih_named_field_value(&list.fields[0], &view);
    }
    struct ih_value v = {found.type, found.is_negative, found.integer, found.real, ""};
    if (found.type == IH_TYPE_TEXT)
        snprintf(v.text, sizeof v.text, "%s", found.text);
    copy_out(value, size_bytes, &v, sizeof v);
    return IH_OK;
}
