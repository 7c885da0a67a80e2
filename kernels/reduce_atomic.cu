/*
 * Sum of an array, the fourth rung: all blocks add to one number in global memory.
 *
 * Thread 0 of a block adds the block's sum to the result with atomicAdd, instead of leaving a
 * partial sum for the next launch: one launch, and no memory for partial sums. This is the one rung
 * that is slower than the rung before it.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, `imghist --bench`, 1e8 terms of 1.23:
 *
 *               time     of read    error
 *     float     761 us   0.17       3.5e-3
 *     double    792 us   0.33       4.9e-12
 *
 * What limits it: the L2 cache performs additions to one address one after the other, 1.95 ns each.
 * 390,625 blocks queue there, and the queue alone takes the time above. One address can serve a
 * thousand blocks, as in the last rung, but not one in every 256 values.
 *
 * The answer suffers as well. Blocks add in the order in which they end, and float additions round
 * differently in another order, so two runs may differ. The result is a running sum of partial
 * sums, and its error grows with the number of blocks. imghist counts in integers, which have no
 * such error.
 */
#include "reduce.cuh"

extern __shared__ double s_raw[];

template <typename T>
__global__ void ih_sum_atomic_kernel(const T *d_values, uint64_t n_values, T *d_sum)
{
    T *s_sums = (T *)s_raw;
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

    s_sums[threadIdx.x] = i < n_values ? d_values[i] : T(0);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            s_sums[threadIdx.x] += s_sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(d_sum, s_sums[0]);
}

template <typename T> static cudaError_t sum(const struct ih_gpu_sum_args *args)
{
    const cudaError_t status = cudaMemsetAsync(args->d_sum, 0, sizeof(T), args->stream);
    if (status != cudaSuccess)
        return status;
    ih_sum_atomic_kernel<T>
        <<<ih_sum_blocks(args->n_values), IH_SUM_THREADS, IH_SUM_THREADS * sizeof(T),
           args->stream>>>((const T *)args->d_values, args->n_values, (T *)args->d_sum);
    return cudaGetLastError();
}

extern "C" cudaError_t ih_sum_atomic(const struct ih_gpu_sum_args *args)
{
    return args->is_double ? sum<double>(args) : sum<float>(args);
}
