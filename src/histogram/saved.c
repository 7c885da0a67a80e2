#include "histogram/saved.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 2, HEAD_BYTES = 16, FIXED_BYTES = 112, CHECKSUM_BYTES = 8, N_TEXTS = 5 };
enum kind { EMPTY, IMAGE, SUM };

static const uint8_t signature[8] = {'i', 'h', 'c', 'o', 'u', 'n', 't', 's'};

static uint64_t checksum(const uint8_t *bytes, size_t n)
{
    return ih_hash(IH_HASH_START, bytes, n);
}

/* What has the same place in memory whether it is written or read. */
struct parts {
    unsigned *words[4];
    uint64_t *numbers[9];
};

static struct parts parts_of(struct ih_result *r)
{
    struct ih_histogram *h = &r->histogram;
    struct ih_image_info *i = &r->info;
    return (struct parts){{&i->source_depth, &i->warnings, &i->not_applied, &i->n_frames},
                          {&i->width, &i->height, &r->n_images, &r->n_failed, &h->n_pixels,
                           &h->any_low, &h->any_high, &h->all_low, &h->all_high}};
}

/* ---- saving ---- */

/* The bytes after n fit: IH_SAVED_BYTES_MAX covers five planes and five longest texts. */
struct out {
    uint8_t bytes[IH_SAVED_BYTES_MAX];
    size_t n;
};

_Static_assert(FIXED_BYTES + IH_PLANES * IH_BINS * 8 + N_TEXTS * IH_SAVED_TEXT_MAX + 12 +
                       CHECKSUM_BYTES <=
                   IH_SAVED_BYTES_MAX,
               "every result fits");

static void saved_put(struct out *o, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = 0; i < n_bytes; i++)
        o->bytes[o->n++] = (uint8_t)(value >> 8 * i);
}

static void saved_put_text(struct out *o, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    n = n < IH_SAVED_TEXT_MAX ? n : IH_SAVED_TEXT_MAX - 1;
    saved_put(o, n, 1);
    if (n > 0)
        memcpy(o->bytes + o->n, text, n);
    o->n += n;
}

static void put_result(struct out *o, struct ih_result *r)
{
    const struct parts parts = parts_of(r);
    const unsigned bytes[] = {r->is_total ? SUM : IMAGE,
                              r->histogram.n_channels,
                              r->spec.luma == &ih_luma_bt601,
                              r->alpha,
                              r->spec.clip_low,
                              r->spec.clip_high,
                              0,
                              r->info.range};
    const char *const texts[N_TEXTS] = {r->info.format, r->library,
                                        r->version ? r->version : IH_VERSION, r->region, r->mask};
    r->n_images = r->is_total ? r->n_images : 1;
    for (unsigned i = 0; i < 8; i++)
        saved_put(o, bytes[i], 1);
    for (unsigned i = 0; i < 4; i++)
        saved_put(o, *parts.words[i], 4);
    for (unsigned i = 0; i < 9; i++)
        saved_put(o, *parts.numbers[i], 8);
    for (unsigned p = 0; p < IH_PLANES; p++)
        for (unsigned v = 0; v < IH_BINS && ih_plane_name(r->histogram.n_channels, p); v++)
            saved_put(o, r->histogram.bins[p][v], 8);
    for (unsigned i = 0; i < N_TEXTS; i++)
        saved_put_text(o, texts[i]);
    saved_put(o, r->sample_range.low, 2);
    saved_put(o, r->sample_range.high, 2);
    saved_put(o, r->info.extremes.min, 4);
    saved_put(o, r->info.extremes.end, 4);
}

size_t ih_result_save(const struct ih_result *result, uint8_t *bytes, size_t size_bytes)
{
    struct out o;
    memcpy(o.bytes, signature, sizeof signature);
    o.n = sizeof signature;
    saved_put(&o, VERSION, 4);
    saved_put(&o, 0, 4);
    if (result) {
        struct ih_result copy = *result;
        put_result(&o, &copy);
    } else {
        saved_put(&o, EMPTY, 1);
    }
    const size_t n = o.n + CHECKSUM_BYTES;
    o.n = HEAD_BYTES - 4;
    saved_put(&o, n, 4);
    o.n = n - CHECKSUM_BYTES;
    saved_put(&o, checksum(o.bytes, o.n), CHECKSUM_BYTES);
    if (size_bytes >= n)
        memcpy(bytes, o.bytes, n);
    return n;
}

/* ---- loading ---- */

/* Bytes left to read. Past the end all numbers are 0. */
struct in {
    const uint8_t *p;
    size_t n;
    bool is_short;
};

static uint64_t take(struct in *in, unsigned n_bytes)
{
    uint64_t value = 0;
    if (in->n < n_bytes) {
        in->is_short = true;
        return 0;
    }
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)in->p[i] << 8 * i;
    in->p += n_bytes;
    in->n -= n_bytes;
    return value;
}

static void take_text(struct in *in, char text[IH_SAVED_TEXT_MAX])
{
    const size_t n = (size_t)take(in, 1);
    text[0] = '\0';
    if (in->n < n || memchr(in->p, '\0', n)) {
        in->is_short = true;
        return;
    }
    memcpy(text, in->p, n);
    text[n] = '\0';
    in->p += n;
    in->n -= n;
}

