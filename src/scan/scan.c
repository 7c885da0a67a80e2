/*
 * The caller's side of a scan: ih_scan_next makes items of results, in the order of the inputs.
 *
 * Files in directories that are no images are skipped, folders without images are failures, and
 * result files are replaced by their records. All results are checked to fit together. Everything
 * here runs in the thread that calls ih_scan_next; workers only fill the list of slots.
 */
#include "scan/scan.h"
#include "scan/state.h"

#include "base/clock.h"
#include "decode/archive.h"
#include "scan/endings.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- taking results ---- */

/* Taken without the lock between them: in a run over small files, every worker contends for it. */
enum { TAKE_MOST = 16 };

/* Takes the first slots that are ready off the list. The caller holds the lock. */
static struct slot *remove_ready(struct ih_scan *s)
{
    struct slot *first = s->first, *last = NULL;
    for (unsigned n = 0; n < TAKE_MOST && s->first && s->first->is_ready; n++) {
        last = s->first;
        ih_slots_remove_first(s);
    }
    if (!last)
        return NULL;
    last->next = NULL;
    pthread_cond_signal(&s->on_work); /* there is room */
    return first;
}

/* Gives empty slots back to the workers. The caller holds the lock. */
static void keep_used(struct ih_scan *s, struct slot **used)
{
    ih_slots_keep(s, *used);
    *used = NULL;
}

/* The next result, valid until the call after that. NULL: the workers have ended, or an error has
 * ended the run. */
static struct slot *take(struct ih_scan *s)
{
    if (s->used)
        ih_slot_empty(s->used);
    if (!s->taken) {
        pthread_mutex_lock(&s->lock);
        keep_used(s, &s->used);
        while (s->error.status == IH_OK && !(s->taken = remove_ready(s)) &&
               !ih_workers_have_ended(s))
            pthread_cond_wait(&s->on_result, &s->lock);
        pthread_mutex_unlock(&s->lock);
    }
    struct slot *slot = s->taken;
    if (slot) {
        s->taken = slot->next;
        slot->next = s->used;
        s->used = slot;
    }
    return slot;
}

/* Waits until no worker counts; results that come meanwhile stay in the list. Call it when no
 * worker waits for room. */
