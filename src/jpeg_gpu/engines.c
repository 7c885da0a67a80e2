/* The queue before the engines, and threads that take batches from it, one or more for each GPU. */
#include "jpeg_gpu/engines.h"

#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Jobs that may wait for an engine: enough for the next batch while one is under way, few
     * enough that a processor helps out rather than that work piles up. How many bytes may wait is
     * for the callers to say, who own them (in the pipeline, the budget). */
    WAITING_MAX = 2 * IH_JPEG_BATCH_MAX,
    TEXT_MAX = 512,
    RUNNERS_MAX = 2 * IH_UNITS_MAX
};

/* One engine's thread. */
struct runner {
    struct ih_jpeg_engines *all;
    struct runner *sibling; /* of the same unit, that starts before; NULL: none */
    unsigned unit;          /* of the device's */
    pthread_t thread;
    bool has_started, is_ready; /* guarded by the lock: start has ended, and well */

    /* The thread's own. */
    void *engine;
    unsigned n_refusals; /* calls of batch that have failed since one that has not */
};

struct ih_jpeg_engines {
    struct ih_device *device;
    const struct ih_jpeg_backend *backend; /* NULL: the device has none */
    pthread_t starter;
    bool has_starter;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_change;
    struct ih_jpeg_job *first, **end; /* the queue */
    unsigned n_waiting;
    unsigned n_starting, n_ready; /* runners */
    bool is_known, is_closing;
    struct ih_error error;      /* why there is none, or why one has given up */
    struct ih_error given_back; /* why the last file was that an engine gave back */
    struct runner runners[RUNNERS_MAX];
    unsigned n_runners;
    char description[TEXT_MAX];
};

/* ---- a runner ---- */

/* Takes a fair part of what waits: with several GPUs idle, none takes it all; of large files fewer,
 * but one. The lock is held. */
static unsigned take_batch(struct ih_jpeg_engines *e, struct ih_jpeg_job **jobs)
{
    unsigned n_fair = (e->n_waiting + e->n_ready - 1) / e->n_ready, n = 0;
    size_t n_bytes = 0;
    while (e->first && n < n_fair && n < IH_JPEG_BATCH_MAX) {
        n_bytes += e->first->stream_bytes;
        if (n > 0 && n_bytes > IH_JPEG_BATCH_BYTES_MAX)
            break;
        jobs[n++] = e->first;
        e->first = e->first->next;
    }
    if (!e->first)
        e->end = &e->first;
    e->n_waiting -= n;
    return n;
}

/* Every job of the queue is given back undone, as long as no engine is left: another may only just
 * have started. The lock is held. */
static void give_all_back(struct ih_jpeg_engines *e)
{
    while (e->first && e->n_ready == 0) {
        struct ih_jpeg_job *job = e->first;
        e->first = job->next;
        if (!e->first)
            e->end = &e->first;
        e->n_waiting--;
        job->error = e->error;
        job->status = job->error.status;
        pthread_mutex_unlock(&e->lock);
        job->done(job);
        pthread_mutex_lock(&e->lock);
    }
}

/* One call of the engine. IH_OK: it goes on; how the jobs went is in them. */
static enum ih_status call(struct runner *r, struct ih_jpeg_job *const *jobs, unsigned n,
                           struct ih_error *err)
{
    enum ih_status status = r->all->backend->batch(r->engine, jobs, n, err);
    if (status == IH_DEVICE)
        return status;
    r->n_refusals = status == IH_OK ? 0 : r->n_refusals + 1;
    if (r->n_refusals < IH_JPEG_REFUSALS_MAX)
        return IH_OK;
    const struct ih_error last = *err;
    return ih_error_set(err, IH_DEVICE, "%u failures in a row, the last: %.160s", r->n_refusals,
                        last.message);
}

/*
 * Decodes a batch. IH_OK: the engine goes on.
 *
 * An engine that fails says of a batch that something was not to its liking, not what. So what has
 * not been decoded is tried once more, file by file, and only what fails alone goes back. To give
 * all back would be simpler, but a processor takes many times as long for a batch as the engines.
 */
static enum ih_status decode(struct runner *r, struct ih_jpeg_job *const *jobs, unsigned n,
                             struct ih_error *err)
{
    enum ih_status status = call(r, jobs, n, err);
    if (n == 1 || r->n_refusals == 0)
        return status;
    for (unsigned i = 0; i < n && status == IH_OK; i++)
        if (jobs[i]->status != IH_OK)
            status = call(r, &jobs[i], 1, err);
    return status;
}

