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
 *
 * With takes_frames, all frames are given, each as a viewer shows it: on a canvas in memory, over
 * the frames before it and after their disposal. Disposal to the background clears a frame's
 * rectangle to transparent black. A file that ends without its trailer may have lost frames, and is
 * damaged.
 */
#include "decode/composed.h"
#include "decode/whole_file.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

struct gif_state {
    struct ih_image_info *info; /* borrowed */
    bool is_over;               /* the first frame has been read */
    bool takes_frames;
    struct ih_reader *src;   /* borrowed */
    GifFileType *gif;        /* owned */
    uint8_t palette[256][4]; /* transparent black past its end */
    unsigned n_palette, n_channels;
    int transparent;       /* an index, or NO_TRANSPARENT_COLOR */
    uint64_t n_uncovered;  /* uncovered pixels of the screen that are still to be returned */
    size_t width, n_rows;  /* of the frame; n_rows: still to be read */
    uint8_t *indices;      /* owned; one row of the frame */
    uint8_t last;          /* the last byte that giflib has read */
    struct ih_error error; /* from reading the reader */

    /* With takes_frames: */
    uint64_t max_pixels;
    struct ih_whole_file whole; /* only its budget */
    struct ih_composed canvas;  /* gives shown */
    uint8_t *shown, *before;    /* owned, RGBA [canvas_height][canvas_width]; before: disposal goes
                                   back to it */
    size_t canvas_width, canvas_height;
    int disposal;
};

static int read_bytes(GifFileType *gif, GifByteType *dst, int size)
{
    struct gif_state *s = gif->UserData;
    size_t got = 0;
    if (ih_reader_read(s->src, dst, (size_t)size, &got, &s->error) == IH_OK && got < (size_t)size)
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
    free(s->shown);
    free(s->before);
    ih_whole_file_close(&s->whole);
}

/* Reads the blocks of an extension. A graphic control extension sets what it says about the next
 * frame. */
static bool read_extension(GifFileType *gif, int *transparent, int *disposal)
{
    int code;
    GifByteType *block;
    GraphicsControlBlock control;
    if (DGifGetExtension(gif, &code, &block) != GIF_OK)
        return false;
    if (code == GRAPHICS_EXT_FUNC_CODE && block &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
        *transparent = control.TransparentColor;
        *disposal = control.DisposalMode;
    }
    while (block)
        if (DGifGetExtensionNext(gif, &block) != GIF_OK)
            return false;
    return true;
}

/* Reads up to the pixels of the next frame. */
static bool find_frame(GifFileType *gif, int *transparent, int *disposal)
{
    GifRecordType type;
    *transparent = NO_TRANSPARENT_COLOR;
    *disposal = DISPOSAL_UNSPECIFIED;
    do {
        if (DGifGetRecordType(gif, &type) != GIF_OK || type == TERMINATE_RECORD_TYPE)
            return false;
        if (type == EXTENSION_RECORD_TYPE && !read_extension(gif, transparent, disposal))
            return false;
    } while (type != IMAGE_DESC_RECORD_TYPE);
    return DGifGetImageDesc(gif) == GIF_OK;
}

static enum ih_status load_palette(struct gif_state *s, struct ih_error *err)
{
    const ColorMapObject *map = s->gif->Image.ColorMap ? s->gif->Image.ColorMap : s->gif->SColorMap;
    if (!map || map->ColorCount < 1 || map->ColorCount > 256)
        return ih_error_set(err, IH_CORRUPT, "damaged GIF: it has no palette");
    memset(s->palette, 0, sizeof s->palette);
    s->n_palette = (unsigned)map->ColorCount;
    for (unsigned i = 0; i < s->n_palette; i++) {
        s->palette[i][0] = map->Colors[i].Red;
        s->palette[i][1] = map->Colors[i].Green;
        s->palette[i][2] = map->Colors[i].Blue;
        s->palette[i][3] = (int)i == s->transparent ? 0 : 255;
    }
    return IH_OK;
}

/* Why find_frame found none. */
static enum ih_status failed_frame(const struct gif_state *s, struct ih_error *err)
{
    /* giflib reports a code size that it does not take as a failed read. In its place may be what
     * follows a frame: the next frame, an extension or the trailer. */
    const bool is_refused =
        s->gif->Error == D_GIF_ERR_READ_FAILED && s->error.status == IH_OK && s->last > 8;
    if (is_refused && strchr(",!;", s->last))
        return ih_error_set(err, IH_CORRUPT, "damaged GIF: a frame without data");
    if (is_refused)
        return ih_error_set(err, IH_UNSUPPORTED, "GIF with codes of %u bits is not supported",
                            s->last);
    return failed(s, s->gif->Error, err);
}

