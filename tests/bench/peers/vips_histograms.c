/*
 * vips_histograms [--counts] WORKERS CONCURRENCY LIST: the per-channel histograms of the files that
 * LIST names, one a line, with libvips: WORKERS threads that each take the next file, and
 * CONCURRENCY threads of libvips's own to each. With --counts, prints
 *
 *     PATH,CHANNEL,BIN_0,...,BIN_255
 *
 * for each file and channel, in the order in which they are done.
 *
 * What its users do: hist_find over an image that is read from top to bottom. libvips counts 16-bit
 * samples in 65536 bins; msb makes them 8 bits first, which is v >> 8.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vips/vips.h>

enum { BINS = 256, WORKERS_MAX = 1024, PATHS_MAX = 1 << 20 };

static char *paths[PATHS_MAX];
static size_t n_paths;
static atomic_size_t next_path;
static bool print_counts;

static void fail(const char *path)
{
    fprintf(stderr, "vips_histograms: %s: %s\n", path, vips_error_buffer());
    exit(1);
}

static void print(const char *path, const unsigned *bins, int n_channels)
{
    static const char *const names[4][4] = {
        {"gray"}, {"gray", "alpha"}, {"red", "green", "blue"}, {"red", "green", "blue", "alpha"}};
    if (n_channels > 4)
        return;
    flockfile(stdout);
    for (int c = 0; c < n_channels; c++) {
        printf("%s,%s", path, names[n_channels - 1][c]);
        for (int v = 0; v < BINS; v++)
            printf(",%u", bins[v * n_channels + c]);
        printf("\n");
    }
    funlockfile(stdout);
}

static void count(const char *path)
{
    VipsImage *bytes = NULL, *histogram = NULL;
    size_t size_bytes;
    VipsImage *image = vips_image_new_from_file(path, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    if (!image || (image->BandFmt == VIPS_FORMAT_UCHAR ? vips_copy(image, &bytes, NULL)
                                                       : vips_msb(image, &bytes, NULL)) != 0)
        fail(path);
    if (vips_hist_find(bytes, &histogram, NULL) != 0 || histogram->Xsize > BINS)
        fail(path);
    unsigned *bins = vips_image_write_to_memory(histogram, &size_bytes);
    if (!bins)
        fail(path);
    if (print_counts) {
        const int n_channels = histogram->Bands;
        unsigned full[BINS * 4] = {0}; /* libvips leaves out what is above the highest value */
        if (n_channels <= 4)
            memcpy(full, bins, (size_t)histogram->Xsize * (size_t)n_channels * sizeof *full);
        print(path, full, n_channels);
    }
    g_free(bins);
    g_object_unref(histogram);
    g_object_unref(bytes);
    g_object_unref(image);
}

static void *work(void *unused)
{
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next_path, 1)) < n_paths;)
        count(paths[i]);
    vips_thread_shutdown();
    return NULL;
}

static void read_list(const char *list)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *f = fopen(list, "r");
    if (!f) {
        perror(list);
        exit(1);
    }
    for (ssize_t n; (n = getline(&line, &capacity, f)) > 0 && n_paths < PATHS_MAX;) {
        line[strcspn(line, "\n")] = '\0';
        paths[n_paths] = strdup(line);
        if (!paths[n_paths++])
            exit(1);
    }
    free(line);
    fclose(f);
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS_MAX];
    print_counts = argc > 1 && strcmp(argv[1], "--counts") == 0;
    argv += print_counts;
    argc -= print_counts;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("%s\n", vips_version_string());
        return 0;
    }
    const long n_workers = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
    if (n_workers < 1 || n_workers > WORKERS_MAX) {
        fprintf(stderr, "usage: vips_histograms [--counts] WORKERS CONCURRENCY LIST\n");
        return 2;
    }
    if (VIPS_INIT(argv[0]) != 0)
        fail("start");
    vips_concurrency_set((int)strtol(argv[2], NULL, 10));
    vips_cache_set_max(0); /* a file that LIST names twice is decoded twice */
    read_list(argv[3]);
    for (long i = 0; i < n_workers; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    }
    for (long i = 0; i < n_workers; i++)
        pthread_join(threads[i], NULL);
    vips_shutdown();
    return fflush(stdout) == 0 ? 0 : 1;
}
