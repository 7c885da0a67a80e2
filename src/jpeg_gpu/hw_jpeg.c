/* The queue of files for the hardware JPEG decoders, and the threads that take batches from it: two
 * for each session, a few sessions for each GPU. One decodes; the other hands out the results of
 * the last batch meanwhile. */
#include "jpeg_gpu/hw_jpeg.h"

#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Waiting jobs for each session, or a full batch of smaller ones: enough for the next batch
     * while one is decoded, few enough that workers decode files themselves instead of queueing
     * more. */
    WAITING_MAX = 2 * IH_HW_JPEG_BATCH_LARGE,
    TEXT_MAX = 512,
    SESSIONS_MAX = IH_HW_JPEG_SESSIONS_MAX * IH_UNITS_MAX
};

struct session {
    struct ih_hw_jpeg *hw;
    struct session *first; /* the unit's first session; NULL: this is it */
    unsigned unit;         /* of the device */
    pthread_t thread, finisher;

    /* Guarded by the lock. start has returned, and with IH_OK; the session decodes no more batches;
     * it is not used any more. */
    bool has_started, is_ready, has_decoded, has_ended;
    struct ih_hw_jpeg_job *finished[IH_HW_JPEG_BATCH_MAX]; /* [n_finished] to be handed out */
    unsigned n_finished;

    /* Used by `thread` only. */
    void *state;         /* the backend's */
    unsigned n_failures; /* failed calls of batch in a row */
};

struct ih_hw_jpeg {
    struct ih_device *device;
    const struct ih_hw_jpeg_backend *backend; /* NULL: found when the device has started */
    pthread_t starter;
    bool has_starter;

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t on_job;               /* sessions wait for a job */
    pthread_cond_t on_room;              /* submitters wait for room */
    pthread_cond_t on_finished;          /* the two threads of a session wait for each other */
    pthread_cond_t on_state;             /* all others wait: for starts, for the end */
    struct ih_hw_jpeg_job *first, **end; /* the queue */
    unsigned n_waiting, n_idle;          /* jobs; sessions that wait for one */
    uint64_t n_pixels;                   /* of the waiting jobs */
    unsigned n_starting, n_ready;        /* sessions */
    bool is_known, is_closing;           /* is_known: one session is ready, or none will be */
    struct ih_error error;               /* why no session works, or why one has stopped */
    struct ih_error last_failure;        /* of a job */
    struct session sessions[SESSIONS_MAX];
    unsigned n_sessions;
    char description[TEXT_MAX];
};

static const struct ih_hw_jpeg_backend *backend_for(const struct ih_backend *device_backend)
{
#ifdef IH_WITH_NVJPEG
    if (strcmp(ih_hw_jpeg_nvjpeg.device_backend, device_backend->name) == 0)
        return &ih_hw_jpeg_nvjpeg;
#endif
    (void)device_backend;
    return NULL;
}

/* The number of sessions, the state of the run or a whole batch has changed. The lock is held. */
static void wake_all(struct ih_hw_jpeg *hw)
{
    pthread_cond_broadcast(&hw->on_job);
    pthread_cond_broadcast(&hw->on_room);
    pthread_cond_broadcast(&hw->on_state);
}

/* ---- a session ---- */

static uint64_t pixels_of(const struct ih_hw_jpeg_job *job)
{
    return (uint64_t)job->width * job->height;
}

/* Whether n jobs of n_pixels are at most n_batches full batches. */
static bool fits_batches(uint64_t n, uint64_t n_pixels, uint64_t n_batches)
{
    return n <= n_batches * IH_HW_JPEG_BATCH_LARGE ||
           (n <= n_batches * IH_HW_JPEG_BATCH_MAX &&
            n_pixels <= n_batches * IH_HW_JPEG_BATCH_PIXELS);
}

/* Takes the first job off the queue. The lock is held. */
static struct ih_hw_jpeg_job *take_first(struct ih_hw_jpeg *hw)
{
    struct ih_hw_jpeg_job *job = hw->first;
    hw->first = job->next;
    if (!hw->first)
        hw->end = &hw->first;
    hw->n_waiting--;
    hw->n_pixels -= pixels_of(job);
    return job;
}

