/* Counting: files and bytes as the workers do, pixels in host memory band by band, pixels in GPU
 * memory on the caller's stream. */
#define _POSIX_C_SOURCE 200809L

#include "library/library.h"

#include <stdlib.h>
#include <string.h>

/* Copies the error and names the setting that raises the limit. */
static void copy_error(struct ih_error *err, const struct ih_error *from)
{
    if (!err)
        return;
    *err = *from;
    if (from->limit == IH_LIMIT_MAX_PIXELS)
        ih_error_append(err, "max_pixels");
    else if (from->limit == IH_LIMIT_MAX_MEMORY)
        ih_error_append(err, "max_memory");
    else if (from->limit == IH_LIMIT_LENIENT)
        ih_error_append(err, "lenient");
    else if (from->limit == IH_LIMIT_TIMEOUT)
        ih_error_append(err, "timeout");
    else if (from->limit == IH_LIMIT_RAW_PREVIEW)
        ih_error_append(err, "raw_preview counts its preview");
    else if (from->limit == IH_LIMIT_RAW_CHANNELS)
        ih_error_append(err, "raw_channels reads bare samples");
}

/* Counts one input. After an error counts are empty. */
static enum ih_status count_input(struct ih_context *context, const struct ih_input *input,
                                  struct ih_counts *counts, struct ih_error *err)
{
    struct ih_call *call = NULL;
    ih_counts_clear(counts);
    enum ih_status status = ih_call_begin(context, &call, err);
    if (status != IH_OK)
        return status;
    struct ih_result *result = &counts->result;
    ih_count_input(&context->options, input, call->lane, &call->source, result);
    result->path = NULL;
    status = result->status;
    ih_call_end(context, call, status);
    if (status == IH_OK)
        ih_counts_set_image(counts, context->options.skips_transparent);
    else
        copy_error(err, &result->error);
    return status;
}

