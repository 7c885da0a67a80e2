/* Inputs that fail or are an output, and devices that do not exist. */
#include "tests/support/pipeline_run.h"

TEST(failures_are_results)
{
    struct run r = {.folder = *state,
                    NAMES("one.pgm", "missing", "text", "broken", ".", "two.pgm")};
    r.n_inputs = r.n_wanted = 6;
    ih_error_set(&r.in_input, IH_IO, "cannot read the directory: from the directory walk");
    assert_int_equal(run(&r, 2), IH_OK);
    const enum ih_status expected[] = {IH_OK, IH_IO, IH_UNKNOWN, IH_IO, IH_IO, IH_OK};
    assert_memory_equal(r.statuses, expected, sizeof expected);
    assert_int_equal(r.sum, 3);
}

/* Someone types a list of files: each is counted before the next one is asked for. */
TEST(inputs_that_wait_for_results)
{
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        struct run r = {.folder = *state,
                        NAMES("one.pgm", "two.pgm"),
                        .n_inputs = 40,
                        .n_wanted = 41,
                        .waits_for_results = true};
        assert_int_equal(run(&r, n_threads), IH_OK);
        assert_false(r.is_late);
        assert_int_equal(r.sum, 60);
    }
}

TEST(reason_of_the_input_is_kept)
{
    struct run r = {.folder = *state, NAMES("broken"), .n_inputs = 1, .n_wanted = 1};
    ih_error_set(&r.in_input, IH_IO, "from the directory walk");
    assert_int_equal(run(&r, 1), IH_OK);
    assert_string_equal(r.last_error.message, "from the directory walk");
}

/* The file that results are written to is not counted. */
TEST(input_that_is_the_output)
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

/* Being refused for another reason does not hide that it is the output. */
TEST(refused_input_that_is_the_output)
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

TEST(unit_that_does_not_exist)
{
    size_t n_tried = 0;
    for (size_t i = 0; ih_backends[i]; i++) {
        struct ih_device_options options = {
            .backend = ih_backends[i]->name, .ordinals = {1000}, .n_ordinals = 1};
        struct run r = {.folder = *state, NAMES("one.pgm", "two.pgm"), .n_wanted = 100};
        if (strcmp(options.backend, "cpu") == 0)
            continue; /* has a single unit */
        r.n_inputs = 100;
        assert_int_equal(run_with(&r, 2, NULL, &options), IH_UNAVAILABLE);
        assert_true(strlen(r.last_error.message) > 0);
        assert_int_equal(r.sum, 0);
        r.n_inputs = 0; /* the same without inputs */
        assert_int_equal(run_with(&r, 2, NULL, &options), IH_UNAVAILABLE);
        n_tried++;
    }
    if (n_tried == 0)
        skip();
}

TEST(backend_that_is_not_in_the_build)
{
    const struct ih_device_options no_backend = {.backend = "abacus"};
    const struct ih_device_options no_kernel = {.backend = "cpu", .with.kernel = "no_such_kernel"};
    struct ih_device *device = NULL;
    struct ih_error error;
    assert_int_equal(ih_device_open(&no_backend, &device, &error), IH_USAGE);
    assert_int_equal(ih_device_open(&no_kernel, &device, &error), IH_USAGE);
    assert_null(device);
}

PROGRAM_WITH(make_folder, remove_folder)
