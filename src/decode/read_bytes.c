#include "decode/read_bytes.h"

#include <string.h>

enum ih_status ih_read_bytes(struct ih_reader *src, const char *format, void *dst,
                             size_t size_bytes, struct ih_error *err)
{
    size_t got;
    if (ih_reader_read(src, dst, size_bytes, &got, err) != IH_OK)
        return err->status;
    return got == size_bytes
               ? IH_OK
               : ih_error_set(err, IH_CORRUPT, "damaged %s: the file ends before the image does",
                              format);
}

enum ih_status ih_skip_bytes(struct ih_reader *src, const char *format, uint64_t n_bytes,
                             struct ih_error *err)
{
    uint8_t discarded[512];
    while (n_bytes > 0) {
        size_t n = n_bytes < sizeof discarded ? (size_t)n_bytes : sizeof discarded;
        if (ih_read_bytes(src, format, discarded, n, err) != IH_OK)
            return err->status;
        n_bytes -= n;
    }
    return IH_OK;
}

void ih_copy_samples(uint8_t *to, const uint8_t *from, size_t n, unsigned sample_bytes,
                     bool is_big_endian)
{
    if (sample_bytes == 1 && to != from)
        memcpy(to, from, n);
    for (; n > 0 && sample_bytes == 2; n--, to += 2, from += 2) {
        const uint16_t v = (uint16_t)(is_big_endian ? ih_be16(from) : ih_le16(from));
        memcpy(to, &v, sizeof v);
    }
    for (; n > 0 && sample_bytes == 4; n--, to += 4, from += 4) {
        const uint32_t v = is_big_endian ? ih_be32(from) : ih_le32(from);
        memcpy(to, &v, sizeof v);
    }
}
