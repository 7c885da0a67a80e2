/* A part of each image, as --region names it. */
#ifndef IH_HISTOGRAM_REGION_H
#define IH_HISTOGRAM_REGION_H

#include "base/status.h"

enum { IH_REGION_TEXT_MAX = 96, IH_MASK_NAME_MAX = 256 };

/* Width, height, x and y, in pixels or percent of the image's width or height. */
struct ih_region {
    uint64_t size[2], start[2]; /* across, down */
    bool is_size_percent[2], is_start_percent[2];
    char text[IH_REGION_TEXT_MAX]; /* as it is recorded: without leading zeros */
};

struct ih_rectangle {
    uint64_t x, y, width, height; /* pixels */
};

/* Parses WxH+X+Y; a "%" may follow each number. Returns IH_OK, or IH_USAGE with what is wrong. */
enum ih_status ih_region_parse(const char *text, struct ih_region *region, struct ih_error *err);

/*
 * Finds the region in an image. A percentage of a length is rounded down to pixels. A region whose
 * start and size are percentages ends at their sum, so neighbours share no pixel and leave none
 * out.
 *
 * Returns IH_OK, or IH_LIMIT if the region does not lie in the image or has no pixels there.
 */
enum ih_status ih_region_place(const struct ih_region *region, uint64_t width, uint64_t height,
                               struct ih_rectangle *rectangle, struct ih_error *err);

#endif
