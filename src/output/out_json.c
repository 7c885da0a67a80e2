/*
 * JSON: one document for all inputs (--json), or one object per line and input (--ndjson).
 *
 * Both write the same object for each result, failed ones included, as soon as it arrives.
 *
 * A JSON library would have to write 64-bit counts exactly and stream its output: cJSON, jansson,
 * json-c and yyjson build the document in memory first. With fixed keys, only strings need care.
 *
 * Sources: RFC 8259, section 7 for strings; RFC 4648, section 4 for base64.
 */
#include "output/output.h"

#include "base/text.h"
#include "histogram/total.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "\"schema\":\"imghist/2\""

struct json_state {
    FILE *stream; /* borrowed */
    bool is_verbose;
    bool has_begun; /* the document's first line is written */
    bool has_image, has_total;
};

/* ---- strings ---- */

static bool is_utf8(const char *text)
{
    unsigned long c;
    while (*text) {
        size_t n = ih_utf8_length(text, &c);
        if (n == 0)
            return false;
        text += n;
    }
    return true;
}

/* escapes_markup   write "<" as an escape, so that the string cannot end a script element */
static void put_escaped(FILE *f, const char *text, bool escapes_markup)
{
    if (!text) {
        fputs("null", f);
        return;
    }
    putc('"', f);
    while (*text) {
        unsigned long c = 0xFFFD;
        size_t n = ih_utf8_length(text, &c);
        if (n == 0)
            fputs("\xEF\xBF\xBD", f);
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", *text);
        else if (c < 0x20 || (c >= 0x7F && c < 0xA0) || (escapes_markup && c == '<'))
            fprintf(f, "\\u%04lx", c);
        else
            fwrite(text, 1, n, f);
        text += n ? n : 1;
    }
    putc('"', f);
}

void ih_json_put_string(FILE *f, const char *text)
{
    put_escaped(f, text, false);
}

void ih_json_put_string_in_html(FILE *f, const char *text)
{
    put_escaped(f, text, true);
}

static void put_base64(FILE *f, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t n = strlen(text);
    putc('"', f);
    for (size_t i = 0; i < n; i += 3) {
        unsigned group = (unsigned)bytes[i] << 16;
        group |= i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0;
        group |= i + 2 < n ? bytes[i + 2] : 0;
        putc(digits[group >> 18], f);
        putc(digits[group >> 12 & 63], f);
        putc(i + 1 < n ? digits[group >> 6 & 63] : '=', f);
        putc(i + 2 < n ? digits[group & 63] : '=', f);
    }
    putc('"', f);
}

/* ---- members, each with the comma before it ---- */

static void put_string(FILE *f, const char *key, const char *text)
{
    fprintf(f, ",\"%s\":", key);
    ih_json_put_string(f, text);
}

static void put_count(FILE *f, const char *key, uint64_t n)
{
    fprintf(f, ",\"%s\":%" PRIu64, key, n);
}

static void put_real(FILE *f, const char *key, double v)
{
    char text[IH_REAL_MAX];
    fprintf(f, ",\"%s\":%s", key, isnan(v) ? "null" : ih_format_real(v, text));
}

/* ---- one input ---- */

/* before   stands before the first key */
static void put_statistics(FILE *f, const struct ih_result *r, unsigned plane, const char *before)
{
    struct ih_stats stats;
    struct ih_statistic statistics[IH_N_STATISTICS];
    ih_result_stats(r, plane, &stats);
    ih_format_statistics(&stats, statistics);
    for (size_t i = 0; i < IH_N_STATISTICS; i++)
        fprintf(f, "%s\"%s\":%s", i ? "," : before, statistics[i].name,
                *statistics[i].text ? statistics[i].text : "null");
}

