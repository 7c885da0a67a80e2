/* The clock that work is timed with. */
#ifndef IH_BASE_CLOCK_H
#define IH_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment; never runs backwards. Takes about 25 ns. */
uint64_t ih_clock_ns(void);

#endif
