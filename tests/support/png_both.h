/*
 * Decodes a PNG by both paths, and checks that the same bytes give the same pixels, or the same
 * error with the same message, and whether the fast path took the file.
 */
#ifndef IH_TESTS_PNG_BOTH_H
#define IH_TESTS_PNG_BOTH_H

#include "decode/decoder.h"
#include "decode/png/chunks.h"
#include "decode/png/paths.h"
#include "decode/png/unfilter.h"
#include "tests/support/png_files.h"
#include "tests/support/random.h"

enum { STREAMING = 1 }; /* whole_file_bytes_max: never the fast path */

struct outcome {
    enum ih_status status;
    struct ih_error error;
    struct ih_image_info info;
    struct bytes pixels; /* owned; up to the end or an error */
};

static bool takes_native; /* of the next calls of decode */

static inline struct outcome decode_source(struct ih_reader *src, uint64_t whole_file_bytes_max,
                                           size_t n_rows)
{
    struct ih_budget budget;
    const struct ih_decode_options options = {.max_pixels = 1000 * 1000,
                                              .budget = &budget,
                                              .whole_file_bytes_max = whole_file_bytes_max,
                                              .takes_native = takes_native};
    struct outcome out = {.status = IH_OK};
    struct ih_decode d;
    ih_budget_init(&budget, 1u << 30);
    out.status = ih_decode_open(&d, src, &options, &out.error);
    if (out.status == IH_OK) {
        size_t n = 1, capacity = (size_t)d.info.width * n_rows;
        const size_t pixel_bytes = ih_pixel_bytes(d.info.layout.n_channels, d.info.type);
        uint8_t *stripe = malloc(capacity * pixel_bytes);
        assert_non_null(stripe);
        out.info = d.info;
        while (n > 0 &&
               (out.status = ih_decode_read(&d, stripe, capacity, &n, &out.error)) == IH_OK)
            put(&out.pixels, stripe, n * pixel_bytes);
        out.info = d.info; /* complete now */
        free(stripe);
        ih_decode_close(&d);
    }
    ih_budget_destroy(&budget); /* checks that all was given back */
    return out;
}

/* From a copy that ends with its last byte, for the address sanitizer. */
static inline struct outcome decode(const struct bytes *file, uint64_t whole_file_bytes_max,
                                    size_t n_rows)
{
    struct ih_reader src = {0};
    uint8_t *copy = malloc(file->n ? file->n : 1);
    assert_non_null(copy);
    if (file->n > 0)
        memcpy(copy, file->p, file->n);
    ih_reader_open_memory(&src, copy, file->n);
    struct outcome out = decode_source(&src, whole_file_bytes_max, n_rows);
    ih_reader_reset(&src);
    free(copy);
    return out;
}

struct fast_path {
    struct ih_reader src;
    struct ih_png_file file;
    struct ih_image_info info;
    struct ih_png_fast *image; /* NULL: not taken */
};

/* src is open if bytes is NULL. */
static inline void open_fast(struct fast_path *p, const struct bytes *bytes,
                             const struct ih_decode_options *options)
{
    if (bytes)
        ih_reader_open_memory(&p->src, bytes->p, bytes->n);
    p->file = (struct ih_png_file){.src = &p->src, .budget = options->budget};
    p->image = ih_png_fast_open(&p->file, options, &p->info);
}

static inline void close_fast(struct fast_path *p)
{
    ih_png_fast_close(p->image);
    ih_png_file_release(&p->file);
    ih_reader_reset(&p->src);
}

static inline bool is_taken(const struct bytes *file)
{
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX};
    struct fast_path p = {.image = NULL};
    open_fast(&p, file, &options);
    const bool taken = p.image && ih_png_fast_load(p.image);
    close_fast(&p);
    return taken;
}

/* Native samples of 16 bits, by both paths, are those that pixels was reduced from. */
static inline void assert_native(const struct bytes *file, const struct outcome *reduced,
                                 const char *what)
{
    takes_native = true;
    struct outcome fast = decode(file, 0, 5), stream = decode(file, STREAMING, 2);
    takes_native = false;
    assert_int_equal(fast.status, IH_OK);
    assert_int_equal(fast.info.n_bins, reduced->info.source_depth == 16 ? 65536 : 256);
    assert_int_equal(stream.info.n_bins, fast.info.n_bins);
    assert_int_equal(fast.pixels.n, stream.pixels.n);
    if (memcmp(fast.pixels.p, stream.pixels.p, fast.pixels.n) != 0)
        fail_msg("%s: the native pixels differ", what);
    assert_int_equal(fast.info.extremes.end, reduced->info.extremes.end);
    for (size_t i = 0; i < reduced->pixels.n && fast.info.type == IH_UINT16; i++) {
        uint16_t v;
        memcpy(&v, fast.pixels.p + 2 * i, sizeof v);
        assert_int_equal((v * 255u + 32767) / 65535, reduced->pixels.p[i]);
    }
    free(fast.pixels.p);
    free(stream.pixels.p);
}

