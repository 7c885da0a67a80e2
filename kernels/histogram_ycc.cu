/*
 * Histogram of a JPEG's planes: upsampling, conversion to RGB and counting in one pass.
 *
 * The GPU's hardware JPEG decoders write Y, Cb and Cr with chroma at its stored size, and CPU
 * decoders hand over bands of the same kind. An RGB image would be written and read again only to
 * be counted, 3 bytes a pixel. So a thread loads plane bytes (4:2:0: 1.5 a pixel), makes 16 pixels
 * of RGB in registers as libjpeg-turbo would (ycc.h), and counts them as the RGB kernel does, in
 * the replicated counters of replicated.cuh.
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
 *     hardware JPEG decoding             4.9 GP/s, so counting adds less than 1 %
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
};

/* The kernel's argument. */
struct ycc_job {
    struct ih_job job;        /* only its measures and totals are used */
    struct counting counting; /* the kernel sets its column */
    struct ih_ycc_image image;
    uint32_t n_columns;           /* of full groups; at least 1 */
    uint32_t first_line, n_lines; /* of groups; n_lines 0: there is no full group */
    uint32_t first_row;
    uint32_t columns_on, lines_on; /* the step from one group of a thread to its next */
    uint32_t first_edge;           /* the first column of pixels after the groups */
    uint32_t n_edge;               /* pixels in such columns */
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

/* Counts a group and returns its number of pixels. The loop over rows is not unrolled, which halves
 * the code. */
template <int H, int V, int COPIES>
static __device__ inline uint32_t count_group(const struct counting &c,
                                              const struct ih_ycc_image &image, uint32_t column,
                                              uint32_t line, struct reaching *high,
                                              struct reaching *above_low)
{
    struct ih_ycc_windows windows;
    uint32_t n_pixels = 0;
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
static __device__ inline void count_edge(const struct counting &c, const struct ycc_job &job,
                                         uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const uint32_t s_column = tables_address() + c.column;
    const uint32_t width = job.image.width - job.first_edge;
    uint32_t i = blockIdx.x * IH_REPLICATED_THREADS + threadIdx.x;
    for (; i < job.n_edge; i += gridDim.x * IH_REPLICATED_THREADS) {
        uint32_t rgb[3];
        ih_ycc_pixel(&job.image, H, V, job.first_edge + i % width, job.first_row + i / width, rgb);
        for (int plane = 0; plane < 3; plane++)
            count_byte(s_column + plane_offset<COPIES>(plane), rgb[plane], 0);
        count_byte(s_column + plane_offset<COPIES>(3),
                   ih_luma(job.job.measures, rgb[0], rgb[1], rgb[2]), 0);
        ih_clip_pixel(job.job.measures, rgb[0], rgb[1], rgb[2], clip);
    }
}

template <int H, int V, int COPIES>
__global__ void __launch_bounds__(IH_REPLICATED_THREADS, 1)
    ih_histogram_ycc_kernel(const struct ycc_job job)
{
    constexpr int N_ZEROS = tables_bytes(ih_planes(3), COPIES) / sizeof(uint4);
    for (int i = threadIdx.x; i < N_ZEROS; i += IH_REPLICATED_THREADS)
        s_tables[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    struct counting c = job.counting;
    c.column = threadIdx.x % COPIES * 4;
    struct reaching high = {}, above_low = {};
    uint32_t n_pixels = 0;

    /* Units of 32 groups go to the blocks in turn. */
    const uint32_t unit = threadIdx.x / IH_WARP * gridDim.x + blockIdx.x;
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

    uint32_t clip[IH_CLIP_COUNTS];
    reaching_clips(n_pixels, high, above_low, clip);
    count_edge<H, V, COPIES>(c, job, clip);
    ih_block_merge<3, IH_REPLICATED_THREADS>(
        [&](int plane, int value) { return sum_copies<COPIES>(plane, value); }, clip,
        (struct ih_partials *)s_tables, job.job.d_totals);
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

/* Whether first_row and n_rows are a valid band of the image. */
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
    struct ih_gpu_histogram_args counts = {};
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

    counts.n_pixels = (uint64_t)width * args->n_rows;
    counts.n_channels = 3;
    counts.measures = args->measures;
    counts.d_totals = args->d_totals;
    const cudaError_t status = ih_job_make(&counts, IH_LOAD_PIXELS, &job->job);
    if (status == cudaSuccess)
        job->counting = counting_make(job->job, 0);
    return status;
}

template <int H, int V, int COPIES> static cudaError_t launch(const struct ih_gpu_planes_args *args)
{
    constexpr size_t SHARED_BYTES = tables_bytes(ih_planes(3), COPIES);
    const auto kernel = ih_histogram_ycc_kernel<H, V, COPIES>;
    struct ycc_job job;
    cudaError_t status = job_make(args, &job);
    if (status != cudaSuccess)
        return status;
    const uint32_t n_needed = (args->width * args->n_rows - 1) / IH_YCC_BLOCK_PIXELS + 1;
    const uint32_t n_most = (uint32_t)args->gpu->n_multiprocessors;
    const uint32_t n_blocks = n_needed < n_most ? n_needed : n_most;
    job.columns_on = n_blocks * IH_REPLICATED_THREADS % job.n_columns;
    job.lines_on = n_blocks * IH_REPLICATED_THREADS / job.n_columns;
    status = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)SHARED_BYTES);
    if (status != cudaSuccess)
        return status;
    kernel<<<n_blocks, IH_REPLICATED_THREADS, SHARED_BYTES, args->stream>>>(job);
    return cudaGetLastError();
}

/* Uses 32 copies of each counter if they fit, otherwise 16. */
template <int H, int V> static cudaError_t launch_fitting(const struct ih_gpu_planes_args *args)
{
    return args->gpu->shared_bytes_optin >= tables_bytes(ih_planes(3), 32) ? launch<H, V, 32>(args)
                                                                           : launch<H, V, 16>(args);
}

extern "C" cudaError_t ih_histogram_ycc(const struct ih_gpu_planes_args *args)
{
    if (args->chroma_h == 1)
        return args->chroma_v == 1 ? launch_fitting<1, 1>(args) : launch_fitting<1, 2>(args);
    return args->chroma_v == 1 ? launch_fitting<2, 1>(args) : launch_fitting<2, 2>(args);
}
