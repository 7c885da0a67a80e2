/* ESSAY */
#include "device.cuh"

enum {
    IH_REPLICATED_THREADS =
        1024,           /* one block a multiprocessor: the fewest tables to zero and merge */
    IH_ROW_BYTES = 256, /* the copies of one value's counters, of several planes */
    IH_ROW_COUNTERS = IH_ROW_BYTES / 4,
    IH_TABLE_BYTES = IH_GPU_BINS * IH_ROW_BYTES,
    IH_UNITS_PER_BLOCK = 8, /* a small band gets a block for so many units, not a whole grid */
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

/*
 * Adds one to the counter of byte `index` of word. The address, 256 * byte + s_column + plane,
 * takes one instruction: a dot product of two of the word's bytes with 256 and 0; the plane is part
 * of the atomic instruction. s_column is a 32-bit address in shared memory because a pointer's base
 * would be added anew each time.
 */
static __device__ inline void count_byte(uint32_t s_column, uint32_t plane, uint32_t word,
                                         int index)
{
    const uint32_t weights = index % 2 == 0 ? 256u : 256u << 16;
    const uint32_t s_counter =
        index < 2 ? __dp2a_lo(weights, word, s_column) : __dp2a_hi(weights, word, s_column);
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(s_counter + plane) : "memory");
}

/* The luma weights in pairs, for dot products with two neighbouring bytes. */
struct luma_pairs {
    uint32_t red_green, blue_none, none_red, green_blue;
};

/* A least value, as count_reaching needs it. */
struct threshold {
    uint32_t low_bits;  /* bits 0 to 6, in every byte */
    uint32_t below_128; /* all ones where bit 7 is 0, else 0 */
};

static __device__ inline struct threshold threshold_make(uint32_t least)
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

/* What stays the same for a thread from one pixel to the next. */
struct counting {
    uint32_t s_column; /* the thread's copy of the first plane's counter of 0 */
    struct luma_pairs weights;
    struct threshold high, above_low;
};

/* Counts four pixels: CHANNELS words. */
template <int CHANNELS, int COPIES>
static __device__ inline void count_quad(const struct counting &c, const uint32_t (&w)[CHANNELS],
                                         struct reaching *high, struct reaching *above_low)
{
#pragma unroll
    for (int i = 0; i < 4 * CHANNELS; i++)
        count_byte(c.s_column, plane_offset<COPIES>(i % CHANNELS), w[i / 4], i % 4);
    if (CHANNELS >= 3) {
        uint32_t luma[4], rgb[3];
        quad_colours<CHANNELS>(w, c.weights, luma, rgb);
#pragma unroll
        for (int i = 0; i < 4; i++)
            count_byte(c.s_column, plane_offset<COPIES>(CHANNELS), luma[i], 2);
        count_reaching(rgb, c.high, high);
        count_reaching(rgb, c.above_low, above_low);
    }
}

/* The edge: one pixel a thread, the plain way. */
template <int CHANNELS, int COPIES>
static __device__ inline void count_edge(const struct counting &c, const struct ih_job &job,
                                         uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const uint64_t stride = gridDim.x * IH_REPLICATED_THREADS;
    for (uint64_t i = blockIdx.x * IH_REPLICATED_THREADS + threadIdx.x; i < job.n_edge;
         i += stride) {
        const uint8_t *pixel = ih_edge_pixel<CHANNELS>(job, (uint32_t)i);
        for (int ch = 0; ch < CHANNELS; ch++)
            count_byte(c.s_column, plane_offset<COPIES>(ch), pixel[ch], 0);
        if (CHANNELS >= 3) {
            const uint32_t r = pixel[0], g = pixel[1 % CHANNELS], b = pixel[2 % CHANNELS];
            count_byte(c.s_column, plane_offset<COPIES>(CHANNELS), ih_luma(job, r, g, b), 0);
            ih_clip_pixel(job, r, g, b, clip);
        }
    }
}

/*
 * A warp's unit is 32 * LOADS 16-byte words. Where 16 bytes hold whole pixels the lanes read side
 * by side; RGB needs 48 bytes for that, so there each lane reads 48 of its own and the L1 cache
 * brings the pieces of a line together.
 */
