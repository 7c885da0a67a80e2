/*
 * PNM, PAM and PFM (P1 to P7, PF and Pf), streamed: samples go from the reader straight into the
 * caller's buffer. The only allocation is the table that scales them.
 *
 * Sources: netpbm's format documents pbm(5), pgm(5), ppm(5) and pam(5)
 * (https://netpbm.sourceforge.net/doc/). They leave some cases open, and readers differ:
 * - Any maxval from 1 to 65535 is scaled to 255, rounding half up. A larger sample is damage.
 * - In PBM 1 is black, in PAM 1 is white. Only the scaling table differs.
 * - A comment reads as a newline. The documents would let a number continue after it, but netpbm's
 *   programs do not, and files do contain "640#width". A comment that touches the last number
 *   before binary samples is refused: documents and programs disagree on where the samples begin.
 * - The last plain number may end with the file. So a file of which only digits of its last number
 *   are missing is not recognised as cut.
 * - Anything after the image is left unread: further images, or an editor's newline.
 * - The scale of a PFM tells the byte order by its sign. Its magnitude changes no stored sample.
 * - A PAM of an unknown tuple type is read by its depth, except CMYK, which would pass for RGBA.
 *
 * stb_image reads P5 and P6 too, and was rejected: it ignores the maxval, returns 16-bit samples in
 * the file's byte order, and does not report a file that is cut short.
 */
#include "decode/decoder.h"
#include "decode/read_bytes.h"
#include "decode/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES_MAX = 64 * 1024, /* with comments; real headers take a few hundred */
    PAM_LINE_MAX = 256,           /* with the NUL, as in netpbm */
    MAXVAL_MAX = 65535
};

/* A position in the text of a file. */
struct text {
    struct ih_reader *src; /* borrowed */
    const uint8_t *bytes;  /* from the last peek; valid while n_bytes is not 0 */
    size_t n_bytes, n_used;
    uint64_t n_allowed; /* bytes that get_byte may still read */
    bool was_comment;   /* a comment ended the last number */
    bool at_end;        /* the file has no more bytes */
    bool may_end;       /* the end of the file is no error now */
};

struct pnm_state {
    struct text text;   /* the header, and the samples of P1 to P3 */
    int kind;           /* '1' to '7', 'F' or 'f' */
    bool is_big_endian; /* of PFM */
    uint64_t width, n_rows_left;
    unsigned n_channels;
    uint32_t maxval;
    bool has_range;               /* --range scales the colours, but not alpha */
    unsigned next_channel;        /* of the next sample of more than 8 bits */
    struct ih_extremes *extremes; /* borrowed: the caller's */
    struct ih_native native;
    uint8_t *scaled; /* [maxval + 1]: the 8-bit value of each sample value; owned */
};

/* ---- text ---- */

static bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static enum ih_status truncated(struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged PNM: the file ends before the image does");
}

/* Marks the bytes that were used as consumed, before the reader is read directly. */
static void consume_used(struct text *t)
{
    ih_reader_consume(t->src, t->n_used);
    t->n_bytes = t->n_used = 0;
}

/* Returns the next byte, or -1 with err set. The end of the file is an error, unless may_end. */
static int get_byte(struct text *t, struct ih_error *err)
{
    if (t->n_used == t->n_bytes) {
        consume_used(t);
        if (ih_reader_peek(t->src, 1, &t->bytes, &t->n_bytes, err) != IH_OK)
            return -1;
        if (t->n_bytes == 0) {
            t->at_end = true;
            if (!t->may_end)
                truncated(err);
            return -1;
        }
    }
    if (t->n_allowed == 0) {
        ih_error_set(err, IH_CORRUPT, "damaged PNM: no end of the header in %d bytes",
                     HEADER_BYTES_MAX);
        return -1;
    }
    t->n_allowed--;
    return t->bytes[t->n_used++];
}

/* Returns the next byte, or -1. A comment reads as the newline at its end. */
static int get_text(struct text *t, struct ih_error *err)
{
    int c = get_byte(t, err);
    t->was_comment = c == '#';
    while (t->was_comment && c != '\n' && c != '\r' && c != -1)
        c = get_byte(t, err);
    return c;
}

