/*
 * GIF through giflib: the first frame, streamed row by row. Memory is one row of indices. The rows
 * of an interlaced frame are counted in the order of the file.
 *
 * The frame lies on a screen, and readers disagree on the part that it does not cover: browsers
 * show what is below, Pillow uses the transparent colour or the palette's first, ffmpeg the
 * background colour, which browsers ignore. The file stores nothing for that part, so here it is
 * transparent black, and the image has an alpha channel. A frame that extends beyond the screen
 * enlarges it, as in browsers and Pillow.
 *
 * giflib returns indices past the palette's end. Here they are damage, except the transparent
 * index, which needs no colour: its pixels are transparent black. Anything after the frame is
 * ignored.
 */
#include "decode/decoder.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

struct gif_state {
    struct ih_image_info *info; /* borrowed */
    bool is_over;               /* the first frame has been read */
    struct ih_source *src;      /* borrowed */
    GifFileType *gif;           /* owned */
    uint8_t palette[256][4];    /* transparent black past its end */
    unsigned n_palette, n_channels;
    int transparent;       /* an index, or NO_TRANSPARENT_COLOR */
    uint64_t n_uncovered;  /* uncovered pixels of the screen that are still to be returned */
    size_t width, n_rows;  /* of the frame; n_rows: still to be read */
    uint8_t *indices;      /* owned; one row of the frame */
    uint8_t last;          /* the last byte that giflib has read */
    struct ih_error error; /* from reading the source */
};

static int read_bytes(GifFileType *gif, GifByteType *dst, int size)
{
    struct gif_state *s = gif->UserData;
    size_t got = 0;
    if (ih_source_read(s->src, dst, (size_t)size, &got, &s->error) == IH_OK && got < (size_t)size)
        ih_error_set(&s->error, IH_CORRUPT, "damaged GIF: the file ends before the image does");
    s->last = got > 0 ? dst[got - 1] : 0;
    return (int)got;
}

static enum ih_status failed(const struct gif_state *s, int code, struct ih_error *err)
{
    if (s->error.status != IH_OK) {
        *err = s->error;
        return err->status;
    }
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    const char *text = GifErrorString(code);
    return ih_error_set(err, IH_CORRUPT, "damaged GIF: %s", text ? text : "no image");
}

static void close_gif(void *state)
{
    struct gif_state *s = state;
    int code;
    if (s->gif)
        DGifCloseFile(s->gif, &code);
    free(s->indices);
    free(s);
}

/* Reads the blocks of an extension. A graphic control extension sets *transparent to the
 * transparent index. */
static bool read_extension(GifFileType *gif, int *transparent)
{
    int code;
    GifByteType *block;
    GraphicsControlBlock control;
    if (DGifGetExtension(gif, &code, &block) != GIF_OK)
        return false;
    if (code == GRAPHICS_EXT_FUNC_CODE && block &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
        *transparent = control.TransparentColor;
    while (block)
        if (DGifGetExtensionNext(gif, &block) != GIF_OK)
            return false;
    return true;
}

/* Reads up to the pixels of the first frame. */
static bool find_frame(GifFileType *gif, int *transparent)
{
    GifRecordType type;
    do {
        if (DGifGetRecordType(gif, &type) != GIF_OK || type == TERMINATE_RECORD_TYPE)
            return false;
        if (type == EXTENSION_RECORD_TYPE && !read_extension(gif, transparent))
            return false;
    } while (type != IMAGE_DESC_RECORD_TYPE);
    return DGifGetImageDesc(gif) == GIF_OK;
}

static enum ih_status load_palette(struct gif_state *s, struct ih_error *err)
{
    const ColorMapObject *map = s->gif->Image.ColorMap ? s->gif->Image.ColorMap : s->gif->SColorMap;
    if (!map || map->ColorCount < 1 || map->ColorCount > 256)
        return ih_error_set(err, IH_CORRUPT, "damaged GIF: it has no palette");
    s->n_palette = (unsigned)map->ColorCount;
    for (unsigned i = 0; i < s->n_palette; i++) {
        s->palette[i][0] = map->Colors[i].Red;
        s->palette[i][1] = map->Colors[i].Green;
        s->palette[i][2] = map->Colors[i].Blue;
        s->palette[i][3] = (int)i == s->transparent ? 0 : 255;
    }
    return IH_OK;
}

static enum ih_status read_header(struct gif_state *s, struct ih_image_info *info,
                                  struct ih_error *err)
{
    int code = 0;
    s->transparent = NO_TRANSPARENT_COLOR;
    s->gif = DGifOpen(s, read_bytes, &code);
    if (!s->gif)
        return failed(s, code, err);
    if (!find_frame(s->gif, &s->transparent)) {
        /* giflib reports a code size that it does not take as a failed read. */
        if (s->gif->Error == D_GIF_ERR_READ_FAILED && s->error.status == IH_OK && s->last > 8)
            return ih_error_set(err, IH_UNSUPPORTED, "GIF with codes of %u bits is not supported",
                                s->last);
        return failed(s, s->gif->Error, err);
    }
    const GifImageDesc *frame = &s->gif->Image;
    if (frame->Width <= 0 || frame->Height <= 0 || frame->Left < 0 || frame->Top < 0)
        return ih_error_set(err, IH_CORRUPT, "damaged GIF: it has no pixels");
    uint64_t right = (uint64_t)frame->Left + (uint64_t)frame->Width;
    uint64_t bottom = (uint64_t)frame->Top + (uint64_t)frame->Height;
    uint64_t screen_width = (uint64_t)s->gif->SWidth, screen_height = (uint64_t)s->gif->SHeight;
    info->width = right > screen_width ? right : screen_width;
    info->height = bottom > screen_height ? bottom : screen_height;
    info->order = (struct ih_pixel_order){.kind = IH_PIXEL_ORDER_FRAME,
                                          .flags = frame->Interlace ? IH_PIXEL_ORDER_INTERLACED : 0,
                                          .width = (uint32_t)frame->Width,
                                          .height = (uint32_t)frame->Height,
                                          .left = (uint32_t)frame->Left,
                                          .top = (uint32_t)frame->Top};
    s->width = (size_t)frame->Width;
    s->n_rows = (size_t)frame->Height;
    s->n_uncovered = info->width * info->height - (uint64_t)s->width * s->n_rows;
    s->n_channels = s->transparent != NO_TRANSPARENT_COLOR || s->n_uncovered > 0 ? 4 : 3;
    info->n_channels = s->n_channels;
    info->source_depth = 8;
    info->range = IH_RANGE_FULL;
    return load_palette(s, err);
}

static enum ih_status open_gif(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    (void)options;
    struct gif_state *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->src = src;
    s->info = info;
    enum ih_status status = read_header(s, info, err);
    s->indices = status == IH_OK ? malloc(s->width) : NULL;
    if (status == IH_OK && !s->indices)
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status == IH_OK)
        *state = s;
    else
        close_gif(s);
    return status;
}

