/*
 * The values of a camera raw file's sensor before demosaicing, through LibRaw, on request: each
 * 2 x 2 cell of the colour filters is a pixel of four bands, R, G1 (beside red), G2 and B. A sensor
 * without filters is gray. Only the active area counts: no masked borders.
 *
 * LibRaw decompresses, and applies the curve by which a camera or DNG stores fewer values. Black is
 * not subtracted. The file and the sensor's values are held in memory.
 */
#define _GNU_SOURCE /* memmem */
#include "base/dynlib.h"
#include "decode/new_memory.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <libraw/libraw.h>
#include <string.h>

#if LIBRAW_COMPILE_CHECK_VERSION_NOTLESS(0, 21)
enum { QUIET = LIBRAW_OPIONS_NO_DATAERR_CALLBACK };
typedef const void raw_file;
#else
typedef void raw_file;
enum { QUIET = LIBRAW_OPIONS_NO_MEMERR_CALLBACK | LIBRAW_OPIONS_NO_DATAERR_CALLBACK };
#endif

/* The functions of LibRaw that are called. */
#define SENSOR_CALLS(F)                                                             \
    F(libraw_data_t *, libraw_init, (unsigned))                                     \
    F(void, libraw_close, (libraw_data_t *))                                        \
    F(void, libraw_set_dataerror_handler, (libraw_data_t *, data_callback, void *)) \
    F(int, libraw_open_buffer, (libraw_data_t *, raw_file *, size_t))               \
    F(int, libraw_unpack, (libraw_data_t *))                                        \
    F(const char *, libraw_unpack_function_name, (libraw_data_t *))                 \
    F(const char *, libraw_strerror, (int))

IH_DYNLIB_DECODER(SENSOR_CALLS, struct sensor_calls, IH_SONAME_sensor)

enum {
    UNPACKED_COPIES = 2 /* of the values, in LibRaw's memory at most */
};

struct sensor_state {
    struct sensor_calls lib;
    struct ih_whole_file whole;
    libraw_data_t *raw;                  /* owned */
    bool is_damaged;                     /* LibRaw has met data that cannot be */
    unsigned max;                        /* the largest value */
    unsigned side;                       /* of a cell: 2, or 1 without filters */
    unsigned places[IH_LEVELS_CHANNELS]; /* of each band in a cell: 2 * row + column */
    struct ih_native native;
    struct ih_extremes *extremes; /* borrowed: the caller's; of more than 8 bits */
    uint32_t width, height, row;  /* in cells; the next row */
};

static void close_sensor(void *state)
{
    struct sensor_state *const s = state;
    if (s->raw)
        s->lib.libraw_close(s->raw);
    ih_whole_file_close(&s->whole);
}

static enum ih_status sensor_failed(const struct sensor_state *s, int code, struct ih_error *err)
{
    if (code == LIBRAW_UNSUFFICIENT_MEMORY)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (code == LIBRAW_FILE_UNSUPPORTED || code == LIBRAW_NOT_IMPLEMENTED)
        return ih_error_set(err, IH_UNSUPPORTED, "camera raw that this LibRaw does not know");
    return ih_error_set(err, IH_CORRUPT, "damaged camera raw: %s",
                        code ? s->lib.libraw_strerror(code) : "a part of its data is missing");
}

/* The type of the offset in the file differs between versions, and it is not read. */
static void note_damage(void *state)
{
    ((struct sensor_state *)state)->is_damaged = true;
}

/* ---- undefined memory ---- */

/* LibRaw gives up in silence at some damage, and what it has not written is undefined. So new
 * memory is filled with bytes. What a second attempt with other bytes finds must be the same. */
enum { FILL = 1, OTHER_FILL = 2, FILLED = 0xFEFE };

/* Opens the file with a new object of LibRaw. */
static enum ih_status open_raw(struct sensor_state *s, int fill, struct ih_error *err)
{
    if (s->raw)
        s->lib.libraw_close(s->raw);
    s->raw = s->lib.libraw_init(QUIET);
    if (!s->raw)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.libraw_set_dataerror_handler(s->raw, (data_callback)(ih_dynlib_function)note_damage, s);
    ih_new_memory_take();
    ih_new_memory_fill(fill);
    const int code = s->lib.libraw_open_buffer(s->raw, s->whole.file, s->whole.file_bytes);
    ih_new_memory_fill(0);
    ih_new_memory_give();
    return code == LIBRAW_SUCCESS ? IH_OK : sensor_failed(s, code, err);
}

