/* Charts as decoded pixels: bars and their colours, scales, sizes, marks of clipping, and text. */
#include "base/jpeg_file.h"
#include "chart/drawing.h"
#include "tests/support/chart_picture.h"
#include <locale.h>

/* ---- bars ---- */

TEST(constant_gray_is_one_bar)
{
    struct ih_result *r = new_result(1);
    add_gray(r, 100, 640 * 480);
    struct picture p = draw_usual(r);
    int height = p.bottom - p.top;
    for (int v = 0; v < IH_BINS; v++) {
        if (v % 64 == 0 || v % 85 == 0) /* bins with grid lines and guides */
            continue;
        int top = bar_top(&p, v, v == 40 ? 41 : 40);
        if (v == 100)
            assert_in_range(top, p.top + 1, p.top + height / 10);
        else
            assert_int_equal(top, p.bottom);
    }
    free(p.pixels);
}

TEST(red_is_drawn_at_its_values)
{
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

TEST(channels_add_up)
{
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

TEST(gray_has_no_luma_line)
{
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

TEST(spike_is_cut_and_marked)
{
    check_spike(230, 1000000);
}

TEST(ends_are_cut_and_marked)
{
    check_spike(0, 2000);
    check_spike(255, 2000);
    check_spike(255, 1000000);
}

TEST(a_bright_sky_does_not_flatten_the_body)
{
    check_spike(252, 3000);
}

/* The peak of a smooth histogram is more than the 98th percentile, and is shown whole. */
TEST(smooth_peaks_are_not_cut)
{
    struct ih_result *r = new_result(1);
    for (unsigned v = 60; v < 180; v++) {
        const uint64_t slope = v < 120 ? v - 60 : 180 - v;
        add_gray(r, v, 1 + slope * slope);
    }
    struct picture p = draw_usual(r);
    assert_in_range(bar_top(&p, 120, 20), p.top + 1, p.top + (p.bottom - p.top) / 10);
    assert_int_equal(count_colour(&p, TEXT, p.left, p.top - 8, p.right, p.top), 0);
    free(p.pixels);
}

TEST(ends_alone_are_not_cut)
{
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

TEST(one_pixel_is_a_bar)
{
    struct ih_result *r = new_result(1);
    add_gray(r, 77, 1);
    struct picture p = draw_usual(r);
    assert_in_range(bar_top(&p, 77, 20), p.top + 1, p.top + (p.bottom - p.top) / 10);
    free(p.pixels);
}

TEST(no_pixels_are_no_bars)
{
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        struct ih_result *r = new_result(n_channels);
        r->info.width = 0;
        struct picture p = draw_usual(r);
        int y = p.bottom - (p.bottom - p.top) / 8; /* below the text in the middle */
        for (int x = p.left; x < p.right; x++) {
            struct colour c = pixel_at(&p, x, y); /* panel, grid or guide */
            assert_true(c.red < 90 && c.green < 90 && c.blue < 90);
        }
        free(p.pixels);
    }
}

/* ---- options ---- */

TEST(log_shows_what_linear_hides)
{
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
        free_result(r);
    }
    assert_true(height[0] <= 1);
    assert_true(height[1] > 50);
}

TEST(unknown_names)
{
    assert_null(ih_chart_scale_find("cubic"));
    assert_null(ih_chart_scale_find(""));
    assert_null(ih_chart_theme_find("Dark"));
    assert_non_null(ih_chart_scale_find("sqrt"));
    assert_non_null(ih_chart_theme_find("dark"));
}

TEST(light_theme_is_light)
{
    struct ih_result *r = new_result(3);
    add_gray(r, 100, 10);
    struct picture p =
        draw(r, (struct ih_chart_options){
                    .width = 640, .height = 400, .theme = ih_chart_theme_find("light")});
    struct colour corner = pixel_at(&p, 0, 0);
    assert_true(corner.red > 240 && corner.green > 240 && corner.blue > 240);
    free(p.pixels);
    free_result(r);
}

/* ---- determinism ---- */

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

TEST(same_input_same_bytes)
{
    struct ih_result *r = new_smooth_result(3);
    struct ih_chart_options options = {.width = IH_CHART_WIDTH, .height = IH_CHART_HEIGHT};
    unsigned char *png[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    assert_int_equal(ih_chart_draw(r, &options, &png[0], &size[0], NULL), IH_OK);
    setlocale(LC_ALL, "de_DE.UTF-8"); /* a decimal comma, if the machine has this locale */
    assert_int_equal(ih_chart_draw(r, &options, &png[1], &size[1], NULL), IH_OK);
    setlocale(LC_ALL, "C");
    assert_true(size[0] > 1000);
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(png[0], png[1], size[0]);
    free(png[0]);
    free(png[1]);
    free_result(r);
}

/* ---- sizes ---- */

TEST(sizes_out_of_range)
{
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
    free_result(r);
}

/* Nothing touches the border, and the plot takes most of the picture. */
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

TEST(sizes)
{
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
        free_result(r);
    }
}

TEST(largest_size)
{
    struct ih_result *r = new_smooth_result(3);
    check_size(r, IH_CHART_MAX, IH_CHART_MAX);
    free_result(r);
}

/* ---- clipping ---- */

/* Counts the pixels of the triangles' colour in the left and the right half of the picture. */
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

TEST(triangles_follow_the_counts)
{
    int marks[2];
    count_marks(0, 0, 0, 0, marks); /* bins 0 and 255 are always empty */
    assert_int_equal(marks[0], 0);
    assert_int_equal(marks[1], 0);
    count_marks(1, 0, 0, 0, marks);
    assert_true(marks[0] > 8);
    assert_int_equal(marks[1], 0);
    count_marks(0, 0, 1, 0, marks);
    assert_int_equal(marks[0], 0);
    assert_true(marks[1] > 8);
}

TEST(triangles_are_filled_where_all_channels_clip)
{
    int some[2], all[2];
    count_marks(10, 0, 10, 0, some);
    count_marks(10, 1, 10, 1, all);
    assert_true(all[0] > some[0]);
    assert_true(all[1] > some[1]);
}

/* ---- text ---- */

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

TEST(title_is_the_files_name)
{
    assert_true(named_alike("some/where/a.png", "a.png"));
    assert_false(named_alike("a.png", "b.png"));
    assert_false(named_alike("\xce\xb1.png", "\xce\xb2.png"));
    assert_true(named_alike("-", "standard input"));
}

TEST(hidden_characters_are_shown)
{
    assert_false(named_alike("a\nb.png", "ab.png"));
    assert_false(named_alike("a\xff.png", "a\xfe.png"));
    assert_false(named_alike("a\xe2\x80\x8b.png", "a.png"));
}

TEST(long_names_lose_their_middle)
{
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

TEST(transparency_is_only_in_the_footer)
{
    struct picture p[2];
    for (int i = 0; i < 2; i++) {
        struct ih_result *r = new_smooth_result(4);
        ih_bins(&r->histogram, 3)[255] -= i ? 5000 : 2500;
        ih_bins(&r->histogram, 3)[0] += i ? 5000 : 2500;
        p[i] = draw_usual(r);
    }
    assert_false(same_picture(&p[0], &p[1]));
    size_t above_footer = (size_t)p[0].bottom * (size_t)p[0].width * 3;
    assert_memory_equal(p[0].pixels, p[1].pixels, above_footer);
    free(p[0].pixels);
    free(p[1].pixels);
}

/* Each clipped channel has a mark in its colour above the plot, on its side. */
TEST(clipped_channels_have_marks)
{
    struct ih_result *r = new_smooth_result(3);
    add_pixels(r, (const uint8_t[]){0, 100, 255, 255}, 50);
    const struct ih_chart_theme *t = ih_chart_theme_find("dark");
    const struct colour red = {t->areas[0].red, t->areas[0].green, t->areas[0].blue};
    const struct colour green = {t->areas[1].red, t->areas[1].green, t->areas[1].blue};
    const struct colour blue = {t->areas[2].red, t->areas[2].green, t->areas[2].blue};
    struct picture p = draw_usual(r);
    int n[3][2] = {{0}};
    for (int y = 0; y < p.top - 2; y++)
        for (int x = 0; x < p.width; x++) {
            n[0][x > p.width / 2] += same_colour(pixel_at(&p, x, y), red);
            n[1][x > p.width / 2] += same_colour(pixel_at(&p, x, y), green);
            n[2][x > p.width / 2] += same_colour(pixel_at(&p, x, y), blue);
        }
    assert_true(n[0][0] >= 16 && n[0][1] == 0);
    assert_true(n[1][0] == 0 && n[1][1] == 0);
    assert_true(n[2][0] == 0 && n[2][1] >= 16);
    free(p.pixels);
}

/* ---- thumbnails ---- */

/* A JPEG of 32 x 16: its left half is red above blue, its right half green above blue. */
static void make_thumbnail(struct ih_bytes *file)
{
    uint8_t pixels[16 * 32 * 3] = {0};
    for (int i = 0; i < 16 * 32; i++)
        pixels[i * 3 + (i >= 8 * 32 ? 2 : i % 32 < 16 ? 0 : 1)] = 255;
    const struct ih_jpeg_picture picture = {
        .pixels = pixels, .width = 32, .height = 16, .n_channels = 3, .quality = 95};
    struct ih_error err;
    assert_int_equal(ih_jpeg_write(&picture, file, &err), IH_OK);
}

/* The channel that is strongest at a pixel. */
static char strongest(const uint8_t *p)
{
    return p[0] > p[1] && p[0] > p[2] ? 'r' : p[1] > p[2] ? 'g' : 'b';
}

/* Exif's table of orientations: the visual side of the first row, and that of the first column. */
TEST(thumbnails_are_upright)
{
    static const char corners[9][5] = {"rgbb", "rgbb", "grbb", "bbgr", "bbrg",
                                       "rbgb", "brbg", "bgbr", "gbrb"};
    struct ih_bytes file = {0};
    make_thumbnail(&file);
    for (unsigned o = 0; o <= 8; o++) {
        unsigned w = 0, h = 0;
        uint8_t *p = ih_jpeg_read(file.data, file.size, o, &w, &h);
        assert_non_null(p);
        assert_int_equal(w, o >= 5 ? 16 : 32);
        assert_int_equal(h, o >= 5 ? 32 : 16);
        const unsigned at[4] = {w * 3 + 3, w * 3 + w - 4, (h - 4) * w + 3, (h - 4) * w + w - 4};
        for (int i = 0; i < 4; i++)
            assert_int_equal(strongest(p + (size_t)at[i] * 3), corners[o][i]);
        free(p);
    }
    unsigned w, h;
    assert_null(ih_jpeg_read(file.data, 100, 1, &w, &h));
    ih_bytes_reset(&file);
}

/* It is in the upper right corner, and no higher than its own pixels. */
TEST(a_thumbnail_is_in_the_corner)
{
    struct ih_bytes file = {0};
    struct ih_result *r = new_smooth_result(3);
    make_thumbnail(&file);
    r->thumbnail = file.data;
    r->thumbnail_bytes = file.size;
    struct ih_chart_options options = {
        .width = IH_CHART_WIDTH, .height = IH_CHART_HEIGHT, .has_thumbnail = true};
    struct picture p = draw(r, options);
    int n[3] = {0};
    for (int y = 0; y < 60; y++)
        for (int x = p.width - 60; x < p.width; x++) {
            const struct colour c = pixel_at(&p, x, y);
            n[0] += c.red > 200 && c.green < 60 && c.blue < 60;
            n[1] += c.green > 200 && c.red < 60 && c.blue < 60;
            n[2] += c.blue > 200 && c.red < 60 && c.green < 60;
        }
    assert_in_range(n[0], 100, 128);
    assert_in_range(n[1], 100, 128);
    assert_in_range(n[2], 200, 256);
    free(p.pixels);
    options.has_thumbnail = false;
    p = draw(r, options);
    for (int x = p.width - 60; x < p.width; x++)
        assert_true(same_colour(pixel_at(&p, x, 22), pixel_at(&p, p.width - 1, 22)));
    free(p.pixels);
    free_result(r);
    ih_bytes_reset(&file);
}
