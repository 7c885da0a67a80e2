/*
 * The frames of an animated PNG (APNG), each composed on a canvas of 8-bit RGBA.
 *
 * The file is held in memory. libpng decodes the first image from all of it, and so checks every
 * CRC: a damaged file has no first image, as without takes_frames. For each later frame, a plain
 * PNG of its chunks is made in memory and decoded in the same way.
 *
 * Pixels are reduced to 8 bits before they are blended. A blended colour and its alpha are rounded
 * to nearest. If the first image is no frame of the animation (no fcTL before IDAT), it is counted
 * too, and the canvas of the animation begins transparent black.
 *
 * Source: the PNG specification, third edition, sections 4.12 and 11.3.6.
 */
#include "decode/composed.h"
#include "decode/held.h"
#include "decode/png/paths.h"
#include "decode/read_bytes.h"
#include "histogram/pixel_order.h"

#include <stdlib.h>
#include <string.h>

enum { SEQUENCE_BYTES = 4 };
enum { DISPOSE_NONE, DISPOSE_BACKGROUND, DISPOSE_PREVIOUS };
enum { BLEND_SOURCE, BLEND_OVER };

/* fcTL */
struct control {
    uint32_t width, height, left, top;
    unsigned dispose, blend;
};

struct ih_png_frames {
    struct ih_source *src; /* borrowed */
    struct ih_held held;
    size_t capacity;                /* of held.file */
    size_t n_left;                  /* bytes of the last chunk that are still to be read */
    size_t at;                      /* of the next chunk; 0: the first image is not complete */
    uint32_t n_stated;              /* frames, of acTL */
    uint32_t n_begun;               /* frames of the animation */
    uint32_t n_in_sequence;         /* fcTL and fdAT chunks so far */
    struct ih_png_chunk plte, trns; /* length 0: none */
    struct control control;         /* of the frame that is shown */
    struct ih_sample_range sample_range;

    /* The image that is being decoded: */
    struct ih_source memory;
    struct ih_png_file file;
    struct ih_png_stream *stream; /* owned */
    struct ih_image_info frame;   /* of a frame after the first */
    struct ih_pixel_order order;  /* of its pixels */
    uint8_t *plain;               /* owned, as large as the file: a frame as a PNG */
    size_t plain_bytes;
    uint8_t *row; /* owned, [width][4] */

    size_t width, height;
    uint8_t *shown, *before; /* owned, RGBA [height][width]; before: disposal goes back to it */
    struct ih_composed canvas;
};

/* ---- the file ---- */

/* Reads n bytes more of the file, exactly: another image may follow it. */
static enum ih_status read_more(struct ih_png_frames *f, size_t n, struct ih_error *err)
{
    enum { ROOM_BYTES = 64 * 1024 };
    struct ih_held *h = &f->held;
    if (n > f->capacity - h->file_bytes) {
        const size_t more = f->capacity / 4 + n + ROOM_BYTES;
        if (more > SIZE_MAX / 4 - f->capacity)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        if (ih_held_more(h, more, err) != IH_OK)
            return err->status;
        uint8_t *larger = realloc(h->file, f->capacity + more);
        if (!larger)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        h->file = larger;
        f->capacity += more;
    }
    const enum ih_status status = ih_read_bytes(f->src, "PNG", h->file + h->file_bytes, n, err);
    h->file_bytes += status == IH_OK ? n : 0;
    return status;
}

/* Reads the rest of the chunk whose header was read last. Memory follows the bytes that have come,
 * not the length that the chunk claims. */
static enum ih_status read_rest(struct ih_png_frames *f, struct ih_error *err)
{
    enum { PIECE_BYTES = 1 << 20 };
    while (f->n_left > 0) {
        const size_t n = f->n_left < PIECE_BYTES ? f->n_left : PIECE_BYTES;
        if (read_more(f, n, err) != IH_OK)
            return err->status;
        f->n_left -= n;
    }
    return IH_OK;
}

/* Reads chunks up to the head of one with this name, or of IEND. *is_animated: an acTL is among
 * them. */
