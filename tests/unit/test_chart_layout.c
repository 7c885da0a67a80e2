/*
 * The layout of charts of many sizes, on a canvas that records the box of each text and mark. No
 * text touches another text or a mark, and everything is inside the picture.
 */
#include "tests/support/test.h"

#include "tests/support/chart_notes.h"
#include <math.h>

static struct ih_result *new_smooth(unsigned n_channels, uint64_t times)
{
    struct ih_result *r = new_result(n_channels);
    for (unsigned v = 0; v < IH_BINS; v++) {
        const uint8_t a = (uint8_t)v, b = (uint8_t)(v / 2), c = (uint8_t)(255 - v);
        const uint8_t second = n_channels == 2 ? c : b; /* alpha, or green */
        add_pixels(r, (const uint8_t[]){a, second, c, b}, times * (1 + v * (255 - v)));
    }
    return r;
}

static struct ih_result *new_constant(void)
{
    struct ih_result *r = new_result(3);
    add_gray(r, 255, 24000000);
    return r;
}

/* Most pixels are clipped, and the others have spikes of their own. */
static struct ih_result *new_spiky(void)
{
    struct ih_result *r = new_smooth(4, 7);
    add_pixels(r, (const uint8_t[]){0, 0, 0, 0}, UINT64_C(123456789012345));
    add_pixels(r, (const uint8_t[]){255, 255, 255, 3}, UINT64_C(98765432109876));
    for (unsigned v = 20; v < 240; v += 23)
        add_gray(r, v, 99999999);
    r->info.width = r->info.height = UINT64_MAX / 3;
    r->path =
        "a name that is longer than any chart is wide: IMG_20260314_159265358979323846264338327";
    return r;
}

static struct ih_result *new_total(void)
{
    struct ih_result *r = new_smooth(4, 1000);
    for (unsigned v = 0; v < IH_BINS; v++) /* most images have no alpha */
        ih_bins(&r->histogram, 3)[v] /= 1000;
    *ih_sum(&r->histogram, 3) /= 1000;
    r->info = (struct ih_image_info){.layout = IH_LAYOUT(4)};
    r->path = "(total)";
    r->is_total = true;
    r->n_images = 123456;
    r->n_failed = 3;
    return r;
}

static struct notes notes; /* of the chart drawn last */

static const char *const scales[] = {"linear", "log", "sqrt"};

TEST(no_text_touches_another)
{
    static const unsigned widths[] = {320, 321, 333, 350, 380,  420,  480,  512,  560,  640,
                                      700, 777, 800, 960, 1024, 1280, 1600, 1920, 3000, 8192};
    static const unsigned heights[] = {200, 201, 215, 230, 250, 280,  320,  360,  420,
                                       480, 540, 640, 800, 999, 1200, 2000, 4096, 8192};
    struct ih_result *const results[] = {
        new_smooth(1, 1), new_smooth(2, 1000000), new_smooth(3, 20), new_spiky(), new_constant(),
        new_total(),      new_result(3) /* no pixels */};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        for (size_t x = 0; x < sizeof widths / sizeof *widths; x++)
            for (size_t y = 0; y < sizeof heights / sizeof *heights; y++)
                for (unsigned scale = 0; scale < 3; scale++) {
                    draw_notes(&notes, results[i], scales[scale], widths[x], heights[y]);
                    check_boxes(&notes, widths[x], heights[y]);
                }
        free_result(results[i]);
    }
}

/* part   anywhere in a text; after "^" only at its start */
static bool has_text(const char *part)
{
    for (size_t i = 0; i < notes.n; i++) {
        const char *text = notes.boxes[i].text;
        if (*part == '^' ? strncmp(text, part + 1, strlen(part + 1)) == 0 : !!strstr(text, part))
            return true;
    }
    return false;
}

TEST(large_charts_have_all_text)
{
    static const char *const expected[] = {"photo.jpg",  "640 \xc3\x97 480 px",
                                           "JPEG",       "mean luma ",
                                           "median ",    "mean luminance ",
                                           "red",        "green",
                                           "blue",       "luma",
                                           "mean 127.5", "stddev 57.0",
                                           "pixels",     "value",
                                           "^crushed ",  "^blown ",
                                           "64",         "128",
                                           "192",        "255",
                                           "5k",         "10k"};
    static const unsigned sizes[][2] = {
        {1024, 640}, {640, 480}, {320, 640}, {8192, 8192}, {2000, 500}};
    struct ih_result *r = new_smooth(3, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned scale = 0; scale < 3; scale++) {
            static const char *const titles[] = {"linear scale", "log(1 + n) scale",
                                                 "square-root scale"};
            draw_notes(&notes, r, scales[scale], sizes[i][0], sizes[i][1]);
            assert_true(has_text(titles[scale]));
            for (size_t k = 0; k < sizeof expected / sizeof *expected; k++)
                if (!has_text(expected[k]) && !(scale == 1 && strcmp(expected[k], "5k") == 0))
                    fail_msg("%ux%u, %s: no '%s'", sizes[i][0], sizes[i][1], scales[scale],
                             expected[k]);
        }
    free_result(r);
}

