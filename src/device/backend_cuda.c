/*
 * The CUDA backend. Each lane has its own stream and sends stripes through two pinned buffers:
 *
 *     host     decode 0 | decode 1 | decode 2 ...
 *     copy              | copy 0   | copy 1
 *     kernel            |  count 0 |  count 1
 *
 * While one stripe is copied and counted, the worker decodes the next into the other buffer.
 * Kernels add to one set of 64-bit totals in device memory, which is read back at the end of the
 * image.
 *
 * - JPEG photos arrive as planes, unless the user named a kernel. With 4:2:0 that is half the bytes
 *   of RGB, and the GPU does the upsampling and the colour conversion.
 * - A stripe has 1 MiB. Its copy takes 19 us over PCIe 5 and hides the kernel; a worker takes more
 *   than 300 us to decode it. Larger stripes only take more pinned memory; with smaller ones,
 * launch overhead shows.
 */
#include "device/backend.h"
#include "device/cuda_unit.h"

#include <stdlib.h>
#include <string.h>

enum { STRIPE_BYTES = 1 << 20, N_SLOTS = 2 };

struct slot {
    uint8_t *pixels, *d_pixels; /* pinned, and on the device; size_bytes each */
    size_t size_bytes;
    cudaEvent_t is_free; /* the last copy and kernel that use this slot are done */
};

struct cuda_lane {
    const struct ih_cuda_unit *device;
    struct ih_count_spec spec;
    cudaStream_t stream;
    struct slot slots[N_SLOTS];
    unsigned current;                        /* the slot handed out last */
    struct ih_gpu_totals *d_totals, *totals; /* on the device, and pinned */
    /* Of native samples: [planes][n_bins], then the clip counts. On the device, and pinned. */
    unsigned long long *d_native, *native;
    size_t n_native; /* counters allocated in both */
    uint64_t n_pixels;
    bool has_planes; /* the image comes as planes */
};

/* ---- a lane ---- */

/* Every call makes the lane's GPU current: another lane, or a user of the library, may have changed
 * the thread's current device. This takes less than a microsecond. */
static cudaError_t use_device(const struct cuda_lane *l)
{
    return cudaSetDevice(l->device->ordinal);
}

static void slot_release(struct slot *slot)
{
    cudaFreeHost(slot->pixels);
    cudaFree(slot->d_pixels);
    slot->pixels = slot->d_pixels = NULL;
    slot->size_bytes = 0;
}

/* Reallocates the slot, to at least STRIPE_BYTES. On failure the slot is empty. */
static cudaError_t slot_grow(struct slot *slot, size_t min_bytes)
{
    const size_t size_bytes = min_bytes > STRIPE_BYTES ? min_bytes : STRIPE_BYTES;
    slot_release(slot);
    cudaError_t e = cudaHostAlloc((void **)&slot->pixels, size_bytes, cudaHostAllocDefault);
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&slot->d_pixels, size_bytes);
    if (e == cudaSuccess)
        slot->size_bytes = size_bytes;
    else
        slot_release(slot);
    return e;
}

static void lane_close(void *lane)
{
    struct cuda_lane *l = lane;
    use_device(l);
    if (l->stream)
        cudaStreamSynchronize(l->stream); /* before its memory is freed */
    for (int i = 0; i < N_SLOTS; i++) {
        slot_release(&l->slots[i]);
        if (l->slots[i].is_free)
            cudaEventDestroy(l->slots[i].is_free);
    }
    cudaFree(l->d_totals);
    cudaFreeHost(l->totals);
    cudaFree(l->d_native);
    cudaFreeHost(l->native);
    if (l->stream)
        cudaStreamDestroy(l->stream);
    free(l);
}

