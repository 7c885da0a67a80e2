/*
 * BMP, streamed: rows, or the commands of a run-length coded image, are decoded from the reader
 * straight into the caller's buffer, in the order of the file (bottom up or top down).
 *
 * There are seven headers: two of OS/2 and five of Windows. Sources: Microsoft's BITMAPFILEHEADER,
 * BITMAPCOREHEADER, BITMAPINFOHEADER, BITMAPV4HEADER and BITMAPV5HEADER; for OS/2 2.x, "OS/2 Bitmap
 * File Format" in the Encyclopedia of Graphics File Formats.
 *
 * The format leaves some cases open, and readers differ:
 * - Channels of fewer than 8 bits become round(v * 255 / max). Some readers repeat the high bits.
 * - Pixels that a run-length coded image skips, or never reaches, have colour 0.
 * - A run may reach into the padding of its row, which some encoders code like pixels, but not past
 *   it. An index past the end of the palette is damage.
 * - The header states the palette's length, but the palette also ends where the pixels start: many
 *   palettes are shorter than stated.
 * - A jump past the last row ends the image.
 * - The number of planes, which must be 1, is not looked at: some programs write 0.
 * - The fourth byte of a 32-bit pixel is alpha only if the header has a mask for it. Without masks
 *   it is reserved, and most readers ignore it.
 *
 * stb_image was rejected: it refuses run-length coding, misreads OS/2 palettes, reads the reserved
 * byte as alpha, and needs the complete file in memory.
 */
#include "decode/decoder.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"

#include <stdlib.h>
#include <string.h>

enum {
    FILE_HEADER_BYTES = 14,
    /* Sizes of the header after it. An OS/2 2.x header may end early; missing fields are 0. */
    OS2_1 = 12,
    OS2_2_MIN = 16,
    OS2_2 = 64,
    WINDOWS = 40,
    WITH_MASKS = 52,
    WITH_ALPHA_MASK = 56,
    V4 = 108,
    V5 = 124
};

/* The compression field. In OS/2 2.x headers, 3 and 4 mean something else. */
enum { RGB, RLE8, RLE4, BITFIELDS, ALPHA_BITFIELDS = 6 };

/* A channel of a 16- or 32-bit pixel. */
struct field {
    uint32_t mask; /* contiguous bits; 0: the file has no such channel */
    unsigned shift;
    uint32_t max; /* mask >> shift */
};

enum pending { GAP, RUN, LITERALS }; /* the kind of pixels that a run-length command produces */

struct bmp_state {
    struct ih_reader *src; /* borrowed */
    uint32_t width, height;
    unsigned bits; /* a pixel: 1, 2, 4, 8, 16, 24, 32 */
    unsigned n_channels;
    bool is_icon, is_run_length_coded, is_top_down;
    struct field fields[4];  /* red, green, blue, alpha; for 16 and 32 bits */
    unsigned n_palette;      /* entries; for up to 8 bits */
    uint8_t palette[256][3]; /* red, green, blue */
    uint64_t skipped_bytes;  /* between the headers and the pixels */

    uint64_t n_pixels, n_given;
    uint8_t *row; /* owned; NULL until the first read */
    size_t row_bytes;

    /* Run-length coding: */
    uint64_t row_start; /* the number of the first pixel of the current row */
    uint64_t n_padding; /* pixels of the current row's padding that were coded */
    enum pending pending;
    uint64_t n_pending;
    uint8_t values[2]; /* a run alternates between both; literals use the first for their byte */
    unsigned n_used;   /* pixels already taken from the run or the literals */
};

static bool is_header(uint32_t n)
{
    return n == OS2_1 || n == WITH_MASKS || n == WITH_ALPHA_MASK || n == V4 || n == V5 ||
           (n >= OS2_2_MIN && n <= OS2_2 && (n % 4 == 0 || n == 42 || n == 46));
}

static bool is_os2(uint32_t n)
{
    return n != WINDOWS && n <= OS2_2 && n != WITH_MASKS && n != WITH_ALPHA_MASK;
}

static bool probe(const uint8_t *head, size_t size)
{
    return size >= 18 && head[0] == 'B' && head[1] == 'M' && is_header(ih_le32(head + 14));
}

static enum ih_status bmp_damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged BMP: %s", what);
}

/* ---- headers, masks and palette ---- */

