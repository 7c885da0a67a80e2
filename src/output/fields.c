#include "output/fields.h"

#include <math.h>

const struct ih_field_type ih_field_types[IH_N_FIELDS] = {
#define FIELD(name, kind, has_share, high) \
    [IH_FIELD_##name] = {#name, IH_KIND_##kind, has_share, high},
    IH_FIELDS(FIELD)
#undef FIELD
};

const struct ih_field_set ih_record_fields = {
    ih_field_types, IH_N_FIELDS, "fields are the columns of --csv=images, and texts are quoted",
    NULL};

static const struct ih_field_type comparison_types[IH_N_COMPARISON_FIELDS] = {
    [IH_COMPARISON_ks] = {"ks", IH_KIND_REAL, true, 1},
    [IH_COMPARISON_emd] = {"emd", IH_KIND_REAL, false, 255},
};

const struct ih_field_set ih_comparison_fields = {comparison_types, IH_N_COMPARISON_FIELDS,
                                                  "fields of a comparison are ks and emd", NULL};

static void set_text(struct ih_field_value *value, const char *text)
{
    if (text)
        *value = (struct ih_field_value){.kind = IH_KIND_TEXT, .text = text};
}

static void set_integer(struct ih_field_value *value, uint64_t n)
{
    *value = (struct ih_field_value){.kind = IH_KIND_INTEGER, .integer = n, .real = (double)n};
}

/* Real fields with a share go from 0 to 1. */
static void set_real(struct ih_field_value *value, double real)
{
    if (!isnan(real))
        *value = (struct ih_field_value){.kind = IH_KIND_REAL, .real = real, .whole = 1};
}

/* Sets a count of pixels and, in the next field, its share. */
static void set_clipped(struct ih_field_value *value, uint64_t n, uint64_t n_pixels)
{
    set_integer(&value[0], n);
    value[0].whole = (double)n_pixels;
    if (n_pixels > 0)
        set_real(&value[1], (double)n / (double)n_pixels);
}

/* Statistics of luma, which an empty image lacks. */
static void set_statistics(struct ih_field_value *values, const struct ih_stats *luma)
{
    set_real(&values[IH_FIELD_mean_luma], luma->mean);
    set_real(&values[IH_FIELD_stddev], luma->stddev);
    set_real(&values[IH_FIELD_entropy], luma->entropy);
    for (unsigned i = 0; i < IH_PERCENTILES; i++) {
        const unsigned percent = ih_percentile_percents[i];
        const enum ih_field field = percent == 1    ? IH_FIELD_p01
                                    : percent == 50 ? IH_FIELD_median
                                    : percent == 99 ? IH_FIELD_p99
                                                    : IH_N_FIELDS;
        if (field < IH_N_FIELDS)
            set_integer(&values[field], luma->percentile[i]);
    }
}

void ih_fields_compute(const struct ih_result *r, struct ih_field_value values[IH_N_FIELDS])
{
    const struct ih_histogram *h = &r->histogram;
    struct ih_stats luma;
    for (unsigned i = 0; i < IH_N_FIELDS; i++)
        values[i] = (struct ih_field_value){.kind = IH_KIND_NONE};
    set_text(&values[IH_FIELD_file], r->path);
    set_text(&values[IH_FIELD_status], r->status == IH_OK ? "ok" : "error");
    if (r->status != IH_OK) {
        set_text(&values[IH_FIELD_error], r->error.message);
        return;
    }
    if (!r->is_total) { /* the images of a total differ in these */
        set_text(&values[IH_FIELD_format], r->info.format);
        set_integer(&values[IH_FIELD_width], r->info.width);
        set_integer(&values[IH_FIELD_height], r->info.height);
        set_integer(&values[IH_FIELD_depth], r->info.source_depth);
    }
    if (r->info.extremes.end > 0) {
        set_integer(&values[IH_FIELD_source_min], r->info.extremes.min);
        set_integer(&values[IH_FIELD_source_max], r->info.extremes.end - 1);
    }
    set_integer(&values[IH_FIELD_pixels], h->n_pixels);
    set_clipped(&values[IH_FIELD_blown_any], h->any_high, h->n_pixels);
    set_clipped(&values[IH_FIELD_blown_all], h->all_high, h->n_pixels);
    set_clipped(&values[IH_FIELD_crushed_any], h->any_low, h->n_pixels);
    set_clipped(&values[IH_FIELD_crushed_all], h->all_low, h->n_pixels);
    set_real(&values[IH_FIELD_mean_luminance], ih_mean_luminance(h));
    ih_result_stats(r, IH_LUMA, &luma);
    if (luma.count > 0)
        set_statistics(values, &luma);
}

void ih_comparison_fields_compute(const struct ih_comparison *c,
                                  struct ih_field_value values[IH_N_COMPARISON_FIELDS])
{
    for (unsigned i = 0; i < IH_N_COMPARISON_FIELDS; i++)
        values[i] = (struct ih_field_value){.kind = IH_KIND_NONE};
    set_real(&values[IH_COMPARISON_ks], c->largest.ks);
    set_real(&values[IH_COMPARISON_emd], c->largest.emd);
}
