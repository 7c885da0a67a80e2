#define _POSIX_C_SOURCE 200809L

#include "base/clock.h"

#include <time.h>

uint64_t ih_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: POSIX 2008 systems have this clock */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
