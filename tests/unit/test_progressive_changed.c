/* Progressive JPEGs that change while all their scans are decoded at once, and a budget that
 * refuses memory. */
#define _POSIX_C_SOURCE 200809L

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/progressive.h"

static struct jpeg_file first, second;
static unsigned n_asked, changes_at, denies_at; /* counts calls of the budget */
static uint64_t n_taken_bytes;

/* Overwrites the file, or refuses memory, at the chosen call. */
static enum ih_status change_file(enum ih_budget_call call, uint64_t n_bytes, struct ih_error *err)
{
    const unsigned n = n_asked++;
    if (n == changes_at)
        write_file(path, second.bytes, second.n);
    if (n == denies_at)
        return ih_error_set(err, IH_LIMIT, "no");
    n_taken_bytes += call == IH_BUDGET_GIVE ? 0 - n_bytes : n_bytes;
    return IH_OK;
}

/* The file at path is `first` until the budget is asked, then `second`. */
static struct outcome read_changed(unsigned at, bool gives_pixels)
{
    struct ih_budget budget = {.ask = change_file};
    const struct way way = {
        .opened = OPENED_PATH, .gives_pixels = gives_pixels, .n_idle_cores = 1, .budget = &budget};
    n_asked = 0;
    n_taken_bytes = 0;
    changes_at = at;
    denies_at = UINT_MAX;
    write_file(path, first.bytes, first.n);
    struct outcome o = read_file(&first, &way);
    assert_true(n_asked > at);
    assert_int_equal(n_taken_bytes, 0);
    return o;
}

/* A picture with another header is an error. One with an equal header is decoded instead. */
static void test_written_over(void **state)
{
    (void)state;
    static const struct look rgb = {.h = 1, .v = 1, .stored = JCS_RGB};
    static const struct look plain = {.h = 1, .v = 1};
    static const struct look baseline = {.h = 1, .v = 1, .is_baseline = true};
    static const struct look gray = {.h = 1, .v = 1, .stored = JCS_GRAYSCALE};
    static const struct look chroma = {.h = 1, .v = 1, .chroma_h = 2, .chroma_v = 2};
    static const struct look upright = {.h = 1, .v = 2};
    static const struct {
        const struct look *look;
        unsigned width, height, n_bytes; /* 0: all */
        const char *message;             /* NULL: it is read */
    } cases[] = {
        {&plain, 400, 140, 0, "the file was changed while it was read"},
        {&plain, 40, 290, 0, "the file was changed while it was read"},
        {&plain, 39, 140, 0, "the file was changed while it was read"},
        {&plain, 40, 139, 0, "the file was changed while it was read"},
        {&looks[2], 40, 140, 0, "the file was changed while it was read"},
        {&looks[1], 40, 140, 0, "the file was changed while it was read"},
        {&rgb, 40, 140, 0, "the file was changed while it was read"},
        {&gray, 40, 140, 0, "the file was changed while it was read"},
        {&chroma, 40, 140, 0, "the file was changed while it was read"},
        {&baseline, 40, 140, 0, NULL},
        {&plain, 40, 140, 0, NULL},
        {&plain, 40, 140, 1, "damaged JPEG: the file ends before the image does"},
        {&plain, 40, 140, 300, "damaged JPEG: the file ends before the image does"},
        {&plain, 40, 140, 1000, "damaged JPEG: the file ends before the image does"},
    };
    static const uint8_t zeros[1000];
    first = make_scans(&plain, &scripts[0], 40, 140);
    splice(&first, first.n, 0, zeros,
           sizeof zeros); /* after EOI, so that files can have one size */
    assert_true(held_of(&first).at_once < held_of(&first).ordinary);
    for (unsigned k = 0; k < 2 * sizeof cases / sizeof cases[0]; k++) {
        const unsigned i = k / 2;
        second = make_scans(cases[i].look, &scripts[0], cases[i].width, cases[i].height);
        if (cases[i].n_bytes)
            second.n = cases[i].n_bytes;
        else if (second.n < first.n && first.n - second.n <= sizeof zeros)
            splice(&second, second.n, 0, zeros, first.n - second.n);
        struct outcome o = read_changed(0, k % 2);
        assert_int_equal(o.n_bands > 0, !cases[i].message);
        if (cases[i].message) {
            assert_int_equal(o.status, strstr(cases[i].message, "damaged") ? IH_CORRUPT : IH_IO);
            assert_string_equal(o.error.message, cases[i].message);
        } else {
            const struct way way = {
                .opened = OPENED_ONCE, .gives_pixels = k % 2, .n_idle_cores = 0};
            struct outcome expected = read_file(&second, &way);
            assert_same_outcome(&o, &expected);
            free_outcome(&expected);
        }
        free_outcome(&o);
        free(second.bytes);
    }
    free(first.bytes);
    first = make_scans(&looks[1], &scripts[0], 40, 140);
    second = make_scans(&upright, &scripts[0], 40, 140);
    struct outcome o = read_changed(0, true);
    assert_int_equal(o.status, IH_IO);
    free_outcome(&o);
    free(first.bytes);
    free(second.bytes);
    second = (struct jpeg_file){NULL, 0};
}

