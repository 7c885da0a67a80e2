/*
 * Sum of an array, the second and third rungs: the same tree in shared memory.
 *
 * Only the first load and the last store use global memory; the levels between stay on the
 * multiprocessor. The barriers stay: tests/gpu/race.sh removes them from this file and shows that
 * racecheck notices.
 *
 * The third rung, `dynamic`, sets the size of the shared memory at launch: `extern __shared__` is
 * an array without a length, and the launch's third argument gives its bytes. The kernel then works
 * for blocks of any power of two, and may have more than 48 KB a block. All `extern __shared__`
 * arrays of a file are one array, hence the cast. Its block has 256 threads too, so nothing else
 * differs.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, `imghist --bench`, 1e8 terms of 1.23:
 *
 *                         time     of read
 *     shared    float     437 us   0.30
 *               double    490 us   0.53
 *     dynamic   float     470 us   0.28
 *               double    525 us   0.50
 *
 * What limits `shared`: every block reads 256 values, passes nine barriers, and ends. After the
 * first level half of its threads are idle, after the third all warps but one. A double costs
 * hardly more than a float, because the time goes into 390,625 blocks and not into bytes. `dynamic`
 * is 7 % slower because the compiler unrolls the loop only if it knows the number of levels. Both
 * wait for further launches, which the next rung does without.
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

template <typename T> static cudaError_t sum_shared(const struct ih_gpu_sum_args *args)
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
    return args->is_double ? sum_shared<double>(args) : sum_shared<float>(args);
}

/* ---- the third rung ---- */

extern __shared__ double s_raw[];

template <typename T>
__global__ void ih_sum_dynamic_kernel(const T *d_values, uint64_t n_values, T *d_partials)
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
        d_partials[blockIdx.x] = s_sums[0];
}

template <typename T> static cudaError_t sum_dynamic(const struct ih_gpu_sum_args *args)
{
    const size_t shared_bytes = IH_SUM_THREADS * sizeof(T);
    T *d_first = (T *)args->d_scratch;
    T *d_second = d_first + ih_sum_blocks(args->n_values);
    return ih_sum_levels<T>(
        args, d_first, d_second, [&](uint32_t n_blocks, const T *d_in, uint64_t n, T *d_out) {
            ih_sum_dynamic_kernel<T>
                <<<n_blocks, IH_SUM_THREADS, shared_bytes, args->stream>>>(d_in, n, d_out);
        });
}

extern "C" cudaError_t ih_sum_dynamic(const struct ih_gpu_sum_args *args)
{
    return args->is_double ? sum_dynamic<double>(args) : sum_dynamic<float>(args);
}
