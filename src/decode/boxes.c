#include "decode/boxes.h"

#include <string.h>

uint64_t ih_span_take(struct ih_span *s, unsigned n_bytes)
{
    uint64_t value = 0;
    if (s->n < n_bytes) {
        s->n = 0;
        return 0;
    }
    for (unsigned i = 0; i < n_bytes; i++)
        value = value << 8 | s->p[i];
    s->p += n_bytes;
    s->n -= n_bytes;
    return value;
}

bool ih_box_next(struct ih_span *s, char type[4], struct ih_span *content)
{
    const struct ih_span box = *s;
    if (s->n < 8)
        return false;
    uint64_t size = ih_span_take(s, 4);
    memcpy(type, s->p, 4);
    ih_span_take(s, 4);
    if (size == 1)
        size = ih_span_take(s, 8);
    else if (size == 0) /* up to the end of s */
        size = box.n;
    const size_t header_bytes = box.n - s->n;
    if (size < header_bytes || size > box.n)
        return false;
    *content = (struct ih_span){s->p, (size_t)size - header_bytes};
    *s = (struct ih_span){box.p + size, box.n - (size_t)size};
    return true;
}

bool ih_box_is(const char *type, const char *expected)
{
    return memcmp(type, expected, 4) == 0;
}

struct ih_span ih_box_find(struct ih_span s, const char *type)
{
    char found[4];
    struct ih_span content;
    while (ih_box_next(&s, found, &content))
        if (ih_box_is(found, type))
            return content;
    return (struct ih_span){NULL, 0};
}
