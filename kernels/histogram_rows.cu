/*
 * Histogram of rows with gaps between them: memory from cudaMallocPitch, or a part of an image.
 *
 * The other kernels need consecutive pixels, and a launch for each row would cost microseconds
 * each. Here a thread computes row and column of its pixel with one 32-bit division and reads
 * single bytes. The rest is histogram_shared.cu: a table a block, merged at the end. Neighbouring
 * threads read neighbouring pixels, so gaps cost no memory traffic beyond the first and last sector
 * of a row.
 *
 * It should reach 0.06 of an H100's read bandwidth, as the textbook's byte loads do. It is not in
 * kernels.def, because the other kernels are faster on consecutive pixels.
 */
#include "device.cuh"

enum { IH_ROWS_THREADS = 512, IH_ROWS_BLOCKS_PER_MULTIPROCESSOR = 4 };

template <int CHANNELS>
__global__ void __launch_bounds__(IH_ROWS_THREADS)
    ih_histogram_rows_kernel(const struct ih_job job, uint32_t n_pixels, uint32_t width,
                             uint64_t stride_bytes)
{
    __shared__ uint32_t s_table[ih_planes(CHANNELS)][IH_GPU_BINS];
    __shared__ struct ih_partials s_partials;
    uint32_t clip[IH_CLIP_COUNTS] = {};

    for (int i = threadIdx.x; i < ih_planes(CHANNELS) * IH_GPU_BINS; i += IH_ROWS_THREADS)
        (&s_table[0][0])[i] = 0;
    __syncthreads();

    const uint32_t step = gridDim.x * IH_ROWS_THREADS;
    for (uint64_t i = blockIdx.x * IH_ROWS_THREADS + threadIdx.x; i < n_pixels; i += step) {
        const uint32_t row = (uint32_t)i / width, column = (uint32_t)i - row * width;
        const uint8_t *pixel = job.d_pixels + row * stride_bytes + (uint64_t)column * CHANNELS;
        for (int c = 0; c < CHANNELS; c++)
            atomicAdd(&s_table[c][pixel[c]], 1u);
        if (CHANNELS >= 3) {
            const uint32_t r = pixel[0], g = pixel[1 % CHANNELS], b = pixel[2 % CHANNELS];
            atomicAdd(&s_table[ih_planes(CHANNELS) - 1][ih_luma(job.measures, r, g, b)], 1u);
            ih_clip_pixel(job.measures, r, g, b, clip);
        }
    }

    ih_block_merge<CHANNELS, IH_ROWS_THREADS>(
        [&](int plane, int value) { return s_table[plane][value]; }, clip, &s_partials,
        job.d_totals);
}

template <int CHANNELS>
static cudaError_t launch(const struct ih_gpu_histogram_args *args, const struct ih_job *job,
                          uint32_t width, uint64_t stride_bytes)
{
    const uint32_t n_pixels = (uint32_t)args->n_pixels;
    const uint32_t n_needed = (n_pixels - 1) / IH_ROWS_THREADS + 1;
    const uint32_t n_most =
        (uint32_t)(IH_ROWS_BLOCKS_PER_MULTIPROCESSOR * args->gpu->n_multiprocessors);
    const uint32_t n_blocks = n_needed < n_most ? n_needed : n_most;
    ih_histogram_rows_kernel<CHANNELS>
        <<<n_blocks, IH_ROWS_THREADS, 0, args->stream>>>(*job, n_pixels, width, stride_bytes);
    return cudaGetLastError();
}

extern "C" cudaError_t ih_histogram_rows(const struct ih_gpu_histogram_args *args, uint64_t width,
                                         uint64_t stride_bytes)
{
    struct ih_job job;
    const cudaError_t status = ih_job_make(args, IH_LOAD_PIXELS, &job);
    if (status != cudaSuccess || args->n_pixels == 0)
        return status;
    if (width == 0 || width > UINT32_MAX)
        return cudaErrorInvalidValue;
    const decltype(&launch<1>) launches[] = {launch<1>, launch<2>, launch<3>, launch<4>};
    return launches[args->n_channels - 1](args, &job, (uint32_t)width, stride_bytes);
}
