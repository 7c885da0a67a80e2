/* The text that the SVG canvas writes. tests/cli/chart_formats.bats reads complete charts with
 * other parsers, and compares them with the raster canvas. */
#include "tests/support/test.h"

#include "chart/canvas.h"
#include "tests/support/chart_picture.h"
#include <locale.h>

enum { PIXEL = IH_SUBPIXELS };

static struct ih_chart_page page;

static struct ih_canvas *open_canvas(const struct ih_glyphs *glyphs, const char *title,
                                     const char *description)
{
    struct ih_canvas *canvas = NULL;
    page = (struct ih_chart_page){.width = 100,
                                  .height = 50,
                                  .background = {1, 2, 255},
                                  .glyphs = glyphs,
                                  .title = title,
                                  .description = description};
    assert_int_equal(ih_svg_open(&page, &canvas, NULL), IH_OK);
    return canvas;
}

/* Returns the document with a NUL, and closes the canvas. */
static char *take(struct ih_canvas *canvas)
{
    struct ih_bytes file = {0};
    assert_int_equal(ih_canvas_finish(canvas, &file.data, &file.size, NULL), IH_OK);
    file.capacity = file.size;
    ih_bytes_append(&file, "", 1);
    assert_false(file.failed);
    assert_int_equal(strlen((char *)file.data), file.size - 1);
    ih_canvas_close(canvas);
    return (char *)file.data;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in: %s", part, text);
}

static void check_path(const struct ih_path *path, struct ih_paint paint, const char *expected)
{
    struct ih_canvas *canvas = open_canvas(NULL, "", "");
    canvas->fill(canvas, path, &paint);
    char *text = take(canvas);
    assert_has(text, expected);
    free(text);
}

TEST(a_document)
{
    char *text = take(open_canvas(NULL, "a & b", "<\"c\">"));
    assert_ptr_equal(
        strstr(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- imghist -->\n<svg "), text);
    assert_has(text, "xmlns=\"http://www.w3.org/2000/svg\"");
    assert_has(text, "width=\"100\" height=\"50\" viewBox=\"0 0 100 50\"");
    assert_has(text, "<title>a &amp; b</title>\n<desc>&lt;\"c\"&gt;</desc>\n");
    assert_has(text, "<rect width=\"100\" height=\"50\" fill=\"#0102ff\"/>\n</svg>\n");
    free(text);
}

TEST(shapes)
{
    struct ih_path path = {0};
    ih_path_rectangle(&path, PIXEL, 2 * PIXEL, 3 * PIXEL / 2, 4 * PIXEL);
    check_path(&path, (struct ih_paint){{255, 0, 16}, 255, IH_BLEND_NORMAL},
               "<path fill=\"#ff0010\" d=\"M1 2H1.5V4H1Z\"/>\n");
    check_path(
        &path, (struct ih_paint){{255, 0, 16}, 51, IH_BLEND_SCREEN},
        "<path fill=\"#ff0010\" fill-opacity=\"0.200\" style=\"mix-blend-mode:screen\" d=\"M1");
    ih_path_move(&path, -PIXEL / 2, 0); /* a second outline */
    ih_path_line(&path, PIXEL / 3, PIXEL);
    ih_path_line(&path, PIXEL / 3, PIXEL); /* a repeated point */
    ih_path_line(&path, 0, PIXEL);
    check_path(&path, (struct ih_paint){{0, 0, 0}, 255, IH_BLEND_NORMAL},
               "d=\"M1 2H1.5V4H1ZM-0.5 0L0.33 1H0Z\"/>");
    ih_path_clear(&path);
    ih_path_rectangle(&path, -1, 1, 8192 * PIXEL + 250, PIXEL / 20);
    check_path(&path, (struct ih_paint){{0, 0, 0}, 255, IH_BLEND_NORMAL},
               "d=\"M0 0H8192.98V0.05H0Z\"/>");
    ih_path_reset(&path);
}

TEST(a_path_without_memory_is_an_error)
{
    struct ih_canvas *canvas = open_canvas(NULL, "", "");
    const struct ih_path path = {.failed = true};
    const struct ih_paint paint = {{0, 0, 0}, 255, IH_BLEND_NORMAL};
    canvas->fill(canvas, &path, &paint);
    assert_int_equal(canvas->status, IH_MEMORY);
    ih_canvas_close(canvas);
}

static char *set_text(const struct ih_glyphs *glyphs, enum ih_align align, const char *text)
{
    const struct ih_paint paint = {{0, 0, 0}, 255, IH_BLEND_NORMAL};
    const struct ih_text_place place = {10 * PIXEL, 20 * PIXEL, align, 13};
    struct ih_canvas *canvas = open_canvas(glyphs, "", "");
    canvas->text(canvas, &place, text, &paint);
    return take(canvas);
}

TEST(text)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        {"plain", "\">plain</text>"},
        {"two  spaces", " style=\"white-space:pre\">two  spaces</text>"},
        {"<a href=\"x\">&amp;", ">&lt;a href=\"x\"&gt;&amp;amp;</text>"},
        {"]]>", ">]]&gt;</text>"},
        {"\xce\xb1\xe2\x80\xaf%", ">\xce\xb1\xe2\x80\xaf%</text>"},
        {"\xf0\x9f\x98\x80", ">\xf0\x9f\x98\x80</text>"},
        /* characters that XML does not allow */
        {"a\x01z\x1f\x7f", ">a\xef\xbf\xbdz\xef\xbf\xbd\x7f</text>"},
        {"\xef\xbf\xbe\xef\xbf\xbf", ">\xef\xbf\xbd\xef\xbf\xbd</text>"},
        {"a\xff\xc3(", ">a\xef\xbf\xbd\xef\xbf\xbd(</text>"},
    };
    struct ih_glyphs *g = NULL;
    assert_int_equal(ih_glyphs_open(&g, NULL), IH_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = set_text(g, IH_ALIGN_LEFT, cases[i].text);
        assert_has(text, cases[i].written);
        free(text);
    }
    char *nothing = set_text(g, IH_ALIGN_LEFT, "");
    assert_null(strstr(nothing, "<text"));
    free(nothing);
    ih_glyphs_close(g);
}

