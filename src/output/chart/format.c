/*
 * The file formats of charts, and the encoders of the raster formats.
 *
 * libpng and libjpeg report errors by longjmp. All data that must survive the jump is in one struct
 * of the caller's frame, and the jump only leaves functions of the library.
 */
#define _POSIX_C_SOURCE 200809L

#include "output/chart/format.h"

#include <png.h>
#include <setjmp.h>
#include <stb/stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

/* A picture to encode. Encoders append to the file, which may be left incomplete on failure. */
struct picture {
    const uint8_t *pixels; /* [height][width][3], top row first; borrowed */
    unsigned width, height;
    const char *source; /* as in struct ih_chart_about */
};

/* ---- PNG ---- */

/*
 * In a chart, long stretches of a row repeat the row above. Deflate finds these without a filter.
 * From level 4 on, zlib takes twice the time for a tenth of the size. The chart of a photo, 1024 x
 * 640, on one core of an EPYC:
 *
 *     filter  level 1          level 3          level 4           level 6
 *     none    4.6 ms, 83 KB    5.0 ms, 81 KB    11.6 ms, 72 KB    12.9 ms, 69 KB
 *     up      5.8 ms, 87 KB    6.0 ms, 85 KB    12.3 ms, 79 KB    14.4 ms, 78 KB
 *     sub     6.3 ms, 99 KB    6.6 ms, 97 KB    12.9 ms, 88 KB    14.8 ms, 87 KB
 */
enum { PNG_LEVEL = 3 };

struct png_encoder {
    png_structp png;
    png_infop info;
    struct ih_bytes *file;
    char *source; /* owned: libpng requires writable text */
    struct ih_error *err;
    enum ih_status status;
};

static void on_png_error(png_structp png, png_const_charp message)
{
    struct png_encoder *e = png_get_error_ptr(png);
    if (e->status == IH_OK)
        e->status = ih_error_set(e->err, IH_UNAVAILABLE, "chart: libpng: %s", message);
    png_longjmp(png, 1);
}

static void on_png_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_png_write(png_structp png, png_bytep bytes, size_t size)
{
    struct png_encoder *e = png_get_io_ptr(png);
    ih_bytes_append(e->file, bytes, size);
    if (e->file->failed) {
        e->status = ih_error_set(e->err, IH_MEMORY, "chart: out of memory for the PNG");
        png_error(png, "out of memory");
    }
}

static void on_png_flush(png_structp png)
{
    (void)png;
}

/* Calls libpng; a jump ends here. */
static void write_png(struct png_encoder *e, const struct picture *picture)
{
    static char software[] = "Software", name[] = "imghist", source[] = "Source";
    png_text texts[2] = {{.compression = PNG_TEXT_COMPRESSION_NONE, .key = software, .text = name},
                         {.compression = PNG_TEXT_COMPRESSION_NONE, .key = source}};
    if (setjmp(png_jmpbuf(e->png)))
        return;
    png_set_write_fn(e->png, e, on_png_write, on_png_flush);
    png_set_IHDR(e->png, e->info, picture->width, picture->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(e->png, e->info, PNG_sRGB_INTENT_RELATIVE);
    texts[1].text = e->source;
    png_set_text(e->png, e->info, texts, e->source ? 2 : 1);
    png_set_filter(e->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(e->png, PNG_LEVEL);
    png_write_info(e->png, e->info);
    for (unsigned y = 0; y < picture->height; y++)
        png_write_row(e->png, picture->pixels + (size_t)y * picture->width * 3);
    png_write_end(e->png, NULL);
}

static enum ih_status encode_png(const struct picture *picture, struct ih_bytes *file,
                                 struct ih_error *err)
{
    struct png_encoder e = {.file = file, .err = err, .status = IH_OK};
    e.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e, on_png_error, on_png_warning);
    e.info = e.png ? png_create_info_struct(e.png) : NULL;
    e.source = picture->source ? strdup(picture->source) : NULL;
    if (!e.info || (picture->source && !e.source))
        e.status = ih_error_set(err, IH_MEMORY, "chart: out of memory for the PNG");
    else
        write_png(&e, picture);
    free(e.source);
    png_destroy_write_struct(&e.png, &e.info);
    return e.status;
}

/* ---- JPEG ---- */

/*
 * A chart has thin lines and small type in saturated colours, the worst case of JPEG. So chroma is
 * not subsampled and the quality is high. For 1024 x 640, libjpeg-turbo takes 2.7 ms and
 * stb_image_write 10.9 ms, for the same size. Rejected: optimal Huffman tables, because libjpeg
 * would hold all coefficients, 400 MB for the largest chart.
 */
enum { JPEG_QUALITY = 92, PIECE_BYTES = 16 * 1024 };

struct jpeg_encoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    JOCTET piece[PIECE_BYTES]; /* output of libjpeg that is not in the file yet */
    struct ih_bytes *file;
    jmp_buf jump;
};

