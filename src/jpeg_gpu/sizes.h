/*
 * How large images the engines are told to expect.
 *
 * nvJPEG takes memory for a number of images of a size that it is told before, and that must cover
 * every image, in width and in height. So sizes add up: a panorama and a tower, each small enough,
 * are together a square that is not. The rule here: what was expected grows with what comes; where
 * that would be too much it is forgotten, and only what is needed now is expected. So no file is
 * refused for what came before it, and only a mixture of panoramas and towers pays with memory that
 * is taken anew.
 */
#ifndef IH_JPEG_GPU_SIZES_H
#define IH_JPEG_GPU_SIZES_H

#include "jpeg_gpu/engines.h"

enum {
    IH_JPEG_SIDE_MAX = 16384, /* the engines take no longer side */
    IH_JPEG_SIDE_STEP = 512   /* sides that are expected, so that few sizes lead to new memory */
};

/* Pixels; multiples of IH_JPEG_SIDE_STEP. 0, 0: nothing is expected. */
struct ih_jpeg_size {
    uint32_t width, height;
};

/*
 * How many of n jobs, from the first on, may be expected together; 0: the first is too large.
 *
 * pixels_max   for the image that is expected
 * size         what covers these jobs
 */
unsigned ih_jpeg_sizes_fit(struct ih_jpeg_job *const *jobs, unsigned n, uint64_t pixels_max,
                           struct ih_jpeg_size *size);

/* Whether a covers b. */
bool ih_jpeg_size_covers(struct ih_jpeg_size a, struct ih_jpeg_size b);

/* What is to be expected, where `expected` was, so that `needed` is covered. Where the result does
 * not cover `expected`, this is to be forgotten first. */
struct ih_jpeg_size ih_jpeg_size_next(struct ih_jpeg_size expected, struct ih_jpeg_size needed,
                                      uint64_t pixels_max);

#endif
