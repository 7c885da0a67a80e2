/*
 * Every kernel of every backend against a plain count, bin by bin.
 *
 * Each case uses the program's interface: a device, a lane, stripes. Backends that this machine
 * lacks are skipped. IMGHIST_TEST_SMALL=1 leaves out large cases, for tools that slow kernels down
 * a thousand times; IMGHIST_TEST_BACKEND=NAME tests one backend.
 */
#define OWN_MAIN
#include "tests/support/test.h"

#include "device/backend.h"
#include "tests/support/random.h"
#include "tests/support/rows.h"

/* ---- data ---- */

enum pattern { RANDOM, CONSTANT, BLACK, WHITE, TWO_VALUES, RAMP, RUNS, MIXED_CLIPS, N_PATTERNS };

/* Byte i of a pattern, with a random number. */
static uint8_t byte_of(enum pattern pattern, size_t i, uint8_t before, uint32_t r)
{
    switch (pattern) {
    case RANDOM:
        return (uint8_t)(r >> 8);
    case CONSTANT:
        return 77;
    case BLACK:
        return 0;
    case WHITE:
        return 255;
    case TWO_VALUES:
        return i / 5 % 2 ? 31 : 200;
    case RAMP:
        return (uint8_t)(i / 3);
    case RUNS:
        return r % 97 == 0 ? (uint8_t)(r >> 8) : before;
    default: /* clipped and unclipped samples within every pixel */
        return r % 3 == 0 ? 0 : r % 3 == 1 ? 255 : (uint8_t)(r >> 8);
    }
}

/* Fills bytes with a pattern that is hard for some kind of kernel. */
static void fill(uint8_t *bytes, size_t n, enum pattern pattern)
{
    uint32_t state = 2463534242u;
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_of(pattern, i, i ? bytes[i - 1] : 7, random_next(&state));
}

/* ---- the expected counts; shares no code with any kernel ---- */

static void count_plainly(const uint8_t *pixels, size_t n_pixels, const struct ih_count_spec *spec,
                          struct ih_histogram *h)
{
    unsigned n = spec->layout.n_channels, n_colours = n < 3 ? 1 : 3;
    assert_int_equal(ih_histogram_init(h, spec, NULL), IH_OK);
    h->n_pixels = n_pixels;
    for (size_t i = 0; i < n_pixels; i++) {
        const uint8_t *p = pixels + i * n;
        unsigned n_low = 0, n_high = 0, luma = p[0];
        for (unsigned c = 0; c < n; c++) {
            ih_bins(h, c)[p[c]]++;
            *ih_sum(h, c) += p[c];
            n_low += c < n_colours && p[c] <= spec->clip_low;
            n_high += c < n_colours && p[c] >= spec->clip_high;
        }
        if (n_colours == 3)
            luma = (spec->luma->red * p[0] + spec->luma->green * p[1] + spec->luma->blue * p[2] +
                    32768) >>
                   16;
        if (n_colours == 3 && spec->luma != &ih_luma_none) {
            ih_bins(h, IH_LUMA)[luma]++;
            *ih_sum(h, IH_LUMA) += luma;
        }
        h->any_low += n_low > 0;
        h->any_high += n_high > 0;
        h->all_low += n_low == n_colours;
        h->all_high += n_high == n_colours;
    }
}