static enum ih_status set_field(struct field *field, uint32_t mask, unsigned bits,
                                struct ih_error *err)
{
    *field = (struct field){.mask = mask};
    if (mask == 0)
        return IH_OK;
    while (!(mask >> field->shift & 1))
        field->shift++;
    field->max = mask >> field->shift;
    if ((field->max & (field->max + 1)) != 0 || (bits == 16 && mask > 0xFFFF))
        return bmp_damaged(err, "a mask with gaps, or past the pixel's end");
    return IH_OK;
}

/* Reads the masks of red, green, blue and alpha. They are in the header h, or follow it, or have
 * their default values. */
static enum ih_status read_masks(struct bmp_state *s, const uint8_t *h, uint32_t header_bytes,
                                 uint32_t compression, uint64_t *n_read, struct ih_error *err)
{
    static const uint32_t default_15_bits[4] = {0x7C00, 0x03E0, 0x001F, 0};
    static const uint32_t default_24_bits[4] = {0xFF0000, 0x00FF00, 0x0000FF, 0};
    uint32_t masks[4];
    uint8_t after[16] = {0};
    memcpy(masks, s->bits == 16 ? default_15_bits : default_24_bits, sizeof masks);
    if (s->is_icon && s->bits == 32)
        masks[3] = 0xFF000000;
    if (compression == BITFIELDS || compression == ALPHA_BITFIELDS) {
        size_t n_after = header_bytes > WINDOWS ? 0 : compression == BITFIELDS ? 12 : 16;
        if (ih_read_bytes(s->src, "BMP", after, n_after, err) != IH_OK)
            return err->status;
        *n_read += n_after;
        for (unsigned i = 0; i < 4; i++)
            masks[i] = ih_le32((n_after ? after : h + 40) + (size_t)4 * i);
        if (header_bytes == WITH_MASKS)
            masks[3] = 0;
        if (masks[0] & masks[1] || (masks[0] | masks[1]) & masks[2] ||
            (masks[0] | masks[1] | masks[2]) & masks[3] || !(masks[0] | masks[1] | masks[2]))
            return bmp_damaged(err, "masks that overlap, or none");
    }
    for (unsigned i = 0; i < 4; i++)
        if (set_field(&s->fields[i], masks[i], s->bits, err) != IH_OK)
            return err->status;
    s->n_channels = s->fields[3].mask ? 4 : 3;
    return IH_OK;
}

/* Reads the palette: as many entries as the header states, but at most `room` bytes. */
static enum ih_status bmp_read_palette(struct bmp_state *s, uint32_t n_stated, uint64_t room,
                                       unsigned entry_bytes, uint64_t *n_read, struct ih_error *err)
{
    uint64_t n = n_stated && n_stated < 1u << s->bits ? n_stated : 1u << s->bits;
    n = n < room / entry_bytes ? n : room / entry_bytes;
    s->n_palette = (unsigned)n;
    for (unsigned i = 0; i < n; i++) {
        uint8_t entry[4];
        if (ih_read_bytes(s->src, "BMP", entry, entry_bytes, err) != IH_OK)
            return err->status;
        for (unsigned c = 0; c < 3; c++)
            s->palette[i][c] = entry[2 - c];
    }
    *n_read += n * entry_bytes;
    return IH_OK;
}

static enum ih_status check_coding(struct bmp_state *s, uint32_t header_bytes, uint32_t compression,
                                   struct ih_error *err)
{
    unsigned bits = s->bits;
    bool is_known = (compression == RGB && bits != 64) || (compression == RLE8 && bits == 8) ||
                    (compression == RLE4 && bits == 4) ||
                    (!is_os2(header_bytes) && (bits == 16 || bits == 32) &&
                     (compression == BITFIELDS || compression == ALPHA_BITFIELDS));
    if (!is_known)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "BMP of %u bits with compression %lu is not supported", bits,
                            (unsigned long)compression);
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: %u bits a pixel", bits);
    s->is_run_length_coded = compression == RLE8 || compression == RLE4;
    return IH_OK;
}

