#include "records/read_ahead.h"

#include <pthread.h>
#include <stdlib.h>

/* A lot of records amortizes waking a thread. One of native bins may have 4 MB. */
enum { LOT_RECORDS = 16, LOT_BYTES = 1 << 20 };

struct lot {
    struct ih_kept_record *records[LOT_RECORDS]; /* owned; NULL: not needed yet */
    const struct ih_result *results[LOT_RECORDS];
    unsigned n;
    bool is_last;          /* the end follows, or an error: */
    struct ih_error error; /* IH_OK: the end */
};

struct ih_read_ahead {
    struct ih_records *records;
    struct lot lots[2];
    pthread_t thread;

    /* Of the caller: */
    struct lot *lot; /* the lot of the last result; NULL: none yet */
    unsigned next;   /* in that lot */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_change;
    unsigned n_full; /* lots that the thread has filled and the caller has not emptied */
    bool is_closing;
};

static void fill(struct ih_records *records, struct lot *lot)
{
    size_t n_bytes = 0;
    lot->error.status = IH_OK;
    for (lot->n = 0; lot->n < LOT_RECORDS && n_bytes < LOT_BYTES; lot->n++) {
        struct ih_kept_record **const kept = &lot->records[lot->n];
        if (!*kept && !(*kept = ih_kept_record_new()))
            ih_error_set(&lot->error, IH_MEMORY, "out of memory");
        else
            ih_records_next_kept(records, *kept, &lot->results[lot->n], &n_bytes, &lot->error);
        lot->is_last = lot->error.status != IH_OK || !lot->results[lot->n];
        if (lot->is_last)
            return;
    }
}

static void *read_on(void *ahead)
{
    struct ih_read_ahead *a = ahead;
    for (struct lot *lot = a->lots;; lot = lot == a->lots ? a->lots + 1 : a->lots) {
        pthread_mutex_lock(&a->lock);
        while (a->n_full == 2 && !a->is_closing)
            pthread_cond_wait(&a->on_change, &a->lock);
        const bool is_closing = a->is_closing;
        pthread_mutex_unlock(&a->lock);
        if (is_closing)
            return NULL;
        fill(a->records, lot);
        pthread_mutex_lock(&a->lock);
        a->n_full++;
        pthread_cond_signal(&a->on_change);
        pthread_mutex_unlock(&a->lock);
        if (lot->is_last)
            return NULL;
    }
}

struct ih_read_ahead *ih_read_ahead_open(struct ih_records *records)
{
    struct ih_read_ahead *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->records = records;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->on_change, NULL);
    if (pthread_create(&a->thread, NULL, read_on, a) == 0)
        return a;
    pthread_cond_destroy(&a->on_change);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

enum ih_status ih_read_ahead_next(struct ih_read_ahead *a, const struct ih_result **result,
                                  struct ih_error *err)
{
    *result = NULL;
    if (!a->lot || (a->next == a->lot->n && !a->lot->is_last)) {
        pthread_mutex_lock(&a->lock);
        a->n_full -= a->lot ? 1 : 0;
        pthread_cond_signal(&a->on_change);
        while (a->n_full == 0)
            pthread_cond_wait(&a->on_change, &a->lock);
        pthread_mutex_unlock(&a->lock);
        a->lot = a->lot == a->lots ? a->lots + 1 : a->lots;
        a->next = 0;
    }
    if (a->next < a->lot->n)
        *result = a->lot->results[a->next++];
    else if (a->lot->error.status != IH_OK)
        *err = a->lot->error;
    return *result ? IH_OK : a->lot->error.status;
}

void ih_read_ahead_close(struct ih_read_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_closing = true;
    pthread_cond_signal(&a->on_change);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->on_change);
    pthread_mutex_destroy(&a->lock);
    for (unsigned i = 0; i < 2 * LOT_RECORDS; i++)
        ih_kept_record_free(a->lots[i / LOT_RECORDS].records[i % LOT_RECORDS]);
    free(a);
}
