/* ih_chart_write through imghist.h. tests/cli/install.bats compares its picture with the program's.
 */
#include "tests/support/library_data.h"

static struct ih_counts *count_some(struct ih_context *context, unsigned n_channels)
{
    struct ih_counts *counts = open_counts();
    struct expected e;
    uint8_t *bytes;
    const size_t n = make_pnm(40, 30, n_channels, 1, &bytes, &e);
    assert_int_equal(ih_count_memory(context, bytes, n, counts, NULL), IH_OK);
    free(bytes);
    return counts;
}

/* Draws, and checks that the file begins with these bytes. */
static void check_start(const struct ih_counts *counts, const char *file_name, const char *start)
{
    const struct ih_chart_settings s = {.file_name = file_name, .width = 320, .height = 200};
    void *file = NULL;
    size_t size = 0;
    assert_int_equal(ih_chart_write(counts, &s, sizeof s, &file, &size, NULL), IH_OK);
    assert_true(size > 500);
    assert_memory_equal(file, start, strlen(start));
    free(file);
}

TEST(the_ending_tells_the_format)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = count_some(context, 3);
    check_start(counts, NULL, "\x89PNG\r\n");
    check_start(counts, "a/b.PNG", "\x89PNG\r\n");
    check_start(counts, ".svg", "<?xml ");
    check_start(counts, "c.jpeg", "\xff\xd8\xff");
    check_start(counts, "c.bmp", "BM");
    ih_counts_close(counts);
    ih_context_close(context);
}

static char *draw_svg(const struct ih_counts *counts, struct ih_chart_settings s)
{
    void *file = NULL;
    size_t size = 0;
    s.file_name = "c.svg";
    assert_int_equal(ih_chart_write(counts, &s, sizeof s, &file, &size, NULL), IH_OK);
    char *text = calloc(size + 1, 1);
    assert_non_null(text);
    memcpy(text, file, size);
    free(file);
    return text;
}

static void check_svg(const struct ih_counts *counts, struct ih_chart_settings s, const char *part)
{
    char *text = draw_svg(counts, s);
    if (!strstr(text, part))
        fail_msg("no '%s'", part);
    free(text);
}

TEST(settings)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = count_some(context, 3), *sum = count_some(context, 1);
    check_svg(counts, (struct ih_chart_settings){0}, "width=\"1024\" height=\"640\"");
    check_svg(counts, (struct ih_chart_settings){.width = 400, .height = 300}, "width=\"400\"");
    check_svg(counts, (struct ih_chart_settings){.title = "a<b"}, "<title>Histogram of a&lt;b</t");
    check_svg(counts, (struct ih_chart_settings){.source = "d/x.pnm"}, ">x.pnm</text>");
    check_svg(counts, (struct ih_chart_settings){.source = "d/x.pnm"}, "Source: d/x.pnm<");
    check_svg(counts, (struct ih_chart_settings){.scale = "sqrt"}, ">square-root scale</text>");
    check_svg(counts, (struct ih_chart_settings){.theme = "light"}, "fill=\"#ffffff\"");
    check_svg(counts, (struct ih_chart_settings){.scale_y = "percent"}, ">0\xe2\x80\xaf%</text>");
    assert_int_equal(ih_counts_add(sum, counts, NULL), IH_OK);
    check_svg(sum, (struct ih_chart_settings){0}, ">2 images together</text>");
    ih_counts_close(sum);
    ih_counts_close(counts);
    ih_context_close(context);
}

static void check_refused(const struct ih_counts *counts, struct ih_chart_settings s,
                          const char *message)
{
    struct ih_error err = {0};
    void *file = NULL;
    size_t size = 0;
    assert_int_equal(ih_chart_write(counts, &s, sizeof s, &file, &size, &err), IH_USAGE);
    assert_non_null(strstr(err.message, message));
    assert_null(file);
}

TEST(invalid_settings)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = count_some(context, 1), *empty = open_counts();
    check_refused(counts, (struct ih_chart_settings){.file_name = "c.gif"}, ".bmp .tga");
    check_refused(counts, (struct ih_chart_settings){.width = 640}, "chart size 640x0");
    check_refused(counts, (struct ih_chart_settings){.width = 319, .height = 200}, "chart size");
    check_refused(counts, (struct ih_chart_settings){.scale = "cubic"}, "'log'");
    check_refused(counts, (struct ih_chart_settings){.theme = "Dark"}, "'dark' or 'light'");
    check_refused(counts, (struct ih_chart_settings){.scale_y = "x"}, "'count' or 'percent'");
    check_refused(empty, (struct ih_chart_settings){0}, "the counts are empty");
    ih_counts_close(empty);
    ih_counts_close(counts);
    ih_context_close(context);
}
