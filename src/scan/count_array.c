/*
 * Counting pixels in host memory. The CPU counts rows where they lie, interleaved or planar, from
 * 64 pixels on, with luma from 512. Shorter rows, other layouts, and pixels for GPUs are copied or
 * gathered into stripes.
 */
#include "decode/samples.h"
#include "scan/scan.h"

enum {
    SAMPLE_16_MAX = 65535,
    HERE_PIXELS = 1 << 18,       /* between looks at the clock */
    HERE_STEP = 32,              /* the pixels that SIMD takes at once */
    HERE_LEAST = 64,             /* starting a shorter row costs more than copying it */
    HERE_LEAST_SLOW = 512,       /* the same with luma, and of native samples */
    HERE_STRIPE_BYTES = 1 << 14, /* copied pixels are counted in the first-level cache */
    TAKEN_SAMPLES = 1 << 18,     /* by a thread at a time: about 70 us */
};

/* Pixels that have been checked. */
struct view {
    struct ih_array a;   /* with strides and a range */
    bool is_interleaved; /* the samples of a row are bytes without gaps */
    bool has_alpha;
    bool is_planar; /* the colours of a row are, each for itself */
    uint64_t n_pixels;
    uint64_t per_step, alpha_per_step; /* 16 bits: see scale */
    struct ih_native native;           /* of the samples in a stripe */
    struct ih_nodata_pass *nodata;     /* borrowed; NULL: no sample stands for no data */
    const struct ih_band_pass *bands;  /* borrowed; NULL: all */
};

/* round((v - low) * 255 / span), half up, for v between low and low + span. The division by
 * 2 * span is a multiplication by 2^48 / (2 * span), rounded up: exact, because the dividend is
 * below 2^26 and the divisor below 2^17. */
static uint64_t reciprocal(uint32_t span)
{
    return ((uint64_t)1 << 48) / (2 * (uint64_t)span) + 1;
}

static uint8_t scale(uint16_t sample, uint32_t low, uint32_t high, uint64_t per_step)
{
    const uint32_t clamped = sample < low ? low : sample > high ? high : sample;
    return (uint8_t)(((uint64_t)(clamped - low) * 510 + (high - low)) * per_step >> 48);
}

/* The three bytes of each pixel, to neighbours. */
static void gather_rgb(const struct view *v, const uint8_t *from, uint8_t *to, size_t n)
{
    const ptrdiff_t pixel = v->a.pixel_stride_bytes, channel = v->a.channel_stride_bytes;
    for (; n > 0; n--, to += 3, from += pixel) {
        to[0] = from[0];
        to[1] = from[channel];
        to[2] = from[2 * channel];
    }
}

/* Gathers n pixels of one row. */
static void gather(const struct view *v, const uint8_t *from, uint8_t *stripe, size_t n)
{
    const unsigned n_channels = v->a.n_channels;
    for (unsigned c = 0; c < n_channels; c++) {
        const bool is_alpha = v->has_alpha && c + 1 == n_channels; /* the range is of the others */
        const uint32_t low = is_alpha ? 0 : v->a.range_low;
        const uint32_t high = is_alpha ? SAMPLE_16_MAX : v->a.range_high;
        const uint64_t per_step = is_alpha ? v->alpha_per_step : v->per_step;
        const uint8_t *sample = from + (ptrdiff_t)c * v->a.channel_stride_bytes;
        uint8_t *to = stripe + c;
        for (size_t i = 0; i < n; i++, to += n_channels) {
            const uint8_t *at = sample + (ptrdiff_t)i * v->a.pixel_stride_bytes;
            uint16_t wide;
            if (v->a.depth == 8) {
                *to = *at;
                continue;
            }
            if (v->a.depth == 32) {
                uint8_t *const sample_32 = stripe + 4 * (i * n_channels + c);
                for (unsigned b = 0; b < 4; b++)
                    sample_32[b] = at[v->a.swaps_bytes ? 3 - b : b];
                continue;
            }
            memcpy(&wide, at, sizeof wide);
            if (v->a.swaps_bytes)
                wide = (uint16_t)(wide << 8 | wide >> 8);
            if (v->native.type == IH_UINT16)
                wide = ih_native_of(&v->native, wide, is_alpha);
            if (ih_is_native(v->native.type))
                ih_native_put(stripe, i * n_channels + c, wide);
            else
                *to = scale(wide, low, high, per_step);
        }
    }
}

