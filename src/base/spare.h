/* Processors that no worker uses, taken and given back by whoever has something for them. */
#ifndef IH_BASE_SPARE_H
#define IH_BASE_SPARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* False where none is left, or n_spare is NULL. Threads: any. */
static inline bool ih_spare_take(atomic_uint *n_spare)
{
    unsigned n = n_spare ? atomic_load(n_spare) : 0;
    while (n > 0 && !atomic_compare_exchange_weak(n_spare, &n, n - 1))
        ;
    return n > 0;
}

/* One that was taken. */
static inline void ih_spare_give(atomic_uint *n_spare)
{
    atomic_fetch_add(n_spare, 1);
}

#endif
