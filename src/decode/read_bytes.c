#include "decode/read_bytes.h"

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
