/*
 * PNG files built by hand, so that a test can damage any byte. The pixels are stored uncompressed.
 * Also callbacks with which libpng writes to memory.
 */
#ifndef IH_TESTS_PNG_FILES_H
#define IH_TESTS_PNG_FILES_H

#include "tests/support/test.h"

#include <png.h>

struct bytes {
    uint8_t *p; /* owned, free() it */
    size_t n, capacity;
};

static inline void put(struct bytes *b, const void *p, size_t n)
{
    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n);
        b->p = realloc(b->p, b->capacity);
        assert_non_null(b->p);
    }
    if (n > 0)
        memcpy(b->p + b->n, p, n);
    b->n += n;
}

/* Makes libpng write to b. */
static inline void append_png(png_structp png, png_bytep bytes, size_t n)
{
    put(png_get_io_ptr(png), bytes, n);
}

static inline void flush_png(png_structp png)
{
}

static inline void write_png_to(png_structp png, struct bytes *b)
{
    png_set_write_fn(png, b, append_png, flush_png);
}

static inline void put_be32(struct bytes *b, uint32_t v)
{
    const uint8_t p[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    put(b, p, sizeof p);
}

static inline uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* CRC-32 of ISO 3309: PNG specification, annex D. */
static inline uint32_t crc_of(const uint8_t *p, size_t n)
{
    static uint32_t table[256];
    for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ p[i]) & 255];
    return ~crc;
}

static inline void put_chunk(struct bytes *b, const char *name, const void *data, size_t n)
{
    put_be32(b, (uint32_t)n);
    put(b, name, 4);
    put(b, data, n);
    put_be32(b, crc_of(b->p + b->n - n - 4, n + 4));
}

/* Signature and IHDR; interlace, compression and filter method 0. */
static inline void put_head(struct bytes *b, uint32_t width, uint32_t height, int depth, int colour)
{
    struct bytes data = {0};
    const uint8_t rest[5] = {(uint8_t)depth, (uint8_t)colour, 0, 0, 0};
    put(b, "\x89PNG\r\n\x1a\n", 8);
    put_be32(&data, width);
    put_be32(&data, height);
    put(&data, rest, 5);
    put_chunk(b, "IHDR", data.p, data.n);
    free(data.p);
}

/* A zlib stream of stored blocks of at most block_max bytes. */
static inline struct bytes zlib_stored(const uint8_t *p, size_t n, size_t block_max)
{
    struct bytes b = {0};
    uint32_t s1 = 1, s2 = 0;
    for (size_t i = 0; i < n; i++) {
        s1 = (s1 + p[i]) % 65521;
        s2 = (s2 + s1) % 65521;
    }
    put(&b, "\x78\x01", 2);
    for (size_t at = 0, length; at < n || n == 0; at += length) {
        length = n - at < block_max ? n - at : block_max;
        const uint8_t head[5] = {at + length == n, (uint8_t)length, (uint8_t)(length >> 8),
                                 (uint8_t)~length, (uint8_t)(~length >> 8)};
        put(&b, head, sizeof head);
        put(&b, p + at, length);
        if (n == 0)
            break;
    }
    put_be32(&b, s2 << 16 | s1);
    return b;
}

/* The stream in IDAT chunks of `each` bytes; 0: in one chunk. */
static inline void put_idats(struct bytes *b, const struct bytes *stream, size_t each)
{
    if (each == 0)
        each = stream->n;
    for (size_t at = 0; at < stream->n; at += each)
        put_chunk(b, "IDAT", stream->p + at, stream->n - at < each ? stream->n - at : each);
}

/* Corrects the CRC of every chunk up to a wrong length. */
static inline void mend_crcs(uint8_t *p, size_t n)
{
    for (size_t at = 8; at + 12 <= n;) {
        uint32_t length = get_be32(p + at);
        if (length > n - at - 12)
            return;
        uint32_t crc = crc_of(p + at + 4, (size_t)length + 4);
        at += 8 + (size_t)length;
        for (int i = 0; i < 4; i++)
            p[at++] = (uint8_t)(crc >> (24 - 8 * i));
    }
}

#endif
