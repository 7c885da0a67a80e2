/*
 * The summary for people, in two views.
 *
 * --text=full shows one image: title, histogram and a table of statistics.
 *
 *     samples/scene.png  480 x 320 png, 8 bits, red green blue
 *
 *       ▂▅▇█▆▄▃▂▁▁
 *       0               64              128             192          255
 *
 *              mean  stddev  min  p05  median  p95  max  entropy  crushed   blown
 *       red  101.52   58.34    0   14     101  208  255     7.61    0.40%   1.25%
 *
 *       blown: any channel 1.25 %, all 0.80 %; crushed: any 0.40 %, all 0.10 %
 *       mean luminance 0.2134
 *
 * With colour the histogram shows red, green and blue on top of each other, else luma, or green if
 * luma was not counted.
 *
 * --text=lines shows one image per line, with the folder of all of them in the heading:
 *
 *      pixels  luma              mean  crushed   blown  samples/
 *     480x320  ▃▅▇█▆▄▃▂▁▁▁▁▁▁▁▁  101.5    0.40%   1.25%  scene.png
 *     45 images, 14 blown, 6 crushed (from 1 % of the pixels), 1 failed
 *
 * These percentages are of pixels with any clipped colour channel. There are two widths: 80
 * columns, and fewer statistics and a narrower histogram, which fit 60, for a terminal of less
 * than 80.
 */
#include "output/output.h"

#include "output/text_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDE = 80, /* the columns of the wide layout, and without a terminal to ask */
    INDENT = 2
};

/* How a view is written. */
struct text {
    struct ih_output_state to;
    unsigned width;  /* of the terminal */
    bool has_native; /* values, in tables */
    bool has_floats; /* the same: they need most columns */
};

struct text_state {
    struct text text;
    bool is_lines, has_records;
    uint64_t n_images, n_blown, n_crushed, n_failed; /* in lines */
    bool has_limits;                                 /* of an image in lines */
    bool has_zones;                                  /* of --labels */
};

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* Returns an ANSI sequence if colour is on, else "". */
static const char *style(const struct text *s, const char *ansi)
{
    return s->to.options.colour ? ansi : "";
}

static bool has_wide_layout(const struct text *s)
{
    return s->width >= WIDE;
}

/* ---- columns of statistics ---- */

/* A statistic of a channel. */
struct column {
    const char *name;
    int width, decimals;
    bool needs_wide;
};

/* Native values have up to five digits, which leave no room for more columns. */
static bool is_shown(const struct text *s, const struct column *c)
{
    return !c->needs_wide || (has_wide_layout(s) && !s->has_native);
}

/* Whether values have more digits than those of 8 bits. */
static bool has_wide_values(const struct ih_histogram *h)
{
    return h->n_bins > IH_BINS || !ih_is_unsigned(h->type);
}

static int column_width(const struct text *s, const struct column *c)
{
    const int of_floats = has_wide_layout(s) ? 12 : 8;
    return s->has_floats ? of_floats : c->width + (s->has_native ? 2 : 0);
}

static void put_headings(const struct text *s, const struct column *columns)
{
    for (const struct column *c = columns; c->name; c++)
        if (is_shown(s, c))
            fprintf(s->to.stream, "  %*s", column_width(s, c), c->name);
}

/* A number that is too wide, as of native values in lines, loses its decimals. The value of a float
 * sample keeps all digits in a table. */
static void put_number(const struct text *s, int width, int decimals,
                       const struct ih_field_value *v)
{
    char shown[48] = "";
    const bool is_float = v->type == IH_TYPE_REAL && v->digits != IH_DIGITS_DECIMALS;
    if (v->type == IH_TYPE_INTEGER || is_float)
        ih_put_number(shown, v);
    const bool is_cut = is_float && !(s->has_floats && v->digits == IH_DIGITS_OF_FLOAT);
    for (unsigned n = 8; n > 0 && is_cut && (int)strlen(shown) > width; n--)
        ih_put_digits(shown, v->real, n);
    if (!is_float && v->type == IH_TYPE_REAL &&
        snprintf(shown, sizeof shown, "%.*f", decimals, v->real) > width)
        snprintf(shown, sizeof shown, "%.0f", v->real);
    fprintf(s->to.stream, "  %*s", width, shown);
}

