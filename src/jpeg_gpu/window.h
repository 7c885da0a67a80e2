/*
 * The bits of entropy-coded data, without its stuffing.
 *
 * Data is copied into a window in front of so much room that a whole MCU may be read before anybody
 * looks whether there was one: so the reading of bits has no branch.
 */
#ifndef IH_JPEG_GPU_WINDOW_H
#define IH_JPEG_GPU_WINDOW_H

#include "jpeg_gpu/codes.h"

/* The next bits. `buffer` has n that count, from its highest; those below are the ones that follow,
 * or zero. */
struct ih_jpeg_bits {
    uint64_t buffer;
    const uint8_t *next;
    unsigned n;
};

static inline uint64_t ih_jpeg_load(const uint8_t *p)
{
    return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
           (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
           (uint64_t)p[6] << 8 | (uint64_t)p[7];
}

/* At least 56 bits. Bytes of which only a part fits are loaded again. */
static inline void ih_jpeg_fill(struct ih_jpeg_bits *b)
{
    b->buffer |= ih_jpeg_load(b->next) >> b->n;
    b->next += (63 - b->n) >> 3;
    b->n |= 56;
}

static inline void ih_jpeg_drop(struct ih_jpeg_bits *b, unsigned n)
{
    b->buffer <<= n;
    b->n -= n;
}

enum {
    IH_JPEG_MCU_BLOCKS_MAX = 6,
    /* Of codes and extra bits. */
    IH_JPEG_BLOCK_BITS_MAX = 16 + IH_JPEG_DC_SIZE_MAX + 63 * (16 + IH_JPEG_AC_SIZE_MAX),
    IH_JPEG_MCU_BYTES_MAX = (IH_JPEG_MCU_BLOCKS_MAX * IH_JPEG_BLOCK_BITS_MAX + 7) / 8,
    IH_JPEG_LOAD_BYTES = 8,
    IH_JPEG_WINDOW_BYTES = 4096,
};

struct ih_jpeg_window {
    const uint8_t *source, *source_end; /* borrowed: the data to come */
    const uint8_t *limit; /* an MCU may be read while the next byte of bits is not beyond it */
    size_t n_bytes;       /* of the data, in bytes[] */
    unsigned marker;      /* at source, after its 0xFF; 0: none, the file ends */
    bool is_at_marker;
    uint8_t bytes[IH_JPEG_WINDOW_BYTES + IH_JPEG_MCU_BYTES_MAX + 4 * IH_JPEG_LOAD_BYTES];
};

/* These say why not, or NULL. */

/* Begins at v->source, with the first bits. */
void ih_jpeg_window_start(struct ih_jpeg_window *v, struct ih_jpeg_bits *bits);

/* Goes on, when the next byte is beyond the limit. */
const char *ih_jpeg_window_move(struct ih_jpeg_window *v, struct ih_jpeg_bits *bits);

/* After the last MCU before a marker: at most 7 bits are left, all ones, then the marker. v->source
 * is then at it. */
const char *ih_jpeg_window_end(const struct ih_jpeg_window *v, const struct ih_jpeg_bits *bits,
                               unsigned marker);

#endif