TEST(text_has_its_width)
{
    static const char *const anchors[] = {"font-size=\"13\" textLength",
                                          "font-size=\"13\" text-anchor=\"middle\" textLength",
                                          "font-size=\"13\" text-anchor=\"end\" textLength"};
    struct ih_glyphs *g = NULL;
    assert_int_equal(ih_glyphs_open(&g, NULL), IH_OK);
    for (int align = IH_ALIGN_LEFT; align <= IH_ALIGN_RIGHT; align++) {
        char *text = set_text(g, (enum ih_align)align, "mean 12.5");
        assert_has(text, "<text x=\"10\" y=\"20\" ");
        assert_has(text, anchors[align]);
        const char *length = strstr(text, "textLength=\"");
        const double width = ih_glyphs_width(g, 13, "mean 12.5") / (double)PIXEL;
        const double written = strtod(length + strlen("textLength=\""), NULL);
        assert_true(written > width - 0.01 && written < width + 0.01);
        free(text);
    }
    ih_glyphs_close(g);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static char *draw_svg(unsigned n_channels, const char *theme)
{
    struct ih_result *r = new_result(n_channels);
    const struct ih_chart_options options = {.width = 1024,
                                             .height = 640,
                                             .theme = ih_chart_theme_find(theme),
                                             .format = ih_chart_format_of("x.svg")};
    unsigned char *file = NULL;
    size_t size = 0;
    r->path = "a<b>&.png";
    for (unsigned v = 0; v < IH_BINS; v++)
        add_gray(r, v, 1);
    assert_int_equal(ih_chart_draw(r, &options, &file, &size, NULL), IH_OK);
    char *text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, file, size);
    text[size] = '\0';
    free(file);
    free_result(r);
    return text;
}

TEST(channels_are_blended_areas)
{
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        const size_t n_blended = n_channels < 3 ? 0 : 3;
        char *dark = draw_svg(n_channels, "dark"), *light = draw_svg(n_channels, "light");
        assert_int_equal(count(dark, "mix-blend-mode:screen"), n_blended);
        assert_int_equal(count(light, "mix-blend-mode:screen"), n_blended);
        assert_has(dark, "<title>Histogram of a&lt;b&gt;&amp;.png</title>");
        assert_has(dark, ">a&lt;b&gt;&amp;.png</text>");
        assert_has(dark, ">640 \xc3\x97 480 px");
        free(dark);
        free(light);
    }
}

TEST(the_locale_changes_nothing)
{
    char *one = draw_svg(3, "dark");
    setlocale(LC_ALL, "de_DE.UTF-8"); /* a decimal comma, if the machine has this locale */
    char *two = draw_svg(3, "dark");
    setlocale(LC_ALL, "C");
    assert_string_equal(one, two);
    free(one);
    free(two);
}

TEST(endings)
{
    static const char *const some[] = {"a.png", "a.SVG", "d.x/a.jpg", "a.JPEG", ".bmp", "a.b.tga"};
    static const char *const none[] = {"",        "png",    "a.gif", "a.png/",
                                       "a.png/b", "a.svgz", "a.",    "dir"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        assert_non_null(ih_chart_format_of(some[i]));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(ih_chart_format_of(none[i]));
    assert_ptr_equal(ih_chart_format_of("a.jpg"), ih_chart_format_of("b.jpeg"));
    assert_ptr_not_equal(ih_chart_format_of("a.bmp"), ih_chart_format_of("a.tga"));
}
