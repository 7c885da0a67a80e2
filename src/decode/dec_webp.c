/*
 * WebP through libwebp: lossy, lossless, alpha, and the first frame of an animation.
 *
 * libwebp needs the complete file and returns the complete image, so both are held in memory. Its
 * incremental interface would save only the file's bytes, about a tenth of the memory. A lossless
 * image is exact. A lossy one has libwebp's own upsampling, like in every program that uses
 * libwebp.
 *
 * The first frame of an animation lies on a canvas. The part that it does not cover is transparent
 * black, as in libwebp's animation decoder. The background colour in the file is only a hint,
 * according to the format's specification.
 *
 * With takes_frames, libwebp's animation decoder composes each frame on the canvas.
 */
#include "decode/composed.h"
#include "decode/metadata.h"
#include "decode/whole_file.h"

#include <webp/decode.h>
#include <webp/demux.h>

struct webp_state {
    struct ih_whole_file whole;
    uint64_t width, height;
    unsigned n_channels;
    bool is_animated, takes_frames;
    WebPAnimDecoder *frames;   /* owned; NULL: only the first frame is decoded */
    struct ih_composed canvas; /* of frames */
};

static enum ih_status webp_failed(VP8StatusCode code, struct ih_error *err)
{
    switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
        return ih_error_set(err, IH_MEMORY, "out of memory");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return ih_error_set(err, IH_CORRUPT, "damaged WebP: the file ends before the image does");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return ih_error_set(err, IH_UNSUPPORTED, "WebP with a feature that libwebp does not know");
    default:
        return ih_error_set(err, IH_CORRUPT, "damaged WebP: a bad bitstream");
    }
}

static void close_webp(void *state)
{
    struct webp_state *s = state;
    WebPAnimDecoderDelete(s->frames);
    ih_whole_file_close(&s->whole);
}

/* Finds the first frame and its position on the canvas. The caller releases the iterator and the
 * demuxer, also after an error. */
static enum ih_status webp_first_frame(const struct webp_state *s, WebPDemuxer **demuxer,
                                       WebPIterator *frame, struct ih_error *err)
{
    const WebPData data = {s->whole.file, s->whole.file_bytes};
    *demuxer = WebPDemux(&data);
    if (!*demuxer || !WebPDemuxGetFrame(*demuxer, 1, frame))
        return ih_error_set(err, IH_CORRUPT, "damaged WebP: the animation is broken or cut short");
    return IH_OK;
}

/* A file that the demuxer does not take has no known metadata. A lossy image is YCbCr of limited
 * range. */
static void webp_read_metadata(const struct webp_state *s, bool is_lossy,
                               struct ih_image_info *info)
{
    const WebPData data = {s->whole.file, s->whole.file_bytes};
    WebPChunkIterator exif;
    WebPDemuxer *demuxer = WebPDemux(&data);
    info->range = s->is_animated ? IH_RANGE_UNKNOWN : is_lossy ? IH_RANGE_LIMITED : IH_RANGE_FULL;
    if (!demuxer)
        return;
    info->n_frames = WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT);
    if (WebPDemuxGetI(demuxer, WEBP_FF_FORMAT_FLAGS) & ICCP_FLAG)
        info->not_applied |= IH_NOT_APPLIED_ICC_PROFILE;
    if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &exif)) {
        const size_t n = exif.chunk.size < IH_METADATA_BYTES ? exif.chunk.size : IH_METADATA_BYTES;
        info->not_applied |= ih_exif_not_applied(exif.chunk.bytes, n);
        info->orientation = ih_exif_orientation(exif.chunk.bytes, n);
        WebPDemuxReleaseChunkIterator(&exif);
    }
    WebPDemuxDelete(demuxer);
}

/* Reads the features of the image from the complete file. */
static enum ih_status webp_inspect(struct webp_state *s, struct ih_image_info *info,
                                   struct ih_error *err)
{
    enum { LOSSY = 1 };
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(s->whole.file, s->whole.file_bytes, &features);
    if (code != VP8_STATUS_OK)
        return webp_failed(code, err);
    if ((uint64_t)features.width != s->width || (uint64_t)features.height != s->height)
        return ih_error_set(err, IH_CORRUPT, "damaged WebP: two sizes");
    s->is_animated = features.has_animation;
    bool has_alpha = features.has_alpha;
    if (s->is_animated) {
        WebPDemuxer *demuxer;
        WebPIterator frame = {0};
        enum ih_status status = webp_first_frame(s, &demuxer, &frame, err);
        has_alpha = has_alpha || frame.has_alpha || frame.width != features.width ||
                    frame.height != features.height;
        WebPDemuxReleaseIterator(&frame);
        WebPDemuxDelete(demuxer);
        if (status != IH_OK)
            return status;
    }
    s->n_channels = has_alpha ? 4 : 3;
    webp_read_metadata(s, features.format == LOSSY, info);
    return IH_OK;
}

/* Starts the animation decoder, which has two canvases, and decodes the first frame later. */
static enum ih_status webp_open_frames(struct webp_state *s, struct ih_error *err)
{
    const WebPData data = {s->whole.file, s->whole.file_bytes};
    WebPAnimDecoderOptions how;
    if (ih_whole_file_more(&s->whole, s->width * s->height * 8, err) != IH_OK)
        return err->status;
    if (!WebPAnimDecoderOptionsInit(&how))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "cannot decode WebP: libwebp has another version than at build time");
    how.color_mode = MODE_RGBA;
    s->frames = WebPAnimDecoderNew(&data, &how);
    if (!s->frames)
        return ih_error_set(err, IH_CORRUPT, "damaged WebP: the animation is broken or cut short");
    return IH_OK;
}

