/* Histograms and their statistics, and totals, against brute force and near the end of 64 bits. */
#include "tests/support/test.h"

#include "histogram/total.h"
#include "tests/support/histograms.h"
#include <math.h>

/* ---- one histogram ---- */

static const struct ih_count_spec gray_spec = {IH_LAYOUT(1),   IH_UINT8, IH_BINS,
                                               &ih_luma_bt709, 3,        250};
static const struct ih_measure gray_measure = {
    .luma = &ih_luma_bt709, .clip_low = 3, .clip_high = 250};

static int compare_bytes(const void *a, const void *b)
{
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* The statistics that describe which values occur, from the sorted list. */
static void check_values(const struct ih_stats *s, const uint64_t bins[IH_BINS],
                         const uint8_t *values, size_t n)
{
    unsigned mode = values[0], distinct = 0, step = 0, otsu = values[0];
    double largest = 0;
    for (unsigned v = 0; v < IH_BINS; v++) {
        if (bins[v] == 0)
            continue;
        distinct++;
        mode = bins[v] > bins[mode] ? v : mode;
        double size = 0, sum = 0, all = 0;
        for (size_t i = 0; i < n; i++) {
            size += values[i] <= v;
            sum += values[i] <= v ? values[i] : 0;
            all += values[i];
        }
        const double rest = (double)n - size, d = rest > 0 ? sum / size - (all - sum) / rest : 0;
        if (size * rest * d * d > largest * (1 + 1e-9)) {
            largest = size * rest * d * d;
            otsu = v;
        }
    }
    for (unsigned k = values[n - 1] - values[0]; k > 0 && !step; k--) {
        bool divides = true;
        for (size_t i = 0; i < n; i++)
            divides = divides && (values[i] - values[0]) % k == 0;
        step = divides ? k : 0;
    }
    assert_int_equal(s->mode, mode);
    assert_true(fabs(s->mode_share - (double)bins[mode] / (double)n) < 1e-12);
    assert_int_equal(s->distinct, distinct);
    assert_int_equal(s->step, step);
    assert_int_equal(s->otsu, otsu);
}

/* Compares the bins and all statistics of a plane with their definitions, applied to the list of
 * its values, which is sorted. */
static void check_plane(const struct ih_histogram *h, unsigned plane,
                        const struct ih_measure *measure, uint8_t *values, size_t n)
{
    struct ih_stats s;
    uint64_t sum = 0, low = 0, high = 0, bins[IH_BINS] = {0};
    double squares = 0, cubes = 0, fourths = 0, entropy = 0;
    for (size_t i = 0; i < n; i++) {
        bins[values[i]]++;
        sum += values[i];
        low += values[i] <= measure->clip_low;
        high += values[i] >= measure->clip_high;
    }
    const double mean = (double)sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += pow(values[i] - mean, 2);
        cubes += pow(values[i] - mean, 3);
        fourths += pow(values[i] - mean, 4);
        entropy -= log2((double)bins[values[i]] / (double)n) / (double)n;
    }
    qsort(values, n, 1, compare_bytes);
    ih_stats_compute(h, plane, measure, &s);
    assert_memory_equal(ih_bins(h, plane), bins, sizeof bins);
    assert_int_equal(s.count, n);
    assert_int_equal(s.sum, sum);
    assert_true(fabs(s.mean - mean) < 1e-9);
    assert_true(fabs(s.stddev - sqrt(squares / (double)n)) < 1e-9);
    assert_true(fabs(s.entropy - entropy) < 1e-9 && s.entropy >= 0);
    assert_int_equal(s.min, values[0]);
    assert_int_equal(s.max, values[n - 1]);
    assert_int_equal(s.crushed, low);
    assert_int_equal(s.blown, high);
    for (int k = 0; k < IH_PERCENTILES; k++) /* smallest value with >= p n values up to it */
        assert_int_equal(s.percentile[k], values[(n * ih_percentile_ranks[k] + 99) / 100 - 1]);
    for (uint32_t m = 0; m <= 100000000; m += 12500000) /* 12.5 %; 0 is the smallest value */
        assert_int_equal(ih_percentile(h, plane, m),
                         values[m ? (n * (m / 12500000) + 7) / 8 - 1 : 0]);
    check_values(&s, bins, values, n);
    if (values[0] == values[n - 1]) {
        assert_true(isnan(s.skewness) && isnan(s.kurtosis));
        return;
    }
    assert_true(fabs(s.skewness - cubes / pow(squares, 1.5) * sqrt((double)n)) < 1e-9);
    assert_true(fabs(s.kurtosis - fourths / squares / squares * (double)n + 3) < 1e-7);
}

