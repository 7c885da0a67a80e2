/*
 * The GPU's side of --bench: memory on both sides of the bus, and time by events.
 *
 * A kernel is timed between two events on its stream, with the next launches already queued, so
 * that the host's part of a launch stays out of the figure. The answer is zeroed before the first
 * event. With the copy, the figure spans the input's way from pinned memory, the kernel, and the
 * answer's way back, one after the other, as a program would do it that has one image and no
 * bands.
 *
 * An input that fits into the L2 cache would be read from there from the second run on. So there
 * are as many copies of it in device memory as fill the cache several times, and each run takes the
 * next.
 */
#include "bench/gpu.h"

#ifdef IH_WITH_CUDA

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    /* A GPU that has waited for the processor's rungs runs at low clocks, and so does its bus; it
     * takes some milliseconds of work to wake them. */
    WARM_UP_MS = 30,
    RUNS = IH_BENCH_REPEATS,
    SLOT_ALIGN_BYTES = 512,
    SLOTS_BYTES = 512 << 20, /* ten times the L2 cache of today's GPUs */
    SLOTS_MAX = 64
};

struct ih_bench_gpu {
    char name[300];
    struct ih_gpu_properties gpu;
    cudaStream_t stream;
    cudaEvent_t starts[RUNS], stops[RUNS];
    struct ih_bench_gpu_result *result, *d_result; /* pinned, and on the device */

    uint8_t *d_input; /* [n_slots][slot_bytes] */
    size_t n_slots, slot_bytes;
    void *d_scratch;
};

static enum ih_status failed(struct ih_error *err, cudaError_t error, const char *what)
{
    if (error == cudaErrorMemoryAllocation)
        return ih_error_set(err, IH_MEMORY, "%s: out of GPU or pinned memory", what);
    return ih_error_set(err, IH_DEVICE, "%s: %s", what, cudaGetErrorString(error));
}

/* ---- the machine ---- */

static cudaError_t prepare(struct ih_bench_gpu *g, int ordinal)
{
    struct cudaDeviceProp prop;
    cudaError_t e = cudaSetDevice(ordinal);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&prop, ordinal);
    if (e == cudaSuccess) {
        g->gpu.n_multiprocessors = prop.multiProcessorCount;
        g->gpu.shared_bytes_optin = prop.sharedMemPerBlockOptin;
        snprintf(g->name, sizeof g->name, "cuda:%d %s", ordinal, prop.name);
        e = cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking);
    }
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&g->d_result, sizeof *g->d_result);
    if (e == cudaSuccess)
        e = cudaHostAlloc((void **)&g->result, sizeof *g->result, cudaHostAllocDefault);
    for (int i = 0; e == cudaSuccess && i < RUNS; i++) {
        e = cudaEventCreate(&g->starts[i]);
        if (e == cudaSuccess)
            e = cudaEventCreate(&g->stops[i]);
    }
    return e;
}

enum ih_status ih_bench_gpu_open(int ordinal, struct ih_bench_gpu **gpu, struct ih_error *err)
{
    int n_devices = 0;
    cudaError_t e = cudaGetDeviceCount(&n_devices);
    if (e != cudaSuccess || n_devices == 0)
        return ih_error_set(err, IH_UNAVAILABLE, "no usable NVIDIA GPU: %s",
                            cudaGetErrorString(e != cudaSuccess ? e : cudaErrorNoDevice));
    if (ordinal >= n_devices)
        return ih_error_set(err, IH_UNAVAILABLE, "no GPU %d: CUDA shows %d, counted from 0",
                            ordinal, n_devices);
    struct ih_bench_gpu *g = calloc(1, sizeof *g);
    if (!g)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    e = prepare(g, ordinal);
    if (e != cudaSuccess) {
        ih_bench_gpu_close(g);
        return failed(err, e, "cannot open the GPU");
    }
    *gpu = g;
    return IH_OK;
}

