/* The text output: its parts (names, histograms, percentages), and both views at many widths. */
#include "tests/support/histograms.h"
#include "tests/support/test.h"
#include "tests/support/write_record.h"

#include "base/text.h"
#include "output/output.h"
#include "output/text_parts.h"
#include <locale.h>

static int use_utf8(void **state)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8") && !setlocale(LC_CTYPE, "en_US.UTF-8"))
        fprintf(stderr, "# no UTF-8 locale: some tests are skipped\n");
    return 0;
}

static void needs_utf8(void)
{
    if (MB_CUR_MAX < 4)
        skip("no UTF-8 locale");
}

/* Counts n pixels of one value in every plane. */
static void add_pixels(struct ih_histogram *h, unsigned value, uint64_t n)
{
    for (unsigned i = 0; i < h->n_planes; i++)
        add_values(h, ih_nth_plane(h, i), value, n);
    h->n_pixels += n;
}

/* ---- names ---- */

TEST(width)
{
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
    for (const char *p = shown; *p;) { /* no character is cut in two */
        unsigned long code_point;
        size_t n = ih_utf8_length(p, &code_point);
        assert_true(n > 0);
        p += n;
    }
    free(shown);
}

TEST(short)
{
    needs_utf8();
    check_short("photos/2026/summer/beach.png", 0, true, "photos/2026/summer/beach.png");
    check_short("photos/2026/summer/beach.png", 28, true, "photos/2026/summer/beach.png");
    check_short("photos/2026/summer/beach.png", 27, true, "photos/2\u20266/summer/beach.png");
    check_short("photos/2026/summer/beach.png", 16, true, "photo\u2026/beach.png");
    check_short("photos/2026/summer/beach.png", 16, false, "phot...beach.png");
    check_short("\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e", 8, true, "\u65e5\u2026\u672c\u8a9e");
    check_short("ae\u0301io\u0301u", 5, true, "ae\u0301io\u0301u");
    check_short("ae\u0301io\u0301u", 4, true, "a\u2026o\u0301u");
    check_short("aae\u0301iou", 5, true, "a\u2026iou"); /* a mark stays with its letter */
}

/* ---- percentages ---- */

TEST(percent)
{
    static const struct {
        uint64_t part, total;
        const char *text;
    } cases[] = {{0, 0, "0.00"},           {0, 10, "0.00"},    {1, 4, "25.00"},
                 {1, 1000000, "<0.01"},    {1, 10000, "0.01"}, {999999, 1000000, ">99.9"},
                 {99994, 100000, "99.99"}, {10, 10, "100"},    {UINT64_MAX, UINT64_MAX, "100"}};
    char text[IH_PERCENT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ih_text_percent(text, cases[i].part, cases[i].total), cases[i].text);
}

/* ---- heights ---- */

static const unsigned luma_plane[] = {IH_LUMA}, rgb_planes[] = {0, 1, 2};

TEST(heights)
{
    struct ih_plot plot = {.n_columns = 64, .n_rows = 4, .n_curves = 1};
    struct ih_histogram h = make_histogram(1);
    ih_plot_fill(&plot, &h, luma_plane);
    for (unsigned c = 0; c < 64; c++)
        assert_int_equal(plot.heights[0][c], 0);
    add_pixels(&h, 4, 1000);    /* column 1: all of the height */
    add_pixels(&h, 8, 400);     /* columns are of four values */
    add_pixels(&h, 11, 100);    /* column 2: half of it */
    add_pixels(&h, 12, 1);      /* any pixels give one level */
    add_pixels(&h, 0, 1000000); /* 0 and 255 do not set the scale */
    add_pixels(&h, 255, 500);
    ih_plot_fill(&plot, &h, luma_plane);
    assert_int_equal(plot.heights[0][1], 32);
    assert_false(plot.is_cut[0][1]);
    assert_int_equal(plot.heights[0][2], 16);
    assert_int_equal(plot.heights[0][3], 1);
    assert_int_equal(plot.heights[0][4], 0);
    assert_int_equal(plot.heights[0][0], 32);
    assert_true(plot.is_cut[0][0]);
    assert_int_equal(plot.heights[0][63], 16);
    ih_histogram_reset(&h);
}

