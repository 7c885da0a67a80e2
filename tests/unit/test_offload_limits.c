/*
 * The offload queue keeps the limits that decoders on the CPU keep, and takes no output as an
 * input.
 */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/support/offload_run.h"

static struct stat stat_of(const char *folder, unsigned i)
{
    char path[200];
    struct stat st;
    snprintf(path, sizeof path, "%s/%u", folder, i);
    assert_int_equal(stat(path, &st), 0);
    return st;
}

static void test_max_pixels(void **state)
{
    struct ih_error err;
    struct run none = {.folder = *state, .n_inputs = N_FOR_HW, .side = IH_JPEG_GPU};
    none.max_pixels = 29; /* all are larger */
    fake.fails_at = NEVER;
    assert_int_equal(run(&none, 2, &err), IH_OK);
    assert_int_equal(none.n_failed, N_FOR_HW);
    assert_int_equal(fake.n_jobs, 0);

    struct run one = {.folder = *state, .n_inputs = 1, .side = IH_JPEG_GPU};
    for (one.max_pixels = 30 * 41 - 1; one.max_pixels <= 30 * 41; one.max_pixels++) {
        one.n_given = one.n_taken = one.n_failed = 0;
        assert_int_equal(run(&one, 1, &err), IH_OK);
        assert_int_equal(one.n_failed, one.max_pixels < 30 * 41);
        assert_int_equal(fake.n_jobs, 1 - one.n_failed);
    }
}

static void test_input_that_is_an_output(void **state)
{
    struct ih_error err;
    struct stat st = stat_of(*state, 1);
    const struct ih_file_identity output = {st.st_dev, st.st_ino};
    struct run r = {.folder = *state, .n_inputs = 3, .side = IH_JPEG_GPU};
    r.outputs = &output;
    r.n_outputs = 1;
    fake.fails_at = NEVER;
    assert_int_equal(run(&r, 1, &err), IH_OK);
    assert_int_equal(r.n_taken, 3);
    assert_int_equal(r.n_failed, 1);
    assert_int_equal(fake.n_jobs, 2);
}

/* A quarter of the memory is for the files that workers hold, each with the validator's copy. */
static void test_memory_of_the_workers(void **state)
{
    enum { N_THREADS = 2 };
    struct ih_error err;
    struct stat st = stat_of(*state, 0);
    struct run r = {.folder = *state, .n_inputs = 1, .side = IH_JPEG_GPU};
    const uint64_t least = (uint64_t)st.st_size * 2 * 4 * N_THREADS;
    fake.fails_at = NEVER;
    for (r.memory_bytes = least - 1; r.memory_bytes <= least; r.memory_bytes++) {
        r.n_given = r.n_taken = 0;
        assert_int_equal(run(&r, N_THREADS, &err), IH_OK);
        assert_int_equal(r.n_failed, 0);
        assert_int_equal(fake.n_jobs, r.memory_bytes == least);
    }
    assert_int_equal(n_left(&r, IH_JPEG_REASON_TOO_LARGE), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_max_pixels, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_input_that_is_an_output, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_memory_of_the_workers, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
