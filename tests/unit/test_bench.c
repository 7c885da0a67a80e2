/*
 * The bench's own honesty: exact sums against sums known otherwise, data with the properties that
 * their names promise, rungs that answer wrongly, and what the reports make of it all.
 *
 * The rungs planted here go through the same interface as the real ones.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/bench/exact.h"
#include "cli/bench/measure.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- exact sums ---- */

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

static void test_exact_of_few(void **state)
{
    (void)state;
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

static void test_exact_rounds_to_even_once(void **state)
{
    const double one_ulp = 0x1p-52, half = 0x1p-53, tiny = 0x1p-1000;
    (void)state;
    assert_sum(1.0, 1.0, half);
    assert_sum(1.0 + 2 * one_ulp, 1.0 + one_ulp, half);
    assert_sum(1.0 + one_ulp, 1.0, half, tiny);
    assert_sum(1.0, 1.0, half, -tiny);
    assert_sum(-1.0 - one_ulp, -1.0, -half, -tiny);
    assert_sum(2.0, 2.0 - one_ulp, half, tiny);
    assert_sum(0x1p53 + 2, 0x1p53, 1.0, DBL_TRUE_MIN);
}

/* Numbers whose sum is known because every one comes with its negative, in another order. */
static void test_exact_of_many(void **state)
{
    enum { N = 20000 };
    double *values = malloc(2 * N * sizeof *values);
    uint64_t random = 1;
    (void)state;
    assert_non_null(values);
    for (size_t i = 0; i < N; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double v = ldexp((double)(random >> 12), (int)(random % 1800) - 900);
        values[i] = v;
        values[N + i * 7919 % N] = -v; /* 7919 is prime: each place once */
    }
    assert_true(sum_of(values, 2 * N) == 0);
    free(values);
}

static void test_exact_of_the_well_known_example(void **state)
{
    enum { N = 1000000 };
    struct ih_exact_sum *sum = calloc(1, sizeof *sum);
    (void)state;
    assert_non_null(sum);
    for (size_t i = 0; i < N; i++)
        ih_exact_add(sum, (double)1.23f);
    assert_true(ih_exact_round(sum) == (double)1.23f * N); /* 24 bits and 20: no rounding */
    free(sum);
}

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

static void test_sizes(void **state)
{
    struct ih_bench_job job;
    (void)state;
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

/* What they are made for: any order, forwards and backwards here, gives the exact sum in a float.
 */
static void test_whole_numbers_sum_exactly_in_any_order(void **state)
{
    static const char *const tasks[] = {"sum_float", "dot_float"};
    (void)state;
    for (size_t t = 0; t < 2; t++) {
        struct ih_bench_job job;
        job_open(&job, tasks[t], IH_DATA_WHOLE);
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

/* The bins of a kind of data that hold anything. */
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

static void test_data_are_what_they_are_called(void **state)
{
    (void)state;
    assert_int_equal(n_values(IH_DATA_RANDOM), 256);
    assert_int_equal(n_values(IH_DATA_CONSTANT), 1);
    assert_int_equal(n_values(IH_DATA_TWO_VALUED), 2);
    assert_in_range(n_values(IH_DATA_SMOOTH), 16, 255);
}

/* ---- planted rungs ---- */

/* What a rung of this test does; its timing counts how often it was asked. */
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
    (void)job;
    if (!plan->answer)
        return ih_error_set(err, IH_DEVICE, "GPU: it fell off the bus");
    *out = *plan->answer;
    return IH_OK;
}

static enum ih_status planted_time(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                   struct ih_bench_times *out, struct ih_error *err)
{
    struct plan *plan = rung->machine;
    (void)job, (void)err;
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

/* Runs the planted rung as the driver does and gives its row. */
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

/* The answer is found wrong, for a reason that has `reason` in it, and never timed. */
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

static void test_right_answers_are_timed(void **state)
{
    (void)state;
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

static void test_wrong_histograms_are_caught(void **state)
{
    struct ih_bench_job job;
    (void)state;
    job_open(&job, "histogram_rgb", IH_DATA_RANDOM);
    struct ih_bench_answer answer = right_answer(&job);
    answer.histogram.bins[0][17]++; /* one pixel in the wrong bin, so that all sums still agree */
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

/* The reference's own figures tampered with: what is left is the textbook's test of the bytes. */
static void test_textbook_checks_need_no_reference(void **state)
{
    struct ih_bench_job job;
    (void)state;
    job_open(&job, "histogram_gray", IH_DATA_RANDOM);
    job.histogram.bins[0][3]++;
    struct ih_bench_answer answer = right_answer(&job);
    assert_caught(&job, &answer, false, "100001 counts of 100000 bytes");
    job.histogram.bins[0][4]--;
    answer = right_answer(&job);
    assert_caught(&job, &answer, false, "bin 3 is not zero");
    free(job.input);
}

static void test_wrong_values_are_caught(void **state)
{
    struct ih_bench_job job;
    (void)state;
    job_open(&job, "sum_float", IH_DATA_WHOLE);
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

/* A sum that rounds is no mistake: its error is told. */
static void test_rounding_is_reported(void **state)
{
    struct ih_bench_job job;
    (void)state;
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

static void test_what_cannot_run(void **state)
{
    struct ih_bench_job job;
    struct plan plan = {.time_ns = 1};
    struct ih_bench_rung rung = rung_make(&plan);
    (void)state;
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

static void test_shares_and_medians(void **state)
{
    struct ih_bench_job job;
    struct ih_bench_baseline baseline = {0};
    struct ih_bench_row row;
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2};
    (void)state;
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

/* ---- reports ---- */

/* Three rows of one task, ok, skipped and wrong, as `format` tells them; to be freed. */
static char *report_of(enum ih_bench_format format, bool is_verbose)
{
    static const struct ih_bench_head head = {1 << 20, 4, NULL, "no \"usable\" GPU"};
    struct plan plan = {NULL, 0, 0, 0};
    struct ih_bench_rung rung = rung_make(&plan);
    const struct ih_bench_task *task = find_task("sum_float");
    struct ih_bench_report report;
    struct ih_bench_row row;
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *stream = open_memstream(&text, &n_bytes);
    assert_non_null(stream);
    ih_bench_report_begin(&report, stream, format, is_verbose, &head);
    ih_bench_row_begin(&row, task, IH_DATA_TERMS, &rung);
    row.n_bytes = 4000000;
    row.times = (struct ih_bench_times){123456.4, 2345678};
    row.gb_per_s = 32.4;
    row.read_share = 0.25;
    row.speedup = 2;
    row.copy_speedup = 0.125;
    row.value = 33554432;
    row.error = 0.72719986;
    ih_bench_report_row(&report, &row);
    ih_bench_row_begin(&row, task, IH_DATA_TERMS, &rung);
    row.n_bytes = 4000000;
    ih_bench_row_fail(&row, IH_BENCH_SKIPPED, "no \"usable\" GPU, alas");
    ih_bench_report_row(&report, &row);
    ih_bench_row_begin(&row, task, IH_DATA_TERMS, &rung);
    row.n_bytes = 4000000;
    ih_bench_row_fail(&row, IH_BENCH_WRONG, "wrong: 1, not 2");
    ih_bench_row_fail(&row, IH_BENCH_FAILED, "the first reason stays");
    ih_bench_report_row(&report, &row);
    ih_bench_report_end(&report);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void test_csv(void **state)
{
    char *text = report_of(IH_BENCH_CSV, true);
    (void)state;
    assert_string_equal(
        text,
        "task,device,rung,data,bytes,status,time_ns,gb_per_s,read_share,speedup,"
        "copy_time_ns,copy_speedup,value,error,reason\n"
        "sum_float,cuda,planted,1.23,4000000,ok,123456,32.400000,0.250000,2.000000,"
        "2345678,0.125000,33554432,7.271999e-01,\n"
        "sum_float,cuda,planted,1.23,4000000,skipped,,,,,,,,,\"no \"\"usable\"\" GPU, alas\"\n"
        "sum_float,cuda,planted,1.23,4000000,wrong,,,,,,,,,\"wrong: 1, not 2\"\n");
    free(text);
}

static void test_json(void **state)
{
    char *text = report_of(IH_BENCH_JSON, false);
    (void)state;
    assert_string_equal(
        text,
        "{\"schema\":\"imghist-bench/1\",\"version\":\"" IH_VERSION "\",\"size_bytes\":1048576,"
        "\"cpu_threads\":4,\"gpu\":null,\"gpu_reason\":\"no \\\"usable\\\" GPU\",\"rungs\":[\n"
        "{\"task\":\"sum_float\",\"device\":\"cuda\",\"rung\":\"planted\",\"data\":\"1.23\","
        "\"bytes\":4000000,\"status\":\"ok\",\"time_ns\":123456,\"gb_per_s\":32.400000,"
        "\"read_share\":0.250000,\"speedup\":2.000000,\"copy_time_ns\":2345678,"
        "\"copy_speedup\":0.125000,\"value\":33554432,\"error\":7.271999e-01,\"reason\":null},\n"
        "{\"task\":\"sum_float\",\"device\":\"cuda\",\"rung\":\"planted\",\"data\":\"1.23\","
        "\"bytes\":4000000,\"status\":\"skipped\",\"time_ns\":null,\"gb_per_s\":null,"
        "\"read_share\":null,\"speedup\":null,\"copy_time_ns\":null,\"copy_speedup\":null,"
        "\"value\":null,\"error\":null,\"reason\":\"no \\\"usable\\\" GPU, alas\"},\n"
        "{\"task\":\"sum_float\",\"device\":\"cuda\",\"rung\":\"planted\",\"data\":\"1.23\","
        "\"bytes\":4000000,\"status\":\"wrong\",\"time_ns\":null,\"gb_per_s\":null,"
        "\"read_share\":null,\"speedup\":null,\"copy_time_ns\":null,\"copy_speedup\":null,"
        "\"value\":null,\"error\":null,\"reason\":\"wrong: 1, not 2\"}\n"
        "]}\n");
    free(text);
}

static void test_table(void **state)
{
    static const char *const parts[] = {"  cpu    4 threads\n",
                                        "  cuda   not here: no \"usable\" GPU\n",
                                        "\nsum of floats, 3.8147 MiB\n",
                                        " 123.46 us     32.4    0.250      2.00     2.35 ms",
                                        "33554432            7.3e-01\n",
                                        "1.23       not run: no \"usable\" GPU, alas\n",
                                        "1.23       wrong: wrong: 1, not 2\n"};
    char *text = report_of(IH_BENCH_TABLE, false), *verbose = report_of(IH_BENCH_TABLE, true);
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(text, parts[i]))
            fail_msg("'%s' is not in:\n%s", parts[i], text);
    assert_null(strstr(text, "it teaches nothing"));
    assert_non_null(strstr(verbose, "it teaches nothing"));
    free(text);
    free(verbose);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_of_few),
        cmocka_unit_test(test_exact_rounds_to_even_once),
        cmocka_unit_test(test_exact_of_many),
        cmocka_unit_test(test_exact_of_the_well_known_example),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_whole_numbers_sum_exactly_in_any_order),
        cmocka_unit_test(test_data_are_what_they_are_called),
        cmocka_unit_test(test_right_answers_are_timed),
        cmocka_unit_test(test_wrong_histograms_are_caught),
        cmocka_unit_test(test_textbook_checks_need_no_reference),
        cmocka_unit_test(test_wrong_values_are_caught),
        cmocka_unit_test(test_rounding_is_reported),
        cmocka_unit_test(test_what_cannot_run),
        cmocka_unit_test(test_shares_and_medians),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
