/*
 * NPY, NumPy's file of one array: a header in the notation of Python, then the samples. NPZ is a
 * zip archive of such files.
 *
 * An array is an image as in the Python package: (height, width) is gray, and (height, width, 1 to
 * 4) gray, gray and alpha, RGB or RGBA. A shape such as (3, height, width)
 * may be one image or three: the caller's axes tell. With them, more than 4 channels are
 * bands.
 *
 * Source: numpy.lib.format, versions 1.0 to 3.0. The header is a dict with three keys, in any order
 * and with any blanks. NumPy itself evaluates it as Python; here what is no such dict is damage.
 *
 * Pixels whose samples lie together are read in the order of the file: by rows, or by columns,
 * which is the order of tiles that are one pixel wide. Otherwise an image is held in memory; if
 * images are interleaved too, as in Fortran's order, all of them.
 */
#include "decode/read_bytes.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAGIC_BYTES = 6,
    HEADER_BYTES_MAX = 10000, /* as in NumPy */
    DESCR_MAX = 16,
    CHUNK_SAMPLES = 4096
};

enum npy_axis { NPY_N, NPY_H, NPY_W, NPY_C, NPY_AXES };

struct npy_state {
    struct ih_reader *src;                       /* borrowed */
    uint64_t sizes[NPY_AXES], strides[NPY_AXES]; /* strides in samples; 1 and 0 of a lacking axis */
    uint64_t image;                              /* the current one, from 0 */
    uint64_t n_left;                             /* pixels of it */
    struct ih_samples samples;
    bool is_bool, is_big_endian;
    unsigned sample_bytes;          /* in the file */
    bool is_held, holds_all;        /* an image, or all, in memory */
    bool is_by_columns;             /* pixels come in columns, not in rows */
    struct ih_whole_file held;      /* its pixels are samples in the byte order of this machine */
    struct ih_sample_plane *planes; /* owned, [n_planes] */
    uint16_t deep[CHUNK_SAMPLES];   /* samples of 16 bits in the byte order of this machine */
};

static const char npy_letters[NPY_AXES + 1] = "NHWC";
const char *const ih_axes_letters[IH_AXES_END] = {"auto", "HWC", "CHW", "NHW", "NHWC", "NCHW"};

static enum ih_status npy_damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged NPY: %s", what);
}

/* ---- the header ---- */

struct npy_header {
    char descr[DESCR_MAX]; /* the type of the samples: "<u2" */
    bool is_fortran;
    uint64_t shape[NPY_AXES];
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
        if (h->n_dimensions < NPY_AXES)
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
        enum ih_sample_type type;
    } types[] = {{"|u1", 8, IH_UINT8},    {"<u1", 8, IH_UINT8},    {">u1", 8, IH_UINT8},
                 {"|b1", 1, IH_UINT8},    {"<b1", 1, IH_UINT8},    {">b1", 1, IH_UINT8},
                 {"|i1", 8, IH_INT8},     {"<i1", 8, IH_INT8},     {">i1", 8, IH_INT8},
                 {"<u2", 16, IH_UINT16},  {">u2", 16, IH_UINT16},  {"<i2", 16, IH_INT16},
                 {">i2", 16, IH_INT16},   {"<f2", 16, IH_FLOAT16}, {">f2", 16, IH_FLOAT16},
                 {"<f4", 32, IH_FLOAT32}, {">f4", 32, IH_FLOAT32}};
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
                         "uint16, int16 or float32, with array.astype()",
                         h->descr);
    }
    info->source_depth = types[i].depth;
    info->type = types[i].type;
    s->is_bool = types[i].depth == 1;
    s->is_big_endian = *h->descr == '>';
    s->sample_bytes = (types[i].depth + 7) / 8;
    return IH_OK;
}

