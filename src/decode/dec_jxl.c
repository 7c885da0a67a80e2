/*
 * JPEG XL through libjxl, which decodes into one buffer. File and image are held in memory.
 *
 * Lossless images are exact. A lossy image is stored in its own colour space (XYB). It is converted
 * to the colour space of the encoder's input, so that it counts like the same picture in another
 * format. If only an ICC profile describes that space, the image is converted to sRGB, because
 * libjxl has no colour management. Orientation and alpha are left as stored. libjxl composes the
 * frames of an animation.
 *
 * Samples of any depth but 8 are requested as 16 bits and rounded to 8 here, because some versions
 * of libjxl dither when they change the depth to 8.
 *
 * libjxl would return the available part of a truncated file; here it is an error. Its input is
 * never closed, because then it asks for more where a file was cut, and that is damage. It gives no
 * reason for any other failure, and sound files fail in older versions: these are not supported.
 *
 * Only colours and the first alpha are counted. The number of further channels (spot colours,
 * depth) is told.
 */
#include "base/dynlib.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <assert.h>
#include <jxl/decode.h>
#include <jxl/version.h>
#include <string.h>

/* Memory in bytes a sample: the image with 8 or 16 bits, and floats in two stages of libjxl. */
enum { HELD_BYTES = 9, HELD_BYTES_DEEP = 10 };

/* The functions of libjxl that are called. */
#if JPEGXL_NUMERIC_VERSION >= JPEGXL_COMPUTE_NUMERIC_VERSION(0, 9, 0)
#define JXL_PROFILE_ARGUMENTS (const JxlDecoder *, JxlColorProfileTarget, JxlColorEncoding *)
#else
#define JXL_PROFILE_ARGUMENTS \
    (const JxlDecoder *, const JxlPixelFormat *, JxlColorProfileTarget, JxlColorEncoding *)
#endif
#define JXL_CALLS(F)                                                                  \
    F(uint32_t, JxlDecoderVersion, (void))                                            \
    F(JxlDecoder *, JxlDecoderCreate, (const JxlMemoryManager *))                     \
    F(void, JxlDecoderDestroy, (JxlDecoder *))                                        \
    F(JxlDecoderStatus, JxlDecoderSubscribeEvents, (JxlDecoder *, int))               \
    F(JxlDecoderStatus, JxlDecoderSetKeepOrientation, (JxlDecoder *, JXL_BOOL))       \
    F(JxlDecoderStatus, JxlDecoderSetRenderSpotcolors, (JxlDecoder *, JXL_BOOL))      \
    F(JxlDecoderStatus, JxlDecoderSetInput, (JxlDecoder *, const uint8_t *, size_t))  \
    F(JxlDecoderStatus, JxlDecoderProcessInput, (JxlDecoder *))                       \
    F(JxlDecoderStatus, JxlDecoderGetBasicInfo, (const JxlDecoder *, JxlBasicInfo *)) \
    F(JxlDecoderStatus, JxlDecoderGetExtraChannelInfo,                                \
      (const JxlDecoder *, size_t, JxlExtraChannelInfo *))                            \
    F(JxlDecoderStatus, JxlDecoderGetColorAsEncodedProfile, JXL_PROFILE_ARGUMENTS)    \
    F(JxlDecoderStatus, JxlDecoderSetPreferredColorProfile,                           \
      (JxlDecoder *, const JxlColorEncoding *))                                       \
    F(JxlDecoderStatus, JxlDecoderImageOutBufferSize,                                 \
      (const JxlDecoder *, const JxlPixelFormat *, size_t *))                         \
    F(JxlDecoderStatus, JxlDecoderSetImageOutBuffer,                                  \
      (JxlDecoder *, const JxlPixelFormat *, void *, size_t))

IH_DYNLIB_DECODER(JXL_CALLS, struct jxl_calls, IH_SONAME_jxl)

struct jxl_state {
    struct jxl_calls lib;
    struct ih_whole_file whole;
    JxlDecoder *decoder; /* owned */
    JxlBasicInfo info;
    struct ih_image_info *told; /* borrowed: the caller's */
    unsigned n_channels;
    bool takes_frames;
    bool has_image; /* whole has the pixels of a frame */
    bool is_deep;   /* colour or alpha is not of 8 bits; libjxl returns 16 */
    struct ih_sample_range sample_range;
    struct ih_native native;
    uint8_t scaled[65536]; /* the 8-bit value of each sample value of a deep image */
};

