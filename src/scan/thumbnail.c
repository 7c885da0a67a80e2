#include "scan/scan.h"

#include "base/jpeg_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- boxes ---- */

/* The first of n places in box i of n_boxes. */
static uint64_t box_start(uint64_t i, uint64_t n, uint64_t n_boxes)
{
    return (i * n + n_boxes - 1) / n_boxes;
}

static unsigned scaled(uint64_t side, uint64_t longer_side)
{
    const uint64_t n = (side * IH_THUMBNAIL_SIDE + longer_side / 2) / longer_side;
    return n > 0 ? (unsigned)n : 1;
}

enum ih_status ih_thumbnail_start(struct ih_thumbnail *t, const struct ih_image_info *info,
                                  struct ih_error *err)
{
    const uint64_t w = info->width, h = info->height, longer = w > h ? w : h;
    *t = (struct ih_thumbnail){.image_width = w, .image_height = h};
    if (w == 0 || h == 0 || longer > UINT32_MAX || !ih_is_unsigned(info->type))
        return IH_OK; /* without black and white, no picture */
    const bool is_small = longer <= IH_THUMBNAIL_SIDE;
    t->width = is_small ? (unsigned)w : scaled(w, longer);
    t->height = is_small ? (unsigned)h : scaled(h, longer);
    t->n_channels = info->layout.n_channels;
    t->type = info->type;
    t->n_bins = info->n_bins;
    ih_pixel_order_start(&t->walk, &info->order, w, h);
    t->sums = calloc((size_t)t->width * t->height * t->n_channels, sizeof *t->sums);
    return t->sums ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

/* Adds n pixels of one box. */
static void add_8_bit(uint64_t *sums, const uint8_t *pixels, size_t n, unsigned n_channels)
{
    uint64_t sum[IH_PIXEL_CHANNELS_MAX] = {0};
    const unsigned n_colours = ih_layout_of(n_channels).n_colours;
    if (n_colours == n_channels) {
        for (size_t i = 0; i < n; i++, pixels += n_channels)
            for (unsigned c = 0; c < n_channels; c++)
                sum[c] += pixels[c];
    } else {
        for (size_t i = 0; i < n; i++, pixels += n_channels) {
            const unsigned alpha = pixels[n_colours];
            for (unsigned c = 0; c < n_colours; c++)
                sum[c] += pixels[c] * alpha;
            sum[n_colours] += alpha;
        }
    }
    for (unsigned c = 0; c < n_channels; c++)
        sums[c] += sum[c];
}

/* Native pixels become 8-bit ones first. */
static void add_pixels(const struct ih_thumbnail *t, uint64_t *sums, const uint8_t *pixels,
                       size_t n)
{
    uint8_t pixel[IH_PIXEL_CHANNELS_MAX];
    if (!ih_is_native(t->type)) {
        add_8_bit(sums, pixels, n, t->n_channels);
        return;
    }
    const unsigned max = t->n_bins - 1;
    for (size_t i = 0; i < n; i++) {
        for (unsigned c = 0; c < t->n_channels; c++, pixels += 2) {
            uint16_t v;
            memcpy(&v, pixels, sizeof v);
            pixel[c] = (uint8_t)((v * 510u + max) / (2 * max));
        }
        add_8_bit(sums, pixel, 1, t->n_channels);
    }
}

static void add_run(struct ih_thumbnail *t, const struct ih_pixel_order_run *run,
                    const uint8_t *pixels)
{
    const uint64_t y = run->y * t->height / t->image_height;
    uint64_t *const row = t->sums + (size_t)y * t->width * t->n_channels;
    const uint64_t step = (uint64_t)(run->x_step < 0 ? -run->x_step : run->x_step);
    uint64_t x = run->x;
    for (size_t done = 0; done < run->n;) {
        const uint64_t box = x * t->width / t->image_width;
        const uint64_t first = box_start(box, t->image_width, t->width);
        const uint64_t end = box_start(box + 1, t->image_width, t->width);
        const uint64_t n_left = (run->x_step < 0 ? x - first : end - 1 - x) / step + 1;
        const size_t n = n_left < run->n - done ? (size_t)n_left : run->n - done;
        add_pixels(t, row + (size_t)box * t->n_channels, pixels, n);
        pixels += n * ih_pixel_bytes(t->n_channels, t->type);
        x += (uint64_t)run->x_step * n; /* modulo 2^64 */
        done += n;
    }
}

void ih_thumbnail_add(struct ih_thumbnail *t, const uint8_t *pixels, size_t n_pixels)
{
    struct ih_pixel_order_run run;
    for (size_t n = 0; t->sums && n < n_pixels && ih_pixel_order_next(&t->walk, n_pixels - n, &run);
         n += run.n)
        add_run(t, &run, pixels + n * ih_pixel_bytes(t->n_channels, t->type));
}

void ih_thumbnail_reset(struct ih_thumbnail *t)
{
    free(t->sums);
    t->sums = NULL;
}

enum { CHECK_SIDE = 8, CHECK_LIGHT = 255, CHECK_DARK = 216 };

/* Rounds the means of a row. Transparent pixels show a checkerboard. */
static void put_row(const struct ih_thumbnail *t, unsigned y, uint8_t *row)
{
    const unsigned n_colours = ih_layout_of(t->n_channels).n_colours;
    const uint64_t *sums = t->sums + (size_t)y * t->width * t->n_channels;
    const uint64_t n_rows =
        box_start(y + 1, t->image_height, t->height) - box_start(y, t->image_height, t->height);
    for (unsigned x = 0; x < t->width; x++, sums += t->n_channels) {
        const uint64_t n = n_rows * (box_start(x + 1, t->image_width, t->width) -
                                     box_start(x, t->image_width, t->width));
        const bool has_alpha = n_colours != t->n_channels;
        const uint64_t check = (x / CHECK_SIDE + y / CHECK_SIDE) % 2 ? CHECK_DARK : CHECK_LIGHT;
        const uint64_t ground = has_alpha ? check * (255 * n - sums[n_colours]) : 0;
        const uint64_t unit = has_alpha ? 255 * n : n;
        for (unsigned c = 0; c < n_colours; c++)
            *row++ = (uint8_t)((sums[c] + ground + unit / 2) / unit);
    }
}

/* ---- JPEG ---- */

/* Encodes with falling quality, until the file is small enough. */
static enum ih_status encode(struct ih_jpeg_picture *picture, struct ih_bytes *file,
                             struct ih_error *err)
{
    static const int qualities[] = {80, 65, 50, 35, 20, 10, 5};
    enum { N = sizeof qualities / sizeof *qualities };
    enum ih_status status = IH_OK;
    for (unsigned i = 0; i < N && status == IH_OK; i++) {
        picture->quality = qualities[i];
        file->size = 0;
        status = ih_jpeg_write(picture, file, err);
        if (file->size <= IH_THUMBNAIL_BYTES_MAX)
            break;
    }
    return status;
}

enum ih_status ih_thumbnail_end(struct ih_thumbnail *t, unsigned orientation, uint8_t **jpeg,
                                size_t *n_bytes, struct ih_error *err)
{
    const unsigned n_colours = ih_layout_of(t->n_channels).n_colours;
    const size_t row_bytes = (size_t)t->width * n_colours;
    struct ih_bytes file = {0};
    *jpeg = NULL;
    *n_bytes = 0;
    if (!t->sums)
        return IH_OK;
    uint8_t *pixels = malloc(row_bytes * t->height);
    if (!pixels)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (unsigned y = 0; y < t->height; y++)
        put_row(t, y, pixels + y * row_bytes);
    struct ih_jpeg_picture picture = {.pixels = pixels,
                                      .width = t->width,
                                      .height = t->height,
                                      .n_channels = n_colours,
                                      .is_small = true,
                                      .orientation = orientation};
    enum ih_status status = encode(&picture, &file, err);
    if (status == IH_OK && !(*jpeg = malloc(file.size))) /* file has more room than it needs */
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status == IH_OK) {
        memcpy(*jpeg, file.data, file.size);
        *n_bytes = file.size;
    }
    ih_bytes_reset(&file);
    free(pixels);
    return status;
}
