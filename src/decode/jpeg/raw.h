/*
 * The rows of a JPEG as it stores them, for whoever counts them without RGB ever being in memory
 * (counts/pixels.h). The library gives whole rows of MCUs; where the height of chroma is halved the
 * last row of Y among them takes from the next one's, so it waits for that.
 */
#ifndef IH_DECODE_JPEG_RAW_H
#define IH_DECODE_JPEG_RAW_H

#include "counts/pixels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h> /* jpeglib.h uses FILE without including it */

#include <jpeglib.h>

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
 * Reads as many rows of MCUs as there is room for. The decompressor has been started with
 * raw_data_out, and has rows left. May leave through its error_exit.
 *
 * buffer   at least ih_jpeg_raw_bytes; planes point into it
 */
void ih_jpeg_raw_read(struct ih_jpeg_raw *raw, struct jpeg_decompress_struct *c, uint8_t *buffer,
                      size_t size_bytes, struct ih_planes *planes);

#endif