static void check_gray(uint8_t *values, size_t n)
{
    struct ih_histogram h = make_histogram(1);
    uint64_t low = 0, high = 0;
    h.n_pixels = n;
    for (size_t i = 0; i < n; i++) {
        add_values(&h, 0, values[i], 1);
        low += values[i] <= gray_spec.clip_low;
        high += values[i] >= gray_spec.clip_high;
    }
    ih_histogram_derive(&h, &gray_spec);
    assert_true(ih_histogram_consistent(&h));
    assert_int_equal(h.any_low, low);
    assert_int_equal(h.all_high, high);
    check_plane(&h, 0, &gray_measure, values, n);
    check_plane(&h, IH_LUMA, &gray_measure, values, n);
    ih_histogram_reset(&h);
}

TEST(stats_against_brute_force)
{
    uint8_t values[1009];
    uint32_t random = 1;
    for (size_t n = 1; n <= sizeof values; n += n < 210 ? 1 : 97)
        for (unsigned shift = 0; shift < 8; shift += 3) {
            for (size_t i = 0; i < n; i++) {
                random = random * 1664525u + 1013904223u;
                values[i] = (uint8_t)(random >> 24 >> shift << shift / 2);
            }
            check_gray(values, n);
        }
}

/* Percentiles must not overflow or round when 100 * count exceeds 64 bits. */
TEST(percentiles_of_large_counts)
{
    const uint64_t n = (UINT64_C(1) << 60) + 44; /* a multiple of 20 */
    assert_int_equal(n % 20, 0);
    for (int more = 0; more < 2; more++) {
        struct ih_histogram h = make_histogram(1);
        struct ih_stats s;
        h.n_pixels = n;
        ih_bins(&h, 0)[10] = n / 20 - 1 + (uint64_t)more; /* p05 needs n / 20 */
        ih_bins(&h, 0)[11] = n / 2 - n / 20;
        ih_bins(&h, 0)[200] = n - ih_bins(&h, 0)[10] - ih_bins(&h, 0)[11];
        ih_stats_compute(&h, 0, &gray_measure, &s);
        assert_int_equal(s.percentile[0], 10);
        assert_int_equal(s.percentile[1], more ? 10 : 11);
        assert_int_equal(s.percentile[3], more ? 11 : 200);
        assert_int_equal(s.percentile[6], 200);
        assert_int_equal(s.count, n);
        ih_histogram_reset(&h);
    }
}

TEST(stats_without_pixels)
{
    struct ih_histogram h = make_histogram(3);
    struct ih_stats s;
    assert_true(ih_histogram_consistent(&h));
    ih_stats_compute(&h, IH_LUMA, &gray_measure, &s);
    assert_true(isnan(s.mean) && isnan(s.stddev) && isnan(s.entropy));
    assert_int_equal(s.min + s.max + s.percentile[3], 0);
    assert_true(isnan(ih_mean_luminance(&h)));
    ih_histogram_reset(&h);
}

TEST(add_and_consistency)
{
    struct ih_histogram a = make_histogram(1), b;
    a.n_pixels = 2;
    add_values(&a, 0, 7, 2);
    a.any_low = 1;
    assert_int_equal(ih_histogram_copy(&b, &a, NULL), IH_OK);
    ih_histogram_add(&a, &b);
    assert_true(ih_histogram_consistent(&a));
    assert_int_equal(a.n_pixels, 4);
    assert_int_equal(ih_bins(&a, IH_LUMA)[7], 4);
    assert_int_equal(*ih_sum(&a, IH_LUMA), 28);
    assert_int_equal(a.any_low, 2);
    ih_bins(&a, 0)[8]++; /* one pixel too many */
    assert_false(ih_histogram_consistent(&a));
    ih_bins(&a, 0)[8]--;
    a.sums[0]++;
    assert_false(ih_histogram_consistent(&a));
    a.sums[0]--;
    assert_true(ih_histogram_consistent(&a));
    a.all_high = 1; /* more than any */
    assert_false(ih_histogram_consistent(&a));
    ih_histogram_reset(&a);
    ih_histogram_reset(&b);
}

