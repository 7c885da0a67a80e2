/* QOI files, written by an encoder of this test and byte by byte, sound and damaged. */
#include "tests/support/damage.h"
#include "tests/support/random.h"
#include "tests/support/written.h"

static void start(struct file *f, uint32_t width, uint32_t height, uint32_t n_channels)
{
    *f = (struct file){.n = 0};
    put(f, "qoif", 4);
    put_number(f, -4, width);
    put_number(f, -4, height);
    PUT(f, (uint8_t)n_channels, 0);
}

static void end(struct file *f)
{
    PUT(f, 0, 0, 0, 0, 0, 0, 0, 1);
}

/* ---- an encoder after the specification: the shortest chunk for each pixel ---- */

struct colour {
    uint8_t r, g, b, a;
};

static bool is_same(struct colour p, struct colour q)
{
    return p.r == q.r && p.g == q.g && p.b == q.b && p.a == q.a;
}

static void put_pixel(struct file *f, struct colour table[64], struct colour was, struct colour p,
                      unsigned n_of_kind[6])
{
    const unsigned place = (p.r * 3u + p.g * 5u + p.b * 7u + p.a * 11u) % 64;
    const int8_t r = (int8_t)(p.r - was.r), g = (int8_t)(p.g - was.g), b = (int8_t)(p.b - was.b);
    const int8_t rg = (int8_t)(r - g), bg = (int8_t)(b - g);
    if (is_same(table[place], p)) {
        PUT(f, (uint8_t)place);
        n_of_kind[0]++;
    } else if (p.a != was.a) {
        PUT(f, 0xFF, p.r, p.g, p.b, p.a);
        n_of_kind[1]++;
    } else if (r >= -2 && r <= 1 && g >= -2 && g <= 1 && b >= -2 && b <= 1) {
        PUT(f, (uint8_t)(0x40 | (r + 2) << 4 | (g + 2) << 2 | (b + 2)));
        n_of_kind[2]++;
    } else if (g >= -32 && g <= 31 && rg >= -8 && rg <= 7 && bg >= -8 && bg <= 7) {
        PUT(f, (uint8_t)(0x80 | (g + 32)), (uint8_t)((rg + 8) << 4 | (bg + 8)));
        n_of_kind[3]++;
    } else {
        PUT(f, 0xFE, p.r, p.g, p.b);
        n_of_kind[4]++;
    }
    table[place] = p;
}

static void encode(struct file *f, uint32_t width, uint32_t height, unsigned n_channels,
                   const uint8_t *pixels, unsigned n_of_kind[6])
{
    struct colour table[64] = {{0, 0, 0, 0}}, was = {0, 0, 0, 255};
    unsigned n_run = 0;
    start(f, width, height, n_channels);
    for (size_t i = 0; i < (size_t)width * height; i++) {
        const uint8_t *v = pixels + i * n_channels;
        const struct colour p = {v[0], v[1], v[2], n_channels == 4 ? v[3] : 255};
        const bool repeats = is_same(p, was);
        if (n_run > 0 && (!repeats || n_run == 62)) {
            PUT(f, (uint8_t)(0xC0 | (n_run - 1)));
            n_of_kind[5]++;
            n_run = 0;
        }
        if (repeats)
            n_run++;
        else
            put_pixel(f, table, was, p, n_of_kind);
        was = p;
    }
    if (n_run > 0)
        PUT(f, (uint8_t)(0xC0 | (n_run - 1)));
    end(f);
}

/* Steps of different sizes, repeats and returns to earlier colours. */
static void draw(uint8_t *pixels, size_t n, unsigned n_channels, uint32_t seed)
{
    static const unsigned spread[] = {0, 1, 4, 4, 16, 256};
    for (size_t i = 0; i < n; i++) {
        const unsigned kind = random_next(&seed) % 9;
        for (unsigned c = 0; c < n_channels; c++) {
            const uint8_t before = i ? pixels[(i - 1) * n_channels + c] : 0;
            uint8_t v = before;
            if (kind < 6 && (c < 3 || kind == 5))
                v = (uint8_t)(before + random_next(&seed) % (spread[kind] + 1) - spread[kind] / 2);
            else if (kind > 6 && i > 7)
                v = pixels[(i - 7) * n_channels + c];
            pixels[i * n_channels + c] = v;
        }
    }
}

