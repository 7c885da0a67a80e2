/*
 * HEIC and AVIF through libheif. File and image are held in memory.
 *
 * The file states how its picture is cropped, rotated and mirrored. Unlike EXIF's hint this is part
 * of the format, so it is applied: the crop removes padding that the encoder needed. libheif
 * converts YCbCr to RGB with the matrix that the file names; no colour profile is applied.
 * Premultiplied alpha is left as it is. 10 and 12 bits are rounded to 8.
 *
 * A monochrome picture is counted as gray. heif_boxes.c reads from the boxes that it is monochrome,
 * because old versions of libheif do not report it, and decode a grid of such pictures only to RGB.
 * So every picture is decoded to RGB. A monochrome picture is counted by one channel, after a check
 * that all three are equal. libheif expands limited range (16 to 235 with 8 bits) only in colour
 * pictures; here it is expanded in monochrome ones too.
 *
 * Versions of libheif ignore properties that they do not know, although the file marks them as
 * essential, and leave alpha in limited range. heif_boxes.c reads both from the boxes.
 *
 * libheif conceals damage where it can and reports it as a warning. Here a warning is an error,
 * unless it is only about the description of the colours.
 *
 * libde265, the usual decoder of HEVC, reports no error for some damaged files and leaves blocks
 * unwritten. Counts would then depend on the earlier contents of the memory. So HEVC is decoded
 * twice, with new memory filled in two ways, and an image that differs is damaged. A HEIC of 3
 * megapixels takes 1.8 times the CPU time. AVIF is decoded once.
 */
#include "base/dynlib.h"
#include "decode/boxes.h"
#include "decode/heif_boxes.h"
#include "decode/metadata.h"
#include "decode/new_memory.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <libheif/heif.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Memory in samples a pixel: YCbCr with alpha in the codec and in libheif, and RGBA; for HEVC
     * RGBA again. */
    HELD_SAMPLES = 12,
    HELD_SAMPLES_HEVC = 16
};

/* The functions of libheif that are called. */
#if LIBHEIF_HAVE_VERSION(1, 19, 0)
#define HEIF_LIMIT_CALLS(F)                                            \
    F(struct heif_security_limits *, heif_context_get_security_limits, \
      (const struct heif_context *))
#else
#define HEIF_LIMIT_CALLS(F) \
    F(void, heif_context_set_maximum_image_size_limit, (struct heif_context *, int))
#endif
#define HEIF_CALLS(F)                                                                              \
    F(const char *, heif_get_version, (void))                                                      \
    F(struct heif_error, heif_init, (struct heif_init_params *))                                   \
    F(struct heif_context *, heif_context_alloc, (void))                                           \
    F(void, heif_context_free, (struct heif_context *))                                            \
    F(void, heif_context_set_max_decoding_threads, (struct heif_context *, int))                   \
    HEIF_LIMIT_CALLS(F)                                                                            \
    F(struct heif_error, heif_context_read_from_memory_without_copy,                               \
      (struct heif_context *, const void *, size_t, const struct heif_reading_options *))          \
    F(int, heif_context_get_number_of_top_level_images, (struct heif_context *))                   \
    F(int, heif_context_get_list_of_top_level_image_IDs,                                           \
      (struct heif_context *, heif_item_id *, int))                                                \
    F(struct heif_error, heif_context_get_primary_image_ID,                                        \
      (struct heif_context *, heif_item_id *))                                                     \
    F(struct heif_error, heif_context_get_image_handle,                                            \
      (struct heif_context *, heif_item_id, struct heif_image_handle **))                          \
    F(int, heif_image_handle_get_width, (const struct heif_image_handle *))                        \
    F(int, heif_image_handle_get_height, (const struct heif_image_handle *))                       \
    F(int, heif_image_handle_get_luma_bits_per_pixel, (const struct heif_image_handle *))          \
    F(int, heif_image_handle_has_alpha_channel, (const struct heif_image_handle *))                \
    F(enum heif_color_profile_type, heif_image_handle_get_color_profile_type,                      \
      (const struct heif_image_handle *))                                                          \
    F(struct heif_error, heif_image_handle_get_nclx_color_profile,                                 \
      (const struct heif_image_handle *, struct heif_color_profile_nclx **))                       \
    F(struct heif_error, heif_image_get_nclx_color_profile,                                        \
      (const struct heif_image *, struct heif_color_profile_nclx **))                              \
    F(void, heif_nclx_color_profile_free, (struct heif_color_profile_nclx *))                      \
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

