/* Batches in host memory: random layouts against a plain loop, and invalid batches. */
#include "tests/support/library_data.h"

#include "tests/support/batch_cases.h"

static struct ih_context *open_clipped(void)
{
    const struct ih_settings settings = {
        .device = "cpu", .clip_low = CASE_CLIP_LOW, .clip_high = CASE_CLIP_HIGH};
    struct ih_context *context = NULL;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, NULL), IH_OK);
    return context;
}

static struct ih_batch_shape shape_of(const struct ih_batch *b)
{
    struct ih_batch_shape shape;
    struct ih_error err = {0};
    if (ih_batch_shape(b, &shape, sizeof shape, &err) != IH_OK)
        fail_msg("%s", err.message);
    return shape;
}

/* Counts a batch, compares it with the plain loop, and returns the pixels counted. */
static uint64_t check(struct ih_context *context, const struct ih_batch *b)
{
    const struct ih_batch_shape shape = shape_of(b);
    const size_t n_records = b->n_images * shape.n_labels;
    uint32_t *bins = malloc(shape.bins_bytes + 1), *bins_alone = malloc(shape.bins_bytes + 1);
    uint32_t *expected = calloc(1, shape.bins_bytes + 1);
    uint64_t *sums = malloc(shape.sums_bytes + 1), *expected_sums = calloc(1, shape.sums_bytes + 1);
    uint64_t n_pixels = 0;
    struct ih_error err = {0};
    assert_true(bins && bins_alone && expected && sums && expected_sums);
    assert_int_equal(shape.n_planes, b->n_channels + (b->n_channels >= 3 && !b->without_luma));
    assert_int_equal(shape.bins_bytes, n_records * shape.n_planes * 1024);
    assert_int_equal(shape.sums_bytes, n_records * (shape.n_planes + 4) * 8);
    memset(bins, 0xa5, shape.bins_bytes);
    memset(sums, 0xa5, shape.sums_bytes);
    case_expect(b, expected, expected_sums);
    if (ih_batch_count(context, b, bins, sums, &err) != IH_OK)
        fail_msg("%s", err.message);
    assert_memory_equal(bins, expected, shape.bins_bytes);
    assert_memory_equal(sums, expected_sums, shape.sums_bytes);
    assert_int_equal(ih_batch_count(context, b, bins_alone, NULL, &err), IH_OK);
    assert_memory_equal(bins_alone, expected, shape.bins_bytes);
    for (size_t r = 0; r < n_records; r++)
        for (size_t v = 0; v < IH_BINS; v++)
            n_pixels += bins[r * shape.n_planes * IH_BINS + v];
    free(bins);
    free(bins_alone);
    free(expected);
    free(sums);
    free(expected_sums);
    return n_pixels;
}

TEST(random_batches)
{
    struct ih_context *context = open_clipped();
    uint32_t random = 20261122;
    uint64_t n_pixels = 0;
    unsigned n_lists = 0, n_labelled = 0;
    for (int i = 0; i < 400; i++) {
        struct batch_case t;
        case_make(&t, 20000, &random);
        n_pixels += check(context, &t.batch);
        n_lists += t.batch.list && t.batch.n_images > 1;
        n_labelled += t.batch.n_labels > 0 && t.batch.n_images > 0;
        case_reset(&t);
    }
    assert_true(n_pixels > 1000000 && n_lists > 30 && n_labelled > 100);
    ih_context_close(context);
}

/* Every layout with every number of channels; images of one pixel too. */
TEST(every_layout)
{
    static const uint32_t sizes[][2] = {{1, 1}, {1, 33}, {33, 1}, {37, 19}, {64, 64}};
    struct ih_context *context = open_clipped();
    uint32_t random = 7;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (unsigned layout = 0; layout < N_LAYOUTS; layout++)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                struct batch_case t = {.batch = {.size_bytes = sizeof t.batch,
                                                 .n_images = 3,
                                                 .n_channels = channels,
                                                 .n_labels = s == 3 ? 2 : 0}};
                t.batch.image.width = sizes[s][0];
                t.batch.image.height = sizes[s][1];
                case_fill(&t, (enum case_layout)layout, 5, 1, &random);
                assert_int_not_equal(check(context, &t.batch), 0);
                case_reset(&t);
            }
    ih_context_close(context);
}

