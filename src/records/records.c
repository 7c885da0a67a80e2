#include "records/records.h"

#include "output/schema.h"
#include "records/json_in.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 17 };

/* ---- one record ---- */

enum { NAME_MAX_BYTES = 256, FIELD_WORDS = (IH_N_FIELDS + 63) / 64 };

struct reader {
    uint64_t *room; /* owned: counters for the planes of a record, [n_room] */
    size_t n_room;
    uint64_t sums[IH_PLANES_MAX], specials[IH_PLANES_MAX][IH_SPECIALS];
    struct ih_float_sums *floats; /* owned, [n_floats], of the channels so far */
    unsigned n_floats;
    struct ih_band_name *band_names; /* owned: of the record, NULL: none */

    /* Of the record: */
    uint64_t has[FIELD_WORDS]; /* bits of the fields of ih_schema that it has */
    char *bytes;               /* of its name; NULL: they are UTF-8 */
    char *reduction;
    char *names[IH_PLANES_MAX], *names_in_file[IH_PLANES_MAX]; /* in the file; NULL: no name */
    unsigned n_levels;
    unsigned n_channels; /* luma included, if it is counted */
    char why[IH_MESSAGE_MAX];
    struct ih_result result; /* points into the text */
};

/* Why a field is refused: "KEY is WHY". */
static const char impossible[] = "impossible", missing[] = "missing";

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

static bool read_position(struct ih_json_in *in, uint64_t position[IH_PLACES])
{
    position[2] = 0;
    return ih_json_token(in, '[') && ih_json_count(in, &position[0]) && ih_json_token(in, ',') &&
           ih_json_count(in, &position[1]) &&
           (*in->p != ',' || (ih_json_token(in, ',') && ih_json_count(in, &position[2]))) &&
           ih_json_token(in, ']');
}

_Static_assert(offsetof(struct ih_result, frame) ==
                   offsetof(struct ih_result, input) + 2 * sizeof(uint64_t),
               "input, member and frame are a position");

static bool read_not_applied(struct ih_json_in *in, void *set)
{
    char *text;
    if (!ih_json_text(in, &text))
        return false;
    for (unsigned i = 0; text && ih_not_applied_names[i]; i++)
        if (strcmp(text, ih_not_applied_names[i]) == 0) {
            *(unsigned *)set |= 1u << i;
            return true;
        }
    return ih_json_fail(in, impossible);
}

static bool read_warning(struct ih_json_in *in, void *set)
{
    char *text;
    if (!ih_json_text(in, &text))
        return false;
    for (unsigned w = 1; text && w < IH_WARNINGS_END; w *= 2)
        if (strcmp(text, ih_warning_words((enum ih_warning)w)) == 0) {
            *(unsigned *)set |= w;
            return true;
        }
    return ih_json_fail(in, impossible);
}

static bool read_samples(struct ih_json_in *in, const struct ih_field *field, void *to)
{
    unsigned *const n_samples = (void *)((char *)to + field->offset_bytes);
    uint64_t n;
    if (!ih_json_count(in, &n))
        return false;
    *n_samples = (unsigned)n;
    return (n > 0 && n <= UINT_MAX) || ih_json_fail(in, impossible);
}

/* The number of images follows from frames and warnings. */
static bool read_not_counted(struct ih_json_in *in, void *info)
{
    static const struct ih_field samples = {"samples", IH_FIELD_UNSIGNED,
                                            offsetof(struct ih_image_info, n_not_counted), NULL};
    static const struct ih_json_members members = {&samples, sizeof samples, 1, read_samples};
    uint64_t seen;
    return ih_json_object(in, &members, info, &seen);
}

/* A count, or a number of 16 bits. */
static bool read_number(struct ih_json_in *in, const struct ih_field *field, void *to)
{
    void *at = (char *)to + field->offset_bytes;
    uint64_t n = 0;
    if (field->kind == IH_FIELD_COUNT)
        return ih_json_count(in, at);
    if (!ih_json_count(in, &n))
        return false;
    *(uint16_t *)at = (uint16_t)n;
    return n <= UINT16_MAX || ih_json_fail(in, impossible);
}

/* Reads an object. The key after the last member is NULL. *seen: bit i is member i. */
static bool read_members(struct ih_json_in *in, const struct ih_field *fields,
                         bool (*read)(struct ih_json_in *in, const struct ih_field *field,
                                      void *to),
                         void *to, uint64_t *seen)
{
    struct ih_json_members members = {fields, sizeof *fields, 0, read};
    while (fields[members.n].key)
        members.n++;
    return ih_json_object(in, &members, to, seen);
}

static bool read_clip_limits(struct ih_json_in *in, void *to)
{
    uint64_t seen;
    return read_members(in, ih_clip_limits_fields, read_number, to, &seen) &&
           (seen == 3 || ih_json_fail_field(in, ih_clip_limits_fields[seen & 1].key, missing));
}

