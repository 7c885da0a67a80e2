/* Progressive JPEGs decoded with all scans at once: planes and pixels equal those of the ordinary
 * way in every byte, with any number of assistant threads. */
#include "tests/support/test.h"

#include "tests/support/progressive.h"
#include <pthread.h>
#include <time.h>

/* ---- files decoded with all scans at once ---- */

/* From each kind of source. has_planes: the layout is one of read_planes. */
static void check_sources(const struct jpeg_file *f, bool has_planes)
{
    static const struct way ways[] = {
        {.opened = OPENED_PATH},
        {.opened = OPENED_MEMORY, .n_idle_cores = 1},
        {.opened = OPENED_PATH, .n_idle_cores = 3},
        {.opened = OPENED_PATH, .n_idle_cores = 3, .from_pixels = ORDINARY_FROM}};
    const struct held held = held_of(f);
    write_file(path, f->bytes, f->n);
    for (unsigned pixels = 0; pixels < 2; pixels++) {
        const struct way once = {
            .opened = OPENED_ONCE, .gives_pixels = pixels == 1, .n_idle_cores = 3};
        const bool is_read = pixels == 1 || has_planes;
        struct outcome ordinary = read_file(f, &once);
        assert_int_equal(ordinary.status, IH_OK);
        assert_int_equal(ordinary.held_bytes, is_read ? held.ordinary : 0);
        for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            struct way way = ways[i];
            way.gives_pixels = pixels == 1;
            struct outcome o = read_file(f, &way);
            assert_same_outcome(&o, &ordinary);
            if (is_read)
                assert_int_equal(o.held_bytes, way.from_pixels ? held.ordinary : held.at_once);
            const unsigned n_lent = way.n_idle_cores < ASSISTANTS ? way.n_idle_cores : ASSISTANTS;
            assert_int_equal(o.n_lent, way.from_pixels || !is_read ? 0 : n_lent);
            free_outcome(&o);
        }
        free_outcome(&ordinary);
    }
}

/* Every colour space that libjpeg writes and reads, and unusual samplings. */
TEST(looks)
{
    static const struct look others[] = {{.h = 1, .v = 2},
                                         {.h = 4, .v = 1},
                                         {.h = 1, .v = 4},
                                         {.h = 4, .v = 2},
                                         {.h = 3, .v = 1},
                                         {.h = 2, .v = 2, .chroma_h = 1, .chroma_v = 2},
                                         {.h = 2, .v = 2, .chroma_h = 2, .chroma_v = 1},
                                         {.h = 1, .v = 1, .chroma_h = 2, .chroma_v = 2},
                                         {.h = 1, .v = 1, .stored = JCS_GRAYSCALE},
                                         {.h = 2, .v = 2, .stored = JCS_GRAYSCALE},
                                         {.h = 1, .v = 1, .stored = JCS_RGB},
                                         {.h = 2, .v = 1, .stored = JCS_RGB},
                                         {.h = 1, .v = 1, .stored = JCS_CMYK},
                                         {.h = 2, .v = 2, .stored = JCS_CMYK},
                                         {.h = 2, .v = 2, .stored = JCS_YCCK},
                                         {.h = 1, .v = 1, .stored = JCS_YCCK}};
    const unsigned n = N_LOOKS + sizeof others / sizeof others[0];
    for (unsigned i = 0; i < n; i++) {
        struct look look = i < N_LOOKS ? looks[i] : others[i - N_LOOKS];
        for (look.restart_interval = 0; look.restart_interval < 8; look.restart_interval += 3) {
            const unsigned width = 60 + 7 * look.restart_interval;
            struct jpeg_file f = make_scans(&look, &scripts[0], width, 32 * 13 + 2);
            check_sources(&f, i < N_LOOKS);
            free(f.bytes);
        }
    }
}

