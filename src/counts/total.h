/*
 * The counts of many images as those of one: what --total reports.
 *
 * Only integers are added, so the total does not depend on the order of the images, and every
 * statistic of it weighs pixels, not images. A set of gray images has the channel gray. In a set
 * with colour a gray pixel counts as R = G = B, which is what every loader makes of it that is
 * asked for RGB; so red, green and blue are of the whole set, and luma and the joint clip counts,
 * for which gray is R = G = B as well, stay as they are. Alpha is of the images that have one: the
 * others would add nothing but 255.
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

/* luma and the limits are those that every image was counted with. */
void ih_total_init(struct ih_total *total, const struct ih_luma_weights *luma, uint8_t clip_low,
                   uint8_t clip_high);

/*
 * Adds one input; of a failed one only that it failed.
 *
 * Returns IH_OK, or IH_LIMIT where a sum might not fit 64 bits any more, after 7.2e16 pixels; then
 * nothing is added.
 */
enum ih_status ih_total_add(struct ih_total *total, const struct ih_result *result,
                            struct ih_error *err);

/* The record of all that was added, overwritten. Of no images it has the luma plane alone. */
void ih_total_result(const struct ih_total *total, struct ih_result *out);

#endif
