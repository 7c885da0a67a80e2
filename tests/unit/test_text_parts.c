/* What the summary is put together from: columns of names, and heights of histograms. */
#define _POSIX_C_SOURCE 200809L

#include "base/text.h"
#include "output/text_parts.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int use_utf8(void **state)
{
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8") && !setlocale(LC_CTYPE, "en_US.UTF-8"))
        fprintf(stderr, "# no UTF-8 locale here\n");
    return 0;
}

static void needs_utf8(void)
{
    if (MB_CUR_MAX < 4)
        skip();
}

/* ---- names ---- */

static void test_width(void **state)
{
    (void)state;
    needs_utf8();
    assert_int_equal(ih_text_width(""), 0);
    assert_int_equal(ih_text_width("photo.png"), 9);
    assert_int_equal(ih_text_width("\u65e5\u672c"), 4); /* East Asian: two columns each */
    assert_int_equal(ih_text_width("e\u0301"), 1);      /* a combining mark: none */
    assert_int_equal(ih_text_width("\U0001f600"), 2);   /* an emoji */
    assert_int_equal(ih_text_width("\u00e4\u20ac"), 2);
}

static void check_short(const char *text, unsigned columns, bool unicode, const char *expected)
{
    char *shown = NULL;
    size_t size;
    FILE *f = open_memstream(&shown, &size);
    assert_non_null(f);
    ih_text_put_short(f, text, columns, unicode);
    fclose(f);
    if (expected)
        assert_string_equal(shown, expected);
    if (columns >= 3)
        assert_true(ih_text_width(shown) <= columns);
    for (const char *p = shown; *p;) { /* characters are whole */
        unsigned long code_point;
        size_t n = ih_utf8_length(p, &code_point);
        assert_true(n > 0);
        p += n;
    }
    free(shown);
}

static void test_short(void **state)
{
    (void)state;
    needs_utf8();
    check_short("photos/2026/summer/beach.png", 0, true, "photos/2026/summer/beach.png");
    check_short("photos/2026/summer/beach.png", 28, true, "photos/2026/summer/beach.png");
    check_short("photos/2026/summer/beach.png", 27, true, "photos/2\u20266/summer/beach.png");
    check_short("photos/2026/summer/beach.png", 16, true, "photo\u2026/beach.png");
    check_short("photos/2026/summer/beach.png", 16, false, "phot...beach.png");
    check_short("\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e", 8, true, "\u65e5\u2026\u672c\u8a9e");
    check_short("ae\u0301io\u0301u", 5, true, "ae\u0301io\u0301u");
    check_short("ae\u0301io\u0301u", 4, true, "a\u2026o\u0301u");
    check_short("aae\u0301iou", 5, true, "a\u2026iou"); /* no mark without its letter */
}

