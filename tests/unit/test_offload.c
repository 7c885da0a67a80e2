/*
 * JPEG files that go to engines, without any GPU: a backend of the tests says that it has some, and
 * decodes what it is given as the CPU does. Whoever decodes, the results are the same, in order.
 */
#define _XOPEN_SOURCE 700

#include "backend/jpeg_engines.h"
#include "pipeline/pipeline.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/jpeg_files.h"

/* ---- engines ---- */

enum { NEVER = 1000000 };

/* What they are to do, and what they have seen. */
static struct {
    unsigned fails_at; /* the batch in which they break */
    bool is_missing;   /* they do not start */
    bool has_tried;    /* to start */
    bool dislikes;     /* gray files, and every batch with one */
    bool is_held;      /* a batch ends only when this is no longer so */
    unsigned n_units;  /* GPUs that the device has; 0: one */
    unsigned returns;  /* every so manieth job is given back; 0: none */
    unsigned n_batches, n_jobs, n_largest;
    pthread_mutex_t lock;
    pthread_cond_t on_change;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .on_change = PTHREAD_COND_INITIALIZER};

static enum ih_status engine_start(void *unit, void **engine, struct ih_error *err)
{
    pthread_mutex_lock(&fake.lock);
    fake.has_tried = true;
    pthread_mutex_unlock(&fake.lock);
    if (fake.is_missing)
        return ih_error_set(err, IH_UNAVAILABLE, "somebody took them");
    *engine = unit;
    return IH_OK;
}

static const char *engine_describe(void *engine)
{
    assert_non_null(engine);
    return "2 engines of the tests";
}

static void engine_stop(void *engine)
{
    assert_non_null(engine);
}

/* As the processor does it. */
static void decode_job(struct ih_jpeg_job *job)
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

static enum ih_status engine_batch(void *engine, struct ih_jpeg_job *const *jobs, unsigned n,
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
        if (!breaks && fake.returns > 0 && i % fake.returns == fake.returns - 1)
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_LIMIT, "too large");
        else if (!breaks)
            decode_job(jobs[i]);
        else
            jobs[i]->status = ih_error_set(&jobs[i]->error, IH_DEVICE, "it rattles");
    }
    return breaks ? ih_error_set(err, IH_DEVICE, "it rattles") : IH_OK;
}

static enum ih_status n_units(int *n, struct ih_error *err)
{
    (void)err;
    *n = fake.n_units ? (int)fake.n_units : 1;
    return IH_OK;
}

static const struct ih_backend *const *fakes(void)
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

/* ---- files ---- */

enum { N_FILES = 9, ROUNDS = 40 };

/* All subsamplings, gray, a progressive file, a damaged one, and one that is no JPEG. */
static const struct jpeg_kind kinds[] = {
    {.h = 1, .v = 1},
    {.h = 2, .v = 1},
    {.h = 2, .v = 2, .restart_interval = 3},
    {.h = 1, .v = 2},
    {.is_gray = true, .h = 1, .v = 1},
    {.h = 2, .v = 2, .is_progressive = true},
    {.h = 1, .v = 1}, /* cut */
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_FOR_ENGINES = 5, CUT = N_KINDS - 1 };

static void write_file(const char *folder, unsigned i, const void *bytes, size_t n)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%u", folder, i);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static int make_folder(void **state)
{
    static const char pgm[] = "P5\n1 1\n255\n7";
    char *folder = strdup("/tmp/imghist-test-XXXXXX");
    if (!folder || !mkdtemp(folder))
        return -1;
    for (unsigned i = 0; i < N_KINDS; i++) {
        struct jpeg_file f = make_jpeg(&kinds[i], 30 + 7 * i, 41 - 3 * i);
        write_file(folder, i, f.bytes, i == CUT ? f.n - 40 : f.n);
        free(f.bytes);
    }
    write_file(folder, N_KINDS, pgm, sizeof pgm - 1);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    char path[200];
    for (unsigned i = 0; i < N_FILES; i++) {
        snprintf(path, sizeof path, "%s/%u", (const char *)*state, i);
        unlink(path);
    }
    rmdir(*state);
    free(*state);
    return 0;
}

