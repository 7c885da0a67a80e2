/* Damaged JPEGs, and files that change while they are read, in two halves and in the ordinary way:
 * the same verdict in the same words. */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/jpeg_halved.h"

/* ---- damage ---- */

/* Scans that are neither half's, and a second frame: they are refused as ever. And components of
 * one name. */
static void test_scans_of_nobody(void **state)
{
    (void)state;
    static const uint8_t wrong[][13] = {{0xFF, 0xDA, 0, 8, 1, 77, 0, 0, 0, 0},
                                        {0xFF, 0xDA, 0, 6, 0, 0, 63, 0},
                                        {0xFF, 0xDA, 0, 8, 9, 1, 0, 0, 0, 0},
                                        {0xFF, 0xDA, 0, 8, 9, 2, 0, 0, 0, 0},
                                        {0xFF, 0xDA, 0, 2},
                                        {0xFF, 0xDA, 0, 3, 0},
                                        {0xFF, 0xC0, 0, 11, 8, 0, 90, 1, 0, 1, 1, 0x11, 0}};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct jpeg_file f = make_scans(&looks[0], &scripts[0], 20, 20);
        splice(&f, f.n - 2, 0, wrong[i], 2 + wrong[i][3]);
        write_file(path, f.bytes, f.n);
        struct planes_read p = read_path(1, 0);
        assert_int_equal(p.status, IH_CORRUPT);
        free_planes(&p);
        assert_false(read_both(0));
        assert_false(is_halved());
        free(f.bytes);
    }
    for (unsigned id = 1; id <= 2; id++) { /* of Y and Cb, of Cb and Cr */
        struct jpeg_file f = make_scans(&looks[0], &scripts[1], 20, 20);
        f.bytes[find_segment(&f, 0xC2, 0) + 4 + 6 + 3 * id] = (uint8_t)id;
        assert_false(read_both_of(&f));
        free(f.bytes);
    }
}

static void test_truncation(void **state)
{
    (void)state;
    struct jpeg_file f = make_scans(&looks[2], &scripts[4], 24, 17);
    for (unsigned long n = 2; n < f.n; n++) {
        const struct jpeg_file part = {f.bytes, n};
        assert_false(read_both_of(&part));
    }
    free(f.bytes);
}

/* Each byte turned over, and each with its lowest bit. */
static void test_damage(void **state)
{
    (void)state;
    unsigned n_halved = 0;
    for (unsigned k = 0; k < 2; k++) {
        struct look look = looks[2 * k];
        look.restart_interval = k;
        struct jpeg_file f = make_scans(&look, &scripts[k], 16, 17);
        for (unsigned long i = 0; i < 2 * f.n; i++) {
            const uint8_t was = f.bytes[i / 2];
            f.bytes[i / 2] ^= i % 2 ? 0xFF : 0x01;
            n_halved += read_both_of(&f);
            f.bytes[i / 2] = was;
        }
        free(f.bytes);
    }
    assert_true(n_halved > 100); /* other pixels, but nothing wrong with the file */
}

/* ---- files that change while they are read ---- */

static struct jpeg_file first, second;
static unsigned n_asked, changes_at; /* how often the budget has been asked something */

static atomic_uint n_lent; /* what nobody else uses */

/* Nobody is told, but the file is another one now. */
static enum ih_status change_file(enum ih_budget_call call, uint64_t n_bytes, struct ih_error *err)
{
    (void)n_bytes, (void)err;
    if (call == IH_BUDGET_TRY)
        assert_int_equal(atomic_load(&n_lent), 0); /* in use */
    if (n_asked++ == changes_at)
        write_file(path, second.bytes, second.n);
    return IH_OK;
}

/* The file at path begins as first and becomes second, when the budget is asked. */
static struct planes_read read_changed(unsigned at)
{
    struct ih_budget budget = {.ask = change_file};
    const struct ih_decode_options options = {
        .max_pixels = MAX_PIXELS, .budget = &budget, .n_spare = &n_lent, .halve_from_pixels = 1};
    struct ih_source source = {0};
    struct ih_error err;
    atomic_store(&n_lent, 1);
    n_asked = 0;
    changes_at = at;
    write_file(path, first.bytes, first.n);
    assert_int_equal(ih_source_open_path(&source, path, &err), IH_OK);
    struct planes_read p = read_source(&source, 0, &options);
    assert_int_equal(atomic_load(&n_lent), 1);
    assert_true(n_asked > at);
    return p;
}

