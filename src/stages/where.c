/* --where: results that do not match are neither written nor added up. */
#include "stages/stage.h"

bool ih_where_take(const struct ih_condition *where, const struct ih_result *result)
{
    struct ih_record_view view;
    struct ih_field_value values[IH_N_FIELDS];
    if (!where)
        return true;
    ih_fields_compute(&view, result, values);
    return ih_condition_holds(where, values, result);
}
