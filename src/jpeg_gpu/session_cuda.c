/*
 * Sessions on NVIDIA GPUs.
 *
 *     files, batch -> kernels/jpeg -> planes of Y, Cb, Cr -> one launch of ycc -> totals -> host
 *
 * A session enqueues all of this on a stream of its own, and the totals and verdicts come back. Its
 * memory is taken once, when it starts:
 *
 *   - pinned: FILES_BYTES for the files, and 27 MB for the batch and its totals;
 *   - of the GPU: the same again, and at most GPU_BYTES for the decoding. All sessions of a GPU
 *     for one kind of files take at most a third of the memory that was free.
 *
 * Sessions for progressive files hold more files, because the rate comes from the number of scans
 * in flight, and the coefficients and planes of a part of them.
 */
#define _DEFAULT_SOURCE /* madvise */
#include "device/cuda_unit.h"
#include "jpeg_gpu/session.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SESSIONS = 4,
    PROGRESSIVE_SESSIONS = 4,
    GPU_PART = 3,    /* of the free memory, for all sessions */
    FILES_PART = 16, /* of the memory for decoding: photos need 30 times their file's size */
    ALIGNMENT = 256,
    SPARE_BYTES = 64 << 10 /* for the alignment of arrays */
};
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define FILES_BYTES ((size_t)64 << 20)
#define GPU_BYTES ((size_t)1800 * 1000 * 1000)
#define SCANS_FILES_BYTES ((size_t)128 << 20)
#define SCANS_GPU_BYTES ((size_t)1100 * 1000 * 1000)
#define PART_BYTES ((size_t)IH_JPEG_PART_BLOCKS * 128 + IH_JPEG_PART_PLANES_BYTES)

/* Of a session's state. d_: on the GPU, else pinned. */
struct state {
    const struct ih_cuda_unit *unit;
    cudaStream_t stream;
    cudaEvent_t is_done;
    uint8_t *d_files, *d_memory;
    void *arrays, *d_arrays;                 /* of the batch */
    struct ih_gpu_totals *totals, *d_totals; /* [IH_JPEG_BATCH_IMAGES], as the next two */
    struct ih_gpu_jpeg_verdict *verdicts, *d_verdicts;
    uint8_t *plan, *d_plan; /* of the ycc kernel */
    size_t n_plan;          /* bytes used */
    struct ih_gpu_planes_args planes[IH_JPEG_BATCH_IMAGES];
    struct ih_jpeg_job *jobs[IH_JPEG_BATCH_IMAGES]; /* of the batch on the GPU */
};

/* Pins memory of this process, in large pages. For four sessions of 128 MB that took 66 ms, where
 * cudaHostAlloc took 260 ms, because it serves one session after the other (H100, 16 cores). */
