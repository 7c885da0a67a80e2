/*
 * One GPU, and the conversions between the kernels' structs and ours. Shared by the CUDA backend,
 * the JPEG sessions and the counting of pixels in GPU memory.
 */
#ifndef IH_DEVICE_CUDA_UNIT_H
#define IH_DEVICE_CUDA_UNIT_H

#include "device/backend.h"
#include "kernels/kernels.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

struct ih_cuda_unit {
    int ordinal;
    bool takes_planes; /* false if the user named a kernel: those count pixels */
    struct ih_gpu_properties gpu;
    char description[300]; /* "cuda:0 NVIDIA H100" */
};

extern const struct ih_kernel_entry ih_cuda_kernels[]; /* one, and name NULL at the end */

/* Reads the properties of a GPU. kernel: that of --kernel, or NULL. */
cudaError_t ih_cuda_unit_init(struct ih_cuda_unit *unit, int ordinal, const char *kernel);

/* IH_OK for cudaSuccess; else IH_MEMORY or IH_DEVICE with CUDA's reason, and the thread's CUDA
 * error is cleared. */
enum ih_status ih_cuda_status(struct ih_error *err, cudaError_t error, const char *what);

/* Why cudaGetDeviceCount found no GPU: it returned this error, or success and 0. Static. CUDA calls
 * a missing driver "insufficient". */
const char *ih_cuda_why_no_gpu(cudaError_t error);

/* What to count, in the form that kernels take: luma weights and clip thresholds. */
struct ih_gpu_measures ih_gpu_measures_make(const struct ih_count_spec *spec);

/* The arguments of a kernel that adds the counts of interleaved pixels to d_totals. */
struct ih_gpu_histogram_args ih_cuda_args(const struct ih_cuda_unit *unit,
                                          const struct ih_count_spec *spec, const uint8_t *d_pixels,
                                          uint64_t n_pixels, struct ih_gpu_totals *d_totals,
                                          cudaStream_t stream);

/* Converts a kernel's counters, copied back from the GPU, to a histogram of n_pixels pixels. out is
 * overwritten and owned by the caller. Returns as ih_histogram_init. */
enum ih_status ih_gpu_totals_read(const struct ih_gpu_totals *totals,
                                  const struct ih_count_spec *spec, uint64_t n_pixels,
                                  struct ih_histogram *out, struct ih_error *err);
/* The same for a histogram that ih_histogram_init_unset has made. */
void ih_gpu_totals_fill(const struct ih_gpu_totals *totals, const struct ih_count_spec *spec,
                        uint64_t n_pixels, struct ih_histogram *out);

#endif
