/*
 * What a record says: the table of its fields (schema.def) and their values in a result.
 *
 * The statistics of a channel have a table of their own, ih_stats_table. The fields of a
 * comparison (--diff) are here too.
 */
#ifndef IH_OUTPUT_SCHEMA_H
#define IH_OUTPUT_SCHEMA_H

#include "base/text.h"
#include "histogram/compare.h"

#define IH_SCHEMA "imghist/2"

/* Kinds of fields after those of enum ih_field_kind. */
enum ih_record_field_kind {
    IH_FIELD_SHORT = IH_FIELD_REAL + 1, /* uint16_t */

    /* Integers */
    IH_FIELD_UNSIGNED, /* optional ones: 0 is not known */
    IH_FIELD_BINS,     /* of native samples; 0: 256 */
    IH_FIELD_SOURCE_MIN,
    IH_FIELD_SOURCE_MAX,
    IH_FIELD_LUMA_VALUE, /* a statistic of luma */
    IH_FIELD_CLIPPED,    /* a joint count of clipped pixels */

    /* Real numbers */
    IH_FIELD_LUMA_REAL,
    IH_FIELD_LUMINANCE,
    IH_FIELD_SHARE,    /* of the pixels */
    IH_FIELD_DISTANCE, /* to the reference of --against */

    /* Texts */
    IH_FIELD_TEXT, /* any; "": none */
    IH_FIELD_NAME, /* of printable ASCII; "": not known */
    IH_FIELD_FORMAT,
    IH_FIELD_VERSION,
    IH_FIELD_FILE,
    IH_FIELD_ERROR,
    IH_FIELD_REGION,
    IH_FIELD_MASK,
    IH_FIELD_SCHEMA,
    IH_FIELD_REDUCTION,

    /* Texts that are made from something else */
    IH_FIELD_HASH, /* 16 digits; 0: none */
    IH_FIELD_STATUS,
    IH_FIELD_RANGE,
    IH_FIELD_WEIGHTS,
    IH_FIELD_ALPHA,
    IH_FIELD_SHARD,
    IH_FIELD_WARNING_TEXTS, /* "TEXT; TEXT" */

    /* Other values */
    IH_FIELD_FILE_BYTES, /* base64, of a name that is not UTF-8 */
    IH_FIELD_IS_TOTAL,
    IH_FIELD_POSITION,
    IH_FIELD_CLIP_LIMITS,
    IH_FIELD_CLIP,
    IH_FIELD_NOT_APPLIED,
    IH_FIELD_WARNINGS,
    IH_FIELD_NOT_COUNTED,
    IH_FIELD_CHANNELS,
    IH_FIELD_SRGB
};

enum {
    /* The records that have the field. */
    IH_IN_IMAGE = 1,
    IH_IN_TOTAL = 2,
    IH_IN_FAILURE = 4,
    IH_IN_END = 8, /* of a shard */
    /* A record without the field is complete. In writing, a missing value is left out (optional) or
     * null (nullable); that of any other field is null too. */
    IH_OPTIONAL = 16,
    IH_NULLABLE = 32,
    IH_NULL_IN_TOTAL = 64, /* the images of a total differ in it */
    IH_VERBOSE = 128,      /* only with -v */
    IH_OF_RUN = 256,       /* the place in a run, which a record that was read has lost */
    IH_SHARE = 512,        /* a condition may compare it with a percentage */
    IH_AGAINST = 1024,     /* only with --against */
    IH_SIGNED = 2048       /* a number that may be negative, without limits */
};

struct ih_record_field {
    struct ih_field field; /* key and meaning may be NULL */
    const char *column;
    unsigned in;
    double high;
};

enum {
    IH_N_FIELDS = 0
#define FIELD(...) +1
#include "output/schema.def"
};

extern const struct ih_record_field ih_schema[IH_N_FIELDS];

/* The members of the objects that records have; the key is NULL after the last. */
extern const struct ih_field ih_clip_limits_fields[]; /* in struct ih_measure */
extern const struct ih_field ih_clip_fields[];        /* in struct ih_histogram */
extern const struct ih_field ih_distance_fields[];    /* in struct ih_distance */
extern const char *const ih_not_applied_names[];      /* of each bit; NULL after the last */

/* The file states other colours than those of sRGB, or only a profile knows. */
enum {
    IH_NOT_SRGB = IH_NOT_APPLIED_GAMMA | IH_NOT_APPLIED_COLOUR_SPACE,
    IH_MAYBE_SRGB = IH_NOT_APPLIED_ICC_PROFILE
};

