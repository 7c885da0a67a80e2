/*
 * Counting pixels in device memory on the caller's stream:
 *
 *     caller's stream   ... | zero totals | kernels | totals to pinned memory | event | ...
 *
 * Finishing waits for the event, not for the stream, so the caller may enqueue more work after it.
 * Opening runs each kernel once: CUDA loads a kernel at its first launch, which may wait for
 * everything that runs on the GPU.
 */
#include "device/device_pixels.h"

#ifdef IH_WITH_CUDA

#include "device/cuda_unit.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    WARM_UP_BYTES = 64,
    /* Per launch: below 2^32, and a multiple of 16, so that the next launch is aligned too. */
    LAUNCH_PIXELS_MAX = 1 << 30,
    /* Rows with gaps are counted as a batch of parts, each of less than 2^31 pixels. */
    PART_PIXELS_MAX = INT32_MAX,
    PARTS_MAX = IH_GPU_BATCH_IMAGES,
    PART_SUMS = (IH_PIXEL_CHANNELS_MAX + 1) + IH_GPU_BATCH_CLIPS
};

/* The counts of the parts, as the kernel for batches packs them: uint64 [n_parts][n_planes +
 * clips], then uint32 [n_parts][n_planes][256]. */
struct part_counts {
    unsigned long long sums[PARTS_MAX * PART_SUMS];
    uint32_t bins[PARTS_MAX * (IH_PIXEL_CHANNELS_MAX + 1) * IH_BINS];
};

struct ih_device_pixels {
    struct ih_cuda_unit unit;
    struct ih_count_spec spec;           /* of the count that is enqueued */
    struct ih_gpu_totals *d_totals;      /* followed by WARM_UP_BYTES */
    struct ih_gpu_totals *totals;        /* pinned */
    struct part_counts *d_parts, *parts; /* the same for rows with gaps */
    cudaEvent_t is_done;
    uint64_t n_pixels;
    uint32_t n_parts; /* of rows with gaps; 0: there are no gaps */
    bool is_enqueued;
};

int ih_gpu_current(void)
{
    int gpu;
    return cudaGetDevice(&gpu) == cudaSuccess ? gpu : -1;
}

void ih_gpu_make_current(int gpu)
{
    if (gpu >= 0 && gpu != ih_gpu_current()) /* setting it again would start an unused GPU */
        cudaSetDevice(gpu);
}

static enum ih_status to_status(const struct ih_device_pixels *p, cudaError_t error,
                                const char *what, struct ih_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "cuda:%d: %s", p->unit.ordinal, what);
    return ih_cuda_status(err, error, text);
}

/* ---- opening ---- */

static struct ih_gpu_histogram_args make_args(const struct ih_device_pixels *p,
                                              const uint8_t *d_pixels, uint64_t n_pixels,
                                              cudaStream_t stream)
{
    return ih_cuda_args(&p->unit, &p->spec, d_pixels, n_pixels, p->d_totals, stream);
}

static bool has_luma(const struct ih_device_pixels *p)
{
    return p->spec.layout.n_channels >= 3 && p->spec.luma != &ih_luma_none;
}

static unsigned planes_of(const struct ih_device_pixels *p)
{
    return p->spec.layout.n_channels + has_luma(p);
}

/* Counts rows with gaps in n_parts parts, the last of which may be smaller. plan 1: that for large
 * images, which makes use of all multiprocessors for a single one too. */
static cudaError_t count_rows(const struct ih_device_pixels *p, const struct ih_pixels *image,
                              cudaStream_t stream)
{
    const unsigned c = p->spec.layout.n_channels,
                   n_sums = p->n_parts * (planes_of(p) + IH_GPU_BATCH_CLIPS);
    const uint64_t n_rows = PART_PIXELS_MAX / image->width;
    struct ih_gpu_batch_args args = {
        .n_images = p->n_parts,
        .is_list = 1,
        .pixel_stride = c,
        .n_channels = c,
        .has_luma = has_luma(p),
        .measures = ih_gpu_measures_make(&p->spec),
        .d_bins = (uint32_t *)(p->d_parts->sums + n_sums),
        .d_sums = p->d_parts->sums,
        .plan = 1,
        .gpu = &p->unit.gpu,
        .stream = stream,
    };
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const uint64_t first = i * n_rows, n_left = image->height - first;
        args.images[i] = (struct ih_gpu_image){
            .d_data = (const uint8_t *)image->data + first * (uint64_t)image->stride_bytes,
            .row_stride = image->stride_bytes,
            .channel_stride = 1,
            .width = (uint32_t)image->width,
            .height = (uint32_t)(n_left < n_rows ? n_left : n_rows),
        };
    }
    return ih_histogram_batch(&args);
}

