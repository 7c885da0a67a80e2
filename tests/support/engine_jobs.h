/*
 * Engines that decode nothing and do what `fake` says, and jobs for them. Include it after
 * cmocka.h.
 */
#ifndef IH_TESTS_ENGINE_JOBS_H
#define IH_TESTS_ENGINE_JOBS_H

#include "jpeg_gpu/engines.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { CALLS_MAX = 400, JOBS_MAX = 200, N_UNITS_MAX = 2 };

struct job {
    struct ih_jpeg_job job;
    bool is_odd; /* the engines do not like it */
    unsigned n_decoded, n_done;
    enum ih_jpeg_room room_when_done;
};

static struct {
    pthread_mutex_t lock; /* guards all of this */
    pthread_cond_t on_change;
    unsigned n_units;
    bool starts_two, cannot_start;      /* engines of each unit; the next one */
    unsigned n_started, n_starting;     /* calls of start: all, and under way */
    bool is_held;                       /* calls wait */
    bool starts_late[N_UNITS_MAX];      /* the unit's start waits */
    bool breaks[N_UNITS_MAX];           /* with the next call */
    bool likes_none;                    /* every call fails */
    bool lets_start;                    /* the first done lets units start, and waits for them */
    struct ih_jpeg_engines *engines;    /* that are tested */
    unsigned n_calls, n_of[CALLS_MAX];  /* jobs */
    size_t n_bytes_of[CALLS_MAX];       /* of their streams */
    unsigned n_by_unit[N_UNITS_MAX];    /* jobs */
    unsigned n_stopped, n_done, n_jobs; /* n_jobs: that were queued */
    struct job jobs[JOBS_MAX];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .on_change = PTHREAD_COND_INITIALIZER};

static unsigned char units[N_UNITS_MAX]; /* they are known by their addresses */

static inline unsigned unit_of(void *engine)
{
    return (unsigned)((unsigned char *)engine - units);
}

