/*
 * The workers, and the window that puts their results back into order.
 *
 * There are two locks. next_lock is held while an input is fetched and numbered, so a slow
 * directory walk holds up neither results nor busy workers. lock guards the window.
 */
#define _POSIX_C_SOURCE 200809L

#include "pipeline/pipeline.h"

#include "base/budget.h"
#include "jpeg_gpu/offload.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * How many inputs per worker may be started but not yet taken. With 192, an input may take 192
 * times as long as the others without holding them up. Each started input holds 11 KB until its
 * result is taken. If the taker is slow, 16 are enough to keep all workers busy.
 */
enum { WINDOW_PER_THREAD = 192, WINDOW_OF_SLOW_TAKER = 16 };

struct window_slot {
    bool is_ready;
    struct ih_input input;
    struct ih_result *result; /* owned */
};

struct pipeline {
    struct ih_device *device;
    const struct ih_pipeline_options *options;
    const struct ih_pipeline_calls *calls;
    struct ih_offload offload;

    pthread_mutex_t next_lock; /* held during a call to next */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_change;
    struct window_slot *slots; /* input i is in slot i % n_slots */
    size_t n_slots;
    uint64_t n_started, n_taken; /* inputs; n_started - n_taken <= n_slots */
    uint64_t n_offloaded;        /* inputs at the hardware JPEG decoders */
    unsigned n_working;          /* workers */
    bool is_stopping;            /* start no more inputs */
    struct ih_error error;       /* ends the run */
};

/* Whether one more input may be started. The caller holds the lock. */
static bool has_room(const struct pipeline *p)
{
    uint64_t n = p->n_started - p->n_taken;
    uint64_t few = (uint64_t)p->options->n_threads * WINDOW_OF_SLOW_TAKER;
    bool is_taker_slow = p->slots[p->n_taken % p->n_slots].is_ready;
    return n < p->n_slots && (n < few || !is_taker_slow);
}

/* Waits for room in the window and fetches the next input. NULL at the end. */
static struct window_slot *start_next(struct pipeline *p)
{
    struct window_slot *slot = NULL;
    struct ih_input input = {.path = NULL};
    pthread_mutex_lock(&p->next_lock);
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping && !has_room(p))
        pthread_cond_wait(&p->on_change, &p->lock);
    bool has_input = !p->is_stopping;
    pthread_mutex_unlock(&p->lock);

    has_input = has_input && p->calls->next(p->calls->next_user, &input);

    pthread_mutex_lock(&p->lock);
    if (has_input) {
        slot = &p->slots[p->n_started++ % p->n_slots];
        slot->input = input;
    } else {
        p->is_stopping = true;
    }
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_unlock(&p->next_lock);
    return slot;
}

/* Puts a result into its slot. */
static void finish(struct pipeline *p, struct window_slot *slot, struct ih_result *result)
{
    pthread_mutex_lock(&p->lock);
    if (result->status == IH_UNAVAILABLE) {
        p->error = result->error; /* no device or decoder process: every input would fail */
        p->is_stopping = true;
    }
    slot->result = result;
    slot->is_ready = true;
    pthread_cond_broadcast(&p->on_change);
    pthread_mutex_unlock(&p->lock);
}

struct worker {
    struct ih_pipeline_options options; /* with this worker's remote decoder */
    struct ih_lane *lane;
    struct ih_source src;
    struct ih_offload_file file;
};

/* IH_OK or IH_MEMORY; the caller closes the worker in both cases. */
static enum ih_status open_worker(struct worker *w, const struct pipeline *p, struct ih_error *err)
{
    *w = (struct worker){.options = *p->options};
    const struct ih_remote_decoders *remote = p->options->remote_decoders;
    if (remote && !(w->options.decode.remote = remote->make(remote->user)))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return ih_lane_open(p->device, &w->lane, err);
}

static void close_worker(struct worker *w)
{
    if (w->options.remote_decoders)
        w->options.remote_decoders->destroy(w->options.decode.remote);
    ih_lane_close(w->lane);
    ih_source_reset(&w->src);
    free(w->file.bytes);
}

static void count_input(struct worker *w, const struct ih_input *input, struct ih_result *result)
{
    ih_count_input(&w->options, input, w->lane, &w->src, result);
    if (result->status == IH_OK)
        result->counted_by = ih_lane_description(w->lane);
}

/*
 * Counts an input that the hardware JPEG decoders have returned uncounted. This is rare, so it runs
 * in their thread: a worker may be blocked on an input that comes much later.
 *
 * The file may have changed to any kind and size. It gets a budget of its own: files queued behind
 * it hold part of the pipeline's budget, and waiting for them here would deadlock.
 */
static void count_given_back(const struct pipeline *p, const struct ih_input *input,
                             struct ih_result *result)
{
    const struct ih_budget *all = p->options->decode.budget;
    struct ih_budget budget;
    struct worker w;
    memset(result, 0, sizeof *result);
    result->path = input->path;
    ih_budget_init(&budget, all ? all->size_bytes : UINT64_MAX);
    result->status = open_worker(&w, p, &result->error);
    w.options.decode.budget = &budget;
    if (result->status == IH_OK)
        count_input(&w, input, result);
    close_worker(&w);
    ih_budget_destroy(&budget);
}

/* Called by the offload queue when an input is done. */
static void on_offloaded(void *pipeline, void *ticket, struct ih_result *result, bool is_counted)
{
    struct pipeline *p = pipeline;
    struct window_slot *slot = ticket;
    if (!is_counted)
        count_given_back(p, &slot->input, result);
    else if (p->options->skips_transparent)
        result->alpha = IH_ALPHA_SKIP_TRANSPARENT;
    finish(p, slot, result);
    pthread_mutex_lock(&p->lock);
    p->n_offloaded--;
    pthread_cond_broadcast(&p->on_change);
    pthread_mutex_unlock(&p->lock);
}

