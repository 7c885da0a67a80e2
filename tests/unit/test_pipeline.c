/*
 * The pipeline on files in a folder of its own: the order of results, who stops it, what becomes of
 * inputs that fail, and devices that do not exist.
 */
#define _XOPEN_SOURCE 700

#include "base/clock.h"
#include "pipeline/pipeline.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- files ---- */

static char *file_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* A gray image of one pixel. */
static void write_pgm(FILE *f, int value)
{
    fprintf(f, "P5\n1 1\n255\n%c", value);
    assert_int_equal(fclose(f), 0);
}

static void make_pgm(const char *folder, const char *name, int value)
{
    char *path = file_path(folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    write_pgm(f, value);
    free(path);
}

/* Folder with one.pgm, two.pgm, text, large.pgm, which is past the limit, and slow, a pipe that
 * gives an image to whoever waits. */
static int make_folder(void **state)
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

static int remove_folder(void **state)
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

/* ---- a run ---- */

struct run {
    const char *folder;
    const char *const *names; /* of the inputs, over and over */
    size_t n_names, n_inputs, n_taken;
    atomic_size_t n_given;
    size_t n_waiting;           /* at most, given and not taken */
    size_t n_wanted;            /* take says stop after as many */
    long take_ms;               /* how long take takes for the first */
    atomic_uint n_spare;        /* processors that nobody uses */
    struct ih_error in_input;   /* set in each input that is called "broken" */
    enum ih_status statuses[8]; /* of the first results */
    struct ih_error last_error;
    struct ih_times last_times;
    uint64_t sum; /* of all pixels counted */
};

static bool next(void *user, struct ih_input *input)
{
    struct run *r = user;
    if (r->n_given == r->n_inputs)
        return false;
    const char *name = r->names[r->n_given++ % r->n_names];
    *input = (struct ih_input){.path = file_path(r->folder, name), .is_named = true};
    if (strcmp(name, "broken") == 0)
        input->error = r->in_input;
    return true;
}

static bool take(void *user, const struct ih_input *input, const struct ih_result *result)
{
    struct run *r = user;
    const struct timespec a_while = {.tv_nsec = r->n_taken == 0 ? r->take_ms * 1000 * 1000 : 0};
    nanosleep(&a_while, NULL);
    const size_t n_waiting = r->n_given - r->n_taken;
    r->n_waiting = n_waiting > r->n_waiting ? n_waiting : r->n_waiting;
    char *expected = file_path(r->folder, r->names[r->n_taken % r->n_names]);
    assert_string_equal(input->path, expected);
    assert_ptr_equal(result->path, input->path);
    if (r->n_taken < sizeof r->statuses / sizeof *r->statuses)
        r->statuses[r->n_taken] = result->status;
    r->last_times = result->times;
    if (result->status == IH_OK) {
        assert_int_equal(result->histogram.n_pixels, 1);
        assert_non_null(result->counted_by);
        r->sum += result->histogram.sum[0];
    } else {
        assert_int_equal(result->error.status, result->status);
        r->last_error = result->error;
    }
    free(expected);
    return ++r->n_taken < r->n_wanted;
}

static enum ih_status run_with(struct run *r, unsigned n_threads,
                               const struct ih_file_identity *output,
                               const struct ih_device_options *on)
{
    const struct ih_pipeline_options options = {
        .n_threads = n_threads,
        .decode = {.max_pixels = 100, .n_spare = &r->n_spare},
        .luma = &ih_luma_bt709,
        .clip_high = 255,
        .outputs = output,
        .n_outputs = output ? 1 : 0};
    const struct ih_pipeline_calls calls = {next, r, take, r};
    struct ih_device *device = NULL;
    assert_int_equal(ih_device_open(on, &device, &r->last_error), IH_OK);
    enum ih_status status = ih_pipeline_run(device, &options, &calls, &r->last_error);
    ih_device_close(device);
    return status;
}

static enum ih_status run(struct run *r, unsigned n_threads)
{
    const struct ih_device_options cpu = {.backend = "cpu"};
    return run_with(r, n_threads, NULL, &cpu);
}

#define NAMES(...)                               \
    .names = (const char *const[]){__VA_ARGS__}, \
    .n_names = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

/* ---- tests ---- */

/* More inputs than the window holds, some of them failing, on any number of threads. */
static void test_order(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 8, 32};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct run r = {.folder = *state,
                        NAMES("one.pgm", "two.pgm", "text", "missing", "two.pgm")};
        r.n_inputs = r.n_wanted = 4000;
        assert_int_equal(run(&r, threads[i]), IH_OK);
        assert_int_equal(r.n_taken, 4000);
        assert_int_equal(r.sum, 800 * (1 + 2 + 2));
    }
}

