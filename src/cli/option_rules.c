/*
 * Which options go together. An option that could do nothing in a call is refused by name, so that
 * no run ignores what was asked for.
 *
 * Four tables say it: pairs that exclude each other, options that need another one, what each
 * output shows, and options that are about decoding an image. tests/cli/option_pairs.py tries all
 * pairs.
 */
#include "cli/destinations.h"

#include <string.h>

/* ---- pairs ---- */

static const char is_for_records[] = "its file holds the records of all inputs";
static const char needs_whole_run[] = "a distance needs the whole run: write records, and add "
                                      "--against where they are read";
static const char is_not_raw[] = "raw samples have no format that is decoded";
static const char is_8_bit[] = "it is for samples of 9 to 16 bits; add --raw-depth=16le";
static const char has_no_alpha[] = "these samples have no alpha";
static const char is_whole_image[] = "whole images are counted where a GPU decodes";
static const char has_no_thumbnail[] = "a total or a comparison has no thumbnail";
static const char is_for_zones[] = "the CPU counts the labels, in one way";
static const char compares_paths[] = "it compares the two paths of the command line";

/* A value NULL is any. unless: with this option the pair has a meaning. */
static const struct {
    const char *option, *value, *other, *other_value, *unless, *why;
} pairs[] = {
    {"files0-from", NULL, "files-from", NULL, NULL, "a run reads one list of files"},
    {"resume", NULL, "total-only", NULL, NULL, is_for_records},
    {"resume", NULL, "where", NULL, NULL, is_for_records},
    {"resume", NULL, "sort", NULL, NULL, "a run that is resumed goes on at the end of its file"},
    {"shard", NULL, "sort", NULL, NULL,
     "parts have the order of the run; sort where they are merged"},
    {"sort", NULL, "html", NULL, NULL, "the page sorts its table by itself"},
    {"sort", NULL, "chart", NULL, NULL, "charts have the order of the inputs"},
    {"sort", NULL, "total-only", NULL, NULL, "the total is one record"},
    {"sort", NULL, "by", NULL, NULL, "groups have the order of their names"},
    {"sort", NULL, "diff", NULL, NULL, "a comparison is one record"},
    {"copies", NULL, "sort", NULL, NULL, "groups have the order of their first images"},
    {"copies", NULL, "html", NULL, NULL, "the page marks copies by itself"},
    {"copies", NULL, "chart", NULL, NULL, "charts have the order of the inputs"},
    {"copies", NULL, "total", NULL, NULL, "the total is of all images"},
    {"copies", NULL, "total-only", NULL, NULL, "the total is one record"},
    {"copies", NULL, "by", NULL, NULL, "groups of --by are totals"},
    {"copies", NULL, "diff", NULL, NULL, "a comparison is one record"},
    {"copies", NULL, "check", NULL, NULL, "it writes each bad file"},
    {"copies", NULL, "resume", NULL, NULL, is_for_records},
    {"copies", NULL, "shard", NULL, NULL,
     "copies may lie in several parts; find them where the parts are merged"},
    {"resume", NULL, "fields", NULL, NULL, is_for_records},
    {"percentiles", NULL, "fields", NULL, NULL, "name them there, as p99.9"},
    {"share", NULL, "fields", NULL, NULL, "name it there, as share_le_100"},
    {"shard", NULL, "fields", NULL, NULL,
     "parts are merged from whole records; choose fields there"},
    {"frames", NULL, "raw", NULL, "size", "without --size, raw samples are one image"},
    {"raw-preview", NULL, "raw", NULL, NULL, is_not_raw},
    {"raw-sensor", NULL, "raw", NULL, NULL, is_not_raw},
    {"raw-sensor", NULL, "raw-preview", NULL, NULL, "a camera raw file is counted in one way"},
    {"axes", NULL, "raw", NULL, NULL, is_not_raw},
    {"lenient", NULL, "raw", NULL, NULL, is_not_raw},
    {"isolate", NULL, "raw", NULL, NULL, is_not_raw},
    {"depth", NULL, "raw", NULL, "raw-depth", is_8_bit},
    {"range", NULL, "raw", NULL, "raw-depth", is_8_bit},
    {"bins", "native", "raw", NULL, "raw-depth", is_8_bit},
    {"depth", NULL, "raw-depth", "8", NULL, is_8_bit},
    {"range", NULL, "raw-depth", "8", NULL, is_8_bit},
    {"bins", "native", "raw-depth", "8", NULL, is_8_bit},
    {"alpha", NULL, "raw", "1", NULL, has_no_alpha},
    {"alpha", NULL, "raw", "3", NULL, has_no_alpha},
    {"labels", NULL, "mask", NULL, NULL, "a label image selects pixels already"},
    {"labels", NULL, "region", NULL, NULL, "zones are of whole images"},
    {"labels", NULL, "frames", NULL, NULL, "a label image is for one image"},
    {"labels", NULL, "thumbnails", NULL, NULL, "zones have no thumbnails"},
    {"labels", NULL, "kernel", NULL, NULL, is_for_zones},
    {"labels", NULL, "device", "cuda", NULL, is_for_zones},
    {"labels", NULL, "raw", NULL, NULL, "raw samples have no width and height"},
    {"region", NULL, "raw", NULL, NULL, "raw samples have no width and height"},
    {"mask", NULL, "raw", NULL, NULL, "raw samples have no width and height"},
    {"records", NULL, "raw", NULL, NULL, "raw samples are no records"},
    {"records", NULL, "resume", NULL, NULL, "a result file is no input of a run that is resumed"},
    {"range", NULL, "depth", NULL, NULL, "both say which samples become 0 to 255"},

    {"total", NULL, "total-only", NULL, NULL,
     "one keeps the other records, and one leaves them out"},
    {"by", NULL, "total-only", NULL, NULL,
     "groups are other records than the total; --total adds it"},
    {"by", NULL, "diff", NULL, NULL,
     "a comparison has no groups; compare the totals of two folders"},
    {"by", NULL, "shard", NULL, NULL,
     "the images of a group may lie in several parts: write their records, and "
     "group where the parts are merged"},
    {"by", NULL, "resume", NULL, NULL,
     "its file holds the records of all inputs; group that file afterwards"},
    {"against", NULL, "by", "band", NULL, "a reference has all bands"},
    {"against", NULL, "diff", NULL, NULL, "it compares two inputs already"},
    {"against", NULL, "shard", NULL, NULL, needs_whole_run},
    {"against", NULL, "resume", NULL, NULL, needs_whole_run},
    {"diff", NULL, "total", NULL, NULL, "it compares two totals"},
    {"diff", NULL, "total-only", NULL, NULL, "it compares two totals"},
    {"diff", NULL, "files-from", NULL, NULL, compares_paths},
    {"diff", NULL, "files0-from", NULL, NULL, compares_paths},
    {"diff", NULL, "shard", NULL, NULL, "it compares whole inputs; merge the parts first"},
    {"check", NULL, "where", NULL, NULL, "it prints each bad file"},
    {"check", NULL, "total-only", NULL, NULL, "it writes each image"},
    {"check", NULL, "by", NULL, NULL, "it writes each image"},
    {"print", NULL, "total-only", NULL, NULL, "it writes each image"},
    {"print", NULL, "by", NULL, NULL, "it writes each image"},
    {"print0", NULL, "total-only", NULL, NULL, "it writes each image"},
    {"print0", NULL, "by", NULL, NULL, "it writes each image"},
    {"html", NULL, "total-only", NULL, NULL, "it writes each image"},

    {"sheet", NULL, "diff", NULL, NULL, "it shows each image"},
    {"sheet", NULL, "total-only", NULL, NULL, "it shows each image"},
    {"sheet", NULL, "scale-y", NULL, NULL, "it always shows shares of the pixels"},
    {"thumbnails", NULL, "total-only", NULL, NULL, has_no_thumbnail},
    {"thumbnails", NULL, "by", NULL, NULL, has_no_thumbnail},
    {"thumbnails", NULL, "diff", NULL, NULL, has_no_thumbnail},
    {"quiet", NULL, "verbose", NULL, NULL, "one asks for less, and one for more"},

    {"jpeg", NULL, "raw", NULL, NULL, "raw samples are not JPEG"},
    {"jpeg", "gpu", "thumbnails", NULL, NULL, "they are made where the CPU decodes"},
    {"jpeg", "gpu", "frames", NULL, NULL, "a GPU takes one image a file"},
    {"jpeg", "gpu", "isolate", NULL, NULL, "decoder processes have no GPU"},
    {"jpeg", "gpu", "device", "cpu", NULL, "the GPU decodes"},
    {"jpeg", "gpu", "kernel", NULL, NULL, "what a GPU decodes is counted by a kernel of its own"},
    {"jpeg", "gpu", "region", NULL, NULL, is_whole_image},
    {"jpeg", "gpu", "mask", NULL, NULL, is_whole_image},
    {"jpeg", "gpu", "bands", NULL, NULL, "a GPU counts all channels of JPEG files"},
    {"jpeg", "gpu", "labels", NULL, NULL, is_whole_image},
    {"jpeg", "gpu", "nodata", NULL, NULL, "a GPU counts all samples of JPEG files"},
};

