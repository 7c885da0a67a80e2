/*
 * The table of replicated counters in shared memory, and one sample's way into it: what the kernels
 * that count at the speed of the memory share. histogram_replicated.cu says why it is laid out so.
 */
#ifndef IH_KERNELS_REPLICATED_CUH
#define IH_KERNELS_REPLICATED_CUH

#include "device.cuh"
#include "quad.cuh"

enum {
    /* One block a multiprocessor: the fewest tables to zero and to merge. */
    IH_REPLICATED_THREADS = 1024,
    /* All copies of one value's counters, of as many planes as fit. */
    IH_ROW_BYTES = 256,
    IH_ROW_COUNTERS = IH_ROW_BYTES / 4,
    IH_TABLE_BYTES = IH_GPU_BINS * IH_ROW_BYTES,
};

extern __shared__ uint4 s_tables[];

/* Planes lie side by side in the rows of a table, as many as fit; the others in further tables. */
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

/* Where the tables begin, as a 32-bit address in shared memory. Asked for anew each time, it stays
 * in a uniform register, which an atomic instruction adds for nothing. */
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

/* Counts byte `index` of word. s_column is the thread's copy of the plane's counter of 0, and a dot
 * product of two of the bytes with 256 and 0 adds the row: one instruction a sample. */
static __device__ inline void count_byte(uint32_t s_column, uint32_t word, int index)
{
    const uint32_t weights = index % 2 == 0 ? 256u : 256u << 16;
    increment(index < 2 ? __dp2a_lo(weights, word, s_column) : __dp2a_hi(weights, word, s_column));
}

/* Counts byte 2 of word. A byte permutation does the same in another of the multiprocessor's pipes:
 * the value becomes byte 1 of the address, the column byte 0. */
static __device__ inline void count_byte_2(uint32_t s_plane, uint32_t column, uint32_t word)
{
    increment(s_plane + __byte_perm(word, column, 0x5524));
}

/* What stays the same for a thread from one pixel to the next. */
struct counting {
    uint32_t column; /* where the thread's copies are in a row, in bytes */
    struct luma_pairs weights;
    struct threshold high, above_low;
};

static __host__ __device__ inline struct counting counting_make(const struct ih_job &job,
                                                                uint32_t column)
{
    const struct ih_gpu_measures &m = job.measures;
    return {
        column,
        {m.luma_red | m.luma_green << 16, m.luma_blue, m.luma_red << 16,
         m.luma_green | m.luma_blue << 16},
        threshold_make(m.clip_high),
        threshold_make(m.clip_low + 1),
    };
}

/* The joint clip counts of a thread's n_pixels, from those that reach the thresholds. */
static __device__ inline void reaching_clips(uint32_t n_pixels, const struct reaching &high,
                                             const struct reaching &above_low,
                                             uint32_t (&clip)[IH_CLIP_COUNTS])
{
    clip[0] = n_pixels - above_low.all / 128;
    clip[1] = high.any / 128;
    clip[2] = n_pixels - above_low.any / 128;
    clip[3] = high.all / 128;
}

/* A block's count of one value: the sum of its copies, each lane of a warp beginning with another
 * one, since rows begin in the same bank. */
template <int COPIES> static __device__ inline uint32_t sum_copies(int plane, int value)
{
    const char *s_row = (const char *)s_tables + plane_offset<COPIES>(plane) + value * IH_ROW_BYTES;
    uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < COPIES / 4; i++) {
        const uint4 four = *(const uint4 *)(s_row + (i + threadIdx.x) % (COPIES / 4) * 16);
        count += four.x + four.y + four.z + four.w;
    }
    return count;
}

#endif
