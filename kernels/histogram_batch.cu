/*
 * Histograms of a batch: many images in one launch, each with counts of its own.
 *
 * The idea. Pixels are counted as in histogram_replicated.cu: into copies of each bin in shared
 * memory, one for each thread of a warp. A block takes one image after another, or a part of a
 * large one. At the end of an image it adds up the copies and writes the counts. It counts no
 * pixels meanwhile, so other blocks should share its multiprocessor. But the more blocks there are,
 * the fewer copies fit, and threads of a warp that share a copy wait for each other.
 *
 * Three plans, by the size of the images, here for RGB: large (one block of 1024 threads, 32
 * copies), medium (two blocks of 256 threads, 32 copies of red, green and blue, 16 of luma), tiny
 * (six blocks of 128 threads, 8 copies). What shortens the end of an image:
 *
 * - Tables are not zeroed between images. A thread remembers the sums of its bins at the end of the
 *   last image: a count is how much they have grown.
 * - Sums of values and joint clip counts are added up in 32 bits: a part has less than 2^24 pixels.
 * - The next image's first pixels are loaded before the end of this one.
 * - A thread takes a unit of 16 pixels at a time. When fewer units are left than threads, they are
 *   split into quads of 4 pixels, so that more threads have work. At 224 x 224, a large block has 3
 *   full rounds of units; the 4th would occupy 2 of 32 warps.
 *
 * A planar image is read plane by plane; interleaved pixels are sorted by channel in registers.
 * Planes that are not aligned are read in words. Rows may have gaps. Images of a list are described
 * in the kernel's arguments, so nothing is copied or allocated for them. The bins of most RGB
 * images alone, without other counts, are counted by histogram_bins.cu.
 *
 * NVIDIA H200, 2026-11-22, tests/bench/gpu_batch.sh, uint8 RGB with luma, sums and joint
 * clip counts, 768 MiB, share of the rate of a kernel that only reads (4.56 TB/s):
 *
 *     side                              32     64     128    224    1024
 *     plan                              tiny   tiny   medium medium large
 *     NHWC, random                      0.14   0.30   0.47   0.59   0.81
 *     NCHW, random                      0.14   0.31   0.47   0.59   0.80
 *     NHWC, photos                      0.15   0.37   0.48   0.60   0.81
 *     million images a second (NHWC)    214    112    44     18     1.2
 *     speed-up over a loop of CUB calls 3710   916    336    141    14
 *
 * What limits it, by ncu. Large images: issue slots, as in histogram_replicated.cu; sorting by
 * channel takes 20 instructions more for each 16 pixels. Small ones: the shared-memory pipe and the
 * end of an image. Of 64 x 64 pixels, the 4 KiB of bins alone are a third of the bytes read.
 *
 * Rejected (share of read at 224 / 128, random NCHW, all in one run of an earlier version; the
 * version chosen had 0.58 / 0.45):
 *
 *     one block of 1024 threads, 32 copies                  0.52 / 0.36
 *     two of 512 threads, 32 copies of three planes         0.54 / 0.42
 *     two of 512 threads, 32 copies of two planes           0.54 / 0.43
 *     three of 256 threads, 16 copies                       0.49 / 0.44; with zeroing 0.48 / 0.41
 *     one kernel for both layouts: the compiler moves loaded pixels between registers at once, and
 *         so waits for them
 *     16-bit counters, not tried: a quarter more instructions for half the tables
 *     64-bit bins, not tried: with 64 x 64 images, writes would be two thirds of the reads
 */
#include "batch.cuh"
#include "replicated.cuh"

#include <type_traits>

enum {
    /* The fewest pixels of an image for which these plans are the fastest. */
    IH_LARGE_PIXELS = 100000,
    IH_MEDIUM_PIXELS = 10000,
    /* Most bytes that the unaligned loads of a plane read after the last pixel of a unit. */
    IH_WORD_OVERREAD = 3,
};

/* ---- plans ---- */

/* How a block works: its threads, the blocks that should share a multiprocessor, and the copies of
 * each bin, by the number of channels. Planes are the channels, then luma. */
struct plan {
    int threads, blocks[IH_GPU_CHANNELS_MAX];
    int copies[IH_GPU_CHANNELS_MAX][IH_GPU_PLANES];
};

enum { LARGE, MEDIUM, TINY };

