/* TIFF files of each kind written by libtiff, sound and damaged. The expected pixels are computed
 * here from the values that were written. */
#define OWN_MAIN
#include "tests/support/tiff_files.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* ---- expected pixels ---- */

static uint8_t to_8_bits(unsigned v, unsigned max)
{
    return (uint8_t)(((uint64_t)v * 255 * 2 + max) / (2 * (uint64_t)max));
}

static bool has_alpha(const struct kind *k)
{
    return k->extra == EXTRASAMPLE_ASSOCALPHA || k->extra == EXTRASAMPLE_UNASSALPHA;
}

static unsigned n_colours_of(const struct kind *k)
{
    return k->photometric <= PHOTOMETRIC_MINISBLACK ? 1 : 3;
}

/* Gray and RGB with further samples: all of them are counted as they are stored. */
static bool has_bands(const struct kind *k)
{
    return k->photometric <= PHOTOMETRIC_RGB && k->n_samples > n_colours_of(k) + has_alpha(k);
}

static unsigned n_channels_of(const struct kind *k)
{
    return has_bands(k) ? k->n_samples : n_colours_of(k) + has_alpha(k);
}

static void expected_pixel(const struct kind *k, size_t i, uint8_t *out)
{
    unsigned max = (1u << k->bits) - 1, v[SAMPLES_MAX];
    for (unsigned c = 0; c < k->n_samples; c++)
        v[c] = value(k, i, c);
    for (unsigned c = 0; c < k->n_samples && has_bands(k); c++)
        out[c] = to_8_bits(v[c], max);
    if (has_bands(k))
        return;
    if (k->photometric == PHOTOMETRIC_MINISWHITE)
        out[0] = to_8_bits(max - v[0], max);
    else if (k->photometric == PHOTOMETRIC_MINISBLACK)
        out[0] = to_8_bits(v[0], max);
    for (unsigned c = 0; c < 3 && k->photometric == PHOTOMETRIC_RGB; c++)
        out[c] = to_8_bits(v[c], max);
    for (unsigned c = 0; c < 3 && k->photometric == PHOTOMETRIC_PALETTE; c++)
        out[c] = to_8_bits(palette_value(c, v[0]), 65535);
    for (unsigned c = 0; c < 3 && k->photometric == PHOTOMETRIC_SEPARATED; c++)
        out[c] =
            to_8_bits((255u - to_8_bits(v[c], max)) * (255u - to_8_bits(v[3], max)), 255 * 255);
    if (has_alpha(k))
        out[n_channels_of(k) - 1] = to_8_bits(v[k->n_samples - 1], max);
}

static size_t pixel_bytes; /* for by_pixel */

static int by_pixel(const void *a, const void *b)
{
    return memcmp(a, b, pixel_bytes);
}

/* The decoder may return pixels in any order, so both sides are sorted. */
static void sort_pixels(uint8_t *pixels, unsigned n_channels)
{
    pixel_bytes = n_channels;
    qsort(pixels, N, n_channels, by_pixel);
}

static void assert_kind(const struct kind *k)
{
    static struct file f;
    uint8_t expected[N * IH_PIXEL_CHANNELS_MAX];
    unsigned n_channels = n_channels_of(k);
    write_file(&f, k);
    for (size_t i = 0; i < N; i++)
        expected_pixel(k, i, expected + i * n_channels);
    sort_pixels(expected, n_channels);
    for (size_t rows = 0; rows < 3; rows++) {
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, rows);
        if (d.status != IH_OK || d.info.layout.n_channels != n_channels || d.n_pixels != N)
            fail_msg("photometric %u, %u bits, %u samples: %s, %u channels", k->photometric,
                     k->bits, k->n_samples, d.error.message, d.info.layout.n_channels);
        assert_string_equal(d.info.format, "tiff");
        assert_int_equal(d.info.source_depth, k->bits);
        assert_int_equal(d.info.width, WIDTH);
        assert_int_equal(d.info.height, HEIGHT);
        sort_pixels(d.pixels, n_channels);
        if (memcmp(d.pixels, expected, N * n_channels) != 0)
            fail_msg(
                "photometric %u, %u bits, %u samples, planar %u, tiled %d, compression %u, mode %s",
                k->photometric, k->bits, k->n_samples, k->planar, k->is_tiled, k->compression,
                k->mode ? k->mode : "w");
        free(d.pixels);
    }
}

/* Tests a kind in strips and tiles, interleaved and in planes. */
static void assert_kinds(uint16_t photometric, uint16_t n_samples, uint16_t extra, uint16_t bits)
{
    struct kind k = kind_of(photometric, bits, n_samples, COMPRESSION_LZW);
    k.extra = extra;
    for (unsigned tiled = 0; tiled < 2; tiled++) {
        for (uint16_t planar = PLANARCONFIG_CONTIG;
             planar <= (n_samples > 1 ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG); planar++) {
            k.is_tiled = tiled;
            k.planar = planar;
            assert_kind(&k);
        }
    }
}

