/*
 * The CPU's counters against the plain reference, and the CPU backend's lanes.
 *
 * The reference itself is held against counts written down by hand. Pixels are in allocations that
 * end with the last pixel, so that under the address sanitizer a read past the end is caught.
 */
#include "backend/backend.h"
#include "backend/count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- data ---- */

static uint32_t random_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* A pattern gives the sample of pixel i, channel c; random is a fresh random number. */
typedef uint8_t pattern_function(size_t i, unsigned c, uint32_t random);

static uint8_t pattern_constant(size_t i, unsigned c, uint32_t random)
{
    (void)i, (void)random;
    return (uint8_t)(200 + 7 * c);
}

static uint8_t pattern_two_valued(size_t i, unsigned c, uint32_t random)
{
    (void)i, (void)c;
    return random >> 31 ? 255 : 0;
}

static uint8_t pattern_alternating(size_t i, unsigned c, uint32_t random)
{
    (void)random;
    return (uint8_t)(i % 2 ? 254 : c);
}

static uint8_t pattern_ramp(size_t i, unsigned c, uint32_t random)
{
    (void)random;
    return (uint8_t)(i + 85 * c);
}

static uint8_t pattern_random(size_t i, unsigned c, uint32_t random)
{
    (void)i, (void)c;
    return (uint8_t)(random >> 24);
}

/* Random colour under one alpha, with another alpha here and there. */
static uint8_t pattern_opaque(size_t i, unsigned c, uint32_t random)
{
    if (c == 1 || c == 3)
        return i % 101 == 57 ? 0 : 255;
    return (uint8_t)(random >> 24);
}

/* Runs of 1 to 97 pixels, many of them not a multiple of a word. */
static uint8_t pattern_runs(size_t i, unsigned c, uint32_t random)
{
    (void)random;
    size_t run = i / 97 * 3 + (i % 97 > 30) + (i % 97 > 47);
    if (i % 97 == 90)
        return (uint8_t)(251 + c);
    return (uint8_t)(run * 37 + c);
}

/* One sample of a long constant stretch is off by one bit, somewhere else in each stretch. */
static uint8_t pattern_flaw(size_t i, unsigned c, uint32_t random)
{
    (void)random;
    size_t stretch = i / 64;
    return (uint8_t)(i % 64 == stretch % 64 && c == stretch % 3 ? 65 : 64);
}

/* Only values at which something changes for some clip pair. */
static uint8_t pattern_edges(size_t i, unsigned c, uint32_t random)
{
    static const uint8_t edges[8] = {0, 1, 10, 11, 239, 240, 254, 255};
    (void)i, (void)c;
    return edges[random >> 29];
}

/* Bytes for n pixels whose first is offset bytes past an allocation's start. Free *block. */
static const uint8_t *make_pixels(pattern_function *pattern, size_t n, unsigned n_channels,
                                  size_t offset, uint8_t **block)
{
    uint32_t random = (uint32_t)(n * 4 + n_channels) * 2654435761u + 1;
    *block = malloc(offset + n * n_channels + (offset + n == 0));
    assert_non_null(*block);
    for (size_t i = 0; i < n; i++) {
        for (unsigned c = 0; c < n_channels; c++)
            (*block)[offset + i * n_channels + c] = pattern(i, c, random_next(&random));
    }
    return *block + offset;
}

/* ---- comparing ---- */

static void assert_same(const struct ih_histogram *a, const struct ih_histogram *b)
{
    assert_int_equal(a->n_channels, b->n_channels);
    assert_int_equal(a->n_pixels, b->n_pixels);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        for (unsigned v = 0; v < IH_BINS; v++)
            assert_int_equal(a->bins[p][v], b->bins[p][v]);
        assert_int_equal(a->sum[p], b->sum[p]);
    }
    assert_int_equal(a->any_low, b->any_low);
    assert_int_equal(a->any_high, b->any_high);
    assert_int_equal(a->all_low, b->all_low);
    assert_int_equal(a->all_high, b->all_high);
}

static void count_with(const struct ih_count_method *method, const struct ih_count_spec *spec,
                       const uint8_t *pixels, size_t n, struct ih_histogram *out)
{
    struct ih_counter *counter = malloc(sizeof *counter);
    assert_non_null(counter);
    memset(counter, 0xA5, sizeof *counter);
    memset(out, 0x5A, sizeof *out);
    ih_counter_begin(counter, method, spec);
    ih_counter_add(counter, pixels, n);
    ih_counter_end(counter, out);
    free(counter);
    assert_true(ih_histogram_consistent(out));
}

