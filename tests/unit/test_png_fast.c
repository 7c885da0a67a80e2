/* The limits of the fast path, and what happens to a file that it gives up on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/png_both.h"

#include <unistd.h>

/* From memory, where the size is known, and from a pipe. */
static void test_limit(void **state)
{
    (void)state;
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes file = random_file(&rgb, 60, 50, ANY_FILTER, false, 1000);
    size_t both_bytes = file.n + (60 * 3 + 1) * 50;
    for (int i = 0; i < 4; i++) {
        bool is_below = i % 2 == 1, is_pipe = i >= 2;
        int ends[2];
        struct ih_source src = {0};
        struct ih_png_file held = {.src = &src};
        const struct ih_decode_options options = {.max_pixels = UINT64_MAX,
                                                  .whole_bytes_max = both_bytes - is_below};
        struct ih_image_info info;
        struct ih_error err;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], file.p, file.n), file.n);
        close(ends[1]);
        if (is_pipe)
            assert_int_equal(ih_source_open_fd(&src, ends[0], &err), IH_OK);
        else
            ih_source_open_memory(&src, file.p, file.n);
        struct ih_png_fast *fast = ih_png_fast_open(&held, &options, &info);
        assert_int_equal(fast && ih_png_fast_load(fast), !is_below && ih_png_has_libdeflate());
        assert_true(held.capacity <= both_bytes);
        ih_png_fast_close(fast);
        ih_png_file_release(&held);
        ih_source_reset(&src);
        close(ends[0]);
    }
    free(file.p);
}

/* When the budget runs out, at any point, libpng reads the held bytes and goes on with the pipe. */
static void test_budget_runs_out(void **state)
{
    (void)state;
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes file = random_file(&rgb, 100, 140, ANY_FILTER, false, 1000);
    struct outcome expected = decode(&file, STREAMING, 7);
    assert_int_equal(expected.status, IH_OK);
    assert_true(file.n < 60000); /* fits into a pipe */
    for (uint64_t size = 0; size < 200000; size += 9973) {
        int ends[2];
        struct ih_source src = {0};
        struct ih_budget budget;
        struct ih_error err;
        const struct ih_decode_options options = {.max_pixels = 1000 * 1000, .budget = &budget};
        struct ih_decode d;
        size_t n = 1, at = 0;
        uint8_t band[100 * 3 * 8];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], file.p, file.n), file.n);
        close(ends[1]);
        ih_budget_init(&budget, size);
        assert_int_equal(ih_source_open_fd(&src, ends[0], &err), IH_OK);
        assert_int_equal(ih_decode_open(&d, &src, &options, &err), IH_OK);
        while (n > 0) {
            assert_int_equal(ih_decode_read(&d, band, sizeof band / 3, &n, &err), IH_OK);
            assert_memory_equal(band, expected.pixels.p + at, 3 * n);
            at += 3 * n;
            assert_true(budget.taken_bytes <= size);
        }
        assert_int_equal(at, expected.pixels.n);
        ih_decode_close(&d);
        ih_budget_destroy(&budget);
        ih_source_reset(&src);
        close(ends[0]);
    }
    free(expected.pixels.p);
    free(file.p);
}

/* After a failure the held bytes are those of the file. */
static void test_bytes_are_restored(void **state)
{
    (void)state;
    const struct kind rgb = {IH_PNG_RGB, 8};
    if (!ih_png_has_libdeflate())
        skip();
    for (size_t each = 1; each < 100; each += 7) {
        struct bytes rows = random_rows(&rgb, 9, 8, 0);
        rows.p[0] = 9; /* an unknown filter, found after the chunks were joined */
        struct bytes file = make_file(&rgb, 9, 8, &rows, false, each);
        struct ih_source src = {0};
        struct ih_png_file held = {.src = &src};
        const struct ih_decode_options options = {.max_pixels = UINT64_MAX};
        struct ih_image_info info;
        ih_source_open_memory(&src, file.p, file.n);
        struct ih_png_fast *fast = ih_png_fast_open(&held, &options, &info);
        assert_non_null(fast);
        assert_false(ih_png_fast_load(fast));
        assert_int_equal(held.size, file.n);
        assert_memory_equal(held.bytes, file.p, file.n);
        ih_png_fast_close(fast);
        ih_png_file_release(&held);
        ih_source_reset(&src);
        free(rows.p), free(file.p);
    }
}

/* Eight bytes cannot inflate to the 100 MB that the header claims, so no memory is taken. */
static void test_bomb(void **state)
{
    (void)state;
    struct bytes file = {0};
    const struct bytes stream = {.p = (uint8_t[]){0x78, 0x01, 0x03, 0, 0, 0, 0, 1}, .n = 8};
    put_head(&file, 10000, 10000, 8, IH_PNG_GRAY);
    put_idats(&file, &stream, 0);
    put_chunk(&file, "IEND", NULL, 0);
    struct ih_budget budget;
    struct ih_source src = {0};
    struct ih_png_file held = {.src = &src, .budget = &budget};
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX, .budget = &budget};
    struct ih_image_info info;
    ih_budget_init(&budget, UINT64_MAX);
    ih_source_open_memory(&src, file.p, file.n);
    struct ih_png_fast *fast = ih_png_fast_open(&held, &options, &info);
    assert_int_equal(fast != NULL, ih_png_has_libdeflate());
    assert_true(budget.taken_bytes <= file.n);
    if (fast)
        assert_false(ih_png_fast_load(fast));
    ih_png_fast_close(fast);
    ih_png_file_release(&held);
    ih_source_reset(&src);
    ih_budget_destroy(&budget);
    free(file.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_budget_runs_out),
        cmocka_unit_test(test_bytes_are_restored),
        cmocka_unit_test(test_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
