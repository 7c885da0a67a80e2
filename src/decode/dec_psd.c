/*
 * PSD and PSB: the flattened image after the layers.
 *
 * Source: "Adobe Photoshop File Formats Specification". The sections before the image are skipped
 * as they stream by. The image is stored plane after plane, so the rest of the file is held in
 * memory, and each row is assembled from all planes.
 *
 * - CMYK is stored as 255 minus the ink. A duotone image is a gray image and a recipe for inks: the
 *   gray is counted, as the format recommends. In a bitmap 1 is black.
 * - The first channel after the colours is counted as alpha, like in other readers, although
 *   Photoshop also keeps saved selections there. Further channels are ignored: they may be
 *   more than the 56 that the specification names. Colours are counted as stored: blended with
 *   white according to alpha, and not unblended.
 */
#include "decode/read_bytes.h"
#include "decode/samples.h"
#include "decode/whole_file.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 26,
    PALETTE_BYTES = 768,
    PACKED_PER_BYTE = 64 /* PackBits: at most 128 bytes from 2 */
};
enum { BITMAP, GRAY, INDEXED, RGB, CMYK, DUOTONE = 8 };

struct psd_state {
    struct ih_whole_file whole;
    struct ih_samples samples;
    bool is_large, is_packed, is_ink_inverted;
    uint32_t width, height, next_row;
    unsigned n_channels;                          /* in the file */
    size_t row_bytes;                             /* of a plane, unpacked */
    const uint8_t *planes[IH_SAMPLES_PLANES_MAX]; /* the next row of each plane, in the file */
    const uint8_t *counts[IH_SAMPLES_PLANES_MAX]; /* packed: where its byte count is stored */
    uint8_t *rows;                                /* owned; [n_planes][row_bytes] */
};

static enum ih_status ends_early(struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged PSD: the file ends before the image does");
}

static void close_psd(void *state)
{
    struct psd_state *s = state;
    free(s->rows);
    ih_whole_file_close(&s->whole);
}

/* Reads the layout of the samples from the header h. */
static enum ih_status read_kind(struct psd_state *s, const uint8_t *h, struct ih_error *err)
{
    static const struct {
        unsigned mode;
        enum ih_sample_kind kind;
    } kinds[] = {{BITMAP, IH_SAMPLES_GRAY},     {GRAY, IH_SAMPLES_GRAY}, {DUOTONE, IH_SAMPLES_GRAY},
                 {INDEXED, IH_SAMPLES_PALETTE}, {RGB, IH_SAMPLES_RGB},   {CMYK, IH_SAMPLES_CMYK}};
    unsigned version = ih_be16(h + 4), depth = ih_be16(h + 22), mode = ih_be16(h + 24), i = 0;
    s->n_channels = ih_be16(h + 12);
    s->height = ih_be32(h + 14);
    s->width = ih_be32(h + 18);
    s->is_large = version == 2;
    while (i < sizeof kinds / sizeof *kinds && kinds[i].mode != mode)
        i++;
    if (i == sizeof kinds / sizeof *kinds)
        return ih_error_set(err, IH_UNSUPPORTED, "PSD with colour mode %u is not supported", mode);
    if (version != 1 && version != 2)
        return ih_error_set(err, IH_UNSUPPORTED, "PSD of version %u is not supported", version);
    if (depth == 32)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "PSD with 32-bit floats is not supported: convert it to 16 bits a "
                            "channel first");
    if ((depth != 1 && depth != 8 && depth != 16) || (mode == BITMAP) != (depth == 1) ||
        (mode == INDEXED && depth != 8))
        return ih_error_set(err, IH_CORRUPT, "damaged PSD: %u bits a sample", depth);
    if (s->width == 0 || s->height == 0)
        return ih_error_set(err, IH_CORRUPT, "damaged PSD: it has no pixels");
    ih_samples_init(&s->samples, kinds[i].kind, depth, false, mode == BITMAP);
    if (s->n_channels < s->samples.n_colour)
        return ih_error_set(err, IH_CORRUPT, "damaged PSD: %u channels", s->n_channels);
    if (s->n_channels > s->samples.n_colour && mode != INDEXED)
        ih_samples_init(&s->samples, kinds[i].kind, depth, true, mode == BITMAP);
    s->is_ink_inverted = mode == CMYK;
    s->row_bytes = (size_t)(((uint64_t)s->width * depth + 7) / 8);
    return IH_OK;
}

/* Reads the palette, then skips resources and layers. Lengths have 4 bytes, except the layers of a
 * PSB: 8. */
