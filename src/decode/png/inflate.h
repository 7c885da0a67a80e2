/*
 * zlib streams that are in memory whole, and CRC-32: libdeflate, where this build has it.
 *
 * libdeflate wants a stream and its output whole, and is two to three times as fast as zlib for it.
 */
#ifndef IH_DECODE_PNG_INFLATE_H
#define IH_DECODE_PNG_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deflate codes at most 258 bytes in 2 bits, so no stream inflates to more than this many times its
 * size. */
enum { IH_INFLATE_RATIO_MAX = 1032 };

/* False: this build has no libdeflate, and the other calls are not to be made. */
bool ih_inflate_is_here(void);

/*
 * Inflates a zlib stream that is exactly this long to exactly this many bytes, with its Adler-32.
 * False for all else, and where memory is short; out's bytes are then undefined.
 */
bool ih_inflate_exactly(const uint8_t *stream, size_t stream_bytes, uint8_t *out, size_t out_bytes);

uint32_t ih_crc32(const uint8_t *bytes, size_t n_bytes);

#endif
