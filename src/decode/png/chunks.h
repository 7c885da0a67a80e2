/*
 * A PNG's chunks, read into memory and held to stricter rules than libpng's.
 *
 * What these calls accept, libpng accepts, and takes to mean the same image. All else, damaged or
 * just unusual, is not judged here: they say "not for me", and libpng decides.
 */
#ifndef IH_DECODE_PNG_CHUNKS_H
#define IH_DECODE_PNG_CHUNKS_H

#include "decode/png/held.h"
#include "decode/png/image.h"

struct ih_png_chunks {
    struct ih_png_held *held; /* borrowed */
    struct ih_png_image image;
    size_t data_at;    /* where the first IDAT chunk's data begins in the held bytes */
    size_t data_bytes; /* of all IDAT chunks together */
    uint32_t *lengths; /* owned; of the IDAT chunks */
    size_t n_lengths, n_lengths_max;
    bool is_joined;
};

enum { IH_PNG_HEADER_BYTES = 33 }; /* signature and IHDR */

/* The image that the signature and IHDR tell of. False: not for me (interlaced, damaged). */
bool ih_png_parse_header(const uint8_t bytes[IH_PNG_HEADER_BYTES], struct ih_png_image *image);

/* Reads up to the first IDAT chunk; then c->image is final. c->held is set, the rest zero. */
bool ih_png_read_front(struct ih_png_chunks *c);

/* Reads the rest, up to IEND. After ih_png_read_front. */
bool ih_png_read_back(struct ih_png_chunks *c);

/* Moves the data of the IDAT chunks together, to data_at. After ih_png_read_back. */
void ih_png_join(struct ih_png_chunks *c);

/* Makes the held bytes the file's again. */
void ih_png_unjoin(struct ih_png_chunks *c);

/* Frees what c owns. May be called again. */
void ih_png_chunks_release(struct ih_png_chunks *c);

#endif
