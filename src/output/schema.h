/*
 * The columns of a run: what each is called, and its value in a result.
 *
 * Three tables define them: the fields of a record (schema.def), the statistics of a channel
 * (histogram/statistics.def), and each percentile that the user chose. struct ih_columns puts them
 * together, once for a run. CSV, JSON, the page, text and conditions take their values by column.
 */
#ifndef IH_OUTPUT_SCHEMA_H
#define IH_OUTPUT_SCHEMA_H

#include "base/text.h"
#include "histogram/compare.h"
#include "histogram/robust.h"

#define IH_SCHEMA "imghist/2"

/* Kinds of fields after those of enum ih_field_kind. */
enum ih_record_field_kind {
    IH_FIELD_SHORT = IH_FIELD_REAL + 1, /* uint16_t */

    /* Integers */
    IH_FIELD_UNSIGNED, /* optional ones: 0 is not known */
    IH_FIELD_BINS,     /* of native samples; 0: 256 */
    IH_FIELD_LABEL,
    IH_FIELD_SOURCE_MIN,
    IH_FIELD_SOURCE_MAX,
    IH_FIELD_CLIPPED,    /* a joint count of clipped pixels */
    IH_FIELD_PERCENTILE, /* of choice */
    IH_FIELD_SPREAD,     /* of a channel; the offset is that of enum ih_robust */

    /* Real numbers */
    IH_FIELD_LUMINANCE,
    IH_FIELD_SHARE,        /* of the pixels */
    IH_FIELD_DISTANCE,     /* to the reference of --against */
    IH_FIELD_CLIPPED_REST, /* of a channel; the offset is that in struct ih_clipped */
    IH_FIELD_SIDE,         /* a share of a channel's pixels; the offset is a set of enum ih_side */

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
    IH_FIELD_NODATA,  /* of the run */
    IH_FIELD_SAMPLES, /* the type, if it is not unsigned */
    IH_FIELD_SHARD,
    IH_FIELD_FINGERPRINT,
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
    IH_SIGNED = 2048,      /* a number that may be negative, without limits */
    IH_OF_CHANNEL = 4096,  /* a statistic of a channel: as a field of a record, of luma */
    IH_BY_SIGMA = 8192,    /* it depends on --sigma-clip */
    IH_OF_COPIES = 16384,  /* a column with --copies; else computed where a user names it */
    IH_OF_LABELS = 32768   /* the same with --labels */
};

struct ih_column {
    struct ih_field field; /* the key in JSON, or NULL; the type, and where the value is */
    const char *name;      /* NULL: a field that JSON alone has */
    unsigned in;
    double high; /* of a number that has limits; else 0 */

    /* Of a percentile in millionths of a percent; of a share the value at its end; IH_BY_SIGMA: the
     * number of deviations. */
    double parameter;
};

enum {
    IH_N_FIELDS = 0
#define FIELD(...) +1
#include "output/schema.def"
};

extern const struct ih_column ih_schema[IH_N_FIELDS];

/* The members of the objects that records have; the key is NULL after the last. */
extern const struct ih_field ih_clip_limits_fields[]; /* in struct ih_measure */
extern const struct ih_field ih_clip_fields[];        /* in struct ih_histogram */
extern const struct ih_field ih_distance_fields[];    /* in struct ih_distance */
extern const struct ih_field ih_exact_fields[];       /* texts of enum ih_float_member */
extern const char *const ih_not_applied_names[];      /* of each bit; NULL after the last */

/* The file states other colours than those of sRGB, or only a profile knows. */
enum {
    IH_NOT_SRGB = IH_NOT_APPLIED_GAMMA | IH_NOT_APPLIED_COLOUR_SPACE,
    IH_MAYBE_SRGB = IH_NOT_APPLIED_ICC_PROFILE
};

/* Formats a member of a struct that is no value of samples, real numbers by ih_put_real; "" for
 * NaN. text: char [IH_REAL_MAX]. Returns its end. */
