/*
 * Hardware JPEG decoders that decode nothing and do what `fake` says, and jobs for them.
 */
#ifndef IH_TESTS_HW_JPEG_JOBS_H
#define IH_TESTS_HW_JPEG_JOBS_H

#include "tests/support/test.h"

#include "jpeg_gpu/hw_jpeg.h"
#include <pthread.h>
#include <sched.h>

enum { CALLS_MAX = 400, JOBS_MAX = 400, N_UNITS_MAX = 4 };

struct job {
    struct ih_hw_jpeg_job job;
    bool is_odd; /* every batch with it fails */
    unsigned n_decoded, n_done;
    enum ih_hw_jpeg_room room_when_done;
};

static struct {
    pthread_mutex_t lock; /* guards all of this */
    pthread_cond_t on_change;
    unsigned n_units;
    unsigned n_sessions;                /* of a unit; 0: 1 */
    bool cannot_start;                  /* all sessions */
    unsigned n_others[N_UNITS_MAX];     /* sessions beside the first that have not stopped */
    unsigned n_started, n_starting;     /* calls of start: finished, running */
    bool is_held;                       /* batches wait */
    bool start_waits[N_UNITS_MAX];      /* the unit's start waits for this */
    bool breaks[N_UNITS_MAX];           /* the next batch breaks the session */
    bool fails_always;                  /* every batch fails */
    bool lets_start;                    /* the first `done` lets units start and waits */
    unsigned done_after_calls;          /* each `done` waits for so many calls of batch */
    struct ih_hw_jpeg *hw;              /* under test */
    unsigned n_calls, n_of[CALLS_MAX];  /* jobs */
    size_t n_bytes_of[CALLS_MAX];       /* of their streams */
    unsigned n_by_unit[N_UNITS_MAX];    /* jobs */
    unsigned n_stopped, n_done, n_jobs; /* n_jobs: queued */
    struct job jobs[JOBS_MAX];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .on_change = PTHREAD_COND_INITIALIZER};

/* Units and sessions are identified by their addresses. The first session of a unit is the unit;
 * further ones follow, a row for each. */
static unsigned char units[N_UNITS_MAX * IH_HW_JPEG_SESSIONS_MAX];

static inline unsigned unit_of(void *session)
{
    return (unsigned)((unsigned char *)session - units) % N_UNITS_MAX;
}

