/* --where: results that do not match are neither written nor added up. */
#include "stages/stage.h"

bool ih_where_take(const struct ih_condition *where, const struct ih_result *result)
{
    struct ih_record_view view;
    if (!where)
        return true;
    ih_record_view_init(&view, result);
    return ih_condition_holds(where, &view);
}