static enum ih_status jxl_failed(const struct jxl_state *s, JxlDecoderStatus code,
                                 struct ih_error *err)
{
    if (code == JXL_DEC_NEED_MORE_INPUT)
        return ih_error_set(err, IH_CORRUPT,
                            "damaged JPEG XL: the file ends before the image does");
    const unsigned version = (unsigned)s->lib.JxlDecoderVersion(); /* of 0.7.1: 7001 */
    return ih_error_set(err, IH_UNSUPPORTED,
                        "JPEG XL that is not supported by libjxl %u.%u.%u: its codestream is "
                        "broken or needs a newer version",
                        version / 1000000, version / 1000 % 1000, version % 1000);
}

static void close_jxl(void *state)
{
    struct jxl_state *s = state;
    if (s->decoder) /* otherwise libjxl may not be loaded */
        s->lib.JxlDecoderDestroy(s->decoder);
    ih_whole_file_close(&s->whole);
}

static enum ih_status jxl_check_kind(struct jxl_state *s, struct ih_error *err)
{
    if (s->info.exponent_bits_per_sample != 0 || s->info.bits_per_sample > 16)
        return ih_error_set(err, IH_UNSUPPORTED, "JPEG XL with %u bits a sample%s is not supported",
                            s->info.bits_per_sample,
                            s->info.exponent_bits_per_sample ? " (floating point)" : "");
    for (uint32_t i = 0; i < s->info.num_extra_channels; i++) {
        JxlExtraChannelInfo extra;
        if (s->lib.JxlDecoderGetExtraChannelInfo(s->decoder, i, &extra) != JXL_DEC_SUCCESS)
            return jxl_failed(s, JXL_DEC_ERROR, err);
        if (extra.type == JXL_CHANNEL_BLACK)
            return ih_error_set(err, IH_UNSUPPORTED, "JPEG XL with CMYK is not supported");
    }
    return IH_OK;
}

static enum ih_status jxl_read_header(struct jxl_state *s, const struct ih_decode_options *options,
                                      struct ih_image_info *info, struct ih_error *err)
{
    s->decoder = s->lib.JxlDecoderCreate(NULL);
    if (!s->decoder)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.JxlDecoderSubscribeEvents(s->decoder, JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING |
                                                     JXL_DEC_FULL_IMAGE);
    s->lib.JxlDecoderSetKeepOrientation(s->decoder, JXL_TRUE);
    s->lib.JxlDecoderSetRenderSpotcolors(s->decoder, JXL_FALSE);
    s->lib.JxlDecoderSetInput(s->decoder, s->whole.file, s->whole.file_bytes);
    JxlDecoderStatus code = s->lib.JxlDecoderProcessInput(s->decoder);
    if (code != JXL_DEC_BASIC_INFO)
        return jxl_failed(s, code, err);
    if (s->lib.JxlDecoderGetBasicInfo(s->decoder, &s->info) != JXL_DEC_SUCCESS ||
        s->info.xsize == 0 || s->info.ysize == 0)
        return jxl_failed(s, JXL_DEC_ERROR, err);
    enum ih_status status =
        ih_decode_check_pixels(s->info.xsize, s->info.ysize, options->max_pixels, err);
    if (status == IH_OK)
        status = jxl_check_kind(s, err);
    if (status != IH_OK)
        return status;
    unsigned bits = s->info.bits_per_sample;
    s->n_channels = (s->info.num_color_channels == 1 ? 1u : 3u) + (s->info.alpha_bits > 0);
    s->is_deep = bits != 8 || (s->info.alpha_bits != 0 && s->info.alpha_bits != 8);
    info->width = s->info.xsize;
    info->height = s->info.ysize;
    info->layout = ih_layout_of(s->n_channels);
    info->source_depth = bits;
    if (ih_native_choose(&s->native, options->takes_native, options->sample_range,
                         ((uint64_t)1 << bits) - 1, err) != IH_OK)
        return err->status;
    info->type = s->native.type;
    info->n_bins = s->native.n_bins;
    info->range = IH_RANGE_FULL;
    info->n_frames = s->info.have_animation ? 0 : 1;
    if (s->info.have_animation && !options->takes_frames)
        info->warnings |= IH_WARNING_MORE_IMAGES;
    info->not_applied = s->info.orientation == JXL_ORIENT_IDENTITY ? 0 : IH_NOT_APPLIED_ORIENTATION;
    info->orientation = (unsigned)s->info.orientation;
    info->n_not_counted = s->info.num_extra_channels - (s->info.alpha_bits > 0);
    info->warnings |= info->n_not_counted > 0 ? IH_WARNING_EXTRA_SAMPLES : 0;
    s->told = info;
    uint64_t n_samples, n_pixels = (uint64_t)s->info.xsize * s->info.ysize;
    n_samples = n_pixels * (s->n_channels + s->info.num_extra_channels);
    if (n_pixels > UINT64_MAX / 65536 || s->info.num_extra_channels > 4096)
        return ih_error_set(err, IH_LIMIT, "JPEG XL with %u extra channels",
                            s->info.num_extra_channels);
    return ih_whole_file_more(&s->whole, n_samples * (s->is_deep ? HELD_BYTES_DEEP : HELD_BYTES),
                              err);
}

