/*
 * Steps 5 and 6: from differences to DC coefficients, and from coefficients to samples.
 *
 * DC is predicted from the block before it in the interval, so it is a prefix sum for each
 * component. A thread block takes an interval, a thread an MCU at a time. The sums are made in 32
 * bits: a sum that wrapped in 16 could look sound.
 *
 * The inverse DCT is libjpeg-turbo's accurate integer one, bit for bit. A warp takes four blocks
 * side by side, eight threads each: they place the block's coefficients in shared memory,
 * dequantised, by a prefix sum of the runs; then a thread transforms a column, then a row. Halves
 * of a block without coefficients are not computed, nor fours of blocks with DC alone; without that
 * it takes 1.17 times as long. Its limit is the issue of instructions.
 */
#include "parts.cuh"
#include "progressive.h"

/* ---- DC ---- */

enum { DC_THREADS = 1024, Y_BLOCKS_MAX = 4, COMPONENTS = 3 };

/* The differences of n_blocks blocks of an image become sums, shifted left by `low`; by a thread
 * block. */
static __device__ inline void sum_dc(const struct ih_jpeg_work &w, uint32_t image, int16_t *all,
                                     uint32_t n_blocks, uint32_t mcu_blocks, uint32_t low)
{
    __shared__ int32_t s_sums[COMPONENTS][DC_THREADS / 32];
    const uint32_t n_mcus = n_blocks / mcu_blocks, n_y = mcu_blocks == 1 ? 1 : mcu_blocks - 2;
    int32_t carry[COMPONENTS] = {0, 0, 0}; /* of the MCUs before */
    bool is_sound = true;
    for (uint32_t first = 0; first < n_mcus; first += DC_THREADS) {
        const uint32_t mcu = first + threadIdx.x;
        int16_t *dc = all + mcu * mcu_blocks;
        int32_t y[Y_BLOCKS_MAX], own[COMPONENTS] = {0, 0, 0}, sums[COMPONENTS];
        if (mcu < n_mcus) {
            for (uint32_t k = 0; k < Y_BLOCKS_MAX; k++)
                if (k < n_y)
                    own[0] = y[k] = own[0] + dc[k];
            for (int c = 1; c < COMPONENTS && mcu_blocks > 1; c++)
                own[c] = dc[n_y + c - 1];
        }
        for (int c = 0; c < COMPONENTS; c++) {
            int32_t total;
            sums[c] = carry[c] + own[c] + ih_jpeg_sum_before<DC_THREADS>(own[c], s_sums[c], &total);
            carry[c] += total;
        }
        if (mcu < n_mcus) {
            for (uint32_t k = 0; k < Y_BLOCKS_MAX; k++)
                if (k < n_y)
                    is_sound &= ih_jpeg_put_dc(&dc[k], sums[0] - own[0] + y[k], low);
            for (int c = 1; c < COMPONENTS && mcu_blocks > 1; c++)
                is_sound &= ih_jpeg_put_dc(&dc[n_y + c - 1], sums[c], low);
        }
        __syncthreads();
    }
    if (!is_sound)
        ih_jpeg_blame(w, image, IH_JPEG_FAULT_LARGE);
}

static __global__ void __launch_bounds__(DC_THREADS) dc_kernel(const struct ih_jpeg_work w)
{
    const struct ih_gpu_jpeg_interval &interval = w.batch.intervals[blockIdx.x];
    sum_dc(w, interval.image, w.coefficients.dc + interval.first_block, interval.n_blocks,
           w.batch.images[interval.image].mcu_blocks, 0);
}

/* The same for a first scan of DC. A refinement has as many bits as there are blocks. */
static __global__ void __launch_bounds__(DC_THREADS)
    scan_dc_kernel(const struct ih_jpeg_work w, const struct ih_gpu_jpeg_scan *scans, int16_t *dc)
{
    const struct ih_gpu_jpeg_scan &scan = scans[blockIdx.x];
    if (scan.first > 0)
        return;
    if (scan.is_plain_bits)
        ih_jpeg_blame(w, scan.image, ih_jpeg_end_faults(scan.n_blocks, w.n_bits[blockIdx.x]));
    else
        sum_dc(w, scan.image, dc + scan.first_dc, scan.n_blocks, scan.mcu_blocks, scan.low);
}

cudaError_t ih_jpeg_sum_scans(const struct ih_jpeg_work &w, const struct ih_gpu_jpeg_scans &s,
                              int16_t *dc)
{
    scan_dc_kernel<<<w.batch.n_intervals, DC_THREADS, 0, w.stream>>>(w, s.scans, dc);
    return cudaGetLastError();
}

/* ---- the inverse DCT ---- */

enum { IDCT_THREADS = 256, IDCT_WARPS = IDCT_THREADS / 32, LANES = 8, BLOCK_PITCH = 72 };

