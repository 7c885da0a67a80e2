/* The stand-in: the CPU counts until a slow device has started. */
#include "tests/support/fake_device.h"

static void close_both(struct ih_device *device, struct ih_lane *lane)
{
    ih_lane_close(lane);
    ih_device_close(device);
}

/* An image that begins on the stand-in also ends there. */
TEST(cpu_counts_until_the_start)
{
    struct ih_error err;
    be(1, true);
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_MOMENT_MS});
    struct ih_lane *lane = lane_of(device);
    assert_counts(lane, "cpu");
    assert_int_equal(ih_device_wait_usable(device, &err), IH_OK);
    wait_until_it_begins(); /* without a call that waits for it */
    assert_true(ih_device_cancel_start(device));
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
    assert_false(ih_device_cancel_start(device));
    assert_string_equal(ih_device_description(device), "fake:0 Abacus 9000");
    ih_lane_close(late);
    close_both(device, lane);
    assert_int_equal(fake.n_starts, 1);
    assert_false(fake.has_waited_in_vain);
}

/* Lets the thread that starts the device run until it waits. */
static void give_way(void)
{
    const struct timespec a_while = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&a_while, NULL);
}

TEST(short_run_starts_nothing)
{
    struct ih_error err;
    be(1, false);
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_DAY_MS});
    struct ih_lane *lane = lane_of(device);
    assert_counts(lane, "cpu");
    assert_int_equal(ih_device_wait_usable(device, &err), IH_OK);
    give_way(); /* to an unwanted start */
    assert_false(ih_device_cancel_start(device));
    close_both(device, lane);
    assert_int_equal(fake.n_starts, 0);
}

TEST(waiting_begins_the_start)
{
    struct ih_error err;
    be(1, false);
    struct ih_device *device = device_of((struct ih_device_options){.start_after_ms = A_DAY_MS});
    struct ih_lane *lane = lane_of(device);
    assert_counts(lane, "cpu");
    give_way();
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    assert_counts(lane, "fake:0 Abacus 9000");
    close_both(device, lane);
    assert_int_equal(fake.n_starts, 1);
}

TEST(cpu_stays_if_nothing_starts)
{
    struct ih_error err;
    be(1, false);
    fake.is_broken[0] = true;
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

/* A lane that has the stand-in keeps it, a new one fails. Both move to the device once there is
 * memory. */
TEST(started_but_without_memory)
{
    struct ih_error err;
    be(1, false);
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

/* If the options rule out the CPU there is no stand-in: the start begins at once and images wait.
 */
TEST(no_stand_in)
{
    static const struct ih_device_options options[] = {
        {.backend = "fake", .start_after_ms = A_DAY_MS},
        {.with = {.kernel = "beads"}, .start_after_ms = A_DAY_MS}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct ih_error err;
        be(1, true);
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

        be(1, false);
        fake.is_broken[0] = true;
        device = device_of(options[i]);
        assert_int_equal(ih_device_wait_usable(device, &err), IH_UNAVAILABLE);
        assert_string_equal(err.message, "a bead is missing");
        ih_device_close(device);
    }
}
