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

#include "histogram/region.h"
#include "histogram/result.h"

#define IH_TOTAL_NAME "(total)"

/* What must be the same in results that are added or written together. */
struct ih_measurement {
    const struct ih_luma_weights *luma; /* static; NULL: any */
    bool has_clip;                      /* false: any limits */
    uint16_t clip_low, clip_high;
    unsigned n_bins;                                         /* as in the spec; if has_clip */
    enum ih_alpha alpha;                                     /* IH_ALPHA_EITHER: any */
    bool has_selection;                                      /* false: any region and mask */
    char region[IH_REGION_TEXT_MAX], mask[IH_MASK_NAME_MAX]; /* "": none */
    uint64_t mask_hash;                                      /* 0: any */
    bool has_range;                                          /* false: any range */
    struct ih_sample_range range;
    unsigned bins;    /* asked for: 256; IH_NATIVE_BINS_MAX: native ones; 0: any */
    bool has_results; /* false: what it has is asked for, for messages */
};

#define IH_MEASUREMENT_ANY ((struct ih_measurement){.alpha = IH_ALPHA_EITHER})

/* Narrows m to the measurement of a result. Returns IH_OK, or IH_USAGE with m unchanged if they
 * differ; the message names the difference. Failed results fit any. */
enum ih_status ih_measurement_join(struct ih_measurement *m, const struct ih_result *result,
                                   struct ih_error *err);

/* "count" or "skip-transparent"; static. */
const char *ih_alpha_name(enum ih_alpha alpha);

enum { IH_VERSION_MAX = 32 };

enum { IH_TOTAL_FIRST_MAX = 64 };

struct ih_total {
    struct ih_measurement measurement; /* of the results */
    /* What a total without has_results reports instead. init sets the first three. */
    const struct ih_luma_weights *luma; /* static */
    uint16_t clip_low, clip_high;
    enum ih_alpha alpha;
    struct ih_sample_range range;
    const char *region, *mask; /* borrowed */
    bool has_colour, has_alpha;
    unsigned not_applied;         /* of any image */
    struct ih_extremes extremes;  /* of the images that have some */
    char version[IH_VERSION_MAX]; /* of all images; "": they differ */
    uint64_t n_images, n_failed;
    char first[IH_TOTAL_FIRST_MAX]; /* the name of the first image, cut; "" before it comes */
    struct ih_histogram sum;        /* red, green, blue and alpha, gray images in the first three */
    uint64_t *native;               /* counters for ih_total_result, as large as those of sum */
};

/* luma and the clip limits are those of a total without results. */
void ih_total_init(struct ih_total *total, const struct ih_luma_weights *luma, uint16_t clip_low,
                   uint16_t clip_high);

/* Releases native counters. */
void ih_total_reset(struct ih_total *total);

/* Overwrites *total, which has no native counters, with a copy. Returns IH_OK, or IH_MEMORY and the
 * total is unchanged. */
enum ih_status ih_total_copy(struct ih_total *total, const struct ih_total *other,
                             struct ih_error *err);

/* Adds one input, or another total. A failed input only increments n_failed. A total of no images
 * fits any measurement and only adds its n_failed. Leaves the total unchanged and returns IH_USAGE
 * if the measurements differ, IH_LIMIT if a sum might exceed 64 bits, after 7.2e16 pixels (native:
 * 2.8e14), or IH_MEMORY. */
enum ih_status ih_total_add(struct ih_total *total, const struct ih_result *result,
                            struct ih_error *err);

/* Overwrites *out with the total. Without images only the luma plane is valid, unless luma is not
 * counted. Its native counters are the total's, valid until the next call or ih_total_reset. */
void ih_total_result(const struct ih_total *total, struct ih_result *out);

#endif
