/* 8-bit RGB pixels to a PNG file in memory. */
#ifndef IH_OUTPUT_PNG_ENCODE_H
#define IH_OUTPUT_PNG_ENCODE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/*
 * pixels   [height][width][3], top row first
 * source   what the picture is made from, kept in the file as its Source; NULL: nothing
 * *png     owned by the caller, free() it
 *
 * Returns IH_OK, IH_MEMORY, or IH_UNAVAILABLE where libpng refuses for a reason of its own.
 */
enum ih_status ih_png_encode(const uint8_t *pixels, unsigned width, unsigned height,
                             const char *source, unsigned char **png, size_t *size_bytes,
                             struct ih_error *err);

#endif
