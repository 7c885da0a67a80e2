#include "output/records.h"

#include "base/text.h"
#include "counts/total.h"
#include "output/json_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 17, TEXT_MAX = 256 };
#define NO_COUNT UINT64_MAX /* null */

struct channel {
    uint64_t seen;
    char *name;
    uint64_t count, sum, clip_low, clip_high;
    double mean, stddev, entropy, min, max, percentile[IH_PERCENTILES]; /* NaN for null */
    uint64_t bins[IH_BINS];
};

struct clip {
    uint64_t any_low, any_high, all_low, all_high;
    uint64_t low, high; /* the limits, in version 1 */
};

struct limits {
    uint64_t low, high;
};

/* A record as it is read. Version 1 has other names for some fields. */
struct record {
    uint64_t seen;
    char *schema, *version, *file, *file_b64, *status, *error, *format, *library, *decoder, *device,
        *kernel, *luma_weights, *alpha, *reduction, *range;
    bool is_total;
    uint64_t width, height, source_depth; /* NO_COUNT in a total */
    uint64_t pixels, frames, n_images, n_failed;
    struct limits limits;
    struct clip clip;
    unsigned not_applied, warnings;
    double mean_luma, mean_luminance;
    unsigned n_channels; /* luma included */
    struct channel channels[IH_PLANES];
};

struct ih_records {
    struct ih_source *src;       /* borrowed */
    char *buffer;                /* owned */
    size_t capacity, start, n;   /* the unread bytes are [start, n) */
    bool is_at_end;              /* of the source */
    uint64_t line;               /* the one that was read last */
    bool is_document, has_ended; /* JSON; its end was read */
    bool has_images, has_total;
    double linear[IH_BINS]; /* for the mean luminance */
    struct record record;
    struct ih_result result;
};

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
    FIELD(channel, "name", read_text, name),
    FIELD(channel, "count", read_count, count),
    FIELD(channel, "sum", read_count, sum),
    FIELD(channel, "mean", read_real, mean),
    FIELD(channel, "stddev", read_real, stddev),
    FIELD(channel, "min", read_real, min),
    FIELD(channel, "max", read_real, max),
    FIELD(channel, "p01", read_real, percentile[0]),
    FIELD(channel, "p05", read_real, percentile[1]),
    FIELD(channel, "p25", read_real, percentile[2]),
    FIELD(channel, "median", read_real, percentile[3]),
    FIELD(channel, "p75", read_real, percentile[4]),
    FIELD(channel, "p95", read_real, percentile[5]),
    FIELD(channel, "p99", read_real, percentile[6]),
    FIELD(channel, "entropy", read_real, entropy),
    FIELD(channel, "clip_low", read_count, clip_low),
    FIELD(channel, "clip_high", read_count, clip_high),
    FIELD(channel, "histogram", read_bins, bins),
};

static bool read_channel(struct ih_json_in *in, void *to)
{
    struct record *r = to;
    if (r->n_channels == IH_PLANES)
        return ih_json_fail(in, "more channels than an image has");
    struct channel *c = &r->channels[r->n_channels++];
    if (!ih_json_object(in, channel_fields, N_OF(channel_fields), c, &c->seen))
        return false;
    return c->seen == ALL_OF(channel_fields) || ih_json_fail(in, "a channel lacks a key");
}

static bool read_channels(struct ih_json_in *in, void *to)
{
    struct record *r = (struct record *)((char *)to - offsetof(struct record, channels));
    return ih_json_array(in, read_channel, r);
}

static bool read_limits(struct ih_json_in *in, void *to)
{
    static const struct ih_json_field fields[] = {FIELD(limits, "low", read_count, low),
                                                  FIELD(limits, "high", read_count, high)};
    uint64_t seen;
    return ih_json_object(in, fields, N_OF(fields), to, &seen) &&
           (seen == ALL_OF(fields) || ih_json_fail(in, "clip_limits lacks a key"));
}

