/*
 * Counts one input from start to end. The lane gives a stripe, the decoder fills it, the lane
 * counts it; at the end the lane gives the histogram. Only a stripe is in memory, unless the format
 * needs more. Masks, regions and thumbnails look at each stripe between decoding and counting.
 */
#include "scan/scan.h"

#include "base/path.h"
#include "decode/archive.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum ih_status open_reader(const struct ih_input *input, struct ih_reader *src,
                                  struct ih_error *err)
{
    if (input->error.status != IH_OK) {
        *err = input->error;
        return err->status;
    }
    if (input->bytes || input->is_member) { /* never a file of the member's name */
        static const uint8_t nothing[1];
        ih_reader_open_memory(src, input->bytes ? input->bytes : nothing, input->size_bytes);
        return IH_OK;
    }
    if (input->read)
        return ih_reader_open_function(src, input->read, input->read_user, err);
    if (input->is_stdin)
        return ih_reader_open_fd(src, STDIN_FILENO, err);
    struct stat st;
    const enum ih_status status = ih_reader_open_path(src, input->path, err);
    if (status == IH_IO && !input->is_named && ih_path_stat(input->path, &st, 0) != 0 &&
        errno == ENOENT)
        return ih_error_set(err, IH_UNKNOWN, "it was removed after its folder had been read");
    return status;
}

/* The time since *last_ns, which is set to now. */
static uint64_t lap(uint64_t *last_ns)
{
    uint64_t before_ns = *last_ns;
    *last_ns = ih_clock_ns();
    return *last_ns - before_ns;
}

/* Gives all stripes of an opened image to the lane: as planes if the decoder and the backend both
 * support them, else as pixels. selection: NULL: all pixels. thumbnail: of all pixels; NULL: none.
 */
static enum ih_status count_stripes(const struct ih_count_spec *spec,
                                    struct ih_selection *selection,
                                    const struct ih_band_pass *bands, struct ih_nodata_pass *nodata,
                                    struct ih_thumbnail *thumbnail, struct ih_decode *decode,
                                    struct ih_lane *lane, struct ih_result *result)
{
    struct ih_error *err = &result->error;
    struct ih_times *times = &result->times;
    const struct ih_layout stored = decode->info.layout;
    const enum ih_sample_type type = decode->info.type; /* before keep makes it that of spec */
    const size_t pixel_bytes = ih_pixel_bytes(stored.n_channels, type);
    const bool skips_transparent =
        result->measure.alpha == IH_ALPHA_SKIP_TRANSPARENT && stored.has_alpha;
    uint64_t last_ns = ih_clock_ns();
    enum ih_status status = ih_lane_begin(lane, spec, err);
    const bool makes_keys = status == IH_OK && !decode->info.has_nodata &&
                            ih_lane_make_keys(lane, decode->info.width * decode->info.height);
    const size_t planes_bytes = !selection && !bands->from && !thumbnail &&
                                        !decode->info.has_nodata && ih_lane_takes_planes(lane)
                                    ? ih_decode_planes_bytes(decode)
                                    : 0;
    const size_t min_bytes = planes_bytes ? planes_bytes : ih_decode_row_bytes(decode);
    while (status == IH_OK) {
        struct ih_planes planes = {.n_rows = 0};
        uint8_t *buffer;
        size_t size_bytes, n_pixels = 0;
        status = ih_lane_stripe(lane, min_bytes, &buffer, &size_bytes, err);
        times->count_ns += lap(&last_ns);
        if (status == IH_OK && planes_bytes)
            status = ih_decode_read_planes(decode, buffer, size_bytes, &planes, err);
        else if (status == IH_OK)
            status = ih_decode_read(decode, buffer, size_bytes / pixel_bytes, &n_pixels, err);
        times->decode_ns += lap(&last_ns);
        if (status == IH_OK && n_pixels == 0 && planes.n_rows == 0)
            break;
        if (status == IH_OK && thumbnail)
            ih_thumbnail_add(thumbnail, buffer, n_pixels);
        if (status == IH_OK && selection)
            n_pixels = ih_selection_keep(selection, buffer, n_pixels, pixel_bytes);
        if (status == IH_OK && skips_transparent)
            n_pixels = ih_samples_drop_transparent(buffer, n_pixels, stored.n_channels, type);
        if (status == IH_OK)
            ih_band_pass_keep(bands, buffer, n_pixels, ih_sample_bytes(type));
        if (status == IH_OK && !makes_keys)
            ih_keys_make(type, buffer, n_pixels * spec->layout.n_channels);
        if (status == IH_OK && decode->info.has_nodata)
            n_pixels = ih_nodata_keep(nodata, buffer, NULL, n_pixels);
        if (status == IH_OK && planes.n_rows > 0)
            status = ih_lane_count_planes(lane, &planes, err);
        else if (status == IH_OK && n_pixels > 0)
            status = ih_lane_count(lane, n_pixels, err);
    }
    return status;
}