/* Sets the frame's size, and the image's, which is at least as large as before. */
static enum ih_status place_frame(struct gif_state *s, struct ih_image_info *info,
                                  struct ih_error *err)
{
    const GifImageDesc *frame = &s->gif->Image;
    if (frame->Width <= 0 || frame->Height <= 0 || frame->Left < 0 || frame->Top < 0)
        return ih_error_set(err, IH_CORRUPT, "damaged GIF: it has no pixels");
    const uint64_t right = (uint64_t)frame->Left + (uint64_t)frame->Width;
    const uint64_t bottom = (uint64_t)frame->Top + (uint64_t)frame->Height;
    info->width = right > info->width ? right : info->width;
    info->height = bottom > info->height ? bottom : info->height;
    s->width = (size_t)frame->Width;
    s->n_rows = (size_t)frame->Height;
    return IH_OK;
}

static enum ih_status read_header(struct gif_state *s, struct ih_image_info *info,
                                  struct ih_error *err)
{
    int code = 0;
    s->gif = DGifOpen(s, read_bytes, &code);
    if (!s->gif)
        return failed(s, code, err);
    info->width = (uint64_t)s->gif->SWidth;
    info->height = (uint64_t)s->gif->SHeight;
    if (!find_frame(s->gif, &s->transparent, &s->disposal))
        return failed_frame(s, err);
    if (place_frame(s, info, err) != IH_OK)
        return err->status;
    const GifImageDesc *frame = &s->gif->Image;
    if (!s->takes_frames) /* else the canvas is given in rows */
        info->order =
            (struct ih_pixel_order){.kind = IH_PIXEL_ORDER_FRAME,
                                    .flags = frame->Interlace ? IH_PIXEL_ORDER_INTERLACED : 0,
                                    .width = (uint32_t)frame->Width,
                                    .height = (uint32_t)frame->Height,
                                    .left = (uint32_t)frame->Left,
                                    .top = (uint32_t)frame->Top};
    s->n_uncovered = info->width * info->height - (uint64_t)s->width * s->n_rows;
    s->n_channels = s->transparent != NO_TRANSPARENT_COLOR || s->n_uncovered > 0 ? 4 : 3;
    info->layout = ih_layout_of(s->n_channels);
    info->source_depth = 8;
    info->range = IH_RANGE_FULL;
    return load_palette(s, err);
}

static enum ih_status open_gif(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct gif_state *s = state;
    s->src = src;
    s->info = info;
    s->takes_frames = options->takes_frames;
    s->max_pixels = options->max_pixels;
    s->whole.budget = options->budget;
    s->whole.time = &src->time;
    enum ih_status status = read_header(s, info, err);
    s->indices = status == IH_OK ? malloc(s->width) : NULL;
    if (status == IH_OK && !s->indices)
        status = ih_error_set(err, IH_MEMORY, "out of memory");
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
    int ignored, also_ignored;
    if (find_frame(s->gif, &ignored, &also_ignored))
        s->info->warnings |= IH_WARNING_MORE_IMAGES;
    else if (s->gif->Error == 0)
        s->info->n_frames = 1;
}

/* ---- all frames ---- */

static uint8_t *copy_canvas(const struct gif_state *s, size_t width, size_t height)
{
    uint8_t *copy = calloc(width * height, 4);
    for (size_t y = 0; copy && s->shown && y < s->canvas_height; y++)
        memcpy(copy + 4 * y * width, s->shown + 4 * y * s->canvas_width, 4 * s->canvas_width);
    return copy;
}

/* Makes the canvas as large as the image, and remembers it if the frame's disposal needs it. */
static enum ih_status prepare_canvas(struct gif_state *s, struct ih_error *err)
{
    const size_t width = (size_t)s->info->width, height = (size_t)s->info->height;
    size_t n_pixels, n_bytes = 0;
    enum ih_status status =
        ih_decode_check_pixels(s->info->width, s->info->height, s->max_pixels, err);
    if (status == IH_OK &&
        (!ih_size_multiply(width, height, &n_pixels) || !ih_size_multiply(n_pixels, 8, &n_bytes)))
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status != IH_OK)
        return status;
    if (width != s->canvas_width || height != s->canvas_height) {
        status =
            ih_whole_file_more(&s->whole, n_bytes - 8 * s->canvas_width * s->canvas_height, err);
        uint8_t *larger = status == IH_OK ? copy_canvas(s, width, height) : NULL;
        if (status == IH_OK && !larger)
            status = ih_error_set(err, IH_MEMORY, "out of memory");
        if (status != IH_OK)
            return status;
        free(s->shown);
        s->shown = larger;
        s->canvas_width = width;
        s->canvas_height = height;
    }
    free(s->before);
    s->before = s->disposal == DISPOSE_PREVIOUS ? copy_canvas(s, width, height) : NULL;
    if (s->disposal == DISPOSE_PREVIOUS && !s->before)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return IH_OK;
}

