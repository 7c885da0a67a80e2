/* GIF files written by giflib, sound and damaged. */
#include "tests/support/damage.h"
#include <gif_lib.h>

enum { WIDTH = 13, HEIGHT = 11, N = WIDTH * HEIGHT, NONE = -1 };

struct file {
    uint8_t bytes[8192];
    size_t n;
};

static int write_bytes(GifFileType *gif, const GifByteType *bytes, int n)
{
    struct file *f = gif->UserData;
    assert_true(f->n + (size_t)n <= sizeof f->bytes);
    memcpy(f->bytes + f->n, bytes, (size_t)n);
    f->n += (size_t)n;
    return n;
}

struct kind {
    int left, top, screen_width, screen_height, transparent, n_colours;
    bool is_interlaced, has_local_map, has_global_map; /* in addition to the local one */
    unsigned one_of; /* if not 0: each one_of-th pixel is transparent, the others have colour 0 */
};

static const struct kind plain = {0, 0, WIDTH, HEIGHT, NONE, 64, false, false, false, 0};

static void colour(const struct kind *k, unsigned index, uint8_t *rgba)
{
    for (unsigned c = 0; c < 3; c++)
        rgba[c] = picture(index + 3, c);
    rgba[3] = (int)index == k->transparent ? 0 : 255;
}

static unsigned index_of(const struct kind *k, size_t i)
{
    if (k->one_of)
        return i % k->one_of == 0 ? (unsigned)k->transparent : 0;
    return picture(i, 0) % (unsigned)k->n_colours;
}

static void write_file(struct file *f, const struct kind *k, unsigned n_frames)
{
    int code;
    f->n = 0;
    GifFileType *gif = EGifOpen(f, write_bytes, &code);
    assert_non_null(gif);
    EGifSetGifVersion(gif, true);
    ColorMapObject *map = GifMakeMapObject(k->n_colours, NULL);
    for (unsigned i = 0; i < (unsigned)k->n_colours; i++) {
        uint8_t rgba[4];
        colour(k, i, rgba);
        map->Colors[i] = (GifColorType){rgba[0], rgba[1], rgba[2]};
    }
    ColorMapObject *others = GifMakeMapObject(k->n_colours, NULL); /* all black */
    EGifPutScreenDesc(gif, k->screen_width, k->screen_height, 8, 1,
                      !k->has_local_map   ? map
                      : k->has_global_map ? others
                                          : NULL);
    for (unsigned frame = 0; frame < n_frames; frame++) {
        GraphicsControlBlock control = {.TransparentColor = k->transparent};
        GifByteType block[4];
        EGifPutComment(gif, "a comment");
        EGifGCBToExtension(&control, block);
        EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, sizeof block, block);
        EGifPutImageDesc(gif, k->left, k->top, WIDTH, HEIGHT, k->is_interlaced,
                         k->has_local_map ? map : NULL);
        for (size_t y = 0; y < HEIGHT; y++) {
            GifPixelType row[WIDTH];
            for (size_t x = 0; x < WIDTH; x++)
                row[x] = (GifPixelType)(frame ? 0 : index_of(k, y * WIDTH + x));
            assert_int_equal(EGifPutLine(gif, row, WIDTH), GIF_OK);
        }
    }
    GifFreeMapObject(map);
    GifFreeMapObject(others);
    EGifCloseFile(gif, &code);
}

/* The decoder returns the uncovered pixels of the screen first, then those of the frame. */
static void assert_kind(const struct kind *k, unsigned n_frames, size_t width, size_t height,
                        unsigned n_channels)
{
    static struct file f;
    static uint8_t expected[64 * 64 * 4];
    memset(expected, 0, sizeof expected);
    write_file(&f, k, n_frames);
    for (size_t i = 0; i < N; i++) {
        uint8_t rgba[4];
        colour(k, index_of(k, i), rgba);
        memcpy(expected + (width * height - N + i) * n_channels, rgba, n_channels);
    }
    assert_decodes(f.bytes, f.n, "gif", width, height, n_channels, expected);
}

