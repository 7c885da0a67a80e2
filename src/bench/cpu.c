/*
 * The ladder's rungs on the processor, and how they are timed.
 *
 * Processors are noisy neighbours: clocks rise and fall, other programs come and go. The median of
 * many runs is what counts, as on the GPU: a burst spoils a run, not a figure.
 */
#define _POSIX_C_SOURCE 200809L

#include "bench/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* ---- the rungs ---- */

static const struct cpu_rung {
    unsigned kinds; /* of enum ih_bench_kind */
    bool is_for_double, is_read;
    const char *name, *why;
    ih_bench_run_function *run;
} cpu_rungs[] = {
    {IH_BENCH_HISTOGRAM | IH_BENCH_SUM | IH_BENCH_DOT | IH_BENCH_LUMINANCE, true, true, "read",
     "reads all bytes on all processors and xors them: the limit here", ih_bench_run_read},
    {IH_BENCH_HISTOGRAM, false, false, "naive",
     "one thread, one pixel and one channel at a time, one table for each", ih_bench_run_naive},
    {IH_BENCH_HISTOGRAM, false, false, "tables",
     "one thread, several tables a channel: an addition need not wait for the one before",
     ih_bench_run_tables},
    {IH_BENCH_HISTOGRAM, false, false, "tables_all", "the same on all processors",
     ih_bench_run_tables_all},
    {IH_BENCH_SUM, false, false, "float",
     "one thread, a running sum in a float: once it is large it swallows small terms",
     ih_bench_run_sum_float},
    {IH_BENCH_SUM, true, false, "double",
     "one thread, a running sum in a double: the same mistake, nine digits later",
     ih_bench_run_sum_double},
    {IH_BENCH_SUM, true, false, "exact",
     "one thread, an integer for each exponent, rounded once: the judge of all others",
     ih_bench_run_sum_exact},
    {IH_BENCH_DOT, false, false, "float", "one thread, products and their sum in floats",
     ih_bench_run_dot_float},
    {IH_BENCH_DOT, false, false, "double", "one thread, products and their sum in doubles",
     ih_bench_run_dot_double},
    {IH_BENCH_LUMINANCE, false, false, "pixels",
     "one thread: every sample decoded, weighted and added", ih_bench_run_luminance_pixels},
    {IH_BENCH_LUMINANCE, false, false, "histogram",
     "all processors count, then 768 products give the mean", ih_bench_run_luminance_histogram},
};

static enum ih_status answer(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                             struct ih_bench_answer *out, struct ih_error *err)
{
    (void)err;
    cpu_rungs[rung->index].run(rung->machine, job, out);
    return IH_OK;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static enum ih_status time_runs(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                struct ih_bench_times *out, struct ih_error *err)
{
    struct ih_bench_answer ignored;
    double ns[IH_BENCH_REPEATS];
    answer(rung, job, &ignored, err); /* warms up */
    for (unsigned i = 0; i < IH_BENCH_REPEATS; i++) {
        const double start_ns = now_ns();
        answer(rung, job, &ignored, err);
        ns[i] = now_ns() - start_ns;
    }
    out->time_ns = ih_bench_median(ns, IH_BENCH_REPEATS);
    out->copy_time_ns = (double)NAN;
    return IH_OK;
}

size_t ih_bench_cpu_rungs(struct ih_bench_cpu *cpu, const struct ih_bench_task *task,
                          struct ih_bench_rung *rungs, size_t n_max)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof cpu_rungs / sizeof cpu_rungs[0] && n < n_max; i++) {
        const struct cpu_rung *r = &cpu_rungs[i];
        if ((r->kinds & task->kind) && (r->is_for_double || !task->is_double))
            rungs[n++] = (struct ih_bench_rung){.device = "cpu",
                                                .name = r->name,
                                                .why = r->why,
                                                .is_read = r->is_read,
                                                .machine = cpu,
                                                .index = i,
                                                .answer = answer,
                                                .time = time_runs};
    }
    return n;
}

/* ---- the machine ---- */

static void make_linear(double linear[IH_BINS])
{
    for (unsigned v = 0; v < IH_BINS; v++) {
        const double c = v / 255.0;
        linear[v] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
}

enum ih_status ih_bench_cpu_open(unsigned n_threads, struct ih_bench_cpu **cpu,
                                 struct ih_error *err)
{
    struct ih_bench_cpu *c = calloc(1, sizeof *c);
    if (!c)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    c->n_threads = n_threads;
    c->counters = calloc(n_threads, sizeof *c->counters);
    c->parts = calloc(n_threads, sizeof *c->parts);
    c->xors = calloc(n_threads, sizeof *c->xors);
    make_linear(c->linear);
    enum ih_status status = IH_OK;
    if (!c->counters || !c->parts || !c->xors)
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status == IH_OK)
        status = ih_bench_team_open(n_threads, &c->team, err);
    if (status == IH_OK)
        *cpu = c;
    else
        ih_bench_cpu_close(c);
    return status;
}

void ih_bench_cpu_close(struct ih_bench_cpu *cpu)
{
    if (!cpu)
        return;
    ih_bench_team_close(cpu->team);
    free(cpu->counters);
    free(cpu->parts);
    free(cpu->xors);
    free(cpu);
}
