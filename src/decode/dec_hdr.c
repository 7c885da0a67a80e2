/*
 * Radiance HDR (RGBE) through stb_image. File and image are held in memory.
 *
 * It stores floats. Its 8-bit values are those that stb_image documents: 255 v^(1/2.2), rounded,
 * with values above 1 clipped to 255. An exposure in the header is not applied.
 *
 * After the end of a file, stb_image reads zeros or loops forever. It gets line feeds instead,
 * which end all of its loops, and a file that it reads past the end is damaged.
 *
 * It takes all rows to have run lengths if the first has them, and else none, and does
 * not know Radiance's oldest run lengths. Files with both kinds of rows, or with such runs, are
 * refused.
 */
#include "decode/whole_file.h"

#include <limits.h>
#include <string.h>

#define STBI_NO_STDIO
#include <stb/stb_image.h>

enum {
    PIXEL_BYTES = 15, /* memory a pixel: three floats and the result */
    N_CHANNELS = 3,
    STORED_CHANNELS = 4 /* three mantissas and an exponent */
};

struct hdr_state {
    struct ih_whole_file whole;
    size_t at;       /* the next byte of the file */
    bool is_overrun; /* stb_image has read past the end */
};

static int read_bytes(void *user, char *dst, int n_bytes)
{
    struct hdr_state *s = user;
    const size_t wanted = (size_t)n_bytes, left = s->whole.file_bytes - s->at;
    const size_t n = left < wanted ? left : wanted;
    memcpy(dst, s->whole.file + s->at, n);
    s->at += n;
    if (n > 0 && wanted > 4)
        return (int)n; /* it fills its buffer; the next call tells whether it needs more */
    s->is_overrun = s->is_overrun || n < wanted;
    memset(dst + n, '\n', wanted - n);
    return n_bytes;
}

static void skip_bytes(void *user, int n_bytes)
{
    struct hdr_state *s = user;
    const size_t left = s->whole.file_bytes - s->at;
    s->is_overrun = s->is_overrun || n_bytes < 0 || (size_t)n_bytes > left;
    s->at += s->is_overrun ? 0 : (size_t)n_bytes;
}

static int is_at_end(void *user)
{
    const struct hdr_state *s = user;
    return s->is_overrun;
}

static const stbi_io_callbacks callbacks = {read_bytes, skip_bytes, is_at_end};

static enum ih_status failed(const struct hdr_state *s, struct ih_error *err)
{
    const char *why = stbi_failure_reason();
    if (s->is_overrun)
        why = "the file ends before the image does";
    else if (why && strcmp(why, "Out of memory") == 0)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return ih_error_set(err, IH_CORRUPT, "damaged Radiance HDR: %s", why ? why : "bad data");
}

static void close_hdr(void *state)
{
    struct hdr_state *s = state;
    ih_whole_file_close(&s->whole);
}

static enum ih_status read_header(struct hdr_state *s, const struct ih_decode_options *options,
                                  struct ih_image_info *info, struct ih_error *err)
{
    int width = 0, height = 0, n_channels = 0;
    const bool is_known =
        stbi_info_from_callbacks(&callbacks, s, &width, &height, &n_channels) != 0;
    if (s->is_overrun)
        return failed(s, err);
    if (!is_known)
        return ih_error_set(err, IH_UNSUPPORTED, "Radiance HDR with this header is not supported");
    if (width <= 0 || height <= 0)
        return ih_error_set(err, IH_CORRUPT, "damaged Radiance HDR: it has no pixels");
    if (ih_decode_check_pixels((uint64_t)width, (uint64_t)height, options->max_pixels, err) !=
        IH_OK)
        return err->status;
    const uint64_t n_pixels = (uint64_t)width * (uint64_t)height;
    if (n_pixels > INT_MAX / PIXEL_BYTES)
        return ih_error_set(err, IH_LIMIT, "Radiance HDR of more than %d pixels",
                            INT_MAX / PIXEL_BYTES);
    info->width = (uint64_t)width;
    info->height = (uint64_t)height;
    info->layout = ih_layout_of(N_CHANNELS);
    info->source_depth = 8;
    return ih_whole_file_more(&s->whole, n_pixels * PIXEL_BYTES, err);
}

static bool is_newline(const uint8_t *p, const uint8_t *end)
{
    return p < end && *p == '\n';
}

