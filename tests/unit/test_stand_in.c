/*
 * The processor in the place of a device that takes long to start, without any GPU: a backend of
 * the tests that counts with the CPU backend's lanes and starts when a test lets it.
 */
#define _POSIX_C_SOURCE 200809L

#include "backend/backend.h"
#include "pipeline/pipeline.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { A_DAY_MS = 24 * 3600 * 1000, A_MOMENT_MS = 1 };

static struct {
    bool is_held;   /* a start ends only when this is no longer so; ten seconds at most */
    bool is_broken; /* it then fails */

    pthread_mutex_t lock;
    pthread_cond_t on_change;
    bool has_no_memory; /* for lanes */
    unsigned n_starts;
    bool was_held_too_long;
} fake;

static void be(bool is_held)
{
    memset(&fake, 0, sizeof fake);
    fake.is_held = is_held;
    pthread_mutex_init(&fake.lock, NULL);
    pthread_cond_init(&fake.on_change, NULL);
}

static struct timespec in_ten_seconds(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    return until;
}

static enum ih_status fake_n_units(int *n, struct ih_error *err)
{
    (void)err;
    *n = 1;
    return IH_OK;
}

static enum ih_status fake_start(const struct ih_backend_options *options, int ordinal,
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
    const struct ih_backend_options any_kernel = {.n_spare = options->n_spare};
    return ih_backend_cpu.start(&any_kernel, ordinal, state, err);
}

static void release(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.is_held = false;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

/* Up to ten seconds until the start has begun. */
static void wait_until_it_begins(void)
{
    const struct timespec until = in_ten_seconds();
    int error = 0;
    pthread_mutex_lock(&fake.lock);
    while (fake.n_starts == 0 && error == 0)
        error = pthread_cond_timedwait(&fake.on_change, &fake.lock, &until);
    pthread_mutex_unlock(&fake.lock);
    assert_int_equal(error, 0);
}

static enum ih_status fake_lane_open(void *state, void **lane, struct ih_error *err)
{
    return fake.has_no_memory ? ih_error_set(err, IH_MEMORY, "no beads are left")
                              : ih_backend_cpu.lane_open(state, lane, err);
}

static const char *fake_describe(void *state)
{
    assert_non_null(state);
    return "fake:0 Abacus 9000";
}

static bool fake_takes_planes(void *state)
{
    assert_non_null(state);
    return false;
}

static struct ih_device *device_of(struct ih_device_options options)
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

static struct ih_lane *lane_of(struct ih_device *device)
{
    struct ih_lane *lane = NULL;
    struct ih_error err;
    assert_int_equal(ih_lane_open(device, &lane, &err), IH_OK);
    return lane;
}

static void close_both(struct ih_device *device, struct ih_lane *lane)
{
    ih_lane_close(lane);
    ih_device_close(device);
}

static const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255};

static void begin(struct ih_lane *lane)
{
    struct ih_error err;
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
}

/* One white pixel of the image that has begun, and its end. */
static void count_and_end(struct ih_lane *lane)
{
    struct ih_histogram h;
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    const char *kernel;
    assert_int_equal(ih_lane_band(lane, 3, &pixels, &size_bytes, &err), IH_OK);
    memset(pixels, 255, 3);
    assert_int_equal(ih_lane_count(lane, 1, &err), IH_OK);
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    assert_int_equal(h.n_pixels, 1);
    assert_int_equal(h.all_high, 1);
    assert_string_equal(kernel, "tables");
}

static void assert_counts(struct ih_lane *lane, const char *counted_by)
{
    begin(lane);
    count_and_end(lane);
    assert_string_equal(ih_lane_description(lane), counted_by);
}

/* ---- lanes ---- */

