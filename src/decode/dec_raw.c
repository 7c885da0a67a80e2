/*
 * Headerless interleaved samples of 8, 16 or 32 bits (--raw), unsigned, signed or float, from any
 * file, device or pipe, counted as they arrive.
 *
 * There is no header, so the image is one row as long as the input, unless the caller knows its
 * size: then images follow each other. The only possible damage is an end in the middle of a pixel
 * or of an image; a file whose size is known is refused for it at once.
 */
#include "decode/decoder.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"

#include <limits.h>

enum { RAW_PIECE_BYTES = 16 * 1024 };

struct raw_state {
    struct ih_reader *src; /* borrowed */
    unsigned n_channels;
    uint64_t n_pixels, n_left; /* of an image, and to be read; n_pixels 0: up to the end */
    enum ih_raw_depth depth;
    struct ih_sample_range sample_range;
    struct ih_native native;
    struct ih_extremes *extremes;   /* borrowed: the caller's; of 16 bits */
    uint8_t piece[RAW_PIECE_BYTES]; /* of samples of 16 bits */
};

static const struct {
    enum ih_sample_type type; /* of the samples in the file */
    bool is_big_endian;
} raw_kinds[IH_RAW_DEPTHS] = {
    [IH_RAW_8] = {IH_UINT8, false},         [IH_RAW_16LE] = {IH_UINT16, false},
    [IH_RAW_16BE] = {IH_UINT16, true},      [IH_RAW_8S] = {IH_INT8, false},
    [IH_RAW_16SLE] = {IH_INT16, false},     [IH_RAW_16SBE] = {IH_INT16, true},
    [IH_RAW_F16LE] = {IH_FLOAT16, false},   [IH_RAW_F16BE] = {IH_FLOAT16, true},
    [IH_RAW_BF16LE] = {IH_BFLOAT16, false}, [IH_RAW_BF16BE] = {IH_BFLOAT16, true},
    [IH_RAW_F32LE] = {IH_FLOAT32, false},   [IH_RAW_F32BE] = {IH_FLOAT32, true}};

static unsigned raw_pixel_bytes(unsigned n_channels, enum ih_raw_depth depth)
{
    return n_channels * ih_sample_bytes(raw_kinds[depth].type);
}

/* Checks a file of a known size: the limit, and that only whole images follow the first. Sets the
 * number of images. */
static enum ih_status check_size(const struct ih_reader *src,
                                 const struct ih_decode_options *options,
                                 struct ih_image_info *info, struct ih_error *err)
{
    const unsigned pixel_bytes = raw_pixel_bytes(options->raw_channels, options->raw_depth);
    uint64_t n_bytes;
    if (!ih_reader_size_left(src, &n_bytes))
        return IH_OK;
    const uint64_t n_pixels = n_bytes / pixel_bytes;
    const uint64_t n_in_image = options->raw_width * options->raw_height;
    if (n_in_image == 0)
        return n_pixels <= options->max_pixels
                   ? IH_OK
                   : ih_error_set_limit(err, IH_LIMIT_MAX_PIXELS, options->max_pixels,
                                        "image too large: %llu pixels, the limit is %llu",
                                        (unsigned long long)n_pixels,
                                        (unsigned long long)options->max_pixels);
    const uint64_t n_images = n_pixels / n_in_image;
    const bool is_whole = n_bytes % pixel_bytes == 0 && n_pixels % n_in_image == 0;
    if (!options->takes_frames && n_images > 0 && !is_whole)
        return ih_error_set(err, IH_CORRUPT,
                            "holds %.10g images of %llu x %llu pixels of %u channels, which is no "
                            "whole number",
                            (double)n_bytes / pixel_bytes / (double)n_in_image,
                            (unsigned long long)options->raw_width,
                            (unsigned long long)options->raw_height, options->raw_channels);
    info->n_frames = n_images > UINT_MAX ? UINT_MAX : (unsigned)n_images;
    return IH_OK;
}

