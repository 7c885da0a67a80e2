/*
 * OpenEXR through OpenEXRCore: half and float samples of the first part, or of each, one block of
 * scan lines or one tile at a time. The file is held in memory, the image is not.
 *
 * R, G and B are colours, or else Y is gray, and A is alpha. All other channels are bands, with
 * their names; those of integers or with fewer pixels are not counted, and a note says so. If a
 * part has several resolutions, only the full one counts: the others are copies.
 *
 * Source: "OpenEXR File Layout", https://openexr.com/en/latest/OpenEXRFileLayout.html
 */
#define _GNU_SOURCE /* memmem */
#include "base/dynlib.h"
#include "decode/whole_file.h"

#include <assert.h>
#include <limits.h>
#include <openexr.h>
#include <stdlib.h>
#include <string.h>

/* The functions of OpenEXRCore that are called. */
#define EXR_CALLS(F)                                                                          \
    F(exr_result_t, exr_start_read,                                                           \
      (exr_context_t *, const char *, const exr_context_initializer_t *))                     \
    F(exr_result_t, exr_finish, (exr_context_t *))                                            \
    F(const char *, exr_get_default_error_message, (exr_result_t))                            \
    F(exr_result_t, exr_get_count, (exr_const_context_t, int *))                              \
    F(void, exr_get_library_version, (int *, int *, int *, const char **))                    \
    F(exr_result_t, exr_get_compression, (exr_const_context_t, int, exr_compression_t *))     \
    F(exr_result_t, exr_get_storage, (exr_const_context_t, int, exr_storage_t *))             \
    F(exr_result_t, exr_get_channels, (exr_const_context_t, int, const exr_attr_chlist_t **)) \
    F(exr_result_t, exr_get_data_window, (exr_const_context_t, int, exr_attr_box2i_t *))      \
    F(exr_result_t, exr_get_tile_sizes,                                                       \
      (exr_const_context_t, int, int, int, int32_t *, int32_t *))                             \
    F(exr_result_t, exr_get_scanlines_per_chunk, (exr_const_context_t, int, int32_t *))       \
    F(exr_result_t, exr_get_chunk_unpacked_size, (exr_const_context_t, int, uint64_t *))      \
    F(exr_result_t, exr_read_scanline_chunk_info,                                             \
      (exr_const_context_t, int, int, exr_chunk_info_t *))                                    \
    F(exr_result_t, exr_read_tile_chunk_info,                                                 \
      (exr_const_context_t, int, int, int, int, int, exr_chunk_info_t *))                     \
    F(exr_result_t, exr_decoding_initialize,                                                  \
      (exr_const_context_t, int, const exr_chunk_info_t *, exr_decode_pipeline_t *))          \
    F(exr_result_t, exr_decoding_choose_default_routines,                                     \
      (exr_const_context_t, int, exr_decode_pipeline_t *))                                    \
    F(exr_result_t, exr_decoding_run, (exr_const_context_t, int, exr_decode_pipeline_t *))    \
    F(exr_result_t, exr_decoding_destroy, (exr_const_context_t, exr_decode_pipeline_t *))

IH_DYNLIB_DECODER(EXR_CALLS, struct exr_calls, IH_SONAME_exr)

enum {
    NOT_COUNTED = -1,
    CHUNK_BUFFERS = 4 /* of OpenEXRCore for a block: packed, unpacked and two more */
};

struct exr_state {
    struct exr_calls lib;
    struct ih_whole_file whole;
    exr_context_t file; /* owned */
    uint64_t max_pixels, file_taken_bytes;
    int part, n_parts;

    /* The image: */
    exr_attr_box2i_t window;
    uint32_t width, height;
    unsigned n_channels;
    int n_stored; /* channels of the file */
    int *places;  /* owned, [n_stored]: of each in pixels, or NOT_COUNTED; NULL: not known */
    enum ih_sample_type type;
    bool is_tiled;
    uint32_t full_width, full_height; /* of a block that no edge cuts */
    uint32_t x, y;                    /* of the next block */

