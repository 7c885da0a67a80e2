/*
 * Average and Paeth make each pixel depend on its left neighbour, so wide vectors gain nothing: a
 * vector holds one pixel, and speed depends on the length of that chain (unfilter_step.h). Even for
 * gray, one byte in a vector, this is twice as fast as plain C. Two rows of Paeth, as most rows of
 * photographs are, share a vector, the second one pixel behind: another 1.5 times.
 */
#include "decode/png/unfilter.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* ---- plain C ---- */

static void plain_sub(uint8_t *row, size_t n_bytes, unsigned step)
{
    for (size_t i = step; i < n_bytes; i++)
        row[i] = (uint8_t)(row[i] + row[i - step]);
}

static void plain_up(uint8_t *row, const uint8_t *above, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        row[i] = (uint8_t)(row[i] + above[i]);
}

static void plain_average(uint8_t *row, const uint8_t *above, size_t n_bytes, unsigned step)
{
    for (size_t i = 0; i < step; i++)
        row[i] = (uint8_t)(row[i] + above[i] / 2);
    for (size_t i = step; i < n_bytes; i++)
        row[i] = (uint8_t)(row[i] + (row[i - step] + above[i]) / 2);
}

/* The formula of unfilter_step.h, without a branch. */
static inline int predict(int left, int up, int corner)
{
    int t = 3 * corner - up - left;
    int small = left < up ? left : up, large = left < up ? up : left;
    int outer = large <= t ? small : corner;
    return t <= small ? large : outer;
}

static void plain_paeth(uint8_t *row, const uint8_t *above, size_t n_bytes, unsigned step)
{
    for (size_t c = 0; c < step; c++) /* the first pixel: zeros on its left */
        row[c] = (uint8_t)(row[c] + above[c]);
    for (size_t i = step; i < n_bytes; i++)
        row[i] = (uint8_t)(row[i] + predict(row[i - step], above[i], above[i - step]));
}

/* The row above is zeros: "up" changes nothing, Paeth predicts the left pixel. */
static void first_row(unsigned filter, uint8_t *row, size_t n_bytes, unsigned step)
{
    if (filter == IH_PNG_SUB || filter == IH_PNG_PAETH)
        plain_sub(row, n_bytes, step);
    else if (filter == IH_PNG_AVERAGE)
        for (size_t i = step; i < n_bytes; i++)
            row[i] = (uint8_t)(row[i] + row[i - step] / 2);
}

void ih_png_unfilter_plain(unsigned filter, uint8_t *row, const uint8_t *above, size_t n_bytes,
                           unsigned step)
{
    assert(filter < IH_PNG_FILTERS);
    if (!above)
        first_row(filter, row, n_bytes, step);
    else if (filter == IH_PNG_SUB)
        plain_sub(row, n_bytes, step);
    else if (filter == IH_PNG_UP)
        plain_up(row, above, n_bytes);
    else if (filter == IH_PNG_AVERAGE)
        plain_average(row, above, n_bytes, step);
    else if (filter == IH_PNG_PAETH)
        plain_paeth(row, above, n_bytes, step);
}

/*
 * ---- vectors ----
 *
 * A vector holds the bytes of one pixel, or of one in each half, each in a 16-bit SIMD lane whose
 * upper half is zero. The first 1 to 8 of the eight lanes are used. In 16 bits the Paeth
 * predictor's sums cannot overflow. Pixels of 1 to 4 bytes are loaded as 4 bytes, those of 6 and 8
 * as 8.
 *
 * vec_sub saturates, which never happens here. It keeps gcc from reordering the sums, as it may
 * reorder plain ones, into a longer chain of dependent operations.
 */

#if defined(__SSE2__)
#define TARGET "SSE2"
#include <emmintrin.h>

typedef __m128i vec;

#define vec_zero() _mm_setzero_si128()
#define vec_low4(v) ((uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(v, v)))
#define vec_store8(p, v) _mm_storel_epi64((__m128i *)(void *)(p), _mm_packus_epi16(v, v))
#define vec_add_bytes(a, b) _mm_add_epi8(a, b) /* modulo 256; upper halves stay 0 */
#define vec_add(a, b) _mm_add_epi16(a, b)
#define vec_sub(a, b) _mm_subs_epi16(a, b)
#define vec_half(a) _mm_srli_epi16(a, 1)
#define vec_min(a, b) _mm_min_epi16(a, b)
#define vec_max(a, b) _mm_max_epi16(a, b)
#define vec_greater(a, b) _mm_cmpgt_epi16(a, b) /* signed; all ones or zeros */
#define vec_and(a, b) _mm_and_si128(a, b)
#define vec_and_not(a, b) _mm_andnot_si128(b, a) /* a without the bits of b */
#define vec_or(a, b) _mm_or_si128(a, b)
#define vec_join(a, b) _mm_unpacklo_epi64(a, b) /* their lower halves */
#define vec_upper(v) _mm_unpackhi_epi64(v, v)

static inline vec vec_load4(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm_unpacklo_epi8(_mm_cvtsi32_si128(v), _mm_setzero_si128());
}

static inline vec vec_load8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return _mm_unpacklo_epi8(_mm_set_epi64x(0, (long long)v), _mm_setzero_si128());
}