static void test_short_fits_whatever_the_width(void **state)
{
    (void)state;
    needs_utf8();
    static const char *const texts[] = {"abcdefghijklmnop", "\u65e5\u672c\u8a9e\u306e\u6642\u9593",
                                        "a\u0301b\u0301c\u0301d\u0301e\u0301f\u0301",
                                        "x\U0001f600y\U0001f600z\U0001f600"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (unsigned columns = 1; columns < 20; columns++) {
            check_short(texts[i], columns, true, NULL);
            check_short(texts[i], columns, false, NULL);
        }
}

/* ---- heights ---- */

static struct ih_histogram *new_histogram(unsigned n_channels)
{
    struct ih_histogram *h = malloc(sizeof *h);
    assert_non_null(h);
    ih_histogram_clear(h, n_channels);
    return h;
}

/* n pixels of one value in every plane. */
static void add_pixels(struct ih_histogram *h, unsigned value, uint64_t n)
{
    for (unsigned p = 0; p < IH_PLANES; p++) {
        h->bins[p][value] += n;
        h->sum[p] += n * value;
    }
    h->n_pixels += n;
}

static const unsigned luma_plane[] = {IH_LUMA}, rgb_planes[] = {0, 1, 2};

static void test_heights(void **state)
{
    (void)state;
    struct ih_plot plot = {.n_columns = 64, .n_rows = 4, .n_curves = 1};
    struct ih_histogram *h = new_histogram(1);
    ih_plot_fill(&plot, h, luma_plane);
    for (unsigned c = 0; c < 64; c++)
        assert_int_equal(plot.heights[0][c], 0);
    add_pixels(h, 4, 1000);    /* column 1: all of the height */
    add_pixels(h, 8, 400);     /* columns are of four values */
    add_pixels(h, 11, 100);    /* column 2: half of it */
    add_pixels(h, 12, 1);      /* what is there is seen */
    add_pixels(h, 0, 1000000); /* black does not set the scale */
    add_pixels(h, 255, 500);
    ih_plot_fill(&plot, h, luma_plane);
    assert_int_equal(plot.heights[0][1], 32);
    assert_false(plot.is_cut[0][1]);
    assert_int_equal(plot.heights[0][2], 16);
    assert_int_equal(plot.heights[0][3], 1);
    assert_int_equal(plot.heights[0][4], 0);
    assert_int_equal(plot.heights[0][0], 32);
    assert_true(plot.is_cut[0][0]);
    assert_int_equal(plot.heights[0][63], 16);
    free(h);
}

static void test_heights_share_a_scale(void **state)
{
    (void)state;
    struct ih_plot plot = {.n_columns = 256, .n_rows = 1, .n_curves = 3};
    struct ih_histogram *h = new_histogram(3);
    h->bins[0][10] = 100;
    h->bins[1][20] = 200;
    h->bins[2][30] = 50;
    ih_plot_fill(&plot, h, rgb_planes);
    assert_int_equal(plot.heights[0][10], 4);
    assert_int_equal(plot.heights[1][20], 8);
    assert_int_equal(plot.heights[2][30], 2);
    free(h);
}

static void test_heights_of_a_spike(void **state)
{
    (void)state;
    struct ih_plot plot = {.n_columns = 64, .n_rows = 4, .n_curves = 1};
    struct ih_histogram *h = new_histogram(1);
    for (unsigned v = 1; v < 255; v++)
        add_pixels(h, v, 100);
    add_pixels(h, 100, 1000000);
    ih_plot_fill(&plot, h, luma_plane);
    assert_int_equal(plot.heights[0][10], 32);
    assert_false(plot.is_cut[0][10]);
    assert_true(plot.is_cut[0][25]);
    free(h);
}

static void test_heights_of_black_and_white(void **state)
{
    (void)state;
    struct ih_plot plot = {.n_columns = 32, .n_rows = 1, .n_curves = 1};
    struct ih_histogram *h = new_histogram(1);
    add_pixels(h, 0, 100);
    add_pixels(h, 255, 50);
    ih_plot_fill(&plot, h, luma_plane);
    assert_int_equal(plot.heights[0][0], 8);
    assert_int_equal(plot.heights[0][31], 4);
    assert_false(plot.is_cut[0][0]);
    free(h);
}

static void check_row(const struct ih_plot *plot, unsigned row, bool unicode, const char *expected)
{
    char *shown = NULL;
    size_t size;
    FILE *f = open_memstream(&shown, &size);
    assert_non_null(f);
    ih_plot_put_row(f, plot, row, unicode);
    fclose(f);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_rows(void **state)
{
    (void)state;
    struct ih_plot plot = {.n_columns = 8, .n_rows = 2, .n_curves = 1};
    const unsigned heights[8] = {0, 1, 8, 9, 16, 0, 3, 0};
    memcpy(plot.heights[0], heights, sizeof heights);
    check_row(&plot, 0, true, " \u2581\u2588\u2588\u2588 \u2583"); /* and no blanks at the end */
    check_row(&plot, 1, true, "   \u2581\u2588");
    check_row(&plot, 0, false, " .### :");
    plot.is_cut[0][4] = true;
    check_row(&plot, 1, true, "   \u2581\u25b2");
    check_row(&plot, 1, false, "   .^");
}

/* Colours are numbered as mixtures of light: 1 red, 2 green, 3 both, 7 all. */
static void test_rows_in_colour(void **state)
{
    (void)state;
    struct ih_plot plot = {.n_columns = 4, .n_rows = 1, .n_curves = 3};
    plot.heights[0][0] = 4;                         /* red */
    plot.heights[1][1] = 8, plot.heights[0][1] = 8; /* yellow */
    plot.heights[1][2] = 8, plot.heights[0][2] = 3; /* yellow, above it green */
    for (unsigned i = 0; i < 3; i++)
        plot.heights[i][3] = 8;
    check_row(&plot, 0, true,
              "\033[0;31m\u2584\033[0;33m\u2588\033[0;33;42m\u2583\033[0m\u2588\033[0m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_short_fits_whatever_the_width),
        cmocka_unit_test(test_heights),
        cmocka_unit_test(test_heights_share_a_scale),
        cmocka_unit_test(test_heights_of_a_spike),
        cmocka_unit_test(test_heights_of_black_and_white),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_in_colour),
    };
    return cmocka_run_group_tests(tests, use_utf8, NULL);
}
