/*
 * The vector operations that counting RGB takes, for SSE2 and NEON: 16 pixels, their channels
 * apart.
 *
 * IH_COUNT_VEC is defined to the target's name where there is one. Both are part of their
 * processors' base, so nothing is asked at run time, and both are little-endian: the first of two
 * bytes is the lower half of a 16-bit lane.
 */
#ifndef IH_BACKEND_COUNT_VEC_H
#define IH_BACKEND_COUNT_VEC_H

#include "backend/count.h"

/*
 * What the 16 pixels of a vector have in common with all others of an image. The luma's weights sum
 * to 65536, so it is g + ((red (r - g) + blue (b - g) + 32768) >> 16): two products, of which each
 * factor fits 16 signed bits, and a sum that fits 8 once it is shifted.
 */
#if defined(__SSE2__)
#define IH_COUNT_VEC "SSE2"
#include <emmintrin.h>

typedef __m128i vec;
typedef __m128i vec_weights; /* red and blue in turns, in 16 bits */

static inline vec vec_zero(void)
{
    return _mm_setzero_si128();
}
static inline vec vec_all(uint8_t value)
{
    return _mm_set1_epi8((char)value);
}
static inline vec vec_load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
static inline void vec_store(void *p, vec v)
{
    _mm_storeu_si128((__m128i *)p, v);
}
/* Each step deals the 48 bytes out as one deals cards, from both halves in turns: byte i comes to
 * 2 i, modulo 47. After four steps every third byte is a neighbour. */
static inline void vec_deal(vec v[3])
{
    const vec x = v[0], y = v[1], z = v[2];
    v[0] = _mm_unpacklo_epi8(x, _mm_unpackhi_epi64(y, y));
    v[1] = _mm_unpacklo_epi8(_mm_unpackhi_epi64(x, x), z);
    v[2] = _mm_unpacklo_epi8(y, _mm_unpackhi_epi64(z, z));
}
static inline void vec_load_rgb(vec v[3], const uint8_t *p)
{
    v[0] = vec_load(p);
    v[1] = vec_load(p + 16);
    v[2] = vec_load(p + 32);
    vec_deal(v);
    vec_deal(v);
    vec_deal(v);
    vec_deal(v);
}
static inline vec_weights vec_make_weights(const struct ih_luma_weights *w)
{
    return _mm_set1_epi32((int)(w->blue << 16 | w->red));
}
/* Four pixels: rb has r and b in turns and gg has g twice, all in 16 bits. */
static inline vec vec_luma_4(vec rb, vec gg, vec_weights w)
{
    const vec sum = _mm_madd_epi16(_mm_sub_epi16(rb, gg), w);
    return _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(32768)), 16);
}
static inline vec vec_luma_8(vec rb, vec gg, vec_weights w)
{
    const vec zero = vec_zero();
    return _mm_packs_epi32(vec_luma_4(_mm_unpacklo_epi8(rb, zero), _mm_unpacklo_epi8(gg, zero), w),
                           vec_luma_4(_mm_unpackhi_epi8(rb, zero), _mm_unpackhi_epi8(gg, zero), w));
}
static inline vec vec_luma(const vec v[3], vec_weights w)
{
    const vec r = v[0], g = v[1], b = v[2];
    const vec low = vec_luma_8(_mm_unpacklo_epi8(r, b), _mm_unpacklo_epi8(g, g), w);
    const vec high = vec_luma_8(_mm_unpackhi_epi8(r, b), _mm_unpackhi_epi8(g, g), w);
    return _mm_add_epi8(g, _mm_packs_epi16(low, high));
}
static inline vec vec_min(vec a, vec b)
{
    return _mm_min_epu8(a, b);
}
static inline vec vec_max(vec a, vec b)
{
    return _mm_max_epu8(a, b);
}
static inline vec vec_add(vec a, vec b)
{
    return _mm_add_epi8(a, b);
}
/* counts + 1 in each lane where a <= b */
static inline vec vec_count_at_most(vec counts, vec a, vec b)
{
    return _mm_sub_epi8(counts, _mm_cmpeq_epi8(_mm_subs_epu8(a, b), vec_zero()));
}
static inline uint64_t vec_sum(vec v)
{
    const __m128i s = _mm_sad_epu8(v, vec_zero());
    return (uint64_t)_mm_cvtsi128_si32(s) + (uint64_t)_mm_cvtsi128_si32(_mm_srli_si128(s, 8));
}
/* Of each two neighbours the second less the first, modulo 256, beside the first: 16-bit lanes. */
static inline vec vec_differ(vec v)
{
    return _mm_sub_epi8(v, _mm_slli_epi16(v, 8));
}
static inline vec vec_all_16(uint16_t value)
{
    return _mm_set1_epi16((short)value);
}
static inline vec vec_or(vec a, vec b)
{
    return _mm_or_si128(a, b);
}
static inline bool vec_shares_no_bit(vec a, vec b)
{
    return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(a, b), vec_zero())) == 0xffff;
}

