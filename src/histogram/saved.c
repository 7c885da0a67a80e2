#include "histogram/saved.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
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
    uint8_t *to;         /* NULL: bytes are only counted */
    const uint8_t *from; /* NULL: bytes are written */
    size_t n_left, n;    /* n: of bytes that were written */
    bool is_short;       /* or a field has no meaning */
    bool is_native, lacks_memory;
};

/* Writes a number, or reads it. Returns it. */
static uint64_t move(struct stream *s, uint64_t value, unsigned n_bytes)
{
    if (!s->from) {
        for (unsigned i = 0; i < n_bytes && s->to; i++)
            *s->to++ = (uint8_t)(value >> 8 * i);
        s->n += n_bytes;
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
    for (size_t i = 0; i < n; i++) {
        text[i] = (char)move(s, (unsigned char)text[i], 1);
        s->is_short = s->is_short || text[i] == '\0';
    }
    text[s->is_short ? 0 : n] = '\0';
}

/* A number in groups of 7 bits, the lowest first; the last one has no high bit (LEB128). */
static uint64_t move_number(struct stream *s, uint64_t value)
{
    uint64_t read = 0, byte = 0;
    unsigned shift = 0;
    do {
        byte = move(s, (value >> shift & 127) | (value >> shift > 127 ? 128 : 0), 1);
        read |= (byte & 127) << shift;
        shift += 7;
    } while (byte > 127 && shift < 64 && !s->is_short);
    /* More than 64 bits, or more bytes than needed: equal counts have equal bytes. */
    s->is_short = s->is_short || byte > 127 || (shift > 64 && byte > 1) || (shift > 7 && !byte);
    return s->is_short ? 0 : read;
}

/* The bins of a plane. After a 0 comes the number of zeros. */
static void move_native(struct stream *s, uint64_t *bins, unsigned n_bins)
{
    bool was_zero = false;
    for (unsigned v = 0, n; v < n_bins && !s->is_short; v += n) {
        bins[v] = move_number(s, bins[v]);
        n = 1;
        s->is_short = s->is_short || (was_zero && bins[v] == 0);
        was_zero = bins[v] == 0;
        if (!was_zero || s->is_short)
            continue;
        while (v + n < n_bins && bins[v + n] == 0)
            n++;
        const uint64_t n_zeros = move_number(s, n); /* read: the bins were 0, so at most n */
        s->is_short = s->is_short || n_zeros == 0 || n_zeros > n;
        n = (unsigned)n_zeros;
    }
}

/* Native counters to read into, all 0. */
static void make_native(struct stream *s, struct ih_histogram *h)
{
    if (!s->from)
        return;
    if (h->n_native <= IH_BINS || h->n_native > IH_NATIVE_BINS_MAX)
        s->is_short = true;
    else if (!(h->native = calloc((size_t)IH_PLANES * h->n_native, sizeof *h->native)))
        s->is_short = s->lacks_memory = true;
}

static void move_result(struct stream *s, struct ih_result *r, struct ih_saved_texts *texts,
                        unsigned bytes[N_BYTES])
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
    if (s->is_native) {
        bytes[CLIP_LOW] |= (unsigned)move(s, bytes[CLIP_LOW] >> 8, 1) << 8;
        bytes[CLIP_HIGH] |= (unsigned)move(s, bytes[CLIP_HIGH] >> 8, 1) << 8;
        h->n_native = r->spec.n_bins = (unsigned)move(s, r->spec.n_bins, 4);
        make_native(s, h);
    }
    for (unsigned p = 0; p < IH_PLANES; p++)
        if (ih_plane_name(bytes[CHANNELS], p) && h->native)
            move_native(s, ih_own_bins(h, p), h->n_native);
        else
            for (unsigned v = 0; v < IH_BINS && ih_plane_name(bytes[CHANNELS], p); v++)
                h->bins[p][v] = move(s, h->bins[p][v], 8);
    for (unsigned i = 0; i < N_TEXTS; i++)
        move_text(s, all_texts[i]);
    r->sample_range.low = (uint16_t)move(s, r->sample_range.low, 2);
    r->sample_range.high = (uint16_t)move(s, r->sample_range.high, 2);
    info->extremes.min = (uint32_t)move(s, info->extremes.min, 4);
    info->extremes.end = (uint32_t)move(s, info->extremes.end, 4);
}

void ih_saved_texts_keep(struct ih_saved_texts *texts, struct ih_result *r)
{
    const char *const from[] = {r->info.format, r->library, r->version, r->region, r->mask};
    char *const to[] = {texts->format, texts->library, texts->version, texts->region, texts->mask};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        if (from[i] != to[i])
            snprintf(to[i], IH_SAVED_TEXT_MAX, "%s", from[i] ? from[i] : "");
    r->info.format = texts->format;
    r->library = texts->library;
    r->version = texts->version;
    r->region = *texts->region ? texts->region : NULL;
    r->mask = *texts->mask ? texts->mask : NULL;
}

