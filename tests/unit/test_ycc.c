/*
 * kernels/ycc.h against libjpeg-turbo, on the CPU: the planes of jpeg_read_raw_data, converted to
 * RGB, equal the rows of jpeg_read_scanlines in every byte, with all four subsamplings, every small
 * size, hard and soft content. The planes' padding is noise, so a wrong read changes the result.
 */
#include "tests/support/test.h"

#include "kernels/ycc.h"
#include "tests/support/jpeg_files.h"
#include "tests/support/random.h"

enum { ALIGNMENT = 16, GUARD_ROWS = 16 };

/* ---- images ---- */

enum content { NOISE, SOFT, CORNERS, N_CONTENTS };

/* Returns a sample of the RGB image to encode. */
static uint8_t sample(enum content content, uint32_t x, uint32_t y, uint32_t channel)
{
    const uint32_t r = next_random();
    switch (content) {
    case NOISE:
        return (uint8_t)(r >> 8);
    case SOFT:
        return (uint8_t)(x * (3 + channel) + y * (7 - 2 * channel) + r % 4);
    default: /* patches of extreme colours, which leave the range when decoded */
        return (x / 3 * 5 + y / 2 * 3 + x * y / 16) >> channel & 1 ? 255 : 0;
    }
}

struct shape {
    uint32_t width, height;
    int h, v; /* Y is this many times wider and higher than Cb and Cr */
};

static struct jpeg_file encode(const struct shape *s, enum content content, int quality)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_file file = {NULL, 0};
    uint8_t *row = malloc((size_t)s->width * 3);
    assert_non_null(row);
    begin_jpeg(&cinfo, &errors, &file, s->width, s->height, JCS_RGB);
    jpeg_set_quality(&cinfo, quality, TRUE);
    cinfo.comp_info[0].h_samp_factor = s->h;
    cinfo.comp_info[0].v_samp_factor = s->v;
    cinfo.restart_interval = s->width % 4;
    jpeg_start_compress(&cinfo, TRUE);
    for (uint32_t y = 0; y < s->height; y++) {
        for (uint32_t i = 0; i < s->width * 3; i++)
            row[i] = sample(content, i / 3, y, i % 3);
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    free(row);
    return file;
}

/* Returns uint8 [height][width][3] as the library decodes it; free() it. */
static uint8_t *decode_rgb(const struct jpeg_file *file)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    open_jpeg(&cinfo, &errors, file->bytes, file->n);
    jpeg_start_decompress(&cinfo);
    const size_t row_bytes = (size_t)cinfo.output_width * 3;
    uint8_t *rgb = malloc(row_bytes * cinfo.output_height);
    assert_non_null(rgb);
    while (cinfo.output_scanline < cinfo.output_height) {
        uint8_t *row = rgb + cinfo.output_scanline * row_bytes;
        jpeg_read_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    return rgb;
}

