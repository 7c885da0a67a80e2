/*
 * JPEG through libjpeg-turbo. Rows go straight into the caller's buffer, as pixels or as planes.
 *
 * The library's defaults are kept: the accurate integer DCT and fancy upsampling. So the counts are
 * those of every program that reads JPEG through it. How a file is decoded:
 * - Baseline: row by row, in a few rows of memory.
 * - Progressive, at least all_scans_from_pixels large, of known size and seekable: the file is held
 *   in memory and all its scans are decoded at once (progressive/progressive.h).
 * - All other files with several scans, the ordinary way: the library holds all coefficients. This
 *   is also where decoding starts again after the second way has failed.
 * The memory of the last two is taken from the budget first.
 *
 * Rejected:
 * - stb_image, which has half the speed and rounds differently;
 * - several threads for files with restart markers, which 4 of the benchmark's 68 photos have;
 * - a Huffman decoder of our own, whose look-ups give a run and a coefficient at once, in place of
 *   the library's: 0.97 to 1.05 of the time for photos of 500 x 375.
 */
#include "decode/decoder.h"
#include "decode/jpeg/jpeg.h"
#include "decode/jpeg/markers.h"
#include "decode/progressive/progressive.h"
#include "decode/samples.h"

#include <stdlib.h>

struct jpeg_state {
    struct ih_jpeg_reader reader; /* of the header, and of the rows unless all_scans has them */
    struct ih_image_info *info;   /* borrowed: the caller's, for the warnings */
    struct ih_budget *budget;     /* borrowed, or NULL */
    atomic_uint *n_idle_cores;    /* borrowed, or NULL */
    bool is_lenient;
    uint64_t all_scans_from_pixels;
    uint64_t taken_bytes; /* from the budget */
    bool is_way_chosen, is_complete;
    uint8_t *cmyk;                    /* owned; one row, NULL unless the file has four components */
    struct ih_jpeg_raw raw;           /* when planes are read */
    JDIMENSION n_delivered;           /* rows */
    uint8_t *file;                    /* owned; for all_scans */
    struct ih_progressive *all_scans; /* owned; NULL: the ordinary way */
};

