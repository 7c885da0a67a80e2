#include "decode/png/held.h"

#include <stdlib.h>
#include <string.h>

/* The least room for a pipe's bytes. */
enum { ROOM_BYTES = 32 * 1024 };

/* One read(2) at most: what has been read is still in the cache when its CRC is computed. */
enum { READ_BYTES = 512 * 1024 };

/* The capacity to grow to: a regular file's whole size, else in steps of a quarter, so that memory
 * follows what has come and not what some length claims. */
static size_t next_capacity(const struct ih_png_held *h)
{
    uint64_t left, wanted = h->capacity + h->capacity / 4 + ROOM_BYTES;
    if (ih_source_size_left(h->src, &left))
        wanted = h->size + left;
    return wanted < h->size_max ? (size_t)wanted : h->size_max;
}

static bool grow(struct ih_png_held *h)
{
    size_t capacity = next_capacity(h);
    if (capacity <= h->capacity || !ih_budget_try(h->budget, capacity - h->capacity))
        return false;
    uint8_t *bytes = malloc(capacity);
    if (!bytes) {
        ih_budget_give(h->budget, capacity - h->capacity);
        return false;
    }
    if (h->size > 0)
        memcpy(bytes, h->bytes, h->size);
    free(h->bytes);
    h->bytes = bytes;
    h->capacity = capacity;
    return true;
}

bool ih_png_held_fill(struct ih_png_held *h, size_t end)
{
    if (end > h->size_max)
        return false;
    while (h->size < end) {
        struct ih_error ignored; /* the source says it again to the one who reads on */
        size_t got;
        if (h->size == h->capacity && !grow(h))
            return false;
        size_t room = h->capacity - h->size;
        enum ih_status status = ih_source_read(
            h->src, h->bytes + h->size, room < READ_BYTES ? room : READ_BYTES, &got, &ignored);
        h->size += got;
        if (status != IH_OK || (got == 0 && h->size < end))
            return false;
    }
    return true;
}

enum ih_status ih_png_held_read(struct ih_png_held *h, void *dst, size_t size_bytes, size_t *got,
                                struct ih_error *err)
{
    size_t left = h->size - h->position;
    size_t n = left < size_bytes ? left : size_bytes;
    uint8_t *out = dst;
    if (n > 0)
        memcpy(out, h->bytes + h->position, n);
    h->position += n;
    if (h->bytes && h->position == h->size)
        ih_png_held_release(h);
    *got = n;
    if (n == size_bytes)
        return IH_OK;
    enum ih_status status = ih_source_read(h->src, out + n, size_bytes - n, got, err);
    *got += n;
    return status;
}

void ih_png_held_release(struct ih_png_held *h)
{
    free(h->bytes);
    ih_budget_give(h->budget, h->capacity);
    h->bytes = NULL;
    h->size = h->capacity = h->position = 0;
}
