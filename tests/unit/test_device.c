/* Devices of several units: which of them start, and which of them count. */
#include "tests/support/fake_device.h"

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
    /* one for each 16 lanes */
    {3, 0, 0, {.n_lanes = 16}, "x....", ONE, ""},
    {3, 0, 0, {.n_lanes = 0}, "x....", ONE, ""}, /* 0 means one */
    {3, 0, 0, {.n_lanes = 17}, "xx...", "fake:0,1 2 x Abacus 9000", ""},
    {3, 0, 0, {.n_lanes = 48}, "xxx..", THREE, ""},
    /* at the same time */
    {3, 0, 3, {.n_lanes = 33}, "xxx..", THREE, ""},
    /* a broken unit is left out */
    {4, 2, 0, {.n_lanes = 17}, "x!x..", "fake:0,2 2 x Abacus 9000", BROKEN(1)},
    {3, 1, 0, {.n_lanes = 1}, "!x...", "fake:1 Abacus 9000", BROKEN(0)},
    /* all broken, or no units: the CPU, or an error if only the GPU may count */
    {2, 3, 0, {.n_lanes = 8}, "!!...", "cpu", BROKEN(0)},
    {2, 3, 0, {ONLY, .n_lanes = 8}, "!!...", NULL, BROKEN(0)},
    {0, 0, 0, {.n_lanes = 17}, ".....", "cpu", "no abacus here"},
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
        be(starts[i].n_units, false);
        fake.n_meeting = starts[i].n_meeting;
        for (unsigned u = 0; u < UNITS; u++)
            fake.is_broken[u] = starts[i].broken >> u & 1;
        assert_starts(&starts[i]);
    }
}

TEST(units_of_several_models)
{
    const struct start s = {.options = {ONLY, .n_lanes = 32},
                            .started = "xx...",
                            .description = "fake:0 Abacus 9000, fake:1 Abacus 9000 Ti",
                            .reason = ""};
    be(2, false);
    fake.models[1] = "Abacus 9000 Ti";
    assert_starts(&s);
}

/* ---- lanes ---- */

/* In turn, both before and after the start. */
TEST(lanes_take_units_in_turn)
{
    enum { LANES = 3 }; /* no multiple of the units, so that a second assignment would show */
    static const char *const expected[] = {"fake:0 Abacus 9000", "fake:1 Abacus 9000"};
    for (int is_held = 0; is_held < 2; is_held++) {
        struct ih_lane *lanes[LANES];
        be(2, is_held);
        struct ih_device *device = device_of(
            (struct ih_device_options){.backend = "fake", .n_lanes = IH_LANES_OF_UNIT * LANES});
        if (!is_held)
            assert_int_equal(ih_device_wait(device, NULL), IH_OK);
        for (size_t i = 0; i < LANES; i++)
            lanes[i] = lane_of(device);
        release();
        for (size_t i = 0; i < 2 * LANES; i++) /* a lane keeps its unit */
            assert_counts(lanes[i % LANES], expected[i % LANES % 2]);
        for (size_t i = 0; i < LANES; i++)
            ih_lane_close(lanes[i]);
        ih_device_close(device);
    }
}

/* Fills the next stripe with consecutive values from `first` on. */
static size_t count_stripe(struct ih_lane *lane, unsigned first)
{
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    assert_int_equal(ih_lane_stripe(lane, 3, &pixels, &size_bytes, &err), IH_OK);
    const size_t n_each = size_bytes / 3 / IH_BINS, n = n_each * IH_BINS;
    for (size_t i = 0; i < 3 * n; i++)
        pixels[i] = (uint8_t)(first + i / 3 / n_each);
    assert_int_equal(ih_lane_count(lane, n, &err), IH_OK);
    return n;
}

