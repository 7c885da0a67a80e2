/*
 * The bins of a batch of RGB images alone: no luma, sums or clip counts. histogram_batch.cu calls
 * it for images without gaps that begin at 16-byte addresses and have a multiple of 16 pixels.
 *
 * The idea. Two planes share a table of 32 KiB that has 16 copies of each. Threads 0 to 15 of a
 * warp count a sample of the first plane while threads 16 to 31 count one of the second; then they
 * swap. So no two threads need the same bank, with half the memory of 32 copies of each plane, and
 * half of the work at the end of an image. A thread has two units of 16 pixels: it counts one while
 * the other is loaded, also across the end of an image. The pixels of the last, incomplete round
 * are loaded ahead too, in quads of 4 pixels.
 *
 * Microseconds on an NVIDIA H200, 2026-11-22, random pixels, of the variant that became this
 * kernel, with the share of the rate of a kernel that only reads (4.46 TB/s). Before:
 * histogram_batch.cu.
 *
 *     side, images      64, 12000    128, 3000    224, 1000    224, 5349    1024, 256
 *     plan              small        large        large        large        large
 *     before, NCHW      88.6         61.9         53.0         251          188
 *     NCHW              66.2 (0.50)  49.7 (0.67)  45.9 (0.74)  206 (0.88)   187 (0.96)
 *     before, NHWC      89.4         61.2         52.3         245          190
 *     NHWC              71.3 (0.46)  51.8 (0.64)  46.2 (0.73)  209 (0.86)   189 (0.95)
 *
 * What limits it. Large images: memory. 1,000 images of 224 x 224: an empty kernel takes 3.4 of the
 * 46 us, and 264 blocks take 3.8 images each, so some are idle in the 4th round. The end of an
 * image, when a block counts nothing: without it a variant took 46.5 us instead of 50.6.
 *
 * Rejected (1,000 / 5,349 images of 224 x 224, NCHW; the version chosen: 45.9 / 206):
 *
 *     a table of 32 copies for each plane                        47.6 / 213
 *     four planes a table, 8 copies, four blocks of 256 threads  51.0 / 232
 *     planes counted as gray images; NCHW only                   46.4 / 212
 *     three buffers instead of two                               46.8 / 208
 *     three blocks of 256 threads                                50.1 / 216
 *     three blocks of 256 threads, three buffers                 50.6 / 217
 *     the same, three parts an image                             58.2 / 265
 *     all counts; slower for other sizes                         62.4 / 292; histogram_batch: 63.1
 */
#include "batch.cuh"

enum {
    /* The fewest pixels of an image for which these plans were measured. */
    IH_BINS_LARGE_PIXELS = 128 * 128,
    IH_BINS_SMALL_PIXELS = 64 * 64,
    IH_BINS_BUFFERS = 2,
    /* The first table: a row for each value, with 16 copies of plane 0 and 16 of plane 1. */
    IH_BINS_ROW_BYTES = 128,
    IH_BINS_TABLE_BYTES = IH_GPU_BINS * IH_BINS_ROW_BYTES,
};

/* How a block works: its threads, the blocks that share a multiprocessor, the copies of plane 2. */
struct bins_plan {
    int threads, blocks, copies;
};

enum { LARGE, SMALL };

__host__ __device__ constexpr struct bins_plan bins_plan_of(int i)
{
    return i == LARGE ? bins_plan{512, 2, 32} : bins_plan{256, 4, 16};
}

/* An image, or a part of one. In a full round, each thread takes a unit. */
struct bins_item {
    const uint8_t *d_first; /* of the image */
    uint32_t unit, n_full;  /* the first unit; full rounds */
    uint32_t quad_end;      /* the end of the item, in quads */
};

template <int PLAN>
__device__ inline struct bins_item bins_item_make(const struct batch_job &job, uint32_t i)
{
    struct bins_item item = {NULL, 0, 0, 0};
    if (i >= job.n_items)
        return item;
    uint32_t end;
    const uint32_t index = batch_image_of(job, i);
    item.d_first = batch_data(job, index);
    batch_part(job, job.images[0].width / IH_UNIT_PIXELS, i - index * job.parts, &item.unit, &end);
    item.n_full = (end - item.unit) / bins_plan_of(PLAN).threads;
    item.quad_end = end * IH_UNIT_QUADS;
    return item;
}

