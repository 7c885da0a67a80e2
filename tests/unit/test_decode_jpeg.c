/*
 * The JPEG decoder on files that libjpeg writes here: the same pixels as libjpeg's own plain loop,
 * CMYK worked out by hand, and damage.
 */
#include "decode/decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/decoded.h"

#include "tests/support/damage.h"

#include <jpeglib.h>

struct kind {
    J_COLOR_SPACE pixels, stored;
    int h_sampling, v_sampling;                  /* of the first component */
    bool is_progressive, is_split, has_no_adobe; /* split: each component has its scan */
    unsigned restart_interval;                   /* MCUs; 0: none */
};

struct file {
    unsigned char *bytes; /* libjpeg's, free() it */
    unsigned long n;
};

/* pixels: NULL for noise over a slope, else the one pixel that fills the image */
static struct file make_jpeg(const struct kind *kind, unsigned width, unsigned height,
                             const uint8_t *pixel)
{
    static const jpeg_scan_info scans[3] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct file f = {NULL, 0};
    uint8_t row[64 * 4];
    uint32_t random = 1;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &f.bytes, &f.n);
    c.image_width = width;
    c.image_height = height;
    c.in_color_space = kind->pixels;
    c.input_components = kind->pixels == JCS_GRAYSCALE ? 1 : kind->pixels == JCS_CMYK ? 4 : 3;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, kind->stored);
    jpeg_set_quality(&c, pixel ? 100 : 85, TRUE);
    c.comp_info[0].h_samp_factor = kind->h_sampling;
    c.comp_info[0].v_samp_factor = kind->v_sampling;
    c.restart_interval = kind->restart_interval;
    if (kind->has_no_adobe)
        c.write_Adobe_marker = FALSE;
    if (kind->is_split) {
        c.scan_info = scans;
        c.num_scans = 3;
    }
    if (kind->is_progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < height) {
        JSAMPROW rows[1] = {row};
        for (unsigned i = 0; i < width * (unsigned)c.input_components; i++) {
            random = random * 1664525u + 1013904223u;
            row[i] = pixel ? pixel[i % (unsigned)c.input_components]
                           : (uint8_t)(i * 2 + c.next_scanline * 3 + (random >> 27));
        }
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return f;
}

/* What every program gets that reads JPEG through libjpeg in its default way. */
static void decode_plainly(const struct file *f, uint8_t *out)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
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

static const struct kind gray = {JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, .is_progressive = false};
static const struct kind yuv420 = {JCS_RGB, JCS_YCbCr, 2, 2, .is_progressive = false};
static const struct kind progressive = {JCS_RGB, JCS_YCbCr, 2, 1, .is_progressive = true};
static const struct kind restarts = {JCS_RGB, JCS_YCbCr, 1, 1, .restart_interval = 1};

static void check_kind(const struct kind *kind)
{
    static const unsigned sizes[][2] = {{1, 1}, {8, 8}, {17, 9}, {16, 33}, {63, 40}};
    uint8_t expected[64 * 64 * 3];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned width = sizes[i][0], height = sizes[i][1];
        struct file f = make_jpeg(kind, width, height, NULL);
        decode_plainly(&f, expected);
        assert_decodes(f.bytes, f.n, "jpeg", width, height, kind->pixels == JCS_GRAYSCALE ? 1 : 3,
                       expected);
        free(f.bytes);
    }
}

static void test_baseline(void **state)
{
    (void)state;
    const struct kind yuv444 = {JCS_RGB, JCS_YCbCr, 1, 1, .is_progressive = false};
    const struct kind yuv422 = {JCS_RGB, JCS_YCbCr, 2, 1, .is_progressive = false};
    const struct kind yuv440 = {JCS_RGB, JCS_YCbCr, 1, 2, .is_progressive = false};
    const struct kind rgb = {JCS_RGB, JCS_RGB, 1, 1, .is_progressive = false};
    check_kind(&gray);
    check_kind(&yuv444);
    check_kind(&yuv422);
    check_kind(&yuv420);
    check_kind(&yuv440);
    check_kind(&rgb);
    check_kind(&restarts);
}

