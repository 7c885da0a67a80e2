/*
 * The ground layer: bytes of an input over short reads, and histograms and their statistics against
 * brute force and where counts come near 64 bits.
 */
#define _POSIX_C_SOURCE 200809L

#include "base/source.h"
#include "counts/histogram.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- source ---- */

enum { PIPED_BYTES = 200 * 1000 + 7 };

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 256);
}

/* Writes PIPED_BYTES in pieces of 1 to 4,001 bytes, so that no read(2) gives what was asked for. */
static void *feed(void *argument)
{
    int fd = *(int *)argument;
    uint8_t piece[4001];
    for (size_t i = 0, n; i < PIPED_BYTES; i += n) {
        n = 1 + i * 2654435761u % sizeof piece;
        n = n < PIPED_BYTES - i ? n : PIPED_BYTES - i;
        for (size_t k = 0; k < n; k++)
            piece[k] = byte_at(i + k);
        if (write(fd, piece, n) != (ssize_t)n)
            break;
    }
    close(fd);
    return NULL;
}

struct pipe_feed {
    int fds[2];
    pthread_t thread;
    struct ih_source source;
};

static void open_feed(struct pipe_feed *p)
{
    struct ih_error error;
    memset(p, 0, sizeof *p);
    assert_int_equal(pipe(p->fds), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, feed, &p->fds[1]), 0);
    assert_int_equal(ih_source_open_fd(&p->source, p->fds[0], &error), IH_OK);
}

static void close_feed(struct pipe_feed *p)
{
    ih_source_reset(&p->source);
    pthread_join(p->thread, NULL);
    assert_int_equal(close(p->fds[0]), 0); /* it was borrowed, so it is still open */
}

static void test_source_over_a_pipe(void **state)
{
    (void)state;
    static uint8_t copy[PIPED_BYTES + 1];
    struct pipe_feed p;
    struct ih_error error;
    const uint8_t *bytes;
    size_t n, at = 0;
    open_feed(&p);
    for (size_t round = 0; at < PIPED_BYTES; round++) {
        if (round % 2) {
            size_t wanted = round * 4999 % (3 * IH_SOURCE_BUFFER_BYTES);
            assert_int_equal(ih_source_read(&p.source, copy + at, wanted, &n, &error), IH_OK);
            assert_int_equal(n, wanted < PIPED_BYTES - at ? wanted : PIPED_BYTES - at);
        } else {
            size_t wanted = round * 3001 % IH_SOURCE_BUFFER_BYTES;
            size_t left = PIPED_BYTES - at;
            assert_int_equal(ih_source_peek(&p.source, wanted, &bytes, &n, &error), IH_OK);
            assert_true(n >= (wanted < left ? wanted : left));
            n /= 2;
            memcpy(copy + at, bytes, n);
            ih_source_consume(&p.source, n);
        }
        at += n;
    }
    assert_int_equal(ih_source_peek(&p.source, 1, &bytes, &n, &error), IH_OK);
    assert_int_equal(n, 0);
    assert_int_equal(ih_source_read(&p.source, copy + at, 1, &n, &error), IH_OK);
    assert_int_equal(n, 0);
    for (size_t i = 0; i < PIPED_BYTES; i++)
        if (copy[i] != byte_at(i))
            fail_msg("byte %zu", i);
    close_feed(&p);
}

static void test_source_read_all(void **state)
{
    (void)state;
    static const size_t limits[] = {PIPED_BYTES, PIPED_BYTES + 1, SIZE_MAX};
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        struct pipe_feed p;
        struct ih_error error;
        uint8_t *bytes = NULL;
        size_t n = 0;
        open_feed(&p);
        assert_int_equal(ih_source_read_all(&p.source, limits[k], &bytes, &n, &error), IH_OK);
        assert_int_equal(n, PIPED_BYTES);
        for (size_t i = 0; i < n; i++)
            if (bytes[i] != byte_at(i))
                fail_msg("byte %zu", i);
        free(bytes);
        close_feed(&p);
    }
}

static void test_source_read_all_limit(void **state)
{
    (void)state;
    static const uint8_t memory[100];
    struct ih_source source = {0};
    struct ih_error error;
    uint8_t *bytes = NULL;
    size_t n;
    ih_source_open_memory(&source, memory, sizeof memory);
    assert_int_equal(ih_source_read_all(&source, 99, &bytes, &n, &error), IH_LIMIT);
    assert_null(bytes);
    ih_source_close(&source);
    ih_source_open_memory(&source, memory, 0);
    assert_int_equal(ih_source_read_all(&source, 99, &bytes, &n, &error), IH_OK);
    assert_non_null(bytes);
    assert_int_equal(n, 0);
    free(bytes);
    ih_source_reset(&source);
}

