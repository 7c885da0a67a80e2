/*
 * Charts to PNG through libpng.
 *
 * A chart is rows that repeat the row above for long stretches. Deflate finds that by itself, so
 * filters only cost, and from level 4 on it searches twice as long for a tenth of the size. The
 * chart of a photo, 1024 x 640, on one core of an EPYC:
 *
 *     filter  level 1          level 3          level 4           level 6
 *     none    4.6 ms, 83 KB    5.0 ms, 81 KB    11.6 ms, 72 KB    12.9 ms, 69 KB
 *     up      5.8 ms, 87 KB    6.0 ms, 85 KB    12.3 ms, 79 KB    14.4 ms, 78 KB
 *     sub     6.3 ms, 99 KB    6.6 ms, 97 KB    12.9 ms, 88 KB    14.8 ms, 87 KB
 *
 * libpng leaves by longjmp. All that has to outlive the jump is in one struct of the caller's
 * frame, and the jump never passes a function but libpng's own.
 */
#define _POSIX_C_SOURCE 200809L

#include "output/chart/encode.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COMPRESSION_LEVEL = 3 };

struct encoder {
    png_structp png;
    png_infop info;
    struct ih_bytes *file;
    char *source; /* owned: libpng wants it writable */
    struct ih_error *err;
    enum ih_status status;
};

static void on_error(png_structp png, png_const_charp message)
{
    struct encoder *e = png_get_error_ptr(png);
    if (e->status == IH_OK)
        e->status = ih_error_set(e->err, IH_UNAVAILABLE, "chart: libpng: %s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_write(png_structp png, png_bytep bytes, size_t size)
{
    struct encoder *e = png_get_io_ptr(png);
    ih_bytes_append(e->file, bytes, size);
    if (e->file->failed) {
        e->status = ih_error_set(e->err, IH_MEMORY, "chart: out of memory for the PNG");
        png_error(png, "out of memory");
    }
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* Everything that may jump. */
static void encode(struct encoder *e, const struct ih_encode_job *job)
{
    static char software[] = "Software", name[] = "imghist", from[] = "Source";
    png_text marks[2] = {{.compression = PNG_TEXT_COMPRESSION_NONE, .key = software, .text = name},
                         {.compression = PNG_TEXT_COMPRESSION_NONE, .key = from}};
    if (setjmp(png_jmpbuf(e->png)))
        return;
    png_set_write_fn(e->png, e, on_write, on_flush);
    png_set_IHDR(e->png, e->info, job->width, job->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(e->png, e->info, PNG_sRGB_INTENT_RELATIVE);
    marks[1].text = e->source;
    png_set_text(e->png, e->info, marks, e->source ? 2 : 1);
    png_set_filter(e->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(e->png, COMPRESSION_LEVEL);
    png_write_info(e->png, e->info);
    for (unsigned y = 0; y < job->height; y++)
        png_write_row(e->png, job->pixels + (size_t)y * job->width * 3);
    png_write_end(e->png, NULL);
}

enum ih_status ih_encode_png(const struct ih_encode_job *job, struct ih_bytes *file,
                             struct ih_error *err)
{
    struct encoder e = {.file = file, .err = err, .status = IH_OK};
    e.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e, on_error, on_warning);
    e.info = e.png ? png_create_info_struct(e.png) : NULL;
    e.source = job->source ? strdup(job->source) : NULL;
    if (!e.info || (job->source && !e.source))
        e.status = ih_error_set(err, IH_MEMORY, "chart: out of memory for the PNG");
    else
        encode(&e, job);
    free(e.source);
    png_destroy_write_struct(&e.png, &e.info);
    return e.status;
}