static void put_statistic(const struct text *s, const struct column *c, struct ih_record_view *view,
                          unsigned plane)
{
    const struct ih_column *const column =
        ih_column_find(s->to.options.columns->of_channel, c->name, strlen(c->name));
    const struct ih_field_value value = ih_channel_value(view, plane, column);
    put_number(s, column_width(s, c), c->decimals, &value);
}

static void text_put_statistics(const struct text *s, const struct column *columns,
                                struct ih_record_view *view, unsigned plane)
{
    for (const struct column *c = columns; c->name; c++)
        if (is_shown(s, c))
            put_statistic(s, c, view, plane);
}

/* The plane that stands for an image: luma, or else green, gray or the first band. */
static unsigned text_plane(const struct ih_histogram *h)
{
    return ih_has_luma(h) ? (unsigned)IH_LUMA : h->layout.n_colours == 3;
}

/* Clip counts are of colours and gray, and signed and float samples have no limits. */
static bool has_clip_counts(const struct ih_histogram *h)
{
    return ih_is_unsigned(h->type) && h->layout.n_colours > 0;
}

/* ---- full view: the title ---- */

enum { FACTS_MAX = 160, NAMES_MAX = 8 };

static void text_describe(char facts[FACTS_MAX], const struct ih_result *r)
{
    const struct ih_image_info *info = &r->info;
    char depth[IH_DEPTH_TEXT_MAX];
    ih_result_put_depth(depth, r);
    int n = snprintf(facts, FACTS_MAX, "%" PRIu64 " x %" PRIu64 " %s, %s,", info->width,
                     info->height, info->format, depth);
    const unsigned n_channels = info->layout.n_channels;
    if (n_channels > NAMES_MAX && n > 0 && n < FACTS_MAX)
        snprintf(facts + n, (size_t)(FACTS_MAX - n), " %u channels", n_channels);
    for (unsigned p = 0; p < n_channels && n_channels <= NAMES_MAX && n > 0 && n < FACTS_MAX; p++)
        n += snprintf(facts + n, (size_t)(FACTS_MAX - n), " %s",
                      ih_histogram_plane(&r->histogram, p));
}

static void describe_total(char facts[FACTS_MAX], const struct ih_result *r)
{
    int n = snprintf(facts, FACTS_MAX, "%" PRIu64 " image%s, %.1f megapixels", r->n_images,
                     r->n_images == 1 ? "" : "s", (double)r->histogram.n_pixels / 1e6);
    if (r->n_failed > 0 && n > 0 && n < FACTS_MAX)
        snprintf(facts + n, (size_t)(FACTS_MAX - n), ", %" PRIu64 " failed", r->n_failed);
}

/* Writes the title on one line if it fits, else on two. The name is never shortened. */
static void put_title(const struct text *s, const struct ih_result *r)
{
    char name[IH_ESCAPED_MAX], facts[FACTS_MAX] = "";
    ih_escape(name, sizeof name, r->path);
    if (r->is_total)
        describe_total(facts, r);
    else
        text_describe(facts, r);
    bool fits = ih_text_width(name) + INDENT + strlen(facts) <= s->width;
    fprintf(s->to.stream, "%s%s%s%s%*s%s\n\n", style(s, BOLD), name, style(s, PLAIN),
            fits ? "" : "\n", INDENT, "", facts);
}

/* Which pixels were counted, if not all. */
static void put_selection(const struct text *s, const struct ih_result *r)
{
    char region[4 * IH_REGION_TEXT_MAX], mask[4 * IH_MASK_NAME_MAX], label[32] = "mask ";
    if (!r->measure.region && !r->measure.mask)
        return;
    ih_escape(region, sizeof region, r->measure.region ? r->measure.region : "");
    ih_escape(mask, sizeof mask, r->measure.mask ? r->measure.mask : "");
    if (r->has_label)
        snprintf(label, sizeof label, "label %u of ", r->label);
    fprintf(s->to.stream, "%*s%s%s%s%s%s: %" PRIu64 " pixels\n\n", INDENT, "",
            r->measure.region ? "region " : "", region,
            r->measure.region && r->measure.mask ? ", " : "", r->measure.mask ? label : "", mask,
            r->histogram.n_pixels);
}

