/* The workers of a scan: the order of results, slow inputs, the end of a run. */
#include "tests/support/test.h"

#include "base/clock.h"
#include "scan/state.h"
#include "tests/support/scan_run.h"
#include <pthread.h>

/* More inputs than the window holds, some of which fail, with different numbers of threads. */
TEST(order)
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

/* Writes the slow input from a thread: after wait_ms, or when the run has come to a point. */
struct feeder {
    struct run *run;
    bool opens_first; /* opens the pipe at once, so that the worker waits in read(2) */
    long wait_ms;
    bool waits_for_all;    /* until all inputs have been handed out */
    size_t n_flushed;      /* until the taker was idle after so many results */
    unsigned n_idle_cores; /* until there are so many */
    bool was_in_time;      /* the point came within ten seconds */
};

static void pause_ms(long ms)
{
    const struct timespec a_while = {.tv_nsec = ms * 1000 * 1000};
    nanosleep(&a_while, NULL);
}

static bool is_time(const struct feeder *f)
{
    return (!f->waits_for_all || atomic_load(&f->run->n_given) == f->run->n_inputs) &&
           atomic_load(&f->run->n_flushed) >= f->n_flushed &&
           (f->n_idle_cores == 0 || atomic_load(&f->run->n_idle_cores) == f->n_idle_cores);
}

static void *feed(void *feeder)
{
    struct feeder *f = feeder;
    char *path = file_path(f->run->folder, "slow");
    FILE *slow = f->opens_first ? fopen(path, "wb") : NULL;
    pause_ms(f->wait_ms);
    for (int i = 0; i < 10000 && !is_time(f); i++)
        pause_ms(1);
    f->was_in_time = is_time(f);
    write_pgm(slow ? slow : fopen(path, "wb"), 50);
    free(path);
    return NULL;
}

static void run_fed(struct feeder *f, unsigned n_threads)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed, f), 0);
    assert_int_equal(run(f->run, n_threads), IH_OK);
    pthread_join(thread, NULL);
    assert_true(f->was_in_time);
}

/* The taker is told when it has to wait after some results, and not at other times. */
TEST(idle_taker)
{
    struct run r = {.folder = *state, NAMES("one.pgm", "two.pgm", "slow"), .n_inputs = 3};
    r.n_wanted = 3;
    struct feeder f = {.run = &r, .n_flushed = 2};
    run_fed(&f, 2);
    assert_int_equal(r.n_taken, 3);
}

/* Results that wait for a slow taker hold up new inputs; inputs in the JPEG queue do not. */
TEST(room)
{
    enum { N_THREADS = 2, FEW = N_THREADS * READY_OF_SLOW_TAKER };
    struct slot *slots = calloc(FEW, sizeof *slots);
    struct scan s = {.options = {.n_threads = N_THREADS}};
    for (unsigned i = 0; i < FEW; i++) {
        assert_true(ih_order_have_room(&s, 100));
        ih_slot_insert_before(&s, &slots[i], NULL);
        ih_slot_finish(&s, &slots[i], false);
    }
    assert_false(ih_order_have_room(&s, 100));
    ih_order_remove_first(&s);
    assert_true(ih_order_have_room(&s, 100));
    assert_false(ih_order_have_room(&s, N_THREADS * WINDOW_PER_THREAD));
    free(slots);
}

/* The other inputs are done long before the first one. */
TEST(order_after_a_slow_input)
{
    for (unsigned n_threads = 1; n_threads < 5; n_threads++) {
        struct run r = {.folder = *state, NAMES("slow", "one.pgm", "two.pgm")};
        r.n_inputs = r.n_wanted = 3;
        run_fed(&(struct feeder){.run = &r, .wait_ms = 100}, n_threads);
        assert_int_equal(r.n_taken, 3);
        assert_int_equal(r.sum, 53);
    }
}

/* An input that takes as long as hundreds of the others does not hold them up. */
TEST(slow_input_holds_up_no_other)
{
    static const char *names[380];
    names[0] = "slow";
    for (size_t i = 1; i < 380; i++)
        names[i] = "one.pgm";
    struct run r = {.folder = *state, .names = names, .n_names = 380};
    r.n_inputs = r.n_wanted = 380;
    run_fed(&(struct feeder){.run = &r, .waits_for_all = true}, 2);
    assert_int_equal(r.sum, 50 + 379);
}

/* A worker without input gives its core to the others. */
TEST(cores_of_idle_workers)
{
    struct run r = {.folder = *state, NAMES("slow"), .n_inputs = 1};
    run_fed(&(struct feeder){.run = &r, .n_idle_cores = 3}, 4);
    assert_int_equal(atomic_load(&r.n_idle_cores), 4);
    assert_int_equal(r.sum, 50);
}

/* If the taker is slow, as with charts, results of 11 KB each do not pile up. */
TEST(few_wait_for_a_slow_taker)
{
    struct run r = {.folder = *state, NAMES("one.pgm"), .take_ms = 100};
    r.n_inputs = r.n_wanted = 1000;
    assert_int_equal(run(&r, 1), IH_OK);
    assert_true(r.n_waiting < 266); /* 64 ready, 64 fetched, 128 taken */
}

/* Waiting for a file is time spent reading, and no time is counted twice. */
TEST(times)
{
    const uint64_t ms = 1000 * 1000;
    struct run r = {.folder = *state, NAMES("slow"), .n_inputs = 1, .n_wanted = 1};
    uint64_t start_ns = ih_clock_ns();
    run_fed(&(struct feeder){.run = &r, .opens_first = true, .wait_ms = 100}, 1);
    uint64_t elapsed_ns = ih_clock_ns() - start_ns;
    const struct ih_times *t = &r.last_times;
    assert_true(t->read_ns > 50 * ms);
    assert_true(t->decode_ns > 0 && t->count_ns > 0);
    assert_true(t->read_ns + t->decode_ns + t->count_ns < elapsed_ns);

    struct run failed = {.folder = *state, NAMES("one.pgm", "missing"), .n_inputs = 2};
    failed.n_wanted = 2;
    assert_int_equal(run(&failed, 1), IH_OK);
    assert_int_equal(failed.last_times.read_ns, 0); /* not those of the last file */
    assert_int_equal(failed.last_times.decode_ns, 0);
}

TEST(no_inputs)
{
    struct run r = {.folder = *state, NAMES("one.pgm")};
    assert_int_equal(run(&r, 4), IH_OK);
    assert_int_equal(r.n_taken, 0);
}

/* take gets no further result, and no further inputs are started. */
TEST(take_stops)
{
    for (unsigned n_threads = 1; n_threads < 9; n_threads += 7) {
        struct run r = {.folder = *state, NAMES("one.pgm", "text"), .n_wanted = 7};
        r.n_inputs = 1000 * 1000;
        assert_int_equal(run(&r, n_threads), IH_OK);
        assert_int_equal(r.n_taken, 7);
        assert_true(r.n_given < 100 * 1000);
    }
}

PROGRAM_WITH(make_folder, remove_folder)