static void wait_for_workers(struct ih_scan *s)
{
    pthread_mutex_lock(&s->lock);
    while (!ih_workers_have_ended(s))
        pthread_cond_wait(&s->on_result, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* ---- items ---- */

/* Whether an input of an unknown format has the name of an image or, if it is no member of one, of
 * an archive. A recognised format that is not read keeps what its name promises. */
static bool breaks_promise(const struct ih_input *input, const struct ih_result *result)
{
    const char *path = result->path;
    struct stat st;
    if (ih_ending_is_chart(path))
        return false;
    return ih_ending_is_image(path) || (!input->is_member && ih_archive_is_name(path)) ||
           (ih_ending_is_other_image(path) && (result->error.limit == IH_LIMIT_RAW_CHANNELS ||
                                               (stat(path, &st) == 0 && st.st_size == 0)));
}

/* Gives a failure, or a file that is left out. */
static void give_failure(struct ih_scan *s, enum ih_item_kind kind, const struct ih_error *error)
{
    s->item.kind = kind;
    s->item.error = *error;
    if (s->options.names_settings)
        ih_error_name_setting(&s->item.error);
}

/* Gives a result, if it may stand beside those before it. */
static enum ih_status give(struct ih_scan *s, const struct ih_result *result, struct ih_error *err)
{
    const bool is_empty = result->is_total && result->n_images == 0;
    if (ih_joint_measure_add(is_empty ? &s->from.of_empty : &s->from.measure, result, err) != IH_OK)
        return err->status; /* about the result file */
    s->item.path = result->path;
    s->item.result = result;
    if (result->status != IH_OK)
        give_failure(s, IH_ITEM_FAILURE, &result->error);
    else
        s->item.kind = result->is_total ? IH_ITEM_TOTAL : IH_ITEM_IMAGE;
    return IH_OK;
}

/* ---- result files ---- */

static void close_records(struct record_items *from)
{
    ih_records_close(from->records);
    if (from->src)
        ih_source_reset(from->src);
    free(from->src);
    from->src = NULL;
    from->records = NULL;
}

/* path: borrowed until close_records. src: owned from now on; NULL: path is opened. */
static enum ih_status open_records(struct record_items *from, const char *path,
                                   struct ih_source *src, struct ih_error *err)
{
    from->path = path;
    from->is_stream = src != NULL;
    from->has_record = false;
    from->src = src ? src : calloc(1, sizeof *src);
    enum ih_status status = src          ? IH_OK
                            : !from->src ? ih_error_set(err, IH_MEMORY, "out of memory")
                                         : ih_source_open_path(from->src, path, err);
    if (status == IH_OK)
        status = ih_records_open(from->src, &from->records, err);
    return status;
}

/* The file is one of a shard's: it is read when all of the run have come. */
static enum ih_status add_shard(struct record_items *from, const struct ih_result *first,
                                struct ih_error *err)
{
    struct ih_error missing;
    struct ih_source *src = from->src;
    struct ih_records *records = from->records;
    if (!first->is_total && ih_records_is_document(records))
        return ih_error_set(err, IH_USAGE,
                            "shards are merged from NDJSON: run each with --ndjson instead of "
                            "--json");
    from->src = NULL;
    from->records = NULL;
    const enum ih_status status =
        ih_shards_add(&from->shards, from->path, src, records, from->is_stream, first, err);
    from->is_merging = status == IH_OK && ih_shards_check(from->shards, &missing) == IH_OK;
    from->has_merged_images = false;
    return status;
}

/* Gives the next record of the result file that is open, or closes it. */
static enum ih_status next_record(struct ih_scan *s, struct ih_error *err)
{
    struct record_items *from = &s->from;
    const struct ih_result *result = NULL;
    const bool is_first = !from->has_record;
    s->item.path = s->item.result_file = from->path;
    enum ih_status status = ih_records_next(from->records, &result, err);
    from->has_record = true;
    if (status != IH_OK)
        return status;
    if (!result) {
        close_records(from);
        return IH_OK;
    }
    const bool is_of_shard = result->n_shards && from->path != s->options.resumed_path;
    if (is_of_shard && !is_first)
        return ih_error_set(err, IH_CORRUPT, "a record of a shard among others");
    return is_of_shard ? add_shard(from, result, err) : give(s, result, err);
}

/* Gives the next record of the shards that are merged, or ends the merge. */
static enum ih_status next_merged(struct ih_scan *s, struct ih_error *err)
{
    struct record_items *from = &s->from;
    const struct ih_result *result = NULL;
    const enum ih_status status = ih_shards_next(from->shards, &result, &s->item.path, err);
    s->item.result_file = s->item.path;
    if (status != IH_OK)
        return status;
    if (result) {
        from->has_merged_images |= !result->is_total || result->n_images + result->n_failed > 0;
        return give(s, result, err);
    }
    const uint64_t run = ih_shards_run(from->shards);
    if (from->has_merged_images && run == from->merged_run)
        return ih_error_set(err, IH_USAGE, "the shards of a run again");
    if (from->has_merged_images || from->merged_run == 0) /* runs without images may be alike */
        from->merged_run = run;
    ih_shards_close(from->shards);
    from->shards = NULL;
    from->is_merging = false;
    return IH_OK;
}

static enum ih_status check_shards(const struct record_items *from, struct ih_error *err)
{
    if (from->shards && from->merged_run)
        return ih_error_set(err, IH_USAGE,
                            "a shard follows when all shards of a run have been read: name each "
                            "once, and all shards of another run");
    return from->shards ? ih_shards_check(from->shards, err) : IH_OK;
}

/* ---- the next item ---- */

/* Gives the result of a slot, if it is one. */
static enum ih_status next_result(struct ih_scan *s, struct slot *slot, struct ih_error *err)
{
    const struct ih_input *input = &slot->input;
    struct ih_result *result = &slot->result;
    if (!slot->has_result)
        return IH_OK;
    s->item.path = result->path;
    s->item.source = input->source;
    s->item.is_member = input->is_member;
    if (result->status == IH_UNKNOWN && !input->is_named && !breaks_promise(input, result)) {
        give_failure(s, IH_ITEM_SKIPPED, &result->error);
        return IH_OK;
    }
    const bool is_empty = input->ends_folder && s->n_in_folder == 0;
    s->n_in_folder = input->is_in_folder ? s->n_in_folder + 1 : 0;
    s->ends_folder = is_empty; /* after the failure */
    if (input->ends_folder && !is_empty) {
        s->item.kind = IH_ITEM_FOLDER_END;
        return IH_OK;
    }
    if (result->status == IH_CONFLICT) {
        *err = result->error;
        return err->status;
    }
    if (slot->file.is_one && s->options.records == IH_RECORDS_REFUSED)
        return ih_error_set(err, IH_USAGE, "a result file is no %s",
                            s->options.n_shards || s->options.resumed_path
                                ? "input of a shard or of a run that is resumed"
                                : "image: a scan reads its records, and so does the command line");
    if (!slot->file.is_one)
        return give(s, result, err);
    struct ih_source *src = slot->file.src;
    slot->file.src = NULL;
    return open_records(&s->from, result->path, src, err);
}

/* All inputs have been taken. Returns IH_END, or the error that ended the run. */
static enum ih_status end(struct ih_scan *s, struct ih_error *err)
{
    wait_for_workers(s);
    enum ih_status status = ih_workers_end(s, err);
    if (status == IH_OK)
        status = check_shards(&s->from, err);
    return status == IH_OK ? ih_error_set(err, IH_END, "the end of the scan") : status;
}

enum ih_status ih_scan_next(struct ih_scan *s, const struct ih_item **item, struct ih_error *err)
{
    struct ih_error reason = s->end;
    *item = NULL;
    s->item.kind = IH_ITEM_NONE;
    s->item.result = NULL;
    if (s->ends_folder) {
        s->ends_folder = false;
        s->item.kind = IH_ITEM_FOLDER_END;
    }
    while (s->item.kind == IH_ITEM_NONE && reason.status == IH_OK) {
        struct slot *slot;
        s->item.path = s->item.result_file = NULL;
        if (s->from.src)
            next_record(s, &reason);
        else if (s->from.is_merging)
            next_merged(s, &reason);
        else if ((slot = take(s)))
            next_result(s, slot, &reason);
        else
            end(s, &reason);
    }
    if (s->item.kind != IH_ITEM_NONE) {
        *item = &s->item;
        return IH_OK;
    }
    if (reason.status != IH_END) {
        give_failure(s, IH_ITEM_FAILURE, &reason);
        *item = &s->item;
    }
    s->end = reason;
    if (err)
        *err = reason;
    return reason.status;
}

int ih_scan_is_ready(struct ih_scan *s, unsigned wait_ms)
{
    struct timespec until;
    if (s->ends_folder || s->taken || s->from.src || s->from.is_merging || s->end.status != IH_OK)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&s->lock);
    if (s->used) /* the first is that of the item */
        keep_used(s, &s->used->next);
    bool is_ready, is_over = wait_ms == 0;
    while (!(is_ready = s->error.status != IH_OK || (s->taken = remove_ready(s)) ||
                        ih_workers_have_ended(s)) &&
           !is_over && !s->is_short)
        is_over = pthread_cond_timedwait(&s->on_result, &s->lock, &until) == ETIMEDOUT;
    s->is_short = false;
    pthread_mutex_unlock(&s->lock);
    return is_ready;
}

const struct ih_joint_measure *ih_scan_measure(const struct ih_scan *s)
{
    return s->from.measure.has_results ? &s->from.measure : &s->from.of_empty;
}

const struct ih_scan_inputs *ih_scan_inputs_of(const struct ih_scan *s)
{
    return &s->inputs;
}

bool ih_scan_has_merged(const struct ih_scan *s)
{
    return s->from.merged_run != 0;
}

/* ---- opening and closing ---- */

static bool is_stopping(void *scan)
{
    return ((struct ih_scan *)scan)->is_stopping;
}

static void init_conditions(struct ih_scan *s)
{
    pthread_condattr_t clock;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->on_work, NULL);
    pthread_cond_init(&s->on_frame, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->on_result, &clock);
    pthread_condattr_destroy(&clock);
}

