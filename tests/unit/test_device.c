/*
 * Devices of several units, without a GPU: fake backends count with the CPU backend's lanes, record
 * their calls, and fail if a test asks for it.
 */
#include "tests/support/test.h"

#include "device/backend.h"
#include <pthread.h>
#include <time.h>

enum { UNITS = 5 };

/* What a test asks of its backend, and what the backend has recorded. */
static struct {
    int n_units; /* 0: none, as without a driver */
    bool is_broken[UNITS];
    const char *models[UNITS]; /* NULL: "Abacus 9000" */
    long start_ms;
    unsigned n_meeting; /* each start waits until so many have begun */

    pthread_mutex_t lock;
    pthread_cond_t on_start;
    unsigned n_begun;
    char started[UNITS + 1]; /* 'x' for a unit that started, '!' for one that failed */
    bool is_running[UNITS];
} fake;

struct fake_unit {
    int ordinal;
    void *inner;
    char text[40];
};

static void be(int n_units)
{
    memset(&fake, 0, sizeof fake);
    fake.n_units = n_units;
    memset(fake.started, '.', UNITS);
    pthread_mutex_init(&fake.lock, NULL);
    pthread_cond_init(&fake.on_start, NULL);
}

static enum ih_status fake_n_units(int *n, struct ih_error *err)
{
    *n = fake.n_units;
    return *n ? IH_OK : ih_error_set(err, IH_UNAVAILABLE, "no abacus here");
}

/* Waits until n_meeting starts run at the same time, at most five seconds. */
static bool meet(void)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    pthread_mutex_lock(&fake.lock);
    fake.n_begun++;
    pthread_cond_broadcast(&fake.on_start);
    while (fake.n_begun < fake.n_meeting && error == 0)
        error = pthread_cond_timedwait(&fake.on_start, &fake.lock, &until);
    pthread_mutex_unlock(&fake.lock);
    return error == 0;
}

static enum ih_status fake_start(const struct ih_backend_options *options, int ordinal,
                                 void **state, struct ih_error *err)
{
    static struct fake_unit units[UNITS];
    struct fake_unit *u = &units[ordinal];
    const struct timespec a_while = {.tv_nsec = fake.start_ms * 1000 * 1000};
    bool have_met = meet();
    nanosleep(&a_while, NULL);
    pthread_mutex_lock(&fake.lock);
    fake.started[ordinal] = fake.is_broken[ordinal] || !have_met ? '!' : 'x';
    fake.is_running[ordinal] = fake.started[ordinal] == 'x';
    pthread_mutex_unlock(&fake.lock);
    if (!have_met)
        return ih_error_set(err, IH_DEVICE, "alone");
    if (fake.is_broken[ordinal])
        return ih_error_set(err, IH_DEVICE, "a bead is missing");
    u->ordinal = ordinal;
    snprintf(u->text, sizeof u->text, "fake:%d %s", ordinal,
             fake.models[ordinal] ? fake.models[ordinal] : "Abacus 9000");
    *state = u;
    return ih_backend_cpu.start(options, 0, &u->inner, err);
}

static void fake_stop(void *state)
{
    struct fake_unit *u = state;
    (ih_backend_cpu.stop)(u->inner); /* cmocka 2 has a macro of this name */
    fake.is_running[u->ordinal] = false;
}

static const char *fake_describe(void *state)
{
    return ((struct fake_unit *)state)->text;
}

static enum ih_status fake_lane_open(void *state, void **lane, struct ih_error *err)
{
    struct fake_unit *u = state;
    assert_true(fake.is_running[u->ordinal]);
    return ih_backend_cpu.lane_open(u->inner, lane, err);
}