struct heif_calls {
    HEIF_CALLS(IH_DYNLIB_MEMBER)
};
IH_DYNLIB_LOADER(HEIF_CALLS, struct heif_calls, IH_SONAME_heif)

/* The first heif_init loads the codecs; further ones only count. */
static enum ih_status load_codecs(struct heif_calls *calls, struct ih_error *err)
{
    enum ih_status status = load(calls, err);
    if (status == IH_OK)
        calls->heif_init(NULL);
    return status;
}

static enum ih_status prepare(struct ih_error *err)
{
    struct heif_calls calls;
    return load_codecs(&calls, err);
}

struct heif_state {
    struct heif_calls lib;
    struct ih_whole_file whole;
    struct heif_context *context;     /* owned */
    struct heif_image_handle *handle; /* owned */
    struct heif_image *image;         /* owned; NULL until decoded */
    size_t width, height, row;        /* row: the next one to return */
    unsigned n_channels;              /* of image: 3, or 4 with alpha */
    bool takes_native;
    struct ih_native native;
    uint64_t max_pixels, file_taken_bytes;
    heif_item_id *images; /* owned: the top-level images, the primary one first */
    unsigned n_images, n_begun;
    struct ih_heif_boxes told;         /* is_gray: one channel of the colours is returned */
    bool is_hevc;                      /* the codec of the picture or of a part of it */
    int bits;                          /* a sample */
    bool is_deep;                      /* more than 8 of them */
    bool is_limited, alpha_is_limited; /* gray or alpha of limited range, expanded here */
    const uint8_t *plane;              /* interleaved samples of image */
    size_t stride;
    uint32_t max; /* largest sample of a deep image */
};

static enum ih_status heif_failed(const struct heif_state *s, struct heif_error e,
                                  struct ih_error *err)
{
    char text[IH_MESSAGE_MAX], type[5];
    bool is_blamed;
    snprintf(text, sizeof text, "%s", e.message ? e.message : "no reason given");
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    switch (e.code) {
    case heif_error_Memory_allocation_error:
        return ih_error_set(
            err, e.subcode == heif_suberror_Security_limit_exceeded ? IH_LIMIT : IH_MEMORY,
            "HEIF: %s", text);
    case heif_error_Invalid_input:
        /* libheif blames the item or the whole file if it does not know the item's type, or a box
         * that belongs to it, or that the type needs no bytes. The format's rules are broken if
         * there is no such item. Other errors are damage if all versions read the type. */
        is_blamed = e.subcode == heif_suberror_Nonexisting_item_referenced ||
                    e.subcode == heif_suberror_No_item_data ||
                    e.subcode == heif_suberror_No_meta_box;
        if (!ih_heif_boxes_primary(s->whole.file, s->whole.file_bytes, type) ||
            (!is_blamed &&
             (strstr("hvc1 av01 grid iovl iden", type) || e.subcode == heif_suberror_End_of_data)))
            break;
        if (is_blamed && strcmp(type, "hvc1") != 0 && strcmp(type, "av01") != 0)
            snprintf(text, sizeof text, "an image of the type '%s'", type);
        /* fallthrough */
    case heif_error_Usage_error:
    case heif_error_Unsupported_filetype:
    case heif_error_Unsupported_feature:
    case heif_error_Plugin_loading_error: /* also: no decoder is installed */
        return ih_error_set(err, IH_UNSUPPORTED, "HEIF that is not supported by libheif %s: %s",
                            s->lib.heif_get_version(), text);
    default:
        break;
    }
    return ih_error_set(err, IH_CORRUPT, "damaged HEIF: %s", text);
}

