/* Shared by tests of counting: counters, and comparison of histograms. */
#ifndef IH_TESTS_COUNTED_H
#define IH_TESTS_COUNTED_H

#include "tests/support/test.h"

#include "count/count.h"
#include "tests/support/histograms.h"
#include "tests/support/random.h"

/* Releases b. */
static inline void assert_same(const struct ih_histogram *a, struct ih_histogram *b)
{
    assert_same_counts(a, b);
    assert_true(ih_histogram_consistent(a));
    ih_histogram_reset(b);
}

/* A counter filled with garbage; free_counter() it. */
static inline struct ih_counter *make_counter(void)
{
    struct ih_counter *counter = malloc(sizeof *counter);
    assert_non_null(counter);
    memset(counter, 0xA5, sizeof *counter);
    counter->totals.bins = NULL;
    return counter;
}

static inline void free_counter(struct ih_counter *counter)
{
    ih_counter_reset(counter);
    free(counter);
}

static inline void begin(struct ih_counter *counter, const struct ih_count_method *method,
                         const struct ih_count_spec *spec)
{
    assert_int_equal(ih_counter_begin(counter, method, spec, NULL), IH_OK);
}

/* Counts one image with a counter that is filled with garbage before it begins. Adds nothing to it
 * if there are no pixels. */
static inline void count_with(const struct ih_count_method *method,
                              const struct ih_count_spec *spec, const uint8_t *pixels, size_t n,
                              struct ih_histogram *out)
{
    static struct ih_counter counter; /* allocating one each time would take longer than counting */
    memset(&counter, 0xA5, sizeof counter);
    counter.totals.bins = NULL;
    memset(out, 0x5A, sizeof *out);
    begin(&counter, method, spec);
    if (n > 0)
        ih_counter_add(&counter, pixels, n);
    ih_counter_end(&counter, out);
    assert_true(ih_histogram_consistent(out));
}

#endif
