/* Pixels in host memory: none, and invalid ones; and pending counts without a GPU. test_counters.c
 * compares sound ones with the reference. */
#include "tests/support/library_data.h"

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
