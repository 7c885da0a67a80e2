/*
 * TIFF through libtiff: the first page, or each, one scanline, strip or tile at a time.
 *
 * The directory may be anywhere in the file, so the file is held in memory; the image is not.
 * - Tiles are decoded one at a time and counted in that order.
 * - Strips are decoded scanline by scanline. If each colour has its own strips, each gets its own
 *   libtiff handle: a single handle would decode the strips again for every row. More planes are
 *   decoded strip by strip, unless they are uncompressed, which one handle reads in any order.
 * - Strips of Deflate and PackBits that are not too large are decoded in one call. libdeflate needs
 *   half the time of zlib, but cannot stop at each row. A PackBits run may continue in the next
 * row, as some programs write it and nearly all readers accept it.
 *
 * Samples are converted here. libtiff's RGBA interface was rejected: it truncates 16 bits to 8 and
 * multiplies colours by alpha. libjpeg-turbo converts JPEG strips and tiles to RGB.
 */
#include "decode/deflate.h"
#include "decode/tiff/tiff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Larger strips are decoded scanline by scanline. Most strips are far smaller, but some programs
 * write an image of up to 20 megapixels as one strip. */
#define STRIP_BYTES_MAX ((uint64_t)64 << 20)

IH_DYNLIB_LOADER(TIFF_CALLS, struct ih_tiff_calls, IH_SONAME_tiff)

static enum ih_status prepare(struct ih_error *err)
{
    struct ih_tiff_calls calls;
    ih_deflate_prepare();
    return load(&calls, err);
}

/* Leaves the file, its page and what is known of it. */
static void close_page(struct ih_tiff *s)
{
    for (unsigned i = 0; i < IH_SAMPLES_PLANES_MAX; i++) {
        if (s->handles[i].tiff)
            s->lib.TIFFClose(s->handles[i].tiff);
        s->handles[i].tiff = NULL;
        s->handles[i].position = 0;
    }
    ih_tiff_inflate_close(s);
    s->inflater = NULL;
    free(s->block);
    free(s->planes);
    s->block = NULL;
    s->planes = NULL;
    s->is_decoding = s->is_ycbcr = false;
    s->x = s->y = s->block_width = s->block_height = s->row = 0;
}

static void close_tiff(void *state)
{
    struct ih_tiff *s = state;
    close_page(s);
    ih_whole_file_close(&s->whole);
}

static bool is_faster_at_once(const struct ih_tiff *s, TIFF *t)
{
    uint16_t compression = COMPRESSION_NONE;
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    return compression == COMPRESSION_PACKBITS || ih_tiff_is_deflate(s, t);
}

static bool is_compressed(const struct ih_tiff *s, TIFF *t)
{
    uint16_t compression = COMPRESSION_NONE;
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    return compression != COMPRESSION_NONE;
}

/* Whether a strip is decoded in one call. YCbCr always is, because its rows share chroma. So is a
 * strip that is read twice, because libtiff cannot go back to an earlier row. */
static bool takes_strips(const struct ih_tiff *s, TIFF *t, unsigned n_planes)
{
    const struct ih_budget *budget = s->whole.budget;
    const uint64_t n_bytes = s->lib.TIFFStripSize64(t);
    if (s->is_ycbcr || s->is_read_twice ||
        (n_planes > IH_SAMPLES_PLANES_MAX && is_compressed(s, t)))
        return true;
    if (!is_faster_at_once(s, t) || n_bytes > STRIP_BYTES_MAX)
        return false;
    return !budget || s->whole.file_bytes + n_bytes * n_planes <= budget->size_bytes;
}

static void choose_block(struct ih_tiff *s, TIFF *t, unsigned n_planes)
{
    s->kind = IH_TIFF_SCANLINE; /* pages may differ */
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

/* libtiff fills places that the file does not give with 0, which is the file's header. */
static bool has_places(const struct ih_tiff *s, TIFF *t)
{
    uint32_t i = 0;
    const uint32_t n =
        s->lib.TIFFIsTiled(t) ? s->lib.TIFFNumberOfTiles(t) : s->lib.TIFFNumberOfStrips(t);
    while (i < n && s->lib.TIFFGetStrileOffset(t, i) > 0)
        i++;
    return i == n;
}

/* Computes the size of a block and takes its memory from the budget, but allocates nothing. */
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
    if (!has_places(s, t))
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: a strip or tile is not in the file");
    if (n_bytes > (uint64_t)PTRDIFF_MAX / IH_PLANES_MAX)
        return ih_error_set(err, IH_LIMIT, "TIFF with a tile, strip or row of %llu bytes",
                            (unsigned long long)n_bytes);
    s->plane_bytes = (size_t)n_bytes;
    s->row_bytes = (size_t)row_bytes;
    if (ih_whole_file_more(&s->whole, n_bytes * (n_planes + s->is_read_twice), err) != IH_OK)
        return err->status;
    return ih_tiff_inflate_open(s, t, err);
}

