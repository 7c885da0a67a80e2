/*
 * Float32 samples: bins, exact sums, and what is computed from them.
 *
 * The expected sums, means and deviations are those of Python's Fraction over the same samples,
 * which random.h makes from the number of the row. Nothing of them is rounded but the mean and the
 * deviation, once each.
 */
#include "tests/support/test.h"

#include "count/count_float.h"
#include "tests/support/random.h"

#include <math.h>

enum kind {
    UNIFORM,
    ANY,
    LARGE,
    SUBNORMAL,
    OFFSET,
    NEGATIVE,
    CONSTANT,
    EXTREMES,
    ZEROS,
    LEAST,
    KINDS
};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float value_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float sample(enum kind kind, size_t i, uint32_t random)
{
    switch (kind) {
    case UNIFORM:
        return (float)(random >> 8) * 0x1p-24f;
    case ANY:
        return value_of(random & 0xBFFFFFFF);
    case LARGE:
        return value_of((random >> 23 & 0x7F) != 0x7F ? (random & 0xBFFFFFFF) | 0x40000000
                                                      : 0x7F7FFFFF);
    case SUBNORMAL:
        return value_of(random & 0x80FFFFFF);
    case OFFSET:
        return 1e6f + (float)(random >> 28);
    case NEGATIVE:
        return -(float)(random >> 8) * 0x1p-20f;
    case CONSTANT:
        return 0.1f;
    case EXTREMES:
        return value_of(0x7F7FFFFF | (uint32_t)(i % 2) << 31);
    case ZEROS:
        return i % 2 ? -0.0f : 0.0f;
    default:
        return value_of(i % 3 ? 1 : 0x80000001);
    }
}