/* ---- needs ---- */

static const char is_for_charts[] = "is for charts, and none is drawn: add --chart=PATH";

/* either: another option that does too; NULL: none */
static const struct {
    const char *option, *needed, *either, *why;
} needs[] = {
    {"raw-depth", "raw", NULL, "only for --raw: other files tell their depth"},
    {"ignore-label", "labels", NULL, "is for --labels, and there is none"},
    {"top", "sort", NULL, "needs --sort=NAME, which says what comes first"},
    {"size", "raw", NULL, "only for --raw: other files tell their size"},
    {"thumbnails", "html", "chart",
     "they are in the page of --html=FILE and on charts of --chart=PATH, and neither is made"},
    {"title", "chart", "html",
     "is for a chart of --chart=PATH or a page of --html=FILE, and neither is made"},
    {"sheet", "chart", NULL, is_for_charts},
    {"chart-size", "chart", NULL, is_for_charts},
    {"chart-format", "chart", NULL, is_for_charts},
    {"theme", "chart", NULL, is_for_charts},
    {"scale", "chart", NULL, is_for_charts},
    {"scale-y", "chart", NULL, is_for_charts},
};

/* ---- what outputs show ---- */

enum {
    SHOWS_COUNTS = 1, /* values that follow from the bins */
    SHOWS_CLIPPED = 2,
    SHOWS_CHOSEN = 4, /* percentiles and shares of choice */
    SHOWS_DISTANCES = 8,
    SHOWS_TOTAL = 16,
    SHOWS_GROUPS = 32,
    SHOWS_COLOURS = 64,
    SHOWS_FIELDS = 128,
    SHOWS_ORDER = 256,
    SHOWS_CLIPPED_REST = 512, /* if a field says so */
    SHOWS_DATA =
        SHOWS_COUNTS | SHOWS_CLIPPED | SHOWS_CHOSEN | SHOWS_TOTAL | SHOWS_GROUPS | SHOWS_ORDER
};

