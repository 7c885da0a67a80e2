/*
 * The workers, and the taker of their results.
 *
 * A worker that looks for work prefers members of open archives, the first archive first, to a new
 * input. slots.c keeps the results in the order of the inputs; several.c has the images of inputs
 * of several.
 *
 * Only one worker at a time fetches an input, and one at a time reads an archive, both without the
 * lock: a slow directory walk or archive holds up neither results nor busy workers.
 */
#include "scan/state.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/path.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    ih_member_reset(&w->member, w->options.member_budget);
    if (w->options.remote_decoders)
        w->options.remote_decoders->destroy(w->options.decode.remote);
    ih_lane_close(w->lane);
    ih_source_reset(&w->src);
    free(w->file.bytes);
    free(w->file.workspace);
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
    struct slot *slot = ticket;
    if (!is_counted)
        count_given_back(p, &slot->input, result);
    else if (p->options->skips_transparent)
        result->alpha = IH_ALPHA_SKIP_TRANSPARENT;
    result->sample_range = p->options->decode.sample_range;
    ih_slot_finish(p, slot, true);
}

/* Offers an input to the hardware JPEG decoders. Returns whether they took it. */
static bool offload(struct pipeline *p, struct worker *w, struct slot *slot)
{
    slot->is_offloaded = true; /* first, because it may finish before the call returns */
    atomic_fetch_add(&p->n_offloaded, 1);
    const struct ih_input *input = &slot->input;
    const bool is_file = !input->bytes && !input->is_stdin && input->error.status == IH_OK;
    if (ih_offload_try(&p->offload, is_file ? input->path : NULL, &w->file, &w->src, slot,
                       &slot->result))
        return true;
    slot->is_offloaded = false;
    atomic_fetch_sub(&p->n_offloaded, 1); /* needs no signal: this worker goes on with the input */
    return false;
}

/* ---- work ---- */

/* Results that are handed out, and inputs that are fetched, without the lock between them. */
enum { TAKE_MOST = 16, FETCH_MOST = 16 };

/* Inputs of a slow file system are not held back until FETCH_MOST are fetched. */
#define FETCH_NS ((uint64_t)1000 * 1000)

/* A run is long if, after LONG_AFTER_S or later, it needs LONG_LEFT_S more at its pace so far. A
 * GPU with hardware decoders takes one to two seconds to start and 0.3 s to end: runs that end soon
 * after its start would take up to a quarter longer (tests/bench/auto.py). */
#define LONG_AFTER_S 0.25
#define LONG_LEFT_S 2.0

enum job { JOB_NONE, JOB_FETCH, JOB_INPUT, JOB_MEMBER };

/* Whether a worker should fetch before it starts an input. If that cannot take long, inputs are
 * fetched ahead: a worker that finds none has to sleep and be woken, which takes longer than a
 * small file. There is one for each worker, and as many as all start while the next ones are
 * fetched. The caller holds the lock. */
static bool should_fetch(const struct pipeline *p)
{
    const unsigned n_threads = p->options->n_threads;
    const bool is_ahead = p->calls->next_is_quick && n_threads > 1;
    return p->n_fetched < (is_ahead ? n_threads + FETCH_MOST : 1) && !p->is_at_end &&
           !p->is_fetching && ih_slots_have_room(p, p->n_inputs_waiting);
}

/* Waits for work and reserves it. *archive: of a member. *slot: of an input. */
static enum job wait_for_job(struct pipeline *p, struct open_archive **archive, struct slot **slot)
{
    enum job job = JOB_NONE;
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping && (!p->is_at_end || p->fetched || p->archives || p->n_undecided > 0)) {
        struct open_archive *a = p->archives;
        while (a && (a->is_being_read || !ih_slots_have_member_room(p, a)))
            a = a->next;
        *archive = a;
        if (a) {
            a->is_being_read = true;
            job = JOB_MEMBER;
            break;
        }
        if (p->n_archives < ARCHIVES_MAX && should_fetch(p)) {
            p->is_fetching = true;
            job = JOB_FETCH;
            break;
        }
        if (p->n_archives < ARCHIVES_MAX && p->fetched) {
            *slot = p->fetched;
            p->fetched = p->fetched->next_fetched;
            p->n_fetched--;
            p->n_started++;
            if (p->is_at_end && !p->fetched)
                pthread_cond_broadcast(&p->on_work);
            job = JOB_INPUT;
            break;
        }
        pthread_cond_wait(&p->on_work, &p->lock);
    }
    if (job != JOB_NONE && p->archives)
        pthread_cond_signal(&p->on_work); /* another worker may read or fetch meanwhile */
    pthread_mutex_unlock(&p->lock);
    return job;
}

