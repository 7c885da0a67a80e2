#include "output/record.h"

#include "base/text.h"
#include "histogram/region.h"
#include "histogram/total.h"

#include <math.h>
#include <string.h>

enum { TEXT_MAX = 256 };
#define NO_COUNT UINT64_MAX /* null */

/* ---- fields ---- */

static bool read_text(struct ih_json_in *in, void *to)
{
    return ih_json_text(in, to);
}

static bool read_count(struct ih_json_in *in, void *to)
{
    return ih_json_count(in, to);
}

static bool read_count_or_null(struct ih_json_in *in, void *to)
{
    uint64_t *n = to;
    *n = NO_COUNT;
    return ih_json_next_is(in, 'n') ? ih_json_skip(in) : ih_json_count(in, n);
}

static bool read_real(struct ih_json_in *in, void *to)
{
    return ih_json_real(in, to);
}

static bool read_bool(struct ih_json_in *in, void *to)
{
    return ih_json_bool(in, to);
}

static bool read_bins(struct ih_json_in *in, void *to)
{
    return ih_json_counts(in, to, IH_BINS);
}

#define FIELD(type, name, read, member)           \
    {                                             \
        name, read, offsetof(struct type, member) \
    }
#define N_OF(array) (sizeof(array) / sizeof *(array))
#define ALL_OF(array) ((UINT64_C(1) << N_OF(array)) - 1)

static const struct ih_json_field channel_fields[] = {
    FIELD(ih_record_channel, "name", read_text, name),
    FIELD(ih_record_channel, "count", read_count, count),
    FIELD(ih_record_channel, "sum", read_count, sum),
    FIELD(ih_record_channel, "mean", read_real, mean),
    FIELD(ih_record_channel, "stddev", read_real, stddev),
    FIELD(ih_record_channel, "min", read_real, min),
    FIELD(ih_record_channel, "max", read_real, max),
    FIELD(ih_record_channel, "p01", read_real, percentile[0]),
    FIELD(ih_record_channel, "p05", read_real, percentile[1]),
    FIELD(ih_record_channel, "p25", read_real, percentile[2]),
    FIELD(ih_record_channel, "median", read_real, percentile[3]),
    FIELD(ih_record_channel, "p75", read_real, percentile[4]),
    FIELD(ih_record_channel, "p95", read_real, percentile[5]),
    FIELD(ih_record_channel, "p99", read_real, percentile[6]),
    FIELD(ih_record_channel, "entropy", read_real, entropy),
    FIELD(ih_record_channel, "clip_low", read_count, clip_low),
    FIELD(ih_record_channel, "clip_high", read_count, clip_high),
    FIELD(ih_record_channel, "histogram", read_bins, bins),
};

bool ih_record_read_position(struct ih_json_in *in, void *to)
{
    uint64_t *position = to;
    position[2] = 0;
    return ih_json_token(in, '[') && ih_json_count(in, &position[0]) && ih_json_token(in, ',') &&
           ih_json_count(in, &position[1]) &&
           (*in->p != ',' || (ih_json_token(in, ',') && ih_json_count(in, &position[2]))) &&
           ih_json_token(in, ']');
}

static bool read_channel(struct ih_json_in *in, void *to)
{
    struct ih_record *r = to;
    if (r->n_channels == IH_PLANES)
        return ih_json_fail(in, "more channels than an image has");
    struct ih_record_channel *c = &r->channels[r->n_channels++];
    if (!ih_json_object(in, channel_fields, N_OF(channel_fields), c, &c->seen))
        return false;
    return c->seen == ALL_OF(channel_fields) || ih_json_fail(in, "a channel lacks a key");
}

static bool read_channels(struct ih_json_in *in, void *to)
{
    struct ih_record *r = (struct ih_record *)((char *)to - offsetof(struct ih_record, channels));
    return ih_json_array(in, read_channel, r);
}

