/*
 * Canvases: the file formats of charts, and the encoders of the raster formats.
 *
 * libpng reports errors by longjmp. All data that must survive the jump is in one struct of the
 * caller's frame, and the jump only leaves functions of libpng.
 */
#include "chart/canvas.h"
#include "base/jpeg_file.h"

#include <png.h>
#include <setjmp.h>
#include <stb/stb_image_write.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the mark ----
 *
 * Charts of every format name the program: so a later run knows a chart, and replaces no other
 * picture. PNG has it in a text, JPEG and SVG in a comment, BMP and TGA after the picture.
 */

static const char mark[] = "imghist";
enum { MARK_BYTES = sizeof mark - 1 };

static bool has_mark(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i + MARK_BYTES <= n; i++)
        if (memcmp(bytes + i, mark, MARK_BYTES) == 0)
            return true;
    return false;
}

bool ih_chart_has_mark(const uint8_t *start, size_t n_start, const uint8_t *end, size_t n_end)
{
    return has_mark(start, n_start) ||
           (n_end >= MARK_BYTES && has_mark(end + n_end - MARK_BYTES, MARK_BYTES));
}

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
static void write_png(struct png_encoder *e, const struct ih_chart_page *page,
                      const uint8_t *pixels)
{
    static char software[] = "Software", source[] = "Source";
    char name[sizeof mark];
    memcpy(name, mark, sizeof mark);
    png_text texts[2] = {{.compression = PNG_TEXT_COMPRESSION_NONE, .key = software, .text = name},
                         {.compression = PNG_TEXT_COMPRESSION_NONE, .key = source}};
    if (setjmp(png_jmpbuf(e->png)))
        return;
    png_set_write_fn(e->png, e, on_png_write, on_png_flush);
    png_set_IHDR(e->png, e->info, page->width, page->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(e->png, e->info, PNG_sRGB_INTENT_RELATIVE);
    texts[1].text = e->source;
    png_set_text(e->png, e->info, texts, e->source ? 2 : 1);
    png_set_filter(e->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(e->png, PNG_LEVEL);
    png_write_info(e->png, e->info);
    for (unsigned y = 0; y < page->height; y++)
        png_write_row(e->png, pixels + (size_t)y * page->width * 3);
    png_write_end(e->png, NULL);
}

static enum ih_status encode_png(const struct ih_chart_page *page, const uint8_t *pixels,
                                 struct ih_bytes *file, struct ih_error *err)
{
    struct png_encoder e = {.file = file, .err = err, .status = IH_OK};
    e.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e, on_png_error, on_png_warning);
    e.info = e.png ? png_create_info_struct(e.png) : NULL;
    e.source = page->source ? strdup(page->source) : NULL;
    if (!e.info || (page->source && !e.source))
        e.status = ih_error_set(err, IH_MEMORY, "chart: out of memory for the PNG");
    else
        write_png(&e, page, pixels);
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
enum { JPEG_QUALITY = 92 };

static enum ih_status encode_jpg(const struct ih_chart_page *page, const uint8_t *pixels,
                                 struct ih_bytes *file, struct ih_error *err)
{
    const struct ih_jpeg_picture picture = {.pixels = pixels,
                                            .width = page->width,
                                            .height = page->height,
                                            .n_channels = 3,
                                            .quality = JPEG_QUALITY,
                                            .comment = mark};
    struct ih_error reason;
    if (ih_jpeg_write(&picture, file, &reason) == IH_OK)
        return IH_OK;
    return ih_error_set(err, reason.status, "chart: %s", reason.message);
}

/* ---- BMP and TGA: 24 bits, BMP uncompressed, TGA run-length coded ---- */

static void on_stb_write(void *context, void *data, int size)
{
    ih_bytes_append(context, data, (size_t)size);
}

typedef int stb_write_function(stbi_write_func *write, void *context, int width, int height,
                               int n_channels, const void *pixels);

static enum ih_status encode_with_stb(stb_write_function *write_picture, const char *name,
                                      const struct ih_chart_page *page, const uint8_t *pixels,
                                      struct ih_bytes *file, struct ih_error *err)
{
    const int is_written =
        write_picture(on_stb_write, file, (int)page->width, (int)page->height, 3, pixels);
    ih_bytes_append(file, mark, MARK_BYTES);
    if (file->failed)
        return ih_error_set(err, IH_MEMORY, "chart: out of memory for the %s", name);
    return is_written ? IH_OK
                      : ih_error_set(err, IH_UNAVAILABLE,
                                     "chart: stb_image_write failed to write the %s", name);
}

static enum ih_status encode_bmp(const struct ih_chart_page *page, const uint8_t *pixels,
                                 struct ih_bytes *file, struct ih_error *err)
{
    return encode_with_stb(stbi_write_bmp_to_func, "BMP", page, pixels, file, err);
}

static enum ih_status encode_tga(const struct ih_chart_page *page, const uint8_t *pixels,
                                 struct ih_bytes *file, struct ih_error *err)
{
    return encode_with_stb(stbi_write_tga_to_func, "TGA", page, pixels, file, err);
}

/* ---- the formats ---- */

struct ih_chart_format {
    const char *ending;
    ih_encoder *encode; /* NULL: SVG */
};

#define encode_svg NULL
#define FORMAT(name) {"." #name, encode_##name},
static const struct ih_chart_format formats[] = {IH_CHART_FORMATS(FORMAT)};

const struct ih_chart_format *ih_chart_format_of(const char *path)
{
    const char *dot = strrchr(path, '.'); /* a dot before a slash begins no known ending */
    if (dot && strcasecmp(dot, ".jpeg") == 0)
        dot = ".jpg";
    for (size_t i = 0; dot && i < sizeof formats / sizeof *formats; i++)
        if (strcasecmp(dot, formats[i].ending) == 0)
            return &formats[i];
    return NULL;
}

bool ih_chart_format_has_text(const struct ih_chart_format *format)
{
    return format && !format->encode;
}

/* ---- canvases and files ---- */

enum ih_status ih_canvas_open(const struct ih_chart_format *format,
                              const struct ih_chart_page *page, struct ih_canvas **canvas,
                              struct ih_error *err)
{
    ih_encoder *encode = format ? format->encode : encode_png;
    return encode ? ih_raster_open(page, encode, canvas, err) : ih_svg_open(page, canvas, err);
}

enum ih_status ih_canvas_finish(struct ih_canvas *canvas, unsigned char **file, size_t *size_bytes,
                                struct ih_error *err)
{
    enum ih_status status = canvas->status == IH_OK ? canvas->finish(canvas, err) : IH_OK;
    if (canvas->status != IH_OK || (status == IH_OK && canvas->file.failed))
        status = ih_error_set(err, IH_MEMORY, "chart: out of memory");
    if (status != IH_OK)
        return status;
    *file = canvas->file.data;
    *size_bytes = canvas->file.size;
    canvas->file = (struct ih_bytes){0};
    return IH_OK;
}

void ih_canvas_close(struct ih_canvas *canvas)
{
    if (canvas && canvas->release)
        canvas->release(canvas);
    if (canvas)
        ih_bytes_reset(&canvas->file);
    free(canvas);
}
