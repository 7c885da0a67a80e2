/* Processors that no worker uses, taken and given back by whoever has something for them. */
#ifndef IH_BASE_IDLE_CORES_H
#define IH_BASE_IDLE_CORES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* False where none is left, or n_idle_cores is NULL. Threads: any. */
static inline bool ih_idle_core_take(atomic_uint *n_idle_cores)
{
    unsigned n = n_idle_cores ? atomic_load(n_idle_cores) : 0;
    while (n > 0 && !atomic_compare_exchange_weak(n_idle_cores, &n, n - 1))
        ;
    return n > 0;
}

/* One that was taken. */
static inline void ih_idle_core_give(atomic_uint *n_idle_cores)
{
    atomic_fetch_add(n_idle_cores, 1);
}

#endif
