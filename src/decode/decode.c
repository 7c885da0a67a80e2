/* Chooses the decoder of a file, and applies the limits and checks that all formats share. */
#include "decode/decoder.h"

#include "decode/recognise.h"
#include "decode/samples.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every decoder holds at least one row, so longer rows are refused. No camera, scanner or
 * microscope writes one. */
#define ROW_BYTES_MAX ((uint64_t)64 * 1024 * 1024)

const struct ih_decoder *const ih_decoders[] = {
#define DECODER(name) &ih_decoder_##name,
#define DECODER_MISSING(name, library)
#include "decode/decoders.def"
    NULL,
};

const struct ih_decoder_missing ih_decoders_missing[] = {
#define DECODER(name)
#define DECODER_MISSING(name, library) {#name, library, ih_probe_##name},
#include "decode/decoders.def"
    {NULL, NULL, NULL},
};

enum ih_status ih_decoder_open(const struct ih_decoder *decoder, struct ih_reader *src,
                               const struct ih_decode_options *options, struct ih_image_info *info,
                               void **state, struct ih_error *err)
{
    void *opened = calloc(1, decoder->state_bytes);
    if (!opened)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = decoder->open(src, options, info, opened, err);
    if (status != IH_OK) {
        ih_decoder_close(decoder, opened);
        return status;
    }
    if (info->n_bins == 0) /* the decoder has no other samples */
        info->n_bins = IH_BINS;
    *state = opened;
    return IH_OK;
}

void ih_decoder_close(const struct ih_decoder *decoder, void *state)
{
    if (state && decoder->close)
        decoder->close(state);
    free(state);
}

/* ---- detecting the format ---- */

bool ih_probe_webp(const uint8_t *head, size_t size)
{
    return size >= 12 && memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0;
}

bool ih_probe_tiff(const uint8_t *head, size_t size)
{
    return size >= 4 && (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 ||
                         memcmp(head, "II+\0", 4) == 0 || memcmp(head, "MM\0+", 4) == 0);
}

bool ih_probe_gif(const uint8_t *head, size_t size)
{
    return size >= 6 && (memcmp(head, "GIF87a", 6) == 0 || memcmp(head, "GIF89a", 6) == 0);
}

/* The file type box: size, "ftyp", main brand, version, other brands. */
bool ih_probe_heif(const uint8_t *head, size_t size)
{
    static const char brands[][5] = {"heic", "heix", "heim", "heis", "mif1", "avif"};
    if (size < 12 || memcmp(head + 4, "ftyp", 4) != 0)
        return false;
    size_t end = (size_t)head[2] << 8 | head[3];
    for (size_t at = 8; at + 4 <= size && at + 4 <= end; at += at == 8 ? 8 : 4)
        for (size_t i = 0; i < sizeof brands / sizeof *brands; i++)
            if (memcmp(head + at, brands[i], 4) == 0)
                return true;
    return false;
}

/* A bare codestream, or one in a container. */
bool ih_probe_jxl(const uint8_t *head, size_t size)
{
    return (size >= 2 && memcmp(head, "\xFF\x0A", 2) == 0) ||
           (size >= 12 && memcmp(head, "\0\0\0\x0CJXL \x0D\x0A\x87\x0A", 12) == 0);
}

/* A bare codestream, or one in boxes. */
bool ih_probe_jp2(const uint8_t *head, size_t size)
{
    return (size >= 4 && memcmp(head, "\xFF\x4F\xFF\x51", 4) == 0) ||
           (size >= 12 && memcmp(head, "\0\0\0\x0CjP  \x0D\x0A\x87\x0A", 12) == 0);
}

bool ih_probe_fits(const uint8_t *head, size_t size)
{
    return size >= 9 && memcmp(head, "SIMPLE  =", 9) == 0;
}

bool ih_probe_exr(const uint8_t *head, size_t size)
{
    return size >= 4 && memcmp(head, "\x76\x2F\x31\x01", 4) == 0;
}

bool ih_probe_preview(const uint8_t *head, size_t size)
{
    (void)head, (void)size;
    return false;
}

bool ih_probe_sensor(const uint8_t *head, size_t size)
{
    (void)head, (void)size;
    return false;
}

/* The index of the decoder that recognises the file, or of the NULL at the end. */
static unsigned find(const uint8_t *head, size_t size)
{
    unsigned i = 0;
    while (ih_decoders[i] && !ih_decoders[i]->probe(head, size))
        i++;
    return i;
}