void ih_bench_gpu_close(struct ih_bench_gpu *g)
{
    if (!g)
        return;
    if (g->stream)
        cudaStreamSynchronize(g->stream);
    for (int i = 0; i < RUNS; i++) {
        if (g->starts[i])
            cudaEventDestroy(g->starts[i]);
        if (g->stops[i])
            cudaEventDestroy(g->stops[i]);
    }
    cudaFree(g->d_input);
    cudaFree(g->d_scratch);
    cudaFree(g->d_result);
    cudaFreeHost(g->result);
    if (g->stream)
        cudaStreamDestroy(g->stream);
    free(g);
}

const char *ih_bench_gpu_name(const struct ih_bench_gpu *g)
{
    return g->name;
}

void *ih_bench_gpu_host_alloc(struct ih_bench_gpu *g, size_t size_bytes)
{
    void *memory = NULL;
    (void)g;
    return cudaHostAlloc(&memory, size_bytes, cudaHostAllocDefault) == cudaSuccess ? memory : NULL;
}

void ih_bench_gpu_host_free(struct ih_bench_gpu *g, void *memory)
{
    (void)g;
    cudaFreeHost(memory);
}

/* ---- a job ---- */

/* Room for the job's input in its slots, and for what its kernels keep between launches. */
static cudaError_t make_room(struct ih_bench_gpu *g, const struct ih_bench_job *job)
{
    const size_t value_bytes = job->task->is_double ? sizeof(double) : sizeof(float);
    size_t scratch_bytes = IH_GPU_DOT_BLOCKS_MAX * sizeof(float);
    if (job->task->kind == IH_BENCH_SUM)
        scratch_bytes = ih_gpu_sum_scratch_values(job->n_items) * value_bytes;
    cudaFree(g->d_input);
    cudaFree(g->d_scratch);
    g->d_input = NULL;
    g->d_scratch = NULL;
    g->slot_bytes = (job->n_bytes / SLOT_ALIGN_BYTES + 1) * SLOT_ALIGN_BYTES;
    g->n_slots = SLOTS_BYTES / g->slot_bytes + 1;
    if (g->n_slots > SLOTS_MAX)
        g->n_slots = SLOTS_MAX;
    cudaError_t e = cudaMalloc((void **)&g->d_input, g->n_slots * g->slot_bytes);
    return e == cudaSuccess ? cudaMalloc(&g->d_scratch, scratch_bytes) : e;
}

enum ih_status ih_bench_gpu_load(struct ih_bench_gpu *g, const struct ih_bench_job *job,
                                 struct ih_error *err)
{
    cudaError_t e = make_room(g, job);
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(g->d_input, job->input, job->n_bytes, cudaMemcpyHostToDevice,
                            g->stream);
    for (size_t i = 1; e == cudaSuccess && i < g->n_slots; i++)
        e = cudaMemcpyAsync(g->d_input + i * g->slot_bytes, g->d_input, job->n_bytes,
                            cudaMemcpyDeviceToDevice, g->stream);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(g->stream);
    return e == cudaSuccess ? IH_OK : failed(err, e, "GPU");
}

/* ---- a rung ---- */

static cudaError_t launch(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                          size_t slot)
{
    struct ih_bench_gpu *g = rung->machine;
    const struct ih_bench_gpu_run run = {.job = job,
                                         .d_input = g->d_input + slot * g->slot_bytes,
                                         .d_scratch = g->d_scratch,
                                         .d_result = g->d_result,
                                         .gpu = &g->gpu,
                                         .stream = g->stream};
    return ih_bench_gpu_launch(rung->index, &run);
}

static cudaError_t zero_result(struct ih_bench_gpu *g)
{
    return cudaMemsetAsync(g->d_result, 0, sizeof *g->d_result, g->stream);
}

static cudaError_t fetch_result(struct ih_bench_gpu *g)
{
    return cudaMemcpyAsync(g->result, g->d_result, sizeof *g->result, cudaMemcpyDeviceToHost,
                           g->stream);
}

