/* Damaged progressive JPEGs, and files that change while they are read. With all scans at once and
 * in the ordinary way the message is the same, and no row is delivered twice. */
#include "tests/support/test.h"

#include "tests/support/progressive.h"
#include <limits.h>

/* ---- damage ---- */

/* Wrong segments before EOI and before the last scan, and two components with one id. */
TEST(wrong_segments)
{
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
            const bool is_accepted = wrong[i][0] != 0xFF && k == 0; /* extra bytes before EOI */
            if (o.status != (is_accepted ? IH_OK : IH_CORRUPT))
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

TEST(truncation)
{
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
TEST(damage)
{
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

static unsigned repair(unsigned n_stripes, unsigned n_idle_cores)
{
    if (n_stripes == repair_at) {
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
    struct jpeg_file f = copy_jpeg(damaged);
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
TEST(repaired_after_scans)
{
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
            repaired = copy_jpeg(&f);
            splice(&repaired, at, 0, comment, sizeof comment);
            struct jpeg_file damaged = copy_jpeg(&repaired);
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

/* ---- files that change, and a budget that refuses memory ---- */

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
TEST(written_over)
{
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
    } cases[] = {{&plain, 400, 140, 0, "the file was changed while it was read"},
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
                 {&plain, 40, 140, 1000, "damaged JPEG: the file ends before the image does"}};
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
        assert_int_equal(o.n_stripes > 0, !cases[i].message);
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
TEST(written_over_later)
{
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
TEST(budget_denies)
{
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
static unsigned unlink_it(unsigned n_stripes, unsigned n_idle_cores)
{
    if (n_stripes == 0) {
        assert_int_equal(unlink(path), 0);
        if (second.n > 0)
            write_file(path, second.bytes, second.n);
    }
    return 0;
}

TEST(unlinked)
{
    first = make_scans(&looks[2], &scripts[0], 500, 300); /* more than is read at once */
    assert_true(first.n > IH_READER_BUFFER_BYTES);
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

PROGRAM_WITH(make_path, remove_path)
