/* The formats that stb_image decodes, BMP, TGA and PSD: files written out here, whole and damaged.
 */
#include "decode/decoder.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/decoded.h"

struct file {
    size_t n;
    uint8_t bytes[4096];
};

static void put(struct file *f, const void *bytes, size_t n)
{
    assert_true(f->n + n <= sizeof f->bytes);
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
}

/* A number of n bytes, the low one first; -n: the high one first. */
static void put_number(struct file *f, int n, uint32_t v)
{
    for (int i = 0; i < abs(n); i++) {
        uint8_t byte = (uint8_t)(v >> 8 * (n > 0 ? i : -n - 1 - i));
        put(f, &byte, 1);
    }
}

#define PUT(f, ...) put(f, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
#define EXPECT(...) ((const uint8_t[]){__VA_ARGS__})

/* ---- BMP ---- */

enum { CORE = 12, INFO = 40 };

/* Both headers, for pixels that follow a palette of n_colours; of its entries, colour i is i+1,
 * i+2, i+3 as blue, green, red. */
static struct file bmp_header(uint32_t header_bytes, uint32_t width, uint32_t height, uint32_t bits,
                              uint32_t n_colours)
{
    struct file f = {.n = 0};
    uint32_t entry_bytes = header_bytes == CORE ? 3 : 4;
    int size = header_bytes == CORE ? 2 : 4;
    put(&f, "BM", 2);
    put_number(&f, 4, 0); /* the file's size, which nobody trusts */
    put_number(&f, 4, 0);
    put_number(&f, 4, 14 + header_bytes + n_colours * entry_bytes);
    put_number(&f, 4, header_bytes);
    put_number(&f, size, width);
    put_number(&f, size, height);
    put_number(&f, 2, 1);
    put_number(&f, 2, bits);
    for (int i = 0; header_bytes == INFO && i < 6; i++)
        put_number(&f, 4, 0);
    for (uint32_t i = 0; i < n_colours; i++)
        put_number(&f, (int)entry_bytes, (i + 1) % 256 | (i + 2) % 256 << 8 | (i + 3) % 256 << 16);
    return f;
}

static void test_bmp_24(void **state)
{
    (void)state;
    struct file f = bmp_header(INFO, 2, 2, 24, 0); /* from the bottom, rows padded to 4 bytes */
    PUT(&f, 1, 2, 3, 4, 5, 6, 0, 0);
    PUT(&f, 7, 8, 9, 10, 11, 12, 0, 0);
    assert_decodes(f.bytes, f.n, "bmp", 2, 2, 3, EXPECT(9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4));
    f = bmp_header(INFO, 2, (uint32_t)-2, 24, 0); /* from the top */
    PUT(&f, 1, 2, 3, 4, 5, 6, 0, 0);
    PUT(&f, 7, 8, 9, 10, 11, 12, 0, 0);
    assert_decodes(f.bytes, f.n, "bmp", 2, 2, 3, EXPECT(3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10));
    f = bmp_header(CORE, 1, 1, 24, 0);
    PUT(&f, 1, 2, 3, 0);
    assert_decodes(f.bytes, f.n, "bmp", 1, 1, 3, EXPECT(3, 2, 1));
}

static void test_bmp_palettes(void **state)
{
    (void)state;
    struct file f = bmp_header(INFO, 3, 1, 8, 256);
    PUT(&f, 0, 255, 100, 0);
    assert_decodes(f.bytes, f.n, "bmp", 3, 1, 3, EXPECT(3, 2, 1, 2, 1, 0, 103, 102, 101));
    f = bmp_header(INFO, 3, 1, 4, 16);
    PUT(&f, 0x0F, 0x70, 0, 0);
    assert_decodes(f.bytes, f.n, "bmp", 3, 1, 3, EXPECT(3, 2, 1, 18, 17, 16, 10, 9, 8));
    f = bmp_header(INFO, 9, 1, 1, 2);
    PUT(&f, 0x80, 0x80, 0, 0);
    assert_decodes(
        f.bytes, f.n, "bmp", 9, 1, 3,
        EXPECT(4, 3, 2, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 4, 3, 2));
}

/* The header of OS/2 has palette entries of three bytes, of which stb misses the last four. */
static void test_bmp_core_palettes(void **state)
{
    static const unsigned bits[] = {1, 4, 8};
    (void)state;
    for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        struct file f = bmp_header(CORE, 4, 1, bits[i], 1u << bits[i]);
        PUT(&f, 0, 1, 0, 1);
        assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "OS/2 BMP with a palette");
    }
}