static void put_channel(FILE *f, const struct ih_result *r, unsigned plane)
{
    const uint64_t *bins = r->histogram.bins[plane];
    fprintf(f, "{\"name\":\"%s\"", ih_plane_name(r->histogram.n_channels, plane));
    put_statistics(f, r, plane, ",");
    char row[IH_BINS * (IH_COUNT_MAX + 1)], *end = ih_format_count(row, bins[0]);
    for (unsigned v = 1; v < IH_BINS; v++) {
        *end++ = ',';
        end = ih_format_count(end, bins[v]);
    }
    fputs(",\"histogram\":[", f);
    fwrite(row, 1, (size_t)(end - row), f);
    fputs("]}", f);
}

static void put_channels(FILE *f, const struct ih_result *r)
{
    fputs(",\"channels\":[", f);
    for (unsigned p = 0, n = 0; p < IH_PLANES; p++) {
        if (!ih_plane_name(r->histogram.n_channels, p))
            continue;
        if (n++ > 0)
            putc(',', f);
        put_channel(f, r, p);
    }
    putc(']', f);
}

/* Two settings, and the counts that they lead to. */
static void put_clip_limits(FILE *f, const struct ih_count_spec *spec)
{
    fprintf(f, ",\"clip_limits\":{\"low\":%u", (unsigned)spec->clip_low);
    put_count(f, "high", spec->clip_high);
    putc('}', f);
}

static void put_clip(FILE *f, const struct ih_histogram *h)
{
    fprintf(f, ",\"clip\":{\"any_low\":%" PRIu64, h->any_low);
    put_count(f, "any_high", h->any_high);
    put_count(f, "all_low", h->all_low);
    put_count(f, "all_high", h->all_high);
    putc('}', f);
}

static void put_extremes(FILE *f, struct ih_extremes extremes)
{
    if (extremes.end == 0)
        return;
    put_count(f, "source_min", extremes.min);
    put_count(f, "source_max", extremes.end - 1);
}

/* What is not known has no member, or null where every image has one. */
static void put_source(FILE *f, const struct ih_result *r)
{
    const struct ih_image_info *info = &r->info;
    if (r->is_total) {
        put_count(f, "n_images", r->n_images);
        put_count(f, "n_failed", r->n_failed);
        if (r->folder && *r->folder)
            put_string(f, "folder", r->folder);
        fputs(",\"format\":null,\"library\":null,\"width\":null,\"height\":null", f);
        put_count(f, "pixels", r->histogram.n_pixels);
        fputs(",\"source_depth\":null", f);
        put_extremes(f, info->extremes);
        return;
    }
    put_string(f, "format", info->format);
    put_string(f, "library", r->library && *r->library ? r->library : NULL);
    put_count(f, "width", info->width);
    put_count(f, "height", info->height);
    put_count(f, "pixels", r->histogram.n_pixels);
    if (info->n_frames)
        put_count(f, "frames", info->n_frames);
    put_count(f, "source_depth", info->source_depth);
    put_extremes(f, info->extremes);
    if (info->range != IH_RANGE_UNKNOWN)
        put_string(f, "range", ih_range_names[info->range]);
}

static void put_not_applied(FILE *f, unsigned not_applied)
{
    static const char *const names[] = {"icc_profile", "gamma", "colour_space", "orientation"};
    const char *before = "";
    if (not_applied & IH_NOT_APPLIED_UNKNOWN) {
        fputs(",\"not_applied\":null", f);
        return;
    }
    fputs(",\"not_applied\":[", f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(not_applied >> i & 1))
            continue;
        fprintf(f, "%s\"%s\"", before, names[i]);
        before = ",";
    }
    putc(']', f);
}

static void put_settings(FILE *f, const struct ih_result *r)
{
    char reduction[IH_REDUCTION_BYTES];
    ih_reduction_print(r->sample_range, reduction);
    put_string(f, "reduction", reduction);
    put_string(f, "luma_weights", r->spec.luma->name);
    put_string(f, "alpha", ih_alpha_name(r->alpha));
    if (r->region)
        put_string(f, "region", r->region);
    if (r->mask)
        put_string(f, "mask", r->mask);
    if (r->mask_hash)
        fprintf(f, ",\"mask_hash\":\"%016" PRIx64 "\"", r->mask_hash);
    put_clip_limits(f, &r->spec);
}

