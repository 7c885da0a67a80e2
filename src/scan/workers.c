/*
 * The workers of a scan.
 *
 * Each worker is a thread that repeats: find work, count one input, put its result into the list.
 * It prefers members of open archives, the first archive first, to a new input. order.c keeps the
 * results in the order of the inputs; frames_and_members.c counts inputs with several images;
 * scan.c takes the results.
 *
 * Only one worker at a time fetches an input, and one at a time reads an archive, both without the
 * lock: a slow directory walk or archive holds up neither results nor busy workers.
 */
#include "scan/state.h"

#include "base/path.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

/* IH_OK or IH_MEMORY; the caller closes the worker in both cases. */
static enum ih_status open_worker(struct worker *w, const struct scan *s, struct ih_error *err)
{
    *w = (struct worker){.options = s->options};
    const struct ih_remote_decoders *remote = s->options.remote_decoders;
    if (remote && !(w->options.decode.remote = remote->make(remote->user)))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return ih_lane_open(s->device, &w->lane, err);
}

static void close_worker(struct worker *w)
{
    ih_member_reset(&w->member, w->options.member_budget);
    if (w->options.remote_decoders)
        w->options.remote_decoders->destroy(w->options.decode.remote);
    ih_lane_close(w->lane);
    ih_reader_reset(&w->src);
}

/* Called by the JPEG queue when inputs are done. Workers finish them: the statistics of small
 * images take longer than their decoding. */
static void on_queued(void *scan, const struct ih_jpeg_job *jobs, unsigned n)
{
    struct scan *s = scan;
    struct slot *first = NULL, *last = NULL;
    for (unsigned i = 0; i < n; i++) {
        struct slot *slot = jobs[i].ticket;
        if (!jobs[i].is_planned)
            continue;
        slot->is_counted = jobs[i].is_counted;
        slot->next_fetched = NULL;
        *(last ? &last->next_fetched : &first) = slot;
        last = slot;
    }
    if (!first)
        return;
    pthread_mutex_lock(&s->lock);
    *(s->returned ? &s->last_returned->next_fetched : &s->returned) = first;
    s->last_returned = last;
    pthread_cond_broadcast(&s->on_work);
    pthread_mutex_unlock(&s->lock);
}

/* Whether an input is offered to the JPEG queue. */
static bool is_file(const struct ih_input *input)
{
    return !input->bytes && !input->read && !input->array && !input->is_stdin &&
           !input->ends_folder && !input->holds_records && input->error.status == IH_OK;
}

/* Offers a file to the JPEG queue. Returns whether it was taken. */
static bool offer(struct scan *s, struct worker *w, struct slot *slot)
{
    const struct ih_input *input = &slot->input;
    slot->is_queued = true; /* first, because it may finish before the call returns */
    atomic_fetch_add(&s->n_queued, 1);
    if (ih_jpeg_queue_try(s->jpeg_queue, input->path, input->is_in_folder, &w->src, slot,
                          &slot->result))
        return true;
    slot->is_queued = false;
    atomic_fetch_sub(&s->n_queued, 1); /* needs no signal: this worker goes on with the input */
    return false;
}

/* ---- work ---- */

/* Inputs that one worker fetches, and that one takes if the JPEG queue has taken its last one.
 * Small files take less time than waking a thread for each. */
enum { FETCH_MOST = 64, INPUTS_MOST = 16 };

/* Inputs of a slow file system are not held back until FETCH_MOST are fetched. */
#define FETCH_NS ((uint64_t)1000 * 1000)

/* A run is long if, after LONG_AFTER_S or later, it needs LONG_LEFT_S more at its pace so far. An
 * H100 and its JPEG sessions take about 0.5 s to start and 0.1 s to end. A run without JPEG files
 * gains little from them (tests/bench/auto.py). */
#define LONG_AFTER_S 0.25
#define LONG_LEFT_S 2.0

enum { RETURNED_MOST = 32 }; /* counted inputs, which a worker finishes with the lock taken once */

enum job { JOB_NONE, JOB_FETCH, JOB_INPUT, JOB_RETURNED, JOB_MEMBER };

/* How many of the next inputs come without waiting. */
static unsigned n_inputs_ready(const struct scan *s)
{
    return s->inputs.n_ready ? s->inputs.n_ready(s->inputs.user) : 0;
}