enum ih_status ih_scan_start(struct ih_device *device, const struct ih_scan_options *options,
                             const struct ih_scan_inputs *inputs, struct ih_scan **scan,
                             struct ih_error *err)
{
    sigset_t all, before;
    struct ih_scan *s = calloc(1, sizeof *s);
    if (!s) {
        if (inputs->close)
            inputs->close(inputs->user);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    s->device = device;
    s->options = *options;
    s->inputs = *inputs;
    s->interrupt = (struct ih_interrupt){is_stopping, s};
    s->options.decode.interrupt = &s->interrupt;
    s->n_inputs = options->first_input;
    s->n_in_folder = options->n_resumed_in_folder;
    s->from.measure.asked = s->from.of_empty.asked = options->measure;
    s->start_ns = ih_clock_ns();
    init_conditions(s);
    enum ih_status status = IH_OK;
    if (options->resumed_path)
        status = open_records(&s->from, options->resumed_path, NULL, err);
    sigfillset(&all); /* the threads run no handlers of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (status == IH_OK)
        status = ih_workers_start(s, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == IH_OK)
        *scan = s;
    else
        ih_scan_close(s);
    return status;
}

static void free_slots(struct slot *slot)
{
    for (struct slot *next; slot; slot = next) {
        next = slot->next;
        free(slot);
    }
}

void ih_scan_close(struct ih_scan *s)
{
    struct ih_error ignored;
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    ih_scan_stop(s);
    pthread_mutex_unlock(&s->lock);
    wait_for_workers(s); /* none waits for room after ih_scan_stop */
    ih_workers_end(s, &ignored);
    for (struct slot *slot = s->taken; slot; slot = slot->next)
        ih_slot_empty(slot);
    free_slots(s->taken);
    if (s->used)
        ih_slot_empty(s->used);
    free_slots(s->used);
    while (s->first) { /* archives that were not read to their end, and what is after them */
        struct slot *slot = s->first;
        ih_slots_remove_first(s);
        ih_slot_empty(slot);
        free(slot);
    }
    free_slots(s->spare);
    close_records(&s->from);
    ih_shards_close(s->from.shards);
    if (s->inputs.close)
        s->inputs.close(s->inputs.user);
    pthread_cond_destroy(&s->on_frame);
    pthread_cond_destroy(&s->on_result);
    pthread_cond_destroy(&s->on_work);
    pthread_mutex_destroy(&s->lock);
    free(s->threads);
    free(s);
}