__host__ __device__ constexpr struct plan plan_of(int i)
{
    return i == LARGE
               ? plan{1024, {1, 1, 1, 1}, {{32}, {32, 32}, {32, 32, 32, 32}, {32, 32, 32, 32, 32}}}
           : i == MEDIUM
               ? plan{256, {4, 3, 2, 2}, {{32}, {32, 32}, {32, 32, 32, 16}, {32, 32, 16, 16, 16}}}
               : plan{128, {8, 6, 6, 6}, {{16}, {16, 16}, {8, 8, 8, 8}, {8, 8, 8, 4, 4}}};
}

template <int CHANNELS, int PLAN> __host__ __device__ constexpr int copies_of(int plane)
{
    return plan_of(PLAN).copies[CHANNELS - 1][plane];
}

/* The first byte of a plane's table: 256 rows of a word for each copy. */
template <int CHANNELS, int PLAN> __host__ __device__ constexpr uint32_t table_offset(int plane)
{
    uint32_t offset = 0;
    for (int i = 0; i < plane; i++)
        offset += copies_of<CHANNELS, PLAN>(i) * 4 * IH_GPU_BINS;
    return offset;
}

/* ---- where an item's pixels are ---- */

struct item {
    const uint8_t *d_first;  /* the first row's first unit */
    uint32_t index, slot;    /* of the image; of its description in the arguments */
    uint32_t unit, unit_end; /* this thread's next unit; the end of the last full round */
    uint32_t quad_end;       /* the end of the item, in quads */
    uint32_t row_units;      /* units of a row */
};

/*
 * Units of a row. If all rows begin at 16-byte boundaries, only the pixels after the last unit are
 * in none. Otherwise 15 pixels more are in none, so that all rows have the same number of units
 * wherever they begin, and 3 more if planes are read in words.
 */
template <bool IS_PLANAR>
__device__ inline uint32_t units_of_row(const struct ih_gpu_image &image, const uint8_t *d_data)
{
    uintptr_t bits = (uintptr_t)d_data | (image.height > 1 ? (uintptr_t)image.row_stride : 0);
    if (IS_PLANAR)
        bits |= (uintptr_t)image.channel_stride;
    const uint32_t lost =
        bits % sizeof(uint4) == 0 ? 0 : IH_UNIT_PIXELS - 1 + (IS_PLANAR ? IH_WORD_OVERREAD : 0);
    return image.width < lost ? 0 : (image.width - lost) / IH_UNIT_PIXELS;
}

/* The pixels of a row before the first that begins at a 16-byte boundary; at most 15. */
template <int CHANNELS, bool IS_PLANAR> __device__ inline uint32_t head_of_row(const uint8_t *d_row)
{
    const uint32_t at = (uint32_t)(uintptr_t)d_row % sizeof(uint4);
    if (IS_PLANAR || CHANNELS == 1)
        return (0u - at) % 16;
    if (CHANNELS == 3) /* 3 * 5 = -1 modulo 16 */
        return at * 5 % 16;
    return (0u - at) % 16 / CHANNELS;
}

/* The address of the first unit of a row. */
template <int CHANNELS, bool IS_PLANAR>
__device__ inline const uint8_t *first_unit(const uint8_t *d_row)
{
    return d_row + head_of_row<CHANNELS, IS_PLANAR>(d_row) * (IS_PLANAR ? 1 : CHANNELS);
}

/* Finds item i's image and its part of the image's units. The threads take a unit each, round by
 * round. The units of the last, incomplete round are divided into quads, so that all threads share
 * them. */
template <int CHANNELS, bool IS_PLANAR, int THREADS>
__device__ inline struct item item_make(const struct batch_job &job, uint32_t i)
{
    struct item item;
    item.index = batch_image_of(job, i);
    item.slot = job.is_list ? item.index : 0;
    const struct ih_gpu_image &image = job.images[item.slot];
    const uint8_t *d_data = batch_data(job, item.index);
    item.row_units = units_of_row<IS_PLANAR>(image, d_data);
    const uint32_t n_units = item.row_units * image.height;
    item.d_first = first_unit<CHANNELS, IS_PLANAR>(d_data);
    uint32_t end;
    batch_part(job, n_units, i - item.index * job.parts, &item.unit, &end);
    item.unit_end = end - (end - item.unit) % THREADS;
    item.quad_end = end * IH_UNIT_QUADS;
    item.unit += threadIdx.x;
    return item;
}

