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
#include "base/source.h"
#include "counts/result.h"

#include <stdatomic.h>

struct ih_remote_decoder;

struct ih_decode_options {
    uint64_t max_pixels;      /* images with more are IH_LIMIT */
    unsigned raw_channels;    /* 0: told by content; 1 to 4: headerless interleaved samples */
    struct ih_budget *budget; /* borrowed, shared; NULL: no limit. Of what images held whole take */
    /* Borrowed, shared: processors that nobody uses, of which an image may take some for a while;
     * NULL: none. */
    atomic_uint *n_idle_cores;
    /* A progressive JPEG of this size is decoded with all scans at once; 0:
     * IH_ALL_SCANS_FROM_PIXELS. */
    uint64_t all_scans_from_pixels;

    /* An image that could be read in bands is held whole, where that is faster, as long as that
     * takes no more than this; 0: IH_WHOLE_BYTES_MAX; 1: never. */
    uint64_t whole_bytes_max;

    struct ih_remote_decoder *remote; /* borrowed, the worker's own; NULL: decode in this process */
    bool isolates_all; /* send every format to remote, not only those with is_isolated */
};

/* Where nothing else is said: more than any camera or scanner makes in one image. */
#define IH_MAX_PIXELS_DEFAULT (UINT64_C(4) << 30)

/* Below it the coefficients of the whole image are in the cache, too. */
#define IH_ALL_SCANS_FROM_PIXELS ((uint64_t)1 << 18)

/* With it 20 megapixels of RGB or RGBA are held whole, and two workers stay well below 300 MB. */
#define IH_WHOLE_BYTES_MAX ((uint64_t)120 << 20)

struct ih_decoder {
    const char *name;  /* "png"; also the format in results */
    const char *title; /* for people: "PNG, all colour types, depths and interlacing" */

    /* Static text: library and version that decodes, "libpng 1.6.39". */
    const char *(*version)(void);

    /* Decoded by options.remote if that is not NULL: the library that decodes has a history of
     * security bugs. */
    bool is_isolated;

    /* NULL, or loads what the library would load on first use: called in a decoder process before
     * it gives up the right to open files. Where that fails nothing can be decoded: later the
     * loader would have another reason. */
    enum ih_status (*prepare)(struct ih_error *err);

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

    /*
     * Both NULL, or another way to read an image, from its start to its end: as a JPEG stores it.
     *
     * planes_bytes   the least size that read_planes needs; 0: not this image
     */
    size_t (*planes_bytes)(void *state);
    /* As read. planes: filled, pointing into the buffer; n_rows is 0 where read gives 0 pixels. */
    enum ih_status (*read_planes)(void *state, uint8_t *buffer, size_t size_bytes,
                                  struct ih_planes *planes, struct ih_error *err);

    void (*close)(void *state);
};

enum { IH_PROBE_BYTES = 64 };

/* OPTIONAL_DECODER(name, library) is DECODER(name) or DECODER_MISSING(name, library). IH_IS_ONE
 * tells a macro that is 1 from one that is not defined: only the former makes the comma before
 * the 1. */
#define IH_COMMA_1 0,
#define IH_SECOND(first, second, ...) second
#define IH_SECOND_OF(...) IH_SECOND(__VA_ARGS__)
#define IH_JOIN(a, b) a##b
#define IH_JOINED(a, b) IH_JOIN(a, b)
#define IH_IS_ONE(macro) IH_SECOND_OF(IH_JOINED(IH_COMMA_, macro) 1, 0, 0)
#define IH_DECODER_IF_1(name, library) DECODER(name)
#define IH_DECODER_IF_0(name, library) DECODER_MISSING(name, library)
#define OPTIONAL_DECODER(name, library) \
    IH_JOINED(IH_DECODER_IF_, IH_IS_ONE(IH_JOIN(IH_WITH_, name)))(name, library)

#define DECODER(name) extern const struct ih_decoder ih_decoder_##name;
#define DECODER_MISSING(name, library)
#include "decode/decoders.def"
#undef DECODER
#undef DECODER_MISSING
extern const struct ih_decoder ih_decoder_raw; /* not in the list: asked for, never probed */

/* All decoders of this build, in probing order, NULL at the end. */
extern const struct ih_decoder *const ih_decoders[];

/* Formats whose library was not there when this was built; a NULL name at the end. */
struct ih_decoder_missing {
    const char *name, *library;
    bool (*probe)(const uint8_t *head, size_t size_bytes);
};

extern const struct ih_decoder_missing ih_decoders_missing[];

/*
 * Decodes outside this process: in a sandbox, for formats whose library is not trusted. The caller
 * of the decoders provides it. It serves one worker, one image at a time. open, read and close are
 * those of struct ih_decoder.
 *
 * index   of the decoder in ih_decoders
 * src     an open file of which at most a buffer has been read
 */
struct ih_remote_decoder {
    enum ih_status (*open)(struct ih_remote_decoder *remote, unsigned index, struct ih_source *src,
                           const struct ih_decode_options *options, struct ih_image_info *info,
                           struct ih_error *err);
    enum ih_status (*read)(struct ih_remote_decoder *remote, uint8_t *pixels,
                           size_t capacity_pixels, size_t *n_pixels, struct ih_error *err);
    void (*close)(struct ih_remote_decoder *remote); /* also ends an unfinished image */
};

/* Makes one for each worker. */
struct ih_remote_decoders {
    struct ih_remote_decoder *(*make)(const void *user); /* owned by the caller; NULL: no memory */
    void (*destroy)(struct ih_remote_decoder *remote);   /* NULL is allowed */
    const void *user;
};

/* An image being decoded. Fields are read-only for callers. */
struct ih_decode {
    const struct ih_decoder *decoder;
    struct ih_remote_decoder *remote; /* borrowed; not NULL: it decodes, and state is NULL */
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

/* The decoder's planes_bytes and read_planes; 0 too where it has none, or is remote. An
 * image is read one way or the other. */
size_t ih_decode_planes_bytes(const struct ih_decode *d);
enum ih_status ih_decode_read_planes(struct ih_decode *d, uint8_t *buffer, size_t size_bytes,
                                     struct ih_planes *planes, struct ih_error *err);

void ih_decode_close(struct ih_decode *d);

#endif
