/*
 * The SIMD loops for RGB against the reference, with every instruction set of this CPU: differences
 * at and beyond the limits of the pair tables, values that wrap around, clips, runs, folds, and the
 * image size from which pairs are used.
 */
#include "tests/support/test.h"

#include "count/count.h"
#include "tests/support/counted.h"

/* Returns a sample from the one before it in its channel and a new random number. */
typedef unsigned pattern_function(size_t i, unsigned before, uint32_t random);

/* Steps of -16 to 15, which the tables hold; the values wrap around. */
static unsigned pattern_within(size_t i, unsigned before, uint32_t random)
{
    return before + random % 32 - 16;
}

/* The same, with a few steps of -17 or 16, which the tables do not hold. */
static unsigned pattern_edge(size_t i, unsigned before, uint32_t random)
{
    if (random >> 8 & 15)
        return pattern_within(i, before, random);
    return random & 1 ? before - 17 : before + 16;
}

static unsigned pattern_random(size_t i, unsigned before, uint32_t random)
{
    return random;
}

/* Near the ends of the range: many pixels are clipped in one to three channels. */
static unsigned pattern_clipped(size_t i, unsigned before, uint32_t random)
{
    return i / 700 % 2 ? 250 + random % 6 : random % 6;
}

/* Noise with runs of 1 to 60 pixels, at any place in a group. */
static unsigned pattern_runs(size_t i, unsigned before, uint32_t random)
{
    const size_t at = i % 97, length = i / 97 % 61;
    return at > 20 && at < 21 + length ? before : before + random % 5 - 2;
}

static unsigned pattern_constant(size_t i, unsigned before, uint32_t random)
{
    return 255;
}

static pattern_function *const patterns[] = {pattern_within,  pattern_edge, pattern_random,
                                             pattern_clipped, pattern_runs, pattern_constant};
enum { N_PATTERNS = sizeof patterns / sizeof patterns[0] };

/* free() *block, which ends with the last pixel. */
static const uint8_t *make_pixels(pattern_function *pattern, size_t n, size_t offset,
                                  uint8_t **block)
{
    uint32_t random = (uint32_t)n * 2654435761u + 1;
    uint8_t *p = *block = malloc(offset + 3 * n + 1);
    assert_non_null(*block);
    p += offset + 1;
    for (size_t i = 0; i < 3 * n; i++)
        p[i] = (uint8_t)pattern(i / 3, i < 3 ? 128 : p[i - 3], random_next(&random));
    return p;
}

/* Both are the same if this CPU has only one. */
enum { N_LOOPS = 2 };
static const struct ih_count_vectors *vectors_of(unsigned i)
{
    return i == 0 ? ih_count_vectors_base : ih_count_vectors_best();
}

/* The same pixels with alpha, interleaved and with each channel apart. */
static void check_alpha(struct ih_counter *counter, const struct ih_count_spec *rgb_spec,
                        const uint8_t *rgb, size_t n)
{
    struct ih_count_spec spec = *rgb_spec;
    struct ih_histogram expected, got;
    uint8_t *rgba = malloc(4 * n + 1), *planes = malloc(4 * n + 1);
    assert_true(rgba && planes);
    spec.layout.n_channels = 4;
    for (size_t i = 0; i < n; i++) {
        memcpy(rgba + 4 * i, rgb + 3 * i, 3);
        rgba[4 * i + 3] = i / 64 % 2 ? (uint8_t)(i * 37) : 255;
        for (size_t c = 0; c < 4; c++)
            planes[c * n + i] = rgba[4 * i + c];
    }
    const uint8_t *const samples[4] = {planes, planes + n, planes + 2 * n, planes + 3 * n};
    begin(counter, &ih_count_reference, &spec);
    ih_counter_add(counter, rgba, n);
    ih_counter_end(counter, &expected);
    for (unsigned k = 0; k < 2 * N_LOOPS; k++) {
        begin(counter, &ih_count_tables, &spec);
        counter->vectors = vectors_of(k / 2);
        counter->pairs_from_pixels = 0;
        if (k % 2 == 0)
            ih_counter_add(counter, rgba, n);
        else if (counter->vectors->planar)
            ih_counter_add_planar(counter, samples, n);
        ih_counter_end(counter, &got);
        if (k % 2 == 0 || counter->vectors->planar)
            assert_same(&expected, &got);
        else
            ih_histogram_reset(&got);
    }
    ih_histogram_reset(&expected);
    free(planes);
    free(rgba);
}