static enum ih_status read_up_to(struct ih_png_frames *f, const char *last, bool *is_animated,
                                 struct ih_error *err)
{
    for (;;) {
        struct ih_png_chunk chunk;
        if (read_rest(f, err) != IH_OK || read_more(f, IH_PNG_CHUNK_HEAD_BYTES, err) != IH_OK)
            return err->status;
        if (!ih_png_read_head(f->held.file + f->held.file_bytes - IH_PNG_CHUNK_HEAD_BYTES, &chunk))
            return ih_error_set(err, IH_CORRUPT, "damaged PNG: a chunk is too long");
        f->n_left = (size_t)chunk.length + IH_PNG_CRC_BYTES;
        *is_animated |= ih_png_is_named(&chunk, "acTL");
        if (ih_png_is_named(&chunk, last) || ih_png_is_named(&chunk, "IEND"))
            return IH_OK;
    }
}

/* The next chunk. All of them are complete, and the last is IEND. */
static struct ih_png_chunk next_chunk(struct ih_png_frames *f)
{
    struct ih_png_chunk chunk;
    ih_png_read_head(f->held.file + f->at, &chunk);
    f->at += chunk.size_bytes;
    return chunk;
}

/* ---- the chunks of the animation ---- */

static enum ih_status check_sequence(struct ih_png_frames *f, const struct ih_png_chunk *chunk,
                                     struct ih_error *err)
{
    if (chunk->length >= SEQUENCE_BYTES && ih_be32(chunk->data) == f->n_in_sequence++)
        return IH_OK;
    return ih_error_set(err, IH_CORRUPT, "damaged PNG: its frames are out of order");
}

static enum ih_status read_control(struct ih_png_frames *f, const struct ih_png_chunk *chunk,
                                   struct ih_error *err)
{
    enum { CONTROL_BYTES = 26 };
    const uint8_t *p = chunk->data;
    if (check_sequence(f, chunk, err) != IH_OK)
        return err->status;
    if (chunk->length != CONTROL_BYTES)
        return ih_error_set(err, IH_CORRUPT, "damaged PNG: a bad fcTL chunk");
    f->control = (struct control){.width = ih_be32(p + 4),
                                  .height = ih_be32(p + 8),
                                  .left = ih_be32(p + 12),
                                  .top = ih_be32(p + 16),
                                  .dispose = p[24],
                                  .blend = p[25]};
    const struct control *c = &f->control;
    if (c->width == 0 || c->width > f->width || c->left > f->width - c->width || c->height == 0 ||
        c->height > f->height || c->top > f->height - c->height || c->dispose > DISPOSE_PREVIOUS ||
        c->blend > BLEND_OVER)
        return ih_error_set(err, IH_CORRUPT, "damaged PNG: a bad fcTL chunk");
    f->n_begun++;
    return IH_OK;
}

/* Reads the chunks before the first image. */
static enum ih_status read_front(struct ih_png_frames *f, struct ih_error *err)
{
    enum { ACTL_BYTES = 8 };
    f->at = IH_PNG_SIGNATURE_BYTES;
    for (;;) {
        const struct ih_png_chunk chunk = next_chunk(f);
        if (ih_png_is_named(&chunk, "IDAT") || ih_png_is_named(&chunk, "IEND"))
            return IH_OK;
        if (ih_png_is_named(&chunk, "acTL") && chunk.length == ACTL_BYTES)
            f->n_stated = ih_be32(chunk.data);
        else if (ih_png_is_named(&chunk, "PLTE"))
            f->plte = chunk;
        else if (ih_png_is_named(&chunk, "tRNS"))
            f->trns = chunk;
        else if (ih_png_is_named(&chunk, "fcTL") && read_control(f, &chunk, err) != IH_OK)
            return err->status;
        if (f->n_begun > 1 ||
            (f->n_begun == 1 && (f->control.width != f->width || f->control.height != f->height)))
            return ih_error_set(err, IH_CORRUPT, "damaged PNG: a bad fcTL chunk");
    }
}

