/*
 * A progressive photo decoded by two processors, where one has nothing else to do: its scans are of
 * one component each, but for the first, so Y is decoded by one of them, Cb and Cr by the other.
 *
 * What is damaged is not judged here. Whatever is wrong in either half, the file is read once more
 * in the ordinary way, so that it fails as it does there. The same holds for a file that ends
 * before all bits of its coefficients have come, which the library smooths.
 */
#ifndef IH_DECODE_JPEG_HALF_H
#define IH_DECODE_JPEG_HALF_H

#include "decode/jpeg_reader.h"

/* What decodes Cb and Cr. */
struct ih_jpeg_half {
    struct ih_jpeg_reader reader;
    bool is_sound; /* fixed when its thread has ended */
};

/* Whether a file, whose header has been read, may be one for it. */
bool ih_jpeg_half_fits(const struct ih_jpeg_reader *whole, uint64_t from_pixels);

/*
 * again   the same file at its start; borrowed until close
 *
 * NULL where it is no longer the same picture, or memory is short: nothing has happened to whole.
 */
struct ih_jpeg_half *ih_jpeg_half_open(const struct ih_jpeg_reader *whole, struct ih_source *again);

/*
 * Decodes all scans, those of Cb and Cr in a thread. Both decompressors are started then, with
 * raw_data_out: whole for the rows of Y, the half's for those of Cb and Cr. Its errors are whole's
 * from then on. False: something is wrong, and both are of no more use.
 */
bool ih_jpeg_half_decode(struct ih_jpeg_half *half, struct ih_jpeg_reader *whole);

void ih_jpeg_half_close(struct ih_jpeg_half *half); /* NULL is allowed */

#endif
