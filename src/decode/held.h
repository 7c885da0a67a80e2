/*
 * What formats share whose library needs the whole file, or gives the whole image, at once: both in
 * memory, and the budget they were taken from.
 */
#ifndef IH_DECODE_HELD_H
#define IH_DECODE_HELD_H

#include "decode/decoder.h"

/* All zero is closed. */
struct ih_held {
    struct ih_budget *budget; /* borrowed, or NULL */
    uint64_t taken_bytes;     /* from the budget */
    uint8_t *file;            /* owned */
    size_t file_bytes;
    uint8_t *pixels; /* owned, [n_pixels][n_channels]; NULL until ih_held_image */
    size_t n_pixels, n_given;
    unsigned n_channels; /* bytes a pixel */
};

/*
 * Takes memory for the file and for what its header says that decoding takes, then reads the file.
 *
 * decoded_bytes   0 where the header is somewhere in the file: ih_held_more follows
 *
 * Returns IH_OK, IH_LIMIT, IH_IO, IH_MEMORY. After a failure, too, ih_held_close releases all.
 */
enum ih_status ih_held_open(struct ih_held *w, struct ih_source *src,
                            const struct ih_decode_options *options, uint64_t decoded_bytes,
                            struct ih_error *err);

/* Takes n_bytes more. Where they are not left it gives its own back before it waits, so that takers
 * never wait for each other: while it waits the file is over the budget. */
enum ih_status ih_held_more(struct ih_held *w, uint64_t n_bytes, struct ih_error *err);

/* Allocates pixels, all 0. Its memory is not taken here. */
enum ih_status ih_held_image(struct ih_held *w, uint64_t width, uint64_t height,
                             unsigned n_channels, struct ih_error *err);

/* Releases the file, not what it took. */
void ih_held_drop_file(struct ih_held *w);

/* A decoder's read, from pixels. */
size_t ih_held_give(struct ih_held *w, uint8_t *pixels, size_t capacity_pixels);

void ih_held_close(struct ih_held *w);

#endif