bool ih_decode_is_image(const uint8_t *head, size_t size)
{
    if (size > IH_PROBE_BYTES)
        size = IH_PROBE_BYTES;
    if (size > 0 && ih_decoders[find(head, size)])
        return true;
    for (const struct ih_decoder_missing *m = ih_decoders_missing; m->name; m++)
        if (m->probe(head, size))
            return true;
    return false;
}

bool ih_decode_has_signature(const uint8_t *head, size_t size)
{
    const struct ih_decoder *found = ih_decoders[find(head, size)];
    return found && !found->lacks_signature;
}

/* The index of the decoder for camera raw files, or of the NULL at the end. */
static unsigned find_camera_raw(bool is_sensor, struct ih_error *err)
{
    unsigned i = 0;
    while (ih_decoders[i] &&
           ih_decoders[i]->probe != (is_sensor ? ih_probe_sensor : ih_probe_preview))
        i++;
    if (!ih_decoders[i])
        ih_error_set(err, IH_UNSUPPORTED,
                     "cannot decode %s of camera raw: not in this build (LibRaw)",
                     is_sensor ? "values" : "previews");
    return i;
}

/* Explains why no decoder was found: another build has it, or none. */
static enum ih_status unknown(struct ih_reader *src, struct ih_error *err)
{
    const uint8_t *head;
    size_t size;
    if (ih_reader_peek(src, IH_PROBE_BYTES, &head, &size, err) != IH_OK)
        return err->status;
    for (const struct ih_decoder_missing *m = ih_decoders_missing; m->name; m++)
        if (m->probe(head, size))
            return ih_error_set(err, IH_UNSUPPORTED, "cannot decode %s: not in this build (%s)",
                                m->name, m->library);
    ih_error_set(err, IH_UNKNOWN, "cannot decode: not an image of a known format");
    err->limit = IH_LIMIT_RAW_CHANNELS;
    return IH_UNKNOWN;
}

/* ---- decoding ---- */

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
    if (info->width > row_samples_max / info->layout.n_channels)
        return ih_error_set(err, IH_LIMIT, "image too wide: %llu pixels, a row may take %llu MiB",
                            (unsigned long long)info->width,
                            (unsigned long long)(ROW_BYTES_MAX >> 20));
    return IH_OK;
}

/* The value of the run, unless the decoder has made it one of its samples. Gray of fewer than 8
 * bits is scaled. */
static void set_nodata(struct ih_image_info *info, const struct ih_decode_options *options)
{
    const unsigned depth = info->source_depth;
    const double value = options->nodata.value, max = depth < 8 ? (1u << depth) - 1 : 0;
    const bool is_scaled = info->layout.n_colours == 1 && depth < 8 && ih_is_unsigned(info->type);
    if (options->nodata.kind != IH_NODATA_OF_RUN || info->has_nodata ||
        (is_scaled && (value < 0 || value > max || value != floor(value))))
        return;
    info->has_nodata = true;
    info->nodata = is_scaled ? ih_sample_scale((uint64_t)value, (uint64_t)max) : value;
}

static enum ih_status open_decoder(struct ih_decode *d, struct ih_reader *src,
                                   const struct ih_decode_options *given, struct ih_error *err)
{
    struct ih_decode_options with = *given;
    const struct ih_decode_options *const options = &with;
    if (with.nodata.kind == IH_NODATA_OF_RUN) {
        with.takes_native = true;
        with.sample_range = (struct ih_sample_range){0, 0};
    }
    unsigned index = 0;
    if (options->raw_channels) {
        d->decoder = &ih_decoder_raw;
    } else {
        const uint8_t *head;
        size_t size;
        enum ih_status status = ih_reader_peek(src, IH_PROBE_BYTES, &head, &size, err);
        if (status != IH_OK)
            return status;
        if (size == 0)
            return ih_error_set(err, IH_UNKNOWN, "cannot decode: the file is empty");
        if (size > IH_PROBE_BYTES) /* detect a file exactly like a pipe, which may have no more */
            size = IH_PROBE_BYTES;
        index = find(head, size);
        d->decoder = ih_decoders[index];
        /* Camera raw files look like TIFF, and TGA has no signature. */
        const bool is_sure =
            d->decoder && !d->decoder->lacks_signature && !ih_probe_tiff(head, size);
        if (!is_sure && ih_recognise(src, err) != IH_OK) {
            if (err->limit != IH_LIMIT_RAW_PREVIEW ||
                !(with.takes_raw_previews || with.takes_raw_sensors))
                return err->status;
            index = find_camera_raw(with.takes_raw_sensors, err);
            d->decoder = ih_decoders[index];
            with.takes_native = with.takes_native || with.takes_raw_sensors;
            if (!d->decoder)
                return err->status;
        }
        if (!d->decoder)
            return unknown(src, err);
        if (d->decoder->is_isolated || options->isolates_all)
            d->remote = options->remote; /* never for raw samples: there is nothing to decode */
    }
    if (!d->remote && options->takes_frames && ih_decoder_may_be_followed(d->decoder))
        d->is_sequence = ih_decode_split(src);
    d->info.format = d->decoder->name;
    enum ih_status status =
        d->remote ? d->remote->open(d->remote, index, src, options, &d->info, err)
                  : ih_decoder_open(d->decoder, src, options, &d->info, &d->state, err);
    if (status != IH_OK)
        return status;
    assert(ih_layout_is_possible(&d->info.layout));
    set_nodata(&d->info, options);
    status = check_limits(d, err);
    if (status != IH_OK)
        ih_decode_close(d);
    return status;
}

