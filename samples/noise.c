/*
 * Noise and arithmetic that come out the same on every machine.
 *
 * The stream is PCG-XSH-RR 64/32 (M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient
 * Statistically Good Algorithms for Random Number Generation", 2014): integers only, and good
 * enough that no pattern shows in a picture. The C library's rand() differs between libraries.
 *
 * Textures are value noise: random heights on the integer lattice, blended smoothly between its
 * points. Gradient noise would look a little less blocky and cost twice the code.
 */
#include "samples.h"

#include <math.h>

uint32_t ih_noise_bits(struct ih_noise *noise)
{
    const uint64_t old = noise->state;
    noise->state = old * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint32_t mixed = (uint32_t)(((old >> 18) ^ old) >> 27);
    const uint32_t turn = (uint32_t)(old >> 59);
    return (mixed >> turn) | (mixed << ((32 - turn) & 31));
}

double ih_noise_uniform(struct ih_noise *noise)
{
    return ih_noise_bits(noise) * (1.0 / 4294967296.0);
}

/* The sum of four uniforms has variance 4/12: near enough to a bell, and it needs no logarithm. */
double ih_noise_bell(struct ih_noise *noise)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += ih_noise_uniform(noise);
    return (sum - 2.0) * sqrt(3.0);
}

/* Multiply and shift until every input bit has reached every output bit. */
double ih_lattice(int32_t x, int32_t y, uint32_t seed)
{
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u ^ seed * 0xc2b2ae3du;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    h ^= h >> 15;
    return h * (1.0 / 4294967296.0);
}

double ih_value_noise(double x, double y, uint32_t seed)
{
    const double x0 = floor(x), y0 = floor(y);
    const int32_t ix = (int32_t)x0, iy = (int32_t)y0;
    const double tx = ih_smoothstep(0, 1, x - x0);
    const double ty = ih_smoothstep(0, 1, y - y0);
    const double top = ih_mix(ih_lattice(ix, iy, seed), ih_lattice(ix + 1, iy, seed), tx);
    const double bottom =
        ih_mix(ih_lattice(ix, iy + 1, seed), ih_lattice(ix + 1, iy + 1, seed), tx);
    return ih_mix(top, bottom, ty);
}

double ih_cloud_noise(double x, double y, uint32_t seed, int n_octaves)
{
    double sum = 0, weight = 0.5, total = 0;
    for (int i = 0; i < n_octaves; i++) {
        sum += weight * ih_value_noise(x, y, seed + (uint32_t)i);
        total += weight;
        weight *= 0.5;
        /* Turned by the 3-4-5 triangle's angle, so that the octaves' lattices do not line up. */
        const double turned = 2.0 * (0.8 * x - 0.6 * y);
        y = 2.0 * (0.6 * x + 0.8 * y);
        x = turned;
    }
    return sum / total;
}

double ih_clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

double ih_mix(double a, double b, double t)
{
    return a + (b - a) * t;
}

double ih_smoothstep(double from, double to, double v)
{
    const double t = ih_clamp((v - from) / (to - from), 0, 1);
    return t * t * (3.0 - 2.0 * t);
}

double ih_power(double base, unsigned exponent)
{
    double result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return result;
}

/* Newton's iteration for y^3 = a with 0 < a <= 1: from 1 it falls to the root and stays there. */
static double cube_root(double a)
{
    double y = 1;
    for (int i = 0; i < 24; i++)
        y = (2.0 * y + a / (y * y)) / 3.0;
    return y;
}

/* sRGB's exponent 1/2.4 is 5/12: a cube root of the fourth root of the fifth power. */
double ih_srgb_encode(double linear)
{
    const double v = ih_clamp(linear, 0, 1);
    if (v <= 0.0031308)
        return 12.92 * v;
    return 1.055 * cube_root(sqrt(sqrt(ih_power(v, 5)))) - 0.055;
}

uint8_t ih_byte(double v)
{
    return (uint8_t)floor(ih_clamp(v, 0, 1) * 255.0 + 0.5);
}
