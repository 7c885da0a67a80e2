/* Progressive JPEGs decoded in two halves: the same planes in every byte as in the ordinary way,
 * and which files are left to that. */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/jpeg_halved.h"

static void test_scripts(void **state)
{
    (void)state;
    static const unsigned sizes[][2] = {{5, 1}, {8, 8}, {17, 16}, {16, 17}, {67, 35}, {331, 203}};
    for (unsigned k = 0; k < N_LOOKS * N_SCRIPTS; k++) {
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct look look = looks[k % N_LOOKS];
            look.restart_interval = i % 3 * (k % 4);
            struct jpeg_file f = make_scans(&look, &scripts[k / N_LOOKS], sizes[i][0], sizes[i][1]);
            assert_true(read_both_of(&f));
            assert_true(read_both(i * 1000));
            assert_true(is_halved());
            free(f.bytes);
        }
    }
}

/* What may stand before, between and behind scans, and is not a scan. */
static void test_segments(void **state)
{
    (void)state;
    static const uint8_t between[] = {0xFF, 0xFE, 0,    2, /* an empty comment */
                                      0xFF, 0xFE, 0,    6,    0xFF, 0xDA, 0,
                                      8,                                       /* no scan in it */
                                      0xFF, 0xFF, 0xFF, 0xFE, 0,    3,    'x', /* fill bytes */
                                      0xFF, 0x01,                              /* TEM */
                                      0xFF, 0xDD, 0,    4,    0,    0,         /* no restarts */
                                      0xFF, 0xFF};
    static uint8_t application[4 + 65533] = {0xFF, 0xE2, 0xFF, 0xFF};
    for (unsigned k = 0; k < N_SCRIPTS; k++) {
        struct jpeg_file f = make_scans(&looks[k % N_LOOKS], &scripts[k], 70, 50);
        for (int n = 1; find_scan(&f, n - 1) != find_scan(&f, -1); n += 2)
            splice(&f, find_scan(&f, n), 0, between, sizeof between); /* and so it is scan n + 1 */
        splice(&f, f.n - 2, 0, between, sizeof between);
        for (unsigned i = 0; i < 4; i++) { /* the first two behind a scan */
            splice(&f, i < 2 ? f.n - 2 : 2, 0, application, sizeof application);
            assert_true(read_both_of(&f));
        }
        splice(&f, f.n, 0, "behind the end", 14);
        assert_true(read_both_of(&f));
        assert_true(is_halved());
        free(f.bytes);
    }
}

static void test_other_files(void **state)
{
    (void)state;
    static const jpeg_scan_info partial[] = {{3, {0, 1, 2}, 0, 0, 0, 0},
                                             {1, {0}, 1, 63, 0, 0},
                                             {1, {1}, 1, 63, 0, 0},
                                             {1, {2}, 1, 63, 0, 1}};
    static const struct look others[] = {
        {.h = 2, .v = 2, .is_baseline = true},
        {.h = 1, .v = 1, .stored = JCS_GRAYSCALE},
        {.h = 1, .v = 1, .stored = JCS_CMYK},
        {.h = 1, .v = 1, .stored = JCS_RGB},
        {.h = 1, .v = 2},
#if defined(C_ARITH_CODING_SUPPORTED) && defined(D_ARITH_CODING_SUPPORTED)
        {.h = 2, .v = 2, .is_arithmetic = true},
#endif
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct jpeg_file f = make_scans(&others[i], &scripts[0], 70, 50);
        assert_false(read_both_of(&f));
        assert_false(is_halved());
        free(f.bytes);
    }
    for (int n_scans = 1; n_scans <= 4; n_scans++) { /* an end before all bits have come */
        const struct script script = {partial, n_scans};
        struct jpeg_file f = make_scans(&looks[2], &script, 70, 50);
        assert_false(read_both_of(&f));
        assert_false(is_halved());
        free(f.bytes);
    }
}

/* Returns whether an error of the half comes where those of the other one do. */
static bool fails_in_whole(struct ih_jpeg_reader *whole, struct ih_jpeg_half *half)
{
    if (setjmp(half->reader.on_error))
        return false;
    if (setjmp(whole->on_error))
        return strstr(whole->error.message, "damaged JPEG: ") != NULL;
    jpeg_read_raw_data(&half->reader.cinfo, NULL, 1); /* too few rows */
    return false;
}