static bool read_clip(struct ih_json_in *in, void *to)
{
    static const struct ih_json_field fields[] = {
        FIELD(clip, "any_low", read_count, any_low), FIELD(clip, "any_high", read_count, any_high),
        FIELD(clip, "all_low", read_count, all_low), FIELD(clip, "all_high", read_count, all_high),
        FIELD(clip, "low", read_count, low),         FIELD(clip, "high", read_count, high),
    };
    enum { COUNTS = 15 };
    uint64_t seen;
    ((struct clip *)to)->high = NO_COUNT;
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
    FIELD(record, "schema", read_text, schema),
    FIELD(record, "version", read_text, version),
    FIELD(record, "file", read_text, file),
    FIELD(record, "file_b64", read_text, file_b64),
    FIELD(record, "total", read_bool, is_total),
    FIELD(record, "status", read_text, status),
    FIELD(record, "error", read_text, error),
    FIELD(record, "n_images", read_count, n_images),
    FIELD(record, "n_failed", read_count, n_failed),
    FIELD(record, "format", read_text, format),
    FIELD(record, "library", read_text, library),
    FIELD(record, "width", read_count_or_null, width),
    FIELD(record, "height", read_count_or_null, height),
    FIELD(record, "pixels", read_count, pixels),
    FIELD(record, "frames", read_count, frames),
    FIELD(record, "source_depth", read_count_or_null, source_depth),
    FIELD(record, "range", read_text, range),
    FIELD(record, "reduction", read_text, reduction),
    FIELD(record, "luma_weights", read_text, luma_weights),
    FIELD(record, "alpha", read_text, alpha),
    FIELD(record, "clip_limits", read_limits, limits),
    FIELD(record, "not_applied", read_not_applied, not_applied),
    FIELD(record, "channels", read_channels, channels),
    FIELD(record, "mean_luma", read_real, mean_luma),
    FIELD(record, "mean_luminance", read_real, mean_luminance),
    FIELD(record, "clip", read_clip, clip),
    FIELD(record, "warnings", read_warnings, warnings),
    FIELD(record, "decoder", read_text, decoder),
    FIELD(record, "device", read_text, device),
    FIELD(record, "kernel", read_text, kernel),
    FIELD(record, "luma", read_text, luma_weights), /* version 1 */
    FIELD(record, "n_pixels", read_count, pixels),  /* version 1 */
};

_Static_assert(N_OF(record_fields) <= 64, "seen has a bit for each");

/* The keys that a counted record has in both versions, in version 2, and in version 1. */
static const char *const required[] = {"schema",         "file",         "status",   "width",
                                       "height",         "source_depth", "channels", "mean_luma",
                                       "mean_luminance", "clip",         NULL};
static const char *const required_2[] = {
    "pixels", "reduction", "luma_weights", "alpha", "clip_limits", "not_applied", NULL};
static const char *const required_1[] = {"luma", NULL};
static const char *const required_total[] = {"n_images", "n_failed", NULL};

