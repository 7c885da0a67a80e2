/* TIFF strips that deviate from the specification as some programs write them. */
#include "tests/support/damage.h"
#include "tests/support/jpeg_files.h"
#include "tests/support/written.h"

enum { WIDTH = 24, ROWS = 16, HEIGHT = 24, SHORT = TIFF_TYPE_SHORT, LONG = TIFF_TYPE_LONG };

/* A gray image of two strips, with ROWS and HEIGHT - ROWS rows. Strip i lies from at[i] to at[i +
 * 1]. */
static void put_directory(struct file *f, const uint32_t at[3], uint32_t compression)
{
    const uint32_t offsets = at[2], lengths = offsets + 8;
    for (unsigned i = 0; i < 2; i++)
        put_number(f, 4, at[i]);
    for (unsigned i = 0; i < 2; i++)
        put_number(f, 4, at[i + 1] - at[i]);
    memcpy(f->bytes + 4, &(uint8_t[]){(uint8_t)f->n, (uint8_t)(f->n >> 8)}, 2);
    put_number(f, 2, 9);
    put_entry(f, 256, SHORT, 1, WIDTH);
    put_entry(f, 257, SHORT, 1, HEIGHT);
    put_entry(f, 258, SHORT, 1, 8);
    put_entry(f, 259, SHORT, 1, compression);
    put_entry(f, 262, SHORT, 1, 1);
    put_entry(f, 273, LONG, 2, offsets);
    put_entry(f, 277, SHORT, 1, 1);
    put_entry(f, 278, SHORT, 1, ROWS);
    put_entry(f, 279, LONG, 2, lengths);
    put_number(f, 4, 0);
}

/* Writes JPEG strips of ROWS and last_rows rows and stores their pixels in pixels. HEIGHT - ROWS
 * rows of the last strip belong to the image. */
static struct file write_file(bool is_progressive, unsigned width, unsigned last_rows,
                              uint8_t pixels[WIDTH * ROWS * 2])
{
    const struct jpeg_kind kind = {
        .is_gray = true, .h = 1, .v = 1, .is_progressive = is_progressive};
    struct file f = {.n = 0};
    uint32_t at[3];
    put(&f, "II*\0\0\0\0\0", 8);
    for (unsigned i = 0; i < 2; i++) {
        struct jpeg_file jpeg = make_jpeg(&kind, width, i ? last_rows : ROWS);
        struct decoded d = decode(jpeg.bytes, jpeg.n, MAX_PIXELS, ALL_ROWS);
        assert_int_equal(d.status, IH_OK);
        memcpy(pixels + i * WIDTH * ROWS, d.pixels, d.n_pixels);
        free(d.pixels);
        at[i] = (uint32_t)f.n;
        put(&f, jpeg.bytes, jpeg.n);
        free(jpeg.bytes);
    }
    at[2] = (uint32_t)f.n;
    put_directory(&f, at, 7);
    return f;
}

/* Some programs write the last strip as high as the others. */
TEST(last_strip)
{
    uint8_t pixels[WIDTH * ROWS * 2];
    struct file f = write_file(false, WIDTH, HEIGHT - ROWS, pixels);
    assert_decodes(f.bytes, f.n, "tiff", WIDTH, HEIGHT, 1, pixels);
    f = write_file(false, WIDTH, ROWS, pixels);
    assert_decodes(f.bytes, f.n, "tiff", WIDTH, HEIGHT, 1, pixels);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    f = write_file(false, WIDTH, HEIGHT - ROWS - 1, pixels);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged TIFF");
    f = write_file(false, WIDTH - 1, HEIGHT - ROWS, pixels);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged TIFF");
}

/* The specification does not allow progressive JPEG, but its pixels are sound. */
TEST(progressive)
{
    uint8_t pixels[WIDTH * ROWS * 2];
    struct file f = write_file(true, WIDTH, HEIGHT - ROWS, pixels);
    assert_decodes(f.bytes, f.n, "tiff", WIDTH, HEIGHT, 1, pixels);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
}

/* PackBits runs that continue in the next row: 12 of 24 pixels, then 36 each. */
TEST(packbits)
{
    uint8_t pixels[WIDTH * HEIGHT];
    uint32_t at[3];
    struct file f = {.n = 0};
    put(&f, "II*\0\0\0\0\0", 8);
    for (unsigned i = 0, done = 0; i < 2; i++) {
        const unsigned end = i ? WIDTH * HEIGHT : WIDTH * ROWS;
        at[i] = (uint32_t)f.n;
        for (unsigned n = 12; done < end; done += n, n = end - done < 36 ? end - done : 36) {
            PUT(&f, (uint8_t)(257 - n), (uint8_t)done);
            memset(pixels + done, (int)(done & 255), n);
        }
    }
    at[2] = (uint32_t)f.n;
    put_directory(&f, at, 32773);
    assert_decodes(f.bytes, f.n, "tiff", WIDTH, HEIGHT, 1, pixels);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    f.bytes[at[2] - 2]++; /* the last run is too short by one */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged TIFF");
}

/* libtiff never writes the last of an odd number of 12-bit JPEG samples. */
TEST(odd_rows_of_12_bits)
{
    static const struct {
        uint32_t width, n_samples, planar;
        bool is_odd;
    } cases[] = {{21, 1, 1, true},  {22, 1, 1, false}, {21, 3, 1, true}, {22, 3, 1, false},
                 {21, 2, 1, false}, {21, 2, 2, true},  {22, 3, 2, false}};
    enum { BITS_AT = 8, STRIPS_AT = 14 }; /* the strips hold no JPEG; only the tags matter */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file f = {.n = 0};
        put(&f, "II*\0", 4);
        put_number(&f, 4, 32);
        for (unsigned c = 0; c < 3; c++) /* bits a sample, and the places and sizes of the strips */
            put_number(&f, 2, 12);
        for (unsigned c = 0; c < 3; c++)
            put_number(&f, 4, 4);
        PUT(&f, 0, 0, 0, 0, 0, 0);
        put_number(&f, 2, 10);
        const uint32_t n = cases[i].n_samples, n_strips = cases[i].planar == 2 ? n : 1;
        put_entry(&f, 256, SHORT, 1, cases[i].width);
        put_entry(&f, 257, SHORT, 1, 1);
        put_entry(&f, 258, SHORT, n, n == 1 ? 12 : n == 2 ? 12 | 12 << 16 : BITS_AT);
        put_entry(&f, 259, SHORT, 1, 7);
        put_entry(&f, 262, SHORT, 1, n == 3 ? 2 : 1);
        put_entry(&f, 273, LONG, n_strips, STRIPS_AT);
        put_entry(&f, 277, SHORT, 1, n);
        put_entry(&f, 278, SHORT, 1, 1);
        put_entry(&f, 279, LONG, n_strips, n_strips == 1 ? 4 : STRIPS_AT);
        put_entry(&f, 284, SHORT, 1, cases[i].planar);
        put_number(&f, 4, 0);
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
        const bool is_refused = strstr(d.error.message, "an odd number of samples a row") != NULL;
        if (d.status == IH_OK || is_refused != cases[i].is_odd)
            fail_msg("case %zu: %s", i, d.error.message);
        if (is_refused)
            assert_int_equal(d.status, IH_UNSUPPORTED);
        free(d.pixels);
    }
}
