/*
 * The JPEG engines of NVIDIA GPUs, through nvJPEG.
 *
 *     files of a batch -> engines -> planes of Y, Cb, Cr -> kernel (ycc, rows) -> totals -> host
 *
 * Everything of a batch is enqueued on one stream, and only the totals come back. The engines give
 * planes, not RGB: nvJPEG's upsampling of chroma is another than libjpeg-turbo's, its planes are
 * the same in every byte. So they were on the GPUs that GENERATIONS lists, as long as no
 * coefficient is absurdly large (decode/jpeg_walk.h); on others nobody has looked, and no file is
 * given to them.
 *
 * Device memory: the planes of a batch, at most IH_JPEG_PLANES_BYTES_MAX, and nvJPEG's own, which
 * is IMAGE_SLOTS times that of the widest and highest image it was told to expect. Left to itself
 * it takes memory anew for every batch, and decodes 1,800 MP/s on an H100 where it can do 6,900; so
 * it is told before a larger image comes. Images whose slots would take more than a
 * SLOTS_MEMORY_PARTth of the GPU's memory are not taken. Pinned memory is nvJPEG's, for the files
 * of a batch, and 11 KB for each file's totals.
 *
 * Rejected: one file at a time from every worker. The files of different calls all go to the same
 * engine, whatever the number of threads, states and handles (1,300 MP/s).
 */
#define _POSIX_C_SOURCE 200809L

#include "backend/cuda_unit.h"
#include "backend/gpu_totals.h"
#include "backend/jpeg_planes.h"
#include "backend/nvjpeg_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compute capabilities, times ten, whose engines were compared with libjpeg-turbo. */
static const int GENERATIONS[] = {90};

enum {
    PLANES_MAX = 3,
    SIDE_MAX = 16384, /* the engines take no longer side */
    SIZE_STEP = 512,  /* pixels that nvJPEG is told to expect come in such steps */
    IMAGE_SLOTS = 28, /* seen: what it takes is 84 bytes a pixel for 4:4:4 */
    SLOTS_MEMORY_PART = 8,
};

struct engine {
    const struct ih_cuda_unit *unit;
    struct ih_nvjpeg nvjpeg;
    char version[48], description[400];
    nvjpegHandle_t handle;
    nvjpegJpegState_t state;
    cudaStream_t stream;
    cudaEvent_t is_done;
    struct ih_jpeg_planes planes;
    struct ih_gpu_totals *d_totals, *totals; /* [IH_JPEG_BATCH_MAX]; on the device, and pinned */
    uint32_t width_max, height_max;          /* what nvJPEG has been told to expect */
    uint64_t slots_bytes_max;
};

static enum ih_status nvjpeg_failed(const struct engine *e, nvjpegStatus_t status, const char *what,
                                    struct ih_error *err)
{
    return ih_error_set(err, IH_DEVICE, "%s: %s: status %d", e->version, what, (int)status);
}

/* ---- starting ---- */

static enum ih_status check_generation(const struct ih_cuda_unit *unit, struct ih_error *err)
{
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, unit->ordinal);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, unit->ordinal);
    for (size_t i = 0; i < sizeof GENERATIONS / sizeof GENERATIONS[0]; i++)
        if (GENERATIONS[i] == major * 10 + minor)
            return IH_OK;
    return ih_error_set(err, IH_UNAVAILABLE,
                        "%s: JPEG engines of compute capability %d.%d have not been compared with "
                        "libjpeg-turbo",
                        unit->description, major, minor);
}

static enum ih_status open_nvjpeg(struct engine *e, struct ih_error *err)
{
    unsigned n_engines = 0, n_cores = 0;
    enum ih_status status = ih_nvjpeg_load(&e->nvjpeg, e->version, sizeof e->version, err);
    if (status != IH_OK)
        return status;
    nvjpegStatus_t s = e->nvjpeg.nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE, NULL, NULL, 0, &e->handle);
    if (s == NVJPEG_STATUS_SUCCESS)
        s = e->nvjpeg.nvjpegGetHardwareDecoderInfo(e->handle, &n_engines, &n_cores);
    if (s == NVJPEG_STATUS_SUCCESS)
        s = e->nvjpeg.nvjpegJpegStateCreate(e->handle, &e->state);
    if (s != NVJPEG_STATUS_SUCCESS || n_engines == 0)
        return ih_error_set(err, IH_UNAVAILABLE, "%s: %s gives no JPEG engines: status %d",
                            e->version, e->unit->description, (int)s);
    snprintf(e->description, sizeof e->description, "%s, %u engines of %s", e->version, n_engines,
             e->unit->description);
    return IH_OK;
}

