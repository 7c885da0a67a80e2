/*
 * FITS through cfitsio: the first image with samples, or each. A plane of an image with more than
 * two axes is an image of its own.
 *
 * The file is held in memory, where cfitsio reads it; it opens no file and no connection. Samples
 * are read as stored. The scale (BSCALE, BZERO) and the value of undefined pixels (BLANK) are
 * applied here: cfitsio takes infinities for undefined, and small values for 0, where it looks for
 * undefined ones.
 *
 * Source: the FITS Standard 4.0.
 */
#include "base/dynlib.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <fitsio.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The functions of cfitsio that are called. fitsio.h has macros with long names for them:
 * fits_open_memfile, fits_close_file, fits_movabs_hdu, fits_get_img_paramll, fits_read_key_dbl,
 * fits_read_key_lnglng, fits_read_key_str, fits_get_colnum, fits_get_hduaddrll, fits_verify_chksum,
 * fits_set_bscale, fits_read_pixll, fits_read_subset, fits_get_errstatus. */
#define FITS_CALLS(F)                                                                        \
    F(int, ffomem,                                                                           \
      (fitsfile **, const char *, int, void **, size_t *, size_t, void *(*)(void *, size_t), \
       int *))                                                                               \
    F(int, ffclos, (fitsfile *, int *))                                                      \
    F(int, ffmahd, (fitsfile *, int, int *, int *))                                          \
    F(int, ffgiprll, (fitsfile *, int, int *, int *, LONGLONG *, int *))                     \
    F(int, ffgkyd, (fitsfile *, const char *, double *, char *, int *))                      \
    F(int, ffgkyjj, (fitsfile *, const char *, LONGLONG *, char *, int *))                   \
    F(int, ffgcno, (fitsfile *, int, char *, int *, int *))                                  \
    F(int, ffghadll, (fitsfile *, LONGLONG *, LONGLONG *, LONGLONG *, int *))                \
    F(int, ffvcks, (fitsfile *, int *, int *, int *))                                        \
    F(int, ffpscl, (fitsfile *, double, double, int *))                                      \
    F(int, ffgpxvll, (fitsfile *, int, LONGLONG *, LONGLONG, void *, void *, int *, int *))  \
    F(int, ffgsv, (fitsfile *, int, long *, long *, long *, void *, void *, int *, int *))   \
    F(void, ffgerr, (int, char *))                                                           \
    F(int, ffgkys, (fitsfile *, const char *, char *, char *, int *))                        \
    F(int, fits_set_quantize_level, (fitsfile *, float, int *))                              \
    F(int, fits_is_compressed_image, (fitsfile *, int *))                                    \
    F(int, fits_is_reentrant, (void))

IH_DYNLIB_DECODER(FITS_CALLS, struct fits_calls, IH_SONAME_fits)

enum {
    AXES_MAX = 9,
    RECORD_BYTES = 2880, /* a file is a number of these */
    BLOCK_BYTES = 256 * 1024,
    TILE_PIXEL_BYTES = 16 /* memory that cfitsio needs for a pixel of a compressed tile, at most */
};

/* Lies before the file in memory, for may_grow. */
struct fits_held {
    size_t n_bytes;   /* of the file, in whole records */
    bool is_exceeded; /* cfitsio has asked for more */
};

struct fits_state {
    struct fits_calls lib;
    struct ih_whole_file whole; /* its file begins with a struct fits_held */
    void *bytes;                /* of the file itself */
    size_t size_bytes;          /* the same as n_bytes; cfitsio writes it */
    size_t file_bytes;          /* without the padding that the file lacks */
    fitsfile *file;             /* owned */
    uint64_t max_pixels;
    struct ih_sample_range sample_range;
    bool takes_native;
    enum ih_nodata_kind nodata_kind;
    int hdu, n_hdus; /* the image's, from 1, and those that could be read */
    int why_no_more; /* 0: the file ends with them; else cfitsio's status */

    /* The image: */
    int bitpix, n_axes;
    LONGLONG axes[AXES_MAX];
    uint64_t plane, n_planes;
    double scale, zero;
    LONGLONG blank;
    bool has_blank, blank_is_nan;
    bool is_scaled;  /* samples become float32 by scale and zero */
    bool is_flipped; /* the highest bit: BZERO turns signed and unsigned integers into others */
    bool is_compressed;
    bool is_quantized;     /* cfitsio makes floats from integers of compressed tiles */
    unsigned sample_bytes; /* of stored samples */
    struct ih_samples samples;
    uint64_t file_taken_bytes;
    uint64_t row;              /* the next to be read */
    uint64_t n_block_rows_max; /* rows of compressed tiles are read together */
    uint8_t *block;            /* owned; stored samples in the byte order of this machine */
    size_t n_in_block, n_given;
};

