/*
 * BMP, TGA and PSD through stb_image, each held whole in memory.
 *
 * stb_image is forgiving where imghist must not be, so this file is mostly about what stands
 * between the two:
 * - stb reads zeros past the end of a file and calls it an image. Its input goes through callbacks
 *   over the file's bytes here, and a read past the end is remembered and makes the file truncated.
 * - stb allocates what a header claims. The longest run any of these formats can code is 128 pixels
 *   in a byte, so a header that claims more than that for the file's size is refused before.
 * - stb looks palette entries up that the file does not have. The indices of BMP and TGA are
 * checked before.
 * - stb blends PSD colours with their alpha, in float. Code values are counted here, never blended
 *   ones, so a PSD with more than three channels is refused by name.
 */
#include "decode/decoder.h"

#include <limits.h>
#include <stb/stb_image.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1 << 30,  /* of these formats; stb counts bytes in int */
    PIXELS_PER_BYTE_MAX = 128, /* TGA and PackBits runs: 128 samples from 2 bytes; 1-bit BMP: 8 */
    BMP_HEADER_BYTES = 54,
    BMP_CORE_HEADER_BYTES = 26,
    PSD_HEADER_BYTES = 26
};

struct stb_state {
    uint8_t *file; /* owned; released when it has been decoded */
    size_t file_bytes;
    size_t position;
    bool read_past_end;
    char *refill;    /* stb's own buffer, learned from its first read */
    uint8_t *pixels; /* owned, stbi_image_free */
    size_t n_pixels, n_pixels_given;
    unsigned n_channels, depth;
};

/* Looks at the whole file before stb does; may settle n_channels and depth. */
typedef enum ih_status check_file(struct stb_state *s, struct ih_error *err);

static uint32_t le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32(const uint8_t *p)
{
    return le16(p) | le16(p + 2) << 16;
}

static uint32_t be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return be16(p) << 16 | be16(p + 2);
}

/*
 * stb reads in two ways: it refills a small buffer of its own, where coming back with less than
 * asked is how it learns of the end, and it reads straight into pixels, where less than asked is
 * damage. A refill that finds nothing at all means that stb wants a byte past the end.
 */
static int on_read(void *user, char *dst, int size)
{
    struct stb_state *s = user;
    size_t left = s->file_bytes - s->position;
    size_t n = (size_t)size < left ? (size_t)size : left;
    if (!s->refill)
        s->refill = dst;
    if (dst == s->refill ? n == 0 : n < (size_t)size)
        s->read_past_end = true;
    memcpy(dst, s->file + s->position, n);
    s->position += n;
    return (int)n;
}

static void on_skip(void *user, int n)
{
    struct stb_state *s = user;
    if (n >= 0 && (size_t)n <= s->file_bytes - s->position)
        s->position += (size_t)n;
    else
        s->read_past_end = true; /* no format here goes back */
}

static int at_end(void *user)
{
    const struct stb_state *s = user;
    return s->position == s->file_bytes;
}

static const char *version(void)
{
    return "stb_image";
}

static bool probe_bmp(const uint8_t *head, size_t size)
{
    if (size < 18 || head[0] != 'B' || head[1] != 'M')
        return false;
    uint32_t header_bytes = le32(head + 14);
    return header_bytes == 12 || header_bytes == 40 || header_bytes == 56 || header_bytes == 108 ||
           header_bytes == 124;
}

static bool probe_psd(const uint8_t *head, size_t size)
{
    return size >= PSD_HEADER_BYTES && memcmp(head, "8BPS", 4) == 0;
}

/* TGA has no signature: the fields of its 18-byte header must fit together. */
static bool probe_tga(const uint8_t *head, size_t size)
{
    if (size < 18)
        return false;
    unsigned has_palette = head[1], type = head[2], bits = head[16];
    uint32_t palette_entries = le16(head + 5);
    bool has_size = le16(head + 12) != 0 && le16(head + 14) != 0;
    if (!has_size || (head[17] & 0xC0) != 0)
        return false;
    if (type == 1 || type == 9)
        return has_palette == 1 && bits == 8 && palette_entries != 0 &&
               (head[7] == 15 || head[7] == 16 || head[7] == 24 || head[7] == 32);
    bool no_palette = has_palette == 0 && le16(head + 3) == 0 && palette_entries == 0;
    if (type == 2 || type == 10)
        return no_palette && (bits == 15 || bits == 16 || bits == 24 || bits == 32);
    if (type == 3 || type == 11)
        return no_palette && (bits == 8 || bits == 16);
    return false;
}

static void close_stb(void *state)
{
    struct stb_state *s = state;
    free(s->file);
    stbi_image_free(s->pixels);
    free(s);
}

static enum ih_status short_palette(const char *format, unsigned index, unsigned n_entries,
                                    struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged %s: colour %u of a palette of %u", format, index,
                        n_entries);
}

