/*
 * Devices of several units, without any GPU: backends of the tests, which count with the CPU
 * backend's lanes, take notes, and fail where a test wants it.
 */
#define _POSIX_C_SOURCE 200809L

#include "device/backend.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { UNITS = 5 };

/* What a test wants of its backend, and the notes. */
static struct {
    int n_units; /* 0: none, as without a driver */
    bool is_broken[UNITS];
    const char *kinds[UNITS]; /* NULL: "Abacus 9000" */
    long start_ms;
    unsigned n_meeting; /* a start waits until as many have begun */

    pthread_mutex_t lock;
    pthread_cond_t on_start;
    unsigned n_begun;
    char started[UNITS + 1]; /* 'x' where a unit has been started, '!' where it was tried */
    bool is_running[UNITS];
} fake;

struct fake_unit {
    int ordinal;
    void *inner;
    char text[40];
};

static void be(int n_units)
{
    memset(&fake, 0, sizeof fake);
    fake.n_units = n_units;
    memset(fake.started, '.', UNITS);
    pthread_mutex_init(&fake.lock, NULL);
    pthread_cond_init(&fake.on_start, NULL);
}

static enum ih_status fake_n_units(int *n, struct ih_error *err)
{
    *n = fake.n_units;
    return *n ? IH_OK : ih_error_set(err, IH_UNAVAILABLE, "no abacus here");
}

/* Up to five seconds until n_meeting starts are under way at once. */
static bool meet(void)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    pthread_mutex_lock(&fake.lock);
    fake.n_begun++;
    pthread_cond_broadcast(&fake.on_start);
    while (fake.n_begun < fake.n_meeting && error == 0)
        error = pthread_cond_timedwait(&fake.on_start, &fake.lock, &until);
    pthread_mutex_unlock(&fake.lock);
    return error == 0;
}

static enum ih_status fake_start(const struct ih_backend_options *options, int ordinal,
                                 void **state, struct ih_error *err)
{
    static struct fake_unit units[UNITS];
    struct fake_unit *u = &units[ordinal];
    const struct timespec a_while = {.tv_nsec = fake.start_ms * 1000 * 1000};
    bool have_met = meet();
    nanosleep(&a_while, NULL);
    pthread_mutex_lock(&fake.lock);
    fake.started[ordinal] = fake.is_broken[ordinal] || !have_met ? '!' : 'x';
    fake.is_running[ordinal] = fake.started[ordinal] == 'x';
    pthread_mutex_unlock(&fake.lock);
    if (!have_met)
        return ih_error_set(err, IH_DEVICE, "alone");
    if (fake.is_broken[ordinal])
        return ih_error_set(err, IH_DEVICE, "a bead is missing");
    u->ordinal = ordinal;
    snprintf(u->text, sizeof u->text, "fake:%d %s", ordinal,
             fake.kinds[ordinal] ? fake.kinds[ordinal] : "Abacus 9000");
    *state = u;
    return ih_backend_cpu.start(options, 0, &u->inner, err);
}

static void fake_stop(void *state)
{
    struct fake_unit *u = state;
    ih_backend_cpu.stop(u->inner);
    fake.is_running[u->ordinal] = false;
}

static const char *fake_describe(void *state)
{
    return ((struct fake_unit *)state)->text;
}

static enum ih_status fake_lane_open(void *state, void **lane, struct ih_error *err)
{
    struct fake_unit *u = state;
    assert_true(fake.is_running[u->ordinal]);
    return ih_backend_cpu.lane_open(u->inner, lane, err);
}

/* A backend that counts as the CPU's does, by the name of its one kernel. */
static const struct ih_backend *const *fakes(void)
{
    static const struct ih_kernel_entry kernels[] = {{"reference", "for tests"}, {NULL, NULL}};
    static struct ih_backend fake_backend;
    static const struct ih_backend *const list[] = {&fake_backend, &ih_backend_cpu, NULL};
    fake_backend = ih_backend_cpu;
    fake_backend.name = "fake";
    fake_backend.kernels = kernels;
    fake_backend.n_units = fake_n_units;
    fake_backend.start = fake_start;
    fake_backend.stop = fake_stop;
    fake_backend.describe = fake_describe;
    fake_backend.lane_open = fake_lane_open;
    return list;
}

static struct ih_device *device_of(struct ih_device_options options)
{
    struct ih_device *device = NULL;
    struct ih_error err;
    options.backends = fakes();
    assert_int_equal(ih_device_open(&options, &device, &err), IH_OK);
    return device;
}

