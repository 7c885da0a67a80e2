/*
 * Histogram of a JPEG's planes: upsampling, conversion to RGB and counting in one pass.
 *
 * The JPEG kernels write Y, Cb and Cr with chroma at its stored size, and CPU decoders hand over
 * stripes of the same kind. An RGB image would be written and read again only to be counted, 3
 * bytes a pixel. So a thread loads plane bytes (4:2:0: 1.5 a pixel), makes 16 pixels of RGB in
 * registers as libjpeg-turbo would (ycc.h), and counts them as the RGB kernel does, in the
 * replicated counters of replicated.cuh.
 *
 * The images of a batch are counted in one launch: each block looks up its image and its part of
 * it. The blocks of an image follow from its size. Gray images count their Y as red.
 *
 * A thread's group is 16 columns of one row or, if chroma has half the height, of the two rows that
 * share their chroma rows; a warp takes 32 consecutive groups. Loads are aligned words, plus one
 * byte of chroma on each side. Nothing outside the image is read: the fewer than 16 columns after
 * the last full group are counted pixel by pixel.
 *
 * NVIDIA H100, 2026-11-21, tests/bench/gpu_ycc.sh:
 *
 *     24 megapixels of noise, 4:2:0      42 us, 580 GP/s, 0.73 of the RGB kernel's pixels
 *     256 megapixels, 4:4:4              810 GP/s, 0.80 of the RGB kernel's, 0.79 of read
 *
 *     instructions a pixel (sm_90)       33 (4:4:4), 35 (4:2:2), 40 (4:4:0, 4:2:0)
 *         8 atomics with addresses, 2.5 luma, 7 clip counts, 12 colours, up to 4.5 filter
 *
 * What limits it: issue slots, never the memory. The RGB kernel needs 21 instructions and 0.67 of
 * the slots to keep up with memory; with all slots used, this one would do 0.78 (4:2:0) to 0.95
 * (4:4:4) of its pixels. So loads are not prefetched: a group is 500 to 1,300 instructions of a
 * warp, and the other seven warps of its scheduler hide the wait.
 *
 * Rejected (instructions a pixel at 4:2:0, chosen: 40):
 *
 *     both rows of a group unrolled            40, but 20 KB of code and a spilled register
 *     groups of 8 columns                      44
 *     64-bit offsets within a plane            46
 *     a branch for each quad's row             50
 *     thresholds and weights made by each thread, not by the launcher: four spills from sm_100 on
 */
#include "replicated.cuh"
#include "ycc.h"

enum {
    /* A small image gets one block for this many pixels, not a full grid. */
    IH_YCC_BLOCK_PIXELS = 16384,
    /* The limit of JPEG; groups and lines fit 32 bits. */
    IH_YCC_SIDE_MAX = 65535,
    IH_YCC_ALIGNMENT = 16,
    /* A batch gets this many blocks for each multiprocessor, and one more for each image. */
    IH_YCC_BATCH_ROUNDS = 2,
};

/* The kernel's argument. */
struct ycc_job {
    struct ih_ycc_image image;
    struct ih_gpu_totals *d_totals;
    uint32_t n_columns;           /* of full groups; at least 1 */
    uint32_t first_line, n_lines; /* of groups; n_lines 0: there is no full group */
    uint32_t first_row;
    uint32_t columns_on, lines_on; /* the step from one group of a thread to its next */
    uint32_t first_edge;           /* the first column of pixels after the groups */
    uint32_t n_edge;               /* pixels in such columns */
    /* Of an image in a batch: its blocks of the grid, and H and V as in the templates. */
    uint32_t first_block, n_blocks;
    uint32_t h, v;
};

/* What to count, as an argument: constants take no registers. */
struct ycc_measures {
    struct ih_gpu_measures measures;
    struct counting counting; /* the kernel sets its column */
};

/* Counts four pixels; rgb[channel] holds the channel of pixel i in byte i. */
template <int COPIES>
static __device__ inline void count_quad(const struct counting &c, const uint32_t (&rgb)[3],
                                         struct reaching *high, struct reaching *above_low)
{
    const uint32_t s_tables_0 = tables_address();
    uint32_t luma[4];
#pragma unroll
    for (int i = 0; i < 12; i++)
        count_byte(s_tables_0 + c.column + plane_offset<COPIES>(i / 4), rgb[i / 4], i % 4);
    planar_luma(rgb, c.weights, luma);
#pragma unroll
    for (int i = 0; i < 4; i++)
        count_byte_2(s_tables_0 + plane_offset<COPIES>(3), c.column, luma[i]);
    count_reaching(rgb, c.high, high);
    count_reaching(rgb, c.above_low, above_low);
}

