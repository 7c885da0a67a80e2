/*
 * The ladder's rungs on the GPU: kernels.def and ladder.def walked, and how each launcher is
 * called.
 *
 * kernels.def names the best kernel first, a ladder begins at the other end. The textbook's
 * histogram has its place behind the first: it is the same idea in shared memory.
 */
#include "bench/gpu.h"

enum step { READ, TEXTBOOK, KERNEL, SUM, DOT_BLOCKS, DOT_ALL, LUMINANCE };

struct gpu_rung {
    enum step step;
    size_t launcher; /* of kernels[] or sums[] below */
    const char *name, *why;
};

/* In the order of the .def files. */
#define KERNEL(name, why) KERNEL_##name,
enum kernel_index {
#include "kernels/kernels.def"
    N_KERNELS
};
#undef KERNEL
#define REDUCTION(name, why) SUM_##name,
enum sum_index {
#include "kernels/ladder.def"
    N_SUMS
};
#undef REDUCTION

static const struct gpu_rung gpu_rungs[] = {
    {READ, 0, "read", "reads all bytes and xors them: the limit here"},
#define KERNEL(name, why) {KERNEL, KERNEL_##name, #name, why},
#include "kernels/kernels.def"
#undef KERNEL
    {TEXTBOOK, 0, "textbook", "one table a block in shared memory, byte by byte"},
#define REDUCTION(name, why) {SUM, SUM_##name, #name, why},
#include "kernels/ladder.def"
#undef REDUCTION
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
    rung.answer = ih_bench_gpu_run_once;
    rung.time = ih_bench_gpu_time;
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

enum { DOT_BLOCKS_PER_MULTIPROCESSOR = 8 };

static cudaError_t (*const kernels[])(const struct ih_gpu_histogram_args *) = {
#define KERNEL(name, why) ih_histogram_##name,
#include "kernels/kernels.def"
#undef KERNEL
};

static cudaError_t (*const sums[])(const struct ih_gpu_sum_args *) = {
#define REDUCTION(name, why) ih_sum_##name,
#include "kernels/ladder.def"
#undef REDUCTION
};

static cudaError_t launch_read(const struct ih_bench_gpu_run *run)
{
    const struct ih_gpu_read_args args = {.d_bytes = run->d_input,
                                          .n_bytes = run->job->n_bytes,
                                          .d_xor = &run->d_result->xor_all,
                                          .gpu = run->gpu,
                                          .stream = run->stream};
    return ih_read_roofline(&args);
}

static cudaError_t launch_textbook(const struct ih_bench_gpu_run *run)
{
    const struct ih_gpu_bytes_args args = {.d_bytes = run->d_input,
                                           .n_bytes = run->job->n_bytes,
                                           .d_bins = run->d_result->bins,
                                           .gpu = run->gpu,
                                           .stream = run->stream};
    return ih_histogram_textbook(&args);
}

static cudaError_t launch_kernel(size_t launcher, const struct ih_bench_gpu_run *run)
{
    const struct ih_count_spec *spec = &run->job->spec;
    const struct ih_gpu_histogram_args args = {.d_pixels = run->d_input,
                                               .n_pixels = run->job->n_items,
                                               .n_channels = spec->n_channels,
                                               .measures = ih_gpu_measures_make(spec),
                                               .d_totals = &run->d_result->totals,
                                               .gpu = run->gpu,
                                               .stream = run->stream};
    return kernels[launcher](&args);
}

static cudaError_t launch_sum(size_t launcher, const struct ih_bench_gpu_run *run)
{
    const struct ih_gpu_sum_args args = {.d_values = run->d_input,
                                         .n_values = run->job->n_items,
                                         .is_double = run->job->task->is_double,
                                         .d_scratch = run->d_scratch,
                                         .d_sum = &run->d_result->value,
                                         .gpu = run->gpu,
                                         .stream = run->stream};
    return sums[launcher](&args);
}

static cudaError_t launch_dot(unsigned n_blocks, const struct ih_bench_gpu_run *run)
{
    const float *d_a = (const void *)run->d_input;
    const struct ih_gpu_dot_args args = {
        .d_a = d_a,
        .d_b = d_a + run->job->n_items,
        .n_values = run->job->n_items,
        .n_blocks = n_blocks < IH_GPU_DOT_BLOCKS_MAX ? n_blocks : IH_GPU_DOT_BLOCKS_MAX,
        .d_partials = run->d_scratch,
        .d_dot = (void *)&run->d_result->value,
        .stream = run->stream};
    return ih_dot(&args);
}

static cudaError_t launch_luminance(const struct ih_bench_gpu_run *run)
{
    const struct ih_gpu_luminance_args args = {.d_totals = &run->d_result->totals,
                                               .n_pixels = run->job->n_items,
                                               .d_luminance = &run->d_result->value,
                                               .stream = run->stream};
    const cudaError_t e = launch_kernel(0, run);
    return e == cudaSuccess ? ih_luminance(&args) : e;
}

cudaError_t ih_bench_gpu_launch(size_t index, const struct ih_bench_gpu_run *run)
{
    const struct gpu_rung *rung = &gpu_rungs[index];
    switch (rung->step) {
    case READ:
        return launch_read(run);
    case TEXTBOOK:
        return launch_textbook(run);
    case KERNEL:
        return launch_kernel(rung->launcher, run);
    case SUM:
        return launch_sum(rung->launcher, run);
    case DOT_BLOCKS:
        return launch_dot(IH_GPU_DOT_BLOCKS, run);
    case DOT_ALL:
        return launch_dot((unsigned)(DOT_BLOCKS_PER_MULTIPROCESSOR * run->gpu->n_multiprocessors),
                          run);
    default:
        return launch_luminance(run);
    }
}

/* The totals as a histogram; the textbook's bins are those of gray pixels. */
static void fill_histogram(enum step step, const struct ih_bench_job *job,
                           const struct ih_bench_gpu_result *r, struct ih_histogram *out)
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

void ih_bench_gpu_answer(size_t index, const struct ih_bench_job *job,
                         const struct ih_bench_gpu_result *result, struct ih_bench_answer *out)
{
    const bool is_float = job->task->n_channels == 0 && !job->task->is_double;
    const float *as_float = (const void *)&result->value;
    out->xor_all = result->xor_all;
    out->value = is_float ? (double)*as_float : result->value;
    if (job->task->kind == IH_BENCH_HISTOGRAM)
        fill_histogram(gpu_rungs[index].step, job, result, &out->histogram);
}

#endif
