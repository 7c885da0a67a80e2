/* Large allocations that are written from end to end. */
#ifndef IH_BASE_LARGE_H
#define IH_BASE_LARGE_H

#include <stddef.h>

/*
 * malloc for such a buffer: where the system has huge pages it is asked for them. With small ones
 * the page faults of a buffer of 50 MB can take as long as filling it by inflating does.
 *
 * Released with free. NULL where memory is short.
 */
void *ih_large_alloc(size_t n_bytes);

#endif
