/*
 * Histogram of bytes, as the textbook has it: every block counts in shared memory, byte by byte.
 *
 * This is the second of the two kernels of J. Sanders, E. Kandrot, CUDA by Example (2010), section
 * 9.4, written anew: a grid of twice the multiprocessors, 256 threads a block and as many bins, so
 * that a thread zeroes one bin and adds one to the result. The first of the two, atomics on one
 * table in global memory, is what histogram_global.cu does.
 *
 * What it teaches is privatization. The queue in front of 256 addresses in the L2 cache becomes as
 * many queues as there are blocks, each beside the threads that wait in it, and the second
 * __syncthreads, before the block adds its table to the result, is all the order it needs.
 *
 * What limits it is not the atomics but the loads: a warp asks for 32 bytes at a time where it
 * could ask for 512, and waits for them before it asks again. The whole grid has 67,584 bytes under
 * way; 100 MiB are 1,552 rounds of that, and each takes a trip to the memory and back. The next
 * rung, histogram_shared.cu, loads 16 bytes a thread and lets four times as many threads wait.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, `imghist --bench`, 100 MiB: 584 us, 180 GB/s, 0.065 of the
 * read roofline, and the same for random, smooth, constant and two-valued bytes: 376 ns a round.
 * Atomics in global memory take 16.7 ms for random bytes and 76.7 ms for constant ones.
 */
#include "ladder.h"

enum { IH_TEXTBOOK_THREADS = IH_GPU_BINS, IH_TEXTBOOK_BLOCKS_PER_MULTIPROCESSOR = 2 };

__global__ void __launch_bounds__(IH_TEXTBOOK_THREADS)
    ih_histogram_textbook_kernel(const uint8_t *d_bytes, uint64_t n_bytes, uint32_t *d_bins)
{
    __shared__ uint32_t s_bins[IH_GPU_BINS];
    s_bins[threadIdx.x] = 0;
    __syncthreads();

    const uint64_t stride = (uint64_t)gridDim.x * IH_TEXTBOOK_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * IH_TEXTBOOK_THREADS + threadIdx.x; i < n_bytes;
         i += stride)
        atomicAdd(&s_bins[d_bytes[i]], 1u);
    __syncthreads();

    atomicAdd(&d_bins[threadIdx.x], s_bins[threadIdx.x]);
}

extern "C" cudaError_t ih_histogram_textbook(const struct ih_gpu_bytes_args *args)
{
    const uint32_t n_blocks =
        (uint32_t)(IH_TEXTBOOK_BLOCKS_PER_MULTIPROCESSOR * args->gpu->n_multiprocessors);
    if (args->n_bytes > UINT32_MAX)
        return cudaErrorInvalidValue;
    ih_histogram_textbook_kernel<<<n_blocks, IH_TEXTBOOK_THREADS, 0, args->stream>>>(
        args->d_bytes, args->n_bytes, args->d_bins);
    return cudaGetLastError();
}