static enum ih_status open_raw(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    const uint8_t *bytes;
    size_t n;
    if (ih_reader_peek(src, 1, &bytes, &n, err) != IH_OK)
        return err->status;
    if (n == 0)
        return ih_error_set(err, IH_CORRUPT, "the file is empty: it has no samples");
    if (check_size(src, options, info, err) != IH_OK)
        return err->status;
    struct raw_state *s = state;
    s->src = src;
    s->n_channels = options->raw_channels;
    s->n_pixels = s->n_left = options->raw_width * options->raw_height;
    info->width = options->raw_width;
    info->height = options->raw_height;
    info->layout = ih_layout_of(s->n_channels);
    s->depth = options->raw_depth;
    info->type = raw_kinds[s->depth].type;
    info->source_depth = 8 * ih_sample_bytes(info->type);
    if (!ih_is_unsigned(info->type)) {
        info->n_bins = info->type == IH_FLOAT32 ? IH_FLOAT_BINS : 1u << info->source_depth;
        return IH_OK;
    }
    info->range = IH_RANGE_FULL;
    s->sample_range = options->sample_range;
    s->extremes = &info->extremes;
    const enum ih_status status =
        ih_native_choose(&s->native, options->takes_native, options->sample_range,
                         (1u << info->source_depth) - 1, err);
    info->type = s->native.type;
    info->n_bins = s->native.n_bins;
    return status;
}

/* Converts n unsigned samples of 16 bits; the first is of the first channel. */
static void convert_deep(const struct raw_state *s, size_t n, uint8_t *pixels)
{
    const unsigned n_colours = ih_layout_of(s->n_channels).n_colours;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = s->piece + 2 * i;
        const unsigned v = s->depth == IH_RAW_16LE ? ih_le16(at) : ih_be16(at);
        const bool is_colour = i % s->n_channels < n_colours;
        if (is_colour)
            ih_extremes_add(s->extremes, v);
        if (ih_is_native(s->native.type))
            ih_native_put(pixels, i, ih_native_of(&s->native, v, !is_colour));
        else
            pixels[i] =
                is_colour ? ih_sample_scale_range(v, s->sample_range) : ih_sample_scale_16(v);
    }
}

static enum ih_status read_raw(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct raw_state *s = state;
    const unsigned pixel_bytes = raw_pixel_bytes(s->n_channels, s->depth);
    const enum ih_sample_type type = raw_kinds[s->depth].type;
    const bool is_deep = type == IH_UINT16;
    size_t got;
    if (s->n_pixels && s->n_left < capacity_pixels)
        capacity_pixels = (size_t)s->n_left;
    if (is_deep && capacity_pixels > RAW_PIECE_BYTES / pixel_bytes)
        capacity_pixels = RAW_PIECE_BYTES / pixel_bytes;
    if (ih_reader_read(s->src, is_deep ? s->piece : pixels, capacity_pixels * pixel_bytes, &got,
                       err) != IH_OK)
        return err->status;
    if (got % pixel_bytes != 0)
        return ih_error_set(err, IH_CORRUPT,
                            "the samples end in the middle of a pixel of %u channels",
                            s->n_channels);
    *n_pixels = got / pixel_bytes;
    if (is_deep)
        convert_deep(s, *n_pixels * s->n_channels, pixels);
    else
        ih_copy_samples(pixels, pixels, *n_pixels * s->n_channels, ih_sample_bytes(type),
                        raw_kinds[s->depth].is_big_endian);
    s->n_left -= s->n_pixels ? *n_pixels : 0;
    return IH_OK;
}

static enum ih_status next_raw(void *state, struct ih_image_info *info, bool *has_next,
                               struct ih_error *err)
{
    struct raw_state *s = state;
    const uint8_t *bytes;
    size_t n;
    (void)info;
    enum ih_status status = ih_reader_peek(s->src, 1, &bytes, &n, err);
    *has_next = status == IH_OK && n > 0;
    s->n_left = s->n_pixels;
    return status;
}

const struct ih_decoder ih_decoder_raw = {
    .name = "raw",
    .title = "headerless interleaved samples, 8 or 16 bits, also signed and float, and float32 "
             "(--raw=CHANNELS)",
    .version = IH_DECODER_OWN_VERSION,
    .state_bytes = sizeof(struct raw_state),
    .open = open_raw,
    .read = read_raw,
    .next = next_raw,
};