/* Counts 16 pixels of Y alone, in the table of red. */
template <int COPIES>
static __device__ inline void count_gray_group(const struct counting &c,
                                               const struct ih_ycc_image &image, uint32_t column,
                                               uint32_t y)
{
    uint32_t words[IH_YCC_ROW_QUADS];
    ih_ycc_load_row(&image, column, y, words);
#pragma unroll
    for (int i = 0; i < IH_YCC_GROUP_COLUMNS; i++)
        count_byte(tables_address() + c.column + plane_offset<COPIES>(0), words[i / 4], i % 4);
}

/* Counts a group and returns its number of pixels of colour. The loop over rows is not unrolled,
 * which halves the code. */
template <int H, int V, int COPIES>
static __device__ inline uint32_t count_group(const struct counting &c,
                                              const struct ih_ycc_image &image, uint32_t column,
                                              uint32_t line, struct reaching *high,
                                              struct reaching *above_low)
{
    struct ih_ycc_windows windows;
    uint32_t n_pixels = 0;
    if (H == 0) {
        count_gray_group<COPIES>(c, image, column, line);
        return 0;
    }
    ih_ycc_load_windows(&image, H, V, column, line, &windows);
#pragma unroll 1
    for (int row = 0; row < V; row++) {
        const uint32_t y = ih_ycc_row(V, line, row);
        if (V == 2 && y >= image.height)
            continue;
        uint32_t words[IH_YCC_ROW_QUADS];
        ih_ycc_load_row(&image, column, y, words);
#pragma unroll
        for (int place = 0; place < IH_YCC_ROW_QUADS; place++) {
            uint32_t rgb[3];
            ih_ycc_quad(&windows, words[place], H, V, row, place, rgb);
            count_quad<COPIES>(c, rgb, high, above_low);
        }
        n_pixels += IH_YCC_GROUP_COLUMNS;
    }
    return n_pixels;
}

/* Counts the columns after the groups, one pixel a thread. */
template <int H, int V, int COPIES>
static __device__ inline void count_edge(const struct counting &c, const struct ih_gpu_measures &m,
                                         const struct ycc_job &job, uint32_t block,
                                         uint32_t n_blocks, uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const uint32_t s_column = tables_address() + c.column;
    const uint32_t width = job.image.width - job.first_edge;
    uint32_t i = block * IH_REPLICATED_THREADS + threadIdx.x;
    for (; i < job.n_edge; i += n_blocks * IH_REPLICATED_THREADS) {
        const uint32_t x = job.first_edge + i % width, y = job.first_row + i / width;
        uint32_t rgb[3];
        if (H == 0) {
            count_byte(s_column, job.image.planes[0][y * job.image.pitch_bytes[0] + x], 0);
            continue;
        }
        ih_ycc_pixel(&job.image, H, V, x, y, rgb);
        for (int plane = 0; plane < 3; plane++)
            count_byte(s_column + plane_offset<COPIES>(plane), rgb[plane], 0);
        count_byte(s_column + plane_offset<COPIES>(3), ih_luma(m, rgb[0], rgb[1], rgb[2]), 0);
        ih_clip_pixel(m, rgb[0], rgb[1], rgb[2], clip);
    }
}

