/* Vectors of NEON, with the operations of count_vec_x86.h, which says more of each. Part of
 * count_vec.h. */
#ifndef IH_COUNT_COUNT_VEC_NEON_H
#define IH_COUNT_COUNT_VEC_NEON_H

typedef struct {
    int16_t of_a, of_b;
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
static inline vec vec_load_bytes(const uint8_t *p)
{
    return vld1q_u8(p);
}
static inline vec vec_load_16(const uint16_t *p)
{
    return vreinterpretq_u8_u16(vld1q_u16(p));
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
static inline vec_weights vec_make_weights(int16_t of_a, int16_t of_b)
{
    return (vec_weights){of_a, of_b};
}
/* The same, four lanes at a time. */
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
static inline bool vec_is(vec v, uint8_t byte)
{
    return vminvq_u8(vceqq_u8(v, vec_all(byte))) == 0xff;
}
static inline bool vec_shares_no_bit(vec a, vec b)
{
    return vmaxvq_u8(vandq_u8(a, b)) == 0;
}

#endif
