/*
 * The workers, and the list that keeps their results in the order of the inputs.
 *
 * An input gets its slot at the end of the list when it is started; a member of an archive gets one
 * before the slot of its archive. Results are taken from the front. A worker that looks for work
 * prefers members of open archives, the first archive first, to a new input.
 *
 * Of several images in an input, each but the last gets a slot before that of the input. A worker
 * that counts them waits for the taker only if the input is at the front of the list. Further back
 * it may hold memory that an input before it waits for.
 *
 * Only one worker at a time fetches an input, and one at a time reads an archive, both without the
 * lock: a slow directory walk or archive holds up neither results nor busy workers.
 */
#define _POSIX_C_SOURCE 200809L

#include "pipeline/pipeline.h"

#include "base/budget.h"
#include "base/path.h"
#include "decode/archive.h"
#include "jpeg_gpu/offload.h"

#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * How many inputs per worker may be started but not yet taken, and as many members. With 192, an
 * input may take 192 times as long as the others without holding them up. Each holds 11 KB until
 * its result is taken. If the taker is slow, 16 are enough to keep all workers busy.
 */
enum { WINDOW_PER_THREAD = 192, WINDOW_OF_SLOW_TAKER = 16 };

/* With this many open archives, no more inputs are started. Each has a process. More than this are
 * open only if workers start several at the same moment. */
enum { ARCHIVES_MAX = 8 };

struct slot {
    struct slot *before, *after; /* in the list */
    uint64_t number, member;     /* of the input, and of the member in its archive, from 0 */
    bool is_ready;               /* to be taken */
    bool has_result;             /* an archive has one only if it failed */
    struct ih_input input;
    struct slot *whole;           /* of the input that this is an image of; NULL: none */
    uint64_t n_frames_waiting;    /* of this input */
    struct open_archive *archive; /* owned by the archive's own slot; NULL: neither */
    struct ih_result result;
};

struct open_archive {
    struct open_archive *next; /* in the order of the inputs */
    struct slot *slot;         /* of the archive itself */
    struct ih_archive *reader; /* owned until the archive's end */
    bool is_being_read;        /* by a worker */
    uint64_t n_members;        /* so far; of the worker that reads */
    uint64_t n_waiting;        /* members that are started and not taken */
};

struct pipeline {
    struct ih_device *device;
    const struct ih_pipeline_options *options;
    const struct ih_pipeline_calls *calls;
    struct ih_offload offload;

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t on_work, on_result;   /* workers wait for the first, the taker for the second */
    pthread_cond_t on_frame;             /* workers wait for frames to be taken */
    struct slot *first, *last;           /* the list */
    uint64_t n_inputs, n_inputs_waiting; /* started; and not taken */
    uint64_t n_members_waiting;          /* of all archives */
    struct open_archive *archives;       /* not at their end */
    unsigned n_archives;
    unsigned n_undecided;  /* inputs that may yet prove to be archives */
    uint64_t n_offloaded;  /* inputs at the hardware JPEG decoders */
    unsigned n_working;    /* workers */
    bool is_fetching;      /* a worker calls next */
    bool is_at_end;        /* of the inputs */
    bool is_stopping;      /* start no more inputs */
    struct ih_error error; /* ends the run */
};

/* ---- the list of slots; the caller holds the lock ---- */

/* Whether one more may be started if n of a kind wait. */
static bool has_room(const struct pipeline *p, uint64_t n)
{
    const uint64_t n_threads = p->options->n_threads;
    const bool is_taker_slow = p->first && p->first->is_ready;
    return n < n_threads * WINDOW_PER_THREAD &&
           (n < n_threads * WINDOW_OF_SLOW_TAKER || !is_taker_slow);
}

/* The same for a member. Others wait for the first archive's members to be taken, so those always
 * get some room. */
static bool has_member_room(const struct pipeline *p, const struct open_archive *a)
{
    const uint64_t few = (uint64_t)p->options->n_threads * WINDOW_OF_SLOW_TAKER;
    return has_room(p, p->n_members_waiting) || (a == p->archives && a->n_waiting < few);
}