TEST(heights_share_a_scale)
{
    struct ih_plot plot = {.n_columns = 256, .n_rows = 1, .n_curves = 3};
    struct ih_histogram h = make_histogram(3);
    ih_bins(&h, 0)[10] = 100;
    ih_bins(&h, 1)[20] = 200;
    ih_bins(&h, 2)[30] = 50;
    ih_plot_fill(&plot, &h, rgb_planes);
    assert_int_equal(plot.heights[0][10], 4);
    assert_int_equal(plot.heights[1][20], 8);
    assert_int_equal(plot.heights[2][30], 2);
    ih_histogram_reset(&h);
}

TEST(heights_of_a_spike)
{
    struct ih_plot plot = {.n_columns = 64, .n_rows = 4, .n_curves = 1};
    struct ih_histogram h = make_histogram(1);
    for (unsigned v = 1; v < 255; v++)
        add_pixels(&h, v, 100);
    add_pixels(&h, 100, 1000000);
    ih_plot_fill(&plot, &h, luma_plane);
    assert_int_equal(plot.heights[0][10], 32);
    assert_false(plot.is_cut[0][10]);
    assert_true(plot.is_cut[0][25]);
    ih_histogram_reset(&h);
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

TEST(rows)
{
    struct ih_plot plot = {.n_columns = 8, .n_rows = 2, .n_curves = 1};
    const unsigned heights[8] = {0, 1, 8, 9, 16, 0, 3, 0};
    memcpy(plot.heights[0], heights, sizeof heights);
    check_row(&plot, 0, true, " \u2581\u2588\u2588\u2588 \u2583"); /* no blanks at the end */
    check_row(&plot, 1, true, "   \u2581\u2588");
    check_row(&plot, 0, false, " .### :");
    plot.is_cut[0][4] = true;
    check_row(&plot, 1, true, "   \u2581\u25b2");
    check_row(&plot, 1, false, "   .^");
}

/* The ANSI colours mix as light does: 1 red, 2 green, 3 both, 7 all. */
TEST(rows_in_colour)
{
    struct ih_plot plot = {.n_columns = 4, .n_rows = 1, .n_curves = 3};
    plot.heights[0][0] = 4;                         /* red */
    plot.heights[1][1] = 8, plot.heights[0][1] = 8; /* yellow */
    plot.heights[1][2] = 8, plot.heights[0][2] = 3; /* yellow, above it green */
    for (unsigned i = 0; i < 3; i++)
        plot.heights[i][3] = 8;
    check_row(&plot, 0, true,
              "\033[0;38;5;160m\u2584\033[0;38;5;136m\u2588\033[0;38;5;136;48;5;28m\u2583"
              "\033[0;38;5;243m\u2588\033[0m");
}

/* ---- views ---- */

static void free_result(struct ih_result *r)
{
    ih_histogram_reset(&r->histogram);
    free(r);
}

static struct ih_result *new_result(const char *path, unsigned n_channels)
{
    struct ih_result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->path = path;
    r->info = (struct ih_image_info){.format = "jpeg",
                                     .width = 65535,
                                     .height = 65535,
                                     .layout = IH_LAYOUT(n_channels),
                                     .source_depth = 8};
    r->measure = (struct ih_measure){.luma = &ih_luma_bt709, .clip_low = 0, .clip_high = 255};
    r->histogram = make_histogram(n_channels);
    for (unsigned v = 0; v < IH_BINS; v++)
        add_pixels(&r->histogram, v, 1 + v % 40 * UINT64_C(100000000000));
    add_pixels(&r->histogram, 255, UINT64_C(100000000000000));
    r->histogram.any_low = r->histogram.all_low = r->histogram.n_pixels;
    r->histogram.any_high = r->histogram.all_high = r->histogram.n_pixels - 1;
    r->decoder_version = "libjpeg-turbo 2.1.5";
    r->counted_by = "cpu";
    r->kernel = "tables";
    return r;
}

/* Returns the text of n results; the caller frees it. */
static char *show(const struct ih_output_options *options, const struct ih_result *const *results,
                  size_t n)
{
    char *shown = NULL;
    size_t size;
    void *text;
    struct ih_error err;
    FILE *f = open_memstream(&shown, &size);
    assert_non_null(f);
    assert_int_equal(ih_output_open(&ih_output_text, f, options, &text, &err), IH_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(write_record(&ih_output_text, text, results[i]));
    ih_output_text.end(text);
    ih_output_close(&ih_output_text, text);
    fclose(f);
    return shown;
}

static char *show_one(const char *layout, unsigned columns, const struct ih_result *r)
{
    return show(
        &(struct ih_output_options){
            .layout = layout, .columns = plain_columns(), .width = columns, .verbose = true},
        &r, 1);
}

/* Returns the columns of the widest line without its escape sequences. */
static unsigned widest(const char *shown)
{
    unsigned most = 0;
    char *copy = strdup(shown), *save = NULL;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *to = line;
        for (const char *p = line; *p; p++) {
            if (*p == '\033')
                p += strcspn(p, "m");
            else
                *to++ = *p;
        }
        *to = '\0';
        unsigned width = ih_text_width(line);
        most = width > most ? width : most;
    }
    free(copy);
    return most;
}

static const char long_name[] =
    "a/rather/long/path/\u65e5\u672c\u8a9e/that/does/not/fit/in/one/line/of/"
    "any/terminal/that/is/narrower/than/three/hundred/columns/photo.jpg";

TEST(views_fit)
{
    needs_utf8();
    static const unsigned widths[] = {60, 61,  64,  75,  76,  79,  80, 97,
                                      98, 100, 135, 136, 160, 240, 300};
    for (size_t i = 0; i < 4 * sizeof widths / sizeof *widths; i++) {
        const unsigned columns = widths[i / 4];
        struct ih_output_options options = {.layout = i % 2 ? "lines" : "full",
                                            .colour = i % 4 > 1,
                                            .unicode = true,
                                            .columns = plain_columns(),
                                            .width = columns,
                                            .verbose = columns >= 80};
        for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++) {
            struct ih_result *r = new_result(i % 2 ? long_name : "photo.jpg", n_channels);
            const struct ih_result *results[] = {r, r};
            char *shown = show(&options, results, 2);
            assert_true(widest(shown) <= columns);
            if (i % 2) /* a long name takes the rest of the line */
                assert_true(widest(shown) + 1 >= (columns > 160 ? 160 : columns));
            else /* two widths: the axis has 32 or 64 columns */
                assert_true(widest(shown) > (columns < 80 ? 50 : 70));
            free(shown);
            free_result(r);
        }
    }
}

