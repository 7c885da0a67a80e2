#include "output/schema.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
    {"low", IH_FIELD_SHORT, offsetof(struct ih_measure, clip_low), NULL},
    {"high", IH_FIELD_SHORT, offsetof(struct ih_measure, clip_high), NULL},
    {NULL, 0, 0, NULL}};

const struct ih_field ih_clip_fields[] = {
    {"crushed_any", IH_FIELD_COUNT, offsetof(struct ih_histogram, any_low), NULL},
    {"blown_any", IH_FIELD_COUNT, offsetof(struct ih_histogram, any_high), NULL},
    {"crushed_all", IH_FIELD_COUNT, offsetof(struct ih_histogram, all_low), NULL},
    {"blown_all", IH_FIELD_COUNT, offsetof(struct ih_histogram, all_high), NULL},
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
    ih_schema, IH_N_FIELDS, "fields are the columns of --csv=images, and texts are quoted",
    true,      255,         NULL,
    0,         false};

const struct ih_field_set ih_comparison_fields = {comparison_schema,
                                                  IH_N_COMPARISON_FIELDS,
                                                  "fields of --diff are ks and emd",
                                                  false,
                                                  255,
                                                  NULL,
                                                  0,
                                                  false};

bool ih_is_statistic(const char *key)
{
    const struct ih_field *f = ih_stats_table;
    while (f->key && strcmp(f->key, key) != 0)
        f++;
    return f->key != NULL;
}

bool ih_is_column(const char *key)
{
    for (unsigned i = 0; i < IH_N_FIELDS; i++)
        if (ih_schema[i].column && strcmp(ih_schema[i].column, key) == 0)
            return true;
    return false;
}

/* ---- values ---- */

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
    if (r->is_end || r->status != IH_OK)
        return;
    ih_result_stats(r, IH_LUMA, &v->luma);
    v->luminance = r->is_read ? r->luminance : ih_mean_luminance(&r->histogram);
}

static const struct ih_field_value none = {.type = IH_TYPE_NONE};

static struct ih_field_value text_value(const char *text, bool is_known)
{
    return is_known ? (struct ih_field_value){.type = IH_TYPE_TEXT, .text = text} : none;
}

static struct ih_field_value integer_value(uint64_t n, bool is_known)
{
    return is_known
               ? (struct ih_field_value){.type = IH_TYPE_INTEGER, .integer = n, .real = (double)n}
               : none;
}

/* Real fields with a share go from 0 to 1. */
static struct ih_field_value real_value(double real)
{
    return isnan(real) ? none
                       : (struct ih_field_value){.type = IH_TYPE_REAL, .real = real, .whole = 1};
}

static bool is_utf8(const char *text)
{
    unsigned long c;
    size_t n = 1;
    for (; *text && n > 0; text += n)
        n = ih_utf8_length(text, &c);
    return n > 0;
}

static bool has_other(const struct ih_result *r, unsigned kind)
{
    return kind == IH_FIELD_FILE_BYTES ? !is_utf8(r->path)
           : kind == IH_FIELD_POSITION ? r->n_shards || r->inputs_hash
           : kind == IH_FIELD_WARNINGS ? r->info.warnings != 0
           : kind == IH_FIELD_NOT_COUNTED
               ? r->info.n_not_counted > 0 || (r->info.warnings & IH_WARNING_MORE_IMAGES)
           : kind == IH_FIELD_SRGB
               ? (r->info.not_applied & IH_NOT_SRGB) || !(r->info.not_applied & IH_MAYBE_SRGB)
               : true;
}

static void print_warnings(unsigned warnings, char *text, size_t size)
{
    size_t n = 0;
    for (unsigned w = 1; w < IH_WARNINGS_END; w *= 2)
        if ((warnings & w) && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "; " : "",
                                  ih_warning_words((enum ih_warning)w));
}

