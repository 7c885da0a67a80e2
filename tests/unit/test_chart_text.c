/* What surrounds the plot of a chart: title, marks of clipping, subtitle; and charts of every size.
 */
#include "tests/support/chart_picture.h"

#include <locale.h>

/* ---- the same again ---- */

static struct ih_result *new_smooth_result(unsigned n_channels)
{
    struct ih_result *r = new_result(n_channels);
    for (unsigned v = 1; v < 240; v++) {
        uint8_t a = (uint8_t)v, b = (uint8_t)(v + 7), c = (uint8_t)(v + 14);
        add_pixels(r, (const uint8_t[]){a, n_channels == 2 ? 255 : b, c, 255},
                   1000 + v * (240 - v));
    }
    return r;
}

static void test_same_input_same_bytes(void **state)
{
    (void)state;
    struct ih_result *r = new_smooth_result(3);
    struct ih_chart_options options = {.width = IH_CHART_WIDTH, .height = IH_CHART_HEIGHT};
    unsigned char *png[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    assert_int_equal(ih_chart_draw(r, &options, &png[0], &size[0], NULL), IH_OK);
    setlocale(LC_ALL, "de_DE.UTF-8"); /* a comma as decimal point, where the machine has it */
    assert_int_equal(ih_chart_draw(r, &options, &png[1], &size[1], NULL), IH_OK);
    setlocale(LC_ALL, "C");
    assert_true(size[0] > 1000);
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(png[0], png[1], size[0]);
    free(png[0]);
    free(png[1]);
    free(r);
}

/* ---- sizes ---- */

static void test_sizes_out_of_range(void **state)
{
    (void)state;
    static const unsigned sizes[][2] = {{0, 0},      {319, 640},        {320, 199},
                                        {8193, 640}, {1024, 8193},      {1024, 0},
                                        {0, 640},    {UINT32_MAX, 640}, {640, UINT32_MAX}};
    struct ih_result *r = new_smooth_result(3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *png = (unsigned char *)r;
        size_t size = 1;
        struct ih_error err = {0};
        struct ih_chart_options options = {.width = sizes[i][0], .height = sizes[i][1]};
        assert_int_equal(ih_chart_draw(r, &options, &png, &size, &err), IH_USAGE);
        assert_int_equal(err.status, IH_USAGE);
        assert_null(png);
    }
    free(r);
}

/* Nothing reaches the border, and most of the picture is plot. */
static void check_size(struct ih_result *r, unsigned width, unsigned height)
{
    struct picture p = draw(r, (struct ih_chart_options){.width = width, .height = height});
    find_panel(&p);
    assert_true((p.right - p.left) * 3 > p.width * 2);
    assert_true((p.bottom - p.top) * 100 > p.height * 35);
    enum { BORDER = 2 };
    int n = count_colour(&p, PAGE, 0, 0, p.width, BORDER) +
            count_colour(&p, PAGE, 0, p.height - BORDER, p.width, p.height) +
            count_colour(&p, PAGE, 0, BORDER, BORDER, p.height - BORDER) +
            count_colour(&p, PAGE, p.width - BORDER, BORDER, p.width, p.height - BORDER);
    assert_int_equal(n, 2 * BORDER * (p.width + p.height - 2 * BORDER));
    free(p.pixels);
}

static void test_sizes(void **state)
{
    (void)state;
    static const unsigned sizes[][2] = {{320, 200},  {321, 203},  {320, 8192}, {8192, 200},
                                        {1024, 640}, {640, 1000}, {777, 333},  {3000, 2000}};
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        struct ih_result *r = new_smooth_result(n_channels);
        r->path = "a name that is longer than any of the smaller charts is wide: IMG_20260314_1592"
                  "65358979323846264338327950288419716939937510582097494459230781640628620899.jpeg";
        r->info.width = r->info.height = UINT64_MAX / 3;
        add_pixels(r, (const uint8_t[]){0, 0, 0, 0}, UINT64_C(123456789012345));
        add_pixels(r, (const uint8_t[]){255, 255, 255, 255}, UINT64_C(98765432109876));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_size(r, sizes[i][0], sizes[i][1]);
        free(r);
    }
}

static void test_largest_size(void **state)
{
    (void)state;
    struct ih_result *r = new_smooth_result(3);
    check_size(r, IH_CHART_MAX, IH_CHART_MAX);
    free(r);
}

