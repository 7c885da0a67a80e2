/* Pending counts: pixels in GPU memory, counted on the caller's stream. */
#define _POSIX_C_SOURCE 200809L

#include "library/library.h"

#include <stdlib.h>
#include <string.h>

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
    enum ih_status status = ih_pixels_normalize(pixels, &p, err);
    if (status == IH_OK && pending->skips_transparent &&
        p.n_channels != ih_colour_channels(p.n_channels))
        return ih_error_set(err, IH_USAGE, "alpha: cannot skip transparent pixels in GPU memory");
    if (status == IH_OK)
        status = ih_device_pixels_count(pending->pixels, &p, stream, err);
    if (status == IH_OK)
        pending->info = (struct ih_image_info){"", pixels->width, pixels->height, p.n_channels, 8};
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