/* Fills in which samples of n pixels, from the first on, are masked. */
static void fill_masked(const struct view *v, uint64_t first, uint8_t *masked, size_t n)
{
    const struct ih_array *a = &v->a;
    uint64_t x = first % a->width;
    const uint8_t *row = a->mask + (ptrdiff_t)(first / a->width) * a->mask_row_stride_bytes;
    for (; n > 0; n--) {
        const uint8_t *const pixel = row + (ptrdiff_t)x * a->mask_pixel_stride_bytes;
        for (unsigned c = 0; c < a->n_channels; c++)
            *masked++ = pixel[(ptrdiff_t)c * a->mask_channel_stride_bytes];
        if (++x == a->width) {
            x = 0;
            row += a->mask_row_stride_bytes;
        }
    }
}

/* Drops transparent pixels and their masks. */
static size_t drop_masked(const struct view *v, uint8_t *pixels, uint8_t *masked, size_t n)
{
    const unsigned n_channels = v->a.n_channels;
    const size_t pixel_bytes = ih_pixel_bytes(n_channels, v->native.type);
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t *const pixel = pixels + i * pixel_bytes;
        if (ih_samples_drop_transparent(pixel, 1, n_channels, v->native.type) == 0)
            continue;
        memmove(pixels + n_kept * pixel_bytes, pixel, pixel_bytes);
        memmove(masked + n_kept++ * n_channels, masked + i * n_channels, n_channels);
    }
    return n_kept;
}

/* Fills a stripe with the pixels that follow the first *done. Returns their number. */
static size_t fill_stripe(const struct view *v, uint64_t *done, uint8_t *stripe,
                          size_t capacity_pixels)
{
    const struct ih_array *a = &v->a;
    ptrdiff_t row = (ptrdiff_t)(*done / a->width), column = (ptrdiff_t)(*done % a->width);
    size_t n_filled = 0;
    for (; n_filled < capacity_pixels && *done < v->n_pixels; row++, column = 0) {
        const size_t room = capacity_pixels - n_filled, n_left = (size_t)a->width - (size_t)column;
        const size_t n = room < n_left ? room : n_left;
        const uint8_t *from =
            (const uint8_t *)a->data + row * a->row_stride_bytes + column * a->pixel_stride_bytes;
        uint8_t *to = stripe + n_filled * ih_pixel_bytes(a->n_channels, v->native.type);
        if (v->is_interleaved)
            memcpy(to, from, n * ih_pixel_bytes(a->n_channels, v->native.type));
        else if (a->depth == 8 && a->n_channels == 3)
            gather_rgb(v, from, to, n);
        else
            gather(v, from, to, n);
        n_filled += n;
        *done += n;
    }
    return n_filled;
}

/* Counts the first n_columns of each row where they lie. */
static enum ih_status count_here(const struct view *v, uint64_t n_columns, struct ih_lane *lane,
                                 struct ih_time_limit *time, struct ih_error *err)
{
    const struct ih_array *a = &v->a;
    const uint64_t n = n_columns < HERE_PIXELS ? n_columns : HERE_PIXELS;
    const uint64_t rows_each = HERE_PIXELS / n;
    enum ih_status status = IH_OK;
    for (uint64_t y = 0; y < a->height && status == IH_OK; y += rows_each)
        for (uint64_t x = 0; x < n_columns && status == IH_OK; x += n) {
            const uint8_t *samples[IH_PIXEL_CHANNELS_MAX] = {NULL};
            const uint8_t *from = (const uint8_t *)a->data + (ptrdiff_t)y * a->row_stride_bytes +
                                  (ptrdiff_t)x * a->pixel_stride_bytes;
            for (unsigned c = 0; c < (v->is_planar ? a->n_channels : 1); c++)
                samples[c] = from + (ptrdiff_t)c * a->channel_stride_bytes;
            ih_lane_count_here(lane, samples, (size_t)(n_columns - x < n ? n_columns - x : n),
                               (size_t)(a->height - y < rows_each ? a->height - y : rows_each),
                               a->row_stride_bytes);
            status = ih_time_limit_check(time, err);
        }
    return status;
}

