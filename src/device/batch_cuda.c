/*
 * Counting batches in GPU memory on the caller's stream. There is no state: the launchers take
 * everything as arguments, and what they need to know about the GPU is asked each time, which takes
 * less than a microsecond.
 */
#include "device/batch_job.h"

#ifdef IH_WITH_CUDA

#include "device/cuda_unit.h"
#include "device/device_pixels.h"

#include <string.h>

_Static_assert((int)IH_GPU_BATCH_IMAGES == (int)IH_BATCH_LAUNCH_IMAGES &&
                   (int)IH_GPU_BATCH_CLIPS == (int)IH_BATCH_CLIPS,
               "imghist.h and kernels.h agree");

/* Looks up the GPU that holds an address: *gpu, -1 for memory that any GPU reaches. */
static enum ih_status look_up(const void *address, const char *what, int *gpu, struct ih_error *err)
{
    struct cudaPointerAttributes a;
    cudaError_t e = cudaPointerGetAttributes(&a, address);
    if (e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver) {
        cudaGetLastError();
        return ih_error_set(err, IH_UNAVAILABLE, "no usable NVIDIA GPU: %s", cudaGetErrorString(e));
    }
    if (e != cudaSuccess)
        return ih_cuda_status(err, e, "batch: cannot look up an address");
    if (a.type != cudaMemoryTypeManaged && a.type != cudaMemoryTypeDevice)
        return ih_error_set(err, IH_USAGE, "batch: %s are not in the memory of a GPU", what);
    *gpu = a.type == cudaMemoryTypeManaged ? -1 : a.device;
    return IH_OK;
}

static enum ih_status expect_on(const void *address, const char *what, int gpu,
                                struct ih_error *err)
{
    int its_gpu = -1;
    if (!address)
        return IH_OK;
    enum ih_status status = look_up(address, what, &its_gpu, err);
    if (status == IH_OK && its_gpu >= 0 && its_gpu != gpu)
        return ih_error_set(err, IH_USAGE,
                            "batch: %s are in the memory of cuda:%d, the counts in that of cuda:%d",
                            what, its_gpu, gpu);
    return status;
}

/* Finds the GPU that counts. A kernel that reads a bad address would end the CUDA context, and the
 * caller's work with it. */
static enum ih_status choose_gpu(const struct ih_batch_job *job, const uint32_t *d_bins,
                                 const uint64_t *d_sums, int *gpu, struct ih_error *err)
{
    const struct ih_batch_image first = ih_batch_image_at(job, 0);
    const bool has_pixels = first.width > 0 && first.height > 0;
    if ((uintptr_t)d_bins % sizeof *d_bins != 0 || (uintptr_t)d_sums % sizeof *d_sums != 0)
        return ih_error_set(err, IH_USAGE, "batch: bins or sums are not aligned");
    enum ih_status status = look_up(d_bins, "bins", gpu, err);
    if (status == IH_OK && *gpu < 0)
        *gpu = ih_gpu_current();
    if (status == IH_OK)
        status = expect_on(d_sums, "sums", *gpu, err);
    if (status == IH_OK && has_pixels)
        status = expect_on(first.data, "pixels", *gpu, err);
    if (status == IH_OK && has_pixels)
        status = expect_on(first.labels, "labels", *gpu, err);
    return status;
}

static cudaError_t gpu_properties(int gpu, struct ih_gpu_properties *out)
{
    int shared_bytes = 0;
    cudaError_t e =
        cudaDeviceGetAttribute(&out->n_multiprocessors, cudaDevAttrMultiProcessorCount, gpu);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu);
    out->shared_bytes_optin = (size_t)shared_bytes;
    return e;
}

static void image_make(const struct ih_batch_image *from, struct ih_gpu_image *to)
{
    *to = (struct ih_gpu_image){
        .d_data = from->data,
        .d_labels = from->labels,
        .row_stride = from->row_stride,
        .channel_stride = from->channel_stride,
        .labels_row_stride = from->labels_row_stride,
        .width = from->width,
        .height = from->height,
    };
}

