/*
 * Batches for tests: random layouts in memory of exactly the bytes that their pixels span, and the
 * counts from a plain loop over images, rows, pixels and channels. Uses only imghist.h, and aborts
 * if memory runs out.
 */
#ifndef IH_TESTS_BATCH_CASES_H
#define IH_TESTS_BATCH_CASES_H

#include "tests/support/random.h"

#include <imghist.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_LIST_MAX = 150, CASE_CLIP_LOW = 3, CASE_CLIP_HIGH = 250 };

/* A batch and its memory. Addresses in the batch lie in bytes and labels. */
struct batch_case {
    struct ih_batch batch;
    struct ih_batch_image list[CASE_LIST_MAX];
    uint8_t *bytes, *labels;
    size_t n_bytes, n_labels_bytes;
};

enum case_layout {
    NHWC,
    NCHW,
    NHWC_GAPS,
    NCHW_GAPS,
    NHCW, /* a row of each channel in turn */
    WIDE_PIXELS,
    ROWS_UPWARDS,
    COLUMNS_LEFTWARDS,
    CHANNELS_BACKWARDS,
    SAME_CHANNELS, /* channel_stride 0 */
    N_LAYOUTS
};

static inline void *case_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        abort();
    return p;
}

/* The bytes that an image spans before and after its first sample. */
struct case_span {
    ptrdiff_t before, after;
};

static inline void case_widen(struct case_span *span, ptrdiff_t stride, uint32_t n)
{
    const ptrdiff_t far = n ? stride * (ptrdiff_t)(n - 1) : 0;
    if (far < 0)
        span->before -= far;
    else
        span->after += far;
}

/* Fills in the strides of an image. gap: bytes after rows and planes, for layouts that have them.
 */
static inline struct case_span case_lay_out(const struct ih_batch *b, struct ih_batch_image *image,
                                            enum case_layout layout, ptrdiff_t gap)
{
    const ptrdiff_t w = (ptrdiff_t)image->width, h = (ptrdiff_t)image->height;
    const ptrdiff_t c = (ptrdiff_t)b->n_channels, step = b->pixel_stride;
    image->row_stride = w * step;
    image->channel_stride = 1;
    switch (layout) {
    case NCHW:
        image->channel_stride = h * w;
        break;
    case NHWC_GAPS:
        image->row_stride += gap;
        break;
    case NCHW_GAPS:
        image->row_stride += gap;
        image->channel_stride = h * image->row_stride + gap;
        break;
    case NHCW:
        image->row_stride = w * c;
        image->channel_stride = w;
        break;
    case ROWS_UPWARDS:
        image->row_stride = -(image->row_stride + gap);
        break;
    case COLUMNS_LEFTWARDS:
        image->row_stride = -image->row_stride;
        break;
    case CHANNELS_BACKWARDS:
        image->channel_stride = -(h * w);
        break;
    case SAME_CHANNELS:
        image->channel_stride = 0;
        break;
    default:
        break;
    }
    struct case_span span = {0, 0};
    case_widen(&span, image->row_stride, image->height);
    case_widen(&span, step, image->width);
    case_widen(&span, image->channel_stride, b->n_channels);
    return span;
}

static inline ptrdiff_t case_pixel_stride(enum case_layout layout, unsigned n_channels,
                                          ptrdiff_t gap)
{
    const ptrdiff_t c = (ptrdiff_t)n_channels;
    switch (layout) {
    case NCHW:
    case NCHW_GAPS:
    case NHCW:
    case CHANNELS_BACKWARDS:
        return 1;
    case WIDE_PIXELS:
        return c + 1 + gap % 3;
    case COLUMNS_LEFTWARDS:
        return -c;
    default:
        return c;
    }
}

/* Places the images of a batch one after the other, `gap` bytes apart, and fills the memory. */
static inline void case_fill(struct batch_case *t, enum case_layout layout, ptrdiff_t gap,
                             unsigned lead, uint32_t *random)
{
    struct ih_batch *b = &t->batch;
    const size_t n = b->list ? b->n_images : 1;
    struct ih_batch_image *images = b->list ? t->list : &b->image;
    size_t at = lead, first[CASE_LIST_MAX], labels_at = 0, first_label[CASE_LIST_MAX];
    b->pixel_stride = case_pixel_stride(layout, b->n_channels, gap);
    for (size_t i = 0; i < n; i++) {
        const struct case_span span = case_lay_out(b, &images[i], layout, gap);
        const size_t bytes = (size_t)(span.before + span.after) + 1;
        images[i].labels_row_stride = (ptrdiff_t)images[i].width + gap % 4;
        const size_t labels = (size_t)images[i].labels_row_stride * images[i].height;
        const size_t each = b->list ? 1 : b->n_images;
        first[i] = at + (size_t)span.before;
        first_label[i] = labels_at;
        b->image_stride = (ptrdiff_t)bytes + (layout >= NHWC_GAPS ? gap : 0);
        b->labels_image_stride = random_next(random) % 2 ? (ptrdiff_t)labels : 0;
        at += each > 0 ? (size_t)b->image_stride * (each - 1) + bytes : bytes;
        labels_at += each * labels;
    }
    t->n_bytes = at;
    t->n_labels_bytes = labels_at;
    t->bytes = case_alloc(at);
    t->labels = case_alloc(labels_at);
    const uint32_t flat = random_next(random) % 4; /* all samples are clipped, or a few are */
    for (size_t i = 0; i < at; i++) {
        const uint32_t r = random_next(random);
        t->bytes[i] = flat == 0 ? 255 : r % 7 == 0 ? (uint8_t)(r >> 8 & 3) : (uint8_t)(r >> 16);
    }
    for (size_t i = 0; i < labels_at; i++)
        t->labels[i] = (uint8_t)(random_next(random) >> 8) % (uint8_t)(b->n_labels % 200 + 2);
    for (size_t i = 0; i < n; i++) {
        images[i].data = t->bytes + first[i];
        images[i].labels = b->n_labels > 0 ? t->labels + first_label[i] : NULL;
    }
}

