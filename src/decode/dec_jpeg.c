/*
 * JPEG through libjpeg-turbo, rows straight into the caller's buffer, as pixels or as the file has
 * them.
 *
 * The library's defaults are kept: the accurate integer DCT and fancy upsampling, so that the
 * counts are those of every program that reads JPEG through it. A baseline file needs a few rows of
 * memory. A progressive one, or one with a scan for each component, needs all its coefficients: the
 * library keeps them, and their bytes are taken from the budget before.
 *
 * stb_image was rejected: half the speed, and its upsampling and rounding differ in every file. A
 * photo with restart markers could be decoded by several threads, but of the benchmark's 68 in
 * colour only four have any, so that was not built.
 */
#include "base/spare.h"
#include "decode/decoder.h"
#include "decode/jpeg_half.h"
#include "decode/jpeg_raw.h"
#include "decode/samples.h"

#include <stdlib.h>

struct jpeg_state {
    struct ih_jpeg_reader reader;
    struct ih_budget *budget; /* borrowed, or NULL */
    atomic_uint *n_spare;     /* borrowed, or NULL */
    uint64_t halve_from_pixels;
    uint64_t taken_bytes; /* from the budget */
    bool is_complete;
    uint8_t *cmyk;             /* owned; one row, NULL unless the file has four components */
    struct ih_jpeg_raw raw;    /* where planes are read, and not pixels */
    struct ih_jpeg_half *half; /* owned; what decodes Cb and Cr, or NULL */
    struct ih_source again;    /* the file once more, for the half or a second try; or closed */
};

