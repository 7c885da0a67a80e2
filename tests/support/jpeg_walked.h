/*
 * What the tests of the JPEG walk share: a file walked, and what passes compared with the decoder
 * on the processor. Include it after cmocka.h.
 */
#ifndef IH_TESTS_JPEG_WALKED_H
#define IH_TESTS_JPEG_WALKED_H

#include "jpeg_gpu/lanes.h"
#include "jpeg_gpu/validate.h"

#include "tests/fuzz/jpeg_bitwise.h"
#include "tests/support/decoded.h"
#include "tests/support/jpeg_files.h"

/* Lanes may not know, but when they say yes, it is so. Returns what they say. */
static inline bool check_lanes(const struct ih_jpeg_plan *header, bool is_sound, size_t data_bytes)
{
    struct ih_jpeg_plan plan = *header;
    const bool is_yes = ih_jpeg_lanes_walk(&plan);
    if (is_yes && !is_sound)
        fail_msg("lanes let damage pass");
    assert_int_equal(plan.data_bytes, is_yes ? data_bytes : header->data_bytes);
    return is_yes;
}

/* Walks a copy that ends with its last byte. The verdict must be that of reading bit by bit; when
 * it is yes, the decoder must take the file, and the stream must decode to the same pixels. Returns
 * why not, NULL for yes. */
static inline const char *why_not(const uint8_t *bytes, size_t n)
{
    struct ih_jpeg_plan plan;
    const char *reason = NULL;
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    bool has_header = ih_jpeg_walk_header(copy, n, &plan, &reason);
    const struct ih_jpeg_plan header = plan;
    bool is_sound = has_header && bitwise_walk(&plan);
    assert_int_equal(ih_jpeg_walk(copy, n, &plan, &reason), is_sound);
    if (has_header)
        check_lanes(&header, is_sound, plan.data_bytes);
    if (is_sound) {
        uint8_t *stream = malloc(plan.stream_bytes);
        assert_non_null(stream);
        ih_jpeg_plan_write(&plan, stream);
        struct decoded a = decode(copy, n, MAX_PIXELS, ALL_ROWS);
        struct decoded b = decode(stream, plan.stream_bytes, MAX_PIXELS, ALL_ROWS);
        if (a.status != IH_OK || b.status != IH_OK)
            fail_msg("passed, but decoding gives '%s', of the stream '%s'", a.error.message,
                     b.error.message);
        assert_int_equal(plan.width, a.info.width);
        assert_int_equal(plan.height, a.info.height);
        assert_int_equal(plan.n_components, a.info.n_channels);
        assert_int_equal(a.n_pixels, b.n_pixels);
        assert_memory_equal(a.pixels, b.pixels, a.n_pixels * a.info.n_channels);
        free(a.pixels);
        free(b.pixels);
        free(stream);
        reason = NULL;
    } else if (!reason)
        fail_msg("refused without a reason");
    free(copy);
    return reason;
}

static inline void check_passes(const struct jpeg_file *f)
{
    const char *reason = why_not(f->bytes, f->n);
    if (reason)
        fail_msg("refused: %s", reason);
}

/* Frees f. */
static inline void check_refused(struct jpeg_file *f, const char *wanted)
{
    const char *reason = why_not(f->bytes, f->n);
    if (!reason || !strstr(reason, wanted))
        fail_msg("'%s' instead of '%s'", reason ? reason : "passed", wanted);
    free(f->bytes);
}

static const struct jpeg_kind kinds[] = {
    {.h = 1, .v = 1},
    {.h = 2, .v = 1},
    {.h = 2, .v = 2},
    {.h = 1, .v = 2},
    {.h = 1, .v = 1, .is_gray = true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

#endif
