/*
 * Inputs of several results: files with several images, images with labels, and archives.
 *
 * Only the worker whose file is at the front of the list waits until results have been taken.
 * Others must not: they may hold memory that an earlier input needs. An archive is read by one
 * worker at a time; its members are counted by all.
 */
#include "scan/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- images of one file ---- */

/* "a.gif#2", or the number of a label; owned by the caller, or NULL. */
static char *frame_path(const char *path, uint64_t number, const struct ih_result *result)
{
    enum { NUMBER_BYTES = 22 };
    const size_t size = strlen(path) + NUMBER_BYTES;
    char *frame = malloc(size);
    if (frame)
        snprintf(frame, size, "%s#%" PRIu64, path, result->has_label ? result->label : number);
    return frame;
}

/* The third number of the place. Label 0 has 1. */
static uint64_t frame_place(uint64_t number, const struct ih_result *result)
{
    return result->has_label ? result->label + UINT64_C(1) : number;
}

/* An input that a worker counts image by image. */
struct frames {
    struct scan *scan;
    struct slot *owner;
    struct ih_lane *lane;
};

/* Waits for room if the input is at the front. Returns false if the run is ending. */
static bool wait_for_room(struct scan *s, const struct slot *owner)
{
    pthread_mutex_lock(&s->lock);
    while (!s->is_stopping &&
           owner->n_frames_waiting >= (s->bins_bytes > 0 ? 1 : WINDOW_OF_SLOW_TAKER) &&
           s->first->owner == owner)
        pthread_cond_wait(&s->on_frame, &s->lock);
    const bool may_continue = !s->is_stopping;
    pthread_mutex_unlock(&s->lock);
    return may_continue;
}

static void fail_for_memory(struct scan *s)
{
    pthread_mutex_lock(&s->lock);
    ih_error_set(&s->error, IH_MEMORY, "out of memory");
    ih_scan_stop(s);
    pthread_mutex_unlock(&s->lock);
}

/* Stores the result of an image in a slot of its own. The last image uses the slot of the input. */
static bool take_frame(void *user, uint64_t number, const struct ih_result *result)
{
    const struct frames *f = user;
    struct scan *s = f->scan;
    struct slot *slot = malloc(sizeof *slot);
    char *path = slot ? frame_path(f->owner->input.path, number, result) : NULL;
    if (!path) {
        free(slot);
        struct ih_histogram histogram = result->histogram;
        free(result->thumbnail);
        ih_histogram_reset(&histogram);
        fail_for_memory(s);
        return false;
    }
    memset(slot, 0, offsetof(struct slot, result)); /* the result is large, and set below */
    slot->owner = f->owner;
    slot->number = f->owner->number;
    slot->member = f->owner->member;
    slot->frame = frame_place(number, result);
    slot->input = f->owner->input;
    slot->input.path = path;
    slot->input.bytes = NULL;
    slot->input.array = NULL;
    slot->result = *result;
    slot->result.path = path;
    if (result->status == IH_OK && !result->has_label)
        slot->result.counted_by = ih_lane_description(f->lane);
    pthread_mutex_lock(&s->lock);
    ih_slot_insert_before(s, slot, f->owner);
    f->owner->n_frames_waiting++;
    s->n_inputs_waiting++;
    pthread_mutex_unlock(&s->lock);
    ih_slot_finish(s, slot, true);
    return wait_for_room(s, f->owner);
}

void ih_count_images(struct scan *s, struct worker *w, struct slot *slot)
{
    struct ih_result *result = &slot->result;
    struct frames user = {s, slot, w->lane};
    const struct ih_frames frames = {take_frame, &user};
    const bool takes_frames = w->options.decode.takes_frames || w->options.mask.has_labels;
    /* of the last image, from 1 */
    const uint64_t number = ih_count_reader(&w->options, &slot->input, w->lane, &w->src,
                                            takes_frames ? &frames : NULL, result);
    const bool is_one = number == 1 && !result->has_label;
    char *path = is_one ? NULL : frame_path(slot->input.path, number, result);
    if (result->status == IH_OK && !result->has_label)
        result->counted_by = ih_lane_description(w->lane);
    if (is_one)
        return;
    if (!path) {
        fail_for_memory(s);
        return;
    }
    free(slot->input.path);
    slot->input.path = path;
    slot->frame = frame_place(number, result);
    result->path = path;
}

