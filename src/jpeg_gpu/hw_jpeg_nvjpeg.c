/*
 * The hardware JPEG decoders of NVIDIA GPUs, through nvJPEG.
 *
 *     files of a batch -> decoders -> planes of Y, Cb, Cr -> one launch (ycc) -> totals -> host
 *
 * A session enqueues a complete batch on one stream, and only the totals come back, in one copy.
 * nvJPEG's call takes as long as the decoding, and the files of one call cannot keep all decoders
 * busy, so each GPU gets several sessions.
 * One call per file was rejected: nvJPEG gives the files of different calls to the same decoder.
 *
 *     24 detailed photos, H100, nvJPEG 13.0                     MP/s
 *     one session                                              6,200
 *     two sessions                                             6,880
 *     three sessions                                           7,000
 *     one session, without nvjpegDecodeBatchedPreAllocate      1,800
 *
 * Exactness: nvJPEG's upsampling of chroma differs from libjpeg-turbo's, but its planes are the
 * same in every byte. So the decoders give planes, and the kernel does the upsampling. Only GPUs of
 * GENERATIONS get files: there the planes were compared, within the validator's limits.
 *
 * Device memory of a session, kept until it stops:
 *
 *   - the planes of the largest batch, at most PLANES_BYTES_MAX;
 *   - nvJPEG's buffers for IMAGE_SLOTS images of one size (hw_jpeg.h), at most a
 *     SLOTS_MEMORY_PARTth of the GPU's memory. Larger images are left to the CPU.
 *
 * When memory is short, both are given back and the queue tries the files one by one (hw_jpeg.c).
 * Pinned memory of a session: nvJPEG's copy of the files, at most IH_HW_JPEG_BATCH_BYTES_MAX, and
 * 2.7 MB for the totals and the launch of a batch. The GPU has the same 2.7 MB.
 */
#include "base/dynlib.h"
#include "device/cuda_unit.h"
#include "jpeg_gpu/hw_jpeg.h"

#include <nvjpeg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Compute capabilities, times ten: their decoders were compared with libjpeg-turbo. */
static const int GENERATIONS[] = {90};

enum {
    PLANES_MAX = 3,
    PITCH_BYTES = 128, /* rows begin at multiples of a cache line */
    IMAGE_SLOTS = 28,  /* measured: nvJPEG takes 84 bytes a pixel for 4:4:4 */
    SLOTS_MEMORY_PART = 4 * IH_HW_JPEG_SESSIONS_MAX, /* all sessions: a quarter */
};

/* Limit for the planes of a batch: 28 photos of 12 megapixels in 4:4:4, or one image of the largest
 * size that the decoders take. */
#define PLANES_BYTES_MAX ((size_t)1 << 30)

/* ---- loading nvJPEG ---- */

/* nvJPEG is loaded when there are files for it: starting it takes some hundred milliseconds, and
 * not every machine has it. Its functions keep their meaning within a major version, which is part
 * of the file name and checked once more. */
#define NVJPEG_FUNCTIONS(F)                                                                   \
    F(nvjpegStatus_t, nvjpegGetProperty, (libraryPropertyType, int *))                        \
    F(nvjpegStatus_t, nvjpegCreateEx,                                                         \
      (nvjpegBackend_t, nvjpegDevAllocator_t *, nvjpegPinnedAllocator_t *, unsigned,          \
       nvjpegHandle_t *))                                                                     \
    F(nvjpegStatus_t, nvjpegDestroy, (nvjpegHandle_t))                                        \
    F(nvjpegStatus_t, nvjpegGetHardwareDecoderInfo, (nvjpegHandle_t, unsigned *, unsigned *)) \
    F(nvjpegStatus_t, nvjpegJpegStateCreate, (nvjpegHandle_t, nvjpegJpegState_t *))           \
    F(nvjpegStatus_t, nvjpegJpegStateDestroy, (nvjpegJpegState_t))                            \
    F(nvjpegStatus_t, nvjpegDecodeBatchedInitialize,                                          \
      (nvjpegHandle_t, nvjpegJpegState_t, int, int, nvjpegOutputFormat_t))                    \
    F(nvjpegStatus_t, nvjpegDecodeBatchedPreAllocate,                                         \
      (nvjpegHandle_t, nvjpegJpegState_t, int, int, int, nvjpegChromaSubsampling_t,           \
       nvjpegOutputFormat_t))                                                                 \
    F(nvjpegStatus_t, nvjpegDecodeBatched,                                                    \
      (nvjpegHandle_t, nvjpegJpegState_t, const unsigned char *const *, const size_t *,       \
       nvjpegImage_t *, cudaStream_t))