TEST(gray)
{
    for (uint16_t bits = 1; bits <= 16; bits++) {
        assert_kinds(PHOTOMETRIC_MINISBLACK, 1, NONE, bits);
        assert_kinds(PHOTOMETRIC_MINISWHITE, 1, NONE, bits);
        assert_kinds(PHOTOMETRIC_MINISBLACK, 2, EXTRASAMPLE_UNASSALPHA, bits);
        assert_kinds(PHOTOMETRIC_MINISWHITE, 2, EXTRASAMPLE_ASSOCALPHA, bits);
        assert_kinds(PHOTOMETRIC_MINISBLACK, 2, EXTRASAMPLE_UNSPECIFIED, bits);
    }
}

TEST(colour)
{
    for (uint16_t bits = 1; bits <= 16; bits++) {
        assert_kinds(PHOTOMETRIC_RGB, 3, NONE, bits);
        assert_kinds(PHOTOMETRIC_RGB, 4, EXTRASAMPLE_UNASSALPHA, bits);
        assert_kinds(PHOTOMETRIC_RGB, 4, EXTRASAMPLE_ASSOCALPHA, bits);
        assert_kinds(PHOTOMETRIC_RGB, 4, EXTRASAMPLE_UNSPECIFIED, bits);
        assert_kinds(PHOTOMETRIC_SEPARATED, 4, NONE, bits);
        assert_kinds(PHOTOMETRIC_SEPARATED, 5, EXTRASAMPLE_UNASSALPHA, bits);
    }
    for (uint16_t bits = 1; bits <= 8; bits *= 2)
        assert_kinds(PHOTOMETRIC_PALETTE, 1, NONE, bits);
}

TEST(compressions_and_byte_orders)
{
    static const uint16_t compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_PACKBITS,
                                            COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE};
    static const char *const modes[] = {"wl", "wb", "w8", "wlF"};
    for (size_t i = 0; i < 5; i++) {
        for (size_t m = 0; m < 4; m++) {
            struct kind k = kind_of(PHOTOMETRIC_RGB, 16, 3, compressions[i]);
            k.mode = modes[m];
            assert_kind(&k);
            k.is_tiled = true;
            assert_kind(&k);
            k.is_tiled = false;
            k.planar = PLANARCONFIG_SEPARATE;
            assert_kind(&k);
        }
    }
    for (uint16_t fax = COMPRESSION_CCITTRLE; fax <= COMPRESSION_CCITTFAX4; fax++) {
        struct kind k = kind_of(PHOTOMETRIC_MINISWHITE, 1, 1, fax);
        assert_kind(&k);
    }
}

/* Horizontal differencing, in either byte order. */
TEST(predictor)
{
    static const char *const modes[] = {"wl", "wb", "wlF"};
    static const uint16_t compressions[] = {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE};
    for (unsigned i = 0; i < 2 * 2 * 3 * 2 * 2 * 3; i++) {
        struct kind k = {.photometric = i / 24 % 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK,
                         .bits = i % 2 ? 16 : 8,
                         .extra = NONE,
                         .planar = i / 12 % 2 ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG,
                         .compression = compressions[i / 72],
                         .is_tiled = i / 2 % 2,
                         .mode = modes[i / 4 % 3],
                         .has_predictor = true};
        k.n_samples = (uint16_t[]){1, 3, 4}[i / 24 % 3];
        if (k.n_samples == 4)
            k.extra = EXTRASAMPLE_UNASSALPHA;
        assert_kind(&k);
    }
}

enum { BLOCK_ROWS = 32, BLOCK_WIDTH = 32 };

/* Writes one strip or tile of BLOCK_ROWS rows. */
static void write_block(struct file *f, const struct kind *k, uint8_t *block)
{
    TIFF *t = create(f, "wl");
    set_tags(t, k);
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, BLOCK_WIDTH);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, BLOCK_ROWS);
    if (k->is_tiled) {
        TIFFSetField(t, TIFFTAG_TILEWIDTH, BLOCK_WIDTH);
        TIFFSetField(t, TIFFTAG_TILELENGTH, BLOCK_ROWS);
    } else {
        TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, BLOCK_ROWS);
    }
    const size_t n = (size_t)BLOCK_WIDTH * BLOCK_ROWS * k->n_samples * k->bits / 8;
    for (size_t i = 0; i < n; i++)
        block[i] = picture(i, 0);
    uint8_t copy[BLOCK_WIDTH * BLOCK_ROWS * 3]; /* the predictor changes it */
    memcpy(copy, block, n);
    assert_true((k->is_tiled ? TIFFWriteEncodedTile(t, 0, copy, (tmsize_t)n)
                             : TIFFWriteEncodedStrip(t, 0, copy, (tmsize_t)n)) >= 0);
    TIFFClose(t);
}

