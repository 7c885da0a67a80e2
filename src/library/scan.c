/*
 * The sources of a public scan: the paths of the settings, then sources that the caller adds, then
 * a list.
 *
 * One worker at a time fetches inputs (scan/workers.c). It waits while the queue of added sources
 * is empty and may still grow.
 */
#include "library/library.h"

#include "base/machine.h"
#include "base/path.h"
#include "records/chain.h"
#include "scan/walk.h"

#include <stdlib.h>
#include <string.h>

enum {
    WANTED_PER_THREAD =
        32,         /* sources in the queue: work for small files while the caller is busy */
    READY = 64,     /* inputs, where no other program is waited for */
    MEMORY_PART = 4 /* members of archives may take 1/MEMORY_PART of the machine's memory */
};

/* An added source. */
struct queued {
    struct queued *next;
    struct ih_input input; /* owns path and array */
};

struct ih_scan {
    struct ih_scan_settings settings;
    struct ih_chain *chain;  /* owned; NULL: not open */
    struct ih_budget budget; /* of members of archives */
    struct ih_budget mask_budget;
    struct ih_mask labels; /* of all images; or empty */
    atomic_uint n_idle_cores;
    bool is_quick; /* no source is waited for */
    bool is_raw;   /* files are bare samples */

    /* Of the worker that fetches: */
    struct ih_walk *walk;       /* owned; NULL: none */
    struct ih_walk *list;       /* owned, until its turn comes; NULL: none */
    char *path;                 /* owned; borrowed by walk; NULL: of the settings */
    uint64_t n_before, n_taken; /* sources before those of walk; added ones that were taken */
    size_t n_paths;             /* that were given without a walk */

    atomic_uint n_queued;
    atomic_bool is_ended, is_stopping; /* no more sources; set under the lock */
    pthread_mutex_t lock;              /* guards what follows */
    pthread_cond_t on_source;
    struct queued *first, *last;
};

/* ---- the workers' side ---- */

/* Waits for an added source, and gives it as an input. False: there are no more. */
static bool take_queued(struct ih_scan *f, struct ih_input *input)
{
    pthread_mutex_lock(&f->lock);
    while (!f->first && !f->is_ended && !f->is_stopping)
        pthread_cond_wait(&f->on_source, &f->lock);
    struct queued *q = f->is_stopping ? NULL : f->first;
    if (q)
        f->first = q->next;
    pthread_mutex_unlock(&f->lock);
    if (!q)
        return false;
    atomic_fetch_sub(&f->n_queued, 1);
    *input = q->input;
    input->source = f->settings.n_paths + f->n_taken++;
    free(q);
    return true;
}

/* Goes on to the next walk, or gives an added source that needs none. False: the end. */
static bool next_source(struct ih_scan *f, struct ih_input *input, bool *has_input)
{
    struct ih_error *err = &input->error;
    ih_walk_close(f->walk);
    f->walk = NULL;
    free(f->path);
    f->path = NULL;
    *has_input = take_queued(f, input);
    if (*has_input && (!input->path || input->bytes || input->read || input->array ||
                       f->settings.takes_only_images))
        return true;
    if (*has_input) {
        f->path = input->path;
        const struct ih_walk_sources sources = {
            .paths = (const char *const *)&f->path, .n_paths = 1, .is_raw = f->is_raw};
        f->n_before = input->source;
        *has_input = ih_walk_open(&sources, &f->walk, err) != IH_OK; /* with the error */
        if (*has_input)
            f->path = NULL;
        return true;
    }
    f->walk = f->is_stopping ? NULL : f->list;
    f->list = f->walk ? NULL : f->list;
    f->n_before = f->settings.n_paths + f->n_taken;
    return f->walk != NULL;
}

/* Gives one of the paths without a walk. */
static bool give_path(struct ih_scan *f, struct ih_input *input)
{
    *input = (struct ih_input){
        .path = strdup(f->settings.paths[f->n_paths]), .is_named = true, .source = f->n_paths};
    f->n_paths++;
    if (!input->path)
        ih_error_set(&input->error, IH_MEMORY, "out of memory");
    return true;
}