/* Warnings that mean no lost pixels: a revision of JFIF and a colour transform that are unknown. */
static void test_harmless_warnings(void **state)
{
    (void)state;
    const struct kind rgb = {JCS_RGB, JCS_RGB, 1, 1,
                             .is_progressive = false}; /* has Adobe's marker */
    uint8_t expected[16 * 16 * 3];
    struct file f = make_jpeg(&yuv420, 16, 16, NULL);
    decode_plainly(&f, expected);
    assert_memory_equal(f.bytes + 6, "JFIF", 5);
    f.bytes[11] = 9;
    assert_decodes(f.bytes, f.n, "jpeg", 16, 16, 3, expected);
    free(f.bytes);
    f = make_jpeg(&rgb, 16, 16, NULL);
    assert_memory_equal(f.bytes + 6, "Adobe", 5);
    f.bytes[17] = 7; /* then it is taken for YCbCr */
    decode_plainly(&f, expected);
    assert_decodes(f.bytes, f.n, "jpeg", 16, 16, 3, expected);
    free(f.bytes);
}

static void test_progressive(void **state)
{
    (void)state;
    const struct kind gray_progressive = {JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1,
                                          .is_progressive = true};
    check_kind(&progressive);
    check_kind(&gray_progressive);
}

static void check_cmyk(bool is_ycck, bool has_no_adobe, const uint8_t cmyk[4], const uint8_t rgb[3])
{
    const struct kind kind = {JCS_CMYK, is_ycck ? JCS_YCCK : JCS_CMYK, 1, 1,
                              .has_no_adobe = has_no_adobe};
    uint8_t expected[17 * 5 * 3];
    for (size_t i = 0; i < sizeof expected; i++)
        expected[i] = rgb[i % 3];
    struct file f = make_jpeg(&kind, 17, 5, cmyk);
    assert_decodes(f.bytes, f.n, "jpeg", 17, 5, 3, expected);
    free(f.bytes);
}

/* One colour at quality 100 comes back exactly as it was. */
static void test_cmyk(void **state)
{
    (void)state;
    /* Adobe's files hold 255 - X: 10 * 40 / 255 = 1.57, 3.14, 4.71 */
    check_cmyk(false, false, (const uint8_t[]){10, 20, 30, 40}, (const uint8_t[]){2, 3, 5});
    check_cmyk(false, false, (const uint8_t[]){255, 128, 0, 255}, (const uint8_t[]){255, 128, 0});
    /* 245 * 215 / 255 = 206.57, 198.14, 189.71 */
    check_cmyk(false, true, (const uint8_t[]){10, 20, 30, 40}, (const uint8_t[]){207, 198, 190});
    check_cmyk(false, true, (const uint8_t[]){0, 0, 0, 255}, (const uint8_t[]){0, 0, 0});
    /* gray ink, so that YCC loses nothing: 50 * 40 / 255 = 7.84 */
    check_cmyk(true, false, (const uint8_t[]){50, 50, 50, 40}, (const uint8_t[]){8, 8, 8});
}

/* ---- damage ---- */

static void test_truncation(void **state)
{
    (void)state;
    const struct kind *kinds[] = {&gray, &yuv420, &progressive, &restarts};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct file f = make_jpeg(kinds[i], 33, 17, NULL);
        assert_cuts_are_refused(f.bytes, f.n);
        free(f.bytes);
    }
}

/* Offset of the nth marker of this code, from 0. */
static size_t find_marker(const struct file *f, unsigned code, unsigned nth)
{
    for (size_t i = 0; i + 1 < f->n; i++)
        if (f->bytes[i] == 0xFF && f->bytes[i + 1] == code && nth-- == 0)
            return i;
    fail_msg("no marker %02x", code);
    return 0;
}