/* Constants of a thread. Threads 16 to 31 of a warp have planes 0 and 1 swapped. */
struct bins_thread {
    int64_t offsets[2];          /* planar: of planes 0 and 1, in bytes */
    uint32_t inner[3], outer[3]; /* interleaved: the permutations that sort four pixels */
    uint32_t s_columns[3];       /* addresses of its copies of the counters of value 0 */
};

template <int PLAN>
__device__ inline struct bins_thread bins_thread_make(const struct batch_job &job)
{
    constexpr int COPIES = bins_plan_of(PLAN).copies;
    const bool swaps = threadIdx.x % IH_WARP >= IH_WARP / 2;
    const int64_t stride = job.images[0].channel_stride;
    const uint32_t s_begin = (uint32_t)__cvta_generic_to_shared(s_tables);
    const uint32_t s_columns[3] = {s_begin + threadIdx.x % 32 * 4,
                                   s_begin + (threadIdx.x + 16) % 32 * 4,
                                   s_begin + IH_BINS_TABLE_BYTES + threadIdx.x % COPIES * 4};
    struct bins_thread t = {
        {swaps ? stride : 0, swaps ? 0 : stride},
        {swaps ? 0x0741u : 0x0630u, swaps ? 0x0630u : 0x0741u, 0x0052},
        {swaps ? 0x6210u : 0x5210u, swaps ? 0x5210u : 0x6210u, 0x7410},
        {0, 0, 0},
    };
#pragma unroll
    for (int p = 0; p < 3; p++) /* asm: or it would be computed again for each use */
        asm volatile("mov.u32 %0, %1;" : "=r"(t.s_columns[p]) : "r"(s_columns[p]));
    return t;
}

/* Where the c-th load of consecutive pixels is, if interleaved ones are loaded in n bytes. */
template <bool IS_PLANAR>
__device__ inline int64_t load_offset(const struct batch_job &job, const struct bins_thread &t,
                                      int c, int n)
{
    return !IS_PLANAR ? c * n : c == 2 ? 2 * job.images[0].channel_stride : t.offsets[c];
}

/* Loads this thread's unit of a full round. */
template <bool IS_PLANAR, int PLAN>
__device__ inline void load_round(const struct batch_job &job, const struct bins_item &item,
                                  const struct bins_thread &t, uint32_t round,
                                  union unit_words<3> *out)
{
    const uint32_t unit = item.unit + round * bins_plan_of(PLAN).threads + threadIdx.x;
    const uint8_t *d_unit = item.d_first + (size_t)unit * (IH_UNIT_PIXELS * (IS_PLANAR ? 1 : 3));
#pragma unroll
    for (int c = 0; c < 3; c++)
        out->load[c] = *(const uint4 *)(d_unit + load_offset<IS_PLANAR>(job, t, c, 16));
}

/* The first of this thread's quads of the incomplete round; the others are THREADS apart. */
template <int PLAN> __device__ inline uint32_t first_loose(const struct bins_item &item)
{
    return (item.unit + item.n_full * bins_plan_of(PLAN).threads) * IH_UNIT_QUADS + threadIdx.x;
}

template <bool IS_PLANAR, int PLAN>
__device__ inline void load_loose(const struct batch_job &job, const struct bins_item &item,
                                  const struct bins_thread &t, union unit_words<3> *out)
{
#pragma unroll
    for (int q = 0; q < IH_UNIT_QUADS; q++) {
        const uint32_t quad = first_loose<PLAN>(item) + q * bins_plan_of(PLAN).threads;
        const uint8_t *d_quad = item.d_first + (size_t)quad * (4 * (IS_PLANAR ? 1 : 3));
        if (quad < item.quad_end)
#pragma unroll
            for (int c = 0; c < 3; c++)
                out->word[IS_PLANAR ? c * IH_UNIT_QUADS + q : q * 3 + c] =
                    *(const uint32_t *)(d_quad + load_offset<IS_PLANAR>(job, t, c, 4));
    }
}