/* Staged stripes may be larger than the backend's, and are dropped with their image. */
TEST(stripes_before_the_start)
{
    struct ih_histogram h;
    struct ih_error err;
    const char *kernel;
    size_t n = 0;
    be(1, true);
    struct ih_device *device =
        device_of((struct ih_device_options){.backend = "fake", .n_lanes = 1});
    struct ih_lane *lane = lane_of(device);
    begin(lane);
    count_stripe(lane, 0); /* of an abandoned image */
    begin(lane);
    for (unsigned i = 0; i < 3; i++)
        n += count_stripe(lane, 50 * i);
    release();
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    assert_int_equal(h.n_pixels, n);
    for (unsigned v = 0; v < IH_BINS; v++)
        assert_int_equal(ih_bins(&h, 1)[v], n / IH_BINS);
    ih_histogram_reset(&h);
    ih_lane_close(lane);
    ih_device_close(device);
}

/* Counts -3 and -0, or the least integer, as one pixel each. */
static void assert_keys(struct ih_lane *lane, enum ih_sample_type type, uint64_t n_about,
                        bool makes_keys)
{
    static const uint16_t samples[] = {0xFFFD, 0x8000};
    const struct ih_count_spec wide = {IH_LAYOUT(1), type, 65536, &ih_luma_none, 0, 65535};
    struct ih_histogram h;
    struct ih_error err;
    uint8_t *pixels;
    size_t size_bytes;
    const char *kernel;
    assert_int_equal(ih_lane_begin(lane, &wide, &err), IH_OK);
    assert_int_equal(ih_lane_make_keys(lane, n_about), makes_keys);
    assert_int_equal(ih_lane_stripe(lane, sizeof samples, &pixels, &size_bytes, &err), IH_OK);
    memcpy(pixels, samples, sizeof samples);
    if (!makes_keys)
        ih_keys_make(type, pixels, 2);
    assert_int_equal(ih_lane_count(lane, 2, &err), IH_OK);
    assert_int_equal(ih_lane_end(lane, &h, &kernel, &err), IH_OK);
    const unsigned keys[] = {type == IH_INT16 ? 0x7FFD : 2, type == IH_INT16 ? 0 : 0x8000};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ih_bins(&h, 0)[keys[i]], 1);
    assert_int_equal(h.sums[0], keys[0] + keys[1]);
    assert_true(h.adds_up);
    ih_histogram_reset(&h);
}

/* The CPU makes keys of any image. For others, the lane does in the end, of large ones. */
TEST(keys)
{
    static const struct ih_count_spec rgb = {IH_LAYOUT(3),   IH_INT16, 65536,
                                             &ih_luma_bt709, 0,        65535};
    enum { SMALL = 1000, LARGE = 1 << 20 };
    struct ih_error err;
    be(1, true);
    struct ih_device *device = device_of((struct ih_device_options){.backend = "fake"});
    struct ih_lane *lane = lane_of(device);
    assert_int_equal(ih_lane_begin(lane, &rgb, &err), IH_OK);
    assert_false(ih_lane_make_keys(lane, LARGE));
    release();
    assert_keys(lane, IH_INT16, LARGE, true);
    assert_int_equal(ih_device_wait(device, &err), IH_OK);
    for (unsigned t = 0; t < 2; t++) {
        assert_keys(lane, t ? IH_INT16 : IH_FLOAT16, LARGE, true);
        assert_keys(lane, t ? IH_INT16 : IH_FLOAT16, SMALL, false);
    }
    assert_int_equal(ih_lane_begin(lane, &rgb, &err), IH_OK);
    assert_false(ih_lane_make_keys(lane, LARGE)); /* luma is of keys */
    begin(lane);
    assert_false(ih_lane_make_keys(lane, LARGE)); /* of 8 bits */
    ih_lane_close(lane);
    ih_device_close(device);

    device = device_of((struct ih_device_options){.backend = "cpu"});
    lane = lane_of(device);
    assert_keys(lane, IH_FLOAT16, SMALL, true);
    assert_keys(lane, IH_INT16, 0, true);
    assert_int_equal(ih_lane_begin(lane, &rgb, &err), IH_OK);
    assert_true(ih_lane_make_keys(lane, SMALL));
    ih_lane_close(lane);
    ih_device_close(device);
}
