/*
 * HEIC and AVIF through libheif, held whole.
 *
 * The file says how its picture is cropped, rotated and mirrored, and unlike EXIF's hint this is
 * part of the format, so it is done: the crop removes padding that an encoder needed. Colours are
 * the library's conversion of YCbCr with the matrix that the file names; no profile is applied.
 * Alpha that is multiplied into the colours is left there. 10 and 12 bits are rounded to 8.
 *
 * A monochrome picture is gray. That it is one the file's boxes say; old versions of the library do
 * not, and decode a grid of such pictures to RGB alone. So it is decoded to RGB in any case, and
 * one channel is taken once all three have been found to be the same.
 *
 * libheif conceals damage where it can and notes it as a warning; here each is an error.
 */
#include "base/dynlib.h"
#include "decode/heif_boxes.h"
#include "decode/held.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"
#include "decode/signatures.h"

#include <libheif/heif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE_MAX = 32768, /* libheif's own limit is its square, in pixels */
    /* YCbCr with alpha in the decoder and in the library, and RGBA, in samples a pixel */
    HELD_SAMPLES = 12
};

/* What is called of the library. */
#define HEIF_CALLS(F)                                                                              \
    F(struct heif_error, heif_init, (struct heif_init_params *))                                   \
    F(struct heif_context *, heif_context_alloc, (void))                                           \
    F(void, heif_context_free, (struct heif_context *))                                            \
    F(void, heif_context_set_max_decoding_threads, (struct heif_context *, int))                   \
    F(void, heif_context_set_maximum_image_size_limit, (struct heif_context *, int))               \
    F(struct heif_error, heif_context_read_from_memory_without_copy,                               \
      (struct heif_context *, const void *, size_t, const struct heif_reading_options *))          \
    F(struct heif_error, heif_context_get_primary_image_handle,                                    \
      (struct heif_context *, struct heif_image_handle **))                                        \
    F(int, heif_image_handle_get_width, (const struct heif_image_handle *))                        \
    F(int, heif_image_handle_get_height, (const struct heif_image_handle *))                       \
    F(int, heif_image_handle_get_luma_bits_per_pixel, (const struct heif_image_handle *))          \
    F(int, heif_image_handle_has_alpha_channel, (const struct heif_image_handle *))                \
    F(void, heif_image_handle_release, (const struct heif_image_handle *))                         \
    F(struct heif_decoding_options *, heif_decoding_options_alloc, (void))                         \
    F(void, heif_decoding_options_free, (struct heif_decoding_options *))                          \
    F(struct heif_error, heif_decode_image,                                                        \
      (const struct heif_image_handle *, struct heif_image **, enum heif_colorspace,               \
       enum heif_chroma, const struct heif_decoding_options *))                                    \
    F(int, heif_image_get_decoding_warnings, (struct heif_image *, int, struct heif_error *, int)) \
    F(const uint8_t *, heif_image_get_plane_readonly,                                              \
      (const struct heif_image *, enum heif_channel, int *))                                       \
    F(int, heif_image_get_width, (const struct heif_image *, enum heif_channel))                   \
    F(int, heif_image_get_height, (const struct heif_image *, enum heif_channel))                  \
    F(int, heif_image_get_bits_per_pixel_range, (const struct heif_image *, enum heif_channel))    \
    F(void, heif_image_release, (const struct heif_image *))

HEIF_CALLS(IH_DYNLIB_CHECK)
struct heif_calls {
    HEIF_CALLS(IH_DYNLIB_MEMBER)
};
static const char *const call_names[] = {HEIF_CALLS(IH_DYNLIB_NAME)};

static enum ih_status load(struct heif_calls *calls, struct ih_error *err)
{
    return ih_dynlib_load(IH_SONAME_heif, call_names, sizeof call_names / sizeof *call_names, calls,
                          err);
}

/* The library loads its own decoders when it starts. */
static enum ih_status prepare(struct ih_error *err)
{
    struct heif_calls calls;
    enum ih_status status = load(&calls, err);
    if (status == IH_OK)
        calls.heif_init(NULL);
    return status;
}

