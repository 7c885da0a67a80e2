/*
 * What BMP, PSD and TGA share: a file held whole and given to stb_image, behind checks.
 *
 * stb_image is forgiving where imghist must not be. Each format's own file says what stb gets wrong
 * of it and looks at the bytes before stb does.
 */
#ifndef IH_DECODE_STB_FILE_H
#define IH_DECODE_STB_FILE_H

#include "decode/decoder.h"

struct ih_stb_file {
    uint8_t *file; /* owned; released when it has been decoded */
    size_t file_bytes;
    size_t position;
    bool read_past_end;
    char *refill;    /* stb's own buffer, learned from its first read */
    uint8_t *pixels; /* owned, stbi_image_free */
    size_t n_pixels, n_pixels_given;
    unsigned n_channels; /* 0: what stb says */
    unsigned depth;      /* bits a sample that stb gives back, 8 or 16 */
};

enum { IH_STB_HEADER_BYTES = 26 }; /* where the shortest of the three headers ends */

/* What a format adds. */
struct ih_stb_format {
    /* The size that a header of IH_STB_HEADER_BYTES claims. */
    void (*size)(const uint8_t *header, uint64_t *width, uint64_t *height);

    /* Looks at the whole file before stb does; may settle n_channels and depth. */
    enum ih_status (*check)(struct ih_stb_file *s, struct ih_error *err);
};

/* A decoder's open, read and close. info->format is set. */
enum ih_status ih_stb_open(struct ih_source *src, const struct ih_decode_options *options,
                           const struct ih_stb_format *format, struct ih_image_info *info,
                           void **state, struct ih_error *err);
enum ih_status ih_stb_read(void *state, uint8_t *pixels, size_t capacity_pixels, size_t *n_pixels,
                           struct ih_error *err);
void ih_stb_close(void *state);
const char *ih_stb_version(void);

/* IH_CORRUPT: an index past the palette's end. */
enum ih_status ih_stb_short_palette(const char *format, unsigned index, unsigned n_entries,
                                    struct ih_error *err);

static inline uint32_t ih_le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t ih_le32(const uint8_t *p)
{
    return ih_le16(p) | ih_le16(p + 2) << 16;
}

static inline uint32_t ih_be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t ih_be32(const uint8_t *p)
{
    return ih_be16(p) << 16 | ih_be16(p + 2);
}

#endif