/* Loads the mask or label image of an input if each has its own. It comes before the image, which
 * may wait for memory: an image that holds memory must not wait. */
static enum ih_status find_mask(const struct ih_scan_options *options, const struct ih_input *input,
                                struct ih_mask *mask, struct ih_error *err)
{
    const struct ih_mask_options *of = &options->mask;
    *mask = (struct ih_mask){.has_labels = of->has_labels};
    if (!options->measure.mask || of->one)
        return IH_OK;
    return ih_mask_find(mask, options->measure.mask, input->path + input->name_at, options->outputs,
                        options->n_outputs, &options->decode, of->budget, err);
}

/* Bins are allocated before the image is read, and must not wait: the image may hold memory. */
static enum ih_status check_bins(const struct ih_scan_options *options,
                                 const struct ih_count_spec *spec, bool has_nodata,
                                 struct ih_error *err)
{
    char needed[IH_BYTES_TEXT_MAX], limit[IH_BYTES_TEXT_MAX];
    const struct ih_budget *const budget = options->decode.budget;
    const uint64_t n_bytes =
        ih_bins_bytes(spec->layout.n_channels + 1, spec->n_bins) * (1 + has_nodata);
    const uint64_t share = budget ? budget->size_bytes / options->n_threads : UINT64_MAX;
    if (n_bytes <= IH_SMALL_BINS_BYTES || n_bytes <= share)
        return IH_OK;
    return ih_error_set_limit(
        err, IH_LIMIT_MAX_MEMORY, share,
        "the bins of its %u channels take %s of memory, a thread may take %s; count fewer bands",
        spec->layout.n_channels, ih_bytes_print(n_bytes, needed), ih_bytes_print(share, limit));
}

/* Counts the image that decode is at. mask: the input's own, or empty. */
static enum ih_status count_image(const struct ih_scan_options *options, const struct ih_mask *mask,
                                  struct ih_decode *decode, struct ih_lane *lane,
                                  struct ih_result *result)
{
    const struct ih_image_info *info = &decode->info;
    struct ih_band_pass bands;
    struct ih_measure *m = &result->measure;
    struct ih_error *err = &result->error;
    struct ih_count_spec spec;
    const struct ih_mask *used = options->mask.one ? options->mask.one : m->mask ? mask : NULL;
    const bool has_selection = m->region || m->mask;
    struct ih_selection selection;
    struct ih_thumbnail thumbnail = {.sums = NULL};
    struct ih_nodata_pass nodata = {.has_key = false};
    const bool has_thumbnail =
        options->makes_thumbnails && ih_is_unsigned(info->type) && ih_layout_is_plain(info->layout);
    result->decoder_version = result->library = decode->decoder->version;

    enum ih_status status = ih_band_pass_start(&bands, &options->bands, info, err);
    ih_measure_levels(m, &bands.info);
    if (status == IH_OK)
        status = ih_nodata_start(&nodata, &bands.info, m, false, err);
    spec = nodata.spec;
    if (status == IH_OK)
        status = ih_measure_image(m, &spec, err);
    if (status == IH_OK)
        status = check_bins(options, &spec, info->has_nodata, err);
    if (status == IH_OK)
        status = ih_nodata_begin(&nodata, &spec, err);
    if (status == IH_OK && has_thumbnail)
        status = ih_thumbnail_start(&thumbnail, info, err);
    if (status == IH_OK && has_selection)
        status = ih_selection_start(&selection, info, m->region, used, err);
    if (status == IH_OK)
        status = count_stripes(&spec, has_selection ? &selection : NULL, &bands, &nodata,
                               has_thumbnail ? &thumbnail : NULL, decode, lane, result);
    if (status == IH_OK && has_selection && selection.n_kept == 0)
        status = ih_error_set(err, IH_LIMIT, "the mask selects no pixel of the %s",
                              m->region ? "region" : "image");
    if (status == IH_OK && has_thumbnail) /* while a GPU counts the last stripe */
        status = ih_thumbnail_end(&thumbnail, info->orientation, &result->thumbnail,
                                  &result->thumbnail_bytes, err);
    uint64_t last_ns = ih_clock_ns();
    if (status == IH_OK)
        status = ih_lane_end(lane, &result->histogram, &result->kernel, err);
    if (status == IH_OK)
        ih_nodata_end(&nodata, &result->histogram);
    if (status == IH_OK) {
        result->histogram.band_names = bands.info.band_names;
        bands.info.band_names = NULL;
    }
    if (status == IH_OK)
        ih_histogram_set_apart(&result->histogram);
    result->times.count_ns += lap(&last_ns);
    if (status != IH_OK) {
        free(result->thumbnail);
        result->thumbnail = NULL;
    }
    ih_thumbnail_reset(&thumbnail);
    ih_nodata_reset(&nodata);
    result->info = *info; /* with what the last pixels told */
    result->info.layout = bands.info.layout;
    result->info.levels = bands.info.levels;
    result->info.band_names = NULL;
    ih_band_pass_reset(&bands);
    return status;
}

