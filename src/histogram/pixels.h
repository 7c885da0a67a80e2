/*
 * The pixels that decoders produce and backends count.
 *
 * A decoder produces samples of one type, interleaved; the layout says which channels a pixel has.
 * JPEG may instead produce YCbCr planes (struct ih_planes). Luma is one more plane of counts. It is
 * computed from each pixel and never stored; its index is IH_LUMA for every layout.
 */
#ifndef IH_HISTOGRAM_PIXELS_H
#define IH_HISTOGRAM_PIXELS_H

#include "histogram/sample_type.h"

#include <stdbool.h>

/*
 * Weights of R, G and B in the luma Y', in 1/65536. They sum to 65536, so white stays 255.
 * Source: ITU-R BT.709-6 item 3.2 and BT.601-7 section 2.5.1, rounded to 16 bits.
 */
struct ih_luma_weights {
    const char *name; /* static: "bt709" */
    uint32_t red, green, blue;
};

extern const struct ih_luma_weights ih_luma_bt709;
extern const struct ih_luma_weights ih_luma_bt601;
/* Luma is not counted. Where a kernel counts it all the same, it is green, and dropped. */
extern const struct ih_luma_weights ih_luma_none;

/* Returns NULL if the name is unknown. */
const struct ih_luma_weights *ih_luma_find(const char *name);

static inline uint8_t ih_luma(const struct ih_luma_weights *w, uint8_t r, uint8_t g, uint8_t b)
{
    return (uint8_t)((w->red * r + w->green * g + w->blue * b + 32768u) >> 16);
}

/* The same for native samples. The products and their sum stay below 2^32. Signed
 * samples are extended to 32 bits: the lower 16 bits of the result are signed luma. */
static inline uint16_t ih_luma_native(const struct ih_luma_weights *w, uint32_t r, uint32_t g,
                                      uint32_t b)
{
    return (uint16_t)((w->red * r + w->green * g + w->blue * b + 32768u) >> 16);
}

/* Which channels a pixel has: colours first, then further bands, alpha last. */
struct ih_layout {
    unsigned n_channels; /* 1 to IH_CHANNELS_MAX; 0: no image */
    unsigned n_colours;  /* 0: bands without colours; 1: gray; 3: red, green, blue */
    bool has_alpha;
};

/* Initializes the layout that most formats have: gray; gray, alpha; RGB; RGBA. n is evaluated more
 * than once. */
#define IH_LAYOUT(n)                                              \
    {                                                             \
        (n), (n) == 0 ? 0 : (n) < 3 ? 1 : 3, (n) == 2 || (n) == 4 \
    }

/* The same as a value; n: 0 to IH_PIXEL_CHANNELS_MAX. */
static inline struct ih_layout ih_layout_of(unsigned n)
{
    return (struct ih_layout)IH_LAYOUT(n);
}

/* Channels of the layouts of ih_layout_of, which all counters and kernels take. */
enum { IH_PIXEL_CHANNELS_MAX = 4 };

/* Whether it is such a layout. Others have bands: the CPU counts them, and no luma without red,
 * green and blue. */
static inline bool ih_layout_is_plain(struct ih_layout l)
{
    return l.n_channels <= IH_PIXEL_CHANNELS_MAX && l.n_colours > 0 &&
           l.n_channels == l.n_colours + l.has_alpha;
}

/* Whether an image has bands and no colours. */
static inline bool ih_layout_has_bands(struct ih_layout l)
{
    return l.n_channels > 0 && l.n_colours == 0;
}

/* The layout of an array: that of ih_layout_of, or bands if there are more channels. */
static inline struct ih_layout ih_layout_of_array(unsigned n)
{
    return n <= IH_PIXEL_CHANNELS_MAX ? ih_layout_of(n) : (struct ih_layout){n, 0, false};
}

static inline bool ih_layout_is_same(struct ih_layout a, struct ih_layout b)
{
    return a.n_channels == b.n_channels && a.n_colours == b.n_colours && a.has_alpha == b.has_alpha;
}

/* Whether an image can have this layout; a decoder process may send any. */
bool ih_layout_is_possible(const struct ih_layout *layout);

/* What to count. The same for every stripe of an image. */
struct ih_count_spec {
    struct ih_layout layout;
    enum ih_sample_type type;
    unsigned n_bins;                    /* of each plane; all samples are below it */
    const struct ih_luma_weights *luma; /* borrowed, static */
    uint16_t clip_low, clip_high;       /* low < high; values <= low and >= high are clipped */
};

/* Bytes of an interleaved pixel. */
static inline size_t ih_pixel_bytes(unsigned n_channels, enum ih_sample_type type)
{
    return (size_t)n_channels * ih_sample_bytes(type);
}

/*
 * Moves the pixels with alpha above 0 to the front and keeps their order.
 *
 * pixels   uint8 [n_pixels][n_channels], n_channels 2 or 4, alpha last
 *
 * Returns their number. The contents after them are undefined.
 */
size_t ih_pixels_drop_transparent(uint8_t *pixels, size_t n_pixels, unsigned n_channels);

/* The same for all layouts with alpha and all types of samples, which are no keys. */
size_t ih_samples_drop_transparent(uint8_t *pixels, size_t n_pixels, unsigned n_channels,
                                   enum ih_sample_type type);

/* Static name of a plane: "gray", "red", "green", "blue", "alpha", "luma", or "band4": its number
 * from 1. NULL if images of this layout have no such plane; IH_LUMA always exists. */
const char *ih_plane_name(struct ih_layout layout, unsigned plane);

enum {
    IH_PLANES_PADDING = 16,  /* readable bytes after each row of Cb and Cr */
    IH_PLANES_ALIGNMENT = 16 /* of planes, from the start of the buffer, and of rows */
};

/*
 * A stripe of an image as a JPEG file stores it: Y, and Cb and Cr of full or half width and height.
 * The backend scales the chroma up and converts to RGB with libjpeg-turbo's integers
 * (kernels/ycc.h).
 */
struct ih_planes {
    /* uint8 [rows][pitch], borrowed, in one buffer in the order Y, Cb, Cr. Y begins at row `row` of
     * the image, Cb and Cr at chroma row `chroma_row`. They hold every chroma row that the rows of
     * Y need. With halved height that is, for each row of Y, the chroma row it lies in and the
     * nearer neighbour of that row. */
    const uint8_t *planes[3];
    size_t pitch_bytes[3];
    size_t size_bytes;           /* of the buffer, from the first byte of Y */
    unsigned chroma_h, chroma_v; /* pixels per chroma sample: 1, 1; 2, 1; or 2, 2 */
    uint32_t width;              /* pixels; at least 5 if the chroma width is halved */
    uint32_t n_rows;             /* rows of Y to count */
    /* With halved height, `row` is 0 or odd. So is the first row after the stripe, unless the image
     * ends there. */
    uint32_t row, chroma_row;
    uint32_t height, n_chroma_rows; /* of the image */
};

/* Stores a * b in *out. Returns false if it does not fit. All sizes are computed with it. */
static inline bool ih_size_multiply(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

/* Adds the distance from the first to the last of n samples to *span. Returns false if that exceeds
 * any memory. */
static inline bool ih_size_add_span(uint64_t n, ptrdiff_t stride, size_t *span)
{
    const size_t step = stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride;
    size_t more = 0;
    if (n > SIZE_MAX || (n > 0 && !ih_size_multiply(step, (size_t)n - 1, &more)) ||
        more > PTRDIFF_MAX - *span)
        return false;
    *span += more;
    return true;
}

#endif