static enum ih_status fits_failed(const struct fits_state *s, int status, struct ih_error *err)
{
    char why[FLEN_STATUS] = "";
    const struct fits_held *held = (const struct fits_held *)(const void *)s->whole.file;
    if (held->is_exceeded || status == END_OF_FILE)
        return ih_error_set(err, IH_CORRUPT, "damaged FITS: the file ends before its data do");
    if (status == MEMORY_ALLOCATION)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.ffgerr(status, why);
    return ih_error_set(err, IH_CORRUPT, "damaged FITS: %s", why);
}

/* ---- the file ---- */

/* cfitsio calls this with the end of the last header and data unit, as its header tells it. It
 * reads up to there, whether the memory is that large or not. */
static void *may_grow(void *bytes, size_t n_bytes)
{
    struct fits_held *held = (struct fits_held *)bytes - 1;
    held->is_exceeded = held->is_exceeded || n_bytes > held->n_bytes;
    return n_bytes <= held->n_bytes ? bytes : NULL;
}

/* Reads the file. A last record that is cut is filled up: programs leave the padding out. */
static enum ih_status hold_file(struct fits_state *s, struct ih_reader *src,
                                const struct ih_decode_options *options, struct ih_error *err)
{
    struct ih_whole_file *const h = &s->whole;
    h->may_be_large = true;
    if (ih_whole_file_open(h, src, options, RECORD_BYTES + sizeof(struct fits_held), err) != IH_OK)
        return err->status;
    s->file_taken_bytes = h->taken_bytes;
    const size_t n = h->file_bytes, n_padding = (RECORD_BYTES - n % RECORD_BYTES) % RECORD_BYTES;
    uint8_t *const file = n < SIZE_MAX - 2 * RECORD_BYTES
                              ? realloc(h->file, sizeof(struct fits_held) + n + n_padding)
                              : NULL;
    if (!file)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    h->file = file;
    s->bytes = memmove(file + sizeof(struct fits_held), file, n);
    memset((uint8_t *)s->bytes + n, 0, n_padding);
    s->size_bytes = n + n_padding;
    s->file_bytes = n;
    memcpy(file, &(struct fits_held){.n_bytes = s->size_bytes}, sizeof(struct fits_held));
    return IH_OK;
}

/* Returns the value of a keyword, or `lacking` if the header lacks it. Does nothing after an error.
 */
static double read_number(struct fits_state *s, const char *name, double lacking, int *status)
{
    double value;
    if (*status == 0 && s->lib.ffgkyd(s->file, name, &value, NULL, status) == KEY_NO_EXIST)
        *status = 0;
    else if (*status == 0)
        return value;
    return lacking;
}

static bool read_integer(struct fits_state *s, const char *name, LONGLONG *value, int *status)
{
    if (*status == 0 && s->lib.ffgkyjj(s->file, name, value, NULL, status) == KEY_NO_EXIST) {
        *status = 0;
        return false;
    }
    return *status == 0;
}

/* Moves to a header and data unit, and reads the shape of its image. n_planes is 0 if it has no
 * image with samples. Returns cfitsio's status. */
static int go_to(struct fits_state *s, int hdu)
{
    int status = 0, type = 0;
    s->n_planes = 0;
    s->n_axes = 0;
    if (s->lib.ffmahd(s->file, hdu, &type, &status) > 0 || type != IMAGE_HDU)
        return status;
    s->lib.ffgiprll(s->file, AXES_MAX, &s->bitpix, &s->n_axes, s->axes, &status);
    s->n_planes = status == 0 && s->n_axes > 0;
    for (int i = 0; i < s->n_axes && i < AXES_MAX && s->n_planes > 0; i++) {
        if (s->axes[i] <= 0)
            s->n_planes = 0;
        else if (i > 1)
            s->n_planes = (uint64_t)s->axes[i] > UINT_MAX / s->n_planes
                              ? UINT_MAX
                              : s->n_planes * (uint64_t)s->axes[i];
    }
    return status;
}

