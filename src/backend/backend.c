/*
 * Choosing and starting a backend, and the lanes that work before it has started.
 *
 * Until it is known who counts, a lane keeps filled bands in plain memory. That costs one copy of
 * the first image's first bands, and hides the few hundred milliseconds that a GPU takes to start
 * behind its decoding. The alternative, counting those bands on the processor, was rejected: then
 * the processor and not the GPU would have counted most single photographs.
 */
#define _POSIX_C_SOURCE 200809L

#include "backend/backend.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGED_BAND_BYTES = 1 << 20,
    STAGED_BYTES_MAX = 64 << 20 /* of all lanes together; then they wait for the start */
};

const struct ih_backend *const ih_backends[] = {
#define BACKEND(name) &ih_backend_##name,
#include "backend/backends.def"
#undef BACKEND
    NULL,
};

struct ih_device {
    struct ih_device_options options;
    pthread_t starter;
    bool has_starter;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_start;
    bool is_started;
    size_t staged_bytes;
    enum ih_status status; /* of the start; with the rest below, fixed once is_started */
    struct ih_error error;
    const struct ih_backend *backend;
    void *state;
    struct ih_error fallback; /* why the first choice of auto does not count */
};

struct staged_band {
    uint8_t *pixels; /* owned */
    size_t size_bytes, n_pixels;
};

struct ih_lane {
    struct ih_device *device;
    struct ih_count_spec spec;
    void *lane;                 /* the backend's; NULL until the device has started */
    struct staged_band *staged; /* owned */
    size_t n_staged, n_counted; /* handed out, and filled */
    bool band_is_staged;        /* the one handed out last */
};

static bool has_kernel(const struct ih_backend *backend, const char *kernel)
{
    for (const struct ih_kernel_entry *k = backend->kernels; k->name; k++)
        if (!kernel || strcmp(k->name, kernel) == 0)
            return true;
    return false;
}

/* The next backend at or after *i that the options allow; NULL where there is none. */
static const struct ih_backend *candidate(const struct ih_device_options *options, size_t *i)
{
    for (; ih_backends[*i]; ++*i) {
        const struct ih_backend *b = ih_backends[*i];
        if ((!options->backend || strcmp(b->name, options->backend) == 0) &&
            has_kernel(b, options->with.kernel))
            return b;
    }
    return NULL;
}

static void *start(void *argument)
{
    struct ih_device *d = argument;
    enum ih_status status = IH_UNAVAILABLE;
    struct ih_error error = {IH_OK, ""}, fallback = {IH_OK, ""};
    void *state = NULL;
    const struct ih_backend *chosen = NULL, *b;
    for (size_t i = 0; !chosen && (b = candidate(&d->options, &i)); i++) {
        status = b->start(&d->options.with, &state, &error);
        if (status == IH_OK)
            chosen = b;
        else if (fallback.status == IH_OK)
            fallback = error;
    }
    pthread_mutex_lock(&d->lock);
    d->backend = chosen;
    d->state = state;
    d->status = status;
    d->error = error;
    if (chosen)
        d->fallback = fallback;
    else /* whatever went wrong, there is no device */
        d->status = d->error.status = IH_UNAVAILABLE;
    d->is_started = true;
    pthread_cond_broadcast(&d->on_start);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

enum ih_status ih_device_open(const struct ih_device_options *options, struct ih_device **device,
                              struct ih_error *err)
{
    size_t i = 0;
    const struct ih_backend *first = candidate(options, &i);
    if (!first)
        return ih_error_set(err, IH_USAGE, "this build has no device %s with a kernel %s",
                            options->backend ? options->backend : "auto",
                            options->with.kernel ? options->with.kernel : "at all");
    struct ih_device *d = calloc(1, sizeof *d);
    if (!d)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    d->options = *options;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->on_start, NULL);
    /* The processor is there at once; so it is where no thread can be had. */
    d->has_starter = first != &ih_backend_cpu && pthread_create(&d->starter, NULL, start, d) == 0;
    if (!d->has_starter)
        start(d);
    *device = d;
    return IH_OK;
}

enum ih_status ih_device_wait(struct ih_device *d, struct ih_error *err)
{
    pthread_mutex_lock(&d->lock);
    while (!d->is_started)
        pthread_cond_wait(&d->on_start, &d->lock);
    pthread_mutex_unlock(&d->lock);
    if (d->status != IH_OK && err)
        *err = d->error;
    return d->status;
}

const char *ih_device_description(const struct ih_device *d)
{
    return d->backend->describe(d->state);
}

const char *ih_device_fallback_reason(const struct ih_device *d)
{
    return d->fallback.message;
}

