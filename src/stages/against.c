/* --against: the distances of each result to the total of a reference. */
#include "stages/stage.h"

enum ih_status ih_against_take(const struct ih_reference *reference, struct ih_result *result,
                               struct ih_error *err)
{
    if (result->status != IH_OK)
        return IH_OK;
    if (reference->total.sum.n_pixels == 0)
        return ih_error_set(err, IH_UNKNOWN, "no pixels to compare with");
    if (ih_result_compare(result, &reference->total, &result->against, err) != IH_OK)
        return err->status;
    result->has_distance = true;
    return IH_OK;
}