/* Offers an input to the hardware JPEG decoders. Returns whether they took it. */
static bool offload(struct pipeline *p, struct worker *w, struct window_slot *slot,
                    struct ih_result *result)
{
    pthread_mutex_lock(&p->lock);
    p->n_offloaded++; /* first, because they may finish before the call returns */
    pthread_mutex_unlock(&p->lock);
    const struct ih_input *input = &slot->input;
    const bool is_file = !input->bytes && !input->is_stdin && input->error.status == IH_OK;
    if (ih_offload_try(&p->offload, is_file ? input->path : NULL, &w->file, &w->src, slot, result))
        return true;
    pthread_mutex_lock(&p->lock);
    p->n_offloaded--; /* needs no signal: this worker goes on with the input */
    pthread_mutex_unlock(&p->lock);
    return false;
}

/* Counts inputs until there are no more. */
static enum ih_status work_on_inputs(struct pipeline *p, struct worker *w, struct ih_error *err)
{
    for (;;) {
        struct ih_result *result = malloc(sizeof *result);
        if (!result)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        struct window_slot *slot = start_next(p);
        if (!slot) {
            free(result);
            return IH_OK;
        }
        if (offload(p, w, slot, result))
            continue;
        count_input(w, &slot->input, result);
        ih_offload_counted(&p->offload, &w->file, result);
        finish(p, slot, result);
    }
}

static void *work(void *argument)
{
    struct pipeline *p = argument;
    struct worker w;
    struct ih_error error = {0};
    if (open_worker(&w, p, &error) == IH_OK)
        work_on_inputs(p, &w, &error);
    close_worker(&w);
    if (p->options->decode.n_idle_cores)
        ih_idle_core_give(
            p->options->decode.n_idle_cores); /* decoders of the last images may use it */

    pthread_mutex_lock(&p->lock);
    p->n_working--;
    if (error.status != IH_OK) {
        p->error = error;
        p->is_stopping = true;
    }
    pthread_cond_broadcast(&p->on_change);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Hands out results in order until no worker is left. After take has returned false, further
 * results are dropped. */
static void take_results(struct pipeline *p)
{
    bool is_taking = true;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct window_slot *slot = &p->slots[p->n_taken % p->n_slots];
        if (slot->is_ready) {
            bool is_wanted = is_taking && p->error.status == IH_OK;
            pthread_mutex_unlock(&p->lock);
            if (is_wanted)
                is_taking = p->calls->take(p->calls->take_user, &slot->input, slot->result);
            free(slot->input.path);
            free(slot->result);
            pthread_mutex_lock(&p->lock);
            slot->is_ready = false;
            p->n_taken++;
            if (!is_taking)
                p->is_stopping = true;
            pthread_cond_broadcast(&p->on_change);
        } else if (p->n_working == 0 && p->n_offloaded == 0) {
            break;
        } else {
            pthread_cond_wait(&p->on_change, &p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
}

static enum ih_status run_workers(struct pipeline *p, pthread_t *threads, unsigned n_wanted,
                                  struct ih_error *err)
{
    unsigned n_threads = 0;
    pthread_mutex_lock(&p->lock); /* a worker may end before n_working is set */
    while (n_threads < n_wanted && pthread_create(&threads[n_threads], NULL, work, p) == 0)
        n_threads++;
    p->n_working = n_threads;
    pthread_mutex_unlock(&p->lock);
    take_results(p);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    if (n_threads == 0)
        return ih_error_set(err, IH_MEMORY, "cannot start a thread");
    if (p->error.status != IH_OK) {
        *err = p->error;
        return err->status;
    }
    return ih_device_wait_usable(p->device, err);
}

/* What the offload queue needs to know. Files that have to be decoded in another way stay out. */
static struct ih_offload_options offload_options(const struct ih_pipeline_options *o)
{
    const bool is_cpu = o->decode.raw_channels || o->decode.isolates_all;
    return (struct ih_offload_options){.side = is_cpu ? IH_JPEG_CPU : o->jpeg,
                                       .n_workers = o->n_threads,
                                       .max_pixels = o->decode.max_pixels,
                                       .budget = o->decode.budget,
                                       .luma = o->luma,
                                       .clip_low = o->clip_low,
                                       .clip_high = o->clip_high,
                                       .outputs = o->outputs,
                                       .n_outputs = o->n_outputs,
                                       .is_last = o->is_last,
                                       .report = o->jpeg_report,
                                       .hw_jpeg = o->hw_jpeg};
}

enum ih_status ih_pipeline_run(struct ih_device *device, const struct ih_pipeline_options *options,
                               const struct ih_pipeline_calls *calls, struct ih_error *err)
{
    struct pipeline p = {.device = device, .options = options, .calls = calls};
    p.n_slots = (size_t)options->n_threads * WINDOW_PER_THREAD;
    p.slots = calloc(p.n_slots, sizeof *p.slots);
    pthread_t *threads = calloc(options->n_threads, sizeof *threads);
    pthread_mutex_init(&p.next_lock, NULL);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.on_change, NULL);
    const struct ih_offload_options offload = offload_options(options);
    enum ih_status status = ih_offload_open(&p.offload, &offload, device, on_offloaded, &p, err);
    if (status == IH_OK)
        status = p.slots && threads ? run_workers(&p, threads, options->n_threads, err)
                                    : ih_error_set(err, IH_MEMORY, "out of memory");
    ih_offload_close(&p.offload);
    pthread_cond_destroy(&p.on_change);
    pthread_mutex_destroy(&p.lock);
    pthread_mutex_destroy(&p.next_lock);
    free(threads);
    free(p.slots);
    return status;
}
