/*
 * The queue of the hardware JPEG decoders, with decoders that decode nothing: what makes a batch,
 * and what becomes of files when one file fails, all fail, or a session breaks.
 */
#include "tests/support/hw_jpeg_jobs.h"

#include <unistd.h>

/* Of a batch that fails only the odd files fail, and the session goes on. */
TEST(odd_files)
{
    char text[200];
    struct ih_device *device = begin(1);
    ih_hw_jpeg_describe(fake.hw, text, sizeof text);
    assert_string_equal(text, "decoders");
    queue(IH_HW_JPEG_BATCH_LARGE, 1, 7);
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 1 + IH_HW_JPEG_BATCH_LARGE);
    /* All together, then one by one all but the six before the first odd one. */
    assert_int_equal(fake.n_calls, 2 + IH_HW_JPEG_BATCH_LARGE - 6);
    assert_int_equal(fake.n_of[1], IH_HW_JPEG_BATCH_LARGE);
    assert_int_equal(ih_hw_jpeg_room(fake.hw), IH_HW_JPEG_HAS_ROOM);
    assert_int_equal(ih_hw_jpeg_wait(fake.hw, NULL), IH_OK);
    ih_hw_jpeg_describe(fake.hw, text, sizeof text);
    assert_string_equal(text, "decoders; last failure: odd");
    queue(3, 1, 0);
    end(device);
    for (unsigned i = 0; i < fake.n_jobs; i++) {
        const struct job *job = &fake.jobs[i];
        assert_int_equal(job->job.status, job->is_odd ? IH_UNSUPPORTED : IH_OK);
        if (job->is_odd)
            assert_string_equal(job->job.error.message, "odd");
    }
}

/* A session that fails on every file ends after a few. */
TEST(fails_always)
{
    struct ih_error err;
    struct job after = {.is_odd = false};
    struct ih_device *device = begin(1);
    queue(IH_HW_JPEG_BATCH_LARGE + 9, 1, 0);
    fake.fails_always = true; /* the session's thread waits and does not hold the lock */
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 1 + IH_HW_JPEG_BATCH_LARGE + 9);
    assert_int_equal(fake.n_calls, IH_HW_JPEG_FAILURES_MAX);
    assert_int_equal(ih_hw_jpeg_room(fake.hw), IH_HW_JPEG_NONE);
    assert_int_equal(ih_hw_jpeg_wait(fake.hw, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "16 failures in a row, the last: odd");
    after.job.done = on_done;
    assert_false(ih_hw_jpeg_submit(fake.hw, &after.job));
    end(device);
    for (unsigned i = 0; i < fake.n_jobs; i++)
        assert_int_not_equal(fake.jobs[i].job.status, IH_OK);
}

/* Large files make smaller batches, and the largest are alone. */
TEST(bytes)
{
    const size_t hundred = (size_t)100 << 20;
    struct ih_device *device = begin(1);
    queue(5, hundred, 0);
    queue(1, 3 * hundred, 0);
    queue(2, IH_HW_JPEG_BATCH_BYTES_MAX / 2, 0);
    queue(4, hundred / 2, 0);
    end(device);
    static const unsigned expected[] = {1, 2, 2, 1, 1, 2, 4};
    assert_int_equal(fake.n_calls, sizeof expected / sizeof *expected);
    for (unsigned i = 0; i < fake.n_calls; i++) {
        assert_int_equal(fake.n_of[i], expected[i]);
        assert_true(fake.n_of[i] == 1 || fake.n_bytes_of[i] <= IH_HW_JPEG_BATCH_BYTES_MAX);
    }
}

