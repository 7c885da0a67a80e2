/*
 * The vector operations that counting RGB, and Y, Cb and Cr, takes, for AVX2, SSE2 and NEON.
 *
 * IH_COUNT_VEC is defined to the target's name where there is one. SSE2 and NEON are part of their
 * processors' base; AVX2 is what a file gets that is built for it. All are little-endian: the first
 * of two bytes is the lower half of a 16-bit lane. The operations of each are in a file of its own.
 */
#ifndef IH_COUNT_COUNT_VEC_H
#define IH_COUNT_COUNT_VEC_H

#include "count/count.h"

#if defined(__SSE2__) || (defined(__ARM_NEON) && defined(__aarch64__) && !defined(__AARCH64EB__))

#if defined(__AVX2__)
#define IH_COUNT_VEC "AVX2"
#include <immintrin.h>
typedef __m256i vec;
#define VEC_OP(name) _mm256_##name
#define VEC_OP_BITS(name) _mm256_##name##_si256

#elif defined(__SSE2__)
#define IH_COUNT_VEC "SSE2"
#include <emmintrin.h>
typedef __m128i vec;
#define VEC_OP(name) _mm_##name
#define VEC_OP_BITS(name) _mm_##name##_si128

#else
#define IH_COUNT_VEC "NEON"
#include <arm_neon.h>
typedef uint8x16_t vec;
#endif

enum {
    VEC_PIXELS = sizeof(vec),        /* loaded at once */
    VEC_PIXELS_READ = VEC_PIXELS + 2 /* must be there for it: some bytes beyond are read */
};

/* Pairs of neighbours, each channel in 16-bit lanes: the first of each pair and, in the same lane,
 * the second. In which order the pairs come is the target's own business. */
struct vec_pixels {
    vec first[3], second[3];
};

#if defined(__SSE2__)
#include "count/count_vec_x86.h"
#else
#include "count/count_vec_neon.h"
#endif

/* The luma's weights sum to 65536, so it is g + ((red (r - g) + blue (b - g) + 32768) >> 16): two
 * products, of which each factor fits 16 signed bits. */
static inline vec vec_luma(const vec v[3], vec_weights w)
{
    return vec_add_16(v[1], vec_weigh_16(vec_sub_16(v[0], v[1]), vec_sub_16(v[2], v[1]), w));
}

#endif

#endif
