/*
 * The loop of RGB once more, in a file that is built for AVX2 where the compiler can do that. It
 * has nothing but the loop, as all in it is made of instructions that a processor may not have.
 */
#ifdef __AVX2__
#include "backend/count_rgb_loop.h"

ih_count_rgb_function *const ih_count_rgb_avx2 = count_groups;
#else
#include "backend/count.h"

ih_count_rgb_function *const ih_count_rgb_avx2 = NULL;
#endif
