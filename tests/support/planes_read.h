/*
 * Reads a JPEG file in memory as planes: puts the stripes together and counts them. Each read gets
 * a buffer of its own, freed before the next, so that the address sanitizer sees every byte too
 * far.
 */
#ifndef IH_TESTS_PLANES_READ_H
#define IH_TESTS_PLANES_READ_H

#include "tests/support/decoded.h"
#include "tests/support/planes_picture.h"

/* The outcome, and the planes of the image. Rows that no read has delivered are not set. */
struct planes_read {
    enum ih_status status;
    struct ih_error error;
    bool has_planes;
    struct ih_ycc_image image;
    int h, v;
    uint8_t *samples, *has_row[2]; /* owned */
    uint32_t next_row;
    struct ih_counter *counter; /* borrowed, or NULL: counts each stripe */
    struct ih_histogram counts; /* of an accepted file, as its warnings */
    unsigned warnings;
    unsigned n_stripes;
    uint64_t held_bytes; /* of the budget, after the last stripe */
};

/* Copies rows out of a stripe. Chroma rows that several stripes have must be equal. */
static inline void take_rows(struct planes_read *p, const struct ih_planes *stripe)
{
    for (uint32_t i = 0; i < stripe->n_rows; i++) {
        const uint32_t y = stripe->row + i, near = y / stripe->chroma_v;
        const uint32_t rows[2] = {
            near, stripe->chroma_v == 1 ? near : ih_ycc_far(y, stripe->n_chroma_rows)};
        memcpy(p->samples + (size_t)y * p->image.width,
               stripe->planes[0] + i * stripe->pitch_bytes[0], p->image.width);
        for (unsigned k = 0; k < 4; k++) {
            const unsigned c = k / 2;
            const uint32_t row = rows[k % 2];
            const size_t width = p->image.chroma_width;
            const uint8_t *from =
                stripe->planes[1 + c] + (row - stripe->chroma_row) * stripe->pitch_bytes[1 + c];
            uint8_t *to = p->samples + (p->image.planes[1 + c] - p->samples) + row * width;
            assert_true(row >= stripe->chroma_row && row < stripe->n_chroma_rows);
            if (p->has_row[c][row])
                assert_memory_equal(to, from, width);
            memcpy(to, from, width);
            p->has_row[c][row] = 1;
        }
    }
}

/* Checks that a stripe follows the one before and lies in the buffer, padding included. */
static inline void check_stripe(const struct ih_planes *stripe, const struct ih_image_info *info,
                                uint32_t next_row, const uint8_t *buffer, size_t size_bytes)
{
    const uint32_t h = stripe->chroma_h, v = stripe->chroma_v;
    uint32_t n;
    assert_int_equal(stripe->row, next_row);
    assert_int_equal(stripe->width, info->width);
    assert_int_equal(stripe->height, info->height);
    assert_int_equal(stripe->n_chroma_rows, (info->height + v - 1) / v);
    assert_true(stripe->n_rows <= info->height - next_row);
    const uint32_t next = next_row + stripe->n_rows;
    assert_true(v == 1 || next % 2 == 1 || next == info->height);
    const uint8_t *const end = stripe->planes[0] + stripe->size_bytes;
    assert_true(end <= buffer + size_bytes);
    const uint32_t from = chroma_rows(v, stripe->n_chroma_rows, next_row, stripe->n_rows, &n);
    assert_true(from >= stripe->chroma_row);
    n += from - stripe->chroma_row;
    for (unsigned c = 0; c < 3; c++) {
        const size_t padding = c == 0 ? 0 : IH_PLANES_PADDING;
        const size_t width = (c == 0 ? stripe->width : (stripe->width + h - 1) / h) + padding;
        const size_t used = ((c == 0 ? stripe->n_rows : n) - 1) * stripe->pitch_bytes[c] + width;
        assert_true(stripe->pitch_bytes[c] >= width);
        assert_true(stripe->planes[c] >= (c == 0 ? buffer : stripe->planes[c - 1]));
        assert_true(stripe->planes[c] < end && (size_t)(end - stripe->planes[c]) >= used);
        assert_int_equal((size_t)(stripe->planes[c] - buffer) % IH_PLANES_ALIGNMENT, 0);
        assert_int_equal(stripe->pitch_bytes[c] % IH_PLANES_ALIGNMENT, 0);
    }
}

