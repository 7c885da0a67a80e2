/*
 * The methods of --bench: ways to count generated pixels, or only to read them, on the CPU or on
 * the GPU. The expected counts come from count/count_reference.c, which no method shares.
 */
#ifndef IH_BENCH_METHOD_H
#define IH_BENCH_METHOD_H

#include "base/status.h"
#include "histogram/histogram.h"

enum {
    IH_BENCH_REPEATS = 20, /* timed runs; the median counts */
    IH_BENCH_METHODS_MAX = 8,
    IH_BENCH_GPU_NAME_MAX = 300
};

/*
 * The data is chosen for its effect on histogram methods: random values spread over all bins;
 * smooth ones have similar neighbours, as photographs do; constant data hits one bin, so additions
 * queue up; two alternating values defeat run lengths. It is the same on every machine.
 */
enum ih_bench_data {
    IH_DATA_RANDOM,
    IH_DATA_SMOOTH,
    IH_DATA_CONSTANT,
    IH_DATA_TWO_VALUED,
    IH_BENCH_N_DATA
};
extern const char *const ih_bench_data_names[IH_BENCH_N_DATA];

struct ih_bench_answer {
    struct ih_histogram histogram;
    uint32_t xor_all; /* of all 32-bit words, the last one padded with zeros; if it only reads */
};

/* Generated pixels and their expected answer. */
struct ih_bench_job {
    uint8_t *input; /* borrowed; 16-byte aligned, with 8 bytes after n_bytes that may be written */
    size_t n_bytes, n_pixels;
    struct ih_count_spec spec;
    struct ih_bench_answer expected;
};

/* Generates pixels in input, at most size_bytes, and computes the expected answer. Returns IH_OK or
 * IH_MEMORY. */
enum ih_status ih_bench_job_fill(struct ih_bench_job *job, uint8_t *input, size_t size_bytes,
                                 unsigned n_channels, enum ih_bench_data data,
                                 struct ih_error *err);

/* Returns IH_OK, or IH_DEVICE with the first difference. is_read: only xor_all is compared. */
enum ih_status ih_bench_check(const struct ih_bench_job *job, bool is_read,
                              const struct ih_bench_answer *answer, struct ih_error *err);

struct ih_bench_times {
    double time_ns;      /* of one run, with the input in the device's own memory */
    double copy_time_ns; /* from host memory to the answer in host memory; NAN on the CPU */
};

struct ih_bench_method {
    const char *device, *name; /* "cpu" or "cuda"; static */
    bool is_read;              /* only reads: the limit of its device */
    void *machine;             /* borrowed */

    /* Runs once to fill *out, then, if times is not NULL, IH_BENCH_REPEATS times. Returns IH_OK,
     * IH_MEMORY or IH_DEVICE. */
    enum ih_status (*run)(const struct ih_bench_method *method, const struct ih_bench_job *job,
                          struct ih_bench_answer *out, struct ih_bench_times *times,
                          struct ih_error *err);
};

/* The median of n figures, n at least 1; sorts them. */
double ih_bench_median(double *figures, size_t n);

/* ---- the CPU ---- */

struct ih_bench_cpu;

/* n_threads: for the methods that use all cores. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_bench_cpu_open(unsigned n_threads, struct ih_bench_cpu **cpu,
                                 struct ih_error *err);
void ih_bench_cpu_close(struct ih_bench_cpu *cpu); /* NULL is allowed */

/* Appends its methods to methods[n]. Returns their new number. */
size_t ih_bench_cpu_methods(struct ih_bench_cpu *cpu, struct ih_bench_method *methods, size_t n);

/* ---- the GPU ---- */

struct ih_bench_gpu;

/*
 * input   borrowed until the GPU is closed; becomes pinned memory
 * name    becomes "cuda:0 NVIDIA H100 80GB HBM3"
 *
 * Returns IH_OK, IH_UNAVAILABLE (no such GPU, or no CUDA in this build), IH_DEVICE, IH_MEMORY.
 */
enum ih_status ih_bench_gpu_open(int ordinal, uint8_t *input, size_t n_bytes,
                                 struct ih_bench_gpu **gpu, char name[IH_BENCH_GPU_NAME_MAX],
                                 struct ih_error *err);
void ih_bench_gpu_close(struct ih_bench_gpu *gpu); /* NULL is allowed */

size_t ih_bench_gpu_methods(struct ih_bench_gpu *gpu, struct ih_bench_method *methods, size_t n);

#endif