TEST(every_kind_of_chunk)
{
    enum { WIDTH = 23, HEIGHT = 29 };
    static struct file f;
    uint8_t pixels[WIDTH * HEIGHT * 4];
    unsigned n_of_kind[6] = {0};
    for (unsigned n_channels = 3; n_channels <= 4; n_channels++)
        for (uint32_t seed = 1; seed <= 20; seed++) {
            draw(pixels, WIDTH * HEIGHT, n_channels, seed);
            encode(&f, WIDTH, HEIGHT, n_channels, pixels, n_of_kind);
            assert_decodes(f.bytes, f.n, "qoi", WIDTH, HEIGHT, n_channels, pixels);
        }
    for (size_t i = 0; i < 6; i++)
        assert_true(n_of_kind[i] > 50);
}

/* Long runs cross the stripes and more than one chunk. */
TEST(runs)
{
    enum { WIDTH = 20, HEIGHT = 10 };
    static struct file f;
    uint8_t pixels[WIDTH * HEIGHT * 3] = {0};
    unsigned n_of_kind[6] = {0};
    pixels[WIDTH * HEIGHT * 3 - 1] = 9;
    encode(&f, WIDTH, HEIGHT, 3, pixels, n_of_kind);
    assert_int_equal(n_of_kind[5], 4); /* 62 + 62 + 62 + 13 */
    assert_decodes(f.bytes, f.n, "qoi", WIDTH, HEIGHT, 3, pixels);
}

/* Values wrap around, the table begins transparent black, and alpha counts in its places also in an
 * image without alpha. */
TEST(special_cases)
{
    struct file f;
    start(&f, 2, 1, 4);
    PUT(&f, 0x40, 0x05); /* -2, -2, -2; place 5 */
    end(&f);
    assert_decodes(f.bytes, f.n, "qoi", 2, 1, 4, EXPECT(254, 254, 254, 255, 0, 0, 0, 0));
    start(&f, 3, 1, 3);
    PUT(&f, 0xFF, 1, 2, 3, 4); /* place (3 + 10 + 21 + 44) % 64 */
    PUT(&f, 0xFE, 9, 9, 9);
    PUT(&f, 14);
    end(&f);
    assert_decodes(f.bytes, f.n, "qoi", 3, 1, 3, EXPECT(1, 2, 3, 9, 9, 9, 1, 2, 3));
    start(&f, 1, 1, 3);
    PUT(&f, 0x80, 0x0F); /* green -32, red -40, blue -25 */
    end(&f);
    assert_decodes(f.bytes, f.n, "qoi", 1, 1, 3, EXPECT(216, 224, 231));
    PUT(&f, 1, 2, 3); /* bytes after the end */
    assert_decodes(f.bytes, f.n, "qoi", 1, 1, 3, EXPECT(216, 224, 231));
}

TEST(damage)
{
    static struct file f;
    uint8_t pixels[9 * 5 * 4];
    unsigned n_of_kind[6] = {0};
    draw(pixels, 9 * 5, 4, 3);
    encode(&f, 9, 5, 4, pixels, n_of_kind);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 20);
    start(&f, 3, 1, 3);
    PUT(&f, 0xC3); /* four of three pixels */
    end(&f);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged QOI: a run past the end of the image");
    start(&f, 3, 1, 3);
    PUT(&f, 0xC2, 0);
    end(&f);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged QOI: its end marker is wrong");
    start(&f, 0, 1, 3);
    end(&f);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged QOI: it has no pixels");
    start(&f, 1, 1, 2);
    end(&f);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged QOI: a number of channels");
    start(&f, 1, 1, 3);
    f.bytes[13] = 2;
    end(&f);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged QOI: an unknown colour space");
    start(&f, 0xFFFFFFFF, 0xFFFFFFFF, 4);
    end(&f);
    assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
}
