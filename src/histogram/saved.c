#include "histogram/saved.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum {
    VERSION = 2,
    NATIVE_VERSION = 3,
    HEAD_BYTES = 16,
    FIXED_BYTES = 112,
    CHECKSUM_BYTES = 8,
    N_TEXTS = 5
};
enum kind { EMPTY, IMAGE, SUM };

/* By their number in the byte WEIGHTS. */
static const struct ih_luma_weights *const weights[] = {&ih_luma_bt709, &ih_luma_bt601,
                                                        &ih_luma_none};
enum { NO_LUMA = sizeof weights / sizeof *weights - 1 };

/* The bytes of a result that are no numbers, by their place. */
enum { KIND, CHANNELS, WEIGHTS, ALPHA, CLIP_LOW, CLIP_HIGH, REDUCTION, RANGE, N_BYTES };

_Static_assert(FIXED_BYTES + IH_PLANES * IH_BINS * 8 + N_TEXTS * IH_SAVED_TEXT_MAX + 12 +
                       CHECKSUM_BYTES <=
                   IH_SAVED_BYTES_MAX,
               "every result fits");

static const uint8_t signature[8] = {'i', 'h', 'c', 'o', 'u', 'n', 't', 's'};

static uint64_t checksum(const uint8_t *bytes, size_t n)
{
    return ih_hash(IH_HASH_START, bytes, n);
}

/* ---- both ways ---- */

/* Bytes that are written or read. Past the end of what is read, all numbers are 0. */
struct stream {
    uint8_t *to;         /* NULL: they are only counted */
    const uint8_t *from; /* NULL: bytes are written */
    size_t n_left;       /* of those to read */
    size_t n_written;    /* or counted */
    bool is_short;
};

static void put(struct stream *s, const void *bytes, size_t n_bytes)
{
    if (s->to)
        memcpy(s->to + s->n_written, bytes, n_bytes);
    s->n_written += n_bytes;
}

/* Writes a number, or reads it. Returns it. */
static uint64_t move(struct stream *s, uint64_t value, unsigned n_bytes)
{
    uint8_t bytes[8];
    if (!s->from) {
        for (unsigned i = 0; i < n_bytes; i++)
            bytes[i] = (uint8_t)(value >> 8 * i);
        put(s, bytes, n_bytes);
        return value;
    }
    if (s->n_left < n_bytes) {
        s->is_short = true;
        return 0;
    }
    s->n_left -= n_bytes;
    value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)*s->from++ << 8 * i;
    return value;
}

static void move_text(struct stream *s, char text[IH_SAVED_TEXT_MAX])
{
    const size_t n = (size_t)move(s, s->from ? 0 : strlen(text), 1);
    if (!s->from) {
        put(s, text, n);
        return;
    }
    if (s->n_left < n || memchr(s->from, '\0', n)) {
        s->is_short = true;
        text[0] = '\0';
        return;
    }
    s->n_left -= n;
    memcpy(text, s->from, n);
    text[n] = '\0';
    s->from += n;
}

/* ---- bins ---- */

/* The runs of counters that are not 0: where they begin, and their length. */
static void write_runs(struct stream *s, const uint64_t *bins, unsigned n_bins)
{
    unsigned n_runs = 0;
    for (unsigned v = 0; v < n_bins; v++)
        n_runs += bins[v] != 0 && (v == 0 || bins[v - 1] == 0);
    move(s, n_runs, 4);
    for (unsigned v = 0, end; v < n_bins; v = end) {
        for (end = v; end < n_bins && (bins[end] != 0) == (bins[v] != 0);)
            end++;
        if (bins[v] == 0)
            continue;
        move(s, v, 4);
        move(s, end - v, 4);
        for (; v < end; v++)
            move(s, bins[v], 8);
    }
}