static void close_heif(void *state)
{
    struct heif_state *s = state;
    if (s->context) { /* otherwise libheif may not be loaded */
        s->lib.heif_image_release(s->image);
        s->lib.heif_image_handle_release(s->handle);
        s->lib.heif_context_free(s->context);
    }
    ih_whole_file_close(&s->whole);
    free(s->images);
}

/* ---- header ---- */

/* Whether the file contains the configuration of an HEVC decoder. Searches the bytes, because
 * libheif may find a box that a strict parser does not. */
static bool heif_has_hevc(const uint8_t *file, size_t size_bytes)
{
    for (const uint8_t *p = file, *end = file + size_bytes; end - p >= 4; p++) {
        p = memchr(p, 'h', (size_t)(end - p) - 3);
        if (!p)
            return false;
        if (memcmp(p, "hvcC", 4) == 0)
            return true;
    }
    return false;
}

/* libheif's own limits refuse some images that max_pixels allows. Before it reads the boxes, they
 * are raised to max_pixels, and before it decodes, to what an image of this size needs. They are
 * not turned off, because a hostile file may contain larger images than it states. */
#if LIBHEIF_HAVE_VERSION(1, 19, 0)
enum {
    ITEMS_MAX = 65535
}; /* as their numbers have 16 bits; libheif allows 1,000: 260 megapixels */

static void heif_set_limits_of_boxes(struct heif_state *s, uint64_t max_pixels)
{
    struct heif_security_limits *limits = s->lib.heif_context_get_security_limits(s->context);
    if (limits->max_image_size_pixels < max_pixels)
        limits->max_image_size_pixels = max_pixels;
    if (limits->max_items < ITEMS_MAX)
        limits->max_items = ITEMS_MAX;
}

static void heif_set_limits_of_image(struct heif_state *s, uint64_t width, uint64_t height)
{
    struct heif_security_limits *limits = s->lib.heif_context_get_security_limits(s->context);
    const uint64_t n_bytes = width * height * HELD_SAMPLES * 2; /* both are int: no overflow */
    if (limits->max_memory_block_size < n_bytes)
        limits->max_memory_block_size = n_bytes;
#if LIBHEIF_HAVE_VERSION(1, 20, 0)
    if (limits->version >= 2 && limits->max_total_memory < n_bytes)
        limits->max_total_memory = n_bytes;
#endif
}
#else
static void heif_set_limits_of_boxes(struct heif_state *s, uint64_t max_pixels)
{
    (void)max_pixels;
    s->lib.heif_context_set_maximum_image_size_limit(s->context, INT_MAX);
}

static void heif_set_limits_of_image(struct heif_state *s, uint64_t width, uint64_t height)
{
    enum { SIDE_MAX = 32768 }; /* the default; sides must be less */
    const uint64_t side = width > height ? width : height;
    s->lib.heif_context_set_maximum_image_size_limit(s->context, side < SIDE_MAX  ? SIDE_MAX
                                                                 : side < INT_MAX ? (int)side + 1
                                                                                  : INT_MAX);
}
#endif

/* The box nclx has code points and range; a file without it may state them elsewhere. */
static void heif_read_metadata(const struct heif_state *s, struct ih_image_info *info)
{
    struct heif_color_profile_nclx *nclx = NULL;
    const enum heif_color_profile_type type =
        s->lib.heif_image_handle_get_color_profile_type(s->handle);
    if (type == heif_color_profile_type_rICC || type == heif_color_profile_type_prof)
        info->not_applied |= IH_NOT_APPLIED_ICC_PROFILE;
    s->lib.heif_image_handle_get_nclx_color_profile(s->handle, &nclx);
    if (!nclx)
        return;
    info->not_applied |=
        ih_code_points_not_applied(nclx->color_primaries, nclx->transfer_characteristics);
    info->range = nclx->full_range_flag ? IH_RANGE_FULL : IH_RANGE_LIMITED;
    s->lib.heif_nclx_color_profile_free(nclx);
}

