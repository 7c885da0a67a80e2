/*
 * Four pixels at once: their luma, and which of their channels are clipped, without a branch.
 *
 * Four pixels of 3 or 4 channels are 3 or 4 words. Luma takes two dot products of a word's bytes
 * with the weights, 16 bits each, where a pixel lies. For the joint clip counts the bytes are first
 * sorted by channel, so that one instruction works on four pixels (SIMD within a register; H.
 * Warren, Hacker's Delight, chapter 2).
 */
#ifndef IH_KERNELS_QUAD_CUH
#define IH_KERNELS_QUAD_CUH

#include <stdint.h>

/* The luma weights in pairs, for dot products with two neighbouring bytes. */
struct luma_pairs {
    uint32_t red_green, blue_none, none_red, green_blue;
};

/* A least value, as count_reaching needs it. */
struct threshold {
    uint32_t low_bits;  /* bits 0 to 6, in every byte */
    uint32_t below_128; /* all ones where bit 7 is 0, else 0 */
};

static __host__ __device__ inline struct threshold threshold_make(uint32_t least)
{
    const struct threshold made = {(least & 0x7f) * 0x01010101u, (least >> 7) - 1u};
    return made;
}

/*
 * Bit 7 of every byte: whether that byte of w is at least the threshold. The other bits are noise.
 * With bit 7 set first, the subtraction of the low 7 bits cannot borrow from the next byte; what is
 * left is the majority of three bits, one instruction.
 */
static __device__ inline uint32_t reaches(uint32_t w, uint32_t w_with_bit_7, struct threshold t)
{
    const uint32_t low_bits_reach = w_with_bit_7 - t.low_bits;
    return (w & low_bits_reach) | (t.below_128 & (w | low_bits_reach));
}

/* The joint clip counts of a thread's pixels, each 128 times: any and all channels reach. */
struct reaching {
    uint32_t any, all;
};

/* Four pixels at once; rgb[channel] holds the channel of pixel i in byte i. */
static __device__ inline void count_reaching(const uint32_t (&rgb)[3], struct threshold t,
                                             struct reaching *count)
{
    uint32_t r[3];
#pragma unroll
    for (int c = 0; c < 3; c++)
        r[c] = reaches(rgb[c], rgb[c] | 0x80808080u, t);
    count->any = __dp4a((r[0] | r[1] | r[2]) & 0x80808080u, 0x01010101u, count->any);
    count->all = __dp4a(r[0] & r[1] & r[2] & 0x80808080u, 0x01010101u, count->all);
}

/* Luma of four pixels, in byte 2 of each word, and their colours sorted by channel. */
template <int CHANNELS>
static __device__ inline void quad_colours(const uint32_t (&w)[CHANNELS],
                                           const struct luma_pairs &weights, uint32_t (&luma)[4],
                                           uint32_t (&rgb)[3])
{
    const uint32_t w0 = w[0], w1 = w[1 % CHANNELS], w2 = w[2 % CHANNELS], w3 = w[3 % CHANNELS];
    if (CHANNELS == 3) { /* rgbr gbrg brgb */
        luma[0] = __dp2a_hi(weights.blue_none, w0, __dp2a_lo(weights.red_green, w0, 32768u));
        luma[1] = __dp2a_lo(weights.green_blue, w1, __dp2a_hi(weights.none_red, w0, 32768u));
        luma[2] = __dp2a_lo(weights.blue_none, w2, __dp2a_hi(weights.red_green, w1, 32768u));
        luma[3] = __dp2a_hi(weights.green_blue, w2, __dp2a_lo(weights.none_red, w2, 32768u));
        rgb[0] = __byte_perm(__byte_perm(w0, w1, 0x0630), w2, 0x5210);
        rgb[1] = __byte_perm(__byte_perm(w0, w1, 0x0741), w2, 0x6210);
        rgb[2] = __byte_perm(__byte_perm(w0, w1, 0x0052), w2, 0x7410);
    } else { /* rgba rgba rgba rgba */
#pragma unroll
        for (int i = 0; i < 4; i++)
            luma[i] = __dp2a_hi(weights.blue_none, w[i % CHANNELS],
                                __dp2a_lo(weights.red_green, w[i % CHANNELS], 32768u));
        const uint32_t rg01 = __byte_perm(w0, w1, 0x5140), rg23 = __byte_perm(w2, w3, 0x5140);
        rgb[0] = __byte_perm(rg01, rg23, 0x5410);
        rgb[1] = __byte_perm(rg01, rg23, 0x7632);
        rgb[2] = __byte_perm(__byte_perm(w0, w1, 0x0062), __byte_perm(w2, w3, 0x0062), 0x5410);
    }
}

/* Luma of four pixels, in byte 2 of each word; rgb[channel] holds the channel of pixel i in byte i.
 */
static __device__ inline void planar_luma(const uint32_t (&rgb)[3],
                                          const struct luma_pairs &weights, uint32_t (&luma)[4])
{
    const uint32_t r = rgb[0], b = rgb[2];
    const uint32_t rg02 = __byte_perm(r, rgb[1], 0x6240), gb13 = __byte_perm(rgb[1], b, 0x7351);
    luma[0] = __dp2a_lo(weights.red_green, rg02, __dp2a_lo(weights.blue_none, b, 32768u));
    luma[1] = __dp2a_lo(weights.green_blue, gb13, __dp2a_lo(weights.none_red, r, 32768u));
    luma[2] = __dp2a_hi(weights.red_green, rg02, __dp2a_hi(weights.blue_none, b, 32768u));
    luma[3] = __dp2a_hi(weights.green_blue, gb13, __dp2a_hi(weights.none_red, r, 32768u));
}

#endif
