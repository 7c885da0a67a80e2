/*
 * The queue before the JPEG engines, with engines that decode nothing: what makes a batch, and what
 * becomes of files when engines do not like one, none, or break.
 */
#define _XOPEN_SOURCE 700

#include "backend/jpeg_engines.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- engines ---- */

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

static unsigned unit_of(void *engine)
{
    return (unsigned)((unsigned char *)engine - units);
}

/* Sets what others wait for. */
static void set(bool *what, bool value)
{
    pthread_mutex_lock(&fake.lock);
    *what = value;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

/* Waits until *n has become so much. */
static void wait_for(const unsigned *n, unsigned least)
{
    pthread_mutex_lock(&fake.lock);
    while (*n < least)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static enum ih_status engine_start(void *unit, void **engine, struct ih_error *err)
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

static const char *engine_describe(void *engine)
{
    (void)engine;
    return "engines";
}

static void engine_stop(void *engine)
{
    (void)engine;
    pthread_mutex_lock(&fake.lock);
    fake.n_stopped++;
    pthread_mutex_unlock(&fake.lock);
}

/* What comes before an odd file is decoded, and nothing else of its batch. The lock is held. */
static enum ih_status decode_all(struct ih_jpeg_job *const *jobs, unsigned n, struct ih_error *err)
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

static enum ih_status engine_batch(void *engine, struct ih_jpeg_job *const *jobs, unsigned n,
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

static enum ih_status n_units(int *n, struct ih_error *err)
{
    (void)err;
    *n = (int)fake.n_units;
    return IH_OK;
}

static enum ih_status unit_start(const struct ih_backend_options *options, int ordinal,
                                 void **state, struct ih_error *err)
{
    (void)options;
    (void)err;
    *state = &units[ordinal];
    return IH_OK;
}

static void unit_stop(void *state)
{
    (void)state;
}

static const char *unit_describe(void *state)
{
    (void)state;
    return "fake";
}

static struct ih_device *open_device(void)
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

static void on_done(struct ih_jpeg_job *ih_job)
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
static void queue(unsigned n, size_t n_bytes, unsigned odd_step)
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
static struct ih_device *begin(unsigned n)
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
static void end(struct ih_device *device)
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

/* ---- tests ---- */

/* Of a batch that fails only what is odd goes back, and the engine goes on. */
static void test_odd_files(void **state)
{
    char text[200];
    struct ih_device *device = begin(1);
    (void)state;
    ih_jpeg_engines_describe(fake.engines, text, sizeof text);
    assert_string_equal(text, "engines");
    queue(IH_JPEG_BATCH_MAX, 1, 7);
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 1 + IH_JPEG_BATCH_MAX);
    /* All together, and all but the six before the first odd one once more. */
    assert_int_equal(fake.n_calls, 2 + IH_JPEG_BATCH_MAX - 6);
    assert_int_equal(fake.n_of[1], IH_JPEG_BATCH_MAX);
    assert_int_equal(ih_jpeg_engines_room(fake.engines), IH_JPEG_HAS_ROOM);
    assert_int_equal(ih_jpeg_engines_wait(fake.engines, NULL), IH_OK);
    ih_jpeg_engines_describe(fake.engines, text, sizeof text);
    assert_string_equal(text, "engines; the last given back: odd");
    queue(3, 1, 0);
    end(device);
    for (unsigned i = 0; i < fake.n_jobs; i++) {
        const struct job *job = &fake.jobs[i];
        assert_int_equal(job->job.status, job->is_odd ? IH_UNSUPPORTED : IH_OK);
        if (job->is_odd)
            assert_string_equal(job->job.error.message, "odd");
    }
}

/* Many odd ones do not end an engine, as long as there are others between them. */
static void test_many_odd_files(void **state)
{
    struct ih_device *device = begin(1);
    (void)state;
    set(&fake.is_held, false);
    for (unsigned i = 0; i < 4; i++)
        queue(IH_JPEG_BATCH_MAX, 1, 2);
    wait_for(&fake.n_done, fake.n_jobs);
    assert_int_equal(ih_jpeg_engines_wait(fake.engines, NULL), IH_OK);
    end(device);
    for (unsigned i = 0; i < fake.n_jobs; i++)
        assert_int_equal(fake.jobs[i].job.status, fake.jobs[i].is_odd ? IH_UNSUPPORTED : IH_OK);
}

/* One that likes no file at all ends after a few. */
static void test_likes_none(void **state)
{
    struct ih_error err;
    struct job late = {.is_odd = false};
    struct ih_device *device = begin(1);
    (void)state;
    queue(IH_JPEG_BATCH_MAX + 9, 1, 0);
    fake.likes_none = true; /* the engine's thread waits, with the lock given up */
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 1 + IH_JPEG_BATCH_MAX + 9);
    assert_int_equal(fake.n_calls, IH_JPEG_REFUSALS_MAX);
    assert_int_equal(ih_jpeg_engines_room(fake.engines), IH_JPEG_NONE);
    assert_int_equal(ih_jpeg_engines_wait(fake.engines, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "16 failures in a row, the last: odd");
    late.job.done = on_done;
    assert_false(ih_jpeg_engines_take(fake.engines, &late.job));
    end(device);
    for (unsigned i = 0; i < fake.n_jobs; i++)
        assert_int_not_equal(fake.jobs[i].job.status, IH_OK);
}

/* Large files make smaller batches, and the largest go alone. */
static void test_bytes(void **state)
{
    const size_t hundred = (size_t)100 << 20;
    struct ih_device *device = begin(1);
    (void)state;
    queue(5, hundred, 0);
    queue(1, 3 * hundred, 0);
    queue(2, IH_JPEG_BATCH_BYTES_MAX / 2, 0);
    queue(4, hundred / 2, 0);
    end(device);
    static const unsigned expected[] = {1, 2, 2, 1, 1, 2, 4};
    assert_int_equal(fake.n_calls, sizeof expected / sizeof *expected);
    for (unsigned i = 0; i < fake.n_calls; i++) {
        assert_int_equal(fake.n_of[i], expected[i]);
        assert_true(fake.n_of[i] == 1 || fake.n_bytes_of[i] <= IH_JPEG_BATCH_BYTES_MAX);
    }
}

/* Who is told of a file that a broken engine gives back already finds the engine gone. */
static void test_breaks(void **state)
{
    struct ih_error err;
    struct ih_device *device = begin(1);
    (void)state;
    queue(30, 1, 0);
    set(&fake.breaks[0], true);
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 31);
    assert_int_equal(fake.n_calls, 1);
    assert_int_equal(ih_jpeg_engines_wait(fake.engines, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "it rattles");
    end(device);
    for (unsigned i = 0; i < fake.n_jobs; i++) {
        assert_int_equal(fake.jobs[i].job.status, IH_DEVICE);
        assert_int_equal(fake.jobs[i].room_when_done, IH_JPEG_NONE);
    }
}

/* What waits is shared by two GPUs; where one breaks, the other does what is left. */
static void test_two_units(void **state)
{
    (void)state;
    for (unsigned n_broken = 0; n_broken < 2; n_broken++) {
        struct ih_device *device = begin(2);
        queue(1, 1, 0); /* for the other one, as soon as it has started */
        wait_for(&fake.n_calls, 2);
        unsigned first = fake.n_by_unit[0] > 0 ? 0 : 1;
        assert_int_equal(fake.n_by_unit[0] + fake.n_by_unit[1], 2);
        queue(20, 1, 0);
        set(&fake.breaks[first], n_broken == 1);
        set(&fake.is_held, false);
        wait_for(&fake.n_done, 22);
        assert_int_equal(ih_jpeg_engines_room(fake.engines), IH_JPEG_HAS_ROOM);
        end(device);
        for (unsigned i = 2; i < fake.n_calls && n_broken == 0; i++)
            assert_true(fake.n_of[i] <= 10); /* half of them */
        unsigned n_back = 0;
        for (unsigned i = 0; i < fake.n_jobs; i++)
            n_back += fake.jobs[i].job.status == IH_OK ? 0 : 1;
        assert_int_equal(n_back, n_broken);
    }
}

/* One breaks with files waiting, and only then another starts: it gets them. */
static void test_one_breaks_and_one_starts(void **state)
{
    (void)state;
    fake.starts_late[1] = true;
    struct ih_device *device = begin(2);
    queue(20, 1, 0);
    fake.lets_start = true;
    fake.breaks[0] = true;
    set(&fake.is_held, false);
    wait_for(&fake.n_done, 21);
    assert_int_equal(fake.n_by_unit[1], 20);
    end(device);
    assert_int_equal(fake.jobs[0].job.status, IH_DEVICE);
    assert_int_equal(fake.jobs[0].room_when_done, IH_JPEG_NONE);
    for (unsigned i = 1; i < fake.n_jobs; i++)
        assert_int_equal(fake.jobs[i].job.status, IH_OK);
}

/* Of one unit two engines may have a batch each. The second starts when there is one for it. */
static void test_two_of_a_unit(void **state)
{
    (void)state;
    char text[64];
    fake.starts_two = true;
    struct ih_device *device = begin(1); /* the first has a job */
    queue(IH_JPEG_BATCH_MAX - 1, 1, 0);
    end(device);
    assert_int_equal(fake.n_started, 1);
    device = begin(1);
    queue(IH_JPEG_BATCH_MAX, 1, 0);
    wait_for(&fake.n_calls, 2); /* now the second has some, too */
    queue(20, 1, 0);
    ih_jpeg_engines_describe(fake.engines, text, sizeof text);
    assert_string_equal(text, "engines");
    end(device);
    assert_int_equal(fake.n_started, 2);
    for (unsigned i = 0; i < fake.n_jobs; i++)
        assert_int_equal(fake.jobs[i].job.status, IH_OK);
    fake.starts_two = false;
}

static void test_none_starts(void **state)
{
    (void)state;
    struct ih_error error = {IH_OK, ""};
    fake.starts_two = fake.cannot_start = true;
    fake.n_units = 2;
    fake.n_started = 0;
    struct ih_device *device = open_device();
    assert_int_equal(ih_jpeg_engines_open(device, &fake.engines, NULL), IH_OK);
    assert_int_equal(ih_jpeg_engines_wait(fake.engines, &error), IH_UNAVAILABLE);
    assert_string_equal(error.message, "no fuel");
    assert_int_equal(ih_jpeg_engines_room(fake.engines), IH_JPEG_NONE);
    ih_jpeg_engines_close(fake.engines);
    ih_device_close(device);
    assert_int_equal(fake.n_started, 2); /* no second one is tried */
    fake.starts_two = fake.cannot_start = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_files),
        cmocka_unit_test(test_many_odd_files),
        cmocka_unit_test(test_likes_none),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_two_units),
        cmocka_unit_test(test_one_breaks_and_one_starts),
        cmocka_unit_test(test_two_of_a_unit),
        cmocka_unit_test(test_none_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
