/*
 * The sum of the counts of many images, as --total reports it.
 *
 * Only integers are added, so the order of the images does not matter, and statistics weigh pixels,
 * not images. A set of gray images has the channel gray. In a set with colour images a gray pixel
 * counts as R = G = B, as loaders convert gray to RGB; luma and the clip counts of a gray image
 * already agree with that. Alpha counts only images with alpha; the others would only add 255.
 */
#ifndef IH_HISTOGRAM_TOTAL_H
#define IH_HISTOGRAM_TOTAL_H

#include "histogram/result.h"

#define IH_TOTAL_NAME "(total)"

enum { IH_VERSION_MAX = 32 };

enum { IH_TOTAL_FIRST_MAX = 64 };

struct ih_total {
    struct ih_joint_measure measure;
    unsigned not_applied;         /* of any image */
    struct ih_extremes extremes;  /* of the images that have some */
    struct ih_levels levels;      /* of all images; white 0: they differ, or are not known */
    char version[IH_VERSION_MAX]; /* of all images; "": they differ */
    uint64_t n_images, n_failed;
    char first[IH_TOTAL_FIRST_MAX]; /* the name of the first image, cut; "" before it comes */
    struct ih_histogram sum;        /* without counters before the first image */
};

/* asked: the measure of the run. */
void ih_total_init(struct ih_total *total, const struct ih_measure *asked);

/* Releases the counters. */
void ih_total_reset(struct ih_total *total);

/* Overwrites *total, which has no counters, with a copy. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_total_copy(struct ih_total *total, const struct ih_total *other,
                             struct ih_error *err);

/* Adds one input, or another total. A failed input only increments n_failed. A total of no images
 * fits any measure and only adds its n_failed. Leaves the total unchanged and returns IH_USAGE
 * if the measures differ, IH_LIMIT if a sum might exceed 64 bits, after 7.2e16 pixels (native:
 * 2.8e14), or IH_MEMORY. */
enum ih_status ih_total_add(struct ih_total *total, const struct ih_result *result,
                            struct ih_error *err);

/* Overwrites *out with the total, whose counters it borrows. Without images only the luma plane is
 * valid, unless luma is not counted. */
void ih_total_result(const struct ih_total *total, struct ih_result *out);

#endif