static void test_restart_marker_out_of_turn(void **state)
{
    (void)state;
    struct file f = make_jpeg(&restarts, 40, 16, NULL);
    f.bytes[find_marker(&f, 0xD2, 0) + 1] = 0xD5;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

/* A scan that ends early, with the end marker in place. */
static void test_scan_cut_short(void **state)
{
    (void)state;
    struct file f = make_jpeg(&yuv420, 63, 40, NULL);
    f.bytes[f.n / 2] = 0xFF;
    f.bytes[f.n / 2 + 1] = 0xD9;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

/* The end marker in place of the second scan, which holds the second component: libjpeg would make
 * its samples up. */
static void test_component_without_a_scan(void **state)
{
    (void)state;
    const struct kind split = {JCS_RGB, JCS_YCbCr, 1, 1, .is_split = true};
    check_kind(&split);
    struct file f = make_jpeg(&split, 63, 40, NULL);
    size_t end = find_marker(&f, 0xDA, 1);
    f.bytes[end] = 0xFF;
    f.bytes[end + 1] = 0xD9;
    assert_refused(f.bytes, end + 2, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

static void test_no_pixels(void **state)
{
    (void)state;
    struct file f = make_jpeg(&gray, 8, 8, NULL);
    size_t sof = find_marker(&f, 0xC0, 0);
    f.bytes[sof + 6] = 0; /* height */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

static void test_unsupported_kinds(void **state)
{
    (void)state;
    struct file f = make_jpeg(&gray, 8, 8, NULL);
    size_t sof = find_marker(&f, 0xC0, 0);
    f.bytes[sof + 4] = 12; /* bits */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "12 bits");
    f.bytes[sof + 4] = 8;
    f.bytes[sof + 1] = 0xC3; /* lossless */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "lossless");
    free(f.bytes);
}

/* Bytes behind the image are of no concern: cameras put previews and notes there. */
static void test_trailer(void **state)
{
    (void)state;
    struct file f = make_jpeg(&gray, 8, 8, NULL);
    uint8_t *longer = calloc(1, f.n + 1000);
    assert_non_null(longer);
    memcpy(longer, f.bytes, f.n);
    struct decoded d = decode(longer, f.n + 1000, MAX_PIXELS, 1);
    assert_int_equal(d.status, IH_OK);
    free(d.pixels);
    free(longer);
    free(f.bytes);
}

/* Files in several scans take their coefficients: of 33 x 17 pixels at 2 x 1 sampling three MCUs a
 * row, six and twice three blocks, in three rows of them. Others take nothing. */
static void test_budget(void **state)
{
    (void)state;
    const struct kind split = {JCS_RGB, JCS_YCbCr, 2, 1, .is_split = true};
    const struct kind *const in_scans[] = {&progressive, &split};
    const uint64_t n_bytes = (uint64_t)(6 + 3 + 3) * 3 * 64 * 2;
    for (size_t i = 0; i < 2; i++) {
        struct file f = make_jpeg(in_scans[i], 33, 17, NULL);
        assert_budget(f.bytes, f.n, n_bytes, IH_OK);
        assert_budget(f.bytes, f.n, n_bytes - 1, IH_LIMIT);
        assert_budget(f.bytes, f.n / 2, n_bytes, IH_CORRUPT);
        free(f.bytes);
    }
    struct file f = make_jpeg(&yuv420, 33, 17, NULL);
    assert_budget(f.bytes, f.n, 0, IH_OK);
    free(f.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_baseline),       cmocka_unit_test(test_harmless_warnings),
        cmocka_unit_test(test_progressive),    cmocka_unit_test(test_cmyk),
        cmocka_unit_test(test_truncation),     cmocka_unit_test(test_restart_marker_out_of_turn),
        cmocka_unit_test(test_scan_cut_short), cmocka_unit_test(test_component_without_a_scan),
        cmocka_unit_test(test_no_pixels),      cmocka_unit_test(test_unsupported_kinds),
        cmocka_unit_test(test_trailer),        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