/* Inserts a slot before another, or at the end. */
static void insert(struct pipeline *p, struct slot *slot, struct slot *after)
{
    slot->after = after;
    slot->before = after ? after->before : p->last;
    *(slot->before ? &slot->before->after : &p->first) = slot;
    *(after ? &after->before : &p->last) = slot;
}

static void remove_first(struct pipeline *p)
{
    struct slot *slot = p->first;
    p->first = slot->after;
    *(p->first ? &p->first->before : &p->last) = NULL;
    if (slot->whole) {
        p->n_inputs_waiting--;
        slot->whole->n_frames_waiting--;
        pthread_cond_broadcast(&p->on_frame);
    } else if (!slot->input.is_member) {
        p->n_inputs_waiting--;
    } else {
        p->n_members_waiting--;
        slot->archive->n_waiting--;
    }
}

static void free_slot(struct slot *slot)
{
    if (slot->archive && !slot->input.is_member && !slot->whole) {
        ih_archive_close(slot->archive->reader);
        free(slot->archive);
    }
    free(slot->input.path);
    free(slot);
}

/* Starts no more inputs, and ends those of several images. The caller holds the lock. */
static void stop(struct pipeline *p)
{
    p->is_stopping = true;
    pthread_cond_broadcast(&p->on_work);
    pthread_cond_broadcast(&p->on_frame);
}

/* Hands a slot to the taker, with its result or without. */
static void finish(struct pipeline *p, struct slot *slot, bool has_result)
{
    struct ih_result *result = &slot->result;
    pthread_mutex_lock(&p->lock);
    if (has_result && result->status == IH_UNAVAILABLE) {
        p->error = result->error; /* no device or decoder process: every input would fail */
        stop(p);
    }
    result->shard = p->options->shard;
    result->n_shards = p->options->n_shards;
    result->input = slot->number;
    result->member = slot->member;
    result->inputs_hash = slot->input.hash;
    slot->has_result = has_result;
    slot->is_ready = true;
    pthread_cond_signal(&p->on_result);
    pthread_mutex_unlock(&p->lock);
}

/* Whether a member of an input is in the shard that is counted. */
static bool is_mine(const struct pipeline *p, uint64_t input, uint64_t member)
{
    const uint64_t n = p->options->n_shards;
    return n == 0 || (input % n + member % n) % n == (uint64_t)p->options->shard - 1;
}

struct worker {
    struct ih_pipeline_options options; /* with this worker's remote decoder */
    struct ih_lane *lane;
    struct ih_source src;
    struct ih_offload_file file;
    struct ih_member member;
    bool is_undecided; /* its input may prove to be an archive; counted in n_undecided */
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
    ih_member_reset(&w->member, w->options.member_budget);
    if (w->options.remote_decoders)
        w->options.remote_decoders->destroy(w->options.decode.remote);
    ih_lane_close(w->lane);
    ih_source_reset(&w->src);
    free(w->file.bytes);
}

/* ---- inputs of several images ---- */

/* "a.gif#2"; owned by the caller, or NULL. */
static char *frame_path(const char *path, uint64_t number)
{
    enum { NUMBER_BYTES = 22 };
    const size_t size = strlen(path) + NUMBER_BYTES;
    char *frame = malloc(size);
    if (frame)
        snprintf(frame, size, "%s#%" PRIu64, path, number);
    return frame;
}

/* An input that a worker counts image by image. */
struct frames {
    struct pipeline *pipeline;
    struct slot *whole;
    struct ih_lane *lane;
};

/* Waits for room if the input is at the front. Returns false if the run is ending. */
static bool wait_for_room(struct pipeline *p, const struct slot *whole)
{
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping && whole->n_frames_waiting >= WINDOW_OF_SLOW_TAKER &&
           p->first->whole == whole)
        pthread_cond_wait(&p->on_frame, &p->lock);
    const bool is_going_on = !p->is_stopping;
    pthread_mutex_unlock(&p->lock);
    return is_going_on;
}

static void fail_for_memory(struct pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    ih_error_set(&p->error, IH_MEMORY, "out of memory");
    stop(p);
    pthread_mutex_unlock(&p->lock);
}