/* Small files make larger batches, by their pixels; so the queue takes more of them. */
TEST(pixels)
{
    static const struct {
        unsigned side, n_queued, n_of[2];
        enum ih_hw_jpeg_room room; /* after that */
    } cases[] = {
        {1, 256, {256, 0}, IH_HW_JPEG_BUSY},       {100, 200, {200, 0}, IH_HW_JPEG_HAS_ROOM},
        {500, 127, {127, 0}, IH_HW_JPEG_HAS_ROOM}, {500, 129, {128, 1}, IH_HW_JPEG_BUSY},
        {1000, 50, {32, 18}, IH_HW_JPEG_HAS_ROOM}, {1068, 40, {28, 12}, IH_HW_JPEG_HAS_ROOM},
        {8000, 55, {28, 27}, IH_HW_JPEG_HAS_ROOM}, {8000, 56, {28, 28}, IH_HW_JPEG_BUSY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t side = cases[i].side;
        struct ih_device *device = begin(1);
        queue_sized(cases[i].n_queued, 1, 0, side, side);
        assert_int_equal(ih_hw_jpeg_room(fake.hw), cases[i].room);
        end(device);
        assert_int_equal(fake.n_calls, cases[i].n_of[1] ? 3 : 2);
        assert_int_equal(fake.n_of[1], cases[i].n_of[0]);
        assert_int_equal(fake.n_of[2], cases[i].n_of[1]);
    }
}

/* A small file among photos does not make their batch larger. */
TEST(mixed_sizes)
{
    struct ih_device *device = begin(1);
    queue_sized(20, 1, 0, 100, 100);
    queue_sized(10, 1, 0, 4000, 3000);
    queue_sized(20, 1, 0, 100, 100);
    end(device);
    assert_int_equal(fake.n_of[1], 28);
    assert_int_equal(fake.n_of[2], 22);
}

/* When `done` is called for a file of a broken session, the session is already gone. */
TEST(breaks)
{
    struct ih_error err;
    struct ih_device *device = begin(1);
    queue(30, 1, 0);
    set(&fake.breaks[0], true);
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 31);
    assert_int_equal(fake.n_calls, 1);
    assert_int_equal(ih_hw_jpeg_wait(fake.hw, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "GPU failed");
    end(device);
    for (unsigned i = 0; i < fake.n_jobs; i++) {
        assert_int_equal(fake.jobs[i].job.status, IH_DEVICE);
        assert_int_equal(fake.jobs[i].room_when_done, IH_HW_JPEG_NONE);
    }
}

/* The decoders do not wait until results have been handed out. */
TEST(decodes_while_results_are_handed_out)
{
    struct ih_device *device = begin(1);
    fake.done_after_calls = 2;
    queue(5, 1, 0);
    alarm(60); /* instead of hanging */
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 6);
    alarm(0);
    assert_int_equal(fake.n_calls, 2);
    end(device);
}

/* Two GPUs share the queue; when one breaks, the other takes the rest. */
TEST(two_units)
{
    for (unsigned n_broken = 0; n_broken < 2; n_broken++) {
        struct ih_device *device = begin(2);
        queue(1, 1, 0); /* for the other unit, as soon as it has started */
        wait_for(&fake.n_calls, 2);
        unsigned first = fake.n_by_unit[0] > 0 ? 0 : 1;
        assert_int_equal(fake.n_by_unit[0] + fake.n_by_unit[1], 2);
        queue(20, 1, 0);
        set(&fake.breaks[first], n_broken == 1);
        set(&fake.is_held, false);
        wait_for(&fake.n_done, 22);
        assert_int_equal(ih_hw_jpeg_room(fake.hw), IH_HW_JPEG_HAS_ROOM);
        end(device);
        for (unsigned i = 2; i < fake.n_calls && n_broken == 0; i++)
            assert_true(fake.n_of[i] <= 10); /* half of them */
        unsigned n_back = 0;
        for (unsigned i = 0; i < fake.n_jobs; i++)
            n_back += fake.jobs[i].job.status == IH_OK ? 0 : 1;
        assert_int_equal(n_back, n_broken);
    }
}

/* One GPU breaks while files wait, and only then another starts: it takes them. */
TEST(one_breaks_and_one_starts)
{
    fake.start_waits[1] = true;
    struct ih_device *device = begin(2);
    queue(20, 1, 0);
    fake.lets_start = true;
    fake.breaks[0] = true;
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 21);
    assert_int_equal(fake.n_by_unit[1], 20);
    end(device);
    assert_int_equal(fake.jobs[0].job.status, IH_DEVICE);
    assert_int_equal(fake.jobs[0].room_when_done, IH_HW_JPEG_NONE);
    for (unsigned i = 1; i < fake.n_jobs; i++)
        assert_int_equal(fake.jobs[i].job.status, IH_OK);
}

/* Two sessions of a unit have a batch each. The second starts when there is a batch for it. */
TEST(two_sessions)
{
    char text[64];
    fake.n_sessions = 2;
    struct ih_device *device = begin(1); /* the first has a job */
    queue(IH_HW_JPEG_BATCH_LARGE - 1, 1, 0);
    end(device);
    assert_int_equal(fake.n_started, 1);
    device = begin(1);
    queue(IH_HW_JPEG_BATCH_LARGE, 1, 0);
    wait_for(&fake.n_calls, 2); /* now the second session has a batch, too */
    queue(20, 1, 0);
    ih_hw_jpeg_describe(fake.hw, text, sizeof text);
    assert_string_equal(text, "decoders");
    end(device);
    assert_int_equal(fake.n_started, 2);
    for (unsigned i = 0; i < fake.n_jobs; i++)
        assert_int_equal(fake.jobs[i].job.status, IH_OK);
    fake.n_sessions = 0;
}

/* Further sessions use the first one, which stops after them even if it breaks before. */
TEST(the_first_session_stops_last)
{
    for (unsigned i = 0; i < 2; i++) {
        fake.n_sessions = IH_HW_JPEG_SESSIONS_MAX;
        struct ih_device *device = begin(2);
        queue(4 * IH_HW_JPEG_BATCH_LARGE, 1, 0);
        wait_for(&fake.n_started, 4);
        set(&fake.breaks[0], i == 1);
        end(device); /* session_stop checks the order */
    }
    fake.n_sessions = 0;
}

