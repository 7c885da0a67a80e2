/* The fast path's limits: what it may hold, and what becomes of a file that it gives up on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/png_both.h"

#include <unistd.h>

/* From memory, whose size is known beforehand, and from a pipe, where it shows as it comes. */
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
        struct ih_png_held held = {.src = &src};
        const struct ih_decode_options options = {.max_pixels = UINT64_MAX,
                                                  .held_bytes_max = both_bytes - is_below};
        struct ih_image_info info;
        struct ih_error err;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], file.p, file.n), file.n);
        close(ends[1]);
        if (is_pipe)
            assert_int_equal(ih_source_open_fd(&src, ends[0], &err), IH_OK);
        else
            ih_source_open_memory(&src, file.p, file.n);
        struct ih_png_whole *w = ih_png_whole_open(&held, &options, &info);
        assert_int_equal(w && ih_png_whole_load(w), !is_below && ih_inflate_is_here());
        assert_true(held.capacity <= both_bytes);
        ih_png_whole_close(w);
        ih_png_held_release(&held);
        ih_source_reset(&src);
        close(ends[0]);
    }
    free(file.p);
}

/* Where the budget gives out, libpng reads again what is held and goes on with the source; at
 * whatever point that is, through a source whose size is not known. */
static void test_budget_gives_out(void **state)
{
    (void)state;
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes file = random_file(&rgb, 100, 140, ANY_FILTER, false, 1000);
    struct outcome expected = decode(&file, IN_BANDS, 7);
    assert_int_equal(expected.status, IH_OK);
    assert_true(file.n < 60000); /* it fits into a pipe */
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

/* After a failure the held bytes are the file's. */
static void test_bytes_come_back(void **state)
{
    (void)state;
    const struct kind rgb = {IH_PNG_RGB, 8};
    if (!ih_inflate_is_here())
        skip();
    for (size_t each = 1; each < 100; each += 7) {
        struct bytes rows = random_rows(&rgb, 9, 8, 0);
        rows.p[0] = 9; /* no filter: found after the chunks were joined */
        struct bytes file = make_file(&rgb, 9, 8, &rows, false, each);
        struct ih_source src = {0};
        struct ih_png_held held = {.src = &src};
        const struct ih_decode_options options = {.max_pixels = UINT64_MAX};
        struct ih_image_info info;
        ih_source_open_memory(&src, file.p, file.n);
        struct ih_png_whole *w = ih_png_whole_open(&held, &options, &info);
        assert_non_null(w);
        assert_false(ih_png_whole_load(w));
        assert_int_equal(held.size, file.n);
        assert_memory_equal(held.bytes, file.p, file.n);
        ih_png_whole_close(w);
        ih_png_held_release(&held);
        ih_source_reset(&src);
        free(rows.p), free(file.p);
    }
}

/* A few bytes that claim 100 MB: deflate could not make that of them, so it is not asked for. */
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
    struct ih_png_held held = {.src = &src, .budget = &budget};
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX, .budget = &budget};
    struct ih_image_info info;
    ih_budget_init(&budget, UINT64_MAX);
    ih_source_open_memory(&src, file.p, file.n);
    struct ih_png_whole *w = ih_png_whole_open(&held, &options, &info);
    assert_int_equal(w != NULL, ih_inflate_is_here());
    assert_true(budget.taken_bytes <= file.n);
    if (w)
        assert_false(ih_png_whole_load(w));
    ih_png_whole_close(w);
    ih_png_held_release(&held);
    ih_source_reset(&src);
    ih_budget_destroy(&budget);
    free(file.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_budget_gives_out),
        cmocka_unit_test(test_bytes_come_back),
        cmocka_unit_test(test_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
