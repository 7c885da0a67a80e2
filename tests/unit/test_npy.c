/* NPY files, written byte by byte, sound and damaged. */
#include "tests/support/damage.h"
#include "tests/support/written.h"

/* A file of version 1.0 with this header, as it is. */
static void start(struct file *f, const char *header)
{
    *f = (struct file){.n = 0};
    put(f, "\x93NUMPY\1\0", 8);
    put_number(f, 2, (uint32_t)strlen(header));
    put(f, header, strlen(header));
}

#define HEADER(descr, order, shape) \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }   \n"

TEST(types_and_shapes)
{
    struct file f;
    start(&f, HEADER("|u1", "False", "(2, 3)"));
    PUT(&f, 1, 2, 3, 4, 5, 6);
    assert_decodes(f.bytes, f.n, "npy", 3, 2, 1, EXPECT(1, 2, 3, 4, 5, 6));
    start(&f, HEADER("|u1", "False", "(1, 3, 1)"));
    PUT(&f, 7, 8, 9);
    assert_decodes(f.bytes, f.n, "npy", 3, 1, 1, EXPECT(7, 8, 9));
    start(&f, HEADER("|u1", "False", "(1, 2, 4)"));
    PUT(&f, 1, 2, 3, 4, 5, 6, 7, 8);
    assert_decodes(f.bytes, f.n, "npy", 2, 1, 4, EXPECT(1, 2, 3, 4, 5, 6, 7, 8));
    start(&f, HEADER("|b1", "False", "(1, 3)"));
    PUT(&f, 0, 1, 1);
    assert_decodes(f.bytes, f.n, "npy", 3, 1, 1, EXPECT(0, 255, 255));
    start(&f, HEADER("<u2", "False", "(1, 3)"));
    PUT(&f, 0, 0, 0xFF, 0xFF, 0x80, 0x00); /* 128 * 255 / 65535 = 0.498 */
    assert_decodes(f.bytes, f.n, "npy", 3, 1, 1, EXPECT(0, 255, 0));
    start(&f, HEADER(">u2", "False", "(1, 1, 2)"));
    PUT(&f, 0x00, 0x81, 0xFF, 0x00); /* 0.502, 254.01 */
    assert_decodes(f.bytes, f.n, "npy", 1, 1, 2, EXPECT(1, 254));
}

/* Columns follow each other, and channels too. */
TEST(fortran_order)
{
    struct file f;
    start(&f, HEADER("|u1", "True", "(2, 3)"));
    PUT(&f, 1, 2, 3, 4, 5, 6);
    assert_decodes(f.bytes, f.n, "npy", 3, 2, 1,
                   EXPECT(1, 2, 3, 4, 5, 6)); /* in the file's order */
    start(&f, HEADER("|u1", "True", "(2, 1, 3)"));
    PUT(&f, 1, 2, 11, 12, 21, 22);
    assert_decodes(f.bytes, f.n, "npy", 1, 2, 3, EXPECT(1, 11, 21, 2, 12, 22));
    start(&f, HEADER(">u2", "True", "(1, 2, 2)"));
    PUT(&f, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF);
    assert_decodes(f.bytes, f.n, "npy", 2, 1, 2, EXPECT(255, 0, 0, 255));
    assert_budget(f.bytes, f.n, 8, IH_OK);
    assert_budget(f.bytes, f.n, 7, IH_LIMIT);
}

TEST(floats)
{
    static const float expected[] = {1, -2, 0.5f, 4, 8, 16};
    struct file f;
    start(&f, HEADER("<f4", "False", "(1, 2, 3)"));
    for (unsigned i = 0; i < 6; i++) {
        uint32_t bits;
        memcpy(&bits, &expected[i], sizeof bits);
        put_number(&f, 4, bits);
    }
    assert_decodes(f.bytes, f.n, "npy", 2, 1, 3, (const uint8_t *)expected);
    assert_cuts_are_refused(f.bytes, f.n);
    start(&f, HEADER(">f4", "True", "(1, 2, 3)")); /* channel after channel */
    for (unsigned i = 0; i < 6; i++) {
        uint32_t bits;
        memcpy(&bits, &expected[i % 2 * 3 + i / 2], sizeof bits);
        put_number(&f, -4, bits);
    }
    assert_decodes(f.bytes, f.n, "npy", 2, 1, 3, (const uint8_t *)expected);
    assert_budget(f.bytes, f.n, 24, IH_OK);
    assert_budget(f.bytes, f.n, 23, IH_LIMIT);
}