/* Checks that the linear chart of r has all texts of `present` and none of `absent`. Frees r. */
static void check_size_texts(struct ih_result *r, unsigned width, unsigned height,
                             const char *const *present, const char *const *absent)
{
    draw_notes(&notes, r, "linear", width, height);
    for (; *present; present++)
        if (!has_text(*present))
            fail_msg("no '%s'", *present);
    for (; *absent; absent++)
        if (has_text(*absent))
            fail_msg("unexpected '%s'", *absent);
    free_result(r);
}

static void check_texts(struct ih_result *r, const char *const *present, const char *const *absent)
{
    check_size_texts(r, IH_CHART_WIDTH, IH_CHART_HEIGHT, present, absent);
}

TEST(the_smallest_chart_has_the_important_text)
{
    check_size_texts(new_smooth(3, 1), IH_CHART_MIN_WIDTH, IH_CHART_MIN_HEIGHT,
                     (const char *const[]){"photo.jpg", "640 \xc3\x97 480 px", "mean luma ", "red",
                                           "luma", "^blown ", "255", "linear", NULL},
                     (const char *const[]){NULL});
}

TEST(a_total_describes_the_set)
{
    struct ih_result *r = new_result(4);
    add_pixels(r, (const uint8_t[]){10, 20, 30, 255}, 6000000);
    add_pixels(r, (const uint8_t[]){90, 90, 90, 0}, 2000000);
    ih_bins(&r->histogram, 3)[255] = 1000000; /* 5 of 8 million pixels had no alpha */
    *ih_sum(&r->histogram, 3) = 255000000;
    r->info = (struct ih_image_info){.layout = IH_LAYOUT(4)};
    r->path = "(total)";
    r->is_total = true;
    r->n_images = 3;
    r->n_failed = 2;
    check_texts(r,
                (const char *const[]){"3 images together", "8 megapixels", "2 failed",
                                      "25.0\xe2\x80\xaf% transparent", "mean 30.0", NULL},
                (const char *const[]){"(total)", " px", "partly", NULL});
}

TEST(transparency_is_a_share_of_all_pixels)
{
    struct ih_result *r = new_result(4);
    add_pixels(r, (const uint8_t[]){50, 50, 50, 0}, 10);
    add_pixels(r, (const uint8_t[]){50, 50, 50, 1}, 4);
    add_pixels(r, (const uint8_t[]){50, 50, 50, 254}, 4);
    add_pixels(r, (const uint8_t[]){50, 50, 50, 255}, 32);
    check_texts(
        r, (const char *const[]){"20.0\xe2\x80\xaf% transparent, 16.0\xe2\x80\xaf% partly", NULL},
        (const char *const[]){"left out", NULL});
    for (unsigned n = 0; n <= 10; n += 10) { /* counted pixels, half of them partly transparent */
        r = new_result(4);
        add_pixels(r, (const uint8_t[]){50, 50, 50, 1}, n / 2);
        add_pixels(r, (const uint8_t[]){50, 50, 50, 255}, n / 2);
        r->measure.alpha = IH_ALPHA_SKIP_TRANSPARENT;
        check_texts(
            r,
            (const char *const[]){n ? "transparent pixels left out, 50.0\xe2\x80\xaf% partly"
                                    : "transparent pixels left out",
                                  NULL},
            (const char *const[]){"% transparent", n ? "(--alpha" : "partly", NULL});
    }
    check_texts(new_smooth(3, 1), (const char *const[]){NULL},
                (const char *const[]){"transparent", NULL});
}

TEST(a_counted_ground_is_said)
{
    for (int skips = 0; skips <= 1; skips++) {
        struct ih_result *r = new_result(4);
        static const char *const said[] = {"are counted (--alpha=skip-transparent leaves", NULL};
        static const char *const nothing[] = {NULL};
        add_pixels(r, (const uint8_t[]){50, 50, 50, 0}, skips ? 0 : 10);
        add_pixels(r, (const uint8_t[]){50, 50, 50, 255}, 10);
        r->measure.alpha = skips ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
        check_texts(r, skips ? nothing : said, skips ? said : nothing);
    }
}

/* The name of the value axis keeps clear of its 0. */
TEST(captions_keep_clear_of_numbers)
{
    struct ih_result *r = new_smooth(3, 1);
    for (unsigned width = 320; width <= 4096; width *= 2) {
        const struct box *caption = NULL;
        draw_notes(&notes, r, "linear", width, width / 2 + 100);
        for (size_t i = 0; i < notes.n; i++)
            if (strcmp(notes.boxes[i].text, "value") == 0)
                caption = &notes.boxes[i];
        assert_non_null(caption);
        for (size_t i = 0; i < notes.n; i++)
            if (strcmp(notes.boxes[i].text, "0") == 0 && notes.boxes[i].left > caption->right)
                assert_true(notes.boxes[i].left - caption->right >
                            (caption->bottom - caption->top) / 2);
    }
    free_result(r);
}

