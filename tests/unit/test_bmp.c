/* BMP files of every header, depth and coding, sound and damaged, written byte by byte. */
#include "tests/support/damage.h"
#include "tests/support/written.h"

enum {
    CORE = 12,
    OS2_SHORT = 16,
    INFO = 40,
    MASKS = 52,
    ALPHA_MASK = 56,
    OS2 = 64,
    V4 = 108,
    V5 = 124
};
enum { RGB, RLE8, RLE4, BITFIELDS, ALPHA_BITFIELDS = 6 };

struct header {
    uint32_t bytes, width, height, bits, compression;
    uint32_t n_colours; /* entries of the palette */
    uint32_t n_stated;  /* entries according to the header */
    uint32_t masks[4];  /* in the header, or after a header of 40 bytes */
    uint32_t gap;       /* unused bytes before the pixels */
};

/* Writes both headers, the masks and the palette. Entry i is i+1, i+2, i+3 as blue, green, red. */
static struct file start(const struct header *h)
{
    struct file f = {.n = 0};
    bool is_core = h->bytes == CORE;
    uint32_t n_after = h->bytes != INFO                    ? 0
                       : h->compression == BITFIELDS       ? 3
                       : h->compression == ALPHA_BITFIELDS ? 4
                                                           : 0;
    uint32_t entry_bytes = is_core ? 3 : 4;
    put(&f, "BM", 2);
    put_number(&f, 4, 0); /* the file's size, which decoders ignore */
    put_number(&f, 4, 0);
    put_number(&f, 4, 14 + h->bytes + 4 * n_after + h->n_colours * entry_bytes + h->gap);
    size_t begin = f.n;
    put_number(&f, 4, h->bytes);
    put_number(&f, is_core ? 2 : 4, h->width);
    put_number(&f, is_core ? 2 : 4, h->height);
    put_number(&f, 2, 1);
    put_number(&f, 2, h->bits);
    if (h->bytes >= INFO) {
        put_number(&f, 4, h->compression);
        for (int i = 0; i < 3; i++)
            put_number(&f, 4, 0);
        put_number(&f, 4, h->n_stated);
        put_number(&f, 4, 0);
    }
    for (unsigned i = 0; i < 4 && h->bytes >= MASKS && h->bytes != OS2; i++)
        if (i < 3 || h->bytes > MASKS)
            put_number(&f, 4, h->masks[i]);
    while (f.n - begin < h->bytes)
        put_number(&f, 1, 0);
    for (unsigned i = 0; i < n_after; i++)
        put_number(&f, 4, h->masks[i]);
    for (uint32_t i = 0; i < h->n_colours; i++)
        put_number(&f, (int)entry_bytes, (i + 1) % 256 | (i + 2) % 256 << 8 | (i + 3) % 256 << 16);
    for (uint32_t i = 0; i < h->gap; i++)
        put_number(&f, 1, 0xEE);
    return f;
}

#define START(...) start(&(const struct header){__VA_ARGS__})

/* Colour i of the palette that start writes, as red, green, blue. */
#define COLOUR(i) (i) + 3, (i) + 2, (i) + 1

TEST(24_bits)
{
    static const uint32_t headers[] = {CORE, OS2_SHORT, INFO, MASKS, ALPHA_MASK, OS2, V4, V5};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct file f = START(headers[i], 2, 2, 24, .gap = (uint32_t)i);
        PUT(&f, 1, 2, 3, 4, 5, 6, 0, 0); /* rows are padded to 4 bytes */
        PUT(&f, 7, 8, 9, 10, 11, 12, 0, 0);
        assert_decodes(f.bytes, f.n, "bmp", 2, 2, 3, EXPECT(3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10));
        assert_cuts_are_refused(f.bytes, f.n);
    }
    struct file f = START(INFO, 1, (uint32_t)-2, 24, .compression = RGB); /* top down */
    PUT(&f, 1, 2, 3, 0, 4, 5, 6, 0);
    assert_decodes(f.bytes, f.n, "bmp", 1, 2, 3, EXPECT(3, 2, 1, 6, 5, 4));
}

