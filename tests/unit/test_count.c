/*
 * The fast method of counting on the CPU against the reference, and the reference against counts
 * worked out by hand. Allocations end with the last pixel, so the address sanitizer catches reads
 * past it.
 */
#include "tests/support/test.h"

#include "count/count.h"
#include "tests/support/counted.h"

/* Returns the sample of pixel i, channel c; random is a new random number. */
typedef uint8_t pattern_function(size_t i, unsigned c, uint32_t random);

static uint8_t pattern_random(size_t i, unsigned c, uint32_t random)
{
    return (uint8_t)(random >> 24);
}

/* Random colours, opaque except for a few pixels. */
static uint8_t pattern_opaque(size_t i, unsigned c, uint32_t random)
{
    if (c == 1 || c == 3)
        return i % 101 == 57 ? 0 : 255;
    return (uint8_t)(random >> 24);
}

/* Runs of 1 to 97 pixels, at any place in a word. */
static uint8_t pattern_runs(size_t i, unsigned c, uint32_t random)
{
    size_t run = i / 97 * 3 + (i % 97 > 30) + (i % 97 > 47);
    if (i % 97 == 90)
        return (uint8_t)(251 + c);
    return (uint8_t)(run * 37 + c);
}

/* Constant, with one sample of every 64 pixels off by one bit, at changing places. */
static uint8_t pattern_flaw(size_t i, unsigned c, uint32_t random)
{
    size_t stretch = i / 64;
    return (uint8_t)(i % 64 == stretch % 64 && c == stretch % 3 ? 65 : 64);
}

/* Only the values next to the clip limits. */
static uint8_t pattern_edges(size_t i, unsigned c, uint32_t random)
{
    static const uint8_t edges[8] = {0, 1, 10, 11, 239, 240, 254, 255};
    return edges[random >> 29];
}

/* Makes n pixels, starting offset bytes into an allocation. free() *block. */
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

static void check(pattern_function *pattern, size_t n, size_t offset,
                  const struct ih_count_spec *spec)
{
    struct ih_histogram expected, got;
    uint8_t *block;
    const uint8_t *pixels = make_pixels(pattern, n, spec->layout.n_channels, offset, &block);
    count_with(&ih_count_reference, spec, pixels, n, &expected);
    count_with(&ih_count_tables, spec, pixels, n, &got);
    assert_same(&expected, &got);
    ih_histogram_reset(&expected);
    free(block);
}

static const uint8_t clip_pairs[][2] = {{0, 255}, {10, 240}, {0, 1}, {254, 255}, {127, 128}};
enum { N_CLIP_PAIRS = sizeof clip_pairs / sizeof clip_pairs[0] };

/* Checks a pattern with every number of channels, two luma weights and none, and all clip pairs. */
static void check_pattern(pattern_function *pattern)
{
    static const size_t sizes[] = {0,  1,  2,  3,  5,  7,  8,   9,   11,  13,   16,  17,
                                   19, 23, 31, 32, 33, 61, 127, 509, 512, 1009, 4099};
    static const struct ih_luma_weights *const lumas[] = {&ih_luma_bt709, &ih_luma_bt601,
                                                          &ih_luma_none};
    for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++) {
        for (unsigned i = 0; i < 3 * N_CLIP_PAIRS; i++) {
            const uint8_t *clip = clip_pairs[i / 3];
            struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT8, IH_BINS,
                                         lumas[i % 3],          clip[0],  clip[1]};
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                check(pattern, sizes[s], 0, &spec);
        }
    }
}

TEST(reference_by_hand)
{
    static const uint8_t pixels[] = {0, 0,   0, 255, 255, 255, 255, 0,
                                     0, 128, 9, 10,  200, 240, 241, 3};
    const struct ih_count_spec rgb = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 10, 240};
    const struct ih_count_spec rgba = {IH_LAYOUT(4), IH_UINT8, IH_BINS, &ih_luma_bt601, 10, 240};
    struct ih_histogram h;
    /* (0,0,0) (255,255,255) (255,0,0) (128,9,10) (200,240,241) */
    count_with(&ih_count_reference, &rgb, pixels, 5, &h);
    assert_int_equal(ih_bins(&h, 0)[255], 2);
    assert_int_equal(ih_bins(&h, 1)[0], 2);
    assert_int_equal(ih_bins(&h, 2)[241], 1);
    assert_int_equal(*ih_sum(&h, 0), 0 + 255 + 255 + 128 + 200);
    assert_int_equal(ih_bins(&h, IH_LUMA)[0], 1);
    assert_int_equal(ih_bins(&h, IH_LUMA)[54], 1);  /* 0.2126 * 255 = 54.2 */
    assert_int_equal(ih_bins(&h, IH_LUMA)[34], 1);  /* 27.2 + 6.4 + 0.7 = 34.4 */
    assert_int_equal(ih_bins(&h, IH_LUMA)[232], 1); /* 42.5 + 171.6 + 17.4 = 231.6 */
    assert_int_equal(ih_bins(&h, IH_LUMA)[255], 1);
    assert_int_equal(h.any_low, 3);
    assert_int_equal(h.all_low, 1);
    assert_int_equal(h.any_high, 3);
    assert_int_equal(h.all_high, 1);
    ih_histogram_reset(&h);
    /* (0,0,0,255) (255,255,255,0) (0,128,9,10) (200,240,241,3): alpha clips nothing */
    count_with(&ih_count_reference, &rgba, pixels, 4, &h);
    assert_int_equal(ih_bins(&h, 3)[10], 1);
    assert_int_equal(ih_bins(&h, IH_LUMA)[76], 1); /* 0.587 * 128 + 0.114 * 9 = 76.2 */
    assert_int_equal(h.any_low, 2);
    assert_int_equal(h.all_low, 1);
    assert_int_equal(h.any_high, 2);
    assert_int_equal(h.all_high, 1);
    ih_histogram_reset(&h);
}