static const struct row {
    enum kind kind;
    size_t n;
    double mean, deviation;
    const char *members[IH_FLOAT_MEMBERS];
} rows[] = {
    {UNIFORM,
     1,
     0x1.0800000000000p-14,
     0x0.0p+0,
     {"0x21p-19", "0x441p-38", "0x21p-19", "0x21p-19"}},
    {UNIFORM,
     2,
     0x1.0119800000000p-6,
     0x1.fe13000000000p-7,
     {"0x20233p-22", "0x4009045c9p-44", "0x21p-18", "0x20023p-22"}},
    {UNIFORM,
     100000,
     0x1.003388755475ap-1,
     0x1.2810c4cb8863bp-2,
     {"0x30ddd44301p-22", "0x8276be5471b0397p-44", "0x81p-24", "0x7fffefp-23"}},
    {ANY,
     50000,
     -0x1.091a079a9ab88p-12,
     0x1.43712b9f40f0fp-3,
     {"-0xca41abed242ae62f305e498f7a289570e59557p-148",
      "0x9be378b0b5cf28f50276dbaf04f992c94bf6801a8e7a9ec8d32337cad868d5b56b21686c1e56dp-297",
      "-0x7fe743p-22", "0xfed2e7p-23"}},
    {ANY,
     63,
     0x1.6357d752aa489p-8,
     0x1.d5b72e7d96ab7p-5,
     {"0x57729dfd57e7dd39a5e63ae92476e96967761p-148",
      "0x6afeedf8ee6ff916d9e7ce96fcc3fe7929b1df2c7202b4b7f2229052479c97f326ea81887fp-297",
      "-0x3f569p-21", "0x7076f1p-24"}},
    {LARGE,
     5000,
     0x1.efb4ccc375fbfp+120,
     0x1.e572de142c78ap+124,
     {"0x4ba3867e9330c19cf8a1a03a03a829d81375309p-21",
      "0x11a12c9361ba16c6e39b3d9e321ae7c15fb81801641af898d2222482b0beeeb9c30b7e6c45bbp-38",
      "-0x7e46efp105", "0xffffffp104"}},
    {SUBNORMAL,
     3000,
     -0x1.7cbb18ead65b8p-134,
     0x1.25aff06089a09p-126,
     {"-0x45b6c23p-148", "0x7b634fd3ae74dp-291", "-0xfff2b9p-149", "0xff598bp-149"}},
    {OFFSET,
     70001,
     0x1.e848efcacfafbp+19,
     0x1.281cb13b05ddap+2,
     {"0x104c6a7f49p0", "0xf8b27e26d61079p0", "0x3d09p6", "0xf424fp0"}},
    {NEGATIVE,
     4097,
     -0x1.f9b4e3f4c0b3fp+2,
     0x1.2716305659bd7p+2,
     {"-0x1f9d47f43p-18", "0x29db9813aaf2073p-39", "-0x7ff9efp-19", "-0xe83p-20"}},
    {CONSTANT,
     1000,
     0x1.99999a0000000p-4,
     0x0.0p+0,
     {"0x64000019p-24", "0x50000028000005p-51", "0xcccccdp-27", "0xcccccdp-27"}},
    {CONSTANT,
     3,
     0x1.99999a0000000p-4,
     0x0.0p+0,
     {"0x2666667p-27", "0x1eb851fae147bp-54", "0xcccccdp-27", "0xcccccdp-27"}},
    {EXTREMES,
     129,
     0x1.fc07ee23b88eep+120,
     0x1.fffc0dcca20e0p+127,
     {"0xffffffp104", "0x80fffefe000081p208", "-0xffffffp104", "0xffffffp104"}},
    {ZEROS, 65, 0x0.0p+0, 0x0.0p+0, {"0x0p0", "0x0p0", "0x0p0", "0x0p0"}},
    {LEAST,
     640,
     0x1.5333333333333p-151,
     0x1.e3181239fd280p-150,
     {"0x35p-147", "0x5p-291", "-0x1p-149", "0x1p-149"}},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static float *samples_of(const struct row *row)
{
    uint32_t state = (uint32_t)(row - rows) + 1;
    float *samples = malloc(row->n * sizeof *samples);
    assert_non_null(samples);
    for (size_t i = 0; i < row->n; i++)
        samples[i] = sample(row->kind, i, random_next(&state));
    return samples;
}

/* The counts of samples of one channel. */
struct counted {
    uint64_t bins[IH_FLOAT_BINS];
    struct ih_float_sums sums;
    uint64_t specials[IH_SPECIALS];
};

static void begin(struct ih_float_channel *c, struct counted *out)
{
    memset(out, 0, sizeof *out);
    out->sums = IH_FLOAT_SUMS_EMPTY;
    assert_int_equal(ih_float_channel_begin(c, out->bins, &out->sums, out->specials, NULL), IH_OK);
}

static void count(const float *samples, size_t n, struct counted *out)
{
    struct ih_float_channel c = {.cells = NULL};
    begin(&c, out);
    ih_float_channel_add(&c, samples, n, sizeof *samples);
    ih_float_channel_end(&c);
    ih_float_channel_reset(&c);
}

static void assert_same(const struct counted *a, const struct counted *b)
{
    assert_memory_equal(a->bins, b->bins, sizeof a->bins);
    assert_memory_equal(&a->sums, &b->sums, sizeof a->sums);
    assert_memory_equal(a->specials, b->specials, sizeof a->specials);
}

/* The bin by the signs and the magnitudes, without keys. */
static unsigned bin_of(float v)
{
    return v == 0 ? 32768 : v > 0 ? 32768 + (bits_of(v) >> 16) : 32767 - (bits_of(-v) >> 16);
}

static void assert_double(double got, double expected)
{
    if (memcmp(&got, &expected, sizeof got) != 0)
        fail_msg("%a, expected %a", got, expected);
}

static struct counted got, whole, part; /* large */

TEST(exact_sums)
{
    for (const struct row *row = rows; row < rows + N_ROWS; row++) {
        static uint64_t bins[IH_FLOAT_BINS];
        float *samples = samples_of(row);
        count(samples, row->n, &got);
        for (unsigned m = 0; m < IH_FLOAT_MEMBERS; m++) {
            char text[IH_FLOAT_TEXT_MAX];
            char *end = ih_float_sums_print(text, &got.sums, (enum ih_float_member)m);
            assert_string_equal(text, row->members[m]);
            assert_int_equal(end - text, strlen(text));
        }
        assert_double(ih_float_mean(&got.sums, row->n), row->mean);
        assert_double(ih_float_deviation(&got.sums, row->n), row->deviation);
        assert_true(ih_float_sums_fit(&got.sums, got.bins));
        memset(bins, 0, sizeof bins);
        for (size_t i = 0; i < row->n; i++)
            bins[bin_of(samples[i])]++;
        assert_memory_equal(got.bins, bins, sizeof bins);
        free(samples);
    }
}

/* Any grouping, in any order, gives the same bytes. */
TEST(groupings)
{
    for (const struct row *row = rows; row < rows + N_ROWS; row++) {
        float *samples = samples_of(row);
        count(samples, row->n, &whole);
        for (unsigned round = 0; round < 5; round++) {
            struct counted sum = {.sums = IH_FLOAT_SUMS_EMPTY};
            for (size_t i = 0, n; i < row->n; i += n) {
                n = 1 + next_random() % (row->n / 3 + 1);
                n = n < row->n - i ? n : row->n - i;
                count(samples + row->n - i - n, n, &part); /* from the end */
                for (unsigned b = 0; b < IH_FLOAT_BINS; b++)
                    sum.bins[b] += part.bins[b];
                ih_float_sums_add(&sum.sums, &part.sums);
            }
            assert_same(&sum, &whole);
        }
        free(samples);
    }
}

/* Rows of an image come in several calls, with any alignment, and bands next to each other. */
TEST(calls_and_strides)
{
    struct ih_float_channel c = {.cells = NULL};
    const struct row *const row = &rows[4];
    enum { STRIDE = 13 };
    float *samples = samples_of(row);
    char *apart = malloc(row->n * STRIDE + 1);
    assert_non_null(apart);
    for (size_t i = 0; i < row->n; i++)
        memcpy(apart + 1 + i * STRIDE, &samples[i], sizeof *samples);
    count(samples, row->n, &whole);
    begin(&c, &got);
    for (size_t i = 0; i < row->n; i++)
        ih_float_channel_add(&c, samples + i, 1, sizeof *samples);
    ih_float_channel_end(&c);
    assert_same(&got, &whole);
    begin(&c, &got);
    ih_float_channel_add(&c, apart + 1, row->n, STRIDE);
    ih_float_channel_end(&c);
    assert_same(&got, &whole);
    begin(&c, &got);
    ih_float_channel_add(&c, samples + row->n - 1, row->n, -(ptrdiff_t)sizeof *samples);
    ih_float_channel_end(&c);
    assert_same(&got, &whole);
    begin(&c, &got); /* an image that ended early leaves nothing behind */
    ih_float_channel_add(&c, samples, 20, sizeof *samples);
    begin(&c, &got);
    ih_float_channel_add(&c, samples, row->n, sizeof *samples);
    ih_float_channel_end(&c);
    assert_same(&got, &whole);
    ih_float_channel_reset(&c);
    free(apart);
    free(samples);
}

/* More equal samples than a cell holds. */
TEST(many_samples)
{
    enum { N = 1 << 16, TIMES = 600 };
    struct ih_float_channel c = {.cells = NULL};
    float *samples = malloc(N * sizeof *samples);
    assert_non_null(samples);
    for (unsigned i = 0; i < N; i++)
        samples[i] = value_of(i % 2 ? 0x3F80FFFF : 0xBF80FFFE);
    begin(&c, &got);
    for (unsigned i = 0; i < TIMES; i++)
        ih_float_channel_add(&c, samples, N, sizeof *samples);
    ih_float_channel_end(&c);
    count(samples, N, &part);
    memset(&whole, 0, sizeof whole);
    whole.sums = IH_FLOAT_SUMS_EMPTY;
    for (unsigned i = 0; i < TIMES; i++) {
        for (unsigned b = 0; b < IH_FLOAT_BINS; b++)
            whole.bins[b] += part.bins[b];
        ih_float_sums_add(&whole.sums, &part.sums);
    }
    assert_same(&got, &whole);
    assert_int_equal(got.bins[bin_of(1)], (uint64_t)N / 2 * TIMES);
    assert_true(ih_float_sums_fit(&got.sums, got.bins));
    ih_float_channel_reset(&c);
    free(samples);
}

/* 37 times each of eight samples. */
TEST(not_in_bins)
{
    float samples[300];
    const float some[] = {NAN, INFINITY, -INFINITY, -9999, 0.0f, -0.0f, -NAN, 3};
    uint64_t n_binned = 0;
    for (unsigned i = 0; i < 300; i++)
        samples[i] = some[i % 8];
    samples[0] = value_of(0x7F800001); /* the first NaN, and the last */
    samples[8] = value_of(0xFFFFFFFF);
    count(samples, 296, &got);
    for (unsigned b = 0; b < IH_FLOAT_BINS; b++)
        n_binned += got.bins[b];
    assert_int_equal(got.specials[IH_NAN], 74);
    assert_int_equal(got.specials[IH_POSITIVE_INFINITY], 37);
    assert_int_equal(got.specials[IH_NEGATIVE_INFINITY], 37);
    assert_int_equal(n_binned, 148);
    assert_double(ih_float_mean(&got.sums, 148), -9996.0 / 4);
}

TEST(no_finite_samples)
{
    const float samples[] = {NAN, INFINITY};
    const struct ih_float_sums empty = IH_FLOAT_SUMS_EMPTY;
    count(samples, 2, &got);
    assert_memory_equal(&got.sums, &empty, sizeof empty);
    count(samples, 0, &got);
    assert_memory_equal(&got.sums, &empty, sizeof empty);
    assert_false(ih_float_sums_fit(&got.sums, got.bins));
}

/* Keys have the order of the values. */
TEST(keys)
{
    static const float values[] = {-0x1.FFFFFEp127f, -1, -0x1p-126f, -0x1p-149f,     0,
                                   0x1p-149f,        1,  1.0000001f, 0x1.FFFFFEp127f};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        const uint32_t key = ih_float_key(bits_of(values[i]));
        assert_true(ih_float_value(key) == values[i]);
        assert_true(i == 0 || key > ih_float_key(bits_of(values[i - 1])));
    }
    assert_int_equal(ih_float_key(bits_of(-0.0f)), ih_float_key(0));
    assert_int_equal(ih_float_key(bits_of(values[0])), IH_FLOAT_KEY_FIRST);
    assert_int_equal(ih_float_key(bits_of(values[8])), IH_FLOAT_KEY_LAST);
}

