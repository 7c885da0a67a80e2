/* Inside a device: shared by units.c, device.c, lane.c and the JPEG queue. */
#ifndef IH_DEVICE_DEVICE_H
#define IH_DEVICE_DEVICE_H

#include "device/backend.h"

#include <pthread.h>

enum { IH_DEVICE_TEXT_MAX = 1024 };

struct ih_device {
    struct ih_device_options options;
    pthread_t starter;
    bool has_starter;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_start, on_need;
    bool is_needed;             /* the start does not wait for its delay */
    bool is_closing;            /* a start that has not begun is cancelled */
    bool has_begun, is_started; /* the start */
    bool is_left;               /* by ih_device_leave */
    /* The stand-in: the CPU's unit, until each lane has moved to a started unit. NULL: none, or the
     * CPU is the backend that has started. */
    void *stand_in;
    void *cpu;           /* owned; for native samples that a GPU cannot count; NULL: none yet */
    size_t staged_bytes; /* in all lanes */
    unsigned n_assigned; /* lanes that got a unit */

    /* Fixed once is_started. */
    enum ih_status status; /* of the start */
    struct ih_error error;
    const struct ih_backend *backend;
    void *units[IH_UNITS_MAX];  /* the backend's states */
    int ordinals[IH_UNITS_MAX]; /* of the units */
    unsigned n_units;
    char description[IH_DEVICE_TEXT_MAX];
    struct ih_error fallback; /* why the first choice was not used */
};

/* Whether the options allow a backend: its name fits, and it has the kernel. */
bool ih_backend_is_allowed(const struct ih_device_options *options, const struct ih_backend *b);

/* Something goes on to use the device until the process ends, so it may not be closed. */
void ih_device_leave(struct ih_device *device);

/* The CPU's unit, for images that the device does not count; it lives as long as the device. */
enum ih_status ih_device_cpu(struct ih_device *device, void **unit, struct ih_error *err);

/* Starts as many units of b as the options ask for. The stand-in counts as started. skipped: why a
 * unit was left out. IH_OK: at least one has started. */
enum ih_status ih_units_start(struct ih_device *d, const struct ih_backend *b,
                              struct ih_error *skipped, struct ih_error *err);
void ih_units_stop(struct ih_device *d, const struct ih_backend *b);

/* Fills in description: "cuda:0 NVIDIA H100" for one unit, "cuda:0,1 2 x NVIDIA H100" for several
 * of the same model, else a list. */
void ih_units_describe(struct ih_device *d);

#endif
