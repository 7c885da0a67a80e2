/* The options, and the setters of those that need one. */
#include "cli/options.h"
#include "output/file.h"

#include <limits.h>
#include <string.h>

/* ---- output ---- */

static struct ih_data_output *add_output(struct ih_options *o, struct ih_error *err)
{
    if (o->n_outputs < IH_DATA_OUTPUTS_MAX)
        return &o->outputs[o->n_outputs++];
    ih_error_set(err, IH_USAGE, "more than %d outputs", IH_DATA_OUTPUTS_MAX);
    return NULL;
}

/* --csv, --text and the other formats. */
static enum ih_status set_output(const struct ih_setting *s)
{
    struct ih_data_output *data =
        s->options->n_outputs ? &s->options->outputs[s->options->n_outputs - 1] : NULL;
    const bool is_again = data && !data->has_place &&
                          strcmp(data->output->name, s->option->name) == 0 &&
                          strcmp(data->layout ? data->layout : "", s->value ? s->value : "") == 0;
    if (!is_again)
        data = add_output(s->options, s->err);
    for (const struct ih_output *const *out = ih_outputs; data && *out; out++)
        if (strcmp((*out)->name, s->option->name) == 0)
            *data = (struct ih_data_output){.output = *out, .layout = s->value};
    return data ? IH_OK : IH_USAGE;
}

/* -o belongs to the format before it, if that has no file yet. */
static enum ih_status set_output_path(const struct ih_setting *s)
{
    size_t n = s->options->n_outputs;
    while (n > 0 && s->options->outputs[n - 1].has_value_place)
        n--;
    struct ih_data_output *data = n ? &s->options->outputs[n - 1] : NULL;
    if (!data || data->has_place)
        data = add_output(s->options, s->err);
    if (!data)
        return IH_USAGE;
    data->path =
        strcmp(s->value, "-") == 0 || ih_outfile_descriptor(s->value) == 1 ? NULL : s->value;
    data->has_place = true;
    return IH_OK;
}

static enum ih_status set_percentiles(const struct ih_setting *s)
{
    return ih_columns_choose_percentiles(&s->options->columns, s->value, s->err);
}

static enum ih_status set_share(const struct ih_setting *s)
{
    return ih_columns_choose_shares(&s->options->columns, s->value, s->err);
}

static enum ih_status set_sigma(const struct ih_setting *s)
{
    uint32_t millionths;
    if (!ih_percent_parse(s->value, strlen(s->value), &millionths) || millionths == 0)
        return ih_error_set(s->err, IH_USAGE,
                            "'%s' is not a number of deviations above 0, at most 100, as in 2.5",
                            s->value);
    s->options->sigma = (double)millionths / 1e6;
    return IH_OK;
}

static enum ih_status set_fields(const struct ih_setting *s)
{
    s->options->fields = s->value;
    if (strcmp(s->value, "help") == 0)
        s->options->action = IH_ACTION_FIELDS;
    return IH_OK;
}

/* --total and --total-only */
static enum ih_status set_total(const struct ih_setting *s)
{
    s->options->with_total = true;
    s->options->only_total = s->option->number;
    return IH_OK;
}

/* Two totals are made, and only their comparison is written. */
static enum ih_status set_diff(const struct ih_setting *s)
{
    s->options->compares = s->options->with_total = s->options->only_total = true;
    return IH_OK;
}

/* --html=FILE is --html -o FILE. */
static enum ih_status set_html(const struct ih_setting *s)
{
    enum ih_status status = set_output(&(struct ih_setting){s->options, s->option, NULL, s->err});
    if (status == IH_OK && s->value)
        status = set_output_path(s);
    if (status == IH_OK && s->value)
        s->options->outputs[s->options->n_outputs - 1].has_value_place = true;
    return status;
}

/* ---- charts ---- */