static inline void add_16_bytes(uint8_t *p, const uint8_t *q)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)q);
    _mm_storeu_si128((__m128i *)(void *)p, _mm_add_epi8(a, b));
}

#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(__AARCH64EB__)
#define TARGET "NEON"
#include <arm_neon.h>

typedef int16x8_t vec;

#define vec_zero() vdupq_n_s16(0)
#define vec_low4(v) vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vreinterpretq_u16_s16(v))), 0)
#define vec_store8(p, v) vst1_u8(p, vmovn_u16(vreinterpretq_u16_s16(v)))
#define vec_add_bytes(a, b) \
    vreinterpretq_s16_s8(vaddq_s8(vreinterpretq_s8_s16(a), vreinterpretq_s8_s16(b)))
#define vec_add(a, b) vaddq_s16(a, b)
#define vec_sub(a, b) vqsubq_s16(a, b)
#define vec_half(a) vshrq_n_s16(a, 1)
#define vec_min(a, b) vminq_s16(a, b)
#define vec_max(a, b) vmaxq_s16(a, b)
#define vec_greater(a, b) vreinterpretq_s16_u16(vcgtq_s16(a, b))
#define vec_and(a, b) vandq_s16(a, b)
#define vec_and_not(a, b) vbicq_s16(a, b)
#define vec_or(a, b) vorrq_s16(a, b)
#define vec_join(a, b) vcombine_s16(vget_low_s16(a), vget_low_s16(b))
#define vec_upper(v) vcombine_s16(vget_high_s16(v), vget_high_s16(v))

static inline vec vec_load8(const uint8_t *p)
{
    return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p)));
}

static inline vec vec_load4(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(v)));
}

static inline void add_16_bytes(uint8_t *p, const uint8_t *q)
{
    vst1q_u8(p, vaddq_u8(vld1q_u8(p), vld1q_u8(q)));
}
#endif

#ifdef TARGET

#define JOINED(name, step) name##_##step
#define NAMED_OF(name, step) JOINED(name, step)
#define NAMED(name) NAMED_OF(name, STEP)
#define STEP 1
#include "decode/png/unfilter_step.h"
#define STEP 2
#include "decode/png/unfilter_step.h"
#define STEP 3
#include "decode/png/unfilter_step.h"
#define STEP 4
#include "decode/png/unfilter_step.h"
#define STEP 6
#include "decode/png/unfilter_step.h"
#define STEP 8
#include "decode/png/unfilter_step.h"

static void up(uint8_t *row, const uint8_t *above, size_t n_bytes)
{
    size_t i = 0;
    for (; i + 16 <= n_bytes; i += 16)
        add_16_bytes(row + i, above + i);
    plain_up(row + i, above + i, n_bytes - i);
}

struct filters {
    void (*sub)(uint8_t *row, size_t n_bytes);
    void (*average)(uint8_t *row, const uint8_t *above, size_t n_bytes);
    void (*paeth)(uint8_t *row, const uint8_t *above, size_t n_bytes);
    void (*paeth_two)(uint8_t *row, uint8_t *below, const uint8_t *above, size_t n_bytes);
};

static const struct filters by_step[9] = {
    [1] = {sub_1, average_1, paeth_1, paeth_two_1}, [2] = {sub_2, average_2, paeth_2, paeth_two_2},
    [3] = {sub_3, average_3, paeth_3, paeth_two_3}, [4] = {sub_4, average_4, paeth_4, paeth_two_4},
    [6] = {sub_6, average_6, paeth_6, NULL},        [8] = {sub_8, average_8, paeth_8, NULL},
};

void ih_png_unfilter(unsigned filter, uint8_t *row, const uint8_t *above, size_t n_bytes,
                     unsigned step)
{
    assert(filter < IH_PNG_FILTERS && step <= 8);
    const struct filters *f = &by_step[step];
    if (above && filter == IH_PNG_UP)
        up(row, above, n_bytes);
    else if (!above || n_bytes == 0)
        ih_png_unfilter_plain(filter, row, above, n_bytes, step);
    else if (filter == IH_PNG_SUB)
        f->sub(row, n_bytes);
    else if (filter == IH_PNG_AVERAGE)
        f->average(row, above, n_bytes);
    else if (filter == IH_PNG_PAETH)
        f->paeth(row, above, n_bytes);
}

const char *ih_png_unfilter_target(void)
{
    return TARGET;
}

#else

void ih_png_unfilter(unsigned filter, uint8_t *row, const uint8_t *above, size_t n_bytes,
                     unsigned step)
{
    ih_png_unfilter_plain(filter, row, above, n_bytes, step);
}

const char *ih_png_unfilter_target(void)
{
    return "plain C";
}

#endif

void ih_png_unfilter_paeth_two(uint8_t *row, uint8_t *below, const uint8_t *above, size_t n_bytes,
                               unsigned step)
{
#ifdef TARGET
    if (by_step[step].paeth_two && n_bytes > 0) {
        by_step[step].paeth_two(row, below, above, n_bytes);
        return;
    }
#endif
    ih_png_unfilter(IH_PNG_PAETH, row, above, n_bytes, step);
    ih_png_unfilter(IH_PNG_PAETH, below, row, n_bytes, step);
}