/* The memory of a histogram has the counters of its planes and their sums, and nothing else. */
TEST(shapes)
{
    static const struct {
        unsigned n_channels;
        const struct ih_luma_weights *luma;
        unsigned n_planes, n_own;
    } shapes[] = {{1, &ih_luma_bt709, 2, 1}, {1, &ih_luma_none, 1, 1}, {2, &ih_luma_bt709, 3, 2},
                  {3, &ih_luma_bt601, 4, 4}, {3, &ih_luma_none, 3, 3}, {4, &ih_luma_bt709, 5, 5}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned n_bins = IH_BINS; n_bins <= 65536; n_bins *= 16) {
            const struct ih_count_spec spec = {IH_LAYOUT(shapes[i].n_channels),
                                               n_bins == IH_BINS ? IH_UINT8 : IH_UINT16,
                                               n_bins,
                                               shapes[i].luma,
                                               0,
                                               255};
            struct ih_histogram h, taken;
            assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
            assert_int_equal(h.n_planes, shapes[i].n_planes);
            assert_int_equal(ih_own_planes(&h), shapes[i].n_own);
            assert_ptr_equal(h.sums, h.bins + (size_t)shapes[i].n_own * n_bins);
            for (unsigned c = 0; c < spec.layout.n_channels; c++)
                assert_ptr_equal(ih_bins(&h, c), h.bins + (size_t)c * n_bins);
            if (ih_has_luma(&h))
                assert_ptr_equal(ih_bins(&h, IH_LUMA),
                                 h.bins +
                                     (spec.layout.n_channels < 3 ? 0 : spec.layout.n_channels) *
                                         (size_t)n_bins);
            taken = ih_histogram_take(&h);
            assert_null(h.bins);
            ih_histogram_reset(&h);
            ih_bins(&taken, 0)[n_bins - 1] = 1;
            ih_histogram_clear(&taken);
            assert_int_equal(ih_bins(&taken, 0)[n_bins - 1], 0);
            ih_histogram_reset(&taken);
        }
}

/* sRGB 188 is 0.5029 in linear light. The weights are those of BT.709. */
TEST(mean_luminance)
{
    struct ih_histogram h = make_histogram(3);
    h.n_pixels = 1;
    ih_bins(&h, 0)[188] = ih_bins(&h, 1)[0] = ih_bins(&h, 2)[255] = 1;
    assert_true(fabs(ih_mean_luminance(&h) - (0.2126 * 0.502886 + 0.0722)) < 1e-6);
    ih_histogram_reset(&h);
    h = make_histogram(1); /* the sRGB curve is linear up to 10 */
    h.n_pixels = ih_bins(&h, 0)[10] = 1;
    assert_true(fabs(ih_mean_luminance(&h) - 10 / 255.0 / 12.92) < 1e-12);
    ih_bins(&h, 0)[10] = 0;
    ih_bins(&h, 0)[11] = 1;
    assert_true(fabs(ih_mean_luminance(&h) - pow((11 / 255.0 + 0.055) / 1.055, 2.4)) < 1e-12);
    ih_histogram_reset(&h);
    h = make_histogram(2);
    h.n_pixels = 2;
    ih_bins(&h, 0)[188] = ih_bins(&h, 0)[10] = 1; /* 10 is on the linear part: 10 / 255 / 12.92 */
    assert_true(fabs(ih_mean_luminance(&h) - (0.502886 + 10 / 255.0 / 12.92) / 2) < 1e-6);
    ih_histogram_reset(&h);
}

TEST(percents)
{
    static const struct {
        const char *text;
        uint32_t millionths;
        const char *key;
    } good[] = {{"0", 0, "p0"},
                {"99.9", 99900000, "p99.9"},
                {"100", 100000000, "p100"},
                {"0.000001", 1, "p0.000001"},
                {"010.50", 10500000, "p10.5"},
                {"20", 20000000, "p20"}};
    static const char *const bad[] = {"",   ".",   ".5", "5.",  "1.0000000",  "100.000001",
                                      "-1", "1e1", " 1", "1,5", "99999999999"};
    char key[IH_PERCENT_KEY_MAX];
    uint32_t millionths;
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(ih_percent_parse(good[i].text, strlen(good[i].text), &millionths));
        assert_int_equal(millionths, good[i].millionths);
        assert_string_equal(ih_percent_key(millionths, key), good[i].key);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(ih_percent_parse(bad[i], strlen(bad[i]), &millionths));
}

/* ---- totals ---- */

enum { CLIP_LOW = 20, CLIP_HIGH = 230, PIXELS_MAX = 4000 };

/* All pixels of a set as RGB; gray is R = G = B. */
struct pixels {
    uint8_t value[3][PIXELS_MAX], alpha[PIXELS_MAX], luma[PIXELS_MAX];
    size_t n, n_alpha;
};

static void init_total(struct ih_total *t)
{
    ih_total_init(t, &(struct ih_measure){
                         .luma = &ih_luma_bt709, .clip_low = CLIP_LOW, .clip_high = CLIP_HIGH});
}

