/*
 * JPEG files that go to engines, without any GPU. Whoever decodes, the results are the same, in
 * order.
 */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/support/offload_run.h"

/* All that the engines may have goes to them, and nothing else, in batches. */
static void test_engines_and_processors(void **state)
{
    static const unsigned threads[] = {1, 2, 5, 16};
    struct ih_error err;
    count_on_cpu(*state);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct run r = {.folder = *state,
                        .n_inputs = ROUNDS * N_FILES,
                        .expected = expected,
                        .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        assert_int_equal(run(&r, threads[i], &err), IH_OK);
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(r.n_by_engines, ROUNDS * N_FOR_ENGINES);
        assert_int_equal(fake.n_jobs, ROUNDS * N_FOR_ENGINES);
        assert_int_equal(r.report.n_decoded, ROUNDS * N_FOR_ENGINES);
        assert_string_equal(r.report.engines, "2 engines of the tests");
        assert_int_equal(n_left(&r, "progressive"), ROUNDS);
        assert_int_equal(n_left(&r, "busy"), 0);
    }
}

/* One that has no thread but its own may not wait for a batch that never fills. */
static void test_a_few(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned n = 1; n < 9; n++) {
        struct run r = {.folder = *state, .n_inputs = n, .expected = expected, .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        assert_int_equal(run(&r, 1, &err), IH_OK);
        assert_int_equal(r.n_taken, n);
        assert_int_equal(r.n_by_engines, n < N_FOR_ENGINES ? n : N_FOR_ENGINES);
    }
}

/* Engines that break: what they had, and what comes after, is counted by the processors. */
static void test_engines_that_break(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned fails_at = 0; fails_at < 3; fails_at++)
        for (unsigned n_threads = 1; n_threads < 6; n_threads += 2) {
            struct run r = {.folder = *state,
                            .n_inputs = ROUNDS * N_FILES,
                            .expected = expected,
                            .side = IH_JPEG_GPU};
            fake.fails_at = fails_at;
            assert_int_equal(run(&r, n_threads, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_int_equal(fake.n_batches, fails_at + 1);
            assert_true(n_left(&r, "gave them back") >= 1);
            assert_int_equal(r.n_by_engines, r.report.n_decoded);
            assert_string_equal(r.report.why_none.message, "it rattles");
            assert_true(n_left(&r, "had given up") > 0);
            assert_int_equal(n_left(&r, "had not started"), 0);
        }
}

/* Of two GPUs' engines one breaks; the other goes on. Some files are given back by themselves. */
static void test_two_units_and_files_given_back(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    fake.n_units = 2;
    for (unsigned returns = 0; returns < 3; returns++)
        for (unsigned fails_at = 0; fails_at < 4; fails_at++) {
            struct run r = {.folder = *state,
                            .n_inputs = ROUNDS * N_FILES,
                            .expected = expected,
                            .side = IH_JPEG_GPU};
            fake.fails_at = fails_at;
            fake.returns = returns;
            assert_int_equal(run(&r, 6, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_int_equal(r.n_by_engines, r.report.n_decoded);
            assert_true(n_left(&r, "gave them back") >= 1);
            if (returns == 0)
                assert_true(fake.n_batches > fails_at + 1);
        }
    fake.n_units = fake.returns = 0;
}

/* How often a file has been opened for reading and closed again since it is watched. */
static unsigned n_readers(int watch)
{
    char events[4096];
    unsigned n = 0;
    ssize_t size = read(watch, events, sizeof events);
    for (ssize_t at = 0; at < size;) {
        struct inotify_event event;
        memcpy(&event, events + at, sizeof event);
        n += (event.mask & IN_CLOSE_NOWRITE) != 0;
        at += (ssize_t)(sizeof event + event.len);
    }
    return n;
}

static void *feed_pipe(void *path)
{
    struct jpeg_file f = make_jpeg(&kinds[0], 30, 41);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f.bytes, 1, f.n, out), f.n);
    assert_int_equal(fclose(out), 0);
    free(f.bytes);
    return NULL;
}

/* Whoever opened a pipe only to look into it would take what it gives, or its writer's reader. */
static void test_pipe(void **state)
{
    struct ih_error err;
    char path[200];
    pthread_t thread;
    struct run r = {.folder = *state, .n_inputs = 1, .side = IH_JPEG_GPU};
    count_on_cpu(*state);
    r.expected = expected;
    fake.fails_at = NEVER;
    snprintf(path, sizeof path, "%s/0", (const char *)*state);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int watch =
        inotify_init1(IN_NONBLOCK | IN_CLOEXEC); /* may fail: too many files watched */
    const bool is_watched =
        watch >= 0 && inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE_NOWRITE) >= 0;
    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, path), 0);
    assert_int_equal(run(&r, 2, &err), IH_OK);
    pthread_join(thread, NULL);
    assert_int_equal(r.n_taken, 1);
    assert_int_equal(r.n_failed, 0);
    assert_int_equal(r.n_by_engines, 0);
    assert_int_equal(n_left(&r, "read whole"), 1);
    if (is_watched)
        assert_int_equal(n_readers(watch), 1);
    if (watch >= 0)
        close(watch);
}