    uint8_t *block; /* owned, [block_height][full_width] pixels */
    uint32_t block_width, block_height, row;
};

static enum ih_status exr_failed(const struct exr_state *s, exr_result_t code, struct ih_error *err)
{
    if (code == EXR_ERR_OUT_OF_MEMORY)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (code == EXR_ERR_FEATURE_NOT_IMPLEMENTED)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "OpenEXR that is not supported by OpenEXR " IH_LIBRARY_exr);
    return ih_error_set(err, IH_CORRUPT, "damaged OpenEXR: %s",
                        s->lib.exr_get_default_error_message(code));
}

/* ---- the file ---- */

static int64_t read_file(exr_const_context_t file, void *user, void *buffer, uint64_t n_bytes,
                         uint64_t at, exr_stream_error_func_ptr_t error)
{
    const struct ih_whole_file *const h = user;
    const uint64_t n_left = at < h->file_bytes ? h->file_bytes - at : 0;
    const uint64_t n = n_bytes < n_left ? n_bytes : n_left;
    (void)file, (void)error;
    if (n > 0)
        memcpy(buffer, h->file + at, (size_t)n);
    return (int64_t)n;
}

static int64_t file_size(exr_const_context_t file, void *user)
{
    (void)file;
    return (int64_t)((const struct ih_whole_file *)user)->file_bytes;
}

static void ignore_message(exr_const_context_t file, exr_result_t code, const char *message)
{
    (void)file, (void)code, (void)message;
}

/* Versions of the format that the library need not know, although it reads them, and compressions
 * to come, which it calls damage. */
static bool is_newer(const struct ih_whole_file *h)
{
    enum { VERSION = 2, HEADER_BYTES_MAX = 64 * 1024 };
    static const char attribute[] = "compression\0compression\0\1\0\0"; /* and a NUL */
    const size_t n = h->file_bytes < HEADER_BYTES_MAX ? h->file_bytes : HEADER_BYTES_MAX;
    const uint8_t *const found = memmem(h->file, n, attribute, sizeof attribute);
    return (n > 4 && h->file[4] != VERSION) ||
           (found && found + sizeof attribute < h->file + n &&
            found[sizeof attribute] >= EXR_COMPRESSION_LAST_TYPE);
}

static enum ih_status open_file(struct exr_state *s, struct ih_error *err)
{
    exr_context_initializer_t how = EXR_DEFAULT_CONTEXT_INITIALIZER;
    how.user_data = &s->whole;
    how.read_fn = read_file;
    how.size_fn = file_size;
    how.error_handler_fn = ignore_message;
    how.flags =
        EXR_CONTEXT_FLAG_SILENT_HEADER_PARSE | EXR_CONTEXT_FLAG_DISABLE_CHUNK_RECONSTRUCTION;
    exr_result_t code = is_newer(&s->whole) ? EXR_ERR_FEATURE_NOT_IMPLEMENTED
                                            : s->lib.exr_start_read(&s->file, "file", &how);
    if (code == EXR_ERR_SUCCESS)
        code = s->lib.exr_get_count(s->file, &s->n_parts);
    return code == EXR_ERR_SUCCESS ? IH_OK : exr_failed(s, code, err);
}

/* ---- an image ---- */

/* The number of a channel; all->num_channels: there is none of the name. */
static int find_channel(const exr_attr_chlist_t *all, const char *name)
{
    int i = 0;
    while (i < all->num_channels && strcmp(all->entries[i].name.str, name) != 0)
        i++;
    return i;
}

/* Why a channel is not counted; NULL: it is. */
static const char *reason_against(const exr_attr_chlist_entry_t *c)
{
    return c->pixel_type != EXR_PIXEL_HALF && c->pixel_type != EXR_PIXEL_FLOAT
               ? "has 32-bit integers is not supported: save it as half or float"
           : c->x_sampling != 1 || c->y_sampling != 1 ? "is subsampled is not supported"
                                                      : NULL;
}