/* The palette ends at the stated length, or where the pixels start. */
TEST(short_palettes)
{
    static const uint32_t stated[] = {0, 3, 200, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        struct file f = START(INFO, 2, 1, 8, .n_colours = 3, .n_stated = stated[i]);
        PUT(&f, 0, 2, 0, 0);
        assert_decodes(f.bytes, f.n, "bmp", 2, 1, 3, EXPECT(COLOUR(0), COLOUR(2)));
        f.bytes[f.n - 3] = 3;
        assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 3 of a palette of 3");
    }
    struct file f = START(INFO, 2, 1, 8, .n_colours = 256, .n_stated = 2);
    PUT(&f, 0, 2, 0, 0);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 2 of a palette of 2");
    f = START(INFO, 3, 2, 4, .n_colours = 3); /* in the second row, in the high half */
    PUT(&f, 0x01, 0x20, 0, 0, 0x00, 0x30, 0, 0);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 3 of a palette of 3");
    f = START(CORE, 1, 1, 8, .n_colours = 5);
    PUT(&f, 5, 0, 0, 0);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 5 of a palette of 5");
}

TEST(masks)
{
    struct file f = START(INFO, 1, 1, 16, BITFIELDS, .masks = {0xF800, 0x07E0, 0x001F});
    PUT(&f, 0x03, 0x18, 0, 0); /* 3 of 31, 0 of 63, 3 of 31 */
    assert_decodes(f.bytes, f.n, "bmp", 1, 1, 3, EXPECT(25, 0, 25));
    assert_cuts_are_refused(f.bytes, f.n);
    f = START(INFO, 1, 1, 32, ALPHA_BITFIELDS, .masks = {0xFF, 0xFF00, 0xFF0000, 0xFF000000});
    PUT(&f, 1, 2, 3, 4);
    assert_decodes(f.bytes, f.n, "bmp", 1, 1, 4, EXPECT(1, 2, 3, 4));
    f = START(MASKS, 1, 1, 32, BITFIELDS, .masks = {0xFF, 0xFF00, 0xFF0000});
    PUT(&f, 1, 2, 3, 4);
    assert_decodes(f.bytes, f.n, "bmp", 1, 1, 3, EXPECT(1, 2, 3));
    static const uint32_t headers[] = {ALPHA_MASK, V4, V5};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        f = START(headers[i], 2, 1, 32, BITFIELDS, .masks = {0xFF0000, 0xFF00, 0xFF, 0xFF000000});
        PUT(&f, 1, 2, 3, 0, 5, 6, 7, 8);
        assert_decodes(f.bytes, f.n, "bmp", 2, 1, 4, EXPECT(3, 2, 1, 0, 7, 6, 5, 8));
        f = START(headers[i], 1, 1, 16, BITFIELDS, .masks = {0x7C00, 0x3E0, 0x1F, 0x8000});
        PUT(&f, 0xFF, 0x83, 0, 0);
        assert_decodes(f.bytes, f.n, "bmp", 1, 1, 4, EXPECT(0, 255, 255, 255));
    }
    /* 11, 11 and 10 bits; no green at all; all 32 bits in one */
    f = START(INFO, 1, 1, 32, BITFIELDS, .masks = {0xFFE00000, 0x001FFC00, 0x3FF});
    PUT(&f, 0xFF, 0x03, 0x00, 0x80);
    assert_decodes(f.bytes, f.n, "bmp", 1, 1, 3, EXPECT(128, 0, 255));
    f = START(INFO, 1, 1, 32, BITFIELDS, .masks = {0xFFFFFFFF, 0, 0});
    PUT(&f, 0, 0, 0, 0x80);
    assert_decodes(f.bytes, f.n, "bmp", 1, 1, 3, EXPECT(128, 0, 0));
}

TEST(bad_masks)
{
    static const uint32_t masks[][3] = {
        {0xFF, 0xFF, 0xFF00}, {0xF0F, 0xF0, 0xF000}, {0, 0, 0}, {0xFF, 0xFF00, 0xFF0000}};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct file f =
            START(INFO, 1, 1, 16, BITFIELDS, .masks = {masks[i][0], masks[i][1], masks[i][2]});
        PUT(&f, 0, 0, 0, 0);
        assert_refused(f.bytes, f.n, IH_CORRUPT, "mask");
    }
}

