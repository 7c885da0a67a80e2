/*
 * The pixels of an array, counted apart for each label.
 *
 * The samples are sorted by label into one copy, a pixel after the other. Then each label is an
 * array of one row, so all that arrays have holds for labels too: 16 bits, ranges, floats, masks.
 */
#include "library/library.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sorted {
    uint64_t *ends;    /* owned: [IH_LABELS_MAX + 1]; of label i the pixels from ends[i - 1] on */
    uint8_t *samples;  /* owned: [n_pixels][n_channels] */
    uint8_t *mask;     /* owned: uint8 [n_pixels][n_channels]; NULL: none */
    uint64_t n_labels; /* that occur and are counted */
};

static unsigned label_at(const struct ih_labels *l, uint64_t x, uint64_t y)
{
    const uint8_t *const at = (const uint8_t *)l->data + (ptrdiff_t)y * l->row_stride_bytes +
                              (ptrdiff_t)x * l->pixel_stride_bytes;
    uint16_t label;
    if (l->depth == 8)
        return *at;
    memcpy(&label, at, sizeof label);
    return label;
}

static enum ih_status check_labels(struct ih_labels *l, const struct ih_array *array,
                                   struct ih_error *err)
{
    size_t span_bytes = 2;
    l->depth = l->depth ? l->depth : 8;
    if (l->depth != 8 && l->depth != 16)
        return ih_error_set(err, IH_USAGE, "labels: depth %u, must be 8 or 16", l->depth);
    if (l->has_ignored > 1 || l->ignored >= IH_LABELS_MAX)
        return ih_error_set(err, IH_USAGE, "labels: ignored %u, must be 0 to %d", l->ignored,
                            IH_LABELS_MAX - 1);
    if (!l->data && array->width > 0 && array->height > 0)
        return ih_error_set(err, IH_USAGE, "labels: data is NULL");
    return ih_size_add_span(array->width, l->pixel_stride_bytes, &span_bytes) &&
                   ih_size_add_span(array->height, l->row_stride_bytes, &span_bytes)
               ? IH_OK
               : ih_error_set(err, IH_USAGE, "labels: larger than any memory");
}

/* Copies the samples of a pixel, and of its mask, to the place n. */
static void put_pixel(struct sorted *s, const struct ih_array *a, uint64_t x, uint64_t y,
                      uint64_t n)
{
    const size_t sample_bytes = a->depth / 8;
    const ptrdiff_t row = (ptrdiff_t)y, column = (ptrdiff_t)x;
    const uint8_t *from =
        (const uint8_t *)a->data + row * a->row_stride_bytes + column * a->pixel_stride_bytes;
    uint8_t *to = s->samples + n * a->n_channels * sample_bytes;
    for (unsigned c = 0; c < a->n_channels;
         c++, to += sample_bytes, from += a->channel_stride_bytes)
        memcpy(to, from, sample_bytes);
    for (unsigned c = 0; c < a->n_channels && s->mask; c++)
        s->mask[n * a->n_channels + c] =
            a->mask[row * a->mask_row_stride_bytes + column * a->mask_pixel_stride_bytes +
                    (ptrdiff_t)c * a->mask_channel_stride_bytes];
}

static enum ih_status sort(struct sorted *s, const struct ih_array *a, const struct ih_labels *l,
                           struct ih_error *err)
{
    size_t n_samples = 0, n_bytes = 0;
    const bool fits = a->width <= SIZE_MAX && a->height <= SIZE_MAX &&
                      ih_size_multiply((size_t)a->width, (size_t)a->height, &n_samples) &&
                      ih_size_multiply(n_samples, a->n_channels, &n_samples) &&
                      ih_size_multiply(n_samples, a->depth / 8, &n_bytes);
    s->ends = calloc(IH_LABELS_MAX + 1, sizeof *s->ends);
    s->samples = fits ? malloc(n_bytes ? n_bytes : 1) : NULL;
    s->mask = fits && a->mask ? malloc(n_samples ? n_samples : 1) : NULL;
    if (!s->ends || !s->samples || (a->mask && !s->mask))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (uint64_t y = 0; y < a->height; y++)
        for (uint64_t x = 0; x < a->width; x++)
            s->ends[label_at(l, x, y) + 1]++;
    for (unsigned label = 0; label < IH_LABELS_MAX; label++) {
        s->n_labels += s->ends[label + 1] > 0 && !(l->has_ignored && label == l->ignored);
        s->ends[label + 1] += s->ends[label]; /* now that before it; sorting moves it on */
    }
    for (uint64_t y = 0; y < a->height; y++)
        for (uint64_t x = 0; x < a->width; x++)
            put_pixel(s, a, x, y, s->ends[label_at(l, x, y)]++);
    return IH_OK;
}

/* Counts the pixels of a label. */
static enum ih_status count_label(struct ih_context *context, const struct sorted *s,
                                  const struct ih_array *a, unsigned label,
                                  struct ih_counts **counts, struct ih_error *err)
{
    const uint64_t first = label ? s->ends[label - 1] : 0;
    struct ih_array part = *a;
    part.data = s->samples + first * a->n_channels * (a->depth / 8);
    part.width = s->ends[label] - first;
    part.height = 1;
    part.has_strides = 0;
    part.mask = s->mask ? s->mask + first * a->n_channels : NULL;
    part.mask_row_stride_bytes = 0;
    part.mask_pixel_stride_bytes = (ptrdiff_t)a->n_channels;
    part.mask_channel_stride_bytes = 1;
    enum ih_status status = ih_counts_open(counts, err);
    if (status == IH_OK)
        status = ih_count_array(context, &part, sizeof part, *counts, err);
    if (status != IH_OK)
        return status;
    struct ih_result *const r = &(*counts)->result;
    r->info.width = a->width;
    r->info.height = a->height;
    r->measure.mask = IH_MASK_LABELS;
    r->has_label = true;
    r->label = label;
    return IH_OK;
}

enum ih_status ih_count_labels(struct ih_context *context, const struct ih_array *array,
                               size_t array_bytes, const struct ih_labels *labels,
                               size_t labels_bytes, struct ih_counts ***counts, size_t *n,
                               struct ih_error *err)
{
    struct sorted s = {.ends = NULL};
    struct ih_array a;
    struct ih_labels l;
    struct ih_counts **made = NULL;
    size_t n_made = 0;
    enum ih_status status = ih_options_copy(&a, sizeof a, array, array_bytes, "array", err);
    if (status == IH_OK)
        status = ih_options_copy(&l, sizeof l, labels, labels_bytes, "labels", err);
    const struct ih_array given = a;
    if (status == IH_OK)
        status = ih_array_check(&a, err);
    if (status == IH_OK)
        status = check_labels(&l, &a, err);
    if (status == IH_OK)
        status = sort(&s, &a, &l, err);
    if (status == IH_OK) {
        a.range_low = given.range_low; /* each part is checked again */
        a.range_high = given.range_high;
        made = calloc(s.n_labels ? (size_t)s.n_labels : 1, sizeof *made);
        status = made ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
    }
    for (unsigned label = 0; label < IH_LABELS_MAX && status == IH_OK; label++)
        if (s.ends[label] > (label ? s.ends[label - 1] : 0) &&
            !(l.has_ignored && label == l.ignored))
            status = count_label(context, &s, &a, label, &made[n_made++], err);
    free(s.ends);
    free(s.samples);
    free(s.mask);
    if (status == IH_OK) {
        *counts = made;
        *n = n_made;
        return IH_OK;
    }
    while (n_made > 0)
        ih_counts_close(made[--n_made]);
    free(made);
    return status;
}
