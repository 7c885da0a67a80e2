/* ICO and CUR files written byte by byte, sound and damaged. */
#include "tests/support/damage.h"
#include "tests/support/written.h"
#include <png.h>

enum { ICON = 1, CURSOR = 2, ENTRIES_MAX = 4 };

/* An image for a file. */
struct image {
    size_t n;
    uint8_t bytes[1500];
};

static void add(struct image *image, const void *bytes, size_t n)
{
    assert_true(image->n + n <= sizeof image->bytes);
    memcpy(image->bytes + image->n, bytes, n);
    image->n += n;
}

#define ADD(image, ...) \
    add(image, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* The header of a BMP in an icon: its height includes the mask. */
static struct image dib(unsigned width, unsigned height, unsigned bits, unsigned n_colours)
{
    struct image image = {.n = 0};
    ADD(&image, 40, 0, 0, 0, (uint8_t)width, (uint8_t)(width >> 8), 0, 0, (uint8_t)(2 * height),
        (uint8_t)(2 * height >> 8), 0, 0, 1, 0, (uint8_t)bits, 0);
    ADD(&image, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (uint8_t)n_colours, 0, 0, 0, 0, 0,
        0, 0);
    return image;
}

/* The directory states nothing about sizes and depths. */
static struct file file_of(unsigned type, size_t n, const struct image *images)
{
    struct file f = {.n = 0};
    size_t at = 6 + 16 * n;
    PUT(&f, 0, 0, (uint8_t)type, 0, (uint8_t)n, 0);
    for (size_t i = 0; i < n; at += images[i++].n) {
        PUT(&f, 0, 0, 0, 0, 0, 0, 0, 0);
        put_number(&f, 4, (uint32_t)images[i].n);
        put_number(&f, 4, (uint32_t)at);
    }
    for (size_t i = 0; i < n; i++)
        put(&f, images[i].bytes, images[i].n);
    return f;
}

/* Two rows, bottom up; the mask makes three of six pixels transparent. */
TEST(mask)
{
    struct image image = dib(3, 2, 24, 0);
    ADD(&image, 3, 2, 1, 6, 5, 4, 9, 8, 7, 0, 0, 0, 12, 11, 10, 15, 14, 13, 18, 17, 16, 0, 0, 0);
    ADD(&image, 0x40, 0, 0, 0, 0xA0, 0xFF, 0xFF, 0xFF);
    for (unsigned type = ICON; type <= CURSOR; type++) {
        struct file f = file_of(type, 1, &image);
        assert_decodes(f.bytes, f.n, "ico", 3, 2, 4,
                       EXPECT(1, 2, 3, 255, 4, 5, 6, 0, 7, 8, 9, 255, 10, 11, 12, 0, 13, 14, 15,
                              255, 16, 17, 18, 0));
        assert_cuts_are_refused(f.bytes, f.n);
        assert_true(damage_each_byte(f.bytes, f.n) > 20);
    }
}

/* Alpha of its own, whatever the mask says; the mask may be missing. */
TEST(alpha)
{
    struct image image = dib(2, 1, 32, 0);
    ADD(&image, 3, 2, 1, 77, 6, 5, 4, 0);
    struct file f = file_of(ICON, 1, &image);
    assert_decodes(f.bytes, f.n, "ico", 2, 1, 4, EXPECT(1, 2, 3, 77, 4, 5, 6, 0));
    ADD(&image, 0xFF, 0, 0, 0);
    f = file_of(ICON, 1, &image);
    assert_decodes(f.bytes, f.n, "ico", 2, 1, 4, EXPECT(1, 2, 3, 77, 4, 5, 6, 0));
}

/* The longer headers of later versions of Windows. */
TEST(headers)
{
    static const unsigned sizes[] = {40, 52, 56, 108, 124};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct image image = dib(2, 1, 24, 0);
        image.bytes[0] = (uint8_t)sizes[i];
        while (image.n < sizes[i])
            ADD(&image, 0xAB);
        ADD(&image, 3, 2, 1, 6, 5, 4, 0, 0, 0x40, 0, 0, 0);
        struct file f = file_of(ICON, 1, &image);
        assert_decodes(f.bytes, f.n, "ico", 2, 1, 4, EXPECT(1, 2, 3, 255, 4, 5, 6, 0));
        assert_cuts_are_refused(f.bytes, f.n);
        if (sizes[i] < 124)
            continue;
        memcpy(f.bytes + 22 + 112, "\x84\0\0", 4); /* a colour profile, right after the pixels */
        assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "in place of the mask");
        f.bytes[22 + 112] = 136; /* after the mask */
        assert_decodes(f.bytes, f.n, "ico", 2, 1, 4, EXPECT(1, 2, 3, 255, 4, 5, 6, 0));
    }
    struct image image = dib(2, 1, 24, 0);
    image.bytes[0] = 41;
    ADD(&image, 0, 3, 2, 1, 6, 5, 4, 0, 0, 0x40, 0, 0, 0);
    struct file f = file_of(ICON, 1, &image);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "neither PNG nor BMP");
}

