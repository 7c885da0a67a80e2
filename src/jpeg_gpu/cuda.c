/*
 * The JPEG engines of NVIDIA GPUs, through nvJPEG.
 *
 *     files of a batch -> engines -> planes of Y, Cb, Cr -> kernel (ycc, rows) -> totals -> host
 *
 * Everything of a batch is enqueued on one stream, and only the totals come back. Of each GPU two
 * batches are under way, each with a handle, a state and a stream of its own, as copying the files
 * of a batch takes nvJPEG half the time that the engines have for them: 6,880 MP/s in place of
 * 6,200 on 24 detailed photos, and 7,000 with three (H100, nvJPEG 13.0, 2026-11-21).
 *
 * The engines give planes, not RGB: nvJPEG's upsampling of chroma is another than libjpeg-turbo's,
 * its planes are the same in every byte. So they were on the GPUs that GENERATIONS lists, as long
 * as no coefficient is absurdly large (jpeg_gpu/validate.h); on others nobody has looked, and no
 * file is given to them.
 *
 * Device memory, for each of the two, kept until the end: the planes of the largest batch so far,
 * at most IH_JPEG_PLANES_BYTES_MAX, and nvJPEG's own, which is IMAGE_SLOTS times that of the image
 * that it was told to expect: as wide as the widest and as high as the highest so far. Left to
 * itself it takes memory anew for every batch, and decodes 1,800 MP/s where it can do 6,900 (H100,
 * 2026-11-21); so it is told before a larger image comes. At most a SLOTS_MEMORY_PARTth of the
 * GPU's memory may go there: images that would need more are not taken, and where two would only
 * need it together, what was expected is forgotten between them (jpeg_sizes.h). Where memory is
 * short, both give back all they have, and the batch is tried file by file (jpeg_engines.c).
 *
 * Pinned memory, for each: nvJPEG's, into which it copies the files of a batch, at most
 * IH_JPEG_BATCH_BYTES_MAX; what it takes beside that it does not say. And 10 KB for each file's
 * totals.
 *
 * Rejected: one file at a time from every worker. The files of different calls all go to the same
 * engine, whatever the number of threads, states and handles, and the others stand idle.
 */
#define _POSIX_C_SOURCE 200809L

#include "device/cuda_unit.h"
#include "jpeg_gpu/nvjpeg_library.h"
#include "jpeg_gpu/planes.h"
#include "jpeg_gpu/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compute capabilities, times ten, whose engines were compared with libjpeg-turbo. */
static const int GENERATIONS[] = {90};

enum {
    PLANES_MAX = 3,
    IMAGE_SLOTS = 28, /* seen: what it takes is 84 bytes a pixel for 4:4:4 */
    SLOTS_MEMORY_PART = 8,
};

struct engine {
    const struct ih_cuda_unit *unit;
    struct ih_nvjpeg nvjpeg;
    char version[48], description[400];
    nvjpegHandle_t handle;
    nvjpegJpegState_t state;      /* NULL: to be made anew */
    struct ih_jpeg_size expected; /* what it was told */
    uint64_t expected_pixels_max;
    cudaStream_t stream;
    cudaEvent_t is_done;
    struct ih_jpeg_planes planes;
    struct ih_gpu_totals *d_totals, *totals; /* [IH_JPEG_BATCH_MAX]; on the device, and pinned */
};

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