struct nvjpeg {
    NVJPEG_FUNCTIONS(IH_DYNLIB_MEMBER)
};

NVJPEG_FUNCTIONS(IH_DYNLIB_CHECK)

#define TEXT_OF(x) #x
#define VALUE_OF(x) TEXT_OF(x)

#define SONAME "libnvjpeg.so." VALUE_OF(NVJPEG_VER_MAJOR)

/* Fills the functions and the version, "nvJPEG 13.0.1". IH_OK or IH_UNAVAILABLE. */
static enum ih_status load_nvjpeg(struct nvjpeg *functions, char *version, size_t size,
                                  struct ih_error *err)
{
    static const char *const names[] = {NVJPEG_FUNCTIONS(IH_DYNLIB_NAME)};
    /* The toolkit's installer may put it here without telling the dynamic loader. */
    static const char elsewhere[] = "/usr/local/cuda/lib64/" SONAME;
    const size_t n = sizeof names / sizeof names[0];
    struct ih_error why = {0};
    const char *library = SONAME;
    enum ih_status status = ih_dynlib_load(library, names, n, functions, &why);
    if (status != IH_OK && access(elsewhere, F_OK) == 0) {
        library = elsewhere;
        status = ih_dynlib_load(library, names, n, functions, &why);
    }
    if (status != IH_OK)
        return ih_error_set(err, IH_UNAVAILABLE, "nvJPEG, the CUDA toolkit's JPEG decoder: %.190s",
                            why.message);
    int major = 0, minor = 0, patch = 0;
    if (functions->nvjpegGetProperty(MAJOR_VERSION, &major) != NVJPEG_STATUS_SUCCESS ||
        functions->nvjpegGetProperty(MINOR_VERSION, &minor) != NVJPEG_STATUS_SUCCESS ||
        functions->nvjpegGetProperty(PATCH_LEVEL, &patch) != NVJPEG_STATUS_SUCCESS ||
        major != NVJPEG_VER_MAJOR)
        return ih_error_set(err, IH_UNAVAILABLE, "%s is version %d, not %d", library, major,
                            NVJPEG_VER_MAJOR);
    snprintf(version, size, "nvJPEG %d.%d.%d", major, minor, patch);
    return IH_OK;
}

/* ---- planes ---- */

/* Device memory for the planes of a batch, which grows. All zero: none. */
struct planes {
    uint8_t *d_bytes; /* owned */
    size_t size_bytes;
};

/* Fills in where the planes of a job lie, from d_base on: Y, and of colour Cb and Cr in their
 * stored size. Returns their size in bytes. */
static size_t lay_out(const struct ih_hw_jpeg_job *job, uint8_t *d_base, nvjpegImage_t *image)
{
    size_t n_bytes = 0;
    memset(image, 0, sizeof *image);
    for (unsigned c = 0; c < job->n_components; c++) {
        const uint32_t h = c ? job->chroma_h : 1, v = c ? job->chroma_v : 1;
        image->pitch[c] = ih_hw_jpeg_round_up((job->width + h - 1) / h, PITCH_BYTES);
        image->channel[c] = d_base ? d_base + n_bytes : NULL;
        n_bytes += image->pitch[c] * ((job->height + v - 1) / v);
    }
    return n_bytes;
}

static void planes_release(struct planes *planes)
{
    cudaFree(planes->d_bytes);
    *planes = (struct planes){NULL, 0};
}

/* Makes it at least n_bytes large; the contents are lost. Returns false without memory. */
static bool planes_grow(struct planes *planes, size_t n_bytes)
{
    if (n_bytes <= planes->size_bytes)
        return true;
    planes_release(planes); /* first, so that both never take memory at once */
    if (cudaMalloc((void **)&planes->d_bytes, n_bytes) == cudaSuccess) {
        planes->size_bytes = n_bytes;
        return true;
    }
    planes->d_bytes = NULL;
    cudaGetLastError(); /* otherwise the next kernel launch would return this error */
    return false;
}