/* ---- loads ---- */

/* Loads 16 bytes from an address that is not a multiple of 16, in words. */
__device__ inline void load_words(const uint8_t *d_bytes, uint32_t (&words)[4])
{
    const uint32_t shift = (uint32_t)(uintptr_t)d_bytes % 4;
    const uint32_t *d_words = (const uint32_t *)(d_bytes - shift);
    uint32_t word = d_words[0];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t next = i < 3 || shift > 0 ? d_words[i + 1] : 0;
        words[i] = __funnelshift_r(word, next, shift * 8);
        word = next;
    }
}

/* The first byte of a unit; of its first channel if the image is planar. */
template <int CHANNELS, bool IS_PLANAR>
__device__ inline const uint8_t *find_unit(const struct batch_job &job, const struct item &item,
                                           uint32_t unit)
{
    const struct ih_gpu_image &image = job.images[item.slot];
    const uint8_t *d_row = item.d_first;
    if (image.height > 1) {
        const uint8_t *d_data = batch_data(job, item.index);
        const uint32_t row = unit / item.row_units;
        unit -= row * item.row_units;
        d_row = first_unit<CHANNELS, IS_PLANAR>(d_data + row * image.row_stride);
    }
    return d_row + (size_t)unit * IH_UNIT_PIXELS * (IS_PLANAR ? 1 : CHANNELS);
}

template <int CHANNELS, bool IS_PLANAR>
__device__ inline void load_unit(const struct batch_job &job, const struct item &item,
                                 union unit_words<CHANNELS> *out)
{
    [[maybe_unused]] const int64_t channel_stride = job.images[item.slot].channel_stride;
    const uint8_t *d_unit = find_unit<CHANNELS, IS_PLANAR>(job, item, item.unit);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        if constexpr (!IS_PLANAR) {
            out->load[c] = ((const uint4 *)d_unit)[c];
        } else {
            if ((uintptr_t)d_unit % sizeof(uint4) == 0)
                out->load[c] = *(const uint4 *)d_unit;
            else
                load_words(d_unit, out->plane[c]);
            d_unit += channel_stride;
        }
}

/* Loads four pixels of a unit as quad 0. */
template <int CHANNELS, bool IS_PLANAR>
__device__ inline void load_quad(const struct batch_job &job, const struct item &item,
                                 uint32_t quad, union unit_words<CHANNELS> *out)
{
    [[maybe_unused]] const int64_t channel_stride = job.images[item.slot].channel_stride;
    const uint8_t *d_quad = find_unit<CHANNELS, IS_PLANAR>(job, item, quad / IH_UNIT_QUADS) +
                            quad % IH_UNIT_QUADS * 4 * (IS_PLANAR ? 1 : CHANNELS);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        if constexpr (!IS_PLANAR) {
            out->word[c] = ((const uint32_t *)d_quad)[c];
        } else {
            const uint32_t shift = (uint32_t)(uintptr_t)d_quad % 4;
            const uint32_t *d_words = (const uint32_t *)(d_quad - shift);
            out->plane[c][0] = __funnelshift_r(d_words[0], shift > 0 ? d_words[1] : 0, shift * 8);
            d_quad += channel_stride;
        }
}

/* Sorts four interleaved pixels by channel: byte i of plane[c][q] is channel c of pixel 4 q + i. */
template <int CHANNELS>
__device__ inline void sort_quad(const union unit_words<CHANNELS> &unit, int q,
                                 union unit_words<CHANNELS> *sorted)
{
    {
        const uint32_t *w = unit.word + q * CHANNELS;
        if constexpr (CHANNELS == 1) {
            sorted->plane[0][q] = w[0];
        } else if constexpr (CHANNELS == 2) {
            sorted->plane[0][q] = __byte_perm(w[0], w[1], 0x6420);
            sorted->plane[1][q] = __byte_perm(w[0], w[1], 0x7531);
        } else if constexpr (CHANNELS == 3) {
            sort_rgb({w[0], w[1], w[2]}, &sorted->plane[0][q], &sorted->plane[1][q],
                     &sorted->plane[2][q]);
        } else {
            const uint32_t rg01 = __byte_perm(w[0], w[1], 0x5140);
            const uint32_t rg23 = __byte_perm(w[2], w[3], 0x5140);
            const uint32_t ba01 = __byte_perm(w[0], w[1], 0x7362);
            const uint32_t ba23 = __byte_perm(w[2], w[3], 0x7362);
            sorted->plane[0][q] = __byte_perm(rg01, rg23, 0x5410);
            sorted->plane[1][q] = __byte_perm(rg01, rg23, 0x7632);
            sorted->plane[2][q] = __byte_perm(ba01, ba23, 0x5410);
            sorted->plane[3][q] = __byte_perm(ba01, ba23, 0x7632);
        }
    }
}

