/*
 * Common to the rungs of the sum: the number of blocks, and the tree of launches.
 */
#ifndef IH_KERNELS_REDUCE_CUH
#define IH_KERNELS_REDUCE_CUH

#include "ladder.h"

enum { IH_SUM_THREADS = 256, IH_SUM_WARP = 32, IH_SUM_WARPS = IH_SUM_THREADS / IH_SUM_WARP };

/* Blocks for one value a thread; at least one, which writes the 0 of an empty array. */
static inline uint32_t ih_sum_blocks(uint64_t n_values)
{
    return n_values == 0 ? 1 : (uint32_t)((n_values - 1) / IH_SUM_THREADS + 1);
}

/*
 * Blocks of a launch cannot wait for each other, but a launch waits for the one before. So each
 * level is a launch that turns the values into one partial sum a block, until one block is left.
 *
 * launch(n_blocks, d_values, n_values, d_partials)   enqueues one level
 * d_first, d_second   memory for partial sums, used alternately: n = ih_sum_blocks(n_values) of T,
 *                     and ih_sum_blocks(n) of T
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