/* ---- saving ---- */

/* Returns the size; NULL: the bytes are only counted. */
static size_t save(const struct ih_result *result, uint8_t *bytes)
{
    struct stream s = {.to = bytes ? bytes + HEAD_BYTES : NULL,
                       .is_native = result && result->histogram.native};
    const unsigned kind = !result ? EMPTY : result->is_total ? SUM : IMAGE;
    move(&s, kind, 1);
    if (result) {
        struct ih_result r = *result;
        struct ih_saved_texts texts;
        unsigned of_result[N_BYTES] = {kind,
                                       r.histogram.n_channels,
                                       r.spec.luma == &ih_luma_bt601,
                                       r.alpha,
                                       r.spec.clip_low,
                                       r.spec.clip_high,
                                       0,
                                       r.info.range};
        r.version = r.version ? r.version : IH_VERSION;
        r.n_images = r.is_total ? r.n_images : 1;
        ih_saved_texts_keep(&texts, &r);
        move_result(&s, &r, &texts, of_result);
    }
    const size_t n = HEAD_BYTES + s.n + CHECKSUM_BYTES;
    if (!bytes)
        return n;
    struct stream head = {.to = bytes};
    for (size_t i = 0; i < sizeof signature; i++)
        move(&head, signature[i], 1);
    move(&head, s.is_native ? NATIVE_VERSION : VERSION, 4);
    move(&head, n, 4);
    move(&s, checksum(bytes, n - CHECKSUM_BYTES), CHECKSUM_BYTES);
    return n;
}

size_t ih_result_save(const struct ih_result *result, uint8_t *bytes, size_t size_bytes)
{
    const size_t n = save(result, NULL);
    return size_bytes >= n ? save(result, bytes) : n;
}

/* ---- loading ---- */

static enum ih_status saved_damaged(const char *how, struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged saved counts: %s", how);
}

/* Fills *r. Returns false if a field has a value without a meaning. */
static bool load_result(struct stream *s, unsigned kind, struct ih_result *r,
                        struct ih_saved_texts *texts)
{
    const struct ih_sample_range *samples = &r->sample_range;
    const struct ih_extremes *extremes = &r->info.extremes;
    struct ih_region region;
    struct ih_error ignored;
    unsigned bytes[N_BYTES] = {kind};
    memset(r, 0, sizeof *r);
    memset(texts, 0, sizeof *texts);
    move_result(s, r, texts, bytes);
    r->info.format = texts->format;
    r->library = texts->library;
    r->version = texts->version;
    r->region = texts->region;
    r->mask = texts->mask;
    ih_saved_texts_keep(texts, r);
    r->is_total = kind == SUM;
    r->histogram.n_channels = r->info.n_channels = r->spec.n_channels = bytes[CHANNELS];
    r->info.n_bins = r->spec.n_bins;
    r->spec.luma = bytes[WEIGHTS] ? &ih_luma_bt601 : &ih_luma_bt709;
    r->alpha = bytes[ALPHA] ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
    r->spec.clip_low = (uint16_t)bytes[CLIP_LOW];
    r->spec.clip_high = (uint16_t)bytes[CLIP_HIGH];
    r->info.range = bytes[RANGE] < IH_RANGES ? (enum ih_range)bytes[RANGE] : IH_RANGE_UNKNOWN;
    return (!r->region || ih_region_parse(r->region, &region, &ignored) == IH_OK) &&
           (samples->high ? samples->low < samples->high : samples->low == 0) &&
           (extremes->end ? extremes->min < extremes->end : extremes->min == 0) &&
           bytes[CHANNELS] <= IH_CHANNELS_MAX && bytes[WEIGHTS] <= 1 && bytes[ALPHA] <= 1 &&
           bytes[REDUCTION] == 0 && bytes[RANGE] < IH_RANGES &&
           r->info.warnings < IH_WARNINGS_END && r->info.not_applied <= IH_NOT_APPLIED_KNOWN &&
           r->info.source_depth <= 32 && (r->is_total || (r->n_images == 1 && r->n_failed == 0));
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
    s.is_native = version == NATIVE_VERSION;
    if (version != VERSION && !s.is_native)
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
    *is_empty = kind == EMPTY;
    enum ih_status status = IH_OK;
    result->histogram.native = NULL;
    if (kind > SUM || (!*is_empty && !load_result(&s, kind, result, texts)) || s.is_short ||
        s.n_left > 0 || (*is_empty && s.is_native))
        status = s.lacks_memory ? ih_error_set(err, IH_MEMORY, "no memory for the native bins")
                                : saved_damaged("a field without a meaning", err);
    else if (!*is_empty && ih_result_check(result, &reason) != IH_OK)
        status = saved_damaged(reason.message, err);
    else if (kind == IMAGE)
        result->n_images = 0;
    if (status != IH_OK)
        ih_histogram_reset(&result->histogram);
    return status;
}