static nvjpegStatus_t make_state(struct engine *e)
{
    nvjpegStatus_t s = e->nvjpeg.nvjpegJpegStateCreate(e->handle, &e->state);
    if (s != NVJPEG_STATUS_SUCCESS)
        e->state = NULL;
    return s;
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
        s = make_state(e);
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
    e->expected_pixels_max = n_bytes / SLOTS_MEMORY_PART / (PLANES_MAX * IMAGE_SLOTS);
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
    ih_jpeg_planes_release(&e->planes);
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

static enum ih_status nvjpeg_status(const struct engine *e, nvjpegStatus_t s, struct ih_error *err)
{
    if (s == NVJPEG_STATUS_SUCCESS)
        return IH_OK;
    if (s == NVJPEG_STATUS_ALLOCATOR_FAILURE)
        return ih_error_set(err, IH_MEMORY, "%s: out of GPU or pinned memory", e->version);
    return ih_error_set(err, IH_UNSUPPORTED, "%s: cannot decode: status %d", e->version, (int)s);
}

/* Gives back what nvJPEG took for images and files. Nothing may be under way. */
static void forget(struct engine *e)
{
    if (e->state)
        e->nvjpeg.nvjpegJpegStateDestroy(e->state);
    e->state = NULL;
    e->expected = (struct ih_jpeg_size){0, 0};
}

/* Sees to it that nvJPEG expects images of this size. */
static enum ih_status expect(struct engine *e, struct ih_jpeg_size size, struct ih_error *err)
{
    nvjpegStatus_t s = NVJPEG_STATUS_SUCCESS;
    if (ih_jpeg_size_covers(e->expected, size))
        return IH_OK;
    const struct ih_jpeg_size next = ih_jpeg_size_next(e->expected, size, e->expected_pixels_max);
    if (!ih_jpeg_size_covers(next, e->expected))
        forget(e);
    if (!e->state)
        s = make_state(e);
    if (s == NVJPEG_STATUS_SUCCESS)
        s = e->nvjpeg.nvjpegDecodeBatchedPreAllocate(e->handle, e->state, IH_JPEG_BATCH_MAX,
                                                     (int)next.width, (int)next.height,
                                                     NVJPEG_CSS_444, NVJPEG_OUTPUT_YUV);
    if (s == NVJPEG_STATUS_SUCCESS)
        e->expected = next;
    return nvjpeg_status(e, s, err);
}

/* Enqueues the decoding of a batch. */
static enum ih_status decode(struct engine *e, struct ih_jpeg_job *const *jobs, unsigned n,
                             nvjpegImage_t *images, struct ih_error *err)
{
    const unsigned char *streams[IH_JPEG_BATCH_MAX];
    size_t stream_bytes[IH_JPEG_BATCH_MAX];
    for (unsigned i = 0; i < n; i++) {
        streams[i] = jobs[i]->stream;
        stream_bytes[i] = jobs[i]->stream_bytes;
    }
    nvjpegStatus_t s =
        e->nvjpeg.nvjpegDecodeBatchedInitialize(e->handle, e->state, (int)n, 1, NVJPEG_OUTPUT_YUV);
    if (s == NVJPEG_STATUS_SUCCESS)
        s = e->nvjpeg.nvjpegDecodeBatched(e->handle, e->state, streams, stream_bytes, images,
                                          e->stream);
    return nvjpeg_status(e, s, err);
}

/* Counts what decode left, and waits for the totals. */
static enum ih_status count(struct engine *e, struct ih_jpeg_job *const *jobs, unsigned n,
                            const nvjpegImage_t *images, struct ih_error *err)
{
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
    return c == cudaSuccess ? IH_OK : ih_cuda_failed(err, c, "counting JPEG planes");
}

static enum ih_status finish(const struct engine *e, struct ih_jpeg_job *job,
                             const struct ih_gpu_totals *totals, struct ih_error *err)
{
    ih_gpu_totals_read(totals, &job->spec, (uint64_t)job->width * job->height, job->out);
    if (!ih_histogram_consistent(job->out)) /* no file can do that */
        return ih_error_set(err, IH_DEVICE, "%s: counts that do not add up", e->version);
    job->counted_by = e->unit->description;
    job->decoder = e->version;
    job->kernel = job->n_components == 1 ? "rows" : "ycc";
    job->status = IH_OK;
    return IH_OK;
}

/*
 * After a failure: waits until nothing uses the streams and planes any more, and gives back all
 * memory that grows, so that what comes next finds the engine as it was at its start. Whether that
 * is possible the GPU tells: after an error of its own it answers every call with it.
 *
 * Returns err's status, which says what has failed, or IH_DEVICE where the GPU has.
 */
static enum ih_status recover(struct engine *e, struct ih_error *err)
{
    cudaError_t c = cudaDeviceSynchronize(); /* nvJPEG has streams of its own */
    if (c != cudaSuccess)
        return ih_error_set(err, IH_DEVICE, "%s: %s", e->version, cudaGetErrorString(c));
    forget(e);
    ih_jpeg_planes_release(&e->planes);
    cudaGetLastError(); /* of what has failed; the next launch of a kernel would return it */
    return err->status;
}

static enum ih_status batch(void *engine, struct ih_jpeg_job *const *jobs, unsigned n,
                            struct ih_error *err)
{
    struct engine *e = engine;
    nvjpegImage_t images[IH_JPEG_BATCH_MAX];
    enum ih_status status = IH_OK;
    unsigned i = 0; /* jobs that are done */
    /* The thread's device may be another: what was given back may have been counted there since. */
    cudaError_t c = cudaSetDevice(e->unit->ordinal);
    if (c != cudaSuccess)
        status = ih_error_set(err, IH_DEVICE, "%s: %s", e->version, cudaGetErrorString(c));
    while (i < n && status == IH_OK) {
        struct ih_jpeg_size size;
        unsigned n_run = ih_jpeg_sizes_fit(jobs + i, n - i, e->expected_pixels_max, &size);
        if (n_run == 0) { /* one that the engines do not take would fail all */
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_LIMIT, "too large for the engines");
            i++;
            continue;
        }
        status = expect(e, size, err);
        if (status == IH_OK) /* makes do with what nvJPEG leaves */
            n_run = ih_jpeg_planes_place(&e->planes, jobs + i, n_run, images);
        if (status == IH_OK && n_run == 0)
            status = ih_error_set(err, IH_MEMORY, "no GPU memory for the planes of a JPEG file");
        if (status == IH_OK)
            status = decode(e, jobs + i, n_run, images, err);
        if (status == IH_OK)
            status = count(e, jobs + i, n_run, images, err);
        for (unsigned k = 0; k < n_run && status == IH_OK; k++) {
            status = finish(e, jobs[i], &e->totals[k], err);
            i += status == IH_OK ? 1 : 0;
        }
    }
    if (status != IH_OK)
        status = recover(e, err);
    for (; i < n; i++)
        jobs[i]->error = *err, jobs[i]->status = status;
    return status;
}

const struct ih_jpeg_backend ih_jpeg_cuda = {
    .start = start,
    .describe = describe,
    .batch = batch,
    .stop = stop,
    .starts_two = true,
};
