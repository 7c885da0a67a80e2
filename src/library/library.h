/*
 * The inside of libimghist's objects.
 *
 * The library is thin: contexts, counts and pendings hold what base, decode, backend and pipeline
 * work with, and the calls check what callers give and pass it on.
 */
#ifndef IH_LIBRARY_LIBRARY_H
#define IH_LIBRARY_LIBRARY_H

#include "base/budget.h"
#include "counts/total.h"
#include "device/backend.h"
#include "device/device_pixels.h"
#include "imghist.h"
#include "pipeline/pipeline.h"

#include <pthread.h>

/* What a call needs for itself while it runs; kept in the context between calls. */
struct ih_call {
    struct ih_lane *lane;
    struct ih_source source;
    int gpu_before; /* the thread's current CUDA device, to be restored */
    struct ih_call *next;
};

struct ih_context {
    const char *kernel;
    struct ih_device *device;
    struct ih_pipeline_options options; /* luma, alpha, limits; budget where there is one */
    struct ih_budget budget;
    bool has_budget;

    pthread_mutex_t lock; /* guards idle */
    struct ih_call *idle; /* owned; as many as there ever were calls at once */
};

struct ih_counts {
    bool is_empty;
    bool is_sum;             /* total is valid, and result made from it */
    bool skips_transparent;  /* as the context had it */
    struct ih_result result; /* valid unless empty; path is not used */
    struct ih_total total;
    uint64_t n_images;
};

/* Begins a call on a context: a lane and a source, nobody else's until ih_call_end. */
enum ih_status ih_call_begin(struct ih_context *context, struct ih_call **call,
                             struct ih_error *err);
/* status: of the call; after a failed one the lane is not used again. */
void ih_call_end(struct ih_context *context, struct ih_call *call, enum ih_status status);

/* Makes counts those of the one image in counts->result, counted as the context's options say. */
void ih_counts_set_image(struct ih_counts *counts, bool skips_transparent);

/*
 * Checks that pixels can be, and says the same in a simpler way: the stride is not negative, and
 * rows without gaps are one row. IH_OK or IH_USAGE.
 */
enum ih_status ih_pixels_normalize(const struct ih_pixels *pixels, struct ih_pixels *out,
                                   struct ih_error *err);

#endif