static enum ih_status bmp_read_header(struct bmp_state *s, struct ih_error *err)
{
    uint8_t file[FILE_HEADER_BYTES] = {0}, h[V5] = {0};
    const size_t file_header_bytes = s->is_icon ? 0 : sizeof file;
    if (ih_read_bytes(s->src, "BMP", file, file_header_bytes, err) != IH_OK ||
        ih_read_bytes(s->src, "BMP", h, 4, err) != IH_OK)
        return err->status;
    const uint32_t header_bytes = ih_le32(h); /* the caller has checked it */
    const uint64_t offset = s->is_icon ? UINT64_MAX : ih_le32(file + 10);
    if (ih_read_bytes(s->src, "BMP", h + 4, header_bytes - 4, err) != IH_OK)
        return err->status;
    bool is_short = header_bytes == OS2_1;
    uint32_t height = is_short ? ih_le16(h + 6) : ih_le32(h + 8);
    uint32_t compression = ih_le32(h + 16), n_colours = ih_le32(h + 32);
    s->width = is_short ? ih_le16(h + 4) : ih_le32(h + 4);
    s->is_top_down = height >> 31; /* negative */
    s->height = (s->is_top_down ? 0 - height : height) / (s->is_icon ? 2 : 1);
    s->bits = ih_le16(h + (is_short ? 10 : 14));
    s->n_channels = 3;
    if (is_short)
        compression = n_colours = 0;
    if (s->width == 0 || s->height == 0)
        return bmp_damaged(err, "it has no pixels");
    if (check_coding(s, header_bytes, compression, err) != IH_OK)
        return err->status;

    uint64_t n_read = (uint64_t)file_header_bytes + header_bytes;
    if (offset < n_read)
        return bmp_damaged(err, "its pixels begin within its header");
    if (s->bits > 8 && read_masks(s, h, header_bytes, compression, &n_read, err) != IH_OK)
        return err->status;
    if (s->bits <= 8 &&
        bmp_read_palette(s, n_colours, offset - n_read, is_short ? 3 : 4, &n_read, err) != IH_OK)
        return err->status;
    if (offset < n_read)
        return bmp_damaged(err, "its pixels begin within its header");
    s->skipped_bytes = s->is_icon ? 0 : offset - n_read;
    return IH_OK;
}

/* ---- opening ---- */

static void close_bmp(void *state)
{
    struct bmp_state *s = state;
    free(s->row);
}

/* The bits of a sample; with masks, those of the widest colour. */
static unsigned bmp_depth(const struct bmp_state *s)
{
    if (s->bits != 16 && s->bits != 32)
        return s->bits <= 8 ? s->bits : 8;
    uint32_t max = 0;
    for (unsigned c = 0; c < 3; c++)
        max = s->fields[c].max > max ? s->fields[c].max : max;
    unsigned n = 0;
    for (; max; max >>= 1)
        n++;
    return n ? n : 8;
}

static enum ih_status open_bmp(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct bmp_state *s = state;
    s->src = src;
    s->is_icon = options->is_icon;
    enum ih_status status = bmp_read_header(s, err);
    if (status == IH_OK)
        status = ih_decode_check_pixels(s->width, s->height, options->max_pixels, err);
    if (status == IH_OK && (s->width > INT32_MAX || s->height > INT32_MAX))
        status = ih_error_set(err, IH_CORRUPT, "damaged BMP: an impossible size");
    if (status == IH_OK)
        status = ih_skip_bytes(src, "BMP", s->skipped_bytes, err);
    s->n_pixels = (uint64_t)s->width * s->height;
    s->row_bytes = (size_t)(((uint64_t)s->width * s->bits + 31) / 32 * 4);
    info->width = s->width;
    info->height = s->height;
    info->layout = ih_layout_of(s->n_channels);
    info->source_depth = bmp_depth(s);
    if (status == IH_OK && options->takes_native && info->source_depth > 8)
        status = ih_native_refuse("BMP", info->source_depth, err);
    info->order.flags = s->is_top_down ? 0 : IH_PIXEL_ORDER_FROM_BOTTOM;
    info->n_frames = 1;
    info->range = IH_RANGE_FULL;
    return status;
}

/* ---- rows ---- */

static enum ih_status put_index(const struct bmp_state *s, unsigned index, uint8_t *pixel,
                                struct ih_error *err)
{
    if (index >= s->n_palette)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: colour %u of a palette of %u", index,
                            s->n_palette);
    memcpy(pixel, s->palette[index], 3);
    return IH_OK;
}

static uint8_t field_value(const struct field *f, uint32_t pixel)
{
    return f->max ? ih_sample_scale((pixel & f->mask) >> f->shift, f->max) : 0;
}