static enum ih_status set_chart(const struct ih_setting *s)
{
    const bool is_dash = s->value && strcmp(s->value, "-") == 0;
    s->options->chart_path = is_dash ? "/dev/stdout" : s->value ? s->value : ".";
    s->options->chart_is_stream = ih_outfile_descriptor(s->options->chart_path) >= 0;
    s->options->chart.format =
        ih_chart_format_of(s->options->chart_is_stream ? ".png" : s->options->chart_path);
    return IH_OK;
}

static enum ih_status set_scale_y(const struct ih_setting *s)
{
    s->options->chart.in_percent = strcmp(s->value, "percent") == 0;
    return IH_OK;
}

/* Reads "A", separator, "B". False: it is not this, or a number is larger than max. */
static bool parse_pair(const char *text, char separator, uint64_t max, uint64_t *a, uint64_t *b)
{
    char first[8] = "";
    const char *end = strchr(text, separator);
    size_t n = end ? (size_t)(end - text) : 0;
    if (n == 0 || n >= sizeof first)
        return false;
    memcpy(first, text, n);
    return ih_parse_number(first, false, max, a) && ih_parse_number(end + 1, false, max, b);
}

static enum ih_status set_chart_size(const struct ih_setting *s)
{
    uint64_t width, height;
    if (!parse_pair(s->value, 'x', IH_CHART_MAX, &width, &height) || width < IH_CHART_MIN_WIDTH ||
        height < IH_CHART_MIN_HEIGHT)
        return ih_error_set(s->err, IH_USAGE, "'%s' is not a size from %dx%d to %dx%d", s->value,
                            IH_CHART_MIN_WIDTH, IH_CHART_MIN_HEIGHT, IH_CHART_MAX, IH_CHART_MAX);
    s->options->chart.width = (unsigned)width;
    s->options->chart.height = (unsigned)height;
    return IH_OK;
}

static enum ih_status set_chart_format(const struct ih_setting *s)
{
    s->options->charts_are_svg = strcmp(s->value, "svg") == 0;
    return IH_OK;
}

static enum ih_status set_theme(const struct ih_setting *s)
{
    s->options->chart.theme = ih_chart_theme_find(s->value);
    return IH_OK;
}

static enum ih_status set_scale(const struct ih_setting *s)
{
    s->options->chart.scale = ih_chart_scale_find(s->value);
    return IH_OK;
}

/* ---- numbers ---- */

/* what: "a number of ..."; with is_scaled, one of k, M, G may follow the number. */
static enum ih_status parse_number(const char *text, bool is_scaled, uint64_t max, const char *what,
                                   uint64_t *n, struct ih_error *err)
{
    if (ih_parse_number(text, is_scaled, max, n) && *n > 0)
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "'%s' is not %s", text, what);
}

/* A number from 1 to option->number. */
static enum ih_status set_number(const struct ih_setting *s)
{
    uint64_t n = 0;
    enum ih_status status =
        parse_number(s->value, false, (uint64_t)s->option->number, s->option->expects, &n, s->err);
    *(unsigned *)((char *)s->options + s->option->field) = (unsigned)n;
    return status;
}

/* Copies a number without its unit. False: it is too long. */
static bool cut_unit(char number[IH_COUNT_MAX + 2], const char *text, size_t n_unit)
{
    const size_t n = strlen(text) - n_unit;
    if (n > IH_COUNT_MAX + 1)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    return true;
}

