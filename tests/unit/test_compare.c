/* Comparisons: distances by hand, against sorted lists, exact near the end of 64 bits; channels. */
#include "tests/support/test.h"

#include "histogram/compare.h"
#include "tests/support/chart_picture.h"
#include "tests/support/random.h"

#include <math.h>

struct bar {
    unsigned value;
    uint64_t n;
};

/* Adds an image with these gray pixels. */
static void add_bars(struct ih_total *t, const struct bar *bars, size_t n)
{
    struct ih_result *r = new_result(1);
    for (size_t i = 0; i < n; i++)
        add_gray(r, bars[i].value, bars[i].n);
    assert_int_equal(ih_total_add(t, r, NULL), IH_OK);
    free_result(r);
}

static void begin_total(struct ih_total *t)
{
    ih_total_init(t, &IH_MEASURE_DEFAULT);
}

static void end_totals(struct ih_total *a, struct ih_total *b)
{
    ih_total_reset(a);
    ih_total_reset(b);
}

static struct ih_distance compare_bars(const struct bar *a, size_t n_a, const struct bar *b,
                                       size_t n_b)
{
    static struct ih_total totals[2];
    static struct ih_comparison c;
    begin_total(&totals[0]);
    begin_total(&totals[1]);
    add_bars(&totals[0], a, n_a);
    add_bars(&totals[1], b, n_b);
    assert_int_equal(ih_totals_compare(&totals[0], &totals[1], &c, NULL), IH_OK);
    assert_int_equal(c.sides[0].histogram.layout.n_channels, 1);
    assert_true(c.planes[0].ks == c.largest.ks && c.planes[0].emd == c.largest.emd);
    assert_true(c.planes[IH_LUMA].ks == c.largest.ks && c.planes[IH_LUMA].emd == c.largest.emd);
    end_totals(&totals[0], &totals[1]);
    return c.planes[0];
}

#define BARS(...)                      \
    (const struct bar[]){__VA_ARGS__}, \
        sizeof((const struct bar[]){__VA_ARGS__}) / sizeof(struct bar)

static void check(struct ih_distance d, double ks, double emd)
{
    if (d.ks != ks || d.emd != emd)
        fail_msg("ks %.17g, emd %.17g; expected %.17g, %.17g", d.ks, d.emd, ks, emd);
}

TEST(distances_by_hand)
{
    check(compare_bars(BARS({0, 1}), BARS({0, 7})), 0, 0);
    check(compare_bars(BARS({0, 1}), BARS({255, 3})), 1, 255);
    check(compare_bars(BARS({255, 3}), BARS({0, 1})), 1, 255);
    check(compare_bars(BARS({100, 4}), BARS({100, 3}, {101, 1})), 0.25, 0.25);
    check(compare_bars(BARS({0, 1}, {10, 1}), BARS({10, 2})), 0.5, 5);
    /* F is 1/3, 1 and 1/2, 1: they differ by 1/6 at 0 only */
    check(compare_bars(BARS({0, 1}, {1, 2}), BARS({0, 1}, {1, 1})), 1.0 / 6, 1.0 / 6);
    /* opposite signs: F is 1/2, 1/2, 1 and 0, 1, 1 */
    check(compare_bars(BARS({0, 1}, {2, 1}), BARS({1, 5})), 0.5, 1);
}

/* ---- against lists of pixels ---- */

enum { LIST_MAX = 12 };