/* Uses pairs from the first pixel on; adds at most step pixels per call. */
static void check(struct ih_counter *counter, const struct ih_count_spec *spec,
                  pattern_function *pattern, size_t n, size_t offset, size_t step,
                  uint64_t fold_pixels)
{
    struct ih_histogram expected, got;
    uint8_t *block;
    const uint8_t *pixels = make_pixels(pattern, n, offset, &block);
    begin(counter, &ih_count_reference, spec);
    ih_counter_add(counter, pixels, n);
    ih_counter_end(counter, &expected);
    for (unsigned k = 0; k < N_LOOPS; k++) {
        begin(counter, &ih_count_tables, spec);
        counter->vectors = vectors_of(k);
        counter->pairs_from_pixels = 0;
        counter->fold_pixels = fold_pixels;
        for (size_t i = 0; i < n; i += step)
            ih_counter_add(counter, pixels + 3 * i, n - i < step ? n - i : step);
        ih_counter_end(counter, &got);
        assert_same(&expected, &got);
    }
    ih_histogram_reset(&expected);
    if (step >= n)
        check_alpha(counter, spec, pixels, n);
    free(block);
}

TEST(sizes)
{
    static const struct ih_luma_weights *const lumas[] = {&ih_luma_bt709, &ih_luma_none,
                                                          &ih_luma_bt601};
    static const uint8_t clips[][2] = {{0, 255}, {10, 240}, {0, 1}, {127, 128}, {254, 255}};
    struct ih_counter *counter = make_counter();
    for (unsigned c = 0; c < 10; c++) {
        const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8,        IH_BINS,
                                           lumas[c % 3], clips[c / 2][0], clips[c / 2][1]};
        for (unsigned p = 0; p < N_PATTERNS; p++) {
            for (size_t n = 0; n < 70; n++)
                check(counter, &spec, patterns[p], n, n % 16, n + 1, UINT32_MAX);
            check(counter, &spec, patterns[p], 255 * 16, 0, 5000, UINT32_MAX);
            check(counter, &spec, patterns[p], 255 * 32 + 2, 3, 9000, UINT32_MAX);
            check(counter, &spec, patterns[p], 256 * 16 + 5, 1, 9000, UINT32_MAX);
            check(counter, &spec, patterns[p], 20011, 7, 20011, UINT32_MAX);
        }
    }
    free_counter(counter);
}

/* About 40 folds if the limit is low: folding takes most of the time. */
TEST(calls_and_folds)
{
    static const size_t steps[] = {1, 15, 16, 17, 48, 1000};
    static const uint64_t folds[] = {1, 16, 33, 100, 1024, 5003};
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 10, 240};
    struct ih_counter *counter = make_counter();
    for (unsigned p = 0; p < N_PATTERNS; p++) {
        for (unsigned s = 0; s < 6; s++) {
            for (unsigned f = 0; f < 6; f++) {
                const size_t n = folds[f] < 120 ? 163 + 40 * (size_t)folds[f] : 5003;
                check(counter, &spec, patterns[p], n, 0, steps[s], folds[f]);
            }
        }
    }
    free_counter(counter);
}

