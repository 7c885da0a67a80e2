/*
 * Zones: the pixels of each label of a label image are counted apart, in one pass over the image.
 *
 * A row of a stripe is cut where the label changes, and each run of pixels goes to the counters of
 * its label. So a label costs memory only if it occurs, and label images with large areas cost
 * little time. The CPU counts.
 */
#include "scan/scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STRIPE_BYTES_MIN = 1 << 18 };

/* Bytes that the result of a label takes until it is written. */
static uint64_t zone_bytes(const struct ih_count_spec *spec)
{
    enum { RESULT_BYTES = 2048 }; /* of what describes it */
    const uint64_t n_planes = spec->layout.n_channels + 1;
    return sizeof(struct ih_bands_counter) + RESULT_BYTES +
           n_planes * (spec->n_bins * sizeof(uint64_t) + sizeof(struct ih_float_sums));
}

/* The counters of a label; NULL: the reason is in err. */
static struct ih_bands_counter *find_zone(struct ih_zones *z, const struct ih_mask_options *options,
                                          uint16_t label, struct ih_error *err)
{
    if (z->numbers[label])
        return &z->zones[z->numbers[label] - 1];
    const uint64_t each_bytes = zone_bytes(&z->spec), bytes_max = options->zones_bytes_max;
    if (bytes_max && z->n >= bytes_max / each_bytes) {
        ih_error_set(err, IH_LIMIT,
                     "it has more than %" PRIu32 " labels of %" PRIu64 " KiB, and each thread may "
                     "take %" PRIu64 " MiB for them",
                     z->n, each_bytes >> 10, bytes_max >> 20);
        err->limit = IH_LIMIT_MAX_MEMORY;
        return NULL;
    }
    if (z->n == z->capacity) {
        const uint32_t capacity = z->capacity ? 2 * z->capacity : 16;
        struct ih_bands_counter *const larger = realloc(z->zones, capacity * sizeof *larger);
        if (!larger) {
            ih_error_set(err, IH_MEMORY, "out of memory");
            return NULL;
        }
        memset(larger + z->capacity, 0, (capacity - z->capacity) * sizeof *larger);
        z->zones = larger;
        z->capacity = capacity;
    }
    struct ih_bands_counter *const zone = &z->zones[z->n];
    if (ih_bands_begin(zone, &z->spec, err) != IH_OK)
        return NULL;
    z->numbers[label] = ++z->n;
    return zone;
}

/* Counts float32 samples. Neighbours of one sign and exponent are added to the sums together. */
static void add_floats(struct ih_histogram *h, const uint8_t *pixels, size_t n)
{
    enum { PART_MAX = 1 << 23, EXPONENT_SHIFT = 23 };
    const unsigned n_channels = h->layout.n_channels;
    h->n_pixels += n;
    for (unsigned c = 0; c < n_channels; c++) {
        struct ih_float_sums *const sums = ih_floats(h, c);
        struct ih_float_part part = {0, 0, 0};
        uint32_t key, last = 0;
        size_t n_part = 0;
        for (size_t i = 0; i < n; i++) {
            memcpy(&key, pixels + (i * n_channels + c) * sizeof key, sizeof key);
            key = ih_float_key(key);
            if (key < IH_FLOAT_KEY_FIRST || key > IH_FLOAT_KEY_LAST) {
                ih_specials(h, c)[ih_float_special(key)]++;
                continue;
            }
            if (n_part > 0 && (n_part == PART_MAX || (key ^ last) >> EXPONENT_SHIFT)) {
                ih_float_sums_add_part(sums, last >> 16, &part, 0);
                part = (struct ih_float_part){0, 0, 0};
                n_part = 0;
            }
            const uint64_t low = key & 0xFFFF;
            ih_float_part_add(&part, key >> 16, 1, low, low * low);
            ih_bins(h, c)[key >> 16]++;
            sums->min_key = key < sums->min_key ? key : sums->min_key;
            sums->max_key = key > sums->max_key ? key : sums->max_key;
            last = key;
            n_part++;
        }
        if (n_part > 0)
            ih_float_sums_add_part(sums, last >> 16, &part, 0);
    }
}

/* Counts n decoded pixels of a label, which are changed. */
static void add_run(const struct ih_zones *z, struct ih_bands_counter *zone,
                    struct ih_nodata_pass *nodata, bool skips_transparent, uint8_t *pixels,
                    size_t n)
{
    const enum ih_sample_type type = z->bands.info.type;
    if (skips_transparent)
        n = ih_samples_drop_transparent(pixels, n, z->bands.n_stored, type);
    ih_band_pass_keep(&z->bands, pixels, n, ih_sample_bytes(type));
    ih_keys_make(type, pixels, n * z->spec.layout.n_channels);
    if (nodata->has_key) { /* pixels without data are added to the zone, not apart */
        nodata->apart = zone->totals;
        n = ih_nodata_keep(nodata, pixels, NULL, n);
        zone->totals = nodata->apart;
        nodata->apart = (struct ih_histogram){.bins = NULL};
    } else {
        n = ih_nodata_keep(nodata, pixels, NULL, n);
    }
    if (zone->spec.type == IH_FLOAT32)
        add_floats(&zone->totals, pixels, n);
    else
        ih_bands_add(zone, pixels, n);
    ih_nodata_end(nodata, &zone->totals);
}