/* ---- full view: the histogram ---- */

enum { PLOT_ROWS = 6, PLOT_COLUMNS = 32, PLOT_COLUMNS_WIDE = 64 };

/* The values at the quarters of the plot, and the last one. */
static void put_axis(const struct text *s, unsigned n_columns, const struct ih_histogram *h,
                     const char *label)
{
    const struct ih_shown shown = ih_histogram_shown(h);
    const int quarter = (int)n_columns / 4;
    const double span = shown.high - shown.low, most = fmax(fabs(shown.low), fabs(shown.high));
    const unsigned n_digits =
        shown.is_span ? (unsigned)fmin(9, 5 + fmax(0, log10(most / span))) : 0;
    char values[5][IH_REAL_MAX] = {""};
    if (shown.is_span && span < 0)
        strcpy(values[0], "no values");
    else if (shown.is_span && span == 0)
        ih_put_float(values[2], shown.low);
    for (unsigned i = 0; i < 5 && (!shown.is_span || span > 0); i++) {
        for (unsigned n = n_digits; n > 0; n--) { /* neighbours differ, if there is room */
            ih_put_digits(values[i], shown.low + span / 4 * i, n);
            if ((int)strlen(values[i]) < quarter)
                break;
        }
        if (!shown.is_span)
            snprintf(values[i], sizeof values[i], "%u", i < 4 ? h->n_bins * i / 4 : h->n_bins - 1);
    }
    if ((int)(strlen(values[3]) + strlen(values[4])) >= quarter)
        *values[3] = '\0';
    fprintf(s->to.stream, "%*s%-*s%-*s%-*s%-*s%s%s%s\n\n", INDENT, "", quarter, values[0], quarter,
            values[1], quarter, values[2], quarter - (int)strlen(values[4]), values[3], values[4],
            *label ? "  " : "", label);
}

static void put_plot(const struct text *s, const struct ih_histogram *h)
{
    static const unsigned rgb[] = {0, 1, 2};
    const bool is_gray = h->layout.n_colours == 1;
    const bool is_mixed = s->to.options.colour && h->layout.n_colours == 3;
    const unsigned plane = text_plane(h), *const planes = is_mixed ? rgb : &plane;
    struct ih_plot plot = {.n_columns = has_wide_layout(s) ? PLOT_COLUMNS_WIDE : PLOT_COLUMNS,
                           .n_rows = PLOT_ROWS,
                           .n_curves = is_mixed ? 3 : 1};
    ih_plot_fill(&plot, h, planes);
    for (unsigned row = plot.n_rows; row-- > 0;) {
        fprintf(s->to.stream, "%*s", INDENT, "");
        ih_plot_put_row(s->to.stream, &plot, row, s->to.options.unicode);
        putc('\n', s->to.stream);
    }
    put_axis(s, plot.n_columns, h, is_mixed ? "" : is_gray ? "gray" : ih_histogram_plane(h, plane));
}

/* ---- full view: the table ---- */

static const char *plane_style(const struct text *s, const char *plane)
{
    static const struct {
        const char *plane, *ansi;
    } styles[] = {
        {"red", IH_INK_RED}, {"green", IH_INK_GREEN}, {"blue", IH_INK_BLUE}, {"luma", BOLD}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp(styles[i].plane, plane) == 0)
            return style(s, styles[i].ansi);
    return "";
}

static const struct column table_columns[] = {
    {"mean", 6, 2, false}, {"stddev", 6, 2, false}, {"min", 3, 0, false},
    {"p05", 3, 0, true},   {"median", 6, 0, false}, {"p95", 3, 0, true},
    {"max", 3, 0, false},  {"entropy", 7, 2, true}, {NULL, 0, 0, false}};

/* Whether a share is so large that it can be seen. */
static bool is_marked(uint64_t part, uint64_t total)
{
    return part > 0 && (double)part * 100 >= (double)total * IH_MARKED_PERCENT;
}