/* Formats a member of a struct, real numbers by ih_format_real; "" if it has no meaning without
 * values. */
const char *ih_format_field(const struct ih_field *field, const void *from, bool has_values,
                            char text[IH_REAL_MAX]);
/* The same, without room of its own; returns the end of the text. */
char *ih_put_field(char *text, const struct ih_field *field, const void *from, bool has_values);

/* Whether a percentile of choice is among the statistics of channels, or the columns of
 * --csv=images, anyway. */
bool ih_is_statistic(const char *key);
bool ih_is_column(const char *key);

/* ---- values ---- */

enum ih_value_type {
    IH_TYPE_NONE, /* a value that the record lacks: a failed input has no width */
    IH_TYPE_TEXT,
    IH_TYPE_INTEGER,
    IH_TYPE_REAL,
    IH_TYPE_OTHER /* an object or another value that only JSON has */
};

struct ih_field_value {
    enum ih_value_type type;
    const char *text;
    uint64_t integer;
    double real;  /* of integers too, rounded above 2^53 */
    double whole; /* 100 %, if the field has a share */
};

/* The type of a field's values that are not missing. */
static inline enum ih_value_type ih_field_value_type(const struct ih_record_field *f)
{
    const unsigned kind = f->field.kind;
    return kind >= IH_FIELD_FILE_BYTES                           ? IH_TYPE_OTHER
           : kind >= IH_FIELD_TEXT                               ? IH_TYPE_TEXT
           : kind == IH_FIELD_REAL || kind >= IH_FIELD_LUMA_REAL ? IH_TYPE_REAL
                                                                 : IH_TYPE_INTEGER;
}

static inline bool ih_field_is_of_luma(const struct ih_record_field *f)
{
    return f->field.kind == IH_FIELD_LUMA_VALUE || f->field.kind == IH_FIELD_LUMA_REAL;
}

/* Whether a result lacks a field because its luma was not counted. */
static inline bool ih_field_is_absent(const struct ih_record_field *f, const struct ih_result *r)
{
    return r->measure.luma == &ih_luma_none && ih_field_is_of_luma(f);
}

/* What kind of record a result has: IH_IN_IMAGE, IH_IN_TOTAL, IH_IN_FAILURE or IH_IN_END. */
unsigned ih_record_kind(const struct ih_result *result);

/* A result, and what is computed once for several fields. */
struct ih_record_view {
    const struct ih_result *result;
    unsigned kind;
    struct ih_stats luma;
    double luminance;
    char text[64];      /* of the last value whose text is nowhere else */
    char warnings[512]; /* room for all of them */
};
void ih_record_view_init(struct ih_record_view *view, const struct ih_result *result);

/* The value of a field; of type OTHER: the record has one. A text lives as long as the result's and
 * the view; one in view->text, which no column has, until the next call. */
struct ih_field_value ih_record_value(struct ih_record_view *view,
                                      const struct ih_record_field *field);

/* Starts the view, and computes the values of all fields that have a column. */
void ih_fields_compute(struct ih_record_view *view, const struct ih_result *result,
                       struct ih_field_value values[IH_N_FIELDS]);

/* A statistic of channels as a field of conditions, as in red.p99. */
struct ih_record_field ih_statistic_field(const struct ih_field *statistic);

/* A statistic of the channel of this name, "red"; NONE if the result lacks the channel. */
struct ih_field_value ih_statistic_value(const struct ih_result *result, const char *channel,
                                         const struct ih_field *statistic);

/* A percentile of choice of it. */
struct ih_field_value ih_percentile_value(const struct ih_result *result, const char *channel,
                                          uint32_t millionths);

/* The largest distances of any channel (compare.h). */
enum { IH_N_COMPARISON_FIELDS = 2 };
void ih_comparison_fields_compute(const struct ih_comparison *comparison,
                                  struct ih_field_value values[IH_N_COMPARISON_FIELDS]);

/* The fields that a condition may use: those with a column. */
struct ih_field_set {
    const struct ih_record_field *fields;
    unsigned n;
    const char *which;   /* what they are, for messages */
    bool has_statistics; /* also those of channels: red.p99 */
    double highest;      /* value of a pixel: 255, or more with native bins */

    /* Texts that the field "format" may have, NULL at the end. NULL: any. */
    const char *const *formats;

    unsigned lacks;  /* fields with one of these flags do not exist in this run */
    bool lacks_luma; /* luma is not counted: its fields are errors */
};

extern const struct ih_field_set ih_record_fields, ih_comparison_fields;

#endif
