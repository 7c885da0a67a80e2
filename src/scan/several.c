/*
 * Inputs of several images: files with several, and archives.
 *
 * Only the worker whose file is at the front of the list waits until results have been taken.
 * Others must not: they may hold memory that an earlier input needs. An archive is read by one
 * worker at a time; its members are counted by all.
 */
#include "scan/state.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- images of one file ---- */

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
    struct slot *owner;
    struct ih_lane *lane;
};

/* Waits for room if the input is at the front. Returns false if the run is ending. */
static bool wait_for_room(struct pipeline *p, const struct slot *owner)
{
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping && owner->n_frames_waiting >= WINDOW_OF_SLOW_TAKER &&
           p->first->owner == owner)
        pthread_cond_wait(&p->on_frame, &p->lock);
    const bool may_continue = !p->is_stopping;
    pthread_mutex_unlock(&p->lock);
    return may_continue;
}

static void fail_for_memory(struct pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    ih_error_set(&p->error, IH_MEMORY, "out of memory");
    ih_pipeline_stop(p);
    pthread_mutex_unlock(&p->lock);
}

/* Stores the result of an image in a slot of its own. The last image uses the slot of the input. */
static bool take_frame(void *user, uint64_t number, const struct ih_result *result)
{
    const struct frames *f = user;
    struct pipeline *p = f->pipeline;
    struct slot *slot = malloc(sizeof *slot);
    char *path = slot ? frame_path(f->owner->input.path, number) : NULL;
    if (!path) {
        free(slot);
        free(result->thumbnail);
        fail_for_memory(p);
        return false;
    }
    memset(slot, 0, offsetof(struct slot, result)); /* the result is large, and set below */
    slot->owner = f->owner;
    slot->number = f->owner->number;
    slot->member = f->owner->member;
    slot->frame = number;
    slot->input = f->owner->input;
    slot->input.path = path;
    slot->input.bytes = NULL;
    slot->result = *result;
    slot->result.path = path;
    if (result->status == IH_OK)
        slot->result.counted_by = ih_lane_description(f->lane);
    pthread_mutex_lock(&p->lock);
    ih_slot_insert_before(p, slot, f->owner);
    f->owner->n_frames_waiting++;
    p->n_inputs_waiting++;
    pthread_mutex_unlock(&p->lock);
    ih_slot_finish(p, slot, true);
    return wait_for_room(p, f->owner);
}

void ih_count_images(struct pipeline *p, struct worker *w, struct slot *slot)
{
    struct ih_result *result = &slot->result;
    struct frames user = {p, slot, w->lane};
    const struct ih_frames frames = {take_frame, &user};
    const bool takes_frames = w->options.decode.takes_frames;
    /* of the last image, from 1 */
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
    slot->frame = number;
    result->path = path;
}

/* ---- archives ---- */

bool ih_start_archive(struct pipeline *p, struct worker *w, struct slot *slot)
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
    pthread_cond_signal(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    return true;
}

/* Takes an archive off the list of open ones. It has a result of its own only if it failed. */
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
    /* Like a folder: only the taker knows which members are images. */
    const bool may_be_empty =
        err->status == IH_OK && slot->input.is_named && p->options->n_shards == 0;
    if (may_be_empty) {
        slot->input.folder = IH_FOLDER_ENDS;
        slot->result.status =
            ih_error_set(&slot->result.error, IH_UNKNOWN, "no images in this archive");
    }
    pthread_mutex_lock(&p->lock);
    struct open_archive **link = &p->archives;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    p->n_archives--;
    pthread_cond_broadcast(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    ih_slot_finish(p, slot,
                   may_be_empty || (err->status != IH_OK && ih_is_in_shard(p, slot->number, 0)));
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

bool ih_start_member(struct pipeline *p, struct worker *w, struct open_archive *a,
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
    const struct ih_input *whole = &a->slot->input;
    slot->archive = a;
    slot->number = a->slot->number;
    slot->member = a->n_members++;
    slot->input =
        (struct ih_input){.path = path,
                          .name_at = whole->is_named ? strlen(whole->path) + 1 : whole->name_at,
                          .folder = whole->is_named ? IH_FOLDER_WITHIN : whole->folder,
                          .is_member = true,
                          .bytes = w->member.bytes,
                          .size_bytes = w->member.size_bytes,
                          .error = w->member.error,
                          .source = whole->source,
                          .hash = whole->hash};
    pthread_mutex_lock(&p->lock);
    a->is_being_read = false; /* another worker may read the next member */
    a->n_waiting++;
    p->n_members_waiting++;
    ih_slot_insert_before(p, slot, a->slot);
    pthread_cond_signal(&p->on_work);
    pthread_mutex_unlock(&p->lock);
    return true;
}

void ih_count_member(struct pipeline *p, struct worker *w, struct slot *slot)
{
    const bool is_counted = ih_is_in_shard(p, slot->number, slot->member);
    if (is_counted) {
        struct ih_result *result = &slot->result;
        bool is_archive; /* a member is never read as one */
        memset(result, 0, sizeof *result);
        result->path = slot->input.path;
        result->status =
            ih_input_open(&w->options, &slot->input, &w->src, &is_archive, &result->error);
        if (result->status == IH_OK)
            ih_count_images(p, w, slot);
        ih_source_close(&w->src);
        slot->result.times.read_ns = w->member.read_ns;
    }
    slot->input.bytes = NULL;
    ih_member_release(&w->member, w->options.member_budget);
    ih_slot_finish(p, slot, is_counted);
}
