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

/* The value of a mantissa and an exponent, computed by the C library. */
static float hdr_value(unsigned mantissa, unsigned exponent)
{
    return exponent ? (float)ldexp(mantissa, (int)exponent - 136) : 0;
}

#define ASSERT_FLOATS(bytes, n_bytes, width, height, floats)                                \
    do {                                                                                    \
        assert_decodes(bytes, n_bytes, "hdr", width, height, 3, (const uint8_t *)(floats)); \
        struct decoded d = decode(bytes, n_bytes, MAX_PIXELS, 1);                           \
        assert_int_equal(d.info.type, IH_FLOAT32);                                          \
        assert_int_equal(d.info.n_bins, 65536);                                             \
        free(d.pixels);                                                                     \
    } while (0)

/* Every mantissa with exponents from black to far above white, uncompressed. */
TEST(hdr_values)
{
    enum { WIDTH = 7, HEIGHT = 256 }; /* fewer than 8: no run lengths */
    static const unsigned exponents[WIDTH] = {0, 1, 120, 126, 128, 129, 255};
    static float expected[WIDTH * HEIGHT * 3];
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
    ASSERT_FLOATS(f.bytes, f.n, WIDTH, HEIGHT, expected);
}

/* A row of 8 pixels in runs and literals, and one of 9 in plain pixels. */
TEST(hdr_run_lengths)
{
    struct file f;
    float expected[9 * 3];
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
    ASSERT_FLOATS(f.bytes, f.n, 8, 1, expected);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 20);
    start_hdr(&f, "#?RADIANCE", 9, 1);
    for (unsigned x = 0; x < 9; x++) {
        PUT(&f, (uint8_t)(130 + x), 128, 3, 128);
        expected[3 * x] = hdr_value(130 + x, 128);
        expected[3 * x + 1] = hdr_value(128, 128);
        expected[3 * x + 2] = hdr_value(3, 128);
    }
    ASSERT_FLOATS(f.bytes, f.n, 9, 1, expected);
    assert_cuts_are_refused(f.bytes, f.n);
}

/* Long runs of the oldest kind: 3 + 256 pixels like the first, then another one; and rows with and
 * without run lengths in one file. */
TEST(hdr_other_runs)
{
    enum { WIDTH = 261 };
    static float expected[WIDTH * 3];
    struct file f;
    start_hdr(&f, "#?RADIANCE", WIDTH, 1);
    PUT(&f, 200, 100, 50, 130, 1, 1, 1, 3, 1, 1, 1, 1, 7, 8, 9, 127);
    for (unsigned x = 0; x < WIDTH; x++)
        for (unsigned c = 0; c < 3; c++)
            expected[3 * x + c] = x + 1 < WIDTH ? hdr_value(200u >> c, 130) : hdr_value(7 + c, 127);
    ASSERT_FLOATS(f.bytes, f.n, WIDTH, 1, expected);
    assert_cuts_are_refused(f.bytes, f.n);
    start_hdr(&f, "#?RADIANCE", 8, 2);
    PUT(&f, 2, 2, 0, 8, 128 + 8, 9, 128 + 8, 8, 4, 1, 2, 3, 4, 128 + 4, 7, 128 + 8, 128);
    for (unsigned x = 0; x < 8; x++) {
        static const uint8_t blue[] = {1, 2, 3, 4, 7, 7, 7, 7};
        PUT(&f, 2, 3, 7, 128); /* begins as run lengths do */
        for (unsigned c = 0; c < 3; c++) {
            expected[3 * x + c] = hdr_value(c == 2 ? blue[x] : 9 - c, 128);
            expected[3 * (8 + x) + c] = hdr_value(c == 2 ? 7 : 2 + c, 128);
        }
    }
    ASSERT_FLOATS(f.bytes, f.n, 8, 2, expected);
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
        PUT(&f, 0); /* literals of no bytes, for ever */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "a run that its row has no room for");
    static const uint8_t runs[][12] = {{1, 1, 1, 1},                             /* of no pixel */
                                       {5, 6, 7, 128, 1, 1, 1, 8},               /* 8 of 7 */
                                       {5, 6, 7, 128, 1, 1, 1, 0, 1, 1, 1, 255}, /* 65,280 */
                                       {2, 2, 0, 9}};                            /* another width */
    for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
        start_hdr(&f, "#?RADIANCE", 8, 1);
        put(&f, runs[i], sizeof *runs);
        for (unsigned k = 0; k < 40; k++)
            PUT(&f, 9);
        assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged Radiance HDR: a r");
    }
    start_hdr(&f, "#?RADIANCE", 3, 1);
    for (unsigned i = 0; i < 30; i++) /* runs of none, whose number is at most four in a row */
        PUT(&f, 1, 1, 1, 0);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "a run that its row has no room for");
    start_hdr(&f, "#?RADIANCE", 0, 1);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "it has no pixels");
    start_hdr(&f, "#?RADIANCE", 60000, 60000);
    assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
    f = (struct file){.n = 0};
    put(&f, "#?RADIANCE\nFORMAT=32-bit_rle_xyze\n\n-Y 1 +X 1\n0123", 48);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "Radiance HDR with colours of CIE XYZ");
    f = (struct file){.n = 0};
    put(&f, "#?RADIANCE\n\n-Y 1 +X 1\n0123", 26);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "without FORMAT=32-bit_rle_rgbe in its header");
}

/* What a header with other sizes is refused for. */
TEST(hdr_sizes_and_lines)
{
    static const struct {
        const char *head, *reason;
        enum ih_status status;
    } cases[] = {
        {"#?RGBE\nF\n\n+Y 1 +X 1\n0123", "HDR in the order +Y +X is not", IH_UNSUPPORTED},
        {"#?RGBE\nF\n\n+X 1 -Y 1\n0123", "HDR in the order +X -Y is not", IH_UNSUPPORTED},
        {"#?RGBE\nF\n\n-Y -1 +X 1\n0123", "its sizes are not written as in", IH_CORRUPT},
        {"#?RGBE\nF\n\n-Y 1 +X 1x\n0123", "its sizes are not written as in", IH_CORRUPT},
        {"#?RGBE\nF\n\n1 1\n0123", "its sizes are not written as in", IH_CORRUPT},
        {"#?RGBE\r\nF\r\n\r\n-Y 1 +X 1\r\n0123", "lines that end with CR LF", IH_UNSUPPORTED},
        {"#?RADIANCE\r\nF\n\n-Y 1 +X 1\n0123", "lines that end with CR LF", IH_UNSUPPORTED},
        {"#?RADIANCE\nF\n\n-Y 1 +X 1\r\n0123", "lines that end with CR LF", IH_UNSUPPORTED},
        {"#?RGBE\nF\nA=0\n\n-Y 1 +X 1\n0123", "a NUL byte in its header", IH_CORRUPT},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file f = {.n = 0};
        for (const char *c = cases[i].head; *c; c++) /* F: the format; 0 after =: a NUL */
            if (*c == 'F')
                put(&f, "FORMAT=32-bit_rle_rgbe", 22);
            else
                PUT(&f, (uint8_t)(*c == '0' && c[-1] == '=' ? 0 : *c));
        assert_refused(f.bytes, f.n, cases[i].status, cases[i].reason);
    }
    struct file f = {.n = 0};
    put(&f, "#?RGBE\nFORMAT=32-bit_rle_rgbe\n\0\n\n-Y 1 +X 1\n0123", 47); /* at a line's start */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "a NUL byte in its header");
}
