/*
 * Hardware JPEG decoders: a GPU's fixed-function units take complete files and give histograms.
 *
 * A GPU has several decoders and is only fast when all of them work at the same time. So files wait
 * in a queue, and the sessions of each GPU take batches from it. When the decoders are busy,
 * batches are full; when they are idle, a file does not wait for others.
 *
 * The decoders do not report damage. The caller must have validated every stream (validate.h).
 */
#ifndef IH_JPEG_GPU_HW_JPEG_H
#define IH_JPEG_GPU_HW_JPEG_H

#include "device/backend.h"

#include <stdbool.h>

/* One file. The caller owns it, and must not touch it between ih_hw_jpeg_submit and `done`. */
struct ih_hw_jpeg_job {
    /* Input. */
    const uint8_t *stream; /* [stream_bytes], from ih_jpeg_plan_write */
    size_t stream_bytes;
    uint32_t width, height;
    unsigned n_components;       /* 1 or 3 */
    unsigned chroma_h, chroma_v; /* luma samples per chroma sample, 1 or 2 */
    struct ih_count_spec spec;   /* n_channels is n_components */
    struct ih_histogram *out;
    /* Called from another thread when the job is finished or has failed; may free the job. */
    void (*done)(struct ih_hw_jpeg_job *job);

    /* Output, valid in `done`. */
    enum ih_status status;  /* not IH_OK: *out is invalid; decode the file on the CPU */
    struct ih_error error;  /* valid when status is not IH_OK */
    const char *counted_by; /* "cuda:0 NVIDIA H100"; valid until the device is closed */
    const char *decoder;    /* "nvJPEG 13.0.1"; valid until ih_hw_jpeg_close */
    const char *kernel;     /* static */

    struct ih_hw_jpeg_job *next; /* private */
};

/* The hardware decoders of one kind of GPU. A session is one way to the decoders of one GPU, with
 * buffers for a batch; all calls for it come from one thread. */
struct ih_hw_jpeg_backend {
    const char *device_backend; /* name of the ih_backend with these decoders */

    /*
     * unit    the state of the device's unit
     * first   the unit's first session, which is stopped after this one; NULL: this is the first
     *
     * IH_OK, IH_UNAVAILABLE, IH_DEVICE, IH_MEMORY.
     */
    enum ih_status (*start)(void *unit, void *first, void **session, struct ih_error *err);
    /* "nvJPEG 13.0.1, 7 decoders of cuda:0 NVIDIA H100"; valid until stop. */
    const char *(*describe)(void *session);
    /* Whether images of this size are decoded. Threads: any. NULL: all sizes are. */
    bool (*accepts)(void *session, uint32_t width, uint32_t height);

    /*
     * Decodes and counts 1 to IH_HW_JPEG_BATCH_MAX jobs and sets the status of each; does not call
     * `done`. Nothing reads the streams after it returns.
     *
     * IH_OK: jobs that are not IH_OK have failed for good. IH_DEVICE: the session is broken.
     * Others: any of the jobs that are not IH_OK may have caused the failure; each may be tried
     * alone.
     */
    enum ih_status (*batch)(void *session, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                            struct ih_error *err);
    void (*stop)(void *session);

    /* How many sessions a GPU gets, 1 to IH_HW_JPEG_SESSIONS_MAX; all but the first when there is a
     * batch for them. One copies its files and fetches its counts while others decode. */
    unsigned n_sessions;
};

extern const struct ih_hw_jpeg_backend ih_hw_jpeg_nvjpeg; /* in builds with nvJPEG */

enum {
    /* A batch has up to 28 files of any size, four for each of an H100's seven decoders: batches of
     * 14 take 4 % longer for the same photos, batches of 7 take 17 % longer. Small files make
     * larger batches, so that a call and a launch cost little for each: up to IH_HW_JPEG_BATCH_MAX
     * files of IH_HW_JPEG_BATCH_PIXELS together, which is about 5 ms of decoding. */
    IH_HW_JPEG_BATCH_LARGE = 28,
    IH_HW_JPEG_BATCH_MAX = 256,
    IH_HW_JPEG_BATCH_PIXELS = 32 * 1000 * 1000,

    IH_HW_JPEG_SESSIONS_MAX = 3,

    /* Failed calls of batch in a row that end a session: decoders that fail on every file must not
     * delay them all. */
    IH_HW_JPEG_FAILURES_MAX = 16
};

/* Limit for the streams of a batch together; a larger stream is a batch of its own. nvJPEG copies
 * them into pinned memory, which it keeps. 28 photos of 12 megapixels take half of it. */
#define IH_HW_JPEG_BATCH_BYTES_MAX ((size_t)256 << 20)

struct ih_hw_jpeg;

/*
 * Begins to start sessions on all units of a device; returns at once, if a thread can be started.
 *
 * device    borrowed until ih_hw_jpeg_close; need not have started
 * backend   NULL: the one for the device's backend; tests pass their own
 * *hw       owned by the caller, released with ih_hw_jpeg_close or ih_hw_jpeg_leave
 *
 * Returns IH_OK, even without hardware decoders (ih_hw_jpeg_wait), or IH_MEMORY.
 */
enum ih_status ih_hw_jpeg_open(struct ih_device *device, const struct ih_hw_jpeg_backend *backend,
                               struct ih_hw_jpeg **hw, struct ih_error *err);

