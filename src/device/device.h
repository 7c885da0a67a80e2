/* What backend.c, device.c, lane.c and jpeg_engines.c share: a device and its units. */
#ifndef IH_DEVICE_DEVICE_H
#define IH_DEVICE_DEVICE_H

#include "device/backend.h"

#include <pthread.h>
#include <stdbool.h>

enum { IH_DEVICE_TEXT_MAX = 1024 };

struct ih_device {
    struct ih_device_options options;
    pthread_t starter;
    bool has_starter;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_start, on_need;
    bool is_awaited, is_closing; /* somebody waits for the start, or for its end */
    bool has_begun, is_started;  /* the start */
    bool is_left;                /* engines of its units, by ih_hw_jpeg_leave */
    /* The processor's unit, which counts until others have started, for lanes that have not noticed
     * even longer. NULL: nobody stands in, or the processor is what has started. */
    void *stand_in;
    size_t staged_bytes; /* of all lanes */
    unsigned n_dealt;    /* lanes that have a unit */

    /* Fixed once is_started. */
    enum ih_status status; /* of the start */
    struct ih_error error;
    const struct ih_backend *backend;
    void *units[IH_UNITS_MAX]; /* the backend's states, and which of its units they are */
    int ordinals[IH_UNITS_MAX];
    unsigned n_units;
    char description[IH_DEVICE_TEXT_MAX];
    struct ih_error fallback; /* why the first that was tried does not count */
};

/* The next backend at or after *i that the options allow; NULL where there is none. */
const struct ih_backend *ih_backend_candidate(const struct ih_device_options *options, size_t *i);

/* Starts as many units of b as the options want; the stand-in is one that has started. skipped: why
 * one is left out. IH_OK: at least one has started. */
enum ih_status ih_units_start(struct ih_device *d, const struct ih_backend *b,
                              struct ih_error *skipped, struct ih_error *err);
void ih_units_stop(struct ih_device *d, const struct ih_backend *b);

/* Fills in description: "cuda:0 NVIDIA H100" of one unit; of several that are alike "cuda:0,1 2 x
 * NVIDIA H100", else one after the other. */
void ih_units_describe(struct ih_device *d);

#endif