/* Makes an image of n random pixels, counts it as a backend would and appends it to the list. */
static void make_image(struct ih_result *r, unsigned n_channels, unsigned n, struct pixels *all)
{
    memset(r, 0, sizeof *r);
    r->path = "image";
    r->info = (struct ih_image_info){.format = "pnm",
                                     .width = n,
                                     .height = 1,
                                     .layout = IH_LAYOUT(n_channels),
                                     .source_depth = 8};
    r->measure =
        (struct ih_measure){.luma = &ih_luma_bt709, .clip_low = CLIP_LOW, .clip_high = CLIP_HIGH};
    struct ih_histogram *h = &r->histogram;
    *h = make_histogram(n_channels);
    h->n_pixels = n;
    const unsigned n_colours = ih_layout_of(n_channels).n_colours;
    for (unsigned i = 0; i < n; i++) {
        uint8_t v[3];
        unsigned n_low = 0, n_high = 0;
        for (unsigned c = 0; c < 3; c++) {
            v[c] = (uint8_t)(n_colours == 1 && c > 0 ? v[0] : rand() % 256);
            n_low += v[c] <= CLIP_LOW;
            n_high += v[c] >= CLIP_HIGH;
            all->value[c][all->n] = v[c];
            if (c < n_colours)
                add_values(h, c, v[c], 1);
        }
        if (n_channels > n_colours) {
            uint8_t alpha = (uint8_t)(rand() % 256);
            all->alpha[all->n_alpha++] = alpha;
            add_values(h, n_colours, alpha, 1);
        }
        uint8_t luma = n_colours == 1 ? v[0] : ih_luma(&ih_luma_bt709, v[0], v[1], v[2]);
        all->luma[all->n++] = luma;
        add_values(h, IH_LUMA, luma, 1);
        h->any_low += n_low > 0;
        h->all_low += n_low == 3;
        h->any_high += n_high > 0;
        h->all_high += n_high == 3;
    }
    assert_true(ih_histogram_consistent(h));
}

static void check_joint(const struct ih_histogram *h, const struct pixels *all)
{
    uint64_t any_low = 0, all_low = 0, any_high = 0, all_high = 0;
    for (size_t i = 0; i < all->n; i++) {
        unsigned n_low = 0, n_high = 0;
        for (unsigned c = 0; c < 3; c++) {
            n_low += all->value[c][i] <= CLIP_LOW;
            n_high += all->value[c][i] >= CLIP_HIGH;
        }
        any_low += n_low > 0;
        all_low += n_low == 3;
        any_high += n_high > 0;
        all_high += n_high == 3;
    }
    assert_int_equal(h->n_pixels, all->n);
    assert_int_equal(h->any_low, any_low);
    assert_int_equal(h->all_low, all_low);
    assert_int_equal(h->any_high, any_high);
    assert_int_equal(h->all_high, all_high);
}

/* Adds images with these numbers of channels, in this order and in reverse. */
static void check_set(const unsigned *n_channels, size_t n_images)
{
    static struct pixels all;
    static struct ih_result images[8], result, backwards;
    struct ih_total total, backwards_total;
    unsigned n_colours = 1;
    memset(&all, 0, sizeof all);
    init_total(&total);
    for (size_t i = 0; i < n_images; i++) {
        make_image(&images[i], n_channels[i], 1 + (unsigned)rand() % 400, &all);
        n_colours = n_channels[i] > 2 ? 3 : n_colours;
        assert_int_equal(ih_total_add(&total, &images[i], NULL), IH_OK);
    }
    ih_total_result(&total, &result);

    assert_int_equal(result.status, IH_OK);
    assert_string_equal(result.path, "(total)");
    assert_true(result.is_total);
    assert_int_equal(result.n_images, n_images);
    assert_int_equal(result.n_failed, 0);
    assert_int_equal(result.histogram.layout.n_channels, n_colours + (all.n_alpha > 0));
    assert_int_equal(result.info.layout.n_channels, result.histogram.layout.n_channels);
    check_joint(&result.histogram, &all);
    for (unsigned c = 0; c < n_colours; c++)
        check_plane(&result.histogram, c, &result.measure, all.value[c], all.n);
    if (all.n_alpha)
        check_plane(&result.histogram, n_colours, &result.measure, all.alpha, all.n_alpha);
    check_plane(&result.histogram, IH_LUMA, &result.measure, all.luma, all.n);

    init_total(&backwards_total);
    for (size_t i = n_images; i-- > 0;)
        assert_int_equal(ih_total_add(&backwards_total, &images[i], NULL), IH_OK);
    ih_total_result(&backwards_total, &backwards);
    assert_same_counts(&backwards.histogram, &result.histogram);
    ih_total_reset(&total);
    ih_total_reset(&backwards_total);
    for (size_t i = 0; i < n_images; i++)
        ih_histogram_reset(&images[i].histogram);
}

