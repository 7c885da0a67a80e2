/* The headers of a BMP, of which there are seven: OS/2's two and five of Windows. */
#ifndef IH_DECODE_BMP_HEADER_H
#define IH_DECODE_BMP_HEADER_H

#include "base/source.h"

enum ih_bmp_coding { IH_BMP_PLAIN, IH_BMP_RLE };

/* A channel of a pixel that is one number. */
struct ih_bmp_field {
    uint32_t mask; /* of contiguous bits; 0: the file has no such channel */
    unsigned shift;
    uint32_t max; /* mask >> shift */
};

struct ih_bmp {
    uint32_t width, height;
    unsigned bits; /* a pixel: 1, 2, 4, 8, 16, 24, 32 */
    enum ih_bmp_coding coding;
    struct ih_bmp_field fields[4]; /* red, green, blue, alpha; of 16 and 32 bits */
    unsigned n_palette;            /* entries; of up to 8 bits */
    uint8_t palette[256][3];       /* red, green, blue */
    unsigned n_channels;
    uint64_t skipped_bytes; /* between all this and the pixels */
};

/* Reads the headers, the masks and the palette. Whether the image is too large is not looked at. */
enum ih_status ih_bmp_read_header(struct ih_source *src, struct ih_bmp *bmp, struct ih_error *err);

bool ih_bmp_probe(const uint8_t *head, size_t size);

#endif
