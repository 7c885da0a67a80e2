/*
 * Decoder processes deliver the same pixels. A file fails with the right error if its decoder
 * crashes, hangs, lies or tries a forbidden call.
 *
 * The test starts itself as the decoder process and serves the decoders of misbehaving_decoders.h.
 * A request names them by index.
 */
#define _DEFAULT_SOURCE /* forbidden calls */
#define OWN_MAIN
#include "tests/support/test.h"

#include "base/clock.h"
#include "tests/support/misbehaving_decoders.h"
#include "tests/support/sanitizer.h"
#include <pthread.h>
#include <sys/wait.h>

static const struct ih_decoder_process_command command = {.program = "/proc/self/exe",
                                                          .cpu_seconds_max = 1,
                                                          .memory_bytes = 64 << 20,
                                                          .decoders = decoders};

#include "tests/support/own_decoder_process.h"

/* A file of n bytes that are all 1, open for reading. */
static int file_of(size_t n)
{
    char name[] = "/tmp/imghist-test-XXXXXX";
    uint8_t ones[1000];
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    memset(ones, 1, sizeof ones);
    for (; n > 0; n -= n < sizeof ones ? n : sizeof ones)
        assert_true(write(fd, ones, n < sizeof ones ? n : sizeof ones) > 0);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Decodes an image whose pixels must all have the same value. */
static enum ih_status decode(struct ih_decoder_process *h, unsigned decoder, size_t file_bytes,
                             struct ih_budget *budget, unsigned *value, struct ih_error *err)
{
    static uint8_t pixels[3 * WIDTH * 7];
    const struct ih_decode_options options = {.max_pixels = 1 << 30, .budget = budget};
    struct ih_reader src = {0};
    struct ih_image_info info = {0};
    const uint8_t *head;
    size_t n = 1, n_head;
    uint64_t n_all = 0;
    int fd = file_of(file_bytes);
    assert_int_equal(ih_reader_open_fd(&src, fd, err), IH_OK);
    assert_int_equal(ih_reader_peek(&src, IH_PROBE_BYTES, &head, &n_head, err), IH_OK);
    enum ih_status status = h->remote.open(&h->remote, decoder, &src, &options, &info, err);
    while (status == IH_OK && n > 0) {
        status = h->remote.read(&h->remote, pixels, sizeof pixels / 3, &n, err);
        for (size_t i = 0; status == IH_OK && i < 3 * n; i++)
            assert_int_equal(pixels[i], *value = pixels[0]);
        n_all += n;
    }
    if (status == IH_OK)
        assert_int_equal(n_all, WIDTH * HEIGHT);
    h->remote.close(&h->remote);
    ih_reader_reset(&src);
    close(fd);
    return status;
}

PROCESS_TEST(pixels)
{
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    unsigned value = 0;
    /* A file that fits into the worker's buffer, a larger one, a much larger one. */
    static const size_t sizes[] = {200, IH_READER_BUFFER_BYTES + 7, 1000 * 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(decode(h, SUM, sizes[i], NULL, &value, &err), IH_OK);
        assert_int_equal(value, sizes[i] & 255);
    }
    pid_t pid = h->pid;
    for (unsigned i = 1; i <= 50; i++) /* more files than it may have open at once */
        assert_int_equal(decode(h, SUM, i, NULL, &value, &err), IH_OK);
    assert_int_equal(h->pid, pid);
}

/* One file fails with its reason; the next is decoded. */
PROCESS_TEST(failures)
{
    static const struct {
        unsigned decoder;
        enum ih_status status;
        const char *says;
    } cases[] = {
        {FAILING, IH_UNSUPPORTED, "a text of its own"},
        {CRASHING, IH_CORRUPT, "its decoder crashed: signal 11 (segmentation fault)"},
        {EXITING, IH_CORRUPT, "its decoder ended unexpectedly (exit code 7)"},
        {ENDLESS, IH_LIMIT, "its decoder takes too long and was ended"},
        {NONSENSE, IH_CORRUPT, "its decoder ended unexpectedly (it sent nonsense)"},
        {LYING, IH_CORRUPT, "its decoder ended unexpectedly (it sent nonsense)"},
        {BROAD, IH_CORRUPT, "its decoder ended unexpectedly (it sent nonsense)"},
        {HIDING, IH_CORRUPT, "its decoder crashed: signal 9 (killed, perhaps for lack of memory)"}};
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    unsigned value = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(h, cases[i].decoder, 100, NULL, &value, &err), cases[i].status);
        assert_string_equal(err.message, cases[i].says);
        assert_int_equal(decode(h, SUM, 99, NULL, &value, &err), IH_OK);
        assert_int_equal(value, 99);
    }
}

