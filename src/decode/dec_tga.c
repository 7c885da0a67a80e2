/*
 * TGA through stb_image, held whole.
 *
 * stb takes colour 0 for an index past the palette's end, and skips a palette's first entry that is
 * not 0 without subtracting it: both are found before.
 */
#include "decode/stb_file.h"

/* TGA has no signature: the fields of its 18-byte header must fit together. */
static bool probe(const uint8_t *head, size_t size)
{
    if (size < 18)
        return false;
    unsigned has_palette = head[1], type = head[2], bits = head[16];
    uint32_t palette_entries = ih_le16(head + 5);
    bool has_size = ih_le16(head + 12) != 0 && ih_le16(head + 14) != 0;
    if (!has_size || (head[17] & 0xC0) != 0)
        return false;
    if (type == 1 || type == 9)
        return has_palette == 1 && bits == 8 && palette_entries != 0 &&
               (head[7] == 15 || head[7] == 16 || head[7] == 24 || head[7] == 32);
    bool no_palette = has_palette == 0 && ih_le16(head + 3) == 0 && palette_entries == 0;
    if (type == 2 || type == 10)
        return no_palette && (bits == 15 || bits == 16 || bits == 24 || bits == 32);
    if (type == 3 || type == 11)
        return no_palette && (bits == 8 || bits == 16);
    return false;
}

static void claimed_size(const uint8_t *h, uint64_t *width, uint64_t *height)
{
    *width = ih_le16(h + 12);
    *height = ih_le16(h + 14);
}

/* A TGA with a palette: stb takes colour 0 for an index past its end, and skips a first entry that
 * is not 0 without subtracting it. Runs are a count and one index, the rest counted indices. */
static enum ih_status check(struct ih_stb_file *s, struct ih_error *err)
{
    const uint8_t *f = s->file;
    if (s->file_bytes < 18 || (f[2] != 1 && f[2] != 9))
        return IH_OK;
    unsigned n_entries = ih_le16(f + 5);
    if (ih_le16(f + 3) != 0)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "TGA whose palette does not start at 0 is not supported");
    size_t at = 18u + f[0] + (size_t)n_entries * ((f[7] + 7u) / 8), size = s->file_bytes;
    size_t n_left = (size_t)ih_le16(f + 12) * ih_le16(f + 14);
    while (n_left > 0 && at < size) {
        size_t n = n_left, n_indices = n_left;
        if (f[2] == 9) {
            bool is_run = f[at] >> 7;
            n = (f[at++] & 127u) + 1u;
            n_indices = is_run ? 1 : n;
        }
        for (size_t i = 0; i < n_indices && at < size; i++, at++)
            if (f[at] >= n_entries)
                return ih_stb_short_palette("TGA", f[at], n_entries, err);
        n_left -= n < n_left ? n : n_left;
    }
    return IH_OK;
}

static enum ih_status open_tga(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    static const struct ih_stb_format format = {claimed_size, check};
    return ih_stb_open(src, options, &format, info, state, err);
}

const struct ih_decoder ih_decoder_tga = {
    .name = "tga",
    .title = "TGA, palette, gray and colour, plain and run-length coded",
    .version = ih_stb_version,
    .probe = probe,
    .open = open_tga,
    .read = ih_stb_read,
    .close = ih_stb_close,
};