static __device__ inline void zero_tables(int n_bytes)
{
    for (int i = threadIdx.x; i < n_bytes / (int)sizeof(uint4); i += IH_REPLICATED_THREADS)
        s_tables[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
}

/* Counts a block's part of a job in the tables. H 0: gray, whose clip counts stay 0. */
template <int H, int V, int COPIES>
static __device__ inline void count_part(const struct ycc_measures &m, const struct ycc_job &job,
                                         uint32_t block, uint32_t n_blocks,
                                         uint32_t (&clip)[IH_CLIP_COUNTS])
{
    struct counting c = m.counting;
    c.column = threadIdx.x % COPIES * 4;
    struct reaching high = {}, above_low = {};
    uint32_t n_pixels = 0;

    /* Units of 32 groups go to the blocks in turn. */
    const uint32_t unit = threadIdx.x / IH_WARP * n_blocks + block;
    const uint32_t first = unit * IH_WARP + threadIdx.x % IH_WARP;
    uint32_t line = first / job.n_columns, column = first % job.n_columns;
    while (line < job.n_lines) {
        n_pixels += count_group<H, V, COPIES>(c, job.image, column, job.first_line + line, &high,
                                              &above_low);
        column += job.columns_on;
        line += job.lines_on;
        if (column >= job.n_columns) {
            column -= job.n_columns;
            line++;
        }
    }
    reaching_clips(n_pixels, high, above_low, clip);
    count_edge<H, V, COPIES>(c, m.measures, job, block, n_blocks, clip);
}

template <int COPIES>
static __device__ inline void merge_tables(uint32_t (&clip)[IH_CLIP_COUNTS],
                                           struct ih_gpu_totals *d_totals)
{
    ih_block_merge<3, IH_REPLICATED_THREADS>(
        [&](int plane, int value) { return sum_copies<COPIES>(plane, value); }, clip,
        (struct ih_partials *)s_tables, d_totals);
}

template <int H, int V, int COPIES>
__global__ void __launch_bounds__(IH_REPLICATED_THREADS, 1)
    ih_histogram_ycc_kernel(const struct ycc_job job, const struct ycc_measures m)
{
    uint32_t clip[IH_CLIP_COUNTS];
    zero_tables(tables_bytes(ih_planes(3), COPIES));
    count_part<H, V, COPIES>(m, job, blockIdx.x, gridDim.x, clip);
    merge_tables<COPIES>(clip, job.d_totals);
}

/* d_image_of: of each block, the index of its job. */
template <int COPIES>
__global__ void __launch_bounds__(IH_REPLICATED_THREADS, 1)
    ih_histogram_ycc_batch_kernel(const struct ycc_job *d_jobs, const uint32_t *d_image_of,
                                  const struct ycc_measures m)
{
    __shared__ struct ycc_job job;
    uint32_t clip[IH_CLIP_COUNTS];
    if (threadIdx.x == 0)
        job = d_jobs[d_image_of[blockIdx.x]];
    zero_tables(tables_bytes(ih_planes(3), COPIES));
    const uint32_t block = blockIdx.x - job.first_block;
    if (job.h == 0)
        count_part<0, 1, COPIES>(m, job, block, job.n_blocks, clip);
    else if (job.h == 1 && job.v == 1)
        count_part<1, 1, COPIES>(m, job, block, job.n_blocks, clip);
    else if (job.h == 1)
        count_part<1, 2, COPIES>(m, job, block, job.n_blocks, clip);
    else if (job.v == 1)
        count_part<2, 1, COPIES>(m, job, block, job.n_blocks, clip);
    else
        count_part<2, 2, COPIES>(m, job, block, job.n_blocks, clip);
    merge_tables<COPIES>(clip, job.d_totals);
}

/* Whether every plane and its rows are aligned, rows fit the pitch, and the size is below 4 GiB. */
static bool planes_fit(const struct ih_gpu_planes_args *args)
{
    for (int i = 0; i < 3; i++) {
        const uint32_t width = i ? (args->width - 1) / args->chroma_h + 1 : args->width;
        const uint32_t height = i ? (args->height - 1) / args->chroma_v + 1 : args->height;
        const size_t pitch = args->pitch_bytes[i];
        if ((uintptr_t)args->d_planes[i] % IH_YCC_ALIGNMENT != 0 || pitch % IH_YCC_ALIGNMENT != 0 ||
            pitch < width || pitch > UINT32_MAX / height)
            return false;
    }
    return true;
}

/* Whether first_row and n_rows are a valid stripe of the image. */
static bool rows_fit(const struct ih_gpu_planes_args *args)
{
    const uint32_t first = args->first_row, end = first + args->n_rows;
    if (args->n_rows < 1 || end < first || end > args->height)
        return false;
    return args->chroma_v == 1 ||
           ((first == 0 || first % 2 == 1) && (end == args->height || end % 2 == 1));
}

/* The first line of groups that begins at this row or after it. */
static uint32_t line_from(uint32_t row, unsigned v)
{
    return v == 1 ? row : (row + 1) / 2;
}

/* Fills in *job. Returns cudaErrorInvalidValue for arguments outside what kernels.h allows. */
static cudaError_t job_make(const struct ih_gpu_planes_args *args, struct ycc_job *job)
{
    const unsigned h = args->chroma_h, v = args->chroma_v;
    const uint32_t width = args->width, height = args->height;
    if (h < 1 || h > 2 || v < 1 || v > 2 || width < 1 || width > IH_YCC_SIDE_MAX || height < 1 ||
        height > IH_YCC_SIDE_MAX || !planes_fit(args) || !rows_fit(args))
        return cudaErrorInvalidValue;

    for (int i = 0; i < 3; i++) { /* points to where row 0 would be */
        const uint32_t row = i ? args->first_row / v : args->first_row;
        job->image.planes[i] = args->d_planes[i] - row * args->pitch_bytes[i];
        job->image.pitch_bytes[i] = (uint32_t)args->pitch_bytes[i];
    }
    job->image.width = width;
    job->image.height = height;
    job->image.chroma_width = (width - 1) / h + 1;
    job->image.chroma_height = (height - 1) / v + 1;

    const uint32_t n_columns = width / IH_YCC_GROUP_COLUMNS, end = args->first_row + args->n_rows;
    const uint32_t end_line = end == height ? ih_ycc_lines(height, (int)v) : line_from(end, v);
    job->first_row = args->first_row;
    job->first_line = line_from(args->first_row, v);
    job->n_lines = n_columns > 0 ? end_line - job->first_line : 0;
    job->n_columns = n_columns > 0 ? n_columns : 1;
    job->first_edge = n_columns * IH_YCC_GROUP_COLUMNS;
    job->n_edge = (width - job->first_edge) * args->n_rows;

    job->d_totals = args->d_totals;
    return cudaSuccess;
}

/* Fills in *m, and checks them as the launchers of the other kernels do. */
static cudaError_t measures_make(const struct ih_gpu_measures *measures, struct ycc_measures *m)
{
    struct ih_gpu_histogram_args counts = {};
    struct ih_job job;
    counts.n_channels = 3;
    counts.measures = *measures;
    const cudaError_t status = ih_job_make(&counts, IH_LOAD_PIXELS, &job);
    if (status != cudaSuccess)
        return status;
    m->measures = *measures;
    m->counting = counting_make(job, 0);
    return cudaSuccess;
}

/* Divides a job among blocks. */
static void job_divide(struct ycc_job *job, uint32_t n_blocks)
{
    job->n_blocks = n_blocks;
    job->columns_on = n_blocks * IH_REPLICATED_THREADS % job->n_columns;
    job->lines_on = n_blocks * IH_REPLICATED_THREADS / job->n_columns;
}

/* Lets a kernel use shared memory for its tables. */
template <int COPIES, typename kernel_fn> static cudaError_t allow_tables(kernel_fn kernel)
{
    return cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)tables_bytes(ih_planes(3), COPIES));
}

