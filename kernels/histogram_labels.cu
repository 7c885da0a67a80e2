/*
 * Histograms of a batch with label maps, or with strides that histogram_batch.cu does not take.
 *
 * The idea. A block has one table in shared memory for each label, and each pixel adds to the table
 * of its label. More labels than fit are counted in several passes over the image, by different
 * blocks; the later passes mostly read from the L2 cache. Without labels the same tables are
 * copies: each thread of a warp adds to a different one, which keeps similar neighbours apart.
 *
 * A thread reads one pixel at a time, byte by byte, from wherever the strides say. Neighbouring
 * threads read neighbouring pixels of a row, so planes and packed pixels are read in full lines.
 *
 * NVIDIA H200, 2026-11-22, tests/bench/gpu_batch.sh, 1,000 RGB images of 224 x 224, random:
 *
 *     right to left, without labels      0.12 of read
 *     1 of 16 labels counted             0.16
 *     4 of 16 labels                     0.13
 *     16 of 16 labels                    0.07
 *
 * What limits it: single-byte loads and bank conflicts, as in ladder/histogram.cu. Label maps are
 * rare; copies of their tables would not fit.
 */
#include "batch.cuh"

enum {
    IH_LABELS_THREADS = 512,
    IH_LABELS_BLOCKS = 2, /* that should share a multiprocessor */
    IH_LABELS_COPIES = 8, /* without labels */
};

/* The tables of a block: [n_tables][n_planes][256], then [n_tables][4] joint clip counts. */
extern __shared__ uint32_t s_counters[];

/* Counts a pixel in the table that begins at s_table. */
template <int CHANNELS>
__device__ inline void count_pixel(const struct batch_job &job, const uint8_t *d_pixel,
                                   int64_t channel_stride, uint32_t *s_table, uint32_t *s_clips)
{
    uint32_t sample[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        sample[c] = d_pixel[c * channel_stride];
        atomicAdd(&s_table[c * IH_GPU_BINS + sample[c]], 1u);
    }
    uint32_t clip[IH_CLIP_COUNTS] = {};
    const uint32_t r = sample[0], g = sample[CHANNELS < 3 ? 0 : 1],
                   b = sample[CHANNELS < 3 ? 0 : 2];
    if (job.has_luma)
        atomicAdd(&s_table[CHANNELS * IH_GPU_BINS + ih_luma(job.measures, r, g, b)], 1u);
    ih_clip_pixel(job.measures, r, g, b, clip);
    for (int i = 0; i < IH_CLIP_COUNTS; i++)
        if (clip[i] > 0)
            atomicAdd(&s_clips[i], 1u);
}

/* Counts a part of an image: pixels begin .. end-1. */
template <int CHANNELS>
__device__ inline void count_part(const struct batch_job &job, uint32_t index, uint32_t first_label,
                                  uint32_t begin, uint32_t end)
{
    const struct ih_gpu_image &image = job.images[job.is_list ? index : 0];
    const uint8_t *d_data = batch_data(job, index), *d_labels = image.d_labels;
    if (!job.is_list)
        d_labels += index * job.labels_image_stride;
    const uint32_t table_counters = job.n_planes * IH_GPU_BINS;
    uint32_t *s_clips = s_counters + job.n_tables * table_counters;
    for (uint32_t i = begin + threadIdx.x; i < end; i += IH_LABELS_THREADS) {
        const uint32_t row = i / image.width, column = i - row * image.width;
        uint32_t table = threadIdx.x % job.n_tables;
        if (job.n_labels > 0) {
            const uint32_t label = d_labels[row * image.labels_row_stride + column];
            table = label - first_label; /* of a smaller label: a large number */
            if (label >= job.n_labels || table >= job.n_tables)
                continue;
        }
        count_pixel<CHANNELS>(job, d_data + row * image.row_stride + column * job.pixel_stride,
                              image.channel_stride, s_counters + table * table_counters,
                              s_clips + table * IH_CLIP_COUNTS);
    }
}

/* Adds up the copies of a counter, n_copies of them step apart. */
__device__ inline uint32_t sum_of_copies(const uint32_t *s_first, uint32_t n_copies, uint32_t step)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n_copies; i++)
        sum += s_first[i * step];
    return sum;
}

