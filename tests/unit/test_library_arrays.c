/* Arrays in host memory in any layout against a plain loop, 16-bit samples with a range against
 * exact fractions, invalid arrays; and files that a function reads. */
#include "tests/support/library_data.h"

enum { MARGIN = 4096 }; /* strides of both signs stay inside */

static void expect_sample(uint8_t *value, const struct ih_array *a, const uint8_t *at)
{
    uint16_t wide;
    if (a->depth != 16) {
        *value = *at;
        return;
    }
    memcpy(&wide, at, sizeof wide);
    const unsigned high = a->range_high ? a->range_high : 65535, low = a->range_low;
    /* The value k whose interval [k - 1/2, k + 1/2) holds (v - low) * 255 / (high - low). */
    unsigned k = 0;
    while (k < 255 && wide > low &&
           510 * (uint64_t)(wide - low) >= (2 * k + 1) * (uint64_t)(high - low))
        k++;
    *value = (uint8_t)k;
}

static void check(struct ih_context *context, const struct ih_array *a)
{
    struct ih_counts *counts = open_counts();
    struct ih_error err = {0};
    struct expected e = {.n_pixels = 0};
    for (ptrdiff_t y = 0; y < (ptrdiff_t)a->height; y++)
        for (ptrdiff_t x = 0; x < (ptrdiff_t)a->width; x++) {
            uint8_t pixel[4] = {0};
            for (unsigned c = 0; c < a->n_channels; c++) {
                const bool is_exchanged = a->order == IH_ORDER_BGR && a->n_channels >= 3 && c < 3;
                expect_sample(&pixel[is_exchanged ? 2 - c : c], a,
                              (const uint8_t *)a->data + y * a->row_stride_bytes +
                                  x * a->pixel_stride_bytes +
                                  (ptrdiff_t)c * a->channel_stride_bytes);
            }
            expect_pixel(&e, pixel, a->n_channels);
        }
    assert_int_equal(ih_count_array(context, a, sizeof *a, counts, &err), IH_OK);
    assert_expected(counts, &e, a->n_channels);
    for (unsigned row = 0; row < N_ROWS; row++) {
        const unsigned p = plane_of(row);
        struct ih_stats stats;
        uint64_t sum = 0;
        if (!ih_counts_bins(counts, p))
            continue;
        for (unsigned v = 0; v < IH_BINS; v++)
            sum += v * e.bins[row][v];
        assert_int_equal(ih_counts_stats(counts, p, &stats, sizeof stats, &err), IH_OK);
        assert_int_equal(stats.sum, sum);
    }
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.width, a->width);
    assert_int_equal(s.height, a->height);
    assert_int_equal(s.source_depth, a->depth == 16 ? 16 : 8);
    assert_string_equal(s.luma, "bt709");
    ih_counts_close(counts);
}

/* Rows, pixels and channels of 1 to 4 channels lie in every order, upward, with gaps, overlapping
 * and all in one place. */
TEST(every_layout)
{
    enum { WIDTH = 23, HEIGHT = 11 };
    uint8_t *bytes = malloc(2 * MARGIN);
    struct ih_context *context = open_cpu();
    assert_non_null(bytes);
    for (size_t i = 0; i < 2 * MARGIN; i++)
        bytes[i] = noise(i);
    for (unsigned n = 1; n <= 4; n++)
        for (unsigned depth = 8; depth <= 16; depth += 8)
            for (unsigned bgr = 0; bgr < 2; bgr++) {
                const ptrdiff_t b = (ptrdiff_t)(depth / 8), c = (ptrdiff_t)n;
                const ptrdiff_t strides[][3] = {
                    {WIDTH * c * b, c * b, b},          /* interleaved */
                    {WIDTH * b, b, WIDTH * HEIGHT * b}, /* planar */
                    {WIDTH * c * b, b, WIDTH * b},      /* planar rows */
                    {c * b, HEIGHT * c * b, b},         /* columns */
                    {-WIDTH * c * b - 5, c * b, b},     /* upward, with gaps, unaligned */
                    {WIDTH * c * b + 64, -c * b, b},    /* mirrored */
                    {WIDTH * c * b, c * b, -b},         /* channels backwards */
                    {b, b, b},                          /* overlapping */
                    {0, 0, 0},                          /* one sample */
                    {0, c * b, b},                      /* one row */
                };
                for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
                    const struct ih_array a = {
                        .data = bytes + MARGIN + i % 3,
                        .width = WIDTH,
                        .height = HEIGHT,
                        .n_channels = n,
                        .has_strides = 1,
                        .row_stride_bytes = strides[i][0],
                        .pixel_stride_bytes = strides[i][1],
                        .channel_stride_bytes = strides[i][2],
                        .order = bgr ? IH_ORDER_BGR : IH_ORDER_RGB,
                        .depth = depth == 8 && i % 2 ? 0 : depth,
                    };
                    check(context, &a);
                }
            }
    ih_context_close(context);
    free(bytes);
}