/* A BMP that stb reads right, and whose indices all lie within its palette. */
static enum ih_status check_bmp(struct stb_state *s, struct ih_error *err)
{
    const uint8_t *f = s->file;
    if (s->file_bytes < BMP_CORE_HEADER_BYTES)
        return IH_OK;         /* stb finds the end */
    if (le32(f + 14) == 12) { /* OS/2: stb reads four palette entries too few */
        if (le16(f + 24) < 24)
            return ih_error_set(err, IH_UNSUPPORTED, "OS/2 BMP with a palette is not supported");
        return IH_OK;
    }
    if (s->file_bytes < BMP_HEADER_BYTES)
        return IH_OK;
    uint32_t header_bytes = le32(f + 14), offset = le32(f + 10), raw_height = le32(f + 22);
    uint32_t bits = le16(f + 28), compression = le32(f + 30), width = le32(f + 18);
    uint32_t height = raw_height >> 31 ? 0 - raw_height : raw_height; /* negative: from the top */
    if (compression != 0 && compression != 3)
        return ih_error_set(err, IH_UNSUPPORTED, "compressed BMP (type %lu) is not supported",
                            (unsigned long)compression);
    if (offset < 14 + header_bytes)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: its pixels begin within its header");
    if (height > INT_MAX)
        return ih_error_set(err, IH_CORRUPT, "damaged BMP: no such height");
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
                return short_palette("BMP", index, n_entries, err);
        }
    }
    return IH_OK;
}

/* A TGA with a palette: stb takes colour 0 for an index past its end, and skips a first entry that
 * is not 0 without subtracting it. Runs are a count and one index, the rest counted indices. */
static enum ih_status check_tga(struct stb_state *s, struct ih_error *err)
{
    const uint8_t *f = s->file;
    if (s->file_bytes < 18 || (f[2] != 1 && f[2] != 9))
        return IH_OK;
    unsigned n_entries = le16(f + 5);
    if (le16(f + 3) != 0)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "TGA whose palette does not start at 0 is not supported");
    size_t at = 18u + f[0] + (size_t)n_entries * ((f[7] + 7u) / 8), size = s->file_bytes;
    size_t n_left = (size_t)le16(f + 12) * le16(f + 14);
    while (n_left > 0 && at < size) {
        size_t n = n_left, n_indices = n_left;
        if (f[2] == 9) {
            bool is_run = f[at] >> 7;
            n = (f[at++] & 127u) + 1u;
            n_indices = is_run ? 1 : n;
        }
        for (size_t i = 0; i < n_indices && at < size; i++, at++)
            if (f[at] >= n_entries)
                return short_palette("TGA", f[at], n_entries, err);
        n_left -= n < n_left ? n : n_left;
    }
    return IH_OK;
}

/* RGB without alpha, 8 bits or uncompressed 16: what stb gives back unchanged. */
static enum ih_status check_psd(struct stb_state *s, struct ih_error *err)
{
    const uint8_t *f = s->file;
    unsigned n_channels = be16(f + 12), depth = be16(f + 22), mode = be16(f + 24);
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
        if (s->file_bytes - at < 4 || s->file_bytes - at - 4 < be32(f + at))
            return ih_error_set(err, IH_CORRUPT,
                                "damaged PSD: the file ends before the image does");
        at += 4 + (size_t)be32(f + at);
    }
    if (depth == 16 && s->file_bytes - at >= 2 && be16(f + at) != 0)
        return ih_error_set(err, IH_UNSUPPORTED, "compressed PSD with 16 bits is not supported");
    s->n_channels = 3; /* stb would add an alpha of 255 */
    s->depth = depth;
    return IH_OK;
}

/* What stb would get wrong, then the header's claims. */
static enum ih_status inspect(struct stb_state *s, check_file *check, struct ih_image_info *info,
                              struct ih_error *err)
{
    int width, height, n_channels;
    s->depth = 8;
    enum ih_status status = check(s, err);
    if (status != IH_OK)
        return status;
    if (!stbi_info_from_memory(s->file, (int)s->file_bytes, &width, &height, &n_channels))
        return ih_error_set(err, IH_CORRUPT, "damaged %s: %s", info->format, stbi_failure_reason());
    info->width = width < 0 ? 0 : (uint64_t)width;
    info->height = (uint64_t)(height < 0 ? -(int64_t)height : height); /* a BMP from the top */
    if (info->width == 0 || info->height == 0)
        return ih_error_set(err, IH_CORRUPT, "damaged %s: it has no pixels", info->format);
    if (info->width * info->height / PIXELS_PER_BYTE_MAX > s->file_bytes)
        return ih_error_set(
            err, IH_CORRUPT, "damaged %s: %llu x %llu pixels in a file of %zu bytes", info->format,
            (unsigned long long)info->width, (unsigned long long)info->height, s->file_bytes);
    if (s->n_channels == 0)
        s->n_channels = (unsigned)n_channels;
    s->n_pixels = (size_t)(info->width * info->height);
    info->n_channels = s->n_channels;
    info->source_depth = s->depth;
    return IH_OK;
}

