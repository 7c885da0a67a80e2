/*
 * The checks of --bench: generated data has the promised properties, and wrong answers are found.
 * Rungs planted by these tests use the same interface as the real ones.
 */
#include "tests/support/test.h"

#include "bench/exact.h"
#include "bench/report.h"
#include <math.h>

/* ---- jobs ---- */

enum { SIZE_BYTES = 100000 };

static const struct ih_bench_task *find_task(const char *name)
{
    for (size_t i = 0; i < ih_bench_n_tasks; i++)
        if (strcmp(ih_bench_tasks[i].name, name) == 0)
            return &ih_bench_tasks[i];
    fail_msg("no task %s", name);
    return NULL;
}

static void job_open(struct ih_bench_job *job, const char *task, enum ih_bench_data data)
{
    struct ih_error err;
    ih_bench_job_size(job, find_task(task), SIZE_BYTES);
    job->input = malloc(job->n_bytes);
    assert_non_null(job->input);
    assert_int_equal(ih_bench_job_fill(job, data, &err), IH_OK);
}

TEST(sizes)
{
    struct ih_bench_job job;
    ih_bench_job_size(&job, find_task("histogram_gray"), 1000);
    assert_int_equal(job.n_items, 1000);
    assert_int_equal(job.n_bytes, 1000);
    ih_bench_job_size(&job, find_task("histogram_rgb"), 1000);
    assert_int_equal(job.n_items, 333);
    assert_int_equal(job.n_bytes, 999);
    ih_bench_job_size(&job, find_task("sum_float"), 100 << 20);
    assert_int_equal(job.n_items, 100000000);
    assert_int_equal(job.n_bytes, 400000000);
    ih_bench_job_size(&job, find_task("sum_double"), 100 << 20);
    assert_int_equal(job.n_bytes, 800000000);
    ih_bench_job_size(&job, find_task("dot_float"), 100 << 20);
    assert_int_equal(job.n_items, 50000000);
    assert_int_equal(job.n_bytes, 400000000);
}

/* Forwards and backwards, a float holds the exact sum. */
TEST(integers_sum_exactly_in_any_order)
{
    static const char *const tasks[] = {"sum_float", "dot_float"};
    for (size_t t = 0; t < 2; t++) {
        struct ih_bench_job job;
        job_open(&job, tasks[t], IH_DATA_INTEGERS);
        const float *a = job.input, *b = a + job.n_items;
        float forwards = 0, backwards = 0, magnitudes = 0;
        for (size_t i = 0; i < job.n_items; i++) {
            const size_t k = job.n_items - 1 - i;
            forwards += t == 0 ? a[i] : a[i] * b[i];
            backwards += t == 0 ? a[k] : a[k] * b[k];
            magnitudes += fabsf(t == 0 ? a[i] : a[i] * b[i]);
        }
        assert_true((double)forwards == job.value && (double)backwards == job.value);
        assert_true(magnitudes < 0x1p24f && magnitudes > (float)job.n_items / 4);
        assert_true(job.tolerance == 0);
        free(job.input);
    }
}

/* The expected answers, which share no code with any rung, agree with the rungs' code. */
TEST(expected_values_are_right)
{
    static const enum ih_bench_data kinds[] = {IH_DATA_INTEGERS, IH_DATA_TERMS};
    struct ih_bench_job job;
    for (size_t k = 0; k < 4; k++) {
        struct ih_exact_sum *sum = calloc(1, sizeof *sum);
        assert_non_null(sum);
        job_open(&job, k / 2 ? "sum_double" : "sum_float", kinds[k % 2]);
        for (size_t i = 0; i < job.n_items; i++)
            ih_exact_add(sum, k / 2 ? ((double *)job.input)[i] : (double)((float *)job.input)[i]);
        assert_true(ih_exact_round(sum) == job.value);
        free(sum);
        free(job.input);
    }
    job_open(&job, "luminance_rgb", IH_DATA_SMOOTH);
    assert_true(fabs(ih_mean_luminance(&job.histogram) - job.value) < 1e-12);
    free(job.input);
}

