/* --diff: adds up each of two inputs, and compares their totals at the end. */
#include "stages/stage.h"

enum ih_status ih_diff_take(struct ih_diff *d, unsigned side, const struct ih_result *result,
                            bool selected, struct ih_error *err)
{
    const bool has_failed = result->status != IH_OK;
    d->n_failed[side] += has_failed;
    d->n_left_out[side] += !has_failed && !selected;
    const bool is_added = selected || (result->is_total && !result->group);
    return is_added ? ih_total_add(&d->sides[side], result, err) : IH_OK;
}

enum ih_status ih_diff_end(struct ih_diff *d, struct ih_comparison *comparison, unsigned *side,
                           struct ih_error *err)
{
    struct ih_total *const a = &d->sides[0], *const b = &d->sides[1];
    for (unsigned i = 0; i < 2; i++) {
        if (d->sides[i].sum.n_pixels > 0)
            continue;
        *side = i;
        if (d->sides[i].n_images == 0 && d->n_left_out[i] > 0)
            return ih_error_set(err, IH_UNKNOWN, "no image of it matches --where");
        const bool is_said = d->sides[i].n_images == 0 && d->n_failed[i] > 0;
        return ih_error_set(err, IH_UNKNOWN, "%s", is_said ? "" : "no pixels to compare");
    }
    const bool is_unsigned = ih_is_unsigned(a->sum.type) && ih_is_unsigned(b->sum.type);
    if (a->sum.type != b->sum.type && (!is_unsigned || a->sum.n_bins == b->sum.n_bins))
        return ih_error_set(err, IH_USAGE,
                            "%s has samples of %s, %s of %s: counts of different samples are not "
                            "compared",
                            a->first, ih_sample_type_name(a->sum.type), b->first,
                            ih_sample_type_name(b->sum.type));
    if (a->sum.n_bins != b->sum.n_bins)
        return ih_error_set(err, IH_USAGE,
                            "%s has %u bins, %s has %u: counts of different bins are not compared; "
                            "count both again with 256 bins",
                            a->first, a->sum.n_bins, b->first, b->sum.n_bins);
    return ih_totals_compare(a, b, comparison, err);
}
