/*
 * Out of memory: each allocation of a run fails once. Each run must report IH_MEMORY, or give the
 * right counts if it could do without, and must free everything.
 *
 * The tests replace malloc and related functions for the program and its libraries. They are
 * skipped with a sanitizer, which replaces malloc itself, and with other C libraries than glibc.
 */
#include "tests/support/histograms.h"
#include "tests/support/test.h"
#include "tests/support/write_record.h"

#include "chart/chart.h"
#include "output/output.h"
#include "scan/scan.h"
#include "tests/support/sanitizer.h"
#include <errno.h>
#include <stdatomic.h>

#if defined(__GLIBC__) && !HAS_SANITIZER

/* ---- an allocator that fails on demand ---- */

static atomic_long n_until_failure = -1; /* 0: the next one fails; negative: none fails */
static atomic_long n_held;               /* allocations not yet freed */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

static bool fails(void)
{
    if (atomic_load(&n_until_failure) < 0 || atomic_fetch_sub(&n_until_failure, 1) != 0)
        return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *p)
{
    if (p)
        atomic_fetch_add(&n_held, 1);
    return p;
}

/* Tests are built with hidden visibility, but libraries must see these functions. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    void *p = __libc_realloc(old, size);
    return old ? p : counted(p);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = fails() ? NULL : counted(__libc_memalign(alignment, size));
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__libc_memalign(alignment, size));
}

void free(void *p)
{
    if (p)
        atomic_fetch_sub(&n_held, 1);
    __libc_free(p);
}

#pragma GCC visibility pop

enum { FAILURES_MAX = 5000 };

/* Counts the file as a worker does. */
static enum ih_status count_file(const char *path, struct ih_device *device, uint64_t *sum,
                                 struct ih_error *err)
{
    const struct ih_scan_options options = {
        .n_threads = 1,
        .decode = {.max_pixels = 1 << 24},
        .measure.luma = &ih_luma_bt709,
        .measure.clip_high = 255,
    };
    const struct ih_input input = {.path = (char *)(uintptr_t)path, .is_named = true};
    static struct ih_result result;
    struct ih_reader src = {0};
    struct ih_lane *lane = NULL;
    enum ih_status status = ih_lane_open(device, &lane, err);
    if (status == IH_OK) {
        ih_count_input(&options, &input, lane, &src, &result);
        status = result.status;
        *err = result.error;
        *sum = status == IH_OK ? *ih_sum(&result.histogram, 0) : 0;
        ih_histogram_reset(&result.histogram);
    }
    ih_lane_close(lane);
    ih_reader_reset(&src);
    return status;
}

static struct ih_device *cpu(void)
{
    const struct ih_device_options options = {.backend = "cpu"};
    struct ih_device *device = NULL;
    struct ih_error err;
    assert_int_equal(ih_device_open(&options, &device, &err), IH_OK);
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    return device;
}

typedef enum ih_status attempt(const char *path, struct ih_device *device, uint64_t *sum,
                               struct ih_error *err);

/* Fails each allocation of an attempt in turn. At least `least` of them must be reported, as
 * IH_MEMORY or as `other`. */
static void fail_each(attempt *run, const char *name, long least, enum ih_status other)
{
    char path[4096];
    struct ih_error err;
    struct ih_device *device = cpu();
    uint64_t expected = 0, sum = 0;
    long n_failed = 0, n = 0;
    snprintf(path, sizeof path, "%s/../%s", getenv("TESTS") ? getenv("TESTS") : "tests", name);
    assert_int_equal(run(path, device, &expected, &err), IH_OK); /* libraries allocate once, too */
    for (bool is_over = false; n < FAILURES_MAX && !is_over; n++) {
        const long before = atomic_load(&n_held);
        err = (struct ih_error){0};
        atomic_store(&n_until_failure, n);
        const enum ih_status status = run(path, device, &sum, &err);
        is_over = atomic_exchange(&n_until_failure, -1) >= 0;
        if (atomic_load(&n_held) != before)
            fail_msg("%s: %ld blocks leak when allocation %ld fails", name,
                     atomic_load(&n_held) - before, n);
        if (status == IH_OK)
            assert_true(sum == expected);
        else if (status != IH_MEMORY && status != other)
            fail_msg("%s: status %d, '%s', when allocation %ld fails", name, (int)status,
                     err.message, n);
        n_failed += status != IH_OK;
    }
    assert_true(n < FAILURES_MAX);
    if (n_failed < least)
        fail_msg("%s: only %ld failures of %ld allocations", name, n_failed, n);
    ih_device_close(device);
}

TEST(png)
{
    fail_each(count_file, "samples/scene.png", 4, IH_MEMORY);
    fail_each(count_file, "samples/palette.png", 4, IH_MEMORY);
    fail_each(count_file, "samples/gray16.png", 4, IH_MEMORY);
    fail_each(count_file, "samples/cutout.png", 4, IH_MEMORY);
}

TEST(jpeg)
{
    fail_each(count_file, "samples/scene.jpg", 10, IH_MEMORY); /* 5 of them in imghist */
}

