/*
 * A JPEG file decoded in two halves and in the ordinary way, for the tests of that. What has been
 * lent has to be given back. Include it after cmocka.h; define _POSIX_C_SOURCE before the first
 * include.
 *
 * Whether a file was decoded in halves shows in what it holds of the budget: the coefficients of
 * two decompressors.
 */
#ifndef IH_TESTS_JPEG_HALVED_H
#define IH_TESTS_JPEG_HALVED_H

#include "decode/jpeg_half.h"

#include "tests/unit/jpeg_files.h"
#include "tests/unit/jpeg_scans.h"
#include "tests/unit/planes_read.h"

static char path[] = "/tmp/imghist-half-XXXXXX"; /* of the file that tests write */

static inline int make_path(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static const struct look looks[] = {{.h = 1, .v = 1}, {.h = 2, .v = 1}, {.h = 2, .v = 2}};
enum { N_LOOKS = sizeof looks / sizeof looks[0] };

/* n_spare: processors that nobody uses */
static inline struct planes_read read_path(unsigned n_spare, size_t more_bytes)
{
    atomic_uint spare = n_spare;
    struct ih_budget budget;
    struct ih_source source = {0};
    struct ih_error err;
    ih_budget_init(&budget, (uint64_t)1 << 30);
    const struct ih_decode_options options = {
        .max_pixels = MAX_PIXELS, .budget = &budget, .n_spare = &spare, .halve_from_pixels = 1};
    assert_int_equal(ih_source_open_path(&source, path, &err), IH_OK);
    struct planes_read p = read_source(&source, more_bytes, &options);
    assert_int_equal(atomic_load(&spare), n_spare);
    assert_int_equal(budget.taken_bytes, 0);
    ih_budget_destroy(&budget);
    return p;
}

static inline void assert_same_planes(const struct planes_read *a, const struct planes_read *b)
{
    if (a->status != b->status ||
        (a->status != IH_OK && strcmp(a->error.message, b->error.message) != 0))
        fail_msg("status %d, '%s' instead of %d, '%s'", (int)a->status,
                 a->status ? a->error.message : "", (int)b->status,
                 b->status ? b->error.message : "");
    assert_int_equal(a->has_planes, b->has_planes);
    assert_int_equal(a->n_bands, b->n_bands);
    if (a->status != IH_OK || !a->has_planes)
        return;
    const struct ih_ycc_image *image = &a->image;
    const size_t n = (size_t)image->width * image->height +
                     2 * (size_t)image->chroma_width * image->chroma_height;
    assert_memory_equal(a->samples, b->samples, n);
    assert_memory_equal(&a->counts, &b->counts, sizeof a->counts);
}

/* Reads the file at path both ways. Returns whether it was decoded in halves. */
static inline bool read_both(size_t more_bytes)
{
    struct planes_read one = read_path(0, more_bytes), two = read_path(1, more_bytes);
    assert_same_planes(&two, &one);
    const bool is_halved = two.held_bytes > 0 && two.held_bytes == 2 * one.held_bytes;
    if (!is_halved)
        assert_int_equal(two.held_bytes, one.held_bytes);
    free_planes(&one);
    free_planes(&two);
    return is_halved;
}

static inline bool read_both_of(const struct jpeg_file *f)
{
    write_file(path, f->bytes, f->n);
    return read_both(0);
}

/* What the functions for it say. */
static inline bool can_halve(struct ih_jpeg_reader *whole, struct ih_source *again)
{
    if (setjmp(whole->on_error))
        fail_msg("%s", whole->error.message);
    ih_jpeg_reader_open(whole);
    if (!ih_jpeg_half_fits(whole, 1))
        return false;
    struct ih_jpeg_half *half = ih_jpeg_half_open(whole, again);
    assert_non_null(half);
    const bool is = ih_jpeg_half_decode(half, whole);
    ih_jpeg_half_close(half);
    return is;
}

/* Of the file at path. */
static inline bool is_halved(void)
{
    struct ih_source source = {0}, again = {0};
    struct ih_jpeg_reader whole;
    struct ih_error err;
    assert_int_equal(ih_source_open_path(&source, path, &err), IH_OK);
    assert_int_equal(ih_source_reopen(&again, &source, &err), IH_OK);
    ih_jpeg_reader_init(&whole, &source);
    const bool is = can_halve(&whole, &again);
    ih_jpeg_reader_close(&whole);
    ih_source_reset(&source);
    ih_source_reset(&again);
    return is;
}

#endif