/* layout NULL: any other. The first row that fits applies. */
struct view {
    const char *output, *layout;
    unsigned shows;
};

static const struct view views[] = {
    {"text", NULL, SHOWS_DATA | SHOWS_DISTANCES | SHOWS_COLOURS},
    {"csv", "images", SHOWS_DATA | SHOWS_DISTANCES | SHOWS_FIELDS},
    {"csv", "stats", SHOWS_DATA | SHOWS_FIELDS},
    {"csv", "bins", SHOWS_ORDER | SHOWS_COUNTS | SHOWS_TOTAL | SHOWS_GROUPS},
    {"csv", "long", SHOWS_ORDER | SHOWS_COUNTS | SHOWS_TOTAL | SHOWS_GROUPS},
    {"csv", NULL, SHOWS_DATA},
    {"json", NULL, SHOWS_DATA | SHOWS_DISTANCES},
    {"ndjson", NULL, SHOWS_DATA | SHOWS_DISTANCES | SHOWS_FIELDS},
    {"html", NULL, SHOWS_DATA | SHOWS_DISTANCES},
    {"print", NULL, SHOWS_ORDER},
    {"print0", NULL, SHOWS_ORDER},
    {"check", NULL, 0},
    {NULL, NULL, 0},
};

static const struct view comparisons[] = {
    {"text", NULL, SHOWS_COUNTS | SHOWS_COLOURS},
    {"csv", NULL, SHOWS_COUNTS | SHOWS_CLIPPED | SHOWS_CHOSEN},
    {"json", NULL, SHOWS_COUNTS | SHOWS_CLIPPED | SHOWS_CHOSEN},
    {NULL, NULL, 0},
};