/* The value of samples that stand for no data, that of the run or of GDAL's tag, a number as text.
 * Returns false if no sample can have it. */
static bool read_nodata(const struct ih_tiff *s, double *value)
{
    const struct ih_samples *const samples = &s->samples;
    const unsigned max = (1u << (samples->bits <= 16 ? samples->bits : 16)) - 1;
    char text[64], *end;
    unsigned bin;
    *value = s->nodata.value;
    if (s->nodata.kind == IH_NODATA_NONE)
        return false;
    if (s->nodata.kind == IH_NODATA_OF_FILE) {
        if (!ih_tiff_text(s, TIFFTAG_GDAL_NODATA, text, sizeof text))
            return false;
        *value = strtod(text, &end);
        if (end == text)
            return false;
    }
    if (s->type == IH_FLOAT32) /* what rounds to a finite one */
        return fabs(*value) < 0x1.ffffffp127;
    if (!ih_bin_find(s->type == IH_UINT8 ? IH_UINT16 : s->type, max + 1, *value, &bin))
        return false;
    if (s->type == IH_UINT8 && samples->is_inverted)
        *value = max - *value;
    if (s->type == IH_UINT8 && samples->bits < 8)
        *value = ih_sample_scale((uint64_t)*value, max);
    return true;
}

/* Whether the pixels are computed from the samples that may stand for no data. */
static bool computes_pixels(const struct ih_tiff *s)
{
    return s->samples.kind == IH_SAMPLES_PALETTE || s->samples.kind == IH_SAMPLES_CMYK;
}

/* What the counts leave out, or hold although the file says that it is no part of the image. */
static void read_losses(struct ih_tiff *s, struct ih_image_info *info)
{
    uint64_t next_at;
    bool has_mask = false;
    info->n_not_counted = s->n_not_counted;
    if (s->n_not_counted > 0)
        info->warnings |= IH_WARNING_EXTRA_SAMPLES;
    if (!s->page_at && s->slice == 0) {
        info->n_frames = ih_tiff_n_images(s);
        s->n_slices = info->n_frames == 1
                          ? ih_tiff_n_slices(s, s->handles[0].tiff, &s->slices_at, &s->slice_bytes)
                          : 1;
        info->n_frames *= s->n_slices;
    }
    if (info->n_frames > 0 && ih_tiff_next_image(s, &next_at, &has_mask) && has_mask)
        info->warnings |= IH_WARNING_MASKED;
    double ignored;
    if (s->nodata.kind == IH_NODATA_OF_FILE && computes_pixels(s) && read_nodata(s, &ignored))
        info->warnings |= IH_WARNING_NODATA;
}

static void tiff_read_metadata(struct ih_tiff *s, struct ih_image_info *info)
{
    enum { UPRIGHT = 1, LAST = 8 };
    uint64_t profile, orientation;
    if (ih_tiff_tag(s, TIFFTAG_ICCPROFILE, &profile))
        info->not_applied |= IH_NOT_APPLIED_ICC_PROFILE;
    if (!ih_tiff_tag(s, TIFFTAG_ORIENTATION, &orientation))
        orientation = UPRIGHT;
    if (orientation > UPRIGHT && orientation <= LAST)
        info->not_applied |= IH_NOT_APPLIED_ORIENTATION;
    info->orientation = orientation <= LAST ? (unsigned)orientation : 0;
    read_losses(s, info);
    /* YCbCr may state any range. */
    info->range = s->is_ycbcr || s->type != IH_UINT8 ? IH_RANGE_UNKNOWN : IH_RANGE_FULL;
}

/* Decides what becomes of the samples. */
static enum ih_status choose_type(struct ih_tiff *s, struct ih_image_info *info,
                                  struct ih_error *err)
{
    const unsigned n_bins = s->type == IH_INT8 ? IH_BINS : IH_NATIVE_BINS_MAX;
    info->has_nodata = !computes_pixels(s) && read_nodata(s, &info->nodata);
    if (s->type == IH_UINT8 && info->has_nodata)
        return ih_samples_set_target(&s->samples, (struct ih_sample_range){0, 0}, true, err);
    if (s->type == IH_UINT8)
        return ih_samples_set_target(&s->samples, s->sample_range, s->takes_native, err);
    s->samples.native = (struct ih_native){.type = s->type, .n_bins = n_bins};
    return IH_OK;
}

