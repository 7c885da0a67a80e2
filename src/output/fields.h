/*
 * The values of one record as named fields: the columns of --csv=images, and the names that
 * conditions use (condition.h). A comparison has fields of its own.
 */
#ifndef IH_OUTPUT_FIELDS_H
#define IH_OUTPUT_FIELDS_H

#include "histogram/compare.h"

enum ih_kind {
    IH_KIND_NONE, /* a value that the record lacks: a failed input has no width */
    IH_KIND_TEXT,
    IH_KIND_INTEGER,
    IH_KIND_REAL
};

/* FIELD(name, kind, has_share, high): the fields in the order of the columns. Only where a share
 * has a meaning can a condition give a percentage. Numbers go from 0 to high, or on without end
 * (0). Statistics are those of luma; the deviation is largest where one half is 0 and the other
 * 255. The last eight are joint counts of the colour channels, and their shares of the image. */
#define IH_FIELDS(FIELD)                          \
    FIELD(file, TEXT, false, 0)                   \
    FIELD(status, TEXT, false, 0)                 \
    FIELD(error, TEXT, false, 0)                  \
    FIELD(format, TEXT, false, 0)                 \
    FIELD(width, INTEGER, false, 0)               \
    FIELD(height, INTEGER, false, 0)              \
    FIELD(pixels, INTEGER, false, 0)              \
    FIELD(depth, INTEGER, false, 32)              \
    FIELD(source_min, INTEGER, false, UINT32_MAX) \
    FIELD(source_max, INTEGER, false, UINT32_MAX) \
    FIELD(mean_luma, REAL, false, 255)            \
    FIELD(mean_luminance, REAL, true, 1)          \
    FIELD(median, INTEGER, false, 255)            \
    FIELD(stddev, REAL, false, 127.5)             \
    FIELD(p01, INTEGER, false, 255)               \
    FIELD(p99, INTEGER, false, 255)               \
    FIELD(entropy, REAL, false, 8)                \
    FIELD(blown_any, INTEGER, true, 0)            \
    FIELD(blown_any_share, REAL, true, 1)         \
    FIELD(blown_all, INTEGER, true, 0)            \
    FIELD(blown_all_share, REAL, true, 1)         \
    FIELD(crushed_any, INTEGER, true, 0)          \
    FIELD(crushed_any_share, REAL, true, 1)       \
    FIELD(crushed_all, INTEGER, true, 0)          \
    FIELD(crushed_all_share, REAL, true, 1)

enum ih_field {
#define FIELD(name, kind, has_share, high) IH_FIELD_##name,
    IH_FIELDS(FIELD)
#undef FIELD
        IH_N_FIELDS
};

struct ih_field_type {
    const char *name;
    enum ih_kind kind; /* of values that are not missing */
    bool has_share;
    double high; /* the largest number; 0: no limit */
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