/* Gives an image but the last its slot. */
static bool take_frame(void *user, uint64_t number, const struct ih_result *result)
{
    const struct frames *f = user;
    struct pipeline *p = f->pipeline;
    struct slot *slot = malloc(sizeof *slot);
    char *path = slot ? frame_path(f->whole->input.path, number) : NULL;
    if (!path) {
        free(slot);
        free(result->thumbnail);
        fail_for_memory(p);
        return false;
    }
    memset(slot, 0, offsetof(struct slot, result));
    slot->whole = f->whole;
    slot->number = f->whole->number;
    slot->member = f->whole->member;
    slot->input = f->whole->input;
    slot->input.path = path;
    slot->input.bytes = NULL;
    slot->result = *result;
    slot->result.path = path;
    if (result->status == IH_OK)
        slot->result.counted_by = ih_lane_description(f->lane);
    pthread_mutex_lock(&p->lock);
    insert(p, slot, f->whole);
    f->whole->n_frames_waiting++;
    p->n_inputs_waiting++;
    pthread_mutex_unlock(&p->lock);
    finish(p, slot, true);
    return wait_for_room(p, f->whole);
}

/* Counts an open input, image by image if that is wanted. Its own slot gets the last one. */
static void count_source(struct pipeline *p, struct worker *w, struct slot *slot)
{
    struct ih_result *result = &slot->result;
    struct frames user = {p, slot, w->lane};
    const struct ih_frames frames = {take_frame, &user};
    const bool takes_frames = w->options.decode.takes_frames;
    const uint64_t number = ih_count_source(&w->options, &slot->input, w->lane, &w->src,
                                            takes_frames ? &frames : NULL, result);
    char *path = number > 1 ? frame_path(slot->input.path, number) : NULL;
    if (result->status == IH_OK)
        result->counted_by = ih_lane_description(w->lane);
    if (number == 1)
        return;
    if (!path) {
        fail_for_memory(p);
        return;
    }
    free(slot->input.path);
    slot->input.path = path;
    result->path = path;
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
    finish(p, slot, true);
    pthread_mutex_lock(&p->lock);
    p->n_offloaded--;
    pthread_cond_signal(&p->on_result);
    pthread_mutex_unlock(&p->lock);
}

/* Offers an input to the hardware JPEG decoders. Returns whether they took it. */
static bool offload(struct pipeline *p, struct worker *w, struct slot *slot)
{
    pthread_mutex_lock(&p->lock);
    p->n_offloaded++; /* first, because they may finish before the call returns */
    pthread_mutex_unlock(&p->lock);
    const struct ih_input *input = &slot->input;
    const bool is_file = !input->bytes && !input->is_stdin && input->error.status == IH_OK;
    if (ih_offload_try(&p->offload, is_file ? input->path : NULL, &w->file, &w->src, slot,
                       &slot->result))
        return true;
    pthread_mutex_lock(&p->lock);
    p->n_offloaded--; /* needs no signal: this worker goes on with the input */
    pthread_mutex_unlock(&p->lock);
    return false;
}

/* ---- work ---- */

enum job { JOB_NONE, JOB_INPUT, JOB_MEMBER };

/* Waits for work and reserves it. *archive: of a member. */
static enum job wait_for_job(struct pipeline *p, struct open_archive **archive)
{
    enum job job = JOB_NONE;
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping && (!p->is_at_end || p->archives || p->n_undecided > 0)) {
        struct open_archive *a = p->archives;
        while (a && (a->is_being_read || !has_member_room(p, a)))
            a = a->next;
        *archive = a;
        if (a) {
            a->is_being_read = true;
            job = JOB_MEMBER;
            break;
        }
        if (!p->is_at_end && !p->is_fetching && p->n_archives < ARCHIVES_MAX &&
            has_room(p, p->n_inputs_waiting)) {
            p->is_fetching = true;
            p->n_undecided++;
            job = JOB_INPUT;
            break;
        }
        pthread_cond_wait(&p->on_work, &p->lock);
    }
    if (job != JOB_NONE)
        pthread_cond_signal(&p->on_work); /* there may be work for another worker too */
    pthread_mutex_unlock(&p->lock);
    return job;
}

/* The worker's input is an archive or not, or it was the end. The caller holds the lock. */
static void decide(struct pipeline *p, struct worker *w)
{
    if (w->is_undecided && --p->n_undecided == 0)
        pthread_cond_broadcast(&p->on_work); /* perhaps the end */
    w->is_undecided = false;
}