static bool feed_next(void *user, struct ih_input *input)
{
    struct ih_scan *f = user;
    if (f->settings.takes_only_images && f->n_paths < f->settings.n_paths)
        return give_path(f, input);
    for (bool has_input = false; !f->walk || !ih_walk_next(f->walk, input);) {
        if (!next_source(f, input, &has_input))
            return false;
        if (has_input)
            return true;
    }
    input->source += f->n_before;
    return true;
}

/* A walk may end at any input, and what follows it may have to be added. */
static unsigned feed_n_ready(void *user)
{
    struct ih_scan *f = user;
    return f->is_quick ? READY : f->settings.takes_only_images ? atomic_load(&f->n_queued) : 0;
}

static double feed_n_left(void *user)
{
    const struct ih_scan *f = user;
    return (f->walk ? ih_walk_n_left(f->walk) : 0) + atomic_load(&f->n_queued);
}

/* Whether the queue has fewer sources than n_per_thread and may still grow. */
static bool wants(struct ih_scan *f, unsigned n_per_thread)
{
    return !f->is_ended && atomic_load(&f->n_queued) < f->settings.n_threads * n_per_thread;
}

static bool feed_wants_sources(void *user)
{
    return wants(user, WANTED_PER_THREAD / 2);
}

static void feed_end(struct ih_scan *f, bool is_stopping)
{
    pthread_mutex_lock(&f->lock);
    f->is_ended = true;
    if (is_stopping)
        f->is_stopping = true;
    pthread_cond_signal(&f->on_source);
    pthread_mutex_unlock(&f->lock);
}

static void feed_stop(void *user)
{
    feed_end(user, true);
}

/* ---- the caller's side ---- */

static enum ih_status check_settings(struct ih_scan_settings *s, bool is_raw, struct ih_error *err)
{
    if (s->n_shards > IH_SHARDS_MAX || s->shard > s->n_shards || (s->n_shards && !s->shard))
        return ih_error_set(err, IH_USAGE, "shard: %u of %u: must be 1 to n_shards, at most %d",
                            s->shard, s->n_shards, IH_SHARDS_MAX);
    if (s->has_nul_list > 1 || s->takes_only_images > 1 || s->refuses_records > 1 || s->is_fed > 1)
        return ih_error_set(err, IH_USAGE, "settings of a scan: a flag is neither 0 nor 1");
    if (s->takes_only_images && s->list)
        return ih_error_set(err, IH_USAGE, "takes_only_images: not with a list");
    s->n_threads = s->n_threads ? s->n_threads : ih_machine_cores();
    if (s->labels && (s->takes_only_images || is_raw))
        return ih_error_set(err, IH_USAGE, "labels: not with %s",
                            is_raw ? "raw_channels" : "takes_only_images");
    if (s->labels && strlen(s->labels) >= IH_MASK_NAME_MAX)
        return ih_error_set(err, IH_USAGE, "labels: longer than %d bytes", IH_MASK_NAME_MAX - 1);
    if (s->has_ignore_label > 1 || s->ignore_label >= IH_LABELS_MAX ||
        (s->has_ignore_label && !s->labels))
        return ih_error_set(err, IH_USAGE, "ignore_label: needs labels, and is one of 0 to %d (%u)",
                            IH_LABELS_MAX - 1, s->ignore_label);
    return IH_OK;
}

/* Opens the walks over the paths and the list. */
static enum ih_status open_walks(struct ih_scan *f, struct ih_error *err)
{
    const struct ih_scan_settings *s = &f->settings;
    const char separator = s->has_nul_list ? '\0' : '\n';
    const struct ih_walk_sources paths = {
        .paths = s->paths, .n_paths = s->n_paths, .is_raw = f->is_raw};
    const struct ih_walk_sources list = {
        .list = s->list, .list_separator = separator, .is_raw = f->is_raw};
    f->is_quick = !s->is_fed && ih_walk_is_quick(&list);
    enum ih_status status = s->list ? ih_walk_open(&list, &f->list, err) : IH_OK;
    if (status == IH_OK && s->n_paths > 0 && !s->takes_only_images)
        status = ih_walk_open(&paths, &f->walk, err);
    return status;
}

