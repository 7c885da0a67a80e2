/*
 * The rules for chunks. libpng accepts every file that keeps them.
 * - Signature, IHDR, [PLTE], [tRNS], IDAT..., IEND, in this order. Only IDAT may be repeated; its
 *   chunks follow each other and are not empty.
 * - A gray image has no PLTE. In a palette image PLTE is no longer than the depth can index.
 * - tRNS is no longer than the palette, or its samples fit the depth.
 * - Other chunks must be ancillary, and may stand anywhere but between IDAT chunks. They are
 *   skipped, as in the streaming path.
 * - Every CRC is right.
 */
#include "decode/png/chunks.h"

#include "decode/decoder.h"
#include "decode/read_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef IH_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

/* ---- libdeflate ---- */

#ifdef IH_WITH_LIBDEFLATE

bool ih_png_has_libdeflate(void)
{
    return true;
}

bool ih_png_inflate(const uint8_t *stream, size_t stream_bytes, uint8_t *out, size_t out_bytes)
{
    size_t n_in = 0, n_out = 0;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    bool ok = d && libdeflate_zlib_decompress_ex(d, stream, stream_bytes, out, out_bytes, &n_in,
                                                 &n_out) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    return ok && n_out == out_bytes; /* n_in may be less: bytes after the stream are padding */
}

static uint32_t crc32_of(const uint8_t *bytes, size_t n_bytes)
{
    return libdeflate_crc32(0, bytes, n_bytes);
}

#else

bool ih_png_has_libdeflate(void)
{
    return false;
}

bool ih_png_inflate(const uint8_t *stream, size_t stream_bytes, uint8_t *out, size_t out_bytes)
{
    (void)stream, (void)stream_bytes, (void)out, (void)out_bytes;
    abort();
}

static uint32_t crc32_of(const uint8_t *bytes, size_t n_bytes)
{
    (void)bytes, (void)n_bytes;
    abort();
}

#endif

/* ---- the bytes ---- */

enum {
    ROOM_BYTES = 32 * 1024, /* the least room for the bytes of a pipe */
    READ_BYTES = 512 * 1024 /* in one read(2), so that the CRC finds them in the cache */
};

/* The capacity to grow to: the size of a regular file, otherwise a quarter more. Memory follows the
 * bytes that have come, not the length that a chunk claims. */
static size_t next_capacity(const struct ih_png_file *f)
{
    uint64_t left, wanted = f->capacity + f->capacity / 4 + ROOM_BYTES;
    if (ih_reader_size_left(f->src, &left))
        wanted = f->size + left;
    return wanted < f->size_max ? (size_t)wanted : f->size_max;
}

static bool grow(struct ih_png_file *f)
{
    size_t capacity = next_capacity(f);
    if (capacity <= f->capacity || !ih_budget_try(f->budget, capacity - f->capacity))
        return false;
    uint8_t *bytes = malloc(capacity);
    if (!bytes) {
        ih_budget_give(f->budget, capacity - f->capacity);
        return false;
    }
    if (f->size > 0)
        memcpy(bytes, f->bytes, f->size);
    free(f->bytes);
    f->bytes = bytes;
    f->capacity = capacity;
    return true;
}

bool ih_png_file_fill(struct ih_png_file *f, size_t end)
{
    if (end > f->size_max)
        return false;
    while (f->size < end) {
        struct ih_error ignored; /* the reader reports it again when libpng reads on */
        size_t got;
        if (f->size == f->capacity && !grow(f))
            return false;
        size_t room = f->capacity - f->size;
        enum ih_status status = ih_reader_read(
            f->src, f->bytes + f->size, room < READ_BYTES ? room : READ_BYTES, &got, &ignored);
        f->size += got;
        if (status != IH_OK || (got == 0 && f->size < end))
            return false;
    }
    return true;
}