/* value NULL: any */
static const struct {
    const char *option;
    unsigned needs;
    const char *what, *value;
} shown[] = {
    {"luma", SHOWS_COUNTS, "counts", NULL},
    {"alpha", SHOWS_COUNTS, "counts", NULL},
    {"bins", SHOWS_COUNTS, "counts", NULL},
    {"bands", SHOWS_COUNTS, "counts", NULL},
    {"nodata", SHOWS_COUNTS, "counts", NULL},
    {"depth", SHOWS_COUNTS, "counts", NULL},
    {"range", SHOWS_COUNTS, "counts", NULL},
    {"clip", SHOWS_CLIPPED, "clipped pixels", NULL},
    {"against", SHOWS_DISTANCES, "distances", NULL},
    {"percentiles", SHOWS_CHOSEN, "percentiles", NULL},
    {"share", SHOWS_CHOSEN, "shares", NULL},
    {"sigma-clip", SHOWS_CLIPPED_REST, "clipped_mean, clipped_median or clipped_stddev", NULL},
    {"sort", SHOWS_ORDER, "an order", NULL},
    {"fields", SHOWS_FIELDS, "chosen fields", NULL},
    {"total", SHOWS_TOTAL, "a total", NULL},
    {"by", SHOWS_GROUPS, "groups", NULL},
    {"color", SHOWS_COLOURS, "colours", "always"},
};

/* ---- inputs ---- */

/* Options about decoding, which result files do not need. Those about the machine, as --device,
 * stay allowed: a wrapper may always pass them. */
static const char *const of_images[] = {
    "axes",    "frames",     "raw-preview",  "raw-sensor", "max-pixels", "lenient", "bands",
    "isolate", "thumbnails", "list-skipped", "timeout",    "kernel",     "jpeg",    "labels"};

/* ---- the rules ---- */

#define N_ROWS(table) (sizeof(table) / sizeof *(table))

/* Whether an option is given, or the output of its name is made by that of -o. */
static bool is_made(const struct ih_options *o, const char *name)
{
    bool is = name && ih_option_is_given(o, name);
    for (size_t i = 0; name && i < o->n_outputs; i++)
        is = is || strcmp(o->outputs[i].output->name, name) == 0;
    return is;
}

/* value NULL: any */
static bool is_made_as(const struct ih_options *o, const char *name, const char *value)
{
    const char *const given = ih_option_value(o, name);
    return is_made(o, name) && (!value || (given && strcmp(given, value) == 0));
}