static struct decoded decode_filled(const struct file *f, int fill)
{
#ifdef __GLIBC__
    mallopt(M_PERTURB, fill); /* new memory holds ~fill */
#endif
    struct decoded d = decode(f->bytes, f->n, MAX_PIXELS, ALL_ROWS);
#ifdef __GLIBC__
    mallopt(M_PERTURB, 0);
#endif
    return d;
}

/* Checks that the image of n_rows rows has the first rows of the block, or is damaged. What memory
 * held before must not matter. */
static bool is_exact(const struct file *f, const uint8_t *block, const struct kind *k,
                     size_t n_rows)
{
    struct decoded a = decode_filled(f, 0x55), b = decode_filled(f, 0xAA);
    const bool is_ok = a.status == IH_OK;
    assert_int_equal(a.status, b.status);
    if (is_ok) {
        const size_t n_pixels = n_rows * BLOCK_WIDTH;
        assert_int_equal(a.n_pixels, n_pixels);
        assert_memory_equal(a.pixels, b.pixels, n_pixels * a.info.layout.n_channels);
        for (size_t i = 0; i < n_pixels && k->bits == 1; i++)
            assert_int_equal(a.pixels[i], block[i / 8] >> (7 - i % 8) & 1 ? 0 : 255);
        const bool is_lossy =
            k->compression == COMPRESSION_JPEG || k->compression == COMPRESSION_WEBP;
        if (k->bits == 8 && !is_lossy)
            assert_memory_equal(a.pixels, block, n_pixels * 3);
    } else {
        assert_int_equal(a.status, IH_CORRUPT);
    }
    free(a.pixels);
    free(b.pixels);
    return is_ok;
}

/* Every compression, with a strip or tile of more or fewer rows than it should have. */
TEST(rows_of_blocks)
{
    static struct file f;
    static uint8_t block[BLOCK_WIDTH * BLOCK_ROWS * 3];
    static const uint16_t compressions[] = {
        COMPRESSION_NONE,          COMPRESSION_LZW,      COMPRESSION_PACKBITS,
        COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,  COMPRESSION_LZMA,
        COMPRESSION_ZSTD,          COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,
        COMPRESSION_CCITTFAX4,     COMPRESSION_JPEG,     COMPRESSION_WEBP,
        COMPRESSION_LERC};
    enum { N_EXACT = 10 }; /* the first ones ignore rows that the image does not have */
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
        if (!TIFFIsCODECConfigured(compressions[i]))
            continue;
        for (unsigned way = 0; way < 4; way++) {
            struct kind k = kind_of(PHOTOMETRIC_RGB, 8, 3, compressions[i]);
            const bool is_fax = i >= 7 && i < N_EXACT;
            k.is_tiled = way % 2;
            k.has_predictor = way / 2;
            if (is_fax)
                k.photometric = PHOTOMETRIC_MINISWHITE, k.bits = k.n_samples = 1;
            if (k.has_predictor && i != 1 && (i < 3 || i > 6))
                continue;
            write_block(&f, &k, block);
            assert_true(is_exact(&f, block, &k, BLOCK_ROWS));
            change_tag(&f, TIFFTAG_IMAGELENGTH, 16); /* the last strip is as high as the others */
            if (!k.is_tiled)
                assert_true(is_exact(&f, block, &k, 16) || i >= N_EXACT);
            change_tag(&f, k.is_tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, 16);
            assert_true(is_exact(&f, block, &k, 16) || i >= N_EXACT);
            change_tag(&f, k.is_tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, 48);
            change_tag(&f, TIFFTAG_IMAGELENGTH, 48);
            assert_false(is_exact(&f, block, &k, 48));
        }
    }
}

#ifdef IH_WITH_LIBDEFLATE /* zlib stops at the end of the image */
/* A Deflate stream with more rows than the image must be sound up to its end. */
TEST(long_deflate)
{
    static struct file f;
    static uint8_t block[BLOCK_WIDTH * BLOCK_ROWS * 3];
    for (unsigned tiled = 0; tiled < 2; tiled++) {
        struct kind k = kind_of(PHOTOMETRIC_RGB, 8, 3, COMPRESSION_ADOBE_DEFLATE);
        k.is_tiled = tiled;
        write_block(&f, &k, block);
        const size_t directory = f.bytes[4] | (size_t)f.bytes[5] << 8;
        change_tag(&f, TIFFTAG_IMAGELENGTH, 16);
        change_tag(&f, tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, 16);
        for (size_t at = directory - 8; at < directory; at++) {
            f.bytes[at] ^= 1; /* the checksum, or padding */
            struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, ALL_ROWS);
            f.bytes[at] ^= 1;
            assert_true(d.status == IH_CORRUPT || at >= directory - 1);
            free(d.pixels);
        }
        change_tag(&f, TIFFTAG_IMAGEWIDTH, 15); /* a third of the stream: more than twice */
        if (tiled)
            change_tag(&f, TIFFTAG_TILEWIDTH, 16);
        assert_refused(f.bytes, f.n, IH_CORRUPT, "too long");
    }
}

#endif

