/*
 * The fast path for PNG: libdeflate inflates the whole image in one call, and each row is
 * unfiltered in place when it is asked for. Two thirds of libpng's time goes into zlib; libdeflate
 * is two to three times as fast because it has all input and output in memory. Memory: the file
 * until it is inflated, and the inflated bytes.
 *
 * Both paths must give the same verdict on the same file. This path ensures it by judging nothing:
 * it accepts a narrow part of what libpng accepts (chunks.h) and leaves all else to libpng. The
 * zlib stream must end within its chunks, give exactly the bytes of the image with the right
 * Adler-32, and name known filters only.
 *
 * One difference remains: libdeflate allows Huffman codes that are incomplete or have
 * more symbols than zlib allows. Damage cannot pass this way, since the Adler-32 of the pixels has
 * to match. Only a file made on purpose is counted here and refused by libpng.
 *
 * Rejected: libspng, which inflates with zlib (tests/bench/results/png_paths.txt has figures).
 */
#include "decode/png/paths.h"
#include "decode/png/unfilter.h"
#include "decode/samples.h"

#include <stdlib.h>

struct ih_png_fast {
    struct ih_png_chunks chunks;
    struct ih_image_info *info; /* borrowed: the caller's */
    struct ih_budget *budget;   /* borrowed, may be NULL */
    size_t limit_bytes;         /* for the file and the inflated bytes together */
    size_t row_bytes;           /* with the filter byte */
    unsigned step;              /* bytes of a pixel, at least 1 */
    uint8_t *rows;              /* owned; NULL until loaded; IH_PNG_SLACK bytes follow */
    size_t taken_bytes;         /* from the budget, for rows */
    uint32_t next_row;
};

/* Bytes that the image inflates to; 0: more than the limit. */
static size_t inflated_bytes(const struct ih_png_image *image, uint64_t limit)
{
    uint64_t row_bytes = ih_png_row_bytes(image) + 1; /* at most 2^34 */
    return row_bytes <= limit / image->height ? (size_t)(row_bytes * image->height) : 0;
}

/* Looks at the first bytes, which stay in the reader. *size_bytes: the inflated size. */
static bool is_candidate(struct ih_reader *src, const struct ih_decode_options *options,
                         uint64_t limit, size_t *size_bytes)
{
    const uint8_t *header;
    size_t n;
    struct ih_png_image image;
    struct ih_error ignored;
    uint64_t file_bytes;
    if (!ih_png_has_libdeflate() ||
        ih_reader_peek(src, IH_PNG_HEADER_BYTES, &header, &n, &ignored) != IH_OK ||
        n < IH_PNG_HEADER_BYTES || !ih_png_parse_header(header, &image))
        return false;
    *size_bytes = inflated_bytes(&image, limit);
    if (*size_bytes == 0 ||
        ih_decode_check_pixels(image.width, image.height, options->max_pixels, &ignored) != IH_OK)
        return false;
    return !ih_reader_size_left(src, &file_bytes) || file_bytes <= limit - *size_bytes;
}

struct ih_png_fast *ih_png_fast_open(struct ih_png_file *file,
                                     const struct ih_decode_options *options,
                                     struct ih_image_info *info)
{
    uint64_t limit =
        options->whole_file_bytes_max ? options->whole_file_bytes_max : IH_HELD_BYTES_MAX;
    size_t size_bytes;
    limit = limit < SIZE_MAX / 2 ? limit : SIZE_MAX / 2;
    if (!is_candidate(file->src, options, limit, &size_bytes))
        return NULL;
    struct ih_png_fast *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    const struct ih_png_image *image = &p->chunks.image;
    p->limit_bytes = (size_t)limit;
    p->budget = file->budget;
    p->chunks.file = file;
    file->size_max = p->limit_bytes - size_bytes;
    if (!ih_png_read_front(&p->chunks)) {
        ih_png_fast_close(p);
        return NULL;
    }
    if (file->takes_indices && image->colour == IH_PNG_PALETTE) {
        p->chunks.image.palette.n_channels = 1;
        info->scaled_max = UINT8_MAX;
    }
    unsigned pixel_bits = ih_png_samples(image) * image->depth;
    p->step = pixel_bits < 8 ? 1 : pixel_bits / 8;
    p->row_bytes = (size_t)ih_png_row_bytes(image) + 1;
    info->width = image->width;
    info->height = image->height;
    info->layout = ih_layout_of(ih_png_channels(image));
    info->source_depth = image->depth;
    p->chunks.image.is_native = file->takes_native && image->depth == 16;
    info->type = image->is_native ? IH_UINT16 : IH_UINT8;
    info->n_bins = image->is_native ? IH_NATIVE_BINS_MAX : IH_BINS;
    info->range = IH_RANGE_FULL;
    p->info = info;
    return p;
}

