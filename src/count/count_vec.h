/*
 * The SIMD operations that count_vec_loops.h needs, for AVX2, SSE2 and NEON.
 *
 * IH_COUNT_VEC is defined, to the name of the instruction set, if there is one. Every x86-64 CPU
 * has SSE2 and every 64-bit Arm CPU has NEON; a file gets AVX2 if it is compiled for it. All
 * targets are little-endian: the first of two bytes is the lower half of a 16-bit SIMD lane. The
 * comments of the x86 operations apply to NEON too.
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
    VEC_PIXELS = sizeof(vec), /* per step */
#if defined(__SSE2__) && !defined(__AVX2__)
    VEC_PIXELS_READ = VEC_PIXELS + 2 /* must be readable: loads reach a few bytes further */
#else
    VEC_PIXELS_READ = VEC_PIXELS
#endif
};

/* Pairs of neighbouring pixels, [channel], in 16-bit SIMD lanes: the first of each pair, and the
 * second in the same lane. The order of the pairs differs between targets. */
struct vec_pixels {
    vec first[3], second[3];
};

#if defined(__SSE2__)

/* ---- SSE2, and AVX2 with vectors of twice the width ---- */

typedef vec vec_weights; /* the two weights alternate, 16 bits each */

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
static inline vec vec_read(const void *p)
{
    return VEC_OP_BITS(loadu)((const vec *)p);
}
/* Loads half a vector of bytes, each into a 16-bit SIMD lane. */
static inline vec vec_widen(const uint8_t *p)
{
#if defined(__AVX2__)
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)p),
                             _mm_setzero_si128());
#endif
}

static inline vec vec_or(vec a, vec b)
{
    return VEC_OP_BITS(or)(a, b);
}
static inline vec vec_and(vec a, vec b)
{
    return VEC_OP_BITS(and)(a, b);
}
/* Loads 16 bytes at p. AVX2: also the 16 bytes that are 16 pixels later, into the upper half. */
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
/* Gathers the first two of every six bytes from p on: eight 16-bit words of 48 bytes. In the three
 * vectors of these bytes the words never share a SIMD lane, so masks are enough. The order depends
 * only on the distance from p, so p + 2 and p + 4 match it. */
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
#if defined(__AVX2__)
    /* Three loads instead of nine: the words that follow those of p lie one SIMD lane further. */
    const vec x = vec_load(p), y = vec_load(p + 16), z = vec_load(p + 32);
    const vec rg = _mm256_blend_epi16(_mm256_blend_epi16(x, y, 0x92), z, 0x24);
    vec br = _mm256_blend_epi16(_mm256_blend_epi16(x, y, 0x24), z, 0x49);
    vec gb = _mm256_blend_epi16(_mm256_blend_epi16(x, y, 0x49), z, 0x92);
    br = _mm256_alignr_epi8(br, br, 2);
    gb = _mm256_alignr_epi8(gb, gb, 4);
#else
    const vec rg = vec_every_third_word(p), br = vec_every_third_word(p + 2);
    const vec gb = vec_every_third_word(p + 4);
#endif
    v->first[0] = vec_low_8(rg);
    v->first[1] = vec_high_8(rg);
    v->first[2] = vec_low_8(br);
    v->second[0] = vec_high_8(br);
    v->second[1] = vec_low_8(gb);
    v->second[2] = vec_high_8(gb);
}

/* RGBA: a transposition of 16-bit words. alpha: of the first and the second pixel of each pair. */
static inline void vec_load_pixels_4(struct vec_pixels *v, vec alpha[2], const uint8_t *p)
{
    const vec x0 = VEC_OP_BITS(loadu)((const vec *)(const void *)p),
              x1 = VEC_OP_BITS(loadu)((const vec *)(const void *)(p + sizeof(vec))),
              x2 = VEC_OP_BITS(loadu)((const vec *)(const void *)(p + 2 * sizeof(vec))),
              x3 = VEC_OP_BITS(loadu)((const vec *)(const void *)(p + 3 * sizeof(vec)));
    const vec a = VEC_OP(unpacklo_epi16)(x0, x1), b = VEC_OP(unpackhi_epi16)(x0, x1);
    const vec c = VEC_OP(unpacklo_epi16)(x2, x3), d = VEC_OP(unpackhi_epi16)(x2, x3);
    const vec e = VEC_OP(unpacklo_epi32)(a, b), f = VEC_OP(unpackhi_epi32)(a, b);
    const vec g = VEC_OP(unpacklo_epi32)(c, d), h = VEC_OP(unpackhi_epi32)(c, d);
    const vec rg[2] = {VEC_OP(unpacklo_epi64)(e, g), VEC_OP(unpacklo_epi64)(f, h)};
    const vec ba[2] = {VEC_OP(unpackhi_epi64)(e, g), VEC_OP(unpackhi_epi64)(f, h)};
    v->first[0] = vec_low_8(rg[0]);
    v->first[1] = vec_high_8(rg[0]);
    v->first[2] = vec_low_8(ba[0]);
    v->second[0] = vec_low_8(rg[1]);
    v->second[1] = vec_high_8(rg[1]);
    v->second[2] = vec_low_8(ba[1]);
    alpha[0] = vec_high_8(ba[0]);
    alpha[1] = vec_high_8(ba[1]);
}

