/*
 * The JPEG queue: JPEG files that a GPU decodes instead of the workers.
 *
 * A worker reads such a file into the batch that is being filled, plans it, and takes the next
 * input. A batch is closed when it is full, when it is large enough and the next one is free, or
 * when its GPU has no other: so a file never waits for others, and a busy GPU gets large
 * batches. The counts come later, from another thread. All other files the worker decodes itself.
 */
#ifndef IH_JPEG_GPU_QUEUE_H
#define IH_JPEG_GPU_QUEUE_H

#include "base/reader.h"
#include "histogram/result.h"
#include "jpeg_gpu/session.h"

#include <pthread.h>

/* Which decoders take JPEG files. */
enum ih_jpeg_side {
    IH_JPEG_CPU,
    IH_JPEG_AUTO, /* the GPU once it has started */
    IH_JPEG_GPU   /* the GPU takes every file that it can; without one it is an error */
};

/* What became of JPEG files. */
struct ih_jpeg_report {
    char decoders[512]; /* "kernels on cuda:0 NVIDIA H100, 4 batches of 1.8 GB of GPU memory" */
    struct ih_error why_none;           /* IH_OK: they were not started, or some work */
    uint64_t n_decoded;                 /* files, by the GPU */
    uint64_t n_left[IH_JPEG_N_REASONS]; /* files left to the CPU, by reason */
};

struct ih_jpeg_queue_options {
    enum ih_jpeg_side side;
    uint64_t max_pixels; /* larger images are left to the CPU, which reports them */
    struct ih_measure measure;
    const struct ih_file_identity *outputs; /* borrowed; files that are no inputs */
    size_t n_outputs;
    bool is_last;                  /* the process ends after this run: sessions are not stopped */
    struct ih_jpeg_report *report; /* borrowed, zeroed; NULL: none */
    const struct ih_jpeg_backend *backend; /* NULL: the device's own; tests pass theirs */
};

/* Called from another thread with the files of a batch: those jobs that are planned. The result of
 * a file that is not counted is invalid, and the caller counts it on the CPU. */
typedef void ih_jpeg_deliver(void *user, const struct ih_jpeg_job *jobs, unsigned n);

struct ih_jpeg_queue;

/*
 * With IH_JPEG_GPU, starts the sessions and waits for them; with IH_JPEG_AUTO they start with the
 * first JPEG file after the device.
 *
 * options   copied
 * device    borrowed until ih_jpeg_queue_close
 * *queue    owned by the caller; NULL after an error
 *
 * Returns IH_OK, IH_MEMORY or IH_UNAVAILABLE.
 */
enum ih_status ih_jpeg_queue_open(const struct ih_jpeg_queue_options *options,
                                  struct ih_device *device, ih_jpeg_deliver *deliver, void *user,
                                  struct ih_jpeg_queue **queue, struct ih_error *err);

/*
 * Queues a file for a GPU if it is a JPEG that the kernels take. May wait for room in a batch.
 *
 * path        NULL: the input is not a file to be opened by path
 * is_regular  it is known to be a regular file; else the file system is asked first
 * src         the worker's own, closed before and after
 * result      owned by the queue until deliver if the file was taken; else invalid
 *
 * Returns whether it was taken; if not, the worker counts the input. Threads: any.
 */
bool ih_jpeg_queue_try(struct ih_jpeg_queue *queue, const char *path, bool is_regular,
                       struct ih_reader *src, void *ticket, struct ih_result *result);

/* No more files come: batches do not wait to be filled. May be called again. Threads: any. */
void ih_jpeg_queue_end(struct ih_jpeg_queue *queue);

/* Stops the sessions and completes the report. With is_last it leaves them running instead, and the
 * device may not be closed. Nothing may be queued. NULL is allowed. */
void ih_jpeg_queue_close(struct ih_jpeg_queue *queue);

#endif