/* One started device; the units tried are `started`, and none is left running after its close. */
static void assert_starts(struct ih_device_options options, enum ih_status status,
                          const char *started, const char *description, const char *reason)
{
    struct ih_error err = {0};
    struct ih_device *device = device_of(options);
    assert_int_equal(ih_device_wait(device, &err), status);
    assert_string_equal(fake.started, started);
    if (status == IH_OK) {
        assert_string_equal(ih_device_description(device), description);
        assert_string_equal(ih_device_fallback_reason(device), reason);
    } else {
        assert_string_equal(err.message, reason);
    }
    ih_device_close(device);
    for (size_t i = 0; i < UNITS; i++)
        assert_false(fake.is_running[i]);
}

/* ---- tests ---- */

static void test_one_lane_starts_one_unit(void **state)
{
    (void)state;
    be(3);
    assert_starts((struct ih_device_options){.n_lanes = 1}, IH_OK, "x....", "fake:0 Abacus 9000",
                  "");
    be(3); /* so it is where the caller does not say */
    assert_starts((struct ih_device_options){.n_lanes = 0}, IH_OK, "x....", "fake:0 Abacus 9000",
                  "");
}

static void test_as_many_units_as_lanes(void **state)
{
    (void)state;
    be(3);
    assert_starts((struct ih_device_options){.n_lanes = 2}, IH_OK, "xx...",
                  "fake:0,1 2 x Abacus 9000", "");
    be(3);
    assert_starts((struct ih_device_options){.n_lanes = 16}, IH_OK, "xxx..",
                  "fake:0,1,2 3 x Abacus 9000", "");
}

static void test_units_of_several_kinds(void **state)
{
    (void)state;
    be(2);
    fake.kinds[1] = "Abacus 9000 Ti";
    assert_starts((struct ih_device_options){.backend = "fake", .n_lanes = 2}, IH_OK, "xx...",
                  "fake:0 Abacus 9000, fake:1 Abacus 9000 Ti", "");
}

static void test_units_start_side_by_side(void **state)
{
    (void)state;
    be(3);
    fake.n_meeting = 3;
    assert_starts((struct ih_device_options){.n_lanes = 3}, IH_OK, "xxx..",
                  "fake:0,1,2 3 x Abacus 9000", "");
}

static void test_broken_unit_is_left_out(void **state)
{
    (void)state;
    be(4);
    fake.is_broken[1] = true;
    assert_starts((struct ih_device_options){.n_lanes = 2}, IH_OK, "x!x..",
                  "fake:0,2 2 x Abacus 9000", "fake:1: a bead is missing");
    be(3);
    fake.is_broken[0] = true; /* one file, and the first GPU is out of order */
    assert_starts((struct ih_device_options){.n_lanes = 1}, IH_OK, "!x...", "fake:1 Abacus 9000",
                  "fake:0: a bead is missing");
}

static void test_all_broken_falls_back_or_fails(void **state)
{
    (void)state;
    be(2);
    fake.is_broken[0] = fake.is_broken[1] = true;
    assert_starts((struct ih_device_options){.n_lanes = 8}, IH_OK, "!!...", "cpu",
                  "fake:0: a bead is missing");
    be(2);
    fake.is_broken[0] = fake.is_broken[1] = true;
    assert_starts((struct ih_device_options){.backend = "fake", .n_lanes = 8}, IH_UNAVAILABLE,
                  "!!...", NULL, "fake:0: a bead is missing");
}

static void test_no_units(void **state)
{
    (void)state;
    be(0);
    assert_starts((struct ih_device_options){.n_lanes = 2}, IH_OK, ".....", "cpu",
                  "no abacus here");
    be(0);
    assert_starts((struct ih_device_options){.backend = "fake"}, IH_UNAVAILABLE, ".....", NULL,
                  "no abacus here");
}

static void test_named_units(void **state)
{
    (void)state;
    struct ih_device_options options = {
        .backend = "fake", .ordinals = {2, 0}, .n_ordinals = 2, .n_lanes = 8};
    be(3);
    assert_starts(options, IH_OK, "x.x..", "fake:2,0 2 x Abacus 9000", "");
    options.n_lanes = 1;
    be(3);
    assert_starts(options, IH_OK, "..x..", "fake:2 Abacus 9000", "");
}

static void test_named_unit_that_fails(void **state)
{
    (void)state;
    const struct ih_device_options options = {
        .backend = "fake", .ordinals = {0, 1}, .n_ordinals = 2, .n_lanes = 8};
    be(3);
    fake.is_broken[1] = true;
    assert_starts(options, IH_UNAVAILABLE, "x!...", NULL, "fake:1: a bead is missing");
}

