#define _DEFAULT_SOURCE /* madvise */

#include "base/large.h"

#include <stdlib.h>
#include <sys/mman.h>

/* The size of huge pages on x86-64 and on ARM with 4 KiB pages. A wrong guess does no harm. */
#define HUGE_BYTES ((size_t)2 << 20)

void *ih_large_alloc(size_t n_bytes)
{
#ifdef MADV_HUGEPAGE
    if (n_bytes >= HUGE_BYTES) {
        void *p = NULL;
        if (posix_memalign(&p, HUGE_BYTES, n_bytes) != 0)
            return NULL;
        (void)madvise(p, n_bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE); /* only advice */
        return p;
    }
#endif
    return malloc(n_bytes);
}