/* Enqueues the images in as many launches as they need. */
static cudaError_t batch_enqueue(const struct ih_batch_job *job, struct ih_gpu_batch_args *args)
{
    const struct ih_batch *b = &job->batch;
    const size_t n_most = b->list ? IH_GPU_BATCH_IMAGES : IH_GPU_BATCH_MOST;
    const size_t n_records = job->shape.n_labels, n_planes = job->shape.n_planes;
    cudaError_t e = cudaSuccess;
    for (size_t first = 0; e == cudaSuccess && first < b->n_images; first += n_most) {
        const size_t n_left = b->n_images - first;
        args->n_images = (uint32_t)(n_left < n_most ? n_left : n_most);
        for (size_t i = 0; i < (b->list ? args->n_images : 1); i++) {
            const struct ih_batch_image image = ih_batch_image_at(job, first + i);
            image_make(&image, &args->images[i]);
        }
        e = ih_histogram_batch(args);
        args->d_bins += args->n_images * n_records * n_planes * IH_BINS;
        if (args->d_sums)
            args->d_sums += args->n_images * n_records * (n_planes + IH_BATCH_CLIPS);
    }
    return e;
}

/* Whether the pixels of an image follow each other: in rows of W, W * step bytes. */
static bool is_packed(const struct ih_batch *b, const struct ih_batch_image *image, ptrdiff_t step)
{
    return (b->pixel_stride == step || image->width < 2) &&
           (image->row_stride == step * (ptrdiff_t)image->width || image->height < 2);
}

/* Whether the planes of an image are apart: a launch for each. */
static bool is_planar(const struct ih_batch *b, const struct ih_batch_image *image)
{
    const ptrdiff_t bytes = sizeof(uint16_t);
    return !is_packed(b, image, bytes * (ptrdiff_t)b->n_channels) ||
           (b->n_channels > 1 && image->channel_stride != bytes);
}

/* Refuses what the kernel of 16-bit samples cannot count. */
static enum ih_status check_wide(const struct ih_batch_job *job, const struct ih_batch_image *image,
                                 bool has_sums, struct ih_error *err)
{
    const struct ih_batch *b = &job->batch;
    const bool planar = is_planar(b, image);
    if (b->n_labels > 0)
        return ih_error_set(err, IH_USAGE,
                            "batch: there are no label maps for samples of 16 bits on a GPU");
    if (((uintptr_t)image->data | (size_t)image->channel_stride | (size_t)b->image_stride) % 2 ||
        (planar && !is_packed(b, image, sizeof(uint16_t))))
        return ih_error_set(err, IH_USAGE,
                            "batch: samples of 16 bits on a GPU must be packed, as NHWC or NCHW");
    if (planar && b->n_channels >= 3 &&
        (job->has_luma || (has_sums && ih_is_unsigned(job->spec.type))))
        return ih_error_set(err, IH_USAGE,
                            "batch: planar samples of 16 bits have neither luma nor, if unsigned, "
                            "sums on a GPU: leave them out, or pass NHWC");
    return IH_OK;
}

static enum ih_gpu_samples samples_of(enum ih_sample_type type)
{
    return ih_is_unsigned(type) ? IH_GPU_UNSIGNED
           : ih_is_float(type)  ? IH_GPU_FLOAT
                                : IH_GPU_SIGNED;
}

/* Enqueues n_images of 16-bit samples, from `first` on, that are alike. Planes that follow each
 * other at equal distances, in the order of their bins, are counted like so many gray images. */
static enum ih_status wide_enqueue(const struct ih_batch_job *job, size_t first, size_t n_images,
                                   const struct ih_gpu_batch_args *batch, struct ih_error *err)
{
    const struct ih_batch *b = &job->batch;
    const struct ih_batch_image image = ih_batch_image_at(job, first);
    const size_t n_planes = job->shape.n_planes, n_sums = n_planes + IH_BATCH_CLIPS;
    const bool planar = is_planar(b, &image);
    if (image.width == 0 || image.height == 0)
        return IH_OK;
    uint32_t *d_bins = batch->d_bins + first * n_planes * b->n_bins;
    unsigned long long *d_sums = batch->d_sums ? batch->d_sums + first * n_sums : NULL;
    const bool has_clips = b->n_channels >= 3 && d_sums && ih_is_unsigned(job->spec.type);
    const bool is_bgr = b->n_channels >= 3 && batch->is_bgr;
    const bool is_even =
        n_images == 1 || b->image_stride == (ptrdiff_t)n_planes * image.channel_stride;
    const unsigned n_alike = planar && is_even && !is_bgr ? b->n_channels : 1;
    struct ih_gpu_wide_args args = {
        .d_pixels = (const uint16_t *)image.data,
        .n_pixels = (uint64_t)image.width * image.height,
        .n_images = (uint32_t)n_images * n_alike,
        .image_stride =
            (n_alike > 1 ? image.channel_stride : b->image_stride) / (ptrdiff_t)sizeof(uint16_t),
        .n_channels = planar ? 1 : b->n_channels,
        .n_bins = b->n_bins,
        .samples = samples_of(job->spec.type),
        .has_luma = job->has_luma || has_clips,
        .drops_luma = has_clips && !job->has_luma,
        .measures = batch->measures,
        .d_bins_32 = d_bins,
        .bins_stride = (int64_t)(n_alike > 1 ? 1 : n_planes) * b->n_bins,
        .d_clips = has_clips ? d_sums + n_planes : NULL,
        .clips_stride = (int64_t)n_sums,
        .is_bgr = !planar && is_bgr,
        .gpu = batch->gpu,
        .stream = batch->stream,
    };
    cudaError_t e = cudaSuccess;
    for (unsigned c = 0; e == cudaSuccess && c < (planar ? b->n_channels : 1); c += n_alike) {
        if (planar)
            args.d_pixels =
                (const uint16_t *)(image.data + ih_batch_channel(b, c) * image.channel_stride);
        e = ih_histogram_wide(&args);
        args.d_bins_32 += b->n_bins;
    }
    args.n_images = (uint32_t)n_images;
    args.d_bins_32 = d_bins;
    args.bins_stride = (int64_t)n_planes * b->n_bins;
    if (e == cudaSuccess && d_sums && !ih_is_float(job->spec.type))
        e = ih_wide_sums(&args, (unsigned)n_planes, d_sums);
    return ih_cuda_status(err, e, "batch: cannot enqueue the count");
}

