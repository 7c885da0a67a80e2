/* What the files of the scan share: its state, its slots and its workers. */
#ifndef IH_SCAN_STATE_H
#define IH_SCAN_STATE_H

#include "decode/archive.h"
#include "scan/scan.h"

/*
 * How many inputs per worker may be fetched but not yet taken, and as many members. With 192, an
 * input may take 192 times as long as the others without holding them up. Each holds 11 KB until
 * its result is taken, and what the program has rendered of it: up to 12 KB a record of all bins.
 * If the caller is slow, 16 are enough to keep all workers busy, or 64 results: a batch of JPEG
 * files ends at the same moment. A native result holds up to 2.6 MB, and its records as much again.
 */
enum {
    WINDOW_PER_THREAD = 192,
    WINDOW_OF_SLOW_TAKER = 16,
    READY_OF_SLOW_TAKER = 64,
    WINDOW_OF_NATIVE = 8,
    WINDOW_OF_LABELS =
        1 /* the counts of an image's labels may take each thread's part of --memory */
};

/* With this many open archives, no more inputs are started. Each has a process. More than this are
 * open only if workers start several at the same moment. */
enum { ARCHIVES_MAX = 8 };

struct slot {
    struct slot *previous, *next; /* in the list */
    struct slot *next_fetched;    /* of those that are fetched and not started, or returned */
    uint64_t number, member;      /* of the input, and of the member in its archive, from 0 */
    uint64_t frame;               /* as in struct ih_result */
    uint64_t bins_bytes;          /* of a result, once it is ready; 0: few */
    bool is_ready;                /* to be taken */
    bool has_result;              /* an archive has one only if it failed or is empty */
    bool is_queued;               /* in the JPEG queue; counted in n_queued */
    bool is_counted;              /* by the JPEG queue */
    bool is_undecided;            /* the input may prove to be an archive; in n_undecided */
    bool has_memory;              /* of the last result, until a worker starts the next */
    void *old_product;            /* of the last result, freed just before the next is made: */
    struct ih_stats *old_stats;   /* a thread's malloc takes without a lock what it freed last */
    struct ih_input input;
    struct slot *owner; /* of the input that this is an image of, and of its last; NULL: none */
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

struct scan {
    struct ih_device *device;
    struct ih_scan_options options;
    struct ih_scan_inputs inputs;
    struct ih_interrupt interrupt;    /* asks is_stopping */
    struct ih_jpeg_queue *jpeg_queue; /* owned; NULL: closed */
    uint64_t start_ns;
    pthread_t *threads; /* owned, [n_threads] */
    unsigned n_threads;

    /* Of the thread that takes results: */
    struct slot *taken; /* ready, off the list; the next ones */
    struct slot *used;  /* items have been made of them; the first is that of the item */
    bool is_fast;       /* results come too fast to wait for each */
    struct ih_item item;
    uint64_t n_in_folder; /* inputs of the folder that is being walked, or of the archive */
    bool ends_folder;     /* the next item is the end of the folder whose error was the last */
    struct ih_error end;  /* IH_OK: not at the end */

