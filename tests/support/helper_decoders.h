/*
 * What a helper process serves in its tests: decoders that crash, hang, lie or try what they may
 * not do, each in its read. Define _DEFAULT_SOURCE before any header.
 */
#ifndef IH_TESTS_HELPER_DECODERS_H
#define IH_TESTS_HELPER_DECODERS_H

#include "base/dynlib.h"
#include "isolate/decoder_process.h"
#include "isolate/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 700, HEIGHT = 300 }; /* more than one piece */

struct image {
    struct ih_source *src;
    struct ih_budget *budget;
    uint64_t n_left;
    uint64_t sum; /* of the file's bytes */
};

static inline enum ih_status open_image(struct ih_source *src,
                                        const struct ih_decode_options *options,
                                        struct ih_image_info *info, void **state,
                                        struct ih_error *err)
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

static inline void close_image(void *state)
{
    (void)state;
}

/* Every pixel holds the sum of the file's bytes. */
static inline enum ih_status read_sum(void *state, uint8_t *pixels, size_t capacity,
                                      size_t *n_pixels, struct ih_error *err)
{
    struct image *image = state;
    (void)err;
    *n_pixels = image->n_left < capacity ? (size_t)image->n_left : capacity;
    memset(pixels, (int)(image->sum & 255), *n_pixels * 3);
    image->n_left -= *n_pixels;
    return IH_OK;
}

static inline enum ih_status read_failing(void *state, uint8_t *pixels, size_t capacity,
                                          size_t *n_pixels, struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels;
    return ih_error_set(err, IH_UNSUPPORTED, "a text of its own");
}

static inline enum ih_status read_crashing(void *state, uint8_t *pixels, size_t capacity,
                                           size_t *n_pixels, struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report and exit */
    raise(SIGSEGV);
    return IH_OK;
}