static enum ih_status read_sections(struct psd_state *s, struct ih_reader *src,
                                    struct ih_error *err)
{
    uint8_t length[8], palette[PALETTE_BYTES];
    if (ih_read_bytes(src, "PSD", length, 4, err) != IH_OK)
        return err->status;
    uint64_t n = ih_be32(length);
    if (s->samples.kind == IH_SAMPLES_PALETTE) {
        if (n < PALETTE_BYTES)
            return ih_error_set(err, IH_CORRUPT, "damaged PSD: the palette is missing");
        if (ih_read_bytes(src, "PSD", palette, sizeof palette, err) != IH_OK)
            return err->status;
        for (unsigned i = 0; i < PALETTE_BYTES; i++)
            s->samples.palette[i % 256][i / 256] = palette[i];
        n -= PALETTE_BYTES;
    }
    for (unsigned section = 0;; section++) {
        if (ih_skip_bytes(src, "PSD", n, err) != IH_OK)
            return err->status;
        if (section == 2)
            return IH_OK;
        size_t n_length = section == 1 && s->is_large ? 8 : 4;
        if (ih_read_bytes(src, "PSD", length, n_length, err) != IH_OK)
            return err->status;
        n = n_length == 4 ? ih_be32(length) : (uint64_t)ih_be32(length) << 32 | ih_be32(length + 4);
    }
}

static size_t packed_bytes(const struct psd_state *s, const uint8_t *count)
{
    return s->is_large ? ih_be32(count) : ih_be16(count);
}

/* Reads how the rows are compressed. */
static enum ih_status read_compression(struct psd_state *s, struct ih_reader *src,
                                       struct ih_error *err)
{
    uint8_t bytes[2];
    if (ih_read_bytes(src, "PSD", bytes, sizeof bytes, err) != IH_OK)
        return err->status;
    unsigned compression = ih_be16(bytes);
    s->is_packed = compression == 1;
    if (compression > 1)
        return ih_error_set(err, IH_UNSUPPORTED, "PSD with compression %u is not supported",
                            compression);
    return IH_OK;
}

/* True if n_bytes cannot hold even one row, however well it is packed. */
static bool is_too_short(const struct psd_state *s, uint64_t n_bytes)
{
    return s->row_bytes / PACKED_PER_BYTE > n_bytes;
}

/* Finds the rows of each plane in the file, and checks that all of them are there. */
static enum ih_status find_planes(struct psd_state *s, struct ih_error *err)
{
    const uint8_t *at = s->whole.file, *end = s->whole.file + s->whole.file_bytes;
    const unsigned count_bytes = s->is_large ? 4 : 2;
    uint64_t n_rows = (uint64_t)s->n_channels * s->height;
    if (is_too_short(s, s->whole.file_bytes)) /* open_file could not check a pipe */
        return ends_early(err);
    const uint8_t *counts = at;
    if (s->is_packed) {
        if (n_rows > (uint64_t)(end - at) / count_bytes)
            return ends_early(err);
        at += n_rows * count_bytes;
    } else if (n_rows > (uint64_t)(end - at) / s->row_bytes) {
        return ends_early(err);
    }
    for (unsigned p = 0; p < s->n_channels; p++) {
        if (p < s->samples.n_planes) {
            s->planes[p] = at;
            s->counts[p] = counts;
        }
        for (uint32_t y = 0; y < s->height && s->is_packed; y++, counts += count_bytes) {
            size_t n = packed_bytes(s, counts);
            if (n > (size_t)(end - at))
                return ends_early(err);
            at += n;
        }
        at += s->is_packed ? 0 : s->row_bytes * s->height;
    }
    return IH_OK;
}

