/*
 * The CPU backend. A lane works in one of two ways:
 *
 * - In a batch each core has a worker. The lane is one stripe buffer and one counter, and the
 * worker counts the rows that it has just decoded, while they are in its second-level cache.
 * - With fewer inputs than cores, the lane takes an idle core and starts a thread on it. The
 *   thread counts one stripe while the worker decodes the next, so a JPEG of 15 megapixels takes
 *   little longer than its decoding.
 *
 * Buffers are kept from image to image and never shrink.
 */
#include "base/budget.h"
#include "count/count.h"
#include "count/count_bands.h"
#include "count/count_float.h"
#include "count/count_native.h"
#include "device/backend.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* A quarter of a 512 KiB second-level cache; the decoder and its tables use the rest. */
    CPU_STRIPE_BYTES = 128 * 1024,
    CPU_ALIGN_BYTES = 64, /* a cache line */
    /* One to decode into, one to count and one in reserve, which evens out slower stripes. */
    CPU_STRIPES = 3,
    YIELDS_BEFORE_SLEEP = 2000 /* about a millisecond */
};

/* METHOD(name, why), the best first. */
#define CPU_METHODS(METHOD)                                                                     \
    METHOD(tables, "several 32-bit tables a channel, luma and clips in one step, runs at once") \
    METHOD(reference, "one pixel and one channel at a time: the judge of all others")

#define AS_ENTRY(name, why) {#name, why},
#define AS_METHOD(name, why) &ih_count_##name,
static const struct ih_kernel_entry cpu_kernels[] = {CPU_METHODS(AS_ENTRY){NULL, NULL}};
static const struct ih_count_method *const cpu_methods[] = {CPU_METHODS(AS_METHOD)};

struct cpu_state {
    size_t index;             /* into cpu_kernels and cpu_methods */
    atomic_uint n_idle_cores; /* not yet taken by a lane */
};

struct cpu_stripe {
    uint8_t *pixels; /* owned; NULL until first used */
    size_t size_bytes;
    size_t n_pixels;         /* 0: the stripe holds planes */
    struct ih_planes planes; /* within pixels */
};

struct cpu_lane {
    struct ih_counter counter;
    struct ih_native_counter native; /* counts instead, if the image has native samples */
    struct ih_float_counter floats;  /* or float32 samples */
    struct ih_bands_counter bands;   /* or other bands */
    struct ih_count_spec spec;       /* of the image */
    size_t index;
    struct cpu_state *state;                /* borrowed */
    struct cpu_stripe stripes[CPU_STRIPES]; /* without a thread only the first is used */
    bool has_thread;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows; stripe i is in stripes[i % CPU_STRIPES] */
    pthread_cond_t on_change;
    atomic_ullong n_filled, n_counted; /* atomic because the thread also polls without the lock */
    bool is_closing;
};

/* Counts interleaved pixels. */
static void add_pixels(struct cpu_lane *l, const uint8_t *pixels, size_t n_pixels)
{
    if (l->spec.type == IH_FLOAT32)
        ih_float_add(&l->floats, pixels, n_pixels);
    else if (!ih_layout_is_plain(l->spec.layout))
        ih_bands_add(&l->bands, pixels, n_pixels);
    else if (ih_sample_bytes(l->spec.type) > 1)
        ih_native_add(&l->native, pixels, n_pixels);
    else
        ih_counter_add(&l->counter, pixels, n_pixels);
}

static void count_stripe(struct cpu_lane *l, const struct cpu_stripe *stripe)
{
    if (stripe->n_pixels > 0)
        add_pixels(l, stripe->pixels, stripe->n_pixels);
    else
        ih_counter_add_planes(&l->counter, &stripe->planes);
}

/* ---- the lane's thread ---- */

/*
 * Polls for the next stripe before the thread sleeps. A stripe comes every 150 us. A sleeping
 * thread often wakes on its worker's core and interrupts the decoding: 80 ms instead of 53 for a
 * JPEG of 15 megapixels. Yielding leaves the core to any other thread that is ready.
 */
static void poll_for_stripe(struct cpu_lane *l)
{
    for (int i = 0; i < YIELDS_BEFORE_SLEEP && l->n_counted == l->n_filled; i++)
        sched_yield();
}

