/*
 * Sessions: a GPU decodes and counts a batch of JPEG files.
 *
 * A session has pinned memory into which the workers read files, and memory on the GPU. While it
 * decodes one batch, the next session of its GPU is filled. session_cuda.c has the sessions of
 * CUDA; tests have others.
 */
#ifndef IH_JPEG_GPU_SESSION_H
#define IH_JPEG_GPU_SESSION_H

#include "device/backend.h"
#include "jpeg_gpu/plan.h"

/* One file of a batch. */
struct ih_jpeg_job {
    struct ih_jpeg_plan plan;
    uint32_t file_offset;      /* in the session's files */
    bool is_planned;           /* false: the CPU takes it, and the session leaves it alone */
    struct ih_count_spec spec; /* the same for all jobs but for n_channels */
    struct ih_result *result;  /* its histogram, which is initialized but not set, is the output */
    void *ticket;              /* the queue's */

    /* Set by batch. */
    bool is_counted;   /* else the file has a fault: the CPU takes it */
    size_t end_offset; /* of the marker that ends the data, in the file */
};

struct ih_jpeg_session {
    bool is_progressive;         /* it takes progressive files, and no others; set before start */
    void (*on_idle)(void *user); /* the GPU has done its part of the batch; set before start */
    void *user;
    void *state;    /* the backend's */
    uint8_t *files; /* [files_bytes], where workers put files; owned by the session */
    size_t files_bytes;
    uint64_t gpu_bytes;     /* for the decoding of a batch; see ih_jpeg_plan_gpu_bytes */
    const char *counted_by; /* "cuda:0 NVIDIA H100" */
};

struct ih_jpeg_backend {
    const char *device_backend; /* name of the ih_backend whose units have such sessions */
    unsigned n_sessions;        /* of a unit */
    unsigned n_progressive;     /* and sessions for progressive files */

    /* unit: the state of the device's unit. IH_OK, IH_UNAVAILABLE, IH_DEVICE, IH_MEMORY. */
    enum ih_status (*start)(void *unit, struct ih_jpeg_session *session, struct ih_error *err);
    /* Decodes and counts the planned jobs, whose files take n_bytes. Not IH_OK: the session is
     * broken, and jobs that are not counted are for the CPU. */
    enum ih_status (*batch)(struct ih_jpeg_session *session, struct ih_jpeg_job *jobs, unsigned n,
                            size_t n_bytes, struct ih_error *err);
    void (*stop)(struct ih_jpeg_session *session);
};

extern const struct ih_jpeg_backend ih_jpeg_backend_cuda; /* in builds with CUDA */

#endif
