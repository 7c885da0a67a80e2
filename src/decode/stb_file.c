/*
 * stb_image behind callbacks, because it is forgiving where imghist must not be:
 * - stb reads zeros past the end of a file and calls it an image. Its input goes through callbacks
 *   over the file's bytes here, and a read past the end is remembered and makes the file truncated.
 * - stb allocates what a header claims. The longest run any of these formats can code is 128 pixels
 *   in a byte, so a header that claims more than that for the file's size is refused before; and
 * one that claims more than the limit is refused before the file is read.
 */
#include "decode/stb_file.h"

#include <stb/stb_image.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1 << 30, /* of these formats; stb counts bytes in int */
    PIXELS_PER_BYTE_MAX = 128 /* TGA and PackBits runs: 128 samples from 2 bytes; 1-bit BMP: 8 */
};

/*
 * stb reads in two ways: it refills a small buffer of its own, where coming back with less than
 * asked is how it learns of the end, and it reads straight into pixels, where less than asked is
 * damage. A refill that finds nothing at all means that stb wants a byte past the end.
 */
static int on_read(void *user, char *dst, int size)
{
    struct ih_stb_file *s = user;
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
    struct ih_stb_file *s = user;
    if (n >= 0 && (size_t)n <= s->file_bytes - s->position)
        s->position += (size_t)n;
    else
        s->read_past_end = true; /* no format here goes back */
}

static int at_end(void *user)
{
    const struct ih_stb_file *s = user;
    return s->position == s->file_bytes;
}

const char *ih_stb_version(void)
{
    return "stb_image";
}

void ih_stb_close(void *state)
{
    struct ih_stb_file *s = state;
    free(s->file);
    stbi_image_free(s->pixels);
    free(s);
}

enum ih_status ih_stb_short_palette(const char *format, unsigned index, unsigned n_entries,
                                    struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged %s: colour %u of a palette of %u", format, index,
                        n_entries);
}

/* What stb would get wrong, then the header's claims. */
static enum ih_status inspect(struct ih_stb_file *s, const struct ih_stb_format *format,
                              struct ih_image_info *info, struct ih_error *err)
{
    int width, height, n_channels;
    s->depth = 8;
    enum ih_status status = format->check(s, err);
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
                                 const struct ih_stb_format *format, struct ih_error *err)
{
    const uint8_t *header;
    size_t n;
    uint64_t width, height;
    enum ih_status status = ih_source_peek(src, IH_STB_HEADER_BYTES, &header, &n, err);
    if (status != IH_OK || n < IH_STB_HEADER_BYTES)
        return status; /* too short for an image: stb finds the end */
    format->size(header, &width, &height);
    return ih_decode_check_pixels(width, height, options->max_pixels, err);
}

enum ih_status ih_stb_open(struct ih_source *src, const struct ih_decode_options *options,
                           const struct ih_stb_format *format, struct ih_image_info *info,
                           void **state, struct ih_error *err)
{
    enum ih_status status = check_size(src, options, format, err);
    if (status != IH_OK)
        return status;
    struct ih_stb_file *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    status = ih_source_read_all(src, FILE_BYTES_MAX, &s->file, &s->file_bytes, err);
    if (status == IH_OK)
        status = inspect(s, format, info, err);
    if (status == IH_OK)
        *state = s;
    else
        ih_stb_close(s);
    return status;
}

static enum ih_status decode(struct ih_stb_file *s, struct ih_error *err)
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

enum ih_status ih_stb_read(void *state, uint8_t *pixels, size_t capacity_pixels, size_t *n_pixels,
                           struct ih_error *err)
{
    struct ih_stb_file *s = state;
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
