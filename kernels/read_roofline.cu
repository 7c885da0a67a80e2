/*
 * The roofline: reads every byte once and does as little as possible with it.
 *
 * A kernel that counts or adds must read its input, so it cannot be faster than this one. The words
 * are xored: one instruction each, no order, no rounding, and an answer that the CPU can check, so
 * the compiler cannot remove the reads. A thread has four loads of 16 bytes in flight before it
 * uses the first, because only other loads hide the 600 ns to memory. The threads of a warp read
 * neighbouring words. A block ends with one atomic.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, `imghist --bench`:
 *
 *     100 MiB     37.8 us   2.77 TB/s, launch and last blocks included
 *     381 MiB     132 us    3.03 TB/s
 *     763 MiB     260 us    3.08 TB/s, 92 % of the data sheet's 3.35
 */
#include "kernels.h"

enum {
    IH_READ_THREADS = 512,
    IH_READ_BLOCKS_PER_MULTIPROCESSOR = 4,
    IH_READ_LOADS = 4,
    IH_READ_WARP = 32,
    IH_READ_WARPS = IH_READ_THREADS / IH_READ_WARP
};

static __device__ inline uint32_t fold(uint4 word)
{
    return word.x ^ word.y ^ word.z ^ word.w;
}

static __device__ inline uint32_t warp_xor(uint32_t value)
{
    for (int width = IH_READ_WARP / 2; width > 0; width /= 2)
        value ^= __shfl_xor_sync(0xffffffffu, value, width);
    return value;
}

__global__ void __launch_bounds__(IH_READ_THREADS)
    ih_read_kernel(const uint4 *d_words, uint64_t n_words, const uint8_t *d_tail, uint32_t n_tail,
                   uint32_t *d_xor)
{
    __shared__ uint32_t s_xors[IH_READ_WARPS];
    const unsigned warp = threadIdx.x / IH_READ_WARP, thread = threadIdx.x % IH_READ_WARP;
    const uint64_t stride = (uint64_t)gridDim.x * IH_READ_THREADS;
    const uint64_t first = (uint64_t)blockIdx.x * IH_READ_THREADS + threadIdx.x;
    uint32_t value = 0;
    uint64_t i = first;
    for (; i + (IH_READ_LOADS - 1) * stride < n_words; i += IH_READ_LOADS * stride) {
        uint4 word[IH_READ_LOADS];
#pragma unroll
        for (int k = 0; k < IH_READ_LOADS; k++)
            word[k] = d_words[i + k * stride];
#pragma unroll
        for (int k = 0; k < IH_READ_LOADS; k++)
            value ^= fold(word[k]);
    }
    for (; i < n_words; i += stride)
        value ^= fold(d_words[i]);
    if (first < n_tail) /* the bytes after the last full word */
        value ^= (uint32_t)d_tail[first] << first % 4 * 8;

    value = warp_xor(value);
    if (thread == 0)
        s_xors[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = warp_xor(thread < IH_READ_WARPS ? s_xors[thread] : 0);
        if (thread == 0)
            atomicXor(d_xor, value);
    }
}

extern "C" cudaError_t ih_read_roofline(const struct ih_gpu_read_args *args)
{
    const uint64_t n_words = args->n_bytes / sizeof(uint4);
    const uint32_t n_blocks =
        (uint32_t)(IH_READ_BLOCKS_PER_MULTIPROCESSOR * args->gpu->n_multiprocessors);
    ih_read_kernel<<<n_blocks, IH_READ_THREADS, 0, args->stream>>>(
        (const uint4 *)args->d_bytes, n_words, (const uint8_t *)args->d_bytes + n_words * 16,
        (uint32_t)(args->n_bytes % sizeof(uint4)), args->d_xor);
    return cudaGetLastError();
}