/* Whether a worker should fetch before it starts an input. If that cannot take long, inputs are
 * fetched ahead: a worker that finds none has to sleep and be woken, which takes longer than a
 * small file. There is one for each worker, and as many as all start while the next ones are
 * fetched. The caller holds the lock. */
static bool should_fetch(const struct scan *s)
{
    const unsigned n_threads = s->options.n_threads;
    const bool is_ahead = n_threads > 1 && n_inputs_ready(s) > 0;
    return s->n_fetched < (is_ahead ? n_threads + FETCH_MOST : 1) && !s->is_at_end &&
           !s->is_fetching && ih_order_have_room(s, s->n_inputs_waiting);
}

/* Takes inputs off those returned: counted ones, or one that the CPU has to count. The caller holds
 * the lock. */
static struct slot *take_returned(struct scan *s)
{
    struct slot *const first = s->returned, *last = first;
    for (unsigned n = 1; n < RETURNED_MOST && first->is_counted && last->next_fetched &&
                         last->next_fetched->is_counted;
         n++)
        last = last->next_fetched;
    s->returned = last->next_fetched;
    last->next_fetched = NULL;
    return first;
}

/* Takes the next of the inputs that are fetched; there is one. The caller holds the lock. */
static struct slot *take_fetched(struct scan *s, unsigned most)
{
    struct slot *const first = s->fetched, *last = first;
    unsigned n = 1;
    for (; n < most && last->next_fetched; n++)
        last = last->next_fetched;
    s->fetched = last->next_fetched;
    last->next_fetched = NULL;
    s->n_fetched -= n;
    s->n_started += n;
    return first;
}

/* Gives inputs that were not started to other workers: they may take long. */
static void put_back(struct scan *s, struct slot *slots)
{
    struct slot *last = slots;
    unsigned n = 1;
    for (; last->next_fetched; n++)
        last = last->next_fetched;
    pthread_mutex_lock(&s->lock);
    last->next_fetched = s->fetched;
    if (!s->fetched)
        s->last_fetched = last;
    s->fetched = slots;
    s->n_fetched += n;
    s->n_started -= n;
    pthread_cond_broadcast(&s->on_work);
    pthread_mutex_unlock(&s->lock);
}

/* Waits for work and reserves it. *archive: of a member. *slot: of inputs, linked by next_fetched:
 * new ones, or some that the JPEG queue has returned. */
static enum job wait_for_job(struct scan *s, const struct worker *w, struct open_archive **archive,
                             struct slot **slot)
{
    enum job job = JOB_NONE;
    pthread_mutex_lock(&s->lock);
    while (
        s->returned || atomic_load(&s->n_queued) > 0 ||
        (!s->is_stopping && (!s->is_at_end || s->fetched || s->archives || s->n_undecided > 0))) {
        if (s->returned) {
            *slot = take_returned(s);
            job = JOB_RETURNED;
            break;
        }
        if (s->is_stopping) {
            pthread_cond_wait(&s->on_work, &s->lock);
            continue;
        }
        struct open_archive *a = s->archives;
        while (a && (a->is_being_read || !ih_order_have_member_room(s, a)))
            a = a->next;
        *archive = a;
        if (a) {
            a->is_being_read = true;
            job = JOB_MEMBER;
            break;
        }
        if (s->n_archives < ARCHIVES_MAX && should_fetch(s)) {
            s->is_fetching = true;
            job = JOB_FETCH;
            break;
        }
        if (s->n_archives < ARCHIVES_MAX && s->fetched) {
            *slot = take_fetched(s, w->queues ? INPUTS_MOST : 1);
            if (s->is_at_end && !s->fetched)
                pthread_cond_broadcast(&s->on_work);
            job = JOB_INPUT;
            break;
        }
        pthread_cond_wait(&s->on_work, &s->lock);
    }
    if (job != JOB_NONE && s->archives)
        pthread_cond_signal(&s->on_work); /* another worker may read or fetch meanwhile */
    pthread_mutex_unlock(&s->lock);
    return job;
}