/* Row i in the file of an interlaced frame is this row: four passes, GIF89a appendix E. */
static size_t interlaced_row(size_t i, size_t n_rows)
{
    static const struct {
        size_t first, step;
    } passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    unsigned p = 0;
    size_t y = 0;
    for (; p < 4; p++) {
        const size_t n =
            n_rows > passes[p].first ? (n_rows - passes[p].first - 1) / passes[p].step + 1 : 0;
        y = passes[p].first + i * passes[p].step;
        if (i < n)
            break;
        i -= n;
    }
    return y;
}

/* Draws the frame onto the canvas. Its transparent pixels show what is below; those of the first
 * frame keep their colour, as without a canvas. */
static enum ih_status draw_frame(struct gif_state *s, bool is_first, struct ih_error *err)
{
    const GifImageDesc *frame = &s->gif->Image;
    if (prepare_canvas(s, err) != IH_OK)
        return err->status;
    for (size_t i = 0; i < s->n_rows; i++) {
        const size_t y = (size_t)frame->Top + (frame->Interlace ? interlaced_row(i, s->n_rows) : i);
        uint8_t *row = s->shown + 4 * (y * s->canvas_width + (size_t)frame->Left);
        if (DGifGetLine(s->gif, s->indices, (int)s->width) != GIF_OK)
            return failed(s, s->gif->Error, err);
        if (check_row(s, err) != IH_OK)
            return err->status;
        for (size_t x = 0; x < s->width; x++)
            if (is_first || (int)s->indices[x] != s->transparent)
                memcpy(row + 4 * x, s->palette[s->indices[x]], 4);
    }
    ih_composed_begin(&s->canvas, s->shown, s->canvas_width * s->canvas_height);
    return IH_OK;
}

static void dispose_of_frame(struct gif_state *s)
{
    const GifImageDesc *frame = &s->gif->Image;
    if (s->disposal == DISPOSE_PREVIOUS) {
        free(s->shown);
        s->shown = s->before;
        s->before = NULL;
    }
    for (int y = 0; y < frame->Height && s->disposal == DISPOSE_BACKGROUND; y++)
        memset(s->shown + 4 * ((size_t)(frame->Top + y) * s->canvas_width + (size_t)frame->Left), 0,
               4 * (size_t)frame->Width);
}

static enum ih_status next_gif(void *state, struct ih_image_info *info, bool *has_next,
                               struct ih_error *err)
{
    struct gif_state *s = state;
    dispose_of_frame(s);
    *has_next = find_frame(s->gif, &s->transparent, &s->disposal);
    if (!*has_next)
        return s->gif->Error == 0 ? IH_OK : failed_frame(s, err);
    enum ih_status status = place_frame(s, info, err);
    if (status == IH_OK)
        status = load_palette(s, err);
    free(s->indices);
    s->indices = status == IH_OK ? malloc(s->width) : NULL;
    if (status == IH_OK && !s->indices)
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status == IH_OK)
        status = draw_frame(s, false, err);
    info->layout = ih_layout_of(s->canvas.n_channels);
    return status;
}

static enum ih_status read_gif(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct gif_state *s = state;
    if (s->takes_frames) {
        if (!s->shown) {
            s->canvas.n_channels = 4; /* not to be looked for */
            if (draw_frame(s, true, err) != IH_OK)
                return err->status;
            s->canvas.n_channels = s->n_channels;
        }
        *n_pixels = ih_composed_give(&s->canvas, pixels, capacity_pixels);
        return IH_OK;
    }
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

const struct ih_decoder ih_decoder_gif = {
    .name = "gif",
    .is_isolated = true,
    .is_sequential = true,
    .title = "GIF, the first frame on its screen, or all frames",
    .version = "giflib " TEXT(GIFLIB_MAJOR) "." TEXT(GIFLIB_MINOR) "." TEXT(GIFLIB_RELEASE),
    .probe = ih_probe_gif,
    .state_bytes = sizeof(struct gif_state),
    .open = open_gif,
    .read = read_gif,
    .next = next_gif,
    .close = close_gif,
};