/* Writes a share, in a colour if it is marked: shadows blue, highlights red. */
static void put_share(const struct text *s, int width, uint64_t part, uint64_t total, bool is_high,
                      const char *unit)
{
    char share[IH_PERCENT_MAX];
    const char *ink = !is_marked(part, total) ? "" : style(s, is_high ? IH_INK_RED : IH_INK_BLUE);
    fprintf(s->to.stream, "%s%s%*s%s%s", *ink ? BOLD : "", ink, width,
            ih_text_percent(share, part, total), unit, *ink ? PLAIN : "");
}

static void put_table(const struct text *s, struct ih_record_view *view)
{
    const struct ih_histogram *const h = &view->result->histogram;
    const int width = h->layout.n_channels > 9 ? 8 : 5; /* of names */
    fprintf(s->to.stream, "%*s", INDENT + width, "");
    put_headings(s, table_columns);
    fputs(ih_is_unsigned(h->type) ? "  crushed   blown\n" : "\n", s->to.stream);
    for (unsigned i = 0; i < h->n_planes; i++) {
        const unsigned p = ih_nth_plane(h, i);
        const char *name = ih_histogram_plane(h, p);
        if (p == IH_LUMA && h->layout.n_colours == 1)
            continue; /* luma equals gray */
        const struct ih_stats *const t = ih_view_stats(view, p);
        if (t->count == 0)
            continue;
        fprintf(s->to.stream, "%*s%s%-*s%s", INDENT, "", plane_style(s, name), width, name,
                style(s, PLAIN));
        text_put_statistics(s, table_columns, view, p);
        if (ih_is_unsigned(h->type)) {
            put_share(s, 8, t->crushed, t->count, false, "%");
            put_share(s, 7, t->blown, t->count, true, "%");
        }
        putc('\n', s->to.stream);
    }
}

/* ---- full view: the last lines ---- */

static void put_clipped(const struct text *s, const struct ih_histogram *h, bool is_high)
{
    const bool is_colour = h->layout.n_colours == 3;
    fputs(is_high ? "blown: " : "crushed: ", s->to.stream);
    if (is_colour) {
        fputs(is_high ? "any channel " : "any ", s->to.stream);
        put_share(s, 0, is_high ? h->any_high : h->any_low, h->n_pixels, is_high, " %");
        fputs(", all ", s->to.stream);
    }
    put_share(s, 0, is_high ? h->all_high : h->all_low, h->n_pixels, is_high, " %");
}

/* The samples that are counted apart, of all planes. */
static void put_apart(const struct text *s, const struct ih_histogram *h)
{
    char apart[IH_APART_MAX];
    ih_put_apart(apart, h, 0, h->layout.n_channels);
    if (*apart)
        fprintf(s->to.stream, "%*ssamples counted apart: %s\n", INDENT, "", apart);
}

/* "named in the file: band1 Blue, band4 NIR", on as many lines as it takes. */
static void put_band_names(const struct text *s, const struct ih_histogram *h)
{
    const char *before = "named in the file: ";
    unsigned column = INDENT + (unsigned)strlen(before);
    for (unsigned i = 0; i < h->layout.n_channels; i++) {
        char name[4 * IH_BAND_NAME_BYTES];
        const char *const plane = ih_histogram_plane(h, i);
        if (ih_escape(name, sizeof name, ih_histogram_band_name(h, i)) == 0)
            continue;
        const unsigned width = (unsigned)strlen(plane) + 1 + ih_text_width(name);
        const bool wraps = *before == ',' && column + 3 + width > s->width;
        fprintf(s->to.stream, "%*s%s%s%s %s", *before == ',' ? 0 : INDENT, "", wraps ? "," : before,
                wraps ? "\n    " : "", plane, name);
        column = wraps ? 4 + width : column + 2 + width;
        before = ", ";
    }
    if (*before == ',')
        putc('\n', s->to.stream);
}

