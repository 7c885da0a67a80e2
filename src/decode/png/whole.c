/*
 * libpng inflates and unfilters a row at a time; two thirds of its time goes into zlib. libdeflate
 * is two to three times as fast, because it takes a stream whole: so the IDAT chunks are moved
 * together where they lie, inflated in one call, and each row is unfiltered in place when it is
 * asked for and handed out as 8-bit channels. What is held at most is the file, until it is
 * inflated, and the inflated bytes.
 *
 * Both paths must say the same of the same file. This one is sure of that by judging nothing: what
 * it accepts is a narrow part of what libpng accepts (png_chunks.h), with a stream that is exactly
 * as long as its chunks, that gives exactly the image's bytes with the right Adler-32, and whose
 * filters are all known. Everything else goes to libpng. One difference remains: libdeflate allows
 * Huffman codes that zlib calls incomplete or too many, and gives unused code words a meaning. No
 * damage gets through by that, as it would have to keep the Adler-32 of the pixels; a file made by
 * hand, with pixels that its checksum confirms, is counted here and refused there.
 *
 * Rejected: libspng, whose inflating is zlib's too (figures: tests/bench/results/png_paths.txt).
 */
#include "decode/png/whole.h"

#include "base/large.h"
#include "decode/png/chunks.h"
#include "decode/png/inflate.h"
#include "decode/png/unfilter.h"

#include <stdlib.h>

struct ih_png_whole {
    struct ih_png_chunks chunks;
    struct ih_budget *budget; /* borrowed, may be NULL */
    size_t limit_bytes;       /* of the file and the inflated bytes together */
    size_t row_bytes;         /* with the filter's byte */
    unsigned step;            /* bytes of a pixel, at least 1 */
    uint8_t *rows;            /* owned; NULL until loaded; IH_PNG_SLACK bytes follow */
    size_t taken_bytes;       /* from the budget, for rows */
    uint32_t next_row;
};

/* What the image inflates to, or 0 where that is more than the limit. */
static size_t inflated_bytes(const struct ih_png_image *image, uint64_t limit)
{
    uint64_t row_bytes = ih_png_row_bytes(image) + 1; /* at most 2^34 */
    return row_bytes <= limit / image->height ? (size_t)(row_bytes * image->height) : 0;
}

/* By the first bytes, which stay in the source: an image that could be worth it. */
static bool is_candidate(struct ih_source *src, const struct ih_decode_options *options,
                         uint64_t limit, size_t *size_bytes)
{
    const uint8_t *header;
    size_t n;
    struct ih_png_image image;
    struct ih_error ignored;
    uint64_t file_bytes;
    if (!ih_inflate_is_here() ||
        ih_source_peek(src, IH_PNG_HEADER_BYTES, &header, &n, &ignored) != IH_OK ||
        n < IH_PNG_HEADER_BYTES || !ih_png_parse_header(header, &image))
        return false;
    *size_bytes = inflated_bytes(&image, limit);
    if (*size_bytes == 0 ||
        ih_decode_check_pixels(image.width, image.height, options->max_pixels, &ignored) != IH_OK)
        return false;
    return !ih_source_size_left(src, &file_bytes) || file_bytes <= limit - *size_bytes;
}

struct ih_png_whole *ih_png_whole_open(struct ih_png_held *held,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info)
{
    uint64_t limit = options->held_bytes_max ? options->held_bytes_max : IH_HELD_BYTES_MAX;
    size_t size_bytes;
    limit = limit < SIZE_MAX / 2 ? limit : SIZE_MAX / 2;
    if (!is_candidate(held->src, options, limit, &size_bytes))
        return NULL;
    struct ih_png_whole *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    const struct ih_png_image *image = &w->chunks.image;
    w->limit_bytes = (size_t)limit;
    w->budget = held->budget;
    w->chunks.held = held;
    held->size_max = w->limit_bytes - size_bytes;
    if (!ih_png_read_front(&w->chunks)) {
        ih_png_whole_close(w);
        return NULL;
    }
    unsigned pixel_bits = ih_png_samples(image) * image->depth;
    w->step = pixel_bits < 8 ? 1 : pixel_bits / 8;
    w->row_bytes = (size_t)ih_png_row_bytes(image) + 1;
    info->width = image->width;
    info->height = image->height;
    info->n_channels = ih_png_channels(image);
    info->source_depth = image->depth;
    return w;
}

