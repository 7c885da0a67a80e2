/*
 * PNG through libpng, row by row: any PNG, in little memory; and the judge of damaged ones.
 */
#ifndef IH_DECODE_PNG_STREAM_H
#define IH_DECODE_PNG_STREAM_H

#include "counts/result.h"
#include "decode/png/held.h"

struct ih_png_stream;

/*
 * Reads the header.
 *
 * held      what has been read of the file and its source; borrowed until close
 * info      filled but for the format
 * *stream   owned by the caller; untouched on failure
 */
enum ih_status ih_png_stream_open(struct ih_png_held *held, struct ih_image_info *info,
                                  struct ih_png_stream **stream, struct ih_error *err);

/* A decoder's read. */
enum ih_status ih_png_stream_read(struct ih_png_stream *s, uint8_t *pixels, size_t capacity_pixels,
                                  size_t *n_pixels, struct ih_error *err);

void ih_png_stream_close(struct ih_png_stream *s);

#endif