/* ---- a run ---- */

struct run {
    const char *folder;
    unsigned n_inputs, n_given, n_taken;
    unsigned n_wanted; /* 0: all */
    unsigned n_by_engines;
    const struct ih_result *expected; /* of each file, counted by the CPU */
    struct ih_jpeg_report report;
    enum ih_jpeg_side side;
    bool releases_at_end; /* the engines are held until all inputs have been given */
    bool begins_large;    /* large files until engines have been tried, then n_inputs small ones */
    unsigned n_large;     /* how many these were */
    uint64_t memory_bytes;
};

/* The file of input i; the one after the last is not there. */
static unsigned file_of(const struct run *r, unsigned i)
{
    if (!r->begins_large)
        return i % N_FILES;
    pthread_mutex_lock(&fake.lock);
    unsigned n_large = r->n_large;
    pthread_mutex_unlock(&fake.lock);
    return i < n_large ? CUT : i % CUT;
}

/* The next input is a large one, if it is time for these. */
static void try_large(struct run *r)
{
    pthread_mutex_lock(&fake.lock);
    if (r->begins_large && !fake.has_tried) {
        r->n_large++;
        r->n_inputs++;
    }
    pthread_mutex_unlock(&fake.lock);
}

static void release_engines(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.is_held = false;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

static bool next(void *user, struct ih_input *input)
{
    struct run *r = user;
    try_large(r);
    if (r->n_given == r->n_inputs) {
        if (r->releases_at_end)
            release_engines();
        return false;
    }
    char path[200];
    snprintf(path, sizeof path, "%s/%u", r->folder, file_of(r, r->n_given));
    r->n_given++;
    *input = (struct ih_input){.path = strdup(path), .is_named = true};
    return true;
}

static bool take(void *user, const struct ih_input *input, const struct ih_result *result)
{
    struct run *r = user;
    unsigned i = file_of(r, r->n_taken);
    assert_int_equal(strtoul(strrchr(input->path, '/') + 1, NULL, 10), i);
    assert_ptr_equal(result->path, input->path);
    if (r->expected) {
        const struct ih_result *e = &r->expected[i];
        assert_int_equal(result->status, e->status);
        if (e->status == IH_OK) {
            assert_memory_equal(&result->histogram, &e->histogram, sizeof e->histogram);
            assert_string_equal(result->info.format, e->info.format);
            assert_int_equal(result->info.width, e->info.width);
            assert_int_equal(result->info.height, e->info.height);
            assert_int_equal(result->info.source_depth, e->info.source_depth);
            assert_int_equal(result->spec.n_channels, e->spec.n_channels);
            r->n_by_engines += strcmp(result->counted_by, "engines") == 0;
        } else {
            assert_string_equal(result->error.message, e->error.message);
        }
    }
    return ++r->n_taken < r->n_wanted || r->n_wanted == 0;
}

static enum ih_status run(struct run *r, unsigned n_threads, struct ih_error *err)
{
    struct ih_budget budget;
    const struct ih_pipeline_options options = {
        .n_threads = n_threads,
        .decode = {.max_pixels = UINT64_MAX, .budget = &budget},
        .luma = &ih_luma_bt601,
        .clip_low = 10,
        .clip_high = 240,
        .jpeg = r->side,
        .jpeg_report = &r->report};
    const struct ih_pipeline_calls calls = {next, r, take, r};
    const struct ih_device_options on = {.backends = fakes(), .n_lanes = n_threads};
    struct ih_device *device = NULL;
    ih_budget_init(&budget, r->memory_bytes ? r->memory_bytes : UINT64_MAX);
    fake.n_batches = fake.n_jobs = fake.n_largest = 0;
    fake.has_tried = false;
    assert_int_equal(ih_device_open(&on, &device, err), IH_OK);
    enum ih_status status = ih_pipeline_run(device, &options, &calls, err);
    ih_device_close(device);
    ih_budget_destroy(&budget); /* all was given back */
    return status;
}

static struct ih_result expected[N_FILES];

static bool keep(void *user, const struct ih_input *input, const struct ih_result *result)
{
    unsigned *n = user;
    (void)input;
    expected[(*n)++] = *result;
    return true;
}

/* What the CPU says of every file. */
static void count_on_cpu(const char *folder)
{
    unsigned n = 0;
    struct run r = {.folder = folder, .n_inputs = N_FILES};
    const struct ih_pipeline_options options = {.n_threads = 1,
                                                .decode = {.max_pixels = UINT64_MAX},
                                                .luma = &ih_luma_bt601,
                                                .clip_low = 10,
                                                .clip_high = 240};
    const struct ih_pipeline_calls calls = {next, &r, keep, &n};
    const struct ih_device_options on = {.backend = "cpu"};
    struct ih_device *device = NULL;
    assert_int_equal(ih_device_open(&on, &device, NULL), IH_OK);
    assert_int_equal(ih_pipeline_run(device, &options, &calls, NULL), IH_OK);
    ih_device_close(device);
    assert_int_equal(n, N_FILES);
    assert_int_equal(expected[0].status, IH_OK);
    assert_int_equal(expected[CUT].status, IH_CORRUPT);
    assert_int_equal(expected[N_FILES - 1].status, IH_IO);
}

static uint64_t n_left(const struct run *r, const char *why)
{
    for (size_t i = 0; i < IH_JPEG_REASONS_MAX && r->report.left[i].why; i++)
        if (strstr(r->report.left[i].why, why))
            return r->report.left[i].n_files;
    return 0;
}

/* ---- tests ---- */

/* All that the engines may have goes to them, and nothing else, in batches. */
static void test_engines_and_processors(void **state)
{
    static const unsigned threads[] = {1, 2, 5, 16};
    struct ih_error err;
    count_on_cpu(*state);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct run r = {.folder = *state,
                        .n_inputs = ROUNDS * N_FILES,
                        .expected = expected,
                        .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        assert_int_equal(run(&r, threads[i], &err), IH_OK);
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(r.n_by_engines, ROUNDS * N_FOR_ENGINES);
        assert_int_equal(fake.n_jobs, ROUNDS * N_FOR_ENGINES);
        assert_int_equal(r.report.n_decoded, ROUNDS * N_FOR_ENGINES);
        assert_string_equal(r.report.engines, "2 engines of the tests");
        assert_int_equal(n_left(&r, "progressive"), ROUNDS);
        assert_int_equal(n_left(&r, "busy"), 0);
    }
}

/* One that has no thread but its own may not wait for a batch that never fills. */
static void test_a_few(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned n = 1; n < 9; n++) {
        struct run r = {.folder = *state, .n_inputs = n, .expected = expected, .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        assert_int_equal(run(&r, 1, &err), IH_OK);
        assert_int_equal(r.n_taken, n);
        assert_int_equal(r.n_by_engines, n < N_FOR_ENGINES ? n : N_FOR_ENGINES);
    }
}

/* Engines that break: what they had, and what comes after, is counted by the processors. */
static void test_engines_that_break(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned fails_at = 0; fails_at < 3; fails_at++)
        for (unsigned n_threads = 1; n_threads < 6; n_threads += 2) {
            struct run r = {.folder = *state,
                            .n_inputs = ROUNDS * N_FILES,
                            .expected = expected,
                            .side = IH_JPEG_GPU};
            fake.fails_at = fails_at;
            assert_int_equal(run(&r, n_threads, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_int_equal(fake.n_batches, fails_at + 1);
            assert_true(n_left(&r, "gave them back") >= 1);
            assert_int_equal(r.n_by_engines, r.report.n_decoded);
            assert_string_equal(r.report.why_none.message, "it rattles");
            assert_true(n_left(&r, "had given up") > 0);
            assert_int_equal(n_left(&r, "had not started"), 0);
        }
}

/* Of two GPUs' engines one breaks; the other goes on. Some files are given back by themselves. */
static void test_two_units_and_files_given_back(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    fake.n_units = 2;
    for (unsigned returns = 0; returns < 3; returns++)
        for (unsigned fails_at = 0; fails_at < 4; fails_at++) {
            struct run r = {.folder = *state,
                            .n_inputs = ROUNDS * N_FILES,
                            .expected = expected,
                            .side = IH_JPEG_GPU};
            fake.fails_at = fails_at;
            fake.returns = returns;
            assert_int_equal(run(&r, 6, &err), IH_OK);
            assert_int_equal(r.n_taken, r.n_inputs);
            assert_int_equal(r.n_by_engines, r.report.n_decoded);
            assert_true(n_left(&r, "gave them back") >= 1);
            if (returns == 0)
                assert_true(fake.n_batches > fails_at + 1);
        }
    fake.n_units = fake.returns = 0;
}

static void *feed_pipe(void *path)
{
    struct jpeg_file f = make_jpeg(&kinds[0], 30, 41);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f.bytes, 1, f.n, out), f.n);
    assert_int_equal(fclose(out), 0);
    free(f.bytes);
    return NULL;
}

