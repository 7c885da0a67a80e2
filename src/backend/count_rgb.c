/*
 * Which loop counts RGB: the one for what every processor of the target has, or the one for AVX2
 * (count_rgb_avx2.c), a fifth faster on photographs, where the processor at hand has that.
 */
#include "backend/count_rgb_loop.h"

#ifdef IH_COUNT_VEC
ih_count_rgb_function *const ih_count_rgb_base = count_groups;
#else
static size_t count_none(struct ih_counter *t, const uint8_t *pixels, size_t n_pixels)
{
    (void)t, (void)pixels, (void)n_pixels;
    return 0;
}
ih_count_rgb_function *const ih_count_rgb_base = count_none;
#endif

ih_count_rgb_function *ih_count_rgb_best(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (ih_count_rgb_avx2 && __builtin_cpu_supports("avx2"))
        return ih_count_rgb_avx2;
#endif
    return ih_count_rgb_base;
}