static void test_engines_that_do_not_start(void **state)
{
    struct ih_error err = {0};
    struct run r = {.folder = *state, .n_inputs = 3, .side = IH_JPEG_GPU};
    fake.is_missing = true;
    assert_int_equal(run(&r, 2, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "somebody took them");
    assert_int_equal(r.n_taken, 0);
    assert_int_equal(r.n_given, 0);
    fake.is_missing = false;

    const struct ih_device_options cpu = {.backend = "cpu"};
    struct ih_device *device = NULL;
    struct ih_jpeg_engines *engines = NULL;
    assert_int_equal(ih_device_open(&cpu, &device, &err), IH_OK);
    assert_int_equal(ih_jpeg_engines_open(device, &engines, &err), IH_OK);
    assert_int_equal(ih_jpeg_engines_wait(engines, &err), IH_UNAVAILABLE);
    assert_non_null(strstr(err.message, "cpu has no JPEG engines"));
    assert_int_equal(ih_jpeg_engines_room(engines), IH_JPEG_NONE);
    ih_jpeg_engines_close(engines);
    ih_device_close(device);
}

/* Where engines do not like a kind of file, these files go back, and no others. */
static void test_engines_that_dislike_some(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned n_threads = 1; n_threads < 6; n_threads += 4) {
        struct run r = {.folder = *state,
                        .n_inputs = ROUNDS * N_FILES,
                        .expected = expected,
                        .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        fake.dislikes = true;
        assert_int_equal(run(&r, n_threads, &err), IH_OK);
        fake.dislikes = false;
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(n_left(&r, "gave them back"), ROUNDS);
        assert_int_equal(r.n_by_engines, ROUNDS * (N_FOR_ENGINES - 1));
        assert_int_equal(r.report.why_none.status, IH_OK);
        assert_string_equal(r.report.engines, "2 engines of the tests; the last given back: gray");
    }
}

/* A run over two files of which the first, while the engines have both, becomes another of n bytes
 * and is given back. */
static struct run exchange(const char *folder, const void *bytes, size_t n, uint64_t memory_bytes,
                           const struct ih_decoder_process_command *helper, struct ih_error *err,
                           enum ih_status status)
{
    struct run r = {.folder = folder,
                    .n_inputs = 2,
                    .side = IH_JPEG_GPU,
                    .releases_at_end = true,
                    .memory_bytes = memory_bytes,
                    .helper = helper};
    struct jpeg_file first = make_jpeg(&kinds[0], 30, 41);
    char from[200], to[200];
    snprintf(from, sizeof from, "%s/%u", folder, (unsigned)N_FILES);
    snprintf(to, sizeof to, "%s/0", folder);
    write_file(folder, 0, first.bytes, first.n);
    write_file(folder, N_FILES, bytes, n);
    free(first.bytes);
    fake.from = from;
    fake.to = to;
    fake.is_held = true;
    fake.fails_at = NEVER;
    alarm(60); /* rather than hang */
    assert_int_equal(run(&r, 1, err), status);
    alarm(0);
    assert_int_equal(n_left(&r, "gave them back"), 1);
    assert_int_equal(r.report.n_decoded, 1);
    return r;
}

/* It needs all of the memory that files may take, of which the engines hold some for the second. */
static void test_exchanged_for_a_large_file(void **state)
{
    enum { SIDE = 80, COEFFICIENT_BYTES = SIDE * SIDE * 3 * 2 };
    static const struct jpeg_kind progressive = {.h = 1, .v = 1, .is_progressive = true};
    struct jpeg_file f = make_jpeg(&progressive, SIDE, SIDE);
    struct ih_error err;
    struct run r = exchange(*state, f.bytes, f.n, COEFFICIENT_BYTES, NULL, &err, IH_OK);
    assert_int_equal(r.n_taken, 2);
    assert_int_equal(r.n_failed, 0);
    r = exchange(*state, f.bytes, f.n, COEFFICIENT_BYTES - 1, NULL, &err, IH_OK);
    assert_int_equal(r.n_failed, 1);
    free(f.bytes);
}

/* Nothing is decoded in this process that belongs into one without rights. */
static void test_exchanged_for_a_rare_format(void **state)
{
    static const char psd[] = "8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1\0\10\0\1" /* 1 x 1, gray */
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7";
    static const struct ih_decoder_process_command nowhere = {.program = "/nonexistent/imghist"};
    struct ih_error err;
    struct run r = exchange(*state, psd, sizeof psd - 1, 0, NULL, &err, IH_OK);
    assert_int_equal(r.n_failed, 0);
    exchange(*state, psd, sizeof psd - 1, 0, &nowhere, &err, IH_UNAVAILABLE);
    assert_non_null(strstr(err.message, "cannot start a helper process"));
}

/* Enough that somebody stops: what the engines have is finished, and dropped. */
static void test_stop(void **state)
{
    struct ih_error err;
    for (unsigned n = 1; n < 40; n += 7) {
        struct run r = {
            .folder = *state, .n_inputs = ROUNDS * N_FILES, .n_wanted = n, .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        assert_int_equal(run(&r, 4, &err), IH_OK);
        assert_int_equal(r.n_taken, n);
    }
}

/* Where there is no memory for a file beside the others, a worker decodes it band by band. */
static void test_little_memory(void **state)
{
    struct ih_error err;
    struct run r = {
        .folder = *state, .n_inputs = N_FOR_ENGINES, .side = IH_JPEG_GPU, .memory_bytes = 100};
    count_on_cpu(*state);
    r.expected = expected;
    assert_int_equal(run(&r, 2, &err), IH_OK);
    assert_int_equal(r.n_by_engines, 0);
    assert_int_equal(n_left(&r, "too large to be held"), N_FOR_ENGINES);
}

/* By themselves the engines start once there was work for them; while they are held and their queue
 * is full, the workers go on alone. */
static void test_auto_starts_late_and_helps_out(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    struct run small = {.folder = *state, .n_inputs = 20 * N_FILES, .expected = expected};
    small.side = IH_JPEG_AUTO;
    assert_int_equal(run(&small, 2, &err), IH_OK);
    assert_int_equal(fake.n_batches, 0);
    assert_string_equal(small.report.engines, "");

    make_large(*state, CUT); /* a few are enough */
    struct run large = {.folder = *state,
                        .n_inputs = 20 * N_FILES,
                        .side = IH_JPEG_AUTO,
                        .releases_at_end = true,
                        .begins_large = true};
    fake.is_held = true;
    fake.fails_at = NEVER;
    assert_int_equal(run(&large, 2, &err), IH_OK);
    assert_int_equal(large.n_taken, large.n_inputs);
    assert_true(fake.n_jobs > 0);
    assert_true(n_left(&large, "busy") > 0);
    assert_int_equal(fake.n_jobs, large.report.n_decoded);
    assert_true(fake.n_largest > 1);

    /* Who ends while they start waits, and can say what has started. */
    struct run late = {.folder = *state, .n_inputs = 1, .side = IH_JPEG_AUTO, .begins_large = true};
    fake.start_ms = 500;
    assert_int_equal(run(&late, 2, &err), IH_OK);
    fake.start_ms = 0;
    assert_string_equal(late.report.engines, "2 engines of the tests");

    struct run none = {
        .folder = *state, .n_inputs = N_FILES, .side = IH_JPEG_AUTO, .begins_large = true};
    fake.is_missing = true;
    assert_int_equal(run(&none, 2, &err), IH_OK);
    assert_int_equal(none.n_taken, none.n_inputs);
    assert_string_equal(none.report.why_none.message, "somebody took them");
    fake.is_missing = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_engines_and_processors, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_few, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_engines_that_break, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_two_units_and_files_given_back, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_engines_that_dislike_some, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_exchanged_for_a_large_file, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_exchanged_for_a_rare_format, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_pipe, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_engines_that_do_not_start, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_stop, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_little_memory, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_auto_starts_late_and_helps_out, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
