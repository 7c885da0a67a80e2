/* Shared by tests of counting: counters, and comparison of histograms. */
#ifndef IH_TESTS_COUNTED_H
#define IH_TESTS_COUNTED_H

#include "tests/support/test.h"

#include "count/count.h"
#include "tests/support/random.h"

static inline void assert_same(const struct ih_histogram *a, const struct ih_histogram *b)
{
    assert_int_equal(a->n_channels, b->n_channels);
    assert_int_equal(a->n_pixels, b->n_pixels);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        for (unsigned v = 0; v < IH_BINS; v++)
            assert_int_equal(a->bins[p][v], b->bins[p][v]);
        assert_int_equal(a->sum[p], b->sum[p]);
    }
    assert_int_equal(a->any_low, b->any_low);
    assert_int_equal(a->any_high, b->any_high);
    assert_int_equal(a->all_low, b->all_low);
    assert_int_equal(a->all_high, b->all_high);
    assert_int_equal(a->without_luma, b->without_luma);
    assert_true(ih_histogram_consistent(a));
}

/* A counter filled with garbage; free() it. */
static inline struct ih_counter *make_counter(void)
{
    struct ih_counter *counter = malloc(sizeof *counter);
    assert_non_null(counter);
    memset(counter, 0xA5, sizeof *counter);
    return counter;
}

/* Counts one image with a counter that is filled with garbage before it begins. Adds nothing to it
 * if there are no pixels. */
static inline void count_with(const struct ih_count_method *method,
                              const struct ih_count_spec *spec, const uint8_t *pixels, size_t n,
                              struct ih_histogram *out)
{
    static struct ih_counter counter; /* allocating one each time would take longer than counting */
    memset(&counter, 0xA5, sizeof counter);
    memset(out, 0x5A, sizeof *out);
    ih_counter_begin(&counter, method, spec);
    if (n > 0)
        ih_counter_add(&counter, pixels, n);
    ih_counter_end(&counter, out);
    assert_true(ih_histogram_consistent(out));
}

#endif
