/*
 * JPEG through libjpeg-turbo, rows straight into the caller's buffer, as pixels or as the file has
 * them.
 *
 * The library's defaults are kept: the accurate integer DCT and fancy upsampling, so that the
 * counts are those of every program that reads JPEG through it. A baseline file needs a few rows of
 * memory. A progressive one, or one with a scan for each component, needs all its coefficients: the
 * library keeps them, and their bytes are taken from the budget before.
 *
 * libjpeg repairs damage and warns. Counts of repaired pixels would be wrong without a sign, so
 * each warning that means lost or doubtful pixels is an error here; a few that do not are let
 * through.
 *
 * stb_image was rejected: half the speed, and its upsampling and rounding differ in every file. A
 * photo with restart markers could be decoded by several threads, but of the benchmark's 68 in
 * colour only four have any, so that was not built.
 */
#include "decode/decoder.h"
#include "decode/jpeg_raw.h"
#include "decode/samples.h"

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h uses FILE without including it */
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

/* More scans than any encoder writes (progressive scripts have about ten), few enough that a file
 * of empty scans over a huge image ends in seconds: every scan costs a pass over all blocks. */
enum { SCANS_MAX = 100 };

struct jpeg_state {
    struct jpeg_decompress_struct cinfo; /* client_data points to this struct */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr bytes;
    struct jpeg_progress_mgr progress;
    struct ih_source *src;    /* borrowed */
    struct ih_budget *budget; /* borrowed, or NULL */
    uint64_t taken_bytes;     /* from the budget */
    bool is_started, is_complete;
    unsigned components_seen; /* bit i: component i has had a scan */
    size_t n_peeked;          /* bytes of src that the library has been given */
    uint8_t *cmyk;            /* owned; one row, NULL unless the file has four components */
    struct ih_jpeg_raw raw;   /* where planes are read, and not pixels */
    struct ih_error error;    /* what the longjmp that is under way is about */
    jmp_buf on_error;
};

static struct jpeg_state *state_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

static void fail(struct jpeg_state *s, enum ih_status status, const char *text)
{
    if (s->error.status == IH_OK)
        ih_error_set(&s->error, status, "%s%s", status == IH_CORRUPT ? "damaged JPEG: " : "", text);
    longjmp(s->on_error, 1);
}

static void on_error_exit(j_common_ptr cinfo)
{
    struct jpeg_state *s = state_of(cinfo);
    char text[JMSG_LENGTH_MAX];
    switch (s->errors.msg_code) {
    case JERR_OUT_OF_MEMORY:
        fail(s, IH_MEMORY, "out of memory");
        break;
    case JERR_BAD_PRECISION:
        snprintf(text, sizeof text, "JPEG with %d bits a sample is not supported, only 8 bits",
                 s->errors.msg_parm.i[0]);
        fail(s, IH_UNSUPPORTED, text);
        break;
    case JERR_SOF_UNSUPPORTED:
        snprintf(text, sizeof text,
                 "lossless or hierarchical JPEG (SOF type 0x%02x) is not supported",
                 (unsigned)s->errors.msg_parm.i[0]);
        fail(s, IH_UNSUPPORTED, text);
        break;
#if JPEG_LIB_VERSION < 70 /* later interfaces have arithmetic coding, and no such message */
    case JERR_ARITH_NOTIMPL:
#endif
    case JERR_CONVERSION_NOTIMPL:
        s->errors.format_message(cinfo, text);
        fail(s, IH_UNSUPPORTED, text);
        break;
    default:
        s->errors.format_message(cinfo, text);
        fail(s, IH_CORRUPT, text);
    }
}

/* Level -1 is a warning of corrupt data, 0 and up are traces. */
static void on_message(j_common_ptr cinfo, int level)
{
    struct jpeg_state *s = state_of(cinfo);
    char text[JMSG_LENGTH_MAX];
    if (level >= 0)
        return;
    switch (s->errors.msg_code) {
    case JWRN_JFIF_MAJOR:  /* an unknown revision, an unknown colour transform code: */
    case JWRN_ADOBE_XFORM: /* the samples are decoded all the same */
        return;
    case JWRN_EXTRANEOUS_DATA: /* padding between header segments; within a scan it is damage */
        if (!s->is_started)
            return;
        break;
    default:
        break;
    }
    s->errors.format_message(cinfo, text);
    fail(s, IH_CORRUPT, text);
}

/* Called at least once in every scan of a file that has several. */
static void on_progress(j_common_ptr cinfo)
{
    const struct jpeg_decompress_struct *c = (j_decompress_ptr)cinfo;
    for (int i = 0; i < c->comps_in_scan; i++)
        state_of(cinfo)->components_seen |= 1u << c->cur_comp_info[i]->component_index;
    if (((j_decompress_ptr)cinfo)->input_scan_number > SCANS_MAX) {
        char text[64];
        snprintf(text, sizeof text, "JPEG with more than %d scans", SCANS_MAX);
        fail(state_of(cinfo), IH_LIMIT, text);
    }
}