/* Images with a few more rows of MCUs than the ring, which has eight, and with many more. */
TEST(scripts)
{
    static const unsigned sizes[][2] = {{67, 12}, {5, 60}, {130, 16}, {331, 17}};
    for (unsigned k = 0; k < N_LOOKS * N_SCRIPTS; k++) {
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct look look = looks[k % N_LOOKS];
            const unsigned height = 8 * (unsigned)look.v * sizes[i][1] - i % 3 * 3;
            look.restart_interval = i % 3 * (k % 4);
            struct jpeg_file f = make_scans(&look, &scripts[k / N_LOOKS], sizes[i][0], height);
            const struct held held = held_of(&f);
            assert_int_equal(held.n_rows, sizes[i][1]);
            assert_int_equal(try_both(&f, held, 0).n_at_once, N_WAYS);
            assert_int_equal(try_both(&f, held, 1000 * i + 500).n_at_once, N_WAYS);
            free(f.bytes);
        }
    }
}

/* Decodes by calling ih_progressive_* directly. */
static uint8_t *read_directly(const struct jpeg_file *f, atomic_uint *n_idle_cores,
                              unsigned *n_lent)
{
    struct ih_jpeg_reader reader;
    struct ih_reader source = {0};
    const unsigned n_before = atomic_load(n_idle_cores);
    ih_reader_open_memory(&source, f->bytes, f->n);
    ih_jpeg_reader_init(&reader, &source);
    if (setjmp(reader.on_error))
        fail_msg("%s", reader.error.message);
    ih_jpeg_reader_open(&reader);
    assert_true(ih_progressive_ring_bytes(&reader.cinfo) > 0);
    struct ih_progressive *all =
        ih_progressive_open(&reader.cinfo, f->bytes, f->n, false, n_idle_cores);
    assert_non_null(all);
    struct ih_jpeg_reader *output = ih_progressive_output(all);
    struct jpeg_decompress_struct *c = &output->cinfo;
    const size_t row_bytes = (size_t)c->output_width * (unsigned)c->output_components;
    uint8_t *pixels = malloc(row_bytes * c->output_height);
    assert_non_null(pixels);
    if (setjmp(output->on_error))
        fail_msg("%s", output->error.message);
    while (c->output_scanline < c->output_height) {
        JSAMPROW row = pixels + row_bytes * c->output_scanline;
        jpeg_read_scanlines(c, &row, 1);
    }
    *n_lent = n_before - atomic_load(n_idle_cores);
    jpeg_finish_output(c);
    jpeg_finish_decompress(c);
    ih_progressive_close(all);
    ih_jpeg_reader_close(&reader);
    assert_int_equal(atomic_load(n_idle_cores), n_before);
    return pixels;
}

/* From one row of MCUs to two more than the ring has. */
TEST(small)
{
    for (unsigned k = 0; k < N_LOOKS * N_SCRIPTS; k++) {
        const struct look *look = &looks[k % N_LOOKS];
        const struct way ordinary = {.opened = OPENED_MEMORY, .gives_pixels = true};
        for (unsigned n = 1; n <= 10; n++) {
            atomic_uint n_idle_cores = n % 2 ? 3 : 1;
            const unsigned height = 8 * (unsigned)look->v * n - n % 3;
            unsigned n_lent;
            struct jpeg_file f = make_scans(look, &scripts[k / N_LOOKS], 1 + 7 * n, height);
            struct outcome o = read_file(&f, &ordinary);
            if (n <= 8)
                assert_int_equal(o.held_bytes,
                                 held_of(&f).ordinary); /* no more rows than the ring */
            uint8_t *pixels = read_directly(&f, &n_idle_cores, &n_lent);
            assert_memory_equal(pixels, o.bytes, o.n_bytes);
            /* An assistant is added at a row if the ring's number of rows follow it. */
            assert_int_equal(n_lent, n < 8 ? 0 : n == 9 ? 2 : 1);
            free(pixels);
            free_outcome(&o);
            free(f.bytes);
        }
    }
}

/* A core becomes idle before the 5th and the 10th row of MCUs. It is taken at once. */
static unsigned lend_later(unsigned n_stripes, unsigned n_left)
{
    assert_int_equal(n_left, 0);
    return n_stripes == 5 || n_stripes == 10 ? 1 : 0;
}

/* One core is taken for each row, up to the maximum. */
static unsigned check_most(unsigned n_stripes, unsigned n_left)
{
    assert_int_equal(n_left, 5 - (n_stripes < ASSISTANTS ? n_stripes : ASSISTANTS));
    return 0;
}

/* With fewer than eight rows left, no core is taken. */
static unsigned lend_too_late(unsigned n_stripes, unsigned n_left)
{
    assert_int_equal(n_left, n_stripes > 23 ? 1 : 0);
    return n_stripes == 23 ? 1 : 0;
}