/* Releases both. */
static void assert_same(struct ih_histogram *got, struct ih_histogram *want, const char *what)
{
    assert_int_equal(got->n_planes, want->n_planes);
    for (unsigned row = 0; row < N_ROWS; row++) {
        const unsigned p = plane_of(row);
        const char *name = has_row(want, row) ? ih_histogram_plane(want, p) : NULL;
        for (unsigned v = 0; name && v < IH_BINS; v++)
            if (ih_bins(got, p)[v] != ih_bins(want, p)[v])
                fail_msg("%s: %s[%u] is %llu, not %llu", what, name, v,
                         (unsigned long long)ih_bins(got, p)[v],
                         (unsigned long long)ih_bins(want, p)[v]);
        if (name && *ih_sum(got, p) != *ih_sum(want, p))
            fail_msg("%s: the sum of %s is %llu, not %llu", what, name,
                     (unsigned long long)*ih_sum(got, p), (unsigned long long)*ih_sum(want, p));
    }
    if (got->n_pixels != want->n_pixels || got->any_low != want->any_low ||
        got->any_high != want->any_high || got->all_low != want->all_low ||
        got->all_high != want->all_high)
        fail_msg("%s: joint clip counts %llu %llu %llu %llu, not %llu %llu %llu %llu", what,
                 (unsigned long long)got->any_low, (unsigned long long)got->any_high,
                 (unsigned long long)got->all_low, (unsigned long long)got->all_high,
                 (unsigned long long)want->any_low, (unsigned long long)want->any_high,
                 (unsigned long long)want->all_low, (unsigned long long)want->all_high);
    ih_histogram_reset(got);
    ih_histogram_reset(want);
}

/* ---- running a kernel ---- */

struct subject {
    const struct ih_backend *backend;
    const char *kernel;
    struct ih_device *device;
    struct ih_lane *lane;
};

static int open_subject(void **state)
{
    struct subject *s = *state;
    const struct ih_device_options options = {
        .backend = s->backend->name, .with.kernel = s->kernel, .with.n_idle_cores = 1};
    struct ih_error err = {0};
    if (ih_device_open(&options, &s->device, &err) != IH_OK) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    if (ih_device_wait(s->device, &err) != IH_OK) {
        ih_device_close(s->device);
        s->device = NULL; /* the test is skipped */
        return 0;
    }
    return ih_lane_open(s->device, &s->lane, &err) == IH_OK ? 0 : -1;
}

static int close_subject(void **state)
{
    struct subject *s = *state;
    ih_lane_close(s->lane);
    ih_device_close(s->device);
    s->lane = NULL;
    s->device = NULL;
    return 0;
}

/* Counts pixels in stripes of at most stripe_pixels. */
static void count_stripes(struct subject *s, const uint8_t *pixels, size_t n_pixels,
                          size_t stripe_pixels, const struct ih_count_spec *spec,
                          struct ih_histogram *out)
{
    struct ih_error err = {0};
    const char *kernel = NULL;
    if (ih_lane_begin(s->lane, spec, &err) != IH_OK)
        fail_msg("%s", err.message);
    for (size_t done = 0; done < n_pixels;) {
        uint8_t *stripe;
        size_t size_bytes;
        if (ih_lane_stripe(s->lane, spec->layout.n_channels, &stripe, &size_bytes, &err) != IH_OK)
            fail_msg("%s", err.message);
        size_t n = n_pixels - done < stripe_pixels ? n_pixels - done : stripe_pixels;
        if (n > size_bytes / spec->layout.n_channels)
            n = size_bytes / spec->layout.n_channels;
        memcpy(stripe, pixels + done * spec->layout.n_channels, n * spec->layout.n_channels);
        if (ih_lane_count(s->lane, n, &err) != IH_OK)
            fail_msg("%s", err.message);
        done += n;
    }
    if (ih_lane_end(s->lane, out, &kernel, &err) != IH_OK)
        fail_msg("%s", err.message);
    assert_string_equal(kernel, s->kernel);
}

static void check(struct subject *s, const uint8_t *pixels, size_t n_pixels, size_t stripe_pixels,
                  const struct ih_count_spec *spec, const char *what)
{
    struct ih_histogram got, want;
    char text[160];
    snprintf(text, sizeof text, "%s/%s, %u channels, %zu pixels, %s", s->backend->name, s->kernel,
             spec->layout.n_channels, n_pixels, what);
    count_plainly(pixels, n_pixels, spec, &want);
    count_stripes(s, pixels, n_pixels, stripe_pixels, spec, &got);
    assert_same(&got, &want, text);
}

static bool is_small(void)
{
    const char *small = getenv("IMGHIST_TEST_SMALL");
    return small && *small == '1';
}

