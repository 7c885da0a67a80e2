/*
 * BMP's headers, masks and palette.
 *
 * Sources: Microsoft's BITMAPFILEHEADER, BITMAPCOREHEADER, BITMAPINFOHEADER, BITMAPV4HEADER and
 * BITMAPV5HEADER; for OS/2 2.x, "OS/2 Bitmap File Format" in the Encyclopedia of Graphics File
 * Formats. Header sizes: 12 OS/2 1.x; 16 to 64 OS/2 2.x, whose fields are 0 where it ends early;
 * 40, 52, 56, 108, 124 Windows.
 *
 * - A palette is as long as the header says, but ends where the pixels begin: many are shorter.
 * - The fourth byte of a 32-bit pixel is alpha where there is a mask for it. Without masks it is
 *   reserved, and most readers ignore it.
 */
#include "decode/bmp_header.h"

#include "decode/read_bytes.h"

#include <string.h>

enum {
    FILE_HEADER_BYTES = 14,
    OS2_1 = 12,
    OS2_2_LEAST = 16,
    OS2_2 = 64,
    WINDOWS = 40,
    WITH_MASKS = 52,
    WITH_ALPHA_MASK = 56,
    V4 = 108,
    V5 = 124
};

/* Compression; of OS/2 2.x, 3 and 4 are others. */
enum { RGB, RLE8, RLE4, BITFIELDS, ALPHA_BITFIELDS = 6 };

static bool is_header(uint32_t n)
{
    return n == OS2_1 || n == WITH_MASKS || n == WITH_ALPHA_MASK || n == V4 || n == V5 ||
           (n >= OS2_2_LEAST && n <= OS2_2 && n % 4 == 0);
}

static bool is_os2(uint32_t n)
{
    return n != WINDOWS && n <= OS2_2 && n != WITH_MASKS && n != WITH_ALPHA_MASK;
}

bool ih_bmp_probe(const uint8_t *head, size_t size)
{
    return size >= 18 && head[0] == 'B' && head[1] == 'M' && is_header(ih_le32(head + 14));
}

static enum ih_status damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged BMP: %s", what);
}

static enum ih_status set_field(struct ih_bmp_field *field, uint32_t mask, unsigned bits,
                                struct ih_error *err)
{
    *field = (struct ih_bmp_field){.mask = mask};
    if (mask == 0)
        return IH_OK;
    while (!(mask >> field->shift & 1))
        field->shift++;
    field->max = mask >> field->shift;
    if ((field->max & (field->max + 1)) != 0 || (bits == 16 && mask > 0xFFFF))
        return damaged(err, "a mask with gaps, or past the pixel's end");
    return IH_OK;
}

/* The masks of red, green, blue and alpha: in the header (h, of header_bytes), behind it, or none.
 */
static enum ih_status read_masks(struct ih_source *src, struct ih_bmp *bmp, const uint8_t *h,
                                 uint32_t header_bytes, uint32_t compression, uint64_t *n_read,
                                 struct ih_error *err)
{
    static const uint32_t of_15_bits[4] = {0x7C00, 0x03E0, 0x001F, 0};
    static const uint32_t of_24_bits[4] = {0xFF0000, 0x00FF00, 0x0000FF, 0};
    uint32_t masks[4];
    uint8_t behind[16] = {0};
    memcpy(masks, bmp->bits == 16 ? of_15_bits : of_24_bits, sizeof masks);
    if (compression == BITFIELDS || compression == ALPHA_BITFIELDS) {
        size_t n_behind = header_bytes > WINDOWS ? 0 : compression == BITFIELDS ? 12 : 16;
        if (ih_read_bytes(src, "BMP", behind, n_behind, err) != IH_OK)
            return err->status;
        *n_read += n_behind;
        for (unsigned i = 0; i < 4; i++)
            masks[i] = n_behind ? ih_le32(behind + (size_t)4 * i) : ih_le32(h + 40 + (size_t)4 * i);
        if (header_bytes == WITH_MASKS)
            masks[3] = 0;
        if (masks[0] & masks[1] || (masks[0] | masks[1]) & masks[2] ||
            (masks[0] | masks[1] | masks[2]) & masks[3] || !(masks[0] | masks[1] | masks[2]))
            return damaged(err, "masks that overlap, or none");
    }
    for (unsigned i = 0; i < 4; i++)
        if (set_field(&bmp->fields[i], masks[i], bmp->bits, err) != IH_OK)
            return err->status;
    bmp->n_channels = bmp->fields[3].mask ? 4 : 3;
    return IH_OK;
}

