/*
 * BMP, streamed: rows, or the commands of a run-length coded image, go straight from the source
 * into the caller's buffer. Rows are counted in the order of the file, from the bottom or from the
 * top.
 *
 * What the format leaves open, or readers do differently:
 * - Channels of fewer than 8 bits become round(v * 255 / max); some readers repeat the high bits.
 * - Pixels that a run-length coded image skips, or never comes to, have colour 0.
 * - A run past the end of its row, or an index past the end of the palette, is damage.
 *
 * stb_image was rejected: it refuses run lengths, misreads OS/2's palettes, takes the reserved byte
 * for alpha, and needs the whole file.
 */
#include "decode/bmp_header.h"
#include "decode/decoder.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"

#include <stdlib.h>
#include <string.h>

enum pending { GAP, RUN, LITERALS }; /* what a run-length command gives pixels of */

struct bmp_state {
    struct ih_source *src; /* borrowed */
    struct ih_bmp bmp;
    uint64_t n_pixels, n_given;
    uint8_t *row; /* owned; NULL until the first read */
    size_t row_bytes;
    /* run lengths: */
    uint64_t row_start; /* pixel at which the row began that is being given */
    enum pending pending;
    uint64_t n_pending;
    uint8_t values[2]; /* of a run in turn, of literals the byte that has them */
    unsigned n_used;   /* of the run's or the literals' pixels */
};

static bool probe(const uint8_t *head, size_t size)
{
    return ih_bmp_probe(head, size);
}

static const char *version(void)
{
    return "imghist " IH_VERSION;
}

static void close_bmp(void *state)
{
    struct bmp_state *s = state;
    free(s->row);
    free(s);
}

/* Bits of a sample, of the widest colour where masks say how many. */
static unsigned depth_of(const struct ih_bmp *b)
{
    if (b->bits != 16 && b->bits != 32)
        return b->bits <= 8 ? b->bits : 8;
    uint32_t max = 0;
    for (unsigned c = 0; c < 3; c++)
        max = b->fields[c].max > max ? b->fields[c].max : max;
    unsigned n = 0;
    for (; max; max >>= 1)
        n++;
    return n ? n : 8;
}

static enum ih_status open_bmp(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    struct bmp_state *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->src = src;
    enum ih_status status = ih_bmp_read_header(src, &s->bmp, err);
    if (status == IH_OK)
        status = ih_decode_check_pixels(s->bmp.width, s->bmp.height, options->max_pixels, err);
    if (status == IH_OK && (s->bmp.width > INT32_MAX || s->bmp.height > INT32_MAX))
        status = ih_error_set(err, IH_CORRUPT, "damaged BMP: no such size");
    if (status == IH_OK)
        status = ih_skip_bytes(src, "BMP", s->bmp.skipped_bytes, err);
    if (status != IH_OK) {
        close_bmp(s);
        return status;
    }
    s->n_pixels = (uint64_t)s->bmp.width * s->bmp.height;
    s->row_bytes = (size_t)(((uint64_t)s->bmp.width * s->bmp.bits + 31) / 32 * 4);
    info->width = s->bmp.width;
    info->height = s->bmp.height;
    info->n_channels = s->bmp.n_channels;
    info->source_depth = depth_of(&s->bmp);
    *state = s;
    return IH_OK;
}

static enum ih_status put_index(const struct bmp_state *s, unsigned index, uint8_t *pixel,
                                struct ih_error *err)
{
    if (index >= s->bmp.n_palette)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: colour %u of a palette of %u", index,
                            s->bmp.n_palette);
    memcpy(pixel, s->bmp.palette[index], 3);
    return IH_OK;
}

static uint8_t field_value(const struct ih_bmp_field *f, uint32_t pixel)
{
    return f->max ? ih_sample_scale((pixel & f->mask) >> f->shift, f->max) : 0;
}

static enum ih_status convert_row(const struct bmp_state *s, uint8_t *pixels, struct ih_error *err)
{
    const struct ih_bmp *b = &s->bmp;
    const uint8_t *row = s->row;
    for (size_t x = 0; x < b->width; x++, pixels += b->n_channels) {
        if (b->bits <= 8) {
            unsigned shift = (unsigned)(8 - b->bits - x * b->bits % 8);
            unsigned index = (unsigned)row[x * b->bits / 8] >> shift & ((1u << b->bits) - 1);
            if (put_index(s, index, pixels, err) != IH_OK)
                return err->status;
        } else if (b->bits == 24) {
            for (unsigned c = 0; c < 3; c++)
                pixels[c] = row[3 * x + 2 - c];
        } else {
            uint32_t pixel = b->bits == 16 ? ih_le16(row + 2 * x) : ih_le32(row + 4 * x);
            for (unsigned c = 0; c < b->n_channels; c++)
                pixels[c] = field_value(&b->fields[c], pixel);
        }
    }
    return IH_OK;
}