/* How many jobs fit into n_bytes_max together, at least one. *n_bytes: what they need. */
static unsigned planes_fit(struct ih_hw_jpeg_job *const *jobs, unsigned n, size_t n_bytes_max,
                           size_t *n_bytes)
{
    nvjpegImage_t image;
    unsigned n_fit = 0;
    *n_bytes = 0;
    for (; n_fit < n; n_fit++) {
        const size_t more = lay_out(jobs[n_fit], NULL, &image);
        if (n_fit > 0 && *n_bytes + more > n_bytes_max)
            break;
        *n_bytes += more;
    }
    return n_fit;
}

/* Makes room for the planes of the first jobs, as many as PLANES_BYTES_MAX and the GPU's memory
 * allow, and fills their images. Nothing may use the planes any more. Returns how many jobs fit; 0:
 * no memory. */
static unsigned planes_place(struct planes *planes, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                             nvjpegImage_t *images)
{
    size_t n_bytes;
    unsigned n_fit = planes_fit(jobs, n, PLANES_BYTES_MAX, &n_bytes);
    while (!planes_grow(planes, n_bytes)) {
        if (n_fit == 1)
            return 0;
        n_fit = planes_fit(jobs, n_fit, n_bytes / 2, &n_bytes);
    }
    uint8_t *d_next = planes->d_bytes;
    for (unsigned i = 0; i < n_fit; i++)
        d_next += lay_out(jobs[i], d_next, &images[i]);
    return n_fit;
}

/* How the kernel sees a job's planes. */
static struct ih_gpu_planes_args planes_of(const struct ih_hw_jpeg_job *job,
                                           const nvjpegImage_t *image,
                                           struct ih_gpu_totals *d_totals)
{
    const bool is_gray = job->n_components == 1;
    return (struct ih_gpu_planes_args){
        .d_planes = {image->channel[0], image->channel[1], image->channel[2]},
        .pitch_bytes = {image->pitch[0], image->pitch[1], image->pitch[2]},
        .width = job->width,
        .height = job->height,
        .chroma_h = is_gray ? 0 : job->chroma_h,
        .chroma_v = is_gray ? 0 : job->chroma_v,
        .d_totals = d_totals,
    };
}

/* ---- start and stop of a session ---- */

struct session {
    const struct ih_cuda_unit *unit;
    struct nvjpeg nvjpeg;
    char version[48], description[400];
    nvjpegHandle_t handle; /* the first session's: it takes nearly a second to make */
    bool owns_handle;
    nvjpegJpegState_t state;     /* NULL: has to be made */
    struct ih_hw_jpeg_size size; /* of the images that nvJPEG has memory for */
    uint64_t size_pixels_max;
    cudaStream_t stream;
    cudaEvent_t is_done;
    struct planes planes;
    struct ih_gpu_totals *d_totals, *totals; /* [IH_HW_JPEG_BATCH_MAX]; device and pinned */
    void *d_plan, *plan;                     /* of a launch; device and pinned */

    /* Of a batch: what nvJPEG and the kernel get. */
    const unsigned char *streams[IH_HW_JPEG_BATCH_MAX];
    size_t stream_bytes[IH_HW_JPEG_BATCH_MAX];
    nvjpegImage_t images[IH_HW_JPEG_BATCH_MAX];
    struct ih_gpu_planes_args counted[IH_HW_JPEG_BATCH_MAX];
};

static enum ih_status check_generation(const struct ih_cuda_unit *unit, struct ih_error *err)
{
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, unit->ordinal);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, unit->ordinal);
    for (size_t i = 0; i < sizeof GENERATIONS / sizeof GENERATIONS[0]; i++)
        if (GENERATIONS[i] == major * 10 + minor)
            return IH_OK;
    return ih_error_set(err, IH_UNAVAILABLE,
                        "%s: hardware JPEG decoders of compute capability %d.%d have not been "
                        "compared with libjpeg-turbo",
                        unit->description, major, minor);
}

static nvjpegStatus_t make_state(struct session *s)
{
    const nvjpegStatus_t status = s->nvjpeg.nvjpegJpegStateCreate(s->handle, &s->state);
    if (status != NVJPEG_STATUS_SUCCESS)
        s->state = NULL;
    return status;
}

