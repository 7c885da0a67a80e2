/* The clock for measuring time. */
#ifndef IH_BASE_CLOCK_H
#define IH_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since a fixed moment. Never runs backwards. A call takes about 25 ns. */
uint64_t ih_clock_ns(void);

#endif
