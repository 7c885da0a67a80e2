/* Finding a decoder, and the limits and checks that hold for all of them. */
#include "decode/decoder.h"
#include "decode/signatures.h"

#include <assert.h>
#include <string.h>

/* A row longer than this is refused: it is what every decoder holds at least, and no camera,
 * scanner or microscope writes one. */
#define ROW_BYTES_MAX ((uint64_t)64 * 1024 * 1024)

const struct ih_decoder *const ih_decoders[] = {
#define DECODER(name) &ih_decoder_##name,
#define DECODER_MISSING(name, library)
#include "decode/decoders.def"
#undef DECODER
#undef DECODER_MISSING
    NULL,
};

const struct ih_decoder_missing ih_decoders_missing[] = {
#define DECODER(name)
#define DECODER_MISSING(name, library) {#name, library, ih_probe_##name},
#include "decode/decoders.def"
#undef DECODER
#undef DECODER_MISSING
    {NULL, NULL, NULL},
};

/* The index of the decoder that knows the file, or of the NULL at the end. */
static unsigned find(const uint8_t *head, size_t size)
{
    unsigned i = 0;
    while (ih_decoders[i] && !ih_decoders[i]->probe(head, size))
        i++;
    return i;
}

/* An image that another build would decode is not skipped in silence. */
static enum ih_status unknown(const uint8_t *head, size_t size, struct ih_error *err)
{
    for (const struct ih_decoder_missing *m = ih_decoders_missing; m->name; m++)
        if (m->probe(head, size))
            return ih_error_set(err, IH_UNSUPPORTED, "cannot decode %s: not in this build (%s)",
                                m->name, m->library);
    return ih_error_set(err, IH_UNKNOWN, "cannot decode: not an image of a known format");
}

enum ih_status ih_decode_check_pixels(uint64_t width, uint64_t height, uint64_t max_pixels,
                                      struct ih_error *err)
{
    if (width == 0 || height <= max_pixels / width)
        return IH_OK;
    return ih_error_set_limit(err, IH_LIMIT_MAX_PIXELS, max_pixels,
                              "image too large: %llu x %llu pixels, the limit is %llu",
                              (unsigned long long)width, (unsigned long long)height,
                              (unsigned long long)max_pixels);
}

static enum ih_status check_limits(const struct ih_decode *d, struct ih_error *err)
{
    const struct ih_image_info *info = &d->info;
    uint64_t row_samples_max = ROW_BYTES_MAX / (info->source_depth > 8 ? 2 : 1);
    enum ih_status status = ih_decode_check_pixels(info->width, info->height, d->max_pixels, err);
    if (status != IH_OK)
        return status;
    if (info->width > row_samples_max / info->n_channels)
        return ih_error_set(err, IH_LIMIT, "image too wide: %llu pixels, a row may take %llu MiB",
                            (unsigned long long)info->width,
                            (unsigned long long)(ROW_BYTES_MAX >> 20));
    return IH_OK;
}

enum ih_status ih_decode_open(struct ih_decode *d, struct ih_source *src,
                              const struct ih_decode_options *options, struct ih_error *err)
{
    memset(d, 0, sizeof *d);
    d->max_pixels = options->max_pixels;
    unsigned index = 0;
    if (options->raw_channels) {
        d->decoder = &ih_decoder_raw;
    } else {
        const uint8_t *head;
        size_t size;
        enum ih_status status = ih_source_peek(src, IH_PROBE_BYTES, &head, &size, err);
        if (status != IH_OK)
            return status;
        if (size == 0)
            return ih_error_set(err, IH_UNKNOWN, "cannot decode: the file is empty");
        if (size > IH_PROBE_BYTES) /* what there is of a pipe; of a file more is at hand */
            size = IH_PROBE_BYTES;
        index = find(head, size);
        d->decoder = ih_decoders[index];
        if (!d->decoder)
            return unknown(head, size, err);
        if (d->decoder->is_isolated || options->isolates_all)
            d->remote = options->remote; /* not for raw samples, which need no decoding */
    }
    d->info.format = d->decoder->name;
    enum ih_status status = d->remote
                                ? d->remote->open(d->remote, index, src, options, &d->info, err)
                                : d->decoder->open(src, options, &d->info, &d->state, err);
    if (status != IH_OK)
        return status;
    assert(d->info.n_channels >= 1 && d->info.n_channels <= IH_CHANNELS_MAX);
    status = check_limits(d, err);
    if (status != IH_OK)
        ih_decode_close(d);
    return status;
}

size_t ih_decode_row_bytes(const struct ih_decode *d)
{
    uint64_t width = d->info.width ? d->info.width : 1;
    return (size_t)width * d->info.n_channels; /* at most ROW_BYTES_MAX: check_limits */
}

/* Counts n pixels more, 0 at the end, and holds them against the size. */
static enum ih_status check_read(struct ih_decode *d, uint64_t n_pixels, struct ih_error *err)
{
    d->n_pixels_read += n_pixels;
    if (d->info.width == 0) { /* raw: as long as it turns out to be */
        if (d->n_pixels_read > d->max_pixels)
            return ih_error_set_limit(err, IH_LIMIT_MAX_PIXELS, d->max_pixels,
                                      "more than %llu pixels", (unsigned long long)d->max_pixels);
        if (n_pixels == 0) {
            d->info.width = d->n_pixels_read;
            d->info.height = d->n_pixels_read ? 1 : 0;
        }
    }
    const unsigned long long n_wanted = d->info.width * d->info.height;
    /* A compromised decoder process could send pixels without end. */
    if (d->info.width != 0 && d->n_pixels_read > n_wanted)
        return ih_error_set(err, IH_CORRUPT, "its decoder gave more than %llu pixels", n_wanted);
    if (n_pixels == 0 && d->n_pixels_read != n_wanted)
        return ih_error_set(err, IH_CORRUPT, "the file ends after %llu of %llu pixels",
                            (unsigned long long)d->n_pixels_read, n_wanted);
    return IH_OK;
}

enum ih_status ih_decode_read(struct ih_decode *d, uint8_t *pixels, size_t capacity_pixels,
                              size_t *n_pixels, struct ih_error *err)
{
    assert(capacity_pixels * d->info.n_channels >= ih_decode_row_bytes(d));
    enum ih_status status =
        d->remote ? d->remote->read(d->remote, pixels, capacity_pixels, n_pixels, err)
                  : d->decoder->read(d->state, pixels, capacity_pixels, n_pixels, err);
    return status == IH_OK ? check_read(d, *n_pixels, err) : status;
}

size_t ih_decode_planes_bytes(const struct ih_decode *d)
{
    return d->remote || !d->decoder->planes_bytes ? 0 : d->decoder->planes_bytes(d->state);
}

enum ih_status ih_decode_read_planes(struct ih_decode *d, uint8_t *buffer, size_t size_bytes,
                                     struct ih_planes *planes, struct ih_error *err)
{
    assert(size_bytes >= ih_decode_planes_bytes(d));
    enum ih_status status = d->decoder->read_planes(d->state, buffer, size_bytes, planes, err);
    return status == IH_OK ? check_read(d, (uint64_t)planes->width * planes->n_rows, err) : status;
}

void ih_decode_close(struct ih_decode *d)
{
    if (d->remote)
        d->remote->close(d->remote);
    else if (d->state)
        d->decoder->close(d->state);
    d->state = NULL;
}
