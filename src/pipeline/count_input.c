/* One input from start to end: bytes, decoder, bands, lane, histogram. */
#define _POSIX_C_SOURCE 200809L

#include "pipeline/pipeline.h"

#include <string.h>
#include <unistd.h>

static enum ih_status open_source(const struct ih_input *input, struct ih_source *src,
                                  struct ih_error *err)
{
    if (input->error.status != IH_OK) {
        *err = input->error;
        return err->status;
    }
    if (input->is_stdin)
        return ih_source_open_fd(src, STDIN_FILENO, err);
    return ih_source_open_path(src, input->path, err);
}

/* All bands of an image whose header has been read. */
static enum ih_status count_bands(struct ih_decode *decode, struct ih_lane *lane,
                                  struct ih_result *result)
{
    struct ih_error *err = &result->error;
    enum ih_status status = ih_lane_begin(lane, &result->spec, err);
    while (status == IH_OK) {
        uint8_t *pixels;
        size_t size_bytes, n_pixels = 0;
        status = ih_lane_band(lane, ih_decode_row_bytes(decode), &pixels, &size_bytes, err);
        if (status == IH_OK)
            status = ih_decode_read(decode, pixels, size_bytes / result->spec.n_channels, &n_pixels,
                                    err);
        if (status == IH_OK && n_pixels == 0)
            break;
        if (status == IH_OK)
            status = ih_lane_count(lane, n_pixels, err);
    }
    if (status == IH_OK)
        status = ih_lane_end(lane, &result->histogram, &result->kernel, err);
    return status;
}

void ih_count_input(const struct ih_pipeline_options *options, const struct ih_input *input,
                    struct ih_lane *lane, struct ih_source *src, struct ih_result *result)
{
    struct ih_decode decode;
    bool is_open = false;
    memset(result, 0, sizeof *result);
    result->path = input->path;
    struct ih_error *err = &result->error;

    enum ih_status status = open_source(input, src, err);
    if (status == IH_OK) {
        struct ih_file_identity id;
        struct ih_error conflict = {IH_OK, ""};
        if (ih_source_identity(src, &id))
            ih_check_not_output(&id, options->outputs, options->n_outputs, &conflict);
        status = ih_decode_open(&decode, src, &options->decode, err);
        is_open = status == IH_OK;
        /* A file found by walking that is no image is no input, so nothing of it can be lost. */
        if (conflict.status != IH_OK && (input->is_named || status != IH_UNKNOWN)) {
            *err = conflict;
            status = conflict.status;
        }
    }
    if (status == IH_OK) {
        result->spec = (struct ih_count_spec){decode.info.n_channels, options->luma,
                                              options->clip_low, options->clip_high};
        result->decoder_version = decode.decoder->version();
        status = count_bands(&decode, lane, result);
        result->info = decode.info;
    }
    if (is_open)
        ih_decode_close(&decode);
    ih_source_close(src);
    result->status = status;
}
