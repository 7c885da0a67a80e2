/*
 * What the tests of the validator share: they validate a file, and compare what passes with the
 * decoder on the CPU.
 */
#ifndef IH_TESTS_JPEG_VALIDATED_H
#define IH_TESTS_JPEG_VALIDATED_H

#include "jpeg_gpu/validate.h"
#include "tests/fuzz/jpeg_bitwise.h"
#include "tests/support/decoded.h"
#include "tests/support/jpeg_files.h"

/* One for all files of a test program: what it keeps of a file must not matter to the next. */
static inline struct ih_jpeg_workspace **used_workspace(void)
{
    static struct ih_jpeg_workspace *workspace;
    return &workspace;
}

static inline void check_same_pixels(const uint8_t *bytes, size_t n,
                                     const struct ih_jpeg_plan *plan)
{
    uint8_t *stream = malloc(plan->stream_bytes);
    assert_non_null(stream);
    ih_jpeg_plan_write(plan, stream);
    struct decoded a = decode(bytes, n, MAX_PIXELS, ALL_ROWS);
    struct decoded b = decode(stream, plan->stream_bytes, MAX_PIXELS, ALL_ROWS);
    if (a.status != IH_OK || b.status != IH_OK)
        fail_msg("passed, but decoding gives '%s', of the stream '%s'", a.error.message,
                 b.error.message);
    assert_int_equal(plan->width, a.info.width);
    assert_int_equal(plan->height, a.info.height);
    assert_int_equal(plan->n_components, a.info.n_channels);
    assert_int_equal(a.n_pixels, b.n_pixels);
    assert_memory_equal(a.pixels, b.pixels, a.n_pixels * a.info.n_channels);
    free(a.pixels);
    free(b.pixels);
    free(stream);
}

/* Validates a copy that ends with its last byte. The verdict must be that of reading bit by bit,
 * with a new workspace and with a used one.
 * When the file passes, the decoder must take it, and the stream must decode to the same pixels. */
static inline enum ih_jpeg_reason validate(const uint8_t *bytes, size_t n)
{
    struct ih_jpeg_plan plan;
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    const enum ih_jpeg_reason of_header = ih_jpeg_validate_header(copy, n, &plan);
    const bool has_header = of_header == IH_JPEG_REASON_NONE;
    const bool is_sound = has_header && bitwise_is_sound(&plan);
    struct ih_jpeg_workspace *workspace = NULL;
    const enum ih_jpeg_reason of_used = ih_jpeg_validate(copy, n, &plan, used_workspace());
    const enum ih_jpeg_reason reason = ih_jpeg_validate(copy, n, &plan, &workspace);
    free(workspace);
    assert_int_equal(reason, of_used);
    assert_int_equal(reason == IH_JPEG_REASON_NONE, is_sound);
    if (!has_header)
        assert_int_equal(reason, of_header);
    if (is_sound)
        check_same_pixels(copy, n, &plan);
    free(copy);
    return reason;
}

static inline void check_reason(const struct jpeg_file *f, enum ih_jpeg_reason expected)
{
    const enum ih_jpeg_reason reason = validate(f->bytes, f->n);
    if (reason != expected)
        fail_msg("'%s' instead of '%s'", ih_jpeg_reason_text(reason),
                 ih_jpeg_reason_text(expected));
}

static inline void check_passes(const struct jpeg_file *f)
{
    check_reason(f, IH_JPEG_REASON_NONE);
}

/* Frees f. */
static inline void check_refused(struct jpeg_file *f, enum ih_jpeg_reason expected)
{
    check_reason(f, expected);
    free(f->bytes);
}

static const struct jpeg_kind kinds[] = {{.h = 1, .v = 1},
                                         {.h = 2, .v = 1},
                                         {.h = 2, .v = 2},
                                         {.h = 1, .v = 2},
                                         {.h = 1, .v = 1, .is_gray = true}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

#endif
