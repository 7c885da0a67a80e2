/* Vectors of AVX2 and of SSE2, of which the former are twice as wide. Part of count_vec.h. */
#ifndef IH_COUNT_COUNT_VEC_X86_H
#define IH_COUNT_COUNT_VEC_X86_H

typedef vec vec_weights; /* two of 16 bits, in turns */

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
static inline vec vec_load_bytes(const uint8_t *p)
{
    return VEC_OP_BITS(loadu)((const vec *)(const void *)p);
}
static inline vec vec_load_16(const uint16_t *p)
{
    return VEC_OP_BITS(loadu)((const vec *)(const void *)p);
}
/* Half as many bytes as a vector has, each in a 16-bit lane. */
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

static inline vec_weights vec_make_weights(int16_t of_a, int16_t of_b)
{
    return VEC_OP(set1_epi32)((int)((uint32_t)(uint16_t)of_b << 16 | (uint16_t)of_a));
}
/* v has what w weighs, in turns. */
static inline vec vec_weigh_32(vec v, vec_weights w)
{
    const vec half = VEC_OP(set1_epi32)(32768);
    return VEC_OP(srai_epi32)(VEC_OP(add_epi32)(VEC_OP(madd_epi16)(v, w), half), 16);
}
/* (of_a a + of_b b + 32768) >> 16, signed, where that fits 16 bits. */
static inline vec vec_weigh_16(vec a, vec b, vec_weights w)
{
    return VEC_OP(packs_epi32)(vec_weigh_32(VEC_OP(unpacklo_epi16)(a, b), w),
                               vec_weigh_32(VEC_OP(unpackhi_epi16)(a, b), w));
}
/* (v factor + 16384) >> 15, signed; v is at most 255, so its double is no more than 16 bits. */
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
/* 16-bit lanes, signed, to 0 to 255. */
static inline vec vec_clamp_255(vec v)
{
    return VEC_OP(min_epi16)(VEC_OP(max_epi16)(v, vec_zero()), vec_all_16(255));
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
static inline vec vec_shift_right_16(vec v, int n)
{
    return VEC_OP(srli_epi16)(v, n);
}
/* Whether all bytes are this one. */
static inline bool vec_is(vec v, uint8_t byte)
{
    const vec is_equal = VEC_OP(cmpeq_epi8)(v, vec_all(byte));
    return (uint32_t)VEC_OP(movemask_epi8)(is_equal) == UINT32_MAX >> (32 - sizeof(vec));
}
static inline bool vec_shares_no_bit(vec a, vec b)
{
    const vec is_zero = VEC_OP(cmpeq_epi8)(vec_and(a, b), vec_zero());
    return (uint32_t)VEC_OP(movemask_epi8)(is_zero) == UINT32_MAX >> (32 - sizeof(vec));
}

#endif
