#include "jpeg_gpu/queue.h"

#include "base/threads.h"
#include "decode/decoder.h"
#include "decode/jpeg/markers.h"
#include "device/device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A batch leaves for a busy GPU with this many files for each batch that is there, or with this
 * many bytes: another file would gain less than its wait (docs/jpeg.md). 340 crops of 224 x 224
 * take the GPU 1.3 times as long as 40, and 250 progressive photos about as long as 14, 0.25 s. */
static const struct {
    unsigned n_files;
    size_t n_bytes;
} enough_of[] = {{128, (size_t)16 << 20}, {512, (size_t)64 << 20}};

/* A GPU is faster than the cores from about 100 progressive photos or 300 crops on that it decodes
 * at once. So with IH_JPEG_AUTO the cores decode the first ones, and the sessions, which pin 0.7 GB
 * of host memory, start only after a few. */
enum { FIRST_PROGRESSIVE = 100, START_PROGRESSIVE = 25 };

/* CLOSED: it waits for its GPU, or is there. DELIVERING: the GPU has done its part, and the results
 * are read and handed out. */
enum state { STARTING, FREE, FILLING, CLOSED, DELIVERING, BROKEN };

/* A session and the batch in it. */
struct batch {
    struct pool *pool;
    unsigned unit;
    pthread_t thread;
    struct ih_jpeg_session session;
    pthread_cond_t on_change; /* of its state, or of n_reading */

    /* Under the queue's lock: */
    enum state state;
    unsigned n_jobs, n_planned, n_reading; /* n_reading: workers put files into it */
    size_t n_bytes;
    uint64_t gpu_bytes;
    struct ih_jpeg_job jobs[IH_JPEG_BATCH_IMAGES];
};

/* The sessions for one kind of files. */
struct pool {
    struct ih_jpeg_queue *queue;
    bool is_progressive;
    pthread_t starter;

    /* Under the queue's lock: */
    pthread_cond_t on_room, on_start; /* of batches; of sessions */
    bool has_tried, has_starter;
    struct batch **batches; /* owned, [n_batches] */
    struct batch *filling;  /* NULL: none */
    unsigned n_batches, n_starting;
    atomic_uint n_working; /* changed under the lock */
};

enum { SEQUENTIAL, PROGRESSIVE, N_POOLS };

struct ih_jpeg_queue {
    struct ih_jpeg_queue_options options; /* the measure is that of an image */
    struct ih_count_spec spec;            /* of all files, but for n_channels */
    struct ih_device *device;
    ih_jpeg_deliver *deliver;
    void *user;
    struct pool pools[N_POOLS];

    pthread_mutex_t lock; /* guards what follows, the pools and the report */
    bool is_closing;
    bool is_ending;         /* no more files come */
    unsigned n_progressive; /* files seen, up to FIRST_PROGRESSIVE */
    struct ih_error error;  /* the last of a session */
};

/* ---- batches; the lock is held ---- */

static void close_batch(struct pool *p)
{
    p->filling->state = CLOSED;
    pthread_cond_signal(&p->filling->on_change);
    p->filling = NULL;
}

static unsigned n_closed_of(const struct pool *p, unsigned unit)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_batches; i++)
        n += p->batches[i]->unit == unit && p->batches[i]->state == CLOSED;
    return n;
}

/* The free batch of the GPU with the least to do; NULL: none is free. */
static struct batch *find_free(const struct pool *p)
{
    struct batch *best = NULL;
    for (unsigned i = 0; i < p->n_batches; i++)
        if (p->batches[i]->state == FREE &&
            (!best || n_closed_of(p, p->batches[i]->unit) < n_closed_of(p, best->unit)))
            best = p->batches[i];
    return best;
}

static void close_if_due(struct pool *p)
{
    const struct batch *b = p->filling;
    if (!b || b->n_planned == 0)
        return;
    const unsigned n_before = n_closed_of(p, b->unit);
    const bool is_enough = p->queue->is_ending ||
                           b->n_planned >= enough_of[p->is_progressive].n_files * n_before ||
                           b->n_bytes >= enough_of[p->is_progressive].n_bytes;
    if (n_before == 0 || (is_enough && find_free(p)))
        close_batch(p);
}

static bool has_room(const struct batch *b, size_t n_bytes)
{
    return b->n_jobs < IH_JPEG_BATCH_IMAGES && n_bytes <= b->session.files_bytes - b->n_bytes &&
           (b->n_jobs == 0 || b->gpu_bytes < b->session.gpu_bytes);
}

