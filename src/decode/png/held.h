/*
 * The bytes of a file that have been read so far, held until it is clear who decodes them.
 *
 * Whoever looks at them first may give up at any point: then they are read again from the start,
 * and behind their end the source goes on. So nobody needs a source that can seek.
 */
#ifndef IH_DECODE_PNG_HELD_H
#define IH_DECODE_PNG_HELD_H

#include "base/budget.h"
#include "base/source.h"

/* All zero but for the first three: nothing is held. */
struct ih_png_held {
    struct ih_source *src;    /* borrowed */
    struct ih_budget *budget; /* borrowed, may be NULL; the capacity is taken from it */
    size_t size_max;          /* hold no more than this */
    uint8_t *bytes;           /* owned */
    size_t size, capacity;
    size_t position; /* of ih_png_held_read */
};

/* Reads on until `end` bytes are held. False: the input ends before, reading failed, or they would
 * be more than size_max or than the budget has left. What had been read stays held. */
bool ih_png_held_fill(struct ih_png_held *h, size_t end);

/* Copies the next bytes to dst: those held first, which are released when the last is out, then the
 * source's. As ih_source_read. */
enum ih_status ih_png_held_read(struct ih_png_held *h, void *dst, size_t size_bytes, size_t *got,
                                struct ih_error *err);

/* Frees what is held and gives its budget back. May be called again. */
void ih_png_held_release(struct ih_png_held *h);

#endif
