/*
 * Rows of a JPEG as it stores them: planes of Y, Cb and Cr, which the counting code takes without
 * RGB ever being in memory (histogram/pixels.h).
 *
 * The library delivers whole rows of MCUs. In 4:2:0 the last row of Y in them is upsampled with
 * the chroma row below, so it is kept back and delivered with the next MCU row.
 */
#include "decode/jpeg/jpeg.h"

#include <string.h>

enum {
    STEP_BYTES = 64,   /* the library writes whole blocks, past the width by less than this */
    BLOCK_ROWS = 8,    /* rows of samples in a block */
    MCU_ROWS_MAX = 16, /* rows of Y in an MCU */
    COMPONENTS = 3
};

static unsigned chroma_h(const struct jpeg_decompress_struct *c)
{
    return (unsigned)c->comp_info[0].h_samp_factor;
}

static unsigned chroma_v(const struct jpeg_decompress_struct *c)
{
    return (unsigned)c->comp_info[0].v_samp_factor;
}

/* Leaves IH_PLANES_PADDING after the last sample of a row. */
static size_t pitch_bytes(const struct jpeg_decompress_struct *c, unsigned component)
{
    const size_t n_steps = (size_t)c->image_width / STEP_BYTES + 2;
    return n_steps * STEP_BYTES / (component == 0 ? 1 : chroma_h(c));
}

/* Rows of a plane in a stripe of n rows of MCUs, including the row carried over. */
static size_t rows_of(const struct jpeg_decompress_struct *c, unsigned component, size_t n)
{
    return BLOCK_ROWS * n * (component == 0 ? chroma_v(c) : 1) + (chroma_v(c) == 2 ? 1 : 0);
}

static size_t bytes_of(const struct jpeg_decompress_struct *c, size_t n)
{
    size_t n_bytes = 0;
    for (unsigned i = 0; i < COMPONENTS; i++)
        n_bytes += pitch_bytes(c, i) * rows_of(c, i, n);
    return n_bytes;
}

/* Samples in a row of a block: 8, or 1 in a lossless file. */
static int block_size(const struct jpeg_decompress_struct *c)
{
#if JPEG_LIB_VERSION >= 70
    return c->min_DCT_h_scaled_size;
#else
    return c->min_DCT_scaled_size;
#endif
}

/*
 * Left out, so that planes give exactly the library's pixels:
 * - 4:4:0, because not every version of the library has its upsampling filter;
 * - 4:2:2 and 4:2:0 less than 5 pixels wide, where the library repeats samples instead;
 * - lossless files, which libjpeg-turbo 3 decodes, but not to planes.
 */
size_t ih_jpeg_raw_bytes(const struct jpeg_decompress_struct *c)
{
    if (block_size(c) != DCTSIZE)
        return 0;
    if (c->jpeg_color_space != JCS_YCbCr || c->num_components != COMPONENTS)
        return 0;
    for (unsigned i = 1; i < COMPONENTS; i++)
        if (c->comp_info[i].h_samp_factor != 1 || c->comp_info[i].v_samp_factor != 1)
            return 0;
    const unsigned h = chroma_h(c), v = chroma_v(c);
    if (h > 2 || v > h || (h == 2 && c->image_width < 5))
        return 0;
    return bytes_of(c, 1);
}

/* Copies a row of each plane to raw->kept, or back from there. */
static void carry(struct ih_jpeg_raw *raw, struct jpeg_decompress_struct *c, uint8_t *const *rows,
                  bool is_back)
{
    for (unsigned i = 0; i < COMPONENTS; i++) {
        const size_t n_bytes = pitch_bytes(c, i);
        if (!raw->kept[i])
            raw->kept[i] = c->mem->alloc_large((j_common_ptr)c, JPOOL_IMAGE, n_bytes);
        memcpy(is_back ? rows[i] : raw->kept[i], is_back ? raw->kept[i] : rows[i], n_bytes);
    }
}

void ih_jpeg_raw_read(struct ih_jpeg_raw *raw, struct jpeg_decompress_struct *c, uint8_t *buffer,
                      size_t size_bytes, struct ih_planes *planes)
{
    const unsigned h = chroma_h(c), v = chroma_v(c);
    const bool has_kept = v == 2 && raw->n_rows_read > 0;
    const size_t row_bytes = bytes_of(c, 2) - bytes_of(c, 1);
    const size_t n_left =
        (c->output_height - c->output_scanline + BLOCK_ROWS * v - 1) / (BLOCK_ROWS * v);
    const size_t n_room = 1 + (size_bytes - bytes_of(c, 1)) / row_bytes;
    const size_t n_rows = n_room < n_left ? n_room : n_left; /* of MCUs */
    uint8_t *firsts[COMPONENTS], *next[COMPONENTS], *plane = buffer;
    for (unsigned i = 0; i < COMPONENTS; i++) {
        firsts[i] = plane;
        plane += pitch_bytes(c, i) * rows_of(c, i, n_rows);
        next[i] = firsts[i] + (has_kept ? pitch_bytes(c, i) : 0);
    }
    if (has_kept)
        carry(raw, c, firsts, true);
    for (size_t n = 0; n < n_rows; n++) {
        JSAMPROW rows[COMPONENTS][MCU_ROWS_MAX];
        JSAMPARRAY planes_rows[COMPONENTS];
        for (unsigned i = 0; i < COMPONENTS; i++) {
            planes_rows[i] = rows[i];
            for (unsigned k = 0; k < BLOCK_ROWS * (i == 0 ? v : 1);
                 k++, next[i] += pitch_bytes(c, i))
                rows[i][k] = next[i];
        }
        jpeg_read_raw_data(c, planes_rows, BLOCK_ROWS * v);
    }
    const bool is_last = c->output_scanline >= c->output_height;
    const uint32_t first = raw->n_rows_read - (has_kept ? 1 : 0);
    raw->n_rows_read = c->output_scanline;
    if (v == 2 && !is_last) {
        uint8_t *const last[COMPONENTS] = {next[0] - pitch_bytes(c, 0), next[1] - pitch_bytes(c, 1),
                                           next[2] - pitch_bytes(c, 2)};
        carry(raw, c, last, false);
    }
    const uint32_t end = is_last ? c->output_height : raw->n_rows_read - (v == 2 ? 1 : 0);
    *planes = (struct ih_planes){
        .planes = {firsts[0], firsts[1], firsts[2]},
        .pitch_bytes = {pitch_bytes(c, 0), pitch_bytes(c, 1), pitch_bytes(c, 2)},
        .size_bytes = bytes_of(c, n_rows),
        .chroma_h = h,
        .chroma_v = v,
        .width = c->output_width,
        .n_rows = end - first,
        .row = first,
        .chroma_row = first / v,
        .height = c->output_height,
        .n_chroma_rows = (c->output_height + v - 1) / v,
    };
}
