/* Sessions of the JPEG queue without a GPU: they decode as the CPU does, and fail when a test says
 * so. */
#ifndef IH_TESTS_FAKE_JPEG_SESSION_H
#define IH_TESTS_FAKE_JPEG_SESSION_H

#include "tests/support/test.h"

#include "scan/scan.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { NEVER = 1000000 };

/* What the sessions do, and what has happened. */
static struct {
    unsigned fails_at;     /* the batch in which the GPU fails */
    bool fails_late;       /* once the next has begun, on another GPU */
    bool reads_late;       /* the first batch is read once the next has begun, on its GPU */
    bool fails_on;         /* and in all later ones */
    bool is_missing;       /* no session starts */
    bool has_tried;        /* to start a session */
    bool is_held;          /* batches wait until this is false */
    unsigned n_units;      /* GPUs of the device; 0: one */
    unsigned rejects;      /* one job in so many is not counted; 0: none */
    size_t files_bytes;    /* room in a batch; 0: a megabyte */
    uint64_t gpu_bytes;    /* 0: any number */
    unsigned start_ms;     /* how long the start takes */
    unsigned batch_ms;     /* how much longer than on the CPU a batch takes */
    bool start_is_held;    /* the start ends when this is false */
    const char *from, *to; /* not NULL: the next batch renames one file to the other, and does
                              not count its first job */
    unsigned n_batches, n_jobs, n_largest, n_stops;
    pthread_mutex_t lock;
    pthread_cond_t on_change;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .on_change = PTHREAD_COND_INITIALIZER};

static inline void sleep_ms(unsigned ms)
{
    const struct timespec a_while = {.tv_nsec = (long)ms * 1000 * 1000};
    nanosleep(&a_while, NULL);
}

static inline enum ih_status fake_start(void *unit, struct ih_jpeg_session *session,
                                        struct ih_error *err)
{
    enum { MEGABYTE = 1 << 20 };
    pthread_mutex_lock(&fake.lock);
    fake.has_tried = true;
    while (fake.start_is_held)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    sleep_ms(fake.start_ms);
    if (fake.is_missing)
        return ih_error_set(err, IH_UNAVAILABLE, "no decoders");
    session->state = unit;
    session->files_bytes = fake.files_bytes ? fake.files_bytes : MEGABYTE;
    session->files = malloc(session->files_bytes);
    session->gpu_bytes = fake.gpu_bytes ? fake.gpu_bytes : UINT64_MAX / 2;
    session->counted_by = "sessions of the tests";
    assert_non_null(session->files);
    return IH_OK;
}

static inline void fake_stop(struct ih_jpeg_session *session)
{
    pthread_mutex_lock(&fake.lock);
    fake.n_stops++;
    pthread_mutex_unlock(&fake.lock);
    free(session->files);
}

/* Where EOI stands. */
static inline size_t end_of(const uint8_t *bytes, const struct ih_jpeg_plan *plan)
{
    size_t at = plan->data_offset;
    while (bytes[at] != 0xFF || bytes[at + 1] != 0xD9)
        at++;
    return at;
}

/* Decodes and counts on the CPU. */
static inline void decode_job(const struct ih_jpeg_session *session, struct ih_jpeg_job *job)
{
    const struct ih_scan_options options = {.decode = {.max_pixels = UINT64_MAX},
                                            .measure.luma = job->spec.luma,
                                            .measure.clip_low = job->spec.clip_low,
                                            .measure.clip_high = job->spec.clip_high};
    const struct ih_device_options cpu = {.backend = "cpu"};
    const struct ih_input input = {.bytes = session->files + job->file_offset,
                                   .size_bytes = job->plan.file_bytes};
    struct ih_result *result = malloc(sizeof *result);
    struct ih_device *device = NULL;
    struct ih_lane *lane = NULL;
    struct ih_reader src = {0};
    assert_non_null(result);
    assert_int_equal(ih_device_open(&cpu, &device, NULL), IH_OK);
    assert_int_equal(ih_lane_open(device, &lane, NULL), IH_OK);
    ih_count_input(&options, &input, lane, &src, result);
    job->is_counted = result->status == IH_OK; /* else it has a fault */
    if (job->is_counted) {
        assert_int_equal(result->info.width, job->plan.width);
        assert_int_equal(result->info.height, job->plan.height);
        assert_int_equal(result->info.layout.n_channels, job->plan.n_components);
        assert_int_equal(result->histogram.n_planes, job->result->histogram.n_planes);
        ih_histogram_reset(&job->result->histogram);
        job->result->histogram = result->histogram;
        job->end_offset = end_of(input.bytes, &job->plan);
    }
    ih_lane_close(lane);
    ih_device_close(device);
    ih_reader_reset(&src);
    free(result);
}

static inline enum ih_status fake_batch(struct ih_jpeg_session *session, struct ih_jpeg_job *jobs,
                                        unsigned n, size_t n_bytes, struct ih_error *err)
{
    assert_true(n >= 1 && n <= IH_JPEG_BATCH_IMAGES && n_bytes <= session->files_bytes);
    pthread_mutex_lock(&fake.lock);
    while (fake.is_held)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    const bool fails =
        fake.n_batches == fake.fails_at || (fake.fails_on && fake.n_batches > fake.fails_at);
    const unsigned batch = fake.n_batches++;
    pthread_cond_broadcast(&fake.on_change);
    while (fake.fails_late && batch == fake.fails_at && fake.n_batches == batch + 1)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    fake.n_largest = n > fake.n_largest ? n : fake.n_largest;
    for (unsigned i = 0; i < n; i++)
        fake.n_jobs += jobs[i].is_planned;
    const bool renames = fake.from && rename(fake.from, fake.to) == 0;
    fake.from = NULL;
    pthread_mutex_unlock(&fake.lock);
    sleep_ms(fake.batch_ms);
    if (!fails)
        session->on_idle(session->user);
    pthread_mutex_lock(&fake.lock);
    while (fake.reads_late && batch == 0 && fake.n_batches == 1)
        pthread_cond_wait(&fake.on_change, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    for (unsigned i = 0; i < n && !fails; i++)
        if (jobs[i].is_planned && !(renames && i == 0) &&
            !(fake.rejects > 0 && i % fake.rejects == fake.rejects - 1))
            decode_job(session, &jobs[i]);
    return fails ? ih_error_set(err, IH_DEVICE, "GPU failed") : IH_OK;
}

static inline enum ih_status n_units(int *n, struct ih_error *err)
{
    *n = fake.n_units ? (int)fake.n_units : 1;
    return IH_OK;
}

static struct ih_jpeg_backend fake_sessions = {.n_sessions = 2,
                                               .n_progressive = 2,
                                               .start = fake_start,
                                               .batch = fake_batch,
                                               .stop = fake_stop};

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