static void *feed_slowly(void *path)
{
    const struct timespec a_while = {.tv_nsec = 100 * 1000 * 1000};
    nanosleep(&a_while, NULL);
    write_pgm(fopen(path, "wb"), 50);
    return NULL;
}

/* The others are long done when the first one comes. */
static void test_order_behind_a_slow_input(void **state)
{
    char *slow = file_path(*state, "slow");
    for (unsigned n_threads = 1; n_threads < 5; n_threads++) {
        struct run r = {.folder = *state, NAMES("slow", "one.pgm", "two.pgm")};
        pthread_t thread;
        r.n_inputs = r.n_wanted = 3;
        assert_int_equal(pthread_create(&thread, NULL, feed_slowly, slow), 0);
        assert_int_equal(run(&r, n_threads), IH_OK);
        pthread_join(thread, NULL);
        assert_int_equal(r.n_taken, 3);
        assert_int_equal(r.sum, 53);
    }
    free(slow);
}

struct feeder {
    const char *path;
    struct run *run;
    bool has_seen_all; /* the others were started before the slow one came */
};

/* Gives the slow input when all others have been handed out, or after ten seconds. */
static void *feed_last(void *argument)
{
    const struct timespec a_while = {.tv_nsec = 1000 * 1000};
    struct feeder *f = argument;
    for (int i = 0; i < 10000 && atomic_load(&f->run->n_given) < f->run->n_inputs; i++)
        nanosleep(&a_while, NULL);
    f->has_seen_all = atomic_load(&f->run->n_given) == f->run->n_inputs;
    write_pgm(fopen(f->path, "wb"), 50);
    return NULL;
}

/* One input that takes as long as hundreds of the others does not hold them up. */
static void test_slow_input_holds_nobody_up(void **state)
{
    static const char *names[380];
    char *slow = file_path(*state, "slow");
    names[0] = "slow";
    for (size_t i = 1; i < 380; i++)
        names[i] = "one.pgm";
    struct run r = {.folder = *state, .names = names, .n_names = 380};
    struct feeder feeder = {.path = slow, .run = &r};
    pthread_t thread;
    r.n_inputs = r.n_wanted = 380;
    assert_int_equal(pthread_create(&thread, NULL, feed_last, &feeder), 0);
    assert_int_equal(run(&r, 2), IH_OK);
    pthread_join(thread, NULL);
    assert_true(feeder.has_seen_all);
    assert_int_equal(r.sum, 50 + 379);
    free(slow);
}

/* Gives the slow input when three processors are to be had. */
static void *feed_when_spare(void *argument)
{
    const struct timespec a_while = {.tv_nsec = 1000 * 1000};
    struct feeder *f = argument;
    for (int i = 0; i < 10000 && atomic_load(&f->run->n_spare) < 3; i++)
        nanosleep(&a_while, NULL);
    f->has_seen_all = atomic_load(&f->run->n_spare) == 3;
    write_pgm(fopen(f->path, "wb"), 50);
    return NULL;
}