/* The mean luminance is that of sRGB: false if the file states other colours, null if only a
 * profile knows. */
static void put_srgb(FILE *f, unsigned not_applied)
{
    const bool is_other = not_applied & (IH_NOT_APPLIED_GAMMA | IH_NOT_APPLIED_COLOUR_SPACE);
    const bool is_unknown = not_applied & (IH_NOT_APPLIED_ICC_PROFILE | IH_NOT_APPLIED_UNKNOWN);
    fprintf(f, ",\"srgb\":%s", is_other ? "false" : is_unknown ? "null" : "true");
}

/* Sound files have no such member. */
static void put_warnings(FILE *f, unsigned warnings)
{
    const char *before = ",\"warnings\":[";
    for (unsigned w = 1; w < IH_WARNINGS_END; w *= 2) {
        if (!(warnings & w))
            continue;
        fputs(before, f);
        ih_json_put_string(f, ih_warning_text((enum ih_warning)w));
        before = ",";
    }
    if (warnings)
        putc(']', f);
}

static void put_counted(FILE *f, const struct ih_result *r)
{
    struct ih_stats luma;
    ih_stats_compute(&r->histogram, IH_LUMA, &r->spec, &luma);
    put_string(f, "status", "ok");
    put_source(f, r);
    put_settings(f, r);
    put_not_applied(f, r->info.not_applied);
    put_channels(f, r);
    put_real(f, "mean_luma", luma.mean);
    put_real(f, "mean_luminance", ih_mean_luminance(&r->histogram));
    put_srgb(f, r->info.not_applied);
    put_clip(f, &r->histogram);
    put_warnings(f, r->info.warnings);
    if (r->info.n_not_counted)
        put_count(f, "not_counted", r->info.n_not_counted);
}

/* The place of a record in its run. Records that are read back have lost theirs. */
static void put_place(FILE *f, const struct ih_result *r)
{
    if (r->is_read)
        return;
    if (r->n_shards)
        fprintf(f, ",\"shard\":\"%u/%u\"", r->shard, r->n_shards);
    if (r->run)
        fprintf(f, ",\"run\":\"%016" PRIx64 "\"", r->run);
    if ((r->n_shards || r->inputs_hash) && !r->is_total && !r->is_end) {
        fprintf(f, ",\"position\":[%" PRIu64 ",%" PRIu64, r->input, r->member);
        if (r->frame)
            fprintf(f, ",%" PRIu64, r->frame);
        fputc(']', f);
    }
    if (r->inputs_hash)
        fprintf(f, ",\"resume\":\"%016" PRIx64 "\"", r->inputs_hash);
}

static void put_name(FILE *f, const struct ih_result *r)
{
    put_string(f, "version", !r->version ? IH_VERSION : *r->version ? r->version : NULL);
    put_string(f, "file", r->path);
    if (r->path && !is_utf8(r->path)) {
        fputs(",\"file_b64\":", f);
        put_base64(f, r->path);
    }
}

static void put_object(FILE *f, const struct ih_result *r, bool is_verbose)
{
    fputs("{" SCHEMA, f);
    put_name(f, r);
    if (r->is_total)
        fputs(",\"total\":true", f); /* a file may be called "(total)" too */
    put_place(f, r);
    if (r->status == IH_OK) {
        put_counted(f, r);
    } else {
        put_string(f, "status", "error");
        put_string(f, "error", r->error.message);
    }
    if (r->status == IH_OK && is_verbose && !r->is_total) {
        put_string(f, "decoder", r->decoder_version);
        put_string(f, "device", r->counted_by);
        put_string(f, "kernel", r->kernel);
    }
    putc('}', f);
}