/* Somebody presses Ctrl-C, or ends the program in another way, of which a helper hears as well. */
static inline enum ih_status read_interrupted(void *state, uint8_t *pixels, size_t capacity,
                                              size_t *n_pixels, struct ih_error *err)
{
    raise(SIGINT);
    raise(SIGTERM);
    raise(SIGHUP);
    raise(SIGQUIT);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

static inline enum ih_status read_exiting(void *state, uint8_t *pixels, size_t capacity,
                                          size_t *n_pixels, struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    _exit(7);
}

static inline enum ih_status read_endless(void *state, uint8_t *pixels, size_t capacity,
                                          size_t *n_pixels, struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    ih_sandbox_allow_seconds(0); /* the test need not wait for the real limit */
    for (volatile unsigned i = 0;; i++)
        if (i == 0 && *n_pixels == SIZE_MAX)
            return IH_OK; /* never; but a function that returns has to say so */
}

static inline enum ih_status read_nonsense(void *state, uint8_t *pixels, size_t capacity,
                                           size_t *n_pixels, struct ih_error *err)
{
    static const char nonsense[4096] = "what no helper says";
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    for (;;)
        if (write(IH_DECODER_PROCESS_SOCKET, nonsense, sizeof nonsense) < 0)
            _exit(0);
}

static inline enum ih_status read_hiding(void *state, uint8_t *pixels, size_t capacity,
                                         size_t *n_pixels, struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels, (void)err;
    close(IH_DECODER_PROCESS_SOCKET);
    sleep(1000);
    return IH_OK;
}

/* Sleeps before it says anything, or after its first pixels. */
static inline enum ih_status open_sleeping(struct ih_source *src,
                                           const struct ih_decode_options *options,
                                           struct ih_image_info *info, void **state,
                                           struct ih_error *err)
{
    (void)src, (void)options, (void)info, (void)state, (void)err;
    sleep(1000);
    return IH_OK;
}

static inline enum ih_status read_sleeping(void *state, uint8_t *pixels, size_t capacity,
                                           size_t *n_pixels, struct ih_error *err)
{
    struct image *image = state;
    if (image->n_left < (uint64_t)WIDTH * HEIGHT)
        sleep(1000);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Never silent for long, and never done: a pixel now and then. */
static inline enum ih_status read_dripping(void *state, uint8_t *pixels, size_t capacity,
                                           size_t *n_pixels, struct ih_error *err)
{
    const struct timespec a_while = {.tv_nsec = 20 * 1000 * 1000};
    (void)capacity;
    nanosleep(&a_while, NULL);
    return read_sum(state, pixels, 1, n_pixels, err);
}

/* Bit i of every pixel: attempt i succeeded. */
static inline unsigned attempts(void)
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

static inline enum ih_status read_attempts(void *state, uint8_t *pixels, size_t capacity,
                                           size_t *n_pixels, struct ih_error *err)
{
    struct image *image = state;
    image->sum = image->n_left == (uint64_t)WIDTH * HEIGHT ? attempts() : image->sum;
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Every pixel says what the budget answered: 1 for a first half, 2 for a second, 4 for one more. */
static inline enum ih_status read_budget(void *state, uint8_t *pixels, size_t capacity,
                                         size_t *n_pixels, struct ih_error *err)
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
        *err = (struct ih_error){0};
    }
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* An error that would end the whole batch. */
static inline enum ih_status read_lying(void *state, uint8_t *pixels, size_t capacity,
                                        size_t *n_pixels, struct ih_error *err)
{
    (void)state, (void)pixels, (void)capacity, (void)n_pixels;
    return ih_error_set(err, IH_CONFLICT, "is both an input and the output file");
}

/* Waits for what it holds itself. */
static inline enum ih_status read_greedy(void *state, uint8_t *pixels, size_t capacity,
                                         size_t *n_pixels, struct ih_error *err)
{
    struct image *image = state;
    ih_budget_take(image->budget, image->budget->size_bytes, err);
    ih_budget_take(image->budget, image->budget->size_bytes, err);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Gives back more than it took. */
static inline enum ih_status read_generous(void *state, uint8_t *pixels, size_t capacity,
                                           size_t *n_pixels, struct ih_error *err)
{
    struct image *image = state;
    if (image->n_left == (uint64_t)WIDTH * HEIGHT && ih_budget_take(image->budget, 1, err) == IH_OK)
        ih_budget_give(image->budget, image->budget->size_bytes);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* More channels than there are. */
static inline enum ih_status open_broad(struct ih_source *src,
                                        const struct ih_decode_options *options,
                                        struct ih_image_info *info, void **state,
                                        struct ih_error *err)
{
    enum ih_status status = open_image(src, options, info, state, err);
    info->n_channels = IH_CHANNELS_MAX + 1;
    return status;
}

/* Its library is not there. Without rights the loader has another reason. */
static inline enum ih_status open_late(struct ih_source *src,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info, void **state,
                                       struct ih_error *err)
{
    (void)src, (void)options, (void)info, (void)state;
    return ih_dynlib_load("libimghist-none.so.7", NULL, 0, NULL, err);
}

static inline enum ih_status prepare_late(struct ih_error *err)
{
    return ih_dynlib_load("libimghist-none.so.7", NULL, 0, NULL, err);
}

static inline bool probe_nothing(const uint8_t *head, size_t size)
{
    (void)head, (void)size;
    return false;
}

static inline const char *no_version(void)
{
    return "";
}

enum {
    SUM,
    FAILING,
    CRASHING,
    INTERRUPTED,
    EXITING,
    ENDLESS,
    NONSENSE,
    HIDING,
    ATTEMPTS,
    BUDGET,
    LYING,
    GREEDY,
    GENEROUS,
    BROAD,
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
    [INTERRUPTED] = A_DECODER(read_interrupted),
    [EXITING] = A_DECODER(read_exiting),
    [ENDLESS] = A_DECODER(read_endless),
    [NONSENSE] = A_DECODER(read_nonsense),
    [HIDING] = A_DECODER(read_hiding),
    [ATTEMPTS] = A_DECODER(read_attempts),
    [BUDGET] = A_DECODER(read_budget),
    [LYING] = A_DECODER(read_lying),
    [GREEDY] = A_DECODER(read_greedy),
    [GENEROUS] = A_DECODER(read_generous),
    [BROAD] = A_DECODER_OF(open_broad, read_sum),
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

#endif
