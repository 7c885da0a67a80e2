/*
 * JPEG 2000 through OpenJPEG: JP2 files and bare codestreams, also with HTJ2K's block coder. File
 * and image are held in memory.
 *
 * - Samples of 1 to 16 bits are scaled to 8; signed ones are shifted first.
 * - The first colour box states the colour space. An ICC profile only tells gray from RGB; it is
 *   not applied.
 * - Without a colour box, 1 or 2 components are gray, and 3 or 4 are RGB. Nothing but a colour box
 *   makes them YCbCr: readers that guess it from subsampled components disagree.
 * - The second or fourth component is alpha.
 * - YCbCr becomes RGB by the formula of opj_decompress, which repeats a chroma value for all pixels
 *   of its cell. Pillow's formula differs.
 *
 * OpenJPEG conceals damage: it fills missing tiles with black and does not report a missing end. So
 * this file counts the tile-parts before decoding, turns on OpenJPEG's strict mode, and treats a
 * warning during decoding as an error, unless no sample depends on it. The format has no checksums,
 * so other damage may go unnoticed.
 *
 * Source: ITU-T T.800 (JPEG 2000), annexes A (codestream) and I (boxes).
 */
#include "base/dynlib.h"
#include "decode/boxes.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <openjpeg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHANNELS_MAX = 4,
    SAMPLE_BYTES = 8,      /* for each sample: OpenJPEG's image and tile, and the code blocks */
    TILE_BYTES = 10 << 10, /* for each tile: its parameters in OpenJPEG */
    STREAM_BYTES = 1 << 16
};

/* The functions of OpenJPEG that are called. */
#define OPJ_CALLS(F)                                                                          \
    F(opj_codec_t *, opj_create_decompress, (OPJ_CODEC_FORMAT))                               \
    F(void, opj_destroy_codec, (opj_codec_t *))                                               \
    F(OPJ_BOOL, opj_set_warning_handler, (opj_codec_t *, opj_msg_callback, void *))           \
    F(OPJ_BOOL, opj_set_error_handler, (opj_codec_t *, opj_msg_callback, void *))             \
    F(void, opj_set_default_decoder_parameters, (opj_dparameters_t *))                        \
    F(OPJ_BOOL, opj_setup_decoder, (opj_codec_t *, opj_dparameters_t *))                      \
    F(OPJ_BOOL, opj_decoder_set_strict_mode, (opj_codec_t *, OPJ_BOOL))                       \
    F(opj_stream_t *, opj_stream_create, (OPJ_SIZE_T, OPJ_BOOL))                              \
    F(void, opj_stream_destroy, (opj_stream_t *))                                             \
    F(void, opj_stream_set_read_function, (opj_stream_t *, opj_stream_read_fn))               \
    F(void, opj_stream_set_skip_function, (opj_stream_t *, opj_stream_skip_fn))               \
    F(void, opj_stream_set_seek_function, (opj_stream_t *, opj_stream_seek_fn))               \
    F(void, opj_stream_set_user_data, (opj_stream_t *, void *, opj_stream_free_user_data_fn)) \
    F(void, opj_stream_set_user_data_length, (opj_stream_t *, OPJ_UINT64))                    \
    F(OPJ_BOOL, opj_read_header, (opj_stream_t *, opj_codec_t *, opj_image_t **))             \
    F(OPJ_BOOL, opj_decode, (opj_codec_t *, opj_stream_t *, opj_image_t *))                   \
    F(OPJ_BOOL, opj_end_decompress, (opj_codec_t *, opj_stream_t *))                          \
    F(void, opj_image_destroy, (opj_image_t *))                                               \
    F(const char *, opj_version, (void))

IH_DYNLIB_DECODER(OPJ_CALLS, struct opj_calls, IH_SONAME_jp2)

enum colours { UNSPECIFIED, GRAY, RGB, YCC };

struct jp2_state {
    struct opj_calls lib;
    struct ih_whole_file whole;
    opj_codec_t *codec;   /* owned */
    opj_stream_t *stream; /* owned */
    opj_image_t *image;   /* owned */
    size_t at;            /* the next byte that the stream reads */
    bool is_decoded;
    char reason[128]; /* OpenJPEG's first error, or warning while it decodes */

