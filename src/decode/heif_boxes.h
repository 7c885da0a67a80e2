/*
 * What the boxes of a HEIF file tell of an image and libheif does not: properties that a reader
 * must apply, whether the image is monochrome, its range, and how its alpha fits its colours.
 *
 * The box meta contains iinf, iloc, iprp and iref. iinf lists the items, and iloc their bytes. iprp
 * contains ipco, a list of properties, and ipma, which lists the properties of each item by number.
 * iref links an item to those that it is made of (dimg) or belongs to (auxl, thmb). Sources:
 * ISO/IEC 23008-12 (items), 14496-12 (iloc), 14496-15 (hvcC), AV1-ISOBMFF (av1C), AV1, ITU-T H.265
 * and H.273 (colours).
 */
#ifndef IH_DECODE_HEIF_BOXES_H
#define IH_DECODE_HEIF_BOXES_H

#include "histogram/result.h"

struct ih_heif_boxes {
    bool is_gray;
    bool has_alpha;
    bool alpha_differs;   /* from the colours, in crop, rotation or mirroring */
    bool is_turned_first; /* a crop or rotation stands before the size */
    enum ih_range range;  /* in a box, or in the bits of AV1 or HEVC; unknown of other codecs */
    enum ih_range alpha_range; /* in the bits of AV1; unknown of other codecs */
};

/*
 * Reads the boxes of an item. Nothing is told if they make no sense.
 *
 * Returns IH_OK; or IH_UNSUPPORTED if neither libheif nor the program applies what the item, a part
 * of it or its alpha requires, or if libheif converts its colours to other values than H.273 does.
 */
enum ih_status ih_heif_boxes_read(const uint8_t *file, size_t size_bytes, uint32_t item,
                                  struct ih_heif_boxes *told, struct ih_error *err);

/* Reads the type of the primary item, four printable letters and a NUL. Returns false if there is
 * no such item. */
bool ih_heif_boxes_primary(const uint8_t *file, size_t size_bytes, char type[5]);

/* Takes items out of a list that belong to another image: thumbnails, alpha, depth and gain maps.
 * Returns the number of those that stay, in their order. */
size_t ih_heif_boxes_own_images(const uint8_t *file, size_t size_bytes, uint32_t *items, size_t n);

/* Places in a file that libheif must not see; more of them are left to it. */
enum { IH_HEIF_HIDDEN_MAX = 64 };
struct ih_heif_hidden {
    unsigned n;
    uint8_t *at[IH_HEIF_HIDDEN_MAX]; /* borrowed: bytes of the file */
};

/*
 * Changes what libraries refuse, or read only in newer versions:
 * - writes the size of the last box if it is 0, which means "up to the end of the file" (libheif
 *   before 1.19)
 * - hides the tracks, which are not counted; libheif from 1.20 on would read them
 * - hides metadata and its references, because no pixel depends on it; versions of libheif refuse
 *   several references or none
 * - hides that unknown properties are essential, because libheif from 1.20 on then refuses the file
 *   for an image that is not counted; ih_heif_boxes_restore undoes it for ih_heif_boxes_read
 *
 * hidden   initially n = 0
 *
 * Returns false if the file ends inside its box mdat.
 */
bool ih_heif_boxes_prepare(uint8_t *file, size_t size_bytes, struct ih_heif_hidden *hidden);
void ih_heif_boxes_restore(const struct ih_heif_hidden *hidden);

#endif
