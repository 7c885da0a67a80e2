/*
 * Decoders for the tests of decoder processes: each crashes, hangs, lies or tries forbidden calls
 * in its read. Define _DEFAULT_SOURCE before any header.
 */
#ifndef IH_TESTS_MISBEHAVING_DECODERS_H
#define IH_TESTS_MISBEHAVING_DECODERS_H

#include "tests/support/test.h"

#include "base/dynlib.h"
#include "isolate/decoder_process.h"
#include "tests/support/forbidden_calls.h"
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 700, HEIGHT = 300 }; /* more than one piece */

struct image {
    struct ih_reader *src;
    struct ih_budget *budget;
    uint64_t n_left;
    uint64_t sum; /* of the file's bytes */
};

static inline enum ih_status open_image(struct ih_reader *src,
                                        const struct ih_decode_options *options,
                                        struct ih_image_info *info, void *state,
                                        struct ih_error *err)
{
    struct image *image = state;
    uint8_t *bytes;
    size_t n;
    *image = (struct image){src, options->budget, (uint64_t)WIDTH * HEIGHT, 0};
    if (ih_reader_read_all(src, 1 << 30, &bytes, &n, err) != IH_OK)
        return err->status;
    for (size_t i = 0; i < n; i++)
        image->sum += bytes[i];
    free(bytes);
    *info = (struct ih_image_info){
        .width = WIDTH, .height = HEIGHT, .layout = IH_LAYOUT(3), .source_depth = 8};
    return IH_OK;
}

/* A read call of struct ih_decoder. */
#define READ(name)                                                                   \
    static inline enum ih_status name(void *state, uint8_t *pixels, size_t capacity, \
                                      size_t *n_pixels, struct ih_error *err)

/* Every pixel holds the sum of the file's bytes. */
READ(read_sum)
{
    struct image *image = state;
    *n_pixels = image->n_left < capacity ? (size_t)image->n_left : capacity;
    memset(pixels, (int)(image->sum & 255), *n_pixels * 3);
    image->n_left -= *n_pixels;
    return IH_OK;
}

READ(read_failing)
{
    return ih_error_set(err, IH_UNSUPPORTED, "a text of its own");
}

READ(read_crashing)
{
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report and exit */
    raise(SIGSEGV);
    return IH_OK;
}