/* Waits for a batch with room for a file. NULL: no session works, or the file is too large. */
static struct batch *wait_for_room(struct pool *p, size_t n_bytes)
{
    while (p->n_working > 0) {
        if (p->filling && has_room(p->filling, n_bytes))
            return p->filling;
        if (p->filling && p->filling->n_jobs == 0)
            return NULL;
        if (p->filling)
            close_batch(p);
        p->filling = find_free(p);
        if (p->filling)
            p->filling->state = FILLING;
        else
            pthread_cond_wait(&p->on_room, &p->queue->lock);
    }
    return NULL;
}

/* ---- sessions ---- */

static bool leave(struct ih_jpeg_queue *q, enum ih_jpeg_reason reason)
{
    if (q->options.report) {
        pthread_mutex_lock(&q->lock);
        q->options.report->n_left[reason]++;
        pthread_mutex_unlock(&q->lock);
    }
    return false;
}

/* Whether another image follows the one that ends with EOI at this offset. */
static unsigned warnings_of(const uint8_t *file, size_t end_offset, size_t file_bytes)
{
    const struct ih_decoder *next = NULL;
    struct ih_reader src = {0};
    struct ih_error ignored;
    const size_t at = end_offset + IH_JPEG_MARKER_BYTES;
    if (at < file_bytes) {
        ih_reader_open_memory(&src, file + at, file_bytes - at);
        ih_decode_following(&src, &ih_decoder_jpeg, false, &next, &ignored);
        ih_reader_close(&src);
    }
    return next ? IH_WARNING_MORE_IMAGES : 0;
}

static void complete(const struct batch *b, const struct ih_jpeg_job *job)
{
    const struct ih_jpeg_plan *plan = &job->plan;
    struct ih_result *r = job->result;
    r->info = (struct ih_image_info){.format = "jpeg",
                                     .width = plan->width,
                                     .height = plan->height,
                                     .layout = ih_layout_of(plan->n_components),
                                     .n_bins = IH_BINS,
                                     .source_depth = 8,
                                     .range = IH_RANGE_FULL,
                                     .not_applied = plan->notes.not_applied,
                                     .warnings = warnings_of(b->session.files + job->file_offset,
                                                             job->end_offset, plan->file_bytes)};
    r->library = ih_decoder_jpeg.version;
    r->decoder_version = "JPEG kernels";
    r->kernel = "ycc";
    r->counted_by = b->session.counted_by;
    r->measure = b->pool->queue->options.measure;
}

/* Hands out the files of a batch; those of a broken session uncounted. The run may end with the
 * last. */
static void deliver_batch(struct batch *b, unsigned n, enum ih_jpeg_reason why_not)
{
    struct ih_jpeg_queue *q = b->pool->queue;
    struct ih_jpeg_report *report = q->options.report;
    unsigned n_counted = 0, n_left = 0;
    for (unsigned i = 0; i < n; i++) {
        struct ih_jpeg_job *job = &b->jobs[i];
        if (!job->is_planned)
            continue;
        if (job->is_counted)
            complete(b, job);
        else
            ih_histogram_reset(&job->result->histogram);
        ++*(job->is_counted ? &n_counted : &n_left);
        ih_jpeg_plan_reset(&job->plan);
    }
    if (report) {
        pthread_mutex_lock(&q->lock);
        report->n_decoded += n_counted;
        report->n_left[why_not] += n_left;
        pthread_mutex_unlock(&q->lock);
    }
    q->deliver(q->user, b->jobs, n);
}

/* The GPU may begin the next batch. */
static void on_idle(void *batch)
{
    struct batch *b = batch;
    pthread_mutex_lock(&b->pool->queue->lock);
    b->state = DELIVERING;
    close_if_due(b->pool);
    pthread_mutex_unlock(&b->pool->queue->lock);
}

