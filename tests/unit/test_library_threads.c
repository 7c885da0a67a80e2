/* Threads: many threads share one context, or each has its own. Run it under the thread sanitizer,
 * too. */
#include "tests/support/library_data.h"
#include <pthread.h>

enum { N_THREADS = 8, N_ROUNDS = 12, N_FILES = 3 };

struct file {
    uint8_t *bytes;
    size_t size_bytes;
    struct expected expected;
    unsigned n_channels;
};

struct job {
    struct ih_context *context; /* shared, or NULL: the thread opens its own */
    const struct file *files;
    struct ih_counts *sum;
    unsigned first;
    unsigned n_wrong; /* cmocka asserts only in the main thread */
};

static bool is_as_expected(const struct ih_counts *counts, const struct file *f)
{
    const uint64_t *luma = ih_counts_bins(counts, IH_LUMA);
    const struct ih_summary s = summary_of(counts);
    return luma && s.blown_any == f->expected.any_high && s.n_channels == f->n_channels &&
           memcmp(luma, f->expected.bins[LUMA_ROW], sizeof f->expected.bins[LUMA_ROW]) == 0;
}

static void *count(void *argument)
{
    struct job *job = argument;
    struct ih_context *own = NULL;
    struct ih_counts *counts = NULL;
    const struct ih_settings settings = {.device = "cpu", .max_memory = 1 << 20};
    if (ih_counts_open(&counts, NULL) != IH_OK ||
        (!job->context && ih_context_open(&settings, sizeof settings, &own, NULL) != IH_OK))
        job->n_wrong++;
    struct ih_context *context = job->context ? job->context : own;
    for (unsigned i = 0; i < N_ROUNDS && job->n_wrong == 0; i++) {
        const struct file *f = &job->files[(job->first + i) % N_FILES];
        if (i % 4 == 3) { /* failures must not disturb other calls */
            job->n_wrong += ih_count_memory(context, f->bytes, 40, counts, NULL) == IH_OK;
            job->n_wrong += ih_count_file(context, "/nowhere", counts, NULL) != IH_IO;
        }
        job->n_wrong += ih_count_memory(context, f->bytes, f->size_bytes, counts, NULL) != IH_OK;
        job->n_wrong += !is_as_expected(counts, f);
        job->n_wrong += ih_counts_add(job->sum, counts, NULL) != IH_OK;
    }
    ih_counts_close(counts);
    ih_context_close(own);
    return NULL;
}

static void run_threads(struct ih_context *context)
{
    struct file files[N_FILES];
    struct job jobs[N_THREADS];
    pthread_t threads[N_THREADS];
    uint64_t n_pixels = 0;
    for (unsigned i = 0; i < N_FILES; i++) {
        files[i].n_channels = i % 2 ? 3 : 1;
        files[i].size_bytes =
            make_pnm(211 + i, 307, files[i].n_channels, i, &files[i].bytes, &files[i].expected);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        jobs[i] =
            (struct job){.context = context, .files = files, .sum = open_counts(), .first = i};
        assert_int_equal(pthread_create(&threads[i], NULL, count, &jobs[i]), 0);
        for (unsigned k = 0; k < N_ROUNDS; k++)
            n_pixels += files[(i + k) % N_FILES].expected.n_pixels;
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(jobs[i].n_wrong, 0);
        if (i > 0) {
            assert_int_equal(ih_counts_add(jobs[0].sum, jobs[i].sum, NULL), IH_OK);
            ih_counts_close(jobs[i].sum);
        }
    }
    assert_int_equal(summary_of(jobs[0].sum).n_pixels, n_pixels);
    assert_int_equal(summary_of(jobs[0].sum).n_images, N_THREADS * N_ROUNDS);
    ih_counts_close(jobs[0].sum);
    for (unsigned i = 0; i < N_FILES; i++)
        free(files[i].bytes);
}

TEST(one_context_many_threads)
{
    const struct ih_settings settings = {.device = "cpu", .n_threads = N_THREADS};
    struct ih_context *context = NULL;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, NULL), IH_OK);
    run_threads(context);
    run_threads(context); /* again, with the lanes that the context kept */
    ih_context_close(context);
}

TEST(a_context_for_each_thread)
{
    run_threads(NULL);
}
