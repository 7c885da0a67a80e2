/*
 * Counting pixels that a library's caller already has in the memory of a GPU, on the caller's
 * stream: nothing is copied to the device and nothing waited for until the counts are asked for.
 *
 * This is no backend: it has no lanes, no bands and no choice of device, since the pixels are where
 * they are. What it shares with the CUDA backend are the kernels. In a build without CUDA, opening
 * says so.
 */
#ifndef IH_DEVICE_DEVICE_PIXELS_H
#define IH_DEVICE_DEVICE_PIXELS_H

#include "base/status.h"
#include "counts/histogram.h"

struct ih_device_pixels;

/*
 * Takes what counting needs on a GPU and runs its kernels once, so that later nothing is allocated
 * or loaded.
 *
 * gpu      CUDA's ordinal, or IH_GPU_CURRENT
 * kernel   NULL, or a name that is no GPU kernel's: the best
 * spec     copied; n_channels plays no part
 *
 * Returns IH_OK, IH_UNAVAILABLE, IH_DEVICE, IH_MEMORY.
 */
enum ih_status ih_device_pixels_open(int gpu, const char *kernel, const struct ih_count_spec *spec,
                                     struct ih_device_pixels **pixels, struct ih_error *err);

/* Waits for what is enqueued. NULL is allowed. */
void ih_device_pixels_close(struct ih_device_pixels *pixels);

/*
 * Enqueues the count.
 *
 * image    rows of width pixels, stride_bytes > 0 apart; checked by the caller
 * stream   a cudaStream_t, NULL for the default one
 *
 * Returns IH_OK; IH_USAGE for memory that is not this GPU's, or an unfinished count; IH_DEVICE.
 */
enum ih_status ih_device_pixels_count(struct ih_device_pixels *pixels,
                                      const struct ih_pixels *image, void *stream,
                                      struct ih_error *err);

/* Waits for the count. *spec is what was counted, *kernel static. IH_OK, IH_USAGE where none was
 * enqueued, IH_DEVICE. */
enum ih_status ih_device_pixels_finish(struct ih_device_pixels *pixels, struct ih_histogram *out,
                                       struct ih_count_spec *spec, const char **kernel,
                                       struct ih_error *err);

/* The calling thread's current CUDA device, -1 where there is none, and making it current again.
 * What opens lanes of a GPU changes it. */
int ih_gpu_current(void);
void ih_gpu_make_current(int gpu);

#endif