/* Longer than a stripe, so that stripes end in the middle of rows; and enough pixels for the
 * counting code that small images do not reach. */
TEST(large_arrays)
{
    enum { WIDTH = 1201, HEIGHT = 997 };
    const size_t size = (size_t)WIDTH * HEIGHT * 3;
    uint8_t *bytes = malloc(size);
    struct ih_context *context = open_cpu();
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = noise(i);
    for (unsigned bgr = 0; bgr < 2; bgr++) {
        const struct ih_array planar = {.data = bytes,
                                        .width = WIDTH,
                                        .height = HEIGHT,
                                        .n_channels = 3,
                                        .has_strides = 1,
                                        .row_stride_bytes = WIDTH,
                                        .pixel_stride_bytes = 1,
                                        .channel_stride_bytes = (ptrdiff_t)WIDTH * HEIGHT,
                                        .order = bgr ? IH_ORDER_BGR : IH_ORDER_RGB};
        const struct ih_array interleaved = {.data = bytes,
                                             .width = WIDTH,
                                             .height = HEIGHT,
                                             .n_channels = 3,
                                             .has_strides = 1,
                                             .row_stride_bytes = WIDTH * 3,
                                             .pixel_stride_bytes = 3,
                                             .channel_stride_bytes = 1,
                                             .order = bgr ? IH_ORDER_BGR : IH_ORDER_RGB};
        check(context, &planar);
        check(context, &interleaved);
    }
    ih_context_close(context);
    free(bytes);
}

/* Every 16-bit value, with ranges around the corner cases of the division. */
TEST(every_value_of_16_bits)
{
    static const unsigned ranges[][2] = {{0, 0},     {0, 65535}, {0, 1},         {0, 4095},
                                         {0, 255},   {100, 101}, {1000, 1255},   {64, 940},
                                         {1, 65535}, {0, 65534}, {65534, 65535}, {256, 60160}};
    uint16_t *samples = malloc(65536 * sizeof *samples);
    struct ih_context *context = open_cpu();
    assert_non_null(samples);
    for (unsigned v = 0; v < 65536; v++)
        samples[v] = (uint16_t)v;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const struct ih_array a = {.data = samples,
                                   .width = 256,
                                   .height = 256,
                                   .n_channels = 1,
                                   .has_strides = 1,
                                   .row_stride_bytes = 512,
                                   .pixel_stride_bytes = 2,
                                   .channel_stride_bytes = 2,
                                   .depth = 16,
                                   .range_low = ranges[i][0],
                                   .range_high = ranges[i][1]};
        check(context, &a);
    }
    ih_context_close(context);
    free(samples);
}

/* Large arrays are counted where they lie, and their bins get keys at the end: every code, in rows
 * of a length that leaves some pixels for the stripe. */