static struct subject *subject_or_skip(void **state)
{
    struct subject *s = *state;
    if (!s->device)
        skip("this machine or build lacks the backend");
    return s;
}

/* ---- the cases ---- */

static void sizes_and_patterns(void **state)
{
    static const size_t sizes[] = {0,  1,   2,   3,   5,    7,    15,   16,    17,    31,   33,
                                   63, 127, 257, 509, 1021, 2039, 4093, 16381, 65521, 99991};
    static const char *const names[N_PATTERNS] = {"random",     "constant", "black", "white",
                                                  "two values", "ramp",     "runs",  "mixed clips"};
    struct subject *s = subject_or_skip(state);
    uint8_t *pixels = malloc(4 * sizes[20]);
    assert_non_null(pixels);
    for (unsigned n = 1; n <= IH_PIXEL_CHANNELS_MAX; n++) {
        const struct ih_count_spec spec = {IH_LAYOUT(n), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
        for (unsigned pattern = 0; pattern < N_PATTERNS; pattern++) {
            fill(pixels, 4 * sizes[20], (enum pattern)pattern);
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                if (!is_small() || sizes[i] < 5000)
                    check(s, pixels, sizes[i], SIZE_MAX, &spec, names[pattern]);
        }
    }
    free(pixels);
}

static void weights_and_clips(void **state)
{
    static const struct ih_luma_weights *const lumas[] = {&ih_luma_bt709, &ih_luma_none,
                                                          &ih_luma_bt601};
    static const uint8_t clips[][2] = {{0, 255},   {10, 240},  {0, 1},    {254, 255}, {127, 128},
                                       {126, 129}, {128, 200}, {63, 127}, {200, 220}};
    struct subject *s = subject_or_skip(state);
    enum { N = 3001 };
    uint8_t *pixels = malloc(4 * N);
    assert_non_null(pixels);
    for (unsigned n = 1; n <= IH_PIXEL_CHANNELS_MAX; n++)
        for (size_t i = 0; i < sizeof clips / sizeof clips[0]; i++)
            for (unsigned pattern = 0; pattern < N_PATTERNS; pattern++) {
                const struct ih_count_spec spec = {IH_LAYOUT(n), IH_UINT8,
                                                   IH_BINS,      lumas[(i + pattern) % 3],
                                                   clips[i][0],  clips[i][1]};
                fill(pixels, 4 * N, (enum pattern)pattern);
                check(s, pixels, N, SIZE_MAX, &spec, "clips");
            }
    free(pixels);
}

/* Luma of all pairs of red and green, to find rounding errors. */
static void every_colour_pair(void **state)
{
    struct subject *s = subject_or_skip(state);
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    enum { N = 256 * 256 };
    uint8_t *pixels = malloc(3 * N);
    assert_non_null(pixels);
    for (size_t i = 0; i < N; i++) {
        pixels[3 * i] = (uint8_t)(i >> 8);
        pixels[3 * i + 1] = (uint8_t)i;
        pixels[3 * i + 2] = (uint8_t)((i >> 8) * 7 + i * 3);
    }
    check(s, pixels, is_small() ? 4096 : N, SIZE_MAX, &spec, "every pair of red and green");
    free(pixels);
}

/* Many stripes of odd sizes, so that buffers are reused while others are in flight. */
static void many_stripes(void **state)
{
    static const size_t stripes[] = {1, 7, 1000, 4099};
    struct subject *s = subject_or_skip(state);
    enum { N = 20011 };
    uint8_t *pixels = malloc(4 * N);
    assert_non_null(pixels);
    fill(pixels, 4 * N, RANDOM);
    for (unsigned n = 1; n <= IH_PIXEL_CHANNELS_MAX; n++) {
        const struct ih_count_spec spec = {IH_LAYOUT(n), IH_UINT8, IH_BINS, &ih_luma_bt709, 3, 250};
        for (size_t i = 0; i < sizeof stripes / sizeof stripes[0]; i++)
            check(s, pixels, stripes[i] == 1 || is_small() ? 301 : N, stripes[i], &spec, "stripes");
    }
    free(pixels);
}

/* An abandoned image does not affect the next. */
static void begin_drops(void **state)
{
    struct subject *s = subject_or_skip(state);
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_error err = {0};
    uint8_t pixels[30], *stripe;
    size_t size_bytes;
    assert_int_equal(ih_lane_begin(s->lane, &spec, &err), IH_OK);
    assert_int_equal(ih_lane_stripe(s->lane, 30, &stripe, &size_bytes, &err), IH_OK);
    memset(stripe, 9, 30);
    assert_int_equal(ih_lane_count(s->lane, 10, &err), IH_OK);
    fill(pixels, sizeof pixels, RANDOM);
    check(s, pixels, 10, SIZE_MAX, &spec, "after an abandoned image");
}

/* If there is no memory for a row, only that image fails; later images get stripes of full size. */
static void no_memory_for_a_row(void **state)
{
    struct subject *s = subject_or_skip(state);
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_error err = {0};
    uint8_t pixels[30], *stripe;
    size_t full_bytes, size_bytes;
    assert_int_equal(ih_lane_begin(s->lane, &spec, &err), IH_OK);
    assert_int_equal(ih_lane_stripe(s->lane, 3, &stripe, &full_bytes, &err), IH_OK);
    assert_int_equal(ih_lane_begin(s->lane, &spec, &err), IH_OK);
    assert_int_not_equal(ih_lane_stripe(s->lane, SIZE_MAX, &stripe, &size_bytes, &err), IH_OK);
    fill(pixels, sizeof pixels, RANDOM);
    check(s, pixels, 10, 3, &spec, "after a row that was too large");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ih_lane_begin(s->lane, &spec, &err), IH_OK);
        assert_int_equal(ih_lane_stripe(s->lane, 3, &stripe, &size_bytes, &err), IH_OK);
        assert_true(size_bytes >= full_bytes);
    }
}

