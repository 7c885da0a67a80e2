/*
 * A scan over files in a temporary folder, with its results.
 */
#ifndef IH_TESTS_SCAN_RUN_H
#define IH_TESTS_SCAN_RUN_H

#include "tests/support/test.h"

#include "tests/support/take_all.h"
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static inline char *file_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* A gray image of one pixel. */
static inline void write_pgm(FILE *f, int value)
{
    fprintf(f, "P5\n1 1\n255\n%c", value);
    assert_int_equal(fclose(f), 0);
}

static inline void make_pgm(const char *folder, const char *name, int value)
{
    char *path = file_path(folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    write_pgm(f, value);
    free(path);
}

/* A folder with one.pgm, two.pgm, text, large.pgm (above the limit of pixels) and slow (a named
 * pipe). */
static inline int make_folder(void **state)
{
    char *folder = strdup("/tmp/imghist-test-XXXXXX");
    if (!folder || !mkdtemp(folder))
        return -1;
    make_pgm(folder, "one.pgm", 1);
    make_pgm(folder, "two.pgm", 2);
    char *text = file_path(folder, "text"), *slow = file_path(folder, "slow");
    char *large = file_path(folder, "large.pgm");
    FILE *f = fopen(text, "wb");
    assert_non_null(f);
    fputs("no image\n", f);
    fclose(f);
    f = fopen(large, "wb");
    assert_non_null(f);
    fputs("P5\n1000 1000\n255\n", f);
    fclose(f);
    assert_int_equal(mkfifo(slow, 0600), 0);
    free(text);
    free(slow);
    free(large);
    *state = folder;
    return 0;
}

static inline int remove_folder(void **state)
{
    static const char *const names[] = {"one.pgm", "two.pgm", "text", "slow", "large.pgm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = file_path(*state, names[i]);
        unlink(path);
        free(path);
    }
    rmdir(*state);
    free(*state);
    return 0;
}

struct run {
    const char *folder;
    const char *const *names; /* of the inputs, repeated */
    size_t n_names, n_inputs, n_taken;
    atomic_size_t n_given;
    atomic_size_t n_flushed; /* of those taken, when the taker was last idle */
    size_t n_waiting;        /* largest number given and not taken */
    size_t n_wanted;         /* take stops the run after so many */
    long take_ms;            /* duration of the first take */
    bool waits_for_results;  /* next waits for the results of all inputs before, as a person may */
    atomic_size_t n_done;    /* taken */
    atomic_bool is_late;     /* a result did not come within 10 s */
    atomic_uint n_idle_cores;
    struct ih_error in_input;   /* the error of each input called "broken" */
    enum ih_status statuses[8]; /* of the first results */
    struct ih_error last_error;
    struct ih_times last_times;
    uint64_t sum; /* of all pixels counted */
};

static inline bool next(void *user, struct ih_input *input)
{
    struct run *r = user;
    const struct timespec a_moment = {.tv_nsec = 1000 * 1000};
    for (unsigned i = 0; r->waits_for_results && r->n_done < r->n_given; i++) {
        nanosleep(&a_moment, NULL);
        if (i < 10000)
            continue;
        r->is_late = true;
        return false;
    }
    if (r->n_given == r->n_inputs)
        return false;
    const char *name = r->names[r->n_given++ % r->n_names];
    *input = (struct ih_input){.path = file_path(r->folder, name), .is_named = true};
    if (strcmp(name, "broken") == 0)
        input->error = r->in_input;
    return true;
}

static inline bool take(void *user, const char *path, const struct ih_result *result)
{
    struct run *r = user;
    const struct timespec a_while = {.tv_nsec = r->n_taken == 0 ? r->take_ms * 1000 * 1000 : 0};
    nanosleep(&a_while, NULL);
    const size_t n_waiting = r->n_given - r->n_taken;
    r->n_waiting = n_waiting > r->n_waiting ? n_waiting : r->n_waiting;
    char *expected = file_path(r->folder, r->names[r->n_taken % r->n_names]);
    assert_string_equal(path, expected);
    assert_ptr_equal(result->path, path);
    if (r->n_taken < sizeof r->statuses / sizeof *r->statuses)
        r->statuses[r->n_taken] = result->status;
    r->last_times = result->times;
    if (result->status == IH_OK) {
        assert_int_equal(result->histogram.n_pixels, 1);
        assert_non_null(result->counted_by);
        r->sum += *ih_sum(&result->histogram, 0);
    } else {
        assert_int_equal(result->error.status, result->status);
        r->last_error = result->error;
    }
    free(expected);
    r->n_done++;
    return ++r->n_taken < r->n_wanted;
}

/* Comes only after a result. */
static inline void idle(void *user)
{
    struct run *r = user;
    assert_true(r->n_taken > r->n_flushed);
    r->n_flushed = r->n_taken;
}

static inline enum ih_status run_with(struct run *r, unsigned n_threads,
                                      const struct ih_file_identity *output,
                                      const struct ih_device_options *on)
{
    const struct ih_scan_options options = {
        .n_threads = n_threads,
        .decode = {.max_pixels = 100, .n_idle_cores = &r->n_idle_cores},
        .measure.luma = &ih_luma_bt709,
        .measure.clip_high = 255,
        .outputs = output,
        .n_outputs = output ? 1 : 0};
    const struct taking calls = {.next = next,
                                 .next_user = r,
                                 .take = take,
                                 .take_user = r,
                                 .idle = idle,
                                 .next_is_quick = !r->waits_for_results};
    struct ih_device *device = NULL;
    assert_int_equal(ih_device_open(on, &device, &r->last_error), IH_OK);
    enum ih_status status = take_all(device, &options, &calls, &r->last_error);
    ih_device_close(device);
    return status;
}

static inline enum ih_status run(struct run *r, unsigned n_threads)
{
    const struct ih_device_options cpu = {.backend = "cpu"};
    return run_with(r, n_threads, NULL, &cpu);
}

#define NAMES(...)                               \
    .names = (const char *const[]){__VA_ARGS__}, \
    .n_names = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

#endif
