/*
 * Chooses the SIMD loops: those for AVX2 (count_vectors_avx2.c), a fifth faster on photographs, if
 * this CPU has it; otherwise those for the instructions that every CPU of the target has.
 */
#include "count/count_vec_loops.h"

#ifdef IH_COUNT_VEC
static const struct ih_count_vectors base = {count_rgb_groups, count_rgba_groups,
                                             count_planar_groups, count_ycc_groups, upsample};
#else
static const struct ih_count_vectors base = {NULL, NULL, NULL, NULL, NULL};
#endif

const struct ih_count_vectors *const ih_count_vectors_base = &base;

const struct ih_count_vectors *ih_count_vectors_best(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (ih_count_vectors_avx2 && __builtin_cpu_supports("avx2"))
        return ih_count_vectors_avx2;
#endif
    return ih_count_vectors_base;
}

/* AMD's Zen 5 (family 26) and later; it is AMD's first with these instructions. */
bool ih_count_finds_noise(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect");
#else
    return false;
#endif
}
