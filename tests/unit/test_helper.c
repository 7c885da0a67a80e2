/*
 * Helper processes: the same pixels as without, and what becomes of a file whose decoder crashes,
 * hangs, lies or tries what it may not do.
 *
 * The helper is this test itself, started anew, and serves the decoders below; a request names them
 * by their index.
 */
#define _DEFAULT_SOURCE /* socket and the rest of what a helper must not do */

#include "base/clock.h"
#include "base/late.h"
#include "base/sandbox.h"
#include "decode/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- decoders: what each does in its read ---- */

enum { WIDTH = 700, HEIGHT = 300 }; /* more than one piece */

struct image {
    struct ih_source *src;
    struct ih_budget *budget;
    uint64_t n_left;
    uint64_t sum; /* of the file's bytes */
};

static enum ih_status open_image(struct ih_source *src, const struct ih_decode_options *options,
                                 struct ih_image_info *info, void **state, struct ih_error *err)
{
    static struct image image;
    uint8_t *bytes;
    size_t n;
    image = (struct image){src, options->budget, (uint64_t)WIDTH * HEIGHT, 0};
    if (ih_source_read_all(src, 1 << 30, &bytes, &n, err) != IH_OK)
        return err->status;
    for (size_t i = 0; i < n; i++)
        image.sum += bytes[i];
    free(bytes);
    *info = (struct ih_image_info){
        .width = WIDTH, .height = HEIGHT, .n_channels = 3, .source_depth = 8};
    *state = &image;
    return IH_OK;
}

static void close_image(void *state)
{
    (void)state;
}

/* Every pixel holds the sum of the file's bytes. */
static enum ih_status read_sum(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                               struct ih_error *err)
{
    struct image *image = state;
    (void)err;
    *n_pixels = image->n_left < capacity ? (size_t)image->n_left : capacity;
    memset(pixels, (int)(image->sum & 255), *n_pixels * 3);
    image->n_left -= *n_pixels;
    return IH_OK;
}

static enum ih_status read_failing(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                   struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels;
    return ih_error_set(err, IH_UNSUPPORTED, "a text of its own");
}

static enum ih_status read_crashing(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                    struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report and exit */
    raise(SIGSEGV);
    return IH_OK;
}

static enum ih_status read_exiting(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                   struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    _exit(7);
}

static enum ih_status read_endless(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                   struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    ih_sandbox_allow_seconds(0); /* the test need not wait for the real limit */
    for (volatile unsigned i = 0;; i++)
        if (i == 0 && *n_pixels == SIZE_MAX)
            return IH_OK; /* never; but a function that returns has to say so */
}

static enum ih_status read_nonsense(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                    struct ih_error *err)
{
    static const char nonsense[4096] = "what no helper says";
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    for (;;)
        if (write(IH_HELPER_SOCKET, nonsense, sizeof nonsense) < 0)
            _exit(0);
}

static enum ih_status read_hiding(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                  struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    close(IH_HELPER_SOCKET);
    sleep(1000);
    return IH_OK;
}

/* Sleeps before it says anything, or after its first pixels. */
static enum ih_status open_sleeping(struct ih_source *src, const struct ih_decode_options *options,
                                    struct ih_image_info *info, void **state, struct ih_error *err)
{
    (void)src, (void)options, (void)info, (void)state, (void)err;
    sleep(1000);
    return IH_OK;
}

