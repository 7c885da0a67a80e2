/*
 * make_seeds DIR: writes a tiny image for every branch of the decoders, as seeds for the fuzzers
 * and for tests/perturb.sh. A fuzzer is faster the fewer bytes and pixels an input has.
 *
 * tests/fuzz/build_seeds.sh compiles it. TIFF, HEIF, JPEG XL and JPEG 2000 are written if their
 * libraries are there (WITH_TIFF and so on), and HEIF if libheif has an encoder.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

#ifdef WITH_TIFF
#include <tiffio.h>
#endif
#ifdef WITH_HEIF
#include <libheif/heif.h>
#endif
#ifdef WITH_JXL
#include <jxl/encode.h>
#endif
#ifdef WITH_JP2
#include <openjpeg.h>
#endif

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

static void put_samples(FILE *file, size_t n)
{
    for (size_t i = 0; i < n; i++)
        putc(sample(i), file);
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
    int times; /* factor for width and height; 0: 1 */
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
    /* The JPEG validator and the decoder of all scans at once need the larger ones. */
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

/* ---- the others, written byte by byte ---- */

/* Writes a string literal, which may contain NULs. */
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

/* type: 1 palette, 2 colour, 3 gray; plus 8 with run-length coding. */
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
        } else { /* a run of 3, then 2 literals */
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
        PUT(file, "\0\2"); /* the byte count of each row */
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

/* A chunk of every kind, and runs to the end. */
static void write_qoi(const char *name, int n_channels)
{
    FILE *file = create(name);
    PUT(file, "qoif\0\0\0\x07\0\0\0\3");
    putc(n_channels, file);
    putc(0, file);
    PUT(file, "\xFE\x10\x20\x30\x5B\xA5\x9A\xC2\0\xFF\1\2\3\4\xCB");
    PUT(file, "\x30\0\0\0\0\0\0\0\1");
    fclose(file);
}

/* Run lengths, or plain pixels. */
static void write_hdr(const char *name, int has_runs)
{
    FILE *file = create(name);
    PUT(file, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 8\n");
    for (int row = 0; row < 2 && has_runs; row++)
        PUT(file, "\2\2\0\x08\x88\x64\4\1\2\3\4\x84\x09\x88\xC8\x83\x80\5\x7F\x7E\x7D\x81\x82");
    if (!has_runs)
        put_samples(file, 2 * 8 * 4);
    fclose(file);
}

/* type: of its packets: 0 plain, 1 runs, 2 both */
static void write_pic(const char *name, int type)
{
    FILE *file = create(name);
    PUT(file, "\x53\x80\xF6\x34\0\0\0\0");
    put_samples(file, 80);
    PUT(file, "PICT\0\5\0\2\x3F\x80\0\0\0\3\0\0\1\x08");
    putc(type, file);
    PUT(file, "\xE0\0\x08\2\x10");
    for (int row = 0; row < 2; row++) {
        if (type == 0)
            put_samples(file, 5 * 3);
        else if (type == 1)
            PUT(file, "\3\1\2\3\2\4\5\6");
        else
            PUT(file, "\x82\1\2\3\1\4\5\6\7\x08\x09");
        PUT(file, "\x80\0\5\x64");
    }
    fclose(file);
}

/* Two images: the larger one has `bits` bits a pixel and the smaller one 24. */
static void write_ico(const char *name, int type, int bits)
{
    enum { ROWS = 3, SMALL_BYTES = 40 + 4 + 4 };
    FILE *file = create(name);
    const int n_palette = bits <= 8 ? 1 << bits : 0, row_bytes = (5 * bits + 31) / 32 * 4;
    const int n_bytes = 40 + 4 * n_palette + ROWS * (row_bytes + 4);
    PUT(file, "\0\0");
    putc(type, file);
    PUT(file, "\0\2\0\1\1\0\0\1\0\x18\0\x30\0\0\0\x26\0\0\0\5\3\0\0\1\0\x18\0");
    putc(n_bytes & 255, file);
    putc(n_bytes >> 8, file);
    PUT(file, "\0\0\x56\0\0\0");
    PUT(file, "\x28\0\0\0\1\0\0\0\2\0\0\0\1\0\x18\0");
    PUT(file, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    put_samples(file, SMALL_BYTES - 40);
    PUT(file, "\x28\0\0\0\5\0\0\0\6\0\0\0\1\0");
    putc(bits, file);
    PUT(file, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    put_samples(file, (size_t)(n_bytes - 40));
    fclose(file);
}

/* An icon with the PNG of another seed. */
static void write_ico_of_png(const char *name, const char *png_name)
{
    char path[4096];
    uint8_t png[4096];
    snprintf(path, sizeof path, "%s/%s", directory, png_name);
    FILE *from = fopen(path, "rb");
    const size_t n = from ? fread(png, 1, sizeof png, from) : 0;
    if (from)
        fclose(from);
    FILE *file = create(name);
    PUT(file, "\0\0\1\0\1\0\x13\x11\0\0\1\0\x20\0");
    putc((int)(n & 255), file);
    putc((int)(n >> 8), file);
    PUT(file, "\0\0\x16\0\0\0");
    fwrite(png, 1, n, file);
    fclose(file);
}

static void write_others(void)
{
    write_ico("1.ico", 1, 1);
    write_ico("4.ico", 1, 4);
    write_ico("8.cur", 2, 8);
    write_ico("24.ico", 1, 24);
    write_ico("32.ico", 1, 32);
    write_ico_of_png("png.ico", "6-8-0-0.png");
    write_hdr("runs.hdr", 1);
    write_hdr("plain.hdr", 0);
    write_pic("plain.pic", 0);
    write_pic("runs.pic", 1);
    write_pic("mixed.pic", 2);
    write_qoi("rgb.qoi", 3);
    write_qoi("rgba.qoi", 4);
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

/* ---- TIFF: every compression, in strips and tiles, with and without a predictor ---- */

#ifdef WITH_TIFF
enum { TIFF_SIDE = 32, TIFF_ROWS = 16 };

/* is_long: the image ends in the middle of the last strip or tile, which is complete. */
static void write_tiff(const char *name, int compression, int is_tiled, int has_predictor,
                       int is_long)
{
    char path[4096];
    uint8_t block[TIFF_SIDE * TIFF_ROWS * 3];
    const int is_fax = compression >= COMPRESSION_CCITTRLE && compression <= COMPRESSION_CCITTFAX4;
    const int n_samples = is_fax ? 1 : 3, bits = is_fax ? 1 : 8;
    const size_t n = (size_t)(TIFF_SIDE * TIFF_ROWS * n_samples * bits / 8);
    snprintf(path, sizeof path, "%s/%s-%s%s%s.tif", directory, name, is_tiled ? "tiles" : "strips",
             has_predictor ? "-predictor" : "", is_long ? "-long" : "");
    TIFF *t = TIFFOpen(path, "w");
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, TIFF_SIDE);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, 2 * TIFF_ROWS - 5 * is_long);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, n_samples);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, is_fax ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_RGB);
    TIFFSetField(t, TIFFTAG_COMPRESSION, compression);
    if (has_predictor)
        TIFFSetField(t, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
    if (is_tiled) {
        TIFFSetField(t, TIFFTAG_TILEWIDTH, TIFF_SIDE);
        TIFFSetField(t, TIFFTAG_TILELENGTH, TIFF_ROWS);
    } else {
        TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, TIFF_ROWS);
    }
    for (uint32_t strip = 0; strip < 2; strip++) {
        for (size_t i = 0; i < n; i++)
            block[i] = sample(i + strip);
        if (is_tiled)
            TIFFWriteEncodedTile(t, strip, block, (tmsize_t)n);
        else
            TIFFWriteEncodedStrip(t, strip, block, (tmsize_t)n);
    }
    TIFFClose(t);
}

static void write_tiffs(void)
{
    static const struct {
        const char *name;
        int compression, may_predict;
    } kinds[] = {{"none", COMPRESSION_NONE, 0},
                 {"rle", COMPRESSION_CCITTRLE, 0},
                 {"fax3", COMPRESSION_CCITTFAX3, 0},
                 {"fax4", COMPRESSION_CCITTFAX4, 0},
                 {"lzw", COMPRESSION_LZW, 1},
                 {"jpeg", COMPRESSION_JPEG, 0},
                 {"deflate", COMPRESSION_ADOBE_DEFLATE, 1},
                 {"packbits", COMPRESSION_PACKBITS, 0},
                 {"lzma", COMPRESSION_LZMA, 1},
                 {"zstd", COMPRESSION_ZSTD, 1},
                 {"webp", COMPRESSION_WEBP, 0},
                 {"lerc", COMPRESSION_LERC, 0}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int way = 0; way < 8 && TIFFIsCODECConfigured((uint16_t)kinds[i].compression); way++)
            if (way < 4 || kinds[i].may_predict)
                write_tiff(kinds[i].name, kinds[i].compression, way % 2, way / 4, way / 2 % 2);
}
#else
static void write_tiffs(void)
{
}
#endif

/* ---- HEIC and AVIF ---- */

#ifdef WITH_HEIF
/* Colour of 64 x 64 pixels with or without alpha. */
static void write_heif(const char *name, enum heif_compression_format format, int has_alpha)
{
    enum { SIDE = 64 };
    char path[4096];
    struct heif_context *context = heif_context_alloc();
    struct heif_encoder *encoder;
    struct heif_image *image;
    int stride;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (heif_context_get_encoder_for_format(context, format, &encoder).code == heif_error_Ok &&
        heif_image_create(SIDE, SIDE, heif_colorspace_RGB,
                          has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB,
                          &image)
                .code == heif_error_Ok) {
        heif_image_add_plane(image, heif_channel_interleaved, SIDE, SIDE, 8);
        uint8_t *plane = heif_image_get_plane(image, heif_channel_interleaved, &stride);
        for (int i = 0; i < SIDE * stride; i++)
            plane[i] = sample((size_t)i);
        heif_encoder_set_logging_level(encoder, 0);
        if (heif_context_encode_image(context, image, encoder, NULL, NULL).code == heif_error_Ok)
            heif_context_write_to_file(context, path);
        heif_image_release(image);
        heif_encoder_release(encoder);
    }
    heif_context_free(context);
}

static void write_heifs(void)
{
    write_heif("rgb.heic", heif_compression_HEVC, 0);
    write_heif("rgba.heic", heif_compression_HEVC, 1);
    write_heif("rgb.avif", heif_compression_AV1, 0);
    write_heif("rgba.avif", heif_compression_AV1, 1);
}
#else
static void write_heifs(void)
{
}
#endif

/* ---- JPEG XL ---- */

#ifdef WITH_JXL
static void write_jxl(const char *name, unsigned n_channels, int is_lossy, unsigned bits)
{
    enum { SIDE = 32, BYTES_MAX = 1 << 16 };
    static uint8_t pixels[SIDE * SIDE * 4 * 2], bytes[BYTES_MAX];
    const JxlPixelFormat format = {n_channels, bits == 8 ? JXL_TYPE_UINT8 : JXL_TYPE_UINT16,
                                   JXL_LITTLE_ENDIAN, 0};
    const size_t n = (size_t)SIDE * SIDE * n_channels * (bits == 8 ? 1 : 2);
    JxlBasicInfo info;
    JxlColorEncoding colours;
    JxlEncoder *encoder = JxlEncoderCreate(NULL);
    JxlEncoderInitBasicInfo(&info);
    info.xsize = info.ysize = SIDE;
    info.bits_per_sample = bits;
    info.num_color_channels = n_channels < 3 ? 1 : 3;
    info.num_extra_channels = n_channels % 2 == 0;
    info.alpha_bits = info.num_extra_channels ? bits : 0;
    info.uses_original_profile = !is_lossy;
    JxlEncoderSetBasicInfo(encoder, &info);
    JxlColorEncodingSetToSRGB(&colours, info.num_color_channels == 1);
    JxlEncoderSetColorEncoding(encoder, &colours);
    JxlEncoderFrameSettings *settings = JxlEncoderFrameSettingsCreate(encoder, NULL);
    JxlEncoderSetFrameLossless(settings, !is_lossy);
    for (size_t i = 0; i < n; i++)
        pixels[i] = sample(i);
    JxlEncoderAddImageFrame(settings, &format, pixels, n);
    JxlEncoderCloseInput(encoder);
    uint8_t *next = bytes;
    size_t left = sizeof bytes;
    if (JxlEncoderProcessOutput(encoder, &next, &left) == JXL_ENC_SUCCESS) {
        FILE *file = create(name);
        fwrite(bytes, 1, sizeof bytes - left, file);
        fclose(file);
    }
    JxlEncoderDestroy(encoder);
}

static void write_jxls(void)
{
    write_jxl("gray.jxl", 1, 0, 8);
    write_jxl("gray-alpha-16.jxl", 2, 0, 16);
    write_jxl("rgb.jxl", 3, 0, 8);
    write_jxl("rgba-lossy.jxl", 4, 1, 8);
    write_jxl("rgb-lossy.jxl", 3, 1, 8);
}
#else
static void write_jxls(void)
{
}
#endif

/* ---- JPEG 2000 ---- */

#ifdef WITH_JP2
/* chroma: the distance of samples in the second and third component */
static void write_jp2(const char *name, unsigned n_components, unsigned bits, unsigned chroma,
                      int is_lossy, int is_tiled)
{
    enum { SIDE = 32 };
    char path[4096];
    const size_t n = strlen(name);
    opj_image_cmptparm_t components[4];
    opj_cparameters_t parameters;
    memset(components, 0, sizeof components);
    for (unsigned c = 0; c < n_components; c++) {
        components[c].dx = components[c].dy = c > 0 && c < 3 ? chroma : 1;
        components[c].w = components[c].h = SIDE / components[c].dx;
        components[c].prec = bits;
    }
    opj_image_t *image = opj_image_create(n_components, components,
                                          n_components < 3 ? OPJ_CLRSPC_GRAY
                                          : chroma > 1     ? OPJ_CLRSPC_SYCC
                                                           : OPJ_CLRSPC_SRGB);
    image->x1 = image->y1 = SIDE;
    for (unsigned c = 0; c < n_components; c++)
        for (size_t i = 0; i < (size_t)image->comps[c].w * image->comps[c].h; i++)
            image->comps[c].data[i] = (int)(sample(i + c) * 257u % (1u << bits));
    image->comps[n_components - 1].alpha = n_components % 2 == 0;
    opj_set_default_encoder_parameters(&parameters);
    parameters.numresolution = 3;
    parameters.tcp_numlayers = 1;
    parameters.tcp_rates[0] = is_lossy ? 6 : 0;
    parameters.cp_disto_alloc = 1;
    parameters.irreversible = is_lossy;
    parameters.tile_size_on = is_tiled;
    parameters.cp_tdx = parameters.cp_tdy = 20;
    opj_codec_t *codec =
        opj_create_compress(strcmp(name + n - 4, ".j2k") == 0 ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    opj_stream_t *stream = opj_stream_create_default_file_stream(path, OPJ_STREAM_WRITE);
    if (opj_setup_encoder(codec, &parameters, image) && opj_start_compress(codec, image, stream) &&
        opj_encode(codec, stream))
        opj_end_compress(codec, stream);
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    opj_image_destroy(image);
}

static void write_jp2s(void)
{
    write_jp2("gray.jp2", 1, 8, 1, 0, 0);
    write_jp2("gray-alpha-12.jp2", 2, 12, 1, 0, 1);
    write_jp2("rgb-lossy.jp2", 3, 8, 1, 1, 0);
    write_jp2("rgba-16.jp2", 4, 16, 1, 0, 0);
    write_jp2("ycc.jp2", 3, 8, 2, 0, 0);
    write_jp2("tiles.j2k", 3, 8, 1, 0, 1);
}
#else
static void write_jp2s(void)
{
}
#endif

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
    write_tiffs();
    write_heifs();
    write_jxls();
    write_jp2s();
    return 0;
}
