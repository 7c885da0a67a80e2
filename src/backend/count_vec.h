/*
 * The vector operations that counting RGB takes, for AVX2, SSE2 and NEON.
 *
 * IH_COUNT_VEC is defined to the target's name where there is one. SSE2 and NEON are part of their
 * processors' base; AVX2 is what a file gets that is built for it. All are little-endian: the first
 * of two bytes is the lower half of a 16-bit lane.
 */
#ifndef IH_BACKEND_COUNT_VEC_H
#define IH_BACKEND_COUNT_VEC_H

#include "backend/count.h"

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

typedef vec vec_weights; /* red and blue in turns, in 16 bits */

static inline vec vec_zero(void)
{
    return VEC_OP_BITS(setzero)();
}
static inline vec vec_all(uint8_t value)
{
    return VEC_OP(set1_epi8)((char)value);
}
static inline vec vec_all_16(uint16_t value)
{
    return VEC_OP(set1_epi16)((short)value);
}
static inline void vec_store(void *p, vec v)
{
    VEC_OP_BITS(storeu)((vec *)p, v);
}

static inline vec vec_or(vec a, vec b)
{
    return VEC_OP_BITS(or)(a, b);
}
static inline vec vec_and(vec a, vec b)
{
    return VEC_OP_BITS(and)(a, b);
}
/* 16 bytes at p, and in the wider vector those 16 pixels further on in its upper half. */
static inline vec vec_load(const uint8_t *p)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)p);
#if defined(__AVX2__)
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(p + 48));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
#else
    return low;
#endif
}
static inline vec vec_repeat(__m128i v)
{
#if defined(__AVX2__)
    return _mm256_broadcastsi128_si256(v);
#else
    return v;
#endif
}
/*
 * Of every six bytes from p on the first two, so of 48 bytes eight words. In the three vectors of
 * these bytes they are never in the same lanes, so nothing is moved, only masked. Which lane a word
 * ends in depends on its distance from p alone: those from p + 2 on come in the same order.
 */
static inline vec vec_every_third_word(const uint8_t *p)
{
    const vec x = vec_repeat(_mm_setr_epi16(-1, 0, 0, -1, 0, 0, -1, 0));
    const vec y = vec_repeat(_mm_setr_epi16(0, -1, 0, 0, -1, 0, 0, -1));
    const vec z = vec_repeat(_mm_setr_epi16(0, 0, -1, 0, 0, -1, 0, 0));
    return vec_or(vec_or(vec_and(vec_load(p), x), vec_and(vec_load(p + 16), y)),
                  vec_and(vec_load(p + 32), z));
}
static inline vec vec_low_8(vec v)
{
    return vec_and(v, vec_all_16(0xff));
}
static inline vec vec_high_8(vec v)
{
    return VEC_OP(srli_epi16)(v, 8);
}
static inline void vec_load_pixels(struct vec_pixels *v, const uint8_t *p)
{
    const vec rg = vec_every_third_word(p), br = vec_every_third_word(p + 2);
    const vec gb = vec_every_third_word(p + 4);
    v->first[0] = vec_low_8(rg);
    v->first[1] = vec_high_8(rg);
    v->first[2] = vec_low_8(br);
    v->second[0] = vec_high_8(br);
    v->second[1] = vec_low_8(gb);
    v->second[2] = vec_high_8(gb);
}

static inline vec_weights vec_make_weights(const struct ih_luma_weights *w)
{
    return VEC_OP(set1_epi32)((int)(w->blue << 16 | w->red));
}
/*
 * The luma's weights sum to 65536, so it is g + ((red (r - g) + blue (b - g) + 32768) >> 16): two
 * products, of which each factor fits 16 signed bits, and a sum that fits as much once it is
 * shifted. v has r - g and b - g in turns.
 */
