/*
 * The exact sum of floating-point numbers: what --bench holds all other sums against.
 *
 * A double is an integer of 53 bits times a power of two, and there are only 2,046 powers. So the
 * numbers are sorted by power as pixels are by value: a bin for each exponent holds the sum of the
 * integers that came with it, exactly, in 64 bits. At the end the bins are put into one long
 * fixed-point number, and that is rounded once. (The idea of a long accumulator is U. Kulisch's;
 * bins by exponent: R. Neal, Fast exact summation using small and large superaccumulators, 2015.)
 *
 * Compensated summation (Kahan, Neumaier) was rejected as the judge: it is only nearly right, and
 * no faster here.
 */
#ifndef IH_BENCH_EXACT_H
#define IH_BENCH_EXACT_H

#include <stdint.h>

enum { IH_EXACT_BINS = 2046, IH_EXACT_LOW_BITS = 27 };

/* 32 KiB. All zero is an empty sum. Up to 2^36 numbers may be added. */
struct ih_exact_sum {
    int64_t low[IH_EXACT_BINS],
        high[IH_EXACT_BINS]; /* of the integers, the low 27 bits and the rest */
};

/* value is finite. */
void ih_exact_add(struct ih_exact_sum *sum, double value);

/* The sum, rounded once, to nearest even; infinite where no double is as large. */
double ih_exact_round(const struct ih_exact_sum *sum);

#endif