    /* From the boxes: */
    bool has_colour_box;
    enum colours colours;
    unsigned n_palette_channels; /* 0: no palette */

    unsigned n_channels;
    uint32_t width, height, row; /* row: the next one to return */
    const opj_image_comp_t *channels[CHANNELS_MAX];
    struct ih_sample_range sample_range;
    struct ih_image_info *info; /* borrowed: the caller's */
    struct ih_native native;
    uint8_t *scaled[CHANNELS_MAX]; /* owned; the 8-bit value of each sample value */
};

static enum ih_status jp2_damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged JPEG 2000: %s", what);
}

static enum ih_status jp2_unsupported(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_UNSUPPORTED, "JPEG 2000 with %s is not supported", what);
}

/* OpenJPEG reports in words only. */
static bool jp2_reason_has(const struct jp2_state *s, const char *const *words)
{
    while (*words && !strstr(s->reason, *words))
        words++;
    return *words != NULL;
}

static enum ih_status jp2_failed(const struct jp2_state *s, struct ih_error *err)
{
    static const char *const of_memory[] = {"ot enough memory", "annot allocate", "memory error",
                                            "ut of memory",     "system limits",  NULL};
    static const char *const of_limits[] = {"support",
                                            "take in charge",
                                            "mplementation limit",
                                            "larger than 30",
                                            "Cannot handle box of undefined",
                                            "Cannot handle box sizes",
                                            "Unknown marker",
                                            NULL};
    if (jp2_reason_has(s, of_memory))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (jp2_reason_has(s, of_limits))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "JPEG 2000 that is not supported by OpenJPEG %s: %s",
                            s->lib.opj_version(), s->reason);
    return jp2_damaged(err, s->reason[0] ? s->reason : "a bad codestream");
}

static void close_jp2(void *state)
{
    struct jp2_state *s = state;
    if (s->image)
        s->lib.opj_image_destroy(s->image);
    if (s->stream)
        s->lib.opj_stream_destroy(s->stream);
    if (s->codec)
        s->lib.opj_destroy_codec(s->codec);
    for (unsigned c = 0; c < CHANNELS_MAX; c++)
        free(s->scaled[c]);
    ih_whole_file_close(&s->whole);
}

/* ---- boxes ---- */

/* A colour box: method, precedence, approximation; then a number, or an ICC profile. */
static enum ih_status jp2_read_colours(struct jp2_state *s, const struct ih_span *box,
                                       struct ih_error *err)
{
    enum { ENUMERATED = 1, RESTRICTED_PROFILE = 2 };
    const unsigned method = box->n >= 7 ? box->p[0] : 0;
    if (s->has_colour_box || (method != ENUMERATED && method != RESTRICTED_PROFILE))
        return IH_OK; /* readers take the first box that they understand */
    s->has_colour_box = true;
    if (method == RESTRICTED_PROFILE) {
        const char *space = box->n >= 3 + 20 ? (const char *)box->p + 3 + 16 : "";
        s->colours = box->n < 3 + 20            ? UNSPECIFIED
                     : ih_box_is(space, "GRAY") ? GRAY
                     : ih_box_is(space, "RGB ") ? RGB
                                                : YCC;
        return s->colours == YCC
                   ? jp2_unsupported(err, "a profile for other colours than gray or RGB")
                   : IH_OK;
    }
    switch (ih_be32(box->p + 3)) {
    case 16:
        s->colours = RGB;
        return IH_OK;
    case 17:
        s->colours = GRAY;
        return IH_OK;
    case 18:
        s->colours = YCC;
        return IH_OK;
    default:
        return ih_error_set(err, IH_UNSUPPORTED, "JPEG 2000 with colour space %lu is not supported",
                            (unsigned long)ih_be32(box->p + 3));
    }
}

