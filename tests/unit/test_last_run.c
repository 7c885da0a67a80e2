/*
 * The last run of a process: the sessions of the JPEG queue and their device are not closed, and
 * the process ends with _exit. This test program ends in the same way.
 */
#define OWN_MAIN
#include "tests/support/test.h"

#include "tests/support/jpeg_queue_run.h"

#ifdef __SANITIZE_THREAD__
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0"; /* threads are left running */
}
#endif

/* Runs first: the other tests leave sessions running. */
FOLDER_TEST(without_sessions)
{
    struct ih_error err;
    struct run r = {.folder = *state, .n_inputs = N_FILES, .is_last = true};
    assert_int_equal(run(&r, 2, &err), IH_OK);
    assert_int_equal(r.n_taken, r.n_inputs);
    assert_false(r.was_left);

    struct run none = {.folder = *state, .n_inputs = 1, .side = IH_JPEG_GPU, .is_last = true};
    fake.is_missing = true;
    assert_int_equal(run(&none, 2, &err), IH_UNAVAILABLE);
    assert_false(none.was_left);
    fake.is_missing = false;
}

FOLDER_TEST(sessions_are_not_stopped)
{
    struct ih_error err;
    count_on_cpu(*state);
    fake.fails_at = NEVER;
    for (unsigned is_last = 0; is_last < 2; is_last++) {
        struct run r = {.folder = *state,
                        .n_inputs = 3 * N_FILES,
                        .expected = expected,
                        .side = IH_JPEG_GPU,
                        .is_last = is_last != 0};
        assert_int_equal(run(&r, 2, &err), IH_OK);
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_true(r.n_by_gpu > 0);
        assert_int_equal(r.was_left, is_last != 0);
        assert_int_equal(fake.n_stops, 4); /* of both kinds, only the first time */
    }
}

FOLDER_TEST(sessions_that_are_starting)
{
    struct ih_error err;
    struct run r = {.folder = *state, .n_inputs = N_FILES, .side = IH_JPEG_AUTO, .is_last = true};
    fake.start_is_held = true; /* for ever */
    assert_int_equal(run(&r, 2, &err), IH_OK);
    bool has_tried = false;
    for (unsigned ms = 0; !has_tried && ms < 10000; ms++) { /* the start goes on without the run */
        sleep_ms(1);
        pthread_mutex_lock(&fake.lock);
        has_tried = fake.has_tried;
        pthread_mutex_unlock(&fake.lock);
    }
    assert_true(has_tried);
    assert_true(r.was_left);
    assert_int_equal(r.n_by_gpu, 0);
}

int main(void)
{
    const int n_failed = run_all_tests();
    fflush(NULL);
    _exit(n_failed);
}
