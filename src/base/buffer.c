#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About the size of a default chart; a smaller value only costs a few more reallocations. */
enum { FIRST_CAPACITY = 64 * 1024 };

static bool reserve(struct ih_bytes *bytes, size_t size)
{
    if (bytes->failed || size <= bytes->capacity - bytes->size)
        return !bytes->failed;
    size_t capacity = bytes->capacity ? bytes->capacity : FIRST_CAPACITY;
    while (capacity - bytes->size < size && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    unsigned char *grown = capacity - bytes->size < size ? NULL : realloc(bytes->data, capacity);
    if (!grown) {
        bytes->failed = true;
        return false;
    }
    bytes->data = grown;
    bytes->capacity = capacity;
    return true;
}

void ih_bytes_append(struct ih_bytes *bytes, const void *data, size_t size)
{
    if (size == 0 || !reserve(bytes, size))
        return;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void ih_bytes_text(struct ih_bytes *bytes, const char *text)
{
    ih_bytes_append(bytes, text, strlen(text));
}

void ih_bytes_format(struct ih_bytes *bytes, const char *format, ...)
{
    char piece[IH_BYTES_PIECE];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    assert(size >= 0 && size < IH_BYTES_PIECE);
    ih_bytes_append(bytes, piece, (size_t)size);
}

void ih_bytes_reset(struct ih_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct ih_bytes){0};
}
