/* What backend.c, lane.c and jpeg_engines.c share: a device and its units. */
#ifndef IH_BACKEND_DEVICE_H
#define IH_BACKEND_DEVICE_H

#include "backend/backend.h"

#include <pthread.h>
#include <stdbool.h>

enum { IH_DEVICE_TEXT_MAX = 1024 };

struct ih_device {
    struct ih_device_options options;
    pthread_t starter;
    bool has_starter;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_start;
    bool is_started;
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

#endif
