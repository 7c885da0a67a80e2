/*
 * The JPEG decoder on files that libjpeg writes here: the pixels of libjpeg's own plain loop, CMYK
 * computed by hand, and damage.
 */
#include "tests/support/test.h"

#include "decode/decoder.h"
#include "tests/support/damage.h"
#include "tests/support/decoded.h"
#include "tests/support/jpeg_files.h"

struct kind {
    J_COLOR_SPACE pixels, stored;
    int h_sampling, v_sampling;                  /* of the first component */
    bool is_progressive, is_split, has_no_adobe; /* split: a scan for each component */
    unsigned restart_interval;                   /* MCUs; 0: none */
    bool is_lossless;                            /* only if HAS_LOSSLESS is defined */
};

#if LIBJPEG_TURBO_VERSION_NUMBER >= 3000000
#define HAS_LOSSLESS
#endif

static uint8_t sample(unsigned i, unsigned y, uint32_t random, const void *pixel)
{
    return pixel ? ((const uint8_t *)pixel)[i % 4] : (uint8_t)(i * 2 + y * 3 + (random >> 27));
}

/* pixel: CMYK, fills the image; NULL: a slope with noise */
static struct jpeg_file make_file(const struct kind *kind, unsigned width, unsigned height,
                                  const uint8_t *pixel)
{
    static const jpeg_scan_info scans[3] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_file f = {NULL, 0};
    begin_jpeg(&c, &errors, &f, width, height, kind->pixels);
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
#ifdef HAS_LOSSLESS
    if (kind->is_lossless)
        jpeg_enable_lossless(&c, 1, 0);
#endif
    write_rows(&c, 1, sample, pixel);
    return f;
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
        struct jpeg_file f = make_file(kind, width, height, NULL);
        decode_plainly(&f, expected);
        assert_decodes(f.bytes, f.n, "jpeg", width, height, kind->pixels == JCS_GRAYSCALE ? 1 : 3,
                       expected);
        free(f.bytes);
    }
}

TEST(baseline)
{
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

/* libjpeg warns of an unknown JFIF revision and colour transform; no pixels are lost. */
TEST(harmless_warnings)
{
    const struct kind rgb = {JCS_RGB, JCS_RGB, 1, 1,
                             .is_progressive = false}; /* has Adobe's marker */
    uint8_t expected[16 * 16 * 3];
    struct jpeg_file f = make_file(&yuv420, 16, 16, NULL);
    decode_plainly(&f, expected);
    assert_memory_equal(f.bytes + 6, "JFIF", 5);
    f.bytes[11] = 9;
    assert_decodes(f.bytes, f.n, "jpeg", 16, 16, 3, expected);
    free(f.bytes);
    f = make_file(&rgb, 16, 16, NULL);
    assert_memory_equal(f.bytes + 6, "Adobe", 5);
    f.bytes[17] = 7; /* then libjpeg assumes YCbCr */
    decode_plainly(&f, expected);
    assert_decodes(f.bytes, f.n, "jpeg", 16, 16, 3, expected);
    free(f.bytes);
}

TEST(progressive)
{
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
    struct jpeg_file f = make_file(&kind, 17, 5, cmyk);
    assert_decodes(f.bytes, f.n, "jpeg", 17, 5, 3, expected);
    free(f.bytes);
}

/* An image of one colour at quality 100 is stored exactly. Samples are 255 - ink, with and without
 * Adobe's marker: Pillow 13, OpenCV 5, ffmpeg 5.1 and djpeg agree. */
TEST(cmyk)
{
    /* 10 * 40 / 255 = 1.57, 3.14, 4.71 */
    check_cmyk(false, false, (const uint8_t[]){10, 20, 30, 40}, (const uint8_t[]){2, 3, 5});
    check_cmyk(false, false, (const uint8_t[]){255, 128, 0, 255}, (const uint8_t[]){255, 128, 0});
    check_cmyk(false, true, (const uint8_t[]){10, 20, 30, 40}, (const uint8_t[]){2, 3, 5});
    check_cmyk(false, true, (const uint8_t[]){255, 128, 0, 255}, (const uint8_t[]){255, 128, 0});
    /* gray ink, which YCC stores exactly: 50 * 40 / 255 = 7.84 */
    check_cmyk(true, false, (const uint8_t[]){50, 50, 50, 40}, (const uint8_t[]){8, 8, 8});
}

TEST(truncation)
{
    const struct kind *kinds[] = {&gray, &yuv420, &progressive, &restarts};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct jpeg_file f = make_file(kinds[i], 33, 17, NULL);
        assert_cuts_are_refused(f.bytes, f.n);
        free(f.bytes);
    }
}

/* Offset of the nth marker of this code, from 0. */
static size_t find_marker(const struct jpeg_file *f, unsigned code, unsigned nth)
{
    for (size_t i = 0; i + 1 < f->n; i++)
        if (f->bytes[i] == 0xFF && f->bytes[i + 1] == code && nth-- == 0)
            return i;
    fail_msg("no marker %02x", code);
    return 0;
}