TEST(missing_library)
{
    static const char says[] = "libimghist-none.so.7, which decodes it, cannot be loaded: ";
    struct ih_decoder_process h;
    struct ih_error err;
    unsigned value = 0;
    ih_decoder_process_init(&h, &command);
    for (int i = 0; i < 3; i++) { /* prepares it, the same again, prepares all */
        assert_int_equal(decode(&h, NO_LIBRARY, 10, NULL, &value, &err), IH_UNSUPPORTED);
        assert_memory_equal(err.message, says, sizeof says - 1);
        assert_non_null(strstr(err.message, "No such file"));
        if (i == 0)
            continue;
        ih_decoder_process_reset(&h);
        ih_decoder_process_init(&h, &command);
        assert_int_equal(decode(&h, SUM, 99, NULL, &value, &err), IH_OK);
        assert_int_equal(value, 99);
    }
    ih_decoder_process_reset(&h);
}

/* A process that sleeps is ended, and the budget gets back what it took. */
PROCESS_TEST(sleep)
{
    static const struct ih_decoder_process_command hurried = {
        .program = "/proc/self/exe", .seconds_max = 1, .decoders = decoders};
    static const unsigned sleepers[] = {SLEEPING_AT_ONCE, SLEEPING, DRIPPING};
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    struct ih_budget budget;
    unsigned value = 0;
    if (is_emulated())
        skip("an emulated process may take longer than a second to start");
    alarm(120); /* rather than hang */
    ih_decoder_process_init(h, &hurried);
    ih_budget_init(&budget, 1000);
    for (size_t i = 0; i < sizeof sleepers / sizeof sleepers[0]; i++) {
        uint64_t started_ns = ih_clock_ns();
        assert_int_equal(decode(h, sleepers[i], 100, &budget, &value, &err), IH_LIMIT);
        assert_string_equal(err.message, "its decoder takes more than 1 s and was ended");
        assert_true(ih_clock_ns() - started_ns >= 1000u * 1000 * 1000);
        assert_false(h->is_running);
        assert_int_equal(budget.taken_bytes, 0);
        assert_int_equal(decode(h, SUM, 99, &budget, &value, &err), IH_OK);
        assert_int_equal(value, 99);
    }
    ih_budget_destroy(&budget);
    alarm(0);
}

/* Waiting for a slow pipe is not held against the decoder. */
static void *feed_slowly(void *pipe_end)
{
    const struct timespec a_while = {.tv_sec = 2};
    nanosleep(&a_while, NULL);
    if (write(*(int *)pipe_end, "\1\1\1", 3) != 3)
        abort();
    close(*(int *)pipe_end);
    return NULL;
}

PROCESS_TEST(slow_pipe)
{
    static const struct ih_decoder_process_command hurried = {
        .program = "/proc/self/exe", .seconds_max = 1, .decoders = decoders};
    static uint8_t pixels[3 * WIDTH];
    const struct ih_decode_options options = {.max_pixels = 1 << 30, .timeout_s = 1};
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    struct ih_reader src = {0};
    struct ih_image_info info = {.format = NULL};
    int ends[2];
    size_t n;
    pthread_t feeder;
    if (is_emulated())
        skip("an emulated process may take longer than a second to start");
    ih_decoder_process_init(h, &hurried);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&feeder, NULL, feed_slowly, &ends[1]), 0);
    assert_int_equal(ih_reader_open_fd(&src, ends[0], &err), IH_OK);
    assert_int_equal(h->remote.open(&h->remote, SUM, &src, &options, &info, &err), IH_OK);
    assert_int_equal(h->remote.read(&h->remote, pixels, WIDTH, &n, &err), IH_OK);
    assert_int_equal(pixels[0], 3);
    h->remote.close(&h->remote);
    ih_reader_reset(&src);
    pthread_join(feeder, NULL);
    close(ends[0]);
}

/* A timeout ends the wait for a file, and the computing for a pipe. The process for the next file
 * is not hurried. */
