#include "histogram/saved.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 1, VERSION_MAX = 2, HEAD_BYTES = 16, FIXED_BYTES = 112, CHECKSUM_BYTES = 8 };
enum kind { EMPTY, IMAGE, SUM };

static const uint8_t signature[8] = {'i', 'h', 'c', 'o', 'u', 'n', 't', 's'};

static uint64_t checksum(const uint8_t *bytes, size_t n)
{
    return ih_hash(IH_HASH_START, bytes, n);
}

/* ---- saving ---- */

/* The bytes after n fit: IH_SAVED_BYTES_MAX covers five planes and five longest texts. */
struct out {
    uint8_t bytes[IH_SAVED_BYTES_MAX];
    size_t n;
};

_Static_assert(FIXED_BYTES + IH_PLANES * IH_BINS * 8 + 5 * IH_SAVED_TEXT_MAX + 12 +
                       CHECKSUM_BYTES <=
                   IH_SAVED_BYTES_MAX,
               "every result fits");

static void put(struct out *o, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = 0; i < n_bytes; i++)
        o->bytes[o->n++] = (uint8_t)(value >> 8 * i);
}

static void put_text(struct out *o, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    n = n < IH_SAVED_TEXT_MAX ? n : IH_SAVED_TEXT_MAX - 1;
    put(o, n, 1);
    if (n > 0)
        memcpy(o->bytes + o->n, text, n);
    o->n += n;
}

static void put_result(struct out *o, const struct ih_result *r, unsigned version)
{
    const struct ih_histogram *h = &r->histogram;
    const struct ih_image_info *info = &r->info;
    put(o, r->is_total ? SUM : IMAGE, 1);
    put(o, h->n_channels, 1);
    put(o, r->spec.luma == &ih_luma_bt601, 1);
    put(o, r->alpha == IH_ALPHA_SKIP_TRANSPARENT, 1);
    put(o, r->spec.clip_low, 1);
    put(o, r->spec.clip_high, 1);
    put(o, 0, 1);
    put(o, info->range, 1);
    put(o, info->source_depth, 4);
    put(o, info->warnings, 4);
    put(o, info->not_applied, 4);
    put(o, info->n_frames, 4);
    const uint64_t numbers[] = {info->width, info->height, r->is_total ? r->n_images : 1,
                                r->n_failed, h->n_pixels,  h->any_low,
                                h->any_high, h->all_low,   h->all_high};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put(o, numbers[i], 8);
    for (unsigned p = 0; p < IH_PLANES; p++)
        for (unsigned v = 0; v < IH_BINS && ih_plane_name(h->n_channels, p); v++)
            put(o, h->bins[p][v], 8);
    put_text(o, info->format);
    put_text(o, r->library);
    put_text(o, r->version ? r->version : IH_VERSION);
    if (version == VERSION)
        return;
    put_text(o, r->region);
    put_text(o, r->mask);
    put(o, r->sample_range.low, 2);
    put(o, r->sample_range.high, 2);
    put(o, r->info.extremes.min, 4);
    put(o, r->info.extremes.end, 4);
}

/* The oldest version that can say all of a result. */
static unsigned version_for(const struct ih_result *r)
{
    const bool is_plain =
        !r || (!r->region && !r->mask && r->sample_range.high == 0 && r->info.extremes.end == 0 &&
               r->info.not_applied != IH_NOT_APPLIED_UNKNOWN);
    return is_plain ? VERSION : VERSION_MAX;
}