/* The file changes after the first try has failed and before the ordinary way begins. */
static void test_written_over_later(void **state)
{
    (void)state;
    const unsigned sizes[][2] = {{39, 140}, {40, 290}, {400, 140}, {40, 139}, {40, 140}};
    first = make_scans(&looks[0], &scripts[0], 40, 140);
    first.n -= 20;
    for (unsigned k = 0; k < 10; k++) {
        const unsigned i = k / 2;
        second = make_scans(&looks[0], &scripts[0], sizes[i][0], sizes[i][1]);
        struct outcome o = read_changed(1, k % 2);
        assert_int_equal(o.status, i < 4 ? IH_IO : IH_OK);
        if (i < 4)
            assert_string_equal(o.error.message, "the file was changed while it was read");
        free_outcome(&o);
        free(second.bytes);
    }
    free(first.bytes);
}

/* The budget refuses the first request, or the request of the ordinary way after a failed try. */
static void test_budget_denies(void **state)
{
    (void)state;
    struct ih_budget budget = {.ask = change_file};
    first = make_scans(&looks[0], &scripts[0], 40, 140);
    for (unsigned k = 0; k < 4; k++) {
        struct way way = {.opened = OPENED_MEMORY, .gives_pixels = k % 2, .budget = &budget};
        struct way once = {.opened = OPENED_MEMORY, .gives_pixels = k % 2};
        struct outcome expected = read_file(&first, &once);
        changes_at = UINT_MAX;
        denies_at = k < 2 ? 0 : 2;
        n_asked = 0;
        n_taken_bytes = 0;
        if (k == 2)
            first.n -= 20;
        struct outcome o = read_file(&first, &way);
        if (k < 2) {
            assert_int_equal(o.status, IH_OK);
            assert_memory_equal(o.bytes, expected.bytes, expected.n_bytes);
            assert_int_equal(n_asked, 3);
        } else {
            assert_int_equal(o.status, IH_LIMIT);
            assert_string_equal(o.error.message, "no");
            assert_int_equal(n_asked, 3 + 1); /* nothing was taken, so nothing is given back */
        }
        assert_int_equal(n_taken_bytes, 0);
        free_outcome(&o);
        free_outcome(&expected);
    }
    free(first.bytes);
}

/* A file that is unlinked or replaced stays open, and is read unchanged. */
static unsigned unlink_it(unsigned n_bands, unsigned n_idle_cores)
{
    (void)n_idle_cores;
    if (n_bands == 0) {
        assert_int_equal(unlink(path), 0);
        if (second.n > 0)
            write_file(path, second.bytes, second.n);
    }
    return 0;
}

static void test_unlinked(void **state)
{
    (void)state;
    first = make_scans(&looks[2], &scripts[0], 500, 300); /* more than is read at once */
    assert_true(first.n > IH_SOURCE_BUFFER_BYTES);
    for (unsigned k = 0; k < 4; k++) {
        const struct way once = {.opened = OPENED_ONCE, .gives_pixels = k % 2};
        const struct way way = {.opened = OPENED_PATH,
                                .gives_pixels = k % 2,
                                .n_idle_cores = 1,
                                .before_read = unlink_it};
        second = k < 2 ? (struct jpeg_file){NULL, 0} : make_scans(&looks[2], &scripts[0], 500, 200);
        write_file(path, first.bytes, first.n);
        struct outcome expected = read_file(&first, &once);
        struct outcome o = read_file(&first, &way);
        assert_same_outcome(&o, &expected);
        assert_int_equal(o.held_bytes, held_of(&first).at_once);
        free_outcome(&o);
        free_outcome(&expected);
        free(second.bytes);
    }
    free(first.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_over),
        cmocka_unit_test(test_written_over_later),
        cmocka_unit_test(test_budget_denies),
        cmocka_unit_test(test_unlinked),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
