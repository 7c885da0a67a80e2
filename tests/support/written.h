/* Files that tests write out byte by byte. Include it after cmocka.h. */
#ifndef IH_TESTS_WRITTEN_H
#define IH_TESTS_WRITTEN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* A number of n bytes, the low one first; -n: the high one first. */
static inline void put_number(struct file *f, int n, uint32_t v)
{
    for (int i = 0; i < abs(n); i++) {
        uint8_t byte = (uint8_t)((uint64_t)v >> 8 * (n > 0 ? i : -n - 1 - i));
        put(f, &byte, 1);
    }
}

#define PUT(f, ...) put(f, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
#define EXPECT(...) ((const uint8_t[]){__VA_ARGS__})

#endif