/* 64M, 64MB and 64MiB are the same. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
    static const char *const units[] = {"iB", "B", ""};
    char number[IH_COUNT_MAX + 2];
    size_t i = 0, n = strlen(text);
    while (n <= strlen(units[i]) || strcmp(text + n - strlen(units[i]), units[i]) != 0)
        if (!*units[++i])
            break;
    return cut_unit(number, text, strlen(units[i])) &&
           ih_parse_number(number, true, INT64_MAX, bytes) && (i > 0 || strpbrk(number, "kKMG"));
}

static enum ih_status set_bytes(const struct ih_setting *s)
{
    uint64_t *field = (uint64_t *)((char *)s->options + s->option->field);
    if (parse_bytes(s->value, field) && *field > 0)
        return IH_OK;
    return ih_error_set(s->err, IH_USAGE, "'%s' is not %s", s->value, s->option->expects);
}

/* 120, 120s and 2m are the same, as with timeout(1). */
static enum ih_status set_seconds(const struct ih_setting *s)
{
    static const struct {
        char unit;
        unsigned seconds;
    } units[] = {{'h', 3600}, {'m', 60}, {'s', 1}, {'\0', 1}};
    const size_t n = strlen(s->value);
    char number[IH_COUNT_MAX + 2];
    uint64_t count = 0;
    size_t i = 0;
    while (units[i].unit && (n == 0 || s->value[n - 1] != units[i].unit))
        i++;
    if (!cut_unit(number, s->value, units[i].unit != '\0') ||
        !ih_parse_number(number, false, IH_TIMEOUT_MAX / units[i].seconds, &count) || count == 0)
        return ih_error_set(s->err, IH_USAGE, "'%s' is not %s", s->value, s->option->expects);
    s->options->timeout_s = (unsigned)count * units[i].seconds;
    return IH_OK;
}

static enum ih_status set_scaled_number(const struct ih_setting *s)
{
    uint64_t *field = (uint64_t *)((char *)s->options + s->option->field);
    return parse_number(s->value, true, INT64_MAX, s->option->expects, field, s->err);
}

static enum ih_status set_size(const struct ih_setting *s)
{
    if (!parse_pair(s->value, 'x', IH_RAW_SIDE_MAX, &s->options->raw_width,
                    &s->options->raw_height) ||
        s->options->raw_width == 0 || s->options->raw_height == 0)
        return ih_error_set(s->err, IH_USAGE, "'%s' is not a size from 1x1 to %dx%d", s->value,
                            IH_RAW_SIDE_MAX, IH_RAW_SIDE_MAX);
    return IH_OK;
}

static enum ih_status set_shard(const struct ih_setting *s)
{
    uint64_t shard, n_shards;
    if (!parse_pair(s->value, '/', IH_SHARDS_MAX, &shard, &n_shards) || shard < 1 ||
        shard > n_shards)
        return ih_error_set(s->err, IH_USAGE, "'%s' is not I/N with 1 <= I <= N <= %d", s->value,
                            IH_SHARDS_MAX);
    s->options->shard = (unsigned)shard;
    s->options->n_shards = (unsigned)n_shards;
    return IH_OK;
}

static enum ih_status set_clip(const struct ih_setting *s)
{
    uint64_t low, high;
    if (!parse_pair(s->value, ',', UINT16_MAX, &low, &high) || low >= high)
        return ih_error_set(s->err, IH_USAGE,
                            "'%s' is not LO,HI with 0 <= LO < HI <= 255, or "
                            "65535 with --bins=native",
                            s->value);
    s->options->measure.clip_low = (uint16_t)low; /* options.c checks the limits of 256 bins */
    s->options->measure.clip_high = (uint16_t)high;
    s->options->measure.stated |= IH_STATED_CLIP;
    return IH_OK;
}

static enum ih_status set_depth(const struct ih_setting *s)
{
    uint64_t bits = 0;
    enum ih_status status =
        parse_number(s->value, false, 16, "a number of bits, 1 to 16", &bits, s->err);
    if (status == IH_OK)
        s->options->measure.range = (struct ih_sample_range){0, (uint16_t)((1u << bits) - 1)};
    return status;
}

static enum ih_status set_range(const struct ih_setting *s)
{
    uint64_t low, high;
    if (!parse_pair(s->value, ',', UINT16_MAX, &low, &high) || low >= high)
        return ih_error_set(s->err, IH_USAGE, "'%s' is not LO,HI with 0 <= LO < HI <= 65535",
                            s->value);
    s->options->measure.range = (struct ih_sample_range){(uint16_t)low, (uint16_t)high};
    return IH_OK;
}