/* Cuts the pixels of a stripe where the label changes. */
static enum ih_status add_stripe(struct ih_zones *z, const struct ih_mask_options *options,
                                 const struct ih_mask *labels, struct ih_nodata_pass *nodata,
                                 struct ih_pixel_order_walk *walk, bool skips_transparent,
                                 size_t n_pixels, struct ih_error *err)
{
    const size_t pixel_bytes = ih_pixel_bytes(z->bands.n_stored, z->bands.info.type);
    struct ih_pixel_order_run run;
    uint8_t *at = z->pixels;
    for (size_t n = 0; n < n_pixels && ih_pixel_order_next(walk, n_pixels - n, &run); n += run.n) {
        const uint16_t *const row = labels->labels + (size_t)(run.y * labels->width);
        uint64_t x = run.x;
        for (size_t i = 0, n_same; i < run.n; i += n_same, at += n_same * pixel_bytes) {
            const uint16_t label = row[x];
            for (n_same = 0; i + n_same < run.n && row[x] == label; n_same++)
                x += (uint64_t)run.x_step;
            if (label + 1u == options->ignored_end)
                continue;
            struct ih_bands_counter *const zone = find_zone(z, options, label, err);
            if (!zone)
                return err->status;
            add_run(z, zone, nodata, skips_transparent, at, n_same);
        }
    }
    return IH_OK;
}

/* Decodes and counts all stripes. */
static enum ih_status count_stripes(struct ih_zones *z, const struct ih_mask_options *options,
                                    const struct ih_mask *labels, struct ih_nodata_pass *nodata,
                                    struct ih_decode *decode, struct ih_result *result)
{
    struct ih_error *const err = &result->error;
    const struct ih_image_info *const info = &decode->info;
    const size_t pixel_bytes = ih_pixel_bytes(info->layout.n_channels, info->type);
    const bool skips_transparent =
        result->measure.alpha == IH_ALPHA_SKIP_TRANSPARENT && info->layout.has_alpha;
    const size_t row_bytes = ih_decode_row_bytes(decode);
    const size_t n_bytes = row_bytes > STRIPE_BYTES_MIN ? row_bytes : STRIPE_BYTES_MIN;
    struct ih_pixel_order_walk walk;
    z->pixels = malloc(n_bytes);
    z->numbers = calloc(IH_LABELS_MAX, sizeof *z->numbers);
    if (!z->pixels || !z->numbers)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    ih_pixel_order_start(&walk, &info->order, info->width, info->height);
    for (size_t n_pixels = 1;;) {
        const uint64_t start_ns = ih_clock_ns();
        enum ih_status status =
            ih_decode_read(decode, z->pixels, n_bytes / pixel_bytes, &n_pixels, err);
        const uint64_t decoded_ns = ih_clock_ns();
        result->times.decode_ns += decoded_ns - start_ns;
        if (status == IH_OK && n_pixels > 0)
            status =
                add_stripe(z, options, labels, nodata, &walk, skips_transparent, n_pixels, err);
        result->times.count_ns += ih_clock_ns() - decoded_ns;
        if (status != IH_OK || n_pixels == 0)
            return status;
    }
}

enum ih_status ih_zones_count(struct ih_zones *z, const struct ih_mask_options *options,
                              const struct ih_bands *bands, const struct ih_mask *labels,
                              struct ih_decode *decode, struct ih_result *result)
{
    struct ih_error *const err = &result->error;
    const struct ih_image_info *const info = &decode->info;
    struct ih_nodata_pass nodata = {.has_key = false};
    enum ih_status status = ih_band_pass_start(&z->bands, bands, info, err);
    ih_measure_levels(&result->measure, &z->bands.info);
    if (status == IH_OK)
        status = ih_nodata_start(&nodata, &z->bands.info, &result->measure, false, err);
    z->spec = nodata.spec;
    if (status == IH_OK)
        status = ih_measure_image(&result->measure, &z->spec, err);
    nodata.spec = z->spec; /* its pixels go to the zones: ih_nodata_begin is not due */
    if (status == IH_OK && (labels->width != info->width || labels->height != info->height))
        status = ih_error_set(err, IH_LIMIT,
                              "the label image has %" PRIu64 " x %" PRIu64
                              " pixels, and the image %" PRIu64 " x %" PRIu64,
                              labels->width, labels->height, info->width, info->height);
    if (status == IH_OK)
        status = count_stripes(z, options, labels, &nodata, decode, result);
    if (status == IH_OK && z->n == 0)
        status = ih_error_set(err, IH_LIMIT, "all its pixels have the label %u, which is ignored",
                              options->ignored_end - 1);
    ih_nodata_reset(&nodata);
    result->info = *info;
    result->info.layout = z->bands.info.layout;
    result->info.levels = z->bands.info.levels;
    result->info.band_names = NULL;
    return status;
}

bool ih_zones_next(struct ih_zones *z, uint32_t *label, struct ih_result *result)
{
    struct ih_histogram *const h = &result->histogram;
    while (*label < IH_LABELS_MAX && z->numbers[*label] == 0)
        ++*label;
    if (*label == IH_LABELS_MAX)
        return false;
    ih_bands_end(&z->zones[z->numbers[*label] - 1], h);
    ih_histogram_derive(h, &z->spec);
    ih_histogram_set_apart(h);
    if (ih_band_names_copy(&h->band_names, z->bands.info.band_names, h->layout.n_channels,
                           &result->error) != IH_OK) {
        ih_histogram_reset(h);
        result->status = IH_MEMORY;
    }
    result->has_label = true;
    result->label = *label;
    z->numbers[*label] = 0;
    return true;
}

void ih_zones_reset(struct ih_zones *z)
{
    for (uint32_t i = 0; i < z->n; i++)
        ih_bands_reset(&z->zones[i]);
    free(z->zones);
    free(z->numbers);
    free(z->pixels);
    ih_band_pass_reset(&z->bands);
    *z = (struct ih_zones){.n = 0};
}