/* Noise, so that the JPEG is larger than the first buffers of a writer. */
static enum ih_status make_thumbnail(const char *unused_path, struct ih_device *unused,
                                     uint64_t *sum, struct ih_error *err)
{
    enum { SIDE = 160 };
    static uint8_t pixels[SIDE * SIDE * 3];
    const struct ih_image_info info = {.width = SIDE, .height = SIDE, .layout = IH_LAYOUT(3)};
    struct ih_thumbnail t;
    uint8_t *jpeg = NULL;
    size_t n_bytes = 0;
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof pixels; i++) {
        random = random * 1664525 + 1013904223;
        pixels[i] = (uint8_t)(random >> 24);
    }
    enum ih_status status = ih_thumbnail_start(&t, &info, err);
    if (status == IH_OK) {
        ih_thumbnail_add(&t, pixels, SIDE * SIDE);
        status = ih_thumbnail_end(&t, 6, &jpeg, &n_bytes, err);
    }
    *sum = n_bytes;
    free(jpeg);
    ih_thumbnail_reset(&t);
    return status;
}

TEST(thumbnail)
{
    fail_each(make_thumbnail, "samples", 10, IH_MEMORY);
}

/* A complete program: counts a file and a row of pixels, and adds them up. */
static enum ih_status use_library(const char *path, struct ih_device *unused, uint64_t *sum,
                                  struct ih_error *err)
{
    static const uint8_t row[] = {1, 2, 3, 4, 5, 6};
    const struct ih_pixels pixels = {row, 2, 1, 0, 3};
    const struct ih_settings settings = {.device = "cpu", .max_memory = 1 << 28};
    struct ih_context *context = NULL;
    struct ih_counts *counts = NULL, *total = NULL;
    struct ih_stats stats = {.sum = 0};
    enum ih_status status = ih_context_open(&settings, sizeof settings, &context, err);
    if (status == IH_OK)
        status = ih_counts_open(&counts, err);
    if (status == IH_OK)
        status = ih_counts_open(&total, err);
    for (int i = 0; i < 2 && status == IH_OK; i++) {
        status = i == 0 ? ih_count_file(context, path, counts, err)
                        : ih_count_pixels(context, &pixels, counts, err);
        if (status == IH_OK)
            status = ih_counts_add(total, counts, err);
        else
            assert_null(ih_counts_bins(counts, 0));
    }
    if (status == IH_OK)
        status = ih_counts_stats(total, 0, &stats, sizeof stats, err);
    *sum = stats.sum;
    ih_counts_close(total);
    ih_counts_close(counts);
    ih_context_close(context);
    return status;
}

TEST(library)
{
    /* A device without memory to start is unavailable. */
    fail_each(use_library, "samples/scene.png", 8, IH_UNAVAILABLE);
}

static void sample_result(struct ih_result *r)
{
    memset(r, 0, sizeof *r);
    r->path = "a\x1b\xff.png";
    r->info = (struct ih_image_info){
        .format = "png", .width = 16, .height = 16, .layout = IH_LAYOUT(3), .source_depth = 8};
    r->measure = (struct ih_measure){.luma = &ih_luma_bt709, .clip_low = 0, .clip_high = 255};
    r->decoder_version = "none";
    r->counted_by = "cpu";
    r->kernel = "tables";
    r->histogram = make_histogram(3);
    r->histogram.n_pixels = 256;
    for (unsigned c = 0; c < 3; c++)
        add_values(&r->histogram, c, 17, 256);
    add_values(&r->histogram, IH_LUMA, 17, 256);
}

static enum ih_status write_all(const struct ih_output *output, const struct ih_result *result,
                                FILE *stream, struct ih_error *err)
{
    const struct ih_output_options options = {
        .columns = plain_columns(), .unicode = true, .colour = true};
    void *state = NULL;
    enum ih_status status = ih_output_open(output, stream, &options, &state, err);
    if (status != IH_OK)
        return status;
    if (!write_record(output, state, result))
        status = IH_MEMORY;
    if (output->end)
        output->end(state);
    ih_output_close(output, state);
    return status;
}

TEST(outputs)
{
    struct ih_result result;
    sample_result(&result);
    for (const struct ih_output *const *o = ih_outputs; *o; o++) {
        static char buffer[1 << 16];
        bool is_over = false;
        FILE *stream = fopen("/dev/null", "w");
        assert_non_null(stream);
        setvbuf(stream, buffer, _IOFBF, sizeof buffer);
        for (long n = 0; n < FAILURES_MAX && !is_over; n++) {
            struct ih_error err;
            long before = atomic_load(&n_held);
            atomic_store(&n_until_failure, n);
            enum ih_status status = write_all(*o, &result, stream, &err);
            is_over = atomic_exchange(&n_until_failure, -1) >= 0;
            if (status != IH_OK)
                assert_int_equal(status, IH_MEMORY);
            assert_int_equal(atomic_load(&n_held), before);
        }
        assert_true(is_over);
        fclose(stream);
    }
    ih_histogram_reset(&result.histogram);
}

#else

TEST(skipped)
{
    skip("another malloc than glibc's");
}

#endif
