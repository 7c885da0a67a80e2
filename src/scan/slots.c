/*
 * The list that keeps results in the order of the inputs.
 *
 * An input gets its slot at the end of the list when it is fetched. A member of an archive gets one
 * before the slot of its archive. If an input has several images, the last uses the input's slot,
 * and the others get slots before it. pipeline.c takes results from the front.
 */
#include "scan/state.h"

#include <stdlib.h>

bool ih_slots_have_room(const struct pipeline *p, uint64_t n_waiting)
{
    const uint64_t n_threads = p->options->n_threads;
    /* Only results that can be taken count, not those that wait for an input at the hardware
     * decoders: a batch of such inputs ends at the same time. */
    const bool is_taker_slow =
        p->first && p->first->is_ready && p->n_ready >= n_threads * READY_OF_SLOW_TAKER;
    return n_waiting < n_threads * WINDOW_PER_THREAD && !is_taker_slow;
}

bool ih_slots_have_member_room(const struct pipeline *p, const struct open_archive *a)
{
    const uint64_t few = (uint64_t)p->options->n_threads * WINDOW_OF_SLOW_TAKER;
    return ih_slots_have_room(p, p->n_members_waiting) || (a == p->archives && a->n_waiting < few);
}

void ih_slot_insert_before(struct pipeline *p, struct slot *slot, struct slot *next)
{
    slot->next = next;
    slot->previous = next ? next->previous : p->last;
    *(slot->previous ? &slot->previous->next : &p->first) = slot;
    *(next ? &next->previous : &p->last) = slot;
}

void ih_slots_remove_first(struct pipeline *p)
{
    struct slot *slot = p->first;
    p->first = slot->next;
    p->n_ready -= slot->is_ready ? 1 : 0;
    *(p->first ? &p->first->previous : &p->last) = NULL;
    if (slot->owner) {
        p->n_inputs_waiting--;
        slot->owner->n_frames_waiting--;
        pthread_cond_broadcast(&p->on_frame);
    } else if (!slot->input.is_member) {
        p->n_inputs_waiting--;
    } else {
        p->n_members_waiting--;
        slot->archive->n_waiting--;
    }
}

void ih_slot_empty(struct slot *slot)
{
    if (slot->archive && !slot->input.is_member && !slot->owner) { /* the archive's own slot */
        ih_archive_close(slot->archive->reader);
        free(slot->archive);
    }
    free(slot->input.path);
}

void ih_pipeline_stop(struct pipeline *p)
{
    p->is_stopping = true;
    pthread_cond_broadcast(&p->on_work);
    pthread_cond_broadcast(&p->on_frame);
}

void ih_slot_finish(struct pipeline *p, struct slot *slot, bool has_result)
{
    struct ih_result *result = &slot->result;
    if (has_result && result->status == IH_OK && p->options->computes_stats)
        ih_result_compute_stats(result);
    pthread_mutex_lock(&p->lock);
    if (has_result && result->status == IH_UNAVAILABLE) {
        p->error = result->error; /* no device or decoder process: every input would fail */
        ih_pipeline_stop(p);
    }
    result->shard = p->options->shard;
    result->n_shards = p->options->n_shards;
    result->input = slot->number;
    result->member = slot->member;
    result->frame = slot->frame;
    result->inputs_hash = slot->input.hash;
    slot->has_result = has_result;
    slot->is_ready = true;
    p->n_ready++;
    const bool is_last_offloaded = slot->is_offloaded && atomic_fetch_sub(&p->n_offloaded, 1) == 1;
    if (slot == p->first || is_last_offloaded) /* the taker waits for the first, or for the end */
        pthread_cond_signal(&p->on_result);
    pthread_mutex_unlock(&p->lock);
}

bool ih_is_in_shard(const struct pipeline *p, uint64_t input, uint64_t member)
{
    const uint64_t n = p->options->n_shards;
    return n == 0 || (input % n + member % n) % n == (uint64_t)p->options->shard - 1;
}
