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

#include <inttypes.h>
#include <string.h>

struct json_state {
    struct ih_output_state to;
    bool has_begun; /* the document's first line is written */
    bool has_image, has_group, has_total;
};

/* ---- strings ---- */

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

void ih_json_put_base64(FILE *f, const void *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = bytes;
    putc('"', f);
    for (size_t at = 0; at < n; at += 3) {
        const size_t n_here = n - at < 3 ? n - at : 3;
        const unsigned group = (unsigned)p[at] << 16 | (n_here > 1 ? (unsigned)p[at + 1] << 8 : 0) |
                               (n_here > 2 ? p[at + 2] : 0);
        for (unsigned i = 0; i < 4; i++)
            putc(i <= n_here ? digits[group >> (18 - 6 * i) & 63] : '=', f);
    }
    putc('"', f);
}

/* ---- members ---- */

enum { MEMBER_MAX = 64 }; /* bytes of a key and what stands around it, or of a number too */

/* Appends a key. before: a comma, or the brace before the first member. Returns the end. */
static char *add_key(char *to, const char *before, const char *key)
{
    return stpcpy(stpcpy(stpcpy(stpcpy(to, before), "\""), key), "\":");
}

/* One call of stdio for each member: they are most of the time of writing. */
static void put_fields(FILE *f, const char *before, const struct ih_field *fields, const void *from)
{
    char member[MEMBER_MAX + IH_REAL_MAX];
    for (; fields->key; fields++, before = ",") {
        char *const value = add_key(member, before, fields->key);
        char *end = ih_put_field(value, fields, from);
        end = end > value ? end : stpcpy(value, "null");
        fwrite(member, 1, (size_t)(end - member), f);
    }
}

static void json_put_statistics(FILE *f, const char *before, struct ih_record_view *view,
                                unsigned plane, const struct ih_columns *columns)
{
    char members[(IH_STATISTICS_MAX + IH_CHOSEN_MAX) * (MEMBER_MAX + IH_REAL_MAX)], *end = members;
    for (const struct ih_column *const *c = columns->of_channel; *c; c++, before = ",") {
        char *const value = add_key(end, before, (*c)->name);
        end = ih_put_channel_value(value, view, plane, *c);
        end = end > value ? end : stpcpy(value, "null");
    }
    fwrite(members, 1, (size_t)(end - members), f);
}

static void put_histogram(FILE *f, const uint64_t *bins)
{
    char row[IH_BINS * (IH_COUNT_MAX + 1)], *end = ih_format_count(row, bins[0]);
    for (unsigned v = 1; v < IH_BINS; v++) {
        *end++ = ',';
        end = ih_format_count(end, bins[v]);
    }
    fputs(",\"histogram\":[", f);
    fwrite(row, 1, (size_t)(end - row), f);
    putc(']', f);
}

/* The values that occur, in ranges: the first value, and the counts from it on. A range ends where
 * zeros would take more bytes than the start of the next range. */
static void put_ranges(FILE *f, const uint64_t *bins, unsigned n_bins)
{
    enum { GAP = 5, NUMBERS = 64 };
    char row[(NUMBERS + GAP + 2) * (IH_COUNT_MAX + 3)], *end = row;
    unsigned next = 0; /* after the last one written */
    fputs(",\"ranges\":[", f);
    for (unsigned v = 0; v < n_bins; v++) {
        if (bins[v] == 0)
            continue;
        if (next == 0 || v - next >= GAP)
            end = ih_format_count(stpcpy(end, next ? "],[" : "["), v);
        else
            for (; next < v; next++)
                end = stpcpy(end, ",0");
        *end++ = ',';
        end = ih_format_count(end, bins[v]);
        next = v + 1;
        if (end - row > NUMBERS * IH_COUNT_MAX) {
            fwrite(row, 1, (size_t)(end - row), f);
            end = row;
        }
    }
    fwrite(row, 1, (size_t)(end - row), f);
    fputs(next ? "]]" : "]", f);
}

