/* Writes JPEG files in memory, through libjpeg. */
#ifndef IH_BASE_JPEG_FILE_H
#define IH_BASE_JPEG_FILE_H

#include "base/buffer.h"

struct ih_jpeg_picture {
    const uint8_t *pixels; /* uint8 [height][width][n_channels], borrowed */
    unsigned width, height;
    unsigned n_channels;  /* 1: gray; 3: RGB */
    int quality;          /* 1 to 100 */
    bool is_small;        /* smaller file: chroma is subsampled, and the Huffman tables are optimal,
                             for which libjpeg holds the whole picture in memory */
    unsigned orientation; /* 2 to 8: as in Exif; 0, 1: upright, and not written */
    const char *comment;  /* borrowed; NULL: none */
};

/* Appends the file to `file`, which may be left incomplete on failure. Returns IH_OK, IH_MEMORY, or
 * IH_UNAVAILABLE if libjpeg fails. */
enum ih_status ih_jpeg_write(const struct ih_jpeg_picture *picture, struct ih_bytes *file,
                             struct ih_error *err);

/*
 * Decodes a JPEG of at most a few hundred pixels a side to RGB, turned as its orientation says.
 *
 * orientation      1 to 8 as in Exif; 0: upright
 * width, height    set to those of the turned picture
 *
 * Returns uint8 [height][width][3], to be freed by the caller; NULL: out of memory, or libjpeg
 * failed.
 */
uint8_t *ih_jpeg_read(const uint8_t *file, size_t n_bytes, unsigned orientation, unsigned *width,
                      unsigned *height);

#endif
