/*
 * Devices of several units, without a GPU: a backend that counts with the CPU backend's lanes,
 * starts when the test releases it, fails if a test asks for it, and records what it did.
 */
#ifndef IH_TESTS_FAKE_DEVICE_H
#define IH_TESTS_FAKE_DEVICE_H

#include "tests/support/test.h"

#include "device/backend.h"
#include <pthread.h>
#include <time.h>

enum { UNITS = 5, A_DAY_MS = 24 * 3600 * 1000, A_MOMENT_MS = 1 };

/* What a test asks of the backend, and what the backend has recorded. */
static struct {
    int n_units;  /* 0: none, as without a driver */
    bool is_held; /* a start waits while this is set */
    bool is_broken[UNITS];
    const char *models[UNITS]; /* NULL: "Abacus 9000" */
    unsigned n_meeting;        /* each start waits until so many have begun */
    bool has_no_memory;        /* for lanes */

    pthread_mutex_t lock;
    pthread_cond_t on_change;
    unsigned n_starts;       /* that have begun */
    bool has_waited_in_vain; /* a start, for ten seconds */
    char started[UNITS + 1]; /* 'x' for a unit that started, '!' for one that failed */
    bool is_running[UNITS];
} fake;

struct fake_unit {
    int ordinal;
    void *inner;
    char text[40];
};

static inline void be(int n_units, bool is_held)
{
    memset(&fake, 0, sizeof fake);
    fake.n_units = n_units;
    fake.is_held = is_held;
    memset(fake.started, '.', UNITS);
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
    *n = fake.n_units;
    return *n ? IH_OK : ih_error_set(err, IH_UNAVAILABLE, "no abacus here");
}

static inline enum ih_status fake_start(const struct ih_backend_options *options, int ordinal,
                                        void **state, struct ih_error *err)
{
    static struct fake_unit units[UNITS];
    struct fake_unit *u = &units[ordinal];
    const struct ih_backend_options any_kernel = {.n_idle_cores = options->n_idle_cores};
    const struct timespec until = in_ten_seconds();
    int error = 0;
    pthread_mutex_lock(&fake.lock);
    fake.n_starts++;
    pthread_cond_broadcast(&fake.on_change);
    while ((fake.is_held || fake.n_starts < fake.n_meeting) && error == 0)
        error = pthread_cond_timedwait(&fake.on_change, &fake.lock, &until);
    fake.has_waited_in_vain |= error != 0;
    fake.is_running[ordinal] = !fake.is_broken[ordinal] && error == 0;
    fake.started[ordinal] = fake.is_running[ordinal] ? 'x' : '!';
    pthread_mutex_unlock(&fake.lock);
    if (!fake.is_running[ordinal])
        return ih_error_set(err, IH_DEVICE, error ? "waited in vain" : "a bead is missing");
    u->ordinal = ordinal;
    snprintf(u->text, sizeof u->text, "fake:%d %s", ordinal,
             fake.models[ordinal] ? fake.models[ordinal] : "Abacus 9000");
    *state = u;
    return ih_backend_cpu.start(&any_kernel, 0, &u->inner, err);
}

static inline void fake_stop(void *state)
{
    struct fake_unit *u = state;
    (ih_backend_cpu.stop)(u->inner); /* cmocka 2 has a macro of this name */
    fake.is_running[u->ordinal] = false;
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
    struct fake_unit *u = state;
    assert_true(fake.is_running[u->ordinal]);
    return fake.has_no_memory ? ih_error_set(err, IH_MEMORY, "no beads are left")
                              : ih_backend_cpu.lane_open(u->inner, lane, err);
}

static inline const char *fake_describe(void *state)
{
    return ((struct fake_unit *)state)->text;
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
    backend.stop = fake_stop;
    backend.describe = fake_describe;
    backend.lane_open = fake_lane_open;
    backend.takes_planes = fake_takes_planes;
    backend.make_keys = NULL; /* as that of a GPU */
    options.backends = list;
    assert_int_equal(ih_device_open(&options, &device, &err), IH_OK);
    return device;
}

/* ---- lanes ---- */

static const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};

static inline struct ih_lane *lane_of(struct ih_device *device)
{
    struct ih_lane *lane = NULL;
    struct ih_error err;
    assert_int_equal(ih_lane_open(device, &lane, &err), IH_OK);
    return lane;
}

static inline void begin(struct ih_lane *lane)
{
    struct ih_error err;
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
}

/* Counts one white pixel and ends the image. */
static inline void count_and_end(struct ih_lane *lane)
{
    struct ih_histogram h;
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    const char *kernel;
    assert_int_equal(ih_lane_stripe(lane, 3, &pixels, &size_bytes, &err), IH_OK);
    memset(pixels, 255, 3);
    assert_int_equal(ih_lane_count(lane, 1, &err), IH_OK);
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    assert_int_equal(h.n_pixels, 1);
    assert_int_equal(h.all_high, 1);
    ih_histogram_reset(&h);
    assert_string_equal(kernel, "tables");
}

static inline void assert_counts(struct ih_lane *lane, const char *counted_by)
{
    begin(lane);
    count_and_end(lane);
    assert_string_equal(ih_lane_description(lane), counted_by);
}

#endif