bool ih_decode_split(struct ih_reader *src)
{
    uint64_t ignored;
    const bool is_sequence = !ih_reader_size(src, &ignored);
    ih_reader_split(src);
    return is_sequence;
}

static void start_time(struct ih_reader *src, const struct ih_decode_options *options)
{
    src->time =
        (struct ih_time_limit){.limit_s = options->timeout_s, .interrupt = options->interrupt};
    ih_time_limit_resume(&src->time);
}

enum ih_status ih_decode_open(struct ih_decode *d, struct ih_reader *src,
                              const struct ih_decode_options *options, struct ih_error *err)
{
    memset(d, 0, sizeof *d);
    d->max_pixels = options->max_pixels;
    d->src = src;
    start_time(src, options);
    enum ih_status status = open_decoder(d, src, options, err);
    if (status != IH_OK)
        ih_band_names_reset(&d->info.band_names);
    ih_time_limit_pause(&src->time);
    return status;
}

size_t ih_decode_row_bytes(const struct ih_decode *d)
{
    uint64_t width = d->info.width ? d->info.width : 1;
    /* at most ROW_BYTES_MAX: check_limits */
    return (size_t)width * ih_pixel_bytes(d->info.layout.n_channels, d->info.type);
}

/* Adds n_pixels to the pixels read and compares the sum with the image's size. n_pixels is 0 at the
 * end of the image. Checks the time. */
static enum ih_status check_read(struct ih_decode *d, uint64_t n_pixels, struct ih_error *err)
{
    /* A worker limits how long it waits for a remote decoder. */
    if (!d->remote && ih_time_limit_check(&d->src->time, err) != IH_OK)
        return err->status;
    d->n_pixels_read += n_pixels;
    if (d->info.width == 0) { /* raw: the end of the input tells the size */
        if (d->n_pixels_read > d->max_pixels)
            return ih_error_set_limit(err, IH_LIMIT_MAX_PIXELS, d->max_pixels,
                                      "more than %llu pixels", (unsigned long long)d->max_pixels);
        if (n_pixels == 0) {
            d->info.width = d->n_pixels_read;
            d->info.height = d->n_pixels_read ? 1 : 0;
        }
    }
    const unsigned long long n_expected = d->info.width * d->info.height;
    /* An attacker who controls a decoder process could send pixels forever. */
    if (d->info.width != 0 && d->n_pixels_read > n_expected)
        return ih_error_set(err, IH_CORRUPT, "its decoder gave more than %llu pixels", n_expected);
    if (n_pixels == 0 && d->n_pixels_read != n_expected)
        return ih_error_set(err, IH_CORRUPT, "the file ends after %llu of %llu pixels",
                            (unsigned long long)d->n_pixels_read, n_expected);
    return IH_OK;
}

enum ih_status ih_decode_read(struct ih_decode *d, uint8_t *pixels, size_t capacity_pixels,
                              size_t *n_pixels, struct ih_error *err)
{
    assert(capacity_pixels * ih_pixel_bytes(d->info.layout.n_channels, d->info.type) >=
           ih_decode_row_bytes(d));
    ih_time_limit_resume(&d->src->time);
    enum ih_status status =
        d->remote ? d->remote->read(d->remote, pixels, capacity_pixels, n_pixels, err)
                  : d->decoder->read(d->state, pixels, capacity_pixels, n_pixels, err);
    if (status == IH_OK)
        status = check_read(d, *n_pixels, err);
    ih_time_limit_pause(&d->src->time);
    return status;
}

