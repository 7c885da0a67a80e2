/*
 * Strips and tiles of Deflate, inflated with libdeflate.
 *
 * libtiff can use libdeflate too, but it accepts a stream that holds more than the block.
 * libdeflate stops at the first piece that does not fit and leaves the end of the block unwritten,
 * up to 64 KiB. Such streams occur in sound files: some programs write RowsPerStrip rows into the
 * last strip although the image ends earlier. So libtiff is set to use zlib, which fills the block
 * exactly but takes twice the time, and the usual blocks are inflated here:
 *
 * - A stream may hold RowsPerStrip rows, or twice the block, if its checksum is right. A stream
 * that is longer or too short, or has a wrong checksum, is damaged.
 * - Horizontal differencing of 8 and 16 bits is undone here. libtiff decodes other predictors,
 *   reversed bits, and strips that are too large to be decoded in one call.
 */
#include "decode/tiff/tiff.h"

#ifdef IH_WITH_LIBDEFLATE
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

/* RowsPerStrip rows of a stream that holds more than its block are decoded up to this size. */
#define LONG_STRIP_BYTES_MAX ((uint64_t)64 << 20)

static enum ih_status inflate_damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged TIFF: %s", what);
}

/* Inflates a stream that does not fit into the block. Keeps the first n_needed bytes. */
static enum ih_status inflate_long(struct ih_tiff *s, const uint8_t *stream, size_t n,
                                   size_t n_needed, uint8_t *dst, struct ih_error *err)
{
    TIFF *t = s->handles[0].tiff;
    uint64_t n_bytes = (uint64_t)s->plane_bytes * 2;
    uint32_t n_rows = 0;
    s->lib.TIFFGetField(t, TIFFTAG_ROWSPERSTRIP, &n_rows);
    if (s->kind == IH_TIFF_STRIP && n_rows <= LONG_STRIP_BYTES_MAX / s->row_bytes &&
        n_bytes < s->lib.TIFFVStripSize64(t, n_rows))
        n_bytes = s->lib.TIFFVStripSize64(t, n_rows);
    if (n_bytes > SIZE_MAX)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (ih_whole_file_more(&s->whole, n_bytes, err) != IH_OK)
        return err->status;
    uint8_t *all = malloc((size_t)n_bytes);
    if (!all)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    size_t n_inflated;
    const bool is_sound = libdeflate_zlib_decompress(s->inflater, stream, n, all, (size_t)n_bytes,
                                                     &n_inflated) == LIBDEFLATE_SUCCESS;
    if (is_sound) /* then it holds more than plane_bytes */
        memcpy(dst, all, n_needed);
    free(all);
    return is_sound ? IH_OK : inflate_damaged(err, "a strip or tile is damaged, or too long");
}

/* Each sample is stored as the difference from the one `step` samples before it. */
static void undo_differences_8(uint8_t *row, size_t n, size_t step)
{
    uint8_t r = 0, g = 0, b = 0;
    if (step == 3) {
        for (size_t i = 0; i + 3 <= n; i += 3) {
            row[i] = r = (uint8_t)(r + row[i]);
            row[i + 1] = g = (uint8_t)(g + row[i + 1]);
            row[i + 2] = b = (uint8_t)(b + row[i + 2]);
        }
        return;
    }
    for (size_t i = step; i < n; i++)
        row[i] = (uint8_t)(row[i] + row[i - step]);
}

static void undo_differences_16(uint16_t *row, size_t n, size_t step)
{
    for (size_t i = step; i < n; i++)
        row[i] = (uint16_t)(row[i] + row[i - step]);
}

