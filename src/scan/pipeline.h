/*
 * The pipeline: many inputs through decoders and a device, results in the order of the inputs.
 *
 * A worker takes one input from start to end: open, decode a band, count it, the next band, result.
 * Nothing flows back, and workers share only the device. Results wait for their turn in a bounded
 * window. So memory does not grow with the number of inputs, and a slow file does not hold up the
 * others. JPEG files may go to a GPU's hardware JPEG decoders instead (offload.h).
 *
 * An archive is an input whose members are inputs themselves; their results come in its place, in
 * the archive's order. One worker at a time reads its next member into memory, and then counts that
 * member while another worker reads on. So all workers share one archive, and several archives are
 * read at the same time.
 */
#ifndef IH_SCAN_PIPELINE_H
#define IH_SCAN_PIPELINE_H

#include "decode/decoder.h"
#include "device/backend.h"
#include "histogram/result.h"
#include "jpeg_gpu/offload.h"
#include "scan/selection.h"

/* Where an input is in the walk of a named folder, or in a named archive. */
enum ih_folder {
    IH_FOLDER_NONE,
    IH_FOLDER_WITHIN,
    IH_FOLDER_ENDS /* no input, but the end of the walk: path is the folder's, and error (of an
                      archive, the result) says that it has no images */
};

/* One file, or the bytes of one. */
struct ih_input {
    char *path;     /* owned by the pipeline once handed over */
    size_t name_at; /* in path: its name in the named folder or archive */
    bool is_named;  /* by the user; false: found in a directory */
    enum ih_folder folder;
    bool is_stdin;        /* read standard input; path is only its name */
    bool is_member;       /* of an archive; path is the archive's and the member's name */
    const uint8_t *bytes; /* borrowed; not NULL: the content, and path is only its name */
    size_t size_bytes;
    ih_read_function read; /* not NULL: gives the content; only ih_count_input accepts it */
    void *read_user;
    struct ih_error error; /* not IH_OK: why it cannot be read; becomes the result */
    size_t source;         /* which of the paths on the command line it comes from, from 0 */
    uint64_t hash;         /* becomes the result's inputs_hash */
};

struct ih_pipeline_options {
    unsigned n_threads; /* at least 1 */
    /* Without remote, which each worker sets itself. A worker that runs out of inputs adds its core
     * to n_idle_cores. */
    struct ih_decode_options decode;
    const struct ih_remote_decoders *remote_decoders; /* borrowed; NULL: decode in this process */
    bool reads_archives;                              /* false: archives are no inputs */
    const struct ih_remote_decoders *archive_readers; /* borrowed; NULL: read in this process */
    struct ih_budget *member_budget; /* borrowed; of members in memory; NULL: no limit */
    const struct ih_luma_weights *luma;
    uint8_t clip_low, clip_high;
    /* Counts only a part of the run: member m of input i, or input i with m = 0, is in shard
     * (i + m) % n_shards + 1. Every shard reads all archives. n_shards 0: the whole run. */
    unsigned shard, n_shards;
    uint64_t first_input;               /* number of the first input: those before it are done */
    bool computes_stats;                /* the taker wants the statistics of each result */
    bool skips_transparent;             /* do not count pixels whose alpha is 0 */
    struct ih_selection_options select; /* not with raw samples; needs IH_JPEG_CPU */
    /* Recognises result files, whose records are results (result.h); NULL: they are no inputs. */
    bool (*is_result_file)(const uint8_t *head, size_t size_bytes);
    bool makes_thumbnails; /* turns hardware JPEG decoding off */
    enum ih_jpeg_side jpeg;
    /* The process ends after this run. Hardware JPEG decoders are left running and out of the
     * report; see ih_device_cancel_start. */
    bool is_last;
    struct ih_jpeg_report *jpeg_report;       /* borrowed, zeroed; NULL: no report */
    const struct ih_hw_jpeg_backend *hw_jpeg; /* NULL: the device's own; tests pass theirs */
    const struct ih_file_identity *outputs; /* borrowed; an input that is one fails: IH_CONFLICT */
    size_t n_outputs;
};

struct ih_pipeline_calls {
    /* Fills in the next input; false at the end. Called from worker threads, one call at a time. */
    bool (*next)(void *next_user, struct ih_input *input);
    void *next_user;

    /* Gets the next result, in the order of the inputs; input and result are valid during the call.
     * Called from the thread that called ih_pipeline_run. Returns false to start no more inputs. */
    bool (*take)(void *take_user, const struct ih_input *input, const struct ih_result *result);
    void *take_user;

    /* Called from the same thread when results have been taken and the next is not ready: the time
     * to flush a stream. NULL: not called. */
    void (*idle)(void *take_user);

    /* next waits for no other program, so it may be called several times before the first of these
     * inputs is started. */
    bool next_is_quick;

    /* About how many inputs next will still give. 0, or NULL for the function: unknown. Not called
     * during next. */
    double (*n_left)(void *next_user);
};

/*
 * Runs until all inputs are done or take returns false.
 *
 * device   borrowed; need not have started
 *
 * Returns IH_OK (a failed input is a result), IH_MEMORY, or the error of a device, a decoder
 * process or hardware JPEG decoders that did not start.
 */
enum ih_status ih_pipeline_run(struct ih_device *device, const struct ih_pipeline_options *options,
                               const struct ih_pipeline_calls *calls, struct ih_error *err);

/* Whether an input can be an archive. One in a directory walk needs the name of an archive, because
 * many documents are zip files. */
bool ih_input_may_be_archive(const struct ih_pipeline_options *options,
                             const struct ih_input *input);

/* Opens an input. *is_archive: it looks like an archive, to be read with ih_archive_open. Returns
 * IH_OK or why the input cannot be read; close src in both cases. */
enum ih_status ih_input_open(const struct ih_pipeline_options *options,
                             const struct ih_input *input, struct ih_source *src, bool *is_archive,
                             struct ih_error *err);

/* Gets the results of the images of an input, except that of the last. */
struct ih_frames {
    /* number: from 1. Owns the result's thumbnail. Returns false to end the input. */
    bool (*take)(void *user, uint64_t number, const struct ih_result *result);
    void *user;
};

/*
 * Counts an open input and closes src; the rest is as below.
 *
 * frames   with options->decode.takes_frames; else NULL
 *
 * Returns the number of the image that result describes, the last one or the one that failed: 1
 * without further images.
 */
uint64_t ih_count_source(const struct ih_pipeline_options *options, const struct ih_input *input,
                         struct ih_lane *lane, struct ih_source *src,
                         const struct ih_frames *frames, struct ih_result *result);

/*
 * Counts one input; each worker calls it.
 *
 * src      closed; its buffer is reused
 * result   overwritten; borrows input->path; the caller sets counted_by, and frees the thumbnail if
 *          options->makes_thumbnails
 */
void ih_count_input(const struct ih_pipeline_options *options, const struct ih_input *input,
                    struct ih_lane *lane, struct ih_source *src, struct ih_result *result);

#endif
