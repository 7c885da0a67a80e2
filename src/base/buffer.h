/*
 * A growing byte buffer: a file that is written in memory.
 *
 * The buffer remembers that it ran out of memory, and later calls do nothing. A caller can append a
 * thousand pieces and check `failed` once.
 */
#ifndef IH_BASE_BUFFER_H
#define IH_BASE_BUFFER_H

#include "base/status.h"

/* All zero is an empty buffer. */
struct ih_bytes {
    unsigned char *data; /* owned */
    size_t size, capacity;
    bool failed;
};

void ih_bytes_append(struct ih_bytes *bytes, const void *data, size_t size);
void ih_bytes_text(struct ih_bytes *bytes, const char *text);

/* Appends formatted text without a NUL, less than IH_BYTES_PIECE bytes of it. */
enum { IH_BYTES_PIECE = 512 };
void ih_bytes_format(struct ih_bytes *bytes, const char *format, ...) IH_PRINTF(2, 3);

void ih_bytes_reset(struct ih_bytes *bytes);

#endif