/* Equal counts have one form: runs with a gap before the next, without zeros. */
static void read_runs(struct stream *s, uint64_t *bins, unsigned n_bins)
{
    const uint64_t n_runs = move(s, 0, 4);
    uint64_t least = 0; /* the first value that the next run may begin at */
    for (uint64_t i = 0; i < n_runs && !s->is_short; i++) {
        const uint64_t first = move(s, 0, 4), n = move(s, 0, 4);
        s->is_short = s->is_short || first < least || n == 0 || n > n_bins || first > n_bins - n;
        for (uint64_t v = first; v < first + n && !s->is_short; v++) {
            bins[v] = move(s, 0, 8);
            s->is_short = s->is_short || bins[v] == 0;
        }
        least = first + n + 1;
    }
}

/* The number of bins, the clip limits and the runs of each plane. Returns IH_OK or IH_MEMORY. */
static enum ih_status move_native(struct stream *s, struct ih_result *r, unsigned n_channels,
                                  struct ih_error *err)
{
    struct ih_histogram *h = &r->histogram;
    struct ih_measure *measure = &r->measure;
    measure->n_bins = (unsigned)move(s, measure->n_bins, 4);
    measure->clip_low = (uint16_t)move(s, measure->clip_low, 2);
    measure->clip_high = (uint16_t)move(s, measure->clip_high, 2);
    if (s->from) {
        const struct ih_histogram read = *h;
        s->is_short = s->is_short || measure->n_bins <= IH_BINS ||
                      measure->n_bins > IH_NATIVE_BINS_MAX || n_channels < 1 ||
                      n_channels > IH_CHANNELS_MAX;
        if (s->is_short)
            return IH_OK;
        const struct ih_count_spec all = {.n_channels = IH_CHANNELS_MAX, .n_bins = measure->n_bins};
        if (ih_histogram_init(h, &all, err) != IH_OK) /* luma may be false, so it has a plane */
            return IH_MEMORY;
        h->n_channels = n_channels;
        h->without_luma = read.without_luma;
        h->n_pixels = read.n_pixels;
        h->any_low = read.any_low;
        h->any_high = read.any_high;
        h->all_low = read.all_low;
        h->all_high = read.all_high;
    }
    for (unsigned p = 0; p < IH_PLANES; p++) {
        if (!ih_histogram_plane(h, p))
            continue;
        if (s->from)
            read_runs(s, ih_own_bins(h, p), measure->n_bins);
        else
            write_runs(s, ih_bins(h, p), measure->n_bins);
    }
    return IH_OK;
}

static enum ih_status move_result(struct stream *s, struct ih_result *r,
                                  struct ih_saved_texts *texts, unsigned bytes[N_BYTES],
                                  bool is_native, struct ih_error *err)
{
    struct ih_histogram *h = &r->histogram;
    struct ih_image_info *info = &r->info;
    unsigned *const words[] = {&info->source_depth, &info->warnings, &info->not_applied,
                               &info->n_frames};
    uint64_t *const numbers[] = {&info->width, &info->height, &r->n_images,
                                 &r->n_failed, &h->n_pixels,  &h->any_low,
                                 &h->any_high, &h->all_low,   &h->all_high};
    char *const all_texts[N_TEXTS] = {texts->format, texts->library, texts->version, texts->region,
                                      texts->mask};
    for (unsigned i = KIND + 1; i < N_BYTES; i++)
        bytes[i] = (unsigned)move(s, bytes[i], 1);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *words[i] = (unsigned)move(s, *words[i], 4);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = move(s, *numbers[i], 8);
    h->n_channels = bytes[CHANNELS];
    h->without_luma = bytes[WEIGHTS] == NO_LUMA;
    if (is_native && move_native(s, r, bytes[CHANNELS], err) != IH_OK)
        return IH_MEMORY;
    for (unsigned p = 0; p < IH_PLANES && !is_native; p++)
        for (unsigned v = 0; v < IH_BINS && ih_histogram_plane(h, p); v++)
            h->bins[p][v] = move(s, h->bins[p][v], 8);
    for (unsigned i = 0; i < N_TEXTS; i++)
        move_text(s, all_texts[i]);
    r->measure.range.low = (uint16_t)move(s, r->measure.range.low, 2);
    r->measure.range.high = (uint16_t)move(s, r->measure.range.high, 2);
    info->extremes.min = (uint32_t)move(s, info->extremes.min, 4);
    info->extremes.end = (uint32_t)move(s, info->extremes.end, 4);
    return IH_OK;
}

