/*
 * What the parts of the TIFF decoder share: file.c (the file as libtiff reads it), layout.c (the
 * meaning of the samples, and YCbCr), band_names.c, inflate.c (Deflate) and dec_tiff.c (the
 * decoder).
 */
#ifndef IH_DECODE_TIFF_TIFF_H
#define IH_DECODE_TIFF_TIFF_H

#include "base/dynlib.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <tiffio.h>

/* The functions of libtiff that are called. */
#define TIFF_CALLS(F)                                                                              \
    F(void, TIFFClose, (TIFF *))                                                                   \
    F(int, TIFFGetField, (TIFF *, uint32_t, ...))                                                  \
    F(int, TIFFGetFieldDefaulted, (TIFF *, uint32_t, ...))                                         \
    F(int, TIFFSetField, (TIFF *, uint32_t, ...))                                                  \
    F(int, TIFFIsTiled, (TIFF *))                                                                  \
    F(uint64_t, TIFFTileRowSize64, (TIFF *))                                                       \
    F(uint64_t, TIFFTileSize64, (TIFF *))                                                          \
    F(uint64_t, TIFFStripSize64, (TIFF *))                                                         \
    F(uint64_t, TIFFVStripSize64, (TIFF *, uint32_t))                                              \
    F(uint64_t, TIFFScanlineSize64, (TIFF *))                                                      \
    F(tmsize_t, TIFFReadTile, (TIFF *, void *, uint32_t, uint32_t, uint32_t, uint16_t))            \
    F(uint32_t, TIFFComputeStrip, (TIFF *, uint32_t, uint16_t))                                    \
    F(uint32_t, TIFFComputeTile, (TIFF *, uint32_t, uint32_t, uint32_t, uint16_t))                 \
    F(uint32_t, TIFFNumberOfStrips, (TIFF *))                                                      \
    F(uint32_t, TIFFNumberOfTiles, (TIFF *))                                                       \
    F(uint64_t, TIFFGetStrileOffset, (TIFF *, uint32_t))                                           \
    F(uint64_t, TIFFGetStrileByteCount, (TIFF *, uint32_t))                                        \
    F(int, TIFFIsByteSwapped, (TIFF *))                                                            \
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

/* A libtiff handle on the file, with its own position. */
struct ih_tiff_handle {
    struct ih_tiff *state;
    TIFF *tiff; /* owned */
    uint64_t position;
};

/* YCbCr as it is stored: units of across x down values of Y, one Cb and one Cr. The tables hold
 * what each value adds to a colour. */
struct ih_tiff_ycbcr {
    uint16_t across, down;
    double luma[256], red_of_cr[256], green_of_cr[256], green_of_cb[256], blue_of_cb[256];
};

/* The block that is decoded in one call. */
enum ih_tiff_block { IH_TIFF_SCANLINE, IH_TIFF_STRIP, IH_TIFF_TILE };

struct ih_tiff {
    struct ih_tiff_calls lib;
    struct ih_whole_file whole;
    uint64_t file_taken_bytes; /* of whole, for the file alone */
    uint64_t max_pixels;
    struct ih_sample_range sample_range;
    bool takes_native;
    struct ih_nodata nodata;  /* of the run */
    uint64_t page_at;         /* offset of the page's directory; 0: the first */
    unsigned page;            /* from 0, among those that are images */
    unsigned slice, n_slices; /* of a stack in one page; else 0 and 1 */
    struct {                  /* the channels of OME-XML, in the file */
        const char *text;
        size_t n_bytes;
        unsigned n_channels, stride; /* 0: not known; pages in a row of each */
    } ome;
    uint64_t slices_at, slice_bytes;
    struct ih_tiff_handle handles[IH_SAMPLES_PLANES_MAX]; /* one, or one for each of few planes */
    enum ih_sample_type type; /* of samples kept as they are; IH_UINT8: samples converts them */
    struct ih_samples samples;
    struct ih_layout layout;
    uint16_t plane_sample[IH_CHANNELS_MAX]; /* the sample of the file that a plane holds */
    uint32_t width, height;
    uint16_t n_samples;     /* a pixel, in the file */
    unsigned n_not_counted; /* of them */
    bool is_planar, is_ycbcr, is_decoding;
    bool is_read_twice;         /* to find samples that libtiff does not write */
    struct ih_tiff_ycbcr ycbcr; /* only if is_ycbcr */

