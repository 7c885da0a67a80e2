#include "output/schema.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

#define OF(member) offsetof(struct ih_result, member)
#define LUMA(member) offsetof(struct ih_stats, member)
#define FIELD(key, column, kind, offset, in, high, meaning) \
    {{key, IH_FIELD_##kind, offset, meaning}, column, in, high, 0},

const struct ih_column ih_schema[IH_N_FIELDS] = {
#include "output/schema.def"
};

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

const struct ih_field ih_exact_fields[] = {{"sum", IH_FLOAT_SUM, 0, NULL},
                                           {"squares", IH_FLOAT_SQUARES, 0, NULL},
                                           {"min", IH_FLOAT_MIN, 0, NULL},
                                           {"max", IH_FLOAT_MAX, 0, NULL},
                                           {NULL, 0, 0, NULL}};

const struct ih_field ih_distance_fields[] = {
    {"ks", IH_FIELD_REAL, offsetof(struct ih_distance, ks), NULL},
    {"emd", IH_FIELD_REAL, offsetof(struct ih_distance, emd), NULL},
    {NULL, 0, 0, NULL}};

#define COUNTED_CHANNEL (IH_IN_IMAGE | IH_IN_TOTAL | IH_OF_CHANNEL)
#define STATISTIC(key, kind, member, in, high, meaning)                  \
    {{key, IH_FIELD_##kind, offsetof(struct ih_stats, member), meaning}, \
     key,                                                                \
     COUNTED_CHANNEL | (in),                                             \
     high,                                                               \
     0},

static const struct ih_column statistics[] = {
#include "histogram/statistics.def"
};
enum { N_STATISTICS = sizeof statistics / sizeof *statistics };

#define ROBUST(name, kind, which, in, high, meaning)                                   \
    {                                                                                  \
        {name, IH_FIELD_##kind, which, meaning}, name, COUNTED_CHANNEL | (in), high, 0 \
    }
#define CLIPPED_REST(member, high, meaning)                                                    \
    ROBUST("clipped_" #member, CLIPPED_REST, offsetof(struct ih_clipped, member), IH_BY_SIGMA, \
           high, meaning)

#define APART(member, meaning) \
    ROBUST(#member, COUNT, offsetof(struct ih_stats, member), 0, 0, meaning)

const struct ih_column ih_robust_columns[] = {
    ROBUST("mad", SPREAD, IH_ROBUST_MAD, 0, 255,
           "least distance from the median that holds half of the pixels"),
    ROBUST("iqr", SPREAD, IH_ROBUST_IQR, 0, 255, "p75 - p25"),
    CLIPPED_REST(mean, 255, "mean without the values far from the median (--sigma-clip)"),
    CLIPPED_REST(median, 255, "median of the same"),
    CLIPPED_REST(stddev, 127.5, "standard deviation of the same"),
    APART(nodata, "pixels that stand for no data, which are in no bin"),
    APART(nan, "pixels that are NaN; only of floats"),
    APART(positive_infinity, "the same for +infinity"),
    APART(negative_infinity, "the same for -infinity"),
};

/* ---- the columns of a run ---- */

const struct ih_column *ih_column_find(const struct ih_column *const *columns, const char *name,
                                       size_t n)
{
    while (*columns && !(strncmp((*columns)->name, name, n) == 0 && !(*columns)->name[n]))
        columns++;
    return *columns;
}

bool ih_channel_column_find(const struct ih_column *const *columns, const char *name, size_t n,
                            struct ih_column *out)
{
    const struct ih_column *found = ih_column_find(columns, name, n);
    for (size_t i = 0; i < IH_ROBUST_COLUMNS && !found; i++)
        if (strncmp(ih_robust_columns[i].name, name, n) == 0 && !ih_robust_columns[i].name[n])
            found = &ih_robust_columns[i];
    if (found)
        *out = *found;
    return found != NULL;
}

/* The comparisons that --share takes, in the names of shares too. A sign comes before its
 * beginning. */
static const struct {
    const char *sign, *name;
    unsigned sides;
} comparisons[] = {{"<=", "share_le_", IH_BELOW | IH_AT},
                   {">=", "share_ge_", IH_AT | IH_ABOVE},
                   {"<", "share_lt_", IH_BELOW},
                   {">", "share_gt_", IH_ABOVE}};
enum { N_COMPARISONS = sizeof comparisons / sizeof *comparisons, LIMIT_MAX = 8 };

/* Reads a number in plain digits. */
static bool parse_limit(const char *text, size_t n, double *limit)
{
    char number[LIMIT_MAX + 1] = "";
    if (n == 0 || n > LIMIT_MAX)
        return false;
    memcpy(number, text, n);
    const char *const digits = number + (*number == '-'), *const point = strchr(digits, '.');
    const size_t n_whole = strspn(digits, "0123456789");
    const size_t n_part = point ? strspn(point + 1, "0123456789") : 0;
    *limit = strtod(number, NULL);
    return n_whole > 0 && (point ? n_part > 0 : true) &&
           digits[n_whole + (point ? 1 + n_part : 0)] == '\0';
}

bool ih_choice_parse(const char *name, size_t n, struct ih_column *out)
{
    const size_t n_prefix = strlen(comparisons[0].name);
    uint32_t percent;
    *out = (struct ih_column){
        .field = {.kind = IH_FIELD_PERCENTILE}, .in = COUNTED_CHANNEL, .high = 255};
    if (n > 1 && *name == 'p' && ih_percent_parse(name + 1, n - 1, &percent)) {
        out->parameter = percent;
        return true;
    }
    for (unsigned i = 0; i < N_COMPARISONS && n > n_prefix; i++)
        if (strncmp(name, comparisons[i].name, n_prefix) == 0) {
            out->field =
                (struct ih_field){.kind = IH_FIELD_SIDE, .offset_bytes = comparisons[i].sides};
            out->in |= IH_SHARE;
            out->high = 1;
            return parse_limit(name + n_prefix, n - n_prefix, &out->parameter);
        }
    return false;
}

/* Adds the column of choice with this name, unless it is there: one that is given twice is one. */
static enum ih_status choose(struct ih_columns *c, const char *name, struct ih_error *err)
{
    unsigned i = 0;
    while (c->chosen[i] && strcmp(c->chosen[i]->name, name) != 0)
        i++;
    if (i == IH_CHOSEN_MAX)
        return ih_error_set(err, IH_USAGE, "more than %d columns of choice", IH_CHOSEN_MAX);
    struct ih_column *const column = &c->choice[i];
    ih_choice_parse(name, strlen(name), column);
    snprintf(c->names[i], sizeof c->names[i], "%s", name);
    column->name = column->field.key = c->names[i];
    c->chosen[i] = column;
    return IH_OK;
}

enum ih_status ih_columns_choose_percentiles(struct ih_columns *c, const char *list,
                                             struct ih_error *err)
{
    for (const char *at = list;; at++) {
        const size_t n = strcspn(at, ",");
        char name[IH_PERCENT_KEY_MAX];
        uint32_t percent;
        if (!ih_percent_parse(at, n, &percent))
            return ih_error_set(err, IH_USAGE,
                                "'%.40s' is not a list of numbers from 0 to 100 with at most 6 "
                                "decimals, as in 0.1,10,99.9",
                                list);
        if (choose(c, ih_percent_key(percent, name), err) != IH_OK)
            return err->status;
        at += n;
        if (!*at)
            return IH_OK;
    }
}

enum ih_status ih_columns_choose_shares(struct ih_columns *c, const char *list,
                                        struct ih_error *err)
{
    for (const char *at = list;; at++) {
        const size_t n = strcspn(at, ",");
        char name[IH_FIELD_NAME_MAX] = "";
        struct ih_column ignored;
        unsigned i = 0;
        while (i < N_COMPARISONS &&
               strncmp(at, comparisons[i].sign, strlen(comparisons[i].sign)) != 0)
            i++;
        const size_t n_sign = i < N_COMPARISONS ? strlen(comparisons[i].sign) : 0;
        if (n_sign > 0)
            snprintf(name, sizeof name, "%s%.*s", comparisons[i].name, (int)(n - n_sign),
                     at + n_sign);
        if (!ih_choice_parse(name, strlen(name), &ignored))
            return ih_error_set(err, IH_USAGE,
                                "'%.40s' is not a list of <=, <, >= or > with a value of at most "
                                "%d characters, as in '<=100,>250'",
                                list, LIMIT_MAX);
        if (choose(c, name, err) != IH_OK)
            return err->status;
        at += n;
        if (!*at)
            return IH_OK;
    }
}

/* Appends the chosen percentiles, without those that the list has anyway. */
static void append_chosen(const struct ih_column **list, size_t n, const struct ih_columns *c)
{
    for (const struct ih_column *const *p = c->chosen; *p; p++)
        if (!ih_column_find(list, (*p)->name, strlen((*p)->name)))
            list[n++] = *p;
}

void ih_columns_list(struct ih_columns *c, unsigned left_out)
{
    size_t n_of_record = 0, n_of_comparison = 0;
    for (size_t i = 0; i < IH_N_FIELDS; i++) {
        if (ih_schema[i].in & IH_AGAINST)
            c->of_comparison[n_of_comparison++] = &ih_schema[i];
        if (ih_schema[i].name && !(ih_schema[i].in & left_out))
            c->of_record[n_of_record++] = &ih_schema[i];
    }
    for (size_t i = 0; i < N_STATISTICS; i++)
        c->of_channel[i] = c->of_stats[i] = &statistics[i];
    for (size_t i = 0; i < IH_APART_COLUMNS; i++)
        c->of_stats[N_STATISTICS + i] =
            &ih_robust_columns[IH_ROBUST_COLUMNS - IH_APART_COLUMNS + i];
    append_chosen(c->of_record, n_of_record, c);
    append_chosen(c->of_channel, N_STATISTICS, c);
    append_chosen(c->of_stats, N_STATISTICS + IH_APART_COLUMNS, c);
}

void ih_columns_arrange(struct ih_columns *c, unsigned left_out)
{
    ih_columns_list(c, left_out);
    ih_srgb_decode(c->linear);
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
    v->linear = NULL;
    v->clipped_of = 0;
    memset(v->kept, 0, sizeof v->kept);
}

/* Statistics that a view keeps are computed as far as they are asked for: always the sums. Until
 * the others are, this is the deviation, or the entropy. */
#define NOT_COMPUTED (-1.0)
enum extent { SUMS, VALUES, ENTROPY };

static enum extent extent_of(const struct ih_column *c)
{
    static const size_t sums[] = {offsetof(struct ih_stats, count), offsetof(struct ih_stats, sum),
                                  offsetof(struct ih_stats, mean),
                                  offsetof(struct ih_stats, crushed),
                                  offsetof(struct ih_stats, blown)};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (c->field.offset_bytes == sums[i])
            return SUMS;
    return c->field.offset_bytes == offsetof(struct ih_stats, entropy) ? ENTROPY : VALUES;
}

static const struct ih_stats *view_stats(struct ih_record_view *v, unsigned plane,
                                         enum extent extent)
{
    const struct ih_result *const r = v->result;
    if (r->stats)
        return &r->stats[ih_plane_at(&r->histogram, plane)];
    const unsigned at = ih_plane_at(&r->histogram, plane);
    struct ih_stats *const stats = &v->stats[at % IH_STATS_KEPT];
    const bool is_kept = v->kept[at % IH_STATS_KEPT] == at + 1;
    const double entropy = is_kept ? stats->entropy : NOT_COMPUTED;
    if (extent != VALUES && !is_kept && !ih_is_float(r->histogram.type)) {
        ih_stats_sum(&r->histogram, plane, &r->measure, stats);
        stats->stddev = NOT_COMPUTED;
    } else if (!is_kept || (extent == VALUES && stats->stddev == NOT_COMPUTED)) {
        ih_stats_describe(&r->histogram, plane, &r->measure, stats);
    }
    stats->entropy = entropy;
    v->kept[at % IH_STATS_KEPT] = at + 1;
    if (extent == ENTROPY && stats->entropy == NOT_COMPUTED)
        stats->entropy = ih_stats_entropy(&r->histogram, plane, stats);
    return stats;
}

/* The number of deviations is one in a run. */
static const struct ih_clipped *view_clipped(struct ih_record_view *v, unsigned plane, double sigma)
{
    const unsigned of = ih_plane_at(&v->result->histogram, plane) + 1;
    if (v->clipped_of != of)
        v->clipped = ih_sigma_clip(&v->result->histogram, plane, sigma);
    v->clipped_of = of;
    return &v->clipped;
}

const struct ih_stats *ih_view_stats(struct ih_record_view *v, unsigned plane)
{
    view_stats(v, plane, VALUES);
    return view_stats(v, plane, ENTROPY);
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

static struct ih_field_value signed_value(int64_t n)
{
    struct ih_field_value value = integer_value(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, true);
    value.is_negative = n < 0;
    value.real = (double)n;
    return value;
}

/* Of a sample. */
static struct ih_field_value sample_value(enum ih_sample_type type, double v)
{
    return ih_is_float(type) ? (struct ih_field_value){.type = IH_TYPE_REAL,
                                                       .real = v,
                                                       .digits = IH_DIGITS_OF_FLOAT}
                             : signed_value((int64_t)v);
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

struct ih_field_value ih_channel_value(struct ih_record_view *v, unsigned plane,
                                       const struct ih_column *c)
{
    const struct ih_histogram *const h = &v->result->histogram;
    const bool is_float = ih_is_float(h->type);
    if (!(c->in & v->kind))
        return none;
    if (c->field.kind == IH_FIELD_PERCENTILE) {
        const unsigned bin = ih_percentile(h, plane, (uint32_t)c->parameter);
        return bin == UINT_MAX ? none : sample_value(h->type, ih_value_of(h, plane, bin));
    }
    if (c->field.kind == IH_FIELD_SIDE)
        return real_value(ih_side_share(h, plane, (unsigned)c->field.offset_bytes, c->parameter));
    if (c->field.kind == IH_FIELD_SPREAD || c->field.kind == IH_FIELD_CLIPPED_REST) {
        const bool is_spread = c->field.kind == IH_FIELD_SPREAD;
        double robust;
        if (is_spread)
            robust = ih_robust(h, plane, (enum ih_robust)c->field.offset_bytes);
        else
            memcpy(&robust,
                   (const char *)view_clipped(v, plane, c->parameter) + c->field.offset_bytes,
                   sizeof robust);
        if (is_spread && !is_float)
            return isnan(robust) ? none : integer_value((uint64_t)robust, true);
        struct ih_field_value value = real_value(robust);
        value.digits = is_float ? IH_DIGITS_NINE : IH_DIGITS_DECIMALS;
        return value;
    }
    const struct ih_stats *const stats = view_stats(v, plane, extent_of(c));
    const void *const at = (const char *)stats + c->field.offset_bytes;
    if (c->field.kind == IH_FIELD_REAL) {
        struct ih_field_value value = real_value(*(const double *)at);
        const bool has_unit = at == &stats->mean || at == &stats->stddev;
        value.digits = is_float && has_unit ? IH_DIGITS_NINE : IH_DIGITS_DECIMALS;
        return value;
    }
    if (c->field.kind == IH_FIELD_VALUE)
        return stats->count == 0 || (is_float && at == &stats->step)
                   ? none
                   : sample_value(h->type, *(const double *)at);
    if (at == &stats->sum && !ih_is_unsigned(h->type))
        return is_float ? none : signed_value((int64_t)stats->sum);
    if (!is_float &&
        (at == &stats->nan || at == &stats->positive_infinity || at == &stats->negative_infinity))
        return none;
    const bool is_clip = at == &stats->crushed || at == &stats->blown;
    struct ih_field_value value =
        integer_value(*(const uint64_t *)at, !is_clip || ih_is_unsigned(h->type));
    value.whole = (double)stats->count;
    return value;
}

struct ih_field_value ih_record_value(struct ih_record_view *v, const struct ih_column *field)
{
    const struct ih_result *r = v->result;
    const struct ih_field *f = &field->field;
    const struct ih_extremes *extremes = &r->info.extremes;
    const uint64_t n_pixels = r->histogram.n_pixels;
    const void *at = (const char *)r + f->offset_bytes;
    struct ih_field_value value;
    const char *text;
    unsigned n;
    if (!(field->in & v->kind) || ih_field_is_absent(field, r))
        return none;
    if (field->in & IH_OF_CHANNEL)
        return ih_channel_value(v, IH_LUMA, field);
    switch (f->kind) {
    case IH_FIELD_COUNT:
        return integer_value(*(const uint64_t *)at, true);
    case IH_FIELD_BINS:
        return integer_value(r->measure.n_bins, r->measure.n_bins > IH_BINS);
    case IH_FIELD_UNSIGNED:
        n = *(const unsigned *)at;
        return integer_value(n, n > 0 || !(field->in & IH_OPTIONAL));
    case IH_FIELD_LABEL:
        return integer_value(r->label, r->has_label);
    case IH_FIELD_SOURCE_MIN:
        return integer_value(extremes->min, extremes->end > 0);
    case IH_FIELD_SOURCE_MAX:
        return integer_value(extremes->end - 1, extremes->end > 0);
    case IH_FIELD_CLIPPED:
        value = integer_value(*(const uint64_t *)at, true);
        value.whole = (double)n_pixels;
        return value;
    case IH_FIELD_LUMINANCE:
        return real_value(v->linear ? ih_mean_luminance_by(&r->histogram, v->linear)
                                    : ih_mean_luminance(&r->histogram));
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
    case IH_FIELD_SAMPLES:
        return text_value(ih_sample_type_name(r->measure.type), !ih_is_unsigned(r->measure.type));
    case IH_FIELD_WEIGHTS:
        return text_value(r->measure.luma->name, true);
    case IH_FIELD_ALPHA:
        return text_value(ih_alpha_name(r->measure.alpha), true);
    case IH_FIELD_REDUCTION:
        ih_reduction_print(r->measure.range, ih_is_native(r->measure.type), v->text);
        return text_value(v->text, true);
    case IH_FIELD_NODATA:
        ih_nodata_print(r->measure.nodata, v->text);
        return text_value(v->text, *v->text != '\0');
    case IH_FIELD_SHARD:
        snprintf(v->text, sizeof v->text, "%u/%u", r->shard, r->n_shards);
        return text_value(v->text, r->n_shards > 0);
    case IH_FIELD_WARNING_TEXTS:
        print_warnings(r->info.warnings, v->warnings, sizeof v->warnings);
        return text_value(v->warnings, r->info.warnings != 0);
    case IH_FIELD_FINGERPRINT:
        snprintf(v->text, sizeof v->text, "%016" PRIx64, ih_fingerprint(&r->histogram));
        return text_value(v->text, n_pixels > 0);
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

struct ih_field_value ih_named_field_value(const struct ih_named_field *field,
                                           struct ih_record_view *view)
{
    const struct ih_histogram *const h = &view->result->histogram;
    if (!field->channel)
        return ih_record_value(view, &field->column);
    for (unsigned i = 0; i < h->n_planes && (field->column.in & view->kind); i++) {
        const unsigned p = ih_nth_plane(h, i);
        if (strcmp(ih_histogram_plane(h, p), field->channel) == 0)
            return ih_channel_value(view, p, &field->column);
    }
    return (struct ih_field_value){.type = IH_TYPE_NONE};
}

char *ih_put_field(char *text, const struct ih_field *field, const void *from)
{
    const void *at = (const char *)from + field->offset_bytes;
    if (field->kind == IH_FIELD_REAL)
        return ih_put_real(text, *(const double *)at);
    text = ih_format_count(text, field->kind == IH_FIELD_COUNT ? *(const uint64_t *)at
                                                               : *(const uint16_t *)at);
    *text = '\0';
    return text;
}

char *ih_put_sample(char *text, enum ih_sample_type type, double value)
{
    const struct ih_field_value sample = sample_value(type, value);
    return ih_put_number(text, &sample);
}

char *ih_put_number(char *text, const struct ih_field_value *value)
{
    if (value->type == IH_TYPE_REAL)
        return value->digits == IH_DIGITS_DECIMALS ? ih_put_real(text, value->real)
               : value->digits == IH_DIGITS_NINE   ? ih_put_digits(text, value->real, 9)
                                                   : ih_put_float(text, value->real);
    if (value->type == IH_TYPE_INTEGER && value->is_negative)
        *text++ = '-';
    if (value->type == IH_TYPE_INTEGER)
        text = ih_format_count(text, value->integer);
    *text = '\0';
    return text;
}

char *ih_put_channel_value(char *text, struct ih_record_view *v, unsigned plane,
                           const struct ih_column *c)
{
    const struct ih_field_value value = ih_channel_value(v, plane, c);
    return ih_put_number(text, &value);
}