TEST(large_arrays_of_signed_and_float_samples)
{
    enum { WIDE = 1021, HIGH = 640 };
    uint16_t *samples = malloc((size_t)WIDE * HIGH * sizeof *samples);
    uint64_t *expected = malloc(65536 * sizeof *expected);
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    assert_true(samples && expected);
    for (unsigned i = 0; i < WIDE * HIGH; i++)
        samples[i] = (uint16_t)(i * 40503u >> 3);
    for (unsigned is_float = 0; is_float < 2; is_float++)
        for (unsigned gap = 0; gap < 2; gap++) {
            const struct ih_array a = {.data = samples,
                                       .width = WIDE - gap,
                                       .height = HIGH,
                                       .n_channels = 1,
                                       .has_strides = 1,
                                       .row_stride_bytes = 2 * WIDE,
                                       .pixel_stride_bytes = 2,
                                       .channel_stride_bytes = 2,
                                       .depth = 16,
                                       .number = is_float ? IH_NUMBER_FLOAT : IH_NUMBER_SIGNED};
            memset(expected, 0, 65536 * sizeof *expected);
            for (size_t i = 0; i < (size_t)WIDE * HIGH; i++) {
                const unsigned v = samples[i], magnitude = v & 0x7FFF;
                const bool is_number = !is_float || magnitude < 0x7C00;
                if (i % WIDE < WIDE - gap && is_number)
                    expected[!is_float        ? v ^ 0x8000
                             : v == magnitude ? 0x8000 + v
                             : magnitude == 0 ? 0x8000
                                              : 0x7FFF - magnitude]++;
            }
            assert_int_equal(ih_count_array(context, &a, sizeof a, counts, NULL), IH_OK);
            assert_memory_equal(ih_counts_bins(counts, 0), expected, 65536 * sizeof *expected);
        }
    ih_counts_close(counts);
    ih_context_close(context);
    free(expected);
    free(samples);
}

TEST(without_strides_and_without_pixels)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    static const uint8_t rgb[2 * 3 * 3] = {1, 2, 3};
    static const struct ih_array whole = {.data = rgb, .width = 3, .height = 2, .n_channels = 3};
    const struct ih_array none[] = {{.height = 7, .n_channels = 4},
                                    {.width = (uint64_t)1 << 62,
                                     .n_channels = 4,
                                     .has_strides = 1,
                                     .row_stride_bytes = 1,
                                     .pixel_stride_bytes = 4,
                                     .channel_stride_bytes = 1}};
    assert_int_equal(ih_count_array(context, &whole, sizeof whole, counts, NULL), IH_OK);
    assert_int_equal(ih_counts_bins(counts, 0)[0], 5);
    assert_int_equal(ih_counts_bins(counts, 0)[1], 1);
    assert_int_equal(ih_counts_bins(counts, 2)[3], 1);
    /* A caller with an older header passes fewer fields. */
    assert_int_equal(
        ih_count_array(context, &whole, offsetof(struct ih_array, order), counts, NULL), IH_OK);
    assert_int_equal(ih_counts_bins(counts, 2)[3], 1);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(ih_count_array(context, &none[i], sizeof none[i], counts, NULL), IH_OK);
        assert_int_equal(summary_of(counts).n_images, 1);
        assert_int_equal(summary_of(counts).n_pixels, 0);
    }
    ih_counts_close(counts);
    ih_context_close(context);
}

TEST(transparent_pixels_of_arrays_are_skipped)
{
    const struct ih_settings settings = {.device = "cpu", .alpha = "skip-transparent"};
    struct ih_context *context = NULL;
    struct ih_counts *counts = open_counts();
    /* Planar BGRA: the second pixel is transparent. */
    static const uint8_t bgra[4][2] = {{10, 11}, {20, 21}, {30, 31}, {7, 0}};
    const struct ih_array a = {.data = bgra,
                               .width = 2,
                               .height = 1,
                               .n_channels = 4,
                               .has_strides = 1,
                               .pixel_stride_bytes = 1,
                               .channel_stride_bytes = 2,
                               .order = IH_ORDER_BGR};
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, NULL), IH_OK);
    assert_int_equal(ih_count_array(context, &a, sizeof a, counts, NULL), IH_OK);
    assert_int_equal(summary_of(counts).n_pixels, 1);
    assert_int_equal(ih_counts_bins(counts, 0)[30], 1);
    assert_int_equal(ih_counts_bins(counts, 2)[10], 1);
    assert_int_equal(ih_counts_bins(counts, 3)[7], 1);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* Bands 2 and 5 of 5, by threads, with and without a mask. */