/* Whether two attempts have found the same sizes, filters, curve, levels and compression. */
static bool is_same(const struct sensor_state *s, libraw_data_t *a, libraw_data_t *b)
{
    const libraw_iparams_t *const p = &a->idata, *const q = &b->idata;
    return memcmp(&a->sizes, &b->sizes, sizeof a->sizes) == 0 && p->filters == q->filters &&
           p->colors == q->colors && p->is_foveon == q->is_foveon && p->raw_count == q->raw_count &&
           memcmp(p->cdesc, q->cdesc, sizeof p->cdesc) == 0 &&
           memcmp(&a->color, &b->color, offsetof(libraw_colordata_t, linear_max)) == 0 &&
           a->color.raw_bps == b->color.raw_bps &&
           strcmp(s->lib.libraw_unpack_function_name(a), s->lib.libraw_unpack_function_name(b)) ==
               0;
}

static enum ih_status open_twice(struct sensor_state *s, struct ih_error *err)
{
    enum ih_status status = open_raw(s, OTHER_FILL, err);
    libraw_data_t *const first = s->raw;
    s->raw = NULL;
    if (status == IH_OK)
        status = open_raw(s, FILL, err);
    if (status == IH_OK && !is_same(s, first, s->raw))
        status = sensor_failed(s, LIBRAW_SUCCESS, err);
    if (first)
        s->lib.libraw_close(first);
    return status;
}

/* ---- cells ---- */

static enum ih_status refuse_filters(const char *what, struct ih_error *err)
{
    return ih_error_set(err, IH_UNSUPPORTED,
                        "camera raw with %s is not supported: the sensor must have 2 x 2 filters "
                        "of red, green and blue, or none",
                        what);
}

/* Finds the place of each band in a cell: bits 0 and 1 of the filters are of row 0, column 0, then
 * come column 1, row 1, and its column 1. */
static enum ih_status find_bands(struct sensor_state *s, struct ih_error *err)
{
    const libraw_iparams_t *const p = &s->raw->idata;
    unsigned n_greens = 0, red = 0, blue = 0;
    s->side = p->filters ? 2 : 1;
    if (p->filters == LIBRAW_XTRANS)
        return refuse_filters("X-Trans filters", err);
    if (s->side == 1)
        return p->colors == 1 && !p->is_foveon
                   ? IH_OK
                   : refuse_filters("several values a pixel (linear DNG, Foveon, sRAW)", err);
    for (unsigned i = 0; i < IH_LEVELS_CHANNELS; i++) {
        const char letter = p->cdesc[p->filters >> 2 * i & 3];
        red = letter == 'R' ? i : red;
        blue = letter == 'B' ? i : blue;
        n_greens += letter == 'G';
    }
    if (p->filters != (p->filters & 0xFF) * 0x01010101u || n_greens != 2 || red + blue != 3)
        return refuse_filters("filters of another pattern", err);
    const unsigned places[] = {red, red ^ 1, blue ^ 1, blue};
    memcpy(s->places, places, sizeof places);
    return IH_OK;
}

/* LibRaw before 0.21 reads tiles without compression as if they were rows, and each version
 * misreads tiles of lossless JPEG that are wider than the image. It does not tell the width of
 * tiles: the entries TileWidth of the file do. */
static enum ih_status check_tiles(const struct sensor_state *s, struct ih_error *err)
{
    enum { ENTRY_BYTES = 8 }; /* tag 322, SHORT or LONG, one value */
    static const char entries[][ENTRY_BYTES + 1] = {"\x42\1\3\0\1\0\0", "\x42\1\4\0\1\0\0",
                                                    "\1\x42\0\3\0\0\0\1", "\1\x42\0\4\0\0\0\1"};
    const uint8_t *const end = s->whole.file + s->whole.file_bytes;
    const char *const how = s->lib.libraw_unpack_function_name(s->raw);
    const bool is_packed = strncmp(how, "packed_dng", 10) == 0;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const uint8_t *at = s->whole.file;
        while ((at = memmem(at, (size_t)(end - at), entries[i], ENTRY_BYTES))) {
            at += ENTRY_BYTES;
            const uint32_t width = end - at < 4 ? 0
                                   : i == 0     ? ih_le16(at)
                                   : i == 1     ? ih_le32(at)
                                   : i == 2     ? ih_be16(at)
                                                : ih_be32(at);
            if (is_packed && !LIBRAW_COMPILE_CHECK_VERSION_NOTLESS(0, 21))
                return ih_error_set(err, IH_UNSUPPORTED,
                                    "camera raw with uncompressed tiles needs LibRaw 0.21 or "
                                    "later, and this is " IH_LIBRARY_sensor);
            if (width > s->raw->sizes.raw_width && strncmp(how, "lossless_dng", 12) == 0)
                return ih_error_set(err, IH_UNSUPPORTED,
                                    "camera raw with tiles of %u pixels, wider than its %u, is not "
                                    "supported",
                                    (unsigned)width, (unsigned)s->raw->sizes.raw_width);
        }
    }
    return IH_OK;
}