static enum ih_status jp2_read_header_boxes(struct jp2_state *s, struct ih_span boxes,
                                            struct ih_error *err)
{
    struct ih_span box;
    char type[4];
    while (ih_box_next(&boxes, type, &box)) {
        if (ih_box_is(type, "colr") && jp2_read_colours(s, &box, err) != IH_OK)
            return err->status;
        if (ih_box_is(type, "cmap"))
            s->n_palette_channels =
                box.n / 4 < CHANNELS_MAX + 1 ? (unsigned)(box.n / 4) : CHANNELS_MAX + 1;
    }
    return IH_OK;
}

/* Finds the codestream in the boxes of a JP2 file. */
static enum ih_status jp2_read_boxes(struct jp2_state *s, struct ih_span *codestream,
                                     struct ih_error *err)
{
    struct ih_span file = {s->whole.file, s->whole.file_bytes}, box;
    char type[4];
    while (ih_box_next(&file, type, &box)) {
        if (ih_box_is(type, "jp2h") && jp2_read_header_boxes(s, box, err) != IH_OK)
            return err->status;
        if (ih_box_is(type, "jp2c")) {
            *codestream = box;
            return IH_OK;
        }
    }
    return jp2_damaged(err, "the file ends before the image does");
}

/* ---- the codestream: is every tile-part present? ---- */

enum {
    BARE = 0xFF30,
    /* and 15 more: reserved markers without a segment */ SIZ = 0xFF51,
    SOT = 0xFF90,
    EOC = 0xFFD9,
    SIZ_BYTES = 36,
    SOT_BYTES = 12
};

/* The tile-parts of a tile. */
struct tile {
    uint16_t n_found;
    uint16_t n_stated; /* 0: the file does not state their number */
};

/* Counts the tile-parts of each tile. They follow each other up to the end marker. */
static enum ih_status jp2_count_tile_parts(struct ih_span c, struct tile *tiles, size_t n_tiles,
                                           struct ih_error *err)
{
    while (c.n >= 2 && ih_be16(c.p) == SOT) {
        if (c.n < SOT_BYTES || ih_be16(c.p + 4) >= n_tiles)
            return jp2_damaged(err, "a bad tile-part");
        struct tile *tile = &tiles[ih_be16(c.p + 4)];
        uint64_t n_bytes = ih_be32(c.p + 6);
        if (n_bytes == 0 && c.n >= SOT_BYTES + 2) /* up to the end marker */
            n_bytes = c.n - 2;
        if (n_bytes < SOT_BYTES || n_bytes > c.n)
            return jp2_damaged(err, "the file ends before the image does");
        tile->n_found++;
        if (c.p[11])
            tile->n_stated = c.p[11];
        c.p += n_bytes;
        c.n -= (size_t)n_bytes;
    }
    if (c.n < 2 || ih_be16(c.p) != EOC)
        return jp2_damaged(err, "the file ends before the image does");
    for (size_t i = 0; i < n_tiles; i++)
        if (tiles[i].n_found == 0 || tiles[i].n_found < tiles[i].n_stated)
            return jp2_damaged(err, "a tile is missing");
    return IH_OK;
}

/* The number of tiles in one direction. */
static uint64_t jp2_tiles_across(uint32_t end, uint32_t tile_size, uint32_t tile_start)
{
    return tile_size && end > tile_start ? ((uint64_t)end - tile_start + tile_size - 1) / tile_size
                                         : 0;
}

static enum ih_status jp2_check_codestream(struct ih_span c, uint64_t *all_tiles,
                                           struct ih_error *err)
{
    uint64_t n_tiles = 0;
    unsigned n_components = 0;
    if (c.n < 4 || memcmp(c.p, "\xFF\x4F\xFF\x51", 4) != 0)
        return jp2_damaged(err, "it has no codestream");
    c.p += 2;
    c.n -= 2;
    while (c.n >= 4 && ih_be16(c.p) != SOT) {
        const bool is_bare = ih_be16(c.p) >= BARE && ih_be16(c.p) < BARE + 16;
        const size_t n_bytes = is_bare ? 2 : 2 + (size_t)ih_be16(c.p + 2);
        if (c.p[0] != 0xFF || n_bytes < (is_bare ? 2 : 4) || n_bytes > c.n)
            return jp2_damaged(err, "the file ends before the image does");
        if (ih_be16(c.p) == SIZ && n_bytes >= 2 + SIZ_BYTES + 2) {
            n_components = ih_be16(c.p + 38);
            n_tiles = jp2_tiles_across(ih_be32(c.p + 6), ih_be32(c.p + 22), ih_be32(c.p + 30)) *
                      jp2_tiles_across(ih_be32(c.p + 10), ih_be32(c.p + 26), ih_be32(c.p + 34));
        }
        c.p += n_bytes;
        c.n -= n_bytes;
    }
    if (n_tiles == 0 || n_tiles > 65535)
        return jp2_damaged(err, "an impossible number of tiles");
    if (n_components > CHANNELS_MAX)
        return jp2_unsupported(err, "more than 4 components");
    struct tile *tiles = calloc((size_t)n_tiles, sizeof *tiles);
    if (!tiles)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = jp2_count_tile_parts(c, tiles, (size_t)n_tiles, err);
    free(tiles);
    *all_tiles = n_tiles;
    return status;
}