/* A pipe is opened once: whoever looked into it before would have taken what it gives. */
static void test_pipe(void **state)
{
    struct ih_error err;
    char path[200];
    pthread_t thread;
    struct run r = {.folder = *state, .n_inputs = 1, .side = IH_JPEG_GPU};
    count_on_cpu(*state);
    r.expected = expected;
    fake.fails_at = NEVER;
    snprintf(path, sizeof path, "%s/0", (const char *)*state);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, path), 0);
    assert_int_equal(run(&r, 2, &err), IH_OK);
    pthread_join(thread, NULL);
    assert_int_equal(r.n_taken, 1);
    assert_int_equal(r.n_by_engines, 0);
    assert_int_equal(n_left(&r, "read whole"), 1);
}

static void test_engines_that_do_not_start(void **state)
{
    struct ih_error err = {IH_OK, ""};
    struct run r = {.folder = *state, .n_inputs = 3, .side = IH_JPEG_GPU};
    fake.is_missing = true;
    assert_int_equal(run(&r, 2, &err), IH_UNAVAILABLE);
    assert_string_equal(err.message, "somebody took them");
    assert_int_equal(r.n_taken, 0);
    assert_int_equal(r.n_given, 0);
    fake.is_missing = false;

    const struct ih_device_options cpu = {.backend = "cpu"};
    struct ih_device *device = NULL;
    struct ih_jpeg_engines *engines = NULL;
    assert_int_equal(ih_device_open(&cpu, &device, &err), IH_OK);
    assert_int_equal(ih_jpeg_engines_open(device, &engines, &err), IH_OK);
    assert_int_equal(ih_jpeg_engines_wait(engines, &err), IH_UNAVAILABLE);
    assert_non_null(strstr(err.message, "cpu has no JPEG engines"));
    assert_int_equal(ih_jpeg_engines_room(engines), IH_JPEG_NONE);
    ih_jpeg_engines_close(engines);
    ih_device_close(device);
}