/* Keeps what a batch has shown, before its jobs are done: who waits for the last of them may ask at
 * once, and nobody shall queue more for an engine that has failed. The lock is held. */
static void take_note(struct ih_jpeg_engines *e, struct ih_jpeg_job *const *jobs, unsigned n,
                      enum ih_status status, const struct ih_error *error)
{
    for (unsigned i = 0; i < n; i++)
        if (jobs[i]->status != IH_OK)
            e->given_back = jobs[i]->error;
    if (status == IH_OK)
        return;
    e->error = *error;
    e->n_ready--;
    pthread_cond_broadcast(&e->on_change); /* to those that wait for room */
}

static void work(struct runner *r)
{
    struct ih_jpeg_engines *e = r->all;
    struct ih_jpeg_job *jobs[IH_JPEG_BATCH_MAX];
    struct ih_error error = {0};
    enum ih_status status = IH_OK;
    pthread_mutex_lock(&e->lock);
    while (status == IH_OK) {
        while (!e->first && !e->is_closing)
            pthread_cond_wait(&e->on_change, &e->lock);
        if (!e->first)
            break;
        unsigned n = take_batch(e, jobs);
        pthread_cond_broadcast(&e->on_change); /* there is room */
        pthread_mutex_unlock(&e->lock);
        status = decode(r, jobs, n, &error);
        pthread_mutex_lock(&e->lock);
        take_note(e, jobs, n, status, &error);
        pthread_mutex_unlock(&e->lock);
        for (unsigned i = 0; i < n; i++)
            jobs[i]->done(jobs[i]);
        pthread_mutex_lock(&e->lock);
    }
    if (status != IH_OK)
        give_all_back(e);
    while (!e->is_closing) /* results name the engine that made them */
        pthread_cond_wait(&e->on_change, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

/* Waits until there is work for a second engine: a whole batch, while the first has one. Starting
 * it takes as long as starting the first, which many a run would wait for to no avail. */
static bool is_needed(struct runner *r)
{
    struct ih_jpeg_engines *e = r->all;
    pthread_mutex_lock(&e->lock);
    while (!e->is_closing &&
           (!r->sibling->has_started || (r->sibling->is_ready && e->n_waiting < IH_JPEG_BATCH_MAX)))
        pthread_cond_wait(&e->on_change, &e->lock);
    const bool is = r->sibling->is_ready && !e->is_closing;
    pthread_mutex_unlock(&e->lock);
    return is;
}

static void *run(void *argument)
{
    struct runner *r = argument;
    struct ih_jpeg_engines *e = r->all;
    struct ih_error error = {0};
    enum ih_status status = IH_UNAVAILABLE;
    if (!r->sibling || is_needed(r))
        status = e->backend->start(e->device->units[r->unit], &r->engine, &error);
    pthread_mutex_lock(&e->lock);
    r->has_started = true;
    e->n_starting--;
    if (status == IH_OK) {
        r->is_ready = true;
        e->n_ready++;
    }
    if (status == IH_OK && !r->sibling) {
        size_t n = strlen(e->description);
        snprintf(e->description + n, sizeof e->description - n, "%s%s", n ? "; " : "",
                 e->backend->describe(r->engine));
    } else if (error.status != IH_OK && e->error.status == IH_OK) {
        e->error = error;
    }
    e->is_known = e->is_known || e->n_ready > 0 || e->n_starting == 0;
    pthread_cond_broadcast(&e->on_change);
    pthread_mutex_unlock(&e->lock);
    if (status == IH_OK) {
        work(r);
        e->backend->stop(r->engine);
    }
    return NULL;
}

/* ---- starting and stopping ---- */

/* A runner of a unit. Gives it, or NULL where no thread can be started. The lock is held. */
static struct runner *add_runner(struct ih_jpeg_engines *e, unsigned unit, struct runner *sibling)
{
    struct runner *r = &e->runners[e->n_runners];
    *r = (struct runner){.all = e, .unit = unit, .sibling = sibling};
    if (pthread_create(&r->thread, NULL, run, r) != 0)
        return NULL;
    e->n_starting++;
    e->n_runners++;
    return r;
}

/* Waits for the device, and starts the runners of its units. */
static void *start(void *argument)
{
    struct ih_jpeg_engines *e = argument;
    struct ih_error error = {0};
    enum ih_status status = ih_device_wait(e->device, &error);
    if (status == IH_OK && !e->device->backend->jpeg) {
        const char *why = e->device->fallback.message;
        status =
            ih_error_set(&error, IH_UNAVAILABLE, "%s has no JPEG engines in this build%s%.300s",
                         e->device->backend->name, *why ? "; " : "", why);
    }
    pthread_mutex_lock(&e->lock);
    if (status == IH_OK) {
        e->backend = e->device->backend->jpeg;
        for (unsigned i = 0; i < e->device->n_units && !e->is_closing; i++) {
            struct runner *first = add_runner(e, i, NULL);
            if (first && e->backend->starts_two)
                add_runner(e, i, first);
        }
        if (e->n_starting == 0)
            ih_error_set(&error, IH_UNAVAILABLE, "cannot start a thread");
    }
    if (e->n_starting == 0) {
        e->error = error;
        e->is_known = true;
    }
    pthread_cond_broadcast(&e->on_change);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

enum ih_status ih_jpeg_engines_open(struct ih_device *device, struct ih_jpeg_engines **engines,
                                    struct ih_error *err)
{
    struct ih_jpeg_engines *e = calloc(1, sizeof *e);
    if (!e)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    e->device = device;
    e->end = &e->first;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->on_change, NULL);
    e->has_starter = pthread_create(&e->starter, NULL, start, e) == 0;
    if (!e->has_starter)
        start(e);
    *engines = e;
    return IH_OK;
}

void ih_jpeg_engines_leave(struct ih_jpeg_engines *e)
{
    pthread_mutex_lock(&e->device->lock);
    e->device->is_left = true;
    pthread_mutex_unlock(&e->device->lock);
}

void ih_jpeg_engines_close(struct ih_jpeg_engines *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    e->is_closing = true;
    pthread_cond_broadcast(&e->on_change);
    pthread_mutex_unlock(&e->lock);
    if (e->has_starter)
        pthread_join(e->starter, NULL);
    for (unsigned i = 0; i < e->n_runners; i++)
        pthread_join(e->runners[i].thread, NULL);
    pthread_cond_destroy(&e->on_change);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* ---- for the callers ---- */

enum ih_status ih_jpeg_engines_wait(struct ih_jpeg_engines *e, struct ih_error *err)
{
    pthread_mutex_lock(&e->lock);
    while (!e->is_known)
        pthread_cond_wait(&e->on_change, &e->lock);
    enum ih_status status = IH_OK;
    if (e->n_ready == 0)
        status = ih_error_set(err, IH_UNAVAILABLE, "%.400s", e->error.message);
    pthread_mutex_unlock(&e->lock);
    return status;
}

void ih_jpeg_engines_describe(struct ih_jpeg_engines *e, char *text, size_t size)
{
    pthread_mutex_lock(&e->lock);
    snprintf(text, size, "%s%s%s", e->description,
             e->given_back.status == IH_OK ? "" : "; the last given back: ", e->given_back.message);
    pthread_mutex_unlock(&e->lock);
}

/* The lock is held. */
static enum ih_jpeg_room room(const struct ih_jpeg_engines *e)
{
    if (!e->is_known)
        return IH_JPEG_STARTING;
    if (e->n_ready == 0)
        return IH_JPEG_NONE;
    return e->n_waiting < e->n_ready * WAITING_MAX ? IH_JPEG_HAS_ROOM : IH_JPEG_BUSY;
}

enum ih_jpeg_room ih_jpeg_engines_room(struct ih_jpeg_engines *e)
{
    pthread_mutex_lock(&e->lock);
    enum ih_jpeg_room r = room(e);
    pthread_mutex_unlock(&e->lock);
    return r;
}

bool ih_jpeg_engines_take(struct ih_jpeg_engines *e, struct ih_jpeg_job *job)
{
    pthread_mutex_lock(&e->lock);
    while (room(e) == IH_JPEG_STARTING || room(e) == IH_JPEG_BUSY)
        pthread_cond_wait(&e->on_change, &e->lock);
    bool is_taken = room(e) == IH_JPEG_HAS_ROOM;
    if (is_taken) {
        job->next = NULL;
        *e->end = job;
        e->end = &job->next;
        e->n_waiting++;
        pthread_cond_broadcast(&e->on_change);
    }
    pthread_mutex_unlock(&e->lock);
    return is_taken;
}
