/*
 * Reads a JPEG file in memory as planes: puts the bands together and counts them. Each read gets a
 * buffer of its own, freed before the next, so that the address sanitizer sees every byte too far.
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
    struct ih_counter *counter; /* borrowed, or NULL: counts each band */
    struct ih_histogram counts; /* of an accepted file, as its warnings */
    unsigned warnings;
    unsigned n_bands;
    uint64_t held_bytes; /* of the budget, after the last band */
};

/* Copies rows out of a band. Chroma rows that several bands have must be equal. */
static inline void take_rows(struct planes_read *p, const struct ih_planes *band)
{
    for (uint32_t i = 0; i < band->n_rows; i++) {
        const uint32_t y = band->row + i, near = y / band->chroma_v;
        const uint32_t rows[2] = {near,
                                  band->chroma_v == 1 ? near : ih_ycc_far(y, band->n_chroma_rows)};
        memcpy(p->samples + (size_t)y * p->image.width, band->planes[0] + i * band->pitch_bytes[0],
               p->image.width);
        for (unsigned k = 0; k < 4; k++) {
            const unsigned c = k / 2;
            const uint32_t row = rows[k % 2];
            const size_t width = p->image.chroma_width;
            const uint8_t *from =
                band->planes[1 + c] + (row - band->chroma_row) * band->pitch_bytes[1 + c];
            uint8_t *to = p->samples + (p->image.planes[1 + c] - p->samples) + row * width;
            assert_true(row >= band->chroma_row && row < band->n_chroma_rows);
            if (p->has_row[c][row])
                assert_memory_equal(to, from, width);
            memcpy(to, from, width);
            p->has_row[c][row] = 1;
        }
    }
}

/* Checks that a band follows the one before and lies in the buffer, padding included. */
static inline void check_band(const struct ih_planes *band, const struct ih_image_info *info,
                              uint32_t next_row, const uint8_t *buffer, size_t size_bytes)
{
    const uint32_t h = band->chroma_h, v = band->chroma_v;
    uint32_t n;
    assert_int_equal(band->row, next_row);
    assert_int_equal(band->width, info->width);
    assert_int_equal(band->height, info->height);
    assert_int_equal(band->n_chroma_rows, (info->height + v - 1) / v);
    assert_true(band->n_rows <= info->height - next_row);
    const uint32_t next = next_row + band->n_rows;
    assert_true(v == 1 || next % 2 == 1 || next == info->height);
    const uint8_t *const end = band->planes[0] + band->size_bytes;
    assert_true(end <= buffer + size_bytes);
    const uint32_t from = chroma_rows(v, band->n_chroma_rows, next_row, band->n_rows, &n);
    assert_true(from >= band->chroma_row);
    n += from - band->chroma_row;
    for (unsigned c = 0; c < 3; c++) {
        const size_t padding = c == 0 ? 0 : IH_PLANES_PADDING;
        const size_t width = (c == 0 ? band->width : (band->width + h - 1) / h) + padding;
        const size_t used = ((c == 0 ? band->n_rows : n) - 1) * band->pitch_bytes[c] + width;
        assert_true(band->pitch_bytes[c] >= width);
        assert_true(band->planes[c] >= (c == 0 ? buffer : band->planes[c - 1]));
        assert_true(band->planes[c] < end && (size_t)(end - band->planes[c]) >= used);
        assert_int_equal((size_t)(band->planes[c] - buffer) % IH_PLANES_ALIGNMENT, 0);
        assert_int_equal(band->pitch_bytes[c] % IH_PLANES_ALIGNMENT, 0);
    }
}

static inline void begin_planes(struct planes_read *p, const struct ih_image_info *info,
                                const struct ih_planes *band)
{
    const uint32_t w = ((uint32_t)info->width + band->chroma_h - 1) / band->chroma_h;
    const size_t n_luma = (size_t)(info->width * info->height);
    const size_t n_chroma = (size_t)w * band->n_chroma_rows;
    p->samples = malloc(n_luma + 2 * n_chroma);
    assert_non_null(p->samples);
    for (unsigned c = 0; c < 2; c++)
        assert_non_null(p->has_row[c] = calloc(1, band->n_chroma_rows));
    p->h = (int)band->chroma_h;
    p->v = (int)band->chroma_v;
    p->image =
        (struct ih_ycc_image){{p->samples, p->samples + n_luma, p->samples + n_luma + n_chroma},
                              {(uint32_t)info->width, w, w},
                              (uint32_t)info->width,
                              (uint32_t)info->height,
                              w,
                              band->n_chroma_rows};
}

/* Reads a band into a buffer of n_bytes. True: there may be more. */
static inline bool read_band(struct ih_decode *d, size_t n_bytes, struct planes_read *p)
{
    struct ih_planes band = {.n_rows = 0};
    uint8_t *buffer = malloc(n_bytes);
    assert_non_null(buffer);
    memset(buffer, (int)(p->next_row * 37 + 91), n_bytes); /* shows bytes that are not written */
    p->status = ih_decode_read_planes(d, buffer, n_bytes, &band, &p->error);
    const bool has_rows = p->status == IH_OK && band.n_rows > 0;
    if (has_rows) {
        check_band(&band, &d->info, p->next_row, buffer, n_bytes);
        if (!p->samples)
            begin_planes(p, &d->info, &band);
        take_rows(p, &band);
        if (p->counter && ih_counter_takes_planes(&ih_count_tables))
            ih_counter_add_planes(p->counter, &band);
        p->next_row += band.n_rows;
        p->n_bands++;
    } else if (p->status == IH_OK) {
        assert_int_equal(p->next_row, d->info.height);
    }
    free(buffer);
    return has_rows;
}

/* Reads an open source, and closes it. more_bytes: added to the least size of a buffer. */
static inline struct planes_read read_source(struct ih_source *source, size_t more_bytes,
                                             const struct ih_decode_options *options)
{
    static const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255, 0};
    static struct ih_counter counter;
    struct planes_read p = {.counter = &counter};
    struct ih_decode d;
    p.status = ih_decode_open(&d, source, options, &p.error);
    if (p.status != IH_OK) {
        ih_source_reset(source);
        return p;
    }
    const size_t n_bytes = ih_decode_planes_bytes(&d) + more_bytes;
    p.has_planes = n_bytes > more_bytes;
    if (ih_counter_begin(&counter, &ih_count_tables, &spec, NULL) != IH_OK)
        abort();
    while (p.has_planes && read_band(&d, n_bytes, &p))
        p.held_bytes = options->budget ? options->budget->taken_bytes : 0;
    if (p.has_planes && p.status == IH_OK) { /* another read at the end also gives no rows */
        assert_false(read_band(&d, n_bytes, &p));
        assert_int_equal(p.status, IH_OK);
        ih_counter_end(&counter, &p.counts);
        p.warnings = d.info.warnings;
    }
    ih_decode_close(&d);
    ih_source_reset(source);
    return p;
}

static inline struct planes_read read_planes(const uint8_t *bytes, size_t size_bytes,
                                             size_t more_bytes, struct ih_budget *budget)
{
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS, .budget = budget};
    struct ih_source source = {0};
    ih_source_open_memory(&source, bytes, size_bytes);
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