static enum ih_status tiff_read_directory(struct ih_tiff *s, struct ih_image_info *info,
                                          struct ih_error *err)
{
    if (ih_tiff_open_handle(s, 0, err) != IH_OK)
        return err->status;
    TIFF *t = s->handles[0].tiff;
    s->lib.TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &s->width);
    s->lib.TIFFGetField(t, TIFFTAG_IMAGELENGTH, &s->height);
    if (s->width == 0 || s->height == 0)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: it has no pixels");
    enum ih_status status = ih_decode_check_pixels(s->width, s->height, s->max_pixels, err);
    if (status == IH_OK && !s->page_at && ih_tiff_is_reduced(s, 0))
        status = ih_error_set(err, IH_UNSUPPORTED,
                              "TIFF whose first page is a thumbnail (a camera's raw file?) is not "
                              "supported");
    if (status == IH_OK)
        status = ih_tiff_read_layout(s, t, err);
    if (status == IH_OK)
        status = plan_blocks(s, t, err);
    if (status == IH_OK)
        status = choose_type(s, info, err);
    info->type = s->samples.native.type;
    info->n_bins = s->samples.native.n_bins;
    s->samples.extremes = &info->extremes;
    info->width = s->width;
    info->height = s->height;
    info->layout = s->layout;
    info->source_depth = s->samples.bits;
    if (s->kind == IH_TIFF_TILE)
        info->order = (struct ih_pixel_order){
            .kind = IH_PIXEL_ORDER_TILES, .width = s->full_width, .height = s->full_height};
    if (status == IH_OK)
        tiff_read_metadata(s, info);
    if (status == IH_OK)
        status = ih_tiff_read_band_names(s, info->n_frames, &info->band_names, err);
    return status;
}

static enum ih_status open_tiff(struct ih_reader *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct ih_tiff *s = state;
    enum ih_status status = load(&s->lib, err);
    s->whole.may_be_large = true;
    if (status == IH_OK)
        status = ih_whole_file_open(&s->whole, src, options, 0, err);
    s->file_taken_bytes = s->whole.taken_bytes;
    s->max_pixels = options->max_pixels;
    s->sample_range = options->sample_range;
    s->takes_native = options->takes_native;
    s->nodata = options->nodata;
    if (status == IH_OK)
        status = tiff_read_directory(s, info, err);
    return status;
}

/* ---- samples ---- */

static enum ih_status tiff_start(struct ih_tiff *s, struct ih_error *err)
{
    const bool has_handles =
        s->is_planar && s->kind == IH_TIFF_SCANLINE && s->samples.n_planes <= IH_SAMPLES_PLANES_MAX;
    for (unsigned p = 1; has_handles && p < s->samples.n_planes; p++)
        if (ih_tiff_open_handle(s, p, err) != IH_OK)
            return err->status;
    const size_t n_planes = s->is_planar ? s->samples.n_planes : 1;
    s->block = malloc(s->plane_bytes * (n_planes + s->is_read_twice));
    s->planes = malloc(s->samples.n_planes * sizeof *s->planes);
    if (!s->block || !s->planes)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->is_decoding = true;
    return IH_OK;
}

/* Decodes one plane of the next block with libtiff. */
static bool load_plane(struct ih_tiff *s, unsigned p, uint8_t *dst)
{
    const uint16_t sample = (uint16_t)(s->is_planar ? s->plane_sample[p] : 0);
    TIFF *t = s->handles[0].tiff;
    switch (s->kind) {
    case IH_TIFF_TILE:
        return s->lib.TIFFReadTile(t, dst, s->x, s->y, 0, sample) >= 0;
    case IH_TIFF_STRIP:
        return s->lib.TIFFReadEncodedStrip(t, s->lib.TIFFComputeStrip(t, s->y, sample), dst,
                                           (tmsize_t)s->plane_bytes) >= 0;
    default:
        t = p < IH_SAMPLES_PLANES_MAX && s->handles[p].tiff ? s->handles[p].tiff : t;
        return s->lib.TIFFReadScanline(t, dst, s->y, sample) >= 0;
    }
}

