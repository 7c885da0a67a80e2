/*
 * What comes out of one input: its description and its counts, or the reason why there are none.
 * Outputs see nothing else.
 */
#ifndef IH_COUNTS_RESULT_H
#define IH_COUNTS_RESULT_H

#include "base/status.h"
#include "counts/histogram.h"

/* What a decoder learned from the header. */
struct ih_image_info {
    const char *format;     /* static: the decoder's name, "png" */
    uint64_t width, height; /* pixels; of --raw, the number of pixels and 1 */
    unsigned n_channels;    /* of the decoded samples, 1 to IH_CHANNELS_MAX */
    unsigned source_depth;  /* bits a sample of colour has in the file, 1 to 32; of a
                               palette, its index */
};

/* Where the time that one input took went, by the wall clock. Waiting for memory (--memory) is
 * decoding, waiting for a device that is still starting is counting. */
struct ih_times {
    uint64_t read_ns;   /* opening and reading the file */
    uint64_t decode_ns; /* the rest of opening and reading the decoder */
    uint64_t count_ns;  /* in the lane; beside the decoding another thread or the GPU counts */
};

struct ih_result {
    const char *path;      /* as the user gave it; "-" for standard input; borrowed */
    struct ih_times times; /* valid for failed inputs too */
    enum ih_status status; /* IH_OK, or why nothing below `error` is valid */
    struct ih_error error; /* filled where status is not IH_OK */
    struct ih_image_info info;
    struct ih_count_spec spec;
    struct ih_histogram histogram;
    const char *decoder_version; /* lives as long as the run */
    const char *counted_by; /* "cpu", or which GPU, "cuda:0 NVIDIA H100"; lives as the device */
    const char *kernel;     /* static */

    /* The record of all inputs together (total.h) is a result too, with the path IH_TOTAL_NAME. It
     * has no format, size, depth, decoder, device or kernel (NULL and 0), and its alpha plane holds
     * the pixels of the images that have one. */
    bool is_total;
    uint64_t n_images, n_failed; /* of a total: inputs that were counted, and that were not */
};

#endif
