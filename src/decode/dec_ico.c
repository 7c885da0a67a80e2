/*
 * ICO and CUR (Windows icons and cursors): the largest image of the file. Among images of the
 * same size, the one with the most bits per pixel counts, then the first.
 *
 * An image is a complete PNG, or a BMP without its file header and followed by a mask. The PNG and
 * BMP decoders read them. The file is held in memory.
 *
 * A bit of the mask is 1 where a pixel is transparent. It becomes alpha, 0 or 255. An image of 32
 * bits has alpha of its own, and its mask is ignored. Colours under the mask are counted as stored.
 *
 * Source: "Icons" by John Hornick (Microsoft, 1995). Sizes and depths are read from the images,
 * because directories cannot state sizes above 256 and often state wrong depths.
 */
#include "decode/read_bytes.h"
#include "decode/whole_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIRECTORY_BYTES = 6,
    ENTRY_BYTES = 16,
    DIB_BYTES = 40,
    DIB_V5_BYTES = 124,
    PNG_HEAD_BYTES = 26,
    UNCOMPRESSED = 0
};

/* An image in the file. */
struct entry {
    const uint8_t *bytes;
    size_t size_bytes;
    bool is_png;
    uint32_t width, height;
    unsigned bits;         /* a pixel */
    uint32_t header_bytes; /* of a BMP's DIB header */
};

struct ico_state {
    struct ih_whole_file whole;
    struct entry entry;
    const struct ih_decoder *decoder;
    struct ih_reader src; /* the image, for decoder */
    void *image;          /* decoder's state */
    const uint8_t *mask;  /* the next row, in the file; NULL: no mask */
    size_t mask_row_bytes;
    uint8_t *row; /* owned; a row of colours; NULL: no mask */
};

static bool probe(const uint8_t *head, size_t size)
{
    return size >= DIRECTORY_BYTES + ENTRY_BYTES && head[0] == 0 && head[1] == 0 &&
           (head[2] == 1 || head[2] == 2) && head[3] == 0 && ih_le16(head + 4) != 0 &&
           ih_le32(head + 14) >= PNG_HEAD_BYTES &&
           ih_le32(head + 18) >= DIRECTORY_BYTES + ENTRY_BYTES * ih_le16(head + 4);
}

static enum ih_status ico_damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged ICO: %s", what);
}

static void close_ico(void *state)
{
    struct ico_state *s = state;
    ih_decoder_close(s->decoder, s->image);
    ih_reader_reset(&s->src);
    free(s->row);
    ih_whole_file_close(&s->whole);
}

/* ---- choosing the image ---- */

/* The header of Windows 3, the two with colour masks after it, and those of Windows 4 and 5. All
 * begin with the fields of the first. */
static bool is_dib_header(uint32_t n_bytes)
{
    return n_bytes == DIB_BYTES || n_bytes == 52 || n_bytes == 56 || n_bytes == 108 ||
           n_bytes == DIB_V5_BYTES;
}

/* Reads size and depth from the image itself. */
static enum ih_status describe(struct entry *e, struct ih_error *err)
{
    static const unsigned png_channels[] = {1, 0, 3, 1, 2, 0, 4};
    e->is_png = memcmp(e->bytes, "\x89PNG", 4) == 0;
    if (e->is_png) {
        e->width = ih_be32(e->bytes + 16);
        e->height = ih_be32(e->bytes + 20);
        e->bits = e->bytes[24] * (e->bytes[25] <= 6 ? png_channels[e->bytes[25]] : 0);
        return IH_OK;
    }
    e->header_bytes = ih_le32(e->bytes);
    if (!is_dib_header(e->header_bytes) || e->size_bytes < e->header_bytes)
        return ico_damaged(err, "an image that is neither PNG nor BMP");
    e->width = ih_le32(e->bytes + 4);
    e->height = ih_le32(e->bytes + 8) / 2; /* with the rows of the mask */
    e->bits = ih_le16(e->bytes + 14);
    return IH_OK;
}

static bool is_better(const struct entry *e, const struct entry *than)
{
    const uint64_t area = (uint64_t)e->width * e->height;
    const uint64_t other = (uint64_t)than->width * than->height;
    return area > other || (area == other && e->bits > than->bits);
}

static enum ih_status choose(struct ico_state *s, struct ih_error *err)
{
    const uint8_t *file = s->whole.file;
    const size_t n_bytes = s->whole.file_bytes, n = n_bytes < 6 ? 0 : ih_le16(file + 4);
    if (n == 0 || DIRECTORY_BYTES + n * ENTRY_BYTES > n_bytes)
        return ico_damaged(err, "the file ends before the image does");
    for (size_t i = 0; i < n; i++) {
        const uint8_t *place = file + DIRECTORY_BYTES + i * ENTRY_BYTES + 8;
        const uint32_t size = ih_le32(place), at = ih_le32(place + 4);
        if (at > n_bytes || size > n_bytes - at || size < PNG_HEAD_BYTES)
            return ico_damaged(err, "the file ends before the image does");
        struct entry e = {.bytes = file + at, .size_bytes = size};
        if (describe(&e, err) != IH_OK)
            return err->status;
        if (i == 0 || is_better(&e, &s->entry))
            s->entry = e;
    }
    return IH_OK;
}