static void begin_result(const struct ih_scan_options *options, const struct ih_input *input,
                         struct ih_result *result)
{
    memset(result, 0, sizeof *result);
    result->path = input->path;
    result->measure = options->measure;
}

/* What decoders have to know of the measure. */
static struct ih_decode_options decode_options(const struct ih_scan_options *options)
{
    struct ih_decode_options decode = options->decode;
    decode.sample_range = options->measure.range;
    decode.takes_native = options->measure.takes_native;
    decode.nodata = options->measure.nodata;
    return decode;
}

/* Takes the time of reading out of that of decoding. *read_ns: of src when it was last taken. */
static void split_times(struct ih_result *result, const struct ih_reader *src, uint64_t *read_ns)
{
    const uint64_t more_ns = src->read_ns - *read_ns;
    result->times.read_ns += more_ns;
    result->times.decode_ns -= more_ns;
    *read_ns = src->read_ns;
}

/* Goes on to further images as long as there are some. Returns the number of the last, or of the
 * one that failed; its result is in result. */
static uint64_t count_frames(const struct ih_scan_options *options, const struct ih_input *input,
                             struct ih_lane *lane, const struct ih_mask *mask,
                             struct ih_decode *decode, const struct ih_frames *frames,
                             uint64_t *read_ns, struct ih_result *result)
{
    const struct ih_decode_options with = decode_options(options);
    uint64_t number = 1;
    while (result->status == IH_OK) {
        struct ih_error error = {0};
        bool has_next = false;
        uint64_t last_ns = ih_clock_ns();
        split_times(result, decode->src, read_ns);
        const enum ih_status status = ih_decode_next(decode, &with, &has_next, &error);
        const uint64_t next_ns = lap(&last_ns);
        if (status == IH_OK && !has_next) {
            result->times.decode_ns += next_ns;
            break;
        }
        const bool goes_on = frames->take(frames->user, number++, result);
        result->thumbnail = NULL;
        if (!goes_on)
            break;
        begin_result(options, input, result);
        result->times.decode_ns = next_ns;
        result->status = status;
        result->error = error;
        if (status == IH_OK)
            result->status = count_image(options, mask, decode, lane, result);
    }
    return number;
}

/* Gives a result for each label, and keeps the last. mask: the input's own, or empty. */
static enum ih_status count_labels(const struct ih_scan_options *options,
                                   const struct ih_mask *mask, struct ih_decode *decode,
                                   const struct ih_frames *frames, struct ih_result *result)
{
    struct ih_zones zones = {.n = 0};
    struct ih_result next;
    uint32_t label = 0;
    result->decoder_version = result->library = decode->decoder->version;
    result->counted_by = "cpu";
    assert(frames); /* ih_count_images gives it */
    const struct ih_mask *const labels = options->mask.one ? options->mask.one : mask;
    enum ih_status status =
        ih_zones_count(&zones, &options->mask, &options->bands, labels, decode, result);
    if (status == IH_OK) {
        if (decode->info.n_frames > 1 || ih_decode_has_next(decode))
            result->info.warnings |= IH_WARNING_MORE_IMAGES;
        const struct ih_result common = *result;
        ih_zones_next(&zones, &label, result);
        status = result->status;
        for (next = common; ih_zones_next(&zones, &label, &next); next = common) {
            const struct ih_times times = result->times;
            result->times = (struct ih_times){0}; /* the last has those of the image */
            const bool goes_on = frames->take(frames->user, 1, result);
            *result = next;
            result->times = times;
            status = next.status;
            if (!goes_on)
                break;
        }
    }
    ih_zones_reset(&zones);
    return status;
}

/* Checks that an opened source is no output, finds its decoder and counts it. Returns the number of
 * the image that result describes. */
