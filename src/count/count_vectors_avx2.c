/*
 * The loops with vectors once more, in a file that is built for AVX2 where the compiler can do
 * that. It has nothing but the loops, as all in it is made of instructions that a processor may not
 * have.
 */
#ifdef __AVX2__
#include "count/count_ycc_loop.h"

static const struct ih_count_vectors avx2 = {count_groups, count_ycc_groups, upsample};
const struct ih_count_vectors *const ih_count_vectors_avx2 = &avx2;
#else
#include "count/count.h"

const struct ih_count_vectors *const ih_count_vectors_avx2 = NULL;
#endif
