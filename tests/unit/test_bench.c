/* The data of --bench has the promised properties, and wrong answers are found. */
#include "tests/support/test.h"

#include "bench/method.h"

enum { SIZE_BYTES = 100000 };

static void job_open(struct ih_bench_job *job, unsigned n_channels, enum ih_bench_data data)
{
    struct ih_error err;
    uint8_t *input = malloc(SIZE_BYTES + 8);
    assert_non_null(input);
    assert_int_equal(ih_bench_job_fill(job, input, SIZE_BYTES, n_channels, data, &err), IH_OK);
}

TEST(sizes)
{
    struct ih_bench_job job;
    job_open(&job, 3, IH_DATA_RANDOM);
    assert_int_equal(job.n_pixels, 33333);
    assert_int_equal(job.n_bytes, 99999);
    free(job.input);
}

/* The number of values that occur, counted here. */
static unsigned n_values(enum ih_bench_data data)
{
    struct ih_bench_job job;
    uint64_t counts[256] = {0};
    unsigned n = 0;
    job_open(&job, 1, data);
    for (size_t i = 0; i < job.n_bytes; i++)
        counts[job.input[i]]++;
    for (unsigned v = 0; v < 256; v++) {
        assert_int_equal(job.expected.histogram.bins[0][v], counts[v]);
        n += counts[v] > 0;
    }
    free(job.input);
    return n;
}

TEST(data_fit_their_names)
{
    assert_int_equal(n_values(IH_DATA_RANDOM), 256);
    assert_int_equal(n_values(IH_DATA_CONSTANT), 1);
    assert_int_equal(n_values(IH_DATA_TWO_VALUED), 2);
    assert_in_range(n_values(IH_DATA_SMOOTH), 16, 255);
}

static void expect_wrong(const struct ih_bench_job *job, bool is_read,
                         const struct ih_bench_answer *answer, const char *message)
{
    struct ih_error err = {0};
    assert_int_equal(ih_bench_check(job, is_read, answer, &err), IH_DEVICE);
    assert_memory_equal(err.message, message, strlen(message));
}

TEST(wrong_answers_are_found)
{
    struct ih_error err = {0};
    struct ih_bench_job job;
    job_open(&job, 3, IH_DATA_CONSTANT);
    struct ih_bench_answer right = job.expected, wrong = right;
    assert_int_equal(ih_bench_check(&job, false, &right, &err), IH_OK);
    wrong.xor_all ^= 1;
    assert_int_equal(ih_bench_check(&job, true, &right, &err), IH_OK);
    assert_int_equal(ih_bench_check(&job, false, &wrong, &err), IH_OK);
    expect_wrong(&job, true, &wrong, "wrong: the xor of all words is ");
    wrong = right;
    wrong.histogram.bins[IH_LUMA][77]--;
    expect_wrong(&job, false, &wrong, "wrong: luma bin 77 holds 33332, not 33333");
    assert_int_equal(ih_bench_check(&job, true, &wrong, &err), IH_OK);
    wrong = right;
    wrong.histogram.sum[1] += 256;
    expect_wrong(&job, false, &wrong, "wrong: the green sum is 2566897, not 2566641");
    wrong = right;
    wrong.histogram.all_high++;
    expect_wrong(&job, false, &wrong, "wrong: the clip counts differ");
    free(job.input);
}

TEST(median)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    assert_true(ih_bench_median(odd, 3) == 2);
    assert_true(ih_bench_median(even, 4) == 2.5);
}