/* A backend with one kernel that counts as the CPU backend does. */
static const struct ih_backend *const *fakes(void)
{
    static const struct ih_kernel_entry kernels[] = {{"reference", "for tests"}, {NULL, NULL}};
    static struct ih_backend fake_backend;
    static const struct ih_backend *const list[] = {&fake_backend, &ih_backend_cpu, NULL};
    fake_backend = ih_backend_cpu;
    fake_backend.name = "fake";
    fake_backend.kernels = kernels;
    fake_backend.n_units = fake_n_units;
    fake_backend.start = fake_start;
    fake_backend.stop = fake_stop;
    fake_backend.describe = fake_describe;
    fake_backend.lane_open = fake_lane_open;
    return list;
}

static struct ih_device *device_of(struct ih_device_options options)
{
    struct ih_device *device = NULL;
    struct ih_error err;
    options.backends = fakes();
    assert_int_equal(ih_device_open(&options, &device, &err), IH_OK);
    return device;
}

/* ---- starts ---- */

/* A device that is opened and closed: the units it tries, and what it says. */
struct start {
    int n_units;
    unsigned broken, n_meeting; /* broken: a bit for each unit */
    struct ih_device_options options;
    const char *started, *description, *reason; /* description NULL: it does not start */
};

#define ONE "fake:0 Abacus 9000"
#define THREE "fake:0,1,2 3 x Abacus 9000"
#define BROKEN(n) "fake:" #n ": a bead is missing"
#define ONLY .backend = "fake"
#define NO_DEVICE_3 "no device fake:3: this machine shows 3, counted from 0"
#define NAMED(a, b, lanes) ONLY, .ordinals = {a, b}, .n_ordinals = 2, .n_lanes = lanes

static const struct start starts[] = {
    /* as many units as lanes */
    {3, 0, 0, {.n_lanes = 1}, "x....", ONE, ""},
    {3, 0, 0, {.n_lanes = 0}, "x....", ONE, ""}, /* 0 means one */
    {3, 0, 0, {.n_lanes = 2}, "xx...", "fake:0,1 2 x Abacus 9000", ""},
    {3, 0, 0, {.n_lanes = 16}, "xxx..", THREE, ""},
    /* at the same time */
    {3, 0, 3, {.n_lanes = 3}, "xxx..", THREE, ""},
    /* a broken unit is left out */
    {4, 2, 0, {.n_lanes = 2}, "x!x..", "fake:0,2 2 x Abacus 9000", BROKEN(1)},
    {3, 1, 0, {.n_lanes = 1}, "!x...", "fake:1 Abacus 9000", BROKEN(0)},
    /* all broken, or no units: the CPU, or an error if only the GPU may count */
    {2, 3, 0, {.n_lanes = 8}, "!!...", "cpu", BROKEN(0)},
    {2, 3, 0, {ONLY, .n_lanes = 8}, "!!...", NULL, BROKEN(0)},
    {0, 0, 0, {.n_lanes = 2}, ".....", "cpu", "no abacus here"},
    {0, 0, 0, {ONLY}, ".....", NULL, "no abacus here"},
    /* named units must all exist and start, even if no lane would use them */
    {3, 0, 0, {NAMED(2, 0, 8)}, "x.x..", "fake:2,0 2 x Abacus 9000", ""},
    {3, 0, 0, {NAMED(2, 0, 1)}, "..x..", "fake:2 Abacus 9000", ""},
    {3, 2, 0, {NAMED(0, 1, 8)}, "x!...", NULL, BROKEN(1)},
    {3, 0, 0, {NAMED(0, 3, 1)}, ".....", NULL, NO_DEVICE_3},
};

static void assert_starts(const struct start *s)
{
    struct ih_error err = {0};
    struct ih_device *device = device_of(s->options);
    const enum ih_status status = ih_device_wait(device, &err);
    assert_string_equal(fake.started, s->started);
    assert_int_equal(status, s->description ? IH_OK : IH_UNAVAILABLE);
    if (s->description)
        assert_string_equal(ih_device_description(device), s->description);
    assert_string_equal(s->description ? ih_device_fallback_reason(device) : err.message,
                        s->reason);
    ih_device_close(device);
    for (size_t i = 0; i < UNITS; i++)
        assert_false(fake.is_running[i]);
}

