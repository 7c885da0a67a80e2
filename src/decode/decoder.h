/*
 * Decoders turn the bytes of an input into stripes of 8-bit pixels.
 *
 * Each format is one vtable in one file plus a line in decoders.def. Callers use the ih_decode_
 * functions. These choose the decoder by the file's content, apply the same limits to every format
 * before memory is allocated, and check that exactly width * height pixels came out.
 *
 * A histogram does not depend on the position of a pixel, so a decoder returns pixels in whatever
 * order is cheapest, and states it in info. For example, an interlaced PNG is returned pass by pass
 * and never assembled.
 */
#ifndef IH_DECODE_DECODER_H
#define IH_DECODE_DECODER_H

#include "base/budget.h"
#include "base/reader.h"
#include "histogram/result.h"

struct ih_remote_decoder;

/* Of headerless samples: bits, signed (S) or float (F, BF), and the byte order of more than 8. */
enum ih_raw_depth {
    IH_RAW_8,
    IH_RAW_16LE,
    IH_RAW_16BE,
    IH_RAW_8S,
    IH_RAW_16SLE,
    IH_RAW_16SBE,
    IH_RAW_F16LE,
    IH_RAW_F16BE,
    IH_RAW_BF16LE,
    IH_RAW_BF16BE,
    IH_RAW_F32LE,
    IH_RAW_F32BE,
    IH_RAW_DEPTHS
};

/* What the dimensions of an array are, from the first on: N images, height, width, channels. */
enum ih_axes {
    IH_AXES_AUTO, /* HW, or HWC with up to 4 channels */
    IH_AXES_HWC,
    IH_AXES_CHW,
    IH_AXES_NHW,
    IH_AXES_NHWC,
    IH_AXES_NCHW,
    IH_AXES_END
};
extern const char *const ih_axes_letters[IH_AXES_END]; /* "auto", "HWC" and so on */

struct ih_decode_options {
    uint64_t max_pixels;   /* larger images fail with IH_LIMIT */
    unsigned raw_channels; /* 0: detect the format; 1 to 4: headerless interleaved samples */

    /* Seconds of reading and decoding; images that take longer fail with IH_LIMIT. Waits for pipes
     * and for the budget do not count. 0: no limit. */
    unsigned timeout_s;
    const struct ih_interrupt *interrupt; /* borrowed; the image fails with IH_LIMIT; NULL: none */

    /* Borrowed, shared by all workers. Limits the memory of files and images that decoders
     * hold in memory. NULL: no limit. */
    struct ih_budget *budget;

    /* Borrowed, shared by all workers: the number of idle cores. A decoder may take some while it
     * works on an image. NULL: none. */
    atomic_uint *n_idle_cores;

    /* A progressive JPEG of at least this many pixels has all its scans decoded at once. 0:
     * IH_ALL_SCANS_FROM_PIXELS. */
    uint64_t all_scans_from_pixels;

    /* An image that could be read in stripes is held in memory instead if that is faster and takes
     * at most this many bytes. 0: IH_HELD_BYTES_MAX; 1: never. */
    uint64_t whole_file_bytes_max;

    enum ih_raw_depth raw_depth;
    uint64_t raw_width, raw_height; /* of an image of raw samples; 0: all samples are one row */
    bool takes_frames;              /* ih_decode_next will be called */
    bool is_icon; /* of BMP: no file header, twice the height, and alpha in pixels of 32 bits */

    struct ih_sample_range sample_range; /* of images whose source_depth is 16 */

    /* Samples of 9 to 16 bits become uint16 samples in the byte order of this machine, not 8-bit
     * ones, and info.n_bins their number of values. */
    bool takes_native;

    /* With a value of the run, or one that the file states, samples of 9 to 16 bits are native ones
     * without a range, whatever takes_native and sample_range say: what counts them reduces them.
     */
    struct ih_nodata nodata;

    enum ih_axes axes; /* of NPY */

    bool takes_indices; /* PNG: a palette image is gray, of the indices as they are */
    /* Of camera raw files, one or none: */
    bool takes_raw_previews; /* decode the JPEG preview */
    bool takes_raw_sensors;  /* decode the sensor's values, which always are native */

