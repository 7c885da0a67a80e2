/* Damages every byte of a small file in turn, and checks limits of memory. */
#ifndef IH_TESTS_DAMAGE_H
#define IH_TESTS_DAMAGE_H

#include "tests/support/decoded.h"

/* The value of pixel i in channel c of a picture with many values. */
static inline uint8_t picture(size_t i, unsigned c)
{
    return (uint8_t)(i * 7 + i / 5 * 31 + c * 85);
}

/* Decodes the file with each byte inverted, and with the lowest bit of each byte inverted. Every
 * result must be an error with a message, or an image. Sanitizers and decode() check the rest.
 * Returns the number of refused files. */
static inline size_t damage_each_byte(const uint8_t *bytes, size_t size_bytes)
{
    size_t n_refused = 0;
    uint8_t *copy = malloc(size_bytes);
    assert_non_null(copy);
    memcpy(copy, bytes, size_bytes);
    for (size_t i = 0; i < 2 * size_bytes; i++) {
        copy[i / 2] ^= i % 2 ? 0xFF : 0x01;
        struct decoded d = decode(copy, size_bytes, MAX_PIXELS, ALL_ROWS);
        n_refused += d.status != IH_OK;
        if (d.status != IH_OK && (d.error.status != d.status || d.error.message[0] == '\0'))
            fail_msg("byte %zu: status %d without a message", i / 2, (int)d.status);
        free(d.pixels);
        copy[i / 2] = bytes[i / 2];
    }
    free(copy);
    return n_refused;
}

/* Checks the status of decoding with a memory budget, and that all of the budget is returned. */
static inline void assert_budget(const uint8_t *bytes, size_t size_bytes, uint64_t budget_bytes,
                                 enum ih_status expected)
{
    struct ih_budget budget;
    ih_budget_init(&budget, budget_bytes);
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS, .budget = &budget};
    struct ih_reader source = {0};
    struct ih_decode d;
    struct ih_error err = {0};
    ih_reader_open_memory(&source, bytes, size_bytes);
    enum ih_status status = ih_decode_open(&d, &source, &options, &err);
    if (status == IH_OK) {
        size_t capacity = (size_t)(d.info.width * d.info.height), n = 1;
        uint8_t *pixels = malloc(capacity * ih_pixel_bytes(d.info.layout.n_channels, d.info.type));
        assert_non_null(pixels);
        while (status == IH_OK && n > 0)
            status = ih_decode_read(&d, pixels, capacity, &n, &err);
        free(pixels);
        ih_decode_close(&d);
    }
    ih_reader_reset(&source);
    assert_int_equal(status, expected);
    assert_int_equal(budget.taken_bytes, 0);
    ih_budget_destroy(&budget);
}

#endif