static enum ih_status read_sleeping(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                    struct ih_error *err)
{
    struct image *image = state;
    if (image->n_left < (uint64_t)WIDTH * HEIGHT)
        sleep(1000);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Never silent for long, and never done: a pixel now and then. */
static enum ih_status read_dripping(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                    struct ih_error *err)
{
    const struct timespec a_while = {.tv_nsec = 20 * 1000 * 1000};
    (void)capacity;
    nanosleep(&a_while, NULL);
    return read_sum(state, pixels, 1, n_pixels, err);
}

/* Bit i of every pixel: attempt i succeeded. */
static unsigned attempts(void)
{
    char *const command[] = {(char[]){"true"}, NULL};
    const bool done[] = {
        open("/etc/passwd", O_RDONLY) >= 0,
        open("/tmp/imghist-helper-was-here", O_WRONLY | O_CREAT, 0600) >= 0,
        socket(AF_INET, SOCK_STREAM, 0) >= 0,
        unlink("/tmp/imghist-helper-was-here") == 0,
        kill(getppid(), 0) == 0,
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
            MAP_FAILED,
        execv("/bin/true", command) == 0, /* it would end this process */
    };
    unsigned bits = 0;
    for (unsigned i = 0; i < sizeof done / sizeof done[0]; i++)
        bits |= done[i] ? 1u << i : 0;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return bits | (child > 0 ? 1u << 7 : 0);
}

static enum ih_status read_attempts(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                    struct ih_error *err)
{
    struct image *image = state;
    image->sum = image->n_left == (uint64_t)WIDTH * HEIGHT ? attempts() : image->sum;
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Every pixel says what the budget answered: 1 for a first half, 2 for a second, 4 for one more. */
static enum ih_status read_budget(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                  struct ih_error *err)
{
    struct image *image = state;
    if (image->n_left == (uint64_t)WIDTH * HEIGHT) {
        uint64_t half = image->budget->size_bytes / 2;
        bool has_limit =
            ih_budget_take(image->budget, image->budget->size_bytes + 1, err) == IH_LIMIT;
        image->sum = ih_budget_take(image->budget, half, err) == IH_OK ? 1 : 0;
        image->sum |= ih_budget_try(image->budget, half) ? 2 : 0;
        image->sum |= ih_budget_try(image->budget, 1) ? 4 : 0;
        ih_budget_give(image->budget, half); /* the other half it forgets */
        image->sum |= has_limit ? 0 : 8;
        *err = (struct ih_error){IH_OK, ""};
    }
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* An error that would end the whole batch. */
static enum ih_status read_lying(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                 struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels;
    return ih_error_set(err, IH_CONFLICT, "is an input and the output file at once");
}

/* Waits for what it holds itself. */
static enum ih_status read_greedy(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                  struct ih_error *err)
{
    struct image *image = state;
    ih_budget_take(image->budget, image->budget->size_bytes, err);
    ih_budget_take(image->budget, image->budget->size_bytes, err);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Its library is not there. Without rights the loader has another reason. */
static enum ih_status open_late(struct ih_source *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void **state, struct ih_error *err)
{
    (void)src, (void)options, (void)info, (void)state;
    return ih_late_load("libimghist-none.so.7", NULL, 0, NULL, err);
}

static enum ih_status prepare_late(struct ih_error *err)
{
    return ih_late_load("libimghist-none.so.7", NULL, 0, NULL, err);
}

static bool probe_nothing(const uint8_t *head, size_t size)
{
    (void)head, (void)size;
    return false;
}

static const char *no_version(void)
{
    return "";
}

enum {
    SUM,
    FAILING,
    CRASHING,
    EXITING,
    ENDLESS,
    NONSENSE,
    HIDING,
    ATTEMPTS,
    BUDGET,
    LYING,
    GREEDY,
    SLEEPING_AT_ONCE,
    SLEEPING,
    DRIPPING,
    LATE
};

#define A_DECODER(read_call) A_DECODER_OF(open_image, read_call)
#define A_DECODER_OF(open_call, read_call)                                          \
    &(const struct ih_decoder)                                                      \
    {                                                                               \
        .name = "test", .title = "", .version = no_version, .probe = probe_nothing, \
        .open = open_call, .read = read_call, .close = close_image                  \
    }
static const struct ih_decoder *const decoders[] = {
    [SUM] = A_DECODER(read_sum),
    [FAILING] = A_DECODER(read_failing),
    [CRASHING] = A_DECODER(read_crashing),
    [EXITING] = A_DECODER(read_exiting),
    [ENDLESS] = A_DECODER(read_endless),
    [NONSENSE] = A_DECODER(read_nonsense),
    [HIDING] = A_DECODER(read_hiding),
    [ATTEMPTS] = A_DECODER(read_attempts),
    [BUDGET] = A_DECODER(read_budget),
    [LYING] = A_DECODER(read_lying),
    [GREEDY] = A_DECODER(read_greedy),
    [SLEEPING_AT_ONCE] = A_DECODER_OF(open_sleeping, read_sum),
    [SLEEPING] = A_DECODER(read_sleeping),
    [DRIPPING] = A_DECODER(read_dripping),
    [LATE] = &(const struct ih_decoder){.name = "late",
                                        .version = no_version,
                                        .probe = probe_nothing,
                                        .prepare = prepare_late,
                                        .open = open_late},
    NULL,
};

/* ---- the worker's side ---- */

static const struct ih_helper_command command = {.program = "/proc/self/exe", .decoders = decoders};

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

/* All of an image through the helper. value: of its pixels, which must be all the same. */
static enum ih_status decode(struct ih_helper *h, unsigned decoder, size_t file_bytes,
                             struct ih_budget *budget, unsigned *value, struct ih_error *err)
{
    static uint8_t pixels[3 * WIDTH * 7];
    const struct ih_decode_options options = {.max_pixels = 1 << 30, .budget = budget};
    struct ih_source src = {0};
    struct ih_image_info info = {0};
    const uint8_t *head;
    size_t n = 1;
    uint64_t n_all = 0;
    int fd = file_of(file_bytes);
    assert_int_equal(ih_source_open_fd(&src, fd, err), IH_OK);
    assert_int_equal(ih_source_peek(&src, IH_PROBE_BYTES, &head, &n, err), IH_OK);
    enum ih_status status = ih_helper_open(h, decoder, &src, &options, &info, err);
    while (status == IH_OK && n > 0) {
        status = ih_helper_read(h, pixels, sizeof pixels / 3, &n, err);
        for (size_t i = 0; status == IH_OK && i < 3 * n; i++)
            assert_int_equal(pixels[i], *value = pixels[0]);
        n_all += n;
    }
    if (status == IH_OK)
        assert_int_equal(n_all, WIDTH * HEIGHT);
    ih_helper_close(h);
    ih_source_reset(&src);
    close(fd);
    return status;
}

static void test_pixels(void **state)
{
    struct ih_helper h;
    struct ih_error err;
    unsigned value = 0;
    (void)state;
    ih_helper_init(&h, &command);
    /* All of the file in the worker's buffer, more than it, much more. */
    static const size_t sizes[] = {200, IH_SOURCE_BUFFER_BYTES + 7, 1000 * 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(decode(&h, SUM, sizes[i], NULL, &value, &err), IH_OK);
        assert_int_equal(value, sizes[i] & 255);
    }
    ih_helper_reset(&h);
}

/* One file fails with its reason, the next is decoded. */
static void test_failures(void **state)
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
        {HIDING, IH_CORRUPT, "its decoder crashed: signal 9 (killed, perhaps for lack of memory)"},
    };
    struct ih_helper h;
    struct ih_error err;
    unsigned value = 0;
    (void)state;
    ih_helper_init(&h, &command);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(&h, cases[i].decoder, 100, NULL, &value, &err), cases[i].status);
        assert_string_equal(err.message, cases[i].says);
        assert_int_equal(decode(&h, SUM, 99, NULL, &value, &err), IH_OK);
        assert_int_equal(value, 99);
    }
    ih_helper_reset(&h);
}