static cudaError_t pin(void **pinned, size_t n_bytes)
{
    const size_t n = (n_bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    void *const memory = aligned_alloc(HUGE_PAGE_BYTES, n);
    if (!memory)
        return cudaErrorMemoryAllocation;
    madvise(memory, n, MADV_HUGEPAGE); /* without huge pages it takes longer */
    memset(memory, 0, n);
    const cudaError_t c = cudaHostRegister(memory, n, cudaHostRegisterDefault);
    if (c != cudaSuccess)
        free(memory);
    *pinned = c == cudaSuccess ? memory : NULL;
    return c;
}

static void unpin(void *pinned)
{
    if (pinned)
        cudaHostUnregister(pinned);
    free(pinned);
}

static cudaError_t allocate_both(void **pinned, void **d_memory, size_t n_bytes)
{
    const cudaError_t c = pin(pinned, n_bytes);
    return c == cudaSuccess ? cudaMalloc(d_memory, n_bytes) : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t arrays_bytes(const struct ih_jpeg_session *session)
{
    return session->is_progressive ? ih_jpeg_scans_bytes() : ih_jpeg_batch_bytes();
}

/* For decoding, beside what ih_jpeg_plan_gpu_bytes counts. */
static size_t fixed_bytes(const struct ih_jpeg_session *session)
{
    return SPARE_BYTES + (session->is_progressive ? PART_BYTES : 0);
}

static size_t plan_bytes(const struct state *s, uint32_t n_images)
{
    const size_t n = ih_histogram_ycc_batch_bytes(n_images, &s->unit->gpu);
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static cudaError_t allocate(struct ih_jpeg_session *session, struct state *s)
{
    const bool is_progressive = session->is_progressive;
    const size_t n_plan = plan_bytes(s, IH_JPEG_BATCH_IMAGES) +
                          (is_progressive ? IH_JPEG_BATCH_PARTS * plan_bytes(s, 0) : 0);
    const size_t n_totals = IH_JPEG_BATCH_IMAGES * sizeof *s->totals;
    const size_t n_verdicts = IH_JPEG_BATCH_IMAGES * sizeof *s->verdicts;
    size_t n_free = 0, n_all;
    cudaError_t c = cudaMemGetInfo(&n_free, &n_all);
    const size_t n_sessions = is_progressive ? PROGRESSIVE_SESSIONS : SESSIONS;
    const size_t n_share = n_free / (GPU_PART * n_sessions);
    const size_t n_other =
        n_share / FILES_PART + arrays_bytes(session) + n_totals + n_plan + fixed_bytes(session);
    if (c == cudaSuccess && n_share < 2 * n_other)
        c = cudaErrorMemoryAllocation;
    session->gpu_bytes = least(n_share - n_other, is_progressive ? SCANS_GPU_BYTES : GPU_BYTES);
    session->files_bytes =
        least(n_share / FILES_PART, is_progressive ? SCANS_FILES_BYTES : FILES_BYTES);
    if (c == cudaSuccess)
        c = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    if (c == cudaSuccess) /* a blocking wait: workers need this thread's core */
        c = cudaEventCreateWithFlags(&s->is_done, cudaEventDisableTiming | cudaEventBlockingSync);
    if (c == cudaSuccess)
        c = allocate_both((void **)&session->files, (void **)&s->d_files,
                          session->files_bytes + IH_JPEG_FILE_ALIGNMENT);
    if (c == cudaSuccess)
        c = cudaMalloc((void **)&s->d_memory, (size_t)session->gpu_bytes + fixed_bytes(session));
    if (c == cudaSuccess)
        c = allocate_both(&s->arrays, &s->d_arrays, arrays_bytes(session));
    if (c == cudaSuccess)
        c = allocate_both((void **)&s->totals, (void **)&s->d_totals, n_totals);
    if (c == cudaSuccess)
        c = allocate_both((void **)&s->verdicts, (void **)&s->d_verdicts, n_verdicts);
    return c == cudaSuccess ? allocate_both((void **)&s->plan, (void **)&s->d_plan, n_plan) : c;
}

static void session_stop(struct ih_jpeg_session *session)
{
    struct state *s = session->state;
    cudaSetDevice(s->unit->ordinal);
    if (s->stream)
        cudaStreamSynchronize(s->stream);
    cudaFree(s->d_plan);
    unpin(s->plan);
    cudaFree(s->d_verdicts);
    unpin(s->verdicts);
    cudaFree(s->d_totals);
    unpin(s->totals);
    cudaFree(s->d_arrays);
    unpin(s->arrays);
    cudaFree(s->d_memory);
    cudaFree(s->d_files);
    unpin(session->files);
    if (s->is_done)
        cudaEventDestroy(s->is_done);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
}

static enum ih_status session_start(void *unit, struct ih_jpeg_session *session,
                                    struct ih_error *err)
{
    static const char what[] = "memory for decoding JPEG files";
    struct state *s = session->state = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->unit = unit;
    session->counted_by = s->unit->description;
    enum ih_status status = ih_cuda_status(err, cudaSetDevice(s->unit->ordinal), what);
    if (status == IH_OK && s->unit->gpu.shared_bytes_optin < IH_GPU_YCC_SHARED_BYTES)
        status = ih_error_set(err, IH_UNAVAILABLE, "%s has too little shared memory",
                              s->unit->description);
    if (status == IH_OK)
        status = ih_cuda_status(err, allocate(session, s), what);
    if (status != IH_OK)
        session_stop(session);
    return status;
}

/* ---- a batch ---- */

/* Lays out the jobs from *next on, as many as the GPU's memory holds. Only batches of progressive
 * files have more than scans->batch. */
static void lay_out(struct ih_jpeg_session *session, struct ih_gpu_jpeg_scans *scans,
                    struct ih_jpeg_job *jobs, unsigned n, unsigned *next)
{
    struct state *s = session->state;
    struct ih_gpu_jpeg_batch *batch = &scans->batch;
    uint64_t gpu_bytes = 0;
    if (session->is_progressive)
        ih_jpeg_scans_begin(scans, s->arrays);
    else
        ih_jpeg_batch_begin(batch, s->arrays);
    for (; *next < n; ++*next) {
        struct ih_jpeg_job *job = &jobs[*next];
        if (!job->is_planned)
            continue;
        gpu_bytes += ih_jpeg_plan_gpu_bytes(&job->plan);
        if (batch->n_images > 0 && gpu_bytes > session->gpu_bytes)
            break;
        s->jobs[batch->n_images] = job;
        if (!(session->is_progressive ? ih_jpeg_scans_add(scans, &job->plan, job->file_offset)
                                      : ih_jpeg_batch_add(batch, &job->plan, job->file_offset)))
            break;
    }
    if (session->is_progressive)
        ih_jpeg_scans_end(scans);
}

static cudaError_t copy_array(void *d_to, const void *from, size_t n, size_t size,
                              cudaStream_t stream)
{
    return cudaMemcpyAsync(d_to, from, n * size, cudaMemcpyHostToDevice, stream);
}

#define COPY(to, of, from, array, n) \
    to.array = of.array;             \
    if (c == cudaSuccess)            \
        c = copy_array(of.array, from.array, n, sizeof *of.array, s->stream);

/* Enqueues the counting of the planes of n images from `first` on. */
static cudaError_t count(struct state *s, const struct ih_gpu_jpeg_batch *batch, uint32_t first,
                         uint32_t n, uint8_t *d_planes)
{
    const struct ih_gpu_planes_batch_args args = {
        .images = s->planes,
        .n_images = n,
        .measures = ih_gpu_measures_make(&s->jobs[0]->spec),
        .plan = s->plan + s->n_plan,
        .d_plan = s->d_plan + s->n_plan,
        .gpu = &s->unit->gpu,
        .stream = s->stream,
    };
    for (uint32_t i = 0; i < n; i++) {
        const struct ih_jpeg_plan *plan = &s->jobs[first + i]->plan;
        const bool is_gray = plan->n_components == 1;
        s->planes[i] = (struct ih_gpu_planes_args){.width = plan->width,
                                                   .height = plan->height,
                                                   .chroma_h = is_gray ? 0 : plan->chroma_h,
                                                   .chroma_v = is_gray ? 0 : plan->chroma_v,
                                                   .d_totals = &s->d_totals[first + i]};
        for (unsigned c = 0; c < plan->n_components; c++) {
            const struct ih_gpu_jpeg_component *component =
                &batch->components[batch->images[first + i].first_component + c];
            s->planes[i].d_planes[c] = d_planes + component->plane_offset;
            s->planes[i].pitch_bytes[c] = component->pitch_bytes;
        }
    }
    s->n_plan += plan_bytes(s, n); /* it is copied later */
    return ih_histogram_ycc_batch(&args);
}

/* Enqueues the decoding and counting of a batch. d_planes: after what decoding needs. */
static cudaError_t decode(struct state *s, const struct ih_gpu_jpeg_batch *batch, uint8_t *d_planes)
{
    struct ih_gpu_jpeg_batch d;
    struct ih_gpu_jpeg_args args = {.batch = *batch,
                                    .d_files = s->d_files,
                                    .d_scratch = s->d_memory,
                                    .d_planes = d_planes,
                                    .d_verdicts = s->d_verdicts,
                                    .stream = s->stream};
    ih_jpeg_batch_begin(&d, s->d_arrays);
    cudaError_t c = cudaSuccess;
    COPY(args.batch, d, (*batch), images, batch->n_images)
    COPY(args.batch, d, (*batch), intervals, batch->n_intervals)
    COPY(args.batch, d, (*batch), components, batch->n_components)
    COPY(args.batch, d, (*batch), groups, batch->n_groups)
    COPY(args.batch, d, (*batch), codes, batch->n_codes)
    if (c == cudaSuccess)
        c = ih_jpeg_decode(&args);
    return c == cudaSuccess ? count(s, batch, 0, batch->n_images, d_planes) : c;
}

/* What count_part needs. */
struct part_user {
    struct state *s;
    const struct ih_gpu_jpeg_batch *batch;
    uint8_t *d_planes;
};

static cudaError_t count_part(void *user, const struct ih_gpu_jpeg_part *part)
{
    const struct part_user *u = user;
    return count(u->s, u->batch, part->first_image, part->n_images, u->d_planes);
}

/* The same for progressive files. */
static cudaError_t decode_scans(struct state *s, const struct ih_gpu_jpeg_scans *scans,
                                uint8_t *d_planes)
{
    const struct ih_gpu_jpeg_batch *batch = &scans->batch;
    struct part_user user = {s, batch, d_planes};
    struct ih_gpu_jpeg_scans d;
    struct ih_gpu_jpeg_scans_args args = {.scans = *scans,
                                          .d_files = s->d_files,
                                          .d_scratch = s->d_memory,
                                          .d_planes = d_planes,
                                          .d_verdicts = s->d_verdicts,
                                          .stream = s->stream,
                                          .use = count_part,
                                          .user = &user};
    ih_jpeg_scans_begin(&d, s->d_arrays);
    cudaError_t c = cudaSuccess;
    COPY(args.scans.batch, d.batch, (*batch), images, batch->n_images)
    COPY(args.scans.batch, d.batch, (*batch), intervals, batch->n_intervals)
    COPY(args.scans.batch, d.batch, (*batch), components, batch->n_components)
    COPY(args.scans, d, (*scans), scans, batch->n_intervals)
    COPY(args.scans, d, (*scans), spectra, batch->n_components)
    COPY(args.scans, d, (*scans), codes, scans->n_codes)
    COPY(args.scans, d, (*scans), first_order, scans->n_first)
    COPY(args.scans, d, (*scans), refinement_order, scans->n_refinements)
    return c == cudaSuccess ? ih_jpeg_decode_scans(&args) : c;
}
#undef COPY

/* Brings the results of a batch to the host. */
static cudaError_t fetch(struct state *s, uint32_t n_images)
{
    cudaError_t c = cudaMemcpyAsync(s->totals, s->d_totals, n_images * sizeof *s->totals,
                                    cudaMemcpyDeviceToHost, s->stream);
    if (c == cudaSuccess)
        c = cudaMemcpyAsync(s->verdicts, s->d_verdicts, n_images * sizeof *s->verdicts,
                            cudaMemcpyDeviceToHost, s->stream);
    if (c == cudaSuccess)
        c = cudaEventRecord(s->is_done, s->stream);
    return c == cudaSuccess ? cudaEventSynchronize(s->is_done) : c;
}

/* Fills in the outputs of the jobs that have no fault. */
static enum ih_status finish(struct state *s, uint32_t n, struct ih_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct ih_jpeg_job *job = s->jobs[i];
        struct ih_histogram *out = &job->result->histogram;
        if (s->verdicts[i].faults != 0)
            continue;
        const uint64_t n_pixels = (uint64_t)job->plan.width * job->plan.height;
        ih_gpu_totals_fill(&s->totals[i], &job->spec, n_pixels, out);
        if (!ih_histogram_consistent(out)) /* no file can cause that */
            return ih_error_set(err, IH_DEVICE, "%s: counts that do not add up",
                                s->unit->description);
        job->end_offset = s->verdicts[i].end_offset - job->file_offset;
        job->is_counted = true;
    }
    return IH_OK;
}

static enum ih_status session_batch(struct ih_jpeg_session *session, struct ih_jpeg_job *jobs,
                                    unsigned n, size_t n_bytes, struct ih_error *err)
{
    struct state *s = session->state;
    cudaError_t c =
        cudaMemcpyAsync(s->d_files, session->files, n_bytes, cudaMemcpyHostToDevice, s->stream);
    enum ih_status status = IH_OK;
    for (unsigned next = 0; status == IH_OK;) {
        struct ih_gpu_jpeg_scans scans;
        const struct ih_gpu_jpeg_batch *batch = &scans.batch;
        lay_out(session, &scans, jobs, n, &next);
        if (batch->n_images == 0)
            break;
        const size_t n_needed = session->is_progressive ? ih_jpeg_scans_scratch_bytes(&scans)
                                                        : ih_jpeg_scratch_bytes(batch);
        const size_t n_scratch = (n_needed + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        const size_t n_planes =
            session->is_progressive ? IH_JPEG_PART_PLANES_BYTES : batch->planes_bytes;
        uint8_t *d_planes = s->d_memory + n_scratch;
        if (n_scratch + n_planes > session->gpu_bytes + fixed_bytes(session))
            return ih_error_set(err, IH_DEVICE, "a batch of JPEG files larger than estimated");
        s->n_plan = 0;
        if (c == cudaSuccess)
            c = cudaMemsetAsync(s->d_totals, 0, batch->n_images * sizeof *s->totals, s->stream);
        if (c == cudaSuccess)
            c = session->is_progressive ? decode_scans(s, &scans, d_planes)
                                        : decode(s, batch, d_planes);
        if (c == cudaSuccess)
            c = fetch(s, batch->n_images);
        status = ih_cuda_status(err, c, "decoding JPEG files");
        if (status == IH_OK && next == n)
            session->on_idle(session->user);
        if (status == IH_OK)
            status = finish(s, batch->n_images, err);
    }
    return status;
}

const struct ih_jpeg_backend ih_jpeg_backend_cuda = {
    .device_backend = "cuda",
    .n_sessions = SESSIONS,
    .n_progressive = PROGRESSIVE_SESSIONS,
    .start = session_start,
    .batch = session_batch,
    .stop = session_stop,
};
