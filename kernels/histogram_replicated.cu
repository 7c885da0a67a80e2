/*
 * Histogram, the last rung: 32 copies of every bin in shared memory, one for each thread of a warp.
 *
 * The idea. Threads of a warp that hit different words of a bank take turns, and in a plain table
 * the data decides the bank (ladder/histogram.cu). Here the copies of a bin lie side by side, and
 * thread i of a warp adds to copy i mod 32: its bank depends on the thread, not on the data
 * (replication: J. Gomez-Luna et al., An optimized approach to histogram computation on GPU,
 * Machine Vision and Applications, 2013). A table has a row of 256 bytes for each value, with the
 * copies of two planes:
 *
 *     row v:  | plane 0, value v: thread 0, 1, ... 31 | plane 1, value v: thread 0, 1, ... 31 |
 *
 * A counter's address is 256 * value + the thread's column. One instruction makes it from the
 * loaded word: a dot product of two of its bytes with 256 and 0, or a byte permutation. The plane
 * is the constant offset of the atomic. So a sample costs two instructions, and luma two dot
 * products more.
 *
 * Joint clip counts take 33 instructions for 4 pixels and both thresholds, without branches
 * (replicated.cuh). Sums come from the finished table, so blocks should be large and few: one of
 * 1024 threads a multiprocessor. Work units go to the blocks in turn; the first is loaded while the
 * tables are zeroed (0.9 us for the 128 KiB of RGB; the end of a block takes 1.3 us).
 *
 * NVIDIA H100 80GB HBM3, 2026-11-21, tests/bench/gpu_histogram.sh, 768 MiB, and ncu. Read: 3.12
 * TB/s. Shares differ by 0.01 between H100s.
 *
 *     channels                            gray    gray+alpha   RGB     RGBA
 *     of read, any data                   0.97    0.97         0.97    0.97
 *     of read, 256 MiB                    0.98    0.98         0.95    0.95
 *     of read, H200 (4.47 TB/s)           0.98    0.98         0.85    0.92 to 0.95
 *     copies; tables                      64; 1   32; 1        32; 2   32; 3
 *     registers; shared memory (KiB)      64; 64  64; 64       64; 128 63; 192
 *     warps a multiprocessor, of 64       32      32           32      32
 *     instructions a pixel                2.4     4.7          21      24
 *     issue slots used                    0.22    0.22         0.67    0.57
 *     integer pipes used (ALU, FMA-heavy) .02 .21 .03 .21      .48 .54 .38 .46
 *     shared-memory pipe used, atomics    0.39    0.38         0.51    0.51
 *
 * What limits it. On an H100 the memory: warps wait for loads, and no other unit is saturated. The
 * last percents are outside the loop: 2.4 us to zero and merge the tables of RGB, and
 * multiprocessors that get unequal bandwidth, so the last ends 3 to 4 % after the average. On an
 * H200, RGB uses 0.83 of the issue slots. Two in five instructions are for the clip counts;
 * skipping groups without a clipped byte would help most photos and cost a fifth on noise.
 *
 * Without luma, RGB takes 17 instructions a pixel, and RGBA takes 20 and two tables. 96 MiB of them
 * take 6 and 4 % less time (H100, 2026-11-26); 768 MiB take the same time, that of reading.
 *
 * Fewer copies. A warp's atomic takes one pass of the shared-memory pipe, with 16 copies two. RGB
 * with 16 copies (for blocks of 64 to 100 KiB) fills that pipe to 0.97 and reaches 0.83 of an
 * H100's roofline; RGBA with 16 and 12 copies reaches 0.94 and 0.65. GPUs that need these have a
 * third to a half of the bandwidth for each multiprocessor; none was available to measure.
 *
 * Rejected (share of read for RGB, chosen: 0.972):
 *
 *     minimum, maximum and four compares a pixel for the clip counts        0.69
 *     last eighth of the work by a counter in global memory                 0.87, two units 0.94:
 *                                             one address takes 0.9 additions a nanosecond
 *     three blocks of 512 threads, 64 KiB: 16 copies, too few registers     0.69 to 0.76
 *     loads that bypass L1, so that lines of RGB are fetched repeatedly     0.88
 *     all addresses by permutation / by dot product: one pipe, not two      0.966 / 0.968
 *     two / four loads of a thread at a time (gray + alpha; three: 0.984)   0.979 / 0.967
 *     prefetching further ahead                                             too few registers
 */
