/* Exact sums against sums that are known by other means. */
#include "tests/support/test.h"

#include "bench/exact.h"
#include <float.h>
#include <math.h>

static double sum_of(const double *values, size_t n)
{
    struct ih_exact_sum *sum = calloc(1, sizeof *sum);
    assert_non_null(sum);
    for (size_t i = 0; i < n; i++)
        ih_exact_add(sum, values[i]);
    const double rounded = ih_exact_round(sum);
    free(sum);
    return rounded;
}

#define assert_sum(expected, ...)                                                \
    do {                                                                         \
        const double values_[] = {__VA_ARGS__}, expected_ = (expected);          \
        const double sum_ = sum_of(values_, sizeof values_ / sizeof values_[0]); \
        if (sum_ != expected_)                                                   \
            fail_msg("%s sums to %a, not %a", #__VA_ARGS__, sum_, expected_);    \
    } while (0)

TEST(exact_of_few)
{
    assert_true(sum_of(NULL, 0) == 0);
    assert_sum(0.0, 0.0, -0.0);
    assert_sum(1.25, 1.25);
    assert_sum(-1.25, -1.25);
    assert_sum(0.0, 1e300, -1e300);
    assert_sum(1.0, 1e300, 1.0, -1e300);
    assert_sum(-3.0, 1e17, -1.0, -1e17, -2.0);
    assert_sum(DBL_TRUE_MIN, DBL_TRUE_MIN);
    assert_sum(3 * DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN);
    assert_sum(-DBL_TRUE_MIN, DBL_MIN, -DBL_MIN, -DBL_TRUE_MIN);
    assert_sum(DBL_MAX, DBL_MAX, 1.0, -1.0);
    assert_sum(0.0, DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX);
    assert_true(isinf(sum_of((const double[]){DBL_MAX, DBL_MAX}, 2)));
}

TEST(exact_rounds_to_even_once)
{
    const double one_ulp = 0x1p-52, half = 0x1p-53, tiny = 0x1p-1000;
    assert_sum(1.0, 1.0, half);
    assert_sum(1.0 + 2 * one_ulp, 1.0 + one_ulp, half);
    assert_sum(1.0 + one_ulp, 1.0, half, tiny);
    assert_sum(1.0, 1.0, half, -tiny);
    assert_sum(-1.0 - one_ulp, -1.0, -half, -tiny);
    assert_sum(2.0, 2.0 - one_ulp, half, tiny);
    assert_sum(0x1p53 + 2, 0x1p53, 1.0, DBL_TRUE_MIN);
}

/* Every number and its negative, in different orders: the sum is 0. */
TEST(exact_of_many)
{
    enum { N = 20000 };
    double *values = malloc(2 * N * sizeof *values);
    uint64_t random = 1;
    assert_non_null(values);
    for (size_t i = 0; i < N; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double v = ldexp((double)(random >> 12), (int)(random % 1800) - 900);
        values[i] = v;
        values[N + i * 7919 % N] = -v; /* 7919 is prime: every place once */
    }
    assert_true(sum_of(values, 2 * N) == 0);
    free(values);
}

TEST(exact_of_the_well_known_example)
{
    enum { N = 1000000 };
    struct ih_exact_sum *sum = calloc(1, sizeof *sum);
    assert_non_null(sum);
    for (size_t i = 0; i < N; i++)
        ih_exact_add(sum, (double)1.23f);
    assert_true(ih_exact_round(sum) == (double)1.23f * N); /* 24 bits and 20: no rounding */
    free(sum);
}