struct heif_state {
    struct heif_calls lib;
    struct ih_held whole;
    struct heif_context *context;     /* owned */
    struct heif_image_handle *handle; /* owned */
    struct heif_image *image;         /* owned; NULL until decoded */
    size_t width, height, row;        /* row: the next one */
    unsigned n_channels;              /* decoded: 3, or 4 with alpha */
    bool is_gray;                     /* of the colours one is given */
    bool is_deep;                     /* more than 8 bits a sample */
    const uint8_t *plane;             /* of image */
    size_t stride;
    uint32_t max; /* greatest sample of a deep image */
};

static enum ih_status failed(struct heif_error e, struct ih_error *err)
{
    enum ih_status status = IH_CORRUPT;
    char text[IH_MESSAGE_MAX];
    snprintf(text, sizeof text, "%s", e.message ? e.message : "no reason given");
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    if (e.code == heif_error_Memory_allocation_error)
        status = e.subcode == heif_suberror_Security_limit_exceeded ? IH_LIMIT : IH_MEMORY;
    else if (e.code == heif_error_Unsupported_filetype || e.code == heif_error_Unsupported_feature)
        status = IH_UNSUPPORTED;
    return ih_error_set(err, status, "%s: %s",
                        status == IH_CORRUPT       ? "damaged HEIF"
                        : status == IH_UNSUPPORTED ? "HEIF that this libheif does not decode"
                                                   : "HEIF",
                        text);
}

static void close_heif(void *state)
{
    struct heif_state *s = state;
    if (s->context) { /* else the library may not be there */
        s->lib.heif_image_release(s->image);
        s->lib.heif_image_handle_release(s->handle);
        s->lib.heif_context_free(s->context);
    }
    ih_held_close(&s->whole);
    free(s);
}

static int side_limit(uint64_t max_pixels)
{
    int side = 1;
    while (side < SIDE_MAX && (uint64_t)side * (uint64_t)side < max_pixels)
        side *= 2;
    return side;
}

static enum ih_status read_header(struct heif_state *s, const struct ih_decode_options *options,
                                  struct ih_image_info *info, struct ih_error *err)
{
    s->context = s->lib.heif_context_alloc();
    if (!s->context)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.heif_context_set_max_decoding_threads(s->context, 0);
    s->lib.heif_context_set_maximum_image_size_limit(s->context, side_limit(options->max_pixels));
    struct heif_error e = s->lib.heif_context_read_from_memory_without_copy(
        s->context, s->whole.file, s->whole.file_bytes, NULL);
    if (e.code == heif_error_Ok)
        e = s->lib.heif_context_get_primary_image_handle(s->context, &s->handle);
    if (e.code != heif_error_Ok)
        return failed(e, err);
    int width = s->lib.heif_image_handle_get_width(s->handle);
    int height = s->lib.heif_image_handle_get_height(s->handle);
    int bits = s->lib.heif_image_handle_get_luma_bits_per_pixel(s->handle);
    if (width <= 0 || height <= 0)
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: it has no pixels");
    if (bits < 1 || bits > 16)
        return ih_error_set(err, IH_UNSUPPORTED, "HEIF with %d bits a sample is not supported",
                            bits);
    enum ih_status status =
        ih_decode_check_pixels((uint64_t)width, (uint64_t)height, options->max_pixels, err);
    if (status != IH_OK)
        return status;
    s->width = (size_t)width;
    s->height = (size_t)height;
    s->is_deep = bits > 8;
    s->is_gray = ih_heif_is_monochrome(s->whole.file, s->whole.file_bytes);
    s->n_channels = s->lib.heif_image_handle_has_alpha_channel(s->handle) ? 4 : 3;
    info->width = (uint64_t)width;
    info->height = (uint64_t)height;
    info->n_channels = s->n_channels - (s->is_gray ? 2 : 0);
    info->source_depth = (unsigned)bits;
    return ih_held_more(
        &s->whole, (uint64_t)width * (uint64_t)height * HELD_SAMPLES * (s->is_deep ? 2 : 1), err);
}

static enum ih_status open_heif(struct ih_source *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void **state, struct ih_error *err)
{
    struct heif_state *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = ih_held_open(&s->whole, src, options, 0, err);
    if (status == IH_OK)
        status = read_header(s, options, info, err);
    if (status == IH_OK)
        *state = s;
    else
        close_heif(s);
    return status;
}