/* Even where no lane would have come to it. */
static void test_named_unit_that_is_not_there(void **state)
{
    (void)state;
    const struct ih_device_options options = {
        .backend = "fake", .ordinals = {0, 3}, .n_ordinals = 2, .n_lanes = 1};
    be(3);
    assert_starts(options, IH_UNAVAILABLE, ".....", NULL,
                  "no device fake:3: this machine shows 3, counted from 0");
}

/* An image of one white pixel through a lane. */
static void count_one(struct ih_lane *lane)
{
    const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255};
    struct ih_histogram h;
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    const char *kernel;
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
    assert_int_equal(ih_lane_band(lane, 3, &pixels, &size_bytes, &err), IH_OK);
    memset(pixels, 255, 3);
    assert_int_equal(ih_lane_count(lane, 1, &err), IH_OK);
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    assert_int_equal(h.n_pixels, 1);
    assert_int_equal(h.all_high, 1);
}

/* Whether they begin before the start or after it. */
static void test_lanes_are_dealt_in_turn(void **state)
{
    (void)state;
    enum { LANES = 3 }; /* no multiple of the units: a lane that is dealt anew would change */
    static const char *const expected[] = {"fake:0 Abacus 9000", "fake:1 Abacus 9000"};
    for (long start_ms = 0; start_ms <= 50; start_ms += 50) {
        struct ih_lane *lanes[LANES];
        struct ih_error err;
        be(2);
        fake.start_ms = start_ms;
        struct ih_device *device =
            device_of((struct ih_device_options){.backend = "fake", .n_lanes = LANES});
        for (size_t i = 0; i < LANES; i++)
            assert_int_equal(ih_lane_open(device, &lanes[i], &err), IH_OK);
        for (size_t i = 0; i < 2 * LANES; i++) { /* a lane stays where it is */
            count_one(lanes[i % LANES]);
            assert_string_equal(ih_lane_description(lanes[i % LANES]), expected[i % LANES % 2]);
        }
        for (size_t i = 0; i < LANES; i++)
            ih_lane_close(lanes[i]);
        ih_device_close(device);
    }
}

/* Fills the next band with all values in turn, from `first` on. */
static size_t count_band(struct ih_lane *lane, unsigned first)
{
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    assert_int_equal(ih_lane_band(lane, 3, &pixels, &size_bytes, &err), IH_OK);
    const size_t n_each = size_bytes / 3 / IH_BINS, n = n_each * IH_BINS;
    for (size_t i = 0; i < 3 * n; i++)
        pixels[i] = (uint8_t)(first + i / 3 / n_each);
    assert_int_equal(ih_lane_count(lane, n, &err), IH_OK);
    return n;
}

/* Bands that wait for the start are larger than the backend's, and are dropped with their image. */
static void test_bands_before_the_start(void **state)
{
    (void)state;
    const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255};
    struct ih_histogram h;
    struct ih_lane *lane;
    struct ih_error err;
    const char *kernel;
    size_t n = 0;
    be(1);
    fake.start_ms = 200;
    struct ih_device *device =
        device_of((struct ih_device_options){.backend = "fake", .n_lanes = 1});
    assert_int_equal(ih_lane_open(device, &lane, &err), IH_OK);
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
    count_band(lane, 0); /* of an image that is given up */
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
    for (unsigned i = 0; i < 3; i++)
        n += count_band(lane, 50 * i);
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    assert_int_equal(h.n_pixels, n);
    for (unsigned v = 0; v < IH_BINS; v++)
        assert_int_equal(h.bins[1][v], n / IH_BINS);
    ih_lane_close(lane);
    ih_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_lane_starts_one_unit),
        cmocka_unit_test(test_as_many_units_as_lanes),
        cmocka_unit_test(test_units_of_several_kinds),
        cmocka_unit_test(test_units_start_side_by_side),
        cmocka_unit_test(test_broken_unit_is_left_out),
        cmocka_unit_test(test_all_broken_falls_back_or_fails),
        cmocka_unit_test(test_no_units),
        cmocka_unit_test(test_named_units),
        cmocka_unit_test(test_named_unit_that_fails),
        cmocka_unit_test(test_named_unit_that_is_not_there),
        cmocka_unit_test(test_lanes_are_dealt_in_turn),
        cmocka_unit_test(test_bands_before_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
