/*
 * Thumbnails: smooth pictures, whose small JPEG differs from the mean of each box by at most a few
 * levels, in every order of pixels; sizes, alpha, orientation, and noise that must stay small.
 */
#include "tests/support/test.h"

#include "scan/scan.h"
#include "tests/support/random.h"

#include <jpeglib.h>
#include <math.h>

typedef void draw_function(uint64_t x, uint64_t y, const struct ih_image_info *info, uint8_t *to);

/* Adds all pixels, n_stripe at a time, and encodes. The file is the caller's. */
static uint8_t *make(const struct ih_image_info *info, draw_function *draw, size_t n_stripe,
                     size_t *n_bytes)
{
    struct ih_thumbnail t;
    struct ih_error err;
    struct ih_pixel_order_walk walk;
    struct ih_pixel_order_run run;
    uint8_t *jpeg, *stripe = malloc(n_stripe * info->layout.n_channels);
    size_t n = 0;
    assert_non_null(stripe);
    assert_int_equal(ih_thumbnail_start(&t, info, &err), IH_OK);
    ih_pixel_order_start(&walk, &info->order, info->width, info->height);
    while (ih_pixel_order_next(&walk, SIZE_MAX, &run))
        for (size_t i = 0; i < run.n; i++) {
            draw((uint64_t)((int64_t)run.x + (int64_t)i * run.x_step), run.y, info,
                 stripe + n * info->layout.n_channels);
            if (++n == n_stripe) {
                ih_thumbnail_add(&t, stripe, n);
                n = 0;
            }
        }
    ih_thumbnail_add(&t, stripe, n);
    assert_int_equal(ih_thumbnail_end(&t, info->orientation, &jpeg, n_bytes, &err), IH_OK);
    ih_thumbnail_reset(&t);
    free(stripe);
    return jpeg;
}

struct small {
    unsigned width, height, n_channels;
    bool has_exif;
    uint8_t pixels[IH_THUMBNAIL_SIDE * IH_THUMBNAIL_SIDE * 3];
};

static void decode(const uint8_t *jpeg, size_t n_bytes, struct small *s)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_save_markers(&d, JPEG_APP0 + 1, 100);
    jpeg_mem_src(&d, jpeg, n_bytes);
    assert_int_equal(jpeg_read_header(&d, TRUE), JPEG_HEADER_OK);
    jpeg_start_decompress(&d);
    s->width = d.output_width;
    s->height = d.output_height;
    s->n_channels = (unsigned)d.output_components;
    s->has_exif = d.marker_list != NULL;
    assert_true(s->width <= IH_THUMBNAIL_SIDE && s->height <= IH_THUMBNAIL_SIDE);
    while (d.output_scanline < d.output_height) {
        JSAMPROW row = s->pixels + d.output_scanline * s->width * s->n_channels;
        jpeg_read_scanlines(&d, &row, 1);
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
}

/* Another shade at each corner. */
static void draw_slope(uint64_t x, uint64_t y, const struct ih_image_info *info, uint8_t *to)
{
    to[0] = (uint8_t)((x * 2 * info->height + y * info->width) * 80 / (info->width * info->height));
    if (info->layout.n_channels >= 3) {
        to[1] = (uint8_t)(255 - to[0]);
        to[2] = 90;
    }
}

/* The mean of each box, found pixel by pixel, against the thumbnail. */
static void compare(const struct ih_image_info *info, unsigned width, unsigned height,
                    size_t n_stripe)
{
    static double sums[IH_THUMBNAIL_SIDE][IH_THUMBNAIL_SIDE][4];
    static struct small s;
    const unsigned n_channels = info->layout.n_channels;
    const double tolerance = n_channels == 1 ? 4 : 12; /* colour is subsampled */
    size_t n_bytes;
    uint8_t *jpeg = make(info, draw_slope, n_stripe, &n_bytes), pixel[4];
    assert_non_null(jpeg);
    assert_true(n_bytes <= IH_THUMBNAIL_BYTES_MAX);
    decode(jpeg, n_bytes, &s);
    assert_int_equal(s.width, width);
    assert_int_equal(s.height, height);
    assert_int_equal(s.n_channels, n_channels);
    memset(sums, 0, sizeof sums);
    for (uint64_t y = 0; y < info->height; y++)
        for (uint64_t x = 0; x < info->width; x++) {
            double *sum = sums[y * height / info->height][x * width / info->width];
            draw_slope(x, y, info, pixel);
            for (unsigned c = 0; c < n_channels; c++)
                sum[c] += pixel[c];
            sum[3]++;
        }
    for (unsigned i = 0; i < width * height; i++)
        for (unsigned c = 0; c < n_channels; c++) {
            const double *sum = sums[i / width][i % width];
            if (fabs(s.pixels[i * n_channels + c] - sum[c] / sum[3]) > tolerance)
                fail_msg("%u %u: %u, not %f", i % width, i / width, s.pixels[i * n_channels + c],
                         sum[c] / sum[3]);
        }
    free(jpeg);
}

