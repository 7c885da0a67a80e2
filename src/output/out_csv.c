/*
 * CSV in five layouts (--csv=channels|bins|long|stats|images).
 *
 * Fields are quoted as in RFC 4180 and lines end with LF. Integers are exact; real numbers have six
 * decimals and a decimal point. The header depends on the layout alone, so the files of several
 * runs can be concatenated. A spreadsheet would run a name such as "=x" as a formula; it is written
 * as the path "./=x", which opens the same file.
 */
#include "base/path.h"
#include "output/output.h"
#include "output/schema.h"

#include "histogram/total.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct csv_state {
    FILE *stream; /* borrowed */
    const struct layout *layout;
    const struct ih_percents *percents; /* borrowed; NULL: none */
    bool has_header, has_failed;
    bool has_distances;
};

struct layout {
    const char *name;
    const char *header;       /* the names of the columns */
    bool has_stats, has_bins; /* the statistics, and bin_0 to bin_255, follow */
    bool has_failures;        /* a failed input has a row */
    void (*image)(const struct csv_state *s, FILE *f, const char *name, const struct ih_result *r);
};

/* NAME_BYTES holds the field of any path, even one made of quotes alone. */
enum { NAME_BYTES = 2 * IH_PATH_BYTES_MAX + 5, CHANNEL_BYTES = 8 /* ",green" fits */ };

/* Builds a field from a prefix of at most 2 plain bytes and text. Quotes it where RFC 4180 requires
 * that, and where a reader could drop a leading or trailing space. */
static void make_field(char field[NAME_BYTES], const char *prefix, const char *text)
{
    size_t n = strlen(text);
    bool is_plain = strpbrk(text, ",\"\r\n") == NULL && n > 0 && (*prefix || text[0] != ' ') &&
                    text[n - 1] != ' ';
    char *p = field, *last = field + NAME_BYTES - 2;
    if (!is_plain)
        *p++ = '"';
    while (*prefix)
        *p++ = *prefix++;
    for (; *text && p + 2 <= last; text++) {
        if (*text == '"' && !is_plain)
            *p++ = '"';
        *p++ = *text;
    }
    if (!is_plain)
        *p++ = '"';
    *p = '\0';
}

/* Spreadsheets run a field that begins with one of these signs as a formula. Quotes and leading
 * spaces do not prevent that. The last four signs are full-width forms of the first four. */
static bool looks_like_formula(const char *text)
{
    static const char *const signs[] = {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
    if (*text && strchr("\t\r\n\v\f", *text))
        return true;
    text += strspn(text, " ");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0)
            return true;
    return false;
}

/* Builds the field of the image's name. The prefix "./" turns a formula into a path to the same
 * file. It also separates a file called "(total)" from the total's record. */
static void make_name(char name[NAME_BYTES], const struct ih_result *r)
{
    const bool is_stdin = ih_result_is_of_stdin(r);
    const bool is_misleading = !r->is_total && strcmp(r->path, IH_TOTAL_NAME) == 0;
    make_field(name, (looks_like_formula(r->path) && !is_stdin) || is_misleading ? "./" : "",
               r->path);
}

static char *format_field(char *p, uint64_t n)
{
    *p++ = ',';
    return ih_format_count(p, n);
}

static char *csv_put_text(char *p, const char *text)
{
    const size_t n = strlen(text);
    *p++ = ',';
    memcpy(p, text, n);
    return p + n;
}

static void put_percentile(FILE *f, const struct ih_result *r, unsigned plane, uint32_t percent)
{
    const unsigned v = r->status == IH_OK ? ih_percentile(&r->histogram, plane, percent) : UINT_MAX;
    putc(',', f);
    if (v != UINT_MAX)
        fprintf(f, "%u", v);
}

/* The percentiles of choice, or the names of their columns, without those that there are anyway. */
static void put_percentiles(const struct csv_state *s, FILE *f, const struct ih_result *r,
                            unsigned plane, bool (*is_there)(const char *key))
{
    char key[IH_PERCENT_KEY_MAX];
    for (unsigned i = 0; s->percents && i < s->percents->n; i++) {
        const uint32_t percent = s->percents->millionths[i];
        if (is_there(ih_percent_key(percent, key)))
            continue;
        if (!r)
            fprintf(f, ",%s", key);
        else
            put_percentile(f, r, plane, percent);
    }
}

/* printf would take several times as long. */
static void put_stats(const struct csv_state *s, FILE *f, const char *name,
                      const struct ih_result *r, unsigned plane)
{
    struct ih_stats stats;
    char row[2 * (IH_COUNT_MAX + 1) + CHANNEL_BYTES + IH_STATISTICS_MAX * (IH_REAL_MAX + 1)];
    char *end = row;
    ih_result_stats(r, plane, &stats);
    fputs(name, f);
    if (r->is_total) { /* its images differ in size */
        *end++ = ',';
        *end++ = ',';
    } else {
        end = format_field(end, r->info.width);
        end = format_field(end, r->info.height);
    }
    end = csv_put_text(end, ih_histogram_plane(&r->histogram, plane));
    for (const struct ih_field *field = ih_stats_table; field->key; field++) {
        *end++ = ',';
        end = ih_put_field(end, field, &stats, stats.count > 0);
    }
    fwrite(row, 1, (size_t)(end - row), f);
    put_percentiles(s, f, r, plane, ih_is_statistic);
}

