/*
 * One started GPU, and the conversions between the kernels' structs and ours. The CUDA backend, the
 * hardware JPEG decoder and the counting of device memory share them.
 */
#ifndef IH_DEVICE_CUDA_UNIT_H
#define IH_DEVICE_CUDA_UNIT_H

#include "base/status.h"
#include "counts/histogram.h"
#include "kernels/kernels.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

struct ih_cuda_unit {
    int ordinal;
    size_t kernel;     /* index into kernels.def */
    bool takes_planes; /* false if the user named a kernel: those count pixels */
    struct ih_gpu_properties gpu;
    char description[300]; /* "cuda:0 NVIDIA H100" */
};

/* IH_MEMORY or IH_DEVICE with CUDA's reason. Clears the thread's CUDA error. */
enum ih_status ih_cuda_failed(struct ih_error *err, cudaError_t error, const char *what);

/* What to count, in the form that kernels take: luma weights and clip thresholds. */
struct ih_gpu_measures ih_gpu_measures_make(const struct ih_count_spec *spec);

/* Converts a kernel's counters, copied back from the GPU, to a histogram of n_pixels pixels. out is
 * overwritten. */
void ih_gpu_totals_read(const struct ih_gpu_totals *totals, const struct ih_count_spec *spec,
                        uint64_t n_pixels, struct ih_histogram *out);

#endif
