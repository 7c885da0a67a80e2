/*
 * JPEG files for hardware decoders, without a GPU: the results are those of the CPU, in the order
 * of the inputs.
 */
#include "tests/support/test.h"

#include "tests/support/offload_run.h"
#include <sys/inotify.h>
#include <sys/stat.h>

/* Every valid JPEG goes to the hardware decoders, and no other file. */
FOLDER_TEST(hw_and_cpu)
{
    static const unsigned threads[] = {1, 2, 5, 16};
    struct ih_error err;
    count_on_cpu(*state);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct run r = gpu_run_compared(*state, ROUNDS * N_FILES);
        assert_int_equal(run(&r, threads[i], &err), IH_OK);
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(r.n_by_hw, ROUNDS * N_FOR_HW);
        assert_int_equal(fake.n_jobs, ROUNDS * N_FOR_HW);
        assert_int_equal(r.report.n_decoded, ROUNDS * N_FOR_HW);
        assert_string_equal(r.report.decoders, "2 decoders of the tests");
        assert_int_equal(r.report.n_left[IH_JPEG_REASON_NOT_BASELINE], ROUNDS);
        assert_int_equal(r.report.n_left[IH_JPEG_REASON_BUSY], 0);
    }
}

/* A single worker must not wait for a batch that never fills. */
FOLDER_TEST(a_few)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned n = 1; n < 9; n++) {
        struct run r = gpu_run_compared(*state, n);
        assert_int_equal(run(&r, 1, &err), IH_OK);
        assert_int_equal(r.n_taken, n);
        assert_int_equal(r.n_by_hw, n < N_FOR_HW ? n : N_FOR_HW);
    }
}

/* Inputs with more files for the hardware than two batches and the queue take. */
enum { MANY = (3 * IH_HW_JPEG_BATCH_MAX / N_FOR_HW + 1) * N_FILES };

/* When the only GPU fails, the CPU counts its files and all later ones. */
FOLDER_TEST(hw_that_fails)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned fails_at = 0; fails_at < 2; fails_at++)
        for (unsigned n_threads = 1; n_threads < 6; n_threads += 2) {
            struct run r = gpu_run_compared(*state, MANY);
            fake.fails_at = fails_at;
            assert_int_equal(run(&r, n_threads, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_int_equal(fake.n_batches, fails_at + 1);
            assert_true(r.report.n_left[IH_JPEG_REASON_REJECTED] >= 1);
            assert_int_equal(r.n_by_hw, r.report.n_decoded);
            assert_string_equal(r.report.why_none.message, "GPU failed");
            assert_true(r.report.n_left[IH_JPEG_REASON_STOPPED] > 0);
            assert_int_equal(r.report.n_left[IH_JPEG_REASON_NOT_STARTED], 0);
        }
}

/* One of two GPUs fails, and the other goes on. Some files are rejected alone. */
FOLDER_TEST(two_units_and_rejected_files)
{
    struct ih_error err;
    count_on_cpu(*state);
    fake.n_units = 2;
    for (unsigned returns = 0; returns < 3; returns++)
        for (unsigned fails_at = 0; fails_at < 2; fails_at++) {
            struct run r = gpu_run_compared(*state, MANY);
            fake.fails_at = fails_at;
            fake.rejects = returns;
            assert_int_equal(run(&r, 6, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_int_equal(r.n_by_hw, r.report.n_decoded);
            assert_true(r.report.n_left[IH_JPEG_REASON_REJECTED] >= 1);
            if (returns == 0)
                assert_true(fake.n_batches > fails_at + 1);
        }
    fake.n_units = fake.rejects = 0;
}

/* How often a watched file has been opened for reading and closed. */
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

/* A pipe is opened once: opening it only to look at it would take its data or its writer. */
FOLDER_TEST(pipe)
{
    struct ih_error err;
    char path[200];
    pthread_t thread;
    struct run r = gpu_run(*state, 1);
    count_on_cpu(*state);
    r.expected = expected;
    snprintf(path, sizeof path, "%s/0", (const char *)*state);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int watch =
        inotify_init1(IN_NONBLOCK | IN_CLOEXEC); /* may fail: too many watched files */
    const bool is_watched =
        watch >= 0 && inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE_NOWRITE) >= 0;
    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, path), 0);
    assert_int_equal(run(&r, 2, &err), IH_OK);
    pthread_join(thread, NULL);
    assert_int_equal(r.n_taken, 1);
    assert_int_equal(r.n_failed, 0);
    assert_int_equal(r.n_by_hw, 0);
    assert_int_equal(r.report.n_left[IH_JPEG_REASON_NOT_A_FILE], 1);
    if (is_watched)
        assert_int_equal(n_readers(watch), 1);
    if (watch >= 0)
        close(watch);
}

