/*
 * What the tests of the JPEG queue in a scan share: a folder with JPEG files of every
 * kind, and runs over it that compare results with the CPU.
 */
#ifndef IH_TESTS_JPEG_QUEUE_RUN_H
#define IH_TESTS_JPEG_QUEUE_RUN_H

#include "isolate/decoder_process.h"
#include "tests/support/fake_jpeg_session.h"
#include "tests/support/histograms.h"
#include "tests/support/jpeg_files.h"
#include "tests/support/take_all.h"
#include <unistd.h>

enum { N_FILES = 9, ROUNDS = 40 };

/* All subsamplings, gray, a progressive file and a truncated one. */
static const struct jpeg_kind kinds[] = {
    {.h = 1, .v = 1},
    {.h = 2, .v = 1},
    {.h = 2, .v = 2, .restart_interval = 3},
    {.h = 1, .v = 2},
    {.is_gray = true, .h = 1, .v = 1},
    {.h = 2, .v = 2, .is_progressive = true},
    {.h = 1, .v = 1}, /* cut */
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_TAKEN = 6, CUT = N_KINDS - 1 };

static inline void write_file(const char *folder, unsigned i, const void *bytes, size_t n)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%u", folder, i);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline int make_folder(void **state)
{
    static const char pgm[] = "P5\n1 1\n255\n7";
    char *folder = strdup("/tmp/imghist-test-XXXXXX");
    if (!folder || !mkdtemp(folder))
        return -1;
    for (unsigned i = 0; i < N_KINDS; i++) {
        static const uint8_t profile[18] = "\xFF\xE2\0\x10"
                                           "ICC_PROFILE";
        struct jpeg_file f = make_jpeg(&kinds[i], 30 + 7 * i, 41 - 3 * i);
        if (i % 2 == 1) /* half of the files have a colour profile */
            splice(&f, 2, 0, profile, sizeof profile);
        if (i % 3 == 1) /* another image follows */
            splice(&f, f.n, 0, "\0\xFF\xD8\xFF", 4);
        write_file(folder, i, f.bytes, i == CUT ? f.n - 40 : f.n);
        free(f.bytes);
    }
    write_file(folder, N_KINDS, pgm, sizeof pgm - 1);
    *state = folder;
    return 0;
}

static inline int remove_folder(void **state)
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

struct run {
    const char *folder;
    unsigned n_inputs, n_given, n_taken;
    unsigned n_wanted; /* 0: all */
    unsigned n_by_gpu;
    const struct ih_result *expected; /* of each file, counted by the CPU */
    struct ih_jpeg_report report;
    enum ih_jpeg_side side;
    bool releases_at_end; /* batches wait until all inputs have been given */
    bool releases_taken;  /* the start waits until all results have been taken */
    bool is_last;         /* the process ends after the run */
    bool was_left;        /* the device was left open, as it was busy */
    bool is_short;        /* the device is not started: the CPU stands in for it */
    bool lacks_gpu;       /* the device has started, and no session is for it */
    uint64_t memory_bytes;
    uint64_t max_pixels;                    /* 0: any number */
    const struct ih_file_identity *outputs; /* NULL: none */
    size_t n_outputs;
    const struct ih_decoder_process_command *command;
    unsigned n_failed;
};

/* The file of input i; the last file does not exist. */
static inline unsigned file_of(unsigned i)
{
    return i % N_FILES;
}

static inline void release_sessions(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.is_held = fake.start_is_held = false;
    pthread_cond_broadcast(&fake.on_change);
    pthread_mutex_unlock(&fake.lock);
}

static inline bool next(void *user, struct ih_input *input)
{
    struct run *r = user;
    if (r->n_given == r->n_inputs) {
        if (r->releases_at_end)
            release_sessions();
        return false;
    }
    char path[200];
    snprintf(path, sizeof path, "%s/%u", r->folder, file_of(r->n_given));
    r->n_given++;
    *input = (struct ih_input){.path = strdup(path), .is_named = true};
    return true;
}

static inline bool take(void *user, const char *path, const struct ih_result *result)
{
    struct run *r = user;
    unsigned i = file_of(r->n_taken);
    assert_int_equal(strtoul(strrchr(path, '/') + 1, NULL, 10), i);
    assert_ptr_equal(result->path, path);
    if (r->expected) {
        const struct ih_result *e = &r->expected[i];
        assert_int_equal(result->status, e->status);
        if (e->status == IH_OK) {
            assert_same_counts(&result->histogram, &e->histogram);
            assert_string_equal(result->info.format, e->info.format);
            assert_int_equal(result->info.width, e->info.width);
            assert_int_equal(result->info.height, e->info.height);
            assert_int_equal(result->info.source_depth, e->info.source_depth);
            assert_int_equal(result->info.layout.n_channels, e->info.layout.n_channels);
            assert_int_equal(result->info.not_applied, e->info.not_applied);
            assert_int_equal(result->info.warnings, e->info.warnings);
            assert_int_equal(result->info.n_frames, e->info.n_frames);
            assert_int_equal(result->info.range, e->info.range);
            assert_int_equal(result->measure.alpha, e->measure.alpha);
            assert_string_equal(result->library, e->library);
            r->n_by_gpu += strcmp(result->counted_by, "sessions of the tests") == 0;
        } else {
            assert_string_equal(result->error.message, e->error.message);
        }
    }
    r->n_failed += result->status != IH_OK;
    r->n_taken++;
    if (r->releases_taken && r->n_taken == r->n_inputs)
        release_sessions();
    return r->n_taken < r->n_wanted || r->n_wanted == 0;
}