TEST(totals_of_sets)
{
    static const struct {
        unsigned n_channels[4];
        size_t n;
    } sets[] = {
        {{1}, 1},       {{2}, 1},       {{3}, 1},          {{4}, 1},
        {{1, 1, 1}, 3}, {{1, 2}, 2},    {{3, 3}, 2},       {{3, 4, 3}, 3},
        {{1, 3}, 2},    {{3, 1}, 2},    {{2, 3}, 2},       {{1, 4}, 2},
        {{2, 4}, 2},    {{4, 2, 1}, 3}, {{1, 2, 3, 4}, 4}, {{4, 4, 1, 2}, 4},
    };
    srand(1);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        check_set(sets[i].n_channels, sets[i].n);
}

/* The total of one image equals that image, except for name and size. */
TEST(total_of_one_image)
{
    static struct pixels all;
    struct ih_result image, result;
    struct ih_total total;
    for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++) {
        all.n = all.n_alpha = 0;
        make_image(&image, n_channels, 300, &all);
        init_total(&total);
        assert_int_equal(ih_total_add(&total, &image, NULL), IH_OK);
        ih_total_result(&total, &result);
        assert_same_counts(&result.histogram, &image.histogram);
        assert_true(ih_mean_luminance(&result.histogram) == ih_mean_luminance(&image.histogram));
        assert_int_equal(result.info.width, 0);
        assert_null(result.info.format);
        ih_total_reset(&total);
        ih_histogram_reset(&image.histogram);
    }
}

TEST(total_with_failed_inputs)
{
    static struct pixels all;
    struct ih_result image, result, failed = {.path = "bad", .status = IH_CORRUPT};
    struct ih_total total;
    failed.histogram.n_pixels = 1000; /* decoded before the damage */
    init_total(&total);
    make_image(&image, 3, 10, &all);
    assert_int_equal(ih_total_add(&total, &failed, NULL), IH_OK);
    assert_int_equal(ih_total_add(&total, &image, NULL), IH_OK);
    assert_int_equal(ih_total_add(&total, &failed, NULL), IH_OK);
    ih_total_result(&total, &result);
    assert_int_equal(result.n_images, 1);
    assert_int_equal(result.n_failed, 2);
    assert_same_counts(&result.histogram, &image.histogram);
    ih_total_reset(&total);
    ih_histogram_reset(&image.histogram);
}

TEST(total_without_images)
{
    struct ih_total total;
    struct ih_result result;
    struct ih_stats stats;
    init_total(&total);
    ih_total_result(&total, &result);
    assert_true(result.is_total);
    assert_int_equal(result.n_images, 0);
    assert_int_equal(result.histogram.layout.n_channels, 0);
    for (unsigned p = 0; p < IH_PIXEL_CHANNELS_MAX; p++)
        assert_null(ih_plane_name(result.histogram.layout, p));
    ih_stats_compute(&result.histogram, IH_LUMA, &result.measure, &stats);
    assert_int_equal(stats.count, 0);
    assert_true(isnan(stats.mean));
    assert_true(isnan(ih_mean_luminance(&result.histogram)));
}

static void init_white(struct ih_result *r, uint64_t n_pixels)
{
    memset(r, 0, sizeof *r);
    r->measure = (struct ih_measure){.luma = &ih_luma_bt709, .clip_low = 0, .clip_high = 255};
    r->histogram = make_histogram(1);
    r->histogram.n_pixels = n_pixels;
    add_values(&r->histogram, 0, 255, n_pixels);
    ih_histogram_derive(&r->histogram, &(struct ih_count_spec){IH_LAYOUT(1), IH_UINT8, IH_BINS,
                                                               &ih_luma_bt709, 0, 255});
}

