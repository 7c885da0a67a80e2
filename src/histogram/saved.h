/*
 * Counts as a string of bytes, for ih_counts_save and ih_counts_load.
 *
 * Numbers are little-endian:
 *
 *     offset  bytes
 *          0      8  "ihcounts"
 *          8      4  version of the layout, 2, or 3 with native bins
 *         12      4  size of the whole string
 *         16      8  bytes: kind (0 empty: only the checksum follows; 1 image, 2 sum),
 *                    channels, luma weights (0 bt709, 1 bt601, 2 none), alpha (0 count,
 *                    1 skip-transparent), clip_low, clip_high, 0, range (0 not known, 1 full,
 *                    2 limited)
 *         24     16  4 each: source_depth, warnings, not_applied, n_frames
 *         40     72  8 each: width, height, n_images, n_failed, n_pixels, any_low, any_high,
 *                    all_low, all_high
 *        112         2,048 for each channel, and for luma if it was counted: 256 numbers of 8
 *                    bytes. In version 3,
 *                    with both clip limits 0 above: number of bins (4), clip_low, clip_high (2
 *                    each); then for each channel and luma the number of runs of values that occur
 *                    (4), and for each run its first value, its length (4 each) and its numbers (8)
 *                    5 texts (format, library, version, region, mask): a byte with the length, then
 *                    the bytes
 *                 12 low and high of struct ih_sample_range, 2 each; min and end of struct
 *                    ih_extremes, 4 each
 *                  8 FNV-1a of all bytes before it
 */
#ifndef IH_HISTOGRAM_SAVED_H
#define IH_HISTOGRAM_SAVED_H

#include "histogram/region.h"
#include "histogram/result.h"

enum { IH_SAVED_TEXT_MAX = 256 };

/* The texts of a loaded result. */
struct ih_saved_texts {
    char format[IH_SAVED_TEXT_MAX], library[IH_SAVED_TEXT_MAX], version[IH_SAVED_TEXT_MAX],
        region[IH_SAVED_TEXT_MAX], mask[IH_SAVED_TEXT_MAX];
};

/* Copies the texts of a result, cut to the room that there is, and lets it point to them. */
void ih_saved_texts_keep(struct ih_saved_texts *texts, struct ih_result *result);

/* result: NULL: empty. The rest is as for ih_counts_save. */
size_t ih_result_save(const struct ih_result *result, uint8_t *bytes, size_t size_bytes);

/* Overwrites *result, which then points to texts, unless *is_empty. Returns as ih_counts_load. */
enum ih_status ih_result_load(const uint8_t *bytes, size_t size_bytes, struct ih_result *result,
                              bool *is_empty, struct ih_saved_texts *texts, struct ih_error *err);

#endif
