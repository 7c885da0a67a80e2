#include "jpeg_gpu/sizes.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static struct ih_jpeg_size join(struct ih_jpeg_size a, struct ih_jpeg_size b)
{
    return (struct ih_jpeg_size){larger(a.width, b.width), larger(a.height, b.height)};
}

/* side: at most 65535, as in every JPEG file. */
static uint32_t round_up(uint32_t side)
{
    return (side + IH_JPEG_SIDE_STEP - 1) / IH_JPEG_SIDE_STEP * IH_JPEG_SIDE_STEP;
}

static bool may_expect(struct ih_jpeg_size s, uint64_t pixels_max)
{
    return s.width <= IH_JPEG_SIDE_MAX && s.height <= IH_JPEG_SIDE_MAX &&
           (uint64_t)s.width * s.height <= pixels_max;
}

unsigned ih_jpeg_sizes_fit(struct ih_jpeg_job *const *jobs, unsigned n, uint64_t pixels_max,
                           struct ih_jpeg_size *size)
{
    unsigned n_fit = 0;
    *size = (struct ih_jpeg_size){0, 0};
    for (; n_fit < n; n_fit++) {
        const struct ih_jpeg_size one = {round_up(jobs[n_fit]->width),
                                         round_up(jobs[n_fit]->height)};
        const struct ih_jpeg_size all = join(*size, one);
        if (!may_expect(all, pixels_max))
            break;
        *size = all;
    }
    return n_fit;
}

bool ih_jpeg_size_covers(struct ih_jpeg_size a, struct ih_jpeg_size b)
{
    return a.width >= b.width && a.height >= b.height;
}

struct ih_jpeg_size ih_jpeg_size_next(struct ih_jpeg_size expected, struct ih_jpeg_size needed,
                                      uint64_t pixels_max)
{
    const struct ih_jpeg_size both = join(expected, needed);
    return may_expect(both, pixels_max) ? both : needed;
}
