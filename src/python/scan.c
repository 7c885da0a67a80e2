/*
 * scan: the walk, the pipeline and the merge of the command line, in threads that need no GIL.
 *
 * The pipeline hands its results out in one thread, the runner. It puts them into a ring, from
 * which the thread that iterates takes them. That thread feeds the paths, which come from Python
 * code, through another ring; a worker walks one after the other.
 */
#include "module.h"

#include "base/machine.h"
#include "cli/merge.h"
#include "cli/paths.h"
#include "library/library.h"
#include "output/records.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RESULTS_PER_THREAD = 64,
    RESULTS_PER_WAKE = 16, /* waking the thread that iterates costs more than taking a result */
    MEMORY_PART = 4        /* members of archives may take 1/MEMORY_PART of the machine's memory */
};

struct py_scan {
    struct ih_context *context; /* borrowed */
    struct ih_pipeline_options options;
    struct ih_walk *walk;      /* owned; of path, then of the list; NULL: none yet, or at its end */
    struct ih_walk *list_walk; /* owned; NULL: no list, or its turn has come */
    char *path, *list;         /* owned; borrowed by the walks */
    struct ih_merge merge;
    bool has_inputs;
    struct ih_budget member_budget;
    atomic_uint n_idle_cores;
    struct ih_interrupt interrupt;
    pthread_t runner;
    struct py_scanned *ring; /* owned; result i is in ring[i % n_ring] */
    char **paths;            /* owned; path i is in paths[i % n_ring] */
    uint64_t n_ring;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_result, on_room, on_path;
    uint64_t n_put, n_taken, n_skipped;
    uint64_t n_fed, n_walked; /* paths */
    bool is_fed;              /* there are no more paths */
    bool is_stopping, has_ended;
    struct py_scanned last; /* with the error that ended the run, if there is one */
};

void py_scanned_release(struct py_scanned *r)
{
    ih_counts_close(r->counts);
    free(r->path);
    *r = (struct py_scanned){.path = NULL};
}

/* ---- the runner and the workers, without the GIL ---- */

/* Whether the caller wants no more. Also the interrupt of long work. */
static bool is_stopping(void *user)
{
    struct py_scan *s = user;
    pthread_mutex_lock(&s->lock);
    const bool is_stopping = s->is_stopping;
    pthread_mutex_unlock(&s->lock);
    return is_stopping;
}