/* A worker for which there is no input leaves its processor to those that have one. */
static void test_processors_of_idle_workers(void **state)
{
    struct run r = {.folder = *state, NAMES("slow"), .n_inputs = 1};
    char *slow = file_path(*state, "slow");
    struct feeder feeder = {slow, &r, false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed_when_spare, &feeder), 0);
    assert_int_equal(run(&r, 4), IH_OK);
    pthread_join(thread, NULL);
    assert_true(feeder.has_seen_all);
    assert_int_equal(atomic_load(&r.n_spare), 4);
    assert_int_equal(r.sum, 50);
    free(slow);
}

/* While it is the taker that is slow, as with charts, results do not pile up: 12 KB each. */
static void test_few_wait_for_a_slow_taker(void **state)
{
    struct run r = {.folder = *state, NAMES("one.pgm"), .take_ms = 100};
    r.n_inputs = r.n_wanted = 1000;
    assert_int_equal(run(&r, 1), IH_OK);
    assert_true(r.n_waiting < 50);
}

/* Opens first, so that what it waits then is waited for in read(2). */
static void *feed_after_opening(void *path)
{
    const struct timespec a_while = {.tv_nsec = 100 * 1000 * 1000};
    FILE *f = fopen(path, "wb");
    nanosleep(&a_while, NULL);
    write_pgm(f, 50);
    return NULL;
}

/* Waiting for a file is reading, and no time is there twice. */
static void test_times(void **state)
{
    const uint64_t ms = 1000 * 1000;
    char *slow = file_path(*state, "slow");
    struct run r = {.folder = *state, NAMES("slow"), .n_inputs = 1, .n_wanted = 1};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed_after_opening, slow), 0);
    uint64_t start_ns = ih_clock_ns();
    assert_int_equal(run(&r, 1), IH_OK);
    uint64_t elapsed_ns = ih_clock_ns() - start_ns;
    pthread_join(thread, NULL);
    const struct ih_times *t = &r.last_times;
    assert_true(t->read_ns > 50 * ms);
    assert_true(t->decode_ns > 0 && t->count_ns > 0);
    assert_true(t->read_ns + t->decode_ns + t->count_ns < elapsed_ns);
    free(slow);

    struct run failed = {.folder = *state, NAMES("one.pgm", "missing"), .n_inputs = 2};
    failed.n_wanted = 2;
    assert_int_equal(run(&failed, 1), IH_OK);
    assert_int_equal(failed.last_times.read_ns, 0); /* not those of the file before it */
    assert_int_equal(failed.last_times.decode_ns, 0);
}

static void test_no_inputs(void **state)
{
    struct run r = {.folder = *state, NAMES("one.pgm")};
    assert_int_equal(run(&r, 4), IH_OK);
    assert_int_equal(r.n_taken, 0);
}

/* Not one more is handed out, and what is not started by then is left alone. */
static void test_take_stops(void **state)
{
    for (unsigned n_threads = 1; n_threads < 9; n_threads += 7) {
        struct run r = {.folder = *state, NAMES("one.pgm", "text"), .n_wanted = 7};
        r.n_inputs = 1000 * 1000;
        assert_int_equal(run(&r, n_threads), IH_OK);
        assert_int_equal(r.n_taken, 7);
        assert_true(r.n_given < 100 * 1000);
    }
}

static void test_failures_are_results(void **state)
{
    struct run r = {.folder = *state,
                    NAMES("one.pgm", "missing", "text", "broken", ".", "two.pgm")};
    r.n_inputs = r.n_wanted = 6;
    ih_error_set(&r.in_input, IH_IO, "cannot read the directory: told by the walk");
    assert_int_equal(run(&r, 2), IH_OK);
    const enum ih_status expected[] = {IH_OK, IH_IO, IH_UNKNOWN, IH_IO, IH_IO, IH_OK};
    assert_memory_equal(r.statuses, expected, sizeof expected);
    assert_int_equal(r.sum, 3);
}

static void test_reason_of_the_input_is_kept(void **state)
{
    struct run r = {.folder = *state, NAMES("broken"), .n_inputs = 1, .n_wanted = 1};
    ih_error_set(&r.in_input, IH_IO, "told by the walk");
    assert_int_equal(run(&r, 1), IH_OK);
    assert_string_equal(r.last_error.message, "told by the walk");
}

