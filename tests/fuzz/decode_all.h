/*
 * Decodes a file in memory from start to end and checks the contract in decoder.h.
 *
 * The fuzzers and the tests that replay their finds share this. An input may be refused. If a
 * decoder breaks its contract the program aborts, which a fuzzer reports as a crash.
 */
#ifndef IH_TESTS_DECODE_ALL_H
#define IH_TESTS_DECODE_ALL_H

#include "count/count.h"
#include "decode/decoder.h"
#include "tests/fuzz/promised.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of pixels: a fuzzer spends less than a millisecond on an input; the samples need more. */
#define MAX_PIXELS_FUZZ ((uint64_t)1 << 16)
#define MAX_PIXELS_SAMPLES ((uint64_t)1 << 20)

/* The result, independent of the order of the pixels. */
struct decoded {
    enum ih_status status;
    uint64_t n_pixels;
    uint64_t counts[IH_PIXEL_CHANNELS_MAX][IH_BINS];
};

static inline void check_error(enum ih_status status, const struct ih_error *err)
{
    PROMISED(status == err->status);
    PROMISED(status == IH_UNKNOWN || status == IH_CORRUPT || status == IH_UNSUPPORTED ||
             status == IH_LIMIT || status == IH_MEMORY);
    PROMISED(memchr(err->message, '\0', sizeof err->message));
    PROMISED(err->message[0] != '\0' && !strchr(err->message, '\n'));
}

static inline void check_info(const struct ih_image_info *info,
                              const struct ih_decode_options *options)
{
    unsigned depth = info->source_depth;
    PROMISED(info->layout.n_channels >= 1 && info->layout.n_channels <= IH_CHANNELS_MAX);
    PROMISED(depth >= 1 && depth <= 32);
    PROMISED(info->format && info->format[0]);
    if (options->raw_channels)
        return; /* the size is known only at the end */
    PROMISED(info->width > 0 && info->height > 0);
    PROMISED(info->height <= options->max_pixels / info->width);
}

/* Reads to the end in stripes of n_rows rows. The allocation ends with the last byte of a stripe.
 */
static inline enum ih_status read_all(struct ih_decode *d, size_t n_rows, struct decoded *out,
                                      struct ih_error *err)
{
    const size_t pixel_bytes = ih_pixel_bytes(d->info.layout.n_channels, d->info.type);
    size_t size = ih_decode_row_bytes(d) * n_rows, capacity = size / pixel_bytes;
    uint8_t *pixels = malloc(size);
    enum ih_status status;
    size_t n = 0;
    PROMISED(pixels);
    while ((status = ih_decode_read(d, pixels, capacity, &n, err)) == IH_OK && n > 0) {
        PROMISED(n <= capacity);
        for (size_t i = 0; i < n; i++)
            for (size_t b = 0; b < pixel_bytes; b++)
                out->counts[b % IH_PIXEL_CHANNELS_MAX][pixels[i * pixel_bytes + b]]++;
        out->n_pixels += n;
    }
    free(pixels);
    if (status == IH_OK)
        PROMISED(out->n_pixels == d->info.width * d->info.height);
    return status;
}

/* Fills the stack where functions that are called next have their variables. If a decoder reads one
 * that it has not written, two decodes with different fills may differ. */
static inline void fill_stack(uint8_t value)
{
    volatile uint64_t stack[1 << 13];
    for (size_t i = 0; i < sizeof stack / sizeof *stack; i++)
        stack[i] = UINT64_MAX / UINT8_MAX * value;
}

static inline void decode_in_stripes(const uint8_t *bytes, size_t size,
                                     const struct ih_decode_options *options, size_t n_rows,
                                     struct decoded *out, struct ih_error *err)
{
    void (*const volatile fill)(uint8_t) = fill_stack; /* never inlined: a frame of its own */
    struct ih_reader src = {0};
    struct ih_decode d;
    memset(out, 0, sizeof *out);
    memset(err, 0, sizeof *err);
    ih_reader_open_memory(&src, bytes, size);
    fill((uint8_t)(0 - n_rows));
    out->status = ih_decode_open(&d, &src, options, err);
    if (out->status == IH_OK) {
        check_info(&d.info, options);
        out->status = read_all(&d, n_rows, out, err);
        ih_decode_close(&d);
    }
    if (out->status != IH_OK)
        check_error(out->status, err);
    ih_reader_close(&src);
    ih_reader_reset(&src);
}