static void on_jpeg_error(j_common_ptr jpeg)
{
    struct jpeg_encoder *e = jpeg->client_data;
    longjmp(e->jump, 1);
}

static void on_jpeg_message(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void begin_piece(j_compress_ptr jpeg)
{
    struct jpeg_encoder *e = jpeg->client_data;
    e->destination.next_output_byte = e->piece;
    e->destination.free_in_buffer = PIECE_BYTES;
}

static void append_piece(j_compress_ptr jpeg, size_t size)
{
    struct jpeg_encoder *e = jpeg->client_data;
    ih_bytes_append(e->file, e->piece, size);
    if (e->file->failed)
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
}

static boolean on_piece_full(j_compress_ptr jpeg)
{
    append_piece(jpeg, PIECE_BYTES);
    begin_piece(jpeg);
    return TRUE;
}

static void on_jpeg_end(j_compress_ptr jpeg)
{
    append_piece(jpeg, PIECE_BYTES - jpeg->dest->free_in_buffer);
}

/* Calls libjpeg; a jump ends here. Returns false after a jump. */
static bool write_jpeg(struct jpeg_encoder *e, const struct picture *picture)
{
    if (setjmp(e->jump))
        return false;
    jpeg_create_compress(&e->jpeg);
    e->jpeg.dest = &e->destination;
    e->jpeg.image_width = picture->width;
    e->jpeg.image_height = picture->height;
    e->jpeg.input_components = 3;
    e->jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&e->jpeg);
    jpeg_set_quality(&e->jpeg, JPEG_QUALITY, TRUE);
    e->jpeg.comp_info[0].h_samp_factor = e->jpeg.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&e->jpeg, TRUE);
    for (unsigned y = 0; y < picture->height; y++) {
        union { /* libjpeg reads rows through pointers without const */
            const uint8_t *constant;
            JSAMPROW row;
        } at = {picture->pixels + (size_t)y * picture->width * 3};
        jpeg_write_scanlines(&e->jpeg, &at.row, 1);
    }
    jpeg_finish_compress(&e->jpeg);
    return true;
}

static enum ih_status encode_jpeg(const struct picture *picture, struct ih_bytes *file,
                                  struct ih_error *err)
{
    struct jpeg_encoder e = {.file = file};
    enum ih_status status = IH_OK;
    e.jpeg.err = jpeg_std_error(&e.errors);
    e.errors.error_exit = on_jpeg_error;
    e.errors.output_message = on_jpeg_message;
    e.jpeg.client_data = &e;
    e.destination.init_destination = begin_piece;
    e.destination.empty_output_buffer = on_piece_full;
    e.destination.term_destination = on_jpeg_end;
    if (!write_jpeg(&e, picture)) {
        char message[JMSG_LENGTH_MAX];
        e.errors.format_message((j_common_ptr)&e.jpeg, message);
        bool is_memory = file->failed || e.errors.msg_code == JERR_OUT_OF_MEMORY;
        status = is_memory ? ih_error_set(err, IH_MEMORY, "chart: out of memory for the JPEG")
                           : ih_error_set(err, IH_UNAVAILABLE, "chart: libjpeg: %s", message);
    }
    jpeg_destroy_compress(&e.jpeg);
    return status;
}