/* The first load of an item into buffer k. */
template <bool IS_PLANAR, int PLAN>
__device__ inline void load_first(const struct batch_job &job, const struct bins_item &item,
                                  const struct bins_thread &t, uint32_t k, union unit_words<3> *out)
{
    if (k < item.n_full)
        load_round<IS_PLANAR, PLAN>(job, item, t, k, out);
    else if (k == 0)
        load_loose<IS_PLANAR, PLAN>(job, item, t, out);
}

/* Counts four pixels. */
template <bool IS_PLANAR, int PLAN>
__device__ inline void count_four(const union unit_words<3> &unit, int q,
                                  const struct bins_thread &t)
{
    const uint32_t *w = unit.word + q * 3;
    uint32_t words[3];
#pragma unroll
    for (int p = 0; p < 3; p++)
        words[p] = IS_PLANAR ? unit.plane[p][q]
                             : __byte_perm(__byte_perm(w[0], w[1], t.inner[p]), w[2], t.outer[p]);
#pragma unroll
    for (int i = 0; i < 8; i++)
        count_sample<IH_BINS_ROW_BYTES>(t.s_columns[i / 4], words[i / 4], i % 4);
#pragma unroll
    for (int i = 0; i < 4; i++)
        count_sample<bins_plan_of(PLAN).copies * 4>(t.s_columns[2], words[2], i);
}

/* Adds up the copies of a bin, which is that of *value in *plane. Eight threads read 16 bytes each
 * at a time, from all banks. */
template <int PLAN>
__device__ inline uint32_t sum_bin(uint32_t bin, uint32_t *plane, uint32_t *value)
{
    constexpr int COPIES = bins_plan_of(PLAN).copies;
    const uint32_t thread = threadIdx.x % IH_WARP;
    const uint4 *s_row = s_tables + IH_BINS_TABLE_BYTES / 16;
    uint32_t count = 0;
    if (bin >= 2 * IH_GPU_BINS) {
        *plane = 2;
        *value = bin % IH_GPU_BINS;
        s_row += *value * (COPIES / 4);
#pragma unroll
        for (int i = 0; i < COPIES / 4; i++)
            count += sum_four(s_row[(i + thread / (32 / COPIES)) % (COPIES / 4)]);
        return count;
    }
    *plane = thread % 8 / 4;
    *value = bin / 32 * 16 + thread / 8 * 4 + thread % 4;
    s_row = s_tables + *value * (IH_BINS_ROW_BYTES / 16) + *plane * 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
        count += sum_four(s_row[(i + thread) % 4]);
    return count;
}