/* Loads the label image, if it is one for all images. */
static enum ih_status use_labels(struct ih_scan *f, struct ih_scan_options *o, struct ih_error *err)
{
    struct stat st;
    o->measure.mask = f->settings.labels;
    o->mask = (struct ih_mask_options){
        .budget = &f->mask_budget,
        .has_labels = true,
        .ignored_end = f->settings.has_ignore_label ? f->settings.ignore_label + 1 : 0,
        .zones_bytes_max = f->budget.size_bytes / f->settings.n_threads};
    if (ih_path_stat(f->settings.labels, &st, 0) == 0 && S_ISDIR(st.st_mode))
        return IH_OK;
    struct ih_error reason;
    f->labels.has_labels = true;
    o->mask.one = &f->labels;
    const enum ih_status status =
        ih_mask_load(&f->labels, f->settings.labels, &o->decode, &f->mask_budget, &reason);
    o->measure.mask_hash = f->labels.hash;
    return status == IH_OK ? IH_OK : ih_error_set(err, status, "%s", reason.message);
}

static struct ih_scan_options options_of(struct ih_context *context, struct ih_scan *f)
{
    const struct ih_scan_settings *s = &f->settings;
    struct ih_scan_options o = context->options;
    o.n_threads = s->n_threads;
    o.shard = s->shard;
    o.n_shards = s->n_shards;
    o.reads_archives = !s->takes_only_images;
    o.member_budget = &f->budget;
    o.decode.n_idle_cores = &f->n_idle_cores;
    return o;
}

/* Starts the scan, and chains result files to it. */
static enum ih_status start(struct ih_context *context, struct ih_scan *f, struct ih_error *err)
{
    const struct ih_scan_inputs inputs = {feed_next,          feed_n_ready, feed_n_left,
                                          feed_wants_sources, feed_stop,    f};
    struct ih_scan_options options = options_of(context, f);
    struct ih_chain_options chain = {
        .measure = context->options.measure,
        .refusal = f->settings.n_shards ? "input of a shard"
                   : f->settings.refuses_records
                       ? "image: a scan reads its records, and so does the command line"
                       : NULL,
        .is_fed = f->settings.is_fed,
        .reads_ahead = options.n_threads > 1,
        .names_settings = true};
    struct ih_item_source images;
    chain.measure.mask = f->settings.labels;
    enum ih_status status = f->settings.labels ? use_labels(f, &options, err) : IH_OK;
    if (status == IH_OK)
        status = ih_scan_start(context->device, &options, &inputs, &images, err);
    return status == IH_OK ? ih_chain_open(&images, &chain, &f->chain, err) : status;
}

enum ih_status ih_scan_open(struct ih_context *context, const struct ih_scan_settings *settings,
                            size_t size_bytes, struct ih_scan **scan, struct ih_error *err)
{
    struct ih_scan *f = calloc(1, sizeof *f);
    if (!f)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    f->is_raw = context->options.decode.raw_channels > 0;
    ih_budget_init(&f->budget, context->has_budget ? context->budget.size_bytes
                                                   : ih_machine_memory() / MEMORY_PART);
    ih_budget_init(&f->mask_budget, f->budget.size_bytes);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->on_source, NULL);
    enum ih_status status = ih_options_copy(&f->settings, sizeof f->settings, settings, size_bytes,
                                            "settings of a scan", err);
    if (status == IH_OK)
        status = check_settings(&f->settings, f->is_raw, err);
    if (status == IH_OK)
        status = open_walks(f, err);
    f->is_ended = !f->settings.is_fed;
    if (status == IH_OK)
        status = start(context, f, err);
    if (status == IH_OK)
        *scan = f;
    else
        ih_scan_close(f);
    return status;
}