static void test_library_not_there(void **state)
{
    static const char says[] = "libimghist-none.so.7, which decodes it, cannot be loaded: ";
    struct ih_helper h;
    struct ih_error err;
    unsigned value = 0;
    (void)state;
    ih_helper_init(&h, &command);
    for (int i = 0; i < 3; i++) { /* one that prepares for it, the same again, one for all */
        assert_int_equal(decode(&h, LATE, 10, NULL, &value, &err), IH_UNSUPPORTED);
        assert_memory_equal(err.message, says, sizeof says - 1);
        assert_non_null(strstr(err.message, "No such file"));
        if (i == 0)
            continue;
        ih_helper_reset(&h);
        ih_helper_init(&h, &command);
        assert_int_equal(decode(&h, SUM, 99, NULL, &value, &err), IH_OK);
        assert_int_equal(value, 99);
    }
    ih_helper_reset(&h);
}

/* One that uses no processor time does not hold its worker for ever; what it took is given back. */
static void test_sleep(void **state)
{
    static const struct ih_helper_command hurried = {
        .program = "/proc/self/exe", .seconds_max = 1, .decoders = decoders};
    static const unsigned sleepers[] = {SLEEPING_AT_ONCE, SLEEPING, DRIPPING};
    struct ih_helper h;
    struct ih_error err;
    struct ih_budget budget;
    unsigned value = 0;
    (void)state;
    alarm(120); /* rather than hang */
    ih_helper_init(&h, &hurried);
    ih_budget_init(&budget, 1000);
    for (size_t i = 0; i < sizeof sleepers / sizeof sleepers[0]; i++) {
        uint64_t started_ns = ih_clock_ns();
        assert_int_equal(decode(&h, sleepers[i], 100, &budget, &value, &err), IH_LIMIT);
        assert_string_equal(err.message, "its decoder takes more than 1 s and was ended");
        assert_true(ih_clock_ns() - started_ns >= 1000u * 1000 * 1000);
        assert_false(h.is_running);
        assert_int_equal(budget.taken_bytes, 0);
        assert_int_equal(decode(&h, SUM, 99, &budget, &value, &err), IH_OK);
        assert_int_equal(value, 99);
    }
    ih_budget_destroy(&budget);
    ih_helper_reset(&h);
    alarm(0);
}

