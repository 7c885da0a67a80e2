/*
 * The few vector operations that unfiltering takes, for SSE2 and NEON.
 *
 * A vector holds the bytes of one pixel, each in a lane of 16 bits whose upper half is zero: eight
 * lanes, of which the first 1 to 8 are used. In 16 bits the Paeth predictor's sums cannot overflow.
 * IH_PNG_VEC is defined to the target's name where there is one.
 */
#ifndef IH_DECODE_PNG_VEC_H
#define IH_DECODE_PNG_VEC_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#define IH_PNG_VEC "SSE2"
#include <emmintrin.h>

typedef __m128i vec;

static inline vec vec_zero(void)
{
    return _mm_setzero_si128();
}
/* Pixels of 1 to 4 bytes are read as 4, those of 6 and 8 as 8. */
static inline vec vec_load4(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm_unpacklo_epi8(_mm_cvtsi32_si128(v), _mm_setzero_si128());
}
static inline vec vec_load8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return _mm_unpacklo_epi8(_mm_set_epi64x(0, (long long)v), _mm_setzero_si128());
}
static inline uint32_t vec_low4(vec v)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(v, v));
}
static inline void vec_store8(uint8_t *p, vec v)
{
    _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(v, v));
}
static inline vec vec_add_bytes(vec a, vec b) /* modulo 256 in each lane: its upper half stays 0 */
{
    return _mm_add_epi8(a, b);
}
static inline vec vec_add(vec a, vec b)
{
    return _mm_add_epi16(a, b);
}
/* Saturating, which never happens here: so that gcc does not reorder sums, as it may plain ones,
 * and make a chain of dependent ones longer. */
static inline vec vec_sub(vec a, vec b)
{
    return _mm_subs_epi16(a, b);
}
static inline vec vec_half(vec a)
{
    return _mm_srli_epi16(a, 1);
}
static inline vec vec_min(vec a, vec b)
{
    return _mm_min_epi16(a, b);
}
static inline vec vec_max(vec a, vec b)
{
    return _mm_max_epi16(a, b);
}
static inline vec vec_greater(vec a, vec b) /* signed; all ones or zeros */
{
    return _mm_cmpgt_epi16(a, b);
}
static inline vec vec_and(vec a, vec b)
{
    return _mm_and_si128(a, b);
}
static inline vec vec_and_not(vec a, vec b) /* a without the bits of b */
{
    return _mm_andnot_si128(b, a);
}
static inline vec vec_or(vec a, vec b)
{
    return _mm_or_si128(a, b);
}
static inline void vec_add_16_bytes(uint8_t *p, const uint8_t *q)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)q);
    _mm_storeu_si128((__m128i *)(void *)p, _mm_add_epi8(a, b));
}

#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(__AARCH64EB__)
#define IH_PNG_VEC "NEON"
#include <arm_neon.h>

typedef int16x8_t vec;

static inline vec vec_zero(void)
{
    return vdupq_n_s16(0);
}
static inline vec vec_load8(const uint8_t *p)
{
    return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p)));
}
static inline vec vec_load4(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(v)));
}
static inline uint32_t vec_low4(vec v)
{
    return vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vreinterpretq_u16_s16(v))), 0);
}
static inline void vec_store8(uint8_t *p, vec v)
{
    vst1_u8(p, vmovn_u16(vreinterpretq_u16_s16(v)));
}
static inline vec vec_add_bytes(vec a, vec b)
{
    return vreinterpretq_s16_s8(vaddq_s8(vreinterpretq_s8_s16(a), vreinterpretq_s8_s16(b)));
}
static inline vec vec_add(vec a, vec b)
{
    return vaddq_s16(a, b);
}
static inline vec vec_sub(vec a, vec b)
{
    return vqsubq_s16(a, b);
}
static inline vec vec_half(vec a)
{
    return vshrq_n_s16(a, 1);
}
static inline vec vec_min(vec a, vec b)
{
    return vminq_s16(a, b);
}
static inline vec vec_max(vec a, vec b)
{
    return vmaxq_s16(a, b);
}
static inline vec vec_greater(vec a, vec b)
{
    return vreinterpretq_s16_u16(vcgtq_s16(a, b));
}
static inline vec vec_and(vec a, vec b)
{
    return vandq_s16(a, b);
}
static inline vec vec_and_not(vec a, vec b)
{
    return vbicq_s16(a, b);
}
static inline vec vec_or(vec a, vec b)
{
    return vorrq_s16(a, b);
}
static inline void vec_add_16_bytes(uint8_t *p, const uint8_t *q)
{
    vst1q_u8(p, vaddq_u8(vld1q_u8(p), vld1q_u8(q)));
}
#endif

#endif
