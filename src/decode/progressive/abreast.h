/*
 * A progressive photo with all its scans abreast: each has a decompressor of its own, and they go
 * through the image together, one row of MCUs after the other. So only a few rows of coefficients
 * are held, in the cache, where decoding scan after scan holds those of the whole image and goes
 * through them ten times. And the scans are a pipeline: who has a processor to spare lets threads
 * run some of them ahead, as each needs of the one before it only the same rows.
 *
 * The rows are those of the ordinary way in every byte. What is damaged is not judged here: where
 * something is wrong, the file is read once more in the ordinary way, so that it fails as it does
 * there; the rows that have been given are the same ones. Files that end before all bits of their
 * coefficients have come, which the library smooths, are left to that from the start.
 *
 * The library's virtual arrays are taken over for it: what they give the decompressors are rows of
 * memory that all of them share (jdcoefct.c asks for a row of MCUs at a time).
 */
#ifndef IH_DECODE_PROGRESSIVE_ABREAST_H
#define IH_DECODE_PROGRESSIVE_ABREAST_H

#include "decode/progressive/reader.h"

#include <stdatomic.h>

struct ih_jpeg_abreast;

/* Whether a file, whose header has been read, may be one for it. */
bool ih_jpeg_abreast_fits(const struct jpeg_decompress_struct *header);

/*
 * header    of the same file
 * bytes     the file; borrowed until close
 * gives_raw raw_data_out
 * n_idle_cores   borrowed until close, or NULL: processors that nobody uses, of which it may take
 * some
 *
 * NULL: it cannot be done, or it is another picture than the header says.
 */
struct ih_jpeg_abreast *ih_jpeg_abreast_open(const struct jpeg_decompress_struct *header,
                                             const uint8_t *bytes, size_t size_bytes,
                                             bool gives_raw, atomic_uint *n_idle_cores);

/* What gives the rows: started, with the library's errors in on_error, and complete with
 * jpeg_finish_output and jpeg_finish_decompress. Threads: one. */
struct ih_jpeg_reader *ih_jpeg_abreast_output(struct ih_jpeg_abreast *a);

void ih_jpeg_abreast_close(struct ih_jpeg_abreast *a); /* NULL is allowed */

#endif