static void test_bmp_short_palette(void **state)
{
    (void)state;
    struct file f = bmp_header(INFO, 2, 1, 8, 3);
    PUT(&f, 0, 2, 0, 0);
    assert_decodes(f.bytes, f.n, "bmp", 2, 1, 3, EXPECT(3, 2, 1, 5, 4, 3));
    f.bytes[f.n - 3] = 3;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 3 of a palette of 3");
    f = bmp_header(INFO, 3, 2, 4, 3); /* the index is in the second row, in the high half */
    PUT(&f, 0x01, 0x20, 0, 0, 0x00, 0x30, 0, 0);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 3 of a palette of 3");
}

static void test_bmp_alpha(void **state)
{
    (void)state;
    struct file f = bmp_header(INFO, 2, 1, 32, 0);
    PUT(&f, 1, 2, 3, 4, 5, 6, 7, 0);
    assert_decodes(f.bytes, f.n, "bmp", 2, 1, 4, EXPECT(3, 2, 1, 4, 7, 6, 5, 0));
}

/* Heights that have no opposite, no pixels, or more pixels than the file can hold. */
static void test_bmp_sizes(void **state)
{
    (void)state;
    /* Too large is told from the header; what passes the limit and is not in the file is damage. */
    static const uint32_t too_large[][2] = {
        {1, 0x80000000}, {0x80000000, 1}, {0xFFFFFFFF, 0xFFFFFFF0}, {20000, 20000}};
    static const uint32_t damaged[][2] = {{0, 1}, {1, 0}, {500, 500}};
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
        struct file f = bmp_header(INFO, too_large[i][0], too_large[i][1], 24, 0);
        PUT(&f, 1, 2, 3, 0);
        assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
    }
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct file f = bmp_header(INFO, damaged[i][0], damaged[i][1], 24, 0);
        PUT(&f, 1, 2, 3, 0);
        assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged ");
    }
}

static void test_bmp_compressed(void **state)
{
    (void)state;
    struct file f = bmp_header(INFO, 2, 1, 8, 256);
    PUT(&f, 2, 1, 0, 1);
    f.bytes[30] = 1; /* RLE8 */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "compressed BMP");
}

static void test_bmp_truncation(void **state)
{
    (void)state;
    struct file f = bmp_header(INFO, 5, 9, 24, 0);
    for (unsigned i = 0; i < 9 * 16; i++)
        put_number(&f, 1, i);
    assert_no_part_is_whole(f.bytes, f.n);
    f = bmp_header(INFO, 3, 2, 8, 4);
    PUT(&f, 0, 1, 2, 0, 3, 2, 1, 0);
    assert_no_part_is_whole(f.bytes, f.n);
}

/* ---- TGA ---- */

/* palette_first, n_colours: of entries of 24 bits, made like those of BMP; 0: none */
static struct file tga_header(uint32_t type, uint32_t width, uint32_t height, uint32_t bits,
                              uint32_t palette_first, uint32_t n_colours)
{
    struct file f = {.n = 0};
    PUT(&f, 0, n_colours > 0);
    put_number(&f, 1, type);
    put_number(&f, 2, palette_first);
    put_number(&f, 2, n_colours);
    put_number(&f, 1, n_colours ? 24 : 0);
    put_number(&f, 4, 0);
    put_number(&f, 2, width);
    put_number(&f, 2, height);
    put_number(&f, 1, bits);
    PUT(&f, 0x20); /* from the top */
    for (uint32_t i = 0; i < n_colours; i++)
        put_number(&f, 3, (i + 1) | (i + 2) << 8 | (i + 3) << 16);
    return f;
}

static void test_tga(void **state)
{
    (void)state;
    struct file f = tga_header(2, 2, 1, 24, 0, 0);
    PUT(&f, 1, 2, 3, 4, 5, 6);
    assert_decodes(f.bytes, f.n, "tga", 2, 1, 3, EXPECT(3, 2, 1, 6, 5, 4));
    f = tga_header(2, 1, 1, 32, 0, 0);
    PUT(&f, 1, 2, 3, 4);
    assert_decodes(f.bytes, f.n, "tga", 1, 1, 4, EXPECT(3, 2, 1, 4));
    f = tga_header(3, 3, 1, 8, 0, 0);
    PUT(&f, 7, 8, 9);
    assert_decodes(f.bytes, f.n, "tga", 3, 1, 1, EXPECT(7, 8, 9));
    f = tga_header(10, 5, 1, 24, 0, 0); /* a run of three, then two as they are */
    PUT(&f, 0x82, 1, 2, 3, 0x01, 4, 5, 6, 7, 8, 9);
    assert_decodes(f.bytes, f.n, "tga", 5, 1, 3,
                   EXPECT(3, 2, 1, 3, 2, 1, 3, 2, 1, 6, 5, 4, 9, 8, 7));
    f = tga_header(1, 3, 1, 8, 0, 3);
    PUT(&f, 0, 2, 1);
    assert_decodes(f.bytes, f.n, "tga", 3, 1, 3, EXPECT(3, 2, 1, 5, 4, 3, 4, 3, 2));
}

