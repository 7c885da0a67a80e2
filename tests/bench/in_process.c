/*
 * in_process THREADS LIST: counts the image files in LIST, one a line, in this process, and
 * computes their statistics, but prints nothing. It measures the cost of formats that imghist
 * decodes in decoder processes if it did not.
 *
 * Exits with 1 if a file cannot be counted: a failed run must not become a figure.
 */
#define _POSIX_C_SOURCE 200809L

#include <imghist.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256 };

static struct {
    pthread_mutex_t lock; /* guards list and has_failed */
    FILE *list;
    int has_failed;
    struct ih_context *context;
} job = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the next path; free() it. NULL: the end. */
static char *next_path(void)
{
    char *path = NULL;
    size_t size = 0;
    pthread_mutex_lock(&job.lock);
    const ssize_t n = getline(&path, &size, job.list);
    pthread_mutex_unlock(&job.lock);
    if (n > 0 && path[n - 1] == '\n')
        path[n - 1] = '\0';
    if (n > 0)
        return path;
    free(path);
    return NULL;
}

static void *work(void *unused)
{
    struct ih_counts *counts = NULL;
    struct ih_error err;
    struct ih_summary summary;
    struct ih_stats stats;
    if (ih_counts_open(&counts, &err) != IH_OK)
        abort();
    for (char *path; (path = next_path()); free(path)) {
        if (ih_count_file(job.context, path, counts, &err) != IH_OK) {
            fprintf(stderr, "in_process: %s: %s\n", path, err.message);
            pthread_mutex_lock(&job.lock);
            job.has_failed = 1;
            pthread_mutex_unlock(&job.lock);
            continue;
        }
        ih_counts_summary(counts, &summary, sizeof summary);
        for (unsigned plane = 0; plane < IH_PLANES; plane++)
            if (ih_counts_plane(counts, plane))
                ih_counts_stats(counts, plane, &stats, sizeof stats, &err);
    }
    ih_counts_close(counts);
    return unused;
}

int main(int argc, char **argv)
{
    const int n_threads = argc == 3 ? atoi(argv[1]) : 0;
    const struct ih_settings settings = {.device = "cpu", .n_threads = (unsigned)n_threads};
    pthread_t threads[THREADS_MAX];
    struct ih_error err;
    if (n_threads < 1 || n_threads > THREADS_MAX) {
        fprintf(stderr, "usage: in_process THREADS LIST\n");
        return 2;
    }
    job.list = fopen(argv[2], "r");
    if (!job.list || ih_context_open(&settings, sizeof settings, &job.context, &err) != IH_OK) {
        fprintf(stderr, "in_process: cannot open %s\n", argv[2]);
        return 1;
    }
    for (int i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            abort();
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    ih_context_close(job.context);
    fclose(job.list);
    return job.has_failed;
}
