/*
 * The fast path for PNG: the file and its inflated bytes in memory whole.
 *
 * It gives pixels only after the whole file has been found sound. Where anything is doubtful, too
 * large or not there, it says so, and the caller goes to libpng, which reads the same held bytes
 * again from the start.
 */
#ifndef IH_DECODE_PNG_WHOLE_H
#define IH_DECODE_PNG_WHOLE_H

#include "decode/decoder.h"
#include "decode/png/held.h"

struct ih_png_whole;

/*
 * Reads up to the first IDAT chunk.
 *
 * held   empty, but with its source and budget; borrowed until close
 * info   filled but for the format
 *
 * Returns the image, owned by the caller, or NULL: not for this path.
 */
struct ih_png_whole *ih_png_whole_open(struct ih_png_held *held,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info);

/*
 * Reads the rest, checks all of it, and inflates; held is released. To be called once, before the
 * first read. False: not for this path; held is as if nobody had touched its bytes.
 */
bool ih_png_whole_load(struct ih_png_whole *w);

/* A decoder's read. */
enum ih_status ih_png_whole_read(struct ih_png_whole *w, uint8_t *pixels, size_t capacity_pixels,
                                 size_t *n_pixels, struct ih_error *err);

void ih_png_whole_close(struct ih_png_whole *w);

#endif