/* The joint counts of clipped pixels. Records of November 2026 have other names for them. */
static bool read_clip(struct ih_json_in *in, void *to)
{
    static const char *const earlier[] = {"any_low", "any_high", "all_low", "all_high"};
    enum { N = sizeof earlier / sizeof *earlier };
    struct ih_field fields[2 * N + 1] = {{NULL, 0, 0, NULL}};
    uint64_t seen;
    for (unsigned i = 0; i < N; i++) {
        fields[i] = fields[N + i] = ih_clip_fields[i];
        fields[N + i].key = earlier[i];
    }
    if (!read_members(in, fields, read_number, to, &seen))
        return false;
    for (unsigned i = 0; i < N; i++)
        if (!((seen | seen >> N) >> i & 1))
            return ih_json_fail_field(in, fields[i].key, missing);
    return true;
}

static bool set_bins(struct reader *r, struct ih_json_in *in, uint64_t n_bins)
{
    if (n_bins <= IH_BINS || n_bins > IH_NATIVE_BINS_MAX || r->n_channels > 0)
        return ih_json_fail(in, impossible); /* or after the channels */
    r->result.histogram.n_bins = (unsigned)n_bins;
    if (r->result.measure.type == IH_UINT8)
        r->result.histogram.type = r->result.measure.type = IH_UINT16;
    return true;
}

/* Makes room for the exact sums of the next channel, which are empty. */
static bool make_floats(struct reader *r, struct ih_json_in *in)
{
    if (r->n_channels == r->n_floats) {
        const unsigned n = r->n_floats < 4 ? 4 : 2 * r->n_floats;
        struct ih_float_sums *const floats = realloc(r->floats, n * sizeof *floats);
        if (!floats)
            return ih_json_fail(in, "more than there is memory for");
        r->floats = floats;
        r->n_floats = n;
    }
    r->floats[r->n_channels] = IH_FLOAT_SUMS_EMPTY;
    return true;
}

/* Lends the record counters for the planes so far and one more, which are not set. They are the
 * reader's, so a record never takes more than its bins. */
static bool lend_counters(struct reader *r, struct ih_json_in *in)
{
    struct ih_histogram *h = &r->result.histogram;
    const size_t n = ((size_t)r->n_channels + 1) * h->n_bins, n_room = r->n_room * 2;
    if (n > r->n_room) {
        const size_t n_new = n > n_room ? n : n_room;
        uint64_t *const room =
            n_new > SIZE_MAX / sizeof *room ? NULL : realloc(r->room, n_new * sizeof *room);
        if (!room)
            return ih_json_fail(in, "more than there is memory for");
        r->room = room;
        r->n_room = n_new;
    }
    h->bins = r->room;
    h->sums = r->sums;
    h->specials = r->specials;
    return true;
}

/* The bins of a plane, and the value from which the next range may begin. */
struct ranges {
    uint64_t *bins;
    size_t n_bins, next;
};

/* [first value, count, count, ...] */
static bool read_range(struct ih_json_in *in, void *to)
{
    struct ranges *r = to;
    uint64_t first;
    size_t n;
    if (!ih_json_token(in, '[') || !ih_json_count(in, &first) || !ih_json_token(in, ','))
        return false;
    if (first < r->next || first >= r->n_bins)
        return ih_json_fail(in, impossible);
    if (!ih_json_rest(in, r->bins + first, r->n_bins - (size_t)first, &n))
        return false;
    r->next = (size_t)first + n;
    return true;
}

/* What is read of a channel. Its statistics follow from the bins and are computed. */
enum channel_key {
    CHANNEL_NAME,
    CHANNEL_BINS,
    CHANNEL_RANGES,
    CHANNEL_EXACT,
    CHANNEL_SPECIAL,
    CHANNEL_NAME_IN_FILE,
    CHANNEL_BLACK,
    CHANNEL_WHITE
};

/* A level of a sensor's channel. All have the same white level. */
static bool read_level(struct ih_json_in *in, struct reader *r, bool is_white)
{
    struct ih_levels *const levels = &r->result.info.levels;
    uint64_t n;
    if (!ih_json_count(in, &n))
        return false;
    if (n > UINT16_MAX || r->n_channels >= IH_LEVELS_CHANNELS ||
        (is_white && (n == 0 || (r->n_channels > 0 && n != levels->white))))
        return ih_json_fail(in, impossible);
    r->n_levels++;
    *(is_white ? &levels->white : &levels->black[r->n_channels]) = (uint16_t)n;
    return true;
}

static bool read_exact_field(struct ih_json_in *in, const struct ih_field *field, void *sums)
{
    char *text;
    return ih_json_text(in, &text) &&
           ((text && ih_float_sums_parse(sums, (enum ih_float_member)field->kind, text)) ||
            ih_json_fail(in, impossible));
}