static inline void begin_planes(struct planes_read *p, const struct ih_image_info *info,
                                const struct ih_planes *stripe)
{
    const uint32_t w = ((uint32_t)info->width + stripe->chroma_h - 1) / stripe->chroma_h;
    const size_t n_luma = (size_t)(info->width * info->height);
    const size_t n_chroma = (size_t)w * stripe->n_chroma_rows;
    p->samples = malloc(n_luma + 2 * n_chroma);
    assert_non_null(p->samples);
    for (unsigned c = 0; c < 2; c++)
        assert_non_null(p->has_row[c] = calloc(1, stripe->n_chroma_rows));
    p->h = (int)stripe->chroma_h;
    p->v = (int)stripe->chroma_v;
    p->image =
        (struct ih_ycc_image){{p->samples, p->samples + n_luma, p->samples + n_luma + n_chroma},
                              {(uint32_t)info->width, w, w},
                              (uint32_t)info->width,
                              (uint32_t)info->height,
                              w,
                              stripe->n_chroma_rows};
}

/* Reads a stripe into a buffer of n_bytes. True: there may be more. */
static inline bool read_stripe(struct ih_decode *d, size_t n_bytes, struct planes_read *p)
{
    struct ih_planes stripe = {.n_rows = 0};
    uint8_t *buffer = malloc(n_bytes);
    assert_non_null(buffer);
    memset(buffer, (int)(p->next_row * 37 + 91), n_bytes); /* shows bytes that are not written */
    p->status = ih_decode_read_planes(d, buffer, n_bytes, &stripe, &p->error);
    const bool has_rows = p->status == IH_OK && stripe.n_rows > 0;
    if (has_rows) {
        check_stripe(&stripe, &d->info, p->next_row, buffer, n_bytes);
        if (!p->samples)
            begin_planes(p, &d->info, &stripe);
        take_rows(p, &stripe);
        if (p->counter && ih_counter_takes_planes(&ih_count_tables))
            ih_counter_add_planes(p->counter, &stripe);
        p->next_row += stripe.n_rows;
        p->n_stripes++;
    } else if (p->status == IH_OK) {
        assert_int_equal(p->next_row, d->info.height);
    }
    free(buffer);
    return has_rows;
}

/* Reads an open source, and closes it. more_bytes: added to the least size of a buffer. */
static inline struct planes_read read_source(struct ih_reader *source, size_t more_bytes,
                                             const struct ih_decode_options *options)
{
    static const struct ih_count_spec spec = {IH_LAYOUT(3),   IH_UINT8, IH_BINS,
                                              &ih_luma_bt709, 0,        255};
    static struct ih_counter counter;
    struct planes_read p = {.counter = &counter};
    struct ih_decode d;
    p.status = ih_decode_open(&d, source, options, &p.error);
    if (p.status != IH_OK) {
        ih_reader_reset(source);
        return p;
    }
    const size_t n_bytes = ih_decode_planes_bytes(&d) + more_bytes;
    p.has_planes = n_bytes > more_bytes;
    if (ih_counter_begin(&counter, &ih_count_tables, &spec, NULL) != IH_OK)
        abort();
    while (p.has_planes && read_stripe(&d, n_bytes, &p))
        p.held_bytes = options->budget ? options->budget->taken_bytes : 0;
    if (p.has_planes && p.status == IH_OK) { /* another read at the end also gives no rows */
        assert_false(read_stripe(&d, n_bytes, &p));
        assert_int_equal(p.status, IH_OK);
        ih_counter_end(&counter, &p.counts);
        p.warnings = d.info.warnings;
    }
    ih_decode_close(&d);
    ih_reader_reset(source);
    return p;
}

static inline struct planes_read read_planes(const uint8_t *bytes, size_t size_bytes,
                                             size_t more_bytes, struct ih_budget *budget)
{
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS, .budget = budget};
    struct ih_reader source = {0};
    ih_reader_open_memory(&source, bytes, size_bytes);
    return read_source(&source, more_bytes, &options);
}

static inline void free_planes(struct planes_read *p)
{
    ih_histogram_reset(&p->counts);
    free(p->samples);
    free(p->has_row[0]);
    free(p->has_row[1]);
}

#endif