/* ---- counting ---- */

/* Calls body(plane) with plane as a constant. */
template <int N, int I = 0, typename body_fn> __device__ inline void for_planes(body_fn body)
{
    if constexpr (I < N) {
        body(std::integral_constant<int, I>());
        for_planes<N, I + 1>(body);
    }
}

/* What a thread needs to count: the addresses of its copies of the counters of value 0, and the
 * numbers of pixels that reach the clip limits. */
template <int CHANNELS> struct thread_state {
    uint32_t s_columns[ih_planes(CHANNELS)];
    struct reaching high, above_low;
};

/* Counts four pixels: quad q of a unit that is sorted by channel. */
template <int CHANNELS, int PLAN>
__device__ inline void count_quad(const struct batch_job &job,
                                  const union unit_words<CHANNELS> &unit, int q,
                                  struct thread_state<CHANNELS> *t)
{
    for_planes<CHANNELS>([&](auto p) {
        constexpr int PLANE = decltype(p)::value;
#pragma unroll
        for (int i = 0; i < 4; i++)
            count_sample<copies_of<CHANNELS, PLAN>(PLANE) * 4>(t->s_columns[PLANE],
                                                               unit.plane[PLANE][q], i);
    });
    if constexpr (CHANNELS >= 3) {
        const uint32_t rgb[3] = {unit.plane[0][q], unit.plane[1][q], unit.plane[2][q]};
        if (job.has_luma) {
            uint32_t luma[4];
            planar_luma(rgb, job.weights, luma);
#pragma unroll
            for (int i = 0; i < 4; i++)
                count_sample<copies_of<CHANNELS, PLAN>(CHANNELS) * 4>(t->s_columns[CHANNELS],
                                                                      luma[i], 2);
        }
        if (job.d_sums) {
            count_reaching(rgb, job.high, &t->high);
            count_reaching(rgb, job.above_low, &t->above_low);
        }
    }
}

/* Counts a part's share of the pixels that are in no unit. */
template <int CHANNELS, bool IS_PLANAR, int PLAN>
__device__ inline void count_edges(const struct batch_job &job, const struct item &item,
                                   uint32_t part, const struct thread_state<CHANNELS> &t,
                                   uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const struct ih_gpu_image &image = job.images[item.slot];
    const uint32_t n_in_units = item.row_units * IH_UNIT_PIXELS, n_row = image.width - n_in_units;
    if (n_row == 0)
        return;
    const uint8_t *d_data = batch_data(job, item.index);
    uint32_t edge, edge_end;
    batch_part(job, n_row * image.height, part, &edge, &edge_end);
    for (edge += threadIdx.x; edge < edge_end; edge += plan_of(PLAN).threads) {
        const uint32_t row = image.height > 1 ? edge / n_row : 0;
        const uint8_t *d_pixel = d_data + row * image.row_stride;
        uint32_t column = edge - row * n_row;
        if (column >= head_of_row<CHANNELS, IS_PLANAR>(d_pixel))
            column += n_in_units;
        d_pixel += column * job.pixel_stride;
        uint32_t sample[CHANNELS];
        for_planes<CHANNELS>([&](auto p) {
            constexpr int PLANE = decltype(p)::value;
            sample[PLANE] = d_pixel[PLANE * image.channel_stride];
            count_sample<copies_of<CHANNELS, PLAN>(PLANE) * 4>(t.s_columns[PLANE], sample[PLANE],
                                                               0);
        });
        if constexpr (CHANNELS >= 3) {
            const uint32_t r = sample[0], g = sample[1], b = sample[2];
            if (job.has_luma)
                count_sample<copies_of<CHANNELS, PLAN>(CHANNELS) * 4>(
                    t.s_columns[CHANNELS], ih_luma(job.measures, r, g, b) << 16, 2);
            ih_clip_pixel(job.measures, r, g, b, clip);
        }
    }
}

