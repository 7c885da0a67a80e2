/*
 * One record of a result file: its JSON, its meaning, and the check that it holds together. A
 * section of records.c, which reads the lines.
 */
#ifndef IH_OUTPUT_RECORD_H
#define IH_OUTPUT_RECORD_H

#include "histogram/result.h"
#include "output/json_in.h"

struct ih_record_channel {
    uint64_t seen;
    char *name;
    uint64_t count, sum, clip_low, clip_high;
    double mean, stddev, entropy, min, max, percentile[IH_PERCENTILES]; /* NaN for null */
    uint64_t bins[IH_BINS];
};

struct ih_record_clip {
    uint64_t any_low, any_high, all_low, all_high;
    uint64_t low, high; /* the limits, in version 1 */
};

struct ih_record_limits {
    uint64_t low, high;
};

/* A record as it is read. Version 1 has other names for some fields. */
struct ih_record {
    uint64_t seen;
    char *schema, *version, *file, *file_b64, *status, *error, *format, *library, *decoder, *device,
        *kernel, *luma_weights, *alpha, *region, *mask, *mask_hash, *reduction, *range, *folder,
        *shard, *run, *resume;
    bool is_total;
    uint64_t width, height, source_depth; /* NO_COUNT in a total */
    uint64_t source_min, source_max;
    uint64_t pixels, frames, n_images, n_failed, n_records, not_counted;
    uint64_t position[IH_PLACES]; /* in the run */
    struct ih_record_limits limits;
    struct ih_record_clip clip;
    unsigned not_applied, warnings;
    double mean_luma, mean_luminance;
    unsigned n_channels; /* luma included */
    struct ih_record_channel channels[IH_PLANES];
};

/* Reads uint64 [IH_PLACES]. */
bool ih_record_read_position(struct ih_json_in *in, void *position);

/* Sets of keys that a record has, depending on what it is. */
enum ih_required {
    IH_REQUIRED,
    IH_REQUIRED_2,
    IH_REQUIRED_1,
    IH_REQUIRED_PLACE,
    IH_REQUIRED_END,
    IH_REQUIRED_TOTAL,
    IH_BOTH_EXTREMES,
    IH_REQUIRED_SETS
};

enum { IH_LOG2_BITS = 10, IH_LOG2_STEPS = 1 << IH_LOG2_BITS };

struct ih_record_reader {
    double linear[IH_BINS];              /* of ih_srgb_decode, for the mean luminance */
    double log2[IH_LOG2_STEPS + 1];      /* of 1 to 2 */
    uint64_t required[IH_REQUIRED_SETS]; /* bits of ih_record.seen */
    struct ih_record record;
    struct ih_result result; /* points into the text and the record */
};

void ih_record_reader_init(struct ih_record_reader *r);

/* Reads one record of either version into r->result. False: in->why has the reason. */
bool ih_record_read(struct ih_record_reader *r, struct ih_json_in *in);

#endif
