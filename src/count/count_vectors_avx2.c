/*
 * The SIMD loops for AVX2, if the compiler can build them. This file holds nothing else, because
 * the CPU may lack the instructions that any function in it is made of.
 */
#ifdef __AVX2__
#include "count/count_vec_loops.h"

static const struct ih_count_vectors avx2 = {count_rgb_groups, count_rgba_groups,
                                             count_planar_groups, count_ycc_groups, upsample};
const struct ih_count_vectors *const ih_count_vectors_avx2 = &avx2;
#else
#include "count/count.h"

const struct ih_count_vectors *const ih_count_vectors_avx2 = NULL;
#endif
