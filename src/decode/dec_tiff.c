/*
 * TIFF through libtiff: the first page, scanline by scanline or tile by tile.
 *
 * A TIFF's directory may be anywhere in the file, so the file is in memory; the image never is.
 * Strips come out one scanline at a time. Where each colour has strips of its own each gets a
 * handle of its own, since a handle that went to and fro would decode its strips anew for every
 * row. Of a tiled image one tile is held, and tiles are counted as they come: the order of pixels
 * is nobody's business.
 *
 * Samples are converted here and not by libtiff's RGBA interface, which rounds 16 bits down and
 * multiplies colours by their alpha. It is used for YCbCr that is not JPEG alone. The samples of
 * JPEG strips become RGB in libjpeg-turbo.
 */
#include "decode/signatures.h"
#include "decode/tiff_parts.h"

#include <stdlib.h>
#include <string.h>

TIFF_CALLS(IH_LATE_CHECK)
static const char *const call_names[] = {TIFF_CALLS(IH_LATE_NAME)};

static enum ih_status load(struct ih_tiff_calls *calls, struct ih_error *err)
{
    return ih_late_load(IH_SONAME_tiff, call_names, sizeof call_names / sizeof *call_names, calls,
                        err);
}

static enum ih_status prepare(struct ih_error *err)
{
    struct ih_tiff_calls calls;
    return load(&calls, err);
}

static void close_tiff(void *state)
{
    struct ih_tiff *s = state;
    for (unsigned i = 0; i < IH_SAMPLES_PLANES_MAX; i++)
        if (s->handles[i].tiff)
            s->lib.TIFFClose(s->handles[i].tiff);
    free(s->block);
    ih_whole_close(&s->whole);
    free(s);
}

/* The size of a block, and its memory from the budget. Nothing is allocated yet. */
static enum ih_status plan_blocks(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    uint64_t n_bytes, row_bytes;
    unsigned n_planes = s->is_planar ? s->samples.n_planes : 1;
    if (s->lib.TIFFIsTiled(t)) {
        s->lib.TIFFGetField(t, TIFFTAG_TILEWIDTH, &s->tile_width);
        s->lib.TIFFGetField(t, TIFFTAG_TILELENGTH, &s->tile_height);
        if (s->tile_width == 0 || s->tile_height == 0)
            return ih_error_set(err, IH_CORRUPT, "damaged TIFF: tiles without a size");
    }
    if (s->is_ycbcr) {
        uint32_t n_rows = s->tile_height;
        if (!s->tile_height) {
            s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &n_rows);
            n_rows = n_rows < s->height ? n_rows : s->height;
            s->tile_height = n_rows; /* and width 0: a strip that comes whole */
        }
        row_bytes = (uint64_t)4 * (s->tile_width ? s->tile_width : s->width);
        n_bytes = n_rows && row_bytes > UINT64_MAX / n_rows ? UINT64_MAX : row_bytes * n_rows;
    } else {
        row_bytes = s->tile_width ? s->lib.TIFFTileRowSize64(t) : s->lib.TIFFScanlineSize64(t);
        n_bytes = s->tile_width ? s->lib.TIFFTileSize64(t) : row_bytes;
    }
    if (s->error.status != IH_OK || n_bytes == 0 || row_bytes == 0)
        return ih_tiff_failed(s, err);
    if (n_bytes > (uint64_t)PTRDIFF_MAX / IH_SAMPLES_PLANES_MAX)
        return ih_error_set(err, IH_LIMIT, "TIFF with a tile or row of %llu bytes",
                            (unsigned long long)n_bytes);
    s->plane_bytes = (size_t)n_bytes;
    s->row_bytes = (size_t)row_bytes;
    return ih_whole_more(&s->whole, n_bytes * n_planes, err);
}

static enum ih_status read_directory(struct ih_tiff *s, const struct ih_decode_options *options,
                                     struct ih_image_info *info, struct ih_error *err)
{
    enum ih_status status = ih_tiff_open_handle(s, 0, err);
    if (status != IH_OK)
        return status;
    TIFF *t = s->handles[0].tiff;
    uint32_t subfile_type = 0;
    s->lib.TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &s->width);
    s->lib.TIFFGetField(t, TIFFTAG_IMAGELENGTH, &s->height);
    s->lib.TIFFGetField(t, TIFFTAG_SUBFILETYPE, &subfile_type);
    if (s->width == 0 || s->height == 0)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: it has no pixels");
    status = ih_decode_check_pixels(s->width, s->height, options->max_pixels, err);
    if (status == IH_OK && (subfile_type & FILETYPE_REDUCEDIMAGE))
        status = ih_error_set(err, IH_UNSUPPORTED,
                              "TIFF whose first page is a thumbnail (a camera's raw file?) is not "
                              "supported");
    if (status == IH_OK)
        status = ih_tiff_read_layout(s, t, err);
    if (status == IH_OK)
        status = plan_blocks(s, t, err);
    info->width = s->width;
    info->height = s->height;
    info->n_channels = s->samples.n_channels;
    info->source_depth = s->samples.bits;
    return status;
}

