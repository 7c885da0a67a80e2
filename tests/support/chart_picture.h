/*
 * Charts as decoded pixels, for tests.
 *
 * These functions do not know the layout. They find the plot by the colours of its panel and its
 * axis, and everything else by colour.
 */
#ifndef IH_TESTS_CHART_PICTURE_H
#define IH_TESTS_CHART_PICTURE_H

#include "tests/support/test.h"

#include "chart/chart.h"
#include "tests/support/histograms.h"
#include <png.h>

/* free_result() it. */
static inline struct ih_result *new_result(unsigned n_channels)
{
    struct ih_result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->path = "dir/photo.jpg";
    r->info = (struct ih_image_info){.format = "jpeg",
                                     .width = 640,
                                     .height = 480,
                                     .layout = IH_LAYOUT(n_channels),
                                     .source_depth = 8};
    r->measure = (struct ih_measure){.luma = &ih_luma_bt709, .clip_low = 0, .clip_high = 255};
    r->histogram = make_histogram(n_channels);
    return r;
}

static inline void free_result(struct ih_result *r)
{
    ih_histogram_reset(&r->histogram);
    free(r);
}

/* Counts n pixels of one colour, as a backend does. */
static inline void add_pixels(struct ih_result *r, const uint8_t pixel[IH_PIXEL_CHANNELS_MAX],
                              uint64_t n)
{
    struct ih_histogram *h = &r->histogram;
    const unsigned n_colours = ih_layout_of(h->layout.n_channels).n_colours;
    unsigned n_low = 0, n_high = 0;
    for (unsigned c = 0; c < h->layout.n_channels; c++) {
        add_values(h, c, pixel[c], n);
        n_low += c < n_colours && pixel[c] <= r->measure.clip_low;
        n_high += c < n_colours && pixel[c] >= r->measure.clip_high;
    }
    unsigned luma =
        n_colours == 1 ? pixel[0] : ih_luma(&ih_luma_bt709, pixel[0], pixel[1], pixel[2]);
    add_values(h, IH_LUMA, luma, n);
    h->n_pixels += n;
    h->any_low += n_low > 0 ? n : 0;
    h->any_high += n_high > 0 ? n : 0;
    h->all_low += n_low == n_colours ? n : 0;
    h->all_high += n_high == n_colours ? n : 0;
}

static inline void add_gray(struct ih_result *r, unsigned value, uint64_t n)
{
    const uint8_t v = (uint8_t)value;
    add_pixels(r, (const uint8_t[]){v, v, v, 255}, n);
}

struct colour {
    int red, green, blue;
};

enum colour_name { PAGE, PANEL, AXIS, WARNING, WHITE, TEXT };

/* Colours of the dark theme. */
static inline struct colour colour_of(enum colour_name name)
{
    switch (name) {
    case PAGE:
        return (struct colour){24, 26, 31};
    case PANEL:
        return (struct colour){15, 16, 20};
    case AXIS:
        return (struct colour){124, 125, 128}; /* blended with the page */
    case WARNING:
        return (struct colour){255, 176, 46};
    case WHITE:
        return (struct colour){255, 255, 255};
    default:
        return (struct colour){236, 238, 242};
    }
}

struct picture {
    int width, height;
    uint8_t *pixels;              /* [height][width][3] */
    int left, top, right, bottom; /* of the panel; right and bottom are excluded */
};

static inline struct colour pixel_at(const struct picture *p, int x, int y)
{
    const uint8_t *pixel = p->pixels + ((size_t)y * (size_t)p->width + (size_t)x) * 3;
    return (struct colour){pixel[0], pixel[1], pixel[2]};
}

static inline bool same_colour(struct colour a, struct colour b)
{
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

/* Counts the pixels of a colour in a part of the picture. */
static inline int count_colour(const struct picture *p, enum colour_name name, int x0, int y0,
                               int x1, int y1)
{
    int n = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            n += same_colour(pixel_at(p, x, y), colour_of(name));
    return n;
}

/* Finds the longest run of one colour in a row. Returns its length. */
static inline int longest_run(const struct picture *p, enum colour_name name, int y, int *first)
{
    int longest = 0, length = 0;
    for (int x = 0; x < p->width; x++) {
        length = same_colour(pixel_at(p, x, y), colour_of(name)) ? length + 1 : 0;
        if (length > longest) {
            longest = length;
            *first = x + 1 - length;
        }
    }
    return longest;
}

/* Finds the panel. Its bottom is the only line longer than half the picture, and its top is the
 * first row with the panel's colour: only cut bars reach that row. */
static inline void find_panel(struct picture *p)
{
    int length = 0;
    p->left = p->top = p->bottom = 0;
    while (p->top < p->height && count_colour(p, PANEL, 0, p->top, p->width, p->top + 1) == 0)
        p->top++;
    for (p->bottom = p->top; p->bottom < p->height; p->bottom++)
        if ((length = longest_run(p, AXIS, p->bottom, &p->left)) > p->width / 2)
            break;
    assert_true(p->top < p->bottom && p->bottom < p->height);
    p->right = p->left + length;
}

static inline struct picture draw(const struct ih_result *r, struct ih_chart_options options)
{
    unsigned char *png = NULL;
    size_t size = 0;
    struct ih_error err;
    assert_int_equal(ih_chart_draw(r, &options, &png, &size, &err), IH_OK);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, png, size));
    image.format = PNG_FORMAT_RGB;
    assert_int_equal(image.width, options.width);
    assert_int_equal(image.height, options.height);
    struct picture p = {.width = (int)image.width, .height = (int)image.height};
    p.pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(p.pixels);
    assert_true(png_image_finish_read(&image, NULL, p.pixels, 0, NULL));
    free(png);
    return p;
}

/* Draws the chart of r in the default size, and frees r. */
static inline struct picture draw_usual(struct ih_result *r)
{
    struct picture p =
        draw(r, (struct ih_chart_options){.width = IH_CHART_WIDTH, .height = IH_CHART_HEIGHT});
    find_panel(&p);
    free_result(r);
    return p;
}

/* Returns the column of pixels in the middle of bin v. */
static inline int bin_column(const struct picture *p, int v)
{
    return p->left + (p->right - p->left) * (2 * v + 1) / (2 * IH_BINS);
}

/* Returns the top of the bar in a column of pixels: the first row below the names of the zones
 * that differs from the column of an empty bin. The bottom of the plot if there is no bar. */
static inline int bar_top_at(const struct picture *p, int x, int empty_x)
{
    enum { ZONE_NAMES = 19 }; /* rows in a chart of the default size */
    for (int y = p->top + ZONE_NAMES; y < p->bottom; y++)
        if (!same_colour(pixel_at(p, x, y), pixel_at(p, empty_x, y)))
            return y;
    return p->bottom;
}

/* Not for bins with a grid line. */
static inline int bar_top(const struct picture *p, int v, int empty_v)
{
    return bar_top_at(p, bin_column(p, v), bin_column(p, empty_v));
}

static inline bool same_picture(const struct picture *a, const struct picture *b)
{
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    return memcmp(a->pixels, b->pixels, (size_t)a->width * (size_t)a->height * 3) == 0;
}

#endif
