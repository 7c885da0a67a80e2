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

/* From a state of its own, the same in every run. */
static inline uint32_t next_random(void)
{
    static uint32_t state = 2463534242u;
    return random_next(&state);
}

#endif