/*
 * Sessions start one at a time. A state holds hardware decoders. While no state in the process
 * does, each call that needs decoders sleeps for 0.25 s, and calls for other GPUs wait: those that
 * make a handle, ask for the number of decoders, or make a state. With this lock, and the question
 * after the state, only the first handle and the first state take that long.
 *
 *     seconds until the sessions of two H100 have started      first      second
 *     at the same time, the question first                       1.5         1.6
 *     one at a time, the question last                           0.7  0.9 to 1.2
 */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* Makes the handle, unless `first` has it, a state and the description. The lock is held. */
static nvjpegStatus_t make_session(struct session *s, const struct session *first)
{
    unsigned n_decoders = 0, n_cores = 0;
    nvjpegStatus_t n = NVJPEG_STATUS_SUCCESS;
    if (first)
        s->handle = first->handle;
    else
        n = s->nvjpeg.nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE, NULL, NULL, 0, &s->handle);
    s->owns_handle = !first && n == NVJPEG_STATUS_SUCCESS;
    if (n == NVJPEG_STATUS_SUCCESS)
        n = make_state(s);
    if (n == NVJPEG_STATUS_SUCCESS)
        n = s->nvjpeg.nvjpegGetHardwareDecoderInfo(s->handle, &n_decoders, &n_cores);
    if (n == NVJPEG_STATUS_SUCCESS && n_decoders == 0)
        n = NVJPEG_STATUS_ARCH_MISMATCH;
    snprintf(s->description, sizeof s->description, "%s, %u decoders of %s", s->version, n_decoders,
             s->unit->description);
    return n;
}

static enum ih_status open_nvjpeg(struct session *s, const struct session *first,
                                  struct ih_error *err)
{
    const enum ih_status status = load_nvjpeg(&s->nvjpeg, s->version, sizeof s->version, err);
    if (status != IH_OK)
        return status;
    pthread_mutex_lock(&start_lock);
    const nvjpegStatus_t n = make_session(s, first);
    pthread_mutex_unlock(&start_lock);
    if (n != NVJPEG_STATUS_SUCCESS)
        return ih_error_set(err, IH_UNAVAILABLE,
                            "%s finds no hardware JPEG decoders on %s: status %d", s->version,
                            s->unit->description, (int)n);
    return IH_OK;
}

static cudaError_t allocate(struct session *s)
{
    const size_t n_plan = ih_histogram_ycc_batch_bytes(IH_HW_JPEG_BATCH_MAX, &s->unit->gpu);
    size_t n_free, n_bytes = 0;
    cudaError_t c = cudaMemGetInfo(&n_free, &n_bytes);
    s->size_pixels_max = n_bytes / SLOTS_MEMORY_PART / (PLANES_MAX * IMAGE_SLOTS);
    if (c == cudaSuccess)
        c = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    if (c == cudaSuccess) /* a blocking wait: workers need this thread's core for validation */
        c = cudaEventCreateWithFlags(&s->is_done, cudaEventDisableTiming | cudaEventBlockingSync);
    if (c == cudaSuccess)
        c = cudaMalloc((void **)&s->d_totals, IH_HW_JPEG_BATCH_MAX * sizeof *s->d_totals);
    if (c == cudaSuccess)
        c = cudaHostAlloc((void **)&s->totals, IH_HW_JPEG_BATCH_MAX * sizeof *s->totals,
                          cudaHostAllocDefault);
    if (c == cudaSuccess)
        c = cudaMalloc(&s->d_plan, n_plan);
    if (c == cudaSuccess)
        c = cudaHostAlloc(&s->plan, n_plan, cudaHostAllocDefault);
    return c;
}

static void stop(void *session)
{
    struct session *s = session;
    cudaSetDevice(s->unit->ordinal);
    if (s->stream)
        cudaStreamSynchronize(s->stream);
    if (s->state)
        s->nvjpeg.nvjpegJpegStateDestroy(s->state);
    if (s->owns_handle)
        s->nvjpeg.nvjpegDestroy(s->handle);
    planes_release(&s->planes);
    cudaFree(s->d_plan);
    cudaFreeHost(s->plan);
    cudaFree(s->d_totals);
    cudaFreeHost(s->totals);
    if (s->is_done)
        cudaEventDestroy(s->is_done);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
}

