/*
 * Headerless interleaved 8-bit samples (--raw) from any file, device or pipe, counted as they
 * arrive.
 *
 * There is no header, so the image is one row as long as the input. The only possible damage is an
 * end in the middle of a pixel.
 */
#include "decode/decoder.h"

#include <stdlib.h>

struct raw_state {
    struct ih_source *src; /* borrowed */
    unsigned n_channels;
};

static const char *version(void)
{
    return "imghist " IH_VERSION;
}

static enum ih_status open_raw(struct ih_source *src, const struct ih_decode_options *options,
                               struct ih_image_info *info, void **state, struct ih_error *err)
{
    struct raw_state *s = malloc(sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->src = src;
    s->n_channels = options->raw_channels;
    info->n_channels = s->n_channels;
    info->source_depth = 8;
    info->range = IH_RANGE_FULL;
    *state = s;
    return IH_OK;
}

static enum ih_status read_raw(void *state, uint8_t *pixels, size_t capacity_pixels,
                               size_t *n_pixels, struct ih_error *err)
{
    struct raw_state *s = state;
    size_t got;
    enum ih_status status =
        ih_source_read(s->src, pixels, capacity_pixels * s->n_channels, &got, err);
    if (status != IH_OK)
        return status;
    if (got % s->n_channels != 0)
        return ih_error_set(err, IH_CORRUPT,
                            "the samples end in the middle of a pixel of %u channels",
                            s->n_channels);
    *n_pixels = got / s->n_channels;
    return IH_OK;
}

const struct ih_decoder ih_decoder_raw = {
    .name = "raw",
    .title = "headerless interleaved 8-bit samples (--raw=CHANNELS)",
    .version = version,
    .open = open_raw,
    .read = read_raw,
    .close = free,
};