static enum ih_status open_tiff(struct ih_source *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void **state, struct ih_error *err)
{
    struct ih_tiff *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = ih_whole_open(&s->whole, src, options, 0, err);
    if (status == IH_OK)
        status = read_directory(s, options, info, err);
    if (status == IH_OK)
        *state = s;
    else
        close_tiff(s);
    return status;
}

/* ---- samples ---- */

static enum ih_status start(struct ih_tiff *s, struct ih_error *err)
{
    bool has_strips_of_planes = s->is_planar && !s->tile_width;
    for (unsigned p = 1; has_strips_of_planes && p < s->samples.n_planes; p++)
        if (ih_tiff_open_handle(s, p, err) != IH_OK)
            return err->status;
    s->block = malloc(s->plane_bytes * (s->is_planar ? s->samples.n_planes : 1));
    if (!s->block)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->is_decoding = true;
    return IH_OK;
}

/* YCbCr that is no JPEG: libtiff makes pixels of four bytes, the last row first. */
static bool load_ycbcr(struct ih_tiff *s)
{
    TIFF *t = s->handles[0].tiff;
    uint32_t *pixels = (uint32_t *)(void *)s->block; /* from malloc, so aligned */
    return s->tile_width ? s->lib.TIFFReadRGBATileExt(t, s->x, s->y, pixels, 1)
                         : s->lib.TIFFReadRGBAStripExt(t, s->y, pixels, 1);
}

static bool load_samples(struct ih_tiff *s)
{
    unsigned n_planes = s->is_planar ? s->samples.n_planes : 1;
    bool is_sound = true;
    for (unsigned p = 0; p < n_planes && is_sound; p++) {
        uint8_t *dst = s->block + p * s->plane_bytes;
        uint16_t sample = (uint16_t)(s->is_planar ? s->plane_sample[p] : 0);
        TIFF *t = s->handles[s->is_planar && !s->tile_width ? p : 0].tiff;
        is_sound = s->tile_width ? s->lib.TIFFReadTile(t, dst, s->x, s->y, 0, sample) >= 0
                                 : s->lib.TIFFReadScanline(t, dst, s->y, sample) >= 0;
    }
    return is_sound;
}

/* The next scanline or tile; false at the end. */
static enum ih_status load_block(struct ih_tiff *s, struct ih_error *err)
{
    uint32_t width = s->tile_width ? s->tile_width : s->width;
    uint32_t height = s->tile_height ? s->tile_height : 1;
    s->block_width = width < s->width - s->x ? width : s->width - s->x;
    s->block_height = height < s->height - s->y ? height : s->height - s->y;
    s->row = 0;
    bool is_sound = s->is_ycbcr ? load_ycbcr(s) : load_samples(s);
    if (!is_sound || s->error.status != IH_OK)
        return ih_tiff_failed(s, err);
    s->x += s->block_width;
    if (s->x == s->width) {
        s->x = 0;
        s->y += s->block_height;
    }
    return IH_OK;
}

static void convert_row(struct ih_tiff *s, uint8_t *pixels)
{
    struct ih_sample_plane planes[IH_SAMPLES_PLANES_MAX];
    if (s->is_ycbcr) { /* the last row first: of a tile, of all its rows */
        uint32_t n_rows = s->tile_width ? s->tile_height : s->block_height;
        const uint8_t *row = s->block + (size_t)(n_rows - 1 - s->row) * s->row_bytes;
        for (uint32_t x = 0; x < s->block_width; x++, pixels += 3) {
            uint32_t rgba;
            memcpy(&rgba, row + (size_t)4 * x, sizeof rgba);
            pixels[0] = (uint8_t)TIFFGetR(rgba);
            pixels[1] = (uint8_t)TIFFGetG(rgba);
            pixels[2] = (uint8_t)TIFFGetB(rgba);
        }
        return;
    }
    const uint8_t *row = s->block + (size_t)s->row * s->row_bytes;
    for (unsigned p = 0; p < s->samples.n_planes; p++) {
        if (s->is_planar)
            planes[p] = (struct ih_sample_plane){row + p * s->plane_bytes, 0, 1};
        else
            planes[p] = (struct ih_sample_plane){row, s->plane_sample[p], s->n_samples};
    }
    ih_samples_convert(&s->samples, planes, s->block_width, pixels);
}

static enum ih_status read_tiff(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct ih_tiff *s = state;
    size_t n = 0;
    if (!s->is_decoding && start(s, err) != IH_OK)
        return err->status;
    while (s->row < s->block_height || s->y < s->height) {
        if (s->row == s->block_height && load_block(s, err) != IH_OK)
            return err->status;
        if (capacity_pixels - n < s->block_width)
            break;
        convert_row(s, pixels + n * s->samples.n_channels);
        s->row++;
        n += s->block_width;
    }
    *n_pixels = n;
    return IH_OK;
}

static const char *version(void)
{
    return "libtiff " IH_LIBRARY_tiff;
}

const struct ih_decoder ih_decoder_tiff = {
    .name = "tiff",
    .is_isolated = true,
    .prepare = prepare,
    .title = "TIFF, the first page: strips, tiles, planes, 1 to 16 bits, palette, CMYK, JPEG",
    .version = version,
    .probe = ih_probe_tiff,
    .open = open_tiff,
    .read = read_tiff,
    .close = close_tiff,
};
