/*
 * Boxes: the parts of a JPEG 2000 or HEIF file, which may contain further boxes. Source: ISO/IEC
 * 14496-12 and ITU-T T.800, annex I.
 */
#ifndef IH_DECODE_BOXES_H
#define IH_DECODE_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes left to read; n is 0 at the end. */
struct ih_span {
    const uint8_t *p; /* borrowed */
    size_t n;
};

/* Reads a big-endian number of n_bytes. Returns 0, and leaves nothing to read, if it does not fit.
 */
uint64_t ih_span_take(struct ih_span *s, unsigned n_bytes);

/*
 * Reads the next box and advances s past it.
 *
 * type   of the box, four letters
 *
 * Returns false at the end, and if the box does not fit.
 */
bool ih_box_next(struct ih_span *s, char type[4], struct ih_span *content);

/* Whether a type, four letters, is the expected one. */
bool ih_box_is(const char *type, const char *expected);

/* Returns the content of the first box of this type in s; empty if there is none. */
struct ih_span ih_box_find(struct ih_span s, const char *type);

#endif
