/*
 * The rungs of --bench: ways to do a job, on the CPU or on the GPU; and the row that reports one.
 *
 * A machine (CPU or GPU) lists its rungs for a task, the slowest idea first. A rung that cannot run
 * here is listed too, with the reason. Every rung must give the right answer before it is timed: a
 * row starts as ok or skipped, an error makes it wrong or failed, and only ok rows are timed.
 */
#ifndef IH_BENCH_RUNG_H
#define IH_BENCH_RUNG_H

#include "bench/job.h"

enum {
    IH_BENCH_RUNGS_MAX = 32, /* of a task, on both machines */
    IH_BENCH_REPEATS = 20    /* timed runs; the median counts */
};

struct ih_bench_times {
    double time_ns;      /* of one run, with the input in the machine's own memory */
    double copy_time_ns; /* from host memory to the answer in host memory; NAN on the CPU */
};

struct ih_bench_rung {
    const char *device; /* "cpu" or "cuda" */
    const char *name;   /* "textbook" */
    const char *why;    /* what it teaches */
    bool is_read;       /* only reads: the limit that other rungs of its device are compared with */
    const char *why_not; /* NULL: it can run here */
    void *machine;       /* borrowed */
    size_t index;        /* private to the machine */

    /* Runs once. Returns IH_OK, IH_MEMORY or IH_DEVICE. */
    enum ih_status (*answer)(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                             struct ih_bench_answer *out, struct ih_error *err);

    /* Runs IH_BENCH_REPEATS times after warming up. Returns the same statuses. */
    enum ih_status (*time)(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                           struct ih_bench_times *out, struct ih_error *err);
};

/* The median of n figures, n at least 1; sorts them. */
double ih_bench_median(double *figures, size_t n);

/* ---- rows ---- */

enum ih_bench_status { IH_BENCH_OK, IH_BENCH_SKIPPED, IH_BENCH_WRONG, IH_BENCH_FAILED };

/* One rung on one kind of data. NAN stands for a missing figure. */
struct ih_bench_row {
    const struct ih_bench_task *task; /* borrowed, as rung is */
    const struct ih_bench_rung *rung;
    enum ih_bench_data data;
    size_t n_bytes;
    enum ih_bench_status status;
    struct ih_bench_times times;
    double gb_per_s, read_share, speedup, copy_speedup; /* GB are 1e9 bytes */
    double value, error;
    char reason[IH_MESSAGE_MAX]; /* "" if status is ok */
};

/* Figures that later rows of the same task and data are compared with. Starts all zero. */
struct ih_bench_baseline {
    double first_ns;         /* of the first rung that does more than read; 0: not timed yet */
    double read_gb_per_s[2]; /* of the CPU and of the GPU; 0: not timed */
};

/* n_bytes is left 0. */
void ih_bench_row_begin(struct ih_bench_row *row, const struct ih_bench_task *task,
                        enum ih_bench_data data, const struct ih_bench_rung *rung);

/* The functions below do nothing to a row that is not ok. */

/* Sets status and reason; message is copied. */
void ih_bench_row_fail(struct ih_bench_row *row, enum ih_bench_status status, const char *message);

/* Runs the rung once and checks its answer. */
void ih_bench_verify(struct ih_bench_row *row, const struct ih_bench_job *job);

/* Times the rung and computes the row's figures. */
void ih_bench_time(struct ih_bench_row *row, const struct ih_bench_job *job,
                   struct ih_bench_baseline *baseline);

/* ---- the CPU ---- */

struct ih_bench_cpu;

/* n_threads: for the rungs that use all cores. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_bench_cpu_open(unsigned n_threads, struct ih_bench_cpu **cpu,
                                 struct ih_error *err);
void ih_bench_cpu_close(struct ih_bench_cpu *cpu); /* NULL is allowed */

/* Fills in the rungs of a task, at most n_max. Returns their number. */
size_t ih_bench_cpu_rungs(struct ih_bench_cpu *cpu, const struct ih_bench_task *task,
                          struct ih_bench_rung *rungs, size_t n_max);

/* ---- the GPU ---- */

struct ih_bench_gpu;

/*
 * name   becomes "cuda:0 NVIDIA H100 80GB HBM3"
 *
 * Returns IH_OK, IH_UNAVAILABLE (no such GPU, or no CUDA in this build), IH_DEVICE, IH_MEMORY.
 */
enum { IH_BENCH_GPU_NAME_MAX = 300 };
enum ih_status ih_bench_gpu_open(int ordinal, struct ih_bench_gpu **gpu,
                                 char name[IH_BENCH_GPU_NAME_MAX], struct ih_error *err);
void ih_bench_gpu_close(struct ih_bench_gpu *gpu); /* NULL is allowed */

/* Pinned host memory, which the GPU reads at full speed; NULL: none left. */
void *ih_bench_pinned_alloc(size_t size_bytes);
void ih_bench_pinned_free(void *memory);

/* Copies the job's input, which must be pinned memory, to the GPU for the rungs that run next.
 * Returns IH_OK, IH_MEMORY or IH_DEVICE. */
enum ih_status ih_bench_gpu_load(struct ih_bench_gpu *gpu, const struct ih_bench_job *job,
                                 struct ih_error *err);

/* Fills in the rungs of a task, at most n_max. gpu NULL: they are listed with why_not (borrowed) as
 * the reason why they cannot run. Returns their number. */
size_t ih_bench_gpu_rungs(struct ih_bench_gpu *gpu, const char *why_not,
                          const struct ih_bench_task *task, struct ih_bench_rung *rungs,
                          size_t n_max);

#endif
