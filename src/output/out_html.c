/*
 * --html: one self-contained page for many images.
 *
 * The page is report.html, which ends where the data begin: the fields of each record (schema.h),
 * its small histogram and the statistics of its channels as JSON, a line each, and at the end the
 * total, from which the page draws its chart. Script and style are in the page; it loads nothing.
 * Names reach the page only as JSON strings in which "<" is escaped, and the script only sets them
 * as text.
 */
#include "output/output.h"

#include "histogram/total.h"

#include <string.h>

extern const unsigned char ih_report[];
extern const unsigned long ih_report_bytes;

struct html_state {
    struct ih_output_state to;
    uint64_t n_records, n_images;
    struct ih_total total;
    const struct ih_luma_weights
        *luma;     /* of an image that has it, beside floats without; NULL: none */
    bool is_mixed; /* images of different bins, or groups of bands, which have no total */
    /* Of records; with the fingerprint, by which the page finds copies. */
    const struct ih_column *columns[IH_N_FIELDS + IH_CHOSEN_MAX + 2];
};

static const char levels[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { SMALL_CURVES = 4, SMALL_BARS = 64, SMALL_LEVELS = 64, BANDS_MAX = 8 /* as on charts */ };

/* The bands that are drawn of an image without colours. */
static unsigned n_drawn_bands(const struct ih_layout *layout)
{
    const unsigned n = layout->n_channels - layout->has_alpha;
    return layout->n_colours > 0 ? 0U : n < BANDS_MAX ? n : (unsigned)BANDS_MAX;
}

static void put_value(FILE *f, const struct ih_field_value *value)
{
    char number[IH_REAL_MAX];
    if (value->type == IH_TYPE_TEXT)
        ih_json_put_string_in_html(f, value->text);
    else
        fputs(ih_put_number(number, value) > number ? number : "null", f);
}

/* One character for each bar of each colour channel and of the luma of a colour image, or of each
 * drawn band; then the pixels of a bar of full height. The highest bar that is no spike has it.
 * Only an empty bar has the height 0. */
static void put_small_histogram(FILE *f, const struct ih_histogram *h)
{
    const unsigned n_bands = n_drawn_bands(&h->layout);
    const unsigned n_curves = h->layout.n_colours > 1 ? SMALL_CURVES - (ih_has_luma(h) ? 0U : 1U)
                              : n_bands > 0           ? n_bands
                                                      : 1U;
    const struct ih_shown shown = ih_histogram_shown(h);
    uint64_t bars[BANDS_MAX * SMALL_BARS] = {0}, filled[BANDS_MAX * SMALL_BARS];
    const size_t n = (size_t)n_curves * SMALL_BARS;
    char heights[BANDS_MAX * SMALL_BARS];
    size_t n_filled = 0;
    for (unsigned c = 0; c < n_curves; c++) {
        const unsigned plane = n_bands == 0 && c == SMALL_CURVES - 1 ? IH_LUMA : c;
        uint64_t folded[IH_BINS];
        if (shown.is_span)
            ih_histogram_fold_plane(h, shown, plane, folded);
        const uint64_t *const values = shown.is_span ? folded : ih_bins(h, plane);
        for (unsigned v = 0; v < shown.n_values; v++)
            bars[c * SMALL_BARS + v * SMALL_BARS / shown.n_values] += values[v];
    }
    for (size_t i = 0; i < n; i++)
        if (bars[i] > 0)
            filled[n_filled++] = bars[i];
    const uint64_t top = n_filled > 0 ? ih_highest_bar(filled, n_filled, true) : 0;
    for (size_t i = 0; i < n; i++) {
        const double height = top > 0 ? (double)bars[i] / (double)top : 0;
        const int level = height < 1 ? (int)(height * (SMALL_LEVELS - 1) + 0.5) : SMALL_LEVELS - 1;
        heights[i] = levels[bars[i] > 0 && level == 0 ? 1 : level];
    }
    fprintf(f, "\"%.*s\",%llu", (int)n, heights, (unsigned long long)top);
}

/* The number of values that a histogram shows, from 0 on, or the ends of its span; of one without
 * samples, no ends. */
static void put_shown(FILE *f, struct ih_shown shown)
{
    if (shown.is_span && shown.low > shown.high)
        fputs("[]", f);
    else if (shown.is_span)
        fprintf(f, "[%.9g,%.9g]", shown.low, shown.high);
    else
        fprintf(f, "%u", shown.n_values);
}

/* The name of a channel in the file, or null, and what is counted apart; nothing without both. */
static void put_name_and_specials(FILE *f, const struct ih_histogram *h, unsigned plane)
{
    const char *const name = ih_histogram_band_name(h, plane);
    char apart[IH_APART_MAX];
    ih_put_apart(apart, h, plane, plane + 1);
    if (!*name && !*apart)
        return;
    putc(',', f);
    ih_json_put_string_in_html(f, *name ? name : NULL);
    if (*apart)
        fprintf(f, ",\"%s\"", apart);
}

/* The statistics of each plane by its name; those of gray are those of its luma too. */
static void put_channels(FILE *f, struct ih_record_view *view, const struct ih_columns *columns)
{
    const struct ih_histogram *const h = &view->result->histogram;
    const bool is_gray = h->layout.n_colours == 1;
    const char *before = "";
    putc('{', f);
    for (unsigned i = 0; i < h->n_planes; i++) {
        const unsigned p = ih_nth_plane(h, i);
        const char *const name = ih_histogram_plane(h, p);
        if (p == IH_LUMA && is_gray)
            continue;
        fprintf(f, "%s\"%s\":", before, name);
        for (const struct ih_column *const *c = columns->of_channel; *c; c++) {
            const struct ih_field_value value = ih_channel_value(view, p, *c);
            putc(c == columns->of_channel ? '[' : ',', f);
            put_value(f, &value);
        }
        put_name_and_specials(f, h, p);
        putc(']', f);
        before = ",";
    }
    putc('}', f);
}

static void put_names(FILE *f, const char *key, const struct ih_column *const *columns)
{
    fprintf(f, ",\"%s\":", key);
    for (const struct ih_column *const *c = columns; *c; c++)
        fprintf(f, "%c\"%s\"", c == columns ? '[' : ',', (*c)->name);
    putc(']', f);
}

/* ---- the document ---- */

/* The way from the page to the folder that relative names of pictures begin in, for links. Standard
 * output is taken to be there. The way is not known for paths that leave that folder. */
static void put_base(FILE *f, const char *path)
{
    fputs(",\"base\":", f);
    if (!path)
        path = "";
    if (*path == '/' || strstr(path, "..")) {
        fputs("null", f);
        return;
    }
    putc('"', f);
    for (size_t n; path += strspn(path, "/"), path[n = strcspn(path, "/")]; path += n)
        fputs(n == 1 && *path == '.' ? "" : "../", f);
    putc('"', f);
}

static void put_row(const struct html_state *s, FILE *f, const struct ih_result *result)
{
    struct ih_record_view view;
    ih_record_view_init(&view, result);
    view.linear = s->to.options.columns->linear;
    putc('[', f);
    for (const struct ih_column *const *c = s->columns; *c; c++) {
        const struct ih_field_value value = ih_record_value(&view, *c);
        put_value(f, &value);
        putc(',', f);
    }
    if (result->is_total && result->n_images == 0) { /* a group in which all have failed */
        fprintf(f, "%llu,null,null", (unsigned long long)result->n_failed);
    } else if (result->status == IH_OK) {
        put_small_histogram(f, &result->histogram);
        putc(',', f);
        put_channels(f, &view, s->to.options.columns);
    } else {
        fputs("null,null,null", f);
    }
    if (result->is_total)
        fprintf(f, ",%llu", (unsigned long long)result->n_images);
    else
        fputs(",null", f);
    if (s->to.options.thumbnails) {
        putc(',', f);
        if (result->status == IH_OK && result->thumbnail)
            ih_json_put_base64(f, result->thumbnail, result->thumbnail_bytes);
        else
            fputs("null", f);
    }
    const enum ih_sample_type type = result->histogram.type;
    if (result->status == IH_OK && ih_is_native(type)) {
        putc(',', f);
        put_shown(f, ih_histogram_shown(&result->histogram));
    }
    if (result->status == IH_OK && (ih_result_is_reduced(result) || !ih_is_unsigned(type))) {
        char depth[IH_DEPTH_TEXT_MAX];
        ih_result_put_depth(depth, result);
        fprintf(f, "%s,\"%s\"", ih_is_native(type) ? "" : ",null", depth);
    }
    putc(']', f);
}

static void html_begin(void *state)
{
    struct html_state *const s = state;
    const struct ih_output_options *const options = &s->to.options;
    FILE *const stream = s->to.stream;
    ih_total_init(&s->total, &IH_MEASURE_DEFAULT);
    size_t n = 0;
    for (; options->columns->of_record[n]; n++)
        s->columns[n] = options->columns->of_record[n];
    for (size_t i = 0; i < IH_N_FIELDS; i++)
        if ((ih_schema[i].in & IH_OF_COPIES) &&
            !ih_column_find(s->columns, ih_schema[i].name, strlen(ih_schema[i].name)))
            s->columns[n++] = &ih_schema[i];
    fwrite(ih_report, 1, ih_report_bytes, stream);
    fputs("{\"version\":\"" IH_VERSION "\",\"title\":", stream);
    ih_json_put_string_in_html(stream, options->title);
    fputs(",\"folder\":", stream);
    ih_json_put_string_in_html(stream,
                               options->folder && *options->folder ? options->folder : NULL);
    put_base(stream, options->path);
    fputs(",\"reference\":", stream);
    ih_json_put_string_in_html(stream, options->reference);
    fputs(",\"where\":", stream);
    ih_json_put_string_in_html(stream, options->where);
    fprintf(stream, ",\"marked_share\":0.%02d,\"thumbnails\":%s,\"bands\":%s", IH_MARKED_PERCENT,
            options->thumbnails ? "true" : "false", options->has_bands ? "true" : "false");
    put_names(stream, "columns", s->columns);
    put_names(stream, "statistics", options->columns->of_channel);
    fputs(",\"rows\":[", stream);
}

/* The total of all images, which is no row of the page's table. */
static bool is_whole_total(const struct ih_result *result)
{
    return result->is_total && !result->group;
}

static void html_render(const void *state, const struct ih_result *result, FILE *bytes)
{
    if (!is_whole_total(result))
        put_row(state, bytes, result);
}

static void html_put(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    struct html_state *s = state;
    struct ih_error ignored;
    if (is_whole_total(result)) { /* also those of result files */
        ih_total_reset(&s->total);
        ih_total_init(&s->total, &IH_MEASURE_DEFAULT);
        (void)ih_total_add(&s->total, result, &ignored);
        s->is_mixed = s->is_mixed && !s->to.options.has_bands;
        return;
    }
    if (result->status == IH_OK && ih_has_luma(&result->histogram))
        s->luma = result->measure.luma;
    s->n_images += result->is_total ? result->n_images : result->status == IH_OK;
    /* Or more pixels than a sum can have. */
    s->is_mixed |= s->to.options.has_bands || ih_total_add(&s->total, result, &ignored) != IH_OK;
    fputs(s->n_records++ ? ",\n" : "\n", s->to.stream);
    fwrite(bytes, 1, n, s->to.stream);
}

static void put_total(FILE *f, const struct html_state *s)
{
    struct ih_result total;
    ih_total_result(&s->total, &total);
    fprintf(f, "\n],\"total\":{\"images\":%llu,\"failed\":%llu,\"row\":",
            (unsigned long long)(s->is_mixed ? s->n_images : total.n_images),
            (unsigned long long)total.n_failed);
    put_row(s, f, &total);
    fprintf(f, ",\"mixed\":%s,\"luma\":\"%s\",\"alpha\":\"%s\",\"clip_limits\":[%u,%u],\"region\":",
            s->is_mixed ? "true" : "false", (s->luma ? s->luma : total.measure.luma)->name,
            ih_alpha_name(total.measure.alpha), total.measure.clip_low, total.measure.clip_high);
    ih_json_put_string_in_html(f, total.measure.region);
    fputs(",\"mask\":", f);
    ih_json_put_string_in_html(f, total.measure.mask);
    fputs(",\"shown\":", f);
    const struct ih_histogram *const h = &total.histogram;
    const struct ih_shown shown = ih_histogram_shown(h);
    const unsigned n_colours = h->layout.n_colours, n_in_bar = ih_bar_values(shown.n_values);
    put_shown(f, shown);
    fputs(",\"bins\":{", f);
    for (unsigned i = 0; i < h->n_planes && total.n_images > 0 && !s->is_mixed; i++) {
        const unsigned p = ih_nth_plane(h, i);
        if (p >= n_colours + n_drawn_bands(&h->layout) && (p != IH_LUMA || n_colours == 1))
            continue; /* alpha; the luma of gray; bands that are not drawn */
        fprintf(f, "%s\"%s\":", p ? "," : "", ih_histogram_plane(h, p));
        uint64_t bars[IH_BINS];
        ih_histogram_fold_plane(h, shown, p, bars);
        for (unsigned v = 0; v * n_in_bar < shown.n_values; v++)
            fprintf(f, "%c%llu", v ? ',' : '[', (unsigned long long)bars[v]);
        putc(']', f);
    }
    fputs("}}}", f);
}

static void html_end(void *state)
{
    struct html_state *s = state;
    put_total(s->to.stream, s);
    fputs("\n</script>\n<script>start();</script>\n</body>\n</html>\n", s->to.stream);
}

static void html_close(void *state)
{
    struct html_state *s = state;
    ih_total_reset(&s->total);
}

const struct ih_output ih_output_html = {
    .name = "html",
    .title = "one HTML page: a table with histograms",
    .failures_in = "",
    .state_bytes = sizeof(struct html_state),
    .begin = html_begin,
    .render = html_render,
    .put = html_put,
    .end = html_end,
    .close = html_close,
};