static bool read_channel_field(struct ih_json_in *in, const struct ih_field *field, void *to)
{
    struct reader *r = to;
    struct ih_histogram *h = &r->result.histogram;
    uint64_t seen;
    switch (field->kind) {
    case CHANNEL_NAME:
        return ih_json_text(in, &r->names[r->n_channels]);
    case CHANNEL_NAME_IN_FILE:
        return ih_json_text(in, &r->names_in_file[r->n_channels]);
    case CHANNEL_BLACK:
    case CHANNEL_WHITE:
        return read_level(in, r, field->kind == CHANNEL_WHITE);
    case CHANNEL_SPECIAL:
        return ih_json_count(in, &r->specials[r->n_channels][field->offset_bytes]);
    case CHANNEL_EXACT:
        return read_members(in, ih_exact_fields, read_exact_field, &r->floats[r->n_channels],
                            &seen) &&
               (seen == (1 << IH_FLOAT_MEMBERS) - 1 || ih_json_fail(in, "incomplete"));
    default:
        if (!lend_counters(r, in))
            return false;
        uint64_t *const bins = h->bins + (size_t)r->n_channels * h->n_bins;
        if (field->kind == CHANNEL_BINS)
            return ih_json_counts(in, bins, IH_BINS);
        memset(bins, 0, h->n_bins * sizeof *bins);
        return ih_json_array(in, read_range, &(struct ranges){bins, h->n_bins, 0});
    }
}

static bool read_channel(struct ih_json_in *in, void *to)
{
#define SPECIALS                                                                         \
    {"nan", CHANNEL_SPECIAL, IH_NAN, NULL},                                              \
        {"positive_infinity", CHANNEL_SPECIAL, IH_POSITIVE_INFINITY, NULL},              \
        {"negative_infinity", CHANNEL_SPECIAL, IH_NEGATIVE_INFINITY, NULL},              \
        {"nodata", CHANNEL_SPECIAL, IH_NODATA, NULL}, {"black", CHANNEL_BLACK, 0, NULL}, \
        {"white", CHANNEL_WHITE, 0, NULL},                                               \
    {                                                                                    \
        NULL, 0, 0, NULL                                                                 \
    }
    static const struct ih_field of_bins[] = {{"name", CHANNEL_NAME, 0, NULL},
                                              {"histogram", CHANNEL_BINS, 0, NULL},
                                              {"name_in_file", CHANNEL_NAME_IN_FILE, 0, NULL},
                                              SPECIALS};
    static const struct ih_field of_native[] = {{"name", CHANNEL_NAME, 0, NULL},
                                                {"ranges", CHANNEL_RANGES, 0, NULL},
                                                {"exact", CHANNEL_EXACT, 0, NULL},
                                                {"name_in_file", CHANNEL_NAME_IN_FILE, 0, NULL},
                                                SPECIALS};
#undef SPECIALS
    struct reader *r = to;
    const struct ih_field *const fields =
        r->result.histogram.n_bins > IH_BINS ? of_native : of_bins;
    uint64_t seen;
    if (r->n_channels == IH_PLANES_MAX)
        return ih_json_fail(in, impossible);
    memset(r->specials[r->n_channels], 0, sizeof *r->specials);
    r->names_in_file[r->n_channels] = NULL;
    if (!make_floats(r, in) || !read_members(in, fields, read_channel_field, r, &seen))
        return false;
    if ((seen & 3) != 3)
        return ih_json_fail_field(in, fields[seen & 1].key, missing);
    r->n_channels++;
    return true;
}

/* ---- texts and numbers ---- */

/* Whether a text can be shown as it is: printable ASCII, not long. */
static bool is_plain(const char *text)
{
    size_t n = 0;
    for (; text[n]; n++)
        if (text[n] < ' ' || text[n] > '~' || n == NAME_MAX_BYTES)
            return false;
    return true;
}

/* Sets a number. Returns false if no record has it. */
static bool set_number(struct ih_result *r, const struct ih_column *row, uint64_t n)
{
    void *at = (char *)r + row->field.offset_bytes;
    switch (row->field.kind) {
    case IH_FIELD_COUNT:
        *(uint64_t *)at = n;
        return true;
    case IH_FIELD_LABEL:
        r->has_label = true;
        r->label = (unsigned)n;
        return n <= UINT16_MAX;
    case IH_FIELD_SOURCE_MIN:
        r->info.extremes.min = (uint32_t)n;
        return n <= UINT32_MAX;
    case IH_FIELD_SOURCE_MAX:
        r->info.extremes.end = (uint32_t)n + 1;
        return n < UINT32_MAX;
    default:
        *(unsigned *)at = (unsigned)n;
        return n <= UINT_MAX && (row->high == 0 || (double)n <= row->high);
    }
}

/* 16 digits, not all 0. */
static bool set_hash(uint64_t *hash, const char *text)
{
    char again[17];
    *hash = strtoull(text, NULL, 16);
    snprintf(again, sizeof again, "%016" PRIx64, *hash);
    return *hash && strcmp(text, again) == 0;
}

/* "2/3" */
static bool set_shard(struct ih_result *r, const char *text)
{
    char again[24];
    if (sscanf(text, "%4u/%4u", &r->shard, &r->n_shards) != 2)
        return false;
    snprintf(again, sizeof again, "%u/%u", r->shard, r->n_shards);
    return r->shard > 0 && r->shard <= r->n_shards && strcmp(text, again) == 0;
}

/* Sets *index to that of a text in a list. Returns false if it is not there. */
static bool set_choice(unsigned *index, const char *text, const char *const *list, unsigned n)
{
    *index = 0;
    while (*index < n && strcmp(text, list[*index]) != 0)
        ++*index;
    return *index < n;
}