TEST(kinds)
{
    struct kind k = plain;
    assert_kind(&k, 1, WIDTH, HEIGHT, 3);
    assert_kind(&k, 3, WIDTH, HEIGHT, 3);
    k.is_interlaced = k.has_local_map = true;
    assert_kind(&k, 2, WIDTH, HEIGHT, 3);
    k.has_global_map = true; /* the frame's own palette applies */
    assert_kind(&k, 2, WIDTH, HEIGHT, 3);
    k.has_global_map = false;
    for (k.n_colours = 2; k.n_colours <= 256; k.n_colours *= 2)
        assert_kind(&k, 1, WIDTH, HEIGHT, 3);
    k.n_colours = 256;
    k.transparent = 7;
    assert_kind(&k, 1, WIDTH, HEIGHT, 4);
}

TEST(screen)
{
    struct kind k = plain; /* larger than the frame */
    k.screen_width = 30;
    k.screen_height = 20;
    k.left = 10;
    k.top = 5;
    assert_kind(&k, 1, 30, 20, 4);
    k.transparent = 3;
    assert_kind(&k, 1, 30, 20, 4);
    k.left = 25; /* the frame extends past the right edge */
    assert_kind(&k, 1, 25 + WIDTH, 20, 4);
    k = plain;
    k.screen_width = k.screen_height = 1;
    assert_kind(&k, 1, WIDTH, HEIGHT, 3);
}

/* Cuts the palette of 64 colours to 2^(log2 + 1) colours. The indices stay. */
static void shorten_palette(struct file *f, unsigned log2)
{
    const size_t n_bytes = (size_t)3 << (log2 + 1), n_cut = 64 * 3 - n_bytes;
    assert_int_equal(f->bytes[10] & 7, 5); /* 2^(5+1) colours */
    f->bytes[10] = (uint8_t)((f->bytes[10] & ~7) | (int)log2);
    memmove(f->bytes + 13 + n_bytes, f->bytes + 13 + 64 * 3, f->n - 13 - 64 * 3);
    f->n -= n_cut;
}

TEST(index_past_the_palette)
{
    static struct file f;
    struct kind k = plain;
    write_file(&f, &k, 1);
    shorten_palette(&f, 2);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "of a palette of 8");
    k.transparent = 63; /* the other indices are still past the end */
    write_file(&f, &k, 1);
    shorten_palette(&f, 2);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "of a palette of 8");
}

/* The transparent index needs no colour. The palette has 32; all other indices are 0. */
TEST(transparent_past_the_palette)
{
    static struct file f;
    static uint8_t expected[N * 4];
    struct kind k = plain;
    k.transparent = 33;
    k.one_of = 3;
    write_file(&f, &k, 1);
    shorten_palette(&f, 4);
    for (size_t i = 0; i < N; i++)
        if (index_of(&k, i) == 0)
            colour(&k, 0, expected + 4 * i);
    assert_decodes(f.bytes, f.n, "gif", WIDTH, HEIGHT, 4, expected);
}

TEST(damage)
{
    static struct file f;
    struct kind k = plain;
    write_file(&f, &k, 1);
    assert_cuts_are_refused(f.bytes, f.n - 1); /* the last byte only marks the end */
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    k.is_interlaced = k.has_local_map = true;
    k.screen_width = 40;
    write_file(&f, &k, 2);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    assert_refused((const uint8_t *)"GIF89a\1\0\1\0\0\0\0;", 14, IH_CORRUPT, "damaged GIF");
}

TEST(limits)
{
    static struct file f;
    struct kind k = plain;
    write_file(&f, &k, 1);
    memset(f.bytes + 6, 0xFF, 4); /* a screen of 65535 x 65535 */
    assert_refused(f.bytes, f.n, IH_LIMIT, "image too large");
}