/* Some of libtiff's decoders leave samples unwritten without an error: that of WebP, if the WebP is
 * smaller than the tile. A second decoding into other bytes finds them. Only rare compressions take
 * twice the time: WebP, LERC, PixarLog and others that fills_blocks does not list. */
static bool load_plane_twice(struct ih_tiff *s, unsigned p, uint8_t *dst)
{
    uint8_t *other = s->block + s->plane_bytes * (s->is_planar ? s->samples.n_planes : 1);
    const size_t n_bytes =
        s->kind == IH_TIFF_TILE
            ? s->plane_bytes
            : (size_t)s->lib.TIFFVStripSize64(s->handles[0].tiff, s->block_height);
    memset(dst, 0, s->plane_bytes);
    memset(other, 0xFF, s->plane_bytes);
    if (!load_plane(s, p, dst) || !load_plane(s, p, other))
        return false;
    if (memcmp(dst, other, n_bytes < s->plane_bytes ? n_bytes : s->plane_bytes) != 0)
        ih_error_set(&s->error, IH_CORRUPT, "damaged TIFF: a strip or tile is incomplete");
    return s->error.status == IH_OK;
}

static enum ih_status load_block(struct ih_tiff *s, struct ih_error *err)
{
    const unsigned n_planes = s->is_planar ? s->samples.n_planes : 1;
    const uint32_t right = s->width - s->x, below = s->height - s->y;
    s->block_width = s->full_width < right ? s->full_width : right;
    s->block_height = s->full_height < below ? s->full_height : below;
    s->row = 0;
    bool is_sound = true;
    for (unsigned p = 0; p < n_planes && is_sound; p++) {
        uint8_t *dst = s->block + p * s->plane_bytes;
        if (!s->inflater)
            is_sound = s->is_read_twice ? load_plane_twice(s, p, dst) : load_plane(s, p, dst);
        else if (ih_tiff_inflate(s, p, s->block_height, dst, err) != IH_OK)
            return err->status;
    }
    if (!is_sound || s->error.status != IH_OK)
        return ih_tiff_failed(s, err);
    s->x += s->block_width;
    if (s->x == s->width) {
        s->x = 0;
        s->y += s->block_height;
    }
    return IH_OK;
}

static void tiff_convert_row(struct ih_tiff *s, uint8_t *pixels)
{
    struct ih_sample_plane *const planes = s->planes;
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
    if (!s->is_decoding && tiff_start(s, err) != IH_OK)
        return err->status;
    while (s->row < s->block_height || s->y < s->height) {
        if (s->row == s->block_height && load_block(s, err) != IH_OK)
            return err->status;
        if (capacity_pixels - n < s->block_width)
            break;
        tiff_convert_row(s, pixels +
                                n * ih_pixel_bytes(s->samples.n_channels, s->samples.native.type));
        s->row++;
        n += s->block_width;
    }
    *n_pixels = n;
    return IH_OK;
}

/* Goes on to the next slice, or to the next page that is an image. */
static enum ih_status next_tiff(void *state, struct ih_image_info *info, bool *has_next,
                                struct ih_error *err)
{
    struct ih_tiff *s = state;
    uint64_t at = 0;
    bool has_mask;
    *has_next = false;
    if (info->n_frames == 0 || !ih_tiff_next_image(s, &at, &has_mask))
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: the list of its pages");
    *has_next = at != 0 || s->slice + 1 < s->n_slices;
    if (!*has_next)
        return IH_OK;
    if (at == 0 && ih_tiff_next_slice(s, err) != IH_OK)
        return err->status;
    close_page(s);
    ih_budget_give(s->whole.budget, s->whole.taken_bytes - s->file_taken_bytes);
    s->whole.taken_bytes = s->file_taken_bytes;
    s->page_at = at;
    s->page++;
    s->width = s->height = 0;
    info->not_applied = info->warnings = 0;
    info->extremes = (struct ih_extremes){0};
    info->order = (struct ih_pixel_order){.kind = IH_PIXEL_ORDER_ROWS};
    return tiff_read_directory(s, info, err);
}

const struct ih_decoder ih_decoder_tiff = {
    .name = "tiff",
    .is_isolated = true,
    .prepare = prepare,
    .title = "TIFF, the first page or all: strips, tiles, 1 to 16 bits, signed, floats, palette, "
             "CMYK, JPEG",
    .version = "libtiff " IH_LIBRARY_tiff,
    .probe = ih_probe_tiff,
    .state_bytes = sizeof(struct ih_tiff),
    .open = open_tiff,
    .read = read_tiff,
    .next = next_tiff,
    .close = close_tiff,
};