/* Written over before it is opened once more, it is read as it was when it was opened, where it was
 * in memory by then; no row is longer than there is room for. */
static void test_written_over(void **state)
{
    (void)state;
    static const struct look rgb = {.h = 1, .v = 1, .stored = JCS_RGB};
    static const struct look baseline = {.h = 2, .v = 2, .is_baseline = true};
    first = make_scans(&looks[2], &scripts[0], 40, 40);
    write_file(path, first.bytes, first.n);
    struct planes_read expected = read_path(0, 0);
    for (unsigned i = 0; i < 8; i++) {
        second = i == 0   ? make_scans(&looks[2], &scripts[0], 400, 40)
                 : i == 1 ? make_scans(&looks[2], &scripts[0], 40, 90)
                 : i == 2 ? make_scans(&looks[0], &scripts[0], 40, 40)
                 : i == 3 ? make_scans(&rgb, &scripts[0], 40, 40)
                 : i == 4 ? make_scans(&baseline, &scripts[0], 40, 40)
                 : i == 7 ? make_scans(&looks[2], &scripts[0], 39, 40)
                          : make_scans(&looks[2], &scripts[0], 40, 40);
        second.n = i == 5 ? 0 : i == 6 ? 200 : second.n;
        struct planes_read p = read_changed(0);
        assert_same_planes(&p, &expected);
        free_planes(&p);
        free(second.bytes);
    }
    free_planes(&expected);
    free(first.bytes);
}

/* As above, but between a first try that fails and the ordinary way. */
static void test_written_over_later(void **state)
{
    (void)state;
    const unsigned sizes[][2] = {{39, 40}, {40, 90}, {400, 40}, {40, 40}};
    first = make_scans(&looks[2], &scripts[0], 40, 40);
    first.n -= 20;
    for (unsigned i = 0; i < 4; i++) {
        second = make_scans(&looks[2], &scripts[0], sizes[i][0], sizes[i][1]);
        struct planes_read p = read_changed(1);
        assert_int_equal(p.status, i < 3 ? IH_IO : IH_OK);
        if (i < 3)
            assert_string_equal(p.error.message, "the file was changed while it was read");
        free_planes(&p);
        free(second.bytes);
    }
    free(first.bytes);
}

/* A file that has lost its name, or given it to another one, is read as it was. */
static void test_unlinked(void **state)
{
    (void)state;
    first = make_scans(&looks[2], &scripts[0], 500, 300); /* more than is read at once */
    second = make_scans(&looks[2], &scripts[0], 500, 200);
    assert_true(first.n > IH_SOURCE_BUFFER_BYTES);
    for (unsigned i = 0; i < 2; i++) {
        write_file(path, first.bytes, first.n);
        struct planes_read expected = read_path(0, 0);
        struct ih_source source = {0};
        struct ih_budget budget;
        struct ih_error err;
        atomic_uint spare = 1;
        const struct ih_decode_options options = {
            .max_pixels = MAX_PIXELS, .budget = &budget, .n_spare = &spare, .halve_from_pixels = 1};
        ih_budget_init(&budget, (uint64_t)1 << 30);
        assert_int_equal(ih_source_open_path(&source, path, &err), IH_OK);
        assert_int_equal(unlink(path), 0);
        if (i == 1)
            write_file(path, second.bytes, second.n);
        struct planes_read p = read_source(&source, 0, &options);
        assert_same_planes(&p, &expected);
        assert_int_equal(p.held_bytes, 2 * expected.held_bytes);
        ih_budget_destroy(&budget);
        free_planes(&p);
        free_planes(&expected);
    }
    free(first.bytes);
    free(second.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scans_of_nobody),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_written_over),
        cmocka_unit_test(test_written_over_later),
        cmocka_unit_test(test_unlinked),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