static enum ih_status open_file(struct psd_state *s, struct ih_reader *src,
                                const struct ih_decode_options *options, struct ih_image_info *info,
                                struct ih_error *err)
{
    uint8_t header[HEADER_BYTES];
    uint64_t n_left;
    if (ih_read_bytes(src, "PSD", header, sizeof header, err) != IH_OK ||
        read_kind(s, header, err) != IH_OK ||
        ih_decode_check_pixels(s->width, s->height, options->max_pixels, err) != IH_OK ||
        read_sections(s, src, err) != IH_OK || read_compression(s, src, err) != IH_OK)
        return err->status;
    uint64_t rows_bytes = (uint64_t)s->row_bytes * s->samples.n_planes;
    if (ih_reader_size_left(src, &n_left) && is_too_short(s, n_left))
        return ends_early(err);
    if (ih_whole_file_open(&s->whole, src, options, rows_bytes, err) != IH_OK ||
        find_planes(s, err) != IH_OK)
        return err->status;
    info->width = s->width;
    info->height = s->height;
    if (ih_samples_set_target(&s->samples, options->sample_range, options->takes_native, err) !=
        IH_OK)
        return err->status;
    info->type = s->samples.native.type;
    info->n_bins = s->samples.native.n_bins;
    info->layout = ih_layout_of(s->samples.n_channels);
    info->source_depth = s->samples.bits;
    info->n_frames = 1;
    info->n_not_counted = s->n_channels - s->samples.n_planes;
    info->warnings |= info->n_not_counted ? IH_WARNING_EXTRA_SAMPLES : 0;
    info->range = IH_RANGE_FULL;
    if (!s->is_ink_inverted) /* those samples are changed before they are converted */
        s->samples.extremes = &info->extremes;
    return IH_OK;
}

static enum ih_status open_psd(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    return open_file(state, src, options, info, err);
}

/* PackBits: a count n below 128 precedes n + 1 literal bytes; a count above 128 precedes a byte
 * that is repeated 257 - n times; 128 is ignored. Returns false unless exactly n bytes fill the
 * row. */
static bool psd_unpack(const uint8_t *src, size_t n, uint8_t *dst, size_t n_dst)
{
    size_t at = 0, done = 0;
    while (at < n) {
        unsigned head = src[at++];
        if (head == 128)
            continue;
        size_t count = head < 128 ? head + 1u : 257u - head, n_bytes = head < 128 ? count : 1;
        if (count > n_dst - done || n_bytes > n - at)
            return false;
        if (head < 128)
            memcpy(dst + done, src + at, count);
        else
            memset(dst + done, src[at], count);
        done += count;
        at += n_bytes;
    }
    return done == n_dst;
}

/* Loads the next row of plane p in the layout of ih_samples_convert. */
static enum ih_status load_row(struct psd_state *s, unsigned p, struct ih_error *err)
{
    uint8_t *row = s->rows + p * s->row_bytes;
    if (s->is_packed) {
        size_t n = packed_bytes(s, s->counts[p]);
        if (!psd_unpack(s->planes[p], n, row, s->row_bytes))
            return ih_error_set(err, IH_CORRUPT, "damaged PSD: a row of the wrong length");
        s->planes[p] += n;
        s->counts[p] += s->is_large ? 4 : 2;
    } else {
        memcpy(row, s->planes[p], s->row_bytes);
        s->planes[p] += s->row_bytes;
    }
    if (s->samples.bits == 16) {
        for (size_t i = 0; i < s->row_bytes; i += 2) {
            uint16_t v = (uint16_t)ih_be16(row + i);
            memcpy(row + i, &v, sizeof v);
        }
    }
    for (size_t i = 0; i < s->row_bytes && s->is_ink_inverted && p < 4; i++)
        row[i] ^= 0xFF;
    return IH_OK;
}

static enum ih_status read_psd(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct psd_state *s = state;
    size_t n = 0;
    if (!s->rows)
        s->rows = malloc(s->row_bytes * s->samples.n_planes);
    if (!s->rows)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (; s->next_row < s->height && capacity_pixels - n >= s->width; s->next_row++) {
        struct ih_sample_plane planes[IH_SAMPLES_PLANES_MAX];
        for (unsigned p = 0; p < s->samples.n_planes; p++) {
            if (load_row(s, p, err) != IH_OK)
                return err->status;
            planes[p] = (struct ih_sample_plane){s->rows + p * s->row_bytes, 0, 1};
        }
        ih_samples_convert(&s->samples, planes, s->width,
                           pixels +
                               n * ih_pixel_bytes(s->samples.n_channels, s->samples.native.type));
        n += s->width;
    }
    *n_pixels = n;
    return IH_OK;
}

static bool psd_probe(const uint8_t *head, size_t size)
{
    return size >= 4 && memcmp(head, "8BPS", 4) == 0;
}

const struct ih_decoder ih_decoder_psd = {
    .name = "psd",
    .is_isolated = true, /* so that every build has an isolated format, for tests */
    .title = "PSD and PSB, flattened: bitmap, gray, palette, RGB, CMYK, alpha; 1, 8 and 16 bits",
    .version = IH_DECODER_OWN_VERSION,
    .probe = psd_probe,
    .state_bytes = sizeof(struct psd_state),
    .open = open_psd,
    .read = read_psd,
    .close = close_psd,
};
