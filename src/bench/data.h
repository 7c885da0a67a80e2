/*
 * The data of --bench, made without state: the same on every machine, so that figures of two
 * machines are about the same work.
 *
 * The kinds are chosen for what they do to a histogram kernel: random values spread over all bins;
 * smooth ones have neighbours alike, as photographs do; constant data puts everything into one bin,
 * where atomics queue up; two values that alternate defeat whoever counts runs.
 */
#ifndef IH_BENCH_DATA_H
#define IH_BENCH_DATA_H

#include "bench/job.h"

void ih_bench_fill_pixels(enum ih_bench_data data, uint8_t *pixels, size_t n_pixels,
                          unsigned n_channels);

/* IH_DATA_RANDOM: 0 to 1. IH_DATA_WHOLE: small integers, many of them 0, whose magnitudes sum to
 * less than 2^23, so that every partial sum is exact in a float. */
void ih_bench_fill_floats(enum ih_bench_data data, float *values, size_t n_values);
void ih_bench_fill_doubles(enum ih_bench_data data, double *values, size_t n_values);

/* The same for the factors of a dot product: the magnitudes of the products sum to less than 2^24.
 */
void ih_bench_fill_pairs(enum ih_bench_data data, float *a, float *b, size_t n_pairs);

#endif