enum ih_status ih_bench_gpu_run_once(const struct ih_bench_rung *rung,
                                     const struct ih_bench_job *job, struct ih_bench_answer *out,
                                     struct ih_error *err)
{
    struct ih_bench_gpu *g = rung->machine;
    cudaError_t e = zero_result(g);
    if (e == cudaSuccess)
        e = launch(rung, job, 0);
    if (e == cudaSuccess)
        e = fetch_result(g);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(g->stream);
    if (e != cudaSuccess)
        return failed(err, e, "GPU");
    ih_bench_gpu_answer(rung->index, job, g->result, out);
    return IH_OK;
}

/* One timed run, queued. With the copy, the first slot is written anew each time. */
static cudaError_t enqueue(const struct ih_bench_rung *rung, const struct ih_bench_job *job, int i,
                           bool with_copy)
{
    struct ih_bench_gpu *g = rung->machine;
    cudaError_t e = zero_result(g);
    if (e == cudaSuccess)
        e = cudaEventRecord(g->starts[i], g->stream);
    if (e == cudaSuccess && with_copy)
        e = cudaMemcpyAsync(g->d_input, job->input, job->n_bytes, cudaMemcpyHostToDevice,
                            g->stream);
    if (e == cudaSuccess)
        e = launch(rung, job, with_copy ? 0 : (size_t)i % g->n_slots);
    if (e == cudaSuccess && with_copy)
        e = fetch_result(g);
    return e == cudaSuccess ? cudaEventRecord(g->stops[i], g->stream) : e;
}

/* Runs until the clocks are up, at least once. */
static cudaError_t warm_up(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                           bool with_copy)
{
    struct ih_bench_gpu *g = rung->machine;
    float total_ms = 0, ms = 0;
    cudaError_t e = cudaSuccess;
    while (e == cudaSuccess && total_ms < WARM_UP_MS) {
        e = enqueue(rung, job, 0, with_copy);
        if (e == cudaSuccess)
            e = cudaStreamSynchronize(g->stream);
        if (e == cudaSuccess)
            e = cudaEventElapsedTime(&ms, g->starts[0], g->stops[0]);
        total_ms += ms;
    }
    return e;
}

static cudaError_t median_ns(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                             bool with_copy, double *out)
{
    struct ih_bench_gpu *g = rung->machine;
    double ns[RUNS];
    cudaError_t e = warm_up(rung, job, with_copy);
    for (int i = 0; e == cudaSuccess && i < RUNS; i++)
        e = enqueue(rung, job, i, with_copy);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(g->stream);
    for (int i = 0; e == cudaSuccess && i < RUNS; i++) {
        float ms = 0;
        e = cudaEventElapsedTime(&ms, g->starts[i], g->stops[i]);
        ns[i] = (double)ms * 1e6;
    }
    if (e == cudaSuccess)
        *out = ih_bench_median(ns, RUNS);
    return e;
}

enum ih_status ih_bench_gpu_time(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                 struct ih_bench_times *out, struct ih_error *err)
{
    cudaError_t e = median_ns(rung, job, false, &out->time_ns);
    if (e == cudaSuccess)
        e = median_ns(rung, job, true, &out->copy_time_ns);
    return e == cudaSuccess ? IH_OK : failed(err, e, "GPU");
}

#else

enum ih_status ih_bench_gpu_open(int ordinal, struct ih_bench_gpu **gpu, struct ih_error *err)
{
    (void)ordinal, (void)gpu;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA (no nvcc when it was made)");
}

void ih_bench_gpu_close(struct ih_bench_gpu *gpu)
{
    (void)gpu;
}

const char *ih_bench_gpu_name(const struct ih_bench_gpu *gpu)
{
    (void)gpu;
    return "";
}

void *ih_bench_gpu_host_alloc(struct ih_bench_gpu *gpu, size_t size_bytes)
{
    (void)gpu, (void)size_bytes;
    return NULL;
}

void ih_bench_gpu_host_free(struct ih_bench_gpu *gpu, void *memory)
{
    (void)gpu, (void)memory;
}

enum ih_status ih_bench_gpu_load(struct ih_bench_gpu *gpu, const struct ih_bench_job *job,
                                 struct ih_error *err)
{
    (void)gpu, (void)job;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}

#endif
