#include "output/schema.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- tables ---- */

#define OF(member) offsetof(struct ih_result, member)
#define LUMA(member) offsetof(struct ih_stats, member)
#define FIELD(key, column, kind, offset, in, high) \
    {{key, IH_FIELD_##kind, offset, NULL}, column, in, high},

const struct ih_record_field ih_schema[IH_N_FIELDS] = {
#include "output/schema.def"
};

_Static_assert(IH_N_FIELDS <= 64, "a reader has a bit for each");

const struct ih_field ih_clip_limits_fields[] = {
    {"low", IH_FIELD_BYTE, offsetof(struct ih_count_spec, clip_low), NULL},
    {"high", IH_FIELD_BYTE, offsetof(struct ih_count_spec, clip_high), NULL},
    {NULL, 0, 0, NULL}};

const struct ih_field ih_clip_fields[] = {
    {"any_low", IH_FIELD_COUNT, offsetof(struct ih_histogram, any_low), NULL},
    {"any_high", IH_FIELD_COUNT, offsetof(struct ih_histogram, any_high), NULL},
    {"all_low", IH_FIELD_COUNT, offsetof(struct ih_histogram, all_low), NULL},
    {"all_high", IH_FIELD_COUNT, offsetof(struct ih_histogram, all_high), NULL},
    {NULL, 0, 0, NULL}};

const char *const ih_not_applied_names[] = {"icc_profile", "gamma", "colour_space", "orientation",
                                            NULL};

const struct ih_field ih_distance_fields[] = {
    {"ks", IH_FIELD_REAL, offsetof(struct ih_distance, ks), NULL},
    {"emd", IH_FIELD_REAL, offsetof(struct ih_distance, emd), NULL},
    {NULL, 0, 0, NULL}};

static const struct ih_record_field comparison_schema[IH_N_COMPARISON_FIELDS] = {
    {{NULL, IH_FIELD_REAL, 0, NULL}, "ks", IH_SHARE, 1},
    {{NULL, IH_FIELD_REAL, 0, NULL}, "emd", 0, 255}};

const struct ih_field_set ih_record_fields = {
    ih_schema, IH_N_FIELDS, "fields are the columns of --csv=images, and texts are quoted", NULL};

const struct ih_field_set ih_comparison_fields = {comparison_schema, IH_N_COMPARISON_FIELDS,
                                                  "fields of a comparison are ks and emd", NULL};

/* ---- values ---- */

enum ih_value_type ih_field_value_type(const struct ih_record_field *f)
{
    switch (f->field.kind) {
    case IH_FIELD_REAL:
    case IH_FIELD_LUMA_REAL:
    case IH_FIELD_LUMINANCE:
    case IH_FIELD_SHARE:
        return IH_TYPE_REAL;
    case IH_FIELD_COUNT:
    case IH_FIELD_UNSIGNED:
    case IH_FIELD_SOURCE_MIN:
    case IH_FIELD_SOURCE_MAX:
    case IH_FIELD_LUMA_VALUE:
    case IH_FIELD_CLIPPED:
        return IH_TYPE_INTEGER;
    default:
        return IH_TYPE_TEXT;
    }
}

unsigned ih_record_kind(const struct ih_result *r)
{
    return r->is_end            ? IH_IN_END
           : r->status != IH_OK ? IH_IN_FAILURE
           : r->is_total        ? IH_IN_TOTAL
                                : IH_IN_IMAGE;
}

void ih_record_view_init(struct ih_record_view *v, const struct ih_result *r)
{
    v->result = r;
    v->kind = ih_record_kind(r);
    v->luma.count = 0;
    if (r->is_end || r->status != IH_OK)
        return;
    ih_result_stats(r, IH_LUMA, &v->luma);
    v->luminance = ih_mean_luminance(&r->histogram);
}

static struct ih_field_value text_value(const char *text)
{
    if (!text)
        return (struct ih_field_value){.type = IH_TYPE_NONE};
    return (struct ih_field_value){.type = IH_TYPE_TEXT, .text = text};
}

static struct ih_field_value integer_value(uint64_t n)
{
    return (struct ih_field_value){.type = IH_TYPE_INTEGER, .integer = n, .real = (double)n};
}

/* Real fields with a share go from 0 to 1. */
static struct ih_field_value real_value(double real)
{
    if (isnan(real))
        return (struct ih_field_value){.type = IH_TYPE_NONE};
    return (struct ih_field_value){.type = IH_TYPE_REAL, .real = real, .whole = 1};
}

static struct ih_field_value known(const char *text)
{
    return text_value(text && *text ? text : NULL);
}

static struct ih_field_value printed(struct ih_record_view *v, bool is_known)
{
    return text_value(is_known ? v->text : NULL);
}

static struct ih_field_value made_text(struct ih_record_view *v, const struct ih_field *f)
{
    const struct ih_result *r = v->result;
    if (f->kind == IH_FIELD_REDUCTION) {
        ih_reduction_print(r->sample_range, v->text);
        return printed(v, true);
    }
    if (f->kind == IH_FIELD_SHARD) {
        snprintf(v->text, sizeof v->text, "%u/%u", r->shard, r->n_shards);
        return printed(v, r->n_shards > 0);
    }
    const uint64_t hash = *(const uint64_t *)(const void *)((const char *)r + f->offset_bytes);
    snprintf(v->text, sizeof v->text, "%016" PRIx64, hash);
    return printed(v, hash != 0);
}

/* The kinds that stand for one member, and what is computed from it. */
static struct ih_field_value member_value(const struct ih_record_view *v, const struct ih_field *f)
{
    const struct ih_result *r = v->result;
    const void *at = (const char *)r + f->offset_bytes;
    const void *of_luma = (const char *)&v->luma + f->offset_bytes;
    const uint64_t n_pixels = r->histogram.n_pixels;
    struct ih_field_value value;
    switch (f->kind) {
    case IH_FIELD_COUNT:
        return integer_value(*(const uint64_t *)at);
    case IH_FIELD_LUMA_REAL:
        return real_value(v->luma.count ? *(const double *)of_luma : (double)NAN);
    case IH_FIELD_LUMA_VALUE:
        return v->luma.count ? integer_value(*(const unsigned *)of_luma) : text_value(NULL);
    case IH_FIELD_CLIPPED:
        value = integer_value(*(const uint64_t *)at);
        value.whole = (double)n_pixels;
        return value;
    case IH_FIELD_SHARE:
        return real_value(n_pixels ? (double)*(const uint64_t *)at / (double)n_pixels
                                   : (double)NAN);
    case IH_FIELD_FORMAT:
    case IH_FIELD_FILE:
        return text_value(*(const char *const *)at);
    default:
        return known(*(const char *const *)at);
    }
}

struct ih_field_value ih_record_value(struct ih_record_view *v, const struct ih_record_field *field)
{
    const struct ih_result *r = v->result;
    const struct ih_field *f = &field->field;
    unsigned n;
    if (!(field->in & v->kind))
        return text_value(NULL);
    switch (f->kind) {
    case IH_FIELD_SCHEMA:
        return text_value(IH_SCHEMA);
    case IH_FIELD_VERSION:
        return known(r->version ? r->version : IH_VERSION);
    case IH_FIELD_STATUS:
        return text_value(r->is_end ? "end" : r->status == IH_OK ? "ok" : "error");
    case IH_FIELD_ERROR:
        return text_value(r->error.message);
    case IH_FIELD_RANGE:
        return known(ih_range_names[r->info.range]);
    case IH_FIELD_WEIGHTS:
        return text_value(r->spec.luma->name);
    case IH_FIELD_ALPHA:
        return text_value(ih_alpha_name(r->alpha));
    case IH_FIELD_LUMINANCE:
        return real_value(v->luminance);
    case IH_FIELD_UNSIGNED: /* an optional one: 0 is not known */
        n = *(const unsigned *)(const void *)((const char *)r + f->offset_bytes);
        return n > 0 || !(field->in & IH_OPTIONAL) ? integer_value(n) : text_value(NULL);
    case IH_FIELD_SOURCE_MIN:
        return r->info.extremes.end ? integer_value(r->info.extremes.min) : text_value(NULL);
    case IH_FIELD_SOURCE_MAX:
        return r->info.extremes.end ? integer_value(r->info.extremes.end - 1) : text_value(NULL);
    case IH_FIELD_REDUCTION:
    case IH_FIELD_SHARD:
    case IH_FIELD_HASH:
        return made_text(v, f);
    case IH_FIELD_FILE_BYTES:
    case IH_FIELD_IS_TOTAL:
    case IH_FIELD_POSITION:
    case IH_FIELD_CLIP_LIMITS:
    case IH_FIELD_CLIP:
    case IH_FIELD_NOT_APPLIED:
    case IH_FIELD_WARNINGS:
    case IH_FIELD_CHANNELS:
    case IH_FIELD_SRGB:
        return text_value(NULL);
    default:
        return member_value(v, f);
    }
}

void ih_fields_compute(const struct ih_result *result, struct ih_field_value values[IH_N_FIELDS])
{
    struct ih_record_view view;
    ih_record_view_init(&view, result);
    for (unsigned i = 0; i < IH_N_FIELDS; i++)
        if (ih_schema[i].column)
            values[i] = ih_record_value(&view, &ih_schema[i]);
}

void ih_comparison_fields_compute(const struct ih_comparison *c,
                                  struct ih_field_value values[IH_N_COMPARISON_FIELDS])
{
    values[0] = real_value(c->largest.ks);
    values[1] = real_value(c->largest.emd);
}