static bool has_room_for_32_copies(const struct ih_gpu_properties *gpu)
{
    return gpu->shared_bytes_optin >= tables_bytes(ih_planes(3), 32);
}

template <int H, int V, int COPIES>
static cudaError_t ycc_launch(const struct ih_gpu_planes_args *args)
{
    constexpr size_t SHARED_BYTES = tables_bytes(ih_planes(3), COPIES);
    const auto kernel = ih_histogram_ycc_kernel<H, V, COPIES>;
    struct ycc_job job;
    struct ycc_measures m;
    cudaError_t status = job_make(args, &job);
    if (status == cudaSuccess)
        status = measures_make(&args->measures, &m);
    if (status != cudaSuccess)
        return status;
    const uint32_t n_needed = (args->width * args->n_rows - 1) / IH_YCC_BLOCK_PIXELS + 1;
    const uint32_t n_most = (uint32_t)args->gpu->n_multiprocessors;
    const uint32_t n_blocks = n_needed < n_most ? n_needed : n_most;
    job_divide(&job, n_blocks);
    status = allow_tables<COPIES>(kernel);
    if (status != cudaSuccess)
        return status;
    kernel<<<n_blocks, IH_REPLICATED_THREADS, SHARED_BYTES, args->stream>>>(job, m);
    return cudaGetLastError();
}

/* Uses 32 copies of each counter if they fit, otherwise 16. */
template <int H, int V> static cudaError_t launch_fitting(const struct ih_gpu_planes_args *args)
{
    return has_room_for_32_copies(args->gpu) ? ycc_launch<H, V, 32>(args)
                                             : ycc_launch<H, V, 16>(args);
}