template <bool IS_PLANAR, int PLAN>
__global__ void __launch_bounds__(bins_plan_of(PLAN).threads, bins_plan_of(PLAN).blocks)
    ih_histogram_bins_kernel(IH_GRID_CONSTANT const struct batch_job job)
{
    constexpr int THREADS = bins_plan_of(PLAN).threads, BUFFERS = IH_BINS_BUFFERS;
    constexpr uint32_t BINS = 3 * IH_GPU_BINS, MERGES = (BINS + THREADS - 1) / THREADS;
    union unit_words<3> buffer[BUFFERS];
    uint32_t so_far[MERGES] = {}; /* tables are not zeroed: an item's count is the difference */
    const struct bins_thread t = bins_thread_make<PLAN>(job);

    uint32_t i = blockIdx.x;
    struct bins_item item = bins_item_make<PLAN>(job, i);
#pragma unroll
    for (int k = 0; k < BUFFERS; k++)
        load_first<IS_PLANAR, PLAN>(job, item, t, k, &buffer[k]);
    for (int z = threadIdx.x; z < job.table_bytes / (int)sizeof(uint4); z += THREADS)
        s_tables[z] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    for (; i < job.n_items; i += gridDim.x) {
        const struct bins_item next = bins_item_make<PLAN>(job, i + gridDim.x);
        /* After the last round, buffer 0 takes the loose quads, the others the next item. */
        for (uint32_t s = 0; s == 0 || s < item.n_full; s += BUFFERS)
#pragma unroll
            for (int k = 0; k < BUFFERS; k++) {
                if (s + k < item.n_full)
#pragma unroll
                    for (int q = 0; q < IH_UNIT_QUADS; q++)
                        count_four<IS_PLANAR, PLAN>(buffer[k], q, t);
                if (s + k + BUFFERS < item.n_full)
                    load_round<IS_PLANAR, PLAN>(job, item, t, s + k + BUFFERS, &buffer[k]);
                else if (k > 0 && s + BUFFERS >= item.n_full)
                    load_first<IS_PLANAR, PLAN>(job, next, t, k, &buffer[k]);
                else if (k == 0 && item.n_full > 0)
                    load_loose<IS_PLANAR, PLAN>(job, item, t, &buffer[0]);
            }
#pragma unroll
        for (int q = 0; q < IH_UNIT_QUADS; q++)
            if (first_loose<PLAN>(item) + q * THREADS < item.quad_end)
                count_four<IS_PLANAR, PLAN>(buffer[0], q, t);
        load_first<IS_PLANAR, PLAN>(job, next, t, 0, &buffer[0]);

        item = next;
        __syncthreads(); /* the tables are complete */
        uint32_t *d_bins = job.d_bins + (size_t)batch_image_of(job, i) * BINS;
#pragma unroll
        for (int m = 0; m < (int)MERGES; m++) {
            const uint32_t bin = m * THREADS + threadIdx.x;
            if (BINS % THREADS != 0 && bin >= BINS)
                break;
            uint32_t plane, value;
            const uint32_t sum = sum_bin<PLAN>(bin, &plane, &value);
            batch_put(&d_bins[batch_plane(job, plane) * IH_GPU_BINS + value], sum - so_far[m],
                      job.parts > 1);
            so_far[m] = sum;
        }
        __syncthreads(); /* the tables have been read */
    }
}

/* ---- launching ---- */

template <bool IS_PLANAR, int PLAN>
static cudaError_t bins_launch(const struct ih_gpu_batch_args *args)
{
    constexpr struct bins_plan p = bins_plan_of(PLAN);
    struct batch_job job;
    batch_job_make(args, &job);
    job.images[0].width *= job.images[0].height;
    job.images[0].height = 1;
    job.table_bytes = IH_BINS_TABLE_BYTES + p.copies * 4 * IH_GPU_BINS;
    if ((size_t)p.blocks * (job.table_bytes + 1024) > args->gpu->shared_bytes_optin + 1024)
        return cudaErrorNotSupported;
    return batch_launch(ih_histogram_bins_kernel<IS_PLANAR, PLAN>, args, &job, p.blocks, p.threads);
}

extern "C" cudaError_t ih_histogram_bins(const struct ih_gpu_batch_args *args)
{
    const struct ih_gpu_image *image = &args->images[0];
    const bool is_planar = args->pixel_stride == 1, has_rows = image->height > 1;
    const uint64_t n_pixels = (uint64_t)image->width * image->height;
    const uint64_t misaligned = (uint64_t)(uintptr_t)image->d_data | (uint64_t)args->image_stride |
                                (is_planar ? (uint64_t)image->channel_stride : 0) | n_pixels;
    if (args->n_channels != 3 || args->has_luma || args->d_sums || args->is_list ||
        misaligned % 16 != 0 ||
        (has_rows && image->row_stride != (int64_t)image->width * args->pixel_stride))
        return cudaErrorNotSupported;
    const unsigned large = IH_GPU_BATCH_PLANS + 1, small = large + 1;
    if (args->plan == large || (args->plan == 0 && n_pixels >= IH_BINS_LARGE_PIXELS))
        return is_planar ? bins_launch<true, LARGE>(args) : bins_launch<false, LARGE>(args);
    if (args->plan == small || (args->plan == 0 && n_pixels >= IH_BINS_SMALL_PIXELS))
        return is_planar ? bins_launch<true, SMALL>(args) : bins_launch<false, SMALL>(args);
    return cudaErrorNotSupported;
}
