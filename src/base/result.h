/*
 * What comes out of one input: its description and its counts, or the reason why there are none.
 * Outputs see nothing else.
 */
#ifndef IH_BASE_RESULT_H
#define IH_BASE_RESULT_H

#include "base/histogram.h"
#include "base/status.h"

/* What a decoder learned from the header. */
struct ih_image_info {
    const char *format;     /* static: the decoder's name, "png" */
    uint64_t width, height; /* pixels; of --raw, the number of pixels and 1 */
    unsigned n_channels;    /* of the decoded samples, 1 to IH_CHANNELS_MAX */
    unsigned source_depth;  /* bits a sample in the file: 1, 2, 4, 8 or 16 */
};

struct ih_result {
    const char *path;      /* as the user gave it; "-" for standard input; borrowed */
    enum ih_status status; /* IH_OK, or why nothing below `error` is valid */
    struct ih_error error; /* filled where status is not IH_OK */
    struct ih_image_info info;
    struct ih_count_spec spec;
    struct ih_histogram histogram;
    const char *decoder_version; /* static */
    const char *counted_by;      /* "cpu", "cuda:0 NVIDIA H100 80GB HBM3"; lives as the device */
    const char *kernel;          /* static */
};

#endif