/* Returns a list of n empty slots, or of fewer without memory, owned by the caller. */
static struct slot *new_slots(struct pipeline *p, unsigned n)
{
    struct slot *slots = NULL;
    pthread_mutex_lock(&p->lock);
    for (; n > 0 && p->spare; n--) {
        struct slot *slot = p->spare;
        p->spare = slot->next;
        p->n_spare--;
        slot->next = slots;
        slots = slot;
    }
    pthread_mutex_unlock(&p->lock);
    for (struct slot *slot; n > 0 && (slot = malloc(sizeof *slot)); n--) {
        slot->next = slots;
        slots = slot;
    }
    for (struct slot *slot = slots, *next; slot; slot = next) {
        next = slot->next;
        memset(slot, 0, offsetof(struct slot, result)); /* the result is large, and set later */
        slot->next = next;
    }
    return slots;
}

/* Keeps empty slots for the workers, which would contend for the heap. The caller holds the lock.
 */
static void keep_spares(struct pipeline *p, struct slot *slot)
{
    for (struct slot *next; slot; slot = next) {
        next = slot->next;
        if (p->n_spare >= p->options->n_threads * WINDOW_OF_SLOW_TAKER) {
            free(slot);
            continue;
        }
        slot->next = p->spare;
        p->spare = slot;
        p->n_spare++;
    }
}

/* An input has proved to be an archive or not. */
static void decide(struct pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    if (--p->n_undecided == 0)
        pthread_cond_broadcast(&p->on_work); /* perhaps the end */
    pthread_mutex_unlock(&p->lock);
}

/* Appends an input, which any worker may then start. The caller holds the lock. */
static void append(struct pipeline *p, struct slot *slot)
{
    *(p->fetched ? &p->last_fetched->next_fetched : &p->fetched) = slot;
    p->last_fetched = slot;
    p->n_fetched++;
    slot->number = p->n_inputs++;
    p->n_undecided += slot->is_undecided ? 1 : 0;
    p->n_inputs_waiting++;
    ih_slot_insert_before(p, slot, NULL);
}

/* Asks for the device if the run is long. Only the worker that fetches calls it. */
static void need_device(struct pipeline *p)
{
    const double seconds = (double)(ih_clock_ns() - p->start_ns) / 1e9;
    if (p->is_long || seconds < LONG_AFTER_S || !p->calls->n_left)
        return;
    pthread_mutex_lock(&p->lock);
    const double n_started = (double)p->n_started;
    pthread_mutex_unlock(&p->lock);
    p->is_long = seconds * p->calls->n_left(p->calls->next_user) > LONG_LEFT_S * n_started;
    if (p->is_long)
        ih_device_need(p->device);
}

/* Fetches the next inputs: one, or several if that cannot take long. Handing the turn from worker
 * to worker takes longer than fetching. */
