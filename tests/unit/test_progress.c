/* The progress line: its text, and that it fits the terminal. */
#include "tests/support/test.h"

#include "cli/progress.h"

#define S UINT64_C(1000000000)

static void check(const struct ih_progress_counts *counts, unsigned columns, const char *expected)
{
    char line[IH_PROGRESS_LINE_MAX];
    memset(line, 'x', sizeof line);
    ih_progress_line(counts, columns, line, sizeof line);
    assert_string_equal(line, expected);
}

TEST(known_number_of_inputs)
{
    /* 20 of 80 in 10 s leave 30 s. */
    struct ih_progress_counts c = {
        .n_done = 20, .n_inputs = 80, .n_pixels = 720000000, .elapsed_ns = 10 * S};
    check(&c, 200, "imghist: 20/80 files, 2.0 files/s, 72.0 MP/s, 0:10 elapsed, 0:30 left");
    c.n_done = 17;
    c.n_failed = 3;
    check(&c, 200,
          "imghist: 20/80 files, 2.0 files/s, 72.0 MP/s, 3 failed, 0:10 elapsed, 0:30 left");
    c.n_done = 77; /* all done: the elapsed time */
    check(&c, 200, "imghist: 80/80 files, 8.0 files/s, 72.0 MP/s, 3 failed, 0:10 elapsed");
}

TEST(unknown_number_of_inputs)
{
    struct ih_progress_counts c = {.n_done = 1, .n_pixels = 1500000, .elapsed_ns = S / 2};
    check(&c, 200, "imghist: 1 file, 2.0 files/s, 3.0 MP/s, 0:01 elapsed");
    c = (struct ih_progress_counts){.n_done = 123456,
                                    .n_failed = 7,
                                    .n_pixels = UINT64_C(9876543210987),
                                    .elapsed_ns = 3725 * S};
    check(&c, 200, "imghist: 123463 files, 33.1 files/s, 2651 MP/s, 7 failed, 1:02:05 elapsed");
}

TEST(before_the_first_result)
{
    struct ih_progress_counts c = {.n_inputs = 5};
    check(&c, 200, "imghist: 0/5 files, 0.0 files/s, 0.0 MP/s, 0:00 elapsed");
    c.elapsed_ns = 61 * S;
    check(&c, 200, "imghist: 0/5 files, 0.0 files/s, 0.0 MP/s, 1:01 elapsed");
    c.n_inputs = 0;
    check(&c, 200, "imghist: 0 files, 0.0 files/s, 0.0 MP/s, 1:01 elapsed");
}

TEST(decimals_of_small_rates)
{
    struct ih_progress_counts c = {.n_done = 999, .n_pixels = 99900000, .elapsed_ns = 10 * S};
    check(&c, 200, "imghist: 999 files, 99.9 files/s, 10.0 MP/s, 0:10 elapsed");
    c.n_done = 1000;
    check(&c, 200, "imghist: 1000 files, 100 files/s, 10.0 MP/s, 0:10 elapsed");
}

TEST(parts_that_do_not_fit)
{
    static const char *const lines[] = {
        "imghist: 20/80 files, 2.0 files/s, 72.0 MP/s, 3 failed, 0:10 elapsed, 0:30 left",
        "imghist: 20/80 files, 2.0 files/s, 3 failed, 0:10 elapsed, 0:30 left",
        "imghist: 20/80 files, 3 failed, 0:10 elapsed, 0:30 left",
        "imghist: 20/80 files, 3 failed, 0:30 left",
        "imghist: 20/80 files, 3 failed",
        "imghist: 20/80 files"};
    const struct ih_progress_counts c = {
        .n_done = 17, .n_failed = 3, .n_inputs = 80, .n_pixels = 720000000, .elapsed_ns = 10 * S};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        check(&c, (unsigned)strlen(lines[i]), lines[i]);
        if (i > 0)
            check(&c, (unsigned)strlen(lines[i - 1]) - 1, lines[i]);
    }
    check(&c, 19, "imghist: 20/80 file");
    check(&c, 1, "i");
}

/* The total of a walk includes the files that it skips; the line does not. */
TEST(skipped_files)
{
    struct ih_progress_counts c = {
        .n_done = 20, .n_skipped = 30, .n_inputs = 110, .elapsed_ns = 10 * S};
    check(&c, 200, "imghist: 20/80 files, 2.0 files/s, 0.0 MP/s, 0:10 elapsed, 0:30 left");
    c.n_inputs = 45; /* files that appeared after they were counted: the total is not known */
    check(&c, 200, "imghist: 20 files, 2.0 files/s, 0.0 MP/s, 0:10 elapsed");
    c.n_inputs = 0;
    check(&c, 200, "imghist: 20 files, 2.0 files/s, 0.0 MP/s, 0:10 elapsed");
}

/* The line stays within its bounds for all numbers. */
TEST(largest_numbers)
{
    char line[IH_PROGRESS_LINE_MAX + 1];
    const struct ih_progress_counts counts[] = {
        {UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1},
        {UINT64_MAX / 2, UINT64_MAX / 2, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX},
        {1, 0, 0, UINT64_MAX, 0, UINT64_MAX}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (unsigned columns = 1; columns <= 2 * IH_PROGRESS_LINE_MAX; columns++) {
            memset(line, 'x', sizeof line);
            ih_progress_line(&counts[i], columns, line, IH_PROGRESS_LINE_MAX);
            assert_int_equal(line[IH_PROGRESS_LINE_MAX], 'x');
            size_t n = strlen(line);
            assert_true(n > 0 && n <= columns);
            if (columns > 5)
                assert_memory_equal(line, "imghis", 6);
        }
}

TEST(null_and_wanted)
{
    ih_progress_add(NULL, &(struct ih_progress_counts){.n_done = 1});
    ih_progress_hold(NULL);
    ih_progress_release(NULL);
    ih_progress_interrupt(NULL, NULL);
    assert_false(ih_progress_close(NULL));
    ih_progress_forget_inputs(NULL);
    assert_false(ih_progress_is_wanted(IH_PROGRESS_NEVER, false));
    assert_true(ih_progress_is_wanted(IH_PROGRESS_ALWAYS, true));
    assert_false(ih_progress_is_wanted(IH_PROGRESS_AUTO, true));
}
