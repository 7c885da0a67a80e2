/* The total against the same pixels as one list of red, green and blue. */
#include "counts/total.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CLIP_LOW = 20, CLIP_HIGH = 230, PIXELS_MAX = 4000 };

/* All pixels of a set, gray ones three times the same. */
struct pixels {
    uint8_t value[3][PIXELS_MAX], alpha[PIXELS_MAX], luma[PIXELS_MAX];
    size_t n, n_alpha;
};

static void init(struct ih_total *t)
{
    ih_total_init(t, &ih_luma_bt709, CLIP_LOW, CLIP_HIGH);
}

static void count(struct ih_histogram *h, unsigned plane, unsigned value)
{
    h->bins[plane][value]++;
    h->sum[plane] += value;
}

/* One image of n random pixels, counted as a backend would, and added to the list. */
static void make_image(struct ih_result *r, unsigned n_channels, unsigned n, struct pixels *all)
{
    memset(r, 0, sizeof *r);
    r->path = "image";
    r->info = (struct ih_image_info){"pnm", n, 1, n_channels, 8};
    r->spec = (struct ih_count_spec){n_channels, &ih_luma_bt709, CLIP_LOW, CLIP_HIGH};
    struct ih_histogram *h = &r->histogram;
    ih_histogram_clear(h, n_channels);
    h->n_pixels = n;
    const unsigned n_colours = ih_colour_channels(n_channels);
    for (unsigned i = 0; i < n; i++) {
        uint8_t v[3];
        unsigned n_low = 0, n_high = 0;
        for (unsigned c = 0; c < 3; c++) {
            v[c] = (uint8_t)(n_colours == 1 && c > 0 ? v[0] : rand() % 256);
            n_low += v[c] <= CLIP_LOW;
            n_high += v[c] >= CLIP_HIGH;
            all->value[c][all->n] = v[c];
            if (c < n_colours)
                count(h, c, v[c]);
        }
        if (n_channels > n_colours) {
            uint8_t alpha = (uint8_t)(rand() % 256);
            all->alpha[all->n_alpha++] = alpha;
            count(h, n_colours, alpha);
        }
        uint8_t luma = n_colours == 1 ? v[0] : ih_luma(&ih_luma_bt709, v[0], v[1], v[2]);
        all->luma[all->n++] = luma;
        count(h, IH_LUMA, luma);
        h->any_low += n_low > 0;
        h->all_low += n_low == 3;
        h->any_high += n_high > 0;
        h->all_high += n_high == 3;
    }
    assert_true(ih_histogram_consistent(h));
}

static int compare(const void *a, const void *b)
{
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* One plane against a list of its values, which is sorted. */
static void check_plane(const struct ih_result *r, unsigned plane, uint8_t *values, size_t n)
{
    struct ih_stats s;
    uint64_t sum = 0, bins[IH_BINS] = {0}, n_low = 0, n_high = 0;
    double variance = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        bins[values[i]]++;
        n_low += values[i] <= CLIP_LOW;
        n_high += values[i] >= CLIP_HIGH;
    }
    const double mean = (double)sum / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (values[i] - mean) * (values[i] - mean) / (double)n;
    qsort(values, n, 1, compare);
    ih_stats_compute(&r->histogram, plane, &r->spec, &s);
    assert_memory_equal(r->histogram.bins[plane], bins, sizeof bins);
    assert_int_equal(s.count, n);
    assert_int_equal(s.sum, sum);
    assert_true(fabs(s.mean - mean) < 1e-9);
    assert_true(fabs(s.stddev - sqrt(variance)) < 1e-9);
    assert_int_equal(s.min, values[0]);
    assert_int_equal(s.max, values[n - 1]);
    assert_int_equal(s.percentile[3], values[(n + 1) / 2 - 1]);
    assert_int_equal(s.clip_low, n_low);
    assert_int_equal(s.clip_high, n_high);
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

/* The images of these numbers of channels, in this order and in the other one. */
static void check_set(const unsigned *n_channels, size_t n_images)
{
    static struct pixels all;
    static struct ih_result images[8], result, backwards;
    struct ih_total total;
    unsigned n_colours = 1;
    memset(&all, 0, sizeof all);
    init(&total);
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
    assert_int_equal(result.histogram.n_channels, n_colours + (all.n_alpha > 0));
    assert_int_equal(result.info.n_channels, result.histogram.n_channels);
    check_joint(&result.histogram, &all);
    for (unsigned c = 0; c < n_colours; c++)
        check_plane(&result, c, all.value[c], all.n);
    if (all.n_alpha)
        check_plane(&result, n_colours, all.alpha, all.n_alpha);
    check_plane(&result, IH_LUMA, all.luma, all.n);

    init(&total);
    for (size_t i = n_images; i-- > 0;)
        assert_int_equal(ih_total_add(&total, &images[i], NULL), IH_OK);
    ih_total_result(&total, &backwards);
    assert_memory_equal(&backwards.histogram, &result.histogram, sizeof result.histogram);
}

static void test_sets(void **state)
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
    (void)state;
    srand(1);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        check_set(sets[i].n_channels, sets[i].n);
}