/* ---- values ---- */

/* The first value of a row of the active area. */
static const uint16_t *sensor_row(const struct sensor_state *s, uint32_t row)
{
    const libraw_image_sizes_t *const z = &s->raw->rawdata.sizes;
    return s->raw->rawdata.raw_image + (size_t)(z->top_margin + row) * (z->raw_pitch / 2) +
           z->left_margin;
}

/* Unpacks the values and looks for the largest, and for those of the first fill. */
static enum ih_status unpack(struct sensor_state *s, int fill, uint64_t *n_equal,
                             struct ih_error *err)
{
    ih_new_memory_take();
    ih_new_memory_fill(fill);
    const int code = s->lib.libraw_unpack(s->raw);
    ih_new_memory_fill(0);
    ih_new_memory_give();
    if (code != LIBRAW_SUCCESS || s->is_damaged)
        return sensor_failed(s, code, err);
    const libraw_image_sizes_t *const z = &s->raw->rawdata.sizes;
    if (!s->raw->rawdata.raw_image || s->raw->rawdata.ioparams.fuji_width)
        return refuse_filters("values in another order (Super CCD, floats)", err);
    if (z->width / s->side != s->width || z->height / s->side != s->height ||
        z->left_margin + z->width > (int)z->raw_pitch / 2 ||
        z->top_margin + z->height > z->raw_height)
        return ih_error_set(err, IH_CORRUPT, "damaged camera raw: its active area");
    *n_equal = 0;
    for (uint32_t row = 0; row < s->height * s->side; row++)
        for (uint32_t i = 0; i < s->width * s->side; i++) {
            const unsigned v = sensor_row(s, row)[i];
            *n_equal += v == FILLED;
            s->max = v > s->max ? v : s->max;
        }
    return IH_OK;
}

/* Values that are equal to the fill may be undefined: a second attempt must find as many. */
static enum ih_status unpack_whole(struct sensor_state *s, struct ih_error *err)
{
    uint64_t n_equal = 0, n_again = 0;
    enum ih_status status = unpack(s, FILL, &n_equal, err);
    if (status != IH_OK || n_equal == 0)
        return status;
    status = open_raw(s, OTHER_FILL, err);
    if (status == IH_OK)
        status = unpack(s, OTHER_FILL, &n_again, err);
    return status == IH_OK && n_again != n_equal ? sensor_failed(s, LIBRAW_SUCCESS, err) : status;
}

/* The black level of each band, and white. */
static void find_levels(const struct sensor_state *s, struct ih_image_info *info)
{
    struct ih_levels *const levels = &info->levels;
    const libraw_colordata_t *const c = &s->raw->rawdata.color;
    const unsigned rows = c->cblack[4], columns = c->cblack[5];
    for (unsigned i = 0; i < IH_LEVELS_CHANNELS; i++) {
        const unsigned row = s->places[i] / 2, column = s->places[i] % 2;
        unsigned black = c->black + c->cblack[s->raw->idata.filters >> 2 * s->places[i] & 3];
        if (rows > 0 && columns > 0 && rows * columns <= LIBRAW_CBLACK_SIZE - 6)
            black += c->cblack[6 + row % rows * columns + column % columns];
        levels->black[i] = (uint16_t)(black < UINT16_MAX ? black : UINT16_MAX);
    }
    levels->white = (uint16_t)(c->maximum < UINT16_MAX ? c->maximum : UINT16_MAX);
    info->warnings |= ih_levels_black(info) < levels->white ? 0 : IH_WARNING_LEVELS;
}

/* Chooses the bins: those of the bits that the file states, or of more, if there are larger values.
 */
