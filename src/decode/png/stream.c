/*
 * The streaming path for PNG: libpng, row by row.
 *
 * Rows go straight into the caller's buffer. Memory is libpng's two rows and zlib's window,
 * whatever the size of the image. An interlaced image is not assembled: each of its seven passes is
 * delivered like a small image, and the counts are the same. libpng delivers bare passes because
 * png_set_interlace_handling is not called.
 *
 * Counts depend only on IHDR, PLTE, tRNS, IDAT and IEND. Other chunks are skipped unparsed after
 * their CRC is checked: a hostile ICC profile is never inflated, and gAMA and iCCP change no value.
 *
 * Palettes are expanded by image.c, because libpng only warns of an index past the end of the
 * palette and invents a colour. Errors that libpng calls benign (a wrong Adler-32, too many pixels,
 * a bad tRNS) are errors here, unless no pixel depends on them: see on_warning.
 */
#include "decode/png/paths.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

struct ih_png_stream {
    struct ih_png_file *file; /* borrowed */
    png_structp png;
    png_infop info;
    struct ih_image_info *told; /* borrowed: the caller's */
    struct ih_png_notes notes;
    uint8_t data[IH_METADATA_BYTES]; /* the first bytes of the chunk that libpng reads */
    size_t n_data;
    uint32_t width, height;
    unsigned n_channels;
    bool has_trns; /* a tRNS chunk was read, whatever libpng makes of it */
    bool is_started, is_complete;
    unsigned pass;     /* index of passes[] */
    uint32_t next_row; /* in the pass */
    uint8_t *indices;  /* owned; a row of a palette image, NULL for other kinds */
    uint8_t *deep;     /* owned; a row of 16-bit samples; NULL: there are none */
    struct ih_native native;
    struct ih_png_palette palette; /* no entries: not a palette image */
    struct ih_error error;         /* set before each longjmp */
};

/* Adam7: pass p holds every x_step-th pixel from x_start on, of every y_step-th row from y_start
 * on. Source: the PNG specification, 8.2. The last entry is an image without interlacing. */
enum { NOT_INTERLACED = 7 };
static const struct {
    uint32_t x_start, x_step, y_start, y_step;
} passes[] = {{0, 8, 0, 8}, {4, 8, 0, 8}, {0, 4, 4, 8}, {2, 4, 0, 4},
              {0, 2, 2, 4}, {1, 2, 0, 2}, {0, 1, 1, 2}, {0, 1, 0, 1}};

/* Columns or rows of a pass. */
static uint32_t n_in_pass(uint32_t n, uint32_t start, uint32_t step)
{
    return (n + step - 1 - start) / step;
}

static bool is_in_chunk(png_structp png, const char name[4])
{
    return png_get_io_chunk_type(png) == ih_be32((const uint8_t *)name);
}

/* A sound file may have a chunk, or a method in IHDR, of a later edition of the format. */
static void on_error(png_structp png, png_const_charp message)
{
    enum { COMPRESSION = 10, FILTERS = 11, INTERLACING = 12 };
    struct ih_png_stream *s = png_get_error_ptr(png);
    const uint8_t *header = s->data;
    if (s->error.status != IH_OK)
        png_longjmp(png, 1);
    if (strstr(message, "unhandled critical chunk") && is_in_chunk(png, "CgBI"))
        ih_error_set(&s->error, IH_UNSUPPORTED,
                     "CgBI (PNG for iPhone apps) is not supported: convert it");
    else if (strstr(message, "unhandled critical chunk"))
        ih_error_set(&s->error, IH_UNSUPPORTED, "PNG with a chunk %.4s is not supported", message);
    else if (strstr(message, "Invalid IHDR data") &&
             (header[COMPRESSION] > 0 || header[FILTERS] > 0 || header[INTERLACING] > 1))
        ih_error_set(&s->error, IH_UNSUPPORTED,
                     "PNG of compression %u, filtering %u and interlacing %u is not supported",
                     header[COMPRESSION], header[FILTERS], header[INTERLACING]);
    else
        ih_error_set(&s->error, IH_CORRUPT, "damaged PNG: %s", message);
    png_longjmp(png, 1);
}

/*
 * What libpng calls benign is an error, except where no pixel depends on it:
 * - bytes in IDAT after the end of the zlib stream, which some encoders write as padding;
 * - PLTE in an image without a palette, but not a second one, nor one between the tRNS of RGB and
 *   the image: versions of libpng differ in what they make of those;
 * - tRNS without an entry in a palette image, or in an image with alpha;
 * - bytes in IEND.
 * Before the image, other chunks are not parsed, and a warning about IHDR is followed by an error.
 */