TEST(run_lengths)
{
    struct file f = START(INFO, 4, 3, 8, RLE8, .n_colours = 10);
    PUT(&f, 3, 1, 1, 2, 0, 0);       /* a run of three, one of one, the end of the row */
    PUT(&f, 0, 3, 4, 5, 6, 0, 0, 0); /* three literals and a byte of padding */
    PUT(&f, 4, 9, 0, 1);
    assert_decodes(f.bytes, f.n, "bmp", 4, 3, 3,
                   EXPECT(COLOUR(1), COLOUR(1), COLOUR(1), COLOUR(2), COLOUR(4), COLOUR(5),
                          COLOUR(6), COLOUR(0), COLOUR(9), COLOUR(9), COLOUR(9), COLOUR(9)));
    assert_cuts_are_refused(f.bytes, f.n - 2); /* the end of the image follows its last pixel */
    assert_true(damage_each_byte(f.bytes, f.n) > 0);

    f = START(INFO, 5, 2, 4, RLE4, .n_colours = 16);
    PUT(&f, 5, 0x12, 0, 0); /* a run alternates between both */
    PUT(&f, 0, 5, 0x34, 0x56, 0x70, 0, 0, 1);
    assert_decodes(f.bytes, f.n, "bmp", 5, 2, 3,
                   EXPECT(COLOUR(1), COLOUR(2), COLOUR(1), COLOUR(2), COLOUR(1), COLOUR(3),
                          COLOUR(4), COLOUR(5), COLOUR(6), COLOUR(7)));
    assert_cuts_are_refused(f.bytes, f.n - 2);

    f = START(INFO, 4, 3, 8, RLE8, .n_colours = 10); /* skipped pixels have colour 0 */
    PUT(&f, 1, 7, 0, 2, 2, 1, 1, 8, 0, 1);
    assert_decodes(f.bytes, f.n, "bmp", 4, 3, 3,
                   EXPECT(COLOUR(7), COLOUR(0), COLOUR(0), COLOUR(0), COLOUR(0), COLOUR(0),
                          COLOUR(0), COLOUR(8), COLOUR(0), COLOUR(0), COLOUR(0), COLOUR(0)));
}

/* Runs and literals may reach into the padding: 5 pixels of 8 or 4 bits are padded to 8. Padding
 * needs no colour. */
TEST(run_lengths_of_padding)
{
    struct file f = START(INFO, 5, 3, 8, RLE8, .n_colours = 10);
    PUT(&f, 8, 1, 0, 0);                         /* one run */
    PUT(&f, 4, 2, 0, 4, 3, 200, 200, 200, 0, 0); /* literals */
    PUT(&f, 3, 4, 5, 5, 0, 1);                   /* a run that begins in the row */
    assert_decodes(f.bytes, f.n, "bmp", 5, 3, 3,
                   EXPECT(COLOUR(1), COLOUR(1), COLOUR(1), COLOUR(1), COLOUR(1), COLOUR(2),
                          COLOUR(2), COLOUR(2), COLOUR(2), COLOUR(3), COLOUR(4), COLOUR(4),
                          COLOUR(4), COLOUR(5), COLOUR(5)));
    assert_cuts_are_refused(f.bytes, f.n - 2);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    f = START(INFO, 5, 3, 4, RLE4, .n_colours = 4);
    PUT(&f, 8, 0x12, 0, 0, 5, 0x30, 0, 3, 0x99, 0x90, 0, 2, 0, 1); /* literals of padding; down */
    assert_decodes(f.bytes, f.n, "bmp", 5, 3, 3,
                   EXPECT(COLOUR(1), COLOUR(2), COLOUR(1), COLOUR(2), COLOUR(1), COLOUR(3),
                          COLOUR(0), COLOUR(3), COLOUR(0), COLOUR(3), COLOUR(0), COLOUR(0),
                          COLOUR(0), COLOUR(0), COLOUR(0)));
    static const uint8_t too_long[][8] = {{9, 1}, {8, 1, 1, 1}, {5, 1, 0, 4, 1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof too_long / sizeof *too_long; i++) {
        f = START(INFO, 5, 2, 8, RLE8, .n_colours = 10);
        put(&f, too_long[i], sizeof too_long[i]);
        assert_refused(f.bytes, f.n, IH_CORRUPT, "past the end of its row");
    }
}

/* A jump past the last row ends the image, wherever it goes: Pillow 13, OpenCV 5 and ffmpeg 5.1
 * read these files, and Mozilla's rle4-delta-320x240.bmp ends so. */
TEST(run_lengths_that_end_with_a_jump)
{
    static const uint8_t jumps[][2] = {{0, 1}, {2, 1}, {4, 1}, {5, 1}, {0, 2}, {255, 255}};
    for (size_t i = 0; i < 2 * sizeof jumps / sizeof *jumps; i++) {
        const uint8_t *jump = jumps[i / 2];
        struct file f = START(INFO, 4, 2, 8, RLE8, .n_colours = 10);
        PUT(&f, 4, 3, 0, 0, 1, 5, 0, 2, jump[0], jump[1]);
        if (i % 2)
            PUT(&f, 0, 1);
        assert_decodes(f.bytes, f.n, "bmp", 4, 2, 3,
                       EXPECT(COLOUR(3), COLOUR(3), COLOUR(3), COLOUR(3), COLOUR(5), COLOUR(0),
                              COLOUR(0), COLOUR(0)));
    }
    struct file f = START(INFO, 2, 2, 4, RLE4, .n_colours = 16); /* all rows */
    PUT(&f, 0, 2, 0, 2);
    assert_decodes(f.bytes, f.n, "bmp", 2, 2, 3,
                   EXPECT(COLOUR(0), COLOUR(0), COLOUR(0), COLOUR(0)));
    assert_cuts_are_refused(f.bytes, f.n);
}

TEST(bad_run_lengths)
{
    static const struct {
        uint8_t commands[6];
        const char *reason;
    } bad[] = {{{5, 1, 0, 1}, "past the end of its row"},
               {{3, 1, 2, 1}, "past the end of its row"},
               {{0, 5, 1, 1, 1, 1}, "past the end of its row"},
               {{0, 2, 5, 0}, "out of its row"},
               {{0, 2, 5, 2}, "out of its row"},
               {{1, 200, 0, 1}, "colour 200 of a palette of 10"},
               {{4, 1, 4, 1, 0, 1}, "past the end of its row"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct file f = START(INFO, 4, 3, 8, RLE8, .n_colours = 10);
        put(&f, bad[i].commands, sizeof bad[i].commands);
        assert_refused(f.bytes, f.n, IH_CORRUPT, bad[i].reason);
    }
}

/* A size above the limit is refused by the header alone. Missing pixels are damage. */
TEST(sizes)
{
    static const uint32_t too_large[][2] = {
        {1, 0x80000000}, {0x80000000, 1}, {0xFFFFFFFF, 0xFFFFFFF0}, {20000, 20000}};
    static const uint32_t damaged[][2] = {{0, 1}, {1, 0}, {500, 500}};
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
        struct file f = START(INFO, too_large[i][0], too_large[i][1], 24, .compression = RGB);
        PUT(&f, 1, 2, 3, 0);
        assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
    }
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct file f = START(INFO, damaged[i][0], damaged[i][1], 24, .compression = RGB);
        PUT(&f, 1, 2, 3, 0);
        assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged ");
    }
    struct file f = START(INFO, 0x80000000, 1, 1, .compression = RGB);
    struct decoded d = decode(f.bytes, f.n, UINT64_MAX, 1);
    assert_int_equal(d.status, IH_CORRUPT);
}

