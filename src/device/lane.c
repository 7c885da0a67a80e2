/*
 * Lanes. A lane is one worker's connection to a device. Each call goes to the backend's lane on the
 * unit, a GPU or the CPU, that the lane is bound to.
 *
 * A GPU needs a few hundred milliseconds to start. A worker does not wait for it:
 *
 * - If the device has a stand-in (the CPU), the lane is bound to that first. After the start, the
 *   lane is bound to a GPU when its next image begins. An image is never split between two units.
 * - If there is no stand-in, the lane hands out stripes in plain memory and keeps them. It waits
 * for the start only when these staged stripes take too much memory, or at the end of the image.
 * Then it copies them to the GPU.
 *
 * With several GPUs, each lane in turn is bound to the next one and stays with it. A slower GPU
 * slows its own workers only: the others take more inputs.
 */
#include "device/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGED_STRIPE_BYTES = 1 << 20,
    STAGED_BYTES_MAX = 64 << 20, /* in all lanes of a device */
    KEYS_PIXELS = 1 << 19 /* of fewer, a pass over the samples takes less than one over the bins */
};

/* A stripe in plain memory, for a unit that has not started. */
struct staged_stripe {
    uint8_t *pixels; /* owned */
    size_t size_bytes, n_pixels;
};

struct ih_lane {
    struct ih_device *device;
    struct ih_count_spec spec;
    const struct ih_backend *backend;
    void *unit;                   /* that the lane is bound to: the device's, or the stand-in */
    void *lane;                   /* the backend's lane on it; NULL: bound to none yet */
    bool makes_keys;              /* of samples of this image */
    struct staged_stripe *staged; /* [n_staged], owned */
    size_t n_staged;              /* stripes allocated for this image */
    size_t n_counted;             /* those filled: ih_lane_count has their pixels */
    bool stripe_is_staged;        /* ih_lane_stripe has handed out staged[n_counted] */
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

static void *next_unit(struct ih_device *d)
{
    pthread_mutex_lock(&d->lock);
    void *unit = d->units[d->n_assigned++ % d->n_units];
    pthread_mutex_unlock(&d->lock);
    return unit;
}

/* Binds the lane to a unit. On failure it keeps the unit it had. */
static enum ih_status bind(struct ih_lane *l, const struct ih_backend *b, void *unit,
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

/* Whether a unit of the device, which has started, cannot count the image's bands or native
 * samples.
 */
static bool needs_cpu(const struct ih_lane *l)
{
    const struct ih_device *d = l->device;
    if (!ih_layout_is_plain(l->spec.layout))
        return d->backend != &ih_backend_cpu;
    if (ih_sample_bytes(l->spec.type) == 1 || !d->backend->takes_native)
        return false;
    if (l->spec.type == IH_FLOAT32)
        return true;
    unsigned i = 0;
    while (i < d->n_units && d->backend->takes_native(d->units[i]))
        i++;
    return i < d->n_units;
}

/* The lane goes back to the device with the next image of 8 bits. */
static enum ih_status choose_cpu(struct ih_lane *l, struct ih_error *err)
{
    void *unit;
    if (l->lane && l->backend == &ih_backend_cpu)
        return IH_OK;
    const enum ih_status status = ih_device_cpu(l->device, &unit, err);
    return status == IH_OK ? bind(l, &ih_backend_cpu, unit, err) : status;
}

/* Called at the start of an image; never waits. Binds the lane to a unit of the device if it has
 * started, otherwise to the stand-in. If the unit has no memory for another lane, the stand-in
 * counts this image too. Without a start and a stand-in, the lane stays unbound. */
static enum ih_status choose_unit(struct ih_lane *l, struct ih_error *err)
{
    struct ih_device *d = l->device;
    pthread_mutex_lock(&d->lock);
    void *const stand_in = d->stand_in;
    const bool has_started = d->is_started && d->status == IH_OK;
    pthread_mutex_unlock(&d->lock);
    if (has_started && needs_cpu(l))
        return choose_cpu(l, err);
    if (has_started && l->lane && l->backend == &ih_backend_cpu && d->backend != &ih_backend_cpu)
        bind(l, d->backend, next_unit(d), NULL);
    if (l->lane || (!has_started && !stand_in))
        return IH_OK;
    return has_started ? bind(l, d->backend, next_unit(d), err)
                       : bind(l, &ih_backend_cpu, stand_in, err);
}

/* Copies a staged stripe to buffers of the backend, which may be smaller, and counts it. */
static enum ih_status count_staged(struct ih_lane *l, const struct staged_stripe *staged,
                                   struct ih_error *err)
{
    const size_t pixel_bytes = ih_pixel_bytes(l->spec.layout.n_channels, l->spec.type);
    const uint8_t *from = staged->pixels;
    enum ih_status status = IH_OK;
    for (size_t n_left = staged->n_pixels, n; status == IH_OK && n_left > 0; n_left -= n) {
        uint8_t *to;
        size_t size_bytes;
        status = l->backend->stripe(l->lane, pixel_bytes, &to, &size_bytes, err);
        if (status != IH_OK)
            return status;
        n = size_bytes / pixel_bytes < n_left ? size_bytes / pixel_bytes : n_left;
        memcpy(to, from, n * pixel_bytes);
        status = l->backend->count(l->lane, n, err);
        from += n * pixel_bytes;
    }
    return status;
}

/* Waits for the start, binds the lane, counts the staged stripes and frees them. */
static enum ih_status attach(struct ih_lane *l, struct ih_error *err)
{
    enum ih_status status = ih_device_wait(l->device, err);
    if (status == IH_OK)
        status = needs_cpu(l) ? choose_cpu(l, err)
                              : bind(l, l->device->backend, next_unit(l->device), err);
    if (status == IH_OK)
        status = l->backend->begin(l->lane, &l->spec, err);
    if (status == IH_OK && l->makes_keys && l->backend->make_keys)
        l->backend->make_keys(l->lane);
    for (size_t i = 0; status == IH_OK && i < l->n_counted; i++)
        status = count_staged(l, &l->staged[i], err);
    drop_staged(l);
    return status;
}

enum ih_status ih_lane_begin(struct ih_lane *l, const struct ih_count_spec *spec,
                             struct ih_error *err)
{
    assert(spec->layout.n_channels >= 1 && spec->layout.n_channels <= IH_CHANNELS_MAX);
    assert(spec->clip_low < spec->clip_high);
    if (l->n_staged > 0)
        drop_staged(l);
    l->spec = *spec;
    l->makes_keys = false;
    const enum ih_status status = choose_unit(l, err);
    return status == IH_OK && l->lane ? l->backend->begin(l->lane, spec, err) : status;
}

/* The CPU counts samples as they are stored and makes keys when it folds its tables, at no cost. Of
 * further bands, and of a GPU, the bins become those of keys in the end, and a GPU makes no luma of
 * samples without keys. */
bool ih_lane_make_keys(struct ih_lane *l, uint64_t n_pixels)
{
    const bool has_luma = l->spec.layout.n_colours == 3 && l->spec.luma != &ih_luma_none;
    const bool is_early = l->lane && l->backend->make_keys;
    const bool is_free = is_early && ih_layout_is_plain(l->spec.layout);
    l->makes_keys = ih_sample_bytes(l->spec.type) == 2 && !ih_is_unsigned(l->spec.type) &&
                    (is_free || n_pixels >= KEYS_PIXELS) && (is_early || !has_luma);
    if (l->makes_keys && is_early)
        l->backend->make_keys(l->lane);
    return l->makes_keys;
}

/* Allocates a staged stripe. Returns NULL if the device has started, if the staged stripes of all
 * lanes would take more than STAGED_BYTES_MAX, or if memory is short. The caller then waits for the
 * start. */
static struct staged_stripe *stage(struct ih_lane *l, size_t size_bytes)
{
    struct ih_device *d = l->device;
    struct staged_stripe *staged = realloc(l->staged, (l->n_staged + 1) * sizeof *staged);
    if (!staged)
        return NULL;
    l->staged = staged;
    staged += l->n_staged;
    *staged = (struct staged_stripe){.size_bytes = size_bytes};
    pthread_mutex_lock(&d->lock);
    if (!d->is_started && size_bytes <= STAGED_BYTES_MAX - d->staged_bytes)
        staged->pixels = malloc(size_bytes);
    d->staged_bytes += staged->pixels ? size_bytes : 0;
    pthread_mutex_unlock(&d->lock);
    l->n_staged += staged->pixels ? 1 : 0;
    return staged->pixels ? staged : NULL;
}

enum ih_status ih_lane_stripe(struct ih_lane *l, size_t min_bytes, uint8_t **pixels,
                              size_t *size_bytes, struct ih_error *err)
{
    l->stripe_is_staged = false;
    if (!l->lane) { /* the device had not started when the image began */
        size_t wanted = min_bytes > STAGED_STRIPE_BYTES ? min_bytes : STAGED_STRIPE_BYTES;
        const struct staged_stripe *staged =
            l->n_staged > l->n_counted ? &l->staged[l->n_counted] : stage(l, wanted);
        if (staged && staged->size_bytes >= min_bytes) {
            l->stripe_is_staged = true;
            *pixels = staged->pixels;
            *size_bytes = staged->size_bytes;
            return IH_OK;
        }
        enum ih_status status = attach(l, err);
        if (status != IH_OK)
            return status;
    }
    return l->backend->stripe(l->lane, min_bytes, pixels, size_bytes, err);
}

enum ih_status ih_lane_count(struct ih_lane *l, size_t n_pixels, struct ih_error *err)
{
    if (!l->stripe_is_staged)
        return l->backend->count(l->lane, n_pixels, err);
    l->staged[l->n_counted++].n_pixels = n_pixels;
    l->stripe_is_staged = false;
    return IH_OK;
}

bool ih_lane_counts_here(const struct ih_lane *l)
{
    return l->lane && l->backend->count_here;
}

void ih_lane_count_here(struct ih_lane *l, const uint8_t *const samples[], size_t n_pixels,
                        size_t n_rows, ptrdiff_t row_stride_bytes)
{
    l->backend->count_here(l->lane, samples, n_pixels, n_rows, row_stride_bytes);
}

bool ih_lane_takes_planes(const struct ih_lane *l)
{
    return l->lane && ih_sample_bytes(l->spec.type) == 1 && l->backend->takes_planes &&
           l->backend->takes_planes(l->unit);
}

enum ih_status ih_lane_count_planes(struct ih_lane *l, const struct ih_planes *planes,
                                    struct ih_error *err)
{
    assert(!l->stripe_is_staged);
    return l->backend->count_planes(l->lane, planes, err);
}

enum ih_status ih_lane_end(struct ih_lane *l, struct ih_histogram *out, const char **kernel,
                           struct ih_error *err)
{
    if (!l->lane) {
        const enum ih_status status = attach(l, err);
        if (status != IH_OK)
            return status;
    }
    const enum ih_status status = l->backend->end(l->lane, out, kernel, err);
    if (status == IH_OK && l->makes_keys && !l->backend->make_keys)
        ih_histogram_sum_up(out, true);
    if (status == IH_OK && !ih_histogram_consistent(out)) {
        ih_histogram_reset(out);
        return ih_error_set(err, IH_DEVICE, "counting failed: the counts of %s do not add up",
                            ih_lane_description(l));
    }
    return status;
}
