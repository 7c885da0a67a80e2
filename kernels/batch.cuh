/*
 * Shared by the kernels that count batches: checked arguments, the launch, the item of work of
 * a block, and the end of an item, where a block's counts become those of an image.
 *
 * An item is an image, or a part of a large one. Blocks take items in turn. The counts of a whole
 * image are stored; those of parts are added to counts that the launcher has zeroed.
 */
#ifndef IH_KERNELS_BATCH_CUH
#define IH_KERNELS_BATCH_CUH

#include "replicated.cuh"

/* Lets a kernel index the images in its arguments without copying them. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#define IH_GRID_CONSTANT
#else
#define IH_GRID_CONSTANT __grid_constant__
#endif

enum {
    /* The most pixels of an item: the sums of 8-bit values then fit 32 bits. */
    IH_BATCH_ITEM_PIXELS = (1 << 24) - 4096,
    /* Pixels of a thread at a time: a whole number of 16-byte loads with any number of channels. */
    IH_UNIT_PIXELS = 16,
    IH_UNIT_QUADS = IH_UNIT_PIXELS / 4,
};

/* The kernels' argument. It fits the 4 KiB of arguments that every GPU takes. */
struct batch_job {
    struct ih_gpu_image images[IH_GPU_BATCH_IMAGES];
    int64_t image_stride, labels_image_stride, pixel_stride;
    uint32_t *d_bins;
    unsigned long long *d_sums;
    uint32_t n_items;
    uint32_t parts; /* of an image */
    uint32_t n_labels;
    uint32_t passes, n_tables; /* of histogram_labels.cu: over an image; of a block. Else 1, 0 */
    int32_t n_planes;
    int32_t table_bytes; /* of shared memory */
    bool is_list, is_bgr, has_luma;
    struct ih_gpu_measures measures;
    /* The same, prepared: arguments of the kernel cost no registers. */
    struct luma_pairs weights;
    struct threshold high, above_low;
};

static inline bool batch_args_valid(const struct ih_gpu_batch_args *args)
{
    const struct ih_gpu_measures *m = &args->measures;
    return args->n_channels >= 1 && args->n_channels <= IH_GPU_CHANNELS_MAX &&
           args->n_labels <= 256 && args->n_images <= IH_GPU_BATCH_MOST &&
           (!args->is_list || args->n_images <= IH_GPU_BATCH_IMAGES) &&
           (m->luma_red | m->luma_green | m->luma_blue) <= UINT16_MAX &&
           m->clip_low < m->clip_high && m->clip_high <= 255 &&
           args->plan <= IH_GPU_BATCH_PLANS + IH_GPU_BINS_PLANS;
}

/* Fills in all fields but n_items and parts. */
static inline void batch_job_make(const struct ih_gpu_batch_args *args, struct batch_job *job)
{
    const bool has_colour = args->n_channels >= 3;
    for (uint32_t i = 0; i < (args->is_list ? args->n_images : 1); i++)
        job->images[i] = args->images[i];
    job->image_stride = args->image_stride;
    job->labels_image_stride = args->labels_image_stride;
    job->pixel_stride = args->pixel_stride;
    job->d_bins = args->d_bins;
    job->d_sums = args->d_sums;
    job->n_labels = args->n_labels;
    job->passes = 1;
    job->n_tables = 0;
    job->is_list = args->is_list != 0;
    job->is_bgr = has_colour && args->is_bgr;
    job->has_luma = has_colour && args->has_luma;
    job->n_planes = (int32_t)args->n_channels + job->has_luma;
    job->measures = args->measures;
    if (job->is_bgr) {
        job->measures.luma_red = args->measures.luma_blue;
        job->measures.luma_blue = args->measures.luma_red;
    }
    const struct ih_gpu_measures *m = &job->measures;
    job->weights = luma_pairs_make(*m);
    job->high = threshold_make(m->clip_high);
    job->above_low = threshold_make(m->clip_low + 1);
}

/* The pixels of the largest image. */
static inline uint64_t batch_largest(const struct ih_gpu_batch_args *args)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < (args->is_list ? args->n_images : 1); i++) {
        const uint64_t n = (uint64_t)args->images[i].width * args->images[i].height;
        most = n > most ? n : most;
    }
    return most;
}

/*
 * The number of parts of an image of n_pixels with which n_blocks blocks end soonest. A part costs
 * its pixels, plus overhead_pixels for its tables.
 */
