#include "decode/metadata.h"

#include "decode/jpeg/markers.h"
#include "decode/read_bytes.h"

#include <string.h>

/* ---- Exif ---- */

enum { UPRIGHT = 1 };

unsigned ih_exif_not_applied(const uint8_t *bytes, size_t n)
{
    return ih_exif_orientation(bytes, n) > UPRIGHT ? IH_NOT_APPLIED_ORIENTATION : 0;
}

const uint8_t *ih_tiff_entry(const uint8_t *bytes, size_t n, unsigned tag)
{
    enum { ENTRY_BYTES = 12 };
    if (n < 8 || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0))
        return NULL;
    const bool is_big = bytes[0] == 'M';
    size_t at = is_big ? ih_be32(bytes + 4) : ih_le32(bytes + 4);
    if (at > n || n - at < 2)
        return NULL;
    unsigned n_entries = is_big ? ih_be16(bytes + at) : ih_le16(bytes + at);
    for (at += 2; n_entries > 0 && n - at >= ENTRY_BYTES; n_entries--, at += ENTRY_BYTES)
        if ((is_big ? ih_be16(bytes + at) : ih_le16(bytes + at)) == tag)
            return bytes + at;
    return NULL;
}

unsigned ih_exif_orientation(const uint8_t *bytes, size_t n)
{
    enum { ORIENTATION = 0x0112, SHORT = 3, LAST = 8 };
    const size_t n_before = n >= 6 && memcmp(bytes, "Exif\0\0", 6) == 0 ? 6 : 0;
    const uint8_t *p = ih_tiff_entry(bytes + n_before, n - n_before, ORIENTATION);
    if (!p)
        return 0;
    const bool is_big = bytes[n_before] == 'M';
    const unsigned type = is_big ? ih_be16(p + 2) : ih_le16(p + 2);
    const unsigned value = is_big ? ih_be16(p + 8) : ih_le16(p + 8);
    return type == SHORT && value <= LAST ? value : 0;
}

/* ---- JPEG ---- */

/* The pictures that an index (MPF) calls large thumbnails. */
static uint64_t thumbnails_of(const uint8_t *data, size_t n)
{
    enum { MP_ENTRIES = 0xB002, PICTURE_BYTES = 16, CLASS_THUMBNAIL = 1, PICTURES_MAX = 64 };
    uint64_t thumbnails = 0;
    const uint8_t *entry = ih_tiff_entry(data, n, MP_ENTRIES);
    if (!entry)
        return 0;
    const bool is_big = data[0] == 'M';
    const size_t size = is_big ? ih_be32(entry + 4) : ih_le32(entry + 4);
    const size_t at = is_big ? ih_be32(entry + 8) : ih_le32(entry + 8);
    for (size_t i = 0; i < PICTURES_MAX && (i + 1) * PICTURE_BYTES <= size; i++) {
        if (at > n || n - at < (i + 1) * PICTURE_BYTES)
            break;
        const uint8_t *p = data + at + i * PICTURE_BYTES; /* the attribute: 4 bytes */
        if (p[is_big ? 1 : 2] == CLASS_THUMBNAIL)
            thumbnails |= (uint64_t)1 << i;
    }
    return thumbnails;
}

void ih_jpeg_note(struct ih_jpeg_notes *notes, unsigned marker, const uint8_t *bytes, size_t n)
{
    static const char exif[6] = "Exif\0", profile[12] = "ICC_PROFILE", index[4] = "MPF";
    n = n < IH_METADATA_BYTES ? n : IH_METADATA_BYTES;
    if (marker == IH_JPEG_APP0 + 1 && n >= sizeof exif && memcmp(bytes, exif, sizeof exif) == 0) {
        const unsigned orientation = ih_exif_orientation(bytes, n);
        notes->orientation = notes->orientation ? notes->orientation : orientation;
        notes->not_applied |= orientation > UPRIGHT ? IH_NOT_APPLIED_ORIENTATION : 0;
    }
    if (marker != IH_JPEG_APP0 + 2)
        return;
    if (n >= sizeof profile && memcmp(bytes, profile, sizeof profile) == 0)
        notes->not_applied |= IH_NOT_APPLIED_ICC_PROFILE;
    if (n >= sizeof index && memcmp(bytes, index, sizeof index) == 0)
        notes->thumbnails |= thumbnails_of(bytes + sizeof index, n - sizeof index);
}

/* ---- code points ---- */

unsigned ih_code_points_not_applied(unsigned primaries, unsigned transfer)
{
    enum { UNSPECIFIED = 2, BT709_PRIMARIES = 1, SRGB_TRANSFER = 13 };
    const bool is_srgb = (primaries == UNSPECIFIED || primaries == BT709_PRIMARIES) &&
                         (transfer == UNSPECIFIED || transfer == SRGB_TRANSFER);
    return is_srgb ? 0 : IH_NOT_APPLIED_COLOUR_SPACE;
}

/* ---- PNG ---- */

void ih_png_note(struct ih_png_notes *notes, const char name[4], const uint8_t *bytes, size_t n)
{
    enum { SRGB_GAMMA = 45455 }; /* 1 / 2.2, in 1/100000 */
    if (memcmp(name, "sRGB", 4) == 0)
        notes->has_srgb = true;
    else if (memcmp(name, "gAMA", 4) == 0 && n == 4)
        notes->has_gamma = ih_be32(bytes) != SRGB_GAMMA;
    else if (memcmp(name, "iCCP", 4) == 0)
        notes->has_profile = true;
    else if (memcmp(name, "cICP", 4) == 0 && n == 4)
        notes->has_code_points = ih_code_points_not_applied(bytes[0], bytes[1]) != 0;
    else if (memcmp(name, "acTL", 4) == 0 && n == 8 && !notes->has_data)
        notes->n_frames = ih_be32(bytes); /* may be a number for "not known yet" */
    else if (memcmp(name, "fcTL", 4) == 0)
        notes->has_frame_first |= !notes->has_data;
    else if (memcmp(name, "IDAT", 4) == 0)
        notes->has_data = true;
    else if (memcmp(name, "eXIf", 4) == 0)
        notes->orientation =
            ih_exif_orientation(bytes, n < IH_METADATA_BYTES ? n : IH_METADATA_BYTES);
}

/* A PNG without acTL has one image. One with acTL has a further image before its frames if IDAT is
 * no frame. sRGB overrides gAMA. */
void ih_png_notes_tell(const struct ih_png_notes *notes, struct ih_image_info *info)
{
    const bool is_number = notes->n_frames <= INT32_MAX;
    const unsigned n_more = notes->n_frames == 0 || !notes->has_frame_first;
    info->n_frames = is_number ? notes->n_frames + n_more : 0;
    info->warnings |= info->n_frames == 1 ? 0 : IH_WARNING_MORE_IMAGES;
    info->orientation = notes->orientation;
    info->not_applied = (notes->orientation > UPRIGHT ? IH_NOT_APPLIED_ORIENTATION : 0u) |
                        (notes->has_profile ? IH_NOT_APPLIED_ICC_PROFILE : 0u) |
                        (notes->has_gamma && !notes->has_srgb ? IH_NOT_APPLIED_GAMMA : 0u) |
                        (notes->has_code_points ? IH_NOT_APPLIED_COLOUR_SPACE : 0u);
}
