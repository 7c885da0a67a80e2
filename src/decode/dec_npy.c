/*
 * NPY, NumPy's file of one array: a header in the notation of Python, then the samples. NPZ is a
 * zip archive of such files.
 *
 * An array is an image as in the Python package: (height, width) is gray, and (height, width, 1 to
 * 4) gray, gray and alpha, RGB or RGBA. Others are refused: of (3, height, width), nothing tells
 * whether it is one image or three. Samples are uint8, uint16 and float32 in both byte
 * orders, and bool, of which true is white.
 *
 * Source: numpy.lib.format, versions 1.0 to 3.0. The header is a dict with three keys, in any order
 * and with any blanks. NumPy itself evaluates it as Python; here what is no such dict is damage.
 *
 * In Fortran's order, a gray image comes column by column, which is the order of tiles that are one
 * pixel wide. Of several channels, one follows the other, so the samples are held in memory.
 */
#include "decode/read_bytes.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <stdio.h>

enum {
    MAGIC_BYTES = 6,
    HEADER_BYTES_MAX = 10000, /* as in NumPy */
    DESCR_MAX = 16,
    CHUNK_SAMPLES = 4096
};

struct npy_state {
    struct ih_reader *src; /* borrowed */
    uint64_t n_left;       /* pixels */
    struct ih_samples samples;
    bool is_bool, is_big_endian;
    unsigned sample_bytes;        /* in the file */
    struct ih_whole_file planes;  /* of an array that is held: [n_channels][height][width] */
    uint16_t deep[CHUNK_SAMPLES]; /* samples of 16 bits in the byte order of this machine */
};

static enum ih_status npy_damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged NPY: %s", what);
}

/* ---- the header ---- */

struct npy_header {
    char descr[DESCR_MAX]; /* the type of the samples: "<u2" */
    bool is_fortran;
    uint64_t shape[3];
    unsigned n_dimensions; /* may be more */
    bool has_descr, has_order, has_shape;
};

/* Moves to the next token. */
static void skip_npy_blanks(const char **at)
{
    *at += strspn(*at, " \t\n\r");
}