struct ih_field_value ih_record_value(struct ih_record_view *v, const struct ih_record_field *field)
{
    const struct ih_result *r = v->result;
    const struct ih_field *f = &field->field;
    const struct ih_extremes *extremes = &r->info.extremes;
    const uint64_t n_pixels = r->histogram.n_pixels;
    const void *at = (const char *)r + f->offset_bytes,
               *of_luma = (const char *)&v->luma + f->offset_bytes;
    struct ih_field_value value;
    const char *text;
    unsigned n;
    if (!(field->in & v->kind) || ih_field_is_absent(field, r))
        return none;
    switch (f->kind) {
    case IH_FIELD_COUNT:
        return integer_value(*(const uint64_t *)at, true);
    case IH_FIELD_UNSIGNED:
    case IH_FIELD_BINS:
        n = *(const unsigned *)at;
        return integer_value(n, n > 0 || !(field->in & IH_OPTIONAL));
    case IH_FIELD_SOURCE_MIN:
        return integer_value(extremes->min, extremes->end > 0);
    case IH_FIELD_SOURCE_MAX:
        return integer_value(extremes->end - 1, extremes->end > 0);
    case IH_FIELD_LUMA_VALUE:
        return integer_value(*(const unsigned *)of_luma, v->luma.count > 0);
    case IH_FIELD_CLIPPED:
        value = integer_value(*(const uint64_t *)at, true);
        value.whole = (double)n_pixels;
        return value;
    case IH_FIELD_LUMA_REAL:
        return real_value(*(const double *)of_luma);
    case IH_FIELD_LUMINANCE:
        return real_value(v->luminance);
    case IH_FIELD_DISTANCE:
        return r->has_distance ? real_value(*(const double *)at) : none;
    case IH_FIELD_SHARE:
        return real_value((double)*(const uint64_t *)at / (double)n_pixels);
    case IH_FIELD_SCHEMA:
        return text_value(IH_SCHEMA, true);
    case IH_FIELD_STATUS:
        return text_value(r->is_end ? "end" : r->status == IH_OK ? "ok" : "error", true);
    case IH_FIELD_ERROR:
        return text_value(r->error.message, true);
    case IH_FIELD_RANGE:
        return text_value(ih_range_names[r->info.range], r->info.range != IH_RANGE_UNKNOWN);
    case IH_FIELD_WEIGHTS:
        return text_value(r->measure.luma->name, true);
    case IH_FIELD_ALPHA:
        return text_value(ih_alpha_name(r->measure.alpha), true);
    case IH_FIELD_REDUCTION:
        ih_reduction_print(r->measure.range, r->measure.n_bins, v->text);
        return text_value(v->text, true);
    case IH_FIELD_SHARD:
        snprintf(v->text, sizeof v->text, "%u/%u", r->shard, r->n_shards);
        return text_value(v->text, r->n_shards > 0);
    case IH_FIELD_WARNING_TEXTS:
        print_warnings(r->info.warnings, v->warnings, sizeof v->warnings);
        return text_value(v->warnings, r->info.warnings != 0);
    case IH_FIELD_HASH:
        snprintf(v->text, sizeof v->text, "%016" PRIx64, *(const uint64_t *)at);
        return text_value(v->text, *(const uint64_t *)at != 0);
    default:
        if (f->kind >= IH_FIELD_FILE_BYTES)
            return (struct ih_field_value){.type = has_other(r, f->kind) ? IH_TYPE_OTHER
                                                                         : IH_TYPE_NONE};
        text = *(const char *const *)at;
        if (f->kind == IH_FIELD_VERSION && !text)
            text = IH_VERSION;
        return text_value(
            text, text && (*text || f->kind == IH_FIELD_FORMAT || f->kind == IH_FIELD_FILE));
    }
}

char *ih_put_field(char *text, const struct ih_field *field, const void *from, bool has_values)
{
    const void *at = (const char *)from + field->offset_bytes;
    if (field->kind == IH_FIELD_REAL)
        return ih_put_real(text, *(const double *)at);
    if (field->kind != IH_FIELD_VALUE || has_values)
        text = ih_format_count(text, field->kind == IH_FIELD_COUNT   ? *(const uint64_t *)at
                                     : field->kind == IH_FIELD_VALUE ? *(const unsigned *)at
                                                                     : *(const uint16_t *)at);
    *text = '\0';
    return text;
}

const char *ih_format_field(const struct ih_field *field, const void *from, bool has_values,
                            char text[IH_REAL_MAX])
{
    ih_put_field(text, field, from, has_values);
    return text;
}

void ih_fields_compute(struct ih_record_view *view, const struct ih_result *result,
                       struct ih_field_value values[IH_N_FIELDS])
{
    ih_record_view_init(view, result);
    for (unsigned i = 0; i < IH_N_FIELDS; i++)
        if (ih_schema[i].column)
            values[i] = ih_record_value(view, &ih_schema[i]);
}

struct ih_record_field ih_statistic_field(const struct ih_field *s)
{
    static const struct {
        const char *key;
        unsigned in;
        double high;
    } others[] = {{"mean", 0, 255},           {"stddev", 0, 127.5},
                  {"entropy", 0, 8},          {"skewness", IH_SIGNED, 0},
                  {"kurtosis", IH_SIGNED, 0}, {"mode_share", IH_SHARE, 1},
                  {"crushed", IH_SHARE, 0},   {"blown", IH_SHARE, 0}};
    struct ih_record_field field = {*s, s->key, 0, s->kind == IH_FIELD_VALUE ? 255 : 0};
    if (s->kind == IH_FIELD_VALUE)
        field.field.kind = IH_FIELD_LUMA_VALUE;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].key, s->key) == 0) {
            field.in = others[i].in;
            field.high = others[i].high;
        }
    return field;
}

/* IH_PLANES: the result has no such channel. */
static unsigned plane_of(const struct ih_result *r, const char *channel)
{
    unsigned p = 0;
    if (r->is_end || r->status != IH_OK)
        return IH_PLANES;
    for (const char *name; p < IH_PLANES; p++)
        if ((name = ih_plane_name(r->histogram.n_channels, p)) && strcmp(name, channel) == 0)
            break;
    return p;
}

struct ih_field_value ih_statistic_value(const struct ih_result *r, const char *channel,
                                         const struct ih_field *f)
{
    const unsigned p = plane_of(r, channel);
    struct ih_stats stats;
    if (p == IH_PLANES)
        return none;
    ih_result_stats(r, p, &stats);
    const void *at = (const char *)&stats + f->offset_bytes;
    if (f->kind == IH_FIELD_REAL)
        return real_value(*(const double *)at);
    if (f->kind != IH_FIELD_COUNT)
        return integer_value(*(const unsigned *)at, stats.count > 0);
    struct ih_field_value value = integer_value(*(const uint64_t *)at, true);
    value.whole = (double)stats.count;
    return value;
}

struct ih_field_value ih_percentile_value(const struct ih_result *r, const char *channel,
                                          uint32_t millionths)
{
    const unsigned p = plane_of(r, channel);
    const unsigned v = p < IH_PLANES ? ih_percentile(&r->histogram, p, millionths) : UINT_MAX;
    return integer_value(v, v != UINT_MAX);
}

void ih_comparison_fields_compute(const struct ih_comparison *c,
                                  struct ih_field_value values[IH_N_COMPARISON_FIELDS])
{
    values[0] = real_value(c->largest.ks);
    values[1] = real_value(c->largest.emd);
}
