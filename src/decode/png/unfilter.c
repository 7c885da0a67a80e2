/*
 * Average and Paeth make each pixel wait for the one on its left, so there is nothing to gain from
 * wide vectors: one pixel fills a vector, and what counts is the length of the chain
 * (png_unfilter_step.h). Even a gray pixel, alone in its vector, is twice as fast as in plain C.
 */
#include "decode/png/unfilter.h"

#include "decode/png/vec.h"

#include <assert.h>

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

/* The same choice as png_unfilter_step.h explains, without a branch. */
static inline int predict(int left, int up, int corner)
{
    int t = 3 * corner - up - left;
    int small = left < up ? left : up, large = left < up ? up : left;
    int outer = large <= t ? small : corner;
    return t <= small ? large : outer;
}

static void plain_paeth(uint8_t *row, const uint8_t *above, size_t n_bytes, unsigned step)
{
    for (size_t c = 0; c < step; c++) /* the first pixel: nothing on its left */
        row[c] = (uint8_t)(row[c] + above[c]);
    for (size_t i = step; i < n_bytes; i++)
        row[i] = (uint8_t)(row[i] + predict(row[i - step], above[i], above[i - step]));
}

/* With zeros above: up changes nothing, Paeth predicts the left pixel. */
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

/* ---- vectors ---- */

#ifdef IH_PNG_VEC

#define STEP 1
#define NAMED(name) name##_1
#include "decode/png/unfilter_step.h"

#define STEP 2
#define NAMED(name) name##_2
#include "decode/png/unfilter_step.h"

#define STEP 3
#define NAMED(name) name##_3
#include "decode/png/unfilter_step.h"

#define STEP 4
#define NAMED(name) name##_4
#include "decode/png/unfilter_step.h"

#define STEP 6
#define NAMED(name) name##_6
#include "decode/png/unfilter_step.h"

#define STEP 8
#define NAMED(name) name##_8
#include "decode/png/unfilter_step.h"

static void up(uint8_t *row, const uint8_t *above, size_t n_bytes)
{
    size_t i = 0;
    for (; i + 16 <= n_bytes; i += 16)
        vec_add_16_bytes(row + i, above + i);
    plain_up(row + i, above + i, n_bytes - i);
}

struct filters {
    void (*sub)(uint8_t *row, size_t n_bytes);
    void (*average)(uint8_t *row, const uint8_t *above, size_t n_bytes);
    void (*paeth)(uint8_t *row, const uint8_t *above, size_t n_bytes);
};

static const struct filters by_step[9] = {
    [1] = {sub_1, average_1, paeth_1}, [2] = {sub_2, average_2, paeth_2},
    [3] = {sub_3, average_3, paeth_3}, [4] = {sub_4, average_4, paeth_4},
    [6] = {sub_6, average_6, paeth_6}, [8] = {sub_8, average_8, paeth_8},
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
    return IH_PNG_VEC;
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
