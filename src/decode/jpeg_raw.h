/*
 * The rows of a JPEG as it stores them, for whoever counts them without RGB ever being in memory
 * (base/planes.h). The library gives whole rows of MCUs; where the height of chroma is halved the
 * last row of Y among them takes from the next one's, so it waits for that.
 */
#ifndef IH_DECODE_JPEG_RAW_H
#define IH_DECODE_JPEG_RAW_H

#include "base/planes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h> /* jpeglib.h uses FILE without including it */

#include <jpeglib.h>

/* What rows need room for. */
struct ih_jpeg_shape {
    JDIMENSION width, height;
    size_t raw_bytes; /* ih_jpeg_raw_bytes, which tells layouts apart, too */
};

/* Of a file whose header has been read, and nothing behind it: a second frame would be refused, but
 * not before its size is in place of the first one's. */
struct ih_jpeg_shape ih_jpeg_shape_of(const struct jpeg_decompress_struct *c);
bool ih_jpeg_shapes_equal(const struct ih_jpeg_shape *a, const struct ih_jpeg_shape *b);

/* All zero before the first row. */
struct ih_jpeg_raw {
    uint32_t n_rows_read; /* of Y */
    uint8_t *kept[3];     /* the library's: the last row of each plane, of halved height */
};

/*
 * How many bytes one row of MCUs takes, with what is carried over from the one before; 0: the file
 * is in none of the layouts that struct ih_planes has. Its header has been read.
 */
size_t ih_jpeg_raw_bytes(const struct jpeg_decompress_struct *c);

/*
 * Reads as many rows of MCUs as there is room for. The decompressors have been started with
 * raw_data_out, and have rows left. May leave through their error_exit.
 *
 * c        of Y, or of all
 * chroma   of Cb and Cr, or NULL
 * buffer   at least ih_jpeg_raw_bytes; planes point into it
 */
void ih_jpeg_raw_read(struct ih_jpeg_raw *raw, struct jpeg_decompress_struct *c,
                      struct jpeg_decompress_struct *chroma, uint8_t *buffer, size_t size_bytes,
                      struct ih_planes *planes);

#endif
