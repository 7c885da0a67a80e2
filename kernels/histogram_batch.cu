/* ESSAY */
#include "batch.cuh"
#include "replicated.cuh"

#include <type_traits>

enum {
    /* Pixels of a thread at a time: a whole number of 16-byte loads with any number of channels. */
    IH_UNIT_PIXELS = 16,
    IH_UNIT_QUADS = IH_UNIT_PIXELS / 4,
    /* Most bytes that the unaligned loads of a plane read after the last pixel of a unit. */
    IH_WORD_OVERREAD = 3,
};

/* ---- plans ---- */

/* How a block works: its threads, the blocks that should share a multiprocessor, and the copies of
 * each bin. Planes are the channels, then luma. */
struct plan {
    int threads, blocks;
    int copies[IH_GPU_CHANNELS_MAX][IH_GPU_PLANES];
};

__host__ __device__ constexpr struct plan plan_of(int i)
{
    return i == 0   ? plan{1024, 1, {{32}, {32, 32}, {32, 32, 32, 32}, {32, 32, 32, 32, 32}}}
           : i == 1 ? plan{512, 2, {{32}, {32, 32}, {32, 32, 16, 16}, {32, 16, 16, 16, 16}}}
           : i == 2 ? plan{256, 3, {{32}, {32, 32}, {16, 16, 16, 16}, {16, 16, 16, 8, 8}}}
                    : plan{128, 6, {{16}, {16, 16}, {8, 8, 8, 8}, {8, 8, 8, 4, 4}}};
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
    struct ih_gpu_image image;
    uint32_t index;          /* of the image */
    uint32_t unit, unit_end; /* this thread's next unit, and the end of the item's */
    uint32_t edge, edge_end; /* the same for pixels in no unit */
    uint32_t row_units;      /* units of a row */
    bool is_whole, is_empty;
};

/*
 * Units of a row. If all rows begin at 16-byte boundaries, all pixels but the last of a row are in
 * units; otherwise some at each end are not: enough that a row can begin anywhere and that planes
 * can be read in words.
 */
__device__ inline uint32_t units_of_row(const struct ih_gpu_image &image, bool is_planar)
{
    uintptr_t bits = (uintptr_t)image.d_data | (image.height > 1 ? (uintptr_t)image.row_stride : 0);
    if (is_planar)
        bits |= (uintptr_t)image.channel_stride;
    const uint32_t lost =
        bits % sizeof(uint4) == 0 ? 0 : IH_UNIT_PIXELS - 1 + (is_planar ? IH_WORD_OVERREAD : 0);
    return image.width < lost ? 0 : (image.width - lost) / IH_UNIT_PIXELS;
}

/* The pixels before the first that begins at a 16-byte boundary; at most 15. */
template <int CHANNELS> __device__ inline uint32_t head_of_row(const uint8_t *d_row, bool is_planar)
{
    const uint32_t at = (uint32_t)(uintptr_t)d_row % sizeof(uint4);
    if (is_planar || CHANNELS == 1)
        return (0u - at) % 16;
    if (CHANNELS == 3) /* 3 * 5 = -1 modulo 16 */
        return at * 5 % 16;
    return (0u - at) % 16 / CHANNELS;
}

__device__ inline uint32_t part_begin(uint32_t n, uint32_t part, uint32_t parts)
{
    return (uint32_t)((uint64_t)n * part / parts);
}

