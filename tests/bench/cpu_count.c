/*
 * The counting speed of one core: the fast method, the reference, and a naive loop, on several
 * kinds of data.
 *
 *     cpu_count [REPEATS]
 *
 * Every count is compared with the reference before it is timed. The ways alternate, so a machine
 * that slows down slows all of them; the median counts. Pixels come in stripes of 128 KiB, as in
 * the CPU backend, from 12 MB: more than the second-level cache, and too long for branch predictors
 * to learn. GB are 10^9 bytes.
 *
 * cpu_count.py loads this file as a shared library and compares ih_bench_count with OpenCV and
 * numpy.
 */
#define _POSIX_C_SOURCE 200809L

#include "count/count.h"
#include "tests/bench/row.h"
#include "tests/support/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DATA_BYTES = 12 * 1000 * 1000, STRIPE_BYTES = 128 * 1024, REPEATS_MAX = 1000, WIDTH = 2000 };

/* The naive loop: the same planes, one 32-bit table each, no clip counts. */
static void naive_begin(struct ih_counter *t)
{
    memset(t->subtables, 0, sizeof t->subtables);
}

static void naive_add(struct ih_counter *t, const uint8_t *p, size_t n)
{
    const unsigned n_channels = t->spec.layout.n_channels;
    for (size_t i = 0; i < n; i++, p += n_channels) {
        for (unsigned c = 0; c < n_channels; c++)
            t->subtables[c][p[c]]++;
        if (n_channels >= 3)
            t->subtables[n_channels][ih_luma(t->spec.luma, p[0], p[1], p[2])]++;
    }
}

static void naive_end(struct ih_counter *t)
{
    for (unsigned i = 0; i < ih_own_planes(&t->totals); i++)
        for (unsigned v = 0; v < IH_BINS; v++)
            t->totals.bins[i * IH_BINS + v] += t->subtables[i][v];
}

static const struct ih_count_method naive = {
    .begin = naive_begin, .add = naive_add, .end = naive_end};

/* Only reads: the limit. */
static void read_add(struct ih_counter *t, const uint8_t *p, size_t n)
{
    uint64_t words[8], all[8] = {0};
    for (size_t i = 0; i + sizeof words <= n * t->spec.layout.n_channels; i += sizeof words) {
        memcpy(words, p + i, sizeof words);
        for (unsigned k = 0; k < 8; k++)
            all[k] ^= words[k];
    }
    for (unsigned k = 0; k < 8; k++) /* keeps the loads */
        t->subtables[0][0] ^= (uint32_t)(all[k] ^ all[k] >> 32);
}

static const struct ih_count_method reading = {
    .begin = naive_begin, .add = read_add, .end = naive_end};

enum { TABLES, REFERENCE, NAIVE, READ, N_WAYS };
static const struct ih_count_method *const ways[N_WAYS] = {&ih_count_tables, &ih_count_reference,
                                                           &naive, &reading};

static void count(struct ih_counter *counter, const struct ih_count_method *method,
                  const uint8_t *pixels, size_t n_pixels, unsigned n_channels,
                  struct ih_histogram *out)
{
    const struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT8, IH_BINS,
                                       &ih_luma_bt709,        0,        255};
    const size_t n_stripe = STRIPE_BYTES / n_channels;
    if (ih_counter_begin(counter, method, &spec, NULL) != IH_OK)
        abort();
    for (size_t i = 0; i < n_pixels; i += n_stripe)
        ih_counter_add(counter, pixels + i * n_channels,
                       n_pixels - i < n_stripe ? n_pixels - i : n_stripe);
    ih_counter_end(counter, out);
}

/* For cpu_count.py. bins: uint64 [5][IH_BINS]; those of the image's planes are
 * overwritten.
 * Returns 0, or 1: out of memory. */
int ih_bench_count(const uint8_t *pixels, size_t n_pixels, unsigned n_channels, uint64_t *bins);

int ih_bench_count(const uint8_t *pixels, size_t n_pixels, unsigned n_channels, uint64_t *bins)
{
    struct ih_histogram h;
    struct ih_counter *counter = malloc(sizeof *counter);
    if (!counter)
        return 1;
    counter->totals.bins = NULL;
    count(counter, &ih_count_tables, pixels, n_pixels, n_channels, &h);
    memcpy(bins, h.bins, ih_own_planes(&h) * (size_t)IH_BINS * sizeof *bins);
    ih_histogram_reset(&h);
    free(counter);
    return 0;
}

static const char *const kinds[] = {"random",         "constant",   "smooth",
                                    "smooth, opaque", "two-valued", "patches"};
enum { RANDOM, CONSTANT, SMOOTH, OPAQUE, TWO_VALUED, PATCHES, N_KINDS };