enum ih_status ih_png_file_read(struct ih_png_file *f, void *dst, size_t size_bytes, size_t *got,
                                struct ih_error *err)
{
    size_t left = f->size - f->position;
    size_t n = left < size_bytes ? left : size_bytes;
    uint8_t *out = dst;
    if (n > 0)
        memcpy(out, f->bytes + f->position, n);
    f->position += n;
    if (f->bytes && f->position == f->size)
        ih_png_file_release(f);
    *got = n;
    if (n == size_bytes)
        return IH_OK;
    enum ih_status status = ih_reader_read(f->src, out + n, size_bytes - n, got, err);
    *got += n;
    return status;
}

void ih_png_file_release(struct ih_png_file *f)
{
    free(f->bytes);
    ih_budget_give(f->budget, f->capacity);
    f->bytes = NULL;
    f->size = f->capacity = f->position = 0;
}

/* ---- the chunks ---- */

/* Encoders write chunks of 2 KiB or more, so this is enough for 128 MiB. */
enum { IDATS_MAX = 64 * 1024 };

#define CHUNK_BYTES_MAX 0x7fffffffu

bool ih_png_read_head(const uint8_t head[IH_PNG_CHUNK_HEAD_BYTES], struct ih_png_chunk *chunk)
{
    memcpy(chunk->name, head + 4, 4);
    chunk->name[4] = '\0';
    chunk->length = ih_be32(head);
    chunk->data = head + IH_PNG_CHUNK_HEAD_BYTES;
    chunk->size_bytes = IH_PNG_CHUNK_HEAD_BYTES + (size_t)chunk->length + IH_PNG_CRC_BYTES;
    return chunk->length <= CHUNK_BYTES_MAX;
}

bool ih_png_is_named(const struct ih_png_chunk *chunk, const char *name)
{
    return memcmp(chunk->name, name, 4) == 0;
}

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
    static const char start[] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
    enum { START_BYTES = sizeof start - 1 };
    const uint8_t *data = bytes + START_BYTES;
    memset(image, 0, sizeof *image);
    image->width = ih_be32(data);
    image->height = ih_be32(data + 4);
    image->depth = data[8];
    image->colour = data[9];
    return memcmp(bytes, start, START_BYTES) == 0 && image->width >= 1 &&
           image->width <= CHUNK_BYTES_MAX && image->height >= 1 &&
           image->height <= CHUNK_BYTES_MAX && is_depth_of(image->colour, image->depth) &&
           data[10] == 0 && data[11] == 0 && data[12] == 0 && /* not interlaced */
           ih_be32(data + 13) == crc32_of(bytes + 12, 17);
}

/* Reads the chunk that begins at `at`, and checks its CRC. */
static bool read_chunk(struct ih_png_file *f, size_t at, struct ih_png_chunk *chunk)
{
    if (!ih_png_file_fill(f, at + IH_PNG_CHUNK_HEAD_BYTES) ||
        !ih_png_read_head(f->bytes + at, chunk) || !ih_png_file_fill(f, at + chunk->size_bytes))
        return false;
    chunk->data = f->bytes + at + IH_PNG_CHUNK_HEAD_BYTES; /* the bytes may have moved */
    return ih_be32(chunk->data + chunk->length) ==
           crc32_of(chunk->data - 4, (size_t)chunk->length + 4);
}

/* True: a chunk without effect on pixels. Its name consists of letters, the first lower case. The
 * third must be upper case, because newer versions of libpng refuse other names. */
static bool is_ancillary(const struct ih_png_chunk *chunk)
{
    enum { LOWER_CASE = 0x20 };
    for (int i = 0; i < 4; i++) {
        char letter = (char)(chunk->name[i] | LOWER_CASE);
        if (letter < 'a' || letter > 'z')
            return false;
    }
    return (chunk->name[0] & LOWER_CASE) != 0 && (chunk->name[2] & LOWER_CASE) == 0 &&
           !ih_png_is_named(chunk, "tRNS");
}