/* ---- the others ---- */

static enum ih_status set_records(const struct ih_setting *s)
{
    ih_options_add_path(s->options, s->value, true);
    return IH_OK;
}

static enum ih_status set_list(const struct ih_setting *s)
{
    s->options->list_path = s->value;
    s->options->list_separator = (char)s->option->number;
    return IH_OK;
}

static enum ih_status set_luma(const struct ih_setting *s)
{
    s->options->measure.luma = ih_luma_find(s->value);
    s->options->measure.stated |= IH_STATED_LUMA;
    return IH_OK;
}

static enum ih_status set_alpha(const struct ih_setting *s)
{
    s->options->measure.stated |= IH_STATED_ALPHA;
    return ih_alpha_parse(s->value, &s->options->measure.alpha, s->err);
}

static enum ih_status set_region(const struct ih_setting *s)
{
    s->options->measure.region = s->options->region.text;
    return ih_region_parse(s->value, &s->options->region, s->err);
}

static enum ih_status set_bands(const struct ih_setting *s)
{
    return ih_bands_parse(s->value, &s->options->bands, s->err);
}

static enum ih_status set_nodata(const struct ih_setting *s)
{
    s->options->measure.stated |= IH_STATED_NODATA;
    return ih_nodata_parse(s->value, &s->options->measure.nodata)
               ? IH_OK
               : ih_error_set(s->err, IH_USAGE, "'%s' is neither a finite number nor the word none",
                              s->value);
}

static enum ih_status set_bins(const struct ih_setting *s)
{
    s->options->measure.takes_native = strcmp(s->value, "native") == 0;
    s->options->measure.stated |= IH_STATED_BINS;
    return IH_OK;
}

static enum ih_status set_mask(const struct ih_setting *s)
{
    if (strlen(s->value) >= IH_MASK_NAME_MAX)
        return ih_error_set(s->err, IH_USAGE, "longer than %d bytes", IH_MASK_NAME_MAX - 1);
    s->options->measure.mask = s->value;
    return IH_OK;
}

static enum ih_status set_labels(const struct ih_setting *s)
{
    s->options->has_labels = true;
    return set_mask(s);
}

static enum ih_status set_ignored(const struct ih_setting *s)
{
    uint64_t label;
    if (!ih_parse_number(s->value, false, IH_LABELS_MAX - 1, &label))
        return ih_error_set(s->err, IH_USAGE, "'%s' is not a label, 0 to %d", s->value,
                            IH_LABELS_MAX - 1);
    s->options->ignored_end = (unsigned)label + 1;
    return IH_OK;
}

static enum ih_status set_device(const struct ih_setting *s)
{
    return ih_device_parse(s->value, &s->options->device, s->err);
}

static enum ih_status set_kernel(const struct ih_setting *s)
{
    s->options->device.with.kernel = ih_kernel_find(s->value);
    return IH_OK;
}

/* -q and -v */
static enum ih_status set_verbosity(const struct ih_setting *s)
{
    s->options->is_verbose = s->option->number;
    s->options->is_quiet = !s->option->number;
    return IH_OK;
}

static enum ih_status set_help(const struct ih_setting *s)
{
    s->options->helps_all = s->value != NULL;
    return IH_OK;
}

/* ---- the table, in the order of --help ---- */

enum {
    RUN = 1 << IH_ACTION_RUN,
    LIST = 1 << IH_ACTION_LIST,
    COMPLETION = 1 << IH_ACTION_COMPLETION,
    ANY = RUN | LIST | COMPLETION
};

_Static_assert(sizeof(enum ih_jpeg_side) == sizeof(int) &&
                   sizeof(enum ih_progress_when) == sizeof(int) &&
                   sizeof(enum ih_color_when) == sizeof(int) &&
                   sizeof(enum ih_shell) == sizeof(int),
               "the index of a choice is stored as an int");

