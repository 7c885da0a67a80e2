/*
 * The bytes of a PNG file held in memory, and the one reader of its chunks beside libpng's.
 *
 * The fast path reads by stricter rules than libpng's: a file that its calls accept, libpng accepts
 * too, as the same image. They judge no other file: false means only that libpng has to decide.
 */
#ifndef IH_DECODE_PNG_CHUNKS_H
#define IH_DECODE_PNG_CHUNKS_H

#include "base/budget.h"
#include "base/reader.h"
#include "decode/metadata.h"
#include "decode/png/image.h"

/* ---- the bytes ---- */

/*
 * What has been read of the file so far. The fast path may give up at any point; libpng then reads
 * these bytes first and goes on with the reader, which need not be seekable.
 *
 * All zero but for the first three: nothing is held.
 */
struct ih_png_file {
    struct ih_reader *src;    /* borrowed */
    struct ih_budget *budget; /* borrowed, may be NULL; the capacity is taken from it */
    size_t size_max;          /* hold no more than this */
    uint8_t *bytes;           /* owned */
    size_t size, capacity;
    size_t position;                     /* of ih_png_file_read */
    struct ih_sample_range sample_range; /* only the streaming path applies it */
    bool takes_native, takes_indices;
};

/* Reads on until `end` bytes are held. False: the input ends before, reading failed, or size_max or
 * the budget is too small. Bytes read before that stay held. */
bool ih_png_file_fill(struct ih_png_file *f, size_t end);

/* Copies the next bytes to dst: first the held ones, which are released after the last of them,
 * then the reader's. Same contract as ih_reader_read. */
enum ih_status ih_png_file_read(struct ih_png_file *f, void *dst, size_t size_bytes, size_t *got,
                                struct ih_error *err);

/* Frees the held bytes and returns them to the budget. May be called again. */
void ih_png_file_release(struct ih_png_file *f);

/* ---- the chunks ---- */

enum {
    IH_PNG_SIGNATURE_BYTES = 8,
    IH_PNG_CHUNK_HEAD_BYTES = 8, /* length and name */
    IH_PNG_CRC_BYTES = 4
};

struct ih_png_chunk {
    char name[5];
    uint32_t length;     /* of data */
    const uint8_t *data; /* borrowed */
    size_t size_bytes;   /* with head and CRC */
};

/* Reads the head of a chunk. False: it is longer than the format allows. */
bool ih_png_read_head(const uint8_t head[IH_PNG_CHUNK_HEAD_BYTES], struct ih_png_chunk *chunk);

bool ih_png_is_named(const struct ih_png_chunk *chunk, const char *name);

struct ih_png_chunks {
    struct ih_png_file *file; /* borrowed */
    struct ih_png_image image;
    size_t data_at;    /* offset of the first IDAT chunk's data in the held bytes */
    size_t data_bytes; /* of all IDAT chunks together */
    uint32_t *lengths; /* owned; of the IDAT chunks */
    size_t n_lengths, n_lengths_max;
    struct ih_png_notes notes; /* complete after ih_png_read_back */
    bool is_joined;
    bool is_followed; /* by another image */
};

enum { IH_PNG_HEADER_BYTES = 33 }; /* signature and IHDR */

/* Fills in the image from signature and IHDR. False: leave the file to libpng (interlaced,
 * damaged). */
bool ih_png_parse_header(const uint8_t bytes[IH_PNG_HEADER_BYTES], struct ih_png_image *image);

/* Reads up to the first IDAT chunk; c->image is final then. c->file is set, all else zero. */
bool ih_png_read_front(struct ih_png_chunks *c);

/* Reads the rest, up to IEND. After ih_png_read_front. */
bool ih_png_read_back(struct ih_png_chunks *c);

/* Moves the data of the IDAT chunks together, to data_at. After ih_png_read_back. */
void ih_png_join(struct ih_png_chunks *c);

/* Undoes ih_png_join: the held bytes are the file's again. */
void ih_png_unjoin(struct ih_png_chunks *c);

/* Frees what c owns. May be called again. */
void ih_png_chunks_release(struct ih_png_chunks *c);

/* ---- libdeflate ---- */

/* False: this build lacks libdeflate, and the calls below and above must not be made. */
bool ih_png_has_libdeflate(void);

/* Deflate codes at most 258 bytes in 2 bits, so no stream inflates to more than this many times its
 * size. */
enum { IH_PNG_INFLATE_RATIO_MAX = 1032 };

/* Inflates a zlib stream of exactly stream_bytes to exactly out_bytes, and checks its Adler-32.
 * False in all other cases, or when memory is short; out is then undefined. */
bool ih_png_inflate(const uint8_t *stream, size_t stream_bytes, uint8_t *out, size_t out_bytes);

#endif