/* ---- archives ---- */

bool ih_start_archive(struct scan *s, struct worker *w, struct slot *slot)
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
    ih_reader_close(&w->src);
    slot->result.status = err->status;
    if (!a)
        return false;
    a->slot = slot;
    slot->archive = a;
    pthread_mutex_lock(&s->lock);
    struct open_archive **link = &s->archives;
    while (*link && (*link)->slot->number < slot->number)
        link = &(*link)->next;
    a->next = *link;
    *link = a;
    s->n_archives++;
    pthread_cond_signal(&s->on_work);
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* Takes an archive off the list of open ones. It has a result of its own only if it failed. */
static void end_archive(struct scan *s, struct open_archive *a, const struct ih_error *err)
{
    struct slot *slot = a->slot;
    ih_archive_close(a->reader);
    a->reader = NULL;
    memset(&slot->result, 0, sizeof slot->result);
    slot->result.path = slot->input.path;
    slot->result.status = err->status;
    slot->result.error = *err;
    slot->member = a->n_members;
    /* Like a folder: only the caller knows which members are images. */
    const bool may_be_empty =
        err->status == IH_OK && slot->input.is_named && s->options.n_shards == 0;
    if (may_be_empty) {
        slot->input.ends_folder = true;
        slot->result.status =
            ih_error_set(&slot->result.error, IH_UNKNOWN, "no images in this archive");
    }
    pthread_mutex_lock(&s->lock);
    struct open_archive **link = &s->archives;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    s->n_archives--;
    pthread_cond_broadcast(&s->on_work);
    pthread_mutex_unlock(&s->lock);
    ih_slot_finish(s, slot,
                   may_be_empty || (err->status != IH_OK && ih_is_in_shard(s, slot->number, 0)));
}

/* "a.tar/dir/photo.jpg"; owned by the caller, or NULL. */
static char *member_path(const char *archive, const char *name)
{
    const size_t size = strlen(archive) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", archive, name);
    return path;
}

bool ih_start_member(struct scan *s, struct worker *w, struct open_archive *a, struct slot *slot)
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
        end_archive(s, a, &err);
        return false;
    }
    const struct ih_input *whole = &a->slot->input;
    slot->archive = a;
    slot->number = a->slot->number;
    slot->member = a->n_members++;
    slot->input =
        (struct ih_input){.path = path,
                          .name_at = whole->is_named ? strlen(whole->path) + 1 : whole->name_at,
                          .is_in_folder = whole->is_named || whole->is_in_folder,
                          .is_member = true,
                          .bytes = w->member.bytes,
                          .size_bytes = w->member.size_bytes,
                          .error = w->member.error,
                          .source = whole->source,
                          .hash = whole->hash};
    pthread_mutex_lock(&s->lock);
    a->is_being_read = false; /* another worker may read the next member */
    a->n_waiting++;
    s->n_members_waiting++;
    ih_slot_insert_before(s, slot, a->slot);
    pthread_cond_signal(&s->on_work);
    pthread_mutex_unlock(&s->lock);
    return true;
}

void ih_count_member(struct scan *s, struct worker *w, struct slot *slot)
{
    const bool is_counted = ih_is_in_shard(s, slot->number, slot->member);
    if (is_counted) {
        struct ih_result *result = &slot->result;
        bool is_archive; /* a member is never read as one */
        memset(result, 0, sizeof *result);
        result->path = slot->input.path;
        result->status =
            ih_input_open(&w->options, &slot->input, &w->src, &is_archive, &result->error);
        if (result->status == IH_OK)
            ih_count_images(s, w, slot);
        ih_reader_close(&w->src);
        slot->result.times.read_ns = w->member.read_ns;
    }
    slot->input.bytes = NULL;
    ih_member_release(&w->member, w->options.member_budget);
    ih_slot_finish(s, slot, is_counted);
}