/* Runs every kernel on a few zeros. Rows of 2 and 4 channels at an odd address take another one. */
static cudaError_t warm_up(struct ih_device_pixels *p)
{
    cudaStream_t stream;
    cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (e != cudaSuccess)
        return e;
    const uint8_t *d_zeros = (const uint8_t *)(p->d_totals + 1);
    e = cudaMemsetAsync(p->d_totals, 0, sizeof *p->d_totals + WARM_UP_BYTES, stream);
    p->n_parts = 1;
    for (unsigned c = 1; e == cudaSuccess && c <= IH_PIXEL_CHANNELS_MAX; c++) {
        p->spec.layout = ih_layout_of(c);
        const struct ih_gpu_histogram_args args = make_args(p, d_zeros, WARM_UP_BYTES / c, stream);
        e = ih_histogram_replicated(&args);
        for (unsigned start = 0; e == cudaSuccess && start < 2; start++) {
            const struct ih_pixels rows = {d_zeros + start, 2, 2, 3 * (ptrdiff_t)c, c};
            e = count_rows(p, &rows, stream);
        }
    }
    cudaError_t ran = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return e == cudaSuccess ? ran : e;
}

static cudaError_t allocate(struct ih_device_pixels *p)
{
    cudaError_t e = cudaMalloc((void **)&p->d_totals, sizeof *p->d_totals + WARM_UP_BYTES);
    if (e == cudaSuccess)
        e = cudaHostAlloc((void **)&p->totals, sizeof *p->totals, cudaHostAllocDefault);
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&p->d_parts, sizeof *p->d_parts);
    if (e == cudaSuccess)
        e = cudaHostAlloc((void **)&p->parts, sizeof *p->parts, cudaHostAllocDefault);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&p->is_done, cudaEventDisableTiming);
    return e;
}

/* Opens a GPU, the thread's current device. */
static enum ih_status pixels_prepare(struct ih_device_pixels *p, int gpu, const char *kernel,
                                     struct ih_error *err)
{
    cudaError_t e = ih_cuda_unit_init(&p->unit, gpu, kernel);
    if (e == cudaSuccess)
        e = allocate(p);
    if (e == cudaSuccess)
        e = warm_up(p);
    return to_status(p, e, "cannot make the GPU ready", err);
}

enum ih_status ih_device_pixels_open(int gpu, const char *kernel, const struct ih_count_spec *spec,
                                     struct ih_device_pixels **pixels, struct ih_error *err)
{
    int before = -1;
    cudaError_t e = cudaGetDevice(&before);
    if (gpu == IH_GPU_CURRENT)
        gpu = before;
    if (e == cudaSuccess)
        e = cudaSetDevice(gpu);
    if (e != cudaSuccess) {
        char ordinal[24] = "";
        cudaGetLastError(); /* else the caller's next CUDA call would report it */
        if (gpu >= 0)
            snprintf(ordinal, sizeof ordinal, " cuda:%d", gpu);
        return ih_error_set(err, IH_UNAVAILABLE, "no usable NVIDIA GPU%s: %s", ordinal,
                            cudaGetErrorString(e));
    }
    enum ih_status status;
    struct ih_device_pixels *p = calloc(1, sizeof *p);
    if (p) {
        p->spec = *spec;
        status = pixels_prepare(p, gpu, kernel, err);
    } else {
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    }
    ih_gpu_make_current(before);
    if (status == IH_OK)
        *pixels = p;
    else
        ih_device_pixels_close(p);
    return status;
}

