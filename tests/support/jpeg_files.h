/*
 * JPEG files for tests: pictures written by libjpeg, and gray blocks with entropy-coded bits that
 * a test spells out.
 */
#ifndef IH_TESTS_JPEG_FILES_H
#define IH_TESTS_JPEG_FILES_H

#include "tests/support/test.h"

#include <jpeglib.h>

struct jpeg_kind {
    bool is_gray;
    int h, v; /* sampling of luma */
    unsigned restart_interval;
    int quality; /* 0: 85 */
    bool is_optimized, is_progressive;
    bool is_flat;       /* one colour and no noise */
    bool has_one_table; /* luma and chroma share Huffman tables */
};

struct jpeg_file {
    unsigned char *bytes; /* owned, free() it */
    unsigned long n;
};

static inline struct jpeg_file copy_jpeg(const struct jpeg_file *f)
{
    struct jpeg_file copy = {malloc(f->n), f->n};
    assert_non_null(copy.bytes);
    memcpy(copy.bytes, f->bytes, f->n);
    return copy;
}

/* Prepares c to write *f with the library's default settings. */
static inline void begin_jpeg(struct jpeg_compress_struct *c, struct jpeg_error_mgr *errors,
                              struct jpeg_file *f, unsigned width, unsigned height,
                              J_COLOR_SPACE pixels)
{
    c->err = jpeg_std_error(errors);
    jpeg_create_compress(c);
    jpeg_mem_dest(c, &f->bytes, &f->n);
    c->image_width = width;
    c->image_height = height;
    c->input_components = pixels == JCS_CMYK ? 4 : pixels == JCS_GRAYSCALE ? 1 : 3;
    c->in_color_space = pixels;
    jpeg_set_defaults(c);
}

/* Compresses all rows, and finishes the file. sample: value i of row y; random is its 32-bit random
 * number, context is passed through. */
static inline void write_rows(struct jpeg_compress_struct *c, uint32_t random,
                              uint8_t (*sample)(unsigned i, unsigned y, uint32_t random,
                                                const void *context),
                              const void *context)
{
    const unsigned n = c->image_width * (unsigned)c->input_components;
    uint8_t *row = malloc(n);
    assert_non_null(row);
    jpeg_start_compress(c, TRUE);
    while (c->next_scanline < c->image_height) {
        for (unsigned i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            row[i] = sample(i, c->next_scanline, random, context);
        }
        jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
    jpeg_destroy_compress(c);
    free(row);
}

static inline uint8_t sample_of_kind(unsigned i, unsigned y, uint32_t random, const void *kind)
{
    const bool is_flat = ((const struct jpeg_kind *)kind)->is_flat;
    return is_flat ? 100 : (uint8_t)((i + y * 3) / 2 % 200 + (random >> 27));
}

/* A slope with noise. */
static inline struct jpeg_file make_jpeg(const struct jpeg_kind *kind, unsigned width,
                                         unsigned height)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_file f = {NULL, 0};
    begin_jpeg(&c, &errors, &f, width, height, kind->is_gray ? JCS_GRAYSCALE : JCS_RGB);
    jpeg_set_quality(&c, kind->quality ? kind->quality : 85, TRUE);
    c.comp_info[0].h_samp_factor = kind->h;
    c.comp_info[0].v_samp_factor = kind->v;
    for (int i = 1; i < c.num_components && kind->has_one_table; i++)
        c.comp_info[i].dc_tbl_no = c.comp_info[i].ac_tbl_no = 0;
    c.restart_interval = kind->restart_interval;
    c.optimize_coding = kind->is_optimized;
    if (kind->is_progressive)
        jpeg_simple_progression(&c);
    write_rows(&c, width * 41 + height, sample_of_kind, kind);
    return f;
}

static inline void ignore_message(j_common_ptr cinfo, int level)
{
    (void)cinfo, (void)level;
}

/* libjpeg with its defaults, as most programs use it, without its messages. */
static inline void decode_plainly(const struct jpeg_file *f, uint8_t *out)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    errors.emit_message = ignore_message;
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, f->bytes, f->n);
    jpeg_read_header(&c, TRUE);
    jpeg_start_decompress(&c);
    while (c.output_scanline < c.output_height) {
        JSAMPROW row =
            out + (size_t)c.output_scanline * c.output_width * (unsigned)c.output_components;
        jpeg_read_scanlines(&c, &row, 1);
    }
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
}