enum ih_status ih_png_frames_open(struct ih_png_file *file, const struct ih_decode_options *options,
                                  struct ih_image_info *info, struct ih_png_frames **frames,
                                  struct ih_error *err)
{
    bool is_animated = false;
    struct ih_png_frames *f = calloc(1, sizeof *f);
    if (!f)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    f->src = file->src;
    f->held.budget = options->budget;
    f->held.time = &f->src->time;
    f->sample_range = options->sample_range;
    enum ih_status status = read_more(f, IH_PNG_SIGNATURE_BYTES, err);
    if (status == IH_OK)
        status = read_up_to(f, "IDAT", &is_animated, err);
    if (status != IH_OK || !is_animated) { /* the streaming path reads on, and judges damage */
        file->bytes = f->held.file;
        file->size = f->held.file_bytes;
        file->capacity = f->capacity;
        f->held = (struct ih_held){.budget = NULL};
        ih_png_frames_close(f);
        return IH_OK;
    }
    ih_source_open_memory(&f->memory, f->held.file, f->held.file_bytes);
    f->file = (struct ih_png_file){.src = &f->memory, .sample_range = f->sample_range};
    status = ih_png_stream_open(&f->file, info, &f->stream, err);
    if (status != IH_OK) {
        ih_png_frames_close(f);
        return status;
    }
    if (options->takes_native && info->source_depth > 8) {
        ih_png_frames_close(f);
        return ih_native_refuse("animated PNG", info->source_depth, err);
    }
    f->width = (size_t)info->width;
    f->height = (size_t)info->height;
    f->canvas.n_channels = info->n_channels;
    f->order = info->order;
    info->order = (struct ih_pixel_order){.kind = IH_PIXEL_ORDER_ROWS};
    *frames = f;
    return IH_OK;
}

void ih_png_frames_close(struct ih_png_frames *f)
{
    if (!f)
        return;
    ih_png_stream_close(f->stream);
    ih_source_close(&f->memory);
    free(f->plain);
    free(f->row);
    free(f->shown);
    free(f->before);
    ih_held_close(&f->held);
    free(f);
}

/* Reads the rest of the file. libpng has read its beginning, which is in memory. */
static enum ih_status read_all(struct ih_png_frames *f, struct ih_error *err)
{
    const size_t n_read = f->held.file_bytes;
    bool is_animated = true;
    if (read_up_to(f, "IEND", &is_animated, err) != IH_OK || read_rest(f, err) != IH_OK)
        return err->status;
    ih_source_close(&f->memory);
    ih_source_open_memory(&f->memory, f->held.file + n_read, f->held.file_bytes - n_read);
    return IH_OK;
}

/* ---- the canvas ---- */