static cudaError_t allocate(struct engine *e)
{
    size_t n_free, n_bytes = 0;
    cudaError_t c = cudaMemGetInfo(&n_free, &n_bytes);
    e->slots_bytes_max = n_bytes / SLOTS_MEMORY_PART;
    if (c == cudaSuccess)
        c = cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking);
    if (c == cudaSuccess) /* while the engines work, this thread's processor has files to walk */
        c = cudaEventCreateWithFlags(&e->is_done, cudaEventDisableTiming | cudaEventBlockingSync);
    if (c == cudaSuccess)
        c = cudaMalloc((void **)&e->d_totals, IH_JPEG_BATCH_MAX * sizeof *e->d_totals);
    if (c == cudaSuccess)
        c = cudaHostAlloc((void **)&e->totals, IH_JPEG_BATCH_MAX * sizeof *e->totals,
                          cudaHostAllocDefault);
    return c;
}

static void stop(void *engine)
{
    struct engine *e = engine;
    cudaSetDevice(e->unit->ordinal);
    if (e->stream)
        cudaStreamSynchronize(e->stream);
    if (e->state)
        e->nvjpeg.nvjpegJpegStateDestroy(e->state);
    if (e->handle)
        e->nvjpeg.nvjpegDestroy(e->handle);
    cudaFree(e->planes.d_bytes);
    cudaFree(e->d_totals);
    cudaFreeHost(e->totals);
    if (e->is_done)
        cudaEventDestroy(e->is_done);
    if (e->stream)
        cudaStreamDestroy(e->stream);
    free(e);
}

static enum ih_status start(void *unit, void **engine, struct ih_error *err)
{
    enum ih_status status = check_generation(unit, err);
    if (status != IH_OK)
        return status;
    struct engine *e = calloc(1, sizeof *e);
    if (!e)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    e->unit = unit;
    /* nvJPEG asks the driver for the thread's current context, which it does not set itself. */
    cudaError_t c = cudaSetDevice(e->unit->ordinal);
    if (c == cudaSuccess)
        status = open_nvjpeg(e, err);
    if (c == cudaSuccess && status == IH_OK)
        c = allocate(e);
    if (c != cudaSuccess)
        status = ih_cuda_failed(err, c, "cannot set up the JPEG engines");
    if (status == IH_OK)
        *engine = e;
    else
        stop(e);
    return status;
}

static const char *describe(void *engine)
{
    const struct engine *e = engine;
    return e->description;
}

/* ---- a batch ---- */

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

/* Whether nvJPEG may be told to expect images of this size. One that the engines do not take would
 * fail the whole batch. */
static bool may_expect(const struct engine *e, uint32_t width, uint32_t height)
{
    return width <= SIDE_MAX && height <= SIDE_MAX &&
           round_up(width, SIZE_STEP) * round_up(height, SIZE_STEP) <=
               e->slots_bytes_max / (PLANES_MAX * IMAGE_SLOTS);
}

static nvjpegStatus_t expect(struct engine *e, uint32_t width, uint32_t height)
{
    if (width <= e->width_max && height <= e->height_max)
        return NVJPEG_STATUS_SUCCESS;
    if (width > e->width_max)
        e->width_max = (uint32_t)round_up(width, SIZE_STEP);
    if (height > e->height_max)
        e->height_max = (uint32_t)round_up(height, SIZE_STEP);
    return e->nvjpeg.nvjpegDecodeBatchedPreAllocate(e->handle, e->state, IH_JPEG_BATCH_MAX,
                                                    (int)e->width_max, (int)e->height_max,
                                                    NVJPEG_CSS_444, NVJPEG_OUTPUT_YUV);
}

