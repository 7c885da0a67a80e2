/*
 * What the two halves of the processor's side of --bench share: cpu.c lists and times the
 * rungs, cpu_runs.c does the work.
 */
#ifndef IH_BENCH_CPU_H
#define IH_BENCH_CPU_H

#include "bench/exact.h"
#include "bench/rung.h"
#include "bench/team.h"
#include "count/count.h"

struct ih_bench_cpu {
    struct ih_bench_team *team;
    unsigned n_threads;
    struct ih_counter *counters; /* [n_threads] */
    struct ih_histogram *parts;  /* [n_threads] */
    uint32_t *xors;              /* [n_threads] */
    struct ih_exact_sum exact;
    double linear[IH_BINS]; /* sRGB-decoded values, 0 to 1 */
};

/* One run of a rung on a job. */
typedef void ih_bench_run_function(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                                   struct ih_bench_answer *out);

ih_bench_run_function ih_bench_run_read, ih_bench_run_naive, ih_bench_run_tables,
    ih_bench_run_tables_all, ih_bench_run_sum_float, ih_bench_run_sum_double,
    ih_bench_run_sum_exact, ih_bench_run_dot_float, ih_bench_run_dot_double,
    ih_bench_run_luminance_pixels, ih_bench_run_luminance_histogram;

#endif
