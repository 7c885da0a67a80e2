/*
 * Histogram, the second rung: every block counts into its own table in shared memory.
 *
 * Shared memory is on the multiprocessor and adds in place, so a block waits neither for the L2 nor
 * for other blocks. At its end a block adds its table to the totals, one global atomic a bin (CUDA
 * by Example, section 9.4; V. Podlozhnyuk, Histogram calculation in CUDA, 2007). A thread loads 16
 * bytes at a time, a group of 16 pixels in all: byte loads saturate the load unit long before the
 * memory.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, tests/bench/gpu_histogram.sh, of read (3.12 TB/s):
 *
 *     data                       gray   RGB
 *     random                     0.72   0.56
 *     photo                      0.79   0.61
 *     constant                   0.98   0.80
 *     multiples of 32            0.32   0.28
 *     byte loads, 2 blocks of 256 threads a multiprocessor    0.06
 *
 * What limits it: the banks. Bin v is in bank v mod 32, and threads of a warp that hit different
 * words of a bank take turns. Of 32 random values 3 or 4 fall into the fullest bank. Equal values
 * are one word and take no turns, so flat data is faster than noise; multiples of 32 are the worst
 * case. The joint clip counts, one pixel at a time, cost as much again for colour. The next rung
 * gives the threads of a warp copies of each bin in different banks.
 */
#include "device.cuh"

enum { IH_SHARED_THREADS = 512, IH_SHARED_BLOCKS_PER_MULTIPROCESSOR = 4 };

template <int CHANNELS>
static __device__ void count_pixel(const struct ih_job &job, const uint8_t *pixel,
                                   uint32_t (*s_table)[IH_GPU_BINS],
                                   uint32_t (&clip)[IH_CLIP_COUNTS])
{
    for (int c = 0; c < CHANNELS; c++)
        atomicAdd(&s_table[c][pixel[c]], 1u);
    if (CHANNELS >= 3) {
        const uint32_t r = pixel[0], g = pixel[1], b = pixel[2];
        atomicAdd(&s_table[CHANNELS][ih_luma(job.measures, r, g, b)], 1u);
        ih_clip_pixel(job.measures, r, g, b, clip);
    }
}

template <int CHANNELS>
__global__ void __launch_bounds__(IH_SHARED_THREADS)
    ih_histogram_shared_kernel(const struct ih_job job)
{
    __shared__ uint32_t s_table[ih_planes(CHANNELS)][IH_GPU_BINS];
    __shared__ struct ih_partials s_partials;
    uint32_t clip[IH_CLIP_COUNTS] = {};

    for (int i = threadIdx.x; i < ih_planes(CHANNELS) * IH_GPU_BINS; i += IH_SHARED_THREADS)
        (&s_table[0][0])[i] = 0;
    __syncthreads();

    const uint32_t stride = gridDim.x * IH_SHARED_THREADS;
    const uint32_t first = blockIdx.x * IH_SHARED_THREADS + threadIdx.x;
    for (uint32_t group = first; group < job.n_groups; group += stride) {
        union {
            uint4 load[CHANNELS];
            uint8_t sample[IH_LOAD_PIXELS][CHANNELS];
        } pixels;
#pragma unroll
        for (int i = 0; i < CHANNELS; i++)
            pixels.load[i] = job.d_groups[(size_t)group * CHANNELS + i];
#pragma unroll
        for (int i = 0; i < IH_LOAD_PIXELS; i++)
            count_pixel<CHANNELS>(job, pixels.sample[i], s_table, clip);
    }
    for (uint64_t i = first; i < job.n_edge; i += stride)
        count_pixel<CHANNELS>(job, ih_edge_pixel<CHANNELS>(job, (uint32_t)i), s_table, clip);

    ih_block_merge<CHANNELS, IH_SHARED_THREADS>(
        [&](int plane, int value) { return s_table[plane][value]; }, clip, &s_partials,
        job.d_totals);
}

template <int CHANNELS>
static cudaError_t launch(const struct ih_gpu_histogram_args *args, const struct ih_job *job)
{
    const uint32_t n_units = job->n_groups > job->n_edge ? job->n_groups : job->n_edge;
    const uint32_t n_needed = (n_units - 1) / IH_SHARED_THREADS + 1;
    const uint32_t n_most =
        (uint32_t)(IH_SHARED_BLOCKS_PER_MULTIPROCESSOR * args->gpu->n_multiprocessors);
    const uint32_t n_blocks = n_needed < n_most ? n_needed : n_most;
    ih_histogram_shared_kernel<CHANNELS><<<n_blocks, IH_SHARED_THREADS, 0, args->stream>>>(*job);
    return cudaGetLastError();
}

extern "C" cudaError_t ih_histogram_shared(const struct ih_gpu_histogram_args *args)
{
    struct ih_job job;
    const cudaError_t status = ih_job_make(args, IH_LOAD_PIXELS, &job);
    if (status != cudaSuccess || args->n_pixels == 0)
        return status;
    const decltype(&launch<1>) launches[] = {launch<1>, launch<2>, launch<3>, launch<4>};
    return launches[args->n_channels - 1](args, &job);
}