FOLDER_TEST(hw_that_does_not_start)
{
    struct ih_error err = {0};
    struct run r = gpu_run(*state, 3);
    fake.is_missing = true;
    assert_int_equal(run(&r, 2, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "no decoders");
    assert_int_equal(r.n_taken, 0);
    assert_int_equal(r.n_given, 0);
    fake.is_missing = false;

    const struct ih_device_options cpu = {.backend = "cpu"};
    struct ih_device *device = NULL;
    struct ih_hw_jpeg *hw = NULL;
    assert_int_equal(ih_device_open(&cpu, &device, &err), IH_OK);
    assert_int_equal(ih_hw_jpeg_open(device, NULL, &hw, &err), IH_OK);
    assert_int_equal(ih_hw_jpeg_wait(hw, &err), IH_UNAVAILABLE);
    assert_non_null(strstr(err.message, "cpu has no hardware JPEG decoders"));
    assert_int_equal(ih_hw_jpeg_room(hw), IH_HW_JPEG_NONE);
    ih_hw_jpeg_close(hw);
    ih_device_close(device);
}

/* When every batch with a gray file fails, only the gray files are rejected. */
FOLDER_TEST(hw_that_fails_on_gray)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned n_threads = 1; n_threads < 6; n_threads += 4) {
        struct run r = gpu_run_compared(*state, ROUNDS * N_FILES);
        fake.fails_on_gray = true;
        assert_int_equal(run(&r, n_threads, &err), IH_OK);
        fake.fails_on_gray = false;
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(r.report.n_left[IH_JPEG_REASON_REJECTED], ROUNDS);
        assert_int_equal(r.n_by_hw, ROUNDS * (N_FOR_HW - 1));
        assert_int_equal(r.report.why_none.status, IH_OK);
        assert_string_equal(r.report.decoders, "2 decoders of the tests; last failure: gray");
    }
}

/* Runs over two files. While both are queued, the first is replaced by another of n bytes and
 * rejected. */
static struct run exchange(const char *folder, const void *bytes, size_t n, uint64_t memory_bytes,
                           const struct ih_decoder_process_command *command, struct ih_error *err,
                           enum ih_status status)
{
    struct run r = {.folder = folder,
                    .n_inputs = 2,
                    .side = IH_JPEG_GPU,
                    .releases_at_end = true,
                    .memory_bytes = memory_bytes,
                    .command = command};
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
    alarm(60); /* instead of hanging */
    assert_int_equal(run(&r, 1, err), status);
    alarm(0);
    assert_int_equal(r.report.n_left[IH_JPEG_REASON_REJECTED], 1);
    assert_int_equal(r.report.n_decoded, 1);
    return r;
}

/* The new file needs the complete budget, while the second file is still queued. */
FOLDER_TEST(exchanged_for_a_large_file)
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

/* A format that needs the sandbox is not decoded in this process. */
FOLDER_TEST(exchanged_for_a_rare_format)
{
    static const char psd[] = "8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1\0\10\0\1" /* 1 x 1, gray */
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7";
    static const struct ih_decoder_process_command nowhere = {.program = "/nonexistent/imghist"};
    struct ih_error err;
    struct run r = exchange(*state, psd, sizeof psd - 1, 0, NULL, &err, IH_OK);
    assert_int_equal(r.n_failed, 0);
    exchange(*state, psd, sizeof psd - 1, 0, &nowhere, &err, IH_UNAVAILABLE);
    if (!is_emulated()) /* posix_spawn does not learn that exec failed */
        assert_non_null(strstr(err.message, "cannot start a decoder process"));
}

/* The caller stops early: queued files are finished, and their results dropped. */
FOLDER_TEST(stop)
{
    struct ih_error err;
    for (unsigned n = 1; n < 40; n += 7) {
        struct run r = {
            .folder = *state, .n_inputs = ROUNDS * N_FILES, .n_wanted = n, .side = IH_JPEG_GPU};
        assert_int_equal(run(&r, 4, &err), IH_OK);
        assert_int_equal(r.n_taken, n);
    }
}