/* Shows the name up to its first character that is not of ASCII. */
static enum ih_status refuse_channel(const exr_attr_chlist_entry_t *c, struct ih_error *err)
{
    const char *const name = c->name.str;
    int n = 0;
    while (n < 40 && name[n] > ' ' && name[n] <= '~')
        n++;
    return ih_error_set(err, IH_UNSUPPORTED, "OpenEXR whose channel %.*s %s", n, name,
                        reason_against(c));
}

/* Gives a channel the next place in pixels. */
static void count_channel(struct exr_state *s, const exr_attr_chlist_t *all, int i)
{
    s->places[i] = (int)s->n_channels++;
    if (all->entries[i].pixel_type == EXR_PIXEL_FLOAT)
        s->type = IH_FLOAT32;
}

/* Counts the colours, bands and alpha. A band that cannot be counted is left out. */
static enum ih_status place_channels(struct exr_state *s, const exr_attr_chlist_t *all,
                                     struct ih_layout *layout, struct ih_error *err)
{
    static const char *const colours[] = {"R", "G", "B", "Y"};
    const int n = all->num_channels, alpha = find_channel(all, "A");
    const bool is_rgb =
        find_channel(all, "R") < n && find_channel(all, "G") < n && find_channel(all, "B") < n;
    const bool is_gray = !is_rgb && find_channel(all, "Y") < n;
    *layout = (struct ih_layout){.n_colours = is_rgb ? 3 : is_gray};
    for (unsigned k = 0; k < layout->n_colours; k++) {
        const int i = find_channel(all, colours[is_gray ? 3 : k]);
        if (reason_against(&all->entries[i]))
            return refuse_channel(&all->entries[i], err);
        count_channel(s, all, i);
    }
    for (int i = 0; i < n; i++)
        if (s->places[i] == NOT_COUNTED && i != alpha && !reason_against(&all->entries[i]))
            count_channel(s, all, i);
    layout->has_alpha = alpha < n && s->n_channels > 0;
    if (alpha < n && reason_against(&all->entries[alpha]))
        return refuse_channel(&all->entries[alpha], err);
    if (alpha < n)
        count_channel(s, all, alpha);
    layout->n_channels = s->n_channels;
    if (n > 0 && s->n_channels == 0)
        return refuse_channel(&all->entries[0], err);
    return IH_OK;
}

/* Chooses the channels to count, and their type. */
static enum ih_status choose_channels(struct exr_state *s, const exr_attr_chlist_t *all,
                                      struct ih_image_info *info, struct ih_error *err)
{
    s->n_channels = 0;
    s->type = IH_FLOAT16;
    s->n_stored = all->num_channels;
    if (s->n_stored < 1 || s->n_stored > IH_CHANNELS_MAX)
        return ih_error_set(err, IH_UNSUPPORTED, "OpenEXR with %d channels is not supported",
                            s->n_stored);
    free(s->places);
    s->places = malloc((size_t)s->n_stored * sizeof *s->places);
    if (!s->places)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (int i = 0; i < s->n_stored; i++)
        s->places[i] = NOT_COUNTED;
    if (place_channels(s, all, &info->layout, err) != IH_OK)
        return err->status;
    ih_band_names_reset(&info->band_names);
    const int n_named = (int)s->n_channels - info->layout.has_alpha;
    for (int i = 0; i < s->n_stored; i++)
        if (s->places[i] >= (int)info->layout.n_colours && s->places[i] < n_named &&
            ih_band_name_set(&info->band_names, s->n_channels, (unsigned)s->places[i],
                             all->entries[i].name.str, err) != IH_OK)
            return err->status;
    info->n_not_counted = (unsigned)s->n_stored - s->n_channels;
    info->warnings |= info->n_not_counted > 0 ? IH_WARNING_EXTRA_SAMPLES : 0;
    info->type = s->type;
    info->n_bins = IH_NATIVE_BINS_MAX;
    info->source_depth = 8 * ih_sample_bytes(s->type);
    return IH_OK;
}