TEST(bands_of_arrays)
{
    enum { WIDTH = 700, HEIGHT = 900, N = 5 };
    static uint8_t samples[HEIGHT][WIDTH][N], mask[HEIGHT][WIDTH][N];
    static const unsigned wanted[] = {1, 4};
    struct ih_settings settings = {.device = "cpu", .bands = "5,2"};
    struct ih_context *context = NULL;
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    for (size_t i = 0; i < sizeof samples; i++) {
        (&samples[0][0][0])[i] = (uint8_t)(i * i >> 7);
        (&mask[0][0][0])[i] = i % 11 == 0;
    }
    struct ih_array a = {
        .data = samples, .width = WIDTH, .height = HEIGHT, .n_channels = N, .n_threads = 2};
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, NULL), IH_OK);
    for (int is_masked = 0; is_masked < 2; is_masked++) {
        a.mask = is_masked ? &mask[0][0][0] : NULL;
        a.mask_row_stride_bytes = sizeof mask[0];
        a.mask_pixel_stride_bytes = N;
        a.mask_channel_stride_bytes = 1;
        assert_int_equal(ih_count_array(context, &a, sizeof a, counts, &err), IH_OK);
        assert_int_equal(summary_of(counts).n_channels, 2);
        for (unsigned k = 0; k < 2; k++) {
            uint64_t bins[IH_BINS] = {0};
            for (size_t i = wanted[k]; i < sizeof samples; i += N)
                bins[(&samples[0][0][0])[i]] += !a.mask || !(&mask[0][0][0])[i];
            assert_memory_equal(ih_counts_bins(counts, k), bins, sizeof bins);
        }
    }
    a.n_channels = 4;
    assert_int_equal(ih_count_array(context, &a, sizeof a, counts, &err), IH_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no band 5"));
    ih_counts_close(counts);
    ih_context_close(context);
}

TEST(invalid_arrays)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    static const uint8_t some[64];
    const struct ih_array wrong[] = {
        {.data = some, .width = 4, .height = 4},
        {.data = some, .width = 4, .height = 4, .n_channels = IH_CHANNELS_MAX + 1},
        {.width = 4, .height = 4, .n_channels = 1},
        {.data = some, .width = 4, .height = 4, .n_channels = 1, .has_strides = 2},
        {.data = some, .width = 4, .height = 4, .n_channels = 1, .depth = 10},
        {.data = some, .width = 4, .height = 4, .n_channels = 3, .order = (enum ih_order)2},
        {.data = some, .width = 4, .height = 4, .n_channels = 1, .range_high = 9},
        {.data = some, .width = 1, .height = 1, .n_channels = 1, .depth = 16, .range_low = 65535},
        {.data = some, .width = 1, .height = 1, .n_channels = 1, .depth = 16, .range_high = 65536},
        {.data = some, .width = UINT64_MAX / 2, .height = 4, .n_channels = 3},
        {.data = some, .width = 4, .height = UINT64_MAX / 2, .n_channels = 3},
        {.data = some,
         .width = (uint64_t)1 << 40,
         .height = (uint64_t)1 << 40,
         .n_channels = 1,
         .has_strides = 1}, /* all in one place, but more than 64 bits count */
        {.data = some,
         .width = 2,
         .height = 3,
         .n_channels = 1,
         .has_strides = 1,
         .row_stride_bytes = PTRDIFF_MIN},
        {.data = some,
         .width = 3,
         .height = 2,
         .n_channels = 1,
         .has_strides = 1,
         .pixel_stride_bytes = PTRDIFF_MAX},
        {.data = some,
         .width = 2,
         .height = 2,
         .n_channels = 2,
         .has_strides = 1,
         .row_stride_bytes = PTRDIFF_MAX / 2,
         .channel_stride_bytes = -PTRDIFF_MAX / 2 - 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ih_error err = {0};
        const struct ih_array right = {.data = some, .width = 4, .height = 1, .n_channels = 1};
        assert_int_equal(ih_count_array(context, &right, sizeof right, counts, &err), IH_OK);
        assert_int_equal(ih_count_array(context, &wrong[i], sizeof wrong[i], counts, &err),
                         IH_USAGE);
        assert_non_null(strstr(err.message, "array: "));
        assert_int_equal(summary_of(counts).n_images, 0);
    }
    struct {
        struct ih_array known;
        unsigned newer;
    } future = {{.data = some, .width = 4, .height = 1, .n_channels = 1}, 1};
    assert_int_equal(ih_count_array(context, &future.known, sizeof future, counts, NULL), IH_USAGE);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* ---- files that a function reads ---- */

struct script {
    const uint8_t *bytes;
    size_t size_bytes, at, at_most; /* bytes per call */
    size_t fails_at;                /* the call at this position fails; SIZE_MAX: none */
    ptrdiff_t failure;
};

static ptrdiff_t read_script(void *user, void *buffer, size_t size_bytes)
{
    struct script *s = user;
    size_t n = s->size_bytes - s->at;
    assert_true(size_bytes > 0);
    if (s->at >= s->fails_at)
        return s->failure < 0 ? s->failure : (ptrdiff_t)size_bytes + s->failure;
    n = n < size_bytes ? n : size_bytes;
    n = n < s->at_most ? n : s->at_most;
    memcpy(buffer, s->bytes + s->at, n);
    s->at += n;
    return (ptrdiff_t)n;
}

TEST(labels_of_an_array)
{
    static const uint8_t gray[] = {1, 2, 4, 8, 16, 32};
    static const uint16_t of_pixels[] = {300, 0, 300, 7, 7, 300}; /* the last row first */
    const struct ih_array array = {.data = gray, .width = 3, .height = 2, .n_channels = 1};
    const struct ih_labels good = {.data = of_pixels + 3,
                                   .depth = 16,
                                   .row_stride_bytes = -3 * (ptrdiff_t)sizeof *of_pixels,
                                   .pixel_stride_bytes = sizeof *of_pixels,
                                   .has_ignored = 1};
    static const uint64_t sums[] = {1 + 2, 4 + 8 + 32}; /* of 7 and 300 */
    struct ih_context *context = open_cpu();
    struct ih_counts **counts = NULL;
    struct ih_summary s;
    struct ih_stats stats;
    size_t n = 0;
    assert_int_equal(
        ih_count_labels(context, &array, sizeof array, &good, sizeof good, &counts, &n, NULL),
        IH_OK);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        ih_counts_summary(counts[i], &s, sizeof s);
        assert_int_equal(s.label, i ? 300 : 7);
        assert_int_equal(s.width, 3);
        assert_string_equal(s.mask, "labels");
        assert_int_equal(ih_counts_stats(counts[i], 0, &stats, sizeof stats, NULL), IH_OK);
        assert_int_equal(stats.sum, sums[i]);
        ih_counts_close(counts[i]);
    }
    free(counts);
    struct ih_labels bad[] = {good, good, good, good};
    bad[0].depth = 32;
    bad[1].ignored = 65536;
    bad[2].data = NULL;
    bad[3].row_stride_bytes = PTRDIFF_MAX;
    bad[3].pixel_stride_bytes = PTRDIFF_MAX;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(ih_count_labels(context, &array, sizeof array, &bad[i], sizeof bad[i],
                                         &counts, &n, NULL),
                         IH_USAGE);
    const struct ih_array none = {.data = NULL, .width = 0, .height = 2, .n_channels = 1};
    assert_int_equal(
        ih_count_labels(context, &none, sizeof none, &good, sizeof good, &counts, &n, NULL), IH_OK);
    assert_int_equal(n, 0);
    free(counts);
    ih_context_close(context);
}