PROCESS_TEST(timeout)
{
    static const struct ih_decoder_process_command patient = {.program = "/proc/self/exe",
                                                              .decoders = decoders};
    static uint8_t pixels[3 * WIDTH];
    const struct ih_decode_options options = {.max_pixels = 1 << 30, .timeout_s = 1};
    struct ih_decoder_process *h = *state;
    unsigned value = 0;
    alarm(120); /* rather than hang */
    ih_decoder_process_init(h, &patient);
    for (int is_pipe = 0; is_pipe <= 1; is_pipe++) {
        struct ih_error err = {0};
        struct ih_reader src = {0};
        struct ih_image_info info = {.format = NULL};
        int ends[2] = {-1, -1};
        size_t n;
        if (is_pipe) {
            assert_int_equal(pipe(ends), 0);
            assert_int_equal(write(ends[1], "\1\1\1", 3), 3);
            close(ends[1]);
        } else {
            ends[0] = file_of(3);
        }
        assert_int_equal(ih_reader_open_fd(&src, ends[0], &err), IH_OK);
        assert_int_equal(
            h->remote.open(&h->remote, is_pipe ? ENDLESS : SLEEPING, &src, &options, &info, &err),
            IH_OK);
        enum ih_status status = IH_OK;
        while (status == IH_OK)
            status = h->remote.read(&h->remote, pixels, WIDTH, &n, &err);
        assert_int_equal(status, IH_LIMIT);
        assert_int_equal(err.limit, IH_LIMIT_TIMEOUT);
        assert_int_equal(err.limit_value, 1);
        assert_string_equal(err.message, "decoding takes more than 1 s");
        h->remote.close(&h->remote);
        ih_reader_reset(&src);
        close(ends[0]);
        assert_int_equal(decode(h, SUM, 99, NULL, &value, &err), IH_OK);
        assert_int_equal(value, 99);
    }
    alarm(0);
}

/* An image that is not read to its end. */
PROCESS_TEST(abandoned)
{
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    struct ih_reader src = {0};
    struct ih_image_info info = {.format = NULL};
    const struct ih_decode_options options = {.max_pixels = 1 << 30};
    unsigned value = 0;
    int fd = file_of(10);
    assert_int_equal(ih_reader_open_fd(&src, fd, &err), IH_OK);
    assert_int_equal(h->remote.open(&h->remote, SUM, &src, &options, &info, &err), IH_OK);
    h->remote.close(&h->remote);
    ih_reader_reset(&src);
    close(fd);
    assert_int_equal(decode(h, SUM, 98, NULL, &value, &err), IH_OK);
    assert_int_equal(value, 98);
}

PROCESS_TEST(forbidden_calls)
{
    struct ih_error err = {0};
    unsigned n_tried = 0;
    if (strncmp(ih_sandbox_title(), "seccomp", 7) != 0)
        skip("no seccomp in this build");
    decode(*state, ATTEMPTS, 1, NULL, &n_tried, &err);
    assert_string_equal(err.message, "");
    assert_true(n_tried >= 60);
    assert_int_not_equal(access("/tmp/imghist-decoder-was-here", F_OK), 0);
}

PROCESS_TEST(address_space)
{
    struct ih_error err = {0};
    unsigned has_limit = 0;
    if (HAS_SANITIZER || is_emulated())
        skip("no limit of the address space");
    assert_int_equal(decode(*state, MAPPING, 1, NULL, &has_limit, &err), IH_OK);
    assert_int_equal(has_limit, 1);
}

/* Signals that end the program do not end its decoder processes first. */
PROCESS_TEST(interrupted)
{
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    unsigned value = 0;
    assert_int_equal(decode(h, INTERRUPTED, 97, NULL, &value, &err), IH_OK);
    assert_int_equal(value, 97);
}

/* In a forked process: starts a decoder process that sleeps, sends its id, and waits to be killed.
 */
static void work_and_wait(int tell)
{
    const struct ih_decode_options options = {.max_pixels = 1 << 30};
    static uint8_t pixels[3 * WIDTH * HEIGHT];
    struct ih_reader src = {0};
    struct ih_image_info info = {.format = NULL};
    struct ih_decoder_process h;
    struct ih_error err;
    size_t n;
    alarm(60); /* rather than wait for ever */
    ih_decoder_process_init(&h, &command);
    if (ih_reader_open_fd(&src, file_of(10), &err) != IH_OK ||
        h.remote.open(&h.remote, SLEEPING, &src, &options, &info, &err) != IH_OK ||
        h.remote.read(&h.remote, pixels, WIDTH, &n, &err) != IH_OK)
        _exit(1);
    if (write(tell, &h.pid, sizeof h.pid) == sizeof h.pid)
        pause();
    _exit(1);
}

