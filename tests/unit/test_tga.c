/* TGA files of every type and depth, sound and damaged, written byte by byte. */
#include "tests/support/damage.h"
#include "tests/support/written.h"

/* Writes the header and a palette of n_colours entries with numbers from first on. Entry i is i+1,
 * i+2, i+3 as blue, green, red and i+4 as alpha, or i if it has up to 16 bits. */
static struct file start(uint32_t type, uint32_t width, uint32_t height, uint32_t bits,
                         uint32_t first, uint32_t n_colours, uint32_t entry_bits)
{
    struct file f = {.n = 0};
    PUT(&f, 3, n_colours > 0); /* an image ID of 3 bytes */
    put_number(&f, 1, type);
    put_number(&f, 2, first);
    put_number(&f, 2, n_colours);
    put_number(&f, 1, entry_bits);
    put_number(&f, 4, 0);
    put_number(&f, 2, width);
    put_number(&f, 2, height);
    put_number(&f, 1, bits);
    PUT(&f, 0x20, 'a', 'b', 'c'); /* top down, and the image ID */
    for (uint32_t i = 0; i < n_colours; i++)
        put_number(&f, (int)(entry_bits + 7) / 8,
                   entry_bits <= 16 ? i : (i + 1) | (i + 2) << 8 | (i + 3) << 16 | (i + 4) << 24);
    return f;
}

TEST(plain)
{
    struct file f = start(2, 2, 1, 24, 0, 0, 0);
    PUT(&f, 1, 2, 3, 4, 5, 6);
    assert_decodes(f.bytes, f.n, "tga", 2, 1, 3, EXPECT(3, 2, 1, 6, 5, 4));
    f = start(2, 1, 1, 32, 0, 0, 0);
    PUT(&f, 1, 2, 3, 4);
    assert_decodes(f.bytes, f.n, "tga", 1, 1, 4, EXPECT(3, 2, 1, 4));
    for (uint32_t bits = 15; bits <= 16; bits++) {
        f = start(2, 2, 1, bits, 0, 0, 0);
        PUT(&f, 0x43, 0x8C, 0xFF, 0x7F); /* 3, 2, 3 of 31 and the ignored top bit; white */
        assert_decodes(f.bytes, f.n, "tga", 2, 1, 3, EXPECT(25, 16, 25, 255, 255, 255));
    }
    f = start(3, 3, 1, 8, 0, 0, 0);
    PUT(&f, 7, 8, 9);
    assert_decodes(f.bytes, f.n, "tga", 3, 1, 1, EXPECT(7, 8, 9));
    f = start(3, 2, 1, 16, 0, 0, 0);
    PUT(&f, 7, 8, 9, 10);
    assert_decodes(f.bytes, f.n, "tga", 2, 1, 2, EXPECT(7, 8, 9, 10));
}

/* Rows of whole bytes, the leftmost pixel in the highest bit, 1 is white. */
TEST(bitmap)
{
    struct file f = start(3, 10, 2, 1, 0, 0, 0);
    PUT(&f, 0xA0, 0x7F, 0x01, 0x80);
    assert_decodes(f.bytes, f.n, "tga", 10, 2, 1,
                   EXPECT(255, 0, 255, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0));
    struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
    assert_int_equal(d.info.source_depth, 1);
    free(d.pixels);
    assert_cuts_are_refused(f.bytes, f.n);
    f = start(11, 8, 1, 1, 0, 0, 0);
    PUT(&f, 0x87, 1);
    assert_refused(f.bytes, f.n, IH_UNKNOWN, "not an image");
}

/* Runs and literals; both may continue in the next row. */
TEST(run_lengths)
{
    struct file f = start(10, 5, 1, 24, 0, 0, 0);
    PUT(&f, 0x82, 1, 2, 3, 0x01, 4, 5, 6, 7, 8, 9);
    assert_decodes(f.bytes, f.n, "tga", 5, 1, 3,
                   EXPECT(3, 2, 1, 3, 2, 1, 3, 2, 1, 6, 5, 4, 9, 8, 7));
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    f = start(10, 2, 3, 32, 0, 0, 0);
    PUT(&f, 0x83, 1, 2, 3, 4, 0x01, 5, 6, 7, 8, 9, 10, 11, 12);
    assert_decodes(
        f.bytes, f.n, "tga", 2, 3, 4,
        EXPECT(3, 2, 1, 4, 3, 2, 1, 4, 3, 2, 1, 4, 3, 2, 1, 4, 7, 6, 5, 8, 11, 10, 9, 12));
    f = start(11, 4, 1, 8, 0, 0, 0);
    PUT(&f, 0x81, 9, 0x01, 8, 7);
    assert_decodes(f.bytes, f.n, "tga", 4, 1, 1, EXPECT(9, 9, 8, 7));
    f = start(9, 4, 1, 8, 5, 3, 24);
    PUT(&f, 0x81, 5, 0x01, 7, 6);
    assert_decodes(f.bytes, f.n, "tga", 4, 1, 3, EXPECT(3, 2, 1, 3, 2, 1, 5, 4, 3, 4, 3, 2));
    f.bytes[f.n - 5] = 0x84; /* five of four pixels */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "past the end of the image");
}

