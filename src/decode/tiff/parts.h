/*
 * The parts of the TIFF decoder: the file as libtiff sees it (tiff_file.c), what its directory says
 * of the samples (tiff_layout.c), what that said before libtiff mended it (tiff_tags.c), YCbCr
 * (tiff_ycbcr.c), and the decoder itself (dec_tiff.c).
 */
#ifndef IH_DECODE_TIFF_PARTS_H
#define IH_DECODE_TIFF_PARTS_H

#include "base/dynlib.h"
#include "decode/held.h"
#include "decode/samples.h"

#include <tiffio.h>

/* What is called of libtiff. */
#define TIFF_CALLS(F)                                                                              \
    F(void, TIFFClose, (TIFF *))                                                                   \
    F(int, TIFFGetField, (TIFF *, uint32_t, ...))                                                  \
    F(int, TIFFGetFieldDefaulted, (TIFF *, uint32_t, ...))                                         \
    F(int, TIFFSetField, (TIFF *, uint32_t, ...))                                                  \
    F(int, TIFFIsTiled, (TIFF *))                                                                  \
    F(uint64_t, TIFFTileRowSize64, (TIFF *))                                                       \
    F(uint64_t, TIFFTileSize64, (TIFF *))                                                          \
    F(uint64_t, TIFFStripSize64, (TIFF *))                                                         \
    F(uint64_t, TIFFScanlineSize64, (TIFF *))                                                      \
    F(tmsize_t, TIFFReadTile, (TIFF *, void *, uint32_t, uint32_t, uint32_t, uint16_t))            \
    F(uint32_t, TIFFComputeStrip, (TIFF *, uint32_t, uint16_t))                                    \
    F(tmsize_t, TIFFReadEncodedStrip, (TIFF *, uint32_t, void *, tmsize_t))                        \
    F(int, TIFFReadScanline, (TIFF *, void *, uint32_t, uint16_t))                                 \
    F(const TIFFCodec *, TIFFFindCODEC, (uint16_t))                                                \
    F(int, TIFFIsCODECConfigured, (uint16_t))                                                      \
    F(TIFF *, TIFFClientOpenExt,                                                                   \
      (const char *, const char *, thandle_t, TIFFReadWriteProc, TIFFReadWriteProc, TIFFSeekProc,  \
       TIFFCloseProc, TIFFSizeProc, TIFFMapFileProc, TIFFUnmapFileProc, TIFFOpenOptions *))        \
    F(TIFFOpenOptions *, TIFFOpenOptionsAlloc, (void))                                             \
    F(void, TIFFOpenOptionsFree, (TIFFOpenOptions *))                                              \
    F(void, TIFFOpenOptionsSetMaxSingleMemAlloc, (TIFFOpenOptions *, tmsize_t))                    \
    F(void, TIFFOpenOptionsSetErrorHandlerExtR, (TIFFOpenOptions *, TIFFErrorHandlerExtR, void *)) \
    F(void, TIFFOpenOptionsSetWarningHandlerExtR, (TIFFOpenOptions *, TIFFErrorHandlerExtR, void *))

struct ih_tiff_calls {
    TIFF_CALLS(IH_DYNLIB_MEMBER)
};

/* One libtiff handle on the file; each has its own place in it. */
struct ih_tiff_handle {
    struct ih_tiff *state;
    TIFF *tiff; /* owned */
    uint64_t position;
};

/* YCbCr as it is stored: units of across x down values of Y, one of Cb and one of Cr. Of each value
 * what it adds to a colour. */
struct ih_tiff_ycbcr {
    uint16_t across, down;
    double luma[256], red_of_cr[256], green_of_cr[256], green_of_cb[256], blue_of_cb[256];
};

/* What is decoded at once. */
enum ih_tiff_block { IH_TIFF_SCANLINE, IH_TIFF_STRIP, IH_TIFF_TILE };

struct ih_tiff {
    struct ih_tiff_calls lib;
    struct ih_held whole;
    struct ih_tiff_handle handles[IH_SAMPLES_PLANES_MAX]; /* one, or one a plane */
    struct ih_samples samples;
    unsigned plane_sample[IH_SAMPLES_PLANES_MAX]; /* which of the file's samples a plane is */
    uint32_t width, height;
    uint16_t n_samples; /* of a pixel in the file */
    bool is_planar, is_ycbcr, is_decoding;
    struct ih_tiff_ycbcr ycbcr; /* where is_ycbcr */

    enum ih_tiff_block kind;
    uint32_t full_width, full_height; /* of a block; the last ones may reach over the image */
    uint8_t *block;                   /* owned; plane after plane */
    size_t plane_bytes, row_bytes;
    uint32_t x, y;                           /* of the next block */
    uint32_t block_width, block_height, row; /* of this block that are image; next row */
    struct ih_error error;                   /* the first message */
};

/* Opens handle i on the file and reads the first directory. */
enum ih_status ih_tiff_open_handle(struct ih_tiff *s, unsigned i, struct ih_error *err);

/* What libtiff said, as the error. */
enum ih_status ih_tiff_failed(const struct ih_tiff *s, struct ih_error *err);

/* Whether the file's first directory itself, before libtiff mends it, has this tag with this one
 * whole number as its value. */
bool ih_tiff_has_tag(const struct ih_tiff *s, uint16_t tag, uint64_t value);

/* Fills samples, plane_sample, n_samples, is_planar and is_ycbcr, or refuses what is not decoded.
 */
enum ih_status ih_tiff_read_layout(struct ih_tiff *s, TIFF *t, struct ih_error *err);

/* Fills ycbcr from the directory. */
enum ih_status ih_tiff_read_ycbcr(struct ih_tiff *s, TIFF *t, struct ih_error *err);

/*
 * A row of a block of such units.
 *
 * units    the units that the row is in, from the block's left edge on
 * line     which of a unit's rows of Y
 * pixels   uint8 [n][3], red, green and blue
 */
void ih_tiff_convert_ycbcr(const struct ih_tiff_ycbcr *c, const uint8_t *units, uint32_t line,
                           uint32_t n, uint8_t *pixels);

#endif