static enum ih_status check_row(const struct gif_state *s, struct ih_error *err)
{
    unsigned bad = 0; /* the largest index that is not transparent */
    for (size_t x = 0; x < s->width; x++) {
        const unsigned index = s->indices[x];
        bad = index > bad && (int)index != s->transparent ? index : bad;
    }
    return bad < s->n_palette
               ? IH_OK
               : ih_error_set(err, IH_CORRUPT, "damaged GIF: colour %u of a palette of %u", bad,
                              s->n_palette);
}

static enum ih_status read_row(struct gif_state *s, uint8_t *pixels, struct ih_error *err)
{
    if (DGifGetLine(s->gif, s->indices, (int)s->width) != GIF_OK)
        return failed(s, s->gif->Error, err);
    if (check_row(s, err) != IH_OK)
        return err->status;
    if (s->n_channels == 4) {
        for (size_t x = 0; x < s->width; x++)
            memcpy(pixels + 4 * x, s->palette[s->indices[x]], 4);
    } else {
        for (size_t x = 0; x < s->width; x++)
            memcpy(pixels + 3 * x, s->palette[s->indices[x]], 3);
    }
    return IH_OK;
}

/* After the first frame: whether there is another. A file that is damaged there has its pixels. */
static void note_next_frame(struct gif_state *s)
{
    int ignored;
    if (find_frame(s->gif, &ignored))
        s->info->warnings |= IH_WARNING_MORE_IMAGES;
    else if (s->gif->Error == 0)
        s->info->n_frames = 1;
}

static enum ih_status read_gif(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct gif_state *s = state;
    size_t n = s->n_uncovered < capacity_pixels ? (size_t)s->n_uncovered : capacity_pixels;
    memset(pixels, 0, n * s->n_channels);
    s->n_uncovered -= n;
    for (; s->n_rows > 0 && capacity_pixels - n >= s->width; n += s->width, s->n_rows--)
        if (read_row(s, pixels + n * s->n_channels, err) != IH_OK)
            return err->status;
    if (n == 0 && !s->is_over) {
        s->is_over = true;
        note_next_frame(s);
    }
    *n_pixels = n;
    return IH_OK;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const char *version(void)
{
    return "giflib " TEXT(GIFLIB_MAJOR) "." TEXT(GIFLIB_MINOR) "." TEXT(GIFLIB_RELEASE);
}

const struct ih_decoder ih_decoder_gif = {
    .name = "gif",
    .is_isolated = true,
    .title = "GIF, the first frame on its screen",
    .version = version,
    .probe = ih_probe_gif,
    .open = open_gif,
    .read = read_gif,
    .close = close_gif,
};