/* Writes or adds a record: a warp takes one plane, or one joint clip count, at a time. */
__device__ inline void merge_record(const struct batch_job &job, size_t record,
                                    const uint32_t *s_table, const uint32_t *s_clips,
                                    uint32_t n_copies, bool adds)
{
    const int warp = threadIdx.x / IH_WARP, thread = threadIdx.x % IH_WARP;
    const int n_sums = job.n_planes + IH_CLIP_COUNTS;
    for (int i = warp; i < n_sums; i += IH_LABELS_THREADS / IH_WARP) {
        unsigned long long sum = 0;
        const int to = i < job.n_planes ? batch_plane(job, i) : i;
        if (i < job.n_planes) {
            uint32_t *d_bins = job.d_bins + (record * job.n_planes + to) * IH_GPU_BINS;
            for (int value = thread; value < IH_GPU_BINS; value += IH_WARP) {
                const uint32_t count = sum_of_copies(s_table + i * IH_GPU_BINS + value, n_copies,
                                                     job.n_planes * IH_GPU_BINS);
                batch_put(&d_bins[value], count, adds);
                sum += (unsigned long long)value * count;
            }
            sum = ih_warp_sum(sum);
        } else {
            sum = sum_of_copies(s_clips + i - job.n_planes, n_copies, IH_CLIP_COUNTS);
        }
        if (thread == 0 && job.d_sums)
            batch_put(&job.d_sums[record * n_sums + to], sum, adds);
    }
}

template <int CHANNELS>
__global__ void __launch_bounds__(IH_LABELS_THREADS, IH_LABELS_BLOCKS)
    ih_histogram_labels_kernel(IH_GRID_CONSTANT const struct batch_job job)
{
    const uint32_t table_counters = job.n_planes * IH_GPU_BINS;
    uint32_t *const s_clips = s_counters + job.n_tables * table_counters;
    for (uint32_t i = blockIdx.x; i < job.n_items; i += gridDim.x) {
        const uint32_t pass = i % job.passes, part = i / job.passes % job.parts;
        const uint32_t index = i / job.passes / job.parts, first_label = pass * job.n_tables;
        const struct ih_gpu_image &image = job.images[job.is_list ? index : 0];
        uint32_t begin, end;
        batch_part(job, image.width * image.height, part, &begin, &end);
        for (uint32_t j = threadIdx.x; j < (uint32_t)job.table_bytes / 4; j += IH_LABELS_THREADS)
            s_counters[j] = 0;
        __syncthreads();
        count_part<CHANNELS>(job, index, first_label, begin, end);
        __syncthreads();
        if (job.n_labels == 0)
            merge_record(job, index, s_counters, s_clips, job.n_tables, job.parts > 1);
        for (uint32_t j = 0; j < job.n_tables && first_label + j < job.n_labels; j++)
            merge_record(job, (size_t)index * job.n_labels + first_label + j,
                         s_counters + j * table_counters, s_clips + j * IH_CLIP_COUNTS, 1,
                         job.parts > 1);
        __syncthreads(); /* the tables have been read */
    }
}

template <int CHANNELS> static cudaError_t labels_launch(const struct ih_gpu_batch_args *args)
{
    struct batch_job job;
    batch_job_make(args, &job);
    const size_t table_bytes = (job.n_planes * IH_GPU_BINS + IH_CLIP_COUNTS) * sizeof(uint32_t);
    const size_t n_fit = (args->gpu->shared_bytes_optin - 1024) / IH_LABELS_BLOCKS / table_bytes;
    const size_t n_wanted = args->n_labels ? args->n_labels : (unsigned)IH_LABELS_COPIES;
    job.n_tables = (uint32_t)(n_wanted < n_fit ? n_wanted : n_fit);
    job.passes = args->n_labels ? (args->n_labels - 1) / job.n_tables + 1 : 1;
    job.table_bytes = (int32_t)(job.n_tables * table_bytes);
    return batch_launch(ih_histogram_labels_kernel<CHANNELS>, args, &job, IH_LABELS_BLOCKS,
                        IH_LABELS_THREADS);
}

/* The caller has checked the arguments. */
extern "C" cudaError_t ih_histogram_labels(const struct ih_gpu_batch_args *args)
{
    const decltype(&labels_launch<1>) launches[] = {labels_launch<1>, labels_launch<2>,
                                                    labels_launch<3>, labels_launch<4>};
    return launches[args->n_channels - 1](args);
}
