/*
 * make_seeds DIR: writes one tiny image of every kind that has code of its own in a decoder, for a
 * fuzzer to start from. Small ones, since a fuzzer's time goes by bytes and pixels.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum { WIDTH = 19, HEIGHT = 17 }; /* one more than a JPEG block group, no multiple of anything */

static const char *directory;

static FILE *create(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

/* Any samples will do that are not all alike. */
static uint8_t sample(size_t i)
{
    return (uint8_t)(i * 37 + i / 19 * 11);
}

static void put_samples(FILE *file, size_t n)
{
    for (size_t i = 0; i < n; i++)
        putc(sample(i), file);
}

/* ---- PNG: each colour type, depth, interlacing, and tRNS where it may be ---- */

static void write_png(int colour, int depth, int interlace, int with_trns)
{
    char name[64];
    png_color palette[256];
    png_byte alphas[2] = {0, 128};
    png_color_16 transparent = {.red = 1, .green = 2, .blue = 3, .gray = 1};
    png_byte row[WIDTH * 8];
    int n_palette = 1 << (depth < 8 ? depth : 8);
    snprintf(name, sizeof name, "%d-%d-%d-%d.png", colour, depth, interlace, with_trns);
    FILE *file = create(name);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, file);
    png_set_IHDR(png, info, WIDTH, HEIGHT, depth, colour, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    for (size_t i = 0; i < 256; i++)
        palette[i] = (png_color){sample(3 * i), sample(3 * i + 1), sample(3 * i + 2)};
    if (colour == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, n_palette);
    if (with_trns)
        png_set_tRNS(png, info, alphas, 2, &transparent);
    png_write_info(png, info);
    int n_passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < n_passes; pass++) {
        for (size_t y = 0; y < HEIGHT; y++) {
            for (size_t x = 0; x < sizeof row; x++)
                row[x] = sample(x + 5 * y);
            png_write_row(png, row);
        }
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

static void write_pngs(void)
{
    static const struct {
        int colour, depth;
    } kinds[] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                 {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int interlace = 0; interlace < 2; interlace++)
            for (int trns = 0; trns <= !(kinds[i].colour & PNG_COLOR_MASK_ALPHA); trns++)
                write_png(kinds[i].colour, kinds[i].depth, interlace, trns);
}

/* ---- JPEG: colour spaces, subsamplings, progressive, restart markers, arithmetic coding ---- */

enum { JPEG_TIMES_MAX = 12 };

struct jpeg_kind {
    const char *name;
    int n_components;
    J_COLOR_SPACE in, out;
    int h, v; /* sampling factors of the first component; the others have 1 */
    int progressive, restart, arithmetic;
    int times; /* as wide and high; 0: 1 */
};

static void write_jpeg(const struct jpeg_kind *kind)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    JSAMPLE row[WIDTH * 4 * JPEG_TIMES_MAX], *rows[] = {row};
    const JDIMENSION times = kind->times ? (JDIMENSION)kind->times : 1;
    FILE *file = create(kind->name);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = WIDTH * times;
    jpeg.image_height = HEIGHT * times;
    jpeg.input_components = kind->n_components;
    jpeg.in_color_space = kind->in;
    jpeg_set_defaults(&jpeg);
    jpeg_set_colorspace(&jpeg, kind->out);
    for (int c = 0; c < jpeg.num_components; c++) {
        jpeg.comp_info[c].h_samp_factor = c == 0 ? kind->h : 1;
        jpeg.comp_info[c].v_samp_factor = c == 0 ? kind->v : 1;
    }
    jpeg.restart_interval = (unsigned)kind->restart;
    jpeg.arith_code = (boolean)kind->arithmetic;
    if (kind->progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        for (size_t x = 0; x < sizeof row; x++)
            row[x] = sample(x + 7 * jpeg.next_scanline);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(file);
}

static void write_jpegs(void)
{
    /* The larger ones are for jpeg_lanes.c and progressive.c. */
    static const struct jpeg_kind kinds[] = {
        {"gray.jpg", 1, JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, 0, 0, 0, 0},
        {"444.jpg", 3, JCS_RGB, JCS_YCbCr, 1, 1, 0, 0, 0, 0},
        {"422.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 1, 0, 0, 0, 0},
        {"420.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 0, 0, 0, 0},
        {"440.jpg", 3, JCS_RGB, JCS_YCbCr, 1, 2, 0, 0, 0, 0},
        {"rgb.jpg", 3, JCS_RGB, JCS_RGB, 1, 1, 0, 0, 0, 0},
        {"progressive.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 1, 0, 0, 0},
        {"progressive_gray.jpg", 1, JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, 1, 3, 0, 8},
        {"progressive_large.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 1, 0, 0, JPEG_TIMES_MAX},
        {"restart.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 0, 1, 0, 0},
        {"arithmetic.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 0, 0, 1, 0},
        {"cmyk.jpg", 4, JCS_CMYK, JCS_CMYK, 1, 1, 0, 0, 0, 0},
        {"ycck.jpg", 4, JCS_CMYK, JCS_YCCK, 2, 2, 0, 0, 0, 0},
        {"large.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 1, 0, 0, 0, JPEG_TIMES_MAX},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        write_jpeg(&kinds[i]);
}

/* ---- the others, written out by hand ---- */

/* A string literal with NULs in it, as bytes and their number. */
#define PUT(file, text) fwrite(text, 1, sizeof(text) - 1, file)

static void write_bmp(const char *name, unsigned bits, size_t n_bytes)
{
    FILE *file = create(name);
    unsigned n_palette = bits <= 8 ? 1u << bits : 0;
    unsigned offset = 54 + 4 * n_palette;
    PUT(file, "BM\0\0\0\0\0\0\0\0");
    putc((int)(offset & 255), file);
    putc((int)(offset >> 8), file);
    PUT(file, "\0\0\x28\0\0\0\x05\0\0\0\x03\0\0\0\x01\0");
    putc((int)bits, file);
    PUT(file, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    put_samples(file, 4 * n_palette + n_bytes);
    fclose(file);
}

/* type: 1 palette, 2 colour, 3 gray, and 8 more for run lengths. */
static void write_tga(const char *name, int type, int bits)
{
    FILE *file = create(name);
    size_t pixel_bytes = (size_t)bits / 8;
    putc(0, file);
    putc(type % 8 == 1, file);
    putc(type, file);
    PUT(file, "\0\0");
    fwrite(type % 8 == 1 ? "\4\0\x18" : "\0\0\0", 1, 3, file);
    PUT(file, "\0\0\0\0\5\0\3\0");
    putc(bits, file);
    putc(bits == 32 ? 8 : 0, file);
    if (type % 8 == 1)
        put_samples(file, 4 * 3);
    for (int row = 0; row < 3; row++) {
        if (type < 8) {
            for (size_t i = 0; i < 5 * pixel_bytes; i++)
                putc(sample(i) & (type == 1 ? 3 : 255), file);
        } else { /* a run of 3, then 2 as they are */
            putc(0x80 | 2, file);
            for (size_t i = 0; i < pixel_bytes; i++)
                putc(sample(i) & (type == 9 ? 3 : 255), file);
            putc(1, file);
            for (size_t i = 0; i < 2 * pixel_bytes; i++)
                putc(sample(i) & (type == 9 ? 3 : 255), file);
        }
    }
    fclose(file);
}

static void write_psd(const char *name, int n_channels, int depth, int is_packed)
{
    FILE *file = create(name);
    PUT(file, "8BPS\0\1\0\0\0\0\0\0\0");
    putc(n_channels, file);
    PUT(file, "\0\0\0\3\0\0\0\5\0");
    putc(depth, file);
    PUT(file, "\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0");
    putc(is_packed, file);
    if (!is_packed)
        put_samples(file, (size_t)(15 * n_channels * depth / 8));
    for (int i = 0; is_packed && i < 3 * n_channels; i++)
        PUT(file, "\0\2"); /* bytes of each row */
    for (int i = 0; is_packed && i < 3 * n_channels; i++)
        PUT(file, "\xfc\x55"); /* a run of 5 */
    fclose(file);
}

static void write_pnm(const char *name, const char *header, size_t n_bytes)
{
    FILE *file = create(name);
    fputs(header, file);
    put_samples(file, n_bytes);
    fclose(file);
}

static void write_others(void)
{
    write_bmp("1.bmp", 1, 12);
    write_bmp("4.bmp", 4, 12);
    write_bmp("8.bmp", 8, 24);
    write_bmp("16.bmp", 16, 36);
    write_bmp("24.bmp", 24, 48);
    write_bmp("32.bmp", 32, 60);
    write_tga("palette.tga", 1, 8);
    write_tga("rgb.tga", 2, 24);
    write_tga("rgba.tga", 2, 32);
    write_tga("gray.tga", 3, 8);
    write_tga("palette-runs.tga", 9, 8);
    write_tga("rgb-runs.tga", 10, 24);
    write_tga("gray-runs.tga", 11, 8);
    write_psd("rgb.psd", 3, 8, 0);
    write_psd("rgba.psd", 4, 8, 0);
    write_psd("rgb16.psd", 3, 16, 0);
    write_psd("runs.psd", 3, 8, 1);
    write_pnm("bits.pbm", "P4\n5 3\n", 3);
    write_pnm("plain.pbm", "P1\n# bits\n3 2\n0 1 0\n1 0 1\n", 0);
    write_pnm("gray.pgm", "P5\n5 3 255\n", 15);
    write_pnm("gray16.pgm", "P5 5 3 65535\n", 30);
    write_pnm("plain.pgm", "P2\n3 2\n15\n0 1 2\n13 14 15\n", 0);
    write_pnm("rgb.ppm", "P6\n5 3\n255\n", 45);
    write_pnm("plain.ppm", "P3\n1 2 99\n0 50 99\n1 2 3\n", 0);
    write_pnm("rgba.pam",
              "P7\nWIDTH 5\nHEIGHT 3\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n", 60);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: make_seeds DIR\n", stderr);
        return 2;
    }
    directory = argv[1];
    write_pngs();
    write_jpegs();
    write_others();
    return 0;
}