/* Moves past a word that is next, and what is blank before it. */
static bool take_word(const char **at, const char *word)
{
    skip_npy_blanks(at);
    const size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Reads a string in quotes. Returns false if none is next, or it is too long. */
static bool take_text(const char **at, char text[DESCR_MAX])
{
    skip_npy_blanks(at);
    const char quote = **at;
    if (quote != '\'' && quote != '"')
        return false;
    const size_t n = strcspn(*at + 1, "'\"\\");
    if ((*at)[1 + n] != quote || n >= DESCR_MAX)
        return false;
    memcpy(text, *at + 1, n);
    text[n] = '\0';
    *at += n + 2;
    return true;
}

/* Reads "(480, 640, 3)"; a long integer of Python 2 ends with L. */
static bool take_shape(const char **at, struct npy_header *h)
{
    if (!take_word(at, "("))
        return false;
    for (h->n_dimensions = 0; !take_word(at, ")"); h->n_dimensions++) {
        uint64_t side = 0;
        const size_t n = strspn(*at, "0123456789");
        if (n == 0 || n > 18)
            return false;
        for (size_t i = 0; i < n; i++)
            side = side * 10 + (uint64_t)((*at)[i] - '0');
        if (h->n_dimensions < 3)
            h->shape[h->n_dimensions] = side;
        *at += n;
        *at += **at == 'L';
        if (!take_word(at, ",") && **at != ')')
            return false;
    }
    return true;
}

static enum ih_status parse_npy_header(const char *at, struct npy_header *h, struct ih_error *err)
{
    static const char no_dict[] = "its header is not a dict with descr, fortran_order and shape";
    char key[DESCR_MAX];
    bool is_valid = take_word(&at, "{");
    while (is_valid && !take_word(&at, "}")) {
        is_valid = take_text(&at, key) && take_word(&at, ":");
        if (is_valid && strcmp(key, "descr") == 0) {
            if (take_word(&at, "["))
                return ih_error_set(err, IH_UNSUPPORTED,
                                    "an array of records with fields is not supported: save one "
                                    "field, array['name']");
            is_valid = !h->has_descr && take_text(&at, h->descr);
            h->has_descr = true;
        } else if (is_valid && strcmp(key, "fortran_order") == 0) {
            h->is_fortran = take_word(&at, "True");
            is_valid = !h->has_order && (h->is_fortran || take_word(&at, "False"));
            h->has_order = true;
        } else if (is_valid && strcmp(key, "shape") == 0) {
            is_valid = !h->has_shape && take_shape(&at, h);
            h->has_shape = true;
        } else {
            is_valid = false;
        }
        skip_npy_blanks(&at);
        is_valid = is_valid && (take_word(&at, ",") || *at == '}');
    }
    skip_npy_blanks(&at);
    return is_valid && !*at && h->has_descr && h->has_order && h->has_shape
               ? IH_OK
               : npy_damaged(err, no_dict);
}

/* Reads all before the samples. */
static enum ih_status read_npy_header(struct ih_reader *src, struct npy_header *h,
                                      struct ih_error *err)
{
    uint8_t start[MAGIC_BYTES + 2], n_bytes[4] = {0};
    char text[HEADER_BYTES_MAX + 1];
    if (ih_read_bytes(src, "NPY", start, sizeof start, err) != IH_OK)
        return err->status;
    const unsigned version = start[MAGIC_BYTES];
    if (version < 1 || version > 3 || start[MAGIC_BYTES + 1] != 0)
        return ih_error_set(err, IH_UNSUPPORTED, "NPY of version %u.%u is not supported", version,
                            start[MAGIC_BYTES + 1]);
    if (ih_read_bytes(src, "NPY", n_bytes, version == 1 ? 2 : 4, err) != IH_OK)
        return err->status;
    const size_t n = ih_le32(n_bytes);
    if (n > HEADER_BYTES_MAX)
        return npy_damaged(err, "its header is too long");
    if (ih_read_bytes(src, "NPY", text, n, err) != IH_OK)
        return err->status;
    text[n] = '\0';
    if (strlen(text) != n)
        return npy_damaged(err, "its header has a NUL byte");
    return parse_npy_header(text, h, err);
}

/* Fills in what the type of the samples tells. */
static enum ih_status choose_npy_type(struct npy_state *s, const struct npy_header *h,
                                      struct ih_image_info *info, struct ih_error *err)
{
    static const struct {
        const char *descr;
        unsigned depth;
    } types[] = {{"|u1", 8}, {"<u1", 8},  {">u1", 8},  {"|b1", 1},  {"<b1", 1},
                 {">b1", 1}, {"<u2", 16}, {">u2", 16}, {"<f4", 32}, {">f4", 32}};
    const size_t n_types = sizeof types / sizeof *types;
    size_t i = 0;
    while (i < n_types && strcmp(types[i].descr, h->descr) != 0)
        i++;
    if (i == n_types) {
        const size_t n = strspn(h->descr, "<>=|abcdefghijklmnopqrstuvwxyzOSUVMm0123456789[]");
        return h->descr[n] || n == 0
                   ? npy_damaged(err, "an unknown type of samples")
                   : ih_error_set(
                         err, IH_UNSUPPORTED,
                         "samples of type '%s' are not supported: save the array as uint8, "
                         "uint16 or float32, with array.astype()",
                         h->descr);
    }
    info->source_depth = types[i].depth;
    s->is_bool = types[i].depth == 1;
    s->is_big_endian = *h->descr == '>';
    s->sample_bytes = (types[i].depth + 7) / 8;
    return IH_OK;
}

static enum ih_status choose_npy_shape(const struct npy_header *h, struct ih_image_info *info,
                                       struct ih_error *err)
{
    char shape[80] = "(";
    for (unsigned i = 0; i < h->n_dimensions && i < 3; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%llu", i ? ", " : "",
                 (unsigned long long)h->shape[i]);
    const uint64_t n_channels = h->n_dimensions == 3 ? h->shape[2] : 1;
    if (h->n_dimensions < 2 || h->n_dimensions > 3 || n_channels > IH_PIXEL_CHANNELS_MAX ||
        h->shape[0] > UINT32_MAX || h->shape[1] > UINT32_MAX)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "an array of shape %s%s is no image: it is not (height, width) or "
                            "(height, width, 1 to %d channels)%s",
                            shape, h->n_dimensions > 3 ? ", ...)" : ")", IH_PIXEL_CHANNELS_MAX,
                            h->n_dimensions != 3
                                ? ""
                                : "; the Python package counts it: imghist.count(array, "
                                  "layout='HWC' or 'CHW')");
    if (h->shape[0] == 0 || h->shape[1] == 0 || n_channels == 0)
        return ih_error_set(err, IH_UNSUPPORTED, "an array of shape %s) has no pixels", shape);
    info->height = h->shape[0];
    info->width = h->shape[1];
    info->layout = ih_layout_of((unsigned)n_channels);
    return IH_OK;
}