static void check(pattern_function *pattern, size_t n, size_t offset,
                  const struct ih_count_spec *spec)
{
    struct ih_histogram expected, got;
    uint8_t *block;
    const uint8_t *pixels = make_pixels(pattern, n, spec->n_channels, offset, &block);
    count_with(&ih_count_reference, spec, pixels, n, &expected);
    count_with(&ih_count_tables, spec, pixels, n, &got);
    assert_same(&expected, &got);
    free(block);
}

static const uint8_t clip_pairs[][2] = {{0, 255}, {10, 240}, {0, 1}, {254, 255}, {127, 128}};
enum { N_CLIP_PAIRS = sizeof clip_pairs / sizeof clip_pairs[0] };

/* One pattern with every number of channels, both luma weights and all clip pairs. */
static void check_pattern(pattern_function *pattern)
{
    static const size_t sizes[] = {0,  1,  2,  3,  5,  7,  8,   9,   11,  13,   16,  17,
                                   19, 23, 31, 32, 33, 61, 127, 509, 512, 1009, 4099};
    static const struct ih_luma_weights *const lumas[] = {&ih_luma_bt709, &ih_luma_bt601};
    for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
        for (unsigned i = 0; i < 2 * N_CLIP_PAIRS; i++) {
            const uint8_t *clip = clip_pairs[i / 2];
            struct ih_count_spec spec = {n_channels, lumas[i % 2], clip[0], clip[1]};
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                check(pattern, sizes[s], 0, &spec);
        }
    }
}

/* ---- counters ---- */

static void test_reference_by_hand(void **state)
{
    (void)state;
    static const uint8_t pixels[] = {0, 0,   0, 255, 255, 255, 255, 0,
                                     0, 128, 9, 10,  200, 240, 241, 3};
    const struct ih_count_spec rgb = {3, &ih_luma_bt709, 10, 240};
    const struct ih_count_spec rgba = {4, &ih_luma_bt601, 10, 240};
    struct ih_histogram h;
    /* (0,0,0) (255,255,255) (255,0,0) (128,9,10) (200,240,241) */
    count_with(&ih_count_reference, &rgb, pixels, 5, &h);
    assert_int_equal(h.bins[0][255], 2);
    assert_int_equal(h.bins[1][0], 2);
    assert_int_equal(h.bins[2][241], 1);
    assert_int_equal(h.sum[0], 0 + 255 + 255 + 128 + 200);
    assert_int_equal(h.bins[IH_LUMA][0], 1);
    assert_int_equal(h.bins[IH_LUMA][54], 1);  /* 0.2126 * 255 = 54.2 */
    assert_int_equal(h.bins[IH_LUMA][34], 1);  /* 27.2 + 6.4 + 0.7 = 34.4 */
    assert_int_equal(h.bins[IH_LUMA][232], 1); /* 42.5 + 171.6 + 17.4 = 231.6 */
    assert_int_equal(h.bins[IH_LUMA][255], 1);
    assert_int_equal(h.any_low, 3);
    assert_int_equal(h.all_low, 1);
    assert_int_equal(h.any_high, 3);
    assert_int_equal(h.all_high, 1);
    /* (0,0,0,255) (255,255,255,0) (0,128,9,10) (200,240,241,3): alpha clips nothing */
    count_with(&ih_count_reference, &rgba, pixels, 4, &h);
    assert_int_equal(h.bins[3][10], 1);
    assert_int_equal(h.bins[IH_LUMA][76], 1); /* 0.587 * 128 + 0.114 * 9 = 76.2 */
    assert_int_equal(h.any_low, 2);
    assert_int_equal(h.all_low, 1);
    assert_int_equal(h.any_high, 2);
    assert_int_equal(h.all_high, 1);
}

#define PATTERN_TEST(name)                \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        check_pattern(pattern_##name);    \
    }
PATTERN_TEST(constant)
PATTERN_TEST(two_valued)
PATTERN_TEST(alternating)
PATTERN_TEST(ramp)
PATTERN_TEST(random)
PATTERN_TEST(opaque)
PATTERN_TEST(runs)
PATTERN_TEST(flaw)
PATTERN_TEST(edges)

