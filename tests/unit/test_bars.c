/*
 * The chart of bars: as decoded pixels, found by the colours of the dark theme. The plot's edges
 * are found from the picture too, by its panel; where a value is in it is worked out here.
 */
#include "tests/support/bars_picture.h"

/* ---- bars ---- */

/* On a logarithmic axis equal ratios are equal lengths, wherever the axis begins. */
static void test_bars_end_where_the_axis_says(void **state)
{
    (void)state;
    const struct ih_bar bars[] = {a_bar("a", 1, NONE), a_bar("b", 10, NONE), a_bar("c", 100, NONE),
                                  a_bar("d", 1000, NONE)};
    struct picture p = draw_bars(bars, 4, 1024, 640);
    struct run runs[4];
    int y = 0;
    for (int i = 0; i < 4; i++)
        assert_true(next_bar(&p, first_series, &y, &runs[i]));
    const int decade = runs[1].end - runs[0].end;
    assert_true(decade > 100);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(runs[i].first, runs[0].first);
        assert_in_range(runs[i].end - runs[i - 1].end, decade - 1, decade + 1);
    }
    /* The axis begins at 0.5, the first step below the least value. */
    const double first_length = decade * log10(2);
    assert_true(fabs(runs[0].end - runs[0].first - first_length) < 2);
    /* The gridline of each decade is where its bar ends: it is seen in the rows of shorter bars. */
    assert_false(same_colour(pixel_at(&p, runs[2].end, runs[1].y),
                             pixel_at(&p, runs[2].end + 3, runs[1].y)));
    free(p.pixels);
}

static void test_series_have_colours(void **state)
{
    (void)state;
    struct ih_bar bars[] = {a_bar("a", 5, NONE), a_bar("b", 50, NONE)};
    bars[1].series = 1;
    struct picture p = draw_bars(bars, 2, 1024, 640);
    struct run one, two;
    int y = 0;
    assert_true(next_bar(&p, first_series, &y, &one));
    assert_true(next_bar(&p, second_series, &y, &two));
    assert_true(two.y > one.y && two.end > one.end);
    free(p.pixels);
}

static void test_no_value_is_no_bar(void **state)
{
    (void)state;
    const double none[] = {NONE, 0, -3, 1e-9, 1e300, (double)INFINITY};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct ih_bar bars[] = {a_bar("a", none[i], NONE), a_bar("b", none[i], 7)};
        struct run run;
        int y = 0;
        bars[0].note = bars[1].note = "not here";
        struct picture p = draw_bars(bars, 2, 1024, 640);
        assert_false(next_bar(&p, first_series, &y, &run));
        free(p.pixels);
    }
}

static void test_a_note_is_written_and_bad_news_warns(void **state)
{
    (void)state;
    for (int is_alarm = 0; is_alarm <= 1; is_alarm++) {
        struct ih_bar bars[] = {a_bar("a", 5, NONE), a_bar("b", NONE, NONE)};
        bars[1].note = "HHHHHHHHHH";
        bars[1].is_alarm = is_alarm;
        struct picture p = draw_bars(bars, 2, 1024, 640);
        const int n = count_colour(&p, WARNING, 0, 0, p.width, p.height);
        assert_true(is_alarm ? n > 10 : n == 0);
        free(p.pixels);
    }
}

static void test_the_least_is_marked_in_its_bar(void **state)
{
    (void)state;
    struct ih_bar bars[] = {a_bar("a", 10, NONE), a_bar("b", 100, NONE)};
    bars[1].least = 10;
    struct picture p = draw_bars(bars, 2, 1024, 640);
    struct run a, b;
    int y = 0;
    assert_true(next_bar(&p, first_series, &y, &a));
    assert_true(next_bar(&p, first_series, &y, &b));
    int x = a.first;
    while (x < p.width && !same_colour(pixel_at(&p, x, b.y + 2), colour_of(WHITE)))
        x++;
    assert_in_range(x, a.end - 1, a.end + 1);
    free(p.pixels);
}

/* ---- limits ---- */

/* How many rows of pixels have a light pixel near x: the length of a line there. */
static int line_length(const struct picture *p, int x, int y0, int y1)
{
    int n = 0;
    for (int y = y0; y < y1; y++) {
        bool is_light = false;
        for (int i = x - 1; i <= x + 2; i++)
            is_light = is_light || pixel_at(p, i, y).red > 150;
        n += is_light;
    }
    return n;
}

static void test_the_limit_is_a_line_through_its_rows(void **state)
{
    (void)state;
    struct ih_bar bars[] = {a_bar("cpu", 100, 100), a_bar("a", 10, 100), a_bar("b", 1, 100),
                            a_bar("gpu", 1000, 1000), a_bar("c", 100, 1000)};
    bars[0].is_limit = bars[3].is_limit = true;
    bars[3].series = bars[4].series = 1;
    struct picture p = draw_bars(bars, 5, 1024, 640);
    struct run a, b, c;
    int y = 0, end;
    assert_true(next_bar(&p, first_series, &y, &a));
    assert_true(next_bar(&p, first_series, &y, &b));
    end = y;
    assert_true(next_bar(&p, second_series, &y, &c));
    const int row = b.y - a.y;
    /* The limit's row between them is no full bar. */
    assert_in_range(c.y - b.y, 2 * row - 1, 2 * row + 1);
    assert_int_equal(line_length(&p, c.end, a.y, end), end - a.y);
    assert_int_equal(line_length(&p, c.end, b.y + row, c.y), 0);
    const int far = c.end + a.end - b.end; /* 1000 */
    assert_int_equal(line_length(&p, far, a.y, end), 0);
    assert_true(line_length(&p, far, c.y, y) == y - c.y);
    free(p.pixels);
}