/* ---- samples ---- */

/* Reads the samples of an array whose channels follow each other. */
static enum ih_status hold_planes(struct npy_state *s, const struct ih_image_info *info,
                                  const struct ih_decode_options *options, struct ih_error *err)
{
    struct ih_whole_file *const h = &s->planes;
    const unsigned pixel_bytes = info->layout.n_channels * s->sample_bytes;
    if (ih_decode_check_pixels(info->width, info->height, options->max_pixels, err) != IH_OK)
        return err->status;
    h->budget = options->budget;
    h->time = &s->src->time;
    if (ih_whole_file_more(h, s->n_left * pixel_bytes, err) != IH_OK ||
        ih_whole_file_image(h, info->width, info->height, pixel_bytes, err) != IH_OK ||
        ih_read_bytes(s->src, "NPY", h->pixels, h->n_pixels * pixel_bytes, err) != IH_OK)
        return err->status;
    if (s->sample_bytes == 2)
        ih_copy_16(h->pixels, h->pixels, h->n_pixels * info->layout.n_channels, s->is_big_endian);
    else if (s->sample_bytes == 4)
        ih_copy_32(h->pixels, h->pixels, h->n_pixels * info->layout.n_channels, s->is_big_endian);
    return IH_OK;
}

static enum ih_status open_npy(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct npy_state *const s = state;
    struct npy_header h = {.n_dimensions = 0};
    s->src = src;
    if (read_npy_header(src, &h, err) != IH_OK || choose_npy_type(s, &h, info, err) != IH_OK ||
        choose_npy_shape(&h, info, err) != IH_OK)
        return err->status;
    const unsigned n = info->layout.n_channels;
    const bool is_float = s->sample_bytes == 4;
    ih_samples_init(&s->samples, n < 3 ? IH_SAMPLES_GRAY : IH_SAMPLES_RGB,
                    s->sample_bytes == 2 ? 16 : 8, info->layout.has_alpha, false);
    s->samples.extremes = s->sample_bytes == 2 ? &info->extremes : NULL;
    if (is_float)
        s->samples.native = (struct ih_native){.type = IH_FLOAT32, .n_bins = IH_FLOAT_BINS};
    if (!is_float && ih_samples_set_target(&s->samples, options->sample_range,
                                           options->takes_native, err) != IH_OK)
        return err->status;
    info->type = s->samples.native.type;
    info->n_bins = s->samples.native.n_bins;
    if (h.is_fortran)
        info->order = (struct ih_pixel_order){
            .kind = IH_PIXEL_ORDER_TILES, .width = 1, .height = (uint32_t)info->height};
    s->n_left = info->width * info->height;
    return h.is_fortran && n > 1 ? hold_planes(s, info, options, err) : IH_OK;
}