/* Photo-like: slow waves, similar channels, and a little noise. */
static uint8_t smooth_sample(size_t i, unsigned c, uint32_t random)
{
    double x = (double)(i % WIDTH), y = (double)(i / WIDTH);
    double noise = ((double)(random >> 28) + (double)(random >> 24 & 15) - 15) * 0.3;
    double v = 108 + 60 * sin(x / 170 + y / 300) + 50 * sin(y / 90 - x / 400) + 20 * c + noise;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Rectangles of 40 x 20 pixels: three in four have one colour, the others are noise. */
static uint8_t patch_sample(size_t i, unsigned c, uint32_t random)
{
    uint32_t patch = (uint32_t)(i % WIDTH / 40 * 7919 + i / WIDTH / 20 * 104729 + 1);
    random_next(&patch);
    random_next(&patch);
    return (uint8_t)(patch % 4 == 0 ? random >> 24 : patch >> (8 * c));
}

static void fill(uint8_t *pixels, size_t n_pixels, unsigned n_channels, unsigned kind)
{
    uint32_t state = 1;
    for (size_t i = 0; i < n_pixels; i++) {
        for (unsigned c = 0; c < n_channels; c++) {
            const uint32_t random = random_next(&state);
            uint8_t v = (uint8_t)(random >> 24);
            if (kind == CONSTANT)
                v = (uint8_t)(77 + c);
            else if (kind == OPAQUE && (c == 3 || (c == 1 && n_channels == 2)))
                v = 255;
            else if (kind == SMOOTH || kind == OPAQUE)
                v = smooth_sample(i, c, random);
            else if (kind == TWO_VALUED)
                v = random >> 31 ? 255 : 0;
            else if (kind == PATCHES)
                v = patch_sample(i, c, random);
            pixels[i * n_channels + c] = v;
        }
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

static bool verify(struct ih_counter *counter, const uint8_t *pixels, size_t n_pixels,
                   unsigned n_channels)
{
    struct ih_histogram expected, got, first;
    count(counter, &ih_count_reference, pixels, n_pixels, n_channels, &expected);
    count(counter, &ih_count_tables, pixels, n_pixels, n_channels, &got);
    count(counter, &naive, pixels, n_pixels, n_channels, &first);
    const size_t n = ih_own_planes(&expected) * (size_t)IH_BINS;
    const bool is_same =
        memcmp(first.bins, expected.bins, n * sizeof *first.bins) == 0 &&
        memcmp(got.bins, expected.bins, n * sizeof *got.bins) == 0 &&
        memcmp(got.sums, expected.sums, ih_own_planes(&got) * sizeof *got.sums) == 0 &&
        got.n_pixels == expected.n_pixels && got.any_low == expected.any_low &&
        got.any_high == expected.any_high && got.all_low == expected.all_low &&
        got.all_high == expected.all_high;
    ih_histogram_reset(&expected);
    ih_histogram_reset(&got);
    ih_histogram_reset(&first);
    return is_same;
}

static void measure(struct ih_counter *counter, const uint8_t *pixels, size_t n_pixels,
                    unsigned n_channels, unsigned n_repeats, double median_s[N_WAYS])
{
    static double times_s[N_WAYS][REPEATS_MAX];
    for (unsigned r = 0; r < n_repeats; r++) {
        for (unsigned w = 0; w < N_WAYS; w++) {
            struct ih_histogram h;
            const double start_s = now_s();
            count(counter, ways[w], pixels, n_pixels, n_channels, &h);
            times_s[w][r] = now_s() - start_s;
            ih_histogram_reset(&h);
        }
    }
    for (unsigned w = 0; w < N_WAYS; w++) {
        qsort(times_s[w], n_repeats, sizeof times_s[w][0], compare_doubles);
        median_s[w] = times_s[w][n_repeats / 2];
    }
}

static const char *const layouts[] = {"", "gray", "gray+alpha", "RGB", "RGBA"};

static void table_row(unsigned n_channels, unsigned kind, const double s[N_WAYS])
{
    printf("%-11s %-15s %7.2f %7.0f %9.2f %9.2f %9.2f\n", layouts[n_channels], kinds[kind],
           1e-9 * DATA_BYTES / s[TABLES], 1e-6 * (DATA_BYTES / n_channels) / s[TABLES],
           1e-9 * DATA_BYTES / s[REFERENCE], 1e-9 * DATA_BYTES / s[NAIVE], s[NAIVE] / s[TABLES]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const bool only_rows = argc > 2 && strcmp(argv[2], "--rows") == 0;
    const int wanted = argc > 1 ? atoi(argv[1]) : 21;
    const unsigned n_repeats = wanted < 1 || wanted > REPEATS_MAX ? 21 : (unsigned)wanted;
    int status = 1;
    uint8_t *pixels = malloc(DATA_BYTES);
    struct ih_counter *counter = calloc(1, sizeof *counter);
    if (!pixels || !counter) {
        fprintf(stderr, "cpu_count: out of memory\n");
        goto out;
    }
    if (!only_rows)
        printf("One core, GB/s, median of %u. tables and reference count all planes, luma, sums "
               "and\nclips; naive counts the planes and luma only.\n\n"
               "%-11s %-15s %7s %7s %9s %9s %9s\n",
               n_repeats, "pixels", "data", "tables", "MP/s", "reference", "naive", "/ naive");
    for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++) {
        const size_t n_pixels = DATA_BYTES / n_channels;
        for (unsigned kind = 0; kind < N_KINDS; kind++) {
            double s[N_WAYS];
            if ((kind == OPAQUE && n_channels % 2 != 0) || (only_rows && n_channels % 2 == 0))
                continue;
            fill(pixels, n_pixels, n_channels, kind);
            if (!verify(counter, pixels, n_pixels, n_channels)) {
                fprintf(stderr, "cpu_count: %s, %s: wrong counts\n", layouts[n_channels],
                        kinds[kind]);
                goto out;
            }
            measure(counter, pixels, n_pixels, n_channels, n_repeats, s);
            if (only_rows)
                row_print("1 core", "tables", layouts[n_channels], kinds[kind],
                          1e-9 * DATA_BYTES / s[TABLES], 1e-9 * DATA_BYTES / s[READ]);
            else
                table_row(n_channels, kind, s);
        }
    }
    status = 0;
out:
    free(counter);
    free(pixels);
    return status;
}
