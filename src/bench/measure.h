/*
 * One rung's way into the report: first the answer, then the time.
 *
 * A row begins as skipped or ok; whatever goes wrong turns it into wrong or failed, with the
 * reason, and a row that is not ok is never timed.
 */
#ifndef IH_BENCH_MEASURE_H
#define IH_BENCH_MEASURE_H

#include "bench/report.h"

/* What the rungs of one task on one kind of data have in common, found out as they run. All zero at
 * the start. */
struct ih_bench_baseline {
    double first_ns;         /* the first rung that does the work; 0: not timed yet */
    double read_gb_per_s[2]; /* of the processor and of the GPU; 0: not timed */
};

/* task and rung are borrowed as long as the row. */
void ih_bench_row_begin(struct ih_bench_row *row, const struct ih_bench_task *task,
                        enum ih_bench_data data, const struct ih_bench_rung *rung);

/* Gives up on a rung that was ok so far; message is copied. */
void ih_bench_row_fail(struct ih_bench_row *row, enum ih_bench_status status, const char *message);

/* Lets the rung answer the job, and checks it. Does nothing to a row that is not ok. */
void ih_bench_verify(struct ih_bench_row *row, const struct ih_bench_job *job);

/* Times the rung, and works out the row's figures. Does nothing to a row that is not ok. */
void ih_bench_time(struct ih_bench_row *row, const struct ih_bench_job *job,
                   struct ih_bench_baseline *baseline);

#endif