/* Decodes batches until the queue is closed or the session breaks. The lock is held. */
static void work(struct batch *b)
{
    struct pool *p = b->pool;
    struct ih_jpeg_queue *q = p->queue;
    while (b->state != BROKEN) {
        while ((b->state != CLOSED || b->n_reading > 0) && !q->is_closing)
            pthread_cond_wait(&b->on_change, &q->lock);
        if (b->state != CLOSED)
            return;
        const unsigned n = b->n_jobs;
        struct ih_error error = {0};
        pthread_mutex_unlock(&q->lock);
        const enum ih_status status =
            q->options.backend->batch(&b->session, b->jobs, n, b->n_bytes, &error);
        pthread_mutex_lock(&q->lock);
        if (status != IH_OK) { /* before the last file is delivered */
            q->error = error;
            p->n_working--;
        }
        pthread_mutex_unlock(&q->lock);
        deliver_batch(b, n, status == IH_OK ? IH_JPEG_REASON_DATA : IH_JPEG_REASON_STOPPED);
        pthread_mutex_lock(&q->lock);
        b->n_jobs = b->n_planned = 0;
        b->n_bytes = 0;
        b->gpu_bytes = 0;
        b->state = status == IH_OK ? FREE : BROKEN;
        close_if_due(p);
        pthread_cond_broadcast(&p->on_room);
    }
}

static void *run_session(void *argument)
{
    struct batch *b = argument;
    struct pool *p = b->pool;
    struct ih_jpeg_queue *q = p->queue;
    struct ih_error error = {0};
    const enum ih_status status =
        q->options.backend->start(q->device->units[b->unit], &b->session, &error);
    pthread_mutex_lock(&q->lock);
    p->n_starting--;
    b->state = status == IH_OK ? FREE : BROKEN;
    p->n_working += status == IH_OK ? 1 : 0;
    if (status != IH_OK)
        q->error = error;
    pthread_cond_broadcast(&p->on_start);
    pthread_cond_broadcast(&p->on_room);
    if (status == IH_OK)
        work(b);
    pthread_mutex_unlock(&q->lock);
    if (status == IH_OK)
        q->options.backend->stop(&b->session);
    return NULL;
}

/* The lock is held. */
static struct batch *add_batch(struct pool *p, unsigned unit)
{
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->pool = p;
    b->session = (struct ih_jpeg_session){
        .is_progressive = p->is_progressive, .on_idle = on_idle, .user = b};
    b->unit = unit;
    pthread_cond_init(&b->on_change, NULL);
    if (pthread_create(&b->thread, NULL, run_session, b) == 0) {
        p->n_starting++;
        p->batches[p->n_batches++] = b;
        return b;
    }
    pthread_cond_destroy(&b->on_change);
    free(b);
    return NULL;
}

static const struct ih_jpeg_backend *backend_for(const struct ih_backend *backend)
{
#if defined(IH_WITH_CUDA)
    if (strcmp(backend->name, ih_jpeg_backend_cuda.device_backend) == 0)
        return &ih_jpeg_backend_cuda;
#endif
    (void)backend;
    return NULL;
}

