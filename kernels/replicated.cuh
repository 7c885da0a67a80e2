/*
 * Shared by the two kernels that count at the speed of memory: the table of replicated counters
 * (histogram_replicated.cu says why it looks like this), and arithmetic on four pixels at once.
 *
 * Four pixels of 3 or 4 channels are 3 or 4 words. Luma takes two dot products of a word's bytes
 * with 16-bit weights. For the joint clip counts the bytes are first sorted by channel, so that one
 * instruction compares four pixels (SIMD within a register: H. Warren, Hacker's Delight, chapter
 * 2).
 */
#ifndef IH_KERNELS_REPLICATED_CUH
#define IH_KERNELS_REPLICATED_CUH

#include "device.cuh"

/* ---- four pixels at once ---- */

/* The luma weights in pairs, for dot products with two neighbouring bytes. */
struct luma_pairs {
    uint32_t red_green, blue_none, none_red, green_blue;
};

static __host__ __device__ inline struct luma_pairs luma_pairs_make(const struct ih_gpu_measures &m)
{
    return {m.luma_red | m.luma_green << 16, m.luma_blue, m.luma_red << 16,
            m.luma_green | m.luma_blue << 16};
}

/* A threshold, prepared for count_reaching. */
struct threshold {
    uint32_t low_bits;  /* bits 0 to 6, in every byte */
    uint32_t below_128; /* all ones if bit 7 is 0, else 0 */
};

static __host__ __device__ inline struct threshold threshold_make(uint32_t least)
{
    const struct threshold made = {(least & 0x7f) * 0x01010101u, (least >> 7) - 1u};
    return made;
}

/*
 * Bit 7 of every byte tells whether that byte of w is at least the threshold; the other bits are
 * undefined. w_with_bit_7 has bit 7 of every byte set, so subtracting the low 7 bits cannot borrow
 * from the next byte. The rest is the majority of three bits, one instruction.
 */
static __device__ inline uint32_t reaches(uint32_t w, uint32_t w_with_bit_7, struct threshold t)
{
    const uint32_t low_bits_reach = w_with_bit_7 - t.low_bits;
    return (w & low_bits_reach) | (t.below_128 & (w | low_bits_reach));
}

/* How many of a thread's pixels reach a threshold with any, and with all channels; times 128. */
struct reaching {
    uint32_t any, all;
};

/* Counts four pixels; rgb[channel] holds the channel of pixel i in byte i. */
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

/* Sorts four RGB pixels by channel: rgbr gbrg brgb. */
static __device__ inline void sort_rgb(const uint32_t (&w)[3], uint32_t *r, uint32_t *g,
                                       uint32_t *b)
{
    *r = __byte_perm(__byte_perm(w[0], w[1], 0x0630), w[2], 0x5210);
    *g = __byte_perm(__byte_perm(w[0], w[1], 0x0741), w[2], 0x6210);
    *b = __byte_perm(__byte_perm(w[0], w[1], 0x0052), w[2], 0x7410);
}

/* Computes the luma of four interleaved pixels, in byte 2 of each word, and sorts their colours by
 * channel. Compilers leave luma out if the caller does not use it. */
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
        sort_rgb({w0, w1, w2}, &rgb[0], &rgb[1], &rgb[2]);
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

/* The same luma from colours that are sorted by channel. */
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

/* ---- the table ---- */

enum {
    /* One block a multiprocessor: the fewest tables to zero and merge. */
    IH_REPLICATED_THREADS = 1024,
    /* All copies of the counters of one value, for as many planes as fit. */
    IH_ROW_BYTES = 256,
    IH_ROW_COUNTERS = IH_ROW_BYTES / 4,
    IH_TABLE_BYTES = IH_GPU_BINS * IH_ROW_BYTES,
};

extern __shared__ uint4 s_tables[];

/* A table's rows hold as many planes as fit side by side; further tables hold the others. */
template <int COPIES> __device__ constexpr uint32_t plane_offset(int plane)
{
    return plane / (IH_ROW_COUNTERS / COPIES) * IH_TABLE_BYTES +
           plane % (IH_ROW_COUNTERS / COPIES) * COPIES * 4;
}

__host__ __device__ constexpr size_t tables_bytes(int planes, int copies)
{
    const int planes_a_table = IH_ROW_COUNTERS / copies;
    return (size_t)(planes + planes_a_table - 1) / planes_a_table * IH_TABLE_BYTES;
}

/* The start of the tables, as a 32-bit address in shared memory. Because of the asm the compiler
 * keeps it in a uniform register, which an atomic instruction adds for free. */
static __device__ inline uint32_t tables_address(void)
{
    uint32_t s_address;
    asm volatile("mov.u32 %0, %1;"
                 : "=r"(s_address)
                 : "r"((uint32_t)__cvta_generic_to_shared(s_tables)));
    return s_address;
}

static __device__ inline void increment(uint32_t s_counter)
{
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(s_counter) : "memory");
}

/* Counts byte `index` of word. s_column is the address of the thread's copy of the plane's counter
 * of value 0; a dot product of two bytes with 256 and 0 adds the row. */
static __device__ inline void count_byte(uint32_t s_column, uint32_t word, int index)
{
    const uint32_t weights = index % 2 == 0 ? 256u : 256u << 16;
    increment(index < 2 ? __dp2a_lo(weights, word, s_column) : __dp2a_hi(weights, word, s_column));
}

/* Counts byte 2 of word, by a byte permutation, which uses another pipe of the multiprocessor: the
 * value becomes byte 1 of the address, the column byte 0. */
static __device__ inline void count_byte_2(uint32_t s_plane, uint32_t column, uint32_t word)
{
    increment(s_plane + __byte_perm(word, column, 0x5524));
}

/* Constants of a thread. */
struct counting {
    uint32_t column; /* offset of the thread's copies in a row, in bytes */
    struct luma_pairs weights;
    struct threshold high, above_low;
};

static __host__ __device__ inline struct counting counting_make(const struct ih_job &job,
                                                                uint32_t column)
{
    const struct ih_gpu_measures &m = job.measures;
    return {
        column,
        luma_pairs_make(m),
        threshold_make(m.clip_high),
        threshold_make(m.clip_low + 1),
    };
}

/* Turns the counts of pixels that reach the thresholds into joint clip counts. */
static __device__ inline void reaching_clips(uint32_t n_pixels, const struct reaching &high,
                                             const struct reaching &above_low,
                                             uint32_t (&clip)[IH_CLIP_COUNTS])
{
    clip[0] = n_pixels - above_low.all / 128;
    clip[1] = high.any / 128;
    clip[2] = n_pixels - above_low.any / 128;
    clip[3] = high.all / 128;
}

static __device__ inline uint32_t sum_four(uint4 four)
{
    return four.x + four.y + four.z + four.w;
}

/* A block's count of one value: the sum of its copies. Each thread of a warp begins with another
 * copy, because all rows begin in the same bank. */
template <int COPIES> static __device__ inline uint32_t sum_copies(int plane, int value)
{
    const char *s_row = (const char *)s_tables + plane_offset<COPIES>(plane) + value * IH_ROW_BYTES;
    uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < COPIES / 4; i++)
        count += sum_four(*(const uint4 *)(s_row + (i + threadIdx.x) % (COPIES / 4) * 16));
    return count;
}

#endif