/* Images that are divided among threads: one long row, and many rows. */
TEST(large_images_on_several_threads)
{
    struct ih_context *context = open_clipped();
    uint32_t random = 9;
    for (unsigned n_threads = 0; n_threads < 5; n_threads += 2)
        for (unsigned i = 0; i < 3; i++) {
            struct batch_case t = {.batch = {.size_bytes = sizeof t.batch,
                                             .n_images = 2,
                                             .n_channels = 3,
                                             .n_threads = n_threads}};
            t.batch.image.width = i == 0 ? 1500000 : 1201;
            t.batch.image.height = i == 0 ? 1 : 1009;
            case_fill(&t, i == 1 ? NCHW : NHWC, 0, 0, &random);
            assert_int_equal(check(context, &t.batch),
                             2 * (uint64_t)t.batch.image.width * t.batch.image.height);
            case_reset(&t);
        }
    ih_context_close(context);
}

/* The product of a value and its count may need more than 32 bits. Only machines whose size_t has
 * 32 bits show a sum that is too narrow. */
TEST(sums_of_a_label_with_many_pixels)
{
    enum { WIDTH = 1 << 16, HEIGHT = 300 };
    static uint8_t row[WIDTH], labels[WIDTH]; /* all rows are the same */
    struct ih_context *context = open_cpu();
    struct ih_error err = {0};
    memset(row, 255, sizeof row);
    const struct ih_batch b = {.size_bytes = sizeof b,
                               .n_images = 1,
                               .image = {row, labels, WIDTH, HEIGHT, 0, 0, 0},
                               .pixel_stride = 1,
                               .n_channels = 1,
                               .n_labels = 1};
    uint32_t bins[256];
    uint64_t sums[5];
    assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
    assert_int_equal(bins[255], WIDTH * HEIGHT);
    assert_int_equal(sums[0], 255ull * WIDTH * HEIGHT);
    ih_context_close(context);
}

