/* The plot of a chart: bars, their colours, cut bars, and the scales. */
#include "tests/support/chart_picture.h"

/* ---- bars ---- */

static void test_constant_gray_is_one_bar(void **state)
{
    (void)state;
    struct ih_result *r = new_result(1);
    add_gray(r, 100, 640 * 480);
    struct picture p = draw_usual(r);
    int height = p.bottom - p.top;
    for (int v = 0; v < IH_BINS; v++) {
        if (v % 64 == 0 || v == 255) /* bins with grid lines */
            continue;
        int top = bar_top(&p, v, v == 40 ? 41 : 40);
        if (v == 100)
            assert_in_range(top, p.top + 1, p.top + height / 10);
        else
            assert_int_equal(top, p.bottom);
    }
    free(p.pixels);
}

static void test_red_is_drawn_at_its_values(void **state)
{
    (void)state;
    struct ih_result *r = new_result(3);
    for (unsigned v = 150; v < 170; v++)
        add_pixels(r, (const uint8_t[]){(uint8_t)v, 0, 0, 255}, 1000);
    struct picture p = draw_usual(r);
    double bin = (p.right - p.left) / (double)IH_BINS;
    int first = p.width, last = 0;
    for (int y = p.top; y < p.bottom; y++) {
        for (int x = p.left; x < p.right; x++) {
            struct colour c = pixel_at(&p, x, y);
            if (c.red < c.green + 60 || c.red < c.blue + 60)
                continue;
            first = x < first ? x : first;
            last = x > last ? x : last;
        }
    }
    assert_in_range(first, p.left + (int)(150 * bin) - 1, p.left + (int)(150 * bin) + 1);
    assert_in_range(last, p.left + (int)(170 * bin) - 1, p.left + (int)(170 * bin) + 1);
    free(p.pixels);
}

static void test_channels_add_up(void **state)
{
    (void)state;
    struct ih_result *r = new_result(3);
    for (unsigned v = 20; v < 30; v++) {
        uint8_t a = (uint8_t)v, b = (uint8_t)(v + 60), c = (uint8_t)(v + 120);
        add_pixels(r, (const uint8_t[]){a, a, b, 255}, 1000); /* red, green at 20, blue at 80 */
        add_pixels(r, (const uint8_t[]){c, c, c, 255}, 1000); /* all at 140 */
    }
    struct picture p = draw_usual(r);
    int y = p.bottom - (p.bottom - p.top) / 4;
    /* Sampled inside the luma line; bins 20 to 29 have luma too, at the same height. */
    struct colour yellow = pixel_at(&p, bin_column(&p, 25) + 1, y);
    struct colour blue = pixel_at(&p, bin_column(&p, 87), y);
    struct colour all = pixel_at(&p, bin_column(&p, 145), y);
    assert_true(yellow.red > 170 && yellow.green > 170 && yellow.blue < yellow.red - 60);
    assert_true(blue.blue > 170 && blue.red < 100 && blue.green < 150);
    assert_true(all.red > 200 && all.green > 200 && all.blue > 200);
    free(p.pixels);
}

static void test_gray_has_no_luma_line(void **state)
{
    (void)state;
    for (unsigned n_channels = 1; n_channels <= 3; n_channels += 2) {
        struct ih_result *r = new_result(n_channels);
        for (unsigned v = 50; v < 200; v++)
            add_gray(r, v, 1000 + 10 * v);
        struct picture p = draw_usual(r);
        int n = count_colour(&p, WHITE, p.left, p.top, p.right, p.bottom);
        if (n_channels == 1)
            assert_int_equal(n, 0);
        else
            assert_true(n > 100);
        free(p.pixels);
    }
}

/* A spike in a flat histogram is cut and marked, and the other bars look as they do without it. */
static void check_spike(unsigned value, uint64_t spike)
{
    int flat_top[2] = {0};
    for (int with_spike = 0; with_spike <= 1; with_spike++) {
        struct ih_result *r = new_result(1);
        for (unsigned v = 50; v < 200; v++)
            add_gray(r, v, 1000);
        add_gray(r, value, with_spike ? spike : 0);
        struct picture p = draw_usual(r);
        int x = bin_column(&p, (int)value);
        int marks = count_colour(&p, TEXT, x - 1, p.top - 12, x + 2, p.top);
        flat_top[with_spike] = bar_top(&p, 100, 20);
        if (with_spike) {
            assert_true(marks > 10);
            assert_false(
                same_colour(pixel_at(&p, x, p.top), pixel_at(&p, bin_column(&p, 20), p.top)));
        } else {
            assert_int_equal(marks, 0);
        }
        free(p.pixels);
    }
    assert_int_equal(flat_top[0], flat_top[1]);
}