static enum ih_status nvjpeg_start(void *unit, void *first, void **session, struct ih_error *err)
{
    static const char what[] = "cannot set up the hardware JPEG decoders";
    enum ih_status status = check_generation(unit, err);
    if (status != IH_OK)
        return status;
    struct session *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->unit = unit;
    /* nvJPEG uses the thread's current context and does not set it. */
    status = ih_cuda_status(err, cudaSetDevice(s->unit->ordinal), what);
    if (status == IH_OK)
        status = open_nvjpeg(s, first, err);
    if (status == IH_OK)
        status = ih_cuda_status(err, allocate(s), what);
    if (status == IH_OK)
        *session = s;
    else
        stop(s);
    return status;
}

static const char *describe(void *session)
{
    const struct session *s = session;
    return s->description;
}

static bool accepts(void *session, uint32_t width, uint32_t height)
{
    const struct session *s = session;
    return ih_hw_jpeg_size_is_allowed(ih_hw_jpeg_size_of(width, height), s->size_pixels_max);
}

/* ---- a batch ---- */

static enum ih_status nvjpeg_status(const struct session *s, nvjpegStatus_t n, struct ih_error *err)
{
    if (n == NVJPEG_STATUS_SUCCESS)
        return IH_OK;
    if (n == NVJPEG_STATUS_ALLOCATOR_FAILURE)
        return ih_error_set(err, IH_MEMORY, "%s: out of GPU or pinned memory", s->version);
    return ih_error_set(err, IH_UNSUPPORTED, "%s: cannot decode: status %d", s->version, (int)n);
}

/* Gives back nvJPEG's memory for images and files. Nothing may use it any more. */
static void drop_state(struct session *s)
{
    if (s->state)
        s->nvjpeg.nvjpegJpegStateDestroy(s->state);
    s->state = NULL;
    s->size = (struct ih_hw_jpeg_size){0, 0};
}

/* Makes nvJPEG allocate memory for images of this size. */
static enum ih_status reserve(struct session *s, struct ih_hw_jpeg_size size, struct ih_error *err)
{
    nvjpegStatus_t n = NVJPEG_STATUS_SUCCESS;
    if (ih_hw_jpeg_size_covers(s->size, size))
        return IH_OK;
    const struct ih_hw_jpeg_size next = ih_hw_jpeg_size_next(s->size, size, s->size_pixels_max);
    if (!ih_hw_jpeg_size_covers(next, s->size))
        drop_state(s);
    if (!s->state)
        n = make_state(s);
    if (n == NVJPEG_STATUS_SUCCESS)
        n = s->nvjpeg.nvjpegDecodeBatchedPreAllocate(s->handle, s->state, IMAGE_SLOTS,
                                                     (int)next.width, (int)next.height,
                                                     NVJPEG_CSS_444, NVJPEG_OUTPUT_YUV);
    if (n == NVJPEG_STATUS_SUCCESS)
        s->size = next;
    return nvjpeg_status(s, n, err);
}

/* Enqueues the decoding of a batch. */
static enum ih_status decode(struct session *s, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                             struct ih_error *err)
{
    for (unsigned i = 0; i < n; i++) {
        s->streams[i] = jobs[i]->stream;
        s->stream_bytes[i] = jobs[i]->stream_bytes;
    }
    nvjpegStatus_t status =
        s->nvjpeg.nvjpegDecodeBatchedInitialize(s->handle, s->state, (int)n, 1, NVJPEG_OUTPUT_YUV);
    if (status == NVJPEG_STATUS_SUCCESS)
        status = s->nvjpeg.nvjpegDecodeBatched(s->handle, s->state, s->streams, s->stream_bytes,
                                               s->images, s->stream);
    return nvjpeg_status(s, status, err);
}

/* Counts the planes that decode fills, in one launch, and waits for the totals. All jobs of a run
 * have the same weights and clip limits. */
