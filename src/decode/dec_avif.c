/*
 * AVIF image sequences through libavif; libheif decodes still pictures (dec_heif.c), and libheif of
 * most systems decodes no sequences. Files whose main brand is "avis" come here.
 *
 * libavif's own conversion to RGB is used, not that of libyuv: its pixels depend neither on the
 * processor nor on how libavif was built. It upsamples chroma bilinearly. 10 and 12 bits are
 * rounded to 8, limited range is expanded, and alpha that is multiplied into the colours stays so.
 * A monochrome sequence is counted as gray.
 */
#include "base/dynlib.h"
#include "decode/composed.h"
#include "decode/heif_boxes.h"
#include "decode/held.h"
#include "decode/metadata.h"
#include "decode/samples.h"

#include <avif/avif.h>
#include <stdlib.h>

/* Frames that the codec keeps: the references of AV1, and those that it works on. */
enum { CODEC_FRAMES = 10 };

/* The functions of libavif that are called. */
#define AVIF_CALLS(F)                                                               \
    F(avifDecoder *, avifDecoderCreate, (void))                                     \
    F(void, avifDecoderDestroy, (avifDecoder *))                                    \
    F(avifResult, avifDecoderSetIOMemory, (avifDecoder *, const uint8_t *, size_t)) \
    F(avifResult, avifDecoderParse, (avifDecoder *))                                \
    F(avifResult, avifDecoderNextImage, (avifDecoder *))                            \
    F(void, avifRGBImageSetDefaults, (avifRGBImage *, const avifImage *))           \
    F(avifResult, avifImageYUVToRGB, (const avifImage *, avifRGBImage *))           \
    F(const char *, avifResultToString, (avifResult))                               \
    F(const char *, avifVersion, (void))

IH_DYNLIB_DECODER(AVIF_CALLS, struct avif_calls, IH_SONAME_avif)

struct avif_state {
    struct avif_calls lib;
    struct ih_held held;
    avifDecoder *decoder; /* owned */
    uint32_t width, height, depth;
    bool is_gray, has_alpha;
    uint8_t *rgba;             /* owned, [height][width][4]; NULL until the first read */
    struct ih_composed canvas; /* gives rgba */
};

static enum ih_status avif_failed(const struct avif_state *s, avifResult result,
                                  struct ih_error *err)
{
    const char *text = s->lib.avifResultToString(result);
    const char *place = s->decoder->diag.error;
    switch (result) {
    case AVIF_RESULT_OUT_OF_MEMORY:
        return ih_error_set(err, IH_MEMORY, "out of memory");
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_NOT_IMPLEMENTED:
        return ih_error_set(err, IH_UNSUPPORTED, "AVIF that is not supported by libavif %s: %s",
                            s->lib.avifVersion(), text);
    default:
        return ih_error_set(err, IH_CORRUPT, "damaged AVIF: %s%s%s", text, place[0] ? ": " : "",
                            place);
    }
}

static void close_avif(void *state)
{
    struct avif_state *s = state;
    if (s->decoder)
        s->lib.avifDecoderDestroy(s->decoder);
    ih_held_close(&s->held);
    free(s->rgba);
}

static void avif_read_metadata(const avifImage *image, struct ih_image_info *info)
{
    info->range = image->yuvRange == AVIF_RANGE_FULL ? IH_RANGE_FULL : IH_RANGE_LIMITED;
    info->not_applied =
        ih_code_points_not_applied(image->colorPrimaries, image->transferCharacteristics) |
        (image->icc.size > 0 ? IH_NOT_APPLIED_ICC_PROFILE : 0u);
}