/* Without memory for complete files the workers decode them band by band. */
FOLDER_TEST(little_memory)
{
    struct ih_error err;
    struct run r = {
        .folder = *state, .n_inputs = N_FOR_HW, .side = IH_JPEG_GPU, .memory_bytes = 100};
    count_on_cpu(*state);
    r.expected = expected;
    assert_int_equal(run(&r, 2, &err), IH_OK);
    assert_int_equal(r.n_by_hw, 0);
    assert_int_equal(r.report.n_left[IH_JPEG_REASON_TOO_LARGE], N_FOR_HW);
}

/* Half of the cores' time is left to those that feed the hardware decoders, or more. */
TEST(workers_that_may_decode)
{
    static const struct {
        unsigned n_workers, feeding_ms, elapsed_ms, n;
    } cases[] = {
        {16, 10000, 1000, 0},                        /* fast decoders, few cores */
        {64, 10000, 1000, 44}, {16, 1500, 1000, 13}, /* slow decoders */
        {16, 8000, 1000, 0},   {16, 7000, 1000, 2},  {16, 0, 1000, 16},
        {1, 600, 1000, 0},     {16, 0, 0, 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t ns = 1000 * 1000;
        const unsigned n = ih_offload_n_may_decode(cases[i].n_workers, cases[i].feeding_ms * ns,
                                                   cases[i].elapsed_ms * ns);
        assert_int_equal(n, cases[i].n);
    }
}

/* With IH_JPEG_AUTO the decoders start after some work. While their queue is full, the workers
 * decode. */
FOLDER_TEST(auto)
{
    struct ih_error err;
    count_on_cpu(*state);
    struct run small = {.folder = *state, .n_inputs = 20 * N_FILES, .expected = expected};
    small.side = IH_JPEG_AUTO;
    assert_int_equal(run(&small, 2, &err), IH_OK);
    assert_int_equal(fake.n_batches, 0);
    assert_string_equal(small.report.decoders, "");

    make_large(*state, CUT); /* a few are enough */
    /* Ten times the files of a batch, and decoders that are slow. */
    struct run large = {
        .folder = *state, .n_inputs = 2560, .side = IH_JPEG_AUTO, .begins_large = true};
    fake.batch_ms = 300;
    fake.fails_at = NEVER;
    assert_int_equal(run(&large, 4, &err), IH_OK);
    fake.batch_ms = 0;
    assert_int_equal(large.n_taken, large.n_inputs);
    assert_true(fake.n_jobs > 0);
    assert_true(large.report.n_left[IH_JPEG_REASON_BUSY] > 0);
    assert_int_equal(fake.n_jobs, large.report.n_decoded);
    assert_true(fake.n_largest > 1);

    /* A run that ends during the start waits, and its report names the decoders. */
    struct run late = {.folder = *state, .n_inputs = 1, .side = IH_JPEG_AUTO, .begins_large = true};
    fake.start_ms = 500;
    assert_int_equal(run(&late, 2, &err), IH_OK);
    fake.start_ms = 0;
    assert_string_equal(late.report.decoders, "2 decoders of the tests");

    struct run none = {
        .folder = *state, .n_inputs = N_FILES, .side = IH_JPEG_AUTO, .begins_large = true};
    fake.is_missing = true;
    assert_int_equal(run(&none, 2, &err), IH_OK);
    assert_int_equal(none.n_taken, none.n_inputs);
    assert_string_equal(none.report.why_none.message, "no decoders");
    fake.is_missing = false;
}

/* The decoders start only with the device: not in a run that is too short for it. */
FOLDER_TEST(only_with_the_device)
{
    struct ih_error err;
    struct run starts = {
        .folder = *state, .n_inputs = 1, .side = IH_JPEG_AUTO, .begins_large = true};
    make_large(*state, CUT);
    assert_int_equal(run(&starts, 2, &err), IH_OK);
    assert_true(fake.has_tried);

    struct run is_short = {.folder = *state,
                           .n_inputs = 1,
                           .side = IH_JPEG_AUTO,
                           .begins_large = true,
                           .n_large_most = 2 * starts.n_large,
                           .is_short = true};
    assert_int_equal(run(&is_short, 2, &err), IH_OK);
    assert_int_equal(is_short.n_large, 2 * starts.n_large);
    assert_int_equal(is_short.n_taken, is_short.n_inputs);
    assert_false(fake.has_tried);
}

/* No file waits for a start: while the decoders start, the CPU counts all files. */
FOLDER_TEST(files_do_not_wait_for_the_start)
{
    struct ih_error err;
    struct run r = {.folder = *state,
                    .n_inputs = 2000,
                    .side = IH_JPEG_AUTO,
                    .begins_large = true,
                    .releases_taken = true};
    make_large(*state, CUT);
    fake.start_is_held = true;
    alarm(60); /* instead of hanging */
    assert_int_equal(run(&r, 4, &err), IH_OK);
    alarm(0);
    assert_true(fake.has_tried);
    assert_int_equal(r.n_taken, r.n_inputs);
    assert_int_equal(fake.n_jobs, 0);
    assert_true(r.report.n_left[IH_JPEG_REASON_NOT_STARTED] >= r.n_inputs / 2);
}

/* ---- limits ---- */

static struct stat stat_of(const char *folder, unsigned i)
{
    char path[200];
    struct stat st;
    snprintf(path, sizeof path, "%s/%u", folder, i);
    assert_int_equal(stat(path, &st), 0);
    return st;
}

FOLDER_TEST(max_pixels)
{
    struct ih_error err;
    struct run none = gpu_run(*state, N_FOR_HW);
    none.max_pixels = 29; /* all are larger */
    assert_int_equal(run(&none, 2, &err), IH_OK);
    assert_int_equal(none.n_failed, N_FOR_HW);
    assert_int_equal(fake.n_jobs, 0);

    struct run one = gpu_run(*state, 1);
    for (one.max_pixels = 30 * 41 - 1; one.max_pixels <= 30 * 41; one.max_pixels++) {
        one.n_given = one.n_taken = one.n_failed = 0;
        assert_int_equal(run(&one, 1, &err), IH_OK);
        assert_int_equal(one.n_failed, one.max_pixels < 30 * 41);
        assert_int_equal(fake.n_jobs, 1 - one.n_failed);
    }
}

FOLDER_TEST(input_that_is_an_output)
{
    struct ih_error err;
    struct stat st = stat_of(*state, 1);
    const struct ih_file_identity output = {st.st_dev, st.st_ino};
    struct run r = gpu_run(*state, 3);
    r.outputs = &output;
    r.n_outputs = 1;
    assert_int_equal(run(&r, 1, &err), IH_CONFLICT);
    assert_int_equal(r.n_taken, 1);
    assert_true(fake.n_jobs <= 2);
}

/* Images that are too large for the decoders are not queued: one thread would count them all. */
FOLDER_TEST(larger_than_the_decoders_take)
{
    struct ih_error err;
    struct run r = gpu_run(*state, N_FOR_HW);
    count_on_cpu(*state);
    r.expected = expected;
    fake.pixels_max = 1;
    assert_int_equal(run(&r, 2, &err), IH_OK);
    fake.pixels_max = 0;
    assert_int_equal(r.n_taken, N_FOR_HW);
    assert_int_equal(r.n_failed, 0);
    assert_int_equal(fake.n_jobs, 0);
    assert_int_equal(r.report.n_left[IH_JPEG_REASON_TOO_MANY_PIXELS], N_FOR_HW);
}

/* A quarter of the memory is for the files that workers hold, each with the validator's copy. */
FOLDER_TEST(memory_of_the_workers)
{
    enum { N_THREADS = 2 };
    struct ih_error err;
    struct stat st = stat_of(*state, 0);
    struct run r = gpu_run(*state, 1);
    const uint64_t least = (uint64_t)st.st_size * 2 * 4 * N_THREADS;
    for (r.memory_bytes = least - 1; r.memory_bytes <= least; r.memory_bytes++) {
        r.n_given = r.n_taken = 0;
        assert_int_equal(run(&r, N_THREADS, &err), IH_OK);
        assert_int_equal(r.n_failed, 0);
        assert_int_equal(fake.n_jobs, r.memory_bytes == least);
    }
    assert_int_equal(r.report.n_left[IH_JPEG_REASON_TOO_LARGE], 1);
}
