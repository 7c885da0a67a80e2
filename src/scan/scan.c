/*
 * The caller's side of a scan: makes items of results, in the order of the inputs.
 *
 * Files in directories that are no images are skipped, and folders without images are failures.
 * Everything here runs in the thread that takes the items; workers only fill the list of slots.
 */
#include "scan/scan.h"
#include "scan/state.h"

#include "base/threads.h"
#include "scan/extensions.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- taking results ---- */

/* Taken without the lock between them: in a run over small files, every worker contends for it. */
enum { TAKE_MOST = 128 };

/* Takes the first slots that are ready off the list. The caller holds the lock. */
static struct slot *remove_ready(struct scan *s)
{
    struct slot *first = s->first, *last = NULL;
    for (unsigned n = 0; n < TAKE_MOST && s->first && s->first->is_ready; n++) {
        last = s->first;
        if (last->bins_bytes > 0) /* the last one, because it keeps its bins until used */
            n = TAKE_MOST;
        ih_order_remove_first(s);
    }
    if (!last)
        return NULL;
    last->next = NULL;
    pthread_cond_signal(&s->on_work); /* there is room */
    return first;
}

/* Gives empty slots back to the workers. The caller holds the lock. */
static void keep_used(struct scan *s, struct slot **used)
{
    ih_order_keep(s, *used);
    *used = NULL;
}

/* Small images give results faster than a thread can be woken for each. Then some gather while this
 * thread sleeps, which costs the workers no signal. A signal ends the wait for a slow one. */
#define GATHER_NS (100L * 1000)

/* Waits until there may be a result. The caller holds the lock. */
static void wait_for_result(struct scan *s)
{
    if (s->is_fast) {
        pthread_mutex_unlock(&s->lock);
        nanosleep(&(struct timespec){.tv_nsec = GATHER_NS}, NULL);
        pthread_mutex_lock(&s->lock);
        s->is_fast = s->first && s->first->is_ready;
    } else {
        const uint64_t start_ns = ih_clock_ns();
        pthread_cond_wait(&s->on_result, &s->lock);
        s->is_fast = ih_clock_ns() - start_ns < (uint64_t)GATHER_NS;
    }
}

/* The next result, valid until the call after that. NULL: the workers have ended, or an error has
 * ended the run. */
static struct slot *take(struct scan *s)
{
    if (s->used)
        ih_slot_empty(s->used);
    if (!s->taken) {
        pthread_mutex_lock(&s->lock);
        keep_used(s, &s->used);
        while (s->error.status == IH_OK && !(s->taken = remove_ready(s)) &&
               !ih_workers_have_ended(s))
            wait_for_result(s);
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
static void wait_for_workers(struct scan *s)
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
    if (ih_extension_is_chart(path))
        return false;
    return ih_extension_is_image(path) || (!input->is_member && ih_archive_is_name(path)) ||
           (ih_extension_is_other_image(path) && (result->error.limit == IH_LIMIT_RAW_CHANNELS ||
                                                  (stat(path, &st) == 0 && st.st_size == 0)));
}

/* Gives a failure, or a file that is left out. */
static void give_failure(struct scan *s, enum ih_item_kind kind, const struct ih_error *error)
{
    s->item.kind = kind;
    s->item.error = *error;
}

/* ---- the next item ---- */

/* Makes the item of a slot. Returns false for a slot without an item. */
static bool next_result(struct scan *s, struct slot *slot, struct ih_error *err)
{
    const struct ih_input *input = &slot->input;
    struct ih_result *result = &slot->result;
    if (!slot->has_result)
        return false;
    s->item.path = result->path;
    s->item.source = input->source;
    s->item.is_member = input->is_member;
    if (result->status == IH_UNKNOWN && !input->is_named && !breaks_promise(input, result)) {
        give_failure(s, IH_ITEM_SKIPPED, &result->error);
        return true;
    }
    const bool is_empty = input->ends_folder && s->n_in_folder == 0;
    s->n_in_folder = input->is_in_folder ? s->n_in_folder + 1 : 0;
    s->ends_folder = is_empty; /* after the failure */
    if (input->ends_folder && !is_empty) {
        s->item.kind = IH_ITEM_FOLDER_END;
    } else if (input->holds_records) {
        s->item.result_file = input->is_stdin ? "-" : result->path;
    } else if (result->status == IH_CONFLICT) {
        *err = result->error;
        return false;
    } else {
        s->item.result = result;
        if (result->status != IH_OK)
            give_failure(s, IH_ITEM_FAILURE, &result->error);
        else
            s->item.kind = IH_ITEM_IMAGE;
    }
    return true;
}

static enum ih_status scan_next(void *scan, const struct ih_item **item, struct ih_error *err)
{
    struct scan *s = scan;
    bool has_item = s->ends_folder;
    s->item = (struct ih_item){.path = s->item.path, .source = s->item.source};
    if (s->ends_folder) {
        s->ends_folder = false;
        s->item.kind = IH_ITEM_FOLDER_END;
    }
    *err = s->end;
    while (!has_item && err->status == IH_OK) {
        struct slot *slot = take(s);
        s->item.path = NULL;
        if (slot) {
            has_item = next_result(s, slot, err);
            continue;
        }
        wait_for_workers(s);
        if (ih_workers_end(s, err) == IH_OK)
            ih_error_set(err, IH_END, "the end of the scan");
    }
    s->end = *err;
    *item = &s->item;
    return err->status;
}

static bool scan_is_ready(void *scan, unsigned wait_ms)
{
    struct scan *s = scan;
    struct timespec until;
    if (s->ends_folder || s->taken || s->end.status != IH_OK)
        return true;
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

/* ---- opening and closing ---- */

static bool is_stopping(void *scan)
{
    return ((struct scan *)scan)->is_stopping;
}

static void init_conditions(struct scan *s)
{
    pthread_condattr_t clock;
    ih_lock_init(&s->lock);
    pthread_cond_init(&s->on_work, NULL);
    pthread_cond_init(&s->on_frame, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->on_result, &clock);
    pthread_condattr_destroy(&clock);
}

static void free_slots(struct slot *slot)
{
    for (struct slot *next; slot; slot = next) {
        next = slot->next;
        ih_slot_release(slot);
        free(slot);
    }
}

static void scan_close(void *scan)
{
    struct scan *s = scan;
    struct ih_error ignored;
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
        ih_order_remove_first(s);
        ih_slot_empty(slot);
        ih_slot_release(slot);
        free(slot);
    }
    free_slots(s->spare);
    pthread_cond_destroy(&s->on_frame);
    pthread_cond_destroy(&s->on_result);
    pthread_cond_destroy(&s->on_work);
    pthread_mutex_destroy(&s->lock);
    free(s->threads);
    free(s);
}

enum ih_status ih_scan_start(struct ih_device *device, const struct ih_scan_options *options,
                             const struct ih_scan_inputs *inputs, struct ih_item_source *items,
                             struct ih_error *err)
{
    sigset_t all, before;
    struct scan *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->device = device;
    s->options = *options;
    s->inputs = *inputs;
    s->interrupt = (struct ih_interrupt){is_stopping, s};
    s->options.decode.interrupt = &s->interrupt;
    s->n_inputs = options->first_input;
    s->n_in_folder = options->n_resumed_in_folder;
    s->start_ns = ih_clock_ns();
    init_conditions(s);
    sigfillset(&all); /* the threads run no handlers of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const enum ih_status status = ih_workers_start(s, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *items = (struct ih_item_source){scan_next, scan_is_ready, scan_close, s};
    if (status != IH_OK)
        scan_close(s);
    return status;
}
