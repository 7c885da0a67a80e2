/* PSD files, sound and damaged, written byte by byte. */
#include "tests/support/damage.h"
#include "tests/support/written.h"

static struct file psd_header(uint32_t n_channels, uint32_t width, uint32_t height, uint32_t depth,
                              uint32_t mode, uint32_t compression)
{
    struct file f = {.n = 0};
    put(&f, "8BPS\0\1\0\0\0\0\0\0", 12);
    put_number(&f, -2, n_channels);
    put_number(&f, -4, height);
    put_number(&f, -4, width);
    put_number(&f, -2, depth);
    put_number(&f, -2, mode);
    for (int section = 0; section < 3; section++)
        put_number(&f, -4, 0);
    put_number(&f, -2, compression);
    return f;
}

TEST(psd)
{
    struct file f = psd_header(3, 2, 1, 8, 3, 0);
    PUT(&f, 1, 2, 3, 4, 5, 6); /* channel by channel */
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 3, EXPECT(1, 3, 5, 2, 4, 6));
    assert_cuts_are_refused(f.bytes, f.n);
    f = psd_header(3, 2, 1, 16, 3, 0);
    PUT(&f, 1, 0, 0, 128, 0, 129, 255, 255, 127, 255, 0, 0); /* 256, 128, 129 of 65535 ... */
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 3, EXPECT(1, 1, 127, 0, 255, 0));
    f = psd_header(3, 4, 1, 8, 3, 1); /* PackBits, after the sizes of the rows */
    PUT(&f, 0, 2, 0, 2, 0, 5, 0xFD, 7, 0xFD, 8, 3, 1, 2, 3, 4);
    assert_decodes(f.bytes, f.n, "psd", 4, 1, 3, EXPECT(7, 8, 1, 7, 8, 2, 7, 8, 3, 7, 8, 4));
    assert_cuts_are_refused(f.bytes, f.n);
}

/* The specification names at most 56 channels, and Photoshop writes more. The fourth is alpha. */
TEST(more_channels_than_the_specification_names)
{
    static const uint32_t n_channels[] = {5, 56, 57, 100};
    for (size_t i = 0; i < 2 * sizeof n_channels / sizeof *n_channels; i++) {
        const uint32_t n = n_channels[i / 2], is_packed = i % 2;
        struct file f = psd_header(n, 2, 1, 8, 3, is_packed);
        for (uint32_t c = 0; c < n && is_packed; c++)
            put_number(&f, -2, 2 + c % 2);
        for (uint32_t c = 0; c < n; c++) {
            if (is_packed && c % 2) /* two literals, or a run */
                PUT(&f, 1);
            else if (is_packed)
                PUT(&f, 0xFF);
            PUT(&f, (uint8_t)(2 * c));
            if (!is_packed || c % 2)
                PUT(&f, (uint8_t)(2 * c + c % 2));
        }
        assert_decodes(f.bytes, f.n, "psd", 2, 1, 4, EXPECT(0, 2, 4, 6, 0, 3, 4, 7));
        assert_cuts_are_refused(f.bytes, f.n);
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 0);
        assert_int_equal(d.info.n_not_counted, n - 4);
        assert_int_equal(d.info.warnings, IH_WARNING_EXTRA_SAMPLES);
        free(d.pixels);
    }
}

/* PackBits: rows of runs, literals and both; rows that are too long, too short or cut. */
TEST(packed)
{
    struct file f = psd_header(1, 4, 3, 8, 1, 1);
    PUT(&f, 0, 2, 0, 5, 0, 5);
    PUT(&f, 0xFD, 9, 3, 1, 2, 3, 4, 0xFF, 5, 128, 0xFF, 6);
    assert_decodes(f.bytes, f.n, "psd", 4, 3, 1, EXPECT(9, 9, 9, 9, 1, 2, 3, 4, 5, 5, 6, 6));
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    static const uint8_t rows[][3] = {
        {2, 0xFC, 9}, {2, 0xFE, 9}, {1, 0xFD, 9}, {2, 3, 9}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f = psd_header(1, 4, 1, 8, 1, 1);
        PUT(&f, 0, rows[i][0], rows[i][1], rows[i][2]);
        assert_refused(f.bytes, f.n, IH_CORRUPT, "a row of the wrong length");
    }
}

/* Runs repeat bytes, also with 16 bits. */
TEST(packed_16_bits)
{
    struct file f = psd_header(1, 2, 1, 16, 1, 1);
    PUT(&f, 0, 2, 0xFD, 0x80);
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 1, EXPECT(128, 128));
}