/* ---- the end of an item ---- */

/* Returns the sum of a value's copies. The threads of a warp begin with different copies: a quarter
 * of a warp then reads all banks. */
template <int COPIES> __device__ inline uint32_t sum_row(const uint4 *s_row)
{
    constexpr int LOADS = COPIES / 4, ROWS_OF_BANKS = IH_WARP / COPIES;
    uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        count += sum_four(s_row[(i + threadIdx.x / ROWS_OF_BANKS) % LOADS]);
    return count;
}

/* Adds the sum of a warp's values to a counter in shared memory. */
__device__ inline void add_warp(uint32_t *s_sum, uint32_t value)
{
    const uint32_t sum = ih_warp_sum(value);
    if (threadIdx.x % IH_WARP == 0) /* asm: atomicAdd would add up the warp's threads first */
        asm volatile(
            "red.shared.add.u32 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(s_sum)),
            "r"(sum)
            : "memory");
}

/* The bins that a thread merges, of every GROUPS-th plane, and their sums of copies at the end of
 * the last item. Tables are not zeroed: an item's count is the difference, modulo 2^32. */
template <int CHANNELS, int PLAN> struct thread_bins {
    static constexpr int THREADS = plan_of(PLAN).threads;
    static constexpr int GROUPS = THREADS > IH_GPU_BINS ? THREADS / IH_GPU_BINS : 1;
    static constexpr int STEP = THREADS < IH_GPU_BINS ? THREADS : IH_GPU_BINS;
    uint32_t so_far[(ih_planes(CHANNELS) + GROUPS - 1) / GROUPS][IH_GPU_BINS / STEP];
};

/*
 * Writes the bins of a block's tables, or adds them if the image has several parts; and adds up the
 * sums. An item has less than 2^24 pixels, so its sums fit 32 bits. For gray, the pixels with a
 * clipped value follow from the bins.
 */
template <int CHANNELS, int PLAN>
__device__ inline void merge_bins(const struct batch_job &job, uint32_t index,
                                  const uint32_t (&clip)[IH_CLIP_COUNTS], uint32_t *s_sums,
                                  struct thread_bins<CHANNELS, PLAN> *bins)
{
    constexpr int THREADS = plan_of(PLAN).threads;
    constexpr int GROUPS = thread_bins<CHANNELS, PLAN>::GROUPS;
    constexpr int STEP = thread_bins<CHANNELS, PLAN>::STEP;
    uint32_t *d_bins = job.d_bins + (size_t)index * job.n_planes * IH_GPU_BINS;
    for_planes<ih_planes(CHANNELS)>([&](auto p) {
        constexpr int PLANE = decltype(p)::value, COPIES = copies_of<CHANNELS, PLAN>(PLANE);
        if ((THREADS > IH_GPU_BINS && PLANE % GROUPS != threadIdx.x / IH_GPU_BINS) ||
            PLANE >= job.n_planes)
            return;
        const int to = batch_plane(job, PLANE);
        uint4 *s_table = s_tables + table_offset<CHANNELS, PLAN>(PLANE) / sizeof(uint4);
#pragma unroll
        for (int i = 0; i < IH_GPU_BINS / STEP; i++) {
            const uint32_t value = threadIdx.x % STEP + i * STEP;
            const uint32_t so_far = sum_row<COPIES>(s_table + value * (COPIES / 4));
            const uint32_t count = so_far - bins->so_far[PLANE / GROUPS][i];
            bins->so_far[PLANE / GROUPS][i] = so_far;
            batch_put(&d_bins[to * IH_GPU_BINS + value], count, job.parts > 1);
            add_warp(&s_sums[to], value * count);
            for (int j = 0; CHANNELS < 3 && PLANE == 0 && j < IH_CLIP_COUNTS; j++)
                add_warp(&s_sums[job.n_planes + j], (j % 2 == 0 ? value <= job.measures.clip_low
                                                                : value >= job.measures.clip_high)
                                                        ? count
                                                        : 0);
        }
    });
    for (int j = 0; CHANNELS >= 3 && j < IH_CLIP_COUNTS; j++)
        add_warp(&s_sums[job.n_planes + j], clip[j]);
}

/* ---- the kernel ---- */