/* Turns n_bytes of inflated rows into samples, in host byte order. */
static void finish_rows(const struct ih_tiff *s, uint8_t *bytes, size_t n_bytes)
{
    TIFF *t = s->handles[0].tiff;
    uint16_t predictor = PREDICTOR_NONE;
    const size_t step = s->is_planar ? 1 : s->n_samples;
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_PREDICTOR, &predictor);
    if (s->samples.bits == 16 && s->lib.TIFFIsByteSwapped(t)) {
        for (size_t i = 0; i + 1 < n_bytes; i += 2) {
            const uint8_t low = bytes[i];
            bytes[i] = bytes[i + 1];
            bytes[i + 1] = low;
        }
    }
    if (predictor != PREDICTOR_HORIZONTAL)
        return;
    for (size_t at = 0; at + s->row_bytes <= n_bytes; at += s->row_bytes) {
        if (s->samples.bits == 8)
            undo_differences_8(bytes + at, s->row_bytes, step);
        else
            undo_differences_16((void *)(bytes + at), s->row_bytes / 2, step);
    }
}

enum ih_status ih_tiff_inflate(struct ih_tiff *s, unsigned p, uint32_t n_rows, uint8_t *dst,
                               struct ih_error *err)
{
    TIFF *t = s->handles[0].tiff;
    const bool is_tile = s->kind == IH_TIFF_TILE;
    const uint16_t sample = (uint16_t)(s->is_planar ? s->plane_sample[p] : 0);
    const uint32_t block = is_tile ? s->lib.TIFFComputeTile(t, s->x, s->y, 0, sample)
                                   : s->lib.TIFFComputeStrip(t, s->y, sample);
    const uint64_t at = s->lib.TIFFGetStrileOffset(t, block);
    const uint64_t n = s->lib.TIFFGetStrileByteCount(t, block);
    const uint64_t n_needed = is_tile ? s->plane_bytes : s->lib.TIFFVStripSize64(t, n_rows);
    if (s->error.status != IH_OK)
        return ih_tiff_failed(s, err);
    if (at > s->whole.file_bytes || n > s->whole.file_bytes - at || n_needed > s->plane_bytes)
        return inflate_damaged(err, "a strip or tile lies past the end of the file");
    size_t n_inflated = 0;
    const uint8_t *stream = s->whole.file + at;
    switch (libdeflate_zlib_decompress(s->inflater, stream, (size_t)n, dst, s->plane_bytes,
                                       &n_inflated)) {
    case LIBDEFLATE_SUCCESS:
        if (n_inflated < n_needed)
            return inflate_damaged(err, "a strip or tile holds too few rows");
        break;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        if (inflate_long(s, stream, (size_t)n, (size_t)n_needed, dst, err) != IH_OK)
            return err->status;
        break;
    default:
        return inflate_damaged(err, "a strip or tile is damaged");
    }
    finish_rows(s, dst, (size_t)n_needed);
    return IH_OK;
}

/* Whether finish_rows can replace libtiff's steps after inflating. */
static bool is_usual(const struct ih_tiff *s, TIFF *t)
{
    uint16_t predictor = PREDICTOR_NONE, fill_order = FILLORDER_MSB2LSB;
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_PREDICTOR, &predictor);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_FILLORDER, &fill_order);
    return s->kind != IH_TIFF_SCANLINE && fill_order == FILLORDER_MSB2LSB &&
           (s->samples.bits <= 16 || !s->lib.TIFFIsByteSwapped(t)) &&
           (predictor == PREDICTOR_NONE || (predictor == PREDICTOR_HORIZONTAL && !s->is_ycbcr &&
                                            (s->samples.bits == 8 || s->samples.bits == 16)));
}

static enum ih_status open_inflater(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    s->inflater = is_usual(s, t) ? libdeflate_alloc_decompressor() : NULL;
    return s->inflater || !is_usual(s, t) ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

void ih_tiff_inflate_close(struct ih_tiff *s)
{
    libdeflate_free_decompressor(s->inflater);
}

#else

enum ih_status ih_tiff_inflate(struct ih_tiff *s, unsigned p, uint32_t n_rows, uint8_t *dst,
                               struct ih_error *err)
{
    (void)p, (void)n_rows, (void)dst;
    return ih_tiff_failed(s, err);
}

static enum ih_status open_inflater(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    (void)s, (void)t, (void)err;
    return IH_OK;
}

void ih_tiff_inflate_close(struct ih_tiff *s)
{
    (void)s;
}

#endif

enum ih_status ih_tiff_inflate_open(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    return ih_tiff_is_deflate(s, t) ? open_inflater(s, t, err) : IH_OK;
}