/* Waits for the device, then starts the sessions of its units. */
static void *start_sessions(void *argument)
{
    struct pool *p = argument;
    struct ih_jpeg_queue *q = p->queue;
    struct ih_error error = {0};
    enum ih_status status = ih_device_wait(q->device, &error);
    pthread_mutex_lock(&q->lock);
    if (status == IH_OK && !q->options.backend)
        q->options.backend = backend_for(q->device->backend);
    if (status == IH_OK && !q->options.backend)
        status =
            ih_error_set(&error, IH_UNAVAILABLE, "no GPU decodes JPEG files here%s%.300s",
                         *q->device->fallback.message ? "; " : "", q->device->fallback.message);
    const unsigned n = status != IH_OK     ? 0
                       : p->is_progressive ? q->options.backend->n_progressive
                                           : q->options.backend->n_sessions;
    if (n > 0)
        p->batches = calloc((size_t)q->device->n_units * n, sizeof(struct batch *));
    for (unsigned k = 0; p->batches && k < n; k++)
        for (unsigned unit = 0; unit < q->device->n_units; unit++)
            add_batch(p, unit);
    p->n_starting--; /* this thread */
    if (status == IH_OK && p->n_batches == 0)
        ih_error_set(&error, IH_MEMORY, "out of memory");
    if (p->n_batches == 0)
        q->error = error;
    pthread_cond_broadcast(&p->on_start);
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* Begins to start the sessions, once. The lock is held. */
static void start(struct pool *p)
{
    if (p->has_tried)
        return;
    p->has_tried = true;
    p->n_starting = 1;
    p->has_starter = pthread_create(&p->starter, NULL, start_sessions, p) == 0;
    if (!p->has_starter) {
        p->n_starting = 0;
        ih_error_set(&p->queue->error, IH_UNAVAILABLE, "cannot start a thread");
    }
}

/* The first working session is enough. */
static enum ih_status wait_for_start(struct pool *p, struct ih_error *err)
{
    struct ih_jpeg_queue *q = p->queue;
    pthread_mutex_lock(&q->lock);
    while (p->n_working == 0 && p->n_starting > 0)
        pthread_cond_wait(&p->on_start, &q->lock);
    const bool is_working = p->n_working > 0;
    pthread_mutex_unlock(&q->lock);
    return is_working ? IH_OK : ih_error_set(err, IH_UNAVAILABLE, "%.400s", q->error.message);
}

enum ih_status ih_jpeg_queue_open(const struct ih_jpeg_queue_options *options,
                                  struct ih_device *device, ih_jpeg_deliver *deliver, void *user,
                                  struct ih_jpeg_queue **queue, struct ih_error *err)
{
    struct ih_jpeg_queue *q = *queue = calloc(1, sizeof *q);
    if (!q)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    struct ih_error ignored; /* limits above 255 leave all files to the CPU */
    q->options = *options;
    q->spec = (struct ih_count_spec){.layout = IH_LAYOUT(1), .n_bins = IH_BINS};
    ih_measure_image(&q->options.measure, &q->spec, &ignored);
    q->device = device;
    q->deliver = deliver;
    q->user = user;
    ih_lock_init(&q->lock);
    for (unsigned i = 0; i < N_POOLS; i++) {
        q->pools[i].queue = q;
        q->pools[i].is_progressive = i == PROGRESSIVE;
        pthread_cond_init(&q->pools[i].on_room, NULL);
        pthread_cond_init(&q->pools[i].on_start, NULL);
    }
    if (options->side != IH_JPEG_GPU)
        return IH_OK;
    pthread_mutex_lock(&q->lock);
    start(&q->pools[SEQUENTIAL]);
    pthread_mutex_unlock(&q->lock);
    const enum ih_status status = wait_for_start(&q->pools[SEQUENTIAL], err);
    if (status != IH_OK) {
        ih_jpeg_queue_close(q);
        *queue = NULL;
    }
    return status;
}

static void report_sessions(struct ih_jpeg_queue *q)
{
    struct ih_jpeg_report *report = q->options.report;
    uint64_t gpu_bytes = 0;
    unsigned n = 0;
    for (unsigned k = 0; k < N_POOLS; k++)
        for (unsigned i = 0; i < q->pools[k].n_batches; i++) {
            n += q->pools[k].batches[i]->session.gpu_bytes > 0;
            gpu_bytes += q->pools[k].batches[i]->session.gpu_bytes;
        }
    if (n > 0)
        snprintf(report->decoders, sizeof report->decoders,
                 "kernels on %.300s, %u batches of %.1f GB of GPU memory",
                 ih_device_description(q->device), n, (double)gpu_bytes / n / 1e9);
    report->why_none = q->error;
}

static void join(struct pool *p)
{
    if (p->has_starter)
        pthread_join(p->starter, NULL);
    for (unsigned i = 0; i < p->n_batches; i++)
        pthread_join(p->batches[i]->thread, NULL);
}

static void reset(struct pool *p)
{
    for (unsigned i = 0; i < p->n_batches; i++) {
        pthread_cond_destroy(&p->batches[i]->on_change);
        free(p->batches[i]);
    }
    free(p->batches);
    pthread_cond_destroy(&p->on_start);
    pthread_cond_destroy(&p->on_room);
}

void ih_jpeg_queue_end(struct ih_jpeg_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_ending = true;
    for (unsigned k = 0; k < N_POOLS; k++)
        close_if_due(&q->pools[k]);
    pthread_mutex_unlock(&q->lock);
}

void ih_jpeg_queue_close(struct ih_jpeg_queue *q)
{
    if (!q)
        return;
    bool is_left = false;
    pthread_mutex_lock(&q->lock);
    for (unsigned k = 0; k < N_POOLS; k++)
        is_left |= q->options.is_last && (q->pools[k].n_working > 0 || q->pools[k].n_starting > 0);
    q->is_closing = !is_left;
    for (unsigned k = 0; k < N_POOLS; k++)
        for (unsigned i = 0; i < q->pools[k].n_batches; i++)
            pthread_cond_signal(&q->pools[k].batches[i]->on_change);
    pthread_mutex_unlock(&q->lock);
    if (is_left) {
        ih_device_leave(q->device);
        return;
    }
    for (unsigned k = 0; k < N_POOLS; k++)
        join(&q->pools[k]);
    if (q->options.report)
        report_sessions(q);
    for (unsigned k = 0; k < N_POOLS; k++)
        reset(&q->pools[k]);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* ---- a file ---- */

/* Opens a regular file that begins as a JPEG does. Returns false for every other input, and after
 * errors: the worker reports them. */
static bool open_jpeg(const struct ih_jpeg_queue *q, const char *path, bool is_regular,
                      struct ih_reader *src, uint64_t *n_bytes, bool *is_progressive)
{
    static const uint8_t begin[] = {0xff, IH_JPEG_SOI, 0xff};
    struct ih_file_identity id;
    struct ih_error ignored;
    struct stat st;
    const uint8_t *head;
    size_t n_head;
    if (!is_regular &&
        (stat(path, &st) != 0 || !S_ISREG(st.st_mode))) /* opening a pipe would take its data */
        return false;
    if (ih_reader_open_path(src, path, &ignored) != IH_OK)
        return false;
    const bool is_jpeg =
        ih_reader_size(src, n_bytes) && ih_reader_identity(src, &id) &&
        ih_check_not_output(&id, q->options.outputs, q->options.n_outputs, &ignored) == IH_OK &&
        ih_reader_peek(src, sizeof begin, &head, &n_head, &ignored) == IH_OK &&
        n_head >= sizeof begin && memcmp(head, begin, sizeof begin) == 0;
    if (is_jpeg)
        *is_progressive = ih_jpeg_head_is_progressive(head, n_head);
    else
        ih_reader_close(src);
    return is_jpeg;
}

/* Whether JPEG files may go to a GPU at all. Else no file is opened to see what it is. */
static bool may_decode(struct ih_jpeg_queue *q)
{
    if (q->options.side == IH_JPEG_CPU)
        return false;
    if (q->pools[SEQUENTIAL].n_working > 0 || q->pools[PROGRESSIVE].n_working > 0)
        return true;
    pthread_mutex_lock(&q->lock);
    const bool has_tried = q->pools[SEQUENTIAL].has_tried || q->pools[PROGRESSIVE].has_tried;
    const bool has_backend = q->options.backend;
    pthread_mutex_unlock(&q->lock);
    const struct ih_backend *const started = ih_device_backend(q->device);
    if (started && !has_backend && !backend_for(started))
        return false;
    return has_tried || ih_device_has_begun(q->device);
}

/* Whether files go to a GPU now. With IH_JPEG_AUTO the first JPEG file after the start of the
 * device starts the sessions; nothing waits for them. Those for progressive files start later, and
 * the first of these files are left to the CPU. */
static enum ih_jpeg_reason check_sessions(struct pool *p)
{
    struct ih_jpeg_queue *q = p->queue;
    const bool is_auto = q->options.side == IH_JPEG_AUTO;
    enum ih_jpeg_reason reason = IH_JPEG_REASON_NONE;
    if (!p->is_progressive && p->n_working > 0)
        return reason;
    pthread_mutex_lock(&q->lock);
    const bool is_early = p->is_progressive && is_auto && q->n_progressive < FIRST_PROGRESSIVE;
    q->n_progressive += is_early;
    if (!is_early || q->n_progressive >= START_PROGRESSIVE)
        start(p);
    while (!is_auto && p->n_working == 0 && p->n_starting > 0)
        pthread_cond_wait(&p->on_start, &q->lock);
    if (is_early)
        reason = IH_JPEG_REASON_FEW;
    else if (p->n_working == 0)
        reason = p->n_starting > 0 ? IH_JPEG_REASON_NOT_STARTED : IH_JPEG_REASON_STOPPED;
    pthread_mutex_unlock(&q->lock);
    return reason;
}

/* Reads a file into its place, plans it, and allocates its counters: here and not in the sessions,
 * since a thread that frees memory of another waits for its lock. */
static enum ih_jpeg_reason plan_file(const struct ih_jpeg_queue *q, const struct batch *b,
                                     struct ih_reader *src, size_t n_bytes, struct ih_jpeg_job *job)
{
    uint8_t *const bytes = b->session.files + job->file_offset;
    struct ih_error ignored;
    size_t got = 0;
    if (ih_reader_read(src, bytes, n_bytes, &got, &ignored) != IH_OK)
        return IH_JPEG_REASON_NOT_A_FILE;
    enum ih_jpeg_reason reason = ih_jpeg_plan_make(&job->plan, bytes, got);
    if (reason == IH_JPEG_REASON_NONE && job->plan.is_progressive != b->session.is_progressive)
        reason = IH_JPEG_REASON_HEADER; /* so long that its end was not seen before */
    const bool is_small = reason == IH_JPEG_REASON_NONE &&
                          (uint64_t)job->plan.width * job->plan.height <= q->options.max_pixels &&
                          ih_jpeg_plan_gpu_bytes(&job->plan) <= b->session.gpu_bytes;
    if (reason != IH_JPEG_REASON_NONE || !is_small) {
        ih_jpeg_plan_reset(&job->plan);
        return is_small ? IH_JPEG_REASON_NOT_A_FILE : reason ? reason : IH_JPEG_REASON_NOT_A_FILE;
    }
    job->spec = q->spec;
    job->spec.layout = ih_layout_of(job->plan.n_components);
    if (ih_histogram_init_unset(&job->result->histogram, &job->spec, &ignored) != IH_OK) {
        ih_jpeg_plan_reset(&job->plan);
        return IH_JPEG_REASON_NOT_A_FILE;
    }
    return IH_JPEG_REASON_NONE;
}

/* Puts an open file into a batch. */
static enum ih_jpeg_reason submit(struct pool *p, struct ih_reader *src, size_t n_bytes,
                                  void *ticket, struct ih_result *result)
{
    struct ih_jpeg_queue *q = p->queue;
    pthread_mutex_lock(&q->lock);
    struct batch *b = wait_for_room(p, n_bytes);
    if (!b) {
        const bool is_working = p->n_working > 0;
        pthread_mutex_unlock(&q->lock);
        return is_working ? IH_JPEG_REASON_NOT_A_FILE : IH_JPEG_REASON_STOPPED;
    }
    struct ih_jpeg_job *job = &b->jobs[b->n_jobs++];
    const uint32_t offset = (uint32_t)b->n_bytes;
    const size_t n_taken =
        (n_bytes + IH_JPEG_FILE_ALIGNMENT - 1) / IH_JPEG_FILE_ALIGNMENT * IH_JPEG_FILE_ALIGNMENT;
    const size_t n_left = b->session.files_bytes - b->n_bytes;
    b->n_bytes += n_taken < n_left ? n_taken : n_left;
    b->n_reading++;
    pthread_mutex_unlock(&q->lock);
    *job = (struct ih_jpeg_job){.file_offset = offset, .result = result, .ticket = ticket};
    const enum ih_jpeg_reason reason = plan_file(q, b, src, n_bytes, job);
    job->is_planned = reason == IH_JPEG_REASON_NONE;
    const uint64_t gpu_bytes = job->is_planned ? ih_jpeg_plan_gpu_bytes(&job->plan) : 0;
    result->times.read_ns = src->read_ns;
    pthread_mutex_lock(&q->lock);
    b->n_planned += job->is_planned ? 1 : 0;
    b->gpu_bytes += gpu_bytes;
    if (--b->n_reading == 0 && b->state == CLOSED)
        pthread_cond_signal(&b->on_change);
    close_if_due(p);
    pthread_mutex_unlock(&q->lock);
    return reason;
}

bool ih_jpeg_queue_try(struct ih_jpeg_queue *q, const char *path, bool is_regular,
                       struct ih_reader *src, void *ticket, struct ih_result *result)
{
    uint64_t n_bytes;
    bool is_progressive;
    if (!path || !may_decode(q) || !open_jpeg(q, path, is_regular, src, &n_bytes, &is_progressive))
        return false;
    struct pool *p = &q->pools[is_progressive ? PROGRESSIVE : SEQUENTIAL];
    enum ih_jpeg_reason reason = check_sessions(p);
    memset(result, 0, sizeof *result);
    result->path = path;
    if (reason == IH_JPEG_REASON_NONE)
        reason = n_bytes > UINT32_MAX ? IH_JPEG_REASON_NOT_A_FILE
                                      : submit(p, src, (size_t)n_bytes, ticket, result);
    ih_reader_close(src);
    return reason == IH_JPEG_REASON_NONE || leave(q, reason);
}