/* A percentile is the least value of its bin, but not below the least sample. */
TEST(values_of_bins)
{
    const float samples[] = {1.003f, 1.5001f, -1.003f};
    count(samples, 2, &got);
    assert_int_equal(bits_of(ih_float_bin_value(&got.sums, bin_of(1.003f))), bits_of(1.003f));
    assert_int_equal(bits_of(ih_float_bin_value(&got.sums, bin_of(1.5001f))), bits_of(1.5f));
    count(samples, 3, &got);
    assert_int_equal(bits_of(ih_float_bin_value(&got.sums, bin_of(1.003f))), bits_of(1));
    assert_int_equal(bits_of(ih_float_bin_value(&got.sums, bin_of(-1.003f))), bits_of(-1.003f));
    assert_int_equal(bits_of(ih_float_bin_value(&got.sums, 32768)), 0);
}

/* ---- in records ---- */

TEST(printed_and_parsed)
{
    for (const struct row *row = rows; row < rows + N_ROWS; row++) {
        struct ih_float_sums again;
        float *samples = samples_of(row);
        memset(&again, 0xA5, sizeof again);
        count(samples, row->n, &got);
        for (unsigned m = 0; m < IH_FLOAT_MEMBERS; m++)
            assert_true(ih_float_sums_parse(&again, (enum ih_float_member)m, row->members[m]));
        assert_memory_equal(&again, &got.sums, sizeof again);
        free(samples);
    }
}