/* Lets a result point to its texts. */
static void use_texts(const struct ih_saved_texts *texts, struct ih_result *r)
{
    r->info.format = texts->format;
    r->library = texts->library;
    r->version = texts->version;
    r->region = *texts->region ? texts->region : NULL;
    r->mask = *texts->mask ? texts->mask : NULL;
}

void ih_saved_texts_keep(struct ih_saved_texts *texts, struct ih_result *r)
{
    const char *const from[] = {r->info.format, r->library, r->version, r->region, r->mask};
    char *const to[] = {texts->format, texts->library, texts->version, texts->region, texts->mask};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        snprintf(to[i], IH_SAVED_TEXT_MAX, "%s", from[i] ? from[i] : "");
    use_texts(texts, r);
}

static enum ih_status saved_damaged(const char *how, struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged saved counts: %s", how);
}

/* Fills *r. Returns false if a field has a value without a meaning. */
static bool saved_take_result(struct in *in, enum kind kind, struct ih_result *r,
                              struct ih_saved_texts *texts)
{
    const struct parts parts = parts_of(r);
    char *const to[N_TEXTS] = {texts->format, texts->library, texts->version, texts->region,
                               texts->mask};
    struct ih_sample_range *samples = &r->sample_range;
    struct ih_extremes *extremes = &r->info.extremes;
    struct ih_region region;
    struct ih_error ignored;
    unsigned bytes[7]; /* after the kind */
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i < 7; i++)
        bytes[i] = (unsigned)take(in, 1);
    for (unsigned i = 0; i < 4; i++)
        *parts.words[i] = (unsigned)take(in, 4);
    for (unsigned i = 0; i < 9; i++)
        *parts.numbers[i] = take(in, 8);
    r->is_total = kind == SUM;
    r->histogram.n_channels = r->info.n_channels = r->spec.n_channels = bytes[0];
    r->spec.luma = bytes[1] ? &ih_luma_bt601 : &ih_luma_bt709;
    r->alpha = bytes[2] ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
    r->spec.clip_low = (uint8_t)bytes[3];
    r->spec.clip_high = (uint8_t)bytes[4];
    r->info.range = bytes[6] < IH_RANGES ? (enum ih_range)bytes[6] : IH_RANGE_UNKNOWN;
    for (unsigned p = 0; p < IH_PLANES; p++)
        for (unsigned v = 0; v < IH_BINS && ih_plane_name(bytes[0], p); v++)
            r->histogram.bins[p][v] = take(in, 8);
    for (unsigned i = 0; i < N_TEXTS; i++)
        take_text(in, to[i]);
    samples->low = (uint16_t)take(in, 2);
    samples->high = (uint16_t)take(in, 2);
    extremes->min = (uint32_t)take(in, 4);
    extremes->end = (uint32_t)take(in, 4);
    use_texts(texts, r);
    return (!r->region || ih_region_parse(r->region, &region, &ignored) == IH_OK) &&
           (samples->high ? samples->low < samples->high : samples->low == 0) &&
           (extremes->end ? extremes->min < extremes->end : extremes->min == 0) &&
           bytes[0] <= IH_CHANNELS_MAX && bytes[1] <= 1 && bytes[2] <= 1 && bytes[5] == 0 &&
           bytes[6] < IH_RANGES && r->info.warnings < IH_WARNINGS_END &&
           r->info.not_applied <= IH_NOT_APPLIED_KNOWN && r->info.source_depth <= 32 &&
           (r->is_total || (r->n_images == 1 && r->n_failed == 0));
}

enum ih_status ih_result_load(const uint8_t *bytes, size_t size_bytes, struct ih_result *result,
                              bool *is_empty, struct ih_saved_texts *texts, struct ih_error *err)
{
    struct in in = {bytes, size_bytes, false};
    struct ih_error reason;
    if (size_bytes < HEAD_BYTES + CHECKSUM_BYTES || memcmp(bytes, signature, sizeof signature) != 0)
        return saved_damaged("they do not begin as saved counts do", err);
    in.p += sizeof signature;
    in.n -= sizeof signature;
    const uint64_t version = take(&in, 4);
    if (version != VERSION)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "saved counts of version %llu; this library reads version %d",
                            (unsigned long long)version, VERSION);
    if (take(&in, 4) != size_bytes)
        return saved_damaged("cut short, or with bytes after the end", err);
    in.n -= CHECKSUM_BYTES;
    struct in last = {in.p + in.n, CHECKSUM_BYTES, false};
    if (take(&last, CHECKSUM_BYTES) != checksum(bytes, size_bytes - CHECKSUM_BYTES))
        return saved_damaged("wrong checksum", err);
    const uint64_t kind = take(&in, 1);
    *is_empty = kind == EMPTY;
    if (kind > SUM || (!*is_empty && !saved_take_result(&in, (enum kind)kind, result, texts)) ||
        in.is_short || in.n > 0)
        return saved_damaged("a field without a meaning", err);
    if (!*is_empty && ih_result_check(result, &reason) != IH_OK)
        return saved_damaged(reason.message, err);
    if (!*is_empty && kind == IMAGE)
        result->n_images = 0;
    return IH_OK;
}