static enum ih_status refuse_pair(struct ih_options *o, size_t i, struct ih_error *err)
{
    const char *const value = pairs[i].value, *const other_value = pairs[i].other_value;
    o->needs_rare =
        ih_option_find(pairs[i].option)->is_rare || ih_option_find(pairs[i].other)->is_rare;
    return ih_error_set(err, IH_USAGE, "--%s%s%s: cannot be used with --%s%s%s: %s",
                        pairs[i].option, value ? "=" : "", value ? value : "", pairs[i].other,
                        other_value ? "=" : "", other_value ? other_value : "", pairs[i].why);
}

static enum ih_status check_pairs(struct ih_options *o, struct ih_error *err)
{
    for (size_t i = 0; i < N_ROWS(pairs); i++)
        if (is_made_as(o, pairs[i].option, pairs[i].value) &&
            is_made_as(o, pairs[i].other, pairs[i].other_value) &&
            !(pairs[i].unless && ih_option_is_given(o, pairs[i].unless)))
            return refuse_pair(o, i, err);
    return IH_OK;
}

static enum ih_status check_needs(struct ih_options *o, struct ih_error *err)
{
    for (size_t i = 0; i < N_ROWS(needs); i++) {
        if (!ih_option_is_given(o, needs[i].option) || is_made(o, needs[i].needed) ||
            is_made(o, needs[i].either))
            continue;
        o->needs_rare = ih_option_find(needs[i].option)->is_rare;
        return ih_error_set(err, IH_USAGE, "--%s: %s", needs[i].option, needs[i].why);
    }
    return IH_OK;
}

/* What an output does not show because no chosen field has it. */
static unsigned left_out_by_fields(const struct ih_field_list *list)
{
    unsigned left_out = list ? SHOWS_CLIPPED | SHOWS_DISTANCES : 0;
    for (unsigned i = 0; list && i < list->n; i++) {
        const struct ih_named_field *const field = &list->fields[i];
        if (field->column.in & IH_AGAINST)
            left_out &= ~(unsigned)SHOWS_DISTANCES;
        if (strstr(field->name, "blown") || strstr(field->name, "crushed"))
            left_out &= ~(unsigned)SHOWS_CLIPPED;
    }
    return left_out;
}

static unsigned shown_by(const struct ih_options *o, const struct ih_data_output *data)
{
    const struct view *v = o->compares ? comparisons : views;
    while (v->output && (strcmp(v->output, data->output->name) != 0 ||
                         (v->layout && (!data->layout || strcmp(v->layout, data->layout) != 0))))
        v++;
    return v->shows & ~left_out_by_fields(ih_options_fields_of(o, data));
}

/* A single chart is of an image or the total; a sheet has no total. */
static unsigned shown_by_chart(const struct ih_options *o)
{
    return SHOWS_COUNTS | SHOWS_CLIPPED |
           (o->chart.is_sheet ? SHOWS_GROUPS
            : o->chart.format ? SHOWS_TOTAL
                              : SHOWS_TOTAL | SHOWS_GROUPS);
}

/* Appends "--csv=bins" or ", --csv=bins". */
static void name_output(char *names, size_t size, const char *output, const char *layout)
{
    const size_t n = strlen(names);
    snprintf(names + n, size - n, "%s--%s%s%s", n ? ", " : "", output, layout ? "=" : "",
             layout ? layout : "");
}

