/*
 * BMP through stb_image, held whole.
 *
 * stb looks palette entries up that the file does not have, and reads four too few of OS/2's
 * header: so indices are checked before, and OS/2 palettes refused.
 */
#include "decode/stb_file.h"

#include <limits.h>
enum { BMP_HEADER_BYTES = 54, BMP_CORE_HEADER_BYTES = 26 };

static bool probe(const uint8_t *head, size_t size)
{
    if (size < 18 || head[0] != 'B' || head[1] != 'M')
        return false;
    uint32_t header_bytes = ih_le32(head + 14);
    return header_bytes == 12 || header_bytes == 40 || header_bytes == 56 || header_bytes == 108 ||
           header_bytes == 124;
}

static void claimed_size(const uint8_t *h, uint64_t *width, uint64_t *height)
{
    if (ih_le32(h + 14) == 12) { /* OS/2 */
        *width = ih_le16(h + 18);
        *height = ih_le16(h + 20);
    } else {
        uint32_t raw_height = ih_le32(h + 22);
        *width = ih_le32(h + 18);
        *height = raw_height >> 31 ? 0 - raw_height : raw_height; /* negative: from the top */
    }
}

/* A BMP that stb reads right, and whose indices all lie within its palette. */
static enum ih_status check(struct ih_stb_file *s, struct ih_error *err)
{
    const uint8_t *f = s->file;
    if (s->file_bytes < BMP_CORE_HEADER_BYTES)
        return IH_OK;            /* stb finds the end */
    if (ih_le32(f + 14) == 12) { /* OS/2: stb reads four palette entries too few */
        if (ih_le16(f + 24) < 24)
            return ih_error_set(err, IH_UNSUPPORTED, "OS/2 BMP with a palette is not supported");
        return IH_OK;
    }
    if (s->file_bytes < BMP_HEADER_BYTES)
        return IH_OK;
    uint32_t header_bytes = ih_le32(f + 14), offset = ih_le32(f + 10), raw_height = ih_le32(f + 22);
    uint32_t bits = ih_le16(f + 28), compression = ih_le32(f + 30), width = ih_le32(f + 18);
    uint32_t height = raw_height >> 31 ? 0 - raw_height : raw_height; /* negative: from the top */
    if (compression != 0 && compression != 3)
        return ih_error_set(err, IH_UNSUPPORTED, "compressed BMP (type %lu) is not supported",
                            (unsigned long)compression);
    if (offset < 14 + header_bytes)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: its pixels begin within its header");
    if (height > INT_MAX)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: no such height");
    if (width == 0)
        return IH_OK; /* stb says so */
    uint32_t n_entries = (offset - 14 - header_bytes) / 4;
    if ((bits != 1 && bits != 4 && bits != 8) || n_entries >= 1u << bits || offset > s->file_bytes)
        return IH_OK;
    size_t row_bytes = ((size_t)width * bits + 31) / 32 * 4;
    for (size_t y = 0; y < height && row_bytes <= s->file_bytes - offset &&
                       y <= (s->file_bytes - offset) / row_bytes - 1;
         y++) {
        const uint8_t *row = f + offset + y * row_bytes;
        for (size_t x = 0; x < width; x++) {
            unsigned shift = (unsigned)(8 - bits - x * bits % 8);
            unsigned index = (unsigned)row[x * bits / 8] >> shift & ((1u << bits) - 1);
            if (index >= n_entries)
                return ih_stb_short_palette("BMP", index, n_entries, err);
        }
    }
    return IH_OK;
}

static enum ih_status open_bmp(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    static const struct ih_stb_format format = {claimed_size, check};
    return ih_stb_open(src, options, &format, info, state, err);
}

const struct ih_decoder ih_decoder_bmp = {
    .name = "bmp",
    .title = "BMP, uncompressed, 1 to 32 bits",
    .version = ih_stb_version,
    .probe = probe,
    .open = open_bmp,
    .read = ih_stb_read,
    .close = ih_stb_close,
};