static bool is_accepted(png_structp png, const char *message)
{
    const struct ih_png_stream *s = png_get_error_ptr(png);
    const unsigned colour = png_get_color_type(png, s->info);
    if (is_in_chunk(png, "IDAT"))
        return strstr(message, "Extra compressed data") != NULL;
    if (is_in_chunk(png, "PLTE"))
        return colour != PNG_COLOR_TYPE_PALETTE && !strstr(message, "duplicate") &&
               (s->is_started || colour != PNG_COLOR_TYPE_RGB || !s->has_trns);
    if (is_in_chunk(png, "tRNS"))
        return (colour & PNG_COLOR_MASK_ALPHA) ||
               (colour == PNG_COLOR_TYPE_PALETTE && s->n_data == 0);
    return !s->is_started || is_in_chunk(png, "IEND");
}

static void on_warning(png_structp png, png_const_charp message)
{
    if (!is_accepted(png, message))
        on_error(png, message);
}

/* libpng reports a failed allocation like damage. So the error is set before libpng learns of it.
 */
static png_voidp allocate(png_structp png, png_alloc_size_t size)
{
    struct ih_png_stream *s = png_get_mem_ptr(png);
    void *p = malloc(size);
    if (!p)
        ih_error_set(&s->error, IH_MEMORY, "out of memory");
    return p;
}