/* Whether the process exists and is no zombie. */
static bool is_alive(pid_t pid)
{
    char path[64], text[200] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "r");
    const bool is = f && fgets(text, sizeof text, f) && !strstr(text, ") Z ");
    if (f)
        fclose(f);
    return is;
}

/* A decoder process ends when its worker is killed, even in the middle of an image. */
TEST(worker_killed)
{
    const struct timespec a_while = {.tv_nsec = 10 * 1000 * 1000};
    int ends[2];
    pid_t process = 0;
#ifndef __linux__
    skip("not Linux");
#endif
    assert_int_equal(pipe(ends), 0);
    pid_t worker = fork();
    assert_true(worker >= 0);
    if (worker == 0)
        work_and_wait(ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &process, sizeof process), sizeof process);
    close(ends[0]);
    const bool was_alive = is_alive(process);
    kill(worker, SIGKILL);
    waitpid(worker, NULL, 0);
    assert_true(was_alive);
    for (int i = 0; i < 500 && is_alive(process); i++)
        nanosleep(&a_while, NULL);
    assert_false(is_alive(process));
}

/* The worker's budget is used, and gets back what a decoder process does not return. */
PROCESS_TEST(budget)
{
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    struct ih_budget budget;
    unsigned value = 255;
    ih_budget_init(&budget, 1000);
    assert_int_equal(decode(h, BUDGET, 1, &budget, &value, &err), IH_OK);
    assert_int_equal(value, 1 | 2);
    assert_int_equal(budget.taken_bytes, 0);
    assert_int_equal(decode(h, GREEDY, 1, &budget, &value, &err), IH_CORRUPT);
    assert_string_equal(err.message, "its decoder ended unexpectedly (it sent nonsense)");
    assert_int_equal(budget.taken_bytes, 0);
    assert_int_equal(ih_budget_take(&budget, 300, &err), IH_OK); /* for another image */
    assert_int_equal(decode(h, GENEROUS, 1, &budget, &value, &err), IH_OK);
    assert_int_equal(budget.taken_bytes, 300);
    ih_budget_give(&budget, 300);
    ih_budget_destroy(&budget);
}

TEST(no_program)
{
    static const struct ih_decoder_process_command nowhere = {.program = "/nonexistent/imghist",
                                                              .decoders = decoders};
    static const struct ih_decoder_process_command other = {.program = "/bin/true",
                                                            .decoders = decoders};
    static const struct ih_decoder_process_command unknown = {.decoders = decoders};
    const struct ih_decoder_process_command *const commands[] = {&nowhere, &other, &unknown};
    struct ih_decoder_process h;
    struct ih_error err;
    unsigned value = 0;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        ih_decoder_process_init(&h, commands[i]);
        assert_int_equal(decode(&h, SUM, 1, NULL, &value, &err), IH_UNAVAILABLE);
        ih_decoder_process_reset(&h);
    }
}

/* A name without a slash is never looked up in PATH. */
TEST(path_is_not_searched)
{
    static const struct ih_decoder_process_command named = {.program = "imghist-on-path",
                                                            .decoders = decoders};
    char folder[] = "path-XXXXXX", link[sizeof folder + 16], *const old = getenv("PATH");
    struct ih_decoder_process h;
    struct ih_error err;
    unsigned value = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof link, "%s/imghist-on-path", folder);
    assert_int_equal(symlink("/proc/self/exe", link), 0); /* would serve, if it were found */
    assert_int_equal(setenv("PATH", folder, 1), 0);
    ih_decoder_process_init(&h, &named);
    enum ih_status status = decode(&h, SUM, 1, NULL, &value, &err);
    ih_decoder_process_reset(&h);
    unlink(link);
    rmdir(folder);
    if (old)
        setenv("PATH", old, 1);
    assert_int_equal(status, IH_UNAVAILABLE);
}

int main(int argc, char **argv)
{
    if (is_decoder_process(argc, argv))
        return ih_decoder_process_serve(decoders, argv + 2);
    if (!can_start_itself())
        return 0;
    return run_all_tests();
}
