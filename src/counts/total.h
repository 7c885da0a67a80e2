/*
 * The sum of the counts of many images, as --total reports it.
 *
 * Only integers are added, so the order of the images does not matter, and statistics weigh pixels,
 * not images. A set of gray images has the channel gray. In a set with colour images a gray pixel
 * counts as R = G = B, as loaders convert gray to RGB; luma and the clip counts of a gray image
 * already agree with that. Alpha counts only images with alpha; the others would only add 255.
 */
#ifndef IH_COUNTS_TOTAL_H
#define IH_COUNTS_TOTAL_H

#include "counts/result.h"

#define IH_TOTAL_NAME "(total)"

struct ih_total {
    const struct ih_luma_weights *luma; /* borrowed, static */
    uint8_t clip_low, clip_high;
    bool has_colour, has_alpha;
    uint64_t n_images, n_failed;
    struct ih_histogram sum; /* red, green, blue and alpha, gray images in the first three */
};

/* All images must have been counted with this luma and these clip limits. */
void ih_total_init(struct ih_total *total, const struct ih_luma_weights *luma, uint8_t clip_low,
                   uint8_t clip_high);

/* Adds one input. A failed input only increments n_failed. Returns IH_OK, or IH_LIMIT with nothing
 * added if a sum might exceed 64 bits, after 7.2e16 pixels. */
enum ih_status ih_total_add(struct ih_total *total, const struct ih_result *result,
                            struct ih_error *err);

/* Overwrites *out with the total. Without images only the luma plane is valid. */
void ih_total_result(const struct ih_total *total, struct ih_result *out);

#endif
