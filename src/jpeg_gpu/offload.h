/*
 * The offload queue: JPEG files that a GPU's hardware decoders take instead of the workers.
 *
 * A worker reads such a file into memory, validates it, queues it, and takes the next input. The
 * counts come later, from another thread. The worker decodes all other files itself, and a JPEG
 * file when the hardware decoders are busy and enough other workers feed them.
 *
 * Starting the hardware decoders takes half a second or more. With IH_JPEG_AUTO they start in the
 * background, once the run has taken long enough that more files are likely.
 */
#ifndef IH_JPEG_GPU_OFFLOAD_H
#define IH_JPEG_GPU_OFFLOAD_H

#include "base/budget.h"
#include "base/source.h"
#include "histogram/result.h"
#include "jpeg_gpu/hw_jpeg.h"
#include "jpeg_gpu/validate.h"

#include <pthread.h>

/* Which decoders take JPEG files. */
enum ih_jpeg_side {
    IH_JPEG_CPU,
    IH_JPEG_AUTO, /* the CPU, and hardware decoders where they are exact and have room */
    IH_JPEG_GPU   /* hardware decoders take every file that they can; without them it is an error */
};

/* What became of JPEG files that hardware decoders might have taken. */
struct ih_jpeg_report {
    char decoders[512];       /* "nvJPEG 13.0.1, 7 decoders of cuda:0 NVIDIA H100"; "": none */
    struct ih_error why_none; /* IH_OK: they were not started, or some work */
    uint64_t n_decoded;       /* files, by the hardware decoders */
    uint64_t n_left[IH_JPEG_N_REASONS]; /* files left to the CPU, by reason */
};

struct ih_offload_options {
    enum ih_jpeg_side side;
    unsigned n_workers;       /* at least 1 */
    uint64_t max_pixels;      /* larger images are left to the CPU, which reports them */
    struct ih_budget *budget; /* borrowed; NULL: no limit */
    const struct ih_luma_weights *luma;
    uint16_t clip_low, clip_high;
    const struct ih_file_identity *outputs; /* borrowed; files that are no inputs */
    size_t n_outputs;
    bool is_last; /* the process ends after this run: sessions are not stopped, and the report does
                     not describe them */
    struct ih_jpeg_report *report;            /* borrowed, zeroed; NULL: none */
    const struct ih_hw_jpeg_backend *hw_jpeg; /* NULL: the device's own; tests pass theirs */
};

/* Called from another thread for each file that was taken. is_counted: the result is complete.
 * Otherwise the result is invalid, and the caller counts the file on the CPU. */
typedef void ih_offload_deliver(void *user, void *ticket, struct ih_result *result,
                                bool is_counted);

/* One for each scan. All fields are private. */
struct ih_offload {
    struct ih_offload_options options;
    struct ih_device *device;
    ih_offload_deliver *deliver;
    void *user;

    pthread_mutex_t lock;      /* guards what follows, and the report */
    struct ih_hw_jpeg *hw;     /* NULL: not started; does not change after that */
    bool has_tried;            /* to start */
    uint64_t busy_ns;          /* spent on JPEG files by all workers together */
    uint64_t feeding_ns;       /* spent by all workers on reading and validating queued files */
    uint64_t feeding_start_ns; /* of the first; 0: none yet */
    unsigned n_decoding;       /* workers that decode a file because the decoders are busy */
    struct queued_file *spare; /* buffers, owned */
    unsigned n_spare;
};

/* A worker's buffers, kept from file to file. All zero: empty. */
struct ih_offload_file {
    uint8_t *bytes; /* owned */
    size_t capacity_bytes;
    struct ih_jpeg_workspace *workspace; /* of the validator; owned, free() */
    bool is_decoding;                    /* the worker is one of n_decoding */
    enum ih_jpeg_reason reason;          /* for the report, if the input turns out to be a JPEG */
};

/*
 * With IH_JPEG_GPU, starts the hardware decoders and waits for them.
 *
 * options   copied
 * device    borrowed until ih_offload_close
 *
 * Returns IH_OK, IH_MEMORY or IH_UNAVAILABLE. Call ih_offload_close even after an error.
 */
enum ih_status ih_offload_open(struct ih_offload *offload, const struct ih_offload_options *options,
                               struct ih_device *device, ih_offload_deliver *deliver, void *user,
                               struct ih_error *err);

/*
 * Queues a file for the hardware decoders if it is a JPEG that they can take.
 *
 * path        NULL: the input is not a file to be opened by path
 * file, src   the worker's own; src is closed before and after
 * result      owned by the queue until deliver if the file was taken; otherwise invalid
 *
 * Returns whether it was taken. If not, the worker must count the input and then call
 * ih_offload_counted. Threads: any.
 */
bool ih_offload_try(struct ih_offload *offload, const char *path, struct ih_offload_file *file,
                    struct ih_source *src, void *ticket, struct ih_result *result);

/* Records an input that the worker has counted itself, after ih_offload_try returned false. */
void ih_offload_counted(struct ih_offload *offload, struct ih_offload_file *file,
                        const struct ih_result *result);

/*
 * Returns how many of n_workers may decode files while the hardware decoders are busy: those that
 * are not needed to keep them busy. With few cores for fast decoders that is none; with many cores
 * for slow ones, most.
 *
 * feeding_ns   spent by all workers together on reading and validating files for them
 * elapsed_ns   since the first of these
 */
unsigned ih_offload_n_may_decode(unsigned n_workers, uint64_t feeding_ns, uint64_t elapsed_ns);

/* Stops the hardware decoders and completes the report. With is_last it leaves them running
 * instead. Nothing may be queued. */
void ih_offload_close(struct ih_offload *offload);

#endif