template <int CHANNELS, bool IS_PLANAR, int PLAN>
__global__ void __launch_bounds__(plan_of(PLAN).threads, plan_of(PLAN).blocks[CHANNELS - 1])
    ih_histogram_batch_kernel(IH_GRID_CONSTANT const struct batch_job job)
{
    constexpr int THREADS = plan_of(PLAN).threads;
    __shared__ uint32_t s_sums[IH_GPU_PLANES + IH_CLIP_COUNTS];
    const uint32_t n_sums = job.n_planes + IH_CLIP_COUNTS;
    union unit_words<CHANNELS> now, next;

    uint32_t i = blockIdx.x;
    struct item item = item_make<CHANNELS, IS_PLANAR, THREADS>(job, i);
    if (item.unit < item.unit_end)
        load_unit<CHANNELS, IS_PLANAR>(job, item, &next);
    for (int z = threadIdx.x; z < job.table_bytes / (int)sizeof(uint4); z += THREADS)
        s_tables[z] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x < n_sums)
        s_sums[threadIdx.x] = 0;
    __syncthreads();

    struct thread_bins<CHANNELS, PLAN> bins = {
    };
    struct thread_state<CHANNELS> t;
    for_planes<ih_planes(CHANNELS)>([&](auto p) {
        constexpr int PLANE = decltype(p)::value, COPIES = copies_of<CHANNELS, PLAN>(PLANE);
        const uint32_t s_column = (uint32_t)__cvta_generic_to_shared(s_tables) +
                                  table_offset<CHANNELS, PLAN>(PLANE) + threadIdx.x % COPIES * 4;
        asm volatile("mov.u32 %0, %1;" /* or it would be computed again for each use */
                     : "=r"(t.s_columns[PLANE])
                     : "r"(s_column));
    });
    while (i < job.n_items) {
        uint32_t n_pixels = 0, clip[IH_CLIP_COUNTS];
        t.high = t.above_low = {};
        while (item.unit < item.unit_end) {
            if (IS_PLANAR)
                now = next;
            else
#pragma unroll
                for (int q = 0; q < IH_UNIT_QUADS; q++)
                    sort_quad<CHANNELS>(next, q, &now);
            item.unit += THREADS;
            if (item.unit < item.unit_end)
                load_unit<CHANNELS, IS_PLANAR>(job, item, &next);
#pragma unroll
            for (int q = 0; q < IH_UNIT_QUADS; q++)
                count_quad<CHANNELS, PLAN>(job, now, q, &t);
            n_pixels += IH_UNIT_PIXELS;
        }
#pragma unroll 1
        for (uint32_t quad = item.unit_end * IH_UNIT_QUADS + threadIdx.x; quad < item.quad_end;
             quad += THREADS) {
            union unit_words<CHANNELS> loaded;
            load_quad<CHANNELS, IS_PLANAR>(job, item, quad, &loaded);
            if (IS_PLANAR)
                now = loaded;
            else
                sort_quad<CHANNELS>(loaded, 0, &now);
            count_quad<CHANNELS, PLAN>(job, now, 0, &t);
            n_pixels += 4;
        }
        reaching_clips(n_pixels, t.high, t.above_low, clip);
        count_edges<CHANNELS, IS_PLANAR, PLAN>(job, item, i - item.index * job.parts, t, clip);

        const uint32_t index = item.index;
        i += gridDim.x;
        if (i < job.n_items) { /* the next item's first loads overlap with the end of this one */
            item = item_make<CHANNELS, IS_PLANAR, THREADS>(job, i);
            if (item.unit < item.unit_end)
                load_unit<CHANNELS, IS_PLANAR>(job, item, &next);
        }
        __syncthreads(); /* the tables are complete */
        merge_bins<CHANNELS, PLAN>(job, index, clip, s_sums, &bins);
        __syncthreads(); /* the tables have been read, the sums are complete */
        if (threadIdx.x < n_sums) {
            if (job.d_sums)
                batch_put(&job.d_sums[(size_t)index * n_sums + threadIdx.x],
                          (unsigned long long)s_sums[threadIdx.x], job.parts > 1);
            s_sums[threadIdx.x] = 0; /* the next item adds to it after a barrier */
        }
    }
}

/* ---- launching ---- */

/* Rows without gaps become one row. */
static struct ih_gpu_image normalized(struct ih_gpu_image image, int64_t pixel_stride)
{
    if (image.height > 1 && image.row_stride == (int64_t)image.width * pixel_stride) {
        image.width *= image.height;
        image.height = 1;
    }
    if (image.width == 0)
        image.height = 0;
    return image;
}

