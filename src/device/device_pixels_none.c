/* The same calls in a build without CUDA. */
#include "device/device_pixels.h"

enum ih_status ih_device_pixels_open(int gpu, const char *kernel, const struct ih_count_spec *spec,
                                     struct ih_device_pixels **pixels, struct ih_error *err)
{
    (void)gpu, (void)kernel, (void)spec, (void)pixels;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}

void ih_device_pixels_close(struct ih_device_pixels *pixels)
{
    (void)pixels;
}

enum ih_status ih_device_pixels_count(struct ih_device_pixels *pixels,
                                      const struct ih_pixels *image, void *stream,
                                      struct ih_error *err)
{
    (void)pixels, (void)image, (void)stream;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}

enum ih_status ih_device_pixels_finish(struct ih_device_pixels *pixels, struct ih_histogram *out,
                                       struct ih_count_spec *spec, const char **kernel,
                                       struct ih_error *err)
{
    (void)pixels, (void)out, (void)spec, (void)kernel;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}

int ih_gpu_current(void)
{
    return -1;
}

void ih_gpu_make_current(int gpu)
{
    (void)gpu;
}