/* CCITT coding has one sample a pixel; a WebP has the size of its tile. */
TEST(samples_not_written)
{
    static struct file f;
    static uint8_t block[BLOCK_WIDTH * BLOCK_ROWS * 3];
    struct kind fax = kind_of(PHOTOMETRIC_MINISWHITE, 1, 1, COMPRESSION_CCITTFAX4);
    write_block(&f, &fax, block);
    change_tag(&f, TIFFTAG_SAMPLESPERPIXEL, 25);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "25 samples a pixel");
    struct kind webp = kind_of(PHOTOMETRIC_RGB, 8, 3, COMPRESSION_WEBP);
    if (!TIFFIsCODECConfigured(COMPRESSION_WEBP))
        skip("libtiff has no WebP");
    write_block(&f, &webp, block);
    change_tag(&f, TIFFTAG_IMAGEWIDTH, 48);
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged TIFF");
}

/* One colour in JPEG strips and tiles: as YCbCr with halved chroma, and as RGB. */
TEST(jpeg)
{
    static struct file f;
    uint8_t block[48 * 48 * 3];
    for (unsigned kind = 0; kind < 4; kind++) {
        bool is_ycbcr = kind % 2, is_tiled = kind / 2;
        TIFF *t = create(&f, NULL);
        struct kind k =
            kind_of(is_ycbcr ? PHOTOMETRIC_YCBCR : PHOTOMETRIC_RGB, 8, 3, COMPRESSION_JPEG);
        k.is_tiled = is_tiled;
        set_tags(t, &k);
        if (!is_tiled)
            TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 16);
        if (is_ycbcr) {
            TIFFSetField(t, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
            TIFFSetField(t, TIFFTAG_YCBCRSUBSAMPLING, 2, 2);
        }
        for (size_t i = 0; i < sizeof block; i++)
            block[i] = (uint8_t[]){200, 100, 50}[i % 3];
        for (uint32_t y = 0; y < HEIGHT; y += is_tiled ? TILE : 1)
            for (uint32_t x = 0; x < WIDTH; x += is_tiled ? TILE : WIDTH)
                assert_true((is_tiled ? TIFFWriteTile(t, block, x, y, 0, 0)
                                      : TIFFWriteScanline(t, block, y, 0)) > 0);
        TIFFClose(t);
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
        if (d.status != IH_OK)
            fail_msg("%s", d.error.message);
        assert_int_equal(d.info.layout.n_channels, 3);
        for (size_t i = 0; i < N * 3; i++)
            assert_in_range(d.pixels[i], block[i % 3] - 3, block[i % 3] + 3);
        free(d.pixels);
        assert_true(damage_each_byte(f.bytes, f.n) > 0);
    }
}

/* Varying Y with neutral chroma: each pixel is gray. */
TEST(ycbcr)
{
    static struct file f;
    uint8_t block[TILE * TILE * 3], expected[N * 3];
    for (unsigned tiled = 0; tiled < 2; tiled++) {
        TIFF *t = create(&f, NULL);
        struct kind k = kind_of(PHOTOMETRIC_YCBCR, 8, 3, COMPRESSION_LZW);
        k.is_tiled = tiled;
        set_tags(t, &k);
        TIFFSetField(t, TIFFTAG_YCBCRSUBSAMPLING, 1, 1);
        size_t w = tiled ? TILE : WIDTH, h = tiled ? TILE : 1;
        for (size_t y0 = 0; y0 < HEIGHT; y0 += h) {
            for (size_t x0 = 0; x0 < WIDTH; x0 += w) {
                for (size_t i = 0; i < w * h; i++) {
                    size_t x = x0 + i % w, y = y0 + i / w;
                    block[3 * i] = x < WIDTH ? picture(y * WIDTH + x, 0) : 0;
                    block[3 * i + 1] = block[3 * i + 2] = 128;
                }
                assert_true((tiled ? TIFFWriteTile(t, block, (uint32_t)x0, (uint32_t)y0, 0, 0)
                                   : TIFFWriteScanline(t, block, (uint32_t)y0, 0)) > 0);
            }
        }
        TIFFClose(t);
        for (size_t i = 0; i < N * 3; i++)
            expected[i] = picture(i / 3, 0);
        sort_pixels(expected, 3);
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
        if (d.status != IH_OK)
            fail_msg("%s", d.error.message);
        sort_pixels(d.pixels, 3);
        assert_memory_equal(d.pixels, expected, sizeof expected);
        free(d.pixels);
        assert_true(damage_each_byte(f.bytes, f.n) > 0);
    }
}

