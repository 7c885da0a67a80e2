/* What the files of the CUDA backend share: one GPU that has been started. */
#ifndef IH_DEVICE_CUDA_UNIT_H
#define IH_DEVICE_CUDA_UNIT_H

#include "base/status.h"
#include "kernels/kernels.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

struct ih_cuda_unit {
    int ordinal;
    size_t kernel;     /* which of kernels.def */
    bool takes_planes; /* nobody has asked for one of these */
    struct ih_gpu_properties gpu;
    char description[300]; /* "cuda:0 NVIDIA H100" */
};

/* IH_MEMORY or IH_DEVICE, with CUDA's reason. */
enum ih_status ih_cuda_failed(struct ih_error *err, cudaError_t error, const char *what);

#endif