    /* Inputs in the JPEG queue, those returned included. Workers change it without the lock, while
     * they are counted in n_working; ih_slot_finish decreases it under the lock. */
    atomic_uint_fast64_t n_queued;
    /* Inputs that may yet prove to be archives. A worker decreases it without the lock, and wakes
     * the others at 0 if is_at_end. */
    atomic_uint n_undecided;
    /* Files not yet offered to the JPEG queue: at 0 and is_at_end, it waits for no more. */
    atomic_uint n_unoffered;
    atomic_bool is_at_end;   /* of the inputs; set under the lock */
    atomic_bool is_stopping; /* start no more inputs; set under the lock */
    uint64_t bins_bytes;     /* of ready results with bins that are not small */

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t on_work, on_result;   /* workers wait for the first, the caller for the second */
    pthread_cond_t on_frame;             /* workers wait for frames to be taken */
    struct slot *first, *last;           /* the list */
    struct slot *fetched, *last_fetched; /* its inputs that no worker has started, in order */
    struct slot *returned, *last_returned; /* by the JPEG queue, in order */
    uint64_t n_fetched;                    /* of those fetched */
    uint64_t n_inputs, n_inputs_waiting;   /* fetched; and not taken, with images of them */
    uint64_t n_started;                    /* inputs */
    uint64_t n_members_waiting;            /* of all archives */
    uint64_t n_ready;                      /* slots in the list that are ready */
    struct slot *spare;                    /* owned; for new inputs */
    struct open_archive *archives;         /* not at their end */
    unsigned n_archives;
    unsigned n_working;    /* workers */
    bool is_fetching;      /* a worker calls next */
    bool is_long;          /* the device was asked for; for the worker that fetches only */
    bool is_short;         /* of sources: ih_scan_is_ready returns */
    struct ih_error error; /* ends the run */
};

struct worker {
    struct ih_scan_options options; /* with this worker's remote decoder */
    struct ih_lane *lane;
    struct ih_reader src;
    struct ih_member member;
    bool queues; /* the JPEG queue took the last input */
};

/* ---- order.c ---- */

/* Whether one more may be started while n_waiting of its kind are not taken. The caller holds the
 * lock. */
bool ih_order_have_room(const struct scan *s, uint64_t n_waiting);

/* The same for a member. All other results wait behind the first archive, so its members always get
 * some room. */
bool ih_order_have_member_room(const struct scan *s, const struct open_archive *a);

/* Inserts a slot before next, or at the end if that is NULL. The caller holds the lock. */
void ih_slot_insert_before(struct scan *s, struct slot *slot, struct slot *next);

/* Takes the first slot off the list. The caller holds the lock, then empties and frees the slot. */
void ih_order_remove_first(struct scan *s);

/* Keeps empty slots for new inputs. The caller holds the lock. */
void ih_order_keep(struct scan *s, struct slot *slots);

/* Releases what the slot owns. A small result keeps its memory until ih_slot_release, or until a
 * worker starts the next one with ih_slot_reuse: if the thread that takes the results released it,
 * all workers would wait for that thread in the heap. */
void ih_slot_empty(struct slot *slot);
void ih_slot_reuse(struct slot *slot);
void ih_slot_release(struct slot *slot);

/* Makes a slot ready to be taken, with its result or without. */
void ih_slot_finish(struct scan *s, struct slot *slot, bool has_result);

/* The same for slots with results, linked by next_fetched. */
void ih_slots_finish(struct scan *s, struct slot *slots);

/* Whether a member of an input is in the shard of this run. */
bool ih_is_in_shard(const struct scan *s, uint64_t input, uint64_t member);

/* Starts no more inputs, and ends those of several images. The caller holds the lock. */
void ih_scan_stop(struct scan *s);

/* ---- workers.c ---- */

/* Starts the workers and the JPEG queue. Returns IH_OK, IH_MEMORY or IH_UNAVAILABLE; call
 * ih_workers_end in all cases. */
enum ih_status ih_workers_start(struct scan *s, struct ih_error *err);

/* Whether all workers have ended and the JPEG queue is empty. The caller holds the lock. */
bool ih_workers_have_ended(struct scan *s);

/* Joins the workers, which have ended, and completes the report of the JPEG queue. May be called
 * again. Returns the error that ended the run, if there is one, or IH_OK. */
enum ih_status ih_workers_end(struct scan *s, struct ih_error *err);

/* ---- frames_and_members.c ---- */

/* Counts the worker's open source, image by image if that is wanted. The slot gets the last image;
 * those before it get slots of their own. */
void ih_count_images(struct scan *s, struct worker *w, struct slot *slot);

/* Makes the worker's open source an open archive. False: it failed, and the slot has the result. */
bool ih_start_archive(struct scan *s, struct worker *w, struct slot *slot);

/* Reads the next member of an archive into the slot and inserts it. False at the archive's end. */
bool ih_start_member(struct scan *s, struct worker *w, struct open_archive *a, struct slot *slot);

/* Counts the member that was read, and finishes its slot. */
void ih_count_member(struct scan *s, struct worker *w, struct slot *slot);

#endif
