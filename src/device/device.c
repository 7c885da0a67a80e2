/* The life of a device: the stand-in, the start in a thread of its own, the end. The device uses
 * the first backend that starts. */
#include "device/device.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

/*
 * How long the stand-in counts before the start of a GPU begins, unless the caller knows sooner
 * that it pays. A GPU takes 0.3 s to start. A run that ends soon after gains nothing and takes 0.1
 * to 0.2 s longer, while the driver cleans up: little of three seconds.
 */
enum { START_AFTER_MS = 3000 };

/* Starts the CPU as the stand-in, if the options allow both the CPU and others. If that fails,
 * lanes wait for the device. */
static void start_stand_in(struct ih_device *d)
{
    const struct ih_backend *const *b = d->options.backends;
    while (*b && *b != &ih_backend_cpu)
        b++;
    if (*b && !d->options.backend && ih_backend_is_allowed(&d->options, *b))
        (*b)->start(&d->options.with, 0, &d->stand_in, NULL);
}

/* Waits for the delay of the stand-in, or until the device is needed. Returns false if the start
 * was cancelled. */
static bool begin_start(struct ih_device *d)
{
    const unsigned ms = d->options.start_after_ms ? d->options.start_after_ms : START_AFTER_MS;
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000 * 1000;
    until.tv_sec += until.tv_nsec / (1000 * 1000 * 1000);
    until.tv_nsec %= 1000 * 1000 * 1000;
    pthread_mutex_lock(&d->lock);
    while (d->stand_in && !d->is_needed && !d->is_closing && error == 0)
        error = pthread_cond_timedwait(&d->on_need, &d->lock, &until);
    d->has_begun = !d->is_closing;
    pthread_mutex_unlock(&d->lock);
    return d->has_begun;
}

static void *device_start(void *argument)
{
    struct ih_device *d = argument;
    if (!begin_start(d))
        return NULL;
    struct ih_error error = {0}, fallback = {0};
    for (const struct ih_backend *const *b = d->options.backends; *b && !d->backend; b++) {
        struct ih_error skipped = {0};
        if (!ih_backend_is_allowed(&d->options, *b))
            continue;
        if (ih_units_start(d, *b, &skipped, &error) == IH_OK)
            d->backend = *b;
        if (fallback.status == IH_OK)
            fallback = d->backend ? skipped : error;
    }
    if (d->backend)
        ih_units_describe(d);
    pthread_mutex_lock(&d->lock);
    if (d->backend)
        d->fallback = fallback;
    else
        d->error = error;
    d->status = d->error.status = d->backend ? IH_OK : IH_UNAVAILABLE;
    if (d->n_units > 0 && d->units[0] == d->stand_in)
        d->stand_in = NULL;
    d->is_started = true;
    pthread_cond_broadcast(&d->on_start);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

enum ih_status ih_device_open(const struct ih_device_options *options, struct ih_device **device,
                              struct ih_error *err)
{
    assert(options->n_ordinals <= IH_UNITS_MAX);
    struct ih_device *d = calloc(1, sizeof *d);
    if (!d)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    d->options = *options;
    if (!d->options.backends)
        d->options.backends = ih_backends;
    const struct ih_backend *const *first = d->options.backends;
    while (*first && !ih_backend_is_allowed(&d->options, *first))
        first++;
    if (!*first) {
        free(d);
        return ih_error_set(err, IH_USAGE, "this build has no device %s with a kernel %s",
                            options->backend ? options->backend : "auto",
                            options->with.kernel ? options->with.kernel : "at all");
    }
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->on_start, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&d->on_need, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* The CPU starts at once. Without a thread, any backend starts here. */
    if (*first != &ih_backend_cpu) {
        start_stand_in(d);
        d->has_starter = pthread_create(&d->starter, NULL, device_start, d) == 0;
    }
    if (!d->has_starter) {
        d->is_needed = true;
        device_start(d);
    }
    *device = d;
    return IH_OK;
}

enum ih_status ih_device_cpu(struct ih_device *d, void **unit, struct ih_error *err)
{
    const struct ih_backend_options options = {.n_idle_cores = d->options.with.n_idle_cores};
    enum ih_status status = IH_OK;
    pthread_mutex_lock(&d->lock);
    *unit = d->stand_in                                      ? d->stand_in
            : d->is_started && d->backend == &ih_backend_cpu ? d->units[0]
                                                             : d->cpu;
    if (!*unit) {
        status = ih_backend_cpu.start(&options, 0, &d->cpu, err);
        *unit = d->cpu;
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

/* The lock is held. */
static void need(struct ih_device *d)
{
    d->is_needed = true;
    pthread_cond_signal(&d->on_need);
}

void ih_device_need(struct ih_device *d)
{
    pthread_mutex_lock(&d->lock);
    need(d);
    pthread_mutex_unlock(&d->lock);
}

bool ih_device_has_begun(struct ih_device *d)
{
    pthread_mutex_lock(&d->lock);
    const bool has_begun = d->has_begun;
    pthread_mutex_unlock(&d->lock);
    return has_begun;
}

const struct ih_backend *ih_device_backend(struct ih_device *d)
{
    pthread_mutex_lock(&d->lock);
    const struct ih_backend *const backend = d->is_started ? d->backend : NULL;
    pthread_mutex_unlock(&d->lock);
    return backend;
}

enum ih_status ih_device_wait(struct ih_device *d, struct ih_error *err)
{
    pthread_mutex_lock(&d->lock);
    need(d);
    while (!d->is_started)
        pthread_cond_wait(&d->on_start, &d->lock);
    pthread_mutex_unlock(&d->lock);
    if (d->status != IH_OK && err)
        *err = d->error;
    return d->status;
}

enum ih_status ih_device_wait_usable(struct ih_device *d, struct ih_error *err)
{
    pthread_mutex_lock(&d->lock);
    const bool has_stand_in = d->stand_in != NULL;
    pthread_mutex_unlock(&d->lock);
    return has_stand_in ? IH_OK : ih_device_wait(d, err);
}

bool ih_device_cancel_start(struct ih_device *d)
{
    pthread_mutex_lock(&d->lock);
    d->is_closing = true;
    pthread_cond_signal(&d->on_need);
    const bool is_busy = (d->has_begun && !d->is_started) || d->is_left;
    pthread_mutex_unlock(&d->lock);
    return is_busy;
}

void ih_device_leave(struct ih_device *d)
{
    pthread_mutex_lock(&d->lock);
    d->is_left = true;
    pthread_mutex_unlock(&d->lock);
}

const char *ih_device_description(const struct ih_device *d)
{
    return d->description;
}

const char *ih_device_fallback_reason(const struct ih_device *d)
{
    return d->fallback.message;
}

void ih_device_close(struct ih_device *d)
{
    if (!d)
        return;
    ih_device_cancel_start(d);
    if (d->has_starter)
        pthread_join(d->starter, NULL);
    if (d->backend)
        ih_units_stop(d, d->backend);
    if (d->stand_in)
        ih_backend_cpu.stop(d->stand_in);
    if (d->cpu)
        ih_backend_cpu.stop(d->cpu);
    pthread_cond_destroy(&d->on_need);
    pthread_cond_destroy(&d->on_start);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