/* Allocates planes of noise. They end with the padding of their last row. */
static void open_image(const struct shape *s, struct ih_ycc_image *image)
{
    *image = (struct ih_ycc_image){.width = s->width, .height = s->height};
    image->chroma_width = (s->width + (uint32_t)s->h - 1) / (uint32_t)s->h;
    image->chroma_height = (s->height + (uint32_t)s->v - 1) / (uint32_t)s->v;
    for (int i = 0; i < 3; i++) {
        const uint32_t width = i ? image->chroma_width : s->width;
        const uint32_t height = i ? image->chroma_height : s->height;
        const uint32_t pitch = (width + next_random() % 40 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        uint8_t *plane = aligned_alloc(ALIGNMENT, (size_t)pitch * height);
        assert_non_null(plane);
        for (size_t b = 0; b < (size_t)pitch * height; b++)
            plane[b] = (uint8_t)(next_random() >> 8);
        image->planes[i] = plane;
        image->pitch_bytes[i] = pitch;
    }
}

static void close_image(struct ih_ycc_image *image)
{
    for (int i = 0; i < 3; i++)
        free((void *)(uintptr_t)image->planes[i]);
}

static uint8_t *row_of(const struct ih_ycc_image *image, int plane, uint32_t y)
{
    return (uint8_t *)(uintptr_t)image->planes[plane] + y * image->pitch_bytes[plane];
}

/* Fills the planes with the samples that the library decodes, before upsampling. */
static void decode_planes(const struct jpeg_file *file, const struct ih_ycc_image *image)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    open_jpeg(&cinfo, &errors, file->bytes, file->n);
    cinfo.raw_data_out = TRUE;
    cinfo.out_color_space = JCS_YCbCr;
    jpeg_start_decompress(&cinfo);

    const uint32_t n_rows = (uint32_t)cinfo.max_v_samp_factor * DCTSIZE;
    const size_t row_bytes = image->width + 4 * DCTSIZE;
    uint8_t *memory = malloc(3 * GUARD_ROWS * row_bytes);
    uint8_t *rows[3][GUARD_ROWS], **planes[3] = {rows[0], rows[1], rows[2]};
    assert_non_null(memory);
    for (uint32_t i = 0; i < 3 * GUARD_ROWS; i++)
        rows[i / GUARD_ROWS][i % GUARD_ROWS] = memory + i * row_bytes;
    for (uint32_t first = 0; first < image->height; first += n_rows) {
        assert_int_equal(jpeg_read_raw_data(&cinfo, planes, n_rows), n_rows);
        for (int p = 0; p < 3; p++) {
            const uint32_t n = (uint32_t)cinfo.comp_info[p].v_samp_factor * DCTSIZE;
            const uint32_t height = p ? image->chroma_height : image->height;
            const uint32_t top = first / n_rows * n;
            for (uint32_t y = top; y < top + n && y < height; y++)
                memcpy(row_of(image, p, y), rows[p][y - top],
                       p ? image->chroma_width : image->width);
        }
    }
    jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    free(memory);
}

/* ---- the two ways ---- */

static void put(uint8_t *rgb, const struct ih_ycc_image *image, uint32_t x, uint32_t y,
                const uint32_t *colours)
{
    for (uint32_t c = 0; c < 3; c++)
        rgb[((size_t)y * image->width + x) * 3 + c] = (uint8_t)colours[c];
}

static void convert_pixels(const struct ih_ycc_image *image, const struct shape *s, uint32_t first,
                           uint8_t *rgb)
{
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = first; x < image->width; x++) {
            uint32_t colours[3];
            ih_ycc_pixel(image, s->h, s->v, x, y, colours);
            put(rgb, image, x, y, colours);
        }
}

static void convert_quad(const struct ih_ycc_image *image, uint32_t x, uint32_t y,
                         const uint32_t *words, uint8_t *rgb)
{
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t colours[3];
        for (int c = 0; c < 3; c++)
            colours[c] = words[c] >> 8 * i & 0xff;
        put(rgb, image, x + i, y, colours);
    }
}

static void convert_group(const struct ih_ycc_image *image, const struct shape *s, uint32_t column,
                          uint32_t line, uint8_t *rgb)
{
    struct ih_ycc_windows windows;
    ih_ycc_load_windows(image, s->h, s->v, column, line, &windows);
    for (int row = 0; row < s->v; row++) {
        const uint32_t x = column * IH_YCC_GROUP_COLUMNS, y = ih_ycc_row(s->v, line, row);
        uint32_t y_words[IH_YCC_ROW_QUADS], words[3];
        if (y >= image->height)
            continue;
        ih_ycc_load_row(image, column, y, y_words);
        for (int i = 0; i < IH_YCC_ROW_QUADS; i++) {
            ih_ycc_quad(&windows, y_words[i], s->h, s->v, row, i, words);
            convert_quad(image, x + 4 * (uint32_t)i, y, words, rgb);
        }
    }
}

/* Converts all full groups, then the columns after them, as the kernel does. */
static void convert_groups(const struct ih_ycc_image *image, const struct shape *s, uint8_t *rgb)
{
    const uint32_t n_columns = image->width / IH_YCC_GROUP_COLUMNS;
    for (uint32_t line = 0; line < ih_ycc_lines(image->height, s->v); line++)
        for (uint32_t column = 0; column < n_columns; column++)
            convert_group(image, s, column, line, rgb);
    convert_pixels(image, s, n_columns * IH_YCC_GROUP_COLUMNS, rgb);
}

static void assert_same(const uint8_t *got, const uint8_t *want, const struct shape *s,
                        const char *way)
{
    const size_t n = (size_t)s->width * s->height * 3;
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("%u x %u, chroma %dx%d, %s: channel %u of pixel (%u, %u) is %u, not %u",
                     s->width, s->height, s->h, s->v, way, (unsigned)(i % 3),
                     (unsigned)(i / 3 % s->width), (unsigned)(i / 3 / s->width), got[i], want[i]);
}

