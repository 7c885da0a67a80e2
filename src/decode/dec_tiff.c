/*
 * TIFF through libtiff: the first page, a scanline, a strip or a tile at a time.
 *
 * A TIFF's directory may be anywhere in the file, so the file is in memory; the image never is.
 * Of a tiled image one tile is held, and tiles are counted as they come: the order of pixels is
 * nobody's business. Strips come out one scanline at a time. Where each colour has strips of its
 * own each gets a handle of its own, since a handle that went to and fro would decode its strips
 * anew for every row. Strips of Deflate and PackBits are held whole where that is not too much: so
 * libtiff inflates with libdeflate, in half the time, and lets a run go on in the next row, as some
 * programs write it and all but a few read it.
 *
 * Samples are converted here and not by libtiff's RGBA interface, which rounds 16 bits down and
 * multiplies colours by their alpha. JPEG becomes RGB in libjpeg-turbo.
 */
#include "decode/signatures.h"
#include "decode/tiff/parts.h"

#include <stdlib.h>

/* A larger strip comes a scanline at a time. Those that programs write are far smaller, but for
 * the one strip of an image of up to 20 megapixels. */
#define STRIP_BYTES_MAX ((uint64_t)64 << 20)

TIFF_CALLS(IH_DYNLIB_CHECK)
static const char *const call_names[] = {TIFF_CALLS(IH_DYNLIB_NAME)};

static enum ih_status load(struct ih_tiff_calls *calls, struct ih_error *err)
{
    return ih_dynlib_load(IH_SONAME_tiff, call_names, sizeof call_names / sizeof *call_names, calls,
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
    ih_held_close(&s->whole);
    free(s);
}

static bool is_better_whole(const struct ih_tiff *s, TIFF *t)
{
    uint16_t compression = COMPRESSION_NONE;
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    return compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE ||
           compression == COMPRESSION_PACKBITS;
}

/* Whether a strip is decoded at once: YCbCr always, as its rows share chroma. */
static bool takes_strips(const struct ih_tiff *s, TIFF *t, unsigned n_planes)
{
    const struct ih_budget *budget = s->whole.budget;
    const uint64_t n_bytes = s->lib.TIFFStripSize64(t);
    if (s->is_ycbcr || !is_better_whole(s, t) || n_bytes > STRIP_BYTES_MAX)
        return s->is_ycbcr;
    return !budget || s->whole.file_bytes + n_bytes * n_planes <= budget->size_bytes;
}

static void choose_block(struct ih_tiff *s, TIFF *t, unsigned n_planes)
{
    s->full_width = s->width;
    s->full_height = 1;
    if (s->lib.TIFFIsTiled(t)) {
        s->kind = IH_TIFF_TILE;
        s->full_width = s->full_height = 0;
        s->lib.TIFFGetField(t, TIFFTAG_TILEWIDTH, &s->full_width);
        s->lib.TIFFGetField(t, TIFFTAG_TILELENGTH, &s->full_height);
    } else if (takes_strips(s, t, n_planes)) {
        s->kind = IH_TIFF_STRIP;
        s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &s->full_height);
        s->full_height = s->full_height < s->height ? s->full_height : s->height;
    }
}

/* The size of a block, and its memory from the budget. Nothing is allocated yet. */
static enum ih_status plan_blocks(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    uint64_t n_bytes, row_bytes;
    unsigned n_planes = s->is_planar ? s->samples.n_planes : 1;
    choose_block(s, t, n_planes);
    if (s->full_width == 0 || s->full_height == 0)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: tiles or strips without a size");
    bool is_tile = s->kind == IH_TIFF_TILE;
    row_bytes = is_tile ? s->lib.TIFFTileRowSize64(t) : s->lib.TIFFScanlineSize64(t);
    n_bytes = is_tile                    ? s->lib.TIFFTileSize64(t)
              : s->kind == IH_TIFF_STRIP ? s->lib.TIFFStripSize64(t)
                                         : row_bytes;
    if (s->error.status != IH_OK || n_bytes == 0 || row_bytes == 0)
        return ih_tiff_failed(s, err);
    if (n_bytes > (uint64_t)PTRDIFF_MAX / IH_SAMPLES_PLANES_MAX)
        return ih_error_set(err, IH_LIMIT, "TIFF with a tile, strip or row of %llu bytes",
                            (unsigned long long)n_bytes);
    s->plane_bytes = (size_t)n_bytes;
    s->row_bytes = (size_t)row_bytes;
    return ih_held_more(&s->whole, n_bytes * n_planes, err);
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
        status = ih_held_open(&s->whole, src, options, 0, err);
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
    bool has_handles = s->is_planar && s->kind == IH_TIFF_SCANLINE;
    for (unsigned p = 1; has_handles && p < s->samples.n_planes; p++)
        if (ih_tiff_open_handle(s, p, err) != IH_OK)
            return err->status;
    s->block = malloc(s->plane_bytes * (s->is_planar ? s->samples.n_planes : 1));
    if (!s->block)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->is_decoding = true;
    return IH_OK;
}

/* One plane of the next block. */
static bool load_plane(struct ih_tiff *s, unsigned p)
{
    uint8_t *dst = s->block + p * s->plane_bytes;
    const uint16_t sample = (uint16_t)(s->is_planar ? s->plane_sample[p] : 0);
    TIFF *t = s->handles[0].tiff;
    switch (s->kind) {
    case IH_TIFF_TILE:
        return s->lib.TIFFReadTile(t, dst, s->x, s->y, 0, sample) >= 0;
    case IH_TIFF_STRIP:
        return s->lib.TIFFReadEncodedStrip(t, s->lib.TIFFComputeStrip(t, s->y, sample), dst,
                                           (tmsize_t)s->plane_bytes) >= 0;
    default:
        return s->lib.TIFFReadScanline(s->handles[p].tiff, dst, s->y, sample) >= 0;
    }
}

static enum ih_status load_block(struct ih_tiff *s, struct ih_error *err)
{
    const unsigned n_planes = s->is_planar ? s->samples.n_planes : 1;
    const uint32_t right = s->width - s->x, below = s->height - s->y;
    s->block_width = s->full_width < right ? s->full_width : right;
    s->block_height = s->full_height < below ? s->full_height : below;
    s->row = 0;
    bool is_sound = true;
    for (unsigned p = 0; p < n_planes && is_sound; p++)
        is_sound = load_plane(s, p);
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
    if (s->is_ycbcr) {
        const struct ih_tiff_ycbcr *c = &s->ycbcr;
        const size_t n_units = (s->full_width + (size_t)c->across - 1) / c->across;
        const size_t unit_bytes = (size_t)c->across * c->down + 2;
        ih_tiff_convert_ycbcr(c, s->block + s->row / c->down * n_units * unit_bytes,
                              s->row % c->down, s->block_width, pixels);
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