/* Those that occur. */
static void put_specials(FILE *f, const uint64_t *n)
{
    for (unsigned i = 0; i < IH_SPECIALS; i++)
        if (n[i] > 0)
            fprintf(f, ",\"%s\":%" PRIu64, ih_special_names[i], n[i]);
}

/* What the bins do not tell; nothing without finite samples. */
static void put_exact(FILE *f, const struct ih_float_sums *sums)
{
    const char *before = ",\"exact\":{";
    char text[IH_FLOAT_TEXT_MAX];
    if (sums->min_key > sums->max_key)
        return;
    for (const struct ih_field *field = ih_exact_fields; field->key; field++, before = ",") {
        ih_float_sums_print(text, sums, (enum ih_float_member)field->kind);
        fprintf(f, "%s\"%s\":\"%s\"", before, field->key, text);
    }
    putc('}', f);
}

static void put_channels(FILE *f, struct ih_record_view *view, const struct ih_columns *columns)
{
    const struct ih_result *const r = view->result;
    const char *before = "";
    putc('[', f);
    for (unsigned i = 0; i < r->histogram.n_planes; i++) {
        const unsigned p = ih_nth_plane(&r->histogram, i);
        fprintf(f, "%s{\"name\":\"%s\"", before, ih_histogram_plane(&r->histogram, p));
        if (*ih_histogram_band_name(&r->histogram, p)) {
            fputs(",\"name_in_file\":", f);
            ih_json_put_string(f, ih_histogram_band_name(&r->histogram, p));
        }
        if (r->info.levels.white > 0 && p < IH_LEVELS_CHANNELS)
            fprintf(f, ",\"black\":%u,\"white\":%u", (unsigned)r->info.levels.black[p],
                    (unsigned)r->info.levels.white);
        json_put_statistics(f, ",", view, p, columns);
        put_specials(f, ih_specials(&r->histogram, p));
        if (r->measure.n_bins > IH_BINS)
            put_ranges(f, ih_bins(&r->histogram, p), r->measure.n_bins);
        else
            put_histogram(f, ih_bins(&r->histogram, p));
        if (r->histogram.floats)
            put_exact(f, ih_floats(&r->histogram, p));
        putc('}', f);
        before = ",";
    }
    putc(']', f);
}

static void put_not_applied(FILE *f, unsigned not_applied)
{
    const char *before = "";
    putc('[', f);
    for (unsigned i = 0; ih_not_applied_names[i]; i++)
        if (not_applied >> i & 1) {
            fprintf(f, "%s\"%s\"", before, ih_not_applied_names[i]);
            before = ",";
        }
    putc(']', f);
}

static void put_warnings(FILE *f, unsigned warnings)
{
    char before = '[';
    for (unsigned w = 1; w < IH_WARNINGS_END; w *= 2)
        if (warnings & w) {
            putc(before, f);
            ih_json_put_string(f, ih_warning_words((enum ih_warning)w));
            before = ',';
        }
    putc(']', f);
}

/* The number of images is not known of some formats. */
static void put_not_counted(FILE *f, const struct ih_image_info *info)
{
    const char *before = "{";
    if (info->warnings & IH_WARNING_MORE_IMAGES) {
        fprintf(f, info->n_frames > 1 ? "{\"images\":%u" : "{\"images\":null", info->n_frames - 1);
        before = ",";
    }
    if (info->n_not_counted)
        fprintf(f, "%s\"samples\":%u", before, info->n_not_counted);
    putc('}', f);
}

/* ---- records ---- */