static void test_unaligned(void **state)
{
    (void)state;
    static pattern_function *const patterns[] = {pattern_random, pattern_runs, pattern_constant};
    for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
        const struct ih_count_spec spec = {n_channels, &ih_luma_bt709, 10, 240};
        for (size_t offset = 1; offset < 8; offset++) {
            for (unsigned p = 0; p < 3; p++) {
                for (size_t n = 0; n < 100; n++)
                    check(patterns[p], n, offset, &spec);
            }
        }
    }
}

/* Every value of every channel, and so every entry of the luma's tables, under every clip pair. */
static void test_every_colour_step(void **state)
{
    (void)state;
    for (unsigned low = 0; low < 255; low += 15) {
        const struct ih_count_spec spec = {3, &ih_luma_bt601, (uint8_t)low, (uint8_t)(low + 15)};
        check(pattern_random, 20011, 0, &spec);
        check(pattern_edges, 1009, 0, &spec);
    }
}

static void test_many_adds(void **state)
{
    (void)state;
    struct ih_counter *counter = malloc(sizeof *counter);
    assert_non_null(counter);
    for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
        const struct ih_count_spec spec = {n_channels, &ih_luma_bt709, 0, 255};
        struct ih_histogram expected, got;
        uint8_t *block;
        const uint8_t *pixels = make_pixels(pattern_runs, 5003, n_channels, 0, &block);
        count_with(&ih_count_reference, &spec, pixels, 5003, &expected);
        ih_counter_begin(counter, &ih_count_tables, &spec);
        for (size_t i = 0, step = 0; i < 5003; i += step) {
            step = (step * 5 + 1) % 61;
            if (step > 5003 - i)
                step = 5003 - i;
            ih_counter_add(counter, pixels + i * n_channels, step);
        }
        ih_counter_end(counter, &got);
        assert_same(&expected, &got);
        free(block);
    }
    free(counter);
}

/* ---- folding: as a limit of a few pixels, so that no test needs 2^32 of them ---- */

static void check_folding(pattern_function *pattern, unsigned n_channels, uint64_t fold_pixels)
{
    const struct ih_count_spec spec = {n_channels, &ih_luma_bt709, 10, 240};
    struct ih_histogram expected, got;
    struct ih_counter *counter = malloc(sizeof *counter);
    assert_non_null(counter);
    uint8_t *block;
    const uint8_t *pixels = make_pixels(pattern, 1009, n_channels, 0, &block);
    count_with(&ih_count_reference, &spec, pixels, 1009, &expected);
    ih_counter_begin(counter, &ih_count_tables, &spec);
    counter->fold_pixels = fold_pixels;
    for (size_t i = 0; i < 1009; i += 1009 - i < 100 ? 1009 - i : 100) {
        ih_counter_add(counter, pixels + i * n_channels, 1009 - i < 100 ? 1009 - i : 100);
        assert_true(counter->n_unfolded <= fold_pixels);
    }
    ih_counter_end(counter, &got);
    assert_same(&expected, &got);
    free(block);
    free(counter);
}

static void test_folding(void **state)
{
    (void)state;
    static const uint64_t limits[] = {1, 7, 8, 64, 99, 100, 101, 1008, 1009, 1010};
    for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            check_folding(pattern_random, n_channels, limits[i]);
            check_folding(pattern_constant, n_channels, limits[i]);
            check_folding(pattern_runs, n_channels, limits[i]);
        }
    }
}

/* The real limit: 2^32 - 1 pixels have been counted, all black, when the next ones arrive. */
static void test_full_tables(void **state)
{
    (void)state;
    static const uint8_t black[100 * 4];
    struct ih_counter *counter = malloc(sizeof *counter);
    assert_non_null(counter);
    for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
        const struct ih_count_spec spec = {n_channels, &ih_luma_bt709, 0, 255};
        struct ih_histogram got;
        ih_counter_begin(counter, &ih_count_tables, &spec);
        assert_int_equal(counter->fold_pixels, UINT32_MAX);
        ih_counter_add(counter, black, 100);
        /* As if the first table of each plane had taken all the others that fit. */
        uint32_t missing = UINT32_MAX - 100 - 30;
        for (unsigned c = 0; c < n_channels; c++)
            counter->subtables[c * ih_count_subtables_each(n_channels)][0] += missing;
        counter->luma[0][3 * IH_BINS] += missing; /* class 3: all three low */
        counter->n_unfolded += missing;
        counter->totals.n_pixels += missing;
        ih_counter_add(counter, black, 100);
        ih_counter_end(counter, &got);
        assert_true(ih_histogram_consistent(&got));
        assert_int_equal(got.bins[n_channels - 1][0], (uint64_t)UINT32_MAX + 70);
        assert_int_equal(got.all_low, (uint64_t)UINT32_MAX + 70);
    }
    free(counter);
}

