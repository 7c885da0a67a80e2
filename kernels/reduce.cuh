/*
 * What the rungs of the sum share: how many values a block takes where each thread takes one, and
 * how a tree of blocks is climbed launch by launch.
 */
#ifndef IH_KERNELS_REDUCE_CUH
#define IH_KERNELS_REDUCE_CUH

#include "ladder.h"

enum { IH_SUM_THREADS = 256, IH_SUM_WARP = 32, IH_SUM_WARPS = IH_SUM_THREADS / IH_SUM_WARP };

/* Blocks of one value a thread; none at all still need one, to write the 0. */
static inline uint32_t ih_sum_blocks(uint64_t n_values)
{
    return n_values == 0 ? 1 : (uint32_t)((n_values - 1) / IH_SUM_THREADS + 1);
}

/*
 * Blocks cannot wait for each other within a launch, but a launch waits for the one before: each
 * level turns the values into one partial sum a block, until one block is left.
 *
 * launch(n_blocks, d_values, n_values, d_partials)   enqueues one level
 * d_first, d_second   rooms for partial sums, used in turn: ih_sum_blocks(n_values) of T, and as
 *                     many blocks as that number takes
 */
template <typename T, typename launch_fn>
static cudaError_t ih_sum_levels(const struct ih_gpu_sum_args *args, T *d_first, T *d_second,
                                 launch_fn launch)
{
    const T *d_values = (const T *)args->d_values;
    uint64_t n_values = args->n_values;
    T *d_partials = d_first;
    for (;;) {
        const uint32_t n_blocks = ih_sum_blocks(n_values);
        launch(n_blocks, d_values, n_values, n_blocks == 1 ? (T *)args->d_sum : d_partials);
        const cudaError_t status = cudaGetLastError();
        if (status != cudaSuccess || n_blocks == 1)
            return status;
        d_values = d_partials;
        n_values = n_blocks;
        d_partials = d_partials == d_first ? d_second : d_first;
    }
}

#endif