TEST(streams_give_the_counts_of_memory)
{
    static const size_t at_most[] = {1, 7, 4096, SIZE_MAX};
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct expected e;
    uint8_t *bytes;
    const size_t size = make_pnm(301, 207, 3, 5, &bytes, &e);
    for (size_t i = 0; i < sizeof at_most / sizeof at_most[0]; i++) {
        struct script s = {bytes, size, 0, at_most[i], SIZE_MAX, 0};
        assert_int_equal(ih_count_stream(context, read_script, &s, counts, NULL), IH_OK);
        assert_expected(counts, &e, 3);
        assert_string_equal(summary_of(counts).format, "pnm");
    }
    free(bytes);
    ih_counts_close(counts);
    ih_context_close(context);
}

TEST(errors_of_streams)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    struct expected e;
    uint8_t *bytes;
    const size_t size = make_pnm(301, 207, 3, 5, &bytes, &e);
    struct script failing = {bytes, size, 0, 1000, 3000, -1};
    assert_int_equal(ih_count_stream(context, read_script, &failing, counts, &err), IH_IO);
    assert_string_equal(err.message, "cannot read: the read function failed");
    assert_int_equal(summary_of(counts).n_images, 0);
    struct script boasting = {bytes, size, 0, 1000, 3000, 1}; /* more bytes than there is room */
    assert_int_equal(ih_count_stream(context, read_script, &boasting, counts, &err), IH_IO);
    assert_non_null(strstr(err.message, "returned more bytes than it was asked for"));
    struct script cut = {bytes, size - 1, 0, 1000, SIZE_MAX, 0};
    assert_int_equal(ih_count_stream(context, read_script, &cut, counts, &err), IH_CORRUPT);
    struct script empty = {bytes, 0, 0, 1000, SIZE_MAX, 0};
    assert_int_equal(ih_count_stream(context, read_script, &empty, counts, &err), IH_UNKNOWN);
    /* The context still counts. */
    assert_int_equal(ih_count_memory(context, bytes, size, counts, &err), IH_OK);
    assert_expected(counts, &e, 3);
    free(bytes);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* Python's tests compare arrays of all types with NumPy. */
