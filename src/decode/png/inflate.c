#include "decode/png/inflate.h"

#ifdef IH_WITH_LIBDEFLATE

#include <libdeflate.h>

bool ih_inflate_is_here(void)
{
    return true;
}

bool ih_inflate_exactly(const uint8_t *stream, size_t stream_bytes, uint8_t *out, size_t out_bytes)
{
    size_t n_in = 0, n_out = 0;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    bool ok = d && libdeflate_zlib_decompress_ex(d, stream, stream_bytes, out, out_bytes, &n_in,
                                                 &n_out) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    return ok && n_in == stream_bytes && n_out == out_bytes;
}

uint32_t ih_crc32(const uint8_t *bytes, size_t n_bytes)
{
    return libdeflate_crc32(0, bytes, n_bytes);
}

#else

#include <stdlib.h>

bool ih_inflate_is_here(void)
{
    return false;
}

bool ih_inflate_exactly(const uint8_t *stream, size_t stream_bytes, uint8_t *out, size_t out_bytes)
{
    (void)stream, (void)stream_bytes, (void)out, (void)out_bytes;
    abort();
}

uint32_t ih_crc32(const uint8_t *bytes, size_t n_bytes)
{
    (void)bytes, (void)n_bytes;
    abort();
}

#endif