/* Zigzag order to rows of eight. */
static __constant__ const uint8_t natural_order[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* Four values, clamped to samples. */
static __device__ inline uint32_t samples(const int32_t *v)
{
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(v[3]), "r"(v[2]));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(v[1]), "r"(v[0]), "r"(high));
    return all;
}

/* A block as one of its eight threads sees it. */
struct block {
    const uint32_t *steps; /* by zigzag place: its quantizer; in the upper half its place in rows */
    int16_t *s_block;      /* zero; then its coefficients, dequantised */
    uint32_t lane, lanes;  /* 0 to 7; the mask of all eight */
    int32_t dc;            /* dequantised */
    uint32_t places;       /* of the thread's AC coefficients, as a union of their bits */
    int32_t sum;           /* of the thread's magnitudes */
};

static __device__ inline void place(struct block *b, int32_t coefficient, uint32_t step)
{
    const int32_t value = coefficient * (int32_t)(step & 0xffff);
    b->s_block[step >> 16] = (int16_t)value;
    b->sum += abs(value);
    b->places |= step >> 16;
}

/* Places the AC coefficients of a block. */
static __device__ inline void place_ac(const uint16_t *ac, uint32_t first, uint32_t end,
                                       struct block *b)
{
    uint32_t before = 0;
    for (uint32_t i = first; i < end; i += LANES) {
        const bool is_one = i + b->lane < end;
        const uint32_t coefficient = is_one ? ac[i + b->lane] : 0;
        uint32_t advance = is_one ? (coefficient >> 12) + 1 : 0;
        for (int step = 1; step < LANES; step *= 2) {
            const uint32_t other = __shfl_up_sync(b->lanes, advance, step, LANES);
            advance += b->lane >= step ? other : 0;
        }
        if (is_one)
            place(b, (int32_t)(coefficient << 20) >> 20, b->steps[(before + advance) % 64]);
        if (i + LANES < end)
            before += __shfl_sync(b->lanes, advance, LANES - 1, LANES);
    }
}

/* The same for all 64 coefficients. */
static __device__ inline void place_all(const int16_t *coefficients, struct block *b)
{
    const uint4 eight = ((const uint4 *)coefficients)[b->lane];
    const uint32_t words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        const int32_t coefficient = (int16_t)(words[i / 2] >> i % 2 * 16);
        if (coefficient != 0 && b->lane * 8 + i > 0)
            place(b, coefficient, b->steps[b->lane * 8 + i]);
    }
}

/* Transforms the columns of a block, then its rows; a thread takes one of each. places: of the four
 * blocks of the warp. */
static __device__ inline uint2 transform(int16_t *s_block, uint32_t lane, uint32_t places)
{
    int32_t v[8];
    const bool has_lower = places & 32, has_right = places & 4; /* halves */
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i] = i < 4 || has_lower ? s_block[i * 8 + lane] : 0;
    ih_jpeg_idct_8(v, IH_JPEG_COLUMNS_SHIFT);
#pragma unroll
    for (int i = 0; i < 8; i++)
        s_block[i * 8 + lane] = (int16_t)v[i];
    __syncwarp();
    const uint4 row = ((const uint4 *)s_block)[lane];
    const uint32_t words[4] = {row.x, row.y, row.z, row.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[2 * i] = i < 2 || has_right ? (int16_t)words[i] : 0;
        v[2 * i + 1] = i < 2 || has_right ? (int32_t)words[i] >> 16 : 0;
    }
    ih_jpeg_idct_8(v, IH_JPEG_ROWS_SHIFT);
    return make_uint2(samples(v), samples(v + 4));
}

static __device__ inline uint2 flat(int32_t dc)
{
    const int32_t sample = ((int32_t)((uint32_t)dc << 15) + (1 << 17) + (128 << 18)) >> 18;
    const int32_t four[4] = {sample, sample, sample, sample};
    return make_uint2(samples(four), samples(four));
}

/* Transforms the blocks of a thread block. load(component, x, y, b) places a block's AC
 * coefficients and sets its DC. */
