/*
 * The values of one record as named fields: the columns of --csv=images, and the names that
 * conditions use (condition.h). A comparison has fields of its own.
 */
#ifndef IH_OUTPUT_FIELDS_H
#define IH_OUTPUT_FIELDS_H

#include "counts/compare.h"

enum ih_kind {
    IH_KIND_NONE, /* a value that the record lacks: a failed input has no width */
    IH_KIND_TEXT,
    IH_KIND_INTEGER,
    IH_KIND_REAL
};

/* FIELD(name, kind, has_share): the fields in the order of the columns. Only where a share has a
 * meaning can a condition give a percentage. Statistics are those of luma. The last eight are joint
 * counts of the colour channels, and their shares of the image. */
#define IH_FIELDS(FIELD)                 \
    FIELD(file, TEXT, false)             \
    FIELD(status, TEXT, false)           \
    FIELD(error, TEXT, false)            \
    FIELD(format, TEXT, false)           \
    FIELD(width, INTEGER, false)         \
    FIELD(height, INTEGER, false)        \
    FIELD(pixels, INTEGER, false)        \
    FIELD(depth, INTEGER, false)         \
    FIELD(source_min, INTEGER, false)    \
    FIELD(source_max, INTEGER, false)    \
    FIELD(mean_luma, REAL, false)        \
    FIELD(mean_luminance, REAL, true)    \
    FIELD(median, INTEGER, false)        \
    FIELD(stddev, REAL, false)           \
    FIELD(p01, INTEGER, false)           \
    FIELD(p99, INTEGER, false)           \
    FIELD(entropy, REAL, false)          \
    FIELD(blown_any, INTEGER, true)      \
    FIELD(blown_any_share, REAL, true)   \
    FIELD(blown_all, INTEGER, true)      \
    FIELD(blown_all_share, REAL, true)   \
    FIELD(crushed_any, INTEGER, true)    \
    FIELD(crushed_any_share, REAL, true) \
    FIELD(crushed_all, INTEGER, true)    \
    FIELD(crushed_all_share, REAL, true)

enum ih_field {
#define FIELD(name, kind, has_share) IH_FIELD_##name,
    IH_FIELDS(FIELD)
#undef FIELD
        IH_N_FIELDS
};

struct ih_field_type {
    const char *name;
    enum ih_kind kind; /* of values that are not missing */
    bool has_share;
};

extern const struct ih_field_type ih_field_types[IH_N_FIELDS];

/* The largest distances of any channel (compare.h). */
enum ih_comparison_field { IH_COMPARISON_ks, IH_COMPARISON_emd, IH_N_COMPARISON_FIELDS };

/* The fields that a condition may use. */
struct ih_field_set {
    const struct ih_field_type *types;
    unsigned n;
    const char *which; /* what they are, for messages */

    /* Texts that the field "format" may have, NULL at the end. NULL: any. */
    const char *const *formats;
};

extern const struct ih_field_set ih_record_fields, ih_comparison_fields;

struct ih_field_value {
    enum ih_kind kind; /* that of the type, or IH_KIND_NONE */
    const char *text;
    uint64_t integer;
    double real;  /* of integers too, rounded above 2^53 */
    double whole; /* 100 %, if the type has a share */
};

/* Computes the fields of a record. Texts live as long as the result's strings. */
void ih_fields_compute(const struct ih_result *result, struct ih_field_value values[IH_N_FIELDS]);

void ih_comparison_fields_compute(const struct ih_comparison *comparison,
                                  struct ih_field_value values[IH_N_COMPARISON_FIELDS]);

#endif