/* In RGB and RGBA images PLTE is a suggestion for displays of few colours: checked, not used. */
static bool take_palette(struct ih_png_image *image, const uint8_t *data, uint32_t length)
{
    struct ih_png_palette *palette = &image->palette;
    bool is_indexed = image->colour == IH_PNG_PALETTE;
    uint32_t n_max = is_indexed ? 1u << image->depth : 256;
    bool is_allowed = is_indexed || image->colour == IH_PNG_RGB || image->colour == IH_PNG_RGBA;
    if (!is_allowed || palette->n_entries > 0 || image->has_key || length == 0 || length % 3 != 0 ||
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
        if (image->key[c] >> image->depth != 0) /* the key is an int here, the depth at most 16 */
            return false;
    }
    image->has_key = true;
    return true;
}

bool ih_png_read_front(struct ih_png_chunks *c)
{
    struct ih_png_file *f = c->file;
    struct ih_png_chunk chunk;
    if (!ih_png_file_fill(f, IH_PNG_HEADER_BYTES) || !ih_png_parse_header(f->bytes, &c->image))
        return false;
    for (size_t at = IH_PNG_HEADER_BYTES;; at += chunk.size_bytes) {
        if (!ih_png_file_fill(f, at + IH_PNG_CHUNK_HEAD_BYTES) ||
            !ih_png_read_head(f->bytes + at, &chunk))
            return false;
        if (ih_png_is_named(&chunk, "IDAT")) { /* its data is read later */
            c->data_at = at + IH_PNG_CHUNK_HEAD_BYTES;
            ih_png_note(&c->notes, "IDAT", NULL, 0);
            return c->image.colour != IH_PNG_PALETTE || c->image.palette.n_entries > 0;
        }
        if (!read_chunk(f, at, &chunk))
            return false;
        bool ok = ih_png_is_named(&chunk, "PLTE")
                      ? take_palette(&c->image, chunk.data, chunk.length)
                  : ih_png_is_named(&chunk, "tRNS")
                      ? take_transparency(&c->image, chunk.data, chunk.length)
                      : is_ancillary(&chunk);
        if (!ok)
            return false;
        ih_png_note(&c->notes, chunk.name, chunk.data, chunk.length);
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
    struct ih_png_file *f = c->file;
    struct ih_png_chunk chunk;
    size_t at = c->data_at - IH_PNG_CHUNK_HEAD_BYTES;
    for (;; at += chunk.size_bytes) {
        if (!read_chunk(f, at, &chunk))
            return false;
        if (!ih_png_is_named(&chunk, "IDAT"))
            break;
        if (chunk.length == 0 || !note_length(c, chunk.length))
            return false;
    }
    while (is_ancillary(&chunk)) {
        ih_png_note(&c->notes, chunk.name, chunk.data, chunk.length);
        at += chunk.size_bytes;
        if (!read_chunk(f, at, &chunk))
            return false;
    }
    const size_t end = at + chunk.size_bytes;
    c->is_followed = f->size > end && ih_decode_has_signature(f->bytes + end, f->size - end);
    return c->n_lengths > 0 && ih_png_is_named(&chunk, "IEND") && chunk.length == 0;
}

void ih_png_join(struct ih_png_chunks *c)
{
    assert(!c->is_joined);
    uint8_t *to = c->file->bytes + c->data_at, *from = to;
    for (size_t i = 0; i < c->n_lengths; i++) {
        if (to != from)
            memmove(to, from, c->lengths[i]);
        to += c->lengths[i];
        from += c->lengths[i] + 12; /* its CRC, the next one's length and name */
    }
    c->is_joined = true;
}

/* From the last chunk to the first. Lengths, names and CRCs are computed again. */
void ih_png_unjoin(struct ih_png_chunks *c)
{
    if (!c->is_joined)
        return;
    uint8_t *from = c->file->bytes + c->data_at + c->data_bytes;
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
        uint32_t crc = crc32_of(head + 4, (size_t)length + 4);
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