static inline vec_weights vec_make_weights(int16_t of_a, int16_t of_b)
{
    return VEC_OP(set1_epi32)((int)((uint32_t)(uint16_t)of_b << 16 | (uint16_t)of_a));
}
/* v holds pairs of 16-bit values, alternating as the weights do. */
static inline vec vec_weigh_32(vec v, vec_weights w)
{
    const vec half = VEC_OP(set1_epi32)(32768);
    return VEC_OP(srai_epi32)(VEC_OP(add_epi32)(VEC_OP(madd_epi16)(v, w), half), 16);
}
/* (of_a a + of_b b + 32768) >> 16, signed; the result must fit 16 bits. */
static inline vec vec_weigh_16(vec a, vec b, vec_weights w)
{
    return VEC_OP(packs_epi32)(vec_weigh_32(VEC_OP(unpacklo_epi16)(a, b), w),
                               vec_weigh_32(VEC_OP(unpackhi_epi16)(a, b), w));
}
/* (v factor + 16384) >> 15, signed. v is at most 255, so twice v fits 16 bits. */
static inline vec vec_scale_16(vec v, int16_t factor)
{
#if defined(__AVX2__)
    return _mm256_mulhrs_epi16(v, _mm256_set1_epi16(factor));
#else
    const vec doubled = _mm_set1_epi16((short)(2 * factor));
    const vec product = _mm_mulhi_epi16(_mm_add_epi16(v, v), doubled);
    return _mm_srai_epi16(_mm_add_epi16(product, _mm_set1_epi16(1)), 1);
#endif
}
/* Clamps signed 16-bit values to 0..255. */
static inline vec vec_clamp_255(vec v)
{
    return VEC_OP(min_epi16)(VEC_OP(max_epi16)(v, vec_all(0)), vec_all_16(255));
}
/* Packs two vectors of 16-bit values, each 0 to 255, into bytes, in any order. */
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
/* counts, plus 1 in each byte where a <= b. */
static inline vec vec_count_at_most(vec counts, vec a, vec b)
{
    return VEC_OP(sub_epi8)(counts, VEC_OP(cmpeq_epi8)(VEC_OP(subs_epu8)(a, b), vec_all(0)));
}
static inline uint64_t vec_sum(vec v)
{
    uint64_t sums[sizeof(vec) / 8], n = 0;
    vec_store(sums, VEC_OP(sad_epu8)(v, vec_all(0)));
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
static inline vec vec_shift_right_16(vec v, int n)
{
    return VEC_OP(srli_epi16)(v, n);
}
/* Whether an RGB pixel of the group at p may hold two samples with (sample - first) % 256 <= reach.
 * Joins the bytes of three vectors by column, so it says yes for a few other groups. */
static inline bool vec_may_hold_two(const uint8_t *p, vec first, vec reach)
{
    const vec x = VEC_OP(sub_epi8)(vec_read(p), first);
    const vec y = VEC_OP(sub_epi8)(vec_read(p + sizeof(vec)), first);
    const vec z = VEC_OP(sub_epi8)(vec_read(p + 2 * sizeof(vec)), first);
    const vec least = VEC_OP(min_epu8)(VEC_OP(min_epu8)(x, y), z);
    const vec is_one = VEC_OP(cmpeq_epi8)(VEC_OP(min_epu8)(least, reach), least);
    uint32_t columns = (uint32_t)VEC_OP(movemask_epi8)(is_one);
    if (sizeof(vec) == 16)
        columns |= columns << 16;
    /* the last column is next to the first */
    return (columns & ((columns >> 1 | columns << 31) | (columns >> 2 | columns << 30))) != 0;
}
static inline vec vec_equal(vec a, vec b)
{
    return VEC_OP(cmpeq_epi8)(a, b);
}
/* Whether every byte of v is `byte`. */
static inline bool vec_is(vec v, uint8_t byte)
{
    const vec is_equal = VEC_OP(cmpeq_epi8)(v, vec_all(byte));
    return (uint32_t)VEC_OP(movemask_epi8)(is_equal) == UINT32_MAX >> (32 - sizeof(vec));
}

#else

/* ---- NEON ---- */

typedef struct {
    int16_t of_a, of_b;
} vec_weights;

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
static inline vec vec_read(const void *p)
{
    return vld1q_u8(p);
}
static inline vec vec_widen(const uint8_t *p)
{
    return vreinterpretq_u8_u16(vmovl_u8(vld1_u8(p)));
}
static inline vec vec_low_8(vec v)
{
    return vandq_u8(v, vec_all_16(0xff));
}
static inline vec vec_high_8(vec v)
{
    return vreinterpretq_u8_u16(vshrq_n_u16(vreinterpretq_u16_u8(v), 8));
}
static inline void vec_load_pixels(struct vec_pixels *v, const uint8_t *p)
{
    const uint8x16x3_t rgb = vld3q_u8(p);
    for (int c = 0; c < 3; c++) {
        v->first[c] = vec_low_8(rgb.val[c]);
        v->second[c] = vec_high_8(rgb.val[c]);
    }
}
static inline void vec_load_pixels_4(struct vec_pixels *v, vec alpha[2], const uint8_t *p)
{
    const uint8x16x4_t rgba = vld4q_u8(p);
    for (int c = 0; c < 3; c++) {
        v->first[c] = vec_low_8(rgba.val[c]);
        v->second[c] = vec_high_8(rgba.val[c]);
    }
    alpha[0] = vec_low_8(rgba.val[3]);
    alpha[1] = vec_high_8(rgba.val[3]);
}
static inline vec_weights vec_make_weights(int16_t of_a, int16_t of_b)
{
    return (vec_weights){of_a, of_b};
}
/* vec_weigh_16 for four SIMD lanes. */
static inline int16x4_t vec_weigh_4(int16x4_t a, int16x4_t b, vec_weights w)
{
    const int32x4_t half = vdupq_n_s32(32768);
    return vshrn_n_s32(vmlal_n_s16(vmlal_n_s16(half, a, w.of_a), b, w.of_b), 16);
}
static inline vec vec_weigh_16(vec a, vec b, vec_weights w)
{
    const int16x8_t x = vreinterpretq_s16_u8(a), y = vreinterpretq_s16_u8(b);
    return vreinterpretq_u8_s16(vcombine_s16(vec_weigh_4(vget_low_s16(x), vget_low_s16(y), w),
                                             vec_weigh_4(vget_high_s16(x), vget_high_s16(y), w)));
}
static inline vec vec_scale_16(vec v, int16_t factor)
{
    return vreinterpretq_u8_s16(vqrdmulhq_n_s16(vreinterpretq_s16_u8(v), factor));
}
static inline vec vec_clamp_255(vec v)
{
    const int16x8_t positive = vmaxq_s16(vreinterpretq_s16_u8(v), vdupq_n_s16(0));
    return vreinterpretq_u8_s16(vminq_s16(positive, vdupq_n_s16(255)));
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
static inline vec vec_shift_right_16(vec v, int n)
{
    return vreinterpretq_u8_u16(vshlq_u16(vreinterpretq_u16_u8(v), vdupq_n_s16((int16_t)-n)));
}
static inline vec vec_or(vec a, vec b)
{
    return vorrq_u8(a, b);
}
static inline bool vec_may_hold_two(const uint8_t *p, vec first, vec reach)
{
    const uint8x16x3_t rgb = vld3q_u8(p);
    uint8x16_t is_one[3];
    for (int c = 0; c < 3; c++)
        is_one[c] = vcleq_u8(vsubq_u8(rgb.val[c], first), reach);
    const uint8x16_t both = vandq_u8(is_one[0], is_one[1]), one = vorrq_u8(is_one[0], is_one[1]);
    return vmaxvq_u8(vorrq_u8(both, vandq_u8(one, is_one[2]))) != 0;
}
static inline bool vec_is(vec v, uint8_t byte)
{
    return vminvq_u8(vceqq_u8(v, vec_all(byte))) == 0xff;
}
static inline vec vec_equal(vec a, vec b)
{
    return vceqq_u8(a, b);
}
static inline vec vec_and(vec a, vec b)
{
    return vandq_u8(a, b);
}

#endif

/* Luma weights sum to 65536, so luma = g + ((red (r - g) + blue (b - g) + 32768) >> 16): two
 * products, whose factors fit 16 signed bits. */
static inline vec vec_luma(const vec v[3], vec_weights w)
{
    return vec_add_16(v[1], vec_weigh_16(vec_sub_16(v[0], v[1]), vec_sub_16(v[2], v[1]), w));
}

#endif

#endif