#define PATTERN_TEST(name)             \
    TEST(name)                         \
    {                                  \
        check_pattern(pattern_##name); \
    }
PATTERN_TEST(opaque)
PATTERN_TEST(runs)
PATTERN_TEST(flaw)
PATTERN_TEST(edges)

/* Every value of every channel, and so every weight, with many clip pairs. */
TEST(every_colour_step)
{
    for (unsigned low = 0; low < 255; low += 15) {
        const struct ih_count_spec spec = {IH_LAYOUT(3),   IH_UINT8,     IH_BINS,
                                           &ih_luma_bt601, (uint8_t)low, (uint8_t)(low + 15)};
        check(pattern_random, 20011, 0, &spec);
        check(pattern_edges, 1009, 0, &spec);
    }
}

/* The real limit: more pixels arrive after 2^32 - 1 black ones. */
TEST(full_tables)
{
    static const uint8_t black[100 * 4];
    struct ih_counter *counter = make_counter();
    for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++) {
        const struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT8, IH_BINS,
                                           &ih_luma_bt709,        0,        255};
        struct ih_histogram got;
        begin(counter, &ih_count_tables, &spec);
        assert_int_equal(counter->fold_pixels, UINT32_MAX);
        ih_counter_add(counter, black, 100);
        /* Pretend that the first table of each plane has counted the others. */
        uint32_t missing = UINT32_MAX - 100 - 30;
        for (unsigned c = 0; c < n_channels; c++)
            counter->subtables[c * ih_count_subtables_each(n_channels)][0] += missing;
        counter->luma[0][0] += missing;
        if (n_channels >= 3)
            counter->totals.any_low = counter->totals.all_low = missing + 100;
        counter->n_unfolded += missing;
        counter->totals.n_pixels += missing;
        ih_counter_add(counter, black, 100);
        ih_counter_end(counter, &got);
        assert_true(ih_histogram_consistent(&got));
        assert_int_equal(ih_bins(&got, n_channels - 1)[0], (uint64_t)UINT32_MAX + 70);
        assert_int_equal(got.all_low, (uint64_t)UINT32_MAX + 70);
        ih_histogram_reset(&got);
    }
    free_counter(counter);
}

/* Pixels that are noise, smooth, in turn, or of two values: whole images and rows, interleaved and
 * planar, by each instruction set, with and without the search for noise. */
TEST(noise_and_few_tables)
{
    enum { N = 150001, N_ROW = 997, N_KINDS = 4, N_WAYS = 16 };
    uint8_t *const pixels = malloc((size_t)IH_PIXEL_CHANNELS_MAX * N);
    uint8_t *const planes = malloc((size_t)IH_PIXEL_CHANNELS_MAX * N);
    struct ih_counter *const counter = make_counter();
    struct ih_histogram expected, got;
    uint32_t random = 1;
    assert_true(pixels && planes);
    for (unsigned i = 0; i < N_KINDS * 2 * IH_PIXEL_CHANNELS_MAX; i++) {
        const unsigned kind = i % N_KINDS, n_channels = i / N_KINDS / 2 + 1;
        const struct ih_luma_weights *luma = i / N_KINDS % 2 ? &ih_luma_bt709 : &ih_luma_none;
        const struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT8, IH_BINS, luma, 10, 240};
        for (size_t k = 0; k < (size_t)n_channels * N; k++) {
            const unsigned noise = random_next(&random) >> 24;
            const bool is_noise = kind == 0 || (kind == 2 && k / 70000 % 2 == 0);
            pixels[k] = (uint8_t)(is_noise ? noise : kind == 3 ? noise & 1 : k / 1000);
            planes[k % n_channels * N + k / n_channels] = pixels[k];
        }
        count_with(&ih_count_reference, &spec, pixels, N, &expected);
        for (unsigned way = 0; way < N_WAYS; way++) {
            const size_t n_each = way & 1 ? N_ROW : N;
            begin(counter, &ih_count_tables, &spec);
            counter->finds_noise = way & 2;
            counter->vectors = way & 4 ? ih_count_vectors_base : ih_count_vectors_best();
            const bool is_planar = way & 8 && n_channels >= 3 && counter->vectors->planar;
            for (size_t done = 0, n; done < N; done += n) {
                const uint8_t *const at[IH_PIXEL_CHANNELS_MAX] = {planes + done, planes + N + done,
                                                                  planes + (size_t)2 * N + done,
                                                                  planes + (size_t)3 * N + done};
                n = n_each < N - done ? n_each : N - done;
                if (is_planar)
                    ih_counter_add_planar(counter, at, n);
                else
                    ih_counter_add(counter, pixels + done * n_channels, n);
            }
            if (kind != 2)
                assert_int_equal(counter->is_noise, counter->finds_noise && kind == 0);
            ih_counter_end(counter, &got);
            assert_same(&expected, &got);
        }
        ih_histogram_reset(&expected);
    }
    free_counter(counter);
    free(planes);
    free(pixels);
}

/* Counts of an image that failed leave their memory to the next image, but not their type. */
TEST(type_after_a_failure)
{
    static struct ih_counter counter;
    struct ih_count_spec spec = {IH_LAYOUT(1), IH_INT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_error err;
    assert_int_equal(ih_counter_begin(&counter, &ih_count_tables, &spec, &err), IH_OK);
    spec.type = IH_UINT8;
    assert_int_equal(ih_counter_begin(&counter, &ih_count_tables, &spec, &err), IH_OK);
    assert_int_equal(counter.totals.type, IH_UINT8);
    ih_histogram_reset(&counter.totals);
}
