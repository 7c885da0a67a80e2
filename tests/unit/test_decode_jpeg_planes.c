/*
 * JPEG files read as planes and as pixels: the same image and the same counts, and the same message
 * for a damaged file.
 */
#include "tests/support/test.h"

#include "decode/decoder.h"
#include "tests/support/decoded.h"
#include "tests/support/jpeg_files.h"
#include "tests/support/planes_read.h"

/* ---- files ---- */

/* FEW: the minimum; SPLIT: one for each component; PARTIAL: a progressive file that omits bits of
 * coefficients, which the library smooths. */
enum scans { FEW, SPLIT, PROGRESSIVE, PARTIAL };

struct kind {
    int h[3], v[3]; /* sampling factors */
    enum scans scans;
    unsigned restart_interval; /* MCUs; 0: none */
    bool is_arithmetic;
    J_COLOR_SPACE pixels, stored; /* JCS_UNKNOWN: RGB as YCbCr */
};

#define H1V1    \
    {1, 1, 1},  \
    {           \
        1, 1, 1 \
    }
#define H2V1    \
    {2, 1, 1},  \
    {           \
        1, 1, 1 \
    }
#define H2V2    \
    {2, 1, 1},  \
    {           \
        2, 1, 1 \
    }

static const struct kind kinds[] = {
    {H1V1, FEW, .restart_interval = 0},
    {H2V1, FEW, .restart_interval = 0},
    {H2V2, FEW, .restart_interval = 0},
    {H1V1, FEW, .restart_interval = 3},
    {H2V2, FEW, .restart_interval = 2},
    {H1V1, SPLIT, .restart_interval = 0},
    {H2V1, SPLIT, .restart_interval = 5},
    {H2V2, SPLIT, .restart_interval = 0},
    {H1V1, PROGRESSIVE, .restart_interval = 0},
    {H2V1, PROGRESSIVE, .restart_interval = 0},
    {H2V2, PROGRESSIVE, .restart_interval = 1},
    {H2V1, PARTIAL, .restart_interval = 0},
    {H2V2, PARTIAL, .restart_interval = 0},
#if defined(C_ARITH_CODING_SUPPORTED) && defined(D_ARITH_CODING_SUPPORTED)
    {H1V1, FEW, .is_arithmetic = true},
    {H2V2, FEW, .is_arithmetic = true, .restart_interval = 2},
    {H2V2, PROGRESSIVE, .is_arithmetic = true},
#endif
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static void set_scans(struct jpeg_compress_struct *c, enum scans scans)
{
    static const jpeg_scan_info split[3] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    static const jpeg_scan_info partial[2] = {{3, {0, 1, 2}, 0, 0, 0, 0}, {1, {0}, 1, 2, 0, 1}};
    if (scans == PROGRESSIVE) {
        jpeg_simple_progression(c);
    } else if (scans != FEW) {
        c->scan_info = scans == SPLIT ? split : partial;
        c->num_scans = scans == SPLIT ? 3 : 2;
    }
}

/* Rows of a slope with noise in each channel, then rows of 0 and 255, by turns. */
static uint8_t sample(unsigned i, unsigned y, uint32_t random, const void *context)
{
    return (uint8_t)(y / 8 % 2 == 0 ? i * (2 + i % 3) + y * 5 + (random >> 27)
                                    : (random >> 31) * 255);
}

static struct jpeg_file make_file(const struct kind *kind, unsigned width, unsigned height)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_file f = {NULL, 0};
    begin_jpeg(&c, &errors, &f, width, height,
               kind->pixels == JCS_UNKNOWN ? JCS_RGB : kind->pixels);
    jpeg_set_colorspace(&c, kind->stored == JCS_UNKNOWN ? JCS_YCbCr : kind->stored);
    jpeg_set_quality(&c, 75, TRUE);
    for (int i = 0; i < 3 && i < c.num_components; i++) {
        c.comp_info[i].h_samp_factor = kind->h[i];
        c.comp_info[i].v_samp_factor = kind->v[i];
    }
    c.restart_interval = kind->restart_interval;
    c.arith_code = kind->is_arithmetic;
    set_scans(&c, kind->scans);
    write_rows(&c, width * 64 + height + 1, sample, NULL);
    return f;
}

/* ---- planes and pixels ---- */

struct outcome {
    enum ih_status status;
    bool has_planes;
    unsigned n_stripes;
};