/* Writes a value of type OTHER. */
static void put_other(FILE *f, struct ih_record_view *view, unsigned kind,
                      const struct ih_columns *columns)
{
    const struct ih_result *const r = view->result;
    switch (kind) {
    case IH_FIELD_FILE_BYTES:
        ih_json_put_base64(f, r->path, strlen(r->path));
        break;
    case IH_FIELD_POSITION:
        fprintf(f, "[%" PRIu64 ",%" PRIu64, r->input, r->member);
        if (r->frame)
            fprintf(f, ",%" PRIu64, r->frame);
        putc(']', f);
        break;
    case IH_FIELD_CLIP_LIMITS:
        put_fields(f, "{", ih_clip_limits_fields, &r->measure);
        putc('}', f);
        break;
    case IH_FIELD_CLIP:
        put_fields(f, "{", ih_clip_fields, &r->histogram);
        putc('}', f);
        break;
    case IH_FIELD_NOT_APPLIED:
        put_not_applied(f, r->info.not_applied);
        break;
    case IH_FIELD_WARNINGS:
        put_warnings(f, r->info.warnings);
        break;
    case IH_FIELD_NOT_COUNTED:
        put_not_counted(f, &r->info);
        break;
    case IH_FIELD_CHANNELS:
        put_channels(f, view, columns);
        break;
    case IH_FIELD_SRGB:
        fputs(r->info.not_applied & IH_NOT_SRGB ? "false" : "true", f);
        break;
    default: /* IH_FIELD_IS_TOTAL: a file may be called "(total)" too */
        fputs("true", f);
    }
}

static void json_put_field(FILE *f, const char *before, struct ih_record_view *view,
                           const struct ih_column *field, const struct ih_columns *columns)
{
    const struct ih_field_value value = ih_record_value(view, field);
    char member[MEMBER_MAX + IH_REAL_MAX];
    char *const number = add_key(member, before, field->field.key);
    char *const end =
        value.type == IH_TYPE_NONE ? stpcpy(number, "null") : ih_put_number(number, &value);
    if (value.type == IH_TYPE_NONE && (field->in & IH_OPTIONAL))
        return;
    fwrite(member, 1, (size_t)(end - member), f);
    if (value.type == IH_TYPE_TEXT)
        ih_json_put_string(f, value.text);
    else if (value.type == IH_TYPE_OTHER)
        put_other(f, view, field->field.kind, columns);
}

void ih_json_put_record(FILE *f, const struct ih_result *r, const struct ih_columns *columns,
                        bool is_verbose)
{
    struct ih_record_view view;
    const char *before = "{";
    ih_record_view_init(&view, r);
    view.linear = columns->linear;
    for (const struct ih_column *field = ih_schema; field < ih_schema + IH_N_FIELDS; field++)
        if (field->field.key && (field->in & (view.kind | (r->is_total ? IH_NULL_IN_TOTAL : 0u))) &&
            !ih_field_is_absent(field, r) && (is_verbose || !(field->in & IH_VERBOSE)) &&
            !(r->is_read && !r->keeps_place && (field->in & IH_OF_RUN))) {
            json_put_field(f, before, &view, field, columns);
            before = ",";
        }
    putc('}', f);
}

/* --fields: an object with these keys alone, which is no record. */
static void put_chosen_fields(FILE *f, const struct ih_result *r, const struct ih_field_list *list,
                              const struct ih_columns *columns)
{
    struct ih_record_view view;
    ih_record_view_init(&view, r);
    view.linear = columns->linear;
    for (unsigned i = 0; i < list->n; i++) {
        const struct ih_field_value value = ih_named_field_value(&list->fields[i], &view);
        char member[MEMBER_MAX + IH_REAL_MAX];
        char *const number = add_key(member, i > 0 ? "," : "{", list->fields[i].name);
        char *const end =
            value.type == IH_TYPE_NONE ? stpcpy(number, "null") : ih_put_number(number, &value);
        fwrite(member, 1, (size_t)(end - member), f);
        if (value.type == IH_TYPE_TEXT)
            ih_json_put_string(f, value.text);
    }
    putc('}', f);
}

static void render_json(const void *state, const struct ih_result *result, FILE *bytes)
{
    const struct json_state *s = state;
    if (s->to.options.fields)
        put_chosen_fields(bytes, result, s->to.options.fields, s->to.options.columns);
    else
        ih_json_put_record(bytes, result, s->to.options.columns, s->to.options.verbose);
}

/* ---- a comparison ---- */

static void put_named(FILE *f, struct ih_record_view *view, const char *const *keys)
{
    for (; *keys; keys++)
        for (size_t i = 0; i < IH_N_FIELDS; i++)
            if (ih_schema[i].field.key && strcmp(ih_schema[i].field.key, *keys) == 0)
                json_put_field(f, ",", view, &ih_schema[i], NULL);
}