/* Finds the next image. Returns whether there is one; s->hdu is 0 before the first. */
static bool find_image(struct fits_state *s)
{
    while (s->hdu < s->n_hdus)
        if (go_to(s, ++s->hdu) == 0 && s->n_planes > 0)
            return true;
    return false;
}

/* Opens the file, and counts its images up to its end, or to a header that cannot be read. */
static enum ih_status open_file(struct fits_state *s, struct ih_image_info *info,
                                struct ih_error *err)
{
    int status = 0;
    uint64_t n_images = 0;
    if (s->lib.ffomem(&s->file, "file", READONLY, &s->bytes, &s->size_bytes, 0, may_grow, &status) >
        0)
        return fits_failed(s, status, err);
    while ((status = go_to(s, s->n_hdus + 1)) == 0 && s->n_hdus < INT_MAX - 1) {
        s->n_hdus++;
        n_images += s->n_planes;
    }
    s->why_no_more = status == END_OF_FILE ? 0 : status;
    if (!find_image(s) && s->why_no_more)
        return fits_failed(s, s->why_no_more, err);
    if (s->n_planes == 0)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "FITS without an image: it has tables only, or nothing");
    info->n_frames = n_images > UINT_MAX ? UINT_MAX : (unsigned)n_images;
    return IH_OK;
}

/* ---- an image ---- */

/* Whether a column of the table of tiles exists. */
static bool has_column(struct fits_state *s, const char *name)
{
    char text[FLEN_VALUE];
    int column, status = 0;
    snprintf(text, sizeof text, "%s", name);
    return s->lib.ffgcno(s->file, CASEINSEN, text, &column, &status) == 0;
}

/* Reads the header of a compressed image again. cfitsio does not forget that the samples of an
 * image before were floats, unless it is told what it would else find in the header. */
static int reread_compressed(struct fits_state *s)
{
    char how[FLEN_VALUE] = "";
    int status = 0, no_key = 0;
    s->lib.ffgkys(s->file, "ZQUANTIZ", how, NULL, &no_key);
    const bool is_lossless =
        s->bitpix < 0 &&
        (strcmp(how, "NONE") == 0 || (!has_column(s, "ZSCALE") && !has_column(s, "ZZERO")));
    s->is_quantized = s->bitpix < 0 && !is_lossless;
    s->lib.fits_set_quantize_level(s->file, is_lossless ? 0 : 1, &status);
    s->lib.ffmahd(s->file, 1, NULL, &status);
    return s->lib.ffmahd(s->file, s->hdu, NULL, &status);
}

/* Reads what the header says of stored samples. The value of undefined pixels is that of integers;
 * floats have NaN. */
static int read_scale(struct fits_state *s, bool is_compressed)
{
    int status = 0;
    s->is_quantized = false;
    if (is_compressed)
        status = reread_compressed(s);
    s->scale = read_number(s, "BSCALE", 1, &status);
    s->zero = read_number(s, "BZERO", 0, &status);
    s->has_blank = false;
    if (s->bitpix > 0)
        s->has_blank = read_integer(s, "BLANK", &s->blank, &status) ||
                       (is_compressed && read_integer(s, "ZBLANK", &s->blank, &status));
    return status;
}

/* Whether samples that belong to no image lie among those of an image: cfitsio skips them, other
 * readers do not, and the standard allows none. */
static bool has_groups(struct fits_state *s, int *status)
{
    LONGLONG n_parameters = 0, n_groups = 1;
    read_integer(s, "PCOUNT", &n_parameters, status);
    read_integer(s, "GCOUNT", &n_groups, status);
    return n_parameters != 0 || n_groups != 1;
}

static float scale_sample(const struct fits_state *s, double stored)
{
    return (float)(stored * s->scale + s->zero);
}

/* Makes BLANK the value for no data, if a stored sample can have it and floats tell it from the
 * values beside it. Else such samples become NaN. */
static void choose_nodata(struct fits_state *s, enum ih_sample_type type,
                          struct ih_image_info *info)
{
    const LONGLONG low = s->bitpix == BYTE_IMG ? 0 : INT16_MIN;
    const LONGLONG high = s->bitpix == BYTE_IMG ? UINT8_MAX : INT16_MAX;
    const double blank = (double)s->blank;
    info->has_nodata =
        s->has_blank && s->nodata_kind == IH_NODATA_OF_FILE && s->blank >= low && s->blank <= high;
    info->nodata = type == IH_FLOAT32 ? (double)scale_sample(s, blank) : blank + s->zero;
    s->blank_is_nan = info->has_nodata && type == IH_FLOAT32 &&
                      (!isfinite(info->nodata) || info->nodata == scale_sample(s, blank - 1) ||
                       info->nodata == scale_sample(s, blank + 1));
    info->has_nodata = info->has_nodata && !s->blank_is_nan;
}