/* Computes the size of a block and takes its memory from the budget. */
static enum ih_status plan_blocks(struct exr_state *s, struct ih_image_info *info,
                                  struct ih_error *err)
{
    int32_t width = (int32_t)s->width, height = 0;
    uint64_t unpacked_bytes = 0;
    exr_result_t code = s->is_tiled
                            ? s->lib.exr_get_tile_sizes(s->file, s->part, 0, 0, &width, &height)
                            : s->lib.exr_get_scanlines_per_chunk(s->file, s->part, &height);
    if (code == EXR_ERR_SUCCESS)
        code = s->lib.exr_get_chunk_unpacked_size(s->file, s->part, &unpacked_bytes);
    if (code != EXR_ERR_SUCCESS)
        return exr_failed(s, code, err);
    if (width <= 0 || height <= 0)
        return ih_error_set(err, IH_CORRUPT, "damaged OpenEXR: tiles without a size");
    s->full_width = (uint32_t)width;
    s->full_height = (uint32_t)height;
    if (s->is_tiled)
        info->order = (struct ih_pixel_order){
            .kind = IH_PIXEL_ORDER_TILES, .width = s->full_width, .height = s->full_height};
    if (ih_decode_check_pixels(s->full_width, s->full_height, s->max_pixels, err) != IH_OK)
        return err->status;
    const uint64_t n_pixels = (uint64_t)s->full_width * s->full_height;
    assert(s->n_channels > 0);
    if (s->full_width > INT32_MAX / ih_pixel_bytes(s->n_channels, s->type))
        return ih_error_set(err, IH_LIMIT, "OpenEXR too wide: %u pixels of %u channels",
                            s->full_width, s->n_channels);
    if (unpacked_bytes > PTRDIFF_MAX / (2 * CHUNK_BUFFERS))
        return ih_error_set(err, IH_LIMIT, "OpenEXR with a block of %llu bytes",
                            (unsigned long long)unpacked_bytes);
    return ih_whole_file_more(
        &s->whole,
        n_pixels * ih_pixel_bytes(s->n_channels, s->type) + CHUNK_BUFFERS * unpacked_bytes, err);
}

/* Refuses compressions that OpenEXRCore decodes wrongly, as it does B44 before 3.3, or not at all.
 */
static enum ih_status check_compression(const struct exr_state *s, exr_compression_t compression,
                                        struct ih_error *err)
{
    static const char *const names[] = {[EXR_COMPRESSION_B44] = "B44",
                                        [EXR_COMPRESSION_B44A] = "B44A",
                                        [EXR_COMPRESSION_DWAA] = "DWAA",
                                        [EXR_COMPRESSION_DWAB] = "DWAB"};
    int major = 0, minor = 0, patch = 0;
    const char *extra;
    s->lib.exr_get_library_version(&major, &minor, &patch, &extra);
    if (compression < EXR_COMPRESSION_B44 || compression > EXR_COMPRESSION_DWAB || major > 3 ||
        (major == 3 && minor >= 3))
        return IH_OK;
    return ih_error_set(err, IH_UNSUPPORTED,
                        "OpenEXR with %s compression needs OpenEXR 3.3 or later, and this is "
                        "%d.%d.%d: convert it to ZIP or PIZ",
                        names[compression], major, minor, patch);
}