/* Makes a random batch of at most about max_pixels pixels. The caller frees it with case_reset. */
static inline void case_make(struct batch_case *t, uint32_t max_pixels, uint32_t *random)
{
    static const unsigned labels[] = {0, 0, 0, 1, 2, 5, 60, 256};
    memset(t, 0, sizeof *t);
    struct ih_batch *b = &t->batch;
    const uint32_t side = random_next(random) % 3 == 0 ? 4 : random_next(random) % 2 ? 40 : 300;
    b->size_bytes = sizeof *b;
    b->n_channels = 1 + random_next(random) % 4;
    b->n_labels = labels[random_next(random) % 8];
    b->order = random_next(random) % 3 == 0 ? IH_ORDER_BGR : IH_ORDER_RGB;
    b->without_luma = random_next(random) % 4 == 0;
    b->n_threads = random_next(random) % 4;
    const uint32_t width = 1 + random_next(random) % side, height = 1 + random_next(random) % side;
    const uint32_t n_most = max_pixels / (width * height) + 1;
    b->n_images = random_next(random) % (n_most < CASE_LIST_MAX ? n_most : CASE_LIST_MAX);
    if (random_next(random) % 4 == 0)
        b->list = t->list;
    b->image.width = width;
    b->image.height = height;
    for (size_t i = 0; b->list && i < b->n_images; i++) {
        t->list[i].width = random_next(random) % (width + 1);
        t->list[i].height = random_next(random) % (height + 1);
    }
    const enum case_layout layout = (enum case_layout)(random_next(random) % N_LAYOUTS);
    case_fill(t, layout, (ptrdiff_t)(random_next(random) % 37), random_next(random) % 20, random);
}

static inline void case_reset(struct batch_case *t)
{
    free(t->bytes);
    free(t->labels);
}

/* ---- the judge ---- */

static inline struct ih_batch_image case_image(const struct ih_batch *b, size_t i)
{
    struct ih_batch_image image = b->list ? b->list[i] : b->image;
    if (!b->list) {
        image.data += (ptrdiff_t)i * b->image_stride;
        if (image.labels)
            image.labels += (ptrdiff_t)i * b->labels_image_stride;
    }
    return image;
}

/* Counts one pixel with bt709 and the clip limits of cases. value: red, green, blue, alpha. */
static inline void case_count_pixel(const struct ih_batch *b, const unsigned value[4],
                                    size_t n_planes, uint32_t *bins, uint64_t *sums)
{
    const unsigned n_colours = b->n_channels < 3 ? 1 : 3;
    unsigned n_low = 0, n_high = 0;
    for (unsigned c = 0; c < b->n_channels; c++) {
        bins[c * IH_BINS + value[c]]++;
        sums[c] += value[c];
    }
    if (n_planes > b->n_channels) {
        const unsigned luma =
            (13933u * value[0] + 46871u * value[1] + 4732u * value[2] + 32768u) >> 16;
        bins[b->n_channels * IH_BINS + luma]++;
        sums[b->n_channels] += luma;
    }
    for (unsigned c = 0; c < n_colours; c++) {
        n_low += value[c] <= CASE_CLIP_LOW;
        n_high += value[c] >= CASE_CLIP_HIGH;
    }
    sums[n_planes] += n_low > 0;
    sums[n_planes + 1] += n_high > 0;
    sums[n_planes + 2] += n_low == n_colours;
    sums[n_planes + 3] += n_high == n_colours;
}

/* bins and sums: as imghist.h says, zeroed by the caller. */
static inline void case_expect(const struct ih_batch *b, uint32_t *bins, uint64_t *sums)
{
    const size_t n_planes = b->n_channels + (b->n_channels >= 3 && !b->without_luma);
    const size_t n_labels = b->n_labels ? b->n_labels : 1;
    for (size_t i = 0; i < b->n_images; i++) {
        const struct ih_batch_image image = case_image(b, i);
        for (ptrdiff_t y = 0; y < (ptrdiff_t)image.height; y++)
            for (ptrdiff_t x = 0; x < (ptrdiff_t)image.width; x++) {
                const uint8_t *pixel = image.data + y * image.row_stride + x * b->pixel_stride;
                const size_t label =
                    b->n_labels ? image.labels[y * image.labels_row_stride + x] : 0;
                unsigned value[4] = {0};
                for (unsigned c = 0; c < b->n_channels; c++) {
                    const unsigned from =
                        b->order == IH_ORDER_BGR && b->n_channels > 2 && c < 3 ? 2 - c : c;
                    value[c] = pixel[(ptrdiff_t)from * image.channel_stride];
                }
                if (label < n_labels)
                    case_count_pixel(b, value, n_planes,
                                     bins + (i * n_labels + label) * n_planes * IH_BINS,
                                     sums + (i * n_labels + label) * (n_planes + IH_BATCH_CLIPS));
            }
    }
}

#endif