template <int CHANNELS>
__device__ inline struct item item_make(const struct batch_job &job, uint32_t i, bool is_planar)
{
    struct item item;
    item.index = i / job.parts;
    item.image = batch_image(job, item.index);
    item.row_units = units_of_row(item.image, is_planar);
    const uint32_t part = i - item.index * job.parts;
    const uint32_t n_units = item.row_units * item.image.height;
    const uint32_t n_edges =
        (item.image.width - item.row_units * IH_UNIT_PIXELS) * item.image.height;
    item.unit = part_begin(n_units, part, job.parts);
    item.unit_end = part_begin(n_units, part + 1, job.parts);
    item.edge = part_begin(n_edges, part, job.parts);
    item.edge_end = part_begin(n_edges, part + 1, job.parts);
    item.is_whole = job.parts == 1;
    item.is_empty = item.unit == item.unit_end && item.edge == item.edge_end && !item.is_whole;
    item.unit += threadIdx.x;
    item.edge += threadIdx.x;
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

/* 16 pixels: CHANNELS consecutive groups of 16 bytes if they are interleaved, and one of each
 * channel if they are planar. */
template <int CHANNELS> union unit_words {
    uint4 load[CHANNELS];
    uint32_t word[CHANNELS * 4];
    uint32_t plane[CHANNELS][4];
};

template <int CHANNELS>
__device__ inline void load_unit(const struct item &item, bool is_planar,
                                 union unit_words<CHANNELS> *out)
{
    const uint8_t *d_row = item.image.d_data;
    uint32_t unit = item.unit;
    if (item.image.height > 1) {
        const uint32_t row = unit / item.row_units;
        unit -= row * item.row_units;
        d_row += row * item.image.row_stride;
    }
    const uint32_t pixel = head_of_row<CHANNELS>(d_row, is_planar) + unit * IH_UNIT_PIXELS;
    if (!is_planar || CHANNELS == 1) {
        const uint4 *d_unit = (const uint4 *)(d_row + (size_t)pixel * CHANNELS);
#pragma unroll
        for (int i = 0; i < CHANNELS; i++)
            out->load[i] = d_unit[i];
        return;
    }
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const uint8_t *d_unit = d_row + c * item.image.channel_stride + pixel;
        if ((uintptr_t)d_unit % sizeof(uint4) == 0)
            out->load[c] = *(const uint4 *)d_unit;
        else
            load_words(d_unit, out->plane[c]);
    }
}

/* Sorts interleaved pixels by channel: then byte i of plane[c][q] is channel c of pixel 4 q + i. */
template <int CHANNELS> __device__ inline void sort_unit(union unit_words<CHANNELS> *unit)
{
    union unit_words<CHANNELS> sorted;
#pragma unroll
    for (int q = 0; q < IH_UNIT_QUADS; q++) {
        const uint32_t *w = unit->word + q * CHANNELS;
        if (CHANNELS == 2) {
            sorted.plane[0][q] = __byte_perm(w[0], w[1], 0x6420);
            sorted.plane[1][q] = __byte_perm(w[0], w[1], 0x7531);
        } else if (CHANNELS == 3) { /* rgbr gbrg brgb */
            sorted.plane[0][q] = __byte_perm(__byte_perm(w[0], w[1], 0x0630), w[2], 0x5210);
            sorted.plane[1][q] = __byte_perm(__byte_perm(w[0], w[1], 0x0741), w[2], 0x6210);
            sorted.plane[2][q] = __byte_perm(__byte_perm(w[0], w[1], 0x0052), w[2], 0x7410);
        } else if (CHANNELS == 4) {
            const uint32_t rg01 = __byte_perm(w[0], w[1], 0x5140);
            const uint32_t rg23 = __byte_perm(w[2], w[3], 0x5140);
            const uint32_t ba01 = __byte_perm(w[0], w[1], 0x7362);
            const uint32_t ba23 = __byte_perm(w[2], w[3], 0x7362);
            sorted.plane[0][q] = __byte_perm(rg01, rg23, 0x5410);
            sorted.plane[1][q] = __byte_perm(rg01, rg23, 0x7632);
            sorted.plane[2][q] = __byte_perm(ba01, ba23, 0x5410);
            sorted.plane[3][q] = __byte_perm(ba01, ba23, 0x7632);
        }
    }
    if (CHANNELS > 1)
        *unit = sorted;
}

/* ---- counting ---- */