/* ---- the backend ---- */

struct lane_fixture {
    void *state, *lane;
};

static void open_lane(struct lane_fixture *f, const char *kernel)
{
    const struct ih_backend_options options = {.kernel = kernel};
    struct ih_error err;
    assert_int_equal(ih_backend_cpu.start(&options, 0, &f->state, &err), IH_OK);
    assert_int_equal(ih_backend_cpu.lane_open(f->state, &f->lane, &err), IH_OK);
}

static void close_lane(struct lane_fixture *f)
{
    ih_backend_cpu.lane_close(f->lane);
    ih_backend_cpu.stop(f->state);
}

static uint8_t *take_band(struct lane_fixture *f, size_t min_bytes, size_t *size_bytes)
{
    struct ih_error err;
    uint8_t *pixels = NULL;
    assert_int_equal(ih_backend_cpu.band(f->lane, min_bytes, &pixels, size_bytes, &err), IH_OK);
    assert_non_null(pixels);
    assert_int_equal((uintptr_t)pixels % 64, 0);
    assert_true(*size_bytes >= min_bytes);
    return pixels;
}

static void begin_image(struct lane_fixture *f, const struct ih_count_spec *spec)
{
    struct ih_error err;
    assert_int_equal(ih_backend_cpu.begin(f->lane, spec, &err), IH_OK);
}

static void end_image(struct lane_fixture *f, struct ih_histogram *out, const char *kernel)
{
    struct ih_error err;
    const char *name = NULL;
    memset(out, 0x5A, sizeof *out);
    assert_int_equal(ih_backend_cpu.end(f->lane, out, &name, &err), IH_OK);
    assert_string_equal(name, kernel);
    assert_true(ih_histogram_consistent(out));
}

static void count_pixels(struct lane_fixture *f, const uint8_t *pixels, size_t n,
                         unsigned n_channels)
{
    struct ih_error err;
    size_t size_bytes;
    memcpy(take_band(f, n * n_channels, &size_bytes), pixels, n * n_channels);
    assert_int_equal(ih_backend_cpu.count(f->lane, n, &err), IH_OK);
}

static void test_backend_kernels(void **state)
{
    (void)state;
    for (const struct ih_kernel_entry *k = ih_backend_cpu.kernels; k->name; k++) {
        for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
            const struct ih_count_spec spec = {n_channels, &ih_luma_bt601, 10, 240};
            struct ih_histogram expected, got;
            struct lane_fixture f;
            uint8_t *block;
            const uint8_t *pixels = make_pixels(pattern_random, 3001, n_channels, 0, &block);
            count_with(&ih_count_reference, &spec, pixels, 3001, &expected);
            open_lane(&f, k->name);
            begin_image(&f, &spec);
            count_pixels(&f, pixels, 2000, n_channels);
            count_pixels(&f, pixels + 2000 * n_channels, 1001, n_channels);
            end_image(&f, &got, k->name);
            assert_same(&expected, &got);
            close_lane(&f);
            free(block);
        }
    }
}

static void test_backend_best_is_first(void **state)
{
    (void)state;
    const struct ih_count_spec spec = {1, &ih_luma_bt709, 0, 255};
    struct ih_histogram got;
    struct lane_fixture f;
    open_lane(&f, NULL);
    begin_image(&f, &spec);
    end_image(&f, &got, "tables");
    assert_string_equal(ih_backend_cpu.kernels[0].name, "tables");
    assert_string_equal(ih_backend_cpu.name, "cpu");
    assert_string_equal(ih_backend_cpu.describe(f.state), "cpu");
    close_lane(&f);
}

static void test_backend_unknown_kernel(void **state)
{
    (void)state;
    const struct ih_backend_options options = {.kernel = "warp"};
    struct ih_error err;
    void *device = NULL;
    assert_int_equal(ih_backend_cpu.start(&options, 0, &device, &err), IH_UNAVAILABLE);
    assert_int_equal(err.status, IH_UNAVAILABLE);
    assert_non_null(strstr(err.message, "warp"));
    assert_null(device);
}