/* Sets what others wait for. */
static inline void set(bool *what, bool value)
{
    pthread_mutex_lock(&fake.lock);
    *what = value;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

/* Waits until *n has become so much. */
static inline void wait_for(const unsigned *n, unsigned least)
{
    pthread_mutex_lock(&fake.lock);
    while (*n < least)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static inline enum ih_status engine_start(void *unit, void **engine, struct ih_error *err)
{
    pthread_mutex_lock(&fake.lock);
    fake.n_starting++;
    assert_true(fake.n_starting <= fake.n_units); /* one of each at a time */
    while (fake.starts_late[unit_of(unit)])
        pthread_cond_wait(&fake.on_change, &fake.lock);
    fake.n_starting--;
    fake.n_started++;
    const bool is_started = !fake.cannot_start;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
    *engine = unit;
    return is_started ? IH_OK : ih_error_set(err, IH_UNAVAILABLE, "no fuel");
}

static inline const char *engine_describe(void *engine)
{
    (void)engine;
    return "engines";
}

static inline void engine_stop(void *engine)
{
    (void)engine;
    pthread_mutex_lock(&fake.lock);
    fake.n_stopped++;
    pthread_mutex_unlock(&fake.lock);
}

/* What comes before an odd file is decoded, and nothing else of its batch. The lock is held. */
static inline enum ih_status decode_all(struct ih_jpeg_job *const *jobs, unsigned n,
                                        struct ih_error *err)
{
    enum ih_status status = IH_OK;
    for (unsigned i = 0; i < n; i++) {
        struct job *job = (struct job *)jobs[i];
        if (job->is_odd || fake.likes_none)
            status = ih_error_set(err, IH_UNSUPPORTED, "odd");
        if (status == IH_OK)
            job->n_decoded++;
        else
            jobs[i]->error = *err;
        jobs[i]->status = status;
    }
    return status;
}

static inline enum ih_status engine_batch(void *engine, struct ih_jpeg_job *const *jobs, unsigned n,
                                          struct ih_error *err)
{
    enum ih_status status;
    unsigned unit = unit_of(engine);
    pthread_mutex_lock(&fake.lock);
    assert_true(n >= 1 && n <= IH_JPEG_BATCH_MAX && fake.n_calls < CALLS_MAX);
    for (unsigned i = 0; i < n; i++)
        fake.n_bytes_of[fake.n_calls] += jobs[i]->stream_bytes;
    fake.n_of[fake.n_calls++] = n;
    fake.n_by_unit[unit] += n;
    pthread_cond_broadcast(&fake.on_change);
    while (fake.is_held)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    if (fake.breaks[unit]) {
        status = ih_error_set(err, IH_DEVICE, "it rattles");
        for (unsigned i = 0; i < n; i++)
            jobs[i]->error = *err, jobs[i]->status = status;
    } else {
        status = decode_all(jobs, n, err);
    }
    pthread_mutex_unlock(&fake.lock);
    return status;
}

static inline enum ih_status n_units(int *n, struct ih_error *err)
{
    (void)err;
    *n = (int)fake.n_units;
    return IH_OK;
}

static inline enum ih_status unit_start(const struct ih_backend_options *options, int ordinal,
                                        void **state, struct ih_error *err)
{
    (void)options;
    (void)err;
    *state = &units[ordinal];
    return IH_OK;
}

static inline void unit_stop(void *state)
{
    (void)state;
}

static inline const char *unit_describe(void *state)
{
    (void)state;
    return "fake";
}

static inline struct ih_device *open_device(void)
{
    static struct ih_jpeg_backend jpeg;
    static struct ih_backend backend;
    static const struct ih_backend *const list[] = {&backend, NULL};
    const struct ih_device_options options = {.backends = list, .n_lanes = fake.n_units};
    struct ih_device *device = NULL;
    jpeg = (struct ih_jpeg_backend){engine_start, engine_describe, engine_batch, engine_stop,
                                    fake.starts_two};
    backend = ih_backend_cpu; /* its lanes are not used */
    backend.name = "fake";
    backend.n_units = n_units;
    backend.start = unit_start;
    backend.stop = unit_stop;
    backend.describe = unit_describe;
    backend.jpeg = &jpeg;
    assert_int_equal(ih_device_open(&options, &device, NULL), IH_OK);
    return device;
}

/* ---- jobs ---- */

static inline void on_done(struct ih_jpeg_job *ih_job)
{
    struct job *job = (struct job *)ih_job;
    enum ih_jpeg_room room = ih_jpeg_engines_room(fake.engines);
    if (fake.lets_start) {
        fake.lets_start = false; /* nobody else looks at it now */
        for (unsigned i = 0; i < fake.n_units; i++)
            set(&fake.starts_late[i], false);
        while (ih_jpeg_engines_room(fake.engines) == IH_JPEG_NONE)
            sched_yield();
    }
    pthread_mutex_lock(&fake.lock);
    job->room_when_done = room;
    job->n_done++;
    fake.n_done++;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

/* Queues n jobs whose streams are n_bytes long; nobody reads them. Every one in odd_step is odd. */
static inline void queue(unsigned n, size_t n_bytes, unsigned odd_step)
{
    for (unsigned i = 0; i < n; i++) {
        struct job *job = &fake.jobs[fake.n_jobs++];
        *job = (struct job){.is_odd = odd_step > 0 && i % odd_step == odd_step - 1};
        job->job.stream_bytes = n_bytes;
        job->job.status = IH_USAGE; /* nobody has said yet */
        job->job.done = on_done;
        assert_true(ih_jpeg_engines_take(fake.engines, &job->job));
    }
}

/* Engines whose first call, with a job of its own, waits: what is queued meanwhile is a batch. */
static inline struct ih_device *begin(unsigned n)
{
    struct ih_device *device;
    memset(fake.jobs, 0, sizeof fake.jobs);
    memset(fake.n_of, 0, sizeof fake.n_of);
    memset(fake.n_bytes_of, 0, sizeof fake.n_bytes_of);
    memset(fake.n_by_unit, 0, sizeof fake.n_by_unit);
    memset(fake.breaks, 0, sizeof fake.breaks);
    fake.n_calls = fake.n_done = fake.n_jobs = fake.n_stopped = fake.n_started = 0;
    fake.likes_none = fake.lets_start = false;
    fake.n_units = n;
    fake.is_held = true;
    device = open_device();
    assert_int_equal(ih_jpeg_engines_open(device, &fake.engines, NULL), IH_OK);
    assert_int_equal(ih_jpeg_engines_wait(fake.engines, NULL), IH_OK);
    queue(1, 1, 0);
    wait_for(&fake.n_calls, 1);
    return device;
}

/* Every job is done once, and decoded once where it says so. */
static inline void end(struct ih_device *device)
{
    set(&fake.is_held, false);
    ih_jpeg_engines_close(fake.engines);
    ih_device_close(device);
    assert_int_equal(fake.n_stopped, fake.n_started);
    assert_int_equal(fake.n_done, fake.n_jobs);
    for (unsigned i = 0; i < fake.n_jobs; i++) {
        const struct job *job = &fake.jobs[i];
        assert_int_equal(job->n_done, 1);
        assert_int_equal(job->n_decoded, job->job.status == IH_OK ? 1 : 0);
        assert_int_not_equal(job->job.status, IH_USAGE);
    }
}

#endif