/* Where engines do not like a kind of file, these files go back, and no others. */
static void test_engines_that_dislike_some(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    for (unsigned n_threads = 1; n_threads < 6; n_threads += 4) {
        struct run r = {.folder = *state,
                        .n_inputs = ROUNDS * N_FILES,
                        .expected = expected,
                        .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        fake.dislikes = true;
        assert_int_equal(run(&r, n_threads, &err), IH_OK);
        fake.dislikes = false;
        assert_int_equal(r.n_taken, r.n_inputs);
        assert_int_equal(n_left(&r, "gave them back"), ROUNDS);
        assert_int_equal(r.n_by_engines, ROUNDS * (N_FOR_ENGINES - 1));
        assert_int_equal(r.report.why_none.status, IH_OK);
        assert_string_equal(r.report.engines, "2 engines of the tests; the last given back: gray");
    }
}

/* Enough that somebody stops: what the engines have is finished, and dropped. */
static void test_stop(void **state)
{
    struct ih_error err;
    for (unsigned n = 1; n < 40; n += 7) {
        struct run r = {
            .folder = *state, .n_inputs = ROUNDS * N_FILES, .n_wanted = n, .side = IH_JPEG_GPU};
        fake.fails_at = NEVER;
        assert_int_equal(run(&r, 4, &err), IH_OK);
        assert_int_equal(r.n_taken, n);
    }
}

/* Where there is no memory for a file beside the others, a worker decodes it band by band. */
static void test_little_memory(void **state)
{
    struct ih_error err;
    struct run r = {
        .folder = *state, .n_inputs = N_FOR_ENGINES, .side = IH_JPEG_GPU, .memory_bytes = 100};
    count_on_cpu(*state);
    r.expected = expected;
    assert_int_equal(run(&r, 2, &err), IH_OK);
    assert_int_equal(r.n_by_engines, 0);
    assert_int_equal(n_left(&r, "too large to be held"), N_FOR_ENGINES);
}

/* A flat gray image of 49 megapixels. */
static void make_large(const char *folder, unsigned i)
{
    enum { SIDE = 7000 };
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    uint8_t *row = calloc(SIDE, 1);
    assert_non_null(row);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &n);
    c.image_width = c.image_height = SIDE;
    c.input_components = 1;
    c.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < SIDE)
        jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    write_file(folder, i, bytes, n);
    free(bytes);
    free(row);
}

