/*
 * A growing byte buffer: a file that is written in memory.
 *
 * The buffer remembers that it ran out of memory, and later calls do nothing. A caller can append a
 * thousand pieces and check `failed` once.
 */
#ifndef IH_BASE_BUFFER_H
#define IH_BASE_BUFFER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty buffer. */
struct ih_bytes {
    unsigned char *data; /* owned */
    size_t size, capacity;
    bool failed;
};

void ih_bytes_append(struct ih_bytes *bytes, const void *data, size_t size);
void ih_bytes_text(struct ih_bytes *bytes, const char *text);

/* Appends formatted text without a NUL, less than IH_BYTES_PIECE bytes of it. */
enum { IH_BYTES_PIECE = 512 };
void ih_bytes_format(struct ih_bytes *bytes, const char *format, ...) IH_PRINTF(2, 3);

void ih_bytes_reset(struct ih_bytes *bytes);

/* ---- JPEG files, through libjpeg ---- */

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

#endif
