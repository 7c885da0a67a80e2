/*
 * Makes the sample images that follow from a formula or from another sample:
 * `make_samples SCENE.png DIR` writes DIR/testcard.png, and DIR/scene.jpg from SCENE.png.
 *
 * With the library versions in README.md both files equal those in the repository byte for byte.
 *
 * The counts of the test card can be derived by hand. It has 256 x 256 pixels, RGB, in four parts:
 *
 *   rows   0..127   a gray ramp: column x has the value x          each value 128 times
 *   rows 128..191   eight colour bars, 32 columns each, of 0 and   each bar 2048 pixels
 *                   255: white yellow cyan green magenta red blue black
 *   rows 192..223   sixteen gray steps, 16 columns each:           each step 512 pixels
 *                   0 17 34 ... 255
 *   rows 224..255   two colours, 128 columns each: (200, 100, 50)  each colour 4096 pixels
 *                   and (30, 60, 90)
 *
 * Without the last part red, green and blue would have equal counts. Red, green and blue each have:
 *
 *   bins 0 and 255                 128 + 4 * 2048 + 512 = 8832
 *   bins 17 34 51 ... 238          128 + 512            =  640
 *   red 30 and 200, green 60       128 + 4096           = 4224
 *     and 100, blue 50 and 90
 *   all others                                             128
 *
 * Luma (BT.709) of a gray v is v, so luma has:
 *
 *   bins 0 and 255                 128 + 2048 + 512     = 2688
 *   bins 237 yellow, 201 cyan,     128 + 2048           = 2176
 *     182 green, 73 magenta, 54 red, 18 blue
 *   bins 118 (200, 100, 50)        128 + 4096           = 4224
 *     and 56 (30, 60, 90)
 *   bins 17 34 51 ... 238          128 + 512            =  640
 *   all others                                             128
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum {
    TESTCARD_SIDE = 256,
    JPEG_QUALITY = 90, /* cameras and editors write this for "high" */
    PATH_BYTES = 4096
};

static void fail(const char *path, const char *why)
{
    fprintf(stderr, "make_samples: %s: %s\n", path, why);
    exit(1);
}

static void paint_testcard(uint8_t pixels[TESTCARD_SIDE][TESTCARD_SIDE][3])
{
    static const uint8_t bars[8][3] = {
        {255, 255, 255}, {255, 255, 0}, {0, 255, 255}, {0, 255, 0},
        {255, 0, 255},   {255, 0, 0},   {0, 0, 255},   {0, 0, 0},
    };
    static const uint8_t patches[2][3] = {{200, 100, 50}, {30, 60, 90}};
    for (int y = 0; y < TESTCARD_SIDE; y++)
        for (int x = 0; x < TESTCARD_SIDE; x++) {
            uint8_t *pixel = pixels[y][x];
            if (y < 128)
                memset(pixel, x, 3);
            else if (y < 192)
                memcpy(pixel, bars[x / 32], 3);
            else if (y < 224)
                memset(pixel, x / 16 * 17, 3);
            else
                memcpy(pixel, patches[x / 128], 3);
        }
}

/* Writes no gamma, time stamp or text: the file depends only on the pixels, libpng and zlib. */
static void write_testcard(const char *path)
{
    static uint8_t pixels[TESTCARD_SIDE][TESTCARD_SIDE][3];
    paint_testcard(pixels);
    FILE *file = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!file || !info || setjmp(png_jmpbuf(png)))
        fail(path, "cannot be written");
    png_init_io(png, file);
    png_set_IHDR(png, info, TESTCARD_SIDE, TESTCARD_SIDE, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 9);
    png_write_info(png, info);
    for (int y = 0; y < TESTCARD_SIDE; y++)
        png_write_row(png, pixels[y][0]);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    if (fclose(file) != 0)
        fail(path, "cannot be written");
}

/* Writes baseline JPEG with 4:2:0 chroma, as cameras do. libjpeg exits if it fails. */
static void write_jpeg(const char *path, const uint8_t *pixels, unsigned width, unsigned height)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t *row = malloc((size_t)width * 3); /* libjpeg needs rows that are not const */
    FILE *file = fopen(path, "wb");
    if (!file || !row)
        fail(path, "cannot be written");
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, JPEG_QUALITY, TRUE);
    jpeg.dct_method = JDCT_ISLOW;
    jpeg.optimize_coding = TRUE;
    jpeg.comp_info[0].h_samp_factor = 2;
    jpeg.comp_info[0].v_samp_factor = 2;
    jpeg_start_compress(&jpeg, TRUE);
    for (size_t y = 0; y < height; y++) {
        memcpy(row, pixels + y * width * 3, (size_t)width * 3);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    if (fclose(file) != 0)
        fail(path, "cannot be written");
}

int main(int argc, char **argv)
{
    char path[PATH_BYTES];
    png_image scene = {.version = PNG_IMAGE_VERSION};
    if (argc != 3 || strlen(argv[2]) > PATH_BYTES - sizeof "/testcard.png") {
        fputs("usage: make_samples SCENE.png DIR\n", stderr);
        return 2;
    }
    snprintf(path, sizeof path, "%s/testcard.png", argv[2]);
    write_testcard(path);

    if (!png_image_begin_read_from_file(&scene, argv[1]))
        fail(argv[1], scene.message);
    scene.format = PNG_FORMAT_RGB;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(scene));
    if (!pixels || !png_image_finish_read(&scene, NULL, pixels, 0, NULL))
        fail(argv[1], pixels ? scene.message : "out of memory");
    snprintf(path, sizeof path, "%s/scene.jpg", argv[2]);
    write_jpeg(path, pixels, scene.width, scene.height);
    free(pixels);
    return 0;
}
