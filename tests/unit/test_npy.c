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
         "an array of shape (9, 3, 4, ...) is no image"},
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