/* Returns the first row: what follows the line of the size, which follows an empty line. */
static const uint8_t *find_rows(const uint8_t *p, const uint8_t *end)
{
    while (p < end && !(is_newline(p, end) && is_newline(p + 1, end)))
        p++;
    for (p += p < end ? 2 : 0; p < end && !is_newline(p, end);)
        p++;
    return p < end ? p + 1 : end;
}

/* Returns the end of a row with run lengths, each channel by itself; `end` if it is damaged. */
static const uint8_t *skip_runs(const uint8_t *p, const uint8_t *end, uint64_t width)
{
    for (unsigned c = 0; c < STORED_CHANNELS; c++)
        for (uint64_t x = 0; x < width;) {
            const unsigned n = p < end ? *p++ : 0, n_pixels = n > 128 ? n - 128 : n;
            const unsigned n_bytes = n > 128 ? 1 : n;
            if (n == 0 || (size_t)(end - p) < n_bytes)
                return end;
            p += n_bytes;
            x += n_pixels;
        }
    return p;
}

/* Refuses what stb_image would decode to other pixels. Damage is left to stb_image. Source: the
 * format of Radiance's pictures, by Greg Ward. */
static enum ih_status check_rows(const struct hdr_state *s, const struct ih_image_info *info,
                                 struct ih_error *err)
{
    const uint8_t *end = s->whole.file + s->whole.file_bytes;
    const uint8_t *p = find_rows(s->whole.file, end);
    const bool may_have_runs = info->width >= 8 && info->width < 32768;
    bool first_has_runs = false;
    for (uint64_t y = 0; y < info->height; y++) {
        if (end - p < STORED_CHANNELS)
            return IH_OK;
        const bool has_runs = may_have_runs && p[0] == 2 && p[1] == 2 && p[2] < 128;
        if (y == 0)
            first_has_runs = has_runs;
        if (has_runs != first_has_runs)
            return ih_error_set(err, IH_UNSUPPORTED,
                                "Radiance HDR with run lengths in some rows only is not supported");
        if (has_runs)
            p = skip_runs(p + STORED_CHANNELS, end, info->width);
        for (uint64_t x = 0; x < info->width && !has_runs && end - p >= STORED_CHANNELS; x++) {
            if (p[0] == 1 && p[1] == 1 && p[2] == 1)
                return ih_error_set(err, IH_UNSUPPORTED,
                                    "Radiance HDR with the oldest run lengths is not supported");
            p += STORED_CHANNELS;
        }
    }
    return IH_OK;
}

static enum ih_status open_hdr(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct hdr_state *s = state;
    enum ih_status status = ih_whole_file_open(&s->whole, src, options, 0, err);
    if (status == IH_OK)
        status = read_header(s, options, info, err);
    return status == IH_OK ? check_rows(s, info, err) : status;
}

static enum ih_status decode(struct hdr_state *s, struct ih_error *err)
{
    int width, height, n_channels;
    struct ih_whole_file *h = &s->whole;
    s->at = 0;
    h->pixels = stbi_load_from_callbacks(&callbacks, s, &width, &height, &n_channels, N_CHANNELS);
    if (!h->pixels || s->is_overrun)
        return failed(s, err);
    h->n_pixels = (size_t)width * (size_t)height;
    h->n_channels = N_CHANNELS;
    ih_whole_file_free_bytes(h);
    return IH_OK;
}

static enum ih_status read_hdr(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct hdr_state *s = state;
    if (!s->whole.pixels && decode(s, err) != IH_OK)
        return err->status;
    *n_pixels = ih_whole_file_read(&s->whole, pixels, capacity_pixels);
    return IH_OK;
}

static bool probe_hdr(const uint8_t *head, size_t size)
{
    return (size >= 11 && memcmp(head, "#?RADIANCE\n", 11) == 0) ||
           (size >= 7 && memcmp(head, "#?RGBE\n", 7) == 0);
}

const struct ih_decoder ih_decoder_hdr = {
    .name = "hdr",
    .is_isolated = true,
    .title = "Radiance HDR, reduced to 8 bits with gamma 2.2",
    .version = "stb_image", /* its header has no number */
    .probe = probe_hdr,
    .state_bytes = sizeof(struct hdr_state),
    .open = open_hdr,
    .read = read_hdr,
    .close = close_hdr,
};