void ih_saved_texts_keep(struct ih_saved_texts *texts, struct ih_result *r)
{
    const char *const from[] = {r->info.format, r->library, r->version, r->measure.region,
                                r->measure.mask};
    char *const to[] = {texts->format, texts->library, texts->version, texts->region, texts->mask};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        if (from[i] != to[i])
            snprintf(to[i], IH_SAVED_TEXT_MAX, "%s", from[i] ? from[i] : "");
    r->info.format = texts->format;
    r->library = texts->library;
    r->version = texts->version;
    r->measure.region = *texts->region ? texts->region : NULL;
    r->measure.mask = *texts->mask ? texts->mask : NULL;
}

/* ---- saving ---- */

/* Writes everything except the checksum. n_bytes: of the whole string. */
static void write_all(struct stream *s, const struct ih_result *result, size_t n_bytes)
{
    const unsigned kind = !result ? EMPTY : result->is_total ? SUM : IMAGE;
    const bool is_native = result && result->histogram.native;
    for (size_t i = 0; i < sizeof signature; i++)
        move(s, signature[i], 1);
    move(s, is_native ? NATIVE_VERSION : VERSION, 4);
    move(s, n_bytes, 4);
    move(s, kind, 1);
    if (!result)
        return;
    struct ih_result r = *result;
    struct ih_saved_texts texts;
    unsigned of_result[N_BYTES] = {kind,
                                   r.histogram.n_channels,
                                   0,
                                   r.measure.alpha,
                                   is_native ? 0 : r.measure.clip_low,
                                   is_native ? 0 : r.measure.clip_high,
                                   0,
                                   r.info.range};
    while (weights[of_result[WEIGHTS]] != r.measure.luma)
        of_result[WEIGHTS]++;
    r.measure.n_bins = ih_n_bins(&r.histogram);
    r.version = r.version ? r.version : IH_VERSION;
    r.n_images = r.is_total ? r.n_images : 1;
    ih_saved_texts_keep(&texts, &r);
    move_result(s, &r, &texts, of_result, is_native, NULL);
}

size_t ih_result_save(const struct ih_result *result, uint8_t *bytes, size_t size_bytes)
{
    struct stream count = {.to = NULL}, s = {.to = bytes};
    write_all(&count, result, 0);
    const size_t n = count.n_written + CHECKSUM_BYTES;
    if (size_bytes >= n) {
        write_all(&s, result, n);
        move(&s, checksum(bytes, n - CHECKSUM_BYTES), CHECKSUM_BYTES);
    }
    return n;
}

/* ---- loading ---- */

static enum ih_status saved_damaged(const char *how, struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged saved counts: %s", how);
}