/* zlib refuses a match that reaches back further than the window size in the stream's first byte;
 * libdeflate ignores that size. So it has to be the largest, or no less than the inflated size. */
static bool has_room_in_window(const uint8_t *stream, size_t stream_bytes, size_t size_bytes)
{
    if (stream_bytes < 2)
        return false;
    unsigned window_log2 = 8 + (stream[0] >> 4);
    return window_log2 == 15 || (window_log2 < 15 && size_bytes <= (size_t)1 << window_log2);
}

static bool inflate_rows(struct ih_png_fast *p, size_t size_bytes)
{
    struct ih_png_chunks *c = &p->chunks;
    ih_png_join(c);
    const uint8_t *stream = c->file->bytes + c->data_at;
    if (!has_room_in_window(stream, c->data_bytes, size_bytes) ||
        !ih_png_inflate(stream, c->data_bytes, p->rows, size_bytes))
        return false;
    for (size_t at = 0; at < size_bytes; at += p->row_bytes)
        if (p->rows[at] >= IH_PNG_FILTERS)
            return false;
    return true;
}

static void release_rows(struct ih_png_fast *p)
{
    free(p->rows);
    p->rows = NULL;
    ih_budget_give(p->budget, p->taken_bytes);
    p->taken_bytes = 0;
}

bool ih_png_fast_load(struct ih_png_fast *p)
{
    struct ih_png_chunks *c = &p->chunks;
    size_t size_bytes =
        p->row_bytes * c->image.height; /* at most limit_bytes: see inflated_bytes */
    if (!ih_png_read_back(c) || size_bytes / IH_PNG_INFLATE_RATIO_MAX > c->data_bytes ||
        !ih_budget_try(p->budget, size_bytes + IH_PNG_SLACK))
        return false;
    p->taken_bytes = size_bytes + IH_PNG_SLACK;
    p->rows = malloc(size_bytes + IH_PNG_SLACK);
    if (!p->rows || !inflate_rows(p, size_bytes)) {
        ih_png_unjoin(c);
        release_rows(p);
        return false;
    }
    ih_png_notes_tell(&c->notes, p->info);
    p->info->warnings |= c->is_followed ? IH_WARNING_MORE_IMAGES : 0;
    ih_png_chunks_release(c);
    ih_png_file_release(c->file);
    return true;
}

/* Unfilters the next row. If it and the row below both have Paeth, unfilters both, and the row
 * below has no filter then. */
static void unfilter(struct ih_png_fast *p, uint8_t *row)
{
    uint8_t *const below = row + p->row_bytes;
    const uint8_t *above = p->next_row > 0 ? row + 1 - p->row_bytes : NULL;
    if (above && p->next_row + 1 < p->chunks.image.height && row[0] == IH_PNG_PAETH &&
        below[0] == IH_PNG_PAETH) {
        ih_png_unfilter_paeth_two(row + 1, below + 1, above, p->row_bytes - 1, p->step);
        below[0] = IH_PNG_NONE;
    } else {
        ih_png_unfilter(row[0], row + 1, above, p->row_bytes - 1, p->step);
    }
}

enum ih_status ih_png_fast_read(struct ih_png_fast *p, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    const struct ih_png_image *image = &p->chunks.image;
    size_t n_rows = capacity_pixels / image->width, row_pixels = image->width;
    size_t pixel_bytes =
        ih_pixel_bytes(ih_png_channels(image), image->is_native ? IH_UINT16 : IH_UINT8);
    const bool has_plain_samples = /* native, and none of alpha */
        image->is_native && ih_png_channels(image) % 2 == 1;
    if (n_rows > image->height - p->next_row)
        n_rows = image->height - p->next_row;
    for (size_t i = 0; i < n_rows; i++, p->next_row++) {
        uint8_t *row = p->rows + p->next_row * p->row_bytes;
        unfilter(p, row);
        uint8_t *const expanded = pixels + i * row_pixels * pixel_bytes;
        if (image->depth == 16 && !has_plain_samples)
            ih_extremes_add_be16(&p->info->extremes, row + 1, row_pixels, ih_png_samples(image));
        if (ih_png_expand_row(image, row + 1, expanded, err) != IH_OK)
            return err->status;
        if (has_plain_samples)
            ih_extremes_add_native(&p->info->extremes, expanded,
                                   row_pixels * ih_png_samples(image));
    }
    *n_pixels = n_rows * row_pixels;
    return IH_OK;
}

void ih_png_fast_close(struct ih_png_fast *p)
{
    if (!p)
        return;
    release_rows(p);
    ih_png_chunks_release(&p->chunks);
    free(p);
}