static bool set_region(const char **region, const char *text)
{
    struct ih_region parsed;
    struct ih_error ignored;
    *region = text;
    return ih_region_parse(text, &parsed, &ignored) == IH_OK && strcmp(parsed.text, text) == 0;
}

/* Sets a text, or what it stands for. Returns false if no record has it. */
static bool set_text(struct ih_result *r, const struct ih_field *field, const char *text)
{
    static const char *const statuses[] = {"ok", "error", "end"};
    static const char *const alphas[] = {"count", "skip-transparent"};
    const char **at = (const char **)(void *)((char *)r + field->offset_bytes);
    unsigned i = 0;
    bool is_possible = true;
    switch (field->kind) {
    case IH_FIELD_HASH:
        return set_hash((void *)at, text);
    case IH_FIELD_SHARD:
        return set_shard(r, text);
    case IH_FIELD_STATUS:
        is_possible = set_choice(&i, text, statuses, 3);
        r->is_end = i == 2;
        r->status = i == 0 ? IH_OK : i == 1 ? IH_CORRUPT /* the message tells */ : IH_UNKNOWN;
        return is_possible;
    case IH_FIELD_ERROR:
        ih_error_set(&r->error, IH_CORRUPT, "%s", text);
        ih_utf8_trim(r->error.message);
        return true;
    case IH_FIELD_RANGE:
        is_possible = set_choice(&i, text, ih_range_names, IH_RANGES);
        r->info.range = (enum ih_range)i;
        return is_possible && i > 0;
    case IH_FIELD_WEIGHTS:
        r->measure.luma = ih_luma_find(text);
        return r->measure.luma != NULL;
    case IH_FIELD_SAMPLES:
        r->measure.type = ih_sample_type_find(text);
        return r->measure.type < IH_SAMPLE_TYPES && !ih_is_unsigned(r->measure.type);
    case IH_FIELD_ALPHA:
        is_possible = set_choice(&i, text, alphas, 2);
        r->measure.alpha = i == 0 ? IH_ALPHA_COUNT : IH_ALPHA_SKIP_TRANSPARENT;
        return is_possible;
    case IH_FIELD_NODATA:
        return ih_nodata_parse(text, (void *)at);
    case IH_FIELD_REDUCTION: /* which one depends on the bins, a later check */
        return ih_reduction_parse(text, false, &r->measure.range) ||
               ih_reduction_parse(text, true, &r->measure.range);
    case IH_FIELD_REGION:
        return set_region(at, text);
    case IH_FIELD_MASK:
        is_possible = *text && strlen(text) < IH_MASK_NAME_MAX;
        break;
    case IH_FIELD_FORMAT:
    case IH_FIELD_NAME:
        is_possible = is_plain(text);
        break;
    case IH_FIELD_VERSION:
        is_possible = is_plain(text) && strlen(text) < IH_VERSION_MAX;
        break;
    case IH_FIELD_TEXT:
        is_possible = *text || field->offset_bytes != offsetof(struct ih_result, group);
        break;
    }
    *at = text;
    return is_possible;
}

static bool read_schema(struct reader *r, struct ih_json_in *in, const char *text,
                        const struct ih_column *row)
{
    if (strcmp(text, IH_SCHEMA) == 0)
        return true;
    if (strncmp(text, "imghist-diff/", 13) == 0)
        return ih_json_fail_field(in, NULL,
                                  "a comparison is no input; name the images or result files that "
                                  "it compares");
    if (strncmp(text, "imghist/", 8) == 0)
        return ih_json_fail_field(in, NULL, "of another imghist: this one reads " IH_SCHEMA);
    r->has[0] &= ~(UINT64_C(1) << (row - ih_schema)); /* as if it had none; it is the first */
    return ih_json_fail_field(in, NULL, "of another schema");
}

static bool read_text(struct reader *r, struct ih_json_in *in, const struct ih_column *row)
{
    char *text;
    if (!ih_json_text(in, &text))
        return false;
    if (row->field.kind == IH_FIELD_SCHEMA)
        return read_schema(r, in, text, row);
    if (row->field.kind == IH_FIELD_REDUCTION)
        r->reduction = text;
    return set_text(&r->result, &row->field, text) || ih_json_fail(in, impossible);
}

