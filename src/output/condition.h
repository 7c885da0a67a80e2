/*
 * Conditions on records: --where and --fail-if.
 *
 *   condition   = term { "or" term }
 *   term        = factor { "and" factor }
 *   factor      = "not" factor | "(" condition ")" | comparison
 *   comparison  = operand ("==" | "!=" | "<" | "<=" | ">" | ">=") operand
 *   operand     = field | number [ "%" ] | text in single or double quotes
 *
 * The fields are those of fields.h: of records, or of a comparison. Numbers are compared with
 * numbers and texts, byte by byte, with texts; a format in any case. A percentage is compared with
 * a field that has a share: blown_any > 5% compares pixels with 5 % of the image's. A comparison
 * that can never hold, such as that of a share with 5, is a mistake. A comparison with a value that
 * the record lacks is neither true nor false: it makes "and", "or" and "not" unknown unless the
 * other side decides, as in SQL.
 */
#ifndef IH_OUTPUT_CONDITION_H
#define IH_OUTPUT_CONDITION_H

#include "output/fields.h"

struct ih_condition;

/*
 * Parses text, which the condition does not keep.
 *
 * fields   those that the text may name; its types are static
 *
 * Returns IH_OK with *condition, owned by the caller; IH_USAGE with the column and what is wrong
 * there; or IH_MEMORY.
 */
enum ih_status ih_condition_parse(const char *text, const struct ih_field_set *fields,
                                  struct ih_condition **condition, struct ih_error *err);

void ih_condition_free(struct ih_condition *condition);

/* True if the condition is true, false if it is false or unknown. values: one for each of the
 * fields that it was parsed with. */
bool ih_condition_holds(const struct ih_condition *condition, const struct ih_field_value *values);

#endif
