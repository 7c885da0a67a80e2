/*
 * The rungs on the GPU: which kernels there are, memory on both sides of the bus, and timing.
 *
 * A kernel is timed between two events on its stream, with the next launches already queued, so the
 * host's part of a launch is not measured. The answer is zeroed before the first event. The time
 * with copy covers the input from pinned memory to the GPU, the kernel, and the answer back to the
 * host, one after the other, as in a program that has one image and no bands.
 *
 * An input that fits the L2 cache would be read from there from the second run on. So device memory
 * holds several copies of it, several times the size of the cache, and runs use them in turn.
 *
 * kernels.def lists the best kernel first; the ladder is shown in the reverse order. The textbook's
 * histogram comes second, because it is the first idea moved to shared memory. Without CUDA in the
 * build, the rungs are only listed.
 */
#include "bench/rung.h"

/* ---- the rungs ---- */

enum step { READ, TEXTBOOK, KERNEL, SUM, DOT_BLOCKS, DOT_ALL, LUMINANCE };

struct gpu_rung {
    enum step step;
    size_t launcher; /* index into kernels[] or sums[] */
    const char *name, *why;
};

/* In the order of the .def file. */
#define KERNEL(name, why) KERNEL_##name,
enum kernel_index {
#include "kernels/kernels.def"
    N_KERNELS
};
#define REDUCTION(name, why) SUM_##name,
enum sum_index {
#include "kernels/kernels.def"
    N_SUMS
};

static const struct gpu_rung gpu_rungs[] = {
    {READ, 0, "read", "reads all bytes and xors them: the limit of this GPU"},
#define KERNEL(name, why) {KERNEL, KERNEL_##name, #name, why},
#include "kernels/kernels.def"
    {TEXTBOOK, 0, "textbook", "one table a block in shared memory, byte by byte"},
#define REDUCTION(name, why) {SUM, SUM_##name, #name, why},
#include "kernels/kernels.def"
    {DOT_BLOCKS, 0, "blocks_32", "32 blocks of 256 threads and the halving tree"},
    {DOT_ALL, 0, "blocks_all", "the same kernel with as many blocks as the GPU holds"},
    {LUMINANCE, 0, "histogram",
     "the best histogram kernel, then 768 products, weights in constants"},
};
enum {
    FIRST_KERNEL = 1,
    THE_TEXTBOOK = 1 + N_KERNELS,
    N_RUNGS = sizeof gpu_rungs / sizeof gpu_rungs[0]
};

#ifdef IH_WITH_CUDA
static enum ih_status run_once(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                               struct ih_bench_answer *out, struct ih_error *err);
static enum ih_status time_runs(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                struct ih_bench_times *out, struct ih_error *err);
#endif

static struct ih_bench_rung rung_make(struct ih_bench_gpu *gpu, const char *why_not, size_t index)
{
    struct ih_bench_rung rung = {.device = "cuda",
                                 .name = gpu_rungs[index].name,
                                 .why = gpu_rungs[index].why,
                                 .is_read = gpu_rungs[index].step == READ,
                                 .why_not = gpu ? NULL : why_not,
                                 .machine = gpu,
                                 .index = index};
#ifdef IH_WITH_CUDA
    rung.answer = run_once;
    rung.time = time_runs;
#endif
    return rung;
}

static bool is_of(enum step step, enum ih_bench_kind kind)
{
    return step == READ || (step == SUM && kind == IH_BENCH_SUM) ||
           ((step == DOT_BLOCKS || step == DOT_ALL) && kind == IH_BENCH_DOT) ||
           (step == LUMINANCE && kind == IH_BENCH_LUMINANCE);
}

size_t ih_bench_gpu_rungs(struct ih_bench_gpu *gpu, const char *why_not,
                          const struct ih_bench_task *task, struct ih_bench_rung *rungs,
                          size_t n_max)
{
    size_t n = 0;
    for (size_t i = 0; i < N_RUNGS && n < n_max; i++)
        if (is_of(gpu_rungs[i].step, task->kind))
            rungs[n++] = rung_make(gpu, why_not, i);
    for (size_t i = N_KERNELS; i-- > 0 && n < n_max && task->kind == IH_BENCH_HISTOGRAM;) {
        rungs[n++] = rung_make(gpu, why_not, FIRST_KERNEL + i);
        if (i == N_KERNELS - 1 && task->n_channels == 1 && n < n_max)
            rungs[n++] = rung_make(gpu, why_not, THE_TEXTBOOK);
    }
    return n;
}

#ifdef IH_WITH_CUDA