/* Returns the next byte that is neither white space nor in a comment, or -1. */
static int skip_spaces(struct text *t, struct ih_error *err)
{
    int c;
    do
        c = get_text(t, err);
    while (is_space(c));
    return c;
}

/* Sets *value to *value * 10 + the digit c. Returns IH_CORRUPT if c is no digit. */
static enum ih_status append_digit(uint64_t *value, int c, struct ih_error *err)
{
    if (!is_digit(c))
        return ih_error_set(err, IH_CORRUPT, "damaged PNM: byte 0x%02X in a number", (unsigned)c);
    if (*value >= UINT64_MAX / 10)
        return ih_error_set(err, IH_CORRUPT, "damaged PNM: a number is too large");
    *value = *value * 10 + (unsigned)(c - '0');
    return IH_OK;
}

/* Reads a number and the one white space or comment that ends it. The last one may end with the
 * file. */
static enum ih_status get_number(struct text *t, uint64_t *value, bool is_last,
                                 struct ih_error *err)
{
    *value = 0;
    int c = skip_spaces(t, err);
    do {
        if (c == -1 || append_digit(value, c, err) != IH_OK)
            return err->status;
        t->may_end = is_last;
        c = get_text(t, err);
        t->may_end = false;
    } while (!is_space(c) && !(t->at_end && is_last));
    return IH_OK;
}

/* ---- headers ---- */

static bool is_float(const struct pnm_state *s)
{
    return s->kind == 'F' || s->kind == 'f';
}

/* The scale of a PFM, such as -1.0: a decimal number that is not 0. */
static enum ih_status read_scale(struct pnm_state *s, struct ih_error *err)
{
    bool has_value = false, is_sound = true;
    int c = skip_spaces(&s->text, err);
    s->is_big_endian = c != '-';
    if (c == '-' || c == '+')
        c = get_byte(&s->text, err);
    for (bool is_exponent = false; c != -1 && !is_space(c); c = get_byte(&s->text, err)) {
        is_sound = is_sound && (is_digit(c) || strchr(is_exponent ? "+-" : ".eE", c));
        is_exponent = is_exponent || c == 'e' || c == 'E';
        has_value = has_value || (c >= '1' && c <= '9' && !is_exponent);
    }
    if (c == -1)
        return err->status;
    return is_sound && has_value
               ? IH_OK
               : ih_error_set(err, IH_CORRUPT, "damaged PFM: its scale is 0 or no number");
}

/* P1 to P6, PF and Pf: width, height and, except in PBM, the maxval or scale. */
static enum ih_status read_pnm_header(struct pnm_state *s, uint64_t *height, uint64_t *maxval,
                                      struct ih_error *err)
{
    const bool is_bitmap = s->kind == '1' || s->kind == '4';
    s->n_channels = s->kind == '3' || s->kind == '6' || s->kind == 'F' ? 3 : 1;
    *maxval = 1;
    if (get_number(&s->text, &s->width, false, err) != IH_OK ||
        get_number(&s->text, height, false, err) != IH_OK)
        return err->status;
    if (is_float(s))
        return read_scale(s, err);
    if (!is_bitmap && get_number(&s->text, maxval, false, err) != IH_OK)
        return err->status;
    if (s->text.was_comment && s->kind >= '4')
        return ih_error_set(err, IH_UNSUPPORTED,
                            "PNM with a comment that touches the last number of the header is not "
                            "supported: readers differ on where the samples begin");
    return IH_OK;
}

/* Reads a line of a PAM header as a string; a comment becomes an empty line. */
static enum ih_status get_line(struct pnm_state *s, char line[PAM_LINE_MAX], struct ih_error *err)
{
    size_t n = 0;
    int c;
    bool is_comment = false;
    while ((c = get_byte(&s->text, err)) != '\n') {
        if (c == -1)
            return err->status;
        is_comment = is_comment || (n == 0 && c == '#');
        if (is_comment)
            continue;
        if (c == '\0' || n == PAM_LINE_MAX - 1)
            return ih_error_set(err, IH_CORRUPT,
                                "damaged PAM: a header line is too long or not text");
        line[n++] = (char)c;
    }
    line[n] = '\0';
    return IH_OK;
}