static void test_source_errors(void **state)
{
    (void)state;
    struct ih_source source = {0};
    struct ih_error error;
    const uint8_t *bytes;
    size_t n;
    struct ih_file_identity id;
    assert_int_equal(ih_source_open_path(&source, "/nonexistent/file", &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(ENOENT)));
    assert_int_equal(ih_source_open_path(&source, "/", &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(EISDIR)));
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(ih_source_open_fd(&source, fds[1], &error), IH_OK); /* cannot be read */
    for (int again = 0; again < 2; again++)
        assert_int_equal(ih_source_peek(&source, 1, &bytes, &n, &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(EBADF)));
    ih_source_close(&source);
    /* one that would pass is kept all the same: what was read before and after is not one file */
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(ih_source_open_fd(&source, fds[0], &error), IH_OK);
    assert_int_equal(ih_source_peek(&source, 1, &bytes, &n, &error), IH_IO);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(ih_source_peek(&source, 1, &bytes, &n, &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(EAGAIN)));
    ih_source_close(&source);
    ih_source_open_memory(&source, (const uint8_t *)"", 0);
    assert_false(ih_source_identity(&source, &id));
    ih_source_reset(&source);
    close(fds[0]);
    close(fds[1]);
}

/* ---- histogram ---- */

static const struct ih_count_spec spec = {1, &ih_luma_bt709, 3, 250};