/* Without a terminal the layout has 80 columns, and the lines view does not shorten names. */
TEST(names_are_not_shortened_without_a_terminal)
{
    struct ih_result *r = new_result(long_name, 3);
    char *shown = show_one("lines", 0, r);
    assert_non_null(strstr(shown, long_name));
    free(shown);
    shown = show_one("lines", 80, r);
    assert_null(strstr(shown, long_name));
    assert_non_null(strstr(shown, "photo.jpg\n"));
    free(shown);
    shown = show_one("full", 80, r);
    assert_non_null(strstr(shown, long_name));
    free(shown);
    free_result(r);
}

/* Standard error has the messages of failed inputs. */
TEST(failures_are_only_counted)
{
    struct ih_result *r = new_result("good.png", 1), *bad = new_result("bad.png", 1);
    const struct ih_result *results[] = {bad, r, bad}, *good[] = {r};
    bad->status = IH_CORRUPT;
    ih_error_set(&bad->error, IH_CORRUPT, "damaged PNG: cut short");
    struct ih_output_options options = {.layout = "lines", .columns = plain_columns()};
    char *shown = show(&options, results, 3), *expected = show(&options, good, 1);
    assert_memory_equal(shown, expected, strlen(expected));
    assert_string_equal(shown + strlen(expected),
                        "1 image, 1 blown, 1 crushed (from 1 % of the pixels), 2 failed\n");
    free(shown);
    free(expected);
    free_result(bad);
    free_result(r);
}

TEST(no_pixels)
{
    struct ih_result *r = new_result("nothing", 3);
    ih_histogram_clear(&r->histogram);
    for (size_t i = 0; i < 2; i++) {
        char *shown = show_one(i ? "lines" : "full", 0, r);
        assert_non_null(strstr(shown, "no pixels"));
        assert_null(strstr(shown, "nan"));
        free(shown);
    }
    free_result(r);
}

PROGRAM_WITH(use_utf8, NULL)