/* ---- reading from memory, and messages ---- */

static OPJ_SIZE_T jp2_read_stream(void *dst, OPJ_SIZE_T n_bytes, void *user)
{
    struct jp2_state *s = user;
    const size_t left = s->whole.file_bytes - s->at, n = n_bytes < left ? n_bytes : left;
    if (n == 0)
        return (OPJ_SIZE_T)-1; /* the end */
    memcpy(dst, s->whole.file + s->at, n);
    s->at += n;
    return n;
}

static OPJ_OFF_T jp2_skip_stream(OPJ_OFF_T n_bytes, void *user)
{
    struct jp2_state *s = user;
    if (n_bytes < 0 || (uint64_t)n_bytes > s->whole.file_bytes - s->at)
        return -1;
    s->at += (size_t)n_bytes;
    return n_bytes;
}

static OPJ_BOOL jp2_seek_stream(OPJ_OFF_T to, void *user)
{
    struct jp2_state *s = user;
    if (to < 0 || (uint64_t)to > s->whole.file_bytes)
        return OPJ_FALSE;
    s->at = (size_t)to;
    return OPJ_TRUE;
}

/* Keeps the first message, without its final newline. No sample depends on SOP markers, which may
 * be left out, or on the way in which an encoder ended a code block (PTERM). */
static void jp2_keep_message(const char *text, void *user)
{
    static const char *const harmless[] = {
        "Expected SOP marker", "Not enough space for expected SOP marker", "PTERM check failure"};
    struct jp2_state *s = user;
    if (s->reason[0] || !text)
        return;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strncmp(text, harmless[i], strlen(harmless[i])) == 0)
            return;
    snprintf(s->reason, sizeof s->reason, "%s", text);
    for (char *c = s->reason; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = c[1] ? ' ' : '\0';
}

static void jp2_ignore_message(const char *text, void *user)
{
    (void)text;
    (void)user;
}

/* ---- opening ---- */

