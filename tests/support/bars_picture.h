/* Charts of bars as decoded pixels, for the tests. */
#ifndef IH_TESTS_BARS_PICTURE_H
#define IH_TESTS_BARS_PICTURE_H

#include "output/chart/bars.h"

#include "tests/support/chart_picture.h"

#include <math.h>

#define NONE ((double)NAN)

static const struct colour first_series = {42, 92, 200}, second_series = {34, 168, 56};

static inline struct ih_bar a_bar(const char *label, double value, double limit)
{
    return (struct ih_bar){
        .label = label, .note = "", .value = value, .least = NONE, .limit = limit};
}

static inline struct ih_bar_chart a_chart(const struct ih_bar_group *groups, size_t n_groups)
{
    return (struct ih_bar_chart){.title = "Title",
                                 .unit = "GB/s",
                                 .series = {"one", "two"},
                                 .limit_name = "read",
                                 .limit_meaning = "the limit",
                                 .least_meaning = "the least",
                                 .groups = groups,
                                 .n_groups = n_groups};
}

/* Width 0: the usual size. */
static inline struct picture draw_chart(const struct ih_bar_chart *chart, unsigned width,
                                        unsigned height)
{
    const struct ih_chart_options options = {.width = width, .height = height};
    unsigned char *png = NULL;
    size_t size = 0;
    struct ih_error err;
    assert_int_equal(ih_bars_draw(chart, &options, &png, &size, &err), IH_OK);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, png, size));
    image.format = PNG_FORMAT_RGB;
    assert_true(width == 0 || (image.width == width && image.height == height));
    struct picture p = {.width = (int)image.width, .height = (int)image.height};
    p.pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(p.pixels);
    assert_true(png_image_finish_read(&image, NULL, p.pixels, 0, NULL));
    free(png);
    return p;
}

static inline struct picture draw_bars(const struct ih_bar *bars, size_t n, unsigned width,
                                       unsigned height)
{
    const struct ih_bar_group group = {"group", "detail", bars, n};
    const struct ih_bar_chart chart = a_chart(&group, 1);
    return draw_chart(&chart, width, height);
}

/* A run of one colour that is longer than any stroke of a letter or swatch of the legend. */
struct run {
    int y, first, end;
};

static inline bool next_run(const struct picture *p, struct colour colour, int from_y,
                            struct run *run)
{
    for (int y = from_y; y < p->height; y++)
        for (int x = 0, length = 0; x < p->width; x++) {
            length = same_colour(pixel_at(p, x, y), colour) ? length + 1 : 0;
            if (length < 16)
                continue;
            run->first = x - 15;
            while (x < p->width && same_colour(pixel_at(p, x, y), colour))
                x++;
            run->y = y;
            run->end = x;
            return true;
        }
    return false;
}

/* The next bar below a row of pixels, and with *y the row below it. */
static inline bool next_bar(const struct picture *p, struct colour colour, int *y, struct run *run)
{
    *run = (struct run){0, 0, 0};
    if (!next_run(p, colour, *y, run))
        return false;
    for (*y = run->y; *y < p->height; ++*y)
        if (!same_colour(pixel_at(p, run->first, *y), colour))
            break;
    return true;
}

#endif