static void image_channels(const struct csv_state *s, FILE *f, const char *name,
                           const struct ih_result *r)
{
    for (unsigned p = 0; p < IH_PLANES; p++) {
        if (!ih_histogram_plane(&r->histogram, p))
            continue;
        put_stats(s, f, name, r, p);
        char row[IH_BINS * (IH_COUNT_MAX + 1) + 1], *end = row;
        for (unsigned v = 0; v < IH_BINS && s->layout->has_bins; v++)
            if (r->histogram.native) /* its bins have no columns */
                *end++ = ',';
            else
                end = format_field(end, r->histogram.bins[p][v]);
        *end++ = '\n';
        fwrite(row, 1, (size_t)(end - row), f);
    }
}

/* All planes that an image may have, in the order of BINS_HEADER. */
#define BINS_HEADER "file,bin,gray,red,green,blue,alpha,luma"
static const char *const bins_columns[] = {"gray", "red", "green", "blue", "alpha", "luma"};
enum { N_BINS_COLUMNS = sizeof bins_columns / sizeof bins_columns[0] };

/* 256 rows; of a native histogram, those of the values that occur. */
static void image_bins(const struct csv_state *s, FILE *f, const char *name,
                       const struct ih_result *r)
{
    (void)s;
    const uint64_t *columns[N_BINS_COLUMNS] = {NULL};
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *channel = ih_histogram_plane(&r->histogram, p);
        for (unsigned c = 0; channel && c < N_BINS_COLUMNS; c++)
            if (strcmp(channel, bins_columns[c]) == 0)
                columns[c] = ih_bins(&r->histogram, p);
    }
    char row[NAME_BYTES + (N_BINS_COLUMNS + 1) * (IH_COUNT_MAX + 1) + 1];
    const size_t n_prefix = strlen(name);
    memcpy(row, name, n_prefix);
    for (unsigned v = 0; v < ih_n_bins(&r->histogram); v++) {
        bool occurs = !r->histogram.native;
        char *end = format_field(row + n_prefix, v);
        for (unsigned c = 0; c < N_BINS_COLUMNS; c++) {
            if (columns[c])
                end = format_field(end, columns[c][v]);
            else
                *end++ = ',';
            occurs = occurs || (columns[c] && columns[c][v] > 0);
        }
        if (!occurs)
            continue;
        *end++ = '\n';
        fwrite(row, 1, (size_t)(end - row), f);
    }
}

static void image_long(const struct csv_state *s, FILE *f, const char *name,
                       const struct ih_result *r)
{
    (void)s;
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *channel = ih_histogram_plane(&r->histogram, p);
        char row[NAME_BYTES + CHANNEL_BYTES + 2 * (IH_COUNT_MAX + 1) + 1];
        if (!channel)
            continue;
        const size_t n_prefix = (size_t)snprintf(row, sizeof row, "%s,%s", name, channel);
        const uint64_t *bins = ih_bins(&r->histogram, p);
        for (unsigned v = 0; v < ih_n_bins(&r->histogram); v++) {
            if (r->histogram.native && bins[v] == 0)
                continue;
            char *end = format_field(row + n_prefix, v);
            end = format_field(end, bins[v]);
            *end++ = '\n';
            fwrite(row, 1, (size_t)(end - row), f);
        }
    }
}

/* Whether a field has a column beside the name. */
static bool has_column(const struct csv_state *s, const struct ih_record_field *field)
{
    return field->column && field->field.kind != IH_FIELD_FILE &&
           (s->has_distances || !(field->in & IH_AGAINST));
}

/* One row with all fields that have a column; the first is the name. */
static void image_fields(const struct csv_state *s, FILE *f, const char *name,
                         const struct ih_result *r)
{
    struct ih_record_view view;
    struct ih_field_value values[IH_N_FIELDS];
    ih_fields_compute(&view, r, values);
    fputs(name, f);
    for (unsigned i = 0; i < IH_N_FIELDS; i++) {
        char text[NAME_BYTES];
        text[0] = '\0';
        if (!has_column(s, &ih_schema[i]))
            continue;
        if (values[i].type == IH_TYPE_TEXT)
            make_field(text, "", values[i].text);
        else if (values[i].type == IH_TYPE_REAL)
            ih_format_real(values[i].real, text);
        else if (values[i].type == IH_TYPE_INTEGER)
            *ih_format_count(text, values[i].integer) = '\0';
        putc(',', f);
        fputs(text, f);
    }
    put_percentiles(s, f, r, IH_LUMA, ih_is_column);
    putc('\n', f);
}