/* UINT64_MAX is a multiple of 255, so the largest sum of white pixels is exactly UINT64_MAX. */
TEST(total_does_not_overflow)
{
    struct ih_result white, result;
    struct ih_total total;
    struct ih_error err = {0};
    struct ih_stats stats;
    init_total(&total);
    init_white(&white, UINT64_MAX / 255 - 2);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_OK);
    ih_histogram_reset(&white.histogram);
    init_white(&white, 3);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_LIMIT);
    assert_string_equal(err.message, "more pixels than sums of 64 bits can hold");
    ih_histogram_reset(&white.histogram);
    init_white(&white, 2);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_OK);
    ih_histogram_reset(&white.histogram);
    init_white(&white, 1);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_LIMIT);
    ih_total_result(&total, &result);
    assert_int_equal(result.n_images, 2);
    assert_true(*ih_sum(&result.histogram, 0) == UINT64_MAX);
    assert_true(result.histogram.n_pixels == UINT64_MAX / 255);
    ih_stats_compute(&result.histogram, 0, &result.measure, &stats);
    assert_true(stats.mean == 255);
    ih_histogram_reset(&white.histogram);
    ih_total_reset(&total);
}

/* ---- native bins ---- */

static int compare_words(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* An image of one channel with these values. */
static struct ih_result native_gray(const char *path, const uint16_t *values, size_t n,
                                    unsigned n_bins)
{
    const struct ih_count_spec spec = {IH_LAYOUT(1),   IH_UINT16, n_bins,
                                       &ih_luma_bt709, 3,         (uint16_t)(n_bins - 9)};
    struct ih_result r = {.path = path,
                          .measure = {.luma = spec.luma,
                                      .clip_low = spec.clip_low,
                                      .clip_high = spec.clip_high,
                                      .type = IH_UINT16,
                                      .n_bins = n_bins},
                          .info = {.layout = IH_LAYOUT(1), .type = IH_UINT16, .n_bins = n_bins}};
    assert_int_equal(ih_histogram_init(&r.histogram, &spec, NULL), IH_OK);
    r.histogram.n_pixels = n;
    for (size_t i = 0; i < n; i++) {
        add_values(&r.histogram, 0, values[i], 1);
    }
    ih_histogram_derive(&r.histogram, &spec);
    assert_true(ih_histogram_consistent(&r.histogram));
    return r;
}

TEST(native_stats_against_brute_force)
{
    enum { N = 3001 };
    static const unsigned all_bins[] = {257, 1024, 65536};
    uint16_t values[N];
    uint32_t random = 1;
    for (unsigned k = 0; k < 3; k++) {
        const unsigned n_bins = all_bins[k];
        double mean = 0, squares = 0, entropy = 0, light = 0;
        uint64_t low = 0, high = 0;
        struct ih_stats s;
        for (size_t i = 0; i < N; i++) {
            random = random * 1664525u + 1013904223u;
            values[i] = (uint16_t)(i % 3 ? (random >> 8) % n_bins : (random >> 28) % n_bins);
            mean += values[i] / (double)N;
        }
        struct ih_result r = native_gray("", values, N, n_bins);
        for (size_t i = 0; i < N; i++) {
            const double c = values[i] / (double)(n_bins - 1);
            squares += (values[i] - mean) * (values[i] - mean);
            entropy -= log2((double)ih_bins(&r.histogram, 0)[values[i]] / N) / N;
            light += (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4)) / N;
            low += values[i] <= r.measure.clip_low;
            high += values[i] >= r.measure.clip_high;
        }
        qsort(values, N, sizeof *values, compare_words);
        ih_stats_compute(&r.histogram, IH_LUMA, &r.measure, &s);
        assert_true(fabs(s.mean - mean) < 1e-7 && fabs(s.entropy - entropy) < 1e-9);
        assert_true(fabs(s.stddev - sqrt(squares / N)) < 1e-7);
        assert_true(fabs(ih_mean_luminance(&r.histogram) - light) < 1e-9);
        assert_int_equal(s.crushed, low);
        assert_int_equal(s.blown, high);
        assert_int_equal(r.histogram.any_low, low);
        assert_int_equal(s.min, values[0]);
        assert_int_equal(s.max, values[N - 1]);
        for (int p = 0; p < IH_PERCENTILES; p++)
            assert_int_equal(s.percentile[p], values[(N * ih_percentile_ranks[p] + 99) / 100 - 1]);
        ih_histogram_reset(&r.histogram);
    }
}

