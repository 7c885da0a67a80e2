/* Coverage against areas known from geometry, blending, text widths, and labels. */
#include "tests/support/test.h"

#include "base/text.h"
#include "chart/canvas.h"
#include "chart/drawing.h"

enum { SIDE = 16, PIXEL = IH_SUBPIXELS };

/* Computes the weights of a canvas of SIDE x SIDE pixels. Returns their sum in pixels. */
static double cover(const struct ih_path *path, uint32_t weights[SIDE][SIDE])
{
    struct ih_coverage c;
    struct ih_coverage_row row;
    double area = 0;
    memset(weights, 0, SIDE * sizeof *weights);
    assert_true(ih_coverage_init(&c, SIDE, SIDE));
    assert_true(ih_coverage_begin(&c, path));
    while (ih_coverage_next(&c, &row)) {
        for (size_t i = 0; i < row.n_spans; i++) {
            assert_in_range(row.spans[i].weight, 1, IH_COVERED);
            for (int32_t x = row.spans[i].first; x < row.spans[i].end; x++) {
                assert_int_equal(weights[row.y][x], 0);
                weights[row.y][x] = row.spans[i].weight;
                area += (double)row.spans[i].weight / IH_COVERED;
            }
        }
    }
    ih_coverage_reset(&c);
    return area;
}

TEST(rectangle_covers_its_area)
{
    uint32_t w[SIDE][SIDE];
    struct ih_path path = {0};
    /* x from 2 1/4 to 5 1/2, y from 3 to 4 3/4 */
    ih_path_rectangle(&path, 2 * PIXEL + PIXEL / 4, 3 * PIXEL, 5 * PIXEL + PIXEL / 2,
                      4 * PIXEL + PIXEL * 3 / 4);
    assert_true(cover(&path, w) == 3.25 * 1.75);
    assert_int_equal(w[3][1], 0);
    assert_int_equal(w[3][2], IH_COVERED * 3 / 4);
    assert_int_equal(w[3][3], IH_COVERED);
    assert_int_equal(w[3][5], IH_COVERED / 2);
    assert_int_equal(w[3][6], 0);
    assert_int_equal(w[4][2], IH_COVERED * 9 / 16);
    assert_int_equal(w[4][4], IH_COVERED * 3 / 4);
    assert_int_equal(w[5][3], 0);
    ih_path_reset(&path);
}

TEST(triangle_covers_its_area)
{
    uint32_t w[SIDE][SIDE];
    struct ih_path path = {0};
    ih_path_move(&path, 1 * PIXEL, 2 * PIXEL);
    ih_path_line(&path, 14 * PIXEL, 5 * PIXEL);
    ih_path_line(&path, 4 * PIXEL, 15 * PIXEL);
    double exact = (13.0 * 13 - 3.0 * 3) / 2;
    double area = cover(&path, w);
    assert_true(area > exact - 0.02 && area < exact + 0.02);
    assert_int_equal(w[6][5], IH_COVERED);
    assert_int_equal(w[1][1], 0);
    assert_int_equal(w[15][4], 0);
    ih_path_reset(&path);
}

TEST(shapes_beyond_the_canvas)
{
    uint32_t w[SIDE][SIDE];
    struct ih_path path = {0};
    ih_path_rectangle(&path, -100 * PIXEL, -3 * PIXEL, 2 * PIXEL, 100 * PIXEL);
    assert_true(cover(&path, w) == 2.0 * SIDE);
    ih_path_clear(&path);
    ih_path_rectangle(&path, 12 * PIXEL, 15 * PIXEL, 100 * PIXEL, 16 * PIXEL);
    assert_true(cover(&path, w) == 4.0);
    ih_path_clear(&path);
    ih_path_rectangle(&path, SIDE * PIXEL, 0, 100 * PIXEL, 5 * PIXEL);
    ih_path_rectangle(&path, 0, SIDE * PIXEL, 5 * PIXEL, 100 * PIXEL);
    assert_true(cover(&path, w) == 0);
    ih_path_reset(&path);
}