/* An image is counted to its end by who began it. */
static void test_processor_counts_until_the_start(void **state)
{
    (void)state;
    struct ih_error err;
    be(true);
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_MOMENT_MS});
    struct ih_lane *lane = lane_of(device);
    assert_counts(lane, "cpu");
    assert_int_equal(ih_device_wait_usable(device, &err), IH_OK);
    wait_until_it_begins(); /* though nobody has asked for it */
    assert_true(ih_device_call_off(device));
    assert_counts(lane, "cpu");

    begin(lane);
    const bool takes_planes = ih_lane_takes_planes(lane);
    release();
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    assert_int_equal(ih_lane_takes_planes(lane), takes_planes);
    count_and_end(lane);
    assert_string_equal(ih_lane_description(lane), "cpu");
    assert_counts(lane, "fake:0 Abacus 9000");
    assert_false(ih_lane_takes_planes(lane));
    struct ih_lane *late = lane_of(device);
    assert_counts(late, "fake:0 Abacus 9000");
    assert_false(ih_device_call_off(device));
    assert_string_equal(ih_device_description(device), "fake:0 Abacus 9000");
    ih_lane_close(late);
    close_both(device, lane);
    assert_int_equal(fake.n_starts, 1);
    assert_false(fake.was_held_too_long);
}

/* So that the thread that starts the device comes to where it waits. */
static void give_way(void)
{
    const struct timespec a_while = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&a_while, NULL);
}

static void test_short_run_starts_nothing(void **state)
{
    (void)state;
    struct ih_error err;
    be(false);
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_DAY_MS});
    struct ih_lane *lane = lane_of(device);
    assert_counts(lane, "cpu");
    assert_int_equal(ih_device_wait_usable(device, &err), IH_OK);
    give_way(); /* to a start that should not be */
    assert_false(ih_device_call_off(device));
    close_both(device, lane);
    assert_int_equal(fake.n_starts, 0);
}

static void test_who_waits_has_it_started(void **state)
{
    (void)state;
    struct ih_error err;
    be(false);
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_DAY_MS});
    struct ih_lane *lane = lane_of(device);
    assert_counts(lane, "cpu");
    give_way();
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    assert_counts(lane, "fake:0 Abacus 9000");
    close_both(device, lane);
    assert_int_equal(fake.n_starts, 1);
}

static void test_processor_stays_where_nothing_starts(void **state)
{
    (void)state;
    struct ih_error err;
    be(false);
    fake.is_broken = true;
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_DAY_MS});
    struct ih_lane *lane = lane_of(device);
    assert_counts(lane, "cpu");
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    assert_counts(lane, "cpu");
    assert_string_equal(ih_device_description(device), "cpu");
    assert_string_equal(ih_device_fallback_reason(device), "a bead is missing");
    assert_int_equal(ih_device_wait_usable(device, &err), IH_OK);
    close_both(device, lane);
    assert_int_equal(fake.n_starts, 1);
}

/* A lane that the processor counts for stays there, a new one fails; both go on when there is
 * memory again. */
static void test_started_but_without_memory(void **state)
{
    (void)state;
    struct ih_error err;
    be(false);
    fake.has_no_memory = true;
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_DAY_MS});
    struct ih_lane *lane = lane_of(device);
    struct ih_lane *late = lane_of(device);
    assert_counts(lane, "cpu");
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    assert_counts(lane, "cpu");
    assert_int_equal(ih_lane_begin(late, &spec, &err), IH_MEMORY);
    assert_string_equal(err.message, "no beads are left");
    assert_false(ih_lane_takes_planes(late));
    fake.has_no_memory = false;
    assert_counts(lane, "fake:0 Abacus 9000");
    assert_counts(late, "fake:0 Abacus 9000");
    ih_lane_close(late);
    close_both(device, lane);
}

/* Where the caller has said who counts, or how, and the processor cannot, the start does not wait,
 * and images wait for it. */