/* Whether the batch consists of rows of interleaved or planar pixels, without labels. */
static bool has_plain_rows(const struct ih_gpu_batch_args *args)
{
    const unsigned c = args->n_channels;
    if (args->n_labels > 0 || (args->pixel_stride != 1 && args->pixel_stride != (int64_t)c))
        return false;
    if (args->pixel_stride == 1)
        return true;
    for (uint32_t i = 0; i < (args->is_list ? args->n_images : 1); i++) {
        const struct ih_gpu_image *image = &args->images[i];
        const uintptr_t bits =
            (uintptr_t)image->d_data | (uintptr_t)image->row_stride | (uintptr_t)args->image_stride;
        if (image->channel_stride != 1 || (c % 2 == 0 && bits % c != 0))
            return false;
    }
    return true;
}

template <int CHANNELS, bool IS_PLANAR, int PLAN>
static cudaError_t batch_launch_plan(const struct ih_gpu_batch_args *args)
{
    constexpr struct plan p = plan_of(PLAN);
    struct batch_job job;
    batch_job_make(args, &job);
    for (uint32_t i = 0; i < (args->is_list ? args->n_images : 1); i++)
        job.images[i] = normalized(args->images[i], args->pixel_stride);
    const size_t shared_bytes = table_offset<CHANNELS, PLAN>(job.n_planes - 1) +
                                copies_of<CHANNELS, PLAN>(job.n_planes - 1) * 4 * IH_GPU_BINS;
    job.table_bytes = (int32_t)shared_bytes;
    const size_t of_block = shared_bytes + 1024 + 64; /* with what CUDA takes, and the sums */
    const size_t n_fit = (args->gpu->shared_bytes_optin + 1024) / of_block;
    const size_t n_wanted = (size_t)p.blocks[CHANNELS - 1];
    if constexpr (PLAN + 1 < IH_GPU_BATCH_PLANS) { /* too few blocks fit: the next smaller plan */
        if (2 * n_fit <= n_wanted)
            return batch_launch_plan<CHANNELS, IS_PLANAR, PLAN + 1>(args);
    }
    return batch_launch(ih_histogram_batch_kernel<CHANNELS, IS_PLANAR, PLAN>, args, &job,
                        (uint32_t)(n_fit < n_wanted ? n_fit : n_wanted), p.threads);
}

template <int CHANNELS, bool IS_PLANAR>
static cudaError_t batch_launch_any(const struct ih_gpu_batch_args *args)
{
    const decltype(&batch_launch_plan<1, false, 0>) launches[] = {
        batch_launch_plan<CHANNELS, IS_PLANAR, LARGE>,
        batch_launch_plan<CHANNELS, IS_PLANAR, MEDIUM>,
        batch_launch_plan<CHANNELS, IS_PLANAR, TINY>};
    const uint64_t n_pixels = batch_largest(args);
    const bool is_chosen = args->plan > 0 && args->plan <= IH_GPU_BATCH_PLANS;
    const unsigned plan = is_chosen                      ? args->plan - 1
                          : n_pixels >= IH_LARGE_PIXELS  ? (unsigned)LARGE
                          : n_pixels >= IH_MEDIUM_PIXELS ? (unsigned)MEDIUM
                                                         : (unsigned)TINY;
    return launches[plan](args);
}

extern "C" cudaError_t ih_histogram_batch(const struct ih_gpu_batch_args *args)
{
    if (!batch_args_valid(args))
        return cudaErrorInvalidValue;
    if (args->n_images == 0)
        return cudaSuccess;
    if (!has_plain_rows(args))
        return ih_histogram_labels(args);
    const cudaError_t status = ih_histogram_bins(args);
    if (status != cudaErrorNotSupported)
        return status;
    const bool is_planar = args->pixel_stride == 1;
    switch (args->n_channels) {
    case 1:
        return batch_launch_any<1, false>(args);
    case 2:
        return is_planar ? batch_launch_any<2, true>(args) : batch_launch_any<2, false>(args);
    case 3:
        return is_planar ? batch_launch_any<3, true>(args) : batch_launch_any<3, false>(args);
    default:
        return is_planar ? batch_launch_any<4, true>(args) : batch_launch_any<4, false>(args);
    }
}