static void test_tga_index_past_the_palette(void **state)
{
    (void)state;
    struct file f = tga_header(1, 3, 1, 8, 0, 3);
    PUT(&f, 0, 2, 3);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "palette of 3");
}

/* A palette whose first entry has the number 1. To refuse it is right as well; to take index 1 for
 * another entry is not. */
static void test_tga_palette_that_starts_later(void **state)
{
    (void)state;
    struct file f = tga_header(1, 2, 1, 8, 1, 3);
    PUT(&f, 1, 3);
    PUT(&f, 0, 0, 0, 0); /* so that a reader that skips something does not run into the end */
    struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
    if (d.status == IH_OK)
        assert_memory_equal(d.pixels, EXPECT(3, 2, 1, 5, 4, 3), 6);
    free(d.pixels);
}

static void test_tga_truncation(void **state)
{
    (void)state;
    struct file f = tga_header(10, 5, 1, 24, 0, 0);
    PUT(&f, 0x82, 1, 2, 3, 0x01, 4, 5, 6, 7, 8, 9);
    assert_no_part_is_whole(f.bytes, f.n);
    f = tga_header(2, 40, 2, 24, 0, 0);
    for (unsigned i = 0; i < 240; i++)
        put_number(&f, 1, i);
    assert_no_part_is_whole(f.bytes, f.n);
}

/* ---- PSD ---- */

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

static void test_psd(void **state)
{
    (void)state;
    struct file f = psd_header(3, 2, 1, 8, 3, 0);
    PUT(&f, 1, 2, 3, 4, 5, 6); /* channel by channel */
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 3, EXPECT(1, 3, 5, 2, 4, 6));
    assert_no_part_is_whole(f.bytes, f.n);
    f = psd_header(3, 2, 1, 16, 3, 0);
    PUT(&f, 1, 0, 0, 128, 0, 129, 255, 255, 127, 255, 0, 0); /* 256, 128, 129 of 65535 ... */
    assert_decodes(f.bytes, f.n, "psd", 2, 1, 3, EXPECT(1, 1, 127, 0, 255, 0));
    f = psd_header(3, 4, 1, 8, 3, 1); /* PackBits, after the sizes of the rows */
    PUT(&f, 0, 2, 0, 2, 0, 5, 0xFD, 7, 0xFD, 8, 3, 1, 2, 3, 4);
    assert_decodes(f.bytes, f.n, "psd", 4, 1, 3, EXPECT(7, 8, 1, 7, 8, 2, 7, 8, 3, 7, 8, 4));
    assert_no_part_is_whole(f.bytes, f.n);
}

/* What is sound but not decoded is not called damaged. */
static void test_psd_other_kinds(void **state)
{
    (void)state;
    struct file f = psd_header(4, 1, 1, 8, 3, 0); /* alpha */
    PUT(&f, 1, 2, 3, 4);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "4 channels");
    f = psd_header(1, 1, 1, 8, 1, 0); /* gray */
    PUT(&f, 1);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "colour mode 1");
    f = psd_header(4, 1, 1, 8, 4, 0); /* CMYK */
    PUT(&f, 1, 2, 3, 4);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "colour mode 4");
    f = psd_header(3, 1, 1, 32, 3, 0);
    PUT(&f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "32 bits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bmp_24),
        cmocka_unit_test(test_bmp_palettes),
        cmocka_unit_test(test_bmp_core_palettes),
        cmocka_unit_test(test_bmp_short_palette),
        cmocka_unit_test(test_bmp_alpha),
        cmocka_unit_test(test_bmp_sizes),
        cmocka_unit_test(test_bmp_compressed),
        cmocka_unit_test(test_bmp_truncation),
        cmocka_unit_test(test_tga),
        cmocka_unit_test(test_tga_index_past_the_palette),
        cmocka_unit_test(test_tga_palette_that_starts_later),
        cmocka_unit_test(test_tga_truncation),
        cmocka_unit_test(test_psd),
        cmocka_unit_test(test_psd_other_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