/* What Python takes for the same header, as other programs write it. */
TEST(headers)
{
    static const char *const same[] = {
        "{\"shape\":(1,2,),\"descr\":\"|u1\",\"fortran_order\":False}",
        "  { 'fortran_order' :\tFalse , 'shape' : ( 1L , 2L ) , 'descr' : '|u1' , } \n\n",
    };
    struct file f;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        start(&f, same[i]);
        PUT(&f, 5, 6);
        assert_decodes(f.bytes, f.n, "npy", 2, 1, 1, EXPECT(5, 6));
    }
    for (uint8_t version = 2; version <= 3; version++) { /* the length has 4 bytes */
        f = (struct file){.n = 0};
        put(&f, "\x93NUMPY", 6);
        PUT(&f, version, 0);
        put_number(&f, 4, (uint32_t)strlen(same[0]));
        put(&f, same[0], strlen(same[0]));
        PUT(&f, 5, 6);
        assert_decodes(f.bytes, f.n, "npy", 2, 1, 1, EXPECT(5, 6));
    }
}

TEST(what_is_no_image)
{
    static const struct {
        const char *header;
        enum ih_status status;
        const char *message;
    } refused[] = {
        {HEADER("|u1", "False", "(5,)"), IH_UNSUPPORTED, "an array of shape (5) is no image"},
        {HEADER("|u1", "False", "()"), IH_UNSUPPORTED, "an array of shape () is no image"},
        {HEADER("|u1", "False", "(3, 4, 5)"), IH_UNSUPPORTED,
         "an array of shape (3, 4, 5) is no image"},
        {HEADER("|u1", "False", "(9, 3, 4, 5)"), IH_UNSUPPORTED,
         "an array of shape (9, 3, 4, 5) is no image"},
        {HEADER("|u1", "False", "(9, 3, 4, 5, 6)"), IH_UNSUPPORTED,
         "an array of shape (9, 3, 4, 5, ...) is no image"},
        {HEADER("|u1", "False", "(0, 4)"), IH_UNSUPPORTED,
         "an array of shape (0, 4) has no pixels"},
        {HEADER("|u1", "False", "(2, 4, 0)"), IH_UNSUPPORTED,
         "an array of shape (2, 4, 0) has no pixels"},
        {HEADER("|u1", "False", "(4294967296, 1)"), IH_UNSUPPORTED,
         "an array of shape (4294967296, 1) is no image"},
        {HEADER("<f8", "False", "(2, 2)"), IH_UNSUPPORTED, "samples of type '<f8'"},
        {HEADER("|O", "False", "(2, 2)"), IH_UNSUPPORTED, "samples of type '|O'"},
        {HEADER("\x1b[0m", "False", "(2, 2)"), IH_CORRUPT, "damaged NPY: an unknown type"},
        {HEADER("", "False", "(2, 2)"), IH_CORRUPT, "damaged NPY: an unknown type"},
        {"{'descr': [('r', '|u1')], 'fortran_order': False, 'shape': (2, 2), }", IH_UNSUPPORTED,
         "an array of records with fields"},
        {HEADER("|u1", "False", "(4294967295, 4294967295)"), IH_LIMIT, "image too large"},
        {HEADER("|u1", "True", "(4294967295, 4294967295, 4)"), IH_LIMIT, "image too large"},
        {HEADER("|u1", "false", "(2, 2)"), IH_CORRUPT, "damaged NPY: its header is not a dict"},
        {HEADER("|u1", "False", "(2, 2"), IH_CORRUPT, "damaged NPY: its header is not a dict"},
        {HEADER("|u1", "False", "(2 2)"), IH_CORRUPT, "damaged NPY: its header is not a dict"},
        {HEADER("|u1", "False", "(-2, 2)"), IH_CORRUPT, "damaged NPY: its header is not a dict"},
        {HEADER("|u1", "False", "(9999999999999999999, 2)"), IH_CORRUPT,
         "damaged NPY: its header is not a dict"},
        {HEADER("|u1", "False", "(2, 2)") "1", IH_CORRUPT, "damaged NPY: its header is not a dict"},
        {HEADER("a type that is too long", "False", "(2, 2)"), IH_CORRUPT,
         "damaged NPY: its header is not a dict"},
        {"{'descr': '|u1', 'shape': (2, 2)}", IH_CORRUPT, "damaged NPY: its header is not a dict"},
        {"{'descr': '|u1', 'shape': (2, 2), 'fortran_order': False, 'shape': (1, 1)}", IH_CORRUPT,
         "damaged NPY: its header is not a dict"},
        {"{'descr': '|u1', 'shape': (2, 2), 'fortran_order': False, 'more': (1, 1)}", IH_CORRUPT,
         "damaged NPY: its header is not a dict"},
        {"", IH_CORRUPT, "damaged NPY: its header is not a dict"},
    };
    struct file f;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        start(&f, refused[i].header);
        PUT(&f, 1, 2, 3, 4);
        assert_refused(f.bytes, f.n, refused[i].status, refused[i].message);
    }
}