static bool has_all(const struct record *r, const char *const *names)
{
    size_t i = 0; /* most names come in the order of the fields */
    for (; *names; names++) {
        while (strcmp(record_fields[i].name, *names) != 0) /* every name is one of a field */
            i = (i + 1) % N_OF(record_fields);
        if (!(r->seen >> i & 1))
            return false;
    }
    return true;
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

/* The real statistics, by formulas that are faster than those of ih_stats_compute and as good to 6
 * decimals. */
static bool are_reals_right(const struct channel *c, const uint64_t bins[IH_BINS], uint64_t count,
                            uint64_t sum)
{
    const double n = (double)count, mean = (double)sum / n;
    double squares = 0, logs = 0;
    if (count == 0)
        return isnan(c->mean) && isnan(c->stddev) && isnan(c->entropy);
    for (unsigned v = 0; v < IH_BINS; v++) {
        const double b = (double)bins[v];
        squares += b * (v - mean) * (v - mean);
        if (bins[v] > 1) /* log2(1) is 0 */
            logs += b * log2(b);
    }
    return is_near(c->mean, mean) && is_near(c->stddev, sqrt(squares / n)) &&
           is_near(c->entropy, log2(n) - logs / n);
}

static bool are_statistics_right(const struct channel *c, const struct ih_result *r, unsigned plane)
{
    const uint64_t *bins = r->histogram.bins[plane];
    struct ih_stats s;
    ih_stats_count(&r->histogram, plane, &r->spec, &s);
    const bool is_empty = s.count == 0;
    bool is_right = c->count == s.count && c->sum == s.sum && c->clip_low == s.clip_low &&
                    c->clip_high == s.clip_high && is_value(c->min, s.min, is_empty) &&
                    is_value(c->max, s.max, is_empty);
    for (unsigned i = 0; i < IH_PERCENTILES; i++)
        is_right = is_right && is_value(c->percentile[i], s.percentile[i], is_empty);
    return is_right && are_reals_right(c, bins, s.count, s.sum);
}

static bool check_statistics(struct ih_records *r, struct ih_json_in *in)
{
    const struct ih_histogram *h = &r->result.histogram;
    const struct record *from = &r->record;
    const uint64_t n = h->n_pixels;
    const double mean_luma = n ? (double)h->sum[IH_LUMA] / (double)n : (double)NAN;
    for (unsigned i = 0; i < from->n_channels; i++)
        if (!are_statistics_right(&from->channels[i], &r->result,
                                  i + 1 == from->n_channels ? (unsigned)IH_LUMA : i))
            return ih_json_fail(in, "statistics that contradict the histogram");
    if (!is_near(from->mean_luma, mean_luma))
        return ih_json_fail(in, "a mean luma that contradicts the histogram");
    if (!is_near(from->mean_luminance, ih_mean_luminance_by(h, r->linear)))
        return ih_json_fail(in, "a mean luminance that contradicts the histogram");
    return true;
}

/* The channels' names must be those of an image with this number of channels, luma last. */
static bool use_channels(struct ih_records *r, struct ih_json_in *in)
{
    const struct record *from = &r->record;
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

static bool use_alpha(struct ih_records *r, struct ih_json_in *in, bool is_old)
{
    const struct record *from = &r->record;
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

static bool use_settings(struct ih_records *r, struct ih_json_in *in, bool is_old)
{
    const struct record *from = &r->record;
    struct ih_result *to = &r->result;
    const uint64_t low = is_old ? from->clip.low : from->limits.low;
    const uint64_t high = is_old ? from->clip.high : from->limits.high;
    to->spec.luma = from->luma_weights ? ih_luma_find(from->luma_weights) : NULL;
    if (!to->spec.luma)
        return ih_json_fail(in, "unknown luma weights");
    if (high >= IH_BINS || low >= high)
        return ih_json_fail(in, "clip limits that contradict each other");
    if (!is_old && (!from->reduction || strcmp(from->reduction, IH_REDUCTION) != 0))
        return ih_json_fail(in, "an unknown reduction of deeper samples");
    to->spec.clip_low = (uint8_t)low;
    to->spec.clip_high = (uint8_t)high;
    return true;
}

/* Format, size and what the file says about itself. */
static bool use_image(struct ih_records *r, struct ih_json_in *in, bool is_old)
{
    const struct record *from = &r->record;
    struct ih_image_info *to = &r->result.info;
    r->result.version = !is_old && from->version ? from->version : "";
    r->result.library = !is_old && from->library ? from->library : "";
    to->not_applied = is_old ? IH_NOT_APPLIED_UNKNOWN : from->not_applied;
    if ((*r->result.version && !is_plain(r->result.version)) ||
        strlen(r->result.version) >= IH_VERSION_MAX ||
        (*r->result.library && !is_plain(r->result.library)))
        return ih_json_fail(in, "an impossible version");
    if (from->is_total) {
        r->result.n_images = from->n_images;
        r->result.n_failed = from->n_failed;
        r->result.library = NULL;
        return true;
    }
    if (!from->format || !is_plain(from->format) || from->width == NO_COUNT ||
        from->height == NO_COUNT || from->source_depth > 32 || from->frames > UINT32_MAX)
        return ih_json_fail(in, "an impossible format, size or depth");
    to->format = from->format;
    to->width = from->width;
    to->height = from->height;
    to->source_depth = (unsigned)from->source_depth;
    to->warnings = from->warnings;
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

static bool use_counted(struct ih_records *r, struct ih_json_in *in, bool is_old)
{
    struct ih_result *to = &r->result;
    struct ih_error reason;
    if (!has_all(&r->record, required) || !has_all(&r->record, is_old ? required_1 : required_2) ||
        (r->record.is_total && !has_all(&r->record, required_total)))
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

/* Turns the record into the result. */
static bool use_record(struct ih_records *r, struct ih_json_in *in)
{
    struct record *from = &r->record;
    struct ih_result *to = &r->result;
    const bool is_old = from->schema && strcmp(from->schema, "imghist/1") == 0;
    memset(to, 0, sizeof *to);
    to->is_read = true;
    if (!is_old && (!from->schema || strcmp(from->schema, "imghist/2") != 0))
        return ih_json_fail(in, from->schema && strncmp(from->schema, "imghist/", 8) == 0
                                    ? "of a newer imghist: this one reads imghist/1 and imghist/2"
                                    : "not a record of imghist");
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

/* ---- lines ---- */

bool ih_records_probe(const uint8_t *head, size_t size)
{
    static const char *const parts[] = {"{", "\"schema\"", ":", "\"imghist/"};
    size_t at = 0;
    for (size_t i = 0; i < N_OF(parts); i++) {
        const size_t n = strlen(parts[i]);
        while (at < size && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r'))
            at++;
        if (size - at < n || memcmp(head + at, parts[i], n) != 0)
            return false;
        at += n;
    }
    return true;
}

enum ih_status ih_records_open(struct ih_source *src, struct ih_records **records,
                               struct ih_error *err)
{
    struct ih_records *r = calloc(1, sizeof *r);
    if (r)
        r->buffer = malloc(BUFFER_BYTES + 1);
    if (!r || !r->buffer) {
        free(r);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    r->src = src;
    r->capacity = BUFFER_BYTES;
    ih_srgb_decode(r->linear);
    *records = r;
    return IH_OK;
}

void ih_records_close(struct ih_records *r)
{
    if (!r)
        return;
    free(r->buffer);
    free(r);
}

/* Reads on. Moves the unread bytes to the front of the buffer, which grows if they fill it. */
static enum ih_status fill(struct ih_records *r, struct ih_error *err)
{
    size_t got;
    if (r->start == 0 && r->n == r->capacity) {
        const size_t capacity = 2 * r->capacity;
        if (r->capacity >= IH_RECORD_BYTES_MAX)
            return ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": longer than any record",
                                r->line + 1);
        char *buffer = realloc(r->buffer, capacity + 1);
        if (!buffer)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        r->buffer = buffer;
        r->capacity = capacity;
    }
    memmove(r->buffer, r->buffer + r->start, r->n - r->start);
    r->n -= r->start;
    r->start = 0;
    const enum ih_status status =
        ih_source_read(r->src, r->buffer + r->n, r->capacity - r->n, &got, err);
    r->is_at_end = got == 0;
    r->n += got;
    return status;
}

/* *line: the next line, with a NUL instead of its end; NULL at the end of the file. */
static enum ih_status next_line(struct ih_records *r, char **line, struct ih_error *err)
{
    size_t n_searched = 0;
    for (;;) {
        char *start = r->buffer + r->start;
        const size_t n = r->n - r->start;
        char *end = memchr(start + n_searched, '\n', n - n_searched);
        if (!end && !r->is_at_end) {
            n_searched = n;
            const enum ih_status status = fill(r, err);
            if (status != IH_OK)
                return status;
            continue;
        }
        *line = n > 0 ? start : NULL;
        r->line += n > 0;
        if (!end)
            end = start + n;
        r->start += (size_t)(end - start) + (end < start + n ? 1 : 0);
        *end = '\0'; /* the buffer has a byte more */
        if (memchr(start, '\0', (size_t)(end - start)))
            return ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": a NUL byte", r->line);
        return IH_OK;
    }
}

/* The start of a document, {"schema":"imghist/2","images":[, in its first line. */
static bool skip_document_start(struct ih_records *r, struct ih_json_in *in)
{
    char *name, *schema;
    const char *p = strchr(in->p, ',');
    while (p && *++p == ' ')
        continue;
    if (!p || strncmp(p, "\"images\"", 8) != 0)
        return true;
    r->is_document = true;
    return ih_json_token(in, '{') && ih_json_text(in, &name) && ih_json_token(in, ':') &&
           ih_json_text(in, &schema) && ih_json_token(in, ',') && ih_json_text(in, &name) &&
           ih_json_token(in, ':') && ih_json_token(in, '[');
}

/* What follows the last record of a document: ]} or ],"total":RECORD}. *has_total: in is at the
 * total's record. */
static bool read_document_end(struct ih_records *r, struct ih_json_in *in, bool *has_total)
{
    char *name;
    *has_total = false;
    if (!ih_json_token(in, ']'))
        return false;
    r->has_ended = true;
    if (ih_json_next_is(in, '}'))
        return ih_json_token(in, '}');
    if (!ih_json_token(in, ',') || !ih_json_text(in, &name) || !ih_json_token(in, ':'))
        return false;
    *has_total = name && strcmp(name, "total") == 0;
    return *has_total || ih_json_fail(in, "not a document of imghist");
}

/* Reads what one line holds. *has_record: the result is filled. */
static bool read_line(struct ih_records *r, struct ih_json_in *in, bool *has_record)
{
    bool is_last = false;
    *has_record = false;
    if (r->line == 1 && !skip_document_start(r, in))
        return false;
    if (ih_json_next_is(in, '\0'))
        return !in->why;
    if (r->has_ended)
        return ih_json_fail(in, "text after the end of the document");
    if (r->is_document && ih_json_next_is(in, ']')) {
        if (!read_document_end(r, in, &is_last))
            return false;
        if (!is_last)
            return ih_json_next_is(in, '\0') || ih_json_fail(in, "text after the end");
    }
    memset(&r->record, 0, offsetof(struct record, channels));
    if (!ih_json_object(in, record_fields, N_OF(record_fields), &r->record, &r->record.seen) ||
        !use_record(r, in))
        return false;
    *has_record = true;
    if (is_last && !ih_json_token(in, '}'))
        return false;
    if (r->is_document && !is_last && ih_json_next_is(in, ','))
        ih_json_token(in, ',');
    return ih_json_next_is(in, '\0') || ih_json_fail(in, "text after the record");
}

enum ih_status ih_records_next(struct ih_records *r, const struct ih_result **result,
                               struct ih_error *err)
{
    bool has_record = false;
    *result = NULL;
    while (!has_record) {
        struct ih_json_in in = {NULL, NULL};
        const enum ih_status status = next_line(r, &in.p, err);
        if (status != IH_OK)
            return status;
        if (!in.p)
            break;
        if (!read_line(r, &in, &has_record))
            return ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": %s", r->line,
                                in.why ? in.why : "not JSON");
    }
    if (!has_record)
        return !r->is_document || r->has_ended
                   ? IH_OK
                   : ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": cut short", r->line);
    r->has_images = r->has_images || !r->result.is_total;
    r->has_total = r->has_total || r->result.is_total;
    if (r->has_images && r->has_total)
        return ih_error_set(err, IH_CORRUPT,
                            "line %" PRIu64 ": a total beside the records that it sums; leave out "
                            "one or the other",
                            r->line);
    *result = &r->result;
    return IH_OK;
}