/* The number of bins that are not empty. */
static unsigned n_values(enum ih_bench_data data)
{
    struct ih_bench_job job;
    unsigned n = 0;
    job_open(&job, "histogram_gray", data);
    for (unsigned v = 0; v < IH_BINS; v++)
        n += job.histogram.bins[0][v] > 0;
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

/* ---- planted rungs ---- */

/* The behaviour of a planted rung, and how often it was timed. */
struct plan {
    const struct ih_bench_answer *answer; /* NULL: it fails */
    unsigned n_timed;
    double time_ns, copy_time_ns;
};

static enum ih_status planted_answer(const struct ih_bench_rung *rung,
                                     const struct ih_bench_job *job, struct ih_bench_answer *out,
                                     struct ih_error *err)
{
    const struct plan *plan = rung->machine;
    if (!plan->answer)
        return ih_error_set(err, IH_DEVICE, "GPU: it fell off the bus");
    *out = *plan->answer;
    return IH_OK;
}

static enum ih_status planted_time(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                   struct ih_bench_times *out, struct ih_error *err)
{
    struct plan *plan = rung->machine;
    plan->n_timed++;
    *out = (struct ih_bench_times){plan->time_ns, plan->copy_time_ns};
    return IH_OK;
}

static struct ih_bench_rung rung_make(struct plan *plan)
{
    return (struct ih_bench_rung){.device = "cuda",
                                  .name = "planted",
                                  .why = "it teaches nothing",
                                  .machine = plan,
                                  .answer = planted_answer,
                                  .time = planted_time};
}

/* Runs a planted rung as the driver does and returns its row. */
static struct ih_bench_row run_planted(const struct ih_bench_job *job,
                                       const struct ih_bench_rung *rung)
{
    struct ih_bench_baseline baseline = {0};
    struct ih_bench_row row;
    ih_bench_row_begin(&row, job->task, job->data, rung);
    row.n_bytes = job->n_bytes;
    ih_bench_verify(&row, job);
    ih_bench_time(&row, job, &baseline);
    return row;
}

static struct ih_bench_answer right_answer(const struct ih_bench_job *job)
{
    return (struct ih_bench_answer){
        .xor_all = job->xor_all, .histogram = job->histogram, .value = job->value};
}

/* The answer is found wrong, with `reason` in the message, and never timed. */
static void assert_caught(const struct ih_bench_job *job, const struct ih_bench_answer *answer,
                          bool is_read, const char *reason)
{
    struct plan plan = {.answer = answer, .time_ns = 1};
    struct ih_bench_rung rung = rung_make(&plan);
    rung.is_read = is_read;
    const struct ih_bench_row row = run_planted(job, &rung);
    assert_int_equal(row.status, IH_BENCH_WRONG);
    assert_int_equal(plan.n_timed, 0);
    assert_true(isnan(row.times.time_ns) && isnan(row.speedup));
    if (!strstr(row.reason, reason))
        fail_msg("'%s' is not in: %s", reason, row.reason);
}

TEST(right_answers_are_timed)
{
    for (size_t t = 0; t < ih_bench_n_tasks; t++) {
        const struct ih_bench_task *task = &ih_bench_tasks[t];
        struct ih_bench_job job;
        job_open(&job, task->name, task->timed[0]);
        const struct ih_bench_answer answer = right_answer(&job);
        struct plan plan = {.answer = &answer, .time_ns = 2000, .copy_time_ns = 4000};
        struct ih_bench_rung rung = rung_make(&plan);
        const struct ih_bench_row row = run_planted(&job, &rung);
        assert_int_equal(row.status, IH_BENCH_OK);
        assert_string_equal(row.reason, "");
        assert_int_equal(plan.n_timed, 1);
        assert_true(row.gb_per_s == (double)job.n_bytes / 2000);
        assert_true(row.speedup == 1 && row.copy_speedup == 0.5 && row.error == 0);
        free(job.input);
    }
}

TEST(wrong_histograms_are_caught)
{
    struct ih_bench_job job;
    job_open(&job, "histogram_rgb", IH_DATA_RANDOM);
    struct ih_bench_answer answer = right_answer(&job);
    answer.histogram.bins[0][17]++; /* one pixel in the wrong bin */
    answer.histogram.bins[0][18]--;
    assert_caught(&job, &answer, false, "red bin 17");
    answer = right_answer(&job);
    answer.histogram.bins[IH_LUMA][255] += 1;
    assert_caught(&job, &answer, false, "luma bin 255");
    answer = right_answer(&job);
    answer.histogram.sum[2]--;
    assert_caught(&job, &answer, false, "blue sum");
    answer = right_answer(&job);
    answer.histogram.any_high++;
    assert_caught(&job, &answer, false, "clip");
    memset(&answer, 0, sizeof answer);
    assert_caught(&job, &answer, false, "red bin 0");
    free(job.input);
}

/* With a corrupted reference, the textbook's test of the bytes still finds the error. */
TEST(textbook_checks_need_no_reference)
{
    struct ih_bench_job job;
    job_open(&job, "histogram_gray", IH_DATA_RANDOM);
    job.histogram.bins[0][3]++;
    struct ih_bench_answer answer = right_answer(&job);
    assert_caught(&job, &answer, false, "100001 counts of 100000 bytes");
    job.histogram.bins[0][4]--;
    answer = right_answer(&job);
    assert_caught(&job, &answer, false, "bin 3 is not zero");
    free(job.input);
}

TEST(wrong_values_are_caught)
{
    struct ih_bench_job job;
    job_open(&job, "sum_float", IH_DATA_INTEGERS);
    struct ih_bench_answer answer = right_answer(&job);
    answer.value += 1;
    assert_caught(&job, &answer, false, "wrong: ");
    answer.value = (double)NAN;
    assert_caught(&job, &answer, false, "wrong: ");
    free(job.input);

    job_open(&job, "sum_float", IH_DATA_TERMS);
    answer = right_answer(&job);
    answer.value = (double)NAN;
    assert_caught(&job, &answer, false, "wrong: ");
    free(job.input);

    job_open(&job, "luminance_rgb", IH_DATA_SMOOTH);
    answer = right_answer(&job);
    answer.value *= 1 + 1e-8;
    assert_caught(&job, &answer, false, "wrong: ");
    free(job.input);

    job_open(&job, "dot_float", IH_DATA_RANDOM);
    answer = right_answer(&job);
    answer.xor_all ^= 1u << 31;
    assert_caught(&job, &answer, true, "xor");
    free(job.input);
}

/* A sum that rounds is no error; its relative error is reported. */
TEST(rounding_is_reported)
{
    struct ih_bench_job job;
    job_open(&job, "sum_double", IH_DATA_TERMS);
    struct ih_bench_answer answer = right_answer(&job);
    answer.value *= 0.75;
    struct plan plan = {.answer = &answer, .time_ns = 1};
    struct ih_bench_rung rung = rung_make(&plan);
    const struct ih_bench_row row = run_planted(&job, &rung);
    assert_int_equal(row.status, IH_BENCH_OK);
    assert_true(fabs(row.error - 0.25) < 1e-12);
    free(job.input);
}

TEST(rungs_that_cannot_run)
{
    struct ih_bench_job job;
    struct plan plan = {.time_ns = 1};
    struct ih_bench_rung rung = rung_make(&plan);
    job_open(&job, "histogram_gray", IH_DATA_CONSTANT);
    struct ih_bench_row row = run_planted(&job, &rung);
    assert_int_equal(row.status, IH_BENCH_FAILED);
    assert_string_equal(row.reason, "GPU: it fell off the bus");
    rung.why_not = "no GPU";
    row = run_planted(&job, &rung);
    assert_int_equal(row.status, IH_BENCH_SKIPPED);
    assert_string_equal(row.reason, "no GPU");
    assert_int_equal(plan.n_timed, 0);
    free(job.input);
}

TEST(shares_and_medians)
{
    struct ih_bench_job job;
    struct ih_bench_baseline baseline = {0};
    struct ih_bench_row row;
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2};
    assert_true(ih_bench_median(odd, 3) == 5);
    assert_true(ih_bench_median(even, 4) == 2.5);
    job_open(&job, "histogram_gray", IH_DATA_CONSTANT);
    const struct ih_bench_answer answer = right_answer(&job);
    struct plan plans[] = {
        {&answer, 0, 100, 1000}, {&answer, 0, 800, 1000}, {&answer, 0, 200, 1600}};
    for (int i = 0; i < 3; i++) {
        struct ih_bench_rung rung = rung_make(&plans[i]);
        rung.is_read = i == 0;
        ih_bench_row_begin(&row, job.task, job.data, &rung);
        ih_bench_verify(&row, &job);
        ih_bench_time(&row, &job, &baseline);
        assert_true(isnan(row.speedup) == (i == 0));
        assert_true(row.read_share == 100 / plans[i].time_ns);
    }
    assert_true(row.speedup == 4 && row.copy_speedup == 0.5);
    free(job.input);
}