/* Counts rows where they lie if that is possible, and the rest through stripes. lane: has begun. */
static enum ih_status count_view(const struct view *v, bool drops_pixels, bool has_luma,
                                 bool makes_keys, struct ih_lane *lane, struct ih_time_limit *time,
                                 struct ih_error *err)
{
    const unsigned n_channels = v->a.n_channels;
    const unsigned n_kept = v->bands ? v->bands->info.layout.n_channels : n_channels;
    const size_t pixel_bytes = ih_pixel_bytes(n_channels, v->native.type);
    const bool counts_here = ih_lane_counts_here(lane);
    const bool is_key =
        makes_keys || ih_is_unsigned(v->native.type) || v->native.type == IH_FLOAT32;
    const bool starts_slowly = has_luma || ih_is_native(v->native.type);
    const uint64_t least = starts_slowly ? HERE_LEAST_SLOW : HERE_LEAST;
    uint8_t mask[HERE_STRIPE_BYTES], *const masked = v->a.mask ? mask : NULL;
    enum ih_status status = IH_OK;
    struct view rest = *v; /* columns that are not counted where they lie */
    if (counts_here && is_key && !drops_pixels && !v->nodata && !v->bands && v->n_pixels > 0 &&
        v->a.width >= least &&
        (v->is_interleaved || (v->is_planar && ih_lane_takes_planes(lane)))) {
        const uint64_t n = v->a.height == 1 ? v->a.width : v->a.width / HERE_STEP * HERE_STEP;
        status = count_here(v, n, lane, time, err);
        rest.a.width -= n;
        if (rest.a.width > 0)
            rest.a.data = (const uint8_t *)v->a.data + (ptrdiff_t)n * v->a.pixel_stride_bytes;
        rest.n_pixels = rest.a.width * rest.a.height;
    }
    for (uint64_t done = 0; status == IH_OK && done < rest.n_pixels;) {
        uint8_t *stripe;
        size_t size_bytes;
        status = ih_time_limit_check(time, err);
        if (status == IH_OK)
            status = ih_lane_stripe(lane, pixel_bytes, &stripe, &size_bytes, err);
        if (status != IH_OK)
            break;
        if (counts_here && size_bytes > HERE_STRIPE_BYTES)
            size_bytes = HERE_STRIPE_BYTES;
        size_t n = size_bytes / pixel_bytes;
        if (masked && n > HERE_STRIPE_BYTES / n_channels)
            n = HERE_STRIPE_BYTES / n_channels;
        const uint64_t first = done;
        n = fill_stripe(&rest, &done, stripe, n < HERE_STEP ? n : n / HERE_STEP * HERE_STEP);
        if (masked)
            fill_masked(&rest, first, masked, n);
        if (drops_pixels)
            n = masked ? drop_masked(v, stripe, masked, n)
                       : ih_samples_drop_transparent(stripe, n, n_channels, v->native.type);
        if (v->bands)
            ih_band_pass_keep(v->bands, stripe, n, ih_sample_bytes(v->native.type));
        if (v->bands && masked)
            ih_band_pass_keep(v->bands, masked, n, sizeof *masked);
        if (!makes_keys)
            ih_keys_make(v->native.type, stripe, n * n_kept);
        if (v->nodata)
            n = ih_nodata_keep(v->nodata, stripe, masked, n);
        if (n > 0)
            status = ih_lane_count(lane, n, err);
    }
    return status;
}

/* Exchanges the planes and sums of red and blue. */
static void exchange_red_and_blue(struct ih_histogram *h)
{
    uint64_t *const red = ih_bins(h, 0), *const blue = ih_bins(h, 2);
    for (unsigned i = 0; i < h->n_bins; i++) {
        const uint64_t n = red[i];
        red[i] = blue[i];
        blue[i] = n;
    }
    const uint64_t sum = h->sums[0];
    h->sums[0] = h->sums[2];
    h->sums[2] = sum;
    for (unsigned i = 0; i < IH_SPECIALS; i++) {
        const uint64_t n = h->specials[0][i];
        h->specials[0][i] = h->specials[2][i];
        h->specials[2][i] = n;
    }
    if (h->floats) {
        const struct ih_float_sums sums = h->floats[0];
        h->floats[0] = h->floats[2];
        h->floats[2] = sums;
    }
}