static bool probe(const uint8_t *head, size_t size)
{
    return size >= 3 && head[0] == 0xFF && head[1] == 0xD8 && head[2] == 0xFF;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static struct ih_jpeg_reader *rows_reader(struct jpeg_state *s)
{
    return s->all_scans ? ih_progressive_output(s->all_scans) : &s->reader;
}

static void release_memory(struct jpeg_state *s)
{
    ih_progressive_close(s->all_scans);
    s->all_scans = NULL;
    free(s->file);
    s->file = NULL;
    ih_budget_give(s->budget, s->taken_bytes);
    s->taken_bytes = 0;
}

static void close_jpeg(void *state)
{
    struct jpeg_state *s = state;
    ih_jpeg_reader_close(&s->reader);
    release_memory(s);
    free(s->cmyk);
}

/* Reads up to the first scan. May longjmp. */
static void read_file_header(struct jpeg_state *s, struct ih_image_info *info)
{
    struct jpeg_decompress_struct *c = &s->reader.cinfo;
    s->reader.is_lenient = s->is_lenient;
    ih_jpeg_reader_open(&s->reader);
    switch (c->jpeg_color_space) {
    case JCS_GRAYSCALE:
        c->out_color_space = JCS_GRAYSCALE;
        info->layout = ih_layout_of(1);
        break;
    case JCS_RGB:
    case JCS_YCbCr:
        c->out_color_space = JCS_RGB;
        info->layout = ih_layout_of(3);
        break;
    case JCS_CMYK:
    case JCS_YCCK:
        c->out_color_space = JCS_CMYK;
        info->layout = ih_layout_of(3);
        break;
    default:
        ih_jpeg_reader_fail(&s->reader, IH_UNSUPPORTED,
                            "JPEG with a number of components other than 1, 3 or 4");
    }
    info->width = c->image_width;
    info->height = c->image_height;
    info->source_depth = 8;
    info->range = IH_RANGE_FULL;
    info->not_applied = s->reader.notes.not_applied;
    info->orientation = s->reader.notes.orientation;
}

static enum ih_status open_jpeg(struct ih_reader *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct jpeg_state *s = state;
    s->info = info;
    s->is_lenient = options->is_lenient;
    s->budget = options->budget;
    s->n_idle_cores = options->n_idle_cores;
    s->all_scans_from_pixels =
        options->all_scans_from_pixels ? options->all_scans_from_pixels : IH_ALL_SCANS_FROM_PIXELS;
    ih_jpeg_reader_init(&s->reader, src);
    if (setjmp(s->reader.on_error)) {
        *err = s->reader.error;
        return err->status;
    }
    read_file_header(s, info);
    return IH_OK;
}

/* Converts a row of CMYK pixels to RGB. Samples are 255 minus the ink: Adobe's programs write them
 * so, and all readers take files without Adobe's marker the same way. */
static void convert_cmyk(const struct jpeg_decompress_struct *c, const uint8_t *cmyk, uint8_t *rgb)
{
    for (size_t x = 0; x < c->output_width; x++, cmyk += 4, rgb += 3)
        for (int i = 0; i < 3; i++)
            rgb[i] = ih_ink(255 - cmyk[i], 255 - cmyk[3]);
}

/* Reads the header again, from the start of the file, and takes the ordinary way. */
static enum ih_status begin_again(struct jpeg_state *s, struct ih_error *err)
{
    const struct ih_jpeg_shape old_shape = ih_jpeg_shape_of(&s->reader.cinfo);
    struct ih_reader *src = s->reader.src;
    struct ih_image_info info;
    release_memory(s);
    s->raw = (struct ih_jpeg_raw){0};
    enum ih_status status = ih_reader_rewind(src, err);
    if (status != IH_OK)
        return status;
    ih_jpeg_reader_close(&s->reader);
    ih_jpeg_reader_init(&s->reader, src);
    if (setjmp(s->reader.on_error)) {
        *err = s->reader.error;
        return err->status;
    }
    read_file_header(s, &info);
    const struct ih_jpeg_shape shape = ih_jpeg_shape_of(&s->reader.cinfo);
    if (!ih_jpeg_shapes_equal(&shape, &old_shape))
        ih_jpeg_reader_fail(&s->reader, IH_IO, "the file was changed while it was read");
    return IH_OK;
}

static bool hold_file(struct jpeg_state *s, size_t size_bytes)
{
    struct ih_error ignored;
    size_t got;
    s->file = malloc(size_bytes);
    return s->file && ih_reader_rewind(s->reader.src, &ignored) == IH_OK &&
           ih_reader_read(s->reader.src, s->file, size_bytes, &got, &ignored) == IH_OK &&
           got == size_bytes;
}

/* A wait for the budget takes no time of the limit. */
static enum ih_status take_share(struct jpeg_state *s, uint64_t n_bytes, struct ih_error *err)
{
    struct ih_time_limit *time = &s->reader.src->time;
    ih_time_limit_pause(time);
    enum ih_status status = ih_budget_take(s->budget, n_bytes, err);
    ih_time_limit_resume(time);
    if (status == IH_OK)
        s->taken_bytes = n_bytes;
    return status;
}

/* Starts decoding all scans at once if the file is suitable; it must need no more memory than the
 * ordinary way. Otherwise leaves the file at its header. */
static enum ih_status try_all_scans(struct jpeg_state *s, bool gives_raw, struct ih_error *err)
{
    const struct jpeg_decompress_struct *c = &s->reader.cinfo;
    uint64_t file_bytes;
    struct ih_error ignored;
    const uint64_t ring_bytes = ih_progressive_ring_bytes(c);
    if (ring_bytes == 0 || (uint64_t)c->image_width * c->image_height < s->all_scans_from_pixels ||
        !ih_reader_size(s->reader.src, &file_bytes) || file_bytes > SIZE_MAX ||
        file_bytes + ring_bytes > ih_jpeg_coefficients_bytes(c) ||
        take_share(s, file_bytes + ring_bytes, &ignored) != IH_OK)
        return IH_OK;
    if (hold_file(s, (size_t)file_bytes))
        s->all_scans =
            ih_progressive_open(c, s->file, (size_t)file_bytes, gives_raw, s->n_idle_cores);
    if (!s->all_scans)
        return begin_again(s, err);
    rows_reader(s)->time = &s->reader.src->time;
    return IH_OK;
}

/* Before the first rows. */
static enum ih_status choose_way(struct jpeg_state *s, bool gives_raw, struct ih_error *err)
{
    const bool is_first = !s->is_way_chosen;
    s->is_way_chosen = true;
    return is_first ? try_all_scans(s, gives_raw, err) : IH_OK;
}

/* After an error. True: all scans were decoded at once, and the ordinary way can be tried now. */
static bool can_retry(struct jpeg_state *s, struct ih_error *err)
{
    return s->all_scans && begin_again(s, err) == IH_OK;
}

/* True: the scans have set every bit of every coefficient. Else the library smooths the image,
 * which is meant for the first scans of a file. How it does so depends on its version. */
static bool is_every_bit_set(const struct jpeg_decompress_struct *c)
{
    for (int i = 0; i < c->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (c->coef_bits[i][k] != 0)
                return false;
    return true;
}

/* Starts the ordinary way. May longjmp. */
static void start_ordinary_way(struct jpeg_state *s, bool gives_raw)
{
    struct jpeg_decompress_struct *c = &s->reader.cinfo;
    s->reader.is_started = true;
    c->raw_data_out = gives_raw;
    if (jpeg_has_multiple_scans(c) &&
        take_share(s, ih_jpeg_coefficients_bytes(c), &s->reader.error) != IH_OK)
        longjmp(s->reader.on_error, 1);
    jpeg_start_decompress(c);
    if (jpeg_has_multiple_scans(c) && s->reader.components_seen != (1u << c->num_components) - 1)
        ih_jpeg_reader_fail(&s->reader, IH_CORRUPT,
                            "a colour component has no scan"); /* libjpeg would invent it */
    if (!c->progressive_mode || is_every_bit_set(c))
        return;
    if (s->reader.warnings) /* a lost scan */
        ih_jpeg_reader_fail(&s->reader, IH_CORRUPT,
                            "irregular, and bits of coefficients are missing");
    ih_jpeg_reader_tolerate(&s->reader, IH_WARNING_LAST_BITS,
                            "the scans of the last bits are missing");
}

/* Reads up to the end of the file's data, EOI. May longjmp. */
static void finish_image(struct jpeg_state *s)
{
    struct jpeg_decompress_struct *c = &rows_reader(s)->cinfo;
    if (s->is_complete)
        return;
    if (c->buffered_image)
        jpeg_finish_output(c);
    else if (!jpeg_has_multiple_scans(c))
        ih_jpeg_reader_mark(&s->reader);
    jpeg_finish_decompress(c);
    s->info->warnings = s->reader.warnings;
    s->is_complete = true;
}

/* Reads rows into dst until it is full or the image is complete. May longjmp. */
static size_t read_pixel_rows(struct jpeg_state *s, uint8_t *dst, size_t capacity)
{
    struct ih_jpeg_reader *r = rows_reader(s);
    struct jpeg_decompress_struct *c = &r->cinfo;
    enum { ROWS_MAX = 16 }; /* the most that the library makes at once */
    size_t n = 0;
    if (c->out_color_space == JCS_CMYK && !s->cmyk) {
        s->cmyk = malloc((size_t)4 * c->output_width);
        if (!s->cmyk)
            ih_jpeg_reader_fail(r, IH_MEMORY, "out of memory");
    }
    while (c->output_scanline < c->output_height && capacity - n >= c->output_width) {
        size_t row_bytes = (size_t)c->output_width * 3;
        if (s->cmyk) {
            jpeg_read_scanlines(c, &s->cmyk, 1);
            convert_cmyk(c, s->cmyk, dst + n * 3);
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
        finish_image(s);
    return n;
}

/* Reads pixels the way that was chosen. After a retry, rows delivered before it are skipped. */
static enum ih_status try_rows(struct jpeg_state *s, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct ih_jpeg_reader *r = rows_reader(s);
    if (setjmp(r->on_error)) {
        *err = r->error;
        return err->status;
    }
    if (!r->is_started)
        start_ordinary_way(s, false);
    while (r->cinfo.output_scanline < s->n_delivered)
        read_pixel_rows(s, pixels, r->cinfo.output_width);
    *n_pixels = read_pixel_rows(s, pixels, capacity_pixels);
    s->n_delivered = r->cinfo.output_scanline;
    return IH_OK;
}

static enum ih_status read_jpeg(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct jpeg_state *s = state;
    if (choose_way(s, false, err) != IH_OK)
        return err->status;
    while (try_rows(s, pixels, capacity_pixels, n_pixels, err) != IH_OK)
        if (!can_retry(s, err))
            return err->status;
    return IH_OK;
}

static size_t planes_bytes(void *state)
{
    const struct jpeg_state *s = state;
    return s->is_complete ? 0 : ih_jpeg_raw_bytes(&s->reader.cinfo); /* freed when complete */
}

/* try_rows for planes. */
static enum ih_status try_planes(struct jpeg_state *s, uint8_t *buffer, size_t size_bytes,
                                 struct ih_planes *planes, struct ih_error *err)
{
    struct ih_jpeg_reader *r = rows_reader(s);
    struct jpeg_decompress_struct *c = &r->cinfo;
    if (setjmp(r->on_error)) {
        *err = r->error;
        return err->status;
    }
    if (!r->is_started)
        start_ordinary_way(s, true);
    while (c->output_scanline < s->n_delivered)
        ih_jpeg_raw_read(&s->raw, c, buffer, ih_jpeg_raw_bytes(c), planes);
    planes->n_rows = 0;
    if (c->output_scanline < c->output_height)
        ih_jpeg_raw_read(&s->raw, c, buffer, size_bytes, planes);
    else
        finish_image(s);
    s->n_delivered = c->output_scanline;
    return IH_OK;
}

static enum ih_status read_planes(void *state, uint8_t *buffer, size_t size_bytes,
                                  struct ih_planes *planes, struct ih_error *err)
{
    struct jpeg_state *s = state;
    if (choose_way(s, true, err) != IH_OK)
        return err->status;
    while (try_planes(s, buffer, size_bytes, planes, err) != IH_OK)
        if (!can_retry(s, err))
            return err->status;
    return IH_OK;
}

/* Another image of the file, such as the second of a stereo pair, follows like another file. */
static enum ih_status next_jpeg(void *state, struct ih_image_info *info, bool *has_next,
                                struct ih_error *err)
{
    const struct jpeg_state *s = state;
    (void)info;
    *has_next = false;
    return ih_jpeg_skip_parts(s->reader.src, s->reader.notes.thumbnails, err);
}

const struct ih_decoder ih_decoder_jpeg = {
    .name = "jpeg",
    .title = "JPEG, baseline and progressive, gray, colour and CMYK",
    .version = "libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION),
    .probe = probe,
    .state_bytes = sizeof(struct jpeg_state),
    .open = open_jpeg,
    .read = read_jpeg,
    .planes_bytes = planes_bytes,
    .read_planes = read_planes,
    .is_sequential = true,
    .next = next_jpeg,
    .close = close_jpeg,
};
