/*
 * JPEG on a GPU's own decoders: whole files go in, histograms come out, some time later.
 *
 * A GPU has several engines, and is only fast where all of them have files at the same time. So
 * files are queued, and the one or two threads of each GPU take what waits, each a fair part, up to
 * a batch. Where engines are busy a batch is full; where they are not, a file does not wait for
 * others. Whether there is room can be asked before, so that a processor may do the work where the
 * engines have enough.
 *
 * The engines decode what they are given without a word about damage. Who calls has made sure that
 * a stream is sound to its last bit (jpeg_gpu/validate.h).
 */
#ifndef IH_JPEG_GPU_ENGINES_H
#define IH_JPEG_GPU_ENGINES_H

#include "device/backend.h"

#include <stdbool.h>

/* One file, owned by the caller, who leaves it alone from ih_jpeg_engines_take to done. */
struct ih_jpeg_job {
    /* In. */
    const uint8_t *stream; /* a sound baseline JPEG */
    size_t stream_bytes;
    uint32_t width, height;
    unsigned n_components;       /* 1 or 3 */
    unsigned chroma_h, chroma_v; /* luma samples per chroma sample, 1 or 2 */
    struct ih_count_spec spec;   /* of as many channels as there are components */
    struct ih_histogram *out;
    void (*done)(struct ih_jpeg_job *job); /* from a thread of the engines; may release the job */

    /* Out, valid in done. */
    enum ih_status status;  /* not IH_OK: *out is of no meaning, decode it in another way */
    struct ih_error error;  /* where status is not IH_OK */
    const char *counted_by; /* "cuda:0 NVIDIA H100"; lives as the device */
    const char *decoder;    /* "nvJPEG 13.0.1"; lives as the engines */
    const char *kernel;     /* static */

    struct ih_jpeg_job *next; /* private */
};

/* What a backend has to offer where its units decode JPEG. All calls for one engine come from one
 * thread. */
struct ih_jpeg_backend {
    /* unit: the backend's state, borrowed. IH_OK, IH_UNAVAILABLE, IH_DEVICE, IH_MEMORY. */
    enum ih_status (*start)(void *unit, void **engine, struct ih_error *err);
    /* "nvJPEG 13.0.1, 7 engines of cuda:0 NVIDIA H100"; lives as the engine. */
    const char *(*describe)(void *engine);

    /* Decodes and counts 1 to IH_JPEG_BATCH_MAX jobs and fills in how each went, but calls no done.
     * IH_OK: the engine is in order, though jobs may have failed for good. IH_DEVICE: it is of no
     * use any more. Any other: it is in order, but has failed, and does not know which of the jobs
     * that are not IH_OK is to blame; each may be tried alone. Nothing reads the streams now. */
    enum ih_status (*batch)(void *engine, struct ih_jpeg_job *const *jobs, unsigned n,
                            struct ih_error *err);
    void (*stop)(void *engine);

    /* Whether a second engine is started for each unit, once there is a batch for it: one copies
     * the files of its batch while the other's are decoded. */
    bool starts_two;
};

extern const struct ih_jpeg_backend ih_jpeg_cuda; /* in builds with nvJPEG */

enum {
    /* nvJPEG keeps four images for each of an H100's seven engines; with 14 the same photos go
     * through 4 % slower, with 7 17 % (2026-11-21). */
    IH_JPEG_BATCH_MAX = 28,

    /* Calls of batch that may fail one after the other. A file that the engines do not like is only
     * one, or a few of its kind; engines that like none shall not see, and delay, every file. */
    IH_JPEG_REFUSALS_MAX = 16
};

/* What the streams of a batch may take together; a single larger one is a batch of its own. nvJPEG
 * copies them into pinned memory, which it keeps. 28 photos of 12 megapixels take half of it. */
#define IH_JPEG_BATCH_BYTES_MAX ((size_t)256 << 20)

struct ih_jpeg_engines;

/*
 * Begins to start the engines of all of a device's units; returns at once.
 *
 * device    borrowed until ih_jpeg_engines_close; need not have started
 * *engines  owned by the caller until ih_jpeg_engines_close or ih_jpeg_engines_leave
 *
 * Returns IH_OK or IH_MEMORY. That there are no engines shows in ih_jpeg_engines_wait.
 */
enum ih_status ih_jpeg_engines_open(struct ih_device *device, struct ih_jpeg_engines **engines,
                                    struct ih_error *err);

/* Waits until it is known whether there are engines: IH_OK where one has started, or
 * IH_UNAVAILABLE with why there is none. Threads: any. */
enum ih_status ih_jpeg_engines_wait(struct ih_jpeg_engines *engines, struct ih_error *err);

/* What has started, "nvJPEG 13.0.1, 7 engines of cuda:0 NVIDIA H100"; "" where nothing has. Where
 * an engine has given a file back, "; the last given back: " and why. */
void ih_jpeg_engines_describe(struct ih_jpeg_engines *engines, char *text, size_t size);

enum ih_jpeg_room { IH_JPEG_NONE, IH_JPEG_STARTING, IH_JPEG_BUSY, IH_JPEG_HAS_ROOM };

/* Whether a job would be taken now; it may be otherwise a moment later. Threads: any. */
enum ih_jpeg_room ih_jpeg_engines_room(struct ih_jpeg_engines *engines);

/*
 * Waits for room and queues a job.
 *
 * Returns whether it was taken: then job->done will be called, whatever happens. False: no engine
 * is left.
 * Threads: any.
 */
bool ih_jpeg_engines_take(struct ih_jpeg_engines *engines, struct ih_jpeg_job *job);

/* Leaves engines, started or not, to the end of the process. Nothing may be queued, and neither
 * they nor the device may be closed. */
void ih_jpeg_engines_leave(struct ih_jpeg_engines *engines);

/* Finishes what is queued. NULL is allowed. */
void ih_jpeg_engines_close(struct ih_jpeg_engines *engines);

#endif