template <int CHANNELS, int LOADS>
static __device__ inline void load_unit(const struct ih_job &job, uint32_t unit,
                                        uint4 (&load)[LOADS])
{
    static_assert(CHANNELS != 3 || LOADS % 3 == 0, "whole pixels");
    const uint4 *d_unit = job.d_groups + (size_t)unit * (IH_WARP * LOADS);
    const uint32_t lane = threadIdx.x % IH_WARP;
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        load[i] = d_unit[CHANNELS == 3 ? lane * LOADS + i : i * IH_WARP + lane];
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

template <int CHANNELS, int COPIES, int LOADS>
__global__ void __launch_bounds__(IH_REPLICATED_THREADS, 1)
    ih_histogram_replicated_kernel(const struct ih_job job)
{
    constexpr int QUADS = LOADS * 4 / CHANNELS; /* four pixels each, of a thread in a unit */
    constexpr int N_ZEROS = tables_bytes(ih_planes(CHANNELS), COPIES) / sizeof(uint4);
    union {
        uint4 load[LOADS];
        uint32_t quad[QUADS][CHANNELS];
    } now, next;

    /* Units go to the blocks in turn, so that all blocks have as many; the first one is on its way
     * while the tables are zeroed. */
    const uint32_t stride = gridDim.x * (IH_REPLICATED_THREADS / IH_WARP);
    uint32_t unit = threadIdx.x / IH_WARP * gridDim.x + blockIdx.x;
    if (unit < job.n_groups)
        load_unit<CHANNELS, LOADS>(job, unit, next.load);
    for (int i = threadIdx.x; i < N_ZEROS; i += IH_REPLICATED_THREADS)
        s_tables[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const struct counting c = {
        (uint32_t)__cvta_generic_to_shared(s_tables) + threadIdx.x % COPIES * 4,
        {job.luma_red | job.luma_green << 16, job.luma_blue, job.luma_red << 16,
         job.luma_green | job.luma_blue << 16},
        threshold_make(job.clip_high),
        threshold_make(job.clip_low + 1),
    };
    struct reaching high = {}, above_low = {};
    uint32_t n_pixels = 0;
    while (unit < job.n_groups) {
        now = next;
        unit += stride;
        if (unit < job.n_groups)
            load_unit<CHANNELS, LOADS>(job, unit, next.load);
#pragma unroll
        for (int i = 0; i < QUADS; i++)
            count_quad<CHANNELS, COPIES>(c, now.quad[i], &high, &above_low);
        n_pixels += 4 * QUADS;
    }

    uint32_t clip[IH_CLIP_COUNTS] = {n_pixels - above_low.all / 128, high.any / 128,
                                     n_pixels - above_low.any / 128, high.all / 128};
    count_edge<CHANNELS, COPIES>(c, job, clip);
    ih_block_merge<CHANNELS, IH_REPLICATED_THREADS>(
        [&](int plane, int value) { return sum_copies<COPIES>(plane, value); }, clip,
        (struct ih_partials *)s_tables, job.d_totals);
}

template <int CHANNELS, int COPIES, int LOADS>
static cudaError_t launch(const struct ih_gpu_histogram_args *args)
{
    constexpr uint32_t UNIT_PIXELS = IH_WARP * LOADS * 16 / CHANNELS;
    constexpr size_t SHARED_BYTES = tables_bytes(ih_planes(CHANNELS), COPIES);
    const auto kernel = ih_histogram_replicated_kernel<CHANNELS, COPIES, LOADS>;
    struct ih_job job;
    cudaError_t status = ih_job_make(args, UNIT_PIXELS, &job);
    if (status != cudaSuccess || args->n_pixels == 0)
        return status;

    const uint32_t n_edge_units = job.n_edge / UNIT_PIXELS + 1;
    const uint32_t n_units = job.n_groups > n_edge_units ? job.n_groups : n_edge_units;
    const uint32_t n_needed = (n_units - 1) / IH_UNITS_PER_BLOCK + 1;
    const uint32_t n_most = (uint32_t)args->gpu->n_multiprocessors;
    const uint32_t n_blocks = n_needed < n_most ? n_needed : n_most;
    status = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)SHARED_BYTES);
    if (status != cudaSuccess)
        return status;
    kernel<<<n_blocks, IH_REPLICATED_THREADS, SHARED_BYTES, args->stream>>>(job);
    return cudaGetLastError();
}

/* The most copies that fit, up to one for each lane. */
extern "C" cudaError_t ih_histogram_replicated(const struct ih_gpu_histogram_args *args)
{
    const size_t n_tables = args->gpu->shared_bytes_optin / IH_TABLE_BYTES;
    switch (args->n_channels) {
    case 1:
        return launch<1, 64, 3>(args);
    case 2:
        return launch<2, 32, 4>(args);
    case 3:
        return n_tables >= 2 ? launch<3, 32, 3>(args) : launch<3, 16, 3>(args);
    case 4:
        return n_tables >= 3   ? launch<4, 32, 4>(args)
               : n_tables == 2 ? launch<4, 16, 4>(args)
                               : launch<4, 12, 4>(args);
    default:
        return cudaErrorInvalidValue;
    }
}
