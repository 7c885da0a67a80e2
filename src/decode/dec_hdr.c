/*
 * Radiance HDR (RGBE), streamed: a row is decoded into the caller's buffer and becomes floats
 * there.
 *
 * Source: the format of Radiance's pictures, by Greg Ward, and the code of Bruce Walter that other
 * readers follow: a sample is its mantissa times 2^(exponent - 136), which is exact as float32.
 * Radiance's own programs add half a step of the mantissa. Exposure and colour corrections in the
 * header are not applied.
 *
 * stb_image was rejected: it takes all rows to have run lengths if the first has them, does not
 * know Radiance's oldest run lengths, and reads zeros or loops forever after the end of a file.
 */
#include "decode/decoder.h"
#include "decode/read_bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX = 256, /* bytes of a line that are looked at, with the NUL */
    HEADER_BYTES_MAX = 64 * 1024,
    N_CHANNELS = 3,
    STORED_BYTES = 4, /* of a pixel: three mantissas and an exponent */
    RUNS_LEAST = 8,   /* shorter rows, and longer ones, have no run lengths */
    RUNS_END = 1 << 15,
    CODE_BYTES_MAX = 129, /* a length and literals */
    SHIFT_MAX = 24
};

struct hdr_state {
    struct ih_reader *src; /* borrowed */
    size_t width;
    uint64_t n_rows_left;
    float scale[256]; /* of each exponent */
};

static enum ih_status damaged(struct ih_error *err, const char *what)
{
    return ih_error_set(err, IH_CORRUPT, "damaged Radiance HDR: %s", what);
}

static enum ih_status ends_early(struct ih_error *err)
{
    return damaged(err, "the file ends before the image does");
}

/* ---- header ---- */

static const char rgbe_format[] = "32-bit_rle_rgbe";

/* Reads a line, without its end, and cuts it to LINE_MAX. *n_allowed: bytes that the header may
 * still have. */
static enum ih_status read_line(struct ih_reader *src, char line[LINE_MAX], size_t *n_allowed,
                                struct ih_error *err)
{
    const uint8_t *byte;
    size_t size, n = 0;
    for (;;) {
        if (ih_reader_peek(src, 1, &byte, &size, err) != IH_OK)
            return err->status;
        if (size == 0)
            return ends_early(err);
        if ((*n_allowed)-- == 0)
            return damaged(err, "its header has no end");
        const char c = (char)*byte;
        ih_reader_consume(src, 1);
        if (c == '\n')
            break;
        if (c == '\0')
            return damaged(err, "a NUL byte in its header");
        if (n < LINE_MAX - 1)
            line[n++] = c;
    }
    line[n] = '\0';
    return n == 0 || line[n - 1] != '\r'
               ? IH_OK
               : ih_error_set(
                     err, IH_UNSUPPORTED,
                     "Radiance HDR with lines that end with CR LF is not supported: a copy "
                     "as text has them, and other pixels");
}

/* Of a header that is not supported. sizes: its last line. */
static enum ih_status refuse(const char *format, const char *sizes, struct ih_error *err)
{
    char order[4][2], rest;
    if (strcmp(format, "32-bit_rle_xyze") == 0)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "Radiance HDR with colours of CIE XYZ is not supported: ra_xyze -r "
                            "converts it to RGB");
    if (strcmp(format, rgbe_format) != 0)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "Radiance HDR without FORMAT=%s in its header is not supported",
                            rgbe_format);
    if (sscanf(sizes, "%1[+-]%1[XY] %*[0-9] %1[+-]%1[XY] %*[0-9]%c", order[0], order[1], order[2],
               order[3], &rest) == 4)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "Radiance HDR in the order %s%s %s%s is not supported, only in -Y +X: "
                            "rows from the top, each from the left",
                            order[0], order[1], order[2], order[3]);
    return damaged(err, "its sizes are not written as in -Y 480 +X 640");
}

static enum ih_status open_hdr(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct hdr_state *s = state;
    char line[LINE_MAX] = "", format[LINE_MAX] = "", rows[11], columns[11], rest;
    size_t n_allowed = HEADER_BYTES_MAX;
    do {
        if (read_line(src, line, &n_allowed, err) != IH_OK)
            return err->status;
        if (strncmp(line, "FORMAT=", 7) == 0)
            strcpy(format, line + 7);
    } while (*line);
    if (read_line(src, line, &n_allowed, err) != IH_OK)
        return err->status;
    if (strcmp(format, rgbe_format) != 0 ||
        sscanf(line, "-Y %10[0-9] +X %10[0-9]%c", rows, columns, &rest) != 2)
        return refuse(format, line, err);
    const uint64_t width = strtoull(columns, NULL, 10), height = strtoull(rows, NULL, 10);
    if (width == 0 || height == 0)
        return damaged(err, "it has no pixels");
    if (ih_decode_check_pixels(width, height, options->max_pixels, err) != IH_OK)
        return err->status;
    s->src = src;
    s->width = (size_t)width;
    s->n_rows_left = height;
    for (int e = 1; e < 256; e++)
        s->scale[e] = ldexpf(1, e - 136);
    info->width = width;
    info->height = height;
    info->layout = ih_layout_of(N_CHANNELS);
    info->type = IH_FLOAT32;
    info->n_bins = IH_FLOAT_BINS;
    info->source_depth = 32;
    return IH_OK;
}

