/*
 * Shared by the tests of the library: pseudorandom pixels, their counts from a plain loop, and
 * files in memory. Uses only imghist.h.
 */
#ifndef IH_TESTS_LIBRARY_DATA_H
#define IH_TESTS_LIBRARY_DATA_H

#include "tests/support/test.h"

#include "imghist.h"
#include "tests/support/rows.h"

/* A pseudorandom byte that depends only on i. A third of all are 0 or 255. */
static inline uint8_t noise(uint64_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u ^ (uint32_t)(i >> 32);
    x = (x ^ x >> 15) * 2246822519u;
    x ^= x >> 13;
    return x % 3 ? (uint8_t)(x >> 8) : x & 8 ? 255 : 0;
}

struct expected {
    uint64_t n_pixels, bins[N_ROWS][IH_BINS], any_low, any_high, all_low, all_high;
};

/* Counts one pixel with bt709 and the clip limits 0 and 255. */
static inline void expect_pixel(struct expected *e, const uint8_t *pixel, unsigned n_channels)
{
    unsigned n_colours = n_channels < 3 ? 1 : 3, n_low = 0, n_high = 0;
    unsigned luma = pixel[0];
    if (n_colours == 3)
        luma = (13933u * pixel[0] + 46871u * pixel[1] + 4732u * pixel[2] + 32768u) >> 16;
    for (unsigned c = 0; c < n_channels; c++)
        e->bins[c][pixel[c]]++;
    for (unsigned c = 0; c < n_colours; c++) {
        n_low += pixel[c] == 0;
        n_high += pixel[c] == 255;
    }
    e->bins[LUMA_ROW][luma]++;
    e->n_pixels++;
    e->any_low += n_low > 0;
    e->any_high += n_high > 0;
    e->all_low += n_low == n_colours;
    e->all_high += n_high == n_colours;
}

static inline struct ih_summary summary_of(const struct ih_counts *counts)
{
    struct ih_summary s;
    ih_counts_summary(counts, &s, sizeof s);
    return s;
}

static inline void assert_expected(const struct ih_counts *counts, const struct expected *e,
                                   unsigned n_channels)
{
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.n_channels, n_channels);
    assert_int_equal(s.n_pixels, e->n_pixels);
    assert_int_equal(s.crushed_any, e->any_low);
    assert_int_equal(s.blown_any, e->any_high);
    assert_int_equal(s.crushed_all, e->all_low);
    assert_int_equal(s.blown_all, e->all_high);
    for (unsigned row = 0; row < N_ROWS; row++) {
        const unsigned p = plane_of(row);
        const uint64_t *bins = ih_counts_bins(counts, p);
        assert_int_equal(bins != NULL, row < n_channels || row == LUMA_ROW);
        assert_int_equal(ih_counts_plane(counts, p) != NULL, bins != NULL);
        if (bins)
            assert_memory_equal(bins, e->bins[row], sizeof e->bins[row]);
    }
}

/* Makes a PGM or PPM from noise(seed) on, and its counts. The caller frees *bytes. */
static inline size_t make_pnm(unsigned width, unsigned height, unsigned n_channels, uint64_t seed,
                              uint8_t **bytes, struct expected *e)
{
    char header[64];
    int n = snprintf(header, sizeof header, "P%d\n%u %u\n255\n", n_channels == 1 ? 5 : 6, width,
                     height);
    size_t n_samples = (size_t)width * height * n_channels, at = (size_t)n;
    uint8_t *b = malloc(at + n_samples);
    assert_non_null(b);
    memcpy(b, header, at);
    for (size_t i = 0; i < n_samples; i++)
        b[at + i] = noise(seed + i);
    memset(e, 0, sizeof *e);
    for (size_t i = 0; i < n_samples; i += n_channels)
        expect_pixel(e, b + at + i, n_channels);
    *bytes = b;
    return at + n_samples;
}

static inline struct ih_context *open_cpu(void)
{
    const struct ih_settings settings = {.device = "cpu"};
    struct ih_context *context = NULL;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, NULL), IH_OK);
    return context;
}

static inline struct ih_counts *open_counts(void)
{
    struct ih_counts *counts = NULL;
    assert_int_equal(ih_counts_open(&counts, NULL), IH_OK);
    return counts;
}

#endif