/* Fills *r. *is_sound: no field has a value without a meaning. Returns IH_OK or IH_MEMORY. */
static enum ih_status load_result(struct stream *s, unsigned kind, bool is_native,
                                  struct ih_result *r, struct ih_saved_texts *texts, bool *is_sound,
                                  struct ih_error *err)
{
    const struct ih_sample_range *samples = &r->measure.range;
    const struct ih_extremes *extremes = &r->info.extremes;
    struct ih_region region;
    struct ih_error ignored;
    unsigned bytes[N_BYTES] = {kind};
    memset(r, 0, sizeof *r);
    memset(texts, 0, sizeof *texts);
    if (move_result(s, r, texts, bytes, is_native, err) != IH_OK)
        return IH_MEMORY;
    r->info.format = texts->format;
    r->library = texts->library;
    r->version = texts->version;
    r->measure.region = texts->region;
    r->measure.mask = texts->mask;
    ih_saved_texts_keep(texts, r);
    r->is_total = kind == SUM;
    r->info.n_channels = bytes[CHANNELS];
    r->measure.luma = weights[bytes[WEIGHTS] <= NO_LUMA ? bytes[WEIGHTS] : 0];
    r->measure.alpha = bytes[ALPHA] ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
    r->info.n_bins = r->measure.n_bins;
    if (!is_native) {
        r->measure.clip_low = (uint8_t)bytes[CLIP_LOW];
        r->measure.clip_high = (uint8_t)bytes[CLIP_HIGH];
    }
    r->info.range = bytes[RANGE] < IH_RANGES ? (enum ih_range)bytes[RANGE] : IH_RANGE_UNKNOWN;
    *is_sound =
        (!r->measure.region || ih_region_parse(r->measure.region, &region, &ignored) == IH_OK) &&
        (samples->high ? samples->low < samples->high : samples->low == 0) &&
        (extremes->end ? extremes->min < extremes->end : extremes->min == 0) &&
        bytes[CHANNELS] <= IH_CHANNELS_MAX && bytes[WEIGHTS] <= NO_LUMA && bytes[ALPHA] <= 1 &&
        bytes[REDUCTION] == 0 && bytes[RANGE] < IH_RANGES &&
        (!is_native || (bytes[CLIP_LOW] == 0 && bytes[CLIP_HIGH] == 0)) &&
        r->info.warnings < IH_WARNINGS_END && r->info.not_applied <= IH_NOT_APPLIED_KNOWN &&
        r->info.source_depth <= 32 && (r->is_total || (r->n_images == 1 && r->n_failed == 0));
    return IH_OK;
}

enum ih_status ih_result_load(const uint8_t *bytes, size_t size_bytes, struct ih_result *result,
                              bool *is_empty, struct ih_saved_texts *texts, struct ih_error *err)
{
    struct stream s = {.from = bytes, .n_left = size_bytes};
    struct ih_error reason;
    if (size_bytes < HEAD_BYTES + CHECKSUM_BYTES || memcmp(bytes, signature, sizeof signature) != 0)
        return saved_damaged("they do not begin as saved counts do", err);
    move(&s, 0, sizeof signature);
    const uint64_t version = move(&s, 0, 4);
    if (version != VERSION && version != NATIVE_VERSION)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "saved counts of version %llu; this library reads versions %d and %d",
                            (unsigned long long)version, VERSION, NATIVE_VERSION);
    if (move(&s, 0, 4) != size_bytes)
        return saved_damaged("cut short, or with bytes after the end", err);
    s.n_left -= CHECKSUM_BYTES;
    struct stream last = {.from = s.from + s.n_left, .n_left = CHECKSUM_BYTES};
    if (move(&last, 0, CHECKSUM_BYTES) != checksum(bytes, size_bytes - CHECKSUM_BYTES))
        return saved_damaged("wrong checksum", err);
    const unsigned kind = (unsigned)move(&s, 0, 1);
    const bool is_native = version == NATIVE_VERSION;
    bool is_sound = kind != EMPTY || !is_native;
    *is_empty = kind == EMPTY;
    if (kind == IMAGE || kind == SUM) {
        if (load_result(&s, kind, is_native, result, texts, &is_sound, err) != IH_OK)
            return IH_MEMORY;
    }
    enum ih_status status = IH_OK;
    if (kind > SUM || !is_sound || s.is_short || s.n_left > 0)
        status = saved_damaged("a field without a meaning", err);
    else if (!*is_empty && ih_result_check(result, &reason) != IH_OK)
        status = saved_damaged(reason.message, err);
    if (status != IH_OK && !*is_empty && kind <= SUM)
        ih_histogram_reset(&result->histogram);
    else if (kind == IMAGE)
        result->n_images = 0;
    return status;
}
