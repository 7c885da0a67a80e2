#include "bench/rung.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_figures(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ih_bench_median(double *figures, size_t n)
{
    qsort(figures, n, sizeof *figures, compare_figures);
    return n % 2 ? figures[n / 2] : (figures[n / 2 - 1] + figures[n / 2]) / 2;
}

void ih_bench_row_begin(struct ih_bench_row *row, const struct ih_bench_task *task,
                        enum ih_bench_data data, const struct ih_bench_rung *rung)
{
    const double none = (double)NAN;
    *row = (struct ih_bench_row){.task = task,
                                 .rung = rung,
                                 .data = data,
                                 .times = {none, none},
                                 .gb_per_s = none,
                                 .read_share = none,
                                 .speedup = none,
                                 .copy_speedup = none,
                                 .value = none,
                                 .error = none};
    if (rung->why_not)
        ih_bench_row_fail(row, IH_BENCH_SKIPPED, rung->why_not);
}

void ih_bench_row_fail(struct ih_bench_row *row, enum ih_bench_status status, const char *message)
{
    if (row->status != IH_BENCH_OK)
        return;
    row->status = status;
    snprintf(row->reason, sizeof row->reason, "%.*s", IH_MESSAGE_MAX - 1, message);
}

void ih_bench_verify(struct ih_bench_row *row, const struct ih_bench_job *job)
{
    struct ih_bench_answer answer;
    struct ih_error err = {0};
    if (row->status != IH_BENCH_OK)
        return;
    memset(&answer, 0, sizeof answer); /* a field that the rung forgets is wrong, not undefined */
    if (row->rung->answer(row->rung, job, &answer, &err) != IH_OK)
        ih_bench_row_fail(row, IH_BENCH_FAILED, err.message);
    else if (ih_bench_check(job, row->rung->is_read, &answer, &row->error, &err) != IH_OK)
        ih_bench_row_fail(row, IH_BENCH_WRONG, err.message);
    row->value = answer.value;
}

void ih_bench_time(struct ih_bench_row *row, const struct ih_bench_job *job,
                   struct ih_bench_baseline *baseline)
{
    struct ih_error err = {0};
    double *read_gb_per_s = &baseline->read_gb_per_s[strcmp(row->rung->device, "cpu") != 0];
    if (row->status != IH_BENCH_OK)
        return;
    if (row->rung->time(row->rung, job, &row->times, &err) != IH_OK) {
        ih_bench_row_fail(row, IH_BENCH_FAILED, err.message);
        return;
    }
    row->gb_per_s = (double)job->n_bytes / row->times.time_ns;
    if (row->rung->is_read)
        *read_gb_per_s = row->gb_per_s;
    else if (baseline->first_ns == 0)
        baseline->first_ns = row->times.time_ns;
    if (*read_gb_per_s > 0)
        row->read_share = row->gb_per_s / *read_gb_per_s;
    if (baseline->first_ns > 0 && !row->rung->is_read) {
        row->speedup = baseline->first_ns / row->times.time_ns;
        row->copy_speedup = baseline->first_ns / row->times.copy_time_ns;
    }
}