#include "replicated.cuh"

enum {
    /* 16-byte loads of a thread at a time: 48 bytes are a whole number of pixels of 1 to 4
       channels. */
    IH_UNIT_LOADS = 3,
    IH_UNIT_WORDS = IH_UNIT_LOADS * 4,
    /* A small stripe gets one block for this many units, not a full grid. */
    IH_UNITS_PER_BLOCK = 8,
};

/* Counts four pixels: CHANNELS words. */
template <int CHANNELS, int COPIES, bool HAS_LUMA>
static __device__ inline void count_quad(const struct counting &c, const uint32_t (&w)[CHANNELS],
                                         struct reaching *high, struct reaching *above_low)
{
    const uint32_t s_tables_0 = tables_address();
#pragma unroll
    for (int i = 0; i < 4 * CHANNELS; i++)
        count_byte(s_tables_0 + c.column + plane_offset<COPIES>(i % CHANNELS), w[i / 4], i % 4);
    if (CHANNELS >= 3) {
        uint32_t luma[4], rgb[3];
        quad_colours<CHANNELS>(w, c.weights, luma, rgb);
#pragma unroll
        for (int i = 0; HAS_LUMA && i < 4; i++)
            count_byte_2(s_tables_0 + plane_offset<COPIES>(CHANNELS), c.column, luma[i]);
        count_reaching(rgb, c.high, high);
        count_reaching(rgb, c.above_low, above_low);
    }
}

/* Counts the edge, one pixel a thread. */
template <int CHANNELS, int COPIES, bool HAS_LUMA>
static __device__ inline void count_edge(const struct counting &c, const struct ih_job &job,
                                         uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const uint32_t s_column = tables_address() + c.column;
    const uint64_t stride = gridDim.x * IH_REPLICATED_THREADS;
    uint64_t i = blockIdx.x * IH_REPLICATED_THREADS + threadIdx.x;
    for (; i < job.n_edge; i += stride) {
        const uint8_t *pixel = ih_edge_pixel<CHANNELS>(job, (uint32_t)i);
        for (int plane = 0; plane < CHANNELS; plane++)
            count_byte(s_column + plane_offset<COPIES>(plane), pixel[plane], 0);
        if (CHANNELS >= 3) {
            const uint32_t r = pixel[0], g = pixel[1 % CHANNELS], b = pixel[2 % CHANNELS];
            if (HAS_LUMA)
                count_byte(s_column + plane_offset<COPIES>(CHANNELS),
                           ih_luma(job.measures, r, g, b), 0);
            ih_clip_pixel(job.measures, r, g, b, clip);
        }
    }
}

/*
 * A warp's unit is 32 * 48 bytes. Threads read neighbouring 16-byte words, except for RGB: there
 * each reads 48 bytes of its own, a whole number of pixels, and the L1 cache combines the requests.
 */
template <int CHANNELS>
static __device__ inline void load_unit(const struct ih_job &job, uint32_t unit,
                                        uint4 (&load)[IH_UNIT_LOADS])
{
    const uint4 *d_unit = job.d_groups + (size_t)unit * (IH_WARP * IH_UNIT_LOADS);
    const uint32_t thread = threadIdx.x % IH_WARP;
#pragma unroll
    for (int i = 0; i < IH_UNIT_LOADS; i++)
        load[i] = d_unit[CHANNELS == 3 ? thread * IH_UNIT_LOADS + i : i * IH_WARP + thread];
}

