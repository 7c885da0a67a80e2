/*
 * The rules, each where libpng is as strict or stricter only about what is refused here:
 * - Signature, IHDR, [PLTE], [tRNS], IDAT..., IEND, in this order, each at most once but IDAT,
 *   whose chunks follow each other and are not empty.
 * - PLTE is in no gray image, and in a palette image no longer than the depth can index. tRNS is no
 *   longer than the palette, its samples are within the depth.
 * - Other chunks may stand anywhere but among the IDATs. They must be ancillary (a lower case first
 *   letter), and are skipped, as libpng is told to.
 * - Every CRC is right.
 */
#include "decode/png/chunks.h"

#include "decode/png/inflate.h"
#include "decode/read_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* More IDAT chunks than 128 MB of ordinary ones make; a file of tiny chunks is not worth a list. */
enum { IDATS_MAX = 64 * 1024 };

#define CHUNK_BYTES_MAX 0x7fffffffu

struct chunk {
    size_t at; /* of the data, in the held bytes */
    uint32_t length;
    char name[5];
};

static bool is_depth_of(unsigned colour, unsigned depth)
{
    switch (colour) {
    case IH_PNG_GRAY:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case IH_PNG_PALETTE:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case IH_PNG_RGB:
    case IH_PNG_GRAY_ALPHA:
    case IH_PNG_RGBA:
        return depth == 8 || depth == 16;
    default:
        return false;
    }
}

bool ih_png_parse_header(const uint8_t bytes[IH_PNG_HEADER_BYTES], struct ih_png_image *image)
{
    static const uint8_t start[16] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
    const uint8_t *data = bytes + sizeof start;
    memset(image, 0, sizeof *image);
    image->width = ih_be32(data);
    image->height = ih_be32(data + 4);
    image->depth = data[8];
    image->colour = data[9];
    return memcmp(bytes, start, sizeof start) == 0 && image->width >= 1 &&
           image->width <= CHUNK_BYTES_MAX && image->height >= 1 &&
           image->height <= CHUNK_BYTES_MAX && is_depth_of(image->colour, image->depth) &&
           data[10] == 0 && data[11] == 0 && data[12] == 0 && /* not interlaced */
           ih_be32(data + 13) == ih_crc32(bytes + 12, 17);
}

/* Reads the chunk whose length stands at `at`, and checks its CRC. */
static bool read_chunk(struct ih_png_held *h, size_t at, struct chunk *chunk)
{
    if (!ih_png_held_fill(h, at + 8))
        return false;
    chunk->length = ih_be32(h->bytes + at);
    chunk->at = at + 8;
    memcpy(chunk->name, h->bytes + at + 4, 4);
    chunk->name[4] = '\0';
    if (chunk->length > CHUNK_BYTES_MAX || !ih_png_held_fill(h, at + 12 + (size_t)chunk->length))
        return false;
    const uint8_t *data = h->bytes + chunk->at;
    return ih_be32(data + chunk->length) == ih_crc32(data - 4, (size_t)chunk->length + 4);
}

static bool is_named(const struct chunk *chunk, const char *name)
{
    return memcmp(chunk->name, name, 4) == 0;
}

/* A chunk that says nothing about pixels. */
static bool is_ancillary(const struct chunk *chunk)
{
    for (int i = 0; i < 4; i++) {
        char letter = (char)(chunk->name[i] | 0x20);
        if (letter < 'a' || letter > 'z')
            return false;
    }
    return (chunk->name[0] & 0x20) != 0 && !is_named(chunk, "tRNS");
}

/* In RGB and RGBA it is a suggestion for poor displays, which is checked and has no effect. */
static bool take_palette(struct ih_png_image *image, const uint8_t *data, uint32_t length)
{
    struct ih_png_palette *palette = &image->palette;
    bool is_indexed = image->colour == IH_PNG_PALETTE;
    uint32_t n_max = is_indexed ? 1u << image->depth : 256;
    bool may_be = is_indexed || image->colour == IH_PNG_RGB || image->colour == IH_PNG_RGBA;
    if (!may_be || palette->n_entries > 0 || image->has_key || length == 0 || length % 3 != 0 ||
        length / 3 > n_max)
        return false;
    palette->n_entries = length / 3;
    palette->n_channels = 3;
    for (unsigned i = 0; i < palette->n_entries; i++) {
        memcpy(palette->colours[i], data + (size_t)3 * i, 3);
        palette->colours[i][3] = 255;
    }
    return true;
}

