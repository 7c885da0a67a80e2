/*
 * A device that starts slowly, without a GPU: a backend that counts with the CPU backend's lanes
 * and starts when the test releases it.
 */
#ifndef IH_TESTS_SLOW_DEVICE_H
#define IH_TESTS_SLOW_DEVICE_H

#include "tests/support/test.h"

#include "device/backend.h"
#include <pthread.h>
#include <time.h>

enum { A_DAY_MS = 24 * 3600 * 1000, A_MOMENT_MS = 1 };

static struct {
    bool is_held;   /* a start waits while this is set, at most ten seconds */
    bool is_broken; /* the start fails */

    pthread_mutex_t lock;
    pthread_cond_t on_change;
    bool has_no_memory; /* for lanes */
    unsigned n_starts;
    bool was_held_too_long;
} fake;

static inline void be(bool is_held)
{
    memset(&fake, 0, sizeof fake);
    fake.is_held = is_held;
    pthread_mutex_init(&fake.lock, NULL);
    pthread_cond_init(&fake.on_change, NULL);
}

static inline struct timespec in_ten_seconds(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    return until;
}

static inline enum ih_status fake_n_units(int *n, struct ih_error *err)
{
    *n = 1;
    return IH_OK;
}

static inline enum ih_status fake_start(const struct ih_backend_options *options, int ordinal,
                                        void **state, struct ih_error *err)
{
    const struct timespec until = in_ten_seconds();
    int error = 0;
    pthread_mutex_lock(&fake.lock);
    fake.n_starts++;
    pthread_cond_broadcast(&fake.on_change);
    while (fake.is_held && error == 0)
        error = pthread_cond_timedwait(&fake.on_change, &fake.lock, &until);
    fake.was_held_too_long = error != 0;
    pthread_mutex_unlock(&fake.lock);
    if (fake.is_broken)
        return ih_error_set(err, IH_DEVICE, "a bead is missing");
    const struct ih_backend_options any_kernel = {.n_idle_cores = options->n_idle_cores};
    return ih_backend_cpu.start(&any_kernel, ordinal, state, err);
}

static inline void release(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.is_held = false;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

/* Waits until the start has begun, at most ten seconds. */
static inline void wait_until_it_begins(void)
{
    const struct timespec until = in_ten_seconds();
    int error = 0;
    pthread_mutex_lock(&fake.lock);
    while (fake.n_starts == 0 && error == 0)
        error = pthread_cond_timedwait(&fake.on_change, &fake.lock, &until);
    pthread_mutex_unlock(&fake.lock);
    assert_int_equal(error, 0);
}

static inline enum ih_status fake_lane_open(void *state, void **lane, struct ih_error *err)
{
    return fake.has_no_memory ? ih_error_set(err, IH_MEMORY, "no beads are left")
                              : ih_backend_cpu.lane_open(state, lane, err);
}

static inline const char *fake_describe(void *state)
{
    assert_non_null(state);
    return "fake:0 Abacus 9000";
}

static inline bool fake_takes_planes(void *state)
{
    assert_non_null(state);
    return false;
}

static inline struct ih_device *device_of(struct ih_device_options options)
{
    static const struct ih_kernel_entry kernels[] = {
        {"tables", "for tests"}, {"beads", "for tests"}, {NULL, NULL}};
    static struct ih_backend backend;
    static const struct ih_backend *const list[] = {&backend, &ih_backend_cpu, NULL};
    struct ih_device *device = NULL;
    struct ih_error err;
    backend = ih_backend_cpu;
    backend.name = "fake";
    backend.kernels = kernels;
    backend.n_units = fake_n_units;
    backend.start = fake_start;
    backend.describe = fake_describe;
    backend.lane_open = fake_lane_open;
    backend.takes_planes = fake_takes_planes;
    options.backends = list;
    assert_int_equal(ih_device_open(&options, &device, &err), IH_OK);
    return device;
}

#endif