/* Reads a file as planes and as pixels, and compares. */
static struct outcome read_both(const struct jpeg_file *f, size_t more_bytes)
{
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS, .is_lenient = true};
    struct ih_reader source = {0};
    ih_reader_open_memory(&source, f->bytes, f->n);
    struct planes_read p = read_source(&source, more_bytes, &options);
    struct decoded d = decode_with(f->bytes, f->n, &options, ALL_ROWS);
    const struct outcome out = {d.status, p.has_planes, p.n_stripes};
    if (p.has_planes || p.status != IH_OK) {
        assert_int_equal(p.status, d.status);
        if (p.status != IH_OK)
            assert_string_equal(p.error.message, d.error.message);
    }
    if (p.has_planes && p.status == IH_OK) {
        const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
        struct ih_histogram expected;
        size_t n_wrong = 0;
        for (size_t i = 0; i < d.n_pixels; i++) {
            uint32_t rgb[3];
            ih_ycc_pixel(&p.image, p.h, p.v, (uint32_t)(i % d.info.width),
                         (uint32_t)(i / d.info.width), rgb);
            for (unsigned c = 0; c < 3; c++)
                n_wrong += rgb[c] != d.pixels[3 * i + c];
        }
        assert_int_equal(n_wrong, 0);
        count_with(&ih_count_reference, &spec, d.pixels, d.n_pixels, &expected);
        if (ih_counter_takes_planes(&ih_count_tables))
            assert_same(&expected, &p.counts);
        ih_histogram_reset(&expected);
    }
    free(d.pixels);
    free_planes(&p);
    return out;
}

static void check_size(const struct kind *kind, unsigned width, unsigned height)
{
    /* the least buffer; a byte more; a byte less than another row of MCUs needs; three rows; 1 MiB
     */
    const unsigned v = (unsigned)kind->v[0];
    const size_t row_bytes = (width / 64 + 2) * 64 * (kind->h[0] == 1 || v == 2 ? 24 : 16);
    const size_t more_bytes[] = {0, 1, row_bytes - 1, 3 * row_bytes, 1 << 20};
    const unsigned n_mcu_rows = (height + 8 * v - 1) / (8 * v);
    struct jpeg_file f = make_file(kind, width, height);
    for (unsigned i = (width + height) % 3; i < 5; i += 3) {
        const struct outcome out = read_both(&f, more_bytes[i]);
        assert_int_equal(out.status, IH_OK);
        assert_int_equal(out.has_planes, width >= 5 || kind->h[0] == 1);
        if (out.has_planes) /* as few stripes as the buffer allows */
            assert_int_equal(out.n_stripes, i < 3 ? n_mcu_rows
                                            : i == 3
                                                ? (n_mcu_rows + 3) / 4
                                                : (n_mcu_rows * row_bytes > more_bytes[4]) + 1);
    }
    free(f.bytes);
}

TEST(sizes)
{
    static const unsigned widths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  15,
                                      16, 17, 31, 33, 48, 63, 64, 65, 100};
    static const unsigned heights[] = {1,  2,  7,  8,  9,  15, 16, 17, 18,
                                       31, 32, 33, 34, 48, 49, 65, 80};
    for (unsigned k = 0; k < N_KINDS; k++) {
        for (unsigned i = 0; i < sizeof widths / sizeof widths[0]; i++)
            check_size(&kinds[k], widths[i], 1 + (k * 5 + i * 7) % 52);
        for (unsigned i = 0; i < sizeof heights / sizeof heights[0]; i++)
            check_size(&kinds[k], 5 + (k * 3 + i * 11) % 40, heights[i]);
        check_size(&kinds[k], 4097 + k % 2, 33 + k % 3);
        check_size(&kinds[k], 5 + k % 4, 1025 + k % 3);
    }
}

/* Layouts that struct ih_planes cannot describe, and other colour spaces. */
TEST(no_planes)
{
    static const struct kind others[] = {
        {{1, 1, 1}, {2, 1, 1}, .scans = FEW},              /* 4:4:0 */
        {{4, 1, 1}, {1, 1, 1}, .scans = FEW},              /* 4:1:1 */
        {{4, 1, 1}, {2, 1, 1}, .scans = FEW},              /* 4:1:0 */
        {{2, 2, 2}, {2, 2, 2}, .scans = SPLIT},            /* 4:4:4 in larger MCUs */
        {{2, 2, 2}, {2, 1, 1}, .scans = FEW},              /* 4:4:0, written differently */
        {{2, 1, 1}, {2, 2, 2}, .scans = FEW},              /* 4:2:2 */
        {{2, 1, 2}, {2, 1, 1}, .scans = FEW},              /* Cr larger than Cb */
        {{2, 1, 1}, {2, 1, 2}, .scans = SPLIT},            /* taller than Cb */
        {{1, 2, 1}, {1, 1, 1}, .scans = FEW},              /* Cb larger than Y */
        {H1V1, FEW, .pixels = JCS_RGB, .stored = JCS_RGB}, /* by Adobe's marker */
        {H1V1, FEW, .pixels = JCS_CMYK, .stored = JCS_CMYK},
        {H2V2, FEW, .pixels = JCS_CMYK, .stored = JCS_YCCK},
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct jpeg_file f = make_file(&others[i], 67, 35);
        const struct outcome out = read_both(&f, 0);
        assert_int_equal(out.status, IH_OK);
        assert_false(out.has_planes);
        free(f.bytes);
    }
    const struct jpeg_file gray_pnm = {(unsigned char[]){"P5 2 1 255\nab"}, 13};
    const struct outcome out = read_both(&gray_pnm, 0);
    assert_int_equal(out.status, IH_OK);
    assert_false(out.has_planes);
}