static enum ih_status choose_bins(struct sensor_state *s, struct ih_sample_range range,
                                  struct ih_image_info *info, struct ih_error *err)
{
    const unsigned bits = s->raw->rawdata.color.raw_bps;
    const unsigned max = s->max > info->levels.white ? s->max : info->levels.white;
    info->source_depth = bits >= 8 && bits <= 16 ? bits : 8;
    while (max >> info->source_depth)
        info->source_depth++;
    const struct ih_sample_range none = {0, 0};
    if (ih_native_choose(&s->native, true, info->source_depth == 16 ? range : none,
                         (1u << info->source_depth) - 1, err) != IH_OK)
        return err->status;
    s->extremes = info->source_depth > 8 ? &info->extremes : NULL;
    info->type = s->native.type;
    info->n_bins = s->native.n_bins;
    info->range = IH_RANGE_FULL;
    return IH_OK;
}

static enum ih_status name_bands(struct ih_image_info *info, struct ih_error *err)
{
    static const char *const names[IH_LEVELS_CHANNELS] = {"R", "G1", "G2", "B"};
    enum ih_status status = IH_OK;
    for (unsigned i = 0; i < IH_LEVELS_CHANNELS && status == IH_OK; i++)
        status = ih_band_name_set(&info->band_names, IH_LEVELS_CHANNELS, i, names[i], err);
    return status;
}

static enum ih_status open_sensor(struct ih_reader *src, const struct ih_decode_options *options,
                                  struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct sensor_state *const s = state;
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = ih_whole_file_open(&s->whole, src, options, 0, err);
    if (status == IH_OK)
        status = open_twice(s, err);
    if (status != IH_OK)
        return status;
    const libraw_image_sizes_t *const z = &s->raw->sizes;
    if (find_bands(s, err) != IH_OK ||
        ih_decode_check_pixels(z->raw_width, z->raw_height, options->max_pixels, err) != IH_OK ||
        check_tiles(s, err) != IH_OK)
        return err->status;
    if (z->width % s->side || z->height % s->side)
        info->warnings |= IH_WARNING_CELLS;
    info->width = s->width = z->width / s->side;
    info->height = s->height = z->height / s->side;
    info->layout =
        s->side == 2 ? (struct ih_layout){IH_LEVELS_CHANNELS, 0, false} : ih_layout_of(1);
    info->order = (struct ih_pixel_order){.kind = IH_PIXEL_ORDER_ROWS};
    info->n_frames = s->raw->idata.raw_count;
    status = ih_whole_file_more(
        &s->whole, (uint64_t)z->raw_width * z->raw_height * sizeof(uint16_t) * UNPACKED_COPIES,
        err);
    if (status == IH_OK)
        status = unpack_whole(s, err);
    if (status != IH_OK)
        return status;
    find_levels(s, info);
    status = choose_bins(s, options->sample_range, info, err);
    return status == IH_OK && s->side == 2 ? name_bands(info, err) : status;
}

static enum ih_status read_sensor(void *state, uint8_t *pixels, size_t capacity_pixels,
                                  size_t *n_pixels, struct ih_error *err)
{
    struct sensor_state *const s = state;
    const unsigned n_bands = s->side * s->side;
    size_t n = 0;
    (void)err;
    *n_pixels = 0;
    for (; s->row < s->height && capacity_pixels - *n_pixels >= s->width; s->row++) {
        for (size_t i = 0; i < (size_t)s->width * n_bands; i++, n++) {
            const unsigned place = s->places[i % n_bands];
            const uint16_t v =
                sensor_row(s, s->row * s->side + place / 2)[i / n_bands * s->side + place % 2];
            if (s->extremes)
                ih_extremes_add(s->extremes, v);
            if (ih_is_native(s->native.type))
                ih_native_put(pixels, n, ih_native_of(&s->native, v, false));
            else
                pixels[n] = (uint8_t)v;
        }
        *n_pixels += s->width;
    }
    return IH_OK;
}

const struct ih_decoder ih_decoder_sensor = {
    .name = "sensor",
    .is_isolated = true,
    .prepare = prepare,
    .title = "the sensor's values in a camera raw file, before demosaicing (--raw-sensor)",
    .version = "LibRaw " IH_LIBRARY_sensor,
    .probe = ih_probe_sensor,
    .state_bytes = sizeof(struct sensor_state),
    .open = open_sensor,
    .read = read_sensor,
    .close = close_sensor,
};
