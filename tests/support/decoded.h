/*
 * Decodes an image from memory and checks the result; shared by the tests of decoders.
 *
 * Inputs and stripes are in allocations that end with their last byte, so that the address
 * sanitizer catches every access past the end.
 */
#ifndef IH_TESTS_DECODED_H
#define IH_TESTS_DECODED_H

#include "tests/support/test.h"

#include "decode/decoder.h"

enum { MAX_PIXELS = 1000 * 1000, ALL_ROWS = 0 };

/* The arguments as an array of bytes. */
#ifndef EXPECT
#define EXPECT(...) ((const uint8_t[]){__VA_ARGS__})
#endif

/* A string literal, which may contain NULs, as bytes and their number. */
#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

struct decoded {
    enum ih_status status;
    struct ih_error error;
    struct ih_image_info info;
    uint8_t *pixels; /* owned, free(); NULL if the header was refused */
    size_t n_pixels; /* read before the end or an error */
};

/* stripe_rows: the capacity of each read; ALL_ROWS: the rows of the image */
static inline struct decoded decode_with(const uint8_t *bytes, size_t size_bytes,
                                         const struct ih_decode_options *options,
                                         size_t stripe_rows)
{
    struct decoded out = {.status = IH_OK};
    struct ih_reader source = {0};
    struct ih_decode d;
    uint8_t *copy = malloc(size_bytes ? size_bytes : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size_bytes);
    ih_reader_open_memory(&source, copy, size_bytes);
    out.status = ih_decode_open(&d, &source, options, &out.error);
    if (out.status == IH_OK) {
        const size_t pixel_bytes = ih_pixel_bytes(d.info.layout.n_channels, d.info.type);
        size_t n = 1;
        size_t capacity = (size_t)(d.info.width * (stripe_rows ? stripe_rows : d.info.height));
        uint8_t *stripe = malloc(capacity * pixel_bytes);
        out.info = d.info;
        out.pixels = malloc((size_t)(d.info.width * d.info.height) * pixel_bytes);
        assert_true(stripe && out.pixels);
        while (n > 0 &&
               (out.status = ih_decode_read(&d, stripe, capacity, &n, &out.error)) == IH_OK) {
            assert_true(n <= capacity && out.n_pixels + n <= d.info.width * d.info.height);
            memcpy(out.pixels + out.n_pixels * pixel_bytes, stripe, n * pixel_bytes);
            out.n_pixels += n;
        }
        out.info = d.info;       /* complete now */
        if (out.status == IH_OK) /* a decoder process sends the error as it is */
            assert_int_equal(out.error.status, IH_OK);
        free(stripe);
        ih_decode_close(&d);
    }
    ih_reader_reset(&source);
    free(copy);
    return out;
}

static inline struct decoded decode(const uint8_t *bytes, size_t size_bytes, uint64_t max_pixels,
                                    size_t stripe_rows)
{
    const struct ih_decode_options options = {.max_pixels = max_pixels};
    return decode_with(bytes, size_bytes, &options, stripe_rows);
}

/* Checks that the bytes are refused with this status and a message that contains reason. */
static inline void assert_refused(const uint8_t *bytes, size_t size_bytes, enum ih_status status,
                                  const char *reason)
{
    struct decoded d = decode(bytes, size_bytes, MAX_PIXELS, 1);
    free(d.pixels);
    if (d.status != status || d.error.status != status || !strstr(d.error.message, reason))
        fail_msg("status %d, '%s', instead of %d, '%s'", (int)d.status, d.error.message,
                 (int)status, reason);
}

/* Checks that the file is refused when it is cut at any place. */
static inline void assert_cuts_are_refused(const uint8_t *bytes, size_t size_bytes)
{
    for (size_t n = 0; n < size_bytes; n++) {
        struct decoded d = decode(bytes, n, MAX_PIXELS, ALL_ROWS);
        free(d.pixels);
        if (d.status != IH_CORRUPT && d.status != IH_UNKNOWN)
            fail_msg("status %d after %zu of %zu bytes: '%s'", (int)d.status, n, size_bytes,
                     d.error.message);
    }
}

/* Checks format, size and pixels of an image, with stripes of different sizes. pixels: [height]
 * [width][n_channels], of the decoder's type of samples */
static inline void assert_decodes(const uint8_t *bytes, size_t size_bytes, const char *format,
                                  size_t width, size_t height, unsigned n_channels,
                                  const uint8_t *pixels)
{
    for (size_t stripe_rows = 0; stripe_rows <= 2; stripe_rows++) {
        struct decoded d = decode(bytes, size_bytes, MAX_PIXELS, stripe_rows);
        if (d.status != IH_OK)
            fail_msg("status %d: %s", (int)d.status, d.error.message);
        assert_string_equal(d.info.format, format);
        assert_int_equal(d.info.width, width);
        assert_int_equal(d.info.height, height);
        assert_int_equal(d.info.layout.n_channels, n_channels);
        assert_int_equal(d.n_pixels, width * height);
        assert_memory_equal(d.pixels, pixels,
                            width * height * ih_pixel_bytes(n_channels, d.info.type));
        free(d.pixels);
    }
}

#endif
