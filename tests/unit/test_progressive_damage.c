/* Damaged progressive JPEGs: with all scans at once and in the ordinary way the message is the
 * same, and no row is delivered twice. */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/progressive.h"

static struct jpeg_file copy_of(const struct jpeg_file *f)
{
    struct jpeg_file copy = {malloc(f->n), f->n};
    assert_non_null(copy.bytes);
    memcpy(copy.bytes, f->bytes, f->n);
    return copy;
}

/* ---- damage ---- */

/* Wrong segments before EOI and before the last scan, and two components with one id. */
static void test_wrong_segments(void **state)
{
    (void)state;
    static const uint8_t wrong[][13] = {
        {0xFF, 0xDA, 0, 8, 1, 77, 0, 0, 0, 0},
        {0xFF, 0xDA, 0, 6, 0, 0, 63, 0},
        {0xFF, 0xDA, 0, 8, 9, 1, 0, 0, 0, 0},
        {0xFF, 0xDA, 0, 8, 9, 2, 0, 0, 0, 0},
        {0xFF, 0xDA, 0, 2},
        {0xFF, 0xDA, 0, 3, 0},
        {0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0},  /* once more */
        {0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 16}, /* a bit too many */
        {0xFF, 0xC0, 0, 11, 8, 0, 90, 1, 0, 1, 1, 0x11, 0},
        {0xFF, 0xC2, 0, 11, 8, 0, 90, 1, 0, 1, 1, 0x11, 0},
        {0xFF, 0xC4, 0, 4, 0x44, 0},                       /* a table that does not exist */
        {0xFF, 0xC4, 0, 11, 0x00, 9, 9, 9, 9, 9, 9, 9, 9}, /* too short */
        {0xFF, 0xDB, 0, 4, 0x07, 1}, /* a table that does not exist, too short */
        {0xFF, 0xDD, 0, 3, 1},
        {0xFF, 0xE0, 0, 1},
        {0xFF, 0xFE, 0, 0},
        {1, 1, 1, 11, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (unsigned k = 0; k < 2; k++) {
            struct jpeg_file f = make_scans(&looks[0], &scripts[0], 20, 220);
            const struct held held = held_of(&f);
            splice(&f, k == 0 ? f.n - 2 : find_scan(&f, -1), 0, wrong[i], 2 + wrong[i][3]);
            const struct way way = {.opened = OPENED_MEMORY, .n_idle_cores = 1};
            struct outcome o = read_file(&f, &way);
            if (o.status != IH_CORRUPT)
                fail_msg("%u, %u: status %d", i, k, (int)o.status);
            free_outcome(&o);
            assert_int_equal(try_both(&f, held, 0).n_at_once, 0);
            free(f.bytes);
        }
    }
    for (unsigned id = 1; id <= 2; id++) { /* Y and Cb, then Cb and Cr */
        struct jpeg_file f = make_scans(&looks[0], &scripts[1], 20, 220);
        const struct held held = held_of(&f);
        f.bytes[find_segment(&f, 0xC2, 0) + 4 + 6 + 3 * id] = (uint8_t)id;
        assert_int_equal(try_both(&f, held, 0).n_at_once, 0);
        free(f.bytes);
    }
}

static void test_truncation(void **state)
{
    (void)state;
    struct jpeg_file f = make_scans(&looks[2], &scripts[4], 24, 16 * 13);
    const struct held held = held_of(&f);
    assert_int_equal(try_both(&f, held, 0).n_at_once, N_WAYS);
    for (unsigned long n = 3; n < f.n; n++) {
        const struct jpeg_file part = {f.bytes, n};
        const struct way way = {.opened = OPENED_MEMORY, .gives_pixels = true};
        struct outcome o = read_file(&part, &way);
        assert_int_equal(o.status, IH_CORRUPT);
        free_outcome(&o);
        assert_int_equal(try_both(&part, held, 0).n_at_once, 0);
    }
    free(f.bytes);
}

/* Each byte with all bits inverted, and with its lowest bit inverted. */
static void test_damage(void **state)
{
    (void)state;
    struct tried all = {0};
    for (unsigned k = 0; k < 3; k++) {
        struct look look = looks[k];
        look.restart_interval = k;
        struct jpeg_file f =
            make_scans(&look, &scripts[k == 2 ? 4 : k], 8, 8 * (unsigned)look.v * 16 + 1);
        const struct held held = held_of(&f);
        assert_int_equal(try_both(&f, held, 0).n_at_once, N_WAYS);
        for (unsigned long i = 0; i < 2 * f.n; i++) {
            const uint8_t was = f.bytes[i / 2];
            f.bytes[i / 2] ^= i % 2 ? 0xFF : 0x01;
            const struct tried tried = try_both(&f, held, 0);
            all.n_at_once += tried.n_at_once;
            all.n_failed_late += tried.n_failed_late;
            f.bytes[i / 2] = was;
        }
        free(f.bytes);
    }
    assert_true(all.n_at_once > 1000); /* other pixels in a sound file */
    assert_true(all.n_failed_late > 1000);
}

/* ---- damage that is repaired before the second try ---- */

static struct jpeg_file repaired;
static uint8_t *to_repair; /* the file in memory, of the same size; NULL: the file at path */
static unsigned repair_at, n_repairs;

static unsigned repair(unsigned n_bands, unsigned n_idle_cores)
{
    (void)n_idle_cores;
    if (n_bands == repair_at) {
        n_repairs++;
        if (to_repair)
            memcpy(to_repair, repaired.bytes, repaired.n);
        else
            write_file(path, repaired.bytes, repaired.n);
    }
    return 0;
}

/* Rows before the damage are delivered, and the rest after the repair. damaged: of the size of
 * repaired. is_last: the damage follows the rows of the scan that is decoded last. */
static void check_repaired(const struct jpeg_file *damaged, struct way way, bool is_last)
{
    const struct way sound_way = {.opened = OPENED_MEMORY,
                                  .gives_pixels = way.gives_pixels,
                                  .more = way.more,
                                  .varies = way.varies,
                                  .from_pixels = ORDINARY_FROM};
    struct outcome expected = read_file(&repaired, &sound_way);
    struct jpeg_file f = copy_of(damaged);
    write_file(path, f.bytes, f.n);
    to_repair = way.opened == OPENED_MEMORY ? f.bytes : NULL;
    n_repairs = 0;
    way.before_read = repair;
    struct outcome o = read_file(&f, &way);
    assert_int_equal(expected.status, IH_OK);
    assert_int_equal(n_repairs, 1);
    if (o.status != IH_OK)
        fail_msg("status %d, '%s'", (int)o.status, o.error.message);
    assert_int_equal(o.n_bytes, expected.n_bytes);
    assert_memory_equal(o.bytes, expected.bytes, o.n_bytes);
    assert_int_equal(o.held_bytes,
                     is_last ? held_of(&repaired).at_once : held_of(&repaired).ordinary);
    free_outcome(&o);
    free_outcome(&expected);
    free(f.bytes);
}

/* Damage after the data of a scan is found with its last row; after the data of the scan decoded
 * last, when all rows have been delivered. */
static void test_repaired_after_scans(void **state)
{
    (void)state;
    static const uint8_t comment[] = {0xFF, 0xFE, 0, 6, 'a', 'b', 'c', 'd'};
    for (unsigned k = 0; k < N_LOOKS * N_SCRIPTS; k++) {
        const struct look *look = &looks[k % N_LOOKS];
        struct jpeg_file f =
            make_scans(look, &scripts[k / N_LOOKS], 40, 8 * (unsigned)look->v * 20 - k);
        struct ih_progressive_scans scans;
        assert_true(ih_progressive_find_scans(&scans, f.bytes, f.n));
        for (unsigned n = 0; n < scans.n_scans; n++) {
            const struct ih_jpeg_span *span = &scans.scans[n].span;
            const size_t at = (size_t)(span->bytes - f.bytes) + span->size_bytes;
            repaired = copy_of(&f);
            splice(&repaired, at, 0, comment, sizeof comment);
            struct jpeg_file damaged = copy_of(&repaired);
            memset(damaged.bytes + at, 1, sizeof comment);
            struct ih_progressive_scans of_damaged;
            assert_true(ih_progressive_find_scans(&of_damaged, damaged.bytes, damaged.n));
            const bool is_last = n == ih_progressive_last_scan(&of_damaged);
            for (unsigned i = 0; i < 8; i++) {
                const struct way way = {.opened = i & 1 ? OPENED_PATH : OPENED_MEMORY,
                                        .gives_pixels = i & 2,
                                        .n_idle_cores = i & 4 ? 3 : 0,
                                        .more = i & 2 ? k % 11 : k * 1000,
                                        .varies = k % 2};
                repair_at = 1;
                check_repaired(&damaged, way, is_last);
            }
            free(damaged.bytes);
            free(repaired.bytes);
        }
        free(f.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_segments),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_repaired_after_scans),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