static enum ih_status refuse_npy_shape(const struct npy_header *h, const char *letters,
                                       struct ih_error *err)
{
    char shape[100] = "(";
    for (unsigned i = 0; i < h->n_dimensions && i < NPY_AXES; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%llu", i ? ", " : "",
                 (unsigned long long)h->shape[i]);
    snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s",
             h->n_dimensions > NPY_AXES ? ", ...)" : ")");
    bool is_empty = false;
    for (unsigned i = 0; i < h->n_dimensions && i < NPY_AXES; i++)
        is_empty = is_empty || h->shape[i] == 0;
    if (is_empty)
        return ih_error_set(err, IH_UNSUPPORTED, "an array of shape %s has no pixels", shape);
    if (letters)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "an array of shape %s does not fit the axes %s, with up to %d channels",
                            shape, letters, IH_CHANNELS_MAX);
    ih_error_set(err, IH_UNSUPPORTED,
                 "an array of shape %s is no image: it is not (height, width) or (height, width, 1 "
                 "to %d channels)",
                 shape, IH_PIXEL_CHANNELS_MAX);
    if (h->n_dimensions == 3 || h->n_dimensions == NPY_AXES)
        err->limit = IH_LIMIT_AXES;
    return err->status;
}

/* Finds out which axis each dimension is: axes[n_dimensions]. */
static enum ih_status choose_npy_axes(struct npy_state *s, const struct npy_header *h,
                                      enum ih_axes given, enum npy_axis *axes, struct ih_error *err)
{
    const char *const asked = given ? ih_axes_letters[given] : NULL;
    const char *const letters = asked ? asked : h->n_dimensions == 2 ? "HW" : "HWC";
    if (h->n_dimensions != strlen(letters))
        return refuse_npy_shape(h, asked, err);
    for (unsigned i = 0; i < NPY_AXES; i++)
        s->sizes[i] = 1;
    for (unsigned i = 0; i < h->n_dimensions; i++) {
        axes[i] = (enum npy_axis)(strchr(npy_letters, letters[i]) - npy_letters);
        const uint64_t max = axes[i] != NPY_C ? UINT32_MAX
                             : asked          ? IH_CHANNELS_MAX
                                              : IH_PIXEL_CHANNELS_MAX;
        if (h->shape[i] == 0 || h->shape[i] > max)
            return refuse_npy_shape(h, asked, err);
        s->sizes[axes[i]] = h->shape[i];
    }
    return IH_OK;
}

/* Finds out how the samples lie, and which of them are held. */
static enum ih_status choose_npy_shape(struct npy_state *s, const struct npy_header *h,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info, struct ih_error *err)
{
    enum npy_axis axes[NPY_AXES];
    char order[NPY_AXES + 1] = ""; /* letters from the slowest axis on, where size matters */
    uint64_t n_samples = 1;
    if (choose_npy_axes(s, h, options->axes, axes, err) != IH_OK ||
        ih_decode_check_pixels(s->sizes[NPY_W], s->sizes[NPY_H], options->max_pixels, err) != IH_OK)
        return err->status;
    for (unsigned i = 0; i < h->n_dimensions; i++) {
        const enum npy_axis axis = axes[h->is_fortran ? i : h->n_dimensions - 1 - i];
        if (s->sizes[axis] > UINT64_MAX / sizeof(float) / n_samples)
            return npy_damaged(err, "its shape has more samples than a file can have");
        s->strides[axis] = n_samples;
        n_samples *= s->sizes[axis];
        if (s->sizes[axis] > 1) {
            memmove(order + 1, order, strlen(order));
            *order = npy_letters[axis];
        }
    }
    const char *const image = order + (*order == 'N');
    const char *const column = strchr(image, 'W');
    s->holds_all = strchr(image, 'N') != NULL;
    s->is_held = s->holds_all || (strchr(image, 'C') && image[strlen(image) - 1] != 'C');
    s->is_by_columns = column && strchr(column, 'H');
    info->height = s->sizes[NPY_H];
    info->width = s->sizes[NPY_W];
    info->layout = ih_layout_of_array((unsigned)s->sizes[NPY_C]);
    info->n_frames = s->sizes[NPY_N] > 1 ? (unsigned)s->sizes[NPY_N] : 0;
    if (s->is_by_columns)
        info->order = (struct ih_pixel_order){
            .kind = IH_PIXEL_ORDER_TILES, .width = 1, .height = (uint32_t)info->height};
    return IH_OK;
}