static cudaError_t lane_allocate(struct cuda_lane *l)
{
    cudaError_t e = use_device(l);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&l->d_totals, sizeof *l->d_totals);
    if (e == cudaSuccess)
        e = cudaHostAlloc((void **)&l->totals, sizeof *l->totals, cudaHostAllocDefault);
    for (int i = 0; e == cudaSuccess && i < N_SLOTS; i++) {
        e = cudaEventCreateWithFlags(&l->slots[i].is_free, cudaEventDisableTiming);
        if (e == cudaSuccess)
            e = slot_grow(&l->slots[i], STRIPE_BYTES);
    }
    return e;
}

static enum ih_status lane_open(void *state, void **lane, struct ih_error *err)
{
    struct cuda_lane *l = calloc(1, sizeof *l);
    if (!l)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    l->device = state;
    const cudaError_t e = lane_allocate(l);
    if (e == cudaSuccess)
        *lane = l;
    else
        lane_close(l);
    return ih_cuda_status(err, e, "cannot open a GPU stream");
}

/* ---- native samples ---- */

/* The planes that the kernel counts: luma and clip counts of gray follow from its bins. */
static unsigned native_planes(const struct ih_count_spec *spec)
{
    return spec->layout.n_channels + (spec->layout.n_channels >= 3);
}

static size_t native_counters(const struct ih_count_spec *spec)
{
    return (size_t)native_planes(spec) * spec->n_bins + IH_GPU_BATCH_CLIPS;
}

static cudaError_t native_begin(struct cuda_lane *l)
{
    const size_t n = native_counters(&l->spec);
    cudaError_t e = cudaSuccess;
    if (n > l->n_native) {
        cudaFree(l->d_native);
        cudaFreeHost(l->native);
        l->d_native = l->native = NULL;
        l->n_native = 0;
        e = cudaMalloc((void **)&l->d_native, n * sizeof *l->native);
        if (e == cudaSuccess)
            e = cudaHostAlloc((void **)&l->native, n * sizeof *l->native, cudaHostAllocDefault);
        if (e == cudaSuccess)
            l->n_native = n;
    }
    return e == cudaSuccess ? cudaMemsetAsync(l->d_native, 0, n * sizeof *l->native, l->stream) : e;
}

/* Counts the current slot's pixels. */
static cudaError_t native_count(const struct cuda_lane *l, uint64_t n_pixels)
{
    const struct ih_gpu_wide_args args = {
        .d_pixels = (const uint16_t *)l->slots[l->current].d_pixels,
        .n_pixels = n_pixels,
        .n_images = 1,
        .n_channels = l->spec.layout.n_channels,
        .n_bins = l->spec.n_bins,
        .has_luma = l->spec.layout.n_channels >= 3,
        .measures = ih_gpu_measures_make(&l->spec),
        .d_bins = l->d_native,
        .d_clips = l->d_native + native_counters(&l->spec) - IH_GPU_BATCH_CLIPS,
        .gpu = &l->device->gpu,
        .stream = l->stream,
    };
    return ih_histogram_wide(&args);
}

/* Converts the counters, copied back, to a histogram. out is overwritten. */
static enum ih_status native_read(const struct cuda_lane *l, struct ih_histogram *out,
                                  struct ih_error *err)
{
    const size_t n_bins = l->spec.n_bins;
    const unsigned long long *clips = l->native + native_planes(&l->spec) * n_bins;
    const enum ih_status status = ih_histogram_init_unset(out, &l->spec, err);
    if (status != IH_OK)
        return status;
    out->n_pixels = l->n_pixels;
    for (unsigned i = 0; i < ih_own_planes(out); i++) /* not luma, if it is not asked for */
        for (size_t v = 0; v < n_bins; v++) {
            const uint64_t n = l->native[i * n_bins + v];
            out->bins[i * n_bins + v] = n;
            out->sums[i] += v * n;
        }
    out->any_low = clips[0];
    out->any_high = clips[1];
    out->all_low = clips[2];
    out->all_high = clips[3];
    ih_histogram_derive(out, &l->spec);
    return IH_OK;
}

/* ---- counting ---- */

