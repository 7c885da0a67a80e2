/* Conversion of samples to pixels: every kind and depth, interleaved and in planes, against a
 * conversion of one sample at a time. Rows are longer than the pieces of the converter. */
#include "tests/support/test.h"

#include "decode/samples.h"

#include <limits.h>

enum { WIDTH = 1100, N_BANDS = 7, SAMPLES_MAX = N_BANDS + 2 };

struct layout {
    bool is_planar;
    unsigned n_samples; /* a pixel in the row, including ignored ones */
    unsigned alpha;     /* the index of alpha; 0: no alpha */
};

static unsigned value(size_t x, unsigned sample, unsigned bits)
{
    return (unsigned)(x * 40503u + x / 3 * 977u + sample * 12347u) >> 3 & ((1u << bits) - 1);
}

/* Stores sample i of a row: 16 bits in host byte order, others packed from the MSB. */
static void store(uint8_t *row, size_t i, unsigned bits, unsigned v)
{
    const uint16_t v16 = (uint16_t)v;
    if (bits == 16) {
        memcpy(row + 2 * i, &v16, sizeof v16);
        return;
    }
    for (unsigned b = 0; b < bits; b++)
        if (v >> (bits - 1 - b) & 1)
            row[(i * bits + b) / 8] |= (uint8_t)(0x80 >> (i * bits + b) % 8);
}

static uint8_t in_8_bits(unsigned v, unsigned bits)
{
    const unsigned max = (1u << bits) - 1;
    return (uint8_t)((2 * 255 * (uint64_t)v + max) / (2 * (uint64_t)max));
}

static void expected_pixel(const struct ih_samples *s, const struct layout *l, size_t x,
                           uint8_t *out)
{
    unsigned v[SAMPLES_MAX] = {0}, key;
    for (unsigned c = 0; c < s->n_colour; c++)
        v[c] = in_8_bits(value(x, c, s->bits), s->bits);
    switch (s->kind) {
    case IH_SAMPLES_GRAY:
        out[0] = (uint8_t)(s->is_inverted ? 255 - v[0] : v[0]);
        break;
    case IH_SAMPLES_RGB:
        for (unsigned c = 0; c < 3; c++)
            out[c] = (uint8_t)v[c];
        break;
    case IH_SAMPLES_CMYK:
        key = 255 - v[3];
        for (unsigned c = 0; c < 3; c++)
            out[c] = (uint8_t)((2 * (255 - v[c]) * key + 255) / 510);
        break;
    case IH_SAMPLES_PALETTE:
        memcpy(out, s->palette[value(x, 0, s->bits)], 3);
        break;
    case IH_SAMPLES_BANDS:
        for (unsigned c = 0; c < s->n_colour; c++)
            out[c] = (uint8_t)v[c];
        break;
    }
    if (l->alpha)
        out[s->n_channels - 1] = in_8_bits(value(x, l->alpha, s->bits), s->bits);
}

/* Rows are in allocations that end with their last byte, so a sanitizer catches a read past it. */
static void assert_converts(enum ih_sample_kind kind, unsigned bits, bool is_inverted,
                            const struct layout *l)
{
    static struct ih_samples s;
    static uint8_t pixels[WIDTH * SAMPLES_MAX], expected[WIDTH * SAMPLES_MAX];
    struct ih_sample_plane planes[SAMPLES_MAX];
    ih_samples_init(&s, kind, bits, l->alpha > 0, is_inverted);
    if (kind == IH_SAMPLES_BANDS)
        ih_samples_set_bands(&s, N_BANDS + (l->alpha > 0), l->alpha > 0);
    for (unsigned i = 0; i < 256 * 3; i++)
        s.palette[i / 3][i % 3] = (uint8_t)(i * 91);
    const size_t in_row = (size_t)WIDTH * (l->is_planar ? 1 : l->n_samples);
    const unsigned n_rows = l->is_planar ? l->n_samples : 1;
    uint8_t *rows[SAMPLES_MAX] = {NULL};
    for (unsigned r = 0; r < n_rows; r++) {
        rows[r] = calloc((in_row * bits + 7) / 8, 1);
        assert_non_null(rows[r]);
        for (size_t i = 0; i < in_row; i++)
            store(rows[r], i, bits,
                  l->is_planar ? value(i, r, bits)
                               : value(i / l->n_samples, (unsigned)(i % l->n_samples), bits));
    }
    for (unsigned p = 0; p < s.n_planes; p++) {
        const unsigned sample = p < s.n_colour ? p : l->alpha;
        planes[p] = l->is_planar ? (struct ih_sample_plane){rows[sample], 0, 1}
                                 : (struct ih_sample_plane){rows[0], sample, l->n_samples};
    }
    struct ih_extremes extremes = {0};
    unsigned min = UINT_MAX, end = 0;
    for (size_t x = 0; x < WIDTH && bits > 8; x++)
        for (unsigned c = 0; c < s.n_colour; c++) {
            const unsigned v = value(x, c, bits);
            min = v < min ? v : min;
            end = v + 1 > end ? v + 1 : end;
        }
    s.extremes = &extremes;
    ih_samples_convert(&s, planes, WIDTH, pixels);
    assert_int_equal(extremes.end, end);
    assert_int_equal(extremes.min, end ? min : 0);
    for (size_t x = 0; x < WIDTH; x++)
        expected_pixel(&s, l, x, expected + x * s.n_channels);
    assert_memory_equal(pixels, expected, (size_t)WIDTH * s.n_channels);
    for (unsigned r = 0; r < n_rows; r++)
        free(rows[r]);
}

TEST(all)
{
    static const unsigned n_colour[] = {1, 3, 4, 1, N_BANDS};
    for (unsigned kind = IH_SAMPLES_GRAY; kind <= IH_SAMPLES_BANDS; kind++) {
        for (unsigned bits = 1; bits <= (kind == IH_SAMPLES_PALETTE ? 8 : 16); bits++) {
            for (unsigned i = 0; i < 2 * 3; i++) { /* no alpha; alpha; a sample before alpha */
                const unsigned n = n_colour[kind], n_extra = i / 2;
                const struct layout l = {i % 2, n + n_extra, n_extra ? n + n_extra - 1 : 0};
                assert_converts((enum ih_sample_kind)kind, bits, false, &l);
                if (kind == IH_SAMPLES_GRAY)
                    assert_converts(IH_SAMPLES_GRAY, bits, true, &l);
            }
        }
    }
}
