/*
 * The coefficients of a JPEG in several scans: how many bytes the library takes for those of the
 * whole image (jdcoefct.c), and a ring of a few rows of MCUs, where that is enough.
 */
#ifndef IH_DECODE_PROGRESSIVE_COEFFICIENTS_H
#define IH_DECODE_PROGRESSIVE_COEFFICIENTS_H

#include "decode/progressive/scans.h"

#include <stdio.h> /* jpeglib.h uses FILE without including it */

#include <jpeglib.h>

enum { IH_JPEG_RING_ROWS = 8 }; /* of MCUs, at most */

/* Blocks of one component. */
struct ih_jpeg_ring_plane {
    JBLOCKROW rows[IH_JPEG_RING_ROWS * MAX_SAMP_FACTOR];
    unsigned n_mcu_rows; /* of blocks, in a row of MCUs */
    size_t row_bytes;    /* of blocks, up to a whole MCU */
};

struct ih_jpeg_ring {
    struct ih_jpeg_ring_plane planes[IH_JPEG_COMPONENTS_MAX];
    int n_planes;
    unsigned n_rows; /* of MCUs, in use: the fewer the nearer they stay in the cache */
    void *memory;    /* owned; what the planes' rows are in */
};

/* Of an image whose header has been read. */
uint64_t ih_jpeg_coefficients_bytes(const struct jpeg_decompress_struct *header);
uint64_t ih_jpeg_ring_bytes(const struct jpeg_decompress_struct *header);

/* For an image of at most IH_JPEG_COMPONENTS_MAX components; one row in use. False: no memory. */
bool ih_jpeg_ring_make(struct ih_jpeg_ring *ring, const struct jpeg_decompress_struct *header);

/* The rows of blocks of a plane in a row of MCUs of the image. */
JBLOCKARRAY ih_jpeg_ring_row(const struct ih_jpeg_ring *ring, struct ih_jpeg_ring_plane *plane,
                             JDIMENSION row);

/* Sets a row of MCUs to zero, as scans expect it. */
void ih_jpeg_ring_clear(struct ih_jpeg_ring *ring, JDIMENSION row);

void ih_jpeg_ring_free(struct ih_jpeg_ring *ring); /* of all zero, too */

#endif