static enum ih_status begin(void *lane, const struct ih_count_spec *spec, struct ih_error *err)
{
    struct cuda_lane *l = lane;
    l->spec = *spec;
    l->n_pixels = 0;
    l->has_planes = false;
    cudaError_t e = use_device(l);
    if (e == cudaSuccess) /* in stream order: after the work of an unfinished image */
        e = ih_sample_bytes(spec->type) > 1
                ? native_begin(l)
                : cudaMemsetAsync(l->d_totals, 0, sizeof *l->d_totals, l->stream);
    return ih_cuda_status(err, e, "GPU");
}

static enum ih_status stripe(void *lane, size_t min_bytes, uint8_t **pixels, size_t *size_bytes,
                             struct ih_error *err)
{
    struct cuda_lane *l = lane;
    l->current = (l->current + 1) % N_SLOTS;
    struct slot *slot = &l->slots[l->current];
    cudaError_t e = use_device(l);
    if (e == cudaSuccess)
        e = cudaEventSynchronize(slot->is_free);
    if (e == cudaSuccess && slot->size_bytes < min_bytes)
        e = slot_grow(slot, min_bytes);
    *pixels = slot->pixels;
    *size_bytes = slot->size_bytes;
    return ih_cuda_status(err, e, "GPU");
}

/* Copies the current slot's first bytes to the device. */
static cudaError_t upload(const struct cuda_lane *l, size_t size_bytes)
{
    const struct slot *slot = &l->slots[l->current];
    cudaError_t e = use_device(l);
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(slot->d_pixels, slot->pixels, size_bytes, cudaMemcpyHostToDevice,
                            l->stream);
    return e;
}

/* To be called after a launch over the current slot. e: its result. */
static enum ih_status finish_launch(struct cuda_lane *l, cudaError_t e, uint64_t n_pixels,
                                    struct ih_error *err)
{
    if (e == cudaSuccess)
        e = cudaEventRecord(l->slots[l->current].is_free, l->stream);
    l->n_pixels += n_pixels;
    return ih_cuda_status(err, e, "GPU");
}

static enum ih_status count(void *lane, size_t n_pixels, struct ih_error *err)
{
    struct cuda_lane *l = lane;
    const struct ih_gpu_histogram_args args = ih_cuda_args(
        l->device, &l->spec, l->slots[l->current].d_pixels, n_pixels, l->d_totals, l->stream);
    cudaError_t e = upload(l, n_pixels * ih_pixel_bytes(l->spec.layout.n_channels, l->spec.type));
    if (e == cudaSuccess)
        e = ih_sample_bytes(l->spec.type) > 1 ? native_count(l, n_pixels)
                                              : ih_histogram_replicated(&args);
    return finish_launch(l, e, n_pixels, err);
}

static enum ih_status count_planes(void *lane, const struct ih_planes *planes, struct ih_error *err)
{
    struct cuda_lane *l = lane;
    const struct slot *slot = &l->slots[l->current];
    struct ih_gpu_planes_args args = {
        .width = planes->width,
        .height = planes->height,
        .chroma_h = planes->chroma_h,
        .chroma_v = planes->chroma_v,
        .first_row = planes->row,
        .n_rows = planes->n_rows,
        .measures = ih_gpu_measures_make(&l->spec),
        .d_totals = l->d_totals,
        .gpu = &l->device->gpu,
        .stream = l->stream,
    };
    for (int i = 0; i < 3; i++) {
        args.d_planes[i] = slot->d_pixels + (planes->planes[i] - slot->pixels);
        args.pitch_bytes[i] = planes->pitch_bytes[i];
    }
    l->has_planes = true;
    cudaError_t e = upload(l, planes->size_bytes);
    if (e == cudaSuccess)
        e = ih_histogram_ycc(&args);
    return finish_launch(l, e, (uint64_t)planes->width * planes->n_rows, err);
}

