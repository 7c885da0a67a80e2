#include "device/cuda_unit.h"

#include <stdio.h>

const struct ih_kernel_entry ih_cuda_kernels[] = {
    {"replicated", "copies of each bin in shared memory, one for each thread of a warp: no bank "
                   "conflicts"},
    {NULL, NULL},
};

cudaError_t ih_cuda_unit_init(struct ih_cuda_unit *unit, int ordinal, const char *kernel)
{
    struct cudaDeviceProp prop;
    *unit = (struct ih_cuda_unit){.ordinal = ordinal, .takes_planes = !kernel};
    const cudaError_t e = cudaGetDeviceProperties(&prop, ordinal);
    if (e == cudaSuccess) {
        unit->gpu.n_multiprocessors = prop.multiProcessorCount;
        unit->gpu.shared_bytes_optin = prop.sharedMemPerBlockOptin;
        snprintf(unit->description, sizeof unit->description, "cuda:%d %s", ordinal, prop.name);
    }
    return e;
}

enum ih_status ih_cuda_status(struct ih_error *err, cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return IH_OK;
    cudaGetLastError(); /* else the thread's next launch would seem to fail */
    if (error == cudaErrorMemoryAllocation)
        return ih_error_set(err, IH_MEMORY, "%s: out of GPU or pinned memory", what);
    return ih_error_set(err, IH_DEVICE, "%s: %s", what, cudaGetErrorString(error));
}

const char *ih_cuda_why_no_gpu(cudaError_t error)
{
    int version = 0;
    if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&version) == cudaSuccess)
        return version == 0 ? "there is no NVIDIA driver; install it, or count on the CPU"
                            : "the NVIDIA driver is too old for this build; update it";
    return cudaGetErrorString(error != cudaSuccess ? error : cudaErrorNoDevice);
}

struct ih_gpu_measures ih_gpu_measures_make(const struct ih_count_spec *spec)
{
    /* Kernels count luma in any case; ih_gpu_totals_read drops it. Their weights have 16 bits. */
    const struct ih_luma_weights *luma = spec->luma == &ih_luma_none ? &ih_luma_bt709 : spec->luma;
    return (struct ih_gpu_measures){
        .luma_red = luma->red,
        .luma_green = luma->green,
        .luma_blue = luma->blue,
        .clip_low = spec->clip_low,
        .clip_high = spec->clip_high,
    };
}

struct ih_gpu_histogram_args ih_cuda_args(const struct ih_cuda_unit *unit,
                                          const struct ih_count_spec *spec, const uint8_t *d_pixels,
                                          uint64_t n_pixels, struct ih_gpu_totals *d_totals,
                                          cudaStream_t stream)
{
    return (struct ih_gpu_histogram_args){
        .d_pixels = d_pixels,
        .n_pixels = n_pixels,
        .n_channels = spec->layout.n_channels,
        .without_luma = spec->luma == &ih_luma_none,
        .measures = ih_gpu_measures_make(spec),
        .d_totals = d_totals,
        .gpu = &unit->gpu,
        .stream = stream,
    };
}

enum ih_status ih_gpu_totals_read(const struct ih_gpu_totals *totals,
                                  const struct ih_count_spec *spec, uint64_t n_pixels,
                                  struct ih_histogram *out, struct ih_error *err)
{
    const enum ih_status status = ih_histogram_init_unset(out, spec, err);
    if (status == IH_OK)
        ih_gpu_totals_fill(totals, spec, n_pixels, out);
    return status;
}

void ih_gpu_totals_fill(const struct ih_gpu_totals *totals, const struct ih_count_spec *spec,
                        uint64_t n_pixels, struct ih_histogram *out)
{
    out->n_pixels = n_pixels;
    for (unsigned i = 0; i < ih_own_planes(out); i++) {
        const unsigned plane = i < out->layout.n_channels ? i : (unsigned)IH_GPU_LUMA;
        for (unsigned v = 0; v < IH_BINS; v++)
            out->bins[i * IH_BINS + v] = totals->bins[plane][v];
        out->sums[i] = totals->sum[plane];
    }
    out->any_low = totals->any_low;
    out->any_high = totals->any_high;
    out->all_low = totals->all_low;
    out->all_high = totals->all_high;
    ih_histogram_derive(out, spec);
}
