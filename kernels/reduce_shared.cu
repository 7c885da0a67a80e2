/*
 * Sum of an array, the second rung: the same tree in shared memory.
 *
 * Only the first load and the last store touch global memory; the seven levels between them stay on
 * the multiprocessor, and the copy of the values in global memory is gone. Nothing else changes,
 * the barriers least of all: tests/gpu/race.sh takes them out of this very file and shows that
 * racecheck sees it.
 *
 * What limits it now: every block reads 256 values, meets at nine barriers, and ends. After the
 * first level half of its threads have nothing to do, after the third all warps but one. The
 * multiprocessor has other blocks to run meanwhile, but each of the 1e8 values costs its share of
 * nine barriers and of a block's start. The table's size is fixed in the kernel; the next rung
 * shows that it need not be.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, `imghist --bench`, 1e8 terms of 1.23: floats 437 us, 0.30 of
 * the read roofline; doubles 490 us, 0.53. A double costs hardly more than a float: it is the
 * blocks that are paid for, 390,625 of them, and not the bytes.
 */
#include "reduce.cuh"

template <typename T>
__global__ void __launch_bounds__(IH_SUM_THREADS)
    ih_sum_shared_kernel(const T *d_values, uint64_t n_values, T *d_partials)
{
    __shared__ T s_sums[IH_SUM_THREADS];
    const uint64_t i = (uint64_t)blockIdx.x * IH_SUM_THREADS + threadIdx.x;

    s_sums[threadIdx.x] = i < n_values ? d_values[i] : T(0);
    __syncthreads();
    for (unsigned half = IH_SUM_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            s_sums[threadIdx.x] += s_sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        d_partials[blockIdx.x] = s_sums[0];
}

template <typename T> static cudaError_t sum(const struct ih_gpu_sum_args *args)
{
    T *d_first = (T *)args->d_scratch;
    T *d_second = d_first + ih_sum_blocks(args->n_values);
    return ih_sum_levels<T>(
        args, d_first, d_second, [&](uint32_t n_blocks, const T *d_in, uint64_t n, T *d_out) {
            ih_sum_shared_kernel<T><<<n_blocks, IH_SUM_THREADS, 0, args->stream>>>(d_in, n, d_out);
        });
}

extern "C" cudaError_t ih_sum_shared(const struct ih_gpu_sum_args *args)
{
    return args->is_double ? sum<double>(args) : sum<float>(args);
}