static bool read_limits(struct ih_json_in *in, void *to)
{
    static const struct ih_json_field fields[] = {
        FIELD(ih_record_limits, "low", read_count, low),
        FIELD(ih_record_limits, "high", read_count, high)};
    uint64_t seen;
    return ih_json_object(in, fields, N_OF(fields), to, &seen) &&
           (seen == ALL_OF(fields) || ih_json_fail(in, "clip_limits lacks a key"));
}

static bool read_clip(struct ih_json_in *in, void *to)
{
    static const struct ih_json_field fields[] = {
        FIELD(ih_record_clip, "any_low", read_count, any_low),
        FIELD(ih_record_clip, "any_high", read_count, any_high),
        FIELD(ih_record_clip, "all_low", read_count, all_low),
        FIELD(ih_record_clip, "all_high", read_count, all_high),
        FIELD(ih_record_clip, "low", read_count, low),
        FIELD(ih_record_clip, "high", read_count, high),
    };
    enum { COUNTS = 15 };
    uint64_t seen;
    ((struct ih_record_clip *)to)->high = NO_COUNT;
    return ih_json_object(in, fields, N_OF(fields), to, &seen) &&
           ((seen & COUNTS) == COUNTS || ih_json_fail(in, "clip lacks a key"));
}

static bool read_not_applied_name(struct ih_json_in *in, void *to)
{
    static const char *const names[] = {"icc_profile", "gamma", "colour_space", "orientation"};
    char *text;
    if (!ih_json_text(in, &text))
        return false;
    for (unsigned i = 0; text && i < N_OF(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *(unsigned *)to |= 1u << i;
            return true;
        }
    return ih_json_fail(in, "an unknown name in not_applied");
}

static bool read_not_applied(struct ih_json_in *in, void *to)
{
    unsigned *not_applied = to;
    if (ih_json_next_is(in, 'n')) {
        *not_applied = IH_NOT_APPLIED_UNKNOWN;
        return ih_json_skip(in);
    }
    *not_applied = 0;
    return ih_json_array(in, read_not_applied_name, to);
}

static bool read_warning(struct ih_json_in *in, void *to)
{
    char *text;
    if (!ih_json_text(in, &text))
        return false;
    for (unsigned w = 1; text && w < IH_WARNINGS_END; w *= 2)
        if (strcmp(text, ih_warning_text((enum ih_warning)w)) == 0) {
            *(unsigned *)to |= w;
            return true;
        }
    return ih_json_fail(in, "an unknown warning");
}

static bool read_warnings(struct ih_json_in *in, void *to)
{
    return ih_json_array(in, read_warning, to);
}

/* In the order of out_json.c. After n_failed: older names. */
static const struct ih_json_field record_fields[] = {
    FIELD(ih_record, "schema", read_text, schema),
    FIELD(ih_record, "version", read_text, version),
    FIELD(ih_record, "file", read_text, file),
    FIELD(ih_record, "file_b64", read_text, file_b64),
    FIELD(ih_record, "total", read_bool, is_total),
    FIELD(ih_record, "shard", read_text, shard),
    FIELD(ih_record, "run", read_text, run),
    FIELD(ih_record, "position", ih_record_read_position, position),
    FIELD(ih_record, "resume", read_text, resume),
    FIELD(ih_record, "status", read_text, status),
    FIELD(ih_record, "error", read_text, error),
    FIELD(ih_record, "n_images", read_count, n_images),
    FIELD(ih_record, "n_failed", read_count, n_failed),
    FIELD(ih_record, "folder", read_text, folder),
    FIELD(ih_record, "format", read_text, format),
    FIELD(ih_record, "library", read_text, library),
    FIELD(ih_record, "width", read_count_or_null, width),
    FIELD(ih_record, "height", read_count_or_null, height),
    FIELD(ih_record, "pixels", read_count, pixels),
    FIELD(ih_record, "frames", read_count, frames),
    FIELD(ih_record, "source_depth", read_count_or_null, source_depth),
    FIELD(ih_record, "source_min", read_count, source_min),
    FIELD(ih_record, "source_max", read_count, source_max),
    FIELD(ih_record, "range", read_text, range),
    FIELD(ih_record, "reduction", read_text, reduction),
    FIELD(ih_record, "luma_weights", read_text, luma_weights),
    FIELD(ih_record, "alpha", read_text, alpha),
    FIELD(ih_record, "region", read_text, region),
    FIELD(ih_record, "mask", read_text, mask),
    FIELD(ih_record, "mask_hash", read_text, mask_hash),
    FIELD(ih_record, "clip_limits", read_limits, limits),
    FIELD(ih_record, "not_applied", read_not_applied, not_applied),
    FIELD(ih_record, "channels", read_channels, channels),
    FIELD(ih_record, "mean_luma", read_real, mean_luma),
    FIELD(ih_record, "mean_luminance", read_real, mean_luminance),
    FIELD(ih_record, "clip", read_clip, clip),
    FIELD(ih_record, "warnings", read_warnings, warnings),
    FIELD(ih_record, "not_counted", read_count, not_counted),
    FIELD(ih_record, "decoder", read_text, decoder),
    FIELD(ih_record, "device", read_text, device),
    FIELD(ih_record, "kernel", read_text, kernel),
    FIELD(ih_record, "records", read_count, n_records), /* of a shard's end */
    FIELD(ih_record, "luma", read_text, luma_weights),  /* version 1 */
    FIELD(ih_record, "n_pixels", read_count, pixels),   /* version 1 */
};

_Static_assert(N_OF(record_fields) <= 64, "seen has a bit for each");

/* The keys that a counted record has in both versions, in version 2, and in version 1. */
static const char *const required[IH_REQUIRED_SETS][11] = {
    [IH_REQUIRED] = {"schema", "file", "status", "width", "height", "source_depth", "channels",
                     "mean_luma", "mean_luminance", "clip"},
    [IH_REQUIRED_2] = {"pixels", "reduction", "luma_weights", "alpha", "clip_limits",
                       "not_applied"},
    [IH_REQUIRED_1] = {"luma"},
    [IH_REQUIRED_PLACE] = {"position"},
    [IH_REQUIRED_END] = {"shard", "run", "records"},
    [IH_REQUIRED_TOTAL] = {"n_images", "n_failed"},
    [IH_BOTH_EXTREMES] = {"source_min", "source_max"},
};

void ih_record_reader_init(struct ih_record_reader *r)
{
    memset(r, 0, sizeof *r);
    ih_srgb_decode(r->linear);
    for (unsigned i = 0; i <= IH_LOG2_STEPS; i++)
        r->log2[i] = log2(1 + i / (double)IH_LOG2_STEPS);
    for (unsigned set = 0; set < IH_REQUIRED_SETS; set++)
        for (const char *const *name = required[set]; *name; name++)
            for (size_t i = 0; i < N_OF(record_fields); i++)
                if (strcmp(record_fields[i].name, *name) == 0)
                    r->required[set] |= UINT64_C(1) << i;
}

static bool has_all(const struct ih_record_reader *r, enum ih_required set)
{
    return (r->required[set] & ~r->record.seen) == 0;
}

/* ---- the meaning of a record ---- */

/* Whether a text can be shown as it is: printable ASCII, not empty, not long. */
static bool is_plain(const char *text)
{
    size_t n = 0;
    for (; text[n]; n++)
        if (text[n] < ' ' || text[n] > '~' || n == TEXT_MAX)
            return false;
    return n > 0;
}

static const char *plain_or_null(const char *text)
{
    return text && is_plain(text) ? text : NULL;
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes in place. Returns false for bytes that no path has, or that are not base64. */
static bool decode_base64(char *text)
{
    const size_t n = strlen(text);
    char *to = text;
    if (n == 0 || n % 4 != 0)
        return false;
    const size_t n_padding = text[n - 1] != '=' ? 0 : text[n - 2] != '=' ? 1 : 2;
    for (size_t at = 0; at < n; at += 4) {
        unsigned group = 0;
        for (size_t i = at; i < at + 4; i++) {
            const int digit = i < n - n_padding ? base64_digit(text[i]) : 0;
            if (digit < 0)
                return false;
            group = group << 6 | (unsigned)digit;
        }
        const unsigned n_bytes = at + 4 < n ? 3 : 3 - (unsigned)n_padding;
        for (unsigned i = 0; i < n_bytes; i++) {
            *to = (char)(group >> (16 - 8 * i) & 255);
            if (*to++ == '\0')
                return false;
        }
    }
    *to = '\0';
    return true;
}

/* Real numbers have 6 decimals, and the last one may differ between machines. */
static bool is_near(double written, double computed)
{
    if (isnan(written) || isnan(computed))
        return isnan(written) && isnan(computed);
    return fabs(written - computed) <= 1.6e-6 + 1e-15 * fabs(computed);
}

static bool is_value(double written, unsigned value, bool is_empty)
{
    return is_empty ? isnan(written) : written == (double)value;
}

/* log2 of a positive normal number to 6 decimals, much faster than log2: between the two numbers of
 * the table. Finite for 0. */
static inline double log2_of(const double table[IH_LOG2_STEPS + 1], double x)
{
    const uint64_t one = UINT64_C(1023) << 52;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const size_t i = bits >> (52 - IH_LOG2_BITS) & (IH_LOG2_STEPS - 1);
    const double exponent = (int)(bits >> 52) - 1023;
    bits = one | (bits << IH_LOG2_BITS & ((UINT64_C(1) << 52) - 1));
    memcpy(&x, &bits, sizeof x);
    return exponent + table[i] + (x - 1) * (table[i + 1] - table[i]);
}

/* The real statistics, by formulas that are faster than those of ih_stats_compute and good enough
 * for 6 decimals. */
static bool are_reals_right(const struct ih_record_reader *r, const struct ih_record_channel *c,
                            const uint64_t bins[IH_BINS], uint64_t count, uint64_t sum)
{
    const double n = (double)count, mean = (double)sum / n;
    double squares = 0, logs = 0, d = -mean;
    if (count == 0)
        return isnan(c->mean) && isnan(c->stddev) && isnan(c->entropy);
    for (unsigned v = 0; v < IH_BINS; v++, d++) {
        const double b = (double)(int64_t)bins[v]; /* below 2^56 */
        squares += b * d * d;
        logs += b * log2_of(r->log2, b);
    }
    return is_near(c->mean, mean) && is_near(c->stddev, sqrt(squares / n)) &&
           is_near(c->entropy, log2(n) - logs / n);
}

static bool are_statistics_right(const struct ih_record_reader *reader,
                                 const struct ih_record_channel *c, unsigned plane)
{
    const struct ih_result *r = &reader->result;
    const uint64_t *bins = r->histogram.bins[plane];
    struct ih_stats s;
    ih_stats_count(&r->histogram, plane, &r->spec, &s);
    const bool is_empty = s.count == 0;
    bool is_right = c->count == s.count && c->sum == s.sum && c->clip_low == s.clip_low &&
                    c->clip_high == s.clip_high && is_value(c->min, s.min, is_empty) &&
                    is_value(c->max, s.max, is_empty);
    for (unsigned i = 0; i < IH_PERCENTILES; i++)
        is_right = is_right && is_value(c->percentile[i], s.percentile[i], is_empty);
    return is_right && are_reals_right(reader, c, bins, s.count, s.sum);
}

static bool check_statistics(struct ih_record_reader *r, struct ih_json_in *in)
{
    const struct ih_histogram *h = &r->result.histogram;
    const struct ih_record *from = &r->record;
    const uint64_t n = h->n_pixels;
    const double mean_luma = n ? (double)h->sum[IH_LUMA] / (double)n : (double)NAN;
    for (unsigned i = 0; i < from->n_channels; i++)
        if (!are_statistics_right(r, &from->channels[i],
                                  i + 1 == from->n_channels ? (unsigned)IH_LUMA : i))
            return ih_json_fail(in, "statistics that contradict the histogram");
    if (!is_near(from->mean_luma, mean_luma))
        return ih_json_fail(in, "a mean luma that contradicts the histogram");
    if (!is_near(from->mean_luminance, ih_mean_luminance_by(h, r->linear)))
        return ih_json_fail(in, "a mean luminance that contradicts the histogram");
    return true;
}

/* The channels' names must be those of an image with this number of channels, luma last. */
static bool use_channels(struct ih_record_reader *r, struct ih_json_in *in)
{
    const struct ih_record *from = &r->record;
    struct ih_histogram *h = &r->result.histogram;
    if (from->n_channels == 0)
        return ih_json_fail(in, "no channels");
    const unsigned n = h->n_channels = from->n_channels - 1;
    r->result.spec.n_channels = r->result.info.n_channels = n;
    for (unsigned i = 0; i <= n; i++) {
        const unsigned plane = i == n ? (unsigned)IH_LUMA : i;
        const char *name = ih_plane_name(n, plane);
        if (!name || !from->channels[i].name || strcmp(from->channels[i].name, name) != 0)
            return ih_json_fail(in, "channels that no image has");
        memcpy(h->bins[plane], from->channels[i].bins, sizeof h->bins[plane]);
    }
    h->any_low = from->clip.any_low;
    h->any_high = from->clip.any_high;
    h->all_low = from->clip.all_low;
    h->all_high = from->clip.all_high;
    return true;
}

static bool use_alpha(struct ih_record_reader *r, struct ih_json_in *in, bool is_old)
{
    const struct ih_record *from = &r->record;
    struct ih_result *to = &r->result;
    const struct ih_histogram *h = &to->histogram;
    to->alpha = IH_ALPHA_EITHER;
    if (!is_old) {
        if (from->alpha && strcmp(from->alpha, "count") == 0)
            to->alpha = IH_ALPHA_COUNT;
        else if (from->alpha && strcmp(from->alpha, "skip-transparent") == 0)
            to->alpha = IH_ALPHA_SKIP_TRANSPARENT;
        else if (from->alpha)
            return ih_json_fail(in, "an unknown alpha policy");
        return true;
    }
    /* Version 1 does not tell, but its counts may. */
    const unsigned n_colours = h->n_channels ? ih_colour_channels(h->n_channels) : 0;
    if (h->n_channels == n_colours && (to->is_total || h->n_pixels > 0))
        return true; /* without alpha both are the same */
    if (h->bins[n_colours][0] > 0)
        to->alpha = IH_ALPHA_COUNT;
    else if (to->is_total || h->n_pixels == 0 ||
             to->info.width > UINT64_MAX / (to->info.height ? to->info.height : 1) ||
             h->n_pixels < to->info.width * to->info.height)
        to->alpha = IH_ALPHA_SKIP_TRANSPARENT;
    return true;
}

static bool use_settings(struct ih_record_reader *r, struct ih_json_in *in, bool is_old)
{
    const struct ih_record *from = &r->record;
    struct ih_result *to = &r->result;
    const uint64_t low = is_old ? from->clip.low : from->limits.low;
    const uint64_t high = is_old ? from->clip.high : from->limits.high;
    struct ih_region region;
    struct ih_error ignored;
    to->spec.luma = from->luma_weights ? ih_luma_find(from->luma_weights) : NULL;
    if (!to->spec.luma)
        return ih_json_fail(in, "unknown luma weights");
    if (high >= IH_BINS || low >= high)
        return ih_json_fail(in, "clip limits that contradict each other");
    if (!is_old && (!from->reduction || !ih_reduction_parse(from->reduction, &to->sample_range)))
        return ih_json_fail(in, "an unknown reduction of deeper samples");
    if ((from->region && (ih_region_parse(from->region, &region, &ignored) != IH_OK ||
                          strcmp(region.text, from->region) != 0)) ||
        (from->mask && (!*from->mask || strlen(from->mask) >= IH_MASK_NAME_MAX)))
        return ih_json_fail(in, "an impossible region or mask");
    to->region = from->region;
    to->mask = from->mask;
    to->spec.clip_low = (uint8_t)low;
    to->spec.clip_high = (uint8_t)high;
    return true;
}

/* The extremes of the stored samples. */
static bool use_extremes(struct ih_record_reader *r, struct ih_json_in *in)
{
    const struct ih_record *from = &r->record;
    const bool has_some = (r->required[IH_BOTH_EXTREMES] & from->seen) != 0;
    if (has_some && (!has_all(r, IH_BOTH_EXTREMES) || from->source_min > from->source_max ||
                     from->source_max > UINT16_MAX))
        return ih_json_fail(in, "impossible extremes of its samples");
    if (has_some)
        r->result.info.extremes =
            (struct ih_extremes){(uint32_t)from->source_min, (uint32_t)from->source_max + 1};
    return true;
}

/* Format, size and what the file says about itself. */
static bool use_image(struct ih_record_reader *r, struct ih_json_in *in, bool is_old)
{
    const struct ih_record *from = &r->record;
    struct ih_image_info *to = &r->result.info;
    r->result.version = !is_old && from->version ? from->version : "";
    r->result.library = !is_old && from->library ? from->library : "";
    to->not_applied = is_old ? IH_NOT_APPLIED_UNKNOWN : from->not_applied;
    if ((*r->result.version && !is_plain(r->result.version)) ||
        strlen(r->result.version) >= IH_VERSION_MAX ||
        (*r->result.library && !is_plain(r->result.library)))
        return ih_json_fail(in, "an impossible version");
    if (!use_extremes(r, in))
        return false;
    if (from->is_total) {
        r->result.n_images = from->n_images;
        r->result.n_failed = from->n_failed;
        r->result.folder = from->folder;
        r->result.library = NULL;
        return true;
    }
    if (!from->format || (*from->format && !is_plain(from->format)) || from->width == NO_COUNT ||
        from->height == NO_COUNT || from->source_depth > 32 || from->frames > UINT32_MAX ||
        from->not_counted > UINT32_MAX)
        return ih_json_fail(in, "an impossible format, size or depth");
    to->format = from->format;
    to->width = from->width;
    to->height = from->height;
    to->source_depth = (unsigned)from->source_depth;
    to->warnings = from->warnings;
    to->n_not_counted = (unsigned)from->not_counted;
    to->n_frames = (unsigned)from->frames;
    for (unsigned i = 1; i < IH_RANGES && from->range; i++)
        if (strcmp(from->range, ih_range_names[i]) == 0)
            to->range = (enum ih_range)i;
    if (from->range && to->range == IH_RANGE_UNKNOWN)
        return ih_json_fail(in, "an unknown range");
    r->result.decoder_version = plain_or_null(from->decoder);
    r->result.counted_by = plain_or_null(from->device);
    r->result.kernel = plain_or_null(from->kernel);
    return true;
}

static bool use_counted(struct ih_record_reader *r, struct ih_json_in *in, bool is_old)
{
    struct ih_result *to = &r->result;
    struct ih_error reason;
    if (!has_all(r, IH_REQUIRED) || !has_all(r, is_old ? IH_REQUIRED_1 : IH_REQUIRED_2) ||
        (r->record.is_total && !has_all(r, IH_REQUIRED_TOTAL)))
        return ih_json_fail(in, "a record lacks a key");
    to->is_total = r->record.is_total;
    to->histogram.n_pixels =
        is_old && !to->is_total ? r->record.channels[0].count : r->record.pixels;
    if (!use_channels(r, in) || !use_settings(r, in, is_old) || !use_image(r, in, is_old) ||
        !use_alpha(r, in, is_old))
        return false;
    if (ih_result_check(to, &reason) != IH_OK)
        return ih_json_fail(in, "counts that contradict each other");
    return check_statistics(r, in);
}

/* A hash of 16 hexadecimal digits; NULL: 0. */
static bool use_hash(struct ih_json_in *in, const char *text, uint64_t *hash)
{
    static const char digits[] = "0123456789abcdef";
    *hash = 0;
    if (text && (strlen(text) != 16 || strspn(text, digits) != 16))
        return ih_json_fail(in, "a hash that is not of 16 digits");
    for (; text && *text; text++)
        *hash = *hash << 4 | (uint64_t)(strchr(digits, *text) - digits);
    return true;
}

/* Where the record was in its run. */
static bool use_place(struct ih_record_reader *r, struct ih_json_in *in)
{
    struct ih_record *from = &r->record;
    struct ih_result *to = &r->result;
    uint64_t shard, n_shards;
    if (!use_hash(in, from->mask_hash, &to->mask_hash) || !use_hash(in, from->run, &to->run) ||
        !use_hash(in, from->resume, &to->inputs_hash))
        return false;
    if (from->shard) {
        char *slash = strchr(from->shard, '/');
        if (slash)
            *slash = '\0';
        if (!slash || !ih_parse_number(slash + 1, false, IH_SHARDS_MAX, &n_shards) ||
            !ih_parse_number(from->shard, false, n_shards, &shard) || shard == 0)
            return ih_json_fail(in, "an impossible shard");
        to->shard = (unsigned)shard;
        to->n_shards = (unsigned)n_shards;
    }
    to->input = from->position[0];
    to->member = from->position[1];
    to->frame = from->position[2];
    to->is_end = from->status && strcmp(from->status, "end") == 0;
    if (to->is_end ? !has_all(r, IH_REQUIRED_END)
                   : (to->n_shards || to->inputs_hash) && !from->is_total &&
                         !has_all(r, IH_REQUIRED_PLACE))
        return ih_json_fail(in, "a record without its place in the run");
    return true;
}

/* Turns the record into the result. */
static bool use_record(struct ih_record_reader *r, struct ih_json_in *in)
{
    struct ih_record *from = &r->record;
    struct ih_result *to = &r->result;
    const bool is_old = from->schema && strcmp(from->schema, "imghist/1") == 0;
    memset(to, 0, sizeof *to);
    to->is_read = true;
    if (!is_old && (!from->schema || strcmp(from->schema, "imghist/2") != 0))
        return ih_json_fail(in, from->schema && strncmp(from->schema, "imghist/", 8) == 0
                                    ? "of a newer imghist: this one reads imghist/1 and imghist/2"
                                    : "not a record of imghist");
    if (!use_place(r, in))
        return false;
    if (to->is_end) {
        to->path = "";
        to->status = IH_UNKNOWN;
        to->n_images = from->n_records;
        return true;
    }
    if (!from->file || !from->status)
        return ih_json_fail(in, "a record without file or status");
    if (from->file_b64 && !decode_base64(from->file_b64))
        return ih_json_fail(in, "file_b64 is not base64");
    if (strlen(from->file_b64 ? from->file_b64 : from->file) >= IH_PATH_BYTES_MAX)
        return ih_json_fail(in, "a path longer than any path");
    to->path = from->is_total ? IH_TOTAL_NAME : from->file_b64 ? from->file_b64 : from->file;
    if (strcmp(from->status, "ok") == 0)
        return use_counted(r, in, is_old);
    if (strcmp(from->status, "error") != 0 || !from->error || from->is_total)
        return ih_json_fail(in, "an unknown status");
    to->version = !is_old && from->version && is_plain(from->version) ? from->version : "";
    to->status = IH_CORRUPT; /* whatever it was: the message tells */
    ih_error_set(&to->error, IH_CORRUPT, "%s", from->error);
    ih_utf8_trim(to->error.message);
    return true;
}

bool ih_record_read(struct ih_record_reader *r, struct ih_json_in *in)
{
    memset(&r->record, 0, offsetof(struct ih_record, channels));
    return ih_json_object(in, record_fields, N_OF(record_fields), &r->record, &r->record.seen) &&
           use_record(r, in);
}
