/*
 * CSV in five layouts (--csv=channels|bins|long|stats|images).
 *
 * Fields are quoted as in RFC 4180 and lines end with LF. Integers are exact; real numbers have six
 * decimals and a decimal point. The header depends on the layout alone, so the files of several
 * runs can be concatenated. A spreadsheet would run a name such as "=x" as a formula; it is written
 * as the path "./=x", which opens the same file.
 */
#include "output/output.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

struct csv_state {
    struct ih_output_state to;
    const struct layout *layout;
    bool has_header, has_failed;
};

struct layout {
    const char *name;
    const char *header;       /* the names of the first columns */
    bool has_stats, has_bins; /* the statistics, and bin_0 to bin_255, follow */
    bool has_fields;          /* the columns of records follow; a failed input has a row */
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

/* The value of a bin. */
static char *format_sample(char *p, const struct ih_histogram *h, unsigned bin)
{
    if (ih_is_unsigned(h->type))
        return format_field(p, bin);
    *p++ = ',';
    return ih_put_sample(p, h->type, ih_bin_value(h->type, bin));
}

/* Without bins, what is counted apart has columns too. */
static const struct ih_column *const *columns_of(const struct csv_state *s)
{
    return s->layout->has_bins ? s->to.options.columns->of_channel
                               : s->to.options.columns->of_stats;
}

/* printf would take several times as long. */
static void put_stats(const struct csv_state *s, FILE *f, const char *name,
                      struct ih_record_view *view, unsigned plane)
{
    const struct ih_result *const r = view->result;
    char row[2 * (IH_COUNT_MAX + 1) + CHANNEL_BYTES +
             (IH_STATISTICS_MAX + IH_APART_COLUMNS + IH_CHOSEN_MAX) * (IH_REAL_MAX + 1)];
    char *end = row;
    fputs(name, f);
    if (r->is_total) { /* its images differ in size */
        *end++ = ',';
        *end++ = ',';
    } else {
        end = format_field(end, r->info.width);
        end = format_field(end, r->info.height);
    }
    *end++ = ',';
    end = stpcpy(end, ih_histogram_plane(&r->histogram, plane));
    for (const struct ih_column *const *c = columns_of(s); *c; c++) {
        *end++ = ',';
        end = ih_put_channel_value(end, view, plane, *c);
    }
    fwrite(row, 1, (size_t)(end - row), f);
}

static void image_channels(const struct csv_state *s, FILE *f, const char *name,
                           const struct ih_result *r)
{
    struct ih_record_view view;
    ih_record_view_init(&view, r);
    for (unsigned i = 0; i < r->histogram.n_planes; i++) {
        const unsigned p = ih_nth_plane(&r->histogram, i);
        put_stats(s, f, name, &view, p);
        char row[IH_BINS * (IH_COUNT_MAX + 1) + 1], *end = row;
        for (unsigned v = 0; v < IH_BINS && s->layout->has_bins; v++)
            if (r->histogram.n_bins > IH_BINS) /* its bins have no columns */
                *end++ = ',';
            else
                end = format_field(end, ih_bins(&r->histogram, p)[v]);
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
    for (unsigned i = 0; i < r->histogram.n_planes; i++) {
        const unsigned p = ih_nth_plane(&r->histogram, i);
        const char *channel = ih_histogram_plane(&r->histogram, p);
        for (unsigned c = 0; channel && c < N_BINS_COLUMNS; c++)
            if (strcmp(channel, bins_columns[c]) == 0)
                columns[c] = ih_bins(&r->histogram, p);
    }
    char row[NAME_BYTES + IH_REAL_MAX + (N_BINS_COLUMNS + 1) * (IH_COUNT_MAX + 1) + 1];
    const size_t n_prefix = strlen(name);
    memcpy(row, name, n_prefix);
    for (unsigned v = 0; v < r->histogram.n_bins; v++) {
        bool occurs = r->histogram.n_bins == IH_BINS;
        char *end = format_sample(row + n_prefix, &r->histogram, v);
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
    for (unsigned i = 0; i < r->histogram.n_planes; i++) {
        const unsigned p = ih_nth_plane(&r->histogram, i);
        const char *channel = ih_histogram_plane(&r->histogram, p);
        char row[NAME_BYTES + CHANNEL_BYTES + IH_REAL_MAX + IH_COUNT_MAX + 3];
        const size_t n_prefix = (size_t)(stpcpy(stpcpy(stpcpy(row, name), ","), channel) - row);
        const uint64_t *bins = ih_bins(&r->histogram, p);
        for (unsigned v = 0; v < r->histogram.n_bins; v++) {
            if (r->histogram.n_bins > IH_BINS && bins[v] == 0)
                continue;
            char *end = format_sample(row + n_prefix, &r->histogram, v);
            end = format_field(end, bins[v]);
            *end++ = '\n';
            fwrite(row, 1, (size_t)(end - row), f);
        }
    }
}

static void put_text(FILE *f, const char *text)
{
    char field[NAME_BYTES];
    make_field(field, "", text);
    fputs(field, f);
}

/* Numbers need no large buffer: a compiler that guards the stack touches all of its pages. */
static void put_value(FILE *f, const struct ih_field_value *value)
{
    char number[IH_REAL_MAX];
    if (value->type == IH_TYPE_TEXT)
        put_text(f, value->text);
    else
        fwrite(number, 1, (size_t)(ih_put_number(number, value) - number), f);
}

/* One row with all columns of records. */
static void image_fields(const struct csv_state *s, FILE *f, const char *name,
                         const struct ih_result *r)
{
    struct ih_record_view view;
    ih_record_view_init(&view, r);
    view.linear = s->to.options.columns->linear;
    fputs(name, f);
    for (const struct ih_column *const *c = s->to.options.columns->of_record; *c; c++) {
        if ((*c)->field.kind == IH_FIELD_FILE)
            continue; /* the name */
        const struct ih_field_value value = ih_record_value(&view, *c);
        putc(',', f);
        put_value(f, &value);
    }
    putc('\n', f);
}

/* The value of a chosen field, in the row of a plane. */
static void put_chosen(FILE *f, const struct ih_named_field *field, struct ih_record_view *view,
                       const char *name, unsigned plane)
{
    const unsigned kind = field->column.field.kind;
    if (kind == IH_FIELD_FILE) {
        fputs(name, f);
        return;
    }
    if (field->is_of_row && kind == IH_FIELD_NAME) {
        fputs(ih_histogram_plane(&view->result->histogram, plane), f);
        return;
    }
    const struct ih_field_value value = field->is_of_row
                                            ? ih_channel_value(view, plane, &field->column)
                                            : ih_named_field_value(field, view);
    put_value(f, &value);
}

/* --fields: a row, or one for each channel in the layout stats. */
static void image_chosen(const struct csv_state *s, FILE *f, const char *name,
                         const struct ih_result *r)
{
    const struct ih_field_list *const fields = s->to.options.fields;
    struct ih_record_view view;
    ih_record_view_init(&view, r);
    view.linear = s->to.options.columns->linear;
    const unsigned n_rows = s->layout->has_stats ? r->histogram.n_planes : 1;
    for (unsigned row = 0; row < n_rows; row++) {
        const unsigned plane = s->layout->has_stats ? ih_nth_plane(&r->histogram, row) : 0;
        for (unsigned i = 0; i < fields->n; i++) {
            if (i > 0)
                putc(',', f);
            put_chosen(f, &fields->fields[i], &view, name, plane);
        }
        putc('\n', f);
    }
}

static const struct layout layouts[] = {
    {"channels", "file,width,height,channel", true, true, false, image_channels},
    {"bins", BINS_HEADER, false, false, false, image_bins},
    {"long", "file,channel,bin,count", false, false, false, image_long},
    {"stats", "file,width,height,channel", true, false, false, image_channels},
    {"images", "file", false, false, true, image_fields},
};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

static void csv_begin(void *state)
{
    struct csv_state *s = state;
    const char *const name = s->to.options.layout;
    for (s->layout = layouts; name && strcmp(s->layout->name, name) != 0; s->layout++)
        assert(s->layout < layouts + N_LAYOUTS - 1); /* the parser of --csv knows the same names */
}

static void put_header(struct csv_state *s)
{
    if (s->has_header)
        return;
    s->has_header = true;
    const struct ih_field_list *const fields = s->to.options.fields;
    for (unsigned i = 0; fields && i < fields->n; i++)
        fprintf(s->to.stream, "%s%s", i > 0 ? "," : "", fields->fields[i].name);
    if (fields) {
        putc('\n', s->to.stream);
        return;
    }
    fputs(s->layout->header, s->to.stream);
    for (const struct ih_column *const *c = columns_of(s); *c && s->layout->has_stats; c++)
        fprintf(s->to.stream, ",%s", (*c)->name);
    for (unsigned v = 0; v < IH_BINS && s->layout->has_bins; v++)
        fprintf(s->to.stream, ",bin_%u", v);
    for (const struct ih_column *const *c = s->to.options.columns->of_record;
         *c && s->layout->has_fields; c++)
        if ((*c)->field.kind != IH_FIELD_FILE)
            fprintf(s->to.stream, ",%s", (*c)->name);
    putc('\n', s->to.stream);
}

static bool has_row(const struct csv_state *s, const struct ih_result *result)
{
    return result->status == IH_OK || s->layout->has_fields;
}

static void csv_render(const void *state, const struct ih_result *result, FILE *bytes)
{
    const struct csv_state *s = state;
    char name[NAME_BYTES];
    if (!has_row(s, result))
        return;
    make_name(name, result);
    (s->to.options.fields ? image_chosen : s->layout->image)(s, bytes, name, result);
}

static void csv_put(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    struct csv_state *s = state;
    if (has_row(s, result))
        put_header(s);
    else
        s->has_failed = true;
    fwrite(bytes, 1, n, s->to.stream);
}

/* A run without inputs still writes the header. If all inputs failed, the file stays empty. */
static void csv_end(void *state)
{
    struct csv_state *s = state;
    if (!s->has_failed)
        put_header(s);
}

/* A row for each channel. A column for each side stands for one statistic. */
static void csv_compare(const void *state, const struct ih_comparison *c)
{
    const struct ih_output_state *const s = state;
    const struct ih_column *const *const columns = s->options.columns->of_channel;
    FILE *const f = s->stream;
    char names[2][NAME_BYTES], text[IH_REAL_MAX];
    struct ih_record_view sides[2];
    for (unsigned i = 0; i < 2; i++) {
        make_name(names[i], &c->sides[i]);
        ih_record_view_init(&sides[i], &c->sides[i]);
    }
    fputs("file_a,file_b,channel", f);
    for (const struct ih_field *d = ih_distance_fields; d->key; d++)
        fprintf(f, ",%s", d->key);
    for (const struct ih_column *const *k = columns; *k; k++)
        fprintf(f, ",%s_a,%s_b", (*k)->name, (*k)->name);
    putc('\n', f);
    const struct ih_histogram *const h = &c->sides[0].histogram;
    for (unsigned i_plane = 0; i_plane < h->n_planes; i_plane++) {
        const unsigned p = ih_nth_plane(h, i_plane);
        const char *channel = ih_histogram_plane(h, p);
        fprintf(f, "%s,%s,%s", names[0], names[1], channel);
        for (const struct ih_field *d = ih_distance_fields; d->key; d++) {
            ih_put_field(text, d, &c->planes[p]);
            fprintf(f, ",%s", text);
        }
        for (const struct ih_column *const *k = columns; *k; k++)
            for (unsigned i = 0; i < 2; i++) {
                ih_put_channel_value(text, &sides[i], p, *k);
                fprintf(f, ",%s", text);
            }
        putc('\n', f);
    }
}

const struct ih_output ih_output_csv = {
    .name = "csv",
    .title = "CSV; layouts channels, bins, long, stats, images",
    .failures_in = "images",
    .state_bytes = sizeof(struct csv_state),
    .begin = csv_begin,
    .render = csv_render,
    .put = csv_put,
    .end = csv_end,
    .compare = csv_compare,
};
