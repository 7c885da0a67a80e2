/*
 * Sum of an array, the last rung: limited by reading alone.
 *
 * A thread loads 16 bytes at a time and has four loads in flight before it adds the first, as the
 * roofline does. The values of a load go to as many separate running sums, so no addition waits for
 * another. Then each block builds one tree with shuffles and does one atomicAdd: a thousand in all,
 * where reduce_atomic.cu had 390,625.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, `imghist --bench`, 1e8 terms of 1.23:
 *
 *               time     of read    error      over one CPU core    with the copy to the GPU
 *     float     135 us   0.98       8e-6       556 times            10 times (7.4 ms)
 *     double    264 us   0.98       1.8e-14    369 times            6.6 times
 *
 * What limits it is the memory: the tree no longer matters. Counting pixels ends at the same limit
 * (histogram_replicated.cu), but there the additions themselves had to be made fast first.
 */
#include "reduce.cuh"

enum { IH_WIDE_BLOCKS_PER_MULTIPROCESSOR = 8, IH_WIDE_LOADS = 4 };

/* 16 bytes of values. */
template <typename T> struct wide {
    static constexpr int N = 16 / sizeof(T);
    union {
        uint4 load;
        T value[N];
    };
};

template <typename T> static __device__ inline T warp_sum(T value)
{
    for (int width = IH_SUM_WARP / 2; width > 0; width /= 2)
        value += __shfl_down_sync(0xffffffffu, value, width);
    return value;
}

/* The sum of the thread's values. */
template <typename T>
static __device__ inline T thread_sum(const T *d_values, uint64_t n_values, uint64_t first,
                                      uint64_t stride)
{
    constexpr int N = wide<T>::N;
    const uint4 *d_loads = (const uint4 *)d_values;
    const uint64_t n_loads = n_values / N;
    T sum[N] = {};
    uint64_t i = first;
    for (; i + (IH_WIDE_LOADS - 1) * stride < n_loads; i += IH_WIDE_LOADS * stride) {
        wide<T> in[IH_WIDE_LOADS];
#pragma unroll
        for (int k = 0; k < IH_WIDE_LOADS; k++)
            in[k].load = d_loads[i + k * stride];
#pragma unroll
        for (int k = 0; k < IH_WIDE_LOADS; k++)
#pragma unroll
            for (int v = 0; v < N; v++)
                sum[v] += in[k].value[v];
    }
    for (; i < n_loads; i += stride) {
        wide<T> in;
        in.load = d_loads[i];
#pragma unroll
        for (int v = 0; v < N; v++)
            sum[v] += in.value[v];
    }
    if (first < n_values % N) /* the values after the last full load */
        sum[0] += d_values[n_loads * N + first];
#pragma unroll
    for (int v = 1; v < N; v++)
        sum[0] += sum[v];
    return sum[0];
}

template <typename T>
__global__ void __launch_bounds__(IH_SUM_THREADS)
    ih_sum_wide_kernel(const T *d_values, uint64_t n_values, T *d_sum)
{
    __shared__ T s_partials[IH_SUM_WARPS];
    const int warp = threadIdx.x / IH_SUM_WARP, thread = threadIdx.x % IH_SUM_WARP;

    T value =
        warp_sum(thread_sum(d_values, n_values, (uint64_t)blockIdx.x * IH_SUM_THREADS + threadIdx.x,
                            (uint64_t)gridDim.x * IH_SUM_THREADS));
    if (thread == 0)
        s_partials[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = warp_sum(thread < IH_SUM_WARPS ? s_partials[thread] : T(0));
        if (thread == 0)
            atomicAdd(d_sum, value);
    }
}

template <typename T> static cudaError_t sum(const struct ih_gpu_sum_args *args)
{
    const uint32_t n_needed = ih_sum_blocks(args->n_values / wide<T>::N);
    const uint32_t n_most =
        (uint32_t)(IH_WIDE_BLOCKS_PER_MULTIPROCESSOR * args->gpu->n_multiprocessors);
    const cudaError_t status = cudaMemsetAsync(args->d_sum, 0, sizeof(T), args->stream);
    if (status != cudaSuccess)
        return status;
    const uint32_t n_blocks = n_needed < n_most ? n_needed : n_most;
    ih_sum_wide_kernel<T><<<n_blocks, IH_SUM_THREADS, 0, args->stream>>>(
        (const T *)args->d_values, args->n_values, (T *)args->d_sum);
    return cudaGetLastError();
}

extern "C" cudaError_t ih_sum_wide(const struct ih_gpu_sum_args *args)
{
    return args->is_double ? sum<double>(args) : sum<float>(args);
}