void ih_device_pixels_close(struct ih_device_pixels *p)
{
    if (!p)
        return;
    int before = ih_gpu_current();
    cudaSetDevice(p->unit.ordinal);
    if (p->is_done) {
        cudaEventSynchronize(p->is_done);
        cudaEventDestroy(p->is_done);
    }
    cudaFree(p->d_totals);
    cudaFreeHost(p->totals);
    cudaFree(p->d_parts);
    cudaFreeHost(p->parts);
    ih_gpu_make_current(before);
    free(p);
}

/* ---- counting ---- */

/* A kernel that reads a bad address would end the CUDA context, and the caller's work with it. */
static enum ih_status check_memory(const struct ih_device_pixels *p, const void *d_pixels,
                                   struct ih_error *err)
{
    struct cudaPointerAttributes a;
    cudaError_t e = cudaPointerGetAttributes(&a, d_pixels);
    if (e != cudaSuccess)
        return to_status(p, e, "cannot look up the pixels", err);
    const int gpu = p->unit.ordinal;
    if (a.type == cudaMemoryTypeManaged || (a.type == cudaMemoryTypeDevice && a.device == gpu))
        return IH_OK;
    if (a.type == cudaMemoryTypeDevice)
        return ih_error_set(err, IH_USAGE,
                            "the pixels are in the memory of cuda:%d, not of cuda:%d", a.device,
                            gpu);
    return ih_error_set(err, IH_USAGE, "the pixels are in host memory, not in that of cuda:%d",
                        gpu);
}

static cudaError_t count_packed(const struct ih_device_pixels *p, const uint8_t *d_pixels,
                                uint64_t n_pixels, cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;
    while (e == cudaSuccess && n_pixels > 0) {
        uint64_t n = n_pixels < LAUNCH_PIXELS_MAX ? n_pixels : LAUNCH_PIXELS_MAX;
        const struct ih_gpu_histogram_args args = make_args(p, d_pixels, n, stream);
        e = ih_histogram_replicated(&args);
        d_pixels += n * p->spec.layout.n_channels;
        n_pixels -= n;
    }
    return e;
}

static cudaError_t pixels_enqueue(struct ih_device_pixels *p, const struct ih_pixels *image,
                                  cudaStream_t stream)
{
    const size_t part_bytes = (planes_of(p) + IH_GPU_BATCH_CLIPS) * sizeof *p->parts->sums +
                              planes_of(p) * IH_BINS * sizeof *p->parts->bins;
    cudaError_t e;
    if (p->n_parts > 0) {
        e = count_rows(p, image, stream);
        if (e == cudaSuccess)
            e = cudaMemcpyAsync(p->parts, p->d_parts, p->n_parts * part_bytes,
                                cudaMemcpyDeviceToHost, stream);
    } else {
        e = cudaMemsetAsync(p->d_totals, 0, sizeof *p->d_totals, stream);
        if (e == cudaSuccess)
            e = count_packed(p, image->data, p->n_pixels, stream);
        if (e == cudaSuccess)
            e = cudaMemcpyAsync(p->totals, p->d_totals, sizeof *p->totals, cudaMemcpyDeviceToHost,
                                stream);
    }
    return e == cudaSuccess ? cudaEventRecord(p->is_done, stream) : e;
}

/* Divides rows with gaps into parts of whole rows. */
static enum ih_status divide(struct ih_device_pixels *p, const struct ih_pixels *image,
                             struct ih_error *err)
{
    p->n_parts = 0;
    if (image->height < 2 || p->n_pixels == 0 ||
        (uint64_t)image->stride_bytes == image->width * image->n_channels)
        return IH_OK;
    const uint64_t n_rows = PART_PIXELS_MAX / image->width;
    const uint64_t n_parts = n_rows > 0 ? (image->height - 1) / n_rows + 1 : UINT64_MAX;
    if (n_parts > PARTS_MAX)
        return ih_error_set(err, IH_USAGE,
                            "rows with gaps: more than 2^31 pixels in a row, or 2^37 in all");
    p->n_parts = (uint32_t)n_parts;
    return IH_OK;
}

