/* The summary for people: both views at many widths, and what they say of failures. */
#define _POSIX_C_SOURCE 200809L

#include "output/output.h"
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

/* n pixels of one value in every plane. */
static void add_pixels(struct ih_histogram *h, unsigned value, uint64_t n)
{
    for (unsigned p = 0; p < IH_PLANES; p++) {
        h->bins[p][value] += n;
        h->sum[p] += n * value;
    }
    h->n_pixels += n;
}

static void test_percent(void **state)
{
    (void)state;
    static const struct {
        uint64_t part, whole;
        const char *text;
    } cases[] = {{0, 0, "0.00"},           {0, 10, "0.00"},    {1, 4, "25.00"},
                 {1, 1000000, "<0.01"},    {1, 10000, "0.01"}, {999999, 1000000, ">99.9"},
                 {99994, 100000, "99.99"}, {10, 10, "100"},    {UINT64_MAX, UINT64_MAX, "100"}};
    char text[IH_PERCENT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ih_text_percent(text, cases[i].part, cases[i].whole), cases[i].text);
}

/* ---- views ---- */

static struct ih_result *new_result(const char *path, unsigned n_channels)
{
    struct ih_result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->path = path;
    r->info = (struct ih_image_info){"jpeg", 65535, 65535, n_channels, 8};
    r->spec = (struct ih_count_spec){n_channels, &ih_luma_bt709, 0, 255};
    ih_histogram_clear(&r->histogram, n_channels);
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

/* What the text output writes of n results. */
static char *show(const struct ih_output_options *options, const struct ih_result *const *results,
                  size_t n)
{
    char *shown = NULL;
    size_t size;
    void *text;
    struct ih_error err;
    FILE *f = open_memstream(&shown, &size);
    assert_non_null(f);
    assert_int_equal(ih_output_text.begin(f, options, &text, &err), IH_OK);
    for (size_t i = 0; i < n; i++)
        ih_output_text.record(text, results[i]);
    ih_output_text.end(text);
    ih_output_text.close(text);
    fclose(f);
    return shown;
}

/* Columns of the widest line, escape sequences apart. */
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
    "any/terminal/that/is/not/a/whole/wall/of/them/or/more/photo.jpg";

static void test_views_fit(void **state)
{
    (void)state;
    needs_utf8();
    static const unsigned widths[] = {80, 97, 98, 100, 119, 120, 131, 132, 160, 300};
    for (size_t i = 0; i < 4 * sizeof widths / sizeof *widths; i++) {
        const unsigned columns = widths[i / 4];
        struct ih_output_options options = {.layout = i % 2 ? "lines" : "full",
                                            .colour = i % 4 > 1,
                                            .unicode = true,
                                            .columns = columns,
                                            .verbose = true};
        for (unsigned n_channels = 1; n_channels <= IH_CHANNELS_MAX; n_channels++) {
            struct ih_result *r = new_result(i % 2 ? long_name : "photo.jpg", n_channels);
            const struct ih_result *results[] = {r, r};
            char *shown = show(&options, results, 2);
            assert_true(widest(shown) <= columns);
            assert_true(widest(shown) + 70 > (columns > 262 ? 262 : columns)); /* and use it */
            free(shown);
            free(r);
        }
    }
}

/* A pipe has no columns: lines are laid out as for 80, but names are whole. */
static void test_names_stay_whole_in_a_pipe(void **state)
{
    (void)state;
    struct ih_result *r = new_result(long_name, 3);
    const struct ih_result *results[] = {r};
    struct ih_output_options options = {.layout = "lines"};
    char *shown = show(&options, results, 1);
    assert_non_null(strstr(shown, long_name));
    free(shown);
    options.columns = 80;
    shown = show(&options, results, 1);
    assert_null(strstr(shown, long_name));
    assert_non_null(strstr(shown, "photo.jpg\n"));
    free(shown);
    options.layout = "full";
    shown = show(&options, results, 1);
    assert_non_null(strstr(shown, long_name));
    free(shown);
    free(r);
}

static void test_no_colour_no_escape(void **state)
{
    (void)state;
    struct ih_result *r = new_result("\033[31mred\n", 3);
    const struct ih_result *results[] = {r, r};
    static const char *const layouts[] = {"full", "lines"};
    for (size_t i = 0; i < 2; i++) {
        struct ih_output_options options = {.layout = layouts[i]};
        char *shown = show(&options, results, 2);
        assert_null(strchr(shown, '\033'));
        assert_non_null(strstr(shown, "\\x1B[31mred\\n"));
        for (const char *p = shown; *p; p++) /* and nothing but ASCII */
            assert_true((unsigned char)*p < 0x80);
        free(shown);
    }
    free(r);
}

static void test_total(void **state)
{
    (void)state;
    struct ih_result *r = new_result("(total)", 4);
    r->is_total = true;
    r->n_images = 12;
    r->n_failed = 2;
    r->info = (struct ih_image_info){0};
    r->decoder_version = r->counted_by = r->kernel = NULL;
    const struct ih_result *results[] = {r};
    struct ih_output_options options = {.layout = "full", .verbose = true};
    char *shown = show(&options, results, 1);
    assert_non_null(strstr(shown, "(total)  12 images, "));
    assert_non_null(strstr(shown, ", 2 failed\n"));
    assert_non_null(strstr(shown, "  alpha"));
    assert_null(strstr(shown, "0 x 0"));
    free(shown);
    options.layout = "lines";
    shown = show(&options, results, 1);
    assert_non_null(strstr(shown, "\n  12 images  "));
    free(shown);
    free(r);
}

static void test_what_failed(void **state)
{
    (void)state;
    enum { N = 25 };
    struct ih_result *r = new_result("good.png", 1), *bad = new_result("b\033ad.png", 1);
    const struct ih_result *results[N + 1];
    bad->status = IH_CORRUPT;
    ih_error_set(&bad->error, IH_CORRUPT, "damaged PNG: cut\033 short");
    for (size_t i = 0; i < N; i++)
        results[i] = bad;
    results[N] = r;
    struct ih_output_options options = {.layout = "lines"};
    char *shown = show(&options, results, N + 1);
    assert_non_null(strstr(shown, "\n\nfailed: 25\n  b\\x1Bad.png: damaged PNG: cut\\x1B short\n"));
    assert_non_null(strstr(shown, "\n  and 5 more: "));
    free(shown);
    shown = show(&options, results + 5, N - 4); /* as many as are told, and the good one */
    assert_non_null(strstr(shown, "\n\nfailed: 20\n"));
    assert_null(strstr(shown, "more"));
    free(shown);
    shown = show(&options, results, N); /* nothing but failures: standard error has them */
    assert_string_equal(shown, "");
    free(shown);
    free(bad);
    free(r);
}

static void test_no_pixels(void **state)
{
    (void)state;
    struct ih_result *r = new_result("nothing", 3);
    ih_histogram_clear(&r->histogram, 3);
    const struct ih_result *results[] = {r};
    static const char *const layouts[] = {"full", "lines"};
    for (size_t i = 0; i < 2; i++) {
        struct ih_output_options options = {.layout = layouts[i]};
        char *shown = show(&options, results, 1);
        assert_non_null(strstr(shown, "no pixels"));
        assert_null(strstr(shown, "nan"));
        free(shown);
    }
    free(r);
}

static void test_unknown_view(void **state)
{
    (void)state;
    void *text = NULL;
    struct ih_error err;
    struct ih_output_options options = {.layout = "wide"};
    assert_int_equal(ih_output_text.begin(stdout, &options, &text, &err), IH_USAGE);
    assert_non_null(strstr(err.message, "full, lines"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percent),
        cmocka_unit_test(test_views_fit),
        cmocka_unit_test(test_names_stay_whole_in_a_pipe),
        cmocka_unit_test(test_no_colour_no_escape),
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_what_failed),
        cmocka_unit_test(test_no_pixels),
        cmocka_unit_test(test_unknown_view),
    };
    return cmocka_run_group_tests(tests, use_utf8, NULL);
}