TEST(damage)
{
    struct file f;
    start(&f, HEADER("<u2", "True", "(5, 9, 3)"));
    for (unsigned i = 0; i < 5 * 9 * 3; i++)
        put_number(&f, 2, 977 * i);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 20);
    start(&f, HEADER("|b1", "False", "(1, 2)"));
    PUT(&f, 1, 2);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged NPY: a bool that is neither 0 nor 1");
    assert_cuts_are_refused(f.bytes, f.n);
    f.bytes[6] = 4;
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "NPY of version 4.0 is not supported");
    f.bytes[6] = 2; /* the header's own bytes become its length */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged NPY: its header is too long");
    start(&f, HEADER("|u1", "False", "(1, 2)"));
    f.bytes[20] = 0;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged NPY: its header has a NUL byte");
}

enum { N = 2, H = 3, W = 4, C = 5 };

/* A sample tells its place. */
static unsigned place(unsigned n, unsigned y, unsigned x, unsigned c)
{
    return n * 100 + y * 30 + x * 6 + c;
}

/* Writes an array of these axes, with sizes N, H, W and C. */
static void put_array(struct file *f, enum ih_axes axes, bool is_fortran, unsigned bytes)
{
    const char *const letters = ih_axes_letters[axes];
    const unsigned n_axes = (unsigned)strlen(letters);
    char header[120], shape[40] = "";
    unsigned sizes[4], at[4] = {0}, n_samples = 1;
    for (unsigned i = 0; i < n_axes; i++) {
        sizes[i] = letters[i] == 'N' ? N : letters[i] == 'H' ? H : letters[i] == 'W' ? W : C;
        n_samples *= sizes[i];
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%u, ", sizes[i]);
    }
    snprintf(header, sizeof header, HEADER(">u%u", "%s", "(%s)"), bytes,
             is_fortran ? "True" : "False", shape);
    start(f, header);
    for (unsigned i = 0; i < n_samples; i++) {
        unsigned by_letter[128] = {0}; /* where this sample is */
        for (unsigned k = 0; k < n_axes; k++)
            by_letter[(unsigned char)letters[k]] = at[k];
        put_number(f, -(int)bytes,
                   place(by_letter['N'], by_letter['H'], by_letter['W'], by_letter['C']));
        for (unsigned k = 0; k < n_axes; k++) { /* the next */
            const unsigned axis = is_fortran ? k : n_axes - 1 - k;
            if (++at[axis] < sizes[axis])
                break;
            at[axis] = 0;
        }
    }
}

