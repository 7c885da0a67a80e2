#include "histogram/saved.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 2, HEAD_BYTES = 16, FIXED_BYTES = 112, CHECKSUM_BYTES = 8, N_TEXTS = 5 };
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
    uint8_t *to;
    const uint8_t *from; /* NULL: bytes are written */
    size_t n_left;
    bool is_short;
};

/* Writes a number, or reads it. Returns it. */
static uint64_t move(struct stream *s, uint64_t value, unsigned n_bytes)
{
    if (s->n_left < n_bytes) {
        s->is_short = true;
        return 0;
    }
    s->n_left -= n_bytes;
    if (!s->from) {
        for (unsigned i = 0; i < n_bytes; i++)
            *s->to++ = (uint8_t)(value >> 8 * i);
        return value;
    }
    value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)*s->from++ << 8 * i;
    return value;
}

static void move_text(struct stream *s, char text[IH_SAVED_TEXT_MAX])
{
    const size_t n = (size_t)move(s, s->from ? 0 : strlen(text), 1);
    if (s->n_left < n || (s->from && memchr(s->from, '\0', n))) {
        s->is_short = true;
        text[0] = '\0';
        return;
    }
    s->n_left -= n;
    if (s->from) {
        memcpy(text, s->from, n);
        text[n] = '\0';
        s->from += n;
    } else {
        memcpy(s->to, text, n);
        s->to += n;
    }
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
    h->n_channels = bytes[CHANNELS];
    h->without_luma = bytes[WEIGHTS] == NO_LUMA;
    for (unsigned p = 0; p < IH_PLANES; p++)
        for (unsigned v = 0; v < IH_BINS && ih_histogram_plane(h, p); v++)
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

size_t ih_result_save(const struct ih_result *result, uint8_t *bytes, size_t size_bytes)
{
    uint8_t all[IH_SAVED_BYTES_MAX];
    struct stream s = {.to = all + HEAD_BYTES, .n_left = sizeof all - HEAD_BYTES};
    const unsigned kind = !result ? EMPTY : result->is_total ? SUM : IMAGE;
    move(&s, kind, 1);
    if (result) {
        struct ih_result r = *result;
        struct ih_saved_texts texts;
        unsigned of_result[N_BYTES] = {
            kind,        r.histogram.n_channels, 0, r.alpha, r.spec.clip_low, r.spec.clip_high, 0,
            r.info.range};
        while (weights[of_result[WEIGHTS]] != r.spec.luma)
            of_result[WEIGHTS]++;
        r.version = r.version ? r.version : IH_VERSION;
        r.n_images = r.is_total ? r.n_images : 1;
        ih_saved_texts_keep(&texts, &r);
        move_result(&s, &r, &texts, of_result);
    }
    const size_t n = (size_t)(s.to - all) + CHECKSUM_BYTES;
    struct stream head = {.to = all, .n_left = HEAD_BYTES};
    for (size_t i = 0; i < sizeof signature; i++)
        move(&head, signature[i], 1);
    move(&head, VERSION, 4);
    move(&head, n, 4);
    move(&s, checksum(all, n - CHECKSUM_BYTES), CHECKSUM_BYTES);
    if (size_bytes >= n)
        memcpy(bytes, all, n);
    return n;
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
    r->info.n_channels = r->spec.n_channels = bytes[CHANNELS];
    r->spec.luma = weights[bytes[WEIGHTS] <= NO_LUMA ? bytes[WEIGHTS] : 0];
    r->alpha = bytes[ALPHA] ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
    r->spec.clip_low = (uint8_t)bytes[CLIP_LOW];
    r->spec.clip_high = (uint8_t)bytes[CLIP_HIGH];
    r->info.range = bytes[RANGE] < IH_RANGES ? (enum ih_range)bytes[RANGE] : IH_RANGE_UNKNOWN;
    return (!r->region || ih_region_parse(r->region, &region, &ignored) == IH_OK) &&
           (samples->high ? samples->low < samples->high : samples->low == 0) &&
           (extremes->end ? extremes->min < extremes->end : extremes->min == 0) &&
           bytes[CHANNELS] <= IH_CHANNELS_MAX && bytes[WEIGHTS] <= NO_LUMA && bytes[ALPHA] <= 1 &&
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
    if (version != VERSION)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "saved counts of version %llu; this library reads version %d",
                            (unsigned long long)version, VERSION);
    if (move(&s, 0, 4) != size_bytes)
        return saved_damaged("cut short, or with bytes after the end", err);
    s.n_left -= CHECKSUM_BYTES;
    struct stream last = {.from = s.from + s.n_left, .n_left = CHECKSUM_BYTES};
    if (move(&last, 0, CHECKSUM_BYTES) != checksum(bytes, size_bytes - CHECKSUM_BYTES))
        return saved_damaged("wrong checksum", err);
    const unsigned kind = (unsigned)move(&s, 0, 1);
    *is_empty = kind == EMPTY;
    if (kind > SUM || (!*is_empty && !load_result(&s, kind, result, texts)) || s.is_short ||
        s.n_left > 0)
        return saved_damaged("a field without a meaning", err);
    if (!*is_empty && ih_result_check(result, &reason) != IH_OK)
        return saved_damaged(reason.message, err);
    if (kind == IMAGE)
        result->n_images = 0;
    return IH_OK;
}