/* Returns a list of n empty slots, or of fewer without memory, owned by the caller. */
static struct slot *new_slots(struct scan *s, unsigned n)
{
    struct slot *slots = NULL;
    pthread_mutex_lock(&s->lock);
    for (; n > 0 && s->spare; n--) {
        struct slot *slot = s->spare;
        s->spare = slot->next;
        slot->next = slots;
        slots = slot;
    }
    pthread_mutex_unlock(&s->lock);
    for (struct slot *slot; n > 0 && (slot = malloc(sizeof *slot)); n--) {
        slot->has_memory = false;
        slot->next = slots;
        slots = slot;
    }
    for (struct slot *slot = slots, *next; slot; slot = next) {
        const bool has_memory = slot->has_memory;
        next = slot->next;
        memset(slot, 0, offsetof(struct slot, result)); /* the result is large, and set later */
        slot->has_memory = has_memory;
        slot->next = next;
    }
    return slots;
}

/* Appends an input, which any worker may then start. The caller holds the lock. */
static void append(struct scan *s, struct slot *slot)
{
    *(s->fetched ? &s->last_fetched->next_fetched : &s->fetched) = slot;
    s->last_fetched = slot;
    s->n_fetched++;
    slot->number = s->n_inputs++;
    s->n_undecided += slot->is_undecided ? 1 : 0;
    s->n_unoffered += is_file(&slot->input) ? 1 : 0;
    s->n_inputs_waiting++;
    ih_slot_insert_before(s, slot, NULL);
}

/* Asks for the device if the run is long. Only the worker that fetches calls it. */
static void need_device(struct scan *s)
{
    const double seconds = (double)(ih_clock_ns() - s->start_ns) / 1e9;
    if (s->is_long || seconds < LONG_AFTER_S || !s->inputs.n_left)
        return;
    pthread_mutex_lock(&s->lock);
    const double n_started = (double)s->n_started;
    pthread_mutex_unlock(&s->lock);
    s->is_long = seconds * s->inputs.n_left(s->inputs.user) > LONG_LEFT_S * n_started;
    if (s->is_long)
        ih_device_need(s->device);
}

/* Fetches the next inputs: one, or several if that cannot take long. Handing the turn from worker
 * to worker takes longer than fetching. */
static enum ih_status fetch(struct scan *s, struct ih_error *err)
{
    const unsigned n_ready = s->options.mask.has_labels ? 1 : n_inputs_ready(s);
    struct slot *slots = new_slots(s, n_ready < 1            ? 1
                                      : n_ready < FETCH_MOST ? n_ready
                                                             : FETCH_MOST);
    struct slot *rest = slots; /* those without an input */
    const uint64_t start_ns = ih_clock_ns();
    bool is_at_end = false;
    unsigned n = 0;
    need_device(s);
    if (s->inputs.wants_sources && s->inputs.wants_sources(s->inputs.user)) {
        pthread_mutex_lock(&s->lock);
        s->is_short = true;
        pthread_cond_signal(&s->on_result);
        pthread_mutex_unlock(&s->lock);
    }
    while (rest && !is_at_end && (rest == slots || ih_clock_ns() - start_ns < FETCH_NS)) {
        is_at_end = !s->inputs.next(s->inputs.user, &rest->input);
        if (!is_at_end) {
            rest->is_undecided = ih_input_may_be_archive(&s->options, &rest->input);
            rest = rest->next;
        }
    }
    const enum ih_status status =
        slots ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory"); /* which ends the run */
    pthread_mutex_lock(&s->lock);
    for (struct slot *next; slots != rest; slots = next, n++) {
        next = slots->next;
        append(s, slots);
    }
    ih_order_keep(s, rest);
    s->is_at_end = is_at_end;
    s->is_fetching = false;
    if (is_at_end)
        pthread_cond_broadcast(&s->on_work);
    pthread_mutex_unlock(&s->lock);
    if (is_at_end && s->n_unoffered == 0)
        ih_jpeg_queue_end(s->jpeg_queue);
    if (n >= s->options.n_threads) /* without the lock, which a woken worker takes at once */
        pthread_cond_broadcast(&s->on_work);
    else
        for (; n > 0; n--)
            pthread_cond_signal(&s->on_work);
    return status;
}

/* Whether an input of another shard is opened: it may be an archive. Opening a pipe would take its
 * data from the program that counts that shard. */