static enum ih_status open_part(struct exr_state *s, struct ih_image_info *info,
                                struct ih_error *err)
{
    exr_compression_t compression = EXR_COMPRESSION_NONE;
    const exr_attr_chlist_t *channels = NULL;
    exr_storage_t storage = EXR_STORAGE_LAST_TYPE;
    exr_result_t code = s->lib.exr_get_storage(s->file, s->part, &storage);
    if (code == EXR_ERR_SUCCESS)
        code = s->lib.exr_get_channels(s->file, s->part, &channels);
    if (code == EXR_ERR_SUCCESS)
        code = s->lib.exr_get_data_window(s->file, s->part, &s->window);
    if (code == EXR_ERR_SUCCESS)
        code = s->lib.exr_get_compression(s->file, s->part, &compression);
    if (code != EXR_ERR_SUCCESS)
        return exr_failed(s, code, err);
    if (storage != EXR_STORAGE_SCANLINE && storage != EXR_STORAGE_TILED)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "OpenEXR with several samples a pixel (deep) is not supported: flatten "
                            "it first");
    const int64_t width = (int64_t)s->window.max.x - s->window.min.x + 1;
    const int64_t height = (int64_t)s->window.max.y - s->window.min.y + 1;
    if (width <= 0 || height <= 0 || width > INT32_MAX || height > INT32_MAX)
        return ih_error_set(err, IH_CORRUPT, "damaged OpenEXR: its data window");
    s->width = (uint32_t)width;
    s->height = (uint32_t)height;
    s->is_tiled = storage == EXR_STORAGE_TILED;
    s->x = s->y = s->row = s->block_width = s->block_height = 0;
    info->width = s->width;
    info->height = s->height;
    info->order = (struct ih_pixel_order){.kind = IH_PIXEL_ORDER_ROWS};
    if (check_compression(s, compression, err) != IH_OK ||
        ih_decode_check_pixels(info->width, info->height, s->max_pixels, err) != IH_OK ||
        choose_channels(s, channels, info, err) != IH_OK)
        return err->status;
    return plan_blocks(s, info, err);
}

static enum ih_status open_exr(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct exr_state *const s = state;
    if (load(&s->lib, err) != IH_OK)
        return err->status;
    s->max_pixels = options->max_pixels;
    s->whole.may_be_large = true;
    if (ih_whole_file_open(&s->whole, src, options, 0, err) != IH_OK)
        return err->status;
    s->file_taken_bytes = s->whole.taken_bytes;
    if (open_file(s, err) != IH_OK)
        return err->status;
    info->n_frames = (unsigned)s->n_parts;
    return open_part(s, info, err);
}

/* ---- samples ---- */

/* Decodes the block that begins at x and y, with interleaved channels. */
static exr_result_t decode_block(struct exr_state *s, const exr_chunk_info_t *chunk)
{
    exr_decode_pipeline_t pipeline = {0}; /* its own initializer leaves fields out from 3.3 on */
#if OPENEXR_VERSION_MAJOR > 3 || OPENEXR_VERSION_MINOR >= 3
    pipeline.pipe_size = sizeof pipeline;
#endif
    const int sample_bytes = (int)ih_sample_bytes(s->type);
    const int pixel_bytes = sample_bytes * (int)s->n_channels;
    exr_result_t code = s->lib.exr_decoding_initialize(s->file, s->part, chunk, &pipeline);
    if (code == EXR_ERR_SUCCESS && pipeline.channel_count != s->n_stored)
        code = EXR_ERR_CORRUPT_CHUNK;
    for (int i = 0; code == EXR_ERR_SUCCESS && i < pipeline.channel_count; i++) {
        exr_coding_channel_info_t *const c = &pipeline.channels[i];
        c->decode_to_ptr = NULL;
        if (s->places[i] != NOT_COUNTED)
            c->decode_to_ptr = s->block + (size_t)s->places[i] * (size_t)sample_bytes;
        c->user_bytes_per_element = (int16_t)sample_bytes;
        c->user_data_type = s->type == IH_FLOAT32 ? EXR_PIXEL_FLOAT : EXR_PIXEL_HALF;
        c->user_pixel_stride = pixel_bytes;
        c->user_line_stride = pixel_bytes * (int)s->full_width;
    }
    if (code == EXR_ERR_SUCCESS)
        code = s->lib.exr_decoding_choose_default_routines(s->file, s->part, &pipeline);
    if (code == EXR_ERR_SUCCESS)
        code = s->lib.exr_decoding_run(s->file, s->part, &pipeline);
    s->lib.exr_decoding_destroy(s->file, &pipeline);
    return code;
}