/* A palette of 8-bit values times scale is read as the 8-bit values. */
static void assert_palette(unsigned scale)
{
    static struct file f;
    static const uint8_t row[WIDTH] = {0, 1, 2, 1};
    uint16_t map[256] = {(uint16_t)(7 * scale), (uint16_t)(130 * scale), (uint16_t)(255 * scale)};
    TIFF *t = create(&f, NULL);
    struct kind k = kind_of(PHOTOMETRIC_PALETTE, 8, 1, COMPRESSION_NONE);
    set_tags(t, &k);
    TIFFSetField(t, TIFFTAG_COLORMAP, map, map, map);
    uint8_t copy[WIDTH];
    memcpy(copy, row, sizeof copy);
    for (uint32_t y = 0; y < HEIGHT; y++)
        assert_int_equal(TIFFWriteScanline(t, copy, y, 0), 1);
    TIFFClose(t);
    struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
    assert_int_equal(d.status, IH_OK);
    assert_memory_equal(d.pixels, ((const uint8_t[]){7, 7, 7, 130, 130, 130, 255, 255, 255}), 9);
    free(d.pixels);
}

/* Some programs write 8-bit values as they are or times 256, instead of times 257. */
TEST(palette_scales)
{
    assert_palette(1);
    assert_palette(256);
    assert_palette(257);
}

/* libtiff treats a palette image without a palette as gray or RGB. Here it is damaged, in either
 * byte order and in BigTIFF. */
TEST(palette_missing)
{
    static const char *const modes[] = {"wl", "wb", "w8l", "w8b"};
    static const uint8_t little[] = {0x40, 0x01, 3, 0}, big[] = {0x01, 0x40, 0, 3};
    static struct file f;
    for (size_t i = 0; i < 4 * 4; i++) {
        struct kind k = kind_of(PHOTOMETRIC_PALETTE, 8, 1, COMPRESSION_NONE);
        k.mode = modes[i % 4];
        k.bits = i / 4 == 1 ? 4 : 8;
        k.n_samples = i / 4 == 2 ? 3 : 1;
        k.is_tiled = i / 4 == 3;
        write_file(&f, &k);
        size_t at = f.n - sizeof big; /* the tag ColorMap, 320, whose values are of type SHORT */
        while (at > 0 && memcmp(f.bytes + at, strchr(modes[i % 4], 'b') ? big : little, 4) != 0)
            at--;
        assert_true(at > 0);
        f.bytes[at + (strchr(modes[i % 4], 'b') ? 1 : 0)]++; /* change the tag */
        assert_refused(f.bytes, f.n, IH_CORRUPT,
                       k.bits < 8 ? "Colormap" : "the palette is missing");
    }
}

static void refuse(uint32_t tag, uint32_t tag_value, const struct kind *k, const char *reason)
{
    static struct file f;
    TIFF *t = create(&f, NULL);
    uint8_t block[WIDTH * SAMPLES_MAX * 4] = {0};
    set_tags(t, k);
    TIFFSetField(t, tag, tag_value);
    for (uint32_t y = 0; y < HEIGHT; y++)
        assert_int_equal(TIFFWriteScanline(t, block, y, 0), 1);
    TIFFClose(t);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, reason);
}

TEST(other_kinds)
{
    struct kind gray = kind_of(PHOTOMETRIC_MINISBLACK, 8, 1, COMPRESSION_NONE);
    struct kind lab = kind_of(PHOTOMETRIC_CIELAB, 8, 3, COMPRESSION_NONE);
    struct kind inks = kind_of(PHOTOMETRIC_SEPARATED, 8, 4, COMPRESSION_NONE);
    refuse(TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE, &gray, "thumbnail");
    refuse(TIFFTAG_IMAGEDEPTH, 3, &gray, "TIFF that is a volume (ImageDepth 3)");
    refuse(TIFFTAG_SUBFILETYPE, 0, &lab, "colour space (photometric interpretation) 8");
    refuse(TIFFTAG_INKSET, INKSET_MULTIINK, &inks, "set of inks 2");
}