/* The size that a header claims, before the file behind it is read. */
static enum ih_status check_size(struct ih_source *src, const struct ih_decode_options *options,
                                 const struct ih_image_info *info, struct ih_error *err)
{
    const uint8_t *h;
    size_t n;
    uint64_t width, height;
    enum ih_status status = ih_source_peek(src, BMP_CORE_HEADER_BYTES, &h, &n, err);
    if (status != IH_OK || n < BMP_CORE_HEADER_BYTES)
        return status; /* too short for an image: stb finds the end */
    if (strcmp(info->format, "psd") == 0) {
        height = be32(h + 14);
        width = be32(h + 18);
    } else if (strcmp(info->format, "tga") == 0) {
        width = le16(h + 12);
        height = le16(h + 14);
    } else if (le32(h + 14) == 12) {
        width = le16(h + 18);
        height = le16(h + 20);
    } else {
        uint32_t raw_height = le32(h + 22);
        width = le32(h + 18);
        height = raw_height >> 31 ? 0 - raw_height : raw_height;
    }
    return ih_decode_check_pixels(width, height, options->max_pixels, err);
}

static enum ih_status open_checked(struct ih_source *src, const struct ih_decode_options *options,
                                   check_file *check, struct ih_image_info *info, void **state,
                                   struct ih_error *err)
{
    enum ih_status status = check_size(src, options, info, err);
    if (status != IH_OK)
        return status;
    struct stb_state *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    status = ih_source_read_all(src, FILE_BYTES_MAX, &s->file, &s->file_bytes, err);
    if (status == IH_OK)
        status = inspect(s, check, info, err);
    if (status == IH_OK)
        *state = s;
    else
        close_stb(s);
    return status;
}

static enum ih_status open_bmp(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    return open_checked(src, options, check_bmp, info, state, err);
}

static enum ih_status open_psd(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    return open_checked(src, options, check_psd, info, state, err);
}

static enum ih_status open_tga(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    return open_checked(src, options, check_tga, info, state, err);
}

static enum ih_status decode(struct stb_state *s, struct ih_error *err)
{
    static const stbi_io_callbacks callbacks = {on_read, on_skip, at_end};
    int width, height, n_in_file, wanted = (int)s->n_channels;
    if (s->depth == 16)
        s->pixels = (uint8_t *)stbi_load_16_from_callbacks(&callbacks, s, &width, &height,
                                                           &n_in_file, wanted);
    else
        s->pixels = stbi_load_from_callbacks(&callbacks, s, &width, &height, &n_in_file, wanted);
    free(s->file);
    s->file = NULL;
    const char *reason = s->pixels ? "" : stbi_failure_reason();
    if (strcmp(reason, "outofmem") == 0)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (s->read_past_end)
        return ih_error_set(err, IH_CORRUPT, "damaged file: it ends before the image does");
    if (!s->pixels)
        return ih_error_set(err, IH_CORRUPT, "damaged file: %s", reason);
    if ((size_t)width * (size_t)height != s->n_pixels)
        return ih_error_set(err, IH_CORRUPT, "damaged file: two sizes");
    return IH_OK;
}

static enum ih_status read_stb(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct stb_state *s = state;
    if (!s->pixels) {
        enum ih_status status = decode(s, err);
        if (status != IH_OK)
            return status;
    }
    size_t left = s->n_pixels - s->n_pixels_given;
    size_t n = left < capacity_pixels ? left : capacity_pixels;
    size_t first = s->n_pixels_given * s->n_channels, n_samples = n * s->n_channels;
    if (s->depth == 16) {
        for (size_t i = 0; i < n_samples; i++) {
            uint16_t v;
            memcpy(&v, s->pixels + 2 * (first + i), sizeof v);
            pixels[i] = (uint8_t)((v * 255u + 32767u) / 65535u);
        }
    } else {
        memcpy(pixels, s->pixels + first, n_samples);
    }
    s->n_pixels_given += n;
    *n_pixels = n;
    return IH_OK;
}

const struct ih_decoder ih_decoder_bmp = {
    .name = "bmp",
    .title = "BMP, uncompressed, 1 to 32 bits",
    .version = version,
    .probe = probe_bmp,
    .open = open_bmp,
    .read = read_stb,
    .close = close_stb,
};

const struct ih_decoder ih_decoder_psd = {
    .name = "psd",
    .title = "PSD, flattened RGB, 8 and 16 bits",
    .version = version,
    .probe = probe_psd,
    .open = open_psd,
    .read = read_stb,
    .close = close_stb,
};

const struct ih_decoder ih_decoder_tga = {
    .name = "tga",
    .title = "TGA, palette, gray and colour, plain and run-length coded",
    .version = version,
    .probe = probe_tga,
    .open = open_tga,
    .read = read_stb,
    .close = close_stb,
};