TEST(means_of_boxes)
{
    static const struct {
        unsigned width, height, small_width, small_height;
    } sizes[] = {{1000, 700, 160, 112}, {161, 1000, 26, 160}, {160, 160, 160, 160},
                 {333, 333, 160, 160},  {33, 21, 33, 21},     {1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned n_channels = 1; n_channels <= 3; n_channels += 2)
            compare(&(struct ih_image_info){.width = sizes[i].width,
                                            .height = sizes[i].height,
                                            .layout = IH_LAYOUT(n_channels)},
                    sizes[i].small_width, sizes[i].small_height, 997);
}

TEST(orders)
{
    static const struct ih_pixel_order orders[] = {
        {.flags = IH_PIXEL_ORDER_FROM_BOTTOM},
        {.flags = IH_PIXEL_ORDER_FROM_BOTTOM | IH_PIXEL_ORDER_FROM_RIGHT},
        {.kind = IH_PIXEL_ORDER_ADAM7},
        {.kind = IH_PIXEL_ORDER_TILES, .width = 64, .height = 48},
        {.kind = IH_PIXEL_ORDER_FRAME, .width = 200, .height = 100, .left = 50, .top = 33},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (size_t n_stripe = 1; n_stripe < 100000; n_stripe = n_stripe * 10 + 3)
            compare(
                &(struct ih_image_info){
                    .width = 405, .height = 300, .layout = IH_LAYOUT(3), .order = orders[i]},
                160, 119, n_stripe);
}

static void draw_black(uint64_t x, uint64_t y, const struct ih_image_info *info, uint8_t *to)
{
    memset(to, 0, info->layout.n_channels);
}

/* One pixel of two is opaque and black, so half of the checkerboard shows. */
static void draw_half_black(uint64_t x, uint64_t y, const struct ih_image_info *info, uint8_t *to)
{
    to[0] = x % 2 ? 0 : 77;
    to[info->layout.n_channels - 1] = x % 2 ? 255 : 0;
    for (unsigned c = 1; c + 1 < info->layout.n_channels; c++)
        to[c] = to[0];
}

/* Squares of 8 pixels: white in the upper left corner, then a light gray. */
TEST(alpha_lies_on_a_checkerboard)
{
    static struct small s;
    for (unsigned n_channels = 2; n_channels <= 4; n_channels += 2) {
        const struct ih_image_info info = {
            .width = 640, .height = 640, .layout = IH_LAYOUT(n_channels)};
        size_t n_bytes;
        uint8_t *jpeg = make(&info, draw_half_black, 5000, &n_bytes);
        decode(jpeg, n_bytes, &s);
        assert_int_equal(s.n_channels, n_channels - 1);
        for (size_t i = 0; i < (size_t)s.width * s.height; i++) {
            const int half = (i % s.width / 8 + i / s.width / 8) % 2 ? 108 : 128;
            for (unsigned c = 0; c < s.n_channels; c++)
                assert_in_range(s.pixels[i * s.n_channels + c], half - 4, half + 4);
        }
        free(jpeg);
        jpeg = make(&info, draw_black, 5000, &n_bytes); /* alpha 0 too */
        decode(jpeg, n_bytes, &s);
        assert_in_range(s.pixels[0], 252, 255);
        assert_in_range(s.pixels[8 * s.n_channels], 212, 220);
        free(jpeg);
    }
}

static void draw_noise(uint64_t x, uint64_t y, const struct ih_image_info *info, uint8_t *to)
{
    static uint32_t seed = 1;
    for (unsigned c = 0; c < info->layout.n_channels; c++)
        to[c] = (uint8_t)(random_next(&seed) >> 24);
}

TEST(noise_stays_small)
{
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        const struct ih_image_info info = {
            .width = 160, .height = 160, .layout = IH_LAYOUT(n_channels), .orientation = 6};
        size_t n_bytes;
        uint8_t *jpeg = make(&info, draw_noise, 160, &n_bytes);
        assert_in_range(n_bytes, 1, IH_THUMBNAIL_BYTES_MAX);
        free(jpeg);
    }
}

TEST(orientation_is_kept)
{
    static struct small s;
    for (unsigned orientation = 0; orientation <= 8; orientation++) {
        const struct ih_image_info info = {
            .width = 8, .height = 8, .layout = IH_LAYOUT(1), .orientation = orientation};
        size_t n_bytes;
        uint8_t *jpeg = make(&info, draw_black, 64, &n_bytes);
        decode(jpeg, n_bytes, &s);
        assert_int_equal(s.has_exif, orientation > 1);
        free(jpeg);
    }
}

TEST(no_size_no_thumbnail)
{
    const struct ih_image_info sizes[] = {
        {.layout = IH_LAYOUT(3)},
        {.width = 1, .layout = IH_LAYOUT(3)},
        {.width = 1, .height = 1ull << 40, .layout = IH_LAYOUT(1)}};
    for (size_t i = 0; i < 3; i++) {
        struct ih_thumbnail t;
        struct ih_error err;
        uint8_t *jpeg;
        size_t n_bytes;
        assert_int_equal(ih_thumbnail_start(&t, &sizes[i], &err), IH_OK);
        ih_thumbnail_add(&t, (const uint8_t *)"abc", 1);
        assert_int_equal(ih_thumbnail_end(&t, 0, &jpeg, &n_bytes, &err), IH_OK);
        assert_null(jpeg);
        ih_thumbnail_reset(&t);
    }
}