static enum ih_status convert_row(const struct bmp_state *s, uint8_t *pixels, struct ih_error *err)
{
    const uint8_t *row = s->row;
    for (size_t x = 0; x < s->width; x++, pixels += s->n_channels) {
        if (s->bits <= 8) {
            unsigned shift = (unsigned)(8 - s->bits - x * s->bits % 8);
            unsigned index = (unsigned)row[x * s->bits / 8] >> shift & ((1u << s->bits) - 1);
            if (put_index(s, index, pixels, err) != IH_OK)
                return err->status;
        } else if (s->bits == 24) {
            for (unsigned c = 0; c < 3; c++)
                pixels[c] = row[3 * x + 2 - c];
        } else {
            uint32_t pixel = s->bits == 16 ? ih_le16(row + 2 * x) : ih_le32(row + 4 * x);
            for (unsigned c = 0; c < s->n_channels; c++)
                pixels[c] = field_value(&s->fields[c], pixel);
        }
    }
    return IH_OK;
}

static enum ih_status bmp_read_rows(struct bmp_state *s, uint8_t *pixels, size_t capacity,
                                    size_t *n, struct ih_error *err)
{
    if (!s->row)
        s->row = malloc(s->row_bytes);
    if (!s->row)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    while (s->n_given < s->n_pixels && capacity - *n >= s->width) {
        if (ih_read_bytes(s->src, "BMP", s->row, s->row_bytes, err) != IH_OK ||
            convert_row(s, pixels + *n * s->n_channels, err) != IH_OK)
            return err->status;
        s->n_given += s->width;
        *n += s->width;
    }
    return IH_OK;
}

/* ---- run-length coding ---- */

/* Reads a command of two bytes: a run, literals, or a gap. A gap reaches to the end of the row, to
 * the end of the image, or to a position further on. */
static enum ih_status next_command(struct bmp_state *s, struct ih_error *err)
{
    enum { END_OF_ROW, END_OF_IMAGE, DELTA };
    uint8_t command[2], delta[2] = {0, 0};
    uint64_t width = s->width, x = s->n_given - s->row_start, left = width - x;
    if (ih_read_bytes(s->src, "BMP", command, 2, err) != IH_OK)
        return err->status;
    s->n_used = 0;
    s->pending = command[0] ? RUN : command[1] > DELTA ? LITERALS : GAP;
    s->n_pending = command[0] ? command[0] : command[1];
    if (s->pending == RUN) {
        s->values[0] = s->bits == 4 ? command[1] >> 4 : command[1];
        s->values[1] = s->bits == 4 ? command[1] & 15 : command[1];
    }
    if (s->pending != GAP)
        return x + s->n_padding + s->n_pending <= (uint64_t)s->row_bytes * 8 / s->bits
                   ? IH_OK
                   : bmp_damaged(err, "a run past the end of its row");
    s->n_padding = 0;
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
    if (s->row_start < s->n_pixels)
        return delta[0] <= left ? IH_OK : bmp_damaged(err, "a jump out of its row");
    s->n_pending = s->n_pixels - s->n_given; /* past the last row: nothing follows */
    return IH_OK;
}

/* Reads the next literal: one byte each with 8 bits, two in a byte with 4. A padding byte follows
 * an odd number of bytes. */
static enum ih_status next_literal(struct bmp_state *s, unsigned *index, struct ih_error *err)
{
    unsigned in_byte = s->bits == 4 ? 2 : 1, place = s->n_used % in_byte;
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
        if (s->pending != GAP && s->n_given == s->row_start + s->width) { /* in the padding */
            s->n_used++;
            s->n_pending--;
            s->n_padding++;
            continue;
        }
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
    return s->is_run_length_coded ? read_runs(s, pixels, capacity_pixels, n_pixels, err)
                                  : bmp_read_rows(s, pixels, capacity_pixels, n_pixels, err);
}

const struct ih_decoder ih_decoder_bmp = {
    .name = "bmp",
    .title = "BMP of Windows and OS/2, 1 to 32 bits, masks, run lengths",
    .version = IH_DECODER_OWN_VERSION,
    .probe = probe,
    .state_bytes = sizeof(struct bmp_state),
    .open = open_bmp,
    .read = read_bmp,
    .close = close_bmp,
};