static enum ih_status cuda_end(void *lane, struct ih_histogram *out, const char **kernel,
                               struct ih_error *err)
{
    struct cuda_lane *l = lane;
    cudaError_t e = use_device(l);
    const bool is_native = ih_sample_bytes(l->spec.type) > 1;
    if (e == cudaSuccess)
        e = is_native ? cudaMemcpyAsync(l->native, l->d_native,
                                        native_counters(&l->spec) * sizeof *l->native,
                                        cudaMemcpyDeviceToHost, l->stream)
                      : cudaMemcpyAsync(l->totals, l->d_totals, sizeof *l->totals,
                                        cudaMemcpyDeviceToHost, l->stream);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(l->stream);
    if (e != cudaSuccess)
        return ih_cuda_status(err, e, "GPU");
    if (is_native) {
        *kernel = "wide";
        return native_read(l, out, err);
    }
    *kernel = l->has_planes ? "ycc" : ih_cuda_kernels[0].name;
    return ih_gpu_totals_read(l->totals, &l->spec, l->n_pixels, out, err);
}

/* ---- a unit: one GPU ---- */

/* Counts one pixel: loads the kernel and checks that this GPU can run it. */
static enum ih_status try_out(struct ih_cuda_unit *d, struct ih_error *err)
{
    struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_histogram h = {.bins = NULL};
    void *lane = NULL;
    uint8_t *pixels;
    size_t size_bytes;
    const char *kernel;
    enum ih_status status = lane_open(d, &lane, err);
    if (status == IH_OK && (status = begin(lane, &spec, err)) == IH_OK &&
        (status = stripe(lane, 3, &pixels, &size_bytes, err)) == IH_OK) {
        memset(pixels, 255, 3);
        status = count(lane, 1, err);
        if (status == IH_OK)
            status = cuda_end(lane, &h, &kernel, err);
        if (status == IH_OK && (!ih_histogram_consistent(&h) || h.all_high != 1))
            status = ih_error_set(err, IH_DEVICE, "%s counts wrong", d->description);
    }
    ih_histogram_reset(&h);
    if (lane)
        lane_close(lane);
    return status;
}

static enum ih_status n_units(int *n, struct ih_error *err)
{
    cudaError_t e = cudaGetDeviceCount(n);
    if (e == cudaSuccess && *n > 0)
        return IH_OK;
    return ih_error_set(err, IH_UNAVAILABLE, "no usable NVIDIA GPU: %s", ih_cuda_why_no_gpu(e));
}

static enum ih_status cuda_start(const struct ih_backend_options *options, int ordinal,
                                 void **state, struct ih_error *err)
{
    struct ih_cuda_unit *d = calloc(1, sizeof *d);
    if (!d)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status =
        ih_cuda_status(err, ih_cuda_unit_init(d, ordinal, options->kernel), "cannot open the GPU");
    if (status == IH_OK)
        status = try_out(d, err);
    if (status == IH_OK)
        *state = d;
    else
        free(d);
    return status;
}

static const char *describe(void *state)
{
    const struct ih_cuda_unit *d = state;
    return d->description;
}

/* The table of the kernel fits into shared memory. */
static bool takes_native(void *state)
{
    const struct ih_cuda_unit *d = state;
    return d->gpu.shared_bytes_optin >= IH_GPU_WIDE_SHARED_BYTES;
}

static bool takes_planes(void *state)
{
    const struct ih_cuda_unit *d = state;
    return d->takes_planes;
}

const struct ih_backend ih_backend_cuda = {
    .name = "cuda",
    .kernels = ih_cuda_kernels,
    .n_units = n_units,
    .start = cuda_start,
    .stop = free, /* the CUDA context stays: a user of the library may use it too */
    .describe = describe,
    .lane_open = lane_open,
    .lane_close = lane_close,
    .begin = begin,
    .stripe = stripe,
    .count = count,
    .takes_native = takes_native,
    .takes_planes = takes_planes,
    .count_planes = count_planes,
    .end = cuda_end,
};