/* Takes a session's share of the queue, so that other GPUs get work too. Large files make smaller
 * batches, of at least one. The lock is held. */
static unsigned take_batch(struct ih_hw_jpeg *hw, struct ih_hw_jpeg_job **jobs)
{
    const unsigned n_share = (hw->n_waiting + hw->n_ready - 1) / hw->n_ready;
    unsigned n = 0;
    size_t n_bytes = 0;
    uint64_t n_pixels = 0;
    while (hw->first && n < n_share) {
        n_bytes += hw->first->stream_bytes;
        n_pixels += pixels_of(hw->first);
        if (n > 0 && (n_bytes > IH_HW_JPEG_BATCH_BYTES_MAX || !fits_batches(n + 1, n_pixels, 1)))
            break;
        jobs[n++] = take_first(hw);
    }
    return n;
}

/* Fails all waiting jobs while no session works; another one may still become ready. The lock is
 * held. */
static void fail_waiting(struct ih_hw_jpeg *hw)
{
    while (hw->first && hw->n_ready == 0) {
        struct ih_hw_jpeg_job *job = take_first(hw);
        job->error = hw->error;
        job->status = job->error.status;
        pthread_mutex_unlock(&hw->lock);
        job->done(job);
        pthread_mutex_lock(&hw->lock);
    }
}

/* Calls the backend's batch. IH_OK: the session goes on, and each job has its status. */
static enum ih_status call(struct session *s, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                           struct ih_error *err)
{
    const enum ih_status status = s->hw->backend->batch(s->state, jobs, n, err);
    if (status == IH_DEVICE)
        return status;
    s->n_failures = status == IH_OK ? 0 : s->n_failures + 1;
    if (s->n_failures < IH_HW_JPEG_FAILURES_MAX)
        return IH_OK;
    const struct ih_error last = *err;
    return ih_error_set(err, IH_DEVICE, "%u failures in a row, the last: %.160s", s->n_failures,
                        last.message);
}

/* Decodes a batch. IH_OK: the session goes on. A failed batch does not tell which file was the
 * cause. So each file that is not decoded is tried again alone, and only those that fail again go
 * to the CPU, which would take many times as long for the complete batch. */
static enum ih_status decode(struct session *s, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                             struct ih_error *err)
{
    enum ih_status status = call(s, jobs, n, err);
    if (n == 1 || s->n_failures == 0)
        return status;
    for (unsigned i = 0; i < n && status == IH_OK; i++)
        if (jobs[i]->status != IH_OK)
            status = call(s, &jobs[i], 1, err);
    return status;
}

/* Records the outcome of a batch before any `done` is called: after the last `done` a caller may
 * ask for it, and no job may be queued for a broken session. The lock is held. */
static void record(struct ih_hw_jpeg *hw, struct ih_hw_jpeg_job *const *jobs, unsigned n,
                   enum ih_status status, const struct ih_error *error)
{
    for (unsigned i = 0; i < n; i++)
        if (jobs[i]->status != IH_OK)
            hw->last_failure = jobs[i]->error;
    if (status == IH_OK)
        return;
    hw->error = *error;
    hw->n_ready--;
    wake_all(hw);
}

/* The thread that hands out a session's results. */
static void *finish(void *argument)
{
    struct session *s = argument;
    struct ih_hw_jpeg *hw = s->hw;
    struct ih_hw_jpeg_job *jobs[IH_HW_JPEG_BATCH_MAX];
    pthread_mutex_lock(&hw->lock);
    for (;;) {
        while (s->n_finished == 0 && !s->has_decoded)
            pthread_cond_wait(&hw->on_finished, &hw->lock);
        const unsigned n = s->n_finished;
        if (n == 0)
            break;
        memcpy(jobs, s->finished, n * sizeof *jobs);
        s->n_finished = 0;
        pthread_cond_broadcast(&hw->on_finished);
        pthread_mutex_unlock(&hw->lock);
        for (unsigned i = n; i-- > 0;) /* a waiter for the first then finds them all done */
            jobs[i]->done(jobs[i]);
        pthread_mutex_lock(&hw->lock);
    }
    pthread_mutex_unlock(&hw->lock);
    return NULL;
}