/* ---- rows ---- */

/* Reads one channel of a row: lengths above 128 repeat a byte, others precede so many bytes. */
static enum ih_status read_runs(struct hdr_state *s, uint8_t *channel, struct ih_error *err)
{
    for (size_t x = 0; x < s->width;) {
        const uint8_t *bytes;
        size_t size, at = 0;
        if (ih_reader_peek(s->src, CODE_BYTES_MAX, &bytes, &size, err) != IH_OK)
            return err->status;
        do {
            const unsigned code = size > at ? bytes[at] : 0;
            const bool is_run = code > 128;
            const size_t n = is_run ? code - 128 : code;
            if (size - at < (is_run ? 2 : 1 + n) || size == at)
                return ends_early(err);
            if (n == 0 || n > s->width - x)
                return damaged(err, "a run that its row has no room for");
            for (size_t i = 0; i < n; i++)
                channel[STORED_BYTES * (x + i)] = bytes[at + 1 + (is_run ? 0 : i)];
            x += n;
            at += is_run ? 2 : 1 + n;
        } while (x < s->width && size - at >= CODE_BYTES_MAX);
        ih_reader_consume(s->src, at);
    }
    return IH_OK;
}

/* Reads a row of plain pixels. A pixel with the mantissas 1, 1, 1, which no colour has, repeats the
 * one before as often as its exponent says, and 256 times as often for each such pixel in a row. */
static enum ih_status read_plain(struct hdr_state *s, uint8_t *row, struct ih_error *err)
{
    static const uint8_t repeats[] = {1, 1, 1};
    unsigned shift = 0;
    for (size_t x = 0; x < s->width;) {
        const uint8_t *bytes;
        size_t size, at = 0;
        if (ih_reader_peek(s->src, STORED_BYTES, &bytes, &size, err) != IH_OK)
            return err->status;
        if (size < STORED_BYTES)
            return ends_early(err);
        for (; x < s->width && size - at >= STORED_BYTES; at += STORED_BYTES) {
            const bool is_run = memcmp(bytes + at, repeats, sizeof repeats) == 0;
            const uint64_t n = is_run ? (uint64_t)bytes[at + 3] << shift : 1;
            if (n > s->width - x || (is_run && (x == 0 || shift > SHIFT_MAX)))
                return damaged(err, "a run that its row has no room for");
            for (uint64_t i = 0; i < n; i++, x++)
                memcpy(row + STORED_BYTES * x, is_run ? row + STORED_BYTES * (x - 1) : bytes + at,
                       STORED_BYTES);
            shift = is_run ? shift + 8 : 0;
        }
        ih_reader_consume(s->src, at);
    }
    return IH_OK;
}

static enum ih_status read_row(struct hdr_state *s, uint8_t *row, struct ih_error *err)
{
    const uint8_t *first;
    size_t size;
    if (ih_reader_peek(s->src, STORED_BYTES, &first, &size, err) != IH_OK)
        return err->status;
    if (size < STORED_BYTES)
        return ends_early(err);
    if (s->width < RUNS_LEAST || s->width >= RUNS_END || first[0] != 2 || first[1] != 2 ||
        first[2] > 127)
        return read_plain(s, row, err);
    if (ih_be16(first + 2) != s->width)
        return damaged(err, "a row of another width");
    ih_reader_consume(s->src, STORED_BYTES);
    for (unsigned c = 0; c < STORED_BYTES; c++)
        if (read_runs(s, row + c, err) != IH_OK)
            return err->status;
    return IH_OK;
}

/* From the last pixel on, because floats take more room than they replace. */
static void make_floats(const struct hdr_state *s, uint8_t *row)
{
    for (size_t x = s->width; x-- > 0;) {
        uint8_t rgbe[STORED_BYTES];
        float colour[N_CHANNELS];
        memcpy(rgbe, row + STORED_BYTES * x, sizeof rgbe);
        for (unsigned c = 0; c < N_CHANNELS; c++)
            colour[c] = (float)rgbe[c] * s->scale[rgbe[3]];
        memcpy(row + x * sizeof colour, colour, sizeof colour);
    }
}

static enum ih_status read_hdr(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct hdr_state *s = state;
    size_t n = 0;
    for (; s->n_rows_left > 0 && capacity_pixels - n >= s->width; s->n_rows_left--) {
        uint8_t *const row = pixels + n * N_CHANNELS * sizeof(float);
        if (read_row(s, row, err) != IH_OK)
            return err->status;
        make_floats(s, row);
        n += s->width;
    }
    *n_pixels = n;
    return IH_OK;
}

static bool probe_hdr(const uint8_t *head, size_t size)
{
    const size_t n = size >= 11 && memcmp(head, "#?RADIANCE", 10) == 0 ? 10
                     : size >= 7 && memcmp(head, "#?RGBE", 6) == 0     ? 6
                                                                       : 0;
    return n > 0 && (head[n] == '\n' || (head[n] == '\r' && size > n + 1 && head[n + 1] == '\n'));
}

const struct ih_decoder ih_decoder_hdr = {
    .name = "hdr",
    .title = "Radiance HDR, with run lengths and without, as floats",
    .version = IH_DECODER_OWN_VERSION,
    .probe = probe_hdr,
    .state_bytes = sizeof(struct hdr_state),
    .open = open_hdr,
    .read = read_hdr,
};