size_t ih_decode_planes_bytes(const struct ih_decode *d)
{
    return d->remote || !d->decoder->planes_bytes ? 0 : d->decoder->planes_bytes(d->state);
}

enum ih_status ih_decode_read_planes(struct ih_decode *d, uint8_t *buffer, size_t size_bytes,
                                     struct ih_planes *planes, struct ih_error *err)
{
    assert(size_bytes >= ih_decode_planes_bytes(d));
    ih_time_limit_resume(&d->src->time);
    enum ih_status status = d->decoder->read_planes(d->state, buffer, size_bytes, planes, err);
    if (status == IH_OK)
        status = check_read(d, (uint64_t)planes->width * planes->n_rows, err);
    ih_time_limit_pause(&d->src->time);
    return status;
}

/* Bytes of white space or NUL between images that are accepted. */
enum { PADDING_BYTES_MAX = 64 * 1024 };

static bool is_padding(uint8_t byte)
{
    return byte == 0 || byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

enum ih_status ih_decode_following(struct ih_reader *src, const struct ih_decoder *before,
                                   bool is_sequence, const struct ih_decoder **next,
                                   struct ih_error *err)
{
    static const uint8_t iend[12] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
    const uint8_t *head;
    size_t size, n_rest;
    *next = NULL;
    for (unsigned n_padding = 0;; n_padding++) {
        enum ih_status status =
            ih_reader_peek(src, sizeof iend + IH_PROBE_BYTES, &head, &size, err);
        if (status != IH_OK || size == 0)
            return status;
        n_rest = size >= sizeof iend && memcmp(head, iend, sizeof iend) == 0 ? sizeof iend : 0;
        const struct ih_decoder *found = ih_decoders[find(head + n_rest, size - n_rest)];
        if (found && !found->lacks_signature)
            *next = found;
        if (!*next && n_rest == 0 && (!is_padding(*head) || n_padding == PADDING_BYTES_MAX))
            break;
        ih_reader_consume(src, *next || n_rest ? n_rest : 1);
        if (*next)
            return IH_OK;
    }
    if (!is_sequence && !before->ends_exactly)
        return IH_OK;
    return ih_error_set(err, IH_CORRUPT,
                        "what follows the image before is not an image of a known format");
}

bool ih_decode_has_next(struct ih_decode *d)
{
    const struct ih_decoder *next;
    const uint8_t *ignored_bytes;
    size_t n;
    struct ih_error ignored;
    if (d->remote)
        return false;
    if (d->decoder == &ih_decoder_raw)
        return ih_reader_peek(d->src, 1, &ignored_bytes, &n, &ignored) == IH_OK && n > 0;
    return ih_decoder_may_be_followed(d->decoder) &&
           ih_decode_following(d->src, d->decoder, false, &next, &ignored) == IH_OK && next;
}

enum ih_status ih_decode_next(struct ih_decode *d, const struct ih_decode_options *options,
                              bool *has_next, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    d->n_pixels_read = 0;
    *has_next = false;
    if (d->remote || d->decoder->next) {
        start_time(d->src, options);
        status = d->remote ? d->remote->next(d->remote, has_next, err)
                           : d->decoder->next(d->state, &d->info, has_next, err);
        if (status == IH_OK && *has_next)
            set_nodata(&d->info, options);
        if (status == IH_OK && *has_next)
            status = check_limits(d, err);
        ih_time_limit_pause(&d->src->time);
        if (status != IH_OK || *has_next || d->remote || !ih_decoder_may_be_followed(d->decoder))
            return status;
    }
    struct ih_reader *const src = d->src;
    const struct ih_decoder *next;
    status = ih_decode_following(src, d->decoder, d->is_sequence, &next, err);
    *has_next = next != NULL;
    if (!next)
        return status;
    ih_decode_close(d);
    return ih_decode_open(d, src, options, err);
}

void ih_decode_close(struct ih_decode *d)
{
    if (d->remote)
        d->remote->close(d->remote);
    else
        ih_decoder_close(d->decoder, d->state);
    ih_band_names_reset(&d->info.band_names);
    d->state = NULL;
}
