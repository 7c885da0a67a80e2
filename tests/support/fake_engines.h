/*
 * Engines without a GPU: a backend that says that it has some, and decodes what it is given as the
 * processor does. Include it after cmocka.h.
 */
#ifndef IH_TESTS_FAKE_ENGINES_H
#define IH_TESTS_FAKE_ENGINES_H

#include "jpeg_gpu/engines.h"
#include "pipeline/pipeline.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NEVER = 1000000 };

/* What they are to do, and what they have seen. */
static struct {
    unsigned fails_at;     /* the batch in which they break */
    bool is_missing;       /* they do not start */
    bool has_tried;        /* to start */
    bool dislikes;         /* gray files, and every batch with one */
    bool is_held;          /* a batch ends only when this is no longer so */
    unsigned n_units;      /* GPUs that the device has; 0: one */
    unsigned returns;      /* every so manieth job is given back; 0: none */
    unsigned start_ms;     /* how long they take to start, */
    bool starts_never;     /* or that they never do */
    const char *from, *to; /* not NULL: one file takes the other's place, whose job is the next, and
                              is given back */
    unsigned n_batches, n_jobs, n_largest, n_stops;
    pthread_mutex_t lock;
    pthread_cond_t on_change;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .on_change = PTHREAD_COND_INITIALIZER};

static inline enum ih_status engine_start(void *unit, void **engine, struct ih_error *err)
{
    pthread_mutex_lock(&fake.lock);
    fake.has_tried = true;
    pthread_mutex_unlock(&fake.lock);
    const struct timespec a_while = {.tv_nsec = (long)fake.start_ms * 1000 * 1000};
    nanosleep(&a_while, NULL);
    while (fake.starts_never)
        pause();
    if (fake.is_missing)
        return ih_error_set(err, IH_UNAVAILABLE, "somebody took them");
    *engine = unit;
    return IH_OK;
}

static inline const char *engine_describe(void *engine)
{
    assert_non_null(engine);
    return "2 engines of the tests";
}

static inline void engine_stop(void *engine)
{
    assert_non_null(engine);
    pthread_mutex_lock(&fake.lock);
    fake.n_stops++;
    pthread_mutex_unlock(&fake.lock);
}

/* As the processor does it. */
static inline void decode_job(struct ih_jpeg_job *job)
{
    const struct ih_pipeline_options options = {.decode = {.max_pixels = UINT64_MAX},
                                                .luma = job->spec.luma,
                                                .clip_low = job->spec.clip_low,
                                                .clip_high = job->spec.clip_high};
    const struct ih_device_options cpu = {.backend = "cpu"};
    const struct ih_input input = {
        .path = NULL, .bytes = job->stream, .size_bytes = job->stream_bytes};
    struct ih_result *result = malloc(sizeof *result);
    struct ih_device *device = NULL;
    struct ih_lane *lane = NULL;
    struct ih_source src = {0};
    assert_non_null(result);
    assert_int_equal(ih_device_open(&cpu, &device, NULL), IH_OK);
    assert_int_equal(ih_lane_open(device, &lane, NULL), IH_OK);
    ih_count_input(&options, &input, lane, &src, result);
    assert_int_equal(result->status, IH_OK);
    assert_int_equal(result->info.width, job->width);
    assert_int_equal(result->info.height, job->height);
    assert_int_equal(result->info.n_channels, job->n_components);
    *job->out = result->histogram;
    job->status = IH_OK;
    job->counted_by = "engines";
    job->decoder = "tests 1.0";
    job->kernel = "none";
    ih_lane_close(lane);
    ih_device_close(device);
    ih_source_reset(&src);
    free(result);
}

static inline enum ih_status engine_batch(void *engine, struct ih_jpeg_job *const *jobs, unsigned n,
                                          struct ih_error *err)
{
    assert_non_null(engine);
    assert_true(n >= 1 && n <= IH_JPEG_BATCH_MAX);
    pthread_mutex_lock(&fake.lock);
    while (fake.is_held)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    bool breaks = fake.n_batches++ == fake.fails_at;
    fake.n_largest = n > fake.n_largest ? n : fake.n_largest;
    fake.n_jobs += n;
    const bool exchanges = fake.from && rename(fake.from, fake.to) == 0;
    fake.from = NULL;
    pthread_mutex_unlock(&fake.lock);
    for (unsigned i = 0; i < n && fake.dislikes; i++) {
        if (jobs[i]->n_components > 1)
            continue;
        ih_error_set(err, IH_UNSUPPORTED, "gray");
        for (i = 0; i < n; i++)
            jobs[i]->error = *err, jobs[i]->status = err->status;
        return err->status;
    }
    for (unsigned i = 0; i < n; i++) {
        const bool returns =
            (exchanges && i == 0) || (fake.returns > 0 && i % fake.returns == fake.returns - 1);
        if (!breaks && returns)
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_LIMIT, "too large");
        else if (!breaks)
            decode_job(jobs[i]);
        else
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_DEVICE, "it rattles");
    }
    return breaks ? ih_error_set(err, IH_DEVICE, "it rattles") : IH_OK;
}

static inline enum ih_status n_units(int *n, struct ih_error *err)
{
    (void)err;
    *n = fake.n_units ? (int)fake.n_units : 1;
    return IH_OK;
}

static inline const struct ih_backend *const *fakes(void)
{
    static const struct ih_jpeg_backend jpeg = {.start = engine_start,
                                                .describe = engine_describe,
                                                .batch = engine_batch,
                                                .stop = engine_stop};
    static struct ih_backend backend;
    static const struct ih_backend *const list[] = {&backend, NULL};
    backend = ih_backend_cpu;
    backend.name = "fake";
    backend.n_units = n_units;
    backend.jpeg = &jpeg;
    return list;
}

#endif