/* Keeps the first error that ends the run. */
static void fail(struct py_scan *s, const char *path, const struct ih_error *err)
{
    pthread_mutex_lock(&s->lock);
    if (s->last.error.status == IH_OK) {
        s->last.error = *err;
        s->last.path = path ? strdup(path) : NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

/* Whether the caller should feed more paths. The caller holds the lock. */
static bool wants_paths(const struct py_scan *s)
{
    return !s->is_fed && s->n_fed - s->n_walked < s->n_ring / 2;
}

/* Whether the thread that iterates is woken for paths: then it feeds many. */
static bool is_short_of_paths(const struct py_scan *s)
{
    return !s->is_fed && s->n_fed - s->n_walked < s->n_ring / 4;
}

/* Waits for a path and begins its walk; after the last one that of the list. False: the end. */
static bool next_walk(struct py_scan *s)
{
    struct ih_error err;
    ih_walk_close(s->walk);
    s->walk = NULL;
    free(s->path);
    s->path = NULL;
    pthread_mutex_lock(&s->lock);
    while (!s->is_stopping && !s->is_fed && s->n_walked == s->n_fed)
        pthread_cond_wait(&s->on_path, &s->lock);
    if (!s->is_stopping && s->n_walked < s->n_fed)
        s->path = s->paths[s->n_walked++ % s->n_ring];
    const bool is_at_end = !s->path;
    if (is_short_of_paths(s))
        pthread_cond_signal(&s->on_result);
    pthread_mutex_unlock(&s->lock);
    const char *const path = s->path;
    const struct ih_walk_sources sources = {.paths = &path, .n_paths = 1};
    if (is_at_end) {
        s->walk = s->list_walk;
        s->list_walk = NULL;
    } else if (ih_walk_open(&sources, &s->walk, &err) != IH_OK) {
        fail(s, s->path, &err);
    }
    return s->walk != NULL;
}

/* Each path has a walk of its own, which borrows it only while it gives the first input. */
static bool next_input(void *user, struct ih_input *input)
{
    struct py_scan *s = user;
    if (is_stopping(s))
        return false;
    while (!s->walk || !ih_walk_next(s->walk, input))
        if (!next_walk(s))
            return false;
    s->has_inputs = true;
    return true;
}

static double inputs_left(void *user)
{
    const struct py_scan *s = user;
    return s->walk ? ih_walk_n_left(s->walk) : 0;
}

static void skip(void *user, const char *path, const struct ih_result *result)
{
    struct py_scan *s = user;
    (void)path, (void)result;
    pthread_mutex_lock(&s->lock);
    s->n_skipped++;
    pthread_mutex_unlock(&s->lock);
}

/* Puts a copy of a result into the ring, when there is room. */
static bool put(void *user, const char *path, const struct ih_result *result)
{
    struct py_scan *s = user;
    struct py_scanned r = {.error = {.status = result->status}};
    struct ih_error err;
    if (!result->is_total && !(r.path = strdup(path)))
        ih_error_set(&r.error, IH_MEMORY, "out of memory");
    else if (result->status != IH_OK) {
        r.error = result->error;
        ih_error_name_setting(&r.error);
    } else if (ih_counts_open(&r.counts, &err) != IH_OK ||
               ih_counts_set_result(r.counts, result, &err) != IH_OK)
        r.error = err;
    pthread_mutex_lock(&s->lock);
    while (!s->is_stopping && s->n_put - s->n_taken == s->n_ring)
        pthread_cond_wait(&s->on_room, &s->lock);
    const bool is_wanted = !s->is_stopping;
    if (is_wanted)
        s->ring[s->n_put++ % s->n_ring] = r;
    if (s->n_put - s->n_taken >= RESULTS_PER_WAKE)
        pthread_cond_signal(&s->on_result); /* fewer are found after wait_ms, or at the end */
    pthread_mutex_unlock(&s->lock);
    if (!is_wanted)
        py_scanned_release(&r);
    return is_wanted;
}

static bool take_result(void *user, const struct ih_input *input, const struct ih_result *result)
{
    struct py_scan *s = user;
    struct ih_error err;
    const char *subject;
    if (ih_merge_take(&s->merge, input, result, &subject, &err) == IH_OK)
        return !s->merge.has_ended;
    fail(s, subject, &err);
    return false;
}

static void *run(void *user)
{
    struct py_scan *s = user;
    struct ih_error err;
    const struct ih_pipeline_calls calls = {.next = next_input,
                                            .next_user = s,
                                            .take = take_result,
                                            .take_user = s,
                                            .n_left = inputs_left};
    enum ih_status status = ih_pipeline_run(s->context->device, &s->options, &calls, &err);
    if (status == IH_OK && s->last.error.status == IH_OK && !s->merge.has_ended)
        status = ih_merge_complete(&s->merge, &err);
    if (status == IH_OK && s->last.error.status == IH_OK && s->list && !s->has_inputs &&
        s->options.n_shards == 0 && !is_stopping(s)) {
        ih_error_set(&err, IH_IO, "no images found: the list is empty");
        fail(s, s->list, &err);
    }
    if (status != IH_OK && s->last.error.status == IH_OK)
        fail(s, NULL, &err);
    pthread_mutex_lock(&s->lock);
    s->has_ended = true;
    pthread_cond_signal(&s->on_result);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- opening and closing ---- */

static void set_options(struct py_scan *s, const struct py_scan_options *from)
{
    struct ih_pipeline_options *o = &s->options;
    *o = s->context->options;
    o->n_threads = from->n_threads;
    o->shard = from->shard;
    o->n_shards = from->n_shards;
    o->reads_archives = true;
    o->member_budget = &s->member_budget;
    o->is_result_file = ih_records_probe;
    o->decode.n_idle_cores = &s->n_idle_cores;
    s->interrupt = (struct ih_interrupt){is_stopping, s};
    o->decode.interrupt = &s->interrupt;
    atomic_init(&s->n_idle_cores, 0);
    s->merge = (struct ih_merge){
        .take = put,
        .skip = skip,
        .user = s,
        .measurement = from->measurement,
        .of_empty = from->measurement,
        .why_no_records = from->n_shards ? "a result file is no input of a shard"
                          : !from->reads_records
                              ? "a result file is no image: use imghist.scan, or "
                                "merge it on the command line"
                              : NULL,
        .why_not_mixed = "a total beside single images: their sum would count images twice",
    };
}

/* Starts the runner, which runs no signal handlers, and neither do the threads that it starts. */
static enum ih_status start(struct py_scan *s, struct ih_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&s->runner, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? IH_OK : ih_error_set(err, IH_MEMORY, "cannot start a thread");
}

static void release(struct py_scan *s)
{
    for (; s->n_taken < s->n_put; s->n_taken++)
        py_scanned_release(&s->ring[s->n_taken % s->n_ring]);
    py_scanned_release(&s->last);
    ih_merge_reset(&s->merge);
    ih_walk_close(s->walk);
    ih_walk_close(s->list_walk);
    for (; s->n_walked < s->n_fed; s->n_walked++)
        free(s->paths[s->n_walked % s->n_ring]);
    free(s->paths);
    free(s->path);
    free(s->list);
    free(s->ring);
    pthread_cond_destroy(&s->on_path);
    pthread_cond_destroy(&s->on_room);
    pthread_cond_destroy(&s->on_result);
    pthread_mutex_destroy(&s->lock);
    ih_budget_destroy(&s->member_budget);
    free(s);
}

enum ih_status py_scan_open(struct ih_context *context, const struct py_scan_options *options,
                            struct py_scan **scan, struct ih_error *err)
{
    pthread_condattr_t clock;
    struct py_scan *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->context = context;
    s->n_ring = (uint64_t)options->n_threads * RESULTS_PER_THREAD;
    s->ring = calloc((size_t)s->n_ring, sizeof *s->ring);
    s->paths = calloc((size_t)s->n_ring, sizeof *s->paths);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->on_result, &clock);
    pthread_cond_init(&s->on_room, NULL);
    pthread_cond_init(&s->on_path, NULL);
    pthread_condattr_destroy(&clock);
    ih_budget_init(&s->member_budget, context->has_budget ? context->budget.size_bytes
                                                          : ih_machine_memory() / MEMORY_PART);
    bool has_memory = s->ring && s->paths;
    if (has_memory && options->list)
        has_memory = (s->list = strdup(options->list)) != NULL;
    const struct ih_walk_sources sources = {.list = s->list, .list_separator = '\n'};
    set_options(s, options);
    enum ih_status status = has_memory ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
    if (status == IH_OK && s->list)
        status = ih_walk_open(&sources, &s->list_walk, err);
    if (status == IH_OK)
        status = start(s, err);
    if (status == IH_OK)
        *scan = s;
    else
        release(s);
    return status;
}

bool py_scan_wants_paths(struct py_scan *s)
{
    pthread_mutex_lock(&s->lock);
    const bool wants = wants_paths(s);
    pthread_mutex_unlock(&s->lock);
    return wants;
}

bool py_scan_feed(struct py_scan *s, const char *path)
{
    char *copy = path ? strdup(path) : NULL;
    pthread_mutex_lock(&s->lock);
    if (copy)
        s->paths[s->n_fed++ % s->n_ring] = copy;
    else
        s->is_fed = true;
    pthread_cond_signal(&s->on_path);
    pthread_mutex_unlock(&s->lock);
    return copy || !path;
}

enum py_scan_state py_scan_next(struct py_scan *s, unsigned wait_ms, struct py_scanned *result)
{
    struct timespec until;
    enum py_scan_state state = PY_SCAN_WAITS;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)wait_ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&s->lock);
    while (s->n_taken == s->n_put && !s->has_ended && !wants_paths(s) &&
           pthread_cond_timedwait(&s->on_result, &s->lock, &until) != ETIMEDOUT)
        ;
    if (s->n_taken < s->n_put) {
        state = PY_SCAN_GIVES;
        *result = s->ring[s->n_taken++ % s->n_ring];
        pthread_cond_signal(&s->on_room);
    } else if (s->has_ended) {
        state = PY_SCAN_ENDS;
        *result = s->last;
        s->last = (struct py_scanned){.path = NULL};
    }
    pthread_mutex_unlock(&s->lock);
    return state;
}

uint64_t py_scan_skipped(struct py_scan *s)
{
    pthread_mutex_lock(&s->lock);
    const uint64_t n = s->n_skipped;
    pthread_mutex_unlock(&s->lock);
    return n;
}

uint64_t py_scan_close(struct py_scan *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    pthread_cond_signal(&s->on_room);
    pthread_cond_signal(&s->on_path);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->runner, NULL);
    const uint64_t n_skipped = s->n_skipped;
    release(s);
    return n_skipped;
}