static enum ih_status open_jxl(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct jxl_state *s = state;
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = ih_whole_file_open(&s->whole, src, options, 0, err);
    s->sample_range = options->sample_range;
    s->takes_frames = options->takes_frames;
    if (status == IH_OK)
        status = jxl_read_header(s, options, info, err);
    return status;
}

/*
 * libjxl scales a sample v of the file to round(v * 65535 / max). With more than 8 bits, this
 * recovers v exactly before it rounds to 8.
 *
 * With fewer bits, the 16-bit value is rounded: the result is the same, round(v * 255 / max), since
 * v * 255 / max is never half-way between two integers, and neither is a 16-bit value divided by
 * 257. A lossy image keeps values between those of its depth.
 */
static uint32_t jxl_value(uint64_t sample, uint64_t max)
{
    return (uint32_t)((sample * max * 2 + 65535) / (2 * 65535));
}

static void jxl_fill_table(struct jxl_state *s)
{
    const unsigned bits = s->info.bits_per_sample;
    const uint64_t max = ((uint64_t)1 << bits) - 1;
    if (bits == 16) {
        ih_samples_fill_16(s->scaled, s->sample_range);
        return;
    }
    for (uint64_t i = 0; i < sizeof s->scaled; i++)
        s->scaled[i] =
            bits <= 8 ? ih_sample_scale_16((unsigned)i) : ih_sample_scale(jxl_value(i, max), max);
}

/* A lossy image whose colour space is an ICC profile would be returned as linear light by default.
 */
static void jxl_choose_colours(struct jxl_state *s)
{
    JxlColorEncoding own;
    const JxlColorEncoding srgb = {
        .color_space = s->info.num_color_channels == 1 ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB,
        .white_point = JXL_WHITE_POINT_D65,
        .primaries = JXL_PRIMARIES_SRGB,
        .transfer_function = JXL_TRANSFER_FUNCTION_SRGB,
        .rendering_intent = JXL_RENDERING_INTENT_RELATIVE,
    };
#if JPEGXL_NUMERIC_VERSION >= JPEGXL_COMPUTE_NUMERIC_VERSION(0, 9, 0)
    bool is_named = s->lib.JxlDecoderGetColorAsEncodedProfile(
                        s->decoder, JXL_COLOR_PROFILE_TARGET_ORIGINAL, &own) == JXL_DEC_SUCCESS;
#else
    bool is_named = s->lib.JxlDecoderGetColorAsEncodedProfile(s->decoder, NULL,
                                                              JXL_COLOR_PROFILE_TARGET_ORIGINAL,
                                                              &own) == JXL_DEC_SUCCESS;
#endif
    if (!s->info.uses_original_profile && !is_named)
        s->lib.JxlDecoderSetPreferredColorProfile(s->decoder, &srgb);
    else if (!is_named)
        s->told->not_applied |= IH_NOT_APPLIED_ICC_PROFILE;
    else if (own.transfer_function != srgb.transfer_function ||
             own.white_point != srgb.white_point ||
             (own.color_space == JXL_COLOR_SPACE_RGB && own.primaries != srgb.primaries))
        s->told->not_applied |= IH_NOT_APPLIED_COLOUR_SPACE;
}