static enum ih_status read_palette(struct ih_source *src, struct ih_bmp *bmp, uint32_t n_said,
                                   uint64_t room, unsigned entry_bytes, uint64_t *n_read,
                                   struct ih_error *err)
{
    uint64_t n = n_said && n_said < 1u << bmp->bits ? n_said : 1u << bmp->bits;
    n = n < room / entry_bytes ? n : room / entry_bytes;
    bmp->n_palette = (unsigned)n;
    for (unsigned i = 0; i < n; i++) {
        uint8_t entry[4];
        if (ih_read_bytes(src, "BMP", entry, entry_bytes, err) != IH_OK)
            return err->status;
        for (unsigned c = 0; c < 3; c++)
            bmp->palette[i][c] = entry[2 - c];
    }
    *n_read += n * entry_bytes;
    return IH_OK;
}

static enum ih_status check_coding(struct ih_bmp *bmp, uint32_t header_bytes, uint32_t compression,
                                   struct ih_error *err)
{
    unsigned bits = bmp->bits;
    bool is_known = compression == RGB || (compression == RLE8 && bits == 8) ||
                    (compression == RLE4 && bits == 4) ||
                    (!is_os2(header_bytes) && (bits == 16 || bits == 32) &&
                     (compression == BITFIELDS || compression == ALPHA_BITFIELDS));
    if (!is_known)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "BMP of %u bits with compression %lu is not supported", bits,
                            (unsigned long)compression);
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: %u bits a pixel", bits);
    bmp->coding = compression == RLE8 || compression == RLE4 ? IH_BMP_RLE : IH_BMP_PLAIN;
    return IH_OK;
}

enum ih_status ih_bmp_read_header(struct ih_source *src, struct ih_bmp *bmp, struct ih_error *err)
{
    uint8_t file[FILE_HEADER_BYTES + 4], h[V5] = {0};
    if (ih_read_bytes(src, "BMP", file, sizeof file, err) != IH_OK)
        return err->status;
    uint32_t offset = ih_le32(file + 10), header_bytes = ih_le32(file + FILE_HEADER_BYTES);
    if (ih_read_bytes(src, "BMP", h + 4, header_bytes - 4, err) != IH_OK) /* a size that is known */
        return err->status;
    bool is_short = header_bytes == OS2_1;
    uint32_t height = is_short ? ih_le16(h + 6) : ih_le32(h + 8);
    uint32_t compression = ih_le32(h + 16), n_colours = ih_le32(h + 32);
    unsigned n_planes = ih_le16(h + (is_short ? 8 : 12));
    bmp->width = is_short ? ih_le16(h + 4) : ih_le32(h + 4);
    bmp->height = height >> 31 ? 0 - height : height; /* negative: from the top */
    bmp->bits = ih_le16(h + (is_short ? 10 : 14));
    bmp->n_channels = 3;
    if (is_short)
        compression = n_colours = 0;
    if (bmp->width == 0 || bmp->height == 0)
        return damaged(err, "it has no pixels");
    if (n_planes != 1)
        return damaged(err, "a number of planes other than 1");
    if (check_coding(bmp, header_bytes, compression, err) != IH_OK)
        return err->status;

    uint64_t n_read = (uint64_t)FILE_HEADER_BYTES + header_bytes;
    if (offset < n_read)
        return damaged(err, "its pixels begin within its header");
    if (bmp->bits > 8 && read_masks(src, bmp, h, header_bytes, compression, &n_read, err) != IH_OK)
        return err->status;
    if (bmp->bits <= 8 &&
        read_palette(src, bmp, n_colours, offset - n_read, is_short ? 3 : 4, &n_read, err) != IH_OK)
        return err->status;
    if (offset < n_read)
        return damaged(err, "its pixels begin within its header");
    bmp->skipped_bytes = offset - n_read;
    return IH_OK;
}