/* A file that results go to is not counted. */
static void test_input_that_is_the_output(void **state)
{
    const struct ih_device_options cpu = {.backend = "cpu"};
    static const char *const names[] = {"one.pgm", "two.pgm"};
    for (size_t i = 0; i < 2; i++) {
        struct run r = {
            .folder = *state, NAMES("one.pgm", "two.pgm"), .n_inputs = 2, .n_wanted = 2};
        char *path = file_path(*state, names[i]);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        struct ih_file_identity output = {st.st_dev, st.st_ino};
        assert_int_equal(run_with(&r, 1, &output, &cpu), IH_OK);
        assert_int_equal(r.statuses[i], IH_CONFLICT);
        assert_int_equal(r.statuses[1 - i], IH_OK);
        free(path);
    }
}

/* To be refused for another reason does not make it less of an input. */
static void test_refused_input_that_is_the_output(void **state)
{
    const struct ih_device_options cpu = {.backend = "cpu"};
    struct run r = {.folder = *state, NAMES("large.pgm"), .n_inputs = 1, .n_wanted = 1};
    char *path = file_path(*state, "large.pgm");
    struct stat st;
    assert_int_equal(run(&r, 1), IH_OK);
    assert_int_equal(r.statuses[0], IH_LIMIT);
    assert_int_equal(stat(path, &st), 0);
    struct ih_file_identity output = {st.st_dev, st.st_ino};
    free(path);
    r.n_given = r.n_taken = 0;
    assert_int_equal(run_with(&r, 1, &output, &cpu), IH_OK);
    assert_int_equal(r.statuses[0], IH_CONFLICT);
}

static void test_every_backend_with_a_device_that_is_not_there(void **state)
{
    size_t n_tried = 0;
    for (size_t i = 0; ih_backends[i]; i++) {
        struct ih_device_options options = {
            .backend = ih_backends[i]->name, .ordinals = {1000}, .n_ordinals = 1};
        struct run r = {.folder = *state, NAMES("one.pgm", "two.pgm"), .n_wanted = 100};
        if (strcmp(options.backend, "cpu") == 0)
            continue; /* there is but one */
        r.n_inputs = 100;
        assert_int_equal(run_with(&r, 2, NULL, &options), IH_UNAVAILABLE);
        assert_true(strlen(r.last_error.message) > 0);
        assert_int_equal(r.sum, 0);
        r.n_inputs = 0; /* so it is without inputs */
        assert_int_equal(run_with(&r, 2, NULL, &options), IH_UNAVAILABLE);
        n_tried++;
    }
    if (n_tried == 0)
        skip();
}

static void test_backend_that_is_not_in_the_build(void **state)
{
    (void)state;
    const struct ih_device_options no_backend = {.backend = "abacus"};
    const struct ih_device_options no_kernel = {.backend = "cpu", .with.kernel = "no_such_kernel"};
    struct ih_device *device = NULL;
    struct ih_error error;
    assert_int_equal(ih_device_open(&no_backend, &device, &error), IH_USAGE);
    assert_int_equal(ih_device_open(&no_kernel, &device, &error), IH_USAGE);
    assert_null(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_behind_a_slow_input),
        cmocka_unit_test(test_slow_input_holds_nobody_up),
        cmocka_unit_test(test_processors_of_idle_workers),
        cmocka_unit_test(test_few_wait_for_a_slow_taker),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_no_inputs),
        cmocka_unit_test(test_take_stops),
        cmocka_unit_test(test_failures_are_results),
        cmocka_unit_test(test_reason_of_the_input_is_kept),
        cmocka_unit_test(test_input_that_is_the_output),
        cmocka_unit_test(test_refused_input_that_is_the_output),
        cmocka_unit_test(test_every_backend_with_a_device_that_is_not_there),
        cmocka_unit_test(test_backend_that_is_not_in_the_build),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