static void no_op(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

/*
 * The library gets the file in chunks of one size, wherever it comes from. Far from the end of what
 * it has, it decodes Huffman codes a faster way, which passes over codes that do not exist where
 * the other way warns of them. So the same file would be counted from memory and refused from a
 * pipe, or the other way round, if the chunks were as the reads are.
 */
static boolean fill_input(j_decompress_ptr cinfo)
{
    struct jpeg_state *s = state_of((j_common_ptr)cinfo);
    const uint8_t *bytes;
    size_t n;
    ih_source_consume(s->src, s->n_peeked);
    s->n_peeked = 0;
    if (ih_source_peek(s->src, IH_SOURCE_BUFFER_BYTES, &bytes, &n, &s->error) != IH_OK)
        longjmp(s->on_error, 1);
    if (n == 0)
        fail(s, IH_CORRUPT, "the file ends before the image does");
    if (n > IH_SOURCE_BUFFER_BYTES)
        n = IH_SOURCE_BUFFER_BYTES;
    s->n_peeked = n;
    s->bytes.next_input_byte = bytes;
    s->bytes.bytes_in_buffer = n;
    return TRUE;
}

static void skip_input(j_decompress_ptr cinfo, long n)
{
    struct jpeg_state *s = state_of((j_common_ptr)cinfo);
    for (size_t left = n > 0 ? (size_t)n : 0; left > 0;) {
        if (s->bytes.bytes_in_buffer == 0)
            fill_input(cinfo);
        size_t step = left < s->bytes.bytes_in_buffer ? left : s->bytes.bytes_in_buffer;
        s->bytes.next_input_byte += step;
        s->bytes.bytes_in_buffer -= step;
        left -= step;
    }
}

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
    jpeg_destroy_decompress(&s->cinfo);
    ih_budget_give(s->budget, s->taken_bytes);
    free(s->cmyk);
    free(s);
}

/* The header up to the first scan. May longjmp. */
static void read_header(struct jpeg_state *s, struct ih_image_info *info)
{
    struct jpeg_decompress_struct *c = &s->cinfo;
    jpeg_create_decompress(c);
    c->client_data = s;
    c->src = &s->bytes;
    c->progress = &s->progress;
    jpeg_read_header(c, TRUE);
    if (c->data_precision != 8) {
        s->errors.msg_code = JERR_BAD_PRECISION;
        s->errors.msg_parm.i[0] = c->data_precision;
        on_error_exit((j_common_ptr)c);
    }
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
        fail(s, IH_UNSUPPORTED, "JPEG with a number of components other than 1, 3 or 4");
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
    s->src = src;
    s->budget = options->budget;
    s->cinfo.client_data = s;
    s->cinfo.err = jpeg_std_error(&s->errors);
    s->errors.error_exit = on_error_exit;
    s->errors.emit_message = on_message;
    s->progress.progress_monitor = on_progress;
    s->bytes.init_source = no_op;
    s->bytes.fill_input_buffer = fill_input;
    s->bytes.skip_input_data = skip_input;
    s->bytes.resync_to_restart = jpeg_resync_to_restart; /* warns first, so never goes on */
    s->bytes.term_source = no_op;
    if (setjmp(s->on_error)) {
        *err = s->error;
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
    unsigned flip = s->cinfo.saw_Adobe_marker ? 255 : 0;
    for (size_t x = 0; x < s->cinfo.output_width; x++, cmyk += 4, rgb += 3) {
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

static void start(struct jpeg_state *s)
{
    s->is_started = true;
    if (jpeg_has_multiple_scans(&s->cinfo)) {
        uint64_t n_bytes = coefficient_bytes(&s->cinfo);
        if (ih_budget_take(s->budget, n_bytes, &s->error) != IH_OK)
            longjmp(s->on_error, 1);
        s->taken_bytes = n_bytes;
    }
    jpeg_start_decompress(&s->cinfo);
    if (jpeg_has_multiple_scans(&s->cinfo) &&
        s->components_seen != (1u << s->cinfo.num_components) - 1)
        fail(s, IH_CORRUPT, "a colour component has no scan"); /* libjpeg would invent it */
    if (s->cinfo.out_color_space == JCS_CMYK) {
        s->cmyk = malloc((size_t)4 * s->cinfo.output_width);
        if (!s->cmyk)
            fail(s, IH_MEMORY, "out of memory");
    }
}

/* Up to and with EOI. */
static void finish(struct jpeg_state *s)
{
    if (!s->is_complete)
        jpeg_finish_decompress(&s->cinfo);
    s->is_complete = true;
}

/* Rows into dst until it is full or the image complete. May longjmp. */
static size_t read_rows(struct jpeg_state *s, uint8_t *dst, size_t capacity)
{
    struct jpeg_decompress_struct *c = &s->cinfo;
    enum { ROWS_MAX = 16 }; /* as many as the library makes at once */
    size_t n = 0;
    if (!s->is_started)
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
    if (setjmp(s->on_error)) {
        *err = s->error;
        return err->status;
    }
    *n_pixels = read_rows(s, pixels, capacity_pixels);
    return IH_OK;
}

static size_t planes_bytes(void *state)
{
    const struct jpeg_state *s = state;
    return s->is_complete ? 0 : ih_jpeg_raw_bytes(&s->cinfo); /* what it looks at is gone then */
}

static enum ih_status read_planes(void *state, uint8_t *buffer, size_t size_bytes,
                                  struct ih_planes *planes, struct ih_error *err)
{
    struct jpeg_state *s = state;
    struct jpeg_decompress_struct *c = &s->cinfo;
    if (setjmp(s->on_error)) {
        *err = s->error;
        return err->status;
    }
    planes->n_rows = 0;
    if (!s->is_started) {
        c->raw_data_out = TRUE;
        start(s);
    }
    if (c->output_scanline < c->output_height)
        ih_jpeg_raw_read(&s->raw, c, buffer, size_bytes, planes);
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