/* A pipe that is slow to come is no sleep of its decoder's. */
static void *feed_slowly(void *pipe_end)
{
    const struct timespec a_while = {.tv_sec = 2};
    nanosleep(&a_while, NULL);
    if (write(*(int *)pipe_end, "\1\1\1", 3) != 3)
        abort();
    close(*(int *)pipe_end);
    return NULL;
}

static void test_slow_pipe(void **state)
{
    static const struct ih_helper_command hurried = {
        .program = "/proc/self/exe", .seconds_max = 1, .decoders = decoders};
    static uint8_t pixels[3 * WIDTH];
    const struct ih_decode_options options = {.max_pixels = 1 << 30};
    struct ih_helper h;
    struct ih_error err;
    struct ih_source src = {0};
    struct ih_image_info info;
    int ends[2];
    size_t n;
    pthread_t feeder;
    (void)state;
    ih_helper_init(&h, &hurried);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&feeder, NULL, feed_slowly, &ends[1]), 0);
    assert_int_equal(ih_source_open_fd(&src, ends[0], &err), IH_OK);
    assert_int_equal(ih_helper_open(&h, SUM, &src, &options, &info, &err), IH_OK);
    assert_int_equal(ih_helper_read(&h, pixels, WIDTH, &n, &err), IH_OK);
    assert_int_equal(pixels[0], 3);
    ih_helper_close(&h);
    ih_helper_reset(&h);
    ih_source_reset(&src);
    pthread_join(feeder, NULL);
    close(ends[0]);
}

/* An image that nobody reads to its end. */
static void test_abandoned(void **state)
{
    struct ih_helper h;
    struct ih_error err;
    struct ih_source src = {0};
    struct ih_image_info info;
    const struct ih_decode_options options = {.max_pixels = 1 << 30};
    unsigned value = 0;
    int fd = file_of(10);
    (void)state;
    ih_helper_init(&h, &command);
    assert_int_equal(ih_source_open_fd(&src, fd, &err), IH_OK);
    assert_int_equal(ih_helper_open(&h, SUM, &src, &options, &info, &err), IH_OK);
    ih_helper_close(&h);
    ih_source_reset(&src);
    close(fd);
    assert_int_equal(decode(&h, SUM, 98, NULL, &value, &err), IH_OK);
    assert_int_equal(value, 98);
    ih_helper_reset(&h);
}

static void test_rights(void **state)
{
    struct ih_helper h;
    struct ih_error err;
    unsigned value = 255;
    (void)state;
    if (strncmp(ih_sandbox_title(), "seccomp", 7) != 0)
        skip();
    ih_helper_init(&h, &command);
    assert_int_equal(decode(&h, ATTEMPTS, 1, NULL, &value, &err), IH_OK);
    assert_int_equal(value, 0);
    assert_int_not_equal(access("/tmp/imghist-helper-was-here", F_OK), 0);
    ih_helper_reset(&h);
}

/* The worker's budget is asked, and what a helper forgets, or dies with, is given back. */
static void test_budget(void **state)
{
    struct ih_helper h;
    struct ih_error err;
    struct ih_budget budget;
    unsigned value = 255;
    (void)state;
    ih_helper_init(&h, &command);
    ih_budget_init(&budget, 1000);
    assert_int_equal(decode(&h, BUDGET, 1, &budget, &value, &err), IH_OK);
    assert_int_equal(value, 1 | 2);
    assert_int_equal(budget.taken_bytes, 0);
    assert_int_equal(decode(&h, GREEDY, 1, &budget, &value, &err), IH_CORRUPT);
    assert_string_equal(err.message, "its decoder ended unexpectedly (it sent nonsense)");
    assert_int_equal(budget.taken_bytes, 0);
    ih_budget_destroy(&budget);
    ih_helper_reset(&h);
}

static void test_no_program(void **state)
{
    static const struct ih_helper_command nowhere = {.program = "/nonexistent/imghist",
                                                     .decoders = decoders};
    static const struct ih_helper_command other = {.program = "true", .decoders = decoders};
    struct ih_helper h;
    struct ih_error err;
    unsigned value = 0;
    (void)state;
    ih_helper_init(&h, &nowhere);
    assert_int_equal(decode(&h, SUM, 1, NULL, &value, &err), IH_UNAVAILABLE);
    ih_helper_reset(&h);
    ih_helper_init(&h, &other);
    assert_int_equal(decode(&h, SUM, 1, NULL, &value, &err), IH_UNAVAILABLE);
    ih_helper_reset(&h);
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], IH_HELPER_OPTION) == 0)
        return ih_helper_serve(decoders, argv + 2);
    if (access(command.program, X_OK) != 0) {
        puts("[  SKIPPED ] no /proc: the test cannot start itself");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_slow_pipe),
        cmocka_unit_test(test_library_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
