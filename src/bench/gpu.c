/*
 * The methods on the GPU: the program's histogram kernel, and the kernel that only reads.
 *
 * A kernel is timed between two events on its stream, with the next launches already queued, so the
 * host's part of a launch is not measured. The answer is zeroed before the first event. The time
 * with copy covers the input from pinned memory to the GPU, the kernel, and the answer back to the
 * host, one after the other, as in a program that has one image and no bands.
 *
 * An input that fits the L2 cache would be read from there from the second run on. So device memory
 * holds several copies of it, several times the size of the cache, and runs use them in turn.
 */
#include "bench/method.h"

#ifdef IH_WITH_CUDA

#include "device/cuda_unit.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    /* While the CPU's methods run, the clocks of GPU and bus fall. Some milliseconds of work raise
     * them again. */
    WARM_UP_MS = 30,
    RUNS = IH_BENCH_REPEATS,
    SLOTS_BYTES = 512 << 20, /* ten times the L2 cache of current GPUs */
    SLOTS_MAX = 64
};

/* The answers of the kernels, in device memory; zeroed before each launch. */
struct result {
    struct ih_gpu_totals totals;
    uint32_t xor_all;
};

struct ih_bench_gpu {
    struct ih_cuda_unit unit;
    cudaStream_t stream;
    cudaEvent_t events[2 * RUNS];     /* start and stop of each run */
    struct result *result, *d_result; /* in pinned memory, and on the device */
    uint8_t *input;                   /* registered as pinned memory */
    uint8_t *d_input;                 /* [n_slots][slot_bytes] */
    size_t n_slots, slot_bytes;
};

static cudaError_t gpu_prepare(struct ih_bench_gpu *g, int ordinal, uint8_t *input, size_t n_bytes)
{
    cudaError_t e = ih_cuda_unit_init(&g->unit, ordinal, NULL);
    if (e == cudaSuccess)
        e = cudaSetDevice(ordinal);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&g->d_result, sizeof *g->d_result);
    if (e == cudaSuccess)
        e = cudaHostAlloc((void **)&g->result, sizeof *g->result, cudaHostAllocDefault);
    for (int i = 0; e == cudaSuccess && i < 2 * RUNS; i++)
        e = cudaEventCreate(&g->events[i]);
    g->slot_bytes = (n_bytes / 512 + 1) * 512;
    g->n_slots = SLOTS_BYTES / g->slot_bytes + 1;
    g->n_slots = g->n_slots < SLOTS_MAX ? g->n_slots : SLOTS_MAX;
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&g->d_input, g->n_slots * g->slot_bytes);
    if (e == cudaSuccess && (e = cudaHostRegister(input, n_bytes, 0)) == cudaSuccess)
        g->input = input;
    return e;
}

enum ih_status ih_bench_gpu_open(int ordinal, uint8_t *input, size_t n_bytes,
                                 struct ih_bench_gpu **gpu, char name[IH_BENCH_GPU_NAME_MAX],
                                 struct ih_error *err)
{
    int n_devices = 0;
    cudaError_t e = cudaGetDeviceCount(&n_devices);
    if (e != cudaSuccess || n_devices == 0)
        return ih_error_set(err, IH_UNAVAILABLE, "no usable NVIDIA GPU: %s", ih_cuda_why_no_gpu(e));
    if (ordinal >= n_devices)
        return ih_error_set(err, IH_UNAVAILABLE, "no GPU %d: CUDA shows %d, counted from 0",
                            ordinal, n_devices);
    struct ih_bench_gpu *g = calloc(1, sizeof *g);
    if (!g)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    e = gpu_prepare(g, ordinal, input, n_bytes);
    if (e != cudaSuccess) {
        ih_bench_gpu_close(g);
        return ih_cuda_status(err, e, "cannot open the GPU");
    }
    snprintf(name, IH_BENCH_GPU_NAME_MAX, "%s", g->unit.description);
    *gpu = g;
    return IH_OK;
}

void ih_bench_gpu_close(struct ih_bench_gpu *g)
{
    if (!g)
        return;
    if (g->stream)
        cudaStreamSynchronize(g->stream);
    for (int i = 0; i < 2 * RUNS && g->events[i]; i++)
        cudaEventDestroy(g->events[i]);
    if (g->input)
        cudaHostUnregister(g->input);
    cudaFree(g->d_input);
    cudaFree(g->d_result);
    cudaFreeHost(g->result);
    if (g->stream)
        cudaStreamDestroy(g->stream);
    free(g);
}

/* Copies the input to the GPU, and waits. */
static cudaError_t gpu_load(struct ih_bench_gpu *g, const struct ih_bench_job *job)
{
    cudaError_t e =
        cudaMemcpyAsync(g->d_input, job->input, job->n_bytes, cudaMemcpyHostToDevice, g->stream);
    for (size_t i = 1; e == cudaSuccess && i < g->n_slots; i++)
        e = cudaMemcpyAsync(g->d_input + i * g->slot_bytes, g->d_input, job->n_bytes,
                            cudaMemcpyDeviceToDevice, g->stream);
    return e == cudaSuccess ? cudaStreamSynchronize(g->stream) : e;
}

