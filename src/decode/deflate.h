/* For decoders that use libdeflate in a decoder process. */
#ifndef IH_DECODE_DEFLATE_H
#define IH_DECODE_DEFLATE_H

/* On ARM, the first use of libdeflate opens a file that says what the CPU can do. */
#if defined IH_WITH_LIBDEFLATE && (defined __aarch64__ || defined __arm__)
#include <libdeflate.h>
#define IH_DEFLATE_OPENS_FILE 1
#else
#define IH_DEFLATE_OPENS_FILE 0
#endif

/* Part of struct ih_decoder's prepare: uses libdeflate once if that opens a file. */
static inline void ih_deflate_prepare(void)
{
#if IH_DEFLATE_OPENS_FILE
    static const unsigned char nothing_deflated[] = {0x78, 0x9c, 3, 0, 0, 0, 0, 1};
    unsigned char none;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (d)
        libdeflate_zlib_decompress(d, nothing_deflated, sizeof nothing_deflated, &none, 0, NULL);
    libdeflate_free_decompressor(d);
#endif
}

#endif
