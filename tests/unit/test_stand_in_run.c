/* A scan on a device that starts slowly. */
#include "tests/support/test.h"

#include "tests/support/fake_device.h"
#include "tests/support/take_all.h"

struct run {
    unsigned n_inputs, waits_at; /* the start ends before this input */
    struct ih_device *device;
    unsigned n_given, n_taken, n_by_fake;
    double n_left;     /* as the scan is told */
    unsigned input_ms; /* that an input takes */
};

static double left(void *user)
{
    const struct run *r = user;
    return r->n_left;
}

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
    const struct timespec pause = {.tv_nsec = (long)r->input_ms * 1000 * 1000};
    nanosleep(&pause, NULL);
    *input = (struct ih_input){
        .path = strdup("pixel"), .bytes = image, .size_bytes = sizeof image - 1, .is_named = true};
    return true;
}

static bool take(void *user, const char *path, const struct ih_result *result)
{
    struct run *r = user;
    assert_non_null(path);
    assert_int_equal(result->status, IH_OK);
    assert_int_equal(result->histogram.n_pixels, 1);
    for (unsigned c = 0; c < 3; c++)
        assert_int_equal(*ih_sum(&result->histogram, c), c + 1);
    r->n_taken++;
    r->n_by_fake += strncmp(result->counted_by, "fake", 4) == 0;
    return true;
}

static void run(struct run *r, unsigned n_threads)
{
    const struct ih_scan_options options = {.n_threads = n_threads,
                                            .decode = {.max_pixels = 100},
                                            .measure.luma = &ih_luma_bt709,
                                            .measure.clip_high = 255};
    const struct taking calls = {.next = next,
                                 .next_user = r,
                                 .take = take,
                                 .take_user = r,
                                 .n_left = r->n_left >= 0 ? left : NULL};
    struct ih_error err;
    assert_int_equal(take_all(r->device, &options, &calls, &err), IH_OK);
    assert_int_equal(r->n_taken, r->n_inputs);
}

/* Runs on a device whose start has begun and does not end. */
static void begin_run(struct run *r, unsigned n_threads)
{
    be(1, true);
    r->device =
        device_of((struct ih_device_options){.start_after_ms = A_MOMENT_MS, .n_lanes = n_threads});
    wait_until_it_begins();
}

TEST(run_ends_before_the_start)
{
    struct run r = {.n_inputs = 20, .waits_at = 20};
    begin_run(&r, 2);
    run(&r, 2);
    assert_int_equal(r.n_by_fake, 0);
    assert_true(ih_device_cancel_start(r.device));
    release();
    ih_device_close(r.device);
    assert_false(fake.has_waited_in_vain);
}

/* No input is lost or counted twice when workers move to the device. */
TEST(start_amid_a_run)
{
    enum { THREADS = 4 };
    struct run r = {.n_inputs = 2000, .waits_at = 1000};
    begin_run(&r, THREADS);
    run(&r, THREADS);
    /* A worker may begin an earlier input after the start. */
    assert_in_range(r.n_by_fake, 1000, 1000 + THREADS);
    ih_device_close(r.device);
    assert_false(fake.has_waited_in_vain);
}

/* A run starts the device if it will last: many or few inputs follow 20 of 20 ms. */
TEST(long_runs_start_the_device)
{
    static const struct {
        double n_left; /* negative: not known */
        bool starts;
    } runs[] = {{1e6, true}, {1, false}, {0, false}, {-1, false}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct run r = {.n_inputs = 20, .waits_at = 20, .n_left = runs[i].n_left, .input_ms = 20};
        be(1, false);
        r.device = device_of((struct ih_device_options){.start_after_ms = A_DAY_MS});
        run(&r, 1);
        if (runs[i].starts)
            wait_until_it_begins();
        ih_device_close(r.device);
        assert_int_equal(fake.n_starts, runs[i].starts ? 1 : 0);
    }
}