enum ih_status ih_count_file(struct ih_context *context, const char *path, struct ih_counts *counts,
                             struct ih_error *err)
{
    struct ih_input input = {.path = strdup(path), .is_named = true};
    if (!input.path) {
        ih_counts_clear(counts);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    enum ih_status status = count_input(context, &input, counts, err);
    free(input.path);
    return status;
}

enum ih_status ih_count_memory(struct ih_context *context, const void *bytes, size_t size_bytes,
                               struct ih_counts *counts, struct ih_error *err)
{
    static const uint8_t nothing[1];
    const struct ih_input input = {
        .bytes = bytes ? bytes : nothing, .size_bytes = bytes ? size_bytes : 0, .is_named = true};
    return count_input(context, &input, counts, err);
}

/* ---- pixels in host memory ---- */

/* Checks pixels and simplifies them without changing their counts: *out has no negative stride, and
 * rows without gaps become one row. Returns IH_OK or IH_USAGE. */
static enum ih_status normalize_pixels(const struct ih_pixels *pixels, struct ih_pixels *out,
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
        return ih_error_set(err, IH_USAGE,
                            "pixels: stride of %zu bytes is less than a row of %zu bytes", stride,
                            row_bytes);
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

/* Fills a band with the pixels that follow the first *done. Returns their number. */
static size_t fill_band(const struct ih_pixels *p, uint64_t *done, uint8_t *band,
                        size_t capacity_pixels)
{
    size_t n_filled = 0;
    while (n_filled < capacity_pixels && *done < p->width * p->height) {
        const size_t row = (size_t)(*done / p->width), column = (size_t)(*done % p->width);
        const size_t room = capacity_pixels - n_filled, n_left = (size_t)p->width - column;
        const size_t n = room < n_left ? room : n_left;
        const uint8_t *from =
            (const uint8_t *)p->data + row * (size_t)p->stride_bytes + column * p->n_channels;
        memcpy(band + n_filled * p->n_channels, from, n * p->n_channels);
        n_filled += n;
        *done += n;
    }
    return n_filled;
}

static enum ih_status count_bands(struct ih_lane *lane, const struct ih_pixels *p,
                                  bool skips_transparent, struct ih_result *result,
                                  struct ih_error *err)
{
    const uint64_t n_pixels = p->width * p->height;
    const bool has_alpha = p->n_channels != ih_colour_channels(p->n_channels);
    enum ih_status status = ih_lane_begin(lane, &result->spec, err);
    for (uint64_t done = 0; status == IH_OK && done < n_pixels;) {
        uint8_t *band;
        size_t size_bytes;
        status = ih_lane_band(lane, p->n_channels, &band, &size_bytes, err);
        if (status != IH_OK)
            break;
        size_t n = fill_band(p, &done, band, size_bytes / p->n_channels);
        if (skips_transparent && has_alpha)
            n = ih_pixels_drop_transparent(band, n, p->n_channels);
        if (n > 0)
            status = ih_lane_count(lane, n, err);
    }
    if (status == IH_OK)
        status = ih_lane_end(lane, &result->histogram, &result->kernel, err);
    return status;
}

enum ih_status ih_count_pixels(struct ih_context *context, const struct ih_pixels *pixels,
                               struct ih_counts *counts, struct ih_error *err)
{
    struct ih_pixels p;
    struct ih_call *call = NULL;
    ih_counts_clear(counts);
    enum ih_status status = normalize_pixels(pixels, &p, err);
    if (status == IH_OK)
        status = ih_call_begin(context, &call, err);
    if (status != IH_OK)
        return status;
    struct ih_result *result = &counts->result;
    const struct ih_pipeline_options *o = &context->options;
    memset(result, 0, sizeof *result);
    result->spec = (struct ih_count_spec){p.n_channels, o->luma, o->clip_low, o->clip_high};
    result->info = (struct ih_image_info){.format = "",
                                          .width = pixels->width,
                                          .height = pixels->height,
                                          .n_channels = p.n_channels,
                                          .source_depth = 8};
    status = count_bands(call->lane, &p, o->skips_transparent, result, err);
    ih_call_end(context, call, status);
    if (status == IH_OK)
        ih_counts_set_image(counts, o->skips_transparent);
    return status;
}

/* ---- pixels in GPU memory ---- */

struct ih_pending {
    struct ih_device_pixels *pixels;
    struct ih_image_info info; /* of the enqueued pixels */
    bool skips_transparent;
};

enum ih_status ih_pending_open(struct ih_context *context, int gpu, struct ih_pending **pending,
                               struct ih_error *err)
{
    const struct ih_pipeline_options *o = &context->options;
    const struct ih_count_spec spec = {1, o->luma, o->clip_low, o->clip_high};
    struct ih_pending *p = calloc(1, sizeof *p);
    if (!p)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    p->skips_transparent = o->skips_transparent;
    enum ih_status status = ih_device_pixels_open(gpu, context->kernel, &spec, &p->pixels, err);
    if (status == IH_OK)
        *pending = p;
    else
        free(p);
    return status;
}

enum ih_status ih_pending_count(struct ih_pending *pending, const struct ih_pixels *pixels,
                                void *stream, struct ih_error *err)
{
    struct ih_pixels p;
    enum ih_status status = normalize_pixels(pixels, &p, err);
    if (status == IH_OK && pending->skips_transparent &&
        p.n_channels != ih_colour_channels(p.n_channels))
        return ih_error_set(err, IH_USAGE, "alpha: cannot skip transparent pixels in GPU memory");
    if (status == IH_OK)
        status = ih_device_pixels_count(pending->pixels, &p, stream, err);
    if (status == IH_OK)
        pending->info = (struct ih_image_info){.format = "",
                                               .width = pixels->width,
                                               .height = pixels->height,
                                               .n_channels = p.n_channels,
                                               .source_depth = 8};
    return status;
}

enum ih_status ih_pending_finish(struct ih_pending *pending, struct ih_counts *counts,
                                 struct ih_error *err)
{
    struct ih_result *result = &counts->result;
    ih_counts_clear(counts);
    memset(result, 0, sizeof *result);
    result->info = pending->info;
    enum ih_status status = ih_device_pixels_finish(pending->pixels, &result->histogram,
                                                    &result->spec, &result->kernel, err);
    if (status == IH_OK)
        ih_counts_set_image(counts, pending->skips_transparent);
    return status;
}

void ih_pending_close(struct ih_pending *pending)
{
    if (!pending)
        return;
    ih_device_pixels_close(pending->pixels);
    free(pending);
}