/* Decides what becomes of the samples. */
static enum ih_status choose_type(struct fits_state *s, struct ih_image_info *info,
                                  struct ih_error *err)
{
    const bool is_plain = s->scale == 1, is_byte = s->bitpix == BYTE_IMG;
    const double half = is_byte ? -128 : 32768; /* turns unsigned bytes into signed ones */
    enum ih_sample_type type = IH_FLOAT32;
    if (s->bitpix != BYTE_IMG && s->bitpix != SHORT_IMG && s->bitpix != FLOAT_IMG)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "FITS with BITPIX %d is not supported: save the image with BITPIX 8, "
                            "16 or -32, or read it in Python and count its array as float32",
                            s->bitpix);
    if (s->bitpix != FLOAT_IMG && is_plain && s->zero == 0)
        type = is_byte ? IH_UINT8 : IH_INT16;
    else if (s->bitpix != FLOAT_IMG && is_plain && s->zero == half)
        type = is_byte ? IH_INT8 : IH_UINT16;
    s->is_scaled = type == IH_FLOAT32 && (s->bitpix != FLOAT_IMG || s->scale != 1 || s->zero != 0);
    s->is_flipped = type == IH_INT8 || type == IH_UINT16;
    info->source_depth = (unsigned)abs(s->bitpix);
    info->range = type == IH_UINT8 || type == IH_UINT16 ? IH_RANGE_FULL : IH_RANGE_UNKNOWN;
    choose_nodata(s, type, info);
    s->samples.native =
        (struct ih_native){.type = type, .n_bins = type == IH_INT8 ? IH_BINS : IH_NATIVE_BINS_MAX};
    if (ih_is_unsigned(type)) {
        ih_samples_init(&s->samples, IH_SAMPLES_GRAY, info->source_depth, false, false);
        s->samples.extremes = type == IH_UINT16 ? &info->extremes : NULL;
        const struct ih_sample_range none = {0, 0};
        const bool is_kept = info->has_nodata; /* until what counts them has found the value */
        if (ih_samples_set_target(&s->samples, is_kept ? none : s->sample_range,
                                  is_kept || s->takes_native, err) != IH_OK)
            return err->status;
    }
    info->type = s->samples.native.type;
    info->n_bins = s->samples.native.n_bins;
    return IH_OK;
}

/* Takes memory from the budget for the block, and for a row of tiles of a compressed image. */
static enum ih_status plan_block(struct fits_state *s, bool is_compressed, struct ih_error *err)
{
    const uint64_t width = (uint64_t)s->axes[0], height = (uint64_t)s->axes[1];
    const uint64_t row_bytes = width * s->sample_bytes;
    uint64_t n_rows = BLOCK_BYTES / row_bytes + 1, tile_rows = 0;
    for (int i = 0; i < s->n_axes && is_compressed; i++) {
        char name[FLEN_KEYWORD];
        LONGLONG tile = i == 0 ? s->axes[0] : 1;
        int status = 0;
        snprintf(name, sizeof name, "ZTILE%d", i + 1);
        read_integer(s, name, &tile, &status);
        if (status || tile <= 0)
            return ih_error_set(err, IH_CORRUPT, "damaged FITS: tiles without a size");
        if (i == 0)
            tile_rows = 1 + (uint64_t)tile / width;
        else if (ih_decode_check_pixels((uint64_t)tile, tile_rows * width, s->max_pixels, err) !=
                 IH_OK)
            return err->status;
        else
            tile_rows *= (uint64_t)tile;
        n_rows = i == 1 ? (uint64_t)tile : n_rows;
    }
    s->n_block_rows_max = n_rows < height ? n_rows : height;
    return ih_whole_file_more(
        &s->whole, s->n_block_rows_max * row_bytes + tile_rows * width * TILE_PIXEL_BYTES, err);
}

/* The bytes of the data without padding. Compressed tiles are a table and what follows it. cfitsio
 * has checked that such a size is a number. */
