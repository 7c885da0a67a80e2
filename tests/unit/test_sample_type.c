/* Keys, bins and values of all samples of 8 and 16 bits; the judge decodes floats by arithmetic. */
#include "histogram/histogram.h"
#include "kernels/keys.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

static double decode(enum ih_sample_type type, unsigned bits)
{
    const int n_fraction = type == IH_FLOAT16 ? 10 : 7, bias = type == IH_FLOAT16 ? 15 : 127;
    const int exponent = (int)(bits >> n_fraction & (2u * (unsigned)bias + 1));
    const double fraction = (bits & ((1u << n_fraction) - 1)) / pow(2, n_fraction);
    const double sign = bits >> 15 ? -1 : 1;
    if (type == IH_INT8)
        return bits < 128 ? bits : bits - 256.0;
    if (type == IH_INT16)
        return bits < 32768 ? bits : bits - 65536.0;
    if (exponent == 2 * bias + 1)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign *
           (exponent ? (1 + fraction) * pow(2, exponent - bias) : fraction * pow(2, 1 - bias));
}

TEST(keys_have_the_order_of_values)
{
    static const enum ih_sample_type types[] = {IH_INT8, IH_INT16, IH_FLOAT16, IH_BFLOAT16};
    static uint16_t samples[65537];
    for (unsigned t = 0; t < 4; t++) {
        const enum ih_sample_type type = types[t];
        const unsigned n = type == IH_INT8 ? 256 : 65536;
        uint8_t *const bytes = (uint8_t *)samples + 1; /* no alignment */
        for (unsigned v = 0; v < n; v++)
            if (type == IH_INT8)
                bytes[v] = (uint8_t)v;
            else
                memcpy(bytes + 2 * v, &(uint16_t){(uint16_t)v}, 2);
        ih_keys_make(type, bytes, n);
        for (unsigned v = 0; v < n; v++) {
            uint16_t key;
            memcpy(&key, bytes + 2 * v, 2);
            const unsigned bin = type == IH_INT8 ? bytes[v] : key;
            const double expected = decode(type, v), value = ih_bin_value(type, bin);
            if (!(value == expected || (isnan(value) && isnan(expected))))
                fail_msg("%s %u: %g, not %g", ih_sample_type_name(type), v, value, expected);
            unsigned found = 0;
            if (isfinite(expected)) {
                assert_true(ih_bin_find(type, n, expected, &found));
                assert_int_equal(found, bin);
            }
        }
        double before = -HUGE_VAL;
        for (unsigned bin = 0; bin < n; bin++) {
            const double value = ih_bin_value(type, bin);
            if (isnan(value))
                continue;
            assert_true(value >= before); /* -0 is a bin, but none is counted in it */
            before = value;
        }
    }
}

/* Of float32, whose counter makes the keys, a bin is the upper half of a key. */
TEST(keys_of_the_kernels_are_those_of_the_cpu)
{
    for (unsigned v = 0; v < 65536; v++)
        for (int is_float = 0; is_float < 2; is_float++) {
            const uint32_t other = v * 40503 & 0xffff, inverted = is_float ? IH_KEYS_FLOAT : 0;
            const uint32_t pair = ih_key_pair(other << 16 | v, inverted);
            uint16_t expected[2] = {(uint16_t)v, (uint16_t)other};
            ih_keys_make(is_float ? IH_BFLOAT16 : IH_INT16, expected, 2);
            assert_int_equal(ih_key_bin(pair & 0xffff, inverted), expected[0]);
            assert_int_equal(ih_key_bin(pair >> 16, inverted), expected[1]);
        }
}

TEST(float32_bins)
{
    static const float values[] = {-3e38f, -1, -1e-45f, 0, 1e-45f, 1, 1.5f, 3e38f};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        const uint32_t key = bits >> 31 ? ~bits : bits | 0x80000000;
        const double least = ih_bin_value(IH_FLOAT32, key >> 16);
        assert_true(least <= (double)values[i]);
        assert_true((double)values[i] - least <= fabs((double)values[i]) / 64 + 1e-38);
    }
}

TEST(values_that_no_bin_has)
{
    unsigned bin;
    assert_false(ih_bin_find(IH_INT16, 65536, 0.5, &bin));
    assert_false(ih_bin_find(IH_INT16, 65536, 40000, &bin));
    assert_false(ih_bin_find(IH_UINT8, 256, -1, &bin));
    assert_false(ih_bin_find(IH_FLOAT16, 65536, 0.1, &bin));
    assert_false(ih_bin_find(IH_FLOAT16, 65536, (double)NAN, &bin));
    assert_true(ih_bin_find(IH_FLOAT16, 65536, -0.0, &bin));
    assert_int_equal(bin, 0x8000);
}