TEST(modes)
{
    struct file f = psd_header(1, 9, 1, 1, 0, 0); /* a bitmap: 1 is black */
    PUT(&f, 0x80, 0x7F);
    assert_decodes(f.bytes, f.n, "psd", 9, 1, 1, EXPECT(0, 255, 255, 255, 255, 255, 255, 255, 255));
    f = psd_header(1, 2, 1, 8, 8, 0); /* duotone: gray */
    PUT(&f, 3, 4);
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 1, EXPECT(3, 4));
    f = psd_header(2, 2, 1, 8, 1, 0); /* gray and alpha */
    PUT(&f, 3, 4, 5, 6);
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 2, EXPECT(3, 5, 4, 6));
    f = psd_header(4, 1, 2, 8, 3, 0); /* RGB and alpha */
    PUT(&f, 1, 2, 3, 4, 5, 6, 7, 8);
    assert_decodes(f.bytes, f.n, "psd", 1, 2, 4, EXPECT(1, 3, 5, 7, 2, 4, 6, 8));
    f = psd_header(5, 1, 1, 8, 3, 0); /* and a selection */
    PUT(&f, 1, 2, 3, 4, 5);
    assert_decodes(f.bytes, f.n, "psd", 1, 1, 4, EXPECT(1, 2, 3, 4));
    f = psd_header(4, 2, 1, 8, 4, 0); /* CMYK, stored as 255 minus the ink */
    PUT(&f, 255, 100, 255, 200, 0, 255, 255, 128);
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 3, EXPECT(255, 255, 0, 50, 100, 128));
    f = psd_header(5, 1, 1, 8, 4, 0); /* and alpha, which is not inverted */
    PUT(&f, 255, 255, 255, 255, 7);
    assert_decodes(f.bytes, f.n, "psd", 1, 1, 4, EXPECT(255, 255, 255, 7));
}

/* The first section holds the palette: all reds, then all greens, then all blues. */
TEST(palette)
{
    struct file f = {.n = 0}, no_palette = psd_header(1, 2, 1, 8, 2, 0);
    PUT(&no_palette, 0, 255);
    put(&f, no_palette.bytes, 26);
    put_number(&f, -4, 768);
    for (uint32_t i = 0; i < 768; i++)
        put_number(&f, 1, i % 256 + i / 256);
    put(&f, no_palette.bytes + 30, no_palette.n - 30);
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 3, EXPECT(0, 1, 2, 255, 0, 1));
    f.bytes[13] = 2; /* an extra channel without a meaning */
    PUT(&f, 7, 8);
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 3, EXPECT(0, 1, 2, 255, 0, 1));
    assert_refused(no_palette.bytes, no_palette.n, IH_CORRUPT, "the palette is missing");
}

/* Version 2 (PSB) has longer fields for the lengths of layers and rows. */
TEST(large)
{
    struct file f = {.n = 0}, start = psd_header(1, 4, 1, 8, 1, 1);
    start.bytes[5] = 2;
    put(&f, start.bytes, 34);
    put_number(&f, -8, 3); /* layers */
    PUT(&f, 1, 2, 3, 0, 1, 0, 0, 0, 2, 0xFD, 9);
    assert_decodes(f.bytes, f.n, "psd", 4, 1, 1, EXPECT(9, 9, 9, 9));
    assert_cuts_are_refused(f.bytes, f.n);
}

/* Sound files of other kinds are unsupported, not damaged. */
TEST(other_kinds)
{
    struct file f = psd_header(3, 1, 1, 8, 9, 0); /* Lab */
    PUT(&f, 1, 2, 3);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "colour mode 9");
    f = psd_header(3, 1, 1, 32, 3, 0);
    PUT(&f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "PSD with 32-bit floats");
    f = psd_header(3, 1, 1, 8, 3, 2); /* ZIP */
    PUT(&f, 0, 0, 0);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "compression 2");
    f = psd_header(2, 1, 1, 8, 3, 0);
    PUT(&f, 1, 2);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "2 channels");
    f = psd_header(1, 1, 1, 7, 1, 0);
    PUT(&f, 1);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "7 bits");
}

/* Memory: the bytes of the image in the file, and one row of each plane. */
TEST(limits)
{
    struct file f = psd_header(3, 2, 1, 16, 3, 0);
    PUT(&f, 1, 0, 0, 128, 0, 129, 255, 255, 127, 255, 0, 0);
    assert_budget(f.bytes, f.n, 12 + 12, IH_OK);
    assert_budget(f.bytes, f.n, 12 + 11, IH_LIMIT);
    f = psd_header(3, 500, 50, 8, 3, 0); /* too few bytes for its size: damaged, not too large */
    PUT(&f, 1);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "ends before");
    f = psd_header(3, 0x80000000, 1, 8, 3, 0);
    assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
    struct decoded d = decode(f.bytes, f.n, UINT64_MAX, 1);
    assert_int_equal(d.status, IH_CORRUPT);
    f = psd_header(3, 1, 0x80000000, 8, 3, 1);
    d = decode(f.bytes, f.n, UINT64_MAX, 1);
    assert_int_equal(d.status, IH_CORRUPT);
}
