/*
 * Rungs of --bench: ways to do a job, on the processor or on the GPU.
 *
 * A machine lists its rungs for a task, the slowest idea first; a rung that cannot run here is
 * listed too, with the reason. Every rung gives one answer, which is checked, before it is timed.
 */
#ifndef IH_BENCH_RUNG_H
#define IH_BENCH_RUNG_H

#include "bench/job.h"

enum {
    IH_BENCH_RUNGS_MAX = 32, /* of a task, on all machines */
    IH_BENCH_REPEATS = 20    /* at least so many runs are timed */
};

struct ih_bench_times {
    double time_ns;      /* of one run on data that is where the machine works */
    double copy_time_ns; /* from the host's memory to the answer in it; NAN on the processor */
};

struct ih_bench_rung {
    const char *device;  /* "cpu" or "cuda" */
    const char *name;    /* "textbook" */
    const char *why;     /* what it teaches */
    bool is_read;        /* only reads: what the others of its device are measured against */
    const char *why_not; /* NULL: it runs here */
    void *machine;       /* borrowed */
    size_t index;        /* the machine's own */

    /* One run. Returns IH_OK, IH_MEMORY or IH_DEVICE. */
    enum ih_status (*answer)(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                             struct ih_bench_answer *out, struct ih_error *err);

    /* Many runs. Returns as answer. */
    enum ih_status (*time)(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                           struct ih_bench_times *out, struct ih_error *err);
};

/* Of n figures, at least one; sorts them. */
double ih_bench_median(double *figures, size_t n);

/* ---- the processor ---- */

struct ih_bench_cpu;

/* n_threads: what its rungs with many threads use. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_bench_cpu_open(unsigned n_threads, struct ih_bench_cpu **cpu,
                                 struct ih_error *err);
void ih_bench_cpu_close(struct ih_bench_cpu *cpu); /* NULL is allowed */

/* Fills in the rungs of a task, at most n_max, and returns how many there are. */
size_t ih_bench_cpu_rungs(struct ih_bench_cpu *cpu, const struct ih_bench_task *task,
                          struct ih_bench_rung *rungs, size_t n_max);

/* ---- the GPU ---- */

struct ih_bench_gpu;

/* Returns IH_OK, IH_UNAVAILABLE (no such GPU, or no CUDA in this build), IH_DEVICE, IH_MEMORY. */
enum ih_status ih_bench_gpu_open(int ordinal, struct ih_bench_gpu **gpu, struct ih_error *err);
void ih_bench_gpu_close(struct ih_bench_gpu *gpu); /* NULL is allowed */

/* "cuda:0 NVIDIA H100 80GB HBM3"; lives as the GPU. */
const char *ih_bench_gpu_name(const struct ih_bench_gpu *gpu);

/* Memory of the host that the GPU reads at full speed; NULL where there is none. */
void *ih_bench_gpu_host_alloc(struct ih_bench_gpu *gpu, size_t size_bytes);
void ih_bench_gpu_host_free(struct ih_bench_gpu *gpu, void *memory);

/* Takes the job's input to the GPU, for the rungs run next; the job's input is from
 * ih_bench_gpu_host_alloc. Returns IH_OK, IH_MEMORY or IH_DEVICE. */
enum ih_status ih_bench_gpu_load(struct ih_bench_gpu *gpu, const struct ih_bench_job *job,
                                 struct ih_error *err);

/* As ih_bench_cpu_rungs. gpu NULL: all are listed, with why_not, which is borrowed. */
size_t ih_bench_gpu_rungs(struct ih_bench_gpu *gpu, const char *why_not,
                          const struct ih_bench_task *task, struct ih_bench_rung *rungs,
                          size_t n_max);

#endif