static enum ih_status count(struct session *s, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                            struct ih_error *err)
{
    const struct ih_gpu_planes_batch_args batch = {
        .images = s->counted,
        .n_images = n,
        .measures = ih_gpu_measures_make(&jobs[0]->spec),
        .plan = s->plan,
        .d_plan = s->d_plan,
        .gpu = &s->unit->gpu,
        .stream = s->stream,
    };
    for (unsigned i = 0; i < n; i++)
        s->counted[i] = planes_of(jobs[i], &s->images[i], &s->d_totals[i]);
    cudaError_t c = cudaMemsetAsync(s->d_totals, 0, n * sizeof *s->d_totals, s->stream);
    if (c == cudaSuccess)
        c = ih_histogram_ycc_batch(&batch);
    if (c == cudaSuccess)
        c = cudaMemcpyAsync(s->totals, s->d_totals, n * sizeof *s->totals, cudaMemcpyDeviceToHost,
                            s->stream);
    if (c == cudaSuccess)
        c = cudaEventRecord(s->is_done, s->stream);
    if (c == cudaSuccess)
        c = cudaEventSynchronize(s->is_done);
    return ih_cuda_status(err, c, "counting JPEG planes");
}

static enum ih_status finish(const struct session *s, struct ih_hw_jpeg_job *job,
                             const struct ih_gpu_totals *totals, struct ih_error *err)
{
    ih_gpu_totals_read(totals, &job->spec, (uint64_t)job->width * job->height, job->out);
    if (!ih_histogram_consistent(job->out)) /* no file can cause that */
        return ih_error_set(err, IH_DEVICE, "%s: counts that do not add up", s->version);
    job->counted_by = s->unit->description;
    job->decoder = s->version;
    job->kernel = "ycc";
    job->status = IH_OK;
    return IH_OK;
}

/*
 * After a failure: waits until nothing uses the streams and planes, and gives back all memory that
 * grows, nvJPEG's state included. Returns err's status, or IH_DEVICE when the GPU has failed: it
 * then answers every call with its error.
 */
static enum ih_status recover(struct session *s, struct ih_error *err)
{
    const cudaError_t c = cudaDeviceSynchronize(); /* nvJPEG has streams of its own */
    if (c != cudaSuccess)
        return ih_error_set(err, IH_DEVICE, "%s: %s", s->version, cudaGetErrorString(c));
    drop_state(s);
    planes_release(&s->planes);
    cudaGetLastError(); /* otherwise the next kernel launch would return the error */
    return err->status;
}

/* Decodes and counts the first of n jobs, as many as memory allows; *n_done of them. */
static enum ih_status nvjpeg_run(struct session *s, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                                 unsigned *n_done, struct ih_error *err)
{
    struct ih_hw_jpeg_size size;
    unsigned n_run = ih_hw_jpeg_size_fit(jobs, n, s->size_pixels_max, &size);
    *n_done = 0;
    if (n_run == 0) { /* a GPU that has started since accepts less */
        jobs[0]->status =
            ih_error_set(&jobs[0]->error, IH_LIMIT, "too large for the hardware decoders");
        *n_done = 1;
        return IH_OK;
    }
    enum ih_status status = reserve(s, size, err);
    if (status == IH_OK) /* takes from the memory that nvJPEG leaves */
        n_run = planes_place(&s->planes, jobs, n_run, s->images);
    if (status == IH_OK && n_run == 0)
        status = ih_error_set(err, IH_MEMORY, "no GPU memory for the planes of a JPEG file");
    if (status == IH_OK)
        status = decode(s, jobs, n_run, err);
    if (status == IH_OK)
        status = count(s, jobs, n_run, err);
    for (unsigned k = 0; k < n_run && status == IH_OK; k++) {
        status = finish(s, jobs[k], &s->totals[k], err);
        *n_done += status == IH_OK ? 1 : 0;
    }
    return status;
}

static enum ih_status batch(void *session, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                            struct ih_error *err)
{
    struct session *s = session;
    enum ih_status status = IH_OK;
    unsigned i = 0; /* jobs that are finished */
    while (i < n && status == IH_OK) {
        unsigned n_done;
        status = nvjpeg_run(s, jobs + i, n - i, &n_done, err);
        i += n_done;
    }
    if (status != IH_OK)
        status = recover(s, err);
    for (; i < n; i++)
        jobs[i]->error = *err, jobs[i]->status = status;
    return status;
}

const struct ih_hw_jpeg_backend ih_hw_jpeg_nvjpeg = {
    .device_backend = "cuda",
    .start = nvjpeg_start,
    .describe = describe,
    .accepts = accepts,
    .batch = batch,
    .stop = stop,
    .n_sessions = IH_HW_JPEG_SESSIONS_MAX,
};