/* ---- clipping ---- */

/* Pixels of the triangle's colour in the left and the right half of the picture. */
static void count_marks(uint64_t any_low, uint64_t all_low, uint64_t any_high, uint64_t all_high,
                        int marks[2])
{
    struct ih_result *r = new_smooth_result(3);
    struct ih_histogram *h = &r->histogram;
    h->any_low = any_low;
    h->all_low = all_low;
    h->any_high = any_high;
    h->all_high = all_high;
    struct picture p = draw_usual(r);
    marks[0] = count_colour(&p, WARNING, 0, 0, p.width / 2, p.height);
    marks[1] = count_colour(&p, WARNING, p.width / 2, 0, p.width, p.height);
    free(p.pixels);
}

static void test_triangles_follow_the_counts(void **state)
{
    (void)state;
    int marks[2];
    count_marks(0, 0, 0, 0, marks); /* one million pixels, bins 0 and 255 are empty throughout */
    assert_int_equal(marks[0], 0);
    assert_int_equal(marks[1], 0);
    count_marks(1, 0, 0, 0, marks);
    assert_true(marks[0] > 8);
    assert_int_equal(marks[1], 0);
    count_marks(0, 0, 1, 0, marks);
    assert_int_equal(marks[0], 0);
    assert_true(marks[1] > 8);
}

static void test_triangles_are_filled_where_all_channels_clip(void **state)
{
    (void)state;
    int some[2], all[2];
    count_marks(10, 0, 10, 0, some);
    count_marks(10, 1, 10, 1, all);
    assert_true(all[0] > some[0]);
    assert_true(all[1] > some[1]);
}

/* ---- words ---- */

static struct picture draw_named(const char *path)
{
    struct ih_result *r = new_smooth_result(1);
    r->path = path;
    return draw_usual(r);
}

static bool named_alike(const char *path, const char *other)
{
    struct picture a = draw_named(path), b = draw_named(other);
    bool alike = same_picture(&a, &b);
    free(a.pixels);
    free(b.pixels);
    return alike;
}

static void test_title_is_the_files_name(void **state)
{
    (void)state;
    assert_true(named_alike("some/where/a.png", "a.png"));
    assert_false(named_alike("a.png", "b.png"));
    assert_false(named_alike("\xce\xb1.png", "\xce\xb2.png"));
    assert_true(named_alike("-", "standard input"));
}

static void test_hidden_characters_are_shown(void **state)
{
    (void)state;
    assert_false(named_alike("a\nb.png", "ab.png"));
    assert_false(named_alike("a\xff.png", "a\xfe.png"));
    assert_false(named_alike("a\xe2\x80\x8b.png", "a.png"));
}

static void test_long_names_lose_their_middle(void **state)
{
    (void)state;
    char name[3][600];
    for (int i = 0; i < 3; i++) {
        memset(name[i], 'm', sizeof name[i] - 1);
        name[i][sizeof name[i] - 1] = '\0';
    }
    name[1][300] = 'X';                /* not seen */
    name[2][sizeof name[2] - 2] = 'X'; /* seen */
    assert_true(named_alike(name[0], name[1]));
    assert_false(named_alike(name[0], name[2]));
}

static void test_transparency_is_told_not_drawn(void **state)
{
    (void)state;
    struct picture p[2];
    for (int i = 0; i < 2; i++) {
        struct ih_result *r = new_smooth_result(4);
        r->histogram.bins[3][255] -= i ? 5000 : 0;
        r->histogram.bins[3][0] += i ? 5000 : 0;
        p[i] = draw_usual(r);
    }
    assert_false(same_picture(&p[0], &p[1]));
    size_t above_footer = (size_t)p[0].bottom * (size_t)p[0].width * 3;
    assert_memory_equal(p[0].pixels, p[1].pixels, above_footer);
    free(p[0].pixels);
    free(p[1].pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_input_same_bytes),
        cmocka_unit_test(test_sizes_out_of_range),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_largest_size),
        cmocka_unit_test(test_triangles_follow_the_counts),
        cmocka_unit_test(test_triangles_are_filled_where_all_channels_clip),
        cmocka_unit_test(test_title_is_the_files_name),
        cmocka_unit_test(test_hidden_characters_are_shown),
        cmocka_unit_test(test_long_names_lose_their_middle),
        cmocka_unit_test(test_transparency_is_told_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