/* Waits for the start. Returns IH_OK when a session works, or IH_UNAVAILABLE with the reason why
 * none does. Threads: any. */
enum ih_status ih_hw_jpeg_wait(struct ih_hw_jpeg *hw, struct ih_error *err);

/* Writes what has started, "nvJPEG 13.0.1, 7 decoders of cuda:0 NVIDIA H100", or "". After a failed
 * job "; last failure: " and its message follow. */
void ih_hw_jpeg_describe(struct ih_hw_jpeg *hw, char *text, size_t size);

enum ih_hw_jpeg_room {
    IH_HW_JPEG_NONE, /* no session works */
    IH_HW_JPEG_STARTING,
    IH_HW_JPEG_BUSY,
    IH_HW_JPEG_HAS_ROOM
};

/* Whether a job would be taken now; this may change at any time. Threads: any. */
enum ih_hw_jpeg_room ih_hw_jpeg_room(struct ih_hw_jpeg *hw);

/* Whether every GPU decodes images of this size. If not, a job may be returned uncounted. Threads:
 * any. */
bool ih_hw_jpeg_accepts(struct ih_hw_jpeg *hw, uint32_t width, uint32_t height);

/* Waits for room and queues a job. True: job->done will be called. False: no session works.
 * Threads: any. */
bool ih_hw_jpeg_submit(struct ih_hw_jpeg *hw, struct ih_hw_jpeg_job *job);

/* Leaves all sessions running until the process ends. Nothing may be queued, and neither hw nor the
 * device may be closed after it. */
void ih_hw_jpeg_leave(struct ih_hw_jpeg *hw);

/* Finishes all queued jobs and stops the sessions. NULL is allowed. */
void ih_hw_jpeg_close(struct ih_hw_jpeg *hw);

/* ---- the size of images that nvJPEG has memory for ---- */

/*
 * The image size for which nvJPEG allocates its memory.
 *
 * nvJPEG allocates memory for a number of images of one size, which must cover every image of a
 * batch in width and in height. A panorama and a tower, each small, together need a large square.
 *
 * The size grows with the images. When it would become too large, it is set anew to what the next
 * batch needs. So no file is refused because of earlier files, and only a mixture of panoramas and
 * towers allocates memory again and again.
 */

enum {
    IH_HW_JPEG_SIDE_MAX = 16384, /* the hardware decoders take no longer side */
    IH_HW_JPEG_SIDE_STEP = 512   /* sizes are multiples of it, so few images need a new size */
};

struct ih_hw_jpeg_size {
    uint32_t width, height; /* pixels; 0, 0: none */
};

static inline struct ih_hw_jpeg_size ih_hw_jpeg_size_join(struct ih_hw_jpeg_size a,
                                                          struct ih_hw_jpeg_size b)
{
    return (struct ih_hw_jpeg_size){a.width > b.width ? a.width : b.width,
                                    a.height > b.height ? a.height : b.height};
}

static inline bool ih_hw_jpeg_size_is_allowed(struct ih_hw_jpeg_size s, uint64_t pixels_max)
{
    return s.width <= IH_HW_JPEG_SIDE_MAX && s.height <= IH_HW_JPEG_SIDE_MAX &&
           (uint64_t)s.width * s.height <= pixels_max;
}

/* n: at most 65535, as the sides in every JPEG file. */
static inline uint32_t ih_hw_jpeg_round_up(uint32_t n, uint32_t step)
{
    return (n + step - 1) / step * step;
}

/* The smallest size that covers an image. */
static inline struct ih_hw_jpeg_size ih_hw_jpeg_size_of(uint32_t width, uint32_t height)
{
    return (struct ih_hw_jpeg_size){ih_hw_jpeg_round_up(width, IH_HW_JPEG_SIDE_STEP),
                                    ih_hw_jpeg_round_up(height, IH_HW_JPEG_SIDE_STEP)};
}

/* Returns how many of n jobs, from the first on, one allowed size covers, and the size; 0: the
 * first job is too large. pixels_max: the largest area of that size. */
static inline unsigned ih_hw_jpeg_size_fit(struct ih_hw_jpeg_job *const *jobs, unsigned n,
                                           uint64_t pixels_max, struct ih_hw_jpeg_size *size)
{
    unsigned n_fit = 0;
    *size = (struct ih_hw_jpeg_size){0, 0};
    for (; n_fit < n; n_fit++) {
        const struct ih_hw_jpeg_size all = ih_hw_jpeg_size_join(
            *size, ih_hw_jpeg_size_of(jobs[n_fit]->width, jobs[n_fit]->height));
        if (!ih_hw_jpeg_size_is_allowed(all, pixels_max))
            break;
        *size = all;
    }
    return n_fit;
}

static inline bool ih_hw_jpeg_size_covers(struct ih_hw_jpeg_size a, struct ih_hw_jpeg_size b)
{
    return a.width >= b.width && a.height >= b.height;
}

/* The next size that covers `needed`, and `current` too when that is allowed. When it does not
 * cover `current`, the memory for that has to be given back first. */
static inline struct ih_hw_jpeg_size ih_hw_jpeg_size_next(struct ih_hw_jpeg_size current,
                                                          struct ih_hw_jpeg_size needed,
                                                          uint64_t pixels_max)
{
    const struct ih_hw_jpeg_size both = ih_hw_jpeg_size_join(current, needed);
    return ih_hw_jpeg_size_is_allowed(both, pixels_max) ? both : needed;
}

#endif
