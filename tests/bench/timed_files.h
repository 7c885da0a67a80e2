/* What jpeg_validate and png_paths share: files in memory, decoding them, and medians of CPU time.
 */
#ifndef IH_TESTS_TIMED_FILES_H
#define IH_TESTS_TIMED_FILES_H

#include "decode/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BAND_BYTES = 128 * 1024, RUNS_MAX = 101 };

struct file {
    const char *path;
    uint8_t *bytes; /* owned */
    size_t size;
};

/* The CPU time of this thread, page faults included, so that other programs do not disturb it. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const struct file *file, const char *why)
{
    fprintf(stderr, "%s: %s\n", file->path, why);
    exit(1);
}

static struct file read_file(const char *path)
{
    struct file file = {.path = path};
    struct ih_source src = {0};
    struct ih_error err;
    if (ih_source_open_path(&src, path, &err) != IH_OK ||
        ih_source_read_all(&src, SIZE_MAX / 2, &file.bytes, &file.size, &err) != IH_OK)
        die(&file, err.message);
    ih_source_reset(&src);
    return file;
}

/* Decodes into a small buffer that stays in the cache; the pixels are not read. */
static void decode(const struct file *file, uint64_t held_bytes_max)
{
    static uint8_t *band;
    static size_t size;
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX,
                                              .held_bytes_max = held_bytes_max};
    struct ih_source src = {0};
    struct ih_decode d;
    struct ih_error err;
    size_t n = 1;
    ih_source_open_memory(&src, file->bytes, file->size);
    if (ih_decode_open(&d, &src, &options, &err) != IH_OK)
        die(file, err.message);
    size_t wanted = ih_decode_row_bytes(&d) > BAND_BYTES ? ih_decode_row_bytes(&d) : BAND_BYTES;
    if (wanted > size) {
        free(band);
        band = malloc(wanted);
        size = wanted;
    }
    while (n > 0)
        if (ih_decode_read(&d, band, size / d.info.n_channels, &n, &err) != IH_OK)
            die(file, err.message);
    ih_decode_close(&d);
    ih_source_close(&src);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof *times, compare);
    return times[n / 2];
}

/* The first argument, if it is a number of runs and files follow. */
static int runs_of(int argc, char **argv)
{
    const int n_runs = argc > 2 ? atoi(argv[1]) : 0;
    if (n_runs < 1 || n_runs > RUNS_MAX) {
        fprintf(stderr, "usage: %s RUNS FILE...\n", argv[0]);
        exit(2);
    }
    return n_runs;
}

#endif