    /* Accept irregular files whose pixels are certain, with a warning (docs/formats.md). */
    bool is_lenient;

    struct ih_remote_decoder *remote; /* borrowed, the worker's own; NULL: decode in this process */
    bool isolates_all; /* send every format to remote, not only those with is_isolated */
};

/* More than any camera or scanner stores in one image. */
#define IH_MAX_PIXELS_DEFAULT (UINT64_C(4) << 30)

/* The coefficients of smaller images fit into the cache, so one scan after another is as fast. */
#define IH_ALL_SCANS_FROM_PIXELS ((uint64_t)1 << 18)

/* Enough for 20 megapixels of RGBA; two workers stay well below 300 MB. */
#define IH_HELD_BYTES_MAX ((uint64_t)120 << 20)

struct ih_decoder {
    const char *name;  /* "png"; also the format in results */
    const char *title; /* shown by --list: "PNG, every colour type, depth and interlacing" */

    const char *version; /* the decoding library and its version, "libpng 1.6.39" */

    /* Decoded by options.remote, if the caller provides one: the library that decodes has a history
     * of security bugs. */
    bool is_isolated;
    bool lacks_signature; /* its probe accepts some files of other kinds */
    bool ends_exactly;    /* no file has other data after the image */
    bool is_sequential;   /* leaves the reader after its last byte, although it has next */

    /* Loads what the format's library would otherwise load on first use; may be NULL. A decoder
     * process calls it before it gives up the right to open files. After a failure it decodes
     * nothing, because a later load could only fail with a misleading reason. */
    enum ih_status (*prepare)(struct ih_error *err);

    /* Returns true if a file that starts with these bytes is of this format. NULL for raw, which is
     * never detected. head has IH_PROBE_BYTES bytes, or fewer if the file is shorter. */
    bool (*probe)(const uint8_t *head, size_t size_bytes);

    /*
     * Reads the header. Allocates nothing that grows with the size that the header claims. A
     * format that cannot be read in stripes may read the file into memory, after its size has
     * passed ih_decode_check_pixels.
     *
     * src      borrowed until close
     * info     every field is set except format; borrowed until close, because warnings are
     *          complete only after the last read; width is 0 if only the end of the input tells the
     *          size (raw). The caller owns band_names, also after a failure
     * state    state_bytes bytes, all 0; close is called after a failure too
     */
    enum ih_status (*open)(struct ih_reader *src, const struct ih_decode_options *options,
                           struct ih_image_info *info, void *state, struct ih_error *err);
    size_t state_bytes; /* at least 1 */

    /*
     * Writes the next pixels: at least one, unless the image is complete.
     *
     * pixels      [capacity][n_channels], samples of info.type in the byte order of this machine;
     *             capacity is at least one row of the image
     * *n_pixels   the number written; 0: the image is complete and no damage was found
     */
    enum ih_status (*read)(void *state, uint8_t *pixels, size_t capacity_pixels, size_t *n_pixels,
                           struct ih_error *err);

    /*
     * Another way to read an image: YCbCr planes as a JPEG stores them. Both functions are NULL in
     * a decoder that has no planes.
     *
     * planes_bytes   the smallest buffer that read_planes accepts; 0: this image has no planes
     */
    size_t (*planes_bytes)(void *state);
    /* Same contract as read. planes points into the buffer; n_rows is 0 after the last row. */
    enum ih_status (*read_planes)(void *state, uint8_t *buffer, size_t size_bytes,
                                  struct ih_planes *planes, struct ih_error *err);

    /*
     * Goes on to the next image of the file, after read has returned 0 pixels and only with
     * options.takes_frames. NULL: a file has one image. Another file may follow a file if this is
     * NULL or ends_exactly is set.
     *
     * info        of open: updated where this image differs from the one before
     * *has_next   true: read returns its pixels; false: there are no more images
     */
    enum ih_status (*next)(void *state, struct ih_image_info *info, bool *has_next,
                           struct ih_error *err);