/* Lists the images of the file. The frames of a sequence are in a track instead, which is not read:
 * its first frame is the primary image, too. */
static enum ih_status heif_list_images(struct heif_state *s, bool is_sequence,
                                       struct ih_image_info *info, struct ih_error *err)
{
    int n = s->lib.heif_context_get_number_of_top_level_images(s->context);
    heif_item_id primary;
    const struct heif_error e = s->lib.heif_context_get_primary_image_ID(s->context, &primary);
    if (e.code != heif_error_Ok)
        return heif_failed(s, e, err);
    s->n_images = n > 0 ? (unsigned)n : 1;
    s->images = calloc(s->n_images, sizeof *s->images);
    if (!s->images)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (n > 0)
        s->lib.heif_context_get_list_of_top_level_image_IDs(s->context, s->images, n);
    n = (int)ih_heif_boxes_own_images(s->whole.file, s->whole.file_bytes, s->images, s->n_images);
    s->n_images = n > 0 ? (unsigned)n : 1;
    for (unsigned i = s->n_images - 1; i > 0; i--) /* the others keep their order */
        if (s->images[i] == primary) {
            s->images[i] = s->images[i - 1];
            s->images[i - 1] = primary;
        }
    s->images[0] = primary;
    info->n_frames = is_sequence ? 0 : s->n_images;
    info->warnings |= is_sequence ? IH_WARNING_MORE_IMAGES : 0;
    return IH_OK;
}

static enum ih_status heif_decode(struct heif_state *s, struct ih_error *err);

/* Opens the next image of the list. */
static enum ih_status heif_open_image(struct heif_state *s, struct ih_image_info *info,
                                      struct ih_error *err)
{
    const heif_item_id item = s->images[s->n_begun++];
    if (ih_heif_boxes_read(s->whole.file, s->whole.file_bytes, item, &s->told, err) != IH_OK)
        return err->status;
    const struct heif_error e = s->lib.heif_context_get_image_handle(s->context, item, &s->handle);
    if (e.code != heif_error_Ok)
        return heif_failed(s, e, err);
    int width = s->lib.heif_image_handle_get_width(s->handle);
    int height = s->lib.heif_image_handle_get_height(s->handle);
    int bits = s->lib.heif_image_handle_get_luma_bits_per_pixel(s->handle);
    if (width <= 0 || height <= 0)
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: it has no pixels");
    if (bits < 1)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "HEIF that is not supported by libheif %s: an unknown codec",
                            s->lib.heif_get_version());
    if (bits > 16)
        return ih_error_set(err, IH_UNSUPPORTED, "HEIF with %d bits a sample is not supported",
                            bits);
    if (ih_decode_check_pixels((uint64_t)width, (uint64_t)height, s->max_pixels, err) != IH_OK)
        return err->status;
    heif_set_limits_of_image(s, (uint64_t)width, (uint64_t)height);
    s->width = (size_t)width;
    s->height = (size_t)height;
    s->bits = bits;
    s->is_deep = bits > 8;
    s->n_channels = s->lib.heif_image_handle_has_alpha_channel(s->handle) ? 4 : 3;
    /* libheif leaves alpha out if it differs in size from the colours, and transforms it by its own
     * properties. Some writers give them to the colours alone. */
    if (s->told.has_alpha && (s->n_channels != 4 || s->told.alpha_differs))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "HEIF with alpha of another size, crop, rotation or mirroring than its "
                            "colours is not supported");
    info->layout = ih_layout_of(s->n_channels - (s->told.is_gray ? 2 : 0));
    info->source_depth = (unsigned)bits;
    const struct ih_sample_range none = {0, 0};
    if (ih_native_choose(&s->native, s->takes_native, none, (1u << bits) - 1, err) != IH_OK)
        return err->status;
    info->type = s->native.type;
    info->n_bins = s->native.n_bins;
    heif_read_metadata(s, info);
    const uint64_t n_samples = (uint64_t)width * (uint64_t)height *
                               (unsigned)(s->is_hevc ? HELD_SAMPLES_HEVC : HELD_SAMPLES);
    enum ih_status status = ih_whole_file_more(&s->whole, n_samples * (s->is_deep ? 2 : 1), err);
    if (status == IH_OK && s->told.is_turned_first) /* libheif knows the size after decoding */
        status = heif_decode(s, err);
    info->width = s->width;
    info->height = s->height;
    return status;
}