static int compare_values(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static size_t make_list(uint32_t *seed, int list[LIST_MAX], struct bar bars[LIST_MAX])
{
    const size_t n = 1 + random_next(seed) % LIST_MAX;
    const int spread = 1 + (int)(random_next(seed) % 256);
    for (size_t i = 0; i < n; i++) {
        list[i] = (int)(random_next(seed) % (unsigned)spread);
        bars[i] = (struct bar){(unsigned)list[i], 1};
    }
    qsort(list, n, sizeof *list, compare_values);
    return n;
}

/* Each list repeated to n_a * n_b sorted values: emd is the mean distance of values at the same
 * place, and ks the largest gap of the shares at a value of either. */
TEST(distances_of_lists)
{
    uint32_t seed = 1;
    for (int k = 0; k < 2000; k++) {
        int a[LIST_MAX], b[LIST_MAX];
        struct bar bars_a[LIST_MAX], bars_b[LIST_MAX];
        const size_t n_a = make_list(&seed, a, bars_a), n_b = make_list(&seed, b, bars_b);
        int sum = 0, most = 0;
        for (size_t i = 0; i < n_a * n_b; i++)
            sum += abs(a[i / n_b] - b[i / n_a]);
        for (int v = 0; v < IH_BINS; v++) {
            int gap = 0;
            for (size_t i = 0; i < n_a * n_b; i++)
                gap += (a[i / n_b] <= v) - (b[i / n_a] <= v);
            most = abs(gap) > most ? abs(gap) : most;
        }
        const struct ih_distance d = compare_bars(bars_a, n_a, bars_b, n_b);
        assert_true(fabs(d.emd - sum / (double)(n_a * n_b)) < 1e-13);
        assert_true(fabs(d.ks - most / (double)(n_a * n_b)) < 1e-15);
        if (sum % (int)(n_a * n_b) == 0)
            assert_true(d.emd == sum / (int)(n_a * n_b));
    }
}

/* As many pixels as a total may have. Doubles alone would lose the last digits. */
TEST(distances_of_large_counts_are_exact)
{
    const uint64_t n = UINT64_MAX / 255;
    check(compare_bars(BARS({3, n / 3}, {7, n / 3}), BARS({5, 1}, {9, 1})), 0.5, 2);
    check(compare_bars(BARS({3, n / 3}, {7, n / 3}), BARS({5, n / 7}, {9, n / 7})), 0.5, 2);
    check(compare_bars(BARS({0, n}), BARS({255, n})), 1, 255);
    check(compare_bars(BARS({0, n - 1}, {1, 1}), BARS({0, n - 1}, {1, 1})), 0, 0);
    /* one pixel more or less of n */
    const struct ih_distance d = compare_bars(BARS({0, n - 1}, {1, 1}), BARS({0, n}));
    assert_true(fabs(d.ks * (double)n - 1) < 1e-15 && d.emd == d.ks);
    /* the same shares of other numbers, moved */
    uint32_t seed = 7;
    for (int k = 0; k < 200; k++) {
        const uint64_t x = 1 + random_next(&seed), y = 1 + random_next(&seed),
                       shift = (unsigned)k % 100;
        const uint64_t times = 1 + random_next(&seed) % 1000;
        const struct ih_distance e =
            compare_bars(BARS({10, x}, {90, y}), BARS({10 + (unsigned)shift, x * times},
                                                      {90 + (unsigned)shift, y * times}));
        assert_true(e.emd == (double)shift);
    }
}

/* ---- channels ---- */

static void add_image(struct ih_total *t, unsigned n_channels, const uint8_t pixel[4], uint64_t n)
{
    struct ih_result *r = new_result(n_channels);
    add_pixels(r, pixel, n);
    assert_int_equal(ih_total_add(t, r, NULL), IH_OK);
    free_result(r);
}

TEST(gray_beside_colour_is_red_green_and_blue)
{
    static struct ih_total a, b;
    static struct ih_comparison c;
    begin_total(&a);
    begin_total(&b);
    add_image(&a, 1, (const uint8_t[]){100, 0, 0, 0}, 3);
    add_image(&b, 3, (const uint8_t[]){90, 100, 130, 0}, 5);
    assert_int_equal(ih_totals_compare(&a, &b, &c, NULL), IH_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(c.sides[i].histogram.layout.n_channels, 3);
    check(c.planes[0], 1, 10);
    check(c.planes[1], 0, 0);
    check(c.planes[2], 1, 30);
    check(c.largest, 1, 30);
    assert_int_equal(c.sides[0].histogram.n_pixels, 3);
    assert_int_equal(c.sides[1].histogram.n_pixels, 5);
    assert_int_equal(c.sides[0].n_images, 1);
    assert_int_equal(a.sum.layout.n_channels, 3); /* it is widened, */
    assert_int_equal(a.n_images, 1);              /* and else unchanged */
    end_totals(&a, &b);
}

TEST(alpha_of_one_side_has_no_distance)
{
    static struct ih_total a, b;
    static struct ih_comparison c;
    begin_total(&a);
    begin_total(&b);
    add_image(&a, 4, (const uint8_t[]){100, 100, 100, 7}, 3);
    add_image(&b, 1, (const uint8_t[]){102, 0, 0, 0}, 5);
    assert_int_equal(ih_totals_compare(&a, &b, &c, NULL), IH_OK);
    assert_int_equal(c.sides[1].histogram.layout.n_channels, 4);
    check(c.planes[2], 1, 2);
    assert_true(isnan(c.planes[3].ks) && isnan(c.planes[3].emd));
    check(c.largest, 1, 2);
    add_image(&b, 2, (const uint8_t[]){102, 17, 0, 0}, 1);
    assert_int_equal(ih_totals_compare(&a, &b, &c, NULL), IH_OK);
    check(c.planes[3], 1, 10);
    check(c.largest, 1, 10);
    end_totals(&a, &b);
}

/* ---- charts ---- */

static struct picture draw_bars(const struct bar *a, size_t n_a, const struct bar *b, size_t n_b,
                                struct ih_chart_options options)
{
    static struct ih_total totals[2];
    static struct ih_comparison c;
    unsigned char *file = NULL;
    size_t size = 0;
    struct ih_error err;
    begin_total(&totals[0]);
    begin_total(&totals[1]);
    add_bars(&totals[0], a, n_a);
    add_bars(&totals[1], b, n_b);
    assert_int_equal(ih_totals_compare(&totals[0], &totals[1], &c, NULL), IH_OK);
    c.sides[0].path = "first.png";
    c.sides[1].path = "-";
    assert_int_equal(ih_chart_draw_comparison(&c, &options, &file, &size, &err), IH_OK);
    end_totals(&totals[0], &totals[1]);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, file, size));
    image.format = PNG_FORMAT_RGB;
    struct picture p = {.width = (int)image.width, .height = (int)image.height};
    p.pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(p.pixels);
    assert_true(png_image_finish_read(&image, NULL, p.pixels, 0, NULL));
    free(file);
    find_panel(&p);
    return p;
}