static uint64_t count_data(struct fits_state *s, int *status)
{
    LONGLONG row = 0, n_rows = 0, n_others = 0;
    uint64_t n_bytes = (unsigned)abs(s->bitpix) / 8;
    if (s->is_compressed) {
        read_integer(s, "NAXIS1", &row, status);
        read_integer(s, "NAXIS2", &n_rows, status);
        read_integer(s, "PCOUNT", &n_others, status);
        return (uint64_t)row * (uint64_t)n_rows + (uint64_t)n_others;
    }
    for (int i = 0; i < s->n_axes; i++)
        n_bytes *= (uint64_t)s->axes[i];
    return n_bytes;
}

/* Opens the image that has been found. */
static enum ih_status open_image(struct fits_state *s, struct ih_image_info *info,
                                 struct ih_error *err)
{
    int status = 0, data_sum = 0, all_sum = 0;
    LONGLONG ignored, start = 0, end = 0;
    if (s->n_axes > AXES_MAX)
        return ih_error_set(err, IH_UNSUPPORTED, "FITS with an image of %d axes is not supported",
                            s->n_axes);
    if (s->n_axes == 1)
        s->axes[1] = 1;
    info->width = (uint64_t)s->axes[0];
    info->height = (uint64_t)s->axes[1];
    info->layout = ih_layout_of(1);
    info->order = (struct ih_pixel_order){.flags = IH_PIXEL_ORDER_FROM_BOTTOM};
    if (ih_decode_check_pixels(info->width, info->height, s->max_pixels, err) != IH_OK)
        return err->status;
    const bool is_compressed = s->is_compressed = s->lib.fits_is_compressed_image(s->file, &status);
    if (status == 0)
        status = read_scale(s, is_compressed);
    if (status == 0 && !is_compressed && has_groups(s, &status))
        return ih_error_set(err, IH_CORRUPT, "damaged FITS: an image with PCOUNT or GCOUNT");
    if (status == 0)
        s->lib.ffghadll(s->file, &ignored, &start, &end, &status);
    if (status == 0 &&
        ((uint64_t)end > s->size_bytes || (uint64_t)start + count_data(s, &status) > s->file_bytes))
        status = status ? status : END_OF_FILE;
    if (status == 0)
        s->lib.ffvcks(s->file, &data_sum, &all_sum, &status);
    if (status == 0)
        s->lib.ffpscl(s->file, 1, 0, &status);
    if (status != 0)
        return fits_failed(s, status, err);
    if (data_sum < 0)
        return ih_error_set(err, IH_CORRUPT, "damaged FITS: the checksum of its data (DATASUM)");
    s->sample_bytes = (unsigned)abs(s->bitpix) / 8;
    s->plane = 0;
    s->row = 0;
    const enum ih_status chosen = choose_type(s, info, err);
    return chosen == IH_OK ? plan_block(s, is_compressed, err) : chosen;
}

static enum ih_status open_fits(struct ih_reader *src, const struct ih_decode_options *options,
                                struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct fits_state *const s = state;
    if (load(&s->lib, err) != IH_OK)
        return err->status;
    if (!s->lib.fits_is_reentrant())
        return ih_error_set(err, IH_UNSUPPORTED,
                            "cfitsio on this machine is not built for threads");
    s->max_pixels = options->max_pixels;
    s->sample_range = options->sample_range;
    s->takes_native = options->takes_native;
    s->nodata_kind = options->nodata.kind;
    if (hold_file(s, src, options, err) != IH_OK || open_file(s, info, err) != IH_OK)
        return err->status;
    return open_image(s, info, err);
}

/* ---- samples ---- */