/* ---- BMP ---- */

/* Finds the mask after the palette and the pixels of a BMP. */
static enum ih_status find_mask(struct ico_state *s, struct ih_error *err)
{
    const struct entry *e = &s->entry;
    const uint32_t n_colours = ih_le32(e->bytes + 32);
    if (ih_le32(e->bytes + 16) != UNCOMPRESSED)
        return ih_error_set(err, IH_UNSUPPORTED, "ICO with a compressed BMP is not supported");
    if (ih_le32(e->bytes + 8) % 2 != 0)
        return ico_damaged(err, "an impossible size");
    const uint64_t n_palette = e->bits > 8                              ? 0
                               : n_colours && n_colours < 1u << e->bits ? n_colours
                                                                        : 1u << e->bits;
    const uint64_t palette_bytes = 4 * n_palette, left = e->size_bytes - e->header_bytes;
    const uint64_t row_bytes = ((uint64_t)e->width * e->bits + 31) / 32 * 4;
    const uint64_t mask_row_bytes = ((uint64_t)e->width + 31) / 32 * 4;
    const bool has_mask = e->bits != 32;
    if (palette_bytes > left ||
        e->height >
            (left - palette_bytes) / (row_bytes + (has_mask ? mask_row_bytes : 0) + !row_bytes))
        return ico_damaged(err, "the file ends before the image does");
    const uint64_t mask_at = e->header_bytes + palette_bytes + row_bytes * e->height;
    const uint32_t profile_at = e->header_bytes == DIB_V5_BYTES ? ih_le32(e->bytes + 112) : 0;
    if (has_mask && profile_at && profile_at < mask_at + mask_row_bytes * e->height)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "ICO with a colour profile in place of the mask is not supported");
    s->mask = has_mask ? e->bytes + mask_at : NULL;
    s->mask_row_bytes = (size_t)mask_row_bytes;
    return IH_OK;
}

/* ---- opening and reading ---- */

static enum ih_status open_image(struct ico_state *s, const struct ih_decode_options *options,
                                 struct ih_image_info *info, struct ih_error *err)
{
    /* The PNG decoder reads rows: an image that holds memory must not wait for more. */
    const struct ih_decode_options own = {.max_pixels = options->max_pixels,
                                          .whole_file_bytes_max = 1,
                                          .is_icon = true,
                                          .is_lenient = options->is_lenient,
                                          .sample_range = options->sample_range,
                                          .takes_native = options->takes_native};
    const struct entry *e = &s->entry;
    if (e->width == 0 || e->height == 0)
        return ico_damaged(err, "it has no pixels");
    if (!e->is_png && (e->height > INT32_MAX / 2 || e->width > INT32_MAX))
        return ih_error_set(err, IH_UNSUPPORTED, "ICO of negative size is not supported");
    if (ih_decode_check_pixels(e->width, e->height, options->max_pixels, err) != IH_OK)
        return err->status;
    s->decoder = e->is_png ? &ih_decoder_png : &ih_decoder_bmp;
    if (!e->is_png && find_mask(s, err) != IH_OK)
        return err->status;
    ih_reader_open_memory(&s->src, e->bytes, e->size_bytes);
    if (ih_decoder_open(s->decoder, &s->src, &own, info, &s->image, err) != IH_OK)
        return err->status;
    assert(!s->mask || info->layout.n_channels == 3); /* without compression there is no alpha */
    if (s->mask)
        info->layout = ih_layout_of(4);
    return IH_OK;
}

static enum ih_status open_ico(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct ico_state *s = state;
    const char *format = info->format;
    enum ih_status status = ih_whole_file_open(&s->whole, src, options, 0, err);
    if (status == IH_OK)
        status = choose(s, err);
    if (status == IH_OK)
        status = open_image(s, options, info, err);
    info->format = format;
    return status;
}

/* Reads rows of colours and adds alpha from the mask. */
static enum ih_status read_masked(struct ico_state *s, uint8_t *pixels, size_t capacity_pixels,
                                  size_t *n_pixels, struct ih_error *err)
{
    const size_t width = s->entry.width;
    if (!s->row)
        s->row = malloc(width * 3);
    if (!s->row)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    while (capacity_pixels - *n_pixels >= width) {
        size_t n;
        if (s->decoder->read(s->image, s->row, width, &n, err) != IH_OK)
            return err->status;
        if (n == 0)
            break;
        for (size_t x = 0; x < width; x++, pixels += 4) {
            memcpy(pixels, s->row + 3 * x, 3);
            pixels[3] = s->mask[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
        }
        s->mask += s->mask_row_bytes;
        *n_pixels += width;
    }
    return IH_OK;
}

static enum ih_status read_ico(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct ico_state *s = state;
    *n_pixels = 0;
    return s->mask ? read_masked(s, pixels, capacity_pixels, n_pixels, err)
                   : s->decoder->read(s->image, pixels, capacity_pixels, n_pixels, err);
}

const struct ih_decoder ih_decoder_ico = {
    .name = "ico",
    .title = "ICO and CUR, the largest image: BMP with mask or alpha, PNG",
    .version = IH_DECODER_OWN_VERSION,
    .probe = probe,
    .state_bytes = sizeof(struct ico_state),
    .open = open_ico,
    .read = read_ico,
    .close = close_ico,
};
