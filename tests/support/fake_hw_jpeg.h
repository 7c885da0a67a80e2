/*
 * Hardware JPEG decoders without a GPU: they decode as the CPU does, and fail when a test says so.
 */
#ifndef IH_TESTS_FAKE_HW_JPEG_H
#define IH_TESTS_FAKE_HW_JPEG_H

#include "tests/support/test.h"

#include "jpeg_gpu/hw_jpeg.h"
#include "scan/scan.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { NEVER = 1000000 };

/* What the decoders do, and what has happened. */
static struct {
    unsigned fails_at;     /* the batch in which the GPU fails */
    bool is_missing;       /* no session starts */
    bool has_tried;        /* to start a session */
    bool fails_on_gray;    /* every batch with a gray file fails */
    bool is_held;          /* batches wait until this is false */
    unsigned n_units;      /* GPUs of the device; 0: one */
    unsigned rejects;      /* one job in so many is rejected; 0: none */
    uint64_t pixels_max;   /* of the images that are accepted; 0: all */
    unsigned start_ms;     /* how long the start takes */
    unsigned batch_ms;     /* how much longer than on the CPU a batch takes */
    bool start_is_held;    /* the start ends when this is false */
    const char *from, *to; /* not NULL: the next batch renames one file to the other, and rejects
                              its first job */
    unsigned n_batches, n_jobs, n_largest, n_stops;
    pthread_mutex_t lock;
    pthread_cond_t on_change;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .on_change = PTHREAD_COND_INITIALIZER};

static inline void sleep_ms(unsigned ms)
{
    const struct timespec a_while = {.tv_nsec = (long)ms * 1000 * 1000};
    nanosleep(&a_while, NULL);
}

static inline enum ih_status session_start(void *unit, void *first, void **session,
                                           struct ih_error *err)
{
    pthread_mutex_lock(&fake.lock);
    fake.has_tried = true;
    while (fake.start_is_held)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    sleep_ms(fake.start_ms);
    if (fake.is_missing)
        return ih_error_set(err, IH_UNAVAILABLE, "no decoders");
    *session = unit;
    return IH_OK;
}

static inline const char *session_describe(void *session)
{
    assert_non_null(session);
    return "2 decoders of the tests";
}

static inline bool session_accepts(void *session, uint32_t width, uint32_t height)
{
    assert_non_null(session);
    return fake.pixels_max == 0 || (uint64_t)width * height <= fake.pixels_max;
}

static inline void session_stop(void *session)
{
    assert_non_null(session);
    pthread_mutex_lock(&fake.lock);
    fake.n_stops++;
    pthread_mutex_unlock(&fake.lock);
}

/* Decodes and counts on the CPU. */
static inline void decode_job(struct ih_hw_jpeg_job *job)
{
    const struct ih_scan_options options = {.decode = {.max_pixels = UINT64_MAX},
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
    job->counted_by = "hardware";
    job->decoder = "tests 1.0";
    job->kernel = "none";
    ih_lane_close(lane);
    ih_device_close(device);
    ih_source_reset(&src);
    free(result);
}

static inline enum ih_status session_batch(void *session, struct ih_hw_jpeg_job *const *jobs,
                                           unsigned n, struct ih_error *err)
{
    assert_non_null(session);
    assert_true(n >= 1 && n <= IH_HW_JPEG_BATCH_MAX);
    pthread_mutex_lock(&fake.lock);
    while (fake.is_held)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    bool fails = fake.n_batches++ == fake.fails_at;
    fake.n_largest = n > fake.n_largest ? n : fake.n_largest;
    fake.n_jobs += n;
    const bool renames = fake.from && rename(fake.from, fake.to) == 0;
    fake.from = NULL;
    pthread_mutex_unlock(&fake.lock);
    sleep_ms(fake.batch_ms);
    for (unsigned i = 0; i < n && fake.fails_on_gray; i++) {
        if (jobs[i]->n_components > 1)
            continue;
        ih_error_set(err, IH_UNSUPPORTED, "gray");
        for (i = 0; i < n; i++)
            jobs[i]->error = *err, jobs[i]->status = err->status;
        return err->status;
    }
    for (unsigned i = 0; i < n; i++) {
        const bool rejects =
            (renames && i == 0) || (fake.rejects > 0 && i % fake.rejects == fake.rejects - 1);
        if (!fails && rejects)
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_LIMIT, "too large");
        else if (!fails)
            decode_job(jobs[i]);
        else
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_DEVICE, "GPU failed");
    }
    return fails ? ih_error_set(err, IH_DEVICE, "GPU failed") : IH_OK;
}

static inline enum ih_status n_units(int *n, struct ih_error *err)
{
    *n = fake.n_units ? (int)fake.n_units : 1;
    return IH_OK;
}

static const struct ih_hw_jpeg_backend fake_hw_jpeg = {.start = session_start,
                                                       .describe = session_describe,
                                                       .accepts = session_accepts,
                                                       .batch = session_batch,
                                                       .stop = session_stop,
                                                       .n_sessions = 1};

/* The CPU as a device with several units, without or with itself as the stand-in. */
static inline const struct ih_backend *const *fake_backends(bool has_stand_in)
{
    static struct ih_backend backend;
    static const struct ih_backend *const alone[] = {&backend, NULL};
    static const struct ih_backend *const both[] = {&backend, &ih_backend_cpu, NULL};
    backend = ih_backend_cpu;
    backend.name = "fake";
    backend.n_units = n_units;
    return has_stand_in ? both : alone;
}

#endif