static void put_clipping(const struct text *s, const struct ih_result *r)
{
    const struct ih_histogram *const h = &r->histogram;
    putc('\n', s->to.stream);
    if (!ih_result_is_within(r, ih_histogram_shown(h)))
        fprintf(s->to.stream, "%*sthe histogram shows the middle 99.8 %% of the values\n", INDENT,
                "");
    put_band_names(s, h);
    put_apart(s, h);
    if (!has_clip_counts(h))
        return;
    fprintf(s->to.stream, "%*s", INDENT, "");
    put_clipped(s, h, true);
    fputs(has_wide_layout(s) ? "; " : "\n  ", s->to.stream);
    put_clipped(s, h, false);
    putc('\n', s->to.stream);
    if (s->to.options.colour &&
        (is_marked(h->any_high, h->n_pixels) || is_marked(h->any_low, h->n_pixels)))
        fprintf(s->to.stream, "%*s(in colour: from %d %% of the pixels)\n", INDENT, "",
                IH_MARKED_PERCENT);
}

/* The columns that the user chose, of a plane. */
static void put_chosen_of(const struct text *s, struct ih_record_view *view, unsigned plane)
{
    const char *before = ": ";
    for (const struct ih_column *const *c = s->to.options.columns->chosen; *c; c++) {
        const struct ih_field_value value = ih_channel_value(view, plane, *c);
        if (value.type == IH_TYPE_NONE)
            return;
        char number[IH_REAL_MAX];
        ih_put_number(number, &value);
        if (*before == ':')
            fprintf(s->to.stream, "%*s%s", INDENT, "",
                    ih_histogram_plane(&view->result->histogram, plane));
        fprintf(s->to.stream, "%s%s %s", before, (*c)->name, number);
        before = ", ";
    }
    if (*before == ',')
        putc('\n', s->to.stream);
}

/* The same of luma, or else of each channel. */
static void put_chosen(const struct text *s, struct ih_record_view *view)
{
    const struct ih_histogram *const h = &view->result->histogram;
    for (unsigned i = ih_has_luma(h) ? h->n_planes - 1 : 0; i < h->n_planes; i++)
        put_chosen_of(s, view, ih_nth_plane(h, i));
}

/* The luminance takes the values for those of sRGB, which the file may contradict. */
static void put_luminance(const struct text *s, const struct ih_result *r)
{
    const char *const doubt =
        r->info.not_applied & IH_NOT_SRGB     ? "(taken as sRGB, but the file states other colours)"
        : r->info.not_applied & IH_MAYBE_SRGB ? "(taken as sRGB; the ICC profile is not read)"
                                              : NULL;
    if (r->has_distance)
        fprintf(s->to.stream, "%*sto the reference: ks %.4f, emd %.2f\n", INDENT, "", r->against.ks,
                r->against.emd);
    if (!has_clip_counts(&r->histogram))
        return;
    fprintf(s->to.stream, "%*smean luminance %.4f", INDENT, "", ih_mean_luminance(&r->histogram));
    if (doubt)
        fprintf(s->to.stream, "%s%s", has_wide_layout(s) ? " " : "\n  ", doubt);
    putc('\n', s->to.stream);
}

static void show_full(struct text *s, const struct ih_result *r)
{
    struct ih_record_view view;
    ih_record_view_init(&view, r);
    s->has_native = has_wide_values(&r->histogram);
    s->has_floats = ih_is_float(r->histogram.type);
    put_title(s, r);
    put_selection(s, r);
    if (r->histogram.n_pixels == 0) {
        fprintf(s->to.stream, "%*sno pixels\n", INDENT, "");
        return;
    }
    put_plot(s, &r->histogram);
    put_table(s, &view);
    put_clipping(s, r);
    put_chosen(s, &view);
    put_luminance(s, r);
    if (s->to.options.verbose && r->decoder_version && r->counted_by && r->kernel)
        fprintf(s->to.stream, "%*sdecoded by %s\n%*scounted by %s, kernel %s\n", INDENT, "",
                r->decoder_version, INDENT, "", r->counted_by, r->kernel);
}

/* ---- lines view ---- */

/* The wide layout has the size of the image, and a longer curve. */
enum {
    NAME_LEAST = 16, /* columns */
    CURVE_COLUMNS = 8,
    LONG_CURVE_COLUMNS = 16,
    SIZE_TEXT_MAX = 48,
    SIZE_COLUMNS = 13,
    MEAN_COLUMNS = 7,
    CLIPPING_COLUMNS = 17,
    DISTANCE_COLUMNS = 18,
    CHOSEN_COLUMNS = 10
};