/* One number has one text. */
TEST(texts_that_are_refused)
{
    static const char *const texts[] = {
        "",         "0",       "0x",     "0x0",    "0xp0",    "0x0p1",     "-0x0p0",
        "0x2p0",    "0x01p0",  "0x1p",   "0x1p+0", "0x1p00",  " 0x1p0",    "0x1p0 ",
        "0X1p0",    "0x1P0",   "+0x1p0", "0x1Ap0", "0x1.8p0", "0x1p99999", "0x1p0x",
        "0x1p1000", "--0x1p0", "nan",    "inf",    "0x1p-999"};
    static const char *const not_float[] = {"0x1000001p0", "0x1p-150", "0x1ffffffp104", "0x1p300"};
    struct ih_float_sums sums;
    char digits[400];
    for (unsigned m = 0; m < IH_FLOAT_MEMBERS; m++)
        for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
            if (ih_float_sums_parse(&sums, (enum ih_float_member)m, texts[i]))
                fail_msg("%u: %s", m, texts[i]);
    for (unsigned i = 0; i < sizeof not_float / sizeof *not_float; i++) {
        assert_false(ih_float_sums_parse(&sums, IH_FLOAT_MIN, not_float[i]));
        assert_false(ih_float_sums_parse(&sums, IH_FLOAT_MAX, not_float[i]));
    }
    assert_false(ih_float_sums_parse(&sums, IH_FLOAT_SQUARES, "-0x1p0"));
    assert_true(ih_float_sums_parse(&sums, IH_FLOAT_SQUARES, "0x1p-298"));
    assert_false(ih_float_sums_parse(&sums, IH_FLOAT_SUM, "0x1p-150"));
    memset(digits, 'f', sizeof digits);
    memcpy(digits, "0x", 2);
    memcpy(digits + sizeof digits - 5, "p-99", 5);
    assert_false(ih_float_sums_parse(&sums, IH_FLOAT_SQUARES, digits));
    assert_false(ih_float_sums_parse(&sums, IH_FLOAT_SUM, digits));
}

