/* The workers of the pipeline: the order of results, slow inputs, the end of a run. */
#define _XOPEN_SOURCE 700

#include "base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/support/pipeline_run.h"

/* More inputs than the window holds, some of which fail, with different numbers of threads. */
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

/* The other inputs are done long before the first one. */
static void test_order_after_a_slow_input(void **state)
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
    bool has_seen_all; /* all others were started before the slow input arrived */
};

/* Writes the slow input when all others have been handed out, or after ten seconds. */
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

/* An input that takes as long as hundreds of the others does not hold them up. */
static void test_slow_input_holds_up_no_other(void **state)
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

/* Writes the slow input when three cores are idle. */
static void *feed_when_idle(void *argument)
{
    const struct timespec a_while = {.tv_nsec = 1000 * 1000};
    struct feeder *f = argument;
    for (int i = 0; i < 10000 && atomic_load(&f->run->n_idle_cores) < 3; i++)
        nanosleep(&a_while, NULL);
    f->has_seen_all = atomic_load(&f->run->n_idle_cores) == 3;
    write_pgm(fopen(f->path, "wb"), 50);
    return NULL;
}

/* A worker without input gives its core to the others. */
static void test_cores_of_idle_workers(void **state)
{
    struct run r = {.folder = *state, NAMES("slow"), .n_inputs = 1};
    char *slow = file_path(*state, "slow");
    struct feeder feeder = {slow, &r, false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed_when_idle, &feeder), 0);
    assert_int_equal(run(&r, 4), IH_OK);
    pthread_join(thread, NULL);
    assert_true(feeder.has_seen_all);
    assert_int_equal(atomic_load(&r.n_idle_cores), 4);
    assert_int_equal(r.sum, 50);
    free(slow);
}

/* If the taker is slow, as with charts, results of 11 KB each do not pile up. */
static void test_few_wait_for_a_slow_taker(void **state)
{
    struct run r = {.folder = *state, NAMES("one.pgm"), .take_ms = 100};
    r.n_inputs = r.n_wanted = 1000;
    assert_int_equal(run(&r, 1), IH_OK);
    assert_true(r.n_waiting < 50);
}

/* Opens the pipe at once, so that the worker waits in read(2). */
static void *feed_after_opening(void *path)
{
    const struct timespec a_while = {.tv_nsec = 100 * 1000 * 1000};
    FILE *f = fopen(path, "wb");
    nanosleep(&a_while, NULL);
    write_pgm(f, 50);
    return NULL;
}

/* Waiting for a file is time spent reading, and no time is counted twice. */
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
    assert_int_equal(failed.last_times.read_ns, 0); /* not those of the last file */
    assert_int_equal(failed.last_times.decode_ns, 0);
}

static void test_no_inputs(void **state)
{
    struct run r = {.folder = *state, NAMES("one.pgm")};
    assert_int_equal(run(&r, 4), IH_OK);
    assert_int_equal(r.n_taken, 0);
}

/* take gets no further result, and no further inputs are started. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_after_a_slow_input),
        cmocka_unit_test(test_slow_input_holds_up_no_other),
        cmocka_unit_test(test_cores_of_idle_workers),
        cmocka_unit_test(test_few_wait_for_a_slow_taker),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_no_inputs),
        cmocka_unit_test(test_take_stops),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
