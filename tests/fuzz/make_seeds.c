/*
 * make_seeds DIR: writes a tiny PNG and JPEG for every branch of their decoders, as seeds for the
 * fuzzers and for tests/perturb.sh. tests/formats/files has those of the other formats. A fuzzer is
 * faster the fewer bytes and pixels an input has. tests/fuzz/seeds.sh compiles it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum { WIDTH = 19, HEIGHT = 17 }; /* one more than 16, and odd, to leave partial blocks */

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

/* Samples that vary. */
static uint8_t sample(size_t i)
{
    return (uint8_t)(i * 37 + i / 19 * 11);
}

/* ---- PNG: each colour type, depth and interlacing, and tRNS where allowed ---- */

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
    int times;                         /* factor for width and height; 0: 1 */
    int quality, optimised, one_table; /* quality 0: 75 */
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
    for (int c = 1; c < jpeg.num_components && kind->one_table; c++)
        jpeg.comp_info[c].dc_tbl_no = jpeg.comp_info[c].ac_tbl_no = 0;
    if (kind->quality)
        jpeg_set_quality(&jpeg, kind->quality, TRUE);
    jpeg.optimize_coding = (boolean)kind->optimised;
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
    /* The JPEG kernels and the decoder of all scans at once need the larger ones. */
    static const struct jpeg_kind kinds[] = {
        {"gray.jpg", 1, JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, 0, 0, 0, 0, 0, 0, 0},
        {"444.jpg", 3, JCS_RGB, JCS_YCbCr, 1, 1, 0, 0, 0, 0, 0, 0, 0},
        {"422.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 1, 0, 0, 0, 0, 0, 0, 0},
        {"420.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 0, 0, 0, 0, 0, 0, 0},
        {"440.jpg", 3, JCS_RGB, JCS_YCbCr, 1, 2, 0, 0, 0, 0, 0, 0, 0},
        {"rgb.jpg", 3, JCS_RGB, JCS_RGB, 1, 1, 0, 0, 0, 0, 0, 0, 0},
        {"progressive.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 1, 0, 0, 0, 0, 0, 0},
        {"progressive_gray.jpg", 1, JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, 1, 3, 0, 8, 0, 0, 0},
        {"progressive_large.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 1, 0, 0, JPEG_TIMES_MAX, 0, 0, 0},
        {"restart.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 0, 1, 0, 0, 0, 0, 0},
        {"arithmetic.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 0, 0, 1, 0, 0, 0, 0},
        {"cmyk.jpg", 4, JCS_CMYK, JCS_CMYK, 1, 1, 0, 0, 0, 0, 0, 0, 0},
        {"ycck.jpg", 4, JCS_CMYK, JCS_YCCK, 2, 2, 0, 0, 0, 0, 0, 0, 0},
        {"large.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 1, 0, 0, 0, JPEG_TIMES_MAX, 0, 0, 0},
        {"optimised.jpg", 3, JCS_RGB, JCS_YCbCr, 2, 2, 0, 4, 0, 4, 0, 1, 0},
        {"one_table.jpg", 3, JCS_RGB, JCS_YCbCr, 1, 1, 0, 0, 0, 4, 0, 0, 1},
        {"gray_restart.jpg", 1, JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, 0, 7, 0, 4, 30, 0, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        write_jpeg(&kinds[i]);
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
    return 0;
}