/* Samples that have no bins are named, with a way out. */
TEST(other_samples)
{
    static const struct {
        uint16_t bits, format;
        const char *name;
    } cases[] = {{4, SAMPLEFORMAT_INT, "TIFF with 4-bit signed integers"},
                 {32, SAMPLEFORMAT_INT, "TIFF with 32-bit signed integers"},
                 {24, SAMPLEFORMAT_IEEEFP, "TIFF with 24-bit floats"},
                 {64, SAMPLEFORMAT_IEEEFP, "TIFF with 64-bit floats"},
                 {32, SAMPLEFORMAT_UINT, "TIFF with 32-bit unsigned integers"},
                 {32, SAMPLEFORMAT_COMPLEXINT, "TIFF with complex numbers"},
                 {64, SAMPLEFORMAT_COMPLEXIEEEFP, "TIFF with complex numbers"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kind k = kind_of(PHOTOMETRIC_MINISBLACK, cases[i].bits, 1, COMPRESSION_NONE);
        refuse(TIFFTAG_SAMPLEFORMAT, cases[i].format, &k, cases[i].name);
        if (cases[i].format < SAMPLEFORMAT_VOID)
            refuse(TIFFTAG_SAMPLEFORMAT, cases[i].format, &k,
                   "first, as in 'gdal_translate -ot Float32 IN OUT.tif'");
    }
}

/* There is no inverse of a signed sample, as there is of unsigned ones where 0 is white. */
TEST(other_colours)
{
    struct kind white = kind_of(PHOTOMETRIC_MINISWHITE, 16, 1, COMPRESSION_NONE);
    struct kind inks = kind_of(PHOTOMETRIC_SEPARATED, 16, 4, COMPRESSION_NONE);
    refuse(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_INT, &white,
           "signed or float samples and the colour");
    refuse(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP, &inks, "signed or float samples and the");
}

/* A depth of 1 is an image like others, in strips and tiles; tiles of several slices are a volume.
 */
TEST(volumes)
{
    static struct file f;
    for (unsigned tiled = 0; tiled < 2; tiled++) {
        for (uint32_t depth = 1; depth < 4; depth++) {
            struct kind k = kind_of(PHOTOMETRIC_MINISBLACK, 8, 1, COMPRESSION_LZW);
            uint8_t block[TILE * TILE * 3] = {0};
            k.is_tiled = tiled;
            TIFF *t = create(&f, NULL);
            set_tags(t, &k);
            TIFFSetField(t, TIFFTAG_IMAGEDEPTH, depth);
            if (tiled)
                TIFFSetField(t, TIFFTAG_TILEDEPTH, (uint32_t)1);
            for (uint32_t z = 0; z < (tiled ? depth : 1); z++)
                for (uint32_t y = 0; y < HEIGHT; y += tiled ? TILE : 1)
                    for (uint32_t x = 0; x < WIDTH; x += tiled ? TILE : WIDTH)
                        assert_true((tiled ? TIFFWriteTile(t, block, x, y, z, 0)
                                           : TIFFWriteScanline(t, block, y, 0)) > 0);
            TIFFClose(t);
            if (depth > 1) {
                char expected[40];
                snprintf(expected, sizeof expected, "a volume (ImageDepth %u)", (unsigned)depth);
                assert_refused(f.bytes, f.n, IH_UNSUPPORTED, expected);
                continue;
            }
            struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 0);
            assert_int_equal(d.status, IH_OK);
            assert_int_equal(d.n_pixels, N);
            free(d.pixels);
        }
    }
}

/* ---- tags ---- */

enum { GRAY_WIDTH = 8, GRAY_HEIGHT = 4, GRAY_PIXELS = GRAY_WIDTH * GRAY_HEIGHT };

/* An entry of a directory. */
struct entry {
    uint32_t tag, type, count, value; /* as in the file */
};

static void put_number(struct file *f, uint32_t number, unsigned n, bool is_big)
{
    for (unsigned i = 0; i < n; i++)
        f->bytes[f->n++] = (uint8_t)(number >> 8 * (is_big ? n - 1 - i : i));
}

/* 8 x 4 gray pixels 0, 4, ..., 124, and one more entry, which replaces the one with its tag. */
static void write_gray(struct file *f, struct entry more, bool is_big)
{
    const struct entry entries[] = {
        {256, 4, 1, GRAY_WIDTH}, {257, 4, 1, GRAY_HEIGHT}, {258, 3, 1, 8},
        {259, 3, 1, 1},          {262, 3, 1, 1},           {273, 4, 1, 8},
        {277, 3, 1, 1},          {278, 4, 1, GRAY_HEIGHT}, {279, 4, 1, GRAY_PIXELS}};
    const unsigned n_entries = sizeof entries / sizeof *entries;
    unsigned n = n_entries + 1;
    for (unsigned i = 0; i < n_entries; i++)
        n -= entries[i].tag == more.tag;
    memcpy(f->bytes, is_big ? "MM\0*" : "II*\0", f->n = 4);
    put_number(f, 8 + GRAY_PIXELS, 4, is_big);
    for (unsigned i = 0; i < GRAY_PIXELS; i++)
        f->bytes[f->n++] = (uint8_t)(4 * i);
    put_number(f, n, 2, is_big);
    for (unsigned i = 0, has_more = 0; i < n_entries || !has_more;) {
        const bool is_more = !has_more && (i == n_entries || entries[i].tag >= more.tag);
        const struct entry e = is_more ? more : entries[i];
        has_more |= is_more;
        i += !is_more || (i < n_entries && entries[i].tag == more.tag);
        const unsigned n_value = e.type == 3 && e.count == 1 ? 2 : 4;
        put_number(f, e.tag, 2, is_big);
        put_number(f, e.type, 2, is_big);
        put_number(f, e.count, 4, is_big);
        put_number(f, e.value, n_value, is_big);
        put_number(f, 0, 4 - n_value, is_big);
    }
    put_number(f, 0, 4, is_big);
}

/* What a tag may hold: nothing, values past the end of the file, a type that does not exist, 0, the
 * largest value, and more values than there is room for. */
static const struct entry faults[] = {{0, 4, 0, 0},        {0, 2, 50, 999999},    {0, 99, 1, 0},
                                      {0, 3, 1, 0},        {0, 3, 1, UINT16_MAX}, {0, 5, 1, 999999},
                                      {0, 4, 1000, 999990}};