/* The channels of a tuple type, or 0 if pam(5) does not define it. */
static unsigned tuple_channels(const char *type)
{
    static const struct {
        const char *name;
        unsigned n_channels;
    } types[] = {{"BLACKANDWHITE", 1},   {"GRAYSCALE", 1}, {"BLACKANDWHITE_ALPHA", 2},
                 {"GRAYSCALE_ALPHA", 2}, {"RGB", 3},       {"RGB_ALPHA", 4}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            return types[i].n_channels;
    return 0;
}

/* P7: lines of a name and a value up to ENDHDR. Each number occurs exactly once. */
static enum ih_status read_pam_header(struct pnm_state *s, uint64_t *height, uint64_t *maxval,
                                      struct ih_error *err)
{
    static const char *const names[4] = {"WIDTH", "HEIGHT", "DEPTH", "MAXVAL"};
    uint64_t depth = 0, *const numbers[4] = {&s->width, height, &depth, maxval};
    unsigned n_types = 0, n_expected = 0;
    char line[PAM_LINE_MAX], name[10], value[24], rest[2];
    if (get_line(s, line, err) != IH_OK) /* the rest of the first: probe has seen it */
        return err->status;
    for (;;) {
        if (get_line(s, line, err) != IH_OK)
            return err->status;
        int n_words = sscanf(line, "%9s %23s %1s", name, value, rest);
        if (n_words <= 0)
            continue;
        if (strcmp(name, "ENDHDR") == 0)
            break;
        if (strcmp(name, "TUPLTYPE") ==
            0) { /* several lines form one type, always an unknown one */
            if (n_words > 1 && strncmp(value, "CMYK", 4) == 0)
                return ih_error_set(err, IH_UNSUPPORTED, "PAM with CMYK is not supported");
            n_expected = n_types++ == 0 && n_words == 2 ? tuple_channels(value) : 0;
            continue;
        }
        size_t i = 0;
        while (i < 4 && strcmp(name, names[i]) != 0)
            i++;
        if (i == 4 || n_words != 2 || *numbers[i] != 0)
            return ih_error_set(err, IH_CORRUPT, "damaged PAM: unknown or repeated header line");
        for (const char *p = value + (*value == '+'); *p; p++)
            if (append_digit(numbers[i], (unsigned char)*p, err) != IH_OK)
                return err->status;
    }
    if (depth > IH_PIXEL_CHANNELS_MAX || (depth && n_expected && depth != n_expected))
        return ih_error_set(err, IH_UNSUPPORTED, "PAM with %llu samples a pixel is not supported%s",
                            (unsigned long long)depth, n_expected ? " for its tuple type" : "");
    s->n_channels = (unsigned)depth;
    return IH_OK;
}

/* Whether a line of a PAM header may begin at `at`. */
static bool is_pam_line(const uint8_t *head, size_t size, size_t at)
{
    return at == size || is_space(head[at]) || memchr("#WHDMTE", head[at], 7);
}

static bool probe(const uint8_t *head, size_t size)
{
    if (size < 3 || head[0] != 'P' || !strchr("1234567Ff", head[1] ? head[1] : 'x'))
        return false;
    if (head[2] == '#')
        return head[1] <= '7';
    if (head[1] == '7') {
        size_t at = 2;
        while (at < size && head[at] != '\n' && is_space(head[at]))
            at++;
        return at < size &&
               (head[at] == '#' || (head[at] == '\n' && is_pam_line(head, size, at + 1)));
    }
    if (!is_space(head[2]))
        return false;
    unsigned n_numbers = 0; /* prose that starts with "P1 " has no two numbers */
    for (size_t i = 3; i < size && n_numbers < 2; i++) {
        if (head[i] == '#')
            return true;
        if (!is_digit(head[i]) && !is_space(head[i]))
            return false;
        if (is_space(head[i]) && is_digit(head[i - 1]))
            n_numbers++;
    }
    return true;
}

/* The bits that hold every sample: 10 for a maxval of 1023, 7 for 100. */
static unsigned pnm_depth(uint64_t maxval)
{
    unsigned n = 0;
    for (; maxval; maxval >>= 1)
        n++;
    return n;
}

static void fill_table(struct pnm_state *s, struct ih_sample_range range)
{
    s->has_range = range.high > 0 && pnm_depth(s->maxval) == 16;
    for (uint32_t v = 0; v <= s->maxval; v++)
        s->scaled[v] =
            s->has_range ? ih_sample_scale_range(v, range) : ih_sample_scale(v, s->maxval);
    if (s->kind == '1' || s->kind == '4') {
        s->scaled[0] = 255;
        s->scaled[1] = 0;
    }
}

static void close_pnm(void *state)
{
    struct pnm_state *s = state;
    free(s->scaled);
}

static enum ih_status open_pnm(struct ih_reader *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct pnm_state *s = state;
    uint64_t height = 0, maxval = 0;
    s->text = (struct text){.src = src, .n_allowed = HEADER_BYTES_MAX};
    if (get_byte(&s->text, err) == -1 || (s->kind = get_byte(&s->text, err)) == -1)
        return err->status; /* probe has seen these two bytes */
    enum ih_status status = s->kind == '7' ? read_pam_header(s, &height, &maxval, err)
                                           : read_pnm_header(s, &height, &maxval, err);
    if (status != IH_OK)
        return status;
    if (s->width == 0 || height == 0 || s->n_channels == 0)
        return ih_error_set(err, IH_CORRUPT, "damaged PNM: it has no pixels");
    info->width = s->width;
    info->height = height;
    info->layout = ih_layout_of(s->n_channels);
    s->n_rows_left = height;
    consume_used(&s->text);
    s->text.n_allowed = UINT64_MAX;
    if (is_float(s)) {
        info->type = IH_FLOAT32;
        info->n_bins = IH_FLOAT_BINS;
        info->source_depth = 32;
        info->order.flags = IH_PIXEL_ORDER_FROM_BOTTOM;
        return IH_OK;
    }
    if (maxval == 0 || maxval > MAXVAL_MAX)
        return ih_error_set(err, IH_CORRUPT, "damaged PNM: a maximum of %llu, not 1 to %d",
                            (unsigned long long)maxval, MAXVAL_MAX);
    s->maxval = (uint32_t)maxval;
    s->scaled = malloc((size_t)maxval + 1);
    if (!s->scaled)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->extremes = &info->extremes;
    if (ih_native_choose(&s->native, options->takes_native, options->sample_range, maxval, err) !=
        IH_OK)
        return err->status;
    info->type = s->native.type;
    info->n_bins = s->native.n_bins;
    fill_table(s, options->sample_range);
    info->source_depth = pnm_depth(maxval);
    info->scaled_max = maxval < UINT8_MAX ? (unsigned)maxval : 0;
    info->range = IH_RANGE_FULL;
    return IH_OK;
}

/* ---- samples ---- */

static enum ih_status too_large(const struct pnm_state *s, uint64_t sample, struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged PNM: a sample of %llu where the maximum is %lu",
                        (unsigned long long)sample, (unsigned long)s->maxval);
}

