/*
 * The pixels of an image that are counted: those of a region, of a mask, or of both.
 *
 * The pixels of each band that are counted are moved to its front before a backend sees it. So all
 * backends count the same pixels and know nothing of regions and masks.
 */
#ifndef IH_SCAN_SELECTION_H
#define IH_SCAN_SELECTION_H

#include "base/budget.h"
#include "decode/decoder.h"
#include "histogram/pixel_order.h"
#include "histogram/region.h"

/* A gray image. All zero: none. Only loading and releasing write to it. */
struct ih_mask {
    uint8_t *values; /* owned: uint8 [height][width]; 0: not counted */
    uint64_t width, height;
    uint64_t hash;        /* of the size and of what is counted; not 0 */
    uint64_t taken_bytes; /* of the budget */
};

/* Which pixels of all images. All zero: all pixels. Borrowed. */
struct ih_selection_options {
    const struct ih_region *region; /* NULL: the whole image */
    const char *mask;               /* as the user gave it, and as it is recorded; NULL: none */
    const struct ih_mask *one_mask; /* for all images; NULL: mask names a folder of masks */
    struct ih_budget *mask_budget;  /* another than that of images, which wait with a mask held */
};

/*
 * Decodes a mask: gray, 8 bits or fewer.
 *
 * decode   without its budget, so that no image waits for a mask that waits for images
 * budget   for the mask; its decoder may use as much again
 *
 * Returns IH_OK, or the error of the file; release the mask in both cases.
 */
enum ih_status ih_mask_load(struct ih_mask *mask, const char *path,
                            const struct ih_decode_options *decode, struct ih_budget *budget,
                            struct ih_error *err);

/* The same for an image's mask in a folder: the file of the image's name, or else that of its name
 * with .png in place of the ending. name: in the named folder or archive. IH_CONFLICT:
 * the file is one of the outputs. */
enum ih_status ih_mask_find(struct ih_mask *mask, const char *folder, const char *name,
                            const struct ih_file_identity *outputs, size_t n_outputs,
                            const struct ih_decode_options *decode, struct ih_budget *budget,
                            struct ih_error *err);

void ih_mask_release(struct ih_mask *mask, struct ih_budget *budget);

/* The pixels of one image that are counted. Callers read n_kept: how many so far. */
struct ih_selection {
    struct ih_pixel_order_walk walk;
    struct ih_rectangle region;
    const struct ih_mask *mask; /* borrowed; NULL: none */
    uint64_t n_kept;
};

/* region, mask: NULL: none. Returns IH_OK, or IH_LIMIT if they do not fit the image. */
enum ih_status ih_selection_start(struct ih_selection *s, const struct ih_image_info *info,
                                  const struct ih_region *region, const struct ih_mask *mask,
                                  struct ih_error *err);

/* Moves the pixels that are counted to the front. Call it once for each band, in order. Returns
 * their number; the contents after them are undefined. */
size_t ih_selection_keep(struct ih_selection *s, uint8_t *pixels, size_t n_pixels,
                         size_t pixel_bytes);

#endif