/* ---- BMP and TGA: 24 bits, BMP uncompressed, TGA run-length coded ---- */

static void on_stb_write(void *context, void *data, int size)
{
    ih_bytes_append(context, data, (size_t)size);
}

/* success   the return value of stb_image_write */
static enum ih_status finish_stb(int success, const struct ih_bytes *file, const char *format,
                                 struct ih_error *err)
{
    if (file->failed)
        return ih_error_set(err, IH_MEMORY, "chart: out of memory for the %s", format);
    if (!success)
        return ih_error_set(err, IH_UNAVAILABLE, "chart: stb_image_write failed to write the %s",
                            format);
    return IH_OK;
}

static enum ih_status encode_bmp(const struct picture *picture, struct ih_bytes *file,
                                 struct ih_error *err)
{
    return finish_stb(stbi_write_bmp_to_func(on_stb_write, file, (int)picture->width,
                                             (int)picture->height, 3, picture->pixels),
                      file, "BMP", err);
}

static enum ih_status encode_tga(const struct picture *picture, struct ih_bytes *file,
                                 struct ih_error *err)
{
    return finish_stb(stbi_write_tga_to_func(on_stb_write, file, (int)picture->width,
                                             (int)picture->height, 3, picture->pixels),
                      file, "TGA", err);
}

/* ---- the formats ---- */

struct ih_chart_format {
    const char *endings[2]; /* of file names */
    enum ih_status (*encode)(const struct picture *picture, struct ih_bytes *file,
                             struct ih_error *err); /* NULL: SVG, written by the canvas */
};

static const struct ih_chart_format formats[] = {
    {{".png"}, encode_png}, {{".svg"}, NULL},       {{".jpg", ".jpeg"}, encode_jpeg},
    {{".bmp"}, encode_bmp}, {{".tga"}, encode_tga},
};

const struct ih_chart_format *ih_chart_format_of(const char *path)
{
    const char *dot = strrchr(path, '.'); /* a dot before a slash begins no known ending */
    for (size_t i = 0; dot && i < sizeof formats / sizeof *formats; i++)
        for (size_t k = 0; k < 2 && formats[i].endings[k]; k++)
            if (strcasecmp(dot, formats[i].endings[k]) == 0)
                return &formats[i];
    return NULL;
}

static bool is_svg(const struct ih_chart_format *format)
{
    return format && !format->encode;
}

enum ih_status ih_chart_format_open(const struct ih_chart_format *format, struct ih_canvas **canvas,
                                    unsigned width, unsigned height, struct ih_colour background,
                                    const struct ih_glyphs *glyphs,
                                    const struct ih_chart_about *about, struct ih_error *err)
{
    if (is_svg(format))
        return ih_svg_open(canvas, width, height, background, glyphs, &about->text, err);
    return ih_raster_open(canvas, width, height, background, glyphs, err);
}

enum ih_status ih_chart_format_finish(const struct ih_chart_format *format,
                                      struct ih_canvas *canvas, unsigned width, unsigned height,
                                      const struct ih_chart_about *about, unsigned char **file,
                                      size_t *size_bytes, struct ih_error *err)
{
    struct ih_bytes bytes = {0};
    enum ih_status status = IH_OK;
    *file = NULL;
    *size_bytes = 0;
    if (is_svg(format))
        bytes = ih_svg_take(canvas);
    if (canvas->status != IH_OK) {
        status = ih_error_set(err, canvas->status, "chart: out of memory");
    } else if (!is_svg(format)) {
        const struct picture picture = {ih_raster_pixels(canvas), width, height, about->source};
        status = (format ? format : formats)->encode(&picture, &bytes, err);
    }
    if (status != IH_OK) {
        ih_bytes_reset(&bytes);
        return status;
    }
    *file = bytes.data;
    *size_bytes = bytes.size;
    return IH_OK;
}

void ih_chart_format_close(const struct ih_chart_format *format, struct ih_canvas *canvas)
{
    if (is_svg(format))
        ih_svg_close(canvas);
    else
        ih_raster_close(canvas);
}