/* No record: its schema is another one, so it is not taken for a result file. */
static void json_compare(const void *state, const struct ih_comparison *c)
{
    static const char *const names[] = {"a", "b"};
    static const char *const settings[] = {"bins",        "reduction", "luma_weights", "alpha",
                                           "nodata",      "region",    "mask",         "mask_hash",
                                           "clip_limits", NULL};
    static const char *const of_side[] = {"n_failed", "pixels",   "version",
                                          "file",     "file_b64", NULL};
    const struct ih_output_state *const s = state;
    FILE *const f = s->stream;
    const char *before = "";
    struct ih_record_view sides[2];
    for (unsigned i = 0; i < 2; i++)
        ih_record_view_init(&sides[i], &c->sides[i]);
    fputs("{\"schema\":\"imghist-diff/1\"", f);
    put_named(f, &sides[0], settings);
    for (unsigned i = 0; i < 2; i++) {
        fprintf(f, ",\n\"%s\":{\"n_images\":%" PRIu64, names[i], c->sides[i].n_images);
        put_named(f, &sides[i], of_side);
        putc('}', f);
    }
    put_fields(f, ",", ih_distance_fields, &c->largest);
    fputs(",\"channels\":[", f);
    const struct ih_histogram *const h = &c->sides[0].histogram;
    for (unsigned i_plane = 0; i_plane < h->n_planes; i_plane++) {
        const unsigned p = ih_nth_plane(h, i_plane);
        fprintf(f, "%s\n{\"name\":\"%s\"", before, ih_histogram_plane(h, p));
        put_fields(f, ",", ih_distance_fields, &c->planes[p]);
        for (unsigned i = 0; i < 2; i++) {
            fprintf(f, ",\"%s\":", names[i]);
            json_put_statistics(f, "{", &sides[i], p, s->options.columns);
            putc('}', f);
        }
        putc('}', f);
        before = ",";
    }
    fputs("\n]}\n", f);
}

/* ---- the outputs ---- */

/* Begins the document at the first record, so a run that fails to start writes nothing. */
static void put_document_start(struct json_state *s)
{
    if (!s->has_begun)
        fputs("{\"schema\":\"" IH_SCHEMA "\",\"images\":[", s->to.stream);
    s->has_begun = true;
}

static void put_images_end(const struct json_state *s)
{
    fputs(s->has_image ? "\n]" : "]", s->to.stream);
}

/* Totals stand beside the images, so that adding up "images" does not count them twice. */
static void put_json(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    struct json_state *s = state;
    put_document_start(s);
    if (result->group) {
        if (!s->has_group)
            put_images_end(s);
        fputs(s->has_group ? ",\n" : ",\"groups\":[\n", s->to.stream);
        s->has_image = s->has_group = true;
    } else if (result->is_total) {
        put_images_end(s);
        fputs(",\"total\":", s->to.stream);
        s->has_total = true;
    } else {
        fputs(s->has_image ? ",\n" : "\n", s->to.stream);
        s->has_image = true;
    }
    fwrite(bytes, 1, n, s->to.stream);
}

static void end_json(void *state)
{
    struct json_state *s = state;
    put_document_start(s);
    if (!s->has_total)
        put_images_end(s);
    fputs("}\n", s->to.stream);
}

static void put_ndjson(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    const struct json_state *s = state;
    ih_output_put_bytes(state, result, bytes, n);
    putc('\n', s->to.stream);
}

const struct ih_output ih_output_json = {
    .name = "json",
    .title = "one JSON document, failed inputs too",
    .failures_in = "",
    .state_bytes = sizeof(struct json_state),
    .render = render_json,
    .put = put_json,
    .end = end_json,
    .compare = json_compare,
};

const struct ih_output ih_output_ndjson = {
    .name = "ndjson",
    .title = "one JSON object a line for each input, failed ones too",
    .failures_in = "",
    .state_bytes = sizeof(struct json_state),
    .render = render_json,
    .put = put_ndjson,
};
