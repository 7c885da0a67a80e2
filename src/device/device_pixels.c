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
    LAUNCH_PIXELS_MAX = 1 << 30
};

struct ih_device_pixels {
    struct ih_cuda_unit unit;
    struct ih_count_spec spec;      /* of the count that is enqueued */
    struct ih_gpu_totals *d_totals; /* followed by WARM_UP_BYTES */
    struct ih_gpu_totals *totals;   /* pinned */
    cudaEvent_t is_done;
    uint64_t n_pixels;
    bool is_enqueued, has_rows; /* counted in rows with gaps */
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

/* Runs every kernel on a few zeros. */
static cudaError_t warm_up(struct ih_device_pixels *p)
{
    cudaStream_t stream;
    cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (e != cudaSuccess)
        return e;
    e = cudaMemsetAsync(p->d_totals, 0, sizeof *p->d_totals + WARM_UP_BYTES, stream);
    for (unsigned c = 1; e == cudaSuccess && c <= IH_CHANNELS_MAX; c++) {
        p->spec.n_channels = c;
        const struct ih_gpu_histogram_args args =
            make_args(p, (const uint8_t *)(p->d_totals + 1), WARM_UP_BYTES / c, stream);
        e = ih_cuda_launch(&p->unit, &args);
        if (e == cudaSuccess)
            e = ih_histogram_rows(&args, args.n_pixels, args.n_pixels * c);
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
        e = cudaEventCreateWithFlags(&p->is_done, cudaEventDisableTiming);
    return e;
}

/* Opens a GPU, the thread's current device. */
static enum ih_status prepare(struct ih_device_pixels *p, int gpu, const char *kernel,
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
        status = prepare(p, gpu, kernel, err);
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
        e = ih_cuda_launch(&p->unit, &args);
        d_pixels += n * p->spec.n_channels;
        n_pixels -= n;
    }
    return e;
}

static cudaError_t count_rows(const struct ih_device_pixels *p, const struct ih_pixels *image,
                              cudaStream_t stream)
{
    const uint8_t *d_row = image->data;
    const uint64_t stride_bytes = (uint64_t)image->stride_bytes;
    cudaError_t e = cudaSuccess;
    for (uint64_t y = 0, n; e == cudaSuccess && y < image->height; y += n) {
        n = 1;
        if (image->width > LAUNCH_PIXELS_MAX / 2) {
            e = count_packed(p, d_row, image->width, stream);
        } else {
            n = LAUNCH_PIXELS_MAX / image->width;
            n = n < image->height - y ? n : image->height - y;
            const struct ih_gpu_histogram_args args = make_args(p, d_row, n * image->width, stream);
            e = ih_histogram_rows(&args, image->width, stride_bytes);
        }
        d_row += n * stride_bytes;
    }
    return e;
}

static cudaError_t enqueue(struct ih_device_pixels *p, const struct ih_pixels *image,
                           cudaStream_t stream)
{
    cudaError_t e = cudaMemsetAsync(p->d_totals, 0, sizeof *p->d_totals, stream);
    if (e == cudaSuccess)
        e = p->has_rows ? count_rows(p, image, stream)
                        : count_packed(p, image->data, p->n_pixels, stream);
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(p->totals, p->d_totals, sizeof *p->totals, cudaMemcpyDeviceToHost,
                            stream);
    if (e == cudaSuccess)
        e = cudaEventRecord(p->is_done, stream);
    return e;
}

enum ih_status ih_device_pixels_count(struct ih_device_pixels *p, const struct ih_pixels *image,
                                      void *stream, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    if (p->is_enqueued)
        return ih_error_set(err, IH_USAGE, "the count before this one has not been finished");
    p->spec.n_channels = image->n_channels;
    p->n_pixels = image->width * image->height;
    p->has_rows = image->height > 1 && p->n_pixels > 0 &&
                  (uint64_t)image->stride_bytes != image->width * image->n_channels;
    int before = ih_gpu_current();
    cudaSetDevice(p->unit.ordinal);
    if (p->n_pixels > 0)
        status = check_memory(p, image->data, err);
    if (status == IH_OK)
        status = to_status(p, enqueue(p, image, stream), "cannot enqueue the count", err);
    ih_gpu_make_current(before);
    p->is_enqueued = status == IH_OK;
    return status;
}

enum ih_status ih_device_pixels_finish(struct ih_device_pixels *p, struct ih_histogram *out,
                                       struct ih_count_spec *spec, const char **kernel,
                                       struct ih_error *err)
{
    if (!p->is_enqueued)
        return ih_error_set(err, IH_USAGE, "no count has been enqueued");
    p->is_enqueued = false;
    cudaError_t e = cudaEventSynchronize(p->is_done);
    if (e != cudaSuccess)
        return to_status(p, e, "counting failed", err);
    ih_gpu_totals_read(p->totals, &p->spec, p->n_pixels, out);
    *spec = p->spec;
    *kernel = p->has_rows ? "rows" : ih_cuda_kernels[p->unit.kernel].name;
    if (!ih_histogram_consistent(out))
        return ih_error_set(err, IH_DEVICE, "cuda:%d: the counts do not add up", p->unit.ordinal);
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
                                       struct ih_count_spec *spec, const char **kernel,
                                       struct ih_error *err)
{
    (void)pixels, (void)out, (void)spec, (void)kernel;
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