static inline uint32_t batch_parts(uint32_t n_images, uint64_t n_pixels, uint32_t n_blocks,
                                   uint64_t overhead_pixels)
{
    const uint32_t least = (uint32_t)(n_pixels / IH_BATCH_ITEM_PIXELS) + 1;
    uint32_t best = least;
    uint64_t best_cost = UINT64_MAX;
    if (n_images >= 16 * n_blocks) /* at most 1/16 of the blocks' time is lost at the end */
        return least;
    for (uint32_t parts = least; parts == least || (parts <= n_blocks && n_pixels / parts >= 4096);
         parts++) {
        const uint64_t rounds = ((uint64_t)n_images * parts + n_blocks - 1) / n_blocks;
        const uint64_t cost = rounds * (n_pixels / parts + overhead_pixels);
        if (cost < best_cost) {
            best_cost = cost;
            best = parts;
        }
    }
    return best;
}

/* Zeroes the counts, for parts to add to. */
static inline cudaError_t batch_zero(const struct ih_gpu_batch_args *args,
                                     const struct batch_job *job)
{
    const size_t n_records = (size_t)args->n_images * (args->n_labels ? args->n_labels : 1);
    cudaError_t e =
        cudaMemsetAsync(args->d_bins, 0, n_records * job->n_planes * IH_GPU_BINS * 4, args->stream);
    if (e == cudaSuccess && args->d_sums)
        e = cudaMemsetAsync(args->d_sums, 0, n_records * (job->n_planes + IH_GPU_BATCH_CLIPS) * 8,
                            args->stream);
    return e;
}

/* Divides large images into parts and launches the kernel, blocks_each on a multiprocessor. */
template <typename kernel_fn>
static cudaError_t batch_launch(kernel_fn kernel, const struct ih_gpu_batch_args *args,
                                struct batch_job *job, uint32_t blocks_each, uint32_t n_threads)
{
    const uint32_t n_most = blocks_each * (uint32_t)args->gpu->n_multiprocessors;
    const uint32_t n_images = args->n_images * job->passes;
    job->parts = batch_parts(n_images, batch_largest(args), n_most, n_threads * 16);
    if ((uint64_t)n_images * job->parts > UINT32_MAX)
        return cudaErrorInvalidValue;
    job->n_items = n_images * job->parts;
    cudaError_t status = cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, job->table_bytes);
    if (status == cudaSuccess && job->parts > 1)
        status = batch_zero(args, job);
    if (status != cudaSuccess)
        return status;
    const uint32_t n_blocks = job->n_items < n_most ? job->n_items : n_most;
    kernel<<<n_blocks, n_threads, job->table_bytes, args->stream>>>(*job);
    return cudaGetLastError();
}

/* histogram_bins.cu: counts bins of RGB images alone, faster. Returns cudaErrorNotSupported if it
 * does not take the batch. */
extern "C" cudaError_t ih_histogram_bins(const struct ih_gpu_batch_args *args);

/* histogram_labels.cu: for any strides, and with labels; slower. */
extern "C" cudaError_t ih_histogram_labels(const struct ih_gpu_batch_args *args);

/* The first byte of an image. */
__device__ inline const uint8_t *batch_data(const struct batch_job &job, uint32_t index)
{
    return job.is_list ? job.images[index].d_data : job.images[0].d_data + index * job.image_stride;
}

/* Part `part` of n units. */
__device__ inline void batch_part(const struct batch_job &job, uint32_t n, uint32_t part,
                                  uint32_t *begin, uint32_t *end)
{
    *begin = 0;
    *end = n;
    if (job.parts == 1)
        return;
    const uint32_t each = n / job.parts, n_longer = n % job.parts;
    *begin = part * each + min(part, n_longer);
    *end = *begin + each + (part < n_longer);
}

/* The image of item i; of histogram_labels.cu only with one pass. */
__device__ inline uint32_t batch_image_of(const struct batch_job &job, uint32_t i)
{
    return job.parts == 1 ? i : i / job.parts;
}

/* Where the counts of a channel go: planes are red, green, blue. */
__device__ inline int batch_plane(const struct batch_job &job, int channel)
{
    return job.is_bgr && channel < 3 ? 2 - channel : channel;
}

template <typename number> __device__ inline void batch_put(number *d_to, number value, bool adds)
{
    if (!adds)
        *d_to = value;
    else if (value)
        atomicAdd(d_to, value);
}

/* 16 pixels: CHANNELS consecutive groups of 16 bytes if they are interleaved, and one of each
 * channel if they are planar. */
template <int CHANNELS> union unit_words {
    uint4 load[CHANNELS];
    uint32_t word[CHANNELS * 4];
    uint32_t plane[CHANNELS][4];
};

/* Counts byte `index` of a word in the table that begins at s_column, with rows of row_bytes. */
template <int ROW_BYTES>
__device__ inline void count_sample(uint32_t s_column, uint32_t word, int index)
{
    const uint32_t weights = index % 2 == 0 ? ROW_BYTES : (uint32_t)ROW_BYTES << 16;
    increment(index < 2 ? __dp2a_lo(weights, word, s_column) : __dp2a_hi(weights, word, s_column));
}

#endif