template <int CHANNELS, int COPIES, bool HAS_LUMA>
__global__ void __launch_bounds__(IH_REPLICATED_THREADS, 1)
    ih_histogram_replicated_kernel(const struct ih_job job)
{
    constexpr int QUADS = IH_UNIT_WORDS / CHANNELS; /* groups of four pixels, per thread and unit */
    constexpr int PLANES = ih_planes(CHANNELS, HAS_LUMA);
    constexpr int N_ZEROS = tables_bytes(PLANES, COPIES) / sizeof(uint4);
    union {
        uint4 load[IH_UNIT_LOADS];
        uint32_t quad[QUADS][CHANNELS];
    } now, next;

    /* Units go to the blocks in turn, so that all have the same number. */
    const uint32_t stride = gridDim.x * (IH_REPLICATED_THREADS / IH_WARP);
    uint32_t unit = threadIdx.x / IH_WARP * gridDim.x + blockIdx.x;
    if (unit < job.n_groups)
        load_unit<CHANNELS>(job, unit, next.load);
    for (int i = threadIdx.x; i < N_ZEROS; i += IH_REPLICATED_THREADS)
        s_tables[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const struct counting c = counting_make(job, threadIdx.x % COPIES * 4);
    struct reaching high = {}, above_low = {};
    uint32_t n_pixels = 0;
    while (unit < job.n_groups) {
        now = next;
        unit += stride;
        if (unit < job.n_groups)
            load_unit<CHANNELS>(job, unit, next.load);
#pragma unroll
        for (int i = 0; i < QUADS; i++)
            count_quad<CHANNELS, COPIES, HAS_LUMA>(c, now.quad[i], &high, &above_low);
        n_pixels += 4 * QUADS;
    }

    uint32_t clip[IH_CLIP_COUNTS];
    reaching_clips(n_pixels, high, above_low, clip);
    count_edge<CHANNELS, COPIES, HAS_LUMA>(c, job, clip);
    ih_block_merge<CHANNELS, IH_REPLICATED_THREADS, PLANES>(
        [&](int plane, int value) { return sum_copies<COPIES>(plane, value); }, clip,
        (struct ih_partials *)s_tables, job.d_totals);
}

template <int CHANNELS, int COPIES, bool HAS_LUMA = true>
static cudaError_t replicated_launch(const struct ih_gpu_histogram_args *args)
{
    constexpr uint32_t UNIT_PIXELS = IH_WARP * IH_UNIT_WORDS * 4 / CHANNELS;
    constexpr size_t SHARED_BYTES = tables_bytes(ih_planes(CHANNELS, HAS_LUMA), COPIES);
    const auto kernel = ih_histogram_replicated_kernel<CHANNELS, COPIES, HAS_LUMA>;
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

/* Uses as many copies as fit, at most one for each thread of a warp. */
extern "C" cudaError_t ih_histogram_replicated(const struct ih_gpu_histogram_args *args)
{
    const size_t n_tables = args->gpu->shared_bytes_optin / IH_TABLE_BYTES;
    if (args->without_luma && args->n_channels == 3)
        return n_tables >= 2 ? replicated_launch<3, 32, false>(args)
                             : replicated_launch<3, 16, false>(args);
    if (args->without_luma && args->n_channels == 4)
        return n_tables >= 2 ? replicated_launch<4, 32, false>(args)
                             : replicated_launch<4, 16, false>(args);
    switch (args->n_channels) {
    case 1:
        return replicated_launch<1, 64>(args);
    case 2:
        return replicated_launch<2, 32>(args);
    case 3:
        return n_tables >= 2 ? replicated_launch<3, 32>(args) : replicated_launch<3, 16>(args);
    case 4:
        return n_tables >= 3   ? replicated_launch<4, 32>(args)
               : n_tables == 2 ? replicated_launch<4, 16>(args)
                               : replicated_launch<4, 12>(args);
    default:
        return cudaErrorInvalidValue;
    }
}
