/*
 * PSD's flattened image through stb_image, held whole.
 *
 * stb blends colours with their alpha, in float. Code values are counted here, never blended ones,
 * so a file with more than three channels is refused by name.
 */
#include "decode/stb_file.h"

#include <string.h>

enum { PSD_HEADER_BYTES = 26 };

static bool probe(const uint8_t *head, size_t size)
{
    return size >= PSD_HEADER_BYTES && memcmp(head, "8BPS", 4) == 0;
}

static void claimed_size(const uint8_t *h, uint64_t *width, uint64_t *height)
{
    *height = ih_be32(h + 14);
    *width = ih_be32(h + 18);
}

/* RGB without alpha, 8 bits or uncompressed 16: what stb gives back unchanged. */
static enum ih_status check(struct ih_stb_file *s, struct ih_error *err)
{
    const uint8_t *f = s->file;
    unsigned n_channels = ih_be16(f + 12), depth = ih_be16(f + 22), mode = ih_be16(f + 24);
    if (mode != 3 || n_channels != 3)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "PSD with colour mode %u and %u channels is not supported, only RGB "
                            "without alpha",
                            mode, n_channels);
    if (depth != 8 && depth != 16)
        return ih_error_set(err, IH_UNSUPPORTED, "PSD with %u bits a sample is not supported",
                            depth);
    size_t at = PSD_HEADER_BYTES; /* three sections with their lengths, then the compression */
    for (int section = 0; section < 3; section++) {
        if (s->file_bytes - at < 4 || s->file_bytes - at - 4 < ih_be32(f + at))
            return ih_error_set(err, IH_CORRUPT,
                                "damaged PSD: the file ends before the image does");
        at += 4 + (size_t)ih_be32(f + at);
    }
    if (depth == 16 && s->file_bytes - at >= 2 && ih_be16(f + at) != 0)
        return ih_error_set(err, IH_UNSUPPORTED, "compressed PSD with 16 bits is not supported");
    s->n_channels = 3; /* stb would add an alpha of 255 */
    s->depth = depth;
    return IH_OK;
}

static enum ih_status open_psd(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    static const struct ih_stb_format format = {claimed_size, check};
    return ih_stb_open(src, options, &format, info, state, err);
}

const struct ih_decoder ih_decoder_psd = {
    .name = "psd",
    .title = "PSD, flattened RGB, 8 and 16 bits",
    .version = ih_stb_version,
    .probe = probe,
    .open = open_psd,
    .read = ih_stb_read,
    .close = ih_stb_close,
};