/* Gives a batch to that thread, once it has taken the last one. The lock is held. */
static void pass_on(struct session *s, struct ih_hw_jpeg_job *const *jobs, unsigned n)
{
    while (s->n_finished > 0)
        pthread_cond_wait(&s->hw->on_finished, &s->hw->lock);
    memcpy(s->finished, jobs, n * sizeof *jobs);
    s->n_finished = n;
    pthread_cond_broadcast(&s->hw->on_finished);
}

static void work(struct session *s)
{
    struct ih_hw_jpeg *hw = s->hw;
    struct ih_hw_jpeg_job *jobs[IH_HW_JPEG_BATCH_MAX];
    struct ih_error error = {0};
    enum ih_status status = IH_OK;
    pthread_mutex_lock(&hw->lock);
    while (status == IH_OK) {
        hw->n_idle++;
        while (!hw->first && !hw->is_closing)
            pthread_cond_wait(&hw->on_job, &hw->lock);
        hw->n_idle--;
        if (!hw->first)
            break;
        const unsigned n = take_batch(hw, jobs);
        pthread_cond_broadcast(&hw->on_room);
        pthread_mutex_unlock(&hw->lock);
        status = decode(s, jobs, n, &error);
        pthread_mutex_lock(&hw->lock);
        record(hw, jobs, n, status, &error);
        pass_on(s, jobs, n);
    }
    s->has_decoded = true;
    pthread_cond_broadcast(&hw->on_finished);
    pthread_mutex_unlock(&hw->lock);
    pthread_join(s->finisher, NULL);
    pthread_mutex_lock(&hw->lock);
    if (status != IH_OK)
        fail_waiting(hw);
    while (!hw->is_closing) /* results refer to the session's texts */
        pthread_cond_wait(&hw->on_state, &hw->lock);
    pthread_mutex_unlock(&hw->lock);
}

/* Waits until a further session has work: as many files are waiting as make a batch of large ones,
 * while the first session has a batch. Returns false when that never happens. */
static bool wait_for_need(struct session *s)
{
    struct ih_hw_jpeg *hw = s->hw;
    const struct session *first = s->first;
    pthread_mutex_lock(&hw->lock);
    while (!hw->is_closing &&
           (!first->has_started || (first->is_ready && hw->n_waiting < IH_HW_JPEG_BATCH_LARGE)))
        pthread_cond_wait(&hw->on_state, &hw->lock);
    const bool is_needed = first->is_ready && !hw->is_closing;
    pthread_mutex_unlock(&hw->lock);
    return is_needed;
}

/* Waits until the unit's other sessions, which use this one, have stopped. */
static void wait_for_others(const struct session *first)
{
    struct ih_hw_jpeg *hw = first->hw;
    pthread_mutex_lock(&hw->lock);
    for (unsigned i = 0; i < hw->n_sessions; i++)
        while (hw->sessions[i].first == first && !hw->sessions[i].has_ended)
            pthread_cond_wait(&hw->on_state, &hw->lock);
    pthread_mutex_unlock(&hw->lock);
}