/* Sets a value that other threads wait for. */
static inline void set(bool *what, bool value)
{
    pthread_mutex_lock(&fake.lock);
    *what = value;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

/* Waits until *n is at least `least`. */
static inline void wait_for(const unsigned *n, unsigned least)
{
    pthread_mutex_lock(&fake.lock);
    while (*n < least)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static inline enum ih_status session_start(void *unit, void *first, void **session,
                                           struct ih_error *err)
{
    pthread_mutex_lock(&fake.lock);
    fake.n_starting++;
    pthread_cond_broadcast(&fake.on_change);
    assert_true(fake.n_starting <= fake.n_units); /* one of each unit at a time */
    while (fake.start_waits[unit_of(unit)])
        pthread_cond_wait(&fake.on_change, &fake.lock);
    fake.n_starting--;
    fake.n_started++;
    const bool is_started = !fake.cannot_start;
    const unsigned n_others = is_started && first ? ++fake.n_others[unit_of(unit)] : 0;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
    *session = (unsigned char *)unit + n_others * N_UNITS_MAX;
    return is_started ? IH_OK : ih_error_set(err, IH_UNAVAILABLE, "no decoders");
}

static inline const char *session_describe(void *session)
{
    return "decoders";
}

static inline void session_stop(void *session)
{
    pthread_mutex_lock(&fake.lock);
    if ((unsigned char *)session >= units + N_UNITS_MAX)
        fake.n_others[unit_of(session)]--;
    else
        assert_int_equal(fake.n_others[unit_of(session)], 0);
    fake.n_stopped++;
    pthread_mutex_unlock(&fake.lock);
}

/* Decodes the jobs before the first odd one; the rest of the batch fails. The lock is held. */
static inline enum ih_status decode_all(struct ih_hw_jpeg_job *const *jobs, unsigned n,
                                        struct ih_error *err)
{
    enum ih_status status = IH_OK;
    for (unsigned i = 0; i < n; i++) {
        struct job *job = (struct job *)jobs[i];
        if (job->is_odd || fake.fails_always)
            status = ih_error_set(err, IH_UNSUPPORTED, "odd");
        if (status == IH_OK)
            job->n_decoded++;
        else
            jobs[i]->error = *err;
        jobs[i]->status = status;
    }
    return status;
}

static inline enum ih_status session_batch(void *session, struct ih_hw_jpeg_job *const *jobs,
                                           unsigned n, struct ih_error *err)
{
    enum ih_status status;
    unsigned unit = unit_of(session);
    pthread_mutex_lock(&fake.lock);
    assert_true(n >= 1 && n <= IH_HW_JPEG_BATCH_MAX && fake.n_calls < CALLS_MAX);
    for (unsigned i = 0; i < n; i++)
        fake.n_bytes_of[fake.n_calls] += jobs[i]->stream_bytes;
    fake.n_of[fake.n_calls++] = n;
    fake.n_by_unit[unit] += n;
    pthread_cond_broadcast(&fake.on_change);
    while (fake.is_held)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    if (fake.breaks[unit]) {
        status = ih_error_set(err, IH_DEVICE, "GPU failed");
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
    *n = (int)fake.n_units;
    return IH_OK;
}

static inline enum ih_status unit_start(const struct ih_backend_options *options, int ordinal,
                                        void **state, struct ih_error *err)
{
    *state = &units[ordinal];
    return IH_OK;
}

static inline void unit_stop(void *state)
{
}

static inline const char *unit_describe(void *state)
{
    return "fake";
}

static inline const struct ih_hw_jpeg_backend *hw_backend(void)
{
    static struct ih_hw_jpeg_backend backend;
    backend = (struct ih_hw_jpeg_backend){.start = session_start,
                                          .describe = session_describe,
                                          .batch = session_batch,
                                          .stop = session_stop,
                                          .n_sessions = fake.n_sessions ? fake.n_sessions : 1};
    return &backend;
}

static inline struct ih_device *open_device(void)
{
    static struct ih_backend backend;
    static const struct ih_backend *const list[] = {&backend, NULL};
    const struct ih_device_options options = {.backends = list, .n_lanes = fake.n_units};
    struct ih_device *device = NULL;
    backend = ih_backend_cpu; /* its lanes are not used */
    backend.name = "fake";
    backend.n_units = n_units;
    backend.start = unit_start;
    backend.stop = unit_stop;
    backend.describe = unit_describe;
    assert_int_equal(ih_device_open(&options, &device, NULL), IH_OK);
    return device;
}

static inline void on_done(struct ih_hw_jpeg_job *ih_job)
{
    struct job *job = (struct job *)ih_job;
    enum ih_hw_jpeg_room room = ih_hw_jpeg_room(fake.hw);
    if (fake.lets_start) {
        fake.lets_start = false; /* no other thread reads it now */
        for (unsigned i = 0; i < fake.n_units; i++)
            set(&fake.start_waits[i], false);
        while (ih_hw_jpeg_room(fake.hw) == IH_HW_JPEG_NONE)
            sched_yield();
    }
    wait_for(&fake.n_calls, fake.done_after_calls);
    pthread_mutex_lock(&fake.lock);
    job->room_when_done = room;
    job->n_done++;
    fake.n_done++;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

/* Queues n jobs with streams of n_bytes, which are never read. One job in odd_step is odd. */
static inline void queue_sized(unsigned n, size_t n_bytes, unsigned odd_step, uint32_t width,
                               uint32_t height)
{
    for (unsigned i = 0; i < n; i++) {
        struct job *job = &fake.jobs[fake.n_jobs++];
        *job = (struct job){.is_odd = odd_step > 0 && i % odd_step == odd_step - 1};
        job->job.stream_bytes = n_bytes;
        job->job.width = width;
        job->job.height = height;
        job->job.status = IH_USAGE; /* not set yet */
        job->job.done = on_done;
        assert_true(ih_hw_jpeg_submit(fake.hw, &job->job));
    }
}

/* The same for photos, of which IH_HW_JPEG_BATCH_LARGE are a batch. */
static inline void queue(unsigned n, size_t n_bytes, unsigned odd_step)
{
    queue_sized(n, n_bytes, odd_step, 6000, 4000);
}

/* Forgets what has happened, and opens the queue of n units. Batches wait. */
static inline struct ih_device *begin_start(unsigned n)
{
    memset(fake.jobs, 0, sizeof fake.jobs);
    memset(fake.n_of, 0, sizeof fake.n_of);
    memset(fake.n_bytes_of, 0, sizeof fake.n_bytes_of);
    memset(fake.n_by_unit, 0, sizeof fake.n_by_unit);
    memset(fake.breaks, 0, sizeof fake.breaks);
    fake.n_calls = fake.n_done = fake.n_jobs = fake.n_stopped = fake.n_started = 0;
    fake.fails_always = fake.lets_start = false;
    fake.done_after_calls = 0;
    fake.n_units = n;
    fake.is_held = true;
    struct ih_device *device = open_device();
    assert_int_equal(ih_hw_jpeg_open(device, hw_backend(), &fake.hw, NULL), IH_OK);
    return device;
}

/* Starts n units. The first batch, with a job of its own, waits; jobs queued meanwhile make a
 * batch. */
static inline struct ih_device *begin(unsigned n)
{
    struct ih_device *device = begin_start(n);
    assert_int_equal(ih_hw_jpeg_wait(fake.hw, NULL), IH_OK);
    queue(1, 1, 0);
    wait_for(&fake.n_calls, 1);
    return device;
}

/* Every job is done once, and decoded once if its status says so. */
static inline void end(struct ih_device *device)
{
    set(&fake.is_held, false);
    ih_hw_jpeg_close(fake.hw);
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