/* Every sample has its place, in the order of pixels that info tells. */
TEST(axes)
{
    static struct file f;
    for (unsigned i = 0; i < (IH_AXES_END - 1) * 4u; i++) {
        const enum ih_axes axes = IH_AXES_AUTO + 1 + i / 4;
        const bool is_fortran = i & 1, is_deep = i & 2;
        const bool has_n = strchr(ih_axes_letters[axes], 'N'),
                   has_c = strchr(ih_axes_letters[axes], 'C');
        const struct ih_decode_options options = {
            .max_pixels = MAX_PIXELS, .axes = axes, .takes_frames = true, .takes_native = true};
        struct ih_reader source = {0};
        struct ih_decode d;
        struct ih_error err;
        uint8_t pixels[2 * C * W];
        size_t n_pixels = 1;
        bool has_next = true;
        put_array(&f, axes, is_fortran, is_deep ? 2 : 1);
        ih_reader_open_memory(&source, f.bytes, f.n);
        assert_int_equal(ih_decode_open(&d, &source, &options, &err), IH_OK);
        assert_int_equal(d.info.layout.n_channels, has_c ? C : 1);
        assert_int_equal(d.info.n_frames, has_n ? N : 0);
        for (unsigned n = 0; n < (has_n ? N : 1u); n++) {
            unsigned k = 0;
            for (n_pixels = 1; n_pixels > 0;) {
                assert_int_equal(ih_decode_read(&d, pixels, W, &n_pixels, &err), IH_OK);
                for (size_t p = 0; p < n_pixels; p++, k++)
                    for (unsigned c = 0; c < d.info.layout.n_channels; c++) {
                        const bool in_columns = d.info.order.kind == IH_PIXEL_ORDER_TILES;
                        const unsigned y = in_columns ? k % H : k / W,
                                       x = in_columns ? k / H : k % W;
                        const size_t at = p * d.info.layout.n_channels + c;
                        uint16_t deep;
                        memcpy(&deep, pixels + (is_deep ? 2 * at : 0), sizeof deep);
                        assert_int_equal(is_deep ? deep : pixels[at], place(n, y, x, c));
                    }
            }
            assert_int_equal(k, H * W);
            assert_int_equal(ih_decode_next(&d, &options, &has_next, &err), IH_OK);
            assert_int_equal(has_next, has_n && n + 1 < N);
        }
        ih_decode_close(&d);
        ih_reader_reset(&source);
    }
}

/* Only an image whose samples do not lie together is held, or all of them. */
TEST(axes_in_memory)
{
    static const struct {
        enum ih_axes axes;
        bool is_fortran;
        unsigned n_bytes;
    } held[] = {{IH_AXES_NHWC, false, 0},       {IH_AXES_NCHW, false, H * W * C},
                {IH_AXES_HWC, true, H * W * C}, {IH_AXES_CHW, true, 0},
                {IH_AXES_NHW, true, N * H * W}, {IH_AXES_NHWC, true, N * H * W * C}};
    static struct file f;
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        for (unsigned lacking = 0; lacking <= (held[i].n_bytes > 0); lacking++) {
            struct ih_budget budget;
            struct decoded d;
            put_array(&f, held[i].axes, held[i].is_fortran, 1);
            ih_budget_init(&budget, held[i].n_bytes - lacking);
            const struct ih_decode_options options = {
                .max_pixels = MAX_PIXELS, .axes = held[i].axes, .budget = &budget};
            d = decode_with(f.bytes, f.n, &options, ALL_ROWS);
            free(d.pixels);
            ih_budget_destroy(&budget);
            assert_int_equal(d.status, lacking ? IH_LIMIT : IH_OK);
        }
}

TEST(axes_that_do_not_fit)
{
    static const struct {
        enum ih_axes axes;
        const char *header, *message;
    } refused[] = {
        {IH_AXES_HWC, HEADER("|u1", "False", "(2, 2)"), "shape (2, 2) does not fit the axes HWC"},
        {IH_AXES_HWC, HEADER("|u1", "False", "(1, 1, 4097)"),
         "does not fit the axes HWC, with up to 4096 channels"},
        {IH_AXES_NHW, HEADER("|u1", "False", "(4294967296, 1, 1)"), "does not fit the axes NHW"},
        {IH_AXES_NHW, HEADER("|u1", "False", "(0, 1, 1)"), "shape (0, 1, 1) has no pixels"},
        {IH_AXES_NHWC, HEADER("<f4", "True", "(4294967295, 1000, 1000, 4096)"),
         "damaged NPY: its shape has more samples than a file can have"},
        {IH_AXES_NHWC, HEADER("<f4", "True", "(4294967295, 1000, 1000, 4)"),
         "damaged NPY: the file ends before the image does"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct file f;
        const struct ih_decode_options options = {.max_pixels = MAX_PIXELS,
                                                  .axes = refused[i].axes};
        start(&f, refused[i].header);
        PUT(&f, 1, 2, 3, 4);
        struct decoded d = decode_with(f.bytes, f.n, &options, 1);
        free(d.pixels);
        if (d.status == IH_OK || !strstr(d.error.message, refused[i].message))
            fail_msg("status %d, '%s'", (int)d.status, d.error.message);
    }
}