static enum ih_status avif_read_header(struct avif_state *s,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info, struct ih_error *err)
{
    s->decoder = s->lib.avifDecoderCreate();
    if (!s->decoder)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->decoder->maxThreads = 1;
    s->decoder->strictFlags = AVIF_STRICT_DISABLED; /* some writers leave properties out */
    ih_heif_boxes_prepare(s->held.file, s->held.file_bytes);
    avifResult result = s->lib.avifDecoderSetIOMemory(s->decoder, s->held.file, s->held.file_bytes);
    if (result == AVIF_RESULT_OK)
        result = s->lib.avifDecoderParse(s->decoder);
    if (result != AVIF_RESULT_OK)
        return avif_failed(s, result, err);
    const avifImage *image = s->decoder->image;
    if (image->width == 0 || image->height == 0 || image->depth < 8 || image->depth > 12)
        return ih_error_set(err, IH_CORRUPT, "damaged AVIF: it has no pixels");
    if (image->transformFlags & ~(unsigned)AVIF_TRANSFORM_PASP)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "AVIF: an image sequence that is cropped, rotated or mirrored is not "
                            "supported");
    s->width = image->width;
    s->height = image->height;
    s->depth = image->depth;
    s->is_gray = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
    s->has_alpha = s->decoder->alphaPresent;
    if (options->takes_native && s->depth > 8) /* libavif converts colours to 8 bits */
        return ih_native_refuse("AVIF image sequence", s->depth, err);
    info->width = s->width;
    info->height = s->height;
    info->n_channels = s->canvas.n_channels = (s->is_gray ? 1u : 3u) + s->has_alpha;
    info->source_depth = s->depth;
    info->n_frames = s->decoder->imageCount > 0 ? (unsigned)s->decoder->imageCount : 0;
    avif_read_metadata(image, info);
    if (ih_decode_check_pixels(s->width, s->height, options->max_pixels, err) != IH_OK)
        return err->status;
    const uint64_t pixel_bytes = 4 + CODEC_FRAMES * info->n_channels * (s->depth > 8 ? 2 : 1);
    return ih_held_more(&s->held, (uint64_t)s->width * s->height * pixel_bytes, err);
}

static enum ih_status open_avif(struct ih_source *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct avif_state *s = state;
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = ih_held_open(&s->held, src, options, 0, err);
    if (status == IH_OK)
        status = avif_read_header(s, options, info, err);
    return status;
}

/* Decodes the next frame, which must be what the header states. */
static enum ih_status avif_decode_frame(struct avif_state *s, struct ih_error *err)
{
    avifRGBImage rgb;
    const avifImage *image = s->decoder->image;
    const size_t n_pixels = (size_t)s->width * s->height; /* checked when rgba was allocated */
    avifResult result = s->lib.avifDecoderNextImage(s->decoder);
    if (result != AVIF_RESULT_OK)
        return avif_failed(s, result, err);
    if (image->width != s->width || image->height != s->height || image->depth != s->depth ||
        (image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400) != s->is_gray ||
        (image->alphaPlane != NULL) != s->has_alpha)
        return ih_error_set(err, IH_CORRUPT, "damaged AVIF: its frames differ from its header");
    s->lib.avifRGBImageSetDefaults(&rgb, image);
    rgb.depth = 8;
    rgb.format = AVIF_RGB_FORMAT_RGBA;
    rgb.avoidLibYUV = AVIF_TRUE;
    rgb.alphaPremultiplied = image->alphaPremultiplied;
    rgb.pixels = s->rgba;
    rgb.rowBytes = s->width * 4;
    result = s->lib.avifImageYUVToRGB(image, &rgb);
    if (result != AVIF_RESULT_OK)
        return avif_failed(s, result, err);
    ih_composed_begin(&s->canvas, s->rgba, n_pixels);
    return IH_OK;
}

static enum ih_status read_avif(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct avif_state *s = state;
    if (!s->rgba) {
        size_t n;
        if (ih_size_multiply(s->width, s->height, &n))
            s->rgba = calloc(n, 4);
        if (!s->rgba)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        if (avif_decode_frame(s, err) != IH_OK)
            return err->status;
    }
    *n_pixels = ih_composed_give(&s->canvas, pixels, capacity_pixels);
    return IH_OK;
}

static enum ih_status next_avif(void *state, struct ih_image_info *info, bool *has_next,
                                struct ih_error *err)
{
    struct avif_state *s = state;
    (void)info; /* the same for all frames */
    *has_next = s->decoder->imageIndex + 1 < s->decoder->imageCount;
    return *has_next ? avif_decode_frame(s, err) : IH_OK;
}

const struct ih_decoder ih_decoder_avif = {
    .name = "avif",
    .is_isolated = true,
    .prepare = prepare,
    .title = "AVIF image sequences, the first frame, or all frames",
    .version = "libavif " IH_LIBRARY_avif,
    .probe = ih_probe_avif,
    .state_bytes = sizeof(struct avif_state),
    .open = open_avif,
    .read = read_avif,
    .next = next_avif,
    .close = close_avif,
};
