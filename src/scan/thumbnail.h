/*
 * A small JPEG of an image, for --thumbnails, made from its pixels while they are counted.
 *
 * Each pixel of the thumbnail is the mean of a box of the image's pixels, computed from exact sums.
 * The boxes divide the image; a small image keeps its size. Pixels with alpha lie on white. The
 * thumbnail has the image's orientation in Exif, so that viewers turn both alike. Only the sums are
 * in memory, whatever the size of the image.
 */
#ifndef IH_SCAN_THUMBNAIL_H
#define IH_SCAN_THUMBNAIL_H

#include "histogram/pixel_order.h"
#include "histogram/result.h"

/* The longer side in pixels, and the file. A page of 10,000 images has to be opened by a browser.
 */
enum { IH_THUMBNAIL_SIDE = 160, IH_THUMBNAIL_BYTES_MAX = 3800 };

/* Fields are private. */
struct ih_thumbnail {
    struct ih_pixel_order_walk walk;
    uint64_t image_width, image_height;
    unsigned width, height, n_channels, n_bins;
    uint64_t *sums; /* owned: [height][width][n_channels]; NULL: no thumbnail */
};

/* An image of unknown size, as raw samples may be, gets no thumbnail. Returns IH_OK or IH_MEMORY;
 * reset t in both cases. */
enum ih_status ih_thumbnail_start(struct ih_thumbnail *t, const struct ih_image_info *info,
                                  struct ih_error *err);

/* Adds the next pixels, as the decoder gives them. */
void ih_thumbnail_add(struct ih_thumbnail *t, const uint8_t *pixels, size_t n_pixels);

/*
 * Encodes what was added.
 *
 * orientation   1 to 8; 0: not known
 * *jpeg         the caller's, to be freed; NULL: no thumbnail
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_thumbnail_end(struct ih_thumbnail *t, unsigned orientation, uint8_t **jpeg,
                                size_t *n_bytes, struct ih_error *err);

void ih_thumbnail_reset(struct ih_thumbnail *t);

#endif