/* Sends itself the signals that Ctrl-C and the like send to a decoder process as well. */
READ(read_interrupted)
{
    raise(SIGINT);
    raise(SIGTERM);
    raise(SIGHUP);
    raise(SIGQUIT);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

READ(read_exiting)
{
    _exit(7);
}

READ(read_endless)
{
    for (volatile unsigned i = 0;; i++)
        if (i == 0 && *n_pixels == SIZE_MAX)
            return IH_OK; /* never, but the compiler wants a return */
}

READ(read_nonsense)
{
    static const char nonsense[4096] = "nonsense";
    for (;;)
        if (write(IH_DECODER_PROCESS_SOCKET, nonsense, sizeof nonsense) < 0)
            _exit(0);
}

READ(read_hiding)
{
    close(IH_DECODER_PROCESS_SOCKET);
    sleep(1000);
    return IH_OK;
}

/* Sleeps before its first reply, or after its first pixels. */
static inline enum ih_status open_sleeping(struct ih_reader *src,
                                           const struct ih_decode_options *options,
                                           struct ih_image_info *info, void *state,
                                           struct ih_error *err)
{
    sleep(1000);
    return IH_OK;
}

READ(read_sleeping)
{
    struct image *image = state;
    if (image->n_left < (uint64_t)WIDTH * HEIGHT)
        sleep(1000);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Sends one pixel now and then. */
READ(read_dripping)
{
    const struct timespec a_while = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&a_while, NULL);
    return read_sum(state, pixels, 1, n_pixels, err);
}

/* Every pixel holds the number of forbidden calls tried. */
READ(read_attempts)
{
    struct image *image = state;
    unsigned n_tried;
    const char *allowed = find_allowed_call(&n_tried);
    if (allowed)
        return ih_error_set(err, IH_UNSUPPORTED, "not refused: %s", allowed);
    image->sum = n_tried;
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Every pixel is 1 if the address space ends within a few gigabytes, on 32-bit systems one. */
READ(read_mapping)
{
    struct image *image = state;
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    const long n_max = sizeof(void *) > 4 ? 96 + 4 * n_cores : 16 + n_cores / 4;
    const size_t step = (size_t)64 << 20;
    long n = 0;
    while (n < n_max &&
           mmap(NULL, step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        n++;
    image->sum = n < n_max;
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Every pixel holds the budget's answers as bits: 1 for a first half, 2 for a second, 4 for one
 * more byte. */
READ(read_budget)
{
    struct image *image = state;
    if (image->n_left == (uint64_t)WIDTH * HEIGHT) {
        uint64_t half = image->budget->size_bytes / 2;
        bool has_limit =
            ih_budget_take(image->budget, image->budget->size_bytes + 1, err) == IH_LIMIT;
        image->sum = ih_budget_take(image->budget, half, err) == IH_OK ? 1 : 0;
        image->sum |= ih_budget_try(image->budget, half) ? 2 : 0;
        image->sum |= ih_budget_try(image->budget, 1) ? 4 : 0;
        ih_budget_give(image->budget, half); /* not the other half */
        image->sum |= has_limit ? 0 : 8;
        *err = (struct ih_error){0};
    }
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* An error that would end the batch. */
READ(read_lying)
{
    return ih_error_set(err, IH_CONFLICT, "is both an input and the output file");
}

/* Waits for bytes that it holds itself. */
READ(read_greedy)
{
    struct image *image = state;
    ih_budget_take(image->budget, image->budget->size_bytes, err);
    ih_budget_take(image->budget, image->budget->size_bytes, err);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Gives back more than it took. */
READ(read_generous)
{
    struct image *image = state;
    if (image->n_left == (uint64_t)WIDTH * HEIGHT && ih_budget_take(image->budget, 1, err) == IH_OK)
        ih_budget_give(image->budget, image->budget->size_bytes);
    return read_sum(state, pixels, capacity, n_pixels, err);
}

/* Claims too many channels. */
static inline enum ih_status open_broad(struct ih_reader *src,
                                        const struct ih_decode_options *options,
                                        struct ih_image_info *info, void *state,
                                        struct ih_error *err)
{
    enum ih_status status = open_image(src, options, info, state, err);
    info->layout = (struct ih_layout){IH_CHANNELS_MAX + 1, 0, false};
    return status;
}

/* Its library does not exist. The sandbox must not change the loader's error. */
static inline enum ih_status open_no_library(struct ih_reader *src,
                                             const struct ih_decode_options *options,
                                             struct ih_image_info *info, void *state,
                                             struct ih_error *err)
{
    return ih_dynlib_load("libimghist-none.so.7", NULL, 0, NULL, err);
}

static inline enum ih_status prepare_no_library(struct ih_error *err)
{
    return ih_dynlib_load("libimghist-none.so.7", NULL, 0, NULL, err);
}

static inline bool probe_nothing(const uint8_t *head, size_t size)
{
    return false;
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
    MAPPING,
    BUDGET,
    LYING,
    GREEDY,
    GENEROUS,
    BROAD,
    SLEEPING_AT_ONCE,
    SLEEPING,
    DRIPPING,
    NO_LIBRARY
};

#define A_DECODER(read_call) A_DECODER_OF(open_image, read_call)
#define A_DECODER_OF(open_call, read_call)                                                     \
    &(const struct ih_decoder)                                                                 \
    {                                                                                          \
        .name = "test", .title = "", .version = "", .probe = probe_nothing, .open = open_call, \
        .read = read_call, .state_bytes = sizeof(struct image)                                 \
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
    [MAPPING] = A_DECODER(read_mapping),
    [BUDGET] = A_DECODER(read_budget),
    [LYING] = A_DECODER(read_lying),
    [GREEDY] = A_DECODER(read_greedy),
    [GENEROUS] = A_DECODER(read_generous),
    [BROAD] = A_DECODER_OF(open_broad, read_sum),
    [SLEEPING_AT_ONCE] = A_DECODER_OF(open_sleeping, read_sum),
    [SLEEPING] = A_DECODER(read_sleeping),
    [DRIPPING] = A_DECODER(read_dripping),
    [NO_LIBRARY] = &(const struct ih_decoder){.name = "no library",
                                              .version = "",
                                              .probe = probe_nothing,
                                              .prepare = prepare_no_library,
                                              .open = open_no_library,
                                              .state_bytes = 1},
    NULL,
};

#endif