static enum ih_status heif_read_header(struct heif_state *s,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info, struct ih_error *err)
{
    s->file_taken_bytes = s->whole.taken_bytes;
    s->max_pixels = options->max_pixels;
    s->takes_native = options->takes_native;
    s->is_hevc = heif_has_hevc(s->whole.file, s->whole.file_bytes);
    s->context = s->lib.heif_context_alloc();
    if (!s->context)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.heif_context_set_max_decoding_threads(s->context, 0);
    heif_set_limits_of_boxes(s, options->max_pixels);
    struct ih_heif_hidden hidden = {.n = 0};
    const bool is_sequence =
        ih_box_find((struct ih_span){s->whole.file, s->whole.file_bytes}, "moov").n > 0;
    if (!ih_heif_boxes_prepare(s->whole.file, s->whole.file_bytes, &hidden))
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: the file ends inside its box 'mdat'");
    const struct heif_error e = s->lib.heif_context_read_from_memory_without_copy(
        s->context, s->whole.file, s->whole.file_bytes, NULL);
    ih_heif_boxes_restore(&hidden);
    if (e.code != heif_error_Ok)
        return heif_failed(s, e, err);
    enum ih_status status = heif_list_images(s, is_sequence, info, err);
    return status == IH_OK ? heif_open_image(s, info, err) : status;
}

static enum ih_status open_heif(struct ih_reader *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct heif_state *s = state;
    enum ih_status status = load_codecs(&s->lib, err);
    if (status == IH_OK)
        status = ih_whole_file_open(&s->whole, src, options, 0, err);
    if (status == IH_OK)
        status = heif_read_header(s, options, info, err);
    return status;
}

/* ---- image ---- */

/* Whether a warning is only about colours: libheif does not know the number of a colour space or
 * conversion, or the file and the codec state different ones. */
static bool heif_is_harmless(const struct heif_error *warning)
{
    switch (warning->subcode) {
    case heif_suberror_Unknown_NCLX_color_primaries:
    case heif_suberror_Unknown_NCLX_transfer_characteristics:
    case heif_suberror_Unknown_NCLX_matrix_coefficients:
#if LIBHEIF_HAVE_VERSION(1, 22, 0)
    case heif_suberror_NCLX_colr_VUI_mismatch:
#endif
        return true;
    default:
        return false;
    }
}

/* Asks for the number of warnings first, because some versions of libheif ignore the capacity of
 * the array. */
static enum ih_status heif_check_warnings(const struct heif_state *s, struct ih_error *err)
{
    struct heif_error none;
    const int n = s->lib.heif_image_get_decoding_warnings(s->image, 0, &none, 0);
    enum ih_status status = IH_OK;
    if (n <= 0)
        return IH_OK;
    struct heif_error *warnings = calloc((size_t)n, sizeof *warnings);
    if (!warnings)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.heif_image_get_decoding_warnings(s->image, 0, warnings, n);
    for (int i = 0; i < n && status == IH_OK; i++)
        if (!heif_is_harmless(&warnings[i]))
            status = ih_error_set(err, IH_CORRUPT, "damaged HEIF: %s",
                                  warnings[i].message ? warnings[i].message : "a warning");
    free(warnings);
    return status;
}