static void *hw_jpeg_run(void *argument)
{
    struct session *s = argument;
    struct ih_hw_jpeg *hw = s->hw;
    struct ih_error error = {0};
    enum ih_status status = IH_UNAVAILABLE;
    if (!s->first || wait_for_need(s))
        status = hw->backend->start(hw->device->units[s->unit], s->first ? s->first->state : NULL,
                                    &s->state, &error);
    if (status == IH_OK && pthread_create(&s->finisher, NULL, finish, s) != 0) {
        hw->backend->stop(s->state);
        status = ih_error_set(&error, IH_UNAVAILABLE, "cannot start a thread");
    }
    pthread_mutex_lock(&hw->lock);
    s->has_started = true;
    hw->n_starting--;
    s->is_ready = status == IH_OK;
    hw->n_ready += s->is_ready ? 1 : 0;
    if (s->is_ready && !s->first) {
        const size_t n = strlen(hw->description);
        snprintf(hw->description + n, sizeof hw->description - n, "%s%s", n ? "; " : "",
                 hw->backend->describe(s->state));
    } else if (error.status != IH_OK && hw->error.status == IH_OK) {
        hw->error = error;
    }
    hw->is_known = hw->is_known || hw->n_ready > 0 || hw->n_starting == 0;
    wake_all(hw);
    pthread_mutex_unlock(&hw->lock);
    if (status == IH_OK) {
        work(s);
        if (!s->first)
            wait_for_others(s);
        hw->backend->stop(s->state);
    }
    pthread_mutex_lock(&hw->lock);
    s->has_ended = true;
    pthread_cond_broadcast(&hw->on_state);
    pthread_mutex_unlock(&hw->lock);
    return NULL;
}

/* ---- start and stop ---- */

/* Returns the new session, or NULL when no thread can be started. The lock is held. */
static struct session *add_session(struct ih_hw_jpeg *hw, unsigned unit, struct session *first)
{
    struct session *s = &hw->sessions[hw->n_sessions];
    *s = (struct session){.hw = hw, .unit = unit, .first = first};
    if (pthread_create(&s->thread, NULL, hw_jpeg_run, s) != 0)
        return NULL;
    hw->n_starting++;
    hw->n_sessions++;
    return s;
}

/* Waits for the device, then starts the sessions of its units. */
static void *hw_jpeg_start(void *argument)
{
    struct ih_hw_jpeg *hw = argument;
    struct ih_error error = {0};
    enum ih_status status = ih_device_wait(hw->device, &error);
    if (status == IH_OK && !hw->backend)
        hw->backend = backend_for(hw->device->backend);
    if (status == IH_OK && !hw->backend) {
        const char *why = hw->device->fallback.message;
        status = ih_error_set(&error, IH_UNAVAILABLE,
                              "%s has no hardware JPEG decoders in this build%s%.300s",
                              hw->device->backend->name, *why ? "; " : "", why);
    }
    pthread_mutex_lock(&hw->lock);
    if (status == IH_OK) {
        for (unsigned i = 0; i < hw->device->n_units && !hw->is_closing; i++) {
            struct session *first = add_session(hw, i, NULL);
            for (unsigned k = 1; first && k < hw->backend->n_sessions; k++)
                add_session(hw, i, first);
        }
        if (hw->n_starting == 0)
            ih_error_set(&error, IH_UNAVAILABLE, "cannot start a thread");
    }
    if (hw->n_starting == 0) {
        hw->error = error;
        hw->is_known = true;
    }
    wake_all(hw);
    pthread_mutex_unlock(&hw->lock);
    return NULL;
}

enum ih_status ih_hw_jpeg_open(struct ih_device *device, const struct ih_hw_jpeg_backend *backend,
                               struct ih_hw_jpeg **hw, struct ih_error *err)
{
    struct ih_hw_jpeg *h = calloc(1, sizeof *h);
    if (!h)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    h->device = device;
    h->backend = backend;
    h->end = &h->first;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->on_job, NULL);
    pthread_cond_init(&h->on_room, NULL);
    pthread_cond_init(&h->on_finished, NULL);
    pthread_cond_init(&h->on_state, NULL);
    h->has_starter = pthread_create(&h->starter, NULL, hw_jpeg_start, h) == 0;
    if (!h->has_starter)
        hw_jpeg_start(h);
    *hw = h;
    return IH_OK;
}

void ih_hw_jpeg_leave(struct ih_hw_jpeg *hw)
{
    pthread_mutex_lock(&hw->device->lock);
    hw->device->is_left = true;
    pthread_mutex_unlock(&hw->device->lock);
}