static unsigned curve_columns(const struct text *s)
{
    return has_wide_layout(s) ? LONG_CURVE_COLUMNS : CURVE_COLUMNS;
}

static unsigned chosen_columns(const struct ih_column *chosen)
{
    const unsigned n = (unsigned)strlen(chosen->name) + 2;
    return n > CHOSEN_COLUMNS ? n : CHOSEN_COLUMNS;
}

/* Returns the columns before the name. */
static unsigned columns_taken(const struct text *s)
{
    unsigned n = curve_columns(s) + (has_wide_layout(s) ? SIZE_COLUMNS : 0) + MEAN_COLUMNS +
                 CLIPPING_COLUMNS + (s->to.options.has_distances ? DISTANCE_COLUMNS : 0) + 2;
    for (const struct ih_column *const *c = s->to.options.columns->chosen; *c; c++)
        n += chosen_columns(*c);
    return n;
}

/* Writes a name so that the line fits the terminal. of: what follows it */
static void put_name(const struct text *s, const char *name, const char *of)
{
    char shown[IH_ESCAPED_MAX + 16];
    const unsigned taken = columns_taken(s);
    const unsigned left = s->width > taken + NAME_LEAST ? s->width - taken : NAME_LEAST;
    strcpy(shown + ih_escape(shown, IH_ESCAPED_MAX, name), of);
    ih_text_put_short(s->to.stream, shown, s->to.options.width ? left : 0, s->to.options.unicode);
}

/* Whether a line shows neither luma nor gray. */
static bool shows_channel(const struct ih_histogram *h)
{
    return !ih_has_luma(h) && h->layout.n_colours != 1;
}

static void put_line_heading(const struct text *s, const struct ih_result *first)
{
    fputs(style(s, BOLD), s->to.stream);
    if (has_wide_layout(s))
        fprintf(s->to.stream, "%11s  ", "pixels");
    fprintf(s->to.stream, "%-*s", (int)curve_columns(s),
            shows_channel(&first->histogram) ? "channel" : "luma");
    fputs("   mean  crushed   blown", s->to.stream);
    if (s->to.options.has_distances)
        fprintf(s->to.stream, "%8s%10s", "ks", "emd");
    for (const struct ih_column *const *c = s->to.options.columns->chosen; *c; c++)
        fprintf(s->to.stream, "%*s", (int)chosen_columns(*c), (*c)->name);
    fputs("  ", s->to.stream);
    put_name(s, s->to.options.folder && *s->to.options.folder ? s->to.options.folder : "name", "");
    fprintf(s->to.stream, "%s\n", style(s, PLAIN));
}

static void put_size(const struct text *s, const struct ih_result *r)
{
    char size[SIZE_TEXT_MAX];
    if (r->is_total)
        snprintf(size, sizeof size, "%" PRIu64 " image%s", r->n_images,
                 r->n_images == 1 ? "" : "s");
    else if (r->has_label)
        snprintf(size, sizeof size, "%" PRIu64, r->histogram.n_pixels);
    else
        snprintf(size, sizeof size, "%" PRIu64 "x%" PRIu64, r->info.width, r->info.height);
    fprintf(s->to.stream, "%11s  ", size);
}

static void put_numbers(const struct text *s, const struct ih_result *r)
{
    const struct ih_histogram *h = &r->histogram;
    struct ih_record_view view;
    ih_record_view_init(&view, r);
    const struct column mean = {"mean", MEAN_COLUMNS - 2, 1, false};
    put_statistic(s, &mean, &view, text_plane(h));
    if (has_clip_counts(h)) {
        put_share(s, 8, h->any_low, h->n_pixels, false, "%");
        put_share(s, 7, h->any_high, h->n_pixels, true, "%");
    } else {
        fprintf(s->to.stream, "%*s", CLIPPING_COLUMNS, "");
    }
    if (s->to.options.has_distances)
        fprintf(s->to.stream, "%8.4f%10.2f", r->against.ks, r->against.emd);
    for (const struct ih_column *const *c = s->to.options.columns->chosen; *c; c++) {
        const struct ih_field_value value = ih_channel_value(&view, text_plane(h), *c);
        put_number(s, (int)chosen_columns(*c) - 2, (*c)->field.kind == IH_FIELD_SIDE ? 4 : 0,
                   &value);
    }
    fputs("  ", s->to.stream);
}