static enum ih_status fetch(struct pipeline *p, struct ih_error *err)
{
    struct slot *slots = new_slots(p, p->calls->next_is_quick ? FETCH_MOST : 1);
    struct slot *rest = slots; /* those without an input */
    const uint64_t start_ns = ih_clock_ns();
    bool is_at_end = false;
    unsigned n = 0;
    need_device(p);
    while (rest && !is_at_end && (rest == slots || ih_clock_ns() - start_ns < FETCH_NS)) {
        is_at_end = !p->calls->next(p->calls->next_user, &rest->input);
        if (!is_at_end) {
            rest->is_undecided = ih_input_may_be_archive(p->options, &rest->input);
            rest = rest->next;
        }
    }
    const enum ih_status status =
        slots ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory"); /* which ends the run */
    pthread_mutex_lock(&p->lock);
    for (struct slot *next; slots != rest; slots = next, n++) {
        next = slots->next;
        append(p, slots);
    }
    keep_spares(p, rest);
    p->is_at_end = is_at_end;
    p->is_fetching = false;
    if (is_at_end)
        pthread_cond_broadcast(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    for (; n > 0; n--) /* without the lock, which a woken worker takes at once */
        pthread_cond_signal(&p->on_work);
    return status;
}

/* Whether an input of another shard is opened: it may be an archive. Opening a pipe would take its
 * data from the program that counts that shard. */
static bool may_be_shared(const struct pipeline *p, const struct ih_input *input)
{
    struct stat st;
    return ih_input_may_be_archive(p->options, input) &&
           (input->is_stdin || (ih_path_stat(input->path, &st, 0) == 0 && S_ISREG(st.st_mode)));
}

static void work_on_input(struct pipeline *p, struct worker *w, struct slot *slot)
{
    struct ih_result *result = &slot->result;
    bool is_archive = false, is_started = false;  /* an archive */
    const bool is_undecided = slot->is_undecided; /* an offloaded slot may be gone soon */
    /* A folder without images in this shard may have some in others. */
    const bool is_no_input = p->options->n_shards && slot->input.folder == IH_FOLDER_ENDS;
    const bool is_counted = !is_no_input && ih_is_in_shard(p, slot->number, 0);
    const bool is_offloaded = is_counted && offload(p, w, slot);
    if (!is_offloaded && (is_counted || may_be_shared(p, &slot->input))) {
        memset(result, 0, sizeof *result);
        result->path = slot->input.path;
        result->status =
            ih_input_open(&w->options, &slot->input, &w->src, &is_archive, &result->error);
        is_started = result->status == IH_OK && is_archive && ih_start_archive(p, w, slot);
    }
    if (is_undecided)
        decide(p);
    if (is_offloaded || is_started)
        return;
    if (is_counted && result->status == IH_OK)
        ih_count_images(p, w, slot);
    ih_source_close(&w->src);
    if (is_counted)
        ih_offload_counted(&p->offload, &w->file, result);
    ih_slot_finish(p, slot, is_counted);
}

/* Counts inputs until there are no more. */
static enum ih_status work_on_inputs(struct pipeline *p, struct worker *w, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    while (status == IH_OK) {
        struct open_archive *archive = NULL;
        struct slot *slot = NULL;
        switch (wait_for_job(p, &archive, &slot)) {
        case JOB_NONE:
            return IH_OK;
        case JOB_FETCH:
            status = fetch(p, err);
            break;
        case JOB_INPUT:
            work_on_input(p, w, slot);
            break;
        case JOB_MEMBER:
            slot = new_slots(p, 1);
            if (!slot)
                return ih_error_set(err, IH_MEMORY, "out of memory"); /* which ends the run */
            if (ih_start_member(p, w, archive, slot))
                ih_count_member(p, w, slot);
            else
                free(slot);
            break;
        }
    }
    return status;
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
        ih_pipeline_stop(p);
    }
    pthread_cond_signal(&p->on_result);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Closes the source of a result that is not taken. */
static void drop(struct slot *slot)
{
    if (slot->has_result && slot->result.has_records && slot->result.records) {
        ih_source_reset(slot->result.records);
        free(slot->result.records);
    }
}

/* Takes the first slots that are ready off the list, at most TAKE_MOST. The caller holds the lock.
 */
static struct slot *remove_ready(struct pipeline *p)
{
    struct slot *first = p->first, *last = NULL;
    for (unsigned n = 0; n < TAKE_MOST && p->first && p->first->is_ready; n++) {
        last = p->first;
        ih_slots_remove_first(p);
    }
    if (!last)
        return NULL;
    last->next = NULL;
    pthread_cond_signal(&p->on_work); /* there is room */
    return first;
}

/* Hands out one result and empties its slot. Returns whether more are wanted. */
static bool take_result(const struct pipeline *p, struct slot *slot, bool is_taking)
{
    if (slot->has_result && !slot->result.path)
        slot->result.path = ""; /* there was no memory for it */
    if (is_taking && slot->has_result)
        is_taking = p->calls->take(p->calls->take_user, &slot->input, &slot->result);
    else
        drop(slot);
    if (slot->has_result)
        free(slot->result.thumbnail);
    ih_slot_empty(slot);
    return is_taking;
}

/* Hands out results in order until no worker is left. After take has returned false, further
 * results are dropped. One lock serves many results: in a run over small files, every worker
 * contends for it. */
static void take_results(struct pipeline *p)
{
    bool is_taking = true, has_taken = false;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct slot *slot = remove_ready(p);
        const bool is_idle = !slot && has_taken && p->calls->idle;
        bool is_wanted = is_taking && p->error.status == IH_OK;
        if (!slot && p->n_working == 0 && atomic_load(&p->n_offloaded) == 0)
            break;
        if (!slot && !is_idle) {
            pthread_cond_wait(&p->on_result, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        if (is_idle)
            p->calls->idle(p->calls->take_user);
        has_taken = slot && is_wanted;
        for (struct slot *s = slot; s; s = s->next) {
            is_wanted = take_result(p, s, is_wanted);
            is_taking = is_taking && is_wanted;
        }
        pthread_mutex_lock(&p->lock);
        keep_spares(p, slot);
        if (!is_taking && !p->is_stopping)
            ih_pipeline_stop(p);
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
    const bool is_cpu = o->decode.raw_channels || o->decode.isolates_all ||
                        o->decode.takes_frames || o->makes_thumbnails;
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
    struct pipeline p = {
        .device = device, .options = options, .calls = calls, .n_inputs = options->first_input};
    p.start_ns = ih_clock_ns();
    pthread_t *threads = calloc(options->n_threads, sizeof *threads);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.on_work, NULL);
    pthread_cond_init(&p.on_result, NULL);
    pthread_cond_init(&p.on_frame, NULL);
    const struct ih_offload_options offload = offload_options(options);
    enum ih_status status = ih_offload_open(&p.offload, &offload, device, on_offloaded, &p, err);
    if (status == IH_OK)
        status = threads ? run_workers(&p, threads, options->n_threads, err)
                         : ih_error_set(err, IH_MEMORY, "out of memory");
    ih_offload_close(&p.offload);
    while (p.first) { /* archives that were not read to their end, and what is behind them */
        struct slot *slot = p.first;
        ih_slots_remove_first(&p);
        if (slot->is_ready)
            take_result(&p, slot, false);
        else
            ih_slot_empty(slot);
        free(slot);
    }
    for (struct slot *slot = p.spare, *next; slot; slot = next) {
        next = slot->next;
        free(slot);
    }
    pthread_cond_destroy(&p.on_frame);
    pthread_cond_destroy(&p.on_result);
    pthread_cond_destroy(&p.on_work);
    pthread_mutex_destroy(&p.lock);
    free(threads);
    return status;
}