static enum ih_status jp2_open_codec(struct jp2_state *s, bool is_bare, struct ih_error *err)
{
    opj_dparameters_t parameters;
    s->codec = s->lib.opj_create_decompress(is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    s->stream = s->lib.opj_stream_create(STREAM_BYTES, OPJ_STREAM_READ);
    if (!s->codec || !s->stream)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.opj_stream_set_read_function(s->stream, jp2_read_stream);
    s->lib.opj_stream_set_skip_function(s->stream, jp2_skip_stream);
    s->lib.opj_stream_set_seek_function(s->stream, jp2_seek_stream);
    s->lib.opj_stream_set_user_data(s->stream, s, NULL);
    s->lib.opj_stream_set_user_data_length(s->stream, s->whole.file_bytes);
    s->lib.opj_set_error_handler(s->codec, jp2_keep_message, s);
    s->lib.opj_set_warning_handler(s->codec, jp2_ignore_message, NULL); /* about the boxes */
    s->lib.opj_set_default_decoder_parameters(&parameters);
    if (!s->lib.opj_setup_decoder(s->codec, &parameters) ||
        !s->lib.opj_decoder_set_strict_mode(s->codec, OPJ_TRUE) ||
        !s->lib.opj_read_header(s->stream, s->codec, &s->image))
        return jp2_failed(s, err);
    return IH_OK;
}

/* Derives the channels from the number of components and the colour space. */
static enum ih_status jp2_choose_channels(struct jp2_state *s, struct ih_error *err)
{
    const opj_image_t *image = s->image;
    const unsigned n = s->n_palette_channels ? s->n_palette_channels : image->numcomps;
    if (n < 1 || n > CHANNELS_MAX)
        return jp2_unsupported(err, "more than 4 components");
    if (s->colours == UNSPECIFIED)
        s->colours = n < 3 ? GRAY : RGB;
    if ((s->colours == GRAY) != (n < 3) || (s->colours == YCC && n != 3))
        return jp2_unsupported(err, "a number of components that does not fit its colour space");
    s->n_channels = n;
    return IH_OK;
}

static enum ih_status jp2_read_header(struct jp2_state *s, const struct ih_decode_options *options,
                                      struct ih_image_info *info, struct ih_error *err)
{
    const opj_image_t *image = s->image;
    if (jp2_choose_channels(s, err) != IH_OK)
        return err->status;
    uint64_t n_samples = 0;
    for (unsigned i = 0; i < image->numcomps; i++) {
        const opj_image_comp_t *c = &image->comps[i];
        if (ih_decode_check_pixels(c->w, c->h, options->max_pixels, err) != IH_OK)
            return err->status;
        if (c->w == 0 || c->h == 0)
            return jp2_damaged(err, "it has no pixels");
        if (c->prec < 1 || c->prec > 16)
            return jp2_unsupported(err, "more than 16 bits a sample");
        n_samples += (uint64_t)c->w * c->h;
    }
    if (s->n_palette_channels)
        n_samples += (uint64_t)image->comps[0].w * image->comps[0].h * s->n_palette_channels;
    s->width = image->comps[0].w;
    s->height = image->comps[0].h;
    info->width = s->width;
    info->height = s->height;
    info->layout = ih_layout_of(s->n_channels);
    info->source_depth = image->comps[0].prec;
    s->info = info;
    const uint32_t depth = image->comps[0].prec;
    const bool is_native = options->takes_native && s->n_palette_channels == 0;
    for (unsigned i = 0; i < image->numcomps && is_native; i++)
        if (image->comps[i].prec != depth && (image->comps[i].prec > 8 || depth > 8))
            return ih_native_refuse("JPEG 2000 with several depths,", image->comps[i].prec, err);
    if (ih_native_choose(&s->native, is_native, options->sample_range, (1u << depth) - 1, err) !=
        IH_OK)
        return err->status;
    info->type = s->native.type;
    info->n_bins = s->native.n_bins;
    if (n_samples > UINT64_MAX / SAMPLE_BYTES)
        return ih_error_set(err, IH_LIMIT, "image too large");
    return ih_whole_file_more(&s->whole, n_samples * SAMPLE_BYTES, err);
}

static enum ih_status open_jp2(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct jp2_state *s = state;
    struct ih_span codestream;
    uint64_t n_tiles = 0;
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = ih_whole_file_open(&s->whole, src, options, 0, err);
    s->sample_range = options->sample_range;
    const bool is_bare = s->whole.file_bytes > 0 && s->whole.file[0] == 0xFF;
    codestream = (struct ih_span){s->whole.file, s->whole.file_bytes};
    if (status == IH_OK && !is_bare)
        status = jp2_read_boxes(s, &codestream, err);
    if (status == IH_OK)
        status = jp2_check_codestream(codestream, &n_tiles, err);
    if (status == IH_OK)
        status = ih_whole_file_more(&s->whole, n_tiles * TILE_BYTES, err);
    if (status == IH_OK)
        status = jp2_open_codec(s, is_bare, err);
    if (status == IH_OK)
        status = jp2_read_header(s, options, info, err);
    return status;
}

/* ---- decoding ---- */

/* Checks a decoded component and fills its table of 8-bit values. */
static enum ih_status jp2_take_channel(struct jp2_state *s, unsigned channel,
                                       const opj_image_comp_t *c, struct ih_error *err)
{
    const bool is_chroma = s->colours == YCC && channel > 0;
    const uint32_t dx = is_chroma ? c->dx / s->image->comps[0].dx : 1;
    const uint32_t dy = is_chroma ? c->dy / s->image->comps[0].dy : 1;
    if (!c->data || c->prec < 1 || c->prec > 16)
        return jp2_damaged(err, "a component is missing");
    if (dx < 1 || dx > 2 || dy < 1 || dy > 2 || (is_chroma && c->dx % s->image->comps[0].dx != 0) ||
        c->w != (s->width + dx - 1) / dx || c->h != (s->height + dy - 1) / dy)
        return jp2_unsupported(err, s->colours == YCC
                                        ? "components of different sizes"
                                        : "components of different sizes that no box calls YCbCr");
    if (s->colours == YCC && (c->sgnd || c->prec != s->image->comps[0].prec ||
                              s->image->x0 % (2 * s->image->comps[0].dx) != 0 ||
                              s->image->y0 % (2 * s->image->comps[0].dy) != 0))
        return jp2_unsupported(err, "this kind of YCbCr");
    const uint32_t max = (1u << c->prec) - 1;
    if (ih_is_native(s->native.type) && max != s->native.max)
        return jp2_damaged(err, "two depths");
    s->scaled[channel] = malloc((size_t)max + 1);
    if (!s->scaled[channel])
        return ih_error_set(err, IH_MEMORY, "out of memory");
    const bool is_alpha = channel == (s->n_channels < 3 ? 1 : 3);
    if (c->prec == 16 && !is_alpha)
        ih_samples_fill_16(s->scaled[channel], s->sample_range);
    else
        for (uint32_t v = 0; v <= max; v++)
            s->scaled[channel][v] = ih_sample_scale(v, max);
    s->channels[channel] = c;
    return IH_OK;
}

/* Assigns the components to channels: the colours in their order, then alpha, which may be any
 * component. */
static enum ih_status jp2_take_channels(struct jp2_state *s, struct ih_error *err)
{
    const opj_image_t *image = s->image;
    const unsigned n_colours = s->n_channels < 3 ? 1 : 3;
    unsigned n = 0, alpha = s->n_channels - 1; /* the last one, if no box names it */
    if (image->numcomps != s->n_channels || image->comps[0].w != s->width ||
        image->comps[0].h != s->height)
        return jp2_damaged(err, "two numbers of components");
    for (unsigned i = 0; i < s->n_channels; i++)
        if (image->comps[i].alpha)
            alpha = i;
    for (unsigned i = 0; i < s->n_channels; i++) {
        const bool is_alpha = n_colours < s->n_channels && i == alpha;
        if (image->comps[i].alpha && !is_alpha)
            return jp2_unsupported(err, "channels of this kind");
        const unsigned channel = is_alpha ? n_colours : n++;
        if (jp2_take_channel(s, channel, &image->comps[i], err) != IH_OK)
            return err->status;
    }
    return IH_OK;
}

/* A sample, from 0 to the largest of its depth. */
static uint32_t jp2_sample(const opj_image_comp_t *c, size_t i)
{
    const int64_t max = ((int64_t)1 << c->prec) - 1;
    const int64_t v = c->data[i] + (c->sgnd ? (int64_t)1 << (c->prec - 1) : 0);
    return (uint32_t)(v < 0 ? 0 : v > max ? max : v);
}

/* Records the smallest and largest sample of gray and RGB images whose colours have the same depth.
 * Entries of a palette are no samples. */
static void jp2_note_extremes(struct jp2_state *s)
{
    const unsigned n_colours = ih_layout_of(s->n_channels).n_colours;
    const uint32_t depth = s->channels[0]->prec;
    for (unsigned i = 0; i < n_colours; i++)
        if (s->channels[i]->prec != depth || depth <= 8 || s->colours == YCC ||
            s->n_palette_channels > 0)
            return;
    for (unsigned i = 0; i < n_colours; i++)
        for (size_t k = 0; k < (size_t)s->width * s->height; k++)
            ih_extremes_add(&s->info->extremes, jp2_sample(s->channels[i], k));
}

static enum ih_status jp2_decode(struct jp2_state *s, struct ih_error *err)
{
    s->lib.opj_set_warning_handler(s->codec, jp2_keep_message, s);
    if (!s->lib.opj_decode(s->codec, s->stream, s->image) ||
        !s->lib.opj_end_decompress(s->codec, s->stream) || s->reason[0])
        return jp2_failed(s, err);
    ih_whole_file_free_bytes(&s->whole);
    s->is_decoded = true;
    if (jp2_take_channels(s, err) != IH_OK)
        return err->status;
    jp2_note_extremes(s);
    return IH_OK;
}

/* Writes value i of the pixels, of a channel, clamped to 0 to max. */
static void jp2_put(const struct jp2_state *s, unsigned channel, uint8_t *pixels, size_t i,
                    int32_t v, int32_t max)
{
    const uint32_t clamped = (uint32_t)(v < 0 ? 0 : v > max ? max : v);
    const bool is_alpha = channel == (s->n_channels < 3 ? 1 : 3);
    if (ih_is_native(s->native.type))
        ih_native_put(pixels, i, ih_native_of(&s->native, clamped, is_alpha));
    else
        pixels[i] = s->scaled[channel][clamped];
}

/* YCbCr to RGB like sycc_to_rgb of opj_decompress. */
static void jp2_convert_ycc_row(const struct jp2_state *s, uint8_t *pixels)
{
    const opj_image_comp_t *const *c = s->channels;
    const int32_t max = (int32_t)((1u << c[0]->prec) - 1), middle = max / 2 + 1;
    const uint32_t dx = c[1]->w == s->width ? 1 : 2, dy = c[1]->h == s->height ? 1 : 2;
    const uint32_t red_dx = c[2]->w == s->width ? 1 : 2, red_dy = c[2]->h == s->height ? 1 : 2;
    for (uint32_t x = 0; x < s->width; x++) {
        const size_t i = (size_t)3 * x;
        const int32_t y = (int32_t)jp2_sample(c[0], (size_t)s->row * s->width + x);
        const int32_t b =
            (int32_t)jp2_sample(c[1], (size_t)(s->row / dy) * c[1]->w + x / dx) - middle;
        const int32_t r =
            (int32_t)jp2_sample(c[2], (size_t)(s->row / red_dy) * c[2]->w + x / red_dx) - middle;
        jp2_put(s, 0, pixels, i, y + (int32_t)(1.402 * r), max);
        jp2_put(s, 0, pixels, i + 1, y - (int32_t)(0.344 * b + 0.714 * r), max);
        jp2_put(s, 0, pixels, i + 2, y + (int32_t)(1.772 * b), max);
    }
}

static void jp2_convert_row(const struct jp2_state *s, uint8_t *pixels)
{
    for (unsigned channel = 0; channel < s->n_channels; channel++) {
        const opj_image_comp_t *c = s->channels[channel];
        const int32_t max = (int32_t)((1u << c->prec) - 1);
        for (uint32_t x = 0; x < s->width; x++)
            jp2_put(s, channel, pixels, (size_t)x * s->n_channels + channel,
                    (int32_t)jp2_sample(c, (size_t)s->row * s->width + x), max);
    }
}

static enum ih_status read_jp2(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct jp2_state *s = state;
    size_t n = 0;
    if (!s->is_decoded && jp2_decode(s, err) != IH_OK)
        return err->status;
    for (; s->row < s->height && capacity_pixels - n >= s->width; s->row++, n += s->width) {
        uint8_t *row = pixels + n * ih_pixel_bytes(s->n_channels, s->native.type);
        if (s->colours == YCC)
            jp2_convert_ycc_row(s, row);
        else
            jp2_convert_row(s, row);
    }
    *n_pixels = n;
    return IH_OK;
}

const struct ih_decoder ih_decoder_jp2 = {
    .name = "jp2",
    .is_isolated = true,
    .prepare = prepare,
    .title = "JPEG 2000: JP2 and codestreams, gray, colour, alpha, 1 to 16 bits",
    .version = "OpenJPEG " IH_LIBRARY_jp2,
    .probe = ih_probe_jp2,
    .state_bytes = sizeof(struct jp2_state),
    .open = open_jp2,
    .read = read_jp2,
    .close = close_jp2,
};
