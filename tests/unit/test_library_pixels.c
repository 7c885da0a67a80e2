/* Pixels in host memory: layouts, strides and alignments against a plain loop; invalid pixels; and
 * pending counts without a GPU. */
#include "tests/support/library_data.h"

/* Counts an image that begins `start` bytes into an allocation and ends with it. */
static void check(struct ih_context *context, unsigned width, unsigned height, unsigned n_channels,
                  size_t gap_bytes, unsigned start, bool is_upward)
{
    const size_t row_bytes = (size_t)width * n_channels, stride = row_bytes + gap_bytes;
    const size_t size = start + stride * (height - 1) + row_bytes;
    uint8_t *bytes = malloc(size);
    struct ih_counts *counts = open_counts();
    struct ih_error err = {0};
    struct expected e = {.n_pixels = 0};
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = noise(i + gap_bytes);
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            expect_pixel(&e, bytes + start + y * stride + (size_t)x * n_channels, n_channels);
    struct ih_pixels pixels = {bytes + start, width, height, (ptrdiff_t)stride, n_channels};
    if (is_upward) {
        pixels.data = bytes + start + stride * (height - 1);
        pixels.stride_bytes = -(ptrdiff_t)stride;
    } else if (gap_bytes == 0 && start % 2) {
        pixels.stride_bytes = 0;
    }
    assert_int_equal(ih_count_pixels(context, &pixels, counts, &err), IH_OK);
    assert_expected(counts, &e, n_channels);
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.width, width);
    assert_int_equal(s.height, height);
    assert_int_equal(s.source_depth, 8);
    assert_string_equal(s.format, "");
    assert_string_equal(s.decoder, "");
    ih_counts_close(counts);
    free(bytes);
}

TEST(layouts_strides_and_alignments)
{
    static const size_t gaps[] = {0, 1, 3, 64, 1000};
    static const unsigned sizes[][2] = {{1, 1}, {1, 97}, {131, 1}, {37, 41}};
    struct ih_context *context = open_cpu();
    for (unsigned c = 1; c <= 4; c++)
        for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                for (unsigned start = 0; start < 4; start++)
                    check(context, sizes[s][0], sizes[s][1], c, gaps[g], start, start == 2);
    ih_context_close(context);
}

/* Rows longer than a band, and more rows than fit in one. */
TEST(larger_than_a_band)
{
    struct ih_context *context = open_cpu();
    check(context, 400001, 2, 3, 5, 1, false);
    check(context, 400001, 2, 3, 5, 1, true);
    check(context, 701, 1013, 4, 12, 0, false);
    check(context, 1009, 997, 1, 0, 3, false);
    ih_context_close(context);
}

TEST(no_pixels)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    const struct ih_pixels none[] = {
        {NULL, 0, 0, 0, 3}, {NULL, UINT64_MAX, 0, 1, 3}, {"x", 0, 9, -7, 3}};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(ih_count_pixels(context, &none[i], counts, &err), IH_OK);
        assert_int_equal(summary_of(counts).n_images, 1);
        assert_int_equal(summary_of(counts).n_pixels, 0);
        assert_string_equal(ih_counts_plane(counts, 2), "blue");
    }
    ih_counts_close(counts);
    ih_context_close(context);
}

TEST(invalid_pixels)
{
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    static const uint8_t some[64];
    const struct ih_pixels wrong[] = {
        {some, 4, 4, 0, 0},              /* no channels */
        {some, 1, 1, 0, 5},              /* too many */
        {NULL, 4, 4, 0, 1},              /* no data */
        {some, 4, 4, 3, 1},              /* rows overlap */
        {some, 4, 4, -3, 1},             /* upward, too */
        {some, UINT64_MAX / 2, 1, 0, 4}, /* row too long */
        {some, 4, UINT64_MAX / 2, 4, 1}, /* all rows too long */
        {some, 4, 4, PTRDIFF_MIN, 1},
        {some, 4, 4, PTRDIFF_MAX, 1},
        {some, 4, 2, PTRDIFF_MAX, 1},
        {some, (uint64_t)1 << 40, (uint64_t)1 << 40, 0, 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ih_error err = {0};
        const struct ih_pixels row = {some, 4, 1, 3, 1}; /* no next row to overlap */
        assert_int_equal(ih_count_pixels(context, &row, counts, &err), IH_OK);
        assert_int_equal(summary_of(counts).n_pixels, 4);
        assert_int_equal(ih_count_pixels(context, &wrong[i], counts, &err), IH_USAGE);
        assert_non_null(strstr(err.message, "pixels: "));
        if (wrong[i].stride_bytes == -3)
            assert_non_null(strstr(err.message, "rows of 4 bytes overlap: stride_bytes is -3"));
        assert_int_equal(summary_of(counts).n_images, 0);
    }
    ih_counts_close(counts);
    ih_context_close(context);
}

/* tests/gpu/device_buffer.c tests pending counts on a GPU. */
TEST(no_gpu)
{
    struct ih_context *context = open_cpu();
    struct ih_pending *pending = NULL;
    struct ih_error err = {0};
    const enum ih_status status = ih_pending_open(context, 999, &pending, &err);
    assert_int_equal(status, IH_UNAVAILABLE);
    assert_int_equal(err.status, IH_UNAVAILABLE);
    assert_true(strlen(err.message) > 0);
    assert_null(pending);
    ih_context_close(context);
}