    /* Releases what the state owns; NULL: it owns nothing. */
    void (*close)(void *state);
};

static inline bool ih_decoder_may_be_followed(const struct ih_decoder *decoder)
{
    return !decoder->next || decoder->ends_exactly || decoder->is_sequential;
}

enum { IH_PROBE_BYTES = 64 };

/* OPTIONAL_DECODER(name, library) becomes DECODER(name) if IH_WITH_name is defined as 1, and
 * DECODER_MISSING(name, library) if it is not defined. IH_IS_ONE yields 1 or 0: only a macro that
 * is 1 expands to IH_COMMA_1, whose comma moves the 1 to the second place. */
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
extern const struct ih_decoder ih_decoder_raw; /* not in the list, because it is never detected */

/* All decoders of this build, in probing order; the last entry is NULL. */
extern const struct ih_decoder *const ih_decoders[];

/* Formats whose library was missing when imghist was built; the last entry has a NULL name. */
struct ih_decoder_missing {
    const char *name, *library;
    bool (*probe)(const uint8_t *head, size_t size_bytes);
};

extern const struct ih_decoder_missing ih_decoders_missing[];

/* The probes of the optional formats. Every build has them, so that a build without a format can
 * name the library that is missing. */
bool ih_probe_webp(const uint8_t *head, size_t size_bytes);
bool ih_probe_tiff(const uint8_t *head, size_t size_bytes);
bool ih_probe_gif(const uint8_t *head, size_t size_bytes);
bool ih_probe_heif(const uint8_t *head, size_t size_bytes);
bool ih_probe_jxl(const uint8_t *head, size_t size_bytes);
bool ih_probe_jp2(const uint8_t *head, size_t size_bytes);
bool ih_probe_fits(const uint8_t *head, size_t size_bytes);
bool ih_probe_exr(const uint8_t *head, size_t size_bytes);
/* Always false: chosen on request. */
bool ih_probe_preview(const uint8_t *head, size_t size_bytes);
bool ih_probe_sensor(const uint8_t *head, size_t size_bytes);

/*
 * Decodes outside this process: in a sandbox, for formats whose library is not trusted. The caller
 * of the decoders provides it. It serves one worker, one image at a time. open, read, next and
 * close are those of struct ih_decoder. next also goes on to a file that follows in src.
 *
 * index   of the decoder in ih_decoders
 * src     an open file of which at most a buffer has been read
 * info    of open; stays valid until close, because read adds warnings to it
 */
struct ih_remote_decoder {
    enum ih_status (*open)(struct ih_remote_decoder *remote, unsigned index, struct ih_reader *src,
                           const struct ih_decode_options *options, struct ih_image_info *info,
                           struct ih_error *err);
    enum ih_status (*read)(struct ih_remote_decoder *remote, uint8_t *pixels,
                           size_t capacity_pixels, size_t *n_pixels, struct ih_error *err);
    enum ih_status (*next)(struct ih_remote_decoder *remote, bool *has_next, struct ih_error *err);
    void (*close)(struct ih_remote_decoder *remote); /* also ends an unfinished image */
};

/* Makes one for each worker. */
struct ih_remote_decoders {
    struct ih_remote_decoder *(*make)(const void *user); /* owned by the caller; NULL: no memory */
    void (*destroy)(struct ih_remote_decoder *remote);   /* NULL is allowed */
    const void *user;
};

/* ---- for decoders ---- */

/* The version of a decoder that uses no library. */
#define IH_DECODER_OWN_VERSION "imghist " IH_VERSION

/* Makes a decoder's state and opens it. *state is released with ih_decoder_close; unchanged on
 * failure. */
enum ih_status ih_decoder_open(const struct ih_decoder *decoder, struct ih_reader *src,
                               const struct ih_decode_options *options, struct ih_image_info *info,
                               void **state, struct ih_error *err);

void ih_decoder_close(const struct ih_decoder *decoder, void *state); /* state may be NULL */

/* ---- for callers ---- */