/* ---- samples ---- */

/* Reads the samples of the image, or of all, into memory. */
static enum ih_status hold_npy(struct npy_state *s, struct ih_error *err)
{
    struct ih_whole_file *const h = &s->held;
    const uint64_t n_images = s->holds_all ? s->sizes[NPY_N] : 1;
    const uint64_t n_pixels = n_images * s->sizes[NPY_H] * s->sizes[NPY_W];
    const unsigned pixel_bytes = s->samples.n_planes * s->sample_bytes;
    if (!h->pixels) {
        if (n_pixels * pixel_bytes > SIZE_MAX)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        if (ih_whole_file_more(h, n_pixels * pixel_bytes, err) != IH_OK ||
            ih_whole_file_image(h, n_pixels, 1, pixel_bytes, err) != IH_OK)
            return err->status;
    }
    if (ih_read_bytes(s->src, "NPY", h->pixels, h->n_pixels * pixel_bytes, err) != IH_OK)
        return err->status;
    ih_copy_samples(h->pixels, h->pixels, h->n_pixels * s->samples.n_planes, s->sample_bytes,
                    s->is_big_endian);
    return IH_OK;
}

/* Checks the size of a file before memory is taken for what its header says. If all images are
 * asked for and follow each other, those before a cut are counted. */
static enum ih_status check_npy_size(const struct npy_state *s, bool takes_frames,
                                     struct ih_error *err)
{
    uint64_t n_bytes, n_samples = 1;
    for (unsigned i = takes_frames && !s->holds_all ? NPY_H : NPY_N; i < NPY_AXES; i++)
        n_samples *= s->sizes[i];
    return ih_reader_size_left(s->src, &n_bytes) && n_bytes < n_samples * s->sample_bytes
               ? npy_damaged(err, "the file ends before the image does")
               : IH_OK;
}

static enum ih_status open_npy(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct npy_state *const s = state;
    struct npy_header h = {.n_dimensions = 0};
    s->src = src;
    s->held.budget = options->budget;
    s->held.time = &src->time;
    if (read_npy_header(src, &h, err) != IH_OK || choose_npy_type(s, &h, info, err) != IH_OK ||
        choose_npy_shape(s, &h, options, info, err) != IH_OK ||
        check_npy_size(s, options->takes_frames, err) != IH_OK)
        return err->status;
    const unsigned n = info->layout.n_channels;
    ih_samples_init(&s->samples, n < 3 ? IH_SAMPLES_GRAY : IH_SAMPLES_RGB,
                    info->type == IH_UINT16 ? 16 : 8, info->layout.has_alpha, false);
    if (ih_layout_has_bands(info->layout))
        ih_samples_set_bands(&s->samples, n, false);
    s->samples.extremes = info->type == IH_UINT16 ? &info->extremes : NULL;
    if (!ih_is_unsigned(info->type))
        s->samples.native = (struct ih_native){
            .type = info->type, .n_bins = info->type == IH_INT8 ? IH_BINS : IH_NATIVE_BINS_MAX};
    else if (ih_samples_set_target(&s->samples, options->sample_range, options->takes_native,
                                   err) != IH_OK)
        return err->status;
    info->type = s->samples.native.type;
    info->n_bins = s->samples.native.n_bins;
    s->n_left = info->width * info->height;
    s->planes = calloc(n, sizeof *s->planes);
    if (!s->planes)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return s->is_held ? hold_npy(s, err) : IH_OK;
}

/* Converts n pixels: `step` samples apart from sample `first` of bytes on, with channels c_step
 * apart. */