/* Whether the next sample of two bytes is alpha. Moves on. */
static bool is_alpha(struct pnm_state *s)
{
    const unsigned channel = s->next_channel;
    s->next_channel = (channel + 1) % s->n_channels;
    return channel == ih_layout_of(s->n_channels).n_colours;
}

/* Writes sample i of more than 8 bits. */
static void put_deep(struct pnm_state *s, uint8_t *dst, size_t i, uint32_t v)
{
    const bool is_of_alpha = is_alpha(s);
    if (!is_of_alpha)
        ih_extremes_add(s->extremes, v);
    if (ih_is_native(s->native.type))
        ih_native_put(dst, i, ih_native_of(&s->native, v, is_of_alpha));
    else
        dst[i] = is_of_alpha && s->has_range ? ih_sample_scale(v, s->maxval) : s->scaled[v];
}

/* P1, whose digits need no white space between them, P2 and P3. */
static enum ih_status pnm_read_plain(struct pnm_state *s, uint8_t *dst, size_t n, bool is_end,
                                     struct ih_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        if (s->kind == '1') {
            int c = skip_spaces(&s->text, err);
            if (c == -1 || append_digit(&v, c, err) != IH_OK)
                return err->status;
        } else if (get_number(&s->text, &v, is_end && i == n - 1, err) != IH_OK) {
            return err->status;
        }
        if (v > s->maxval)
            return too_large(s, v, err);
        if (s->maxval > UINT8_MAX)
            put_deep(s, dst, i, (uint32_t)v);
        else
            dst[i] = s->scaled[v];
    }
    consume_used(&s->text);
    return IH_OK;
}

