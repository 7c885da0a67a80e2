/*
 * Lanes, which work before their device has started. A GPU takes a few hundred milliseconds.
 *
 * - Where the processor stands in, it counts whole images until the device has started: who counts
 *   is settled when an image begins. So a GPU costs a run no time, however short it is.
 * - Where somebody has said that the GPU shall count, a lane keeps filled bands in plain memory
 *   until it can. That costs one copy of the first image's first bands, and hides some of the start
 *   behind their decoding.
 *
 * A lane is dealt to the device's units in turn, when it first counts on one. Workers are alike and
 * take the next input when they are done, so a slower GPU only gives its lanes fewer images.
 */
#include "device/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGED_BAND_BYTES = 1 << 20,
    STAGED_BYTES_MAX = 64 << 20 /* of all lanes together; then they wait for the start */
};

struct staged_band {
    uint8_t *pixels; /* owned */
    size_t size_bytes, n_pixels;
};

struct ih_lane {
    struct ih_device *device;
    struct ih_count_spec spec;
    const struct ih_backend *backend;
    void *unit;                 /* the device's that it is dealt to, or its stand-in */
    void *lane;                 /* the backend's; NULL: nobody counts yet, and no unit is valid */
    struct staged_band *staged; /* owned */
    size_t n_staged, n_counted; /* handed out, and filled */
    bool band_is_staged;        /* the one handed out last */
};

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
        l->backend->lane_close(l->lane);
    free(l);
}

const char *ih_lane_description(const struct ih_lane *l)
{
    return l->backend->describe(l->unit);
}

/* The unit whose turn it is. */
static void *deal(struct ih_device *d)
{
    pthread_mutex_lock(&d->lock);
    void *unit = d->units[d->n_dealt++ % d->n_units];
    pthread_mutex_unlock(&d->lock);
    return unit;
}

/* Opens a backend's lane in place of what the lane had, which it keeps on failure. */
static enum ih_status move_to(struct ih_lane *l, const struct ih_backend *b, void *unit,
                              struct ih_error *err)
{
    void *lane;
    enum ih_status status = b->lane_open(unit, &lane, err);
    if (status != IH_OK)
        return status;
    if (l->lane)
        l->backend->lane_close(l->lane);
    l->lane = lane;
    l->backend = b;
    l->unit = unit;
    return IH_OK;
}

/* Moves the lane, if need be, to who is to count the next image, without waiting for anybody. Who
 * stands in goes on where a GPU has started but has no memory for a lane. */
static enum ih_status settle(struct ih_lane *l, struct ih_error *err)
{
    struct ih_device *d = l->device;
    pthread_mutex_lock(&d->lock);
    void *const stand_in = d->stand_in;
    const bool has_started = d->is_started && d->status == IH_OK;
    pthread_mutex_unlock(&d->lock);
    if (has_started && l->lane && l->unit == stand_in)
        move_to(l, d->backend, deal(d), NULL);
    else if (has_started && !l->lane)
        return move_to(l, d->backend, deal(d), err);
    else if (stand_in && !l->lane)
        return move_to(l, &ih_backend_cpu, stand_in, err);
    return IH_OK;
}

/* Waits for the start, opens the backend's lane and passes the staged bands on. */
static enum ih_status attach(struct ih_lane *l, struct ih_error *err)
{
    enum ih_status status = ih_device_wait(l->device, err);
    const struct ih_backend *b = l->device->backend;
    if (status == IH_OK)
        status = move_to(l, b, deal(l->device), err);
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
    enum ih_status status = settle(l, err);
    return status == IH_OK && l->lane ? l->backend->begin(l->lane, spec, err) : status;
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
    return l->backend->band(l->lane, min_bytes, pixels, size_bytes, err);
}

enum ih_status ih_lane_count(struct ih_lane *l, size_t n_pixels, struct ih_error *err)
{
    if (!l->band_is_staged)
        return l->backend->count(l->lane, n_pixels, err);
    l->staged[l->n_counted++].n_pixels = n_pixels;
    l->band_is_staged = false;
    return IH_OK;
}

bool ih_lane_takes_planes(const struct ih_lane *l)
{
    return l->lane && l->backend->takes_planes && l->backend->takes_planes(l->unit);
}

enum ih_status ih_lane_count_planes(struct ih_lane *l, const struct ih_planes *planes,
                                    struct ih_error *err)
{
    assert(!l->band_is_staged);
    return l->backend->count_planes(l->lane, planes, err);
}

enum ih_status ih_lane_end(struct ih_lane *l, struct ih_histogram *out, const char **kernel,
                           struct ih_error *err)
{
    if (!l->lane) {
        enum ih_status status = attach(l, err);
        if (status != IH_OK)
            return status;
    }
    enum ih_status status = l->backend->end(l->lane, out, kernel, err);
    if (status == IH_OK && !ih_histogram_consistent(out))
        return ih_error_set(err, IH_DEVICE, "counting failed: %s gave counts that do not add up",
                            ih_lane_description(l));
    return status;
}