/* A total's results share its counters; a copy has its own. */
TEST(native_totals)
{
    static const uint16_t values[] = {0, 5, 5, 1023};
    struct ih_result a = native_gray("a.pgm", values, 4, 1024),
                     b = native_gray("b.pgm", values, 2, 1024);
    struct ih_result deep = native_gray("deep.pgm", values, 4, 65536), out, again;
    struct ih_total total, copy;
    struct ih_error err;
    init_total(&total);
    assert_int_equal(ih_total_add(&total, &a, &err), IH_OK);
    assert_int_equal(ih_total_add(&total, &deep, &err), IH_USAGE);
    assert_string_equal(err.message, "a.pgm has 1024 bins, deep.pgm has 65536: counts of different "
                                     "bins are not added; count all images again with 256 bins");
    assert_int_equal(ih_total_copy(&copy, &total, &err), IH_OK);
    assert_int_equal(ih_total_add(&total, &b, &err), IH_OK);
    ih_total_result(&total, &out);
    ih_total_result(&copy, &again);
    assert_int_equal(out.histogram.n_bins, 1024);
    assert_int_equal(out.measure.n_bins, 1024);
    assert_int_equal(out.histogram.layout.n_channels, 1);
    assert_int_equal(ih_bins(&out.histogram, 0)[5], 3);
    assert_int_equal(ih_bins(&out.histogram, IH_LUMA)[1023], 1);
    assert_int_equal(ih_bins(&again.histogram, 0)[5], 2);
    assert_true(ih_histogram_consistent(&out.histogram));
    ih_total_reset(&total);
    ih_total_reset(&copy);
    init_total(&total); /* of other bins now */
    assert_int_equal(ih_total_add(&total, &deep, &err), IH_OK);
    ih_total_reset(&total);
    ih_histogram_reset(&a.histogram);
    ih_histogram_reset(&b.histogram);
    ih_histogram_reset(&deep.histogram);
}

/* ---- folding ---- */