/* Checks depth and range, and fills in their defaults. */
static enum ih_status check_samples(struct ih_array *a, struct ih_error *err)
{
    a->depth = a->depth ? a->depth : 8;
    if (a->n_channels < 1 || a->n_channels > IH_CHANNELS_MAX)
        return ih_error_set(err, IH_USAGE, "array: %u channels, must be 1 to %d", a->n_channels,
                            IH_CHANNELS_MAX);
    if (a->has_strides > 1)
        return ih_error_set(err, IH_USAGE, "array: has_strides is %u, must be 0 or 1",
                            a->has_strides);
    if (a->depth != 8 && a->depth != 16 && a->depth != 32)
        return ih_error_set(err, IH_USAGE, "array: %u bits per sample, must be 8, 16 or 32",
                            a->depth);
    if ((unsigned)a->number > IH_NUMBER_BFLOAT16 || a->swaps_bytes > 1)
        return ih_error_set(err, IH_USAGE, "array: number %u or swaps_bytes %u is not known",
                            (unsigned)a->number, a->swaps_bytes);
    if (a->number == IH_NUMBER_FLOAT
            ? a->depth == 8
            : a->depth == 32 || (a->number == IH_NUMBER_BFLOAT16 && a->depth != 16))
        return ih_error_set(err, IH_USAGE, "array: no such samples of %u bits", a->depth);
    if (a->number != IH_NUMBER_UNSIGNED && (a->range_low || a->range_high))
        return ih_error_set(err, IH_USAGE, "array: a range is for unsigned samples");
    if ((unsigned)a->order > IH_ORDER_BGR)
        return ih_error_set(err, IH_USAGE, "array: order %u is not known", (unsigned)a->order);
    if (a->depth == 8 && (a->range_low || a->range_high))
        return ih_error_set(err, IH_USAGE, "array: a range needs 16 bits per sample");
    if (a->range_high == 0)
        a->range_high = SAMPLE_16_MAX;
    if (a->range_low >= a->range_high || a->range_high > SAMPLE_16_MAX)
        return ih_error_set(err, IH_USAGE,
                            "array: 0 <= range_low (%u) < range_high (%u) <= 65535 does not hold",
                            a->range_low, a->range_high);
    return IH_OK;
}

/* Checks where the samples lie, and fills in the strides of interleaved pixels without gaps. */
static enum ih_status check_strides(struct ih_array *a, struct ih_error *err)
{
    const size_t sample_bytes = a->depth / 8;
    size_t row_bytes, span_bytes = sample_bytes;
    if (!a->data)
        return ih_error_set(err, IH_USAGE, "array: data is NULL");
    if (!a->has_strides) {
        if (a->width > SIZE_MAX ||
            !ih_size_multiply((size_t)a->width, a->n_channels * sample_bytes, &row_bytes) ||
            row_bytes > PTRDIFF_MAX)
            return ih_error_set(err, IH_USAGE, "array: larger than any memory");
        a->channel_stride_bytes = (ptrdiff_t)sample_bytes;
        a->pixel_stride_bytes = (ptrdiff_t)(a->n_channels * sample_bytes);
        a->row_stride_bytes = (ptrdiff_t)row_bytes;
    }
    if (!ih_size_add_span(a->width, a->pixel_stride_bytes, &span_bytes) ||
        !ih_size_add_span(a->height, a->row_stride_bytes, &span_bytes) ||
        !ih_size_add_span(a->n_channels, a->channel_stride_bytes, &span_bytes) ||
        a->width > UINT64_MAX / a->height)
        return ih_error_set(err, IH_USAGE, "array: larger than any memory");
    span_bytes = 1;
    if (a->mask && (!ih_size_add_span(a->width, a->mask_pixel_stride_bytes, &span_bytes) ||
                    !ih_size_add_span(a->height, a->mask_row_stride_bytes, &span_bytes) ||
                    !ih_size_add_span(a->n_channels, a->mask_channel_stride_bytes, &span_bytes)))
        return ih_error_set(err, IH_USAGE, "array: the mask is larger than any memory");
    return IH_OK;
}

enum ih_status ih_array_check(struct ih_array *array, struct ih_error *err)
{
    enum ih_status status = check_samples(array, err);
    if (status == IH_OK && array->width > 0 && array->height > 0)
        status = check_strides(array, err);
    return status;
}

