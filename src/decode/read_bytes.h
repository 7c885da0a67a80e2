/* Little- and big-endian numbers, and exact reads from a reader. */
#ifndef IH_DECODE_READ_BYTES_H
#define IH_DECODE_READ_BYTES_H

#include "base/reader.h"

static inline uint32_t ih_le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t ih_le32(const uint8_t *p)
{
    return ih_le16(p) | ih_le16(p + 2) << 16;
}

static inline uint32_t ih_be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t ih_be32(const uint8_t *p)
{
    return ih_be16(p) << 16 | ih_be16(p + 2);
}

/* Copies n samples of 1, 2 or 4 bytes, which get the machine's byte order. to may be from. */
void ih_copy_samples(uint8_t *to, const uint8_t *from, size_t n, unsigned sample_bytes,
                     bool is_big_endian);

/* Reads exactly size_bytes. Returns IH_CORRUPT, with the format in the message, if the reader ends
 * earlier. */
enum ih_status ih_read_bytes(struct ih_reader *src, const char *format, void *dst,
                             size_t size_bytes, struct ih_error *err);

/* Same as ih_read_bytes, but discards the bytes. */
enum ih_status ih_skip_bytes(struct ih_reader *src, const char *format, uint64_t n_bytes,
                             struct ih_error *err);

#endif
