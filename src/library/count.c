/* Counting: files and bytes as the workers do, and pixels in GPU memory on the caller's stream. */
#include "library/library.h"

#include <stdlib.h>
#include <string.h>

/* After an error counts are empty. */
static enum ih_status count(struct ih_context *context, const struct ih_input *input,
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
    if (status == IH_OK) {
        ih_counts_set_image(counts);
    } else if (err) {
        *err = result->error;
        ih_error_name_setting(err);
    }
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
    enum ih_status status = count(context, &input, counts, err);
    free(input.path);
    return status;
}

enum ih_status ih_count_memory(struct ih_context *context, const void *bytes, size_t size_bytes,
                               struct ih_counts *counts, struct ih_error *err)
{
    static const uint8_t nothing[1];
    const struct ih_input input = {
        .bytes = bytes ? bytes : nothing, .size_bytes = bytes ? size_bytes : 0, .is_named = true};
    return count(context, &input, counts, err);
}

/* A read function, and how it failed. */
struct reader {
    ih_read_function read;
    void *user;
    const char *failure; /* static; NULL: it did not */
};

static ptrdiff_t read_checked(void *user, void *buffer, size_t size_bytes)
{
    struct reader *r = user;
    const ptrdiff_t n = r->read(r->user, buffer, size_bytes);
    if (n < 0)
        r->failure = "the read function failed";
    else if ((size_t)n > size_bytes)
        r->failure = "the read function returned more bytes than it was asked for";
    return n;
}

enum ih_status ih_count_stream(struct ih_context *context, ih_read_function read, void *user,
                               struct ih_counts *counts, struct ih_error *err)
{
    struct reader reader = {read, user, NULL};
    const struct ih_input input = {.read = read_checked, .read_user = &reader, .is_named = true};
    const enum ih_status status = count(context, &input, counts, err);
    return status == IH_IO && reader.failure
               ? ih_error_set(err, IH_IO, "cannot read: %s", reader.failure)
               : status;
}

/* ---- pixels in GPU memory ---- */

struct ih_pending {
    struct ih_device_pixels *pixels;
    struct ih_image_info info; /* of the enqueued pixels */
    struct ih_measure measure;
};

enum ih_status ih_pending_open(struct ih_context *context, int gpu, struct ih_pending **pending,
                               struct ih_error *err)
{
    struct ih_count_spec spec = {.layout = IH_LAYOUT(1), .n_bins = IH_BINS};
    struct ih_pending *p = calloc(1, sizeof *p);
    if (!p)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    p->measure = context->options.measure;
    enum ih_status status =
        context->options.bands.last > 0
            ? ih_error_set(
                  err, IH_USAGE,
                  "bands: they are chosen of files and arrays, not of pixels in GPU memory")
            : ih_measure_image(&p->measure, &spec, err);
    if (status == IH_OK)
        status = ih_device_pixels_open(gpu, context->kernel, &spec, &p->pixels, err);
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
    enum ih_status status = ih_pixels_normalize(pixels, &p, err);
    if (status == IH_OK && pending->measure.alpha == IH_ALPHA_SKIP_TRANSPARENT &&
        ih_layout_of(p.n_channels).has_alpha)
        return ih_error_set(err, IH_USAGE, "alpha: cannot skip transparent pixels in GPU memory");
    if (status == IH_OK && pending->measure.nodata.kind == IH_NODATA_OF_RUN)
        return ih_error_set(err, IH_USAGE, "nodata: no value in GPU memory can stand for no data");
    if (status == IH_OK)
        status = ih_device_pixels_count(pending->pixels, &p, stream, err);
    if (status == IH_OK)
        pending->info = (struct ih_image_info){.format = "",
                                               .width = pixels->width,
                                               .height = pixels->height,
                                               .layout = ih_layout_of(p.n_channels),
                                               .n_bins = IH_BINS,
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
    result->measure = pending->measure;
    enum ih_status status =
        ih_device_pixels_finish(pending->pixels, &result->histogram, &result->kernel, err);
    if (status == IH_OK)
        ih_counts_set_image(counts);
    return status;
}

void ih_pending_close(struct ih_pending *pending)
{
    if (!pending)
        return;
    ih_device_pixels_close(pending->pixels);
    free(pending);
}
