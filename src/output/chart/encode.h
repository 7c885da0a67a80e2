/* 8-bit RGB pixels to an image file in memory, a function for each format. */
#ifndef IH_OUTPUT_CHART_ENCODE_H
#define IH_OUTPUT_CHART_ENCODE_H

#include "base/status.h"
#include "output/buffer.h"

#include <stdint.h>

struct ih_encode_job {
    const uint8_t *pixels;  /* [height][width][3], top row first; borrowed */
    unsigned width, height; /* 1 to 65535 */
    const char *source;     /* what the picture is made from; a PNG keeps it. NULL: nothing */
};

/*
 * file   appended to; holds part of a file after a failure
 *
 * Returns IH_OK, IH_MEMORY, or IH_UNAVAILABLE where the library refuses for a reason of its own.
 * Threads: any.
 */
enum ih_status ih_encode_png(const struct ih_encode_job *job, struct ih_bytes *file,
                             struct ih_error *err);
enum ih_status ih_encode_jpeg(const struct ih_encode_job *job, struct ih_bytes *file,
                              struct ih_error *err);
enum ih_status ih_encode_bmp(const struct ih_encode_job *job, struct ih_bytes *file,
                             struct ih_error *err);
enum ih_status ih_encode_tga(const struct ih_encode_job *job, struct ih_bytes *file,
                             struct ih_error *err);

#endif
