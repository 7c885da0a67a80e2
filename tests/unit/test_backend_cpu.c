/* Lanes of the CPU backend: stripes, images one after the other, errors. test_count.c tests the
 * counts themselves. */
#include "tests/support/test.h"

#include "count/count.h"
#include "device/backend.h"
#include "tests/support/planes_picture.h"

struct lane_fixture {
    void *state, *lane;
};

static void open_lane_beside(struct lane_fixture *f, const char *kernel, unsigned n_idle_cores)
{
    const struct ih_backend_options options = {.kernel = kernel, .n_idle_cores = n_idle_cores};
    struct ih_error err;
    assert_int_equal(ih_backend_cpu.start(&options, 0, &f->state, &err), IH_OK);
    assert_int_equal(ih_backend_cpu.lane_open(f->state, &f->lane, &err), IH_OK);
}

static void open_lane(struct lane_fixture *f, const char *kernel)
{
    open_lane_beside(f, kernel, 0);
}

static void close_lane(struct lane_fixture *f)
{
    ih_backend_cpu.lane_close(f->lane);
    (ih_backend_cpu.stop)(f->state); /* cmocka 2 has a macro of this name */
}

static uint8_t *take_stripe(struct lane_fixture *f, size_t min_bytes, size_t *size_bytes)
{
    struct ih_error err;
    uint8_t *pixels = NULL;
    assert_int_equal(ih_backend_cpu.stripe(f->lane, min_bytes, &pixels, size_bytes, &err), IH_OK);
    assert_non_null(pixels);
    assert_int_equal((uintptr_t)pixels % 64, 0);
    assert_true(*size_bytes >= min_bytes);
    return pixels;
}

static void begin_image(struct lane_fixture *f, const struct ih_count_spec *spec)
{
    struct ih_error err;
    assert_int_equal(ih_backend_cpu.begin(f->lane, spec, &err), IH_OK);
}

static void end_image(struct lane_fixture *f, struct ih_histogram *out, const char *kernel)
{
    struct ih_error err;
    const char *name = NULL;
    memset(out, 0x5A, sizeof *out);
    assert_int_equal(ih_backend_cpu.end(f->lane, out, &name, &err), IH_OK);
    assert_string_equal(name, kernel);
    assert_true(ih_histogram_consistent(out));
}

static void count_pixels(struct lane_fixture *f, const uint8_t *pixels, size_t n,
                         unsigned n_channels)
{
    struct ih_error err;
    size_t size_bytes;
    memcpy(take_stripe(f, n * n_channels, &size_bytes), pixels, n * n_channels);
    assert_int_equal(ih_backend_cpu.count(f->lane, n, &err), IH_OK);
}

TEST(best_is_first)
{
    const struct ih_count_spec spec = {IH_LAYOUT(1), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_histogram got;
    struct lane_fixture f;
    open_lane(&f, NULL);
    begin_image(&f, &spec);
    end_image(&f, &got, "tables");
    ih_histogram_reset(&got);
    assert_string_equal(ih_backend_cpu.kernels[0].name, "tables");
    assert_string_equal(ih_backend_cpu.name, "cpu");
    assert_string_equal(ih_backend_cpu.describe(f.state), "cpu");
    close_lane(&f);
}

TEST(unknown_kernel)
{
    const struct ih_backend_options options = {.kernel = "warp"};
    struct ih_error err;
    void *device = NULL;
    assert_int_equal(ih_backend_cpu.start(&options, 0, &device, &err), IH_UNAVAILABLE);
    assert_int_equal(err.status, IH_UNAVAILABLE);
    assert_non_null(strstr(err.message, "warp"));
    assert_null(device);
}

/* ---- planes ---- */

static unsigned sample_soft(unsigned plane, uint32_t x, uint32_t y, unsigned before,
                            uint32_t random)
{
    return x == 0 ? 100 + y * 3 + plane * 30 : before + random % 7 - 3;
}

static void count_planes(struct lane_fixture *f, const struct planes_picture *p, uint32_t row,
                         uint32_t n_rows)
{
    struct ih_error err;
    size_t size_bytes;
    uint8_t *buffer = take_stripe(f, stripe_bytes(p, row, n_rows, row % 7), &size_bytes);
    struct ih_planes stripe = put_stripe(p, row, n_rows, row % 7, buffer);
    assert_int_equal(ih_backend_cpu.count_planes(f->lane, &stripe, &err), IH_OK);
    memset(&stripe, 0xA5, sizeof stripe); /* the lane has a copy */
}

enum stripes { PLANES, PIXELS, BY_TURNS };

/* Counts all rows but the last n_left. */
static void count_picture(struct lane_fixture *f, const struct planes_picture *p,
                          enum stripes stripes, uint32_t n_left)
{
    const uint32_t width = p->image.width, height = p->image.height - n_left;
    for (uint32_t row = 0, i = 0, n; row < height; row += n, i++) {
        n = 1 + i * 5 % 12 < height - row ? 1 + i * 5 % 12 : height - row;
        if (stripes == PLANES || (stripes == BY_TURNS && i % 2 == 0))
            count_planes(f, p, row, n);
        else
            count_pixels(f, p->rgb + (size_t)row * width * 3, (size_t)n * width, 3);
    }
}

/* Images as planes and as pixels in one lane, complete and abandoned, with and without a thread. */
TEST(planes)
{
    static const struct {
        unsigned picture;
        enum stripes stripes;
        uint32_t n_left; /* rows; not 0: the image is abandoned */
    } images[] = {{0, PLANES, 0},  {1, PIXELS, 0},   {2, PLANES, 0}, {1, PLANES, 20},
                  {2, PIXELS, 0},  {0, PLANES, 50},  {1, PLANES, 0}, {1, BY_TURNS, 0},
                  {0, PIXELS, 10}, {2, BY_TURNS, 0}, {0, PLANES, 0}};
    struct planes_picture pictures[3] = {make_picture(1, 1, 301, 70, sample_soft),
                                         make_picture(2, 1, 1999, 90, sample_soft),
                                         make_picture(2, 2, 83, 133, sample_soft)};
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt601, 10, 240};
    for (unsigned n_idle_cores = 0; n_idle_cores < 2; n_idle_cores++) {
        struct lane_fixture f;
        open_lane_beside(&f, NULL, n_idle_cores);
        if (!ih_backend_cpu.takes_planes(f.state))
            skip("this CPU counts no planes");
        for (unsigned i = 0; i < sizeof images / sizeof images[0]; i++) {
            const struct planes_picture *p = &pictures[images[i].picture];
            struct ih_histogram expected, got;
            begin_image(&f, &spec);
            count_picture(&f, p, images[i].stripes, images[i].n_left);
            if (images[i].n_left > 0)
                continue;
            end_image(&f, &got, "tables");
            count_with(&ih_count_reference, &spec, p->rgb, (size_t)p->image.width * p->image.height,
                       &expected);
            assert_same(&expected, &got);
            ih_histogram_reset(&expected);
        }
        close_lane(&f);
    }
    for (unsigned i = 0; i < 3; i++)
        free_picture(&pictures[i]);
}

TEST(kernels_that_take_planes)
{
    struct lane_fixture f;
    open_lane(&f, "tables");
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__))
    assert_true(ih_backend_cpu.takes_planes(f.state));
#endif
    close_lane(&f);
    open_lane(&f, "reference");
    assert_false(ih_backend_cpu.takes_planes(f.state));
    close_lane(&f);
}

TEST(close_null)
{
    ih_backend_cpu.lane_close(NULL);
    (ih_backend_cpu.stop)(NULL); /* cmocka 2 has a macro of this name */
}
