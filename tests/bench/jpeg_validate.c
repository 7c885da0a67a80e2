/*
 * jpeg_validate RUNS FILE...: measures how fast one core validates JPEG files that are in memory
 * (jpeg_gpu/validate.h), and how fast it decodes them with libjpeg-turbo.
 *
 * The two take turns on each file, RUNS times. A file's time is the median; the figures are sums
 * over all files. Files that the validator refuses are left out and counted by reason.
 */
#define _POSIX_C_SOURCE 200809L

#include "decode/decoder.h"
#include "jpeg_gpu/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BAND_BYTES = 128 * 1024, RUNS_MAX = 101, N_KINDS = 6 };

struct file {
    const char *path;
    uint8_t *bytes;
    size_t size;
    struct ih_jpeg_plan plan;
};

struct sum {
    const char *name;
    int n_files;
    double megapixels, megabytes, validate_s, decode_s;
};

/* CPU time of this thread: the time of other programs does not count. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *path, const char *why)
{
    fprintf(stderr, "jpeg_validate: %s: %s\n", path, why);
    exit(1);
}

static void decode(const struct file *file)
{
    static uint8_t *band;
    static size_t size;
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX};
    struct ih_source src = {0};
    struct ih_decode d;
    struct ih_error err;
    size_t n = 1;
    ih_source_open_memory(&src, file->bytes, file->size);
    if (ih_decode_open(&d, &src, &options, &err) != IH_OK)
        die(file->path, err.message);
    size_t wanted = ih_decode_row_bytes(&d) > BAND_BYTES ? ih_decode_row_bytes(&d) : BAND_BYTES;
    if (wanted > size) {
        free(band);
        band = malloc(wanted);
        size = wanted;
    }
    while (n > 0)
        if (ih_decode_read(&d, band, size / d.info.n_channels, &n, &err) != IH_OK)
            die(file->path, err.message);
    ih_decode_close(&d);
    ih_source_close(&src);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void time_file(const struct file *file, int n_runs, double *validate_s, double *decode_s)
{
    double validations[RUNS_MAX], decodes[RUNS_MAX];
    for (int run = 0; run < n_runs; run++) {
        struct ih_jpeg_plan plan;
        double start = now_s();
        const enum ih_jpeg_reason reason = ih_jpeg_validate(file->bytes, file->size, &plan);
        if (reason != IH_JPEG_REASON_NONE)
            die(file->path, ih_jpeg_reason_text(reason));
        double middle = now_s();
        decode(file);
        validations[run] = middle - start;
        decodes[run] = now_s() - middle;
    }
    qsort(validations, (size_t)n_runs, sizeof(double), compare);
    qsort(decodes, (size_t)n_runs, sizeof(double), compare);
    *validate_s = validations[n_runs / 2];
    *decode_s = decodes[n_runs / 2];
}

static int n_left_out[IH_JPEG_N_REASONS];

/* Returns false when the validator refuses the file. */
static bool load(const char *path, struct file *file)
{
    struct ih_source src = {0};
    struct ih_error err;
    file->path = path;
    if (ih_source_open_path(&src, path, &err) != IH_OK ||
        ih_source_read_all(&src, SIZE_MAX / 2, &file->bytes, &file->size, &err) != IH_OK)
        die(path, err.message);
    ih_source_reset(&src);
    const enum ih_jpeg_reason reason = ih_jpeg_validate(file->bytes, file->size, &file->plan);
    if (reason == IH_JPEG_REASON_NONE)
        return true;
    n_left_out[reason]++;
    free(file->bytes);
    return false;
}

static void add(struct sum *sum, const struct file *file, double validate_s, double decode_s)
{
    sum->n_files++;
    sum->megapixels += (double)file->plan.width * file->plan.height * 1e-6;
    sum->megabytes += (double)file->size * 1e-6;
    sum->validate_s += validate_s;
    sum->decode_s += decode_s;
}

static void print(const struct sum *s)
{
    if (s->n_files > 0)
        printf("%-8s %6d %8.1f %8.1f %12.0f %12.0f %14.0f %8.2f\n", s->name, s->n_files,
               s->megapixels, s->megabytes, s->megapixels / s->validate_s,
               s->megabytes / s->validate_s, s->megapixels / s->decode_s,
               s->decode_s / s->validate_s);
}

int main(int argc, char **argv)
{
    static struct sum sums[N_KINDS] = {{.name = "4:4:4"}, {.name = "4:2:2"}, {.name = "4:4:0"},
                                       {.name = "4:2:0"}, {.name = "gray"},  {.name = "all"}};
    int n_runs = argc > 2 ? atoi(argv[1]) : 0;
    if (n_runs < 1 || n_runs > RUNS_MAX) {
        fputs("usage: jpeg_validate RUNS FILE...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        struct file file;
        double validate_s, decode_s;
        if (!load(argv[i], &file))
            continue;
        const struct ih_jpeg_plan *p = &file.plan;
        int kind = p->n_components == 1 ? 4 : (int)(p->chroma_h - 1) + 2 * (int)(p->chroma_v - 1);
        time_file(&file, n_runs, &validate_s, &decode_s);
        add(&sums[kind], &file, validate_s, decode_s);
        add(&sums[N_KINDS - 1], &file, validate_s, decode_s);
        free(file.bytes);
    }
    printf("%-8s %6s %8s %8s %12s %12s %14s %8s\n", "", "files", "MP", "MB", "check MP/s",
           "check MB/s", "libjpeg MP/s", "ratio");
    for (int k = 0; k < N_KINDS; k++)
        print(&sums[k]);
    for (int i = 0; i < IH_JPEG_N_REASONS; i++)
        if (n_left_out[i] > 0)
            printf("%d files left out: %s\n", n_left_out[i],
                   ih_jpeg_reason_text((enum ih_jpeg_reason)i));
    return 0;
}