TEST(clipping_is_a_share_of_pixels)
{
    struct ih_result *r = new_result(3);
    add_gray(r, 100, 960);
    add_pixels(r, (const uint8_t[]){0, 100, 100, 255}, 30);
    add_gray(r, 0, 10);
    check_texts(
        r,
        (const char *const[]){"crushed 4.00\xe2\x80\xaf% (all channels 1.00\xe2\x80\xaf%)", NULL},
        (const char *const[]){"^blown", NULL});
    r = new_result(1);
    r->measure.clip_high = 250;
    add_gray(r, 100, 75);
    add_gray(r, 251, 25);
    check_texts(r,
                (const char *const[]){"blown 25.0\xe2\x80\xaf% at 250\xe2\x80\x93"
                                      "255",
                                      NULL},
                (const char *const[]){"all channels", "^crushed", NULL});
}

/* ---- signed and float samples ---- */

/* Half of the pixels have each value. */
static struct ih_result *new_span(enum ih_sample_type type, double low, double high)
{
    struct ih_result *r = new_result(1);
    const struct ih_count_spec spec = {IH_LAYOUT(1), type, IH_NATIVE_BINS_MAX, NULL, 0, 255};
    unsigned bins[2];
    ih_histogram_reset(&r->histogram);
    assert_int_equal(ih_histogram_init(&r->histogram, &spec, NULL), IH_OK);
    assert_true(ih_bin_find(type, IH_NATIVE_BINS_MAX, low, &bins[0]));
    assert_true(ih_bin_find(type, IH_NATIVE_BINS_MAX, high, &bins[1]));
    for (unsigned i = 0; i < 2; i++)
        ih_bins(&r->histogram, 0)[bins[i]] += 50;
    r->histogram.n_pixels = 100;
    return r;
}

/* The numbers below the plot, from left to right, are right of the name of their axis and in the
 * places of their values. */
static void check_values(const char *expected)
{
    const struct box *caption = NULL;
    double values[16], middles[16];
    size_t n = 0;
    char all[256] = "";
    for (size_t i = 0; i < notes.n && !caption; i++)
        caption = strcmp(notes.boxes[i].text, "value") == 0 ? &notes.boxes[i] : NULL;
    assert_non_null(caption);
    for (size_t i = 0; i < notes.n && n < 16; i++) {
        const struct box *b = &notes.boxes[i];
        if (b == caption || b->top != caption->top)
            continue;
        assert_true(b->left > caption->right);
        values[n] = strtod(b->text, NULL);
        middles[n++] = (b->left + b->right) / 2.0 / IH_SUBPIXELS;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all ? " " : "", b->text);
    }
    assert_string_equal(all, expected);
    for (size_t i = 1; i + 1 < n && n > 4;
         i++) { /* the ends keep clear of the caption and the edge */
        const double share = (values[i] - values[1]) / (values[n - 2] - values[1]);
        const double place = middles[1] + share * (middles[n - 2] - middles[1]);
        if (fabs(place - middles[i]) > 1)
            fail_msg("%s: %s is %.1f pixels off", expected, all, place - middles[i]);
    }
}

TEST(numbers_of_signed_and_float_values_are_round)
{
    static const struct {
        enum ih_sample_type type;
        double low, high;
        const char *numbers, *fact;
    } cases[] = {
        {IH_INT16, -9268, 9570, "-8000 -6000 -4000 -2000 0 2000 4000 6000 8000",
         "values -9268 to 9570"},
        {IH_INT16, -2, 3, "-2 -1 0 1 2 3", "values -2 to 3"},
        {IH_INT16, -7, -7, "-7", "all values are -7"},
        {IH_FLOAT16, -0.25, 0.5, "-0.2 -0.1 0 0.1 0.2 0.3 0.4 0.5", "values -0.25 to 0.5"},
        {IH_FLOAT16, 286.75, 289.25, "287 287.5 288 288.5 289", "values 286.75 to 289.25"},
        {IH_FLOAT16, 0x1p-24, 0x1.8p-23, "6e-08 8e-08 1e-07 1.2e-07 1.4e-07 1.6e-07",
         "values 5.9605e-08 to 1.7881e-07"},
        {IH_FLOAT16, 2.5, 2.5, "2.5", "all values are 2.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ih_result *r = new_span(cases[i].type, cases[i].low, cases[i].high);
        for (unsigned width = 320; width <= 2000; width += 7) {
            draw_notes(&notes, r, "linear", width, width < 500 ? 230 : 640);
            check_boxes(&notes, width, width < 500 ? 230 : 640);
        }
        draw_notes(&notes, r, "linear", IH_CHART_WIDTH, IH_CHART_HEIGHT);
        check_values(cases[i].numbers);
        if (!has_text(cases[i].fact))
            fail_msg("no %s", cases[i].fact);
        free_result(r);
    }
}

TEST(a_histogram_without_values_has_no_numbers_of_them)
{
    struct ih_result *r = new_span(IH_INT16, 0, 0);
    ih_histogram_clear(&r->histogram);
    r->histogram.n_pixels = 100; /* all are counted apart */
    check_texts(r, (const char *const[]){"^no values", NULL},
                (const char *const[]){"^value", "nan", "mean", "stddev", "inf", NULL});
}