/* More pixels than a stripe holds, and a row that is larger than a stripe. */
static void large(void **state)
{
    struct subject *s = subject_or_skip(state);
    enum { N = 5000011 };
    uint8_t *pixels = malloc((size_t)4 * N);
    assert_non_null(pixels);
    for (unsigned n = 1; n <= IH_PIXEL_CHANNELS_MAX; n++) {
        const struct ih_count_spec spec = {IH_LAYOUT(n), IH_UINT8, IH_BINS, &ih_luma_bt601, 0, 255};
        fill(pixels, (size_t)n * N, n % 2 ? RANDOM : RUNS);
        check(s, pixels, N, SIZE_MAX, &spec, "large");
    }
    struct ih_error err = {0};
    uint8_t *stripe;
    size_t size_bytes;
    const struct ih_count_spec spec = {IH_LAYOUT(4), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    assert_int_equal(ih_lane_begin(s->lane, &spec, &err), IH_OK);
    assert_int_equal(ih_lane_stripe(s->lane, (size_t)4 * N, &stripe, &size_bytes, &err), IH_OK);
    assert_true(size_bytes >= (size_t)4 * N);
    memcpy(stripe, pixels, (size_t)4 * N);
    struct ih_histogram got, want;
    const char *kernel;
    assert_int_equal(ih_lane_count(s->lane, N, &err), IH_OK);
    assert_int_equal(ih_lane_end(s->lane, &got, &kernel, &err), IH_OK);
    count_plainly(pixels, N, &spec, &want);
    assert_same(&got, &want, "one large stripe");
    free(pixels);
}

/* More than 2^32 pixels in one bin. */
static void beyond_32_bits(void **state)
{
    struct subject *s = subject_or_skip(state);
    const struct ih_count_spec spec = {IH_LAYOUT(1), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    const uint64_t n_wanted = (UINT64_C(1) << 32) + 12345;
    struct ih_error err = {0};
    assert_int_equal(ih_lane_begin(s->lane, &spec, &err), IH_OK);
    for (uint64_t done = 0; done < n_wanted;) {
        uint8_t *stripe;
        size_t size_bytes;
        assert_int_equal(ih_lane_stripe(s->lane, 64 << 20, &stripe, &size_bytes, &err), IH_OK);
        size_t n = n_wanted - done < size_bytes ? (size_t)(n_wanted - done) : size_bytes;
        memset(stripe, 255, n);
        assert_int_equal(ih_lane_count(s->lane, n, &err), IH_OK);
        done += n;
    }
    struct ih_histogram h;
    const char *kernel;
    assert_int_equal(ih_lane_end(s->lane, &h, &kernel, &err), IH_OK);
    assert_true(ih_bins(&h, 0)[255] == n_wanted && *ih_sum(&h, 0) == 255 * n_wanted);
    assert_true(h.all_high == n_wanted && ih_bins(&h, IH_LUMA)[255] == n_wanted);
    ih_histogram_reset(&h);
}

/* Sends native pixels in stripes, as many at a time as fit into 4,096 bytes. */
static void count_native(struct subject *s, const uint16_t *pixels, size_t n_pixels,
                         const struct ih_count_spec *spec, struct ih_histogram *out)
{
    const size_t pixel_bytes = ih_pixel_bytes(spec->layout.n_channels, spec->type);
    struct ih_error err = {0};
    const char *kernel = NULL;
    assert_int_equal(ih_lane_begin(s->lane, spec, &err), IH_OK);
    for (size_t done = 0, n; done < n_pixels; done += n) {
        uint8_t *stripe;
        size_t size_bytes;
        assert_int_equal(ih_lane_stripe(s->lane, 4096, &stripe, &size_bytes, &err), IH_OK);
        n = n_pixels - done < 4096 / pixel_bytes ? n_pixels - done : 4096 / pixel_bytes;
        memcpy(stripe, (const uint8_t *)pixels + done * pixel_bytes, n * pixel_bytes);
        assert_int_equal(ih_lane_count(s->lane, n, &err), IH_OK);
    }
    if (ih_lane_end(s->lane, out, &kernel, &err) != IH_OK)
        fail_msg("%s", err.message);
}

static void assert_native(const struct ih_histogram *got, const uint16_t *pixels, size_t n_pixels,
                          const struct ih_count_spec *spec)
{
    const unsigned n = spec->layout.n_channels, n_colours = n < 3 ? 1 : 3;
    const struct ih_luma_weights *w = spec->luma;
    uint64_t clipped[4] = {0};
    uint64_t *want = calloc((size_t)N_ROWS * spec->n_bins, sizeof *want);
    assert_non_null(want);
    for (size_t i = 0; i < n_pixels; i++) {
        const uint16_t *p = pixels + i * n;
        unsigned n_low = 0, n_high = 0;
        uint64_t luma = p[0];
        for (unsigned c = 0; c < n; c++) {
            want[c * spec->n_bins + p[c]]++;
            n_low += c < n_colours && p[c] <= spec->clip_low;
            n_high += c < n_colours && p[c] >= spec->clip_high;
        }
        if (n_colours == 3)
            luma = ((uint64_t)w->red * p[0] + (uint64_t)w->green * p[1] + (uint64_t)w->blue * p[2] +
                    32768) >>
                   16;
        want[LUMA_ROW * spec->n_bins + luma] += w != &ih_luma_none;
        clipped[0] += n_low > 0;
        clipped[1] += n_high > 0;
        clipped[2] += n_low == n_colours;
        clipped[3] += n_high == n_colours;
    }
    for (unsigned row = 0; row < N_ROWS; row++)
        if (has_row(got, row))
            assert_memory_equal(ih_bins(got, plane_of(row)), want + (size_t)row * spec->n_bins,
                                spec->n_bins * sizeof *want);
    assert_true(got->n_pixels == n_pixels && got->any_low == clipped[0] &&
                got->any_high == clipped[1] && got->all_low == clipped[2] &&
                got->all_high == clipped[3]);
    free(want);
}

/* Samples of 9, 12 and 16 bits; then, in the same lane, one of 8 bits. */
static void native_samples(void **state)
{
    static const struct ih_luma_weights *const lumas[] = {&ih_luma_bt709, &ih_luma_none};
    static const unsigned n_bins[] = {1 << 16, 1 << 12, 1 << 9};
    struct subject *s = subject_or_skip(state);
    enum { N = 9001 };
    uint16_t *pixels = malloc(sizeof *pixels * 4 * N);
    assert_non_null(pixels);
    for (unsigned n = 1; n <= IH_PIXEL_CHANNELS_MAX; n++)
        for (unsigned i = 0; i < (is_small() ? 6 : 3 * N_PATTERNS); i++) {
            const unsigned bins = n_bins[i % 3];
            const struct ih_count_spec spec = {IH_LAYOUT(n),
                                               IH_UINT16,
                                               bins,
                                               lumas[i % 2],
                                               (uint16_t)(i % 5 * 50),
                                               (uint16_t)(bins - 1 - i % 4 * 60)};
            struct ih_histogram got;
            fill((uint8_t *)pixels, sizeof *pixels * 4 * N, (enum pattern)(i / 3));
            for (size_t k = 0; k < (size_t)4 * N; k++)
                pixels[k] = (uint16_t)(pixels[k] % bins);
            count_native(s, pixels, is_small() ? 1001 : N, &spec, &got);
            assert_native(&got, pixels, is_small() ? 1001 : N, &spec);
            ih_histogram_reset(&got);
        }
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    check(s, (const uint8_t *)pixels, N, SIZE_MAX, &spec, "after native samples");
    free(pixels);
}

/* ---- every case for every kernel in the tables ---- */

enum extent { ALWAYS, UNLESS_SMALL, BEST_UNLESS_SMALL };

static const struct {
    const char *name;
    CMUnitTestFunction run;
    enum extent extent;
} cases[] = {
    {"sizes_and_patterns", sizes_and_patterns, ALWAYS},
    {"weights_and_clips", weights_and_clips, ALWAYS},
    {"every_colour_pair", every_colour_pair, ALWAYS},
    {"many_stripes", many_stripes, ALWAYS},
    {"begin_drops", begin_drops, ALWAYS},
    {"native_samples", native_samples, ALWAYS},
    /* compute-sanitizer reports the failing allocation as an error */
    {"no_memory_for_a_row", no_memory_for_a_row, UNLESS_SMALL},
    {"large", large, UNLESS_SMALL},
    /* 64-bit totals are part of the backend, the same for every kernel */
    {"beyond_32_bits", beyond_32_bits, BEST_UNLESS_SMALL},
};

enum { N_CASES = sizeof cases / sizeof cases[0], SUBJECTS_MAX = 32 };

static struct subject subjects[SUBJECTS_MAX];
static char names[SUBJECTS_MAX * N_CASES][80];
static size_t n_subjects;

static void add_tests(const struct ih_backend *backend, const char *kernel)
{
    struct subject *s = &subjects[n_subjects++];
    bool is_best = strcmp(kernel, backend->kernels[0].name) == 0;
    *s = (struct subject){backend, kernel, NULL, NULL};
    for (size_t c = 0; c < N_CASES; c++) {
        if ((cases[c].extent != ALWAYS && is_small()) ||
            (cases[c].extent == BEST_UNLESS_SMALL && !is_best))
            continue;
        char *name = names[program.n];
        snprintf(name, sizeof names[0], "%s/%s: %s", backend->name, kernel, cases[c].name);
        add_test(name, cases[c].run, open_subject, close_subject, s);
    }
}

int main(void)
{
    const char *only = getenv("IMGHIST_TEST_BACKEND");
    for (size_t b = 0; ih_backends[b]; b++)
        for (const struct ih_kernel_entry *k = ih_backends[b]->kernels; k->name; k++)
            if (n_subjects < SUBJECTS_MAX && (!only || strcmp(only, ih_backends[b]->name) == 0))
                add_tests(ih_backends[b], k->name);
    return run_all_tests();
}