static void show_line(const struct text *s, const struct ih_result *r)
{
    const char *folder = s->to.options.folder ? s->to.options.folder : "";
    const size_t n_folder = strlen(folder);
    const bool is_within = !r->is_total && strncmp(r->path, folder, n_folder) == 0;
    char of[16] = "";
    fputs(r->is_total ? style(s, BOLD) : "", s->to.stream);
    if (has_wide_layout(s))
        put_size(s, r);
    if (r->histogram.n_pixels > 0) {
        ih_plot_put_line(s->to.stream, &r->histogram, text_plane(&r->histogram), curve_columns(s),
                         s->to.options.unicode);
        put_numbers(s, r);
        if (shows_channel(&r->histogram) && r->histogram.layout.n_channels > 1)
            snprintf(of, sizeof of, " (%.8s)",
                     ih_histogram_plane(&r->histogram, text_plane(&r->histogram)));
    } else {
        const unsigned taken = columns_taken(s) - (has_wide_layout(s) ? SIZE_COLUMNS : 0);
        fprintf(s->to.stream, "%-*s", (int)taken, "no pixels");
    }
    put_name(s, is_within ? r->path + n_folder : r->path, of);
    fprintf(s->to.stream, "%s\n", r->is_total ? style(s, PLAIN) : "");
}

static void count_line(struct text_state *s, const struct ih_result *r)
{
    const struct ih_histogram *h = &r->histogram;
    s->n_failed += r->status != IH_OK;
    if (r->status != IH_OK || r->is_total)
        return;
    s->n_images++;
    s->has_zones |= r->has_label;
    s->has_limits |= has_clip_counts(h);
    s->n_blown += is_marked(h->any_high, h->n_pixels);
    s->n_crushed += is_marked(h->any_low, h->n_pixels);
}

/* "45 images, 14 blown, 6 crushed (from 1 % of the pixels), 1 failed" */
static void put_last_line(const struct text_state *s)
{
    FILE *f = s->text.to.stream;
    if (s->n_images == 0 || s->n_images + s->n_failed < 2)
        return;
    fprintf(f, "%" PRIu64 " %s%s", s->n_images, s->has_zones ? "zone" : "image",
            s->n_images == 1 ? "" : "s");
    if (s->has_limits)
        fprintf(f, ", %" PRIu64 " blown, %" PRIu64 " crushed", s->n_blown, s->n_crushed);
    if (s->has_limits && has_wide_layout(&s->text))
        fprintf(f, " (from %d %% of the pixels)", IH_MARKED_PERCENT);
    if (s->n_failed > 0)
        fprintf(f, ", %" PRIu64 " failed", s->n_failed);
    putc('\n', f);
}

/* ---- a comparison ---- */

/*
 *     A  before.png  1 image, 0.2 megapixels
 *     B  after.png  1 image, 0.2 megapixels
 *
 *                ks     emd       mean  stddev  p01  p05  p25  median  p75  p95  p99
 *     red    0.0712    3.21  A  101.52   58.34    0   14   61     101  150  208  240
 *                            B  103.11   57.20    0   15   63     103  152  209  241
 *
 *     largest: ks 0.071200, emd 3.214500
 */
static const struct column comparison_columns[] = {
    {"mean", 6, 2, false}, {"stddev", 6, 2, false}, {"p01", 3, 0, true}, {"p05", 3, 0, true},
    {"p25", 3, 0, true},   {"median", 6, 0, false}, {"p75", 3, 0, true}, {"p95", 3, 0, true},
    {"p99", 3, 0, true},   {NULL, 0, 0, false}};

static void put_side(const struct text *s, struct ih_record_view *side, unsigned plane, char letter)
{
    const bool has_values = ih_view_stats(side, plane)->count > 0;
    fprintf(s->to.stream, "  %c", letter);
    if (has_values)
        text_put_statistics(s, comparison_columns, side, plane);
    fputs(has_values ? "\n" : "  none\n", s->to.stream);
}