void ih_hw_jpeg_close(struct ih_hw_jpeg *hw)
{
    if (!hw)
        return;
    pthread_mutex_lock(&hw->lock);
    hw->is_closing = true;
    wake_all(hw);
    pthread_mutex_unlock(&hw->lock);
    if (hw->has_starter)
        pthread_join(hw->starter, NULL);
    for (unsigned i = 0; i < hw->n_sessions; i++)
        pthread_join(hw->sessions[i].thread, NULL);
    pthread_cond_destroy(&hw->on_state);
    pthread_cond_destroy(&hw->on_finished);
    pthread_cond_destroy(&hw->on_room);
    pthread_cond_destroy(&hw->on_job);
    pthread_mutex_destroy(&hw->lock);
    free(hw);
}

/* ---- for the callers ---- */

enum ih_status ih_hw_jpeg_wait(struct ih_hw_jpeg *hw, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    pthread_mutex_lock(&hw->lock);
    while (!hw->is_known)
        pthread_cond_wait(&hw->on_state, &hw->lock);
    if (hw->n_ready == 0)
        status = ih_error_set(err, IH_UNAVAILABLE, "%.400s", hw->error.message);
    pthread_mutex_unlock(&hw->lock);
    return status;
}

void ih_hw_jpeg_describe(struct ih_hw_jpeg *hw, char *text, size_t size)
{
    pthread_mutex_lock(&hw->lock);
    const bool has_failure = hw->last_failure.status != IH_OK;
    snprintf(text, size, "%s%s%s", hw->description, has_failure ? "; last failure: " : "",
             hw->last_failure.message);
    pthread_mutex_unlock(&hw->lock);
}

/* The lock is held. */
static enum ih_hw_jpeg_room room(const struct ih_hw_jpeg *hw)
{
    if (!hw->is_known)
        return IH_HW_JPEG_STARTING;
    if (hw->n_ready == 0)
        return IH_HW_JPEG_NONE;
    return hw->n_waiting < hw->n_ready * WAITING_MAX ||
                   fits_batches(hw->n_waiting + 1, hw->n_pixels, hw->n_ready)
               ? IH_HW_JPEG_HAS_ROOM
               : IH_HW_JPEG_BUSY;
}

enum ih_hw_jpeg_room ih_hw_jpeg_room(struct ih_hw_jpeg *hw)
{
    pthread_mutex_lock(&hw->lock);
    const enum ih_hw_jpeg_room r = room(hw);
    pthread_mutex_unlock(&hw->lock);
    return r;
}

bool ih_hw_jpeg_accepts(struct ih_hw_jpeg *hw, uint32_t width, uint32_t height)
{
    bool accepts = true;
    pthread_mutex_lock(&hw->lock);
    for (unsigned i = 0; i < hw->n_sessions && accepts; i++) {
        const struct session *s = &hw->sessions[i];
        if (!s->first && s->is_ready && hw->backend->accepts)
            accepts = hw->backend->accepts(s->state, width, height);
    }
    pthread_mutex_unlock(&hw->lock);
    return accepts;
}

bool ih_hw_jpeg_submit(struct ih_hw_jpeg *hw, struct ih_hw_jpeg_job *job)
{
    pthread_mutex_lock(&hw->lock);
    while (room(hw) == IH_HW_JPEG_STARTING || room(hw) == IH_HW_JPEG_BUSY)
        pthread_cond_wait(&hw->on_room, &hw->lock);
    const bool is_taken = room(hw) == IH_HW_JPEG_HAS_ROOM;
    if (is_taken) {
        job->next = NULL;
        *hw->end = job;
        hw->end = &job->next;
        hw->n_waiting++;
        hw->n_pixels += pixels_of(job);
        if (hw->n_idle > 0)
            pthread_cond_signal(&hw->on_job);
        if (hw->n_waiting == IH_HW_JPEG_BATCH_LARGE)
            pthread_cond_broadcast(&hw->on_state); /* to wait_for_need */
    }
    pthread_mutex_unlock(&hw->lock);
    return is_taken;
}
