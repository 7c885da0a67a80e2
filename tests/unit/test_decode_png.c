/*
 * The PNG decoder against a plain reference, on images that libpng writes here: every colour type,
 * depth and interlacing, with and without tRNS; and damage.
 */
#include "tests/support/test.h"

#include "decode/decoder.h"
#include "tests/support/decoded.h"
#include "tests/support/png_files.h"

enum { SIDE_MAX = 16, PALETTE_MAX = 256 };

struct picture {
    int colour, depth, interlace;
    bool has_trns;
    unsigned width, height, n_samples_each, n_palette;
    uint16_t samples[SIDE_MAX * SIDE_MAX * 4];
    png_color palette[PALETTE_MAX];
    uint8_t alphas[PALETTE_MAX]; /* has_trns: of the first half of the palette */
    png_color_16 transparent;    /* of other kinds */
};

/* Packs a row of samples as PNG stores them. */
static void pack_row(const struct picture *p, unsigned y, uint8_t *row)
{
    const uint16_t *samples = p->samples + (size_t)y * p->width * p->n_samples_each;
    memset(row, 0, SIDE_MAX * 8);
    for (unsigned i = 0; i < p->width * p->n_samples_each; i++) {
        unsigned bit = i * (unsigned)p->depth, v = samples[i];
        if (p->depth == 16)
            row[2 * i] = (uint8_t)(v >> 8), row[2 * i + 1] = (uint8_t)v;
        else
            row[bit / 8] = (uint8_t)(row[bit / 8] | v << (8 - (unsigned)p->depth - bit % 8));
    }
}