#include "device/cuda_unit.h"
#include "kernels/ladder.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    /* While the CPU's rungs run, the clocks of GPU and bus fall. Some milliseconds of work raise
     * them again. */
    WARM_UP_MS = 30,
    RUNS = IH_BENCH_REPEATS,
    SLOT_ALIGN_BYTES = 512,
    SLOTS_BYTES = 512 << 20, /* ten times the L2 cache of current GPUs */
    SLOTS_MAX = 64,
    DOT_BLOCKS_PER_MULTIPROCESSOR = 8
};

/* The answers of the kernels, in device memory; zeroed before each launch. */
struct result {
    struct ih_gpu_totals totals;
    uint32_t bins[IH_GPU_BINS]; /* of the textbook's kernel */
    double value;               /* or a float, at the same place */
    uint32_t xor_all;
};

struct ih_bench_gpu {
    struct ih_gpu_properties gpu;
    cudaStream_t stream;
    cudaEvent_t starts[RUNS], stops[RUNS];
    struct result *result, *d_result; /* in pinned memory, and on the device */

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

static cudaError_t prepare(struct ih_bench_gpu *g, int ordinal, char name[IH_BENCH_GPU_NAME_MAX])
{
    struct cudaDeviceProp prop;
    cudaError_t e = cudaSetDevice(ordinal);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&prop, ordinal);
    if (e == cudaSuccess) {
        g->gpu.n_multiprocessors = prop.multiProcessorCount;
        g->gpu.shared_bytes_optin = prop.sharedMemPerBlockOptin;
        snprintf(name, IH_BENCH_GPU_NAME_MAX, "cuda:%d %s", ordinal, prop.name);
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

enum ih_status ih_bench_gpu_open(int ordinal, struct ih_bench_gpu **gpu,
                                 char name[IH_BENCH_GPU_NAME_MAX], struct ih_error *err)
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
    e = prepare(g, ordinal, name);
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

void *ih_bench_pinned_alloc(size_t size_bytes)
{
    void *memory = NULL;
    return cudaHostAlloc(&memory, size_bytes, cudaHostAllocDefault) == cudaSuccess ? memory : NULL;
}

void ih_bench_pinned_free(void *memory)
{
    cudaFreeHost(memory);
}

/* Allocates the slots for the job's input, and the kernels' scratch memory. */
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

/* ---- launches ---- */

static cudaError_t (*const kernels[])(const struct ih_gpu_histogram_args *) = {
#define KERNEL(name, why) ih_histogram_##name,
#include "kernels/kernels.def"
};

static cudaError_t (*const sums[])(const struct ih_gpu_sum_args *) = {
#define REDUCTION(name, why) ih_sum_##name,
#include "kernels/kernels.def"
};

static cudaError_t launch_kernel(size_t launcher, const struct ih_bench_gpu *g,
                                 const struct ih_bench_job *job, const uint8_t *d_input)
{
    const struct ih_gpu_histogram_args args = {.d_pixels = d_input,
                                               .n_pixels = job->n_items,
                                               .n_channels = job->spec.n_channels,
                                               .measures = ih_gpu_measures_make(&job->spec),
                                               .d_totals = &g->d_result->totals,
                                               .gpu = &g->gpu,
                                               .stream = g->stream};
    return kernels[launcher](&args);
}

static cudaError_t launch_dot(unsigned n_blocks, const struct ih_bench_gpu *g,
                              const struct ih_bench_job *job, const float *d_input)
{
    const struct ih_gpu_dot_args args = {
        .d_a = d_input,
        .d_b = d_input + job->n_items,
        .n_values = job->n_items,
        .n_blocks = n_blocks < IH_GPU_DOT_BLOCKS_MAX ? n_blocks : IH_GPU_DOT_BLOCKS_MAX,
        .d_partials = g->d_scratch,
        .d_dot = (void *)&g->d_result->value,
        .stream = g->stream};
    return ih_dot(&args);
}

static cudaError_t launch_luminance(const struct ih_bench_gpu *g, const struct ih_bench_job *job,
                                    const uint8_t *d_input)
{
    const struct ih_gpu_luminance_args args = {.d_totals = &g->d_result->totals,
                                               .n_pixels = job->n_items,
                                               .d_luminance = &g->d_result->value,
                                               .stream = g->stream};
    const cudaError_t e = launch_kernel(0, g, job, d_input);
    return e == cudaSuccess ? ih_luminance(&args) : e;
}

/* Enqueues the rung's kernel on one of the copies of the input. */
static cudaError_t launch(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                          size_t slot)
{
    const struct ih_bench_gpu *g = rung->machine;
    const uint8_t *d_input = g->d_input + slot * g->slot_bytes;
    const struct ih_gpu_read_args read = {.d_bytes = d_input,
                                          .n_bytes = job->n_bytes,
                                          .d_xor = &g->d_result->xor_all,
                                          .gpu = &g->gpu,
                                          .stream = g->stream};
    const struct ih_gpu_bytes_args textbook = {.d_bytes = d_input,
                                               .n_bytes = job->n_bytes,
                                               .d_bins = g->d_result->bins,
                                               .gpu = &g->gpu,
                                               .stream = g->stream};
    const struct ih_gpu_sum_args sum = {.d_values = d_input,
                                        .n_values = job->n_items,
                                        .is_double = job->task->is_double,
                                        .d_scratch = g->d_scratch,
                                        .d_sum = &g->d_result->value,
                                        .gpu = &g->gpu,
                                        .stream = g->stream};
    const struct gpu_rung *r = &gpu_rungs[rung->index];
    switch (r->step) {
    case READ:
        return ih_read_roofline(&read);
    case TEXTBOOK:
        return ih_histogram_textbook(&textbook);
    case KERNEL:
        return launch_kernel(r->launcher, g, job, d_input);
    case SUM:
        return sums[r->launcher](&sum);
    case DOT_BLOCKS:
        return launch_dot(IH_GPU_DOT_BLOCKS, g, job, (const void *)d_input);
    case DOT_ALL:
        return launch_dot((unsigned)(DOT_BLOCKS_PER_MULTIPROCESSOR * g->gpu.n_multiprocessors), g,
                          job, (const void *)d_input);
    default:
        return launch_luminance(g, job, d_input);
    }
}

/* ---- runs ---- */

/* Converts the totals to a histogram; the textbook's kernel leaves bins of gray pixels. */
static void fill_histogram(enum step step, const struct ih_bench_job *job, const struct result *r,
                           struct ih_histogram *out)
{
    const struct ih_gpu_totals *t = &r->totals;
    ih_histogram_clear(out, job->spec.n_channels);
    out->n_pixels = job->n_items;
    for (unsigned p = 0; p < IH_PLANES; p++) {
        out->sum[p] = t->sum[p];
        for (unsigned v = 0; v < IH_BINS; v++)
            out->bins[p][v] = t->bins[p][v];
    }
    for (unsigned v = 0; step == TEXTBOOK && v < IH_BINS; v++) {
        out->bins[0][v] = r->bins[v];
        out->sum[0] += (uint64_t)v * r->bins[v];
    }
    out->any_low = t->any_low;
    out->any_high = t->any_high;
    out->all_low = t->all_low;
    out->all_high = t->all_high;
    ih_histogram_derive_gray(out, &job->spec);
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

static enum ih_status run_once(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                               struct ih_bench_answer *out, struct ih_error *err)
{
    const bool is_float = job->task->n_channels == 0 && !job->task->is_double;
    struct ih_bench_gpu *g = rung->machine;
    const float *as_float = (const void *)&g->result->value;
    cudaError_t e = zero_result(g);
    if (e == cudaSuccess)
        e = launch(rung, job, 0);
    if (e == cudaSuccess)
        e = fetch_result(g);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(g->stream);
    if (e != cudaSuccess)
        return failed(err, e, "GPU");
    out->xor_all = g->result->xor_all;
    out->value = is_float ? (double)*as_float : g->result->value;
    if (job->task->kind == IH_BENCH_HISTOGRAM)
        fill_histogram(gpu_rungs[rung->index].step, job, g->result, &out->histogram);
    return IH_OK;
}

/* Enqueues one timed run. With the copy, each run overwrites the first slot. */
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

/* Runs for WARM_UP_MS, at least once. */
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

static enum ih_status time_runs(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                struct ih_bench_times *out, struct ih_error *err)
{
    cudaError_t e = median_ns(rung, job, false, &out->time_ns);
    if (e == cudaSuccess)
        e = median_ns(rung, job, true, &out->copy_time_ns);
    return e == cudaSuccess ? IH_OK : failed(err, e, "GPU");
}

#else

enum ih_status ih_bench_gpu_open(int ordinal, struct ih_bench_gpu **gpu,
                                 char name[IH_BENCH_GPU_NAME_MAX], struct ih_error *err)
{
    (void)ordinal, (void)gpu, (void)name;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA (nvcc was not found)");
}

void ih_bench_gpu_close(struct ih_bench_gpu *gpu)
{
    (void)gpu;
}

void *ih_bench_pinned_alloc(size_t size_bytes)
{
    (void)size_bytes;
    return NULL;
}

void ih_bench_pinned_free(void *memory)
{
    (void)memory;
}

enum ih_status ih_bench_gpu_load(struct ih_bench_gpu *gpu, const struct ih_bench_job *job,
                                 struct ih_error *err)
{
    (void)gpu, (void)job;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}

#endif