static void test_backend_no_bands(void **state)
{
    (void)state;
    for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
        const struct ih_count_spec spec = {n_channels, &ih_luma_bt709, 0, 255};
        struct ih_histogram got, expected;
        struct lane_fixture f;
        open_lane(&f, NULL);
        begin_image(&f, &spec);
        end_image(&f, &got, "tables");
        ih_histogram_clear(&expected, n_channels);
        assert_same(&expected, &got);
        close_lane(&f);
    }
}

/* The unfinished image has another layout, other clips and other weights. */
static void test_backend_begin_drops(void **state)
{
    (void)state;
    for (const struct ih_kernel_entry *k = ih_backend_cpu.kernels; k->name; k++) {
        for (unsigned dropped = 1; dropped <= IH_CHANNELS_MAX; dropped++) {
            for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
                const struct ih_count_spec first = {dropped, &ih_luma_bt601, 100, 150};
                const struct ih_count_spec spec = {n_channels, &ih_luma_bt709, 10, 240};
                struct ih_histogram expected, got;
                struct lane_fixture f;
                uint8_t *block;
                const uint8_t *pixels = make_pixels(pattern_edges, 4004, 1, 0, &block);
                count_with(&ih_count_reference, &spec, pixels, 1001, &expected);
                open_lane(&f, k->name);
                begin_image(&f, &first);
                count_pixels(&f, pixels, 1001, dropped);
                begin_image(&f, &spec);
                count_pixels(&f, pixels, 1001, n_channels);
                end_image(&f, &got, k->name);
                assert_same(&expected, &got);
                close_lane(&f);
                free(block);
            }
        }
    }
}

static void test_backend_growing_bands(void **state)
{
    (void)state;
    const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255};
    struct ih_histogram expected, got;
    struct lane_fixture f;
    size_t size_bytes, before = 0;
    uint8_t *block;
    const uint8_t *pixels = make_pixels(pattern_random, 400000, 3, 0, &block);
    count_with(&ih_count_reference, &spec, pixels, 10 + 100000 + 299990, &expected);
    open_lane(&f, NULL);
    begin_image(&f, &spec);
    take_band(&f, 0, &size_bytes);
    assert_true(size_bytes >= 64 * 1024 && size_bytes <= 256 * 1024);
    count_pixels(&f, pixels, 10, 3);
    count_pixels(&f, pixels + 3 * 10, 100000, 3);
    count_pixels(&f, pixels + 3 * 100010, 299990, 3);
    take_band(&f, 0, &before);
    assert_true(before >= 3 * 299990);
    end_image(&f, &got, "tables");
    assert_same(&expected, &got);
    close_lane(&f);
    free(block);
}

/* A size that no machine has is an error, and the lane works on after it. */
static void test_backend_band_too_large(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX / 2 + 1};
    const struct ih_count_spec spec = {1, &ih_luma_bt709, 0, 255};
    struct ih_histogram got;
    struct ih_error err;
    struct lane_fixture f;
    open_lane(&f, NULL);
    begin_image(&f, &spec);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *pixels;
        size_t size_bytes;
        assert_int_equal(ih_backend_cpu.band(f.lane, sizes[i], &pixels, &size_bytes, &err),
                         IH_MEMORY);
        assert_int_equal(err.status, IH_MEMORY);
    }
    count_pixels(&f, (const uint8_t *)"\0\1\2\377", 4, 1);
    end_image(&f, &got, "tables");
    assert_int_equal(got.n_pixels, 4);
    assert_int_equal(got.all_high, 1);
    close_lane(&f);
}

static void test_backend_close_null(void **state)
{
    (void)state;
    ih_backend_cpu.lane_close(NULL);
    ih_backend_cpu.stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_by_hand),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_two_valued),
        cmocka_unit_test(test_alternating),
        cmocka_unit_test(test_ramp),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_opaque),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_flaw),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_every_colour_step),
        cmocka_unit_test(test_many_adds),
        cmocka_unit_test(test_folding),
        cmocka_unit_test(test_full_tables),
        cmocka_unit_test(test_backend_kernels),
        cmocka_unit_test(test_backend_best_is_first),
        cmocka_unit_test(test_backend_unknown_kernel),
        cmocka_unit_test(test_backend_no_bands),
        cmocka_unit_test(test_backend_begin_drops),
        cmocka_unit_test(test_backend_growing_bands),
        cmocka_unit_test(test_backend_band_too_large),
        cmocka_unit_test(test_backend_close_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