/* Up to the power of two above the highest value; alpha does not count. */
TEST(drawings_show_the_part_with_values)
{
    static const struct {
        unsigned n_bins, highest, shown;
    } cases[] = {{65536, 4095, 4096},   {65536, 4096, 8192}, {65536, 0, 256},  {65536, 256, 512},
                 {65536, 32768, 65536}, {1000, 511, 512},    {1000, 512, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ih_count_spec spec = {IH_LAYOUT(2),   IH_UINT16, cases[i].n_bins,
                                           &ih_luma_bt709, 0,         255};
        struct ih_histogram h, folded;
        assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
        assert_int_equal(ih_histogram_shown(&h).n_values, cases[i].n_bins); /* no pixels */
        h.n_pixels = 1;
        ih_bins(&h, 0)[cases[i].highest] = 1;
        ih_bins(&h, 1)[cases[i].n_bins - 1] = 1; /* alpha */
        assert_int_equal(ih_histogram_shown(&h).n_values, cases[i].shown);
        const unsigned n_in_bar = ih_bar_values(cases[i].shown);
        assert_int_equal(
            ih_histogram_fold(&h, (struct ih_shown){.n_values = n_in_bar * IH_BINS}, &folded, NULL),
            IH_OK);
        assert_int_equal(ih_bins(&folded, 0)[cases[i].highest / n_in_bar], 1);
        ih_histogram_reset(&h);
        ih_histogram_reset(&folded);
    }
}

/* 257 bins: 2 values in a bar, the last bar has 1. 4096: 16 in a bar. */
TEST(native_bins_fold_to_256_bars)
{
    static const unsigned n_bins[] = {257, 4096, 65536}, n_in_bar[] = {2, 16, 256};
    for (unsigned i = 0; i < 3; i++) {
        const struct ih_count_spec spec = {IH_LAYOUT(2),   IH_UINT16, n_bins[i],
                                           &ih_luma_bt709, 0,         256};
        struct ih_histogram h, folded;
        uint64_t sum = 0;
        assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
        for (unsigned v = 0; v < n_bins[i]; v++)
            ih_bins(&h, 1)[v] = v;
        assert_int_equal(ih_bar_values(n_bins[i]), n_in_bar[i]);
        assert_int_equal(ih_histogram_fold(&h, (struct ih_shown){.n_values = n_in_bar[i] * IH_BINS},
                                           &folded, NULL),
                         IH_OK);
        assert_int_equal(folded.n_bins, IH_BINS);
        assert_int_equal(ih_bins(&folded, 0)[0], 0);
        for (unsigned bar = 0; bar < IH_BINS; bar++) {
            for (unsigned v = bar * n_in_bar[i]; v < (bar + 1) * n_in_bar[i] && v < n_bins[i]; v++)
                sum += v;
            assert_int_equal(ih_bins(&folded, 1)[bar], sum);
            sum = 0;
        }
        ih_histogram_reset(&h);
        assert_int_equal(ih_bar_values(folded.n_bins), 1);
        assert_int_equal(
            ih_histogram_fold(&folded, (struct ih_shown){.n_values = IH_BINS}, &h, NULL), IH_OK);
        assert_memory_equal(h.bins, folded.bins, (size_t)2 * IH_BINS * sizeof *h.bins);
        ih_histogram_reset(&h);
        ih_histogram_reset(&folded);
    }
}

/* Fewer signed values than bars lie side by side, and few ones are bars with gaps between them. No
 * pixel is lost. */
TEST(bars_of_signed_values)
{
    for (unsigned n = 2; n <= IH_BINS; n += 2) {
        const struct ih_count_spec spec = {IH_LAYOUT(1), IH_INT8, IH_BINS, NULL, 0, IH_BINS - 1};
        struct ih_histogram h, bars;
        uint64_t n_pixels = 0;
        unsigned n_empty = 0;
        assert_int_equal(ih_histogram_init(&h, &spec, NULL), IH_OK);
        for (unsigned v = 0; v < n; v++)
            ih_bins(&h, 0)[IH_BINS / 2 - n / 2 + v] = 1000;
        h.n_pixels = (uint64_t)n * 1000;
        struct ih_shown shown = ih_histogram_shown(&h);
        assert_true(shown.is_span && shown.high - shown.low == n - 1);
        assert_int_equal(ih_histogram_fold(&h, shown, &bars, NULL), IH_OK);
        for (unsigned bar = 0; bar < IH_BINS; bar++) {
            n_pixels += ih_bins(&bars, 0)[bar];
            n_empty += ih_bins(&bars, 0)[bar] == 0;
        }
        assert_int_equal(n_pixels, h.n_pixels);
        assert_int_equal(n_empty, n - 1 > IH_BINS / 2 ? 0 : IH_BINS - n);
        ih_histogram_reset(&h);
        ih_histogram_reset(&bars);
    }
}

/* ---- layouts ---- */

TEST(plane_names)
{
    static const struct {
        struct ih_layout layout;
        const char *names[7];
    } cases[] = {{IH_LAYOUT(1), {"gray"}},
                 {IH_LAYOUT(2), {"gray", "alpha"}},
                 {IH_LAYOUT(3), {"red", "green", "blue"}},
                 {IH_LAYOUT(4), {"red", "green", "blue", "alpha"}},
                 {{2, 0, false}, {"band1", "band2"}},
                 {{3, 0, true}, {"band1", "band2", "alpha"}},
                 {{6, 3, true}, {"red", "green", "blue", "band4", "band5", "alpha"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned n = 0;
        for (; cases[i].names[n]; n++)
            assert_string_equal(ih_plane_name(cases[i].layout, n), cases[i].names[n]);
        assert_int_equal(cases[i].layout.n_channels, n);
        assert_null(ih_plane_name(cases[i].layout, n));
        assert_true(ih_layout_is_possible(&cases[i].layout));
    }
    const struct ih_layout all = {IH_CHANNELS_MAX, 0, false};
    for (unsigned i = 0; i < IH_CHANNELS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "band%u", i + 1);
        assert_string_equal(ih_plane_name(all, i), name);
    }
    assert_string_equal(ih_plane_name(all, IH_LUMA), "luma");
}

TEST(impossible_layouts)
{
    static const struct ih_layout layouts[] = {{0, 0, false}, {IH_CHANNELS_MAX + 1, 0, false},
                                               {2, 3, false}, {3, 3, true},
                                               {4, 2, false}, {4, 4, false}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        assert_false(ih_layout_is_possible(&layouts[i]));
}

/* Gray and colour are added, with and without alpha; bands only to the same bands. */
TEST(joined_layouts)
{
    static const struct {
        struct ih_layout a, b, both;
        bool fit;
    } cases[] = {{IH_LAYOUT(0), IH_LAYOUT(2), IH_LAYOUT(2), true},
                 {IH_LAYOUT(1), IH_LAYOUT(3), IH_LAYOUT(3), true},
                 {IH_LAYOUT(2), IH_LAYOUT(3), IH_LAYOUT(4), true},
                 {{0, 0, false}, {2, 0, false}, {2, 0, false}, true},
                 {{2, 0, false}, {2, 0, false}, {2, 0, false}, true},
                 {{2, 0, false}, IH_LAYOUT(2), {0, 0, false}, false},
                 {{4, 3, false}, IH_LAYOUT(3), {0, 0, false}, false},
                 {{4, 3, false}, IH_LAYOUT(4), {0, 0, false}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ih_layout both;
        assert_int_equal(ih_layout_join(cases[i].a, cases[i].b, &both), cases[i].fit);
        assert_true(!cases[i].fit || ih_layout_is_same(both, cases[i].both));
        assert_int_equal(ih_layout_join(cases[i].b, cases[i].a, &both), cases[i].fit);
        assert_true(!cases[i].fit || ih_layout_is_same(both, cases[i].both));
    }
}
