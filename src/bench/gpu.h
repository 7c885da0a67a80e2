/*
 * What the two halves of the GPU's side of --bench share: gpu.c holds memory and time,
 * gpu_rungs.c knows which kernels there are. Without CUDA in the build neither is there, and
 * the rungs are listed by name only.
 */
#ifndef IH_BENCH_GPU_H
#define IH_BENCH_GPU_H

#include "bench/rung.h"

#ifdef IH_WITH_CUDA

#include "kernels/ladder.h"

/* What the kernels answer into, in device memory; zeroed before each launch. */
struct ih_bench_gpu_result {
    struct ih_gpu_totals totals;
    uint32_t bins[IH_GPU_BINS];
    double value; /* or a float, at the same place */
    uint32_t xor_all;
};

/* What a kernel's launcher needs. All borrowed. */
struct ih_bench_gpu_run {
    const struct ih_bench_job *job;
    const uint8_t *d_input; /* the job's */
    void *d_scratch;
    struct ih_bench_gpu_result *d_result;
    const struct ih_gpu_properties *gpu;
    cudaStream_t stream;
};

/* Enqueues the index-th rung. */
cudaError_t ih_bench_gpu_launch(size_t index, const struct ih_bench_gpu_run *run);

/* Turns what the index-th rung left into an answer. */
void ih_bench_gpu_answer(size_t index, const struct ih_bench_job *job,
                         const struct ih_bench_gpu_result *result, struct ih_bench_answer *out);

/* The vtable's part; fails where rung->machine has gone wrong. */
enum ih_status ih_bench_gpu_run_once(const struct ih_bench_rung *rung,
                                     const struct ih_bench_job *job, struct ih_bench_answer *out,
                                     struct ih_error *err);
enum ih_status ih_bench_gpu_time(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                 struct ih_bench_times *out, struct ih_error *err);

#endif
#endif