static bool read_field(struct ih_json_in *in, const struct ih_field *field, void *to)
{
    struct reader *r = to;
    const struct ih_column *row = (const void *)field;
    const enum ih_value_type type = ih_column_type(row);
    void *at = (char *)&r->result + field->offset_bytes;
    uint64_t n;
    if (ih_json_next_is(in, 'n') && type != IH_TYPE_REAL)
        return ih_json_skip(in); /* null: as if the key were missing */
    r->has[(row - ih_schema) / 64] |= UINT64_C(1) << (row - ih_schema) % 64;
    if (type == IH_TYPE_TEXT)
        return read_text(r, in, row);
    if (type == IH_TYPE_INTEGER)
        return ih_json_count(in, &n) &&
               (set_number(&r->result, row, n) || ih_json_fail(in, impossible)) &&
               (field->kind != IH_FIELD_BINS || set_bins(r, in, n));
    switch (field->kind) {
    case IH_FIELD_IS_TOTAL:
        return ih_json_bool(in, at);
    case IH_FIELD_POSITION:
        return read_position(in, at); /* input, member and frame */
    case IH_FIELD_CLIP_LIMITS:
        return read_clip_limits(in, at);
    case IH_FIELD_CLIP:
        return read_clip(in, at);
    case IH_FIELD_NOT_APPLIED:
        return ih_json_array(in, read_not_applied, at);
    case IH_FIELD_WARNINGS:
        return ih_json_array(in, read_warning, at);
    case IH_FIELD_NOT_COUNTED:
        return read_not_counted(in, at);
    case IH_FIELD_CHANNELS:
        return ih_json_array(in, read_channel, r);
    case IH_FIELD_FILE_BYTES:
        return ih_json_text(in, &r->bytes) &&
               (decode_base64(r->bytes) || ih_json_fail(in, impossible));
    default: /* follows from the rest: srgb from not_applied, numbers from the bins */
        return ih_json_skip(in);
    }
}

/* ---- what a record says must hold together ---- */

/* Of "band3" 3; 0: no band has this name. */
static unsigned band_number(const char *name)
{
    const struct ih_layout bands = {IH_CHANNELS_MAX, 0, false};
    const unsigned long n = name && strncmp(name, "band", 4) == 0 ? strtoul(name + 4, NULL, 10) : 0;
    return n > 0 && n <= IH_CHANNELS_MAX && strcmp(name, ih_plane_name(bands, (unsigned)n - 1)) == 0
               ? (unsigned)n
               : 0;
}

/* The layout whose channels have the names of the record. The numbers of bands ascend (--bands).
 * Returns false if there is none, with r->why if it is for a name. */
static bool layout_of_names(struct reader *r, unsigned n, struct ih_layout *layout)
{
    unsigned last = 0;
    *layout = (struct ih_layout){n, 0, false};
    if (n > 0 && r->names[0])
        layout->n_colours = strcmp(r->names[0], "gray") == 0  ? 1
                            : strcmp(r->names[0], "red") == 0 ? 3
                                                              : 0;
    if (n > 0 && r->names[n - 1])
        layout->has_alpha = strcmp(r->names[n - 1], "alpha") == 0;
    for (unsigned i = 0; i < r->n_channels; i++) {
        const char *name = ih_plane_name(*layout, i == n ? (unsigned)IH_LUMA : i);
        const unsigned number = band_number(r->names[i]);
        if (!name || !r->names[i])
            return false;
        if (band_number(name) > 0 ? number <= last : strcmp(r->names[i], name) != 0) {
            snprintf(r->why, sizeof r->why, "impossible: '%.40s' cannot %s%s%.40s%s", r->names[i],
                     i > 0 ? "follow" : "be the first", i > 0 ? " '" : "",
                     i > 0 ? r->names[i - 1] : "", i > 0 ? "'" : "");
            return false;
        }
        last = number > 0 ? number : i + 1;
    }
    return n == 0 || ih_layout_is_possible(layout);
}

/* Sets the layout of the histogram. Returns false if no image has these channels. */
static bool find_layout(struct reader *r)
{
    const unsigned n_luma = r->result.measure.luma != &ih_luma_none;
    struct ih_layout layout;
    if (r->n_channels < n_luma || r->n_channels - n_luma > IH_CHANNELS_MAX ||
        !layout_of_names(r, r->n_channels - n_luma, &layout))
        return false;
    r->result.histogram.layout = layout;
    return true;
}

/* Without finite samples a channel has no exact sums. */
static bool use_floats(struct reader *r)
{
    struct ih_histogram *const h = &r->result.histogram;
    h->floats = r->floats;
    for (unsigned i = 0; i < r->n_channels; i++) {
        const uint64_t *const bins = h->bins + (size_t)i * h->n_bins;
        const bool is_empty = r->floats[i].min_key > r->floats[i].max_key;
        if (is_empty ? ih_count_range(bins, 0, h->n_bins - 1) > 0
                     : !ih_float_sums_fit(&r->floats[i], bins))
            return false;
    }
    return true;
}

