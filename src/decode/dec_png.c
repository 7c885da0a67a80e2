/*
 * PNG, in one of two ways.
 *
 * An image that is not interlaced and not too large is inflated whole by libdeflate, two to three
 * times as fast as libpng (png_whole.c). libpng reads the others, a row at a time, and everything
 * that the fast path finds doubtful: its verdict counts, and its message is the one that is seen.
 */
#include "decode/decoder.h"

#include "decode/png/stream.h"
#include "decode/png/whole.h"

#include <assert.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#ifdef IH_WITH_LIBDEFLATE
#include <libdeflate.h>
#define LIBRARIES "libdeflate " LIBDEFLATE_VERSION_STRING ", libpng " PNG_LIBPNG_VER_STRING
#else
#define LIBRARIES "libpng " PNG_LIBPNG_VER_STRING
#endif

struct png_state {
    struct ih_png_held held;
    struct ih_png_whole *whole; /* owned; one of the two is NULL */
    struct ih_png_stream *stream;
    bool is_loaded; /* of whole */
    struct ih_image_info info;
};

static bool probe(const uint8_t *head, size_t size)
{
    return size >= 4 && memcmp(head, "\x89PNG", 4) == 0; /* the rest shows how it was damaged */
}

static const char *version(void)
{
    return LIBRARIES; /* that it was built with */
}

static void close_png(void *state)
{
    struct png_state *s = state;
    ih_png_whole_close(s->whole);
    ih_png_stream_close(s->stream);
    ih_png_held_release(&s->held);
    free(s);
}

static enum ih_status open_png(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    struct png_state *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->held.src = src;
    s->held.budget = options->budget;
    s->whole = ih_png_whole_open(&s->held, options, info);
    if (!s->whole)
        status = ih_png_stream_open(&s->held, info, &s->stream, err);
    if (status != IH_OK) {
        close_png(s);
        return status;
    }
    s->info = *info;
    *state = s;
    return IH_OK;
}

/* From the fast path to libpng, at the start of the file. */
static enum ih_status change_to_stream(struct png_state *s, struct ih_error *err)
{
    struct ih_image_info info = s->info;
    ih_png_whole_close(s->whole);
    s->whole = NULL;
    enum ih_status status = ih_png_stream_open(&s->held, &info, &s->stream, err);
    assert(status != IH_OK || (info.width == s->info.width && info.height == s->info.height &&
                               info.n_channels == s->info.n_channels));
    return status;
}

static enum ih_status read_png(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct png_state *s = state;
    if (s->whole && !s->is_loaded) {
        s->is_loaded = ih_png_whole_load(s->whole);
        if (!s->is_loaded) {
            enum ih_status status = change_to_stream(s, err);
            if (status != IH_OK)
                return status;
        }
    }
    if (s->whole)
        return ih_png_whole_read(s->whole, pixels, capacity_pixels, n_pixels, err);
    return ih_png_stream_read(s->stream, pixels, capacity_pixels, n_pixels, err);
}

const struct ih_decoder ih_decoder_png = {
    .name = "png",
    .title = "PNG, every colour type, depth and interlacing",
    .version = version,
    .probe = probe,
    .open = open_png,
    .read = read_png,
    .close = close_png,
};