char *ih_put_field(char *text, const struct ih_field *field, const void *from);

/* ---- the columns of a run ---- */

enum {
    IH_CHOSEN_MAX = 16, /* columns that the user may choose */
    IH_APART_COLUMNS = 4,
    IH_FIELD_NAME_MAX = 24,
    IH_FIELD_LIST_MAX = 64
};

/* NULL ends each list. The lists point into the struct, which is not copied. */
struct ih_columns {
    const struct ih_column *of_record[IH_N_FIELDS + IH_CHOSEN_MAX + 1];
    const struct ih_column *of_channel[IH_STATISTICS_MAX + IH_CHOSEN_MAX + 1];
    /* --csv=stats: the same with what is counted apart, before the chosen ones. */
    const struct ih_column *of_stats[IH_STATISTICS_MAX + IH_APART_COLUMNS + IH_CHOSEN_MAX + 1];
    const struct ih_column *of_comparison[IH_N_FIELDS + 1]; /* the distances */
    const struct ih_column *chosen[IH_CHOSEN_MAX + 1];      /* also if others have the same name */
    double linear[IH_BINS]; /* of ih_srgb_decode, for the mean luminance */
    struct ih_column choice[IH_CHOSEN_MAX];
    char names[IH_CHOSEN_MAX][IH_FIELD_NAME_MAX];
};

/* Adds the percentiles of a list, "0.1,99.9", or its shares, "<=100,>250". Returns IH_OK, or
 * IH_USAGE with the reason. */
enum ih_status ih_columns_choose_percentiles(struct ih_columns *columns, const char *list,
                                             struct ih_error *err);
enum ih_status ih_columns_choose_shares(struct ih_columns *columns, const char *list,
                                        struct ih_error *err);

/* Makes the lists, which were zero; arrange makes linear too. left_out: flags of columns that
 * records lack */
void ih_columns_list(struct ih_columns *columns, unsigned left_out);
void ih_columns_arrange(struct ih_columns *columns, unsigned left_out);

/* The column with a name of n bytes; NULL: none. */
const struct ih_column *ih_column_find(const struct ih_column *const *columns, const char *name,
                                       size_t n);

/* Columns of channels that are computed where a user names them. The last of them, of what is
 * counted apart, are in of_stats; no other list has any. */
enum { IH_ROBUST_COLUMNS = 9 };
extern const struct ih_column ih_robust_columns[IH_ROBUST_COLUMNS];

/* The same of the columns of channels, with those that no list has. Returns false if there is none.
 */
bool ih_channel_column_find(const struct ih_column *const *columns, const char *name, size_t n,
                            struct ih_column *out);

/* A percentile of a channel, "p99.9", or a share of its pixels, "share_le_100". The column gets no
 * name. Returns false for another name. */
bool ih_choice_parse(const char *name, size_t n, struct ih_column *out);

/* ---- values ---- */

/* How a real number is written. */
enum ih_digits {
    IH_DIGITS_DECIMALS, /* six decimals */
    IH_DIGITS_NINE,     /* nine significant digits: the mean and the deviation of floats */
    IH_DIGITS_OF_FLOAT  /* as many as give the same float32 back */
};

struct ih_field_value {
    enum ih_value_type type;
    enum ih_digits digits;
    const char *text;
    uint64_t integer;
    bool is_negative; /* the integer is below 0, by as much */
    double real;      /* of integers too, rounded above 2^53 */
    double whole;     /* 100 %, if the field has a share */
};

/* The type of a field's values that are not missing. */
static inline enum ih_value_type ih_column_type(const struct ih_column *c)
{
    const unsigned kind = c->field.kind;
    return kind >= IH_FIELD_FILE_BYTES                           ? IH_TYPE_OTHER
           : kind >= IH_FIELD_TEXT                               ? IH_TYPE_TEXT
           : kind == IH_FIELD_REAL || kind >= IH_FIELD_LUMINANCE ? IH_TYPE_REAL
                                                                 : IH_TYPE_INTEGER;
}