TEST(holes_and_overlaps)
{
    uint32_t w[SIDE][SIDE];
    struct ih_path path = {0};
    ih_path_rectangle(&path, 0, 0, 10 * PIXEL, 10 * PIXEL);
    ih_path_rectangle(&path, 8 * PIXEL, 2 * PIXEL, 4 * PIXEL,
                      6 * PIXEL); /* in the opposite direction */
    assert_true(cover(&path, w) == 100.0 - 16.0);
    ih_path_clear(&path);
    ih_path_rectangle(&path, 0, 0, 4 * PIXEL, 4 * PIXEL);
    ih_path_rectangle(&path, 2 * PIXEL, 0, 6 * PIXEL, 4 * PIXEL);
    assert_true(cover(&path, w) == 24.0);
    ih_path_reset(&path);
}

static uint8_t encoded[4 * 4 * 3];

static enum ih_status keep_pixels(const struct ih_chart_page *page, const uint8_t *pixels,
                                  struct ih_bytes *file, struct ih_error *err)
{
    (void)page, (void)file, (void)err;
    memcpy(encoded, pixels, sizeof encoded);
    return IH_OK;
}

TEST(blending)
{
    static const struct {
        enum ih_blend mode;
        uint8_t opacity, expected;
    } cases[] = {
        {IH_BLEND_NORMAL, 255, 200},
        {IH_BLEND_NORMAL, 51, 120},  /* a fifth of the way from 100 to 200 */
        {IH_BLEND_SCREEN, 255, 222}, /* 100 + 200 - 100 * 200 / 255 = 221.6 */
        {IH_BLEND_SCREEN, 0, 100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ih_canvas *canvas = NULL;
        const struct ih_chart_page page = {.width = 4, .height = 4, .background = {100, 100, 100}};
        struct ih_paint paint = {{200, 200, 200}, cases[i].opacity, cases[i].mode};
        struct ih_path path = {0};
        assert_int_equal(ih_raster_open(&page, keep_pixels, &canvas, NULL), IH_OK);
        ih_path_rectangle(&path, PIXEL, PIXEL, 3 * PIXEL, 2 * PIXEL);
        canvas->fill(canvas, &path, &paint);
        assert_int_equal(canvas->status, IH_OK);
        assert_int_equal(canvas->finish(canvas, NULL), IH_OK);
        assert_int_equal(encoded[(4 + 1) * 3], cases[i].expected);
        assert_int_equal(encoded[(4 + 3) * 3], 100);
        ih_path_reset(&path);
        ih_canvas_close(canvas);
    }
}

TEST(width_and_shortening)
{
    struct ih_glyphs *g = NULL;
    assert_int_equal(ih_glyphs_open(&g, NULL), IH_OK);
    int32_t one = ih_glyphs_width(g, 20, "m"), ten = ih_glyphs_width(g, 20, "mmmmmmmmmm");
    assert_true(one > 0 && abs(ten - 10 * one) <= 10);
    for (int32_t width = 0; width < 300 * PIXEL; width += 5 * PIXEL) {
        char text[64] = "beginning \xce\xb1\xce\xb2\xce\xb3\xce\xb4\xce\xb5 middle end.png";
        const int32_t full = ih_glyphs_width(g, 20, text);
        ih_glyphs_shorten(g, 20, width, text);
        assert_true(ih_glyphs_width(g, 20, text) <= width);
        assert_int_equal(strstr(text, "\xe2\x80\xa6") != NULL, width < full && text[0] != '\0');
        for (size_t i = 0, n = 0; text[i]; i += n) { /* no character is cut in two */
            unsigned long c = 0;
            n = ih_utf8_length(text + i, &c);
            assert_true(n > 0);
        }
    }
    ih_glyphs_close(g);
}

/* Draws each glyph of a line alone, from left to right. */
static void draw_glyphs(const struct ih_glyphs *g, struct ih_path *path, const char *line)
{
    char before[64] = "";
    unsigned long c = 0;
    for (size_t i = 0, n = 0; line[i]; i += n) {
        char glyph[5] = "";
        n = ih_utf8_length(line + i, &c);
        memcpy(glyph, line + i, n);
        memcpy(before, line, i);
        before[i] = '\0';
        ih_glyphs_outline(g, path, 1000 + ih_glyphs_width(g, 20, before), 5000, 20, glyph);
    }
}

TEST(right_to_left)
{
    static const struct {
        const char *text, *line; /* as the eye sees it, from the left */
    } cases[] = {
        {"abc.png", "abc.png"},
        {"a-\u05d0\u05d1\u05d2-1", "a-\u05d2\u05d1\u05d0-1"},
        {"\u05d0\u05d1 \u05d2\u05d3.png", "\u05d3\u05d2 \u05d1\u05d0.png"},
        {"x \u0645\u0631\u062d 12", "x \u062d\u0631\u0645 12"},
        {"\u0645\u0661\u0662", "\u0645\u0661\u0662"},             /* a number */
        {"\u05d0\u05d1\u05b8\u05d2", "\u05d2\u05d1\u05b8\u05d0"}, /* a mark stays on its letter */
    };
    struct ih_glyphs *g = NULL;
    assert_int_equal(ih_glyphs_open(&g, NULL), IH_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ih_path path = {0}, expected = {0};
        ih_glyphs_outline(g, &path, 1000, 5000, 20, cases[i].text);
        draw_glyphs(g, &expected, cases[i].line);
        assert_int_equal(path.n_points, expected.n_points);
        for (size_t k = 0; k < path.n_points; k++)
            if (abs(path.points[k].x - expected.points[k].x) > 1 ||
                path.points[k].y != expected.points[k].y)
                fail_msg("%s: point %zu", cases[i].text, k);
        ih_path_reset(&path);
        ih_path_reset(&expected);
    }
    ih_glyphs_close(g);
}

TEST(names)
{
    static const struct {
        const char *path, *label;
    } cases[] = {
        {"some/where/a.png", "a.png"},
        {"a", "a"},
        {"dir/", "dir/"},
        {"", ""},
        {"-", "standard input"},
        {"\xce\xb1\xce\xb2.png", "\xce\xb1\xce\xb2.png"},
        {"a\nb\x1b[31m", "a\\nb\\x1B[31m"},
        {"a\\nb", "a\\\\nb"},
        {"\xff\xe2\x82", "\\xFF\\xE2\\x82"},
        {"a\xe2\x80\xaegnp.exe", "a\\u{202e}gnp.exe"},
        {"\xc2\xad\xf3\xa0\x80\x81", "\\u{ad}\\u{e0001}"},
        {"\xc2\x80\x7f", "\\u{80}\\x7F"},
        {"\xef\xbf\xbe\xef\xbf\xbf", "\\u{fffe}\\u{ffff}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *label = ih_label_name(cases[i].path);
        assert_string_equal(label, cases[i].label);
        free(label);
    }
}

struct number {
    uint64_t n;
    const char *label;
};

static void check_numbers(void (*format)(char[IH_LABEL_MAX], uint64_t), const struct number cases[],
                          size_t n_cases)
{
    for (size_t i = 0; i < n_cases; i++) {
        char label[IH_LABEL_MAX];
        format(label, cases[i].n);
        assert_string_equal(label, cases[i].label);
    }
}

TEST(counts)
{
    static const struct number cases[] = {
        {0, "0"},           {1, "1"},         {999, "999"},          {1000, "1k"},
        {1500, "1.5k"},     {1250, "1.25k"},  {1254, "1.25k"},       {1255, "1.26k"},
        {12345, "12.3k"},   {999499, "999k"}, {999500, "1M"},        {2000000, "2M"},
        {5000000000, "5G"}, {9995, "10k"},    {UINT64_MAX, "18.4E"}, {123456789012345, "123T"},
    };
    check_numbers(ih_label_count, cases, sizeof cases / sizeof *cases);
}

TEST(megapixels)
{
    static const struct number cases[] = {
        {1, "0.000001"},  {153600, "0.15"},  {1000000, "1"},     {23456789, "23.5"},
        {24000000, "24"}, {99990000, "100"}, {123456789, "123"}, {UINT64_MAX, "18446744073710"},
    };
    check_numbers(ih_label_megapixels, cases, sizeof cases / sizeof *cases);
}

TEST(percentages)
{
    static const struct {
        uint64_t part, total;
        const char *number;
    } cases[] = {{0, 7, "0"},
                 {7, 7, "100"},
                 {1, 3, "33.3"},
                 {1, 1000000, "<0.01"},
                 {1, 10000, "0.01"},
                 {9994, 100000, "9.99"},
                 {99951, 1000000, "10.0"},
                 {9999, 10000, ">99.9"},
                 {UINT64_MAX - 1, UINT64_MAX, ">99.9"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char label[IH_LABEL_MAX], expected[IH_LABEL_MAX];
        ih_label_percent(label, cases[i].part, cases[i].total);
        strcat(strcpy(expected, cases[i].number), "\xe2\x80\xaf%");
        assert_string_equal(label, expected);
    }
}
