#include "bench/data.h"

#include <math.h>

enum {
    WAVE = 4096,     /* pixels in a row of smooth data, and rows until it repeats */
    LEVEL = 128,     /* the middle of the waves, */
    AMPLITUDE = 100, /* which stay 20 away from black and white */
    WHOLE_VALUES =
        1 << 22,          /* about so many of the whole numbers, 1 or 2 of either sign, are not 0 */
    WHOLE_TOTAL = 1 << 23 /* what their magnitudes sum to at most: a third more than expected */
};

/* S. Vigna's splitmix64: a random number from its position. */
static uint64_t random_at(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void fill_smooth(uint8_t *pixels, size_t n_pixels, unsigned n_channels)
{
    float across[WAVE][IH_CHANNELS_MAX];
    for (unsigned x = 0; x < WAVE; x++)
        for (unsigned c = 0; c < n_channels; c++)
            across[x][c] = sinf((float)x * 0.002f + (float)c);
    float down[IH_CHANNELS_MAX] = {0};
    for (size_t i = 0; i < n_pixels; i++) {
        const uint64_t noise = random_at(i);
        for (unsigned c = 0; c < n_channels; c++) {
            if (i % WAVE == 0)
                down[c] = AMPLITUDE * sinf((float)(i / WAVE % WAVE) * 0.003f - (float)c);
            pixels[i * n_channels + c] =
                (uint8_t)(LEVEL + across[i % WAVE][c] * down[c] + (float)(noise >> 8 * c & 7));
        }
    }
}

void ih_bench_fill_pixels(enum ih_bench_data data, uint8_t *pixels, size_t n_pixels,
                          unsigned n_channels)
{
    const size_t n = n_pixels * n_channels;
    if (data == IH_DATA_SMOOTH) {
        fill_smooth(pixels, n_pixels, n_channels);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (data == IH_DATA_RANDOM)
            pixels[i] = (uint8_t)(random_at(i / 8) >> i % 8 * 8);
        else if (data == IH_DATA_CONSTANT)
            pixels[i] = 77;
        else
            pixels[i] = i / n_channels % 2 ? 191 : 64;
    }
}

/* -2, -1, 1 or 2. */
static int sign_at(size_t i)
{
    static const int values[4] = {-2, -1, 1, 2};
    return values[random_at(i) >> 62];
}

/* The i-th of n whole numbers; *total is of the magnitudes so far. */
static int whole_at(size_t i, size_t n, long *total)
{
    const int value = sign_at(i), magnitude = value < 0 ? -value : value;
    if (random_at(i) % (n / WHOLE_VALUES + 1) != 0 || *total + magnitude > WHOLE_TOTAL)
        return 0;
    *total += magnitude;
    return value;
}

static float uniform_at(size_t i)
{
    return (float)(random_at(i) >> 40) * 0x1p-24f;
}

void ih_bench_fill_floats(enum ih_bench_data data, float *values, size_t n_values)
{
    long total = 0;
    for (size_t i = 0; i < n_values; i++)
        values[i] = data == IH_DATA_WHOLE    ? (float)whole_at(i, n_values, &total)
                    : data == IH_DATA_RANDOM ? uniform_at(i)
                                             : 1.23f;
}

void ih_bench_fill_doubles(enum ih_bench_data data, double *values, size_t n_values)
{
    long total = 0;
    for (size_t i = 0; i < n_values; i++)
        values[i] = data == IH_DATA_WHOLE    ? whole_at(i, n_values, &total)
                    : data == IH_DATA_RANDOM ? (double)uniform_at(i)
                                             : 1.23;
}

void ih_bench_fill_pairs(enum ih_bench_data data, float *a, float *b, size_t n_pairs)
{
    ih_bench_fill_floats(data, a, n_pairs);
    for (size_t i = 0; i < n_pairs; i++)
        b[i] = data == IH_DATA_WHOLE    ? (float)sign_at(n_pairs + i)
               : data == IH_DATA_RANDOM ? uniform_at(n_pairs + i)
                                        : 1.23f;
}
