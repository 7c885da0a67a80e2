/* A random number generator for tests: G. Marsaglia's xorshift32. */
#ifndef IH_TESTS_RANDOM_H
#define IH_TESTS_RANDOM_H

#include <stdint.h>

/* state: not 0 */
static inline uint32_t random_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

#endif