/* Decodes, counts, and waits for the totals. */
static enum ih_status run(struct engine *e, struct ih_jpeg_job *const *jobs, unsigned n,
                          nvjpegImage_t *images, struct ih_error *err)
{
    const unsigned char *streams[IH_JPEG_BATCH_MAX];
    size_t stream_bytes[IH_JPEG_BATCH_MAX];
    uint32_t width = 0, height = 0;
    for (unsigned i = 0; i < n; i++) {
        streams[i] = jobs[i]->stream;
        stream_bytes[i] = jobs[i]->stream_bytes;
        width = jobs[i]->width > width ? jobs[i]->width : width;
        height = jobs[i]->height > height ? jobs[i]->height : height;
    }
    nvjpegStatus_t s = expect(e, width, height);
    if (s == NVJPEG_STATUS_SUCCESS)
        s = e->nvjpeg.nvjpegDecodeBatchedInitialize(e->handle, e->state, (int)n, 1,
                                                    NVJPEG_OUTPUT_YUV);
    if (s == NVJPEG_STATUS_SUCCESS)
        s = e->nvjpeg.nvjpegDecodeBatched(e->handle, e->state, streams, stream_bytes, images,
                                          e->stream);
    if (s != NVJPEG_STATUS_SUCCESS)
        return nvjpeg_failed(e, s, "cannot decode a batch", err);
    cudaError_t c = cudaMemsetAsync(e->d_totals, 0, n * sizeof *e->d_totals, e->stream);
    for (unsigned i = 0; c == cudaSuccess && i < n; i++)
        c = ih_jpeg_planes_count(e->unit, jobs[i], &images[i], &e->d_totals[i], e->stream);
    if (c == cudaSuccess)
        c = cudaMemcpyAsync(e->totals, e->d_totals, n * sizeof *e->totals, cudaMemcpyDeviceToHost,
                            e->stream);
    if (c == cudaSuccess)
        c = cudaEventRecord(e->is_done, e->stream);
    if (c == cudaSuccess)
        c = cudaEventSynchronize(e->is_done);
    if (c == cudaSuccess)
        return IH_OK;
    cudaStreamSynchronize(e->stream); /* the streams are the callers' again */
    return ih_cuda_failed(err, c, "counting JPEG planes");
}

static enum ih_status finish(const struct engine *e, struct ih_jpeg_job *job,
                             const struct ih_gpu_totals *totals)
{
    ih_gpu_totals_read(totals, &job->spec, (uint64_t)job->width * job->height, job->out);
    job->counted_by = e->unit->description;
    job->decoder = e->version;
    job->kernel = job->n_components == 1 ? "rows" : "ycc";
    return ih_histogram_consistent(job->out)
               ? IH_OK
               : ih_error_set(&job->error, IH_DEVICE, "%s: counts that do not add up", e->version);
}

static enum ih_status batch(void *engine, struct ih_jpeg_job *const *jobs, unsigned n,
                            struct ih_error *err)
{
    struct engine *e = engine;
    struct ih_jpeg_job *left[IH_JPEG_BATCH_MAX];
    nvjpegImage_t images[IH_JPEG_BATCH_MAX];
    enum ih_status status = IH_OK;
    uint32_t width = e->width_max, height = e->height_max;
    unsigned n_left = 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t w = jobs[i]->width > width ? jobs[i]->width : width;
        uint32_t h = jobs[i]->height > height ? jobs[i]->height : height;
        if (may_expect(e, w, h)) {
            left[n_left++] = jobs[i];
            width = w, height = h;
        } else {
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_LIMIT, "too large for the engines");
        }
    }
    for (unsigned i = 0, n_run; i < n_left; i += n_run) {
        n_run = status == IH_OK ? ih_jpeg_planes_place(&e->planes, left + i, n_left - i, images)
                                : n_left - i;
        if (n_run == 0) {
            status = ih_error_set(err, IH_MEMORY, "no GPU memory for the planes of JPEG files");
            n_run = n_left - i;
        } else if (status == IH_OK) {
            status = run(e, left + i, n_run, images, err);
        }
        for (unsigned k = i; k < i + n_run; k++) {
            if (status == IH_OK)
                left[k]->status = finish(e, left[k], &e->totals[k - i]);
            else
                left[k]->error = *err, left[k]->status = status;
        }
    }
    return status;
}

const struct ih_jpeg_backend ih_jpeg_cuda = {
    .start = start,
    .describe = describe,
    .batch = batch,
    .stop = stop,
};
