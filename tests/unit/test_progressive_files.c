/* Which progressive JPEGs are decoded with all scans at once, and with how much memory. */
#include "tests/support/test.h"

#include "tests/support/progressive.h"

/* Segments that are allowed before, between and after scans. */
TEST(segments)
{
    static const uint8_t between[] = {0xFF, 0xFE, 0, 2, /* an empty comment */
                                      0xFF, 0xFE, 0, 6, 0xFF,
                                      0xDA, 0,    8, /* not a scan: inside a comment */
                                      0xFF, 0xFE, 0, 3, 'x'};
    static const uint8_t filled[] = {0xFF, 0xFF, 0xFE, 0, 2}; /* a fill byte before the marker */
    static const uint8_t no_restarts[] = {0xFF, 0xDD, 0, 4, 0, 0};
    static const uint8_t alone[] = {0xFF, 0x01}; /* TEM */
    static uint8_t application[4 + 1533] = {0xFF, 0xE2, 0x05, 0xFF};
    for (unsigned k = 0; k < N_SCRIPTS; k++) {
        struct jpeg_file f = make_scans(&looks[k % N_LOOKS], &scripts[k], 170, 260);
        /* find_scan counts the header inside the comment too. */
        for (int n = 1; find_scan(&f, n - 1) != find_scan(&f, -1); n += 2) {
            splice(&f, find_scan(&f, n), 0, no_restarts, sizeof no_restarts);
            splice(&f, find_scan(&f, n), 0, between, sizeof between);
        }
        splice(&f, f.n - 2, 0, between, sizeof between);
        for (unsigned i = 0; i < 4; i++) { /* two after a scan, two before the first */
            splice(&f, i < 2 ? f.n - 2 : 2, 0, application, sizeof application);
            assert_int_equal(try_both(&f, held_of(&f), 0).n_at_once, N_WAYS);
        }
        splice(&f, f.n, 0, "after the end.", 14);
        assert_int_equal(try_both(&f, held_of(&f), 0).n_at_once, N_WAYS);
        splice(&f, 2, 0, filled, sizeof filled); /* unusual: the ordinary way */
        assert_int_equal(try_both(&f, held_of(&f), 0).n_at_once, 0);
        splice(&f, 2, sizeof filled, "", 0);
        splice(&f, f.n - 16, 0, alone, sizeof alone);
        assert_int_equal(try_both(&f, held_of(&f), 0).n_at_once, 0);
        free(f.bytes);
    }
}

/* A quantization table between scans applies to components that have no scan before it. Such files
 * are decoded in the ordinary way. */
TEST(tables_between_scans)
{
    for (unsigned k = 0; k < N_LOOKS * N_SCRIPTS; k++) {
        uint8_t tables[2 * 69];
        struct jpeg_file f = make_scans(&looks[k % N_LOOKS], &scripts[k / N_LOOKS], 120, 400);
        for (unsigned t = 0; t < 2; t++) {
            memcpy(tables + 69 * t, f.bytes + find_segment(&f, 0xDB, t), 69);
            assert_int_equal(tables[69 * t + 3], 67);
        }
        for (unsigned i = 5; i < sizeof tables; i++) /* other values */
            if (i % 69 >= 5)
                tables[i] = (uint8_t)(1 + i % 40);
        for (int n = 0; n == 0 || find_scan(&f, n - 1) != find_scan(&f, -1); n++) {
            struct jpeg_file changed = {malloc(f.n), f.n};
            assert_non_null(changed.bytes);
            memcpy(changed.bytes, f.bytes, f.n);
            splice(&changed, find_scan(&f, n), 0, tables, sizeof tables);
            assert_int_equal(try_both(&changed, held_of(&changed), 0).n_at_once,
                             n == 0 ? N_WAYS : 0);
            free(changed.bytes);
        }
        free(f.bytes);
    }
}

/* What ih_progressive_ring_bytes says of the header. */
static bool fits(const struct jpeg_file *f)
{
    struct ih_jpeg_reader reader;
    struct ih_reader source = {0};
    ih_reader_open_memory(&source, f->bytes, f->n);
    ih_jpeg_reader_init(&reader, &source);
    if (setjmp(reader.on_error))
        fail_msg("%s", reader.error.message);
    ih_jpeg_reader_open(&reader);
    const bool does_fit = ih_progressive_ring_bytes(&reader.cinfo) > 0;
    ih_jpeg_reader_close(&reader);
    return does_fit;
}