static unsigned lend_in_time(unsigned n_stripes, unsigned n_left)
{
    assert_int_equal(n_left, 0);
    return n_stripes == 22 ? 1 : 0;
}

/* 30 stripes of one row of MCUs. */
TEST(idle_cores)
{
    static const struct {
        unsigned n_idle_cores;
        unsigned (*before_read)(unsigned, unsigned);
        unsigned n_lent;
    } cases[] = {{0, lend_later, 2},
                 {5, check_most, ASSISTANTS},
                 {0, lend_too_late, 0},
                 {0, lend_in_time, 1}};
    for (unsigned k = 0; k < N_LOOKS * N_SCRIPTS; k++) {
        const struct look *look = &looks[k % N_LOOKS];
        const unsigned height = 8 * (unsigned)look->v * 30;
        struct jpeg_file f = make_scans(look, &scripts[k / N_LOOKS], 100, height);
        for (unsigned i = 0; i < 4; i++) {
            for (unsigned pixels = 0; pixels < (look->v == 1 ? 2 : 1); pixels++) {
                struct way way = {.opened = OPENED_MEMORY,
                                  .gives_pixels = pixels == 1,
                                  .more = pixels == 1 ? 7 : 0,
                                  .from_pixels = ORDINARY_FROM};
                struct outcome ordinary = read_file(&f, &way);
                way.from_pixels = 1;
                way.n_idle_cores = cases[i].n_idle_cores;
                way.before_read = cases[i].before_read;
                struct outcome o = read_file(&f, &way);
                assert_same_outcome(&o, &ordinary);
                assert_int_equal(o.n_stripes, 30);
                assert_int_equal(o.n_lent, cases[i].n_lent);
                free_outcome(&o);
                free_outcome(&ordinary);
            }
        }
        free(f.bytes);
    }
}

static void *lend_some(void *argument)
{
    atomic_uint *n_idle_cores = argument;
    const struct timespec pause = {.tv_nsec = 100 * 1000};
    for (unsigned i = 0; i < 3; i++) {
        nanosleep(&pause, NULL);
        atomic_fetch_add(n_idle_cores, 1);
    }
    return NULL;
}

/* Another thread adds idle cores at any time, and the image is closed at any row. */
TEST(closed_early)
{
    struct jpeg_file f = make_scans(&looks[2], &scripts[4], 300, 16 * 30);
    for (unsigned i = 0; i < 160; i++) {
        uint8_t buffer[1 << 16];
        atomic_uint n_idle_cores = i % 4;
        struct ih_budget budget;
        struct ih_reader source = {0};
        struct ih_decode d;
        struct ih_planes stripe;
        struct ih_error err;
        pthread_t lender;
        size_t n;
        ih_budget_init(&budget, (uint64_t)1 << 30);
        const struct ih_decode_options options = {.max_pixels = MAX_PIXELS,
                                                  .budget = &budget,
                                                  .n_idle_cores = &n_idle_cores,
                                                  .all_scans_from_pixels = 1};
        assert_int_equal(pthread_create(&lender, NULL, lend_some, &n_idle_cores), 0);
        ih_reader_open_memory(&source, f.bytes, f.n);
        assert_int_equal(ih_decode_open(&d, &source, &options, &err), IH_OK);
        for (unsigned k = 0; k < i / 8; k++) {
            if (i % 8 < 4)
                assert_int_equal(ih_decode_read(&d, buffer, 300 * 16, &n, &err), IH_OK);
            else
                assert_int_equal(
                    ih_decode_read_planes(&d, buffer, ih_decode_planes_bytes(&d), &stripe, &err),
                    IH_OK);
        }
        assert_int_equal(budget.taken_bytes, i / 8 > 0 ? held_of(&f).at_once : 0);
        ih_decode_close(&d);
        pthread_join(lender, NULL);
        assert_int_equal(atomic_load(&n_idle_cores), i % 4 + 3);
        assert_int_equal(budget.taken_bytes, 0);
        ih_budget_destroy(&budget);
        ih_reader_reset(&source);
    }
    free(f.bytes);
}

PROGRAM_WITH(make_path, remove_path)