TEST(other_kinds)
{
    static const uint32_t kinds[][3] = {{INFO, 24, 4},   {INFO, 0, 5},     {INFO, 4, RLE8},
                                        {INFO, 8, RLE4}, {OS2, 1, 3},      {OS2, 24, 4},
                                        {INFO, 24, 3},   {INFO, 32, 1234}, {INFO, 64, RGB}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct file f = START(kinds[i][0], 1, 1, kinds[i][1], kinds[i][2], .n_colours = 2);
        assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "compression");
    }
    struct file f = START(INFO, 1, 1, 7, .compression = RGB);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "7 bits");
    f = START(INFO, 1, 1, 24, .compression = RGB);
    f.bytes[10] = 53;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "begin within its header");
    f = START(20, 1, 1, 24, .compression = RGB);
    f.bytes[14] = 21; /* not the size of any header */
    assert_refused(f.bytes, f.n, IH_UNKNOWN, "not an image");
}

/* Fields on which no pixel depends: Pillow 13 and OpenCV 5 read the same pixels. */
TEST(fields_without_effect)
{
    static const struct {
        size_t at;
        uint8_t value;
    } fields[] = {{2, 0}, {2, 255}, {26, 0}, {26, 3}, {34, 255}, {38, 0}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct file f = START(INFO, 1, 1, 24, .compression = RGB);
        PUT(&f, 1, 2, 3, 0);
        f.bytes[fields[i].at] = fields[i].value;
        assert_decodes(f.bytes, f.n, "bmp", 1, 1, 3, EXPECT(3, 2, 1));
    }
}

TEST(damage)
{
    struct file f = START(V4, 3, 2, 32, BITFIELDS, .masks = {0xFF0000, 0xFF00, 0xFF, 0xFF000000});
    for (unsigned i = 0; i < 24; i++)
        put_number(&f, 1, i);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    f = START(CORE, 5, 3, 4, .n_colours = 16);
    for (unsigned i = 0; i < 12; i++)
        put_number(&f, 1, i * 17);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
}
