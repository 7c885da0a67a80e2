/* TIFF files of every kind, written in memory by libtiff. */
#ifndef IH_TESTS_TIFF_FILES_H
#define IH_TESTS_TIFF_FILES_H

#include "tests/support/damage.h"
#include <tiffio.h>

enum { WIDTH = 21, HEIGHT = 19, N = WIDTH * HEIGHT, SAMPLES_MAX = 6, TILE = 16 };

struct file {
    uint8_t bytes[65536];
    size_t n, position;
};

static inline tmsize_t read_memory(thandle_t user, void *dst, tmsize_t n)
{
    struct file *f = user;
    size_t left = f->position < f->n ? f->n - f->position : 0;
    size_t size = (size_t)n < left ? (size_t)n : left;
    memcpy(dst, f->bytes + f->position, size);
    f->position += size;
    return (tmsize_t)size;
}

static inline tmsize_t write_memory(thandle_t user, void *src, tmsize_t n)
{
    struct file *f = user;
    assert_true(f->position + (size_t)n <= sizeof f->bytes);
    memcpy(f->bytes + f->position, src, (size_t)n);
    f->position += (size_t)n;
    f->n = f->position > f->n ? f->position : f->n;
    return n;
}

static inline toff_t seek_memory(thandle_t user, toff_t offset, int whence)
{
    struct file *f = user;
    f->position = (size_t)offset + (whence == SEEK_CUR   ? f->position
                                    : whence == SEEK_END ? f->n
                                                         : 0);
    return f->position;
}

static inline int close_memory(thandle_t user)
{
    return 0;
}

static inline toff_t size_of_memory(thandle_t user)
{
    return ((struct file *)user)->n;
}

struct kind {
    uint16_t photometric, bits, n_samples, extra; /* extra: the kind of the last sample, or NONE */
    uint16_t planar, compression;
    bool is_tiled;
    const char *mode;   /* for TIFFClientOpen; NULL: "w"; an F in it: least significant bit first */
    bool has_predictor; /* horizontal differencing */
};

enum { NONE = 0xFFFF };

/* A kind in strips, interleaved, without extra samples. */
static inline struct kind kind_of(uint16_t photometric, uint16_t bits, uint16_t n_samples,
                                  uint16_t compression)
{
    return (struct kind){.photometric = photometric,
                         .bits = bits,
                         .n_samples = n_samples,
                         .extra = NONE,
                         .planar = PLANARCONFIG_CONTIG,
                         .compression = compression};
}

static inline unsigned value(const struct kind *k, size_t i, unsigned c)
{
    unsigned max = (1u << k->bits) - 1;
    return (picture(i, c) * 257u + (unsigned)i) % (max + 1);
}

/* Entry `index` of the palette in colour c, 16 bits. */
static inline uint16_t palette_value(unsigned c, unsigned index)
{
    return (uint16_t)(index * 20011u + c * 9001u + 300);
}

/* Packs samples first to first + n_planes - 1 of the w x h pixels from x0, y0 on. Pixels outside
 * the image are 0. Returns the number of bytes. */
static inline size_t pack(const struct kind *k, uint8_t *dst, size_t x0, size_t y0, size_t w,
                          size_t h, unsigned first, unsigned n_planes)
{
    size_t n_bytes = 0;
    for (size_t y = y0; y < y0 + h; y++) {
        uint32_t window = 0;
        unsigned n_bits = 0;
        for (size_t x = x0; x < x0 + w; x++) {
            for (unsigned c = first; c < first + n_planes; c++) {
                unsigned v = x < WIDTH && y < HEIGHT ? value(k, y * WIDTH + x, c) : 0;
                if (k->bits == 16) {
                    uint16_t v16 = (uint16_t)v;
                    memcpy(dst + n_bytes, &v16, 2);
                    n_bytes += 2;
                    continue;
                }
                window = window << k->bits | v;
                for (n_bits += k->bits; n_bits >= 8; n_bits -= 8)
                    dst[n_bytes++] = (uint8_t)(window >> (n_bits - 8));
            }
        }
        if (n_bits)
            dst[n_bytes++] = (uint8_t)(window << (8 - n_bits));
    }
    return n_bytes;
}

static inline void set_tags(TIFF *t, const struct kind *k)
{
    uint16_t map[3][256];
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, WIDTH);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, HEIGHT);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, k->bits);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, k->n_samples);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, k->photometric);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, k->planar);
    TIFFSetField(t, TIFFTAG_COMPRESSION, k->compression);
    TIFFSetField(t, TIFFTAG_ORIENTATION, ORIENTATION_BOTRIGHT); /* must be ignored */
    if (k->mode && strchr(k->mode, 'F'))
        TIFFSetField(t, TIFFTAG_FILLORDER, FILLORDER_LSB2MSB);
    if (k->has_predictor)
        TIFFSetField(t, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
    if (k->extra != NONE)
        TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &k->extra);
    for (unsigned i = 0; i < 256 * 3; i++)
        map[i % 3][i / 3] = palette_value(i % 3, i / 3);
    if (k->photometric == PHOTOMETRIC_PALETTE)
        TIFFSetField(t, TIFFTAG_COLORMAP, map[0], map[1], map[2]);
    if (k->is_tiled) {
        TIFFSetField(t, TIFFTAG_TILEWIDTH, TILE);
        TIFFSetField(t, TIFFTAG_TILELENGTH, TILE);
    } else {
        TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 8);
    }
}

/* Changes a tag with one value in a little-endian file. */
static inline void change_tag(struct file *f, unsigned tag, unsigned tag_value)
{
    const size_t directory = f->bytes[4] | (size_t)f->bytes[5] << 8;
    uint8_t *entry = f->bytes + directory + 2;
    while ((entry[0] | (unsigned)entry[1] << 8) != tag)
        entry += 12;
    entry[8] = (uint8_t)tag_value;
    entry[9] = (uint8_t)(tag_value >> 8);
}

static inline TIFF *create(struct file *f, const char *mode)
{
    memset(f, 0, sizeof *f);
    TIFF *t = TIFFClientOpen("memory", mode ? mode : "w", f, read_memory, write_memory, seek_memory,
                             close_memory, size_of_memory, NULL, NULL);
    assert_non_null(t);
    return t;
}

static inline void write_file(struct file *f, const struct kind *k)
{
    static uint8_t block[WIDTH * TILE * SAMPLES_MAX * 2];
    bool is_planar = k->planar == PLANARCONFIG_SEPARATE;
    unsigned n_planes = is_planar ? k->n_samples : 1, n_each = is_planar ? 1 : k->n_samples;
    TIFF *t = create(f, k->mode);
    set_tags(t, k);
    for (unsigned p = 0; p < n_planes; p++) {
        size_t w = k->is_tiled ? TILE : WIDTH, h = k->is_tiled ? TILE : 1;
        for (size_t y = 0; y < HEIGHT; y += h) {
            for (size_t x = 0; x < WIDTH; x += w) {
                size_t n = pack(k, block, x, y, w, h, p, n_each);
                if (k->is_tiled)
                    assert_int_equal(
                        TIFFWriteTile(t, block, (uint32_t)x, (uint32_t)y, 0, (uint16_t)p), n);
                else
                    assert_int_equal(TIFFWriteScanline(t, block, (uint32_t)y, (uint16_t)p), 1);
            }
        }
    }
    TIFFClose(t);
}

#endif