void ih_device_close(struct ih_device *d)
{
    if (!d)
        return;
    if (d->has_starter)
        pthread_join(d->starter, NULL);
    if (d->backend)
        d->backend->stop(d->state);
    pthread_cond_destroy(&d->on_start);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---- lanes ---- */

enum ih_status ih_lane_open(struct ih_device *device, struct ih_lane **lane, struct ih_error *err)
{
    struct ih_lane *l = calloc(1, sizeof *l);
    if (!l)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    l->device = device;
    *lane = l;
    return IH_OK;
}

static void drop_staged(struct ih_lane *l)
{
    size_t bytes = 0;
    for (size_t i = 0; i < l->n_staged; i++) {
        bytes += l->staged[i].size_bytes;
        free(l->staged[i].pixels);
    }
    free(l->staged);
    l->staged = NULL;
    l->n_staged = l->n_counted = 0;
    pthread_mutex_lock(&l->device->lock);
    l->device->staged_bytes -= bytes;
    pthread_mutex_unlock(&l->device->lock);
}

void ih_lane_close(struct ih_lane *l)
{
    if (!l)
        return;
    drop_staged(l);
    if (l->lane)
        l->device->backend->lane_close(l->lane);
    free(l);
}

/* Waits for the start, opens the backend's lane and passes the staged bands on. */
static enum ih_status attach(struct ih_lane *l, struct ih_error *err)
{
    enum ih_status status = ih_device_wait(l->device, err);
    const struct ih_backend *b = l->device->backend;
    if (status == IH_OK)
        status = b->lane_open(l->device->state, &l->lane, err);
    if (status == IH_OK)
        status = b->begin(l->lane, &l->spec, err);
    for (size_t i = 0; status == IH_OK && i < l->n_counted; i++) {
        const struct staged_band *staged = &l->staged[i];
        size_t n_channels = l->spec.n_channels, n_left = staged->n_pixels;
        const uint8_t *from = staged->pixels;
        while (status == IH_OK && n_left > 0) {
            uint8_t *to;
            size_t size_bytes;
            status = b->band(l->lane, n_channels, &to, &size_bytes, err);
            if (status != IH_OK)
                break;
            size_t n = size_bytes / n_channels < n_left ? size_bytes / n_channels : n_left;
            memcpy(to, from, n * n_channels);
            status = b->count(l->lane, n, err);
            from += n * n_channels;
            n_left -= n;
        }
    }
    drop_staged(l);
    return status;
}

enum ih_status ih_lane_begin(struct ih_lane *l, const struct ih_count_spec *spec,
                             struct ih_error *err)
{
    assert(spec->n_channels >= 1 && spec->n_channels <= IH_CHANNELS_MAX);
    assert(spec->clip_low < spec->clip_high);
    drop_staged(l);
    l->spec = *spec;
    return l->lane ? l->device->backend->begin(l->lane, spec, err) : IH_OK;
}

/* Room for one more staged band; NULL where the device has started, where enough is staged, or
 * where memory is short: then the lane waits for the start, which frees what is staged. */
static struct staged_band *stage(struct ih_lane *l, size_t size_bytes)
{
    struct ih_device *d = l->device;
    pthread_mutex_lock(&d->lock);
    bool may = !d->is_started && size_bytes <= STAGED_BYTES_MAX - d->staged_bytes;
    if (may)
        d->staged_bytes += size_bytes;
    pthread_mutex_unlock(&d->lock);
    if (!may)
        return NULL;
    uint8_t *pixels = malloc(size_bytes);
    struct staged_band *staged =
        pixels ? realloc(l->staged, (l->n_staged + 1) * sizeof *staged) : NULL;
    if (!staged) {
        free(pixels);
        pthread_mutex_lock(&d->lock);
        d->staged_bytes -= size_bytes;
        pthread_mutex_unlock(&d->lock);
        return NULL;
    }
    l->staged = staged;
    staged[l->n_staged] = (struct staged_band){pixels, size_bytes, 0};
    return &staged[l->n_staged++];
}

enum ih_status ih_lane_band(struct ih_lane *l, size_t min_bytes, uint8_t **pixels,
                            size_t *size_bytes, struct ih_error *err)
{
    l->band_is_staged = false;
    if (!l->lane) {
        size_t wanted = min_bytes > STAGED_BAND_BYTES ? min_bytes : STAGED_BAND_BYTES;
        const struct staged_band *staged =
            l->n_staged > l->n_counted ? &l->staged[l->n_counted] : stage(l, wanted);
        if (staged && staged->size_bytes >= min_bytes) {
            l->band_is_staged = true;
            *pixels = staged->pixels;
            *size_bytes = staged->size_bytes;
            return IH_OK;
        }
        enum ih_status status = attach(l, err);
        if (status != IH_OK)
            return status;
    }
    return l->device->backend->band(l->lane, min_bytes, pixels, size_bytes, err);
}

enum ih_status ih_lane_count(struct ih_lane *l, size_t n_pixels, struct ih_error *err)
{
    if (!l->band_is_staged)
        return l->device->backend->count(l->lane, n_pixels, err);
    l->staged[l->n_counted++].n_pixels = n_pixels;
    l->band_is_staged = false;
    return IH_OK;
}

enum ih_status ih_lane_end(struct ih_lane *l, struct ih_histogram *out, const char **kernel,
                           struct ih_error *err)
{
    if (!l->lane) {
        enum ih_status status = attach(l, err);
        if (status != IH_OK)
            return status;
    }
    enum ih_status status = l->device->backend->end(l->lane, out, kernel, err);
    if (status == IH_OK && !ih_histogram_consistent(out))
        return ih_error_set(err, IH_DEVICE, "counting failed: %s gave counts that do not add up",
                            ih_device_description(l->device));
    return status;
}