/* Channels have the names of a layout, and luma is the last if it is counted. */
static bool use_channels(struct reader *r, struct ih_json_in *in)
{
    struct ih_histogram *h = &r->result.histogram;
    const unsigned n_luma = r->result.measure.luma != &ih_luma_none;
    const unsigned n = r->n_channels - n_luma;
    if (!find_layout(r) || (r->n_levels > 0 && r->n_levels != 2 * n))
        return ih_json_fail_field(in, "channels", impossible);
    r->result.info.layout = h->layout;
    h->n_planes = r->n_channels;
    r->result.info.type = r->result.measure.type;
    r->result.info.n_bins = h->n_bins;
    if (!lend_counters(r, in))
        return false;
    const uint64_t *const luma = h->bins + (size_t)n * h->n_bins;
    if (n_luma && h->layout.n_colours == 1 && memcmp(h->bins, luma, h->n_bins * sizeof *luma) != 0)
        return ih_json_fail(in, "damaged record: the luma of gray is not its gray");
    if (h->type == IH_FLOAT32 && !use_floats(r))
        return ih_json_fail(in, "damaged record: the exact sums contradict the bins");
    for (unsigned i = 0; i < n; i++) {
        const unsigned number = band_number(r->names[i]);
        const bool is_moved = number > 0 && number != i + 1;
        const char *const name = r->names_in_file[i] ? r->names_in_file[i] : "";
        if ((is_moved &&
             ih_band_copy(&r->band_names, n, i, NULL, number - 1, true, NULL) != IH_OK) ||
            ih_band_name_set(&r->band_names, n, i, name, NULL) != IH_OK)
            return ih_json_fail(in, "more than there is memory for");
    }
    h->band_names = r->band_names;
    r->result.measure.has_levels = r->result.info.levels.white > 0;
    return true;
}

/* Sets the type of the histogram. Types without clip limits get limits that no sample reaches.
 * Returns false if samples of the type have other bins. */
static bool use_samples(struct ih_result *r)
{
    struct ih_measure *const m = &r->measure;
    r->histogram.type = m->type;
    if (!ih_is_unsigned(m->type))
        m->clip_high = (uint16_t)(m->n_bins - 1);
    if (m->type == IH_UINT16)
        return m->n_bins > IH_BINS;
    return m->n_bins == (ih_sample_bytes(m->type) == 1 ? IH_BINS : IH_NATIVE_BINS_MAX);
}

static bool use_counted(struct reader *r, struct ih_json_in *in)
{
    struct ih_extremes *extremes = &r->result.info.extremes;
    struct ih_sample_range range;
    struct ih_error err;
    if (extremes->min == UINT32_MAX && extremes->end == 0)
        extremes->min = 0; /* neither is known */
    else if (extremes->min >= extremes->end)
        return ih_json_fail_field(in, "source_max", impossible);
    if (!use_samples(&r->result))
        return ih_json_fail_field(in, "bins", impossible);
    if (!ih_reduction_parse(r->reduction, ih_is_native(r->result.measure.type), &range))
        return ih_json_fail_field(in, "reduction", impossible);
    if (!use_channels(r, in))
        return false;
    if (ih_result_check(&r->result, &err) != IH_OK) {
        snprintf(r->why, sizeof r->why, "damaged record: %.120s", err.message);
        return ih_json_fail(in, r->why);
    }
    return true;
}

static bool is_needed(const struct ih_column *row, const struct ih_result *r)
{
    if (row->field.kind == IH_FIELD_POSITION)
        return r->n_shards || r->inputs_hash;
    if (row->field.kind == IH_FIELD_SHARD ||
        row->field.offset_bytes == offsetof(struct ih_result, run))
        return r->is_end;
    return !(row->in & (IH_OPTIONAL | IH_NULLABLE)) && ih_column_type(row) != IH_TYPE_REAL;
}

static bool check_keys(const struct reader *r, struct ih_json_in *in, unsigned kind)
{
    for (size_t i = 0; i < IH_N_FIELDS; i++) {
        const struct ih_column *row = &ih_schema[i];
        const bool has = r->has[i / 64] >> i % 64 & 1;
        const bool may_have = (row->in & kind) && !ih_field_is_absent(row, &r->result);
        if (has && !may_have)
            return ih_json_fail_field(in, row->field.key, impossible);
        if (!has && row->field.key && may_have && is_needed(row, &r->result))
            return ih_json_fail_field(in, row->field.key, missing);
    }
    return true;
}

/* Reads one record into r->result. False: in->why has the reason. */
static bool records_read_record(struct reader *r, struct ih_json_in *in)
{
    static const struct ih_json_members members = {ih_schema, sizeof *ih_schema, IH_N_FIELDS,
                                                   read_field};
    struct ih_result *result = &r->result;
    uint64_t seen[FIELD_WORDS];
    memset(r->has, 0, sizeof r->has);
    r->n_channels = r->n_levels = 0;
    r->bytes = r->reduction = NULL;
    ih_band_names_reset(&r->band_names);
    memset(result, 0, sizeof *result);
    result->is_read = true;
    result->histogram.n_bins = result->measure.n_bins = IH_BINS;
    result->version = result->library = "";
    result->info.extremes.min = UINT32_MAX; /* none */
    if (!ih_json_object(in, &members, r, seen))
        return false;
    const unsigned kind = ih_record_kind(result);
    snprintf(r->why, sizeof r->why, "%s", impossible);
    if (!find_layout(r) && r->n_channels > 0) /* the layout decides what is absent */
        return ih_json_fail_field(in, "channels", r->why);
    if (!check_keys(r, in, kind))
        return false;
    if (result->group && r->bytes)
        result->group = r->bytes;
    result->path = kind == IH_IN_END     ? ""
                   : kind == IH_IN_TOTAL ? (result->group ? result->group : IH_TOTAL_NAME)
                   : r->bytes            ? r->bytes
                                         : result->path;
    if (strlen(result->path) >= IH_PATH_BYTES_MAX)
        return ih_json_fail_field(in, "file", impossible);
    return !(kind & (IH_IN_IMAGE | IH_IN_TOTAL)) || use_counted(r, in);
}