TEST(palettes)
{
    struct image image = dib(3, 1, 1, 0);
    ADD(&image, 3, 2, 1, 0, 6, 5, 4, 0, 0x40, 0, 0, 0, 0x20, 0, 0, 0);
    struct file f = file_of(ICON, 1, &image);
    assert_decodes(f.bytes, f.n, "ico", 3, 1, 4, EXPECT(1, 2, 3, 255, 4, 5, 6, 255, 1, 2, 3, 0));
    image = dib(2, 1, 8, 2); /* a short palette */
    ADD(&image, 3, 2, 1, 0, 6, 5, 4, 0, 1, 0, 0, 0, 0x80, 0, 0, 0);
    f = file_of(ICON, 1, &image);
    assert_decodes(f.bytes, f.n, "ico", 2, 1, 4, EXPECT(4, 5, 6, 0, 1, 2, 3, 255));
    f.bytes[f.n - 8] = 2;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "colour 2 of a palette of 2");
}

/* The largest image; of the same size the deepest; of the same depth the first. */
TEST(choice)
{
    struct image images[ENTRIES_MAX] = {dib(1, 1, 32, 0), dib(2, 1, 24, 0), dib(2, 1, 32, 0),
                                        dib(1, 2, 32, 0)};
    for (size_t i = 0; i < ENTRIES_MAX; i++)
        for (size_t j = 0; j < 12; j++)
            ADD(&images[i], (uint8_t)(10 * i + j % 4));
    struct file f = file_of(ICON, ENTRIES_MAX, images);
    assert_decodes(f.bytes, f.n, "ico", 2, 1, 4, EXPECT(22, 21, 20, 23, 22, 21, 20, 23));
    f = file_of(ICON, 2, images);
    assert_decodes(f.bytes, f.n, "ico", 2, 1, 4, EXPECT(12, 11, 10, 255, 11, 10, 13, 255));
}

TEST(png)
{
    struct image images[2] = {dib(3, 1, 24, 0), {.n = 0}};
    for (size_t j = 0; j < 16; j++)
        ADD(&images[0], 1);
    static const uint8_t pixels[4 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = 2, .height = 2, .format = PNG_FORMAT_RGB};
    png_alloc_size_t n = sizeof images[1].bytes;
    assert_true(png_image_write_to_memory(&png, images[1].bytes, &n, 0, pixels, 0, NULL));
    images[1].n = n;
    struct file f = file_of(ICON, 2, images);
    assert_decodes(f.bytes, f.n, "ico", 2, 2, 3, pixels);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 20);
}

TEST(damage)
{
    struct image image = dib(2, 1, 24, 0);
    ADD(&image, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0);
    struct file f = file_of(ICON, 1, &image);
    f.bytes[22 + 16] = 1; /* run lengths */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "a compressed BMP");
    f = file_of(ICON, 1, &image);
    f.bytes[22 + 8] = 3; /* half a mask */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged ICO: an impossible size");
    f = file_of(ICON, 1, &image);
    f.bytes[22 + 11] = 0x80; /* rows from the top */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "ICO of negative size is not supported");
    f = file_of(ICON, 1, &image);
    f.bytes[22 + 4] = 0;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged ICO: it has no pixels");
    f = file_of(ICON, 1, &image);
    f.bytes[22] = 12;
    assert_refused(f.bytes, f.n, IH_CORRUPT, "neither PNG nor BMP");
    f = file_of(ICON, 1, &image);
    f.bytes[22 + 14] = 0; /* no bits a pixel */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "");
    f = file_of(ICON, 1, &image);
    f.bytes[22 + 7] = 0x40;
    assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
    f = file_of(ICON, 1, &image);
    f.bytes[4] = 0; /* no image: not an icon */
    assert_refused(f.bytes, f.n, IH_UNKNOWN, "not an image");
}
