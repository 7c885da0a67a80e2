/*
 * The pipeline: many inputs through decoders and a device, results in the order of the inputs.
 *
 * A worker takes one input from start to end: open, decode a band, have it counted, the next band,
 * result. Nothing flows back and workers share nothing but the device. Results wait in a bounded
 * window until it is their turn, so that memory does not grow with the number of inputs and one
 * slow file does not hold the others up. JPEG files may go to a GPU's engines instead (offload.h).
 */
#ifndef IH_PIPELINE_PIPELINE_H
#define IH_PIPELINE_PIPELINE_H

#include "counts/result.h"
#include "decode/decoder.h"
#include "device/backend.h"

/* One thing to count. */
struct ih_input {
    char *path;           /* owned by the pipeline once handed over */
    bool is_named;        /* the user named it; false: found while walking a directory */
    bool is_stdin;        /* standard input, whatever the path says */
    const uint8_t *bytes; /* borrowed; not NULL: the file's bytes, whatever the path says */
    size_t size_bytes;
    struct ih_error error; /* not IH_OK: why there is nothing to read; becomes the result */
};

/* Who decodes JPEG. */
enum ih_jpeg_side {
    IH_JPEG_CPU,
    IH_JPEG_AUTO, /* also a GPU's engines, where they give the processor's pixels and have room */
    IH_JPEG_GPU   /* the engines whatever they can: there must be some */
};

enum { IH_JPEG_REASONS_MAX = 12 };

/* What became of JPEG files where a GPU's engines could have decoded them. */
struct ih_jpeg_report {
    char engines[512];        /* "nvJPEG 13.0.1, 7 engines of cuda:0 NVIDIA H100"; "": none */
    struct ih_error why_none; /* IH_OK: they were not tried, or there were some */
    uint64_t n_decoded;       /* files, by the engines */
    struct {
        const char *why; /* static; NULL at the end */
        uint64_t n_files;
    } left[IH_JPEG_REASONS_MAX]; /* to the processors */
};

struct ih_pipeline_options {
    unsigned n_threads; /* at least 1 */
    /* Each worker sets remote itself. A worker that runs out of inputs adds its
     * processor to n_idle_cores. */
    struct ih_decode_options decode;
    const struct ih_remote_decoders *remote_decoders; /* borrowed; NULL: decode in this process */
    const struct ih_luma_weights *luma;
    uint8_t clip_low, clip_high;
    bool skips_transparent; /* pixels whose alpha is 0 are not counted, in no channel */
    enum ih_jpeg_side jpeg;
    bool is_last; /* the process ends after this run: JPEG engines are left as they are, and the
                     report does not tell of them; see ih_device_cancel_start */
    struct ih_jpeg_report *jpeg_report;     /* borrowed, zeroed; NULL: nobody wants to know */
    const struct ih_file_identity *outputs; /* borrowed; an input that is one gives IH_CONFLICT */
    size_t n_outputs;
};

struct ih_pipeline_calls {
    /* Gives the next input, or false at the end. Called from worker threads, one call at a time. */
    bool (*next)(void *next_user, struct ih_input *input);
    void *next_user;

    /* Takes the next result, in the order of the inputs; input and result are borrowed for the
     * call. Called from the thread that called ih_pipeline_run. False: no more inputs are started.
     */
    bool (*take)(void *take_user, const struct ih_input *input, const struct ih_result *result);
    void *take_user;
};

/*
 * Runs until all inputs are done or take has had enough.
 *
 * device   borrowed; need not have started
 *
 * Returns IH_OK (failed inputs are results), IH_MEMORY, or why the device, a decoder process, or
 * the JPEG engines that the options want, did not start.
 */
enum ih_status ih_pipeline_run(struct ih_device *device, const struct ih_pipeline_options *options,
                               const struct ih_pipeline_calls *calls, struct ih_error *err);

/*
 * Counts one input; what a worker does.
 *
 * lane     of the device that counts
 * src      closed; its buffer is used and kept
 * result   overwritten; borrows input->path; counted_by is left to the caller
 */
void ih_count_input(const struct ih_pipeline_options *options, const struct ih_input *input,
                    struct ih_lane *lane, struct ih_source *src, struct ih_result *result);

#endif
