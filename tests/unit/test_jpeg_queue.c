/*
 * JPEG files in the queue for a GPU, without a GPU: the results are those of the CPU, in the order
 * of the inputs.
 */
#include "tests/support/test.h"

#include "tests/support/jpeg_queue_run.h"
#include <sys/inotify.h>
#include <sys/stat.h>

/* Every sound JPEG file is counted by the sessions, and no other file. */
FOLDER_TEST(sessions_and_cpu)
{
    static const unsigned threads[] = {1, 2, 5, 16};
    struct ih_error err;
    count_on_cpu(*state);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct run r = gpu_run_compared(*state, ROUNDS * N_FILES);
        assert_int_equal(run(&r, threads[i], &err), IH_OK);
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(r.n_by_gpu, ROUNDS * N_TAKEN);
        assert_int_equal(fake.n_jobs, ROUNDS * (N_TAKEN + 1)); /* and the one that is cut */
        assert_int_equal(r.report.n_decoded, ROUNDS * N_TAKEN);
        assert_int_equal(r.report.n_left[IH_JPEG_REASON_DATA], ROUNDS);
        assert_non_null(strstr(r.report.decoders, "kernels on "));
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
        assert_int_equal(r.n_by_gpu, n < N_TAKEN ? n : N_TAKEN);
    }
}

/* While a GPU is busy, the next batch fills; its files need not fit one batch. */
FOLDER_TEST(full_batches)
{
    struct ih_error err;
    count_on_cpu(*state);
    fake.batch_ms = 30;
    for (fake.files_bytes = 0; fake.files_bytes < 10000; fake.files_bytes += 5000) {
        struct run r = gpu_run_compared(*state, 20 * N_FILES);
        assert_int_equal(run(&r, 4, &err), IH_OK);
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(r.n_by_gpu, 20 * N_TAKEN);
        assert_true(fake.n_largest > 1);
    }
    fake.batch_ms = 0;
    fake.files_bytes = 0;
}

/* No batch leaves for a busy GPU with few files while a worker has more of them. */
FOLDER_TEST(last_files_in_one_batch)
{
    struct ih_error err;
    struct run r = gpu_run(*state, N_TAKEN - 1); /* none is progressive */
    fake.batch_ms = 500;
    fake_sessions.n_sessions = 3;
    assert_int_equal(run(&r, 1, &err), IH_OK);
    assert_int_equal(fake.n_batches, 2); /* the first is a file: the GPU has nothing to do */
    assert_int_equal(fake.n_largest, N_TAKEN - 2);
    fake_sessions.n_sessions = 2;
    fake.batch_ms = 0;
}

enum { MANY = 300 * N_FILES };

/* A GPU begins the next batch while the counts of the last are read. */
FOLDER_TEST(next_batch_while_counts_are_read)
{
    struct ih_error err;
    count_on_cpu(*state);
    fake.reads_late = true;
    struct run r = gpu_run_compared(*state, MANY);
    assert_int_equal(run(&r, 4, &err), IH_OK);
    assert_int_equal(r.n_taken, r.n_inputs);
    assert_in_range(fake.n_batches, 2, MANY);
    fake.reads_late = false;
}

/* When a session fails, the CPU counts its files; when all have failed, it counts all later ones.
 */