TEST(restart_marker_out_of_turn)
{
    struct jpeg_file f = make_file(&restarts, 40, 16, NULL);
    f.bytes[find_marker(&f, 0xD2, 0) + 1] = 0xD5;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

/* EOI in the middle of a scan. */
TEST(scan_cut_short)
{
    struct jpeg_file f = make_file(&yuv420, 63, 40, NULL);
    f.bytes[f.n / 2] = 0xFF;
    f.bytes[f.n / 2 + 1] = 0xD9;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

/* EOI instead of the second component's scan: libjpeg would invent its samples. */
TEST(component_without_a_scan)
{
    const struct kind split = {JCS_RGB, JCS_YCbCr, 1, 1, .is_split = true};
    check_kind(&split);
    struct jpeg_file f = make_file(&split, 63, 40, NULL);
    size_t end = find_marker(&f, 0xDA, 1);
    f.bytes[end] = 0xFF;
    f.bytes[end + 1] = 0xD9;
    assert_refused(f.bytes, end + 2, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

TEST(no_pixels)
{
    struct jpeg_file f = make_file(&gray, 8, 8, NULL);
    size_t sof = find_marker(&f, 0xC0, 0);
    f.bytes[sof + 8] = 0; /* width */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged JPEG: ");
    free(f.bytes);
}

TEST(unsupported_kinds)
{
    struct jpeg_file f = make_file(&gray, 8, 8, NULL);
    size_t sof = find_marker(&f, 0xC0, 0);
    f.bytes[sof + 4] = 12; /* bits */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "12 bits");
    f.bytes[sof + 4] = 8;
    f.bytes[sof + 6] = 0; /* height */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "DNL");
    f.bytes[sof + 6] = 8;
    f.bytes[sof + 1] = 0xF7;
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "JPEG-LS");
    f.bytes[sof + 1] = 0xC5; /* hierarchical */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "lossless or hierarchical");
    f.bytes[sof + 1] = 0xDE;
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "hierarchical JPEG is not supported");
    f.bytes[sof + 1] = 0xC0;
    f.bytes[sof + 5] = f.bytes[sof + 6] = 0xFF; /* height */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "JPEG is not supported: Maximum supported image");
    f.bytes[sof + 5] = 0;
    f.bytes[sof + 6] = 8;
    f.bytes[sof + 1] = 0xC3; /* lossless, with baseline data */
#ifdef HAS_LOSSLESS
    assert_refused(f.bytes, f.n, IH_CORRUPT, "lossless");
#else
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "lossless");
#endif
    free(f.bytes);
}

/* libjpeg-turbo 3 decodes lossless files of 8 bits. */
TEST(lossless)
{
#ifdef HAS_LOSSLESS
    const struct kind lossless_gray = {JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, .is_lossless = true};
    const struct kind lossless_rgb = {JCS_RGB, JCS_RGB, 1, 1, .is_lossless = true};
    check_kind(&lossless_gray);
    check_kind(&lossless_rgb);
#else
    skip("libjpeg writes no lossless JPEG");
#endif
}

/* Bytes after the image are ignored: cameras put previews and notes there. */
TEST(trailer)
{
    struct jpeg_file f = make_file(&gray, 8, 8, NULL);
    uint8_t *longer = calloc(1, f.n + 1000);
    assert_non_null(longer);
    memcpy(longer, f.bytes, f.n);
    struct decoded d = decode(longer, f.n + 1000, MAX_PIXELS, 1);
    assert_int_equal(d.status, IH_OK);
    free(d.pixels);
    free(longer);
    free(f.bytes);
}

/* Files with several scans take memory for their coefficients. 33 x 17 pixels at 2 x 1 sampling are
 * three rows of three MCUs, each of two blocks of Y and one each of Cb and Cr. */
TEST(budget)
{
    const struct kind split = {JCS_RGB, JCS_YCbCr, 2, 1, .is_split = true};
    const struct kind *const in_scans[] = {&progressive, &split};
    const uint64_t n_bytes = (uint64_t)(6 + 3 + 3) * 3 * 64 * 2;
    for (size_t i = 0; i < 2; i++) {
        struct jpeg_file f = make_file(in_scans[i], 33, 17, NULL);
        assert_budget(f.bytes, f.n, n_bytes, IH_OK);
        assert_budget(f.bytes, f.n, n_bytes - 1, IH_LIMIT);
        assert_budget(f.bytes, f.n / 2, n_bytes, IH_CORRUPT);
        free(f.bytes);
    }
    struct jpeg_file f = make_file(&yuv420, 33, 17, NULL);
    assert_budget(f.bytes, f.n, 0, IH_OK);
    free(f.bytes);
}