/* ---- a comparison ---- */

/* No record: its schema is another one, so it is not taken for a result file. */
static void compare(FILE *f, const struct ih_output_options *options, const struct ih_comparison *c)
{
    static const char *const names[] = {"a", "b"};
    const char *before = "";
    (void)options;
    fputs("{\"schema\":\"imghist-diff/1\"", f);
    put_settings(f, &c->sides[0]);
    for (unsigned i = 0; i < 2; i++) {
        const struct ih_result *side = &c->sides[i];
        fprintf(f, ",\n\"%s\":{\"n_images\":%" PRIu64, names[i], side->n_images);
        put_count(f, "n_failed", side->n_failed);
        put_count(f, "pixels", side->histogram.n_pixels);
        put_name(f, side);
        putc('}', f);
    }
    put_real(f, "ks", c->largest.ks);
    put_real(f, "emd", c->largest.emd);
    fputs(",\"channels\":[", f);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *channel = ih_plane_name(c->sides[0].histogram.n_channels, p);
        if (!channel)
            continue;
        fprintf(f, "%s\n{\"name\":\"%s\"", before, channel);
        put_real(f, "ks", c->planes[p].ks);
        put_real(f, "emd", c->planes[p].emd);
        for (unsigned i = 0; i < 2; i++) {
            fprintf(f, ",\"%s\":{", names[i]);
            put_statistics(f, &c->sides[i], p, "");
            putc('}', f);
        }
        putc('}', f);
        before = ",";
    }
    fputs("\n]}\n", f);
}

/* ---- the outputs ---- */

static enum ih_status begin(FILE *stream, const struct ih_output_options *options, void **state,
                            struct ih_error *err)
{
    struct json_state *s = malloc(sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    *s = (struct json_state){.stream = stream, .is_verbose = options->verbose};
    *state = s;
    return IH_OK;
}

/* Begins the document at the first record, so a run that fails to start writes nothing. */
static void put_document_start(struct json_state *s)
{
    if (!s->has_begun)
        fputs("{" SCHEMA ",\"images\":[", s->stream);
    s->has_begun = true;
}

static void put_images_end(const struct json_state *s)
{
    fputs(s->has_image ? "\n]" : "]", s->stream);
}

/* The total stands beside the images, so that adding up "images" does not count it twice. */
static void record_json(void *state, const struct ih_result *result)
{
    struct json_state *s = state;
    put_document_start(s);
    if (result->is_total) {
        put_images_end(s);
        fputs(",\"total\":", s->stream);
        s->has_total = true;
    } else {
        fputs(s->has_image ? ",\n" : "\n", s->stream);
        s->has_image = true;
    }
    put_object(s->stream, result, s->is_verbose);
}

static void end_json(void *state)
{
    struct json_state *s = state;
    put_document_start(s);
    if (!s->has_total)
        put_images_end(s);
    fputs("}\n", s->stream);
}

static void record_ndjson(void *state, const struct ih_result *result)
{
    const struct json_state *s = state;
    if (result->is_end) {
        fputs("{" SCHEMA, s->stream);
        put_place(s->stream, result);
        fprintf(s->stream, ",\"status\":\"end\",\"records\":%" PRIu64 "}", result->n_images);
    } else {
        put_object(s->stream, result, s->is_verbose);
    }
    putc('\n', s->stream);
}

const struct ih_output ih_output_json = {
    .name = "json",
    .title = "one JSON document, failed inputs too",
    .failures_in = "",
    .begin = begin,
    .record = record_json,
    .end = end_json,
    .close = free,
    .compare = compare,
};

const struct ih_output ih_output_ndjson = {
    .name = "ndjson",
    .title = "one JSON object a line for each input, failed ones too",
    .failures_in = "",
    .begin = begin,
    .record = record_ndjson,
    .end = ih_output_end_nothing, /* every line is complete */
    .close = free,
};
