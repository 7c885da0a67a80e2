/*
 * A file or an image that is held in memory, with the budget its bytes came from.
 *
 * Some libraries need the complete file, or decode the complete image in one call. Their decoders
 * keep both in a struct ih_whole_file.
 */
#ifndef IH_DECODE_WHOLE_FILE_H
#define IH_DECODE_WHOLE_FILE_H

#include "decode/decoder.h"

/* A struct that is all zero is valid and closed. */
struct ih_whole_file {
    bool
        may_be_large; /* set before ih_whole_file_open: a file, no pipe, may have more than 4 GiB */
    struct ih_budget *budget;   /* borrowed, or NULL */
    struct ih_time_limit *time; /* borrowed from the reader; a wait for the budget is not counted */
    uint64_t taken_bytes;       /* taken from the budget */
    uint8_t *file;              /* owned */
    size_t file_bytes;
    uint8_t *pixels; /* owned, [n_pixels][n_channels]; NULL until ih_whole_file_image */
    size_t n_pixels, n_given;
    unsigned n_channels; /* bytes a pixel */
};

/*
 * Takes memory from the budget for the file and for decoding it, then reads the file.
 *
 * decoded_bytes   the memory that decoding needs; 0 if the caller knows it only after it has parsed
 *                 the file, and then calls ih_whole_file_more
 *
 * Returns IH_OK, IH_LIMIT, IH_IO, IH_MEMORY. The caller calls ih_whole_file_close in every case.
 */
enum ih_status ih_whole_file_open(struct ih_whole_file *h, struct ih_reader *src,
                                  const struct ih_decode_options *options, uint64_t decoded_bytes,
                                  struct ih_error *err);

/* Takes n_bytes more from the budget. If they are not available it returns its share before it
 * waits, so that two images never wait for each other. The file stays in memory meanwhile
 * (ih_budget_exchange). */
enum ih_status ih_whole_file_more(struct ih_whole_file *h, uint64_t n_bytes, struct ih_error *err);

/* Allocates pixels, all 0. The caller has taken their bytes from the budget. */
enum ih_status ih_whole_file_image(struct ih_whole_file *h, uint64_t width, uint64_t height,
                                   unsigned n_channels, struct ih_error *err);

/* Frees the file. Its bytes stay taken from the budget until ih_whole_file_close. */
void ih_whole_file_free_bytes(struct ih_whole_file *h);

/* Implements a decoder's read: copies the next pixels and returns their number. */
size_t ih_whole_file_read(struct ih_whole_file *h, uint8_t *pixels, size_t capacity_pixels);

void ih_whole_file_close(struct ih_whole_file *h);

#endif
