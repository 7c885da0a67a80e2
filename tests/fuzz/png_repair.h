/*
 * Corrects the CRCs of a mutated PNG. libpng refuses a chunk with a wrong CRC, so random damage
 * would never reach the code behind it.
 */
#ifndef IH_TESTS_PNG_REPAIR_H
#define IH_TESTS_PNG_REPAIR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* CRC-32 of ISO 3309, bit by bit: PNG specification, annex D. */
static inline uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static inline uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Returns the name of the chunk at *at, and moves *at to the next chunk. NULL: no complete chunk. A
 * chunk is the length, a name of 4 bytes, the data, and a CRC of name and data. */
static inline uint8_t *next_png_chunk(uint8_t *bytes, size_t size, size_t *at, uint32_t *length)
{
    if (*at > size || size - *at < 12)
        return NULL;
    *length = load_be32(bytes + *at);
    if (*length > size - *at - 12)
        return NULL;
    uint8_t *name = bytes + *at + 4;
    *at += 12 + (size_t)*length;
    return name;
}

static inline int is_png(const uint8_t *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static inline void repair_png(uint8_t *bytes, size_t size)
{
    size_t at = 8;
    uint32_t length;
    uint8_t *name;
    while (is_png(bytes, size) && (name = next_png_chunk(bytes, size, &at, &length))) {
        uint32_t crc = crc32_of(name, length + 4);
        for (int i = 0; i < 4; i++)
            name[4 + length + (uint32_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    }
}

#endif