/* Reads the next rows as they are stored. */
static enum ih_status load_block(struct fits_state *s, struct ih_error *err)
{
    static const int types[] = {[1] = TBYTE, [2] = TSHORT, [4] = TFLOAT};
    const uint64_t width = (uint64_t)s->axes[0], n_left = (uint64_t)s->axes[1] - s->row;
    const uint64_t n_rows = n_left < s->n_block_rows_max ? n_left : s->n_block_rows_max;
    LONGLONG first[AXES_MAX] = {1, (LONGLONG)s->row + 1};
    long from[AXES_MAX], to[AXES_MAX], step[AXES_MAX]; /* the same for fits_read_subset */
    float undefined = NAN;
    int status = 0, has_undefined;
    uint64_t plane = s->plane;
    for (int i = 2; i < s->n_axes; i++) {
        first[i] = (LONGLONG)(plane % (uint64_t)s->axes[i]) + 1;
        plane /= (uint64_t)s->axes[i];
    }
    if (!s->block)
        s->block = calloc((size_t)(width * s->n_block_rows_max), s->sample_bytes);
    if (!s->block)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->n_in_block = (size_t)(width * n_rows);
    s->n_given = 0;
    for (int i = 0; i < AXES_MAX; i++) {
        step[i] = 1;
        from[i] = to[i] = (long)first[i];
    }
    to[0] = (long)width;
    to[1] = (long)(s->row + n_rows);
    s->row += n_rows;
    /* Only this function reads compressed images of more than three axes. */
    if (s->is_compressed) {
        if (s->lib.ffgsv(s->file, types[s->sample_bytes], from, to, step,
                         s->is_quantized ? &undefined : NULL, s->block, &has_undefined,
                         &status) > 0)
            return fits_failed(s, status, err);
    } else if (s->lib.ffgpxvll(s->file, types[s->sample_bytes], first, (LONGLONG)s->n_in_block,
                               s->is_quantized ? &undefined : NULL, s->block, &has_undefined,
                               &status) > 0)
        return fits_failed(s, status, err);
    for (size_t i = 0; i < s->n_in_block && s->is_flipped; i++)
        if (s->sample_bytes == 1)
            s->block[i] ^= 0x80;
        else
            ((uint16_t *)(void *)s->block)[i] ^= 0x8000;
    return IH_OK;
}

/* Applies the scale to n stored samples, from sample i on. */
static void scale_samples(const struct fits_state *s, size_t i, size_t n, uint8_t *pixels)
{
    for (size_t end = i + n; i < end; i++, pixels += sizeof(float)) {
        const void *const block = s->block;
        const double v = s->sample_bytes == 1   ? (double)s->block[i]
                         : s->sample_bytes == 2 ? (double)((const int16_t *)block)[i]
                                                : (double)((const float *)block)[i];
        const bool is_blank = s->blank_is_nan && v == (double)s->blank;
        const float scaled = is_blank ? NAN : scale_sample(s, v);
        memcpy(pixels, &scaled, sizeof scaled);
    }
}

static enum ih_status read_fits(void *state, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err)
{
    struct fits_state *const s = state;
    if (s->n_given == s->n_in_block && s->row < (uint64_t)s->axes[1] && load_block(s, err) != IH_OK)
        return err->status;
    const size_t n_left = s->n_in_block - s->n_given;
    const size_t n = n_left < capacity_pixels ? n_left : capacity_pixels;
    const struct ih_sample_plane plane = {s->block + s->n_given * s->sample_bytes, 0, 1};
    if (s->is_scaled)
        scale_samples(s, s->n_given, n, pixels);
    else if (ih_is_unsigned(s->samples.native.type))
        ih_samples_convert(&s->samples, &plane, n, pixels);
    else
        memcpy(pixels, plane.bytes, n * s->sample_bytes);
    s->n_given += n;
    *n_pixels = n;
    return IH_OK;
}

/* Goes on to the next plane, or to the next image. */
static enum ih_status next_fits(void *state, struct ih_image_info *info, bool *has_next,
                                struct ih_error *err)
{
    struct fits_state *const s = state;
    info->extremes = (struct ih_extremes){0};
    s->row = s->n_in_block = s->n_given = 0;
    *has_next = ++s->plane < s->n_planes;
    if (*has_next)
        return IH_OK;
    free(s->block);
    s->block = NULL;
    ih_budget_give(s->whole.budget, s->whole.taken_bytes - s->file_taken_bytes);
    s->whole.taken_bytes = s->file_taken_bytes;
    *has_next = find_image(s);
    if (!*has_next)
        return s->why_no_more ? fits_failed(s, s->why_no_more, err) : IH_OK;
    return open_image(s, info, err);
}

static void close_fits(void *state)
{
    struct fits_state *const s = state;
    int ignored = 0;
    if (s->file)
        s->lib.ffclos(s->file, &ignored);
    free(s->block);
    ih_whole_file_close(&s->whole);
}

const struct ih_decoder ih_decoder_fits = {
    .name = "fits",
    .is_isolated = true,
    .prepare = prepare,
    .title = "FITS, the first image or all planes of all: BITPIX 8, 16 and -32, scaled, compressed",
    .version = "cfitsio " IH_LIBRARY_fits,
    .probe = ih_probe_fits,
    .state_bytes = sizeof(struct fits_state),
    .open = open_fits,
    .read = read_fits,
    .next = next_fits,
    .close = close_fits,
};