/* Enqueues a batch of 16-bit samples, each image of a list apart. */
static enum ih_status wide_enqueue_all(const struct ih_batch_job *job,
                                       const struct ih_gpu_batch_args *batch, struct ih_error *err)
{
    const size_t n_images = job->batch.n_images;
    const size_t n_most = job->batch.list ? 1 : IH_GPU_BATCH_MOST / IH_GPU_CHANNELS_MAX;
    for (size_t i = 0; i < (job->batch.list ? n_images : 1); i++) {
        const struct ih_batch_image image = ih_batch_image_at(job, i);
        const enum ih_status status = check_wide(job, &image, batch->d_sums != NULL, err);
        if (status != IH_OK)
            return status;
    }
    cudaError_t e = cudaMemsetAsync(batch->d_bins, 0, job->shape.bins_bytes, batch->stream);
    if (e == cudaSuccess && batch->d_sums)
        e = cudaMemsetAsync(batch->d_sums, 0, job->shape.sums_bytes, batch->stream);
    enum ih_status status = ih_cuda_status(err, e, "batch: cannot clear the counts");
    for (size_t i = 0; status == IH_OK && i < n_images; i += n_most)
        status = wide_enqueue(job, i, n_images - i < n_most ? n_images - i : n_most, batch, err);
    return status;
}

enum ih_status ih_batch_enqueue_cuda(const struct ih_batch_job *job, uint32_t *d_bins,
                                     uint64_t *d_sums, void *stream, struct ih_error *err)
{
    const struct ih_batch *b = &job->batch;
    struct ih_gpu_properties properties;
    int gpu = -1;
    if (b->n_images == 0)
        return IH_OK;
    enum ih_status status = choose_gpu(job, d_bins, d_sums, &gpu, err);
    if (status != IH_OK)
        return status;
    struct ih_gpu_batch_args args = {
        .is_list = b->list != NULL,
        .image_stride = b->image_stride,
        .labels_image_stride = b->labels_image_stride,
        .pixel_stride = b->pixel_stride,
        .n_channels = b->n_channels,
        .n_labels = b->n_labels,
        .is_bgr = b->order == IH_ORDER_BGR,
        .has_luma = job->has_luma,
        .measures = ih_gpu_measures_make(&job->spec),
        .d_bins = d_bins,
        .d_sums = (unsigned long long *)d_sums,
        .gpu = &properties,
        .stream = stream,
    };
    const int before = ih_gpu_current();
    ih_gpu_make_current(gpu);
    cudaError_t e = gpu_properties(gpu, &properties);
    if (e == cudaSuccess && b->n_bins > 0)
        status = wide_enqueue_all(job, &args, err);
    else if (e == cudaSuccess)
        e = batch_enqueue(job, &args);
    ih_gpu_make_current(before);
    return status != IH_OK ? status : ih_cuda_status(err, e, "batch: cannot enqueue the count");
}

#else /* a build without CUDA */

enum ih_status ih_batch_enqueue_cuda(const struct ih_batch_job *job, uint32_t *d_bins,
                                     uint64_t *d_sums, void *stream, struct ih_error *err)
{
    (void)job, (void)d_bins, (void)d_sums, (void)stream;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}

#endif