/* An image that is being decoded. Callers only read the fields. */
struct ih_decode {
    const struct ih_decoder *decoder;
    struct ih_remote_decoder *remote; /* borrowed; not NULL: it decodes, and state is NULL */
    void *state;
    struct ih_reader *src; /* borrowed; has the time limit */
    struct ih_image_info info;
    uint64_t n_pixels_read;
    uint64_t max_pixels;
    bool is_sequence; /* of ih_decode_split */
};

/*
 * Chooses the decoder, reads the header and applies the limits.
 *
 * d     initialised; close it with ih_decode_close if, and only if, this returns IH_OK
 * src   open, borrowed until ih_decode_close
 *
 * Returns IH_OK; IH_UNKNOWN if no decoder recognises the file; or the error of reading the header:
 * IH_CORRUPT, IH_UNSUPPORTED, IH_LIMIT, IH_IO, IH_MEMORY.
 * Threads: one at a time for each ih_decode.
 */
enum ih_status ih_decode_open(struct ih_decode *d, struct ih_reader *src,
                              const struct ih_decode_options *options, struct ih_error *err);

/* Whether a file that begins with these bytes is of a format that this build, or another, decodes.
 * head has IH_PROBE_BYTES bytes or more, or fewer if the file is shorter. */
bool ih_decode_is_image(const uint8_t *head, size_t size_bytes);

/* The same, but only formats of this build whose files a signature tells from all others. */
bool ih_decode_has_signature(const uint8_t *head, size_t size_bytes);

/* Returns IH_LIMIT if the image has more than max_pixels, else IH_OK. ih_decode_open checks this
 * after open; a decoder that allocates by the size of the image in open checks it first. */
enum ih_status ih_decode_check_pixels(uint64_t width, uint64_t height, uint64_t max_pixels,
                                      struct ih_error *err);

/* The smallest capacity that ih_decode_read accepts, in bytes: one row of decoded samples. */
size_t ih_decode_row_bytes(const struct ih_decode *d);

/* Same contract as the decoder's read. After 0 pixels info.width and info.height are final, and
 * exactly width * height pixels have been returned. */
enum ih_status ih_decode_read(struct ih_decode *d, uint8_t *pixels, size_t capacity_pixels,
                              size_t *n_pixels, struct ih_error *err);

/* Same contract as the decoder's planes_bytes and read_planes. The size is also 0 if the decoder
 * has no planes or is remote. An image is read either as pixels or as planes. */
size_t ih_decode_planes_bytes(const struct ih_decode *d);
enum ih_status ih_decode_read_planes(struct ih_decode *d, uint8_t *buffer, size_t size_bytes,
                                     struct ih_planes *planes, struct ih_error *err);

/* Whether another image begins where the decoder stopped, after its last pixel: on a stream, images
 * may follow each other. Always false with a decoder process. */
bool ih_decode_has_next(struct ih_decode *decode);

/*
 * Goes on to the next image of the input: of the file, or a file that follows it. Call it after 0
 * pixels and with options.takes_frames.
 *
 * options     those of ih_decode_open
 * *has_next   true: d is at the start of the image; false: there are no more images
 *
 * Returns as ih_decode_open. Close d in every case.
 */
enum ih_status ih_decode_next(struct ih_decode *d, const struct ih_decode_options *options,
                              bool *has_next, struct ih_error *err);

/* Makes the unread bytes an image that others may follow. Returns whether all that follows must be
 * images, because the input is a pipe or has given an image already. */
bool ih_decode_split(struct ih_reader *src);

/*
 * Finds the image that follows in src, of a format with a signature. Consumes what is before it:
 * the rest of a PNG, and padding with white space or NUL bytes.
 *
 * before        the decoder of the image before
 * is_sequence   of ih_decode_split
 * *next         its decoder; NULL: no image follows
 *
 * Returns IH_OK; IH_CORRUPT if other bytes follow where only an image may; or IH_IO.
 */
enum ih_status ih_decode_following(struct ih_reader *src, const struct ih_decoder *before,
                                   bool is_sequence, const struct ih_decoder **next,
                                   struct ih_error *err);

void ih_decode_close(struct ih_decode *d);

#endif
