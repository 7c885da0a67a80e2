/*
 * What the boxes of a HEIF file tell of an image and libheif does not: whether it is monochrome,
 * and whether its alpha has the crop, rotation and mirroring of its colours.
 *
 * The box meta contains iprp and iref. iprp contains ipco, a list of properties, and ipma, which
 * lists the properties of each item by number. iref links an item that holds alpha to its image.
 * Sources: ISO/IEC 23008-12 (items), 14496-15 (hvcC), and AV1-ISOBMFF (av1C).
 */
#ifndef IH_DECODE_HEIF_BOXES_H
#define IH_DECODE_HEIF_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ih_heif_boxes {
    bool is_gray;
    bool has_alpha;
    bool alpha_differs; /* from the colours, in crop, rotation or mirroring */
};

/* Reads the boxes of an item. All false if they make no sense. */
struct ih_heif_boxes ih_heif_boxes_read(const uint8_t *file, size_t size_bytes, uint64_t item);

#endif