/* The array as the loops take it: rows without gaps become one row, for fewer and longer copies. */
static struct view view_of(const struct ih_array *array, const struct ih_native *native,
                           struct ih_nodata_pass *nodata, const struct ih_band_pass *bands)
{
    const ptrdiff_t sample_bytes = (ptrdiff_t)(array->depth / 8);
    struct view v = {.a = *array,
                     .n_pixels = array->width * array->height,
                     .per_step = reciprocal(array->range_high - array->range_low),
                     .alpha_per_step = reciprocal(SAMPLE_16_MAX),
                     .has_alpha = ih_layout_of_array(array->n_channels).has_alpha,
                     .native = *native,
                     .nodata = nodata,
                     .bands = bands};
    /* Samples that keep their values are copied, as those of 8 bits are. */
    v.is_interleaved =
        !v.a.swaps_bytes && (v.a.depth == 8 || native->n_bins == IH_NATIVE_BINS_MAX) &&
        native->low == 0 && v.a.pixel_stride_bytes == (ptrdiff_t)v.a.n_channels * sample_bytes &&
        (v.a.channel_stride_bytes == sample_bytes || v.a.n_channels == 1);
    v.is_planar = v.a.depth == 8 && v.a.pixel_stride_bytes == 1 && v.a.n_channels >= 3 &&
                  v.a.n_channels <= IH_PIXEL_CHANNELS_MAX;
    if (v.n_pixels > 0 && !v.a.mask && (v.is_interleaved || v.is_planar) &&
        v.a.row_stride_bytes == (ptrdiff_t)v.a.width * v.a.pixel_stride_bytes) {
        v.a.width = v.n_pixels;
        v.a.height = 1;
    }
    return v;
}

/* Sets *taken to the next rows that no call has taken, and returns their number; 0: none are left.
 * A thread that starts late takes fewer. */
static uint64_t take_rows(const struct ih_array *array, struct ih_array_rows *rows,
                          bool counts_here, struct ih_array *taken)
{
    const uint64_t height = array->height;
    uint64_t n = height / rows->n_threads + (height % rows->n_threads > 0);
    if (rows->n_threads > 1 && counts_here) {
        const uint64_t n_short = TAKEN_SAMPLES / array->n_channels / array->width + 1;
        n = n < n_short ? n : n_short;
    }
    const uint64_t first = atomic_fetch_add(&rows->n_taken, n);
    *taken = *array;
    taken->height = first >= height ? 0 : n < height - first ? n : height - first;
    if (first > 0 && taken->height > 0) /* an empty array may have no address */
        taken->data = (const uint8_t *)array->data + (ptrdiff_t)first * array->row_stride_bytes;
    if (array->mask && taken->height > 0)
        taken->mask = array->mask + (ptrdiff_t)first * array->mask_row_stride_bytes;
    return taken->height;
}

/* Of samples that keep their values. */
static enum ih_sample_type type_of(const struct ih_array *a)
{
    return a->number == IH_NUMBER_BFLOAT16 ? IH_BFLOAT16
           : a->number == IH_NUMBER_FLOAT  ? (a->depth == 32 ? IH_FLOAT32 : IH_FLOAT16)
           : a->depth == 8                 ? IH_INT8
                                           : IH_INT16;
}

/* Prepares to count apart what stands for no data: the samples of the run's value, if the array can
 * have it, and those that are masked. Then *native is of samples that keep their values, and the
 * pass reduces them. Completes the measure and *spec, whose layout, type and bins are set. */
static enum ih_status start_nodata(struct ih_nodata_pass *p, const struct ih_array *a,
                                   struct ih_measure *m, struct ih_native *native,
                                   struct ih_count_spec *spec, bool *has_nodata,
                                   struct ih_error *err)
{
    struct ih_image_info info = {.layout = spec->layout, .nodata = m->nodata.value};
    struct ih_native kept = *native;
    unsigned key;
    memset(p, 0, sizeof *p);
    if (ih_is_unsigned(kept.type))
        ih_native_choose(&kept, true, (struct ih_sample_range){0, 0}, (1u << a->depth) - 1, err);
    info.type = kept.type;
    info.n_bins = kept.n_bins;
    info.has_nodata =
        m->nodata.kind == IH_NODATA_OF_RUN &&
        (kept.type == IH_FLOAT32 || ih_bin_find(kept.type, kept.n_bins, info.nodata, &key));
    *has_nodata = info.has_nodata || a->mask;
    if (*has_nodata) {
        if (ih_nodata_start(p, &info, m, a->mask != NULL, err) != IH_OK)
            return err->status;
        *native = kept;
    }
    return ih_measure_image(m, spec, err);
}

