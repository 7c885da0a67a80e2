/*
 * QOI, streamed: each chunk of one to five bytes gives one pixel, or a run of up to 62.
 *
 * Source: "The Quite OK Image Format, Specification Version 1.0". A file states whether alpha is
 * part of the image. If it is not, chunks may still change alpha, which then only selects places in
 * the table of recent colours.
 *
 * The reference decoder repeats the last colour if a file ends early, ends a run at the last pixel
 * of the image and ignores the end marker. Here a missing byte, a run past the end and another
 * marker are damage.
 */
#include "decode/decoder.h"
#include "decode/read_bytes.h"

#include <string.h>

enum { HEADER_BYTES = 14, CHUNK_BYTES_MAX = 5, END_BYTES = 8, N_RECENT = 64 };

/* The first byte of a chunk: two bits tell the kind, unless all eight do. */
enum { INDEX = 0x00, DIFFERENCE = 0x40, LUMA = 0x80, RUN = 0xC0, RGB = 0xFE, RGBA = 0xFF };

struct qoi_state {
    struct ih_reader *src; /* borrowed */
    uint64_t n_left;       /* pixels still to be returned */
    unsigned n_channels;   /* 3 or 4 */
    unsigned n_run;        /* pixels left of a run */
    bool has_end;          /* the end marker has been read */
    uint8_t colour[4];     /* of the last pixel: red, green, blue, alpha */
    uint8_t recent[N_RECENT][4];
};

static bool probe(const uint8_t *head, size_t size)
{
    return size >= 4 && memcmp(head, "qoif", 4) == 0;
}

static enum ih_status damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged QOI: %s", what);
}

static enum ih_status open_qoi(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    uint8_t h[HEADER_BYTES];
    if (ih_read_bytes(src, "QOI", h, sizeof h, err) != IH_OK)
        return err->status;
    info->width = ih_be32(h + 4);
    info->height = ih_be32(h + 8);
    info->layout = ih_layout_of(h[12]);
    info->source_depth = 8;
    if (info->width == 0 || info->height == 0)
        return damaged(err, "it has no pixels");
    if (info->layout.n_channels != 3 && info->layout.n_channels != 4)
        return damaged(err, "a number of channels other than 3 and 4");
    if (h[13] > 1)
        return damaged(err, "an unknown colour space");
    if (ih_decode_check_pixels(info->width, info->height, options->max_pixels, err) != IH_OK)
        return err->status;
    struct qoi_state *s = state;
    s->src = src;
    s->n_left = info->width * info->height;
    s->n_channels = info->layout.n_channels;
    s->colour[3] = 255;
    return IH_OK;
}

/* Applies the chunk to the colour, or starts a run. Returns the bytes of the chunk. */
static size_t apply_chunk(struct qoi_state *s, const uint8_t *chunk)
{
    const uint8_t first = chunk[0];
    uint8_t *const c = s->colour;
    size_t n_bytes = 1;
    s->n_run = 1;
    if (first == RGB || first == RGBA) {
        n_bytes = first == RGB ? 4 : 5;
        memcpy(c, chunk + 1, n_bytes - 1);
    } else if ((first & 0xC0) == RUN) {
        s->n_run = (first & 0x3Fu) + 1;
    } else if ((first & 0xC0) == INDEX) {
        memcpy(c, s->recent[first], 4);
    } else if ((first & 0xC0) == DIFFERENCE) {
        for (unsigned i = 0; i < 3; i++)
            c[i] = (uint8_t)(c[i] + (first >> (4 - 2 * i) & 3) - 2);
    } else { /* red and blue relative to the difference of green */
        const int green = (first & 0x3F) - 32;
        n_bytes = 2;
        c[0] = (uint8_t)(c[0] + green + (chunk[1] >> 4) - 8);
        c[1] = (uint8_t)(c[1] + green);
        c[2] = (uint8_t)(c[2] + green + (chunk[1] & 15) - 8);
    }
    memcpy(s->recent[(c[0] * 3 + c[1] * 5 + c[2] * 7 + c[3] * 11) % N_RECENT], c, 4);
    return n_bytes;
}

/* Decodes chunks from the bytes that the reader has ready, until the pixels are full or less than a
 * longest chunk is left. */
static enum ih_status decode_some(struct qoi_state *s, uint8_t *pixels, size_t capacity, size_t *n,
                                  struct ih_error *err)
{
    const uint8_t *bytes;
    size_t size, at = 0, n_here = *n;
    /* The end marker follows the last chunk, so these bytes exist in every sound file. */
    if (ih_reader_peek(s->src, CHUNK_BYTES_MAX, &bytes, &size, err) != IH_OK)
        return err->status;
    if (size < CHUNK_BYTES_MAX)
        return damaged(err, "the file ends before the image does");
    while (n_here < capacity && s->n_left > 0 && (s->n_run || at + CHUNK_BYTES_MAX <= size)) {
        if (s->n_run == 0)
            at += apply_chunk(s, bytes + at);
        if (s->n_run > s->n_left)
            return damaged(err, "a run past the end of the image");
        for (; s->n_run > 0 && n_here < capacity; s->n_run--, s->n_left--, n_here++)
            memcpy(pixels + n_here * s->n_channels, s->colour, s->n_channels);
    }
    ih_reader_consume(s->src, at);
    *n = n_here;
    return IH_OK;
}

static enum ih_status read_end(struct qoi_state *s, struct ih_error *err)
{
    static const uint8_t expected[END_BYTES] = {0, 0, 0, 0, 0, 0, 0, 1};
    uint8_t end[END_BYTES];
    s->has_end = true;
    if (ih_read_bytes(s->src, "QOI", end, sizeof end, err) != IH_OK)
        return err->status;
    return memcmp(end, expected, sizeof end) == 0 ? IH_OK : damaged(err, "its end marker is wrong");
}

static enum ih_status read_qoi(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct qoi_state *s = state;
    *n_pixels = 0;
    while (*n_pixels < capacity_pixels && s->n_left > 0)
        if (decode_some(s, pixels, capacity_pixels, n_pixels, err) != IH_OK)
            return err->status;
    return s->n_left == 0 && !s->has_end ? read_end(s, err) : IH_OK;
}

const struct ih_decoder ih_decoder_qoi = {
    .name = "qoi",
    .title = "QOI, with and without alpha",
    .version = IH_DECODER_OWN_VERSION,
    .ends_exactly = true,
    .probe = probe,
    .state_bytes = sizeof(struct qoi_state),
    .open = open_qoi,
    .read = read_qoi,
};