/* Counts byte `index` of a word in the table that begins at s_column, with rows of row_bytes. */
template <int ROW_BYTES>
__device__ inline void count_sample(uint32_t s_column, uint32_t word, int index)
{
    const uint32_t weights = index % 2 == 0 ? ROW_BYTES : (uint32_t)ROW_BYTES << 16;
    increment(index < 2 ? __dp2a_lo(weights, word, s_column) : __dp2a_hi(weights, word, s_column));
}

/* Calls body(plane) with plane as a constant. */
template <int N, int I = 0, typename body_fn> __device__ inline void for_planes(body_fn body)
{
    if constexpr (I < N) {
        body(std::integral_constant<int, I>());
        for_planes<N, I + 1>(body);
    }
}

/* The thread's constants. */
struct batch_counting {
    struct luma_pairs weights;
    struct threshold high, above_low;
};

/* The address of the thread's copy of a plane's counter of value 0. */
template <int CHANNELS, int PLAN, int PLANE> __device__ inline uint32_t column_of(void)
{
    constexpr int COPIES = copies_of<CHANNELS, PLAN>(PLANE);
    return tables_address() + table_offset<CHANNELS, PLAN>(PLANE) + threadIdx.x % COPIES * 4;
}

template <int CHANNELS, int PLAN>
__device__ inline void count_unit(const struct batch_counting &c,
                                  const union unit_words<CHANNELS> &unit, bool has_luma,
                                  struct reaching *high, struct reaching *above_low)
{
#pragma unroll
    for (int q = 0; q < IH_UNIT_QUADS; q++) {
        for_planes<CHANNELS>([&](auto p) {
            constexpr int PLANE = decltype(p)::value;
#pragma unroll
            for (int i = 0; i < 4; i++)
                count_sample<copies_of<CHANNELS, PLAN>(PLANE) * 4>(
                    column_of<CHANNELS, PLAN, PLANE>(), unit.plane[PLANE][q], i);
        });
        if constexpr (CHANNELS >= 3) {
            const uint32_t rgb[3] = {unit.plane[0][q], unit.plane[1][q], unit.plane[2][q]};
            if (has_luma) {
                uint32_t luma[4];
                planar_luma(rgb, c.weights, luma);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    count_sample<copies_of<CHANNELS, PLAN>(CHANNELS) * 4>(
                        column_of<CHANNELS, PLAN, CHANNELS>(), luma[i], 2);
            }
            count_reaching(rgb, c.high, high);
            count_reaching(rgb, c.above_low, above_low);
        }
    }
}

/* Counts the pixels of an item that are in no unit. */
template <int CHANNELS, int PLAN>
__device__ inline void count_edges(const struct batch_job &job, const struct item &item,
                                   bool is_planar, uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const uint32_t n_row = item.image.width - item.row_units * IH_UNIT_PIXELS;
    for (uint32_t i = item.edge; i < item.edge_end; i += plan_of(PLAN).threads) {
        const uint32_t row = item.image.height > 1 ? i / n_row : 0;
        const uint8_t *d_pixel = item.image.d_data + row * item.image.row_stride;
        uint32_t column = i - row * n_row;
        if (column >= head_of_row<CHANNELS>(d_pixel, is_planar))
            column += item.row_units * IH_UNIT_PIXELS;
        d_pixel += column * job.pixel_stride;
        uint32_t sample[CHANNELS];
        for_planes<CHANNELS>([&](auto p) {
            constexpr int PLANE = decltype(p)::value;
            sample[PLANE] = d_pixel[PLANE * item.image.channel_stride];
            count_sample<copies_of<CHANNELS, PLAN>(PLANE) * 4>(column_of<CHANNELS, PLAN, PLANE>(),
                                                               sample[PLANE], 0);
        });
        if constexpr (CHANNELS >= 3) {
            const struct ih_gpu_measures &m = job.measures;
            const uint32_t r = sample[0], g = sample[1], b = sample[2];
            if (job.has_luma)
                count_sample<copies_of<CHANNELS, PLAN>(CHANNELS) * 4>(
                    column_of<CHANNELS, PLAN, CHANNELS>(),
                    r * m.luma_red + g * m.luma_green + b * m.luma_blue + 32768, 2);
            const uint32_t least = min(r, min(g, b)), most = max(r, max(g, b));
            clip[0] += least <= m.clip_low;
            clip[1] += most >= m.clip_high;
            clip[2] += most <= m.clip_low;
            clip[3] += least >= m.clip_high;
        }
    }
}