/* ---- files ---- */

struct ih_records {
    struct ih_reader *src;       /* borrowed */
    char *buffer;                /* owned */
    size_t capacity, start, n;   /* the unread bytes are [start, n) */
    size_t part_bytes;           /* read at once */
    bool is_at_end;              /* of the reader */
    uint64_t line;               /* the one that was read last */
    bool is_cut;                 /* it has no line feed */
    uint64_t n_read;             /* bytes of the reader */
    bool is_document, has_ended; /* JSON; its end was read */
    bool has_groups;             /* of a document */
    bool has_images, has_total;  /* beside each other, they would count twice */
    struct reader own, *reader;  /* of the record that is read: own, or a kept record's */
};

struct ih_kept_record {
    struct reader reader;
    char *line; /* owned; NULL: none */
    size_t capacity;
};

/* A larger line and its counters are not kept for the next record. */
enum { KEPT_LINE_BYTES = 1 << 16 };

/* ---- lines ---- */

/* Some programs write it at the start of text. */
static const char byte_order_mark[] = "\xEF\xBB\xBF";

enum ih_status ih_records_open(struct ih_reader *src, struct ih_records **records,
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
    r->capacity = r->part_bytes = BUFFER_BYTES;
    r->reader = &r->own;
    *records = r;
    return IH_OK;
}

static void reader_reset(struct reader *r)
{
    free(r->room);
    free(r->floats);
    ih_band_names_reset(&r->band_names);
    *r = (struct reader){.room = NULL};
}

void ih_records_close(struct ih_records *r)
{
    if (!r)
        return;
    reader_reset(&r->own);
    free(r->buffer);
    free(r);
}

struct ih_kept_record *ih_kept_record_new(void)
{
    return calloc(1, sizeof(struct ih_kept_record));
}

void ih_kept_record_free(struct ih_kept_record *kept)
{
    if (!kept)
        return;
    reader_reset(&kept->reader);
    free(kept->line);
    free(kept);
}

bool ih_records_is_document(const struct ih_records *r)
{
    return r->is_document;
}

bool ih_records_offset(const struct ih_records *r, uint64_t *offset)
{
    *offset = r->n_read - (r->n - r->start);
    return !r->is_cut;
}

void ih_records_continue_in(struct ih_records *r, struct ih_reader *src,
                            struct ih_records_place place)
{
    r->src = src;
    r->part_bytes = IH_PART_BYTES;
    r->start = r->n = 0;
    r->is_at_end = r->is_cut = r->is_document = r->has_ended = r->has_groups = r->has_total = false;
    r->n_read = place.offset_bytes;
    r->line = place.line;
    r->has_images = place.line > 0; /* a total would be the only record */
}

/* Reads on. Moves the unread bytes to the front of the buffer, which grows if they fill it. */
static enum ih_status records_fill(struct ih_records *r, struct ih_error *err)
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
    const size_t room = r->capacity - r->n;
    const enum ih_status status = ih_reader_read(
        r->src, r->buffer + r->n, room < r->part_bytes ? room : r->part_bytes, &got, err);
    r->is_at_end = got == 0;
    r->n += got;
    r->n_read += got;
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
            const enum ih_status status = records_fill(r, err);
            if (status != IH_OK)
                return status;
            continue;
        }
        *line = n > 0 ? start : NULL;
        r->line += n > 0;
        r->is_cut = !end;
        if (!end)
            end = start + n;
        r->start += (size_t)(end - start) + (end < start + n ? 1 : 0);
        *end = '\0'; /* the buffer has a byte more */
        if (memchr(start, '\0', (size_t)(end - start)))
            return ih_error_set(err,
                                r->line > 1 || strstr(start, IH_SCHEMA) ? IH_CORRUPT : IH_UNKNOWN,
                                "line %" PRIu64 ": a NUL byte", r->line);
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

/* What follows the last record of an array of a document: ]}, ],"groups":[ or ],"total":RECORD}.
 * *has_total: in is at the total's record. */
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
    if (name && strcmp(name, "groups") == 0 && !r->has_groups) {
        r->has_groups = true;
        r->has_ended = false;
        return ih_json_token(in, '[');
    }
    *has_total = name && strcmp(name, "total") == 0;
    return *has_total || ih_json_fail(in, "not a document of imghist");
}

/* jq and other programs lay JSON out in their own way. A second reader, for any layout, would need
 * whole documents in memory. */
static const char other_layout[] = "not the layout that imghist writes, a record in each line; jq "
                                   "-c '.images[]? // .' makes it so";

/* Reads what one line holds. *has_record: the result is filled. */
static bool records_read_line(struct ih_records *r, struct ih_json_in *in, bool *has_record)
{
    bool is_last = false;
    *has_record = false;
    if (r->line == 1 && strncmp(in->p, byte_order_mark, 3) == 0)
        in->p += 3;
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
    if (!records_read_record(r->reader, in))
        return false;
    *has_record = true;
    if (is_last && !ih_json_token(in, '}'))
        return false;
    if (r->is_document && !is_last && ih_json_next_is(in, ','))
        ih_json_token(in, ',');
    return ih_json_next_is(in, '\0') ||
           ih_json_fail(in, r->is_document && !is_last ? other_layout : "text after the record");
}

