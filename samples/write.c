/*
 * Stores a picture as PNG or JPEG.
 *
 * PNG is written as plainly as possible: no gamma, no time stamp, no text, so that a file depends
 * on the pixels and the version of libpng and zlib alone. JPEG is baseline with 4:2:0 chroma, what
 * cameras write: libjpeg's default for RGB, said here again because the samples rely on it. Both
 * libraries report errors by longjmp, which stays inside the two functions that call setjmp.
 */
#include "samples.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum {
    WIDTH_MAX = 1024, /* pixels; the samples are small */
};

uint32_t ih_picture_pixel_bytes(enum ih_picture_kind kind)
{
    switch (kind) {
    case IH_PICTURE_GRAY16:
        return 2;
    case IH_PICTURE_INDEXED:
        return 1;
    case IH_PICTURE_RGB:
        return 3;
    case IH_PICTURE_RGBA:
        return 4;
    }
    return 0;
}

static const uint8_t *row_of(const struct ih_picture *picture, uint32_t y)
{
    return picture->pixels + (size_t)y * picture->width * ih_picture_pixel_bytes(picture->kind);
}

/* The least depth that holds the indices: 16 colours or fewer pack two pixels into a byte. */
static int depth_of_indices(uint32_t n_colours)
{
    return n_colours <= 2 ? 1 : n_colours <= 4 ? 2 : n_colours <= 16 ? 4 : 8;
}

static void put_png_header(png_structp png, png_infop info, const struct ih_picture *picture)
{
    int depth = 8, colour = PNG_COLOR_TYPE_RGB;
    switch (picture->kind) {
    case IH_PICTURE_GRAY16:
        depth = 16;
        colour = PNG_COLOR_TYPE_GRAY;
        break;
    case IH_PICTURE_INDEXED:
        depth = depth_of_indices(picture->n_colours);
        colour = PNG_COLOR_TYPE_PALETTE;
        break;
    case IH_PICTURE_RGB:
        break;
    case IH_PICTURE_RGBA:
        colour = PNG_COLOR_TYPE_RGB_ALPHA;
        break;
    }
    png_set_IHDR(png, info, picture->width, picture->height, depth, colour, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (picture->kind == IH_PICTURE_INDEXED) {
        png_color colours[256];
        for (uint32_t i = 0; i < picture->n_colours; i++) {
            colours[i].red = picture->palette[i][0];
            colours[i].green = picture->palette[i][1];
            colours[i].blue = picture->palette[i][2];
        }
        png_set_PLTE(png, info, colours, (int)picture->n_colours);
    }
    png_set_compression_level(png, 9);
}

/* Returns false after libpng has said on standard error what is wrong. */
static bool put_png(FILE *file, const struct ih_picture *picture)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, file);
    put_png_header(png, info, picture);
    png_write_info(png, info);
    png_set_packing(png);
    for (uint32_t y = 0; y < picture->height; y++)
        png_write_row(png, row_of(picture, y));
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

struct jpeg_escape {
    struct jpeg_error_mgr base; /* first, so that libjpeg's pointer to it is one to the whole */
    jmp_buf back;
};

static void leave_jpeg(j_common_ptr jpeg)
{
    struct jpeg_escape *escape = (struct jpeg_escape *)(void *)jpeg->err;
    jpeg->err->output_message(jpeg);
    longjmp(escape->back, 1);
}

/* Returns false after libjpeg has said on standard error what is wrong. */
static bool put_jpeg(FILE *file, const struct ih_picture *picture, int quality)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_escape escape;
    uint8_t row[3 * WIDTH_MAX]; /* libjpeg takes rows that are not const */

    assert(picture->kind == IH_PICTURE_RGB && picture->width <= WIDTH_MAX);
    memset(&jpeg, 0, sizeof jpeg);
    jpeg.err = jpeg_std_error(&escape.base);
    escape.base.error_exit = leave_jpeg;
    if (setjmp(escape.back)) {
        jpeg_destroy_compress(&jpeg);
        return false;
    }
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = picture->width;
    jpeg.image_height = picture->height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, quality, TRUE);
    jpeg.dct_method = JDCT_ISLOW;
    jpeg.optimize_coding = TRUE;
    jpeg.comp_info[0].h_samp_factor = 2;
    jpeg.comp_info[0].v_samp_factor = 2;
    jpeg_start_compress(&jpeg, TRUE);
    for (uint32_t y = 0; y < picture->height; y++) {
        JSAMPROW rows[1] = {row};
        memcpy(row, row_of(picture, y), 3 * (size_t)picture->width);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return true;
}

/* Closes the file and says whether all of it was written. */
static bool finish(FILE *file, const char *path, bool ok)
{
    const bool written = !ferror(file);
    if (fclose(file) || !written || !ok) {
        fprintf(stderr, "make_samples: %s: could not be written\n", path);
        return false;
    }
    return true;
}

bool ih_write_png(const char *path, const struct ih_picture *picture)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        return false;
    }
    return finish(file, path, put_png(file, picture));
}

bool ih_write_jpeg(const char *path, const struct ih_picture *picture, int quality)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        return false;
    }
    return finish(file, path, put_jpeg(file, picture, quality));
}