static void test_errors_of_the_half(void **state)
{
    (void)state;
    struct ih_source source = {0}, again = {0};
    struct ih_jpeg_reader whole;
    struct ih_error err;
    struct jpeg_file f = make_scans(&looks[2], &scripts[0], 37, 35);
    write_file(path, f.bytes, f.n);
    assert_int_equal(ih_source_open_path(&source, path, &err), IH_OK);
    assert_int_equal(ih_source_reopen(&again, &source, &err), IH_OK);
    ih_jpeg_reader_init(&whole, &source);
    if (setjmp(whole.on_error))
        fail_msg("%s", whole.error.message);
    ih_jpeg_reader_open(&whole);
    struct ih_jpeg_half *half = ih_jpeg_half_open(&whole, &again);
    assert_non_null(half);
    assert_true(ih_jpeg_half_decode(half, &whole));
    assert_true(fails_in_whole(&whole, half));
    ih_jpeg_half_close(half);
    ih_jpeg_reader_close(&whole);
    ih_source_reset(&source);
    ih_source_reset(&again);
    free(f.bytes);
}

/* How much of the budget an image of 37 x 35 pixels holds. */
static uint64_t held_with(struct ih_source *source, struct ih_decode_options options,
                          uint64_t budget_bytes)
{
    struct ih_budget budget;
    ih_budget_init(&budget, budget_bytes);
    options.max_pixels = MAX_PIXELS;
    options.budget = &budget;
    struct planes_read p = read_source(source, 0, &options);
    assert_int_equal(p.status, IH_OK);
    assert_int_equal(budget.taken_bytes, 0);
    ih_budget_destroy(&budget);
    free_planes(&p);
    return p.held_bytes;
}

/* Three MCUs a row in three rows, of four blocks and two. */
static void test_other_settings(void **state)
{
    (void)state;
    const uint64_t once = (uint64_t)9 * 6 * 64 * 2, size = 37 * 35;
    atomic_uint none = 0, spare = 3;
    const struct {
        uint64_t budget_bytes;
        struct ih_decode_options options;
        uint64_t held;
    } ways[] = {
        {2 * once, {.n_spare = &spare, .halve_from_pixels = size}, 2 * once},
        {2 * once - 1, {.n_spare = &spare, .halve_from_pixels = size}, once},
        {2 * once, {.n_spare = &spare, .halve_from_pixels = size + 1}, once},
        {2 * once, {.n_spare = &spare}, once},
        {2 * once, {.n_spare = &none, .halve_from_pixels = 1}, once},
        {2 * once, {.halve_from_pixels = 1}, once},
    };
    struct jpeg_file f = make_scans(&looks[2], &scripts[0], 37, 35);
    struct ih_source source = {0};
    struct ih_error err;
    write_file(path, f.bytes, f.n);
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        assert_int_equal(ih_source_open_path(&source, path, &err), IH_OK);
        assert_int_equal(held_with(&source, ways[i].options, ways[i].budget_bytes), ways[i].held);
        assert_int_equal(atomic_load(&spare), 3);
        assert_int_equal(atomic_load(&none), 0);
    }
    /* Where it cannot be opened once more: memory, a pipe, a file that somebody else has opened. */
    int fds[2];
    ih_source_open_memory(&source, f.bytes, f.n);
    assert_int_equal(held_with(&source, ways[0].options, 2 * once), once);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], f.bytes, f.n), f.n);
    close(fds[1]);
    assert_int_equal(ih_source_open_fd(&source, fds[0], &err), IH_OK);
    assert_int_equal(held_with(&source, ways[0].options, 2 * once), once);
    close(fds[0]);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(ih_source_open_fd(&source, fileno(stream), &err), IH_OK);
    assert_int_equal(held_with(&source, ways[0].options, 2 * once), once);
    fclose(stream);
    assert_int_equal(atomic_load(&spare), 3);
    free(f.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_other_settings),
        cmocka_unit_test(test_errors_of_the_half),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
