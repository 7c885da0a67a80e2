/*
 * The list that keeps results in the order of the inputs.
 *
 * An input gets its slot at the end of the list when it is fetched. A member of an archive gets one
 * before the slot of its archive. If an input has several images, the last uses the input's slot,
 * and the others get slots before it. scan.c takes results from the front.
 */
#include "scan/state.h"

#include <stdlib.h>

/* Of a result; 0: few. */
static uint64_t bins_bytes(const struct ih_result *result)
{
    const struct ih_histogram *const h = &result->histogram;
    const uint64_t n_bytes =
        result->status == IH_OK ? ih_bins_bytes(ih_own_planes(h), h->n_bins) : 0;
    return n_bytes > IH_SMALL_BINS_BYTES ? n_bytes : 0;
}

bool ih_order_have_room(const struct scan *s, uint64_t n_waiting)
{
    const struct ih_budget *const budget = s->options.decode.budget;
    const bool are_bins_large = budget && s->bins_bytes > budget->size_bytes / 2;
    const uint64_t n_threads = s->options.n_threads;
    /* Only results that can be taken count, not those that wait for an input in the JPEG
     * queue: a batch of such inputs ends at the same time. */
    const bool is_taker_slow =
        s->first && s->first->is_ready && s->n_ready >= n_threads * READY_OF_SLOW_TAKER;
    const uint64_t window = s->options.mask.has_labels        ? WINDOW_OF_LABELS
                            : s->options.measure.takes_native ? WINDOW_OF_NATIVE
                                                              : WINDOW_PER_THREAD;
    return n_waiting < n_threads * window && !is_taker_slow && !are_bins_large;
}

bool ih_order_have_member_room(const struct scan *s, const struct open_archive *a)
{
    const uint64_t each = s->options.mask.has_labels ? WINDOW_OF_LABELS : WINDOW_OF_SLOW_TAKER;
    const uint64_t few = (uint64_t)s->options.n_threads * each;
    return ih_order_have_room(s, s->n_members_waiting) || (a == s->archives && a->n_waiting < few);
}

void ih_slot_insert_before(struct scan *s, struct slot *slot, struct slot *next)
{
    slot->next = next;
    slot->previous = next ? next->previous : s->last;
    *(slot->previous ? &slot->previous->next : &s->first) = slot;
    *(next ? &next->previous : &s->last) = slot;
}

void ih_order_remove_first(struct scan *s)
{
    struct slot *slot = s->first;
    s->first = slot->next;
    s->n_ready -= slot->is_ready ? 1 : 0;
    s->bins_bytes -= slot->is_ready ? slot->bins_bytes : 0;
    *(s->first ? &s->first->previous : &s->last) = NULL;
    if (slot->owner) {
        s->n_inputs_waiting--;
        slot->owner->n_frames_waiting--;
        pthread_cond_broadcast(&s->on_frame);
    } else if (!slot->input.is_member) {
        s->n_inputs_waiting--;
    } else {
        s->n_members_waiting--;
        slot->archive->n_waiting--;
    }
}

void ih_order_keep(struct scan *s, struct slot *slot)
{
    for (struct slot *next; slot; slot = next) {
        next = slot->next;
        if (slot->owner) { /* images of one input may be many, and only inputs take spare slots */
            ih_slot_release(slot);
            free(slot);
            continue;
        }
        slot->next = s->spare;
        s->spare = slot;
    }
}

void ih_slot_release(struct slot *slot)
{
    struct ih_result *result = &slot->result;
    if (!slot->has_memory)
        return;
    slot->has_memory = false;
    free(result->thumbnail);
    free(result->product);
    ih_histogram_reset(&result->histogram);
    free(result->stats);
}

void ih_slot_reuse(struct slot *slot)
{
    struct ih_result *result = &slot->result;
    if (slot->has_memory) {
        slot->old_product = result->product;
        slot->old_stats = result->stats;
        result->product = NULL;
        result->stats = NULL;
    }
    ih_slot_release(slot);
}

static void free_old(struct slot *slot)
{
    free(slot->old_product);
    free(slot->old_stats);
    slot->old_product = NULL;
    slot->old_stats = NULL;
}

void ih_slot_empty(struct slot *slot)
{
    free_old(slot);
    if (slot->is_counted || (slot->is_ready && slot->has_result)) {
        slot->has_memory = true;
        if (slot->result.thumbnail || slot->result.histogram.n_bins > IH_BINS)
            ih_slot_release(slot);
    }
    if (slot->archive && !slot->input.is_member && !slot->owner) { /* the archive's own slot */
        ih_archive_close(slot->archive->reader);
        free(slot->archive);
    }
    free(slot->input.path);
    free(slot->input.array);
}

void ih_scan_stop(struct scan *s)
{
    s->is_stopping = true;
    pthread_cond_broadcast(&s->on_work);
    pthread_cond_broadcast(&s->on_frame);
    if (s->inputs.stop)
        s->inputs.stop(s->inputs.user);
}

/* Completes a result, whose status is set. */
static void complete(const struct scan *s, struct slot *slot, bool has_result)
{
    struct ih_result *result = &slot->result;
    slot->has_result = has_result;
    slot->bins_bytes = has_result ? bins_bytes(result) : 0;
    result->shard = s->options.shard;
    result->n_shards = s->options.n_shards;
    result->input = slot->number;
    result->member = slot->member;
    result->frame = slot->frame;
    result->inputs_hash = slot->input.hash;
    result->path = slot->input.path ? slot->input.path : ""; /* no name, or no memory for it */
    result->product = NULL;
    free_old(slot);
    if (has_result && result->status == IH_OK && s->options.finish)
        result->product = s->options.finish(s->options.finish_user, &slot->input, result);
}

/* The caller holds the lock. */
static void make_ready(struct scan *s, struct slot *slot)
{
    if (slot->has_result && slot->result.status == IH_UNAVAILABLE) {
        s->error = slot->result.error; /* no device or decoder process: every input would fail */
        ih_scan_stop(s);
    }
    slot->is_ready = true;
    s->n_ready++;
    s->bins_bytes += slot->bins_bytes;
    const bool is_last_queued = slot->is_queued && atomic_fetch_sub(&s->n_queued, 1) == 1;
    if (slot == s->first || is_last_queued) /* the caller waits for the first, or for the end */
        pthread_cond_signal(&s->on_result);
    if (is_last_queued) /* workers wait for inputs that may be returned */
        pthread_cond_broadcast(&s->on_work);
}

void ih_slot_finish(struct scan *s, struct slot *slot, bool has_result)
{
    complete(s, slot, has_result);
    pthread_mutex_lock(&s->lock);
    make_ready(s, slot);
    pthread_mutex_unlock(&s->lock);
}

void ih_slots_finish(struct scan *s, struct slot *slots)
{
    for (struct slot *slot = slots; slot; slot = slot->next_fetched)
        complete(s, slot, true);
    pthread_mutex_lock(&s->lock);
    for (struct slot *slot = slots; slot; slot = slot->next_fetched) /* none is taken meanwhile */
        make_ready(s, slot);
    pthread_mutex_unlock(&s->lock);
}

bool ih_is_in_shard(const struct scan *s, uint64_t input, uint64_t member)
{
    const uint64_t n = s->options.n_shards;
    return n == 0 || (input % n + member % n) % n == (uint64_t)s->options.shard - 1;
}