/* By themselves the engines start once there was work for them; while they are held and their queue
 * is full, the workers go on alone. */
static void test_auto_starts_late_and_helps_out(void **state)
{
    struct ih_error err;
    count_on_cpu(*state);
    struct run small = {.folder = *state, .n_inputs = 20 * N_FILES, .expected = expected};
    small.side = IH_JPEG_AUTO;
    assert_int_equal(run(&small, 2, &err), IH_OK);
    assert_int_equal(fake.n_batches, 0);
    assert_string_equal(small.report.engines, "");

    make_large(*state, CUT); /* a few are enough */
    struct run large = {.folder = *state,
                        .n_inputs = 20 * N_FILES,
                        .side = IH_JPEG_AUTO,
                        .releases_at_end = true,
                        .begins_large = true};
    fake.is_held = true;
    fake.fails_at = NEVER;
    assert_int_equal(run(&large, 2, &err), IH_OK);
    assert_int_equal(large.n_taken, large.n_inputs);
    assert_true(fake.n_jobs > 0);
    assert_true(n_left(&large, "busy") > 0);
    assert_int_equal(fake.n_jobs, large.report.n_decoded);
    assert_true(fake.n_largest > 1);

    struct run none = {
        .folder = *state, .n_inputs = N_FILES, .side = IH_JPEG_AUTO, .begins_large = true};
    fake.is_missing = true;
    assert_int_equal(run(&none, 2, &err), IH_OK);
    assert_int_equal(none.n_taken, none.n_inputs);
    assert_string_equal(none.report.why_none.message, "somebody took them");
    fake.is_missing = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_engines_and_processors, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_few, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_engines_that_break, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_two_units_and_files_given_back, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_engines_that_dislike_some, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_pipe, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_engines_that_do_not_start, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_stop, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_little_memory, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_auto_starts_late_and_helps_out, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
