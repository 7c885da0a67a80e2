/*
 * Histogram, the first rung: every thread adds to one table in global memory.
 *
 * The textbook's idea: a grid of two blocks of 256 threads a multiprocessor strides over the pixels
 * and counts with atomicAdd (J. Sanders, E. Kandrot, CUDA by Example, 2010, section 9.4). Sums and
 * joint clip counts would swamp single addresses, so they stay in registers and take the block's
 * tree at the end.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, tests/bench/gpu_histogram.sh, 4 M pixels, GB/s (read: 3120):
 *
 *                   gray   RGB
 *     random        6      15
 *     constant      1      3
 *
 * What limits it: the whole grid shares at most 1,280 counters. They are in the L2 cache, which
 * does one addition to an address at a time, so pixels queue there. The queue is longest on flat
 * data. The next rung gives every block its own table.
 */
#include "device.cuh"

enum { IH_GLOBAL_THREADS = 256, IH_GLOBAL_BLOCKS_PER_MULTIPROCESSOR = 2 };

template <int CHANNELS>
__global__ void __launch_bounds__(IH_GLOBAL_THREADS)
    ih_histogram_global_kernel(const struct ih_job job, uint32_t n_pixels)
{
    constexpr int PLANES = ih_planes(CHANNELS);
    constexpr int WARPS = IH_GLOBAL_THREADS / IH_WARP;
    static_assert(WARPS == IH_GPU_BINS / IH_WARP, "a warp's partial sum has a slot of its own");
    __shared__ struct ih_partials s_partials;
    unsigned long long sum[PLANES] = {};
    uint32_t clip[IH_CLIP_COUNTS] = {};

    const uint32_t stride = gridDim.x * IH_GLOBAL_THREADS;
    for (uint64_t i = blockIdx.x * IH_GLOBAL_THREADS + threadIdx.x; i < n_pixels; i += stride) {
        uint32_t value[PLANES];
        for (int c = 0; c < CHANNELS; c++)
            value[c] = job.d_pixels[i * CHANNELS + c];
        if (CHANNELS >= 3) {
            value[PLANES - 1] =
                ih_luma(job.measures, value[0], value[1 % PLANES], value[2 % PLANES]);
            ih_clip_pixel(job.measures, value[0], value[1 % PLANES], value[2 % PLANES], clip);
        }
        for (int p = 0; p < PLANES; p++) {
            atomicAdd(&job.d_totals->bins[ih_totals_plane(CHANNELS, p)][value[p]], 1ull);
            sum[p] += value[p];
        }
    }

    const int warp = threadIdx.x / IH_WARP, thread = threadIdx.x % IH_WARP;
    for (int p = 0; p < PLANES; p++) {
        const unsigned long long of_warp = ih_warp_sum(sum[p]);
        if (thread == 0)
            s_partials.sum[p][warp] = of_warp;
    }
    for (int i = 0; i < IH_CLIP_COUNTS; i++) {
        const uint32_t of_warp = ih_warp_sum(clip[i]);
        if (thread == 0)
            s_partials.clip[i][warp] = of_warp;
    }
    __syncthreads();
    ih_partials_add<CHANNELS, IH_GLOBAL_THREADS>(s_partials, job.d_totals);
}

template <int CHANNELS>
static cudaError_t launch(const struct ih_gpu_histogram_args *args, const struct ih_job *job)
{
    const uint32_t n_pixels = (uint32_t)args->n_pixels;
    const uint32_t n_needed = (n_pixels - 1) / IH_GLOBAL_THREADS + 1;
    const uint32_t n_most =
        (uint32_t)(IH_GLOBAL_BLOCKS_PER_MULTIPROCESSOR * args->gpu->n_multiprocessors);
    const uint32_t n_blocks = n_needed < n_most ? n_needed : n_most;
    ih_histogram_global_kernel<CHANNELS>
        <<<n_blocks, IH_GLOBAL_THREADS, 0, args->stream>>>(*job, n_pixels);
    return cudaGetLastError();
}

extern "C" cudaError_t ih_histogram_global(const struct ih_gpu_histogram_args *args)
{
    struct ih_job job;
    const cudaError_t status = ih_job_make(args, IH_LOAD_PIXELS, &job);
    if (status != cudaSuccess || args->n_pixels == 0)
        return status;
    const decltype(&launch<1>) launches[] = {launch<1>, launch<2>, launch<3>, launch<4>};
    return launches[args->n_channels - 1](args, &job);
}