static const struct layout layouts[] = {
    {"channels", "file,width,height,channel", true, true, false, image_channels},
    {"bins", BINS_HEADER, false, false, false, image_bins},
    {"long", "file,channel,bin,count", false, false, false, image_long},
    {"stats", "file,width,height,channel", true, false, false, image_channels},
    {"images", "file", false, false, true, image_fields},
};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

static enum ih_status csv_begin(FILE *stream, const struct ih_output_options *options, void **state,
                                struct ih_error *err)
{
    const struct layout *layout = layouts;
    for (; options->layout && strcmp(layout->name, options->layout) != 0; layout++)
        assert(layout < layouts + N_LAYOUTS - 1); /* the parser of --csv knows the same names */
    struct csv_state *s = malloc(sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    *s = (struct csv_state){.stream = stream,
                            .layout = layout,
                            .percents = options->percents,
                            .has_distances = options->has_distances};
    *state = s;
    return IH_OK;
}

static void put_header(struct csv_state *s)
{
    if (s->has_header)
        return;
    s->has_header = true;
    fputs(s->layout->header, s->stream);
    for (const struct ih_field *f = ih_stats_table; f->key && s->layout->has_stats; f++)
        fprintf(s->stream, ",%s", f->key);
    if (s->layout->has_stats)
        put_percentiles(s, s->stream, NULL, 0, ih_is_statistic);
    for (unsigned v = 0; v < IH_BINS && s->layout->has_bins; v++)
        fprintf(s->stream, ",bin_%u", v);
    for (unsigned i = 0; i < IH_N_FIELDS && s->layout->image == image_fields; i++)
        if (has_column(s, &ih_schema[i]))
            fprintf(s->stream, ",%s", ih_schema[i].column);
    if (s->layout->image == image_fields)
        put_percentiles(s, s->stream, NULL, 0, ih_is_column);
    putc('\n', s->stream);
}

static bool has_row(const struct csv_state *s, const struct ih_result *result)
{
    return result->status == IH_OK || s->layout->has_failures;
}

static void csv_render(const void *state, const struct ih_result *result, FILE *bytes)
{
    const struct csv_state *s = state;
    char name[NAME_BYTES];
    if (!has_row(s, result))
        return;
    make_name(name, result);
    s->layout->image(s, bytes, name, result);
}

static void csv_put(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    struct csv_state *s = state;
    if (has_row(s, result))
        put_header(s);
    else
        s->has_failed = true;
    fwrite(bytes, 1, n, s->stream);
}

/* A run without inputs still writes the header. If all inputs failed, the file stays empty. */
static void csv_end(void *state)
{
    struct csv_state *s = state;
    if (!s->has_failed)
        put_header(s);
}

/* A row for each channel. A column for each side stands for one statistic. */
static void csv_compare(FILE *f, const struct ih_output_options *options,
                        const struct ih_comparison *c)
{
    const struct ih_field *const statistics = ih_stats_table;
    char names[2][NAME_BYTES], text[IH_REAL_MAX], key[IH_PERCENT_KEY_MAX];
    static const struct ih_percents none = {.n = 0};
    const struct ih_percents *const percents = options->percents ? options->percents : &none;
    for (unsigned i = 0; i < 2; i++)
        make_name(names[i], &c->sides[i]);
    fputs("file_a,file_b,channel", f);
    for (const struct ih_field *d = ih_distance_fields; d->key; d++)
        fprintf(f, ",%s", d->key);
    for (const struct ih_field *s = statistics; s->key; s++)
        fprintf(f, ",%s_a,%s_b", s->key, s->key);
    for (unsigned k = 0; k < percents->n; k++)
        if (!ih_is_statistic(ih_percent_key(percents->millionths[k], key)))
            fprintf(f, ",%s_a,%s_b", key, key);
    putc('\n', f);
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *channel = ih_histogram_plane(&c->sides[0].histogram, p);
        struct ih_stats stats[2];
        if (!channel)
            continue;
        fprintf(f, "%s,%s,%s", names[0], names[1], channel);
        for (const struct ih_field *d = ih_distance_fields; d->key; d++)
            fprintf(f, ",%s", ih_format_field(d, &c->planes[p], true, text));
        for (unsigned i = 0; i < 2; i++)
            ih_result_stats(&c->sides[i], p, &stats[i]);
        for (const struct ih_field *s = statistics; s->key; s++)
            for (unsigned i = 0; i < 2; i++)
                fprintf(f, ",%s", ih_format_field(s, &stats[i], stats[i].count > 0, text));
        for (unsigned k = 0; k < percents->n; k++)
            for (unsigned i = 0; i < 2; i++)
                if (!ih_is_statistic(ih_percent_key(percents->millionths[k], key)))
                    put_percentile(f, &c->sides[i], p, percents->millionths[k]);
        putc('\n', f);
    }
}

const struct ih_output ih_output_csv = {
    .name = "csv",
    .title = "CSV; layouts channels, bins, long, stats, images",
    .failures_in = "images",
    .begin = csv_begin,
    .render = csv_render,
    .put = csv_put,
    .end = csv_end,
    .close = free,
    .compare = csv_compare,
};