size_t ih_result_save(const struct ih_result *result, uint8_t *bytes, size_t size_bytes)
{
    struct out o;
    memcpy(o.bytes, signature, sizeof signature);
    o.n = sizeof signature;
    put(&o, version_for(result), 4);
    put(&o, 0, 4);
    if (result) {
        put_result(&o, result, version_for(result));
    } else {
        put(&o, EMPTY, 1);
    }
    const size_t n = o.n + CHECKSUM_BYTES;
    o.n = HEAD_BYTES - 4;
    put(&o, n, 4);
    o.n = n - CHECKSUM_BYTES;
    put(&o, checksum(o.bytes, o.n), CHECKSUM_BYTES);
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

static enum ih_status damaged(const char *how, struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged saved counts: %s", how);
}

/* Fills *r. Returns false if a field has a value that this version does not define. */
static bool take_result(struct in *in, enum kind kind, uint64_t version, struct ih_result *r,
                        struct ih_saved_texts *texts)
{
    struct ih_histogram *h = &r->histogram;
    struct ih_image_info *info = &r->info;
    memset(r, 0, sizeof *r);
    r->is_total = kind == SUM;
    h->n_channels = info->n_channels = r->spec.n_channels = (unsigned)take(in, 1);
    const uint64_t luma = take(in, 1), alpha = take(in, 1);
    r->spec.luma = luma == 0 ? &ih_luma_bt709 : &ih_luma_bt601;
    r->alpha = alpha == 0 ? IH_ALPHA_COUNT : IH_ALPHA_SKIP_TRANSPARENT;
    r->spec.clip_low = (uint8_t)take(in, 1);
    r->spec.clip_high = (uint8_t)take(in, 1);
    const uint64_t reduction = take(in, 1), range = take(in, 1);
    info->range = range < IH_RANGES ? (enum ih_range)range : IH_RANGE_UNKNOWN;
    info->source_depth = (unsigned)take(in, 4);
    info->warnings = (unsigned)take(in, 4);
    info->not_applied = (unsigned)take(in, 4);
    info->n_frames = (unsigned)take(in, 4);
    info->width = take(in, 8);
    info->height = take(in, 8);
    r->n_images = take(in, 8);
    r->n_failed = take(in, 8);
    h->n_pixels = take(in, 8);
    h->any_low = take(in, 8);
    h->any_high = take(in, 8);
    h->all_low = take(in, 8);
    h->all_high = take(in, 8);
    for (unsigned p = 0; p < IH_PLANES; p++)
        for (unsigned v = 0; v < IH_BINS && ih_plane_name(h->n_channels, p); v++)
            h->bins[p][v] = take(in, 8);
    take_text(in, texts->format);
    take_text(in, texts->library);
    take_text(in, texts->version);
    texts->region[0] = texts->mask[0] = '\0';
    if (version > VERSION) {
        take_text(in, texts->region);
        take_text(in, texts->mask);
        r->sample_range.low = (uint16_t)take(in, 2);
        r->sample_range.high = (uint16_t)take(in, 2);
        info->extremes.min = (uint32_t)take(in, 4);
        info->extremes.end = (uint32_t)take(in, 4);
    }
    use_texts(texts, r);
    const struct ih_sample_range samples = r->sample_range;
    struct ih_region region;
    struct ih_error ignored;
    return version_for(r) == version &&
           (!r->region || ih_region_parse(r->region, &region, &ignored) == IH_OK) &&
           (samples.high ? samples.low < samples.high : samples.low == 0) &&
           (info->extremes.end ? info->extremes.min < info->extremes.end
                               : info->extremes.min == 0) &&
           luma <= 1 && alpha <= 1 && reduction == 0 && range < IH_RANGES &&
           h->n_channels <= IH_CHANNELS_MAX && info->warnings < IH_WARNINGS_END &&
           (info->not_applied <= IH_NOT_APPLIED_KNOWN ||
            (version > VERSION && info->not_applied == IH_NOT_APPLIED_UNKNOWN)) &&
           info->source_depth <= 32 && (r->is_total || (r->n_images == 1 && r->n_failed == 0));
}

enum ih_status ih_result_load(const uint8_t *bytes, size_t size_bytes, struct ih_result *result,
                              bool *is_empty, struct ih_saved_texts *texts, struct ih_error *err)
{
    struct in in = {bytes, size_bytes, false};
    struct ih_error reason;
    if (size_bytes < HEAD_BYTES + CHECKSUM_BYTES || memcmp(bytes, signature, sizeof signature) != 0)
        return damaged("they do not begin as saved counts do", err);
    in.p += sizeof signature;
    in.n -= sizeof signature;
    const uint64_t version = take(&in, 4);
    if (version < VERSION || version > VERSION_MAX)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "saved counts of version %llu; this library reads versions up to %d",
                            (unsigned long long)version, VERSION_MAX);
    if (take(&in, 4) != size_bytes)
        return damaged("cut short, or with bytes after the end", err);
    in.n -= CHECKSUM_BYTES;
    struct in last = {in.p + in.n, CHECKSUM_BYTES, false};
    if (take(&last, CHECKSUM_BYTES) != checksum(bytes, size_bytes - CHECKSUM_BYTES))
        return damaged("wrong checksum", err);
    const uint64_t kind = take(&in, 1);
    *is_empty = kind == EMPTY;
    if (kind > SUM || (*is_empty && version != VERSION) ||
        (!*is_empty && !take_result(&in, (enum kind)kind, version, result, texts)) || in.is_short ||
        in.n > 0)
        return damaged("a field without a meaning", err);
    if (!*is_empty && ih_result_check(result, &reason) != IH_OK)
        return damaged(reason.message, err);
    if (!*is_empty && kind == IMAGE)
        result->n_images = 0;
    return IH_OK;
}