static bool take_transparency(struct ih_png_image *image, const uint8_t *data, uint32_t length)
{
    struct ih_png_palette *palette = &image->palette;
    if (image->has_key || palette->n_channels == 4)
        return false;
    if (image->colour == IH_PNG_PALETTE) {
        if (length == 0 || length > palette->n_entries)
            return false;
        for (uint32_t i = 0; i < length; i++)
            palette->colours[i][3] = data[i];
        palette->n_channels = 4;
        return true;
    }
    unsigned n = ih_png_samples(image);
    if ((image->colour != IH_PNG_GRAY && image->colour != IH_PNG_RGB) || length != 2 * n)
        return false;
    for (unsigned c = 0; c < n; c++) {
        image->key[c] = (uint16_t)ih_be16(data + (size_t)2 * c);
        if (image->key[c] >> image->depth != 0) /* depth is at most 16, the shift of an int */
            return false;
    }
    image->has_key = true;
    return true;
}

bool ih_png_read_front(struct ih_png_chunks *c)
{
    struct ih_png_held *h = c->held;
    struct chunk chunk;
    if (!ih_png_held_fill(h, IH_PNG_HEADER_BYTES) || !ih_png_parse_header(h->bytes, &c->image))
        return false;
    for (size_t at = IH_PNG_HEADER_BYTES;; at = chunk.at + chunk.length + 4) {
        if (!ih_png_held_fill(h, at + 8))
            return false;
        c->data_at = at + 8;
        if (memcmp(h->bytes + at + 4, "IDAT", 4) == 0)
            return c->image.colour != IH_PNG_PALETTE || c->image.palette.n_entries > 0;
        if (!read_chunk(h, at, &chunk))
            return false;
        const uint8_t *data = h->bytes + chunk.at;
        bool ok = is_named(&chunk, "PLTE")   ? take_palette(&c->image, data, chunk.length)
                  : is_named(&chunk, "tRNS") ? take_transparency(&c->image, data, chunk.length)
                                             : is_ancillary(&chunk);
        if (!ok)
            return false;
    }
}

static bool note_length(struct ih_png_chunks *c, uint32_t length)
{
    if (c->n_lengths == c->n_lengths_max) {
        size_t n = c->n_lengths_max ? 2 * c->n_lengths_max : 16;
        uint32_t *lengths = n <= IDATS_MAX ? realloc(c->lengths, n * sizeof *lengths) : NULL;
        if (!lengths)
            return false;
        c->lengths = lengths;
        c->n_lengths_max = n;
    }
    c->lengths[c->n_lengths++] = length;
    c->data_bytes += length;
    return true;
}

bool ih_png_read_back(struct ih_png_chunks *c)
{
    struct ih_png_held *h = c->held;
    struct chunk chunk;
    size_t at = c->data_at - 8;
    for (;; at = chunk.at + chunk.length + 4) {
        if (!read_chunk(h, at, &chunk))
            return false;
        if (!is_named(&chunk, "IDAT"))
            break;
        if (chunk.length == 0 || !note_length(c, chunk.length))
            return false;
    }
    while (is_ancillary(&chunk)) {
        at = chunk.at + chunk.length + 4;
        if (!read_chunk(h, at, &chunk))
            return false;
    }
    return c->n_lengths > 0 && is_named(&chunk, "IEND") && chunk.length == 0;
}

void ih_png_join(struct ih_png_chunks *c)
{
    assert(!c->is_joined);
    uint8_t *to = c->held->bytes + c->data_at, *from = to;
    for (size_t i = 0; i < c->n_lengths; i++) {
        if (to != from)
            memmove(to, from, c->lengths[i]);
        to += c->lengths[i];
        from += c->lengths[i] + 12; /* its CRC, the next one's length and name */
    }
    c->is_joined = true;
}

/* From the last to the first; what stood between them can be told from the data. */
void ih_png_unjoin(struct ih_png_chunks *c)
{
    if (!c->is_joined)
        return;
    uint8_t *from = c->held->bytes + c->data_at + c->data_bytes;
    uint8_t *to = from + 12 * (c->n_lengths - 1);
    for (size_t i = c->n_lengths; i-- > 0;) {
        uint32_t length = c->lengths[i];
        from -= length;
        to -= length;
        if (to != from)
            memmove(to, from, length);
        uint8_t *head = to - 8;
        for (int k = 0; k < 4; k++)
            head[k] = (uint8_t)(length >> (24 - 8 * k));
        memcpy(head + 4, "IDAT", 4);
        uint32_t crc = ih_crc32(head + 4, (size_t)length + 4);
        for (int k = 0; k < 4; k++)
            to[length + (size_t)k] = (uint8_t)(crc >> (24 - 8 * k));
        to -= 12;
    }
    c->is_joined = false;
}

void ih_png_chunks_release(struct ih_png_chunks *c)
{
    free(c->lengths);
    c->lengths = NULL;
    c->n_lengths = c->n_lengths_max = 0;
}
