/* Histograms of 256 bins, with luma of BT.709, that a test fills. */
#ifndef IH_TESTS_HISTOGRAMS_H
#define IH_TESTS_HISTOGRAMS_H

#include "tests/support/test.h"

#include "histogram/histogram.h"

/* An empty one; ih_histogram_reset releases it. */
static inline struct ih_histogram make_histogram(unsigned n_channels)
{
    const struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT8, IH_BINS,
                                       &ih_luma_bt709,        0,        255};
    struct ih_histogram h;
    assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
    return h;
}

/* Counts n values in a plane; nothing in the luma of gray, which is its gray. */
static inline void add_values(struct ih_histogram *h, unsigned plane, unsigned value, uint64_t n)
{
    if (plane == IH_LUMA && ih_own_planes(h) == h->layout.n_channels)
        return;
    ih_bins(h, plane)[value] += n;
    *ih_sum(h, plane) += n * value;
}

static inline void assert_same_counts(const struct ih_histogram *a, const struct ih_histogram *b)
{
    const size_t n = ih_own_planes(a) * ((size_t)a->n_bins + 1); /* bins and sums */
    assert_true(ih_layout_is_same(a->layout, b->layout));
    assert_int_equal(a->n_planes, b->n_planes);
    assert_int_equal(a->n_bins, b->n_bins);
    assert_int_equal(a->n_pixels, b->n_pixels);
    assert_memory_equal(&a->any_low, &b->any_low, 4 * sizeof a->any_low);
    assert_memory_equal(a->bins, b->bins, n * sizeof *a->bins);
}

#endif