/* Pixels that are set apart leave bins and sums, and count as pixels. */
TEST(apart)
{
    const struct ih_count_spec spec = {IH_LAYOUT(1), IH_FLOAT16, 65536, &ih_luma_bt709, 0, 65535};
    struct ih_histogram h, copy;
    struct ih_stats s;
    uint16_t samples[] = {0x7E00, 0xFE01, 0x7C00, 0xFC00, 0x3C00, 0xBC00, 0x8000, 0x4000, 0x4000};
    assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
    ih_keys_make(IH_FLOAT16, samples, 9);
    for (unsigned i = 0; i < 9; i++) {
        ih_bins(&h, 0)[samples[i]]++;
        *ih_sum(&h, 0) += samples[i];
        h.n_pixels++;
    }
    h.any_low = h.all_low = 3;
    assert_true(ih_histogram_consistent(&h));
    ih_histogram_set_apart(&h);
    ih_bins(&h, 0)[0xC000] -= 2; /* the samples 2 */
    *ih_sum(&h, 0) -= 2 * 0xC000;
    ih_specials(&h, 0)[IH_NODATA] += 2;
    assert_true(ih_histogram_consistent(&h));
    assert_int_equal(h.any_low, 0);
    assert_int_equal(ih_histogram_copy(&copy, &h, NULL), IH_OK);
    ih_histogram_add(&copy, &h);
    ih_stats_compute(&copy, 0, &IH_MEASURE_DEFAULT, &s);
    assert_int_equal(s.nan, 4);
    assert_int_equal(s.positive_infinity, 2);
    assert_int_equal(s.negative_infinity, 2);
    assert_int_equal(s.nodata, 4);
    assert_int_equal(s.count, 6);
    assert_true(s.min == -1 && s.max == 1 && s.mean == 0);
    assert_true(fabs(s.stddev - sqrt(2 / 3.0)) < 1e-15);
    ih_histogram_reset(&copy);
    ih_histogram_reset(&h);
}

/* Sums of bins that no block ends with, some blocks of them empty. */
TEST(sums_of_bins)
{
    static const unsigned all_bins[] = {256, 257, 512, 1000, 65535, 65536};
    for (unsigned k = 0; k < 2 * sizeof all_bins / sizeof *all_bins; k++) {
        const unsigned n_bins = all_bins[k / 2];
        const struct ih_count_spec spec = {IH_LAYOUT(2),  IH_UINT16, n_bins,
                                           &ih_luma_none, 0,         (uint16_t)(n_bins - 1)};
        struct ih_histogram h;
        uint64_t sums[2] = {0, 0};
        assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
        for (unsigned v = 0; v < n_bins; v++) {
            const uint64_t n = v / 300 % 2 == k % 2 ? v * UINT64_C(2654435761) % 1000 : 0;
            for (unsigned plane = 0; plane < 2; plane++) { /* in two orders */
                const unsigned bin = plane ? n_bins - 1 - v : v;
                ih_bins(&h, plane)[bin] = n;
                sums[plane] += bin * n;
            }
            h.n_pixels += n;
        }
        ih_histogram_sum_up(&h, false);
        assert_true(h.adds_up);
        assert_memory_equal(h.sums, sums, sizeof sums);
        ih_bins(&h, 1)[n_bins - 1]++;
        ih_histogram_sum_up(&h, false);
        assert_false(h.adds_up);
        ih_histogram_reset(&h);
    }
}

/* All codes, or those of some blocks, counted as they are: their bins move to the keys that each
 * sample has. */
TEST(keys_of_bins)
{
    static const enum ih_sample_type types[] = {IH_INT16, IH_FLOAT16, IH_BFLOAT16};
    static uint64_t expected[65536];
    static uint16_t keys[65536];
    for (unsigned k = 0; k < 5 * sizeof types / sizeof *types; k++) {
        const unsigned t = k / 5, every = 1 + 37 * (k % 5);
        const struct ih_count_spec spec = {IH_LAYOUT(1), types[t], 65536, &ih_luma_none, 0, 65535};
        struct ih_histogram h;
        assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
        memset(expected, 0, sizeof expected);
        for (unsigned v = 0; v < 65536; v++)
            keys[v] = (uint16_t)v;
        ih_keys_make(types[t], keys, 65535); /* blocks, and a rest */
        ih_keys_make(types[t], keys + 65535, 1);
        for (unsigned v = 0; v < 65536; v++) {
            const uint64_t n = v / 128 % every == 0 ? v * UINT64_C(2654435761) % 1000 : 0;
            ih_bins(&h, 0)[v] = n;
            expected[keys[v]] += n;
            h.n_pixels += n;
        }
        ih_histogram_sum_up(&h, true);
        assert_true(h.adds_up);
        h.adds_up = false;
        assert_memory_equal(ih_bins(&h, 0), expected, sizeof expected);
        assert_true(ih_histogram_consistent(&h));
        ih_histogram_reset(&h);
    }
}
