/*
 * Decoders: from the bytes of an input to bands of 8-bit pixels.
 *
 * A format is one vtable in one file plus a line in decoders.def. Callers use the ih_decode_ calls,
 * which find the decoder by the file's content, hold every format to the same limits before any
 * memory is taken, and check that exactly width * height pixels came out.
 *
 * Counting does not care where in the image a pixel stands. So a decoder hands pixels out in the
 * order that costs it least: an interlaced PNG goes through pass by pass and is never put together.
 */
#ifndef IH_DECODE_DECODER_H
#define IH_DECODE_DECODER_H

#include "base/budget.h"
#include "base/result.h"
#include "base/source.h"

struct ih_decode_options {
    uint64_t max_pixels;      /* images with more are IH_LIMIT */
    unsigned raw_channels;    /* 0: told by content; 1 to 4: headerless interleaved samples */
    struct ih_budget *budget; /* borrowed, shared; NULL: no limit. Of what images held whole take */
};

struct ih_decoder {
    const char *name;  /* "png"; also the format in results */
    const char *title; /* for people: "PNG, all colour types, depths and interlacing" */

    /* Static text: library and version that decodes, "libpng 1.6.39". */
    const char *(*version)(void);

    /* True where the first bytes of a file are this format's. NULL for raw, which is never guessed.
     * head has up to IH_PROBE_BYTES, fewer only where the file ends. */
    bool (*probe)(const uint8_t *head, size_t size_bytes);

    /*
     * Reads the header: takes no memory that grows with the size it claims. A format that cannot be
     * read in bands may hold the file, once its size has passed ih_decode_check_pixels.
     *
     * src      borrowed until close
     * info     filled but for format; width is 0 where it is not known before the end (raw)
     * *state   owned by the caller, released with close; untouched on failure
     */
    enum ih_status (*open)(struct ih_source *src, const struct ih_decode_options *options,
                           struct ih_image_info *info, void **state, struct ih_error *err);

    /*
     * Writes the next pixels, at least one unless the image is complete.
     *
     * pixels     uint8 [capacity][n_channels]; capacity is at least one row of the image
     * *n_pixels  how many were written; 0: the image is complete and the file was sound to its end
     */
    enum ih_status (*read)(void *state, uint8_t *pixels, size_t capacity_pixels, size_t *n_pixels,
                           struct ih_error *err);

    void (*close)(void *state);
};

enum { IH_PROBE_BYTES = 64 };

#define DECODER(name) extern const struct ih_decoder ih_decoder_##name;
#include "decode/decoders.def"
#undef DECODER
extern const struct ih_decoder ih_decoder_raw; /* not in the list: asked for, never probed */

/* All decoders of this build, in probing order, NULL at the end. */
extern const struct ih_decoder *const ih_decoders[];

/* An image being decoded. Fields are read-only for callers. */
struct ih_decode {
    const struct ih_decoder *decoder;
    void *state;
    struct ih_image_info info;
    uint64_t n_pixels_read;
    uint64_t max_pixels;
};

/*
 * Finds the decoder, reads the header and applies the limits.
 *
 * d     filled; release with ih_decode_close only after IH_OK
 * src   open, borrowed until ih_decode_close
 *
 * Returns IH_OK, IH_UNKNOWN, or what reading the header gave: IH_CORRUPT, IH_UNSUPPORTED, IH_LIMIT,
 * IH_IO, IH_MEMORY.
 * Threads: one per ih_decode.
 */
enum ih_status ih_decode_open(struct ih_decode *d, struct ih_source *src,
                              const struct ih_decode_options *options, struct ih_error *err);

/* IH_OK, or IH_LIMIT with the message for an image of more than max_pixels. For decoders that must
 * read a whole file before ih_decode_open can look at what open says. */
enum ih_status ih_decode_check_pixels(uint64_t width, uint64_t height, uint64_t max_pixels,
                                      struct ih_error *err);

/* Least capacity that ih_decode_read needs, in bytes: one row of decoded samples. */
size_t ih_decode_row_bytes(const struct ih_decode *d);

/* The decoder's read, with the same contract. When it gives 0 pixels, info.width and height are
 * final and their product has been delivered. */
enum ih_status ih_decode_read(struct ih_decode *d, uint8_t *pixels, size_t capacity_pixels,
                              size_t *n_pixels, struct ih_error *err);

void ih_decode_close(struct ih_decode *d);

#endif
