/*
 * Which images a lane counts as planes and which as pixels, and that their counts are equal: before
 * and after the device has started, with an assistant thread and without, and in a scan. The
 * backend is the CPU's, and counts its calls.
 */
#include "tests/support/test.h"

#include "count/count.h"
#include "scan/scan.h"
#include "tests/support/counted.h"
#include "tests/support/jpeg_files.h"
#include <stdatomic.h>
#include <time.h>

static struct {
    atomic_bool is_held; /* start waits */
    long start_ms;
    bool is_broken;
    unsigned n_pixel_stripes, n_plane_stripes;
} fake;

static enum ih_status fake_start(const struct ih_backend_options *options, int ordinal,
                                 void **state, struct ih_error *err)
{
    const struct timespec a_while = {.tv_nsec = fake.start_ms * 1000 * 1000};
    do
        nanosleep(&a_while, NULL);
    while (fake.is_held);
    if (fake.is_broken)
        return ih_error_set(err, IH_DEVICE, "a bead is missing");
    return ih_backend_cpu.start(options, ordinal, state, err);
}

static enum ih_status fake_count(void *lane, size_t n_pixels, struct ih_error *err)
{
    fake.n_pixel_stripes++;
    return ih_backend_cpu.count(lane, n_pixels, err);
}

static enum ih_status fake_count_planes(void *lane, const struct ih_planes *planes,
                                        struct ih_error *err)
{
    fake.n_plane_stripes++;
    return ih_backend_cpu.count_planes(lane, planes, err);
}

enum can { ALL, NO_PLANES, IS_BROKEN };

static struct ih_device *device_of(const char *kernel, unsigned n_idle_cores, enum can can,
                                   bool is_held, long start_ms)
{
    static struct ih_backend backend;
    static const struct ih_backend *const list[] = {&backend, NULL};
    const struct ih_device_options options = {
        .backend = "fake", .with = {kernel, n_idle_cores}, .backends = list};
    struct ih_device *device = NULL;
    struct ih_error err;
    fake.start_ms = start_ms;
    fake.is_held = is_held;
    fake.is_broken = can == IS_BROKEN;
    backend = ih_backend_cpu;
    backend.name = "fake";
    backend.start = fake_start;
    backend.count = fake_count;
    backend.count_planes = can == NO_PLANES ? NULL : fake_count_planes;
    if (can == NO_PLANES)
        backend.takes_planes = NULL;
    assert_int_equal(ih_device_open(&options, &device, &err), IH_OK);
    return device;
}

static bool takes_planes(void)
{
    return ih_counter_takes_planes(&ih_count_tables);
}

/* A lane takes no planes while its device starts, after a failed start, if the backend cannot count
 * them, or with the reference kernel. */
TEST(takes_planes)
{
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    static const struct {
        const char *kernel;
        enum can can;
        enum ih_status status;
        bool takes;
    } devices[] = {{NULL, ALL, IH_OK, true},
                   {"tables", ALL, IH_OK, true},
                   {"reference", ALL, IH_OK, false},
                   {NULL, NO_PLANES, IH_OK, false},
                   {NULL, IS_BROKEN, IH_UNAVAILABLE, false}};
    for (unsigned i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct ih_device *device = device_of(devices[i].kernel, 0, devices[i].can, true, 1);
        struct ih_lane *lane;
        struct ih_error err;
        assert_int_equal(ih_lane_open(device, &lane, &err), IH_OK);
        assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
        assert_false(ih_lane_takes_planes(lane));
        fake.is_held = false;
        assert_int_equal(ih_device_wait(device, &err), devices[i].status);
        assert_false(ih_lane_takes_planes(lane)); /* not for the image that has begun */
        assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
        assert_int_equal(ih_lane_takes_planes(lane), devices[i].takes && takes_planes());
        ih_lane_close(lane);
        ih_device_close(device);
    }
}