enum { FAULTS = sizeof faults / sizeof *faults };

static struct decoded decode_with_fault(uint32_t tag, unsigned fault, bool is_big)
{
    static struct file f;
    struct entry e = faults[fault];
    e.tag = tag;
    write_gray(&f, e, is_big);
    return decode(f.bytes, f.n, MAX_PIXELS, 0);
}

/* Pillow 13.0, OpenCV 5.0 and tifffile 2026.3.3 read the pixels of all these files, sum 1984, but
 * for a few that Pillow refuses. */
TEST(faults_in_tags_that_no_pixel_depends_on)
{
    static const uint16_t tags[] = {
        263,   264,   265,   269,   270,   271,   272,   274,   280,   281,   282,   283,   284,
        285,   286,   287,   288,   289,   290,   291,   292,   293,   296,   297,   300,   301,
        305,   306,   315,   316,   317,   318,   319,   320,   321,   326,   327,   328,   330,
        332,   333,   334,   336,   337,   340,   341,   342,   343,   344,   345,   346,   347,
        351,   400,   401,   402,   403,   404,   405,   433,   434,   435,   512,   513,   514,
        515,   517,   518,   519,   520,   521,   529,   530,   531,   532,   559,   700,   32781,
        32932, 32934, 32953, 33300, 33421, 33432, 33550, 33723, 33922, 34016, 34264, 34377, 34665,
        34675, 34735, 34853, 34908, 37439, 37724, 42112, 50838, 51123, 65000, 65535};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        for (unsigned fault = 0; fault < FAULTS; fault++) {
            struct decoded d = decode_with_fault(tags[i], fault, i % 2);
            unsigned sum = 0;
            for (size_t j = 0; d.status == IH_OK && j < d.n_pixels; j++)
                sum += d.pixels[j];
            if (d.status != IH_OK || d.n_pixels != GRAY_PIXELS || sum != 1984)
                fail_msg("tag %u, fault %u: %s", tags[i], fault, d.error.message);
            free(d.pixels);
        }
}

/* A fault in one that the pixels depend on is damage, but for five that leave no doubt: a strip
 * that is higher than the image, byte counts that libtiff computes, and 0 as the colour space
 * (white). */
TEST(faults_in_tags_that_pixels_depend_on)
{
    static const uint16_t tags[] = {256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 322, 339};
    unsigned n_read = 0;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        for (unsigned fault = 0; fault < FAULTS; fault++) {
            struct decoded d = decode_with_fault(tags[i], fault, i % 2);
            n_read += d.status == IH_OK;
            if (d.status == IH_OK && tags[i] != 262 && tags[i] != 278 && tags[i] != 279)
                fail_msg("tag %u, fault %u: no error", tags[i], fault);
            free(d.pixels);
        }
    assert_int_equal(n_read, 5);
}

/* Offsets without values, or 0. */
TEST(strips_without_a_place)
{
    for (unsigned fault = 0; fault < 4; fault += 3) {
        struct decoded d = decode_with_fault(273, fault, false);
        assert_int_equal(d.status, IH_CORRUPT);
        assert_string_equal(d.error.message, "damaged TIFF: a strip or tile is not in the file");
        free(d.pixels);
    }
}

/* Old-style JPEG, and the process of lossless JPEG (SOF3), which libjpeg-turbo lacks. */
TEST(jpeg_that_is_not_supported)
{
    static struct file f;
    static const uint8_t lossless[] = {0xFF,        0xD8, 0xFF,       0xC3, 0, 11,   8, 0,
                                       GRAY_HEIGHT, 0,    GRAY_WIDTH, 1,    1, 0x11, 0};
    static const char *const reasons[] = {
        "TIFF with JPEG of the obsolete kind (6) is not supported",
        "TIFF not supported by this libtiff: Unsupported JPEG process: SOF type 0xc3"};
    for (unsigned i = 0; i < 2; i++) {
        write_gray(&f, (struct entry){259, 3, 1, i ? COMPRESSION_JPEG : COMPRESSION_OJPEG}, false);
        memcpy(f.bytes + 8, lossless, sizeof lossless);
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 0);
        assert_int_equal(d.status, IH_UNSUPPORTED);
        assert_string_equal(d.error.message, reasons[i]);
        free(d.pixels);
    }
}

/* The orientation and the profile are told, whatever libtiff thinks of them. */
TEST(orientation_and_profile)
{
    static const struct {
        struct entry entry;
        unsigned orientation, not_applied;
    } cases[] = {{{274, 3, 1, 6}, 6, IH_NOT_APPLIED_ORIENTATION},
                 {{274, 3, 1, 1}, 1, 0},
                 {{274, 3, 1, 0}, 0, 0},
                 {{274, 3, 1, 9}, 0, 0},
                 {{34675, 7, 4, 0}, 1, IH_NOT_APPLIED_ICC_PROFILE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct file f;
        write_gray(&f, cases[i].entry, false);
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 0);
        assert_int_equal(d.status, IH_OK);
        assert_int_equal(d.info.orientation, cases[i].orientation);
        assert_int_equal(d.info.not_applied, cases[i].not_applied);
        free(d.pixels);
    }
}