TEST(palettes)
{
    struct file f = start(1, 3, 1, 8, 0, 3, 24);
    PUT(&f, 0, 2, 1);
    assert_decodes(f.bytes, f.n, "tga", 3, 1, 3, EXPECT(3, 2, 1, 5, 4, 3, 4, 3, 2));
    f = start(1, 2, 1, 8, 0, 3, 32);
    PUT(&f, 0, 2);
    assert_decodes(f.bytes, f.n, "tga", 2, 1, 4, EXPECT(3, 2, 1, 4, 5, 4, 3, 6));
    for (uint32_t bits = 15; bits <= 16; bits++) {
        f = start(1, 2, 1, 8, 0, 40, bits);
        PUT(&f, 31, 33);
        assert_decodes(f.bytes, f.n, "tga", 2, 1, 3, EXPECT(0, 0, 255, 0, 8, 8));
    }
    f = start(1, 2, 1, 16, 300, 3, 24); /* indices of two bytes */
    PUT(&f, 0x2C, 0x01, 0x2E, 0x01);
    assert_decodes(f.bytes, f.n, "tga", 2, 1, 3, EXPECT(3, 2, 1, 5, 4, 3));
    assert_cuts_are_refused(f.bytes, f.n);
}

/* Colour and gray images may have a palette that no pixel uses. */
TEST(unused_palettes)
{
    static const uint32_t entry_bits[] = {15, 16, 24, 32};
    for (size_t i = 0; i < 4; i++) {
        struct file f = start(2, 2, 1, 24, 7, 5, entry_bits[i]);
        PUT(&f, 1, 2, 3, 4, 5, 6);
        assert_decodes(f.bytes, f.n, "tga", 2, 1, 3, EXPECT(3, 2, 1, 6, 5, 4));
        assert_cuts_are_refused(f.bytes, f.n);
        f = start(11, 2, 1, 8, 0, 3, entry_bits[i]);
        PUT(&f, 0x81, 9);
        assert_decodes(f.bytes, f.n, "tga", 2, 1, 1, EXPECT(9, 9));
    }
}

/* Indices before the first entry, which is number 1, or past the last. */
TEST(indices_out_of_the_palette)
{
    struct file f = start(1, 2, 1, 8, 1, 3, 24);
    PUT(&f, 1, 3);
    assert_decodes(f.bytes, f.n, "tga", 2, 1, 3, EXPECT(3, 2, 1, 5, 4, 3));
    f.bytes[f.n - 1] = 4;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 4 of a palette of 3 from 1 on");
    f.bytes[f.n - 1] = 0;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 0 of a palette of 3 from 1 on");
}

TEST(damage)
{
    struct file f = start(2, 40, 2, 24, 0, 0, 0);
    for (unsigned i = 0; i < 240; i++)
        put_number(&f, 1, i);
    assert_cuts_are_refused(f.bytes, f.n);
    f = start(9, 5, 3, 8, 0, 4, 32);
    PUT(&f, 0x82, 1, 0x01, 2, 3, 0x89, 0);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    f = start(2, 65535, 65535, 24, 0, 0, 0);
    assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
}

/* The fields of the header must be consistent, because there is no signature. */
TEST(probe)
{
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {{1, 1}, {2, 4}, {3, 1}, {5, 1}, {12, 0}, {14, 0}, {16, 8}, {17, 0x60}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct file f = start(2, 1, 1, 24, 0, 0, 0);
        PUT(&f, 1, 2, 3);
        f.bytes[wrong[i].at] = wrong[i].value;
        assert_refused(f.bytes, f.n, IH_UNKNOWN, "not an image");
    }
}
