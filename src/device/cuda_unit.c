#include "device/cuda_unit.h"

enum ih_status ih_cuda_failed(struct ih_error *err, cudaError_t error, const char *what)
{
    cudaGetLastError(); /* else the thread's next launch would seem to fail */
    if (error == cudaErrorMemoryAllocation)
        return ih_error_set(err, IH_MEMORY, "%s: out of GPU or pinned memory", what);
    return ih_error_set(err, IH_DEVICE, "%s: %s", what, cudaGetErrorString(error));
}

struct ih_gpu_measures ih_gpu_measures_make(const struct ih_count_spec *spec)
{
    return (struct ih_gpu_measures){
        .luma_red = spec->luma->red,
        .luma_green = spec->luma->green,
        .luma_blue = spec->luma->blue,
        .clip_low = spec->clip_low,
        .clip_high = spec->clip_high,
    };
}

void ih_gpu_totals_read(const struct ih_gpu_totals *totals, const struct ih_count_spec *spec,
                        uint64_t n_pixels, struct ih_histogram *out)
{
    ih_histogram_clear(out, spec->n_channels);
    out->n_pixels = n_pixels;
    for (unsigned plane = 0; plane < IH_PLANES; plane++) {
        for (unsigned v = 0; v < IH_BINS; v++)
            out->bins[plane][v] = totals->bins[plane][v];
        out->sum[plane] = totals->sum[plane];
    }
    out->any_low = totals->any_low;
    out->any_high = totals->any_high;
    out->all_low = totals->all_low;
    out->all_high = totals->all_high;
    ih_histogram_derive_gray(out, spec);
}
