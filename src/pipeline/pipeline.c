/*
 * Workers, and the window that puts their results back into order.
 *
 * Two locks: one makes calls to `next` and the numbering of inputs a single step, so that a slow
 * directory holds up neither results nor workers that are busy; the other guards the window.
 */
#define _POSIX_C_SOURCE 200809L

#include "pipeline/pipeline.h"

#include "base/budget.h"
#include "isolate/decoder_process.h"
#include "pipeline/offload.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Inputs per worker that may be under way, or done and waiting for a slower one before them: one
 * that takes as long as 192 of its neighbours holds nobody up. A result is there only from its
 * start until it is taken, so the 11 KB of each are only needed while there is such an input. Where
 * it is the taker that is slow, a few keep everybody busy.
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

    pthread_mutex_t next_lock; /* held around a call to next */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_change;
    struct window_slot *slots; /* input i is in slot i % n_slots */
    size_t n_slots;
    uint64_t n_started, n_taken; /* inputs; n_started - n_taken <= n_slots */
    uint64_t n_offloaded;        /* inputs that the engines have */
    unsigned n_working;
    bool is_stopping;      /* no more inputs are started */
    struct ih_error error; /* of a worker that could not begin */
};

/* Whether one more input may be started; the lock is held. */
static bool has_room(const struct pipeline *p)
{
    uint64_t n = p->n_started - p->n_taken;
    uint64_t few = (uint64_t)p->options->n_threads * WINDOW_OF_SLOW_TAKER;
    bool is_taker_behind = p->slots[p->n_taken % p->n_slots].is_ready;
    return n < p->n_slots && (n < few || !is_taker_behind);
}

/* Waits for room in the window and takes the next input. NULL: there are none. */
static struct window_slot *start_next(struct pipeline *p)
{
    struct window_slot *slot = NULL;
    struct ih_input input = {.path = NULL};
    pthread_mutex_lock(&p->next_lock);
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping && !has_room(p))
        pthread_cond_wait(&p->on_change, &p->lock);
    bool may = !p->is_stopping;
    pthread_mutex_unlock(&p->lock);

    may = may && p->calls->next(p->calls->next_user, &input);

    pthread_mutex_lock(&p->lock);
    if (may) {
        slot = &p->slots[p->n_started++ % p->n_slots];
        slot->input = input;
    } else {
        p->is_stopping = true;
    }
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_unlock(&p->next_lock);
    return slot;
}

/* A result for its slot. */
static void finish(struct pipeline *p, struct window_slot *slot, struct ih_result *result)
{
    pthread_mutex_lock(&p->lock);
    if (result->status == IH_UNAVAILABLE) {
        p->error = result->error; /* no device, no helper: so it is for every input */
        p->is_stopping = true;
    }
    slot->result = result;
    slot->is_ready = true;
    pthread_cond_broadcast(&p->on_change);
    pthread_mutex_unlock(&p->lock);
}

/* What counts one input after the other. */
struct worker {
    struct ih_pipeline_options options; /* with the helper */
    struct ih_decoder_process helper;
    struct ih_lane *lane;
    struct ih_source src;
    struct ih_offload_file file;
};

/* IH_OK or IH_MEMORY; to be closed in any case. */
static enum ih_status open_worker(struct worker *w, const struct pipeline *p, struct ih_error *err)
{
    *w = (struct worker){.options = *p->options};
    ih_decoder_process_init(&w->helper, w->options.helper);
    if (w->options.helper)
        w->options.decode.helper = &w->helper;
    return ih_lane_open(p->device, &w->lane, err);
}

static void close_worker(struct worker *w)
{
    ih_decoder_process_reset(&w->helper);
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
 * Counts an input that the engines have given back, in their thread: that is rare, and a worker may
 * be waiting for an input that comes much later.
 *
 * The file may be another by now, of any kind and size. The budget is one of its own: of the
 * pipeline's, other files hold some that wait for this very thread.
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

/* What the engines have done with an input. */
static void on_offloaded(void *pipeline, void *ticket, struct ih_result *result, bool is_counted)
{
    struct pipeline *p = pipeline;
    struct window_slot *slot = ticket;
    if (!is_counted)
        count_given_back(p, &slot->input, result);
    finish(p, slot, result);
    pthread_mutex_lock(&p->lock);
    p->n_offloaded--;
    pthread_cond_broadcast(&p->on_change);
    pthread_mutex_unlock(&p->lock);
}

/* Whether the engines have taken an input. */
static bool offload(struct pipeline *p, struct worker *w, struct window_slot *slot,
                    struct ih_result *result)
{
    pthread_mutex_lock(&p->lock);
    p->n_offloaded++; /* before they may have finished it */
    pthread_mutex_unlock(&p->lock);
    if (ih_offload_try(&p->offload, &slot->input, &w->file, &w->src, slot, result))
        return true;
    pthread_mutex_lock(&p->lock);
    p->n_offloaded--; /* nobody waits for that: this worker has the input */
    pthread_mutex_unlock(&p->lock);
    return false;
}

/* One input after the other, until there are none. IH_OK, or why the worker cannot go on. */
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
        ih_offload_saw(&p->offload, &w->file, result);
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
            p->options->decode.n_idle_cores); /* the last images are decoded the sooner */

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

/* Hands results out in order until no worker is left to make more. After take has had enough, what
 * is still under way is dropped. */
static void take_results(struct pipeline *p)
{
    bool go_on = true;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct window_slot *slot = &p->slots[p->n_taken % p->n_slots];
        if (slot->is_ready) {
            bool is_wanted = go_on && p->error.status == IH_OK;
            pthread_mutex_unlock(&p->lock);
            if (is_wanted)
                go_on = p->calls->take(p->calls->take_user, &slot->input, slot->result);
            free(slot->input.path);
            free(slot->result);
            pthread_mutex_lock(&p->lock);
            slot->is_ready = false;
            p->n_taken++;
            if (!go_on)
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
    pthread_mutex_lock(&p->lock); /* a worker that ends at once must find itself counted */
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

enum ih_status ih_pipeline_run(struct ih_device *device, const struct ih_pipeline_options *options,
                               const struct ih_pipeline_calls *calls, struct ih_error *err)
{
    struct pipeline p = {.device = device, .options = options, .calls = calls};
    enum ih_status status;
    p.n_slots = (size_t)options->n_threads * WINDOW_PER_THREAD;
    p.slots = calloc(p.n_slots, sizeof *p.slots);
    pthread_t *threads = calloc(options->n_threads, sizeof *threads);
    pthread_mutex_init(&p.next_lock, NULL);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.on_change, NULL);
    ih_offload_init(&p.offload, options, device, on_offloaded, &p);
    if (!p.slots || !threads)
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    else if ((status = ih_offload_begin(&p.offload, err)) == IH_OK)
        status = run_workers(&p, threads, options->n_threads, err);
    ih_offload_close(&p.offload);
    pthread_cond_destroy(&p.on_change);
    pthread_mutex_destroy(&p.lock);
    pthread_mutex_destroy(&p.next_lock);
    free(threads);
    free(p.slots);
    return status;
}