static struct bytes write_png(const struct picture *p)
{
    struct bytes f = {0};
    uint8_t rows[SIDE_MAX][SIDE_MAX * 8];
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    write_png_to(png, &f);
    png_set_check_for_invalid_index(png, 0);
    png_set_IHDR(png, info, p->width, p->height, p->depth, p->colour, p->interlace,
                 PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    if (p->colour == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, p->palette, (int)p->n_palette);
    if (p->has_trns)
        png_set_tRNS(png, info, p->alphas, ((int)p->n_palette + 1) / 2, &p->transparent);
    png_write_info(png, info);
    int n_passes = png_set_interlace_handling(png);
    for (unsigned y = 0; y < p->height; y++)
        pack_row(p, y, rows[y]);
    for (int pass = 0; pass < n_passes; pass++)
        for (unsigned y = 0; y < p->height; y++)
            png_write_row(png, rows[y]);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return f;
}

/* Noise. About a third of the pixels have the transparent colour; at 16 bits another third differs
 * from it in the low byte only. */
static struct picture make_picture(int colour, int depth, int interlace, bool has_trns,
                                   unsigned width, unsigned height)
{
    static const unsigned n_samples[7] = {1, 0, 3, 1, 2, 0, 4};
    struct picture p = {.colour = colour, .depth = depth, .interlace = interlace};
    uint32_t random = 12345u + (unsigned)depth;
    unsigned mask = (1u << depth) - 1;
    p.has_trns = has_trns;
    p.width = width;
    p.height = height;
    p.n_samples_each = n_samples[colour];
    p.transparent = (png_color_16){0, (png_uint_16)(0x1234 & mask), (png_uint_16)(0x2345 & mask),
                                   (png_uint_16)(0x3456 & mask), (png_uint_16)(0x1234 & mask)};
    const uint16_t key[3] = {p.transparent.red, p.transparent.green, p.transparent.blue};
    if (colour == PNG_COLOR_TYPE_PALETTE)
        p.n_palette = depth == 8 ? 200 : 1u << depth;
    for (unsigned i = 0; i < p.n_palette; i++) {
        p.palette[i] = (png_color){(uint8_t)(i * 7), (uint8_t)(i * 11 + 3), (uint8_t)(255 - i)};
        p.alphas[i] = (uint8_t)(i * 37);
    }
    for (unsigned i = 0; i < width * height * p.n_samples_each; i++) {
        unsigned pixel = i / p.n_samples_each;
        random = random * 1664525u + 1013904223u;
        p.samples[i] = (uint16_t)(random >> 8 & mask);
        if (p.n_palette)
            p.samples[i] = (uint16_t)(p.samples[i] % p.n_palette);
        else if (p.n_samples_each != 2 && p.n_samples_each != 4 && pixel % 3 < 2)
            p.samples[i] = (uint16_t)(key[i % p.n_samples_each] ^ (depth == 16 && pixel % 3 == 1));
    }
    return p;
}

static unsigned channels_of(const struct picture *p)
{
    unsigned n_colours = p->colour == PNG_COLOR_TYPE_PALETTE ? 3 : p->n_samples_each;
    return n_colours + p->has_trns;
}

static void reference_pixel(const struct picture *p, const uint16_t *samples, uint8_t *out)
{
    const uint16_t key[3] = {p->transparent.red, p->transparent.green, p->transparent.blue};
    unsigned n = p->n_samples_each, max = (1u << p->depth) - 1;
    if (p->colour == PNG_COLOR_TYPE_PALETTE) {
        unsigned index = samples[0];
        out[0] = p->palette[index].red;
        out[1] = p->palette[index].green;
        out[2] = p->palette[index].blue;
        if (p->has_trns)
            out[3] = index < (p->n_palette + 1) / 2 ? p->alphas[index] : 255;
        return;
    }
    for (unsigned c = 0; c < n; c++)
        out[c] = (uint8_t)((samples[c] * 255u * 2 + max) / (2 * max)); /* rounded to nearest */
    if (p->has_trns)
        out[n] = memcmp(samples, key, n * sizeof *key) == 0 ? 0 : 255;
}

static int compare_pixels(const void *a, const void *b)
{
    return memcmp(a, b, 4);
}

/* Interlaced images are delivered pass by pass, so their pixels are compared in sorted order. */
static void sort_pixels(const uint8_t *pixels, size_t n_pixels, unsigned n_channels, uint8_t *out)
{
    memset(out, 0, n_pixels * 4);
    for (size_t i = 0; i < n_pixels; i++)
        memcpy(out + 4 * i, pixels + i * n_channels, n_channels);
    qsort(out, n_pixels, 4, compare_pixels);
}

static void check_picture(const struct picture *p)
{
    uint8_t expected[SIDE_MAX * SIDE_MAX * 4], sorted[2][SIDE_MAX * SIDE_MAX * 4];
    unsigned n_channels = channels_of(p), n_pixels = p->width * p->height;
    struct bytes f = write_png(p);
    for (unsigned i = 0; i < n_pixels; i++)
        reference_pixel(p, p->samples + (size_t)i * p->n_samples_each, expected + i * n_channels);
    if (p->interlace == PNG_INTERLACE_NONE) {
        assert_decodes(f.p, f.n, "png", p->width, p->height, n_channels, expected);
        free(f.p);
        return;
    }
    for (size_t stripe_rows = 0; stripe_rows <= 3; stripe_rows++) {
        struct decoded d = decode(f.p, f.n, MAX_PIXELS, stripe_rows);
        assert_int_equal(d.status, IH_OK);
        assert_int_equal(d.info.layout.n_channels, n_channels);
        assert_int_equal(d.info.source_depth, p->depth);
        assert_int_equal(d.n_pixels, n_pixels);
        sort_pixels(d.pixels, n_pixels, n_channels, sorted[0]);
        sort_pixels(expected, n_pixels, n_channels, sorted[1]);
        assert_memory_equal(sorted[0], sorted[1], n_pixels * 4);
        free(d.pixels);
    }
    free(f.p);
}

static void check_kinds(bool has_trns, int interlace)
{
    static const struct {
        int colour, depth;
        bool may_have_trns;
    } kinds[] = {{PNG_COLOR_TYPE_GRAY, 1, true},         {PNG_COLOR_TYPE_GRAY, 2, true},
                 {PNG_COLOR_TYPE_GRAY, 4, true},         {PNG_COLOR_TYPE_GRAY, 8, true},
                 {PNG_COLOR_TYPE_GRAY, 16, true},        {PNG_COLOR_TYPE_RGB, 8, true},
                 {PNG_COLOR_TYPE_RGB, 16, true},         {PNG_COLOR_TYPE_PALETTE, 1, true},
                 {PNG_COLOR_TYPE_PALETTE, 2, true},      {PNG_COLOR_TYPE_PALETTE, 4, true},
                 {PNG_COLOR_TYPE_PALETTE, 8, true},      {PNG_COLOR_TYPE_GRAY_ALPHA, 8, false},
                 {PNG_COLOR_TYPE_GRAY_ALPHA, 16, false}, {PNG_COLOR_TYPE_RGB_ALPHA, 8, false},
                 {PNG_COLOR_TYPE_RGB_ALPHA, 16, false}};
    static const unsigned sizes[][2] = {{1, 1}, {3, 2}, {4, 5}, {13, 7}, {9, 16}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && has_trns <= kinds[k].may_have_trns;
             i++) {
            struct picture p = make_picture(kinds[k].colour, kinds[k].depth, interlace, has_trns,
                                            sizes[i][0], sizes[i][1]);
            check_picture(&p);
        }
}

TEST(every_kind)
{
    check_kinds(false, PNG_INTERLACE_NONE);
}

TEST(every_kind_interlaced)
{
    check_kinds(false, PNG_INTERLACE_ADAM7);
}

TEST(transparent_colours)
{
    check_kinds(true, PNG_INTERLACE_NONE);
    check_kinds(true, PNG_INTERLACE_ADAM7);
}

/* Writes v into a chunk's data, at an offset from its start, or from its end if negative. Corrects
 * the CRC. */
static void patch(struct bytes *f, const char *chunk, int offset, uint32_t v)
{
    for (size_t at = 8; at + 12 <= f->n;) {
        uint32_t length = get_be32(f->p + at);
        if (memcmp(f->p + at + 4, chunk, 4) == 0) {
            uint8_t *to = f->p + at + 8 + (offset < 0 ? length : 0) + offset;
            for (int i = 0; i < 4; i++)
                to[i] = (uint8_t)(v >> (24 - 8 * i));
            mend_crcs(f->p, f->n);
            return;
        }
        at += 12 + length;
    }
    fail_msg("no chunk %s", chunk);
}

static struct bytes small_png(int colour, int depth, int interlace)
{
    struct picture p = make_picture(colour, depth, interlace, false, 13, 7);
    return write_png(&p);
}

TEST(checksum_of_the_pixels)
{
    struct bytes f = small_png(PNG_COLOR_TYPE_RGB, 8, 0);
    patch(&f, "IDAT", -4, 0x01020304); /* Adler-32 */
    assert_refused(f.p, f.n, IH_CORRUPT, "damaged PNG: ");
    free(f.p);
}

TEST(another_height)
{
    struct bytes f = small_png(PNG_COLOR_TYPE_RGB, 8, 0);
    patch(&f, "IHDR", 4, 8);
    assert_refused(f.p, f.n, IH_CORRUPT, "damaged PNG: ");
    patch(&f, "IHDR", 4, 6);
    assert_refused(f.p, f.n, IH_CORRUPT, "damaged PNG: ");
    free(f.p);
}

TEST(index_past_the_palette)
{
    for (int interlace = 0; interlace < 2; interlace++) {
        struct picture p = make_picture(PNG_COLOR_TYPE_PALETTE, 8, interlace, true, 13, 7);
        p.samples[13 * 7 - 1] = 200;
        struct bytes f = write_png(&p);
        assert_refused(f.p, f.n, IH_CORRUPT, "colour 200 of a palette of 200");
        free(f.p);
        p.samples[13 * 7 - 1] = 199;
        check_picture(&p);
    }
}