static bool probe(const uint8_t *head, size_t size)
{
    return size >= 3 && head[0] == 0xFF && head[1] == 0xD8 && head[2] == 0xFF;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const char *version(void)
{
    return "libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION);
}

static void close_jpeg(void *state)
{
    struct jpeg_state *s = state;
    ih_jpeg_half_close(s->half);
    ih_jpeg_reader_close(&s->reader);
    ih_source_reset(&s->again);
    ih_budget_give(s->budget, s->taken_bytes);
    free(s->cmyk);
    free(s);
}

/* The header up to the first scan. May longjmp. */
static void read_header(struct jpeg_state *s, struct ih_image_info *info)
{
    struct jpeg_decompress_struct *c = &s->reader.cinfo;
    ih_jpeg_reader_open(&s->reader);
    switch (c->jpeg_color_space) {
    case JCS_GRAYSCALE:
        c->out_color_space = JCS_GRAYSCALE;
        info->n_channels = 1;
        break;
    case JCS_RGB:
    case JCS_YCbCr:
        c->out_color_space = JCS_RGB;
        info->n_channels = 3;
        break;
    case JCS_CMYK:
    case JCS_YCCK:
        c->out_color_space = JCS_CMYK;
        info->n_channels = 3;
        break;
    default:
        ih_jpeg_reader_fail(&s->reader, IH_UNSUPPORTED,
                            "JPEG with a number of components other than 1, 3 or 4");
    }
    info->width = c->image_width;
    info->height = c->image_height;
    info->source_depth = 8;
}

static enum ih_status open_jpeg(struct ih_source *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void **state, struct ih_error *err)
{
    struct jpeg_state *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->budget = options->budget;
    s->n_spare = options->n_spare;
    s->halve_from_pixels =
        options->halve_from_pixels ? options->halve_from_pixels : IH_HALVE_FROM_PIXELS;
    ih_jpeg_reader_init(&s->reader, src);
    if (setjmp(s->reader.on_error)) {
        *err = s->reader.error;
        close_jpeg(s);
        return err->status;
    }
    read_header(s, info);
    *state = s;
    return IH_OK;
}

/* A row of CMYK pixels to RGB. With Adobe's marker the file holds 255 less the ink. */
static void convert_cmyk(const struct jpeg_state *s, const uint8_t *cmyk, uint8_t *rgb)
{
    unsigned flip = s->reader.cinfo.saw_Adobe_marker ? 255 : 0;
    for (size_t x = 0; x < s->reader.cinfo.output_width; x++, cmyk += 4, rgb += 3) {
        for (int c = 0; c < 3; c++)
            rgb[c] = ih_ink(cmyk[c] ^ flip, cmyk[3] ^ flip);
    }
}

/* What the library allocates for the coefficients of a file in several scans (jdcoefct.c): of each
 * component its blocks, up to whole MCUs. */
static uint64_t coefficient_bytes(const struct jpeg_decompress_struct *c)
{
    uint64_t n_blocks = 0;
    for (int i = 0; i < c->num_components; i++) {
        const jpeg_component_info *p = &c->comp_info[i];
        uint64_t h = (uint64_t)p->h_samp_factor, v = (uint64_t)p->v_samp_factor;
        n_blocks += (p->width_in_blocks + h - 1) / h * h * ((p->height_in_blocks + v - 1) / v * v);
    }
    return n_blocks * sizeof(JBLOCK);
}

/* The file from its start, after a first try that came to nothing. */
static enum ih_status begin_again(struct jpeg_state *s, const struct ih_jpeg_shape *shape,
                                  struct ih_error *err)
{
    struct ih_image_info info;
    enum ih_status status = ih_source_rewind(&s->again, err);
    if (status != IH_OK)
        return status;
    ih_jpeg_reader_close(&s->reader);
    ih_jpeg_reader_init(&s->reader, &s->again);
    if (setjmp(s->reader.on_error)) {
        *err = s->reader.error;
        return err->status;
    }
    read_header(s, &info);
    const struct ih_jpeg_shape now = ih_jpeg_shape_of(&s->reader.cinfo);
    if (!ih_jpeg_shapes_equal(&now, shape))
        ih_jpeg_reader_fail(&s->reader, IH_IO, "the file was changed while it was read");
    return IH_OK;
}

/* Decodes in two halves, where that can be done. If not, nothing has happened. */
static enum ih_status start_halves(struct jpeg_state *s, struct ih_error *err)
{
    const uint64_t n_bytes = 2 * coefficient_bytes(&s->reader.cinfo);
    const struct ih_jpeg_shape shape = ih_jpeg_shape_of(&s->reader.cinfo);
    bool is_tried = false;
    if (!ih_jpeg_half_fits(&s->reader, s->halve_from_pixels) || !ih_spare_take(s->n_spare))
        return IH_OK;
    if (ih_budget_try(s->budget, n_bytes)) {
        s->taken_bytes = n_bytes;
        if (ih_source_reopen(&s->again, s->reader.src, err) == IH_OK)
            s->half = ih_jpeg_half_open(&s->reader, &s->again);
        is_tried = s->half != NULL;
        if (is_tried && !ih_jpeg_half_decode(s->half, &s->reader)) {
            ih_jpeg_half_close(s->half);
            s->half = NULL;
        }
        if (!s->half) {
            ih_budget_give(s->budget, n_bytes);
            s->taken_bytes = 0;
        }
    }
    ih_spare_give(s->n_spare);
    return is_tried && !s->half ? begin_again(s, &shape, err) : IH_OK;
}

static void start(struct jpeg_state *s)
{
    s->reader.is_started = true;
    if (jpeg_has_multiple_scans(&s->reader.cinfo)) {
        uint64_t n_bytes = coefficient_bytes(&s->reader.cinfo);
        if (ih_budget_take(s->budget, n_bytes, &s->reader.error) != IH_OK)
            longjmp(s->reader.on_error, 1);
        s->taken_bytes = n_bytes;
    }
    jpeg_start_decompress(&s->reader.cinfo);
    if (jpeg_has_multiple_scans(&s->reader.cinfo) &&
        s->reader.components_seen != (1u << s->reader.cinfo.num_components) - 1)
        ih_jpeg_reader_fail(&s->reader, IH_CORRUPT,
                            "a colour component has no scan"); /* libjpeg would invent it */
    if (s->reader.cinfo.out_color_space == JCS_CMYK) {
        s->cmyk = malloc((size_t)4 * s->reader.cinfo.output_width);
        if (!s->cmyk)
            ih_jpeg_reader_fail(&s->reader, IH_MEMORY, "out of memory");
    }
}

/* Up to and with EOI. */
static void finish(struct jpeg_state *s)
{
    if (!s->is_complete)
        jpeg_finish_decompress(&s->reader.cinfo);
    s->is_complete = true;
}

/* Rows into dst until it is full or the image complete. May longjmp. */
static size_t read_rows(struct jpeg_state *s, uint8_t *dst, size_t capacity)
{
    struct jpeg_decompress_struct *c = &s->reader.cinfo;
    enum { ROWS_MAX = 16 }; /* as many as the library makes at once */
    size_t n = 0;
    if (!s->reader.is_started)
        start(s);
    while (c->output_scanline < c->output_height && capacity - n >= c->output_width) {
        size_t row_bytes = (size_t)c->output_width * 3;
        if (s->cmyk) {
            jpeg_read_scanlines(c, &s->cmyk, 1);
            convert_cmyk(s, s->cmyk, dst + n * 3);
            n += c->output_width;
            continue;
        }
        JSAMPROW rows[ROWS_MAX];
        JDIMENSION n_rows = 0;
        if (c->out_color_space == JCS_GRAYSCALE)
            row_bytes = c->output_width;
        size_t space = (capacity - n) / c->output_width;
        for (; n_rows < ROWS_MAX && n_rows < space; n_rows++)
            rows[n_rows] = dst + n * (size_t)c->output_components + n_rows * row_bytes;
        n += (size_t)jpeg_read_scanlines(c, rows, n_rows) * c->output_width;
    }
    if (n == 0)
        finish(s);
    return n;
}

static enum ih_status read_jpeg(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct jpeg_state *s = state;
    if (setjmp(s->reader.on_error)) {
        *err = s->reader.error;
        return err->status;
    }
    *n_pixels = read_rows(s, pixels, capacity_pixels);
    return IH_OK;
}

static size_t planes_bytes(void *state)
{
    const struct jpeg_state *s = state;
    return s->is_complete ? 0
                          : ih_jpeg_raw_bytes(&s->reader.cinfo); /* what it looks at is gone then */
}

static enum ih_status read_planes(void *state, uint8_t *buffer, size_t size_bytes,
                                  struct ih_planes *planes, struct ih_error *err)
{
    struct jpeg_state *s = state;
    struct jpeg_decompress_struct *c = &s->reader.cinfo;
    if (!s->reader.is_started && start_halves(s, err) != IH_OK)
        return err->status;
    if (setjmp(s->reader.on_error)) {
        *err = s->reader.error;
        return err->status;
    }
    planes->n_rows = 0;
    if (!s->reader.is_started) {
        c->raw_data_out = TRUE;
        start(s);
    }
    if (c->output_scanline < c->output_height)
        ih_jpeg_raw_read(&s->raw, c, s->half ? &s->half->reader.cinfo : NULL, buffer, size_bytes,
                         planes);
    else
        finish(s);
    return IH_OK;
}

const struct ih_decoder ih_decoder_jpeg = {
    .name = "jpeg",
    .title = "JPEG, baseline and progressive, gray, colour and CMYK",
    .version = version,
    .probe = probe,
    .open = open_jpeg,
    .read = read_jpeg,
    .planes_bytes = planes_bytes,
    .read_planes = read_planes,
    .close = close_jpeg,
};
