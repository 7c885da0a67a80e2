/*
 * Launchers of the ladder, in plain C: kernels that teach, from the textbook to the limit.
 *
 * Only `--bench` runs them, next to the kernels of kernels.h. The rules of kernels.h hold for these
 * launchers too; they return the CUDA status of their launches.
 */
#ifndef IH_KERNELS_LADDER_H
#define IH_KERNELS_LADDER_H

#include "kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading only: the limit of every rung ---- */

struct ih_gpu_read_args {
    const void *d_bytes; /* 16-byte aligned */
    uint64_t n_bytes;
    uint32_t *d_xor; /* xored with all 32-bit words, the last one padded with zeros */
    const struct ih_gpu_properties *gpu; /* borrowed for the call */
    cudaStream_t stream;
};

cudaError_t ih_read_roofline(const struct ih_gpu_read_args *args);

/* ---- the textbook's histogram of bytes ---- */

struct ih_gpu_bytes_args {
    const uint8_t *d_bytes;
    uint64_t n_bytes;                    /* below 2^32: the counters have 32 bits */
    uint32_t *d_bins;                    /* uint32 [IH_GPU_BINS], added to */
    const struct ih_gpu_properties *gpu; /* borrowed for the call */
    cudaStream_t stream;
};

cudaError_t ih_histogram_textbook(const struct ih_gpu_bytes_args *args);

/* ---- the sum of an array ---- */

struct ih_gpu_sum_args {
    const void *d_values; /* float or double [n_values], 16-byte aligned */
    uint64_t n_values;    /* below 2^31 */
    int is_double;
    void *d_scratch;                     /* float or double [ih_gpu_sum_scratch_values(n_values)] */
    void *d_sum;                         /* one float or double, overwritten */
    const struct ih_gpu_properties *gpu; /* borrowed for the call */
    cudaStream_t stream;
};

/* Room for a copy of the values, rounded up to blocks of 256, and for two levels of partial sums.
 */
static inline uint64_t ih_gpu_sum_scratch_values(uint64_t n_values)
{
    return n_values + n_values / 64 + 4096;
}

#define REDUCTION(name, why) cudaError_t ih_sum_##name(const struct ih_gpu_sum_args *args);
#include "kernels.def"

/* ---- the dot product of two arrays ---- */

enum { IH_GPU_DOT_BLOCKS = 32, IH_GPU_DOT_BLOCKS_MAX = 4096 };

struct ih_gpu_dot_args {
    const float *d_a, *d_b; /* float [n_values] */
    uint64_t n_values;
    unsigned n_blocks; /* 1 to IH_GPU_DOT_BLOCKS_MAX; the textbook: IH_GPU_DOT_BLOCKS */
    float *d_partials; /* float [n_blocks], overwritten */
    float *d_dot;      /* one float, overwritten */
    cudaStream_t stream;
};

cudaError_t ih_dot(const struct ih_gpu_dot_args *args);

/* ---- the mean luminance of a histogram ---- */

struct ih_gpu_luminance_args {
    const struct ih_gpu_totals *d_totals; /* of 3 or 4 channels */
    uint64_t n_pixels;                    /* in d_totals, at least 1 */
    double *d_luminance;                  /* one double, overwritten: 0 to 1 */
    cudaStream_t stream;
};

cudaError_t ih_luminance(const struct ih_gpu_luminance_args *args);

#ifdef __cplusplus
}
#endif

#endif