/* More than 256 colours have no palette. Readers disagree about such files. */
TEST(codes_of_more_than_8_bits)
{
    static struct file f;
    static const uint8_t frame[] = {0x2C, 0, 0, 0, 0, WIDTH, 0, HEIGHT, 0, 0};
    size_t at = 0;
    write_file(&f, &plain, 1);
    while (at + sizeof frame < f.n && memcmp(f.bytes + at, frame, sizeof frame) != 0)
        at++;
    for (unsigned bits = 9; bits <= 255; bits += 41) {
        f.bytes[at + sizeof frame] = (uint8_t)bits;
        assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "GIF with codes of ");
    }
    assert_refused(f.bytes, at + 5, IH_CORRUPT, "the file ends before the image does");
    /* What may follow a frame, in place of its data: a frame, an extension, the trailer. */
    for (const char *c = ",!;"; *c; c++) {
        f.bytes[at + sizeof frame] = (uint8_t)*c;
        assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged GIF: a frame without data");
        assert_refused(f.bytes, at + sizeof frame + 1, IH_CORRUPT, "a frame without data");
    }
    memset(f.bytes + at + 5, 0, 2); /* no columns either */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged GIF: a frame without data");
}

/* ---- a full table of codes: 3,838 codes after the clear code fill it ---- */

struct bits {
    struct file *f;
    size_t block, n_bits; /* where the current block's size is; bits in it */
};

static void put_code(struct bits *b, unsigned code, unsigned n_bits)
{
    for (; n_bits > 0; n_bits--, code >>= 1) {
        if (b->n_bits % (255 * 8) == 0) { /* a new block */
            b->block = b->f->n++;
            b->f->bytes[b->block] = 0;
        }
        if (b->n_bits % 8 == 0) {
            assert_true(b->f->n < sizeof b->f->bytes);
            b->f->bytes[b->f->n++] = 0;
            b->f->bytes[b->block]++;
        }
        b->f->bytes[b->f->n - 1] |= (uint8_t)((code & 1) << b->n_bits++ % 8);
        if (b->n_bits == 255 * 8)
            b->n_bits = 0;
    }
}

TEST(full_table)
{
    enum {
        CLEAR = 256,
        FIRST = 258,
        LAST = 4095,
        N_LITERALS = LAST - FIRST + 1,
        N_ALL = N_LITERALS + 4
    };
    static struct file f;
    static uint8_t indices[N_ALL], expected[N_ALL * 3];
    unsigned n_bits = 9, next = FIRST - 1;
    f.n = 0;
    const uint8_t head[] = {'G', 'I',         'F',        '8',  '9', 'a', 1,
                            0,   N_ALL & 255, N_ALL >> 8, 0xF7, 0,   0};
    memcpy(f.bytes, head, sizeof head);
    f.n = sizeof head;
    for (unsigned i = 0; i < 256; i++)
        for (unsigned c = 0; c < 3; c++)
            f.bytes[f.n++] = picture(i, c);
    const uint8_t frame[] = {0x2C, 0, 0, 0, 0, 1, 0, N_ALL & 255, N_ALL >> 8, 0, 8};
    memcpy(f.bytes + f.n, frame, sizeof frame);
    f.n += sizeof frame;
    struct bits b = {.f = &f};
    put_code(&b, CLEAR, n_bits);
    for (unsigned i = 0; i < N_LITERALS; i++) {
        indices[i] = picture(i, 1);
        put_code(&b, indices[i], n_bits);
        if (++next == 1u << n_bits && n_bits < 12) /* each code but the first adds an entry */
            n_bits++;
    }
    /* The last entry, which the decoder makes of this code itself; then it stays as it is. */
    const uint8_t last = indices[N_LITERALS - 1];
    const uint8_t end[4] = {last, last, last, last};
    memcpy(indices + N_LITERALS, end, sizeof end);
    put_code(&b, LAST, 12);
    put_code(&b, LAST, 12);
    put_code(&b, CLEAR + 1, 12);
    f.bytes[f.n++] = 0;
    f.bytes[f.n++] = ';';
    for (unsigned i = 0; i < N_ALL * 3; i++)
        expected[i] = picture(indices[i / 3], i % 3);
    assert_decodes(f.bytes, f.n, "gif", 1, N_ALL, 3, expected);
}