/* What was decoded is what the header said, and nothing of it was made up. */
static enum ih_status check_image(struct heif_state *s, struct ih_error *err)
{
    struct heif_error warning;
    int stride = 0,
        bits = s->lib.heif_image_get_bits_per_pixel_range(s->image, heif_channel_interleaved);
    if (s->lib.heif_image_get_decoding_warnings(s->image, 0, &warning, 1) > 0)
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: %s",
                            warning.message ? warning.message : "a warning");
    s->plane = s->lib.heif_image_get_plane_readonly(s->image, heif_channel_interleaved, &stride);
    if (!s->plane ||
        s->lib.heif_image_get_width(s->image, heif_channel_interleaved) != (int)s->width ||
        s->lib.heif_image_get_height(s->image, heif_channel_interleaved) != (int)s->height)
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: two sizes");
    if (bits < 1 || bits > 16 || (bits > 8) != s->is_deep ||
        (size_t)stride < s->width * s->n_channels * (s->is_deep ? 2 : 1))
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: two depths");
    s->stride = (size_t)stride;
    s->max = (1u << bits) - 1;
    return IH_OK;
}

static enum ih_status decode(struct heif_state *s, struct ih_error *err)
{
    struct heif_decoding_options *options = s->lib.heif_decoding_options_alloc();
    if (!options)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    options->strict_decoding = 1;
    enum heif_chroma chroma =
        s->n_channels == 4 ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB;
    if (s->is_deep)
        chroma = s->n_channels == 4 ? heif_chroma_interleaved_RRGGBBAA_LE
                                    : heif_chroma_interleaved_RRGGBB_LE;
    struct heif_error e =
        s->lib.heif_decode_image(s->handle, &s->image, heif_colorspace_RGB, chroma, options);
    s->lib.heif_decoding_options_free(options);
    return e.code == heif_error_Ok ? check_image(s, err) : failed(e, err);
}

/* Sample i of a row, in 8 bits. */
static uint8_t sample(const struct heif_state *s, const uint8_t *row, size_t i)
{
    if (!s->is_deep)
        return row[i];
    uint32_t v = ih_le16(row + 2 * i);
    return ih_sample_scale(v < s->max ? v : s->max, s->max);
}

/* One of three equal colours, and alpha. */
static enum ih_status convert_gray_row(const struct heif_state *s, uint8_t *pixels,
                                       struct ih_error *err)
{
    const uint8_t *row = s->plane + s->row * s->stride;
    const size_t sample_bytes = s->is_deep ? 2 : 1;
    for (size_t i = 0; i < s->width * s->n_channels; i += s->n_channels) {
        const uint8_t *red = row + i * sample_bytes;
        if (memcmp(red, red + sample_bytes, 2 * sample_bytes) != 0)
            return ih_error_set(err, IH_CORRUPT, "damaged HEIF: colours in a gray image");
        *pixels++ = sample(s, row, i);
        if (s->n_channels == 4)
            *pixels++ = sample(s, row, i + 3);
    }
    return IH_OK;
}

static void convert_row(const struct heif_state *s, uint8_t *pixels)
{
    const uint8_t *row = s->plane + s->row * s->stride;
    const size_t n = s->width * s->n_channels;
    if (!s->is_deep)
        memcpy(pixels, row, n);
    for (size_t i = 0; i < n && s->is_deep; i++)
        pixels[i] = sample(s, row, i);
}

static enum ih_status read_heif(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct heif_state *s = state;
    size_t n = 0;
    if (!s->image && decode(s, err) != IH_OK)
        return err->status;
    for (; s->row < s->height && capacity_pixels - n >= s->width; s->row++, n += s->width) {
        if (!s->is_gray)
            convert_row(s, pixels + n * s->n_channels);
        else if (convert_gray_row(s, pixels + n * (s->n_channels - 2), err) != IH_OK)
            return err->status;
    }
    *n_pixels = n;
    return IH_OK;
}

static const char *version(void)
{
    return "libheif " IH_LIBRARY_heif;
}

const struct ih_decoder ih_decoder_heif = {
    .name = "heif",
    .is_isolated = true,
    .prepare = prepare,
    .title = "HEIC and AVIF, 8 to 12 bits, gray, alpha",
    .version = version,
    .probe = ih_probe_heif,
    .open = open_heif,
    .read = read_heif,
    .close = close_heif,
};