static bool may_be_shared(const struct scan *s, const struct ih_input *input)
{
    struct stat st;
    return ih_input_may_be_archive(&s->options, input) &&
           (input->is_stdin || (ih_path_stat(input->path, &st, 0) == 0 && S_ISREG(st.st_mode)));
}

/* Another source reads a result file, in every shard. */
static void pass_on(struct scan *s, struct slot *slot)
{
    memset(&slot->result, 0, sizeof slot->result);
    slot->result.status = IH_UNKNOWN; /* nothing is counted */
    ih_slot_finish(s, slot, true);
}

static void work_on_array(struct scan *s, struct worker *w, struct slot *slot)
{
    const bool is_counted = ih_is_in_shard(s, slot->number, 0);
    if (is_counted)
        ih_count_array_in(&w->options, slot->input.array, NULL, w->lane, &slot->result);
    if (is_counted && slot->result.status == IH_OK)
        slot->result.counted_by = ih_lane_description(w->lane);
    slot->result.path = slot->input.path;
    ih_slot_finish(s, slot, is_counted);
}

/* Returns whether the JPEG queue has taken the input. */
static bool work_on_input(struct scan *s, struct worker *w, struct slot *slot)
{
    struct ih_result *result = &slot->result;
    bool is_archive = false, is_started = false;  /* an archive */
    const bool is_undecided = slot->is_undecided; /* a queued slot may be gone soon */
    /* A folder without images in this shard may have some in others. */
    const bool is_no_input = s->options.n_shards && slot->input.ends_folder;
    const bool is_counted = !is_no_input && ih_is_in_shard(s, slot->number, 0);
    const bool may_queue = is_file(&slot->input);
    const bool is_queued = is_counted && may_queue && offer(s, w, slot);
    if (may_queue && atomic_fetch_sub(&s->n_unoffered, 1) == 1 && s->is_at_end)
        ih_jpeg_queue_end(s->jpeg_queue);
    if (!is_queued && (is_counted || may_be_shared(s, &slot->input))) {
        memset(result, 0, sizeof *result);
        result->path = slot->input.path;
        result->status =
            ih_input_open(&w->options, &slot->input, &w->src, &is_archive, &result->error);
        is_started = result->status == IH_OK && is_archive && ih_start_archive(s, w, slot);
    }
    /* It has proved to be an archive or not. */
    if (is_undecided && atomic_fetch_sub(&s->n_undecided, 1) == 1 && s->is_at_end) {
        pthread_mutex_lock(&s->lock);
        pthread_cond_broadcast(&s->on_work); /* perhaps the end */
        pthread_mutex_unlock(&s->lock);
    }
    if (is_queued || is_started)
        return is_queued;
    if (is_counted && result->status == IH_OK)
        ih_count_images(s, w, slot);
    ih_reader_close(&w->src);
    ih_slot_finish(s, slot, is_counted);
    return false;
}

/* Works on new inputs. The rest goes back after an input that the JPEG queue has not taken: such
 * inputs may take long. */
static void work_on_new(struct scan *s, struct worker *w, struct slot *slots)
{
    for (struct slot *slot = slots, *next; slot; slot = next) {
        next = slot->next_fetched;
        w->queues = false;
        ih_slot_reuse(slot);
        if (slot->input.holds_records)
            pass_on(s, slot);
        else if (slot->input.array)
            work_on_array(s, w, slot);
        else
            w->queues = work_on_input(s, w, slot);
        if (next && (!w->queues || s->is_stopping)) {
            put_back(s, next);
            return;
        }
    }
}

/* Files that the JPEG queue has returned. One that the GPU has not counted may by now be of any
 * kind and size. */
static void work_on_returned(struct scan *s, struct worker *w, struct slot *slots)
{
    struct ih_result *result = &slots->result;
    if (!slots->is_counted) {
        memset(result, 0, sizeof *result);
        ih_count_input(&w->options, &slots->input, w->lane, &w->src, result);
        if (result->status == IH_OK)
            result->counted_by = ih_lane_description(w->lane);
    }
    ih_slots_finish(s, slots);
}