/* Enqueues the method's kernel on one of the copies of the input. */
static cudaError_t gpu_launch(const struct ih_bench_method *method, const struct ih_bench_job *job,
                              size_t slot)
{
    const struct ih_bench_gpu *g = method->machine;
    const uint8_t *d_input = g->d_input + slot * g->slot_bytes;
    const struct ih_gpu_read_args read = {.d_bytes = d_input,
                                          .n_bytes = job->n_bytes,
                                          .d_xor = &g->d_result->xor_all,
                                          .gpu = &g->unit.gpu,
                                          .stream = g->stream};
    if (method->is_read)
        return ih_read_roofline(&read);
    const struct ih_gpu_histogram_args args =
        ih_cuda_args(&g->unit, &job->spec, d_input, job->n_pixels, &g->d_result->totals, g->stream);
    return ih_histogram_replicated(&args);
}

/* Enqueues a run, timed by the events of index i. With the copy, each run overwrites the first
 * slot, and the answer comes back. */
static cudaError_t gpu_enqueue(const struct ih_bench_method *method, const struct ih_bench_job *job,
                               int i, bool with_copy)
{
    struct ih_bench_gpu *g = method->machine;
    cudaError_t e = cudaMemsetAsync(g->d_result, 0, sizeof *g->d_result, g->stream);
    if (e == cudaSuccess)
        e = cudaEventRecord(g->events[2 * i], g->stream);
    if (e == cudaSuccess && with_copy)
        e = cudaMemcpyAsync(g->d_input, job->input, job->n_bytes, cudaMemcpyHostToDevice,
                            g->stream);
    if (e == cudaSuccess)
        e = gpu_launch(method, job, with_copy ? 0 : (size_t)i % g->n_slots);
    if (e == cudaSuccess && with_copy)
        e = cudaMemcpyAsync(g->result, g->d_result, sizeof *g->result, cudaMemcpyDeviceToHost,
                            g->stream);
    return e == cudaSuccess ? cudaEventRecord(g->events[2 * i + 1], g->stream) : e;
}

/* Waits, and writes the times of the first n runs. */
static cudaError_t wait_for(struct ih_bench_gpu *g, int n, double *ns)
{
    cudaError_t e = cudaStreamSynchronize(g->stream);
    for (int i = 0; e == cudaSuccess && i < n; i++) {
        float ms = 0;
        e = cudaEventElapsedTime(&ms, g->events[2 * i], g->events[2 * i + 1]);
        ns[i] = (double)ms * 1e6;
    }
    return e;
}

static cudaError_t median_ns(const struct ih_bench_method *method, const struct ih_bench_job *job,
                             bool with_copy, double *out)
{
    struct ih_bench_gpu *g = method->machine;
    double ns[RUNS], warm_ns = 0;
    cudaError_t e = cudaSuccess;
    while (e == cudaSuccess && warm_ns < (double)WARM_UP_MS * 1e6) {
        e = gpu_enqueue(method, job, 0, with_copy);
        if (e == cudaSuccess)
            e = wait_for(g, 1, ns);
        warm_ns += ns[0];
    }
    for (int i = 0; e == cudaSuccess && i < RUNS; i++)
        e = gpu_enqueue(method, job, i, with_copy);
    if (e == cudaSuccess)
        e = wait_for(g, RUNS, ns);
    if (e == cudaSuccess)
        *out = ih_bench_median(ns, RUNS);
    return e;
}

static enum ih_status gpu_run(const struct ih_bench_method *method, const struct ih_bench_job *job,
                              struct ih_bench_answer *out, struct ih_bench_times *times,
                              struct ih_error *err)
{
    struct ih_bench_gpu *g = method->machine;
    double ns;
    cudaError_t e = gpu_load(g, job);
    if (e == cudaSuccess)
        e = gpu_enqueue(method, job, 0, true);
    if (e == cudaSuccess)
        e = wait_for(g, 1, &ns);
    if (e == cudaSuccess) {
        ih_gpu_totals_read(&g->result->totals, &job->spec, job->n_pixels, &out->histogram);
        out->xor_all = g->result->xor_all;
    }
    if (e == cudaSuccess && times)
        e = median_ns(method, job, false, &times->time_ns);
    if (e == cudaSuccess && times)
        e = median_ns(method, job, true, &times->copy_time_ns);
    return ih_cuda_status(err, e, "GPU");
}

size_t ih_bench_gpu_methods(struct ih_bench_gpu *gpu, struct ih_bench_method *methods, size_t n)
{
    const char *const names[] = {"read", ih_cuda_kernels[0].name};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        methods[n++] = (struct ih_bench_method){
            .device = "cuda", .name = names[i], .is_read = i == 0, .machine = gpu, .run = gpu_run};
    return n;
}

#else

enum ih_status ih_bench_gpu_open(int ordinal, uint8_t *input, size_t n_bytes,
                                 struct ih_bench_gpu **gpu, char name[IH_BENCH_GPU_NAME_MAX],
                                 struct ih_error *err)
{
    (void)ordinal, (void)input, (void)n_bytes, (void)gpu, (void)name;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no GPU code (make CUDA=1 adds it)");
}

void ih_bench_gpu_close(struct ih_bench_gpu *gpu)
{
    (void)gpu;
}

size_t ih_bench_gpu_methods(struct ih_bench_gpu *gpu, struct ih_bench_method *methods, size_t n)
{
    (void)gpu, (void)methods;
    return n;
}

#endif