/* Returns true if a gray image has limited range. If neither a box nor the bits of AV1 or HEVC
 * state it, the image is decoded again as the codec stores it. Transformations would lose that. */
static bool heif_gray_is_limited(const struct heif_state *s, struct heif_decoding_options *options)
{
    struct heif_color_profile_nclx *nclx = NULL;
    struct heif_image *image = NULL;
    if (s->told.range != IH_RANGE_UNKNOWN)
        return s->told.range == IH_RANGE_LIMITED;
    options->ignore_transformations = 1;
    if (s->lib
            .heif_decode_image(s->handle, &image, heif_colorspace_undefined, heif_chroma_undefined,
                               options)
            .code == heif_error_Ok) {
        s->lib.heif_image_get_nclx_color_profile(image, &nclx);
        s->lib.heif_image_release(image);
    }
    const bool is_limited = nclx && !nclx->full_range_flag;
    if (nclx)
        s->lib.heif_nclx_color_profile_free(nclx);
    return is_limited;
}

/* Checks that the image matches the header, and that libheif invented no part of it. */
static enum ih_status heif_check_image(struct heif_state *s, struct ih_error *err)
{
    int stride = 0,
        bits = s->lib.heif_image_get_bits_per_pixel_range(s->image, heif_channel_interleaved);
    if (heif_check_warnings(s, err) != IH_OK)
        return err->status;
    s->plane = s->lib.heif_image_get_plane_readonly(s->image, heif_channel_interleaved, &stride);
    const int width = s->lib.heif_image_get_width(s->image, heif_channel_interleaved);
    const int height = s->lib.heif_image_get_height(s->image, heif_channel_interleaved);
    if (s->told.is_turned_first && width > 0 && height > 0) {
        s->width = (size_t)width;
        s->height = (size_t)height;
    }
    if (!s->plane || width != (int)s->width || height != (int)s->height)
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: two sizes");
    if (bits < 1 || bits > 16 || (bits > 8) != s->is_deep ||
        (size_t)stride < s->width * s->n_channels * (s->is_deep ? 2 : 1))
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: two depths");
    s->stride = (size_t)stride;
    s->max = (1u << bits) - 1;
    if (ih_is_native(s->native.type) && s->max != s->native.max)
        return ih_error_set(err, IH_CORRUPT, "damaged HEIF: two depths");
    s->is_limited = s->is_limited && bits >= 8;
    s->alpha_is_limited = s->told.alpha_range == IH_RANGE_LIMITED && bits >= 8;
    return IH_OK;
}

/* Whether there is memory for so many samples of each pixel. libheif calls its lack a codec's
 * error, or a conversion of colours that it does not support. Without volatile, clang would leave
 * malloc() out. */
static bool heif_has_memory(const struct heif_state *s, unsigned n_samples)
{
    size_t n;
    void *volatile memory = NULL;
    if (ih_size_multiply(s->width * s->height, n_samples * (s->is_deep ? 2 : 1), &n))
        memory = malloc(n);
    const bool has_memory = memory != NULL;
    free(memory);
    return has_memory;
}

static enum ih_status heif_decode_once(struct heif_state *s, struct ih_error *err)
{
    struct heif_decoding_options *options = s->lib.heif_decoding_options_alloc();
    if (!options)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    options->strict_decoding = 0; /* reports warnings, which heif_check_warnings judges */
    enum heif_chroma chroma =
        s->n_channels == 4 ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB;
    if (s->is_deep)
        chroma = s->n_channels == 4 ? heif_chroma_interleaved_RRGGBBAA_LE
                                    : heif_chroma_interleaved_RRGGBB_LE;
    struct heif_error e =
        s->lib.heif_decode_image(s->handle, &s->image, heif_colorspace_RGB, chroma, options);
    s->is_limited = s->told.is_gray && e.code == heif_error_Ok && heif_gray_is_limited(s, options);
    s->lib.heif_decoding_options_free(options);
    if (e.code != heif_error_Ok)
        return heif_has_memory(s, HELD_SAMPLES) ? heif_failed(s, e, err)
                                                : ih_error_set(err, IH_MEMORY, "out of memory");
    return heif_check_image(s, err);
}