/* Checks that both ways give `want`, or with NULL that both give the same. */
static void check_ways(const struct ih_ycc_image *image, const struct shape *s, const uint8_t *want)
{
    const size_t n = (size_t)s->width * s->height * 3;
    uint8_t *pixels = calloc(n, 1), *groups = calloc(n, 1);
    assert_true(pixels && groups);
    convert_pixels(image, s, 0, pixels);
    convert_groups(image, s, groups);
    if (want)
        assert_same(pixels, want, s, "by pixels");
    assert_same(groups, want ? want : pixels, s, "by groups");
    free(pixels);
    free(groups);
}

static void check_file(const struct shape *s, enum content content, int quality)
{
    struct ih_ycc_image image;
    struct jpeg_file file = encode(s, content, quality);
    uint8_t *want = decode_rgb(&file);
    open_image(s, &image);
    decode_planes(&file, &image);
    check_ways(&image, s, want);
    close_image(&image);
    free(want);
    free(file.bytes);
}

static const int qualities[] = {100, 97, 75, 30};

static void every_small_size(int h, int v)
{
    for (uint32_t width = 1; width <= 40; width++)
        for (uint32_t height = 1; height <= 36; height++) {
            const struct shape s = {width, height, h, v};
            check_file(&s, (enum content)((width + height) % N_CONTENTS),
                       qualities[(width / 3 + height / 2) % 4]);
        }
}

#define SMALL_TEST(name, h, v)  \
    TEST(small_##name)          \
    {                           \
        every_small_size(h, v); \
    }
SMALL_TEST(444, 1, 1)
SMALL_TEST(422, 2, 1)
SMALL_TEST(420, 2, 2)
SMALL_TEST(440, 1, 2)

TEST(larger_files)
{
    static const uint32_t sizes[][2] = {{512, 64}, {531, 77}, {96, 251}, {65500, 3}, {3, 3001}};
    for (int i = 0; i < 4; i++)
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
            for (int content = 0; content < N_CONTENTS; content++) {
                const struct shape s = {sizes[n][0], sizes[n][1], 1 + i % 2, 1 + i / 2};
                check_file(&s, (enum content)content, qualities[n % 4]);
            }
}

/* Planes that no encoder would make: all kinds of neighbours and sums. */
TEST(planes_of_noise)
{
    for (int i = 0; i < 4; i++)
        for (uint32_t width = 1; width < 300; width += 1 + width / 5) {
            const struct shape s = {width, 1 + width * 7 % 61, 1 + i % 2, 1 + i / 2};
            struct ih_ycc_image image;
            open_image(&s, &image);
            check_ways(&image, &s, NULL);
            close_image(&image);
        }
}

/* (factor * (value - 128) + half) >> 16, with the factor as JFIF defines it. */
static int term(double factor, int value, int half)
{
    const int fixed = (int)(factor * 65536 + 0.5) * (value - 128) + half;
    return fixed >= 0 ? fixed : fixed - 65535; /* dividing then rounds down */
}

static int clamped(int value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* All 2^24 colours. */
TEST(every_colour)
{
    for (int cb = 0; cb < 256; cb++)
        for (int cr = 0; cr < 256; cr++) {
            const int red = term(1.402, cr, 32768) / 65536, blue = term(1.772, cb, 32768) / 65536;
            const int both = (int)(-0.71414 * 65536 - 0.5) * (cr - 128) +
                             (int)(-0.34414 * 65536 - 0.5) * (cb - 128) + 32768;
            const int green = (both >= 0 ? both : both - 65535) / 65536;
            for (int y = 0; y < 256; y++) {
                uint32_t r, g, b;
                ih_ycc_colours((uint32_t)y << 16, (uint32_t)cb, (uint32_t)cr, &r, &g, &b);
                if ((r >> 16) != (uint32_t)clamped(y + red) ||
                    (g >> 16) != (uint32_t)clamped(y + green) ||
                    (b >> 16) != (uint32_t)clamped(y + blue))
                    fail_msg("Y %d, Cb %d, Cr %d: %u %u %u", y, cb, cr, r >> 16, g >> 16, b >> 16);
            }
        }
}