TEST(starts)
{
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        be(starts[i].n_units);
        fake.n_meeting = starts[i].n_meeting;
        for (unsigned u = 0; u < UNITS; u++)
            fake.is_broken[u] = starts[i].broken >> u & 1;
        assert_starts(&starts[i]);
    }
}

TEST(units_of_several_models)
{
    const struct start s = {.options = {ONLY, .n_lanes = 2},
                            .started = "xx...",
                            .description = "fake:0 Abacus 9000, fake:1 Abacus 9000 Ti",
                            .reason = ""};
    be(2);
    fake.models[1] = "Abacus 9000 Ti";
    assert_starts(&s);
}

/* ---- lanes ---- */

/* Counts an image of one white pixel. */
static void count_one(struct ih_lane *lane)
{
    const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255};
    struct ih_histogram h;
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    const char *kernel;
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
    assert_int_equal(ih_lane_band(lane, 3, &pixels, &size_bytes, &err), IH_OK);
    memset(pixels, 255, 3);
    assert_int_equal(ih_lane_count(lane, 1, &err), IH_OK);
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    assert_int_equal(h.n_pixels, 1);
    assert_int_equal(h.all_high, 1);
}

/* In turn, both before and after the start. */
TEST(lanes_take_units_in_turn)
{
    enum { LANES = 3 }; /* no multiple of the units, so that a second assignment would show */
    static const char *const expected[] = {"fake:0 Abacus 9000", "fake:1 Abacus 9000"};
    for (long start_ms = 0; start_ms <= 50; start_ms += 50) {
        struct ih_lane *lanes[LANES];
        struct ih_error err;
        be(2);
        fake.start_ms = start_ms;
        struct ih_device *device =
            device_of((struct ih_device_options){.backend = "fake", .n_lanes = LANES});
        for (size_t i = 0; i < LANES; i++)
            assert_int_equal(ih_lane_open(device, &lanes[i], &err), IH_OK);
        for (size_t i = 0; i < 2 * LANES; i++) { /* a lane keeps its unit */
            count_one(lanes[i % LANES]);
            assert_string_equal(ih_lane_description(lanes[i % LANES]), expected[i % LANES % 2]);
        }
        for (size_t i = 0; i < LANES; i++)
            ih_lane_close(lanes[i]);
        ih_device_close(device);
    }
}

/* Fills the next band with consecutive values from `first` on. */
static size_t count_band(struct ih_lane *lane, unsigned first)
{
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    assert_int_equal(ih_lane_band(lane, 3, &pixels, &size_bytes, &err), IH_OK);
    const size_t n_each = size_bytes / 3 / IH_BINS, n = n_each * IH_BINS;
    for (size_t i = 0; i < 3 * n; i++)
        pixels[i] = (uint8_t)(first + i / 3 / n_each);
    assert_int_equal(ih_lane_count(lane, n, &err), IH_OK);
    return n;
}

/* Staged bands may be larger than the backend's, and are dropped with their image. */
TEST(bands_before_the_start)
{
    const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255};
    struct ih_histogram h;
    struct ih_lane *lane;
    struct ih_error err;
    const char *kernel;
    size_t n = 0;
    be(1);
    fake.start_ms = 200;
    struct ih_device *device =
        device_of((struct ih_device_options){.backend = "fake", .n_lanes = 1});
    assert_int_equal(ih_lane_open(device, &lane, &err), IH_OK);
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
    count_band(lane, 0); /* of an abandoned image */
    assert_int_equal(ih_lane_begin(lane, &spec, &err), IH_OK);
    for (unsigned i = 0; i < 3; i++)
        n += count_band(lane, 50 * i);
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    assert_int_equal(h.n_pixels, n);
    for (unsigned v = 0; v < IH_BINS; v++)
        assert_int_equal(h.bins[1][v], n / IH_BINS);
    ih_lane_close(lane);
    ih_device_close(device);
}
