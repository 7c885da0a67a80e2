/*
 * jpeg_walk RUNS FILE...: what one core takes to walk JPEG files that are in memory (jpeg_walk.h),
 * and to decode the same files with libjpeg-turbo, as the processors' path does.
 *
 * The two take turns on each file, RUNS times; a file's time is the median, the figures are sums
 * over files. Files that are not for the engines are left out, and counted by reason.
 */
#define _POSIX_C_SOURCE 200809L

#include "decode/decoder.h"
#include "jpeg_gpu/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BAND_BYTES = 128 * 1024, RUNS_MAX = 101, N_KINDS = 6, N_REASONS_MAX = 64 };

struct file {
    const char *path;
    uint8_t *bytes;
    size_t size;
    struct ih_jpeg_plan plan;
};

struct sum {
    const char *name;
    int n_files;
    double megapixels, megabytes, walk_s, decode_s;
};

/* The processor time of this thread, so that the turns that other programs take do not count. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *path, const char *why)
{
    fprintf(stderr, "jpeg_walk: %s: %s\n", path, why);
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

static void time_file(const struct file *file, int n_runs, double *walk_s, double *decode_s)
{
    double walks[RUNS_MAX], decodes[RUNS_MAX];
    for (int run = 0; run < n_runs; run++) {
        struct ih_jpeg_plan plan;
        const char *why_not;
        double start = now_s();
        if (!ih_jpeg_walk(file->bytes, file->size, &plan, &why_not))
            die(file->path, why_not);
        double middle = now_s();
        decode(file);
        walks[run] = middle - start;
        decodes[run] = now_s() - middle;
    }
    qsort(walks, (size_t)n_runs, sizeof(double), compare);
    qsort(decodes, (size_t)n_runs, sizeof(double), compare);
    *walk_s = walks[n_runs / 2];
    *decode_s = decodes[n_runs / 2];
}

/* Files left out. */
static struct {
    const char *why;
    int n_files;
} reasons[N_REASONS_MAX];

static void leave_out(const char *why)
{
    for (int i = 0; i < N_REASONS_MAX; i++)
        if (!reasons[i].why || strcmp(reasons[i].why, why) == 0) {
            reasons[i].why = why;
            reasons[i].n_files++;
            return;
        }
}

/* False where the engines would not get it. */
static bool load(const char *path, struct file *file)
{
    struct ih_source src = {0};
    struct ih_error err;
    const char *why_not;
    file->path = path;
    if (ih_source_open_path(&src, path, &err) != IH_OK ||
        ih_source_read_all(&src, SIZE_MAX / 2, &file->bytes, &file->size, &err) != IH_OK)
        die(path, err.message);
    ih_source_reset(&src);
    if (ih_jpeg_walk(file->bytes, file->size, &file->plan, &why_not))
        return true;
    leave_out(why_not);
    free(file->bytes);
    return false;
}

static void add(struct sum *sum, const struct file *file, double walk_s, double decode_s)
{
    sum->n_files++;
    sum->megapixels += (double)file->plan.width * file->plan.height * 1e-6;
    sum->megabytes += (double)file->size * 1e-6;
    sum->walk_s += walk_s;
    sum->decode_s += decode_s;
}

static void print(const struct sum *s)
{
    if (s->n_files > 0)
        printf("%-8s %6d %8.1f %8.1f %12.0f %12.0f %14.0f %8.2f\n", s->name, s->n_files,
               s->megapixels, s->megabytes, s->megapixels / s->walk_s, s->megabytes / s->walk_s,
               s->megapixels / s->decode_s, s->decode_s / s->walk_s);
}

int main(int argc, char **argv)
{
    static struct sum sums[N_KINDS] = {{.name = "4:4:4"}, {.name = "4:2:2"}, {.name = "4:4:0"},
                                       {.name = "4:2:0"}, {.name = "gray"},  {.name = "all"}};
    int n_runs = argc > 2 ? atoi(argv[1]) : 0;
    if (n_runs < 1 || n_runs > RUNS_MAX) {
        fputs("usage: jpeg_walk RUNS FILE...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        struct file file;
        double walk_s, decode_s;
        if (!load(argv[i], &file))
            continue;
        const struct ih_jpeg_plan *p = &file.plan;
        int kind = p->n_components == 1 ? 4 : (int)(p->chroma_h - 1) + 2 * (int)(p->chroma_v - 1);
        time_file(&file, n_runs, &walk_s, &decode_s);
        add(&sums[kind], &file, walk_s, decode_s);
        add(&sums[N_KINDS - 1], &file, walk_s, decode_s);
        free(file.bytes);
    }
    printf("%-8s %6s %8s %8s %12s %12s %14s %8s\n", "", "files", "MP", "MB", "walk MP/s",
           "walk MB/s", "libjpeg MP/s", "ratio");
    for (int k = 0; k < N_KINDS; k++)
        print(&sums[k]);
    for (int i = 0; i < N_REASONS_MAX && reasons[i].why; i++)
        printf("%d files left out: %s\n", reasons[i].n_files, reasons[i].why);
    return 0;
}
