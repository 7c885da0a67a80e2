/*
 * The image size for which nvJPEG allocates its memory.
 *
 * nvJPEG allocates memory for a number of images of one size, which must cover every image of a
 * batch in width and in height. A panorama and a tower, each small, together need a large square.
 *
 * The size grows with the images. When it would become too large, it is set anew to what the next
 * batch needs. So no file is refused because of earlier files, and only a mixture of panoramas and
 * towers allocates memory again and again.
 */
#ifndef IH_JPEG_GPU_HW_JPEG_SIZES_H
#define IH_JPEG_GPU_HW_JPEG_SIZES_H

#include "jpeg_gpu/hw_jpeg.h"

enum {
    IH_HW_JPEG_SIDE_MAX = 16384, /* the hardware decoders take no longer side */
    IH_HW_JPEG_SIDE_STEP = 512   /* sizes are multiples of it, so few images need a new size */
};

struct ih_hw_jpeg_size {
    uint32_t width, height; /* pixels; 0, 0: none */
};

static inline struct ih_hw_jpeg_size ih_hw_jpeg_size_join(struct ih_hw_jpeg_size a,
                                                          struct ih_hw_jpeg_size b)
{
    return (struct ih_hw_jpeg_size){a.width > b.width ? a.width : b.width,
                                    a.height > b.height ? a.height : b.height};
}

static inline bool ih_hw_jpeg_size_is_allowed(struct ih_hw_jpeg_size s, uint64_t pixels_max)
{
    return s.width <= IH_HW_JPEG_SIDE_MAX && s.height <= IH_HW_JPEG_SIDE_MAX &&
           (uint64_t)s.width * s.height <= pixels_max;
}

/* n: at most 65535, as the sides in every JPEG file. */
static inline uint32_t ih_hw_jpeg_round_up(uint32_t n, uint32_t step)
{
    return (n + step - 1) / step * step;
}

/* The smallest size that covers an image. */
static inline struct ih_hw_jpeg_size ih_hw_jpeg_size_of(uint32_t width, uint32_t height)
{
    return (struct ih_hw_jpeg_size){ih_hw_jpeg_round_up(width, IH_HW_JPEG_SIDE_STEP),
                                    ih_hw_jpeg_round_up(height, IH_HW_JPEG_SIDE_STEP)};
}

/* Returns how many of n jobs, from the first on, one allowed size covers, and the size; 0: the
 * first job is too large. pixels_max: the largest area of that size. */
static inline unsigned ih_hw_jpeg_size_fit(struct ih_hw_jpeg_job *const *jobs, unsigned n,
                                           uint64_t pixels_max, struct ih_hw_jpeg_size *size)
{
    unsigned n_fit = 0;
    *size = (struct ih_hw_jpeg_size){0, 0};
    for (; n_fit < n; n_fit++) {
        const struct ih_hw_jpeg_size all = ih_hw_jpeg_size_join(
            *size, ih_hw_jpeg_size_of(jobs[n_fit]->width, jobs[n_fit]->height));
        if (!ih_hw_jpeg_size_is_allowed(all, pixels_max))
            break;
        *size = all;
    }
    return n_fit;
}

static inline bool ih_hw_jpeg_size_covers(struct ih_hw_jpeg_size a, struct ih_hw_jpeg_size b)
{
    return a.width >= b.width && a.height >= b.height;
}

/* The next size that covers `needed`, and `current` too when that is allowed. When it does not
 * cover `current`, the memory for that has to be given back first. */
static inline struct ih_hw_jpeg_size ih_hw_jpeg_size_next(struct ih_hw_jpeg_size current,
                                                          struct ih_hw_jpeg_size needed,
                                                          uint64_t pixels_max)
{
    const struct ih_hw_jpeg_size both = ih_hw_jpeg_size_join(current, needed);
    return ih_hw_jpeg_size_is_allowed(both, pixels_max) ? both : needed;
}

#endif