/* One of one image is that image, but for its name and size. */
static void test_one_image(void **state)
{
    static struct pixels all;
    struct ih_result image, result;
    struct ih_total total;
    (void)state;
    for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
        all.n = all.n_alpha = 0;
        make_image(&image, n_channels, 300, &all);
        init(&total);
        assert_int_equal(ih_total_add(&total, &image, NULL), IH_OK);
        ih_total_result(&total, &result);
        assert_memory_equal(&result.histogram, &image.histogram, sizeof image.histogram);
        assert_true(ih_mean_luminance(&result.histogram) == ih_mean_luminance(&image.histogram));
        assert_int_equal(result.info.width, 0);
        assert_null(result.info.format);
    }
}

static void test_failed_inputs_are_told_and_add_nothing(void **state)
{
    static struct pixels all;
    struct ih_result image, result, failed = {.path = "bad", .status = IH_CORRUPT};
    struct ih_total total;
    (void)state;
    failed.histogram.n_pixels = 1000; /* of what was decoded before the damage */
    failed.histogram.bins[0][0] = 1000;
    init(&total);
    make_image(&image, 3, 10, &all);
    assert_int_equal(ih_total_add(&total, &failed, NULL), IH_OK);
    assert_int_equal(ih_total_add(&total, &image, NULL), IH_OK);
    assert_int_equal(ih_total_add(&total, &failed, NULL), IH_OK);
    ih_total_result(&total, &result);
    assert_int_equal(result.n_images, 1);
    assert_int_equal(result.n_failed, 2);
    assert_memory_equal(&result.histogram, &image.histogram, sizeof image.histogram);
}

static void test_nothing(void **state)
{
    struct ih_total total;
    struct ih_result result;
    struct ih_stats stats;
    (void)state;
    init(&total);
    ih_total_result(&total, &result);
    assert_true(result.is_total);
    assert_int_equal(result.n_images, 0);
    assert_int_equal(result.histogram.n_channels, 0);
    for (unsigned p = 0; p < IH_CHANNELS_MAX; p++)
        assert_null(ih_plane_name(result.histogram.n_channels, p));
    ih_stats_compute(&result.histogram, IH_LUMA, &result.spec, &stats);
    assert_int_equal(stats.count, 0);
    assert_true(isnan(stats.mean));
    assert_true(isnan(ih_mean_luminance(&result.histogram)));
}

static void init_white(struct ih_result *r, uint64_t n_pixels)
{
    memset(r, 0, sizeof *r);
    r->spec = (struct ih_count_spec){1, &ih_luma_bt709, 0, 255};
    ih_histogram_clear(&r->histogram, 1);
    r->histogram.n_pixels = r->histogram.bins[0][255] = n_pixels;
    r->histogram.sum[0] = n_pixels * 255;
    ih_histogram_derive_gray(&r->histogram, &r->spec);
}

/* The largest sum of 255s is the largest number of 64 bits, exactly. */
static void test_no_sum_overflows(void **state)
{
    struct ih_result white, result;
    struct ih_total total;
    struct ih_error err = {0};
    struct ih_stats stats;
    (void)state;
    init(&total);
    init_white(&white, UINT64_MAX / 255 - 2);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_OK);
    init_white(&white, 3);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_LIMIT);
    assert_string_equal(err.message, "more pixels than sums of 64 bits can hold");
    init_white(&white, 2);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_OK);
    init_white(&white, 1);
    assert_int_equal(ih_total_add(&total, &white, &err), IH_LIMIT);
    ih_total_result(&total, &result);
    assert_int_equal(result.n_images, 2);
    assert_true(result.histogram.sum[0] == UINT64_MAX);
    assert_true(result.histogram.n_pixels == UINT64_MAX / 255);
    ih_stats_compute(&result.histogram, 0, &result.spec, &stats);
    assert_true(stats.mean == 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_one_image),
        cmocka_unit_test(test_failed_inputs_are_told_and_add_nothing),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_sum_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