/* Offset of the nth segment with this marker. Fails the test if there is none. */
static inline size_t find_segment(const struct jpeg_file *f, unsigned marker, unsigned nth)
{
    for (size_t at = 2; at + 4 <= f->n;
         at += 2 + (size_t)(f->bytes[at + 2] << 8 | f->bytes[at + 3])) {
        if (f->bytes[at + 1] == marker && nth-- == 0)
            return at;
        if (f->bytes[at + 1] == 0xDA)
            break;
    }
    fail_msg("no segment %02x", marker);
    return 0;
}

/* Offset of the entropy-coded data. */
static inline size_t find_data(const struct jpeg_file *f)
{
    size_t at = find_segment(f, 0xDA, 0);
    return at + 2 + (size_t)(f->bytes[at + 2] << 8 | f->bytes[at + 3]);
}

/* Replaces n_out bytes at `at` with n_in others. */
static inline void splice(struct jpeg_file *f, size_t at, size_t n_out, const void *in, size_t n_in)
{
    unsigned char *bytes = malloc(f->n - n_out + n_in);
    assert_non_null(bytes);
    memcpy(bytes, f->bytes, at);
    if (n_in > 0)
        memcpy(bytes + at, in, n_in);
    memcpy(bytes + at + n_in, f->bytes + at + n_out, f->n - at - n_out);
    free(f->bytes);
    f->bytes = bytes;
    f->n = f->n - n_out + n_in;
}

/* Entropy-coded data being written. */
struct jpeg_bits {
    uint8_t bytes[8192];
    size_t n;
    unsigned last; /* the bits of an unfinished byte, below a 1 */
};

static inline void put_bit(struct jpeg_bits *b, unsigned bit)
{
    assert_true(b->n + 8 < sizeof b->bytes);
    b->last = b->last << 1 | bit;
    if (b->last < 256)
        return;
    b->bytes[b->n++] = (uint8_t)b->last;
    if (b->last == 0x1FF)
        b->bytes[b->n++] = 0;
    b->last = 1;
}

static inline void put_marker(struct jpeg_bits *b, unsigned marker)
{
    while (b->last != 1)
        put_bit(b, 1);
    b->bytes[b->n++] = 0xFF;
    b->bytes[b->n++] = (uint8_t)marker;
}

/*
 * A row of gray blocks with this data, then EOI. In `bits`, 0 and 1 are bits, "FFxx" is a marker,
 * spaces are ignored. The Huffman tables are K.3 and K.5 of T.81; all quantizers are 1.
 */
static inline struct jpeg_file make_blocks(unsigned n_blocks, unsigned restart_interval,
                                           const char *bits)
{
    const struct jpeg_kind gray = {
        .is_gray = true, .h = 1, .v = 1, .quality = 100, .restart_interval = restart_interval};
    struct jpeg_file f = make_jpeg(&gray, 8 * n_blocks, 8);
    struct jpeg_bits b = {.last = 1};
    for (const char *p = bits; *p; p++) {
        if (*p == 'F') {
            put_marker(&b, (unsigned)strtoul((const char[]){p[2], p[3], '\0'}, NULL, 16));
            p += 3;
        } else if (*p != ' ') {
            put_bit(&b, *p == '1');
        }
    }
    put_marker(&b, 0xD9);
    splice(&f, find_data(&f), f.n - find_data(&f), b.bytes, b.n);
    return f;
}

/* Creates a decompressor that has read the header of a file. */
static inline void open_jpeg(struct jpeg_decompress_struct *c, struct jpeg_error_mgr *errors,
                             const uint8_t *bytes, size_t n)
{
    c->err = jpeg_std_error(errors);
    jpeg_create_decompress(c);
    jpeg_mem_src(c, bytes, (unsigned long)n);
    assert_int_equal(jpeg_read_header(c, TRUE), JPEG_HEADER_OK);
}

#endif