/* Converts n pixels, whose channels begin at bytes and are plane_bytes apart; 0: interleaved. */
static enum ih_status convert_npy(const struct npy_state *s, const uint8_t *bytes,
                                  size_t plane_bytes, size_t n, uint8_t *pixels,
                                  struct ih_error *err)
{
    const unsigned n_channels = s->samples.n_planes;
    struct ih_sample_plane planes[IH_SAMPLES_PLANES_MAX] = {{NULL, 0, 0}};
    for (unsigned c = 0; c < n_channels; c++)
        planes[c] = plane_bytes ? (struct ih_sample_plane){bytes + c * plane_bytes, 0, 1}
                                : (struct ih_sample_plane){bytes, c, n_channels};
    ih_samples_convert(&s->samples, planes, n, pixels);
    for (size_t i = 0; i < n * n_channels && s->is_bool; i++) {
        if (pixels[i] > 1)
            return npy_damaged(err, "a bool that is neither 0 nor 1");
        pixels[i] = pixels[i] ? 255 : 0;
    }
    return IH_OK;
}

/* Reads what is in the reader's buffer. *n: room for pixels, then their number */
static enum ih_status read_some_npy(struct npy_state *s, uint8_t *pixels, size_t *n,
                                    struct ih_error *err)
{
    const unsigned n_channels = s->samples.n_planes;
    const size_t pixel_bytes = (size_t)n_channels * s->sample_bytes;
    const uint8_t *bytes;
    size_t n_bytes;
    if (ih_reader_peek(s->src, pixel_bytes, &bytes, &n_bytes, err) != IH_OK)
        return err->status;
    if (n_bytes < pixel_bytes)
        return npy_damaged(err, "the file ends before the image does");
    *n = n_bytes / pixel_bytes < *n ? n_bytes / pixel_bytes : *n;
    if (s->sample_bytes == 4) {
        ih_copy_32(pixels, bytes, *n * n_channels, s->is_big_endian);
        ih_reader_consume(s->src, *n * pixel_bytes);
        return IH_OK;
    }
    if (s->sample_bytes == 2) {
        *n = *n < CHUNK_SAMPLES / n_channels ? *n : CHUNK_SAMPLES / n_channels;
        ih_copy_16((uint8_t *)s->deep, bytes, *n * n_channels, s->is_big_endian);
        bytes = (const uint8_t *)s->deep;
    }
    const enum ih_status status = convert_npy(s, bytes, 0, *n, pixels, err);
    ih_reader_consume(s->src, *n * pixel_bytes);
    return status;
}

static enum ih_status read_npy(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct npy_state *const s = state;
    const size_t pixel_bytes = ih_pixel_bytes(s->samples.n_planes, s->samples.native.type);
    const size_t n = capacity_pixels < s->n_left ? capacity_pixels : (size_t)s->n_left;
    enum ih_status status = IH_OK;
    *n_pixels = n;
    if (s->planes.pixels) {
        const size_t at = s->planes.n_pixels - (size_t)s->n_left;
        const size_t plane_bytes = s->planes.n_pixels * s->sample_bytes;
        const uint8_t *const bytes = s->planes.pixels + at * s->sample_bytes;
        status = convert_npy(s, bytes, plane_bytes, n, pixels, err);
    }
    for (size_t at = 0, n_here; at < n && !s->planes.pixels && status == IH_OK; at += n_here) {
        n_here = n - at;
        status = read_some_npy(s, pixels + at * pixel_bytes, &n_here, err);
    }
    s->n_left -= n;
    return status;
}

static bool probe_npy(const uint8_t *head, size_t size)
{
    return size >= MAGIC_BYTES && memcmp(head, "\x93NUMPY", MAGIC_BYTES) == 0;
}

static void close_npy(void *state)
{
    struct npy_state *const s = state;
    ih_whole_file_close(&s->planes);
}

const struct ih_decoder ih_decoder_npy = {
    .name = "npy",
    .title = "NPY, NumPy's arrays of uint8, uint16, float32 and bool",
    .version = IH_DECODER_OWN_VERSION,
    .ends_exactly = true,
    .probe = probe_npy,
    .state_bytes = sizeof(struct npy_state),
    .open = open_npy,
    .read = read_npy,
    .close = close_npy,
};
