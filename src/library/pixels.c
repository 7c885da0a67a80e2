/* Counting pixels in host memory: the checks, and one call on a lane. */
#include "library/library.h"

#include <string.h>

enum ih_status ih_pixels_normalize(const struct ih_pixels *pixels, struct ih_pixels *out,
                                   struct ih_error *err)
{
    struct ih_pixels p = *pixels;
    size_t row_bytes, span_bytes = 0;
    if (p.n_channels < 1 || p.n_channels > IH_CHANNELS_MAX)
        return ih_error_set(err, IH_USAGE, "pixels: %u channels, must be 1 to 4", p.n_channels);
    if (p.width == 0 || p.height == 0) {
        *out = (struct ih_pixels){NULL, 0, 0, 0, p.n_channels};
        return IH_OK;
    }
    if (!p.data)
        return ih_error_set(err, IH_USAGE, "pixels: data is NULL");
    if (p.width > SIZE_MAX || p.height > SIZE_MAX ||
        !ih_size_multiply((size_t)p.width, p.n_channels, &row_bytes) || row_bytes > PTRDIFF_MAX)
        return ih_error_set(err, IH_USAGE, "pixels: larger than any memory");
    bool is_upward = p.stride_bytes < 0;
    size_t stride = p.stride_bytes == 0 ? row_bytes
                    : is_upward         ? (size_t)0 - (size_t)p.stride_bytes
                                        : (size_t)p.stride_bytes;
    if (p.height > 1 && stride < row_bytes)
        return ih_error_set(err, IH_USAGE, "pixels: rows of %zu bytes overlap: stride_bytes is %td",
                            row_bytes, p.stride_bytes);
    if (!ih_size_multiply((size_t)p.height - 1, stride, &span_bytes) ||
        span_bytes > PTRDIFF_MAX - row_bytes)
        return ih_error_set(err, IH_USAGE, "pixels: larger than any memory");
    if (is_upward) /* counts do not depend on the order of rows */
        p.data = (const uint8_t *)p.data - span_bytes;
    if (p.height == 1 || stride == row_bytes) {
        p.width *= p.height;
        p.height = 1;
        stride = row_bytes = (size_t)p.width * p.n_channels;
    }
    p.stride_bytes = (ptrdiff_t)stride;
    *out = p;
    return IH_OK;
}

/* array: checked. */
static enum ih_status count_checked(struct ih_context *context, const struct ih_array *array,
                                    struct ih_counts *counts, struct ih_error *err)
{
    struct ih_call *call = NULL;
    enum ih_status status = ih_call_begin(context, &call, err);
    if (status != IH_OK)
        return status;
    ih_count_array_in(&context->options, array, call->lane, &counts->result);
    status = counts->result.status;
    ih_call_end(context, call, status);
    if (status == IH_OK)
        ih_counts_set_image(counts, context->options.skips_transparent);
    else if (err)
        *err = counts->result.error;
    return status;
}

enum ih_status ih_count_pixels(struct ih_context *context, const struct ih_pixels *pixels,
                               struct ih_counts *counts, struct ih_error *err)
{
    struct ih_pixels p;
    ih_counts_clear(counts);
    enum ih_status status = ih_pixels_normalize(pixels, &p, err);
    if (status != IH_OK)
        return status;
    const ptrdiff_t n = (ptrdiff_t)pixels->n_channels;
    struct ih_array array = {.data = pixels->data,
                             .width = pixels->width,
                             .height = pixels->height,
                             .n_channels = pixels->n_channels,
                             .has_strides = pixels->stride_bytes != 0,
                             .row_stride_bytes = pixels->stride_bytes,
                             .pixel_stride_bytes = n,
                             .channel_stride_bytes = 1};
    status = ih_array_check(&array, err);
    return status == IH_OK ? count_checked(context, &array, counts, err) : status;
}

enum ih_status ih_count_array(struct ih_context *context, const struct ih_array *array,
                              size_t size_bytes, struct ih_counts *counts, struct ih_error *err)
{
    struct ih_array checked;
    ih_counts_clear(counts);
    enum ih_status status =
        ih_options_copy(&checked, sizeof checked, array, size_bytes, "array", err);
    if (status == IH_OK)
        status = ih_array_check(&checked, err);
    return status == IH_OK ? count_checked(context, &checked, counts, err) : status;
}