static enum ih_status convert_npy(const struct npy_state *s, const uint8_t *bytes, size_t first,
                                  size_t step, size_t c_step, size_t n, uint8_t *pixels,
                                  struct ih_error *err)
{
    const unsigned n_channels = s->samples.n_planes;
    for (unsigned c = 0; c < n_channels; c++)
        s->planes[c] = (struct ih_sample_plane){bytes, first + c * c_step, step};
    ih_samples_convert(&s->samples, s->planes, n, pixels);
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
    if (s->sample_bytes > 1 && !s->samples.extremes) {
        ih_copy_samples(pixels, bytes, *n * n_channels, s->sample_bytes, s->is_big_endian);
        ih_reader_consume(s->src, *n * pixel_bytes);
        return IH_OK;
    }
    if (s->sample_bytes == 2) {
        *n = *n < CHUNK_SAMPLES / n_channels ? *n : CHUNK_SAMPLES / n_channels;
        ih_copy_samples((uint8_t *)s->deep, bytes, *n * n_channels, 2, s->is_big_endian);
        bytes = (const uint8_t *)s->deep;
    }
    const enum ih_status status = convert_npy(s, bytes, 0, n_channels, 1, *n, pixels, err);
    ih_reader_consume(s->src, *n * pixel_bytes);
    return status;
}

/* Converts pixels of the image in memory, up to the end of a row or column. Rows that follow each
 * other are one. */
static enum ih_status read_some_held(const struct npy_state *s, uint8_t *pixels, uint64_t at,
                                     size_t *n, struct ih_error *err)
{
    const enum npy_axis inner = s->is_by_columns ? NPY_H : NPY_W;
    const enum npy_axis outer = s->is_by_columns ? NPY_W : NPY_H;
    const bool is_one = s->strides[outer] == s->sizes[inner] * s->strides[inner];
    const uint64_t n_line = s->sizes[inner] * (is_one ? s->sizes[outer] : 1);
    const uint64_t first = (s->holds_all ? s->image * s->strides[NPY_N] : 0) +
                           at / n_line * s->strides[outer] + at % n_line * s->strides[inner];
    *n = n_line - at % n_line < *n ? (size_t)(n_line - at % n_line) : *n;
    return convert_npy(s, s->held.pixels, (size_t)first, (size_t)s->strides[inner],
                       (size_t)s->strides[NPY_C], *n, pixels, err);
}

static enum ih_status read_npy(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct npy_state *const s = state;
    const size_t pixel_bytes = ih_pixel_bytes(s->samples.n_planes, s->samples.native.type);
    const size_t n = capacity_pixels < s->n_left ? capacity_pixels : (size_t)s->n_left;
    const uint64_t first = s->sizes[NPY_H] * s->sizes[NPY_W] - s->n_left;
    enum ih_status status = IH_OK;
    *n_pixels = n;
    for (size_t at = 0, n_here; at < n && status == IH_OK; at += n_here) {
        uint8_t *const to = pixels + at * pixel_bytes;
        n_here = n - at;
        status = s->is_held ? read_some_held(s, to, first + at, &n_here, err)
                            : read_some_npy(s, to, &n_here, err);
    }
    s->n_left -= n;
    return status;
}

static enum ih_status next_npy(void *state, struct ih_image_info *info, bool *has_next,
                               struct ih_error *err)
{
    struct npy_state *const s = state;
    *has_next = ++s->image < s->sizes[NPY_N];
    info->extremes = (struct ih_extremes){0};
    s->n_left = info->width * info->height;
    return *has_next && s->is_held && !s->holds_all ? hold_npy(s, err) : IH_OK;
}

static bool probe_npy(const uint8_t *head, size_t size)
{
    return size >= MAGIC_BYTES && memcmp(head, "\x93NUMPY", MAGIC_BYTES) == 0;
}

static void close_npy(void *state)
{
    struct npy_state *const s = state;
    ih_whole_file_close(&s->held);
    free(s->planes);
}

const struct ih_decoder ih_decoder_npy = {
    .name = "npy",
    .title = "NPY, NumPy's arrays of bool, integers of 8 and 16 bits, float16 and float32",
    .version = IH_DECODER_OWN_VERSION,
    .ends_exactly = true,
    .probe = probe_npy,
    .state_bytes = sizeof(struct npy_state),
    .open = open_npy,
    .read = read_npy,
    .next = next_npy,
    .close = close_npy,
};
