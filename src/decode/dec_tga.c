/*
 * TGA, streamed: palette, gray and colour, plain and run-length coded.
 *
 * Source: "Truevision TGA File Format Specification, version 2.0". It leaves some cases open, and
 * readers differ:
 * - The fourth byte of a 32-bit colour is alpha, whatever the header's attribute bits state: many
 *   programs leave them at 0. The top bit of a 16-bit colour is ignored, as in most readers.
 * - 5 bits become round(v * 255 / 31).
 * - The number of a palette's first entry may be other than 0. An index before it, or past the last
 *   entry, is damage.
 * - A run may continue in the next row, as old encoders write it, but not past the image's end.
 * - Gray of 1 bit: rows of whole bytes, the leftmost pixel in the highest bit, 1 is white. Run
 *   lengths of it are not recognised, because encoders disagree on their unit.
 * - Gray and colour images may have a palette that no pixel uses; it is skipped.
 * - The corner of the first pixel does not matter to counts.
 *
 * stb_image was rejected: it uses colour 0 for an index past the palette's end, misreads palettes
 * whose first entry is not 0, and needs the complete file in memory.
 */
#include "decode/decoder.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 18, UNIT_BYTES_MAX = 4 };

struct tga_state {
    struct ih_reader *src; /* borrowed */
    uint64_t n_left;       /* pixels still to be returned */
    unsigned n_channels;
    unsigned unit_bytes; /* the size of a pixel or an index in the file */
    bool has_palette, has_runs, is_run, is_bitmap;
    size_t width;
    unsigned n_packet;            /* pixels left of the run or the literals */
    uint8_t unit[UNIT_BYTES_MAX]; /* the pixel or index that a run repeats */
    unsigned first_entry, n_entries;
    uint8_t *palette; /* owned; [n_entries][n_channels] */
};

/* TGA has no signature. A file is a TGA if the fields of its header are consistent. */
static bool probe(const uint8_t *head, size_t size)
{
    if (size < HEADER_BYTES)
        return false;
    unsigned has_palette = head[1], type = head[2], bits = head[16];
    uint32_t palette_entries = ih_le16(head + 5);
    bool has_size = ih_le16(head + 12) != 0 && ih_le16(head + 14) != 0;
    bool is_palette = has_palette == 1 && palette_entries != 0 &&
                      (head[7] == 15 || head[7] == 16 || head[7] == 24 || head[7] == 32);
    bool no_palette = has_palette == 0 && ih_le16(head + 3) == 0 && palette_entries == 0;
    if (!has_size || (head[17] & 0xC0) != 0 || (!is_palette && !no_palette))
        return false;
    if (type == 1 || type == 9)
        return is_palette && (bits == 8 || bits == 16);
    if (type == 2 || type == 10)
        return bits == 15 || bits == 16 || bits == 24 || bits == 32;
    return (type == 3 && bits == 1) || ((type == 3 || type == 11) && (bits == 8 || bits == 16));
}

static void close_tga(void *state)
{
    struct tga_state *s = state;
    free(s->palette);
}

/* Converts n pixels or palette entries of the file: colours, or gray with or without alpha. */
static void convert(const uint8_t *unit, unsigned unit_bytes, size_t n, unsigned n_channels,
                    uint8_t *pixel)
{
    if (n_channels < 3) { /* gray, alpha */
        memcpy(pixel, unit, n * n_channels);
        return;
    }
    for (; n > 0; n--, unit += unit_bytes, pixel += n_channels) {
        if (unit_bytes == 2) {
            const uint32_t v = ih_le16(unit);
            for (unsigned c = 0; c < 3; c++)
                pixel[c] = ih_sample_scale(v >> (10 - 5 * c) & 31, 31);
            continue;
        }
        pixel[0] = unit[2];
        pixel[1] = unit[1];
        pixel[2] = unit[0];
        if (n_channels == 4)
            pixel[3] = unit[3];
    }
}

static enum ih_status tga_read_palette(struct tga_state *s, unsigned entry_bytes,
                                       struct ih_error *err)
{
    s->palette = malloc((size_t)s->n_entries * s->n_channels);
    if (!s->palette)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (unsigned i = 0; i < s->n_entries; i++) {
        uint8_t entry[UNIT_BYTES_MAX];
        if (ih_read_bytes(s->src, "TGA", entry, entry_bytes, err) != IH_OK)
            return err->status;
        convert(entry, entry_bytes, 1, s->n_channels, s->palette + (size_t)i * s->n_channels);
    }
    return IH_OK;
}

static enum ih_status tga_read_header(struct tga_state *s, const struct ih_decode_options *options,
                                      struct ih_image_info *info, struct ih_error *err)
{
    uint8_t h[HEADER_BYTES];
    if (ih_read_bytes(s->src, "TGA", h, sizeof h, err) != IH_OK)
        return err->status;
    unsigned type = h[2] & 7, bits = h[16], entry_bits = h[7];
    info->width = ih_le16(h + 12);
    info->height = ih_le16(h + 14);
    s->width = (size_t)info->width;
    s->n_left = info->width * info->height;
    s->is_bitmap = bits == 1;
    s->has_runs = h[2] & 8;
    s->has_palette = type == 1;
    info->source_depth = s->is_bitmap ? 1 : type == 2 && bits < 24 ? 5 : 8;
    info->n_frames = 1;
    info->range = IH_RANGE_FULL;
    info->order.flags = (h[17] & 0x20 ? 0 : IH_PIXEL_ORDER_FROM_BOTTOM) |
                        (h[17] & 0x10 ? IH_PIXEL_ORDER_FROM_RIGHT : 0);
    s->unit_bytes = (bits + 7) / 8;
    s->first_entry = ih_le16(h + 3);
    s->n_entries = ih_le16(h + 5);
    if (type == 3)
        s->n_channels = s->unit_bytes;
    else
        s->n_channels = (s->has_palette ? entry_bits : bits) == 32 ? 4 : 3;
    info->layout = ih_layout_of(s->n_channels);
    if (ih_decode_check_pixels(info->width, info->height, options->max_pixels, err) != IH_OK ||
        ih_skip_bytes(s->src, "TGA", h[0], err) != IH_OK) /* the image ID, usually a name */
        return err->status;
    const unsigned entry_bytes = (entry_bits + 7) / 8;
    return s->has_palette ? tga_read_palette(s, entry_bytes, err)
                          : ih_skip_bytes(s->src, "TGA", (uint64_t)s->n_entries * entry_bytes, err);
}