#define FIELD(member) .field = offsetof(struct ih_options, member)
/* Without a setter the index is stored, so an option that fills an enum names the indices. */
#define CHOICE(...)                                            \
    .value = IH_VALUE_CHOICE, .choices = (const char *const[]) \
    {                                                          \
        __VA_ARGS__, NULL                                      \
    }
#define RARE .is_rare = true
#define TEXT(shown) .value = IH_VALUE_TEXT, .value_name = (shown)
#define NUMBER(max, what) .set = set_number, .number = (max), .expects = (what)
#define SCALED(what) .set = set_scaled_number, .expects = (what)
#define FILE_NAME(shown) .value = IH_VALUE_FILE, .value_name = (shown)
#define ROW(group_name, where, long_name, text) \
    .group = IH_GROUP_##group_name, .actions = (where), .name = (long_name), .help = (text)

const struct ih_option ih_option_table[] = {
    {ROW(INPUT, RUN, "files-from", "also paths in FILE, one per line (-: stdin)"),
     FILE_NAME("FILE"), .set = set_list, .number = '\n'},
    {ROW(INPUT, RUN, "files0-from", "the same, with a NUL byte after each path"), RARE,
     FILE_NAME("FILE"), .set = set_list, .number = '\0'},
    {ROW(INPUT, RUN, "records", "a result file of any name (-: stdin)"), RARE, FILE_NAME("FILE"),
     .set = set_records, .repeats = true},
    {ROW(INPUT, RUN, "name", "name of standard input in outputs (-)"), RARE, FILE_NAME("NAME"),
     FIELD(stdin_name)},
    {ROW(INPUT, RUN, "shard", "count only part I of N of the inputs"), RARE, TEXT("I/N"),
     .set = set_shard, .once = "a run counts one part"},
    {ROW(INPUT, RUN, "resume", "skip inputs that -o FILE.ndjson already has"), RARE,
     FIELD(resumes)},
    {ROW(INPUT, RUN, "raw", "inputs are headerless interleaved samples"), RARE, TEXT("CHANNELS"),
     FIELD(raw_channels), NUMBER(IH_PIXEL_CHANNELS_MAX, "a number of channels, 1 to 4")},
    {ROW(INPUT, RUN, "raw-depth", "bits, sign and byte order of --raw (8)"), RARE,
     CHOICE([IH_RAW_8] = "8", [IH_RAW_16LE] = "16le", [IH_RAW_16BE] = "16be", [IH_RAW_8S] = "8s",
            [IH_RAW_16SLE] = "16sle", [IH_RAW_16SBE] = "16sbe", [IH_RAW_F16LE] = "f16le",
            [IH_RAW_F16BE] = "f16be", [IH_RAW_BF16LE] = "bf16le", [IH_RAW_BF16BE] = "bf16be",
            [IH_RAW_F32LE] = "f32le", [IH_RAW_F32BE] = "f32be"),
     FIELD(raw_depth)},
    {ROW(INPUT, RUN, "size", "size of each image of --raw, in pixels"), RARE, TEXT("WxH"),
     .set = set_size},
    {ROW(INPUT, RUN, "frames", "count all images of a file: frames, pages"), FIELD(takes_frames)},
    {ROW(INPUT, RUN, "raw-preview", "count the JPEG preview of camera raw files"), RARE,
     FIELD(takes_raw_previews)},
    {ROW(INPUT, RUN, "raw-sensor", "count the sensor's values of camera raw files"), RARE,
     FIELD(takes_raw_sensors)},
    {ROW(INPUT, RUN, "axes", "dimensions of NPY arrays (auto)"), RARE,
     CHOICE([IH_AXES_AUTO] = "auto", [IH_AXES_HWC] = "HWC", [IH_AXES_CHW] = "CHW",
            [IH_AXES_NHW] = "NHW", [IH_AXES_NHWC] = "NHWC", [IH_AXES_NCHW] = "NCHW"),
     FIELD(axes)},
    {ROW(INPUT, RUN, "max-pixels", "refuse larger images; takes k, M, G (4G)"), RARE, TEXT("N"),
     FIELD(max_pixels), SCALED("a number of pixels (k, M, G may follow)")},
    {ROW(INPUT, RUN, "lenient", "accept irregular JPEG with certain pixels"), RARE,
     FIELD(is_lenient)},

    {ROW(OUTPUT, RUN, "text", "a summary of one image, or one line each"), CHOICE("full", "lines"),
     .is_optional = true, .repeats = true, .set = set_output},
    {ROW(OUTPUT, RUN, "csv", "CSV with this layout (channels)"),
     CHOICE("channels", "bins", "long", "stats", "images"), .is_optional = true, .repeats = true,
     .set = set_output},
    {ROW(OUTPUT, RUN, "json", "one JSON document for all inputs"), .set = set_output},
    {ROW(OUTPUT, RUN, "ndjson", "one JSON object per line and input"), .set = set_output},
    {ROW(OUTPUT, RUN, "html", "a page with a table and histograms"), FILE_NAME("FILE"),
     .is_optional = true, .repeats = true, .set = set_html},
    {ROW(OUTPUT, RUN, "thumbnails", "small pictures in the page and on charts"), RARE,
     FIELD(makes_thumbnails)},
    {ROW(OUTPUT, RUN, "print", "names, one per line"), RARE, .set = set_output},
    {ROW(OUTPUT, RUN, "print0", "names, each followed by a NUL byte"), RARE, .set = set_output},
    {ROW(OUTPUT, RUN, "check", "one line per bad file, and nothing else"), .set = set_output},
    {ROW(OUTPUT, RUN, "output", "write to FILE; its name can tell the format"), .letter = 'o',
     FILE_NAME("FILE"), .repeats = true, .set = set_output_path},
    {ROW(OUTPUT, RUN, "where", "write only records that match"), TEXT("EXPR"),
     .once = "join the conditions with 'and'"},
    {ROW(OUTPUT, RUN, "fail-if", "exit with 4 if a record matches"), TEXT("EXPR"),
     .once = "join the conditions with 'or'"},
    {ROW(OUTPUT, RUN, "color", "colours of the summary (auto: on a terminal)"), RARE,
     CHOICE([IH_COLOR_AUTO] = "auto", [IH_COLOR_ALWAYS] = "always", [IH_COLOR_NEVER] = "never"),
     FIELD(color)},
    {ROW(OUTPUT, RUN, "percentiles", "also these, as in 0.1,99.9"), TEXT("P,..."),
     .set = set_percentiles, .once = "join the lists with a comma"},
    {ROW(OUTPUT, RUN, "share", "also shares of pixels, as in '<=100,>250'"), RARE, TEXT("CMP,..."),
     .set = set_share, .once = "join the lists with a comma"},
    {ROW(OUTPUT, RUN, "sigma-clip", "deviations that clipped_... fields keep (3)"), RARE, TEXT("K"),
     .set = set_sigma},
    {ROW(OUTPUT, RUN, "fields", "only these columns; help: lists them"), TEXT("NAME,...|help"),
     .set = set_fields, .once = "join the lists with a comma"},
    {ROW(OUTPUT, RUN, "sort", "order of the records; -NAME: largest first"), TEXT("[-]NAME")},
    {ROW(OUTPUT, RUN, "top", "only the first N of --sort"), RARE, TEXT("N"), FIELD(n_top),
     NUMBER(INT_MAX, "a number of records")},
    {ROW(OUTPUT, RUN, "copies", "only images with equal histograms, in groups"), RARE,
     FIELD(finds_copies)},
    {ROW(OUTPUT, RUN, "total", "add a record for all inputs together"), .set = set_total,
     .number = false},
    {ROW(OUTPUT, RUN, "total-only", "write only the record of the total"), .set = set_total,
     .number = true},
    {ROW(OUTPUT, RUN, "by", "totals by folder, format, label, FILE ..."), TEXT("WHAT"), FIELD(by)},
    {ROW(OUTPUT, RUN, "against", "distances to REF, or to the total of all"), TEXT("REF"),
     FIELD(against)},
    {ROW(OUTPUT, RUN, "diff", "compare two images, folders or result files"), .set = set_diff},

    {ROW(CHART, RUN, "chart", "a" IH_CHART_ENDINGS ", or a directory"), FILE_NAME("PATH"),
     .is_optional = true, .set = set_chart, .once = "a run writes its charts to one place"},
    {ROW(CHART, RUN, "sheet", "small histograms, up to 60 on each chart"), RARE,
     FIELD(chart.is_sheet)},
    {ROW(CHART, RUN, "chart-size", "320x200 to 8192x8192 pixels (1024x640)"), RARE, TEXT("WxH"),
     .set = set_chart_size},
    {ROW(CHART, RUN, "chart-format", "format of charts in a directory (png)"), RARE,
     CHOICE("png", "svg"), .set = set_chart_format},
    {ROW(CHART, RUN, "title", "title of the chart or page"), RARE, TEXT("TEXT"),
     FIELD(chart.title)},
    {ROW(CHART, RUN, "theme", "colours of charts (dark)"), RARE, CHOICE("dark", "light"),
     .set = set_theme},
    {ROW(CHART, RUN, "scale", "heights of the bars (linear)"), RARE,
     CHOICE("linear", "log", "sqrt"), .set = set_scale},
    {ROW(CHART, RUN, "scale-y", "unit of the numbers beside the bars (count)"), RARE,
     CHOICE("count", "percent"), .set = set_scale_y},

    {ROW(COUNTING, RUN, "luma", "weights of the luma, or no luma (bt709)"), RARE,
     CHOICE("bt709", "bt601", "none"), .set = set_luma},
    {ROW(COUNTING, RUN, "alpha", "count pixels with an alpha of 0 (count)"), RARE,
     CHOICE("count", "skip-transparent"), .set = set_alpha},
    {ROW(COUNTING, RUN, "bins", "native: keep the values of 9 to 16 bits"), CHOICE("256", "native"),
     .set = set_bins},
    {ROW(COUNTING, RUN, "depth", "bits that are used in 16-bit samples (16)"), RARE, TEXT("BITS"),
     .set = set_depth},
    {ROW(COUNTING, RUN, "range", "in 16-bit samples, becomes 0 to 255"), RARE, TEXT("LO,HI"),
     .set = set_range},
    {ROW(COUNTING, RUN, "region", "count only this rectangle, in pixels or %"), TEXT("WxH+X+Y"),
     .set = set_region, .once = "a run counts one region"},
    {ROW(COUNTING, RUN, "bands", "count only these channels of each pixel"), RARE, TEXT("1,3-5"),
     .set = set_bands},
    {ROW(COUNTING, RUN, "nodata", "leave this value out (GDAL_NODATA, BLANK)"), RARE,
     TEXT("V|none"), .set = set_nodata},
    {ROW(COUNTING, RUN, "mask", "count only where this gray image is not 0"), RARE,
     FILE_NAME("FILE|DIR"), .set = set_mask,
     .once = "a run has one mask; combine both into one image"},
    {ROW(COUNTING, RUN, "labels", "count each label of this gray image apart"), RARE,
     FILE_NAME("FILE|DIR"), .set = set_labels, .once = "a run has one label image for each image"},
    {ROW(COUNTING, RUN, "ignore-label", "leave out pixels with this label"), RARE, TEXT("N"),
     .set = set_ignored, .once = "one label is left out; select others with --where"},
    {ROW(COUNTING, RUN, "clip", "<= LO and >= HI count as clipped (0,255)"), RARE, TEXT("LO,HI"),
     .set = set_clip},

    {ROW(DEVICE, RUN, "device", "where to count (auto, or $IMGHIST_DEVICE)"),
     CHOICE("auto", "cpu", "cuda"), .value_name = "[:N,...]", .set = set_device},
    {ROW(DEVICE, RUN, "kernel", "count with this kernel (see --list)"), RARE,
     .value = IH_VALUE_KERNEL, .value_name = "KERNEL", .set = set_kernel},
    {ROW(DEVICE, RUN, "jpeg", "where to decode JPEG (auto)"), RARE,
     CHOICE([IH_JPEG_CPU] = "cpu", [IH_JPEG_AUTO] = "auto", [IH_JPEG_GPU] = "gpu"), FIELD(jpeg)},

    {ROW(RUN, RUN, "threads", "worker threads (one for each core)"), .letter = 'j', TEXT("N"),
     FIELD(n_threads), NUMBER(IH_THREADS_MAX, "a number of threads, 1 to 1024")},
    {ROW(RUN, RUN, "memory", "for images held in memory (1/4 of the RAM)"), RARE, TEXT("N"),
     FIELD(memory_bytes), .set = set_bytes,
     .expects = "a number of bytes (k, M, G may follow, as in 64M or 64MB)"},
    {ROW(RUN, RUN, "timeout", "to read and decode a file (no limit)"), RARE, TEXT("TIME"),
     .set = set_seconds, .expects = "a number of seconds, 1 to 1000000 (s, m, h may follow)"},
    {ROW(RUN, RUN, "isolate", "decode every format in sandboxed processes"), RARE,
     FIELD(isolates_all)},
    {ROW(RUN, RUN, "list-skipped", "name the files that a directory walk skips"), RARE,
     FIELD(lists_skipped)},
    {ROW(RUN, RUN, "fail-fast", "stop at the first failed input"), RARE, FIELD(fails_fast)},
    {ROW(RUN, RUN, "progress", "show progress (auto: on a terminal)"), RARE,
     CHOICE([IH_PROGRESS_AUTO] = "auto", [IH_PROGRESS_ALWAYS] = "always",
            [IH_PROGRESS_NEVER] = "never"),
     FIELD(progress)},
    {ROW(RUN, RUN, "quiet", "print only errors on standard error"), .letter = 'q',
     .set = set_verbosity, .number = false},
    {ROW(RUN, RUN, "verbose", "report times, devices and kernels at the end"), .letter = 'v',
     .set = set_verbosity, .number = true},

    {ROW(OTHER, LIST, "list", "list formats, outputs, devices and kernels"),
     .selects = IH_ACTION_LIST},
    {ROW(OTHER, COMPLETION, "completion", "print completions for this shell"), RARE,
     CHOICE([IH_SHELL_BASH] = "bash", [IH_SHELL_ZSH] = "zsh", [IH_SHELL_FISH] = "fish"),
     .selects = IH_ACTION_COMPLETION, FIELD(shell)},
    {ROW(OTHER, ANY, "help", "print this text; all: with every option"), .letter = 'h',
     CHOICE("all"), .is_optional = true, .selects = IH_ACTION_HELP, .set = set_help},
    {ROW(OTHER, ANY, "version", "print the version"), .letter = 'V', .selects = IH_ACTION_VERSION},
    {.name = NULL},
};

_Static_assert(sizeof ih_option_table / sizeof *ih_option_table <= IH_OPTIONS_MAX,
               "each row has a place in given and in values");

const char *ih_option_choice(const struct ih_option *option, size_t i)
{
    for (const char *const *c = option->choices; c && *c; c++)
        if (i-- == 0)
            return *c;
    if (option->value == IH_VALUE_KERNEL)
        for (const struct ih_backend *const *b = ih_backends; *b; b++)
            for (const struct ih_kernel_entry *k = (*b)->kernels; k->name; k++)
                if (i-- == 0)
                    return k->name;
    return NULL;
}

bool ih_option_has_choice(const struct ih_option *option, const char *value)
{
    const char *choice;
    for (size_t i = 0; (choice = ih_option_choice(option, i)); i++)
        if (strcmp(choice, value) == 0)
            return true;
    return false;
}
