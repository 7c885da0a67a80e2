/* TIFF with YCbCr that is not JPEG, written byte by byte: units of 1, 2 and 4 pixels in each
 * direction, in strips and tiles that extend past the image. */
#include "tests/support/damage.h"
#include "tests/support/written.h"

enum { WIDTH = 21, HEIGHT = 19, ROWS = 8, TILE = 16, BLOCKS_MAX = 4 };
enum { SHORT = TIFF_TYPE_SHORT, LONG = TIFF_TYPE_LONG, RATIONAL = TIFF_TYPE_RATIONAL };

struct kind {
    unsigned across, down;
    bool is_tiled, has_reference;
};

static const double full_reference[6] = {0, 255, 128, 255, 128, 255};
static const uint32_t video_reference[6] = {16,  235, 128,
                                            240, 120, 240}; /* Cr differs, so that a swap shows */

static unsigned y_code(size_t x, size_t y)
{
    return x < WIDTH && y < HEIGHT ? (unsigned)(x * 13 + y * 7) % 256 : 0;
}

static unsigned cb_code(size_t across, size_t down)
{
    return (unsigned)(across * 37 + down * 11 + 60) % 256;
}

static unsigned cr_code(size_t across, size_t down)
{
    return (unsigned)(across * 23 + down * 41 + 90) % 256;
}

static void put_block(struct file *f, const struct kind *k, size_t x0, size_t y0, size_t w,
                      size_t h)
{
    for (size_t y = y0; y < y0 + h; y += k->down) {
        for (size_t x = x0; x < x0 + w; x += k->across) {
            for (size_t i = 0; i < (size_t)k->across * k->down; i++)
                put_number(f, 1, y_code(x + i % k->across, y + i / k->across));
            put_number(f, 1, cb_code(x / k->across, y / k->down));
            put_number(f, 1, cr_code(x / k->across, y / k->down));
        }
    }
}

/* Writes the positions and lengths of the blocks, values that do not fit into an entry, and the
 * entries. */
static void put_directory(struct file *f, const struct kind *k, const uint32_t *at, uint32_t n)
{
    const uint32_t offsets = (uint32_t)f->n, lengths = offsets + 4 * n, bits = lengths + 4 * n;
    for (uint32_t i = 0; i < n; i++)
        put_number(f, 4, at[i]);
    for (uint32_t i = 0; i < n; i++)
        put_number(f, 4, at[i + 1] - at[i]);
    for (unsigned i = 0; i < 4; i++) /* and one for alignment */
        put_number(f, 2, 8);
    const uint32_t reference = (uint32_t)f->n;
    for (unsigned i = 0; i < 6; i++) {
        put_number(f, 4, video_reference[i]);
        put_number(f, 4, 1);
    }
    memcpy(f->bytes + 4, &(uint8_t[]){(uint8_t)f->n, (uint8_t)(f->n >> 8)}, 2);
    put_number(f, 2, (k->is_tiled ? 11u : 10u) + k->has_reference);
    put_entry(f, 256, LONG, 1, WIDTH);
    put_entry(f, 257, LONG, 1, HEIGHT);
    put_entry(f, 258, SHORT, 3, bits);
    put_entry(f, 259, SHORT, 1, 1);
    put_entry(f, 262, SHORT, 1, 6);
    if (!k->is_tiled)
        put_entry(f, 273, LONG, n, offsets);
    put_entry(f, 277, SHORT, 1, 3);
    if (!k->is_tiled) {
        put_entry(f, 278, SHORT, 1, ROWS);
        put_entry(f, 279, LONG, n, lengths);
    } else {
        put_entry(f, 322, SHORT, 1, TILE);
        put_entry(f, 323, SHORT, 1, TILE);
        put_entry(f, 324, LONG, n, offsets);
        put_entry(f, 325, LONG, n, lengths);
    }
    put_entry(f, 530, SHORT, 2, k->across | k->down << 16);
    if (k->has_reference)
        put_entry(f, 532, RATIONAL, 6, reference);
    put_number(f, 4, 0);
}

static struct file write_file(const struct kind *k)
{
    struct file f = {.n = 0};
    uint32_t at[BLOCKS_MAX + 1], n = 0;
    put(&f, "II*\0\0\0\0\0", 8);
    const size_t w = k->is_tiled ? TILE : WIDTH, h = k->is_tiled ? TILE : ROWS;
    for (size_t y = 0; y < HEIGHT; y += h) {
        for (size_t x = 0; x < WIDTH; x += w) {
            at[n++] = (uint32_t)f.n;
            put_block(&f, k, x, y, w, k->is_tiled || HEIGHT - y > h ? h : HEIGHT - y);
        }
    }
    at[n] = (uint32_t)f.n;
    put_directory(&f, k, at, n);
    return f;
}

/* ---- expected pixels, by the specification's equations ---- */

static uint8_t rounded(double v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)(v + 0.5);
}

static void put_rgb(const struct kind *k, size_t x, size_t y, uint8_t *rgb)
{
    const unsigned codes[3] = {y_code(x, y), cb_code(x / k->across, y / k->down),
                               cr_code(x / k->across, y / k->down)};
    double v[3];
    for (unsigned c = 0; c < 3; c++) {
        double black = k->has_reference ? video_reference[2 * c] : full_reference[2 * c];
        double white = k->has_reference ? video_reference[2 * c + 1] : full_reference[2 * c + 1];
        v[c] = (codes[c] - black) * (c == 0 ? 255 : 127) / (white - black);
    }
    /* 2 - 2 * 0.299, that * 0.299 / 0.587, 2 - 2 * 0.114, that * 0.114 / 0.587, in 16 bits */
    rgb[0] = rounded(v[0] + v[2] * (91881 / 65536.0));
    rgb[1] = rounded(v[0] - v[2] * (46802 / 65536.0) - v[1] * (22553 / 65536.0));
    rgb[2] = rounded(v[0] + v[1] * (116130 / 65536.0));
}

/* The decoder returns pixels block by block. */
static void assert_kind(const struct kind *k)
{
    static uint8_t expected[WIDTH * HEIGHT * 3];
    const size_t w = k->is_tiled ? TILE : WIDTH, h = k->is_tiled ? TILE : HEIGHT;
    uint8_t *rgb = expected;
    for (size_t y0 = 0; y0 < HEIGHT; y0 += h)
        for (size_t x0 = 0; x0 < WIDTH; x0 += w)
            for (size_t y = y0; y < y0 + h && y < HEIGHT; y++)
                for (size_t x = x0; x < x0 + w && x < WIDTH; x++, rgb += 3)
                    put_rgb(k, x, y, rgb);
    struct file f = write_file(k);
    assert_decodes(f.bytes, f.n, "tiff", WIDTH, HEIGHT, 3, expected);
}

TEST(units)
{
    for (unsigned i = 0; i < 3 * 3 * 4; i++) {
        const struct kind k = {1u << i % 3, 1u << i / 3 % 3, i / 9 % 2, i / 18};
        assert_kind(&k);
    }
}

TEST(damage)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct kind k = {4, 4, i, true};
        struct file f = write_file(&k);
        assert_true(damage_each_byte(f.bytes, f.n) > 0);
    }
}

TEST(impossible)
{
    struct kind k = {2, 2, false, true};
    struct file f = write_file(&k);
    f.bytes[f.n - 4 - 12 - 4] = 3; /* units of 3 across, before the entry of the reference values */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged TIFF");
    f = write_file(&k);
    f.bytes[f.bytes[f.n - 4 - 4] | f.bytes[f.n - 4 - 3] << 8] = 235; /* black is white */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "YCbCr with impossible values");
}