TEST(extra_samples)
{
    static const struct {
        uint16_t photometric, n_samples, extra, n_not_counted;
        struct ih_layout layout;
    } cases[] = {{PHOTOMETRIC_MINISBLACK, 1, NONE, 0, {1, 1, false}},
                 {PHOTOMETRIC_MINISBLACK, 6, 0, 0, {6, 0, false}},
                 {PHOTOMETRIC_MINISBLACK, 2, 2, 0, {2, 1, true}},
                 {PHOTOMETRIC_MINISBLACK, 2, 0, 0, {2, 0, false}},
                 {PHOTOMETRIC_RGB, 4, 0, 0, {4, 3, false}},
                 {PHOTOMETRIC_RGB, 4, 2, 0, {4, 3, true}},
                 {PHOTOMETRIC_RGB, 6, 0, 0, {6, 3, false}},
                 {PHOTOMETRIC_RGB, 6, 1, 0, {6, 3, true}},
                 {PHOTOMETRIC_SEPARATED, 6, 0, 2, {3, 3, false}}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        static struct file f;
        struct kind k =
            kind_of(cases[i / 2].photometric, 8, cases[i / 2].n_samples, COMPRESSION_NONE);
        k.extra = cases[i / 2].extra;
        k.planar = i % 2 ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG;
        write_file(&f, &k);
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 0);
        if (d.status != IH_OK || d.info.n_not_counted != cases[i / 2].n_not_counted)
            fail_msg("case %zu: %s, %u", i, d.error.message, d.info.n_not_counted);
        assert_true(ih_layout_is_same(d.info.layout, cases[i / 2].layout));
        assert_int_equal(d.info.warnings, d.info.n_not_counted ? IH_WARNING_EXTRA_SAMPLES : 0);
        free(d.pixels);
    }
}

/* Damages each byte of small files, and cuts them before the end of samples or directory. */
TEST(damage)
{
    static struct file f;
    static const uint16_t compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_PACKBITS,
                                            COMPRESSION_ADOBE_DEFLATE, COMPRESSION_CCITTFAX4};
    for (size_t i = 0; i < 5; i++) {
        bool is_fax = compressions[i] == COMPRESSION_CCITTFAX4;
        for (unsigned tiled = 0; tiled < 2; tiled++) {
            struct kind k = kind_of(PHOTOMETRIC_RGB, 8, 3, compressions[i]);
            k.is_tiled = tiled;
            if (is_fax)
                k.photometric = PHOTOMETRIC_MINISWHITE, k.bits = k.n_samples = 1;
            else
                k.planar = tiled ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG;
            write_file(&f, &k);
            assert_cuts_are_refused(f.bytes, f.n - 16); /* the last bytes are values of tags */
            assert_true(damage_each_byte(f.bytes, f.n) > 0);
        }
    }
}

TEST(limits)
{
    static struct file f;
    struct kind k = kind_of(PHOTOMETRIC_RGB, 8, 3, COMPRESSION_NONE);
    k.mode = "wl"; /* little endian, for the change below */
    k.is_tiled = true;
    write_file(&f, &k);
    struct decoded d = decode(f.bytes, f.n, N - 1, 1);
    assert_int_equal(d.status, IH_LIMIT);
    assert_budget(f.bytes, f.n, f.n + TILE * TILE * 3, IH_OK);
    assert_budget(f.bytes, f.n, f.n + TILE * TILE * 3 - 1, IH_LIMIT);
    k.is_tiled = false;
    k.compression = COMPRESSION_ADOBE_DEFLATE;
    write_file(&f, &k);
    assert_budget(f.bytes, f.n, f.n + WIDTH * 3 * 8, IH_OK); /* a strip */
    assert_budget(f.bytes, f.n, f.n + WIDTH * 3 * 8 - 1, IH_OK);
    assert_budget(f.bytes, f.n, f.n + WIDTH * 3, IH_OK); /* with less, a row at a time */
    assert_budget(f.bytes, f.n, f.n + WIDTH * 3 - 1, IH_LIMIT);
    k.is_tiled = true;
    k.compression = COMPRESSION_NONE;
    write_file(&f, &k);
    /* Change width and height, entries 2 and 3 of the directory. */
    size_t directory = f.bytes[4] | (size_t)f.bytes[5] << 8;
    memset(f.bytes + directory + 2 + 8, 0x7F, 2);
    memset(f.bytes + directory + 2 + 12 + 8, 0x7F, 2);
    d = decode(f.bytes, f.n, UINT64_MAX, 1);
    assert_int_not_equal(d.status, IH_OK);
    free(d.pixels);
}

static void ignore(const char *module, const char *format, va_list values)
{
}

int main(void)
{
    TIFFSetWarningHandler(ignore); /* when libtiff writes */
    return run_all_tests();
}