/* A tenth as many pixels give a bar as high, hollow and bright, beside a quiet area. */
TEST(chart_has_areas_and_lines_of_the_same_height)
{
    struct picture p = draw_bars(BARS({20, 500}, {200, 500}), BARS({100, 50}, {150, 50}),
                                 (struct ih_chart_options){.width = 2048, .height = 640});
    const int area = bar_top(&p, 20, 10), line = bar_top(&p, 100, 10);
    assert_in_range(area, p.top + 1, p.top + 100);
    assert_in_range(line, area - 8, area + 2); /* the pen is some pixels wide */
    const int middle = (area + p.bottom) / 2, x = bin_column(&p, 100), x_area = bin_column(&p, 20);
    assert_true(same_colour(pixel_at(&p, x, middle), colour_of(PANEL)));
    assert_in_range(pixel_at(&p, x_area, middle).red, 50, 100);
    int n_bright[2] = {0, 0}; /* left and right of the middle */
    for (int k = -8; k < 8; k++)
        n_bright[k > 0] += pixel_at(&p, x + k, middle).red > 150;
    assert_in_range(n_bright[0], 1, 2);
    assert_in_range(n_bright[1], 1, 2);
    free(p.pixels);
}

/* Bars that only the second side has set the scale too, and no marks of clipping are drawn. */
TEST(chart_shows_the_higher_of_both)
{
    struct picture p = draw_bars(
        BARS({0, 10}, {20, 100}, {30, 100}, {40, 100}, {255, 10}), BARS({60, 160}, {70, 160}),
        (struct ih_chart_options){.width = IH_CHART_WIDTH, .height = IH_CHART_HEIGHT});
    const int area = bar_top(&p, 20, 10), line = bar_top(&p, 60, 10);
    assert_in_range(line, p.top + 1, p.top + (p.bottom - p.top) / 8);
    assert_true(area > line + 50);
    assert_int_equal(count_colour(&p, WARNING, 0, 0, p.width, p.height), 0);
    free(p.pixels);
}

TEST(chart_sizes_are_checked)
{
    static struct ih_total totals[2];
    static struct ih_comparison c;
    unsigned char *file = NULL;
    size_t size = 0;
    struct ih_error err;
    for (unsigned i = 0; i < 2; i++) {
        begin_total(&totals[i]);
        add_image(&totals[i], 3, (const uint8_t[]){1, 2, 3, 0}, 5);
    }
    assert_int_equal(ih_totals_compare(&totals[0], &totals[1], &c, NULL), IH_OK);
    c.sides[0].path = c.sides[1].path = "a";
    const struct ih_chart_options tiny = {.width = 10, .height = 10};
    assert_int_equal(ih_chart_draw_comparison(&c, &tiny, &file, &size, &err), IH_USAGE);
    assert_null(file);
    const struct ih_chart_options least = {.width = IH_CHART_MIN_WIDTH,
                                           .height = IH_CHART_MIN_HEIGHT};
    assert_int_equal(ih_chart_draw_comparison(&c, &least, &file, &size, &err), IH_OK);
    free(file);
    end_totals(&totals[0], &totals[1]);
}