template <class load_fn>
static __device__ inline void transform_blocks(const struct ih_jpeg_work &w, uint32_t thread_block,
                                               load_fn load)
{
    __shared__ uint32_t s_steps[64];
    __shared__ __align__(16) int16_t s_blocks[IDCT_WARPS][4][BLOCK_PITCH];
    const uint32_t warp = threadIdx.x / 32, of_four = threadIdx.x % 32 / LANES;
    const uint32_t lane = threadIdx.x % LANES, lanes = 0xffu << of_four * LANES;
    const uint32_t component =
        ih_jpeg_find(w.batch.components, w.batch.n_components,
                     &ih_gpu_jpeg_component::first_thread_block, thread_block);
    const struct ih_gpu_jpeg_component &c = w.batch.components[component];
    if (w.d_verdicts[c.image].faults & ~IH_JPEG_FAULT_LARGE) /* some blocks may not be written */
        return;
    if (threadIdx.x < 64)
        s_steps[threadIdx.x] = c.quantizers[threadIdx.x] | natural_order[threadIdx.x] << 16;
    __syncthreads();
    const uint32_t fours_across = (c.blocks_across + 3) / 4;
    const uint32_t n_fours = fours_across * c.blocks_down;
    int16_t *s_block = s_blocks[warp][of_four];
    bool is_large = false;
    for (uint32_t k = 0; k < IH_JPEG_FOURS / IDCT_WARPS; k++) {
        const uint32_t four =
            (thread_block - c.first_thread_block) * IH_JPEG_FOURS + k * IDCT_WARPS + warp;
        if (four >= n_fours)
            break;
        const uint32_t y = four / fours_across, x = four % fours_across * 4 + of_four;
        const bool is_one = x < c.blocks_across;
        struct block b = {s_steps, s_block, lane, lanes, 0, 0, 0};
        ((uint4 *)s_block)[lane] = make_uint4(0, 0, 0, 0);
        __syncwarp();
        if (is_one) {
            load(component, x, y, &b);
            if (lane == 0) {
                s_block[0] = (int16_t)b.dc;
                b.sum += abs(b.dc);
            }
        }
        if (__any_sync(~0u, b.sum > IH_JPEG_BLOCK_SUM_MAX / LANES)) {
            for (int step = 1; step < LANES; step *= 2)
                b.sum += __shfl_xor_sync(~0u, b.sum, step);
            is_large |= b.sum > IH_JPEG_BLOCK_SUM_MAX;
        }
        for (int step = 1; step < 32; step *= 2)
            b.places |= __shfl_xor_sync(~0u, b.places, step);
        __syncwarp();
        const uint2 row = b.places ? transform(s_block, lane, b.places) : flat(b.dc);
        if (is_one)
            *(uint2 *)(w.d_planes + c.plane_offset + (size_t)(y * 8 + lane) * c.pitch_bytes +
                       x * 8) = row;
        __syncwarp();
    }
    if (is_large)
        ih_jpeg_blame(w, c.image, IH_JPEG_FAULT_LARGE);
}

static __global__ void __launch_bounds__(IDCT_THREADS) idct_kernel(const struct ih_jpeg_work w)
{
    transform_blocks(
        w, blockIdx.x, [&](uint32_t component, uint32_t x, uint32_t y, struct block *b) {
            const struct ih_gpu_jpeg_component &c = w.batch.components[component];
            const uint32_t record = ih_jpeg_block_record(&w.batch.images[c.image], &c, x, y);
            const uint32_t *first = w.coefficients.first + record;
            b->dc = w.coefficients.dc[record] * (int32_t)(b->steps[0] & 0xffff);
            place_ac(w.coefficients.ac, first[0], first[1], b);
        });
}

/* The same for progressive files, whose coefficients are complete. */
static __global__ void __launch_bounds__(IDCT_THREADS)
    scans_idct_kernel(const struct ih_jpeg_work w, const struct ih_gpu_jpeg_scans s,
                      uint32_t first_thread_block, const int16_t *dc, const int16_t *coefficients)
{
    transform_blocks(w, first_thread_block + blockIdx.x,
                     [&](uint32_t component, uint32_t x, uint32_t y, struct block *b) {
                         const struct ih_gpu_jpeg_spectrum &of = s.spectra[component];
                         b->dc = ih_jpeg_dc_of(&w.batch, &of, s.scans,
                                               &w.batch.components[component], w.bits, dc, x, y) *
                                 (int32_t)(b->steps[0] & 0xffff);
                         if (x < of.blocks_across && y < of.n_blocks / of.blocks_across)
                             place_all(coefficients +
                                           (size_t)(of.first_block + y * of.blocks_across + x) * 64,
                                       b);
                     });
}

cudaError_t ih_jpeg_transform(const struct ih_jpeg_work &w)
{
    dc_kernel<<<w.batch.n_intervals, DC_THREADS, 0, w.stream>>>(w);
    idct_kernel<<<w.batch.n_transform_blocks, IDCT_THREADS, 0, w.stream>>>(w);
    return cudaGetLastError();
}

cudaError_t ih_jpeg_transform_part(const struct ih_jpeg_work &w, const struct ih_gpu_jpeg_scans &s,
                                   const struct ih_gpu_jpeg_part &part, const int16_t *dc,
                                   const int16_t *coefficients)
{
    scans_idct_kernel<<<part.n_transform_blocks, IDCT_THREADS, 0, w.stream>>>(
        w, s, part.first_transform_block, dc, coefficients);
    return cudaGetLastError();
}
