/* --fail-if: judges each record that is written. The program says what matches, and ends with an
 * exit code of its own. */
#include "stages/stage.h"

#include <stdio.h>
#include <string.h>

bool ih_fail_if_take(const struct ih_condition *fail_if, const struct ih_result *result, char *line)
{
    struct ih_record_view view;
    if (!fail_if)
        return false;
    ih_record_view_init(&view, result);
    if (!ih_condition_holds(fail_if, &view))
        return false;
    strcpy(line, "matches --fail-if: ");
    const size_t n = strlen(line);
    ih_condition_describe(fail_if, &view, line + n, IH_MESSAGE_MAX - n);
    return true;
}

bool ih_fail_if_compare(const struct ih_condition *fail_if, const struct ih_comparison *c,
                        char *line)
{
    struct ih_result side = c->sides[0];
    struct ih_record_view view;
    if (!fail_if)
        return false;
    side.against = c->largest;
    side.has_distance = true;
    ih_record_view_init(&view, &side);
    if (!ih_condition_holds(fail_if, &view))
        return false;
    snprintf(line, IH_MESSAGE_MAX, "the comparison matches --fail-if: ks %.6f, emd %.6f",
             c->largest.ks, c->largest.emd);
    return true;
}