static inline vec vec_weigh(vec v, vec_weights w)
{
    const vec half = VEC_OP(set1_epi32)(32768);
    return VEC_OP(srai_epi32)(VEC_OP(add_epi32)(VEC_OP(madd_epi16)(v, w), half), 16);
}
static inline vec vec_luma(const vec v[3], vec_weights w)
{
    const vec rg = VEC_OP(sub_epi16)(v[0], v[1]), bg = VEC_OP(sub_epi16)(v[2], v[1]);
    const vec low = vec_weigh(VEC_OP(unpacklo_epi16)(rg, bg), w);
    const vec high = vec_weigh(VEC_OP(unpackhi_epi16)(rg, bg), w);
    return VEC_OP(add_epi16)(v[1], VEC_OP(packs_epi32)(low, high));
}
/* Two vectors of 16-bit lanes, all of them 0 to 255, as bytes in some order. */
static inline vec vec_pack(vec a, vec b)
{
    return VEC_OP(packus_epi16)(a, b);
}
static inline vec vec_min(vec a, vec b)
{
    return VEC_OP(min_epu8)(a, b);
}
static inline vec vec_max(vec a, vec b)
{
    return VEC_OP(max_epu8)(a, b);
}
/* counts + 1 in each byte where a <= b */
static inline vec vec_count_at_most(vec counts, vec a, vec b)
{
    return VEC_OP(sub_epi8)(counts, VEC_OP(cmpeq_epi8)(VEC_OP(subs_epu8)(a, b), vec_zero()));
}
static inline uint64_t vec_sum(vec v)
{
    uint64_t sums[sizeof(vec) / 8], n = 0;
    vec_store(sums, VEC_OP(sad_epu8)(v, vec_zero()));
    for (unsigned i = 0; i < sizeof(vec) / 8; i++)
        n += sums[i];
    return n;
}
static inline vec vec_add_16(vec a, vec b)
{
    return VEC_OP(add_epi16)(a, b);
}
static inline vec vec_sub_16(vec a, vec b)
{
    return VEC_OP(sub_epi16)(a, b);
}
static inline vec vec_times_256(vec v)
{
    return VEC_OP(slli_epi16)(v, 8);
}
static inline bool vec_shares_no_bit(vec a, vec b)
{
    const vec is_zero = VEC_OP(cmpeq_epi8)(vec_and(a, b), vec_zero());
    return (uint32_t)VEC_OP(movemask_epi8)(is_zero) == UINT32_MAX >> (32 - sizeof(vec));
}

#else

typedef struct {
    int16_t red, blue;
} vec_weights;

static inline vec vec_zero(void)
{
    return vdupq_n_u8(0);
}
static inline vec vec_all(uint8_t value)
{
    return vdupq_n_u8(value);
}
static inline vec vec_all_16(uint16_t value)
{
    return vreinterpretq_u8_u16(vdupq_n_u16(value));
}
static inline void vec_store(void *p, vec v)
{
    vst1q_u8(p, v);
}
static inline void vec_load_pixels(struct vec_pixels *v, const uint8_t *p)
{
    const uint8x16x3_t rgb = vld3q_u8(p);
    for (int c = 0; c < 3; c++) {
        v->first[c] = vandq_u8(rgb.val[c], vec_all_16(0xff));
        v->second[c] = vreinterpretq_u8_u16(vshrq_n_u16(vreinterpretq_u16_u8(rgb.val[c]), 8));
    }
}
static inline vec_weights vec_make_weights(const struct ih_luma_weights *w)
{
    return (vec_weights){(int16_t)w->red, (int16_t)w->blue};
}
/* The same four pixels at a time; above is why it is so. */
static inline int16x4_t vec_weigh(int16x4_t rg, int16x4_t bg, vec_weights w)
{
    const int32x4_t half = vdupq_n_s32(32768);
    return vshrn_n_s32(vmlal_n_s16(vmlal_n_s16(half, rg, w.red), bg, w.blue), 16);
}
static inline vec vec_luma(const vec v[3], vec_weights w)
{
    const int16x8_t g = vreinterpretq_s16_u8(v[1]);
    const int16x8_t rg = vsubq_s16(vreinterpretq_s16_u8(v[0]), g);
    const int16x8_t bg = vsubq_s16(vreinterpretq_s16_u8(v[2]), g);
    const int16x4_t low = vec_weigh(vget_low_s16(rg), vget_low_s16(bg), w);
    const int16x4_t high = vec_weigh(vget_high_s16(rg), vget_high_s16(bg), w);
    return vreinterpretq_u8_s16(vaddq_s16(g, vcombine_s16(low, high)));
}
static inline vec vec_pack(vec a, vec b)
{
    return vuzp1q_u8(a, b);
}
static inline vec vec_min(vec a, vec b)
{
    return vminq_u8(a, b);
}
static inline vec vec_max(vec a, vec b)
{
    return vmaxq_u8(a, b);
}
static inline vec vec_count_at_most(vec counts, vec a, vec b)
{
    return vsubq_u8(counts, vcleq_u8(a, b));
}
static inline uint64_t vec_sum(vec v)
{
    return vaddlvq_u8(v);
}
static inline vec vec_add_16(vec a, vec b)
{
    return vreinterpretq_u8_u16(vaddq_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
}
static inline vec vec_sub_16(vec a, vec b)
{
    return vreinterpretq_u8_u16(vsubq_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
}
static inline vec vec_times_256(vec v)
{
    return vreinterpretq_u8_u16(vshlq_n_u16(vreinterpretq_u16_u8(v), 8));
}
static inline vec vec_or(vec a, vec b)
{
    return vorrq_u8(a, b);
}
static inline bool vec_shares_no_bit(vec a, vec b)
{
    return vmaxvq_u8(vandq_u8(a, b)) == 0;
}
#endif

#endif

#endif