static void test_spike_is_cut_and_marked(void **state)
{
    (void)state;
    check_spike(230, 1000000);
}

static void test_ends_are_cut_and_marked(void **state)
{
    (void)state;
    check_spike(0, 2000);
    check_spike(255, 2000);
    check_spike(255, 1000000);
}

static void test_ends_alone_are_not_cut(void **state)
{
    (void)state;
    struct ih_result *r = new_result(1);
    add_gray(r, 0, 700);
    add_gray(r, 255, 350);
    struct picture p = draw_usual(r);
    double height = p.bottom - p.top;
    /* At the edges of these bins, because grid lines go through their middles. */
    int low = bar_top_at(&p, p.left, bin_column(&p, 20));
    int high = bar_top_at(&p, p.right - 1, bin_column(&p, 20));
    assert_in_range(low, p.top + 1, p.top + (int)(0.1 * height));
    assert_in_range(2 * (p.bottom - high), p.bottom - low - 2, p.bottom - low + 2);
    assert_int_equal(count_colour(&p, TEXT, p.left - 8, p.top - 8, p.right + 8, p.top), 0);
    free(p.pixels);
}

/* ---- few pixels ---- */

static void test_one_pixel_is_a_bar(void **state)
{
    (void)state;
    struct ih_result *r = new_result(1);
    add_gray(r, 77, 1);
    struct picture p = draw_usual(r);
    assert_in_range(bar_top(&p, 77, 20), p.top + 1, p.top + (p.bottom - p.top) / 10);
    free(p.pixels);
}

static void test_no_pixels_are_no_bars(void **state)
{
    (void)state;
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        struct ih_result *r = new_result(n_channels);
        r->info.width = 0;
        struct picture p = draw_usual(r);
        int y = p.bottom - (p.bottom - p.top) / 8; /* below the text in the middle */
        for (int x = p.left; x < p.right; x++) {
            struct colour c = pixel_at(&p, x, y); /* panel or grid */
            assert_true(c.red < 60 && c.green < 60 && c.blue < 60);
        }
        free(p.pixels);
    }
}

/* ---- options ---- */

static void test_log_shows_what_linear_hides(void **state)
{
    (void)state;
    int height[2];
    for (int i = 0; i < 2; i++) {
        struct ih_result *r = new_result(1);
        for (unsigned v = 100; v < 140; v++)
            add_gray(r, v, 100000);
        add_gray(r, 50, 10);
        struct picture p =
            draw(r, (struct ih_chart_options){.width = 1024,
                                              .height = 640,
                                              .scale = ih_chart_scale_find(i ? "log" : "linear")});
        find_panel(&p);
        height[i] = p.bottom - bar_top(&p, 50, 20);
        free(p.pixels);
        free(r);
    }
    assert_true(height[0] <= 1);
    assert_true(height[1] > 50);
}

static void test_unknown_names(void **state)
{
    (void)state;
    assert_null(ih_chart_scale_find("cubic"));
    assert_null(ih_chart_scale_find(""));
    assert_null(ih_chart_theme_find("Dark"));
    assert_non_null(ih_chart_scale_find("sqrt"));
    assert_non_null(ih_chart_theme_find("dark"));
}

static void test_light_theme_is_light(void **state)
{
    (void)state;
    struct ih_result *r = new_result(3);
    add_gray(r, 100, 10);
    struct picture p =
        draw(r, (struct ih_chart_options){
                    .width = 640, .height = 400, .theme = ih_chart_theme_find("light")});
    struct colour corner = pixel_at(&p, 0, 0);
    assert_true(corner.red > 240 && corner.green > 240 && corner.blue > 240);
    free(p.pixels);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_gray_is_one_bar),
        cmocka_unit_test(test_red_is_drawn_at_its_values),
        cmocka_unit_test(test_channels_add_up),
        cmocka_unit_test(test_gray_has_no_luma_line),
        cmocka_unit_test(test_spike_is_cut_and_marked),
        cmocka_unit_test(test_ends_are_cut_and_marked),
        cmocka_unit_test(test_ends_alone_are_not_cut),
        cmocka_unit_test(test_one_pixel_is_a_bar),
        cmocka_unit_test(test_no_pixels_are_no_bars),
        cmocka_unit_test(test_log_shows_what_linear_hides),
        cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_light_theme_is_light),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
