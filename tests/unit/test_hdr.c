/* Radiance HDR files written byte by byte, sound and damaged. */
#include "tests/support/damage.h"
#include "tests/support/written.h"
#include <math.h>

static void start_hdr(struct file *f, const char *signature, unsigned width, unsigned height)
{
    char text[200];
    *f = (struct file){.n = 0};
    snprintf(text, sizeof text,
             "%s\n# a comment\nFORMAT=32-bit_rle_rgbe\nEXPOSURE=2\n\n-Y %u +X %u\n", signature,
             height, width);
    put(f, text, strlen(text));
}

/* The documented value of a mantissa and an exponent: 255 v^(1/2.2), rounded. */
static uint8_t hdr_value(unsigned mantissa, unsigned exponent)
{
    const double v = exponent ? ldexp(mantissa, (int)exponent - 136) : 0;
    const double scaled = floor(pow(v, 1 / 2.2) * 255 + 0.5);
    return (uint8_t)(scaled > 255 ? 255 : scaled);
}

/* Every mantissa with exponents from black to far above white, uncompressed. */
TEST(hdr_values)
{
    enum { WIDTH = 7, HEIGHT = 256 }; /* fewer than 8: no run lengths */
    static const unsigned exponents[WIDTH] = {0, 1, 120, 126, 128, 129, 255};
    static uint8_t expected[WIDTH * HEIGHT * 3];
    static struct {
        size_t n;
        uint8_t bytes[WIDTH * HEIGHT * 4 + 200];
    } f;
    struct file head;
    start_hdr(&head, "#?RADIANCE", WIDTH, HEIGHT);
    memcpy(f.bytes, head.bytes, head.n);
    f.n = head.n;
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const uint8_t pixel[4] = {(uint8_t)y, (uint8_t)(255 - y), (uint8_t)(y ^ 0x55),
                                      (uint8_t)exponents[x]};
            memcpy(f.bytes + f.n, pixel, 4);
            f.n += 4;
            for (unsigned c = 0; c < 3; c++)
                expected[(y * WIDTH + x) * 3 + c] = hdr_value(pixel[c], exponents[x]);
        }
    assert_decodes(f.bytes, f.n, "hdr", WIDTH, HEIGHT, 3, expected);
}

/* A row of 8 pixels in runs and literals, and one of 9 in plain pixels. */
TEST(hdr_run_lengths)
{
    struct file f;
    uint8_t expected[9 * 3];
    start_hdr(&f, "#?RGBE", 8, 1);
    PUT(&f, 2, 2, 0, 8);
    PUT(&f, 128 + 8, 200);                        /* red: a run */
    PUT(&f, 8, 1, 20, 40, 60, 80, 100, 120, 140); /* green: literals */
    PUT(&f, 3, 9, 8, 7, 128 + 5, 250);            /* blue: both */
    PUT(&f, 128 + 4, 128, 128 + 4, 127);          /* exponents */
    static const uint8_t green[] = {1, 20, 40, 60, 80, 100, 120, 140};
    static const uint8_t blue[] = {9, 8, 7, 250, 250, 250, 250, 250};
    for (unsigned x = 0; x < 8; x++) {
        const unsigned exponent = x < 4 ? 128 : 127;
        expected[3 * x] = hdr_value(200, exponent);
        expected[3 * x + 1] = hdr_value(green[x], exponent);
        expected[3 * x + 2] = hdr_value(blue[x], exponent);
    }
    assert_decodes(f.bytes, f.n, "hdr", 8, 1, 3, expected);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 20);
    start_hdr(&f, "#?RADIANCE", 9, 1);
    for (unsigned x = 0; x < 9; x++) {
        PUT(&f, (uint8_t)(130 + x), 128, 3, 128);
        expected[3 * x] = hdr_value(130 + x, 128);
        expected[3 * x + 1] = hdr_value(128, 128);
        expected[3 * x + 2] = hdr_value(3, 128);
    }
    assert_decodes(f.bytes, f.n, "hdr", 9, 1, 3, expected);
    assert_cuts_are_refused(f.bytes, f.n);
}

TEST(hdr_damage)
{
    struct file f;
    start_hdr(&f, "#?RADIANCE", 8, 1);
    PUT(&f, 2, 2, 0, 8, 128 + 9, 1); /* nine of eight */
    for (unsigned i = 0; i < 40; i++)
        PUT(&f, 1);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged Radiance HDR: ");
    start_hdr(&f, "#?RADIANCE", 8, 1);
    PUT(&f, 2, 2, 0, 8);
    for (unsigned i = 0; i < 40; i++)
        PUT(&f, 0); /* literals of no bytes, for ever; newer versions refuse the first */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "");
    start_hdr(&f, "#?RADIANCE", 0, 1);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "it has no pixels");
    start_hdr(&f, "#?RADIANCE", 60000, 60000);
    assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
    f = (struct file){.n = 0};
    put(&f, "#?RADIANCE\nFORMAT=32-bit_rle_xyze\n\n-Y 1 +X 1\n0123", 48);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "Radiance HDR with this header is not supported");
}

/* stb_image would decode these files to other pixels if bytes follow the image. */
TEST(hdr_other_runs)
{
    static const char oldest[] = "Radiance HDR with the oldest run lengths is not supported",
                      mixed[] = "Radiance HDR with run lengths in some rows only is not supported";
    static const uint8_t tail[64];
    struct file f;
    start_hdr(&f, "#?RADIANCE", 10, 1);
    PUT(&f, 200, 1, 1, 128, 1, 1, 1, 9); /* nine times the last pixel */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, oldest);
    put(&f, tail, sizeof tail);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, oldest);
    for (unsigned first_has_runs = 0; first_has_runs < 2; first_has_runs++) {
        start_hdr(&f, "#?RADIANCE", 8, 2);
        for (unsigned y = 0; y < 2; y++)
            if ((y == 0) == first_has_runs) {
                PUT(&f, 2, 2, 0, 8, 128 + 8, 9, 128 + 8, 8, 4, 1, 2, 3, 4, 128 + 4, 7, 128 + 8,
                    128);
            } else {
                for (unsigned x = 0; x < 8; x++)
                    PUT(&f, 9, 8, 7, 128);
            }
        put(&f, tail, sizeof tail);
        assert_refused(f.bytes, f.n, IH_UNSUPPORTED, mixed);
    }
}

TEST(hdr_budget)
{
    struct file f;
    start_hdr(&f, "#?RADIANCE", 2, 1);
    PUT(&f, 1, 2, 3, 128, 4, 5, 6, 128);
    assert_budget(f.bytes, f.n, f.n + 2 * 15, IH_OK);
    assert_budget(f.bytes, f.n, f.n + 2 * 15 - 1, IH_LIMIT);
}