/* Luma of all colours in steps of 5 in each channel. */
TEST(luma)
{
    const size_t n = 52 * 52 * 52;
    uint8_t *pixels = malloc(3 * n);
    struct ih_counter *counter = make_counter();
    assert_non_null(pixels);
    for (size_t i = 0; i < n; i++) {
        pixels[3 * i] = (uint8_t)(i % 52 * 5);
        pixels[3 * i + 1] = (uint8_t)(i / 52 % 52 * 5);
        pixels[3 * i + 2] = (uint8_t)(i / 52 / 52 * 5);
    }
    for (unsigned k = 0; k < 2 * N_LOOPS; k++) {
        const struct ih_count_spec spec = {
            IH_LAYOUT(3), IH_UINT8, IH_BINS, k % 2 ? &ih_luma_bt601 : &ih_luma_bt709, 0, 255};
        struct ih_histogram expected, got;
        begin(counter, &ih_count_reference, &spec);
        ih_counter_add(counter, pixels, n);
        ih_counter_end(counter, &expected);
        begin(counter, &ih_count_tables, &spec);
        counter->vectors = vectors_of(k / 2);
        ih_counter_add(counter, pixels, n);
        ih_counter_end(counter, &got);
        assert_same(&expected, &got);
        ih_histogram_reset(&expected);
    }
    free_counter(counter);
    free(pixels);
}

/* Small images do not use pairs, and begin forgets the pairs of an abandoned image. */
TEST(from_which_size)
{
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_counter *counter = make_counter();
    struct ih_histogram expected, got;
    uint8_t *block;
    const uint8_t *pixels = make_pixels(pattern_within, 100000, 0, &block);
    begin(counter, &ih_count_tables, &spec);
    ih_counter_add(counter, pixels, 40000);
    assert_false(counter->has_pairs);
    ih_counter_add(counter, pixels + 3 * 40000, 60000);
    assert_true(counter->has_pairs);
    ih_counter_end(counter, &got);
    begin(counter, &ih_count_reference, &spec);
    ih_counter_add(counter, pixels, 100000);
    ih_counter_end(counter, &expected);
    assert_same(&expected, &got);
    ih_histogram_reset(&expected);
    begin(counter, &ih_count_tables, &spec);
    ih_counter_add(counter, pixels, 100000); /* abandoned */
    begin(counter, &ih_count_tables, &spec);
    assert_false(counter->has_pairs);
    ih_counter_end(counter, &got);
    assert_int_equal(got.n_pixels, 0);
    assert_true(ih_histogram_consistent(&got));
    ih_histogram_reset(&got);
    free(block);
    free_counter(counter);
}

/* SIMD counts all pixels except the last few, and AVX2 is built and used on x86-64. */
TEST(which_loops)
{
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_counter *counter = make_counter();
    uint8_t *block;
    const uint8_t *pixels = make_pixels(pattern_random, 1000, 0, &block);
    begin(counter, &ih_count_tables, &spec);
    assert_ptr_equal(counter->vectors, ih_count_vectors_best());
    assert_non_null(ih_count_vectors_base);
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__))
    for (unsigned k = 0; k < N_LOOPS; k++)
        assert_in_range(vectors_of(k)->rgb(counter, pixels, 1000), 1000 - 33, 1000);
#else
    (void)pixels;
#endif
#if defined(__x86_64__)
    assert_non_null(ih_count_vectors_avx2);
    assert_ptr_equal(ih_count_vectors_best(), __builtin_cpu_supports("avx2")
                                                  ? ih_count_vectors_avx2
                                                  : ih_count_vectors_base);
#endif
    free(block);
    free_counter(counter);
}

/* A reported run is never too long, and for colour images it is exact. */
TEST(runs)
{
    struct ih_counter *counter = make_counter();
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        const struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT8, IH_BINS,
                                           &ih_luma_bt709,        0,        255};
        for (size_t n_same = 1; n_same < 50; n_same++) {
            for (size_t n_after = 0; n_after < 12; n_after++) {
                const size_t n_bytes = (n_same + n_after) * n_channels;
                uint8_t *p = malloc(n_bytes);
                assert_non_null(p);
                for (size_t i = 0; i < n_bytes; i++)
                    p[i] = (uint8_t)(i % n_channels);
                if (n_after > 0)
                    p[n_same * n_channels + (n_same + n_after) % n_channels] = 99;
                begin(counter, &ih_count_tables, &spec);
                const size_t n = ih_count_run(counter, p, n_same + n_after, n_channels);
                assert_in_range(n, n_channels >= 3 ? n_same : 1, n_same);
                free(p);
            }
        }
    }
    free_counter(counter);
}