TEST(other_files)
{
    static const jpeg_scan_info partial[] = {{3, {0, 1, 2}, 0, 0, 0, 0},
                                             {1, {0}, 1, 63, 0, 0},
                                             {1, {1}, 1, 63, 0, 0},
                                             {1, {2}, 1, 63, 0, 1}};
    static const struct look others[] = {
        {.h = 2, .v = 2, .is_baseline = true},
#if defined(C_ARITH_CODING_SUPPORTED) && defined(D_ARITH_CODING_SUPPORTED)
        {.h = 2, .v = 2, .is_arithmetic = true},
#endif
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct jpeg_file f = make_scans(&others[i], &scripts[0], 70, 350);
        assert_false(fits(&f));
        assert_int_equal(try_both(&f, held_of(&f), 0).n_at_once, 0);
        free(f.bytes);
    }
    for (int n_scans = 2; n_scans <= 4; n_scans++) { /* bits are missing */
        const struct script script = {partial, n_scans};
        struct jpeg_file f = make_scans(&looks[2], &script, 70, 350);
        assert_int_equal(try_both(&f, held_of(&f), 0).n_at_once, 0);
        free(f.bytes);
    }
}

/* Both ways fail with the same message about the budget. */
static void check_too_little(const struct jpeg_file *f, struct way way)
{
    way.from_pixels = ORDINARY_FROM;
    struct outcome ordinary = read_file(f, &way);
    assert_int_equal(ordinary.status, IH_LIMIT);
    way.from_pixels = 1;
    struct outcome o = read_file(f, &way);
    assert_same_outcome(&o, &ordinary);
    assert_int_equal(o.n_stripes, 0);
    free_outcome(&o);
    free_outcome(&ordinary);
}

TEST(limits)
{
    struct jpeg_file f = make_scans(&looks[2], &scripts[0], 70, 350);
    const struct held held = held_of(&f);
    for (unsigned pixels = 0; pixels < 2; pixels++) {
        struct outcome o;
        struct way way = {.opened = OPENED_MEMORY, .gives_pixels = pixels == 1, .n_idle_cores = 1};
        way.budget_bytes = held.at_once;
        o = read_file(&f, &way);
        assert_int_equal(o.status, IH_OK);
        assert_int_equal(o.held_bytes, held.at_once);
        free_outcome(&o);
        way.budget_bytes--;
        check_too_little(&f, way);
        way.budget_bytes = held.ordinary - 1; /* too little for the ordinary way */
        o = read_file(&f, &way);
        assert_int_equal(o.held_bytes, held.at_once);
        free_outcome(&o);
        way.budget_bytes = 0;
        for (unsigned i = 0; i < 2; i++) {
            way.from_pixels = 70 * 350 + i;
            o = read_file(&f, &way);
            assert_int_equal(o.held_bytes, i == 0 ? held.at_once : held.ordinary);
            free_outcome(&o);
        }
    }
    free(f.bytes);
}

/* A file larger than its coefficients is not held. */
TEST(heavy)
{
    static const uint8_t zeros[1 << 16];
    struct jpeg_file f = make_scans(&looks[1], &scripts[0], 70, 250);
    const struct held held = held_of(&f);
    assert_true(held.ordinary > held.at_once && held.ordinary - held.at_once < sizeof zeros);
    splice(&f, f.n, 0, zeros, (size_t)(held.ordinary - held.at_once)); /* after EOI */
    assert_int_equal(held_of(&f).at_once, held.ordinary);
    for (unsigned i = 0; i < 4; i++) {
        const struct way way = {.opened = OPENED_MEMORY, .gives_pixels = i % 2, .n_idle_cores = 3};
        if (i == 2)
            splice(&f, f.n, 0, zeros, 1);
        struct outcome o = read_file(&f, &way);
        assert_int_equal(o.status, IH_OK);
        assert_int_equal(o.n_lent, i < 2 ? ASSISTANTS : 0);
        free_outcome(&o);
    }
    free(f.bytes);
}

/* The defaults of the options. */
TEST(defaults)
{
    for (unsigned i = 0; i < 2; i++) {
        struct jpeg_file f = make_scans(&looks[2], &scripts[0], 512, 512 - i);
        struct ih_reader source = {0};
        struct ih_budget budget;
        struct ih_decode d;
        struct ih_planes stripe;
        struct ih_error err;
        static uint8_t buffer[1 << 17];
        ih_budget_init(&budget, (uint64_t)1 << 30);
        for (unsigned k = 0; k < 2; k++) {
            const struct ih_decode_options options = {.max_pixels = MAX_PIXELS,
                                                      .budget = k == 0 ? &budget : NULL};
            ih_reader_open_memory(&source, f.bytes, f.n);
            assert_int_equal(ih_decode_open(&d, &source, &options, &err), IH_OK);
            do
                assert_int_equal(ih_decode_read_planes(&d, buffer, sizeof buffer, &stripe, &err),
                                 IH_OK);
            while (stripe.row + stripe.n_rows < 512 - i);
            if (k == 0)
                assert_int_equal(budget.taken_bytes,
                                 i == 0 ? held_of(&f).at_once : held_of(&f).ordinary);
            ih_decode_close(&d);
            ih_reader_reset(&source);
        }
        ih_budget_destroy(&budget);
        free(f.bytes);
    }
}