static enum ih_status open_tga(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct tga_state *s = state;
    s->src = src;
    enum ih_status status = tga_read_header(s, options, info, err);
    return status;
}

/* Writes the pixels of n units. */
static enum ih_status put_units(const struct tga_state *s, const uint8_t *unit, size_t n,
                                uint8_t *pixel, struct ih_error *err)
{
    if (!s->has_palette) {
        convert(unit, s->unit_bytes, n, s->n_channels, pixel);
        return IH_OK;
    }
    for (; n > 0; n--, unit += s->unit_bytes, pixel += s->n_channels) {
        const unsigned index = s->unit_bytes == 1 ? unit[0] : ih_le16(unit);
        if (index < s->first_entry || index - s->first_entry >= s->n_entries)
            return ih_error_set(err, IH_CORRUPT,
                                "damaged TGA: colour %u of a palette of %u from %u on", index,
                                s->n_entries, s->first_entry);
        const uint8_t *entry = s->palette + (size_t)(index - s->first_entry) * s->n_channels;
        for (unsigned c = 0; c < s->n_channels; c++)
            pixel[c] = entry[c];
    }
    return IH_OK;
}

/* Reads n pixels that are not run-length coded. */
static enum ih_status tga_read_plain(struct tga_state *s, uint8_t *pixels, size_t n,
                                     struct ih_error *err)
{
    uint8_t units[4096];
    size_t n_max = sizeof units / s->unit_bytes;
    while (n > 0) {
        size_t n_here = n < n_max ? n : n_max;
        if (ih_read_bytes(s->src, "TGA", units, n_here * s->unit_bytes, err) != IH_OK ||
            put_units(s, units, n_here, pixels, err) != IH_OK)
            return err->status;
        pixels += n_here * s->n_channels;
        n -= n_here;
    }
    return IH_OK;
}

/* Reads rows of 1-bit pixels. */
static enum ih_status read_bitmap(struct tga_state *s, uint8_t *pixels, size_t capacity, size_t *n,
                                  struct ih_error *err)
{
    for (*n = 0; s->n_left > 0 && capacity - *n >= s->width; s->n_left -= s->width) {
        uint8_t bits = 0;
        for (size_t x = 0; x < s->width; x++) {
            if (x % 8 == 0 && ih_read_bytes(s->src, "TGA", &bits, 1, err) != IH_OK)
                return err->status;
            pixels[(*n)++] = bits >> (7 - x % 8) & 1 ? 255 : 0;
        }
    }
    return IH_OK;
}

/* Reads the header of a packet: a count, and a bit that tells a run from literals. */
static enum ih_status next_packet(struct tga_state *s, struct ih_error *err)
{
    uint8_t head;
    if (ih_read_bytes(s->src, "TGA", &head, 1, err) != IH_OK)
        return err->status;
    s->is_run = head >> 7;
    s->n_packet = (head & 127u) + 1u;
    if (s->n_packet > s->n_left)
        return ih_error_set(err, IH_CORRUPT, "damaged TGA: a run past the end of the image");
    return s->is_run ? ih_read_bytes(s->src, "TGA", s->unit, s->unit_bytes, err) : IH_OK;
}

static enum ih_status read_tga(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct tga_state *s = state;
    size_t n = 0;
    if (s->is_bitmap)
        return read_bitmap(s, pixels, capacity_pixels, n_pixels, err);
    while (s->n_left > 0 && n < capacity_pixels) {
        if (s->has_runs && s->n_packet == 0 && next_packet(s, err) != IH_OK)
            return err->status;
        uint64_t n_most = s->has_runs ? s->n_packet : s->n_left;
        size_t n_here = n_most < capacity_pixels - n ? (size_t)n_most : capacity_pixels - n;
        uint8_t *dst = pixels + n * s->n_channels;
        if (!s->is_run && tga_read_plain(s, dst, n_here, err) != IH_OK)
            return err->status;
        for (size_t i = 0; s->is_run && i < n_here; i++)
            if (put_units(s, s->unit, 1, dst + i * s->n_channels, err) != IH_OK)
                return err->status;
        s->n_packet -= s->has_runs ? (unsigned)n_here : 0;
        s->n_left -= n_here;
        n += n_here;
    }
    *n_pixels = n;
    return IH_OK;
}

const struct ih_decoder ih_decoder_tga = {
    .name = "tga",
    .title = "TGA, palette, gray and colour, plain and run-length coded",
    .version = IH_DECODER_OWN_VERSION,
    .lacks_signature = true,
    .probe = probe,
    .state_bytes = sizeof(struct tga_state),
    .open = open_tga,
    .read = read_tga,
    .close = close_tga,
};
