/*
 * Conditions on records: --where and --fail-if.
 *
 *   condition   = term { "or" term }
 *   term        = factor { "and" factor }
 *   factor      = "not" factor | "(" condition ")" | comparison
 *   comparison  = operand ("==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~") operand
 *   operand     = field | channel "." statistic | number [ "%" | "pixels" ]
 *               | text in single or double quotes
 *
 * - "not" binds closest, then "and", then "or".
 * - The fields are columns of records, or of a comparison of two inputs. red.p99 is a statistic of
 * a channel, and p99.9 a percentile of the luma.
 * - Numbers are compared with numbers, and texts with texts, byte by byte. The name of a format may
 *   be in upper case.
 * - A percentage is compared with a field that has a share: blown_any > 5% compares the number of
 *   pixels with 5 % of the image's pixels. A number of pixels says so, blown_any > 5 pixels,
 * because blown_any > 5 looks like a percentage too.
 * - "~" compares a field of text with a pattern, as the shell does: file ~ '*.jpg'. A star also
 *   stands for slashes.
 * - A comparison that can never be true, such as a share > 5, is an error.
 * - A comparison with a value that the record lacks is unknown, as in SQL. So are "not", "and" and
 *   "or" of it, unless the other operand decides.
 */
#ifndef IH_OUTPUT_CONDITION_H
#define IH_OUTPUT_CONDITION_H

#include "output/schema.h"

struct ih_condition;

/* The fields that a condition may use. */
struct ih_field_set {
    const struct ih_column *const *columns;    /* NULL at the end, as of_channel */
    const struct ih_column *const *of_channel; /* also red.p99; NULL: none */
    const char *which;                         /* what they are, for messages */
    double highest; /* value of a pixel: 255; HUGE_VAL: they have no limits,
                       and may be negative or fractions */

    /* Texts that the field "format" may have, NULL at the end. NULL: any. */
    const char *const *formats;

    double sigma; /* of --sigma-clip */

    bool lacks_images;      /* only totals are written: fields of images are errors */
    const char *lacks_luma; /* why fields of luma are errors; NULL: they are none */

    /* A bit for each band that is counted: fields of others are errors. NULL: all are. */
    const uint64_t *bands;
};

/*
 * Parses text, which the condition does not keep.
 *
 * fields   the fields that the text may name; its types are static
 *
 * Returns IH_OK with *condition, owned by the caller; IH_USAGE with the column and the reason; or
 * IH_MEMORY.
 */
enum ih_status ih_condition_parse(const char *text, const struct ih_field_set *fields,
                                  struct ih_condition **condition, struct ih_error *err);

/*
 * Parses names of fields between commas, as in "file,red.p99".
 *
 * of_rows   of --csv=stats: statistics need no channel, and "channel" is its name
 *
 * Returns as ih_condition_parse.
 */
enum ih_status ih_field_list_parse(const char *text, const struct ih_field_set *fields,
                                   bool of_rows, struct ih_field_list *list, struct ih_error *err);

void ih_condition_free(struct ih_condition *condition);

/* The flags of all columns that it names. */
unsigned ih_condition_uses(const struct ih_condition *condition);

/* Returns false if the condition is false or unknown. */
bool ih_condition_holds(const struct ih_condition *condition, struct ih_record_view *view);

/* Lists the fields that the condition names, with their values: "blown_any 120 (6%), red.p99 255".
 * text: char [size_bytes] */
void ih_condition_describe(const struct ih_condition *condition, struct ih_record_view *view,
                           char *text, size_t size_bytes);

#endif
