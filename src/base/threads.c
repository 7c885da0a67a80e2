#define _GNU_SOURCE /* PTHREAD_MUTEX_ADAPTIVE_NP */
#include "base/threads.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void ih_lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

#if defined(__SANITIZE_ADDRESS__) || defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
enum { KEPT_BYTES = 0 }; /* so that a use after free is found */
#else
enum { KEPT_BYTES = 16 << 10 }; /* the counters of five 8-bit channels have 10 KB */
#endif
enum { KEPT_MOST = 4 };

/* What precedes a block, as aligned as the block has to be. */
union header {
    size_t n_bytes;
    max_align_t alignment;
};

/* What this thread keeps. */
static _Thread_local struct {
    bool is_on;
    unsigned n;
    union header *blocks[KEPT_MOST];
} kept;

static void free_kept(void)
{
    while (kept.n > 0)
        free(kept.blocks[--kept.n]);
}

void ih_kept_begin(void)
{
    kept.is_on = true;
}

void ih_kept_end(void)
{
    free_kept();
    kept.is_on = false;
}

void *ih_kept_take(size_t n_bytes)
{
    union header *block;
    if (kept.n > 0 && kept.blocks[kept.n - 1]->n_bytes == n_bytes)
        return kept.blocks[--kept.n] + 1;
    if (n_bytes > SIZE_MAX - sizeof *block || !(block = malloc(sizeof *block + n_bytes)))
        return NULL;
    block->n_bytes = n_bytes;
    return block + 1;
}

void ih_kept_give(void *memory)
{
    union header *const block = memory ? (union header *)memory - 1 : NULL;
    if (!block || !kept.is_on || block->n_bytes > KEPT_BYTES) {
        free(block);
        return;
    }
    if (kept.n == KEPT_MOST) /* perhaps of another size */
        free_kept();
    kept.blocks[kept.n++] = block;
}