static bool fits(const struct ih_float_sums *sums, enum ih_float_member member, const char *text)
{
    struct ih_float_sums changed = *sums;
    assert_true(ih_float_sums_parse(&changed, member, text));
    return ih_float_sums_fit(&changed, got.bins);
}

/* The samples are -3, 1 and 2, each alone in its bin. */
TEST(sums_that_fit_the_bins)
{
    const float samples[] = {1, -3, 2};
    count(samples, 3, &got);
    const struct ih_float_sums *const sums = &got.sums;
    assert_true(fits(sums, IH_FLOAT_SUM, "0x0p0"));
    assert_true(fits(sums, IH_FLOAT_SUM, "0x1p-10"));
    assert_false(fits(sums, IH_FLOAT_SUM, "0x1p0"));
    assert_false(fits(sums, IH_FLOAT_SUM, "-0x1p0"));
    assert_true(fits(sums, IH_FLOAT_SQUARES, "0x7p1"));
    assert_false(fits(sums, IH_FLOAT_SQUARES, "0xdp0"));
    assert_false(fits(sums, IH_FLOAT_SQUARES, "0xfp0"));
    assert_false(fits(sums, IH_FLOAT_MIN, "-0x1p1"));
    assert_false(fits(sums, IH_FLOAT_MAX, "0x3p0"));
    assert_false(fits(sums, IH_FLOAT_MAX, "0x1p128")); /* infinity */
    assert_false(fits(sums, IH_FLOAT_MIN, "0x1p2"));
    got.bins[0xFF80] = 1; /* infinity's */
    assert_false(ih_float_sums_fit(sums, got.bins));
    got.bins[0xFF80] = 0;
    got.bins[0x8000] = UINT64_MAX; /* more samples than 64 bits hold */
    assert_false(ih_float_sums_fit(sums, got.bins));
}

/* No samples have less squares than their sum demands. */
TEST(impossible_variance)
{
    float samples[100];
    for (unsigned i = 0; i < 100; i++)
        samples[i] = i % 2 ? 1.001f : 1.007f;
    count(samples, 100, &got);
    const struct ih_float_sums real = got.sums;
    count(samples, 1, &got); /* 100 times the least would have these squares */
    got.bins[bin_of(1)] = 100;
    struct ih_float_sums forged = real;
    ih_float_sums_parse(&forged, IH_FLOAT_SQUARES, "0x19p2");
    assert_true(ih_float_sums_fit(&real, got.bins));
    assert_false(ih_float_sums_fit(&forged, got.bins));
}

/* Sums of more than 2^63 samples. */
TEST(huge_counts)
{
    const float samples[] = {0x1.FFFFFEp127f, 0x1.FFFFFEp127f};
    count(samples, 2, &got);
    for (unsigned i = 0; i < 62; i++) {
        const struct ih_float_sums half = got.sums;
        ih_float_sums_add(&got.sums, &half);
    }
    got.bins[0xFF7F] = UINT64_C(1) << 63;
    assert_true(ih_float_sums_fit(&got.sums, got.bins));
    assert_double(ih_float_mean(&got.sums, UINT64_C(1) << 63), 0x1.FFFFFEp127);
    assert_double(ih_float_deviation(&got.sums, UINT64_C(1) << 63), 0);
}