/* Fetches the next input into the slot and appends it. False at the end. */
static bool start_input(struct pipeline *p, struct worker *w, struct slot *slot)
{
    struct ih_input input = {.path = NULL};
    const bool has_input = p->calls->next(p->calls->next_user, &input);
    pthread_mutex_lock(&p->lock);
    p->is_fetching = false;
    if (has_input) {
        slot->number = p->n_inputs++;
        slot->member = 0;
        slot->input = input;
        p->n_inputs_waiting++;
        insert(p, slot, NULL);
    } else {
        p->is_at_end = true;
    }
    if (!has_input || !ih_input_may_be_archive(p->options, &input))
        decide(p, w);
    pthread_cond_signal(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    return has_input;
}

/* Takes an archive off the list of open ones. Its own slot holds its result. */
static void end_archive(struct pipeline *p, struct open_archive *a, const struct ih_error *err)
{
    struct slot *slot = a->slot;
    ih_archive_close(a->reader);
    a->reader = NULL;
    memset(&slot->result, 0, sizeof slot->result);
    slot->result.path = slot->input.path;
    slot->result.status = err->status;
    slot->result.error = *err;
    slot->member = a->n_members;
    pthread_mutex_lock(&p->lock);
    struct open_archive **link = &p->archives;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    p->n_archives--;
    pthread_cond_broadcast(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    finish(p, slot, err->status != IH_OK && is_mine(p, slot->number, 0));
}

/* "a.tar/dir/key.jpg"; owned by the caller, or NULL. */
static char *member_path(const char *archive, const char *name)
{
    const size_t size = strlen(archive) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", archive, name);
    return path;
}

/* Reads the next member of an archive into the slot and inserts it. False at the archive's end. */
static bool start_member(struct pipeline *p, struct worker *w, struct open_archive *a,
                         struct slot *slot)
{
    struct ih_error err = {0};
    bool has_member = false;
    char *path = NULL;
    ih_archive_next(a->reader, &w->member, &has_member, &err);
    if (has_member && !(path = member_path(a->slot->input.path, w->member.name))) {
        ih_error_set(&err, IH_MEMORY, "out of memory");
        ih_member_release(&w->member, w->options.member_budget);
    }
    if (!path) {
        end_archive(p, a, &err);
        return false;
    }
    slot->archive = a;
    slot->number = a->slot->number;
    slot->member = a->n_members++;
    slot->input = (struct ih_input){.path = path,
                                    .name_at = strlen(a->slot->input.path) + 1,
                                    .folder = a->slot->input.folder,
                                    .is_member = true,
                                    .bytes = w->member.bytes,
                                    .size_bytes = w->member.size_bytes,
                                    .error = w->member.error,
                                    .source = a->slot->input.source,
                                    .hash = a->slot->input.hash};
    pthread_mutex_lock(&p->lock);
    a->is_being_read = false;
    a->n_waiting++;
    p->n_members_waiting++;
    insert(p, slot, a->slot);
    pthread_cond_signal(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    return true;
}

static void work_on_member(struct pipeline *p, struct worker *w, struct slot *slot)
{
    const bool is_counted = is_mine(p, slot->number, slot->member);
    if (is_counted) {
        struct ih_result *result = &slot->result;
        bool is_archive; /* members are none */
        memset(result, 0, sizeof *result);
        result->path = slot->input.path;
        result->status =
            ih_input_open(&w->options, &slot->input, &w->src, &is_archive, &result->error);
        if (result->status == IH_OK)
            count_source(p, w, slot);
        ih_source_close(&w->src);
        slot->result.times.read_ns = w->member.read_ns;
    }
    slot->input.bytes = NULL;
    ih_member_release(&w->member, w->options.member_budget);
    finish(p, slot, is_counted);
}

/* Makes an open source an open archive. False: it failed, and the slot has the result. */
static bool open_archive(struct pipeline *p, struct worker *w, struct slot *slot)
{
    struct ih_error *err = &slot->result.error;
    struct ih_decode_options options = w->options.decode;
    struct open_archive *a = calloc(1, sizeof *a);
    options.budget = w->options.member_budget;
    if (!a)
        ih_error_set(err, IH_MEMORY, "out of memory");
    else if (ih_archive_open(w->options.archive_readers, &w->src, &options, &a->reader, err) !=
             IH_OK) {
        free(a);
        a = NULL;
    }
    ih_source_close(&w->src);
    slot->result.status = err->status;
    if (!a)
        return false;
    a->slot = slot;
    slot->archive = a;
    pthread_mutex_lock(&p->lock);
    struct open_archive **link = &p->archives;
    while (*link && (*link)->slot->number < slot->number)
        link = &(*link)->next;
    a->next = *link;
    *link = a;
    p->n_archives++;
    decide(p, w);
    pthread_cond_signal(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    return true;
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
    bool is_archive = false;
    /* A folder without images in this shard may have some in others. */
    const bool is_no_input = p->options->n_shards && slot->input.folder == IH_FOLDER_ENDS;
    const bool is_counted = !is_no_input && is_mine(p, slot->number, 0);
    const bool is_offloaded = is_counted && offload(p, w, slot);
    if (!is_offloaded && (is_counted || may_be_shared(p, &slot->input))) {
        memset(result, 0, sizeof *result);
        result->path = slot->input.path;
        result->status =
            ih_input_open(&w->options, &slot->input, &w->src, &is_archive, &result->error);
        if (result->status == IH_OK && is_archive && open_archive(p, w, slot))
            return;
    }
    pthread_mutex_lock(&p->lock);
    decide(p, w);
    pthread_mutex_unlock(&p->lock);
    if (is_offloaded)
        return;
    if (is_counted && result->status == IH_OK)
        count_source(p, w, slot);
    ih_source_close(&w->src);
    if (is_counted)
        ih_offload_counted(&p->offload, &w->file, result);
    finish(p, slot, is_counted);
}

/* Counts inputs until there are no more. */
static enum ih_status work_on_inputs(struct pipeline *p, struct worker *w, struct ih_error *err)
{
    struct slot *slot = NULL;
    for (;;) {
        struct open_archive *archive;
        if (!slot && !(slot = malloc(sizeof *slot)))
            return ih_error_set(err, IH_MEMORY, "out of memory");
        slot->is_ready = slot->has_result = false;
        slot->archive = NULL;
        slot->whole = NULL;
        slot->n_frames_waiting = 0;
        switch (wait_for_job(p, &archive)) {
        case JOB_NONE:
            free(slot);
            return IH_OK;
        case JOB_INPUT:
            w->is_undecided = true;
            if (!start_input(p, w, slot))
                continue;
            work_on_input(p, w, slot);
            break;
        case JOB_MEMBER:
            if (!start_member(p, w, archive, slot))
                continue;
            work_on_member(p, w, slot);
            break;
        }
        slot = NULL; /* the list's now */
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
        stop(p);
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

/* Hands out results in order until no worker is left. After take has returned false, further
 * results are dropped. */
static void take_results(struct pipeline *p)
{
    bool is_taking = true;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct slot *slot = p->first;
        if (slot && slot->is_ready) {
            const bool is_wanted = is_taking && slot->has_result && p->error.status == IH_OK;
            pthread_mutex_unlock(&p->lock);
            if (is_wanted)
                is_taking = p->calls->take(p->calls->take_user, &slot->input, &slot->result);
            else
                drop(slot);
            if (slot->has_result)
                free(slot->result.thumbnail);
            pthread_mutex_lock(&p->lock);
            remove_first(p);
            if (!is_taking && !p->is_stopping) {
                stop(p);
            }
            pthread_cond_signal(&p->on_work);
            pthread_mutex_unlock(&p->lock);
            free_slot(slot);
            pthread_mutex_lock(&p->lock);
        } else if (p->n_working == 0 && p->n_offloaded == 0) {
            break;
        } else {
            pthread_cond_wait(&p->on_result, &p->lock);
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
    while (p.first) { /* archives that were not read to their end */
        struct slot *slot = p.first;
        remove_first(&p);
        free_slot(slot);
    }
    pthread_cond_destroy(&p.on_frame);
    pthread_cond_destroy(&p.on_result);
    pthread_cond_destroy(&p.on_work);
    pthread_mutex_destroy(&p.lock);
    free(threads);
    return status;
}
