/*
 * The counting speed of float32 samples on one core, on several kinds of data: all that is exact,
 * against a loop that only reads, and a plain one of a 65,536-bin histogram with a mean of doubles.
 *
 *     cpu_float [REPEATS]
 *
 * Before it is timed, each count is compared with the plain loop's. The ways alternate; the median
 * counts. 12 MB of samples come in stripes of 128 KiB, as in the CPU backend. GB are 10^9 bytes.
 */
#define _POSIX_C_SOURCE 200809L

#include "count/count_float.h"
#include "tests/support/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 3000000, STRIPE = 32768, REPEATS_MAX = 1000, WIDTH = 2000 };

/* What a way of counting leaves. */
struct counts {
    uint64_t bins[IH_FLOAT_BINS];
    struct ih_float_sums sums;
    uint64_t specials[IH_SPECIALS];
    double sum, sum_of_squares;
    uint32_t all;
};

static void count_exact(struct ih_float_channel *c, const float *samples, size_t n)
{
    ih_float_channel_add(c, samples, n, sizeof *samples);
}

static void count_plain(struct counts *out, const float *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &samples[i], sizeof bits);
        out->bins[ih_float_key(bits) >> 16]++;
        out->sum += (double)samples[i];
        out->sum_of_squares += (double)samples[i] * (double)samples[i];
    }
}

static void only_read(struct counts *out, const float *samples, size_t n)
{
    uint32_t words[16], all[16] = {0};
    for (size_t i = 0; i + 16 <= n; i += 16) {
        memcpy(words, samples + i, sizeof words);
        for (unsigned k = 0; k < 16; k++)
            all[k] ^= words[k];
    }
    for (unsigned k = 0; k < 16; k++) /* keeps the loads */
        out->all ^= all[k];
}

enum way { EXACT, PLAIN, READ, WAYS };

static void count(enum way way, struct ih_float_channel *c, const float *samples,
                  struct counts *out)
{
    memset(out, 0, sizeof *out);
    out->sums = IH_FLOAT_SUMS_EMPTY;
    if (ih_float_channel_begin(c, out->bins, &out->sums, out->specials, NULL) != IH_OK)
        abort();
    for (size_t i = 0, n; i < N; i += n) {
        n = N - i < STRIPE ? N - i : STRIPE;
        if (way == EXACT)
            count_exact(c, samples + i, n);
        else if (way == PLAIN)
            count_plain(out, samples + i, n);
        else
            only_read(out, samples + i, n);
    }
    ih_float_channel_end(c);
}

static const char *const kinds[] = {"photo, linear", "0 to 255", "integers", "noise",
                                    "normal",        "any bits", "constant", "runs of 8"};
enum { PHOTO, SCALED, INTEGERS, NOISE, NORMAL, ANY, CONSTANT, RUNS, KINDS };

static float sample(unsigned kind, size_t i, uint32_t random, uint32_t other)
{
    const double x = (double)(i % WIDTH), y = (double)(i / WIDTH);
    const double noise = ((double)(random >> 28) + (double)(random >> 24 & 15) - 15) * 0.3;
    const double v = fabs(108 + 60 * sin(x / 170 + y / 300) + 50 * sin(y / 90 - x / 400) + noise);
    const uint32_t bits = (random & 0xBFFFFFFF);
    float any;
    memcpy(&any, &bits, sizeof any);
    switch (kind) {
    case PHOTO:
        return (float)pow(v / 255, 2.2);
    case SCALED:
        return (float)v;
    case INTEGERS:
        return (float)(int)v;
    case NOISE:
        return (float)(random >> 8) * 0x1p-24f;
    case NORMAL:
        return (float)(sqrt(-2 * log((random + 1.0) / 4294967297.0)) * cos(other * 1.46e-9));
    case ANY:
        return any;
    case CONSTANT:
        return 0.77f;
    default:
        return (float)((uint32_t)(i / 8) * 2654435761u >> 8);
    }
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_right(const struct counts *exact, const struct counts *plain)
{
    return memcmp(exact->bins, plain->bins, sizeof plain->bins) == 0 &&
           fabs(ih_float_mean(&exact->sums, N) - plain->sum / N) <=
               1e-9 * sqrt(plain->sum_of_squares / N);
}

int main(int argc, char **argv)
{
    static struct counts counts[WAYS];
    static double times_s[WAYS][REPEATS_MAX];
    const int wanted = argc > 1 ? atoi(argv[1]) : 21;
    const unsigned n_repeats = wanted < 1 || wanted > REPEATS_MAX ? 21 : (unsigned)wanted;
    struct ih_float_channel c = {.cells = NULL};
    float *const samples = malloc(N * sizeof *samples);
    if (!samples)
        return 1;
    printf("One core, GB/s of float32 samples, median of %u.\n\n%-15s %7s %7s %7s\n", n_repeats,
           "data", "exact", "plain", "read");
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (uint32_t i = 0, state = 1; i < N; i++) {
            const uint32_t random = random_next(&state), other = random_next(&state);
            samples[i] = sample(kind, i, random, other);
        }
        for (unsigned r = 0; r < n_repeats; r++)
            for (unsigned w = 0; w < WAYS; w++) {
                const double start_s = now_s();
                count((enum way)w, &c, samples, &counts[w]);
                times_s[w][r] = now_s() - start_s;
            }
        if (!is_right(&counts[EXACT], &counts[PLAIN])) {
            fprintf(stderr, "cpu_float: %s: wrong counts\n", kinds[kind]);
            return 1;
        }
        printf("%-15s", kinds[kind]);
        for (unsigned w = 0; w < WAYS; w++) {
            qsort(times_s[w], n_repeats, sizeof times_s[w][0], compare_doubles);
            printf(" %7.2f", 1e-9 * N * sizeof *samples / times_s[w][n_repeats / 2]);
        }
        putchar('\n');
    }
    ih_float_channel_reset(&c);
    free(samples);
    return 0;
}