static void put_sides(const struct text *s, const struct ih_comparison *c)
{
    for (unsigned i = 0; i < 2; i++) {
        char name[IH_ESCAPED_MAX], facts[FACTS_MAX] = "";
        ih_escape(name, sizeof name, c->sides[i].path);
        describe_total(facts, &c->sides[i]);
        fprintf(s->to.stream, "%c  %s%s%s  %s\n", "AB"[i], style(s, BOLD), name, style(s, PLAIN),
                facts);
        put_apart(s, &c->sides[i].histogram);
    }
}

static void text_compare(const void *state, const struct ih_comparison *c)
{
    const struct text_state *const as = state;
    struct text s = as->text;
    FILE *const f = s.to.stream;
    const struct ih_histogram *const h = &c->sides[0].histogram;
    s.has_native = has_wide_values(h);
    s.has_floats = ih_is_float(h->type);
    const int emd_width = s.has_native ? 8 : 6;
    char ks[IH_REAL_MAX], emd[IH_REAL_MAX];
    struct ih_record_view sides[2];
    for (unsigned i = 0; i < 2; i++)
        ih_record_view_init(&sides[i], &c->sides[i]);
    put_sides(&s, c);
    fprintf(f, "\n%*s           ks  %*s   ", INDENT, "", emd_width, "emd");
    put_headings(&s, comparison_columns);
    putc('\n', f);
    for (unsigned i = 0; i < h->n_planes; i++) {
        const unsigned p = ih_nth_plane(h, i);
        const char *name = ih_histogram_plane(h, p);
        if (p == IH_LUMA && h->layout.n_colours == 1)
            continue; /* luma equals gray */
        fprintf(f, "%*s%s%-5s%s", INDENT, "", plane_style(&s, name), name, style(&s, PLAIN));
        if (isnan(c->planes[p].emd))
            fprintf(f, "  %6s  %*s", "", emd_width, "");
        else
            fprintf(f, s.has_floats ? "  %6.4f  %*.4g" : "  %6.4f  %*.2f", c->planes[p].ks,
                    emd_width, c->planes[p].emd);
        put_side(&s, &sides[0], p, 'A');
        fprintf(f, "%*s", INDENT + 5 + 2 * INDENT + 6 + emd_width, "");
        put_side(&s, &sides[1], p, 'B');
    }
    ih_put_real(ks, c->largest.ks);
    ih_put_real(emd, c->largest.emd);
    fprintf(f, *ks ? "\n%*slargest: ks %s, emd %s\n" : "\n%*slargest: none\n", INDENT, "", ks, emd);
}

/* ---- the output ---- */

static void text_begin(void *state)
{
    struct text_state *s = state;
    const struct ih_output_options *const o = &s->text.to.options;
    s->text.width = o->width ? o->width : WIDE;
    s->is_lines = o->layout && strcmp(o->layout, "lines") == 0;
}

static void text_render(const void *state, const struct ih_result *result, FILE *bytes)
{
    const struct text_state *s = state;
    struct text text = s->text;
    text.to.stream = bytes;
    if (result->status != IH_OK)
        return; /* standard error has the message */
    if (s->is_lines)
        show_line(&text, result);
    else
        show_full(&text, result);
}

static void text_put(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    struct text_state *s = state;
    count_line(s, result);
    if (result->status != IH_OK)
        return;
    if (s->is_lines && !s->has_records)
        put_line_heading(&s->text, result);
    else if (!s->is_lines && s->has_records)
        putc('\n', s->text.to.stream);
    fwrite(bytes, 1, n, s->text.to.stream);
    s->has_records = true;
}

static void text_end(void *state)
{
    const struct text_state *s = state;
    if (s->is_lines)
        put_last_line(s);
}

const struct ih_output ih_output_text = {
    .name = "text",
    .title = "a summary for people (the default); views full, lines",
    .state_bytes = sizeof(struct text_state),
    .begin = text_begin,
    .render = text_render,
    .put = text_put,
    .end = text_end,
    .compare = text_compare,
};