enum ih_status ih_scan_next(struct ih_scan *scan, const struct ih_item **item, struct ih_error *err)
{
    return ih_chain_next(scan->chain, item, err);
}

int ih_scan_is_ready(struct ih_scan *scan, unsigned wait_ms)
{
    return ih_chain_is_ready(scan->chain, wait_ms);
}

/* Turns a source into an input that owns what it needs. */
static enum ih_status set_input(struct ih_input *input, const struct ih_scan_source *source,
                                struct ih_error *err)
{
    static const uint8_t nothing[1];
    enum ih_status status = IH_OK;
    *input = (struct ih_input){.is_named = true};
    if (source->path && !(input->path = strdup(source->path)))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (source->array) {
        input->array = malloc(sizeof *input->array);
        status = input->array ? ih_options_copy(input->array, sizeof *input->array, source->array,
                                                source->array_bytes, "array", err)
                              : ih_error_set(err, IH_MEMORY, "out of memory");
        return status == IH_OK ? ih_array_check(input->array, err) : status;
    }
    input->read = source->read;
    input->read_user = source->read_user;
    if (!source->read && (source->bytes || !source->path)) {
        input->bytes = source->bytes ? source->bytes : nothing;
        input->size_bytes = source->bytes ? source->size_bytes : 0;
    }
    return IH_OK;
}

enum ih_status ih_scan_add(struct ih_scan *f, const struct ih_scan_source *source,
                           size_t size_bytes, struct ih_error *err)
{
    struct ih_scan_source copy;
    enum ih_status status = ih_options_copy(&copy, sizeof copy, source, size_bytes, "source", err);
    struct queued *q = status == IH_OK ? calloc(1, sizeof *q) : NULL;
    if (status == IH_OK && f->is_ended)
        status = ih_error_set(err, IH_USAGE, "the scan takes no more sources");
    else if (status == IH_OK && f->settings.labels &&
             (copy.array || copy.read || copy.bytes || !copy.path))
        status = ih_error_set(err, IH_USAGE, "labels: the sources are paths");
    else if (status == IH_OK)
        status =
            q ? set_input(&q->input, &copy, err) : ih_error_set(err, IH_MEMORY, "out of memory");
    if (status != IH_OK) {
        if (q) {
            free(q->input.path);
            free(q->input.array);
        }
        free(q);
        return status;
    }
    pthread_mutex_lock(&f->lock);
    *(f->first ? &f->last->next : &f->first) = q;
    f->last = q;
    atomic_fetch_add(&f->n_queued, 1);
    pthread_cond_signal(&f->on_source);
    pthread_mutex_unlock(&f->lock);
    return IH_OK;
}

void ih_scan_add_end(struct ih_scan *scan)
{
    feed_end(scan, false);
}

int ih_scan_wants_source(struct ih_scan *scan)
{
    return wants(scan, WANTED_PER_THREAD);
}

void ih_scan_close(struct ih_scan *f)
{
    if (!f)
        return;
    ih_chain_close(f->chain);
    for (struct queued *q = f->first, *next; q; q = next) {
        next = q->next;
        free(q->input.path);
        free(q->input.array);
        free(q);
    }
    ih_walk_close(f->walk);
    ih_walk_close(f->list);
    free(f->path);
    pthread_cond_destroy(&f->on_source);
    pthread_mutex_destroy(&f->lock);
    ih_mask_release(&f->labels, &f->mask_budget);
    ih_budget_destroy(&f->mask_budget);
    ih_budget_destroy(&f->budget);
    free(f);
}

enum ih_status ih_item_counts(const struct ih_item *item, struct ih_counts *counts,
                              struct ih_error *err)
{
    ih_counts_clear(counts);
    if (item->kind != IH_ITEM_IMAGE && item->kind != IH_ITEM_TOTAL)
        return ih_error_set(err, IH_USAGE, "the item has no counts");
    return ih_counts_set_result(counts, item->result, err);
}