static enum ih_status start_bands(struct ih_band_pass *bands, const struct ih_scan_options *o,
                                  struct ih_layout stored, struct ih_result *result)
{
    const struct ih_image_info info = {.layout = stored};
    result->status = ih_band_pass_start(bands, &o->bands, &info, &result->error);
    if (result->status != IH_OK)
        ih_band_pass_reset(bands);
    return result->status;
}

/* BGR is counted as RGB with the weights of red and blue exchanged, so it costs nothing. */
void ih_count_array_in(const struct ih_scan_options *o, const struct ih_array *array,
                       struct ih_array_rows *shared, struct ih_lane *lane, struct ih_result *result)
{
    const struct ih_layout stored = ih_layout_of_array(array->n_channels);
    const struct ih_luma_weights *luma = o->measure.luma;
    const struct ih_luma_weights bgr = {luma->name, luma->blue, luma->green, luma->red};
    memset(result, 0, sizeof *result);
    result->measure = o->measure;
    const bool has_bands = o->bands.last > 0;
    struct ih_band_pass bands; /* large, so used only if some are chosen */
    if (has_bands && start_bands(&bands, o, stored, result) != IH_OK)
        return;
    const struct ih_layout layout = has_bands ? bands.info.layout : stored;
    const bool is_bgr = array->order == IH_ORDER_BGR && layout.n_colours == 3;
    struct ih_native native;
    const struct ih_sample_range range = {(uint16_t)array->range_low, (uint16_t)array->range_high};
    if (array->number == IH_NUMBER_UNSIGNED)
        ih_native_choose(&native, o->measure.takes_native, range, (1u << array->depth) - 1,
                         &result->error); /* never more than 16 bits */
    else
        native = (struct ih_native){.type = type_of(array),
                                    .n_bins = array->depth == 8 ? IH_BINS : IH_NATIVE_BINS_MAX};
    struct ih_count_spec spec = {.layout = layout, .type = native.type, .n_bins = native.n_bins};
    struct ih_nodata_pass nodata;
    bool has_nodata;
    if (ih_is_unsigned(spec.type) && array->depth == 16 &&
        (range.low > 0 || range.high < SAMPLE_16_MAX))
        result->measure.range = range;
    result->status =
        start_nodata(&nodata, array, &result->measure, &native, &spec, &has_nodata, &result->error);
    const bool has_luma = layout.n_colours == 3 && spec.luma != &ih_luma_none;
    if (is_bgr && has_luma)
        spec.luma = &bgr;
    result->info = (struct ih_image_info){.format = "",
                                          .width = array->width,
                                          .height = array->height,
                                          .layout = layout,
                                          .type = spec.type,
                                          .n_bins = spec.n_bins,
                                          .source_depth = array->depth};
    struct ih_array_rows all = {.n_threads = 1};
    struct ih_array_rows *rows = shared ? shared : &all;
    struct ih_time_limit time = {.interrupt = o->decode.interrupt};
    struct ih_error *err = &result->error;
    const bool drops_pixels = o->measure.alpha == IH_ALPHA_SKIP_TRANSPARENT && stored.has_alpha;
    struct ih_array taken;
    if (result->status == IH_OK)
        result->status = ih_nodata_begin(&nodata, &spec, err);
    if (result->status == IH_OK)
        result->status = ih_lane_begin(lane, &spec, err);
    const bool makes_keys = result->status == IH_OK && !has_nodata &&
                            ih_lane_make_keys(lane, array->width * array->height / rows->n_threads);
    while (result->status == IH_OK &&
           take_rows(array, rows, ih_lane_counts_here(lane), &taken) > 0) {
        const struct view v =
            view_of(&taken, &native, has_nodata ? &nodata : NULL, has_bands ? &bands : NULL);
        result->status = count_view(&v, drops_pixels, has_luma, makes_keys, lane, &time, err);
    }
    if (result->status == IH_OK)
        result->status = ih_lane_end(lane, &result->histogram, &result->kernel, err);
    if (result->status == IH_OK)
        ih_nodata_end(&nodata, &result->histogram);
    if (result->status == IH_OK && has_bands) {
        result->histogram.band_names = bands.info.band_names;
        bands.info.band_names = NULL;
    }
    if (result->status == IH_OK)
        ih_histogram_set_apart(&result->histogram);
    if (is_bgr && result->status == IH_OK)
        exchange_red_and_blue(&result->histogram);
    ih_nodata_reset(&nodata);
    if (has_bands)
        ih_band_pass_reset(&bands);
}