static const struct {
    struct jpeg_kind kind;
    unsigned width, height;
    bool is_cut;
    unsigned n_plane_stripes; /* at least; 0: counted as pixels */
} files[] = {
    {{.h = 2, .v = 2}, 900, 500, false, 3},
    {{.h = 2, .v = 1}, 701, 300, true, 1},
    {{.h = 1, .v = 1}, 517, 333, false, 3},
    {{.h = 1, .v = 2}, 417, 133, false, 0},
    {{.h = 2, .v = 2, .is_progressive = true}, 651, 402, false, 3},
    {{.is_gray = true, .h = 1, .v = 1}, 400, 400, false, 0},
    {{.h = 2, .v = 1, .restart_interval = 7}, 703, 300, false, 3},
    {{.h = 2, .v = 2, .is_progressive = true}, 300, 300, true, 0},
    {{.h = 2, .v = 2}, 4, 300, false, 0},
    {{.h = 2, .v = 2}, 5, 300, false, 1},
    {{.h = 2, .v = 2}, 6001, 35, false, 3}, /* larger than the lane's usual stripes */
    {{.h = 1, .v = 1, .is_flat = true}, 1, 1, false, 1},
};
enum { N_FILES = sizeof files / sizeof files[0] };

/* Counts all files in one lane, and for each the stripes of planes and of pixels. */
static void count_files(struct ih_device *device, struct ih_result *results,
                        unsigned (*n_stripes)[2])
{
    const struct ih_scan_options options = {.n_threads = 1,
                                            .decode = {.max_pixels = 1000000},
                                            .measure.luma = &ih_luma_bt601,
                                            .measure.clip_low = 10,
                                            .measure.clip_high = 240,
                                            .measure.alpha = IH_ALPHA_SKIP_TRANSPARENT};
    struct ih_reader source = {0};
    struct ih_lane *lane;
    struct ih_error err;
    assert_int_equal(ih_lane_open(device, &lane, &err), IH_OK);
    for (unsigned i = 0; i < N_FILES; i++) {
        struct jpeg_file f = make_jpeg(&files[i].kind, files[i].width, files[i].height);
        const struct ih_input input = {
            .bytes = f.bytes, .size_bytes = files[i].is_cut ? f.n - 30 : f.n, .is_named = true};
        fake.n_plane_stripes = fake.n_pixel_stripes = 0;
        ih_count_input(&options, &input, lane, &source, &results[i]);
        n_stripes[i][0] = fake.n_plane_stripes;
        n_stripes[i][1] = fake.n_pixel_stripes;
        free(f.bytes);
    }
    ih_lane_close(lane);
    ih_reader_reset(&source);
}

TEST(inputs)
{
    static struct ih_result expected[N_FILES], results[N_FILES];
    unsigned n_stripes[N_FILES][2];
    struct ih_error err;
    struct ih_device *device = device_of("reference", 0, ALL, false, 0);
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    count_files(device, expected, n_stripes);
    ih_device_close(device);
    for (unsigned i = 0; i < N_FILES; i++)
        assert_int_equal(n_stripes[i][0], 0);
    for (unsigned way = 0; way < 4;
         way++) { /* waits for the start or not; with an idle core or not */
        device = device_of(NULL, way / 2, ALL, false, way % 2 ? 0 : 150);
        if (way % 2)
            assert_int_equal(ih_device_wait(device, &err), IH_OK);
        count_files(device, results, n_stripes);
        ih_device_close(device);
        for (unsigned i = 0; i < N_FILES; i++) {
            assert_int_equal(results[i].status, files[i].is_cut ? IH_CORRUPT : IH_OK);
            assert_int_equal(results[i].status, expected[i].status);
            if (files[i].is_cut)
                assert_string_equal(results[i].error.message, expected[i].error.message);
            else
                assert_same(&expected[i].histogram, &results[i].histogram);
            if (way % 2 && takes_planes() && files[i].n_plane_stripes > 0) {
                assert_in_range(n_stripes[i][0], files[i].n_plane_stripes, 99);
                assert_int_equal(n_stripes[i][1], 0);
            }
            assert_true(files[i].n_plane_stripes > 0 || n_stripes[i][0] == 0);
        }
    }
}