/* Conditions and an order show counts, and distances if they name them. */
static enum ih_status check_shown(struct ih_options *o, struct ih_error *err)
{
    char names[256] = "";
    unsigned all = 0;
    for (size_t i = 0; i < o->n_outputs; i++) {
        all |= shown_by(o, &o->outputs[i]);
        name_output(names, sizeof names, o->outputs[i].output->name, o->outputs[i].layout);
    }
    if (o->chart_path) {
        all |= shown_by_chart(o);
        name_output(names, sizeof names, o->chart.is_sheet ? "sheet" : "chart", NULL);
    }
    all |= o->where || o->fail_if || o->is_sorted ? SHOWS_COUNTS : 0;
    all |= o->where || o->fail_if || (o->is_sorted && !o->finds_copies) ? SHOWS_CLIPPED : 0;
    all |= o->uses & IH_AGAINST ? SHOWS_DISTANCES : 0;
    all |= o->uses & IH_BY_SIGMA ? SHOWS_CLIPPED_REST : 0;
    for (size_t i = 0; i < N_ROWS(shown); i++) {
        const char *const value = ih_option_value(o, shown[i].option);
        if (!ih_option_is_given(o, shown[i].option) || shown[i].needs & all ||
            (shown[i].value && value && strcmp(value, shown[i].value) != 0))
            continue;
        o->needs_rare = ih_option_find(shown[i].option)->is_rare;
        return ih_error_set(err, IH_USAGE, "--%s: cannot be used with %s%s: no output shows %s",
                            shown[i].option, o->compares ? "--diff and " : "", names,
                            shown[i].what);
    }
    return IH_OK;
}

/* Options that change or limit unsigned samples. */
static enum ih_status check_sample_type(struct ih_options *o, struct ih_error *err)
{
    static const struct {
        const char *option, *value, *why;
    } of_unsigned[] = {{"depth", NULL, "it is for unsigned samples"},
                       {"range", NULL, "it is for unsigned samples"},
                       {"clip", NULL, "it is for unsigned samples"},
                       {"bins", "256", "signed and float samples keep their values"}};
    for (size_t i = 0; i < N_ROWS(of_unsigned) && o->raw_depth >= IH_RAW_8S; i++)
        if (is_made_as(o, of_unsigned[i].option, of_unsigned[i].value)) {
            o->needs_rare = true;
            return ih_error_set(err, IH_USAGE, "--%s%s%s: cannot be used with --raw-depth=%s: %s",
                                of_unsigned[i].option, of_unsigned[i].value ? "=" : "",
                                of_unsigned[i].value ? of_unsigned[i].value : "",
                                ih_option_value(o, "raw-depth"), of_unsigned[i].why);
        }
    return IH_OK;
}

/* With --shard, the result file has the places of that shard; other inputs would have the same. */
static enum ih_status check_shard(struct ih_options *o, struct ih_error *err)
{
    if (!o->n_shards || !ih_option_is_given(o, "records") || (o->n_paths == 1 && !o->list_path))
        return IH_OK;
    o->needs_rare = true;
    return ih_error_set(err, IH_USAGE,
                        "--records: with --shard, it reads the result file of that shard, and no "
                        "other input");
}

static enum ih_status check_images(struct ih_options *o, struct ih_error *err)
{
    bool has_records = false;
    for (size_t i = 0; i < o->n_paths; i++)
        has_records |= ih_options_is_result_file(o, i);
    if (o->by && strcmp(o->by, "label") == 0 && !o->has_labels && !has_records)
        return ih_error_set(err, IH_USAGE,
                            "--by=label: images have no labels without --labels=FILE|DIR");
    if (o->list_path)
        return IH_OK;
    for (size_t i = 0; i < o->n_paths; i++)
        if (!ih_options_is_result_file(o, i))
            return IH_OK;
    for (size_t i = 0; i < N_ROWS(of_images); i++) {
        if (!ih_option_is_given(o, of_images[i]))
            continue;
        o->needs_rare = ih_option_find(of_images[i])->is_rare;
        return ih_error_set(err, IH_USAGE,
                            "--%s: cannot be used with result files alone: it is about images",
                            of_images[i]);
    }
    return IH_OK;
}

enum ih_status ih_option_rules_check(struct ih_options *o, struct ih_error *err)
{
    if (check_pairs(o, err) != IH_OK || check_sample_type(o, err) != IH_OK ||
        check_needs(o, err) != IH_OK || check_shown(o, err) != IH_OK ||
        check_shard(o, err) != IH_OK)
        return err->status;
    return check_images(o, err);
}