enum ih_status ih_device_pixels_count(struct ih_device_pixels *p, const struct ih_pixels *image,
                                      void *stream, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    if (p->is_enqueued)
        return ih_error_set(err, IH_USAGE, "the count before this one has not been finished");
    p->spec.layout = ih_layout_of(image->n_channels);
    p->n_pixels = image->width * image->height;
    if (divide(p, image, err) != IH_OK)
        return err->status;
    int before = ih_gpu_current();
    cudaSetDevice(p->unit.ordinal);
    if (p->n_pixels > 0)
        status = check_memory(p, image->data, err);
    if (status == IH_OK)
        status = to_status(p, pixels_enqueue(p, image, stream), "cannot enqueue the count", err);
    ih_gpu_make_current(before);
    p->is_enqueued = status == IH_OK;
    return status;
}

/* Adds the counts of the parts up. Returns as ih_histogram_init. */
static enum ih_status read_parts(const struct ih_device_pixels *p, struct ih_histogram *out,
                                 struct ih_error *err)
{
    const unsigned n_planes = planes_of(p);
    const unsigned long long *sums = p->parts->sums;
    const uint32_t *bins = (const uint32_t *)(sums + p->n_parts * (n_planes + IH_GPU_BATCH_CLIPS));
    if (ih_histogram_init(out, &p->spec, err) != IH_OK)
        return IH_MEMORY;
    out->n_pixels = p->n_pixels;
    for (uint32_t i = 0; i < p->n_parts; i++) {
        for (unsigned plane = 0; plane < n_planes; plane++) {
            for (unsigned v = 0; v < IH_BINS; v++)
                out->bins[plane * IH_BINS + v] += *bins++;
            out->sums[plane] += *sums++;
        }
        out->any_low += *sums++;
        out->any_high += *sums++;
        out->all_low += *sums++;
        out->all_high += *sums++;
    }
    ih_histogram_derive(out, &p->spec);
    return IH_OK;
}

enum ih_status ih_device_pixels_finish(struct ih_device_pixels *p, struct ih_histogram *out,
                                       const char **kernel, struct ih_error *err)
{
    if (!p->is_enqueued)
        return ih_error_set(err, IH_USAGE, "no count has been enqueued");
    p->is_enqueued = false;
    cudaError_t e = cudaEventSynchronize(p->is_done);
    if (e != cudaSuccess)
        return to_status(p, e, "counting failed", err);
    const enum ih_status status =
        p->n_parts > 0 ? read_parts(p, out, err)
                       : ih_gpu_totals_read(p->totals, &p->spec, p->n_pixels, out, err);
    if (status != IH_OK)
        return status;
    *kernel = p->n_parts > 0 ? "batch" : ih_cuda_kernels[0].name;
    if (!ih_histogram_consistent(out)) {
        ih_histogram_reset(out);
        return ih_error_set(err, IH_DEVICE, "cuda:%d: the counts do not add up", p->unit.ordinal);
    }
    return IH_OK;
}

#else /* a build without CUDA */

static enum ih_status no_cuda(struct ih_error *err)
{
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}

enum ih_status ih_device_pixels_open(int gpu, const char *kernel, const struct ih_count_spec *spec,
                                     struct ih_device_pixels **pixels, struct ih_error *err)
{
    (void)gpu, (void)kernel, (void)spec, (void)pixels;
    return no_cuda(err);
}

void ih_device_pixels_close(struct ih_device_pixels *pixels)
{
    (void)pixels;
}

enum ih_status ih_device_pixels_count(struct ih_device_pixels *pixels,
                                      const struct ih_pixels *image, void *stream,
                                      struct ih_error *err)
{
    (void)pixels, (void)image, (void)stream;
    return no_cuda(err);
}

enum ih_status ih_device_pixels_finish(struct ih_device_pixels *pixels, struct ih_histogram *out,
                                       const char **kernel, struct ih_error *err)
{
    (void)pixels, (void)out, (void)kernel;
    return no_cuda(err);
}

int ih_gpu_current(void)
{
    return -1;
}

void ih_gpu_make_current(int gpu)
{
    (void)gpu;
}

#endif
