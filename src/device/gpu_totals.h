/* What is to be counted in the kernels' words, and from the counters that they add to, read back
 * from the GPU, to a histogram. */
#ifndef IH_DEVICE_GPU_TOTALS_H
#define IH_DEVICE_GPU_TOTALS_H

#include "counts/histogram.h"
#include "kernels/kernels.h"

struct ih_gpu_measures ih_gpu_measures_make(const struct ih_count_spec *spec);

/* out is overwritten; n_pixels is how many have been counted. */
void ih_gpu_totals_read(const struct ih_gpu_totals *totals, const struct ih_count_spec *spec,
                        uint64_t n_pixels, struct ih_histogram *out);

#endif