/* Counts inputs until there are no more. */
static enum ih_status work_on_inputs(struct scan *s, struct worker *w, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    while (status == IH_OK) {
        struct open_archive *archive = NULL;
        struct slot *slot = NULL;
        switch (wait_for_job(s, w, &archive, &slot)) {
        case JOB_NONE:
            return IH_OK;
        case JOB_FETCH:
            status = fetch(s, err);
            break;
        case JOB_INPUT:
            work_on_new(s, w, slot);
            break;
        case JOB_RETURNED:
            work_on_returned(s, w, slot);
            break;
        case JOB_MEMBER:
            slot = new_slots(s, 1);
            if (!slot)
                return ih_error_set(err, IH_MEMORY, "out of memory"); /* which ends the run */
            ih_slot_release(slot);
            if (ih_start_member(s, w, archive, slot))
                ih_count_member(s, w, slot);
            else
                free(slot);
            break;
        }
    }
    return status;
}

static void *work(void *argument)
{
    struct scan *s = argument;
    struct worker w;
    struct ih_error error = {0}, ignored;
    ih_kept_begin();
    if (open_worker(&w, s, &error) == IH_OK && work_on_inputs(s, &w, &error) != IH_OK) {
        pthread_mutex_lock(&s->lock);
        ih_scan_stop(s);
        pthread_mutex_unlock(&s->lock);
        work_on_inputs(s, &w, &ignored); /* those that the JPEG queue still returns */
    }
    close_worker(&w);
    ih_kept_end();
    if (s->options.decode.n_idle_cores)
        ih_idle_core_give(
            s->options.decode.n_idle_cores); /* decoders of the last images may use it */

    pthread_mutex_lock(&s->lock);
    s->n_working--;
    if (error.status != IH_OK) {
        s->error = error;
        ih_scan_stop(s);
    }
    pthread_cond_signal(&s->on_result);
    pthread_cond_broadcast(&s->on_work); /* n_queued may have become 0 without a signal */
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* What the JPEG queue needs to know. Files that have to be decoded in another way stay out. */
static struct ih_jpeg_queue_options queue_options(const struct ih_scan_options *o)
{
    const bool is_cpu = o->decode.raw_channels || o->decode.isolates_all ||
                        o->decode.takes_frames || o->makes_thumbnails || o->mask.has_labels ||
                        o->measure.clip_high >= IH_BINS;
    return (struct ih_jpeg_queue_options){.side = is_cpu ? IH_JPEG_CPU : o->jpeg,
                                          .max_pixels = o->decode.max_pixels,
                                          .measure = o->measure,
                                          .outputs = o->outputs,
                                          .n_outputs = o->n_outputs,
                                          .is_last = o->is_last,
                                          .report = o->jpeg_report,
                                          .backend = o->jpeg_backend};
}

enum ih_status ih_workers_start(struct scan *s, struct ih_error *err)
{
    const struct ih_jpeg_queue_options options = queue_options(&s->options);
    const unsigned n_wanted = s->options.n_threads;
    unsigned n = 0;
    const enum ih_status status =
        ih_jpeg_queue_open(&options, s->device, on_queued, s, &s->jpeg_queue, err);
    s->threads = calloc(n_wanted, sizeof *s->threads);
    if (status != IH_OK || !s->threads)
        return status != IH_OK ? status : ih_error_set(err, IH_MEMORY, "out of memory");
    pthread_mutex_lock(&s->lock); /* a worker may end before n_working is set */
    while (n < n_wanted && pthread_create(&s->threads[n], NULL, work, s) == 0)
        n++;
    s->n_working = s->n_threads = n;
    pthread_mutex_unlock(&s->lock);
    return n > 0 ? IH_OK : ih_error_set(err, IH_MEMORY, "cannot start a thread");
}

bool ih_workers_have_ended(struct scan *s)
{
    return s->n_working == 0 && atomic_load(&s->n_queued) == 0;
}

enum ih_status ih_workers_end(struct scan *s, struct ih_error *err)
{
    const bool has_run = s->n_threads > 0;
    for (; s->n_threads > 0; s->n_threads--)
        pthread_join(s->threads[s->n_threads - 1], NULL);
    enum ih_status status = s->error.status;
    if (status != IH_OK)
        *err = s->error;
    else if (has_run)
        status = ih_device_wait_usable(s->device, err);
    ih_jpeg_queue_close(s->jpeg_queue);
    s->jpeg_queue = NULL;
    return status;
}