/* Whether the file seems to be one of imghist: its first line has a schema. */
static bool is_ours(const struct ih_records *r)
{
    size_t i = 0;
    while (ih_schema[i].field.kind != IH_FIELD_SCHEMA)
        i++;
    return r->line > 1 || r->is_document || (r->reader->has[i / 64] >> i % 64 & 1);
}

/* Moves a line to memory of its own. */
static enum ih_status keep_line(struct ih_kept_record *kept, char **line, size_t n_bytes,
                                struct ih_error *err)
{
    if (n_bytes > kept->capacity) {
        char *const grown = realloc(kept->line, n_bytes);
        if (!grown)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        kept->line = grown;
        kept->capacity = n_bytes;
    }
    *line = memcpy(kept->line, *line, n_bytes);
    return IH_OK;
}

/* kept: NULL: the record is borrowed. Adds the bytes of its line to *n_bytes. */
static enum ih_status read_next(struct ih_records *r, struct ih_kept_record *kept,
                                const struct ih_result **result, size_t *n_bytes,
                                struct ih_error *err)
{
    bool has_record = false;
    *result = NULL;
    r->reader = kept ? &kept->reader : &r->own;
    while (!has_record) {
        struct ih_json_in in = {.p = NULL};
        enum ih_status status = next_line(r, &in.p, err);
        const size_t n = in.p ? strlen(in.p) + 1 : 0;
        *n_bytes += n;
        if (status == IH_OK && kept && in.p)
            status = keep_line(kept, &in.p, n, err);
        if (status != IH_OK)
            return status;
        if (!in.p)
            break;
        if (!records_read_line(r, &in, &has_record)) {
            if (in.is_cut || !is_ours(r))
                in.key = NULL;
            if (r->line == 1 && !r->is_cut && in.is_cut)
                in.why = other_layout;
            else if (!is_ours(r))
                in.why = "not a record of imghist";
            return ih_error_set(err, is_ours(r) ? IH_CORRUPT : IH_UNKNOWN,
                                "line %" PRIu64 ": %s%s%s%s", r->line,
                                in.key ? "damaged record: " : "", in.key ? in.key : "",
                                in.key ? " is " : "", in.why ? in.why : "not JSON");
        }
    }
    if (!has_record)
        return !r->is_document || r->has_ended
                   ? IH_OK
                   : ih_error_set(err, IH_CORRUPT, "line %" PRIu64 ": cut short", r->line);
    *result = &r->reader->result;
    if (r->reader->result.is_end)
        return IH_OK;
    const bool is_of_all = r->reader->result.is_total && !r->reader->result.group;
    r->has_images = r->has_images || !is_of_all;
    r->has_total = r->has_total || is_of_all;
    if (r->has_images && r->has_total && !r->reader->result.n_shards)
        return ih_error_set(err, IH_CORRUPT,
                            "line %" PRIu64 ": a total beside the records that it sums; leave out "
                            "one or the other",
                            r->line);
    return IH_OK;
}

enum ih_status ih_records_next(struct ih_records *r, const struct ih_result **result,
                               struct ih_error *err)
{
    size_t n_bytes = 0;
    return read_next(r, NULL, result, &n_bytes, err);
}

enum ih_status ih_records_next_kept(struct ih_records *r, struct ih_kept_record *kept,
                                    const struct ih_result **result, size_t *n_bytes,
                                    struct ih_error *err)
{
    if (kept->capacity > KEPT_LINE_BYTES) {
        reader_reset(&kept->reader);
        free(kept->line);
        kept->line = NULL;
        kept->capacity = 0;
    }
    return read_next(r, kept, result, n_bytes, err);
}

enum ih_status ih_records_peek(struct ih_records *r, struct ih_records_place *place,
                               uint64_t position[IH_PLACES], bool *is_end, struct ih_error *err)
{
    char *line;
    do {
        ih_records_offset(r, &place->offset_bytes);
        place->line = r->line;
        const enum ih_status status = next_line(r, &line, err);
        if (status != IH_OK)
            return status;
    } while (line && strspn(line, " \t\r") == strlen(line));
    *is_end = !line;
    position[0] = position[1] = position[2] = UINT64_MAX;
    if (!line)
        return IH_OK;
    static const char key[] = "\"position\""; /* in a text, its quotes have backslashes */
    for (char *p = line; (p = strstr(p, key));) {
        p += sizeof key - 1;
        struct ih_json_in in = {.p = p};
        uint64_t found[IH_PLACES];
        if (!ih_json_token(&in, ':') || !read_position(&in, found))
            continue;
        memcpy(position, found, sizeof found);
        break;
    }
    r->line = place->line;
    if (!r->is_cut)
        r->buffer[r->start - 1] = '\n';
    r->start = (size_t)(line - r->buffer);
    r->is_cut = false;
    return IH_OK;
}