FOLDER_TEST(sessions_that_fail)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned fails_at = 0; fails_at < 3; fails_at++)
        for (unsigned n_threads = 1; n_threads < 6; n_threads += 2) {
            struct run r = gpu_run_compared(*state, MANY);
            fake.fails_at = fails_at;
            assert_int_equal(run(&r, n_threads, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_true(r.report.n_left[IH_JPEG_REASON_STOPPED] >= 1);
            assert_int_equal(r.n_by_gpu, r.report.n_decoded);
            assert_string_equal(r.report.why_none.message, "GPU failed");
        }
    struct run all = gpu_run_compared(*state, MANY);
    fake.fails_at = 0;
    fake.fails_on = true;
    assert_int_equal(run(&all, 4, &err), IH_OK);
    fake.fails_on = false;
    assert_int_equal(all.n_taken, all.n_inputs);
    assert_int_equal(all.n_by_gpu, 0);
    assert_in_range(fake.n_batches, 1, fake_sessions.n_sessions + fake_sessions.n_progressive);
}

/* One session of two GPUs fails, and the others go on. Some files are not counted. */
FOLDER_TEST(two_units_and_returned_files)
{
    struct ih_error err;
    count_on_cpu(*state);
    fake.n_units = 2;
    fake.fails_late = true;
    for (unsigned returns = 0; returns < 3; returns++)
        for (unsigned fails_at = 0; fails_at < 2; fails_at++) {
            struct run r = gpu_run_compared(*state, MANY);
            fake.fails_at = fails_at;
            fake.rejects = returns;
            assert_int_equal(run(&r, 32, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_int_equal(r.n_by_gpu, r.report.n_decoded);
            assert_true(r.n_by_gpu > 0 || returns == 1); /* which returns every job */
        }
    fake.n_units = fake.rejects = 0;
    fake.fails_late = false;
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

/* Without a GPU, nothing is opened to see whether it is a JPEG file. */
FOLDER_TEST(no_gpu)
{
    enum { N_ROUNDS = 20 };
    struct ih_error err;
    char path[200];
    const int watch =
        inotify_init1(IN_NONBLOCK | IN_CLOEXEC); /* may fail: too many watched files */
    for (unsigned i = 0; i < 2; i++) {           /* a JPEG file, and the PGM file */
        struct run r = gpu_run(*state, N_ROUNDS * N_FILES);
        r.side = IH_JPEG_AUTO;
        r.lacks_gpu = true;
        snprintf(path, sizeof path, "%s/%d", (const char *)*state, i ? N_KINDS : 0);
        const int watched =
            watch < 0 ? -1 : inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE_NOWRITE);
        assert_int_equal(run(&r, 1, &err), IH_OK); /* equal events in a row would be one */
        assert_int_equal(r.n_taken, r.n_inputs);
        if (watched >= 0)
            assert_int_equal(n_readers(watch), N_ROUNDS);
        if (watched >= 0)
            inotify_rm_watch(watch, watched);
        (void)n_readers(watch); /* the end of the watch */
    }
    if (watch >= 0)
        close(watch);
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
    assert_int_equal(r.n_by_gpu, 0);
    if (is_watched)
        assert_int_equal(n_readers(watch), 1);
    if (watch >= 0)
        close(watch);
}

FOLDER_TEST(sessions_that_do_not_start)
{
    struct ih_error err = {0};
    struct run r = gpu_run(*state, 3);
    fake.is_missing = true;
    assert_int_equal(run(&r, 2, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "no decoders");
    assert_int_equal(r.n_taken, 0);
    assert_int_equal(r.n_given, 0);
    fake.is_missing = false;

    const struct ih_jpeg_queue_options options = {.side = IH_JPEG_GPU};
    const struct ih_device_options cpu = {.backend = "cpu"};
    struct ih_device *device = NULL;
    struct ih_jpeg_queue *queue = NULL;
    assert_int_equal(ih_device_open(&cpu, &device, &err), IH_OK);
    assert_int_equal(ih_jpeg_queue_open(&options, device, NULL, NULL, &queue, &err),
                     IH_UNAVAILABLE);
    assert_null(queue);
    assert_string_equal(err.message, "no GPU decodes JPEG files here");
    ih_device_close(device);
}

/* Runs over two files. While both are queued, the first is replaced by another of n bytes and
 * not counted. */
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
    assert_int_equal(r.report.n_left[IH_JPEG_REASON_DATA], 1);
    if (status == IH_OK) /* else the second may not have been started */
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

/* With IH_JPEG_AUTO the CPU counts the first progressive files. */
FOLDER_TEST(progressive_files)
{
    enum { PROGRESSIVE = 5, FIRST = 100, N = 400 }; /* of the folder's files; as in queue.c */
    struct ih_error err;
    count_on_cpu(*state);
    struct run r = {
        .folder = *state, .n_inputs = N * N_FILES, .side = IH_JPEG_AUTO, .expected = expected};
    fake.fails_at = NEVER;
    assert_int_equal(kinds[PROGRESSIVE].is_progressive, true);
    assert_int_equal(run(&r, 4, &err), IH_OK);
    assert_int_equal(r.n_taken, r.n_inputs);
    assert_true(r.report.n_left[IH_JPEG_REASON_FEW] + r.report.n_left[IH_JPEG_REASON_NOT_STARTED] >=
                FIRST);
}

/* With IH_JPEG_AUTO the first JPEG file starts the sessions; none waits for them. */
FOLDER_TEST(auto)
{
    struct ih_error err;
    count_on_cpu(*state);
    struct run r = {.folder = *state, .n_inputs = MANY, .side = IH_JPEG_AUTO, .expected = expected};
    fake.fails_at = NEVER;
    assert_int_equal(run(&r, 2, &err), IH_OK);
    assert_int_equal(r.n_taken, r.n_inputs);
    assert_int_equal(r.n_by_gpu, r.report.n_decoded);

    r = (struct run){.folder = *state, .n_inputs = MANY, .side = IH_JPEG_AUTO};
    fake.is_missing = true;
    assert_int_equal(run(&r, 2, &err), IH_OK);
    assert_int_equal(r.n_taken, r.n_inputs);
    assert_string_equal(r.report.why_none.message, "no decoders");
    fake.is_missing = false;
}

/* The sessions start only with the device: not in a run that is too short for it. */
FOLDER_TEST(only_with_the_device)
{
    struct ih_error err;
    struct run r = {.folder = *state, .n_inputs = MANY, .side = IH_JPEG_AUTO, .is_short = true};
    assert_int_equal(run(&r, 2, &err), IH_OK);
    assert_int_equal(r.n_taken, r.n_inputs);
    assert_false(fake.has_tried);
    assert_string_equal(r.report.decoders, "");
}

FOLDER_TEST(files_do_not_wait_for_the_start)
{
    struct ih_error err;
    struct run r = {
        .folder = *state, .n_inputs = MANY, .side = IH_JPEG_AUTO, .releases_taken = true};
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
    struct run none = gpu_run(*state, N_TAKEN);
    none.max_pixels = 29; /* all are larger */
    assert_int_equal(run(&none, 2, &err), IH_OK);
    assert_int_equal(none.n_failed, N_TAKEN);
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

/* Files and images that are too large for a batch. */
FOLDER_TEST(larger_than_a_batch)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned i = 0; i < 2; i++) {
        struct run r = gpu_run_compared(*state, N_TAKEN);
        fake.files_bytes = i == 0 ? 100 : 0;
        fake.gpu_bytes = i == 1 ? 100 : 0;
        assert_int_equal(run(&r, 2, &err), IH_OK);
        assert_int_equal(r.n_taken, N_TAKEN);
        assert_int_equal(r.n_failed, 0);
        assert_int_equal(fake.n_jobs, 0);
        assert_int_equal(r.report.n_left[IH_JPEG_REASON_NOT_A_FILE], N_TAKEN);
    }
    fake.files_bytes = 0;
    fake.gpu_bytes = 0;
}