#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(__AARCH64EB__)
#define IH_COUNT_VEC "NEON"
#include <arm_neon.h>

typedef uint8x16_t vec;
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
static inline void vec_store(void *p, vec v)
{
    vst1q_u8(p, v);
}
static inline void vec_load_rgb(vec v[3], const uint8_t *p)
{
    const uint8x16x3_t rgb = vld3q_u8(p);
    v[0] = rgb.val[0];
    v[1] = rgb.val[1];
    v[2] = rgb.val[2];
}
static inline vec_weights vec_make_weights(const struct ih_luma_weights *w)
{
    return (vec_weights){(int16_t)w->red, (int16_t)w->blue};
}
static inline int8x8_t vec_luma_8(uint8x8_t r, uint8x8_t g, uint8x8_t b, vec_weights w)
{
    const int16x8_t rg = vreinterpretq_s16_u16(vsubl_u8(r, g));
    const int16x8_t bg = vreinterpretq_s16_u16(vsubl_u8(b, g));
    const int32x4_t half = vdupq_n_s32(32768);
    int32x4_t low = vmlal_n_s16(half, vget_low_s16(rg), w.red);
    int32x4_t high = vmlal_n_s16(half, vget_high_s16(rg), w.red);
    low = vmlal_n_s16(low, vget_low_s16(bg), w.blue);
    high = vmlal_n_s16(high, vget_high_s16(bg), w.blue);
    return vmovn_s16(vcombine_s16(vshrn_n_s32(low, 16), vshrn_n_s32(high, 16)));
}
static inline vec vec_luma(const vec v[3], vec_weights w)
{
    const int8x8_t low = vec_luma_8(vget_low_u8(v[0]), vget_low_u8(v[1]), vget_low_u8(v[2]), w);
    const int8x8_t high = vec_luma_8(vget_high_u8(v[0]), vget_high_u8(v[1]), vget_high_u8(v[2]), w);
    return vaddq_u8(v[1], vreinterpretq_u8_s8(vcombine_s8(low, high)));
}
static inline vec vec_min(vec a, vec b)
{
    return vminq_u8(a, b);
}
static inline vec vec_max(vec a, vec b)
{
    return vmaxq_u8(a, b);
}
static inline vec vec_add(vec a, vec b)
{
    return vaddq_u8(a, b);
}
static inline vec vec_count_at_most(vec counts, vec a, vec b)
{
    return vsubq_u8(counts, vcleq_u8(a, b));
}
static inline uint64_t vec_sum(vec v)
{
    return vaddlvq_u8(v);
}
static inline vec vec_differ(vec v)
{
    return vsubq_u8(v, vreinterpretq_u8_u16(vshlq_n_u16(vreinterpretq_u16_u8(v), 8)));
}
static inline vec vec_all_16(uint16_t value)
{
    return vreinterpretq_u8_u16(vdupq_n_u16(value));
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