/* Reads planes to the end, each stripe into a new allocation of exactly its size. */
static inline enum ih_status read_all_planes(struct ih_decode *d, size_t size,
                                             struct ih_counter *counter, struct ih_error *err)
{
    struct ih_planes planes = {.n_rows = 1};
    enum ih_status status = IH_OK;
    for (uint64_t n_rows = 0; status == IH_OK && planes.n_rows > 0; n_rows += planes.n_rows) {
        uint8_t *buffer = malloc(size);
        PROMISED(buffer);
        memset(buffer, (int)n_rows + 85, size); /* counts change if bytes are left unwritten */
        status = ih_decode_read_planes(d, buffer, size, &planes, err);
        if (status == IH_OK && planes.n_rows > 0) {
            PROMISED(planes.row == n_rows && planes.width == d->info.width);
            ih_counter_add_planes(counter, &planes);
        }
        free(buffer);
    }
    return status;
}

/* If the image has planes, reading them gives the same status, message and counts. */
static inline void decode_planes(const uint8_t *bytes, size_t size,
                                 const struct ih_decode_options *options,
                                 const struct decoded *expected, const struct ih_error *why)
{
    static struct ih_counter counter;
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    struct ih_histogram got;
    struct ih_reader src = {0};
    struct ih_decode d;
    struct ih_error err = {0};
    ih_reader_open_memory(&src, bytes, size);
    if (ih_decode_open(&d, &src, options, &err) == IH_OK) {
        const size_t planes_bytes = ih_decode_planes_bytes(&d);
        if (planes_bytes > 0 && ih_counter_takes_planes(&ih_count_tables)) {
            PROMISED(ih_counter_begin(&counter, &ih_count_tables, &spec, NULL) == IH_OK);
            counter.fold_pixels = 1 + size * 5; /* more or fewer than a chunk has */
            counter.pairs_from_pixels = size % 3 * 100;
            PROMISED(read_all_planes(&d, planes_bytes + size * 16 % 5000, &counter, &err) ==
                     expected->status);
            ih_counter_end(&counter, &got);
            if (expected->status != IH_OK)
                PROMISED(strcmp(err.message, why->message) == 0);
            else
                for (unsigned c = 0; c < 3; c++)
                    PROMISED(memcmp(ih_bins(&got, c), expected->counts[c],
                                    sizeof expected->counts[c]) == 0);
            ih_histogram_reset(&got);
        }
        ih_decode_close(&d);
    }
    ih_reader_close(&src);
    ih_reader_reset(&src);
}

/* The first of all images is the one that is decoded without the others. */
static inline void decode_frames(const uint8_t *bytes, size_t size,
                                 const struct ih_decode_options *options,
                                 const struct decoded *expected)
{
    enum { FRAMES_MAX = 20 };
    struct ih_decode_options with = *options;
    struct ih_reader src = {0};
    struct ih_decode d;
    struct ih_error err = {0};
    struct decoded frame;
    bool has_next = true;
    with.takes_frames = true;
    ih_reader_open_memory(&src, bytes, size);
    enum ih_status status = ih_decode_open(&d, &src, &with, &err);
    const bool is_open = status == IH_OK;
    for (unsigned k = 0; k < FRAMES_MAX && status == IH_OK && has_next; k++) {
        memset(&frame, 0, sizeof frame);
        check_info(&d.info, options);
        status = read_all(&d, 1 + size % 3, &frame, &err);
        frame.status = status;
        if (k == 0) /* of several faults, the frames may show another one first */
            PROMISED((status == IH_OK) == (expected->status == IH_OK));
        if (k == 0 && status == IH_OK)
            PROMISED(memcmp(&frame, expected, sizeof frame) == 0);
        if (status == IH_OK)
            status = ih_decode_next(&d, &with, &has_next, &err);
    }
    if (!is_open)
        PROMISED(status == expected->status);
    else
        ih_decode_close(&d);
    if (status != IH_OK)
        check_error(status, &err);
    ih_reader_close(&src);
    ih_reader_reset(&src);
}

/*
 * Decodes row by row, in larger stripes, as planes and with all further images. The result must not
 * depend on that.
 *
 * raw_channels   0: detect the format; 1 to 4: headerless samples
 *
 * Returns the status of decoding.
 */
static inline enum ih_status decode_all(const uint8_t *bytes, size_t size, uint64_t max_pixels,
                                        unsigned raw_channels)
{
    const struct ih_decode_options options = {.max_pixels = max_pixels,
                                              .raw_channels = raw_channels,
                                              .is_lenient = size % 2 == 0,
                                              .takes_raw_previews = true,
                                              .takes_raw_sensors = size % 4 == 1,
                                              .axes = (enum ih_axes)(size % IH_AXES_END)};
    struct decoded by_row, by_stripe;
    struct ih_error err;
    decode_in_stripes(bytes, size, &options, 7, &by_stripe, &err);
    decode_in_stripes(bytes, size, &options, 1, &by_row, &err);
    decode_planes(bytes, size, &options, &by_row, &err);
    decode_frames(bytes, size, &options, &by_row);
    PROMISED(by_row.status == by_stripe.status);
    if (by_row.status == IH_OK)
        PROMISED(memcmp(&by_row, &by_stripe, sizeof by_row) == 0);
    return by_row.status;
}

#endif