/* zlib refuses a match that reaches further back than the window which the stream's first byte
 * claims, libdeflate does not look. So the window has to be the largest, or larger than all. */
static bool has_room_in_window(const uint8_t *stream, size_t stream_bytes, size_t size_bytes)
{
    if (stream_bytes < 2)
        return false;
    unsigned window_log2 = 8 + (stream[0] >> 4);
    return window_log2 == 15 || (window_log2 < 15 && size_bytes <= (size_t)1 << window_log2);
}

static bool inflate_rows(struct ih_png_whole *w, size_t size_bytes)
{
    struct ih_png_chunks *c = &w->chunks;
    ih_png_join(c);
    const uint8_t *stream = c->held->bytes + c->data_at;
    if (!has_room_in_window(stream, c->data_bytes, size_bytes) ||
        !ih_inflate_exactly(stream, c->data_bytes, w->rows, size_bytes))
        return false;
    for (size_t at = 0; at < size_bytes; at += w->row_bytes)
        if (w->rows[at] >= IH_PNG_FILTERS)
            return false;
    return true;
}

static void release_rows(struct ih_png_whole *w)
{
    free(w->rows);
    w->rows = NULL;
    ih_budget_give(w->budget, w->taken_bytes);
    w->taken_bytes = 0;
}

bool ih_png_whole_load(struct ih_png_whole *w)
{
    struct ih_png_chunks *c = &w->chunks;
    size_t size_bytes = w->row_bytes * c->image.height; /* at most limit_bytes: inflated_bytes */
    if (!ih_png_read_back(c) || size_bytes / IH_INFLATE_RATIO_MAX > c->data_bytes ||
        !ih_budget_try(w->budget, size_bytes + IH_PNG_SLACK))
        return false;
    w->taken_bytes = size_bytes + IH_PNG_SLACK;
    w->rows = ih_large_alloc(size_bytes + IH_PNG_SLACK);
    if (!w->rows || !inflate_rows(w, size_bytes)) {
        ih_png_unjoin(c);
        release_rows(w);
        return false;
    }
    ih_png_chunks_release(c);
    ih_png_held_release(c->held);
    return true;
}

enum ih_status ih_png_whole_read(struct ih_png_whole *w, uint8_t *pixels, size_t capacity_pixels,
                                 size_t *n_pixels, struct ih_error *err)
{
    const struct ih_png_image *image = &w->chunks.image;
    size_t n_rows = capacity_pixels / image->width, row_pixels = image->width;
    size_t pixel_bytes = ih_png_channels(image);
    if (n_rows > image->height - w->next_row)
        n_rows = image->height - w->next_row;
    for (size_t i = 0; i < n_rows; i++, w->next_row++) {
        uint8_t *row = w->rows + w->next_row * w->row_bytes;
        const uint8_t *above = w->next_row > 0 ? row + 1 - w->row_bytes : NULL;
        ih_png_unfilter(row[0], row + 1, above, w->row_bytes - 1, w->step);
        enum ih_status status =
            ih_png_expand_row(image, row + 1, pixels + i * row_pixels * pixel_bytes, err);
        if (status != IH_OK)
            return status;
    }
    *n_pixels = n_rows * row_pixels;
    return IH_OK;
}

void ih_png_whole_close(struct ih_png_whole *w)
{
    if (!w)
        return;
    release_rows(w);
    ih_png_chunks_release(&w->chunks);
    free(w);
}