/* New memory holds a third of the largest sample, then two thirds: values that no step clamps
 * alike. malloc() inverts the value that it is given. */
static enum ih_status heif_decode_twice(struct heif_state *s, struct ih_error *err)
{
    const int n_values = s->bits > 8 ? 1 << (s->bits - 8) : 256; /* of a sample's highest byte */
    ih_new_memory_take(); /* other threads only see other values in new memory */
    ih_new_memory_fill(255 - n_values / 3);
    enum ih_status status = heif_decode_once(s, err);
    struct heif_image *first = s->image;
    const uint8_t *first_plane = s->plane;
    const size_t first_stride = s->stride, first_width = s->width, first_height = s->height;
    s->image = NULL;
    ih_new_memory_fill(255 - 2 * n_values / 3);
    if (status == IH_OK)
        status = heif_decode_once(s, err);
    ih_new_memory_fill(0);
    ih_new_memory_give();
    const size_t row_bytes = s->width * s->n_channels * (s->is_deep ? 2 : 1);
    if (status == IH_OK && (s->width != first_width || s->height != first_height))
        status = ih_error_set(err, IH_CORRUPT, "damaged HEIF: two sizes");
    for (size_t y = 0; y < s->height && status == IH_OK; y++)
        if (memcmp(first_plane + y * first_stride, s->plane + y * s->stride, row_bytes) != 0)
            status = ih_error_set(err, IH_CORRUPT, "damaged HEIF: blocks are missing");
    s->lib.heif_image_release(first);
    return status;
}

/* libheif holds planes and their interleaved copy; 1.17 crashes if there is no memory for them. */
static enum ih_status heif_decode(struct heif_state *s, struct ih_error *err)
{
    if (!heif_has_memory(s, 2 * s->n_channels))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return s->is_hevc ? heif_decode_twice(s, err) : heif_decode_once(s, err);
}

/* Sample i of a row, scaled to 8 bits if it has more and they are not kept. */
static uint16_t heif_sample(const struct heif_state *s, const uint8_t *row, size_t i)
{
    if (!s->is_deep)
        return row[i];
    uint32_t v = ih_le16(row + 2 * i);
    v = v < s->max ? v : s->max;
    return ih_is_native(s->native.type) ? (uint16_t)v : ih_sample_scale(v, s->max);
}

/* Sample i of a row of limited range, expanded to 0 to 255: black and white are 16 and 235 with 8
 * bits (ITU-T H.273, 8.3). */
static uint8_t heif_expanded_sample(const struct heif_state *s, const uint8_t *row, size_t i)
{
    const uint32_t unit = (s->max + 1) / 256, black = 16 * unit, white = 235 * unit;
    const uint32_t v = s->is_deep ? ih_le16(row + 2 * i) : row[i];
    return v <= black ? 0 : v >= white ? 255 : ih_sample_scale(v - black, white - black);
}

/* A sample of alpha. Limited range is expanded at its own depth first, as in libavif. */
static uint16_t heif_alpha(const struct heif_state *s, const uint8_t *row, size_t i)
{
    if (!s->alpha_is_limited)
        return heif_sample(s, row, i);
    const uint32_t unit = (s->max + 1) / 256, black = 16 * unit, white = 235 * unit;
    const uint32_t v = s->is_deep ? ih_le16(row + 2 * i) : row[i], n = white - black;
    const uint32_t full = v <= black ? 0 : v >= white ? s->max : ((v - black) * s->max + n / 2) / n;
    return ih_is_native(s->native.type) ? (uint16_t)full : ih_sample_scale(full, s->max);
}