TEST(samples_without_data)
{
    static const uint8_t samples[2][3][2] = {{{7, 1}, {2, 7}, {3, 0}}, {{7, 7}, {5, 9}, {6, 8}}};
    static const uint8_t mask[3] = {0, 0, 1}; /* of a row's pixels, for all rows and channels */
    const struct ih_settings settings = {.nodata = "7"};
    struct ih_context *context = NULL, *all = NULL;
    struct ih_counts *counts = open_counts();
    struct ih_error err = {0};
    struct ih_stats s;
    struct ih_array a = {.data = samples, .width = 3, .height = 2, .n_channels = 2};
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    assert_int_equal(ih_count_array(context, &a, sizeof a, counts, &err), IH_OK);
    assert_int_equal(ih_counts_stats(counts, 0, &s, sizeof s, &err), IH_OK);
    assert_true(s.nodata == 2 && s.count == 4 && s.sum == 16);
    assert_int_equal(ih_counts_stats(counts, 1, &s, sizeof s, &err), IH_OK);
    assert_true(s.nodata == 0 && s.sum == 32); /* alpha has no such value */
    a.mask = mask;
    a.mask_pixel_stride_bytes = 1;
    assert_int_equal(ih_count_array(context, &a, sizeof a, counts, &err), IH_OK);
    assert_int_equal(ih_counts_stats(counts, 0, &s, sizeof s, &err), IH_OK);
    assert_true(s.nodata == 4 && s.count == 2 && s.sum == 7);
    assert_int_equal(ih_counts_stats(counts, 1, &s, sizeof s, &err), IH_OK);
    assert_true(s.nodata == 2 && s.sum == 24);
    a.mask_row_stride_bytes = PTRDIFF_MAX;
    a.height = 9;
    assert_int_equal(ih_count_array(context, &a, sizeof a, counts, &err), IH_USAGE);
    assert_non_null(strstr(err.message, "mask"));
    static const char *const wrong[] = {"", "x", "nan", "-inf", "7 ", "0x7"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct ih_settings others = {.nodata = wrong[i]};
        assert_int_equal(ih_context_open(&others, sizeof others, &all, &err), IH_USAGE);
        assert_non_null(strstr(err.message, "nodata"));
    }
    ih_counts_close(counts);
    ih_context_close(context);
}

TEST(version_number_and_percentiles)
{
    unsigned major, minor, patch;
    assert_int_equal(sscanf(ih_version(), "%u.%u.%u", &major, &minor, &patch), 3);
    assert_int_equal(IH_VERSION_NUMBER, 10000 * major + 100 * minor + patch);
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct ih_stats stats;
    uint8_t hundred[100];
    for (unsigned i = 0; i < 100; i++)
        hundred[i] = (uint8_t)(i + 1);
    const struct ih_array a = {.data = hundred, .width = 100, .height = 1, .n_channels = 1};
    assert_int_equal(ih_count_array(context, &a, sizeof a, counts, NULL), IH_OK);
    assert_int_equal(ih_counts_stats(counts, 0, &stats, sizeof stats, NULL), IH_OK);
    assert_int_equal(stats.percentile[IH_P01], 1);
    assert_int_equal(stats.percentile[IH_P05], 5);
    assert_int_equal(stats.percentile[IH_P25], 25);
    assert_int_equal(stats.percentile[IH_MEDIAN], 50);
    assert_int_equal(stats.percentile[IH_P75], 75);
    assert_int_equal(stats.percentile[IH_P95], 95);
    assert_int_equal(stats.percentile[IH_P99], 99);
    ih_counts_close(counts);
    ih_context_close(context);
}
