/*
 * The two ways to decode a PNG; dec_png.c says which file takes which. Calls named _read have the
 * contract of a decoder's read.
 */
#ifndef IH_DECODE_PNG_PATHS_H
#define IH_DECODE_PNG_PATHS_H

#include "decode/decoder.h"
#include "decode/png/chunks.h"

/* ---- the fast path: file and inflated rows in memory (fast.c) ---- */

struct ih_png_fast;

/*
 * Reads up to the first IDAT chunk.
 *
 * file   nothing held, its reader and budget set; borrowed until close
 * info   filled but for the format, and by load; borrowed until close
 *
 * Returns the image, owned by the caller, or NULL: take the streaming path.
 */
struct ih_png_fast *ih_png_fast_open(struct ih_png_file *file,
                                     const struct ih_decode_options *options,
                                     struct ih_image_info *info);

/* Reads the rest, checks all of it and inflates it; the file's bytes are released. Call it once,
 * before the first read. False: take the streaming path; the file's bytes are as they were read. */
bool ih_png_fast_load(struct ih_png_fast *p);

enum ih_status ih_png_fast_read(struct ih_png_fast *p, uint8_t *pixels, size_t capacity_pixels,
                                size_t *n_pixels, struct ih_error *err);

void ih_png_fast_close(struct ih_png_fast *p); /* NULL is allowed */

/* ---- the streaming path: libpng, row by row (stream.c) ---- */

struct ih_png_stream;

/*
 * Reads the header.
 *
 * file      bytes read so far and the reader; borrowed until close
 * info      filled but for the format, and after the last read; borrowed until close
 * *stream   owned by the caller; untouched on failure
 */
enum ih_status ih_png_stream_open(struct ih_png_file *file, struct ih_image_info *info,
                                  struct ih_png_stream **stream, struct ih_error *err);

enum ih_status ih_png_stream_read(struct ih_png_stream *s, uint8_t *pixels, size_t capacity_pixels,
                                  size_t *n_pixels, struct ih_error *err);

void ih_png_stream_close(struct ih_png_stream *s); /* NULL is allowed */

#endif
