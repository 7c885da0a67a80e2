/*
 * --total: the running total of all results. Totals that result files hold are added to it too, so
 * that the totals of parts add up to that of the whole.
 */
#include "stages/stage.h"

#include <stdlib.h>
#include <string.h>

/* ---- a sum and its folder ---- */

enum ih_status ih_sum_add(struct ih_sum *sum, const struct ih_result *result, struct ih_error *err)
{
    if (ih_total_add(&sum->total, result, err) != IH_OK)
        return err->status;
    if (result->status != IH_OK || (result->is_total && result->n_images == 0))
        return IH_OK;
    const char *path = !result->is_total ? result->path : result->folder ? result->folder : "";
    if (!sum->folder && !(sum->folder = strdup(path)))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    ih_path_narrow(sum->folder, path);
    return IH_OK;
}

void ih_sum_result(const struct ih_sum *sum, struct ih_result *out)
{
    ih_total_result(&sum->total, out);
    out->folder = sum->folder;
}

void ih_sum_reset(struct ih_sum *sum)
{
    ih_total_reset(&sum->total);
    free(sum->folder);
}

/* ---- the stage ---- */

enum ih_status ih_total_check(struct ih_total_stage *t, const struct ih_result *result,
                              struct ih_error *err)
{
    const char *why = NULL;
    const bool is_group = result->is_total && result->group;
    const bool is_total = result->is_total && !is_group;
    t->has_totals = t->has_totals || is_total;
    t->has_groups = t->has_groups || is_group;
    t->has_images = t->has_images || !result->is_total;
    if (is_total && t->has_groups_of_images)
        why = "a total no longer has its images, so it has no groups";
    else if (t->has_groups && t->has_images && !t->has_groups_of_images)
        why = "totals of groups beside single images need --by";
    else if (result->is_total && t->has_where)
        why = "--where selects images, and a total no longer has them: give it to the run that "
              "counts them";
    else if (t->has_totals && t->has_images && !t->adds_images)
        why = "a total beside single images needs --total";
    return why ? ih_error_set(err, IH_USAGE, "%s", why) : IH_OK;
}

enum ih_status ih_total_take(struct ih_total_stage *t, const struct ih_result *result,
                             bool selected, struct ih_error *err)
{
    const bool is_added = (t->adds_images && selected) || (result->is_total && !result->group);
    return is_added ? ih_sum_add(&t->sum, result, err) : IH_OK;
}

bool ih_total_end(struct ih_total_stage *t, const struct ih_joint_measure *of_none,
                  struct ih_result *out)
{
    if (!t->adds_images && !t->has_totals)
        return false;
    if (t->sum.total.n_images == 0) /* only totals of no images, or --where left all out */
        t->sum.total.measure = *of_none;
    ih_sum_result(&t->sum, out);
    return true;
}