/* Finds and decodes the next block. */
static enum ih_status load_block(struct exr_state *s, struct ih_error *err)
{
    const size_t n_pixels = (size_t)s->full_width * s->full_height;
    const uint32_t right = s->width - s->x, below = s->height - s->y;
    exr_chunk_info_t chunk;
    s->block_width = s->full_width < right ? s->full_width : right;
    s->block_height = s->full_height < below ? s->full_height : below;
    s->row = 0;
    if (!s->block)
        s->block = calloc(n_pixels, ih_pixel_bytes(s->n_channels, s->type));
    if (!s->block)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    exr_result_t code =
        s->is_tiled ? s->lib.exr_read_tile_chunk_info(s->file, s->part, (int)(s->x / s->full_width),
                                                      (int)(s->y / s->full_height), 0, 0, &chunk)
                    : s->lib.exr_read_scanline_chunk_info(s->file, s->part,
                                                          s->window.min.y + (int)s->y, &chunk);
    if (code == EXR_ERR_SUCCESS &&
        (chunk.width != (int)s->block_width || chunk.height != (int)s->block_height ||
         /* the library would read on behind the block */
         (chunk.compression == EXR_COMPRESSION_NONE && chunk.packed_size != chunk.unpacked_size)))
        code = EXR_ERR_CORRUPT_CHUNK;
    if (code == EXR_ERR_SUCCESS)
        code = decode_block(s, &chunk);
    if (code == EXR_ERR_OUT_OF_MEMORY) /* newer versions give it for deflated data that are cut */
        return ih_error_set(err, IH_CORRUPT,
                            "damaged OpenEXR: a block cannot be decompressed, or memory ran out");
    if (code != EXR_ERR_SUCCESS)
        return exr_failed(s, code, err);
    s->x += s->block_width;
    if (s->x == s->width) {
        s->x = 0;
        s->y += s->block_height;
    }
    return IH_OK;
}

static enum ih_status read_exr(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct exr_state *const s = state;
    const size_t pixel_bytes = ih_pixel_bytes(s->n_channels, s->type);
    size_t n = 0;
    while (s->row < s->block_height || s->y < s->height) {
        if (s->row == s->block_height && load_block(s, err) != IH_OK)
            return err->status;
        if (capacity_pixels - n < s->block_width)
            break;
        memcpy(pixels + n * pixel_bytes, s->block + (size_t)s->row * s->full_width * pixel_bytes,
               s->block_width * pixel_bytes);
        n += s->block_width;
        s->row++;
    }
    *n_pixels = n;
    return IH_OK;
}

/* Goes on to the next part. */
static enum ih_status next_exr(void *state, struct ih_image_info *info, bool *has_next,
                               struct ih_error *err)
{
    struct exr_state *const s = state;
    *has_next = s->part + 1 < s->n_parts;
    if (!*has_next)
        return IH_OK;
    s->part++;
    free(s->block);
    s->block = NULL;
    ih_budget_give(s->whole.budget, s->whole.taken_bytes - s->file_taken_bytes);
    s->whole.taken_bytes = s->file_taken_bytes;
    info->warnings = 0;
    return open_part(s, info, err);
}

static void close_exr(void *state)
{
    struct exr_state *const s = state;
    if (s->file)
        s->lib.exr_finish(&s->file);
    free(s->block);
    free(s->places);
    ih_whole_file_close(&s->whole);
}

const struct ih_decoder ih_decoder_exr = {
    .name = "exr",
    .is_isolated = true,
    .prepare = prepare,
    .title = "OpenEXR, the first part or all: half and float samples of RGB, gray, alpha, bands",
    .version = "OpenEXR " IH_LIBRARY_exr,
    .probe = ih_probe_exr,
    .state_bytes = sizeof(struct exr_state),
    .open = open_exr,
    .read = read_exr,
    .next = next_exr,
    .close = close_exr,
};