    enum ih_tiff_block kind;
    uint32_t full_width, full_height; /* of a block; the last ones may extend past the image */
    uint8_t *block;                   /* owned; one plane after the other */
    struct ih_sample_plane *planes;   /* owned, [n_planes]: of the row that is converted */
    size_t plane_bytes, row_bytes;
    struct libdeflate_decompressor *inflater; /* owned; NULL: libtiff inflates, with zlib */
    uint32_t x, y;                            /* of the next block */
    uint32_t block_width, block_height, row;  /* the part inside the image; its next row */
    struct ih_error error;                    /* libtiff's first message */
};

/* Opens handle i on the file and reads the page's directory. */
enum ih_status ih_tiff_open_handle(struct ih_tiff *s, unsigned i, struct ih_error *err);

/* Sets err to libtiff's first message. */
enum ih_status ih_tiff_failed(const struct ih_tiff *s, struct ih_error *err);

/* Whether the page's directory in the file, before libtiff's repairs, has this tag. *value: of a
 * single integer, else UINT64_MAX. */
bool ih_tiff_tag(const struct ih_tiff *s, uint16_t tag, uint64_t *value);

/* The text of a tag of the page, cut at the end of `text`. Returns false if the page has no such
 * tag. */
bool ih_tiff_text(const struct ih_tiff *s, uint16_t tag, char *text, size_t size_bytes);

/* Sets *text to the bytes of a tag of the page, in the file; a NUL need not follow. Returns false
 * if the page has no such tag. */
bool ih_tiff_text_at(const struct ih_tiff *s, uint16_t tag, const char **text, size_t *n_bytes);

/* Overwrites the names of the page's bands (ih_band_name_set). Call it when the layout is read,
 * first for the first of n_pages images. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_tiff_read_band_names(struct ih_tiff *s, unsigned n_pages,
                                       struct ih_band_name **names, struct ih_error *err);

/* Whether the page with the directory at `at` (0: the first) is a smaller copy of another. */
bool ih_tiff_is_reduced(const struct ih_tiff *s, uint64_t at);

/* The number of images in the file: the first page, and all others that are neither reduced copies
 * nor transparency masks; 0: the list of directories is damaged, or very long. */
unsigned ih_tiff_n_images(const struct ih_tiff *s);

/* *at: the offset of the directory of the image after the page's; 0: there is none. *has_mask: a
 * mask stands between them. Returns false if the list is damaged. Only if ih_tiff_n_images has
 * found that it ends. */
bool ih_tiff_next_image(const struct ih_tiff *s, uint64_t *at, bool *has_mask);

/* The number of slices in a file of one page, 1 if it is no stack; and where the first one begins
 * and the size of each. */
unsigned ih_tiff_n_slices(const struct ih_tiff *s, TIFF *t, uint64_t *first_at, uint64_t *n_bytes);

/* Moves the next slice to the place of the first. */
enum ih_status ih_tiff_next_slice(struct ih_tiff *s, struct ih_error *err);

/* Sets type, samples, layout, plane_sample, n_samples, is_planar, is_ycbcr, is_read_twice and
 * ycbcr, or returns IH_UNSUPPORTED or IH_CORRUPT. */
enum ih_status ih_tiff_read_layout(struct ih_tiff *s, TIFF *t, struct ih_error *err);

/*
 * Decides whether libdeflate or libtiff inflates the blocks. Call it when kind, plane_bytes and
 * row_bytes are set. Does nothing if the compression is not Deflate.
 */
enum ih_status ih_tiff_inflate_open(struct ih_tiff *s, TIFF *t, struct ih_error *err);

/*
 * Inflates plane p of the next block, at s->x, s->y. Only if s->inflater is not NULL.
 *
 * dst      uint8 [plane_bytes], written up to the end of the block's rows
 * n_rows   of the block that are image; a tile is always complete
 */
enum ih_status ih_tiff_inflate(struct ih_tiff *s, unsigned p, uint32_t n_rows, uint8_t *dst,
                               struct ih_error *err);

void ih_tiff_inflate_close(struct ih_tiff *s);

static inline bool ih_tiff_is_deflate(const struct ih_tiff *s, TIFF *t)
{
    uint16_t compression = COMPRESSION_NONE;
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    return compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE;
}

/*
 * Converts one row of a block of YCbCr units.
 *
 * units    the units that contain the row, from the block's left edge on
 * line     the row of Y within the units
 * pixels   uint8 [n][3], red, green and blue, written
 */
void ih_tiff_convert_ycbcr(const struct ih_tiff_ycbcr *c, const uint8_t *units, uint32_t line,
                           uint32_t n, uint8_t *pixels);

#endif