static enum ih_status read_rows(struct bmp_state *s, uint8_t *pixels, size_t capacity, size_t *n,
                                struct ih_error *err)
{
    if (!s->row)
        s->row = malloc(s->row_bytes);
    if (!s->row)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    while (s->n_given < s->n_pixels && capacity - *n >= s->bmp.width) {
        if (ih_read_bytes(s->src, "BMP", s->row, s->row_bytes, err) != IH_OK ||
            convert_row(s, pixels + *n * s->bmp.n_channels, err) != IH_OK)
            return err->status;
        s->n_given += s->bmp.width;
        *n += s->bmp.width;
    }
    return IH_OK;
}

/* ---- run lengths ---- */

/* Two bytes that say what comes next: a run, literals, or a gap to the end of the row, to the end
 * of the image, or to a place further on. */
static enum ih_status next_command(struct bmp_state *s, struct ih_error *err)
{
    enum { END_OF_ROW, END_OF_IMAGE, DELTA };
    uint8_t command[2], delta[2] = {0, 0};
    uint64_t width = s->bmp.width, x = s->n_given - s->row_start, left = width - x;
    if (ih_read_bytes(s->src, "BMP", command, 2, err) != IH_OK)
        return err->status;
    s->n_used = 0;
    s->pending = command[0] ? RUN : command[1] > DELTA ? LITERALS : GAP;
    s->n_pending = command[0] ? command[0] : command[1];
    if (s->pending == RUN) {
        s->values[0] = s->bmp.bits == 4 ? command[1] >> 4 : command[1];
        s->values[1] = s->bmp.bits == 4 ? command[1] & 15 : command[1];
    }
    if (s->pending != GAP)
        return s->n_pending <= left
                   ? IH_OK
                   : ih_error_set(err, IH_CORRUPT, "damaged BMP: a run past the end of its row");
    if (command[1] == END_OF_IMAGE) {
        s->n_pending = s->n_pixels - s->n_given;
        return IH_OK;
    }
    if (command[1] == END_OF_ROW) {
        s->n_pending = left;
        s->row_start += width;
        return IH_OK;
    }
    if (ih_read_bytes(s->src, "BMP", delta, 2, err) != IH_OK)
        return err->status;
    s->row_start += delta[1] * width;
    s->n_pending = delta[1] * width + delta[0];
    return delta[0] <= left && s->row_start < s->n_pixels
               ? IH_OK
               : ih_error_set(err, IH_CORRUPT, "damaged BMP: a jump out of the image");
}

/* The next literal: a byte each, or two in a byte; an odd number of bytes is made even. */
static enum ih_status next_literal(struct bmp_state *s, unsigned *index, struct ih_error *err)
{
    unsigned in_byte = s->bmp.bits == 4 ? 2 : 1, place = s->n_used % in_byte;
    uint8_t padding;
    if (place == 0 && ih_read_bytes(s->src, "BMP", s->values, 1, err) != IH_OK)
        return err->status;
    *index = in_byte == 1 ? s->values[0] : place ? s->values[0] & 15u : s->values[0] >> 4;
    bool has_padding = s->n_pending == 1 && (s->n_used + in_byte) / in_byte % 2 == 1;
    return has_padding ? ih_read_bytes(s->src, "BMP", &padding, 1, err) : IH_OK;
}

static enum ih_status read_runs(struct bmp_state *s, uint8_t *pixels, size_t capacity, size_t *n,
                                struct ih_error *err)
{
    while (s->n_given < s->n_pixels && *n < capacity) {
        unsigned index = 0;
        if (s->n_pending == 0) {
            if (next_command(s, err) != IH_OK)
                return err->status;
            continue;
        }
        if (s->pending == RUN)
            index = s->values[s->n_used % 2];
        else if (s->pending == LITERALS && next_literal(s, &index, err) != IH_OK)
            return err->status;
        if (put_index(s, index, pixels + 3 * *n, err) != IH_OK)
            return err->status;
        s->n_used++;
        s->n_pending--;
        s->n_given++;
        ++*n;
    }
    return IH_OK;
}

static enum ih_status read_bmp(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct bmp_state *s = state;
    *n_pixels = 0;
    return s->bmp.coding == IH_BMP_RLE ? read_runs(s, pixels, capacity_pixels, n_pixels, err)
                                       : read_rows(s, pixels, capacity_pixels, n_pixels, err);
}

const struct ih_decoder ih_decoder_bmp = {
    .name = "bmp",
    .title = "BMP of Windows and OS/2, 1 to 32 bits, masks, run lengths",
    .version = version,
    .probe = probe,
    .open = open_bmp,
    .read = read_bmp,
    .close = close_bmp,
};