/* Four GPUs start at the same time. The first that has started decodes the files, whatever the
 * others do. */
TEST(units_start_together)
{
    enum { QUICK = 2, N = 20 };
    for (unsigned i = 0; i < N_UNITS_MAX; i++)
        fake.start_waits[i] = true;
    struct ih_device *device = begin_start(N_UNITS_MAX);
    wait_for(&fake.n_starting, N_UNITS_MAX);
    assert_int_equal(ih_hw_jpeg_room(fake.hw), IH_HW_JPEG_STARTING);
    set(&fake.start_waits[QUICK], false);
    assert_int_equal(ih_hw_jpeg_wait(fake.hw, NULL), IH_OK);
    queue(N, 1, 0);
    set(&fake.is_held, false);
    wait_for(&fake.n_done, N);
    assert_int_equal(fake.n_by_unit[QUICK], N);
    assert_int_equal(fake.n_starting, N_UNITS_MAX - 1);
    for (unsigned i = 0; i < N_UNITS_MAX; i++)
        set(&fake.start_waits[i], false);
    wait_for(&fake.n_started, N_UNITS_MAX);
    end(device);
}

TEST(none_starts)
{
    struct ih_error error = {0};
    fake.n_sessions = 2;
    fake.cannot_start = true;
    struct ih_device *device = begin_start(2);
    assert_int_equal(ih_hw_jpeg_wait(fake.hw, &error), IH_UNAVAILABLE);
    assert_string_equal(error.message, "no decoders");
    assert_int_equal(ih_hw_jpeg_room(fake.hw), IH_HW_JPEG_NONE);
    ih_hw_jpeg_close(fake.hw);
    ih_device_close(device);
    assert_int_equal(fake.n_started, 2); /* no second session is tried */
    fake.n_sessions = 0;
    fake.cannot_start = false;
}

/* ---- the size that nvJPEG gets memory for, with panoramas and towers in any order ---- */

static void assert_size(struct ih_hw_jpeg_size s, uint32_t width, uint32_t height)
{
    assert_int_equal(s.width, width);
    assert_int_equal(s.height, height);
}

/* Images fit together when one allowed size covers them. */
TEST(sizes_that_fit)
{
    static const uint32_t sides[][2] = {{4000, 3000}, {3000, 4000}, {1, 1}, {9000, 500},
                                        {500, 9000},  {20000, 8},   {8, 8}};
    enum { N = sizeof sides / sizeof *sides };
    struct ih_hw_jpeg_job jobs[N];
    struct ih_hw_jpeg_job *all[N];
    struct ih_hw_jpeg_size size;
    const uint64_t pixels_max = 50 * 1000 * 1000;
    for (unsigned i = 0; i < N; i++) {
        jobs[i] = (struct ih_hw_jpeg_job){.width = sides[i][0], .height = sides[i][1]};
        all[i] = &jobs[i];
    }
    assert_int_equal(ih_hw_jpeg_size_fit(all, N, pixels_max, &size), 4);
    assert_size(size, 9216, 4096); /* the tower of 9000 makes it 85 megapixels */
    assert_int_equal(ih_hw_jpeg_size_fit(all + 4, N - 4, pixels_max, &size), 1);
    assert_size(size, 512, 9216);
    assert_int_equal(ih_hw_jpeg_size_fit(all + 5, N - 5, pixels_max, &size),
                     0); /* too long a side */
    assert_int_equal(ih_hw_jpeg_size_fit(all + 6, 1, pixels_max, &size), 1);
    assert_size(size, 512, 512);
    assert_int_equal(ih_hw_jpeg_size_fit(all + 6, 1, 512 * 512 - 1, &size), 0);
    assert_int_equal(ih_hw_jpeg_size_fit(all, N, UINT64_MAX, &size), 5);
    assert_size(size, 9216, 9216);
}

/* The size grows until it would be too large; then it is set anew. */
TEST(next_size)
{
    const uint64_t pixels_max = 100 * 1000 * 1000;
    const struct ih_hw_jpeg_size photo = {4096, 3072}, panorama = {16384, 512},
                                 tower = {512, 16384};
    struct ih_hw_jpeg_size s = {0, 0};
    assert_false(ih_hw_jpeg_size_covers(s, photo));
    s = ih_hw_jpeg_size_next(s, photo, pixels_max);
    assert_size(s, 4096, 3072);
    assert_true(ih_hw_jpeg_size_covers(s, photo));
    s = ih_hw_jpeg_size_next(s, panorama, pixels_max);
    assert_size(s, 16384, 3072);
    assert_false(ih_hw_jpeg_size_covers(s, tower));
    s = ih_hw_jpeg_size_next(s, tower, pixels_max);
    assert_size(s, 512, 16384);
    s = ih_hw_jpeg_size_next(s, photo, pixels_max);
    assert_size(s, 4096, 16384);
    s = ih_hw_jpeg_size_next(s, panorama, pixels_max);
    assert_size(s, 16384, 512);
}