/* ---- the end of an item ---- */

/* Partial sums of a block's warps. */
struct batch_partials {
    unsigned long long sum[IH_GPU_PLANES][IH_GPU_BINS / IH_WARP];
    uint32_t clip[IH_CLIP_COUNTS][IH_WARP];
};

/* Returns the sum of a value's copies, and zeroes them. The threads of a warp begin with different
 * copies: a quarter of a warp then reads all banks. */
template <int COPIES> __device__ inline uint32_t take_copies(uint4 *s_row)
{
    constexpr int LOADS = COPIES / 4, ROWS_OF_BANKS = IH_WARP / COPIES;
    uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        uint4 *s_four = s_row + (i + threadIdx.x / ROWS_OF_BANKS) % LOADS;
        const uint4 four = *s_four;
        *s_four = make_uint4(0, 0, 0, 0);
        count += four.x + four.y + four.z + four.w;
    }
    return count;
}

/* For gray, the pixels with a clipped value follow from the bins. Sums the counts of 32 values. */
__device__ inline void clip_bins(const struct ih_gpu_measures &m, uint32_t value, uint32_t count,
                                 uint32_t (&clip)[2])
{
    clip[0] = ih_warp_sum(value <= m.clip_low ? count : 0);
    clip[1] = ih_warp_sum(value >= m.clip_high ? count : 0);
}

/* Writes or adds the bins of a block's tables, zeroes the tables, and leaves partial sums. */
template <int CHANNELS, int PLAN>
__device__ inline void merge_bins(const struct batch_job &job, uint32_t index, bool adds,
                                  const uint32_t (&clip)[IH_CLIP_COUNTS],
                                  struct batch_partials *s_partials)
{
    constexpr int GROUPS =
        plan_of(PLAN).threads >= IH_GPU_BINS ? plan_of(PLAN).threads / IH_GPU_BINS : 1;
    constexpr int STEP = plan_of(PLAN).threads < IH_GPU_BINS ? plan_of(PLAN).threads : IH_GPU_BINS;
    const int group = threadIdx.x / IH_GPU_BINS, warp = threadIdx.x / IH_WARP;
    uint32_t *d_bins = job.d_bins + (size_t)index * job.n_planes * IH_GPU_BINS;
    for_planes<ih_planes(CHANNELS)>([&](auto p) {
        constexpr int PLANE = decltype(p)::value, COPIES = copies_of<CHANNELS, PLAN>(PLANE);
        if ((GROUPS > 1 && PLANE % GROUPS != group) || PLANE >= job.n_planes)
            return;
        uint4 *s_table = s_tables + table_offset<CHANNELS, PLAN>(PLANE) / sizeof(uint4);
        for (int value = threadIdx.x % IH_GPU_BINS; value < IH_GPU_BINS; value += STEP) {
            const uint32_t count = take_copies<COPIES>(s_table + value * (COPIES / 4));
            batch_put(&d_bins[batch_plane(job, PLANE) * IH_GPU_BINS + value], count, adds);
            const unsigned long long sum = ih_warp_weighted_sum((uint32_t)value, count);
            if (threadIdx.x % IH_WARP == 0)
                s_partials->sum[PLANE][value / IH_WARP] = sum;
            if (CHANNELS < 3 && PLANE == 0) {
                uint32_t clipped[2];
                clip_bins(job.measures, (uint32_t)value, count, clipped);
                if (threadIdx.x % IH_WARP == 0)
                    for (int i = 0; i < IH_CLIP_COUNTS; i++)
                        s_partials->clip[i][value / IH_WARP] = clipped[i % 2];
            }
        }
    });
    if (CHANNELS >= 3 && threadIdx.x % IH_WARP == 0)
        for (int i = 0; i < IH_CLIP_COUNTS; i++)
            s_partials->clip[i][warp] = clip[i];
}