static enum ih_status jxl_set_buffer(struct jxl_state *s, struct ih_error *err)
{
    const JxlPixelFormat format = {s->n_channels, s->is_deep ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8,
                                   JXL_NATIVE_ENDIAN, 0};
    const unsigned pixel_bytes = s->n_channels * (s->is_deep ? 2 : 1);
    size_t n_bytes;
    if (!s->whole.pixels &&
        ih_whole_file_image(&s->whole, s->info.xsize, s->info.ysize, pixel_bytes, err) != IH_OK)
        return err->status;
    if (s->lib.JxlDecoderImageOutBufferSize(s->decoder, &format, &n_bytes) != JXL_DEC_SUCCESS ||
        n_bytes != s->whole.n_pixels * pixel_bytes ||
        s->lib.JxlDecoderSetImageOutBuffer(s->decoder, &format, s->whole.pixels, n_bytes) !=
            JXL_DEC_SUCCESS)
        return ih_error_set(err, IH_CORRUPT, "damaged JPEG XL: two sizes");
    if (s->is_deep)
        jxl_fill_table(s);
    return IH_OK;
}

/* Decodes the next frame, which libjxl composes. There is none if has_image stays false. */
static enum ih_status jxl_decode(struct jxl_state *s, struct ih_error *err)
{
    bool has_buffer = false;
    for (;;) {
        JxlDecoderStatus code = s->lib.JxlDecoderProcessInput(s->decoder);
        switch (code) {
        case JXL_DEC_COLOR_ENCODING:
            jxl_choose_colours(s);
            break;
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
            if (has_buffer)
                return jxl_failed(s, JXL_DEC_ERROR, err);
            if (jxl_set_buffer(s, err) != IH_OK)
                return err->status;
            has_buffer = true;
            break;
        case JXL_DEC_FULL_IMAGE:
            if (!s->takes_frames)
                ih_whole_file_free_bytes(&s->whole);
            s->has_image = true;
            s->whole.n_given = 0;
            return has_buffer ? IH_OK : jxl_failed(s, JXL_DEC_ERROR, err);
        case JXL_DEC_SUCCESS:
            return s->whole.pixels ? IH_OK : jxl_failed(s, code, err);
        default:
            return jxl_failed(s, code, err);
        }
    }
}

/* Same as ih_whole_file_read, for samples of 16 bits. */
static size_t jxl_give_deep(struct jxl_state *s, uint8_t *pixels, size_t capacity_pixels)
{
    struct ih_whole_file *h = &s->whole;
    const size_t n_left = h->n_pixels - h->n_given;
    const size_t n = n_left < capacity_pixels ? n_left : capacity_pixels;
    assert(h->pixels);
    const uint8_t *samples = h->pixels + h->n_given * h->n_channels;
    for (size_t i = 0; i < n * s->n_channels; i++) {
        uint16_t v;
        memcpy(&v, samples + 2 * i, sizeof v);
        const bool is_alpha = s->info.alpha_bits > 0 && i % s->n_channels == s->n_channels - 1;
        if (ih_is_native(s->native.type)) {
            const uint32_t value = jxl_value(v, s->native.max);
            ih_native_put(pixels, i, ih_native_of(&s->native, value, is_alpha));
        } else {
            pixels[i] = is_alpha && s->sample_range.high ? ih_sample_scale_16(v) : s->scaled[v];
        }
    }
    h->n_given += n;
    return n;
}

static enum ih_status read_jxl(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct jxl_state *s = state;
    if (!s->has_image && jxl_decode(s, err) != IH_OK)
        return err->status;
    *n_pixels = s->is_deep ? jxl_give_deep(s, pixels, capacity_pixels)
                           : ih_whole_file_read(&s->whole, pixels, capacity_pixels);
    return IH_OK;
}

static enum ih_status next_jxl(void *state, struct ih_image_info *info, bool *has_next,
                               struct ih_error *err)
{
    struct jxl_state *s = state;
    (void)info;
    s->has_image = false;
    const enum ih_status status = s->info.have_animation ? jxl_decode(s, err) : IH_OK;
    *has_next = s->has_image;
    return status;
}

const struct ih_decoder ih_decoder_jxl = {
    .name = "jxl",
    .is_isolated = true,
    .prepare = prepare,
    .title = "JPEG XL, gray and colour, alpha, to 16 bits",
    .version = "libjxl " IH_LIBRARY_jxl,
    .probe = ih_probe_jxl,
    .state_bytes = sizeof(struct jxl_state),
    .open = open_jxl,
    .read = read_jxl,
    .next = next_jxl,
    .close = close_jxl,
};