/* P4: eight pixels a byte, the leftmost in the highest bit. Each row starts with a new byte. */
static enum ih_status read_packed(struct pnm_state *s, uint8_t *dst, size_t n_rows,
                                  struct ih_error *err)
{
    size_t x = 0, y = 0, width = (size_t)s->width;
    while (y < n_rows) {
        const uint8_t *bytes;
        size_t n_bytes, used = 0;
        if (ih_reader_peek(s->text.src, 1, &bytes, &n_bytes, err) != IH_OK)
            return err->status;
        if (n_bytes == 0)
            return truncated(err);
        for (; used < n_bytes && y < n_rows; used++) {
            for (unsigned bit = 0; bit < 8 && x < width; bit++, x++)
                *dst++ = s->scaled[bytes[used] >> (7 - bit) & 1];
            if (x == width) {
                x = 0;
                y++;
            }
        }
        ih_reader_consume(s->text.src, used);
    }
    return IH_OK;
}

/* P5, P6, P7: one byte a sample, or two in big-endian order. */
static enum ih_status read_binary(struct pnm_state *s, uint8_t *dst, size_t n, struct ih_error *err)
{
    size_t unit = s->maxval < 256 ? 1 : 2;
    while (n > 0) {
        const uint8_t *bytes;
        size_t n_bytes;
        if (ih_reader_peek(s->text.src, unit, &bytes, &n_bytes, err) != IH_OK)
            return err->status;
        if (n_bytes < unit)
            return truncated(err);
        size_t n_here = n_bytes / unit < n ? n_bytes / unit : n;
        if (s->maxval == 255)
            memcpy(dst, bytes, n_here);
        for (size_t i = 0; i < n_here && s->maxval != 255; i++) {
            uint32_t v = unit == 1 ? bytes[i] : ih_be16(bytes + 2 * i);
            if (v > s->maxval)
                return too_large(s, v, err);
            if (unit == 2)
                put_deep(s, dst, i, v);
            else
                dst[i] = s->scaled[v];
        }
        ih_reader_consume(s->text.src, unit * n_here);
        dst += n_here * (ih_is_native(s->native.type) ? 2 : 1);
        n -= n_here;
    }
    return IH_OK;
}

/* PF, Pf. */
static enum ih_status read_floats(struct pnm_state *s, uint8_t *dst, size_t n, struct ih_error *err)
{
    for (size_t n_here; n > 0; n -= n_here, dst += 4 * n_here) {
        const uint8_t *bytes;
        size_t n_bytes;
        if (ih_reader_peek(s->text.src, 4, &bytes, &n_bytes, err) != IH_OK)
            return err->status;
        if (n_bytes < 4)
            return truncated(err);
        n_here = n_bytes / 4 < n ? n_bytes / 4 : n;
        ih_copy_samples(dst, bytes, n_here, 4, s->is_big_endian);
        ih_reader_consume(s->text.src, 4 * n_here);
    }
    return IH_OK;
}

static enum ih_status read_pnm(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct pnm_state *s = state;
    size_t n_rows = capacity_pixels / (size_t)s->width;
    n_rows = n_rows < s->n_rows_left ? n_rows : (size_t)s->n_rows_left;
    size_t n = n_rows * (size_t)s->width, n_samples = n * s->n_channels;
    enum ih_status status;
    if (s->kind <= '3')
        status = pnm_read_plain(s, pixels, n_samples, n_rows == s->n_rows_left, err);
    else if (s->kind == '4')
        status = read_packed(s, pixels, n_rows, err);
    else if (is_float(s))
        status = read_floats(s, pixels, n_samples, err);
    else
        status = read_binary(s, pixels, n_samples, err);
    if (status != IH_OK)
        return status;
    s->n_rows_left -= n_rows;
    *n_pixels = n;
    return IH_OK;
}

const struct ih_decoder ih_decoder_pnm = {
    .name = "pnm",
    .title = "PBM, PGM, PPM and PAM, plain and binary, every maxval to 65535; PFM",
    .version = IH_DECODER_OWN_VERSION,
    .ends_exactly = true,
    .probe = probe,
    .state_bytes = sizeof(struct pnm_state),
    .open = open_pnm,
    .read = read_pnm,
    .close = close_pnm,
};