/* Writes sample i of the pixels. */
static void heif_put(const struct heif_state *s, uint8_t *pixels, size_t i, uint16_t v)
{
    if (ih_is_native(s->native.type))
        ih_native_put(pixels, i, v);
    else
        pixels[i] = (uint8_t)v;
}

/* Writes one of three equal colours, and alpha. */
static enum ih_status heif_convert_gray_row(const struct heif_state *s, uint8_t *pixels,
                                            struct ih_error *err)
{
    const uint8_t *row = s->plane + s->row * s->stride;
    const size_t sample_bytes = s->is_deep ? 2 : 1;
    size_t n = 0;
    if (s->is_limited && ih_is_native(s->native.type))
        return ih_native_refuse("gray HEIF of limited range", (unsigned)s->bits, err);
    for (size_t i = 0; i < s->width * s->n_channels; i += s->n_channels) {
        const uint8_t *red = row + i * sample_bytes;
        if (memcmp(red, red + sample_bytes, 2 * sample_bytes) != 0)
            return ih_error_set(err, IH_CORRUPT, "damaged HEIF: colours in a gray image");
        heif_put(s, pixels, n++,
                 s->is_limited ? heif_expanded_sample(s, row, i) : heif_sample(s, row, i));
        if (s->n_channels == 4)
            heif_put(s, pixels, n++, heif_alpha(s, row, i + 3));
    }
    return IH_OK;
}

static void heif_convert_row(const struct heif_state *s, uint8_t *pixels)
{
    const uint8_t *row = s->plane + s->row * s->stride;
    const size_t n = s->width * s->n_channels;
    if (!s->is_deep)
        memcpy(pixels, row, n);
    for (size_t i = 0; i < n && s->is_deep; i++)
        heif_put(s, pixels, i, heif_sample(s, row, i));
    for (size_t i = 3; i < n && s->alpha_is_limited; i += 4)
        heif_put(s, pixels, i, heif_alpha(s, row, i));
}

static enum ih_status read_heif(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct heif_state *s = state;
    size_t n = 0;
    if (!s->image && heif_decode(s, err) != IH_OK)
        return err->status;
    for (; s->row < s->height && capacity_pixels - n >= s->width; s->row++, n += s->width) {
        if (!s->told.is_gray)
            heif_convert_row(s, pixels + n * ih_pixel_bytes(s->n_channels, s->native.type));
        else if (heif_convert_gray_row(
                     s, pixels + n * ih_pixel_bytes(s->n_channels - 2, s->native.type), err) !=
                 IH_OK)
            return err->status;
    }
    *n_pixels = n;
    return IH_OK;
}

static enum ih_status next_heif(void *state, struct ih_image_info *info, bool *has_next,
                                struct ih_error *err)
{
    struct heif_state *s = state;
    *has_next = false;
    if (s->n_begun == s->n_images)
        return IH_OK;
    s->lib.heif_image_release(s->image);
    s->lib.heif_image_handle_release(s->handle);
    s->image = NULL;
    s->handle = NULL;
    s->row = 0;
    ih_budget_give(s->whole.budget, s->whole.taken_bytes - s->file_taken_bytes);
    s->whole.taken_bytes = s->file_taken_bytes;
    info->not_applied = 0;
    info->range = IH_RANGE_UNKNOWN;
    *has_next = true;
    return heif_open_image(s, info, err);
}

const struct ih_decoder ih_decoder_heif = {
    .name = "heif",
    .is_isolated = true,
    .prepare = prepare,
    .title = "HEIC and AVIF, 8 to 12 bits, gray, alpha",
    .version = "libheif " IH_LIBRARY_heif,
    .probe = ih_probe_heif,
    .state_bytes = sizeof(struct heif_state),
    .open = open_heif,
    .read = read_heif,
    .next = next_heif,
    .close = close_heif,
};