/* ---- sizes ---- */

enum { MANY = 4000, PER_GROUP = 250 };

static void test_any_size_and_any_number_of_rows(void **state)
{
    (void)state;
    static const unsigned sizes[][2] = {{320, 200}, {320, 8192}, {8192, 200}, {640, 400}, {0, 0}};
    static const size_t counts[] = {0, 1, 7, PER_GROUP, MANY};
    struct ih_bar *bars = calloc(MANY, sizeof *bars);
    struct ih_bar_group groups[MANY / PER_GROUP];
    assert_non_null(bars);
    for (size_t i = 0; i < MANY; i++)
        bars[i] = a_bar("a label", (double)(i % 97) + 1, 100);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            size_t n_groups = 0;
            for (size_t i = 0; i < counts[k]; i += PER_GROUP)
                groups[n_groups++] =
                    (struct ih_bar_group){"title", "detail", bars + i,
                                          counts[k] - i < PER_GROUP ? counts[k] - i : PER_GROUP};
            const struct ih_bar_chart chart = a_chart(groups, n_groups);
            struct picture p = draw_chart(&chart, sizes[s][0], sizes[s][1]);
            assert_true(p.height <= IH_CHART_MAX);
            free(p.pixels);
        }
    free(bars);
}

static void test_the_usual_size_grows_with_the_rows(void **state)
{
    (void)state;
    struct ih_bar bars[60];
    for (size_t i = 0; i < 60; i++)
        bars[i] = a_bar("row", (double)i + 1, NONE);
    struct picture few = draw_bars(bars, 5, 0, 0), many = draw_bars(bars, 60, 0, 0);
    assert_int_equal(few.width, IH_CHART_WIDTH);
    assert_int_equal(few.height, IH_CHART_HEIGHT);
    assert_int_equal(many.width, IH_CHART_WIDTH);
    assert_true(many.height > 60 * 18);
    free(few.pixels);
    free(many.pixels);
}

static void test_sizes_out_of_range_are_refused(void **state)
{
    (void)state;
    static const unsigned sizes[][2] = {{319, 200}, {320, 199}, {8193, 640}, {1024, 8193}};
    const struct ih_bar_chart chart = a_chart(NULL, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct ih_chart_options options = {.width = sizes[i][0], .height = sizes[i][1]};
        unsigned char *png = NULL;
        size_t size = 0;
        struct ih_error err;
        assert_int_equal(ih_bars_draw(&chart, &options, &png, &size, &err), IH_USAGE);
        assert_null(png);
    }
}

static void test_long_text_stays_in_its_place(void **state)
{
    (void)state;
    char text[4000];
    memset(text, 'W', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *const facts[] = {"short", text, "never reached"};
    struct ih_bar bars[] = {a_bar(text, 5, 6), a_bar("b", NONE, NONE)};
    bars[1].note = text;
    const struct ih_bar_group group = {text, text, bars, 2};
    struct ih_bar_chart chart = a_chart(&group, 1);
    chart.title = chart.unit = chart.series[0] = chart.limit_meaning = text;
    chart.facts = facts;
    chart.n_facts = 3;
    struct picture p = draw_chart(&chart, 640, 400);
    for (int y = 0; y < p.height; y++)
        for (int x = p.width - 6; x < p.width; x++)
            assert_true(same_colour(pixel_at(&p, x, y), colour_of(PAGE)));
    free(p.pixels);
}

static void test_the_same_chart_is_the_same_picture(void **state)
{
    (void)state;
    const struct ih_bar bars[] = {a_bar("a", 3.7, 90), a_bar("b", 81, 90)};
    struct picture one = draw_bars(bars, 2, 777, 555), two = draw_bars(bars, 2, 777, 555);
    assert_true(same_picture(&one, &two));
    free(one.pixels);
    free(two.pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bars_end_where_the_axis_says),
        cmocka_unit_test(test_series_have_colours),
        cmocka_unit_test(test_no_value_is_no_bar),
        cmocka_unit_test(test_a_note_is_written_and_bad_news_warns),
        cmocka_unit_test(test_the_least_is_marked_in_its_bar),
        cmocka_unit_test(test_the_limit_is_a_line_through_its_rows),
        cmocka_unit_test(test_any_size_and_any_number_of_rows),
        cmocka_unit_test(test_the_usual_size_grows_with_the_rows),
        cmocka_unit_test(test_sizes_out_of_range_are_refused),
        cmocka_unit_test(test_long_text_stays_in_its_place),
        cmocka_unit_test(test_the_same_chart_is_the_same_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