static void test_nobody_else_counts(void **state)
{
    (void)state;
    static const struct ih_device_options options[] = {
        {.backend = "fake", .start_after_ms = A_DAY_MS},
        {.with = {.kernel = "beads"}, .start_after_ms = A_DAY_MS}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct ih_error err;
        be(true);
        struct ih_device *device = device_of(options[i]);
        struct ih_lane *lane = lane_of(device);
        begin(lane);
        assert_false(ih_lane_takes_planes(lane));
        wait_until_it_begins();
        release();
        count_and_end(lane);
        assert_string_equal(ih_lane_description(lane), "fake:0 Abacus 9000");
        assert_int_equal(ih_device_wait_usable(device, &err), IH_OK);
        close_both(device, lane);

        be(false);
        fake.is_broken = true;
        device = device_of(options[i]);
        assert_int_equal(ih_device_wait_usable(device, &err), IH_UNAVAILABLE);
        assert_string_equal(err.message, "a bead is missing");
        ih_device_close(device);
    }
}

/* ---- the pipeline ---- */

struct run {
    unsigned n_inputs, waits_at; /* before which input the start ends */
    struct ih_device *device;
    unsigned n_given, n_taken, n_by_fake;
};

static bool next(void *user, struct ih_input *input)
{
    static const uint8_t image[] = "P6 1 1 255 \1\2\3"; /* one pixel */
    struct run *r = user;
    if (r->n_given == r->n_inputs)
        return false;
    if (r->n_given++ == r->waits_at) {
        release();
        assert_int_equal(ih_device_wait(r->device, NULL), IH_OK);
    }
    *input = (struct ih_input){
        .path = strdup("pixel"), .bytes = image, .size_bytes = sizeof image - 1, .is_named = true};
    return true;
}

static bool take(void *user, const struct ih_input *input, const struct ih_result *result)
{
    struct run *r = user;
    assert_non_null(input->path);
    assert_int_equal(result->status, IH_OK);
    assert_int_equal(result->histogram.n_pixels, 1);
    for (unsigned c = 0; c < 3; c++)
        assert_int_equal(result->histogram.sum[c], c + 1);
    r->n_taken++;
    r->n_by_fake += strncmp(result->counted_by, "fake", 4) == 0;
    return true;
}

static void run(struct run *r, unsigned n_threads)
{
    const struct ih_pipeline_options options = {.n_threads = n_threads,
                                                .decode = {.max_pixels = 100},
                                                .luma = &ih_luma_bt709,
                                                .clip_high = 255};
    const struct ih_pipeline_calls calls = {next, r, take, r};
    struct ih_error err;
    assert_int_equal(ih_pipeline_run(r->device, &options, &calls, &err), IH_OK);
    assert_int_equal(r->n_taken, r->n_inputs);
}

/* On a device whose start has begun and is held. */
static void begin_run(struct run *r, unsigned n_threads)
{
    be(true);
    r->device =
        device_of((struct ih_device_options){.start_after_ms = A_MOMENT_MS, .n_lanes = n_threads});
    wait_until_it_begins();
}

static void test_run_ends_before_the_start(void **state)
{
    (void)state;
    struct run r = {.n_inputs = 20, .waits_at = 20};
    begin_run(&r, 2);
    run(&r, 2);
    assert_int_equal(r.n_by_fake, 0);
    assert_true(ih_device_call_off(r.device));
    release();
    ih_device_close(r.device);
    assert_false(fake.was_held_too_long);
}

/* Nothing is lost or counted twice where workers change from one to the other. */
static void test_start_amid_a_run(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct run r = {.n_inputs = 2000, .waits_at = 1000};
    begin_run(&r, THREADS);
    run(&r, THREADS);
    /* Of those before it a worker may have begun late. */
    assert_in_range(r.n_by_fake, 1000, 1000 + THREADS);
    ih_device_close(r.device);
    assert_false(fake.was_held_too_long);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processor_counts_until_the_start),
        cmocka_unit_test(test_short_run_starts_nothing),
        cmocka_unit_test(test_who_waits_has_it_started),
        cmocka_unit_test(test_processor_stays_where_nothing_starts),
        cmocka_unit_test(test_started_but_without_memory),
        cmocka_unit_test(test_nobody_else_counts),
        cmocka_unit_test(test_run_ends_before_the_start),
        cmocka_unit_test(test_start_amid_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