static enum ih_status make_canvas(struct ih_png_frames *f, struct ih_error *err)
{
    size_t n_pixels, n_bytes;
    if (!ih_size_multiply(f->width, f->height, &n_pixels) ||
        !ih_size_multiply(n_pixels, 8, &n_bytes) || n_bytes > SIZE_MAX - f->held.file_bytes)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (ih_held_more(&f->held, n_bytes + f->held.file_bytes, err) != IH_OK)
        return err->status;
    f->shown = calloc(n_pixels, 4);
    f->plain = malloc(f->held.file_bytes);
    f->row = malloc(4 * f->width);
    return f->shown && f->plain && f->row ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

/* Source: the PNG specification, 13.16. A sum of at most 255^3 fits. */
static void blend_over(uint8_t *to, const uint8_t from[4])
{
    const uint32_t over = from[3] * 255u, under = (255u - from[3]) * to[3], all = over + under;
    for (unsigned c = 0; c < 3 && all > 0; c++)
        to[c] = (uint8_t)((from[c] * over + to[c] * under + all / 2) / all);
    to[3] = (uint8_t)((all + 127) / 255);
}

static void draw_run(struct ih_png_frames *f, const struct ih_pixel_order_run *run,
                     unsigned n_channels, const uint8_t *pixels)
{
    const bool is_gray = n_channels < 3, has_alpha = n_channels % 2 == 0;
    const size_t y = f->control.top + (size_t)run->y, x = f->control.left + (size_t)run->x;
    const size_t first = y * f->width + x;
    for (size_t i = 0; i < run->n; i++, pixels += n_channels) {
        uint8_t *to = f->shown + 4 * (first + i * (size_t)run->x_step);
        const uint8_t rgba[4] = {pixels[0], pixels[is_gray ? 0 : 1], pixels[is_gray ? 0 : 2],
                                 has_alpha ? pixels[n_channels - 1] : 255};
        if (f->control.blend == BLEND_SOURCE || rgba[3] == 255)
            memcpy(to, rgba, 4);
        else
            blend_over(to, rgba);
    }
}

/* Draws the image of the stream and closes the stream. info: of the image */
static enum ih_status draw(struct ih_png_frames *f, const struct ih_image_info *info,
                           struct ih_error *err)
{
    struct ih_pixel_order_walk walk;
    struct ih_pixel_order_run run;
    size_t n = 0;
    enum ih_status status = IH_OK;
    ih_pixel_order_start(&walk, &f->order, info->width, info->height);
    do {
        status = ih_time_limit_check(f->held.time, err);
        if (status == IH_OK)
            status = ih_png_stream_read(f->stream, f->row, (size_t)info->width, &n, err);
        for (size_t i = 0; i < n && status == IH_OK; i += run.n) {
            if (!ih_pixel_order_next(&walk, n - i, &run))
                return ih_error_set(err, IH_CORRUPT, "damaged PNG: too many pixels");
            draw_run(f, &run, info->n_channels, f->row + i * info->n_channels);
        }
    } while (status == IH_OK && n > 0);
    ih_png_stream_close(f->stream);
    f->stream = NULL;
    ih_composed_begin(&f->canvas, f->shown, f->width * f->height);
    return status;
}

enum ih_status ih_png_frames_read(struct ih_png_frames *f, struct ih_image_info *info,
                                  uint8_t *pixels, size_t capacity_pixels, size_t *n_pixels,
                                  struct ih_error *err)
{
    if (!f->shown) {
        if (read_all(f, err) != IH_OK || make_canvas(f, err) != IH_OK ||
            draw(f, info, err) != IH_OK)
            return err->status;
        info->warnings &= ~(unsigned)IH_WARNING_MORE_IMAGES;
    }
    *n_pixels = ih_composed_give(&f->canvas, pixels, capacity_pixels);
    return IH_OK;
}

/* ---- frames after the first image ---- */

static void put_be32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Appends a chunk to the plain PNG, which is shorter than the file. Its CRC is not read. */
static uint8_t *put_chunk(struct ih_png_frames *f, const char *name, const uint8_t *data, size_t n)
{
    uint8_t *p = f->plain + f->plain_bytes;
    put_be32(p, (uint32_t)n);
    memcpy(p + 4, name, 4);
    if (n > 0)
        memcpy(p + IH_PNG_CHUNK_HEAD_BYTES, data, n);
    memset(p + IH_PNG_CHUNK_HEAD_BYTES + n, 0, IH_PNG_CRC_BYTES);
    f->plain_bytes += IH_PNG_CHUNK_HEAD_BYTES + n + IH_PNG_CRC_BYTES;
    return p + IH_PNG_CHUNK_HEAD_BYTES;
}

/* Makes a PNG of the frame whose fcTL was read, and moves on to what follows the frame. */
static enum ih_status make_plain(struct ih_png_frames *f, struct ih_error *err)
{
    enum { IHDR_BYTES = 13 };
    const uint8_t *file = f->held.file;
    memcpy(f->plain, file, IH_PNG_SIGNATURE_BYTES);
    f->plain_bytes = IH_PNG_SIGNATURE_BYTES;
    uint8_t *header =
        put_chunk(f, "IHDR", file + IH_PNG_SIGNATURE_BYTES + IH_PNG_CHUNK_HEAD_BYTES, IHDR_BYTES);
    put_be32(header, f->control.width);
    put_be32(header + 4, f->control.height);
    if (f->plte.length > 0)
        put_chunk(f, "PLTE", f->plte.data, f->plte.length);
    if (f->trns.length > 0)
        put_chunk(f, "tRNS", f->trns.data, f->trns.length);
    for (;;) {
        const size_t at = f->at;
        const struct ih_png_chunk chunk = next_chunk(f);
        if (ih_png_is_named(&chunk, "fcTL") || ih_png_is_named(&chunk, "IEND")) {
            f->at = at;
            break;
        }
        if (!ih_png_is_named(&chunk, "fdAT"))
            continue;
        if (check_sequence(f, &chunk, err) != IH_OK)
            return err->status;
        put_chunk(f, "IDAT", chunk.data + SEQUENCE_BYTES, chunk.length - SEQUENCE_BYTES);
    }
    put_chunk(f, "IEND", NULL, 0);
    return IH_OK;
}

/* Clears the part of the canvas that the frame has, or goes back to what was there before. */
static void dispose(struct ih_png_frames *f)
{
    const struct control *c = &f->control;
    for (size_t y = c->top; y < (size_t)c->top + c->height; y++) {
        const size_t at = 4 * (y * f->width + c->left), n = 4 * (size_t)c->width;
        if (c->dispose == DISPOSE_PREVIOUS && f->before)
            memcpy(f->shown + at, f->before + at, n);
        else if (c->dispose != DISPOSE_NONE) /* before the first frame, the canvas is clear */
            memset(f->shown + at, 0, n);
    }
}

/* Keeps the canvas if the next frame's disposal needs it. */
static enum ih_status keep_canvas(struct ih_png_frames *f, struct ih_error *err)
{
    const size_t n_bytes = 4 * f->width * f->height;
    if (f->control.dispose != DISPOSE_PREVIOUS)
        return IH_OK;
    if (!f->before && !(f->before = malloc(n_bytes)))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    memcpy(f->before, f->shown, n_bytes);
    return IH_OK;
}

/* Finds the next fcTL. *has_next false: the file has no further frames. */
static enum ih_status find_frame(struct ih_png_frames *f, bool *has_next, struct ih_error *err)
{
    for (;;) {
        const struct ih_png_chunk chunk = next_chunk(f);
        *has_next = ih_png_is_named(&chunk, "fcTL");
        if (*has_next)
            return read_control(f, &chunk, err);
        if (ih_png_is_named(&chunk, "fdAT"))
            return ih_error_set(err, IH_CORRUPT, "damaged PNG: its frames are out of order");
        if (!ih_png_is_named(&chunk, "IEND"))
            continue;
        f->at -= chunk.size_bytes;
        if (f->n_begun != f->n_stated && f->n_stated <= INT32_MAX) /* more: not known */
            return ih_error_set(err, IH_CORRUPT, "damaged PNG: it has %u of %u frames", f->n_begun,
                                f->n_stated);
        return IH_OK;
    }
}

enum ih_status ih_png_frames_next(struct ih_png_frames *f, struct ih_image_info *info,
                                  bool *has_next, struct ih_error *err)
{
    if (f->at == 0 && read_front(f, err) != IH_OK)
        return err->status;
    if (f->n_begun > 0)
        dispose(f);
    else
        memset(f->shown, 0, 4 * f->width * f->height); /* the first image is no frame */
    enum ih_status status = find_frame(f, has_next, err);
    if (status != IH_OK || !*has_next)
        return status;
    status = keep_canvas(f, err);
    if (status == IH_OK)
        status = make_plain(f, err);
    if (status != IH_OK)
        return status;
    ih_source_close(&f->memory);
    ih_source_open_memory(&f->memory, f->plain, f->plain_bytes);
    f->file = (struct ih_png_file){
        .src = &f->memory, .sample_range = f->sample_range, .ignores_crc = true};
    f->frame = (struct ih_image_info){.format = NULL};
    status = ih_png_stream_open(&f->file, &f->frame, &f->stream, err);
    f->order = f->frame.order;
    if (status == IH_OK)
        status = draw(f, &f->frame, err);
    info->n_channels = f->canvas.n_channels;
    info->extremes = (struct ih_extremes){0};
    return status;
}