extern "C" cudaError_t ih_histogram_ycc(const struct ih_gpu_planes_args *args)
{
    if (args->chroma_h == 1)
        return args->chroma_v == 1 ? launch_fitting<1, 1>(args) : launch_fitting<1, 2>(args);
    return args->chroma_v == 1 ? launch_fitting<2, 1>(args) : launch_fitting<2, 2>(args);
}

/* ---- batches ---- */

/* The pixels of a block: all blocks together are a few rounds of the multiprocessors, and one for
 * each image. */
static uint32_t block_pixels(const struct ih_gpu_planes_batch_args *args)
{
    const uint64_t n_blocks = IH_YCC_BATCH_ROUNDS * (uint64_t)args->gpu->n_multiprocessors;
    uint64_t n_pixels = 0;
    for (uint32_t i = 0; i < args->n_images; i++)
        n_pixels += (uint64_t)args->images[i].width * args->images[i].height;
    n_pixels = (n_pixels + n_blocks - 1) / n_blocks;
    return n_pixels < IH_YCC_BLOCK_PIXELS ? (uint32_t)IH_YCC_BLOCK_PIXELS : (uint32_t)n_pixels;
}

/* Fills in a job for all rows of an image, gray or in colour. */
static cudaError_t image_job_make(const struct ih_gpu_planes_args *image, struct ycc_job *job)
{
    struct ih_gpu_planes_args args = *image;
    args.first_row = 0;
    args.n_rows = args.height;
    if (image->chroma_h == 0) { /* the job's chroma is not used, but checked */
        args.chroma_h = args.chroma_v = 1;
        args.d_planes[1] = args.d_planes[2] = args.d_planes[0];
        args.pitch_bytes[1] = args.pitch_bytes[2] = args.pitch_bytes[0];
    }
    job->h = image->chroma_h;
    job->v = args.chroma_v;
    return job_make(&args, job);
}

template <int COPIES>
static cudaError_t launch_batch(const struct ih_gpu_planes_batch_args *args, uint32_t n_blocks)
{
    const auto kernel = ih_histogram_ycc_batch_kernel<COPIES>;
    const auto *d_jobs = (const struct ycc_job *)args->d_plan;
    struct ycc_measures m;
    cudaError_t status = measures_make(&args->measures, &m);
    if (status == cudaSuccess)
        status = allow_tables<COPIES>(kernel);
    if (status != cudaSuccess)
        return status;
    kernel<<<n_blocks, IH_REPLICATED_THREADS, tables_bytes(ih_planes(3), COPIES), args->stream>>>(
        d_jobs, (const uint32_t *)(d_jobs + args->n_images), m);
    return cudaGetLastError();
}

extern "C" size_t ih_histogram_ycc_batch_bytes(uint32_t n_images,
                                               const struct ih_gpu_properties *gpu)
{
    return n_images * (sizeof(struct ycc_job) + sizeof(uint32_t)) +
           IH_YCC_BATCH_ROUNDS * (size_t)gpu->n_multiprocessors * sizeof(uint32_t);
}

extern "C" cudaError_t ih_histogram_ycc_batch(const struct ih_gpu_planes_batch_args *args)
{
    auto *jobs = (struct ycc_job *)args->plan;
    auto *image_of = (uint32_t *)(jobs + args->n_images);
    uint32_t n_blocks = 0;
    if (args->n_images == 0)
        return cudaSuccess;
    const uint32_t n_block_pixels = block_pixels(args);
    for (uint32_t i = 0; i < args->n_images; i++) {
        cudaError_t status = image_job_make(&args->images[i], &jobs[i]);
        if (status != cudaSuccess)
            return status;
        const uint32_t n_pixels = args->images[i].width * args->images[i].height;
        jobs[i].first_block = n_blocks;
        job_divide(&jobs[i], (n_pixels - 1) / n_block_pixels + 1);
        for (uint32_t k = 0; k < jobs[i].n_blocks; k++)
            image_of[n_blocks++] = i;
    }
    const size_t n_bytes = (size_t)((char *)(image_of + n_blocks) - (char *)args->plan);
    const cudaError_t status =
        cudaMemcpyAsync(args->d_plan, args->plan, n_bytes, cudaMemcpyHostToDevice, args->stream);
    if (status != cudaSuccess)
        return status;
    return has_room_for_32_copies(args->gpu) ? launch_batch<32>(args, n_blocks)
                                             : launch_batch<16>(args, n_blocks);
}
