/*
 * Locks and memory for threads that take microseconds for an input.
 *
 * A waiting thread that sleeps and is woken loses more than such a lock is held, and the C library
 * serves blocks of more than 1 KB under a lock of the thread that allocated them. 16 workers that
 * freed each other's counters waited for a fifth of a run (tests/bench/results).
 */
#ifndef IH_BASE_THREADS_H
#define IH_BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

/* Initializes a lock that is held for moments: where the system can, a thread tries a few times
 * before it sleeps. */
void ih_lock_init(pthread_mutex_t *lock);

/* Between these two calls the thread keeps small blocks that it gives. */
void ih_kept_begin(void);
void ih_kept_end(void);

/* As malloc, but takes a block of this size that the thread has kept. */
void *ih_kept_take(size_t n_bytes);

/* As free, for a block of ih_kept_take, of any thread. NULL is allowed. */
void ih_kept_give(void *block);

#endif