static int compare_bytes(const void *a, const void *b)
{
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* Against definitions applied to the sorted values themselves. */
static void check_stats(uint8_t *values, size_t n)
{
    struct ih_histogram h;
    struct ih_stats s;
    double sum = 0, squares = 0, entropy = 0;
    uint64_t low = 0, high = 0;
    ih_histogram_clear(&h, 1);
    h.n_pixels = n;
    for (size_t i = 0; i < n; i++) {
        h.bins[0][values[i]]++;
        h.sum[0] += values[i];
        sum += values[i];
        low += values[i] <= spec.clip_low;
        high += values[i] >= spec.clip_high;
    }
    for (size_t i = 0; i < n; i++) {
        double share = (double)h.bins[0][values[i]] / (double)n;
        squares += (values[i] - sum / (double)n) * (values[i] - sum / (double)n);
        entropy -= log2(share) / (double)n;
    }
    ih_histogram_derive_gray(&h, &spec);
    assert_true(ih_histogram_consistent(&h));
    assert_int_equal(h.any_low, low);
    assert_int_equal(h.all_high, high);
    assert_memory_equal(h.bins[IH_LUMA], h.bins[0], sizeof h.bins[0]);
    ih_stats_compute(&h, 0, &spec, &s);
    qsort(values, n, 1, compare_bytes);
    assert_int_equal(s.count, n);
    assert_int_equal(s.sum, (uint64_t)sum);
    assert_true(fabs(s.mean - sum / (double)n) < 1e-9);
    assert_true(fabs(s.stddev - sqrt(squares / (double)n)) < 1e-9);
    assert_true(fabs(s.entropy - entropy) < 1e-9 && s.entropy >= 0);
    assert_int_equal(s.min, values[0]);
    assert_int_equal(s.max, values[n - 1]);
    assert_int_equal(s.clip_low, low);
    assert_int_equal(s.clip_high, high);
    for (int k = 0; k < IH_PERCENTILES; k++) /* the least value with at least p n values up to it */
        assert_int_equal(s.percentile[k], values[(n * ih_percentile_percents[k] + 99) / 100 - 1]);
}

static void test_stats_against_brute_force(void **state)
{
    (void)state;
    uint8_t values[1009];
    uint32_t random = 1;
    for (size_t n = 1; n <= sizeof values; n += n < 210 ? 1 : 97)
        for (unsigned shift = 0; shift < 8; shift += 3) {
            for (size_t i = 0; i < n; i++) {
                random = random * 1664525u + 1013904223u;
                values[i] = (uint8_t)(random >> 24 >> shift << shift / 2);
            }
            check_stats(values, n);
        }
}

/* Percentiles must not overflow, nor be rounded, where 100 counts no longer fit in 64 bits. */
static void test_percentiles_of_large_counts(void **state)
{
    (void)state;
    const uint64_t n = (UINT64_C(1) << 60) + 44; /* a multiple of 20 */
    assert_int_equal(n % 20, 0);
    for (int more = 0; more < 2; more++) {
        struct ih_histogram h;
        struct ih_stats s;
        ih_histogram_clear(&h, 1);
        h.n_pixels = n;
        h.bins[0][10] = n / 20 - 1 + (uint64_t)more; /* p05 wants n / 20 */
        h.bins[0][11] = n / 2 - n / 20;
        h.bins[0][200] = n - h.bins[0][10] - h.bins[0][11];
        ih_stats_compute(&h, 0, &spec, &s);
        assert_int_equal(s.percentile[0], 10);
        assert_int_equal(s.percentile[1], more ? 10 : 11);
        assert_int_equal(s.percentile[3], more ? 11 : 200);
        assert_int_equal(s.percentile[6], 200);
        assert_int_equal(s.count, n);
    }
}

static void test_stats_without_pixels(void **state)
{
    (void)state;
    struct ih_histogram h;
    struct ih_stats s;
    ih_histogram_clear(&h, 3);
    assert_true(ih_histogram_consistent(&h));
    ih_stats_compute(&h, IH_LUMA, &spec, &s);
    assert_true(isnan(s.mean) && isnan(s.stddev) && isnan(s.entropy));
    assert_int_equal(s.min + s.max + s.percentile[3], 0);
    assert_true(isnan(ih_mean_luminance(&h)));
}

static void test_adding_and_checking(void **state)
{
    (void)state;
    struct ih_histogram a, b;
    ih_histogram_clear(&a, 1);
    a.n_pixels = 2;
    a.bins[0][7] = a.bins[IH_LUMA][7] = 2;
    a.sum[0] = a.sum[IH_LUMA] = 14;
    a.any_low = 1;
    b = a;
    ih_histogram_add(&a, &b);
    assert_true(ih_histogram_consistent(&a));
    assert_int_equal(a.n_pixels + a.bins[0][7] + a.sum[IH_LUMA] + a.any_low, 4 + 4 + 28 + 2);
    b = a;
    b.bins[0][8]++; /* one pixel too many */
    assert_false(ih_histogram_consistent(&b));
    b = a;
    b.sum[0]++;
    assert_false(ih_histogram_consistent(&b));
    b = a;
    b.all_high = 1; /* more than any */
    assert_false(ih_histogram_consistent(&b));
}

/* sRGB 188 is 0.5029 in linear light; the weights are those of BT.709. */
static void test_mean_luminance(void **state)
{
    (void)state;
    struct ih_histogram h;
    ih_histogram_clear(&h, 3);
    h.n_pixels = 1;
    h.bins[0][188] = h.bins[1][0] = h.bins[2][255] = 1;
    assert_true(fabs(ih_mean_luminance(&h) - (0.2126 * 0.502886 + 0.0722)) < 1e-6);
    ih_histogram_clear(&h, 1); /* the curve is straight up to 10 */
    h.n_pixels = h.bins[0][10] = 1;
    assert_true(fabs(ih_mean_luminance(&h) - 10 / 255.0 / 12.92) < 1e-12);
    h.bins[0][10] = 0;
    h.bins[0][11] = 1;
    assert_true(fabs(ih_mean_luminance(&h) - pow((11 / 255.0 + 0.055) / 1.055, 2.4)) < 1e-12);
    ih_histogram_clear(&h, 2);
    h.n_pixels = 2;
    h.bins[0][188] = h.bins[0][10] = 1; /* 10 lies on the straight part: 10 / 255 / 12.92 */
    assert_true(fabs(ih_mean_luminance(&h) - (0.502886 + 10 / 255.0 / 12.92) / 2) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source_over_a_pipe),
        cmocka_unit_test(test_source_read_all),
        cmocka_unit_test(test_source_read_all_limit),
        cmocka_unit_test(test_source_errors),
        cmocka_unit_test(test_stats_against_brute_force),
        cmocka_unit_test(test_percentiles_of_large_counts),
        cmocka_unit_test(test_stats_without_pixels),
        cmocka_unit_test(test_adding_and_checking),
        cmocka_unit_test(test_mean_luminance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