/* Returns the status of both. The pixels delivered before an error are not compared. */
static inline enum ih_status both(const struct bytes *file, const char *what)
{
    struct outcome b = decode(file, STREAMING, 3);
    for (size_t n_rows = 1; n_rows <= 64; n_rows *= 8) {
        struct outcome a = decode(file, 0, n_rows);
        if (a.status != b.status || (a.status != IH_OK && strcmp(a.error.message, b.error.message)))
            fail_msg("%s: fast '%s' (%d), streaming '%s' (%d)", what, a.error.message,
                     (int)a.status, b.error.message, (int)b.status);
        if (a.status == IH_OK) {
            assert_int_equal(a.info.width, b.info.width);
            assert_int_equal(a.info.height, b.info.height);
            assert_int_equal(a.info.layout.n_channels, b.info.layout.n_channels);
            assert_int_equal(a.info.source_depth, b.info.source_depth);
            assert_int_equal(a.pixels.n, b.pixels.n);
            if (memcmp(a.pixels.p, b.pixels.p, a.pixels.n) != 0)
                fail_msg("%s: the pixels differ", what);
        }
        free(a.pixels.p);
    }
    if (b.status == IH_OK)
        assert_native(file, &b, what);
    free(b.pixels.p);
    return b.status;
}

static inline void accepted(const struct bytes *file, const char *what)
{
    if (both(file, what) != IH_OK)
        fail_msg("%s: refused", what);
}

static inline void accepted_fast(const struct bytes *file, const char *what)
{
    accepted(file, what);
    if (is_taken(file) != ih_png_has_libdeflate())
        fail_msg("%s: not taken by the fast path", what);
}

static inline void refused(const struct bytes *file, const char *what)
{
    if (both(file, what) != IH_CORRUPT)
        fail_msg("%s: not refused", what);
    if (is_taken(file))
        fail_msg("%s: taken by the fast path", what);
}

/* ---- sound images of every kind ---- */

struct kind {
    unsigned colour, depth;
};

static const struct kind kinds[] = {{0, 1}, {0, 2},  {0, 4},  {0, 8}, {0, 16},
                                    {2, 8}, {2, 16}, {3, 1},  {3, 2}, {3, 4},
                                    {3, 8}, {4, 8},  {4, 16}, {6, 8}, {6, 16}};
enum { N_KINDS = sizeof kinds / sizeof kinds[0], ANY_FILTER = IH_PNG_FILTERS };

/* Rows of random bytes; any bytes are valid output of a filter. A third of the bytes are zero, so
 * that transparent colours occur. */
static inline struct bytes random_rows(const struct kind *kind, uint32_t width, uint32_t height,
                                       unsigned filter)
{
    struct ih_png_image image = {
        .width = width, .height = height, .colour = kind->colour, .depth = kind->depth};
    size_t row_bytes = (size_t)ih_png_row_bytes(&image);
    struct bytes rows = {0};
    for (uint32_t y = 0; y < height; y++) {
        uint8_t f = (uint8_t)(filter == ANY_FILTER ? next_random() % IH_PNG_FILTERS : filter);
        put(&rows, &f, 1);
        for (size_t i = 0; i < row_bytes; i++) {
            uint8_t v = (uint8_t)(i % 3 == 0 || y % 3 == 0 ? 0 : next_random());
            put(&rows, &v, 1);
        }
    }
    return rows;
}

/* PLTE with n random colours. */
static inline void put_palette(struct bytes *file, unsigned n)
{
    uint8_t colours[256 * 3];
    for (size_t i = 0; i < sizeof colours; i++)
        colours[i] = (uint8_t)next_random();
    put_chunk(file, "PLTE", colours, (size_t)3 * n);
}

static inline void put_transparency(struct bytes *file, const struct kind *kind)
{
    const uint8_t alphas[] = {0, 7, 255, 100}, zeros[6] = {0};
    if (kind->colour == IH_PNG_PALETTE)
        put_chunk(file, "tRNS", alphas, kind->depth == 1 ? 1 : 3);
    else
        put_chunk(file, "tRNS", zeros, kind->colour == IH_PNG_RGB ? 6 : 2);
}

/* A file with these rows, and idat_bytes in each IDAT chunk. */
static inline struct bytes make_file(const struct kind *kind, uint32_t width, uint32_t height,
                                     const struct bytes *rows, bool has_trns, size_t idat_bytes)
{
    struct bytes file = {0}, stream = zlib_stored(rows->p, rows->n, 50);
    put_head(&file, width, height, (int)kind->depth, (int)kind->colour);
    if (kind->colour == IH_PNG_PALETTE)
        put_palette(&file, 1u << kind->depth);
    if (has_trns)
        put_transparency(&file, kind);
    put_idats(&file, &stream, idat_bytes);
    put_chunk(&file, "IEND", NULL, 0);
    free(stream.p);
    return file;
}

static inline struct bytes random_file(const struct kind *kind, uint32_t width, uint32_t height,
                                       unsigned filter, bool has_trns, size_t idat_bytes)
{
    struct bytes rows = random_rows(kind, width, height, filter);
    struct bytes file = make_file(kind, width, height, &rows, has_trns, idat_bytes);
    free(rows.p);
    return file;
}

#endif