static uint64_t count_source(const struct ih_scan_options *options, const struct ih_input *input,
                             struct ih_lane *lane, struct ih_reader *src,
                             const struct ih_frames *frames, uint64_t *read_ns,
                             struct ih_result *result)
{
    struct ih_error *err = &result->error, conflict = {0}, no_mask = {0};
    struct ih_file_identity id;
    struct ih_decode decode;
    struct ih_mask mask;
    const struct ih_decode_options with = decode_options(options);
    uint64_t number = 1;
    if (ih_reader_identity(src, &id))
        ih_check_not_output(&id, options->outputs, options->n_outputs, &conflict);
    uint64_t last_ns = ih_clock_ns();
    find_mask(options, input, &mask, &no_mask);
    result->status = ih_decode_open(&decode, src, &with, err);
    result->times.decode_ns += lap(&last_ns);
    bool is_open = result->status == IH_OK;
    /* In a directory walk, an output that is not an image is skipped like any other such file. */
    if (conflict.status != IH_OK && (input->is_named || result->status != IH_UNKNOWN)) {
        *err = conflict;
        result->status = conflict.status;
    }
    if (result->status == IH_OK && no_mask.status != IH_OK) {
        *err = no_mask;
        result->status = no_mask.status;
    }
    if (result->status == IH_OK && options->mask.has_labels)
        result->status = count_labels(options, &mask, &decode, frames, result);
    else if (result->status == IH_OK)
        result->status = count_image(options, &mask, &decode, lane, result);
    if (result->status == IH_OK && frames && !options->mask.has_labels)
        number = count_frames(options, input, lane, &mask, &decode, frames, read_ns, result);
    if (result->status == IH_OK && (decode.info.n_frames > number || ih_decode_has_next(&decode)))
        result->info.warnings |= IH_WARNING_MORE_IMAGES;
    if (frames && (result->info.warnings & IH_WARNING_MORE_IMAGES))
        result->info.n_frames = 0; /* another file follows, with some more */
    if (is_open) {
        last_ns = ih_clock_ns();
        ih_decode_close(&decode);
        result->times.decode_ns += lap(&last_ns);
    }
    ih_mask_release(&mask, options->mask.budget);
    return number;
}

bool ih_input_may_be_archive(const struct ih_scan_options *options, const struct ih_input *input)
{
    return options->reads_archives && !options->decode.raw_channels && !input->bytes &&
           !input->array && !input->holds_records && input->error.status == IH_OK &&
           (input->is_named || ih_archive_is_name(input->path));
}

enum ih_status ih_input_open(const struct ih_scan_options *options, const struct ih_input *input,
                             struct ih_reader *src, bool *is_archive, struct ih_error *err)
{
    struct ih_file_identity id;
    enum ih_archive_kind kind = IH_ARCHIVE_NONE;
    const uint8_t *head;
    size_t size;
    *is_archive = false;
    enum ih_status status = open_reader(input, src, err);
    if (status != IH_OK || !ih_input_may_be_archive(options, input))
        return status;
    status = ih_reader_peek(src, IH_PROBE_BYTES, &head, &size, err);
    if (status == IH_OK && (kind = ih_archive_probe(head, size)) == IH_ARCHIVE_UNSURE) {
        status = ih_reader_peek(src, IH_ARCHIVE_PROBE_BYTES, &head, &size, err);
        kind = ih_archive_probe(head, size);
    }
    *is_archive = status == IH_OK && kind != IH_ARCHIVE_NONE && kind != IH_ARCHIVE_UNSURE &&
                  (kind != IH_ARCHIVE_EMPTY || ih_archive_is_name(input->path));
    if (*is_archive && ih_reader_identity(src, &id))
        status = ih_check_not_output(&id, options->outputs, options->n_outputs, err);
    return status;
}

uint64_t ih_count_reader(const struct ih_scan_options *options, const struct ih_input *input,
                         struct ih_lane *lane, struct ih_reader *src,
                         const struct ih_frames *frames, struct ih_result *result)
{
    uint64_t read_ns = src->read_ns;
    begin_result(options, input, result);
    result->times.read_ns = read_ns;
    const uint64_t number = count_source(options, input, lane, src, frames, &read_ns, result);
    split_times(result, src, &read_ns);
    ih_reader_close(src);
    return number;
}

void ih_count_input(const struct ih_scan_options *options, const struct ih_input *input,
                    struct ih_lane *lane, struct ih_reader *src, struct ih_result *result)
{
    struct ih_error error = {0};
    if (open_reader(input, src, &error) == IH_OK) {
        ih_count_reader(options, input, lane, src, NULL, result);
        return;
    }
    memset(result, 0, sizeof *result);
    result->path = input->path;
    result->status = error.status;
    result->error = error;
    ih_reader_close(src);
}
