/*
 * PNG, by one of two paths. The first image of an animated one (APNG) is decoded.
 *
 * The fast path (png/fast.c) holds the file and the inflated rows in memory and uses libdeflate; it
 * is two to three times as fast as libpng. open takes it if
 * - the image is not interlaced, and its header and the chunks before IDAT are sound and usual;
 * - file and inflated rows together take at most whole_file_bytes_max, and the image is not larger
 * than max_pixels;
 * - no other image may follow, which the fast path would read too (takes_frames);
 * - samples of 16 bits are reduced as usual (no sample_range);
 * - this build has libdeflate.
 * The first read loads and checks all the rest, before any pixel is delivered.
 *
 * The streaming path (png/stream.c) uses libpng, row by row, in little memory. It takes all other
 * files, and every file on which the fast path gives up: a damaged or unusual one, or one that the
 * budget has no room for. It starts over with the bytes that were read, so the reader need not be
 * seekable. Its verdict counts, and its messages are the ones users see; only a colour past the end
 * of the palette is reported by both paths.
 */
#include "decode/decoder.h"

#include "decode/deflate.h"
#include "decode/png/paths.h"

#include <assert.h>
#include <png.h>
#include <string.h>

#ifdef IH_WITH_LIBDEFLATE
#include <libdeflate.h>
#define LIBRARIES "libdeflate " LIBDEFLATE_VERSION_STRING ", libpng " PNG_LIBPNG_VER_STRING
#else
#define LIBRARIES "libpng " PNG_LIBPNG_VER_STRING
#endif

struct png_state {
    struct ih_png_file file;
    struct ih_png_fast *fast; /* owned; one of the two is not NULL */
    struct ih_png_stream *stream;
    bool is_loaded;             /* fast */
    struct ih_image_info info;  /* after open */
    struct ih_image_info *told; /* borrowed: the caller's */
};

static bool probe(const uint8_t *head, size_t size)
{
    return size >= 4 &&
           memcmp(head, "\x89PNG", 4) == 0; /* the other four bytes show transfer damage */
}

static void close_png(void *state)
{
    struct png_state *s = state;
    ih_png_fast_close(s->fast);
    ih_png_stream_close(s->stream);
    ih_png_file_release(&s->file);
}

static enum ih_status open_png(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    struct png_state *s = state;
    s->file.src = src;
    s->file.budget = options->budget;
    s->file.sample_range = options->sample_range;
    s->file.takes_native = options->takes_native;
    s->file.takes_indices = options->takes_indices;
    if (!options->takes_frames && options->sample_range.high == 0)
        s->fast = ih_png_fast_open(&s->file, options, info);
    if (!s->fast)
        status = ih_png_stream_open(&s->file, info, &s->stream, err);
    s->info = *info;
    s->told = info;
    return status;
}

/* Leaves the fast path and starts over. */
static enum ih_status change_to_stream(struct png_state *s, struct ih_error *err)
{
    ih_png_fast_close(s->fast);
    s->fast = NULL;
    enum ih_status status = ih_png_stream_open(&s->file, s->told, &s->stream, err);
    assert(status != IH_OK ||
           (s->told->width == s->info.width && s->told->height == s->info.height &&
            s->told->layout.n_channels == s->info.layout.n_channels));
    return status;
}

static enum ih_status read_png(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct png_state *s = state;
    if (s->fast && !s->is_loaded) {
        s->is_loaded = ih_png_fast_load(s->fast);
        if (!s->is_loaded) {
            if (change_to_stream(s, err) != IH_OK)
                return err->status;
        }
    }
    if (s->fast)
        return ih_png_fast_read(s->fast, pixels, capacity_pixels, n_pixels, err);
    return ih_png_stream_read(s->stream, pixels, capacity_pixels, n_pixels, err);
}

#if IH_DEFLATE_OPENS_FILE
#define PREPARE prepare
static enum ih_status prepare(struct ih_error *err)
{
    (void)err;
    ih_deflate_prepare();
    return IH_OK;
}
#else
#define PREPARE NULL
#endif

const struct ih_decoder ih_decoder_png = {
    .name = "png",
    .title = "PNG, every colour type, depth and interlacing; the first image of APNG",
    .version = LIBRARIES,
    .ends_exactly = true,
    .prepare = PREPARE,
    .probe = probe,
    .state_bytes = sizeof(struct png_state),
    .open = open_png,
    .read = read_png,
    .close = close_png,
};