static inline enum ih_status run(struct run *r, unsigned n_threads, struct ih_error *err)
{
    struct ih_budget budget;
    const struct ih_remote_decoders decoder_processes = ih_decoder_processes(r->command);
    const struct ih_scan_options options = {
        .n_threads = n_threads,
        .decode = {.max_pixels = r->max_pixels ? r->max_pixels : UINT64_MAX, .budget = &budget},
        .remote_decoders = r->command ? &decoder_processes : NULL,
        .outputs = r->outputs,
        .n_outputs = r->n_outputs,
        .measure.luma = &ih_luma_bt601,
        .measure.clip_low = 10,
        .measure.clip_high = 240,
        .jpeg = r->side,
        .is_last = r->is_last,
        .jpeg_report = &r->report,
        .jpeg_backend = r->lacks_gpu ? NULL : &fake_sessions};
    const struct taking calls = {
        .next = next, .next_user = r, .take = take, .take_user = r, .next_is_quick = true};
    const struct ih_device_options on = {.backends = fake_backends(r->is_short),
                                         .n_lanes = n_threads,
                                         .start_after_ms = r->is_short ? 24 * 3600 * 1000 : 0};
    struct ih_device *device = NULL;
    ih_budget_init(&budget, r->memory_bytes ? r->memory_bytes : UINT64_MAX);
    fake.n_batches = fake.n_jobs = fake.n_largest = 0;
    fake.has_tried = false;
    assert_int_equal(ih_device_open(&on, &device, err), IH_OK);
    if (r->lacks_gpu)
        assert_int_equal(ih_device_wait(device, err), IH_OK);
    enum ih_status status = take_all(device, &options, &calls, err);
    r->was_left = ih_device_cancel_start(device);
    if (!r->was_left) /* otherwise the end of the process releases it */
        ih_device_close(device);
    ih_budget_destroy(&budget); /* checks that all was given back */
    return status;
}

static struct ih_result expected[N_FILES];

static inline bool keep(void *user, const char *path, const struct ih_result *result)
{
    unsigned *n = user;
    struct ih_result *const to = &expected[(*n)++];
    ih_histogram_reset(&to->histogram); /* of an earlier test */
    *to = *result;
    if (result->status == IH_OK)
        assert_int_equal(ih_histogram_copy(&to->histogram, &result->histogram, NULL), IH_OK);
    return true;
}

/* Fills `expected` with the CPU's results. */
static inline void count_on_cpu(const char *folder)
{
    unsigned n = 0;
    struct run r = {.folder = folder, .n_inputs = N_FILES};
    const struct ih_scan_options options = {.n_threads = 1,
                                            .decode = {.max_pixels = UINT64_MAX},
                                            .measure.luma = &ih_luma_bt601,
                                            .measure.clip_low = 10,
                                            .measure.clip_high = 240};
    const struct taking calls = {.next = next, .next_user = &r, .take = keep, .take_user = &n};
    const struct ih_device_options on = {.backend = "cpu"};
    struct ih_device *device = NULL;
    assert_int_equal(ih_device_open(&on, &device, NULL), IH_OK);
    assert_int_equal(take_all(device, &options, &calls, NULL), IH_OK);
    ih_device_close(device);
    assert_int_equal(n, N_FILES);
    assert_int_equal(expected[0].status, IH_OK);
    assert_int_equal(expected[0].info.not_applied, 0);
    assert_int_equal(expected[1].info.not_applied, IH_NOT_APPLIED_ICC_PROFILE);
    assert_int_equal(expected[0].info.warnings, 0);
    assert_int_equal(expected[1].info.warnings, IH_WARNING_MORE_IMAGES);
    assert_int_equal(expected[CUT].status, IH_CORRUPT);
    assert_int_equal(expected[N_FILES - 1].status, IH_IO);
}

/* A run over the first n_inputs files with sessions that do not fail. */
static inline struct run gpu_run(const char *folder, unsigned n_inputs)
{
    fake.fails_at = NEVER;
    return (struct run){.folder = folder, .n_inputs = n_inputs, .side = IH_JPEG_GPU};
}

/* The same, with results compared with the CPU's: call count_on_cpu first. */
static inline struct run gpu_run_compared(const char *folder, unsigned n_inputs)
{
    struct run r = gpu_run(folder, n_inputs);
    r.expected = expected;
    return r;
}

#define FOLDER_TEST(name) TEST_WITH(name, make_folder, remove_folder)

#endif
