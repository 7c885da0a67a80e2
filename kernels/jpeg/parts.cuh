/* What the steps of the JPEG kernels share: the memory between them, and how a thread finds its
 * part of the batch. */
#ifndef IH_KERNELS_JPEG_PARTS_CUH
#define IH_KERNELS_JPEG_PARTS_CUH

#include "decode.h"

#include <cuda_runtime_api.h>

/* What the caller has given, and the parts of its scratch, in device memory. */
struct ih_jpeg_work : ih_gpu_jpeg_args {
    /* unstuff.cu */
    uint8_t *bits;       /* [bits_bytes]: the intervals without stuffed zeros */
    uint32_t *n_bytes;   /* [n_intervals]: up to the first marker, stuffed */
    uint32_t *n_bits;    /* [n_intervals]: unstuffed */
    uint32_t *n_stuffed; /* [n_chunks] of a chunk; then of all chunks before it */
    /* synchronise.cu */
    struct ih_jpeg_tables *tables; /* [n_codes] */
    uint32_t *interval_of;         /* [n_subsequences] */
    struct ih_jpeg_starts starts;
    /* write.cu */
    struct ih_jpeg_coefficients coefficients;
};

/* Divides scratch; counts the bytes, too. */
struct ih_jpeg_divider {
    uint8_t *next;
    template <class T> void give(T **part, size_t n)
    {
        enum { ALIGNMENT = 256 };
        *part = (T *)next;
        next += (n * sizeof(T) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
};

/* The steps, each in its file. They enqueue kernels. */
cudaError_t ih_jpeg_unstuff(const struct ih_jpeg_work &w);
cudaError_t ih_jpeg_find_starts(const struct ih_jpeg_work &w);
cudaError_t ih_jpeg_write_coefficients(const struct ih_jpeg_work &w);
cudaError_t ih_jpeg_transform(const struct ih_jpeg_work &w);
/* Of progressive files: DC of all first scans; then all blocks of a part. */
cudaError_t ih_jpeg_sum_scans(const struct ih_jpeg_work &w, const struct ih_gpu_jpeg_scans &s,
                              int16_t *dc);
cudaError_t ih_jpeg_transform_part(const struct ih_jpeg_work &w, const struct ih_gpu_jpeg_scans &s,
                                   const struct ih_gpu_jpeg_part &part, const int16_t *dc,
                                   const int16_t *coefficients);

/* The sum of the values of a thread block's threads before this one, and of all. s_sums: [THREADS /
 * 32], free for other use after the next barrier. */
template <int THREADS, class value_t>
static __device__ inline value_t ih_jpeg_sum_before(value_t value, value_t *s_sums, value_t *total)
{
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value_t sum = value, before = 0;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const value_t other = __shfl_up_sync(~0u, sum, step);
        sum += lane >= step ? other : 0;
    }
    if (lane == 31)
        s_sums[warp] = sum;
    __syncthreads();
    *total = 0;
    for (uint32_t i = 0; i < THREADS / 32; i++) {
        before = i == warp ? *total : before;
        *total += s_sums[i];
    }
    return before + sum - value;
}

enum { IH_JPEG_SUM_THREADS = 1024, IH_JPEG_SUM_VALUES = 8 };

/* One thread block turns each of n values into the sum of those before it. For the 260,000
 * subsequences of 64 MB that takes 0.1 ms of 4. */
template <class value_t>
static __global__ void __launch_bounds__(IH_JPEG_SUM_THREADS)
    ih_jpeg_sum_kernel(value_t *values, uint32_t n)
{
    __shared__ value_t s_sums[IH_JPEG_SUM_THREADS / 32];
    value_t sum = 0, total;
    for (uint32_t first = 0; first < n; first += IH_JPEG_SUM_THREADS * IH_JPEG_SUM_VALUES) {
        const uint32_t from = first + threadIdx.x * IH_JPEG_SUM_VALUES;
        value_t own[IH_JPEG_SUM_VALUES], of_thread = 0;
#pragma unroll
        for (int i = 0; i < IH_JPEG_SUM_VALUES; i++) {
            own[i] = from + i < n ? values[from + i] : 0;
            of_thread += own[i];
        }
        value_t before = sum + ih_jpeg_sum_before<IH_JPEG_SUM_THREADS>(of_thread, s_sums, &total);
#pragma unroll
        for (int i = 0; i < IH_JPEG_SUM_VALUES; i++) {
            if (from + i < n)
                values[from + i] = before;
            before += own[i];
        }
        sum += total;
        __syncthreads();
    }
}

/* Which of n parts, laid out one after the other, has x: the last whose `first` is at most x. */
template <class part_t>
static __device__ inline uint32_t ih_jpeg_find(const part_t *parts, uint32_t n,
                                               uint32_t part_t::*first, uint32_t x)
{
    uint32_t low = 0;
    while (n - low > 1) {
        const uint32_t middle = (low + n) / 2;
        if (parts[middle].*first <= x)
            low = middle;
        else
            n = middle;
    }
    return low;
}

static __device__ inline void ih_jpeg_blame(const struct ih_jpeg_work &w, uint32_t image,
                                            uint32_t faults)
{
    if (faults)
        atomicOr(&w.d_verdicts[image].faults, faults);
}

/* The group of a thread block of synchronise.cu. */
static __device__ inline const struct ih_gpu_jpeg_group &ih_jpeg_group_of(
    const struct ih_jpeg_work &w, uint32_t thread_block)
{
    return w.batch.groups[ih_jpeg_find(w.batch.groups, w.batch.n_groups,
                                       &ih_gpu_jpeg_group::first_thread_block, thread_block)];
}

/* Copies tables to shared memory, by a thread block. A barrier must follow. */
template <class tables_t>
static __device__ inline void ih_jpeg_copy_tables(tables_t *s_tables, const tables_t *tables,
                                                  uint32_t n_threads)
{
    static_assert(sizeof *s_tables % sizeof(uint4) == 0, "copied in 16 bytes");
    for (uint32_t i = threadIdx.x; i < sizeof *s_tables / sizeof(uint4); i += n_threads)
        ((uint4 *)s_tables)[i] = ((const uint4 *)tables)[i];
}

#endif