/* Composes the next frame. */
static enum ih_status webp_decode_next(struct webp_state *s, struct ih_error *err)
{
    uint8_t *rgba;
    int ignored_ms;
    if (!WebPAnimDecoderGetNext(s->frames, &rgba, &ignored_ms))
        return ih_error_set(err, IH_CORRUPT, "damaged WebP: a bad bitstream");
    ih_composed_begin(&s->canvas, rgba, (size_t)(s->width * s->height));
    return IH_OK;
}

static enum ih_status next_webp(void *state, struct ih_image_info *info, bool *has_next,
                                struct ih_error *err)
{
    struct webp_state *s = state;
    *has_next = s->frames && WebPAnimDecoderHasMoreFrames(s->frames);
    if (!*has_next)
        return IH_OK;
    enum ih_status status = webp_decode_next(s, err);
    info->layout = ih_layout_of(s->canvas.n_channels);
    return status;
}

static enum ih_status open_webp(struct ih_reader *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void *state, struct ih_error *err)
{
    const uint8_t *head;
    size_t n;
    WebPBitstreamFeatures features;
    if (ih_reader_peek(src, IH_PROBE_BYTES, &head, &n, err) != IH_OK)
        return err->status;
    if (n > IH_PROBE_BYTES) /* treat a file exactly like a pipe, which may have no more yet */
        n = IH_PROBE_BYTES;
    VP8StatusCode code = WebPGetFeatures(head, n, &features);
    if (code != VP8_STATUS_OK)
        return webp_failed(code, err);
    if (ih_decode_check_pixels((uint64_t)features.width, (uint64_t)features.height,
                               options->max_pixels, err) != IH_OK)
        return err->status;
    struct webp_state *s = state;
    s->width = (uint64_t)features.width;
    s->height = (uint64_t)features.height;
    /* The image, and as much again for libwebp's buffers of a lossless image or of alpha. */
    enum ih_status status =
        ih_whole_file_open(&s->whole, src, options, s->width * s->height * 8, err);
    if (status == IH_OK)
        status = webp_inspect(s, info, err);
    s->takes_frames = options->takes_frames && s->is_animated;
    info->width = s->width;
    info->height = s->height;
    info->layout = ih_layout_of(s->n_channels);
    info->source_depth = 8;
    return status;
}

/* Decodes the bytes of one frame into the image, from pixel `at` on. */
static enum ih_status webp_decode_frame(struct webp_state *s, const uint8_t *bytes, size_t size,
                                        size_t at, struct ih_error *err)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "cannot decode WebP: libwebp has another version than at build time");
    config.output.colorspace = s->n_channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = s->whole.pixels + at * s->n_channels;
    config.output.u.RGBA.stride = (int)(s->width * s->n_channels);
    config.output.u.RGBA.size = (s->whole.n_pixels - at) * s->n_channels;
    VP8StatusCode code = WebPDecode(bytes, size, &config);
    return code == VP8_STATUS_OK ? IH_OK : webp_failed(code, err);
}

static enum ih_status webp_decode(struct webp_state *s, struct ih_error *err)
{
    enum ih_status status = ih_whole_file_image(&s->whole, s->width, s->height, s->n_channels, err);
    if (status != IH_OK)
        return status;
    if (s->is_animated) {
        WebPDemuxer *demuxer;
        WebPIterator frame = {0};
        status = webp_first_frame(s, &demuxer, &frame, err);
        if (status == IH_OK) /* the demuxer has checked that the frame lies within the canvas */
            status = webp_decode_frame(
                s, frame.fragment.bytes, frame.fragment.size,
                (size_t)frame.y_offset * (size_t)s->width + (size_t)frame.x_offset, err);
        WebPDemuxReleaseIterator(&frame);
        WebPDemuxDelete(demuxer);
    } else {
        status = webp_decode_frame(s, s->whole.file, s->whole.file_bytes, 0, err);
    }
    ih_whole_file_free_bytes(&s->whole);
    return status;
}

static enum ih_status read_webp(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct webp_state *s = state;
    if (s->takes_frames) {
        if (!s->frames) {
            s->canvas.n_channels = 4; /* not to be looked for */
            if (webp_open_frames(s, err) != IH_OK || webp_decode_next(s, err) != IH_OK)
                return err->status;
            s->canvas.n_channels = s->n_channels;
        }
        *n_pixels = ih_composed_give(&s->canvas, pixels, capacity_pixels);
        return IH_OK;
    }
    if (!s->whole.pixels && webp_decode(s, err) != IH_OK)
        return err->status;
    *n_pixels = ih_whole_file_read(&s->whole, pixels, capacity_pixels);
    return IH_OK;
}

const struct ih_decoder ih_decoder_webp = {
    .name = "webp",
    .is_isolated = true,
    .title = "WebP, lossy and lossless, alpha, the first frame of animations, or all",
    .version = "libwebp " IH_LIBRARY_webp,
    .probe = ih_probe_webp,
    .state_bytes = sizeof(struct webp_state),
    .open = open_webp,
    .read = read_webp,
    .next = next_webp,
    .close = close_webp,
};