static void *count_in_thread(void *lane)
{
    struct cpu_lane *l = lane;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        if (l->n_counted == l->n_filled && !l->is_closing) {
            pthread_mutex_unlock(&l->lock);
            poll_for_stripe(l);
            pthread_mutex_lock(&l->lock);
        }
        while (l->n_counted == l->n_filled && !l->is_closing)
            pthread_cond_wait(&l->on_change, &l->lock);
        if (l->n_counted == l->n_filled)
            break;
        const struct cpu_stripe *stripe = &l->stripes[l->n_counted % CPU_STRIPES];
        pthread_mutex_unlock(&l->lock);
        count_stripe(l, stripe);
        pthread_mutex_lock(&l->lock);
        l->n_counted++;
        pthread_cond_signal(&l->on_change);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Waits until at most n_left stripes are uncounted. With 0, the caller may then use the counter. */
static void wait_for_thread(struct cpu_lane *l, unsigned n_left)
{
    if (!l->has_thread)
        return;
    pthread_mutex_lock(&l->lock);
    while (l->n_filled - l->n_counted > n_left)
        pthread_cond_wait(&l->on_change, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

/* ---- the unit ---- */

/* All cores together are one unit: a lane runs on its worker's core. */
static enum ih_status cpu_n_units(int *n, struct ih_error *err)
{
    (void)err;
    *n = 1;
    return IH_OK;
}

static enum ih_status cpu_start(const struct ih_backend_options *options, int ordinal, void **state,
                                struct ih_error *err)
{
    (void)ordinal;
    const char *kernel = options->kernel ? options->kernel : cpu_kernels[0].name;
    size_t index = 0;
    while (cpu_kernels[index].name && strcmp(cpu_kernels[index].name, kernel) != 0)
        index++;
    if (!cpu_kernels[index].name)
        return ih_error_set(err, IH_UNAVAILABLE, "no CPU kernel \"%s\"", kernel);
    struct cpu_state *s = malloc(sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "starting the CPU backend: out of memory");
    s->index = index;
    atomic_init(&s->n_idle_cores, options->n_idle_cores);
    *state = s;
    return IH_OK;
}

static const char *cpu_describe(void *state)
{
    (void)state;
    return "cpu";
}

/* ---- a lane ---- */

static enum ih_status cpu_lane_open(void *state, void **lane, struct ih_error *err)
{
    struct cpu_state *s = state;
    struct cpu_lane *l = calloc(1, sizeof *l);
    if (!l)
        return ih_error_set(err, IH_MEMORY, "opening a CPU lane: out of memory");
    l->index = s->index;
    l->state = s;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->on_change, NULL);
    /* If no thread can be started, the worker counts. */
    if (ih_idle_core_take(&s->n_idle_cores)) {
        l->has_thread = pthread_create(&l->thread, NULL, count_in_thread, l) == 0;
        if (!l->has_thread)
            ih_idle_core_give(&s->n_idle_cores);
    }
    *lane = l;
    return IH_OK;
}

static void cpu_lane_close(void *lane)
{
    struct cpu_lane *l = lane;
    if (!l)
        return;
    if (l->has_thread) {
        pthread_mutex_lock(&l->lock);
        l->is_closing = true;
        pthread_cond_broadcast(&l->on_change);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
        ih_idle_core_give(&l->state->n_idle_cores);
    }
    for (unsigned i = 0; i < CPU_STRIPES; i++)
        free(l->stripes[i].pixels);
    ih_counter_reset(&l->counter);
    ih_native_reset(&l->native);
    ih_float_reset(&l->floats);
    ih_bands_reset(&l->bands);
    pthread_cond_destroy(&l->on_change);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static enum ih_status cpu_begin(void *lane, const struct ih_count_spec *spec, struct ih_error *err)
{
    struct cpu_lane *l = lane;
    wait_for_thread(l, 0); /* the thread may still count an abandoned image */
    l->spec = *spec;
    if (spec->type == IH_FLOAT32)
        return ih_float_begin(&l->floats, spec, err);
    if (!ih_layout_is_plain(spec->layout))
        return ih_bands_begin(&l->bands, spec, err);
    if (ih_sample_bytes(spec->type) > 1)
        return ih_native_begin(&l->native, spec, err);
    return ih_counter_begin(&l->counter, cpu_methods[l->index], spec, err);
}

static void cpu_make_keys(void *lane)
{
    struct cpu_lane *l = lane;
    l->native.has_bits = l->bands.has_bits = true; /* of the one that has begun */
}

/* Replaces the buffer. The old contents are not needed, so it is freed first to keep the peak low.
 * Below PTRDIFF_MAX, rounding up to a cache line cannot overflow. */
static enum ih_status grow(struct cpu_stripe *stripe, size_t min_bytes, struct ih_error *err)
{
    const size_t size_bytes = (min_bytes + CPU_ALIGN_BYTES - 1) / CPU_ALIGN_BYTES * CPU_ALIGN_BYTES;
    free(stripe->pixels);
    *stripe = (struct cpu_stripe){.pixels = NULL};
    if (min_bytes <= PTRDIFF_MAX - CPU_ALIGN_BYTES)
        stripe->pixels = aligned_alloc(CPU_ALIGN_BYTES, size_bytes);
    if (!stripe->pixels)
        return ih_error_set(err, IH_MEMORY, "a buffer of %zu bytes: out of memory", min_bytes);
    stripe->size_bytes = size_bytes;
    return IH_OK;
}

static struct cpu_stripe *next_stripe(struct cpu_lane *l)
{
    return &l->stripes[l->has_thread ? l->n_filled % CPU_STRIPES : 0];
}

static enum ih_status cpu_stripe(void *lane, size_t min_bytes, uint8_t **pixels, size_t *size_bytes,
                                 struct ih_error *err)
{
    struct cpu_lane *l = lane;
    wait_for_thread(l, CPU_STRIPES - 1); /* only this thread changes n_filled */
    struct cpu_stripe *stripe = next_stripe(l);
    enum ih_status status = IH_OK;
    if (!stripe->pixels || min_bytes > stripe->size_bytes)
        status = grow(stripe, min_bytes > CPU_STRIPE_BYTES ? min_bytes : CPU_STRIPE_BYTES, err);
    *pixels = stripe->pixels;
    *size_bytes = stripe->size_bytes;
    return status;
}

/* Counts the stripe that has just been filled, or hands it to the thread. */
static void count_next(struct cpu_lane *l)
{
    if (!l->has_thread) {
        count_stripe(l, next_stripe(l));
        return;
    }
    pthread_mutex_lock(&l->lock);
    l->n_filled++;
    pthread_cond_signal(&l->on_change);
    pthread_mutex_unlock(&l->lock);
}

static enum ih_status cpu_count(void *lane, size_t n_pixels, struct ih_error *err)
{
    struct cpu_lane *l = lane;
    struct cpu_stripe *stripe = next_stripe(l);
    (void)err;
    assert(n_pixels <=
           stripe->size_bytes / ih_pixel_bytes(l->spec.layout.n_channels, l->spec.type));
    if (n_pixels == 0)
        return IH_OK;
    stripe->n_pixels = n_pixels;
    count_next(l);
    return IH_OK;
}

/* In the calling thread: there is no stripe to fill meanwhile. */
static void cpu_count_here(void *lane, const uint8_t *const samples[], size_t n_pixels,
                           size_t n_rows, ptrdiff_t row_stride_bytes)
{
    struct cpu_lane *l = lane;
    wait_for_thread(l, 0);
    for (size_t y = 0; y < n_rows; y++) {
        const uint8_t *row[IH_PIXEL_CHANNELS_MAX] = {NULL};
        for (unsigned c = 0; c < IH_PIXEL_CHANNELS_MAX && samples[c]; c++)
            row[c] = samples[c] + (ptrdiff_t)y * row_stride_bytes;
        if (row[1])
            ih_counter_add_planar(&l->counter, row, n_pixels);
        else
            add_pixels(l, row[0], n_pixels);
    }
}

static bool cpu_takes_planes(void *state)
{
    const struct cpu_state *s = state;
    return ih_counter_takes_planes(cpu_methods[s->index]);
}

static enum ih_status cpu_count_planes(void *lane, const struct ih_planes *planes,
                                       struct ih_error *err)
{
    struct cpu_lane *l = lane;
    struct cpu_stripe *stripe = next_stripe(l);
    (void)err;
    assert(l->spec.layout.n_channels == 3 && ih_sample_bytes(l->spec.type) == 1);
    stripe->n_pixels = 0;
    stripe->planes = *planes;
    count_next(l);
    return IH_OK;
}

static enum ih_status cpu_end(void *lane, struct ih_histogram *out, const char **kernel,
                              struct ih_error *err)
{
    struct cpu_lane *l = lane;
    (void)err;
    wait_for_thread(l, 0);
    if (l->spec.type == IH_FLOAT32)
        ih_float_end(&l->floats, out);
    else if (!ih_layout_is_plain(l->spec.layout))
        ih_bands_end(&l->bands, out);
    else if (ih_sample_bytes(l->spec.type) > 1)
        ih_native_end(&l->native, out);
    else
        ih_counter_end(&l->counter, out);
    *kernel = cpu_kernels[l->index].name;
    return IH_OK;
}

const struct ih_backend ih_backend_cpu = {
    .name = "cpu",
    .kernels = cpu_kernels,
    .n_units = cpu_n_units,
    .start = cpu_start,
    .stop = free,
    .describe = cpu_describe,
    .lane_open = cpu_lane_open,
    .lane_close = cpu_lane_close,
    .begin = cpu_begin,
    .make_keys = cpu_make_keys,
    .stripe = cpu_stripe,
    .count = cpu_count,
    .count_here = cpu_count_here,
    .takes_planes = cpu_takes_planes,
    .count_planes = cpu_count_planes,
    .end = cpu_end,
};