static void release(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

/* libpng tells which part of a chunk it reads. It parses none of these chunks itself: for one that
 * it hands out whole, it allocates the length that the chunk claims. */
static void note_bytes(struct ih_png_stream *s, const uint8_t *bytes, size_t size)
{
    const uint32_t part = png_get_io_state(s->png) & PNG_IO_MASK_LOC;
    const uint32_t type = png_get_io_chunk_type(s->png);
    const size_t room = sizeof s->data - s->n_data, n = size < room ? size : room;
    if (part == PNG_IO_CHUNK_DATA) {
        memcpy(s->data + s->n_data, bytes, n);
        s->n_data += n;
    } else if (part == PNG_IO_CHUNK_CRC) {
        const char name[4] = {(char)(type >> 24), (char)(type >> 16), (char)(type >> 8),
                              (char)type};
        ih_png_note(&s->notes, name, s->data, s->n_data);
        s->has_trns |= is_in_chunk(s->png, "tRNS");
    } else {
        s->n_data = 0;
    }
}

static void stream_read_bytes(png_structp png, png_bytep dst, size_t size)
{
    struct ih_png_stream *s = png_get_io_ptr(png);
    size_t got;
    if (ih_png_file_read(s->file, dst, size, &got, &s->error) == IH_OK && got < size)
        ih_error_set(&s->error, IH_CORRUPT, "damaged PNG: the file ends before the image does");
    if (got < size)
        png_error(png, "read");
    note_bytes(s, dst, size);
}

void ih_png_stream_close(struct ih_png_stream *s)
{
    if (!s)
        return;
    png_destroy_read_struct(&s->png, &s->info, NULL);
    free(s->indices);
    free(s->deep);
    free(s);
}

/* Entries after the end of tRNS are opaque. */
static void stream_load_palette(struct ih_png_stream *s)
{
    png_colorp colours = NULL;
    png_bytep alphas = NULL;
    int n_colours = 0, n_alphas = 0;
    png_get_PLTE(s->png, s->info, &colours, &n_colours);
    if (png_get_valid(s->png, s->info, PNG_INFO_tRNS))
        png_get_tRNS(s->png, s->info, &alphas, &n_alphas, NULL);
    if (n_colours < 1 || n_colours > 256)
        png_error(s->png, "the palette is missing");
    struct ih_png_palette *palette = &s->palette;
    palette->n_entries = (unsigned)n_colours;
    palette->n_channels = s->n_channels = n_alphas > 0 ? 4 : 3;
    for (int i = 0; i < n_colours; i++) {
        palette->colours[i][0] = colours[i].red;
        palette->colours[i][1] = colours[i].green;
        palette->colours[i][2] = colours[i].blue;
        palette->colours[i][3] = i < n_alphas ? alphas[i] : 255;
    }
}

/* Reads up to the first IDAT. May longjmp. */
static void stream_read_header(struct ih_png_stream *s, struct ih_image_info *info)
{
    int depth, colour, interlace;
    png_set_read_fn(s->png, s, stream_read_bytes);
    png_set_user_limits(s->png, PNG_UINT_31_MAX,
                        PNG_UINT_31_MAX); /* max_pixels is checked after the header */
    png_set_chunk_malloc_max(s->png, 0);  /* no limit: skipped chunks take no memory */
    png_set_crc_action(s->png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_benign_errors(s->png, 1); /* they reach on_warning */
    png_set_keep_unknown_chunks(s->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(s->png, s->info);
    png_get_IHDR(s->png, s->info, &s->width, &s->height, &depth, &colour, &interlace, NULL, NULL);

    s->pass = interlace == PNG_INTERLACE_NONE ? NOT_INTERLACED : 0;
    s->n_channels = png_get_channels(s->png, s->info);
    if (colour == PNG_COLOR_TYPE_PALETTE) {
        stream_load_palette(s);
        if (s->file->takes_indices) {
            s->palette.n_channels = s->n_channels = 1;
            info->scaled_max = UINT8_MAX;
        }
    } else if (png_get_valid(s->png, s->info, PNG_INFO_tRNS))
        s->n_channels++;
    info->order.kind = interlace == PNG_INTERLACE_NONE ? IH_PIXEL_ORDER_ROWS : IH_PIXEL_ORDER_ADAM7;
    info->width = s->width;
    info->height = s->height;
    info->layout = ih_layout_of(s->n_channels);
    info->source_depth = (unsigned)depth;
    ih_native_choose(&s->native, s->file->takes_native, s->file->sample_range, (1u << depth) - 1,
                     &s->error); /* PNG has no more than 16 bits */
    info->type = s->native.type;
    info->n_bins = s->native.n_bins;
    info->range = IH_RANGE_FULL;
    s->told = info;
}

enum ih_status ih_png_stream_open(struct ih_png_file *file, struct ih_image_info *info,
                                  struct ih_png_stream **stream, struct ih_error *err)
{
    struct ih_png_stream *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->file = file;
    s->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, s, on_error, on_warning, s, allocate,
                                      release);
    s->info = s->png ? png_create_info_struct(s->png) : NULL;
    if (!s->info) {
        ih_png_stream_close(s);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    if (setjmp(png_jmpbuf(s->png))) {
        *err = s->error;
        ih_png_stream_close(s);
        return err->status;
    }
    stream_read_header(s, info);
    *stream = s;
    return IH_OK;
}

/* Sets up the conversion to 8-bit samples; the first allocation that grows with the width. */
static void stream_start(struct ih_png_stream *s)
{
    unsigned depth = png_get_bit_depth(s->png, s->info);
    if (s->palette.n_entries) {
        png_set_packing(s->png); /* one index a byte */
        s->indices = malloc(s->width);
        if (!s->indices) {
            ih_error_set(&s->error, IH_MEMORY, "out of memory");
            png_error(s->png, "memory");
        }
    } else {
        if (depth < 8)
            png_set_expand_gray_1_2_4_to_8(s->png);
        if (png_get_valid(s->png, s->info, PNG_INFO_tRNS))
            png_set_tRNS_to_alpha(s->png); /* compares at the full source depth */
        if (depth == 16 && !(s->deep = calloc((size_t)s->width, (size_t)s->n_channels * 2))) {
            ih_error_set(&s->error, IH_MEMORY, "out of memory");
            png_error(s->png, "memory");
        }
    }
    png_start_read_image(s->png);
    s->is_started = true;
}

/* Reduces a row of 16-bit samples by the range, and alpha as without it, or keeps their values. */
static void reduce_row(const struct ih_png_stream *s, uint32_t width, uint8_t *row)
{
    ih_extremes_add_be16(&s->told->extremes, s->deep, width, s->n_channels);
    const size_t n = (size_t)width * s->n_channels;
    const unsigned n_colours = ih_layout_of(s->n_channels).n_colours;
    for (size_t i = 0; i < n; i++) {
        const unsigned v = ih_be16(s->deep + 2 * i);
        const bool is_colour = i % s->n_channels < n_colours;
        if (ih_is_native(s->native.type))
            ih_native_put(row, i, ih_native_of(&s->native, v, !is_colour));
        else
            row[i] =
                is_colour ? ih_sample_scale_range(v, s->file->sample_range) : ih_sample_scale_16(v);
    }
}

/* Reads rows of the passes into dst until it is full or the image is complete. May longjmp. */
static size_t stream_read_rows(struct ih_png_stream *s, uint8_t *dst, size_t capacity)
{
    size_t n = 0;
    if (!s->is_started)
        stream_start(s);
    while (!s->is_complete) {
        const uint32_t width = n_in_pass(s->width, passes[s->pass].x_start, passes[s->pass].x_step);
        if (width == 0 ||
            s->next_row == n_in_pass(s->height, passes[s->pass].y_start, passes[s->pass].y_step)) {
            s->next_row = 0;
            s->is_complete = ++s->pass >= NOT_INTERLACED;
            continue;
        }
        if (capacity - n < s->width) /* libpng writes a full row even for a short pass */
            return n;
        uint8_t *row = dst + n * ih_pixel_bytes(s->n_channels, s->native.type);
        png_read_row(s->png, s->indices ? s->indices : s->deep ? s->deep : row, NULL);
        if (s->deep)
            reduce_row(s, width, row);
        if (s->indices &&
            ih_png_expand_palette(&s->palette, s->indices, width, row, &s->error) != IH_OK)
            png_error(s->png, "palette");
        s->next_row++;
        n += width;
    }
    if (n == 0) {
        png_read_end(s->png, s->info); /* checks the rest of the stream and the chunks */
        ih_png_notes_tell(&s->notes, s->told);
    }
    return n;
}

enum ih_status ih_png_stream_read(struct ih_png_stream *s, uint8_t *pixels, size_t capacity_pixels,
                                  size_t *n_pixels, struct ih_error *err)
{
    if (setjmp(png_jmpbuf(s->png))) {
        *err = s->error;
        return err->status;
    }
    *n_pixels = stream_read_rows(s, pixels, capacity_pixels);
    return IH_OK;
}
