/*
 * A band of a photograph as a JPEG file stores it: Y, and Cb and Cr of the same or half the width
 * and height. What holds it brings the chroma to full size and makes RGB of it, in the same
 * integers as libjpeg-turbo (kernels/ycc.h).
 */
#ifndef IH_COUNTS_PLANES_H
#define IH_COUNTS_PLANES_H

#include <stddef.h>
#include <stdint.h>

enum {
    IH_PLANES_PADDING = 16,  /* bytes behind each row of Cb and Cr that may be read */
    IH_PLANES_ALIGNMENT = 16 /* of planes, from the buffer's start, and of rows */
};

struct ih_planes {
    /* uint8 [rows][pitch], borrowed, one behind the other: Y from row `row` on, Cb and Cr from
     * chroma row `chroma_row` on. Those rows of chroma are there that rows of Y take theirs from:
     * of halved height the row that one lies in and the one that it lies next to. */
    const uint8_t *planes[3];
    size_t pitch_bytes[3];
    size_t size_bytes;           /* of all three, from the first of Y on */
    unsigned chroma_h, chroma_v; /* pixels per sample: 1, 1; 2, 1; or 2, 2 */
    uint32_t width;              /* pixels; of halved width at least 5 */
    uint32_t n_rows;             /* of Y, to be counted */
    /* In the image: of halved height `row` is 0 or odd, and so is what is behind the last, unless
     * that is the image's. */
    uint32_t row, chroma_row;
    uint32_t height, n_chroma_rows; /* of the image */
};

#endif
