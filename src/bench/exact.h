/*
 * The exact sum of floating-point numbers, rounded once.
 *
 * A double is a 53-bit integer times a power of two, with 2,046 different powers. A bin for each
 * exponent holds the sum of the integers that came with it, exactly, in 64 bits. At the end the
 * bins are added to one long fixed-point number, which is rounded once. (Long accumulators: U.
 * Kulisch; bins by exponent: R. Neal, Fast exact summation using small and large superaccumulators,
 * 2015.)
 *
 * Rejected: compensated summation (Kahan, Neumaier), which is not exact, and no faster here.
 */
#ifndef IH_BENCH_EXACT_H
#define IH_BENCH_EXACT_H

#include <stdint.h>

enum { IH_EXACT_BINS = 2046, IH_EXACT_LOW_BITS = 27 };

/* 32 KiB. All zero: an empty sum. Up to 2^36 numbers may be added. */
struct ih_exact_sum {
    int64_t low[IH_EXACT_BINS], high[IH_EXACT_BINS]; /* the low 27 bits of the integers, the rest */
};

/* value: finite */
void ih_exact_add(struct ih_exact_sum *sum, double value);

/* Returns the sum, rounded to nearest even; infinity if it is too large for a double. */
double ih_exact_round(const struct ih_exact_sum *sum);

#endif
