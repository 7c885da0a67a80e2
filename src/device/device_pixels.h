/*
 * Counting pixels that a user of the library already has in GPU memory, on the user's stream:
 * nothing is copied to the device, and only ih_device_pixels_finish waits. It has the kernels of
 * the CUDA backend, but neither lanes nor stripes. In a build without CUDA, opening fails.
 */
#ifndef IH_DEVICE_DEVICE_PIXELS_H
#define IH_DEVICE_DEVICE_PIXELS_H

#include "base/status.h"
#include "histogram/histogram.h"

struct ih_device_pixels;

/*
 * Allocates everything and runs the kernels once, so that counting neither allocates nor loads.
 *
 * gpu      CUDA's ordinal, or IH_GPU_CURRENT
 * kernel   NULL or an unknown name: the best kernel
 * spec     copied; n_channels is ignored
 *
 * Returns IH_OK, IH_UNAVAILABLE, IH_DEVICE, IH_MEMORY.
 */
enum ih_status ih_device_pixels_open(int gpu, const char *kernel, const struct ih_count_spec *spec,
                                     struct ih_device_pixels **pixels, struct ih_error *err);

/* Waits for the count that is enqueued, if any. NULL is allowed. */
void ih_device_pixels_close(struct ih_device_pixels *pixels);

/*
 * Enqueues the count.
 *
 * image    rows of width pixels, stride_bytes > 0 apart; checked by the caller
 * stream   a cudaStream_t, NULL for the default one
 *
 * Returns IH_OK; IH_USAGE for memory of another GPU or of the host, or if the last count is not
 * finished; IH_DEVICE.
 */
enum ih_status ih_device_pixels_count(struct ih_device_pixels *pixels,
                                      const struct ih_pixels *image, void *stream,
                                      struct ih_error *err);

/* Waits for the count. *kernel: static. Returns IH_OK, IH_USAGE if no count was enqueued, or
 * IH_DEVICE. */
enum ih_status ih_device_pixels_finish(struct ih_device_pixels *pixels, struct ih_histogram *out,
                                       const char **kernel, struct ih_error *err);

/* The calling thread's current CUDA device, -1 without one, and a way to restore it: opening a lane
 * of a GPU changes it. */
int ih_gpu_current(void);
void ih_gpu_make_current(int gpu);

#endif