TEST(one_record_has_statistics)
{
    static const uint8_t rgb[] = {0, 10, 20, 255, 255, 255, 1, 2, 3, 7, 7, 7};
    static const uint8_t labels[] = {0, 1, 9, 1};
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct ih_error err = {0};
    struct ih_stats luma;
    struct ih_batch b = {.size_bytes = sizeof b,
                         .n_images = 2,
                         .image = {rgb, labels, 2, 1, 6, 1, 2},
                         .image_stride = 6,
                         .labels_image_stride = 2,
                         .pixel_stride = 3,
                         .n_channels = 3,
                         .n_labels = 2};
    const struct ih_batch_shape shape = shape_of(&b);
    uint32_t bins[2 * 2 * 4 * 256];
    uint64_t sums[2 * 2 * 8];
    assert_int_equal(shape.bins_bytes, sizeof bins);
    assert_int_equal(shape.sums_bytes, sizeof sums);
    assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
    assert_int_equal(ih_batch_counts(context, &b, bins, sums, 0, 1, counts, &err), IH_OK);
    struct ih_summary s = summary_of(counts);
    assert_int_equal(s.n_pixels, 1);
    assert_int_equal(s.width, 2);
    assert_int_equal(s.blown_all, 1);
    assert_int_equal(s.crushed_any, 0);
    assert_int_equal(ih_counts_stats(counts, IH_LUMA, &luma, sizeof luma, &err), IH_OK);
    assert_int_equal(luma.min, 255);
    assert_int_equal(ih_batch_counts(context, &b, bins, sums, 0, 0, counts, &err), IH_OK);
    assert_int_equal(ih_counts_bins(counts, 2)[20], 1);
    assert_int_equal(summary_of(counts).crushed_any, 1);
    assert_int_equal(ih_batch_counts(context, &b, bins, sums, 1, 0, counts, &err), IH_OK);
    assert_int_equal(summary_of(counts).n_pixels, 0); /* its pixel has label 9 */
    assert_int_equal(ih_batch_counts(context, &b, bins, sums, 2, 0, counts, &err), IH_USAGE);
    assert_int_equal(ih_batch_counts(context, &b, bins, sums, 0, 2, counts, &err), IH_USAGE);
    assert_null(ih_counts_bins(counts, 0));
    b.without_luma = 1;
    assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
    assert_int_equal(ih_batch_counts(context, &b, bins, sums, 0, 1, counts, &err), IH_OK);
    assert_null(ih_counts_bins(counts, IH_LUMA));
    assert_string_equal(summary_of(counts).luma, "none");
    assert_int_equal(summary_of(counts).blown_all, 1);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* Reads the record of counts, which must give the same record. */
static void read_again(const struct ih_counts *counts, struct ih_counts *loaded)
{
    char *line, *again;
    size_t n, n_again;
    assert_int_equal(ih_record_write(counts, NULL, 0, &line, &n, NULL), IH_OK);
    assert_int_equal(ih_record_read(loaded, line, n, NULL), IH_OK);
    assert_int_equal(ih_record_write(loaded, NULL, 0, &again, &n_again, NULL), IH_OK);
    assert_int_equal(n_again, n);
    assert_memory_equal(again, line, n);
    free(line);
    free(again);
}

/* Counts of 16-bit samples are what a plain loop counts, and survive being a record. */
TEST(a_native_record_has_statistics)
{
    static uint16_t samples[2][6][4];
    static uint32_t bins[2 * 5 * 4096];
    uint64_t sums[2 * 9];
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts(), *loaded = open_counts();
    struct ih_error err = {0};
    uint32_t random = 5;
    for (unsigned without_luma = 0; without_luma < 2; without_luma++)
        for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
            const ptrdiff_t step = (ptrdiff_t)(n_channels * sizeof(uint16_t));
            const struct ih_batch b = {
                .size_bytes = sizeof b,
                .n_images = 2,
                .image = {(const uint8_t *)samples, NULL, 3, 2, 3 * step, sizeof(uint16_t), 0},
                .image_stride = 6 * step,
                .pixel_stride = step,
                .n_channels = n_channels,
                .without_luma = without_luma,
                .n_bins = 4096};
            uint16_t *flat = &samples[0][0][0];
            uint64_t expected = 0;
            struct ih_stats stats;
            for (size_t i = 0; i < 12 * (size_t)n_channels; i++)
                flat[i] = (uint16_t)(random_next(&random) % 3 * 2047 + 1);
            for (size_t i = 6; i < 12; i++)
                expected += flat[i * n_channels];
            assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
            assert_int_equal(ih_batch_counts(context, &b, bins, sums, 1, 0, counts, &err), IH_OK);
            assert_int_equal(ih_counts_n_bins(counts), 4096);
            assert_int_equal(ih_counts_stats(counts, 0, &stats, sizeof stats, &err), IH_OK);
            assert_int_equal(stats.sum, expected);
            assert_int_equal(stats.count, 6);
            assert_int_equal(stats.blown, ih_counts_bins(counts, 0)[4095]);
            assert_true((ih_counts_bins(counts, IH_LUMA) == NULL) == without_luma);
            read_again(counts, loaded);
            assert_int_equal(ih_counts_add(loaded, counts, &err), IH_OK);
            assert_int_equal(ih_counts_bins(loaded, 0)[4095], 2 * stats.blown);
        }
    ih_counts_close(loaded);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* 0, -0, 1.5, -2, NaN, -NaN and the infinities, as float16 and bfloat16; and -3, 5, -32768. */
TEST(counts_of_signed_and_float_samples)
{
    static const uint16_t samples[][8] = {
        [IH_NUMBER_SIGNED] = {0xFFFD, 5, 0x8000},
        [IH_NUMBER_FLOAT] = {0, 0x8000, 0x3E00, 0xC000, 0x7C01, 0xFE00, 0x7C00, 0xFC00},
        [IH_NUMBER_BFLOAT16] = {0, 0x8000, 0x3FC0, 0xC000, 0x7F81, 0xFFC0, 0x7F80, 0xFF80}};
    static uint32_t bins[65536];
    uint64_t sums[5];
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts(), *loaded = open_counts();
    struct ih_error err = {0};
    for (unsigned number = IH_NUMBER_SIGNED; number <= IH_NUMBER_BFLOAT16; number++) {
        const bool is_signed = number == IH_NUMBER_SIGNED;
        const struct ih_batch b = {
            .size_bytes = sizeof b,
            .n_images = 1,
            .image = {(const uint8_t *)samples[number], NULL, is_signed ? 3 : 8, 1, 16, 2, 0},
            .pixel_stride = 2,
            .n_channels = 1,
            .n_bins = 65536,
            .number = (enum ih_number)number};
        struct ih_stats s;
        assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
        assert_true((int64_t)sums[0] == (is_signed ? -32766 : 0));
        assert_int_equal(bins[32768], is_signed ? 0 : 2); /* 0 and -0 */
        assert_int_equal(ih_batch_counts(context, &b, bins, sums, 0, 0, counts, &err), IH_OK);
        assert_int_equal(ih_counts_stats(counts, 0, &s, sizeof s, &err), IH_OK);
        assert_int_equal(s.count, is_signed ? 3 : 4);
        assert_true(s.mean == (is_signed ? -10922 : -0.125));
        assert_true(s.min == (is_signed ? -32768 : -2) && s.max == (is_signed ? 5 : 1.5));
        assert_int_equal(s.nan, is_signed ? 0 : 2);
        assert_int_equal(s.positive_infinity + s.negative_infinity, is_signed ? 0 : 2);
        read_again(counts, loaded);
        assert_int_equal(ih_counts_add(loaded, counts, &err), IH_OK);
    }
    ih_counts_close(loaded);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* Whatever part of an image has a label, its counts are the same after they have been a record. */
TEST(records_of_labels_can_be_read)
{
    static uint8_t pixels[4 * 6], labels[4 * 6];
    enum { N_LABELS = 3 };
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts(), *loaded = open_counts();
    struct ih_error err = {0};
    struct ih_batch b = {.size_bytes = sizeof b,
                         .n_images = 1,
                         .image = {pixels, labels, 6, 4, 6, 1, 6},
                         .pixel_stride = 1,
                         .n_channels = 1,
                         .n_labels = N_LABELS};
    uint32_t bins[N_LABELS * 256];
    uint64_t sums[N_LABELS * 5];
    uint32_t random = 11;
    for (unsigned round = 0; round < 100; round++) {
        for (size_t i = 0; i < sizeof pixels; i++) {
            pixels[i] = (uint8_t)random_next(&random);
            labels[i] = (uint8_t)(random_next(&random) % (round % 4 + 1));
        }
        assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
        for (unsigned label = 0; label < N_LABELS; label++) {
            assert_int_equal(ih_batch_counts(context, &b, bins, sums, 0, label, counts, &err),
                             IH_OK);
            read_again(counts, loaded);
            assert_int_equal(ih_counts_add(loaded, counts, &err), IH_OK);
        }
    }
    const struct ih_pixels whole = {pixels, 6, 4, 0, 1};
    assert_int_equal(ih_count_pixels(context, &whole, counts, &err), IH_OK);
    assert_int_equal(ih_counts_add(loaded, counts, &err), IH_USAGE);
    assert_string_equal(err.message, "counts of a label are added only to counts of labels");
    ih_counts_close(loaded);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* An empty tensor may have no memory. */
TEST(no_images_need_no_memory)
{
    struct ih_context *context = open_cpu();
    struct ih_error err = {0};
    static const uint8_t pixel[3];
    for (unsigned has_data = 0; has_data < 2; has_data++)
        for (unsigned n_labels = 0; n_labels < 2; n_labels++) {
            const struct ih_batch b = {.size_bytes = sizeof b,
                                       .image = {has_data ? pixel : NULL, NULL, 8, 8, 24, 1, 8},
                                       .pixel_stride = 3,
                                       .n_channels = 3,
                                       .n_labels = n_labels};
            assert_int_equal(shape_of(&b).bins_bytes, 0);
            assert_int_equal(ih_batch_count(context, &b, NULL, NULL, &err), IH_OK);
        }
    ih_context_close(context);
}

TEST(gray_records_have_luma)
{
    static const uint8_t gray[] = {0, 4, 255, 255};
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    const struct ih_batch b = {.size_bytes = sizeof b,
                               .n_images = 1,
                               .image = {gray, NULL, 4, 1, 4, 1, 0},
                               .pixel_stride = 1,
                               .n_channels = 1};
    uint32_t bins[256];
    uint64_t sums[5];
    struct ih_error err = {0};
    assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
    assert_int_equal(sums[0], 514);
    assert_int_equal(sums[1], 1);
    assert_int_equal(sums[4], 2);
    assert_int_equal(ih_batch_counts(context, &b, bins, sums, 0, 0, counts, &err), IH_OK);
    assert_int_equal(ih_counts_bins(counts, IH_LUMA)[255], 2);
    assert_int_equal(summary_of(counts).blown_all, 2);
    ih_counts_close(counts);
    ih_context_close(context);
}

/* Expects IH_USAGE and a message from every function that takes a batch. */
static void refuse(const struct ih_batch *b, const char *message)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct ih_batch_shape shape;
    struct ih_error err = {0};
    uint32_t bins[1024] = {7};
    uint64_t sums[8] = {7};
    assert_int_equal(ih_batch_shape(b, &shape, sizeof shape, &err), IH_USAGE);
    assert_non_null(strstr(err.message, message));
    assert_int_equal(ih_batch_count(context, b, bins, sums, &err), IH_USAGE);
    assert_int_equal(ih_batch_enqueue(context, b, bins, sums, NULL, &err), IH_USAGE);
    assert_int_equal(ih_batch_counts(context, b, bins, sums, 0, 0, counts, &err), IH_USAGE);
    assert_int_equal(bins[0], 7);
    assert_int_equal(sums[0], 7);
    ih_counts_close(counts);
    ih_context_close(context);
}

TEST(invalid_batches)
{
    static const uint8_t bytes[64];
    const struct ih_batch good = {.size_bytes = sizeof good,
                                  .n_images = 1,
                                  .image = {bytes, NULL, 4, 4, 12, 1, 0},
                                  .pixel_stride = 3,
                                  .n_channels = 3};
    struct ih_batch b = good;
    assert_int_equal(shape_of(&b).n_planes, 4);
    b.size_bytes = 0;
    refuse(&b, "size_bytes is 0, must be at least ");
    b = good, b.without_luma = 2;
    refuse(&b, "without_luma is 2");
    b = good, b.n_channels = 0;
    refuse(&b, "0 channels");
    b.n_channels = 5;
    refuse(&b, "5 channels");
    b = good, b.image.data = NULL;
    refuse(&b, "data is NULL");
    b = good, b.pixel_stride = 0;
    refuse(&b, "pixel_stride is 0");
    b = good, b.n_labels = 2;
    refuse(&b, "labels is NULL");
    b = good, b.image.labels = bytes;
    refuse(&b, "n_labels is 0");
    b = good, b.n_labels = 257;
    refuse(&b, "at most 256");
    b = good, b.order = (enum ih_order)2;
    refuse(&b, "order");
    b = good, b.number = IH_NUMBER_FLOAT, b.n_bins = 4096;
    refuse(&b, "n_bins 65536");
    b = good, b.number = (enum ih_number)4, b.n_bins = 65536;
    refuse(&b, "number is 4");
    b = good, b.image.width = 1u << 16, b.image.height = 1u << 15;
    refuse(&b, "2^31 pixels");
    b = good, b.image.row_stride = PTRDIFF_MAX;
    refuse(&b, "larger than any memory");
    b = good, b.image.row_stride = PTRDIFF_MIN, b.image.height = 2;
    refuse(&b, "larger than any memory");
    b = good, b.n_images = SIZE_MAX;
    refuse(&b, "larger than any memory");
    b = good, b.image.width = 0, b.n_images = SIZE_MAX / 4096;
    refuse(&b, "larger than any memory");
    struct ih_batch_image list[2] = {good.image, good.image};
    list[1].data = NULL;
    b = good, b.list = list, b.n_images = 2;
    refuse(&b, "batch: list[1]: data is NULL");
}

/* A struct of a later version: unknown fields must be 0. */
TEST(batches_of_a_later_version)
{
    struct {
        struct ih_batch batch;
        uint64_t later;
    } b = {.batch = {.size_bytes = sizeof b, .n_channels = 1}};
    assert_int_equal(shape_of(&b.batch).bins_bytes, 0);
    b.later = 1;
    refuse(&b.batch, "newer than libimghist");
}

TEST(nothing_to_count)
{
    struct ih_context *context = open_cpu();
    const struct ih_batch none = {.size_bytes = sizeof none, .n_channels = 3};
    assert_int_equal(check(context, &none), 0);
    const struct ih_batch_image list[3] = {{NULL, NULL, 0, 5, 0, 0, 0},
                                           {NULL, NULL, 5, 0, 0, 0, 0}};
    const struct ih_batch empty = {
        .size_bytes = sizeof empty, .n_images = 3, .list = list, .n_channels = 3, .n_labels = 2};
    assert_int_equal(check(context, &empty), 0);
    static const uint8_t byte[1];
    const struct ih_batch far_apart = {.size_bytes = sizeof far_apart,
                                       .n_images = 4,
                                       .image = {byte, byte, 0, 5, 0, 0, 0},
                                       .image_stride = PTRDIFF_MAX,
                                       .labels_image_stride = PTRDIFF_MAX,
                                       .n_channels = 1,
                                       .n_labels = 1};
    static uint32_t bins[4 * IH_BINS];
    memset(bins, 0xa5, sizeof bins);
    assert_int_equal(ih_batch_count(context, &far_apart, bins, NULL, NULL), IH_OK);
    for (size_t i = 0; i < 4 * IH_BINS; i++)
        assert_int_equal(bins[i], 0);
    ih_context_close(context);
}

TEST(settings_of_the_context)
{
    static const uint8_t rgba[] = {1, 2, 3, 0};
    const struct ih_settings settings = {.device = "cpu", .alpha = "skip-transparent"};
    struct ih_context *context = NULL;
    struct ih_error err = {0};
    struct ih_batch b = {.size_bytes = sizeof b,
                         .n_images = 1,
                         .image = {rgba, NULL, 1, 1, 4, 1, 0},
                         .pixel_stride = 4,
                         .n_channels = 4};
    uint32_t bins[5 * 256];
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    assert_int_equal(ih_batch_count(context, &b, bins, NULL, &err), IH_USAGE);
    assert_non_null(strstr(err.message, "transparent"));
    b.n_channels = 3;
    assert_int_equal(ih_batch_count(context, &b, bins, NULL, &err), IH_OK);
    assert_int_equal(bins[1], 1);
    ih_context_close(context);
}

/* clip_high 0 is n_bins - 1, with any clip_low. */
TEST(a_lower_clip_limit_alone)
{
    static const uint16_t samples[] = {4, 5, 6, 1022, 1023};
    static uint32_t bins[1024];
    const struct ih_settings settings = {.device = "cpu", .clip_low = 5};
    const struct ih_batch b = {.size_bytes = sizeof b,
                               .n_images = 1,
                               .image = {(const uint8_t *)samples, NULL, 5, 1, 10, 2, 0},
                               .pixel_stride = 2,
                               .n_channels = 1,
                               .n_bins = 1024};
    uint64_t sums[5];
    struct ih_context *context = NULL;
    struct ih_error err = {0};
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    assert_int_equal(ih_batch_count(context, &b, bins, sums, &err), IH_OK);
    assert_int_equal(sums[1], 2); /* crushed_any: at most 5 */
    assert_int_equal(sums[2], 1); /* blown_any: at least 1023 */
    ih_context_close(context);
}
