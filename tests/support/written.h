/* Files that tests write byte by byte. */
#ifndef IH_TESTS_WRITTEN_H
#define IH_TESTS_WRITTEN_H

#include "tests/support/test.h"

struct file {
    size_t n;
    uint8_t bytes[4096];
};

static inline void put(struct file *f, const void *bytes, size_t n)
{
    assert_true(f->n + n <= sizeof f->bytes);
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
}

/* Appends a number of n bytes in little-endian order; -n: in big-endian order. */
static inline void put_number(struct file *f, int n, uint32_t v)
{
    for (int i = 0; i < abs(n); i++) {
        uint8_t byte = (uint8_t)((uint64_t)v >> 8 * (n > 0 ? i : -n - 1 - i));
        put(f, &byte, 1);
    }
}

#define PUT(f, ...) put(f, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

#ifndef EXPECT /* decoded.h has it too */
#define EXPECT(...) ((const uint8_t[]){__VA_ARGS__})
#endif

/* An entry of a TIFF directory. */
enum { TIFF_TYPE_SHORT = 3, TIFF_TYPE_LONG = 4, TIFF_TYPE_RATIONAL = 5 };

static inline void put_entry(struct file *f, uint32_t tag, uint32_t type, uint32_t n,
                             uint32_t value)
{
    put_number(f, 2, tag);
    put_number(f, 2, type);
    put_number(f, 4, n);
    put_number(f, 4, value);
}

#endif