/* Whether a result lacks a field because its luma was not counted, or because its samples have no
 * limits at which they may be clipped, and no white, or because it has no colours. */
static inline bool ih_field_is_absent(const struct ih_column *c, const struct ih_result *r)
{
    const unsigned kind = c->field.kind;
    const bool has_limits = ih_is_unsigned(r->measure.type);
    const struct ih_layout *const layout = &r->histogram.layout;
    if (!has_limits && kind == IH_FIELD_CLIP_LIMITS)
        return true;
    if ((!has_limits || ih_layout_has_bands(*layout)) &&
        (kind == IH_FIELD_CLIP || kind == IH_FIELD_CLIPPED || kind == IH_FIELD_SHARE ||
         kind == IH_FIELD_LUMINANCE))
        return true;
    return r->measure.luma == &ih_luma_none && (c->in & IH_OF_CHANNEL);
}

/* What kind of record a result has: IH_IN_IMAGE, IH_IN_TOTAL, IH_IN_FAILURE or IH_IN_END. */
unsigned ih_record_kind(const struct ih_result *result);

/* Enough for all planes of most images: those of others take turns. */
enum { IH_STATS_KEPT = 8 };

/* A result, and what is computed once for several columns, when the first of them needs it. */
struct ih_record_view {
    const struct ih_result *result;
    unsigned kind;
    const double *linear;         /* of struct ih_columns; NULL: computed when it is needed */
    unsigned kept[IH_STATS_KEPT]; /* whose statistics follow: ih_plane_at, plus 1; 0: none */
    struct ih_stats stats[IH_STATS_KEPT];
    unsigned clipped_of; /* whose clipped statistics follow: ih_plane_at, plus 1; 0: none */
    struct ih_clipped clipped;
    char text[64];      /* of the last value whose text is nowhere else */
    char warnings[512]; /* room for all of them */
};
void ih_record_view_init(struct ih_record_view *view, const struct ih_result *result);

/* The statistics of a plane that the result has; valid until the next call. */
const struct ih_stats *ih_view_stats(struct ih_record_view *view, unsigned plane);

/* The value of a field; of type OTHER: the record has one. A text lives as long as the result's and
 * the view; one in view->text, which no column has, until the next call. */
struct ih_field_value ih_record_value(struct ih_record_view *view, const struct ih_column *field);

/* The value of a column of channels in a plane that the result has. */
struct ih_field_value ih_channel_value(struct ih_record_view *view, unsigned plane,
                                       const struct ih_column *column);

/* Formats a value of samples: integers as such, floats with as many digits as give the same float32
 * back. text: char [IH_REAL_MAX]. Returns its end. */
char *ih_put_sample(char *text, enum ih_sample_type type, double value);

/* A field by the name that a user gives it. */
struct ih_named_field {
    char name[IH_FIELD_NAME_MAX];
    struct ih_column column;
    const char *channel; /* static; NULL: a field of the record */
    bool is_of_row;      /* of the channel of a row of --csv=stats; its name has no key */
};

/* Returns the field's value; its type is NONE if the record has no value. Fields of a row
 * (is_of_row) have none here. */
struct ih_field_value ih_named_field_value(const struct ih_named_field *field,
                                           struct ih_record_view *view);

/* --fields: what is written of each result, in this order. */
struct ih_field_list {
    unsigned n;
    struct ih_named_field fields[IH_FIELD_LIST_MAX];
};

/* Formats a number; "" for any other value. text: char [IH_REAL_MAX]. Returns its end. */
char *ih_put_number(char *text, const struct ih_field_value *value);

/* The value of a column of channels, formatted; "" is missing. text: char [IH_REAL_MAX]. Returns
 * its end. */
char *ih_put_channel_value(char *text, struct ih_record_view *view, unsigned plane,
                           const struct ih_column *column);

#endif