/* Writes or adds the sums and clip counts of an image. */
template <int CHANNELS, int PLAN>
__device__ inline void merge_sums(const struct batch_job &job, uint32_t index, bool adds,
                                  const struct batch_partials &s_partials)
{
    constexpr int WARPS = plan_of(PLAN).threads / IH_WARP, SLOTS = IH_GPU_BINS / IH_WARP;
    const int warp = threadIdx.x / IH_WARP, thread = threadIdx.x % IH_WARP;
    const int n_sums = job.n_planes + IH_CLIP_COUNTS;
    for (int i = warp; i < n_sums; i += WARPS) {
        const int clip = i - job.n_planes;
        unsigned long long value = 0;
        if (clip < 0 && thread < SLOTS)
            value = s_partials.sum[i][thread];
        if (clip >= 0 && thread < (CHANNELS < 3 ? SLOTS : WARPS))
            value = s_partials.clip[clip][thread];
        value = ih_warp_sum(value);
        if (thread == 0)
            batch_put(&job.d_sums[(size_t)index * n_sums + (clip < 0 ? batch_plane(job, i) : i)],
                      value, adds);
    }
}

/* ---- the kernel ---- */

template <int CHANNELS, int PLAN>
__global__ void __launch_bounds__(plan_of(PLAN).threads, plan_of(PLAN).blocks)
    ih_histogram_batch_kernel(IH_GRID_CONSTANT const struct batch_job job)
{
    constexpr int THREADS = plan_of(PLAN).threads;
    __shared__ struct batch_partials s_partials;
    const bool is_planar = CHANNELS > 1 && job.pixel_stride == 1;
    union unit_words<CHANNELS> now, next;

    uint32_t i = blockIdx.x;
    struct item item = item_make<CHANNELS>(job, i, is_planar);
    if (item.unit < item.unit_end)
        load_unit<CHANNELS>(item, is_planar, &next);
    for (int z = threadIdx.x; z < job.table_bytes / (int)sizeof(uint4); z += THREADS)
        s_tables[z] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const struct ih_gpu_measures &m = job.measures;
    const struct batch_counting c = {
        {m.luma_red | m.luma_green << 16, m.luma_blue, m.luma_red << 16,
         m.luma_green | m.luma_blue << 16},
        threshold_make(m.clip_high),
        threshold_make(m.clip_low + 1),
    };
    for (;;) {
        struct reaching high = {}, above_low = {};
        uint32_t n_pixels = 0, clip[IH_CLIP_COUNTS];
        while (item.unit < item.unit_end) {
            now = next;
            item.unit += THREADS;
            if (item.unit < item.unit_end)
                load_unit<CHANNELS>(item, is_planar, &next);
            if (CHANNELS > 1 && !is_planar)
                sort_unit<CHANNELS>(&now);
            count_unit<CHANNELS, PLAN>(c, now, job.has_luma, &high, &above_low);
            n_pixels += IH_UNIT_PIXELS;
        }
        reaching_clips(n_pixels, high, above_low, clip);
        count_edges<CHANNELS, PLAN>(job, item, is_planar, clip);

        const uint32_t index = item.index;
        const bool is_empty = item.is_empty, adds = !item.is_whole;
        i += gridDim.x;
        const bool is_last = i >= job.n_items;
        if (!is_last) { /* the next item's first loads overlap with the end of this one */
            item = item_make<CHANNELS>(job, i, is_planar);
            if (item.unit < item.unit_end)
                load_unit<CHANNELS>(item, is_planar, &next);
        }
        if (!is_empty) {
            if (CHANNELS >= 3)
                for (int j = 0; j < IH_CLIP_COUNTS; j++)
                    clip[j] = ih_warp_sum(clip[j]);
            __syncthreads(); /* the tables are complete */
            merge_bins<CHANNELS, PLAN>(job, index, adds, clip, &s_partials);
            __syncthreads(); /* the tables are zero again, the partials complete */
            if (job.d_sums)
                merge_sums<CHANNELS, PLAN>(job, index, adds, s_partials);
        }
        if (is_last)
            break;
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

extern "C" int ih_histogram_batch_fits(const struct ih_gpu_batch_args *args)
{
    const unsigned c = args->n_channels;
    if (args->n_labels > 0)
        return 0;
    if (args->pixel_stride == 1)
        return 1;
    if (args->pixel_stride != (int64_t)c)
        return 0;
    for (uint32_t i = 0; i < (args->is_list ? args->n_images : 1); i++) {
        const struct ih_gpu_image *image = &args->images[i];
        const uintptr_t bits =
            (uintptr_t)image->d_data | (uintptr_t)image->row_stride | (uintptr_t)args->image_stride;
        if (image->channel_stride != 1 || (c % 2 == 0 && bits % c != 0))
            return 0;
    }
    return 1;
}

template <int CHANNELS, int PLAN> static cudaError_t launch(const struct ih_gpu_batch_args *args)
{
    constexpr struct plan p = plan_of(PLAN);
    const auto kernel = ih_histogram_batch_kernel<CHANNELS, PLAN>;
    struct batch_job job;
    batch_job_make(args, &job);
    for (uint32_t i = 0; i < (args->is_list ? args->n_images : 1); i++)
        job.images[i] = normalized(args->images[i], args->pixel_stride);
    const size_t shared_bytes = table_offset<CHANNELS, PLAN>(job.n_planes - 1) +
                                copies_of<CHANNELS, PLAN>(job.n_planes - 1) * 4 * IH_GPU_BINS;
    job.table_bytes = (int32_t)shared_bytes;
    const size_t of_block = shared_bytes + sizeof(struct batch_partials) + 1024;
    const size_t n_fit = (args->gpu->shared_bytes_optin + 1024) / of_block;
    if constexpr (PLAN + 1 < IH_GPU_BATCH_PLANS) { /* GPUs with less shared memory */
        if (n_fit == 0)
            return launch<CHANNELS, PLAN + 1>(args);
    }
    const uint32_t blocks_each = n_fit > (size_t)p.blocks ? p.blocks : (uint32_t)n_fit;
    const uint32_t n_most = blocks_each * (uint32_t)args->gpu->n_multiprocessors;
    job.parts = batch_parts(args->n_images, batch_largest(args), n_most, p.threads * 16u);
    job.n_items = args->n_images * job.parts;
    cudaError_t status = cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (status == cudaSuccess && job.parts > 1)
        status = batch_zero(args, &job);
    if (status != cudaSuccess)
        return status;
    const uint32_t n_blocks = job.n_items < n_most ? job.n_items : n_most;
    kernel<<<n_blocks, p.threads, shared_bytes, args->stream>>>(job);
    return cudaGetLastError();
}

template <int CHANNELS> static cudaError_t launch_plan(const struct ih_gpu_batch_args *args)
{
    const decltype(&launch<1, 0>) launches[] = {launch<CHANNELS, 0>, launch<CHANNELS, 1>,
                                                launch<CHANNELS, 2>, launch<CHANNELS, 3>};
    const uint64_t n_pixels = batch_largest(args);
    const unsigned plan = args->plan               ? args->plan - 1
                          : n_pixels >= 256 * 1024 ? 0
                          : n_pixels >= 128 * 128  ? 1
                                                   : 2;
    return launches[plan](args);
}

extern "C" cudaError_t ih_histogram_batch(const struct ih_gpu_batch_args *args)
{
    if (!batch_args_valid(args) || !ih_histogram_batch_fits(args))
        return cudaErrorInvalidValue;
    if (args->n_images == 0)
        return cudaSuccess;
    const decltype(&launch_plan<1>) launches[] = {launch_plan<1>, launch_plan<2>, launch_plan<3>,
                                                  launch_plan<4>};
    return launches[args->n_channels - 1](args);
}