TEST(truncation)
{
    for (unsigned k = 0; k < N_KINDS; k++) {
        struct jpeg_file f = make_file(&kinds[k], 21, 34);
        for (struct jpeg_file part = f; part.n-- > 0;) {
            unsigned char *copy = malloc(part.n + 1);
            assert_non_null(copy);
            part.bytes = memcpy(copy + 1, f.bytes, part.n);
            assert_true(read_both(&part, part.n % 3 * 999).status != IH_OK);
            free(copy);
        }
        free(f.bytes);
    }
}

/* Every second byte inverted, the others with one bit inverted. Most damage is found; some gives
 * another image, the same in both ways. */
TEST(damage)
{
    unsigned n_sound = 0, n_refused_late = 0;
    for (unsigned k = 0; k < N_KINDS; k++) {
        struct jpeg_file f = make_file(&kinds[k], 21, 34);
        for (unsigned long i = 0; i < f.n; i++) {
            const unsigned char before = f.bytes[i];
            f.bytes[i] ^= (unsigned char)((i + k) % 2 ? 0xFF : 1 << i / 2 % 8);
            const struct outcome out = read_both(&f, i % 3 * 999);
            n_sound += out.status == IH_OK && out.has_planes;
            n_refused_late += out.status != IH_OK && out.has_planes;
            f.bytes[i] = before;
        }
        free(f.bytes);
    }
    assert_true(n_sound > 1000 && n_refused_late > 1000);
}

/* Coefficients of a file with several scans are taken from the budget and given back. 37 x 35
 * pixels at 2 x 2 sampling are three rows of three MCUs, each of four blocks of Y and two of
 * chroma. */
TEST(budget)
{
    const uint64_t wanted = (uint64_t)9 * 6 * 64 * 2;
    const struct kind progressive = {H2V2, .scans = PROGRESSIVE};
    struct jpeg_file f = make_file(&progressive, 37, 35);
    for (unsigned i = 0; i < 3; i++) { /* enough, too little, enough for a damaged file */
        struct ih_budget budget;
        ih_budget_init(&budget, i == 1 ? wanted - 1 : wanted);
        struct planes_read p = read_planes(f.bytes, i == 2 ? f.n / 2 : f.n, 0, &budget);
        assert_true(p.has_planes);
        assert_int_equal(p.status, i == 0 ? IH_OK : i == 1 ? IH_LIMIT : IH_CORRUPT);
        assert_int_equal(budget.taken_bytes, 0);
        ih_budget_destroy(&budget);
        free_planes(&p);
    }
    free(f.bytes);
}

/* A decoder that delivers the number of rows that a test sets. */
static uint32_t fake_rows;

static size_t fake_planes_bytes(void *state)
{
    return 1;
}

static enum ih_status fake_read_planes(void *state, uint8_t *buffer, size_t size_bytes,
                                       struct ih_planes *planes, struct ih_error *err)
{
    planes->width = 7;
    planes->n_rows = fake_rows;
    return IH_OK;
}

/* The number of rows is checked. A decoder process and a decoder without read_planes give no
 * planes. */
TEST(number_of_rows)
{
    const struct ih_decoder fake = {.planes_bytes = fake_planes_bytes,
                                    .read_planes = fake_read_planes};
    const struct ih_decoder pixels_only = {.name = "pixels"};
    struct ih_reader src = {0};
    struct ih_decode d = {
        .decoder = &fake,
        .src = &src,
        .info = {.width = 7, .height = 5, .layout = IH_LAYOUT(3), .n_bins = IH_BINS}};
    struct ih_planes planes;
    struct ih_error err;
    uint8_t buffer[1];
    static const struct {
        uint32_t rows;
        enum ih_status status;
        const char *reason;
    } reads[] = {{3, IH_OK, ""},
                 {0, IH_CORRUPT, "the file ends after 21 of 35 pixels"},
                 {2, IH_OK, ""},
                 {0, IH_OK, ""},
                 {1, IH_CORRUPT, "its decoder gave more than 35 pixels"}};
    assert_int_equal(ih_decode_planes_bytes(&d), 1);
    for (unsigned i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        fake_rows = reads[i].rows;
        assert_int_equal(ih_decode_read_planes(&d, buffer, 1, &planes, &err), reads[i].status);
        if (reads[i].status != IH_OK)
            assert_string_equal(err.message, reads[i].reason);
    }
    d.remote = (void *)buffer; /* is not read */
    assert_int_equal(ih_decode_planes_bytes(&d), 0);
    d.remote = NULL;
    d.decoder = &pixels_only;
    assert_int_equal(ih_decode_planes_bytes(&d), 0);
}
